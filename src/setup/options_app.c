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
    int err = app_options_configure(out, config, diag);

    if (err)
        return err;
    config_fill(config, inspection_settings, NULL, &inspection);
    out->memcap = inspection.app_memcap / (workers > 0 ? workers : 1);
    setup_file_options(config, &out->files);
    return 0;
}

/* Selects the protocols whose events are written: those in eve.types, or all if eve.types is not set. */
void setup_app_events(const struct config *config, struct eve_options *out)
{
    struct event_type {
        bool written;
    };
    /* The modules' own rows for eve.types.PROTOCOL do not store a value, because a protocol does not know its index in
     * out->app. This row reads whether the section of a protocol is present. */
    static const struct setting rows[] = {
        { .name = "eve.types.*", SETTING_FIELD(event_type, written), .type = SETTING_SECTION },
        { .name = NULL },
    };

    for (size_t i = 0; i < app_list_count; i++) {
        const struct app_proto *proto = app_list[i];
        struct event_type type;

        if (!proto->log_type)
            continue;
        config_fill(config, rows, proto->log_setting ? proto->log_setting : proto->log_type, &type);
        out->app[i] = !out->types || type.written;
        out->enabled[OUTPUT_APP] |= out->app[i];
    }
}
