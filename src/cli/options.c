/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses options by a table: its rows define both the arrays for getopt_long() and the text of --help. */
#include "cli_priv.h"

#include <getopt.h>
#include <string.h>

enum { MAX_OPTIONS = 48, FIRST_LONG = 256, HELP_COLUMN = 28, HELP_WIDTH = 100 };

struct tables {
    struct option longs[MAX_OPTIONS + 2];
    char shorts[2 * MAX_OPTIONS + 8];
    size_t count;
};

/* Fills getopt's tables, which also contain --help after the last row. For the long option of row `index` getopt
 * returns FIRST_LONG + index. */
static void make_tables(struct tables *tables, const struct cli_option *options)
{
    char *letter = stpcpy(tables->shorts, ":h");

    for (size_t i = 0; options && options[i].name && i < MAX_OPTIONS; i++) {
        bool has_argument = options[i].argument != NULL;

        tables->longs[i] = (struct option){
            .name = options[i].name,
            .has_arg = has_argument ? required_argument : no_argument,
            .val = FIRST_LONG + (int)i,
        };
        if (options[i].letter) {
            *letter++ = options[i].letter;
            if (has_argument)
                *letter++ = ':';
            *letter = '\0';
        }
        tables->count++;
    }
    tables->longs[tables->count] = (struct option){ .name = "help", .has_arg = no_argument, .val = 'h' };
}

static const struct cli_option *find_row(const struct cli_option *options, const struct tables *tables, int value)
{
    for (size_t i = 0; i < tables->count; i++)
        if (value == FIRST_LONG + (int)i || (options[i].letter && value == options[i].letter))
            return &options[i];
    return NULL;
}

static int unknown_option(const struct command *command, const struct tables *tables, const char *written)
{
    const char *names[MAX_OPTIONS + 1], *near = NULL;
    char name[64] = "";

    if (strncmp(written, "--", 2) == 0 && strlen(written) < sizeof(name)) {
        size_t length = strcspn(written + 2, "=");

        memcpy(name, written + 2, length);
        for (size_t i = 0; i <= tables->count; i++)
            names[i] = tables->longs[i].name;
        near = text_nearest(name, names, tables->count + 1);
    }
    if (near)
        cli_error(command, "unknown option '%s', did you mean '--%s'?", written, near);
    else
        cli_error(command, "unknown option '%s' (`sluice %s --help` lists all)", written, command->name);
    return EXIT_USAGE;
}

/* Prints an error after getopt has returned '?': the option is unknown or ambiguous, or has a value but takes none.
 * Returns EXIT_USAGE. */
static int wrong_option(const struct command *command, const struct tables *tables, char **argv)
{
    const struct cli_option *row = optopt ? find_row(command->options, tables, optopt) : NULL;
    char letter[3] = { '-', (char)optopt, '\0' };

    if (row) {
        cli_error(command, "option '--%s' takes no value", row->name);
        return EXIT_USAGE;
    }
    return unknown_option(command, tables, optopt > 0 && optopt < FIRST_LONG ? letter : argv[optind - 1]);
}

/* Returns whether the option was written in full. getopt also accepts unique abbreviations, which are rejected here: a
 * script that uses one would break when an option is added. */
static bool is_whole_name(const struct option *option, char **argv)
{
    const char *written = option->has_arg && optarg == argv[optind - 1] ? argv[optind - 2] : argv[optind - 1];
    size_t length = strcspn(written, "=");

    return length == strlen(option->name) + 2 && memcmp(written + 2, option->name, length - 2) == 0;
}

/* Returns the option among those given that contradicts `row`, which has the value `value`; NULL: none. `given` has the
 * value of each row that was given. */
static const struct cli_option *find_contradiction(const struct cli_option *options, const struct tables *tables,
                                                   const char *const *given, const struct cli_option *row,
                                                   const char *value)
{
    for (size_t i = 0; i < tables->count; i++) {
        const struct cli_option *other = &options[i];

        if (other == row || !given[i])
            continue;
        if (row->setting && other->setting && strcmp(row->setting, other->setting) == 0 && strcmp(given[i], value) != 0)
            return other;
        if (row->group && other->group && strcmp(row->group, other->group) == 0)
            return other;
    }
    return NULL;
}

int cli_parse(const struct command *command, int argc, char **argv,
              int (*handle)(void *user, const struct cli_option *option, const char *value), void *user,
              struct cli_settings *settings, int *first)
{
    struct tables tables = { .count = 0 };
    const char *given[MAX_OPTIONS] = { NULL };
    int value, err, index = -1;

    make_tables(&tables, command->options);
    optind = 0; /* glibc: resets getopt */
    opterr = 0;
    while ((value = getopt_long(argc, argv, tables.shorts, tables.longs, &index)) != -1) {
        if (index >= 0 && value != '?' && value != ':' && !is_whole_name(&tables.longs[index], argv))
            return unknown_option(command, &tables, argv[optind - (optarg == argv[optind - 1] ? 2 : 1)]);
        index = -1;
        if (value == 'h') {
            cli_print_help(command);
            return EXIT_OK;
        }
        if (value == '?')
            return wrong_option(command, &tables, argv);

        const struct cli_option *row = find_row(command->options, &tables, value == ':' ? optopt : value);

        if (value == ':' || (row->argument && !*optarg)) {
            cli_error(command, "option '--%s' needs a value: %s", row ? row->name : "?", row ? row->argument : "?");
            return EXIT_USAGE;
        }

        const char *text = row->argument ? optarg : row->value ? row->value : "";
        const struct cli_option *other = find_contradiction(command->options, &tables, given, row, text);

        if (other) {
            cli_error(command, "options '--%s' and '--%s' exclude each other", other->name, row->name);
            return EXIT_USAGE;
        }
        given[row - command->options] = text;
        if (!row->setting) {
            err = handle(user, row, optarg);
            if (err)
                return err;
        } else if (settings && cli_settings_add(settings, row, row->setting, text)) {
            cli_error(command, "out of memory");
            return EXIT_FAILED;
        }
    }
    *first = optind;
    return -1;
}

int cli_parse_without_arguments(const struct command *command, int argc, char **argv,
                                int (*handle)(void *user, const struct cli_option *option, const char *value),
                                void *user, struct cli_settings *settings)
{
    int first, code = cli_parse(command, argc, argv, handle, user, settings, &first);

    if (code >= 0 || first >= argc)
        return code;
    cli_error(command, "unexpected argument '%s'", argv[first]);
    return EXIT_USAGE;
}

int cli_number(const struct command *command, const struct cli_option *option, const char *value, unsigned long low,
               unsigned long high, unsigned long *out)
{
    uint64_t number;

    if (!text_to_uint(value, strlen(value), low, high, &number)) {
        cli_error(command, "option '--%s' needs a number from %lu to %lu, got '%s'", option->name, low, high, value);
        return EXIT_USAGE;
    }
    *out = (unsigned long)number;
    return 0;
}

/* --- Help ----------------------------------------------------------------------------------------- */

/* Prints words from `column` on, in lines of at most HELP_WIDTH; the cursor is at `column` already. */
static void print_words(const char *text, int column)
{
    int at = column;

    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " ");

        if (at > column && at + 1 + length > HELP_WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", length, word);
        word += length;
        word += strspn(word, " ");
    }
    putchar('\n');
}

static void print_option(const struct cli_option *option)
{
    char left[64];

    if (option->letter)
        snprintf(left, sizeof(left), "  -%c, --%s%s%s", option->letter, option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
    else
        snprintf(left, sizeof(left), "      --%s%s%s", option->name, option->argument ? " " : "",
                 option->argument ? option->argument : "");
    if (strlen(left) < HELP_COLUMN - 1)
        printf("%-*s", HELP_COLUMN, left);
    else
        printf("%s\n%*s", left, HELP_COLUMN, "");
    print_words(option->help, HELP_COLUMN);
}

void cli_print_help(const struct command *command)
{
    static const struct cli_option help = { .letter = 'h', .name = "help", .help = "show this help" };

    printf("Usage: sluice %s %s\n%s.\n", command->name, command->usage, command->summary);
    if (command->help)
        printf("\n%s\n", command->help);
    puts("\nOptions:");
    for (const struct cli_option *option = command->options; option && option->name; option++)
        print_option(option);
    print_option(&help);
    puts("\nExit codes:");
    for (int code = 0; code <= CLI_MAX_EXIT_CODE; code++) {
        const char *meaning = cli_exit_code(command, code);

        if (meaning) {
            int column = printf("  %d  ", code);

            print_words(meaning, column);
        }
    }
}
