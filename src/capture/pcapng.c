/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block has a type, its length, a body, and its length again. Each section begins with a header, which states the
 * byte order, and has interfaces of its own. Blocks that describe no interface and no packet are skipped, whatever
 * their length is; the others have to fit into the buffer.
 */
#include "pcapng.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_input.h"
#include "sluice/bytes.h"
#include "sluice/clock.h"

enum {
    BUFFER_SIZE = 1 << 20,
    MAX_INTERFACES = 1 << 16, /* of a section */
    BLOCK_HEADER = 8,
    BLOCK_TRAILER = 4,
    SECTION_HEADER = 24, /* without options */
    MAX_DECIMAL_EXPONENT = 19,
    LINKTYPE_RAW = 101,
};

enum block_type { BLOCK_INTERFACE = 1, BLOCK_PACKET = 2, BLOCK_SIMPLE_PACKET = 3, BLOCK_ENHANCED_PACKET = 6 };

enum { OPTION_END = 0, OPTION_IF_NAME = 2, OPTION_IF_TSRESOL = 9, OPTION_IF_TSOFFSET = 14 };

struct interface {
    int dlt;
    uint32_t snapshot;  /* 0: unlimited */
    uint32_t name;      /* for pcapng_interface_name() */
    uint8_t resolution; /* if_tsresol: the exponent of 10, or with the highest bit of 2, of the unit's reciprocal */
    int64_t offset_seconds;
};

struct pcapng {
    struct capture_input *input;
    bool swapped;                 /* the numbers of the section are big-endian */
    struct interface *interfaces; /* of the section */
    size_t interface_count, interface_room;
    char *names[PCAPNG_MAX_NAMES];
    uint32_t name_count;
    uint64_t last_ns;
    uint64_t skip;   /* bytes that are skipped before the next block */
    size_t at, end;  /* the bytes of the buffer that were not consumed */
    char error[128]; /* "": none */
    uint8_t buffer[BUFFER_SIZE];
};

static uint16_t get16(const struct pcapng *file, const uint8_t *at)
{
    return file->swapped ? load_be16(at) : load_le16(at);
}

static uint32_t get32(const struct pcapng *file, const uint8_t *at)
{
    return file->swapped ? load_be32(at) : load_le32(at);
}

static int fail(struct pcapng *file, const char *reason)
{
    snprintf(file->error, sizeof(file->error), "%s", reason);
    return -EBADMSG;
}

/* --- Reading ---------------------------------------------------------------------------------------- */

/* Makes `length` bytes available at file->at. Returns 1, 0 if the input has to be read and may_read is false, -ENODATA
 * if the input ends, or -EBADMSG. */
static int need(struct pcapng *file, size_t length, bool may_read)
{
    while (file->end - file->at < length) {
        ssize_t count;

        if (!may_read)
            return 0;
        if (BUFFER_SIZE - file->at < length || file->at == file->end) {
            memmove(file->buffer, file->buffer + file->at, file->end - file->at);
            file->end -= file->at;
            file->at = 0;
        }
        count = capture_input_read(file->input, file->buffer + file->end, BUFFER_SIZE - file->end);
        if (count <= 0)
            return count == 0 ? -ENODATA : -EBADMSG;
        file->end += (size_t)count;
    }
    return 1;
}

/* --- Interfaces ------------------------------------------------------------------------------------- */

/* Returns the number of a name, which is added if it is new; 0 without memory, or if there are too many. */
static uint32_t add_name(struct pcapng *file, const uint8_t *bytes, size_t length)
{
    length = strnlen((const char *)bytes, length); /* some programs add a terminator */
    for (uint32_t i = 0; i < file->name_count; i++) {
        if (strlen(file->names[i]) == length && memcmp(file->names[i], bytes, length) == 0)
            return i + 1;
    }
    if (length == 0 || file->name_count == PCAPNG_MAX_NAMES)
        return 0;
    file->names[file->name_count] = strndup((const char *)bytes, length);
    return file->names[file->name_count] ? ++file->name_count : 0;
}

static int add_interface(struct pcapng *file, const uint8_t *body, size_t length)
{
    struct interface interface = { .resolution = 6 };
    size_t at = 8;
    uint16_t link;

    if (length < at)
        return fail(file, "an interface description is too short");
    if (file->interface_count == MAX_INTERFACES)
        return fail(file, "a section has too many interfaces");
    link = get16(file, body);
    interface.dlt = link == LINKTYPE_RAW ? DLT_RAW : link;
    interface.snapshot = get32(file, body + 4);
    while (length - at >= 4) {
        uint16_t code = get16(file, body + at), size = get16(file, body + at + 2);
        const uint8_t *value = body + at + 4;

        if (code == OPTION_END)
            break;
        if (size > length - at - 4)
            return fail(file, "an option of an interface is longer than its block");
        if (code == OPTION_IF_NAME) {
            interface.name = add_name(file, value, size);
        } else if (code == OPTION_IF_TSRESOL && size >= 1) {
            interface.resolution = value[0];
        } else if (code == OPTION_IF_TSOFFSET && size >= 8) {
            uint64_t low = get32(file, value + (file->swapped ? 4 : 0));
            uint64_t high = get32(file, value + (file->swapped ? 0 : 4));

            interface.offset_seconds = (int64_t)(high << 32 | low);
        }
        /* The padding of the last option may be missing. */
        size_t step = 4 + (((size_t)size + 3) & ~(size_t)3);

        at += step < length - at ? step : length - at;
    }
    if (interface.resolution < 0x80 ? interface.resolution > MAX_DECIMAL_EXPONENT : interface.resolution >= 0x80 + 64)
        return fail(file, "the time resolution of an interface is not supported");
    if (file->interface_count == file->interface_room) {
        size_t room = file->interface_room ? 2 * file->interface_room : 8;
        struct interface *more = realloc(file->interfaces, room * sizeof(*more));

        if (!more)
            return fail(file, "out of memory");
        file->interfaces = more;
        file->interface_room = room;
    }
    file->interfaces[file->interface_count++] = interface;
    return 0;
}

/* --- Packets ---------------------------------------------------------------------------------------- */

static uint64_t time_ns(const struct interface *interface, uint64_t units)
{
    __int128 ns = units;

    if (interface->resolution & 0x80) {
        ns = ns * (int64_t)NS_PER_SECOND >> (interface->resolution & 0x7f);
    } else {
        for (int i = interface->resolution; i < 9; i++)
            ns *= 10;
        for (int i = 9; i < interface->resolution; i++)
            ns /= 10;
    }
    ns += (__int128)interface->offset_seconds * (int64_t)NS_PER_SECOND;
    return ns < 0 ? 0 : ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* Parses a block of a packet. Returns 1, or -EBADMSG. */
static int parse_packet(struct pcapng *file, uint32_t type, const uint8_t *body, size_t length,
                        struct pcapng_packet *out)
{
    bool is_simple = type == BLOCK_SIMPLE_PACKET;
    size_t header = is_simple ? 4 : 20;
    const struct interface *interface;
    uint32_t index = 0;

    if (length < header)
        return fail(file, "the block of a packet is too short");
    if (!is_simple)
        index = type == BLOCK_PACKET ? get16(file, body) : get32(file, body);
    if (index >= file->interface_count)
        return fail(file, "a packet has an interface that is not described");
    interface = &file->interfaces[index];
    out->record.bytes = body + header;
    if (is_simple) { /* without a time: that of the packet before */
        out->record.wire_length = out->record.length = get32(file, body);
        if (interface->snapshot > 0 && out->record.length > interface->snapshot)
            out->record.length = interface->snapshot;
    } else {
        file->last_ns = time_ns(interface, (uint64_t)get32(file, body + 4) << 32 | get32(file, body + 8));
        out->record.length = get32(file, body + 12);
        out->record.wire_length = get32(file, body + 16);
    }
    if (out->record.length > length - header || out->record.length > PCAP_MAX_PACKET)
        return fail(file, "a packet is longer than its block");
    out->record.time_ns = file->last_ns;
    out->dlt = interface->dlt;
    out->interface = interface->name;
    return 1;
}

/* --- Blocks ----------------------------------------------------------------------------------------- */

/* Reads the byte order of a section at file->at. */
static int begin_section(struct pcapng *file, bool may_read)
{
    static const uint32_t order = 0x1a2b3c4d;
    const uint8_t *block;
    int result = need(file, SECTION_HEADER, may_read);

    if (result != 1)
        return result;
    block = file->buffer + file->at;
    file->swapped = load_be32(block + 8) == order;
    if (!file->swapped && load_le32(block + 8) != order)
        return fail(file, "the byte order of a section is invalid");
    if (get16(file, block + 12) != 1)
        return fail(file, "the version of a section is not supported");
    file->interface_count = 0;
    return 1;
}

/* Reads a block. Returns as pcapng_next(), or 2 if the block has no packet. */
static int read_block(struct pcapng *file, bool may_read, struct pcapng_packet *out)
{
    int result = need(file, BLOCK_HEADER, may_read);
    const uint8_t *block = file->buffer + file->at;
    uint32_t type, length;

    if (result != 1)
        return result == -ENODATA && file->end > file->at ? fail(file, "the file ends within a block") : result;
    type = get32(file, block);
    if (type == PCAPNG_MAGIC && (result = begin_section(file, may_read)) != 1)
        return result == -ENODATA ? fail(file, "the file ends within the header of a section") : result;
    block = file->buffer + file->at;
    length = get32(file, block + 4);
    if (length < BLOCK_HEADER + BLOCK_TRAILER || length % 4 != 0)
        return fail(file, "the length of a block is invalid");
    if (type != BLOCK_INTERFACE && type != BLOCK_PACKET && type != BLOCK_SIMPLE_PACKET &&
        type != BLOCK_ENHANCED_PACKET) {
        file->skip = length;
        return 2;
    }
    if (length > BUFFER_SIZE)
        return fail(file, "a block is too long");
    result = need(file, length, may_read);
    if (result != 1)
        return result == -ENODATA ? fail(file, "the file ends within a block") : result;
    block = file->buffer + file->at;
    if (get32(file, block + length - BLOCK_TRAILER) != length)
        return fail(file, "the two lengths of a block differ");
    file->at += length;
    length -= BLOCK_HEADER + BLOCK_TRAILER;
    if (type != BLOCK_INTERFACE)
        return parse_packet(file, type, block + BLOCK_HEADER, length, out);
    result = add_interface(file, block + BLOCK_HEADER, length);
    return result ? result : 2;
}

int pcapng_next(struct pcapng *file, bool may_read, struct pcapng_packet *out)
{
    int result = 2;

    if (file->error[0])
        return -EBADMSG;
    while (result == 2) {
        while (file->skip > 0) {
            size_t step = file->end - file->at;

            if (step == 0 && (result = need(file, 1, may_read)) != 1)
                return result == -ENODATA ? fail(file, "the file ends within a block") : result;
            step = file->end - file->at;
            if (step > file->skip)
                step = (size_t)file->skip;
            file->at += step;
            file->skip -= step;
        }
        result = read_block(file, may_read, out);
    }
    return result;
}

const char *pcapng_error(const struct pcapng *file)
{
    return file->error[0] ? file->error : NULL;
}

const char *pcapng_interface_name(const struct pcapng *file, uint32_t interface)
{
    return interface > 0 && interface <= file->name_count ? file->names[interface - 1] : NULL;
}

/* --- Life cycle ------------------------------------------------------------------------------------- */

int pcapng_open(struct pcapng **out, struct capture_input *input)
{
    struct pcapng *file = malloc(sizeof(*file));
    int result;

    if (!file)
        return -ENOMEM;
    memset(file, 0, offsetof(struct pcapng, buffer));
    file->input = input;
    *out = file;
    result = begin_section(file, true);
    if (result == -ENODATA && !capture_input_stopped(input))
        return fail(file, "the file ends within the header of a section");
    return result == 1 ? 0 : result;
}

void pcapng_close(struct pcapng *file)
{
    if (!file)
        return;
    for (uint32_t i = 0; i < file->name_count; i++)
        free(file->names[i]);
    free(file->interfaces);
    free(file);
}
