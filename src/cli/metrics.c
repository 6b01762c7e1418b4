/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice metrics`: serves the counters of the daemon to Prometheus, or prints them once.
 *
 * HTTP is not served here but by sluice-metrics-http, a process without privileges that has two descriptors: the
 * listening socket, and one end of a socket pair. It can neither reach the control socket, over which the daemon also
 * accepts commands, nor open files. It requests each text over the socket pair; this process queries the daemon and
 * answers. A text is used again for a second, so that clients cannot load the daemon with queries.
 *
 * While the daemon is down the metrics consist of sluice_up 0. All waits are bounded: the three queries of a text take
 * at most QUERY_LIMIT_SECONDS each, together less than the 10 s after which Prometheus by default gives up a scrape.
 */
#include "query.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/daemon.h"
#include "sluice/log.h"
#include "sluice/metrics.h"

enum { OPTION_ONCE = QUERY_OPTION_OWN, OPTION_OPENMETRICS, PATH_SIZE = 512 };
/* Limits of each of the three queries for a text, and of the start of the HTTP process. */
enum { QUERY_LIMIT_SECONDS = 2, READY_MS = 10000 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .letter = 'L',
      .name = "listen",
      .argument = "ADDRESS",
      .setting = "metrics.listen",
      .help = "answer HTTP requests there: ADDRESS:PORT or the path of a Unix socket (metrics.listen; default "
              "127.0.0.1:9931)" },
    CLI_ROW_SET,
    { .id = OPTION_ONCE, .letter = '1', .name = "once", .help = "print the metrics once, and serve nothing" },
    { .id = OPTION_OPENMETRICS,
      .name = "openmetrics",
      .help = "with --once: print the OpenMetrics format; by default the text format of Prometheus" },
    { .name = NULL },
};

/* How long a text is used again. */
#define REUSE_NS NS_PER_SECOND

struct arguments {
    struct query query;
    bool once, openmetrics;
};

struct server {
    char control[PATH_SIZE]; /* path of the control socket */
    bool down;               /* the last query failed, which was logged */
    struct metrics_http_counts counts;
    struct text texts[METRICS_FORMATS];
    uint64_t made_ns[METRICS_FORMATS]; /* when each text was made (clock_monotonic_ns()); 0: not yet */
};

/* Sends one command to the daemon. Returns 0, or -errno with a line in `error`. */
static int send_command(const char *control, const char *command, struct control_reply *reply,
                        char error[CONTROL_ERROR_SIZE])
{
    struct text request;
    int err;

    text_init(&request);
    json_object_open(&request, NULL);
    json_string(&request, "command", command);
    json_object_close(&request);
    err = control_send_request(control, &request, QUERY_LIMIT_SECONDS, reply, error);
    text_clear(&request);
    return err;
}

/* Queries the daemon and writes the metrics. If the daemon does not answer, returns -errno with a line in `error`, and
 * writes the metrics that report this, such as sluice_up 0. Otherwise returns 0. */
static int make_text(const char *control, const struct metrics_http_counts *counts, enum metrics_format format,
                     struct text *out, char error[CONTROL_ERROR_SIZE])
{
    static const char *const commands[] = { "status", "stats", "queues" };
    enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };
    struct control_reply replies[COMMANDS] = { { NULL, NULL } };
    uint64_t begun_ns = clock_monotonic_ns();
    int err = 0;

    for (size_t i = 0; i < COMMANDS && !err; i++)
        err = send_command(control, commands[i], &replies[i], error);

    const struct metrics_input input = {
        .status = replies[0].message,
        .stats = err ? NULL : replies[1].message,
        .queues = err ? NULL : replies[2].message,
        .query_seconds = (double)(clock_monotonic_ns() - begun_ns) / NS_PER_SECOND,
        .http = counts,
    };

    metrics_write(&input, format, out);
    for (size_t i = 0; i < COMMANDS; i++)
        control_value_free(replies[i].whole);
    return err;
}

static int print_once(const char *control, bool openmetrics)
{
    char error[CONTROL_ERROR_SIZE];
    struct text out;

    text_init(&out);
    if (make_text(control, NULL, openmetrics ? METRICS_OPENMETRICS : METRICS_TEXT, &out, error))
        cli_error(&command_metrics, "%s; printing sluice_up 0", error);
    return cli_write(&out);
}

/* --- Server --------------------------------------------------------------------------------------- */

static bool send_all(int fd, const void *bytes, size_t length)
{
    for (const char *at = bytes; length > 0;) {
        ssize_t n = send(fd, at, length, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

/* Answers one request of the HTTP process. Returns false if that process has ended or sent no valid request. */
static bool answer(struct server *server, int channel)
{
    struct metrics_request request;
    char error[CONTROL_ERROR_SIZE];
    struct text *text;
    uint32_t length;

    if (recv(channel, &request, sizeof(request), MSG_WAITALL) != sizeof(request) || request.format >= METRICS_FORMATS)
        return false;
    text = &server->texts[request.format];
    server->counts = request.counts;
    if (server->made_ns[request.format] == 0 || clock_monotonic_ns() - server->made_ns[request.format] > REUSE_NS) {
        text_reset(text);
        text->failed = false;

        bool down = make_text(server->control, &server->counts, (enum metrics_format)request.format, text, error) != 0;

        if (down && !server->down)
            log_warning("metrics: the daemon does not answer: %s; reporting sluice_up 0", error);
        else if (!down && server->down)
            log_notice("metrics: the daemon answers again");
        server->down = down;
        server->made_ns[request.format] = clock_monotonic_ns();
    }
    length = text->failed || text->length > METRICS_MAX_TEXT ? 0 : (uint32_t)text->length;
    if (length == 0)
        server->made_ns[request.format] = 0;
    return send_all(channel, &length, sizeof(length)) && send_all(channel, text->bytes, length);
}

/* Starts the HTTP process. Returns its id, or -errno. */
static pid_t start_http(int listen_fd, int channel, const struct metrics_options *settings)
{
    char self[PATH_MAX], program[PATH_MAX + sizeof(METRICS_HTTP_PROGRAM)], clients[16], timeout[16];
    char *const argv[] = { METRICS_HTTP_PROGRAM, clients, timeout, NULL };
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    int err;

    self[length > 0 ? length : 0] = '\0';
    snprintf(program, sizeof(program), "%.*s%s", strrchr(self, '/') ? (int)(strrchr(self, '/') + 1 - self) : 0, self,
             METRICS_HTTP_PROGRAM);
    if (access(program, X_OK))
        snprintf(program, sizeof(program), "%s/%s", SLUICE_LIBEXECDIR, METRICS_HTTP_PROGRAM);
    snprintf(clients, sizeof(clients), "%u", (unsigned)settings->clients);
    snprintf(timeout, sizeof(timeout), "%u", (unsigned)settings->timeout);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    /* move_up() has moved the descriptors above METRICS_CHANNEL_FD. */
    posix_spawn_file_actions_adddup2(&actions, listen_fd, METRICS_LISTEN_FD);
    posix_spawn_file_actions_adddup2(&actions, channel, METRICS_CHANNEL_FD);
    posix_spawn_file_actions_addclosefrom_np(&actions, METRICS_CHANNEL_FD + 1);
    err = posix_spawn(&pid, program, &actions, &attributes, argv, (char *[]){ NULL });
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (err)
        cli_error(&command_metrics, "cannot start %s: %s; install it, it is part of Sluice", program, strerror(err));
    return err ? -err : pid;
}

/* Waits until the HTTP process is ready. */
static bool wait_ready(int channel)
{
    struct pollfd wait = { .fd = channel, .events = POLLIN };
    struct metrics_request request;

    return poll(&wait, 1, READY_MS) == 1 && recv(channel, &request, sizeof(request), MSG_WAITALL) == sizeof(request) &&
           request.format == METRICS_FORMATS;
}

/* Answers the HTTP process until a signal ends this one. Returns an exit code. */
static int serve(struct server *server, int channel, const char *listen)
{
    struct pollfd waits[2] = { { .fd = channel, .events = POLLIN }, { .events = POLLIN } };
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    waits[1].fd = signalfd(-1, &ends, SFD_CLOEXEC);
    if (waits[1].fd < 0 || !wait_ready(channel)) {
        cli_error(&command_metrics, "%s did not start; its messages are above", METRICS_HTTP_PROGRAM);
        return EXIT_FAILED;
    }
    log_notice("metrics: listening on %s", listen);
    sd_notify(0, "READY=1");
    for (;;) {
        if (poll(waits, 2, -1) < 0 && errno != EINTR)
            return EXIT_FAILED;
        if (waits[1].revents)
            return EXIT_OK;
        if (waits[0].revents && !answer(server, channel)) {
            cli_error(&command_metrics, "%s ended unexpectedly", METRICS_HTTP_PROGRAM);
            return EXIT_FAILED;
        }
    }
}

/* Moves a descriptor above those of the HTTP process. Returns 0, or -1 with errno set. */
static int move_up(int *fd)
{
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, METRICS_CHANNEL_FD + 1);

    if (moved < 0)
        return -1;
    close(*fd);
    *fd = moved;
    return 0;
}

static int run_server(struct server *server, const struct metrics_options *settings)
{
    char error[METRICS_ERROR_SIZE];
    int ends[2] = { -1, -1 }, code = EXIT_FAILED, listen_fd = metrics_listen(settings, error);
    sigset_t blocked;
    pid_t pid = -1;

    if (listen_fd < 0) {
        cli_error(&command_metrics, "%s", error);
        return EXIT_FAILED;
    }
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) || move_up(&listen_fd) || move_up(&ends[1]))
        cli_error(&command_metrics, "cannot create a socket pair: %s", strerror(errno));
    else
        pid = start_http(listen_fd, ends[1], settings);
    close(listen_fd);
    close(ends[1]);
    if (pid > 0)
        code = serve(server, ends[0], settings->listen);
    close(ends[0]); /* ends the HTTP process */
    if (pid > 0) {
        kill(pid, SIGTERM);
        waitpid(pid, NULL, 0);
    }
    if (settings->listen[0] == '/')
        unlink(settings->listen);
    return code;
}

/* --- The command ---------------------------------------------------------------------------------- */

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_ONCE:
        arguments->once = true;
        return 0;
    case OPTION_OPENMETRICS:
        arguments->openmetrics = true;
        return 0;
    default:
        return query_handle_option(&arguments->query, option, value);
    }
}

static int run_metrics(int argc, char **argv)
{
    struct arguments arguments = { .once = false };
    struct server server = { .down = false };
    struct metrics_options settings = { 0 };
    struct daemon_options daemon;
    struct config *config = NULL;
    int code = query_init(&arguments.query, &command_metrics, argc);

    if (code)
        return code;
    code = cli_parse_without_arguments(&command_metrics, argc, argv, handle_option, &arguments,
                                       &arguments.query.input.settings);
    if (code < 0 && arguments.openmetrics && !arguments.once) {
        cli_error(&command_metrics, "--openmetrics needs --once; HTTP clients select the format by the header Accept");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = cli_load_sound_config(&arguments.query.input, CONFIG_STRICT, CLI_DEFAULT_CONFIG,
                                     "not started (`sluice check` shows them all)", &config);
    if (!code && config) {
        config_fill(config, daemon_settings, NULL, &daemon);
        config_fill(config, metrics_settings, NULL, &settings);
        snprintf(server.control, PATH_SIZE, "%s%s", strchr(daemon.control_name, '/') ? "" : SLUICE_RUNDIR "/",
                 daemon.control_name);
        for (unsigned i = 0; i < METRICS_FORMATS; i++)
            text_init(&server.texts[i]);
        code = arguments.once ? print_once(server.control, arguments.openmetrics) : run_server(&server, &settings);
        for (unsigned i = 0; i < METRICS_FORMATS; i++)
            text_clear(&server.texts[i]);
    }
    config_free(config);
    query_clear(&arguments.query);
    return code;
}

const struct command command_metrics = {
    .name = "metrics",
    .usage = "[OPTION]...",
    .summary = "Serve the counters of the daemon to Prometheus, or print them once",
    .help = "Answers HTTP requests for /metrics until SIGTERM or SIGINT, in the format that the client accepts: "
            "OpenMetrics 1.0 or\n"
            "the text format 0.0.4 of Prometheus. While the daemon is down or does not answer, sluice_up is 0.\n"
            "--once prints the text format, for example for the textfile collector of node_exporter. If the daemon "
            "does not answer,\n"
            "it prints sluice_up 0 with a message.",
    .options = options,
    .run = run_metrics,
};
