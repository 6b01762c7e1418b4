/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choice of a rule's literal, which determines how often the rule becomes a candidate. The rule's author may choose it
 * (fast_pattern), unless that literal is in nearly all traffic; otherwise the strongest one is used: rare bytes count
 * more than letters, repeated bytes almost nothing, as in Suricata, so that both choose the same one for most rules.
 * Beyond MAX_USEFUL_LENGTH bytes, more length hardly makes a false candidate rarer.
 */
#include <string.h>

#include "detect_priv.h"

enum {
    MAX_USEFUL_LENGTH = 32,
    KNOWN_PLACE = 4,   /* strength: as much as one more byte */
    WEAK = 9,          /* strength: three letters, or less */
    COMMON_LENGTH = 4, /* shorter ones occur in any text */
    COMMON_STRENGTH = 6,
    PAYLOAD_ONLY = 12, /* minimum strength for the payload if the rule has no other literal */
};

static unsigned byte_strength(uint8_t byte)
{
    if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
        return 3;
    if ((byte >= 0x20 && byte < 0x7f) || byte == 0x00 || byte == 0x01 || byte == 0xff)
        return 4;
    return 6;
}

static unsigned strength(const uint8_t *bytes, size_t length)
{
    bool seen[256] = { false };
    unsigned sum = 0;

    for (size_t i = 0; i < length && i < MAX_USEFUL_LENGTH; i++) {
        sum += seen[bytes[i]] ? 1 : byte_strength(bytes[i]);
        seen[bytes[i]] = true;
    }
    return sum;
}

/* --- Position ------------------------------------------------------------------------------------- */

enum { FAR = 65536 /* larger numbers are treated as unknown: they might overflow */ };

static bool is_near(int32_t number, int8_t variable)
{
    return variable < 0 && number >= -FAR && number <= FAR;
}

/* The range of offsets in the buffer at which a match may end. */
struct place {
    uint32_t earliest, latest;
};

/* Returns the end of a content's window, relative to the buffer's start or, for a relative content, to the end of the
 * previous match. */
static uint32_t window_end(const struct content *content)
{
    bool relative = content->relative, has_start = relative ? content->has_distance : content->has_offset;
    int32_t start = relative ? content->distance : content->offset, size = relative ? content->within : content->depth;
    int64_t end = (int64_t)size + (has_start ? start : 0);

    if (!(relative ? content->has_within : content->has_depth) ||
        !is_near(size, relative ? content->within_value : content->depth_value) ||
        (has_start && !is_near(start, relative ? content->distance_value : content->offset_value)))
        return LITERAL_ANYWHERE;
    return end < 0 ? LITERAL_ANYWHERE : (uint32_t)end; /* a window before the buffer is no limit: content.c */
}

/* Returns the earliest start of the content in that window; INT32_MIN if its distance is unknown. */
static int64_t window_start(const struct content *content)
{
    if (content->relative) {
        bool known = content->has_distance && is_near(content->distance, content->distance_value);

        return known ? content->distance : content->has_distance ? INT32_MIN : 0;
    }
    return content->has_offset && is_near(content->offset, content->offset_value) ? content->offset : 0;
}

static struct place place_of(const struct content *content, struct place before)
{
    uint32_t window = window_end(content);
    int64_t start = window_start(content) + (content->relative ? before.earliest : 0);
    struct place place = { .earliest = (uint32_t)(start > 0 ? start : 0) + content->length, .latest = window };

    if (content->relative && window != LITERAL_ANYWHERE)
        place.latest = before.latest > FAR ? LITERAL_ANYWHERE : before.latest + window;
    return place;
}

/* Returns the range of the base after `condition`. */
static struct place place_after(const struct condition *condition, struct place before)
{
    const struct content *content = condition->keyword->literal ? condition->data : NULL;

    if (!content)
        return (struct place){ 0, LITERAL_ANYWHERE }; /* other conditions may move it anywhere */
    return content->negated ? before : place_of(content, before);
}

/* --- Choice --------------------------------------------------------------------------------------- */

static void fill_literal(struct literal *out, const struct condition *condition, const struct rule_buffer *buffer,
                         struct place end)
{
    const struct content *content = condition->keyword->literal(condition);

    out->condition = condition;
    out->precheck = (struct precheck){ .first = NULL };
    out->reach = end.latest;
    out->at = end.earliest == end.latest ? end.latest - content->length : LITERAL_ANYWHERE;
    out->bytes = content->bytes;
    out->length = content->length;
    if (content->fast_pattern_chop) {
        out->bytes += content->fast_pattern_offset;
        out->at += out->at == LITERAL_ANYWHERE ? 0 : content->fast_pattern_offset;
        out->length = content->fast_pattern_length;
    }
    if (out->length > LITERAL_MAX)
        out->length = LITERAL_MAX;
    out->is_part = out->length < content->length;
    out->is_whole = out->grows = false;
    out->nocase = content->nocase;
    out->buffer = buffer->keyword;
    out->rule_buffer = buffer;
}

/* Whether the buffer's literals may find the rule. A transaction rule is found by its transaction buffers only. */
static bool has_literal(const struct rule_buffer *buffer, bool of_transaction, unsigned directions)
{
    bool is_transaction = buffer->keyword && buffer->keyword->applications;

    return is_transaction == of_transaction && buffer->absence == BUFFER_PRESENT &&
           (buffer->directions == 0 || buffer->directions & directions);
}

uint8_t literal_fold(uint8_t byte, bool nocase)
{
    return nocase && byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

bool literal_equal(const struct literal *literal, const uint8_t *bytes)
{
    if (!literal->nocase)
        return memcmp(literal->bytes, bytes, literal->length) == 0;
    for (size_t i = 0; i < literal->length; i++) {
        if (literal_fold(literal->bytes[i], true) != literal_fold(bytes[i], true))
            return false;
    }
    return true;
}

/* Whether the text contains the content; compares without case. */
static bool text_contains(const struct content *content, const char *text)
{
    const struct literal literal = { .bytes = content->bytes, .length = content->length, .nocase = true };
    size_t length = strlen(text);

    for (size_t at = 0; at + literal.length <= length; at++) {
        if (literal_equal(&literal, (const uint8_t *)text + at))
            return true;
    }
    return false;
}

static bool is_common(const struct content *content, const struct keyword *buffer)
{
    if (!buffer || buffer->flags & KEYWORD_COMMON_VALUES)
        return buffer != NULL;
    for (const char *const *text = content->length >= COMMON_LENGTH ? buffer->common : NULL; text && *text; text++) {
        if (text_contains(content, *text))
            return true;
    }
    return false;
}

/* Whether an author's choice is used: it is good for his rule whatever most traffic contains, unless it is very weak.
 */
static bool is_strong_choice(const struct content *content, const struct rule_buffer *buffer)
{
    return strength(content->bytes, content->length) >= WEAK &&
           !(buffer->keyword && buffer->keyword->flags & KEYWORD_COMMON_VALUES);
}

/* Common values ("GET") are weaker than their bytes suggest; a known position adds strength. */
static unsigned strength_of(const struct content *content, const struct rule_buffer *buffer, struct place end)
{
    unsigned sum =
        strength(content->bytes, content->length) + (buffer->keyword && end.earliest == end.latest ? KNOWN_PLACE : 0);

    if (!is_common(content, buffer->keyword))
        return sum;
    return sum / 4 < COMMON_STRENGTH ? (sum + 3) / 4 : COMMON_STRENGTH;
}

bool literal_choose(const struct rule *rule, bool of_transaction, unsigned directions, struct literal *out)
{
    unsigned best = 0;

    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        struct place end = { 0, 0 };

        for (const struct condition *c = has_literal(buffer, of_transaction, directions) ? buffer->conditions : NULL; c;
             c = c->next) {
            end = place_after(c, end);
            const struct content *content = c->keyword->literal ? c->keyword->literal(c) : NULL;

            if (!content || content->negated || content->length == 0)
                continue;

            unsigned score = strength_of(content, buffer, end);

            /* At equal strength the payload wins: it is scanned in any case. */
            bool is_chosen = content->fast_pattern && is_strong_choice(content, buffer);

            if (is_chosen || score * 2 + (buffer->keyword == NULL) > best) {
                best = score * 2 + (buffer->keyword == NULL);
                fill_literal(out, c, buffer, end);
                out->strength = score;
                out->is_chosen = content->fast_pattern;
            }
            if (is_chosen)
                return true;
        }
    }
    return best > 0;
}

bool literal_choose_payload(const struct rule *rule, struct literal *out)
{
    struct literal other;

    if (rule->transactional || !literal_choose(rule, false, LITERAL_BOTH_WAYS, out) || out->buffer)
        return false;
    if (!literal_choose(rule, true, LITERAL_BOTH_WAYS, &other))
        return out->strength >= (out->is_chosen ? WEAK : PAYLOAD_ONLY);
    if (out->strength < (out->is_chosen ? WEAK : LITERAL_STRONG))
        return false;
    return (out->is_chosen && !other.is_chosen) || (other.strength < WEAK && !other.is_chosen);
}
