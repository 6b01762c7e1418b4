/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of protocols, by name and by id. */
#include <string.h>
#include <strings.h>

#include "app_priv.h"

static bool is_called(const struct app_proto *proto, const char *name)
{
    if (strcasecmp(proto->name, name) == 0)
        return true;
    for (const char *const *word = proto->words; word && *word; word++) {
        if (strcasecmp(*word, name) == 0)
            return true;
    }
    return false;
}

unsigned app_find(const char *name)
{
    for (size_t i = 0; i < app_list_count; i++) {
        if (is_called(app_list[i], name))
            return (unsigned)i + 1;
    }
    return 0;
}

const struct app_proto *app_by_id(unsigned id)
{
    return id > 0 && id <= app_list_count ? app_list[id - 1] : NULL;
}

const char *app_name_of_id(unsigned id)
{
    const struct app_proto *proto = app_by_id(id);

    if (id == APP_FAILED)
        return "failed";
    return proto ? proto->name : NULL;
}
