/* SPDX-License-Identifier: GPL-2.0-or-later */
/* flowvar:NAME,"CONTENT"; matches if the text that a pcre stored in the flow under this name contains the content. */
#include "text_content.h"

static bool flowvar_match(const struct match_input *in, const void *data)
{
    const struct text_content *want = data;
    const struct flow *flow = in->packet->flow;
    uint32_t length = 0;
    const uint8_t *text = flow ? flow_text_get(flow, want->number, &length) : NULL;

    return text_content_is_in(want, text, length);
}

static int flowvar_parse(struct rule_parser *parser, struct span value)
{
    return text_content_parse(parser, RULE_NAME_FLOW_TEXT, value);
}

const struct keyword keyword_flowvar = {
    .name = "flowvar",
    .value = "NAME,\"CONTENT\"",
    .help = "content of a text that a pcre captured for the flow (flow:NAME)",
    .manual = "Rules that capture a text are evaluated before rules that test it, also within the same "
              "packet.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = flowvar_parse,
    .packet = { .cost = 2, .match = flowvar_match },
};
