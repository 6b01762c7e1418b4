/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Floods of the transform gunzip. The output is limited by max-size and the scratch memory; the number of steps is
 * limited by the sizes of input and output.
 */
#include "work.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "rule_text.h"
#include "sluice/transform.h"

enum { STEPS_BASE = 4000, SCRATCH = TRANSFORM_SCRATCH_SIZE };

/* --- Input ---------------------------------------------------------------------------------------- */

static struct wire bomb(void)
{
    struct wire plain = wire_zeros(64), packed = wire_gzip(&plain);

    wire_free(&plain);
    return packed;
}

static struct wire bomb_within(void)
{
    struct wire inner = bomb(), outer = wire_gzip(&inner);

    wire_free(&inner);
    return outer;
}

/* Empty gzip members, one after the other. */
static struct wire empty_members(void)
{
    struct wire nothing = { 0 }, member = wire_gzip(&nothing), all = { 0 };

    for (unsigned i = 0; i < 5000; i++)
        wire_put(&all, member.bytes, member.length);
    wire_free(&member);
    return all;
}

static struct wire endless_name(void)
{
    struct wire all = { 0 };

    wire_put(&all, "\x1f\x8b\x08\x08\0\0\0\0\0\xff", 10);
    wire_fill(&all, 'a', 100000);
    return all;
}

/* Empty stored blocks, none of which is marked as the last one. */
static struct wire empty_blocks(void)
{
    struct wire all = { 0 };

    wire_put(&all, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
    for (unsigned i = 0; i < 20000; i++)
        wire_put(&all, "\0\0\0\xff\xff", 5);
    return all;
}

static const struct {
    const char *name, *transforms;
    struct wire (*make)(void);
    uint32_t low, high; /* bounds of the length of the result */
    uint64_t out;       /* maximum output of all transforms together, in bytes */
} rows[] = {
    { "a bomb", "gunzip;", bomb, 1024, 1024, 1024 },
    { "a bomb, as much as it may be", "gunzip:max-size 16MiB;", bomb, SCRATCH - (128 << 10), SCRATCH, SCRATCH },
    { "a bomb within", "gunzip:max-size 16MiB; gunzip;", bomb_within, 1024, 1024, (1 << 20) + 1024 },
    { "a bomb within, as much as it may be", "gunzip:max-size 16MiB; gunzip:max-size 16MiB;", bomb_within,
      SCRATCH - (256 << 10), SCRATCH, SCRATCH },
    { "empty members", "gunzip;", empty_members, 0, 0, 0 },
    { "a name without an end", "gunzip;", endless_name, 0, 0, 0 },
    { "empty blocks", "gunzip;", empty_blocks, 0, 0, 0 },
};
const size_t transform_flood_count = sizeof(rows) / sizeof(rows[0]);

/* --- Check ---------------------------------------------------------------------------------------- */

static const struct condition *parse(struct rule_text *text, const char *transforms)
{
    char options[256];

    snprintf(options, sizeof(options), "test.buffer; %s bsize:>=0;", transforms);
    rule_text_open(text, options, strlen(options));
    ck_assert_ptr_nonnull(text->rule);
    return text->rule->buffers->transforms;
}

void work_judge_transform(unsigned row)
{
    struct transform_scratch *scratch = transform_scratch_new();
    struct rule_text text;
    struct wire in = rows[row].make();
    const uint8_t *bytes = in.bytes;
    uint32_t length = (uint32_t)in.length;
    uint64_t before = work_steps(), steps;

    ck_assert_ptr_nonnull(scratch);
    work_count(true);
    for (const struct condition *t = parse(&text, rows[row].transforms); t; t = t->next)
        ck_assert(t->keyword->transform.apply(scratch, bytes, length, t->data, &bytes, &length));
    work_count(false);
    steps = work_steps() - before;
    if (getenv("WORK_PRINT"))
        printf("%-60s: %8zu bytes, %10llu steps, %u bytes come out\n", rows[row].name, in.length,
               (unsigned long long)steps, length);
    ck_assert_uint_ge(length, rows[row].low);
    ck_assert_uint_le(length, rows[row].high);
    ck_assert_uint_le(steps, (in.length + rows[row].out) / LIBC_BYTES_PER_STEP + STEPS_BASE);
    ck_assert_uint_gt(steps, 0);
    ck_assert_uint_le(SCRATCH - transform_scratch_available(scratch), rows[row].out + 64);
    rule_text_close(&text);
    wire_free(&in);
    transform_scratch_free(scratch);
}
