/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIP (RFC 3261) with SDP bodies (RFC 8866). Each message is a separate transaction in its own direction. */
#ifndef SLUICE_APP_SIP_PRIV_H
#define SLUICE_APP_SIP_PRIV_H

#include "sluice/app.h"

enum {
    SIP_HEAD_MAX = 64 << 10, /* bytes of the start line and the headers */
    SIP_BODY_MAX = 64 << 10, /* a longer body is skipped */
    SIP_VALUES_MAX = 64,     /* stored values of a header */
    SIP_SDP_LINES_MAX = 256, /* stored lines of an SDP body */
};
enum sip_progress { SIP_HEAD = 1, SIP_COMPLETE };
enum sip_event { SIP_INVALID_DATA, SIP_EVENTS };

/* Headers with a keyword. */
enum sip_header {
    SIP_FROM,
    SIP_TO,
    SIP_VIA,
    SIP_USER_AGENT,
    SIP_CONTENT_TYPE,
    SIP_CONTENT_LENGTH,
    SIP_HEADERS,
};

struct sip_text {
    uint32_t at, length; /* location in sip_tx.text */
};

struct sip_field {
    enum sip_header header;
    struct sip_text value;
};

/* A line of an SDP body. */
struct sip_sdp_line {
    char type;      /* letter before the '=' */
    uint16_t media; /* 0: describes the session; otherwise the number of the media description, counted from 1 */
    struct sip_text value;
};

struct sip_tx {
    struct app_tx tx;
    bool is_parsed;  /* the start line is valid; otherwise the transaction only has events */
    bool is_request; /* false: a response */
    struct sip_text start_line;
    struct sip_text method, uri, version; /* of a request; `version` also of a response */
    struct sip_text code, reason;         /* of a response */
    struct buffer text;                   /* the message without a body other than SDP */
    struct buffer fields;                 /* array of struct sip_field, in the order of the message */
    struct buffer sdp;                    /* array of struct sip_sdp_line, in the order of the body */
};

static inline uint32_t sip_field_count(const struct sip_tx *tx)
{
    return tx->fields.length / (uint32_t)sizeof(struct sip_field);
}

static inline const struct sip_field *sip_get_field(const struct sip_tx *tx, uint32_t index)
{
    return (const struct sip_field *)(const void *)tx->fields.bytes + index;
}

static inline uint32_t sip_sdp_count(const struct sip_tx *tx)
{
    return tx->sdp.length / (uint32_t)sizeof(struct sip_sdp_line);
}

static inline const struct sip_sdp_line *sip_get_sdp_line(const struct sip_tx *tx, uint32_t index)
{
    return (const struct sip_sdp_line *)(const void *)tx->sdp.bytes + index;
}

/* --- parse.c ----------------------------------------------------------------------------------------- */

/* Parses a start line and headers, which are copied to tx->text, and sets *body_length to the value of Content-Length,
 * or to UINT64_MAX if the header is missing. Returns 0; -EINVAL if the start line or Content-Length is invalid, or if a
 * header has too many values; -ENOMEM. */
int sip_parse_head(struct heap *heap, struct sip_tx *tx, const uint8_t *bytes, uint32_t length, uint64_t *body_length);
/* Parses the body if its type is SDP. Returns 0; -EINVAL if it has too many lines; -ENOMEM. */
int sip_parse_body(struct heap *heap, struct sip_tx *tx, const uint8_t *bytes, uint32_t length);
/* Probes the first line of a message. Returns APP_UNSURE if it is incomplete. *is_request: a request; false: a
 * response. */
enum app_probe_result sip_probe_line(const uint8_t *bytes, uint32_t length, bool *is_request);

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { SIP_BUFFERS = 30 };
extern const struct app_buffer sip_buffers[SIP_BUFFERS];

void sip_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
