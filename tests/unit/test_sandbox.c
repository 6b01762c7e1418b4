/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox: each row is an operation that the engine process or a worker thread may or may not do. Each runs in a
 * separate process, because a sandbox cannot be left, with the same restrictions as the engine.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/sanitizer.h"
#include "sluice/sandbox.h"

enum { NO_SANDBOX = 250, NO_LANDLOCK = 251, PATH_SIZE = 128 };
enum { DIES = -1 }; /* killed by the kernel, in place of an errno */

struct rig {
    char folder[64]; /* with read/file, write/one/ and write/two/, other/file */
    struct sandbox *sandbox;
    int (*attempt)(const struct rig *rig);
    int result;
    int socket; /* a TCP socket that was opened before */
};

/* --- Folders -------------------------------------------------------------------------------------- */

static const char *path_of(const struct rig *rig, const char *name, char out[PATH_SIZE])
{
    snprintf(out, PATH_SIZE, "%s/%s", rig->folder, name);
    return out;
}

static void write_file(const struct rig *rig, const char *name)
{
    char path[PATH_SIZE];
    FILE *file = fopen(path_of(rig, name, path), "w");

    ck_assert_ptr_nonnull(file);
    fputs("text\n", file);
    fclose(file);
}

static void make_folders(struct rig *rig)
{
    static const char *const folders[] = { "read", "write", "write/one", "write/two", "other" };
    char path[PATH_SIZE];

    strcpy(rig->folder, "/tmp/sandbox.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(rig->folder));
    chmod(rig->folder, 0755);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        ck_assert_int_eq(mkdir(path_of(rig, folders[i], path), 0777), 0);
    write_file(rig, "read/file");
    write_file(rig, "other/file");
    write_file(rig, "write/one/file");
}

static void remove_folders(const struct rig *rig)
{
    char command[PATH_SIZE];

    snprintf(command, sizeof(command), "rm -rf %s", rig->folder);
    ck_assert_int_eq(system(command), 0);
}

/* --- Operations: return 0 or an errno ------------------------------------------------------------- */

static int result_of(long result)
{
    return result < 0 ? errno : 0;
}

static int close_after(int fd)
{
    int err = result_of(fd);

    if (fd >= 0)
        close(fd);
    return err;
}

static int open_in(const struct rig *rig, const char *name, int flags)
{
    char path[PATH_SIZE];

    return close_after(open(path_of(rig, name, path), flags | O_CLOEXEC, 0600));
}

static int read_beneath(const struct rig *rig)
{
    return open_in(rig, "read/file", O_RDONLY);
}

static int write_what_is_to_read(const struct rig *rig)
{
    return open_in(rig, "read/file", O_WRONLY);
}

static int make_where_is_to_read(const struct rig *rig)
{
    return open_in(rig, "read/new", O_WRONLY | O_CREAT);
}

static int read_elsewhere(const struct rig *rig)
{
    return open_in(rig, "other/file", O_RDONLY);
}

static int read_shadow(const struct rig *rig)
{
    (void)rig;
    return close_after(open("/etc/shadow", O_RDONLY | O_CLOEXEC));
}

static int list_root(const struct rig *rig)
{
    (void)rig;
    return close_after(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int make_beneath(const struct rig *rig)
{
    return open_in(rig, "write/one/new", O_WRONLY | O_CREAT | O_TRUNC);
}

static int append_beneath(const struct rig *rig)
{
    return open_in(rig, "write/one/file", O_WRONLY | O_APPEND);
}

static int move_beneath(const struct rig *rig)
{
    char from[PATH_SIZE], to[PATH_SIZE];

    return result_of(rename(path_of(rig, "write/one/file", from), path_of(rig, "write/two/file", to)));
}

static int remove_beneath(const struct rig *rig)
{
    char path[PATH_SIZE];

    return result_of(unlink(path_of(rig, "write/one/file", path)));
}

static int remove_what_is_to_read(const struct rig *rig)
{
    char path[PATH_SIZE];

    return result_of(unlink(path_of(rig, "read/file", path)));
}

static int make_folder_beneath(const struct rig *rig)
{
    char path[PATH_SIZE];

    return result_of(mkdir(path_of(rig, "write/three", path), 0700));
}

static int link_beneath(const struct rig *rig)
{
    char path[PATH_SIZE];

    return result_of(symlink("/etc/shadow", path_of(rig, "write/link", path)));
}

static int open_internet(const struct rig *rig)
{
    (void)rig;
    return close_after(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int open_datagram(const struct rig *rig)
{
    (void)rig;
    return close_after(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
}

static int open_raw(const struct rig *rig)
{
    (void)rig;
    return close_after(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
}

static int open_packet(const struct rig *rig)
{
    (void)rig;
    return close_after(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int open_netfilter(const struct rig *rig)
{
    (void)rig;
    return close_after(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
}

static int open_audit(const struct rig *rig)
{
    (void)rig;
    return close_after(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT));
}

static int open_unix_stream(const struct rig *rig)
{
    (void)rig;
    return close_after(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int connect_anywhere(const struct rig *rig)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons(9),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    return result_of(connect(rig->socket, (const struct sockaddr *)&address, sizeof(address)));
}

static int listen_anywhere(const struct rig *rig)
{
    return result_of(listen(rig->socket, 1));
}

static int fork_once(const struct rig *rig)
{
    pid_t child = fork();

    (void)rig;
    if (child == 0)
        _exit(0);
    return result_of(child);
}

static int run_program(const struct rig *rig)
{
    char *const arguments[] = { "true", NULL };

    (void)rig;
    return result_of(execve("/bin/true", arguments, NULL));
}

static int trace_parent(const struct rig *rig)
{
    (void)rig;
    return result_of(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
}

static int read_parent(const struct rig *rig)
{
    (void)rig;
    return result_of(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
}

static int mount_something(const struct rig *rig)
{
    return result_of(mount("none", rig->folder, "tmpfs", 0, NULL));
}

static int leave_namespace(const struct rig *rig)
{
    (void)rig;
    return result_of(unshare(CLONE_NEWUSER));
}

static int kill_parent(const struct rig *rig)
{
    (void)rig;
    return result_of(kill(getppid(), SIGUSR1));
}

static int become_root(const struct rig *rig)
{
    (void)rig;
    return result_of(syscall(SYS_setresuid, 0, 0, 0));
}

static int push_input(const struct rig *rig)
{
    char byte = 'x';

    (void)rig;
    return result_of(ioctl(STDIN_FILENO, TIOCSTI, &byte));
}

static int set_limit(const struct rig *rig)
{
    const uint64_t limit[2] = { 1, 1 };

    (void)rig;
    return result_of(syscall(SYS_prlimit64, 0, 7, limit, NULL));
}

static int nothing(void *argument)
{
    (void)argument;
    return 0;
}

static int start_thread(const struct rig *rig)
{
    thrd_t thread;

    (void)rig;
    if (thrd_create(&thread, nothing, NULL) != thrd_success)
        return EPERM;
    return thrd_join(thread, NULL) == thrd_success ? 0 : EINVAL;
}

static int run_memory(const struct rig *rig)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)rig;
    return memory == MAP_FAILED ? errno : 0;
}

static int make_runnable(const struct rig *rig)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)rig;
    return memory == MAP_FAILED ? EBADE : result_of(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
}

/* The usual work of a worker. */
static int work(const struct rig *rig)
{
    const struct timespec moment = { .tv_nsec = 1000 };
    void *memory = malloc(1 << 20);
    uint64_t random;
    int ends[2] = { rig->socket, -1 };

    if (!memory || getrandom(&random, sizeof(random), 0) != sizeof(random))
        return ENOMEM;
    memset(memory, 1, 1 << 20);
    free(memory);
    nanosleep(&moment, NULL);
    if (write(STDERR_FILENO, "", 0) < 0)
        return errno;
    return recv(ends[0], &random, sizeof(random), MSG_DONTWAIT) < 0 && errno == EPERM ? EPERM : 0;
}

/* The only capability is CAP_NET_ADMIN, and no other can be regained. */
static int show_status(const struct rig *rig)
{
    FILE *file = fopen("/proc/self/status", "re");
    unsigned long long value, net_admin = 1ull << CAP_NET_ADMIN;
    unsigned good = 0;
    char line[256];

    (void)rig;
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "CapEff: %llx", &value) == 1 || sscanf(line, "CapPrm: %llx", &value) == 1)
            good += (value & ~net_admin) == 0 && (geteuid() != 0 || value == net_admin);
        if (sscanf(line, "CapBnd: %llx", &value) == 1)
            good += geteuid() != 0 || value == net_admin;
        if (sscanf(line, "CapAmb: %llx", &value) == 1 || sscanf(line, "CapInh: %llx", &value) == 1)
            good += value == 0;
        good += strcmp(line, "NoNewPrivs:\t1\n") == 0;
        good += strcmp(line, "Seccomp:\t2\n") == 0;
    }
    if (file)
        fclose(file);
    return good == 7 ? 0 : EBADE;
}

/* Signals of a file descriptor (F_SETOWN) could reach other processes of the same user. */
static int own_signals(const struct rig *rig)
{
    return result_of(fcntl(rig->socket, F_SETOWN, getppid()));
}

static int choose_signal(const struct rig *rig)
{
    return result_of(fcntl(rig->socket, F_SETSIG, SIGUSR1));
}

static int use_flags(const struct rig *rig)
{
    return result_of(fcntl(rig->socket, F_SETFL, O_NONBLOCK));
}

static int cut_file(const struct rig *rig)
{
    return result_of(ftruncate(rig->socket, 0));
}

static int shut_socket(const struct rig *rig)
{
    return result_of(shutdown(rig->socket, SHUT_RDWR));
}

static int lock_filter(const struct rig *rig)
{
    int one = 1;

    return result_of(setsockopt(rig->socket, SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof(one)));
}

static int set_timeout(const struct rig *rig)
{
    const struct timeval timeout = { .tv_sec = 1 };

    return result_of(setsockopt(rig->socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)));
}

/* Operations that only the supervisor may do. */
static int start_and_kill(const struct rig *rig)
{
    pid_t pid = fork();
    int status;

    (void)rig;
    if (pid == 0) {
        pause();
        _exit(1);
    }
    return pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? 0 : EBADE;
}

static int execute_program(const struct rig *rig)
{
    char *const arguments[] = { "true", NULL };
    pid_t pid = fork();
    int status;

    (void)rig;
    if (pid == 0)
        _exit(execv("/bin/true", arguments));
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : EBADE;
}

static int start_engine(const struct rig *rig)
{
    struct rig other = *rig;
    char error[SANDBOX_ERROR_SIZE];
    const struct sandbox_user user = { .uid = 65534, .gid = 65534, .change = true, .name = "nobody" };
    const struct sandbox_options options = { .seccomp = true };

    if (geteuid() == 0 && sandbox_change_user(&user, error))
        return EBADE;
    if (sandbox_enter(&other.sandbox, &options, error) || sandbox_status(other.sandbox)->seccomp <= 0)
        return EBADE;
    return start_thread(rig) || open_netfilter(rig) ? EBADE : 0;
}

static int load_module(const struct rig *rig)
{
    (void)rig;
    return result_of(syscall(SYS_init_module, NULL, 0, ""));
}

static int trace_child(const struct rig *rig)
{
    (void)rig;
    return result_of(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int open_bluetooth(const struct rig *rig)
{
    (void)rig;
    return close_after(socket(AF_BLUETOOTH, SOCK_RAW | SOCK_CLOEXEC, 0));
}

static int set_clock(const struct rig *rig)
{
    const struct timespec time = { .tv_sec = 1 };

    (void)rig;
    return result_of(clock_settime(CLOCK_REALTIME, &time));
}

static int make_device(const struct rig *rig)
{
    char path[PATH_SIZE];

    return result_of(mknod(path_of(rig, "write/null", path), S_IFCHR | 0600, 0x103));
}

/* --- The process of an operation ------------------------------------------------------------------ */

static int enter(struct rig *rig)
{
    char read_folder[PATH_SIZE], write_folder[PATH_SIZE], error[SANDBOX_ERROR_SIZE];
    const struct sandbox_path paths[] = {
        { path_of(rig, "read", read_folder), SANDBOX_READ },
        { path_of(rig, "write", write_folder), SANDBOX_WRITE },
        { "/proc/self", SANDBOX_READ },
        { "/no/such/folder", SANDBOX_WRITE },
    };
    const struct sandbox_options options = { .landlock = true, .seccomp = true, .paths = paths, .path_count = 4 };
    const struct sandbox_status *status;

    rig->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sandbox_enter(&rig->sandbox, &options, error)) {
        fprintf(stderr, "%s\n", error);
        return NO_SANDBOX;
    }
    status = sandbox_status(rig->sandbox);
    if (!status->net_admin_only || status->seccomp <= 0)
        return NO_SANDBOX;
    return status->landlock > 0 ? 0 : NO_LANDLOCK;
}

static int enter_and_try(void *argument)
{
    struct rig *rig = argument;

    rig->result = sandbox_enter_worker(rig->sandbox) ? NO_SANDBOX : rig->attempt(rig);
    return 0;
}

static int try_in_worker(struct rig *rig)
{
    thrd_t thread;

    if (thrd_create(&thread, enter_and_try, rig) != thrd_success || thrd_join(thread, NULL) != thrd_success)
        return NO_SANDBOX;
    return rig->result;
}

static _Noreturn void child(struct rig *rig, bool worker, bool needs_landlock)
{
    int result = enter(rig);

    if (result == NO_LANDLOCK && !needs_landlock)
        result = 0;
    if (result == 0)
        result = worker ? try_in_worker(rig) : rig->attempt(rig);
    _exit(result);
}

static int run(struct rig *rig, bool worker, bool needs_landlock)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        child(rig, worker, needs_landlock);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGSYS ? DIES : -WTERMSIG(status);
    return WEXITSTATUS(status);
}

/* --- Tables --------------------------------------------------------------------------------------- */

struct row {
    const char *name;
    int (*attempt)(const struct rig *rig);
    int wanted;
    bool files; /* enforced by Landlock */
};

static const struct row process_rows[] = {
    { "reads beneath what was named", read_beneath, 0, true },
    { "does not write there", write_what_is_to_read, EACCES, true },
    { "does not make files there", make_where_is_to_read, EACCES, true },
    { "does not read elsewhere", read_elsewhere, EACCES, true },
    { "does not read /etc/shadow", read_shadow, EACCES, true },
    { "does not list the root folder", list_root, EACCES, true },
    { "makes files where it may write", make_beneath, 0, true },
    { "appends there", append_beneath, 0, true },
    { "moves there, to another folder", move_beneath, 0, true },
    { "removes there", remove_beneath, 0, true },
    { "makes folders there", make_folder_beneath, 0, true },
    { "removes nothing elsewhere", remove_what_is_to_read, EACCES, true },
    { "makes no links there", link_beneath, EPERM, true },
    { "no TCP", open_internet, EPERM, false },
    { "no UDP", open_datagram, EPERM, false },
    { "no raw socket", open_raw, EPERM, false },
    { "no packet socket", open_packet, EPERM, false },
    { "netfilter", open_netfilter, 0, false },
    { "no other netlink", open_audit, EPERM, false },
    { "no Unix stream", open_unix_stream, EPERM, false },
    { "does not connect what is open", connect_anywhere, EPERM, false },
    { "does not listen", listen_anywhere, EPERM, false },
    { "dies of fork", fork_once, DIES, false },
    { "dies of execve", run_program, DIES, false },
    { "dies of ptrace", trace_parent, DIES, false },
    { "dies of another's memory", read_parent, DIES, false },
    { "dies of mount", mount_something, DIES, false },
    { "dies of unshare", leave_namespace, DIES, false },
    { "sends no signals", kill_parent, EPERM, false },
    { "changes no user", become_root, EPERM, false },
    { "types nothing into its terminal", push_input, EPERM, false },
    { "sets no limit", set_limit, EPERM, false },
    { "has no signals sent by descriptors", own_signals, EPERM, false },
    { "nor chooses them", choose_signal, EPERM, false },
    { "sets flags of descriptors", use_flags, 0, false },
    { "cuts no file", cut_file, EPERM, false },
    { "shuts no socket", shut_socket, EPERM, false },
    { "locks no socket filter", lock_filter, EPERM, false },
    { "sets timeouts of sockets", set_timeout, 0, false },
    { "starts threads", start_thread, 0, false },
    { "runs memory that it wrote, for pcre", run_memory, 0, false },
    { "has one capability", show_status, 0, true },
};

static const struct row worker_rows[] = {
    { "works", work, 0, false },
    { "does not read beneath what was named", read_beneath, EPERM, false },
    { "does not make files where the process may", make_beneath, EPERM, false },
    { "does not remove", remove_beneath, EPERM, false },
    { "no netfilter", open_netfilter, EPERM, false },
    { "no TCP", open_internet, EPERM, false },
    { "does not connect what is open", connect_anywhere, EPERM, false },
    { "no thread", start_thread, EPERM, false },
    { "does not run memory that it wrote", run_memory, EPERM, false },
    { "nor makes it runnable", make_runnable, EPERM, false },
    { "dies of fork", fork_once, DIES, false },
    { "dies of execve", run_program, DIES, false },
    { "dies of ptrace", trace_parent, DIES, false },
};

static void check_row(const struct row *row, bool worker)
{
    struct rig rig = { .attempt = row->attempt, .socket = -1 };
    int got;

    make_folders(&rig);
    got = run(&rig, worker, row->files);
    remove_folders(&rig);
    if (got == NO_LANDLOCK)
        return;
    if (row->wanted == DIES &&
        SANDBOX_HAS_SANITIZER) /* with sanitizers the system call fails instead, because they need it */
        ck_assert_msg(got != 0, "%s", row->name);
    else
        ck_assert_msg(got == row->wanted, "%s: got %d, wanted %d", row->name, got, row->wanted);
}

START_TEST(process)
{
    check_row(&process_rows[_i], false);
}
END_TEST

START_TEST(worker)
{
    check_row(&worker_rows[_i], true);
}
END_TEST

/* --- The supervisor ----------------------------------------------------------------------------------- */

static const struct row supervisor_rows[] = {
    { "starts and kills processes", start_and_kill, 0, false },
    { "executes programs", execute_program, 0, false },
    { "starts engines, which enter their sandbox", start_engine, 0, false },
    { "netfilter", open_netfilter, 0, false },
    { "no other family of sockets", open_bluetooth, EPERM, false },
    { "no mount", mount_something, EPERM, false },
    { "no module", load_module, EPERM, false },
    { "no namespace", leave_namespace, EPERM, false },
    { "no other process's memory", read_parent, EPERM, false },
    { "does not trace", trace_child, EPERM, false },
    { "does not set the clock", set_clock, EPERM, false },
    { "makes no device", make_device, EPERM, false },
    { "types nothing into its terminal", push_input, EPERM, false },
};

static _Noreturn void enter_supervisor_and_try(const struct row *row, const struct rig *rig)
{
    char error[SANDBOX_ERROR_SIZE];

    if (sandbox_enter_supervisor(true, error)) {
        fprintf(stderr, "%s\n", error);
        _exit(NO_SANDBOX);
    }
    _exit(row->attempt(rig));
}

START_TEST(supervisor)
{
    const struct row *row = &supervisor_rows[_i];
    struct rig rig = { .socket = -1 };
    int status;
    pid_t pid;

    make_folders(&rig);
    pid = fork();
    if (pid == 0)
        enter_supervisor_and_try(row, &rig);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    remove_folders(&rig);
    if (SANDBOX_HAS_SANITIZER && row->attempt == trace_child)
        return;
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == row->wanted, "%s: status %x, wanted %d", row->name,
                  (unsigned)status, row->wanted);
}
END_TEST

/* --- A Unix socket for events --------------------------------------------------------------------- */

static int enter_as_client(const struct rig *rig)
{
    const struct sandbox_options options = { .seccomp = true, .unix_clients = true };
    const struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/no/such/socket" };
    char error[SANDBOX_ERROR_SIZE];
    struct sandbox *sandbox;
    int fd;

    (void)rig;
    if (sandbox_enter(&sandbox, &options, error))
        return NO_SANDBOX;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 || errno != ENOENT)
        return EBADE;
    return open_internet(rig) == EPERM ? 0 : EBADE;
}

START_TEST(unix_clients)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(enter_as_client(NULL));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* --- Missing resources ---------------------------------------------------------------------------- */

/* A container whose seccomp filter forbids seccomp and Landlock. The capabilities must be dropped nevertheless. */
static int enter_in_container(void)
{
    const struct sandbox_options options = { .landlock = true, .seccomp = true };
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    char error[SANDBOX_ERROR_SIZE];
    struct sandbox *sandbox;

    if (!context || seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0) ||
        seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(landlock_create_ruleset), 0) || seccomp_load(context))
        return NO_SANDBOX;
    if (sandbox_enter(&sandbox, &options, error))
        return 1;
    if (!sandbox_status(sandbox)->net_admin_only || sandbox_status(sandbox)->seccomp != -EPERM ||
        sandbox_status(sandbox)->landlock != -EPERM)
        return 2;
    return sandbox_enter_worker(sandbox) == 0 && open_internet(NULL) == 0 ? 0 : 3;
}

static int enter_nothing(void)
{
    const struct sandbox_options options = { .landlock = false, .seccomp = false };
    char error[SANDBOX_ERROR_SIZE];
    struct sandbox *sandbox;

    if (sandbox_enter(&sandbox, &options, error))
        return 1;
    if (sandbox_status(sandbox)->seccomp != 0 || sandbox_status(sandbox)->landlock != 0)
        return 2;
    return sandbox_enter_worker(NULL) == 0 && sandbox_enter_worker(sandbox) == 0 && open_internet(NULL) == 0 ? 0 : 3;
}

static int (*const lesser[])(void) = { enter_in_container, enter_nothing };

START_TEST(lesser_sandboxes)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(lesser[_i]());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

/* --- Users ---------------------------------------------------------------------------------------- */

START_TEST(users_that_are_not_there)
{
    struct sandbox_user user = { .uid = 4711 };
    char error[SANDBOX_ERROR_SIZE];

    ck_assert_int_eq(sandbox_find_user(&user, "no-such-user-here", NULL, error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error, "run-as.user: no-such-user-here: user not found"));
    ck_assert_int_eq(sandbox_find_user(&user, NULL, "no-such-group-here", error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error, "run-as.group: no-such-group-here"));
    ck_assert_uint_eq(user.uid, 4711);
}
END_TEST

START_TEST(default_user)
{
    struct sandbox_user user;
    char error[SANDBOX_ERROR_SIZE];
    bool there = getpwnam(SANDBOX_DEFAULT_USER) != NULL;

    ck_assert_int_eq(sandbox_find_user(&user, NULL, NULL, error), 0);
    ck_assert_int_eq(user.missing, geteuid() == 0 && !there);
    ck_assert_int_eq(user.change, geteuid() == 0 && there);
}
END_TEST

static int become_nobody(struct rig *rig)
{
    struct sandbox_user user;
    char error[SANDBOX_ERROR_SIZE], path[PATH_SIZE];
    struct stat status;

    if (sandbox_find_user(&user, "nobody", NULL, error) || !user.change || sandbox_change_user(&user, error))
        return 1;
    if (getuid() != user.uid || getgid() != user.gid || geteuid() != user.uid)
        return 2;
    /* Root keeps its file permissions, and owns the files that it creates. */
    if (open_in(rig, "read/secret", O_RDONLY) || open_in(rig, "write/mine", O_WRONLY | O_CREAT) ||
        stat(path_of(rig, "write/mine", path), &status) || status.st_uid != user.uid)
        return 3;
    if (enter(rig) == NO_SANDBOX)
        return 4;
    return open_in(rig, "read/secret", O_RDONLY) == EACCES && open_in(rig, "write/mine", O_WRONLY) == 0 ? 0 : 5;
}

START_TEST(becomes_somebody)
{
    struct rig rig = { .socket = -1 };
    char path[PATH_SIZE];
    pid_t pid;
    int status;

    if (geteuid() != 0)
        return;
    make_folders(&rig);
    write_file(&rig, "read/secret");
    chmod(path_of(&rig, "read/secret", path), 0600);
    pid = fork();
    if (pid == 0) {
        /* A user other than root cannot switch to another user (run-as). */
        int result = become_nobody(&rig);
        struct sandbox_user root;
        char error[SANDBOX_ERROR_SIZE];

        if (result == 0 && sandbox_find_user(&root, "root", NULL, error) == 0)
            result = 6;
        _exit(result);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    remove_folders(&rig);
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert(WIFEXITED(status));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sandbox");
    TCase *walls = tcase_create("walls"), *users = tcase_create("users");

    tcase_add_loop_test(walls, process, 0, sizeof(process_rows) / sizeof(process_rows[0]));
    tcase_add_loop_test(walls, worker, 0, sizeof(worker_rows) / sizeof(worker_rows[0]));
    tcase_add_loop_test(walls, supervisor, 0, sizeof(supervisor_rows) / sizeof(supervisor_rows[0]));
    tcase_add_test(walls, unix_clients);
    tcase_add_loop_test(walls, lesser_sandboxes, 0, sizeof(lesser) / sizeof(lesser[0]));
    tcase_add_test(users, users_that_are_not_there);
    tcase_add_test(users, default_user);
    tcase_add_test(users, becomes_somebody);
    suite_add_tcase(suite, walls);
    suite_add_tcase(suite, users);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
