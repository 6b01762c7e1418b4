/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pcrexform:"/get\?data=(.*)"; replaces the buffer by the text that the capture group of a regular expression matched.
 * PCRE2's limits are fixed (transform_scratch.c): detect.pcre-match-limit does not apply.
 *
 * Ownership: release() frees the compiled pattern. If the transform cannot be added to the rule, parse() frees it.
 */
#include "keyword/payload/pcre_scratch_priv.h"

#include <errno.h>

#include "keyword/payload/pcre_compile.h"
#include "transform.h"
#include "transform_scratch_priv.h"

static bool pcrexform_transform(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length,
                                const void *data, const uint8_t **out, uint32_t *out_length)
{
    const pcre2_code *code = data;
    struct pcre_scratch *pcre = scratch->pcre;
    const PCRE2_SIZE *group = pcre2_get_ovector_pointer(pcre->match) + 2;
    int found = pcre2_match(code, bytes, length, 0, 0, pcre->match, pcre->context);

    if (found < 2 || group[0] > group[1] || group[1] > length)
        return transform_keep(bytes, length, out, out_length);
    return transform_keep(bytes + group[0], (uint32_t)(group[1] - group[0]), out, out_length);
}

static int pcrexform_parse(struct rule_parser *parser, struct span value)
{
    pcre2_code *code = NULL;
    uint32_t groups = 0;
    int err = pcre_compile(parser, value, 0, &code);

    if (err)
        return err;
    pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
    if (groups != 1)
        err = rule_parser_error(parser, value, "the pattern needs exactly one group, and has %u", groups);
    else
        err = rule_parser_add_transform(parser, code);
    if (err)
        pcre2_code_free(code);
    return err;
}

static int pcrexform_finish(struct rule_parser *parser, const struct condition *condition)
{
    (void)parser;
    pcre2_jit_compile((pcre2_code *)condition->data, PCRE2_JIT_COMPLETE);
    return 0;
}

static void pcrexform_release(const struct condition *condition)
{
    pcre2_code_free((pcre2_code *)condition->data);
}

const struct keyword keyword_pcrexform = {
    .name = "pcrexform",
    .value = "\"PATTERN\"",
    .help = "replace the buffer by the captured group of a regular expression; it stays unchanged without "
            "a match",
    .manual = "The pattern is written without slashes and flags and has exactly one group. A match stops "
              "after 3500 steps; detect.pcre-match-limit does not apply.",
    .kind = KEYWORD_TRANSFORM,
    .flags = KEYWORD_QUOTED | KEYWORD_QUOTES_REQUIRED,
    .parse = pcrexform_parse,
    .finish = pcrexform_finish,
    .release = pcrexform_release,
    .transform = { .apply = pcrexform_transform },
};
