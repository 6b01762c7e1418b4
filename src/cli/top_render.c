/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live view: lines of text from the tables.
 *
 *     line 1        program, uptime, mode, rules, time
 *     lines 2 to 5  traffic, verdicts, flows, losses
 *     then          queues, the selected panel, and on larger screens the other panels
 *     last line     panels and keys
 */
#include "top_priv.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <wchar.h>

#include "sluice/utf8.h"

enum {
    HEADER_LINES = 5,
    MIN_WIDTH = 40,
    MIN_HEIGHT = 10,
    QUEUE_ROWS = 4,  /* minimum number of queues above another panel on a small screen */
    PANEL_LINES = 9, /* least height of a panel when several are shown */
    SCROLL_PAGE = 10,
};

/* --- Text ----------------------------------------------------------------------------------------- */

void top_number(char out[TOP_NUMBER_SIZE], double value)
{
    static const char units[] = " kMGTPE";
    unsigned unit = 0;

    while (value >= 999.5 && unit < sizeof(units) - 2) {
        value /= 1000;
        unit++;
    }
    if (unit == 0)
        snprintf(out, TOP_NUMBER_SIZE, value > 0 && value < 9.95 && value != (double)(int)value ? "%.1f" : "%.0f",
                 value);
    else
        snprintf(out, TOP_NUMBER_SIZE, value < 99.95 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

size_t top_put(char *out, size_t length, size_t size, const char *text, unsigned width, bool left, bool utf8)
{
    const uint8_t *at = (const uint8_t *)text;
    size_t left_over = strlen(text), begin = length;
    unsigned columns = 0;

    while (left_over > 0 && columns < width && length + 4 < size) {
        size_t bytes = at[0] < 0x80 ? 1 : utf8_length(at, left_over);
        uint32_t point = bytes > 0 ? utf8_code_point(at, bytes) : 0;
        int wide = point >= 0x80 && utf8 && !utf8_is_control(point) ? wcwidth((wchar_t)point) : 0;

        if (point >= 0x20 && point < 0x7f) {
            out[length++] = (char)point;
            columns++;
        } else if (wide > 0 && columns + (unsigned)wide <= width) {
            memcpy(out + length, at, bytes);
            length += bytes;
            columns += (unsigned)wide;
        } else if (wide > 0) {
            break; /* a wide character does not fit in the last column */
        } else {
            out[length++] = '?';
            columns++;
        }
        at += bytes > 0 ? bytes : 1;
        left_over -= bytes > 0 ? bytes : 1;
    }
    if (columns < width && length + (width - columns) < size) {
        if (left) {
            memset(out + length, ' ', width - columns);
        } else {
            memmove(out + begin + (width - columns), out + begin, length - begin);
            memset(out + begin, ' ', width - columns);
        }
        length += width - columns;
    }
    out[length] = '\0';
    return length;
}

/* --- Lines ---------------------------------------------------------------------------------------- */

/* Returns the next line of the screen; NULL when out of memory. */
static struct top_line *add_line(struct top_screen *screen, enum top_style style)
{
    if (screen->count == screen->capacity) {
        size_t capacity = screen->capacity ? 2 * screen->capacity : 64;
        struct top_line *lines = realloc(screen->lines, capacity * sizeof(*lines));

        if (!lines)
            return NULL;
        screen->lines = lines;
        screen->capacity = capacity;
    }
    screen->lines[screen->count].style = style;
    screen->lines[screen->count].text[0] = '\0';
    return &screen->lines[screen->count++];
}

static void put_line(struct top_screen *screen, const struct top_view *view, enum top_style style, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/* Adds a line, which fills the width of the screen. */
static void put_line(struct top_screen *screen, const struct top_view *view, enum top_style style, const char *format,
                     ...)
{
    struct top_line *line = add_line(screen, style);
    char text[TOP_LINE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (line)
        top_put(line->text, 0, sizeof(line->text), text, view->width, true, view->utf8);
}

void top_screen_clear(struct top_screen *screen)
{
    free(screen->lines);
    *screen = (struct top_screen){ NULL, 0, 0 };
}

/* --- Header --------------------------------------------------------------------------------------- */

/* A rate as text; "-" as long as it is not known. */
static const char *rate_text(const struct top_model *model, char out[TOP_NUMBER_SIZE], double value)
{
    top_number(out, value);
    return model->seconds > 0 ? out : "-";
}

/* Writes the history of the packet rate as a line of bars, the newest at the right. */
static void history_text(const struct top_model *model, bool utf8, unsigned width, char *out, size_t size)
{
    static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char plain[] = " .:-=+*#@";
    unsigned count = model->history_count < width ? model->history_count : width;
    double most = 0;
    size_t length = 0;

    for (unsigned i = TOP_HISTORY - count; i < TOP_HISTORY; i++)
        most = model->history[i] > most ? model->history[i] : most;
    out[0] = '\0';
    for (unsigned i = TOP_HISTORY - count; i < TOP_HISTORY && length + 4 < size; i++) {
        unsigned level = most > 0 ? (unsigned)(model->history[i] / most * 8 + 0.5) : 0;

        if (level == 0 && model->history[i] > 0)
            level = 1;
        length +=
            (size_t)snprintf(out + length, size - length, "%.*s", utf8 ? 4 : 1, utf8 ? bars[level] : &plain[level]);
    }
}

static void put_header(struct top_model *model, const struct top_view *view, struct top_screen *screen)
{
    const struct control_value *now = model->now.message;
    const struct control_value *ips = control_value_member(now, "ips");
    const char *mode = control_value_string(control_value_member(ips, "mode"));
    const char *version = control_value_string(control_value_member(now, "version"));
    int64_t uptime = top_value(now, "uptime");
    char a[TOP_NUMBER_SIZE], b[TOP_NUMBER_SIZE], c[TOP_NUMBER_SIZE], d[TOP_NUMBER_SIZE], e[TOP_NUMBER_SIZE];
    char history[TOP_LINE_SIZE], left[256];
    double queued = top_queues_rate(model, "packets");
    double offloaded = top_total_rate(model, "stats.firewall.offload.accepted_packets") +
                       top_total_rate(model, "stats.firewall.offload.dropped_packets");
    double lost = top_queues_rate(model, "queue_dropped") + top_queues_rate(model, "user_dropped");
    double events = 0, uninspected = top_total_rate(model, "stats.ips.uninspected.fail_open") +
                                     top_total_rate(model, "stats.ips.uninspected.bypass");
    unsigned overloaded = 0;

    for (size_t i = 0; i < model->tables[TOP_QUEUES].count; i++)
        overloaded += strcmp(model->tables[TOP_QUEUES].rows[i].cell[10], "ok") != 0;
    for (unsigned i = 0; i < 3; i++) {
        static const char *const names[] = { "stats.output.alert.lost", "stats.output.drop.lost",
                                             "stats.output.flow.lost" };

        events += top_total_rate(model, names[i]);
    }
    snprintf(left, sizeof(left),
             "sluice %s  up %" PRId64 "d %02" PRId64 ":%02" PRId64 ":%02" PRId64 "  mode %s  %" PRId64
             " rules (generation %" PRId64 ")",
             version ? version : "", uptime / 86400, uptime / 3600 % 24, uptime / 60 % 60, uptime % 60,
             mode ? mode : "-", top_value(now, "stats.detect.engines.0.rules_loaded"), top_value(now, "generation"));
    put_line(screen, view, TOP_BOLD, "%-*s %s", (int)view->width - 9, left, model->clock);

    snprintf(left, sizeof(left), "Traffic   %5s packets/s   %5s bit/s   ", rate_text(model, a, queued),
             rate_text(model, b, 8 * top_queues_rate(model, "bytes")));
    history_text(model, view->utf8, view->width > strlen(left) ? view->width - (unsigned)strlen(left) : 0, history,
                 sizeof(history));
    put_line(screen, view, TOP_NORMAL, "%s%s", left, history);
    put_line(
        screen, view, TOP_NORMAL, "Verdicts  %5s accepted/s  %5s dropped/s  %5s would drop/s  %5s alerts/s",
        rate_text(model, a, top_total_rate(model, "stats.ips.accepted")),
        rate_text(model, b, top_total_rate(model, "stats.ips.blocked") + top_total_rate(model, "stats.ips.rejected")),
        rate_text(model, c, top_total_rate(model, "stats.ips.would_drop")),
        rate_text(model, d, top_total_rate(model, "stats.detect.alert")));
    top_number(a, (double)top_value(now, "stats.flow.active"));
    top_number(e, queued + offloaded > 0 ? 100 * offloaded / (queued + offloaded) : 0);
    put_line(screen, view, TOP_NORMAL, "Flows     %5s active  %5s new/s   offloaded: %s %% of packets, %s bit/s", a,
             rate_text(model, b, top_total_rate(model, "stats.flow.total")), model->seconds > 0 ? e : "-",
             rate_text(model, d,
                       8 * (top_total_rate(model, "stats.firewall.offload.accepted_bytes") +
                            top_total_rate(model, "stats.firewall.offload.dropped_bytes"))));
    put_line(screen, view, lost > 0 || events > 0 || overloaded > 0 || uninspected > 0 ? TOP_BAD : TOP_NORMAL,
             "Lost      %5s packets/s  %5s events/s  %5s uninspected/s  %u/%zu overloaded", rate_text(model, a, lost),
             rate_text(model, b, events), rate_text(model, c, uninspected), overloaded,
             model->tables[TOP_QUEUES].count);
}

/* --- Tables --------------------------------------------------------------------------------------- */

static unsigned sort_column(const struct top_table *table, const struct top_view *view, enum top_panel panel)
{
    int column = view->sort[panel];

    return column >= 0 && (unsigned)column < table->column_count ? (unsigned)column : table->sort;
}

static unsigned column_width(const struct top_table *table, unsigned column, unsigned width)
{
    return width < TOP_WIDE ? table->columns[column].narrow : table->columns[column].width;
}

struct sort_order {
    unsigned column;
    bool ascending;
};

static int compare_rows(const void *left, const void *right, void *user)
{
    const struct top_row *a = left, *b = right;
    const struct sort_order *order = user;
    int result = (a->key[order->column] > b->key[order->column]) - (a->key[order->column] < b->key[order->column]);

    if (result == 0 && a->cell[order->column] && b->cell[order->column])
        result = strverscmp(a->cell[order->column], b->cell[order->column]);
    return order->ascending ? result : -result;
}

static bool matches(const struct top_row *row, unsigned columns, const char *filter)
{
    for (unsigned i = 0; i < columns; i++)
        if (row->cell[i] && strcasestr(row->cell[i], filter))
            return true;
    return !filter[0];
}

static void put_heading(struct top_screen *screen, const struct top_view *view, const struct top_table *table,
                        unsigned sort, unsigned extra)
{
    struct top_line *line = add_line(screen, TOP_HEADING);
    size_t length = 0;

    for (unsigned i = 0; line && i < table->column_count; i++) {
        unsigned width = column_width(table, i, view->width);
        char title[32];

        width += table->columns[i].grows ? extra : 0;
        if (width == 0 || length + (length > 0) + width > view->width)
            continue;
        snprintf(title, sizeof(title), "%s%s", i == sort && table->columns[i].title[0] ? "*" : "",
                 table->columns[i].title);
        if (length > 0)
            length = top_put(line->text, length, sizeof(line->text), "", 1, true, false);
        length = top_put(line->text, length, sizeof(line->text), title, width, table->columns[i].left, false);
    }
    if (line && length < view->width)
        top_put(line->text, length, sizeof(line->text), "", view->width - (unsigned)length, true, false);
}

/* Adds the heading of a table and up to `rows` of its rows. */
static void put_table(struct top_model *model, struct top_view *view, struct top_screen *screen, enum top_panel panel,
                      size_t rows)
{
    struct top_table *table = &model->tables[panel];
    struct sort_order order = { .column = sort_column(table, view, panel) };
    unsigned used = 0, extra;
    size_t shown = 0, skipped = 0, matching = 0;

    order.ascending = table->columns[order.column].ascending != view->reverse;
    if (table->count > 0)
        qsort_r(table->rows, table->count, sizeof(*table->rows), compare_rows, &order);
    for (unsigned i = 0; i < table->column_count; i++) {
        unsigned width = column_width(table, i, view->width);

        used += width > 0 ? width + 1 : 0;
    }
    extra = view->width + 1 > used ? view->width + 1 - used : 0;
    put_heading(screen, view, table, order.column, extra);
    for (size_t i = 0; i < table->count; i++)
        matching += matches(&table->rows[i], table->column_count, view->filter);
    if (view->scroll[panel] + 1 > matching)
        view->scroll[panel] = matching > 0 ? matching - 1 : 0;
    for (size_t i = 0; i < table->count && shown < rows; i++) {
        const struct top_row *row = &table->rows[i];
        struct top_line *line;
        size_t length = 0;
        unsigned columns = 0;

        if (!matches(row, table->column_count, view->filter))
            continue;
        if (skipped < view->scroll[panel]) {
            skipped++;
            continue;
        }
        line = add_line(screen, row->style);
        for (unsigned k = 0; line && k < table->column_count; k++) {
            unsigned width = column_width(table, k, view->width) + (table->columns[k].grows ? extra : 0);
            const char *cell = row->cell[k] ? row->cell[k] : "";

            if (width == 0 || columns + (columns > 0) + width > view->width)
                continue;
            if (columns > 0)
                length = top_put(line->text, length, sizeof(line->text), "", 1, true, false);
            length = top_put(line->text, length, sizeof(line->text), cell, width, table->columns[k].left, view->utf8);
            columns += width + (columns > 0);
        }
        shown++;
    }
    if (shown == 0 && rows > 0)
        put_line(screen, view, TOP_DIM, "  %s", table->count > 0 ? "(no row contains the filter)" : "(none)");
}

static size_t needed_lines(const struct top_model *model, enum top_panel panel)
{
    return 1 + (model->tables[panel].count > 0 ? model->tables[panel].count : 1);
}

/* Divides `room` lines among the queues, the selected panel, and further panels if there is room for them. */
static void put_tables(struct top_model *model, struct top_view *view, struct top_screen *screen, size_t room)
{
    size_t queues = needed_lines(model, TOP_QUEUES), height[TOP_PANELS], count = 0;
    enum top_panel panels[TOP_PANELS];
    bool grown = true;

    if (view->panel != TOP_QUEUES && queues > QUEUE_ROWS + 1 && queues > room / 3)
        queues = room / 3 > QUEUE_ROWS + 1 ? room / 3 : QUEUE_ROWS + 1;
    if (queues > room)
        queues = room;
    put_table(model, view, screen, TOP_QUEUES, queues - 1);
    room -= queues;
    /* The selected panel is first; the others follow in their order as long as each gets PANEL_LINES, or all that it
     * needs. */
    for (unsigned i = 0; i < TOP_PANELS; i++) {
        enum top_panel panel = (view->panel + i) % TOP_PANELS;
        size_t least = needed_lines(model, panel) < PANEL_LINES ? needed_lines(model, panel) : PANEL_LINES;

        if (panel == TOP_QUEUES || room < (panel == view->panel ? 2 : least))
            continue;
        height[count] = least < room ? least : room;
        room -= height[count];
        panels[count++] = panel;
    }
    /* The lines that are left go to the panels that need more, in turn. */
    while (room > 0 && grown) {
        grown = false;
        for (size_t i = 0; i < count && room > 0; i++) {
            if (height[i] >= needed_lines(model, panels[i]))
                continue;
            height[i]++;
            room--;
            grown = true;
        }
    }
    for (size_t i = 0; i < count; i++)
        put_table(model, view, screen, panels[i], height[i] - 1);
}

/* --- Screen --------------------------------------------------------------------------------------- */

static void put_help(const struct top_view *view, struct top_screen *screen)
{
    static const char *const lines[] = {
        "Keys of sluice top",
        "",
        "  Tab, Shift-Tab     next, previous panel; 1 to 6: Queues, Talkers, Flows, Rules,",
        "                     Drops, Alerts",
        "  Up, Down, PgUp,    scroll the panel; Home: its first row",
        "  PgDn",
        "  Left, Right, s     sort by the previous or next column (the one with *)",
        "  R                  sort in the opposite order",
        "  /                  show only rows that contain a text; Enter ends the input,",
        "                     Esc removes the filter",
        "  p, Space           pause, and continue",
        "  h, ?               show and leave this help",
        "  q                  quit",
        "",
        "AGE: how long the last packet had waited; P99 AGE: not exceeded by 99 % of the packets",
        "since the start. LOST: packets that the kernel dropped because a queue was full.",
        "STATE: OVER: overloaded; SHED: overloaded, and flows are bypassed (overload.shed).",
        "COST%, US/EVAL: share of a CPU, and microseconds of an evaluation, if rules are timed",
        "(detect.rule-budget). Talkers: flows that end between two updates are not counted.",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]) && screen->count < view->height; i++)
        put_line(screen, view, i == 0 ? TOP_BOLD : TOP_NORMAL, "%s", lines[i]);
}

static void put_footer(const struct top_model *model, const struct top_view *view, struct top_screen *screen)
{
    char panels[96] = "";
    size_t length = 0;

    for (unsigned i = 0; i < TOP_PANELS; i++)
        length += (size_t)snprintf(panels + length, sizeof(panels) - length, i == view->panel ? "[%s]" : " %s ",
                                   model->tables[i].title);
    if (view->typing)
        put_line(screen, view, TOP_HEADING, "Filter: %s_   (Enter: done, Esc: no filter)", view->filter);
    else if (view->help)
        put_line(screen, view, TOP_HEADING, "h: leave the help  q: quit");
    else if (view->filter[0])
        put_line(screen, view, TOP_HEADING, "%s %sfilter: %s", panels, view->paused ? "PAUSED " : "", view->filter);
    else
        put_line(screen, view, TOP_HEADING, "%s %s", panels,
                 view->paused ? "PAUSED  p:continue" : "Tab s:sort /:filter p h:help q");
}

int top_render(struct top_model *model, struct top_view *view, struct top_screen *screen)
{
    bool whole = view->height == 0;

    screen->count = 0;
    if (view->width > TOP_MAX_WIDTH)
        view->width = TOP_MAX_WIDTH;
    if (!whole && (view->width < MIN_WIDTH || view->height < MIN_HEIGHT)) {
        put_line(screen, view, TOP_BAD, "needs %d x %d", TOP_WIDTH, TOP_HEIGHT);
        return screen->lines ? 0 : -ENOMEM;
    }
    if (view->help) {
        put_help(view, screen);
    } else if (model->error[0] || !model->now.whole) {
        put_line(screen, view, TOP_BAD, "%s",
                 model->error[0] ? "The daemon does not answer. Trying again." : "Waiting for the daemon.");
        for (size_t at = 0; at < strlen(model->error); at += view->width)
            put_line(screen, view, TOP_NORMAL, "%s", model->error + at);
    } else if (whole) {
        put_header(model, view, screen);
        for (enum top_panel panel = 0; panel < TOP_PANELS; panel++) {
            put_line(screen, view, TOP_NORMAL, "%s", "");
            put_line(screen, view, TOP_BOLD, "%s", model->tables[panel].title);
            put_table(model, view, screen, panel, SIZE_MAX);
        }
    } else {
        put_header(model, view, screen);
        put_tables(model, view, screen, view->height - HEADER_LINES - 1);
    }
    if (!whole) {
        while (screen->count + 1 < view->height && add_line(screen, TOP_NORMAL))
            continue;
        put_footer(model, view, screen);
    }
    return screen->lines ? 0 : -ENOMEM;
}

/* --- Keys ----------------------------------------------------------------------------------------- */

void top_view_init(struct top_view *view)
{
    *view = (struct top_view){ .width = TOP_WIDTH, .height = TOP_HEIGHT, .panel = TOP_TALKERS };
    for (unsigned i = 0; i < TOP_PANELS; i++)
        view->sort[i] = -1;
}

/* Selects the next or previous column that is shown. */
static void move_sort(const struct top_table *table, struct top_view *view, int step)
{
    int column = (int)sort_column(table, view, view->panel), count = (int)table->column_count;

    do
        column = (column + step + count) % count;
    while (column_width(table, (unsigned)column, view->width) == 0 || !table->columns[column].title[0]);
    view->sort[view->panel] = column;
    view->scroll[view->panel] = 0;
}

static void type_filter(struct top_view *view, int key)
{
    size_t length = strlen(view->filter);

    if (key == '\n' || key == '\r') {
        view->typing = false;
    } else if (key == 27) {
        view->typing = false;
        view->filter[0] = '\0';
    } else if (key == TOP_KEY_BACKSPACE || key == 127 || key == 8) {
        if (length > 0)
            view->filter[length - 1] = '\0';
    } else if (key >= 0x20 && key < 0x7f && length + 1 < sizeof(view->filter)) {
        view->filter[length] = (char)key;
        view->filter[length + 1] = '\0';
    }
    memset(view->scroll, 0, sizeof(view->scroll));
}

bool top_handle_key(const struct top_model *model, struct top_view *view, int key)
{
    const struct top_table *table = &model->tables[view->panel];
    size_t *scroll = &view->scroll[view->panel];

    if (view->typing) {
        type_filter(view, key);
        return true;
    }
    if (key >= '1' && key < '1' + TOP_PANELS)
        view->panel = (enum top_panel)(key - '1');
    else if (key == '\t')
        view->panel = (view->panel + 1) % TOP_PANELS;
    else if (key == TOP_KEY_BACK_TAB)
        view->panel = (view->panel + TOP_PANELS - 1) % TOP_PANELS;
    else if (key == 's' || key == TOP_KEY_RIGHT || key == '>')
        move_sort(table, view, 1);
    else if (key == TOP_KEY_LEFT || key == '<')
        move_sort(table, view, -1);
    else if (key == 'R')
        view->reverse = !view->reverse;
    else if (key == TOP_KEY_UP || key == TOP_KEY_PAGE_UP)
        *scroll -= *scroll < (key == TOP_KEY_UP ? 1 : SCROLL_PAGE) ? *scroll : (key == TOP_KEY_UP ? 1 : SCROLL_PAGE);
    else if (key == TOP_KEY_DOWN || key == TOP_KEY_PAGE_DOWN)
        *scroll += key == TOP_KEY_DOWN ? 1 : SCROLL_PAGE; /* top_render() limits it */
    else if (key == TOP_KEY_HOME)
        *scroll = 0;
    else if (key == '/')
        view->typing = true;
    else if (key == 27)
        view->filter[0] = '\0';
    else if (key == 'p' || key == ' ')
        view->paused = !view->paused;
    else if (key == 'h' || key == '?')
        view->help = !view->help;
    else if (key == 'q')
        return false;
    return true;
}
