/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the listeners of the queues: the kernel reports the port id of a netlink socket, /proc/net/netlink the inode of
 * that socket, and the process is the one that has it open. A process of another pid namespace is not found and has no
 * name.
 */
#include "netrules_priv.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sluice/arena.h"

enum { LINE_SIZE = 512, MAX_HOLDERS = 4096, NAME_SIZE = 64, FILES_OF_A_PROCESS = 65536 };

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
static size_t read_inodes(const struct netrules *ruleset, struct inode_of_port *out, size_t max)
{
    FILE *file = fopen("/proc/net/netlink", "re");
    char line[LINE_SIZE];
    size_t count = 0;

    while (file && count < max && fgets(line, sizeof(line), file)) {
        unsigned protocol, port;
        unsigned long inode;

        if (sscanf(line, "%*s %u %u %*s %*s %*s %*s %*s %*s %lu", &protocol, &port, &inode) != 3 ||
            protocol != NETLINK_NETFILTER)
            continue;
        for (const struct netrules_listener *holder = ruleset->holders; holder; holder = holder->next) {
            if (holder->port != port)
                continue;
            out[count++] = (struct inode_of_port){ port, inode };
            break;
        }
    }
    if (file)
        fclose(file);
    return count;
}

static void read_name(const char *process, char out[NAME_SIZE])
{
    char path[NAME_SIZE * 2];
    FILE *file;

    out[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%.20s/comm", process);
    file = fopen(path, "re");
    if (!file)
        return;
    if (fgets(out, NAME_SIZE, file))
        out[strcspn(out, "\n")] = '\0';
    fclose(file);
}

static int name_holders(struct netrules *ruleset, uint32_t port, const char *process)
{
    char name[NAME_SIZE];
    const char *copy;

    read_name(process, name);
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

/* Returns the inode of an open file that is a socket, 0 for any other file. */
static unsigned long socket_of(int folder, const char *name)
{
    char target[NAME_SIZE];
    ssize_t length = readlinkat(folder, name, target, sizeof(target) - 1);
    unsigned long inode;

    if (length <= 0)
        return 0;
    target[length] = '\0';
    return sscanf(target, "socket:[%lu]", &inode) == 1 ? inode : 0;
}

static int find_sockets(struct netrules *ruleset, const char *process, const struct inode_of_port *inodes, size_t count)
{
    char path[NAME_SIZE * 2];
    const struct dirent *entry;
    unsigned files = 0;
    int err = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "/proc/%.20s/fd", process);
    folder = opendir(path);
    while (folder && !err && files++ < FILES_OF_A_PROCESS && (entry = readdir(folder))) {
        unsigned long inode = socket_of(dirfd(folder), entry->d_name);

        for (size_t i = 0; inode && i < count && !err; i++)
            if (inodes[i].inode == inode)
                err = name_holders(ruleset, inodes[i].port, process);
    }
    if (folder)
        closedir(folder);
    return err;
}

static int find_processes(struct netrules *ruleset)
{
    struct inode_of_port inodes[256];
    size_t count = read_inodes(ruleset, inodes, sizeof(inodes) / sizeof(inodes[0]));
    DIR *folder = count ? opendir("/proc") : NULL;
    const struct dirent *entry;
    int err = 0;

    while (folder && !err && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]))
            err = find_sockets(ruleset, entry->d_name, inodes, count);
    if (folder)
        closedir(folder);
    return err;
}

int netrules_read_holders(struct netrules *ruleset)
{
    FILE *file = fopen("/proc/net/netfilter/nfnetlink_queue", "re");
    char line[LINE_SIZE];
    int err = 0;

    for (int i = 0; file && i < MAX_HOLDERS && !err && fgets(line, sizeof(line), file); i++)
        err = netrules_add_holder(ruleset, line);
    if (file)
        fclose(file);
    return err ? err : find_processes(ruleset);
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

/* Whether there is an address beyond link and host: scope 00 (global) in the fourth field. */
static bool has_global_ipv6(void)
{
    FILE *file = fopen("/proc/net/if_inet6", "re");
    char line[LINE_SIZE];
    bool found = false;
    unsigned scope;

    while (file && !found && fgets(line, sizeof(line), file))
        found = sscanf(line, "%*s %*x %*x %x", &scope) == 1 && scope == 0;
    if (file)
        fclose(file);
    return found;
}

void netrules_read_host(struct netrules *ruleset)
{
    struct netrules_kernel *kernel = &ruleset->kernel;
    struct utsname name;

    ruleset->forwards_ipv4 = is_one("/proc/sys/net/ipv4/ip_forward");
    ruleset->forwards_ipv6 = is_one("/proc/sys/net/ipv6/conf/all/forwarding");
    ruleset->has_ipv6 = has_global_ipv6();
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u.%u", &kernel->major, &kernel->minor, &kernel->patch) < 2)
        *kernel = (struct netrules_kernel){ .major = 0 };
}
