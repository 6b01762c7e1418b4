/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The channel and the memory: see sluice/lifeline.h. */
#include "sluice/lifeline.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* --- The channel ------------------------------------------------------------------------------------------------------------- */

int lifeline_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

union control_space {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(sizeof(int))];
};

static int send_message(int fd, const struct lifeline_message *message, int file)
{
    struct iovec vector = { .iov_base = (void *)message, .iov_len = sizeof(*message) };
    union control_space space = { .bytes = { 0 } };
    struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };

    if (file >= 0) {
        header.msg_control = space.bytes;
        header.msg_controllen = sizeof(space.bytes);
        space.header = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET,
            .cmsg_type = SCM_RIGHTS,
            .cmsg_len = CMSG_LEN(sizeof(file)),
        };
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)), &file, sizeof(file));
    }
    while (sendmsg(fd, &header, MSG_NOSIGNAL) < 0) {
        if (errno != EINTR)
            return errno == ECONNRESET ? -EPIPE : -errno;
    }
    return 0;
}

int lifeline_send(int fd, enum lifeline_kind kind, int32_t value, const char *text)
{
    struct lifeline_message message = { .version = LIFELINE_VERSION, .kind = (uint16_t)kind, .value = value };

    snprintf(message.text, sizeof(message.text), "%s", text ? text : "");
    return send_message(fd, &message, -1);
}

int lifeline_send_file(int fd, enum lifeline_kind kind, int32_t value, int file)
{
    const struct lifeline_message message = { .version = LIFELINE_VERSION, .kind = (uint16_t)kind, .value = value };

    return send_message(fd, &message, file);
}

static int file_of(struct msghdr *header)
{
    struct cmsghdr *control = CMSG_FIRSTHDR(header);
    int file = -1;

    if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
        control->cmsg_len == CMSG_LEN(sizeof(file)))
        memcpy(&file, CMSG_DATA(control), sizeof(file));
    return file;
}

/* LIFELINE_NOTHING for what is no message of ours. */
static enum lifeline_kind kind_of(struct lifeline_message *message, ssize_t length)
{
    if (length != sizeof(*message) || message->version != LIFELINE_VERSION || message->kind >= LIFELINE_GONE)
        return LIFELINE_NOTHING;
    message->text[sizeof(message->text) - 1] = '\0';
    return message->kind;
}

enum lifeline_kind lifeline_receive_file(int fd, struct lifeline_message *out, int *file, int wait_ms)
{
    struct iovec vector = { .iov_base = out, .iov_len = sizeof(*out) };
    union control_space space;
    struct msghdr header = {
        .msg_iov = &vector,
        .msg_iovlen = 1,
        .msg_control = space.bytes,
        .msg_controllen = sizeof(space.bytes),
    };
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    enum lifeline_kind kind;
    ssize_t n;

    *file = -1;
    if (poll(&ready, 1, wait_ms) <= 0)
        return LIFELINE_NOTHING;
    n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return LIFELINE_NOTHING;
    if (n <= 0)
        return LIFELINE_GONE;
    *file = file_of(&header);
    kind = kind_of(out, n);
    if (kind == LIFELINE_NOTHING && *file >= 0) {
        close(*file);
        *file = -1;
    }
    return kind;
}

enum lifeline_kind lifeline_receive(int fd, struct lifeline_message *out, int wait_ms)
{
    int file;
    enum lifeline_kind kind = lifeline_receive_file(fd, out, &file, wait_ms);

    if (file >= 0)
        close(file);
    return kind;
}

/* --- The memory -------------------------------------------------------------------------------------------------------------- */

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static struct lifeline_memory *map(int fd, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

struct lifeline_memory *lifeline_memory_new(unsigned workers, size_t slots_size)
{
    size_t slots_at = whole_pages(sizeof(struct lifeline_memory)), each = whole_pages(slots_size);
    size_t size = slots_at + workers * each;
    struct lifeline_memory *memory = NULL;
    int fd = workers <= LIFELINE_MAX_WORKERS ? memfd_create("sluice-lifeline", MFD_CLOEXEC) : -1;

    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        memory = map(fd, size);
    if (!memory) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    memory->version = LIFELINE_VERSION;
    memory->workers = workers;
    memory->slots_at = slots_at;
    memory->slots_size = each;
    memory->size = size;
    memory->fd = fd;
    lifeline_memory_reset(memory);
    return memory;
}

struct lifeline_memory *lifeline_memory_map(int fd)
{
    struct lifeline_memory *memory;
    struct stat status;

    if (fstat(fd, &status) || (size_t)status.st_size < sizeof(*memory))
        return NULL;
    memory = map(fd, (size_t)status.st_size);
    if (!memory)
        return NULL;
    if (memory->version != LIFELINE_VERSION || memory->size != (size_t)status.st_size ||
        memory->workers > LIFELINE_MAX_WORKERS ||
        memory->slots_at + memory->workers * memory->slots_size > memory->size) {
        munmap(memory, (size_t)status.st_size);
        return NULL;
    }
    memory->fd = fd;
    return memory;
}

void lifeline_memory_carry(struct lifeline_memory *to, const struct lifeline_memory *from)
{
    atomic_store(&to->engines, atomic_load(&from->engines));
    atomic_store(&to->restarts, atomic_load(&from->restarts));
    atomic_store(&to->handovers, atomic_load(&from->handovers));
    atomic_store(&to->hangs, atomic_load(&from->hangs));
    atomic_store(&to->repeated, atomic_load(&from->repeated));
    atomic_store(&to->quarantined, atomic_load(&from->quarantined));
    atomic_store(&to->told, atomic_load(&from->told));
    atomic_store(&to->mode_override, atomic_load(&from->mode_override));
    for (unsigned i = 0; i < LIFELINE_MAX_WORKERS; i++)
        atomic_store(&to->flags[i], atomic_load(&from->flags[i]));
    to->event_count = from->event_count;
    memcpy(to->events, from->events, sizeof(to->events));
}

void lifeline_memory_free(struct lifeline_memory *memory)
{
    if (!memory)
        return;
    close(memory->fd);
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
