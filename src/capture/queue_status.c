/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /proc/net/netfilter/nfnetlink_queue: a line of nine decimal numbers, of which the first eight are used, for each
 * queue of the network namespace that the file was opened in. Only root can open the file, so it is opened before
 * privileges are dropped, and is read from its start each time.
 */
#include "nfqueue_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FIELDS = 8, READ_SIZE = 4096 };

int nfqueue_open_status(void)
{
    int fd = open("/proc/thread-self/net/netfilter/nfnetlink_queue", O_RDONLY | O_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

/* Parses the numbers of a line. Returns false if one is missing, has a sign or does not fit into 32 bits. */
static bool parse_line(const char *line, struct queue_status *out)
{
    uint32_t *const fields[FIELDS] = {
        &out->queue,      &out->port_id,       &out->waiting,      &out->copy_mode,
        &out->copy_range, &out->queue_dropped, &out->user_dropped, &out->id_sequence,
    };

    for (int i = 0; i < FIELDS; i++) {
        uint64_t value = 0;

        line += strspn(line, " ");
        if (*line < '0' || *line > '9')
            return false;
        for (; *line >= '0' && *line <= '9'; line++) {
            value = value * 10 + (uint64_t)(*line - '0');
            if (value > UINT32_MAX)
                return false;
        }
        *fields[i] = (uint32_t)value;
    }
    return true;
}

typedef bool (*queue_visitor)(const struct queue_status *status, void *user);

/* Calls the visitor for each queue until the visitor returns false. Returns 0 or -errno. */
static int visit_queues(int fd, queue_visitor visit, void *user)
{
    char text[READ_SIZE + 1] = "";
    off_t offset = 0;

    for (;;) {
        size_t kept = strlen(text); /* bytes of an incomplete line, kept from the previous read */
        char *line = text;

        if (kept == READ_SIZE)
            return -EBADMSG;

        ssize_t n = pread(fd, text + kept, READ_SIZE - kept, offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        text[kept + (size_t)n] = '\0';
        offset += n;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
            struct queue_status status;

            *end = '\0';
            if (parse_line(line, &status) && !visit(&status, user))
                return 0;
        }
        memmove(text, line, strlen(line) + 1);
    }
}

struct collection {
    struct queue_status *out;
    size_t count, max;
};

static bool collect_queue(const struct queue_status *status, void *user)
{
    struct collection *into = user;

    if (into->count == into->max)
        return false;
    into->out[into->count++] = *status;
    return true;
}

int nfqueue_read_status(int fd, struct queue_status *out, size_t max)
{
    struct collection into = { .out = out, .max = max };
    int err = visit_queues(fd, collect_queue, &into);

    return err ? err : (int)into.count;
}

struct search {
    uint32_t queue;
    bool found;
    struct queue_status status;
};

static bool compare_queue(const struct queue_status *status, void *user)
{
    struct search *search = user;

    search->found = status->queue == search->queue;
    if (search->found)
        search->status = *status;
    return !search->found;
}

int nfqueue_find_status(int fd, uint16_t queue, struct queue_status *out)
{
    struct search search = { .queue = queue };
    int err = visit_queues(fd, compare_queue, &search);

    if (err)
        return err;
    if (!search.found)
        return -ENOENT;
    *out = search.status;
    return 0;
}
