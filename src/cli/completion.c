/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice completion`: prints the completion script of a shell. It contains all words, from the tables of commands,
 * options, settings and keywords, so that a completion does not run the program.
 */
#include "cli_priv.h"

#include <string.h>

#include "sluice/daemon.h"
#include "sluice/keyword.h"

/* Kind of words that complete an argument, or the value of an option. */
enum completed { COMPLETE_NOTHING, COMPLETE_FILES, COMPLETE_FOLDERS, COMPLETE_WORDS, COMPLETE_ASSIGNMENTS };

struct completion {
    enum completed kind;
    struct text words; /* COMPLETE_WORDS: separated by spaces */
};

struct script {
    struct text out;
    const struct config *config; /* source of the names of settings */
};

static void add_word(struct text *words, const char *word)
{
    text_printf(words, "%s%s", words->length > 0 ? " " : "", word);
}

static const struct setting *find_setting(const struct config *config, const char *name)
{
    const struct setting *setting;

    for (size_t i = 0; (setting = config_setting(config, i)); i++)
        if (strcmp(setting->name, name) == 0)
            return setting;
    return NULL;
}

/* Adds the names of all settings without a wildcard (`queues.*.mark`), each followed by `suffix`. */
static void add_settings(struct text *words, const struct config *config, const char *suffix)
{
    const struct setting *setting;

    for (size_t i = 0; (setting = config_setting(config, i)); i++)
        if (!strchr(setting->name, '*'))
            text_printf(words, "%s%s%s", words->length > 0 ? " " : "", setting->name, suffix);
}

/* Finds what completes the value of an option; the caller frees out->words. */
static void complete_option(const struct script *script, const struct cli_option *option, struct completion *out)
{
    const struct setting *setting = option->setting ? find_setting(script->config, option->setting) : NULL;

    text_init(&out->words);
    out->kind = COMPLETE_NOTHING;
    if (strcmp(option->argument, "FILE") == 0)
        out->kind = COMPLETE_FILES;
    else if (strcmp(option->argument, "DIR") == 0)
        out->kind = COMPLETE_FOLDERS;
    else if (strcmp(option->argument, "NAME=VALUE") == 0)
        out->kind = COMPLETE_ASSIGNMENTS;
    if (!setting || !setting->choices)
        return;
    out->kind = COMPLETE_WORDS;
    for (const char *const *choice = setting->choices; *choice; choice++)
        add_word(&out->words, *choice);
}

/* Finds what completes the arguments of a command; the caller frees out->words. */
static void complete_argument(const struct script *script, const struct command *command, struct completion *out)
{
    text_init(&out->words);
    out->kind = command->argument == CLI_ARGUMENT_FILES  ? COMPLETE_FILES
                : command->argument == CLI_ARGUMENT_NONE ? COMPLETE_NOTHING
                                                         : COMPLETE_WORDS;
    for (const char *const *word = command->words; word && *word; word++)
        add_word(&out->words, *word);
    if (command->argument == CLI_ARGUMENT_SETTING)
        add_settings(&out->words, script->config, "");
    for (size_t i = 0; command->argument == CLI_ARGUMENT_KEYWORD && i < keyword_list_count; i++)
        add_word(&out->words, keyword_list[i]->name);
}

/* Writes a help text up to its first semicolon or bracket, with a backslash before each character of `special`. */
static void put_summary(struct text *out, const char *help, const char *special)
{
    size_t length = strcspn(help, ";");
    const char *bracket = strstr(help, " (");

    if (bracket && (size_t)(bracket - help) < length)
        length = (size_t)(bracket - help);
    for (size_t i = 0; i < length; i++) {
        if (strchr(special, help[i]))
            text_puts(out, "\\");
        text_append(out, &help[i], 1);
    }
}

/* --- bash ----------------------------------------------------------------------------------------- */

static void bash_command(struct script *script, const struct command *command)
{
    struct text *out = &script->out;
    struct completion completion;

    for (const struct cli_option *option = command->options; option && option->name; option++) {
        if (!option->argument)
            continue;
        complete_option(script, option, &completion);
        text_printf(out, "\t%s:--%s", command->name, option->name);
        if (option->letter)
            text_printf(out, "|%s:-%c", command->name, option->letter);
        text_puts(out, ") ");
        if (completion.kind == COMPLETE_FILES)
            text_puts(out, "_sluice_files -f");
        else if (completion.kind == COMPLETE_FOLDERS)
            text_puts(out, "_sluice_files -d");
        else if (completion.kind == COMPLETE_WORDS)
            text_printf(out, "_sluice_words '%s'", completion.words.bytes);
        else if (completion.kind == COMPLETE_ASSIGNMENTS)
            text_puts(out, "_sluice_assignments");
        text_puts(out, completion.kind == COMPLETE_NOTHING ? "return ;;\n" : "; return ;;\n");
        text_clear(&completion.words);
    }
    text_printf(out, "\t%s:*) options='", command->name);
    for (const struct cli_option *option = command->options; option && option->name; option++)
        text_printf(out, "--%s ", option->name);
    text_puts(out, "--help'");
    complete_argument(script, command, &completion);
    if (completion.kind == COMPLETE_FILES)
        text_puts(out, " files=1");
    else if (completion.kind == COMPLETE_WORDS)
        text_printf(out, " words='%s'", completion.words.bytes);
    text_puts(out, " ;;\n");
    text_clear(&completion.words);
}

static void print_bash(struct script *script)
{
    struct text *out = &script->out;

    text_puts(out, "# bash completion for sluice(8). Generated by `sluice completion bash`.\n\n"
                   "_sluice_files() {\n"
                   "\tcompopt -o filenames\n"
                   "\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$current\")\n"
                   "}\n\n"
                   "_sluice_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$current\"); }\n\n"
                   "_sluice_assignments() {\n"
                   "\tcompopt -o nospace\n"
                   "\t_sluice_words '");
    add_settings(out, script->config, "=");
    text_puts(out, "'\n"
                   "}\n\n"
                   "_sluice() {\n"
                   "\tlocal current=$2 previous=$3 options= words= files=\n"
                   "\tCOMPREPLY=()\n"
                   "\t# bash splits --option=value into three words.\n"
                   "\tif [ \"$current\" = = ]; then\n"
                   "\t\tcurrent=\n"
                   "\telif [ \"$previous\" = = ]; then\n"
                   "\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]}\n"
                   "\tfi\n"
                   "\tif [ \"$COMP_CWORD\" = 1 ]; then\n"
                   "\t\t_sluice_words '");
    for (const struct command *const *command = cli_commands; *command; command++)
        text_printf(out, "%s ", (*command)->name);
    text_puts(out, "help --help --version'\n"
                   "\t\treturn\n"
                   "\tfi\n"
                   "\tcase ${COMP_WORDS[1]}:$previous in\n");
    for (const struct command *const *command = cli_commands; *command; command++)
        bash_command(script, *command);
    text_puts(out, "\thelp:*) words='");
    for (const struct command *const *command = cli_commands; *command; command++)
        text_printf(out, "%s%s", command == cli_commands ? "" : " ", (*command)->name);
    text_puts(out, "' ;;\n"
                   "\tesac\n"
                   "\tif [[ $current == -* ]]; then\n"
                   "\t\t_sluice_words \"$options\"\n"
                   "\telif [ -n \"$files\" ]; then\n"
                   "\t\t_sluice_files -f\n"
                   "\telif [ -n \"$words\" ]; then\n"
                   "\t\t_sluice_words \"$words\"\n"
                   "\tfi\n"
                   "}\n"
                   "complete -F _sluice sluice\n");
}

/* --- zsh ------------------------------------------------------------------------------------------ */

/* Writes an action of _arguments. */
static void zsh_action(struct text *out, const struct completion *completion)
{
    if (completion->kind == COMPLETE_FILES)
        text_puts(out, "_files");
    else if (completion->kind == COMPLETE_FOLDERS)
        text_puts(out, "_files -/");
    else if (completion->kind == COMPLETE_WORDS)
        text_printf(out, "(%s)", completion->words.bytes);
    else if (completion->kind == COMPLETE_ASSIGNMENTS)
        text_puts(out, "_sluice_assignments");
    else
        text_puts(out, " ");
}

static void zsh_command(struct script *script, const struct command *command)
{
    struct text *out = &script->out;
    struct completion completion;

    text_printf(out, "\t%s) _arguments -S", command->name);
    for (const struct cli_option *option = command->options; option && option->name; option++) {
        /* '*' allows an option to be given again, as --set can be */
        const char *equals = option->argument ? "=" : ""; /* the value may also follow a = */

        if (option->letter)
            text_printf(out, " \\\n\t\t'*'{-%c,--%s%s}'[", option->letter, option->name, equals);
        else
            text_printf(out, " \\\n\t\t'*--%s%s[", option->name, equals);
        put_summary(out, option->help, "[]:\\");
        text_puts(out, "]");
        if (option->argument) {
            complete_option(script, option, &completion);
            text_printf(out, ":%s:", option->argument);
            zsh_action(out, &completion);
            text_clear(&completion.words);
        }
        text_puts(out, "'");
    }
    text_puts(out, " \\\n\t\t'--help[Show the help of the command]'");
    complete_argument(script, command, &completion);
    if (completion.kind != COMPLETE_NOTHING) {
        text_puts(out, " \\\n\t\t'*:argument:");
        zsh_action(out, &completion);
        text_puts(out, "'");
    }
    text_puts(out, " ;;\n");
    text_clear(&completion.words);
}

static void print_zsh(struct script *script)
{
    struct text *out = &script->out;

    text_puts(out, "#compdef sluice\n"
                   "# zsh completion for sluice(8). Generated by `sluice completion zsh`.\n\n"
                   "_sluice_assignments() {\n"
                   "\tcompadd -S '' -- ");
    add_settings(out, script->config, "=");
    text_puts(out, "\n}\n\n"
                   "_sluice() {\n"
                   "\tlocal -a commands=(\n");
    for (const struct command *const *command = cli_commands; *command; command++) {
        text_printf(out, "\t\t'%s:", (*command)->name);
        put_summary(out, (*command)->summary, ":\\");
        text_puts(out, "'\n");
    }
    text_puts(out, "\t\t'help:Show the help of a command'\n"
                   "\t)\n"
                   "\tif (( CURRENT == 2 )); then\n"
                   "\t\t_describe command commands\n"
                   "\t\treturn\n"
                   "\tfi\n"
                   "\tlocal command=$words[2]\n"
                   "\tshift words\n"
                   "\t(( CURRENT-- ))\n"
                   "\tcase $command in\n");
    for (const struct command *const *command = cli_commands; *command; command++)
        zsh_command(script, *command);
    text_puts(out, "\thelp) _describe command commands ;;\n"
                   "\tesac\n"
                   "}\n"
                   "_sluice \"$@\"\n");
}

/* --- fish ----------------------------------------------------------------------------------------- */

static void fish_values(struct text *out, const struct completion *completion)
{
    if (completion->kind == COMPLETE_FILES)
        text_puts(out, " -F");
    else if (completion->kind == COMPLETE_FOLDERS)
        text_puts(out, " -a '(__fish_complete_directories)'");
    else if (completion->kind == COMPLETE_WORDS)
        text_printf(out, " -a '%s'", completion->words.bytes);
    else if (completion->kind == COMPLETE_ASSIGNMENTS)
        text_puts(out, " -a \"$__sluice_assignments\"");
}

static void fish_command(struct script *script, const struct command *command)
{
    struct text *out = &script->out;
    struct completion completion;

    text_printf(out, "complete -c sluice -n __fish_use_subcommand -a %s -d '", command->name);
    put_summary(out, command->summary, "'\\");
    text_puts(out, "'\n");
    for (const struct cli_option *option = command->options; option && option->name; option++) {
        text_printf(out, "complete -c sluice -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
        if (option->letter)
            text_printf(out, " -s %c", option->letter);
        if (option->argument) {
            complete_option(script, option, &completion);
            text_puts(out, completion.kind == COMPLETE_FILES ? " -r" : " -x");
            fish_values(out, &completion);
            text_clear(&completion.words);
        }
        text_puts(out, " -d '");
        put_summary(out, option->help, "'\\");
        text_puts(out, "'\n");
    }
    complete_argument(script, command, &completion);
    if (completion.kind != COMPLETE_NOTHING) {
        text_printf(out, "complete -c sluice -n '__fish_seen_subcommand_from %s'", command->name);
        fish_values(out, &completion);
        text_puts(out, "\n");
    }
    text_clear(&completion.words);
}

static void print_fish(struct script *script)
{
    struct text *out = &script->out;

    text_puts(out, "# fish completion for sluice(8). Generated by `sluice completion fish`.\n\n"
                   "set -g __sluice_assignments '");
    add_settings(out, script->config, "=");
    text_puts(out, "'\n"
                   "complete -c sluice -f\n"
                   "complete -c sluice -n __fish_use_subcommand -l version -d 'Show the version'\n"
                   "complete -c sluice -l help -s h -d 'Show the help'\n");
    for (const struct command *const *command = cli_commands; *command; command++)
        fish_command(script, *command);
}

/* --- The command ---------------------------------------------------------------------------------- */

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

static int run_completion(int argc, char **argv)
{
    static void (*const printers[])(struct script *) = { print_bash, print_zsh, print_fish };
    const struct cli_actions known = { shells, sizeof(printers) / sizeof(printers[0]) };
    struct script script;
    struct config *config;
    size_t shell;
    int first, code = cli_parse(&command_completion, argc, argv, NULL, NULL, NULL, &first);

    if (code >= 0)
        return code;
    code = cli_find_action(&command_completion, &known, first < argc ? argv[first] : NULL, &shell);
    if (code)
        return code;
    if (argc - first > 1) {
        cli_error(&command_completion, "unexpected argument '%s'", argv[first + 1]);
        return EXIT_USAGE;
    }
    if (daemon_new_config(&config)) {
        cli_error(&command_completion, "out of memory");
        return EXIT_FAILED;
    }
    text_init(&script.out);
    script.config = config;
    printers[shell](&script);
    config_free(config);
    return cli_write(&script.out);
}

const struct command command_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .summary = "Print the completion script for bash, zsh or fish",
    .help = "The Debian package and `cmake --install` install these scripts. To install one yourself, save it as\n"
            "/usr/local/share/bash-completion/completions/sluice (bash), _sluice in a folder of $fpath (zsh) or\n"
            "/etc/fish/completions/sluice.fish (fish), and again after each upgrade.",
    .argument = CLI_ARGUMENT_WORDS,
    .words = shells,
    .run = run_completion,
};
