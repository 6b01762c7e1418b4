/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of metrics.listen. */
#ifndef SLUICE_METRICS_PRIV_H
#define SLUICE_METRICS_PRIV_H

#include <sys/socket.h>

#include "sluice/metrics.h"

struct metrics_address {
    struct sockaddr_storage socket;
    socklen_t length;
    bool loopback; /* only this host can connect: a loopback address or a Unix socket */
};

/* Returns 0, or -EINVAL if `text` is neither ADDRESS:PORT nor an absolute path that fits into an address. */
int metrics_parse_address(const char *text, struct metrics_address *out);

#endif
