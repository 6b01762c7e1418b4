/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the content family shares: its parsed data, and who depends on whom.
 *
 * A content or pcre that matched is tried again further on when what follows fails and depends on the place. Which ones
 * are is decided here, when the rule is complete, by the rules of Suricata (which are narrower than "a relative one
 * follows"), because they decide whether a rule fires:
 *
 *   - within, and a negated distance, depend on the content or pcre before them in the buffer; a plain distance does on
 * a pcre only: the first occurrence of a content leaves the most room, so a later one can't help;
 *   - pcre /R depends on the content or pcre before it;
 *   - isdataat and the byte keywords depend, in a selected buffer, on the content or pcre before them, and in the
 * payload on the condition right before them, if that is a content or pcre.
 */
#ifndef SLUICE_KEYWORD_CONDITION_H
#define SLUICE_KEYWORD_CONDITION_H

#include "sluice/keyword.h"

struct replacement; /* replace.c */

/* condition->data of a content. `content` comes first: the parser hands out pointers to it. */
struct content_condition {
    struct content content;
    bool retry;                            /* further occurrences are tried */
    const struct replacement *replacement; /* what goes on instead of the bytes; NULL */
};

/* The content was found there: notes it for the case that the rule matches. */
void replacement_note(const struct inspection *in, const struct replacement *replacement, uint32_t offset);
/* 0, or -EINVAL when the rule turned out to be one for streams. */
int replacement_finish(struct rule_parser *parser, const struct content_condition *condition);

extern const struct keyword keyword_content, keyword_pcre;

/* The content right before what comes next: the last condition of the payload, or in a selected buffer the last content
 * that no pcre follows. NULL when there is none. */
struct content *condition_content_before(struct rule_parser *parser);

/* Whether the current buffer has a content or pcre; and one that a keyword chooses by itself. */
bool condition_has_pattern(struct rule_parser *parser);
bool condition_has_pattern_in(struct rule_parser *parser, const struct keyword *keyword);

/* For finish(): whether `condition`, a content or pcre, is tried again when what follows it fails. */
bool condition_needs_retry(struct rule_parser *parser, const struct condition *condition);

/* The bytes that the contents of a condition's buffer take up at least: the first one with its offset, and those that
 * follow one after the other. NULL is for the payload. */
int64_t condition_required_bytes(struct rule_parser *parser, const struct condition *condition);

/* The content that the modifier `name` changes; NULL after an error. */
struct content *condition_modified_content(struct rule_parser *parser, struct span value, const char *name);

/* Whether offset and depth (or, `relative`, distance and within) may still be added. 0 or -EINVAL after an error. */
int condition_check_position(struct rule_parser *parser, struct span value, const struct content *content,
                             const char *name, bool relative);

#endif
