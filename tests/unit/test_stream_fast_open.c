/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data in a SYN (TCP Fast Open, RFC 7413). tests/lib/stream_rig.h describes the scripts. */
#include <check.h>

#include "stream_rig.h"

static const struct test_case {
    const char *name;
    bool passive;
    const char *script[8];
} cases[] = {
    { "data in the SYN without fast open, inline: a server may take it all the same",
      false,
      { "> S 0,0 'abc' sackok | syn_sent c:abc", "< SA 0,4 | syn_recv", "> A 4,1 | established",
        "> PA 4,1 'def' | established c:def" } },
    { "data in a SYN without options, inline: not in the stream, and the SYN/ACK that acknowledges it is rejected",
      false,
      { "> S 0,0 'abc' | syn_sent", "< SA 0,4 | syn_sent 3whs_synack_with_wrong_ack",
        "> PA 4,1 'def' | syn_sent =invalid" } },
    { "data in a SYN that is sent again, inline",
      false,
      { "> S 0,0 | syn_sent", "> S 0,0 'abc' sackok | syn_sent c:abc", "< SA 0,4 | syn_recv",
        "> PA 4,1 'def' | established c:def" } },
    { "data in a SYN that is sent again after the answer, inline",
      false,
      { "> S 0,0", "< SA 0,1 | syn_recv", "> S 0,0 'abc' | syn_recv =invalid", "> PA 1,1 'xyz' | established c:xyz" } },
    { "fast open, the SYN sent again after its data was ignored",
      false,
      { "> S 0,0 tfo 'abc' | syn_sent c:abc", "< SA 0,1 | syn_recv 3whs_synack_tfo_data_ignored",
        "> S 0,0 tfo 'abc' | syn_recv", "> S 0,0 tfo 'xyz' | syn_recv reassembly_overlap_different_data =drop",
        "> PA 1,1 'abcd' | established c:d" } },
    { "data in the SYN without fast open is not part of the stream",
      true,
      { "> S 0,0 'abc' | syn_sent", "< SA 0,1 | syn_recv", "> PA 1,1 'abc' | established", "< A 1,4 | established",
        "> FA 4,1 | close_wait c:abc" } },
    { "fast open",
      false,
      { "> S 0,0 tfo 'abc' | syn_sent c:abc", "< SA 0,4 | syn_recv", "< PA 1,4 'xyz' | established s:xyz",
        "> PA 4,4 'def' | established c:def" } },
    { "fast open, data in the SYN/ACK",
      false,
      { "> S 0,0 tfo 'abc'", "< SA 0,4 'xyz' | syn_recv s:xyz", "> A 4,4 | established" } },
    { "fast open, data ignored",
      false,
      { "> S 0,0 tfo 'abc'", "< SA 0,1 | syn_recv 3whs_synack_tfo_data_ignored", "> PA 1,1 'abc' | established",
        "> PA 4,1 'd' | established c:d" } },
    { "fast open, ignored data sent again with other bytes",
      false,
      { "> S 0,0 tfo 'abc'", "< SA 0,1", "> PA 1,1 'xyz' | established reassembly_overlap_different_data =drop" } },
};

START_TEST(data_in_a_syn)
{
    stream_rig.options.inline_mode = !cases[_i].passive;
    stream_rig_open();
    stream_rig_play(cases[_i].name, cases[_i].script);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stream_fast_open");
    TCase *scripts = tcase_create("scripts");

    tcase_add_checked_fixture(scripts, stream_rig_setup, stream_rig_teardown);
    tcase_add_loop_test(scripts, data_in_a_syn, 0, sizeof(cases) / sizeof(cases[0]));
    suite_add_tcase(suite, scripts);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
