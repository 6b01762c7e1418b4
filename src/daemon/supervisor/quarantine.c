/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets on which engines die. The packet that a worker inspected when its engine died is a suspect. It is queued
 * again and inspected by the next engine like other packets, because the death may have had another cause. When a
 * second engine dies with the same packet, the packet is dropped, written to a file, and reported.
 *
 * The engine's user can write to the folder of the file, so the supervisor does not follow links or overwrite existing
 * files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <xxhash.h>

#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/supervisor_channel.h"

#include "supervisor_priv.h"

enum {
    MAX_FILES = 256, /* maximum number of files that one supervisor writes */
    FOLDER_MODE = 0750,
    FILE_MODE = 0640,
    LINKTYPE_RAW = 101,
};
static const char folder_name[] = "quarantine";

bool quarantine_is_repeated(struct quarantine *quarantine, const struct current_packet *packet)
{
    uint64_t hash = XXH3_64bits(packet->bytes, packet->length);
    struct suspect_packet *suspect;

    for (unsigned i = 0; i < QUARANTINE_SUSPECTS; i++) {
        suspect = &quarantine->suspects[i];
        if (suspect->deaths > 0 && suspect->hash == hash && suspect->length == packet->length)
            return ++suspect->deaths > 1;
    }
    suspect = &quarantine->suspects[quarantine->next++ % QUARANTINE_SUSPECTS];
    *suspect = (struct suspect_packet){ .hash = hash, .length = packet->length, .deaths = 1 };
    return false;
}

/* --- File ----------------------------------------------------------------------------------------- */

/* Writes a capture file of one packet into the folder `quarantine` of the log folder. Returns 0 or -errno. */
static int write_file(const char *log_dir, const char *name, uint64_t time_ns, const struct current_packet *packet)
{
    struct {
        uint32_t magic;
        uint16_t major, minor;
        uint32_t zone, accuracy, longest, link;
        uint32_t seconds, fraction_us, captured, length;
    } head = {
        .magic = 0xa1b2c3d4,
        .major = 2,
        .minor = 4,
        .longest = QUARANTINE_MAX_LENGTH,
        .link = LINKTYPE_RAW,
        .seconds = (uint32_t)(time_ns / NS_PER_SECOND),
        .fraction_us = (uint32_t)(time_ns % NS_PER_SECOND / 1000),
        .captured = packet->length,
        .length = packet->length,
    };
    const struct iovec parts[] = {
        { &head, sizeof(head) },
        { (void *)packet->bytes, packet->length },
    };
    int parent = open(log_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), folder, fd, err = 0;
    ssize_t written;

    if (parent < 0)
        return -errno;
    mkdirat(parent, folder_name, FOLDER_MODE); /* an error is ignored here, because openat() fails then */
    folder = openat(parent, folder_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fd = folder < 0 ? -1 : openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    written = fd < 0 ? -1 : writev(fd, parts, 2);
    if (written < 0)
        err = -errno;
    else if ((size_t)written != sizeof(head) + packet->length)
        err = -ENOSPC;
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    close(parent);
    return err;
}

void quarantine_packet(struct supervisor *supervisor, unsigned queue, const struct current_packet *packet)
{
    struct log_options log;
    const char *log_dir;
    uint64_t number = ++supervisor->record.quarantined;
    struct engine_event *event = supervisor_add_event(supervisor, ENGINE_EVENT_QUARANTINE);
    char name[64];
    int err = 0;

    config_fill(supervisor->config, output_settings, NULL, &log);
    log_dir = supervisor->run->log_dir ? supervisor->run->log_dir : log.dir;
    event->queue = queue;
    event->length = packet->length;
    snprintf(name, sizeof(name), "%llu-q%u-%llu.pcap", (unsigned long long)(event->time_ns / NS_PER_SECOND), queue,
             (unsigned long long)number);
    if (number > MAX_FILES) {
        log_error(
            "queue %u: dropped a packet of %u bytes that crashed two engines; it is not saved, because %d packets "
            "were saved since the start",
            queue, (unsigned)packet->length, (int)MAX_FILES);
        return;
    }
    err = write_file(log_dir, name, event->time_ns, packet);
    if (!err)
        snprintf(event->path, sizeof(event->path), "%.100s/%s/%s", log_dir, folder_name, name);
    log_error("queue %u: dropped a packet of %u bytes that crashed two engines; %s%s", queue, (unsigned)packet->length,
              err ? "cannot save it: " : "it is saved in ", err ? strerror(-err) : event->path);
}
