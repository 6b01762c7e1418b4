/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsed data of the content family, and dependencies between its conditions.
 *
 * A content or pcre that matched is retried at a later position when a following condition fails and depends on the
 * position. The rules for this are Suricata's (narrower than "a relative condition follows") because they decide
 * whether a rule matches; they are applied when the rule is complete:
 *
 *   - within and a negated distance depend on the content or pcre before them in the buffer; a plain distance depends
 * only on a pcre: the first occurrence of a content leaves the most room, so a later one cannot help;
 *   - pcre /R depends on the content or pcre before it;
 *   - isdataat and the byte keywords depend, in a selected buffer, on the content or pcre before them, and in the
 * payload on the condition directly before them, if that is a content or pcre.
 */
#ifndef SLUICE_KEYWORD_CONDITION_H
#define SLUICE_KEYWORD_CONDITION_H

#include "sluice/keyword.h"

struct replacement; /* replace.c */

/* condition->data of a content. `content` is the first member: the parser hands out pointers to it. */
struct content_condition {
    struct content content;
    bool retry;                            /* later occurrences are tried when the rest of the rule fails */
    const struct replacement *replacement; /* replacement bytes, or NULL */
};

/* Records a match of the content, for the case that the rule matches. */
void replacement_note(const struct inspection *in, const struct replacement *replacement, uint32_t offset);
/* Returns 0, or -EINVAL when the rule inspects streams. */
int replacement_finish(struct rule_parser *parser, const struct content_condition *condition);

extern const struct keyword keyword_content, keyword_pcre;
/* The functions of keyword_content, for keywords with the same data. */
enum inspect_result content_inspect(struct inspection *in, const struct condition *condition,
                                    struct inspect_retry *retry);
int content_finish(struct rule_parser *parser, const struct condition *condition);

/* Returns the content directly before the next condition: the last condition of the payload, or in a selected buffer
 * the last content that no pcre follows. NULL for none. */
struct content *condition_content_before(struct rule_parser *parser);

/* Whether the current buffer has a content or pcre; the second function checks a buffer chosen by the keyword itself.
 */
bool condition_has_pattern(struct rule_parser *parser);
bool condition_has_pattern_in(struct rule_parser *parser, const struct keyword *keyword);

/* For finish(): whether `condition`, a content or pcre, is retried when the conditions after it fail. */
bool condition_needs_retry(struct rule_parser *parser, const struct condition *condition);

/* Returns the minimum number of bytes that the contents of the condition's buffer need: the first one with its offset,
 * plus those that follow one after the other. NULL means the payload. */
int64_t condition_required_bytes(struct rule_parser *parser, const struct condition *condition);

/* Returns the content that the modifier `name` changes; NULL after an error. */
struct content *condition_modified_content(struct rule_parser *parser, struct span value, const char *name);

/* Checks whether offset and depth (or, when `relative`, distance and within) may still be added. 0 or -EINVAL after an
 * error. */
int condition_check_position(struct rule_parser *parser, struct span value, const struct content *content,
                             const char *name, bool relative);

#endif
