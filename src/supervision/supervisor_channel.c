/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The channel between supervisor and engine, and the memory that they share: see sluice/supervisor_channel.h. */
#include "sluice/supervisor_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* SEND_BUFFER: size of the send buffer of the supervisor's end, which must have room for the messages with the state
 * files of all workers. */
enum { PAGE = 4096, SEND_BUFFER = 1 << 20 };
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

/* --- Channel -------------------------------------------------------------------------------------- */

int channel_open_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

void channel_set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL), size = SEND_BUFFER;

    if (flags >= 0)
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

union control_space {
    struct cmsghdr header; /* aligns the space for control messages */
    char bytes[CMSG_SPACE(sizeof(int))];
};

static int send_message(int fd, const struct channel_message *message, int file)
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

int channel_send(int fd, enum channel_kind kind, int32_t value, const char *text)
{
    struct channel_message message = { .version = CHANNEL_VERSION, .kind = (uint16_t)kind, .value = value };

    snprintf(message.text, sizeof(message.text), "%s", text ? text : "");
    return send_message(fd, &message, -1);
}

int channel_send_file(int fd, enum channel_kind kind, int32_t value, int file)
{
    const struct channel_message message = { .version = CHANNEL_VERSION, .kind = (uint16_t)kind, .value = value };

    return send_message(fd, &message, file);
}

/* Returns the descriptor in a message, or -1 if there is none. Closes all descriptors if there are several. The
 * kernel has closed descriptors for which `header` had no room. */
static int take_file(struct msghdr *header)
{
    int file = -1;
    unsigned count = 0;

    for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control; control = CMSG_NXTHDR(header, control)) {
        if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; CMSG_LEN(at + sizeof(file)) <= control->cmsg_len; at += sizeof(file), count++) {
            if (file >= 0)
                close(file);
            memcpy(&file, CMSG_DATA(control) + at, sizeof(file));
        }
    }
    if (count > 1) {
        close(file);
        file = -1;
    }
    return file;
}

/* Replaces control characters by '?', because the text of an engine is written to the log and to terminals. C1 control
 * characters are two bytes in UTF-8. */
static void clean_text(char text[CHANNEL_TEXT_SIZE])
{
    text[CHANNEL_TEXT_SIZE - 1] = '\0';
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (*at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
            *at = '?';
    }
}

static enum channel_kind check_message(struct channel_message *message, ssize_t length, int flags)
{
    if (length != sizeof(*message) || flags & MSG_TRUNC || message->version != CHANNEL_VERSION ||
        message->kind == CHANNEL_NOTHING || message->kind >= CHANNEL_CLOSED)
        return CHANNEL_INVALID;
    clean_text(message->text);
    return message->kind;
}

enum channel_kind channel_receive_file(int fd, struct channel_message *out, int *file, int wait_ms)
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
    enum channel_kind kind;
    ssize_t n;

    *file = -1;
    if (poll(&ready, 1, wait_ms) <= 0)
        return CHANNEL_NOTHING;
    n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return CHANNEL_NOTHING;
    if (n < 0 || (n == 0 && ready.revents & POLLHUP))
        return CHANNEL_CLOSED;
    *file = take_file(&header);
    kind = check_message(out, n, header.msg_flags);
    if (*file >= 0 && kind != CHANNEL_FILE && kind != CHANNEL_EVENTS_FILE) {
        close(*file);
        *file = -1;
    }
    return kind;
}

enum channel_kind channel_receive(int fd, struct channel_message *out, int wait_ms)
{
    int file;
    enum channel_kind kind = channel_receive_file(fd, out, &file, wait_ms);

    if (file >= 0)
        close(file);
    return kind;
}

/* --- Memory --------------------------------------------------------------------------------------- */

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

static struct engine_memory *map(int fd, size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

int engine_memory_open(struct memory_map *out, unsigned workers, size_t slots_size)
{
    struct memory_map own = {
        .workers = workers,
        .slots_at = whole_pages(sizeof(struct engine_memory)),
        .slots_size = whole_pages(slots_size),
    };
    int err;

    if (workers > ENGINE_MEMORY_MAX_WORKERS)
        return -EINVAL;
    own.size = own.slots_at + workers * own.slots_size;
    own.fd = memfd_create("sluice-supervisor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (own.fd < 0)
        return -errno;
    err = ftruncate(own.fd, (off_t)own.size) || fcntl(own.fd, F_ADD_SEALS, SEALS) ? -errno : 0;
    if (!err && !(own.memory = map(own.fd, own.size)))
        err = -errno;
    if (err) {
        close(own.fd);
        return err;
    }
    own.memory->version = ENGINE_MEMORY_VERSION;
    own.memory->workers = workers;
    own.memory->slots_at = own.slots_at;
    own.memory->slots_size = own.slots_size;
    atomic_store(&own.memory->crashed_worker, -1);
    *out = own;
    return 0;
}

/* Maps the memory of the running engine after the supervisor was executed again. The engine can write the numbers in
 * it, so each is read only once, into a copy that is checked. Returns 0 or -errno. */
int engine_memory_adopt(struct memory_map *out, int fd)
{
    struct {
        uint32_t version, workers;
        size_t slots_at, slots_size;
    } head;
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);

    if (fstat(fd, &status))
        return -errno;
    if (seals < 0 || (seals & SEALS) != SEALS)
        return -EPERM;
    if ((size_t)status.st_size < sizeof(struct engine_memory) ||
        pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        return -EPROTO;

    size_t size = (size_t)status.st_size, slots_at = whole_pages(sizeof(struct engine_memory));

    if (head.version != ENGINE_MEMORY_VERSION || head.workers > ENGINE_MEMORY_MAX_WORKERS ||
        head.slots_at != slots_at || slots_at > size ||
        (head.workers > 0 && head.slots_size > (size - slots_at) / head.workers))
        return -EPROTO;
    *out = (struct memory_map){
        .memory = map(fd, size),
        .fd = fd,
        .size = size,
        .slots_at = slots_at,
        .slots_size = head.slots_size,
        .workers = head.workers,
    };
    return out->memory ? 0 : -ENOMEM;
}

void engine_memory_close(struct memory_map *memory_map)
{
    if (!memory_map->memory)
        return;
    close(memory_map->fd);
    munmap(memory_map->memory, memory_map->size);
    *memory_map = (struct memory_map){ .fd = -1 };
}

void engine_memory_publish(const struct memory_map *memory_map, const struct supervisor_record *record)
{
    struct engine_memory *memory = memory_map->memory;

    if (!memory)
        return;
    atomic_store(&memory->engines, record->engines);
    atomic_store(&memory->restarts, record->restarts);
    atomic_store(&memory->handovers, record->handovers);
    atomic_store(&memory->hangs, record->hangs);
    atomic_store(&memory->repeated, record->repeated);
    atomic_store(&memory->quarantined, record->quarantined);
    for (unsigned i = 0; i < ENGINE_MEMORY_MAX_WORKERS; i++)
        atomic_store(&memory->flags[i], record->flags[i]);
    memory->event_count = record->event_count;
    memcpy(memory->events, record->events, sizeof(memory->events));
}

void engine_memory_restore(const struct memory_map *memory_map, const struct supervisor_record *record)
{
    engine_memory_publish(memory_map, record);
    atomic_store(&memory_map->memory->reported, record->reported);
    atomic_store(&memory_map->memory->mode_override, record->mode_override);
}

void engine_memory_collect(const struct memory_map *memory_map, struct supervisor_record *record)
{
    const struct engine_memory *memory = memory_map->memory;
    uint64_t told;

    if (!memory)
        return;
    told = atomic_load(&memory->reported);
    if (told > record->reported && told <= record->event_count)
        record->reported = told;
    record->mode_override = atomic_load(&memory->mode_override);
    for (unsigned i = 0; i < memory_map->workers; i++)
        record->modes[i] = atomic_load(&memory->worker[i].mode);
    record->reload_wanted |= atomic_load(&memory->reload_wanted) != 0;
}

uint8_t *engine_memory_slots(struct engine_memory *memory, unsigned worker)
{
    return (uint8_t *)memory + memory->slots_at + worker * memory->slots_size;
}

bool engine_memory_copy_packet(const struct memory_map *memory_map, unsigned worker, uint8_t *buffer, size_t size,
                               struct current_packet *out)
{
    const struct worker_heartbeat *from;
    uint64_t offset;
    uint32_t length;

    if (!memory_map->memory || worker >= memory_map->workers)
        return false;
    from = &memory_map->memory->worker[worker];
    offset = atomic_load(&from->offset);
    length = atomic_load(&from->length);
    if (!atomic_load(&from->has_packet) || length > size || offset > memory_map->slots_size ||
        length > memory_map->slots_size - offset)
        return false;
    memcpy(buffer,
           (const uint8_t *)memory_map->memory + memory_map->slots_at + worker * memory_map->slots_size + offset,
           length);
    *out = (struct current_packet){ .bytes = buffer, .length = length, .id = atomic_load(&from->id) };
    return true;
}
