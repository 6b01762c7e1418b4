/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets with changed bytes: their content and checksums, packets that must not change, and the keyword replace. */
#include "default_options.h"
#include "../lib/packet_text.h"
#include "../lib/rule_text.h"
#include "detect/inspect.h"
#include "sluice/capture.h"
#include "sluice/decode.h"
#include "sluice/edit.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "worker/rewrite.h"

/* An assertion for loops. Check's own assertions store a message each time. */
static void expect(bool holds, const char *what)
{
    if (!holds)
        ck_abort_msg("%s", what);
}

static struct rewriter rewriter;
static struct decoder *decoder;

static void set_up(void)
{
    struct decode_options options;

    decode_options_default(&options);
    ck_assert_int_eq(decoder_new(&decoder, &options), 0);
    ck_assert_int_eq(rewriter_init(&rewriter), 0);
}

static void tear_down(void)
{
    rewriter_clear(&rewriter);
    decoder_free(decoder);
}

#define PAYLOAD "68656c6c6f20776f726c64" /* hello world */
#define ODD_PAYLOAD PAYLOAD "21"

static const struct {
    const char *text;
    bool editable;
} packets[] = {
    { IP4("11") UDP PAYLOAD, true },
    { IP4("11") UDP ODD_PAYLOAD, true },
    { IP4("06") TCP PAYLOAD, true },
    { IP4("06") TCP_HEADER("60") "01010101" ODD_PAYLOAD, true },
    { IP4("01") "0800 0000 0001 0001" PAYLOAD, true },
    { IP6("11") UDP PAYLOAD, true },
    { IP6("06") TCP ODD_PAYLOAD, true },
    { IP6("3a") "8000 0000 0001 0001" PAYLOAD, true },
    { IP4("84") "03e8 0050 00000001 00000000 00030010 00000000 00000000 00000000 68656c6c", false },
};

/* Makes and decodes a packet; with valid checksums if `right`. */
static void make_packet(struct packet *pkt, uint8_t *bytes, const char *text, bool right)
{
    struct packet *found[DECODE_MAX_PACKETS];

    memset(pkt, 0, sizeof(*pkt));
    pkt->length = pkt->wire_length = (uint32_t)packet_from_text(text, bytes);
    pkt->data = bytes;
    pkt->link = LINK_RAW;
    expect(decode_packet(decoder, pkt, found) == 1, "not one packet");
    if (!right)
        return;
    unsigned offset = pkt->protocol == 6 ? 16 : pkt->protocol == 17 ? 6 : 2;
    uint8_t *at = bytes + (pkt->transport - bytes) + offset;
    uint16_t checksum = decode_transport_checksum(pkt);

    at[0] = (uint8_t)(checksum >> 8);
    at[1] = (uint8_t)checksum;
    decode_packet(decoder, pkt, found);
}

static bool checksum_is_right(const struct packet *pkt)
{
    struct packet *found[DECODE_MAX_PACKETS];
    struct packet again = { .data = pkt->new_data, .length = pkt->new_length, .wire_length = pkt->new_length };

    expect(decode_packet(decoder, &again, found) == 1, "not one packet any more");
    decode_check_checksums(&again);
    return !(again.flags & PACKET_BAD_L4_CHECKSUM);
}

static void edit(struct packet *pkt, uint32_t offset, const char *text)
{
    edit_note(pkt->edits, 0, offset, (uint16_t)strlen(text), (const uint8_t *)text);
    edit_commit(pkt->edits, 0);
}

START_TEST(checksums_stay_right)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    struct packet pkt;
    bool editable = packets[_i].editable;

    make_packet(&pkt, bytes, packets[_i].text, editable);
    rewriter_begin(&rewriter, &pkt);
    edit(&pkt, 1, "E");
    edit(&pkt, 4, "O_W");
    edit(&pkt, 10, "D");
    ck_assert_int_eq(rewriter_finish(&rewriter, &pkt), editable);
    ck_assert_ptr_null(pkt.edits);
    ck_assert_int_eq(pkt.new_data != NULL, editable);
    if (!editable)
        return;
    ck_assert_uint_eq(pkt.new_length, pkt.length);
    ck_assert_mem_eq(pkt.new_data + (pkt.payload - pkt.data), "hEllO_WorlD", 11);
    ck_assert_mem_eq(pkt.payload, "hello world", 11); /* the original packet does not change */
    ck_assert(checksum_is_right(&pkt));
}
END_TEST

START_TEST(random_edits_keep_checksums_right)
{
    srand(5);
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[PACKET_TEXT_MAX], changed[4][8];
        struct packet pkt;

        make_packet(&pkt, bytes, packets[rand() % 8].text, true);
        rewriter_begin(&rewriter, &pkt);
        for (int i = 0; i < 4; i++) {
            uint16_t length = (uint16_t)(1 + rand() % 8);

            for (int k = 0; k < length; k++)
                changed[i][k] = rand() % 4 ? (uint8_t)rand() : 0xff;
            edit_note(pkt.edits, 0, (uint32_t)rand() % 6, length, changed[i]); /* some edits extend past the end */
            edit_commit(pkt.edits, 0);
        }
        expect(rewriter_finish(&rewriter, &pkt), "stays as it came");
        expect(checksum_is_right(&pkt), "the checksum is wrong");
    }
}
END_TEST

START_TEST(a_wrong_checksum_stays_wrong)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    struct packet pkt;

    make_packet(&pkt, bytes, packets[2].text, true);
    bytes[pkt.transport - pkt.data + 16] ^= 1;
    rewriter_begin(&rewriter, &pkt);
    edit(&pkt, 0, "H");
    ck_assert(rewriter_finish(&rewriter, &pkt));
    ck_assert(!checksum_is_right(&pkt));
}
END_TEST

START_TEST(udp_without_a_checksum_stays_without)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    struct packet pkt;

    make_packet(&pkt, bytes, packets[0].text, false);
    rewriter_begin(&rewriter, &pkt);
    edit(&pkt, 0, "H");
    ck_assert(rewriter_finish(&rewriter, &pkt));
    ck_assert_uint_eq(pkt.new_data[pkt.transport - pkt.data + 6] | pkt.new_data[pkt.transport - pkt.data + 7], 0);
}
END_TEST

/* In a super-packet the kernel completes the checksum; that of a single packet is completed here. */
START_TEST(checksums_that_are_not_ready)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    struct packet pkt;
    bool gso = _i == 1;

    make_packet(&pkt, bytes, packets[2].text, false);
    bytes[pkt.transport - pkt.data + 16] = 0x12;
    bytes[pkt.transport - pkt.data + 17] = 0x34;
    pkt.flags |= PACKET_CHECKSUM_NOT_READY | (gso ? PACKET_GSO : 0u);
    rewriter_begin(&rewriter, &pkt);
    edit(&pkt, 0, "H");
    ck_assert(rewriter_finish(&rewriter, &pkt));
    if (gso)
        ck_assert_mem_eq(pkt.new_data + (pkt.transport - pkt.data) + 16, "\x12\x34", 2);
    else
        ck_assert(checksum_is_right(&pkt));
}
END_TEST

START_TEST(what_is_dropped_or_cut_is_left_alone)
{
    static const uint32_t flags[] = { PACKET_TRUNCATED, PACKET_REASSEMBLED, PACKET_CARRIES_TUNNEL };
    uint8_t bytes[PACKET_TEXT_MAX];
    struct packet pkt;

    for (size_t i = 0; i < 3; i++) {
        make_packet(&pkt, bytes, packets[2].text, true);
        pkt.flags |= flags[i];
        rewriter_begin(&rewriter, &pkt);
        edit(&pkt, 0, "H");
        ck_assert(!rewriter_finish(&rewriter, &pkt));
        ck_assert_ptr_null(pkt.new_data);
    }
    make_packet(&pkt, bytes, packets[2].text, true);
    pkt.verdict = VERDICT_DROP;
    rewriter_begin(&rewriter, &pkt);
    edit(&pkt, 0, "H");
    ck_assert(rewriter_finish(&rewriter, &pkt));
    ck_assert_ptr_null(pkt.new_data);
}
END_TEST

/* The bytes stay valid for a whole batch, also those from src/stream, which has one buffer for all packets. */
START_TEST(bytes_stay_for_a_batch)
{
    static struct packet batch[CAPTURE_MAX_BATCH];
    static uint8_t bytes[CAPTURE_MAX_BATCH][PACKET_TEXT_MAX], stream[PACKET_TEXT_MAX];

    for (size_t i = 0; i < CAPTURE_MAX_BATCH; i++) {
        const char letter[] = { (char)('a' + i % 26), '\0' };

        make_packet(&batch[i], bytes[i], packets[0].text, true);
        rewriter_begin(&rewriter, &batch[i]);
        if (i % 2) {
            memcpy(stream, bytes[i], batch[i].length);
            stream[batch[i].payload - batch[i].data] = (uint8_t)letter[0];
            batch[i].new_data = stream;
            batch[i].new_length = batch[i].length;
        } else {
            edit(&batch[i], 0, letter);
        }
        ck_assert(rewriter_finish(&rewriter, &batch[i]));
    }
    for (size_t i = 0; i < CAPTURE_MAX_BATCH; i++)
        ck_assert_int_eq(batch[i].new_data[batch[i].payload - batch[i].data], 'a' + i % 26);
}
END_TEST

/* --- From the rule -------------------------------------------------------------------------------- */

/* Evaluates the rule on the payload "hello world" as detect does. Returns the new payload, or NULL if it is unchanged.
 */
static const char *replaced(const char *options, bool begin)
{
    static char out[16];
    uint8_t bytes[PACKET_TEXT_MAX];
    struct rule_text text;
    struct packet pkt;
    struct match_input in = { .packet = &pkt };

    rule_text_open(&text, options, strlen(options));
    ck_assert_msg(text.rule != NULL, "%s", text.message);
    ck_assert_int_eq(text.rule->payload, RULE_PAYLOAD_PACKET_ONLY);
    make_packet(&pkt, bytes, packets[0].text, true);
    if (begin)
        rewriter_begin(&rewriter, &pkt);

    struct inspection inspection = {
        .input = &in, .data = pkt.payload, .length = pkt.payload_length, .steps_left = 1000
    };

    if (inspect_buffer(&inspection, text.rule->buffers->conditions))
        for (const struct match_action *c = text.rule->actions; c; c = c->next)
            c->act(&in, c->data);
    if (begin)
        ck_assert(rewriter_finish(&rewriter, &pkt));
    rule_text_close(&text);
    if (!pkt.new_data)
        return NULL;
    memcpy(out, pkt.new_data + (pkt.payload - pkt.data), pkt.payload_length);
    out[pkt.payload_length] = '\0';
    return out;
}

static const struct {
    const char *options, *payload; /* expected payload; NULL: unchanged */
} replacements[] = {
    { "content:\"hello\"; replace:\"HELLO\";", "HELLO world" },
    { "content:\"hello\"; replace:\"|48 65|llo\"; content:\"world\"; replace:\"earth\";", "Hello earth" },
    { "content:\"hello\"; replace:\"HELLO\"; content:\"moon\";", NULL },
    { "content:\"o\"; replace:\"0\"; offset:5;", "hello w0rld" },
    { "content:\"L\"; nocase; replace:\"1\"; content:\"d\"; within:1;",
      "hello wor1d" }, /* the match with which the whole rule matched */
    { "content:\"hello\"; replace:\"HELLO\"; content:\"llo\"; replace:\"LLY\";", "HELLY world" },
};

START_TEST(a_rule_replaces_what_it_found)
{
    const char *payload = replaced(replacements[_i].options, true);

    if (replacements[_i].payload)
        ck_assert_pstr_eq(payload, replacements[_i].payload);
    else
        ck_assert_ptr_null(payload);
    ck_assert_ptr_null(replaced(replacements[_i].options, false)); /* passive */
}
END_TEST

static const struct {
    const char *options, *message;
} bad[] = {
    { "replace:\"a\";", "must follow a content" },
    { "ipv4.hdr; content:\"a\"; replace:\"b\";", "must follow a content on the payload" },
    { "content:!\"a\"; replace:\"b\";", "negated" },
    { "content:\"a\"; replace:\"bc\";", "must have the length of the content" },
    { "content:\"a\"; replace:\"\";", "empty" },
    { "content:\"a\"; replace:b;", "double quotes" },
    { "content:\"a\"; replace:\"b\"; replace:\"c\";", "already" },
    { "content:\"a\"; replace:\"b\"; flow:only_stream;", "in a stream" },
    { "flow:only_stream; content:\"a\"; replace:\"b\";", "in a stream" },
};

START_TEST(mistakes_are_told)
{
    struct rule_text text;

    rule_text_open(&text, bad[_i].options, strlen(bad[_i].options));
    ck_assert_ptr_null(text.rule);
    ck_assert_msg(strstr(text.message, bad[_i].message) != NULL, "%s", text.message);
    rule_text_close(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rewrite");
    TCase *tcase = tcase_create("rewrite");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, checksums_stay_right, 0, sizeof(packets) / sizeof(packets[0]));
    tcase_add_test(tcase, random_edits_keep_checksums_right);
    tcase_add_test(tcase, a_wrong_checksum_stays_wrong);
    tcase_add_test(tcase, udp_without_a_checksum_stays_without);
    tcase_add_loop_test(tcase, checksums_that_are_not_ready, 0, 2);
    tcase_add_test(tcase, what_is_dropped_or_cut_is_left_alone);
    tcase_add_test(tcase, bytes_stay_for_a_batch);
    tcase_add_loop_test(tcase, a_rule_replaces_what_it_found, 0, sizeof(replacements) / sizeof(replacements[0]));
    tcase_add_loop_test(tcase, mistakes_are_told, 0, sizeof(bad) / sizeof(bad[0]));
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
