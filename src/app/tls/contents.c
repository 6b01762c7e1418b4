/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks of `content` patterns on fingerprints and serial numbers. These buffers have a fixed format: patterns are
 * converted to the case of the buffer, and patterns that can never match are rejected, as in Suricata.
 */
#include <errno.h>
#include <string.h>

#include "tls_priv.h"

enum { MD5_DIGITS = 32, SHA1_DIGITS = 59 };

static int convert_contents(struct rule_parser *parser, const struct condition *conditions, bool is_upper)
{
    const uint8_t from = is_upper ? 'a' : 'A'; /* first letter of the other case */

    for (const struct condition *c = conditions; c; c = c->next) {
        struct content *content = condition_content(c);

        if (!content)
            continue;
        uint8_t *bytes = arena_alloc(rule_parser_arena(parser), content->length + 1u);

        if (!bytes)
            return -ENOMEM;
        for (uint16_t i = 0; i < content->length; i++)
            bytes[i] = content->bytes[i] >= from && content->bytes[i] < from + 26 ? content->bytes[i] ^ 0x20
                                                                                  : content->bytes[i];
        content->bytes = bytes;
    }
    return 0;
}

static int content_error(struct rule_parser *parser, const char *what)
{
    return rule_parser_error(parser, (struct span){ "", 0 }, "%s", what); /* position: the rule itself */
}

int tls_finish_ja3(struct rule_parser *parser, const struct condition *conditions)
{
    for (const struct condition *c = conditions; c; c = c->next) {
        if (condition_content(c) && condition_content(c)->length != MD5_DIGITS)
            return content_error(parser, "this content can never match: a JA3 hash has 32 hexadecimal digits");
    }
    return convert_contents(parser, conditions, false);
}

int tls_finish_ja4(struct rule_parser *parser, const struct condition *conditions)
{
    return convert_contents(parser, conditions, false);
}

int tls_finish_fingerprint(struct rule_parser *parser, const struct condition *conditions)
{
    for (const struct condition *c = conditions; c; c = c->next) {
        const struct content *content = condition_content(c);

        if (content && (content->length != SHA1_DIGITS || !memchr(content->bytes, ':', content->length)))
            return content_error(parser,
                                 "this content can never match: a fingerprint is 20 hexadecimal bytes separated by "
                                 "colons");
    }
    return convert_contents(parser, conditions, false);
}

int tls_finish_serial(struct rule_parser *parser, const struct condition *conditions)
{
    for (const struct condition *c = conditions; c; c = c->next) {
        const struct content *content = condition_content(c);

        if (content && content->length > 2 && !memchr(content->bytes, ':', content->length))
            return content_error(parser,
                                 "this content can never match: the bytes of a serial number are separated by colons");
    }
    return convert_contents(parser, conditions, true);
}
