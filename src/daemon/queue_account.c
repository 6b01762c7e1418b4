/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares rule counters with queue counters, and keeps the account in a file; see queue_account.h. */
#include "queue_account.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/daemon.h"
#include "sluice/setup.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum { FILE_MAGIC = 0x534c5141, FOLDER_MODE = 0755 };

/* --- Comparison ----------------------------------------------------------------------------------- */

static const struct account_rule *find_rule(const struct queue_account *account, const struct account_rule *rule)
{
    for (unsigned i = 0; i < account->rule_count; i++)
        if (account->rules[i].place == rule->place && account->rules[i].handle == rule->handle)
            return &account->rules[i];
    return NULL;
}

/*
 * Returns the number of packets that the rules have counted since the last reading. The counter of a rule in another
 * table may start with any value (`iptables-restore -c`), so a counter that is new, or less than before, counts from
 * its current value on. Counters in the sluice table start at 0.
 */
static int64_t count_rules(const struct queue_account *account, const struct account_reading *reading)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < reading->rule_count; i++) {
        const struct account_rule *now = &reading->rules[i], *before = find_rule(account, now);

        if (before && now->packets >= before->packets)
            sum += (int64_t)(now->packets - before->packets);
        else if (now->own)
            sum += (int64_t)now->packets;
    }
    return sum;
}

static const struct account_queue *find_queue(const struct queue_account *account, uint32_t queue)
{
    for (unsigned i = 0; i < account->queue_count; i++)
        if (account->queues[i].queue == queue)
            return &account->queues[i];
    return NULL;
}

/* Returns the number of packets that arrived in the queues since the last reading. */
static int64_t count_queues(const struct queue_account *account, const struct queue_status *queues, unsigned count)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < count; i++) {
        const struct account_queue *before = find_queue(account, queues[i].queue);
        uint32_t enqueued = queues[i].id_sequence + queues[i].queue_dropped;

        if (before && before->port_id == queues[i].port_id)
            sum += (uint32_t)(enqueued - before->enqueued);
        else
            sum += enqueued;
    }
    return sum;
}

static bool has_other_listener(const struct queue_account *account, const struct queue_status *queue)
{
    const struct account_queue *before = find_queue(account, queue->queue);

    return queue->port_id == 0 || (before && before->port_id != queue->port_id);
}

static void store_reading(struct queue_account *account, const struct account_reading *reading)
{
    struct account_queue queues[CAPTURE_MAX_QUEUES];

    for (unsigned i = 0; i < reading->queue_count; i++) {
        const struct queue_status *now = &reading->after[i];
        const struct account_queue *before = find_queue(account, now->queue);

        /* Keep the numbers that events have reported. */
        queues[i] = before ? *before : (struct account_queue){ .queue = now->queue };
        queues[i].port_id = now->port_id;
        queues[i].enqueued = now->id_sequence + now->queue_dropped;
        queues[i].id_sequence = now->id_sequence;
    }
    memcpy(account->queues, queues, reading->queue_count * sizeof(queues[0]));
    memcpy(account->rules, reading->rules, sizeof(account->rules));
    account->queue_count = reading->queue_count;
    account->rule_count = reading->rule_count;
    account->read_ns = reading->time_ns;
}

void queue_account_forget(struct queue_account *account, const struct account_reading *reading)
{
    store_reading(account, reading);
    account->rule_count = 0;
    account->valid = false;
}

static int64_t lower_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

uint64_t queue_account_update(struct queue_account *account, const struct account_reading *reading, bool *unbound)
{
    int64_t counted = account->counted, queued = account->queued, at_most, at_least, exceeded;

    *unbound = false;
    if (account->valid) {
        counted += count_rules(account, reading);
        queued += count_queues(account, reading->after, reading->queue_count);
        at_most = counted - account->queued - count_queues(account, reading->before, reading->queue_count);
        for (unsigned i = 0; i < reading->queue_count; i++)
            *unbound |= has_other_listener(account, &reading->after[i]);
    } else {
        const struct queue_account nothing = { .valid = false };

        /* The account starts between the two readings of the queues: packets that were queued before the first one are
         * not part of the account. */
        queued = count_queues(&nothing, reading->after, reading->queue_count) -
                 count_queues(&nothing, reading->before, reading->queue_count);
        counted = at_most = 0;
        account->base = 0;
        account->certain = 0;
        account->last = -queued;
        account->valid = true;
    }
    at_least = counted - queued;
    account->base = lower_of(account->base, at_most - account->certain);
    exceeded = lower_of(at_least, account->last) - account->base - account->certain;
    account->counted = counted;
    account->queued = queued;
    account->last = at_least;
    store_reading(account, reading);
    if (exceeded <= 0)
        return 0;
    account->certain += exceeded;
    return (uint64_t)exceeded;
}

/* --- File ----------------------------------------------------------------------------------------- */

struct account_file {
    uint32_t magic, size;
    uint64_t checksum; /* detects a file that a killed process has written in part */
    struct queue_account account;
};

static uint64_t checksum_of(const struct queue_account *account)
{
    const uint8_t *bytes = (const uint8_t *)account;
    uint64_t sum = UINT64_C(0xcbf29ce484222325); /* FNV-1a hash */

    for (size_t i = 0; i < sizeof(*account); i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

int queue_account_read(struct queue_account *out, int fd)
{
    struct account_file file;
    ssize_t length = pread(fd, &file, sizeof(file), 0);

    if (length <= 0)
        return length < 0 ? -errno : -ENODATA;
    if (length != sizeof(file) || file.magic != FILE_MAGIC || file.size != sizeof(file) ||
        file.checksum != checksum_of(&file.account) || file.account.rule_count > ACCOUNT_RULES ||
        file.account.queue_count > CAPTURE_MAX_QUEUES)
        return -EBADMSG;
    *out = file.account;
    return 0;
}

int queue_account_write(const struct queue_account *account, int fd)
{
    struct account_file file;
    ssize_t length;

    memset(&file, 0, sizeof(file)); /* clears the padding, too, which is part of the file */
    file.magic = FILE_MAGIC;
    file.size = sizeof(file);
    memcpy(&file.account, account, sizeof(*account));
    file.checksum = checksum_of(&file.account);
    length = pwrite(fd, &file, sizeof(file), 0);
    return length == sizeof(file) ? 0 : length < 0 ? -errno : -EIO;
}

/* Returns a number for the network namespace: its cookie, which is unique until the next boot, or on kernels before
 * 5.14 its inode. */
static uint64_t namespace_number(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length = sizeof(uint64_t);
    uint64_t cookie = 0;
    struct stat status;

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) < 0)
        cookie = stat("/proc/self/ns/net", &status) == 0 ? status.st_ino : 0;
    if (fd >= 0)
        close(fd);
    return cookie;
}

int queue_account_open_file(uint16_t first_queue, char path[ACCOUNT_PATH_SIZE])
{
    int fd;

    snprintf(path, ACCOUNT_PATH_SIZE, "%s/queues-%llx-%u", SLUICE_RUNDIR, (unsigned long long)namespace_number(),
             (unsigned)first_queue);
    mkdir(SLUICE_RUNDIR, FOLDER_MODE); /* an error is ignored: the folder exists, or open() fails, too */
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    path[0] = '\0';
    /* Without a name: only the engines of this supervisor share the account. */
    fd = memfd_create("sluice-queues", MFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}
