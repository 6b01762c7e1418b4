/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules as they are parsed: one immutable `struct rule` each, in the arena of their rule_list.
 *
 * The language is Suricata's (docs.suricata.io, "Suricata Rules"): a header of action, protocol, addresses and ports,
 * and options `name[:value];` in parentheses. An option ends at an unescaped `;` - quotes are not tracked. Every
 * mistake is reported with its position. A rule with a mistake is not loaded, and parsing continues with the next rule.
 *
 * Threads:   a rule_list is built by one thread; finished rules are read by all.
 * Ownership: the list owns everything reachable from its rules.
 */
#ifndef SLUICE_RULE_H
#define SLUICE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/arena.h"
#include "sluice/diag.h"
#include "sluice/script.h"
#include "sluice/text.h"

/* The version of Suricata that Sluice implements: `requires` is compared with it, `sluice suricata-compat` and the
 * member suricata_version of events report it. */
#define RULE_SURICATA_VERSION "8.0.7"
enum { RULE_SURICATA_MAJOR = 8, RULE_SURICATA_MINOR = 0, RULE_SURICATA_PATCH = 7 };

struct datasets;
struct keyword;
struct keyword_table;
struct match_input;

/* --- Sets of addresses and ports ------------------------------------------------------------------ */

/* Ranges of a set are sorted and disjoint. Within a list, sets with equal text are the same object, so that a
 * comparison of pointers finds most equal sets. */
struct address_range4 {
    uint32_t low, high; /* host order */
};
struct address_range6 {
    struct address low, high;
};
struct address_set {
    bool any; /* matches all addresses of both families */
    uint32_t count4, count6;
    const struct address_range4 *range4;
    const struct address_range6 *range6;
    const char *text; /* the addresses as text, with variables expanded */
};
bool address_set_has(const struct address_set *set, int ip_version, const struct address *address);

struct port_range {
    uint16_t low, high;
};
struct port_set {
    bool any;
    uint32_t count;
    const struct port_range *range;
    const char *text;
};
bool port_set_has(const struct port_set *set, uint16_t port);

/* --- Parts of a rule ------------------------------------------------------------------------------ */

enum rule_action {
    ACTION_ALERT,
    ACTION_PASS,
    ACTION_DROP,
    ACTION_REJECT, /* reject and rejectsrc: sends a reject packet to the sender */
    ACTION_REJECT_DESTINATION,
    ACTION_REJECT_BOTH,
    ACTION_ACCEPT, /* firewall rules only */
    ACTION_COUNT,
};
const char *rule_action_name(enum rule_action action);
static inline bool rule_action_drops(enum rule_action action)
{
    return action != ACTION_ALERT && action != ACTION_PASS && action != ACTION_ACCEPT;
}

/* What the action of a rule applies to. */
enum rule_scope {
    RULE_SCOPE_DEFAULT, /* not written: decided by the conditions of the rule */
    RULE_SCOPE_PACKET,
    RULE_SCOPE_FLOW,
    RULE_SCOPE_HOOK, /* accept only: the hook in which the rule matched; the next hook is evaluated */
    RULE_SCOPE_TX,   /* accept only: all hooks of the transaction */
    RULE_SCOPE_COUNT,
};
const char *rule_scope_name(enum rule_scope scope); /* "packet"; NULL for RULE_SCOPE_DEFAULT */

/* Where a rule is evaluated, as written after the protocol: `tcp:flow_start`, `http1:request_line`. */
enum rule_hook_kind {
    RULE_HOOK_NONE,       /* not written */
    RULE_HOOK_ALL,        /* every packet */
    RULE_HOOK_FLOW_START, /* the first packet of each direction of a flow */
    RULE_HOOK_PRE_FLOW,   /* packets before their flow is found or created */
    RULE_HOOK_PRE_STREAM, /* packets before the state of their TCP session is updated */
    RULE_HOOK_APP,        /* transactions that have reached a progress */
};
struct rule_hook {
    enum rule_hook_kind kind;
    const char *protocol; /* "http", "tcp"; NULL for RULE_HOOK_NONE */
    const char *name;     /* "request_line", "stream:request_headers"; NULL for RULE_HOOK_NONE */
    bool and_earlier;     /* `<`: the rule also accepts the earlier hooks of its direction */
    uint8_t direction;    /* RULE_HOOK_APP: enum flow_direction */
    uint8_t sub_state;    /* RULE_HOOK_APP: number of the sub-state of the hook; 0: all sub-states, or there are none */
    uint8_t index;        /* RULE_HOOK_APP: number of the hook in its protocol and direction */
    uint8_t progress;     /* RULE_HOOK_APP: progress of the transaction from which on the hook is evaluated */
};

/* Returns whether rules with the hook are evaluated before the flow or the stream of a packet is updated. */
static inline bool rule_hook_is_early(const struct rule_hook *hook)
{
    return hook->kind == RULE_HOOK_PRE_FLOW || hook->kind == RULE_HOOK_PRE_STREAM;
}

/* The hooks of the application protocols, for the parser of rules. */
struct rule_hook_names {
    /* Finds a hook of the protocol with this name. Returns false if there is none. */
    bool (*find)(const char *application, struct span name, struct rule_hook *out);
    /* Returns the name of the hook with this number, counted over both directions; NULL: there are no more. */
    const char *(*name)(const char *application, size_t number);
};

/* The protocol of a rule, and which packets it matches. */
struct rule_protocol {
    const char *name;         /* "tcp", "ip", "tcp-pkt", "pkthdr", "http"... */
    uint64_t ip_protocols[4]; /* bit set of IPPROTO_* */
    bool ipv4, ipv6;
    bool any_packet;  /* pkthdr, ether, arp: also packets without an IP header */
    bool arp;         /* arp: only valid ARP messages */
    bool ethernet;    /* ether: only packets with an Ethernet header */
    bool packet_only; /* tcp-pkt: the packet's payload, never the stream */
    bool stream_only; /* tcp-stream: the stream only */
    bool has_ports;   /* tcp, udp, sctp and application protocols over them, and ip */
    /* application protocol: "http" etc.; NULL: the rule names a network or transport protocol */
    const char *application;
};

/* Returns the names of the protocols that a protocol name includes besides others of the same name (http: http, http2),
 * NULL-terminated; NULL: only the protocol itself. */
const char *const *rule_protocol_members(const char *word);

enum { RULE_MAX_VALUES = 8 }; /* maximum number of byte_extract and byte_math variables in a rule */

/* A literal to search for, with its modifiers. */
struct content {
    const uint8_t *bytes;
    uint16_t length;
    bool negated, nocase, rawbytes;
    bool has_offset, has_depth, has_distance, has_within, starts_with, ends_with;
    bool relative; /* has_distance or has_within */
    bool fast_pattern, fast_pattern_only, fast_pattern_chop;
    /* part of the content to search for; valid if fast_pattern_chop */
    uint16_t fast_pattern_offset, fast_pattern_length;
    int32_t offset, depth, distance, within;
    /* Index into inspection.values when the number is a variable, -1 otherwise. */
    int8_t offset_value, depth_value, distance_value, within_value;
};

/* One condition: a keyword with its parsed data. */
struct condition {
    const struct keyword *keyword;
    const void *data;
    struct condition *next;
    bool negated;  /* the rule matches if the condition does not; ignored for KEYWORD_CONTENT, whose inspect() handles
                      negation */
    bool relative; /* the position of the condition counts from the end of the previous match in the buffer */
    bool next_relative; /* the next condition is relative to this one: if the next one fails, further matches of this
                           one are tried */
    uint8_t directions; /* conditions on transactions and files: 1 << enum flow_direction or 0, as in rule_buffer */
};

/* An action that a rule performs when it matches, in addition to its verdict: flowbits:set. */
typedef void match_action_function(const struct match_input *in, const void *data);
struct match_action {
    const struct keyword *keyword;
    match_action_function *act;
    const void *data;
    bool each_packet; /* a rule with this action is not an address-only rule, which is evaluated once per flow */
    struct match_action *next;
};

enum buffer_absence {
    BUFFER_PRESENT,
    BUFFER_ABSENT,         /* the rule matches only if the buffer does not exist */
    BUFFER_ABSENT_OR_ELSE, /* the rule matches if the buffer does not exist, or its conditions match */
};

/* The conditions on one buffer, in the order in which they were written. */
struct rule_buffer {
    const struct keyword *keyword; /* the KEYWORD_BUFFER that selected it; NULL for the payload */
    struct condition *transforms;  /* KEYWORD_TRANSFORM, applied in this order */
    enum buffer_absence absence;
    uint8_t directions; /* transactional rules: the bit 1 << enum flow_direction of the direction in which the buffer is
                           read; otherwise 0: the direction in which the rule is evaluated */
    struct condition *conditions;
    struct condition *last;
    struct rule_buffer *next;
};

struct reference {
    const char *system, *id;
    const char *prefix; /* URL prefix from reference.config; NULL if the system is unknown */
    struct reference *next;
};

/* The value of a metadata option as written in the rule, with at least one pair of key and value. The pairs are parsed
 * when an event needs them: as separate strings they would take more memory than all other parts of the rules. */
struct metadata {
    struct span text;
    struct metadata *next;
};

/* A position in the metadata of a rule. Initialise it with { rule->metadata } to read from the first pair. */
struct metadata_position {
    const struct metadata *next; /* the next option */
    struct span rest;            /* rest of the current option */
};
/* Reads the next pair, and continues with the next option at the end of one. As in Suricata, a key without a value is
 * ignored. Returns false after the last pair. */
bool rule_metadata_next(struct metadata_position *position, struct span *key, struct span *value);

enum target { TARGET_NONE, TARGET_SOURCE, TARGET_DESTINATION };

/* Kinds of thresholds: of the keywords threshold and detection_filter, and of the lines of threshold.config. */
enum threshold_kind {
    THRESHOLD_LIMIT,
    THRESHOLD_THRESHOLD,
    THRESHOLD_BOTH,
    THRESHOLD_BACKOFF,
    THRESHOLD_DETECTION_FILTER,
    THRESHOLD_RATE_FILTER,
    THRESHOLD_SUPPRESS,
};
enum threshold_track { TRACK_SOURCE, TRACK_DESTINATION, TRACK_BOTH, TRACK_RULE, TRACK_FLOW, TRACK_EITHER };
enum threshold_unique { UNIQUE_NONE, UNIQUE_SOURCE_PORT, UNIQUE_DESTINATION_PORT };

struct threshold {
    enum threshold_kind kind;
    enum threshold_track track;
    bool has_track;               /* false: suppress without track, which applies to all hosts */
    enum threshold_unique unique; /* detection_filter with unique_on: counts distinct ports instead of matches */
    uint32_t count, seconds, multiplier;
    uint32_t timeout;            /* rate_filter: seconds for which new_action applies */
    enum rule_action new_action; /* rate_filter: the action after `count` matches */
    /* suppress: the addresses for which alerts are suppressed; NULL: all addresses */
    const struct address_set *addresses;
    uint32_t index; /* number of the threshold, unique within a rule_list; part of the key of its state */
    struct threshold *next;
};

/* Kinds of names of state that rules share. Each name has a number, counted from 1, which is the same in all lists
 * created with the same struct rule_names. */
enum rule_name_kind {
    RULE_NAME_FLOWBIT,
    RULE_NAME_FLOWINT,
    RULE_NAME_XBIT,
    RULE_NAME_HOSTBIT,
    RULE_NAME_FLOW_TEXT, /* a text that pcre captures as a variable of the flow; the next two: of the packet, of the
                            alert */
    RULE_NAME_PACKET_TEXT,
    RULE_NAME_ALERT_TEXT,
    RULE_NAME_TX_BIT, /* a bit of a transaction */
    RULE_NAME_RULE,   /* a rule, named "gid:sid", so that its match counters survive a reload */
    RULE_NAME_KIND_COUNT,
};

/* Flow texts with this prefix are no text: they are the value (a double) that the keyword entropy has computed from the
 * buffer whose name follows. */
#define RULE_ENTROPY_PREFIX "entropy/"

/* How a rule uses a kind of state (bits). Rules that write it are evaluated before rules that read it. */
enum { RULE_STATE_READS = 1, RULE_STATE_WRITES = 2 };

/* The keyword tag: which packets are logged after the packet that matched. */
enum tag_scope { TAG_SESSION, TAG_HOST };
enum tag_unit { TAG_PACKETS, TAG_SECONDS, TAG_BYTES };
enum { RULE_TAG_MAX_PACKETS = 256 };

struct rule_tag {
    enum tag_scope scope;
    enum tag_unit unit;
    uint32_t count;              /* how many packets, seconds or bytes (`unit`) are logged */
    bool of_source;              /* TAG_HOST. true: tags the sender of the packet that matched; false: its receiver */
    bool exclusive;              /* a flow or host with an active tag of this rule is not tagged again */
    const struct rule_tag *next; /* next tag of the rule, which may have several; NULL: none */
};

/* The bytes in which contents without a buffer keyword are matched, in TCP. */
enum rule_payload {
    RULE_PAYLOAD_DEFAULT,     /* decided by the rule's conditions: see KEYWORD_STATE in keyword.h */
    RULE_PAYLOAD_PACKET_ONLY, /* flow:no_stream, tcp-pkt */
    RULE_PAYLOAD_STREAM_ONLY, /* flow:only_stream, tcp-stream */
};

/* The host that is blocked when the rule drops a packet: by the keyword fwsam, or by the settings nft.blocklist.*. */
enum rule_block { RULE_BLOCK_NONE, RULE_BLOCK_SOURCE, RULE_BLOCK_DESTINATION, RULE_BLOCK_BOTH };
#define RULE_BLOCK_SECONDS_DEFAULT UINT32_MAX /* no time given: becomes options.block_seconds */

/* Properties of files and messages that a rule needs in addition to their bytes. */
enum {
    RULE_FILE_MD5 = 1 << 0, /* 1 << enum file_digest */
    RULE_FILE_SHA1 = 1 << 1,
    RULE_FILE_SHA256 = 1 << 2,
    RULE_FILE_DIGESTS = 7,
    RULE_FILE_MAGIC = 1 << 3,
    RULE_FILE_STORE = 1 << 4,
    RULE_MESSAGE_MD5 = 1 << 5, /* MD5 of an e-mail's body */
    RULE_TX_START = 1 << 6,    /* transactions are inspected when they start, before they have made progress */
};

/* A line of the rule policy that changed a rule. */
struct rule_change {
    struct position at;
    const char *text; /* the line as written */
    bool disables;    /* the line disabled the rule; a later line may have enabled it */
    struct rule_change *next;
};

struct rule {
    enum rule_action action;
    enum rule_scope scope;
    struct rule_protocol protocol;
    struct rule_hook hook;
    const struct address_set *source, *destination;
    const struct port_set *source_port, *destination_port;
    bool bidirectional;   /* `<>`: the rule also matches with source and destination exchanged */
    bool transactional;   /* `=>`: the rule has conditions on both directions of a transaction, and is evaluated in the
                             direction to the client */
    bool firewall;        /* a firewall rule: evaluated before all other rules, in the order of the files */
    enum rule_scope pass; /* firewall rules: scope of a further action pass; RULE_SCOPE_DEFAULT: none */
    bool noalert;
    bool alert;      /* a pass or accept rule that also reports an alert when it matches */
    bool alert_only; /* set by the rule policy: packets that the rule would drop or reject pass, and are reported */

    uint32_t sid, gid, revision;
    uint32_t index;    /* position in its rule_list */
    uint32_t number;   /* number of gid:sid, the same in every list with the same struct rule_names; 0: the list has
                          separate names */
    uint8_t priority;  /* 1 is the highest; from the class or the keyword */
    bool has_priority; /* true: `priority` is from the keyword priority; false: from the class or the default */
    const char *message;
    const char *class_name, *class_description; /* NULL without classtype */
    struct reference *references;
    struct metadata *metadata;
    enum target target;

    struct condition *packet_conditions; /* in ascending order of cost */
    struct condition *transaction_conditions, *file_conditions;
    struct match_action *actions; /* executed in this order when the rule matches */
    enum rule_payload payload;
    uint8_t state_use[RULE_NAME_KIND_COUNT]; /* RULE_STATE_READS, RULE_STATE_WRITES */
    const struct rule_tag *tag;              /* NULL: none */
    bool captures_text;                      /* a pcre captures text, or a dataset has objects for alerts */
    bool extracts_values;                    /* byte_extract or byte_math stores a value */
    const char *const *applications; /* protocol names, NULL-terminated: the rule matches only in flows of one of these
                                        protocols; NULL: in all flows */
    unsigned directions;  /* bits 1 << enum flow_direction in which the rule can match by its keywords; 0: the rule has
                             no keywords of application protocols */
    unsigned file_needs;  /* RULE_FILE_..., RULE_MESSAGE_MD5, RULE_TX_START */
    bool needs_conntrack; /* the rule has conditions on conntrack data of packets */
    bool bypass;          /* after a match the rest of the flow is not inspected */
    enum rule_block block;
    uint32_t block_seconds; /* 0: permanently */
    struct rule_buffer *buffers;
    /* buffers of keywords with KEYWORD_NESTED, whose conditions are evaluated by conditions in `buffers` */
    struct rule_buffer *nested;
    struct threshold *thresholds; /* thresholds of the rule and of lines in threshold.config that name it */

    const char *text; /* the rule without surrounding space, as changed by the rule policy */
    const char *file;
    uint32_t line;
    const struct rule_change *changes; /* made by the rule policy, in order; NULL: the rule is unchanged */
};

/* --- Loading -------------------------------------------------------------------------------------- */

/* Variables such as $HOME_NET. A value is parsed each time a rule uses it, so a mistake in it is reported for each rule
 * that uses it. */
struct rule_variables;
struct rule_variables *rule_variables_new(void);
void rule_variables_free(struct rule_variables *variables);
int rule_variables_set_address(struct rule_variables *variables, const char *name, const char *value);
int rule_variables_set_port(struct rule_variables *variables, const char *name, const char *value);

/* Registry of numbers for names. It outlives the lists created with it, so that flow bits survive a reload. Any thread
 * may use it. */
struct rule_names;
struct rule_names *rule_names_new(void); /* NULL when out of memory */
void rule_names_free(struct rule_names *names);
/* Returns the number of a name, assigning one if necessary; 0 if memory is exhausted. */
uint32_t rule_names_number(struct rule_names *names, enum rule_name_kind kind, struct span name);
/* Returns the number of a name; 0: none assigned. */
uint32_t rule_names_find(const struct rule_names *names, enum rule_name_kind kind, struct span name);
/* Returns the name, valid as long as the registry; NULL if the number is not assigned. */
const char *rule_names_text(const struct rule_names *names, enum rule_name_kind kind, uint32_t number);

/* Files that disable, enable and change rules while the rules are read, applied in the order of these members; NULL:
 * none. */
struct rule_policy_files {
    const char *disable, *enable, *drop,
        *modify;           /* disable.conf, enable.conf, drop.conf, modify.conf of suricata-update */
    const char *decisions; /* rule-policy.file: lines of a verb, such as disable, and a matcher */
};

/* The options and all they point to must stay valid until rule_list_finish() returns; keywords and names must outlive
 * the list. */
struct rule_list_options {
    const struct keyword_table *keywords;
    const struct rule_variables *variables;
    const char *classification_file; /* NULL: no classes are known, and a classtype is a warning */
    const char *reference_file;      /* NULL: references are kept without prefix */
    const char *threshold_file;      /* NULL: none */
    struct rule_policy_files policy;
    struct rule_names *names;            /* NULL: the list uses names of its own */
    struct datasets *datasets;           /* must outlive the list; NULL: no rule can use a dataset */
    bool owns_datasets;                  /* the list owns `datasets` once rule_list_new() has succeeded */
    const char *reputation_categories;   /* file with the categories for the keyword iprep; NULL: none */
    const char *const *reputation_files; /* NULL-terminated, or NULL */
    const char *geoip_database;      /* file for the keyword geoip, opened when the first rule uses it; NULL: none */
    const char *const *applications; /* supported application protocols; NULL-terminated, or NULL */
    const struct rule_hook_names *hooks; /* NULL: rules cannot name hooks of application protocols */
    struct script_options scripts;
    const char *script_folder; /* folder of the scripts that are not in the folder of the rule file; NULL: none */
    /* Which drop rules block a host although they do not have the keyword fwsam: settings nft.blocklist.*. */
    uint8_t block_priority;              /* 0: none */
    const char *const *block_classtypes; /* NULL-terminated, or NULL */
    uint32_t block_seconds; /* how long such hosts are blocked, also for fwsam without a time; 0: permanently */
};

struct rule_list;

/*
 * Creates an empty list, reads the files of the options and reports their mistakes in `diag`. Returns 0 or -ENOMEM.
 */
int rule_list_new(struct rule_list **out, const struct rule_list_options *options, struct diag *diag);
void rule_list_free(struct rule_list *list);

/* Adds the rules of a file. A file that was added before, also by another path, is skipped with a note in `diag`.
 * Returns 0, or -errno if the file cannot be read (reported, too); mistakes in rules are in `diag`. */
int rule_list_load(struct rule_list *list, const char *path, struct diag *diag);

/* Adds the rules of a file of firewall rules, like rule_list_load(). The rule policy does not apply to them. */
int rule_list_load_firewall(struct rule_list *list, const char *path, struct diag *diag);
int rule_list_parse_firewall(struct rule_list *list, const char *name, const char *text, size_t length,
                             struct diag *diag);

/* Adds rules from memory, like rule_list_load(); `name` is the file name in diagnostics. `text` need not outlive the
 * call. */
int rule_list_parse(struct rule_list *list, const char *name, const char *text, size_t length, struct diag *diag);

/*
 * Completes the list after the last file: removes duplicates (same gid and sid: the higher revision remains), applies
 * threshold.config, and assigns indices. Returns 0 or -ENOMEM. Rules can be read only after this call.
 */
int rule_list_finish(struct rule_list *list, struct diag *diag);

size_t rule_list_count(const struct rule_list *list);
const struct rule *rule_list_get(const struct rule_list *list, size_t index);
/* Returns the rule; if a firewall rule and another rule have these ids, the other rule. NULL: there is none. */
const struct rule *rule_list_find(const struct rule_list *list, uint32_t gid, uint32_t sid);

/* Rules read = loaded + rejected (failed + skipped) + replaced (by a higher revision of the same sid, or by an
 * identical rule). */
size_t rule_list_firewall_count(const struct rule_list *list); /* loaded firewall rules */
size_t rule_list_files(const struct rule_list *list);          /* files read by rule_list_load() */
size_t rule_list_read(const struct rule_list *list);
size_t rule_list_rejected(const struct rule_list *list);
size_t rule_list_failed(const struct rule_list *list); /* rules with a mistake */
/* rules that use a feature that Sluice does not support, and those that rule_list_unmet() counts */
size_t rule_list_skipped(const struct rule_list *list);
/* rules whose option `requires` is not met: they are for another version, and not reported in the diag */
size_t rule_list_unmet(const struct rule_list *list);
size_t rule_list_replaced(const struct rule_list *list);
size_t rule_list_unreadable_files(const struct rule_list *list); /* files that rule_list_load() could not read */
/* Unix times in seconds: when loading began, and when the newest of the rule files was last modified (0: no files). */
int64_t rule_list_started(const struct rule_list *list);
int64_t rule_list_modified(const struct rule_list *list);

/* Rules and files that were not loaded, in the order in which they were found. The first RULE_MAX_FAILURES are stored.
 */
enum { RULE_MAX_FAILURES = 16384 };
enum rule_failure_kind {
    RULE_FAILURE_MISTAKE,
    RULE_FAILURE_UNSUPPORTED,
    RULE_FAILURE_UNMET, /* the option `requires` is not met */
    RULE_FAILURE_UNREAD_FILE,
};
struct rule_failure {
    enum rule_failure_kind kind;
    const char *file;
    uint32_t line;     /* 0: the whole file */
    uint32_t gid, sid; /* sid 0: the rule has none, or it could not be parsed */
    const char *reason;
    struct span text;                  /* the rule as it was parsed; .at NULL: the whole file */
    const struct rule_change *changes; /* made by the rule policy; NULL: the rule is unchanged */
};
size_t rule_list_failure_count(const struct rule_list *list); /* number of stored failures */
const struct rule_failure *rule_list_failure(const struct rule_list *list, size_t index);
/* Returns the first failure of the rule; NULL: none is stored. */
const struct rule_failure *rule_list_find_failure(const struct rule_list *list, uint32_t gid, uint32_t sid);
const char *rule_failure_kind_name(enum rule_failure_kind kind); /* "mistake", "requires" */

/* Calls `each` for each unsupported feature and unknown keyword of rejected rules, most frequent first. `tag` is the
 * name of the keyword, or a text such as "protocol http"; `rules` is the number of rules that have it. Unlike the
 * entries of a diag, this list is never truncated. */
void rule_list_each_missing(const struct rule_list *list, void (*each)(const char *tag, size_t rules, void *user),
                            void *user);

/* How many rules the rule policy changed, by the final state of the rule. */
struct rule_policy_counts {
    size_t enabled, disabled;
    size_t actions[ACTION_COUNT]; /* number of rules whose action the policy changed to this one */
    size_t alert_only, modified;
};
const struct rule_policy_counts *rule_list_policy_counts(const struct rule_list *list);
/* Appends "3 enabled, 12 disabled, 5 changed to drop"; nothing if no rule was changed. */
void rule_policy_counts_print(const struct rule_policy_counts *counts, struct text *out);

/* A rule that is not loaded because it is commented out in its file, or because the policy disables it. */
struct rule_disabled {
    uint32_t gid, sid;
    bool commented;
    const char *text, *file;
    uint32_t line;
    const struct rule_change *changes;
};
const struct rule_disabled *rule_list_find_disabled(const struct rule_list *list, uint32_t gid, uint32_t sid);

size_t rule_list_threshold_count(const struct rule_list *list);
/* Returns the suppressions of threshold.config that apply to all rules of this gid (sig_id 0), including suppressions
 * for all rules (gen_id 0 and sig_id 0). They apply in addition to the thresholds of each rule. NULL: none. */
const struct threshold *rule_list_global_thresholds(const struct rule_list *list, uint32_t gid);
/* Returns whether a rule of the list tags hosts; then each packet's hosts must be looked up in the table of host
 * tags. */
bool rule_list_has_host_tags(const struct rule_list *list);
struct rule_names *rule_list_names(const struct rule_list *list);
struct datasets *rule_list_datasets(const struct rule_list *list);
/* Returns the scripts of the rules; NULL: no rule has a script. */
const struct script_set *rule_list_scripts(const struct rule_list *list);
struct arena *rule_list_arena(struct rule_list *list); /* for data that must live as long as the rules */
/* Removes the texts of the rules from resident memory until they are read again. Call it after loading the rules. */
void rule_list_page_out(const struct rule_list *list);
size_t rule_list_text_memory(const struct rule_list *list); /* bytes of these texts, which malloc() does not count */

#endif
