/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keywords and lists of common texts that are used in several files. */
#ifndef APP_HTTP_KEYWORDS_H
#define APP_HTTP_KEYWORDS_H

#include "sluice/keyword.h"

extern const struct keyword keyword_http_uri, keyword_http_uri_raw;

/* common.c: for struct prefilter_hints.common. */
extern const char *const http_common_uris[], *const http_common_hosts[], *const http_common_agents[],
                                                                             *const http_common_headers[];

#endif
