/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an engine can do to the keeper: writes to the shared memory, and messages on the channel, as they are or broken,
 * with descriptors. The input is a sequence of such steps, and of what the keeper does meanwhile. The contract:
 *
 *   - the keeper's own record changes only by what the keeper does
 *   - its handle of the memory stays as it was
 *   - descriptors do not pile up
 *
 * Messages that make the keeper start a process (UPGRADE, WANT_EVENTS) are left out.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "keeper/keeper_priv.h"
#include "sluice/bytes.h"
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
    struct keeper keeper;
    struct keeper_queue queues[QUEUES];
    struct keeper_pulse pulses[QUEUES];
    int kernel[QUEUES], engine, heir; /* the other ends */
} f;

static void start_engine(struct keeper_child *child, int *end)
{
    int ends[2];

    require(lifeline_pair(ends) == 0 && lifeline_open(&child->lifeline, QUEUES, SLOTS) == 0);
    lifeline_set_nonblocking(ends[0]);
    lifeline_set_nonblocking(ends[1]);
    child->pid = NO_PROCESS;
    child->channel = ends[0];
    child->credit = 1000;
    *end = ends[1];
}

static void setup(bool has_heir)
{
    static const struct setting *const tables[] = { config_settings, NULL };

    if (!f.config) {
        require(config_new(&f.config, tables) == 0);
        log_set_level((enum log_level)(LOG_LEVEL_ERROR - 1));
        f.run.log_dir = "/nonexistent";
        f.run.config = f.config;
    }
    f.keeper = (struct keeper){
        .run = &f.run,
        .config = f.config,
        .queues = f.queues,
        .queue_count = QUEUES,
        .pulses = f.pulses,
        .status_fd = -1,
        .signal_fd = -1,
        .control_fd = -1,
        .stopping = true, /* no upgrade */
        .child.channel = -1,
        .heir.channel = -1,
        .former.channel = -1,
        .record.engines = 1,
    };
    for (unsigned i = 0; i < QUEUES; i++) {
        int pair[2];

        require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
        nfqueue_options_default(&f.queues[i].options);
        f.queues[i].options.queue = (uint16_t)i;
        f.queues[i].fd = pair[0];
        f.queues[i].bound = true;
        f.kernel[i] = pair[1];
    }
    start_engine(&f.keeper.child, &f.engine);
    f.heir = -1;
    if (has_heir) {
        start_engine(&f.keeper.heir, &f.heir);
        f.keeper.heir_waits = true;
        f.keeper.hand_over_ns = UINT64_MAX;
    }
}

static void close_child(struct keeper_child *child)
{
    if (child->pid > 0)
        close(child->channel);
    lifeline_close(&child->lifeline);
}

static void teardown(void)
{
    close_child(&f.keeper.child);
    close_child(&f.keeper.heir);
    close_child(&f.keeper.former);
    for (unsigned i = 0; i < f.keeper.file_count; i++)
        close(f.keeper.files[i].fd);
    for (unsigned i = 0; i < QUEUES; i++) {
        close(f.queues[i].fd);
        close(f.kernel[i]);
    }
    close(f.engine);
    if (f.heir >= 0)
        close(f.heir);
}

/* --- The engine's steps --------------------------------------------------------------------------- */

static void write_memory(struct cursor *in)
{
    const struct lifeline *lifeline = &f.keeper.child.lifeline;
    uint32_t at = 0;
    uint8_t length = 0;
    const uint8_t *bytes;

    cursor_be32(in, &at);
    cursor_u8(in, &length);
    bytes = cursor_take(in, length);
    if (bytes && lifeline->memory) {
        at %= (uint32_t)lifeline->size;
        if (length > lifeline->size - at)
            length = (uint8_t)(lifeline->size - at);
        memcpy((uint8_t *)lifeline->memory + at, bytes, length);
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
    struct lifeline_message message = { .version = LIFELINE_VERSION };
    uint8_t kind = 0, flags = 0, text = 0;
    uint32_t value = 0;
    int file = -1;

    cursor_u8(in, &kind);
    cursor_u8(in, &flags);
    cursor_be32(in, &value);
    cursor_u8(in, &text);
    if (kind == LIFELINE_UPGRADE || kind == LIFELINE_WANT_EVENTS)
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

/* --- The keeper's --------------------------------------------------------------------------------- */

static void take_death(struct cursor *in)
{
    uint8_t worker = 0;
    struct keeper_death death = { .signal = 11 };

    cursor_u8(in, &worker);
    death.worker = worker % (QUEUES + 2) - 1;
    queues_repeat(&f.keeper, &death);
    require(f.keeper.record.quarantined <= f.keeper.record.event_count);
}

static void adopt(void)
{
    struct lifeline own;
    struct lifeline_packet packet;
    int fd = f.keeper.child.lifeline.memory ? dup(f.keeper.child.lifeline.fd) : -1;

    if (fd < 0)
        return;
    if (lifeline_adopt(&own, fd)) {
        close(fd);
        return;
    }
    for (unsigned i = 0; i < LIFELINE_MAX_WORKERS; i++)
        lifeline_copy_held(&own, i, f.keeper.packet, sizeof(f.keeper.packet), &packet);
    lifeline_close(&own);
}

/* The kernel reads every verdict at once. Without a reader the socket would fill, and the sender would wait for room in
 * it. */
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
        keeper_take_messages(&f.keeper);
        break;
    case 5:
        child_watch(&f.keeper, 500);
        break;
    case 6:
        take_death(in);
        break;
    default:
        adopt();
        lifeline_collect(&f.keeper.child.lifeline, &f.keeper.record);
        require(f.keeper.record.told <= f.keeper.record.event_count);
        lifeline_restore(&f.keeper.child.lifeline, &f.keeper.record);
    }
    read_verdicts();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor in = cursor_of(data, size);
    uint8_t has_heir = 0;
    struct lifeline before;

    cursor_u8(&in, &has_heir);
    setup(has_heir & 1);
    before = f.keeper.child.lifeline;
    for (unsigned i = 0; i < MAX_STEPS && in.at < in.end; i++)
        run_step(&in);
    keeper_take_messages(&f.keeper);
    require(f.keeper.record.engines == 1 && f.keeper.record.restarts == 0);
    require(f.keeper.child.lifeline.size == before.size && f.keeper.child.lifeline.workers == QUEUES);
    require(f.keeper.file_count <= KEEPER_FILES);
    teardown();
    return 0;
}
