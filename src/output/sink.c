/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where events go: a file, or a Unix socket that somebody reads. Lines are collected and written in large pieces; each
 * line's end and kind are remembered until it has gone, so that a full disk or a reader that has died is counted by
 * kind.
 *
 * A write that fails loses the lines that it did not write: the output thread has to go on, and the rings behind it are
 * bounded. One thing is kept: when a line of a file was cut, its rest is written first next time, for the file stays a
 * file of whole lines. The file stays open and the next flush tries again.
 *
 * A file that was removed, with its folder perhaps, has no reader any more: it is made anew. A socket is connected when
 * there is something to send, and again when its reader has gone; both are tried once a second. A reader that is slow
 * is waited for a moment.
 *
 * Threads: the output thread, but for sink_open() and sink_close().
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

enum { PATIENCE_MS = 50, RETRY_SECONDS = 1, SEND_BUFFER = 1 << 20 };

static int open_path(const char *path, bool truncate)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (truncate ? O_TRUNC : 0), 0640);

    return fd < 0 ? -errno : fd;
}

/* Whoever wrote the file before may have been killed in the middle of a line: ours begin at the start of one. */
static void end_cut_line(const char *path, int fd)
{
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    off_t size = reader < 0 ? 0 : lseek(reader, 0, SEEK_END);
    char last = '\n';

    if (size > 0 && pread(reader, &last, 1, size - 1) == 1 && last != '\n' && write(fd, "\n", 1) < 0)
        errno = 0; /* what is written next tells the same */
    if (reader >= 0)
        close(reader);
}

static int connect_path(const char *path, int type)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd, err;

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BUFFER }, sizeof(int)); /* of a datagram's size, too */
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    err = -errno;
    close(fd);
    return err;
}

static int open_target(const struct sink *sink, bool truncate)
{
    if (sink->type == OUTPUT_FILE_REGULAR)
        return open_path(sink->path, truncate);
    return connect_path(sink->path, sink->type == OUTPUT_FILE_UNIX_STREAM ? SOCK_STREAM : SOCK_DGRAM);
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
    if (err >= 0 && type == OUTPUT_FILE_REGULAR)
        end_cut_line(path, sink->fd);
    if (err < 0)
        sink->fd = -1; /* its reader may come later */
    return 0;
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

static void forget(struct sink *sink)
{
    text_reset(&sink->buffer);
    sink->mark_count = 0;
    sink->cut = false;
}

/* Counts the marks from `first` on as lost. */
static void lose(struct sink *sink, size_t first)
{
    for (size_t i = first; i < sink->mark_count; i++)
        counter_add(&sink->counters->lost[sink->marks[i].kind], 1);
}

/* --- The target ----------------------------------------------------------------------------------- */

/* The rest of a line that was begun there has no place in another one. */
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

static bool is_removed(const struct sink *sink)
{
    struct stat status;

    return sink->type == OUTPUT_FILE_REGULAR && fstat(sink->fd, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_nlink == 0;
}

static void note(struct sink *sink, int trouble)
{
    atomic_store_explicit(&sink->trouble, trouble, memory_order_relaxed);
}

static void note_opening(struct sink *sink, int err)
{
    note(sink, err);
    if (sink->type == OUTPUT_FILE_REGULAR && (err == -EACCES || err == -EPERM))
        atomic_store_explicit(&sink->shut_out, true, memory_order_relaxed);
}

/* Looks after the target once a second: one that has gone is opened anew. */
static void look_after(struct sink *sink)
{
    uint64_t now_ns = clock_monotonic_ns();
    int fd;

    if (now_ns - sink->tried_ns < RETRY_SECONDS * NS_PER_SECOND)
        return;
    sink->tried_ns = now_ns;
    if (sink->fd >= 0 && is_removed(sink))
        disconnect(sink);
    if (sink->fd >= 0)
        return;
    fd = open_target(sink, false);
    sink->fd = fd < 0 ? -1 : fd;
    if (fd < 0)
        note_opening(sink, fd);
}

/* --- Writing -------------------------------------------------------------------------------------- */

/* What a call may write: what is left, but of datagrams one line. */
static size_t next_piece(const struct sink *sink, size_t done, size_t mark)
{
    return (sink->type == OUTPUT_FILE_UNIX_DATAGRAM ? sink->marks[mark].end : sink->buffer.length) - done;
}

static ssize_t write_piece(const struct sink *sink, const char *bytes, size_t length)
{
    return sink->type == OUTPUT_FILE_REGULAR ? write(sink->fd, bytes, length)
                                             : send(sink->fd, bytes, length, MSG_NOSIGNAL);
}

/* For as long as a reader that does not read is waited for in a flush. */
static bool wait_writable(const struct sink *sink, uint64_t until_ns)
{
    struct pollfd wait = { .fd = sink->fd, .events = POLLOUT };
    uint64_t now_ns = clock_monotonic_ns();

    return now_ns < until_ns && poll(&wait, 1, (int)((until_ns - now_ns) / 1000000) + 1) > 0 &&
           !(wait.revents & (POLLERR | POLLHUP));
}

/* The write did not go; true when it may be tried again at once. Who reads a socket no more is given up. */
static bool overcome(struct sink *sink, uint64_t until_ns)
{
    int err = errno;

    if (err != EINTR)
        note(sink, -err);
    if (err == EINTR)
        return true;
    if (sink->type != OUTPUT_FILE_REGULAR && (err == EAGAIN || err == ENOBUFS))
        return wait_writable(sink, until_ns);
    if (sink->type != OUTPUT_FILE_REGULAR && err != EMSGSIZE) {
        close(sink->fd);
        sink->fd = -1;
    }
    return false;
}

/* Returns how many bytes were written; less than all of them after an error. */
static size_t write_all(struct sink *sink)
{
    uint64_t until_ns = clock_monotonic_ns() + PATIENCE_MS * (NS_PER_SECOND / 1000);
    size_t done = 0, mark = 0;

    while (sink->fd >= 0 && done < sink->buffer.length) {
        ssize_t n = write_piece(sink, sink->buffer.bytes + done, next_piece(sink, done, mark));

        if (n > 0) {
            done += (size_t)n;
            mark++;
        } else if (n == 0 || !overcome(sink, until_ns)) {
            break;
        }
    }
    if (sink->type == OUTPUT_FILE_REGULAR)
        write_out_note(&sink->write_out, sink->fd, done);
    if (done < sink->buffer.length)
        counter_add(&sink->counters->write_errors, 1);
    else
        note(sink, 0);
    return done;
}

/* The write stopped at `done`, in the line of mark `stopped`: keeps the rest of that line if the file has its
 * beginning. */
static void keep_rest(struct sink *sink, size_t done, size_t stopped)
{
    bool begun = sink->fd >= 0 && (done > line_start(sink, stopped) || (stopped == 0 && sink->cut));

    lose(sink, stopped + begun);
    if (!begun) {
        forget(sink);
        return;
    }
    struct sink_mark mark = { .end = sink->marks[stopped].end - done, .kind = sink->marks[stopped].kind };

    memmove(sink->buffer.bytes, sink->buffer.bytes + done, mark.end);
    sink->buffer.length = mark.end;
    sink->marks[0] = mark;
    sink->mark_count = 1;
    sink->cut = true;
}

void sink_flush(struct sink *sink)
{
    if (sink->mark_count > 0)
        look_after(sink);
    if (sink->mark_count == 0)
        return;

    size_t done = write_all(sink);
    size_t complete = 0;

    while (complete < sink->mark_count && sink->marks[complete].end <= done)
        counter_add(&sink->counters->written[sink->marks[complete++].kind], 1);
    if (complete == sink->mark_count)
        forget(sink);
    else
        keep_rest(sink, done, complete);
}

void sink_finish(struct sink *sink)
{
    sink_flush(sink);
    lose(sink, 0);
    forget(sink);
}

void sink_take(struct sink *sink, int fd)
{
    sink_flush(sink);
    lose(sink, 0); /* the rest of a line that belongs to the old file */
    forget(sink);
    if (sink->fd >= 0)
        close(sink->fd);
    sink->fd = fd;
    note(sink, 0);
}

void sink_reopen(struct sink *sink)
{
    int fd = open_target(sink, false);

    if (fd >= 0) {
        sink_take(sink, fd);
        return;
    }
    sink_flush(sink);
    counter_add(&sink->counters->write_errors, 1);
    note_opening(sink, fd);
}
