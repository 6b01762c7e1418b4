/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice keywords`: prints the keywords of the rule language, from the table that parses rules. */
#include "cli_priv.h"
#include "table.h"

#include <string.h>

#include "sluice/keyword.h"

enum { OPTION_JSON = 1, ALIASES = 4 };

static const struct cli_option options[] = {
    { .id = OPTION_JSON, .name = "json", .help = "print JSON" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    bool *json = user;

    (void)option;
    (void)value;
    *json = true;
    return 0;
}

static const char *kind_name(enum keyword_kind kind)
{
    static const char *const names[] = {
        [KEYWORD_META] = "meta",         [KEYWORD_PACKET] = "packet",       [KEYWORD_CONTENT] = "content",
        [KEYWORD_MODIFIER] = "modifier", [KEYWORD_BUFFER] = "buffer",       [KEYWORD_TRANSACTION] = "transaction",
        [KEYWORD_FILE] = "file",         [KEYWORD_TRANSFORM] = "transform",
    };

    return names[kind];
}

static const struct keyword *find_keyword(const char *name)
{
    for (size_t i = 0; i < keyword_list_count; i++) {
        const struct keyword *keyword = keyword_list[i];

        if (strcmp(keyword->name, name) == 0)
            return keyword;
        for (size_t k = 0; k < ALIASES && keyword->aliases[k]; k++)
            if (strcmp(keyword->aliases[k], name) == 0)
                return keyword;
    }
    return NULL;
}

static int unknown_keyword(const char *name)
{
    struct keyword_table *table = keyword_table_new(keyword_list, keyword_list_count);
    const char *near = table ? keyword_table_nearest(table, span_of(name)) : NULL;

    if (near)
        cli_error(&command_keywords, "unknown keyword '%s', did you mean '%s'?", name, near);
    else
        cli_error(&command_keywords, "unknown keyword '%s' (`sluice keywords` lists all)", name);
    keyword_table_free(table);
    return EXIT_USAGE;
}

static int print_all(void)
{
    static const struct cli_table_column columns[] = {
        { "KEYWORD", 0 },
        { "VALUE", TABLE_WRAP },
        { "MEANING", TABLE_WRAP },
    };
    struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
    int code;

    for (size_t i = 0; i < keyword_list_count; i++) {
        const struct keyword *keyword = keyword_list[i];

        cli_table_add_row(table);
        cli_table_set(table, 0, "%s", keyword->name);
        cli_table_set(table, 1, "%s", keyword->value ? keyword->value : "");
        cli_table_set(table, 2, "%s", keyword->help);
    }
    code = cli_table_print(table);
    cli_table_free(table);
    return code;
}

static void print_details(const struct keyword *keyword)
{
    printf("%s%s%s%s;\n    %s\n", keyword->name, keyword->value ? ":" : "",
           keyword->flags & KEYWORD_NEGATABLE ? "[!]" : "", keyword->value ? keyword->value : "", keyword->help);
    printf("    kind: %s\n", kind_name(keyword->kind));
    if (keyword->aliases[0])
        printf("    also written:");
    for (size_t i = 0; i < ALIASES && keyword->aliases[i]; i++)
        printf(" %s", keyword->aliases[i]);
    if (keyword->aliases[0])
        putchar('\n');
    if (keyword->manual)
        printf("\n%s\n", keyword->manual);
}

static int print_json(const struct keyword *one)
{
    struct text out;

    text_init(&out);
    json_array_open(&out, NULL);
    for (size_t i = 0; i < keyword_list_count; i++) {
        const struct keyword *keyword = keyword_list[i];

        if (one && keyword != one)
            continue;
        json_object_open(&out, NULL);
        json_string(&out, "name", keyword->name);
        json_array_open(&out, "aliases");
        for (size_t k = 0; k < ALIASES && keyword->aliases[k]; k++)
            json_string(&out, NULL, keyword->aliases[k]);
        json_array_close(&out);
        json_string(&out, "kind", kind_name(keyword->kind));
        json_string(&out, "value", keyword->value);
        json_bool(&out, "value_optional", keyword->flags & KEYWORD_OPTIONAL_VALUE);
        json_bool(&out, "negatable", keyword->flags & KEYWORD_NEGATABLE);
        json_string(&out, "help", keyword->help);
        json_string(&out, "manual", keyword->manual);
        json_object_close(&out);
    }
    json_array_close(&out);
    return cli_write(&out);
}

static int run_keywords(int argc, char **argv)
{
    const struct keyword *one = NULL;
    bool json = false;
    int first, code = cli_parse(&command_keywords, argc, argv, handle_option, &json, NULL, &first);

    if (code >= 0)
        return code;
    if (argc - first > 1) {
        cli_error(&command_keywords, "unexpected argument '%s': name one keyword, or none to list all",
                  argv[first + 1]);
        return EXIT_USAGE;
    }
    if (first < argc) {
        one = find_keyword(argv[first]);
        if (!one)
            return unknown_keyword(argv[first]);
    }
    if (json)
        return print_json(one);
    if (!one)
        return print_all();
    print_details(one);
    return EXIT_OK;
}

const struct command command_keywords = {
    .name = "keywords",
    .usage = "[NAME] [OPTION]...",
    .summary = "List the keywords of the rule language, or describe one of them",
    .options = options,
    .argument = CLI_ARGUMENT_KEYWORD,
    .run = run_keywords,
};
