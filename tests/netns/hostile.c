/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into the daemon: makes an engine behave as if an attacker had taken it over. When a file $HOSTILE/NAME
 * exists, the engine's main thread removes it and runs the attack NAME on the supervisor: on the memory and the channel
 * that both processes share, and on the sockets of the queues.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice/supervisor_channel.h"

enum { MAX_FD = 256 };

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size);

static int find_channel(void)
{
    for (int fd = 3; fd < MAX_FD; fd++) {
        int type = 0, domain = 0;
        socklen_t size = sizeof(type);

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET &&
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX)
            return fd;
    }
    return -1;
}

/* All words of the shared memory, and the file behind it is cut, if that is possible. */
static void spoil_memory(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long from, to;
    char line[512];

    while (maps && fgets(line, sizeof(line), maps)) {
        if (strstr(line, "memfd:sluice-supervisor") && sscanf(line, "%lx-%lx", &from, &to) == 2)
            memset((void *)from, 0xff, to - from);
    }
    for (int fd = 3; fd < MAX_FD; fd++) {
        if (fcntl(fd, F_GET_SEALS) >= 0 && ftruncate(fd, 0) == 0)
            fprintf(stderr, "hostile: a memory file was cut\n");
    }
    raise(SIGSEGV);
}

static void send_bytes(int fd, const void *bytes, size_t length, unsigned files, int file, int flags)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(64 * sizeof(int))];
    } space = { .bytes = { 0 } };
    struct iovec vector = { .iov_base = (void *)bytes, .iov_len = length };
    struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };

    if (files > 0) {
        header.msg_control = space.bytes;
        header.msg_controllen = CMSG_SPACE(files * sizeof(int));
        space.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                         .cmsg_type = SCM_RIGHTS,
                                         .cmsg_len = CMSG_LEN(files * sizeof(int)) };
        for (unsigned i = 0; i < files; i++)
            memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)) + i * sizeof(int), &file, sizeof(int));
    }
    sendmsg(fd, &header, MSG_NOSIGNAL | flags);
}

/* Valid messages of one kind, without an end. */
static void flood(enum channel_kind kind)
{
    const struct channel_message message = { .version = CHANNEL_VERSION, .kind = (uint16_t)kind };
    int channel = find_channel();

    for (;;)
        send_bytes(channel, &message, sizeof(message), 0, -1, 0);
}

/* Messages that are none, with descriptors, some of which could block who closes them. */
static void send_garbage(void)
{
    struct channel_message message;
    int channel = find_channel();

    for (unsigned i = 0;; i++) {
        memset(&message, (int)(i * 37), sizeof(message));
        message.version = i % 3 ? CHANNEL_VERSION : (uint16_t)i;
        message.kind = (uint16_t)(i % 40);
        send_bytes(channel, &message, i % 5 ? sizeof(message) : i % sizeof(message), i % 64, i % 2 ? channel : 2, 0);
    }
}

/* Files that nobody asked for. */
static void send_files(void)
{
    struct channel_message message = { .version = CHANNEL_VERSION, .kind = CHANNEL_FILE };
    int channel = find_channel();

    for (int i = 0; i < 600; i++) {
        message.value = i;
        send_bytes(channel, &message, sizeof(message), 1, 2, 0);
    }
    raise(SIGSEGV);
}

/* It gives up the queues, and lets the next engine read nothing from their sockets. */
static void spoil_queues(void)
{
    struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    const struct sock_fprog program = { .len = 1, .filter = &nothing };
    int one = 1;

    for (int fd = 3; fd < MAX_FD; fd++) {
        struct {
            struct nlmsghdr head;
            struct nfgenmsg netfilter;
            struct nlattr attribute;
            struct nfqnl_msg_config_cmd command;
        } message = {
            .head = { .nlmsg_len = sizeof(message),
                      .nlmsg_type = NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_CONFIG,
                      .nlmsg_flags = NLM_F_REQUEST },
            .netfilter = { .version = NFNETLINK_V0 },
            .attribute = { .nla_len = NLA_HDRLEN + sizeof(struct nfqnl_msg_config_cmd), .nla_type = NFQA_CFG_CMD },
            .command = { .command = NFQNL_CFG_CMD_UNBIND },
        };

        for (uint16_t queue = 0; queue < 2; queue++) {
            message.netfilter.res_id = htons(queue);
            send(fd, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
        setsockopt(fd, SOL_SOCKET, SO_LOCK_FILTER, &one, sizeof(one));
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &one, sizeof(one));
    }
    raise(SIGSEGV);
}

static void close_the_channel(void)
{
    close(find_channel());
    for (;;)
        pause();
}

static int is_ordered(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", getenv("HOSTILE"), name);
    return unlink(path) == 0;
}

static void obey(void)
{
    char name[32] = "";

    if (!getenv("HOSTILE") || prctl(PR_GET_NAME, name) || strcmp(name, "sluice-engine") != 0)
        return;
    if (is_ordered("memory"))
        spoil_memory();
    if (is_ordered("flood"))
        flood(CHANNEL_RELOADED);
    if (is_ordered("upgrades"))
        flood(CHANNEL_UPGRADE);
    if (is_ordered("deaf"))
        flood(CHANNEL_BIND);
    if (is_ordered("garbage"))
        send_garbage();
    if (is_ordered("files"))
        send_files();
    if (is_ordered("queues"))
        spoil_queues();
    if (is_ordered("close"))
        close_the_channel();
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    int (*next)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");

    obey();
    return next(fds, count, timeout);
}

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t size)
{
    (void)size;
    return poll(fds, count, timeout);
}
