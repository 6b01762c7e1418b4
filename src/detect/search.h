/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Search of literals in bytes. A prefilter uses Hyperscan databases (matcher) and a table of literals with a fixed
 * offset (anchored).
 *
 * Ownership: the bytes of literals belong to the rules.
 */
#ifndef SLUICE_DETECT_SEARCH_H
#define SLUICE_DETECT_SEARCH_H

#include "literal.h"

struct database_list;
struct detector;
struct hs_scratch;
struct prefilter;

/* --- prefilter.c ---------------------------------------------------------------------------------- */

/* A prefilter collects literals, is compiled once, and is then shared read-only. */
int prefilter_new(struct prefilter **out);
void prefilter_free(struct prefilter *prefilter);
int prefilter_add(struct prefilter *prefilter, const struct literal *literal, uint32_t signature);
/* Returns whether both prefilters contain the same literals for the same signatures. NULL: an empty prefilter. */
bool prefilter_equal(const struct prefilter *a, const struct prefilter *b);
/* Compiles the prefilter. Its databases are shared with earlier ones of the list. Different prefilters may be compiled
 * by several threads at the same time. Returns 0, -ENOMEM, or -EINVAL with the cause in `error`. */
int prefilter_compile(struct prefilter *prefilter, struct database_list *databases, char error[256]);
/* Maximum number of matchers of a prefilter; prefilter_matcher() returns NULL for a number without matcher. */
enum { PREFILTER_MATCHERS = 2 };
/* Creates a prefilter with the literals of a stream's prefilter and of one for growing buffers, so that both are
 * searched in one scan. *out is NULL if either has no literals to merge. Neither may be compiled yet. Returns 0 or
 * -ENOMEM. */
int prefilter_merge(struct prefilter **out, struct prefilter *of_stream, struct prefilter *growing);
const struct matcher *prefilter_matcher(const struct prefilter *prefilter, unsigned number);
/* Numbers the matchers of the prefilter from *next on, which becomes the next free number. */
void prefilter_number(struct prefilter *prefilter, uint32_t *next);
/* Returns the matcher with this number; NULL: the prefilter has none. */
const struct matcher *prefilter_search(const struct prefilter *prefilter, uint32_t number);
/* Enlarges Hyperscan's scratch memory for the databases of the prefilter, which may be NULL. Returns 0 or -ENOMEM. */
int prefilter_grow_scratch(const struct prefilter *prefilter, struct hs_scratch **scratch);
/* Adds all signatures whose literal occurs in the bytes to the candidates. The bytes are a whole buffer (a packet's
 * payload, for example; `base` is 0), or the bytes of a growing buffer from offset `base` on. Prefilters for growing
 * buffers contain no literals with a fixed offset. */
void prefilter_scan(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes, uint32_t length,
                    uint64_t base);

/* As prefilter_scan() for the bytes of a growing buffer from offset `base` on. The first `before` bytes were searched
 * before, the others are new. If a scan with the merged database has searched the new bytes, its result is used. */
void prefilter_scan_grown(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                          uint32_t length, uint32_t before, uint64_t base);

/* The bytes of a stream from its first byte to the end of a chunk, which begins at `chunk_at`. `bytes` is NULL if the
 * first byte is not stored any more or the chunk begins behind the first LITERAL_NEAR bytes. */
struct stream_start {
    const uint8_t *bytes;
    uint32_t length, chunk_at;
};
/* Adds signatures whose literal ends in the chunk. If the chunk is the packet's payload, also adds signatures whose
 * literal is at its fixed offset in the payload. `merged`: prefilter with the merged database of this prefilter and one
 * for growing buffers, whose matches are written to detector->merged; NULL: none. */
void prefilter_scan_chunk(const struct prefilter *prefilter, const struct prefilter *merged, struct detector *detector,
                          const struct stream_chunk *chunk, const struct stream_start *start);
/* As prefilter_scan() for the whole inspection window of a stream, which begins at stream offset `offset`. */
void prefilter_scan_window(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes,
                           uint32_t length, uint64_t offset);

/* --- matcher.c ------------------------------------------------------------------------------------ */

/* A matcher collects literals, is compiled once, and is then shared read-only. */
struct matcher;
int matcher_new(struct matcher **out);
void matcher_free(struct matcher *matcher);
int matcher_add(struct matcher *matcher, const struct literal *literal, uint32_t signature);
bool matcher_equal(const struct matcher *a, const struct matcher *b);
/* Creates a matcher with the literals of both matchers, which must not be compiled yet. When it is scanned, matches of
 * literals of `growing` are written to detector->merged. Returns 0 or -ENOMEM. */
int matcher_merge(struct matcher **out, struct matcher *of_stream, struct matcher *growing);
int matcher_compile(struct matcher *matcher, struct database_list *databases, char error[256]);
int matcher_grow_scratch(const struct matcher *matcher, struct hs_scratch **scratch);
/* The number of the search, by which its cost is counted (struct search_cost). */
void matcher_set_number(struct matcher *matcher, uint32_t number);
uint32_t matcher_number(const struct matcher *matcher);
/* Writes the number and lengths of the literals, and the size and type of the database, as members of the open JSON
 * object. */
struct text;
void matcher_describe(const struct matcher *matcher, struct text *out);
/* Returns the number of bytes from the buffer's start within which all literals end; LITERAL_ANYWHERE: unlimited. */
uint32_t matcher_reach(const struct matcher *matcher);
/* Scans bytes whose offset in their buffer is `base` or, if it is not known, at least `base`. Bytes past
 * matcher_reach() are not scanned. */
void matcher_scan(const struct matcher *matcher, struct detector *detector, const uint8_t *bytes, uint32_t length,
                  uint64_t base);
/* Adds the signatures whose literal begins in `before` and ends in `bytes`, which follow it. */
void matcher_scan_border(const struct matcher *matcher, struct detector *detector, const uint8_t *before,
                         uint32_t before_length, const uint8_t *bytes, uint32_t length);

/* --- anchored.c ----------------------------------------------------------------------------------- */

struct anchored;
bool anchored_accepts(const struct literal *literal); /* false: needs a matcher */
int anchored_new(struct anchored **out);
void anchored_free(struct anchored *anchored);
int anchored_add(struct anchored *anchored, const struct literal *literal, uint32_t signature);
bool anchored_equal(const struct anchored *a, const struct anchored *b);
int anchored_build(struct anchored *anchored); /* called after the last literal; returns 0 or -ENOMEM */
/* Adds the signatures whose literal is at its offset in `bytes`, and ends behind the first `from` bytes, to the
 * candidates. */
void anchored_scan(const struct anchored *anchored, struct detector *detector, const uint8_t *bytes, uint32_t length,
                   uint32_t from);

#endif
