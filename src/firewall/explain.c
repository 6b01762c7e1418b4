/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes errors of the kernel as one line that says what to do, and probes what the kernel supports. */
#include "firewall_priv.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <string.h>

static int explain_table(char error[FIREWALL_ERROR_SIZE], int err, const char *table)
{
    if (err == -EAFNOSUPPORT || err == -EOPNOTSUPP || err == -EPROTONOSUPPORT)
        return nft_fail(
            error, err,
            "the kernel does not support nf_tables for this family: load the module nf_tables; bridges need "
            "CONFIG_NF_TABLES_BRIDGE (in old kernels the module nf_tables_bridge); nothing was changed");
    return nft_fail(error, err, "the kernel rejects table '%s': %s; nothing was changed", table, strerror(-err));
}

static int explain_chain(char error[FIREWALL_ERROR_SIZE], int err, const char *table)
{
    if (err == -ENOENT || err == -EOPNOTSUPP)
        return nft_fail(
            error, err,
            "the kernel does not support filter chains for this family and hook: load the module nf_tables; bridges "
            "need CONFIG_NF_TABLES_BRIDGE (in old kernels the module nf_tables_bridge); nothing was changed");
    return nft_fail(error, err, "the kernel rejects a chain of table '%s': %s; nothing was changed", table,
                    strerror(-err));
}

int nft_explain(char error[FIREWALL_ERROR_SIZE], int err, enum subject subject, const char *table)
{
    if (err == -EPERM)
        return nft_fail(error, err,
                        "reading or changing the ruleset requires root or CAP_NET_ADMIN; nothing was changed");
    if (err == -ENOMEM)
        return nft_fail(error, err, "out of memory; nothing was changed");
    if (err == -ERESTART || err == -EINTR)
        return nft_fail(error, err, "another process keeps changing the ruleset; nothing was changed, try again");
    if (subject == SUBJECT_BATCH && (err == -EINVAL || err == -EOPNOTSUPP || err == -EPROTONOSUPPORT))
        return nft_fail(error, err,
                        "the kernel does not support nf_tables: load the module nf_tables; nothing was changed");
    if (subject == SUBJECT_TABLE)
        return explain_table(error, err, table);
    if (subject == SUBJECT_CHAIN)
        return explain_chain(error, err, table);
    if (subject == SUBJECT_QUEUE && (err == -ENOENT || err == -EOPNOTSUPP))
        return nft_fail(error, err,
                        "the kernel does not support this queue rule: load the modules nft_queue and nft_hash, "
                        "or nft_compat and xt_NFQUEUE; nothing was changed");
    if (subject == SUBJECT_RULE && (err == -ENOENT || err == -EOPNOTSUPP))
        return nft_fail(error, err,
                        "the kernel does not support matching marks in this family: for bridges load the module "
                        "nft_meta_bridge; nothing was changed");
    if (subject == SUBJECT_SET)
        return nft_fail(error, err,
                        "the kernel rejects the set of blocked hosts (%s): use Linux 5.7 or later, or set "
                        "nft.blocklist.enabled: no; nothing was changed",
                        strerror(-err));
    if (subject == SUBJECT_FLOWTABLE)
        return nft_fail(error, err,
                        "the kernel rejects the flowtable (%s): the devices of nft.offload.flowtable must exist, "
                        "and the modules nf_flow_table and nft_flow_offload must be loaded; nothing was changed",
                        strerror(-err));
    if (subject == SUBJECT_ELEMENT && err == -ENFILE)
        return nft_fail(error, err,
                        "the blocklist is full: raise nft.blocklist.size or remove hosts; nothing was changed");
    return nft_fail(error, err, "the kernel rejects the %s of table '%s': %s; nothing was changed",
                    subject == SUBJECT_BATCH ? "change" : "rules", table, strerror(-err));
}

/* --- Probing ---------------------------------------------------------------------------------------- */

/* Tests whether the kernel supports the queue rule: the kernel validates the transaction, which is never committed. The
 * chain has no hook, because even an aborted base chain makes the kernel drop the packets that wait in queues. Returns
 * 0, or -errno with the kind of the failed object in *subject. */
static int try_probe(struct session *session, const struct plan *plan, enum subject *subject)
{
    struct batch *batch = nft_batch_new(session, 0);
    int err = batch ? nft_build_probe(batch, plan) : -ENOMEM;

    *subject = SUBJECT_BATCH;
    if (!err)
        err = nft_batch_send(session, batch, false, subject);
    nft_batch_free(batch);
    return err;
}

static bool is_missing(int err, enum subject subject)
{
    return subject == SUBJECT_QUEUE && (err == -ENOENT || err == -EOPNOTSUPP || err == -EINVAL);
}

static int probe_native(struct session *session, struct plan *plan, char error[FIREWALL_ERROR_SIZE])
{
    enum subject subject;
    int err;

    plan->expression = QUEUE_EXPRESSION_NATIVE;
    err = try_probe(session, plan, &subject);
    if (is_missing(err, subject))
        return nft_fail(error, -EOPNOTSUPP,
                        "the kernel does not support the nft queue expression: load the modules nft_queue and "
                        "(for several queues) nft_hash, or use --xt (nft.expression: xt); nothing was changed");
    return err ? nft_explain(error, err, subject, plan->options->table) : 0;
}

/* Tests the xt target in the family of the plan. If the kernel does not support xt targets in inet, tests it in ip and
 * ip6 instead, and changes the plan to these. Returns 0, or -errno with a line in `error`. */
static int probe_xt(struct session *session, struct plan *plan, char error[FIREWALL_ERROR_SIZE])
{
    enum subject subject;
    int err;

    plan->expression = QUEUE_EXPRESSION_XT;
    /* A probe would succeed, although the bridge family does not support the target: the kernel accepts it in a chain
     * without a hook, but not in a chain with a hook (ENOENT). */
    if (plan->families[0] == NFPROTO_BRIDGE)
        return nft_fail(error, -EOPNOTSUPP,
                        "the xt NFQUEUE target does not work in the bridge family: load the module nft_queue; "
                        "nothing was changed");
    err = try_probe(session, plan, &subject);
    if (is_missing(err, subject) && plan->families[0] == NFPROTO_INET) {
        nft_plan_split(plan);
        err = try_probe(session, plan, &subject);
    }
    if (is_missing(err, subject))
        return nft_fail(error, -EOPNOTSUPP,
                        "the kernel does not support the xt NFQUEUE target for this family: load the modules "
                        "nft_compat and xt_NFQUEUE, or use --native (nft.expression: native); nothing was changed");
    return err ? nft_explain(error, err, subject, plan->options->table) : 0;
}

int nft_probe(struct session *session, struct plan *plan, char error[FIREWALL_ERROR_SIZE])
{
    int err;

    if (plan->options->expression == QUEUE_EXPRESSION_NATIVE)
        return probe_native(session, plan, error);
    if (plan->options->expression == QUEUE_EXPRESSION_XT)
        return probe_xt(session, plan, error);
    err = probe_native(session, plan, error);
    if (err != -EOPNOTSUPP)
        return err;
    err = probe_xt(session, plan, error);
    if (err == -EOPNOTSUPP && plan->families[0] != NFPROTO_BRIDGE)
        nft_fail(error, err,
                 "the kernel cannot queue packets from nf_tables: load the modules nft_queue and "
                 "nft_hash, or nft_compat and xt_NFQUEUE; nothing was changed");
    return err;
}
