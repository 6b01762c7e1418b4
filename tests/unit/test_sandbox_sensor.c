/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sandbox of a sensor, whose process and workers may open packet sockets. Each row is an operation in a process of
 * its own, because a sandbox cannot be left.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/sandbox.h"

enum { NO_SANDBOX = 250 };

/* --- Operations: return 0 or an errno ------------------------------------------------------------- */

static int open_socket(int family, int type, int protocol)
{
    int fd = socket(family, type | SOCK_CLOEXEC, protocol), err = fd < 0 ? errno : 0;

    if (fd >= 0)
        close(fd);
    return err;
}

/* Uses a packet socket as a ring does. */
static int capture(void)
{
    const int version = TPACKET_V3;
    const struct sockaddr_ll any = { .sll_family = AF_PACKET };
    struct tpacket_req3 request = {
        .tp_block_size = 1 << 16, .tp_block_nr = 2, .tp_frame_size = 2048, .tp_frame_nr = 64, .tp_retire_blk_tov = 10
    };
    struct tpacket_stats_v3 statistics;
    struct sockaddr_ll address;
    struct ifreq name = { .ifr_name = "lo" };
    socklen_t size = sizeof(address), statistics_size = sizeof(statistics);
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    void *map;

    if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
        setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)))
        return errno;
    map = mmap(NULL, 2 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED || ioctl(fd, SIOCGIFINDEX, &name) || ioctl(fd, SIOCGIFHWADDR, &name) ||
        ioctl(fd, SIOCGIFFLAGS, &name) || ioctl(fd, SIOCGIFMTU, &name) ||
        bind(fd, (const struct sockaddr *)&any, sizeof(any)) || getsockname(fd, (struct sockaddr *)&address, &size) ||
        getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &statistics_size) || munmap(map, 2 << 16))
        return errno;
    close(fd);
    return 0;
}

static int set_interface_down(void)
{
    struct ifreq request = { .ifr_name = "lo" };
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return errno;
    return ioctl(fd, SIOCSIFFLAGS, &request) ? errno : 0;
}

static int open_raw(void)
{
    return open_socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
}

static int open_stream(void)
{
    return open_socket(AF_INET, SOCK_STREAM, 0);
}

static int open_netfilter(void)
{
    return open_socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
}

static int open_file(void)
{
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0;
}

static int map_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : 0;
}

static const struct {
    const char *name;
    int (*attempt)(void);
    bool worker;
    int wanted;
} rows[] = {
    { "a worker captures", capture, true, 0 },
    { "the process captures", capture, false, 0 },
    { "a worker changes no interface", set_interface_down, true, EPERM },
    { "a worker has no raw socket", open_raw, true, EPERM },
    { "a worker has no TCP", open_stream, true, EPERM },
    { "a worker has no netfilter", open_netfilter, true, EPERM },
    { "a worker opens no file", open_file, true, EPERM },
    { "a worker maps no code", map_code, true, EPERM },
    { "the process changes no interface", set_interface_down, false, EPERM },
    { "the process has no raw socket", open_raw, false, EPERM },
};

START_TEST(sensor)
{
    const struct sandbox_options options = { .seccomp = true, .packet_sockets = true };
    int status, privileged = open_socket(AF_PACKET, SOCK_RAW, 0) == 0;
    pid_t pid;

    /* Without CAP_NET_RAW the kernel refuses packet sockets, as the filter would: the row proves nothing. */
    if (rows[_i].attempt == capture && !privileged)
        return;
    pid = fork();
    if (pid == 0) {
        char error[SANDBOX_ERROR_SIZE];
        struct sandbox *sandbox = NULL;
        const struct sandbox_status *state;

        if (sandbox_enter(&sandbox, &options, error))
            _exit(NO_SANDBOX);
        state = sandbox_status(sandbox);
        if (!state->net_raw_only || state->net_admin_only || state->seccomp <= 0 ||
            (rows[_i].worker && sandbox_enter_worker(sandbox)))
            _exit(NO_SANDBOX);
        _exit(rows[_i].attempt());
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == rows[_i].wanted, "%s: status %x, wanted %d",
                  rows[_i].name, (unsigned)status, rows[_i].wanted);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sandbox_sensor");
    TCase *walls = tcase_create("walls");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(walls, sensor, 0, sizeof(rows) / sizeof(rows[0]));
    suite_add_tcase(suite, walls);
    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
