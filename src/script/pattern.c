/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pattern is a sequence of items: a single character class with an optional repetition, a capture, %b, %f or a
 * reference to a capture. match_from() walks over the items; it calls itself for the rest of the pattern where a match
 * may have to be tried again, that is after a repetition and at the borders of a capture. Each comparison is a step.
 */
#include "pattern.h"

#include <ctype.h>
#include <string.h>

static size_t match_from(struct pattern *p, size_t at, size_t item);

static bool step(struct pattern *p)
{
    if (p->steps == 0)
        return false;
    p->steps--;
    return true;
}

static size_t fail(struct pattern *p, const char *error)
{
    if (!p->error)
        p->error = error;
    return PATTERN_NO_MATCH;
}

/* Returns the offset in the pattern after the single character class at `item`; PATTERN_NO_MATCH if it is malformed. */
static size_t end_of_class(struct pattern *p, size_t item)
{
    const uint8_t *pattern = p->pattern;
    size_t at = item + 1;

    if (pattern[item] == '%') {
        if (at == p->pattern_length)
            return fail(p, "malformed pattern (ends with '%')");
        return at + 1;
    }
    if (pattern[item] != '[')
        return at;
    if (at < p->pattern_length && pattern[at] == '^')
        at++;
    do { /* the first character of a set is part of it, even if it is ']' */
        if (at == p->pattern_length)
            return fail(p, "malformed pattern (missing ']')");
        if (pattern[at++] == '%')
            at++;
        if (at > p->pattern_length || !step(p))
            return fail(p, p->steps ? "malformed pattern (missing ']')" : NULL);
    } while (at == p->pattern_length || pattern[at] != ']');
    return at + 1;
}

static bool class_has(uint8_t class, uint8_t c)
{
    bool has;

    switch (tolower(class)) {
    case 'a':
        has = isalpha(c);
        break;
    case 'c':
        has = iscntrl(c);
        break;
    case 'd':
        has = isdigit(c);
        break;
    case 'g':
        has = isgraph(c);
        break;
    case 'l':
        has = islower(c);
        break;
    case 'p':
        has = ispunct(c);
        break;
    case 's':
        has = isspace(c);
        break;
    case 'u':
        has = isupper(c);
        break;
    case 'w':
        has = isalnum(c);
        break;
    case 'x':
        has = isxdigit(c);
        break;
    case 'z': /* of Lua 5.1 */
        has = c == 0;
        break;
    default:
        return class == c;
    }
    return has != (isupper(class) != 0);
}

/* Returns whether the set from offset `item`, its '[', up to `end`, behind its ']', has the character. */
static bool set_has(struct pattern *p, size_t item, size_t end, uint8_t c)
{
    const uint8_t *pattern = p->pattern;
    size_t at = item + 1, last = end - 1;
    bool negated = pattern[at] == '^';

    for (at += negated; at < last; at++) {
        if (!step(p))
            return false;
        if (pattern[at] == '%' && at + 1 < last) {
            if (class_has(pattern[++at], c))
                return !negated;
        } else if (at + 2 < last && pattern[at + 1] == '-') {
            if (pattern[at] <= c && c <= pattern[at + 2])
                return !negated;
            at += 2;
        } else if (pattern[at] == c) {
            return !negated;
        }
    }
    return negated;
}

/* Returns whether the text at offset `at` has a character of the class from `item` to `end`. */
static bool has_single(struct pattern *p, size_t at, size_t item, size_t end)
{
    if (at >= p->length || !step(p))
        return false;
    switch (p->pattern[item]) {
    case '.':
        return true;
    case '%':
        return class_has(p->pattern[item + 1], p->text[at]);
    case '[':
        return set_has(p, item, end, p->text[at]);
    default:
        return p->pattern[item] == p->text[at];
    }
}

/* The class, as often as possible; fewer times if the rest does not match. */
static size_t match_most(struct pattern *p, size_t at, size_t item, size_t end, size_t least)
{
    size_t count = 0;

    while (has_single(p, at + count, item, end))
        count++;
    for (;; count--) {
        size_t found = count < least ? PATTERN_NO_MATCH : match_from(p, at + count, end + 1);

        if (found != PATTERN_NO_MATCH || count <= least || p->steps == 0 || p->error)
            return found;
    }
}

/* The class, as rarely as possible. */
static size_t match_fewest(struct pattern *p, size_t at, size_t item, size_t end)
{
    for (;; at++) {
        size_t found = match_from(p, at, end + 1);

        if (found != PATTERN_NO_MATCH || p->error || !has_single(p, at, item, end))
            return found;
    }
}

/* %bxy: from the character x to the y that balances it. Returns the offset behind it. */
static size_t match_balance(struct pattern *p, size_t at, size_t item)
{
    uint8_t open, close;
    size_t depth = 1;

    if (item + 1 >= p->pattern_length)
        return fail(p, "malformed pattern (missing arguments to '%b')");
    open = p->pattern[item];
    close = p->pattern[item + 1];
    if (at >= p->length || p->text[at] != open)
        return PATTERN_NO_MATCH;
    for (at++; at < p->length && step(p); at++) {
        if (p->text[at] == close && --depth == 0)
            return at + 1;
        depth += p->text[at] == open && open != close;
    }
    return PATTERN_NO_MATCH;
}

static size_t start_capture(struct pattern *p, size_t at, size_t item, enum pattern_capture_kind kind)
{
    size_t found;

    if (p->capture_count == PATTERN_CAPTURES)
        return fail(p, "too many captures");
    p->captures[p->capture_count++] = (struct pattern_capture){ .kind = kind, .at = at };
    found = match_from(p, at, item);
    if (found == PATTERN_NO_MATCH)
        p->capture_count--;
    return found;
}

static size_t end_capture(struct pattern *p, size_t at, size_t item)
{
    struct pattern_capture *capture = NULL;
    size_t found;

    for (unsigned i = p->capture_count; i-- > 0 && !capture;) {
        if (p->captures[i].kind == PATTERN_CAPTURE_OPEN)
            capture = &p->captures[i];
    }
    if (!capture)
        return fail(p, "invalid pattern capture");
    capture->kind = PATTERN_CAPTURE_TEXT;
    capture->length = at - capture->at;
    found = match_from(p, at, item);
    if (found == PATTERN_NO_MATCH)
        capture->kind = PATTERN_CAPTURE_OPEN;
    return found;
}

/* %1: the text of a capture once more. Returns the offset behind it. */
static size_t match_reference(struct pattern *p, size_t at, uint8_t digit)
{
    const struct pattern_capture *capture;

    if (digit == '0' || digit - '0' > (int)p->capture_count)
        return fail(p, "invalid capture index");
    capture = &p->captures[digit - '1'];
    if (capture->kind != PATTERN_CAPTURE_TEXT)
        return fail(p, "invalid capture index");
    if (capture->length > p->length - at)
        return PATTERN_NO_MATCH;
    p->steps -= capture->length / 16 < p->steps ? capture->length / 16 : p->steps;
    return memcmp(p->text + capture->at, p->text + at, capture->length) == 0 ? at + capture->length : PATTERN_NO_MATCH;
}

/* %f[set]: an empty match where a character of the set follows one that is not in it. The text has a 0 before its start
 * and behind its end. */
static bool is_frontier(struct pattern *p, size_t at, size_t item, size_t end)
{
    uint8_t before = at == 0 ? 0 : p->text[at - 1], after = at < p->length ? p->text[at] : 0;

    return !set_has(p, item, end, before) && set_has(p, item, end, after);
}

/* Matches the items from `item` on at offset `at`; depth is limited by the caller. */
static size_t match_items(struct pattern *p, size_t at, size_t item)
{
    while (item < p->pattern_length && step(p)) {
        uint8_t c = p->pattern[item], next = item + 1 < p->pattern_length ? p->pattern[item + 1] : 0;
        size_t end;

        if (c == '(')
            return next == ')' ? start_capture(p, at, item + 2, PATTERN_CAPTURE_POSITION)
                               : start_capture(p, at, item + 1, PATTERN_CAPTURE_OPEN);
        if (c == ')')
            return end_capture(p, at, item + 1);
        if (c == '$' && item + 1 == p->pattern_length)
            return at == p->length ? at : PATTERN_NO_MATCH;
        if (c == '%' && next == 'b') {
            at = match_balance(p, at, item + 2);
            item += 4;
            if (at == PATTERN_NO_MATCH)
                return at;
            continue;
        }
        if (c == '%' && next == 'f') {
            item += 2;
            if (item >= p->pattern_length || p->pattern[item] != '[')
                return fail(p, "missing '[' after '%f' in pattern");
            end = end_of_class(p, item);
            if (end == PATTERN_NO_MATCH || !is_frontier(p, at, item, end))
                return PATTERN_NO_MATCH;
            item = end;
            continue;
        }
        if (c == '%' && next >= '0' && next <= '9') {
            at = match_reference(p, at, next);
            item += 2;
            if (at == PATTERN_NO_MATCH)
                return at;
            continue;
        }
        end = end_of_class(p, item);
        if (end == PATTERN_NO_MATCH)
            return PATTERN_NO_MATCH;
        switch (end < p->pattern_length ? p->pattern[end] : 0) {
        case '*':
            return match_most(p, at, item, end, 0);
        case '+':
            return match_most(p, at, item, end, 1);
        case '-':
            return match_fewest(p, at, item, end);
        case '?':
            if (has_single(p, at, item, end)) {
                size_t found = match_from(p, at + 1, end + 1);

                if (found != PATTERN_NO_MATCH)
                    return found;
            }
            item = end + 1;
            break;
        default:
            if (!has_single(p, at, item, end))
                return PATTERN_NO_MATCH;
            at++;
            item = end;
        }
    }
    return p->steps > 0 || item >= p->pattern_length ? at : PATTERN_NO_MATCH;
}

static size_t match_from(struct pattern *p, size_t at, size_t item)
{
    size_t found;

    if (p->error || p->steps == 0)
        return PATTERN_NO_MATCH;
    if (p->depth == PATTERN_DEPTH)
        return fail(p, "pattern too complex");
    p->depth++;
    found = match_items(p, at, item);
    p->depth--;
    return p->error ? PATTERN_NO_MATCH : found;
}

size_t pattern_match(struct pattern *p, size_t at)
{
    size_t found;

    p->capture_count = 0;
    p->depth = 0;
    found = match_from(p, at, 0);
    if (found == PATTERN_NO_MATCH)
        return found;
    for (unsigned i = 0; i < p->capture_count; i++) {
        if (p->captures[i].kind == PATTERN_CAPTURE_OPEN)
            return fail(p, "unfinished capture");
    }
    return found;
}
