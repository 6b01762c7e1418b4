/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Client of the control socket: sends one request and receives its answer within a time limit. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "control_priv.h"
#include "value.h"
#include "sluice/clock.h"

enum { PIECE = 64 << 10, MS_PER_SECOND = 1000, RETRY_NS = 2000000 };

static int set_error(char error[CONTROL_ERROR_SIZE], int err, const char *path)
{
    struct stat status;

    if (err == -ECONNREFUSED && stat(path, &status) == 0 && !S_ISSOCK(status.st_mode))
        snprintf(error, CONTROL_ERROR_SIZE,
                 "%s is not a socket; name the control socket of the daemon with --socket, or its configuration with "
                 "--config",
                 path);
    else if (err == -ENOENT || err == -ECONNREFUSED)
        snprintf(error, CONTROL_ERROR_SIZE,
                 "no daemon listens on %s: %s; start it (`sluice run`), or name its socket with --socket or its "
                 "configuration with --config",
                 path, strerror(-err));
    else if (err == -ENAMETOOLONG)
        snprintf(error, CONTROL_ERROR_SIZE,
                 "the path of the control socket has more than %d characters; name it with --socket: %.64s...",
                 (int)sizeof(((struct sockaddr_un *)0)->sun_path) - 1, path);
    else if (err == -EACCES)
        snprintf(error, CONTROL_ERROR_SIZE, "%s: %s; run the command as root or as a member of control.group", path,
                 strerror(-err));
    else
        snprintf(error, CONTROL_ERROR_SIZE, "%s: %s", path, strerror(-err));
    return err;
}

static int send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = send(fd, bytes, length, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        }
    }
    return 0;
}

/* Returns 0, -ENODATA if the server closes the connection before the end of the line, or another -errno. */
static int receive_line(int fd, unsigned seconds, struct text *line)
{
    uint64_t until_ns = clock_monotonic_ns() + seconds * NS_PER_SECOND;

    while (line->length == 0 || line->bytes[line->length - 1] != '\n') {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        uint64_t now_ns = clock_monotonic_ns();
        char *room = text_reserve(line, PIECE);
        ssize_t n;

        if (!room)
            return -ENOMEM;
        if (now_ns >= until_ns)
            return -ETIMEDOUT;
        if (poll(&wait, 1, (int)((until_ns - now_ns) / (NS_PER_SECOND / MS_PER_SECOND)) + 1) < 0 && errno != EINTR)
            return -errno;
        n = recv(fd, room, PIECE, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENODATA;
        text_commit(line, (size_t)n);
        if (line->length > 2 * CONTROL_MAX_ANSWER)
            return -EMSGSIZE;
    }
    return 0;
}

const char *control_reply_text(const struct control_reply *reply)
{
    return reply->message ? value_text((struct control_value *)(uintptr_t)reply->message) : "null";
}

/* Connects, sends the request and receives the answer. Returns 0, -EAGAIN if the server closed the connection before it
 * read the request, or another -errno. */
static int exchange(const struct sockaddr_un *address, const struct text *request, unsigned seconds,
                    struct text *answer)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int err, send_err;

    if (fd < 0)
        return -errno;
    /* connect() would wait without limit if the daemon is hung and its backlog is full */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ .tv_sec = seconds }, sizeof(struct timeval));
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address))) {
        err = -errno;
        close(fd);
        return err == -EAGAIN ? -ETIMEDOUT : err;
    }
    send_err = send_all(fd, request->bytes, request->length);
    if (send_err == -EAGAIN)
        send_err = -ETIMEDOUT;
    /* -EPIPE, -ECONNRESET: the server has closed the connection, but it may have sent the reason before. */
    err = send_err && send_err != -EPIPE && send_err != -ECONNRESET ? send_err : receive_line(fd, seconds, answer);
    close(fd);
    /* The kernel reports ECONNRESET if the server closed a socket from which it had not read everything. A server that
     * has read the request and closes the socket without an answer is an end of file. */
    if (answer->length == 0 && (err == -ECONNRESET || (err == -ENODATA && send_err)))
        return -EAGAIN;
    return err == -ENODATA ? -ECONNRESET : err;
}

int control_send_request(const char *path, const struct text *request, unsigned seconds, struct control_reply *out,
                         char error[CONTROL_ERROR_SIZE])
{
    uint64_t until_ns = clock_monotonic_ns() + seconds * NS_PER_SECOND;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *cause, *word, *message;
    struct text sent, line;
    int err;

    if (strlen(path) >= sizeof(address.sun_path))
        return set_error(error, -ENAMETOOLONG, path);
    strcpy(address.sun_path, path);
    /* The request is sent at once: between two parts of it the server could close the connection in favour of others,
     * because it is a client that has not completed its request (server.c). */
    text_init(&sent);
    text_append(&sent, request->bytes, request->length);
    text_puts(&sent, "\n");
    text_init(&line);
    err = request->failed || sent.failed ? -ENOMEM : exchange(&address, &sent, seconds, &line);
    /* The server had more connections than it accepts, and closed this one between connect() and send(). */
    while (err == -EAGAIN && clock_monotonic_ns() < until_ns) {
        nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
        text_clear(&line);
        err = exchange(&address, &sent, seconds, &line);
    }
    text_clear(&sent);
    if (err) {
        text_clear(&line);
        return set_error(error, err == -EAGAIN ? -ECONNRESET : err, path);
    }
    out->whole = value_parse(line.bytes, line.length, &cause);
    out->message = control_value_member(out->whole, "message");
    text_clear(&line);
    word = control_value_string(control_value_member(out->whole, "return"));
    if (word && strcmp(word, "OK") == 0)
        return 0;
    message = control_value_string(out->message);
    if (message)
        snprintf(error, CONTROL_ERROR_SIZE, "%s", message);
    else
        snprintf(error, CONTROL_ERROR_SIZE,
                 "%s: invalid answer: another program listens on this socket, or a daemon of another version; name the "
                 "control socket of the daemon with --socket",
                 path);
    err = word ? -EREMOTEIO : -EPROTO;
    control_value_free(out->whole);
    return err;
}
