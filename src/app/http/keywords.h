/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keywords and lists of common texts that are used in several files. */
#ifndef APP_HTTP_KEYWORDS_H
#define APP_HTTP_KEYWORDS_H

#include "sluice/keyword.h"

extern const struct keyword keyword_http_uri, keyword_http_uri_raw;

/* Values of prefilter_hints.common, defined in common.c. */
extern const char *const http_common_uris[], *const http_common_hosts[], *const http_common_agents[],
                                                                             *const http_common_headers[];

#endif
