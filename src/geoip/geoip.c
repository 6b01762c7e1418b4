/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Country lookup with libmaxminddb. */
#include "sluice/geoip.h"

#include <errno.h>
#include <maxminddb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct geoip {
    MMDB_s database;
};

int geoip_open(struct geoip **out, const char *path, char *error, size_t error_size)
{
    struct geoip *geoip = calloc(1, sizeof(*geoip));
    int status;

    if (!geoip)
        return -ENOMEM;
    status = MMDB_open(path, MMDB_MODE_MMAP, &geoip->database);
    if (status != MMDB_SUCCESS) {
        snprintf(error, error_size, "cannot open '%s' as a country database: %s", path,
                 status == MMDB_IO_ERROR || status == MMDB_FILE_OPEN_ERROR ? strerror(errno) : MMDB_strerror(status));
        free(geoip);
        return -EINVAL;
    }
    *out = geoip;
    return 0;
}

void geoip_close(struct geoip *geoip)
{
    if (!geoip)
        return;
    MMDB_close(&geoip->database);
    free(geoip);
}

bool geoip_country(const struct geoip *geoip, int ip_version, const struct address *address, char country[3])
{
    /* MMDB_aget_value() is used because MMDB_get_value(), which takes the path as variadic arguments, allocates memory.
     */
    static const char *const path[] = { "country", "iso_code", NULL };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    const struct sockaddr *key = ip_version == 4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6;
    MMDB_entry_data_s data;
    MMDB_lookup_result_s result;
    int status;

    if (ip_version == 4)
        memcpy(&v4.sin_addr, address->bytes, sizeof(v4.sin_addr));
    else
        memcpy(&v6.sin6_addr, address->bytes, sizeof(v6.sin6_addr));
    result = MMDB_lookup_sockaddr(&geoip->database, key, &status);

    if (status != MMDB_SUCCESS || !result.found_entry || MMDB_aget_value(&result.entry, &data, path) != MMDB_SUCCESS ||
        !data.has_data || data.type != MMDB_DATA_TYPE_UTF8_STRING || data.data_size != 2)
        return false;
    memcpy(country, data.utf8_string, 2);
    country[2] = '\0';
    return true;
}
