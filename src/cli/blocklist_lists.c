/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Networks and lists of `sluice blocklist` (blocklist_lists.h). */
#include "blocklist_lists.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sluice/control.h"
#include "sluice/daemon.h"
#include "sluice/folder.h"
#include "sluice/setup.h"

#include "query.h"

enum { POLL_MS = 50, WAIT_SECONDS = 60, PATH_SIZE = 512 };

__attribute__((format(printf, 1, 2))) static int fail(const char *format, ...)
{
    char message[PATH_MAX + 512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    cli_error(&command_blocklist, "%s", message);
    return EXIT_FAILED;
}

/* --- The daemon ----------------------------------------------------------------------------------- */

/* Sends a command without arguments to the running daemon. Returns 0; -ENOENT if no daemon runs; or another -errno with
 * a line in `error`. */
static int ask(const struct config *config, const char *command, struct control_reply *reply,
               char error[CONTROL_ERROR_SIZE])
{
    struct daemon_options options;
    char path[PATH_SIZE];
    struct text request;
    int err;

    config_fill(config, daemon_settings, NULL, &options);
    snprintf(path, sizeof(path), "%s%s", strchr(options.control_name, '/') ? "" : SLUICE_RUNDIR "/",
             options.control_name);
    text_init(&request);
    json_object_open(&request, NULL);
    json_string(&request, "command", command);
    json_object_close(&request);
    err = control_send_request(path, &request, QUERY_SECONDS, reply, error);
    text_clear(&request);
    return err == -ECONNREFUSED ? -ENOENT : err;
}

/* Makes the daemon read the lists, and waits until it blocks their networks. `quiet`: a daemon that does not run is no
 * error, because it reads the lists when it starts. */
static int reread(const struct config *config, bool quiet)
{
    const struct timespec pause = { .tv_nsec = POLL_MS * 1000000 };
    char error[CONTROL_ERROR_SIZE];
    struct control_reply reply;
    int64_t wanted = 0;
    int err = ask(config, "blocklist-reread", &reply, error);

    if (err == -ENOENT && quiet) {
        fputs("the daemon does not run: it reads the lists when it starts\n", stderr);
        return EXIT_OK;
    }
    if (err)
        return fail("%s", error);
    control_value_number(reply.message, &wanted);
    query_free_reply(&reply);
    for (int i = 0; i < WAIT_SECONDS * 1000 / POLL_MS; i++) {
        bool done;
        int code = EXIT_OK;

        if (ask(config, "blocklist-lists", &reply, error))
            return fail("%s", error);
        done = query_number(reply.message, "done") >= wanted;
        if (done && *query_string(reply.message, "error"))
            code = fail("%s", query_string(reply.message, "error"));
        query_free_reply(&reply);
        if (done)
            return code;
        nanosleep(&pause, NULL);
    }
    return fail("the daemon did not block the networks within %d s; see its log", (int)WAIT_SECONDS);
}

int lists_reread(const struct config *config)
{
    return reread(config, false);
}

/* --- The folder ----------------------------------------------------------------------------------- */

/* Writes the folder's path to `folder`, and creates the folder if `create`. */
static int find_folder(const struct config *config, char folder[PATH_MAX], bool create)
{
    struct block_lists_options options;
    char parent[PATH_MAX];
    struct stat owner = { .st_uid = geteuid(), .st_gid = getegid() };
    int err = 0;

    setup_block_lists(&options, config, folder);
    if (!options.folder)
        return fail("nft.blocklist.folder is none: there is no folder for networks and lists");
    snprintf(parent, sizeof(parent), "%s", folder);
    *strrchr(parent, '/') = '\0';
    /* Give the folder to the owner of the parent folder, so that the daemon can write to it. */
    if (create && stat(parent, &owner) < 0 && errno != ENOENT)
        err = -errno;
    if (create && !err)
        err = folder_create_for_owner(folder, owner.st_uid, owner.st_gid);
    return err ? fail("cannot create the folder %s: %s", folder, strerror(-err)) : EXIT_OK;
}

/* Reads the file of the networks that were blocked by hand; no networks if the file does not exist. */
static int read_networks(const char *folder, struct block_entries *out)
{
    const uint64_t now = (uint64_t)time(NULL);
    struct diag *diag = diag_new();
    char path[PATH_MAX + sizeof(BLOCK_NETWORKS)];
    size_t kept = 0;
    int err = diag ? 0 : -ENOMEM;

    snprintf(path, sizeof(path), "%s/" BLOCK_NETWORKS, folder);
    if (!err && (access(path, F_OK) == 0 || errno != ENOENT))
        err = block_file_read(out, path, diag);
    if (diag)
        cli_print_brief(diag);
    diag_free(diag);
    for (size_t i = 0; i < out->count; i++)
        if (out->at[i].until == 0 || out->at[i].until > now)
            out->at[kept++] = out->at[i];
    out->count = kept;
    return err ? EXIT_FAILED : EXIT_OK; /* the error has been printed */
}

int lists_read_networks(const struct config *config, struct block_entries *out)
{
    struct block_lists_options options;
    char folder[PATH_MAX];

    setup_block_lists(&options, config, folder);
    return options.folder ? read_networks(folder, out) : EXIT_OK;
}

static bool same_range(const struct block_entry *a, const struct block_entry *b)
{
    return a->version == b->version && a->range.low == b->range.low && a->range.high == b->range.high;
}

/* Replaces the networks that were blocked by hand: removes `drop`, or all if it is NULL, and adds `more`, if it is not
 * NULL. */
static int edit_networks(const struct config *config, const struct block_entries *drop,
                         const struct block_entries *more, size_t *removed)
{
    struct block_entries networks = { .count = 0 };
    char folder[PATH_MAX];
    size_t kept = 0;
    int code = find_folder(config, folder, true), err = 0;
    int lock = code ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (!code && (lock < 0 || flock(lock, LOCK_EX) < 0))
        code = fail("cannot lock the folder %s: %s", folder, strerror(errno));
    if (!code)
        code = read_networks(folder, &networks);
    for (size_t i = 0; !code && i < networks.count; i++) {
        bool dropped = !drop;

        for (size_t k = 0; drop && k < drop->count && !dropped; k++)
            dropped = same_range(&networks.at[i], &drop->at[k]);
        if (!dropped)
            networks.at[kept++] = networks.at[i];
    }
    *removed = networks.count - kept;
    networks.count = kept;
    for (size_t i = 0; !code && more && i < more->count && !err; i++)
        err = block_entries_add(&networks, &more->at[i]);
    if (!code && !err && (*removed > 0 || more))
        err = block_file_write(folder, BLOCK_NETWORKS, "Networks that were blocked with `sluice blocklist add`",
                               &networks);
    if (err)
        code = fail("cannot write %s/" BLOCK_NETWORKS ": %s; nothing was changed", folder, strerror(-err));
    if (lock >= 0)
        close(lock);
    block_entries_clear(&networks);
    return code;
}

int lists_add_networks(const struct config *config, const struct block_entries *networks)
{
    size_t replaced;
    int code = edit_networks(config, networks, networks, &replaced);

    return code ? code : reread(config, true);
}

int lists_remove_networks(const struct config *config, const struct block_entries *networks, size_t *removed)
{
    int code = edit_networks(config, networks, NULL, removed);

    return code || *removed == 0 ? code : reread(config, true);
}

int lists_flush_networks(const struct config *config)
{
    size_t removed;
    struct block_lists_options options;
    char folder[PATH_MAX];
    int code;

    setup_block_lists(&options, config, folder);
    if (!options.folder || access(folder, F_OK) < 0)
        return EXIT_OK;
    code = edit_networks(config, NULL, NULL, &removed);
    return code || removed == 0 ? code : reread(config, true);
}

/* --- Imported lists ------------------------------------------------------------------------------- */

/* Reads all of standard input into *out. Returns 0 or -errno. */
static int read_input(struct text *out)
{
    char bytes[65536];
    size_t length;

    while ((length = fread(bytes, 1, sizeof(bytes), stdin)) > 0) {
        text_append(out, bytes, length);
        if (out->length > BLOCK_FILE_BYTES)
            return -EFBIG;
    }
    return ferror(stdin) ? -EIO : out->failed ? -ENOMEM : 0;
}

static int parse_import(const char *path, struct block_entries *entries, struct diag *diag)
{
    struct text input;
    int err;

    if (strcmp(path, "-") != 0)
        return block_file_read(entries, path, diag);
    text_init(&input);
    err = read_input(&input);
    if (err)
        diag_error(diag, (struct position){ .file = "standard input" }, "cannot read the list: %s", strerror(-err));
    else
        err = block_file_parse(entries, "standard input", input.bytes ? input.bytes : "", input.length, diag);
    text_clear(&input);
    return err;
}

int lists_import(const struct config *config, const char *path, const char *name)
{
    struct block_entries entries = { .count = 0 };
    char folder[PATH_MAX], file[BLOCK_NAME_SIZE], comment[BLOCK_NAME_SIZE + 64];
    struct diag *diag = diag_new();
    const char *base = strrchr(path, '/');
    size_t warnings;
    int code, err;

    name = name ? name : base ? base + 1 : path;
    if (!diag)
        return fail("out of memory");
    if (!block_list_name_is_valid(name)) {
        diag_free(diag);
        cli_error(
            &command_blocklist,
            "'%s' cannot be the name of a list: give one with --name, of at most %d letters, digits, '.', '_' and "
            "'-', which begins with a letter or digit",
            name, (int)(BLOCK_NAME_SIZE - sizeof(BLOCK_IMPORTED)));
        return EXIT_USAGE;
    }
    err = parse_import(path, &entries, diag);
    warnings = entries.skipped;
    cli_print_brief(diag);
    diag_free(diag);
    if (err)
        code = EXIT_FAILED; /* the error has been printed */
    else if (entries.count == 0)
        code = fail("%s has no address or network; nothing was changed", path);
    else
        code = find_folder(config, folder, true);
    if (!code) {
        snprintf(file, sizeof(file), "%s" BLOCK_IMPORTED, name);
        snprintf(comment, sizeof(comment), "Imported as %s with `sluice blocklist import`", name);
        err = block_file_write(folder, file, comment, &entries);
        if (err)
            code = fail("cannot write %s/%s: %s; nothing was changed", folder, file, strerror(-err));
    }
    if (!code) {
        code = reread(config, true);
        printf("imported %s: %zu entries%s", name, entries.count, warnings ? "" : "\n");
        if (warnings)
            printf(", %zu lines left out\n", warnings);
    }
    block_entries_clear(&entries);
    return code;
}

int lists_forget(const struct config *config, const char *name)
{
    char folder[PATH_MAX], path[PATH_MAX + BLOCK_NAME_SIZE];
    int code = find_folder(config, folder, false);

    if (code)
        return code;
    snprintf(path, sizeof(path), "%s/%s" BLOCK_IMPORTED, folder, name);
    if (!block_list_name_is_valid(name))
        errno = ENOENT;
    else if (unlink(path) == 0)
        return reread(config, true);
    if (errno == ENOENT)
        return fail("there is no imported list '%s': see `sluice blocklist lists`", name);
    return fail("cannot remove %s: %s", path, strerror(errno));
}

/* --- Printing ------------------------------------------------------------------------------------- */

static int print_lists(const struct control_value *lists)
{
    static const struct cli_table_column columns[] = {
        { "KIND", 0 },
        { "LIST", 0 },
        { "ENTRIES", TABLE_RIGHT },
        { "LEFT-OUT", TABLE_RIGHT }, /* lines without an address */
        { "STATE", 0 },
    };
    struct cli_table *table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
    int code;

    for (size_t i = 0; i < control_value_count(lists); i++) {
        const struct control_value *list = control_value_item(lists, i);

        cli_table_add_row(table);
        cli_table_set(table, 0, "%s", query_string(list, "kind"));
        cli_table_set(table, 1, "%s", query_string(list, "name"));
        cli_table_set(table, 2, "%" PRId64, query_number(list, "entries"));
        cli_table_set(table, 3, "%" PRId64, query_number(list, "left_out"));
        if (control_value_bool(control_value_member(list, "failed")))
            cli_table_set(table, 4, "cannot be read any more: its former entries are used");
    }
    code = cli_table_print(table);
    cli_table_free(table);
    return code;
}

int lists_print(const struct config *config, bool json)
{
    char error[CONTROL_ERROR_SIZE];
    struct control_reply reply;
    int code = EXIT_OK;

    if (ask(config, "blocklist-lists", &reply, error))
        return fail("%s", error);
    if (json) {
        code = query_print_json(&reply);
    } else {
        const struct control_value *lists = control_value_member(reply.message, "lists"),
                                   *networks = control_value_member(reply.message, "networks");

        if (control_value_count(lists) == 0)
            puts("there are no lists");
        else
            code = print_lists(lists);
        if (control_value_count(lists) > 0)
            printf("blocked: %" PRId64 " IPv4 and %" PRId64 " IPv6 networks, after merging\n",
                   query_number(networks, "ipv4"), query_number(networks, "ipv6"));
        if (*query_string(reply.message, "error"))
            code = fail("%s", query_string(reply.message, "error"));
    }
    query_free_reply(&reply);
    return code;
}
