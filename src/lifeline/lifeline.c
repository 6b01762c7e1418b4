/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The channel and the memory: see sluice/lifeline.h. */
#include "sluice/lifeline.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* --- The channel ------------------------------------------------------------------------------------------------------------- */

int lifeline_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

int lifeline_send(int fd, enum lifeline_kind kind, int32_t value, const char *text)
{
    struct lifeline_message message = { .version = LIFELINE_VERSION, .kind = (uint16_t)kind, .value = value };

    snprintf(message.text, sizeof(message.text), "%s", text ? text : "");
    while (send(fd, &message, sizeof(message), MSG_NOSIGNAL) < 0) {
        if (errno != EINTR)
            return errno == ECONNRESET ? -EPIPE : -errno;
    }
    return 0;
}

enum lifeline_kind lifeline_receive(int fd, struct lifeline_message *out, int wait_ms)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ssize_t n;

    if (poll(&ready, 1, wait_ms) <= 0)
        return LIFELINE_NOTHING;
    n = recv(fd, out, sizeof(*out), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return LIFELINE_NOTHING;
    if (n <= 0)
        return LIFELINE_GONE;
    if (n != sizeof(*out) || out->version != LIFELINE_VERSION)
        return LIFELINE_NOTHING;
    out->text[sizeof(out->text) - 1] = '\0';
    return out->kind < LIFELINE_GONE ? out->kind : LIFELINE_NOTHING;
}

/* --- The memory -------------------------------------------------------------------------------------------------------------- */

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

struct lifeline_memory *lifeline_memory_new(unsigned workers, size_t slots_size)
{
    size_t slots_at = whole_pages(sizeof(struct lifeline_memory)), each = whole_pages(slots_size);
    size_t size = slots_at + workers * each;
    struct lifeline_memory *memory;

    if (workers > LIFELINE_MAX_WORKERS)
        return NULL;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    memory->version = LIFELINE_VERSION;
    memory->workers = workers;
    memory->slots_at = slots_at;
    memory->slots_size = each;
    memory->size = size;
    lifeline_memory_reset(memory);
    return memory;
}

void lifeline_memory_free(struct lifeline_memory *memory)
{
    if (memory)
        munmap(memory, memory->size);
}

uint8_t *lifeline_slots(struct lifeline_memory *memory, unsigned worker)
{
    return (uint8_t *)memory + memory->slots_at + worker * memory->slots_size;
}

void lifeline_memory_reset(struct lifeline_memory *memory)
{
    atomic_store(&memory->crashed_worker, -1);
    for (unsigned i = 0; i < memory->workers; i++) {
        atomic_store(&memory->worker[i].state, LIFELINE_IDLE);
        atomic_store(&memory->worker[i].holds, 0);
    }
}

bool lifeline_held(const struct lifeline_memory *memory, unsigned worker, struct lifeline_packet *out)
{
    const struct lifeline_worker *from = &memory->worker[worker];
    uint64_t offset = atomic_load(&from->offset);
    uint32_t length = atomic_load(&from->length);

    if (!atomic_load(&from->holds) || offset > memory->slots_size || length > memory->slots_size - offset)
        return false;
    *out = (struct lifeline_packet){
        .bytes = (const uint8_t *)memory + memory->slots_at + worker * memory->slots_size + offset,
        .length = length,
        .id = atomic_load(&from->id),
    };
    return true;
}
