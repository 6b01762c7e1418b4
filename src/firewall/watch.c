/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches the installed table with two sockets: one only receives notifications, the other sends requests and
 * transactions. Notifications of Sluice's own transactions have the port id of the second socket and are ignored. The
 * first socket is opened before the installation. If another program changes the table between the installation and the
 * reading of its image, the notification arrives, and the installation is repeated.
 *
 * The notifications of a transaction arrive together after its commit: first one for each object, last NEWGEN, which
 * names the process. They are collected until NEWGEN arrives. A NEWGEN without other notifications only shows that
 * there was a transaction.
 *
 * Blocked hosts are remembered with their expiry times, because a program that deletes the table also deletes its sets.
 */
#include "sluice/firewall_watch.h"

#include "firewall_priv.h"
#include "image.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sluice/clock.h"

enum {
    RECEIVE_SIZE = 128 * 1024,
    /* Bytes. A large ruleset is reported in many messages: one for each object, and for each element of a set. */
    RECEIVE_BUFFER = 32 * 1024 * 1024,
    RECEIVES = 4096, /* maximum number of receives per call */
    INSTALL_TRIES = 8,
    NOTIFICATION_MS = 500, /* how long the watch waits for notifications of a transaction */
    NS_PER_MS = 1000000,
};

struct remembered_host {
    struct blocked_host host;
    uint64_t ends_ns; /* when the host is not blocked any more (clock_monotonic_ns()); 0: never */
};

/* The current values of a counter of packets and bytes, and the sums of earlier counters that were deleted with their
 * rules (gone_*). */
struct counter_pair {
    uint64_t packets, bytes, gone_packets, gone_bytes;
};

enum watched_counter { WATCHED_BLOCKED, WATCHED_ACCEPTED, WATCHED_DROPPED, WATCHED_ACKNOWLEDGMENTS, WATCHED_COUNTERS };

struct firewall_watch {
    const struct firewall_options *options;
    struct session session;
    struct mnl_socket *listener;
    char *buffer;
    struct image image; /* image of the tables as installed */
    struct installed installed;
    struct firewall_change pending; /* the transaction whose notifications are being received */
    uint32_t generation;            /* last generation whose transaction was received completely */
    struct counter_pair counters[WATCHED_COUNTERS];
    struct remembered_host *hosts;
    size_t host_count, host_room;
    struct range_list networks[2]; /* blocked; IPv4 and IPv6 */
};

/* --- Sockets ---------------------------------------------------------------------------------------- */

static int listen_to_changes(struct firewall_watch *watch, char error[FIREWALL_ERROR_SIZE])
{
    int group = NFNLGRP_NFTABLES, size = RECEIVE_BUFFER;

    watch->listener = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!watch->listener)
        return nft_fail(error, -errno, "cannot receive notifications of ruleset changes: %m");
    if (mnl_socket_bind(watch->listener, 0, MNL_SOCKET_AUTOPID) < 0 ||
        mnl_socket_setsockopt(watch->listener, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
        return nft_fail(error, -errno, "cannot receive notifications of ruleset changes: %m");
    if (setsockopt(mnl_socket_get_fd(watch->listener), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(mnl_socket_get_fd(watch->listener), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    return 0;
}

int firewall_watch_fd(const struct firewall_watch *watch)
{
    return mnl_socket_get_fd(watch->listener);
}

/* --- Notifications ---------------------------------------------------------------------------------- */

static void read_received(struct firewall_watch *watch, size_t length, struct firewall_change *out)
{
    const struct notifications notifications = {
        .options = watch->options,
        .image = &watch->image,
        .own_port = mnl_socket_get_portid(watch->session.socket),
        .pending = &watch->pending,
        .generation = &watch->generation,
    };

    nft_read_notifications(&notifications, (const uint8_t *)watch->buffer, length, out);
}

void firewall_watch_receive(struct firewall_watch *watch, struct firewall_change *out)
{
    *out = (struct firewall_change){ .transactions = 0 };
    for (int i = 0; i < RECEIVES; i++) {
        ssize_t length = recv(mnl_socket_get_fd(watch->listener), watch->buffer, RECEIVE_SIZE, MSG_TRUNC);

        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && errno == ENOBUFS) {
            out->lost = true;
            continue;
        }
        if (length <= 0)
            return;
        if (length > RECEIVE_SIZE)
            out->lost = true;
        else
            read_received(watch, (size_t)length, out);
    }
}

/* --- Comparison with the installed state ------------------------------------------------------------ */

const char *firewall_damage_name(unsigned number)
{
    static const char *const names[FIREWALL_DAMAGES] = { "table", "chains", "rules", "sets" };

    return number < FIREWALL_DAMAGES ? names[number] : NULL;
}

_Static_assert(FIREWALL_DAMAGE_TABLE == 1 << IMAGE_TABLE && FIREWALL_DAMAGE_CHAINS == 1 << IMAGE_CHAINS &&
                   FIREWALL_DAMAGE_RULES == 1 << IMAGE_RULES && FIREWALL_DAMAGE_SETS == 1 << IMAGE_SETS,
               "the parts of an image");

/* Updates a counter. A value below the previous one means that the counter was deleted and created again with its
 * rule. */
static void update_counter(struct counter_pair *pair, uint64_t packets, uint64_t bytes)
{
    if (packets < pair->packets) {
        pair->gone_packets += pair->packets;
        pair->gone_bytes += pair->bytes;
    }
    pair->packets = packets;
    pair->bytes = bytes;
}

static void update_counters(struct firewall_watch *watch, const struct image *now)
{
    const struct offload_counts *offload = &now->offload;

    update_counter(&watch->counters[WATCHED_BLOCKED], now->blocked_packets, now->blocked_bytes);
    update_counter(&watch->counters[WATCHED_ACCEPTED], offload->accepted_packets, offload->accepted_bytes);
    update_counter(&watch->counters[WATCHED_DROPPED], offload->dropped_packets, offload->dropped_bytes);
    update_counter(&watch->counters[WATCHED_ACKNOWLEDGMENTS], offload->acknowledgment_packets,
                   offload->acknowledgment_bytes);
}

static void get_counter(const struct firewall_watch *watch, enum watched_counter which, uint64_t *packets,
                        uint64_t *bytes)
{
    const struct counter_pair *pair = &watch->counters[which];

    *packets = pair->packets + pair->gone_packets;
    *bytes = pair->bytes + pair->gone_bytes;
}

int firewall_watch_check(struct firewall_watch *watch, struct firewall_check *out, char error[FIREWALL_ERROR_SIZE])
{
    struct image now;
    int err = nft_image_read(&now, &watch->session, watch->options->table, watch->installed.families,
                             watch->installed.family_count);

    if (err)
        return nft_explain(error, err, SUBJECT_BATCH, watch->options->table);
    update_counters(watch, &now);
    *out = (struct firewall_check){
        .damage = nft_image_differs(&watch->image, &now),
        .drops = now.drops,
    };
    get_counter(watch, WATCHED_BLOCKED, &out->blocked_packets, &out->blocked_bytes);
    get_counter(watch, WATCHED_ACCEPTED, &out->accepted_packets, &out->accepted_bytes);
    get_counter(watch, WATCHED_DROPPED, &out->dropped_packets, &out->dropped_bytes);
    get_counter(watch, WATCHED_ACKNOWLEDGMENTS, &out->acknowledgment_packets, &out->acknowledgment_bytes);
    nft_image_clear(&now);
    return 0;
}

/* --- Installation ----------------------------------------------------------------------------------- */

/* Waits until the notifications of all transactions up to `generation` have been received, and adds them to *change.
 * Returns 0, also if notifications were lost (change->lost), or -EAGAIN if they do not arrive in time. */
static int receive_up_to(struct firewall_watch *watch, uint32_t generation, struct firewall_change *change)
{
    uint64_t end_ns = clock_monotonic_ns() + (uint64_t)NOTIFICATION_MS * NS_PER_MS;
    struct pollfd listener = { .fd = firewall_watch_fd(watch), .events = POLLIN };

    firewall_watch_receive(watch, change);
    while (!change->lost && (int32_t)(watch->generation - generation) < 0) {
        struct firewall_change more;

        if (clock_monotonic_ns() >= end_ns)
            return -EAGAIN;
        poll(&listener, 1, NOTIFICATION_MS);
        firewall_watch_receive(watch, &more);
        change->ours |= more.ours;
        change->lost |= more.lost;
    }
    return 0;
}

/* Reads the image of the installed table into *shown. Returns 0; -EAGAIN when another program has changed the table
 * since the installation, or may have (notifications were lost or are late); another -errno. Notifications of a
 * transaction arrive after its effect is visible, so this function waits for the notifications of all transactions
 * whose effects the image may contain. */
static int read_installed(struct firewall_watch *watch, struct image *shown)
{
    struct firewall_change change;
    uint32_t generation = 0;
    int err = nft_image_read(shown, &watch->session, watch->options->table, watch->installed.families,
                             watch->installed.family_count);

    if (err)
        return err;
    err = nft_session_generation(&watch->session, &generation);
    if (!err)
        err = receive_up_to(watch, generation, &change);
    if (!err && (change.ours || change.lost))
        err = -EAGAIN;
    if (err)
        nft_image_clear(shown);
    return err;
}

/* Installs the table and reads its image; repeats both when another program changed the table in between. The previous
 * image is kept until the new one is complete: an empty image would equal that of a deleted table, so that no damage
 * would be detected. Returns 0, or -errno with a line in `error`. */
static int install(struct firewall_watch *watch, char error[FIREWALL_ERROR_SIZE])
{
    struct image shown = { .drops = false };
    int err = -EAGAIN;

    for (int try = 0; try < INSTALL_TRIES && err == -EAGAIN; try++) {
        struct firewall_options options = *watch->options;
        struct firewall_change before;

        options.keep_place &= !watch->installed.known;
        firewall_watch_receive(watch, &before); /* changes before the installation do not matter any more */
        err = nft_install(&watch->session, &options, &watch->installed, error);
        if (err)
            return err;
        err = read_installed(watch, &shown);
    }
    if (err == -EAGAIN)
        return nft_fail(
            error, err,
            "another process changes table '%s' immediately after each installation; run 'nft monitor' to find it",
            watch->options->table);
    if (err)
        return nft_explain(error, err, SUBJECT_BATCH, watch->options->table);
    nft_image_clear(&watch->image);
    watch->image = shown;
    update_counters(watch, &watch->image);
    return 0;
}

/* --- Blocked hosts ---------------------------------------------------------------------------------- */

static struct set_targets targets_of(const struct firewall_watch *watch)
{
    struct set_targets targets = { .table = watch->options->table };

    for (unsigned i = 0; i < 2 && watch->options->blocklist; i++)
        for (unsigned f = 0; f < watch->installed.family_count; f++)
            if (nft_set_fits(i, watch->installed.families[f]))
                targets.families[i][targets.count[i]++] = watch->installed.families[f];
    return targets;
}

static int remember(struct firewall_watch *watch, const struct blocked_host *host, uint64_t left_ms)
{
    if (watch->host_count == watch->host_room) {
        size_t room = watch->host_room ? 2 * watch->host_room : 64;
        struct remembered_host *hosts = reallocarray(watch->hosts, room, sizeof(*hosts));

        if (!hosts)
            return -ENOMEM;
        watch->hosts = hosts;
        watch->host_room = room;
    }
    watch->hosts[watch->host_count++] = (struct remembered_host){
        .host = *host,
        .ends_ns = host->timeout_ms > 0 ? clock_monotonic_ns() + left_ms * NS_PER_MS : 0,
    };
    return 0;
}

static int remember_listed(const struct blocked_host *host, void *user)
{
    return remember(user, host, host->expires_ms);
}

int firewall_watch_remember_hosts(struct firewall_watch *watch)
{
    struct set_targets targets = targets_of(watch);

    watch->host_count = 0;
    return nft_hosts_each(&watch->session, &targets, remember_listed, watch);
}

size_t firewall_watch_hosts(const struct firewall_watch *watch)
{
    uint64_t now_ns = clock_monotonic_ns();
    size_t count = 0;

    for (size_t i = 0; i < watch->host_count; i++)
        count += watch->hosts[i].ends_ns == 0 || watch->hosts[i].ends_ns > now_ns;
    return count;
}

int firewall_watch_each_host(const struct firewall_watch *watch, blocklist_each_function *each, void *user)
{
    uint64_t now_ns = clock_monotonic_ns();
    int err = 0;

    for (size_t i = 0; i < watch->host_count && !err; i++) {
        const struct remembered_host *known = &watch->hosts[i];
        struct blocked_host host = known->host;

        if (known->ends_ns > 0 && known->ends_ns <= now_ns)
            continue;
        host.expires_ms = known->ends_ns > 0 ? (known->ends_ns - now_ns) / NS_PER_MS : 0;
        err = each(&host, user);
    }
    return err;
}

/* Returns 1 if the host must be added to its set; 0 if it is already blocked for at least the same time, or the table
 * has no set for its IP version; or -errno. */
static int needs_block(struct firewall_watch *watch, const struct set_targets *targets, const struct blocked_host *host)
{
    unsigned index = host->version == 6;
    struct blocked_host found;
    int err;

    if (targets->count[index] == 0)
        return 0;
    err = nft_host_find(&watch->session, targets->families[index][0], targets->table, host, &found);
    if (err)
        return err == -ENOENT ? 1 : err;
    return found.timeout_ms > 0 && (host->timeout_ms == 0 || found.expires_ms < host->timeout_ms);
}

int firewall_watch_block(struct firewall_watch *watch, const struct blocked_host *hosts, size_t count,
                         bool added[FIREWALL_WATCH_HOSTS], char error[FIREWALL_ERROR_SIZE])
{
    struct set_targets targets = targets_of(watch);
    struct blocked_host group[FIREWALL_WATCH_HOSTS];
    enum subject subject = SUBJECT_BATCH;
    size_t wanted = 0;
    int err = 0;

    for (size_t i = 0; i < count && err >= 0; i++) {
        err = needs_block(watch, &targets, &hosts[i]);
        added[i] = err > 0;
        if (added[i])
            group[wanted++] = hosts[i];
    }
    if (err >= 0)
        err = wanted > 0 ? nft_hosts_add(&watch->session, &targets, group, wanted, true, &subject) : 0;
    if (err) {
        memset(added, 0, count * sizeof(added[0]));
        return nft_explain(error, err, subject, targets.table);
    }
    for (size_t i = 0; i < wanted && !err; i++)
        err = remember(watch, &group[i], group[i].timeout_ms);
    return 0;
}

/* Blocks the remembered hosts that have not expired, for the rest of their time. Returns 0, or -errno with a line in
 * `error`. */
static int restore_blocked_hosts(struct firewall_watch *watch, char error[FIREWALL_ERROR_SIZE])
{
    struct set_targets targets = targets_of(watch);
    struct blocked_host group[BLOCKLIST_GROUP];
    enum subject subject = SUBJECT_BATCH;
    uint64_t now_ns = clock_monotonic_ns();
    size_t count = 0;
    int err = 0;

    for (size_t i = 0; i < watch->host_count && !err; i++) {
        const struct remembered_host *known = &watch->hosts[i];

        if (known->ends_ns == 0 || known->ends_ns > now_ns + NS_PER_MS) {
            group[count] = known->host;
            group[count++].timeout_ms = known->ends_ns ? (known->ends_ns - now_ns) / NS_PER_MS : 0;
        }
        if (count == BLOCKLIST_GROUP || (count > 0 && i + 1 == watch->host_count)) {
            err = nft_hosts_add(&watch->session, &targets, group, count, false, &subject);
            count = 0;
        }
    }
    return err ? nft_explain(error, err, subject, targets.table) : 0;
}

static int put_networks(struct firewall_watch *watch, char error[FIREWALL_ERROR_SIZE])
{
    struct set_targets targets = targets_of(watch);
    enum subject subject;
    int err = nft_networks_replace(&watch->session, &targets, watch->networks, &subject);

    return err ? nft_explain(error, err, subject, targets.table) : 0;
}

int firewall_watch_block_networks(struct firewall_watch *watch, struct range_list networks[2],
                                  char error[FIREWALL_ERROR_SIZE])
{
    struct range_list before[2] = { watch->networks[0], watch->networks[1] };
    int err;

    memcpy(watch->networks, networks, sizeof(watch->networks));
    err = put_networks(watch, error);
    if (err)
        memcpy(watch->networks, before, sizeof(watch->networks));
    for (unsigned i = 0; i < 2; i++) {
        range_list_clear(err ? &networks[i] : &before[i]);
        networks[i] = (struct range_list){ .count = 0 };
    }
    return err;
}

int firewall_watch_reinstall(struct firewall_watch *watch, unsigned damage, char error[FIREWALL_ERROR_SIZE])
{
    int err = install(watch, error);

    if (err || !watch->options->blocklist || !(damage & (FIREWALL_DAMAGE_TABLE | FIREWALL_DAMAGE_SETS)))
        return err;
    err = restore_blocked_hosts(watch, error);
    return err || watch->networks[0].count + watch->networks[1].count == 0 ? err : put_networks(watch, error);
}

/* --- Life cycle ------------------------------------------------------------------------------------- */

int firewall_watch_open(struct firewall_watch **out, const struct firewall_options *options,
                        char error[FIREWALL_ERROR_SIZE])
{
    struct firewall_watch *watch = calloc(1, sizeof(*watch));
    char cause[FIREWALL_ERROR_SIZE];
    int err;

    if (!watch)
        return nft_fail(error, -ENOMEM, "out of memory");
    watch->options = options;
    watch->buffer = malloc(RECEIVE_SIZE);
    err = watch->buffer ? nft_session_open(&watch->session, error) : nft_fail(error, -ENOMEM, "out of memory");
    if (!err)
        err = listen_to_changes(watch, error);
    if (!err)
        err = install(watch, error);
    if (!err && options->blocklist)
        firewall_watch_remember_hosts(watch);
    if (err) {
        if (watch->installed.known) /* remove the table, because no process would monitor or remove it */
            firewall_remove(options->table, cause);
        firewall_watch_close(watch);
        return err;
    }
    *out = watch;
    return 0;
}

void firewall_watch_close(struct firewall_watch *watch)
{
    if (!watch)
        return;
    if (watch->listener)
        mnl_socket_close(watch->listener);
    nft_session_close(&watch->session);
    nft_image_clear(&watch->image);
    range_list_clear(&watch->networks[0]);
    range_list_clear(&watch->networks[1]);
    free(watch->hosts);
    free(watch->buffer);
    free(watch);
}
