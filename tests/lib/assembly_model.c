/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "assembly_model.h"

static uint64_t model_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint8_t model_script_byte(struct model_run *run)
{
    return run->at < run->length ? run->script[run->at++] : 0;
}

static uint64_t model_script_number(struct model_run *run)
{
    uint64_t high = model_script_byte(run);

    return high << 8 | model_script_byte(run);
}

static uint8_t model_content(uint64_t offset, unsigned variant)
{
    return (uint8_t)((offset + 1 + variant * 77777) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

/* With a small memcap the assembly frees history earlier, but only bytes that were acknowledged and inspected. */
static void model_follow_base(const struct model_run *run, struct model *model)
{
    if (!run->small || model->assembly.base <= model->base)
        return;
    MODEL_MUST(model->assembly.base <= model->inspected && model->assembly.base <= model->acknowledged);
    model->base = model->assembly.base;
}

static void model_release(const struct model_run *run, struct model *model)
{
    uint64_t history = model_min(model->window, MODEL_HISTORY);
    uint64_t inspected = model->inspected > history ? model->inspected - history : 0;
    uint64_t before = model_min(inspected, model->acknowledged);

    if (before > model->base)
        model->base = before;
    model_follow_base(run, model);
}

static void model_advance(struct model *model)
{
    while (model->contiguous < MODEL_SIZE && model->kind[model->contiguous] != MODEL_UNSEEN)
        model->contiguous++;
    if (model->end < model->contiguous)
        model->end = model->contiguous;
}

/* Returns the number of ranges beyond `contiguous` after [start, end) is added. */
static size_t model_count_extents(const struct model *model, uint64_t start, uint64_t end)
{
    bool inside = start <= model->contiguous;
    size_t count = 0;
    uint64_t stop = model->end > end ? model->end : end;

    for (uint64_t at = inside ? model_min(end, MODEL_SIZE) : model->contiguous; at < stop; at++) {
        bool seen = model->kind[at] != MODEL_UNSEEN || (at >= start && at < end);

        count += seen && !inside;
        inside = seen;
    }
    return count;
}

/* The extents of the model are counted only if the assembly has reached the limit, because counting takes long.
 * model_finish() compares both counts. */
static bool model_is_full(const struct model *model, uint64_t start, uint64_t end)
{
    return model->assembly.extent_count >= MODEL_MAX_EXTENTS &&
           model_count_extents(model, start, end) > MODEL_MAX_EXTENTS;
}

/* Returns whether the bytes of a new segment replace those of an old one, by Suricata's rules for each kind of overlap.
 */
static bool model_new_wins(enum host_os os, const struct model_segment *new, const struct model_segment *old)
{
    bool like_solaris = os == HOST_OS_SOLARIS || os == HOST_OS_OLD_SOLARIS || os == HOST_OS_HPUX11;

    if (os == HOST_OS_VISTA)
        return false;
    if (new->start == old->start) {
        if (new->end < old->end)
            return false;
        if (new->end > old->end && os == HOST_OS_LINUX)
            return true;
        return like_solaris || os == HOST_OS_OLD_LINUX;
    }
    if (new->start < old->start)
        return !like_solaris || new->end >= old->end;
    return like_solaris && new->end > old->end;
}

static bool model_replaces(const struct model_run *run, const struct model *model, uint64_t at,
                           const struct model_segment *new)
{
    if (run->inline_mode || at < model->inspected || at < model->acknowledged)
        return false;
    for (size_t i = 0; i < model->segment_count; i++) {
        const struct model_segment *old = &model->segments[i];

        if (at >= old->start && at < old->end && !model_new_wins(run->os, new, old))
            return false;
    }
    return true;
}

static struct model_expectation model_expect(const struct model *model, uint64_t start, uint64_t end,
                                             const uint8_t *bytes)
{
    struct model_expectation expected = { 0 };

    for (uint64_t at = start; at < end; at++) {
        expected.added += model->kind[at] == MODEL_UNSEEN;
        expected.overlapping += model->kind[at] == MODEL_SEEN || model->kind[at] == MODEL_SKIPPED;
        expected.differs |= model->kind[at] == MODEL_SEEN && model->value[at] != bytes[at - start];
    }
    return expected;
}

static void model_apply(const struct model_run *run, struct model *model, uint64_t start, uint64_t end,
                        const struct model_segment *segment, const uint8_t *bytes)
{
    for (uint64_t at = start; at < end; at++) {
        if (model->kind[at] == MODEL_UNSEEN ||
            (model->kind[at] == MODEL_SEEN && model_replaces(run, model, at, segment)))
            model->value[at] = bytes[at - start];
        if (model->kind[at] == MODEL_UNSEEN)
            model->kind[at] = MODEL_SEEN;
    }
    if (model->end < end)
        model->end = end;
    model_advance(model);
    if (model->segment_count < MODEL_SEGMENTS)
        model->segments[model->segment_count++] = *segment;
}

/* Clips a segment to the bounds of the model. Returns false if nothing is left. */
static bool model_clip(const struct model *model, uint64_t *start, uint64_t *end)
{
    if ((int64_t)*end < 0)
        return false;
    if ((int64_t)*start < 0)
        *start = 0;
    if (*start < model->base)
        *start = model->base;
    if ((model->limit || model->stopped) && *end > model->limit)
        *end = model->limit;
    return *start < *end;
}

static void model_add(struct model_run *run, struct model *model, uint64_t offset, uint32_t length, unsigned variant,
                      unsigned change_every)
{
    uint64_t start = offset, end = offset + length;
    struct assembly_report report;

    for (uint32_t i = 0; i < length; i++)
        run->payload[i] = model_content(offset + i, change_every && i % change_every == 0 ? variant : 0);
    run->payload_offset = offset;
    run->payload_length = length;
    run->payload_of = model;

    bool differs = assembly_differs(&model->assembly, offset, run->payload, length);
    int err = assembly_add(run->store, &model->assembly, offset, run->payload, length, run->os, &report);
    uint64_t base = model->base;

    model_release(run, model);
    if (!model_clip(model, &start, &end)) {
        MODEL_MUST(err == 0 && report.added == 0 && report.overlapping == 0 && !report.differs);
        return;
    }
    const uint8_t *bytes = run->payload + (start - offset);
    struct model_expectation expected = model_expect(model, start, end, bytes);
    bool full = expected.added > 0 && model_is_full(model, start, end);

    MODEL_MUST((err == -ENOSPC) == report.too_many_extents && (err == -ENOMEM) == report.no_memory);
    MODEL_MUST(full ? err == -ENOSPC : err == 0 || (err == -ENOMEM && run->small));
    MODEL_MUST(report.added == (err ? 0 : expected.added));
    MODEL_MUST(err || (report.overlapping == expected.overlapping && report.differs == expected.differs));
    MODEL_MUST(err || base != model->base || differs == expected.differs);
    if (err)
        return;
    const struct model_segment segment = { (int64_t)offset < 0 ? 0 : offset, end };

    model_apply(run, model, start, end, &segment, bytes);
}

static unsigned model_objects(const struct model_run *run)
{
    const struct assembly *a = &run->model[0].assembly, *b = &run->model[1].assembly;

    return (unsigned)a->extent_count + a->hole_count + b->extent_count + b->hole_count;
}

static void model_acknowledge(struct model_run *run, struct model *model, uint64_t offset)
{
    uint64_t until = model->limit ? model_min(offset, model->limit) : offset;
    bool lost = false, gap;

    if (until > model->contiguous && (model->holes >= MODEL_HOLES || (run->small && model_objects(run) > 100)))
        return;
    gap = assembly_acknowledge(run->store, &model->assembly, offset);
    if (model->stopped)
        return;
    if (offset > model->acknowledged)
        model->acknowledged = offset;
    for (uint64_t at = model->contiguous; at < until; at++) {
        if (model->kind[at] != MODEL_UNSEEN)
            continue;
        model->holes += at == model->contiguous || model->kind[at - 1] != MODEL_LOST;
        model->kind[at] = MODEL_LOST;
        lost = true;
    }
    MODEL_MUST(gap == lost);
    model_advance(model);
    model_release(run, model);
}

static void model_skip(struct model_run *run, struct model *model, uint64_t offset, uint32_t length)
{
    uint64_t start = offset, end = offset + length;

    if (model->holes >= MODEL_HOLES || model_is_full(model, offset, end))
        return;
    int err = assembly_skip(run->store, &model->assembly, offset, length);

    MODEL_MUST(err == 0 || (err == -ENOMEM && run->small));
    if (err || !model_clip(model, &start, &end))
        return;
    for (uint64_t at = start; at < end; at++) {
        if (model->kind[at] != MODEL_UNSEEN)
            continue;
        model->holes += at == start || model->kind[at - 1] != MODEL_SKIPPED;
        model->kind[at] = MODEL_SKIPPED;
    }
    if (model->end < end)
        model->end = end;
    model_advance(model);
}

static void model_check_bytes(const struct model *model, const uint8_t *bytes, uint64_t start, uint64_t end)
{
    for (uint64_t at = start; at < end; at++)
        MODEL_MUST(model->kind[at] == MODEL_SEEN && bytes[at - start] == model->value[at]);
}

/* The inspection window has up to `size` bytes before the chunk, but none before the last gap. */
static void model_check_window(struct model_run *run, struct model *model, const struct stream_chunk *view)
{
    uint64_t size = model_min(model->window, MODEL_HISTORY), start = view->offset > size ? view->offset - size : 0;
    const uint8_t *bytes, *again;
    uint32_t length, view_at, count = 0;
    uint64_t offset = assembly_window(run->store, &model->assembly, view, &bytes, &length, &view_at);

    model_follow_base(run, model);
    if (start < model->base)
        start = model->base;
    for (uint64_t at = view->offset; at > start; at--)
        if (model->kind[at - 1] == MODEL_LOST)
            start = at;
    while (start < view->offset && model->kind[start] != MODEL_SEEN)
        start++;
    MODEL_MUST(offset == start);
    for (uint64_t at = start; at < view->offset; at++) {
        if (model->kind[at] != MODEL_SEEN)
            continue;
        MODEL_MUST(count < view_at && bytes[count] == model->value[at]);
        count++;
    }
    MODEL_MUST(count == view_at && length == view_at + view->length);
    model_check_bytes(model, bytes + view_at, view->offset, view->offset + view->length);
    assembly_window(run->store, &model->assembly, view, &again, &length, &view_at);
    MODEL_MUST(again == bytes && view_at == count);
}

static void model_keep_before(struct model *model, uint64_t start, uint64_t end)
{
    if (end - start > STREAM_BEFORE_MAX)
        start = end - STREAM_BEFORE_MAX;
    for (uint64_t at = start; at < end; at++) {
        if (model->before_length == STREAM_BEFORE_MAX)
            memmove(model->before, model->before + 1, --model->before_length);
        model->before[model->before_length++] = model->value[at];
    }
}

static void model_check_view(struct model_run *run, struct model *model, const struct stream_chunk *view, uint64_t stop,
                             bool with_window)
{
    uint64_t end = model->inspected;

    while (end < stop && end - model->inspected < 65536 && model->kind[end] == MODEL_SEEN)
        end++;
    MODEL_MUST(view->offset == model->inspected && view->length == end - model->inspected);
    MODEL_MUST(view->gap == model->gap_before_next);
    MODEL_MUST(view->before_length == model->before_length);
    MODEL_MUST(memcmp(view->before, model->before, model->before_length) == 0);
    MODEL_MUST(view->end == (model->limit && end == model->limit));
    if (view->is_payload) {
        MODEL_MUST(view->data == run->payload && view->offset == run->payload_offset);
        MODEL_MUST(view->length == run->payload_length && run->payload_of == model);
    }
    model_check_bytes(model, view->data, view->offset, end);
    if (with_window)
        model_check_window(run, model, view);
    model_keep_before(model, model->inspected, end);
    model->gap_before_next = false;
    model->inspected = end;
}

static bool model_view(struct model_run *run, struct model *model, uint64_t until, bool with_window)
{
    uint64_t stop = model_min(until, model->contiguous);
    struct stream_chunk view;
    const uint8_t *payload = run->payload_of == model ? run->payload : NULL;

    model_release(run, model);
    for (; model->inspected < stop && model->kind[model->inspected] > MODEL_SEEN; model->inspected++) {
        if (model->kind[model->inspected] == MODEL_LOST) {
            model->gap_before_next = true;
            model->before_length = 0;
        }
    }
    if (!assembly_next_chunk(run->store, &model->assembly, until, payload, run->payload_offset, run->payload_length,
                             &view)) {
        MODEL_MUST(model->inspected >= stop);
        return false;
    }
    model_check_view(run, model, &view, stop, with_window);
    return true;
}

static void model_check_rewrite(const struct model *model, uint64_t offset, uint32_t length)
{
    static uint8_t bytes[MODEL_MAX_LENGTH];

    memset(bytes, 0xA5, length);
    assembly_rewrite(&model->assembly, offset, bytes, length);
    for (uint64_t at = offset; at < offset + length; at++) {
        bool kept = at >= model->base && model->kind[at] == MODEL_SEEN && (!model->stopped || at < model->limit);

        MODEL_MUST(bytes[at - offset] == (kept ? model->value[at] : 0xA5));
    }
}

static void model_count_missing(size_t at, uint64_t missing, void *user)
{
    (void)at;
    *(uint64_t *)user += missing;
}

static void model_check_copy(const struct model *model)
{
    static uint8_t bytes[MODEL_SIZE];
    uint64_t missing = 0, expected = 0;
    size_t at = 0, length = assembly_copy(&model->assembly, bytes, sizeof(bytes), model_count_missing, &missing);

    for (uint64_t i = model->base; i < model->end; i++) {
        if (model->kind[i] == MODEL_SEEN) {
            MODEL_MUST(at < length && bytes[at] == model->value[i]);
            at++;
        }
        expected += model->kind[i] == MODEL_UNSEEN || model->kind[i] == MODEL_LOST;
    }
    MODEL_MUST(at == length && missing == expected);
}

static void model_command(struct model_run *run)
{
    unsigned command = model_script_byte(run), how = model_script_byte(run);
    struct model *model = &run->model[command >> 7];
    uint64_t distance = model_script_number(run) >> (how & 15);
    uint64_t length = (how & 0x10 ? model_script_number(run) : model_script_byte(run)) + 1;
    uint64_t from = how & 0x20 ? model->inspected : model->contiguous;
    unsigned variant = how >> 6 & (MODEL_VARIANTS - 1), change_every = 1 + (unsigned)(distance & 7);

    if (length > MODEL_MAX_LENGTH)
        length = MODEL_MAX_LENGTH;
    if (model->contiguous + MODEL_MAX_LENGTH * 2 >= MODEL_SIZE)
        return;
    switch (command & 15) {
    case 0:
    case 1:
    case 2:
        model_add(run, model, model->contiguous, (uint32_t)length, variant, 0);
        break;
    case 3:
    case 4:
    case 5:
        model_add(run, model, from + distance, (uint32_t)length, variant, change_every);
        break;
    case 6:
    case 7:
        model_add(run, model, from - distance, (uint32_t)length, variant, change_every);
        break;
    case 8:
        model_acknowledge(run, model, from + (distance & 0xFF));
        break;
    case 9:
        model_acknowledge(run, model, from > distance ? from - distance : 0);
        break;
    case 10:
        model_skip(run, model, from + (distance & 0x3FF), (uint32_t)(1 + length % 3));
        break;
    case 11:
        while (model_view(run, model, run->inline_mode ? model->contiguous : model->acknowledged, how & 1))
            ;
        break;
    case 12:
        model_view(run, model, model->inspected + distance, how & 1);
        break;
    case 13:
        model_check_rewrite(model, model->contiguous > distance ? model->contiguous - distance : 0, (uint32_t)length);
        break;
    case 14:
        model_check_copy(model);
        break;
    case 15:
        if (how == 0xFF && !model->stopped) {
            assembly_stop(run->store, &model->assembly);
            model->stopped = true;
            model->base = model->inspected = model->limit = model->end = model->contiguous;
            memset(model->kind + model->contiguous, MODEL_UNSEEN, MODEL_SIZE - model->contiguous);
            model->before_length = 0;
        }
        break;
    }
    MODEL_MUST(model->assembly.contiguous == model->contiguous && model->assembly.inspected == model->inspected);
    model_follow_base(run, model);
    MODEL_MUST(model->assembly.base == model->base);
}

/* Takes all remaining chunks, and checks that all memory is freed. */
static void model_finish(struct model_run *run, struct model *model)
{
    MODEL_MUST(model->assembly.extent_count == model_count_extents(model, model->contiguous, model->contiguous));
    while (model_view(run, model, UINT64_MAX, true))
        ;
    MODEL_MUST(model->inspected == model->contiguous);
    assembly_clear(run->store, &model->assembly);
    MODEL_MUST(memcmp(&model->assembly, &(struct assembly){ 0 }, sizeof(struct assembly)) == 0);
}

void model_run(const uint8_t *script, size_t length)
{
    struct model_run *run = calloc(1, sizeof(*run));
    static const uint32_t windows[] = { 0, 100, 2560, 70000 };

    MODEL_MUST(run);
    run->script = script;
    run->length = length;
    unsigned flags = model_script_byte(run);

    run->inline_mode = !(flags & 1);
    run->small = run->inline_mode && flags & 2;
    run->os = (enum host_os)(model_script_byte(run) % HOST_OS_COUNT);
    for (int i = 0; i < 2; i++) {
        struct model *model = &run->model[i];

        model->window = model->assembly.window = windows[flags >> 2 & 3];
        model->limit = model->assembly.limit = flags & 16 ? 1 + model_script_number(run) : 0;
    }
    const struct assembly_options options = { .memcap = run->small ? 150000 : 4 << 20,
                                              .inline_mode = run->inline_mode };

    MODEL_MUST(assembly_store_new(&run->store, &options) == 0);
    for (int i = 0; i < MODEL_SEGMENTS && run->at < run->length; i++) {
        model_command(run);
        MODEL_MUST(assembly_store_memory(run->store) <= options.memcap);
    }
    model_finish(run, &run->model[0]);
    model_finish(run, &run->model[1]);
    MODEL_MUST(assembly_store_memory(run->store) == 0);
    assembly_store_free(run->store);
    free(run);
}
