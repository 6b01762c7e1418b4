/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNP3 (IEEE 1815). Each request, response and unsolicited response is a transaction in its own direction, as in
 * Suricata. */
#ifndef SLUICE_APP_DNP3_PRIV_H
#define SLUICE_APP_DNP3_PRIV_H

#include "sluice/app.h"

enum {
    DNP3_REASSEMBLY_MAX = 63 * 255, /* bytes of a message, as in Suricata */
    DNP3_UNREPLIED_MAX = 32,        /* consecutive requests without a response; more are a flood */
};
enum { DNP3_COMPLETE = 1 };

enum dnp3_event {
    DNP3_FLOODED,
    DNP3_LEN_TOO_SMALL,
    DNP3_BAD_LINK_CRC,
    DNP3_BAD_TRANSPORT_CRC,
    DNP3_UNKNOWN_OBJECT,
    DNP3_TOO_MANY_POINTS,
    DNP3_TOO_MANY_OBJECTS,
    DNP3_TOO_LONG_REASSEMBLY,
    DNP3_EVENTS,
};

enum dnp3_function {
    DNP3_CONFIRM = 0,
    DNP3_WRITE = 2,
    DNP3_SELECT = 3,
    DNP3_OPERATE = 4,
    DNP3_DIRECT_OPERATE = 5,
    DNP3_DIRECT_OPERATE_NR = 6,
    DNP3_RESPONSE = 129,
    DNP3_UNSOLICITED_RESPONSE = 130,
};

struct dnp3_link {
    uint8_t control;
    uint16_t destination, source;
};

struct dnp3_object {
    uint8_t group, variation, qualifier;
    uint32_t start, stop, count;
    uint32_t at, points; /* location of the points in dnp3_tx.data, and their number; 0: only the header is there */
};

struct dnp3_tx {
    struct app_tx tx;
    bool has_message; /* false: the transaction only has events */
    bool complete;    /* all objects have been parsed */
    struct dnp3_link link;
    uint8_t control, function; /* of the application header */
    uint16_t indications;      /* of a response: IIN1 << 8 | IIN2 */
    uint32_t object_count;
    struct buffer data;    /* application header and objects */
    struct buffer objects; /* struct dnp3_object */
};

struct dnp3_settings {
    uint64_t max_points, max_objects;
};

static inline bool dnp3_is_response(uint8_t function)
{
    return function >= DNP3_RESPONSE;
}

static inline const struct dnp3_object *dnp3_get_object(const struct dnp3_tx *tx, uint32_t index)
{
    return (const struct dnp3_object *)(const void *)tx->objects.bytes + index;
}

/* --- objects.c --------------------------------------------------------------------------------------- */

enum dnp3_field_type {
    DNP3_UNSIGNED,
    DNP3_SIGNED, /* two's complement */
    DNP3_FLOAT,
    DNP3_TEXT, /* its length is in an earlier field with `length_of`; otherwise the rest of the point */
};

/* A field of a point: `bits` bits, in the order of the bytes and, within a byte, from the lowest bit. */
struct dnp3_field {
    const char *name;
    uint8_t bits; /* 0: text */
    enum dnp3_field_type type;
    const char *length_of; /* name of the text whose length in bytes is the value; NULL: it is not a length */
};

/* Points of a group and variation: their fields, terminated by an entry without a name. */
struct dnp3_format {
    uint8_t group, variation;
    const struct dnp3_field *fields;
};
const struct dnp3_format *dnp3_find_format(uint8_t group, uint8_t variation); /* NULL: unknown */
unsigned dnp3_format_bits(const struct dnp3_format *format);                  /* without text */
unsigned dnp3_prefix_size(uint8_t qualifier);                                 /* bytes before each point */

/* Returns whether the number before each point is the size of the point, not its index. */
static inline bool dnp3_has_size_prefix(uint8_t qualifier)
{
    uint8_t code = qualifier >> 4 & 7;

    return code >= 4 && code <= 6;
}

/* Parses the objects after the application header. Returns the event that ends it, or DNP3_EVENTS; *failed: no memory.
 */
enum dnp3_event dnp3_parse_objects(struct heap *heap, struct dnp3_tx *tx, uint32_t header,
                                   const struct dnp3_settings *settings, bool *failed);

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

struct dnp3_name {
    const char *name; /* NULL ends the table */
    uint16_t value;
};
extern const struct dnp3_name dnp3_indication_names[];

enum { DNP3_BUFFERS = 1, DNP3_CONDITIONS = 3 };
extern const struct app_buffer dnp3_buffers[DNP3_BUFFERS];
extern const struct app_condition dnp3_conditions[DNP3_CONDITIONS];

void dnp3_log(const struct app_tx *tx, const void *settings, struct fields *out);

#endif
