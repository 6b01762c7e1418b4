/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings of HTTP. The parser options have the names that Suricata uses, below libhtp.default-config, and shorter
 * names below app-layer.http.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_priv.h"

#define LONG_NAME "app-layer.protocols.http.libhtp.default-config."
#define SHORT_NAME "app-layer.http."
/* Declares a setting with both names. */
#define OPTION(option, ...)                                                                                            \
    { .name = LONG_NAME option, __VA_ARGS__ },                                                                         \
    {                                                                                                                  \
        .name = SHORT_NAME option, __VA_ARGS__                                                                         \
    }

static const char *const personalities[] = { "Minimal",  "Generic",    "IDS",     "IIS_4_0", "IIS_5_0",
                                             "IIS_5_1",  "IIS_6_0",    "IIS_7_0", "IIS_7_5", "Apache",
                                             "Apache_2", "Apache_2_2", NULL };
static const char *const invalid_handling[] = { "preserve_percent", "remove_percent", "decode_invalid", NULL };
static const char *const dump_choices[] = { "none", "both", "request", "response", NULL };
static const char *const yes_no_auto[] = { "auto", "yes", "no", "true", "false", NULL };

static const char *const ambiguous_choices[] = { "inspect", "drop", "pass", NULL };

static const char not_needed[] = "Accepted without effect: bodies are inspected as they arrive";

static const char *check_custom(const char *value)
{
    return http_log_field(value) >= 0 ? NULL
                                      : "the name of a header as Suricata writes it: accept_language, cookie ...";
}

const struct setting http_setting_table[] = {
    OPTION("personality", .type = SETTING_ENUM, .default_value = "IDS", .choices = personalities,
           .help = "Server whose interpretation of URIs is used"),
    OPTION("request-body-limit", .type = SETTING_SIZE, .default_value = "100k", .low = 0, .high = UINT32_MAX,
           .help = "Bytes of a request body that are decoded and inspected; 0: all"),
    OPTION("response-body-limit", .type = SETTING_SIZE, .default_value = "100k", .low = 0, .high = UINT32_MAX,
           .help = "Bytes of a response body that are decoded and inspected; 0: all"),
    OPTION("response-body-decompress-layer-limit", .type = SETTING_NUMBER, .default_value = "2", .low = 0, .high = 8,
           .help = "Maximum number of nested content encodings that are decoded; 0: 8"),
    OPTION("compression-bomb-limit", .type = SETTING_SIZE, .default_value = "1M", .low = 0, .high = UINT32_MAX,
           .help = "Decoded size from which a body counts as a compression bomb, when it is 2048 times as large as its "
                   "encoded size"),
    OPTION("lzma-enabled", .type = SETTING_BOOL, .default_value = "no", .help = "Decode bodies in LZMA"),
    OPTION("lzma-memlimit", .type = SETTING_SIZE, .default_value = "1M", .low = 0, .high = 64 << 20,
           .help = "Memory for a body in LZMA"),
    OPTION("meta-field-limit", .type = SETTING_SIZE, .default_value = "18000", .low = 256, .high = HTTP_FIELD_LIMIT,
           .help = "Maximum length of a header line, in bytes; a longer one ends the parsing of the flow"),
    OPTION("headers-limit", .type = SETTING_NUMBER, .default_value = "1024", .low = 1, .high = 16384,
           .help = "Maximum number of headers of a message; more end the parsing of the flow"),
    OPTION("double-decode-path", .type = SETTING_BOOL, .default_value = "no",
           .help = "Decode paths twice for http.uri"),
    OPTION("double-decode-query", .type = SETTING_BOOL, .default_value = "no",
           .help = "Decode queries twice for http.uri"),
    OPTION("uri-include-all", .type = SETTING_BOOL, .default_value = "no",
           .help = "Include scheme and host of the URI in http.uri"),
    OPTION("query-plusspace-decode", .type = SETTING_BOOL, .default_value = "no",
           .help = "Decode + in a query as a space"),
    OPTION("path-convert-backslash-separators", .type = SETTING_BOOL,
           .help = "Convert \\ in a path to /; unset: as the personality does"),
    OPTION("path-convert-lowercase", .type = SETTING_BOOL, .default_value = "no",
           .help = "Convert paths to lower case"),
    OPTION("path-separators-compress", .type = SETTING_BOOL,
           .help = "Reduce several / in a path to one; unset: as the personality does"),
    OPTION("path-separators-decode", .type = SETTING_BOOL,
           .help = "Decode an encoded / in a path; unset: as the personality does"),
    OPTION("path-u-encoding-decode", .type = SETTING_BOOL, .help = "Decode %uXXXX; unset: as the personality does"),
    OPTION("path-utf8-convert-bestfit", .type = SETTING_BOOL,
           .help = "Convert UTF-8 in paths to single bytes; unset: as the personality does"),
    OPTION("path-nul-encoded-terminates", .type = SETTING_BOOL, .default_value = "no",
           .help = "End a path at an encoded NUL byte"),
    OPTION("path-nul-raw-terminates", .type = SETTING_BOOL, .default_value = "no", .help = "End a path at a NUL byte"),
    OPTION("path-url-encoding-invalid-handling", .type = SETTING_ENUM, .default_value = "preserve_percent",
           .choices = invalid_handling, .help = "Treatment of a % without two hexadecimal digits"),
    OPTION("decompression-time-limit", .type = SETTING_NUMBER, .low = 0, .high = UINT32_MAX,
           .help = "Accepted without effect: decoding is limited by the decoded size, not by time"),
    OPTION("request-body-minimal-inspect-size", .type = SETTING_SIZE, .low = 0, .high = UINT32_MAX, .help = not_needed),
    OPTION("request-body-inspect-window", .type = SETTING_SIZE, .low = 0, .high = UINT32_MAX, .help = not_needed),
    OPTION("response-body-minimal-inspect-size", .type = SETTING_SIZE, .low = 0, .high = UINT32_MAX,
           .help = not_needed),
    OPTION("response-body-inspect-window", .type = SETTING_SIZE, .low = 0, .high = UINT32_MAX, .help = not_needed),
    OPTION("http-body-inline", .type = SETTING_ENUM, .choices = yes_no_auto, .help = not_needed),
    OPTION("randomize-inspection-sizes", .type = SETTING_BOOL, .help = not_needed),
    OPTION("randomize-inspection-range", .type = SETTING_NUMBER, .low = 0, .high = 100, .help = not_needed),
    OPTION("swf-decompression.enabled", .type = SETTING_BOOL,
           .help = "Accepted without effect: Flash files are not decoded"),
    OPTION("swf-decompression.type", .type = SETTING_STRING,
           .help = "Accepted without effect: Flash files are not decoded"),
    OPTION("swf-decompression.compress-depth", .type = SETTING_SIZE, .low = 0, .high = UINT32_MAX,
           .help = "Accepted without effect: Flash files are not decoded"),
    OPTION("swf-decompression.decompress-depth", .type = SETTING_SIZE, .low = 0, .high = UINT32_MAX,
           .help = "Accepted without effect: Flash files are not decoded"),
    { .name = "eve.types.alert.http-body",
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add the first 16 KiB of HTTP bodies in Base64" },
    { .name = "eve.types.alert.http-body-printable",
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add the first 16 KiB of HTTP bodies as text, with dots for unprintable bytes" },
    { .name = "app-layer.protocols.http.byterange.timeout",
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
      .type = SETTING_ENUM,
      .default_value = "inspect",
      .choices = ambiguous_choices,
      .help = "Treatment of requests whose body or chunks servers read in different ways; inspect: all readings are "
              "inspected; drop: inline the flow is dropped; pass: the most usual reading is inspected" },
    { .name = "app-layer.protocols.http.ambiguous-response-policy",
      .type = SETTING_ENUM,
      .default_value = "inspect",
      .choices = ambiguous_choices,
      .help = "Treatment of responses whose lines or body clients read in different ways; inspect: all readings are "
              "inspected; drop: inline the flow is dropped; pass: the reading of browsers is inspected" },
    { .name = "eve.types.http", .type = SETTING_SECTION, .help = "Event type http: an HTTP request with its response" },
    { .name = "eve.types.http.extended",
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add method, status, referer and length" },
    { .name = "eve.types.http.custom", .type = SETTING_LIST, .check = check_custom, .help = "Headers to add" },
    { .name = "eve.types.http.dump-all-headers",
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

static const struct http_settings defaults = {
    .personality = { .backslash_is_slash = true,
                     .compress_slashes = true,
                     .decode_slashes = true,
                     .decode_u = true,
                     .best_fit = true },
    .body_limit = { 100 << 10, 100 << 10 },
    .field_limit = HTTP_FIELD_DEFAULT,
    .headers_limit = 1024,
    .bomb_limit = 1 << 20,
    .decoder_layers = 2,
    .lzma_memory = 1 << 20,
    .log_extended = true,
    .range_timeout_ns = UINT64_C(60000000000),
};

const struct http_settings *http_default_settings(void)
{
    return &defaults;
}

const struct http_settings *http_settings_of(const struct app_context *context)
{
    const struct http_settings *settings = app_get_settings(context);

    return settings ? settings : &defaults;
}

/* --- Reading -------------------------------------------------------------------------------------- */

enum { NAME_SIZE = 128 };

/* Returns the name under which an option was set, or the long one. */
static const char *option_name(const struct config *config, const char *option, char *name)
{
    snprintf(name, NAME_SIZE, SHORT_NAME "%s", option);
    if (!config_is_set(config, name))
        snprintf(name, NAME_SIZE, LONG_NAME "%s", option);
    return name;
}

static uint32_t get_number(const struct config *config, const char *option)
{
    char name[NAME_SIZE];

    return (uint32_t)config_number(config, option_name(config, option, name));
}

static bool get_bool(const struct config *config, const char *option)
{
    char name[NAME_SIZE];

    return config_bool(config, option_name(config, option, name));
}

static const char *get_string(const struct config *config, const char *option)
{
    char name[NAME_SIZE];

    return config_string(config, option_name(config, option, name));
}

/* Replaces the value of the personality if the option is set. */
static void override_bool(const struct config *config, const char *option, bool *value)
{
    char name[NAME_SIZE];

    if (config_is_set(config, option_name(config, option, name)))
        *value = config_bool(config, name);
}

static void read_personality(const struct config *config, struct http_personality *p)
{
    const char *invalid = get_string(config, "path-url-encoding-invalid-handling");

    *p = parse_personality(get_string(config, "personality"));
    override_bool(config, "path-convert-backslash-separators", &p->backslash_is_slash);
    override_bool(config, "path-separators-compress", &p->compress_slashes);
    override_bool(config, "path-separators-decode", &p->decode_slashes);
    override_bool(config, "path-u-encoding-decode", &p->decode_u);
    override_bool(config, "path-utf8-convert-bestfit", &p->best_fit);
    p->lower_case = get_bool(config, "path-convert-lowercase");
    p->plus_is_space = get_bool(config, "query-plusspace-decode");
    p->nul_encoded_ends = get_bool(config, "path-nul-encoded-terminates");
    p->nul_raw_ends = get_bool(config, "path-nul-raw-terminates");
    if (strcmp(invalid, "remove_percent") == 0)
        p->invalid_percent = HTTP_PERCENT_REMOVE;
    else if (strcmp(invalid, "decode_invalid") == 0)
        p->invalid_percent = HTTP_PERCENT_DECODE;
}

static void read_log(const struct config *config, struct http_settings *settings)
{
    const char *dump = config_string(config, "eve.types.http.dump-all-headers");

    settings->log_extended = config_bool(config, "eve.types.http.extended");
    settings->alert_body = config_bool(config, "eve.types.alert.http-body");
    settings->alert_body_printable = config_bool(config, "eve.types.alert.http-body-printable");
    settings->dump_request_headers = strcmp(dump, "both") == 0 || strcmp(dump, "request") == 0;
    settings->dump_response_headers = strcmp(dump, "both") == 0 || strcmp(dump, "response") == 0;
    for (size_t i = 0; i < config_list_count(config, "eve.types.http.custom"); i++) {
        int field = http_log_field(config_list_get(config, "eve.types.http.custom", i));

        if (field >= 0)
            settings->custom |= UINT64_C(1) << field;
    }
}

static enum http_ambiguous_policy ambiguous_policy(const struct config *config, const char *name)
{
    const char *value = config_string(config, name);

    if (strcmp(value, "drop") == 0)
        return HTTP_AMBIGUOUS_DROP;
    return strcmp(value, "pass") == 0 ? HTTP_AMBIGUOUS_PASS : HTTP_AMBIGUOUS_INSPECT;
}

int http_configure(const struct config *config, struct diag *diag, void **out)
{
    struct http_settings *settings = calloc(1, sizeof(*settings));

    (void)diag;
    if (!settings)
        return -ENOMEM;
    read_personality(config, &settings->personality);
    settings->body_limit[FLOW_TO_SERVER] = get_number(config, "request-body-limit");
    settings->body_limit[FLOW_TO_CLIENT] = get_number(config, "response-body-limit");
    settings->decoder_layers = get_number(config, "response-body-decompress-layer-limit");
    if (settings->decoder_layers == 0)
        settings->decoder_layers = 8;
    settings->bomb_limit = get_number(config, "compression-bomb-limit");
    settings->lzma = get_bool(config, "lzma-enabled");
    settings->lzma_memory = get_number(config, "lzma-memlimit");
    settings->field_limit = get_number(config, "meta-field-limit");
    settings->headers_limit = get_number(config, "headers-limit");
    settings->double_decode_path = get_bool(config, "double-decode-path");
    settings->double_decode_query = get_bool(config, "double-decode-query");
    settings->uri_is_whole = get_bool(config, "uri-include-all");
    settings->ambiguous_policy[FLOW_TO_SERVER] =
        ambiguous_policy(config, "app-layer.protocols.http.ambiguous-request-policy");
    settings->ambiguous_policy[FLOW_TO_CLIENT] =
        ambiguous_policy(config, "app-layer.protocols.http.ambiguous-response-policy");
    settings->range_timeout_ns =
        (uint64_t)config_number(config, "app-layer.protocols.http.byterange.timeout") * UINT64_C(1000000000);
    read_log(config, settings);
    *out = settings;
    return 0;
}

void http_unconfigure(void *settings)
{
    free(settings);
}
