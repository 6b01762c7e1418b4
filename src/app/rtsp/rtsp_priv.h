/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RTSP 1.0 and 2.0 (RFC 2326, RFC 7826) over TCP. Each message is a separate transaction in its own direction. */
#ifndef SLUICE_APP_RTSP_PRIV_H
#define SLUICE_APP_RTSP_PRIV_H

#include "sluice/app.h"

enum {
    RTSP_HEAD_MAX = 16 << 10, /* bytes of the start line and the headers */
    RTSP_HEADERS_MAX = 128,   /* stored headers */
};
enum { RTSP_COMPLETE = 1 };
enum rtsp_event { RTSP_INVALID_DATA, RTSP_EVENTS };

struct rtsp_text {
    uint32_t at, length; /* location in rtsp_tx.head */
};

struct rtsp_tx {
    struct app_tx tx;
    bool is_parsed;                        /* the start line is valid; otherwise the transaction only has events */
    bool is_request;                       /* false: a response */
    struct rtsp_text method, uri, version; /* of a request; `version` also of a response */
    struct rtsp_text code, reason;         /* of a response */
    struct buffer head;                    /* start line and headers */
    struct buffer headers;                 /* array of struct rtsp_text: the lines of the headers, in their order */
};

static inline uint32_t rtsp_header_count(const struct rtsp_tx *tx)
{
    return tx->headers.length / (uint32_t)sizeof(struct rtsp_text);
}

static inline const struct rtsp_text *rtsp_get_header(const struct rtsp_tx *tx, uint32_t index)
{
    return (const struct rtsp_text *)(const void *)tx->headers.bytes + index;
}

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { RTSP_BUFFERS = 4 };
extern const struct app_buffer rtsp_buffers[RTSP_BUFFERS];

void rtsp_log_own(const struct app_tx *tx, struct fields *out);

#endif
