/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The example configuration: for each setting its help text and a commented line (`#`) with its default. Names are full
 * paths with dots, so that a line has the same meaning at any place in the file.
 *
 * Removing the `#` from all these lines does not change the configuration, as a test verifies. A line that would change
 * it begins with `##`: any setting of a section that is off by default would enable the section, and the user chooses
 * the name of a setting with a `*`. Settings that Sluice accepts but ignores are left out.
 */
#include "config_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 110 };

/* --- Text ----------------------------------------------------------------------------------------- */

/* Writes text as YAML comments, in lines of at most WIDTH characters. */
static void put_comment(struct text *out, const char *words)
{
    size_t column = 0;

    while (*words) {
        size_t length = strcspn(words, " ");

        if (column > 0 && column + 1 + length > WIDTH) {
            text_puts(out, "\n");
            column = 0;
        }
        text_puts(out, column == 0 ? "# " : " ");
        column += column == 0 ? 2 : 1;
        text_append(out, words, length);
        column += length;
        words += length + (words[length] == ' ');
    }
    text_puts(out, "\n");
}

static const char *type_name(enum setting_type type)
{
    static const char *const names[] = {
        [SETTING_BOOL] = "yes or no",  [SETTING_NUMBER] = "number",       [SETTING_SIZE] = "size",
        [SETTING_STRING] = "text",     [SETTING_ENUM] = "choice",         [SETTING_PATH] = "path",
        [SETTING_LIST] = "list",       [SETTING_PATHS] = "list of paths", [SETTING_VARIABLE] = "rule variable",
        [SETTING_SECTION] = "section", [SETTING_ANY] = "anything",
    };

    return names[type];
}

const char *config_type_name(const struct setting *setting)
{
    return type_name(setting->type);
}

/* Writes a size in the largest unit of which it is a multiple. */
static void put_size(struct text *out, int64_t bytes)
{
    static const char *const units[] = { "", " KiB", " MiB", " GiB", " TiB" };
    size_t unit = 0;

    while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        bytes /= 1024;
        unit++;
    }
    text_printf(out, "%" PRId64 "%s", bytes, units[unit]);
}

void config_describe_values(const struct setting *setting, struct text *out)
{
    bool bounded = setting->low != 0 || setting->high != 0;

    if (setting->choices && (setting->type == SETTING_ENUM || setting->type == SETTING_LIST)) {
        text_puts(out, setting->type == SETTING_LIST ? "list of " : "");
        for (const char *const *choice = setting->choices; *choice; choice++)
            text_printf(out, "%s%s", choice == setting->choices ? "" : ", ", *choice);
    } else if (bounded && setting->type == SETTING_SIZE) {
        text_puts(out, "size ");
        put_size(out, setting->low);
        text_puts(out, " to ");
        put_size(out, setting->high);
    } else if (bounded) {
        text_printf(out, "%s %" PRId64 " to %" PRId64, type_name(setting->type), setting->low, setting->high);
    } else {
        text_puts(out, type_name(setting->type));
    }
}

static void put_help(struct text *out, const struct setting *setting)
{
    struct text words;

    text_init(&words);
    text_puts(&words, setting->help);
    if (setting->type != SETTING_SECTION) {
        text_puts(&words, " [");
        config_describe_values(setting, &words);
        text_puts(&words, "]");
    }
    if (words.failed)
        out->failed = true;
    else
        put_comment(out, words.bytes);
    text_clear(&words);
}

/* --- Settings ------------------------------------------------------------------------------------- */

/* Writes the name of a setting, with NAME in place of `*`. */
static void put_name(struct text *out, const char *name)
{
    for (; *name; name++)
        text_printf(out, "%.*s", *name == '*' ? 4 : 1, *name == '*' ? "NAME" : name);
}

static void put_value(struct text *out, const struct schema_row *row)
{
    const struct node readable = { .kind = NODE_SCALAR, .value = row->setting->default_value };

    if (!row->default_node)
        return;
    text_puts(out, " ");
    config_write_value(out, row->setting->type == SETTING_SIZE ? &readable : row->default_node);
}

static void put_variables(struct text *out, const struct config *config, enum config_variable_kind kind,
                          const char *section)
{
    struct config_variable variable;

    for (size_t i = 0; config_variable(config, kind, i, &variable); i++) {
        const struct node value = { .kind = NODE_SCALAR, .value = variable.value };

        text_printf(out, "#%s.%s: ", section, variable.name);
        config_write_value(out, &value);
        text_puts(out, "\n");
    }
}

/* Writes a line for each default member of a section. Skips members that have a row of their own. */
static void put_members(struct text *out, const struct config *config, const struct setting *section)
{
    char path[CONFIG_MAX_PATH];

    for (const char *const *member = section->choices; *member; member++) {
        const struct schema_row *own;

        snprintf(path, sizeof(path), "%s.%s", section->name, *member);
        own = schema_find(config, path);
        if (!own || strcmp(own->setting->name, path) != 0)
            text_printf(out, "#%s: {}\n", path);
    }
}

static void put_row(struct text *out, const struct config *config, const struct schema_row *row)
{
    const struct setting *setting = row->setting;
    const char *name = setting->name;

    put_help(out, setting);
    if (strcmp(name, "vars.address-groups.*") == 0) {
        put_variables(out, config, CONFIG_ADDRESS_VARIABLE, "vars.address-groups");
        return;
    }
    if (strcmp(name, "vars.port-groups.*") == 0) {
        put_variables(out, config, CONFIG_PORT_VARIABLE, "vars.port-groups");
        return;
    }
    if (setting->type == SETTING_SECTION && setting->choices) {
        put_members(out, config, setting);
        return;
    }
    bool is_section = setting->type == SETTING_SECTION;
    bool changes_something = strchr(name, '*') || !config_is_within_sections(config, name) ||
                             (is_section && !config_has_section(config, name));

    text_puts(out, changes_something ? "##" : "#");
    put_name(out, name);
    text_puts(out, ":");
    if (is_section)
        text_puts(out, " {}");
    else
        put_value(out, row);
    text_puts(out, "\n");
}

void config_print_example(const struct config *config, struct text *out)
{
    const char *before = "";

    for (size_t i = 0; i < config->row_count; i++) {
        const char *name = config->rows[i].setting->name;
        size_t length = strcspn(name, ".");

        if (config->rows[i].setting->type == SETTING_ANY || config->rows[i].setting->warning)
            continue; /* the setting is accepted but has no effect */
        if (strncmp(name, before, length) != 0 || strcspn(before, ".") != length)
            text_puts(out, "\n");
        put_row(out, config, &config->rows[i]);
        before = name;
    }
}
