/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pcre_compile.h"

#include <errno.h>

static int report(struct rule_parser *parser, struct span pattern, int error, PCRE2_SIZE at)
{
    PCRE2_UCHAR message[128];

    pcre2_get_error_message(error, message, sizeof(message));
    if (at > pattern.length)
        at = pattern.length;
    return rule_parser_error(parser, (struct span){ .at = pattern.at + at, .length = at < pattern.length ? 1 : 0 },
                             "pcre: %s", (const char *)message);
}

int pcre_compile(struct rule_parser *parser, struct span pattern, uint32_t flags, pcre2_code **out)
{
    PCRE2_SPTR text = (PCRE2_SPTR)pattern.at;
    uint32_t compiled_flags = 0;
    PCRE2_SIZE at;
    int error;

    *out = pcre2_compile(text, pattern.length, flags, &error, &at, NULL);
    if (!*out && error == PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE && flags & PCRE2_NO_AUTO_CAPTURE)
        *out = pcre2_compile(text, pattern.length, flags & ~(uint32_t)PCRE2_NO_AUTO_CAPTURE, &error, &at, NULL);
    /* Traffic is not always UTF-8. With PCRE2_MATCH_INVALID_UTF, a pattern that begins with (*UTF) also matches in a
     * buffer that contains invalid UTF-8. The flag implies PCRE2_UTF, so it is not set for other patterns. */
    if (*out && pcre2_pattern_info(*out, PCRE2_INFO_ALLOPTIONS, &compiled_flags) == 0 && compiled_flags & PCRE2_UTF &&
        !(flags & PCRE2_MATCH_INVALID_UTF)) {
        pcre2_code_free(*out);
        return pcre_compile(parser, pattern, flags | PCRE2_MATCH_INVALID_UTF, out);
    }
    if (*out)
        return 0;
    return error == PCRE2_ERROR_HEAP_FAILED ? -ENOMEM : report(parser, pattern, error, at);
}
