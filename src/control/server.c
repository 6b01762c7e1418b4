/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket and its clients. A client is in one of three states: it may send a request; it waits for a deferred
 * answer; it has an answer to read. The server reads from it only in the first state, so a client occupies at most one
 * request and one answer. In each round the server answers one request per client, however many the client has sent.
 *
 * A client that never completes its request, or never reads its answer, must not keep others out. Two numbers are
 * limited: connections (CONTROL_MAX_CONNECTIONS), and requests that are being answered (max_clients), which take
 * memory. At the first limit a new connection replaces one that was served, or whose first request is not complete. At
 * the second a request replaces a client that does not read its answer, or a client of another user that waits for a
 * deferred answer. The client that is closed belongs to the user with most connections. Of that user's clients
 * it has the lowest rank (see below); of several with that rank, it has made no progress for the longest time. Clients
 * of root are only closed in favour of root. A new connection stays until the server has read from it in the next
 * round, so a client that sends its request at once gets its answer.
 *
 * One epoll descriptor contains all sockets, so that the thread that owns the server waits for one descriptor.
 *
 * If the path of the socket exists, the server tries to connect: when no process listens, it removes the path and
 * creates the socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control_priv.h"
#include "sluice/clock.h"

enum {
    BACKLOG = 128,
    EVENTS = CONTROL_MAX_CONNECTIONS + 2,
    /* Connections accepted per round. Together with the requests in progress (at most 64) they must be fewer than
     * CONTROL_MAX_CONNECTIONS. */
    ACCEPTS = 48,
    TICKET_SLOTS = 256,
    FOLDER_MODE = 0755,
    PATH_SIZE = sizeof(((struct sockaddr_un *)0)->sun_path)
};

/* epoll ids of the listening socket and of wake_fd; ids of clients are indices in control_server.clients. */
#define LISTEN_ID UINT64_MAX
#define WAKE_ID (UINT64_MAX - 1)

struct client {
    int fd;       /* -1: this element is free */
    bool waits;   /* the client waits for a deferred answer */
    bool closing; /* close the connection when the answer has been sent */
    bool served;  /* the server has handled at least one request */
    bool is_new;  /* the connection is new: the server has not read from it yet */
    uid_t uid;    /* user id of the process that connected */
    uint64_t ticket;
    uint64_t since_ns; /* monotonic time of the client's last progress, which selects the client to close */
    size_t length;     /* bytes in `line` */
    size_t sent;       /* bytes of `out` that have been sent */
    struct text out;
    char line[CONTROL_MAX_LINE];
};

/* Rank of a client that may be closed in favour of another one; the lowest rank is closed first. NO_RANK: it is never
 * closed. */
enum { NO_RANK = 9 };
typedef unsigned (*rank_function)(const struct client *client);

struct control_server {
    struct control_options options;
    char path[PATH_SIZE]; /* the server removes this path when it is freed; "": another process removes it */
    int listen_fd, epoll_fd;
    int wake_fd; /* readable while a client has a further request in `line` */
    uint64_t next_ticket;
    struct client clients[CONTROL_MAX_CONNECTIONS];
};

/* --- The socket ----------------------------------------------------------------------------------- */

static int set_error(char error[CONTROL_ERROR_SIZE], int err, const char *path, const char *what)
{
    snprintf(error, CONTROL_ERROR_SIZE, "control socket %s: %s: %s", path, what, strerror(-err));
    return err;
}

/* Returns 0 if no process listens on the socket, -EADDRINUSE if one does, or another -errno. Sets *pid to the id of the
 * process that listens (0: unknown, or none). */
static int probe(const struct sockaddr_un *address, pid_t *pid)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred peer = { .pid = 0 };
    socklen_t size = sizeof(peer);
    int err;

    if (fd < 0)
        return -errno;
    err = connect(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : -EADDRINUSE;
    if (err == -EADDRINUSE && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        peer.pid = 0;
    *pid = peer.pid;
    close(fd);
    return err == -ECONNREFUSED || err == -ENOENT ? 0 : err == -EAGAIN ? -EADDRINUSE : err;
}

/* Binds the socket to its path, and sets the path's mode and group. Until they are set, the umask prevents connections.
 * Sets *made when it has created the path; the caller then removes the path after an error. */
static int bind_socket(int fd, const struct sockaddr_un *address, const struct control_options *options, bool *made,
                       char error[CONTROL_ERROR_SIZE])
{
    const struct group *group = options->group ? getgrnam(options->group) : NULL;
    const char *path = address->sun_path;
    struct stat status;
    mode_t before;
    pid_t pid = 0;
    int err;

    err = probe(address, &pid);
    if (err == -EADDRINUSE) {
        if (pid > 0)
            snprintf(error, CONTROL_ERROR_SIZE, "control socket %s: process %d listens on it", path, (int)pid);
        else
            snprintf(error, CONTROL_ERROR_SIZE, "control socket %s: another process listens on it", path);
        return err;
    }
    if (err)
        return set_error(error, err, path, "cannot connect");
    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        unlink(path); /* the socket of a process that has died */
    before = umask(0177);
    err = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
    umask(before);
    if (err == -EADDRINUSE)
        return set_error(error, err, path, "the path is that of a file or folder; name another path");
    if (err)
        return set_error(error, err, path, "cannot bind");
    *made = true;
    if (options->group && !group)
        return set_error(error, -ENOENT, path, "cannot find the group (control.group)");
    if (group && chown(path, (uid_t)-1, group->gr_gid))
        return set_error(error, -errno, path, "cannot change the group (control.group)");
    if (chmod(path, options->mode) || listen(fd, BACKLOG))
        return set_error(error, -errno, path, "cannot set its mode or listen");
    return 0;
}

int control_listen(const struct control_options *options, char error[CONTROL_ERROR_SIZE])
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = options->path;
    char folder[PATH_SIZE], *slash;
    bool made = false;
    int fd, err;

    if (strlen(path) >= sizeof(address.sun_path))
        return set_error(error, -ENAMETOOLONG, path, "its path is too long");
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return set_error(error, -errno, path, "cannot create it");
    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        mkdir(folder, FOLDER_MODE); /* if this fails, bind() reports the error */
    }
    err = bind_socket(fd, &address, options, &made, error);
    if (!err)
        return fd;
    if (made)
        unlink(path);
    close(fd);
    return err;
}

static int watch(struct control_server *server, int operation, int fd, uint32_t events, uint64_t id)
{
    struct epoll_event event = { .events = events, .data.u64 = id };

    return epoll_ctl(server->epoll_fd, operation, fd, &event) ? -errno : 0;
}

int control_server_new(struct control_server **out, const struct control_options *options,
                       char error[CONTROL_ERROR_SIZE])
{
    struct control_server *server = calloc(1, sizeof(*server));
    int err;

    if (!server) {
        snprintf(error, CONTROL_ERROR_SIZE, "control socket: out of memory");
        return -ENOMEM;
    }
    server->options = *options;
    server->epoll_fd = server->wake_fd = -1;
    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++)
        server->clients[i].fd = -1;
    server->listen_fd = options->inherits ? options->listen_fd : control_listen(options, error);
    if (server->listen_fd < 0) {
        err = server->listen_fd;
        goto free_server;
    }
    if (!options->inherits)
        strcpy(server->path, options->path); /* control_listen() has checked that the path fits */
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    err = server->epoll_fd < 0 || server->wake_fd < 0 ? -errno : 0;
    if (!err)
        err = watch(server, EPOLL_CTL_ADD, server->wake_fd, EPOLLIN, WAKE_ID);
    if (!err)
        err = watch(server, EPOLL_CTL_ADD, server->listen_fd, EPOLLIN, LISTEN_ID);
    if (err) {
        set_error(error, err, options->path, "cannot wait for clients");
        goto free_server;
    }
    *out = server;
    return 0;

free_server:
    control_server_free(server);
    return err;
}

static void close_client(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd); /* close() also removes the descriptor from epoll */
    text_clear(&client->out);
    client->fd = -1;
    client->waits = client->closing = client->served = false;
    client->length = client->sent = 0;
}

void control_server_free(struct control_server *server)
{
    if (!server)
        return;
    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++)
        close_client(&server->clients[i]);
    if (server->path[0])
        unlink(server->path);
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    if (server->epoll_fd >= 0)
        close(server->epoll_fd);
    if (server->wake_fd >= 0)
        close(server->wake_fd);
    free(server);
}

int control_server_fd(const struct control_server *server)
{
    return server->epoll_fd;
}

/* --- Clients -------------------------------------------------------------------------------------- */

static void wait_for(struct control_server *server, struct client *client, uint32_t events)
{
    client->since_ns = clock_monotonic_ns();
    if (watch(server, EPOLL_CTL_MOD, client->fd, events, (uint64_t)(client - server->clients)))
        close_client(client);
}

/* Sends as much of the answer as the socket accepts; epoll reports when the rest can be sent. */
static void send_answer(struct control_server *server, struct client *client)
{
    while (client->sent < client->out.length) {
        ssize_t n = send(client->fd, client->out.bytes + client->sent, client->out.length - client->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            wait_for(server, client, EPOLLOUT);
            return;
        }
        if (n <= 0) {
            close_client(client);
            return;
        }
        client->sent += (size_t)n;
        client->since_ns = clock_monotonic_ns();
    }
    text_clear(&client->out);
    client->sent = 0;
    if (client->closing)
        close_client(client);
    else
        wait_for(server, client, EPOLLIN);
}

static bool is_busy(const struct client *client)
{
    return client->fd < 0 || client->waits || client->out.length > 0;
}

static bool has_line(const struct client *client)
{
    return !is_busy(client) && memchr(client->line, '\n', client->length);
}

static void reject_request(struct control_server *server, struct client *client, const char *why)
{
    answer_begin(&client->out, false);
    json_string(&client->out, NULL, why);
    answer_end(&client->out);
    client->closing = true;
    send_answer(server, client);
}

/* Reads the bytes of a request that have arrived. Closes the client at end of file or on an error. */
static void read_client(struct control_server *server, struct client *client)
{
    ssize_t n = recv(client->fd, client->line + client->length, sizeof(client->line) - client->length, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_client(client);
        return;
    }
    if (client->length == 0)
        client->since_ns = clock_monotonic_ns();
    client->length += (size_t)n;
    /* The client of Suricata 7 sends the version that begins a connection without a newline, and waits for the answer.
     */
    if (!client->served && client->length < sizeof(client->line) && request_is_greeting(client->line, client->length))
        client->line[client->length++] = '\n';
    if (!has_line(client) && client->length == sizeof(client->line))
        reject_request(server, client, "the request is too long");
}

/* --- Eviction ------------------------------------------------------------------------------------- */

static unsigned count_connections(const struct control_server *server, uid_t uid)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++)
        count += server->clients[i].fd >= 0 && server->clients[i].uid == uid;
    return count;
}

/* Returns the rank of a connection. 0: it has sent no complete request yet, or was served and has sent a part of a
 * further one; 1: it was served and has sent nothing since; 2: it was served and has sent a complete further request.
 * NO_RANK: it is new, its first request has arrived, or a request is being answered. */
static unsigned rank_connection(const struct client *client)
{
    if (is_busy(client) || client->is_new || (has_line(client) && !client->served))
        return NO_RANK;
    if (has_line(client))
        return 2;
    return client->served && client->length == 0;
}

/* Returns the rank of a client whose request is being answered. 0: the client does not read its answer; 1: it waits for
 * a deferred answer. NO_RANK: other clients. */
static unsigned rank_request(const struct client *client)
{
    if (client->fd < 0 || !is_busy(client))
        return NO_RANK;
    return client->waits;
}

static bool is_closed_before(const struct control_server *server, const struct client *one, const struct client *other,
                             rank_function rank)
{
    unsigned count = count_connections(server, one->uid), others = count_connections(server, other->uid);

    if ((one->uid == 0) != (other->uid == 0))
        return one->uid != 0;
    if (count != others)
        return count > others;
    return rank(one) != rank(other) ? rank(one) < rank(other) : one->since_ns < other->since_ns;
}

/* Returns the client to close in favour of a client of user `uid`; NULL: none. Candidates are clients of the same user
 * that do not wait for a deferred answer, and clients of users with more connections. If `uid` is root, clients of all
 * users are candidates; otherwise clients of root never are. */
static struct client *find_victim(struct control_server *server, uid_t uid, rank_function rank)
{
    unsigned own = count_connections(server, uid);
    struct client *victim = NULL;

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++) {
        struct client *client = &server->clients[i];

        if (client->fd < 0 || rank(client) == NO_RANK || (client->uid == uid && client->waits) ||
            (uid != 0 && client->uid != uid && (client->uid == 0 || count_connections(server, client->uid) <= own)))
            continue;
        if (!victim || is_closed_before(server, client, victim, rank))
            victim = client;
    }
    return victim;
}

/* --- Requests ------------------------------------------------------------------------------------- */

/* Runs the first request in client->line, and removes it from there. */
static void run_request(struct control_server *server, struct client *client)
{
    char *end = memchr(client->line, '\n', client->length);
    size_t length = (size_t)(end - client->line);
    unsigned count = 0;

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++)
        count += server->clients[i].fd >= 0 && is_busy(&server->clients[i]);
    if (count >= server->options.max_clients) {
        struct client *victim = find_victim(server, client->uid, rank_request);

        if (!victim) {
            reject_request(server, client, "too many clients (control.clients)");
            return;
        }
        close_client(victim);
    }
    client->ticket = server->next_ticket++ * TICKET_SLOTS + (uint64_t)(client - server->clients);
    client->waits =
        request_run(server->options.commands, server->options.user, client->line, length, client->ticket, &client->out);
    client->served = true;
    client->length -= length + 1;
    memmove(client->line, end + 1, client->length);
    if (client->waits)
        wait_for(server, client, EPOLLRDHUP);
    else
        send_answer(server, client);
}

/* --- New connections ------------------------------------------------------------------------------ */

static void accept_clients(struct control_server *server)
{
    static const char too_many[] = "{\"return\":\"NOK\",\"message\":\"too many clients (control.clients)\"}\n";

    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        struct ucred peer = { .uid = (uid_t)-1 };
        socklen_t size = sizeof(peer);
        struct client *client = NULL;

        if (fd < 0)
            return;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
            peer.uid = (uid_t)-1;
        for (unsigned k = 0; k < CONTROL_MAX_CONNECTIONS && !client; k++)
            client = server->clients[k].fd < 0 ? &server->clients[k] : NULL;
        if (!client) {
            client = find_victim(server, peer.uid, rank_connection);
            if (client)
                close_client(client);
        }
        if (!client) {
            if (send(fd, too_many, sizeof(too_many) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                errno = 0;
            close(fd);
            continue;
        }
        client->fd = fd;
        client->uid = peer.uid;
        client->is_new = true;
        client->since_ns = clock_monotonic_ns();
        text_init(&client->out);
        if (watch(server, EPOLL_CTL_ADD, fd, EPOLLIN, (uint64_t)(client - server->clients)))
            close_client(client);
    }
}

/* Makes wake_fd readable (wanted) or not readable. */
static void set_wake(struct control_server *server, bool wanted)
{
    uint64_t count = 1;
    ssize_t n = wanted ? write(server->wake_fd, &count, sizeof(count)) : read(server->wake_fd, &count, sizeof(count));

    (void)n; /* an error means that wake_fd is in this state already */
}

static void close_slow_clients(struct control_server *server)
{
    uint64_t now_ns = clock_monotonic_ns();

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++) {
        struct client *client = &server->clients[i];
        bool has_begun = client->length > 0 || client->out.length > 0;
        uint64_t limit = has_begun ? CONTROL_SLOW_SECONDS : CONTROL_IDLE_SECONDS;

        if (client->fd >= 0 && !client->waits && now_ns - client->since_ns > limit * NS_PER_SECOND)
            close_client(client);
    }
}

void control_server_run(struct control_server *server)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(server->epoll_fd, events, EVENTS, 0);
    bool has_connections = false, has_requests = false;

    for (int i = 0; i < count; i++) {
        struct client *client =
            events[i].data.u64 < CONTROL_MAX_CONNECTIONS ? &server->clients[events[i].data.u64] : NULL;

        if (events[i].data.u64 == LISTEN_ID)
            has_connections = true;
        if (!client || client->fd < 0)
            continue;
        if (client->waits || events[i].events & EPOLLERR) /* waits: the event is the end of the connection */
            close_client(client);
        else if (client->out.length > 0)
            send_answer(server, client);
        else if (!has_line(client))
            read_client(server, client);
    }
    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++) {
        struct client *client = &server->clients[i];

        client->is_new = false;
        if (has_line(client))
            run_request(server, client);
        has_requests |= has_line(client);
    }
    set_wake(server, has_requests);
    if (has_connections) /* accept last, because a new client may get the array element of a client whose event was not
                            handled yet */
        accept_clients(server);
    close_slow_clients(server);
}

/* --- Deferred answers ----------------------------------------------------------------------------- */

static struct client *find_waiting_client(struct control_server *server, uint64_t ticket)
{
    struct client *client =
        ticket % TICKET_SLOTS < CONTROL_MAX_CONNECTIONS ? &server->clients[ticket % TICKET_SLOTS] : NULL;

    return client && client->fd >= 0 && client->waits && client->ticket == ticket ? client : NULL;
}

struct text *control_answer_later(struct control_server *server, uint64_t ticket, bool ok)
{
    struct client *client = find_waiting_client(server, ticket);

    if (!client)
        return NULL;
    answer_begin(&client->out, ok);
    return &client->out;
}

void control_finish_later(struct control_server *server, uint64_t ticket)
{
    struct client *client = find_waiting_client(server, ticket);

    if (!client)
        return;
    answer_end(&client->out);
    client->waits = false;
    send_answer(server, client);
    set_wake(server, has_line(client));
}
