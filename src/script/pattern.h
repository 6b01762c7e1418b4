/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of Lua (reference manual of Lua 5.4, §6.4.1), with a limited number of steps: Lua's own functions backtrack
 * without a limit.
 */
#ifndef SLUICE_SCRIPT_PATTERN_H
#define SLUICE_SCRIPT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PATTERN_CAPTURES = 32,
    PATTERN_DEPTH = 200, /* nested repetitions and captures */
};

enum pattern_capture_kind {
    PATTERN_CAPTURE_OPEN,     /* its end has not been reached */
    PATTERN_CAPTURE_TEXT,     /* the bytes from `at` on */
    PATTERN_CAPTURE_POSITION, /* (): the offset `at` */
};

struct pattern_capture {
    enum pattern_capture_kind kind;
    size_t at, length;
};

#define PATTERN_NO_MATCH SIZE_MAX

struct pattern {
    const uint8_t *text, *pattern; /* the subject, and the pattern without a `^` at its start */
    size_t length, pattern_length;
    uint64_t steps;    /* remaining; the search ends without a match at 0 */
    const char *error; /* of a malformed pattern, or NULL; then there is no match */
    unsigned capture_count;
    struct pattern_capture captures[PATTERN_CAPTURES];
    unsigned depth;
};

/* Matches the pattern at offset `at` of the text. Returns the offset of the end of the match, or PATTERN_NO_MATCH. */
size_t pattern_match(struct pattern *pattern, size_t at);

#endif
