/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EtherNet/IP encapsulation and CIP (ODVA: The CIP Networks Library, volumes 1 and 2). A transaction is a request with
 * its response. */
#ifndef SLUICE_APP_ENIP_PRIV_H
#define SLUICE_APP_ENIP_PRIV_H

#include "sluice/app.h"
#include "sluice/bytes.h"
#include "sluice/number_range.h"

enum {
    ENIP_HEADER = 24,
    ENIP_OPEN_MAX = 1024,     /* requests without a response */
    ENIP_SERVICES_MAX = 128,  /* parsed services of a message: one, or those of a multiple service packet */
    ENIP_SEGMENTS_MAX = 1024, /* parsed path segments and attributes of a message */
};
enum { ENIP_COMPLETE = 1 };

enum enip_event { ENIP_TOO_MANY_TRANSACTIONS, ENIP_INVALID_PDU, ENIP_EVENTS };

enum enip_command {
    ENIP_NOP = 0,
    ENIP_LIST_SERVICES = 0x04,
    ENIP_LIST_IDENTITY = 0x63,
    ENIP_LIST_INTERFACES = 0x64,
    ENIP_REGISTER_SESSION = 0x65,
    ENIP_UNREGISTER_SESSION = 0x66,
    ENIP_SEND_RR_DATA = 0x6f,
    ENIP_SEND_UNIT_DATA = 0x70,
    ENIP_INDICATE_STATUS = 0x72,
    ENIP_CANCEL = 0x73,
};

/* Kind of a path segment: its logical type; ENIP_LISTED for an attribute in a list of attributes. */
enum enip_segment_kind { ENIP_CLASS = 0x20, ENIP_INSTANCE = 0x24, ENIP_ATTRIBUTE = 0x30, ENIP_LISTED = 0xff };
struct enip_segment {
    uint8_t kind, type; /* type: the segment's first byte */
    uint32_t value;
};

enum { CIP_GET_ATTRIBUTE_LIST = 3, CIP_SET_ATTRIBUTE_LIST = 4, CIP_MULTIPLE_SERVICE = 10 };

struct enip_service {
    uint8_t service;
    bool is_response, is_embedded, has_extended_status; /* is_embedded: part of a multiple service packet */
    uint8_t status;
    uint16_t extended_status;
    uint16_t first, count; /* segments */
};

struct enip_text {
    uint8_t length, bytes[255];
};

struct enip_pdu {
    bool is_present, has_register, has_services, has_identity;
    uint16_t command;
    uint32_t session, status, options;
    uint64_t context;
    uint16_t version; /* protocol version: of register session, list services, list identity */
    uint16_t register_options, capabilities, vendor, device_type, product_code, identity_status;
    uint8_t revision_major, revision_minor, state;
    uint32_t serial;
    struct enip_text name; /* name of the service or product */
    uint32_t service_count, segment_count;
    struct buffer services, segments; /* struct enip_service, struct enip_segment */
};

struct enip_tx {
    struct app_tx tx;
    struct enip_pdu request, response;
};

/* --- parse.c ----------------------------------------------------------------------------------------- */

/* Parses the data after the header, which has been stored in *out. Returns 0, -EINVAL if it is malformed, or -ENOMEM.
 */
int enip_parse(struct heap *heap, struct enip_pdu *out, bool is_response, const uint8_t *bytes, uint32_t length);

enum { ENIP_ITEMS_MAX = 16 };

/* An item of a message: its place in the message, with its head; its data is CIP, of which the last cip_length bytes
 * are the message. */
struct enip_item {
    uint32_t at, length, cip_length;
    bool has_cip;
};
/* Finds the items of a complete message; returns their number. */
unsigned enip_find_items(uint16_t command, const uint8_t *message, uint32_t length,
                         struct enip_item out[ENIP_ITEMS_MAX]);

struct enip_place {
    uint32_t at, length;
};
/* Finds the services in a CIP message that is a Multiple Service Packet, and sorts them by offset; returns their
 * number. Each service ends where the next one begins. */
unsigned enip_find_services(const uint8_t *message, uint32_t length, struct enip_place out[ENIP_SERVICES_MAX]);

static inline const struct enip_service *enip_get_service(const struct enip_pdu *pdu, uint32_t index)
{
    return (const struct enip_service *)(const void *)pdu->services.bytes + index;
}

static inline const struct enip_segment *enip_get_segment(const struct enip_pdu *pdu, uint32_t index)
{
    return (const struct enip_segment *)(const void *)pdu->segments.bytes + index;
}

/* --- names.c ----------------------------------------------------------------------------------------- */

extern const struct number_name enip_command_names[], enip_status_names[], enip_device_names[], enip_vendor_names[],
    enip_service_names[], enip_cip_status_names[], enip_class_names[];
const char *enip_find_name(const struct number_name *names, uint32_t number); /* NULL: unknown */

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { ENIP_BUFFERS = 2, ENIP_CONDITIONS = 17 };
extern const struct app_buffer enip_buffers[ENIP_BUFFERS];
extern const struct app_condition enip_conditions[ENIP_CONDITIONS];

void enip_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
