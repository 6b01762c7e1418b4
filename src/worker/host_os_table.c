/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of host-os-policy: the operating system of hosts by network, where the most specific network wins. The
 * networks are sorted by version, prefix length and address, so a lookup is a binary search for each prefix length that
 * occurs. There is at most one lookup for each fragmented datagram and each end of a TCP
 * session.
 */
#include "sluice/host_os_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/address.h"
#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/host_os.h"

static const char *const names[HOST_OS_COUNT] = {
    [HOST_OS_BSD] = "bsd",
    [HOST_OS_BSD_RIGHT] = "bsd-right",
    [HOST_OS_OLD_LINUX] = "old-linux",
    [HOST_OS_LINUX] = "linux",
    [HOST_OS_OLD_SOLARIS] = "old-solaris",
    [HOST_OS_SOLARIS] = "solaris",
    [HOST_OS_HPUX10] = "hpux10",
    [HOST_OS_HPUX11] = "hpux11",
    [HOST_OS_IRIX] = "irix",
    [HOST_OS_MACOS] = "macos",
    [HOST_OS_WINDOWS] = "windows",
    [HOST_OS_VISTA] = "vista",
    [HOST_OS_WINDOWS2K3] = "windows2k3",
};

static int compare(const void *a, const void *b)
{
    const struct host_network *left = a, *right = b;

    if (left->version != right->version)
        return left->version - right->version;
    if (left->prefix != right->prefix)
        return right->prefix - left->prefix; /* the longest prefix first */
    return memcmp(&left->network, &right->network, sizeof(left->network));
}

static int add_network(struct host_os_table *table, const struct config *config, const char *setting, const char *value,
                       enum host_os os, struct diag *diag)
{
    struct host_network *at = &table->networks[table->count];
    unsigned prefix;

    if (table->count == HOST_OS_MAX_NETWORKS) {
        diag_error(diag, config_position(config, setting), "host-os-policy has more than %d networks",
                   HOST_OS_MAX_NETWORKS);
        return -EINVAL;
    }
    int version = config_network(value, &at->network, &prefix);

    if (version < 0)
        return -EINVAL; /* not reported here: the check of the configuration has reported it */
    at->version = (uint8_t)version;
    at->prefix = (uint8_t)prefix;
    at->os = (uint8_t)os;
    table->count++;
    return 0;
}

static int check_twice(const struct host_os_table *table, const struct config *config, struct diag *diag)
{
    char setting[64], text[ADDRESS_TEXT_SIZE];

    for (size_t i = 1; i < table->count; i++) {
        const struct host_network *at = &table->networks[i];

        if (compare(at - 1, at) != 0 || at->os == at[-1].os)
            continue;
        address_format(&at->network, at->version, false, text);
        snprintf(setting, sizeof(setting), "host-os-policy.%s", names[at->os]);
        diag_error(diag, config_position(config, setting), "%s/%u is listed in host-os-policy.%s, too", text,
                   (unsigned)at->prefix, names[at[-1].os]);
        return -EINVAL;
    }
    return 0;
}

int host_os_table_parse(struct host_os_table *out, const struct config *config, struct diag *diag)
{
    struct host_os_options options;

    memset(out, 0, sizeof(*out));
    config_fill(config, host_os_settings, NULL, &options);
    for (enum host_os os = 0; os < HOST_OS_COUNT; os++) {
        char setting[64];

        snprintf(setting, sizeof(setting), "host-os-policy.%s", names[os]);
        for (const char *const *network = options.networks[os]; *network; network++) {
            int err = add_network(out, config, setting, *network, os, diag);

            if (err)
                return err;
        }
    }
    qsort(out->networks, out->count, sizeof(out->networks[0]), compare);
    return check_twice(out, config, diag);
}

/* Returns the index of the first network that is not less than `wanted`. */
static size_t lower_bound(const struct host_os_table *table, const struct host_network *wanted)
{
    size_t low = 0, high = table->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(&table->networks[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum host_os find_host_os(const void *user, int ip_version, const struct address *host)
{
    const struct host_os_table *table = user;
    struct host_network wanted = {
        .network = *host,
        .version = (uint8_t)ip_version,
        .prefix = ip_version == 4 ? 32 : 128,
    };

    /* Each iteration looks up the network of the host with one prefix length, or skips to the next prefix length in the
     * table. */
    for (size_t at; (at = lower_bound(table, &wanted)) < table->count;) {
        const struct host_network *found = &table->networks[at];

        if (found->version != ip_version)
            break;
        if (found->prefix == wanted.prefix && memcmp(&found->network, &wanted.network, sizeof(wanted.network)) == 0)
            return found->os;
        if (found->prefix == wanted.prefix) {
            if (wanted.prefix == 0)
                break;
            wanted.prefix--;
        } else {
            wanted.prefix = found->prefix;
        }
        wanted.network = *host;
        address_mask(&wanted.network, wanted.prefix);
    }
    return HOST_OS_BSD;
}

struct host_os_policy host_os_table_policy(const struct host_os_table *table)
{
    return (struct host_os_policy){ .of = find_host_os, .user = table };
}
