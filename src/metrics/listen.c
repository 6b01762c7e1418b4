/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the socket of metrics.listen. */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "metrics_priv.h"

enum { BACKLOG = 16 };

int metrics_parse_address(const char *text, struct metrics_address *out)
{
    struct sockaddr_un *local = (struct sockaddr_un *)&out->socket;
    struct sockaddr_in *v4 = (struct sockaddr_in *)&out->socket;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->socket;
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN + 2];
    uint64_t port;

    memset(out, 0, sizeof(*out));
    if (text[0] == '/') {
        if (strlen(text) >= sizeof(local->sun_path))
            return -EINVAL;
        local->sun_family = AF_UNIX;
        strcpy(local->sun_path, text);
        out->length = sizeof(*local);
        out->loopback = true;
        return 0;
    }
    if (!colon || (size_t)(colon - text) >= sizeof(host) ||
        !text_to_uint(colon + 1, strlen(colon + 1), 1, 65535, &port))
        return -EINVAL;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
        out->length = sizeof(*v4);
        out->loopback = ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        return 0;
    }
    if (host[0] != '[' || colon[-1] != ']')
        return -EINVAL;
    host[strlen(host) - 1] = '\0';
    if (inet_pton(AF_INET6, host + 1, &v6->sin6_addr) != 1)
        return -EINVAL;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)port);
    out->length = sizeof(*v6);
    out->loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    return 0;
}

static int set_error(char error[METRICS_ERROR_SIZE], const char *listen, int err, const char *what)
{
    snprintf(error, METRICS_ERROR_SIZE, "metrics.listen: %s: %s: %s", listen, what, strerror(-err));
    return err;
}

/* Removes the Unix socket of a process that has died; one on which a process listens stays, so that bind() fails. */
static void remove_stale(const struct metrics_address *address)
{
    const char *path = ((const struct sockaddr_un *)&address->socket)->sun_path;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat status;

    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&address->socket, address->length) && errno == ECONNREFUSED &&
        lstat(path, &status) == 0 && S_ISSOCK(status.st_mode))
        unlink(path);
    close(fd);
}

int metrics_listen(const struct metrics_options *options, char error[METRICS_ERROR_SIZE])
{
    const struct group *group = options->group ? getgrnam(options->group) : NULL;
    bool is_local = options->listen[0] == '/';
    struct metrics_address address;
    int fd, err, on = 1;
    mode_t before;

    if (metrics_parse_address(options->listen, &address))
        return set_error(error, options->listen, -EINVAL, "neither ADDRESS:PORT nor an absolute path");
    if (!address.loopback && !options->allow_remote) {
        snprintf(
            error, METRICS_ERROR_SIZE,
            "metrics.listen: other hosts can reach %s, and whoever does reads all counters; use 127.0.0.1 or a Unix "
            "socket, or set metrics.allow-remote to yes",
            options->listen);
        return -EPERM;
    }
    if (options->group && !group) {
        snprintf(error, METRICS_ERROR_SIZE,
                 "metrics.group: the group '%s' does not exist; create it or correct the name", options->group);
        return -ENOENT;
    }
    fd = socket(address.socket.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return set_error(error, options->listen, -errno, "cannot create a socket");
    if (is_local)
        remove_stale(&address);
    else
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    before = umask(0177); /* no connections before mode and group are set */
    err = bind(fd, (const struct sockaddr *)&address.socket, address.length) ? -errno : 0;
    umask(before);
    if (err) {
        close(fd);
        return set_error(error, options->listen, err, "cannot listen");
    }
    if ((is_local && group && chown(options->listen, (uid_t)-1, group->gr_gid)) ||
        (is_local && chmod(options->listen, options->mode)) || listen(fd, BACKLOG)) {
        err = set_error(error, options->listen, -errno, "cannot set group or mode, or listen");
        if (is_local)
            unlink(options->listen);
        close(fd);
        return err;
    }
    return fd;
}
