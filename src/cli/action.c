/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the action of a command, which is its first argument, such as `print` in `sluice nft print`. */
#include "cli_priv.h"

#include <string.h>

enum { LIST_SIZE = 256 };

/* Writes the names of all actions to `out`, as in "print, install or remove", and returns `out`. */
static const char *list_of(const struct cli_actions *actions, char out[LIST_SIZE])
{
    size_t length = 0;

    out[0] = '\0';
    for (size_t i = 0; i < actions->count && length < LIST_SIZE; i++) {
        const char *between = i == 0 ? "" : i + 1 < actions->count ? ", " : " or ";

        length += (size_t)snprintf(out + length, LIST_SIZE - length, "%s%s", between, actions->names[i]);
    }
    return out;
}

int cli_find_action(const struct command *command, const struct cli_actions *actions, const char *name, size_t *found)
{
    char list[LIST_SIZE];
    const char *near;

    if (!name) {
        cli_error(command, "name an action: %s", list_of(actions, list));
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < actions->count; i++) {
        if (strcmp(actions->names[i], name) == 0) {
            *found = i;
            return EXIT_OK;
        }
    }
    near = text_nearest(name, actions->names, actions->count);
    if (near)
        cli_error(command, "unknown action '%s', did you mean '%s'?", name, near);
    else
        cli_error(command, "unknown action '%s': %s", name, list_of(actions, list));
    return EXIT_USAGE;
}
