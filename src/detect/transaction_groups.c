/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of transaction rules by protocol and direction: a prefilter for each buffer with literals, and the list of
 * rules without one.
 *
 * A rule may be for several protocols (file.data) and for both directions; it has a plan for each, with the access to
 * its buffers and the lowest progress at which it can be decided.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

static bool names_protocol(const struct rule *rule, unsigned id)
{
    for (const char *const *word = rule->applications; word && *word; word++) {
        if (app_id_by_name(*word) == id)
            return true;
    }
    return rule->applications == NULL;
}

static bool carries_files(const struct app_proto *proto, enum flow_direction direction)
{
    for (size_t i = 0; i < proto->buffer_count; i++)
        if (proto->buffers[i].keyword == &keyword_file_data && proto->buffers[i].direction == direction)
            return true;
    return false;
}

static const struct app_buffer *transaction_access(const struct app_proto *proto, const struct keyword *keyword,
                                                   enum flow_direction direction)
{
    for (size_t i = 0; i < proto->buffer_count; i++) {
        if (proto->buffers[i].keyword == keyword && proto->buffers[i].direction == direction)
            return &proto->buffers[i];
    }
    if ((keyword == &keyword_file_name || keyword == &keyword_file_magic) && carries_files(proto, direction))
        return app_file_buffer(keyword, direction);
    return NULL;
}

/* Returns the lowest progress at which the condition can be evaluated; -1: never. A keyword without protocols applies
 * to all. */
static int condition_progress(const struct app_proto *proto, const struct keyword *keyword,
                              enum flow_direction direction)
{
    for (size_t i = 0; i < proto->condition_count; i++) {
        if (proto->conditions[i].keyword == keyword && proto->conditions[i].direction == direction)
            return proto->conditions[i].progress;
    }
    return keyword->applications ? -1 : 0;
}

/* --- Plans ---------------------------------------------------------------------------------------- */

static unsigned count_buffers(const struct rule *rule)
{
    unsigned count = 0;

    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next)
        count++;
    return count;
}

/* Returns the direction of a part of the rule that is evaluated in `direction`. */
static enum flow_direction direction_of(uint8_t directions, enum flow_direction direction)
{
    if (directions == 0)
        return direction;
    return directions >> FLOW_TO_SERVER & 1 ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
}

/* The plan's progress is that of its own direction, because only that progress triggers the evaluation. */
static void note_progress(struct transaction_plan *plan, enum flow_direction direction, uint8_t progress)
{
    if (direction == plan->direction && progress > plan->progress)
        plan->progress = progress;
}

static bool set_access(struct transaction_plan *plan, const struct rule *rule, const struct app_proto *proto)
{
    unsigned at = 0;

    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next, at++) {
        enum flow_direction direction = direction_of(buffer->directions, plan->direction);
        const struct app_buffer *access;

        if (!buffer->keyword || !buffer->keyword->applications || (plan->half && direction != plan->direction)) {
            plan->packet_buffers = true;
            continue;
        }
        access = transaction_access(proto, buffer->keyword, direction);
        if (!access)
            return false;
        plan->access[at] = access;
        plan->grows |= access->grows;
        note_progress(plan, direction, access->progress);
    }
    return true;
}

static bool set_condition_progress(struct transaction_plan *plan, const struct rule *rule,
                                   const struct app_proto *proto)
{
    unsigned at = 0;

    for (const struct condition *c = rule->transaction_conditions; c; c = c->next, at++) {
        enum flow_direction direction = direction_of(c->directions, plan->direction);
        int progress = condition_progress(proto, c->keyword, direction);

        if (progress < 0)
            return false;
        plan->condition_progress[at] = (uint8_t)progress;
        plan->events |= c->keyword->applications == NULL;
        plan->on_event |= c->keyword->applications == NULL && !c->negated;
        if (progress > plan->progress)
            plan->progress = (uint8_t)progress;
        note_progress(plan, direction, (uint8_t)progress);
    }
    return true;
}

static struct transaction_plan *new_plan(struct ruleset *ruleset, const struct rule *rule)
{
    unsigned conditions = 0;

    for (const struct condition *c = rule->transaction_conditions; c; c = c->next)
        conditions++;

    struct transaction_plan *plan = arena_alloc(ruleset->arena, sizeof(*plan));

    if (!plan)
        return NULL;
    plan->access = arena_alloc(ruleset->arena, (count_buffers(rule) + 1) * sizeof(*plan->access));
    plan->condition_progress = arena_alloc(ruleset->arena, conditions + 1);
    return plan->access && plan->condition_progress ? plan : NULL;
}

/* --- Groups --------------------------------------------------------------------------------------- */

static bool same_transforms(const struct condition *a, const struct condition *b)
{
    for (; a && b; a = a->next, b = b->next) {
        if (a->keyword != b->keyword || a->data != b->data)
            return false;
    }
    return !a && !b;
}

static int set_prefilter(struct transaction_group *group, struct transaction_buffer *slot)
{
    if (!slot->access->grows || slot->transforms)
        return prefilter_new(&slot->prefilter);
    if (!group->growing && prefilter_new(&group->growing))
        return -ENOMEM;
    slot->prefilter = group->growing;
    return 0;
}

/* Finds or creates the group's entry for the buffer, in order of creation. Returns NULL if the group is full or memory
 * is exhausted. */
static struct transaction_buffer *group_buffer(struct transaction_group *group, const struct app_buffer *access,
                                               const struct rule_buffer *buffer)
{
    struct transaction_buffer *list, *slot;

    for (uint32_t i = 0; i < group->buffer_count; i++) {
        if (group->buffers[i].access == access && same_transforms(group->buffers[i].transforms, buffer->transforms))
            return &group->buffers[i];
    }
    if (group->buffer_count == TRANSACTION_BUFFERS)
        return NULL;
    list = realloc(group->buffers, (group->buffer_count + 1) * sizeof(*list));
    if (!list)
        return NULL;
    group->buffers = list;
    slot = &list[group->buffer_count];
    *slot = (struct transaction_buffer){ .access = access, .transforms = buffer->transforms };
    if (set_prefilter(group, slot))
        return NULL;
    group->buffer_count++;
    return slot;
}

/* Adds a rule without a literal. Rules that require an event are behind all others, because most transactions have
 * none. */
static int add_unfiltered(struct transaction_group *group, uint32_t signature, const struct transaction_plan *plan)
{
    struct transaction_unfiltered *slot;

    if (group->unfiltered_count == group->unfiltered_capacity) {
        uint32_t capacity = group->unfiltered_capacity ? group->unfiltered_capacity * 2 : 16;
        struct transaction_unfiltered *list = realloc(group->unfiltered, capacity * sizeof(*list));

        if (!list)
            return -ENOMEM;
        group->unfiltered = list;
        group->unfiltered_capacity = capacity;
    }
    slot = &group->unfiltered[group->unfiltered_count++];
    if (!plan->on_event) {
        struct transaction_unfiltered *first = &group->unfiltered[group->unfiltered_always++];

        *slot = *first;
        slot = first;
    }
    *slot = (struct transaction_unfiltered){
        .signature = signature,
        .progress = plan->progress,
        .always = plan->grows || plan->files || plan->events,
    };
    return 0;
}

static bool is_growing(const struct transaction_buffer *buffer)
{
    return buffer && buffer->access->grows;
}

/* The half plan is created first. */
static bool has_half(const struct signature *signature, uint8_t proto)
{
    for (const struct transaction_plan *plan = signature->plans; plan; plan = plan->next) {
        if (plan->half && plan->proto == proto)
            return true;
    }
    return false;
}

/* Returns the directions of which the literal may be: if the rule has a half plan, each plan has a literal of its own
 * direction, because growing buffers exist only while they are received. */
static unsigned literal_directions(const struct signature *signature, const struct transaction_plan *plan)
{
    if (!signature->transactional || (!plan->half && !has_half(signature, plan->proto)))
        return LITERAL_BOTH_WAYS;
    return 1U << plan->direction;
}

static int add_to_group(struct ruleset *ruleset, uint32_t index, const struct transaction_plan *plan)
{
    struct transaction_group *group = &ruleset->transactions[plan->proto * FLOW_DIRECTIONS + plan->direction];
    const struct signature *signature = &ruleset->signatures[index];
    struct literal literal;

    group->has_rules = true;
    if (signature->by_payload)
        return signature_list_add(&group->by_payload, index);
    if (literal_choose(signature->rule, true, literal_directions(signature, plan), &literal)) {
        enum flow_direction direction = direction_of(literal.rule_buffer->directions, plan->direction);
        struct transaction_buffer *buffer = group_buffer(
            group, transaction_access(app_proto_by_id(plan->proto), literal.buffer, direction), literal.rule_buffer);

        literal.grows = is_growing(buffer);
        literal.is_whole = !literal.grows;
        if (literal.grows)
            literal.at = LITERAL_ANYWHERE;
        /* The table of buffers is full: the rule still works, but is evaluated more often. */
        if (buffer)
            return prefilter_add(buffer->prefilter, &literal, index);
    }
    return add_unfiltered(group, index, plan);
}

static bool carries_all_files(const struct rule *rule, const struct app_proto *proto, enum flow_direction direction)
{
    for (const struct condition *c = rule->file_conditions; c; c = c->next) {
        if (!carries_files(proto, direction_of(c->directions, direction)))
            return false;
    }
    return true;
}

static int add_plan(struct ruleset *ruleset, uint32_t index, const struct transaction_plan *template)
{
    struct signature *signature = &ruleset->signatures[index];
    const struct rule *rule = signature->rule;
    const struct app_proto *proto = app_proto_by_id(template->proto);
    struct transaction_plan *plan;

    if (rule->directions && !(rule->directions >> template->direction & 1))
        return 0;
    if (!carries_all_files(rule, proto, template->direction))
        return 0;
    plan = new_plan(ruleset, rule);
    if (!plan)
        return -ENOMEM;
    plan->proto = template->proto;
    plan->direction = template->direction;
    plan->half = template->half;
    plan->files = rule->file_conditions != NULL;
    if (!set_access(plan, rule, proto) || !set_condition_progress(plan, rule, proto))
        return 0; /* this protocol lacks a buffer or condition of the rule */
    plan->next = signature->plans;
    signature->plans = plan;
    return add_to_group(ruleset, index, plan);
}

/* Whether the rule uses data of the direction to the server that exists only while it is received. */
static bool needs_half(const struct rule *rule, const struct app_proto *proto)
{
    for (const struct condition *c = rule->file_conditions; c; c = c->next) {
        if (c->directions >> FLOW_TO_SERVER & 1)
            return true;
    }
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        const struct app_buffer *access = buffer->keyword && buffer->directions >> FLOW_TO_SERVER & 1
                                              ? transaction_access(proto, buffer->keyword, FLOW_TO_SERVER)
                                              : NULL;

        if (access && access->grows)
            return true;
    }
    return false;
}

static int add_transactional(struct ruleset *ruleset, uint32_t index, unsigned id)
{
    struct transaction_plan half = { .proto = (uint8_t)id, .direction = FLOW_TO_SERVER, .half = true };
    struct transaction_plan whole = { .proto = (uint8_t)id, .direction = FLOW_TO_CLIENT };
    int err = 0;

    if (needs_half(ruleset->signatures[index].rule, app_proto_by_id(id)))
        err = add_plan(ruleset, index, &half);
    return err ? err : add_plan(ruleset, index, &whole);
}

static int add_for_protocol(struct ruleset *ruleset, uint32_t index, unsigned id)
{
    int err = 0;

    if (ruleset->signatures[index].transactional)
        return add_transactional(ruleset, index, id);
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && !err; direction++) {
        struct transaction_plan plan = { .proto = (uint8_t)id, .direction = (uint8_t)direction };

        err = add_plan(ruleset, index, &plan);
    }
    return err;
}

int transaction_rule_add(struct ruleset *ruleset, uint32_t index)
{
    int err = 0;

    for (unsigned id = 1; id <= app_list_count && !err; id++) {
        if (names_protocol(ruleset->signatures[index].rule, id))
            err = add_for_protocol(ruleset, index, id);
    }
    return err;
}

int transaction_groups_merge(struct ruleset *ruleset)
{
    int err = 0;

    for (size_t i = FLOW_DIRECTIONS; i < transaction_group_count() && !err; i++) {
        struct transaction_group *group = &ruleset->transactions[i];
        struct prefilter *of_stream = ruleset->generic[TRAFFIC_TCP].to[i % FLOW_DIRECTIONS].prefilter;

        if (!app_proto_by_id((unsigned)(i / FLOW_DIRECTIONS))->grows_at_segment_end || !of_stream || !group->growing)
            continue;
        while (group->buffers[group->merged_buffer].prefilter != group->growing)
            group->merged_buffer++;
        err = prefilter_merge(&group->merged, of_stream, group->growing);
    }
    return err;
}

bool rule_is_of_transaction(const struct rule *rule)
{
    if (rule->transaction_conditions || rule->file_conditions)
        return true;
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        if (buffer->keyword && buffer->keyword->applications)
            return true;
    }
    return false;
}

uint64_t rule_application_mask(const struct rule *rule)
{
    uint64_t mask = 0;

    for (const char *const *word = rule->applications; word && *word; word++) {
        unsigned id = app_id_by_name(*word);

        if (id > 0)
            mask |= UINT64_C(1) << id;
    }
    return mask;
}

void transaction_groups_clear(struct ruleset *ruleset)
{
    for (size_t i = 0; ruleset->transactions && i < transaction_group_count(); i++) {
        struct transaction_group *group = &ruleset->transactions[i];

        for (uint32_t k = 0; k < transaction_prefilter_count(group); k++)
            prefilter_free(transaction_prefilter(group, k));
        free(group->buffers);
        free(group->unfiltered);
        free(group->by_payload.index);
    }
    free(ruleset->transactions);
}
