/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of settings for the command conf-get. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/diag.h"
#include "sluice/text.h"

static const struct {
    const char *name;
    enum config_value_kind kind;
    const char *text;
} values[] = {
    { "flow.memcap", CONFIG_VALUE, "67108864" },
    { "stream.memcap", CONFIG_VALUE, "67108864" }, /* the default */
    { "rule-files", CONFIG_VALUE, "/a.rules, /b.rules" },
    { "rule-files.1", CONFIG_VALUE, "/b.rules" },
    { "rule-files.2", CONFIG_VALUE_UNKNOWN, "" },
    { "rule-files.x", CONFIG_VALUE_UNKNOWN, "" },
    { "vars.address-groups.HOME_NET", CONFIG_VALUE, "10.0.0.0/8" },
    { "threshold-file", CONFIG_VALUE_UNSET, "" },
    { "flow", CONFIG_VALUE_SECTION, "" },
    { "flow.memcab", CONFIG_VALUE_UNKNOWN, "" },
    { "", CONFIG_VALUE_UNKNOWN, "" },
    { ".", CONFIG_VALUE_UNKNOWN, "" },
};

START_TEST(values_have_texts)
{
    static const char text[] = "flow: {memcap: 64 MiB}\nrule-files: [/a.rules, /b.rules]\n"
                               "vars: {address-groups: {HOME_NET: 10.0.0.0/8}}\n";
    struct diag *diag = diag_new();
    struct config *config;
    struct text out;

    text_init(&out);
    ck_assert_ptr_nonnull(diag);
    ck_assert_int_eq(daemon_new_config(&config), 0);
    ck_assert_int_eq(config_parse(config, "test.yaml", text, strlen(text), CONFIG_STRICT, diag), 0);
    ck_assert_uint_eq(diag_count(diag), 0);
    ck_assert_int_eq(config_value_text(config, values[_i].name, &out), values[_i].kind);
    ck_assert_str_eq(out.bytes ? out.bytes : "", values[_i].text);
    text_clear(&out);
    config_free(config);
    diag_free(diag);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config_value");
    TCase *tcase = tcase_create("config_value");

    tcase_add_loop_test(tcase, values_have_texts, 0, sizeof(values) / sizeof(values[0]));
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
