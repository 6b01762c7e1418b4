/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket and its clients. A client is in one of three states: it may send a request; it waits for a deferred
 * answer; it has an answer to read. The server reads from it only in the first state, so a client occupies at most one
 * request and one answer. In each round the server answers one request per client, however many the client has sent.
 *
 * A client that never completes its request, or never reads its answer, must not keep others out. Two numbers are
 * limited: connections (CONTROL_MAX_CONNECTIONS), and requests that are being answered (max_clients), which take
 * memory. At the first limit a new connection replaces one without a whole request; at the second a request replaces a
 * client that does not read its answer. It is one of the user with most connections, and of these the one that is
 * without progress for longest. Connections of root give way to root only. A new connection stays until the server has
 * read from it in the next round, so a client that sends its request at once gets its answer.
 *
 * One epoll descriptor represents all of them, so that the thread that owns the server waits for one descriptor.
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
    ACCEPTS =
        48, /* per round; with the requests that are being answered (at most 64) fewer than there may be connections */
    TICKET_SLOTS = 256,
    FOLDER_MODE = 0755,
    PATH_SIZE = sizeof(((struct sockaddr_un *)0)->sun_path)
};

/* What is no client's number. */
#define LISTEN_ID UINT64_MAX
#define WAKE_ID (UINT64_MAX - 1)

struct client {
    int fd;       /* -1: free */
    bool waits;   /* for an answer that comes later */
    bool closing; /* when its answer has been sent */
    bool served;  /* it has sent at least one whole request, and the server has handled it */
    bool is_new;  /* the server has not tried to read from it */
    uid_t uid;    /* of the process that connected */
    uint64_t ticket;
    uint64_t since_ns; /* of what it is doing */
    size_t length;     /* of the line that it has begun */
    size_t sent;
    struct text out;
    char line[CONTROL_MAX_LINE];
};

/* In which order clients give way, the lowest first. */
enum { NO_RANK = 9 };
typedef unsigned (*rank_function)(const struct client *client);

struct control_server {
    struct control_options options;
    char path[PATH_SIZE]; /* to be removed; "": somebody else's */
    int listen_fd, epoll_fd;
    int wake_fd; /* readable while there are lines that were read and not answered */
    uint64_t next_ticket;
    struct client clients[CONTROL_MAX_CONNECTIONS];
};

/* --- The socket ----------------------------------------------------------------------------------- */

static int refuse(char error[CONTROL_ERROR_SIZE], int err, const char *path, const char *what)
{
    snprintf(error, CONTROL_ERROR_SIZE, "control socket %s: %s: %s", path, what, strerror(-err));
    return err;
}

/* 0 when no process listens on the socket; -EADDRINUSE when one does: *pid is its id, 0 when it is not known. */
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

/* Of somebody who died; what is no socket is not ours to remove. */
static void remove_stale(const char *path)
{
    struct stat status;

    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        unlink(path);
}

static void make_folder(const char *path)
{
    char folder[PATH_SIZE];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return;
    *slash = '\0';
    mkdir(folder, FOLDER_MODE); /* what is wrong with it bind() will say */
}

static int set_group(const char *path, const char *name)
{
    const struct group *group = name ? getgrnam(name) : NULL;

    if (!name)
        return 0;
    if (!group)
        return -ENOENT;
    return chown(path, (uid_t)-1, group->gr_gid) ? -errno : 0;
}

/* Nobody may connect before its mode and group are what they should be. *made: the path is ours to remove. */
static int bind_socket(int fd, const struct sockaddr_un *address, const struct control_options *options, bool *made,
                       char error[CONTROL_ERROR_SIZE])
{
    const char *path = address->sun_path;
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
        return refuse(error, err, path, "connect");
    remove_stale(path);
    before = umask(0177);
    err = bind(fd, (const struct sockaddr *)address, sizeof(*address)) ? -errno : 0;
    umask(before);
    if (err)
        return refuse(error, err, path, "bind");
    *made = true;
    err = set_group(path, options->group);
    if (err)
        return refuse(error, err, path, "group");
    if (chmod(path, options->mode) || listen(fd, BACKLOG))
        return refuse(error, -errno, path, "listen");
    return 0;
}

int control_listen(const struct control_options *options, char error[CONTROL_ERROR_SIZE])
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = options->path;
    bool made = false;
    int fd, err;

    if (strlen(path) >= sizeof(address.sun_path))
        return refuse(error, -ENAMETOOLONG, path, "path");
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return refuse(error, -errno, path, "socket");
    make_folder(path);
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

static int open_socket(struct control_server *server, char error[CONTROL_ERROR_SIZE])
{
    const struct control_options *options = &server->options;
    int err;

    server->listen_fd = options->inherits ? options->listen_fd : control_listen(options, error);
    if (server->listen_fd < 0)
        return server->listen_fd;
    if (!options->inherits)
        strcpy(server->path, options->path); /* it fits, or it could not be listened on */
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (server->epoll_fd < 0 || server->wake_fd < 0)
        return refuse(error, -errno, options->path, "socket");
    err = watch(server, EPOLL_CTL_ADD, server->wake_fd, EPOLLIN, WAKE_ID);
    if (!err)
        err = watch(server, EPOLL_CTL_ADD, server->listen_fd, EPOLLIN, LISTEN_ID);
    return err ? refuse(error, err, options->path, "socket") : 0;
}

int control_server_new(struct control_server **out, const struct control_options *options,
                       char error[CONTROL_ERROR_SIZE])
{
    struct control_server *server = calloc(1, sizeof(*server));
    int err = -ENOMEM;

    if (server) {
        server->options = *options;
        server->listen_fd = server->epoll_fd = server->wake_fd = -1;
    } else {
        snprintf(error, CONTROL_ERROR_SIZE, "control socket: out of memory");
        return err;
    }
    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++)
        server->clients[i].fd = -1;
    err = open_socket(server, error);
    if (err)
        control_server_free(server);
    else
        *out = server;
    return err;
}

static void drop_client(struct client *client)
{
    if (client->fd >= 0)
        close(client->fd); /* epoll forgets it */
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
        drop_client(&server->clients[i]);
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
        drop_client(client);
}

/* What there is of the answer; the rest when the client has read. */
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
            drop_client(client);
            return;
        }
        client->sent += (size_t)n;
        client->since_ns = clock_monotonic_ns();
    }
    text_clear(&client->out);
    client->sent = 0;
    if (client->closing)
        drop_client(client);
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

static void refuse_request(struct control_server *server, struct client *client, const char *why)
{
    answer_begin(&client->out, false);
    json_string(&client->out, NULL, why);
    answer_end(&client->out);
    client->closing = true;
    send_answer(server, client);
}

static void read_client(struct control_server *server, struct client *client)
{
    ssize_t n = recv(client->fd, client->line + client->length, sizeof(client->line) - client->length, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        drop_client(client);
        return;
    }
    if (client->length == 0)
        client->since_ns = clock_monotonic_ns();
    client->length += (size_t)n;
    if (!has_line(client) && client->length == sizeof(client->line))
        refuse_request(server, client, "the request is too long");
}

/* --- Clients that give way ------------------------------------------------------------------------ */

static unsigned count_connections(const struct control_server *server, uid_t uid)
{
    unsigned count = 0;

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++)
        count += server->clients[i].fd >= 0 && server->clients[i].uid == uid;
    return count;
}

/* Connections in the order in which they give way: without a whole request, between requests, with further requests.
 * NO_RANK: its first request has arrived, or it is being answered. */
static unsigned rank_connection(const struct client *client)
{
    if (is_busy(client) || client->is_new || (has_line(client) && !client->served))
        return NO_RANK;
    if (has_line(client))
        return 2;
    return client->served && client->length == 0;
}

/* Requests that are being answered: those whose client does not read, then those that wait for a deferred answer. */
static unsigned rank_request(const struct client *client)
{
    if (client->fd < 0 || !is_busy(client))
        return NO_RANK;
    return client->waits;
}

static bool gives_way_before(const struct control_server *server, const struct client *one, const struct client *other,
                             rank_function rank)
{
    unsigned count = count_connections(server, one->uid), others = count_connections(server, other->uid);

    if ((one->uid == 0) != (other->uid == 0))
        return one->uid != 0;
    if (count != others)
        return count > others;
    return rank(one) != rank(other) ? rank(one) < rank(other) : one->since_ns < other->since_ns;
}

/* The connection that gives way to one of this user. A user replaces its own connections, but none that waits for an
 * answer, and those of users with more connections. NULL if there is none. */
static struct client *find_victim(struct control_server *server, uid_t uid, rank_function rank)
{
    unsigned own = count_connections(server, uid);
    struct client *victim = NULL;

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++) {
        struct client *client = &server->clients[i];

        if (client->fd < 0 || rank(client) == NO_RANK || (client->uid == uid && client->waits) ||
            (uid != 0 && client->uid != uid && (client->uid == 0 || count_connections(server, client->uid) <= own)))
            continue;
        if (!victim || gives_way_before(server, client, victim, rank))
            victim = client;
    }
    return victim;
}

/* --- Requests ------------------------------------------------------------------------------------- */

static bool may_be_answered(struct control_server *server, const struct client *client)
{
    unsigned count = 0;
    struct client *victim;

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++)
        count += server->clients[i].fd >= 0 && is_busy(&server->clients[i]);
    if (count < server->options.max_clients)
        return true;
    victim = find_victim(server, client->uid, rank_request);
    if (!victim)
        return false;
    drop_client(victim);
    return true;
}

/* Handles the first request of its buffer. */
static void take_line(struct control_server *server, struct client *client)
{
    char *end = memchr(client->line, '\n', client->length);
    size_t length = (size_t)(end - client->line);

    if (!may_be_answered(server, client)) {
        refuse_request(server, client, "too many clients (control.clients)");
        return;
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

static void turn_away(int fd)
{
    static const char answer[] = "{\"return\":\"NOK\",\"message\":\"too many clients (control.clients)\"}\n";

    if (send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        errno = 0;
    close(fd);
}

static uid_t find_uid(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) ? (uid_t)-1 : peer.uid;
}

static struct client *find_place(struct control_server *server, uid_t uid)
{
    struct client *victim;

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++) {
        if (server->clients[i].fd < 0)
            return &server->clients[i];
    }
    victim = find_victim(server, uid, rank_connection);
    if (victim)
        drop_client(victim);
    return victim;
}

static void accept_clients(struct control_server *server)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        uid_t uid = fd < 0 ? (uid_t)-1 : find_uid(fd);
        struct client *client;

        if (fd < 0)
            return;
        client = find_place(server, uid);
        if (!client) {
            turn_away(fd);
            continue;
        }
        client->fd = fd;
        client->uid = uid;
        client->is_new = true;
        client->since_ns = clock_monotonic_ns();
        text_init(&client->out);
        if (watch(server, EPOLL_CTL_ADD, fd, EPOLLIN, (uint64_t)(client - server->clients)))
            drop_client(client);
    }
}

static void serve(struct control_server *server, struct client *client, uint32_t events)
{
    if (client->fd < 0)
        return;
    if (client->waits || events & EPOLLERR) /* it went while it waited */
        drop_client(client);
    else if (client->out.length > 0)
        send_answer(server, client);
    else if (!has_line(client))
        read_client(server, client);
}

/* Whether control_server_run() is wanted again at once. */
static void wake(struct control_server *server, bool wanted)
{
    uint64_t count = 1;
    ssize_t n = wanted ? write(server->wake_fd, &count, sizeof(count)) : read(server->wake_fd, &count, sizeof(count));

    (void)n; /* it is so already */
}

/* One of each client. */
static void answer_lines(struct control_server *server)
{
    bool more = false;

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++) {
        if (has_line(&server->clients[i]))
            take_line(server, &server->clients[i]);
        more |= has_line(&server->clients[i]);
    }
    wake(server, more);
}

static void drop_slow_clients(struct control_server *server)
{
    uint64_t now_ns = clock_monotonic_ns();

    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++) {
        struct client *client = &server->clients[i];
        bool has_begun = client->length > 0 || client->out.length > 0;
        uint64_t patience = has_begun ? CONTROL_PATIENCE_SECONDS : CONTROL_IDLE_SECONDS;

        if (client->fd >= 0 && !client->waits && now_ns - client->since_ns > patience * NS_PER_SECOND)
            drop_client(client);
    }
}

void control_server_run(struct control_server *server)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(server->epoll_fd, events, EVENTS, 0);
    bool is_called = false;

    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 == LISTEN_ID)
            is_called = true;
        else if (events[i].data.u64 != WAKE_ID)
            serve(server, &server->clients[events[i].data.u64], events[i].events);
    }
    for (unsigned i = 0; i < CONTROL_MAX_CONNECTIONS; i++)
        server->clients[i].is_new = false;
    answer_lines(server);
    if (is_called) /* only now, since a new client may get the place of one that has an event */
        accept_clients(server);
    drop_slow_clients(server);
}

/* --- Answers that come later ---------------------------------------------------------------------- */

static struct client *client_of(struct control_server *server, uint64_t ticket)
{
    struct client *client =
        ticket % TICKET_SLOTS < CONTROL_MAX_CONNECTIONS ? &server->clients[ticket % TICKET_SLOTS] : NULL;

    return client && client->fd >= 0 && client->waits && client->ticket == ticket ? client : NULL;
}

struct text *control_answer_later(struct control_server *server, uint64_t ticket, bool ok)
{
    struct client *client = client_of(server, ticket);

    if (!client)
        return NULL;
    answer_begin(&client->out, ok);
    return &client->out;
}

void control_finish_later(struct control_server *server, uint64_t ticket)
{
    struct client *client = client_of(server, ticket);

    if (!client)
        return;
    answer_end(&client->out);
    client->waits = false;
    send_answer(server, client);
    wake(server, has_line(client));
}
