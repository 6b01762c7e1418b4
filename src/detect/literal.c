/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The choice of a rule's literal decides how often it becomes a candidate. A rule's author may choose (fast_pattern);
 * otherwise the strongest wins: rare bytes count more than letters, repeated bytes almost nothing, as in Suricata, so that
 * both pick the same in most rules. Beyond MAX_USEFUL_LENGTH bytes more length hardly makes a false candidate rarer.
 */
#include <string.h>

#include "detect_priv.h"

enum { MAX_USEFUL_LENGTH = 32 };

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

static void take(struct literal *out, const struct content *content, const struct rule_buffer *buffer)
{
    out->bytes = content->bytes;
    out->length = content->length;
    if (content->fast_pattern_chop) {
        out->bytes += content->fast_pattern_offset;
        out->length = content->fast_pattern_length;
    }
    if (out->length > LITERAL_MAX)
        out->length = LITERAL_MAX;
    out->is_part = out->length < content->length;
    out->nocase = content->nocase;
    out->buffer = buffer->keyword;
    out->rule_buffer = buffer;
}

/* Of a rule on transactions only their buffers say when it is to be looked at. */
static bool has_literal(const struct rule_buffer *buffer, bool of_transaction)
{
    bool is_transaction = buffer->keyword && buffer->keyword->applications;

    return is_transaction == of_transaction && buffer->absence == BUFFER_PRESENT;
}

bool literal_choose(const struct rule *rule, bool of_transaction, struct literal *out)
{
    unsigned best = 0;

    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        for (const struct condition *c = has_literal(buffer, of_transaction) ? buffer->conditions : NULL; c;
             c = c->next) {
            const struct content *content = c->keyword->literal ? c->keyword->literal(c) : NULL;

            if (!content || content->negated || content->length == 0)
                continue;
            if (content->fast_pattern) {
                take(out, content, buffer);
                return true;
            }
            unsigned score = strength(content->bytes, content->length);

            /* At equal strength the payload wins: its scan is made anyway. */
            if (score * 2 + (buffer->keyword == NULL) > best) {
                best = score * 2 + (buffer->keyword == NULL);
                take(out, content, buffer);
            }
        }
    }
    return best > 0;
}
