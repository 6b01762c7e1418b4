/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of defragmentation share: one defragmenter, fragments of text, what a whole must look like. */
#ifndef DEFRAG_CHECK_H
#define DEFRAG_CHECK_H

#include <check.h>
#include <netinet/in.h>

#include "defrag/defrag_priv.h"
#include "fragments.h"

static const int versions[] = { 4, 6 };

static struct defragging d; /* one test at a time */

static inline void open_with(bool inline_mode, enum host_os (*of)(const void *, int, const struct address *),
                             const void *user)
{
    struct defrag_options options;

    defrag_options_default(&options);
    options.memcap = 4 << 20;
    options.inline_mode = inline_mode;
    options.host_os = (struct host_os_policy){ of, user };
    defragging_open(&d, &options);
}

static inline void open_inline(void)
{
    open_with(true, NULL, NULL);
}

static inline void open_passive(void)
{
    open_with(false, NULL, NULL);
}

static inline void close_it(void)
{
    defragging_close(&d);
}

static inline enum defrag_result send_text(int version, uint32_t id, uint32_t offset, bool more, const char *text)
{
    return defragging_send(&d, &(struct piece){ .version = version,
                                                .id = id,
                                                .offset = offset,
                                                .more = more,
                                                .bytes = (const uint8_t *)text,
                                                .length = strlen(text) });
}

/* `length` times the letter. */
static inline enum defrag_result send_letter(int version, uint32_t id, char letter, uint32_t offset, size_t length,
                                             bool more)
{
    static char text[FRAGMENTS_MAX];

    ck_assert_uint_lt(length, sizeof(text));
    memset(text, letter, length);
    text[length] = '\0';
    return send_text(version, id, offset, more, text);
}

static inline bool has_event(int version, enum decode_event ipv4, enum decode_event ipv6)
{
    return packet_has_event(&d.packet, version == 4 ? ipv4 : ipv6);
}

static inline bool overlapped(int version)
{
    return has_event(version, DECODE_EVENT_IPV4_FRAG_OVERLAP, DECODE_EVENT_IPV6_FRAG_OVERLAP);
}

/* The whole is a header as it should be and then the text. */
static inline void check_whole(int version, const char *text)
{
    size_t header = version == 4 ? 20 : 40, length = strlen(text);

    ck_assert_uint_eq(d.whole.length, header + length);
    ck_assert_uint_eq(d.whole.wire_length, header + length);
    ck_assert_mem_eq(d.whole.data + header, text, length);
    if (version == 4) {
        ck_assert_uint_eq(d.whole.data[6] << 8 | d.whole.data[7], 0);
        ck_assert_uint_eq(d.whole.data[2] << 8 | d.whole.data[3], header + length);
    } else {
        ck_assert_uint_eq(d.whole.data[4] << 8 | d.whole.data[5], length);
        ck_assert_uint_eq(d.whole.data[6], IPPROTO_UDP);
    }
}

/* --- Random, against a model ---------------------------------------------------------------------- */

enum { MODEL_UNITS = 40 };

struct model {
    int letter[MODEL_UNITS]; /* 0: missing */
    unsigned start[MODEL_UNITS];
};

static uint64_t random_state;

static inline unsigned random_below(unsigned bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % bound;
}

static inline bool model_complete(const struct model *model, unsigned units)
{
    for (unsigned i = 0; i < units; i++) {
        if (!model->letter[i])
            return false;
    }
    return true;
}

static inline void check_model(const struct model *model, int version, unsigned units)
{
    char expected[MODEL_UNITS * 8 + 1] = "";

    for (unsigned i = 0; i < units; i++)
        memset(expected + i * 8, model->letter[i], 8);
    check_whole(version, expected);
}

#endif
