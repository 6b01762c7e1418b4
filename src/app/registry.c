/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of protocols, by name and by id. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app_priv.h"

static bool has_name(const struct app_proto *proto, const char *name)
{
    if (strcasecmp(proto->name, name) == 0)
        return true;
    for (const char *const *word = proto->words; word && *word; word++) {
        if (strcasecmp(*word, name) == 0)
            return true;
    }
    return false;
}

unsigned app_id_by_name(const char *name)
{
    for (size_t i = 0; i < app_list_count; i++) {
        if (has_name(app_list[i], name))
            return (unsigned)i + 1;
    }
    return 0;
}

const struct app_proto *app_proto_by_id(unsigned id)
{
    return id > 0 && id <= app_list_count ? app_list[id - 1] : NULL;
}

const char *app_name_by_id(unsigned id)
{
    const struct app_proto *proto = app_proto_by_id(id);

    if (id == APP_FAILED)
        return "failed";
    return proto ? proto->name : NULL;
}

size_t app_setting_tables(const struct setting **out)
{
    size_t count = 0;

    out[count++] = app_setting_rows;
    for (size_t i = 0; i < app_list_count; i++) {
        if (app_list[i]->settings)
            out[count++] = app_list[i]->settings;
    }
    return count;
}

size_t app_list_names(const char **out, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; i < app_list_count; i++) {
        if (count + 1 < max)
            out[count++] = app_list[i]->name;
        for (const char *const *word = app_list[i]->words; word && *word && count + 1 < max; word++)
            out[count++] = *word;
    }
    out[count] = NULL;
    return count;
}

int app_options_configure(struct app_options *options, const struct config *config, struct diag *diag)
{
    int err;

    *options = (struct app_options){ .memcap = 0 };
    err = app_options_read(options, config, diag);
    for (size_t i = 0; i < app_list_count && !err; i++) {
        const struct app_proto *proto = app_list[i];

        if (proto->settings_size == 0)
            continue;
        options->settings[i] = calloc(1, proto->settings_size);
        if (!options->settings[i]) {
            err = -ENOMEM;
            continue;
        }
        config_fill(config, proto->settings, NULL, options->settings[i]);
        if (proto->configure)
            err = proto->configure(config, options->settings[i]);
    }
    if (err)
        app_options_clear(options);
    return err;
}

void app_options_clear(struct app_options *options)
{
    for (size_t i = 0; i < app_list_count; i++) {
        if (app_list[i]->unconfigure && options->settings[i])
            app_list[i]->unconfigure(options->settings[i]);
        free(options->settings[i]);
        options->settings[i] = NULL;
    }
}
