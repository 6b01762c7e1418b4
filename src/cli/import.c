/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice import`: converts a suricata.yaml to a sluice.yaml, and reports what became of each key.
 *
 * The file is written under another name and then linked or renamed, so that nobody reads a part of it, and that a
 * failure changes nothing. It is written only if it passes the checks of `sluice check`.
 */
#include "cli_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/config_import.h"
#include "sluice/daemon.h"
#include "sluice/setup.h"

enum { OPTION_OUTPUT = 1, OPTION_FORCE, OPTION_KEEP_PLACES, OPTION_JSON };

struct arguments {
    const char *input, *output;
    struct import_options import;
    bool force, json;
};

static const struct cli_option options[] = {
    { .id = OPTION_OUTPUT,
      .letter = 'o',
      .name = "output",
      .argument = "FILE",
      .help = "write the configuration to this file (default: sluice.yaml in the working directory); -: to stdout, and "
              "the report to stderr" },
    { .id = OPTION_FORCE, .name = "force", .help = "replace the file if it exists" },
    { .id = OPTION_KEEP_PLACES,
      .name = "keep-places",
      .help = "keep the log folder, pid file, control socket, cache folder and user of Suricata; by default those of "
              "sluice.service are used, which may not write elsewhere" },
    { .id = OPTION_JSON, .name = "json", .help = "print the report as JSON" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_OUTPUT:
        arguments->output = value;
        break;
    case OPTION_FORCE:
        arguments->force = true;
        break;
    case OPTION_KEEP_PLACES:
        arguments->import.keep_places = true;
        break;
    default:
        arguments->json = true;
        break;
    }
    return 0;
}

/* --- Report --------------------------------------------------------------------------------------- */

static const char *const titles[IMPORT_GROUPS] = {
    [IMPORT_TAKEN] = "taken",
    [IMPORT_IMPLIED] = "implied: Sluice does this without a setting, or the key has no effect",
    [IMPORT_MISSING] = "no counterpart, and what to do instead",
    [IMPORT_REPLACED] = "replaced: the input sets the key again",
    [IMPORT_UNKNOWN] = "unknown: neither a setting of Suricata nor of Sluice",
};

static void print_key(FILE *to, const struct import_key *key)
{
    fprintf(to, "  %s:%" PRIu32 ": %s", key->at.file, key->at.line, key->path);
    if (key->value[0])
        fprintf(to, ": %s", key->value);
    if (key->setting)
        fprintf(to, " -> %s", key->setting);
    else if (key->group == IMPORT_TAKEN || key->group == IMPORT_REPLACED)
        fprintf(to, " (%s)", key->text);
    fputc('\n', to);
}

/* Prints the keys of a group. In groups that explain each key by a text, keys with the same text follow it together. */
static void print_group(FILE *to, const struct import *import, enum import_group group, bool *printed)
{
    const bool by_text = group == IMPORT_IMPLIED || group == IMPORT_MISSING;
    const struct import_key *key, *other;

    if (import_count(import, group) == 0)
        return;
    fprintf(to, "%s (%zu)\n", titles[group], import_count(import, group));
    for (size_t i = 0; (key = import_key(import, i)); i++) {
        if (key->group != group || printed[i])
            continue;
        if (!by_text) {
            print_key(to, key);
            continue;
        }
        fprintf(to, " %s\n", key->text);
        for (size_t k = i; (other = import_key(import, k)); k++) {
            if (other->group != group || strcmp(other->text, key->text) != 0)
                continue;
            print_key(to, other);
            printed[k] = true;
        }
    }
}

static void print_counts(FILE *to, const struct arguments *arguments, const struct import *import)
{
    size_t all = 0;

    for (enum import_group group = 0; group < IMPORT_GROUPS; group++)
        all += import_count(import, group);
    fprintf(to, "%s: %zu keys:", arguments->input, all);
    for (enum import_group group = 0; group < IMPORT_GROUPS; group++)
        if (import_count(import, group) > 0 || group < IMPORT_REPLACED)
            fprintf(to, "%s %zu %s", group == 0 ? "" : ",", import_count(import, group), import_group_name(group));
    fputc('\n', to);
    if (strcmp(arguments->output, "-") == 0)
        return;
    fprintf(
        to,
        "wrote %s; check it with `sluice check --config %s`. It cannot contain what Suricata has on its command "
        "line:\nthe queues (-q: queue.numbers, default 0). Your queue rules may stay, or nft.attach: after installs "
        "some.\n",
        arguments->output, arguments->output);
}

static int print_text(FILE *to, const struct arguments *arguments, const struct import *import)
{
    size_t count = 0;
    bool *printed;

    while (import_key(import, count))
        count++;
    printed = calloc(count + 1, sizeof(*printed));
    if (!printed)
        return EXIT_FAILED;
    for (enum import_group group = 0; group < IMPORT_GROUPS; group++)
        print_group(to, import, group, printed);
    free(printed);
    print_counts(to, arguments, import);
    return EXIT_OK;
}

static int print_json(FILE *to, const struct arguments *arguments, const struct import *import)
{
    const struct import_key *key;
    struct text out;
    int code;

    text_init(&out);
    json_object_open(&out, NULL);
    json_string(&out, "input", arguments->input);
    json_string(&out, "output", arguments->output);
    json_object_open(&out, "counts");
    for (enum import_group group = 0; group < IMPORT_GROUPS; group++)
        json_uint(&out, import_group_name(group), import_count(import, group));
    json_object_close(&out);
    json_array_open(&out, "keys");
    for (size_t i = 0; (key = import_key(import, i)); i++) {
        json_object_open(&out, NULL);
        json_string(&out, "key", key->path);
        json_string(&out, "value", key->value);
        json_string(&out, "file", key->at.file);
        json_uint(&out, "line", key->at.line);
        json_string(&out, "group", import_group_name(key->group));
        json_string(&out, "setting", key->setting);
        json_string(&out, "text", key->text);
        json_object_close(&out);
    }
    json_array_close(&out);
    json_object_close(&out);
    code = out.failed || fprintf(to, "%s\n", out.bytes) < 0 ? EXIT_FAILED : EXIT_OK;
    text_clear(&out);
    return code;
}

/* --- Output --------------------------------------------------------------------------------------- */

/* Returns whether the output may be written; prints why not. */
static bool may_write(const struct arguments *arguments)
{
    struct stat status;

    if (strcmp(arguments->output, "-") == 0 || lstat(arguments->output, &status) != 0)
        return true;
    if (!S_ISREG(status.st_mode))
        cli_error(&command_import, "'%s' is no regular file; name another one with --output", arguments->output);
    else if (!arguments->force)
        cli_error(&command_import, "'%s' exists; name another file with --output, or replace it with --force",
                  arguments->output);
    return S_ISREG(status.st_mode) && arguments->force;
}

static int write_all(int fd, const struct text *text)
{
    for (size_t done = 0; done < text->length;) {
        ssize_t written = write(fd, text->bytes + done, text->length - done);

        if (written < 0 && errno != EINTR)
            return -errno;
        done += written > 0 ? (size_t)written : 0;
    }
    return fsync(fd) && errno != EINVAL ? -errno : 0;
}

static int write_file(const struct arguments *arguments, const struct text *text)
{
    char temporary[PATH_MAX];
    mode_t mask = umask(0);
    int fd, err = 0;

    umask(mask);
    if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", arguments->output) >= (int)sizeof(temporary)) {
        cli_error(&command_import, "cannot write '%s': %s", arguments->output, strerror(ENAMETOOLONG));
        return EXIT_FAILED;
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        cli_error(&command_import, "cannot write '%s': %s", arguments->output, strerror(errno));
        return EXIT_FAILED;
    }
    err = write_all(fd, text);
    if (!err && fchmod(fd, 0644 & ~mask))
        err = -errno;
    if (close(fd) && !err)
        err = -errno;
    /* link() fails if the file has been created in the meantime; rename() replaces it. */
    if (!err && (arguments->force ? rename(temporary, arguments->output) : link(temporary, arguments->output)))
        err = -errno;
    if (err || !arguments->force)
        unlink(temporary);
    if (err)
        cli_error(&command_import, "cannot write '%s': %s", arguments->output, strerror(-err));
    return err ? EXIT_FAILED : EXIT_OK;
}

/* Checks that the output is read without mistakes, and that its settings fit together. */
static int check_output(const struct text *text)
{
    struct diag *diag = diag_new();
    struct config *config = NULL;
    int code = EXIT_FAILED;

    if (diag && daemon_new_config(&config) == 0 &&
        config_parse(config, "sluice.yaml", text->bytes, text->length, CONFIG_STRICT, diag) == 0) {
        setup_check_conflicts(config, diag);
        code = diag_errors(diag) > 0 ? EXIT_FAILED : EXIT_OK;
        cli_print_brief(diag);
    }
    if (code)
        cli_error(&command_import, "nothing written: the settings above do not fit together; change them in the input");
    config_free(config);
    diag_free(diag);
    return code;
}

static int import_file(const struct arguments *arguments)
{
    const bool to_stdout = strcmp(arguments->output, "-") == 0;
    struct diag *diag = diag_new();
    struct config *config = NULL;
    struct import *import = NULL;
    struct text text;
    int code = EXIT_FAILED, err = -ENOMEM;

    text_init(&text);
    if (diag && daemon_new_config(&config) == 0)
        err = import_read(&import, config, arguments->input, &arguments->import, diag);
    for (size_t i = 0; diag && i < diag_count(diag); i++)
        diag_print_entry(diag_get(diag, i), stderr, isatty(STDERR_FILENO));
    if (err == -ENOMEM)
        cli_error(&command_import, "out of memory");
    if (err)
        goto free_all;
    text_printf(&text, "# Written by `sluice import`. The comments name the keys of suricata.yaml.\n"
                       "# `sluice settings` shows all settings; `sluice check` checks this file.\n");
    import_print(import, &text);
    if (text.failed) {
        cli_error(&command_import, "out of memory");
        goto free_all;
    }
    code = check_output(&text);
    if (!code && to_stdout)
        code = fwrite(text.bytes, 1, text.length, stdout) == text.length ? EXIT_OK : EXIT_FAILED;
    else if (!code)
        code = write_file(arguments, &text);
    if (!code)
        code = (arguments->json ? print_json : print_text)(to_stdout ? stderr : stdout, arguments, import);

free_all:
    text_clear(&text);
    import_free(import);
    config_free(config);
    diag_free(diag);
    return code;
}

static int run_import(int argc, char **argv)
{
    struct arguments arguments = { .output = "sluice.yaml" };
    int first, code = cli_parse(&command_import, argc, argv, handle_option, &arguments, NULL, &first);

    if (code >= 0)
        return code;
    if (first >= argc) {
        cli_error(&command_import, "no file to import: name a suricata.yaml");
        return EXIT_USAGE;
    }
    if (first + 1 < argc) {
        cli_error(&command_import,
                  "unexpected argument '%s': one suricata.yaml; the files that it includes are read, too",
                  argv[first + 1]);
        return EXIT_USAGE;
    }
    arguments.input = argv[first];
    return may_write(&arguments) ? import_file(&arguments) : EXIT_FAILED;
}

const struct command command_import = {
    .name = "import",
    .usage = "SURICATA.YAML [OPTION]...",
    .summary = "Convert the configuration of Suricata to one of Sluice",
    .help =
        "Writes a sluice.yaml, and reports each key of the input once: taken (with the setting that has its value),\n"
        "implied, without a counterpart (with what to do instead), replaced by a later key, or unknown. Files that\n"
        "the input includes are read.",
    .options = options,
    .argument = CLI_ARGUMENT_FILES,
    .run = run_import,
};
