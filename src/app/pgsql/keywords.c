/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PostgreSQL keywords. */
#include "pgsql_priv.h"

static const char *const applications[] = { "pgsql", NULL };

static bool get_query(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct pgsql_tx *pgsql = (const struct pgsql_tx *)tx;

    (void)which;
    if ((pgsql->request != PGSQL_QUERY && pgsql->request != PGSQL_EXTENDED) || !pgsql->text.is_present)
        return false;
    *out = (struct app_bytes){ .bytes = (const uint8_t *)"", .length = pgsql->text.length };
    if (out->length > 0)
        out->bytes = pgsql->request_text.bytes + pgsql->text.at;
    return true;
}

const struct keyword keyword_pgsql_query = {
    .name = "pgsql.query",
    .help = "text of a PostgreSQL query",
    .manual = "The text of a simple query, or of a Parse message of the extended query protocol.",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct app_buffer pgsql_buffers[PGSQL_BUFFERS] = {
    { &keyword_pgsql_query, APP_TO_SERVER, PGSQL_COMPLETE, .get = get_query },
};
