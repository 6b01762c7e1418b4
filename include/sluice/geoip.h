/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The country of an address, out of a MaxMind database (GeoLite2-Country and kin), for the keyword geoip.
 *
 * Threads: opened by one thread, then read by all; a look-up neither allocates nor locks. The file is mapped into
 * memory.
 */
#ifndef SLUICE_GEOIP_H
#define SLUICE_GEOIP_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/address.h"

struct geoip;

/* 0, -ENOMEM, or -EINVAL with a message when the file is no such database. */
int geoip_open(struct geoip **out, const char *path, char *error, size_t error_size);
void geoip_close(struct geoip *geoip); /* NULL is allowed */

/* The ISO 3166 code ("DE") of the country where the address is. False when the database does not know. */
bool geoip_country(const struct geoip *geoip, int ip_version, const struct address *address, char country[3]);

#endif
