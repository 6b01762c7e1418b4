/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Firewall rules: what no rule accepts is dropped, unless a default policy says otherwise. They are evaluated before
 * all other rules, one after the other in the order of their files; the first rule of a hook that matches decides.
 *
 * A packet passes the packet hooks pre_flow, pre_stream and packet:filter, then, if it brings data of its protocol, the
 * hooks of the transactions that changed. A transaction passes the hooks of its direction in their order. A hook is
 * over when the transaction has reached the next one; until then, further data can arrive in it (a body, the commands
 * of an SMTP session), for which the rules of the hook are evaluated again: rules that have accepted it do not match a
 * second time, and rules behind them cannot drop. A rule that needs data that has not arrived yet keeps its hook
 * undecided; the packets pass until the hook is over.
 *
 * After a drop in TCP, the transaction stays in the list of those to be inspected: a retransmission of the dropped
 * packet is dropped, too.
 */
#include "filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"
#include "inspect.h"

_Static_assert((int)FILTER_APP_HOOKS == (int)APP_MAX_HOOKS, "one policy per hook");

/* Alerts of default policies have these ids, as in Suricata. */
static const struct rule packet_policy_rule = {
    .gid = 1,
    .sid = 2201000,
    .revision = 1,
    .priority = 3,
    .message = "SURICATA FW default packet policy",
    .text = "",
    .file = "",
    .firewall = true,
};
static const struct rule app_policy_rule = {
    .gid = 1,
    .sid = 2201001,
    .revision = 1,
    .priority = 3,
    .message = "SURICATA FW default app policy",
    .text = "",
    .file = "",
    .firewall = true,
};

/* --- Building ------------------------------------------------------------------------------------- */

enum filter_packet_hook filter_packet_hook_of(const struct rule *rule)
{
    return rule->hook.kind == RULE_HOOK_PRE_FLOW     ? FILTER_PRE_FLOW
           : rule->hook.kind == RULE_HOOK_PRE_STREAM ? FILTER_PRE_STREAM
                                                     : FILTER_PACKET;
}

/* Adds a rule to its hook, and with `<` to the earlier ones, in the hooks of a sub-state. A hook without a sub-state in
 * its name is the first or the last hook of each sub-state. */
static int add_to_range(struct filter_side *side, const struct filter_range *range, const struct rule_hook *hook,
                        unsigned sub_state, uint32_t index)
{
    unsigned at = hook->index;
    int err = 0;

    if (range->first == range->end || (hook->sub_state != 0 && hook->sub_state != sub_state))
        return 0;
    if (hook->sub_state != sub_state)
        at = hook->index == 0 ? range->first : range->end - 1u;
    for (unsigned i = hook->and_earlier ? range->first : at; i <= at && !err; i++)
        err = signature_list_add(&side->hooks[i].rules, i < at ? index | FILTER_EARLIER : index);
    return err;
}

static int add_rule(struct filter *filter, const struct signature *signature, uint32_t index)
{
    const struct rule *rule = signature->rule;
    int err = 0;

    if (rule->hook.kind != RULE_HOOK_APP)
        return signature_list_add(&filter->packet[filter_packet_hook_of(rule)].rules, index);
    for (unsigned id = 1; id <= app_list_count && !err; id++) {
        struct filter_side *side = &filter->sides[id * FLOW_DIRECTIONS + rule->hook.direction];

        if (!(signature->applications >> id & 1))
            continue;
        for (unsigned i = 0; i <= APP_MAX_SUB_STATES && !err; i++)
            err = add_to_range(side, &side->range[i], &rule->hook, i, index);
    }
    return err;
}

static int add_sides(struct filter *filter, const struct filter_policies *policies)
{
    filter->sides = calloc((app_list_count + 1) * FLOW_DIRECTIONS, sizeof(*filter->sides));
    if (!filter->sides)
        return -ENOMEM;
    for (unsigned id = 1; id <= app_list_count; id++) {
        const struct app_proto *proto = app_proto_by_id(id);

        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
            struct filter_side *side = &filter->sides[id * FLOW_DIRECTIONS + direction];

            side->count = app_hook_count(proto, direction);
            side->hooks = calloc(side->count + 1, sizeof(*side->hooks));
            if (!side->hooks)
                return -ENOMEM;
            for (unsigned i = 0; i < side->count; i++) {
                struct app_hook hook = app_get_hook(proto, direction, i);
                struct filter_range *range = &side->range[hook.sub_state];

                if (range->end == 0)
                    range->first = (uint8_t)i;
                range->end = (uint8_t)(i + 1);
                side->hooks[i] = (struct filter_hook){ .name = hook.name,
                                                       .progress = hook.progress,
                                                       .policy = policies->app[id][direction][i] };
            }
        }
    }
    return 0;
}

int filter_new(struct filter **out, const struct ruleset *ruleset, const struct filter_policies *policies)
{
    static const char *const names[FILTER_PACKET_HOOKS] = {
        [FILTER_PRE_FLOW] = "pre_flow", [FILTER_PRE_STREAM] = "pre_stream", [FILTER_PACKET] = "filter"
    };
    struct filter *filter = calloc(1, sizeof(*filter));
    int err = filter ? add_sides(filter, policies) : -ENOMEM;

    for (unsigned i = 0; i < FILTER_PACKET_HOOKS && !err; i++)
        filter->packet[i] = (struct filter_hook){ .name = names[i], .policy = policies->packet[i] };
    for (uint32_t i = 0; i < ruleset->signature_count && ruleset->signatures[i].rule->firewall && !err; i++)
        err = add_rule(filter, &ruleset->signatures[i], i);
    if (err)
        filter_free(filter);
    else
        *out = filter;
    return err;
}

void filter_free(struct filter *filter)
{
    if (!filter)
        return;
    for (unsigned i = 0; i < FILTER_PACKET_HOOKS; i++)
        free(filter->packet[i].rules.index);
    for (size_t i = 0; filter->sides && i < (app_list_count + 1) * FLOW_DIRECTIONS; i++) {
        for (unsigned k = 0; filter->sides[i].hooks && k < filter->sides[i].count; k++)
            free(filter->sides[i].hooks[k].rules.index);
        free(filter->sides[i].hooks);
    }
    free(filter->sides);
    free(filter);
}

bool ruleset_has_firewall(const struct ruleset *ruleset)
{
    return ruleset->filter != NULL;
}

unsigned ruleset_hooks(const struct ruleset *ruleset, bool firewall)
{
    unsigned hooks = 0;

    for (unsigned i = 0; i < FILTER_PACKET_HOOKS; i++)
        hooks |= (unsigned)(ruleset->early[i].count > 0 || (firewall && ruleset_filters(ruleset, i))) << i;
    return hooks;
}

bool ruleset_filters(const struct ruleset *ruleset, enum filter_packet_hook hook)
{
    const struct filter_hook *packet = ruleset->filter ? &ruleset->filter->packet[hook] : NULL;

    return packet && (packet->rules.count > 0 || packet->policy.action != ACTION_ACCEPT ||
                      packet->policy.scope != RULE_SCOPE_HOOK || packet->policy.alert);
}

/* --- Decisions ------------------------------------------------------------------------------------ */

/* What follows from a rule or policy for the rest of the evaluation. */
enum filter_step {
    STEP_NEXT_HOOK, /* accept:hook */
    STEP_TX,        /* accept:tx */
    STEP_DONE,      /* accept:packet, accept:flow */
    STEP_DROP,
};

/* Records a decision. A drop that is only observed counts as accept:hook. */
static enum filter_step decide(struct evaluation *ev, const struct filter_match *match, const struct rule *rule,
                               enum drop_reason reason)
{
    const struct filter_policy *policy = &match->policy;
    struct filter_decision *filter = &ev->detector->filter;

    if (policy->action != ACTION_ACCEPT) {
        if (filter->verdict != FILTER_DROP) {
            filter->verdict = FILTER_DROP;
            filter->match = *match;
            filter->rule = rule;
            filter->reason = reason;
        }
        return ev->input->filter == DETECT_FILTER_OBSERVE ? STEP_NEXT_HOOK : STEP_DROP;
    }
    if (rule && rule->pass > filter->pass)
        filter->pass = rule->pass;
    switch (policy->scope) {
    case RULE_SCOPE_FLOW:
        filter->accept_flow = true;
        return STEP_DONE;
    case RULE_SCOPE_PACKET:
        return STEP_DONE;
    case RULE_SCOPE_TX:
        return STEP_TX;
    default:
        return STEP_NEXT_HOOK;
    }
}

static enum filter_step apply_rule(struct evaluation *ev, const struct rule *rule, enum drop_reason reason)
{
    return decide(ev,
                  &(struct filter_match){ .protocol = rule->hook.protocol,
                                          .hook = rule->hook.name,
                                          .policy = { .action = rule->action, .scope = rule->scope } },
                  rule, reason);
}

static enum filter_step apply_policy(struct evaluation *ev, const struct filter_hook *hook, const char *protocol,
                                     const struct app_tx *tx, enum drop_reason reason)
{
    struct filter_decision *filter = &ev->detector->filter;
    const struct filter_match match = { .protocol = protocol, .hook = hook->name, .policy = hook->policy };

    if (hook->policy.alert && filter->alert_count < FILTER_MAX_ALERTS)
        filter->alerts[filter->alert_count++] = (struct filter_alert){
            .rule = tx ? &app_policy_rule : &packet_policy_rule,
            .match = match,
            .tx = tx,
        };
    return decide(ev, &match, NULL, reason);
}

/* Returns whether a rule that matched takes effect: false while its detection_filter is not reached. */
static bool takes_effect(const struct evaluation *ev, const struct rule *rule)
{
    const struct detect_input *in = ev->input;

    return !rule->thresholds || !in->reaches_filter || in->reaches_filter(in->filter_user, rule, in->packet);
}

/* --- Packet hooks --------------------------------------------------------------------------------- */

static bool matches_packet(struct evaluation *ev, const struct signature *signature)
{
    struct inspection inspection;
    bool holds = true;

    ev->match.in_stream = false;
    ev->detector->captured.count = 0;
    if (!needs_met(&signature->needs, &ev->facts) || !evaluate_header(ev, signature))
        return false;
    ev->detector->counters.evaluations++;
    if (!evaluate_packet_conditions(ev, signature))
        return false;
    if (!signature->buffers)
        return true;
    evaluate_begin_limits(ev->detector, signature->rule);
    inspection_init(&inspection, ev);
    for (const struct rule_buffer *buffer = signature->buffers; buffer && holds; buffer = buffer->next) {
        inspection.steps_left = INSPECT_STEPS;
        holds = buffer->keyword ? evaluate_packet_buffer(ev, &inspection, buffer)
                                : evaluate_payload(ev, signature, &inspection, buffer->conditions);
    }
    evaluate_end_limits(ev->detector, signature->rule);
    return holds;
}

bool filter_packet(struct evaluation *ev, enum filter_packet_hook which)
{
    static const struct {
        enum drop_reason rule, policy;
    } reasons[FILTER_PACKET_HOOKS] = {
        [FILTER_PRE_FLOW] = { DROP_REASON_FIREWALL_PRE_FLOW, DROP_REASON_FIREWALL_PRE_FLOW },
        [FILTER_PRE_STREAM] = { DROP_REASON_FIREWALL_PRE_STREAM, DROP_REASON_FIREWALL_PRE_STREAM },
        [FILTER_PACKET] = { DROP_REASON_FIREWALL_RULES, DROP_REASON_FIREWALL_PACKET_POLICY },
    };
    const struct filter_hook *hook = &ev->ruleset->filter->packet[which];
    struct detector *detector = ev->detector;
    enum filter_step step = STEP_NEXT_HOOK;
    bool decided = false;

    if (detector->filter.verdict == FILTER_NONE)
        detector->filter.verdict = FILTER_ACCEPT;
    for (uint32_t i = 0; i < hook->rules.count && !decided; i++) {
        const struct signature *signature = &ev->ruleset->signatures[hook->rules.index[i]];

        if (!matches_packet(ev, signature) || !takes_effect(ev, signature->rule))
            continue;
        evaluate_hit(ev, hook->rules.index[i]);
        if (signature->rule->action == ACTION_ALERT) /* the action config: no decision */
            continue;
        step = apply_rule(ev, signature->rule, reasons[which].rule);
        decided = true;
    }
    if (!decided)
        step = apply_policy(ev, hook, "packet", NULL, reasons[which].policy);
    /* accept:packet and accept:flow also accept the hooks that follow. */
    ev->is_filtered = step == STEP_DONE;
    return step != STEP_DROP;
}

void filter_early_rules(struct evaluation *ev, enum filter_packet_hook which)
{
    const struct signature_list *rules = &ev->ruleset->early[which];

    for (uint32_t i = 0; i < rules->count; i++) {
        if (matches_packet(ev, &ev->ruleset->signatures[rules->index[i]]))
            evaluate_hit(ev, rules->index[i]);
    }
}

/* --- Hooks of protocols --------------------------------------------------------------------------- */

static bool has_accepted(const struct app_tx *tx, enum flow_direction direction, uint64_t id)
{
    for (uint8_t i = 0; i < tx->filter[direction].count; i++) {
        if (tx->filter_rules[direction][i] == id)
            return true;
    }
    return false;
}

/* Returns whether the rule has conditions on the transaction. A rule without any matches whenever its hook has new
 * data, as in Suricata. */
static bool has_conditions(const struct rule *rule)
{
    return rule->buffers || rule->transaction_conditions || rule->file_conditions;
}

/* Evaluates the rules of the current hook of a transaction, and its default policy. `is_over`: no more data arrives in
 * it. `by_policy`: what no rule accepts is dropped. */
static enum filter_step evaluate_hook(struct evaluation *ev, struct app_tx *tx, const struct filter_hook *hook,
                                      bool is_over, bool by_policy)
{
    struct app_filter_state *state = &tx->filter[ev->direction];
    bool is_behind_accept = false, undecided = false;

    for (uint32_t i = 0; i < hook->rules.count; i++) {
        const uint32_t index = hook->rules.index[i] & ~FILTER_EARLIER;
        const struct signature *signature = &ev->ruleset->signatures[index];
        const struct rule *rule = signature->rule;
        const uint64_t id = (uint64_t)rule->gid << 32 | rule->sid;
        const bool accepts = rule->action == ACTION_ACCEPT;
        enum outcome outcome;

        if (accepts && has_accepted(tx, ev->direction, id)) {
            is_behind_accept = true;
            continue;
        }
        if (accepts ? state->count == APP_FILTER_RULES : is_behind_accept)
            continue;
        if (hook->rules.index[i] & FILTER_EARLIER) { /* `<`: an earlier hook, for which only the header counts */
            if (!evaluate_header(ev, signature) || !evaluate_packet_conditions(ev, signature))
                continue;
            state->accepted = true;
            return STEP_NEXT_HOOK;
        }
        outcome = transaction_match(ev, tx, index);
        undecided |= accepts && outcome == OUTCOME_LATER;
        if (outcome != OUTCOME_YES || !takes_effect(ev, rule))
            continue;
        evaluate_transaction_hit(ev, index, tx);
        if (rule->action == ACTION_ALERT) /* the action config: no decision */
            continue;
        state->accepted |= accepts;
        if (accepts && has_conditions(rule))
            tx->filter_rules[ev->direction][state->count++] = id;
        return apply_rule(ev, rule, DROP_REASON_FIREWALL_RULES);
    }
    if (state->accepted || !by_policy || (undecided && !is_over))
        return STEP_NEXT_HOOK;
    state->accepted = hook->policy.action == ACTION_ACCEPT;
    return apply_policy(ev, hook, tx->proto->name, tx, DROP_REASON_FIREWALL_APP_POLICY);
}

static enum filter_step filter_transaction(struct evaluation *ev, struct app_tx *tx)
{
    const struct filter_side *side = &ev->ruleset->filter->sides[tx->protocol * FLOW_DIRECTIONS + ev->direction];
    struct app_filter_state *state = &tx->filter[ev->direction];
    const bool complete = app_tx_is_complete(tx, ev->direction);
    const uint8_t progress = tx->progress[ev->direction];
    /* The flow is also parsed as another protocol, of which these bytes may be no message: only rules can drop. */
    const bool by_policy = tx->protocol == app_flow_protocol(ev->input->packet->flow);
    const struct filter_range *range = &side->range[tx->sub_state];

    while (!tx->accepted && range->first + state->hook < range->end) {
        const struct filter_hook *hook = &side->hooks[range->first + state->hook];
        const bool is_last = range->first + state->hook + 1 == range->end;
        const bool is_over = complete || (!is_last && progress >= hook[1].progress);
        enum filter_step step;

        if (progress < hook->progress && !complete)
            return STEP_NEXT_HOOK;
        step = evaluate_hook(ev, tx, hook, is_over, by_policy);
        if (step == STEP_TX)
            tx->accepted = true;
        else if (step != STEP_NEXT_HOOK)
            return step;
        if (!is_over)
            return STEP_NEXT_HOOK;
        *state = (struct app_filter_state){ .hook = (uint8_t)(state->hook + 1) };
    }
    return STEP_NEXT_HOOK;
}

/* Evaluates the hooks of the transactions in one of the lists, without those that are also in the list `skip`. */
static enum filter_step filter_list(struct evaluation *ev, unsigned list, unsigned skip)
{
    enum filter_step step = STEP_NEXT_HOOK;

    for (struct app_tx *tx = app_transaction_list(ev->input->packet->flow, list), *next; tx && step == STEP_NEXT_HOOK;
         tx = next) {
        next = tx->link[list].next;
        if (tx->tentative || !(tx->directions >> ev->direction & 1) || tx->listed >> skip & 1)
            continue;
        step = filter_transaction(ev, tx);
        if (step == STEP_DROP)
            app_tx_mark_changed(tx, ev->direction); /* evaluate it again with the next packet */
    }
    return step;
}

bool filter_transactions(struct evaluation *ev)
{
    const struct flow *flow = ev->input->packet->flow;
    enum filter_step step;

    if (ev->is_filtered || !flow || !flow->app)
        return true;
    /* The transactions that the packet has changed, also by beginning them, and those that were refused before. */
    step = filter_list(ev, APP_TX_CHANGED, APP_TX_LISTS);
    if (step == STEP_NEXT_HOOK)
        step = filter_list(ev, APP_TX_UNINSPECTED + ev->direction, APP_TX_CHANGED);
    ev->is_filtered = step == STEP_DONE;
    return step != STEP_DROP;
}
