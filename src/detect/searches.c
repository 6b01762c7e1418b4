/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The searches of a ruleset. A search is a matcher of a prefilter: a Hyperscan database in its use for one buffer and
 * group of traffic. Each search has a number, by which its cost is counted (budget.c) and described for `sluice costs`.
 */
#include <string.h>

#include "detect_priv.h"
#include "sluice/app.h"
#include "sluice/text.h"

static int visit_group(const struct rule_group *group, struct prefilter_use use, prefilter_visitor *visit, void *user)
{
    struct prefilter *prefilters[GROUP_PREFILTERS];
    int result = 0;

    group_prefilters(group, prefilters);
    for (use.number = 0; use.number < GROUP_PREFILTERS && !result; use.number++) {
        use.prefilter = prefilters[use.number];
        if (use.prefilter)
            result = visit(user, &use);
    }
    return result;
}

int ruleset_visit_prefilters(const struct ruleset *ruleset, prefilter_visitor *visit, void *user)
{
    int result = 0;

    for (uint32_t i = 0; i < TRAFFIC_COUNT && !result; i++)
        result = visit_group(&ruleset->generic[i], (struct prefilter_use){ .of = PREFILTER_OF_TRAFFIC, .index = i },
                             visit, user);
    for (uint32_t i = 0; i < ruleset->buffer_count && !result; i++)
        result = visit(user, &(struct prefilter_use){ ruleset->buffers[i].prefilter, PREFILTER_OF_BUFFER, i, 0 });
    for (uint32_t i = 0; i < transaction_group_count() && !result; i++) {
        const struct transaction_group *group = &ruleset->transactions[i];

        for (uint32_t k = 0; k < transaction_prefilter_count(group) && !result; k++) {
            struct prefilter *prefilter = transaction_prefilter(group, k);

            if (prefilter)
                result = visit(user, &(struct prefilter_use){ prefilter, PREFILTER_OF_TRANSACTION, i, k });
        }
    }
    for (uint32_t i = 0; i < frame_group_count(ruleset) && !result; i++) {
        if (frame_prefilter(ruleset, i))
            result = visit(user, &(struct prefilter_use){ frame_prefilter(ruleset, i), PREFILTER_OF_FRAME, i, 0 });
    }
    for (uint32_t i = 0; i < ruleset->group_count && !result; i++)
        result = visit_group(&ruleset->groups[i], (struct prefilter_use){ .of = PREFILTER_OF_PORTS, .index = i }, visit,
                             user);
    return result;
}

static int number_searches(void *user, const struct prefilter_use *use)
{
    prefilter_number(use->prefilter, user);
    return 0;
}

void ruleset_number_searches(struct ruleset *ruleset)
{
    ruleset->search_count = 0;
    ruleset_visit_prefilters(ruleset, number_searches, &ruleset->search_count);
}

uint32_t ruleset_search_count(const struct ruleset *ruleset)
{
    return ruleset->search_count;
}

/* --- Description ---------------------------------------------------------------------------------- */

struct description {
    const struct ruleset *ruleset;
    uint32_t number;
    struct text *out;
};

static const char *const direction_names[] = { [FLOW_TO_SERVER] = "to_server", [FLOW_TO_CLIENT] = "to_client" };

static void put_traffic(const struct description *description, enum traffic traffic, const struct rule_group *group,
                        uint32_t side)
{
    static const char *const names[] = { [TRAFFIC_TCP] = "tcp", [TRAFFIC_UDP] = "udp", [TRAFFIC_OTHER] = "other" };
    bool is_shared = group->to[FLOW_TO_SERVER].prefilter == group->to[FLOW_TO_CLIENT].prefilter;

    json_string(description->out, "protocol", names[traffic]);
    json_string(description->out, "direction", is_shared ? "both" : direction_names[side]);
}

/* Writes the ports that belong to a group of ports, the first PORTS_SHOWN of them. */
static void put_ports(const struct description *description, const struct prefilter_use *use)
{
    enum { PORTS_SHOWN = 4, PORTS = UINT16_MAX + 1 };
    const struct ruleset *ruleset = description->ruleset;
    struct text ports;
    size_t first = 0, count = 0;

    text_init(&ports);
    for (size_t i = 0; i < (size_t)PORT_TRAFFICS * PORT_ENDS * PORTS; i++) {
        if (ruleset->group_of[i] != use->index)
            continue;
        if (count++ == 0)
            first = i;
        if (count <= PORTS_SHOWN)
            text_printf(&ports, "%s%zu", count > 1 ? ", " : "", i % PORTS);
    }
    put_traffic(description, (enum traffic)(first / PORTS / PORT_ENDS), &ruleset->groups[use->index], use->number);
    if (count > PORTS_SHOWN)
        text_printf(&ports, " and %zu more", count - PORTS_SHOWN);
    text_puts(&ports, first / PORTS % PORT_ENDS == PORT_SOURCE ? " (source)" : "");
    json_string(description->out, "ports", ports.length > 0 ? ports.bytes : "");
    text_clear(&ports);
}

/* Adds the names of the buffers of a group that the prefilter searches. */
static void add_buffers(struct text *name, const struct transaction_group *group, const struct prefilter *prefilter)
{
    for (uint32_t i = 0; i < group->buffer_count; i++) {
        const struct transaction_buffer *buffer = &group->buffers[i];

        if (buffer->prefilter != prefilter)
            continue;
        text_printf(name, "%s%s", name->length > 0 ? ", " : "", buffer->access->keyword->name);
        for (const struct condition *c = buffer->transforms; c; c = c->next)
            text_printf(name, "%s%s", c == buffer->transforms ? " after " : ", ", c->keyword->name);
    }
}

static int describe_search(void *user, const struct prefilter_use *use)
{
    const struct description *description = user;
    const struct ruleset *ruleset = description->ruleset;
    const struct matcher *matcher = prefilter_search(use->prefilter, description->number);
    const struct transaction_group *group;
    const struct app_proto *proto;
    struct text name;

    if (!matcher)
        return 0;
    text_init(&name);
    switch (use->of) {
    case PREFILTER_OF_TRAFFIC:
        text_puts(&name, "payload");
        put_traffic(description, use->index, &ruleset->generic[use->index], use->number);
        json_string(description->out, "ports", "any");
        break;
    case PREFILTER_OF_PORTS:
        text_puts(&name, "payload");
        put_ports(description, use);
        break;
    case PREFILTER_OF_BUFFER:
        text_puts(&name, ruleset->buffers[use->index].buffer->name);
        break;
    case PREFILTER_OF_FRAME:
        proto = app_proto_by_id(use->index / APP_FRAME_TYPES);
        text_printf(&name, "frame %s",
                    use->index % APP_FRAME_TYPES == APP_FRAME_STREAM ? "stream"
                                                                     : proto->frames[use->index % APP_FRAME_TYPES]);
        json_string(description->out, "protocol", proto->name);
        break;
    case PREFILTER_OF_TRANSACTION:
        group = &ruleset->transactions[use->index];
        if (use->prefilter == group->merged)
            text_puts(&name, "payload");
        add_buffers(&name, group, use->prefilter == group->merged ? group->growing : use->prefilter);
        json_string(description->out, "protocol", app_proto_by_id(use->index / FLOW_DIRECTIONS)->name);
        json_string(description->out, "direction",
                    direction_names[use->number < group->buffer_count ? group->buffers[use->number].direction
                                                                      : use->index % FLOW_DIRECTIONS]);
        break;
    }
    if (matcher_reach(matcher) != LITERAL_ANYWHERE)
        text_printf(&name, " (first %u bytes)", matcher_reach(matcher));
    json_string(description->out, "buffer", name.length > 0 ? name.bytes : "");
    text_clear(&name);
    matcher_describe(matcher, description->out);
    return 1;
}

void ruleset_describe_search(const struct ruleset *ruleset, uint32_t number, struct text *out)
{
    struct description description = { ruleset, number, out };

    ruleset_visit_prefilters(ruleset, describe_search, &description);
}
