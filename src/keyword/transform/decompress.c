/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decompression with zlib for gunzip and zlib_deflate. zlib's state lies after the output in the scratch memory.
 */
#include "decompress.h"

#include <errno.h>
#include <zlib.h>

#include "keyword/meta/option.h"

enum {
    DEFAULT_SIZE = 1024,
    LARGEST_SIZE = 16 * 1024 * 1024,
    STATE_SIZE = 64 * 1024, /* bytes for zlib's state; its documentation says 7 KiB plus the window of 32 KiB */
    WINDOW_BITS = 15,
    GZIP_HEADER = 16, /* added to the argument windowBits of inflateInit2() for the gzip format */
};

struct decompress {
    uint32_t max_size;
};

static void *allocate(void *scratch, uInt items, uInt size)
{
    uint64_t bytes = (uint64_t)items * size;

    return bytes <= STATE_SIZE ? transform_output(scratch, (uint32_t)bytes) : NULL;
}

static void ignore_free(void *scratch, void *memory)
{
    (void)scratch;
    (void)memory;
}

/* Returns the number of decompressed bytes, 0 on failure. As in Suricata, the checksum of the zlib format is verified,
 * the checksum of the gzip format is not. */
static uint32_t inflate_all(z_stream *stream, enum decompress_format format)
{
    uInt room = stream->avail_out;
    int result;

    if (inflateInit2(stream, format == DECOMPRESS_GZIP ? WINDOW_BITS + GZIP_HEADER : WINDOW_BITS) != Z_OK)
        return 0;
    if (format == DECOMPRESS_GZIP)
        inflateValidate(stream, 0);
    result = inflate(stream, Z_SYNC_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return 0;
    return room - stream->avail_out;
}

bool decompress(struct transform_scratch *scratch, const uint8_t *bytes, uint32_t length, const void *data,
                enum decompress_format format, const uint8_t **out, uint32_t *out_length)
{
    const struct decompress *want = data;
    uint32_t mark = transform_scratch_mark(scratch), room = transform_scratch_available(scratch), size = want->max_size;
    z_stream stream = { .next_in = (Bytef *)bytes, .avail_in = length, .zalloc = allocate, .zfree = ignore_free };

    if (length == 0)
        return transform_keep(bytes, length, out, out_length);
    if (room <= STATE_SIZE) {
        transform_output(scratch, STATE_SIZE + 1); /* fails: the scratch memory is exhausted */
        return false;
    }
    if (size > room - STATE_SIZE)
        size = room - STATE_SIZE;
    uint8_t *output = transform_output(scratch, size);

    if (!output)
        return false;
    stream.opaque = scratch;
    stream.next_out = output;
    stream.avail_out = size;
    *out_length = inflate_all(&stream, format);
    *out = output;
    transform_scratch_rewind(scratch, mark);
    transform_output(scratch, *out_length);
    return true;
}

static int set_max_size(struct rule_parser *parser, struct span value, void *data, int argument)
{
    static const struct {
        const char *name;
        uint32_t factor;
    } units[] = { { "", 1 },         { "kb", 1024 },    { "kib", 1024 }, { "mb", 1024 * 1024 }, { "mib", 1024 * 1024 },
                  { "gb", 1 << 30 }, { "gib", 1 << 30 } };
    struct decompress *want = data;
    size_t digits = 0;
    uint64_t number = 0;

    (void)argument;
    if (want->max_size)
        return rule_parser_error(parser, value, "max-size was given before");
    while (digits < value.length && value.at[digits] >= '0' && value.at[digits] <= '9')
        digits++;
    struct span unit = span_trim((struct span){ value.at + digits, value.length - digits });

    if (!span_to_uint((struct span){ value.at, digits }, 1, LARGEST_SIZE, &number))
        return rule_parser_error(parser, value, "max-size is a size from 1 to %d", LARGEST_SIZE);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (!span_equal_nocase(unit, units[i].name))
            continue;
        if (number * units[i].factor > LARGEST_SIZE)
            break;
        want->max_size = (uint32_t)number * units[i].factor;
        return 0;
    }
    return rule_parser_error(parser, value, "max-size is a size from 1 to %d, in bytes, KiB or MiB", LARGEST_SIZE);
}

static const struct option options[] = { { .name = "max-size", .set = set_max_size, .has_value = true } };

int decompress_parse(struct rule_parser *parser, struct span value)
{
    struct decompress *want = arena_alloc(rule_parser_arena(parser), sizeof(*want));
    struct span rest = value;

    if (!want)
        return -ENOMEM;
    if (value.length == 0)
        rest.at = NULL;
    int err = option_list(parser, rest, options, sizeof(options) / sizeof(options[0]), want);

    if (want->max_size == 0)
        want->max_size = DEFAULT_SIZE;
    return err ? err : rule_parser_add_transform(parser, want);
}
