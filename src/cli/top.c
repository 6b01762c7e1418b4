/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice top`: shows what the daemon does now, on a terminal (ncurses) or as text (--batch).
 *
 * A thread requests updates (the command `top` of the control socket), so that the terminal answers to keys while the
 * daemon is slow, restarts or does not run. The daemon never calls ncurses.
 */
#include "query.h"
#include "top.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    OPTION_BATCH = QUERY_OPTION_OWN,
    OPTION_COUNT,
    OPTION_INTERVAL,
    KEY_WAIT_MS = 100,
    UPDATE_SECONDS = 5, /* maximum time to wait for an answer */
    RULES = 50,
    TALKERS = 50,
    ALERTS = 200,
    MAX_INTERVAL = 3600,
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .id = OPTION_BATCH, .letter = 'b', .name = "batch", .help = "print text instead of using the terminal" },
    { .id = OPTION_COUNT,
      .letter = 'n',
      .name = "count",
      .argument = "NUMBER",
      .help = "end after NUMBER updates (1 to 1000000000; default: no end)" },
    { .id = OPTION_INTERVAL,
      .letter = 'i',
      .name = "interval",
      .argument = "SECONDS",
      .help = "seconds between two updates (1 to 3600; default 2)" },
    { .name = NULL },
};

struct arguments {
    struct query query;
    bool batch;
    unsigned long count, interval; /* number of updates, 0: no limit; seconds between two updates */
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_BATCH:
        arguments->batch = true;
        return 0;
    case OPTION_COUNT:
        return cli_number(&command_top, option, value, 1, 1000000000, &arguments->count);
    case OPTION_INTERVAL:
        return cli_number(&command_top, option, value, 1, MAX_INTERVAL, &arguments->interval);
    default:
        return query_handle_option(&arguments->query, option, value);
    }
}

/* --- Updates ------------------------------------------------------------------------------------- */

/* The thread that requests updates, and what it shares with the thread of the terminal (under `lock`). */
struct feed {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    char path[QUERY_PATH_SIZE];
    struct text request;
    unsigned interval;
    bool stop;
    struct control_reply reply;     /* the last answer, until the other thread takes it; `whole` NULL: none */
    char error[CONTROL_ERROR_SIZE]; /* error of the last request; "": none */
    unsigned long updates;
};

static int request_update(struct feed *feed, struct control_reply *reply, char error[CONTROL_ERROR_SIZE])
{
    error[0] = '\0';
    return control_send_request(feed->path, &feed->request, UPDATE_SECONDS, reply, error);
}

static void *run_feed(void *argument)
{
    struct feed *feed = argument;

    pthread_mutex_lock(&feed->lock);
    while (!feed->stop) {
        struct control_reply reply = { NULL, NULL };
        char error[CONTROL_ERROR_SIZE];
        struct timespec until;
        int err;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += feed->interval;
        pthread_mutex_unlock(&feed->lock);
        err = request_update(feed, &reply, error);
        pthread_mutex_lock(&feed->lock);
        if (!err) {
            control_value_free(feed->reply.whole);
            feed->reply = reply;
            feed->updates++;
        }
        memcpy(feed->error, error, sizeof(feed->error));
        /* the second update follows soon, so that the first rates are shown soon */
        if (feed->updates == 1)
            until.tv_sec -= feed->interval - 1;
        while (!feed->stop && pthread_cond_timedwait(&feed->wake, &feed->lock, &until) == 0)
            continue;
    }
    pthread_mutex_unlock(&feed->lock);
    return NULL;
}

/* --- Terminal ------------------------------------------------------------------------------------- */

static int key_of(int key)
{
    static const struct {
        int key;
        enum top_key means;
    } keys[] = {
        { KEY_UP, TOP_KEY_UP },       { KEY_DOWN, TOP_KEY_DOWN },           { KEY_LEFT, TOP_KEY_LEFT },
        { KEY_RIGHT, TOP_KEY_RIGHT }, { KEY_PPAGE, TOP_KEY_PAGE_UP },       { KEY_NPAGE, TOP_KEY_PAGE_DOWN },
        { KEY_HOME, TOP_KEY_HOME },   { KEY_BACKSPACE, TOP_KEY_BACKSPACE }, { KEY_BTAB, TOP_KEY_BACK_TAB },
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (keys[i].key == key)
            return keys[i].means;
    return key < 256 ? key : 0;
}

static void start_colours(attr_t styles[TOP_STYLES])
{
    const char *no_color = getenv("NO_COLOR");

    styles[TOP_NORMAL] = A_NORMAL;
    styles[TOP_BOLD] = styles[TOP_GOOD] = styles[TOP_WARNING] = styles[TOP_BAD] = A_BOLD;
    styles[TOP_HEADING] = A_REVERSE;
    styles[TOP_DIM] = A_DIM;
    if ((no_color && *no_color) || !has_colors() || start_color() == ERR)
        return;
    use_default_colors();
    init_pair(1, COLOR_GREEN, -1);
    init_pair(2, COLOR_YELLOW, -1);
    init_pair(3, COLOR_RED, -1);
    styles[TOP_GOOD] = COLOR_PAIR(1);
    styles[TOP_WARNING] = COLOR_PAIR(2);
    styles[TOP_BAD] = COLOR_PAIR(3) | A_BOLD;
}

static void draw(const struct top_screen *screen, const attr_t styles[TOP_STYLES])
{
    erase();
    for (size_t i = 0; i < screen->count && i < (size_t)LINES; i++) {
        attrset(styles[screen->lines[i].style]);
        mvaddstr((int)i, 0, screen->lines[i].text);
    }
    attrset(A_NORMAL);
    refresh();
}

/* Shows updates and handles keys until the user quits or `count` updates were shown. */
static int show(struct feed *feed, struct top_model *model, struct top_view *view, unsigned long count)
{
    struct top_screen screen = { NULL, 0, 0 };
    attr_t styles[TOP_STYLES];
    unsigned long shown = 0;
    int code = EXIT_OK;

    start_colours(styles);
    for (;;) {
        struct control_reply reply = { NULL, NULL };
        char error[CONTROL_ERROR_SIZE];
        int key;

        pthread_mutex_lock(&feed->lock);
        if (!view->paused) {
            reply = feed->reply;
            feed->reply = (struct control_reply){ NULL, NULL };
        }
        memcpy(error, feed->error, sizeof(error));
        pthread_mutex_unlock(&feed->lock);
        if (reply.whole) {
            top_model_update(model, &reply);
            shown++;
        }
        if (!view->paused)
            top_model_set_error(model, error);
        view->width = (unsigned)COLS;
        view->height = (unsigned)LINES;
        if (top_render(model, view, &screen)) {
            code = EXIT_FAILED;
            break;
        }
        draw(&screen, styles);
        if (count > 0 && shown >= count)
            break;
        key = getch();
        if (key != ERR && key != KEY_RESIZE && !top_handle_key(model, view, key_of(key)))
            break;
    }
    top_screen_clear(&screen);
    return code;
}

static int run_terminal(struct arguments *arguments, struct feed *feed, struct top_model *model, struct top_view *view)
{
    const char *type = getenv("TERM");
    pthread_condattr_t attributes;
    sigset_t all, before;
    SCREEN *terminal;
    int code;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        cli_error(&command_top, "stdin or stdout is no terminal; use --batch");
        return EXIT_FAILED;
    }
    terminal = newterm(NULL, stdout, stdin);
    if (!terminal) {
        cli_error(&command_top, "cannot use a terminal of type '%s' (TERM); use --batch", type ? type : "");
        return EXIT_FAILED;
    }
    set_escdelay(50);
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    curs_set(0);
    timeout(KEY_WAIT_MS);

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->wake, &attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals, such as SIGWINCH, are for the thread of the terminal */
    code = pthread_create(&feed->thread, NULL, run_feed, feed);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code == 0) {
        code = show(feed, model, view, arguments->count);
        pthread_mutex_lock(&feed->lock);
        feed->stop = true;
        pthread_cond_signal(&feed->wake);
        pthread_mutex_unlock(&feed->lock);
        endwin();
        pthread_join(feed->thread, NULL);
    } else {
        endwin();
        cli_error(&command_top, "cannot start a thread: %s", strerror(code));
        code = EXIT_FAILED;
    }
    delscreen(terminal);
    pthread_cond_destroy(&feed->wake);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_destroy(&feed->lock);
    return code;
}

/* --- Text ----------------------------------------------------------------------------------------- */

/* Prints updates. The first one only serves to compute the rates of the second. */
static int run_batch(struct arguments *arguments, struct feed *feed, struct top_model *model, struct top_view *view)
{
    struct top_screen screen = { NULL, 0, 0 };
    const char *columns = getenv("COLUMNS");
    uint64_t width = TOP_WIDTH;
    int code = EXIT_OK;

    if (columns && text_to_uint(columns, strlen(columns), TOP_WIDTH, TOP_MAX_WIDTH, &width))
        view->width = (unsigned)width;
    view->height = 0;
    for (unsigned long i = 0; code == EXIT_OK && (arguments->count == 0 || i <= arguments->count); i++) {
        struct control_reply reply = { NULL, NULL };
        char error[CONTROL_ERROR_SIZE];

        if (i > 0)
            sleep(feed->interval);
        if (request_update(feed, &reply, error)) {
            cli_error(&command_top, "%s", error);
            code = EXIT_FAILED;
            break;
        }
        top_model_update(model, &reply);
        if (i == 0)
            continue;
        if (top_render(model, view, &screen))
            code = EXIT_FAILED;
        for (size_t k = 0; k < screen.count; k++) {
            size_t length = strlen(screen.lines[k].text);

            while (length > 0 && screen.lines[k].text[length - 1] == ' ')
                length--;
            printf("%.*s\n", (int)length, screen.lines[k].text);
        }
        putchar('\n');
        if (fflush(stdout) == EOF)
            code = EXIT_FAILED;
    }
    top_screen_clear(&screen);
    return code;
}

static int run_top(int argc, char **argv)
{
    struct arguments arguments = { .interval = 2 };
    struct query *query = &arguments.query;
    struct feed feed = { .interval = 0 };
    struct top_model *model = NULL;
    struct top_view view;
    int code = query_init(query, &command_top, argc);

    if (code)
        return code;
    code = cli_parse_without_arguments(&command_top, argc, argv, handle_option, &arguments, &query->input.settings);
    if (code < 0)
        code = query_socket_path(query, feed.path);
    else
        goto clear_query;
    if (code)
        goto clear_query;
    code = EXIT_FAILED;
    query_begin(query, "top");
    json_uint(&query->request, "rules", RULES);
    json_uint(&query->request, "talkers", TALKERS);
    json_uint(&query->request, "alerts", ALERTS);
    json_object_close(&query->request);
    json_object_close(&query->request);
    feed.request = query->request;
    feed.interval = (unsigned)arguments.interval;
    top_view_init(&view);
    setlocale(LC_CTYPE, "");
    view.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (top_model_new(&model))
        cli_error(&command_top, "out of memory");
    else if (arguments.batch)
        code = run_batch(&arguments, &feed, model, &view);
    else
        code = run_terminal(&arguments, &feed, model, &view);
    top_model_free(model);
    control_value_free(feed.reply.whole);

clear_query:
    query_clear(query);
    return code;
}

const struct command command_top = {
    .name = "top",
    .usage = "[OPTION]...",
    .summary = "Show what the daemon does now: rates, queues, talkers, flows, rules, drops, alerts",
    .help = "On a terminal: h shows the keys, q quits. If the daemon does not run or restarts, the command waits for "
            "it.\n"
            "Colours are off if NO_COLOR is set. With --batch it prints text in COLUMNS columns (80 if unset), the "
            "first time\n"
            "after one interval.",
    .options = options,
    .run = run_top,
};
