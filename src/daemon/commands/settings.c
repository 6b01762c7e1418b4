/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command conf-get: the value of a setting, as the daemon has read it at its start. */
#include "service.h"

#include "sluice/config.h"
#include "sluice/text.h"

void service_show_setting(void *user, struct control_request *request)
{
    const struct config *config = ((const struct service *)user)->options.config;
    const char *name = control_string(request, "variable");
    struct text value;

    if (!name) {
        control_fail(request, "variable is not a string");
        return;
    }
    text_init(&value);
    switch (config_value_text(config, name, &value)) {
    case CONFIG_VALUE:
        json_stringn(control_answer(request), NULL, value.bytes ? value.bytes : "", value.length);
        break;
    case CONFIG_VALUE_UNSET:
        control_fail(request, "Unable to get value: the setting '%.80s' has no value and no default", name);
        break;
    case CONFIG_VALUE_SECTION:
        control_fail(request, "No string value: '%.80s' is a section; name one of its settings (`sluice settings`)",
                     name);
        break;
    case CONFIG_VALUE_UNKNOWN:
        control_fail(request, "Unable to get value: no setting is named '%.80s' (`sluice settings` lists all)", name);
        break;
    }
    text_clear(&value);
}
