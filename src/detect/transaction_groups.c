/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of transaction rules by protocol and direction: a prefilter for each buffer with literals, and the list of
 * rules without one.
 *
 * A rule may apply to several protocols (file.data) and to both directions. It has one plan for each combination, which
 * contains the functions that read its buffers and the lowest progress at which the rule can be decided.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

/* Returns the row of the keyword in the buffers of the protocol, or of the one that it extends; NULL: there is none. */
static const struct app_buffer *find_buffer(const struct app_proto *proto, const struct keyword *keyword,
                                            enum flow_direction direction)
{
    for (; proto; proto = proto->extends) {
        for (size_t i = 0; i < proto->buffer_count; i++) {
            if (proto->buffers[i].keyword == keyword && proto->buffers[i].directions >> direction & 1)
                return &proto->buffers[i];
        }
    }
    return NULL;
}

static const struct app_buffer *transaction_access(const struct app_proto *proto, const struct keyword *keyword,
                                                   enum flow_direction direction)
{
    const struct app_buffer *buffer = find_buffer(proto, keyword, direction);

    if (!buffer && (keyword == &keyword_file_name || keyword == &keyword_file_magic) &&
        find_buffer(proto, &keyword_file_data, direction))
        return app_file_buffer(keyword);
    return buffer;
}

/* Returns the lowest progress at which the condition can be evaluated; -1: never. Conditions of keywords without
 * application protocols can always be evaluated. */
static int condition_progress(const struct app_proto *proto, const struct keyword *keyword,
                              enum flow_direction direction)
{
    for (; proto; proto = proto->extends) {
        for (size_t i = 0; i < proto->condition_count; i++) {
            if (proto->conditions[i].keyword == keyword && proto->conditions[i].directions >> direction & 1)
                return proto->conditions[i].progress;
        }
    }
    return keyword->scope.applications ? -1 : 0;
}

/* --- Plans ---------------------------------------------------------------------------------------- */

/* Returns the direction that a buffer or condition inspects when its rule is evaluated in `direction`. `directions`:
 * bits of the buffer or condition; 0: `direction`. */
static enum flow_direction direction_of(uint8_t directions, enum flow_direction direction)
{
    if (directions == 0)
        return direction;
    return directions >> FLOW_TO_SERVER & 1 ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
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

/* Returns the group's entry for the buffer with its direction and transforms, added if necessary. Returns NULL if the
 * group is full or memory is exhausted. */
static struct transaction_buffer *find_or_add_buffer(struct transaction_group *group, const struct app_buffer *access,
                                                     enum flow_direction direction, const struct rule_buffer *buffer)
{
    struct transaction_buffer *list, *slot;

    for (uint32_t i = 0; i < group->buffer_count; i++) {
        if (group->buffers[i].access == access && group->buffers[i].direction == direction &&
            same_transforms(group->buffers[i].transforms, buffer->transforms))
            return &group->buffers[i];
    }
    if (group->buffer_count == TRANSACTION_BUFFERS)
        return NULL;
    list = realloc(group->buffers, (group->buffer_count + 1) * sizeof(*list));
    if (!list)
        return NULL;
    group->buffers = list;
    slot = &list[group->buffer_count];
    *slot = (struct transaction_buffer){ .access = access, .direction = direction, .transforms = buffer->transforms };
    if (access->grows && !slot->transforms) {
        if (!group->growing && prefilter_new(&group->growing))
            return NULL;
        slot->prefilter = group->growing;
    } else if (prefilter_new(&slot->prefilter)) {
        return NULL;
    }
    group->buffer_count++;
    return slot;
}

/* Adds a rule without a literal. Rules that require an event are at the end of the list, so that they can be skipped
 * for the many transactions without events. */
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

bool transaction_plan_literal(const struct signature *signature, const struct transaction_plan *plan,
                              struct literal *out)
{
    unsigned directions = LITERAL_BOTH_WAYS;

    /* If the rule has a half plan, which is created first, each plan needs a literal in its own direction: a growing
     * buffer of the other direction does not exist any more at the evaluation. */
    for (const struct transaction_plan *other = signature->plans; other; other = other->next) {
        if (other->half && other->proto == plan->proto)
            directions = 1U << plan->direction;
    }
    return literal_choose(signature->rule, true, directions, out);
}

static int add_to_group(struct ruleset *ruleset, uint32_t index, const struct transaction_plan *plan)
{
    struct transaction_group *group = &ruleset->transactions[plan->proto * FLOW_DIRECTIONS + plan->direction];
    const struct signature *signature = &ruleset->signatures[index];
    struct literal literal;

    group->has_rules = true;
    if (signature->by_payload)
        return signature_list_add(&group->by_payload, index);
    if (transaction_plan_literal(signature, plan, &literal)) {
        enum flow_direction direction = direction_of(literal.rule_buffer->directions, plan->direction);
        struct transaction_buffer *buffer =
            find_or_add_buffer(group, transaction_access(app_proto_by_id(plan->proto), literal.buffer, direction),
                               direction, literal.rule_buffer);

        if (buffer) {
            literal.grows = buffer->access->grows;
            literal.is_whole = !literal.grows;
            if (literal.grows)
                literal.at = LITERAL_ANYWHERE;
            if (buffer->transforms && signature_list_add(&buffer->signatures, index))
                return -ENOMEM;
            return prefilter_add(buffer->prefilter, &literal, index);
        }
        /* no entry for the buffer (table full, no memory): the rule is added as one without a literal */
    }
    return add_unfiltered(group, index, plan);
}

/* Adds the plan of a rule for a protocol and direction. Does nothing if the rule is for the other direction only, or
 * uses a buffer, condition or file that the protocol does not have. */
static int add_plan(struct ruleset *ruleset, uint32_t index, unsigned id, enum flow_direction evaluated, bool half)
{
    struct signature *signature = &ruleset->signatures[index];
    const struct rule *rule = signature->rule;
    const struct app_proto *proto = app_proto_by_id(id);
    struct transaction_plan *plan;
    unsigned buffers = 0, conditions = 0;

    if (rule->directions && !(rule->directions >> evaluated & 1))
        return 0;
    for (const struct condition *c = rule->file_conditions; c; c = c->next) {
        if (!find_buffer(proto, &keyword_file_data, direction_of(c->directions, evaluated)))
            return 0;
    }
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next)
        buffers++;
    for (const struct condition *c = rule->transaction_conditions; c; c = c->next)
        conditions++;
    plan = arena_alloc(ruleset->arena, sizeof(*plan));
    if (!plan)
        return -ENOMEM;
    plan->access = arena_alloc(ruleset->arena, (buffers + 1) * sizeof(*plan->access));
    plan->condition_progress = arena_alloc(ruleset->arena, conditions + 1);
    if (!plan->access || !plan->condition_progress)
        return -ENOMEM;
    plan->proto = (uint8_t)id;
    plan->direction = (uint8_t)evaluated;
    plan->half = half;
    plan->files = rule->file_conditions != NULL;
    if (rule->hook.kind == RULE_HOOK_APP) {
        plan->progress = plan->hook_progress = rule->hook.progress;
        plan->sub_state = rule->hook.sub_state;
    }

    buffers = conditions = 0;
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next, buffers++) {
        enum flow_direction direction = direction_of(buffer->directions, evaluated);
        const struct app_buffer *access;

        if (!buffer->keyword || !buffer->keyword->scope.applications || (half && direction != evaluated)) {
            plan->packet_buffers = true;
            continue;
        }
        access = transaction_access(proto, buffer->keyword, direction);
        if (!access)
            return 0;
        plan->access[buffers] = access;
        plan->grows |= access->grows;
        /* Progress of the other direction does not trigger the evaluation. */
        if (direction == evaluated && access->progress > plan->progress)
            plan->progress = access->progress;
    }
    for (const struct condition *c = rule->transaction_conditions; c; c = c->next, conditions++) {
        enum flow_direction direction = direction_of(c->directions, evaluated);
        int progress = condition_progress(proto, c->keyword, direction);

        if (progress < 0)
            return 0;
        plan->condition_progress[conditions] = (uint8_t)progress;
        plan->events |= c->keyword->scope.applications == NULL && !(c->keyword->flags & KEYWORD_AT_HOOK);
        plan->on_event |= c->keyword->transaction.needs_event && !c->negated;
        if (direction == evaluated && progress > plan->progress)
            plan->progress = (uint8_t)progress;
    }
    plan->next = signature->plans;
    signature->plans = plan;
    return rule->firewall ? 0 : add_to_group(ruleset, index, plan);
}

/* Returns whether the rule uses data of the direction to the server that exists only while it is received (growing
 * buffers, files), so that a half plan is needed. */
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

int transaction_rule_add(struct ruleset *ruleset, uint32_t index)
{
    const struct signature *signature = &ruleset->signatures[index];
    int err = 0;

    for (unsigned id = 1; id <= app_list_count && !err; id++) {
        if (signature->rule->applications && !(signature->applications >> id & 1))
            continue;
        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && !err; direction++) {
            bool half = signature->transactional && direction == FLOW_TO_SERVER;

            if (!half || needs_half(signature->rule, app_proto_by_id(id)))
                err = add_plan(ruleset, index, id, direction, half);
        }
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
    if (rule->transaction_conditions || rule->file_conditions || rule->hook.kind == RULE_HOOK_APP)
        return true;
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        if (buffer->keyword && buffer->keyword->scope.applications)
            return !app_frame_keyword(buffer->keyword);
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
        for (uint32_t k = 0; k < group->buffer_count; k++)
            free(group->buffers[k].signatures.index);
        free(group->buffers);
        free(group->unfiltered);
        free(group->by_payload.index);
    }
    free(ruleset->transactions);
}
