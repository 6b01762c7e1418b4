/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SIP and SDP keywords: all of them select buffers. */
#include "sip_priv.h"

static const char *const applications[] = { "sip", NULL };

static bool get_text(const struct sip_tx *tx, const struct sip_text *text, struct app_bytes *out)
{
    static const uint8_t nothing[1];

    *out =
        (struct app_bytes){ .bytes = text->length > 0 ? tx->text.bytes + text->at : nothing, .length = text->length };
    return true;
}

/* --- Start line -------------------------------------------------------------------------------------- */

enum part { PART_METHOD, PART_URI, PART_REQUEST_LINE, PART_CODE, PART_REASON, PART_RESPONSE_LINE, PART_VERSION };

static bool get_part(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct sip_tx *sip = (const struct sip_tx *)tx;
    const struct {
        const struct sip_text *text;
        bool exists;
    } parts[] = {
        [PART_METHOD] = { &sip->method, sip->is_request },
        [PART_URI] = { &sip->uri, sip->is_request },
        [PART_REQUEST_LINE] = { &sip->start_line, sip->is_request },
        [PART_CODE] = { &sip->code, !sip->is_request },
        [PART_REASON] = { &sip->reason, !sip->is_request },
        [PART_RESPONSE_LINE] = { &sip->start_line, !sip->is_request },
        [PART_VERSION] = { &sip->version, true },
    };

    return sip->is_parsed && parts[which.part].exists && get_text(sip, parts[which.part].text, out);
}

/* Either side sends requests, so the buffers of requests and responses exist in both directions. */
const struct keyword keyword_sip_method = {
    .name = "sip.method",
    .help = "selects the method of a SIP request",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_uri = {
    .name = "sip.uri",
    .help = "selects the URI of a SIP request",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_request_line = {
    .name = "sip.request_line",
    .help = "selects the first line of a SIP request, without its end",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_stat_code = {
    .name = "sip.stat_code",
    .help = "selects the status code of a SIP response",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_stat_msg = {
    .name = "sip.stat_msg",
    .help = "selects the reason phrase of a SIP response",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_response_line = {
    .name = "sip.response_line",
    .help = "selects the first line of a SIP response, without its end",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_protocol = {
    .name = "sip.protocol",
    .help = "selects the version of SIP in a request or response: SIP/2.0",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

/* --- Headers ----------------------------------------------------------------------------------------- */

static bool get_header(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct sip_tx *sip = (const struct sip_tx *)tx;
    unsigned index = which.index;

    for (uint32_t i = 0; i < sip_field_count(sip); i++) {
        const struct sip_field *field = sip_get_field(sip, i);

        if ((int)field->header == which.part && index-- == 0)
            return get_text(sip, &field->value, out);
    }
    return false;
}

const struct keyword keyword_sip_from = {
    .name = "sip.from",
    .help = "selects the SIP header From, also in its compact form f",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_to = {
    .name = "sip.to",
    .help = "selects the SIP header To, also in its compact form t",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_via = {
    .name = "sip.via",
    .help = "selects the SIP header Via, also in its compact form v",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_user_agent = {
    .name = "sip.user_agent",
    .help = "selects the SIP header User-Agent",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_content_type = {
    .name = "sip.content_type",
    .help = "selects the SIP header Content-Type, also in its compact form c",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sip_content_length = {
    .name = "sip.content_length",
    .help = "selects the SIP header Content-Length, also in its compact form l",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

/* --- SDP --------------------------------------------------------------------------------------------- */

enum { SDP_OF_MEDIA = 0x100 }; /* bit of app_buffer.part: lines of media descriptions; otherwise those of the session */

static bool get_sdp(const struct app_tx *tx, struct app_selector which, struct app_bytes *out)
{
    const struct sip_tx *sip = (const struct sip_tx *)tx;
    unsigned index = which.index;

    for (uint32_t i = 0; i < sip_sdp_count(sip); i++) {
        const struct sip_sdp_line *line = sip_get_sdp_line(sip, i);

        if ((line->type | (line->media > 0 ? SDP_OF_MEDIA : 0)) == which.part && index-- == 0)
            return get_text(sip, &line->value, out);
    }
    return false;
}

const struct keyword keyword_sdp_origin = {
    .name = "sdp.origin",
    .help = "selects the originator (o=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_session_name = {
    .name = "sdp.session_name",
    .help = "selects the session name (s=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_session_info = {
    .name = "sdp.session_info",
    .help = "selects the session information (i=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_uri = {
    .name = "sdp.uri",
    .help = "selects the URI (u=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_email = {
    .name = "sdp.email",
    .help = "selects the e-mail address (e=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_phone_number = {
    .name = "sdp.phone_number",
    .help = "selects the phone number (p=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_connection_data = {
    .name = "sdp.connection_data",
    .help = "selects the connection data (c=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_bandwidth = {
    .name = "sdp.bandwidth",
    .help = "selects the bandwidth (b=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_time = {
    .name = "sdp.time",
    .help = "selects the start and end time (t=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_repeat_time = {
    .name = "sdp.repeat_time",
    .help = "selects the repeat time (r=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_timezone = {
    .name = "sdp.timezone",
    .help = "selects the time zone adjustments (z=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_encryption_key = {
    .name = "sdp.encryption_key",
    .help = "selects the encryption key (k=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_attribute = {
    .name = "sdp.attribute",
    .help = "selects the attribute (a=) of an SDP session",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_media_media = {
    .name = "sdp.media.media",
    .help = "selects the media, port and formats (m=) of an SDP media description",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_media_media_info = {
    .name = "sdp.media.media_info",
    .aliases = { "sdp.media.session_info" },
    .help = "selects the information (i=) of an SDP media description",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_media_connection_data = {
    .name = "sdp.media.connection_data",
    .help = "selects the connection data (c=) of an SDP media description",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_sdp_media_encryption_key = {
    .name = "sdp.media.encryption_key",
    .help = "selects the encryption key (k=) of an SDP media description",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_BOTH },
};

const struct app_buffer sip_buffers[SIP_BUFFERS] = {
    { &keyword_sip_method, APP_BOTH, SIP_HEAD, .get = get_part, .part = PART_METHOD },
    { &keyword_sip_uri, APP_BOTH, SIP_HEAD, .get = get_part, .part = PART_URI },
    { &keyword_sip_request_line, APP_BOTH, SIP_HEAD, .get = get_part, .part = PART_REQUEST_LINE },
    { &keyword_sip_stat_code, APP_BOTH, SIP_HEAD, .get = get_part, .part = PART_CODE },
    { &keyword_sip_stat_msg, APP_BOTH, SIP_HEAD, .get = get_part, .part = PART_REASON },
    { &keyword_sip_response_line, APP_BOTH, SIP_HEAD, .get = get_part, .part = PART_RESPONSE_LINE },
    { &keyword_sip_protocol, APP_BOTH, SIP_HEAD, .get = get_part, .part = PART_VERSION },
    { &keyword_sip_from, APP_BOTH, SIP_HEAD, .get = get_header, .part = SIP_FROM },
    { &keyword_sip_to, APP_BOTH, SIP_HEAD, .get = get_header, .part = SIP_TO },
    { &keyword_sip_via, APP_BOTH, SIP_HEAD, .get = get_header, .part = SIP_VIA },
    { &keyword_sip_user_agent, APP_BOTH, SIP_HEAD, .get = get_header, .part = SIP_USER_AGENT },
    { &keyword_sip_content_type, APP_BOTH, SIP_HEAD, .get = get_header, .part = SIP_CONTENT_TYPE },
    { &keyword_sip_content_length, APP_BOTH, SIP_HEAD, .get = get_header, .part = SIP_CONTENT_LENGTH },
    { &keyword_sdp_origin, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'o' },
    { &keyword_sdp_session_name, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 's' },
    { &keyword_sdp_session_info, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'i' },
    { &keyword_sdp_uri, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'u' },
    { &keyword_sdp_email, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'e' },
    { &keyword_sdp_phone_number, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'p' },
    { &keyword_sdp_connection_data, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'c' },
    { &keyword_sdp_bandwidth, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'b' },
    { &keyword_sdp_time, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 't' },
    { &keyword_sdp_repeat_time, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'r' },
    { &keyword_sdp_timezone, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'z' },
    { &keyword_sdp_encryption_key, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'k' },
    { &keyword_sdp_attribute, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'a' },
    { &keyword_sdp_media_media, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'm' | SDP_OF_MEDIA },
    { &keyword_sdp_media_media_info, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'i' | SDP_OF_MEDIA },
    { &keyword_sdp_media_connection_data, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'c' | SDP_OF_MEDIA },
    { &keyword_sdp_media_encryption_key, APP_BOTH, SIP_COMPLETE, .get = get_sdp, .part = 'k' | SDP_OF_MEDIA },
};
