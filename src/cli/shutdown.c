/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice shutdown`: sends SIGTERM to the supervisor of the running daemon. The kernel names the process that listens
 * on the control socket, so the command trusts no answer of the engine. Over the control socket the daemon cannot be
 * stopped: an attacker who has taken over the engine must not be able to end the inspection.
 */
#include "query.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    return query_handle_option(user, option, value);
}

/* Returns the process that listens on the socket, or -errno. */
static pid_t find_listener(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct ucred peer = { .pid = 0 };
    socklen_t size = sizeof(peer);
    pid_t pid;

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        pid = -errno;
    else
        pid = peer.pid > 0 ? peer.pid : -ESRCH; /* 0: a process of another pid namespace */
    close(fd);
    return pid;
}

/* Returns whether the process is a daemon: the command must not end another program that listens on the socket. */
static bool is_daemon(pid_t pid)
{
    char path[64], name[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    if (!fgets(name, sizeof(name), file))
        name[0] = '\0';
    fclose(file);
    return strncmp(name, "sluice", strlen("sluice")) == 0;
}

static int stop(const struct query *query)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char path[QUERY_PATH_SIZE];
    int code = query_socket_path(query, path);
    pid_t pid = -ENAMETOOLONG;

    if (code)
        return code;
    if (strlen(path) < sizeof(address.sun_path)) {
        strcpy(address.sun_path, path);
        pid = find_listener(&address);
    }
    if (pid > 0 && !is_daemon(pid)) {
        cli_error(query->input.command,
                  "process %d, which listens on %s, is no sluice; name the control socket of the daemon with --socket",
                  (int)pid, path);
        return EXIT_FAILED;
    }
    if (pid > 0 && kill(pid, SIGTERM) < 0)
        pid = -errno;
    if (pid < 0) {
        cli_error(query->input.command, "cannot stop the daemon of %s: %s%s", path, strerror(-pid),
                  pid == -ENOENT || pid == -ECONNREFUSED
                      ? " (the daemon does not run, or --socket or --config name another socket)"
                      : "");
        return EXIT_FAILED;
    }
    printf(query->json ? "{\"pid\":%d}\n" : "process %d stops\n", (int)pid);
    return EXIT_OK;
}

static int run_shutdown(int argc, char **argv)
{
    struct query query;
    int code = query_init(&query, &command_shutdown, argc);

    if (code)
        return code;
    code = cli_parse_without_arguments(&command_shutdown, argc, argv, handle_option, &query, &query.input.settings);
    if (code < 0)
        code = stop(&query);
    query_clear(&query);
    return code;
}

const struct command command_shutdown = {
    .name = "shutdown",
    .usage = "[OPTION]...",
    .summary = "Stop the running daemon",
    .help =
        "Sends SIGTERM to the daemon: it inspects the packets that wait, removes the sluice table, and exits with code "
        "0.\n"
        "It may still run for some seconds when the command returns. Needs root, or the user of the daemon. A service\n"
        "manager may start the daemon again: stop the service there.",
    .options = options,
    .run = run_shutdown,
};
