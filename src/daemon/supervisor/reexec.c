/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Upgrade of the supervisor: it executes the installed program in the same process, with its sockets, its engine and
 * their memory. A memory file describes them in lines of text, so that an older and a newer version of the program can
 * read the lines that both know. The new supervisor then starts an engine hand-over (engine_handover.c).
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
    char *words[MAX_ARGUMENTS + 2]; /* the arguments; room for --check and the final NULL */
    unsigned count;
};

/* --- Program and arguments ------------------------------------------------------------------------ */

/* The output of a trial. All of it is copied to the log; its first line becomes part of the error text. */
struct trial_output {
    int fd;
    char first[CHANNEL_TEXT_SIZE / 2];
    size_t length;
    bool complete; /* `first` contains the whole first line, or is full */
};

static void read_output(struct trial_output *output)
{
    char bytes[4096];
    ssize_t length;

    while ((length = read(output->fd, bytes, sizeof(bytes))) > 0) {
        fwrite(bytes, 1, (size_t)length, stderr);
        for (ssize_t i = 0; i < length && !output->complete; i++) {
            output->complete = bytes[i] == '\n' || output->length == sizeof(output->first) - 1;
            if (!output->complete)
                output->first[output->length++] = bytes[i];
        }
    }
    output->first[output->length] = '\0';
}

/* Runs the new program with the current arguments and --check. Returns its process id, or -1 with the reason in
 * `why`. */
static pid_t start_check(struct command_line *line, struct trial_output *output, char why[CHANNEL_TEXT_SIZE])
{
    char *arguments[MAX_ARGUMENTS + 2], check[] = "--check";
    int pipe_fds[2];
    pid_t pid;

    arguments[0] = line->words[0];
    arguments[1] = line->words[1];
    arguments[2] = check;
    memcpy(arguments + 3, line->words + 2, (line->count - 1) * sizeof(*arguments)); /* copies the final NULL, too */
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
    output->fd = pipe_fds[0];
    if (pid > 0)
        return pid;
    snprintf(why, CHANNEL_TEXT_SIZE, "cannot start a process to check %.200s: %s", line->path, strerror(errno));
    close(pipe_fds[0]);
    return -1;
}

/* Returns whether the trial has passed; if not, the reason is in `why`. */
static bool has_passed(const struct command_line *line, bool ended, int status, const struct trial_output *output,
                       char why[CHANNEL_TEXT_SIZE])
{
    if (ended && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    if (!ended)
        snprintf(why, CHANNEL_TEXT_SIZE, "%.200s would not start: `run --check` took longer than %d s", line->path,
                 CHECK_MS / 1000);
    else if (output->length > 0)
        snprintf(why, CHANNEL_TEXT_SIZE, "%.200s would not start: %s", line->path, output->first);
    else if (WIFSIGNALED(status))
        snprintf(why, CHANNEL_TEXT_SIZE, "%.200s would not start: `run --check` was killed by signal %d", line->path,
                 WTERMSIG(status));
    else
        snprintf(why, CHANNEL_TEXT_SIZE, "%.200s would not start: `run --check` exited with code %d", line->path,
                 WEXITSTATUS(status));
    return false;
}

/* Runs the trial and waits for its end. Returns whether the trial has passed; if not, the reason is in `why`. */
static bool would_start(struct command_line *line, char why[CHANNEL_TEXT_SIZE])
{
    const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
    struct trial_output output = { .fd = -1 };
    pid_t pid = start_check(line, &output, why);
    bool ended = false;
    int status = 0;

    if (pid < 0)
        return false;
    for (int i = 0; i < CHECK_MS / PAUSE_MS && !ended; i++) {
        ended = waitpid(pid, &status, WNOHANG) == pid;
        read_output(&output); /* also after the exit of the process, for the last output */
        if (!ended)
            nanosleep(&pause, NULL);
    }
    if (!ended) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    close(output.fd);
    return has_passed(line, ended, status, &output, why);
}

/* Returns whether the queues in the current configuration files can be bound; if not, the reason is in `why`. Checked
 * in advance, because the old engine has already handed over when the new supervisor binds them. An invalid
 * configuration passes: the trial reports it. */
static bool new_queues_are_free(const struct supervisor *supervisor, char why[CHANNEL_TEXT_SIZE])
{
    const struct run_options *run = supervisor->run;
    struct nfqueue_options planned[CAPTURE_MAX_QUEUES];
    struct firewall_options firewall;
    char cause[FIREWALL_ERROR_SIZE], error[ENGINE_ERROR_SIZE], taken[CAPTURE_ERROR_SIZE];
    struct config *config = NULL;
    struct diag *diag = diag_new();
    size_t count = 0;
    bool are_free = true;

    if (diag && run->load_config && run->load_config(run->load_config_user, &config, diag) == 0 &&
        (setup_firewall_options(config, &firewall, cause) ||
         setup_plan_queues(config, &firewall, planned, &count, error)))
        count = 0;
    for (size_t i = 0; i < count && are_free; i++) {
        bool own = false;

        for (unsigned k = 0; k < supervisor->queue_count; k++)
            own |= supervisor->queues[k].options.queue == planned[i].queue;
        are_free = own || nfqueue_is_free(supervisor->status_fd, planned[i].queue, taken) == 0;
        if (!are_free)
            snprintf(why, CHANNEL_TEXT_SIZE, "%s", taken);
    }
    config_free(config);
    diag_free(diag);
    return are_free;
}

/* --- State ---------------------------------------------------------------------------------------- */

static bool keep_open(int fd, bool open)
{
    return fd < 0 || fcntl(fd, F_SETFD, open ? 0 : FD_CLOEXEC) == 0;
}

/* Keeps the descriptors for the next program open across execv() (`open`), or sets close-on-exec again. */
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

/* Writes the state of the supervisor to memory files and executes the program. Returns -errno if that fails. */
static int execute(struct supervisor *supervisor, struct command_line *line)
{
    int fd = memfd_create("sluice-supervisor-state", MFD_CLOEXEC), err;
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

/* Returns the path and the arguments of the running program, which the caller frees; NULL with the reason in `why`. */
static struct command_line *read_command_line(char why[CHANNEL_TEXT_SIZE])
{
    const size_t tail = sizeof(deleted) - 1;
    struct command_line *line = calloc(1, sizeof(*line));
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC), err = line ? 0 : -ENOMEM;
    ssize_t length = line ? readlink("/proc/self/exe", line->path, PATH_SIZE - 1) : -1;

    if (!err && length < 0)
        err = -errno;
    /* If a package manager has replaced the file, /proc/self/exe ends in " (deleted)"; without this suffix it is the
     * path of the new program. */
    if (!err && (size_t)length > tail && strcmp(line->path + length - tail, deleted) == 0)
        line->path[(size_t)length - tail] = '\0';
    if (!err) {
        length = fd < 0 ? -1 : read(fd, line->bytes, sizeof(line->bytes) - 1);
        err = length < 0 ? -errno : length == 0 || (size_t)length == sizeof(line->bytes) - 1 ? -E2BIG : 0;
    }
    for (ssize_t at = 0; !err && at < length; at += (ssize_t)strlen(line->bytes + at) + 1) {
        if (line->count < MAX_ARGUMENTS)
            line->words[line->count++] = line->bytes + at;
        else
            err = -E2BIG;
    }
    if (!err && line->count < 2)
        err = -EINVAL;
    if (fd >= 0)
        close(fd);
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

/* A running trial. The supervisor does not wait for it, because a compromised engine could block the supervisor with
 * repeated upgrade requests. */
struct program_trial {
    struct command_line *line;
    struct trial_output output;
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
    trial->pid = trial->line ? start_check(trial->line, &trial->output, why) : -1;
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
    return supervisor->trial ? supervisor->trial->output.fd : -1;
}

static void end_trial(struct supervisor *supervisor)
{
    close(supervisor->trial->output.fd);
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

    read_output(&trial->output); /* also after the exit of the process, for the last output */
    if (!ended && clock_monotonic_ns() < trial->due_ns)
        return false;
    if (!ended)
        kill_and_reap(supervisor, trial->pid);
    if (has_passed(trial->line, ended, status, &trial->output, why) && new_queues_are_free(supervisor, why)) {
        log_notice("starting %s in place of the running program", trial->line->path);
        err = execute(supervisor, trial->line);
        snprintf(why, CHANNEL_TEXT_SIZE, "cannot execute %.255s: %s", trial->line->path, strerror(-err));
    }
    end_trial(supervisor);
    return true;
}

/* --- After the execution -------------------------------------------------------------------------- */

static void resume_queue(struct supervisor *supervisor, unsigned number, int fd, bool bound, bool raised)
{
    keep_open(fd, false);
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];

        if (queue->options.queue != number || queue->fd >= 0)
            continue;
        queue->fd = fd;
        queue->bound = bound;
        queue->raised = raised;
        return;
    }
    log_warning("queue %u is no longer configured (queue.numbers): the kernel drops the packets that wait in it",
                number);
    systemd_remove_queue(number);
    close(fd);
}

/* Reads a line of the state. Ignores unknown lines, which another version has written. */
static void read_line(struct supervisor *supervisor, const char *line, int *memory)
{
    struct engine_process *engine = &supervisor->engine;
    int fd, number, bound, raised;
    uint32_t buffer;
    size_t size;

    if (sscanf(line, "queue %d %d %d %d %" SCNu32, &number, &fd, &bound, &raised, &buffer) == 5) {
        resume_queue(supervisor, (unsigned)number, fd, bound, raised);
    } else if (sscanf(line, "reject %d %d", &number, &fd) == 2) {
        if (number >= 0 && number < INJECT_SOCKETS && fd >= 0 && keep_open(fd, false))
            supervisor->reject_fds[number] = fd;
    } else if (sscanf(line, "engine %d %d", &number, &fd) == 2) {
        keep_open(fd, false);
        engine->pid = number;
        engine->channel = fd;
        engine->begun = engine->ready = true;
        engine->ready_ns = clock_monotonic_ns();
        engine->before = memory_shortage_read();
        channel_set_nonblocking(fd);
    } else if (sscanf(line, "record %d %zu", &fd, &size) == 2 && fd >= 0) {
        if (size != sizeof(supervisor->record) || pread(fd, &supervisor->record, size, 0) != (ssize_t)size)
            supervisor->record = (struct supervisor_record){ .engines = 1 };
        supervisor->record.reload_wanted = false; /* this supervisor was started with the newest configuration */
        close(fd);
    } else if (sscanf(line, "control %d", &fd) == 1 && fd >= 0 && keep_open(fd, false)) {
        supervisor->control_fd = fd;
    } else if (sscanf(line, "memory %d", &fd) == 1 && keep_open(fd, false)) {
        *memory = fd;
    }
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
        read_line(supervisor, line, &memory);
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
