/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings of HTTP. Each parser option has two names: that of Suricata, below libhtp.default-config, and a shorter one
 * below app-layer.http.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http_priv.h"

static const char *const personalities[] = { "Minimal",  "Generic",    "IDS",     "IIS_4_0", "IIS_5_0",
                                             "IIS_5_1",  "IIS_6_0",    "IIS_7_0", "IIS_7_5", "Apache",
                                             "Apache_2", "Apache_2_2", NULL };
static const char *const invalid_handling[] = { "preserve_percent", "remove_percent", "decode_invalid", NULL };
static const char *const dump_choices[] = { "none", "request", "response", "both", NULL };
static const char *const yes_no_auto[] = { "auto", "yes", "no", "true", "false", NULL };

static const char *const ambiguous_choices[] = { "inspect", "drop", "pass", NULL };

static void store_personality(const char *value, void *settings)
{
    ((struct http_settings *)settings)->personality_name = value;
}

static const char not_needed[] = "Accepted without effect: bodies are inspected as they arrive";

static const char *check_custom(const char *value)
{
    return http_log_field(value) >= 0 ? NULL
                                      : "the name of a header as Suricata writes it: accept_language, cookie ...";
}

const struct setting http_setting_table[] = {
    { .name = "app-layer.protocols.http.libhtp.default-config.personality",
      .alias = "app-layer.http.personality",
      .store = store_personality,
      .type = SETTING_ENUM,
      .default_value = "IDS",
      .choices = personalities,
      .help = "Server whose interpretation of URIs is used" },
    { .name = "app-layer.protocols.http.libhtp.default-config.request-body-limit",
      .alias = "app-layer.http.request-body-limit",
      SETTING_FIELD(http_settings, body_limit[FLOW_TO_SERVER]),
      .type = SETTING_SIZE,
      .default_value = "100k",
      .low = 0,
      .high = UINT32_MAX,
      .help = "Bytes of a request body that are decoded and inspected; 0: all" },
    { .name = "app-layer.protocols.http.libhtp.default-config.response-body-limit",
      .alias = "app-layer.http.response-body-limit",
      SETTING_FIELD(http_settings, body_limit[FLOW_TO_CLIENT]),
      .type = SETTING_SIZE,
      .default_value = "100k",
      .low = 0,
      .high = UINT32_MAX,
      .help = "Bytes of a response body that are decoded and inspected; 0: all" },
    { .name = "app-layer.protocols.http.libhtp.default-config.response-body-decompress-layer-limit",
      .alias = "app-layer.http.response-body-decompress-layer-limit",
      SETTING_FIELD(http_settings, decoder_layers),
      .type = SETTING_NUMBER,
      .default_value = "2",
      .low = 0,
      .high = 8,
      .help = "Maximum number of nested content encodings that are decoded; 0: 8" },
    { .name = "app-layer.protocols.http.libhtp.default-config.compression-bomb-limit",
      .alias = "app-layer.http.compression-bomb-limit",
      SETTING_FIELD(http_settings, bomb_limit),
      .type = SETTING_SIZE,
      .default_value = "1M",
      .low = 0,
      .high = UINT32_MAX,
      .help = "Decoded size from which a body counts as a compression bomb if it is 2048 times as large as its "
              "encoded size; 0: never" },
    { .name = "app-layer.protocols.http.libhtp.default-config.lzma-enabled",
      .alias = "app-layer.http.lzma-enabled",
      SETTING_FIELD(http_settings, lzma),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Decode bodies in LZMA" },
    { .name = "app-layer.protocols.http.libhtp.default-config.lzma-memlimit",
      .alias = "app-layer.http.lzma-memlimit",
      SETTING_FIELD(http_settings, lzma_memory),
      .type = SETTING_SIZE,
      .default_value = "1M",
      .low = 0,
      .high = 64 << 20,
      .help = "Bytes of memory for decoding a body in LZMA" },
    { .name = "app-layer.protocols.http.libhtp.default-config.meta-field-limit",
      .alias = "app-layer.http.meta-field-limit",
      SETTING_FIELD(http_settings, field_limit),
      .type = SETTING_SIZE,
      .default_value = "18000",
      .low = 256,
      .high = HTTP_FIELD_LIMIT,
      .help =
          "Maximum bytes of a header line. A longer one ends parsing in a request, and sets an event in a response" },
    { .name = "app-layer.protocols.http.libhtp.default-config.headers-limit",
      .alias = "app-layer.http.headers-limit",
      SETTING_FIELD(http_settings, headers_limit),
      .type = SETTING_NUMBER,
      .default_value = "1024",
      .low = 1,
      .high = 16384,
      .help = "Maximum number of headers of a message; more end the parsing of the flow" },
    { .name = "app-layer.protocols.http.libhtp.default-config.double-decode-path",
      .alias = "app-layer.http.double-decode-path",
      SETTING_FIELD(http_settings, double_decode_path),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Decode paths twice for http.uri" },
    { .name = "app-layer.protocols.http.libhtp.default-config.double-decode-query",
      .alias = "app-layer.http.double-decode-query",
      SETTING_FIELD(http_settings, double_decode_query),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Decode queries twice for http.uri" },
    { .name = "app-layer.protocols.http.libhtp.default-config.uri-include-all",
      .alias = "app-layer.http.uri-include-all",
      SETTING_FIELD(http_settings, uri_is_whole),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Include scheme and host of the URI in http.uri" },
    { .name = "app-layer.protocols.http.libhtp.default-config.query-plusspace-decode",
      .alias = "app-layer.http.query-plusspace-decode",
      SETTING_FIELD(http_settings, personality.plus_is_space),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Decode + in a query as a space" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-convert-backslash-separators",
      .alias = "app-layer.http.path-convert-backslash-separators",
      SETTING_FIELD(http_settings, personality.backslash_is_slash),
      .type = SETTING_BOOL,
      .help = "Convert \\ in a path to /; unset: as the personality does" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-convert-lowercase",
      .alias = "app-layer.http.path-convert-lowercase",
      SETTING_FIELD(http_settings, personality.lower_case),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Convert paths to lower case" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-separators-compress",
      .alias = "app-layer.http.path-separators-compress",
      SETTING_FIELD(http_settings, personality.compress_slashes),
      .type = SETTING_BOOL,
      .help = "Reduce several / in a path to one; unset: as the personality does" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-separators-decode",
      .alias = "app-layer.http.path-separators-decode",
      SETTING_FIELD(http_settings, personality.decode_slashes),
      .type = SETTING_BOOL,
      .help = "Decode an encoded / in a path; unset: as the personality does" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-u-encoding-decode",
      .alias = "app-layer.http.path-u-encoding-decode",
      SETTING_FIELD(http_settings, personality.decode_u),
      .type = SETTING_BOOL,
      .help = "Decode %uXXXX; unset: as the personality does" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-utf8-convert-bestfit",
      .alias = "app-layer.http.path-utf8-convert-bestfit",
      SETTING_FIELD(http_settings, personality.best_fit),
      .type = SETTING_BOOL,
      .help = "Convert UTF-8 in paths to single bytes; unset: as the personality does" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-nul-encoded-terminates",
      .alias = "app-layer.http.path-nul-encoded-terminates",
      SETTING_FIELD(http_settings, personality.nul_encoded_ends),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "End a path at an encoded NUL byte" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-nul-raw-terminates",
      .alias = "app-layer.http.path-nul-raw-terminates",
      SETTING_FIELD(http_settings, personality.nul_raw_ends),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "End a path at a NUL byte" },
    { .name = "app-layer.protocols.http.libhtp.default-config.path-url-encoding-invalid-handling",
      .alias = "app-layer.http.path-url-encoding-invalid-handling",
      SETTING_FIELD(http_settings, personality.invalid_percent),
      .type = SETTING_ENUM,
      .default_value = "preserve_percent",
      .choices = invalid_handling,
      .help = "A % without two hexadecimal digits; decode_invalid: the next two characters are decoded like digits" },
    { .name = "app-layer.protocols.http.libhtp.default-config.decompression-time-limit",
      .alias = "app-layer.http.decompression-time-limit",
      .type = SETTING_NUMBER,
      .low = 0,
      .high = UINT32_MAX,
      .help = "Accepted without effect: decoding is limited by the decoded size, not by time" },
    { .name = "app-layer.protocols.http.libhtp.default-config.request-body-minimal-inspect-size",
      .alias = "app-layer.http.request-body-minimal-inspect-size",
      .type = SETTING_SIZE,
      .low = 0,
      .high = UINT32_MAX,
      .help = not_needed },
    { .name = "app-layer.protocols.http.libhtp.default-config.request-body-inspect-window",
      .alias = "app-layer.http.request-body-inspect-window",
      .type = SETTING_SIZE,
      .low = 0,
      .high = UINT32_MAX,
      .help = not_needed },
    { .name = "app-layer.protocols.http.libhtp.default-config.response-body-minimal-inspect-size",
      .alias = "app-layer.http.response-body-minimal-inspect-size",
      .type = SETTING_SIZE,
      .low = 0,
      .high = UINT32_MAX,
      .help = not_needed },
    { .name = "app-layer.protocols.http.libhtp.default-config.response-body-inspect-window",
      .alias = "app-layer.http.response-body-inspect-window",
      .type = SETTING_SIZE,
      .low = 0,
      .high = UINT32_MAX,
      .help = not_needed },
    { .name = "app-layer.protocols.http.libhtp.default-config.http-body-inline",
      .alias = "app-layer.http.http-body-inline",
      .type = SETTING_ENUM,
      .choices = yes_no_auto,
      .help = not_needed },
    { .name = "app-layer.protocols.http.libhtp.default-config.randomize-inspection-sizes",
      .alias = "app-layer.http.randomize-inspection-sizes",
      .type = SETTING_BOOL,
      .help = not_needed },
    { .name = "app-layer.protocols.http.libhtp.default-config.randomize-inspection-range",
      .alias = "app-layer.http.randomize-inspection-range",
      .type = SETTING_NUMBER,
      .low = 0,
      .high = 100,
      .help = not_needed },
    { .name = "app-layer.protocols.http.libhtp.default-config.swf-decompression.enabled",
      .alias = "app-layer.http.swf-decompression.enabled",
      .type = SETTING_BOOL,
      .help = "Accepted without effect: Flash files are not decoded" },
    { .name = "app-layer.protocols.http.libhtp.default-config.swf-decompression.type",
      .alias = "app-layer.http.swf-decompression.type",
      .type = SETTING_STRING,
      .help = "Accepted without effect: Flash files are not decoded" },
    { .name = "app-layer.protocols.http.libhtp.default-config.swf-decompression.compress-depth",
      .alias = "app-layer.http.swf-decompression.compress-depth",
      .type = SETTING_SIZE,
      .low = 0,
      .high = UINT32_MAX,
      .help = "Accepted without effect: Flash files are not decoded" },
    { .name = "app-layer.protocols.http.libhtp.default-config.swf-decompression.decompress-depth",
      .alias = "app-layer.http.swf-decompression.decompress-depth",
      .type = SETTING_SIZE,
      .low = 0,
      .high = UINT32_MAX,
      .help = "Accepted without effect: Flash files are not decoded" },
    { .name = "eve.types.alert.http-body",
      SETTING_FIELD(http_settings, alert_body),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add the first 16 KiB of HTTP bodies in Base64" },
    { .name = "eve.types.alert.http-body-printable",
      SETTING_FIELD(http_settings, alert_body_printable),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add the first 16 KiB of HTTP bodies as text, with dots for unprintable bytes" },
    { .name = "app-layer.protocols.http.byterange.timeout",
      SETTING_FIELD(http_settings, range_timeout_ns),
      .scale = UINT64_C(1000000000),
      .type = SETTING_NUMBER,
      .default_value = "60",
      .low = 1,
      .high = 86400,
      .help = "Seconds without new data after which Sluice stops reassembling a file from byte ranges (HTTP 206)" },
    { .name = "app-layer.protocols.http.byterange.memcap",
      .type = SETTING_SIZE,
      .low = 0,
      .high = UINT32_MAX,
      .help = "Accepted without effect: the reassembly of byte ranges may use one eighth of app-layer.memcap" },
    { .name = "app-layer.protocols.http.ambiguous-request-policy",
      SETTING_FIELD(http_settings, ambiguous_policy[FLOW_TO_SERVER]),
      .type = SETTING_ENUM,
      .default_value = "inspect",
      .choices = ambiguous_choices,
      .help = "Treatment of requests whose body or chunks servers read in different ways; inspect: all readings are "
              "inspected; drop: inline the flow is dropped; pass: the most usual reading is inspected" },
    { .name = "app-layer.protocols.http.ambiguous-response-policy",
      SETTING_FIELD(http_settings, ambiguous_policy[FLOW_TO_CLIENT]),
      .type = SETTING_ENUM,
      .default_value = "inspect",
      .choices = ambiguous_choices,
      .help = "Treatment of responses whose lines or body clients read in different ways; inspect: all readings are "
              "inspected; drop: inline the flow is dropped; pass: the reading of browsers is inspected" },
    { .name = "eve.types.http", .type = SETTING_SECTION, .help = "Event type http: an HTTP request with its response" },
    { .name = "eve.types.http.extended",
      SETTING_FIELD(http_settings, log_extended),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add method, status, referer and length" },
    { .name = "eve.types.http.custom",
      SETTING_FIELD(http_settings, custom_names),
      .type = SETTING_LIST,
      .check = check_custom,
      .help = "Headers to add" },
    { .name = "eve.types.http.dump-all-headers",
      SETTING_FIELD(http_settings, dump_headers),
      .type = SETTING_ENUM,
      .default_value = "none",
      .choices = dump_choices,
      .help = "Add all headers of requests, of responses or of both" },
    { .name = NULL },
};

/* --- Personalities -------------------------------------------------------------------------------- */

static struct http_personality parse_personality(const char *name)
{
    struct http_personality p = { .invalid_percent = HTTP_PERCENT_KEEP };

    if (strcasecmp(name, "minimal") == 0)
        return p;
    p.compress_slashes = true;
    if (strncasecmp(name, "apache", 6) == 0) {
        p.request_line_nul_ends = true;
        return p;
    }
    p.backslash_is_slash = p.decode_slashes = true;
    p.best_fit = strcasecmp(name, "ids") == 0;
    p.decode_u = p.best_fit || strcasecmp(name, "iis_6_0") == 0 || strcasecmp(name, "iis_7_0") == 0 ||
                 strcasecmp(name, "iis_7_5") == 0;
    return p;
}

/* --- Completion ----------------------------------------------------------------------------------- */

int http_configure(const struct config *config, void *data)
{
    struct http_settings *settings = data;
    enum { REQUEST_HEADERS = 1, RESPONSE_HEADERS = 2 };

    /* Settings of single transformations take precedence over the personality. */
    settings->personality = parse_personality(settings->personality_name);
    config_fill(config, http_setting_table, NULL, settings);
    if (settings->decoder_layers == 0)
        settings->decoder_layers = 8;
    settings->dump_request_headers = settings->dump_headers & REQUEST_HEADERS;
    settings->dump_response_headers = settings->dump_headers & RESPONSE_HEADERS;
    for (const char *const *name = settings->custom_names; *name; name++) {
        int field = http_log_field(*name);

        if (field >= 0)
            settings->custom |= UINT64_C(1) << field;
    }
    return 0;
}
