/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs suricata-update. If the download of one source is interrupted, suricata-update ends and writes no rules at all.
 * If a server sends an error page, suricata-update reads it as a source without rules. This file isolates such a
 * source, so that the gateway still gets the newest rules of all other sources:
 *
 *   - After an interrupted download, the next run skips the source. suricata-update does not download a source
 *     again within 15 minutes, so the source's file in the cache gets the current time. If there is no file, an
 *     empty one is created.
 *   - Each new download is read by suricata-update alone, which counts its rules. A download without rules, or with
 *     less than half of the rules of the last good download, is replaced in the cache by the last good download, and
 *     suricata-update runs again.
 */
#include "update_priv.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/md5.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 64, MS_PER_SECOND = 1000, DAY_SECONDS = 24 * 60 * 60, HASH_DIGITS = 2 * MD5_DIGEST_SIZE };
enum { NOT_STARTED = 127 }; /* exit code of a child that could not execute the program */

static const char fetching[] = " -- Fetching ", done[] = "<Info> -- Done.", error_mark[] = "<Error> -- ",
                  warning_mark[] = "<Warning> -- ";

/* --- The program ---------------------------------------------------------------------------------- */

int update_find_program(struct update *update, const char *path)
{
    static const char name[] = "suricata-update", folders[] = "/usr/local/bin:/usr/bin:/opt/pipx/bin";
    const char *lists[] = { getenv("PATH"), folders }, *home = getenv("HOME");

    if (path) {
        struct stat status;
        int err = strlen(path) >= UPDATE_PATH_SIZE            ? ENAMETOOLONG
                  : access(path, X_OK) || stat(path, &status) ? errno
                  : S_ISDIR(status.st_mode)                   ? EISDIR
                                                              : 0;

        if (err) {
            cli_error(update->command, "cannot run '%s': %s; name suricata-update with --program", path, strerror(err));
            return EXIT_FAILED;
        }
        snprintf(update->program, UPDATE_PATH_SIZE, "%s", path);
        return 0;
    }
    for (size_t i = 0; i < 2; i++) {
        struct span rest = span_of(lists[i] ? lists[i] : ""), folder;

        while (span_next(&rest, ':', &folder)) {
            if (folder.length == 0 || folder.length > UPDATE_PATH_SIZE / 2)
                continue;
            snprintf(update->program, UPDATE_PATH_SIZE, SPAN_FORMAT "/%s", SPAN_ARGS(folder), name);
            if (access(update->program, X_OK) == 0)
                return 0;
        }
    }
    snprintf(update->program, UPDATE_PATH_SIZE, "%.*s/.local/bin/%s", UPDATE_PATH_SIZE / 2, home ? home : "", name);
    if (home && access(update->program, X_OK) == 0)
        return 0;
    cli_error(update->command,
              "suricata-update is not installed, or user %s cannot run it: install it with "
              "`apt install suricata-update` or `PIPX_BIN_DIR=/usr/local/bin PIPX_HOME=/opt/pipx pipx "
              "install suricata-update`, or name it with --program",
              geteuid() == 0 ? "root" : "of the daemon");
    return EXIT_FAILED;
}

/* Runs a program with its output in update->log. Returns its exit code, 128 + the signal that ended it, or -errno;
 * -ETIMEDOUT after killing it. */
static int run(const struct update *update, char *const *argv)
{
    int log = open(update->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640), status = 0, err = 0, fd;
    pid_t pid;

    if (log < 0)
        return -errno;
    pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY);

        dup2(null, STDIN_FILENO);
        dup2(log, STDOUT_FILENO);
        dup2(log, STDERR_FILENO);
        execv(argv[0], argv);
        dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
        _exit(NOT_STARTED);
    }
    close(log);
    if (pid < 0)
        return -errno;
    fd = pidfd_open(pid, 0);
    if (fd < 0)
        err = -errno;
    while (!err) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        int ready = poll(&wait, 1, (int)update->timeout * MS_PER_SECOND);

        if (ready > 0)
            break;
        if (ready == 0 || errno != EINTR)
            err = ready == 0 ? -ETIMEDOUT : -errno;
    }
    if (err)
        kill(pid, SIGKILL);
    if (fd >= 0)
        close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (err)
        return err;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct arguments {
    char *at[MAX_ARGUMENTS];
    size_t count;
};

static void add(struct arguments *arguments, const char *word)
{
    if (arguments->count < MAX_ARGUMENTS - 1)
        arguments->at[arguments->count++] = (char *)(uintptr_t)word;
    arguments->at[arguments->count] = NULL;
}

static void add_pair(struct arguments *arguments, const char *option, const char *value)
{
    add(arguments, option);
    add(arguments, value);
}

/* Adds the arguments of all runs. /dev/null replaces a file that does not exist: otherwise suricata-update would read
 * the file of this name of an installed Suricata. */
static void add_common(struct arguments *arguments, const struct update *update, const char *data, const char *output,
                       const char *suricata_conf)
{
    add(arguments, update->program);
    add_pair(arguments, "--data-dir", data);
    add_pair(arguments, "--config", update->yaml);
    add_pair(arguments, "--suricata", update->compat);
    add_pair(arguments, "--suricata-conf", suricata_conf);
    add_pair(arguments, "--output", output);
    add(arguments, "--no-test");
    add(arguments, "--no-reload");
}

static int run_download(const struct update *update)
{
    static const char *const lists[] = { "disable", "enable", "drop", "modify" };
    char options[4][32], files[4][UPDATE_PATH_SIZE];
    struct arguments arguments = { .count = 0 };

    add_common(&arguments, update, update->data, update->staging, update->config_file);
    for (size_t i = 0; i < 4; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%s.conf", lists[i]);
        snprintf(options[i], sizeof(options[i]), "--%s-conf", lists[i]);
        update_path(files[i], update->conf_dir, name);
        add_pair(&arguments, options[i], access(files[i], F_OK) == 0 ? files[i] : "/dev/null");
    }
    if (update->offline)
        add(&arguments, "--offline");
    update_remove_tree(update->staging);
    return run(update, arguments.at);
}

/* --- Its log -------------------------------------------------------------------------------------- */

/* Returns the next line of the log, without the line feed; NULL after the last. */
static char *next_line(char **rest)
{
    char *line = strsep(rest, "\n");

    return line && (*line || *rest) ? line : NULL;
}

/* Prints a message with words from the log of suricata-update. A server may have sent these words, so control
 * characters are escaped. */
static void print_words(const struct update *update, const char *before, const char *words, const char *after)
{
    struct text text;

    text_init(&text);
    text_printable(&text, words, strlen(words));
    cli_error(update->command, "%s%s%s", before, text.failed || !text.bytes ? "" : text.bytes, after);
    text_clear(&text);
}

/* Prints the errors and warnings of the log. Returns the number of errors, each of which is about a source. */
static size_t print_log(const struct update *update)
{
    struct text log;
    char *rest, *line;
    size_t errors = 0;

    text_init(&log);
    update_read_file(update->log, &log);
    rest = log.bytes;
    while (rest && (line = next_line(&rest))) {
        const char *error = strstr(line, error_mark), *warning = strstr(line, warning_mark);

        errors += error != NULL;
        if (error || warning)
            print_words(update,
                        "suricata-update: ", error ? error + strlen(error_mark) : warning + strlen(warning_mark), "");
    }
    text_clear(&log);
    return errors;
}

/* Prints why suricata-update failed: its last error, or the last line of its output. Returns EXIT_FAILED. */
static int report_failure(const struct update *update, int result)
{
    const char *cause = "no output";
    struct text log;
    char *rest, *line, before[64] = "";

    text_init(&log);
    update_read_file(update->log, &log);
    rest = log.bytes;
    while (rest && (line = next_line(&rest))) {
        const char *error = strstr(line, error_mark);

        if (*line && !strstr(line, "<Info>"))
            cause = error ? error + strlen(error_mark) : line;
    }
    if (result == -ETIMEDOUT) {
        cli_error(update->command, "suricata-update did not end within %lu s (--timeout); the rules are unchanged",
                  update->timeout);
    } else if (result < 0) {
        cli_error(update->command, "cannot run %s: %s; the rules are unchanged", update->program, strerror(-result));
    } else {
        snprintf(before, sizeof(before), "suricata-update failed (exit code %d): ", result);
        print_words(update, before, cause, "; the rules are unchanged");
    }
    text_clear(&log);
    return EXIT_FAILED;
}

/* Writes the name of a source's file in the cache, without the part after the hash, as suricata-update makes it. */
static void hash_url(const char *url, char out[HASH_DIGITS + 1])
{
    struct md5_ctx context;
    uint8_t digest[MD5_DIGEST_SIZE];

    md5_init(&context);
    md5_update(&context, strlen(url), (const uint8_t *)url);
    md5_digest(&context, sizeof(digest), digest);
    for (size_t i = 0; i < sizeof(digest); i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* Finds a download in the log. `hash`: the hash of its URL; NULL: the download that was interrupted. Returns the
 * allocated URL, or NULL. */
static char *find_url(const struct update *update, const char *hash)
{
    char own[HASH_DIGITS + 1], *rest, *line, *found = NULL;
    struct text log;

    text_init(&log);
    update_read_file(update->log, &log);
    rest = log.bytes;
    while (rest && (line = next_line(&rest))) {
        char *url = strstr(line, fetching);

        if (!hash && strstr(line, done)) {
            free(found);
            found = NULL;
        }
        if (!url)
            continue;
        url += strlen(fetching);
        url[strlen(url) - (*url != '\0')] = '\0'; /* the '.' at the end of the sentence */
        hash_url(url, own);
        if (hash && strncmp(hash, own, HASH_DIGITS) != 0)
            continue;
        free(found);
        found = strdup(url);
    }
    text_clear(&log);
    return found;
}

/* --- Downloads ------------------------------------------------------------------------------------ */

static bool is_download(const char *name)
{
    return strspn(name, "0123456789abcdef") == HASH_DIGITS && name[HASH_DIGITS] == '-';
}

static struct update_download *get_download(struct update *update, const char *name)
{
    for (size_t i = 0; i < update->download_count; i++) {
        if (strcmp(update->downloads[i].name, name) == 0)
            return &update->downloads[i];
    }
    return NULL;
}

static struct update_download *add_download(struct update *update, const char *name)
{
    struct update_download *download;

    if (update->download_count == UPDATE_MAX_SOURCES || strlen(name) > NAME_MAX)
        return NULL;
    download = &update->downloads[update->download_count++];
    *download = (struct update_download){ .rules = 0 };
    snprintf(download->name, sizeof(download->name), "%s", name);
    return download;
}

/* Sets the time of a file in the cache. suricata-update downloads a source again if its file is older than 15 min. */
static void set_age(const struct update *update, const char *name, time_t seconds)
{
    struct timespec times[2];
    char path[UPDATE_PATH_SIZE];

    update_path(path, update->cache, name);
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    utimensat(AT_FDCWD, path, times, 0);
}

/* Calls `each` for the files in the cache, and returns the sum of its results. */
static int each_download(struct update *update, int (*each)(struct update *update, const char *name))
{
    DIR *folder = opendir(update->cache);
    const struct dirent *entry;
    int result = 0;

    while (folder && (entry = readdir(folder)))
        if (is_download(entry->d_name))
            result += each(update, entry->d_name);
    if (folder)
        closedir(folder);
    return result;
}

static int make_old(struct update *update, const char *name)
{
    set_age(update, name, DAY_SECONDS);
    return 0;
}

static int make_fresh(struct update *update, const char *name)
{
    set_age(update, name, 0);
    return 0;
}

/* Keeps suricata-update from downloading the source of the interrupted download in the next run. Returns 0, or -ENOENT
 * if the log does not have its URL, or if the source was skipped before. */
static int skip_source(struct update *update)
{
    char *url = find_url(update, NULL), name[NAME_MAX + 1], hash[HASH_DIGITS + 1], path[UPDATE_PATH_SIZE];
    struct update_download *download;
    const char *base;
    bool cached;
    int fd;

    if (!url || strchr(url, '<')) { /* "<NAME>" in the log stands for a secret */
        free(url);
        return -ENOENT;
    }
    hash_url(url, hash);
    base = strrchr(url, '/') ? strrchr(url, '/') + 1 : url;
    snprintf(name, sizeof(name), "%s-%.*s", hash, (int)strcspn(base, "?"), base);
    download = get_download(update, name) ? NULL : add_download(update, name);
    if (!download) {
        free(url);
        return -ENOENT;
    }
    update_path(path, update->cache, name);
    cached = access(path, F_OK) == 0;
    fd = cached ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
    if (fd >= 0)
        close(fd);
    set_age(update, name, 0);
    download->bad = true;
    update->source_problems++;
    print_words(update, "source ", url,
                cached ? ": the download broke off; its previous rules are used"
                       : ": the download broke off; it is left out until it can be downloaded");
    free(url);
    return 0;
}

/* Returns the number of lines of a text, without empty ones. */
static size_t count_lines(const struct text *text)
{
    size_t lines = 0;

    for (size_t i = 0; i < text->length; i++)
        lines += text->bytes[i] != '\n' && (i == 0 || text->bytes[i - 1] == '\n');
    return lines;
}

/* Makes suricata-update read only one download. Returns whether it could read it; *rules is the number of rules. */
static bool read_download(const struct update *update, const char *path, size_t *rules)
{
    static const char *const options[] = { "--disable-conf", "--enable-conf", "--drop-conf", "--modify-conf" };
    struct arguments arguments = { .count = 0 };
    struct update alone = *update;
    char folder[UPDATE_PATH_SIZE], output[UPDATE_PATH_SIZE], none[UPDATE_PATH_SIZE], rule_file[UPDATE_PATH_SIZE];
    struct text url, text;
    int result;

    update_path(folder, update->work, "alone");
    update_path(output, folder, "rules");
    update_path(none, folder, "none");
    update_path(rule_file, output, UPDATE_RULE_FILE);
    update_path(alone.yaml, update->work, "alone.yaml");
    update_path(alone.log, update->work, "alone.log");
    update_remove_tree(folder);
    text_init(&url);
    text_puts(&url, "file://");
    for (const char *at = path; *at; at++)
        text_printf(&url, isalnum((unsigned char)*at) || strchr("/._-", *at) ? "%c" : "%%%02x", (unsigned char)*at);
    add_common(&arguments, &alone, folder, output, none);
    for (size_t i = 0; i < 4; i++)
        add_pair(&arguments, options[i], "/dev/null");
    add_pair(&arguments, "--url", url.failed ? "" : url.bytes);
    result = run(&alone, arguments.at);
    text_clear(&url);
    text_init(&text);
    *rules = result == 0 && update_read_file(rule_file, &text) == 0 ? count_lines(&text) : 0;
    text_clear(&text);
    update_remove_tree(folder);
    return result == 0;
}

static size_t read_count(const char *path)
{
    struct text text;
    uint64_t count = 0;

    text_init(&text);
    if (update_read_file(path, &text) == 0 && text.length > 0)
        span_to_uint((struct span){ text.bytes, text.length }, 0, SIZE_MAX, &count);
    text_clear(&text);
    return (size_t)count;
}

/* Checks a new download in the cache: a file that differs from the last good download of its source. Returns 1 if the
 * file was replaced, so that suricata-update has to run again, otherwise 0. */
static int check_download(struct update *update, const char *name)
{
    char path[UPDATE_PATH_SIZE], good[UPDATE_PATH_SIZE], count[UPDATE_PATH_SIZE], count_name[NAME_MAX + 8];
    struct update_download *download;
    bool readable, has_good;
    size_t before, rules;
    char *url, after[160];

    update_path(path, update->cache, name);
    update_path(good, update->good, name);
    snprintf(count_name, sizeof(count_name), "%s.count", name);
    update_path(count, update->good, count_name);
    has_good = access(good, F_OK) == 0;
    if (get_download(update, name) || (has_good && update_same_tree(good, path)))
        return 0;
    download = add_download(update, name);
    if (!download)
        return 0;
    readable = read_download(update, path, &rules);
    before = has_good ? read_count(count) : 0;
    download->rules = rules;
    download->good = rules > 0 && (rules >= before / 2 || update->force);
    if (download->good)
        return 0;
    url = find_url(update, name);
    update->source_problems++;
    snprintf(after, sizeof(after), ": the download has %s; %s%s",
             !readable ? "content that suricata-update cannot read"
             : rules   ? "less than half of its previous rules"
                       : "no rules",
             has_good   ? "its previous rules are used"
             : readable ? "check its URL"
                        : "it is left out",
             rules ? " (--force accepts the new ones)" : "");
    print_words(update, "source ", url ? url : name + HASH_DIGITS + 1, after);
    free(url);
    download->bad = true;
    if (has_good ? update_copy_file(good, path) : readable ? -ENOENT : truncate(path, 0))
        return 0;
    set_age(update, name, 0);
    return 1;
}

int update_download(struct update *update)
{
    bool cached_only = false;

    if (update->force && !update->offline)
        each_download(update, make_old);
    for (;;) {
        int result = run_download(update);

        /* Only a source that is not in update->downloads yet makes the loop go on, and it is then added. The number of
         * sources is finite, so the loop ends. */
        if (result != 0 && result != NOT_STARTED && (skip_source(update) == 0 || each_download(update, check_download)))
            continue;
        if (result == 0 && each_download(update, check_download))
            continue;
        if (result == 0)
            break;
        if (cached_only || update->offline || result == NOT_STARTED)
            return report_failure(update, result);
        /* the log does not name the source, for example because its URL has a secret: use the copies of all sources */
        cached_only = true;
        each_download(update, make_fresh);
    }
    if (cached_only)
        cli_error(update->command,
                  "suricata-update broke off without naming a source: the previous rules of all sources "
                  "are used");
    update->source_problems += print_log(update) + cached_only;
    return 0;
}

void update_keep_downloads(struct update *update, bool promote)
{
    for (size_t i = 0; i < update->download_count; i++) {
        const struct update_download *download = &update->downloads[i];
        char path[UPDATE_PATH_SIZE], good[UPDATE_PATH_SIZE], count[UPDATE_PATH_SIZE], name[NAME_MAX + 8];
        struct stat status;
        FILE *file;

        update_path(path, update->cache, download->name);
        update_path(good, update->good, download->name);
        snprintf(name, sizeof(name), "%s.count", download->name);
        update_path(count, update->good, name);
        if (download->bad && stat(path, &status) == 0 && status.st_size == 0)
            unlink(path);
        else if (download->bad)
            set_age(update, download->name, DAY_SECONDS);
        if (!download->good || !promote || update_copy_file(path, good))
            continue;
        file = fopen(count, "we");
        if (file) {
            fprintf(file, "%zu", download->rules);
            fclose(file);
        }
    }
}

int update_exec(struct update *update, int argc, char **argv)
{
    struct arguments arguments = { .count = 0 };

    add(&arguments, update->program);
    add(&arguments, argv[0]);
    add_pair(&arguments, "--data-dir", update->data);
    add_pair(&arguments, "--config", update->yaml);
    add_pair(&arguments, "--suricata", update->compat);
    for (int i = 1; i < argc; i++)
        add(&arguments, argv[i]);
    fflush(stdout);
    execv(update->program, arguments.at);
    cli_error(update->command, "cannot run %s: %s", update->program, strerror(errno));
    return EXIT_FAILED;
}
