/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sluice-metrics-http: answers HTTP requests for metrics. `sluice metrics` starts it with two descriptors: the
 * listening socket, and one end of a socket pair on which this process requests each text (struct metrics_request).
 *
 * libmicrohttpd parses what clients send, so this program is separate: it is not linked to the engine, and before the
 * first connection it gives up its user, all capabilities and, by a seccomp filter, all system calls but those for
 * connections and memory. It can open no file and no socket, and reach no other process.
 *
 * The process has one thread. A connection lasts at most metrics.timeout seconds, however slowly its client sends or
 * reads; it has one request, and at most metrics.clients exist at a time. libmicrohttpd limits the memory of each.
 */
#include <cap-ng.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/metrics.h"
#include "sluice/sandbox.h"

enum { CONNECTION_MEMORY = 16 << 10, TICK_MS = 500 };

static const char index_page[] = "Metrics of Sluice are at /metrics.\n";
static const char not_found[] = "not found: metrics are at /metrics\n";
static const char not_allowed[] = "only GET and HEAD are allowed\n";
static const char no_text[] = "out of memory\n";

struct connection {
    int fd; /* -1: unused */
    uint64_t since_ns;
};

struct server {
    struct metrics_http_counts counts;
    uint64_t timeout_ns;
    struct connection connections[METRICS_MAX_CLIENTS];
    bool stop; /* `sluice metrics` has ended */
};

/* --- Texts ---------------------------------------------------------------------------------------- */

static bool receive(int fd, void *bytes, size_t length)
{
    for (char *at = bytes; length > 0;) {
        ssize_t n = read(fd, at, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        length -= (size_t)n;
    }
    return true;
}

/* Requests a text, which the caller frees. Returns NULL if there is none. */
static char *request_text(struct server *server, enum metrics_format format, size_t *length)
{
    const struct metrics_request request = { .format = format, .counts = server->counts };
    uint32_t size = 0;
    char *text;

    if (send(METRICS_CHANNEL_FD, &request, sizeof(request), MSG_NOSIGNAL) != sizeof(request) ||
        !receive(METRICS_CHANNEL_FD, &size, sizeof(size)) || size > METRICS_MAX_TEXT) {
        server->stop = true;
        return NULL;
    }
    if (size == 0)
        return NULL;
    text = malloc(size);
    if (!text || !receive(METRICS_CHANNEL_FD, text, size)) {
        server->stop = true; /* the rest of the text would be read as the next text */
        free(text);
        return NULL;
    }
    *length = size;
    return text;
}

/* --- Requests ------------------------------------------------------------------------------------- */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response,
                               const char *type)
{
    enum MHD_Result result = MHD_NO;

    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    /* One request per connection: an idle connection would occupy one of metrics.clients. */
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result respond_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return respond(connection, status,
                   MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT),
                   "text/plain; charset=utf-8");
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *data_size, void **request)
{
    static int seen;
    struct server *server = user;
    enum metrics_format format;
    size_t length;
    char *text;

    (void)version;
    (void)data;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return respond_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, not_allowed);
    if (!*request) { /* the first call is for the headers; the request has no body that matters */
        *request = &seen;
        return MHD_YES;
    }
    if (*data_size > 0) {
        *data_size = 0;
        return MHD_YES;
    }
    if (strcmp(url, "/") == 0)
        return respond_text(connection, MHD_HTTP_OK, index_page);
    if (strcmp(url, "/metrics") != 0)
        return respond_text(connection, MHD_HTTP_NOT_FOUND, not_found);
    format = metrics_negotiate(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
    server->counts.requests++;
    text = request_text(server, format, &length);
    if (!text)
        return respond_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, no_text);
    return respond(connection, MHD_HTTP_OK, MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE),
                   metrics_content_type(format));
}

/* --- Connections ---------------------------------------------------------------------------------- */

static void notice_connection(void *user, struct MHD_Connection *connection, void **context,
                              enum MHD_ConnectionNotificationCode code)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct server *server = user;

    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context)
            ((struct connection *)*context)->fd = -1;
        return;
    }
    for (size_t i = 0; i < METRICS_MAX_CLIENTS && info; i++) {
        if (server->connections[i].fd >= 0)
            continue;
        server->connections[i] = (struct connection){ info->connect_fd, clock_monotonic_ns() };
        *context = &server->connections[i];
        return;
    }
}

/* Ends connections that have lasted too long. libmicrohttpd sees their end at its next run, and closes them. */
static void end_slow(struct server *server)
{
    uint64_t now_ns = clock_monotonic_ns();

    for (size_t i = 0; i < METRICS_MAX_CLIENTS; i++) {
        struct connection *connection = &server->connections[i];

        if (connection->fd < 0 || now_ns - connection->since_ns < server->timeout_ns)
            continue;
        shutdown(connection->fd, SHUT_RDWR);
        connection->since_ns = now_ns;
        server->counts.closed++;
    }
}

/* --- Sandbox -------------------------------------------------------------------------------------- */

/* Returns 0 or -errno. */
static int filter_system_calls(void)
{
    static const int calls[] = {
        SCMP_SYS(read),         SCMP_SYS(write),          SCMP_SYS(readv),         SCMP_SYS(writev),
        SCMP_SYS(recvfrom),     SCMP_SYS(recvmsg),        SCMP_SYS(sendto),        SCMP_SYS(sendmsg),
        SCMP_SYS(sendfile),     SCMP_SYS(accept),         SCMP_SYS(accept4),       SCMP_SYS(shutdown),
        SCMP_SYS(close),        SCMP_SYS(getsockopt),     SCMP_SYS(setsockopt),    SCMP_SYS(getsockname),
        SCMP_SYS(getpeername),  SCMP_SYS(fcntl),          SCMP_SYS(select),        SCMP_SYS(pselect6),
        SCMP_SYS(poll),         SCMP_SYS(ppoll),          SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
        SCMP_SYS(gettimeofday), SCMP_SYS(time),           SCMP_SYS(brk),           SCMP_SYS(mmap),
        SCMP_SYS(munmap),       SCMP_SYS(mremap),         SCMP_SYS(madvise),       SCMP_SYS(futex),
        SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigaction),  SCMP_SYS(restart_syscall),
        SCMP_SYS(getpid),       SCMP_SYS(gettid),         SCMP_SYS(getrandom),     SCMP_SYS(exit),
        SCMP_SYS(exit_group),
    };
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int err = context ? 0 : -ENOMEM;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
        err = seccomp_rule_add(context, SCMP_ACT_ALLOW, calls[i], 0);
    if (!err)
        err = seccomp_load(context);
    seccomp_release(context);
    return err;
}

/* Gives up user, capabilities and system calls. Returns 0, or -errno after a message. */
static int confine(void)
{
    char error[SANDBOX_ERROR_SIZE] = "";
    struct sandbox_user user;
    int err = sandbox_find_user(&user, NULL, NULL, error);

    if (!err && user.missing)
        fputs(METRICS_HTTP_PROGRAM ": running as root without capabilities: the user " SANDBOX_DEFAULT_USER
                                   " does not exist; create it (systemd-sysusers sluice.conf)\n",
              stderr);
    if (!err && user.change) {
        capng_clear(CAPNG_SELECT_BOTH);
        if (capng_change_id((int)user.uid, (int)user.gid, CAPNG_DROP_SUPP_GRP | CAPNG_CLEAR_BOUNDING)) {
            snprintf(error, sizeof(error), "cannot change to user %s", user.name);
            err = -EPERM;
        }
    } else if (!err) {
        capng_clear(CAPNG_SELECT_BOUNDS); /* without CAP_SETPCAP the bounding set stays; no_new_privs suffices */
        capng_apply(CAPNG_SELECT_BOUNDS);
        capng_clear(CAPNG_SELECT_CAPS);
        capng_apply(CAPNG_SELECT_CAPS);
    }
    if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        err = -errno;
    if (!err)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (!err)
        err = filter_system_calls();
    if (err)
        fprintf(stderr, METRICS_HTTP_PROGRAM ": cannot confine the process: %s\n", *error ? error : strerror(-err));
    return err;
}

/* --- Main ----------------------------------------------------------------------------------------- */

/* Waits up to TICK_MS for events, and handles them. */
static void run_once(struct server *server, struct MHD_Daemon *daemon)
{
    struct timeval wait = { .tv_usec = TICK_MS * 1000 };
    fd_set reads, writes, errors;
    MHD_socket max = METRICS_CHANNEL_FD;
    MHD_UNSIGNED_LONG_LONG ms;
    char byte;

    FD_ZERO(&reads);
    FD_ZERO(&writes);
    FD_ZERO(&errors);
    if (MHD_get_fdset(daemon, &reads, &writes, &errors, &max) != MHD_YES) {
        server->stop = true;
        return;
    }
    FD_SET(METRICS_CHANNEL_FD, &reads);
    if (MHD_get_timeout(daemon, &ms) == MHD_YES && ms < TICK_MS)
        wait.tv_usec = (suseconds_t)ms * 1000;
    if (select((max > METRICS_CHANNEL_FD ? max : METRICS_CHANNEL_FD) + 1, &reads, &writes, &errors, &wait) < 0 &&
        errno != EINTR)
        server->stop = true;
    /* Nothing is sent here without a request: `sluice metrics` has closed its end. */
    if (FD_ISSET(METRICS_CHANNEL_FD, &reads) && recv(METRICS_CHANNEL_FD, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0)
        server->stop = true;
    MHD_run_from_select(daemon, &reads, &writes, &errors);
    end_slow(server);
}

static bool parse_number(const char *text, uint64_t high, uint64_t *out)
{
    return text_to_uint(text, strlen(text), 1, high, out);
}

int main(int argc, char **argv)
{
    const struct metrics_request ready = { .format = METRICS_FORMATS };
    struct server server = { .stop = false };
    struct MHD_Daemon *daemon;
    uint64_t clients, timeout;
    int type;

    if (argc != 3 || !parse_number(argv[1], METRICS_MAX_CLIENTS, &clients) || !parse_number(argv[2], 600, &timeout) ||
        getsockopt(METRICS_CHANNEL_FD, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){ sizeof(type) })) {
        fputs(METRICS_HTTP_PROGRAM ": `sluice metrics` starts this program; run that command\n", stderr);
        return 2;
    }
    server.timeout_ns = timeout * NS_PER_SECOND;
    for (size_t i = 0; i < METRICS_MAX_CLIENTS; i++)
        server.connections[i].fd = -1;
    daemon = MHD_start_daemon(MHD_NO_FLAG, 0, NULL, NULL, handle, &server, MHD_OPTION_LISTEN_SOCKET, METRICS_LISTEN_FD,
                              MHD_OPTION_CONNECTION_LIMIT, (unsigned)clients, MHD_OPTION_CONNECTION_TIMEOUT,
                              (unsigned)timeout, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
                              MHD_OPTION_NOTIFY_CONNECTION, notice_connection, &server, MHD_OPTION_END);
    if (!daemon) {
        fputs(METRICS_HTTP_PROGRAM ": libmicrohttpd did not start\n", stderr);
        return 1;
    }
    if (confine())
        return 1;
    if (send(METRICS_CHANNEL_FD, &ready, sizeof(ready), MSG_NOSIGNAL) != sizeof(ready))
        return 1;
    while (!server.stop)
        run_once(&server, daemon);
    MHD_stop_daemon(daemon);
    return 0;
}
