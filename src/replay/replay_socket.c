/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice replay --unix-socket`: inspects the capture files that clients of a control socket add to a list, as Suricata
 * does in its unix-socket mode. The rules are loaded once. A child process inspects one file, or one file of a folder,
 * while this process answers clients; a capture that crashes the inspection costs only its own events.
 *
 * Threads:   one. The child may start workers.
 * Ownership: struct list owns its entries.
 */
#include "sluice/replay.h"

#include <errno.h>
#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/control.h"
#include "sluice/detect.h"
#include "sluice/log.h"
#include "sluice/rule.h"

#include "capture_folder.h"

enum { POLL_MS = 100, SCAN_SECONDS = 1, SOCKET_MODE = 0600, PATH_SIZE = 4096 };

/* An entry of the list: a capture file or a folder of them. */
struct entry {
    struct entry *next;
    char *path, *output;
    bool is_folder;
    bool continuous; /* a folder: wait for new files until it is removed, or until pcap-interrupt */
    bool removes;    /* remove each file after it was inspected without an error */
};

struct list {
    const struct replay_options *options;
    struct control_server *server;
    struct ruleset *ruleset;
    struct entry *first, **last;
    struct entry *current;         /* the entry that is processed; NULL: none */
    char current_file[PATH_SIZE];  /* the file that the child inspects; "": none */
    struct capture_folder *folder; /* the current entry; NULL: it is a file */
    uint64_t scanned_ns, started_ns;
    int64_t last_processed_ms; /* modification time of the last inspected file, in ms since 1970 */
    pid_t child;               /* 0: none */
    int signal_fd;             /* readable when SIGINT or SIGTERM has arrived */
    bool interrupted, stopped;
};

/* --- The list ------------------------------------------------------------------------------------- */

static void free_entry(struct entry *entry)
{
    if (!entry)
        return;
    free(entry->path);
    free(entry->output);
    free(entry);
}

static void end_current(struct list *list)
{
    capture_folder_free(list->folder);
    list->folder = NULL;
    free_entry(list->current);
    list->current = NULL;
    list->interrupted = false;
}

/* Inspects a file in a child process. */
static void start_child(struct list *list, const char *path)
{
    struct replay_options options = *list->options;
    char error[ENGINE_ERROR_SIZE] = "";
    int err;

    snprintf(list->current_file, sizeof(list->current_file), "%s", path);
    fflush(NULL);
    list->child = fork();
    if (list->child < 0) {
        log_error("cannot inspect %s: fork: %s", path, strerror(errno));
        list->child = 0;
        list->current_file[0] = '\0';
        return;
    }
    if (list->child > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    options.captures = &path;
    options.capture_count = 1;
    options.log_dir = list->current->output;
    options.appends = true; /* several files may have the same output-dir */
    options.ruleset = list->ruleset;
    options.stop_fd = list->signal_fd; /* SIGTERM ends the inspection after the current packets, with all events */
    err = replay_run(&options, error);
    if (err)
        log_error("%s", error);
    fflush(NULL);
    _exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void end_child(struct list *list)
{
    struct stat status;
    int code;

    if (list->child == 0 || waitpid(list->child, &code, WNOHANG) != list->child)
        return;
    list->child = 0;
    if (stat(list->current_file, &status) == 0)
        list->last_processed_ms = (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
    if (WIFSIGNALED(code))
        log_error("the inspection of %s was ended by signal %d: its events are incomplete", list->current_file,
                  WTERMSIG(code));
    else if (WEXITSTATUS(code) == 0 && list->current->removes && !list->interrupted && unlink(list->current_file))
        log_warning("cannot remove %s: %s", list->current_file, strerror(errno));
    list->current_file[0] = '\0';
}

/* Starts the next file of the current folder. Ends the entry if there is no further file, or the folder is gone. */
static void continue_folder(struct list *list)
{
    const struct entry *entry = list->current;
    const char *path = capture_folder_next(list->folder);
    int err = 0;

    if (!path && clock_monotonic_ns() - list->scanned_ns >= SCAN_SECONDS * NS_PER_SECOND) {
        list->scanned_ns = clock_monotonic_ns();
        err = capture_folder_scan(list->folder);
        path = err ? NULL : capture_folder_next(list->folder);
    }
    if (path)
        start_child(list, path);
    else if (err || !entry->continuous)
        end_current(list);
}

static void continue_list(struct list *list)
{
    end_child(list);
    if (list->child != 0)
        return;
    if (list->current && (list->interrupted || !list->current->is_folder))
        end_current(list);
    if (!list->current && list->first) {
        list->current = list->first;
        list->first = list->current->next;
        if (!list->first)
            list->last = &list->first;
        list->scanned_ns = 0;
        if (!list->current->is_folder) {
            start_child(list, list->current->path);
        } else {
            const struct capture_folder_options folder = {
                .delay_seconds = list->current->continuous ? SCAN_SECONDS : 0,
            };

            if (capture_folder_new(&list->folder, list->current->path, &folder)) {
                log_error("cannot inspect %s: out of memory", list->current->path);
                end_current(list);
            }
        }
    }
    if (list->folder && list->child == 0)
        continue_folder(list);
}

/* --- Commands ------------------------------------------------------------------------------------- */

/* Suricata's clients send flags as a boolean or as a word. */
static bool is_wanted(const struct control_request *request, const char *name)
{
    const char *word = control_string(request, name);

    return control_bool(request, name) || (word && (strcasecmp(word, "true") == 0 || strcasecmp(word, "yes") == 0));
}

static void add_file(struct list *list, struct control_request *request, bool continuous)
{
    const char *path = control_string(request, "filename"), *output = control_string(request, "output-dir");
    struct stat status, folder;
    struct entry *entry;

    if (!path) {
        control_fail(request, "filename is not a string");
    } else if (!output) {
        control_fail(request, "output-dir param is mandatory");
    } else if (control_number(request, "tenant", 0) != 0) {
        control_fail(request, "tenant is not supported: Sluice has one ruleset");
    } else if (stat(path, &status)) {
        control_fail(request, "filename does not exist: '%.200s': %s", path, strerror(errno));
    } else if (continuous && !S_ISDIR(status.st_mode)) {
        control_fail(request, "filename is not a folder: '%.200s'; pcap-file adds one file", path);
    } else if (!S_ISDIR(status.st_mode) && (!S_ISREG(status.st_mode) || access(path, R_OK))) {
        control_fail(request, "filename is not a readable file: '%.200s'", path);
    } else if (stat(output, &folder) || !S_ISDIR(folder.st_mode)) {
        control_fail(request, "output-dir does not exist: '%.200s'; create it first", output);
    } else {
        entry = calloc(1, sizeof(*entry));
        if (entry) {
            entry->path = strdup(path);
            entry->output = strdup(output);
            entry->is_folder = S_ISDIR(status.st_mode);
            entry->continuous = continuous;
            entry->removes = is_wanted(request, "delete-when-done");
        }
        if (!entry || !entry->path || !entry->output) {
            free_entry(entry);
            control_fail(request, "out of memory");
            return;
        }
        *list->last = entry;
        list->last = &entry->next;
        json_string(control_answer(request), NULL, "Successfully added file to list");
    }
}

static void pcap_file(void *user, struct control_request *request)
{
    add_file(user, request, is_wanted(request, "continuous"));
}

static void pcap_file_continuous(void *user, struct control_request *request)
{
    add_file(user, request, true);
}

static void pcap_file_number(void *user, struct control_request *request)
{
    const struct list *list = user;
    size_t count = 0;

    for (const struct entry *entry = list->first; entry; entry = entry->next)
        count++;
    json_uint(control_answer(request), NULL, count);
}

static void pcap_file_list(void *user, struct control_request *request)
{
    const struct list *list = user;
    struct text *out = control_answer(request);
    size_t count = 0;

    for (const struct entry *entry = list->first; entry; entry = entry->next)
        count++;
    json_object_open(out, NULL);
    json_uint(out, "count", count);
    json_array_open(out, "files");
    for (const struct entry *entry = list->first; entry; entry = entry->next)
        json_string(out, NULL, entry->path);
    json_array_close(out);
    json_object_close(out);
}

static void pcap_current(void *user, struct control_request *request)
{
    const struct list *list = user;
    const char *path = list->current_file[0] ? list->current_file : list->current ? list->current->path : "None";

    json_string(control_answer(request), NULL, path);
}

static void pcap_last_processed(void *user, struct control_request *request)
{
    json_int(control_answer(request), NULL, ((const struct list *)user)->last_processed_ms);
}

static void pcap_interrupt(void *user, struct control_request *request)
{
    struct list *list = user;

    if (list->child > 0)
        kill(list->child, SIGTERM);
    list->interrupted = list->current != NULL;
    json_string(control_answer(request), NULL, "Interrupted");
}

static void shut_down(void *user, struct control_request *request)
{
    ((struct list *)user)->stopped = true;
    json_string(control_answer(request), NULL, "Closing Sluice");
}

static void show_version(void *user, struct control_request *request)
{
    (void)user;
    json_string(control_answer(request), NULL, SLUICE_VERSION);
}

static void show_uptime(void *user, struct control_request *request)
{
    json_uint(control_answer(request), NULL,
              (clock_monotonic_ns() - ((const struct list *)user)->started_ns) / NS_PER_SECOND);
}

static void show_running_mode(void *user, struct control_request *request)
{
    json_string(control_answer(request), NULL,
                ((const struct list *)user)->options->workers > 1 ? "workers" : "single");
}

static void show_capture_mode(void *user, struct control_request *request)
{
    (void)user;
    json_string(control_answer(request), NULL, "UNIX_SOCKET");
}

static void show_ruleset(void *user, struct control_request *request)
{
    const struct rule_list *rules = ruleset_rules(((const struct list *)user)->ruleset);
    struct text *out = control_answer(request);

    json_array_open(out, NULL);
    json_object_open(out, NULL);
    json_uint(out, "id", 0);
    json_uint(out, "rules_loaded", rule_list_count(rules));
    json_uint(out, "rules_failed", rule_list_failed(rules));
    json_uint(out, "rules_skipped", rule_list_skipped(rules));
    json_object_close(out);
    json_array_close(out);
}

static void list_commands(void *user, struct control_request *request);
static void describe_commands(void *user, struct control_request *request);

static const struct control_command commands[] = {
    { "pcap-file", NULL, "Inspect a capture file, or the files of a folder: filename, output-dir, delete-when-done",
      pcap_file },
    { "pcap-file-continuous", NULL,
      "Inspect the files of a folder, and those that are added to it, until pcap-interrupt: filename, output-dir, "
      "delete-when-done",
      pcap_file_continuous },
    { "pcap-file-number", NULL, "Show the number of entries that wait", pcap_file_number },
    { "pcap-file-list", NULL, "List the entries that wait", pcap_file_list },
    { "pcap-current", NULL, "Show the file that is inspected", pcap_current },
    { "pcap-last-processed", NULL, "Show the time of the last change of the last file, in ms since 1970",
      pcap_last_processed },
    { "pcap-interrupt", NULL, "End the inspection of the current file or folder", pcap_interrupt },
    { "ruleset-stats", NULL, "Show the numbers of rules that were loaded and left out", show_ruleset },
    { "running-mode", NULL, "Show the running mode: single or workers", show_running_mode },
    { "capture-mode", NULL, "Show the capture mode: UNIX_SOCKET", show_capture_mode },
    { "uptime", NULL, "Show the seconds since the start", show_uptime },
    { "version", NULL, "Show the version of the program", show_version },
    { "shutdown", NULL, "End the inspection and the program", shut_down },
    { "command-list", NULL, "List the commands", list_commands },
    { "help", NULL, "List the commands, each with its description", describe_commands },
    { NULL, NULL, NULL, NULL },
};

static void list_commands(void *user, struct control_request *request)
{
    (void)user;
    control_list_commands(request, commands, false);
}

static void describe_commands(void *user, struct control_request *request)
{
    (void)user;
    control_list_commands(request, commands, true);
}

/* --- The loop ------------------------------------------------------------------------------------- */

int replay_serve(const struct replay_options *options, const char *path, char error[ENGINE_ERROR_SIZE])
{
    struct list list = { .options = options, .started_ns = clock_monotonic_ns() };
    const struct control_options socket_options = {
        .path = path,
        .mode = SOCKET_MODE,
        .max_clients = CONTROL_MAX_CONNECTIONS / 2,
        .commands = commands,
        .user = &list,
    };
    struct signalfd_siginfo info;
    sigset_t signals, before;
    char cause[CONTROL_ERROR_SIZE];
    int err = replay_load_rules(options, &list.ruleset, error);

    list.last = &list.first;
    if (err)
        return err;
    /* Block the signals before the socket exists: a signal that ends the process would leave the socket file behind. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &before);
    err = control_server_new(&list.server, &socket_options, cause);
    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        ruleset_free(list.ruleset);
        return err;
    }
    list.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (list.signal_fd < 0)
        log_error("cannot receive signals: %s; stop the program with the command shutdown", strerror(errno));
    log_info("waiting for capture files on %s", path);
    while (!list.stopped) {
        struct pollfd wait[] = {
            { .fd = control_server_fd(list.server), .events = POLLIN },
            { .fd = list.signal_fd, .events = POLLIN },
        };

        poll(wait, 2, POLL_MS);
        if (wait[1].revents)
            break;
        control_server_run(list.server);
        continue_list(&list);
    }
    if (list.child > 0) {
        kill(list.child, SIGTERM);
        waitpid(list.child, NULL, 0);
    }
    end_current(&list);
    while (list.first) {
        struct entry *entry = list.first;

        list.first = entry->next;
        free_entry(entry);
    }
    control_server_free(list.server);
    ruleset_free(list.ruleset);
    /* A signal that was not read would end the program when it is unblocked. */
    while (list.signal_fd >= 0 && read(list.signal_fd, &info, sizeof(info)) == sizeof(info))
        continue;
    if (list.signal_fd >= 0)
        close(list.signal_fd);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return 0;
}
