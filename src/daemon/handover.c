/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes and reads the state of all modules for an engine hand-over. The file of a worker is
 *
 *     about  memcaps  names  protocols  half-open  flow  flow  flow ...  datagrams  tallies
 *
 * and a flow consists of parts: its own fields first, then the state that other modules store with it. Numbers of names
 * and protocols are valid in one process only. The names therefore come before the flows, and the reader builds tables
 * that translate the writer's numbers to its own.
 *
 * Cold path: memory for the tables is allocated here. Flows, sessions and all else are allocated from the pools of the
 * pipeline.
 */
#include "sluice/handover.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/dataset.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/flow.h"
#include "sluice/host.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/rule.h"
#include "sluice/stream.h"
#include "sluice/text.h"
#include "sluice/transfer.h"
#include "sluice/worker.h"

#include "mode.h"

enum { FILE_WORKER = 1, FILE_SHARED = 2 };

enum part {
    PART_ABOUT,
    PART_NAMES,
    PART_PROTOCOLS,
    PART_FLOW,
    PART_DATAGRAMS,
    PART_HOST_BITS,
    PART_HOST_TAGS,
    PART_THRESHOLDS,
    PART_EXPECTED,
    PART_COUNTERS,
    PART_MODE,
    PART_DATASETS,
    PART_CAPTURE_FILE,
    PART_SHARED_END, /* the shared file has PART_NAMES and the parts from PART_HOST_BITS to before this value */
    PART_TALLIES = PART_SHARED_END,
    PART_HALF_OPEN,
    PART_MEMCAPS,
};

_Static_assert((int)PIPELINE_MEMCAP_HOST == (int)WORKER_MEMCAPS, "memcaps that no worker has a share of follow");

/* Parts of a flow, in this order: its fields must come first, the TCP session before the application protocol, and
 * the latter before the firewall and the bits, which belong to transactions. */
enum flow_part {
    FLOW_PART_FIELDS,
    FLOW_PART_VARIABLES,
    FLOW_PART_KERNEL,
    FLOW_PART_TCP,
    FLOW_PART_DETECTION,
    FLOW_PART_TAG,
    FLOW_PART_HISTORY,
    FLOW_PART_APP,
    FLOW_PART_FIREWALL,
    FLOW_PART_TX_BITS,
};

/* --- Names ---------------------------------------------------------------------------------------- */

struct numbers {
    uint32_t *here[RULE_NAME_KIND_COUNT]; /* this process's number for each number of the writer, by kind */
    uint32_t count[RULE_NAME_KIND_COUNT];
};

static void numbers_clear(struct numbers *numbers)
{
    for (unsigned i = 0; i < RULE_NAME_KIND_COUNT; i++)
        free(numbers->here[i]);
    *numbers = (struct numbers){ .count = { 0 } };
}

/* Writes the names of all kinds except rules: the tallies contain the ids of their rules. */
static void write_names(struct transfer *t, const struct rule_names *names)
{
    for (uint16_t kind = 0; kind < RULE_NAME_RULE; kind++) {
        size_t start = transfer_part_start(t, PART_NAMES);
        const char *text;

        transfer_u16(t, &kind);
        for (uint32_t number = 1; (text = rule_names_text(names, (enum rule_name_kind)kind, number)); number++)
            transfer_put_text(t, text);
        transfer_part_end(t, start);
    }
}

static bool add_number(struct numbers *numbers, unsigned kind, uint32_t number)
{
    uint32_t count = numbers->count[kind];

    if ((count & (count - 1)) == 0) { /* the array is full: `count` is 0 or a power of two */
        uint32_t *more = realloc(numbers->here[kind], (count > 0 ? count * 2 : 2) * sizeof(*more));

        if (!more)
            return false;
        numbers->here[kind] = more;
    }
    if (count == 0)
        numbers->here[kind][numbers->count[kind]++] = 0; /* numbers begin with 1, so entry 0 is unused */
    numbers->here[kind][numbers->count[kind]++] = number;
    return true;
}

static void read_names(struct transfer *t, struct rule_names *names, struct numbers *numbers)
{
    uint16_t kind = 0;

    transfer_u16(t, &kind);
    transfer_require(t, kind < RULE_NAME_RULE && numbers->count[kind] == 0);
    while (!t->error && t->at < t->limit) {
        struct span name = { .at = NULL };

        name.at = transfer_lend_text(t, &name.length);
        if (!t->error && !add_number(numbers, kind, rule_names_number(names, (enum rule_name_kind)kind, name)))
            t->error = -ENOMEM;
    }
}

/* --- State of a transfer -------------------------------------------------------------------------- */

struct about {
    struct handover_place place;
    bool stream_inline;
};

struct passage {
    struct pipeline *pipeline;
    struct transfer_file *file; /* the file that is written; unused when reading */
    struct detect_signatures *checks;
    struct app_id_map protocols;
    struct numbers names;
    struct flow_numbers variables;
    struct handover_counts *counts;
    uint32_t workers; /* number of workers of this process */
    /* Reading: true if another worker reads the same file and reports its flows. This worker marks them as duplicates,
     * and ignores the tallies. */
    bool is_visit;
};

static void transfer_about(struct transfer *t, struct about *about)
{
    transfer_u32(t, &about->place.worker);
    transfer_u32(t, &about->place.workers);
    transfer_bool(t, &about->stream_inline);
    transfer_require(t, about->place.worker < about->place.workers);
}

/* Transfers the memcaps that clients of the control socket have changed, before the flows that need them. A memcap
 * whose setting has changed since then is not changed: the new configuration applies. */
static void transfer_memcaps(struct transfer *t, struct pipeline *pipeline, uint32_t workers)
{
    for (unsigned i = 0; i < PIPELINE_MEMCAPS; i++) {
        const struct memcap_state none = { 0 };
        struct memcap_state read = pipeline->memcaps ? pipeline->memcaps[i] : none;
        int err;

        transfer_u64(t, &read.configured);
        transfer_u64(t, &read.changed);
        if (!t->reading || t->error || !pipeline->memcaps || read.changed == 0 ||
            read.configured != pipeline->memcaps[i].configured ||
            (i < WORKER_MEMCAPS && read.changed / MEMCAP_MAX_GROWTH > read.configured))
            continue;
        err = i == PIPELINE_MEMCAP_HOST ? host_table_set_memcap(pipeline->hosts, read.changed)
                                        : worker_change_memcap(pipeline, (enum worker_memcap)i, read.changed / workers);
        if (!err)
            pipeline->memcaps[i].changed = read.changed;
    }
}

static void transfer_tx(struct transfer *t, struct app_tx *tx, void *user)
{
    const struct passage *passage = user;

    detect_transfer_transaction(t, passage->pipeline->detector, passage->checks, tx);
}

/* Writes or reads one part of a flow other than its fields, at the position of `t`. */
static void transfer_flow_part(struct transfer *t, struct passage *passage, struct flow *flow, enum flow_part kind)
{
    const struct app_transfer_options app = { &passage->protocols, transfer_tx, passage };
    struct pipeline *pipeline = passage->pipeline;

    switch (kind) {
    case FLOW_PART_VARIABLES:
        flow_transfer_variables(t, pipeline->flows, flow, &passage->variables);
        break;
    case FLOW_PART_KERNEL:
        flow_transfer_kernel(t, pipeline->flows, flow);
        break;
    case FLOW_PART_TCP:
        passage->counts->sessions += stream_transfer(t, pipeline->stream, flow);
        break;
    case FLOW_PART_DETECTION:
        detect_transfer_flow(t, pipeline->detector, passage->checks, flow);
        break;
    case FLOW_PART_TAG:
        policy_transfer_tag(t, pipeline->policy, flow);
        break;
    case FLOW_PART_HISTORY:
        policy_transfer_history(t, pipeline->policy, flow);
        break;
    case FLOW_PART_APP:
        app_transfer_flow(t, pipeline->app, flow, &app);
        break;
    case FLOW_PART_FIREWALL:
        detect_transfer_filter(t, flow);
        break;
    case FLOW_PART_TX_BITS:
        app_transfer_bits(t, flow, passage->names.here[RULE_NAME_TX_BIT], passage->names.count[RULE_NAME_TX_BIT]);
        break;
    case FLOW_PART_FIELDS:
        break;
    }
}

/* --- Writing -------------------------------------------------------------------------------------- */

static void write_flow_part(struct passage *passage, struct flow *flow, enum flow_part kind, bool is_there)
{
    struct transfer *t = &passage->file->out;
    size_t start;

    if (!is_there)
        return;
    start = transfer_part_start(t, (uint16_t)kind);
    transfer_flow_part(t, passage, flow, kind);
    transfer_part_end(t, start);
}

static void write_flow(struct flow *flow, void *user)
{
    struct passage *passage = user;
    struct transfer *t = &passage->file->out;
    size_t start = transfer_part_start(t, PART_FLOW), fields = transfer_part_start(t, FLOW_PART_FIELDS);

    flow_transfer(t, flow);
    transfer_part_end(t, fields);
    write_flow_part(passage, flow, FLOW_PART_VARIABLES, flow->variables != NULL);
    write_flow_part(passage, flow, FLOW_PART_KERNEL, flow->kernel != NULL);
    write_flow_part(passage, flow, FLOW_PART_TCP, flow->tcp != NULL);
    write_flow_part(passage, flow, FLOW_PART_DETECTION,
                    flow->detection[FLOW_TO_SERVER] || flow->detection[FLOW_TO_CLIENT]);
    write_flow_part(passage, flow, FLOW_PART_TAG, flow->tag != NULL);
    write_flow_part(passage, flow, FLOW_PART_HISTORY, flow->history != NULL);
    write_flow_part(passage, flow, FLOW_PART_APP, flow->app != NULL);
    write_flow_part(passage, flow, FLOW_PART_FIREWALL, flow->accepted || (flow->app && passage->pipeline->filters));
    write_flow_part(passage, flow, FLOW_PART_TX_BITS, app_has_bits(flow));
    transfer_part_end(t, start);
    transfer_file_flush(passage->file);
    passage->counts->flows++;
    pipeline_log_remaining(passage->pipeline, flow);
}

/* Transfers half-open connections. The hash secrets come first, because the records contain hashes that the writer
 * computed. */
static void transfer_half_open(struct transfer *t, struct pipeline *pipeline)
{
    bool same = flow_table_transfer_seed(t, pipeline->flows);

    stream_transfer_half_open(t, pipeline->stream, same);
}

int handover_write(struct pipeline *pipeline, const struct ruleset *ruleset, struct handover_place place, int fd,
                   struct handover_counts *counts)
{
    struct passage passage = { .pipeline = pipeline, .counts = counts };
    struct about about = { place, pipeline->stream_inline };
    struct rule_names *names = rule_list_names(ruleset_rules(ruleset));
    struct transfer_file file;
    struct transfer *t = &file.out;
    uint64_t size = 0;
    size_t start;
    int err, end;

    err = detect_signatures_new(&passage.checks, ruleset);
    if (err)
        return err;
    pipeline_set_ruleset(pipeline, ruleset);
    passage.file = &file;
    err = transfer_file_start(&file, fd, FILE_WORKER);
    if (!err) {
        start = transfer_part_start(t, PART_ABOUT);
        transfer_about(t, &about);
        transfer_part_end(t, start);
        if (pipeline->memcaps) {
            start = transfer_part_start(t, PART_MEMCAPS);
            transfer_memcaps(t, pipeline, place.workers);
            transfer_part_end(t, start);
        }
        write_names(t, names);
        start = transfer_part_start(t, PART_PROTOCOLS);
        app_id_map_write(t);
        transfer_part_end(t, start);
        start = transfer_part_start(t, PART_HALF_OPEN);
        transfer_half_open(t, pipeline);
        transfer_part_end(t, start);
        transfer_file_flush(&file);
        flow_table_each(pipeline->flows, write_flow, &passage);
        start = transfer_part_start(t, PART_DATAGRAMS);
        defrag_transfer(t, pipeline->defrag);
        transfer_part_end(t, start);
        start = transfer_part_start(t, PART_TALLIES);
        policy_transfer_tallies(t, pipeline->policy, names);
        transfer_part_end(t, start);
    }
    end = transfer_file_finish(&file, &size);
    detect_signatures_free(passage.checks);
    counts->bytes += size;
    return err ? err : end;
}

/* --- Reading -------------------------------------------------------------------------------------- */

/* Adds a flow to the flow table, with the numbers of names and protocols translated to those of this
 * process. */
static void read_flow(struct transfer *t, struct passage *passage)
{
    struct flow read = { .hash = 0 }, *flow;
    struct transfer part;
    uint16_t kind = 0;

    transfer_require(t, transfer_next_part(t, &kind, &part) && kind == FLOW_PART_FIELDS);
    if (t->error)
        return;
    flow_transfer(&part, &read);
    t->error = part.error;
    if (t->error)
        return;
    read.application = app_map_application(&passage->protocols, read.application);
    flow = flow_table_add_copy(passage->pipeline->flows, &read);
    if (!flow) {
        passage->counts->left++;
        return;
    }
    if (passage->is_visit)
        flow_set_duplicate(flow);
    passage->counts->flows++;
    /* The checksum of the file is correct, so an invalid part is a bug of the writer or reader: the flow continues
     * without this part, and other flows are not affected. */
    while (!t->error && transfer_next_part(t, &kind, &part)) {
        if (kind == FLOW_PART_TCP && flow->protocol != IPPROTO_TCP)
            continue;
        transfer_flow_part(&part, passage, flow, (enum flow_part)kind);
        passage->counts->spoiled += part.error != 0;
    }
}

/* Returns whether a flow of worker `from.worker`, one of `from.workers` previous workers, may now belong to worker
 * `to.worker`, one of `to.workers` workers. Sets *first to the first worker to which it may belong. */
static bool may_come(struct handover_place from, struct handover_place to, uint32_t *first)
{
    uint64_t low = (uint64_t)from.worker * to.workers / from.workers;
    uint64_t high = ((uint64_t)(from.worker + 1) * to.workers - 1) / from.workers;

    *first = (uint32_t)low;
    return to.worker >= low && to.worker <= high;
}

static void read_part(struct transfer *t, struct passage *passage, enum part kind)
{
    struct pipeline *pipeline = passage->pipeline;

    switch (kind) {
    case PART_NAMES:
        read_names(t, rule_list_names(ruleset_rules(pipeline->ruleset)), &passage->names);
        passage->variables = (struct flow_numbers){
            .bits = passage->names.here[RULE_NAME_FLOWBIT],
            .integers = passage->names.here[RULE_NAME_FLOWINT],
            .texts = passage->names.here[RULE_NAME_FLOW_TEXT],
            .bit_count = passage->names.count[RULE_NAME_FLOWBIT],
            .integer_count = passage->names.count[RULE_NAME_FLOWINT],
            .text_count = passage->names.count[RULE_NAME_FLOW_TEXT],
        };
        break;
    case PART_PROTOCOLS:
        app_id_map_read(t, pipeline->app, &passage->protocols);
        break;
    case PART_MEMCAPS:
        transfer_memcaps(t, pipeline, passage->workers);
        break;
    case PART_HALF_OPEN:
        transfer_half_open(t, pipeline);
        break;
    case PART_FLOW:
        read_flow(t, passage);
        break;
    case PART_DATAGRAMS:
        defrag_transfer(t, pipeline->defrag);
        break;
    case PART_TALLIES:
        if (!passage->is_visit) /* with is_visit, another worker reads the tallies */
            policy_transfer_tallies(t, pipeline->policy, rule_list_names(ruleset_rules(pipeline->ruleset)));
        break;
    default:
        break;
    }
}

static int read_all(struct transfer *t, struct passage *passage, struct handover_place place)
{
    struct about about = { .stream_inline = false };
    struct transfer part;
    uint16_t kind = 0;
    uint32_t first;

    if (place.workers == 0 || !transfer_next_part(t, &kind, &part) || kind != PART_ABOUT)
        return -EBADMSG;
    transfer_about(&part, &about);
    if (part.error)
        return part.error;
    if (about.stream_inline != passage->pipeline->stream_inline)
        return -ENOTSUP;
    if (!may_come(about.place, place, &first))
        return 0;
    passage->is_visit = first != place.worker;
    while (!t->error && transfer_next_part(t, &kind, &part)) {
        read_part(&part, passage, (enum part)kind);
        if (kind == PART_DATAGRAMS || kind == PART_HALF_OPEN)
            passage->counts->spoiled += part.error != 0;
        else
            t->error = part.error;
    }
    return t->error;
}

int handover_read(struct pipeline *pipeline, const struct ruleset *ruleset, struct handover_place place, int fd,
                  struct handover_counts *counts)
{
    struct handover_counts now = { 0 };
    struct passage passage = { .pipeline = pipeline, .counts = &now, .workers = place.workers };
    struct transfer_map map;
    int err = detect_signatures_new(&passage.checks, ruleset);

    if (err)
        return err;
    pipeline_set_ruleset(pipeline, ruleset);
    err = transfer_map_open(&map, fd, FILE_WORKER);
    if (!err) {
        err = read_all(&map.in, &passage, place);
        now.bytes = map.size;
        transfer_map_close(&map);
    }
    numbers_clear(&passage.names);
    detect_signatures_free(passage.checks);
    if (err) {
        pipeline_discard_flows(pipeline);
        return err;
    }
    counts->flows += now.flows;
    counts->sessions += now.sessions;
    counts->left += now.left;
    counts->spoiled += now.spoiled;
    counts->bytes += now.bytes;
    return 0;
}

/* --- Shared state --------------------------------------------------------------------------------- */

static void transfer_shared_part(struct transfer *t, struct pipeline_shared *shared, const struct ruleset *ruleset,
                                 const struct numbers *names, uint64_t now_ns, enum part kind)
{
    const struct host_numbers hosts = {
        .hosts = names->here[RULE_NAME_HOSTBIT],
        .pairs = names->here[RULE_NAME_XBIT],
        .host_count = names->count[RULE_NAME_HOSTBIT],
        .pair_count = names->count[RULE_NAME_XBIT],
    };

    switch (kind) {
    case PART_HOST_BITS:
        host_table_transfer(t, shared->hosts, &hosts, now_ns);
        break;
    case PART_HOST_TAGS:
        policy_shared_transfer_tags(t, shared->policy);
        break;
    case PART_THRESHOLDS:
        policy_shared_transfer_thresholds(t, shared->policy, now_ns);
        break;
    case PART_EXPECTED:
        app_shared_transfer(t, shared->apps);
        break;
    case PART_COUNTERS:
        if (shared->counters)
            transferred_counters_transfer(t, shared->counters);
        break;
    case PART_MODE:
        transfer_u64(t, &shared->mode_override);
        break;
    case PART_CAPTURE_FILE:
        transfer_u64(t, &shared->capture_file);
        break;
    case PART_DATASETS:
        datasets_transfer(t, rule_list_datasets(ruleset_rules(ruleset)));
        break;
    default:
        break;
    }
}

int handover_write_shared(struct pipeline_shared *shared, const struct ruleset *ruleset, uint64_t now_ns, int fd)
{
    const struct numbers none = { .count = { 0 } };
    struct transfer_file file;
    uint64_t size;
    int err = transfer_file_start(&file, fd, FILE_SHARED), end;

    if (!err)
        write_names(&file.out, rule_list_names(ruleset_rules(ruleset)));
    for (enum part kind = PART_HOST_BITS; !err && kind < PART_SHARED_END; kind++) {
        size_t start = transfer_part_start(&file.out, (uint16_t)kind);

        transfer_shared_part(&file.out, shared, ruleset, &none, now_ns, kind);
        transfer_part_end(&file.out, start);
        transfer_file_flush(&file);
    }
    end = transfer_file_finish(&file, &size);
    return err ? err : end;
}

int handover_read_shared(struct pipeline_shared *shared, const struct ruleset *ruleset, int fd)
{
    struct numbers names = { .count = { 0 } };
    struct transfer_map map;
    struct transfer part;
    uint16_t kind = 0;
    int err = transfer_map_open(&map, fd, FILE_SHARED);

    if (err)
        return err;
    while (!map.in.error && transfer_next_part(&map.in, &kind, &part)) {
        if (kind == PART_NAMES)
            read_names(&part, rule_list_names(ruleset_rules(ruleset)), &names);
        else
            transfer_shared_part(&part, shared, ruleset, &names, 0, (enum part)kind);
        map.in.error = part.error;
    }
    err = map.in.error;
    numbers_clear(&names);
    transfer_map_close(&map);
    return err;
}
