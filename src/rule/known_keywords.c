/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keywords of Suricata 7 to 9, Snort 2.9 and Snort 3 that Sluice does not support. A rule with one of them is
 * unsupported, not wrong, and if the keyword is a buffer or a content, the options after it are still parsed. The table
 * is sorted by name.
 */
#include <stdlib.h>
#include <string.h>

#include "rule_priv.h"

static const struct known_keyword known_keywords[] = {
    { "activated_by", KNOWN_OTHER },
    { "activates", KNOWN_OTHER },
    { "appid", KNOWN_OTHER },
    { "appids", KNOWN_OTHER },
    { "ber_data", KNOWN_OTHER },
    { "ber_skip", KNOWN_OTHER },
    { "bufferlen", KNOWN_OTHER },
    { "cip_attribute", KNOWN_OTHER },
    { "cip_class", KNOWN_OTHER },
    { "cip_conn_path_class", KNOWN_OTHER },
    { "cip_instance", KNOWN_OTHER },
    { "cip_req", KNOWN_OTHER },
    { "cip_rsp", KNOWN_OTHER },
    { "cip_status", KNOWN_OTHER },
    { "count", KNOWN_OTHER },
    { "cvs", KNOWN_OTHER },
    { "enable", KNOWN_OTHER },
    { "enip_req", KNOWN_OTHER },
    { "enip_rsp", KNOWN_OTHER },
    { "file_group", KNOWN_OTHER },
    { "file_meta", KNOWN_OTHER },
    { "file_type", KNOWN_OTHER },
    { "flow.elephant", KNOWN_OTHER },
    { "flow.rate", KNOWN_OTHER },
    { "gtp_info", KNOWN_OTHER },
    { "gtp_type", KNOWN_OTHER },
    { "gtp_version", KNOWN_OTHER },
    { "hash", KNOWN_OTHER },
    { "http.request_header_raw", KNOWN_BUFFER },
    { "http_encode", KNOWN_OTHER },
    { "http_header_test", KNOWN_OTHER },
    { "http_max_header_line", KNOWN_OTHER },
    { "http_max_trailer_line", KNOWN_OTHER },
    { "http_num_cookies", KNOWN_OTHER },
    { "http_num_headers", KNOWN_OTHER },
    { "http_num_trailers", KNOWN_OTHER },
    { "http_param", KNOWN_BUFFER },
    { "http_raw_body", KNOWN_BUFFER },
    { "http_raw_cookie", KNOWN_OTHER },
    { "http_raw_request", KNOWN_BUFFER },
    { "http_raw_status", KNOWN_BUFFER },
    { "http_raw_trailer", KNOWN_BUFFER },
    { "http_trailer", KNOWN_BUFFER },
    { "http_trailer_test", KNOWN_OTHER },
    { "http_true_ip", KNOWN_BUFFER },
    { "http_version", KNOWN_BUFFER },
    { "http_version_match", KNOWN_OTHER },
    { "js_data", KNOWN_BUFFER },
    { "krb5.weak_encryption", KNOWN_OTHER },
    { "length", KNOWN_OTHER },
    { "logto", KNOWN_OTHER },
    { "md5", KNOWN_OTHER },
    { "mms_data", KNOWN_BUFFER },
    { "mms_func", KNOWN_OTHER },
    { "modbus_data", KNOWN_BUFFER },
    { "modbus_func", KNOWN_OTHER },
    { "modbus_unit", KNOWN_OTHER },
    { "pgsql.command", KNOWN_OTHER },
    { "pkt_num", KNOWN_OTHER },
    { "protected_content", KNOWN_OTHER },
    { "raw_data", KNOWN_BUFFER },
    { "rdp.cookie", KNOWN_OTHER },
    { "react", KNOWN_OTHER },
    { "regex", KNOWN_CONTENT },
    { "rem", KNOWN_OTHER },
    { "resp", KNOWN_OTHER },
    { "resp2", KNOWN_OTHER },
    { "script_data", KNOWN_BUFFER },
    { "sd_pattern", KNOWN_OTHER },
    { "service", KNOWN_OTHER },
    { "session", KNOWN_OTHER },
    { "sha256", KNOWN_OTHER },
    { "sha512", KNOWN_OTHER },
    { "sip_body", KNOWN_BUFFER },
    { "sip_header", KNOWN_BUFFER },
    { "sip_method", KNOWN_OTHER },
    { "sip_stat_code", KNOWN_OTHER },
    { "smb.ntlmssp_negotiate", KNOWN_OTHER },
    { "so", KNOWN_OTHER },
    { "soid", KNOWN_OTHER },
    { "stream_reassemble", KNOWN_OTHER },
    { "template", KNOWN_OTHER },
    { "template.rust", KNOWN_OTHER },
    { "template2", KNOWN_OTHER },
    { "vba_data", KNOWN_BUFFER },
    { "vxlan_vni", KNOWN_OTHER },
};

enum { KNOWN_COUNT = sizeof(known_keywords) / sizeof(known_keywords[0]), MAX_NAME = 64 };

/* Writes the name in lower case to `out`. Returns false if it is empty or longer than all known names. */
static bool to_lower(struct span name, char *out)
{
    if (name.length == 0 || name.length >= MAX_NAME)
        return false;
    for (size_t i = 0; i < name.length; i++)
        out[i] = (char)(name.at[i] >= 'A' && name.at[i] <= 'Z' ? name.at[i] + 32 : name.at[i]);
    out[name.length] = '\0';
    return true;
}

static int by_name(const void *key, const void *row)
{
    return strcmp(key, ((const struct known_keyword *)row)->name);
}

const struct known_keyword *known_keyword_find(struct span name)
{
    char word[MAX_NAME];

    if (!to_lower(name, word))
        return NULL;
    return bsearch(word, known_keywords, KNOWN_COUNT, sizeof(known_keywords[0]), by_name);
}

const char *known_keyword_nearest(struct span name)
{
    const char *names[KNOWN_COUNT];
    char word[MAX_NAME];

    if (!to_lower(name, word))
        return NULL;
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        names[i] = known_keywords[i].name;
    return text_nearest(word, names, KNOWN_COUNT);
}

size_t known_keyword_count(void)
{
    return KNOWN_COUNT;
}

const struct known_keyword *known_keyword_get(size_t index)
{
    return index < KNOWN_COUNT ? &known_keywords[index] : NULL;
}
