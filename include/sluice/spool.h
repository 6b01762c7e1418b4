/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spool: a bounded ring of events in memory that two processes share. The engine writes events to it, and sluice-ship
 * sends them to a server. Neither process waits for the other. An event stays in the spool until the server has
 * confirmed it, so a crash of sluice-ship loses nothing, and what an engine wrote before it crashed is still delivered.
 *
 * The memory is a sealed memfd: neither process can truncate it, which would kill the other one by SIGBUS. Both sides
 * check every number that the other side can write.
 *
 * Threads:   one thread of one process writes, one thread of another process reads. Any thread may read the counters.
 * Ownership: each process owns its struct spool; the memory exists as long as one of them has it mapped.
 */
#ifndef SLUICE_SPOOL_H
#define SLUICE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SPOOL_MIN_SIZE = 1 << 16,
    SPOOL_MAX_SIZE = 1 << 30,
    SPOOL_NAME_SIZE = 64, /* size of the name of an output, NUL included */
};

struct spool;

/* An event without a newline. `bytes` is valid until the event is released. */
struct spool_event {
    const char *bytes;
    uint32_t length;
    uint8_t kind;     /* enum output_event of the writer */
    uint8_t severity; /* priority of the alert's rule; 0: not an alert */
};

/* Counters of both sides, as any process that maps the spool sees them. */
struct spool_counters {
    uint64_t written;   /* all events written so far, including those that have left the spool */
    uint64_t delivered; /* events that the server has confirmed */
    uint64_t rejected;  /* events that the server can never accept, for example because they are too long */
    uint64_t connects;  /* connections to the server */
    bool connected;
};

/* --- Writer --------------------------------------------------------------------------------------- */

/* Creates a spool of `size` bytes, rounded up to a power of two. Returns 0 or -errno. */
int spool_new(struct spool **out, size_t size);
/* Returns the descriptor of the memory, to be passed to the reader; the spool owns it. */
int spool_fd(const struct spool *spool);

enum spool_result { SPOOL_WRITTEN, SPOOL_FULL, SPOOL_TOO_LONG };
/* Copies an event to the spool; the reader sees it after spool_publish(). An event longer than a quarter of the spool
 * is too long. */
enum spool_result spool_write(struct spool *spool, const struct spool_event *event);
void spool_publish(struct spool *spool);

/* --- Reader --------------------------------------------------------------------------------------- */

/* Maps a spool that another process has created, and takes ownership of the descriptor, also after an error. Returns 0
 * or -errno: -EPROTO for memory that is not a spool of this version, -EPERM if it is not sealed. */
int spool_adopt(struct spool **out, int fd);
/* Returns the position of the oldest event that was not released. */
uint64_t spool_oldest(const struct spool *spool);
/* Reads the event at *position and moves *position behind it. Returns 1; 0: there is no event at this position yet; or
 * -EBADMSG if the memory is damaged. */
int spool_read(const struct spool *spool, uint64_t *position, struct spool_event *out);
/* Releases all events before `position`: `delivered` events that the server has confirmed, and `rejected` events that
 * it can never accept. */
void spool_release(struct spool *spool, uint64_t position, uint64_t delivered, uint64_t rejected);
/* Waits up to `wait_ms` milliseconds until there is an event at `position`. */
void spool_wait(struct spool *spool, uint64_t position, int wait_ms);
void spool_set_connected(struct spool *spool, bool connected);

/* --- From the engine to sluice-ship ---------------------------------------------------------------- */

/* Sends the memory of a spool through a Unix socket (SOCK_SEQPACKET), as the spool of the output `name`. Does not
 * block. Returns 0 or -errno. */
int spool_send(int socket, const char *name, const struct spool *spool);
/* Receives a message of spool_send(): the name, and the descriptor of the memory, which the caller owns. Returns 1; 0
 * when the other process has closed the socket; or -errno: -EPROTO for anything else than such a message. */
int spool_receive(int socket, char name[SPOOL_NAME_SIZE], int *fd);

/* --- Both ----------------------------------------------------------------------------------------- */

void spool_counters(const struct spool *spool, struct spool_counters *out);
void spool_free(struct spool *spool); /* NULL is allowed */

#endif
