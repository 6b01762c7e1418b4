/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unix sockets of log readers and of syslog. They confirm nothing, but the kernel reports how many bytes the reader has
 * not read yet (SIOCOUTQ), so a batch is confirmed when that number is 0. If the reader dies before, the whole batch is
 * sent again to the next reader.
 *
 * RFC 5424 has no limit for the length of a message, but syslog daemons have one and cut longer messages
 * (maxMessageSize of rsyslog); docs/guide/ship-events.md says how to raise it.
 */
#include "ship_priv.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "sluice/clock.h"

enum {
    SEND_BUFFER = 1 << 20,
    READ_WAIT_NS = 200 * 1000,           /* first pause between two checks whether the reader has read everything */
    READ_WAIT_MAX_NS = 20 * 1000 * 1000, /* the pauses grow until they are at least this long */
    POLL_MS = 200,
    HOST_SIZE = 256,
};

struct carrier {
    int fd;
    bool is_stream;
    const struct output_settings *settings;
    struct text text; /* the batch, with prefixes and newlines or syslog headers */
    char host[HOST_SIZE];
    ino_t inode; /* inode of the socket's file, which changes when another reader replaces the first */
};

static int fail(char error[SHIP_ERROR_SIZE], int err, const char *path)
{
    snprintf(error, SHIP_ERROR_SIZE, "socket %.150s: %s", path, strerror(-err));
    return err;
}

static const char *path_of(const struct output_settings *settings)
{
    return settings->type == OUTPUT_FILE_SYSLOG ? settings->syslog.socket : settings->filename;
}

static void close_socket(struct carrier *carrier)
{
    close(carrier->fd);
    text_clear(&carrier->text);
    free(carrier);
}

/* Connects the socket to its reader. A datagram socket may be connected already, and is then connected again. Returns 0
 * or -errno. */
static int connect_socket(struct carrier *carrier)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const char *path = path_of(carrier->settings);
    struct stat status;

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    if (stat(path, &status) || connect(carrier->fd, (const struct sockaddr *)&address, sizeof(address)))
        return -errno;
    if (carrier->inode != 0 && carrier->inode != status.st_ino)
        return -ECONNRESET;
    carrier->inode = status.st_ino;
    return 0;
}

static int open_socket(struct carrier **out, const struct output_settings *settings, char error[SHIP_ERROR_SIZE])
{
    struct carrier *carrier = calloc(1, sizeof(*carrier));
    const char *path = path_of(settings);
    int err;

    if (!carrier)
        return fail(error, -ENOMEM, path);
    carrier->settings = settings;
    carrier->is_stream = settings->type == OUTPUT_FILE_UNIX_STREAM;
    text_init(&carrier->text);
    gethostname(carrier->host, sizeof(carrier->host) - 1);
    carrier->fd = socket(AF_UNIX, (carrier->is_stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    err = carrier->fd < 0 ? -errno : 0;
    if (!err) {
        /* the send buffer also limits the size of a datagram */
        setsockopt(carrier->fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BUFFER }, sizeof(int));
        err = connect_socket(carrier);
    }
    if (err) {
        fail(error, err, path);
        close_socket(carrier);
        return err;
    }
    *out = carrier;
    return 0;
}

/* Sends bytes; waits while the reader is slow, until *stop. Returns the number of bytes sent; -EMSGSIZE for a datagram
 * that is too long for the socket, or another -errno when the connection is broken. */
static ssize_t send_bytes(const struct carrier *carrier, const char *bytes, size_t length, const atomic_bool *stop)
{
    size_t done = 0;

    while (done < length) {
        struct pollfd wait = { .fd = carrier->fd, .events = POLLOUT };
        ssize_t n = send(carrier->fd, bytes + done, length - done, MSG_NOSIGNAL);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && (errno == EAGAIN || errno == ENOBUFS) && !atomic_load(stop))
            poll(&wait, 1, POLL_MS);
        else if (n < 0 && errno != EINTR)
            return -errno;
    }
    return (ssize_t)done;
}

/* Waits until the reader has read everything. The kernel does not report this moment, so the state is checked again and
 * again, after pauses that grow with the time that has passed. Returns 0, or -errno if the reader has closed the
 * connection; -ECANCELED after *stop. */
static int wait_until_read(struct carrier *carrier, const atomic_bool *stop)
{
    struct timespec pause = { .tv_nsec = READ_WAIT_NS };
    int waiting = 0;

    for (;;) {
        struct pollfd state = { .fd = carrier->fd };
        int found;

        if (ioctl(carrier->fd, SIOCOUTQ, &waiting))
            return -errno;
        if (waiting == 0)
            break;
        found = poll(&state, 1, 0);
        if (found > 0 && state.revents & (POLLHUP | POLLERR))
            return -EPIPE;
        if (atomic_load(stop))
            return -ECANCELED;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < READ_WAIT_MAX_NS)
            pause.tv_nsec += pause.tv_nsec / 2;
    }
    /* The queue is also empty when the reader has died with events in it. poll() does not report this for a datagram
     * socket, so it is connected again, which fails without a reader. */
    struct pollfd state = { .fd = carrier->fd };

    if (!carrier->is_stream)
        return connect_socket(carrier);
    return poll(&state, 1, 0) > 0 && state.revents & (POLLHUP | POLLERR) ? -EPIPE : 0;
}

static int send_to_socket(struct carrier *carrier, const struct spool_event *events, size_t count,
                          const atomic_bool *stop, struct ship_result *out, char error[SHIP_ERROR_SIZE])
{
    const struct output_settings *settings = carrier->settings;
    struct text *text = &carrier->text;
    struct ship_result done = { 0 };
    ssize_t sent = 0;
    int err;

    text_reset(text);
    for (size_t i = 0; i < count && sent >= 0; i++) {
        if (settings->type == OUTPUT_FILE_SYSLOG) {
            const struct syslog_header header = { .identity = settings->syslog.identity,
                                                  .host = carrier->host,
                                                  .facility = settings->syslog.facility,
                                                  .level = settings->syslog.level,
                                                  .pid = (unsigned)getpid(),
                                                  .old_format = settings->syslog.old_format,
                                                  .type = events[i].severity > 0 ? "alert" : "event" };

            syslog_write_header(text, &header, clock_realtime_ns());
        }
        if (settings->prefix)
            text_puts(text, settings->prefix);
        text_append(text, events[i].bytes, events[i].length);
        if (settings->type != OUTPUT_FILE_SYSLOG)
            text_append(text, "\n", 1);
        if (text->failed)
            return fail(error, -ENOMEM, path_of(settings));
        if (carrier->is_stream) {
            done.delivered++;
            continue;
        }
        sent = send_bytes(carrier, text->bytes, text->length, stop);
        if (sent == -EMSGSIZE) {
            /* The events before this one must be confirmed first, because results count from the first event. */
            if (done.delivered > 0)
                break;
            *out = (struct ship_result){ .rejected = 1 };
            return 0;
        }
        done.delivered += sent >= 0;
        text_reset(text);
    }
    if (carrier->is_stream)
        sent = send_bytes(carrier, text->bytes, text->length, stop);
    err = sent < 0 && sent != -EMSGSIZE ? (int)sent : wait_until_read(carrier, stop);
    if (err)
        return fail(error, err, path_of(settings));
    *out = done;
    return 0;
}

const struct carrier_type unix_carrier = { .open = open_socket, .send = send_to_socket, .close = close_socket };
const struct carrier_type syslog_carrier = { .open = open_socket, .send = send_to_socket, .close = close_socket };

/* --- Syslog --------------------------------------------------------------------------------------- */

void syslog_write_header(struct text *out, const struct syslog_header *header, uint64_t time_ns)
{
    static const char *const months[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
    time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
    struct tm when;

    if (header->old_format) {
        localtime_r(&seconds, &when);
        text_printf(out, "<%u>%s %2d %02d:%02d:%02d %s[%u]: ", header->facility * 8 + header->level,
                    months[when.tm_mon], when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec, header->identity,
                    header->pid);
        return;
    }
    gmtime_r(&seconds, &when);
    text_printf(out, "<%u>1 %04d-%02d-%02dT%02d:%02d:%02d.%06uZ %s %s %u %s - ", header->facility * 8 + header->level,
                when.tm_year + 1900, when.tm_mon + 1, when.tm_mday, when.tm_hour, when.tm_min, when.tm_sec,
                (unsigned)(time_ns % NS_PER_SECOND / 1000), header->host[0] ? header->host : "-", header->identity,
                header->pid, header->type);
}
