/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS, mDNS and LLMNR: one message format, one transaction a message.
 *
 * A message is copied once, and its names are written out behind it, each once as it is met; records refer to both by
 * offsets. So a transaction is two objects of the heap, however many records it has, and a keyword that asks for the
 * i-th name finds it at once. A name that is nothing but a pointer to where the name before it was shares that one's
 * text: what a server answers with is seldom anything else. What names may cost in all is limited for each message
 * (DNS_TEXT_MAX, DNS_LABELS_MAX); a name beyond that is cut as one that is too long.
 */
#ifndef SLUICE_APP_DNS_PRIV_H
#define SLUICE_APP_DNS_PRIV_H

#include "sluice/app.h"
#include "sluice/number_range.h"

enum {
    DNS_HEADER = 12,
    DNS_NAME_MAX = 1025,       /* of one name; the field's limit, which is that of popular servers */
    DNS_LABELS = 255,          /* and of its labels and pointers */
    DNS_TEXT_MAX = 256 << 10,  /* of a message with its names */
    DNS_LABELS_MAX = 64 << 10, /* of all names of a message */
    DNS_RECORD_MIN = 5,        /* bytes of the shortest query */
};

/* Bits of a header's second word. */
enum {
    DNS_RESPONSE = 0x8000,
    DNS_AUTHORITATIVE = 0x0400,
    DNS_TRUNCATED = 0x0200,
    DNS_RECURSION_DESIRED = 0x0100,
    DNS_RECURSION_AVAILABLE = 0x0080,
    DNS_Z = 0x0040,
    DNS_AUTHENTIC = 0x0020,
    DNS_CHECKING_DISABLED = 0x0010,
    DNS_RCODE = 0x000f,
};

enum dns_type {
    DNS_A = 1,
    DNS_NS = 2,
    DNS_CNAME = 5,
    DNS_SOA = 6,
    DNS_NULL = 10,
    DNS_PTR = 12,
    DNS_MX = 15,
    DNS_TXT = 16,
    DNS_AAAA = 28,
    DNS_SRV = 33,
    DNS_OPT = 41,
    DNS_SSHFP = 44,
};

enum dns_event {
    DNS_MALFORMED_DATA,
    DNS_NOT_REQUEST,
    DNS_NOT_RESPONSE,
    DNS_Z_FLAG_SET,
    DNS_INVALID_OPCODE,
    DNS_NAME_TOO_LONG,
    DNS_INFINITE_LOOP,
    DNS_TOO_MANY_LABELS,
    DNS_INVALID_ADDITIONALS,
    DNS_INVALID_AUTHORITIES,
    DNS_UNSOLICITED_RESPONSE,
    DNS_STATE_MEMCAP_REACHED,
    DNS_FLOODED,
    DNS_EVENTS,
};
extern const struct app_event dns_events[DNS_EVENTS];

/* What was found wrong with a name. */
enum { DNS_NAME_LOOP = 1, DNS_NAME_CUT = 2, DNS_NAME_LABELS = 4 };

struct dns_name {
    uint32_t at; /* in the transaction's text */
    uint16_t length;
    uint8_t flags;
};

struct dns_record {
    struct dns_name name;
    struct dns_name target;  /* CNAME, NS, PTR, MX, SRV: the name in the data; SOA: the server's */
    struct dns_name mailbox; /* SOA */
    uint32_t ttl;
    uint32_t data;  /* where the data is in the text */
    uint32_t fixed; /* where the numbers of SOA and SRV are */
    uint16_t data_length;
    uint16_t type, class;
    uint16_t named,
        targeted; /* of the i-th record of a section: the number there of the i-th one with a name, with a target */
};

enum dns_section { DNS_QUERIES, DNS_ANSWERS, DNS_AUTHORITIES, DNS_ADDITIONALS, DNS_SECTIONS };
struct dns_records {
    struct dns_record *first;
    uint16_t count, named, targeted;
};

struct dns_tx {
    struct app_tx tx;
    uint16_t id, flags;
    bool parsed;   /* there is a message, or the part of it that could be read; otherwise there are only events */
    bool response; /* by its direction, or in mDNS by its header */
    struct dns_records section[DNS_SECTIONS];
    struct dns_record *records;
    struct buffer text;
};

/* --- parse.c -------------------------------------------------------------------------------------- */

struct dns_header {
    uint16_t id, flags;
    uint16_t count[DNS_SECTIONS];
};

struct dns_question {
    uint16_t type, class;
    uint16_t labels; /* of the name, through all pointers */
    bool printable;  /* all bytes of the labels */
    bool cut;        /* the name ends with the bytes that are there */
};

/* Whether a header of a message of `length` bytes may be one at all; out is written when there are enough bytes. */
bool dns_header_read(const uint8_t *bytes, size_t available, size_t length, struct dns_header *out);
/* 0; -EINVAL when it is broken: what was read of queries and answers stays; -ENOMEM. `events` gets bits 1 << enum
 * dns_event. */
int dns_parse(struct heap *heap, struct dns_tx *tx, const struct dns_header *header, const uint8_t *bytes,
              uint32_t length, unsigned *events);
void dns_forget(struct heap *heap, struct dns_tx *tx);
/* Reads the first question alone: there are servers that answer it whatever the counts of the header say and whatever
 * comes behind it. */
bool dns_first_question(const uint8_t *bytes, uint32_t length, const struct dns_header *header,
                        struct dns_question *out);
/* Walks over a message without keeping anything; true when queries and answers are well-formed. */
bool dns_check(const uint8_t *bytes, uint32_t length, const struct dns_header *header);

/* --- dns.c: what the protocols share -------------------------------------------------------------- */

enum { DNS_COMPLETE = 1 };
struct dns_state {
    bool lost[FLOW_DIRECTIONS]; /* the beginning of the next message is not known */
};
struct app_result dns_feed(struct app_context *context, void *state, const struct app_input *in);
struct app_result dns_feed_multicast(struct app_context *context, void *state, const struct app_input *in);
void dns_tx_free(struct app_context *context, struct app_tx *tx);
/* Whether the bytes are a message of the format on a port where it is expected. */
enum app_guess dns_probe_weak(const struct app_probe *in);

/* --- keywords.c ----------------------------------------------------------------------------------- */

enum { DNS_BUFFERS = 12, DNS_CONDITIONS = 6, MDNS_BUFFERS = 10, LLMNR_BUFFERS = 10 };
extern const struct app_buffer dns_buffers[DNS_BUFFERS], mdns_buffers[MDNS_BUFFERS], llmnr_buffers[LLMNR_BUFFERS];
extern const struct app_condition dns_conditions[DNS_CONDITIONS];
extern const struct keyword keyword_dns_query, keyword_dns_query_name, keyword_dns_queries_rrname,
    keyword_dns_answer_name, keyword_dns_answers_rrname, keyword_dns_authorities_rrname, keyword_dns_additionals_rrname,
    keyword_dns_response_rrname, keyword_mdns_queries_rrname, keyword_mdns_answers_rrname,
    keyword_mdns_authorities_rrname, keyword_mdns_additionals_rrname, keyword_mdns_response_rrname,
    keyword_llmnr_queries_rrname, keyword_llmnr_answers_rrname, keyword_llmnr_authorities_rrname,
    keyword_llmnr_additionals_rrname, keyword_llmnr_response_rrname, keyword_dns_opcode, keyword_dns_rcode,
    keyword_dns_rrtype;

/* --- types.c -------------------------------------------------------------------------------------- */

/* EVE's name of a record type, in lower case if asked; a number as text when it has none. */
enum { DNS_TYPE_NAME = 12 };
const char *dns_type_name(uint16_t type, bool lower, char text[DNS_TYPE_NAME]);
const char *dns_rcode_name(uint16_t rcode, char text[DNS_TYPE_NAME]);
/* The same for the keywords, and for the setting of types to be logged. */
extern const struct number_name dns_type_names[], dns_rcode_names[];

/* --- log.c ---------------------------------------------------------------------------------------- */

void dns_log(const struct app_tx *tx, const void *settings, struct fields *out);
void dns_log_alert(const struct app_tx *tx, const void *settings, struct fields *out);
bool dns_wants_log(const struct app_tx *tx, const void *settings);
void mdns_log(const struct app_tx *tx, const void *settings, struct fields *out);
void llmnr_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool dns_logs_from_server(const struct app_tx *tx, const void *settings);
bool dns_wants_log_any(const struct app_tx *tx, const void *settings);

/* --- settings.c ----------------------------------------------------------------------------------- */

enum { DNS_LOG_TYPES = 257 };
struct dns_settings {
    bool requests, responses;
    bool grouped, detailed;
    unsigned version;
    bool all_types;
    bool types[DNS_LOG_TYPES];
};
extern const struct setting dns_setting_rows[], mdns_setting_rows[], llmnr_setting_rows[];
int dns_configure(const struct config *config, struct diag *diag, void **out);
void dns_unconfigure(void *settings);

#endif
