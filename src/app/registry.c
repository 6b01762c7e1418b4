/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of protocols, by name and by id, and the names of their hooks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app_priv.h"
#include "progress.h"

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

/* --- Hooks ---------------------------------------------------------------------------------------- */

enum { COMMON_HOOKS = 2 };
static const char *const common_hooks[FLOW_DIRECTIONS][COMMON_HOOKS] = {
    [FLOW_TO_SERVER] = { "request_started", "request_complete" },
    [FLOW_TO_CLIENT] = { "response_started", "response_complete" },
};

unsigned app_hook_count(const struct app_proto *proto, enum flow_direction direction)
{
    unsigned count = 0;

    if (proto->sub_states) {
        while (proto->hooks[direction][count].name)
            count++;
        return count;
    }
    if (!proto->steps[direction])
        return COMMON_HOOKS;
    for (const char *const *step = proto->steps[direction]; *step; step++)
        count += **step != '\0';
    return count;
}

struct app_hook app_get_hook(const struct app_proto *proto, enum flow_direction direction, unsigned index)
{
    const char *const *steps = proto->steps[direction];
    uint8_t progress = 0;

    if (proto->sub_states)
        return proto->hooks[direction][index];
    if (!steps)
        return (struct app_hook){ common_hooks[direction][index],
                                  index == 0 ? 0 : app_complete_progress(proto, direction), 0 };
    for (;; progress++) {
        if (steps[progress][0] != '\0' && index-- == 0)
            return (struct app_hook){ steps[progress], progress, 0 };
    }
}

const char *app_tx_sub_state_name(const struct app_tx *tx)
{
    return tx->sub_state > 0 ? tx->proto->sub_states[tx->sub_state - 1] : NULL;
}

/* Finds a hook by its name. The first and the last hook of each direction have the common names, too. In a protocol
 * with sub-states, these two names without a sub-state denote the hooks of all sub-states. */
static bool find_hook(const char *application, struct span name, struct rule_hook *out)
{
    const struct app_proto *proto = app_proto_by_id(app_id_by_name(application));

    for (enum flow_direction direction = 0; proto && direction < FLOW_DIRECTIONS; direction++) {
        unsigned count = app_hook_count(proto, direction);

        for (unsigned i = 0; i < count; i++) {
            struct app_hook hook = app_get_hook(proto, direction, i);
            const char *common = i == 0 ? common_hooks[direction][0] : i == count - 1 ? common_hooks[direction][1] : "";
            bool is_common = span_equal_nocase(name, common);

            if (!span_equal_nocase(name, hook.name) && !is_common)
                continue;
            *out = (struct rule_hook){ .kind = RULE_HOOK_APP,
                                       .protocol = proto->name,
                                       .name = is_common && hook.sub_state > 0 ? common : hook.name,
                                       .direction = (uint8_t)direction,
                                       .sub_state = is_common ? 0 : hook.sub_state,
                                       .index = (uint8_t)i,
                                       .progress = hook.progress };
            return true;
        }
    }
    return false;
}

static const char *hook_name(const char *application, size_t number)
{
    const struct app_proto *proto = app_proto_by_id(app_id_by_name(application));

    for (enum flow_direction direction = 0; proto && direction < FLOW_DIRECTIONS; direction++) {
        unsigned count = app_hook_count(proto, direction);

        if (number < count)
            return app_get_hook(proto, direction, (unsigned)number).name;
        number -= count;
    }
    return NULL;
}

const struct rule_hook_names app_hook_names = { find_hook, hook_name };

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
