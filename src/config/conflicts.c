/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds settings that conflict with each other, and reports them at the position of one of them. */
#include "config_priv.h"

#include <stdio.h>
#include <string.h>

enum { MAX_QUEUES = 1024, MAX_QUEUE = 65535, MAX_PORTS = 16 };

struct check {
    const struct config *config;
    struct diag *diag;
    uint32_t queues[MAX_QUEUES];
    size_t queue_count;
};

/* Writes the name of a setting for a range of queues ("queues.0-3.mark") if it is set, otherwise that for all queues.
 */
static const char *write_name(const struct check *check, const char *range, const char *key, char *out, size_t size)
{
    if (range) {
        snprintf(out, size, "queues.%s.%s", range, key);
        if (config_is_set(check->config, out))
            return out;
    }
    snprintf(out, size, "queue.%s", key);
    return out;
}

/* The position of a setting, or if it is not set of the one that requires it. */
static struct position position_of(const struct check *check, const char *name, const char *required_by)
{
    struct position at = config_position(check->config, name);

    return at.line ? at : config_position(check->config, required_by);
}

static void check_repeat(const struct check *check, const char *range, const char *verdict_name)
{
    char name[CONFIG_MAX_PATH];
    const char *value = config_string(check->config, write_name(check, range, "mark", name, sizeof(name)));
    uint32_t mark = 0, mask = 0, reject = 0, reject_mask = 0;
    struct position at = position_of(check, name, verdict_name);

    if (!value) {
        diag_error(check->diag, at, "the verdict repeat needs a mark: set '%s' to MARK/MASK, such as 0x1/0x1", name);
        return;
    }
    if (config_mark(value, &mark, &mask) && mark == 0)
        diag_error(check->diag, at,
                   "'%s' is 0 under its mask: with the verdict repeat, packets would be queued again in a loop", name);
    if (config_mark(config_string(check->config, "nft.reject-mark"), &reject, &reject_mask) && (mask & reject_mask))
        diag_error(check->diag, at, "'%s' (%s) shares bits with 'nft.reject-mark' (%s)", name, value,
                   config_string(check->config, "nft.reject-mark"));
}

static void check_route(const struct check *check, const char *range, const char *verdict_name)
{
    char name[CONFIG_MAX_PATH];
    int64_t to = config_number_or(check->config, write_name(check, range, "route-to", name, sizeof(name)), -1);
    struct position at = position_of(check, name, verdict_name);

    if (to < 0)
        diag_error(check->diag, at, "the verdict route needs the queue of the next consumer: set '%s'", name);
    for (size_t i = 0; i < check->queue_count; i++)
        if (to == check->queues[i])
            diag_error(check->diag, at,
                       "'%s' is %u, which is in 'queue.numbers': packets would be queued again in a loop", name,
                       check->queues[i]);
}

static void check_verdict(const struct check *check, const char *range)
{
    char name[CONFIG_MAX_PATH];
    const char *verdict = config_string(check->config, write_name(check, range, "verdict", name, sizeof(name)));

    if (strcmp(verdict, "repeat") == 0)
        check_repeat(check, range, name);
    else if (strcmp(verdict, "route") == 0)
        check_route(check, range, name);
}

/* --- Ranges --------------------------------------------------------------------------------------- */

static bool is_served(const struct check *check, uint32_t queue)
{
    for (size_t i = 0; i < check->queue_count; i++)
        if (check->queues[i] == queue)
            return true;
    return false;
}

static void check_range(const struct check *check, const char *range, uint8_t seen[MAX_QUEUE + 1])
{
    const struct node *node = node_member(node_find(check->config->root, "queues"), range, strlen(range));
    uint32_t numbers[MAX_QUEUES];
    int count = config_ranges(range, MAX_QUEUE, numbers, MAX_QUEUES);
    struct position at = node->key_at;

    if (count <= 0 || strchr(range, ',')) {
        diag_error(check->diag, at, "'queues.%s': the name must be one queue or range, such as 0 or 0-3", range);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (seen[numbers[i]]++) {
            diag_error(check->diag, at, "'queues.%s': queue %u is in another range too", range, numbers[i]);
            return;
        }
        if (!is_served(check, numbers[i])) { /* --queue may serve fewer than the file is written for */
            diag_warning(check->diag, at, "'queues.%s': queue %u is not in 'queue.numbers' (%s)", range, numbers[i],
                         config_string(check->config, "queue.numbers"));
            return;
        }
    }
    check_verdict(check, range);
}

/* --- Firewall, tunnels ---------------------------------------------------------------------------- */

static void check_attach(const struct check *check)
{
    const char *attach = config_string(check->config, "nft.attach"),
               *verdict = config_string(check->config, "queue.verdict");
    struct position at = config_position(check->config, "nft.attach");

    if (strcmp(attach, "none") == 0) {
        if (config_bool(check->config, "nft.blocklist.enabled"))
            diag_warning(check->diag, config_position(check->config, "nft.blocklist.enabled"),
                         "'nft.blocklist' has no effect without the sluice table: set 'nft.attach'");
        return;
    }
    for (size_t i = 1; i < check->queue_count; i++) {
        if (check->queues[i] == check->queues[i - 1] + 1)
            continue;
        diag_error(check->diag, position_of(check, "queue.numbers", "nft.attach"),
                   "'nft.attach' needs queues in one range, got '%s'", config_string(check->config, "queue.numbers"));
        break;
    }
    if ((strcmp(attach, "repeat") == 0 || strcmp(attach, "route") == 0) && strcmp(attach, verdict) != 0)
        diag_error(check->diag, at, "'nft.attach' %s needs 'queue.verdict' %s, not %s", attach, attach, verdict);
    if (strcmp(verdict, "repeat") == 0 && strcmp(attach, "after") == 0)
        diag_error(check->diag, at,
                   "'queue.verdict' repeat would queue packets again in a loop with 'nft.attach' after: "
                   "use 'nft.attach' repeat");
    if (strcmp(verdict, "repeat") == 0 && strcmp(attach, "before") == 0)
        diag_error(check->diag, at,
                   "'queue.verdict' repeat would queue packets again in a loop with 'nft.attach' before: "
                   "use 'nft.attach' repeat");
}

void config_check(const struct config *config, struct diag *diag)
{
    static const char *const ports[] = { "decoder.teredo.ports", "decoder.vxlan.ports", "decoder.geneve.ports" };
    struct check check = { .config = config, .diag = diag };
    uint8_t seen[MAX_QUEUE + 1] = { 0 };
    const char *range;
    int count = config_ranges(config_string(config, "queue.numbers"), MAX_QUEUE, check.queues, MAX_QUEUES);

    check.queue_count = count > 0 ? (size_t)count : 0;
    check_verdict(&check, NULL);
    for (size_t i = 0; (range = config_each(config, "queues", i)); i++)
        check_range(&check, range, seen);
    check_attach(&check);
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        uint16_t list[MAX_PORTS];
        bool any;

        config_ports(config, ports[i], list, MAX_PORTS, &any, diag);
    }
}
