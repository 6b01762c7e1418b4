/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps that need all rules: one rule per gid and sid, the index by sid, and the thresholds of threshold.config.
 *
 * As in Suricata the highest revision of a sid remains. An earlier rule of a lower revision is replaced, with a
 * warning. A later rule of a lower or equal revision is reported as an error, unless its text is identical, as when a
 * rule file is loaded twice: then it is skipped, with one warning for all such rules.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rule_priv.h"

/* A rule and its position in the list, to sort by sid, gid, firewall rules last, then position. */
struct place {
    const struct rule *rule;
    size_t index;
};

static int by_id(const void *a, const void *b)
{
    const struct place *left = a, *right = b;

    if (left->rule->sid != right->rule->sid)
        return left->rule->sid < right->rule->sid ? -1 : 1;
    if (left->rule->gid != right->rule->gid)
        return left->rule->gid < right->rule->gid ? -1 : 1;
    if (left->rule->firewall != right->rule->firewall)
        return left->rule->firewall ? 1 : -1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static struct position sid_position(const struct rule_entry *entry)
{
    return statement_position(entry->statement, entry->sid_text);
}

/* Keeps one of two entries with the same gid and sid: `second`, later in the files, if its revision is higher,
 * otherwise `first`. Sets *stays to the kept entry and releases the rule of the other one. Returns 0 or -ENOMEM. */
static int resolve_duplicate(struct rule_list *list, struct rule_entry *first, struct rule_entry *second,
                             struct rule_entry **stays, struct diag *diag)
{
    const struct rule *rule = second->rule;
    bool replace = rule->revision > first->rule->revision;
    bool report = diag_count(diag) < DIAG_MAX_ENTRIES - 1;
    struct rule_entry *loser = replace ? first : second;
    char reason[RULE_REASON_SIZE];
    int err = 0;

    if (first->statement->commented != second->statement->commented) {
        /* One of the two is commented out in its file and was enabled by the rule policy. It is usually an old
         * revision, left in the file for reference, so the duplicate is not reported. */
        list->statements--;
        report = false;
    } else if (replace) {
        list->replaced++;
        if (report)
            diag_warning(diag, sid_position(first), "rule %u:%u revision %u is replaced by revision %u", rule->gid,
                         rule->sid, first->rule->revision, rule->revision);
    } else {
        snprintf(reason, sizeof(reason), "rule %u:%u exists already with revision %u", rule->gid, rule->sid,
                 first->rule->revision);
        err = rule_list_add_failure(list, &(struct rule_failure){
                                              .kind = RULE_FAILURE_MISTAKE,
                                              .file = rule->file,
                                              .line = rule->line,
                                              .gid = rule->gid,
                                              .sid = rule->sid,
                                              .reason = reason,
                                              .text = second->statement->text,
                                              .changes = rule->changes,
                                          });
        diag_error(diag, sid_position(second), "%s", reason);
    }
    if (report)
        diag_note(diag, sid_position(replace ? second : first),
                  replace ? "the newer one is here" : "the first one is here");
    keyword_release(loser->rule);
    loser->rule = NULL;
    *stays = replace ? second : first;
    return err;
}

/* Builds list->by_sid, releases rules that are replaced or are copies, and removes their entries. Returns 0 or -ENOMEM.
 */
static int build_index(struct rule_list *list, struct diag *diag)
{
    struct place *places = calloc(list->count + 1, sizeof(*places));
    struct rule_entry *stays = NULL, *original = NULL, *copy = NULL;
    uint32_t gid = 0, sid = 0;
    size_t kept = 0;
    int err = 0;

    if (!places)
        return -ENOMEM;
    for (size_t i = 0; i < list->count; i++)
        places[i] = (struct place){ list->entries[i].rule, i };
    qsort(places, list->count, sizeof(*places), by_id);
    for (size_t i = 0; i < list->count && !err; i++) {
        struct rule_entry *entry = &list->entries[places[i].index];
        const struct span *text = &entry->statement->text, *other = stays ? &stays->statement->text : NULL;

        if (!stays || stays->rule->sid != entry->rule->sid || stays->rule->gid != entry->rule->gid ||
            stays->rule->firewall != entry->rule->firewall) {
            stays = entry;
        } else if (text->length != other->length || memcmp(text->at, other->at, text->length) != 0) {
            err = resolve_duplicate(list, stays, entry, &stays, diag);
        } else {
            if (list->copies++ == 0) {
                original = stays;
                copy = entry;
                gid = entry->rule->gid;
                sid = entry->rule->sid;
            }
            list->replaced++;
            keyword_release(entry->rule);
            entry->rule = NULL;
        }
    }
    /* One warning for all copies, because a file and its copy have thousands of equal rules. */
    if (copy) {
        char others[64] = "";

        if (list->copies > 1)
            snprintf(others, sizeof(others), ", and %zu more copies of rules are skipped", list->copies - 1);
        diag_warning(diag, sid_position(copy), "rule %u:%u is a copy and is skipped%s", gid, sid, others);
        diag_note(diag, sid_position(original),
                  original->rule ? "the skipped rule is a copy of this rule, which is loaded"
                                 : "the skipped rule is a copy of this rule, which a newer revision replaced");
    }

    list->by_sid = arena_alloc(list->arena, (list->count + 1) * sizeof(struct rule *));
    for (size_t i = 0; list->by_sid && i < list->count; i++) {
        struct rule *rule = list->entries[places[i].index].rule;

        if (rule)
            list->by_sid[kept++] = rule;
    }
    free(places);
    if (!list->by_sid)
        return -ENOMEM;
    kept = 0;
    for (size_t i = 0; i < list->count && !err; i++) {
        if (!list->entries[i].rule)
            continue;
        list->entries[kept] = list->entries[i];
        list->entries[kept].rule->index = (uint32_t)kept;
        list->firewall_count += list->entries[kept].rule->firewall;
        kept++;
    }
    if (!err)
        list->count = kept;
    return err;
}

/* Enables blocking (nft.blocklist) in drop and reject rules whose priority or class is configured for it. The blocked
 * host is the side opposite to the rule's target; without a target, the sender of the dropped packet. */
static void finish_block(struct rule *rule, const struct rule_list_options *options)
{
    bool drops = rule_action_drops(rule->action);
    bool blocks = options->block_priority > 0 && rule->priority <= options->block_priority;

    for (const char *const *name = options->block_classtypes; name && rule->class_name && *name; name++)
        blocks |= strcmp(*name, rule->class_name) == 0;
    if (rule->block == RULE_BLOCK_NONE && drops && blocks) {
        rule->block = rule->target == TARGET_SOURCE ? RULE_BLOCK_DESTINATION : RULE_BLOCK_SOURCE;
        rule->block_seconds = RULE_BLOCK_SECONDS_DEFAULT;
    }
    if (rule->block_seconds == RULE_BLOCK_SECONDS_DEFAULT)
        rule->block_seconds = options->block_seconds;
}

int rule_list_finish(struct rule_list *list, struct diag *diag)
{
    int err = build_index(list, diag);

    if (err)
        return err;
    for (size_t i = 0; i < list->count; i++) {
        struct rule *rule = list->entries[i].rule;
        char name[32];

        finish_block(rule, &list->options);
        if (list->own_names)
            continue;
        snprintf(name, sizeof(name), "%s%u:%u", rule->firewall ? "firewall " : "", (unsigned)rule->gid,
                 (unsigned)rule->sid);
        /* 0 if memory is exhausted: the rule then has no statistics */
        rule->number = rule_names_number(list->names, RULE_NAME_RULE, span_of(name));
    }
    err = rule_policy_finish(list->policy, diag);
    if (err)
        return err;
    list->finished = true;
    return threshold_config_apply(list, diag);
}

const struct rule *rule_list_find(const struct rule_list *list, uint32_t gid, uint32_t sid)
{
    size_t low = 0, high = list->finished ? list->count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rule *rule = list->by_sid[middle];

        if (rule->sid == sid && rule->gid == gid)
            return middle > 0 && list->by_sid[middle - 1]->sid == sid && list->by_sid[middle - 1]->gid == gid
                       ? list->by_sid[middle - 1]
                       : rule;
        if (rule->sid < sid || (rule->sid == sid && rule->gid < gid))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
