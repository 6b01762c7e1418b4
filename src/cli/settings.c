/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice settings`: prints the reference of all settings, from the same tables by which configuration files are
 * checked. */
#include "cli_priv.h"

#include <inttypes.h>
#include <string.h>

#include "sluice/daemon.h"

enum { OPTION_JSON = 1, OPTION_MARKDOWN, OPTION_YAML };

enum format { FORMAT_PLAIN, FORMAT_JSON, FORMAT_MARKDOWN, FORMAT_YAML };

static const struct cli_option options[] = {
    { .id = OPTION_JSON, .name = "json", .group = "format", .help = "print JSON" },
    { .id = OPTION_MARKDOWN, .name = "markdown", .group = "format", .help = "print a table in Markdown" },
    { .id = OPTION_YAML,
      .name = "yaml",
      .group = "format",
      .help = "print a configuration file with all settings, commented out" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    enum format *format = user;

    (void)value;
    *format = option->id == OPTION_JSON ? FORMAT_JSON : option->id == OPTION_MARKDOWN ? FORMAT_MARKDOWN : FORMAT_YAML;
    return 0;
}

static const char *default_of(const struct setting *setting, struct text *scratch)
{
    text_reset(scratch);
    if (setting->type == SETTING_SECTION && setting->choices)
        for (const char *const *word = setting->choices; *word; word++)
            text_printf(scratch, "%s%s", word == setting->choices ? "" : ", ", *word);
    else if (setting->default_value)
        text_puts(scratch, setting->default_value);
    else
        return NULL;
    return scratch->failed ? NULL : scratch->bytes;
}

/* --- Output of one setting, one function per format ----------------------------------------------- */

static void plain(struct text *out, const struct setting *setting, struct text *scratch)
{
    const char *value = default_of(setting, scratch);

    text_printf(out, "%s: ", setting->name);
    text_puts(out, value ? value : "(not set)");
    text_puts(out, "\n    ");
    config_describe_values(setting, out);
    text_printf(out, "\n    %s\n", setting->help);
}

static void json(struct text *out, const struct setting *setting, struct text *scratch)
{
    json_object_open(out, NULL);
    json_string(out, "name", setting->name);
    json_string(out, "type", config_type_name(setting));
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
    config_describe_values(setting, out);
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

/* --- The table ------------------------------------------------------------------------------------ */

/* Returns whether `name` selects the setting: "queue" selects all of queue.*; NULL selects all settings. */
static bool is_selected(const struct setting *setting, const char *name)
{
    size_t length = name ? strlen(name) : 0;

    if (!name)
        return true;
    return strncmp(setting->name, name, length) == 0 && (setting->name[length] == '\0' || setting->name[length] == '.');
}

static int unknown_setting(const struct config *config, const char *name)
{
    const struct setting *setting;
    const char *names[1024], *near;
    size_t count = 0;

    while ((setting = config_setting(config, count)) && count < sizeof(names) / sizeof(names[0]))
        names[count++] = setting->name;
    near = text_nearest(name, names, count);
    if (near)
        cli_error(&command_settings, "unknown setting '%s', did you mean '%s'?", name, near);
    else
        cli_error(&command_settings, "unknown setting '%s' (`sluice settings` lists all)", name);
    return EXIT_USAGE;
}

static int print(const struct config *config, enum format format, const char *name)
{
    const struct setting *setting;
    struct text out, scratch;
    bool found = false;

    text_init(&out);
    text_init(&scratch);
    if (formats[format].head)
        text_puts(&out, formats[format].head);
    if (formats[format].before)
        formats[format].before(&out, NULL);
    for (size_t i = 0; (setting = config_setting(config, i)); i++) {
        if (!is_selected(setting, name))
            continue;
        formats[format].each(&out, setting, &scratch);
        found = true;
    }
    if (formats[format].after)
        formats[format].after(&out);
    text_clear(&scratch);
    if (found)
        return cli_write(&out);
    text_clear(&out);
    return unknown_setting(config, name);
}

static int run_settings(int argc, char **argv)
{
    enum format format = FORMAT_PLAIN;
    struct config *config;
    struct text out;
    int first, code = cli_parse(&command_settings, argc, argv, handle_option, &format, NULL, &first);

    if (code >= 0)
        return code;
    if (argc - first > 1) {
        cli_error(&command_settings, "unexpected argument '%s': one setting or section, or none for all",
                  argv[first + 1]);
        return EXIT_USAGE;
    }
    if (format == FORMAT_YAML && first < argc) {
        cli_error(&command_settings, "unexpected argument '%s': --yaml prints all settings", argv[first]);
        return EXIT_USAGE;
    }
    if (daemon_new_config(&config)) {
        cli_error(&command_settings, "out of memory");
        return EXIT_FAILED;
    }
    if (format == FORMAT_YAML) {
        text_init(&out);
        config_print_example(config, &out);
        code = cli_write(&out);
    } else {
        code = print(config, format, first < argc ? argv[first] : NULL);
    }
    config_free(config);
    return code;
}

const struct command command_settings = {
    .name = "settings",
    .usage = "[NAME] [OPTION]...",
    .summary = "Show the settings of the configuration, or those of one section",
    .help = "A `*` in a name stands for a name that you choose.",
    .options = options,
    .argument = CLI_ARGUMENT_SETTING,
    .run = run_settings,
};
