/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of encapsulation messages, and the CIP services in them. A multiple service packet has a list of services at
 * offsets that the sender chooses; ENIP_SERVICES_MAX and ENIP_SEGMENTS_MAX bound the work when they overlap.
 */
#include <errno.h>

#include "enip_priv.h"

enum {
    ITEM_CONNECTED_DATA = 0xb1,
    ITEM_UNCONNECTED_DATA = 0xb2,
    ITEM_IDENTITY = 0x0c,
    ITEM_SERVICES = 0x100,
    SOCKET_ADDRESS = 16,
    SERVICE_NAME = 16,
};

struct parser {
    struct heap *heap;
    struct enip_pdu *out;
    bool no_memory;
};

static bool read_le16(struct cursor *cur, uint16_t *out)
{
    const uint8_t *bytes = cursor_read(cur, 2);

    if (bytes)
        *out = load_le16(bytes);
    return bytes != NULL;
}

static bool read_le32(struct cursor *cur, uint32_t *out)
{
    const uint8_t *bytes = cursor_read(cur, 4);

    if (bytes)
        *out = load_le32(bytes);
    return bytes != NULL;
}

static void add_segment(struct parser *parser, struct enip_service *service, struct enip_segment segment)
{
    struct enip_pdu *out = parser->out;

    if (out->segment_count == ENIP_SEGMENTS_MAX || parser->no_memory)
        return;
    if (buffer_append(parser->heap, &out->segments, &segment, sizeof(segment), UINT32_MAX) != sizeof(segment)) {
        parser->no_memory = true;
        return;
    }
    out->segment_count++;
    service->count++;
}

/* Parses a padded path of logical segments: classes, instances and attributes of 8, 16 or 32 bits. */
static bool parse_path(struct parser *parser, struct enip_service *service, struct cursor path)
{
    uint8_t type, byte;

    while (cursor_u8(&path, &type)) {
        struct enip_segment segment = { .kind = type & 0xfc, .type = type };
        uint16_t word;

        if (segment.kind != ENIP_CLASS && segment.kind != ENIP_INSTANCE && segment.kind != ENIP_ATTRIBUTE)
            return false;
        switch (type & 3) {
        case 0:
            if (!cursor_u8(&path, &byte))
                return false;
            segment.value = byte;
            break;
        case 1:
            if (!cursor_skip(&path, 1) || !read_le16(&path, &word))
                return false;
            segment.value = word;
            break;
        case 2:
            if (!cursor_skip(&path, 1) || !read_le32(&path, &segment.value))
                return false;
            break;
        default:
            return false;
        }
        add_segment(parser, service, segment);
    }
    return true;
}

/* Adds the attributes of Get_Attribute_List, or the first one of Set_Attribute_List: the others follow values of
 * unknown lengths. */
static bool parse_attributes(struct parser *parser, struct enip_service *service, struct cursor cur)
{
    uint16_t count = 0, attribute;

    if (!read_le16(&cur, &count))
        return false;
    if (service->service == CIP_SET_ATTRIBUTE_LIST && count > 1)
        count = 1;
    for (uint16_t i = 0; i < count && i < ENIP_SEGMENTS_MAX; i++) {
        if (!read_le16(&cur, &attribute))
            return false;
        add_segment(parser, service, (struct enip_segment){ .kind = ENIP_LISTED, .value = attribute });
    }
    return true;
}

/* Parses the head of a service: for a request its path, for a response its status. *cur is then at the data. */
static bool parse_service(struct parser *parser, struct cursor *cur, struct enip_service *out)
{
    uint8_t byte, words;
    struct cursor path;
    const uint8_t *bytes;

    out->first = (uint16_t)parser->out->segment_count;
    if (!cursor_u8(cur, &byte))
        return false;
    out->service = byte & 0x7f;
    out->is_response = byte >> 7;
    if (out->is_response) {
        if (!cursor_skip(cur, 1) || !cursor_u8(cur, &out->status) || !cursor_u8(cur, &words))
            return false;
        bytes = cursor_read(cur, 2 * (size_t)words);
        out->has_extended_status = bytes && words == 1;
        if (out->has_extended_status)
            out->extended_status = load_le16(bytes);
        return bytes != NULL;
    }
    if (!cursor_u8(cur, &words))
        return false;
    bytes = cursor_read(cur, 2 * (size_t)words);
    if (!bytes)
        return false;
    path = cursor_of(bytes, 2 * (size_t)words);
    if (!parse_path(parser, out, path))
        return false;
    return (out->service != CIP_GET_ATTRIBUTE_LIST && out->service != CIP_SET_ATTRIBUTE_LIST) ||
           parse_attributes(parser, out, *cur);
}

static void add_service(struct parser *parser, const struct enip_service *service)
{
    if (buffer_append(parser->heap, &parser->out->services, service, sizeof(*service), UINT32_MAX) == sizeof(*service))
        parser->out->service_count++;
    else
        parser->no_memory = true;
}

static bool parse_cip(struct parser *parser, struct cursor cur)
{
    struct enip_service whole = { 0 };
    uint16_t count = 0, offset;
    struct cursor offsets, start;

    if (!parse_service(parser, &cur, &whole))
        return false;
    add_service(parser, &whole);
    if (whole.service != CIP_MULTIPLE_SERVICE || (whole.is_response && cursor_remaining(&cur) == 0))
        return true;
    start = offsets = cur;
    if (!read_le16(&offsets, &count))
        return false;
    for (uint16_t i = 0; i < count && parser->out->service_count < ENIP_SERVICES_MAX && !parser->no_memory; i++) {
        struct enip_service service = { .is_embedded = true };
        struct cursor embedded = start;

        if (!read_le16(&offsets, &offset) || !cursor_skip(&embedded, offset) ||
            !parse_service(parser, &embedded, &service))
            return false;
        add_service(parser, &service);
    }
    return true;
}

/* Consumes an item of a common packet format: its type, its length and its data. */
static bool read_item(struct cursor *cur, uint16_t *type, struct cursor *data)
{
    uint16_t length;

    if (!read_le16(cur, type) || !read_le16(cur, &length) || cursor_remaining(cur) < length)
        return false;
    *data = cursor_of(cur->at, length);
    return cursor_skip(cur, length);
}

static bool parse_items(struct parser *parser, struct cursor cur)
{
    uint16_t count, type = 0;
    struct cursor data;

    if (!cursor_skip(&cur, 4 + 2) || !read_le16(&cur, &count)) /* interface handle, timeout */
        return false;
    for (uint16_t i = 0; i < count && i < ENIP_ITEMS_MAX; i++) {
        if (!read_item(&cur, &type, &data))
            return false;
        if (type == ITEM_CONNECTED_DATA && !cursor_skip(&data, 2)) /* sequence number */
            return false;
        if (type == ITEM_CONNECTED_DATA || type == ITEM_UNCONNECTED_DATA)
            return parse_cip(parser, data);
    }
    return true;
}

static void store_name(struct enip_pdu *out, const uint8_t *bytes, size_t length)
{
    out->name.length = (uint8_t)length;
    memcpy(out->name.bytes, bytes, length);
}

/* Parses the first item of a list, as Suricata does. */
static bool parse_list(struct enip_pdu *out, struct cursor cur, uint16_t expected)
{
    uint16_t count, type;
    struct cursor data;
    const uint8_t *bytes;
    uint8_t length;

    if (!read_le16(&cur, &count))
        return false;
    if (count == 0)
        return true;
    if (!read_item(&cur, &type, &data))
        return false;
    if (type != expected)
        return true;
    if (!read_le16(&data, &out->version))
        return false;
    if (expected == ITEM_SERVICES) {
        if (!read_le16(&data, &out->capabilities))
            return false;
        bytes = cursor_read(&data, SERVICE_NAME);
        if (!bytes)
            return false;
        store_name(out, bytes, strnlen((const char *)bytes, SERVICE_NAME));
        out->has_services = true;
        return true;
    }
    if (!cursor_skip(&data, SOCKET_ADDRESS) || !read_le16(&data, &out->vendor) ||
        !read_le16(&data, &out->device_type) || !read_le16(&data, &out->product_code) ||
        !cursor_u8(&data, &out->revision_major) || !cursor_u8(&data, &out->revision_minor) ||
        !read_le16(&data, &out->identity_status) || !read_le32(&data, &out->serial) || !cursor_u8(&data, &length))
        return false;
    bytes = cursor_read(&data, length);
    if (!bytes || !cursor_u8(&data, &out->state))
        return false;
    store_name(out, bytes, length);
    out->has_identity = true;
    return true;
}

unsigned enip_find_items(uint16_t command, const uint8_t *message, uint32_t length,
                         struct enip_item out[ENIP_ITEMS_MAX])
{
    bool has_cip = command == ENIP_SEND_RR_DATA || command == ENIP_SEND_UNIT_DATA;
    bool is_list = command == ENIP_LIST_SERVICES || command == ENIP_LIST_IDENTITY;
    struct cursor cur = cursor_of(message, length), data;
    uint16_t count, type;
    unsigned found = 0;

    if ((!has_cip && !is_list) || !cursor_skip(&cur, ENIP_HEADER + (has_cip ? 4 + 2 : 0)) || !read_le16(&cur, &count))
        return 0;
    while (found < count && found < ENIP_ITEMS_MAX) {
        struct enip_item *item = &out[found];
        uint32_t at = length - (uint32_t)cursor_remaining(&cur);

        if (!read_item(&cur, &type, &data))
            break;
        *item = (struct enip_item){ .at = at, .length = 4 + (uint32_t)cursor_remaining(&data) };
        item->has_cip = has_cip && (type == ITEM_UNCONNECTED_DATA ||
                                    (type == ITEM_CONNECTED_DATA && cursor_skip(&data, 2))); /* sequence number */
        item->cip_length = (uint32_t)cursor_remaining(&data);
        found++;
    }
    return found;
}

unsigned enip_find_services(const uint8_t *message, uint32_t length, struct enip_place out[ENIP_SERVICES_MAX])
{
    struct cursor cur = cursor_of(message, length), offsets;
    uint8_t service, words;
    uint16_t count;
    unsigned found = 0;

    if (!cursor_u8(&cur, &service) || (service & 0x7f) != CIP_MULTIPLE_SERVICE ||
        (service >> 7 && !cursor_skip(&cur, 2)) || !cursor_u8(&cur, &words) || !cursor_skip(&cur, 2 * (size_t)words))
        return 0;
    uint32_t start = length - (uint32_t)cursor_remaining(&cur);

    offsets = cur;
    if (!read_le16(&offsets, &count))
        return 0;
    for (uint16_t i = 0, offset; i < count && i < ENIP_SERVICES_MAX && read_le16(&offsets, &offset); i++) {
        unsigned place = found;

        if (start + offset >= length)
            break;
        /* Insert the service by offset. Usually the message has this order already. */
        while (place > 0 && out[place - 1].at > start + offset)
            place--;
        if (place > 0 && out[place - 1].at == start + offset)
            continue;
        memmove(&out[place + 1], &out[place], (found - place) * sizeof(*out));
        out[place].at = start + offset;
        found++;
    }
    for (unsigned i = 0; i < found; i++)
        out[i].length = (i + 1 < found ? out[i + 1].at : length) - out[i].at;
    return found;
}

int enip_parse(struct heap *heap, struct enip_pdu *out, bool is_response, const uint8_t *bytes, uint32_t length)
{
    struct parser parser = { .heap = heap, .out = out };
    struct cursor cur = cursor_of(bytes, length);
    bool ok = true;

    if (out->status == 0 || !is_response) {
        if (out->command == ENIP_SEND_RR_DATA || out->command == ENIP_SEND_UNIT_DATA)
            ok = parse_items(&parser, cur);
        else if (out->command == ENIP_REGISTER_SESSION)
            ok = out->has_register = read_le16(&cur, &out->version) && read_le16(&cur, &out->register_options);
        else if (is_response && out->command == ENIP_LIST_SERVICES)
            ok = parse_list(out, cur, ITEM_SERVICES);
        else if (is_response && out->command == ENIP_LIST_IDENTITY)
            ok = parse_list(out, cur, ITEM_IDENTITY);
    }
    if (parser.no_memory)
        return -ENOMEM;
    return ok ? 0 : -EINVAL;
}
