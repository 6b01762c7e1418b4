/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the floods, counts their steps, and checks the limits. */
#include "work.h"

#include <check.h>
#include <stdarg.h>
#include <zlib.h>

enum {
    PIECES = 3,
    GROWTH = 4,
    STEPS_PER_BYTE = 150,
    STEPS_PER_PIECE = 500,
};
static const int cuts[PIECES] = { 1, 1460, 16384 };

/* --- Counting ------------------------------------------------------------------------------------- */

static struct {
    bool on;
    uint64_t steps;
} counter;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    counter.steps += counter.on;
}

static void count_bytes(size_t length)
{
    if (counter.on)
        counter.steps += length / LIBC_BYTES_PER_STEP;
}

void *__real_memchr(const void *bytes, int wanted, size_t length);
void *__real_memmem(const void *bytes, size_t length, const void *wanted, size_t wanted_length);
void *__real_memcpy(void *to, const void *from, size_t length);
void *__real_memmove(void *to, const void *from, size_t length);
void *__real_memset(void *to, int byte, size_t length);
int __real_memcmp(const void *a, const void *b, size_t length);

void *__wrap_memchr(const void *bytes, int wanted, size_t length);
void *__wrap_memmem(const void *bytes, size_t length, const void *wanted, size_t wanted_length);
void *__wrap_memcpy(void *to, const void *from, size_t length);
void *__wrap_memmove(void *to, const void *from, size_t length);
void *__wrap_memset(void *to, int byte, size_t length);
int __wrap_memcmp(const void *a, const void *b, size_t length);

void *__wrap_memchr(const void *bytes, int wanted, size_t length)
{
    const uint8_t *found = __real_memchr(bytes, wanted, length);

    count_bytes(found ? (size_t)(found - (const uint8_t *)bytes) : length);
    return (void *)(uintptr_t)found;
}

void *__wrap_memmem(const void *bytes, size_t length, const void *wanted, size_t wanted_length)
{
    const uint8_t *found = __real_memmem(bytes, length, wanted, wanted_length);

    count_bytes(found ? (size_t)(found - (const uint8_t *)bytes) : length);
    return (void *)(uintptr_t)found;
}

void *__wrap_memcpy(void *to, const void *from, size_t length)
{
    count_bytes(length);
    return __real_memcpy(to, from, length);
}

void *__wrap_memmove(void *to, const void *from, size_t length)
{
    count_bytes(length);
    return __real_memmove(to, from, length);
}

void *__wrap_memset(void *to, int byte, size_t length)
{
    count_bytes(length);
    return __real_memset(to, byte, length);
}

int __wrap_memcmp(const void *a, const void *b, size_t length)
{
    count_bytes(length);
    return __real_memcmp(a, b, length);
}

/* zlib is not compiled with step counters, so its input and output bytes are counted. */
int __real_inflate(z_stream *stream, int flush);
int __wrap_inflate(z_stream *stream, int flush);
int __wrap_inflate(z_stream *stream, int flush)
{
    uInt in = stream->avail_in, out = stream->avail_out;
    int result = __real_inflate(stream, flush);

    count_bytes((size_t)(in - stream->avail_in) + (out - stream->avail_out));
    return result;
}

/* --- Bytes ---------------------------------------------------------------------------------------- */

void wire_put(struct wire *wire, const void *bytes, size_t length)
{
    if (wire->room - wire->length < length) {
        wire->room = (wire->length + length) * 2;
        wire->bytes = realloc(wire->bytes, wire->room);
        app_rig_require(wire->bytes != NULL, "no memory");
    }
    memcpy(wire->bytes + wire->length, bytes, length);
    wire->length += length;
}

void wire_fill(struct wire *wire, uint8_t byte, size_t count)
{
    uint8_t block[4096];

    memset(block, byte, sizeof(block));
    for (size_t size; count > 0; count -= size) {
        size = count < sizeof(block) ? count : sizeof(block);
        wire_put(wire, block, size);
    }
}

void wire_text(struct wire *wire, const char *format, ...)
{
    char text[4096];
    va_list list;

    va_start(list, format);
    int length = vsnprintf(text, sizeof(text), format, list);

    va_end(list);
    app_rig_require(length >= 0 && (size_t)length < sizeof(text), "the text is too long");
    wire_put(wire, text, (size_t)length);
}

void wire_number(struct wire *wire, unsigned width, uint64_t value)
{
    for (unsigned i = width; i-- > 0;)
        wire_put(wire, &(uint8_t){ (uint8_t)(value >> 8 * i) }, 1);
}

void wire_little(struct wire *wire, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        wire_put(wire, &(uint8_t){ (uint8_t)(value >> 8 * i) }, 1);
}

struct wire wire_zeros(size_t megabytes)
{
    struct wire wire = { 0 };

    wire_fill(&wire, 0, megabytes << 20);
    return wire;
}

struct wire wire_gzip(const struct wire *in)
{
    struct wire out = { .bytes = malloc(in->length + 4096), .room = in->length + 4096 };
    z_stream stream = {
        .next_in = in->bytes, .avail_in = (uInt)in->length, .next_out = out.bytes, .avail_out = (uInt)out.room
    };

    app_rig_require(out.bytes && deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK &&
                        deflate(&stream, Z_FINISH) == Z_STREAM_END,
                    "gzip");
    out.length = stream.total_out;
    deflateEnd(&stream);
    return out;
}

void wire_free(struct wire *wire)
{
    free(wire->bytes);
    *wire = (struct wire){ 0 };
}

/* --- Sending -------------------------------------------------------------------------------------- */

/* Does the same as the pipeline after a piece: marks data as inspected, and frees completed transactions. */
static void after(struct app_rig *rig)
{
    struct work *work = rig->user;

    app_skip_inspection(&rig->flow);
    for (struct app_tx *tx = app_transaction_list(&rig->flow, APP_TX_CHANGED); tx; tx = tx->link[APP_TX_CHANGED].next) {
        for (unsigned i = 0; i < APP_EVENT_WORDS; i++)
            work->events[i] |= tx->events[i];
        app_tx_set_logged(tx);
    }
    work->transactions = app_tx_count(&rig->flow);
    app_free_completed(rig->app, &rig->flow, NULL, NULL);
    work->pieces++;
}

void work_count(bool on)
{
    counter.on = on;
}

uint64_t work_steps(void)
{
    return counter.steps;
}

void work_send(struct work *work, enum flow_direction direction, struct wire *wire)
{
    counter.on = true;
    app_rig_send(work->rig, direction, wire->bytes, wire->length);
    counter.on = false;
    work->bytes += wire->length;
    wire->length = 0;
}

void work_text(struct work *work, enum flow_direction direction, const char *text)
{
    struct wire wire = { 0 };

    wire_put(&wire, text, strlen(text));
    work_send(work, direction, &wire);
    wire_free(&wire);
}

/* --- Checks --------------------------------------------------------------------------------------- */

static bool has_event(const struct work *work, const struct flood *flood)
{
    const struct app_proto *proto = app_proto_by_id(app_id_by_name(flood->proto));

    for (unsigned event = 0; event < proto->event_count; event++) {
        if (strcasecmp(proto->events[event].name, flood->event) == 0)
            return work->events[event / 64] >> (event % 64) & 1;
    }
    ck_abort_msg("%s has no event %s", flood->proto, flood->event);
}

static struct work run(const struct flood *flood, int cut, uint32_t units)
{
    struct app_rig *rig = app_rig_new_limited(flood->proto, flood->yaml, (size_t)flood->memory_kib << 10);
    struct work work = { .rig = rig };

    if (flood->datagrams)
        rig->transport = APP_UDP;
    app_rig_start_flow(rig);
    rig->flow.server_port = flood->port;
    rig->cut = cut;
    rig->after = after;
    rig->user = &work;
    counter.steps = 0;
    flood->run(&work, units);
    work.steps = counter.steps;
    if (getenv("WORK_PRINT"))
        printf(
            "%-60s cut %5d: %8llu bytes, %6llu pieces, %10llu steps (%llu a byte), %llu transactions, %s, heap %zu\n",
            flood->name, cut, (unsigned long long)work.bytes, (unsigned long long)work.pieces,
            (unsigned long long)work.steps, (unsigned long long)(work.steps / (work.bytes ? work.bytes : 1)),
            (unsigned long long)work.transactions, rig->failed ? "given up" : "goes on", app_rig_memory(rig));
    ck_assert_msg(flood->may_refuse || app_rig_refused(rig) == 0, "%s: more than %u KiB", flood->name,
                  flood->memory_kib);
    ck_assert_str_eq(app_rig_protocol(rig) ? app_rig_protocol(rig) : "", flood->proto);
    ck_assert_msg(rig->failed == flood->given_up, "%s: %s with %u units", flood->name,
                  rig->failed ? "given up" : "goes on", units);
    ck_assert_msg(!flood->event || has_event(&work, flood), "%s: no event %s", flood->name, flood->event);
    app_rig_free(rig);
    return work;
}

/* Runs a flood with few and with many units. With pieces of one byte only the small run, because of its time. */
static void judge(const struct flood *flood, int cut)
{
    struct work few = run(flood, cut, flood->units), many = cut == 1 ? few : run(flood, cut, flood->units * GROWTH);
    uint64_t per_byte = flood->steps_per_byte ? flood->steps_per_byte : STEPS_PER_BYTE;
    uint64_t limit = many.bytes * per_byte + many.pieces * STEPS_PER_PIECE;

    ck_assert_msg(many.steps <= limit, "%s, cut %d: %llu steps for %llu bytes in %llu pieces", flood->name, cut,
                  (unsigned long long)many.steps, (unsigned long long)many.bytes, (unsigned long long)many.pieces);
    ck_assert_msg(many.steps <= few.steps * GROWTH * 3 / 2 + 100000,
                  "%s, cut %d: %llu steps, and %llu with %d times as much", flood->name, cut,
                  (unsigned long long)few.steps, (unsigned long long)many.steps, GROWTH);
}

START_TEST(http)
{
    judge(&http_floods[_i / PIECES], cuts[_i % PIECES]);
}
END_TEST

START_TEST(mail)
{
    judge(&mail_floods[_i / PIECES], cuts[_i % PIECES]);
}
END_TEST

START_TEST(records)
{
    judge(&record_floods[_i / PIECES], cuts[_i % PIECES]);
}
END_TEST

START_TEST(smb)
{
    judge(&smb_floods[_i / PIECES], cuts[_i % PIECES]);
}
END_TEST

START_TEST(messages)
{
    judge(&message_floods[_i / PIECES], cuts[_i % PIECES]);
}
END_TEST

START_TEST(services)
{
    judge(&service_floods[_i / PIECES], cuts[_i % PIECES]);
}
END_TEST

START_TEST(transforms)
{
    work_judge_transform((unsigned)_i);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_work");
    TCase *floods = tcase_create("floods");

    tcase_add_loop_test(floods, http, 0, (int)http_flood_count * PIECES);
    tcase_add_loop_test(floods, mail, 0, (int)mail_flood_count * PIECES);
    tcase_add_loop_test(floods, records, 0, (int)record_flood_count * PIECES);
    tcase_add_loop_test(floods, smb, 0, (int)smb_flood_count * PIECES);
    tcase_add_loop_test(floods, services, 0, (int)service_flood_count * PIECES);
    tcase_add_loop_test(floods, messages, 0, (int)message_flood_count * PIECES);
    tcase_add_loop_test(floods, transforms, 0, (int)transform_flood_count);
    tcase_set_timeout(floods, 120);
    suite_add_tcase(suite, floods);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
