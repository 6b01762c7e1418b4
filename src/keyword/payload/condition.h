/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data that content and keywords related to it share, and dependencies between conditions.
 *
 * If a condition does not match and depends on the position of an earlier content or pcre, that content or pcre is
 * retried at a later position. Which conditions depend on an earlier one affects whether a rule matches, so the
 * following definition is Suricata's, which has fewer cases than "every relative condition". It is applied when the
 * rule is complete (condition_needs_retry()):
 *
 *   - within and a negated content with distance depend on the content or pcre before them in the buffer;
 *   - a content with distance alone depends only on a pcre: after the first occurrence of a content, the searched
 *     part of the buffer is largest, so retrying it at a later occurrence cannot help;
 *   - pcre /R depends on the content or pcre before it;
 *   - relative isdataat and byte keywords depend, in a selected buffer, on the content or pcre before them, and in the
 *     payload on the condition directly before them, if it is a content or pcre.
 */
#ifndef SLUICE_KEYWORD_CONDITION_H
#define SLUICE_KEYWORD_CONDITION_H

#include "sluice/keyword.h"

struct replacement; /* defined in replace.c */

/* The data of a content condition (condition->data). `content` is the first member, because rule_parser_last_content()
 * returns a pointer to it that is converted to this structure. */
struct content_condition {
    struct content content;
    /* true: later occurrences are tried if a condition after this one does not match */
    bool retry;
    const struct replacement *replacement; /* what `replace` does with the matched bytes; NULL: nothing */
};

/* Records the offset of a match of the content, so that the bytes are replaced if the rule matches. */
void replacement_note(const struct inspection *in, const struct replacement *replacement, uint32_t offset);
/* For finish(): returns 0, or -EINVAL after reporting that the rule inspects streams, whose bytes cannot be replaced.
 */
int replacement_finish(struct rule_parser *parser, const struct content_condition *condition);

extern const struct keyword keyword_content, keyword_pcre;
/* inspect() and finish() of keyword_content, for other keywords whose data is a struct content_condition. */
enum inspect_result content_inspect(struct inspection *in, const struct condition *condition,
                                    struct inspect_retry *retry);
int content_finish(struct rule_parser *parser, const struct condition *condition);

/* Returns the content to which a following condition would be relative: in the payload, the last condition if it is a
 * content; in a selected buffer, the last content if no pcre follows it. Otherwise returns NULL. */
struct content *condition_content_before(struct rule_parser *parser);

/* Return whether a buffer of the rule has a content or pcre: the selected buffer, or the buffer `keyword` without
 * transforms. */
bool condition_has_pattern(struct rule_parser *parser);
bool condition_has_pattern_in(struct rule_parser *parser, const struct keyword *keyword);

/* For finish(): returns whether `condition`, a content or pcre, is retried if conditions after it do not match; see the
 * head of this file. */
bool condition_needs_retry(struct rule_parser *parser, const struct condition *condition);

/* Returns the minimum number of bytes that the contents of the condition's buffer need: the first content with its
 * offset, and the relative contents that follow it. `condition` NULL: the payload. */
int64_t condition_required_bytes(struct rule_parser *parser, const struct condition *condition);

/* Returns the content that the modifier `name` changes, or NULL after an error was reported. */
struct content *condition_modified_content(struct rule_parser *parser, struct span value, const char *name);

/* Checks whether the modifier `name` may be added to the content: offset or depth, or if `relative`, distance or
 * within. Returns 0, or -EINVAL after an error was reported. */
int condition_check_position(struct rule_parser *parser, struct span value, const struct content *content,
                             const char *name, bool relative);

#endif
