/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seccomp filters: lists of allowed system calls, compiled by libseccomp.
 *
 * A call that is not in the list fails with EPERM and does not end the daemon, because libraries try calls without
 * which they can work. hostile_calls are calls that an engine never makes, but that an attacker who has taken it over
 * makes first (execute programs, start processes, access memory of other processes, mount, load modules). They
 * kill the process, so that the supervisor starts a new engine. The signal SIGSYS is sent to the thread that made the
 * call, so that the supervisor can find the packet that caused it. The flags of clone3() are in memory, which a filter
 * cannot read, so clone3() fails with ENOSYS, and the C library uses clone() instead.
 *
 * Workers have a second filter with a shorter list; the kernel evaluates both filters. The frequent calls of workers
 * are allowed without conditions on arguments, because the kernel keeps a bitmap of such calls and does not execute the
 * filters for them.
 */
#include "sandbox_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
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

enum { OPTIMIZE_BINARY_TREE = 2, SOCKET_TYPE_MASK = 0xf };

#if defined(__s390__) || defined(__s390x__)
enum { CLONE_FLAGS = 1 };
#else
enum { CLONE_FLAGS = 0 };
#endif

/* Calls of worker threads. */
static const char worker_calls[] =
    "brk clock_getres clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64 close exit exit_group "
    "fstat futex futex_time64 futex_waitv getcpu getegid geteuid getgid getpid getrandom getrusage gettid "
    "gettimeofday getuid madvise mremap munmap nanosleep newfstatat poll ppoll ppoll_time64 pread64 read recvfrom "
    "recvmmsg recvmsg restart_syscall rseq rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity sched_yield "
    "sendmmsg sendmsg sendto set_robust_list sigaltstack time write writev";

/* Calls of the other threads of the engine (files, timers, netlink, threads), which may also make worker_calls. */
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

/* Calls of the supervisor, which may also make worker_calls and process_calls. Engines and later versions of the
 * program inherit its filter, so this list includes the calls that they make while they start. */
static const char supervisor_calls[] =
    "capget capset chdir chmod chown close_range connect copy_file_range epoll_create eventfd execve fallocate fchdir "
    "fchmodat fchown fchownat fcntl fcntl64 fork ftruncate get_mempolicy getcwd getdents getpgid getpgrp getsid "
    "inotify_add_watch inotify_init1 inotify_rm_watch kill landlock_add_rule landlock_create_ruleset "
    "landlock_restrict_self listen mbind msync pause pidfd_open pidfd_send_signal pipe prctl prlimit64 readahead "
    "sched_getattr sched_setattr sched_setparam sched_setscheduler seccomp sendfile set_mempolicy setfsgid setfsuid "
    "setgid setgroups setregid setresgid setresuid setreuid setrlimit setsockopt setuid shutdown socketpair tgkill "
    "tkill truncate utimensat vfork wait4 waitid";

/* Calls that kill the process: no thread of an engine makes them. */
static const char hostile_calls[] =
    "acct add_key bpf chroot delete_module execve execveat finit_module fork fsconfig fsmount fsopen init_module "
    "ioperm iopl kexec_file_load kexec_load keyctl mount mount_setattr move_mount open_by_handle_at open_tree "
    "perf_event_open pidfd_getfd pivot_root process_vm_readv process_vm_writev ptrace reboot request_key setns "
    "swapoff swapon umount2 unshare userfaultfd vfork";

/* Calls of the sanitizers: their reports, and the leak check at exit. */
static const char sanitizer_calls[] = "get_thread_area getdents prctl ptrace wait4 waitid";

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Gets the number of the next call in the list; it is negative if this architecture or libseccomp does not have the
 * call. Returns false at the end of the list. */
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

static bool contains(const char *list, int wanted)
{
    int number;

    while (next_call(&list, &number))
        if (number == wanted)
            return true;
    return false;
}

static int add_system_calls(scmp_filter_ctx context, uint32_t action, const char *list)
{
    int number, err;

    while (next_call(&list, &number)) {
        if (number < 0 || (SANDBOX_HAS_SANITIZER && action != SCMP_ACT_ALLOW && contains(sanitizer_calls, number)))
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

/* Allows a call if its argument number `argument` has one of the values. Returns 0 or -errno. */
static int allow_values(scmp_filter_ctx context, int number, unsigned argument, const uint64_t *values, size_t count)
{
    int err = 0;

    for (size_t i = 0; i < count && !err; i++)
        err = allow_value(context, number, argument, values[i]);
    return err;
}

/* Allows the calls that all threads of an engine make. Returns 0 or -errno. */
static int allow_for_all(scmp_filter_ctx context)
{
    static const uint64_t prctl_options[] = { PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* PR_SET_VMA */ };
    /* The supervisor and the next engine also use the sockets of the queues, so an engine may only set options that
     * leave the sockets usable for them. SO_ATTACH_FILTER is allowed because another process can detach the filter
     * again: SO_LOCK_FILTER is not allowed. */
    static const int socket_options[] = { SO_RCVTIMEO, SO_RCVBUF, SO_RCVBUFFORCE, SO_SNDBUF, SO_ATTACH_FILTER };
    int err = add_system_calls(context, SCMP_ACT_ALLOW, worker_calls);

    if (!err && SANDBOX_HAS_SANITIZER)
        err = add_system_calls(context, SCMP_ACT_ALLOW, sanitizer_calls);
    /* abort() sends a signal to its own thread. */
    if (!err)
        err = allow_value(context, SCMP_SYS(tgkill), 0, (uint64_t)getpid());
    if (!err && !SANDBOX_HAS_SANITIZER)
        err = allow_values(context, SCMP_SYS(prctl), 0, prctl_options, COUNT(prctl_options));
    if (!err)
        err = allow_value(context, SCMP_SYS(prlimit64), 2, 0); /* only with a NULL new limit: reads a limit */
    if (!err)
        err = allow_value(context, SCMP_SYS(setsockopt), 1, SOL_NETLINK);
    for (size_t i = 0; i < COUNT(socket_options) && !err; i++)
        err = allow_if(context, SCMP_SYS(setsockopt), 2,
                       (struct scmp_arg_cmp[]){ SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET),
                                                SCMP_A2(SCMP_CMP_EQ, (uint64_t)socket_options[i]) });
    return err;
}

/* Allows netlink sockets, for nf_tables, conntrack and routes, and datagram Unix sockets, which are used for ioctl() on
 * interfaces and, without connect(), cannot reach another process. */
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
                                             SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE_MASK, SOCK_DGRAM) });
}

/* Allows what a sensor needs to check its interfaces, and to open a ring again when an interface is back: packet
 * sockets and their options, and reading the state of interfaces. */
static int allow_packet_sockets(scmp_filter_ctx context)
{
    static const uint64_t requests[] = { SIOCGIFNAME, SIOCGIFINDEX, SIOCGIFFLAGS, SIOCGIFMTU, SIOCGIFHWADDR };
    int err = add_system_calls(context, SCMP_ACT_ALLOW, "bind getsockname getsockopt");

    if (!err)
        err = allow_value(context, SCMP_SYS(socket), 0, AF_PACKET);
    if (!err)
        err = allow_value(context, SCMP_SYS(setsockopt), 1, SOL_PACKET);
    if (!err)
        err = allow_if(
            context, SCMP_SYS(setsockopt), 2,
            (struct scmp_arg_cmp[]){ SCMP_A1(SCMP_CMP_EQ, SOL_SOCKET), SCMP_A2(SCMP_CMP_EQ, SO_DETACH_FILTER) });
    return err ? err : allow_values(context, SCMP_SYS(ioctl), 1, requests, COUNT(requests));
}

/* Allows starting threads, but not processes, and installing further filters, which can only restrict the process
 * more. */
static int allow_threads(scmp_filter_ctx context)
{
    int err = seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

    if (!err)
        err =
            allow_if(context, SCMP_SYS(clone), 1,
                     (struct scmp_arg_cmp[]){ SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD) });
    if (!err && SANDBOX_HAS_SANITIZER)
        err = allow_if(context, SCMP_SYS(clone), 1,
                       (struct scmp_arg_cmp[]){
                           SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_UNTRACED | CLONE_THREAD, CLONE_UNTRACED) });
    if (!err && !SANDBOX_HAS_SANITIZER)
        err = seccomp_rule_add_array(
            context, SCMP_ACT_TRAP, SCMP_SYS(clone), 1,
            (struct scmp_arg_cmp[]){ SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0) });
    return err ? err : allow_value(context, SCMP_SYS(seccomp), 0, SECCOMP_SET_MODE_FILTER);
}

/* Gets the BPF program of a filter, which libseccomp can only write to a file. Returns 0 or -errno. */
static int export(struct filter *out, scmp_filter_ctx context)
{
    int file = memfd_create("filter", MFD_CLOEXEC), err;
    struct stat status;

    if (file < 0)
        return -errno;
    err = seccomp_export_bpf(context, file);
    if (!err && fstat(file, &status))
        err = -errno;
    if (!err) {
        out->code = malloc((size_t)status.st_size);
        err = out->code ? 0 : -ENOMEM;
    }
    if (!err && pread(file, out->code, (size_t)status.st_size, 0) != status.st_size) {
        free(out->code);
        out->code = NULL;
        err = -EIO;
    }
    if (!err)
        out->length = (unsigned short)((size_t)status.st_size / sizeof(*out->code));
    close(file);
    return err;
}

/* Creates a filter that kills the process at system calls of another architecture. Returns NULL when out of memory. */
static scmp_filter_ctx new_filter(void)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));

    if (context && seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)) {
        seccomp_release(context);
        return NULL;
    }
    if (context)
        /* This fails with older versions of libseccomp, which lack the attribute; the filter works without it, too. */
        seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, OPTIMIZE_BINARY_TREE);
    return context;
}

int filter_of_process(struct filter *out, bool unix_clients, bool packet_sockets)
{
    static const uint64_t ioctl_requests[] = {
        TCGETS, TIOCGWINSZ, FIONBIO, FIONREAD, FIOCLEX, SIOCGIFNAME, SIOCGIFINDEX
    };
    /* F_SETOWN and F_SETSIG are missing, because with them the kernel sends signals to other processes of the same
     * user. */
    static const uint64_t fcntl_commands[] = { F_GETFD,     F_SETFD,         F_GETFL,     F_SETFL,    F_DUPFD,
                                               F_GETLK,     F_DUPFD_CLOEXEC, F_SETLK,     F_SETLKW,   F_OFD_GETLK,
                                               F_OFD_SETLK, F_OFD_SETLKW,    F_ADD_SEALS, F_GET_SEALS };
    scmp_filter_ctx context = new_filter();
    int err = context ? allow_for_all(context) : -ENOMEM;

    if (!err)
        err = add_system_calls(context, SCMP_ACT_ALLOW, process_calls);
    if (!err)
        err = add_system_calls(context, SANDBOX_HAS_SANITIZER ? SCMP_ACT_ERRNO(EACCES) : SCMP_ACT_TRAP, hostile_calls);
    if (!err)
        err = allow_sockets(context, unix_clients);
    if (!err && packet_sockets)
        err = allow_packet_sockets(context);
    if (!err)
        err = allow_values(context, SCMP_SYS(ioctl), 1, ioctl_requests, COUNT(ioctl_requests));
    if (!err)
        err = allow_values(context, SCMP_SYS(fcntl), 1, fcntl_commands, COUNT(fcntl_commands));
    if (!err)
        err = allow_threads(context);
    if (!err)
        err = export(out, context);
    seccomp_release(context);
    return err;
}

/* Engines and later versions of the program inherit this filter, so it forbids only what none of them needs. */
int filter_of_supervisor(struct filter *out)
{
    /* Unix sockets: events and control; netlink: the kernel's firewall; others: reject packets. */
    static const uint64_t families[] = { AF_UNIX, AF_NETLINK, AF_INET, AF_INET6, AF_PACKET };
    const uint64_t namespaces =
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    scmp_filter_ctx context = new_filter();
    int err = context ? add_system_calls(context, SCMP_ACT_ALLOW, worker_calls) : -ENOMEM;

    if (!err)
        err = add_system_calls(context, SCMP_ACT_ALLOW, process_calls);
    if (!err)
        err = add_system_calls(context, SCMP_ACT_ALLOW, supervisor_calls);
    if (!err && SANDBOX_HAS_SANITIZER)
        err = seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(ptrace), 0);
    if (!err)
        err = seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (!err)
        err = allow_if(context, SCMP_SYS(clone), 1,
                       (struct scmp_arg_cmp[]){ SCMP_CMP(CLONE_FLAGS, SCMP_CMP_MASKED_EQ, namespaces, 0) });
    if (!err)
        err = allow_if(context, SCMP_SYS(ioctl), 1, (struct scmp_arg_cmp[]){ SCMP_A1(SCMP_CMP_NE, TIOCSTI) });
    if (!err)
        err = allow_values(context, SCMP_SYS(socket), 0, families, COUNT(families));
    if (!err)
        err = export(out, context);
    seccomp_release(context);
    return err;
}

int filter_of_worker(struct filter *out, bool packet_sockets)
{
    /* Workers may map memory or change its protection only without PROT_EXEC. */
    struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    scmp_filter_ctx context = new_filter();
    int err = context ? allow_for_all(context) : -ENOMEM;

    if (!err)
        err = allow_if(context, SCMP_SYS(mmap), 1, &not_executable);
    if (!err)
        err = allow_if(context, SCMP_SYS(mprotect), 1, &not_executable);
    if (!err && packet_sockets)
        err = allow_packet_sockets(context);
    if (!err)
        err = export(out, context);
    seccomp_release(context);
    return err;
}

/* Kernels before 5.16 enable slow mitigations against speculative execution (SSBD, STIBP) in processes with a seccomp
 * filter, unless SECCOMP_FILTER_FLAG_SPEC_ALLOW is set. The mitigations protect against untrusted code in the process;
 * Sluice executes none. */
int filter_install(const struct filter *filter, bool all_threads)
{
    struct sock_fprog program = { .len = filter->length, .filter = filter->code };
    unsigned flags = all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    long other = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);

    if (other < 0 && errno == EINVAL) /* kernels before 4.17 do not know SECCOMP_FILTER_FLAG_SPEC_ALLOW */
        other = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (other < 0)
        return -errno;
    return other > 0 ? -EBUSY : 0; /* positive: the id of a thread to which the filter could not be applied */
}
