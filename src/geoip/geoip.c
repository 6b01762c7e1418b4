/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Country lookup with libmaxminddb. */
#include "sluice/geoip.h"

#include <errno.h>
#include <maxminddb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct geoip {
    MMDB_s database;
};

int geoip_open(struct geoip **out, const char *path, char *error, size_t error_size)
{
    struct geoip *geoip = calloc(1, sizeof(*geoip));
    int status;

    if (!geoip)
        return -ENOMEM;
    status = MMDB_open(path, MMDB_MODE_MMAP, &geoip->database);
    if (status != MMDB_SUCCESS) {
        snprintf(error, error_size, "cannot open '%s' as a country database: %s", path,
                 status == MMDB_IO_ERROR || status == MMDB_FILE_OPEN_ERROR ? strerror(errno) : MMDB_strerror(status));
        free(geoip);
        return -EINVAL;
    }
    *out = geoip;
    return 0;
}

void geoip_close(struct geoip *geoip)
{
    if (!geoip)
        return;
    MMDB_close(&geoip->database);
    free(geoip);
}

/* MMDB_aget_value() is used because MMDB_get_value(), which takes the path as variadic arguments, allocates memory. */
static bool read_country(MMDB_entry_s *entry, char country[3])
{
    static const char *const path[] = { "country", "iso_code", NULL };
    MMDB_entry_data_s data;

    if (MMDB_aget_value(entry, &data, path) != MMDB_SUCCESS || !data.has_data ||
        data.type != MMDB_DATA_TYPE_UTF8_STRING || data.data_size != 2)
        return false;
    memcpy(country, data.utf8_string, 2);
    country[2] = '\0';
    return true;
}

bool geoip_country(const struct geoip *geoip, int ip_version, const struct address *address, char country[3])
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    const struct sockaddr *key = ip_version == 4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6;
    MMDB_lookup_result_s result;
    int status;

    if (ip_version == 4)
        memcpy(&v4.sin_addr, address->bytes, sizeof(v4.sin_addr));
    else
        memcpy(&v6.sin6_addr, address->bytes, sizeof(v6.sin6_addr));
    result = MMDB_lookup_sockaddr(&geoip->database, key, &status);
    return status == MMDB_SUCCESS && result.found_entry && read_country(&result.entry, country);
}

/* --- All networks ------------------------------------------------------------------------------------- */

struct tree_walk {
    const MMDB_s *database;
    int version;
    int (*each)(int ip_version, const struct range *range, const char *country, void *user);
    void *user;
};

/* Visits the part of the tree below a record. The first `prefix` bits of `number` are the path to it. */
static int walk(const struct tree_walk *tree, uint64_t record, uint8_t type, MMDB_entry_s *entry, wide number,
                unsigned prefix)
{
    const unsigned bits = tree->version == 4 ? 32 : 128;
    const wide rest = prefix == 0 ? address_highest(tree->version) : ((wide)1 << (bits - prefix)) - 1;
    const MMDB_ipv4_start_node_s *ipv4 = &tree->database->ipv4_start_node;
    MMDB_search_node_s node;
    char country[3];
    int err;

    if (type == MMDB_RECORD_TYPE_EMPTY)
        return 0;
    if (type == MMDB_RECORD_TYPE_DATA) {
        const struct range range = { .low = number, .high = number | rest };

        return read_country(entry, country) ? tree->each(tree->version, &range, country, tree->user) : 0;
    }
    /* IPv4 networks, which an IPv6 tree contains at several places (::/96, 2002::/16 and others), are visited
     * separately. */
    if (tree->version == 6 && prefix > 0 && record == ipv4->node_value)
        return 0;
    if (type != MMDB_RECORD_TYPE_SEARCH_NODE || prefix >= bits ||
        MMDB_read_node(tree->database, (uint32_t)record, &node) != MMDB_SUCCESS)
        return -EINVAL;
    err = walk(tree, node.left_record, node.left_record_type, &node.left_record_entry, number, prefix + 1);
    if (!err)
        err = walk(tree, node.right_record, node.right_record_type, &node.right_record_entry,
                   number | (wide)1 << (bits - 1 - prefix), prefix + 1);
    return err;
}

int geoip_each_network(const struct geoip *geoip,
                       int (*each)(int ip_version, const struct range *range, const char *country, void *user),
                       void *user)
{
    const MMDB_s *database = &geoip->database;
    const struct tree_walk ipv4 = { database, 4, each, user }, ipv6 = { database, 6, each, user };
    const bool both = database->metadata.ip_version == 6;
    int err = 0;

    /* A database without IPv4 networks has no node at which they begin. */
    if (!both || (database->ipv4_start_node.netmask == 96 &&
                  database->ipv4_start_node.node_value < database->metadata.node_count))
        err = walk(&ipv4, both ? database->ipv4_start_node.node_value : 0, MMDB_RECORD_TYPE_SEARCH_NODE, NULL, 0, 0);
    if (!err && both)
        err = walk(&ipv6, 0, MMDB_RECORD_TYPE_SEARCH_NODE, NULL, 0, 0);
    return err;
}
