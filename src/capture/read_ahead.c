/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ring of buffers. Pieces `lent` to `filled` - 1 are full: the user has at most the first two of them, the others
 * wait. The reader fills the other buffers in turn. A piece whose length is 0 (end of the file) or -errno is the last
 * one.
 *
 * Without a thread, pieces are read on demand and are small enough to stay in a core's cache until their packets have
 * been processed.
 */
#include "read_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SMALL_PIECE = 256 * 1024,
    LARGE_PIECE = 512 * 1024,
    THREAD_FROM = 8 * LARGE_PIECE, /* minimum size of a file for which a thread is started */
    PIECES = 4,
};

struct piece {
    uint8_t *bytes; /* beginning of the piece, after the room */
    ssize_t length;
};

struct read_ahead {
    int fd;
    uint64_t offset; /* offset of the next piece; used by the thread that reads */
    size_t room, size;
    struct piece pieces[PIECES];

    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t changed;
    /* `filled`: number of pieces read; `taken`: number of pieces delivered to the user; `lent`: number of pieces that
     * the user has released. lent <= taken <= filled <= lent + PIECES. */
    uint64_t filled, taken, lent;
    bool stop;
};

/* Reads the next piece of the file. Returns true when more may follow, false at the end or after an error. */
static bool read_piece(struct read_ahead *reader, struct piece *piece)
{
    do
        piece->length = pread(reader->fd, piece->bytes, reader->size, (off_t)reader->offset);
    while (piece->length < 0 && errno == EINTR);
    if (piece->length < 0)
        piece->length = -errno;
    else
        reader->offset += (uint64_t)piece->length;
    return piece->length > 0;
}

/* --- Thread ----------------------------------------------------------------------------------------- */

static void *read_pieces(void *user)
{
    struct read_ahead *reader = user;
    bool more = true;

    pthread_mutex_lock(&reader->lock);
    while (more) {
        while (!reader->stop && reader->filled - reader->lent == PIECES)
            pthread_cond_wait(&reader->changed, &reader->lock);
        if (reader->stop)
            break;
        pthread_mutex_unlock(&reader->lock);
        more = read_piece(reader, &reader->pieces[reader->filled % PIECES]);
        pthread_mutex_lock(&reader->lock);
        reader->filled++;
        pthread_cond_signal(&reader->changed);
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

/* --- User side -------------------------------------------------------------------------------------- */

int read_ahead_new(struct read_ahead **out, int fd, uint64_t offset, uint64_t size, size_t room)
{
    struct read_ahead *reader = calloc(1, sizeof(*reader));
    bool is_large = size >= offset + THREAD_FROM;

    if (!reader)
        return -ENOMEM;
    reader->fd = fd;
    reader->offset = offset;
    reader->room = room;
    reader->size = is_large ? LARGE_PIECE : SMALL_PIECE;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->changed, NULL);
    for (unsigned i = 0; i < (is_large ? PIECES : 2); i++) {
        uint8_t *bytes = malloc(room + reader->size);

        if (!bytes) {
            read_ahead_free(reader);
            return -ENOMEM;
        }
        reader->pieces[i].bytes = bytes + room;
    }
    if (is_large) { /* for a smaller file, read_ahead_next() reads on demand */
        sigset_t all, before;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        reader->threaded = pthread_create(&reader->thread, NULL, read_pieces, reader) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (reader->threaded)
            pthread_setname_np(reader->thread, "sluice-reader");
    }
    *out = reader;
    return 0;
}

void read_ahead_free(struct read_ahead *reader)
{
    if (!reader)
        return;
    if (reader->threaded) {
        pthread_mutex_lock(&reader->lock);
        reader->stop = true;
        pthread_cond_signal(&reader->changed);
        pthread_mutex_unlock(&reader->lock);
        pthread_join(reader->thread, NULL);
    }
    for (unsigned i = 0; i < PIECES; i++) {
        if (reader->pieces[i].bytes)
            free(reader->pieces[i].bytes - reader->room);
    }
    pthread_cond_destroy(&reader->changed);
    pthread_mutex_destroy(&reader->lock);
    free(reader);
}

ssize_t read_ahead_next(struct read_ahead *reader, uint8_t **piece)
{
    struct piece *next = &reader->pieces[reader->taken % (reader->threaded ? PIECES : 2)];

    if (reader->threaded) {
        pthread_mutex_lock(&reader->lock);
        while (reader->filled == reader->taken)
            pthread_cond_wait(&reader->changed, &reader->lock);
        pthread_mutex_unlock(&reader->lock);
    } else {
        read_piece(reader, next);
    }
    if (next->length > 0)
        reader->taken++;
    *piece = next->bytes;
    return next->length;
}

void read_ahead_release(struct read_ahead *reader)
{
    if (!reader->threaded || reader->taken - reader->lent < 2)
        return;
    pthread_mutex_lock(&reader->lock);
    reader->lent = reader->taken - 1;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}
