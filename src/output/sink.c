/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target of events: a file, or a Unix socket of a log reader. Lines are collected and written in large pieces. The
 * end and the event kind of each line are stored (struct sink_mark) until the line is written, so that events lost on a
 * full disk or a dead reader are counted by kind.
 *
 * When a write fails, the lines that it did not write are lost, because the output thread must continue: the rings of
 * the workers are bounded. If a line was written in part, its rest is kept and written first the next time, so that the
 * file still consists of whole lines. The file stays open, and the next flush tries again.
 *
 * A file that was removed is created again. A socket is connected when there are lines to send, and connected again
 * after its reader has closed it. check_target() tries this once a second. The thread waits up to WAIT_MS for a slow
 * reader.
 *
 * Before a write, a file that is due for a rotation is renamed and opened again (rotate.c).
 *
 * Threads: the output thread, except for sink_open() and sink_close().
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "output_priv.h"
#include "sluice/clock.h"

enum { WAIT_MS = 50, RETRY_SECONDS = 1, SEND_BUFFER = 1 << 20 };

/* Opens the file or connects the socket. Returns the descriptor or -errno. */
static int open_target(const struct sink *sink, bool truncate)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd, err;

    if (sink->type == OUTPUT_FILE_REGULAR) {
        fd = open(sink->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (truncate ? O_TRUNC : 0), 0640);
        return fd < 0 ? -errno : fd;
    }
    if (strlen(sink->path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    strcpy(address.sun_path, sink->path);
    fd = socket(AF_UNIX,
                (sink->type == OUTPUT_FILE_UNIX_STREAM ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    /* the send buffer also limits the size of a datagram */
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BUFFER }, sizeof(int));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    err = -errno;
    close(fd);
    return err;
}

int sink_open(struct sink *sink, const char *path, enum output_file_type type, bool truncate,
              struct event_counters *counters)
{
    int err = -ENOMEM;

    *sink = (struct sink){ .fd = -1, .type = type, .counters = counters };
    text_init(&sink->buffer);
    sink->path = strdup(path);
    sink->marks = calloc(SINK_MAX_MARKS, sizeof(*sink->marks));
    if (sink->path && sink->marks) {
        err = sink->fd = open_target(sink, truncate);
        sink->tried_ns = clock_monotonic_ns();
    }
    if (err == -ENOMEM || (err < 0 && type == OUTPUT_FILE_REGULAR)) {
        sink_close(sink);
        return err;
    }
    if (err < 0) {
        sink->fd = -1; /* not an error: the reader of the socket may start later */
    } else if (type == OUTPUT_FILE_REGULAR) {
        /* The previous process may have been killed while it wrote a line: begin a new line. */
        int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        off_t size = reader < 0 ? 0 : lseek(reader, 0, SEEK_END);
        char last = '\n';

        if (size > 0 && pread(reader, &last, 1, size - 1) == 1 && last != '\n' && write(sink->fd, "\n", 1) < 0)
            errno = 0; /* the error is ignored here: the next write reports it */
        if (reader >= 0)
            close(reader);
    }
    return 0;
}

void sink_set_rotation(struct sink *sink, const struct output_rotation *rotation)
{
    sink->rotation = *rotation;
    rotate_begin(sink);
}

void sink_close(struct sink *sink)
{
    if (sink->fd >= 0)
        close(sink->fd);
    text_clear(&sink->buffer);
    free(sink->marks);
    free(sink->path);
    *sink = (struct sink){ .fd = -1 };
}

bool sink_is_open(const struct sink *sink)
{
    return sink->path != NULL;
}

static size_t line_start(const struct sink *sink, size_t mark)
{
    return mark == 0 ? 0 : sink->marks[mark - 1].end;
}

void sink_end_event(struct sink *sink, enum output_event kind)
{
    struct text *buffer = &sink->buffer;

    text_append(buffer, "\n", 1);
    buffer->need_comma = false;
    if (buffer->failed) {
        buffer->failed = false;
        buffer->length = line_start(sink, sink->mark_count);
        counter_add(&sink->counters->lost[kind], 1);
        return;
    }
    sink->marks[sink->mark_count++] = (struct sink_mark){ .end = buffer->length, .kind = kind };
}

bool sink_is_full(const struct sink *sink)
{
    return sink->buffer.length >= SINK_MAX_BYTES || sink->mark_count == SINK_MAX_MARKS;
}

static void clear_lines(struct sink *sink)
{
    text_reset(&sink->buffer);
    sink->mark_count = 0;
    sink->cut = false;
}

/* Counts the lines of the marks from `first` on as lost. */
static void count_lost(struct sink *sink, size_t first)
{
    for (size_t i = first; i < sink->mark_count; i++)
        counter_add(&sink->counters->lost[sink->marks[i].kind], 1);
}

/* --- The target ----------------------------------------------------------------------------------- */

/* Closes the target. The rest of a line that was written in part is lost: it must not be written to another target. */
static void disconnect(struct sink *sink)
{
    if (sink->fd >= 0)
        close(sink->fd);
    sink->fd = -1;
    if (!sink->cut)
        return;
    counter_add(&sink->counters->lost[sink->marks[0].kind], 1);
    memmove(sink->buffer.bytes, sink->buffer.bytes + sink->marks[0].end, sink->buffer.length - sink->marks[0].end);
    sink->buffer.length -= sink->marks[0].end;
    for (size_t i = 1; i < sink->mark_count; i++)
        sink->marks[i - 1] = (struct sink_mark){ sink->marks[i].end - sink->marks[0].end, sink->marks[i].kind };
    sink->mark_count--;
    sink->cut = false;
}

static void set_error(struct sink *sink, int err)
{
    atomic_store_explicit(&sink->error, err, memory_order_relaxed);
}

/* Opens the target again, and stores an error in sink->error. Returns the descriptor or -errno. */
static int reopen_target(struct sink *sink)
{
    int fd = open_target(sink, false);

    if (fd < 0)
        set_error(sink, fd);
    if (sink->type == OUTPUT_FILE_REGULAR && (fd == -EACCES || fd == -EPERM))
        atomic_store_explicit(&sink->needs_file, true, memory_order_relaxed);
    return fd;
}

/* Checks the target once a second: opens it again if the file was removed or the reader has closed the socket. */
static void check_target(struct sink *sink)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct stat status;
    int fd;

    if (now_ns - sink->tried_ns < RETRY_SECONDS * NS_PER_SECOND)
        return;
    sink->tried_ns = now_ns;
    if (sink->fd >= 0 && sink->type == OUTPUT_FILE_REGULAR && fstat(sink->fd, &status) == 0 &&
        S_ISREG(status.st_mode) && status.st_nlink == 0)
        disconnect(sink);
    if (sink->fd >= 0)
        return;
    fd = reopen_target(sink);
    sink->fd = fd < 0 ? -1 : fd;
    rotate_begin(sink);
}

/* --- Writing -------------------------------------------------------------------------------------- */

/* Handles the error of a write (errno). Returns true if the caller should repeat the write. If the reader of a socket
 * is slow, waits until the socket is writable, at most until `until_ns`. Closes a socket that its reader has closed. */
static bool may_retry(struct sink *sink, uint64_t until_ns)
{
    struct pollfd wait = { .fd = sink->fd, .events = POLLOUT };
    uint64_t now_ns;
    int err = errno;

    if (err == EINTR)
        return true;
    set_error(sink, -err);
    if (sink->type == OUTPUT_FILE_REGULAR)
        return false;
    if (err == EAGAIN || err == ENOBUFS) {
        now_ns = clock_monotonic_ns();
        return now_ns < until_ns && poll(&wait, 1, (int)((until_ns - now_ns) / 1000000) + 1) > 0 &&
               !(wait.revents & (POLLERR | POLLHUP));
    }
    if (err != EMSGSIZE) {
        close(sink->fd);
        sink->fd = -1;
    }
    return false;
}

/* Writes the buffer; to a datagram socket, each line as one datagram. Returns the number of bytes written, which is
 * less than the buffer's length after an error. */
static size_t write_all(struct sink *sink)
{
    uint64_t until_ns = clock_monotonic_ns() + WAIT_MS * (NS_PER_SECOND / 1000);
    size_t done = 0, mark = 0;

    while (sink->fd >= 0 && done < sink->buffer.length) {
        size_t end = sink->type == OUTPUT_FILE_UNIX_DATAGRAM ? sink->marks[mark].end : sink->buffer.length;
        const char *bytes = sink->buffer.bytes + done;
        ssize_t n = sink->type == OUTPUT_FILE_REGULAR ? write(sink->fd, bytes, end - done)
                                                      : send(sink->fd, bytes, end - done, MSG_NOSIGNAL);

        if (n > 0) {
            done += (size_t)n;
            mark++;
        } else if (n == 0 || !may_retry(sink, until_ns)) {
            break;
        }
    }
    if (sink->type == OUTPUT_FILE_REGULAR)
        write_out_note(&sink->write_out, sink->fd, done);
    sink->size += done;
    if (done < sink->buffer.length)
        counter_add(&sink->counters->write_errors, 1);
    else
        set_error(sink, 0);
    return done;
}

void sink_flush(struct sink *sink)
{
    if (sink->mark_count > 0)
        check_target(sink);
    if (sink->mark_count == 0)
        return;
    if (rotate_if_due(sink)) {
        int fd = reopen_target(sink);

        if (fd >= 0) { /* otherwise the events go to the renamed file until the next check of the target */
            close(sink->fd);
            sink->fd = fd;
            sink->write_out = (struct write_out){ 0 };
        }
        rotate_begin(sink);
    }

    size_t done = write_all(sink);
    size_t complete = 0;

    while (complete < sink->mark_count && sink->marks[complete].end <= done)
        counter_add(&sink->counters->written[sink->marks[complete++].kind], 1);
    if (complete == sink->mark_count) {
        clear_lines(sink);
        return;
    }

    /* The write ended before the end of the line of mark `complete`. If the beginning of this line was written, keep
     * its rest. */
    bool begun = sink->fd >= 0 && (done > line_start(sink, complete) || (complete == 0 && sink->cut));
    struct sink_mark rest = { .end = sink->marks[complete].end - done, .kind = sink->marks[complete].kind };

    count_lost(sink, complete + begun);
    if (!begun) {
        clear_lines(sink);
        return;
    }
    memmove(sink->buffer.bytes, sink->buffer.bytes + done, rest.end);
    sink->buffer.length = rest.end;
    sink->marks[0] = rest;
    sink->mark_count = 1;
    sink->cut = true;
}

void sink_finish(struct sink *sink)
{
    sink_flush(sink);
    count_lost(sink, 0);
    clear_lines(sink);
}

void sink_set_file(struct sink *sink, int fd)
{
    sink_flush(sink);
    count_lost(sink, 0); /* the rest of a line whose beginning is in the old file is lost */
    clear_lines(sink);
    if (sink->fd >= 0)
        close(sink->fd);
    sink->fd = fd;
    rotate_begin(sink);
    set_error(sink, 0);
}

void sink_reopen(struct sink *sink)
{
    int fd = reopen_target(sink);

    if (fd >= 0) {
        sink_set_file(sink, fd);
        return;
    }
    sink_flush(sink);
    counter_add(&sink->counters->write_errors, 1);
}
