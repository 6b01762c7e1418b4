/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores rule variables by name. A later definition of a name replaces an earlier one. Names are stored without the
 * `$`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rule_priv.h"

struct rule_variables {
    struct arena *arena;
    struct map values[2]; /* indexed by enum variable_kind; name -> value (char *) */
};

struct rule_variables *rule_variables_new(void)
{
    struct rule_variables *variables = calloc(1, sizeof(*variables));

    if (!variables)
        return NULL;
    variables->arena = arena_new(4096);
    if (!variables->arena) {
        free(variables);
        return NULL;
    }
    return variables;
}

void rule_variables_free(struct rule_variables *variables)
{
    if (!variables)
        return;
    map_clear(&variables->values[VARIABLE_ADDRESS]);
    map_clear(&variables->values[VARIABLE_PORT]);
    arena_free(variables->arena);
    free(variables);
}

static int set_variable(struct rule_variables *variables, enum variable_kind kind, const char *name, const char *value)
{
    name += name[0] == '$';
    if (name[0] == '\0')
        return -EINVAL;

    char *key = arena_strdup(variables->arena, name);
    char *copy = arena_strdup(variables->arena, value);

    if (!key || !copy)
        return -ENOMEM;
    return map_put(&variables->values[kind], span_of(key), copy);
}

int rule_variables_set_address(struct rule_variables *variables, const char *name, const char *value)
{
    return set_variable(variables, VARIABLE_ADDRESS, name, value);
}

int rule_variables_set_port(struct rule_variables *variables, const char *name, const char *value)
{
    return set_variable(variables, VARIABLE_PORT, name, value);
}

const char *rule_variables_find(const struct rule_variables *variables, enum variable_kind kind, struct span name)
{
    return variables ? map_get(&variables->values[kind], name) : NULL;
}
