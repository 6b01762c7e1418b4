/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What passes of a datagram agrees, whatever a receiver has of it. */
#include "defrag_check.h"

/* --- Overlaps, inline ----------------------------------------------------------------------------- */

/* What contradicts "AAAAAAAABBBBBBBB" at 8, with more to come; or a datagram that ends at 32, for `ended`. */
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

        open_inline();
        ck_assert_int_eq(send_text(version, 7, 8, true, "AAAAAAAABBBBBBBB"), DEFRAG_STORED);
        if (contradictions[_i].ended)
            ck_assert_int_eq(send_text(version, 7, 24, false, "EEEEEEEE"), DEFRAG_STORED);
        ck_assert_msg(send_text(version, 7, contradictions[_i].offset, contradictions[_i].more,
                                contradictions[_i].text) == DEFRAG_DROPPED,
                      "%s", contradictions[_i].what);
        ck_assert_int_eq(overlapped(version), contradictions[_i].overlaps);
        /* Nothing of it passes now, good or bad. */
        for (unsigned k = 0; k < 3; k++)
            ck_assert_int_eq(send_text(version, 7, k * 8, true, probes[k]), DEFRAG_DROPPED);
        ck_assert_int_eq(send_text(version, 8, 0, true, "AAAAAAAA"), DEFRAG_STORED);
        ck_assert_uint_eq(defragging_counter(&d, "defrag.contradictions"), 1);
        ck_assert_uint_eq(defragging_counter(&d, "defrag.dropped_fragments"), 4);
        d.now_ns += 60 * NS_PER_SECOND;
        ck_assert_int_eq(send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_STORED);
        close_it();
    }
}
END_TEST

START_TEST(inline_passes_copies)
{
    int version = versions[_i];

    open_inline();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(send_text(version, 7, 8, true, "AAAAAAAABBBBBBBB"), DEFRAG_STORED);
        ck_assert_int_eq(overlapped(version), i > 0);
    }
    ck_assert_int_eq(send_text(version, 7, 16, true, "BBBBBBBBCCCCCCCC"), DEFRAG_STORED);
    ck_assert(overlapped(version));
    ck_assert_int_eq(send_text(version, 7, 32, false, "DD"), DEFRAG_STORED);
    ck_assert_int_eq(send_text(version, 7, 32, false, "DD"), DEFRAG_STORED);
    ck_assert_int_eq(send_text(version, 7, 0, true, "ZZZZZZZZAAAAAAAABBBBBBBB"), DEFRAG_COMPLETE);
    check_whole(version, "ZZZZZZZZAAAAAAAABBBBBBBBCCCCCCCCDD");
    close_it();
}
END_TEST

/* The receiver takes one of them for the protocol. */
START_TEST(inline_wants_one_chain_of_headers)
{
    static const uint8_t chain[] = { 44, 0, 1, 4, 0, 0, 0, 0 };
    const struct piece first = {
        .version = 6, .id = 7, .more = true, .bytes = (const uint8_t *)"AAAAAAAA", .length = 8
    };
    struct piece other = first;

    open_inline();
    ck_assert_int_eq(defragging_send(&d, &first), DEFRAG_STORED);
    ck_assert_int_eq(defragging_send(&d, &first), DEFRAG_STORED);
    other.protocol = 6;
    ck_assert_int_eq(defragging_send(&d, &other), DEFRAG_DROPPED);
    close_it();
    open_inline();
    other = first;
    other.chain = chain;
    other.chain_length = sizeof(chain);
    ck_assert_int_eq(defragging_send(&d, &first), DEFRAG_STORED);
    ck_assert_int_eq(defragging_send(&d, &other), DEFRAG_DROPPED);
    close_it();
    /* And when it was complete. */
    open_inline();
    ck_assert_int_eq(defragging_send(&d, &first), DEFRAG_STORED);
    ck_assert_int_eq(send_text(6, 7, 8, false, "B"), DEFRAG_COMPLETE);
    ck_assert_int_eq(defragging_send(&d, &first), DEFRAG_STORED);
    ck_assert_int_eq(defragging_send(&d, &other), DEFRAG_DROPPED);
    close_it();
}
END_TEST

/* --- Inline: datagrams that are over -------------------------------------------------------------- */

START_TEST(remembers_what_was_accepted)
{
    int version = versions[_i];

    open_inline();
    ck_assert_int_eq(send_text(version, 7, 0, true, "AAAAAAAABBBBBBBB"), DEFRAG_STORED);
    ck_assert_int_eq(send_text(version, 7, 16, true, "CCCCCCCC"), DEFRAG_STORED);
    ck_assert_int_eq(send_text(version, 7, 24, false, "DD"), DEFRAG_COMPLETE);
    /* Copies pass, and complete nothing. */
    ck_assert_int_eq(send_text(version, 7, 24, false, "DD"), DEFRAG_STORED);
    ck_assert_int_eq(send_text(version, 7, 0, true, "AAAAAAAABBBBBBBB"), DEFRAG_STORED);
    ck_assert_int_eq(send_text(version, 7, 16, true, "CCCCCCCC"), DEFRAG_STORED);
    ck_assert_uint_eq(defragging_counter(&d, "defrag.repeated_fragments"), 3);
    /* What a receiver that lacks some of it could complete does not. */
    ck_assert_int_eq(send_text(version, 7, 0, true, "AAAAAAAABBBBBBBX"), DEFRAG_DROPPED);
    ck_assert(overlapped(version));
    ck_assert_int_eq(send_text(version, 7, 16, false, "CCCCCCCC"), DEFRAG_DROPPED);
    ck_assert_int_eq(send_text(version, 7, 8, true, "BBBBBBBB"), DEFRAG_DROPPED);
    ck_assert_int_eq(send_text(version, 7, 24, false, "D"), DEFRAG_DROPPED);
    ck_assert_int_eq(send_text(version, 7, 32, true, "XXXXXXXX"), DEFRAG_DROPPED);
    ck_assert_int_eq(send_text(version, 7, 16, true, "CCCCCCCC"), DEFRAG_STORED);
    d.now_ns += 59 * NS_PER_SECOND;
    ck_assert_int_eq(send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_DROPPED);
    d.now_ns += 1 * NS_PER_SECOND;
    ck_assert_int_eq(send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_STORED);
    ck_assert_int_eq(send_text(version, 7, 8, false, "YY"), DEFRAG_COMPLETE);
    check_whole(version, "XXXXXXXXYY");
    close_it();
}
END_TEST

/* A copy that passes may begin the receiver's time again. */
START_TEST(copies_keep_the_memory)
{
    int version = versions[_i];

    open_inline();
    send_text(version, 7, 0, true, "AAAAAAAA");
    ck_assert_int_eq(send_text(version, 7, 8, false, "BB"), DEFRAG_COMPLETE);
    d.now_ns += 50 * NS_PER_SECOND;
    ck_assert_int_eq(send_text(version, 7, 8, false, "BB"), DEFRAG_STORED);
    d.now_ns += 50 * NS_PER_SECOND;
    ck_assert_int_eq(send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_DROPPED);
    d.now_ns += 10 * NS_PER_SECOND;
    ck_assert_int_eq(send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_STORED);
    close_it();
}
END_TEST

START_TEST(remembers_what_was_dropped)
{
    int version = versions[_i];

    open_inline();
    ck_assert_int_eq(send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_STORED);
    ck_assert_int_eq(send_text(version, 7, 8, false, "BB"), DEFRAG_COMPLETE);
    defrag_drop(d.defrag, &d.whole);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(send_text(version, 7, 8, false, "BB"), DEFRAG_DROPPED);
        ck_assert_int_eq(send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_DROPPED);
        ck_assert_int_eq(send_text(version, 7, 0, true, "XXXXXXXX"), DEFRAG_DROPPED);
        d.now_ns += 59 * NS_PER_SECOND;
    }
    ck_assert_int_eq(send_text(version, 7, 0, true, "AAAAAAAA"), DEFRAG_STORED);
    close_it();
}
END_TEST

START_TEST(passive_drops_nothing)
{
    open_passive();
    send_text(4, 7, 0, true, "AAAAAAAA");
    ck_assert_int_eq(send_text(4, 7, 8, false, "BB"), DEFRAG_COMPLETE);
    defrag_drop(d.defrag, &d.whole);
    ck_assert_int_eq(send_text(4, 7, 8, false, "BB"), DEFRAG_STORED);
    close_it();
}
END_TEST

/* Digests are kept of so many fragments; copies of others are not known. */
START_TEST(knows_many_fragments_again)
{
    open_inline();
    for (unsigned i = 0; i < 70; i++)
        ck_assert_int_eq(send_letter(4, 7, (char)('0' + i), i * 8, 8, i < 69),
                         i < 69 ? DEFRAG_STORED : DEFRAG_COMPLETE);
    for (unsigned i = 0; i < 70; i++)
        ck_assert_int_eq(send_letter(4, 7, (char)('0' + i), i * 8, 8, i < 69),
                         i < DIGESTS_MAX ? DEFRAG_STORED : DEFRAG_DROPPED);
    close_it();
}
END_TEST

/* --- Random, against a model ---------------------------------------------------------------------- */

/* Inline every byte has one value: a contradiction ends it. */
START_TEST(agrees_with_a_model_inline)
{
    unsigned complete = 0, dropped = 0;

    random_state = 88172645463325252u + (unsigned)_i;
    open_inline();
    for (unsigned round = 0; round < 600; round++) {
        unsigned units = 2 + random_below(MODEL_UNITS - 2);
        char text[MODEL_UNITS * 8 + 1] = "", part[MODEL_UNITS * 8 + 1];
        struct model model = { 0 };
        bool ended = false;

        for (unsigned i = 0; i < units * 8; i++)
            text[i] = (char)('a' + random_below(26));
        for (unsigned sent = 0; sent < 200; sent++) {
            unsigned start = random_below(units), length = 1 + random_below(units - start > 6 ? 6 : units - start);
            bool last = start + length == units && start > 0, wrong = random_below(60) == 0, contradicts = false;

            if (!last && start + length == units && --length == 0)
                continue;
            memcpy(part, text + start * 8, length * 8);
            part[length * 8] = '\0';
            unsigned at = random_below(length);

            if (wrong && model.letter[start + at]) {
                part[at * 8 + random_below(8)] ^= 1;
                contradicts = true;
            }
            for (unsigned i = start; i < start + length; i++)
                model.letter[i] = 1;
            ended |= last;
            bool is_complete = ended && model_complete(&model, units);
            enum defrag_result expected = contradicts ? DEFRAG_DROPPED : is_complete ? DEFRAG_COMPLETE : DEFRAG_STORED;

            ck_assert_int_eq(send_text(6, round, start * 8, !last, part), expected);
            if (expected != DEFRAG_STORED) {
                complete += !contradicts;
                dropped += contradicts;
                if (is_complete && !contradicts)
                    check_whole(6, text);
                break;
            }
        }
    }
    ck_assert_uint_gt(complete, 100);
    ck_assert_uint_gt(dropped, 50);
    close_it();
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
