/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pipeline of pipeline_rig.h with all application protocols, as configured by a text, by default with nothing. */
#ifndef SLUICE_TESTS_PIPELINE_APP_RIG_H
#define SLUICE_TESTS_PIPELINE_APP_RIG_H

#include "pipeline_rig.h"

#include "sluice/daemon.h"

static struct config *rig_config;

/* Again: the options of before are forgotten. */
static inline void rig_configure_applications(const char *yaml)
{
    struct diag *diag = diag_new();

    config_free(rig_config);
    ck_assert_int_eq(daemon_new_config(&rig_config), 0);
    ck_assert_int_eq(config_parse(rig_config, "test", yaml, strlen(yaml), CONFIG_STRICT, diag), 0);
    ck_assert_uint_eq(diag_errors(diag), 0);
    app_options_default(&rig.options.app);
    ck_assert_int_eq(app_options_configure(&rig.options.app, rig_config, diag), 0);
    rig.options.app.memcap = 8 << 20;
    diag_free(diag);
}

static inline void rig_setup_applications(void)
{
    static const char *words[256];

    rig_setup();
    app_list_names(words, sizeof(words) / sizeof(words[0]));
    rig.applications = words;
    rig_config = NULL;
    rig_configure_applications("");
}

static inline void rig_close_applications(void)
{
    rig_close();
    config_free(rig_config);
}

#endif
