/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RTSP keywords: all of them select buffers. Either side sends requests, so they exist in both directions. */
#include "rtsp_priv.h"

static const char *const applications[] = { "rtsp", NULL };

static bool get_text(const struct rtsp_tx *tx, const struct rtsp_text *text, struct app_bytes *out)
{
    static const uint8_t nothing[1];

    *out =
        (struct app_bytes){ .bytes = text->length > 0 ? tx->head.bytes + text->at : nothing, .length = text->length };
    return true;
}

enum part { PART_METHOD, PART_URI, PART_CODE };

static bool get_part(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct rtsp_tx *rtsp = (const struct rtsp_tx *)tx;
    const struct rtsp_text *parts[] = {
        [PART_METHOD] = &rtsp->method,
        [PART_URI] = &rtsp->uri,
        [PART_CODE] = &rtsp->code,
    };

    return rtsp->is_parsed && rtsp->is_request == (which.part != PART_CODE) && get_text(rtsp, parts[which.part], out);
}

static bool get_header(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct rtsp_tx *rtsp = (const struct rtsp_tx *)tx;

    return which.index < rtsp_header_count(rtsp) && get_text(rtsp, rtsp_get_header(rtsp, which.index), out);
}

const struct keyword keyword_rtsp_method = {
    .name = "rtsp.method",
    .help = "selects the method of an RTSP request",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_rtsp_uri = {
    .name = "rtsp.uri",
    .help = "selects the URI of an RTSP request",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_rtsp_stat_code = {
    .name = "rtsp.stat_code",
    .help = "selects the status code of an RTSP response",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_rtsp_header = {
    .name = "rtsp.header",
    .help = "selects each header of an RTSP message: CSeq: 2",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer rtsp_buffers[RTSP_BUFFERS] = {
    { &keyword_rtsp_method, APP_BOTH, RTSP_COMPLETE, .get = get_part, .part = PART_METHOD },
    { &keyword_rtsp_uri, APP_BOTH, RTSP_COMPLETE, .get = get_part, .part = PART_URI },
    { &keyword_rtsp_stat_code, APP_BOTH, RTSP_COMPLETE, .get = get_part, .part = PART_CODE },
    { &keyword_rtsp_header, APP_BOTH, RTSP_COMPLETE, .get = get_header },
};
