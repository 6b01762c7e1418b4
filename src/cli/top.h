/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live view: the model of `sluice top`. It turns two answers of the daemon into tables, and tables into lines of text
 * of a given size. It knows neither ncurses nor the control socket, so tests check it without a terminal.
 *
 * Threads:   none; an object belongs to one thread.
 * Ownership: the model owns its tables; their texts are valid until the next top_model_update().
 */
#ifndef SLUICE_CLI_TOP_H
#define SLUICE_CLI_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/control.h"

enum top_panel { TOP_QUEUES, TOP_TALKERS, TOP_FLOWS, TOP_RULES, TOP_DROPS, TOP_ALERTS, TOP_PANELS };

/* How a line is displayed. */
enum top_style { TOP_NORMAL, TOP_BOLD, TOP_HEADING, TOP_GOOD, TOP_WARNING, TOP_BAD, TOP_DIM, TOP_STYLES };

enum { TOP_MAX_COLUMNS = 12, TOP_FILTER_SIZE = 48, TOP_WIDTH = 80, TOP_HEIGHT = 24, TOP_MAX_WIDTH = 400 };

struct top_column {
    const char *title;
    uint8_t width, narrow; /* in characters; `narrow`: on screens narrower than TOP_WIDE. 0: hidden */
    bool left;             /* aligned to the left; numbers are aligned to the right */
    bool grows;            /* uses the free width of the screen; true for one column of a table */
    bool ascending;        /* sorted from low to high (names); numbers are sorted from high to low */
};
enum { TOP_WIDE = 115 };

struct top_row {
    enum top_style style;
    const char *cell[TOP_MAX_COLUMNS];
    double key[TOP_MAX_COLUMNS]; /* sort key of a cell; rows with equal keys are sorted by the text */
};

struct top_table {
    const char *title;
    const struct top_column *columns;
    unsigned column_count;
    unsigned sort; /* column by which the rows are sorted at the start */
    struct top_row *rows;
    size_t count, capacity;
};

struct top_model;
int top_model_new(struct top_model **out);    /* 0 or -ENOMEM */
void top_model_free(struct top_model *model); /* NULL is allowed */
/* Takes over and shows `reply`, the daemon's answer to the command `top`; the model frees it. Rates are averages since
 * the previous answer of the same engine. */
void top_model_update(struct top_model *model, struct control_reply *reply);
/* Stores why the daemon does not answer, which top_render() shows; "": it answers. */
void top_model_set_error(struct top_model *model, const char *error);
const struct top_table *top_model_table(const struct top_model *model, enum top_panel panel);

/* The choices of the user, which keys change. */
struct top_view {
    unsigned width, height; /* of the screen; height 0: as many lines as the tables need */
    bool utf8;              /* the terminal displays UTF-8 */
    bool paused, help;
    bool typing;  /* the user types the filter */
    bool reverse; /* sort in the opposite order */
    enum top_panel panel;
    int sort[TOP_PANELS];         /* column to sort by; -1: the default */
    size_t scroll[TOP_PANELS];    /* first row that is shown */
    char filter[TOP_FILTER_SIZE]; /* only rows that contain this text are shown; "": all */
};
void top_view_init(struct top_view *view);

enum { TOP_LINE_SIZE = 4 * TOP_MAX_WIDTH + 1 };
struct top_line {
    enum top_style style;
    char text[TOP_LINE_SIZE]; /* at most view.width columns; no control characters */
};
struct top_screen {
    struct top_line *lines;
    size_t count, capacity;
};
/* Writes the lines of the screen. Also limits view->scroll to the rows that exist. Returns 0 or -ENOMEM. */
int top_render(struct top_model *model, struct top_view *view, struct top_screen *screen);
void top_screen_clear(struct top_screen *screen);

/* Keys that have no ASCII character; other keys are passed to top_handle_key() as ASCII. */
enum top_key {
    TOP_KEY_UP = 256,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_BACK_TAB,
    TOP_KEY_BACKSPACE
};
/* Changes the view as a key demands. Returns false for the key that ends the program. */
bool top_handle_key(const struct top_model *model, struct top_view *view, int key);

/* Writes `value` with at most 5 characters: "0", "9.5", "123", "12.3k", "98.1M". */
enum { TOP_NUMBER_SIZE = 16 };
void top_number(char out[TOP_NUMBER_SIZE], double value);
/* Appends `text` in exactly `width` columns; cut, or filled with spaces at the end (`left`) or at the start. Control
 * characters, and those that the terminal cannot display, become `?`. Returns the new length of `out`. */
size_t top_put(char *out, size_t length, size_t size, const char *text, unsigned width, bool left, bool utf8);

#endif
