/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Upgrade of the supervisor: it executes the installed program in the same process, with its sockets, its engine and
 * their memory. A memory file describes them as lines of words, so that an older and a newer version understand the
 * lines that both know. The new supervisor then starts an engine hand-over (engine_handover.c).
 *
 * As the execution cannot be undone, a trial first checks that the program would start (`sluice run --check` with the
 * current arguments).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/diag.h"
#include "sluice/firewall.h"
#include "sluice/inject.h"
#include "sluice/log.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/supervisor_channel.h"

#include "supervisor_priv.h"

enum {
    MAX_ARGUMENTS = 1024,
    ARGUMENTS_SIZE = 1 << 17,
    PATH_SIZE = 4096,
    CHECK_MS = 30000,
    PAUSE_MS = 5,
    LINE_SIZE = 256
};
static const char variable[] = "SLUICE_KEEPER_STATE";
static const char deleted[] = " (deleted)";

struct command_line {
    char path[PATH_SIZE];
    char bytes[ARGUMENTS_SIZE];
    char *words[MAX_ARGUMENTS + 2]; /* with --check and NULL */
    unsigned count;
};

/* --- Program and arguments ------------------------------------------------------------------------ */

/* Reads the path of the program; a package manager may have replaced the file. */
static int read_path(char path[PATH_SIZE])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_SIZE - 1);
    size_t tail = sizeof(deleted) - 1;

    if (length < 0)
        return -errno;
    path[length] = '\0';
    if ((size_t)length > tail && strcmp(path + length - tail, deleted) == 0)
        path[(size_t)length - tail] = '\0';
    return 0;
}

static int read_arguments(struct command_line *line)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, line->bytes, sizeof(line->bytes) - 1);

    if (fd >= 0)
        close(fd);
    if (length <= 0 || (size_t)length == sizeof(line->bytes) - 1)
        return length < 0 ? -errno : -E2BIG;
    line->bytes[length] = '\0';
    for (ssize_t at = 0; at < length; at += (ssize_t)strlen(line->bytes + at) + 1) {
        if (line->count == MAX_ARGUMENTS)
            return -E2BIG;
        line->words[line->count++] = line->bytes + at;
    }
    line->words[line->count] = NULL;
    return 0;
}

/* The output of the trial. All of it is copied to the log; the first line is kept for the answer. */
struct words {
    int fd;
    char first[CHANNEL_TEXT_SIZE / 2];
    size_t length;
    bool complete; /* the first line has ended */
};

static void read_words(struct words *words)
{
    char bytes[4096];
    ssize_t length;

    while ((length = read(words->fd, bytes, sizeof(bytes))) > 0) {
        fwrite(bytes, 1, (size_t)length, stderr);
        for (ssize_t i = 0; i < length && !words->complete; i++) {
            words->complete = bytes[i] == '\n' || words->length == sizeof(words->first) - 1;
            if (!words->complete)
                words->first[words->length++] = bytes[i];
        }
    }
    words->first[words->length] = '\0';
}

static bool wait_for(pid_t pid, int *status, struct words *words)
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };

    for (int i = 0; i < CHECK_MS / PAUSE_MS; i++) {
        bool ended = waitpid(pid, status, WNOHANG) == pid;

        read_words(words); /* also after its exit, for its last output */
        if (ended)
            return true;
        nanosleep(&pause, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, status, 0);
    return false;
}

static void describe_failure(const char *path, bool ended, int status, const struct words *words,
                             char why[CHANNEL_TEXT_SIZE])
{
    if (!ended)
        snprintf(why, CHANNEL_TEXT_SIZE, "%.200s would not start: `run --check` took longer than %d s", path,
                 CHECK_MS / 1000);
    else if (words->length > 0)
        snprintf(why, CHANNEL_TEXT_SIZE, "%.200s would not start: %s", path, words->first);
    else if (WIFSIGNALED(status))
        snprintf(why, CHANNEL_TEXT_SIZE, "%.200s would not start: `run --check` was killed by signal %d", path,
                 WTERMSIG(status));
    else
        snprintf(why, CHANNEL_TEXT_SIZE, "%.200s would not start: `run --check` exited with code %d", path,
                 WEXITSTATUS(status));
}

/* Runs the new program with the current arguments and --check. Returns its process, or -1 with the reason in `why`. */
static pid_t start_check(struct command_line *line, struct words *words, char why[CHANNEL_TEXT_SIZE])
{
    char *arguments[MAX_ARGUMENTS + 2], check[] = "--check";
    int pipe_fds[2];
    pid_t pid;

    arguments[0] = line->words[0];
    arguments[1] = line->words[1];
    arguments[2] = check;
    memcpy(arguments + 3, line->words + 2, (line->count - 1) * sizeof(*arguments)); /* with the NULL */
    if (pipe2(pipe_fds, O_CLOEXEC)) {
        snprintf(why, CHANNEL_TEXT_SIZE, "cannot open a pipe to %.200s: %s", line->path, strerror(errno));
        return -1;
    }
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        dup2(pipe_fds[1], STDERR_FILENO);
        execv(line->path, arguments);
        dprintf(STDERR_FILENO, "exec: %s\n", strerror(errno));
        _exit(127);
    }
    close(pipe_fds[1]);
    words->fd = pipe_fds[0];
    if (pid > 0)
        return pid;
    snprintf(why, CHANNEL_TEXT_SIZE, "cannot start a process to check %.200s: %s", line->path, strerror(errno));
    close(pipe_fds[0]);
    return -1;
}

static bool has_passed(const struct command_line *line, bool ended, int status, const struct words *words,
                       char why[CHANNEL_TEXT_SIZE])
{
    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    describe_failure(line->path, ended, status, words, why);
    return false;
}

/* Waits for the check. */
static bool would_start(struct command_line *line, char why[CHANNEL_TEXT_SIZE])
{
    struct words words = { .fd = -1 };
    pid_t pid = start_check(line, &words, why);
    int status = 0;
    bool ended;

    if (pid < 0)
        return false;
    ended = wait_for(pid, &status, &words);
    close(words.fd);
    return has_passed(line, ended, status, &words, why);
}

static bool has_queue(const struct supervisor *supervisor, uint16_t number)
{
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        if (supervisor->queues[i].options.queue == number)
            return true;
    }
    return false;
}

/* Checks the queues of the current configuration files. An invalid configuration is reported by the trial. */
static bool queues_are_free(const struct supervisor *supervisor, const struct config *config,
                            char why[CHANNEL_TEXT_SIZE])
{
    struct nfqueue_options planned[ENGINE_MAX_QUEUES];
    struct firewall_options firewall;
    char cause[FIREWALL_ERROR_SIZE], error[ENGINE_ERROR_SIZE], taken[CAPTURE_ERROR_SIZE];
    size_t count = 0;

    if (firewall_options_read(&firewall, config, cause) || setup_plan_queues(config, &firewall, planned, &count, error))
        return true;
    for (size_t i = 0; i < count; i++) {
        if (has_queue(supervisor, planned[i].queue) ||
            nfqueue_is_free(supervisor->status_fd, planned[i].queue, taken) == 0)
            continue;
        snprintf(why, CHANNEL_TEXT_SIZE, "%s", taken);
        return false;
    }
    return true;
}

/* Checks in advance whether new queues can be bound: later the old engine would already have handed over. */
static bool new_queues_are_free(const struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE])
{
    const struct run_options *run = supervisor->run;
    struct config *config = NULL;
    struct diag *diag = diag_new();
    bool are_free = true;

    if (diag && run->load_config && run->load_config(run->load_config_user, &config, diag) == 0)
        are_free = queues_are_free(supervisor, config, why);
    config_free(config);
    diag_free(diag);
    return are_free;
}

/* --- State ---------------------------------------------------------------------------------------- */

static bool keep_open(int fd, bool open)
{
    return fd < 0 || fcntl(fd, F_SETFD, open ? 0 : FD_CLOEXEC) == 0;
}

/* Keeps all descriptors open across the execution, or restores close-on-exec. */
static void keep_all(const struct supervisor *supervisor, int state, bool open)
{
    keep_open(state, open);
    for (unsigned i = 0; i < supervisor->queue_count; i++)
        keep_open(supervisor->queues[i].fd, open);
    keep_open(supervisor->control_fd, open);
    for (int i = 0; i < INJECT_SOCKETS; i++)
        keep_open(supervisor->reject_fds[i], open);
    keep_open(supervisor->engine.memory_map.fd, open);
    keep_open(supervisor->engine.channel, open);
}

static void write_state(const struct supervisor *supervisor, int fd, int record)
{
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        const struct supervised_queue *queue = &supervisor->queues[i];

        dprintf(fd, "queue %u %d %d %d %" PRIu32 "\n", (unsigned)queue->options.queue, queue->fd, queue->bound,
                queue->raised, queue->buffer);
    }
    dprintf(fd, "control %d\n", supervisor->control_fd);
    for (int i = 0; i < INJECT_SOCKETS; i++)
        dprintf(fd, "reject %d %d\n", i, supervisor->reject_fds[i]);
    dprintf(fd, "memory %d\n", supervisor->engine.memory_map.memory ? supervisor->engine.memory_map.fd : -1);
    dprintf(fd, "record %d %zu\n", record, sizeof(supervisor->record));
    dprintf(fd, "engine %d %d\n", (int)supervisor->engine.pid, supervisor->engine.channel);
}

static int execute(struct supervisor *supervisor, struct command_line *line)
{
    int fd = memfd_create("sluice-keeper", MFD_CLOEXEC), err;
    int record = memfd_create("sluice-record", MFD_CLOEXEC);
    char number[16];

    if (fd < 0 || record < 0 || pwrite(record, &supervisor->record, sizeof(supervisor->record), 0) < 0) {
        err = -errno;
        if (fd >= 0)
            close(fd);
        if (record >= 0)
            close(record);
        return err;
    }
    write_state(supervisor, fd, record);
    keep_open(record, true);
    keep_all(supervisor, fd, true);
    snprintf(number, sizeof(number), "%d", fd);
    setenv(variable, number, 1);
    fflush(NULL);
    execv(line->path, line->words);
    err = -errno;
    unsetenv(variable);
    keep_all(supervisor, fd, false);
    close(fd);
    close(record);
    return err;
}

/* Returns the path and the arguments of the running program, to be freed; NULL with the reason in `why`. */
static struct command_line *read_command_line(char why[CHANNEL_TEXT_SIZE])
{
    struct command_line *line = calloc(1, sizeof(*line));
    int err = line ? read_path(line->path) : -ENOMEM;

    if (!err)
        err = read_arguments(line);
    if (!err && line->count < 2)
        err = -EINVAL;
    if (!err)
        return line;
    snprintf(why, CHANNEL_TEXT_SIZE, "cannot read the path and arguments of the running program: %s", strerror(-err));
    free(line);
    return NULL;
}

bool reexec_check_program(const struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE])
{
    struct command_line *line = read_command_line(why);
    bool can = line && would_start(line, why) && new_queues_are_free(supervisor, why);

    free(line);
    return can;
}

/* --- Trial ---------------------------------------------------------------------------------------- */

/* A running trial. The supervisor does not wait for it, because an engine could block it with repeated requests. */
struct program_trial {
    struct command_line *line;
    struct words words;
    pid_t pid;
    uint64_t due_ns;
};

bool reexec_start_trial(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE])
{
    struct program_trial *trial = calloc(1, sizeof(*trial));

    if (!trial) {
        snprintf(why, CHANNEL_TEXT_SIZE, "out of memory");
        return false;
    }
    trial->line = read_command_line(why);
    trial->pid = trial->line ? start_check(trial->line, &trial->words, why) : -1;
    if (trial->pid < 0) {
        free(trial->line);
        free(trial);
        return false;
    }
    trial->due_ns = clock_monotonic_ns() + CHECK_MS * (NS_PER_SECOND / 1000);
    supervisor->trial = trial;
    return true;
}

int reexec_fd(const struct supervisor *supervisor)
{
    return supervisor->trial ? supervisor->trial->words.fd : -1;
}

static void end_trial(struct supervisor *supervisor)
{
    close(supervisor->trial->words.fd);
    free(supervisor->trial->line);
    free(supervisor->trial);
    supervisor->trial = NULL;
}

void reexec_cancel(struct supervisor *supervisor)
{
    if (!supervisor->trial)
        return;
    kill_and_reap(supervisor, supervisor->trial->pid);
    end_trial(supervisor);
}

bool reexec_poll(struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE])
{
    struct program_trial *trial = supervisor->trial;
    int status = 0, err;
    bool ended = waitpid(trial->pid, &status, WNOHANG) == trial->pid;

    read_words(&trial->words); /* also after its exit, for its last output */
    if (!ended && clock_monotonic_ns() < trial->due_ns)
        return false;
    if (!ended)
        kill_and_reap(supervisor, trial->pid);
    if (has_passed(trial->line, ended, status, &trial->words, why) && new_queues_are_free(supervisor, why)) {
        log_notice("starting %s in place of the running program", trial->line->path);
        err = execute(supervisor, trial->line);
        snprintf(why, CHANNEL_TEXT_SIZE, "cannot execute %.255s: %s", trial->line->path, strerror(-err));
    }
    end_trial(supervisor);
    return true;
}

/* --- After the execution -------------------------------------------------------------------------- */

static bool take_queue(struct supervisor *supervisor, const char *line)
{
    unsigned number;
    int fd, bound, raised;
    uint32_t buffer;

    if (sscanf(line, "queue %u %d %d %d %" SCNu32, &number, &fd, &bound, &raised, &buffer) != 5)
        return false;
    keep_open(fd, false);
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];

        if (queue->options.queue != number || queue->fd >= 0)
            continue;
        queue->fd = fd;
        queue->bound = bound;
        queue->raised = raised;
        return true;
    }
    log_warning("queue %u is no longer configured (queue.numbers): the kernel drops the packets that wait in it",
                number);
    systemd_remove_queue(number);
    close(fd);
    return true;
}

static bool take_reject(struct supervisor *supervisor, const char *line)
{
    int number, fd;

    if (sscanf(line, "reject %d %d", &number, &fd) != 2)
        return false;
    if (number < 0 || number >= INJECT_SOCKETS || fd < 0)
        return true;
    keep_open(fd, false);
    supervisor->reject_fds[number] = fd;
    return true;
}

static bool take_engine(struct supervisor *supervisor, const char *line)
{
    int pid, channel;

    if (sscanf(line, "engine %d %d", &pid, &channel) != 2)
        return false;
    keep_open(channel, false);
    supervisor->engine.pid = pid;
    supervisor->engine.channel = channel;
    supervisor->engine.begun = supervisor->engine.ready = true;
    supervisor->engine.ready_ns = clock_monotonic_ns();
    supervisor->engine.before = memory_shortage_read();
    channel_set_nonblocking(channel);
    return true;
}

static void take_record(struct supervisor *supervisor, int fd, size_t size)
{
    if (size != sizeof(supervisor->record) || pread(fd, &supervisor->record, size, 0) != (ssize_t)size)
        supervisor->record = (struct supervisor_record){ .engines = 1 };
    supervisor->record.reload_wanted = false; /* this supervisor has read the newest configuration */
    close(fd);
}

/* Reads a line of the state; unknown lines are from a newer version. */
static void take_line(struct supervisor *supervisor, const char *line, int *memory)
{
    size_t size;
    int fd;

    if (take_queue(supervisor, line) || take_reject(supervisor, line) || take_engine(supervisor, line))
        return;
    if (sscanf(line, "record %d %zu", &fd, &size) == 2 && fd >= 0) {
        take_record(supervisor, fd, size);
        return;
    }
    if (sscanf(line, "control %d", &fd) == 1 && fd >= 0 && keep_open(fd, false))
        supervisor->control_fd = fd;
    else if (sscanf(line, "memory %d", &fd) == 1 && keep_open(fd, false))
        *memory = fd;
}

bool reexec_has_happened(void)
{
    return getenv(variable) != NULL;
}

int reexec_resume(struct supervisor *supervisor)
{
    const char *number = getenv(variable);
    FILE *file = number ? fdopen(atoi(number), "r") : NULL;
    char line[LINE_SIZE];
    int memory = -1;

    unsetenv(variable);
    if (!file)
        return -EBADF;
    rewind(file);
    while (fgets(line, sizeof(line), file))
        take_line(supervisor, line, &memory);
    fclose(file);
    if (memory >= 0 && engine_memory_adopt(&supervisor->engine.memory_map, memory)) {
        log_warning(
            "the memory of the running engine is of another version: its counters are lost, and a hang of it is "
            "not noticed, until the next engine takes over");
        close(memory);
    }
    supervisor->once_ready = supervisor->resumed = true;
    if (supervisor->record.engines == 0)
        supervisor->record.engines = 1;
    return 0;
}
