/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DNS message parser: a header, and four sections of records.
 *
 * The number of labels and pointers of a name is limited, which also ends loops of pointers. A pointer to itself has a
 * separate event, because attack tools use it. If a name is malformed after its first pointer, it is truncated there
 * and parsing continues, because the position of the next field is known.
 */
#include "dns_priv.h"

#include <errno.h>
#include <string.h>

#include "sluice/bytes.h"

struct parser {
    struct heap *heap;
    struct dns_tx *tx; /* NULL: nothing is stored */
    const uint8_t *message;
    uint32_t length;
    uint32_t labels_left; /* labels that the following names may have in total */
    unsigned events;      /* bits 1 << enum dns_event */
    bool no_memory;
    bool has_malformed_data;       /* a record of the current section has malformed data */
    uint32_t pointer;              /* the last name that consisted of a pointer only, as a 16-bit number; 0: none */
    struct dns_name pointer_name;  /* the name that `pointer` refers to, decoded */
    struct dns_question *question; /* receives the properties of the name being parsed; NULL: not needed */
};

/* State while a name is parsed. */
struct name_parser {
    uint32_t at, end; /* offsets of the next label, and of the end of the field (after a pointer: of the message) */
    uint32_t after;   /* offset of the field after the name; 0 before the first pointer */
    uint32_t steps;   /* labels and pointers so far */
    uint16_t length;
    uint8_t flags;
    uint8_t bytes[DNS_NAME_MAX + 64];
};

enum step { STEP_CONTINUE, STEP_END, STEP_MALFORMED };

static enum step follow_pointer(const struct parser *parser, struct name_parser *name)
{
    if (name->end - name->at < 2)
        return STEP_MALFORMED;
    uint32_t target = load_be16(parser->message + name->at) & 0x3fff;

    if (target > parser->length)
        return STEP_MALFORMED;
    if (target == name->at) {
        name->flags |= DNS_NAME_LOOP;
        return name->after ? STEP_END : STEP_MALFORMED;
    }
    if (!name->after)
        name->after = name->at + 2;
    name->at = target;
    name->end = parser->length;
    return STEP_CONTINUE;
}

/* Adds a label to the properties of a question: counts it, and records whether its bytes are printable. */
static void update_question(struct dns_question *question, const uint8_t *label, uint32_t length)
{
    question->labels++;
    for (uint32_t i = 0; i < length; i++)
        question->printable &= label[i] > ' ' && label[i] <= '~';
}

static enum step append_label(const struct parser *parser, struct name_parser *name, uint32_t length)
{
    if (name->end - name->at < 1 + length)
        return STEP_MALFORMED;
    if (parser->question)
        update_question(parser->question, parser->message + name->at + 1, length);
    if (!(name->flags & DNS_NAME_TRUNCATED)) {
        if (name->length)
            name->bytes[name->length++] = '.';
        memcpy(name->bytes + name->length, parser->message + name->at + 1, length);
        name->length = (uint16_t)(name->length + length);
    }
    name->at += 1 + length;
    return STEP_CONTINUE;
}

/* Applies the limits of names after a label or pointer. Returns STEP_CONTINUE unless the name ends there or is
 * malformed. */
static enum step check_limits(struct parser *parser, struct name_parser *name)
{
    if (++name->steps > DNS_NAME_STEPS_MAX) {
        name->flags |= DNS_NAME_TOO_MANY_LABELS;
        if (!name->after)
            return STEP_MALFORMED;
        name->flags |= DNS_NAME_TRUNCATED;
        return STEP_END;
    }
    if (parser->labels_left == 0 && name->after) {
        name->flags |= DNS_NAME_TRUNCATED;
        return STEP_END;
    }
    if (parser->labels_left)
        parser->labels_left--;
    if (name->length > DNS_NAME_MAX) {
        name->length = DNS_NAME_MAX;
        name->flags |= DNS_NAME_TRUNCATED;
    }
    return name->flags & DNS_NAME_TRUNCATED && name->after ? STEP_END : STEP_CONTINUE;
}

/* Parses a label or pointer. */
static enum step parse_label(struct parser *parser, struct name_parser *name)
{
    if (name->at >= name->end) {
        if (parser->question)
            parser->question->incomplete = true;
        return STEP_END;
    }
    uint8_t length = parser->message[name->at];
    enum step step;

    if (length == 0) {
        name->at++;
        return STEP_END;
    }
    if ((length & 0xc0) == 0)
        step = append_label(parser, name, length);
    else if ((length & 0xc0) == 0xc0)
        step = follow_pointer(parser, name);
    else
        return STEP_MALFORMED;
    return step == STEP_CONTINUE ? check_limits(parser, name) : step;
}

static void store_name(struct parser *parser, struct name_parser *name, struct dns_name *out)
{
    struct buffer *text = &parser->tx->text;

    out->at = text->length;
    out->length = (uint16_t)buffer_append(parser->heap, text, name->bytes, name->length, DNS_TEXT_MAX);
    out->flags = name->flags;
    if (out->length == name->length)
        return;
    out->flags |= DNS_NAME_TRUNCATED;
    parser->no_memory |= text->length < DNS_TEXT_MAX;
    parser->events |= 1u << DNS_NAME_TOO_LONG;
}

/* Parses the name at `cur`, a cursor in the message, and advances past it. Returns false if the name is malformed. */
static bool read_name(struct parser *parser, struct cursor *cur, struct dns_name *out)
{
    uint32_t start = (uint32_t)(cur->at - parser->message);
    const uint8_t *pointer = cursor_peek(cur, 2);
    uint32_t pointer_target = pointer && (pointer[0] & 0xc0) == 0xc0 ? load_be16(pointer) : 0;

    if (pointer_target && pointer_target == parser->pointer) {
        *out = parser->pointer_name;
        return cursor_skip(cur, 2);
    }
    struct name_parser name;
    enum step step;

    name.at = start;
    name.end = start + (uint32_t)cursor_remaining(cur);
    name.after = name.steps = name.length = name.flags = 0;
    do
        step = parse_label(parser, &name);
    while (step == STEP_CONTINUE);
    if (name.flags & DNS_NAME_LOOP)
        parser->events |= 1u << DNS_INFINITE_LOOP;
    if (name.flags & DNS_NAME_TRUNCATED)
        parser->events |= 1u << DNS_NAME_TOO_LONG;
    if (name.flags & DNS_NAME_TOO_MANY_LABELS)
        parser->events |= 1u << DNS_TOO_MANY_LABELS;
    if (step == STEP_MALFORMED)
        return false;
    *out = (struct dns_name){ 0 };
    if (parser->tx)
        store_name(parser, &name, out);
    if (pointer_target && !name.flags) {
        parser->pointer = pointer_target;
        parser->pointer_name = *out;
    }
    return cursor_skip(cur, (name.after ? name.after : name.at) - start);
}

/* Whether the data is a list of strings with an 8-bit length (TXT), or of options with a 16-bit code and a 16-bit
 * length (OPT). */
static bool is_list(struct cursor data, unsigned code_length, unsigned length_length)
{
    uint8_t length8;
    uint16_t length16;

    while (cursor_remaining(&data)) {
        if (!cursor_skip(&data, code_length))
            return false;
        if (length_length == 1 ? !cursor_u8(&data, &length8) : !cursor_be16(&data, &length16))
            return false;
        if (!cursor_skip(&data, length_length == 1 ? length8 : length16))
            return false;
    }
    return true;
}

static bool read_data(struct parser *parser, struct cursor data, struct dns_record *record)
{
    switch (record->type) {
    case DNS_CNAME:
    case DNS_NS:
    case DNS_PTR:
        return read_name(parser, &data, &record->target);
    case DNS_MX:
        return cursor_skip(&data, 2) && read_name(parser, &data, &record->target);
    case DNS_SOA:
        if (!read_name(parser, &data, &record->target) || !read_name(parser, &data, &record->mailbox))
            return false;
        record->numbers = (uint32_t)(data.at - parser->message);
        return cursor_skip(&data, 20);
    case DNS_SRV:
        record->numbers = (uint32_t)(data.at - parser->message);
        return cursor_skip(&data, 6) && read_name(parser, &data, &record->target);
    case DNS_SSHFP:
        return cursor_remaining(&data) >= 2;
    case DNS_TXT:
        return is_list(data, 0, 1);
    case DNS_OPT:
        return is_list(data, 2, 2);
    default:
        return true;
    }
}

static bool read_record(struct parser *parser, struct cursor *cur, bool query, struct dns_record *record)
{
    *record = (struct dns_record){ 0 };
    if (!read_name(parser, cur, &record->name) || !cursor_be16(cur, &record->type) || !cursor_be16(cur, &record->class))
        return false;
    if (query)
        return true;
    if (!cursor_be32(cur, &record->ttl) || !cursor_be16(cur, &record->data_length))
        return false;
    const uint8_t *data = cursor_read(cur, record->data_length);

    if (!data)
        return false;
    record->data = (uint32_t)(data - parser->message);
    if (record->data_length > 0 && !read_data(parser, cursor_of(data, record->data_length), record)) {
        /* Resolvers ignore malformed data of records that they do not need: parsing continues at the next record. */
        parser->has_malformed_data = true;
        record->target = record->mailbox = (struct dns_name){ 0 };
        record->numbers = 0;
        record->data_length = 0;
    }
    return true;
}

/* Adds the record that has just been parsed to its section, and to the lists of records with a name and with a target.
 */
static void add_record(struct dns_records *section)
{
    const struct dns_record *record = &section->first[section->count];

    if (record->name.length)
        section->first[section->named++].named = section->count;
    if (record->target.length && record->type != DNS_SRV) /* dns.response.rrname excludes SRV, as in Suricata */
        section->first[section->targeted++].targeted = section->count;
    section->count++;
}

static bool read_section(struct parser *parser, struct cursor *cur, struct dns_records *section, uint32_t count,
                         bool query)
{
    struct dns_record discarded;

    for (uint32_t i = 0; i < count; i++) {
        if (!read_record(parser, cur, query, parser->tx ? &section->first[i] : &discarded))
            return false;
        if (parser->tx)
            add_record(section);
    }
    return true;
}

static bool read_sections(struct parser *parser, const struct dns_header *header, struct dns_record *records)
{
    struct cursor cur = cursor_of(parser->message + DNS_HEADER_LENGTH, parser->length - DNS_HEADER_LENGTH);
    struct dns_records discarded[DNS_SECTIONS], *section = parser->tx ? parser->tx->section : discarded;
    static const enum dns_event events[] = { DNS_MALFORMED_DATA, DNS_MALFORMED_DATA, DNS_INVALID_AUTHORITIES,
                                             DNS_INVALID_ADDITIONALS };
    bool is_valid = true;

    for (unsigned i = 0; i < DNS_SECTIONS; i++) {
        section[i] = (struct dns_records){ .first = records };
        parser->has_malformed_data = false;
        bool is_complete = read_section(parser, &cur, &section[i], header->count[i], i == DNS_QUERIES);

        if (!is_complete || parser->has_malformed_data) {
            parser->events |= 1u << events[i];
            is_valid &= i >= DNS_AUTHORITIES;
        }
        if (!is_complete)
            return is_valid;
        if (records)
            records += section[i].count;
    }
    return is_valid;
}

bool dns_parse_header(const uint8_t *bytes, size_t available, size_t length, struct dns_header *out)
{
    struct cursor cur = cursor_of(bytes, available);
    uint32_t records = 0;

    if (length < DNS_HEADER_LENGTH || !cursor_be16(&cur, &out->id) || !cursor_be16(&cur, &out->flags))
        return false;
    for (unsigned i = 0; i < DNS_SECTIONS; i++) {
        if (!cursor_be16(&cur, &out->count[i]))
            return false;
        records += out->count[i];
    }
    if (records * 2 > length || (records == 0 && length > DNS_HEADER_LENGTH))
        return false;
    return out->flags & DNS_RESPONSE || out->count[DNS_QUERIES] > 0;
}

bool dns_parse_first_question(const uint8_t *bytes, uint32_t length, const struct dns_header *header,
                              struct dns_question *out)
{
    struct parser parser = { .message = bytes, .length = length, .labels_left = DNS_LABELS_MAX, .question = out };
    struct cursor cur = cursor_of(bytes, length);
    struct dns_record record;

    *out = (struct dns_question){ .printable = true };
    if (header->count[DNS_QUERIES] == 0 || !cursor_skip(&cur, DNS_HEADER_LENGTH) ||
        !read_record(&parser, &cur, true, &record))
        return false;
    out->type = record.type;
    out->class = record.class;
    return true;
}

bool dns_is_well_formed(const uint8_t *bytes, uint32_t length, const struct dns_header *header)
{
    struct parser parser = { .message = bytes, .length = length, .labels_left = DNS_LABELS_MAX };

    return read_sections(&parser, header, NULL);
}

int dns_parse(struct heap *heap, struct dns_tx *tx, const struct dns_header *header, const uint8_t *bytes,
              uint32_t length, unsigned *events)
{
    struct parser parser = {
        .heap = heap, .tx = tx, .message = bytes, .length = length, .labels_left = DNS_LABELS_MAX
    };
    uint32_t records = 1, record_limit = (length - DNS_HEADER_LENGTH) / DNS_RECORD_MIN + 1;

    for (unsigned i = 0; i < DNS_SECTIONS; i++)
        records += header->count[i];
    tx->records = heap_alloc_uncleared(heap, (records < record_limit ? records : record_limit) * sizeof(*tx->records));
    if (!tx->records || buffer_append(heap, &tx->text, bytes, length, DNS_TEXT_MAX) != length)
        return -ENOMEM;
    tx->id = header->id;
    tx->flags = header->flags;
    bool is_valid = read_sections(&parser, header, tx->records);

    *events = parser.events;
    if (parser.no_memory)
        return -ENOMEM;
    return is_valid ? 0 : -EINVAL;
}

void dns_tx_clear(struct heap *heap, struct dns_tx *tx)
{
    heap_release(heap, tx->records);
    tx->records = NULL;
    memset(tx->section, 0, sizeof(tx->section));
    buffer_clear(heap, &tx->text);
}
