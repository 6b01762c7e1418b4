/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice alerts`: prints alerts, one line each, from one of two sources:
 *
 * - the event file. It has the alerts of all daemons that have written to it, also of daemons that no longer run.
 *   --follow continues after rotations: when the path names a new file, it reads the old file until the new file has
 *   content. The daemon writes the last line to the old file before it opens the new one, so no line is lost.
 * - the memory of the daemon, which keeps the last OUTPUT_RECENT_ALERTS alerts. It needs no event file.
 */
#include "query.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "alert_line.h"
#include "sluice/output.h"
#include "sluice/setup.h"

enum {
    OPTION_FILE = QUERY_OPTION_OWN,
    OPTION_LIVE,
    OPTION_FOLLOW,
    OPTION_LIMIT,
    OPTION_SID,
    OPTION_SOURCE,
    OPTION_DESTINATION,
    OPTION_HOST,
    OPTION_SEVERITY,
    DEFAULT_LIMIT = 20,
    MAX_LIMIT = 1000000,
    MAX_SEVERITY = 255,
    FIRST_CHUNK = 256 << 10, /* bytes at the end of a file that are searched first */
    PIECE = 64 << 10,
    MAX_LINE = 16 << 20, /* longer lines are skipped */
    FILE_WAIT_MS = 200,
    LIVE_WAIT_MS = 500,
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    CLI_ROW_SET,
    { .id = OPTION_FOLLOW,
      .letter = 'f',
      .name = "follow",
      .help = "continue, and print new alerts as they are written" },
    { .id = OPTION_LIMIT,
      .letter = 'n',
      .name = "limit",
      .argument = "NUMBER",
      .help = "print at most the last NUMBER alerts that are selected (0 to 1000000; default 20)" },
    { .id = OPTION_FILE,
      .name = "file",
      .group = "source",
      .argument = "FILE",
      .help = "read this event file (default: that of the configuration)" },
    { .id = OPTION_LIVE,
      .letter = 'l',
      .name = "live",
      .group = "source",
      .help = "read the last 1024 alerts from the memory of the running daemon (default if eve.enabled is no, or "
              "eve.filetype is no regular file)" },
    { .id = OPTION_SID, .name = "sid", .argument = "RULE", .help = "only alerts of this rule: SID, or GID:SID" },
    { .id = OPTION_SOURCE,
      .name = "src",
      .argument = "NETWORK",
      .help = "only alerts whose source is in this network (address, or address/bits)" },
    { .id = OPTION_DESTINATION,
      .name = "dst",
      .argument = "NETWORK",
      .help = "only alerts whose destination is in this network" },
    { .id = OPTION_HOST,
      .name = "host",
      .argument = "NETWORK",
      .help = "only alerts whose source or destination is in this network" },
    { .id = OPTION_SEVERITY,
      .name = "severity",
      .argument = "NUMBER",
      .help = "only alerts of this severity and more severe ones (1 to 255; 1 is the most severe)" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query;
    struct alert_filter filter;
    const char *file; /* NULL: the event file of the configuration */
    bool live, follow;
    unsigned long limit;
};

static int handle_network(const struct cli_option *option, const char *value, struct alert_network *out)
{
    if (alert_network_parse(value, out) == 0)
        return 0;
    cli_error(&command_alerts, "option '--%s' needs an address or a network such as 10.0.0.0/8, got '%s'", option->name,
              value);
    return EXIT_USAGE;
}

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;
    unsigned long severity = 0;
    int code;

    switch (option->id) {
    case OPTION_FILE:
        arguments->file = value;
        return 0;
    case OPTION_LIVE:
        arguments->live = true;
        return 0;
    case OPTION_FOLLOW:
        arguments->follow = true;
        return 0;
    case OPTION_LIMIT:
        return cli_number(&command_alerts, option, value, 0, MAX_LIMIT, &arguments->limit);
    case OPTION_SID:
        if (alert_sid_parse(value, &arguments->filter) == 0)
            return 0;
        cli_error(&command_alerts, "option '--sid' needs a rule number such as 2100498 or 1:2100498, got '%s'", value);
        return EXIT_USAGE;
    case OPTION_SOURCE:
        return handle_network(option, value, &arguments->filter.source);
    case OPTION_DESTINATION:
        return handle_network(option, value, &arguments->filter.destination);
    case OPTION_HOST:
        return handle_network(option, value, &arguments->filter.host);
    case OPTION_SEVERITY:
        code = cli_number(&command_alerts, option, value, 1, MAX_SEVERITY, &severity);
        arguments->filter.severity = severity;
        return code;
    default:
        return query_handle_option(&arguments->query, option, value);
    }
}

static void pause_ms(unsigned ms)
{
    const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

    nanosleep(&pause, NULL);
}

/* --- The last alerts ------------------------------------------------------------------------------ */

/* The last `limit` lines that were added; a ring. */
struct last_lines {
    struct text *lines;
    size_t limit, added;
};

static int last_lines_init(struct last_lines *last, size_t limit)
{
    *last = (struct last_lines){ .lines = calloc(limit + 1, sizeof(*last->lines)), .limit = limit };
    return last->lines ? 0 : -ENOMEM;
}

static void last_lines_clear(struct last_lines *last)
{
    for (size_t i = 0; last->lines && i < last->limit; i++)
        text_clear(&last->lines[i]);
    free(last->lines);
}

static void last_lines_add(struct last_lines *last, const struct text *line)
{
    struct text *slot = last->limit > 0 ? &last->lines[last->added++ % last->limit] : NULL;

    if (!slot)
        return;
    text_reset(slot);
    text_append(slot, line->bytes, line->length);
}

static void last_lines_print(const struct last_lines *last)
{
    size_t count = last->added < last->limit ? last->added : last->limit;

    for (size_t i = last->added - count; i < last->added; i++)
        puts(last->lines[i % last->limit].bytes);
}

/* --- Event file ----------------------------------------------------------------------------------- */

/* An event file that is read from an offset on. */
struct reader {
    const struct arguments *arguments;
    const char *path;
    int fd; /* -1: none */
    struct stat status;
    off_t offset;            /* where the next byte is read */
    struct text rest;        /* start of a line whose end has not been read yet */
    bool skip;               /* true: ignore all bytes up to the end of the line */
    uint64_t damaged;        /* lines that are too long or not JSON */
    struct text line;        /* the alert that is printed */
    struct last_lines *last; /* collects the alerts; NULL: they are printed at once */
};

static void handle_line(struct reader *reader, const char *line, size_t length)
{
    int found;

    text_reset(&reader->line);
    found = alert_line_read(line, length, &reader->arguments->filter, reader->arguments->query.json, &reader->line);
    reader->damaged += found < 0;
    if (found <= 0)
        return;
    if (reader->last)
        last_lines_add(reader->last, &reader->line);
    else
        puts(reader->line.bytes);
}

/* Handles the complete lines between the offset of the reader and `end`, or the end of the file (-1). Returns the
 * number of bytes read, or -errno. */
static ssize_t read_lines(struct reader *reader, off_t end)
{
    char piece[PIECE];
    ssize_t total = 0;

    for (;;) {
        size_t size = end >= 0 && end - reader->offset < PIECE ? (size_t)(end - reader->offset) : PIECE;
        ssize_t n = size > 0 ? pread(reader->fd, piece, size, reader->offset) : 0;
        const char *at = piece, *line_end;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : total;
        reader->offset += n;
        total += n;
        while ((line_end = memchr(at, '\n', (size_t)(piece + n - at)))) {
            text_append(&reader->rest, at, (size_t)(line_end - at));
            if (!reader->skip && !reader->rest.failed && reader->rest.length > 0)
                handle_line(reader, reader->rest.bytes, reader->rest.length);
            reader->skip = reader->rest.failed = false;
            text_reset(&reader->rest);
            at = line_end + 1;
        }
        if (!reader->skip)
            text_append(&reader->rest, at, (size_t)(piece + n - at));
        if (reader->rest.length > MAX_LINE) {
            reader->skip = true;
            reader->damaged++;
            text_clear(&reader->rest);
        }
    }
}

/* Continues at `offset`. `in_line` true: the offset may be within a line, so the rest of that line is skipped. */
static void seek_to(struct reader *reader, off_t offset, bool in_line)
{
    reader->offset = offset;
    reader->skip = in_line;
    text_reset(&reader->rest);
}

/* Opens the file. Returns 0 or -errno. */
static int open_reader(struct reader *reader)
{
    int fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -errno;
    if (fstat(fd, &reader->status) || !S_ISREG(reader->status.st_mode)) {
        close(fd);
        return -EINVAL;
    }
    reader->fd = fd;
    return 0;
}

/* Collects the last alerts. Reads FIRST_CHUNK bytes at the end of the file first, and twice as many each time
 * until they contain enough alerts. Leaves the reader at the end of the file. Returns 0 or -errno. */
static int read_last(struct reader *reader, struct last_lines *last)
{
    off_t size = reader->status.st_size;
    ssize_t n = 0;

    for (off_t chunk = FIRST_CHUNK;; chunk *= 2) {
        off_t from = size > chunk ? size - chunk : 0;

        last->added = 0;
        reader->damaged = 0;
        reader->last = last;
        seek_to(reader, last->limit > 0 ? from : size, last->limit > 0 && from > 0);
        if (last->limit > 0)
            n = read_lines(reader, size);
        reader->last = NULL;
        if (n < 0 || from == 0 || last->added >= last->limit)
            return n < 0 ? (int)n : 0;
    }
}

/* Prints alerts that are added to the file from now on, also after it was rotated or truncated. Returns after an error
 * only. */
static int follow_file(struct reader *reader)
{
    struct stat status;
    bool was_empty = false; /* the path names a new file with content, and the open one was read to its end */

    for (;;) {
        ssize_t n = reader->fd >= 0 ? read_lines(reader, -1) : 0;
        bool exists = stat(reader->path, &status) == 0;
        bool is_other = exists && (reader->fd < 0 || status.st_ino != reader->status.st_ino ||
                                   status.st_dev != reader->status.st_dev);

        if (n < 0)
            return (int)n;
        if (n > 0 && fflush(stdout) == EOF)
            return -errno;
        if (is_other && (reader->fd < 0 || (was_empty && n == 0))) {
            if (reader->fd >= 0)
                close(reader->fd);
            reader->fd = -1;
            was_empty = false;
            seek_to(reader, 0, false);
            if (open_reader(reader) == 0)
                continue;
        }
        /* the daemon has written all lines to the old file before it writes to the new one */
        was_empty = is_other && status.st_size > 0;
        if (exists && !is_other && status.st_size < reader->offset)
            seek_to(reader, 0, false);
        if (!was_empty)
            pause_ms(FILE_WAIT_MS);
    }
}

static int print_file(const struct arguments *arguments, const char *path)
{
    struct reader reader = { .arguments = arguments, .path = path, .fd = -1 };
    struct last_lines last;
    int err = last_lines_init(&last, arguments->limit);

    text_init(&reader.rest);
    text_init(&reader.line);
    if (!err) {
        err = open_reader(&reader);
        if (!err)
            err = read_last(&reader, &last);
        else if (err == -ENOENT && arguments->follow)
            err = 0; /* the daemon will create it */
    }
    if (!err) {
        last_lines_print(&last);
        if (arguments->follow)
            err = fflush(stdout) == EOF ? -errno : follow_file(&reader);
    }
    if (err == -EINVAL)
        cli_error(&command_alerts, "cannot read %s: not a regular file; use --live to read from the daemon", path);
    else if (err)
        cli_error(&command_alerts, "cannot read %s: %s; name the file by --file, or use --live to read from the daemon",
                  path, strerror(-err));
    if (reader.damaged > 0)
        cli_error(&command_alerts, "%" PRIu64 " lines of %s were skipped: not JSON, or longer than %d bytes",
                  reader.damaged, path, MAX_LINE);
    if (reader.fd >= 0)
        close(reader.fd);
    text_clear(&reader.rest);
    text_clear(&reader.line);
    last_lines_clear(&last);
    return err ? EXIT_FAILED : EXIT_OK;
}

/* --- The daemon ----------------------------------------------------------------------------------- */

/* Adds the alerts of a reply whose numbers are higher than *after to `last`. Sets *after to the highest number. */
static void add_live(const struct arguments *arguments, const struct control_value *list, int64_t *after,
                     struct last_lines *last)
{
    struct text line;

    text_init(&line);
    for (size_t i = 0; i < control_value_count(list); i++) {
        const struct control_reply event = { .message = control_value_item(list, i) };
        int64_t number = query_number(event.message, "number");

        if (i == 0 && *after > 0 && number > *after + 1 && control_value_count(list) == OUTPUT_RECENT_ALERTS)
            cli_error(&command_alerts,
                      "%" PRId64 " alerts were overwritten before they were read; the event file has "
                      "all",
                      number - *after - 1);
        *after = number;
        if (!alert_selected(event.message, &arguments->filter))
            continue;
        text_reset(&line);
        if (arguments->query.json)
            text_puts(&line, control_reply_text(&event));
        else
            alert_format(event.message, &line);
        last_lines_add(last, &line);
    }
    text_clear(&line);
}

static int print_live(struct arguments *arguments)
{
    char path[QUERY_PATH_SIZE], error[CONTROL_ERROR_SIZE];
    struct query *query = &arguments->query;
    size_t limit = arguments->limit < OUTPUT_RECENT_ALERTS ? arguments->limit : OUTPUT_RECENT_ALERTS;
    bool first = true, failed = false;
    int64_t after = 0;
    int code = query_socket_path(query, path);

    while (!code) {
        struct control_reply reply;
        struct last_lines last;
        int err;

        query_begin(query, "alerts");
        json_uint(&query->request, "after", (uint64_t)after);
        json_object_close(&query->request);
        json_object_close(&query->request);
        err = control_send_request(path, &query->request, QUERY_SECONDS, &reply, error);
        if (err && (first || !failed))
            cli_error(&command_alerts, "%s%s", error, first ? "" : "; trying again");
        failed = err != 0;
        if (err && first)
            return EXIT_FAILED;
        if (!err) {
            if (last_lines_init(&last, first ? limit : OUTPUT_RECENT_ALERTS) == 0) {
                add_live(arguments, reply.message, &after, &last);
                last_lines_print(&last);
            }
            last_lines_clear(&last);
            query_free_reply(&reply);
            first = false;
        }
        if (!arguments->follow)
            break;
        if (fflush(stdout) == EOF)
            code = EXIT_FAILED;
        pause_ms(LIVE_WAIT_MS);
    }
    return code;
}

/* --- Command -------------------------------------------------------------------------------------- */

/* Prints alerts from the event file of the configuration, or from the daemon if it writes no such file. */
static int print_default(struct arguments *arguments)
{
    char path[4096], error[ENGINE_ERROR_SIZE];
    struct diag *diag = diag_new(); /* not printed: the daemon has reported the mistakes */
    struct config *config = NULL;
    struct log_options log;
    int code = diag ? cli_load_config(&arguments->query.input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG, &config, diag)
                    : EXIT_FAILED;

    if (!code) {
        config_fill(config, output_settings, NULL, &log);
        if (!log.eve || log.eve_type != OUTPUT_FILE_REGULAR) {
            code = print_live(arguments);
        } else if (setup_eve_path(config, NULL, path, sizeof(path), error)) {
            cli_error(&command_alerts, "%s", error);
            code = EXIT_FAILED;
        } else {
            code = print_file(arguments, path);
        }
    }
    config_free(config);
    diag_free(diag);
    return code;
}

static int run_alerts(int argc, char **argv)
{
    struct arguments arguments = { .limit = DEFAULT_LIMIT };
    struct query *query = &arguments.query;
    int code = query_init(query, &command_alerts, argc);

    if (code)
        return code;
    code = cli_parse_without_arguments(&command_alerts, argc, argv, handle_option, &arguments, &query->input.settings);
    if (code < 0 && arguments.live)
        code = print_live(&arguments);
    else if (code < 0 && arguments.file)
        code = print_file(&arguments, arguments.file);
    else if (code < 0)
        code = print_default(&arguments);
    query_clear(query);
    return code;
}

const struct command command_alerts = {
    .name = "alerts",
    .usage = "[OPTION]...",
    .summary = "Print the last alerts, one line each, and new ones with --follow",
    .help =
        "Reads the event file (eve.filename), which has all alerts, across rotations; with --live the memory of the "
        "daemon,\n"
        "which has the last 1024. A line has time, ALERT, DROP or WOULD_DROP, [gid:sid:rev], message, "
        "[classification,\n"
        "priority], {protocol}, source, destination, application protocol and queue. With --json: the events, one "
        "per line.",
    .options = options,
    .run = run_alerts,
};
