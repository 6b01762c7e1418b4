/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hyperscan databases over the literals of many rules. Equal literals are one pattern with a list of signatures.
 * Hyperscan's literal API is used, which does not interpret the bytes as regular expressions.
 *
 * A pattern is reported at most once per scan (HS_FLAG_SINGLEMATCH), because only the fact that it occurs matters.
 * Literals of two bytes are reported at each position, because they occur by chance in any long payload: in a packet's
 * payload, such a rule becomes a candidate only if the conditions that follow its literal hold there (precheck.c).
 */
#include <assert.h>
#include <errno.h>
#include <hs.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "databases.h"
#include "detect_priv.h"
#include "sluice/text.h"

struct entry {
    struct literal literal;
    uint32_t signature;
    bool of_growing; /* merged matcher: the literal is from the matcher of growing buffers */
};

/* A distinct literal: the members of struct literal that a scan reads. */
struct pattern {
    const uint8_t *bytes; /* belong to the rules */
    uint8_t length;
    bool nocase;
};
static_assert(LITERAL_MAX <= UINT8_MAX, "the length of a literal fits into struct pattern");

struct pattern_target {
    uint32_t signature, reach; /* reach: the literal must end within the first `reach` bytes of the buffer */
    struct precheck precheck;
    struct buffer_precheck of_buffer;
    bool of_growing;
};

enum {
    PAIR_LENGTH = 2,
    HEX_BYTE = 4,                  /* length of a byte as \xHH */
    BITS_PER_BYTE_OF_LITERALS = 8, /* size of matcher.crossings: bits per byte of all literals */
    CROSSING_LENGTH = 4,           /* bytes of a sequence in matcher.crossings */
};

struct matcher {
    struct entry *entries; /* the literals that were added; NULL after compilation */
    uint32_t entry_count, entry_capacity;
    bool is_trimmed; /* pattern trimming is done */

    struct database *database; /* may be shared with other matchers */
    uint32_t *first;           /* per pattern: index of its first signature in `targets`; one more at the end */
    struct pattern_target *targets;
    uint32_t pattern_count;
    size_t shortest, longest; /* length of the shortest and of the longest literal */
    uint32_t reach;           /* largest reach of all literals */
    uint32_t number;          /* of the search (searches.c) */
    struct pattern *patterns;
    uint64_t *crossings;     /* see find_crossing() */
    unsigned crossing_shift; /* `crossings` has 1 << (64 - crossing_shift) words */
};

int matcher_new(struct matcher **out)
{
    struct matcher *matcher = calloc(1, sizeof(*matcher));

    if (!matcher)
        return -ENOMEM;
    *out = matcher;
    return 0;
}

void matcher_free(struct matcher *matcher)
{
    if (!matcher)
        return;
    database_release(matcher->database);
    free(matcher->entries);
    free(matcher->first);
    free(matcher->targets);
    free(matcher->patterns);
    free(matcher->crossings);
    free(matcher);
}

int matcher_add(struct matcher *matcher, const struct literal *literal, uint32_t signature)
{
    if (matcher->entry_count == matcher->entry_capacity) {
        uint32_t capacity = matcher->entry_capacity ? matcher->entry_capacity * 2 : 16;
        struct entry *entries = realloc(matcher->entries, capacity * sizeof(*entries));

        if (!entries)
            return -ENOMEM;
        matcher->entries = entries;
        matcher->entry_capacity = capacity;
    }
    matcher->entries[matcher->entry_count++] = (struct entry){ .literal = *literal, .signature = signature };
    if (literal->reach > matcher->reach)
        matcher->reach = literal->reach;
    return 0;
}

bool matcher_equal(const struct matcher *a, const struct matcher *b)
{
    if (!a || !b || a->entry_count != b->entry_count)
        return a == b;
    for (uint32_t i = 0; i < a->entry_count;
         i++) { /* literals are not compared, because each signature has one literal only */
        if (a->entries[i].signature != b->entries[i].signature)
            return false;
    }
    return true;
}

static int compare_literals(const struct literal *a, const struct literal *b)
{
    if (a->nocase != b->nocase)
        return a->nocase ? 1 : -1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    for (size_t i = 0; i < a->length; i++) {
        uint8_t left = literal_fold(a->bytes[i], a->nocase), right = literal_fold(b->bytes[i], b->nocase);

        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = compare_literals(&a->literal, &b->literal);

    if (order != 0)
        return order;
    return a->signature < b->signature ? -1 : a->signature > b->signature;
}

/* --- Compilation and cache ------------------------------------------------------------------------ */

/* The distinct literals, in the arrays that Hyperscan's compile functions require. */
struct pattern_arrays {
    uint32_t count;
    const char **bytes;
    unsigned *flags, *ids;
    size_t *lengths;
};

static void digest_number(struct sha256_ctx *sha256, uint64_t number)
{
    uint8_t bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    sha256_update(sha256, sizeof(bytes), bytes);
}

/* Computes the cache key, a digest of all that the database depends on: the patterns in the order of their ids,
 * Hyperscan's mode and version, and the CPU type that it compiles for. Returns 0, or -ENOSYS if Hyperscan cannot
 * determine the CPU type. */
static int make_key(const struct matcher *matcher, const struct pattern_arrays *patterns, struct cache_key *key)
{
    const char *version = hs_version();
    hs_platform_info_t platform;
    struct sha256_ctx sha256;

    memset(&platform, 0, sizeof(platform));
    if (hs_populate_platform(&platform) != HS_SUCCESS)
        return -ENOSYS;
    sha256_init(&sha256);
    sha256_update(&sha256, strlen(version) + 1, (const uint8_t *)version);
    digest_number(&sha256, platform.tune);
    digest_number(&sha256, platform.cpu_features);
    digest_number(&sha256, platform.reserved1);
    digest_number(&sha256, platform.reserved2);
    digest_number(&sha256, HS_MODE_BLOCK);
    digest_number(&sha256, patterns->count);
    for (uint32_t i = 0; i < patterns->count; i++) {
        const struct pattern *literal = &matcher->patterns[patterns->ids[i]];
        uint8_t folded[LITERAL_MAX]; /* a caseless literal in lower case: caseless literals that differ in their case
                                        only are one pattern */

        assert(literal->length <= sizeof(folded));
        for (size_t k = 0; k < literal->length; k++)
            folded[k] = literal_fold(literal->bytes[k], literal->nocase);
        digest_number(&sha256, patterns->ids[i]);
        digest_number(&sha256, patterns->flags[i]);
        digest_number(&sha256, literal->length);
        sha256_update(&sha256, literal->length, folded);
    }
    sha256_digest(&sha256, sizeof(key->bytes), key->bytes);
    return 0;
}

/* Returns an array of regular expressions with each byte of the literals in hexadecimal. All expressions are in one
 * allocated block, to which the first one points. Returns NULL if memory is exhausted. */
static char **make_expressions(const struct pattern_arrays *patterns)
{
    char **expressions = calloc(patterns->count, sizeof(*expressions));
    size_t size = 0;

    for (uint32_t i = 0; i < patterns->count; i++)
        size += patterns->lengths[i] * HEX_BYTE + 1;
    char *text = expressions ? malloc(size) : NULL;

    for (uint32_t i = 0; text && i < patterns->count; i++) {
        expressions[i] = text;
        for (size_t k = 0; k < patterns->lengths[i]; k++)
            text += sprintf(text, "\\x%02x", (unsigned)(uint8_t)patterns->bytes[i][k]);
        text++;
    }
    if (text)
        return expressions;
    free(expressions);
    return NULL;
}

/* Compiles the database. If Hyperscan's literal API rejects the literals, they are compiled as regular expressions:
 * Vectorscan rejects a literal that begins with a zero byte, which it takes for the literal's end. Returns 0, -ENOMEM
 * or -EINVAL, with the cause in `error`. */
static int compile_patterns(hs_database_t **out, const struct pattern_arrays *patterns, char error[256])
{
    hs_compile_error_t *cause = NULL;
    hs_error_t result = hs_compile_lit_multi(patterns->bytes, patterns->flags, patterns->ids, patterns->lengths,
                                             patterns->count, HS_MODE_BLOCK, NULL, out, &cause);

    if (result == HS_COMPILER_ERROR) {
        char **expressions = make_expressions(patterns);

        hs_free_compile_error(cause);
        cause = NULL;
        result = HS_NOMEM;
        if (expressions) {
            result = hs_compile_multi((const char *const *)expressions, patterns->flags, patterns->ids, patterns->count,
                                      HS_MODE_BLOCK, NULL, out, &cause);
            free(expressions[0]);
            free(expressions);
        }
    }
    if (result == HS_SUCCESS)
        return 0;
    snprintf(error, 256, "Hyperscan cannot compile the literals of the rules: %s",
             cause && cause->message ? cause->message : "out of memory");
    hs_free_compile_error(cause);
    return result == HS_NOMEM ? -ENOMEM : -EINVAL;
}

/* Reads the database from the cache, or compiles it and writes it to the cache. Returns 0, -ENOMEM, or -EINVAL with the
 * cause in `error`. */
static int fill_database(struct database *database, const struct pattern_arrays *patterns, struct cache *cache,
                         char error[256])
{
    struct cache_item item;
    size_t length;
    char *bytes;
    int err;

    if (cache && cache_get(cache, &database->key, &item)) {
        database->cached =
            hs_deserialize_database((const char *)item.bytes, item.length, &database->compiled) == HS_SUCCESS;
        free(item.memory);
        if (database->cached)
            return 0;
        database->compiled = NULL;
        cache_reject(cache, &database->key, "Hyperscan rejects the database");
    }
    err = compile_patterns(&database->compiled, patterns, error);
    if (!err && cache && hs_serialize_database(database->compiled, &bytes, &length) == HS_SUCCESS) {
        cache_put(cache, &database->key, bytes, length);
        free(bytes); /* Hyperscan uses malloc() unless another allocator is set */
    }
    return err;
}

/* Sets the matcher's database: one with the same patterns, or a new one. Returns 0, -ENOMEM, or -EINVAL with the cause
 * in `error`. */
static int make_database(struct matcher *matcher, const struct pattern_arrays *patterns, struct database_list *list,
                         char error[256])
{
    struct cache_key key;
    bool has_key = make_key(matcher, patterns, &key) == 0;
    int err;

    matcher->database = database_begin(list, has_key ? &key : NULL);
    if (!matcher->database)
        return -ENOMEM;
    if (matcher->database->state == DATABASE_READY)
        return 0;
    err = fill_database(matcher->database, patterns, has_key ? database_list_cache(list) : NULL, error);
    database_end(list, matcher->database, err == 0);
    return err;
}

static int trim_literals(struct matcher *matcher)
{
    struct literal **literals;
    int err;

    if (matcher->is_trimmed)
        return 0;
    literals = calloc((size_t)matcher->entry_count + 1, sizeof(*literals));
    if (!literals)
        return -ENOMEM;
    for (uint32_t i = 0; i < matcher->entry_count; i++)
        literals[i] = &matcher->entries[i].literal;
    err = literals_trim(literals, matcher->entry_count);
    free(literals);
    matcher->is_trimmed = !err;
    return err;
}

/*
 * A Bloom filter over the sequences of four bytes in the literals, and over whole literals of two or three bytes. Two
 * bits of one word are set for each. The case of letters is ignored.
 *
 * Returns the word of the `length` bytes that are the low bytes of `sequence`, and sets *bits to their bits in it.
 */
static inline uint64_t *find_crossing(const struct matcher *matcher, uint64_t sequence, unsigned length, uint64_t *bits)
{
    uint64_t bytes = sequence & ((UINT64_C(1) << 8 * length) - 1) & UINT32_C(0xdfdfdfdf);
    uint64_t hash = (bytes | (uint64_t)length << 32) * UINT64_C(0x9e3779b97f4a7c15);

    *bits = UINT64_C(1) << (hash >> 32 & 63) | UINT64_C(1) << (hash >> 26 & 63);
    return &matcher->crossings[hash >> matcher->crossing_shift];
}

static inline bool has_crossing(const struct matcher *matcher, uint64_t sequence, unsigned length)
{
    uint64_t bits, word = *find_crossing(matcher, sequence, length, &bits);

    return (word & bits) == bits;
}

static void add_crossings(struct matcher *matcher, const struct literal *literal)
{
    unsigned length = literal->length < CROSSING_LENGTH ? (unsigned)literal->length : CROSSING_LENGTH;
    uint64_t sequence = 0, bits;

    for (size_t i = 0; i < literal->length; i++) {
        sequence = sequence << 8 | literal->bytes[i];
        if (i + 1 < length)
            continue;
        uint64_t *word = find_crossing(matcher, sequence, length, &bits);

        *word |= bits;
    }
}

static int new_crossings(struct matcher *matcher)
{
    size_t bytes = 1, words = 2;

    for (uint32_t i = 0; i < matcher->entry_count; i++)
        bytes += matcher->entries[i].literal.length;
    matcher->crossing_shift = 63;
    for (; words * 64 < bytes * BITS_PER_BYTE_OF_LITERALS; words *= 2)
        matcher->crossing_shift--;
    matcher->crossings = calloc(words, sizeof(*matcher->crossings));
    return matcher->crossings ? 0 : -ENOMEM;
}

/* Returns the precheck of the literal's buffer. There is none unless the buffer belongs to a transaction: only such a
 * buffer is scanned as a whole, so that a condition which fails in the scanned bytes fails in the buffer. */
static struct buffer_precheck buffer_precheck(const struct literal *literal)
{
    bool is_known = literal->is_whole && literal->buffer && literal->buffer->scope.applications;

    return is_known ? buffer_precheck_of(literal) : (struct buffer_precheck){ NULL, NULL };
}

/* Sorts the entries, assigns an id to each distinct literal and lists its signatures. */
static void number_patterns(struct matcher *matcher, struct pattern_arrays *patterns)
{
    uint32_t count = 0;

    qsort(matcher->entries, matcher->entry_count, sizeof(*matcher->entries), compare_entries);
    matcher->shortest = SIZE_MAX;
    for (uint32_t i = 0; i < matcher->entry_count; i++) {
        const struct literal *literal = &matcher->entries[i].literal;

        matcher->targets[i] = (struct pattern_target){ .signature = matcher->entries[i].signature,
                                                       .reach = literal->reach,
                                                       .precheck = literal->precheck,
                                                       .of_buffer = buffer_precheck(literal),
                                                       .of_growing = matcher->entries[i].of_growing };
        if (i > 0 && compare_literals(&matcher->entries[i - 1].literal, literal) == 0)
            continue;
        patterns->bytes[count] = (const char *)literal->bytes;
        patterns->lengths[count] = literal->length;
        patterns->flags[count] =
            (literal->length == PAIR_LENGTH ? 0 : HS_FLAG_SINGLEMATCH) | (literal->nocase ? HS_FLAG_CASELESS : 0);
        patterns->ids[count] = count;
        matcher->patterns[count] = (struct pattern){ literal->bytes, (uint8_t)literal->length, literal->nocase };
        matcher->first[count++] = i;
        add_crossings(matcher, literal);
        if (literal->length > matcher->longest)
            matcher->longest = literal->length;
        if (literal->length < matcher->shortest)
            matcher->shortest = literal->length;
    }
    matcher->first[count] = matcher->entry_count;
    matcher->pattern_count = patterns->count = count;
}

int matcher_compile(struct matcher *matcher, struct database_list *databases, char error[256])
{
    size_t count = (size_t)matcher->entry_count + 1;
    struct pattern_arrays patterns = {
        .bytes = calloc(count, sizeof(*patterns.bytes)),
        .flags = calloc(count, sizeof(*patterns.flags)),
        .ids = calloc(count, sizeof(*patterns.ids)),
        .lengths = calloc(count, sizeof(*patterns.lengths)),
    };
    int err = -ENOMEM;

    matcher->first = calloc(count, sizeof(*matcher->first));
    matcher->targets = calloc(count, sizeof(*matcher->targets));
    matcher->patterns = calloc(count, sizeof(*matcher->patterns));
    if (patterns.bytes && patterns.flags && patterns.ids && patterns.lengths && matcher->first && matcher->targets &&
        matcher->patterns)
        err = trim_literals(matcher);
    if (!err)
        err = new_crossings(matcher);
    if (!err) {
        number_patterns(matcher, &patterns);
        err = make_database(matcher, &patterns, databases, error);
    }
    if (err == -ENOMEM)
        snprintf(error, 256, "out of memory for the pattern matcher");
    free(patterns.bytes);
    free(patterns.flags);
    free(patterns.ids);
    free(patterns.lengths);
    free(matcher->entries);
    matcher->entries = NULL;
    return err;
}

static int add_part(struct matcher *merged, struct matcher *part, bool of_growing)
{
    int err = trim_literals(part);

    for (uint32_t i = 0; i < part->entry_count && !err; i++) {
        err = matcher_add(merged, &part->entries[i].literal, part->entries[i].signature);
        if (!err)
            merged->entries[merged->entry_count - 1].of_growing = of_growing;
    }
    return err;
}

/* Merges two matchers, so that the body of a response is scanned once instead of twice. Gain: without it, HTTP traffic
 * (W6) takes 1.15 times as many instructions (docs/detection.md).
 *
 * Both are trimmed before the merge, so that the merged database and the stream's matcher search the same part of a
 * long literal. The stream's matcher still scans the borders of chunks: if the parts differed, both could miss a
 * literal that crosses a border. */
int matcher_merge(struct matcher **out, struct matcher *of_stream, struct matcher *growing)
{
    int err = matcher_new(out);

    if (!err)
        err = add_part(*out, of_stream, false);
    if (!err)
        err = add_part(*out, growing, true);
    if (err)
        return err;
    (*out)->is_trimmed = true;
    (*out)->reach = LITERAL_ANYWHERE; /* an offset in the chunk is no offset in the growing buffer */
    return 0;
}

int matcher_grow_scratch(const struct matcher *matcher, struct hs_scratch **scratch)
{
    return hs_alloc_scratch(matcher->database->compiled, scratch) == HS_SUCCESS ? 0 : -ENOMEM;
}

void matcher_set_number(struct matcher *matcher, uint32_t number)
{
    matcher->number = number;
}

uint32_t matcher_number(const struct matcher *matcher)
{
    return matcher->number;
}

void matcher_describe(const struct matcher *matcher, struct text *out)
{
    const hs_database_t *database = matcher->database ? matcher->database->compiled : NULL;
    char *info = NULL;
    size_t size = 0;

    json_uint(out, "literals", matcher->pattern_count);
    json_uint(out, "shortest", matcher->shortest);
    json_uint(out, "longest", matcher->longest);
    if (!database || hs_database_size(database, &size) != HS_SUCCESS || hs_database_info(database, &info) != HS_SUCCESS)
        return;
    json_uint(out, "database_bytes", size);
    json_string(out, "hyperscan", info);
    free(info); /* Hyperscan uses malloc() unless another allocator is set */
}

uint32_t matcher_reach(const struct matcher *matcher)
{
    return matcher->reach;
}

struct scan {
    const struct matcher *matcher;
    struct detector *detector;
    const uint8_t *bytes;
    uint32_t border; /* offset of the first byte after the border; used by on_border_match() only */
    uint32_t length;
    uint64_t base; /* offset of `bytes` in their buffer */
};

/* Adds a signature whose literal was found to the candidates, or, if the literal is from a growing buffer (merged
 * scan), to the matches of the merged scan. `end`: offset in the searched buffer at which the literal ends. */
static void add_target(const struct scan *scan, unsigned id, const struct pattern_target *target, uint64_t end)
{
    struct merged_scan *merged = &scan->detector->merged;
    size_t length = scan->matcher->patterns[id].length;

    if (!target->of_growing) {
        if (end <= target->reach)
            candidates_add(&scan->detector->candidates, target->signature);
        return;
    }
    /* If a match begins before the new bytes, Hyperscan does not report further positions of the pattern, so a match
     * within the new bytes may be missed. Therefore the merged result is discarded. Literals of two bytes are reported
     * at all positions, so only the match before the new bytes is ignored. */
    if (end - length < merged->skip && length == PAIR_LENGTH)
        return;
    if (end - length < merged->skip || merged->count == MERGED_MAX) {
        merged->growing = NULL;
        return;
    }
    merged->found[merged->count++] =
        (struct merged_match){ target->signature, target->reach, (uint32_t)end - merged->skip };
}

/* Hyperscan's callback: adds the signatures of a pattern. Two-byte literals are reported at each position; if the
 * scanned bytes are the packet's payload, the precheck must pass at the position. */
static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *user)
{
    const struct scan *scan = user;
    const struct matcher *matcher = scan->matcher;
    bool prechecks = matcher->patterns[id].length == PAIR_LENGTH && scan->bytes == scan->detector->payload &&
                     scan->length == scan->detector->payload_length;

    (void)from;
    (void)flags;
    for (uint32_t i = matcher->first[id]; i < matcher->first[id + 1]; i++) {
        const struct pattern_target *target = &matcher->targets[i];

        if (prechecks && !precheck_passes(&target->precheck, scan->bytes, scan->length, (uint32_t)to))
            continue;
        if ((target->of_buffer.content || target->of_buffer.size) &&
            !buffer_precheck_passes(&target->of_buffer, scan->bytes, scan->length))
            continue;
        add_target(scan, id, target, scan->base + to);
    }
    return 0;
}

/* Searches the database and counts the search. */
static __attribute__((noinline, cold)) void search_measured(const struct scan *scan, const uint8_t *bytes,
                                                            uint32_t length, match_event_handler handler)
{
    struct detector *detector = scan->detector;
    uint32_t before = detector->candidates.count + detector->merged.count;

    hs_scan(scan->matcher->database->compiled, (const char *)bytes, length, 0, detector->scratch, handler,
            (void *)scan);
    budget_book_search(detector->budget, scan->matcher->number, length,
                       detector->candidates.count + detector->merged.count - before);
}

/* Always inlined: as a function it costs 100 instructions for each packet of a web page. */
static inline __attribute__((always_inline)) void search_database(const struct scan *scan, const uint8_t *bytes,
                                                                  uint32_t length, match_event_handler handler)
{
    struct detector *detector = scan->detector;

    detector->counters.scans++;
    detector->counters.bytes_scanned += length;
    if (detector->budget)
        search_measured(scan, bytes, length, handler);
    else
        hs_scan(scan->matcher->database->compiled, (const char *)bytes, length, 0, detector->scratch, handler,
                (void *)scan);
}

void matcher_scan(const struct matcher *matcher, struct detector *detector, const uint8_t *bytes, uint32_t length,
                  uint64_t base)
{
    struct scan scan = { .matcher = matcher, .detector = detector, .bytes = bytes, .base = base };

    if (base >= matcher->reach)
        return;
    if (length > matcher->reach - base)
        length = (uint32_t)(matcher->reach - base);
    if (length < matcher->shortest)
        return;
    scan.length = length;
    search_database(&scan, bytes, length, on_match);
}

/* Hyperscan's callback for the scan of a border. A pattern of more than two bytes is reported once, at its first
 * position. If it ends before the border there, further positions at which it crosses the border are searched here. */
static int on_border_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *user)
{
    const struct scan *scan = user;
    const struct matcher *matcher = scan->matcher;
    const struct pattern *pattern = &matcher->patterns[id];
    const struct literal literal = { .bytes = pattern->bytes, .length = pattern->length, .nocase = pattern->nocase };
    bool crosses = to > scan->border;

    (void)from;
    (void)flags;
    for (uint64_t end = (uint64_t)scan->border + 1;
         !crosses && end <= scan->length && end < scan->border + literal.length; end++)
        crosses = end >= literal.length && literal_equal(&literal, scan->bytes + end - literal.length);
    for (uint32_t i = matcher->first[id]; i < matcher->first[id + 1] && crosses; i++)
        add_target(scan, id, &matcher->targets[i], 0);
    return 0;
}

/* Not inlined, because most calls of matcher_scan_border() do not need its stack frame. */
static __attribute__((noinline)) void search_border(const struct matcher *matcher, struct detector *detector,
                                                    const uint8_t *before, uint32_t before_length, const uint8_t *bytes,
                                                    uint32_t length)
{
    uint32_t reach = (uint32_t)matcher->longest - 1;
    uint32_t old = before_length < reach ? before_length : reach;
    uint32_t new = length < reach ? length : reach;
    uint8_t border[2 * LITERAL_MAX];
    struct scan scan = { matcher, detector, border, old, old + new, 0 };

    if (old + new < matcher->shortest)
        return;
    memcpy(border, before + before_length - old, old);
    memcpy(border + old, bytes, new);
    search_database(&scan, border, old + new, on_border_match);
}

/* A literal that crosses the border is shorter than CROSSING_LENGTH, or one of its sequences crosses the border. */
void matcher_scan_border(const struct matcher *matcher, struct detector *detector, const uint8_t *before,
                         uint32_t before_length, const uint8_t *bytes, uint32_t length)
{
    enum { SIDE = CROSSING_LENGTH - 1 };
    uint64_t around = 0; /* the bytes on both sides of the border; 0 for a missing byte */

    if (before_length == 0 || length == 0)
        return;
    for (uint32_t i = 1; i <= SIDE; i++) {
        if (i <= before_length)
            around |= (uint64_t)before[before_length - i] << 8 * (SIDE - 1 + i);
        if (i <= length)
            around |= (uint64_t)bytes[i - 1] << 8 * (SIDE - i);
    }
    if (has_crossing(matcher, around >> 16, 4) || has_crossing(matcher, around >> 8, 4) ||
        has_crossing(matcher, around, 4) ||
        (matcher->shortest <= 3 && (has_crossing(matcher, around >> 16, 3) || has_crossing(matcher, around >> 8, 3))) ||
        (matcher->shortest <= 2 && has_crossing(matcher, around >> 16, 2)))
        search_border(matcher, detector, before, before_length, bytes, length);
}
