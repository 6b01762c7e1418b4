/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types shared by detect, policy and output: the rules that matched a packet (hits) and the decision on them. They are
 * declared here because the three modules must not include each other.
 */
#ifndef SLUICE_DECISION_H
#define SLUICE_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "sluice/flow.h"
#include "sluice/packet.h"
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
    bool is_json; /* RULE_NAME_ALERT_TEXT: bytes has a pointer to the text of a JSON object instead, which is valid as
                     long as the rule: rule_capture_json() */
    uint8_t bytes[FLOW_TEXT_MAX];
};

/* Returns the JSON object of a capture with is_json. Records are not aligned, so the pointer is copied. */
static inline const char *rule_capture_json(const struct rule_capture *capture)
{
    const char *json;

    memcpy(&json, capture->bytes, sizeof(json));
    return json;
}

enum { RULE_TEXTS_MAX = 32 };
struct rule_captures {
    uint32_t count;
    struct rule_capture list[RULE_TEXTS_MAX];
};

/* What a default policy of the firewall does, or a firewall rule: accept, drop or reject, and its scope. */
struct filter_policy {
    enum rule_action action;
    enum rule_scope scope;
    bool alert; /* also report an alert */
};

/* The hook at which a firewall rule matched or a default policy was applied. */
struct filter_match {
    const char *protocol, *hook; /* constant strings; NULL: no firewall rule */
    struct filter_policy policy;
};

/* An alert of a default policy. */
struct filter_alert {
    const struct rule *rule; /* stands for the policy: id and message of the alert */
    struct filter_match match;
    const struct app_tx *tx; /* NULL: a packet hook */
};

/* The decision of the firewall rules about a packet; filled in by detect. */
enum filter_verdict { FILTER_NONE /* not evaluated */, FILTER_ACCEPT, FILTER_DROP };
enum { FILTER_MAX_ALERTS = 32 };
struct filter_decision {
    enum filter_verdict verdict;
    enum drop_reason reason;   /* FILTER_DROP */
    const struct rule *rule;   /* FILTER_DROP: the rule; NULL: a default policy */
    struct filter_match match; /* FILTER_DROP: the hook */
    bool accept_flow;          /* FILTER_ACCEPT: the rest of the flow is accepted */
    bool accept_packet;        /* the hook pre_flow or pre_stream has accepted the packet for all hooks */
    bool untracked;            /* the packet gets no flow (keyword config) */
    enum rule_scope pass;      /* FILTER_ACCEPT: no other rules are evaluated for the packet, or its flow */
    uint32_t alert_count;
    struct filter_alert alerts[FILTER_MAX_ALERTS];
};

enum { FRAME_PAYLOAD_MAX = 4095 }; /* bytes of a frame in its object, as in Suricata */

/* A frame in which a rule matched, or whose event is written. */
struct frame_facts {
    const char *type; /* "pdu" */
    uint64_t id, offset, length;
    uint64_t tx_number; /* valid if has_tx: number of the transaction in the flow, as in EVE */
    bool has_tx;
    bool is_complete;       /* the bytes that arrived reach to its end; there may be gaps */
    const uint8_t *payload; /* its first bytes, with a note in place of each gap; NULL: they were not copied */
    uint32_t payload_length;
};

/* A rule that matched; filled in by detect. */
struct hit {
    const struct rule *rule;
    bool in_stream; /* matched in reassembled stream data */
    bool of_flow;   /* pass and drop apply to the whole flow, because the rule matched in a stream, or has no conditions
                       but addresses and ports */
    bool tx_guessed; /* the rule has no transaction conditions, so `tx` is the flow's current transaction; false over
                        UDP */
    const struct app_tx *tx;         /* the transaction it matched in, or NULL; valid until app_free_completed() */
    const struct frame_facts *frame; /* the frame it matched in, or NULL; valid until the detector's next packet */
    uint8_t first_text, text_count; /* captures for the alert: index of the first in decision.texts, and their number */
    struct filter_match filter;     /* firewall rules: the hook */
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
    const struct frame_facts *frame; /* as in struct hit */
    uint8_t first_text, text_count;
    struct filter_match filter; /* alerts of firewall rules and default policies: the hook */
};

struct decision {
    const struct alert *alerts; /* valid until the worker's next packet */
    size_t alert_count;
    const struct rule *drop_rule;       /* the rule that dropped, or NULL */
    const struct rule *would_drop_rule; /* the first rule whose drop alert-only does not enforce, or NULL */
    const struct rule *block_rule;      /* the first dropping rule that also blocks a host, or NULL */
    struct filter_match drop_filter;    /* the hook at which the firewall rules drop the packet, or would drop it */
    bool filtered;                      /* the firewall rules were evaluated, or had accepted the flow */
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
