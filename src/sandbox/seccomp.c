/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which system calls there still are. A list of what is allowed, made by libseccomp into a program for the kernel.
 *
 * What is not on the list gets EPERM: a call that a library tries, and does without, must not end the daemon in front
 * of a network. Calls of which there is none in this program, and which are the first that an intruder would make
 * (another program, another process, another's memory, mounts, modules), end the process: who makes them is no longer
 * Sluice, and a new engine is better than that one. They end it by a signal (SIGSYS) that the thread gets, by which the
 * supervisor knows whose packet it was. clone3() has its flags in memory, where a filter can't read them, so it gets
 * ENOSYS: the C library then uses clone().
 *
 * Workers have a list of their own on top, so the kernel asks both. What they are allowed is without conditions as far
 * as it is frequent: the kernel answers such calls from a table, without running a program.
 */
#include "sandbox_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TREE_OF_CALLS = 2, TYPE_OF_SOCKET = 0xf };

#if defined(__s390__) || defined(__s390x__)
enum { CLONE_FLAGS = 1 };
#else
enum { CLONE_FLAGS = 0 };
#endif

/* Threads that judge packets. */
static const char worker_calls[] =
    "brk clock_getres clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64 close exit exit_group "
    "fstat futex futex_time64 futex_waitv getcpu getegid geteuid getgid getpid getrandom getrusage gettid "
    "gettimeofday getuid madvise mremap munmap nanosleep newfstatat poll ppoll ppoll_time64 pread64 read recvfrom "
    "recvmmsg recvmsg restart_syscall rseq rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield "
    "sendmmsg sendmsg sendto set_robust_list sigaltstack time write writev";

/* The process: what the workers have, and files, timers, netlink, threads. */
static const char process_calls[] =
    "accept accept4 access arch_prctl bind dup dup2 dup3 epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 "
    "epoll_wait eventfd2 faccessat faccessat2 fadvise64 fadvise64_64 fchmod fdatasync flock fstat64 "
    "fstatfs fsync get_robust_list getdents64 getgroups getpeername getppid getpriority getresgid "
    "getresuid getrlimit getsockname getsockopt lseek lstat membarrier memfd_create mincore mkdir mkdirat mlock "
    "mlock2 mmap mprotect munlock open openat pipe2 pselect6 pwrite64 pwritev preadv readlink readlinkat readv "
    "rename renameat renameat2 rmdir rt_sigpending rt_sigsuspend rt_sigtimedwait sched_get_priority_max "
    "sched_get_priority_min sched_getparam sched_getscheduler sched_setaffinity select set_tid_address setpriority "
    "signalfd4 stat statfs statx sync_file_range sync_file_range2 sysinfo timerfd_create timerfd_gettime "
    "timerfd_settime times umask uname "
    "unlink unlinkat";

/* The supervisor, which starts engines and replaces itself by another version: what these need at their start, and what
 * they have. */
static const char supervisor_calls[] =
    "capget capset chdir chmod chown close_range connect copy_file_range epoll_create eventfd execve fallocate fchdir "
    "fchmodat fchown fchownat fcntl fcntl64 fork ftruncate get_mempolicy getcwd getdents getpgid getpgrp getsid "
    "inotify_add_watch inotify_init1 inotify_rm_watch kill landlock_add_rule landlock_create_ruleset "
    "landlock_restrict_self listen mbind msync pause pidfd_open pidfd_send_signal pipe prctl prlimit64 readahead "
    "sched_getattr sched_setattr sched_setparam sched_setscheduler seccomp sendfile set_mempolicy setfsgid setfsuid "
    "setgid setgroups setregid setresgid setresuid setreuid setrlimit setsockopt setuid shutdown socketpair tgkill "
    "tkill truncate utimensat vfork wait4 waitid";

/* Nobody here makes them. */
static const char hostile_calls[] =
    "acct add_key bpf chroot delete_module execve execveat finit_module fork fsconfig fsmount fsopen init_module "
    "ioperm iopl kexec_file_load kexec_load keyctl mount mount_setattr move_mount open_by_handle_at open_tree "
    "perf_event_open pidfd_getfd pivot_root process_vm_readv process_vm_writev ptrace reboot request_key setns "
    "swapoff swapon umount2 unshare userfaultfd vfork";

/* What the sanitizers do at the end, and to report: no other process, no other program. */
static const char checker_calls[] = "get_thread_area getdents prctl ptrace wait4 waitid";

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* The next word's number, which is negative when this architecture or the library has no such call; false after the
 * last. */
static bool next_call(const char **list, int *number)
{
    char name[64];
    size_t length = strcspn(*list, " ");

    if (length == 0 || length >= sizeof(name))
        return false;
    memcpy(name, *list, length);
    name[length] = '\0';
    *list += length + ((*list)[length] == ' ');
    *number = seccomp_syscall_resolve_name(name);
    return true;
}

static bool has(const char *list, int wanted)
{
    int number;

    while (next_call(&list, &number))
        if (number == wanted)
            return true;
    return false;
}

static int add(scmp_filter_ctx context, uint32_t action, const char *list)
{
    int number, err;

    while (next_call(&list, &number)) {
        if (number < 0 || (SANDBOX_IS_CHECKED && action != SCMP_ACT_ALLOW && has(checker_calls, number)))
            continue;
        err = seccomp_rule_add(context, action, number, 0);
        if (err)
            return err;
    }
    return 0;
}

static int allow_if(scmp_filter_ctx context, int number, unsigned count, const struct scmp_arg_cmp *conditions)
{
    return seccomp_rule_add_array(context, SCMP_ACT_ALLOW, number, count, conditions);
}

static int allow_value(scmp_filter_ctx context, int number, unsigned argument, uint64_t value)
{
    return allow_if(context, number, 1, (struct scmp_arg_cmp[]){ SCMP_CMP(argument, SCMP_CMP_EQ, value) });
}

/* The sockets of the queues are shared with the supervisor and the next engine: no option may make them useless. A
 * filter can be taken off again, as it cannot be locked. */
static int allow_socket_options(scmp_filter_ctx context)
{
    static const int options[] = { SO_RCVTIMEO, SO_RCVBUF, SO_RCVBUFFORCE, SO_SNDBUF, SO_ATTACH_FILTER };
    int err = allow_value(context, SCMP_SYS(setsockopt), 1, SOL_NETLINK);

    for (size_t i = 0; i < COUNT(options) && !err; i++)
        err = allow_if(
            context, SCMP_SYS(setsockopt), 2,
            (struct scmp_arg_cmp[]){ SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET), SCMP_A2(SCMP_CMP_EQ, (uint64_t)options[i]) });
    return err;
}

/* Its own threads may be signalled: that is how abort() ends the process. */
static int allow_for_all(scmp_filter_ctx context)
{
    static const unsigned long options[] = { PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* names of mappings */ };
    int err = add(context, SCMP_ACT_ALLOW, worker_calls);

    if (!err && SANDBOX_IS_CHECKED)
        err = add(context, SCMP_ACT_ALLOW, checker_calls);
    if (!err)
        err = allow_value(context, SCMP_SYS(tgkill), 0, (uint64_t)getpid());
    for (size_t i = 0; i < COUNT(options) && !err && !SANDBOX_IS_CHECKED; i++)
        err = allow_value(context, SCMP_SYS(prctl), 0, options[i]);
    if (!err) /* reads the limit, does not set it */
        err = allow_value(context, SCMP_SYS(prlimit64), 2, 0);
    return err ? err : allow_socket_options(context);
}

/* No F_SETOWN and F_SETSIG, by which the kernel sends any signal to another process of the same user. */
static int allow_file_commands(scmp_filter_ctx context)
{
    static const unsigned long commands[] = { F_GETFD,     F_SETFD,         F_GETFL,     F_SETFL,    F_DUPFD,
                                              F_GETLK,     F_DUPFD_CLOEXEC, F_SETLK,     F_SETLKW,   F_OFD_GETLK,
                                              F_OFD_SETLK, F_OFD_SETLKW,    F_ADD_SEALS, F_GET_SEALS };
    int err = 0;

    for (size_t i = 0; i < COUNT(commands) && !err; i++)
        err = allow_value(context, SCMP_SYS(fcntl), 1, commands[i]);
    return err;
}

/* The firewall and connections are asked by netlink, interfaces by any socket that is there. */
static int allow_sockets(scmp_filter_ctx context, bool unix_clients)
{
    static const int protocols[] = { NETLINK_NETFILTER, NETLINK_ROUTE };
    int err = 0;

    for (size_t i = 0; i < COUNT(protocols) && !err; i++)
        err = allow_if(
            context, SCMP_SYS(socket), 2,
            (struct scmp_arg_cmp[]){ SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_EQ, (uint64_t)protocols[i]) });
    if (!err && unix_clients)
        err = seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(connect), 0);
    if (!err && unix_clients)
        return allow_value(context, SCMP_SYS(socket), 0, AF_UNIX);
    if (err)
        return err;
    return allow_if(context, SCMP_SYS(socket), 2,
                    (struct scmp_arg_cmp[]){ SCMP_A0(SCMP_CMP_EQ, AF_UNIX),
                                             SCMP_A1(SCMP_CMP_MASKED_EQ, TYPE_OF_SOCKET, SOCK_DGRAM) });
}

static int allow_devices(scmp_filter_ctx context)
{
    static const unsigned long requests[] = {
        TCGETS, TIOCGWINSZ, FIONBIO, FIONREAD, FIOCLEX, SIOCGIFNAME, SIOCGIFINDEX
    };
    int err = 0;

    for (size_t i = 0; i < COUNT(requests) && !err; i++)
        err = allow_value(context, SCMP_SYS(ioctl), 1, requests[i]);
    return err;
}

/* Threads, but no processes; and further filters, which only take away. */
static int allow_threads(scmp_filter_ctx context)
{
    int err = seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

    if (!err)
        err =
            allow_if(context, SCMP_SYS(clone), 1,
                     (struct scmp_arg_cmp[]){ SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD) });
    if (!err && SANDBOX_IS_CHECKED)
        err = allow_if(context, SCMP_SYS(clone), 1,
                       (struct scmp_arg_cmp[]){
                           SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_UNTRACED | CLONE_THREAD, CLONE_UNTRACED) });
    if (!err && !SANDBOX_IS_CHECKED)
        err = seccomp_rule_add_array(
            context, SCMP_ACT_TRAP, SCMP_SYS(clone), 1,
            (struct scmp_arg_cmp[]){ SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0) });
    return err ? err : allow_value(context, SCMP_SYS(seccomp), 0, SECCOMP_SET_MODE_FILTER);
}

/* Memory of workers is never run. */
static int allow_memory(scmp_filter_ctx context)
{
    int err =
        allow_if(context, SCMP_SYS(mmap), 1, (struct scmp_arg_cmp[]){ SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) });

    return err ? err
               : allow_if(context, SCMP_SYS(mprotect), 1,
                          (struct scmp_arg_cmp[]){ SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) });
}

/* The program goes from the library to us by a file in memory. */
static int export_to(struct filter *out, scmp_filter_ctx context, int file)
{
    struct stat status;
    int err = seccomp_export_bpf(context, file);

    if (err)
        return err;
    if (fstat(file, &status))
        return -errno;
    out->code = malloc((size_t)status.st_size);
    if (!out->code)
        return -ENOMEM;
    if (pread(file, out->code, (size_t)status.st_size, 0) != status.st_size) {
        free(out->code);
        out->code = NULL;
        return -EIO;
    }
    out->length = (unsigned short)((size_t)status.st_size / sizeof(*out->code));
    return 0;
}

static int export(struct filter *out, scmp_filter_ctx context)
{
    int file = memfd_create("filter", MFD_CLOEXEC), err;

    if (file < 0)
        return -errno;
    err = export_to(out, context, file);
    close(file);
    return err;
}

/* NULL for lack of memory. Calls of another architecture end the process. */
static scmp_filter_ctx begin(void)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));

    if (context && seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)) {
        seccomp_release(context);
        return NULL;
    }
    if (context)
        seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, TREE_OF_CALLS); /* older libraries go without */
    return context;
}

int filter_of_process(struct filter *out, bool unix_clients)
{
    scmp_filter_ctx context = begin();
    int err = context ? allow_for_all(context) : -ENOMEM;

    if (!err)
        err = add(context, SCMP_ACT_ALLOW, process_calls);
    if (!err)
        err = add(context, SANDBOX_IS_CHECKED ? SCMP_ACT_ERRNO(EACCES) : SCMP_ACT_TRAP, hostile_calls);
    if (!err)
        err = allow_sockets(context, unix_clients);
    if (!err)
        err = allow_devices(context);
    if (!err)
        err = allow_file_commands(context);
    if (!err)
        err = allow_threads(context);
    if (!err)
        err = export(out, context);
    seccomp_release(context);
    return err;
}

/* No sockets but those of the kernel's firewall, of events and control, and of reject. */
static int allow_supervisor_sockets(scmp_filter_ctx context)
{
    static const int families[] = { AF_UNIX, AF_NETLINK, AF_INET, AF_INET6, AF_PACKET };
    int err = 0;

    for (size_t i = 0; i < COUNT(families) && !err; i++)
        err = allow_value(context, SCMP_SYS(socket), 0, (uint64_t)families[i]);
    return err;
}

/* Its engines and later versions have this filter, too, so it forbids what no version of Sluice needs. */
int filter_of_supervisor(struct filter *out)
{
    const uint64_t namespaces =
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    scmp_filter_ctx context = begin();
    int err = context ? add(context, SCMP_ACT_ALLOW, worker_calls) : -ENOMEM;

    if (!err)
        err = add(context, SCMP_ACT_ALLOW, process_calls);
    if (!err)
        err = add(context, SCMP_ACT_ALLOW, supervisor_calls);
    if (!err && SANDBOX_IS_CHECKED)
        err = seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 0);
    if (!err)
        err = seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (!err)
        err = allow_if(context, SCMP_SYS(clone), 1,
                       (struct scmp_arg_cmp[]){ SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, namespaces, 0) });
    if (!err)
        err = allow_if(context, SCMP_SYS(ioctl), 1, (struct scmp_arg_cmp[]){ SCMP_A1(SCMP_CMP_NE, TIOCSTI) });
    if (!err)
        err = allow_supervisor_sockets(context);
    if (!err)
        err = export(out, context);
    seccomp_release(context);
    return err;
}

int filter_of_worker(struct filter *out)
{
    scmp_filter_ctx context = begin();
    int err = context ? allow_for_all(context) : -ENOMEM;

    if (!err)
        err = allow_memory(context);
    if (!err)
        err = export(out, context);
    seccomp_release(context);
    return err;
}

/* Kernels before 5.16 slow down all of a filtered process, for the sake of code in it that nobody trusts: we run none.
 */
int filter_install(const struct filter *filter, bool all_threads)
{
    struct sock_fprog program = { .len = filter->length, .filter = filter->code };
    unsigned flags = all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    long other = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);

    if (other < 0 && errno == EINVAL) /* before 4.17 */
        other = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (other < 0)
        return -errno;
    return other > 0 ? -EBUSY : 0; /* a thread that can't be brought along */
}
