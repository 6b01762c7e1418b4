/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Choice of a rule's literal, which determines how often the rule becomes a candidate. The literal marked with
 * fast_pattern is used unless it is weak (WEAK) or its buffer has few values. Otherwise the literal with the highest
 * strength is used. The strength is computed as in Suricata: rare bytes count more than letters, and repeated bytes
 * almost nothing. So both programs choose the same literal for most rules. Bytes behind the first MAX_USEFUL_LENGTH do
 * not count, because they hardly reduce the number of false candidates.
 */
#include <string.h>

#include "detect_priv.h"

enum {
    MAX_USEFUL_LENGTH = 32,
    KNOWN_PLACE = 4,   /* additional strength of a literal with a known position: about that of one byte */
    WEAK = 9,          /* literals below this strength are weak: for example those of one or two letters */
    COMMON_LENGTH = 4, /* shorter contents are not compared with common values: they occur in any text */
    COMMON_STRENGTH = 6,
    PAYLOAD_ONLY = 12, /* a transaction rule without a literal in its own buffers is found by a literal in the payload
                          if the strength of that literal is at least this, or at least WEAK with fast_pattern */
};

static unsigned strength_of_bytes(const uint8_t *bytes, size_t length)
{
    bool seen[256] = { false };
    unsigned sum = 0;

    for (size_t i = 0; i < length && i < MAX_USEFUL_LENGTH; i++) {
        uint8_t byte = bytes[i];

        if (seen[byte])
            sum += 1;
        else if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'))
            sum += 3;
        else if ((byte >= 0x20 && byte < 0x7f) || byte == 0x00 || byte == 0x01 || byte == 0xff)
            sum += 4;
        else
            sum += 6;
        seen[byte] = true;
    }
    return sum;
}

/* --- Position ------------------------------------------------------------------------------------- */

enum { FAR = 65536 /* offsets beyond this are treated as unknown, so that sums cannot overflow */ };

static bool is_known(int32_t number, int8_t variable)
{
    return variable < 0 && number >= -FAR && number <= FAR;
}

/* The range of offsets in the buffer at which a match may end. */
struct place {
    uint32_t earliest, latest;
};

/* Returns the range of offsets at which a match of `condition` may end. `before`: the range of the previous
 * condition. */
static struct place place_after(const struct condition *condition, struct place before)
{
    const struct content *content = condition_content(condition);
    struct place place = { 0, LITERAL_ANYWHERE };

    if (!content)
        return place; /* other conditions may end at any offset */
    if (content->negated)
        return before;

    /* The window of the content begins at `start` and has `size` bytes. `start` counts from the start of the buffer,
     * or, for a relative content, from the end of the previous match. */
    bool relative = content->relative;
    bool has_start = relative ? content->has_distance : content->has_offset;
    bool has_size = relative ? content->has_within : content->has_depth;
    int32_t start = relative ? content->distance : content->offset, size = relative ? content->within : content->depth;
    bool knows_start = is_known(start, relative ? content->distance_value : content->offset_value);
    bool knows_size = is_known(size, relative ? content->within_value : content->depth_value);
    int64_t earliest = has_start && knows_start ? start : 0, end = (int64_t)size + (has_start ? start : 0);

    if (relative)
        earliest = (has_start && !knows_start ? INT32_MIN : earliest) + before.earliest;
    place.earliest = (uint32_t)(earliest > 0 ? earliest : 0) + content->length;
    if (!has_size || !knows_size || (has_start && !knows_start) || end < 0)
        return place; /* no limit is known; content.c treats a window that ends before the buffer as unlimited */
    if (!relative)
        place.latest = (uint32_t)end;
    else if (before.latest <= FAR)
        place.latest = before.latest + (uint32_t)end;
    return place;
}

/* --- Choice --------------------------------------------------------------------------------------- */

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

/* Returns the strength of a content. In the payload, it is the sum for its bytes. In other buffers, a known position
 * adds KNOWN_PLACE, and common values of the buffer ("GET") have at most COMMON_STRENGTH. */
static unsigned strength_of(const struct content *content, const struct rule_buffer *buffer, struct place end)
{
    const struct literal literal = { .bytes = content->bytes, .length = content->length, .nocase = true };
    const struct prefilter_hints *hints = buffer->keyword ? buffer->keyword->hints : NULL;
    unsigned sum = strength_of_bytes(content->bytes, content->length);
    bool is_common = hints && hints->few_values;

    if (!buffer->keyword)
        return sum;
    if (end.earliest == end.latest)
        sum += KNOWN_PLACE;
    for (const char *const *text = hints && literal.length >= COMMON_LENGTH ? hints->common : NULL; text && *text;
         text++) {
        size_t length = strlen(*text);

        for (size_t at = 0; at + literal.length <= length; at++)
            is_common |= literal_equal(&literal, (const uint8_t *)*text + at);
    }
    if (!is_common)
        return sum;
    return sum / 4 < COMMON_STRENGTH ? (sum + 3) / 4 : COMMON_STRENGTH;
}

bool literal_choose(const struct rule *rule, bool of_transaction, unsigned directions, struct literal *out)
{
    unsigned best = 0;

    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        bool is_transaction = buffer->keyword && buffer->keyword->scope.applications;
        bool has_common_values = buffer->keyword && buffer->keyword->hints && buffer->keyword->hints->few_values;
        struct place end = { 0, 0 };

        if (is_transaction != of_transaction || buffer->absence != BUFFER_PRESENT ||
            (buffer->directions != 0 && !(buffer->directions & directions)))
            continue;
        for (const struct condition *c = buffer->conditions; c; c = c->next) {
            end = place_after(c, end);
            const struct content *content = condition_content(c);

            if (!content || content->negated || content->length == 0)
                continue;

            /* At equal strength the payload is preferred, because it is scanned in any case. */
            unsigned score = strength_of(content, buffer, end), rank = score * 2 + (buffer->keyword == NULL);

            /* A fast_pattern is used without comparison, unless it is weak or its buffer has few values. */
            bool is_decided = content->fast_pattern && !has_common_values &&
                              strength_of_bytes(content->bytes, content->length) >= WEAK;

            if (!is_decided && rank <= best)
                continue;
            best = rank;
            *out = (struct literal){
                .bytes = content->bytes,
                .length = content->length,
                .nocase = content->nocase,
                .at = end.earliest == end.latest ? end.latest - content->length : LITERAL_ANYWHERE,
                .reach = end.latest,
                .buffer = buffer->keyword,
                .rule_buffer = buffer,
                .condition = c,
                .strength = score,
                .is_chosen = content->fast_pattern,
            };
            if (content->fast_pattern_chop) {
                out->bytes += content->fast_pattern_offset;
                out->at += out->at == LITERAL_ANYWHERE ? 0 : content->fast_pattern_offset;
                out->length = content->fast_pattern_length;
            }
            if (out->length > LITERAL_MAX)
                out->length = LITERAL_MAX;
            out->is_part = out->length < content->length;
            if (is_decided)
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
