/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice settings`: the configuration reference, from the table that checks it. */
#include "cli_priv.h"

#include <inttypes.h>
#include <string.h>

enum { OPTION_JSON = 1, OPTION_MARKDOWN };

enum format { FORMAT_PLAIN, FORMAT_JSON, FORMAT_MARKDOWN };

static const struct cli_option options[] = {
    { .id = OPTION_JSON, .name = "json", .help = "print JSON" },
    { .id = OPTION_MARKDOWN, .name = "markdown", .help = "print a table in Markdown" },
    { .name = NULL },
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    enum format *format = user;

    (void)value;
    *format = option->id == OPTION_JSON ? FORMAT_JSON : FORMAT_MARKDOWN;
    return 0;
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

static void join(struct text *out, const char *const *words, const char *between)
{
    for (const char *const *word = words; word && *word; word++)
        text_printf(out, "%s%s", word == words ? "" : between, *word);
}

/* The values that a setting may have: "accept, drop", "1 to 255", "text". */
static void describe_values(struct text *out, const struct setting *setting)
{
    bool bounded = setting->low != 0 || setting->high != 0;

    if (setting->choices && (setting->type == SETTING_ENUM || setting->type == SETTING_LIST)) {
        text_puts(out, setting->type == SETTING_LIST ? "list of " : "");
        join(out, setting->choices, ", ");
    } else if (bounded) {
        text_printf(out, "%s %" PRId64 " to %" PRId64, type_name(setting->type), setting->low, setting->high);
    } else {
        text_puts(out, type_name(setting->type));
    }
}

static const char *default_of(const struct setting *setting, struct text *scratch)
{
    text_reset(scratch);
    if (setting->type == SETTING_SECTION && setting->choices)
        join(scratch, setting->choices, ", ");
    else if (setting->default_value)
        text_puts(scratch, setting->default_value);
    else
        return NULL;
    return scratch->failed ? NULL : scratch->bytes;
}

/* --- One setting in each format -------------------------------------------------------------------------------------------- */

static void plain(struct text *out, const struct setting *setting, struct text *scratch)
{
    const char *value = default_of(setting, scratch);

    text_printf(out, "%s: ", setting->name);
    text_puts(out, value ? value : "(not set)");
    text_puts(out, "\n    ");
    describe_values(out, setting);
    text_printf(out, "\n    %s\n", setting->help);
}

static void json(struct text *out, const struct setting *setting, struct text *scratch)
{
    json_object_open(out, NULL);
    json_string(out, "name", setting->name);
    json_string(out, "type", type_name(setting->type));
    json_string(out, "default", default_of(setting, scratch));
    if (setting->low != 0 || setting->high != 0) {
        json_int(out, "low", setting->low);
        json_int(out, "high", setting->high);
    }
    if (setting->choices && setting->type != SETTING_SECTION) {
        json_array_open(out, "choices");
        for (const char *const *choice = setting->choices; *choice; choice++)
            json_string(out, NULL, *choice);
        json_array_close(out);
    }
    json_string(out, "help", setting->help);
    json_string(out, "warning", setting->warning);
    json_object_close(out);
}

static void markdown(struct text *out, const struct setting *setting, struct text *scratch)
{
    const char *value = default_of(setting, scratch);

    text_printf(out, "| `%s` | ", setting->name);
    if (value)
        text_printf(out, "`%s`", value);
    text_puts(out, " | ");
    describe_values(out, setting);
    text_printf(out, " | %s |\n", setting->help);
}

static const struct {
    void (*before)(struct text *out, const char *key);
    void (*each)(struct text *out, const struct setting *setting, struct text *scratch);
    void (*after)(struct text *out);
    const char *head;
} formats[] = {
    [FORMAT_PLAIN] = { .each = plain },
    [FORMAT_JSON] = { .before = json_array_open, .each = json, .after = json_array_close },
    [FORMAT_MARKDOWN] = { .each = markdown, .head = "| setting | default | values | meaning |\n|---|---|---|---|\n" },
};

/* --- The table -------------------------------------------------------------------------------------------------------------- */

/* A setting and what lies below it: "queue" is all of queue.*. */
static bool is_wanted(const struct setting *setting, const char *name)
{
    size_t length = name ? strlen(name) : 0;

    if (!name)
        return true;
    return strncmp(setting->name, name, length) == 0 && (setting->name[length] == '\0' || setting->name[length] == '.');
}

static int unknown_setting(const char *name)
{
    const char *names[512];
    size_t count = 0;

    for (const struct setting *row = config_settings; row->name && count < sizeof(names) / sizeof(names[0]); row++)
        names[count++] = row->name;

    const char *near = text_nearest(name, names, count);

    if (near)
        cli_error(&command_settings, "unknown setting '%s', did you mean '%s'?", name, near);
    else
        cli_error(&command_settings, "unknown setting '%s' (`sluice settings` lists all)", name);
    return EXIT_USAGE;
}

static int print(enum format format, const char *name)
{
    struct text out, scratch;
    bool found = false;

    text_init(&out);
    text_init(&scratch);
    if (formats[format].head)
        text_puts(&out, formats[format].head);
    if (formats[format].before)
        formats[format].before(&out, NULL);
    for (const struct setting *row = config_settings; row->name; row++) {
        if (!is_wanted(row, name))
            continue;
        formats[format].each(&out, row, &scratch);
        found = true;
    }
    if (formats[format].after)
        formats[format].after(&out);
    text_clear(&scratch);
    if (found)
        return cli_write(&out);
    text_clear(&out);
    return unknown_setting(name);
}

static int run(int argc, char **argv)
{
    enum format format = FORMAT_PLAIN;
    int first, code = cli_parse(&command_settings, argc, argv, take_option, &format, NULL, &first);

    if (code >= 0)
        return code;
    if (argc - first > 1) {
        cli_error(&command_settings, "unexpected argument '%s': one setting or section, or none for all",
                  argv[first + 1]);
        return EXIT_USAGE;
    }
    return print(format, first < argc ? argv[first] : NULL);
}

const struct command command_settings = {
    .name = "settings",
    .usage = "[NAME] [OPTION]...",
    .summary = "The settings of the configuration, or those of one section",
    .help = "A `*` in a name stands for a name of your own.",
    .options = options,
    .run = run,
};
