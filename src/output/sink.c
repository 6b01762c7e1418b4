/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event file. Lines are collected and written in large pieces; each line's end and kind are remembered until it has
 * reached the file, so that a full disk is counted by kind.
 *
 * A write that fails loses the lines that it did not write: the output thread has to go on, and the rings behind it are
 * bounded. One thing is kept: when a line was cut, its rest is written first next time, for the file stays a file of
 * whole lines. The file stays open and the next flush tries again.
 *
 * Threads: the output thread, but for sink_open() and sink_close().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output_priv.h"

static int open_path(const char *path, bool truncate)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (truncate ? O_TRUNC : 0), 0640);

    return fd < 0 ? -errno : fd;
}

int sink_open(struct sink *sink, const char *path, bool truncate, struct event_counters *counters)
{
    int err = -ENOMEM;

    *sink = (struct sink){ .fd = -1, .counters = counters };
    text_init(&sink->buffer);
    sink->path = strdup(path);
    sink->marks = calloc(SINK_MAX_MARKS, sizeof(*sink->marks));
    if (sink->path && sink->marks)
        err = sink->fd = open_path(path, truncate);
    if (err < 0) {
        sink_close(sink);
        return err;
    }
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

/* Returns how many bytes were written; less than all of them after an error. */
static size_t write_all(struct sink *sink)
{
    size_t done = 0;

    while (done < sink->buffer.length) {
        ssize_t n = write(sink->fd, sink->buffer.bytes + done, sink->buffer.length - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            counter_add(&sink->counters->write_errors, 1);
            break;
        }
        done += (size_t)n;
    }
    return done;
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

/* The write stopped at `done`, in the line of mark `stopped`: keeps the rest of that line if the file has its beginning. */
static void keep_rest(struct sink *sink, size_t done, size_t stopped)
{
    bool begun = done > line_start(sink, stopped) || (stopped == 0 && sink->cut);

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

void sink_reopen(struct sink *sink)
{
    sink_flush(sink);

    int fd = open_path(sink->path, false);

    if (fd < 0) {
        counter_add(&sink->counters->write_errors, 1);
        return;
    }
    lose(sink, 0); /* the rest of a line that belongs to the old file */
    forget(sink);
    close(sink->fd);
    sink->fd = fd;
}
