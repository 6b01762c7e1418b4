/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a MaxMind database of a few networks, for tests (MaxMind DB File Format 2.0): a binary tree over 128 bits with
 * IPv4 below ::/96, the values, and the metadata.
 */
#ifndef TEST_COUNTRY_DATABASE_H
#define TEST_COUNTRY_DATABASE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/address.h"

enum { DATABASE_MAX_NODES = 4096, DATABASE_MAX_VALUES = 1024 };

/* A child of a node is 0 (none), the number of a node (> 0), or a value (-1 - offset). */
struct country_database {
    int32_t nodes[DATABASE_MAX_NODES][2];
    uint32_t node_count;
    uint8_t values[DATABASE_MAX_VALUES];
    uint32_t values_length;
};

struct country_database *country_database_new(void);

void country_database_add(struct country_database *database, const char *network, unsigned prefix, const char *code,
                          bool country);

void country_database_write(struct country_database *database, const char *path);

#endif
