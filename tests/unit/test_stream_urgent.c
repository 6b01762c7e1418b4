/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Urgent data inline, inspected both as part of the stream and as not part of it. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "stream_rig.h"

#define HANDSHAKE "> S 0,0", "< SA 0,1", "> A 1,1"

static void begin(void)
{
    stream_rig_setup();
    stream_rig.options.urgent = STREAM_URGENT_BOTH;
    stream_rig_open();
    stream_rig_play("handshake", (const char *const[]){ HANDSHAKE, "> PA 1,1 'GOOD' | established c:GOOD", NULL });
}

/* Returns all readings of the client's bytes at `offset` other than that of the chunks, each followed by a blank. */
static const char *readings(const char *text, uint64_t offset)
{
    static char all[4096];
    const struct stream_chunk view = {
        .data = (const uint8_t *)text,
        .length = (uint32_t)strlen(text),
        .offset = offset,
        .has_readings = true,
    };
    struct stream_chunk reading;
    size_t length = 0;

    all[0] = '\0';
    for (unsigned number = 1;
         stream_next_reading(stream_rig.stream, stream_rig.flow, FLOW_TO_SERVER, &view, number, &reading); number++)
        length += (size_t)snprintf(all + length, sizeof(all) - length, "%.*s ", (int)reading.length,
                                   (const char *)reading.data);
    return all;
}

static bool goes_on_urgent(void)
{
    return !stream_rig.packet.new_data && !stream_rig.verdict.drop;
}

START_TEST(the_flag_stays_and_the_stream_has_two_readings)
{
    stream_rig_send_line("> PAU 5,1 'malXicious' urg=4");
    ck_assert_str_eq(stream_rig.yielded[FLOW_TO_SERVER], "malXicious");
    ck_assert(goes_on_urgent());
    ck_assert_str_eq(readings("malXicious", 4), "GOODmalicious ");
    stream_rig_send_line("> PAU 5,1 'malXicious' urg=4"); /* retransmitted with the same urgent position */
    ck_assert(goes_on_urgent());
    ck_assert_str_eq(readings("malXicious", 4), "GOODmalicious ");
    ck_assert_uint_eq(stream_rig_counter("tcp.urgent_cleared"), 0);
}
END_TEST

START_TEST(a_byte_announced_before_it_comes)
{
    stream_rig_send_line("> AU 5,1 urg=4");
    ck_assert(goes_on_urgent());
    stream_rig_send_line("> PA 5,1 'malXicious'");
    ck_assert_str_eq(readings("malXicious", 4), "GOODmalicious ");
}
END_TEST

START_TEST(a_pointer_of_zero_is_the_first_byte_or_none)
{
    stream_rig_send_line("> PAU 5,1 'Xmalicious' urg=0");
    ck_assert(goes_on_urgent());
    ck_assert_str_eq(readings("Xmalicious", 4), "GOODmalicious ");
}
END_TEST

START_TEST(bytes_of_which_each_may_be_read_or_not)
{
    stream_rig_send_line("> PAU 5,1 'XaY' urg=3");
    stream_rig_send_line("> PAU 5,1 'XaY' urg=1");
    ck_assert(goes_on_urgent());
    ck_assert_str_eq(readings("XaY", 4), "GOODaY GOODXa GOODa ");
}
END_TEST

START_TEST(one_too_many_is_no_longer_urgent)
{
    static const char *const lines[] = { "> PAU 5,1 '1' urg=1", "> PAU 6,1 '2' urg=1", "> PAU 7,1 '3' urg=1",
                                         "> PAU 8,1 '4' urg=1" };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        stream_rig_send_line(lines[i]);
        ck_assert_msg(goes_on_urgent(), "%zu", i);
    }
    stream_rig_send_line("> PAU 9,1 '5' urg=1");
    ck_assert(stream_rig.packet.new_data && !stream_rig.verdict.drop);
    ck_assert_uint_eq(stream_rig.packet.new_data[stream_rig.packet.transport - stream_rig.packet.data + 13] & TCP_URG,
                      0);
    ck_assert_uint_eq(stream_rig_counter("tcp.urgent_cleared"), 1);
    /* Four urgent bytes give fifteen further readings; the last one is without all of them. */
    ck_assert_str_eq(strstr(readings("5", 8), "GOOD15 "), "GOOD15 GOOD5 ");
}
END_TEST

START_TEST(the_pipeline_may_make_it_an_ordinary_byte)
{
    struct stream_verdict verdict;
    uint64_t place = 0;

    stream_rig_send_line("> PAU 5,1 'malXicious' urg=4");
    ck_assert(stream_get_urgent_offset(stream_rig.stream, stream_rig.flow, FLOW_TO_SERVER, &stream_rig.packet, &place));
    ck_assert_uint_eq(place, 7);
    stream_clear_urgent(stream_rig.stream, stream_rig.flow, FLOW_TO_SERVER, &stream_rig.packet, &verdict);
    ck_assert(!verdict.drop && stream_rig.packet.new_data);
    ck_assert_uint_eq(stream_rig.packet.new_data[stream_rig.packet.transport - stream_rig.packet.data + 13] & TCP_URG,
                      0);
    ck_assert_str_eq(readings("malXicious", 4), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream_urgent");
    TCase *tcase = tcase_create("both");

    tcase_add_checked_fixture(tcase, begin, stream_rig_teardown);
    tcase_add_test(tcase, the_flag_stays_and_the_stream_has_two_readings);
    tcase_add_test(tcase, a_byte_announced_before_it_comes);
    tcase_add_test(tcase, a_pointer_of_zero_is_the_first_byte_or_none);
    tcase_add_test(tcase, bytes_of_which_each_may_be_read_or_not);
    tcase_add_test(tcase, one_too_many_is_no_longer_urgent);
    tcase_add_test(tcase, the_pipeline_may_make_it_an_ordinary_byte);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
