/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures round trips of UDP packets, one at a time, and prints each time in microseconds on a line. (The tool of the
 * bench harness prints only a few percentiles, but the plot needs the distribution.)
 *
 *     round_trips ADDRESS PORT COUNT INTERVAL_MICROSECONDS
 *
 * A server at ADDRESS must echo the packets. A packet without a reply after 200 ms is lost; stderr gets their number.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PAYLOAD = 64, GIVE_UP_MICROSECONDS = 200000 };

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t when_ns)
{
    struct timespec when = { .tv_sec = (time_t)(when_ns / 1000000000), .tv_nsec = (long)(when_ns % 1000000000) };

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

static int open_socket(const char *address, const char *port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
    struct timeval give_up = { .tv_usec = GIVE_UP_MICROSECONDS };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &give_up, sizeof(give_up))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Returns whether the packet came back in time. Late replies to earlier packets are skipped. */
static bool round_trip(int fd, uint32_t number)
{
    char packet[PAYLOAD] = { 0 }, answer[PAYLOAD];
    uint32_t got;

    memcpy(packet, &number, sizeof(number));
    if (send(fd, packet, sizeof(packet), 0) != sizeof(packet))
        return false;
    do {
        if (recv(fd, answer, sizeof(answer), 0) < (ssize_t)sizeof(got))
            return false;
        memcpy(&got, answer, sizeof(got));
    } while (got != number);
    return true;
}

int main(int argc, char **argv)
{
    int fd = argc == 5 ? open_socket(argv[1], argv[2]) : -1;
    unsigned lost = 0;

    if (fd < 0) {
        fprintf(stderr, "round_trips ADDRESS PORT COUNT INTERVAL_MICROSECONDS\n");
        return 1;
    }
    uint32_t count = (uint32_t)strtoul(argv[3], NULL, 10);
    uint64_t interval_ns = strtoul(argv[4], NULL, 10) * 1000, next = now_ns();

    for (uint32_t i = 0; i < count; i++) {
        next += interval_ns;
        sleep_until(next);
        uint64_t sent = now_ns();

        if (round_trip(fd, i))
            printf("%.1f\n", (double)(now_ns() - sent) / 1e3);
        else
            lost++;
        if (now_ns() > next + interval_ns)
            next = now_ns();
    }
    close(fd);
    fprintf(stderr, "%u lost\n", lost);
    return 0;
}
