/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bulk traffic that is cheap to make and checked all the same: what interpreters send leaves most of the daemon's CPU
 * idle.
 *
 *     soak_load serve PORT ADDRESS...                         HTTP and UDP until SIGTERM, then a line of JSON
 *     soak_load ask PORT RAMP SECONDS PERCENT ADDRESS...      a line of JSON
 *
 * The client first asks as fast as answers come, for RAMP seconds: what it gets in the second half is the capacity.
 * Then it asks at PERCENT of that for SECONDS; the last tenth of each ROUND is as fast as it goes again, and says what
 * the capacity is now: others may use this machine, too. What is asked is the same mix all the time: pages, large and
 * compressed pages (which cost who looks at them more than who sends them), and posted bodies on connections that stay
 * for a while, pages on connections of their own, datagrams in bursts. Both ends know each byte that must come. A
 * request without its answer for GIVE_UP seconds has failed. One thread each; all sockets are edge-triggered.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

enum {
    SLOTS = 64, /* as many requests are on their way at most */
    ADDRESSES = 16,
    CONNECTIONS = 4096,
    KEPT = 200, /* requests a connection */
    BURST = 8,
    BURSTS = 50, /* a socket */
    DATAGRAM = 1300,
    SMALL = 1000,
    POSTED = 4000,
    LARGE = 100000,
    PLAIN = 65000, /* of a compressed page */
    LETTERS = 26,
    HEAD = 512,
    BUFFER = 65536,
    EVENTS = 128,
    GIVE_UP = 20,
    ROUND = 60,
    REASONS = 20, /* are told */
    SOCKET_ROOM = 64 << 20,
};

#define SECOND INT64_C(1000000000)

enum kind { PAGE, DOWNLOAD, ZIPPED, POST, NEW, DATAGRAMS, KINDS };

/* Bytes that are known at both ends: those of number n begin at its letter; compressed words. */
struct text {
    char letters[LARGE + LETTERS];
    char zipped[PLAIN];
    size_t zipped_length;
};

static void words(char *out, size_t length)
{
    uint32_t state = 1;

    for (size_t i = 0; i < length; i++) {
        state = state * 1664525 + 1013904223;
        out[i] = "etaoin shrdlu cmfwyp vbgkq <p>\n"[state >> 27];
    }
}

static void zip(struct text *text)
{
    char plain[PLAIN];
    z_stream stream = {
        .next_in = (Bytef *)plain, .avail_in = PLAIN, .next_out = (Bytef *)text->zipped, .avail_out = PLAIN
    };

    words(plain, PLAIN);
    if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&stream, Z_FINISH) != Z_STREAM_END) {
        fprintf(stderr, "soak_load: zlib\n");
        exit(1);
    }
    text->zipped_length = stream.total_out;
    deflateEnd(&stream);
}

static void text_init(struct text *text)
{
    for (size_t i = 0; i < sizeof(text->letters); i++)
        text->letters[i] = (char)('a' + i % LETTERS);
    zip(text);
}

static const char *text_of(const struct text *text, uint64_t number)
{
    return text->letters + number % LETTERS;
}

/* What a page of that size has for its body. */
static struct iovec body_of(const struct text *text, size_t size, uint64_t number)
{
    const char *body = size == PLAIN ? text->zipped : text_of(text, number);

    return (struct iovec){ (char *)(uintptr_t)body, size == PLAIN ? text->zipped_length : size };
}

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

static int answer_head(char *out, size_t size, size_t length, bool last)
{
    return snprintf(out, HEAD,
                    "HTTP/1.1 200 OK\r\nServer: soak\r\nContent-Type: text/html\r\nContent-Length: %zu\r\n%s%s\r\n",
                    length, size == PLAIN ? "Content-Encoding: gzip\r\n" : "", last ? "Connection: close\r\n" : "");
}

/* The burst's number, which of it, and letters: returns the length. */
static size_t datagram(char *out, const struct text *text, uint64_t number, unsigned which)
{
    size_t length = 64 + (number * 37 + which * 101) % (DATAGRAM - 64);
    int head = snprintf(out, 64, "burst %" PRIu64 " %u ", number, which);

    memcpy(out + head, text_of(text, number + which), length - (size_t)head);
    return length;
}

struct place {
    struct sockaddr_storage address;
    socklen_t length;
};

static struct place place_of(const char *address, const char *port)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV }, *found;
    struct place place = { 0 };

    if (getaddrinfo(address, port, &hints, &found)) {
        fprintf(stderr, "soak_load: %s: no address\n", address);
        exit(1);
    }
    memcpy(&place.address, found->ai_addr, found->ai_addrlen);
    place.length = found->ai_addrlen;
    freeaddrinfo(found);
    return place;
}

static int socket_of(const struct place *place, int type)
{
    int room = SOCKET_ROOM, fd = socket(place->address.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0 && type == SOCK_DGRAM)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    return fd;
}

static void watch(int epoll, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = { .events = events, .data.u64 = what };

    if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
        perror("soak_load");
        exit(1);
    }
}

/* --- The server ----------------------------------------------------------------------------------- */

struct connection {
    int fd; /* 0: free */
    char in[HEAD + POSTED];
    size_t have;
    char head[HEAD];
    struct iovec out[2];
    bool last;
};

struct server {
    struct text text;
    int epoll, sockets[2 * ADDRESSES];
    unsigned count; /* of sockets: TCP and UDP in turn */
    uint64_t requests, datagrams, wrong;
    struct connection connections[CONNECTIONS];
};

static void server_accept(struct server *server, int listener)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        unsigned i = 0;

        while (i < CONNECTIONS && server->connections[i].fd)
            i++;
        if (i == CONNECTIONS) {
            server->wrong++;
            close(fd);
            continue;
        }
        server->connections[i].fd = fd;
        server->connections[i].have = 0;
        server->connections[i].out[0].iov_len = server->connections[i].out[1].iov_len = 0;
        watch(server->epoll, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, 2 * ADDRESSES + i);
    }
}

static void server_echo(struct server *server, int fd)
{
    char data[2048];
    struct place from = { .length = sizeof(from.address) };
    ssize_t got;

    while ((got = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from.address, &from.length)) >= 0) {
        server->datagrams++;
        if (sendto(fd, data, (size_t)got, 0, (struct sockaddr *)&from.address, from.length) != got)
            server->wrong++;
        from.length = sizeof(from.address);
    }
}

/* The first whole request, answered; its length, or 0. */
static size_t server_request(struct server *server, struct connection *connection)
{
    size_t size = 0, body = 0;
    uint64_t number = 0;
    char *end = memmem(connection->in, connection->have, "\r\n\r\n", 4), *length;

    if (!end)
        return 0;
    *end = 0;
    if (sscanf(connection->in, "%*[A-Z] /bulk/%zu/%" SCNu64, &size, &number) != 2 || size > LARGE)
        server->wrong++, size = 0;
    if ((length = strstr(connection->in, "Content-Length: ")))
        body = strtoul(length + 16, NULL, 10);
    connection->last = strstr(connection->in, "Connection: close");
    *end = '\r';
    end += 4;
    if (connection->have < (size_t)(end - connection->in) + body)
        return 0;
    if (memcmp(end, text_of(&server->text, number), body))
        server->wrong++, size = 0;
    server->requests++;
    connection->out[1] = body_of(&server->text, size, number);
    connection->out[0].iov_base = connection->head;
    connection->out[0].iov_len =
        (size_t)answer_head(connection->head, size, connection->out[1].iov_len, connection->last);
    return (size_t)(end - connection->in) + body;
}

/* Takes what was sent off the front. */
static size_t advance(struct iovec out[2], size_t sent)
{
    for (unsigned i = 0; i < 2; i++) {
        size_t part = sent < out[i].iov_len ? sent : out[i].iov_len;

        out[i].iov_base = (char *)out[i].iov_base + part;
        out[i].iov_len -= part;
        sent -= part;
    }
    return out[0].iov_len + out[1].iov_len;
}

/* False: not all of it can go now (EAGAIN), or ever. */
static bool flush(int fd, struct iovec out[2])
{
    struct msghdr message = { .msg_iov = out, .msg_iovlen = 2 };
    ssize_t sent;

    while (out[0].iov_len + out[1].iov_len) {
        sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        advance(out, (size_t)sent);
    }
    return true;
}

static void server_close(struct connection *connection)
{
    close(connection->fd);
    connection->fd = 0;
}

static void server_serve(struct server *server, struct connection *connection)
{
    ssize_t got;
    size_t used;

    while (connection->fd) {
        if (!flush(connection->fd, connection->out) && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (connection->last) {
            connection->last = false;
            server_close(connection);
            return;
        }
        got = recv(connection->fd, connection->in + connection->have, sizeof(connection->in) - connection->have, 0);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (got <= 0) {
            server_close(connection);
            return;
        }
        connection->have += (size_t)got;
        used = server_request(server, connection);
        if (!used && connection->last)
            connection->last = false; /* its body is on the way */
        connection->have -= used;
        memmove(connection->in, connection->in + used, connection->have);
    }
}

static void server_listen(struct server *server, const char *address, const char *port)
{
    struct place place = place_of(address, port);
    int listener = socket_of(&place, SOCK_STREAM), datagrams = socket_of(&place, SOCK_DGRAM), one = 1;

    /* Only here: sockets of UDP that allow it may get the same port when they connect, and each other's answers. */
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, (struct sockaddr *)&place.address, place.length) || listen(listener, 1024) ||
        bind(datagrams, (struct sockaddr *)&place.address, place.length)) {
        perror(address);
        exit(1);
    }
    server->sockets[server->count] = listener;
    watch(server->epoll, listener, EPOLLIN | EPOLLET, server->count++);
    server->sockets[server->count] = datagrams;
    watch(server->epoll, datagrams, EPOLLIN | EPOLLET, server->count++);
}

static int serve(char **arguments)
{
    struct server *server = calloc(1, sizeof(*server));
    struct epoll_event events[EVENTS];
    sigset_t end;
    bool ended = false;

    text_init(&server->text);
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    sigprocmask(SIG_BLOCK, &end, NULL);
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(server->epoll, signalfd(-1, &end, SFD_CLOEXEC), EPOLLIN, UINT64_MAX);
    for (unsigned i = 1; i <= ADDRESSES && arguments[i]; i++)
        server_listen(server, arguments[i], arguments[0]);
    printf("listening\n");
    fflush(stdout);
    while (!ended) {
        int count = epoll_wait(server->epoll, events, EVENTS, -1);

        for (int i = 0; i < count; i++) {
            uint64_t what = events[i].data.u64;

            if (what == UINT64_MAX)
                ended = true;
            else if (what >= 2 * ADDRESSES)
                server_serve(server, &server->connections[what - 2 * ADDRESSES]);
            else if (what % 2)
                server_echo(server, server->sockets[what]);
            else
                server_accept(server, server->sockets[what]);
        }
    }
    printf("{\"requests\": %" PRIu64 ", \"datagrams\": %" PRIu64 ", \"wrong\": %" PRIu64 "}\n", server->requests,
           server->datagrams, server->wrong);
    free(server);
    return 0;
}

/* --- The client ----------------------------------------------------------------------------------- */

/* One request at a time, on one of its sockets. */
struct slot {
    bool busy, last; /* last: of its connection */
    enum kind kind;
    uint64_t number;
    int64_t since;
    int kept, fresh, datagrams; /* sockets, -1: none */
    unsigned kept_used, datagrams_used;
    char request[HEAD], answer[HEAD];
    struct iovec out[2];
    struct iovec body; /* of the answer */
    size_t head, size, received;
    unsigned sent, back; /* datagrams, and which came back */
};

struct client {
    struct text text;
    int epoll;
    struct place places[ADDRESSES];
    unsigned place_count, free_count;
    struct slot *free[SLOTS];
    struct slot slots[SLOTS];
    uint64_t asked, opened, done[KINDS], sent_datagrams, failed;
    int64_t slowest;
    char buffer[BUFFER];
};

static int client_open(struct client *client, struct slot *slot, int type)
{
    const struct place *place = &client->places[client->opened++ % client->place_count];
    int fd = socket_of(place, type);

    watch(client->epoll, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, (uint64_t)(slot - client->slots));
    if (connect(fd, (const struct sockaddr *)&place->address, place->length) && errno != EINPROGRESS)
        perror("soak_load: connect"); /* what is asked on it fails */
    return fd;
}

static void close_socket(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void client_release(struct client *client, struct slot *slot)
{
    int64_t took = now_ns() - slot->since;

    client->slowest = took > client->slowest ? took : client->slowest;
    slot->busy = false;
    client->free[client->free_count++] = slot;
}

static void client_fail(struct client *client, struct slot *slot, const char *why)
{
    int error = errno;

    if (client->failed++ < REASONS)
        fprintf(stderr,
                "%.3f: %s: kind %d, number %" PRIu64 ", %zu of %zu bytes, %u sent, %#x back, errno %d, %.3f s\n",
                (double)now_ns() / 1e9, why, (int)slot->kind, slot->number, slot->received, slot->head + slot->size,
                slot->sent, slot->back, error, (double)(now_ns() - slot->since) / 1e9);
    close_socket(&slot->kept);
    close_socket(&slot->fresh);
    close_socket(&slot->datagrams);
    if (slot->busy)
        client_release(client, slot);
}

static void client_done(struct client *client, struct slot *slot)
{
    client->done[slot->kind]++;
    client_release(client, slot);
}

/* Whether these bytes are those that had to come. */
static bool answer_is_right(struct slot *slot, const char *data, size_t length)
{
    size_t part = 0;

    if (slot->received + length > slot->head + slot->size)
        return false;
    if (slot->received < slot->head) {
        part = slot->head - slot->received;
        part = part < length ? part : length;
        if (memcmp(data, slot->answer + slot->received, part))
            return false;
        slot->received += part;
    }
    if (length > part &&
        memcmp(data + part, (const char *)slot->body.iov_base + (slot->received - slot->head), length - part))
        return false;
    slot->received += length - part;
    return true;
}

static void client_read(struct client *client, struct slot *slot, int *fd)
{
    for (;;) {
        ssize_t got = recv(*fd, client->buffer, BUFFER, 0);
        bool whole = slot->received == slot->head + slot->size;

        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (whole && !slot->last)
                client_done(client, slot);
            return;
        }
        if (got <= 0 && whole && slot->last && got == 0) {
            close_socket(fd);
            client_done(client, slot);
            return;
        }
        if (got <= 0 || !answer_is_right(slot, client->buffer, (size_t)got)) {
            client_fail(client, slot, got < 0 ? "an error" : got ? "not the answer" : "closed");
            return;
        }
    }
}

static void client_burst(struct client *client, struct slot *slot)
{
    char wanted[DATAGRAM];
    unsigned which;
    uint64_t number;
    ssize_t got;

    while (slot->sent < BURST) {
        size_t length = datagram(wanted, &client->text, slot->number, slot->sent);

        if (send(slot->datagrams, wanted, length, MSG_NOSIGNAL) != (ssize_t)length)
            break;
        slot->sent++;
        client->sent_datagrams++;
    }
    while (slot->busy && (got = recv(slot->datagrams, client->buffer, BUFFER - 1, 0)) >= 0) {
        client->buffer[got] = 0;
        if (sscanf(client->buffer, "burst %" SCNu64 " %u ", &number, &which) != 2 || number != slot->number ||
            which >= BURST || slot->back & 1U << which ||
            datagram(wanted, &client->text, number, which) != (size_t)got ||
            memcmp(wanted, client->buffer, (size_t)got)) {
            client_fail(client, slot, "not the datagram");
            fprintf(stderr, "  %zd bytes: %.40s\n", got, client->buffer);
            return;
        }
        slot->back |= 1U << which;
        if (slot->back == (1U << BURST) - 1)
            client_done(client, slot);
    }
}

static void client_drive(struct client *client, struct slot *slot)
{
    int *fd = slot->kind == NEW ? &slot->fresh : &slot->kept;

    if (!slot->busy)
        return;
    if (slot->kind == DATAGRAMS) {
        client_burst(client, slot);
        return;
    }
    if (!flush(*fd, slot->out) && errno != EAGAIN && errno != EWOULDBLOCK)
        client_fail(client, slot, "not sent");
    else
        client_read(client, slot, fd);
}

/* Which kind the number-th request is: of twenty, five pages, two downloads, four compressed, three of the others. */
static enum kind kind_of(uint64_t number)
{
    static const unsigned char kinds[] = { PAGE,     NEW,    ZIPPED,   DATAGRAMS, PAGE,   POST,      ZIPPED,
                                           DOWNLOAD, PAGE,   NEW,      POST,      ZIPPED, DATAGRAMS, PAGE,
                                           NEW,      ZIPPED, DOWNLOAD, POST,      PAGE,   DATAGRAMS };

    return (enum kind)kinds[number % sizeof(kinds)];
}

static void client_compose(struct client *client, struct slot *slot)
{
    size_t body = slot->kind == POST ? POSTED : 0;
    size_t size = slot->kind == DOWNLOAD ? LARGE : slot->kind == ZIPPED ? PLAIN : SMALL;
    char length[40] = "";
    int head;

    slot->body = body_of(&client->text, size, slot->number);
    slot->size = slot->body.iov_len;
    if (body)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", body);
    head = snprintf(slot->request, HEAD,
                    "%s /bulk/%zu/%" PRIu64 " HTTP/1.1\r\nHost: there.example\r\nAccept: */*\r\n"
                    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n%s%s\r\n",
                    body ? "POST" : "GET", size, slot->number, length, slot->last ? "Connection: close\r\n" : "");
    slot->out[0] = (struct iovec){ slot->request, (size_t)head };
    slot->out[1] = (struct iovec){ (char *)(uintptr_t)text_of(&client->text, slot->number), body };
    slot->head = (size_t)answer_head(slot->answer, size, slot->size, slot->last);
    slot->received = 0;
}

static void client_start(struct client *client)
{
    struct slot *slot = client->free[--client->free_count];

    slot->number = client->asked++;
    slot->kind = kind_of(slot->number);
    slot->since = now_ns();
    slot->busy = true;
    slot->sent = slot->back = 0;
    if (slot->kind == DATAGRAMS) {
        if (slot->datagrams_used++ % BURSTS == 0)
            close_socket(&slot->datagrams);
        if (slot->datagrams < 0)
            slot->datagrams = client_open(client, slot, SOCK_DGRAM);
    } else if (slot->kind == NEW) {
        slot->fresh = client_open(client, slot, SOCK_STREAM);
    } else if (slot->kept < 0) {
        slot->kept = client_open(client, slot, SOCK_STREAM);
        slot->kept_used = 0;
    }
    slot->last = slot->kind == NEW || (slot->kind != DATAGRAMS && ++slot->kept_used == KEPT);
    client_compose(client, slot);
    client_drive(client, slot);
}

/* What has no answer for too long. */
static void client_check(struct client *client)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (client->slots[i].busy && now_ns() - client->slots[i].since > GIVE_UP * SECOND)
            client_fail(client, &client->slots[i], "no answer");
}

static void client_wait(struct client *client, int milliseconds)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait(client->epoll, events, EVENTS, milliseconds);

    for (int i = 0; i < count; i++)
        client_drive(client, &client->slots[events[i].data.u64]);
}

/* `rate` requests a second (0: as many as are answered) for so long; how many a second were answered in the second
 * half. */
static double client_phase(struct client *client, double rate, double seconds)
{
    int64_t begin = now_ns(), end = begin + (int64_t)(seconds * 1e9), middle = 0, checked = begin, now;
    uint64_t asked = 0, then = 0;

    while ((now = now_ns()) < end) {
        if (!middle && now - begin > (end - begin) / 2) {
            middle = now;
            then = client->asked - SLOTS + client->free_count;
        }
        uint64_t due = rate > 0 ? (uint64_t)((double)(now - begin) / 1e9 * rate) : UINT64_MAX;

        for (; client->free_count && asked < due; asked++)
            client_start(client);
        if (rate > 0 && due > asked + (uint64_t)rate) /* what is missed for longer than a second stays so */
            asked = due - (uint64_t)rate;
        client_wait(client, client->free_count ? 1 : 100);
        if (now - checked > SECOND) {
            checked = now;
            client_check(client);
        }
    }
    return middle ? (double)(client->asked - SLOTS + client->free_count - then) * 1e9 / (double)(now - middle) : 0;
}

static void client_finish(struct client *client)
{
    while (client->free_count < SLOTS) {
        client_wait(client, 100);
        client_check(client);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        close_socket(&client->slots[i].kept);
        close_socket(&client->slots[i].datagrams);
    }
}

static void client_init(struct client *client, char **addresses, const char *port)
{
    text_init(&client->text);
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (; client->place_count < ADDRESSES && addresses[client->place_count]; client->place_count++)
        client->places[client->place_count] = place_of(addresses[client->place_count], port);
    for (; client->free_count < SLOTS; client->free_count++) {
        struct slot *slot = &client->slots[client->free_count];

        slot->kept = slot->fresh = slot->datagrams = -1;
        client->free[client->free_count] = slot;
    }
}

/* Requests a second; `wanted` and `reached` are sums of requests. */
struct report {
    double first, least, most, sum, wanted, reached, slowest;
    unsigned rounds;
};

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Rounds, at so many per cent of what the capacity was last. */
static struct report client_rounds(struct client *client, double ramp, double seconds, double percent)
{
    double round = smaller(ROUND, seconds / 2), left = seconds, capacity = client_phase(client, 0, ramp);
    struct report report = { .first = capacity, .least = capacity, .most = capacity };

    for (; left > 1e-3; left -= round) {
        double paced = 0.9 * smaller(round, left), rate = larger(capacity * percent / 100, 1);

        report.slowest = larger(report.slowest, (double)client->slowest / 1e9);
        client->slowest = 0;
        report.wanted += rate * paced;
        report.reached += client_phase(client, rate, paced) * paced;
        capacity = client_phase(client, 0, paced / 9);
        report.least = smaller(report.least, capacity);
        report.most = larger(report.most, capacity);
        report.sum += capacity;
        report.rounds++;
    }
    return report;
}

static void print_report(const struct client *client, const struct report *report, double seconds)
{
    printf("{\"first_capacity\": %.0f, \"capacity\": %.0f, \"least_capacity\": %.0f, \"most_capacity\": %.0f, "
           "\"rate\": %.0f, \"reached\": %.0f, \"slowest\": %.3f, ",
           report->first, report->sum / report->rounds, report->least, report->most, report->wanted / seconds / 0.9,
           report->reached / seconds / 0.9, larger(report->slowest, (double)client->slowest / 1e9));
    printf("\"asked\": %" PRIu64 ", \"pages\": %" PRIu64 ", \"downloads\": %" PRIu64 ", \"zipped\": %" PRIu64
           ", \"posts\": %" PRIu64 ", \"new\": %" PRIu64 ", \"bursts\": %" PRIu64 ", \"datagrams\": %" PRIu64
           ", \"connections\": %" PRIu64 ", \"failed\": %" PRIu64 "}\n",
           client->asked, client->done[PAGE], client->done[DOWNLOAD], client->done[ZIPPED], client->done[POST],
           client->done[NEW], client->done[DATAGRAMS], client->sent_datagrams, client->opened, client->failed);
}

static int ask(char **arguments)
{
    struct client *client = calloc(1, sizeof(*client));
    double seconds = strtod(arguments[2], NULL);
    struct report report;

    client_init(client, arguments + 4, arguments[0]);
    report = client_rounds(client, strtod(arguments[1], NULL), seconds, strtod(arguments[3], NULL));
    client_finish(client);
    print_report(client, &report, seconds);
    free(client);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 4 && !strcmp(argv[1], "serve"))
        return serve(argv + 2);
    if (argc >= 7 && !strcmp(argv[1], "ask"))
        return ask(argv + 2);
    fprintf(stderr, "soak_load serve PORT ADDRESS...\nsoak_load ask PORT RAMP SECONDS PERCENT ADDRESS...\n");
    return 1;
}
