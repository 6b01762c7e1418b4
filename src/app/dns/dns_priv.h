/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS, mDNS and LLMNR: one message format, one transaction per message.
 *
 * A message is copied once. Its names are decoded and appended to the copy, each once when it is parsed; records refer
 * to both by offsets. So a transaction needs two heap objects, however many records it has, and keywords access the
 * i-th name directly. A name that is only a pointer with the same target as the pointer before it shares the decoded
 * text: most answers of servers have this form. The cost of all names of a message is limited (DNS_TEXT_MAX,
 * DNS_LABELS_MAX); names beyond the limit are cut like names that are too long.
 */
#ifndef SLUICE_APP_DNS_PRIV_H
#define SLUICE_APP_DNS_PRIV_H

#include "sluice/app.h"
#include "sluice/number_range.h"

enum {
    DNS_HEADER = 12,
    DNS_NAME_MAX = 1025,       /* bytes of a name; Suricata's limit, which is that of popular servers */
    DNS_LABELS = 255,          /* labels and pointers of a name */
    DNS_TEXT_MAX = 256 << 10,  /* bytes of a message and its decoded names */
    DNS_LABELS_MAX = 64 << 10, /* labels of all names of a message */
    DNS_RECORD_MIN = 5,        /* bytes of the shortest query */
};

/* Bits of the second 16-bit word of the header. */
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

/* Errors of a name. */
enum { DNS_NAME_LOOP = 1, DNS_NAME_CUT = 2, DNS_NAME_LABELS = 4 };

struct dns_name {
    uint32_t at; /* offset in dns_tx.text */
    uint16_t length;
    uint8_t flags;
};

struct dns_record {
    struct dns_name name;
    struct dns_name
        target; /* the name in the data of CNAME, NS, PTR, MX and SRV records; SOA: the primary server (MNAME) */
    struct dns_name mailbox; /* SOA: RNAME */
    uint32_t ttl;
    uint32_t data;  /* offset of the data in dns_tx.text */
    uint32_t fixed; /* offset of the numbers of SOA and SRV data */
    uint16_t data_length;
    uint16_t type, class;
    uint16_t named, targeted; /* in the i-th record: index of the section's i-th record that has a name, or a target */
};

enum dns_section { DNS_QUERIES, DNS_ANSWERS, DNS_AUTHORITIES, DNS_ADDITIONALS, DNS_SECTIONS };
struct dns_records {
    struct dns_record *first;
    uint16_t count, named, targeted;
};

struct dns_tx {
    struct app_tx tx;
    uint16_t id, flags;
    bool parsed;   /* a message, or its readable part, is stored; otherwise the transaction only has events */
    bool response; /* by the direction; mDNS: by the header */
    struct dns_records section[DNS_SECTIONS];
    struct dns_record *records;
    struct buffer text;
};

/* --- parse.c ----------------------------------------------------------------------------------------- */

struct dns_header {
    uint16_t id, flags;
    uint16_t count[DNS_SECTIONS];
};

struct dns_question {
    uint16_t type, class;
    uint16_t labels; /* of the name, including those reached through pointers */
    bool printable;  /* all bytes of the labels */
    bool cut;        /* the name extends beyond the available bytes */
};

/* Whether a message of `length` bytes can have this header; *out is written if the header is available. */
bool dns_header_read(const uint8_t *bytes, size_t available, size_t length, struct dns_header *out);
/* Parses a message and sets bits 1 << enum dns_event in *events. Returns 0, -EINVAL if the message is malformed (the
 * queries and answers parsed so far are kept), or -ENOMEM. */
int dns_parse(struct heap *heap, struct dns_tx *tx, const struct dns_header *header, const uint8_t *bytes,
              uint32_t length, unsigned *events);
void dns_tx_clear(struct heap *heap, struct dns_tx *tx);
/* Parses only the first question: some servers answer it regardless of the header counts and of what follows. */
bool dns_first_question(const uint8_t *bytes, uint32_t length, const struct dns_header *header,
                        struct dns_question *out);
/* Whether queries and answers are well-formed. Stores nothing. */
bool dns_is_well_formed(const uint8_t *bytes, uint32_t length, const struct dns_header *header);

/* --- dns.c: shared by the protocols ------------------------------------------------------------------ */

enum { DNS_COMPLETE = 1 };
struct dns_state {
    bool lost[FLOW_DIRECTIONS]; /* after a gap: the start of the next message is unknown */
};
struct app_result dns_feed(struct app_context *context, void *state, const struct app_input *in);
struct app_result dns_feed_multicast(struct app_context *context, void *state, const struct app_input *in);
void dns_tx_free(struct app_context *context, struct app_tx *tx);
/* Whether the bytes are a message of this format, on a port where it is expected. */
enum app_probe_result dns_probe_weak(const struct app_probe *in);

/* --- keywords.c -------------------------------------------------------------------------------------- */

enum { DNS_BUFFERS = 12, DNS_CONDITIONS = 6, MDNS_BUFFERS = 10, LLMNR_BUFFERS = 10 };
extern const struct app_buffer dns_buffers[DNS_BUFFERS], mdns_buffers[MDNS_BUFFERS], llmnr_buffers[LLMNR_BUFFERS];
extern const struct app_condition dns_conditions[DNS_CONDITIONS];

/* --- types.c ----------------------------------------------------------------------------------------- */

/* Returns the name of a record type in EVE events, in lower case if `lower`, or the number as text for a type without a
 * name. */
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
bool dns_logs_from_server(const struct app_tx *tx, const void *settings);
bool dns_wants_log_any(const struct app_tx *tx, const void *settings);

/* --- settings.c -------------------------------------------------------------------------------------- */

enum { DNS_LOG_TYPES = 257 };
struct dns_settings {
    bool requests, responses;
    bool grouped, detailed;
    unsigned version;
    const char *const *formats, *const *type_names; /* as configured */
    bool all_types;
    bool types[DNS_LOG_TYPES];
};
extern const struct setting dns_setting_rows[], mdns_setting_rows[], llmnr_setting_rows[];
int dns_configure(const struct config *config, void *settings);

#endif
