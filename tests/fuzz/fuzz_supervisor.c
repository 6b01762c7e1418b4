/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attacks of an engine on the supervisor: writes to the engine memory, and valid or malformed messages on the channel,
 * with file descriptors. The input is a sequence of such steps and of steps of the supervisor. The contract:
 *
 * - Only steps of the supervisor change its record.
 * - Its handle of the engine memory does not change.
 * - File descriptors do not leak.
 *
 * Messages that make the supervisor start a process (UPGRADE, WANT_EVENTS) are left out.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "default_options.h"
#include "daemon/supervisor/queues.h"
#include "daemon/supervisor/state.h"
#include "sluice/bytes.h"
#include "sluice/daemon.h"
#include "sluice/log.h"

enum { QUEUES = 2, SLOTS = 8192, NO_PROCESS = 0x3fffffff, MAX_STEPS = 256, MAX_FILES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct {
    struct config *config;
    struct run_options run;
    struct supervisor supervisor;
    struct supervised_queue queues[QUEUES];
    struct seen_heartbeat pulses[QUEUES];
    int kernel[QUEUES], engine, next_engine; /* the other ends of sockets and channels */
} f;

static void start_engine(struct engine_process *engine, int *end)
{
    int ends[2];

    require(channel_open_pair(ends) == 0 && engine_memory_open(&engine->memory_map, QUEUES, SLOTS) == 0);
    channel_set_nonblocking(ends[0]);
    channel_set_nonblocking(ends[1]);
    engine->pid = NO_PROCESS;
    engine->channel = ends[0];
    engine->credit = 1000;
    *end = ends[1];
}

static void setup(bool has_heir)
{

    if (!f.config) {
        require(daemon_new_config(&f.config) == 0);
        log_set_level((enum log_level)(LOG_LEVEL_ERROR - 1));
        f.run.log_dir = "/nonexistent";
        f.run.config = f.config;
    }
    f.supervisor = (struct supervisor){
        .run = &f.run,
        .config = f.config,
        .queues = f.queues,
        .queue_count = QUEUES,
        .pulses = f.pulses,
        .status_fd = -1,
        .signal_fd = -1,
        .control_fd = -1,
        .stopping = true, /* so that no upgrade starts a process */
        .engine.channel = -1,
        .next_engine.channel = -1,
        .previous_engine.channel = -1,
        .record.engines = 1,
    };
    config_fill(f.config, daemon_settings, NULL, &f.supervisor.settings);
    for (unsigned i = 0; i < QUEUES; i++) {
        int pair[2];

        require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        nfqueue_options_default(&f.queues[i].options);
        f.queues[i].options.queue = (uint16_t)i;
        f.queues[i].fd = pair[0];
        f.queues[i].bound = true;
        f.kernel[i] = pair[1];
    }
    start_engine(&f.supervisor.engine, &f.engine);
    f.next_engine = -1;
    if (has_heir) {
        start_engine(&f.supervisor.next_engine, &f.next_engine);
        f.supervisor.next_engine_waits = true;
        f.supervisor.hand_over_ns = UINT64_MAX;
    }
}

static void close_child(struct engine_process *engine)
{
    if (engine->pid > 0)
        close(engine->channel);
    engine_memory_close(&engine->memory_map);
}

static void teardown(void)
{
    close_child(&f.supervisor.engine);
    close_child(&f.supervisor.next_engine);
    close_child(&f.supervisor.previous_engine);
    for (unsigned i = 0; i < f.supervisor.file_count; i++)
        close(f.supervisor.files[i].fd);
    for (unsigned i = 0; i < QUEUES; i++) {
        close(f.queues[i].fd);
        close(f.kernel[i]);
    }
    close(f.engine);
    if (f.next_engine >= 0)
        close(f.next_engine);
}

/* --- The engine's steps --------------------------------------------------------------------------- */

static void write_memory(struct cursor *in)
{
    const struct memory_map *memory_map = &f.supervisor.engine.memory_map;
    uint32_t at = 0;
    uint8_t length = 0;
    const uint8_t *bytes;

    cursor_be32(in, &at);
    cursor_u8(in, &length);
    bytes = cursor_read(in, length);
    if (bytes && memory_map->memory) {
        at %= (uint32_t)memory_map->size;
        if (length > memory_map->size - at)
            length = (uint8_t)(memory_map->size - at);
        memcpy((uint8_t *)memory_map->memory + at, bytes, length);
    }
}

static void send_bytes(const void *bytes, size_t length, unsigned count, int file)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MAX_FILES * sizeof(int))];
    } space = { .bytes = { 0 } };
    struct iovec vector = { .iov_base = (void *)bytes, .iov_len = length };
    struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };

    if (count > 0) {
        header.msg_control = space.bytes;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        space.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                         .cmsg_type = SCM_RIGHTS,
                                         .cmsg_len = CMSG_LEN(count * sizeof(int)) };
        for (unsigned i = 0; i < count; i++)
            memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)) + i * sizeof(int), &file, sizeof(int));
    }
    sendmsg(f.engine, &header, MSG_NOSIGNAL);
}

static void send_message(struct cursor *in)
{
    struct channel_message message = { .version = CHANNEL_VERSION };
    uint8_t kind = 0, flags = 0, text = 0;
    uint32_t value = 0;
    int file = -1;

    cursor_u8(in, &kind);
    cursor_u8(in, &flags);
    cursor_be32(in, &value);
    cursor_u8(in, &text);
    if (kind == CHANNEL_UPGRADE || kind == CHANNEL_OPEN_EVENTS)
        return;
    message.kind = kind;
    message.value = (int32_t)value;
    memset(message.text, text, sizeof(message.text));
    if (flags & 4) {
        file = memfd_create("file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (flags & 8)
            fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    }
    send_bytes(&message, flags & 16 ? value % sizeof(message) : sizeof(message), file < 0 ? 0 : 1 + flags % MAX_FILES,
               file);
    if (file >= 0)
        close(file);
}

/* --- Steps of the supervisor ----------------------------------------------------------------------------- */

static void take_death(struct cursor *in)
{
    uint8_t worker = 0;
    struct engine_death death = { .signal = 11 };

    cursor_u8(in, &worker);
    death.worker = worker % (QUEUES + 2) - 1;
    queues_repeat(&f.supervisor, &death);
    require(f.supervisor.record.quarantined <= f.supervisor.record.event_count);
}

static void adopt(void)
{
    struct memory_map own;
    struct current_packet packet;
    int fd = f.supervisor.engine.memory_map.memory ? dup(f.supervisor.engine.memory_map.fd) : -1;

    if (fd < 0)
        return;
    if (engine_memory_adopt(&own, fd)) {
        close(fd);
        return;
    }
    for (unsigned i = 0; i < ENGINE_MEMORY_MAX_WORKERS; i++)
        engine_memory_copy_packet(&own, i, f.supervisor.packet, sizeof(f.supervisor.packet), &packet);
    engine_memory_close(&own);
}

/* Reads the verdicts in place of the kernel. Otherwise the socket would fill, and the sender would wait. */
static void read_verdicts(void)
{
    uint8_t verdict[4096];

    for (unsigned i = 0; i < QUEUES; i++) {
        while (recv(f.kernel[i], verdict, sizeof(verdict), MSG_DONTWAIT) > 0)
            continue;
    }
}

static void run_step(struct cursor *in)
{
    uint8_t step = 0;

    cursor_u8(in, &step);
    switch (step % 8) {
    case 0:
    case 1:
        write_memory(in);
        break;
    case 2:
    case 3:
        send_message(in);
        break;
    case 4:
        supervisor_read_messages(&f.supervisor);
        break;
    case 5:
        engine_process_check_heartbeats(&f.supervisor, 500);
        break;
    case 6:
        take_death(in);
        break;
    default:
        adopt();
        engine_memory_collect(&f.supervisor.engine.memory_map, &f.supervisor.record);
        require(f.supervisor.record.reported <= f.supervisor.record.event_count);
        engine_memory_restore(&f.supervisor.engine.memory_map, &f.supervisor.record);
    }
    read_verdicts();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor in = cursor_of(data, size);
    uint8_t has_heir = 0;
    struct memory_map before;

    cursor_u8(&in, &has_heir);
    setup(has_heir & 1);
    before = f.supervisor.engine.memory_map;
    for (unsigned i = 0; i < MAX_STEPS && in.at < in.end; i++)
        run_step(&in);
    supervisor_read_messages(&f.supervisor);
    require(f.supervisor.record.engines == 1 && f.supervisor.record.restarts == 0);
    require(f.supervisor.engine.memory_map.size == before.size && f.supervisor.engine.memory_map.workers == QUEUES);
    require(f.supervisor.file_count <= HANDOVER_FILES_MAX);
    teardown();
    return 0;
}
