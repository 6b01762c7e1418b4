/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conflicts between settings. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/diag.h"
#include "sluice/setup.h"

static const struct {
    const char *text;
    size_t errors;
    const char *message;
} conflicts[] = {
    { "", 0, NULL },
    { "queue: {verdict: repeat, mark: 0x1/0x1}\nnft: {attach: repeat}", 0, NULL },
    { "queue: {verdict: repeat, mark: 0x1/0x1}", 0, NULL },
    { "queue: {verdict: repeat}", 1, "needs a mark" },
    { "queue: {verdict: repeat, mark: 0x0/0x1}", 1, "is 0 under its mask" },
    { "queue: {verdict: repeat, mark: 0x40000000/0x40000000}", 1, "shares bits" },
    { "queue: {verdict: route}", 1, "needs the queue of the program that receives the packets next" },
    { "queue: {verdict: route, route-to: 1, numbers: 0-3}", 1, "which is in 'queue.numbers'" },
    { "queue: {verdict: route, route-to: 4, numbers: 0-3}", 0, NULL },
    { "queue: {numbers: 0-3}\nqueues: {\"0-1\": {verdict: repeat, mark: 0x1/0x1}, \"2\": {verdict: route, route-to: "
      "9}}",
      0, NULL },
    { "queue: {numbers: 0-3}\nqueues: {\"0-1\": {verdict: repeat}}", 1, "set 'queue.mark'" },
    { "queue: {numbers: 0-3}\nqueues: {\"0-1\": {length: 5}, \"1\": {length: 6}}", 1, "in another range too" },
    { "queue: {numbers: 0-3}\nqueues: {\"4\": {length: 5}}", 0, "queue 4 is not in 'queue.numbers'" },
    { "queue: {numbers: 0-3}\nqueues: {\"0,2\": {length: 5}}", 1, "the name must be one queue or range" },
    { "queues: {x: {length: 5}}", 1, "the name must be one queue or range" },
    { "queue: {numbers: '0,2'}\nnft: {attach: after}", 1, "queues in one range" },
    { "nft: {attach: repeat}", 1, "needs 'queue.verdict' repeat" },
    { "queue: {verdict: repeat, mark: 0x1/0x1}\nnft: {attach: after}", 1, "in a loop" },
    { "decoder: {vxlan: {ports: $NO}}", 1, "is not a port variable" },
};

START_TEST(conflicts_are_found)
{
    const char *text = conflicts[_i].text;
    struct diag *diag = diag_new();
    struct config *config;

    ck_assert_int_eq(daemon_new_config(&config), 0);
    ck_assert_int_eq(config_parse(config, "test.yaml", text, strlen(text), CONFIG_STRICT, diag), 0);
    ck_assert_uint_eq(diag_count(diag), 0);
    setup_check_conflicts(config, diag);
    ck_assert_uint_eq(diag_errors(diag), conflicts[_i].errors);
    if (conflicts[_i].message)
        ck_assert_msg(strstr(diag_get(diag, 0)->message, conflicts[_i].message), "%s", diag_get(diag, 0)->message);
    config_free(config);
    diag_free(diag);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("setup");
    TCase *tcase = tcase_create("conflicts");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tcase, conflicts_are_found, 0, sizeof(conflicts) / sizeof(conflicts[0]));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
