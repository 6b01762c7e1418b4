/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See defrag_rig.h. */
#include "default_options.h"
#include "defrag_rig.h"

#include <check.h>
#include <netinet/in.h>

struct defragging defrag_rig;

void defrag_rig_open_with(bool inline_mode, enum host_os (*of)(const void *, int, const struct address *),
                          const void *user)
{
    struct defrag_options options;

    defrag_options_default(&options);
    options.memcap = 4 << 20;
    options.inline_mode = inline_mode;
    options.host_os = (struct host_os_policy){ of, user };
    defragging_open(&defrag_rig, &options);
}

void defrag_rig_open_inline(void)
{
    defrag_rig_open_with(true, NULL, NULL);
}

void defrag_rig_open_passive(void)
{
    defrag_rig_open_with(false, NULL, NULL);
}

void defrag_rig_close(void)
{
    defragging_close(&defrag_rig);
}

enum defrag_result defrag_rig_send_text(int version, uint32_t id, uint32_t offset, bool more, const char *text)
{
    return defragging_send(&defrag_rig, &(struct piece){ .version = version,
                                                         .id = id,
                                                         .offset = offset,
                                                         .more = more,
                                                         .bytes = (const uint8_t *)text,
                                                         .length = strlen(text) });
}

enum defrag_result defrag_rig_send_letter(int version, uint32_t id, char letter, uint32_t offset, size_t length,
                                          bool more)
{
    static char text[FRAGMENTS_MAX];

    ck_assert_uint_lt(length, sizeof(text));
    memset(text, letter, length);
    text[length] = '\0';
    return defrag_rig_send_text(version, id, offset, more, text);
}

bool defrag_rig_has_event(int version, enum decode_event ipv4, enum decode_event ipv6)
{
    return packet_has_event(&defrag_rig.packet, version == 4 ? ipv4 : ipv6);
}

bool defrag_rig_overlapped(int version)
{
    return defrag_rig_has_event(version, DECODE_EVENT_IPV4_FRAG_OVERLAP, DECODE_EVENT_IPV6_FRAG_OVERLAP);
}

void defrag_rig_check_whole(int version, const char *text)
{
    size_t header = version == 4 ? 20 : 40, length = strlen(text);

    ck_assert_uint_eq(defrag_rig.whole.length, header + length);
    ck_assert_uint_eq(defrag_rig.whole.wire_length, header + length);
    ck_assert_mem_eq(defrag_rig.whole.data + header, text, length);
    if (version == 4) {
        ck_assert_uint_eq(defrag_rig.whole.data[6] << 8 | defrag_rig.whole.data[7], 0);
        ck_assert_uint_eq(defrag_rig.whole.data[2] << 8 | defrag_rig.whole.data[3], header + length);
    } else {
        ck_assert_uint_eq(defrag_rig.whole.data[4] << 8 | defrag_rig.whole.data[5], length);
        ck_assert_uint_eq(defrag_rig.whole.data[6], IPPROTO_UDP);
    }
}

/* --- Model for random fragments ------------------------------------------------------------------- */

uint64_t defrag_rig_random_state;

unsigned defrag_rig_random(unsigned bound)
{
    defrag_rig_random_state ^= defrag_rig_random_state << 13;
    defrag_rig_random_state ^= defrag_rig_random_state >> 7;
    defrag_rig_random_state ^= defrag_rig_random_state << 17;
    return (unsigned)(defrag_rig_random_state >> 33) % bound;
}

bool defrag_model_complete(const struct defrag_model *model, unsigned units)
{
    for (unsigned i = 0; i < units; i++) {
        if (!model->letter[i])
            return false;
    }
    return true;
}

void defrag_model_check(const struct defrag_model *model, int version, unsigned units)
{
    char expected[MODEL_UNITS * 8 + 1] = "";

    for (unsigned i = 0; i < units; i++)
        memset(expected + i * 8, model->letter[i], 8);
    defrag_rig_check_whole(version, expected);
}
