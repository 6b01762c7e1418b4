/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice update`: downloads the rules with suricata-update, tests them, puts them in place, and reloads the daemon.
 *
 * Until the test has succeeded nothing changes. If the daemon rejects the rules, the previous files are put back and
 * loaded, so that a later start does not fail either. If a run is interrupted, the file update/reload-pending
 * tells the next run that the daemon may still use the previous rules.
 *
 * Run as root, the command changes to the user of the daemon first: downloads are parsed without privileges, and the
 * files belong to the user for whom sluice-update.service runs.
 */
#include "update_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query.h"
#include "rule_test.h"
#include "sluice/daemon.h"
#include "sluice/folder.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/sandbox.h"
#include "sluice/setup.h"

enum {
    OPTION_PROGRAM = QUERY_OPTION_OWN,
    OPTION_DRY_RUN,
    OPTION_NO_RELOAD,
    OPTION_OFFLINE,
    OPTION_FORCE,
    OPTION_TIMEOUT
};

enum { EXIT_SOURCES = 3 };
enum { RELOAD_SECONDS = 1800, DEFAULT_TIMEOUT = 900, MAX_TIMEOUT = 86400, MAX_MISTAKES = 10, MAX_DATA_DIR = 256 };

static const char *const source_commands[] = {
    "list-sources",  "list-enabled-sources", "update-sources",
    "enable-source", "disable-source",       "add-source",
    "remove-source", "check-versions",       NULL,
};

enum outcome { OUTCOME_UPDATED, OUTCOME_UNCHANGED, OUTCOME_TESTED, OUTCOME_ROLLED_BACK };
static const char *const outcome_names[] = { "updated", "unchanged", "tested", "rolled-back" };

struct arguments {
    struct query query;
    struct update update;
    const char *program;
    bool dry_run, no_reload;
};

struct report {
    enum outcome outcome;
    struct rule_test before, after;
    struct rule_changes changes;
    struct diag *diag;
    bool loaded; /* the daemon has loaded the rules */
    int64_t generation;
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .name = "data-dir",
      .argument = "DIR",
      .setting = "data-dir",
      .help = "folder of rules/ and update/ (default: data-dir of the configuration)" },
    { .id = OPTION_PROGRAM, .name = "program", .argument = "FILE", .help = "the program suricata-update" },
    { .id = OPTION_DRY_RUN,
      .letter = 'n',
      .name = "dry-run",
      .help = "download and test the rules, but do not use them" },
    { .id = OPTION_NO_RELOAD, .name = "no-reload", .help = "put the rules in place, but do not reload the daemon" },
    { .id = OPTION_OFFLINE, .name = "offline", .help = "use the downloads of earlier runs" },
    { .id = OPTION_FORCE,
      .name = "force",
      .help = "download again what is less than 15 minutes old, and accept less than half of the rules" },
    { .id = OPTION_TIMEOUT,
      .name = "timeout",
      .argument = "SECONDS",
      .help = "end suricata-update after this time (1 to 86400; default 900)" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_PROGRAM:
        arguments->program = value;
        break;
    case OPTION_DRY_RUN:
        arguments->dry_run = true;
        break;
    case OPTION_NO_RELOAD:
        arguments->no_reload = true;
        break;
    case OPTION_OFFLINE:
        arguments->update.offline = true;
        break;
    case OPTION_FORCE:
        arguments->update.force = true;
        break;
    case OPTION_TIMEOUT:
        return cli_number(&command_update, option, value, 1, MAX_TIMEOUT, &arguments->update.timeout);
    default:
        return query_handle_option(&arguments->query, option, value);
    }
    return 0;
}

/* --- Preparation ---------------------------------------------------------------------------------- */

/* Writes a configuration of suricata-update that keeps it from reading the rules of an installed Suricata: it names a
 * folder without rules as the folder of Suricata's rules. */
static int write_yaml(const char *path, const char *folder)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return -errno;
    fprintf(file, "dist-rule-directory: '%s'\n", folder);
    return fclose(file) ? -errno : 0;
}

/* Creates the link sluice-suricata-compat to this program, and the configurations of suricata-update. */
static int make_work_folder(struct update *update)
{
    char path[UPDATE_PATH_SIZE], self[UPDATE_PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int err = update_remove_tree(update->work);

    if (!err)
        err = folder_create(update->work);
    if (!err)
        err = folder_create(update->good);
    if (!err && length < 0)
        err = -errno;
    if (err)
        return err;
    self[length] = '\0';
    if (symlink(self, update->compat))
        return -errno;
    /* suricata-update writes temporary files there: it needs no /tmp, and leaves no files in /tmp if it is killed. */
    setenv("TMPDIR", update->work, 1);
    update_path(path, update->work, "alone.yaml");
    err = write_yaml(path, update->work);
    update_path(update->yaml, update->conf_dir, "update.yaml");
    if (!err && access(update->yaml, F_OK) != 0) {
        update_path(update->yaml, update->work, "update.yaml");
        err = write_yaml(update->yaml, update->work);
    }
    return err;
}

/* As root: creates the folders for the daemon's user, and changes to that user. */
static int change_user(const struct update *update, const struct config *config, char error[SANDBOX_ERROR_SIZE])
{
    struct daemon_options daemon = { .user = NULL };
    struct sandbox_user user;
    int err;

    config_fill(config, daemon_settings, NULL, &daemon);
    if (geteuid() != 0 || (daemon.sandbox == SETTING_NO && !daemon.user && !daemon.group))
        return 0;
    err = sandbox_find_user(&user, daemon.user, daemon.group, error);
    if (err || !user.change)
        return err;
    if (folder_create_for_owner(update->live, user.uid, user.gid) ||
        folder_create_for_owner(update->state, user.uid, user.gid)) {
        snprintf(error, SANDBOX_ERROR_SIZE, "cannot create folders in %.100s: %s", update->data, strerror(errno));
        return -errno;
    }
    err = sandbox_change_user(&user, error);
    return err ? err : sandbox_drop_capabilities();
}

/* Fills the paths, changes the user, takes the lock and makes the folders. Returns 0 or an exit code after a message.
 */
static int prepare(struct arguments *arguments, const struct config *config)
{
    struct update *update = &arguments->update;
    const char *file = update->config_file, *slash = strrchr(file, '/'), *data;
    char real[PATH_MAX];
    char lock[UPDATE_PATH_SIZE], error[SANDBOX_ERROR_SIZE] = "";
    struct rules_options rules;
    int fd, err, code;

    config_fill(config, rules_settings, NULL, &rules);
    data = realpath(rules.datasets.data_dir, real) ? real : rules.datasets.data_dir;
    if (strlen(data) > MAX_DATA_DIR) {
        cli_error(&command_update, "data-dir has more than %d characters: %s", MAX_DATA_DIR, data);
        return EXIT_FAILED;
    }
    strcpy(update->data, data);
    if (slash)
        snprintf(update->conf_dir, UPDATE_PATH_SIZE, "%.*s", (int)(slash - file), file);
    else
        strcpy(update->conf_dir, ".");
    update_path(update->live, update->data, "rules");
    update_path(update->state, update->data, "update");
    update_path(update->cache, update->state, "cache");
    update_path(update->good, update->state, "good");
    update_path(update->previous, update->state, "previous");
    update_path(update->work, update->state, "work");
    update_path(update->pending, update->state, "reload-pending");
    update_path(update->staging, update->work, "new");
    update_path(update->compat, update->work, "sluice-suricata-compat");
    update_path(update->log, update->work, "log");
    update_path(lock, update->state, "lock");
    umask(027);
    err = change_user(update, config, error);
    if (err) {
        cli_error(&command_update, "cannot change to the user of the daemon: %s", error[0] ? error : strerror(-err));
        return EXIT_FAILED;
    }
    /* after the change of the user, who has to execute it, and before anything is created */
    code = update_find_program(update, arguments->program);
    if (code)
        return code;
    err = folder_create(update->live);
    if (!err)
        err = folder_create(update->state);
    fd = err ? -1 : open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (!err && fd < 0)
        err = -errno;
    if (!err && flock(fd, LOCK_EX | LOCK_NB)) {
        cli_error(&command_update, "another `sluice update` is running (%s is locked)", lock);
        return EXIT_FAILED;
    }
    if (!err)
        err = make_work_folder(update);
    if (err) {
        cli_error(&command_update, "cannot write to %s: %s; run the command as root or as the user of the daemon",
                  update->state, strerror(-err));
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

/* --- Test ----------------------------------------------------------------------------------------- */

static bool same_file(const char *one, const char *other)
{
    char a[PATH_MAX], b[PATH_MAX];

    return strcmp(one, other) == 0 || (realpath(one, a) && realpath(other, b) && strcmp(a, b) == 0);
}

/* Adds the path as an absolute one, because a relative path would refer to default-rule-path. */
static void add_path(struct text *yaml, const char *path)
{
    char absolute[PATH_MAX];

    json_string(yaml, NULL, realpath(path, absolute) ? absolute : path);
}

/* Replaces the rule file of the update by the staged one in rule-files of the configuration. Adds it if rule-files does
 * not name it, and sets *named to false. Returns 0 or -errno. */
static int use_staged_rules(const struct update *update, struct config *config, bool *named, struct diag *diag)
{
    char live[UPDATE_PATH_SIZE], staged[UPDATE_PATH_SIZE];
    struct rules_options rules;
    struct text yaml;
    int err;

    update_path(live, update->live, UPDATE_RULE_FILE);
    update_path(staged, update->staging, UPDATE_RULE_FILE);
    config_fill(config, rules_settings, NULL, &rules);
    text_init(&yaml);
    text_puts(&yaml, "rule-files: ");
    json_array_open(&yaml, NULL);
    *named = false;
    for (const char *const *path = rules.files; *path; path++) {
        bool pattern = setup_is_pattern(*path);
        glob_t found = { .gl_pathc = 0 };

        if (pattern && glob(*path, 0, NULL, &found) == 0) {
            for (size_t i = 0; i < found.gl_pathc; i++)
                if (!same_file(found.gl_pathv[i], live))
                    add_path(&yaml, found.gl_pathv[i]);
        }
        globfree(&found);
        if (pattern ? fnmatch(*path, live, FNM_PATHNAME) == 0 : same_file(*path, live)) {
            add_path(&yaml, staged);
            *named = true;
        } else if (!pattern) {
            add_path(&yaml, *path);
        }
    }
    if (!*named)
        json_string(&yaml, NULL, staged);
    json_array_close(&yaml);
    err = yaml.failed ? -ENOMEM : config_parse(config, "sluice update", yaml.bytes, yaml.length, CONFIG_STRICT, diag);
    text_clear(&yaml);
    return err;
}

/* Prints the first mistakes. Names the installed file instead of the staged one, because both have the same lines. */
static void print_mistakes(const struct update *update, const struct diag *diag)
{
    char live[UPDATE_PATH_SIZE], staged[UPDATE_PATH_SIZE];
    size_t shown = 0;

    update_path(live, update->live, UPDATE_RULE_FILE);
    update_path(staged, update->staging, UPDATE_RULE_FILE);
    for (size_t i = 0; i < diag_count(diag); i++) {
        struct diag_entry entry = *diag_get(diag, i);

        if (entry.severity != DIAG_ERROR || shown++ >= MAX_MISTAKES)
            continue;
        if (entry.file && strcmp(entry.file, staged) == 0)
            entry.file = live;
        diag_print_entry(&entry, stderr, isatty(STDERR_FILENO));
    }
    if (shown > MAX_MISTAKES)
        fprintf(stderr, "... and %zu more mistakes (`sluice check` shows all)\n", shown - MAX_MISTAKES);
}

/* Tests the staged rules with the configuration, and compares them with the installed rules. Returns 0, or an exit code
 * after a message. */
static int test_rules(const struct update *update, struct config *config, struct report *report)
{
    struct diag *unused = diag_new();
    bool named;
    int err = unused ? rule_test_run(&report->before, config, NULL, 0, false, unused) : -ENOMEM;

    diag_free(unused);
    if (!err)
        err = use_staged_rules(update, config, &named, report->diag);
    if (!err && !named)
        cli_error(&command_update,
                  "the daemon does not load the rules yet: add %s/" UPDATE_RULE_FILE " to rule-files in %s",
                  update->live, update->config_file);
    if (!err)
        err = rule_test_run(&report->after, config, NULL, 0, true, report->diag);
    print_mistakes(update, report->diag);
    if (err) {
        cli_error(&command_update, "the new rules cannot be loaded: %s; the rules are unchanged",
                  err == -ENOMEM ? "out of memory" : "see the errors above");
        return EXIT_FAILED;
    }
    report->changes = rule_test_compare(&report->before, &report->after);
    if (report->after.loaded == 0 || (report->after.loaded < report->before.loaded / 2 && !update->force)) {
        cli_error(&command_update,
                  "only %zu of the %zu new rules can be loaded, %zu are in use; the rules are unchanged%s",
                  report->after.loaded, report->after.read, report->before.loaded,
                  report->after.loaded > 0 ? " (--force accepts the new ones)" : "");
        return EXIT_FAILED;
    }
    return 0;
}

/* --- Reload --------------------------------------------------------------------------------------- */

/* Makes the daemon load the installed rules. Returns 0 if it has loaded them, 1 if no daemon runs, or -errno with a
 * line in `error` if it has loaded nothing. */
static int reload(const struct config *config, struct report *report, char error[CONTROL_ERROR_SIZE])
{
    static const char request_text[] = "{\"command\":\"reload\"}";
    char path[CONTROL_PATH_SIZE];
    struct control_options control;
    struct control_reply reply;
    struct text request;
    bool needed;
    int err;

    if (!daemon_control_options(config, path, &control, &needed)) {
        snprintf(error, CONTROL_ERROR_SIZE,
                 "the control socket is off (unix-command.enabled): set it to auto, or use "
                 "--no-reload");
        return -ENOTCONN;
    }
    text_init(&request);
    text_puts(&request, request_text);
    err = control_send_request(path, &request, RELOAD_SECONDS, &reply, error);
    text_clear(&request);
    if (err == -ENOENT || err == -ECONNREFUSED)
        return 1;
    if (err)
        return err;
    report->loaded = true;
    report->generation = query_number(reply.message, "generation");
    control_value_free(reply.whole);
    return 0;
}

/* Puts the staged files in place and reloads the daemon; puts the previous ones back if that fails. Returns 0, or an
 * exit code after a message. */
static int install(struct arguments *arguments, const struct config *config, struct report *report)
{
    struct update *update = &arguments->update;
    char error[CONTROL_ERROR_SIZE];
    struct report unused = { .loaded = false };
    int fd = open(update->pending, O_WRONLY | O_CREAT | O_CLOEXEC, 0640), err = fd < 0 ? -errno : 0, result;

    if (fd >= 0)
        close(fd);
    if (!err)
        err = update_swap(update);
    if (err) {
        cli_error(&command_update, "cannot put the new files into %s: %s; the rules are unchanged", update->live,
                  strerror(-err));
        return EXIT_FAILED;
    }
    result = arguments->no_reload ? 1 : reload(config, report, error);
    if (result >= 0) {
        if (!arguments->no_reload && result > 0)
            cli_error(&command_update, "no daemon runs; it loads the rules at its next start");
        if (update_remove_tree(update->previous) || rename(update->staging, update->previous))
            cli_error(&command_update, "cannot keep the previous rules in %s: %s", update->previous, strerror(errno));
        unlink(update->pending);
        update_swap_finish(update);
        return 0;
    }
    report->outcome = OUTCOME_ROLLED_BACK;
    err = update_swap_back(update);
    if (err) {
        cli_error(&command_update,
                  "the reload failed: %s; and the previous files cannot be put back into %s: %s; copy "
                  "them from %s",
                  error, update->live, strerror(-err), update->staging);
        return EXIT_FAILED;
    }
    cli_error(&command_update, "the reload failed, the previous rules are back in place: %s", error);
    result = reload(config, &unused, error);
    if (result < 0)
        cli_error(&command_update,
                  "the daemon keeps the rules that it has loaded; it could not load the previous files "
                  "again: %s",
                  error);
    unlink(update->pending);
    return EXIT_FAILED;
}

/* --- Summary -------------------------------------------------------------------------------------- */

static void print_tag(const char *tag, size_t count, void *user)
{
    size_t *tags = user;

    if ((*tags)++ == 0)
        puts("rules left out because of unsupported features:");
    printf("%8zu  %s\n", count, tag);
}

static void json_tag(const char *tag, size_t count, void *user)
{
    struct text *out = user;

    json_object_open(out, NULL);
    json_string(out, "keyword", tag);
    json_uint(out, "count", count);
    json_object_close(out);
}

static int print_report(const struct arguments *arguments, const struct report *report)
{
    const struct rule_test *after = &report->after;
    const struct rule_changes *changes = &report->changes;
    size_t tags = 0;
    struct text out;

    if (arguments->query.json) {
        text_init(&out);
        json_object_open(&out, NULL);
        json_string(&out, "result", outcome_names[report->outcome]);
        json_bool(&out, "reloaded", report->loaded);
        if (report->loaded)
            json_int(&out, "generation", report->generation);
        json_uint(&out, "rules_added", changes->added);
        json_uint(&out, "rules_removed", changes->removed);
        json_uint(&out, "rules_changed", changes->changed);
        json_uint(&out, "rules_loaded", after->loaded);
        json_uint(&out, "rules_failed", after->failed);
        json_uint(&out, "rules_skipped", after->skipped);
        json_uint(&out, "rules_unmet", after->unmet);
        json_uint(&out, "source_problems", arguments->update.source_problems);
        json_array_open(&out, "unsupported");
        diag_each_tag(report->diag, DIAG_UNSUPPORTED, json_tag, &out);
        json_array_close(&out);
        json_object_close(&out);
        return cli_write(&out);
    }
    diag_each_tag(report->diag, DIAG_UNSUPPORTED, print_tag, &tags);
    if (report->outcome == OUTCOME_UNCHANGED)
        fputs("no changes: ", stdout);
    else
        printf("%s: %zu rules added, %zu removed, %zu changed; ",
               report->outcome == OUTCOME_TESTED        ? "tested, not in use"
               : report->outcome == OUTCOME_ROLLED_BACK ? "rolled back"
                                                        : "updated",
               changes->added, changes->removed, changes->changed);
    printf("%zu loaded, %zu failed, %zu skipped", after->loaded, after->failed, after->skipped);
    if (after->unmet > 0)
        printf(" (%zu for other versions)", after->unmet);
    if (report->loaded)
        printf(" (generation %" PRId64 ")", report->generation);
    putchar('\n');
    return EXIT_OK;
}

/* --- The command ---------------------------------------------------------------------------------- */

/* Checks disable.conf, enable.conf, drop.conf and modify.conf before the download: suricata-update skips a line that it
 * does not understand, so that a rule which should be off would stay on. Returns an exit code. */
static int check_rule_lists(const struct update *update)
{
    static const char *const names[] = { "disable.conf", "enable.conf", "drop.conf", "modify.conf" };
    enum { LISTS = sizeof(names) / sizeof(names[0]) };
    char paths[LISTS][UPDATE_PATH_SIZE];
    const char *files[LISTS];
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_list_options list_options = { .keywords = keywords };
    struct rule_list *list = NULL;
    struct diag *diag = diag_new();
    int code = EXIT_OK;

    for (size_t i = 0; i < LISTS; i++) {
        update_path(paths[i], update->conf_dir, names[i]);
        files[i] = access(paths[i], F_OK) == 0 ? paths[i] : NULL;
    }
    list_options.policy = (struct rule_policy_files){ files[0], files[1], files[2], files[3], NULL };
    if (!keywords || !diag || rule_list_new(&list, &list_options, diag)) {
        cli_error(&command_update, "out of memory");
        code = EXIT_FAILED;
    } else if (diag_errors(diag) > 0) {
        cli_print_brief(diag);
        cli_error(&command_update, "nothing was downloaded, and the rules are unchanged");
        code = EXIT_FAILED;
    }
    rule_list_free(list);
    keyword_table_free(keywords);
    diag_free(diag);
    return code;
}

static int update_rules(struct arguments *arguments, struct config *config)
{
    struct update *update = &arguments->update;
    struct report report = { .outcome = OUTCOME_UPDATED, .diag = diag_new() };
    char staged[UPDATE_PATH_SIZE];
    int code = report.diag ? update_download(update) : EXIT_FAILED;
    bool use = false;

    update_path(staged, update->staging, UPDATE_RULE_FILE);
    if (!code && access(staged, R_OK) != 0) {
        cli_error(&command_update, "suricata-update wrote no %s; the rules are unchanged", UPDATE_RULE_FILE);
        code = EXIT_FAILED;
    }
    if (!code)
        code = test_rules(update, config, &report);
    if (!code) {
        bool same = update_same_tree(update->staging, update->live), pending = access(update->pending, F_OK) == 0;

        use = !arguments->dry_run && (!same || pending);
        report.outcome = same && !pending ? OUTCOME_UNCHANGED : use ? OUTCOME_UPDATED : OUTCOME_TESTED;
        if (use)
            code = install(arguments, config, &report);
        if (!code || report.outcome == OUTCOME_ROLLED_BACK) {
            int printed = print_report(arguments, &report);

            code = code ? code : printed;
        }
    }
    update_keep_downloads(update, !code && !arguments->dry_run);
    update_remove_tree(update->work);
    if (!code && update->source_problems > 0)
        code = EXIT_SOURCES;
    rule_test_clear(&report.before);
    rule_test_clear(&report.after);
    diag_free(report.diag);
    return code;
}

static int run_update(int argc, char **argv)
{
    struct arguments *arguments = calloc(1, sizeof(*arguments));
    struct config *config = NULL;
    size_t command = 0;
    int code, first;

    if (!arguments || query_init(&arguments->query, &command_update, argc)) {
        free(arguments);
        return EXIT_FAILED;
    }
    struct update *update = &arguments->update;
    struct query *query = &arguments->query;

    update->command = &command_update;
    update->timeout = DEFAULT_TIMEOUT;
    code = cli_parse(&command_update, argc, argv, handle_option, arguments, &query->input.settings, &first);
    if (code >= 0)
        goto free_arguments;
    while (first < argc && source_commands[command] && strcmp(argv[first], source_commands[command]) != 0)
        command++;
    if (!source_commands[command]) {
        cli_error(&command_update, "unknown argument '%s' (`sluice update --help` lists the commands about sources)",
                  argv[first]);
        code = EXIT_USAGE;
        goto free_arguments;
    }
    code = cli_load_sound_config(&query->input, CONFIG_STRICT, CLI_DEFAULT_CONFIG,
                                 "correct them first, because the daemon would not reload", &config);
    if (code)
        goto free_arguments;
    update->config_file = query->input.config_file ? query->input.config_file : CLI_DEFAULT_CONFIG;
    code = prepare(arguments, config);
    if (!code && first == argc)
        code = check_rule_lists(update);
    if (!code)
        code = first < argc ? update_exec(update, argc - first, argv + first) : update_rules(arguments, config);
    config_free(config);

free_arguments:
    query_clear(query);
    free(arguments);
    return code;
}

const struct command command_update = {
    .name = "update",
    .usage = "[OPTION]... [SOURCE-COMMAND [ARGUMENT]...]",
    .summary = "Update the rules with suricata-update, and reload the daemon",
    .help =
        "Downloads the rules of the enabled sources, applies update.yaml, disable.conf, enable.conf, drop.conf and "
        "modify.conf\n"
        "beside the configuration file, tests the result, puts it into data-dir/rules and reloads the daemon. When the "
        "test\n"
        "or the reload fails, the previous rules stay in use. A source that cannot be downloaded, or whose download "
        "has "
        "no\n"
        "rules, keeps its previous rules. rule-files must name data-dir/rules/suricata.rules. As root the command runs "
        "as "
        "the\n"
        "user of the daemon.\n"
        "Source commands are passed to suricata-update: list-sources, list-enabled-sources, update-sources,\n"
        "enable-source NAME, disable-source NAME, add-source NAME URL, remove-source NAME; `--` before options for "
        "them.",
    .options = options,
    .argument = CLI_ARGUMENT_WORDS,
    .words = source_commands,
    .run = run_update,
};
