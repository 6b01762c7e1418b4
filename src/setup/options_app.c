/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the options of application protocols and files from the configuration. */
#include <stdio.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/config.h"
#include "sluice/output.h"
#include "sluice/setup.h"

int setup_app_options(const struct config *config, unsigned workers, struct app_options *out, struct diag *diag)
{
    struct inspection_options inspection;

    app_options_default(out);
    config_fill(config, inspection_settings, NULL, &inspection);
    out->memcap = inspection.app_memcap / (workers > 0 ? workers : 1);
    setup_file_options(config, &out->files);
    return app_options_configure(out, config, diag);
}

/* Selects the protocols whose events are written: all, or those in eve.types. */
void setup_app_events(const struct config *config, struct eve_options *out)
{
    for (size_t i = 0; i < app_list_count; i++) {
        char name[96];

        if (!app_list[i]->log_type)
            continue;
        snprintf(name, sizeof(name), "eve.types.%s",
                 app_list[i]->log_setting ? app_list[i]->log_setting : app_list[i]->log_type);
        out->app[i] = !out->types || config_has_section(config, name);
        out->enabled[OUTPUT_APP] |= out->app[i];
    }
    out->enabled[OUTPUT_FILE] = !out->types || config_has_section(config, "eve.types.files");
}
