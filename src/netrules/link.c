/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the GRO of network interfaces merges UDP datagrams: from the features of SIOCETHTOOL, which are found by
 * name.
 */
#include "netrules_priv.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_FEATURES = 1024, FEATURE_BITS = 32 };

static bool query_device(int socket, const char *name, void *command)
{
    struct ifreq request = { .ifr_data = command };

    strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
    return ioctl(socket, SIOCETHTOOL, &request) == 0;
}

static uint32_t count_features(int socket, const char *name)
{
    struct {
        struct ethtool_sset_info info;
        uint32_t count;
    } set = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = UINT64_C(1) << ETH_SS_FEATURES } };

    return query_device(socket, name, &set) && set.info.sset_mask && set.count <= MAX_FEATURES ? set.count : 0;
}

static bool is_active(const struct ethtool_gfeatures *features, const struct ethtool_gstrings *names, const char *name)
{
    for (uint32_t i = 0; i < names->len && i / FEATURE_BITS < features->size; i++)
        if (strncmp((const char *)names->data + (size_t)i * ETH_GSTRING_LEN, name, ETH_GSTRING_LEN) == 0)
            return features->features[i / FEATURE_BITS].active >> i % FEATURE_BITS & 1;
    return false;
}

/* A device whose driver does not support the request is assumed to merge nothing. */
static void read_features(struct netrules_link *link, int socket)
{
    uint32_t count = count_features(socket, link->name), blocks = (count + FEATURE_BITS - 1) / FEATURE_BITS;
    struct ethtool_gstrings *names = calloc(1, sizeof(*names) + (size_t)count * ETH_GSTRING_LEN);
    struct ethtool_gfeatures *features = calloc(1, sizeof(*features) + blocks * sizeof(features->features[0]));

    if (names && features && count) {
        *names = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = count };
        *features = (struct ethtool_gfeatures){ .cmd = ETHTOOL_GFEATURES, .size = blocks };
        if (query_device(socket, link->name, names) && query_device(socket, link->name, features) &&
            is_active(features, names, "rx-gro"))
            link->merges_udp =
                is_active(features, names, "rx-udp-gro-forwarding") || is_active(features, names, "rx-gro-list");
    }
    free(names);
    free(features);
}

void netrules_read_features(struct netrules *ruleset)
{
    int one = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (one < 0)
        return;
    for (struct netrules_link *link = ruleset->links; link; link = link->next)
        read_features(link, one);
    close(one);
}
