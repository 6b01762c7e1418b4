/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsing of SIP messages and SDP bodies. Lines end with CR LF or LF; the values of headers are not unfolded. */
#include <errno.h>
#include <string.h>

#include "sip_priv.h"
#include "sluice/bytes.h"
#include "sluice/text.h"

enum {
    LINE_MAX = 4096, /* longest first line that identifies the protocol */
    METHOD_MIN = 3,  /* ACK, BYE */
    METHOD_MAX = 32, /* longest method that identifies the protocol */
    VERSION_MIN = 7, /* bytes of "SIP/2.0" */
    CODE_LENGTH = 3,
};

/* --- Lines and words --------------------------------------------------------------------------------- */

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

/* Consumes a line with its end. Returns false at the end of the bytes. */
static bool next_line(struct cursor *cur, struct span *line)
{
    size_t left = cursor_remaining(cur);
    const uint8_t *end = left > 0 ? memchr(cur->at, '\n', left) : NULL;
    size_t length = end ? (size_t)(end - cur->at) : left;

    if (left == 0)
        return false;
    *line = (struct span){ .at = (const char *)cur->at, .length = length };
    if (length > 0 && line->at[length - 1] == '\r')
        line->length--;
    return cursor_skip(cur, length + (end != NULL));
}

static struct sip_text locate(const struct sip_tx *tx, struct span span)
{
    return (struct sip_text){ .at = (uint32_t)((const uint8_t *)span.at - tx->text.bytes),
                              .length = (uint32_t)span.length };
}

/* Removes the first word and the blanks after it from the text, and returns it. */
static struct span take_word(struct span *text)
{
    struct span word = { .at = text->at };

    while (word.length < text->length && !is_blank((uint8_t)text->at[word.length]))
        word.length++;
    *text = span_trim((struct span){ .at = text->at + word.length, .length = text->length - word.length });
    return word;
}

/* Whether the text is a version of SIP: "SIP/" and a number. */
static bool is_version(struct span text)
{
    return text.length >= VERSION_MIN && memcmp(text.at, "SIP/", 4) == 0 && text.at[4] >= '0' && text.at[4] <= '9';
}

/* --- Head -------------------------------------------------------------------------------------------- */

static bool parse_start_line(struct sip_tx *tx, struct span line)
{
    struct span rest = line, first = take_word(&rest);

    tx->start_line = locate(tx, line);
    if (is_version(first)) {
        struct span code = take_word(&rest);

        tx->version = locate(tx, first);
        tx->code = locate(tx, code);
        tx->reason = locate(tx, rest);
        return code.length == CODE_LENGTH;
    }
    struct span version = { .at = rest.at + rest.length };

    while (version.length < rest.length && !is_blank((uint8_t)version.at[-1])) {
        version.at--;
        version.length++;
    }
    rest.length -= version.length;
    tx->is_request = true;
    tx->method = locate(tx, first);
    tx->uri = locate(tx, span_trim(rest));
    tx->version = locate(tx, version);
    return first.length > 0 && tx->uri.length > 0 && is_version(version);
}

static enum sip_header find_header(struct span name)
{
    static const struct {
        const char *name, *compact;
    } names[SIP_HEADERS] = {
        [SIP_FROM] = { "From", "f" },
        [SIP_TO] = { "To", "t" },
        [SIP_VIA] = { "Via", "v" },
        [SIP_USER_AGENT] = { "User-Agent", NULL },
        [SIP_CONTENT_TYPE] = { "Content-Type", "c" },
        [SIP_CONTENT_LENGTH] = { "Content-Length", "l" },
    };
    enum sip_header header = 0;

    while (header < SIP_HEADERS && !span_equal_nocase(name, names[header].name) &&
           !(names[header].compact && span_equal_nocase(name, names[header].compact)))
        header++;
    return header;
}

/* Content-Length consists of digits; text_to_uint() would also read a hexadecimal number. */
static bool parse_length(struct span value, uint64_t *length)
{
    for (size_t i = 0; i < value.length; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return false;
    }
    return text_to_uint(value.at, value.length, 0, UINT32_MAX, length);
}

/* Stores the value of a header that has a keyword; `value` includes the lines that continue it. */
static int add_field(struct heap *heap, struct sip_tx *tx, struct span name, struct span value, uint32_t *counts,
                     uint64_t *body_length)
{
    struct sip_field field = { .header = find_header(span_trim(name)) };
    uint64_t length;

    if (field.header == SIP_HEADERS)
        return 0;
    value = span_trim(value);
    field.value = locate(tx, value);
    if (counts[field.header]++ == SIP_VALUES_MAX)
        return -EINVAL;
    if (field.header == SIP_CONTENT_LENGTH) {
        /* Receivers that disagree about the length would read different messages. */
        if (!parse_length(value, &length) || (*body_length != UINT64_MAX && *body_length != length))
            return -EINVAL;
        *body_length = length;
    }
    return buffer_append(heap, &tx->fields, &field, sizeof(field), UINT32_MAX) == sizeof(field) ? 0 : -ENOMEM;
}

int sip_parse_head(struct heap *heap, struct sip_tx *tx, const uint8_t *bytes, uint32_t length, uint64_t *body_length)
{
    uint32_t counts[SIP_HEADERS] = { 0 };
    struct span line, name = { 0 }, value = { 0 };
    struct cursor cur;
    int err = 0;

    *body_length = UINT64_MAX;
    if (buffer_append(heap, &tx->text, bytes, length, UINT32_MAX) < length)
        return -ENOMEM;
    cur = cursor_of(tx->text.bytes, length);
    if (!next_line(&cur, &line) || !parse_start_line(tx, line))
        return -EINVAL;
    tx->is_parsed = true;
    while (next_line(&cur, &line) && line.length > 0) {
        const char *colon = memchr(line.at, ':', line.length);

        if (is_blank((uint8_t)line.at[0])) { /* continues the previous line */
            if (value.at)
                value.length = (size_t)(line.at - value.at) + line.length;
            continue;
        }
        if (value.at && (err = add_field(heap, tx, name, value, counts, body_length)))
            return err;
        value = (struct span){ 0 };
        if (!colon)
            continue;
        name = (struct span){ .at = line.at, .length = (size_t)(colon - line.at) };
        value = (struct span){ .at = colon + 1, .length = line.length - name.length - 1 };
    }
    return value.at ? add_field(heap, tx, name, value, counts, body_length) : 0;
}

/* --- SDP --------------------------------------------------------------------------------------------- */

static bool has_sdp(const struct sip_tx *tx)
{
    static const char type[] = "application/sdp";

    for (uint32_t i = 0; i < sip_field_count(tx); i++) {
        const struct sip_field *field = sip_get_field(tx, i);
        const char *text = (const char *)tx->text.bytes + field->value.at;
        uint32_t length = sizeof(type) - 1;

        if (field->header == SIP_CONTENT_TYPE && field->value.length >= length &&
            span_equal_nocase((struct span){ text, length }, type) &&
            (field->value.length == length || text[length] == ';' || is_blank((uint8_t)text[length])))
            return true;
    }
    return false;
}

int sip_parse_body(struct heap *heap, struct sip_tx *tx, const uint8_t *bytes, uint32_t length)
{
    uint32_t start = tx->text.length;
    struct sip_sdp_line entry = { .media = 0 };
    struct cursor cur;
    struct span line;

    if (length == 0 || !has_sdp(tx))
        return 0;
    if (buffer_append(heap, &tx->text, bytes, length, UINT32_MAX) < length)
        return -ENOMEM;
    cur = cursor_of(tx->text.bytes + start, length);
    while (next_line(&cur, &line)) {
        if (line.length < 2 || line.at[1] != '=')
            continue;
        if (sip_sdp_count(tx) == SIP_SDP_LINES_MAX)
            return -EINVAL;
        entry.type = line.at[0];
        entry.media += entry.type == 'm';
        entry.value = locate(tx, (struct span){ .at = line.at + 2, .length = line.length - 2 });
        if (buffer_append(heap, &tx->sdp, &entry, sizeof(entry), UINT32_MAX) < sizeof(entry))
            return -ENOMEM;
    }
    return 0;
}

/* --- Detection --------------------------------------------------------------------------------------- */

enum app_probe_result sip_probe_line(const uint8_t *bytes, uint32_t length, bool *is_request)
{
    static const char response[] = "SIP/";
    const uint8_t *end = memchr(bytes, '\n', length < LINE_MAX ? length : LINE_MAX);
    uint32_t prefix = length < sizeof(response) - 1 ? length : (uint32_t)sizeof(response) - 1, at = 0;
    struct span line = { .at = (const char *)bytes, .length = end ? (size_t)(end - bytes) : length };

    if (line.length > 0 && line.at[line.length - 1] == '\r')
        line.length--;
    *is_request = memcmp(bytes, response, prefix) != 0;
    if (!*is_request && line.length >= VERSION_MIN)
        return is_version(line) ? APP_YES : APP_NO;
    if (!*is_request)
        return end ? APP_NO : APP_UNSURE;
    while (at < line.length && line.at[at] >= 'A' && line.at[at] <= 'Z')
        at++;
    if (at > METHOD_MAX || (at < line.length && (at < METHOD_MIN || line.at[at] != ' ')))
        return APP_NO;
    if (!end)
        return length < LINE_MAX ? APP_UNSURE : APP_NO;
    struct span uri = span_trim((struct span){ .at = line.at + at, .length = line.length - at });
    size_t version = uri.length;

    while (version > 0 && uri.at[version - 1] != ' ')
        version--;
    return version > 0 && is_version((struct span){ .at = uri.at + version, .length = uri.length - version }) ? APP_YES
                                                                                                              : APP_NO;
}
