/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "packet_text.h"

#include "default_options.h"

static void fill_length(uint8_t *bytes, size_t length, struct text_mark mark)
{
    size_t rest = length - mark.at, field = mark.at + (mark.kind == '4' ? 2 : 4);

    if (mark.kind == '6')
        rest -= 40;
    bytes[field] = (uint8_t)(rest >> 8);
    bytes[field + 1] = (uint8_t)rest;
}

static uint8_t digit_of(char c)
{
    if (!isxdigit((unsigned char)c)) /* no ck_assert(), because Check stores a message for each one that succeeds */
        ck_abort_msg("'%c' is no hexadecimal digit", c);
    return (uint8_t)(isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10);
}

size_t packet_from_text(const char *text, uint8_t bytes[PACKET_TEXT_MAX])
{
    struct text_mark marks[PACKET_TEXT_MARKS];
    size_t length = 0, count = 0;

    while (*text) {
        if (*text == ' ') {
            text++;
        } else if (*text == '{') {
            if (count >= PACKET_TEXT_MARKS)
                ck_abort_msg("too many marks");
            marks[count++] = (struct text_mark){ text[1], length };
            text += 2;
        } else {
            if (length >= PACKET_TEXT_MAX)
                ck_abort_msg("too long");
            bytes[length++] = (uint8_t)(digit_of(text[0]) << 4 | digit_of(text[1]));
            text += 2;
        }
    }
    for (size_t i = 0; i < count; i++)
        fill_length(bytes, length, marks[i]);
    return length;
}

void decoding_open(struct decoding *decoding, const struct decode_options *options)
{
    struct decode_options standard;

    decode_options_default(&standard);
    memset(decoding, 0, sizeof(*decoding));
    ck_assert_int_eq(decoder_new(&decoding->decoder, options ? options : &standard), 0);
}

void decoding_bytes(struct decoding *decoding, enum link_type link, const uint8_t *bytes, size_t length)
{
    free(decoding->bytes);
    decoding->bytes = malloc(length ? length : 1);
    ck_assert_ptr_nonnull(decoding->bytes);
    memcpy(decoding->bytes, bytes, length);
    decoding->packet = (struct packet){
        .data = decoding->bytes,
        .length = (uint32_t)length,
        .wire_length = (uint32_t)length,
        .link = link,
    };
    decoding->count = decode_packet(decoding->decoder, &decoding->packet, decoding->found);
}

void decoding_text(struct decoding *decoding, enum link_type link, const char *text)
{
    uint8_t bytes[PACKET_TEXT_MAX];

    decoding_bytes(decoding, link, bytes, packet_from_text(text, bytes));
}

void decoding_close(struct decoding *decoding)
{
    decoder_free(decoding->decoder);
    free(decoding->bytes);
}

uint64_t decoding_counter(const struct decoding *decoding, const char *name)
{
    for (size_t i = 0; i < decode_counter_count(); i++) {
        if (strcmp(decode_counter_name(i), name) == 0)
            return decode_counter_value(decoding->decoder, i);
    }
    ck_abort_msg("no counter '%s'", name);
    return 0;
}
