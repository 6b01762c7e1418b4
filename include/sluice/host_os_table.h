/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which operating system treats overlapping fragments and segments how, by the address of the receiver: the setting
 * host-os-policy as a table.
 */
#ifndef SLUICE_HOST_OS_TABLE_H
#define SLUICE_HOST_OS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/host_os.h"

struct config;
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

/* host-os-policy of a configuration; -EINVAL after a report. */
int host_os_table_parse(struct host_os_table *out, const struct config *config, struct diag *diag);
/* The table must live as long, where it is. */
struct host_os_policy host_os_table_policy(const struct host_os_table *table);

#endif
