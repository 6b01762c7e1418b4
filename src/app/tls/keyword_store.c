/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tls.store: stores the certificate chains of the connection in files (tls-store). As a condition it is true for every
 * transaction. As an action it marks the transaction: the chains are stored when they arrive, also if the rule has
 * matched before, in the ClientHello.
 */
#include <errno.h>

#include "tls_priv.h"

bool tls_get_chain(const struct app_tx *tx, enum flow_direction direction, struct app_chain *out)
{
    const struct tls_certificates *from = &tls_tx_of(tx)->side[direction].certificates;

    if (from->count == 0)
        return false;
    *out = (struct app_chain){
        .bytes = from->chain.bytes,
        .length = from->chain.length,
        .from_client = direction == FLOW_TO_SERVER,
    };
    if (!from->decoded)
        return true;
    out->subject = (struct span){ from->text + from->subject.at, from->subject.length };
    out->issuer = (struct span){ from->text + from->issuer.at, from->issuer.length };
    out->fingerprint = (struct span){ from->fingerprint, sizeof(from->fingerprint) };
    return true;
}

static bool tls_store_match(const struct match_input *in, const void *data)
{
    (void)in;
    (void)data;
    return true;
}

static void tls_store_act(const struct match_input *in, const void *data)
{
    (void)data;
    if (in->transaction)
        in->transaction->store_chains = 1u << FLOW_TO_SERVER | 1u << FLOW_TO_CLIENT;
}

static int tls_store_parse(struct rule_parser *parser, struct span value)
{
    int err = rule_parser_add_transaction_condition(parser, NULL, false);

    (void)value;
    return err ? err : rule_parser_add_action(parser, tls_store_act, NULL, true);
}

const struct keyword keyword_tls_store = {
    .name = "tls.store",
    .aliases = { "tls_store" },
    .help = "stores the certificate chains of server and client in files",
    .manual = "Location and limits: tls-store in sluice.yaml(5). The certificates of TLS 1.3 are encrypted.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_NO_VALUE | KEYWORD_ONCE,
    .scope = { tls_applications, APP_BOTH },
    .parse = tls_store_parse,
    .transaction = { .match = tls_store_match },
};
