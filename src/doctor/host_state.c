/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of the host from netlink, /proc and SIOCETHTOOL.
 *
 * The process that listens on a queue is found in three steps: the kernel reports the port id of the queue's netlink
 * socket, /proc/net/netlink lists the inode of that socket, and a link in /proc/PID/fd names the inode. A process in
 * another pid namespace is not found, so its listener has no name.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "doctor_priv.h"
#include "sluice/netlink_session.h"

enum {
    /* maximum number of attempts to dump links and routing rules while changes interrupt the dump (-EINTR) */
    TRIES = 32,
    LINE_SIZE = 512,
    MAX_LISTENERS = 4096,
    MAX_SOCKETS = 256,
    NAME_SIZE = 64,
    FILES_OF_A_PROCESS = 65536,
};
/* IFLA_GSO_IPV4_MAX_SIZE and IFLA_GRO_IPV4_MAX_SIZE, which headers before Linux 6.3 lack */
enum { GSO_IPV4_MAX_SIZE = 63, GRO_IPV4_MAX_SIZE = 64 };

struct doctor_host *doctor_host_new(void)
{
    struct arena *arena = arena_new(0);
    struct doctor_host *host = arena ? arena_alloc(arena, sizeof(*host)) : NULL;

    if (!host) {
        arena_free(arena);
        return NULL;
    }
    *host = (struct doctor_host){ .arena = arena };
    return host;
}

void doctor_host_free(struct doctor_host *host)
{
    if (host)
        arena_free(host->arena);
}

/* --- Listeners of queues ----------------------------------------------------------------------------- */

int doctor_host_add_listener(struct doctor_host *host, const char *line)
{
    unsigned queue, port, waiting, mode, range, full, refused, delivered;
    struct doctor_listener *listener, **link = &host->listeners;

    if (sscanf(line, "%u %u %u %u %u %u %u %u", &queue, &port, &waiting, &mode, &range, &full, &refused, &delivered) !=
            8 ||
        queue > UINT16_MAX)
        return 0;
    listener = arena_alloc(host->arena, sizeof(*listener));
    if (!listener)
        return -ENOMEM;
    *listener = (struct doctor_listener){
        .queue = (uint16_t)queue, .port = port, .waiting = waiting, .dropped = full + refused, .delivered = delivered
    };
    while (*link)
        link = &(*link)->next;
    *link = listener;
    return 0;
}

/* --- Processes -------------------------------------------------------------------------------------- */

struct inode_of_port {
    uint32_t port;
    unsigned long inode;
};

/* Reads the inodes of the netlink sockets whose port ids belong to listeners of queues. Returns their number. */
static size_t read_inodes(const struct doctor_host *host, struct inode_of_port out[MAX_SOCKETS])
{
    FILE *file = fopen("/proc/net/netlink", "re");
    char line[LINE_SIZE];
    size_t count = 0;

    while (file && count < MAX_SOCKETS && fgets(line, sizeof(line), file)) {
        const struct doctor_listener *listener = host->listeners;
        unsigned protocol, port;
        unsigned long inode;

        if (sscanf(line, "%*s %u %u %*s %*s %*s %*s %*s %*s %lu", &protocol, &port, &inode) != 3 ||
            protocol != NETLINK_NETFILTER)
            continue;
        while (listener && listener->port != port)
            listener = listener->next;
        if (listener)
            out[count++] = (struct inode_of_port){ port, inode };
    }
    if (file)
        fclose(file);
    return count;
}

/* Stores the id and name of the process in each listener whose socket the process has open. Returns 0 or -ENOMEM. */
static int find_sockets(struct doctor_host *host, const char *process, const struct inode_of_port *inodes, size_t count)
{
    char path[NAME_SIZE], target[NAME_SIZE], line[NAME_SIZE];
    const struct dirent *entry;
    const char *name = NULL;
    unsigned files = 0;
    int err = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%.20s/fd", process);
    folder = opendir(path);
    while (folder && !err && files++ < FILES_OF_A_PROCESS && (entry = readdir(folder))) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        unsigned long inode;
        size_t i = 0;

        target[length > 0 ? length : 0] = '\0';
        if (sscanf(target, "socket:[%lu]", &inode) != 1)
            continue;
        while (i < count && inodes[i].inode != inode)
            i++;
        if (i == count)
            continue;
        if (!name) { /* read the name of the process when its first socket is found */
            FILE *file;

            snprintf(path, sizeof(path), "/proc/%.20s/comm", process);
            file = fopen(path, "re");
            if (!file || !fgets(line, sizeof(line), file))
                line[0] = '\0';
            if (file)
                fclose(file);
            name = arena_strndup(host->arena, line, strcspn(line, "\n"));
            err = name ? 0 : -ENOMEM;
        }
        for (struct doctor_listener *listener = host->listeners; listener && name; listener = listener->next) {
            if (listener->port != inodes[i].port || listener->process)
                continue;
            listener->process = (uint32_t)strtoul(process, NULL, 10);
            listener->name = *name ? name : NULL;
        }
    }
    if (folder)
        closedir(folder);
    return err;
}

static int read_listeners(struct doctor_host *host)
{
    FILE *file = fopen("/proc/net/netfilter/nfnetlink_queue", "re");
    struct inode_of_port inodes[MAX_SOCKETS];
    const struct dirent *entry;
    char line[LINE_SIZE];
    size_t count;
    int err = 0;
    DIR *folder;

    for (int i = 0; file && i < MAX_LISTENERS && !err && fgets(line, sizeof(line), file); i++)
        err = doctor_host_add_listener(host, line);
    if (file)
        fclose(file);
    count = read_inodes(host, inodes);
    folder = count ? opendir("/proc") : NULL;
    while (folder && !err && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]))
            err = find_sockets(host, entry->d_name, inodes, count);
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

/* Sets link->merges_udp from the interface's features, which are found by name. If the driver does not support the
 * request, link->merges_udp stays false. */
static void read_features(struct doctor_link *link, int socket)
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

/* --- Policy routing and links ----------------------------------------------------------------------- */

/* Reads a 32-bit attribute in host byte order. Returns false if the attribute has another type. */
static bool read_u32(const struct nlattr *attribute, uint16_t type, uint32_t *out)
{
    if (mnl_attr_get_type(attribute) != type || mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
        return false;
    *out = mnl_attr_get_u32(attribute);
    return true;
}

static int add_route(struct doctor_host *host, const struct nlmsghdr *message)
{
    const struct fib_rule_hdr *head = mnl_nlmsg_get_payload(message);
    const struct nlattr *attribute;
    struct doctor_route *route, **link = &host->routes;
    bool marked = false;

    if (mnl_nlmsg_get_payload_len(message) < sizeof(*head))
        return -EBADMSG;
    route = arena_alloc(host->arena, sizeof(*route));
    if (!route)
        return -ENOMEM;
    *route = (struct doctor_route){ .ipv6 = head->family == AF_INET6, .mask = UINT32_MAX, .table = head->table };
    mnl_attr_for_each(attribute, message, sizeof(*head))
    {
        marked |= read_u32(attribute, FRA_FWMARK, &route->mark);
        read_u32(attribute, FRA_FWMASK, &route->mask);
        read_u32(attribute, FRA_PRIORITY, &route->priority);
        read_u32(attribute, FRA_TABLE, &route->table);
    }
    if (!marked)
        return 0;
    route->text = arena_printf(host->arena, "ip%s rule %u: %sfwmark 0x%x/0x%x lookup %u", route->ipv6 ? " -6" : "",
                               route->priority, head->flags & FIB_RULE_INVERT ? "not " : "", route->mark, route->mask,
                               route->table);
    while (*link)
        link = &(*link)->next;
    *link = route;
    return route->text ? 0 : -ENOMEM;
}

static int add_link(struct doctor_host *host, const struct nlmsghdr *message)
{
    const struct ifinfomsg *head = mnl_nlmsg_get_payload(message);
    const struct nlattr *attribute;
    struct doctor_link *link, **last = &host->links;

    if (mnl_nlmsg_get_payload_len(message) < sizeof(*head))
        return -EBADMSG;
    if (head->ifi_flags & IFF_LOOPBACK || !(head->ifi_flags & IFF_UP))
        return 0;
    link = arena_alloc(host->arena, sizeof(*link));
    if (!link)
        return -ENOMEM;
    *link = (struct doctor_link){ .name = NULL };
    mnl_attr_for_each(attribute, message, sizeof(*head))
    {
        uint32_t size = 0;

        if (mnl_attr_get_type(attribute) == IFLA_IFNAME && mnl_attr_get_payload_len(attribute) > 0)
            link->name = arena_printf(host->arena, "%.*s", (int)mnl_attr_get_payload_len(attribute),
                                      (const char *)mnl_attr_get_payload(attribute));
        if ((read_u32(attribute, IFLA_GRO_MAX_SIZE, &size) || read_u32(attribute, GRO_IPV4_MAX_SIZE, &size)) &&
            size > link->receive_size)
            link->receive_size = size;
        if ((read_u32(attribute, IFLA_GSO_MAX_SIZE, &size) || read_u32(attribute, GSO_IPV4_MAX_SIZE, &size)) &&
            size > link->send_size)
            link->send_size = size;
    }
    if (!link->name)
        return 0;
    while (*last)
        last = &(*last)->next;
    *last = link;
    return 0;
}

int doctor_host_add_message(struct doctor_host *host, const void *bytes, size_t length)
{
    const struct nlmsghdr *message = bytes;

    if (length > INT32_MAX || !mnl_nlmsg_ok(message, (int)length))
        return -EBADMSG;
    return message->nlmsg_type == RTM_NEWLINK   ? add_link(host, message)
           : message->nlmsg_type == RTM_NEWRULE ? add_route(host, message)
                                                : -EBADMSG;
}

static int handle_message(const struct nlmsghdr *message, void *user)
{
    return netlink_callback_result(doctor_host_add_message(user, message, message->nlmsg_len));
}

static int read_routes_and_links(struct doctor_host *host)
{
    static const uint8_t families[] = { AF_INET, AF_INET6 };
    struct netlink_session session;
    const struct nlmsghdr *request;
    int err = netlink_session_open(&session, NETLINK_ROUTE);

    if (err)
        return err;
    for (size_t i = 0; i < sizeof(families) && !err; i++) {
        request = netlink_session_request(&session, RTM_GETRULE, NLM_F_DUMP, families[i], sizeof(struct fib_rule_hdr));
        err = netlink_session_query(&session, request, handle_message, host);
        if (err == -EOPNOTSUPP || err == -EAFNOSUPPORT) /* the kernel lacks policy routing */
            err = 0;
    }
    if (!err) {
        request = netlink_session_request(&session, RTM_GETLINK, NLM_F_DUMP, AF_UNSPEC, sizeof(struct ifinfomsg));
        err = netlink_session_query(&session, request, handle_message, host);
    }
    netlink_session_close(&session);
    return err;
}

/* --- Connections ------------------------------------------------------------------------------------ */

struct counting {
    uint32_t mark, mask;
    uint64_t count;
};

/* Counts a connection if its mark matches. The kernel filters by the mark; kernels that do not support the filter send
 * all connections. */
static int count_connection(const struct nlmsghdr *message, void *user)
{
    struct counting *counting = user;
    const struct nlattr *attribute;
    uint32_t mark = 0;

    mnl_attr_for_each(attribute, message, sizeof(struct nfgenmsg)) read_u32(attribute, CTA_MARK, &mark);
    counting->count += (ntohl(mark) & counting->mask) == counting->mark;
    return MNL_CB_OK;
}

int doctor_count_connections(uint32_t mark, uint32_t mask, uint64_t *out)
{
    struct counting counting = { .mark = mark & mask, .mask = mask };
    struct nlmsghdr *message;
    struct netlink_session session;
    int err = 0;

    if (access("/proc/sys/net/netfilter/nf_conntrack_count", F_OK) == 0) {
        err = netlink_session_open(&session, NETLINK_NETFILTER);
        if (err)
            return err;
        message = netlink_session_request(&session, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, NLM_F_DUMP,
                                          AF_UNSPEC, sizeof(struct nfgenmsg));
        mnl_attr_put_u32(message, CTA_MARK, htonl(counting.mark));
        mnl_attr_put_u32(message, CTA_MARK_MASK, htonl(mask));
        err = netlink_session_query(&session, message, count_connection, &counting);
        netlink_session_close(&session);
    }
    /* ignore the errors of a kernel without connection marks, and changes of the table during the dump */
    if (err && err != -EOPNOTSUPP && err != -EINVAL && err != -EINTR)
        return err;
    *out = counting.count;
    return 0;
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

int doctor_host_read(struct doctor_host **out)
{
    struct doctor_host *host = NULL;
    struct doctor_kernel *kernel;
    struct utsname name;
    char line[LINE_SIZE];
    unsigned scope;
    FILE *file;
    int err = -EINTR, one;

    for (int i = 0; i < TRIES && err == -EINTR; i++) {
        doctor_host_free(host);
        host = doctor_host_new();
        err = host ? read_routes_and_links(host) : -ENOMEM;
    }
    if (!err)
        err = read_listeners(host);
    if (err) {
        doctor_host_free(host);
        return err;
    }
    one = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (struct doctor_link *link = host->links; link && one >= 0; link = link->next)
        read_features(link, one);
    if (one >= 0)
        close(one);
    host->forwards_ipv4 = is_one("/proc/sys/net/ipv4/ip_forward");
    host->forwards_ipv6 = is_one("/proc/sys/net/ipv6/conf/all/forwarding");
    file = fopen("/proc/net/if_inet6", "re");
    /* scope 00 is a global address, not a link-local or loopback one */
    while (file && fgets(line, sizeof(line), file))
        host->has_ipv6 |= sscanf(line, "%*s %*x %*x %x", &scope) == 1 && scope == 0;
    if (file)
        fclose(file);
    kernel = &host->kernel;
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u.%u", &kernel->major, &kernel->minor, &kernel->patch) < 2)
        *kernel = (struct doctor_kernel){ .major = 0 };
    *out = host;
    return 0;
}
