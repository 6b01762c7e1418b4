/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline_app_rig.h"

struct config *rig_config;

void rig_configure_applications(const char *yaml)
{
    struct diag *diag = diag_new();

    config_free(rig_config);
    ck_assert_int_eq(daemon_new_config(&rig_config), 0);
    ck_assert_int_eq(config_parse(rig_config, "test", yaml, strlen(yaml), CONFIG_STRICT, diag), 0);
    ck_assert_uint_eq(diag_errors(diag), 0);
    ck_assert_int_eq(app_options_configure(&rig.options.app, rig_config, diag), 0);
    rig.options.app.memcap = 8 << 20;
    diag_free(diag);
}

void rig_setup_applications(void)
{
    static const char *words[256];

    rig_setup();
    app_list_names(words, sizeof(words) / sizeof(words[0]));
    rig.applications = words;
    rig_config = NULL;
    rig_configure_applications("");
}

void rig_close_applications(void)
{
    rig_close();
    config_free(rig_config);
}
