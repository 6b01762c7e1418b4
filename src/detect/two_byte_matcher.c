/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two-byte matcher: searches literals of two bytes in long buffers. Hyperscan takes two thirds longer if it searches
 * them together with all others: dozens of pairs occur by chance in each compressed or encrypted packet, and its
 * filter uses few bytes of each literal.
 *
 * The pairs are divided into eight classes. A class consists of four sets of nibbles: low and high nibble of the first
 * and of the second byte; a table of sixteen rows per set holds, for each nibble, a bit for each class that contains
 * it. Four lookups thus yield the possible classes of 32 positions at once; where there is one (one position in three
 * hundred of random bytes with the pairs of ET Open), a bit map of all pairs is checked. Rare random hits cause branch
 * mispredictions, so each step processes many positions before the next one and stores its results without a branch.
 *
 * Requires AVX2; on other processors this matcher is not created, and Hyperscan searches the pairs, too.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "detect_priv.h"
#include "sluice/pair_positions.h"

enum {
    PLACES = 32, /* per step */
    ROWS = 16,
    HALVES = 4,   /* nibbles of a pair: low and high of the first byte, then of the second */
    CLASSES = 8,  /* one bit each in a byte */
    CHUNK = 64,   /* maximum number of blocks between the steps */
    VARIANTS = 4, /* case variants of two letters */
    WORD = 64,
    WORDS = (1 << 16) / WORD,
};

struct pair {
    uint16_t bytes; /* the first byte in the upper half */
    uint32_t pattern;
};

struct two_byte_matcher {
    uint8_t rows[HALVES][ROWS]; /* per nibble: a bit for each class whose set contains it */
    uint64_t map[WORDS];        /* bit map, by pair */
    uint16_t before[WORDS];     /* number of bits set in the preceding words */
    uint16_t
        first[TWO_BYTE_MAX * VARIANTS + 1]; /* per set bit: index of its first entry in the list; one more at the end */
    uint32_t count;
    struct pair list[]; /* sorted */
};

bool two_byte_matcher_is_fast(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

/* --- Building ------------------------------------------------------------------------------------- */

/* Per nibble: a bit for each value in the class. */
struct pair_class {
    uint16_t sets[HALVES];
};

static struct pair_class class_of(uint16_t pair)
{
    return (struct pair_class){ { (uint16_t)(1U << (pair >> 8 & 15)), (uint16_t)(1U << (pair >> 12)),
                                  (uint16_t)(1U << (pair & 15)), (uint16_t)(1U << (pair >> 4 & 15)) } };
}

static struct pair_class join_classes(const struct pair_class *first, const struct pair_class *second)
{
    struct pair_class joined;

    for (unsigned i = 0; i < HALVES; i++)
        joined.sets[i] = first->sets[i] | second->sets[i];
    return joined;
}

/* Returns the number of pairs that the class accepts. */
static int count_pairs(const struct pair_class *class)
{
    int count = 1;

    for (unsigned i = 0; i < HALVES; i++)
        count *= __builtin_popcount(class->sets[i]);
    return count;
}

/* Joins the two classes whose union accepts the fewest additional pairs. */
static void join_nearest_classes(struct pair_class *classes, uint32_t count)
{
    uint32_t best_first = 0, best_second = 1;
    int least = INT_MAX;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            struct pair_class joined = join_classes(&classes[i], &classes[k]);
            int more = count_pairs(&joined) - count_pairs(&classes[i]) - count_pairs(&classes[k]);

            if (more < least) {
                least = more;
                best_first = i;
                best_second = k;
            }
        }
    }
    classes[best_first] = join_classes(&classes[best_first], &classes[best_second]);
    classes[best_second] = classes[count - 1];
}

/* Builds the classes and their tables; the list is sorted. */
static void make_rows(struct two_byte_matcher *matcher)
{
    struct pair_class classes[TWO_BYTE_MAX * VARIANTS];
    uint32_t count = 0;

    for (uint32_t i = 0; i < matcher->count; i++) {
        if (i == 0 || matcher->list[i].bytes != matcher->list[i - 1].bytes)
            classes[count++] = class_of(matcher->list[i].bytes);
    }
    for (; count > CLASSES; count--)
        join_nearest_classes(classes, count);
    for (uint32_t i = 0; i < count; i++) {
        for (unsigned half = 0; half < HALVES; half++) {
            for (unsigned row = 0; row < ROWS; row++)
                matcher->rows[half][row] |= (uint8_t)((classes[i].sets[half] >> row & 1U) << i);
        }
    }
}

/* Fills `before` and `first`; the list is sorted. */
static void number_pairs(struct two_byte_matcher *matcher)
{
    uint16_t count = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        matcher->before[i] = count;
        count = (uint16_t)(count + __builtin_popcountll(matcher->map[i]));
    }
    count = 0;
    for (uint32_t i = 0; i < matcher->count; i++) {
        if (i == 0 || matcher->list[i].bytes != matcher->list[i - 1].bytes)
            matcher->first[count++] = (uint16_t)i;
    }
    matcher->first[count] = (uint16_t)matcher->count;
}

static void add_pair(struct two_byte_matcher *matcher, uint8_t first, uint8_t second, uint32_t pattern)
{
    uint16_t bytes = two_byte_pair((const uint8_t[]){ first, second });

    matcher->map[bytes / WORD] |= UINT64_C(1) << bytes % WORD;
    matcher->list[matcher->count++] = (struct pair){ bytes, pattern };
}

static uint8_t other_case(uint8_t byte)
{
    uint8_t lower = byte | 0x20;

    return lower >= 'a' && lower <= 'z' ? byte ^ 0x20 : byte;
}

static void add_literal(struct two_byte_matcher *matcher, const struct literal *literal, uint32_t pattern)
{
    uint8_t first[2] = { literal->bytes[0], other_case(literal->bytes[0]) };
    uint8_t second[2] = { literal->bytes[1], other_case(literal->bytes[1]) };

    for (unsigned i = 0; i < 2 && (i == 0 || (literal->nocase && first[1] != first[0])); i++) {
        for (unsigned k = 0; k < 2 && (k == 0 || (literal->nocase && second[1] != second[0])); k++)
            add_pair(matcher, first[i], second[k], pattern);
    }
}

static int compare_pairs(const void *possible, const void *right)
{
    const struct pair *a = possible, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->pattern < b->pattern ? -1 : a->pattern > b->pattern;
}

int two_byte_matcher_new(struct two_byte_matcher **out, const struct literal *literals, const unsigned *patterns,
                         uint32_t count)
{
    struct two_byte_matcher *matcher =
        calloc(1, sizeof(*matcher) + (size_t)count * VARIANTS * sizeof(matcher->list[0]));

    if (!matcher)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        add_literal(matcher, &literals[patterns[i]], patterns[i]);
    qsort(matcher->list, matcher->count, sizeof(matcher->list[0]), compare_pairs);
    make_rows(matcher);
    number_pairs(matcher);
    *out = matcher;
    return 0;
}

void two_byte_matcher_free(struct two_byte_matcher *matcher)
{
    free(matcher);
}

/* --- Search --------------------------------------------------------------------------------------- */

static inline bool has_pair(const struct two_byte_matcher *matcher, uint16_t pair)
{
    return matcher->map[pair / WORD] >> pair % WORD & 1;
}

/* Reports a pair that is in the map. */
static inline void report_pair(const struct two_byte_matcher *matcher, uint16_t pair, uint32_t end,
                               pattern_found *found, void *user)
{
    uint64_t lower = matcher->map[pair / WORD] & ((UINT64_C(1) << pair % WORD) - 1);
    const uint16_t *first = &matcher->first[matcher->before[pair / WORD] + __builtin_popcountll(lower)];

    for (uint32_t i = first[0]; i < first[1]; i++)
        found(user, matcher->list[i].pattern, end);
}

#ifdef __x86_64__
#define WITH_AVX2 __attribute__((target("avx2,popcnt")))

/* Both lanes of the register hold the same sixteen rows. */
static WITH_AVX2 inline __m256i rows_of(const uint8_t rows[ROWS])
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)rows));
}

struct wide_rows {
    __m256i rows[HALVES];
};

static WITH_AVX2 inline struct wide_rows wide_rows_of(const uint8_t rows[HALVES][ROWS])
{
    return (struct wide_rows){ { rows_of(rows[0]), rows_of(rows[1]), rows_of(rows[2]), rows_of(rows[3]) } };
}

/* `halves`: low and high nibbles of the first bytes, then of the second bytes. */
static WITH_AVX2 inline __m256i classes_of(const struct wide_rows *tables, const __m256i halves[HALVES])
{
    return _mm256_and_si256(_mm256_and_si256(_mm256_shuffle_epi8(tables->rows[0], halves[0]),
                                             _mm256_shuffle_epi8(tables->rows[1], halves[1])),
                            _mm256_and_si256(_mm256_shuffle_epi8(tables->rows[2], halves[2]),
                                             _mm256_shuffle_epi8(tables->rows[3], halves[3])));
}

/* Sets a bit for each position of the blocks that may be a pair. */
static WITH_AVX2 void filter_blocks(const struct two_byte_matcher *matcher, const uint8_t *bytes, uint32_t blocks,
                                    uint32_t *possible)
{
    const struct wide_rows tables = wide_rows_of(matcher->rows);
    const __m256i half = _mm256_set1_epi8(0x0f), zero = _mm256_setzero_si256();

    for (uint32_t i = 0; i < blocks; i++) {
        __m256i firsts = _mm256_loadu_si256((const __m256i *)(bytes + (size_t)i * PLACES));
        __m256i seconds = _mm256_loadu_si256((const __m256i *)(bytes + (size_t)i * PLACES + 1));
        const __m256i halves[HALVES] = {
            _mm256_and_si256(firsts, half),
            _mm256_and_si256(_mm256_srli_epi16(firsts, 4), half),
            _mm256_and_si256(seconds, half),
            _mm256_and_si256(_mm256_srli_epi16(seconds, 4), half),
        };

        possible[i] = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(classes_of(&tables, halves), zero));
    }
}

/* Writes the positions at which the map contains the pair and returns their number. */
static WITH_AVX2 uint32_t filter_by_map(const struct two_byte_matcher *matcher, const uint8_t *bytes, uint32_t blocks,
                                        const uint32_t *possible, uint16_t *places)
{
    uint16_t blocks_left[CHUNK];
    uint32_t blocks_left_count = 0, count = 0;

    for (uint32_t i = 0; i < blocks; i++) {
        blocks_left[blocks_left_count] = (uint16_t)i;
        blocks_left_count += possible[i] != 0;
    }
    for (uint32_t i = 0; i < blocks_left_count; i++) {
        for (uint32_t hits = possible[blocks_left[i]]; hits; hits &= hits - 1) {
            uint32_t at = blocks_left[i] * PLACES + (uint32_t)__builtin_ctz(hits);

            places[count] = (uint16_t)at;
            count += has_pair(matcher, two_byte_pair(bytes + at));
        }
    }
    return count;
}

/* `places`: at least PLACES, each followed by one more byte. The last incomplete block is extended backwards over
 * positions that are already done. */
static WITH_AVX2 void search_wide(const struct two_byte_matcher *matcher, const uint8_t *bytes, uint32_t places,
                                  pattern_found *found, void *user)
{
    uint16_t at[CHUNK * PLACES];
    uint32_t possible[CHUNK];

    for (uint32_t done = 0; done < places;) {
        uint32_t blocks = (places - done) / PLACES, skipped = 0;

        if (blocks == 0) {
            skipped = PLACES - (places - done);
            blocks = 1;
        }
        if (blocks > CHUNK)
            blocks = CHUNK;
        uint32_t begin = done - skipped;

        filter_blocks(matcher, bytes + begin, blocks, possible);
        possible[0] &= UINT32_MAX << skipped;
        uint32_t count = filter_by_map(matcher, bytes + begin, blocks, possible, at);

        for (uint32_t i = 0; i < count; i++)
            report_pair(matcher, two_byte_pair(bytes + begin + at[i]), begin + at[i] + 2, found, user);
        done += blocks * PLACES - skipped;
    }
}
#endif

void two_byte_matcher_search(const struct two_byte_matcher *matcher, const uint8_t *bytes, uint32_t length,
                             pattern_found *found, void *user)
{
    uint32_t places = length > 0 ? length - 1 : 0;

#ifdef __x86_64__
    if (places >= PLACES) {
        search_wide(matcher, bytes, places, found, user);
        return;
    }
#endif
    for (uint32_t at = 0; at < places; at++) {
        if (has_pair(matcher, two_byte_pair(bytes + at)))
            report_pair(matcher, two_byte_pair(bytes + at), at + 2, found, user);
    }
}
