/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types shared by detect, policy and output: the rules that matched a packet (hits) and the decision on them. They are
 * declared here because the three modules must not include each other.
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

/* Bytes that a pcre of a rule captured, or the object of a value in a dataset: a variable of the alert, of the packet,
 * or of the flow. */
struct rule_capture {
    uint32_t number; /* number of the variable's name in the ruleset */
    uint8_t kind;    /* RULE_NAME_ALERT_TEXT, RULE_NAME_PACKET_TEXT, RULE_NAME_FLOW_TEXT */
    uint8_t length;  /* longer captures are truncated */
    uint8_t bytes[FLOW_TEXT_MAX];
    const char *json; /* RULE_NAME_ALERT_TEXT: a JSON object instead of bytes, valid as long as the rule; else NULL */
};
enum { RULE_TEXTS_MAX = 32 };
struct rule_captures {
    uint32_t count;
    struct rule_capture list[RULE_TEXTS_MAX];
};

/* A rule that matched; filled in by detect. */
struct hit {
    const struct rule *rule;
    bool in_stream; /* matched in reassembled stream data */
    bool of_flow;   /* pass and drop apply to the whole flow, because the rule matched in a stream, or has no conditions
                       but addresses and ports */
    bool tx_guessed; /* the rule has no transaction conditions, so `tx` is the flow's current transaction; false over
                        UDP */
    const struct app_tx *tx;        /* the transaction it matched in, or NULL; valid until app_free_completed() */
    uint8_t first_text, text_count; /* captures for the alert: index of the first in decision.texts, and their number */
};

/* A reported hit; filled in by policy. */
struct alert {
    const struct rule *rule;
    enum rule_action action; /* action applied; rate_filter may have changed it */
    bool blocked;            /* EVE's alert.action: the packet is dropped or rejected */
    bool would_drop;         /* EVE's sluice.would_drop: the rule drops, but alert-only mode lets the packet pass */
    bool in_stream;          /* the relevant payload is stream data */
    bool tx_guessed;         /* as in struct hit */
    const struct app_tx *tx; /* as in struct hit */
    uint8_t first_text, text_count;
};

struct decision {
    const struct alert *alerts; /* valid until the worker's next packet */
    size_t alert_count;
    const struct rule *drop_rule;       /* the rule that dropped, or NULL */
    const struct rule *would_drop_rule; /* the first rule whose drop alert-only does not enforce, or NULL */
    const struct rule *block_rule;      /* the first dropping rule that also blocks a host, or NULL */
    bool passed;                        /* a pass rule ended the evaluation */
    bool tagged;                        /* log the packet because of a tag of an earlier alert */
    /* texts that pcre captured as variables of the packet and of its alerts; valid until the worker's next packet;
     * NULL: none */
    const struct rule_captures *texts;
    const struct app *app;          /* parser that owns the alerts' transactions, or NULL */
    const struct stream *stream;    /* holds the stream data of pkt->flow; NULL without streams */
    const struct rule_names *names; /* names of flow bits for events, or NULL */
};

#endif
