/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Country lookup for the keyword geoip, with a MaxMind database (GeoLite2-Country or compatible).
 *
 * Threads: opened by one thread, then read by all; a lookup neither allocates nor locks. The file is mapped into
 * memory.
 */
#ifndef SLUICE_GEOIP_H
#define SLUICE_GEOIP_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/address.h"
#include "sluice/ranges.h"

struct geoip;

/* Opens a database. Returns 0, -ENOMEM, or -EINVAL with a message in `error` when the file cannot be opened as a
 * country database. */
int geoip_open(struct geoip **out, const char *path, char *error, size_t error_size);
void geoip_close(struct geoip *geoip); /* NULL is allowed */

/* Writes the ISO 3166-1 alpha-2 code ("DE") of the address's country. Returns false when the database has none. */
bool geoip_country(const struct geoip *geoip, int ip_version, const struct address *address, char country[3]);

/* Calls `each` for every network in the database that has a country: IPv4 networks first, each once although databases
 * repeat them as parts of IPv6. Ends when a call returns other than 0. Returns 0, the value of that call, or -EINVAL
 * when the database is damaged. */
int geoip_each_network(const struct geoip *geoip,
                       int (*each)(int ip_version, const struct range *range, const char *country, void *user),
                       void *user);

#endif
