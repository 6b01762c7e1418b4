/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Content keywords. Input: options of a rule, a line feed, and the buffer to inspect.
 *
 * Contract: options give either a rule or a message. The evaluation reads nothing outside of the buffer, leaves the
 * position inside of it, stays below the step limit, and gives the same result twice.
 *
 * Oracle: an input that begins with '@' describes one content: '@', the length of the pattern, offset, depth and flags
 * (1 nocase, 2 negated, 4 offset, 8 depth), then the pattern. The result must be that of a simple search.
 */
#include <ctype.h>
#include <stdlib.h>

#include "default_options.h"
#include "../lib/rule_text.h"
#include "detect/inspect.h"
#include "sluice/pcre_scratch.h"
#include "sluice/transform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_OPTIONS = 4096, MAX_BUFFER = 65536, ORACLE_HEADER = 5, ORACLE_MAX_PATTERN = 16 };

enum oracle_flag { ORACLE_NOCASE = 1, ORACLE_NEGATED = 2, ORACLE_OFFSET = 4, ORACLE_DEPTH = 8 };

static struct pcre_scratch *scratch_once(void)
{
    static struct pcre_scratch *scratch; /* never freed */

    if (!scratch) {
        struct detector_options options;

        detector_options_default(&options);
        scratch = pcre_scratch_new(&(struct pcre_limits){ options.pcre_match_limit, options.pcre_depth_limit });
    }
    if (!scratch)
        abort();
    return scratch;
}

static struct transform_scratch *transforms_once(void)
{
    static struct transform_scratch *scratch; /* never freed */

    if (!scratch)
        scratch = transform_scratch_new();
    if (!scratch)
        abort();
    return scratch;
}

static bool inspect_rule(const struct rule *rule, const uint8_t *bytes, size_t length)
{
    struct inspection in = {
        .data = bytes, .length = (uint32_t)length, .pcre = scratch_once(), .transforms = transforms_once()
    };

    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        in.steps_left = INSPECT_STEPS;
        bool match = inspect_buffer(&in, buffer->conditions);

        if (transform_scratch_mark(in.transforms) != 0)
            abort();
        if (in.at > in.length || in.steps_left > INSPECT_STEPS)
            abort();
        if (!match)
            return false;
    }
    return true;
}

static void run_options(const char *options, size_t options_length, const uint8_t *bytes, size_t length)
{
    struct rule_text text;

    rule_text_open(&text, options, options_length);
    if ((text.rule != NULL) == (text.errors > 0) && options_length > 0 && !memchr(options, '\n', options_length))
        abort();
    if (text.rule && inspect_rule(text.rule, bytes, length) != inspect_rule(text.rule, bytes, length))
        abort();
    rule_text_close(&text);
}

struct oracle {
    uint8_t length, offset, depth, flags;
    const uint8_t *pattern;
};

static bool equal(const struct oracle *oracle, const uint8_t *bytes)
{
    for (size_t i = 0; i < oracle->length; i++) {
        bool same = oracle->flags & ORACLE_NOCASE && bytes[i] < 0x80 && oracle->pattern[i] < 0x80
                        ? tolower(bytes[i]) == tolower(oracle->pattern[i])
                        : bytes[i] == oracle->pattern[i];

        if (!same)
            return false;
    }
    return true;
}

/* Compares the pattern at every position. */
static bool oracle_match(const struct oracle *oracle, const uint8_t *bytes, size_t length)
{
    size_t start = oracle->flags & ORACLE_OFFSET ? oracle->offset : 0;
    size_t end = oracle->flags & ORACLE_DEPTH ? start + oracle->depth : length;
    bool found = false;

    if (end > length)
        end = length;
    for (size_t i = start; i + oracle->length <= end && !found; i++)
        found = equal(oracle, bytes + i);
    return found != ((oracle->flags & ORACLE_NEGATED) != 0);
}

static void run_oracle(const struct oracle *oracle, const uint8_t *bytes, size_t length)
{
    struct rule_text text;
    char options[256];
    size_t used =
        (size_t)snprintf(options, sizeof(options), "content:%s\"|", oracle->flags & ORACLE_NEGATED ? "!" : "");

    for (size_t i = 0; i < oracle->length; i++)
        used += (size_t)snprintf(options + used, sizeof(options) - used, "%02x ", oracle->pattern[i]);
    used += (size_t)snprintf(options + used, sizeof(options) - used, "|\";");
    if (oracle->flags & ORACLE_NOCASE)
        used += (size_t)snprintf(options + used, sizeof(options) - used, " nocase;");
    if (oracle->flags & ORACLE_OFFSET)
        used += (size_t)snprintf(options + used, sizeof(options) - used, " offset:%u;", oracle->offset);
    if (oracle->flags & ORACLE_DEPTH)
        used += (size_t)snprintf(options + used, sizeof(options) - used, " depth:%u;", oracle->depth);
    rule_text_open(&text, options, used);
    if (!text.rule || inspect_rule(text.rule, bytes, length) != oracle_match(oracle, bytes, length))
        abort();
    rule_text_close(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > ORACLE_HEADER && data[0] == '@') {
        struct oracle oracle = { .offset = data[2], .flags = data[4], .pattern = data + ORACLE_HEADER };

        oracle.length = (uint8_t)(1 + data[1] % ORACLE_MAX_PATTERN);
        oracle.depth = data[3] < oracle.length ? oracle.length : data[3];
        if (size >= (size_t)ORACLE_HEADER + oracle.length)
            run_oracle(&oracle, data + ORACLE_HEADER + oracle.length, size - ORACLE_HEADER - oracle.length);
        return 0;
    }
    const uint8_t *end = memchr(data, '\n', size);
    size_t options_length = end ? (size_t)(end - data) : size;
    const uint8_t *bytes = end ? end + 1 : data + size;
    size_t length = size - (size_t)(bytes - data);

    if (options_length <= MAX_OPTIONS && length <= MAX_BUFFER)
        run_options((const char *)data, options_length, bytes, length);
    return 0;
}
