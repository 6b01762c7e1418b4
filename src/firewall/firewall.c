/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Install, quiesce and remove each read the live ruleset, prepare a change and commit it in one transaction. If the
 * ruleset has changed in between, the transaction fails and the function starts again.
 *
 * When a base chain is deleted, the kernel drops all packets that wait in any queue of the network namespace. If a
 * table already has the right base chains, an installation therefore replaces only the rules. A clean stop first
 * empties the chains (quiesce), lets the queues drain, and then removes the table.
 */
#include "firewall_priv.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <string.h>

enum { TRIES = 16, NOTHING_TO_DO = 1 };

/* A change of the ruleset that is being prepared. */
struct change {
    struct session session;
    struct survey survey;
    struct batch *batch;
    const char *table;
    const struct firewall_options *options; /* only for an installation */
    struct installed installed;
    char *error;
};

/* Adds the messages of the change to the batch. Returns 0, NOTHING_TO_DO, or -errno with a line in `error`. */
typedef int build_function(struct change *change);

/* --- Ownership of tables ---------------------------------------------------------------------------- */

static bool is_ours(const struct change *change, uint32_t family)
{
    const struct survey_table *table = nft_survey_find(&change->survey, family, change->table);

    return table && table->ours;
}

static const struct survey_table *next_own_table(const struct change *change, size_t *at)
{
    while (*at < change->survey.table_count) {
        const struct survey_table *table = &change->survey.tables[(*at)++];

        if (table->ours && strcmp(table->name, change->table) == 0)
            return table;
    }
    return NULL;
}

static int reject_foreign_table(const struct change *change, const struct survey_table *table)
{
    return nft_fail(change->error, -EEXIST,
                    "table '%s %s' exists and was not created by sluice: choose another name with --table "
                    "NAME (nft.table), or delete it; nothing was changed",
                    nft_family_name(table->family), table->name);
}

/* Returns -EEXIST with a line in `error` if the user has added chains to the sluice table, as is useful in mode chain:
 * they would be deleted with the table. Otherwise returns 0. */
static int reject_added_chains(const struct change *change)
{
    for (size_t i = 0; i < change->survey.chain_count; i++) {
        const struct survey_chain *chain = &change->survey.chains[i];

        if (strcmp(chain->table, change->table) == 0 && is_ours(change, chain->family) &&
            !nft_survey_is_own_chain(chain))
            return nft_fail(change->error, -EEXIST,
                            "table '%s %s' has a chain '%s' that sluice did not create and that would be deleted "
                            "with the table: delete the chain first; nothing was changed",
                            nft_family_name(chain->family), chain->table, chain->name);
    }
    return 0;
}

/* --- Transactions ----------------------------------------------------------------------------------- */

static int commit(struct change *change)
{
    enum subject subject;
    int err = nft_batch_send(&change->session, change->batch, true, &subject);

    return err ? nft_explain(change->error, err, subject, change->table) : 0;
}

static int try_once(struct change *change, build_function *build)
{
    int err = nft_survey_read(&change->survey, &change->session);

    if (err)
        return nft_explain(change->error, err, SUBJECT_BATCH, change->table);
    change->batch = nft_batch_new(&change->session, change->survey.generation);
    if (!change->batch)
        err = nft_explain(change->error, -ENOMEM, SUBJECT_BATCH, change->table);
    if (!err)
        err = build(change);
    if (!err)
        err = commit(change);
    nft_batch_free(change->batch);
    nft_survey_clear(&change->survey);
    return err == NOTHING_TO_DO ? 0 : err;
}

static int retry(struct change *change, build_function *build)
{
    int err = -ERESTART;

    for (int i = 0; i < TRIES && err == -ERESTART; i++)
        err = try_once(change, build);
    return err;
}

static int transact(struct change *change, build_function *build)
{
    int err = nft_session_open(&change->session, change->error);

    if (err)
        return err;
    err = retry(change, build);
    nft_session_close(&change->session);
    return err;
}

/* --- Install ---------------------------------------------------------------------------------------- */

static const struct survey_chain *find_chain(const struct change *change, uint32_t family, const char *name)
{
    for (size_t i = 0; i < change->survey.chain_count; i++) {
        const struct survey_chain *chain = &change->survey.chains[i];

        if (chain->family == family && strcmp(chain->table, change->table) == 0 && strcmp(chain->name, name) == 0)
            return chain;
    }
    return NULL;
}

static bool has_planned_chains(const struct change *change, const struct plan *plan, uint32_t family)
{
    for (unsigned i = 0; i < plan->chain_count; i++) {
        const struct plan_chain *planned = &plan->chains[i];
        const struct survey_chain *live = find_chain(change, family, planned->name);

        if (!live || live->base != planned->base)
            return false;
        if (planned->base &&
            (live->hook != planned->hook || live->priority != planned->priority || !live->filter || live->drops))
            return false;
    }
    return true;
}

static unsigned count_own_chains(const struct change *change, uint32_t family)
{
    unsigned count = 0;

    for (size_t i = 0; i < change->survey.chain_count; i++) {
        const struct survey_chain *chain = &change->survey.chains[i];

        if (chain->family == family && strcmp(chain->table, change->table) == 0 && nft_survey_is_own_chain(chain))
            count++;
    }
    return count;
}

/* Whether the live sluice tables have the same chains as the plan, so that only their rules need to be replaced. */
static bool has_same_chains(const struct change *change, const struct plan *plan)
{
    const struct survey_table *table;
    unsigned ours = 0;

    for (size_t at = 0; next_own_table(change, &at);)
        ours++;
    if (ours != plan->family_count)
        return false;
    for (unsigned i = 0; i < plan->family_count; i++) {
        table = nft_survey_find(&change->survey, plan->families[i], change->table);
        if (!table || !table->ours || table->dormant || table->mode != plan->options->mode ||
            !has_planned_chains(change, plan, plan->families[i]) ||
            count_own_chains(change, plan->families[i]) != plan->chain_count)
            return false;
    }
    return true;
}

static bool is_planned(const struct plan *plan, uint32_t family)
{
    for (unsigned i = 0; i < plan->family_count; i++)
        if (plan->families[i] == family)
            return true;
    return false;
}

/* Adds messages that replace the tables, and delete sluice tables of this name in other families. Returns 0, or -errno
 * with a line in `error`. */
static int build_replacement(struct change *change, const struct plan *plan)
{
    const struct survey_table *table;
    int err = reject_added_chains(change);

    if (err)
        return err;
    for (size_t at = 0; (table = next_own_table(change, &at)) && !err;)
        if (!is_planned(plan, table->family))
            err = nft_build_delete_table(change->batch, table->family, change->table);
    if (!err)
        err = nft_build_tables(change->batch, plan);
    return err ? nft_explain(change->error, err, SUBJECT_BATCH, change->table) : 0;
}

/* Records in the plan which sets of blocked hosts and networks exist. Existing sets are kept, with their elements.
 * Returns 0, or -errno with a line in `error`. */
static int find_sets(struct change *change, struct plan *plan)
{
    for (unsigned f = 0; f < plan->family_count; f++)
        for (unsigned i = 0; i < BLOCK_SETS; i++) {
            int err = nft_set_find(&change->session, plan->families[f], change->table, i);

            if (err && err != -ENOENT)
                return nft_explain(change->error, err, SUBJECT_BATCH, change->table);
            plan->has_set[f][i] = !err;
        }
    return 0;
}

static int probe_plan(struct change *change, struct plan *plan)
{
    struct installed *installed = &change->installed;
    int err;

    if (installed->known) {
        plan->expression = installed->expression;
        plan->family_count = installed->family_count;
        memcpy(plan->families, installed->families, sizeof(plan->families));
        return 0;
    }
    err = nft_probe(&change->session, plan, change->error);
    if (err)
        return err;
    *installed =
        (struct installed){ .known = true, .expression = plan->expression, .family_count = plan->family_count };
    memcpy(installed->families, plan->families, sizeof(installed->families));
    return 0;
}

/* Copies the priorities of Sluice's installed chains into the plan, so that they stay where they are, even if other
 * programs have added chains on the wrong side of them. */
static void keep_priorities(const struct change *change, struct plan *plan)
{
    for (unsigned i = 0; i < plan->chain_count; i++) {
        struct plan_chain *chain = &plan->chains[i];

        for (unsigned f = 0; f < plan->family_count && chain->base; f++) {
            const struct survey_chain *live = find_chain(change, plan->families[f], chain->name);

            if (live && is_ours(change, plan->families[f]) && live->base && live->hook == chain->hook)
                chain->priority = live->priority;
        }
    }
}

static int build_installation(struct change *change)
{
    struct plan plan;
    int err;

    nft_plan_make(&plan, change->options, &change->survey);
    err = probe_plan(change, &plan);
    if (err)
        return err;
    if (change->options->keep_place)
        keep_priorities(change, &plan);
    for (unsigned i = 0; i < plan.family_count; i++) {
        const struct survey_table *table = nft_survey_find(&change->survey, plan.families[i], change->table);

        if (table && !table->ours)
            return reject_foreign_table(change, table);
    }
    if (!has_same_chains(change, &plan))
        return build_replacement(change, &plan);
    err = find_sets(change, &plan);
    if (err)
        return err;
    err = nft_build_rule_replacement(change->batch, &plan);
    return err ? nft_explain(change->error, err, SUBJECT_BATCH, change->table) : 0;
}

int nft_install(struct session *session, const struct firewall_options *options, struct installed *installed,
                char error[FIREWALL_ERROR_SIZE])
{
    struct change change = {
        .session = *session, .table = options->table, .options = options, .installed = *installed, .error = error
    };
    int err = nft_check_options(options, error);

    if (!err)
        err = retry(&change, build_installation);
    session->sequence = change.session.sequence;
    if (!err)
        *installed = change.installed;
    return err;
}

int firewall_install(const struct firewall_options *options, char error[FIREWALL_ERROR_SIZE])
{
    struct change change = { .table = options->table, .options = options, .error = error };
    int err = nft_check_options(options, error);

    return err ? err : transact(&change, build_installation);
}

/* --- Quiesce ---------------------------------------------------------------------------------------- */

static int build_quiesced_chain(struct change *change, const struct survey_chain *chain)
{
    struct firewall_options options = { .table = change->table };
    struct plan plan = { .options = &options };
    int err = nft_build_flush_chain(change->batch, chain->family, change->table, chain->name);

    /* An empty base chain accepts packets. sluice_ips needs a rule, because a jump to it stands where the user's
     * ruleset would accept. */
    if (!err && !chain->base)
        err = nft_build_rule(change->batch, chain->family, chain->name, RULE_ACCEPT, &plan);
    return err ? nft_explain(change->error, err, SUBJECT_BATCH, change->table) : 0;
}

static int build_quiesce(struct change *change)
{
    int err = 0, built = 0;

    for (size_t i = 0; i < change->survey.chain_count && !err; i++) {
        const struct survey_chain *chain = &change->survey.chains[i];

        if (strcmp(chain->table, change->table) != 0 || !is_ours(change, chain->family) ||
            !nft_survey_is_own_chain(chain) || strcmp(chain->name, CHAIN_EXCEPTIONS) == 0 ||
            nft_survey_handles_marks(chain)) /* packets with a mark are still on their way */
            continue;
        err = build_quiesced_chain(change, chain);
        built++;
    }
    return err ? err : built ? 0 : NOTHING_TO_DO;
}

int firewall_quiesce(const char *table, char error[FIREWALL_ERROR_SIZE])
{
    struct change change = { .table = table, .error = error };

    return transact(&change, build_quiesce);
}

/* --- Remove ----------------------------------------------------------------------------------------- */

static int check_foreign(const struct change *change)
{
    for (size_t i = 0; i < change->survey.table_count; i++)
        if (strcmp(change->survey.tables[i].name, change->table) == 0)
            return reject_foreign_table(change, &change->survey.tables[i]);
    return NOTHING_TO_DO;
}

static int build_removal(struct change *change)
{
    const struct survey_table *table;
    int err = reject_added_chains(change), built = 0;

    if (err)
        return err;
    for (size_t at = 0; (table = next_own_table(change, &at)) && !err; built++)
        err = nft_build_delete_table(change->batch, table->family, change->table);
    if (err)
        return nft_explain(change->error, err, SUBJECT_BATCH, change->table);
    return built ? 0 : check_foreign(change);
}

int firewall_remove(const char *table, char error[FIREWALL_ERROR_SIZE])
{
    struct change change = { .table = table, .error = error };

    return transact(&change, build_removal);
}

/* --- Print ------------------------------------------------------------------------------------------ */

/* Reads the live ruleset. Returns false if that is not permitted or fails. */
static bool try_survey(struct survey *survey)
{
    char ignored[FIREWALL_ERROR_SIZE];
    struct session session = { .socket = NULL };
    bool taken = nft_session_open(&session, ignored) == 0 && nft_survey_read(survey, &session) == 0;

    nft_session_close(&session);
    return taken;
}

int firewall_print(const struct firewall_options *options, struct text *out, char error[FIREWALL_ERROR_SIZE])
{
    struct survey survey = { .table_count = 0 };
    bool iptables = options->expression == QUEUE_EXPRESSION_XT;
    struct plan plan;
    int err = nft_check_options(options, error);

    if (err)
        return err;
    if (iptables && options->family == FIREWALL_BRIDGE)
        return nft_fail(error, -EINVAL, "iptables has no bridge family: omit --xt and --iptables");
    if (iptables && options->blocklist)
        return nft_fail(error, -EINVAL,
                        "iptables has no sets with timeouts: install the table with `sluice nft install` (it "
                        "works beside iptables), or print with --set nft.blocklist.enabled=no");
    nft_plan_make(&plan, options, !options->has_priority && try_survey(&survey) ? &survey : NULL);
    if (iptables)
        nft_plan_print_iptables(out, &plan);
    else
        nft_plan_print(out, &plan);
    nft_survey_clear(&survey);
    return out->failed ? nft_fail(error, -ENOMEM, "out of memory") : 0;
}
