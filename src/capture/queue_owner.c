/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the process that has a queue. The kernel reports only the netlink port id; /proc/net/netlink maps it to the
 * inode of a socket, and the file descriptors of all processes map the inode to a process. Reading these needs
 * CAP_SYS_PTRACE, which the supervisor gives up. Without CAP_SYS_PTRACE the port id is assumed to be the process id,
 * because the kernel gives the first netlink socket of a process its process id as port id. This runs once, when a
 * queue cannot be bound, to report a name instead of a number.
 */
#include "queue_owner.h"

#include <dirent.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sluice/text.h"

enum { NAME_SIZE = 32, PATH_SIZE = 64 };
enum { FIELD_PROTOCOL = 1, FIELD_PORT = 2, FIELD_INODE = 9, SOCKET_FIELDS };

/* Returns the inode of the netfilter socket with this port id; 0: none. The columns of /proc/net/netlink are sk Eth Pid
 * Groups Rmem Wmem Dump Locks Drops Inode. */
static unsigned long find_inode(uint32_t port_id)
{
    static const char blanks[] = " \n";
    FILE *file = fopen("/proc/thread-self/net/netlink", "re");
    unsigned long found = 0;
    char line[256], *rest;

    if (!file)
        return 0;
    while (!found && fgets(line, sizeof(line), file)) {
        uint64_t fields[SOCKET_FIELDS] = { 0 };
        char *word = strtok_r(line, blanks, &rest);
        unsigned i = 0;

        for (; i < SOCKET_FIELDS && word; i++, word = strtok_r(NULL, blanks, &rest)) {
            bool is_read = i == FIELD_PROTOCOL || i == FIELD_PORT || i == FIELD_INODE;

            if (is_read && !text_to_uint(word, strlen(word), 0, UINT64_MAX, &fields[i]))
                break; /* the first line has the names of the columns */
        }
        if (i == SOCKET_FIELDS && fields[FIELD_PROTOCOL] == NETLINK_NETFILTER && fields[FIELD_PORT] == port_id)
            found = (unsigned long)fields[FIELD_INODE];
    }
    fclose(file);
    return found;
}

/* Whether the process has a descriptor whose link in /proc/PID/fd is `link`, for example "socket:[4711]". */
static bool has_descriptor(const char *pid, const char *link)
{
    char path[PATH_SIZE], target[PATH_SIZE];
    bool found = false;

    snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);

    DIR *dir = opendir(path);

    if (!dir)
        return false;
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        ssize_t length = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

        if (length < 0)
            continue;
        target[length] = '\0';
        found = strcmp(target, link) == 0;
    }
    closedir(dir);
    return found;
}

static void read_name(const char *pid, char out[NAME_SIZE])
{
    char path[PATH_SIZE];

    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    snprintf(out, NAME_SIZE, "?");

    FILE *file = fopen(path, "re");

    if (!file)
        return;
    if (fgets(out, NAME_SIZE, file))
        out[strcspn(out, "\n")] = '\0';
    fclose(file);
}

/* Describes the process that has a descriptor of the socket with this inode. Returns false if none was found. */
static bool describe_holder(unsigned long inode, char out[QUEUE_OWNER_SIZE])
{
    char link[PATH_SIZE], name[NAME_SIZE];
    DIR *dir = opendir("/proc");
    bool found = false;

    if (!dir)
        return false;
    snprintf(link, sizeof(link), "socket:[%lu]", inode);
    for (struct dirent *entry; !found && (entry = readdir(dir));) {
        const char *pid = entry->d_name;

        if (pid[strspn(pid, "0123456789")] != '\0' || !has_descriptor(pid, link))
            continue;
        found = true;
        read_name(pid, name);
        snprintf(out, QUEUE_OWNER_SIZE, "process %.16s (%s)", pid, name);
    }
    closedir(dir);
    return found;
}

void queue_owner_describe(uint32_t port_id, char out[QUEUE_OWNER_SIZE])
{
    unsigned long inode = find_inode(port_id);
    char pid[16], name[NAME_SIZE];

    if (inode && describe_holder(inode, out))
        return;
    snprintf(pid, sizeof(pid), "%" PRIu32, port_id);
    read_name(pid, name);
    if (inode && strcmp(name, "?") != 0)
        snprintf(out, QUEUE_OWNER_SIZE, "process %s (%s), as its netlink port id suggests", pid, name);
    else
        snprintf(out, QUEUE_OWNER_SIZE, "another process (netlink port id %s)", pid);
}
