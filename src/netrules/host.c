/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the host from /proc and SIOCETHTOOL.
 *
 * The listener of a queue: the kernel reports the port id of a netlink socket, /proc/net/netlink the inode of that
 * socket, and the process is the one that has it open. A process of another pid namespace is not found and has no name.
 */
#include "netrules_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { LINE_SIZE = 512, MAX_HOLDERS = 4096, MAX_SOCKETS = 256, NAME_SIZE = 64, FILES_OF_A_PROCESS = 65536 };

int netrules_add_holder(struct netrules *ruleset, const char *line)
{
    unsigned queue, port, waiting, mode, range, full, refused, delivered;
    struct netrules_listener *holder, **link = &ruleset->holders;

    if (sscanf(line, "%u %u %u %u %u %u %u %u", &queue, &port, &waiting, &mode, &range, &full, &refused, &delivered) !=
            8 ||
        queue > UINT16_MAX)
        return 0;
    holder = arena_alloc(ruleset->arena, sizeof(*holder));
    if (!holder)
        return -ENOMEM;
    *holder = (struct netrules_listener){
        .queue = (uint16_t)queue, .port = port, .waiting = waiting, .dropped = full + refused, .delivered = delivered
    };
    while (*link)
        link = &(*link)->next;
    *link = holder;
    return 0;
}

/* --- Processes -------------------------------------------------------------------------------------- */

struct inode_of_port {
    uint32_t port;
    unsigned long inode;
};

/* Reads the inodes of the netfilter netlink sockets that have queues. */
static size_t read_inodes(const struct netrules *ruleset, struct inode_of_port out[MAX_SOCKETS])
{
    FILE *file = fopen("/proc/net/netlink", "re");
    char line[LINE_SIZE];
    size_t count = 0;

    while (file && count < MAX_SOCKETS && fgets(line, sizeof(line), file)) {
        const struct netrules_listener *holder = ruleset->holders;
        unsigned protocol, port;
        unsigned long inode;

        if (sscanf(line, "%*s %u %u %*s %*s %*s %*s %*s %*s %lu", &protocol, &port, &inode) != 3 ||
            protocol != NETLINK_NETFILTER)
            continue;
        while (holder && holder->port != port)
            holder = holder->next;
        if (holder)
            out[count++] = (struct inode_of_port){ port, inode };
    }
    if (file)
        fclose(file);
    return count;
}

/* Stores the id and name of the process in the listeners with this port. */
static int name_holders(struct netrules *ruleset, uint32_t port, const char *process)
{
    char path[NAME_SIZE], name[NAME_SIZE] = "";
    const char *copy;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%.20s/comm", process);
    file = fopen(path, "re");
    if (file) {
        if (fgets(name, sizeof(name), file))
            name[strcspn(name, "\n")] = '\0';
        fclose(file);
    }
    copy = arena_strdup(ruleset->arena, name);
    if (!copy)
        return -ENOMEM;
    for (struct netrules_listener *holder = ruleset->holders; holder; holder = holder->next) {
        if (holder->port != port || holder->process)
            continue;
        holder->process = (uint32_t)strtoul(process, NULL, 10);
        holder->name = *copy ? copy : NULL;
    }
    return 0;
}

static int find_sockets(struct netrules *ruleset, const char *process, const struct inode_of_port *inodes, size_t count)
{
    char path[NAME_SIZE], target[NAME_SIZE];
    const struct dirent *entry;
    unsigned files = 0;
    int err = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%.20s/fd", process);
    folder = opendir(path);
    while (folder && !err && files++ < FILES_OF_A_PROCESS && (entry = readdir(folder))) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        unsigned long inode;

        target[length > 0 ? length : 0] = '\0';
        if (sscanf(target, "socket:[%lu]", &inode) != 1)
            continue;
        for (size_t i = 0; i < count && !err; i++)
            if (inodes[i].inode == inode)
                err = name_holders(ruleset, inodes[i].port, process);
    }
    if (folder)
        closedir(folder);
    return err;
}

int netrules_read_holders(struct netrules *ruleset)
{
    FILE *file = fopen("/proc/net/netfilter/nfnetlink_queue", "re");
    struct inode_of_port inodes[MAX_SOCKETS];
    const struct dirent *entry;
    char line[LINE_SIZE];
    size_t count;
    int err = 0;
    DIR *folder;

    for (int i = 0; file && i < MAX_HOLDERS && !err && fgets(line, sizeof(line), file); i++)
        err = netrules_add_holder(ruleset, line);
    if (file)
        fclose(file);
    count = read_inodes(ruleset, inodes);
    folder = count ? opendir("/proc") : NULL;
    while (folder && !err && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]))
            err = find_sockets(ruleset, entry->d_name, inodes, count);
    if (folder)
        closedir(folder);
    return err;
}

/* --- Features of interfaces ------------------------------------------------------------------------- */

enum { MAX_FEATURES = 1024, FEATURE_BITS = 32 };

static bool query_device(int socket, const char *name, void *command)
{
    struct ifreq request = { .ifr_data = command };

    strncpy(request.ifr_name, name, sizeof(request.ifr_name) - 1);
    return ioctl(socket, SIOCETHTOOL, &request) == 0;
}

static bool is_active(const struct ethtool_gfeatures *features, const struct ethtool_gstrings *names, const char *name)
{
    for (uint32_t i = 0; i < names->len && i / FEATURE_BITS < features->size; i++)
        if (strncmp((const char *)names->data + (size_t)i * ETH_GSTRING_LEN, name, ETH_GSTRING_LEN) == 0)
            return features->features[i / FEATURE_BITS].active >> i % FEATURE_BITS & 1;
    return false;
}

/* Features are found by name. A device whose driver does not support the request is assumed to merge nothing. */
static void read_features(struct netrules_link *link, int socket)
{
    struct {
        struct ethtool_sset_info info;
        uint32_t count;
    } set = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = UINT64_C(1) << ETH_SS_FEATURES } };
    struct ethtool_gfeatures *features;
    struct ethtool_gstrings *names;
    uint32_t blocks;

    if (!query_device(socket, link->name, &set) || !set.info.sset_mask || set.count > MAX_FEATURES)
        return;
    blocks = (set.count + FEATURE_BITS - 1) / FEATURE_BITS;
    names = calloc(1, sizeof(*names) + (size_t)set.count * ETH_GSTRING_LEN);
    features = calloc(1, sizeof(*features) + blocks * sizeof(features->features[0]));
    if (names && features) {
        *names = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES, .len = set.count };
        *features = (struct ethtool_gfeatures){ .cmd = ETHTOOL_GFEATURES, .size = blocks };
        if (query_device(socket, link->name, names) && query_device(socket, link->name, features) &&
            is_active(features, names, "rx-gro"))
            link->merges_udp =
                is_active(features, names, "rx-udp-gro-forwarding") || is_active(features, names, "rx-gro-list");
    }
    free(names);
    free(features);
}

/* --- Host ------------------------------------------------------------------------------------------- */

static bool is_one(const char *path)
{
    FILE *file = fopen(path, "re");
    int first = file ? fgetc(file) : EOF;

    if (file)
        fclose(file);
    return first != EOF && first != '0';
}

void netrules_read_host(struct netrules *ruleset)
{
    FILE *file = fopen("/proc/net/if_inet6", "re");
    int one = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct netrules_kernel *kernel = &ruleset->kernel;
    struct utsname name;
    char line[LINE_SIZE];
    unsigned scope;

    for (struct netrules_link *link = ruleset->links; link && one >= 0; link = link->next)
        read_features(link, one);
    if (one >= 0)
        close(one);
    ruleset->forwards_ipv4 = is_one("/proc/sys/net/ipv4/ip_forward");
    ruleset->forwards_ipv6 = is_one("/proc/sys/net/ipv6/conf/all/forwarding");
    while (file && fgets(line, sizeof(line), file)) /* an address beyond link and host has scope 00 (global) */
        ruleset->has_ipv6 |= sscanf(line, "%*s %*x %*x %x", &scope) == 1 && scope == 0;
    if (file)
        fclose(file);
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u.%u", &kernel->major, &kernel->minor, &kernel->patch) < 2)
        *kernel = (struct netrules_kernel){ .major = 0 };
}
