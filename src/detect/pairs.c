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
#include "sluice/pair_places.h"

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

struct pairs {
    uint8_t rows[HALVES][ROWS]; /* per nibble: a bit for each class whose set contains it */
    uint64_t map[WORDS];        /* bit map, by pair */
    uint16_t before[WORDS];     /* number of bits set in the preceding words */
    uint16_t
        first[PAIRS_MOST * VARIANTS + 1]; /* per set bit: index of its first entry in the list; one more at the end */
    uint32_t count;
    struct pair list[]; /* sorted */
};

bool pairs_are_fast(void)
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

static struct pair_class join(const struct pair_class *one, const struct pair_class *other)
{
    struct pair_class both;

    for (unsigned i = 0; i < HALVES; i++)
        both.sets[i] = one->sets[i] | other->sets[i];
    return both;
}

/* Returns the number of pairs that the class accepts. */
static int pairs_in(const struct pair_class *class)
{
    int count = 1;

    for (unsigned i = 0; i < HALVES; i++)
        count *= __builtin_popcount(class->sets[i]);
    return count;
}

/* Joins the two classes whose union accepts the fewest additional pairs. */
static void join_nearest(struct pair_class *classes, uint32_t count)
{
    uint32_t best_one = 0, best_other = 1;
    int least = INT_MAX;

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            struct pair_class both = join(&classes[i], &classes[k]);
            int more = pairs_in(&both) - pairs_in(&classes[i]) - pairs_in(&classes[k]);

            if (more < least) {
                least = more;
                best_one = i;
                best_other = k;
            }
        }
    }
    classes[best_one] = join(&classes[best_one], &classes[best_other]);
    classes[best_other] = classes[count - 1];
}

/* Builds the classes and their tables; the list is sorted. */
static void make_rows(struct pairs *pairs)
{
    struct pair_class classes[PAIRS_MOST * VARIANTS];
    uint32_t count = 0;

    for (uint32_t i = 0; i < pairs->count; i++) {
        if (i == 0 || pairs->list[i].bytes != pairs->list[i - 1].bytes)
            classes[count++] = class_of(pairs->list[i].bytes);
    }
    for (; count > CLASSES; count--)
        join_nearest(classes, count);
    for (uint32_t i = 0; i < count; i++) {
        for (unsigned half = 0; half < HALVES; half++) {
            for (unsigned row = 0; row < ROWS; row++)
                pairs->rows[half][row] |= (uint8_t)((classes[i].sets[half] >> row & 1U) << i);
        }
    }
}

/* Fills `before` and `first`; the list is sorted. */
static void number_pairs(struct pairs *pairs)
{
    uint16_t count = 0;

    for (uint32_t i = 0; i < WORDS; i++) {
        pairs->before[i] = count;
        count = (uint16_t)(count + __builtin_popcountll(pairs->map[i]));
    }
    count = 0;
    for (uint32_t i = 0; i < pairs->count; i++) {
        if (i == 0 || pairs->list[i].bytes != pairs->list[i - 1].bytes)
            pairs->first[count++] = (uint16_t)i;
    }
    pairs->first[count] = (uint16_t)pairs->count;
}

static void add(struct pairs *pairs, uint8_t first, uint8_t second, uint32_t pattern)
{
    uint16_t bytes = pair_of((const uint8_t[]){ first, second });

    pairs->map[bytes / WORD] |= UINT64_C(1) << bytes % WORD;
    pairs->list[pairs->count++] = (struct pair){ bytes, pattern };
}

static uint8_t other_case(uint8_t byte)
{
    uint8_t lower = byte | 0x20;

    return lower >= 'a' && lower <= 'z' ? byte ^ 0x20 : byte;
}

static void add_literal(struct pairs *pairs, const struct literal *literal, uint32_t pattern)
{
    uint8_t first[2] = { literal->bytes[0], other_case(literal->bytes[0]) };
    uint8_t second[2] = { literal->bytes[1], other_case(literal->bytes[1]) };

    for (unsigned i = 0; i < 2 && (i == 0 || (literal->nocase && first[1] != first[0])); i++) {
        for (unsigned k = 0; k < 2 && (k == 0 || (literal->nocase && second[1] != second[0])); k++)
            add(pairs, first[i], second[k], pattern);
    }
}

static int compare_pairs(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;

    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->pattern < b->pattern ? -1 : a->pattern > b->pattern;
}

int pairs_new(struct pairs **out, const struct literal *literals, const unsigned *patterns, uint32_t count)
{
    struct pairs *pairs = calloc(1, sizeof(*pairs) + (size_t)count * VARIANTS * sizeof(pairs->list[0]));

    if (!pairs)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        add_literal(pairs, &literals[patterns[i]], patterns[i]);
    qsort(pairs->list, pairs->count, sizeof(pairs->list[0]), compare_pairs);
    make_rows(pairs);
    number_pairs(pairs);
    *out = pairs;
    return 0;
}

void pairs_free(struct pairs *pairs)
{
    free(pairs);
}

/* --- Search --------------------------------------------------------------------------------------- */

static inline bool has(const struct pairs *pairs, uint16_t pair)
{
    return pairs->map[pair / WORD] >> pair % WORD & 1;
}

/* Reports a pair that is in the map. */
static inline void tell(const struct pairs *pairs, uint16_t pair, uint32_t end, grams_found *found, void *user)
{
    uint64_t lower = pairs->map[pair / WORD] & ((UINT64_C(1) << pair % WORD) - 1);
    const uint16_t *first = &pairs->first[pairs->before[pair / WORD] + __builtin_popcountll(lower)];

    for (uint32_t i = first[0]; i < first[1]; i++)
        found(user, pairs->list[i].pattern, end);
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
static WITH_AVX2 void ask_blocks(const struct pairs *pairs, const uint8_t *bytes, uint32_t blocks, uint32_t *left)
{
    const struct wide_rows tables = wide_rows_of(pairs->rows);
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

        left[i] = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(classes_of(&tables, halves), zero));
    }
}

/* Writes the positions at which the map contains the pair and returns their number. */
static WITH_AVX2 uint32_t ask_map(const struct pairs *pairs, const uint8_t *bytes, uint32_t blocks,
                                  const uint32_t *left, uint16_t *places)
{
    uint16_t some[CHUNK];
    uint32_t some_count = 0, count = 0;

    for (uint32_t i = 0; i < blocks; i++) {
        some[some_count] = (uint16_t)i;
        some_count += left[i] != 0;
    }
    for (uint32_t i = 0; i < some_count; i++) {
        for (uint32_t hits = left[some[i]]; hits; hits &= hits - 1) {
            uint32_t at = some[i] * PLACES + (uint32_t)__builtin_ctz(hits);

            places[count] = (uint16_t)at;
            count += has(pairs, pair_of(bytes + at));
        }
    }
    return count;
}

/* `places`: at least PLACES, each followed by one more byte. The last incomplete block is extended backwards over
 * positions that are already done. */
static WITH_AVX2 void search_wide(const struct pairs *pairs, const uint8_t *bytes, uint32_t places, grams_found *found,
                                  void *user)
{
    uint16_t at[CHUNK * PLACES];
    uint32_t left[CHUNK];

    for (uint32_t done = 0; done < places;) {
        uint32_t blocks = (places - done) / PLACES, skipped = 0;

        if (blocks == 0) {
            skipped = PLACES - (places - done);
            blocks = 1;
        }
        if (blocks > CHUNK)
            blocks = CHUNK;
        uint32_t begin = done - skipped;

        ask_blocks(pairs, bytes + begin, blocks, left);
        left[0] &= UINT32_MAX << skipped;
        uint32_t count = ask_map(pairs, bytes + begin, blocks, left, at);

        for (uint32_t i = 0; i < count; i++)
            tell(pairs, pair_of(bytes + begin + at[i]), begin + at[i] + 2, found, user);
        done += blocks * PLACES - skipped;
    }
}
#endif

void pairs_search(const struct pairs *pairs, const uint8_t *bytes, uint32_t length, grams_found *found, void *user)
{
    uint32_t places = length > 0 ? length - 1 : 0;

#ifdef __x86_64__
    if (places >= PLACES) {
        search_wide(pairs, bytes, places, found, user);
        return;
    }
#endif
    for (uint32_t at = 0; at < places; at++) {
        if (has(pairs, pair_of(bytes + at)))
            tell(pairs, pair_of(bytes + at), at + 2, found, user);
    }
}
