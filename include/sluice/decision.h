/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What detect, policy and output hand on: the rules that matched a packet, and what was decided about them.
 * Lives with the rules because its users are neighbours.
 */
#ifndef SLUICE_DECISION_H
#define SLUICE_DECISION_H

#include <stdbool.h>
#include <stddef.h>

#include "sluice/flow.h"
#include "sluice/rule.h"

struct app;
struct app_tx;
struct stream;

/* Bytes that a pcre of a rule took out of what it matched: for its alert, for the packet, or for the flow. */
struct rule_capture {
    uint32_t number; /* of its name */
    uint8_t kind;    /* RULE_NAME_ALERT_TEXT, RULE_NAME_PACKET_TEXT, RULE_NAME_FLOW_TEXT */
    uint8_t length;  /* what is longer is cut */
    uint8_t bytes[FLOW_TEXT_MAX];
};
enum { RULE_TEXTS_MAX = 32 };
struct rule_captures {
    uint32_t count;
    struct rule_capture list[RULE_TEXTS_MAX];
};

/* A rule that matched; made by detect. */
struct hit {
    const struct rule *rule;
    bool in_stream;          /* in the bytes of a stream */
    bool of_flow;            /* pass and drop are for the whole flow: it matched in a stream, or by addresses alone */
    bool tx_guessed;         /* the rule asks for no transaction: tx is the one under way */
    const struct app_tx *tx; /* the transaction it matched in; NULL. Lent until app_tidy() */
    uint8_t first_text, text_count; /* for the alert, among the packet's */
};

/* What is reported of a hit; made by policy. */
struct alert {
    const struct rule *rule;
    enum rule_action action; /* as applied: rate_filter may have changed it */
    bool blocked;            /* EVE's alert.action: the packet is dropped or rejected */
    bool would_drop;         /* EVE's alert.would_drop: alert-only lets the packet pass */
    bool in_stream;          /* the payload that matters is the stream's */
    bool tx_guessed;         /* as in struct hit */
    const struct app_tx *tx; /* as in struct hit */
    uint8_t first_text, text_count;
};

struct decision {
    const struct alert *alerts; /* lent until the worker's next packet */
    size_t alert_count;
    const struct rule *drop_rule;       /* the rule that dropped, or NULL */
    const struct rule *would_drop_rule; /* the first rule whose drop alert-only does not enforce, or NULL */
    const struct rule *block_rule;      /* the first that dropped and wants a host blocked, or NULL */
    bool passed;                        /* a pass rule ended it */
    bool tagged;                        /* log the packet: a tag of an earlier alert asks for it */
    const struct rule_captures
        *texts;                  /* of the packet and its alerts, lent until the worker's next packet; NULL for none */
    const struct app *app;       /* whose transactions the alerts' are; NULL without */
    const struct stream *stream; /* where the bytes of pkt->flow are; NULL without streams */
    const struct rule_names *names; /* of flow bits, for events; NULL for none */
};

#endif
