/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS, mDNS and LLMNR: one message format, one transaction per message.
 *
 * A transaction stores a copy of the message, followed by its decoded names (dns_tx.text), and an array of records,
 * which refer to the text by offset. Each name is decoded once; keywords access the i-th name directly. Consecutive
 * names that consist only of a pointer with the same target, as usual in answers, share the decoded text. The size of
 * all names of a message together is limited (DNS_TEXT_MAX, DNS_LABELS_MAX); names beyond the limit are truncated like
 * names that are too long.
 */
#ifndef SLUICE_APP_DNS_PRIV_H
#define SLUICE_APP_DNS_PRIV_H

#include "sluice/app.h"
#include "sluice/number_range.h"

enum {
    DNS_HEADER_LENGTH = 12,
    DNS_NAME_MAX = 1025,       /* bytes of a decoded name, as in Suricata and popular servers */
    DNS_NAME_STEPS_MAX = 255,  /* labels and pointers of a name */
    DNS_TEXT_MAX = 256 << 10,  /* bytes of a message and its decoded names */
    DNS_LABELS_MAX = 64 << 10, /* labels of all names of a message */
    DNS_RECORD_MIN = 5,        /* bytes of the shortest query: the root name, type and class */
};

/* Bits of the flags in the header. */
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

/* dns_name.flags. DNS_NAME_LOOP: the name has a pointer to itself. DNS_NAME_TRUNCATED: the name is truncated.
 * DNS_NAME_TOO_MANY_LABELS: the name has more than DNS_NAME_STEPS_MAX labels and pointers. */
enum { DNS_NAME_LOOP = 1, DNS_NAME_TRUNCATED = 2, DNS_NAME_TOO_MANY_LABELS = 4 };

struct dns_name {
    uint32_t at;     /* offset in dns_tx.text */
    uint16_t length; /* bytes; 0: the root, or no name */
    uint8_t flags;   /* DNS_NAME_... */
};

/* A query or a resource record. */
struct dns_record {
    struct dns_name name;
    struct dns_name
        target; /* the name in the data of CNAME, NS, PTR, MX and SRV records; SOA: the primary server (MNAME) */
    struct dns_name mailbox; /* SOA: RNAME */
    uint32_t ttl;
    uint32_t data;    /* offset of the data in dns_tx.text */
    uint32_t numbers; /* SOA, SRV: offset of the numbers in the data; 0 if the data is empty or malformed */
    uint16_t data_length;
    uint16_t type, class;
    /* A section has two lists of record indexes: the records with a name, and the records with a target. Record i
     * stores element i of both lists. */
    uint16_t named, targeted;
};

enum dns_section { DNS_QUERIES, DNS_ANSWERS, DNS_AUTHORITIES, DNS_ADDITIONALS, DNS_SECTIONS };
struct dns_records {
    struct dns_record *first;
    uint16_t count, named, targeted; /* number of records, and lengths of the lists */
};

struct dns_tx {
    struct app_tx tx;
    uint16_t id, flags;
    bool parsed;   /* the message, or the part before an error, is stored; otherwise the transaction only has events */
    bool response; /* the message is a response, according to its direction; mDNS: according to its header */
    struct dns_records section[DNS_SECTIONS];
    struct dns_record *records; /* records of all sections, owned */
    struct buffer text;         /* the message, followed by its decoded names */
};

/* --- parse.c ----------------------------------------------------------------------------------------- */

struct dns_header {
    uint16_t id, flags;
    uint16_t count[DNS_SECTIONS];
};

struct dns_question {
    uint16_t type, class;
    uint16_t labels; /* number of labels of the name, including those reached through pointers */
    bool printable;  /* the labels contain printable bytes only */
    bool incomplete; /* the name extends beyond the available bytes */
};

/* Parses the header. Returns false if it is incomplete (`available`), or impossible for a message of `length` bytes;
 * *out is valid unless it is incomplete. */
bool dns_parse_header(const uint8_t *bytes, size_t available, size_t length, struct dns_header *out);
/* Returns the events of the header as bits 1 << enum dns_event. `multicast`: both directions may contain requests and
 * responses. */
unsigned dns_header_events(uint16_t flags, enum flow_direction direction, bool multicast);
/* Parses a message into `tx` and sets bits 1 << enum dns_event in *events. Returns 0, -ENOMEM, or -EINVAL if the
 * queries or answers are malformed; `tx` then has the records before the error. */
int dns_parse(struct heap *heap, struct dns_tx *tx, const struct dns_header *header, const uint8_t *bytes,
              uint32_t length, unsigned *events);
void dns_tx_clear(struct heap *heap, struct dns_tx *tx);
/* Parses the first question, which some servers answer regardless of the other header counts and of the following
 * bytes. Returns false if there is no question, or if it is malformed. */
bool dns_parse_first_question(const uint8_t *bytes, uint32_t length, const struct dns_header *header,
                              struct dns_question *out);
/* Whether queries and answers are well-formed. */
bool dns_is_well_formed(const uint8_t *bytes, uint32_t length, const struct dns_header *header);

/* --- dns.c: shared by the protocols ------------------------------------------------------------------ */

enum { DNS_COMPLETE = 1 };
struct dns_state {
    bool lost_start[FLOW_DIRECTIONS]; /* after a gap: the start of the next message is unknown */
};
struct app_result dns_feed(struct app_context *context, void *state, const struct app_input *in);
void dns_transfer(struct app_context *context, void *data, struct transfer *t); /* DNS and LLMNR */
struct app_result dns_feed_multicast(struct app_context *context, void *state, const struct app_input *in);
void dns_tx_free(struct app_context *context, struct app_tx *tx);
/* The probe for the ports of DNS, mDNS and LLMNR: accepts each message that a server on such a port may answer. */
enum app_probe_result dns_probe_lenient(const struct app_probe *in);

/* --- keywords.c -------------------------------------------------------------------------------------- */

enum { DNS_BUFFERS = 8, DNS_CONDITIONS = 3, MDNS_BUFFERS = 5, LLMNR_BUFFERS = 5 };
extern const struct app_buffer dns_buffers[DNS_BUFFERS], mdns_buffers[MDNS_BUFFERS], llmnr_buffers[LLMNR_BUFFERS];
extern const struct app_condition dns_conditions[DNS_CONDITIONS];
extern const struct keyword keyword_dns_query, keyword_dns_query_name, keyword_dns_queries_rrname,
    keyword_dns_answer_name, keyword_dns_answers_rrname, keyword_dns_authorities_rrname, keyword_dns_additionals_rrname,
    keyword_dns_response_rrname, keyword_dns_opcode, keyword_dns_rcode, keyword_dns_rrtype;
/* The names of the records of a section: part is enum dns_section. */
bool dns_get_record_name(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);
/* The names in a response: those of its queries and records, and those in the data of the records. */
bool dns_get_response(const struct app_tx *tx, struct app_selector which, struct app_bytes *out);

/* --- types.c ----------------------------------------------------------------------------------------- */

/* Return the name of a record type (in lower case if `lower` is true) or of a response code in EVE events; without a
 * name, the number as text. */
enum { DNS_TYPE_NAME = 12 };
const char *dns_type_name(uint16_t type, bool lower, char text[DNS_TYPE_NAME]);
const char *dns_rcode_name(uint16_t rcode, char text[DNS_TYPE_NAME]);
/* Names for the keywords and for the setting eve.types.dns.types. */
extern const struct number_name dns_type_names[], dns_rcode_names[];

/* --- log.c ------------------------------------------------------------------------------------------- */

void dns_log(const struct app_tx *tx, const void *settings, struct fields *out);
void dns_log_alert(const struct app_tx *tx, const void *settings, struct fields *out);
bool dns_wants_log(const struct app_tx *tx, const void *settings);
void mdns_log(const struct app_tx *tx, const void *settings, struct fields *out);
void llmnr_log(const struct app_tx *tx, const void *settings, struct fields *out);
void dns_log_own(const struct app_tx *tx, struct fields *out);
void mdns_log_own(const struct app_tx *tx, struct fields *out);
void llmnr_log_own(const struct app_tx *tx, struct fields *out);
bool dns_logs_from_server(const struct app_tx *tx, const void *settings);
bool dns_wants_log_any(const struct app_tx *tx, const void *settings);
/* Formats an address, IPv6 without abbreviations, as Suricata does. Returns "" if the data is not an address. */
enum { DNS_ADDRESS_TEXT = 48 };
const char *dns_format_address(const uint8_t *data, uint16_t length, char text[DNS_ADDRESS_TEXT]);

/* --- script.c ---------------------------------------------------------------------------------------- */

bool dns_script_value(const struct app_tx *tx, const char *name, enum flow_direction direction, unsigned index,
                      struct app_script_value *out);

/* --- settings.c -------------------------------------------------------------------------------------- */

enum { DNS_LOG_TYPES = 257 };
struct dns_settings {
    bool requests, responses; /* requests and responses are logged */
    bool grouped, detailed;   /* answers in events: data grouped by type (grouped), each record (detailed) */
    unsigned version;         /* version of the event format: 2 or 3 */
    const char *const *formats, *const *type_names; /* as configured */
    bool all_types;                                 /* messages with queries of any type are logged */
    bool types[DNS_LOG_TYPES]; /* without all_types: messages with queries of type i are logged if types[i] is true */
};
extern const struct setting dns_setting_rows[], doh2_setting_rows[], mdns_setting_rows[], llmnr_setting_rows[];
int dns_configure(const struct config *config, void *settings);

#endif
