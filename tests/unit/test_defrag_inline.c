/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inline, all fragments that pass must agree, so that every receiver reassembles the same datagram. */
#include <check.h>
#include <string.h>

#include "defrag_rig.h"

/* --- Overlaps, inline ----------------------------------------------------------------------------- */

/* Fragments that contradict "AAAAAAAABBBBBBBB" at offset 8 with MF set, or (`ended`) a datagram that ends at 32. */
static const struct {
    const char *what, *text;
    uint32_t offset;
    bool more, ended, overlaps;
} contradictions[] = {
    { "other bytes, same place", "AAAAAAAABBBBBBBX", 8, true, false, true },
    { "other bytes, inside", "BBBBBBBX", 16, true, false, true },
    { "other bytes, around", "ZZZZZZZZAAAAAAAAXBBBBBBBZZZZZZZZ", 0, true, false, true },
    { "other bytes in front", "ZZZZZZZZXAAAAAAA", 0, true, false, true },
    { "other bytes behind", "BBBBBBBXZZZZZZZZ", 16, true, false, true },
    { "other bytes at the end", "BBBBBBBXZZ", 16, false, false, true },
    { "an end inside of what is held", "AAAAAAAA", 8, false, false, true },
    { "an end where more was promised", "BBBBBBBB", 16, false, false, true },
    { "a second end behind", "Z", 32, false, true, false },
    { "a second end before", "Z", 24, false, true, true },
    { "more behind the end", "ZZZZZZZZ", 40, true, true, false },
    { "more across the end", "ZZZZZZZZZZZZZZZZ", 24, true, true, true },
    { "more that reaches the end", "EEEEEEEE", 24, true, true, true },
};

static const char *const probes[] = { "ZZZZZZZZ", "AAAAAAAA", "BBBBBBBB" };

START_TEST(inline_drops_what_contradicts)
{
    for (unsigned i = 0; i < 2; i++) {
        int version = versions[i];

        defrag_rig_open_inline();
        ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, true, "AAAAAAAABBBBBBBB"), DEFRAG_STORED);
        if (contradictions[_i].ended)
            ck_assert_int_eq(defrag_rig_send_text(version, 7, 24, false, "EEEEEEEE"), DEFRAG_STORED);
        ck_assert_msg(defrag_rig_send_text(version, 7, contradictions[_i].offset, contradictions[_i].more,
                                           contradictions[_i].text) == DEFRAG_DROPPED,
                      "%s", contradictions[_i].what);
        ck_assert_int_eq(defrag_rig_overlapped(version), contradictions[_i].overlaps);
        /* No further fragment of the datagram passes. */
        for (unsigned k = 0; k < 3; k++)
            ck_assert_int_eq(defrag_rig_send_text(version, 7, k * 8, true, probes[k]), DEFRAG_DROPPED);
        ck_assert_int_eq(defrag_rig_send_text(version, 8, 0, true, "AAAAAAAA"), DEFRAG_STORED);
        ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.contradictions"), 1);
        ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.dropped_fragments"), 4);
        defrag_rig.now_ns += 60 * NS_PER_SECOND;
        ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_STORED);
        defrag_rig_close();
    }
}
END_TEST

START_TEST(inline_passes_copies)
{
    int version = versions[_i];

    defrag_rig_open_inline();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, true, "AAAAAAAABBBBBBBB"), DEFRAG_STORED);
        ck_assert_int_eq(defrag_rig_overlapped(version), i > 0);
    }
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 16, true, "BBBBBBBBCCCCCCCC"), DEFRAG_STORED);
    ck_assert(defrag_rig_overlapped(version));
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 32, false, "DD"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 32, false, "DD"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "ZZZZZZZZAAAAAAAABBBBBBBB"), DEFRAG_COMPLETE);
    defrag_rig_check_whole(version, "ZZZZZZZZAAAAAAAABBBBBBBBCCCCCCCCDD");
    defrag_rig_close();
}
END_TEST

/* Receivers use the next header of any of the fragments. */
START_TEST(inline_wants_one_chain_of_headers)
{
    static const uint8_t chain[] = { 44, 0, 1, 4, 0, 0, 0, 0 };
    const struct piece first = {
        .version = 6, .id = 7, .more = true, .bytes = (const uint8_t *)"AAAAAAAA", .length = 8
    };
    struct piece other = first;

    defrag_rig_open_inline();
    ck_assert_int_eq(defragging_send(&defrag_rig, &first), DEFRAG_STORED);
    ck_assert_int_eq(defragging_send(&defrag_rig, &first), DEFRAG_STORED);
    other.protocol = 6;
    ck_assert_int_eq(defragging_send(&defrag_rig, &other), DEFRAG_DROPPED);
    defrag_rig_close();
    defrag_rig_open_inline();
    other = first;
    other.chain = chain;
    other.chain_length = sizeof(chain);
    ck_assert_int_eq(defragging_send(&defrag_rig, &first), DEFRAG_STORED);
    ck_assert_int_eq(defragging_send(&defrag_rig, &other), DEFRAG_DROPPED);
    defrag_rig_close();
    /* The same after the datagram was complete. */
    defrag_rig_open_inline();
    ck_assert_int_eq(defragging_send(&defrag_rig, &first), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(6, 7, 8, false, "B"), DEFRAG_COMPLETE);
    ck_assert_int_eq(defragging_send(&defrag_rig, &first), DEFRAG_STORED);
    ck_assert_int_eq(defragging_send(&defrag_rig, &other), DEFRAG_DROPPED);
    defrag_rig_close();
}
END_TEST

/* --- Inline: completed datagrams ------------------------------------------------------------------ */

START_TEST(remembers_what_was_accepted)
{
    int version = versions[_i];

    defrag_rig_open_inline();
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "AAAAAAAABBBBBBBB"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 16, true, "CCCCCCCC"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 24, false, "DD"), DEFRAG_COMPLETE);
    /* Copies of fragments pass, and complete no datagram. */
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 24, false, "DD"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "AAAAAAAABBBBBBBB"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 16, true, "CCCCCCCC"), DEFRAG_STORED);
    ck_assert_uint_eq(defragging_counter(&defrag_rig, "defrag.repeated_fragments"), 3);
    /* A fragment with other bytes is dropped, because a receiver that lost some of the first ones could use it. */
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "AAAAAAAABBBBBBBX"), DEFRAG_DROPPED);
    ck_assert(defrag_rig_overlapped(version));
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 16, false, "CCCCCCCC"), DEFRAG_DROPPED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, true, "BBBBBBBB"), DEFRAG_DROPPED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 24, false, "D"), DEFRAG_DROPPED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 32, true, "XXXXXXXX"), DEFRAG_DROPPED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 16, true, "CCCCCCCC"), DEFRAG_STORED);
    defrag_rig.now_ns += 59 * NS_PER_SECOND;
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_DROPPED);
    defrag_rig.now_ns += 1 * NS_PER_SECOND;
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, false, "YY"), DEFRAG_COMPLETE);
    defrag_rig_check_whole(version, "XXXXXXXXYY");
    defrag_rig_close();
}
END_TEST

/* A copy that passes may restart the receiver's timeout. */
START_TEST(copies_keep_the_memory)
{
    int version = versions[_i];

    defrag_rig_open_inline();
    defrag_rig_send_text(version, 7, 0, true, "AAAAAAAA");
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, false, "BB"), DEFRAG_COMPLETE);
    defrag_rig.now_ns += 50 * NS_PER_SECOND;
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, false, "BB"), DEFRAG_STORED);
    defrag_rig.now_ns += 50 * NS_PER_SECOND;
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_DROPPED);
    defrag_rig.now_ns += 10 * NS_PER_SECOND;
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_STORED);
    defrag_rig_close();
}
END_TEST

START_TEST(remembers_what_was_dropped)
{
    int version = versions[_i];

    defrag_rig_open_inline();
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_STORED);
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, false, "BB"), DEFRAG_COMPLETE);
    defrag_drop(defrag_rig.defrag, &defrag_rig.whole);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(defrag_rig_send_text(version, 7, 8, false, "BB"), DEFRAG_DROPPED);
        ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_DROPPED);
        ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_DROPPED);
        defrag_rig.now_ns += 59 * NS_PER_SECOND;
    }
    ck_assert_int_eq(defrag_rig_send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_STORED);
    defrag_rig_close();
}
END_TEST

START_TEST(passive_drops_nothing)
{
    defrag_rig_open_passive();
    defrag_rig_send_text(4, 7, 0, true, "AAAAAAAA");
    ck_assert_int_eq(defrag_rig_send_text(4, 7, 8, false, "BB"), DEFRAG_COMPLETE);
    defrag_drop(defrag_rig.defrag, &defrag_rig.whole);
    ck_assert_int_eq(defrag_rig_send_text(4, 7, 8, false, "BB"), DEFRAG_STORED);
    defrag_rig_close();
}
END_TEST

/* Digests are stored for a limited number of fragments; copies of further ones are not recognised. */
START_TEST(knows_many_fragments_again)
{
    enum { RECOGNIZED = 63 };

    defrag_rig_open_inline();
    for (unsigned i = 0; i < 70; i++)
        ck_assert_int_eq(defrag_rig_send_letter(4, 7, (char)('0' + i), i * 8, 8, i < 69),
                         i < 69 ? DEFRAG_STORED : DEFRAG_COMPLETE);
    for (unsigned i = 0; i < 70; i++)
        ck_assert_int_eq(defrag_rig_send_letter(4, 7, (char)('0' + i), i * 8, 8, i < 69),
                         i < RECOGNIZED ? DEFRAG_STORED : DEFRAG_DROPPED);
    defrag_rig_close();
}
END_TEST

/* --- Random operations, compared with a model ----------------------------------------------------- */

/* Inline every byte of a datagram has one value; a contradiction drops the datagram. */
START_TEST(agrees_with_a_model_inline)
{
    unsigned complete = 0, dropped = 0;

    defrag_rig_random_state = 88172645463325252u + (unsigned)_i;
    defrag_rig_open_inline();
    for (unsigned round = 0; round < 600; round++) {
        unsigned units = 2 + defrag_rig_random(MODEL_UNITS - 2);
        char text[MODEL_UNITS * 8 + 1] = "", part[MODEL_UNITS * 8 + 1];
        struct defrag_model model = { 0 };
        bool ended = false;

        for (unsigned i = 0; i < units * 8; i++)
            text[i] = (char)('a' + defrag_rig_random(26));
        for (unsigned sent = 0; sent < 200; sent++) {
            unsigned start = defrag_rig_random(units),
                     length = 1 + defrag_rig_random(units - start > 6 ? 6 : units - start);
            bool last = start + length == units && start > 0, wrong = defrag_rig_random(60) == 0, contradicts = false;

            if (!last && start + length == units && --length == 0)
                continue;
            memcpy(part, text + start * 8, length * 8);
            part[length * 8] = '\0';
            unsigned at = defrag_rig_random(length);

            if (wrong && model.letter[start + at]) {
                part[at * 8 + defrag_rig_random(8)] ^= 1;
                contradicts = true;
            }
            for (unsigned i = start; i < start + length; i++)
                model.letter[i] = 1;
            ended |= last;
            bool is_complete = ended && defrag_model_complete(&model, units);
            enum defrag_result expected = contradicts ? DEFRAG_DROPPED : is_complete ? DEFRAG_COMPLETE : DEFRAG_STORED;

            ck_assert_int_eq(defrag_rig_send_text(6, round, start * 8, !last, part), expected);
            if (expected != DEFRAG_STORED) {
                complete += !contradicts;
                dropped += contradicts;
                if (is_complete && !contradicts)
                    defrag_rig_check_whole(6, text);
                break;
            }
        }
    }
    ck_assert_uint_gt(complete, 100);
    ck_assert_uint_gt(dropped, 50);
    defrag_rig_close();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("defrag_inline");
    TCase *tcase = tcase_create("defrag");
    SRunner *runner;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, inline_drops_what_contradicts, 0, sizeof(contradictions) / sizeof(contradictions[0]));
    tcase_add_loop_test(tcase, inline_passes_copies, 0, 2);
    tcase_add_test(tcase, inline_wants_one_chain_of_headers);
    tcase_add_loop_test(tcase, remembers_what_was_accepted, 0, 2);
    tcase_add_loop_test(tcase, copies_keep_the_memory, 0, 2);
    tcase_add_loop_test(tcase, remembers_what_was_dropped, 0, 2);
    tcase_add_test(tcase, passive_drops_nothing);
    tcase_add_test(tcase, knows_many_fragments_again);
    tcase_add_loop_test(tcase, agrees_with_a_model_inline, 0, 2);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
