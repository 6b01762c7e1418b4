/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests that Sluice survives the failure of single allocations, at every place that allocates, in every protocol.
 *
 *     alloc_failures SOURCE [--all] [--largest BYTES] [--runs N] [--only TEXT] [--here] [CAPTURE OR FOLDER]...
 *
 * Each conversation (conversation.h) is processed by the whole pipeline with all rules, all events and the file store,
 * many times: once without failures, to count the allocations; once for each allocation, which fails in that run; and
 * once for every ninth allocation, with which all later ones fail. Of the allocations of a protocol that have the same
 * call stack, at most eight fail, at most four of them in one conversation, spread evenly. For captures only N
 * allocations (default 20), spread evenly, fail. With --all every allocation fails once.
 *
 * Then the start of a daemon (settings, rules, pipeline, output) is repeated in the same way, for malloc() and its
 * relatives.
 *
 * A run must not crash, and must return all memory to the application-layer heap and the pools. Builds with sanitizers
 * run this test, too. The conversations run in a child process, which is started again after a crash, so that all
 * crashes are listed with conversation and number of the allocation. To debug one, use --only (conversations whose name
 * contains TEXT) and --here (no child process).
 *
 * The table at the end has a line for each application protocol, each pool (in the order in which pipeline_init()
 * creates them) and the output thread. The test fails if no allocation of a line was refused, except for pools from
 * which no run allocates; at least POOLS_MIN pools must have a refused allocation.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/memory_watch.h"
#include "conversation.h"
#include "sluice/app.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/file_store.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/load_progress.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "refuse.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/diag.h"

#if __has_include(<sanitizer/lsan_interface.h>) && defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_do_recoverable_leak_check() 0
#endif

enum {
    STACKS_MAX = 1 << 15,
    KNOWN_STACKS_MAX = 1 << 18,
    SAME_STACK_OF_CONVERSATION = 4,
    SAME_STACK_MAX = 8,
};
enum { CRASHES_MAX = 50, START_RUNS = 150, ALL_LATER_STEP = 9, HOUR_SECONDS = 3600 };
enum {
    POOLS_MAX = 40,
    /* Fragments (2), flows, their bits and texts, sessions, extents and blocks of data, pending candidates, states of
     * transactions, tags, histories. */
    POOLS_MIN = 12,
};
#define START_NS (UINT64_C(1700000000) * 1000000000)

enum mode { ONE_FAILS, ALL_LATER_FAIL, MODES };

/* In memory shared with the child, which may crash at any time. */
struct progress {
    size_t conversation; /* index; the number of conversations: the start of a daemon */
    enum mode mode;
    uint64_t at; /* number of the allocation that fails; 0: the conversation has not begun */
    bool failed; /* the child reported an error */
    uint64_t runs, skipped;
    uint64_t flows[APP_MAX_PROTOCOLS], heap_refused_count[APP_MAX_PROTOCOLS];
    struct {
        size_t object_size;
        bool is_used;
        uint64_t refused;
    } pools[POOLS_MAX]; /* those of inline and passive pipelines together */
    size_t pool_count;
    uint64_t output_refused, start_refused, start_runs;
};

struct side {
    struct pipeline_options options;
    struct pipeline_shared shared;
    struct pipeline pipeline;
    struct output *output;
    const struct pool *pools[POOLS_MAX];
    size_t pool_count;
};

static struct {
    const char *source, *only;
    char folder[64], eve[96];
    bool all, here;
    uint64_t largest, runs;
    struct conversations conversations;
    struct config *config;
    struct ruleset *ruleset;
    struct side side[2]; /* inline, passive */
    struct progress *progress;
    uint64_t number, begin_ns;
} t;

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "alloc_failures: %s\n", what);
    exit(2);
}

/* --- Settings and rules --------------------------------------------------------------------------- */

static void write_settings(char *out, size_t size)
{
    int length = snprintf(
        out, size,
        "log-dir: %s\n"
        "classification-file: %s/rules/classification.config\n"
        "reference-config-file: %s/rules/reference.config\n"
        "reputation:\n  categories: %s/tests/replay/captures/categories.txt\n"
        "  files: [%s/tests/replay/captures/reputations.list]\n"
        "geoip-database: %s/tests/replay/captures/countries.mmdb\n"
        "file-store:\n  enabled: yes\n  force-filestore: yes\n  force-magic: yes\n  force-hash: [md5, sha1, sha256]\n"
        "app-layer:\n  memcap: 4MiB\n  protocols:\n"
        "    tls:\n      ja3-fingerprints: yes\n      ja4-fingerprints: yes\n"
        "    http:\n      libhtp:\n        default-config:\n          lzma-enabled: yes\n"
        "    smtp:\n      mime:\n        body-md5: yes\n"
        "eve:\n  types:\n    frame: yes\n    http:\n      dump-all-headers: both\n"
        "    tls:\n      custom: [subject, issuer, serial, fingerprint, sni, version, not_before, not_after, "
        "certificate, chain, ja3, ja3s, "
        "ja4, subjectaltname]\n"
        "flow:\n  memcap: 1MiB\n"
        "stream:\n  memcap: 1MiB\n  reassembly-memcap: 2MiB\n"
        "defrag:\n  memcap: 1MiB\n"
        "threshold:\n  memcap: 1MiB\nhost:\n  memcap: 1MiB\n",
        t.folder, t.source, t.source, t.source, t.source, t.source);

    require(length > 0 && (size_t)length < size, "the settings are too long");
}

/* Returns 0 or -errno; adds messages to `diag`. */
static int load_settings(struct config **out, struct diag *diag)
{
    static char text[16384];
    int err;

    write_settings(text, sizeof(text));
    err = daemon_new_config(out);
    if (err)
        return err;
    err = config_parse(*out, "test", text, strlen(text), CONFIG_STRICT, diag);
    return err ? err : (diag_errors(diag) > 0 ? -EINVAL : 0);
}

static void load(void)
{
    static char paths[4][4096];
    static const char *const files[] = { "rules/decoder-events.rules", "rules/stream-events.rules",
                                         "rules/sluice.rules", "tests/replay/captures/keywords.rules" };
    const char *names[4];
    struct diag *diag = diag_new();
    int err = load_settings(&t.config, diag);

    for (unsigned i = 0; i < 4; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/%s", t.source, files[i]);
        names[i] = paths[i];
    }
    const struct rule_load_options load = { .config = t.config, .rule_files = names, .rule_file_count = 4 };

    err = err ? err : setup_load_rules(&t.ruleset, &load, diag);
    if (err)
        diag_print(diag, stderr, false);
    require(err == 0, "settings or rules are wrong");
    diag_free(diag);
}

/* --- The pipeline --------------------------------------------------------------------------------- */

static int open_output(struct output **out, const struct config *config)
{
    struct output_options options = { .inline_mode = true, .ring_size = 4 << 20 };
    char error[256];

    setup_eve_options(config, &options.eve);
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        options.eve.enabled[kind] = true;
    memset(options.eve.app, 1, sizeof(options.eve.app));
    options.eve.ethernet = options.eve.community_id = options.eve.metadata = true;
    options.eve.alert.payload = options.eve.alert.payload_printable = options.eve.alert.packet = true;
    options.eve.alert.verdict = options.eve.alert.flow = options.eve.alert.app_layer = true;
    options.eve.alert.tagged_packets = options.eve.alert.rule_raw = true;
    options.eve.anomaly.decode = options.eve.anomaly.stream = options.eve.anomaly.application = true;
    options.eve.xff.alert = options.eve.xff.http = (struct xff_options){ .enabled = true, .header = "X-Forwarded-For" };
    options.eve_path = t.eve;
    options.eve_truncate = true;
    options.console = NULL;
    options.ring_size = 1 << 20;
    return output_open(out, &options, 1, error);
}

static void close_side(struct side *side)
{
    pipeline_clear(&side->pipeline);
    output_close(side->output);
    pipeline_shared_clear(&side->shared);
    memset(side, 0, sizeof(*side));
}

/* Returns 0 or -errno. close_side() must be called even after an error. */
static int open_side(struct side *side, const struct config *config, const struct ruleset *ruleset, bool inline_mode,
                     bool has_files)
{
    struct diag *diag = diag_new();
    char error[ENGINE_ERROR_SIZE];
    int err = diag ? setup_pipeline_options(config, 1, inline_mode, &side->options, diag) : -ENOMEM;

    diag_free(diag);
    if (err)
        return err;
    side->options.checksums = CHECKSUMS_IGNORE;
    err = open_output(&side->output, config);
    if (err) {
        app_options_clear(&side->options.app);
        return err;
    }
    err = pipeline_shared_init(&side->shared, &side->options);
    if (!err && has_files)
        err = setup_file_store(&side->shared.files, config, t.folder, 1, true, error);
    if (!err)
        err = pipeline_init(&side->pipeline, &side->options, &side->shared, 0, output_port(side->output, 0));
    if (!err)
        pipeline_set_ruleset(&side->pipeline, ruleset);
    err = err ? err : detector_prepare(side->pipeline.detector, ruleset);
    return err || !side->shared.files ? err : file_store_start(side->shared.files);
}

/* Marks the pools of a new side; those of both sides are in the same order. */
static void mark_pools(struct side *side)
{
    size_t before, after;

    memory_watch_pools(&before);
    memory_watch_mark();
    const struct watched_pool *pools = memory_watch_pools(&after);

    side->pool_count = after - before;
    require(side->pool_count <= POOLS_MAX, "too many pools");
    for (size_t i = 0; i < side->pool_count; i++) {
        side->pools[i] = pools[before + i].pool;
        t.progress->pools[i].object_size = pools[before + i].object_size;
    }
    t.progress->pool_count = side->pool_count;
}

/* --- A run ---------------------------------------------------------------------------------------- */

static void report(const struct conversation *one, const char *what)
{
    fprintf(stderr, "%s, %s %llu: %s\n", one->name, t.progress->mode == ONE_FAILS ? "allocation" : "allocations from",
            (unsigned long long)t.progress->at, what);
    t.progress->failed = true;
}

static void check_nothing_left(const struct conversation *one, const struct side *side)
{
    struct app_memory_counts memory;
    size_t count;
    char what[128];

    app_byterange_clear(side->pipeline.app);
    app_get_memory_counts(side->pipeline.app, &memory);
    if (memory.used > 0)
        report(one, "memory of the application-layer heap was not given back");
    defrag_expire(side->pipeline.defrag, UINT64_MAX, SIZE_MAX);
    count = memory_watch_count_unfreed();
    if (count > 0) {
        snprintf(what, sizeof(what), "%zu objects of pools were not given back", count);
        report(one, what);
    }
}

/* Opens a new output for each run, because the buffers of the previous one have grown already. */
static void renew_output(struct side *side)
{
    output_close(side->output);
    side->output = NULL;
    require(open_output(&side->output, t.config) == 0, "cannot open the event file");
    side->pipeline.output = output_port(side->output, 0);
}

static uint64_t play(const struct conversation *one, struct side *side, uint64_t at, bool all_later)
{
    struct packet packet;

    renew_output(side);
    t.begin_ns += HOUR_SECONDS * UINT64_C(1000000000); /* state of the previous run has expired */
    refuse_start(at, all_later);
    for (size_t i = 0; i < one->count; i++) {
        const struct frame *frame = &one->frames[i];

        memset(&packet, 0, sizeof(packet));
        packet.data = frame->bytes;
        packet.length = frame->length;
        packet.wire_length = frame->wire_length;
        packet.link = frame->link;
        packet.time_ns = t.begin_ns + frame->delay_ns;
        packet.number = ++t.number;
        refuse_next_packet();
        pipeline_packet(&side->pipeline, t.ruleset, &packet, NULL);
        if (i + 1 == one->count)
            t.begin_ns = packet.time_ns;
    }
    refuse_next_packet();
    pipeline_finish(&side->pipeline, t.ruleset, t.begin_ns);
    refuse_stop();
    t.progress->runs++;
    for (size_t i = 0; i < side->pool_count; i++) {
        t.progress->pools[i].refused += refuse_count_pool(side->pools[i]);
        t.progress->pools[i].is_used |= refuse_has_used_pool(side->pools[i]);
    }
    if (one->protocol > 0)
        t.progress->heap_refused_count[one->protocol - 1] += refuse_count(REFUSE_HEAP);
    check_nothing_left(one, side);
    uint64_t calls = refuse_stop();

    refuse_start(at > calls ? at - calls : 0, all_later); /* the numbers go on with the output's allocations */
    output_stop(side->output);
    calls += refuse_stop();
    t.progress->output_refused += refuse_count(REFUSE_MALLOC);
    return calls;
}

/* Flows of the protocol so far, over TCP and UDP: "app_layer.flow.dns_tcp" and "app_layer.flow.dns_udp", or
 * "app_layer.flow.tls" of a protocol with one transport. */
static uint64_t flows_of(const struct side *side, unsigned protocol)
{
    static const char *const endings[] = { "", "_tcp", "_udp" };
    uint64_t flows = 0;
    char name[128];

    for (size_t i = 0; i < app_counter_count(); i++) {
        for (size_t k = 0; k < sizeof(endings) / sizeof(endings[0]); k++) {
            snprintf(name, sizeof(name), "app_layer.flow.%s%s", app_name_by_id(protocol), endings[k]);
            for (char *at = name; (at = strchr(at, '-')) != NULL;)
                *at = '_';
            if (strcmp(app_counter_name(side->shared.apps, i), name) == 0)
                flows += app_counter_value(side->pipeline.app, i);
        }
    }
    return flows;
}

static uint64_t step_of(const struct conversation *one, enum mode mode, uint64_t calls)
{
    if (t.all)
        return 1;
    if (one->sampled)
        return calls > t.runs ? calls / t.runs : 1;
    return mode == ONE_FAILS ? 1 : ALL_LATER_STEP;
}

/* An allocation of a conversation: its number, and a hash of its call stack, the protocol and the pipeline's mode. */
struct point {
    uint64_t stack, at;
};

static int compare_points(const void *left, const void *right)
{
    const struct point *a = left, *b = right;

    return a->stack != b->stack ? (a->stack < b->stack ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}

/* Returns how many of `count` allocations with this call stack are to fail, and adds this number to the total for the
 * call stack in all conversations. */
static size_t count_to_fail(uint64_t stack, size_t count)
{
    static struct {
        uint64_t stack;
        size_t failed;
    } table[KNOWN_STACKS_MAX];
    size_t slot = stack % KNOWN_STACKS_MAX, tries = 0, chosen;

    while (table[slot].failed > 0 && table[slot].stack != stack && ++tries < KNOWN_STACKS_MAX)
        slot = (slot + 1) % KNOWN_STACKS_MAX;
    require(tries < KNOWN_STACKS_MAX, "too many call stacks");
    table[slot].stack = stack;
    chosen = SAME_STACK_MAX - table[slot].failed;
    chosen = chosen < SAME_STACK_OF_CONVERSATION ? chosen : SAME_STACK_OF_CONVERSATION;
    chosen = chosen < count ? chosen : count;
    table[slot].failed += chosen;
    return chosen;
}

/* Sets is_skipped[N] for each allocation N that does not fail, because enough others with its call stack do. Those that
 * fail are spread evenly. */
static void skip_same_stacks(const struct conversation *one, bool *is_skipped, const uint64_t *stacks, size_t count)
{
    static struct point points[STACKS_MAX];

    for (size_t i = 0; i < count; i++)
        points[i] = (struct point){ .stack = stacks[i] ^ (2 * (uint64_t)one->protocol + one->passive), .at = i + 1 };
    qsort(points, count, sizeof(points[0]), compare_points);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && points[end].stack == points[begin].stack; end++)
            continue;
        size_t same = end - begin, chosen = count_to_fail(points[begin].stack, same);

        for (size_t i = 0; i < same; i++)
            is_skipped[points[begin + i].at] = chosen == 0 || (i > 0 && i * chosen / same == (i - 1) * chosen / same);
    }
}

static void run_conversation(const struct conversation *one)
{
    static uint64_t stacks[STACKS_MAX];
    static bool is_skipped[STACKS_MAX + 1];
    struct progress *progress = t.progress;
    struct side *side = &t.side[one->passive];
    uint64_t calls;

    if (progress->at == 0) { /* otherwise continue after a crash of the previous child */
        uint64_t before = one->protocol ? flows_of(side, one->protocol) : 0;

        play(one, side, 0, false);
        progress->at = 1;
        if (one->protocol)
            progress->flows[one->protocol - 1] += flows_of(side, one->protocol) - before;
    }
    refuse_record(stacks, STACKS_MAX);
    calls = play(one, side, 0, false);
    size_t count = refuse_record(NULL, 0);

    memset(is_skipped, 0, sizeof(is_skipped));
    if (!t.all && !one->sampled)
        skip_same_stacks(one, is_skipped, stacks, count);
    for (; progress->mode < MODES; progress->mode++, progress->at = 1)
        for (; progress->at <= calls; progress->at += step_of(one, progress->mode, calls)) {
            if (progress->mode == ONE_FAILS && progress->at <= STACKS_MAX && is_skipped[progress->at])
                progress->skipped++;
            else
                play(one, side, progress->at, progress->mode == ALL_LATER_FAIL);
        }
    progress->mode = ONE_FAILS;
    progress->at = 0;
}

/* --- The start ------------------------------------------------------------------------------------ */

/* Allocates everything that a start needs (settings, rules, pipeline, output), and frees it. Returns the number of
 * allocations. Errors are allowed if an allocation is refused. */
static uint64_t start_once(uint64_t at, bool all_later)
{
    static char path[4096];
    const char *names[] = { path };
    struct config *config = NULL;
    struct ruleset *ruleset = NULL;
    struct side side = { .output = NULL };
    struct diag *diag;
    int err;

    snprintf(path, sizeof(path), "%s/tests/memory/start.rules", t.source);
    refuse_start(at, all_later);
    diag = diag_new();
    err = diag ? load_settings(&config, diag) : -ENOMEM;
    const struct rule_load_options load = { .config = config, .rule_files = names, .rule_file_count = 1 };

    err = err ? err : setup_load_rules(&ruleset, &load, diag);
    err = err ? err : open_side(&side, config, ruleset, true, false);
    uint64_t calls = refuse_stop();

    t.progress->start_refused += refuse_count(REFUSE_MALLOC);
    t.progress->start_runs++;
    if (at == 0)
        require(err == 0, "the start fails without a refused allocation");
    close_side(&side);
    ruleset_free(ruleset);
    config_free(config);
    diag_free(diag);
    return calls;
}

static void run_start(void)
{
    struct progress *progress = t.progress;
    uint64_t calls = start_once(0, false), runs = t.all ? calls : START_RUNS, step = calls > runs ? calls / runs : 1;

    if (progress->at == 0)
        progress->at = 1;
    for (; progress->mode < MODES; progress->mode++, progress->at = 1)
        for (; progress->at <= calls; progress->at += step)
            start_once(progress->at, progress->mode == ALL_LATER_FAIL);
}

/* --- Processes ------------------------------------------------------------------------------------ */

static int child(void)
{
    require(open_side(&t.side[0], t.config, t.ruleset, true, true) == 0, "cannot make the inline pipeline");
    mark_pools(&t.side[0]);
    require(open_side(&t.side[1], t.config, t.ruleset, false, true) == 0, "cannot make the passive pipeline");
    mark_pools(&t.side[1]);
    t.begin_ns = START_NS;
    for (; t.progress->conversation < t.conversations.count; t.progress->conversation++) {
        const struct conversation *one = &t.conversations.list[t.progress->conversation];

        if (!t.only || strstr(one->name, t.only))
            run_conversation(one);
    }
    for (int i = 0; i < 2; i++)
        close_side(&t.side[i]);
    if (!t.only || strcmp(t.only, "start") == 0)
        run_start();
    ruleset_free(t.ruleset);
    config_free(t.config);
    conversations_clear(&t.conversations);
    if (__lsan_do_recoverable_leak_check()) {
        fprintf(stderr, "memory was leaked\n");
        t.progress->failed = true;
    }
    return 0;
}

static const char *place(void)
{
    static char text[256];
    const struct progress *progress = t.progress;
    bool is_start = progress->conversation >= t.conversations.count;

    snprintf(text, sizeof(text), "%s, %s %llu", is_start ? "start" : t.conversations.list[progress->conversation].name,
             progress->mode == ONE_FAILS ? "allocation" : "allocations from", (unsigned long long)progress->at);
    return text;
}

/* Runs children until one exits with 0. Returns the number of crashes. */
static unsigned run_children(void)
{
    unsigned crashes = 0;

    for (;;) {
        int status = 0;
        pid_t pid;

        fflush(stdout);
        pid = fork();
        require(pid >= 0, "cannot fork");
        if (pid == 0)
            _exit(child());
        require(waitpid(pid, &status, 0) == pid, "cannot wait");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return crashes;
        if (WIFSIGNALED(status))
            printf("CRASH (signal %d): %s\n", WTERMSIG(status), place());
        else
            printf("CRASH (exit code %d): %s\n", WEXITSTATUS(status), place());
        if (++crashes == CRASHES_MAX || t.progress->at == 0)
            return crashes;
        t.progress->at++;
    }
}

/* --- The table ------------------------------------------------------------------------------------ */

static bool print_row(const char *name, uint64_t refused, const char *output_errors)
{
    printf("%-40s %8llu%s%s\n", name, (unsigned long long)refused, output_errors ? "   " : "",
           output_errors ? output_errors : "");
    return !output_errors;
}

static bool print_table(void)
{
    const struct progress *progress = t.progress;
    unsigned covered = 0;
    bool complete = true;
    char name[64];

    printf("%-40s %8s\n", "protocol, pool or part", "refused");
    for (size_t i = 0; i < app_list_count; i++)
        complete &= print_row(app_list[i]->name, progress->heap_refused_count[i],
                              progress->flows[i] == 0                ? "NO FLOW OF THE PROTOCOL"
                              : progress->heap_refused_count[i] == 0 ? "NOT COVERED"
                                                                     : NULL);
    for (size_t i = 0; i < progress->pool_count; i++) {
        bool is_used = progress->pools[i].is_used;
        uint64_t refused = progress->pools[i].refused;

        snprintf(name, sizeof(name), "pool %zu, objects of %zu bytes%s", i + 1, progress->pools[i].object_size,
                 is_used ? "" : ", unused");
        complete &= print_row(name, refused, is_used && refused == 0 ? "NOT COVERED" : NULL);
        covered += refused > 0;
    }
    complete &= print_row("pools with a refused allocation", covered, covered < POOLS_MIN ? "TOO FEW" : NULL);
    complete &= print_row("output", progress->output_refused, progress->output_refused ? NULL : "NOT COVERED");
    complete &= print_row("start and reload", progress->start_refused, progress->start_refused ? NULL : "NOT COVERED");
    printf("%zu conversations, %llu runs, %llu allocations skipped; %llu starts\n", t.conversations.count,
           (unsigned long long)progress->runs, (unsigned long long)progress->skipped,
           (unsigned long long)progress->start_runs);
    return complete;
}

static void read_arguments(int argc, char **argv)
{
    t.source = argc > 1 ? argv[1] : "";
    t.runs = 20;
    t.largest = 200000;
    require(argc > 1, "usage: alloc_failures SOURCE [--all] [--largest BYTES] [--runs N] [--only TEXT] [--here] "
                      "[CAPTURE OR FOLDER]...");
    conversations_add_built_in(&t.conversations, t.source);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            t.all = true;
        else if (strcmp(argv[i], "--here") == 0)
            t.here = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            t.only = argv[++i];
        else if (strcmp(argv[i], "--largest") == 0 && i + 1 < argc)
            t.largest = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            t.runs = strtoull(argv[++i], NULL, 10);
        else
            conversations_add_captures(&t.conversations, argv[i], t.largest);
    }
    require(t.runs > 0, "--runs needs a number above 0");
}

int main(int argc, char **argv)
{
    char remove[128];

    read_arguments(argc, argv);
    strcpy(t.folder, "/tmp/sluice-memory.XXXXXX");
    require(mkdtemp(t.folder) != NULL, "cannot make a folder");
    snprintf(t.eve, sizeof(t.eve), "%s/eve.json", t.folder);
    t.progress = mmap(NULL, sizeof(*t.progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(t.progress != MAP_FAILED, "no memory");
    load();

    if (t.here)
        return child() || t.progress->failed;
    unsigned crashes = run_children();
    bool complete = print_table();

    ruleset_free(t.ruleset);
    config_free(t.config);
    conversations_clear(&t.conversations);
    snprintf(remove, sizeof(remove), "rm -rf %s", t.folder);
    if (system(remove) != 0)
        fprintf(stderr, "%s was not removed\n", t.folder);
    return crashes > 0 || t.progress->failed || !complete;
}
