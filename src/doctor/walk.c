/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk of a packet through one base chain and the chains that it jumps to, in the kernel's order. Each chain is
 * walked only once, at the first jump to it: only the earliest position of its rules matters.
 */
#include "doctor_priv.h"

#include <errno.h>
#include <stdlib.h>

enum { DEPTH = 64 }; /* maximum depth of jumps; the kernel allows 16 */

struct walker {
    struct path *path;
    bool *visited; /* indexed by the chain's number; true: the chain has been walked */
    bool blocked;
};

/* The conditions that each rule of a chain inherits from the rules that jump to it. */
struct caller {
    bool conditional, established, only_loopback;
    /* an earlier rule of this chain or of a calling one with a verdict for every packet; NULL: none */
    const struct netrules_rule *ender;
    unsigned depth;
};

static bool continues(enum netrules_verdict verdict)
{
    return verdict == NETRULES_CONTINUE || verdict == NETRULES_JUMP || verdict == NETRULES_GOTO ||
           verdict == NETRULES_RETURN;
}

static void report_step(const struct walker *walker, const struct netrules_rule *rule, const struct caller *caller)
{
    const struct path *path = walker->path;

    if (caller->ender)
        return;

    struct step step = {
        .rule = rule,
        .conditional = rule->conditional || caller->conditional,
        .established = rule->established || (caller->established && !rule->established),
        .only_loopback = rule->only_loopback || caller->only_loopback,
        .in_branch = caller->conditional,
        .accepts = rule->verdict == NETRULES_ACCEPT,
        .drops = rule->verdict == NETRULES_DROP,
    };

    for (const struct netrules_branch *branch = rule->branches; branch; branch = branch->next) {
        step.accepts |= branch->verdict == NETRULES_ACCEPT;
        step.drops |= branch->verdict == NETRULES_DROP;
        step.established |= branch->verdict == NETRULES_ACCEPT && branch->established;
    }
    if (path->reached && path->after)
        path->after(&step, path->user);
    else if (!path->reached && !walker->blocked && path->before)
        path->before(&step, path->user);
}

/* Records the first rule that has a terminal verdict for every packet. Does nothing if the walk has already reached the
 * goal, or if only some packets reach the chain. */
static void block(struct walker *walker, const struct netrules_rule *rule, const struct caller *caller)
{
    if (walker->path->reached || walker->blocked || caller->conditional)
        return;
    walker->blocked = true;
    walker->path->blocker = rule;
}

static void walk_chain(struct walker *walker, const struct netrules_chain *chain, struct caller caller);

static void walk_jump(struct walker *walker, const struct netrules_rule *rule, const char *name, bool conditional,
                      const struct caller *caller)
{
    const struct netrules_chain *target = netrules_find_chain(rule->chain->table, name);
    struct caller next = *caller;

    next.conditional |= rule->conditional || conditional;
    next.established |= rule->established;
    next.only_loopback |= rule->only_loopback;
    next.depth++;
    if (target)
        walk_chain(walker, target, next);
}

/* Processes one rule. Returns true when no packet continues with the next rule. */
static bool walk_rule(struct walker *walker, const struct netrules_rule *rule, const struct caller *caller)
{
    bool always = !rule->conditional, jumps = rule->verdict == NETRULES_JUMP || rule->verdict == NETRULES_GOTO, leads;
    const struct netrules_rule *goal = walker->path->goal;

    /* No packet reaches this rule, because an earlier rule (`ender`) has a verdict for all packets: end the walk of the
     * chain. The walk continues if block() recorded that rule, to find out whether the goal is behind it. It also
     * continues after a queue verdict: a goal behind it counts as reached, because its packets are queued anyway. */
    if (caller->ender && !walker->blocked && caller->ender->verdict != NETRULES_QUEUE)
        return true;
    leads = rule == goal || (jumps && netrules_find_chain(rule->chain->table, rule->target) == goal->chain);
    walker->path->always |= always && !caller->conditional && leads;
    if (rule == goal) {
        report_step(walker, rule, caller);
        walker->path->reached = true;
        if (!walker->blocked)
            walker->path->blocker = NULL;
        return false;
    }
    report_step(walker, rule, caller);
    if (jumps)
        walk_jump(walker, rule, rule->target, false, caller);
    for (const struct netrules_branch *branch = rule->branches; branch; branch = branch->next)
        if (branch->target)
            walk_jump(walker, rule, branch->target, true, caller);
    if (always && !continues(rule->verdict))
        block(walker, rule, caller);
    if (always && !caller->depth && (rule->verdict == NETRULES_RETURN || rule->verdict == NETRULES_GOTO))
        block(walker, rule, caller); /* the chain's policy decides */
    return always && (rule->verdict == NETRULES_RETURN || rule->verdict == NETRULES_GOTO) && caller->depth;
}

static void walk_chain(struct walker *walker, const struct netrules_chain *chain, struct caller caller)
{
    if (caller.depth > DEPTH || walker->visited[chain->number])
        return;
    walker->visited[chain->number] = true;
    for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next) {
        if (walk_rule(walker, rule, &caller))
            break;
        if (!caller.ender && rule != walker->path->goal && !rule->conditional && !continues(rule->verdict))
            caller.ender = rule;
    }
}

int walk(const struct netrules *ruleset, struct path *path)
{
    struct walker walker = { .path = path, .visited = calloc(ruleset->chain_count + 1, sizeof(bool)) };

    if (!walker.visited)
        return -ENOMEM;
    path->reached = path->always = false;
    path->blocker = NULL;
    walk_chain(&walker, path->base, (struct caller){ .depth = 0 });
    if (!walker.blocked)
        path->blocker = NULL;
    free(walker.visited);
    return 0;
}

int for_each_base(const struct netrules *ruleset, const struct netrules_rule *rule,
                  void (*each)(const struct netrules_chain *base, void *user), void *user)
{
    int err = 0;

    for (const struct netrules_chain *base = rule->chain->table->chains; base && !err; base = base->next) {
        struct path path = { .base = base, .goal = rule };

        if (!base->base)
            continue;
        err = walk(ruleset, &path);
        if (!err && path.reached)
            each(base, user);
    }
    return err;
}
