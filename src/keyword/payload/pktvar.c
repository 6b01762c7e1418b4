/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pktvar:NAME,"CONTENT"; matches if the text that a pcre of another rule captured from the current packet under this
 * name contains the content. */
#include "sluice/decision.h"
#include "text_content.h"

static bool pktvar_match(const struct match_input *in, const void *data)
{
    const struct text_content *want = data;

    for (uint32_t i = 0; in->texts && i < in->texts->count; i++) {
        const struct rule_capture *text = &in->texts->list[i];

        if (text->kind == RULE_NAME_PACKET_TEXT && text->number == want->number)
            return text_content_is_in(want, text->bytes, text->length);
    }
    return false;
}

static int pktvar_parse(struct rule_parser *parser, struct span value)
{
    return text_content_parse(parser, RULE_NAME_PACKET_TEXT, value);
}

const struct keyword keyword_pktvar = {
    .name = "pktvar",
    .value = "NAME,\"CONTENT\"",
    .help = "content of a text that a pcre of another rule captured from this packet (pkt:NAME)",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = pktvar_parse,
    .packet = { .cost = 2, .match = pktvar_match },
};
