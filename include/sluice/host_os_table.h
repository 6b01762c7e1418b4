/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The setting host-os-policy: the operating system of receivers by address, which decides how overlapping fragments and
 * segments are reassembled. */
#ifndef SLUICE_HOST_OS_TABLE_H
#define SLUICE_HOST_OS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/config.h"
#include "sluice/host_os.h"

struct diag;

enum { HOST_OS_MAX_NETWORKS = 1024 };

struct host_network {
    struct address network;
    uint8_t version, prefix;
    uint8_t os; /* enum host_os */
};

struct host_os_table {
    size_t count;
    struct host_network networks[HOST_OS_MAX_NETWORKS];
};

/* host-os-policy.*: lists of addresses and networks. */
struct host_os_options {
    const char *const *networks[HOST_OS_COUNT];
};
extern const struct setting host_os_settings[];

/* Reads host-os-policy. Returns 0, or -EINVAL after a report to `diag`. */
int host_os_table_parse(struct host_os_table *out, const struct config *config, struct diag *diag);
/* Returns a policy that refers to the table, which must outlive it and not move. */
struct host_os_policy host_os_table_policy(const struct host_os_table *table);

#endif
