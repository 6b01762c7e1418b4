/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hundred reloads while workers inspect connections whose contents are split over packets. Alerts that a reload loses
 * or repeats change the counts. Errors in rules, missing files and lack of memory must not change the rules in use.
 */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "default_options.h"
#include "flow_rig.h"
#include "sluice/config.h"
#include "sluice/capture.h"
#include "sluice/daemon.h"
#include "sluice/detect.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/worker.h"
#include "daemon/reload.h"
#include "sluice/clock.h"
#include "sluice/keyword.h"

enum { WORKERS = 2, RELOADS = 100, RELOAD_SECONDS = 30, BATCH = 8, STEPS = 7, PACKET_SIZE = 256, PAUSE_NS = 300000 };

/* --- Traffic: one connection after the other, each of STEPS packets ------------------------------- */

struct source {
    struct capture capture;
    struct capture_counters counters;
    struct packet packets[BATCH];
    uint8_t bytes[BATCH][PACKET_SIZE];
    uint8_t network; /* third byte of its addresses */
    uint64_t sent, judged, dropped, time_ns;
    atomic_bool stop;
    atomic_bool idle; /* the source has stopped at the end of a connection */
};

struct step {
    bool from_server;
    uint8_t flags;
    uint32_t offset; /* stream offset; 0: the SYN */
    uint32_t acknowledged;
    const char *text;
};

#define REQUEST "POST /once HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n"

static const struct step steps[STEPS] = {
    { false, TCP_SYN, 0, 0, "" },
    { true, TCP_SYN | TCP_ACK, 0, 1, "" },
    { false, TCP_ACK, 1, 1, "" },
    { false, TCP_ACK, 1, 1, REQUEST },
    { false, TCP_ACK, sizeof(REQUEST), 1, "evil" },
    { false, TCP_ACK, sizeof(REQUEST) + 4, 1, "good" },
    { false, TCP_RST, sizeof(REQUEST) + 8, 0, "" },
};

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put16(at, value >> 16);
    put16(at + 2, value);
}

static void make_packet(struct source *source, unsigned i)
{
    const struct step *step = &steps[source->sent % STEPS];
    uint32_t connection = (uint32_t)(source->sent / STEPS), port = 1024 + connection % 60000;
    uint8_t *ip = source->bytes[i], *tcp = ip + 20;
    size_t length = strlen(step->text);

    memset(ip, 0, 40);
    ip[0] = 0x45;
    put16(ip + 2, (uint32_t)(40 + length));
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = IPPROTO_TCP;
    memcpy(ip + 12, (uint8_t[]){ 10, source->network, 0, step->from_server ? 2 : 1 }, 4);
    memcpy(ip + 16, (uint8_t[]){ 10, source->network, 0, step->from_server ? 1 : 2 }, 4);
    put16(tcp, step->from_server ? 80 : port);
    put16(tcp + 2, step->from_server ? port : 80);
    put32(tcp + 4, (step->from_server ? 5000 : 1000) + step->offset);
    put32(tcp + 8, step->flags & TCP_ACK ? (step->from_server ? 1000 : 5000) + step->acknowledged : 0);
    tcp[12] = 0x50;
    tcp[13] = connection == 0 && step->flags == TCP_RST ? 0 : step->flags; /* the first connection is not reset */
    put16(tcp + 14, 65000);
    memcpy(tcp + 20, step->text, length);
    source->time_ns = clock_realtime_ns(); /* flows expire by the worker's clock */
    source->packets[i] = (struct packet){ .data = ip,
                                          .length = (uint32_t)(40 + length),
                                          .wire_length = (uint32_t)(40 + length),
                                          .link = LINK_RAW,
                                          .time_ns = source->time_ns,
                                          .number = ++source->sent };
}

static int receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    struct source *source = (struct source *)capture;
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    int count = 0;

    (void)wait_ms;
    (void)max;
    nanosleep(&pause, NULL);
    while (count < BATCH && !(atomic_load(&source->stop) && source->sent % STEPS == 0)) {
        make_packet(source, (unsigned)count);
        batch[count] = &source->packets[count];
        count++;
    }
    if (count == 0)
        atomic_store(&source->idle, true);
    source->counters.packets += (uint64_t)count;
    return count;
}

static int send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    struct source *source = (struct source *)capture;

    for (size_t i = 0; i < count; i++) {
        source->judged++;
        source->dropped += batch[i]->verdict == VERDICT_DROP;
    }
    return 0;
}

static const struct capture_counters *counters(const struct capture *capture)
{
    return &((const struct source *)capture)->counters;
}

static void close_source(struct capture *capture)
{
    (void)capture;
}

static const struct capture_ops ops = {
    .name = "fake", .receive = receive, .send_verdicts = send_verdicts, .counters = counters, .close = close_source
};

/* --- An engine ------------------------------------------------------------------------------------ */

/* Rules of every ruleset, and rules that differ. The latter come first, so that all numbers change. */
#define STREAM_RULE "alert tcp any any -> any 80 (content:\"POST\"; content:\"evil\"; distance:0; sid:1;)\n"
#define BODY_RULE                                                                                                      \
    "alert tcp any any -> any any (http.uri; content:\"/once\"; http.request_body; content:\"evil\"; sid:2;)\n"
#define URI_RULE "alert tcp any any -> any any (http.uri; content:\"/once\"; flowbits:set,seen; sid:3;)\n"
#define BIT_RULE "alert tcp any any -> any 80 (content:\"good\"; flowbits:isset,seen; sid:4;)\n"
#define ALL_RULES STREAM_RULE BODY_RULE URI_RULE BIT_RULE

static struct config *config;
static struct source sources[WORKERS];
static struct worker workers[WORKERS];
static struct pipeline_shared shared;
static struct output *output;
static struct rule_names *names;
static struct ruleset *ruleset;
static struct reload *reload;
static char rules_path[] = "/tmp/test_reload_XXXXXX", eve_path[] = "/tmp/test_reload_eve_XXXXXX";
static const char *rule_files[] = { rules_path };
static struct run_options run_options;

static void write_rules(const char *front, unsigned fillers)
{
    FILE *file = fopen(rules_path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(front, file);
    for (unsigned i = 0; i < fillers; i++)
        fprintf(file, "alert tcp any any -> any any (content:\"filler %u\"; content:\"x\"; sid:%u;)\n", i, 100 + i);
    fputs(ALL_RULES, file);
    fclose(file);
}

static struct config *make_config(const char *yaml)
{
    struct diag *diag = diag_new();
    struct config *made = NULL;

    ck_assert_int_eq(daemon_new_config(&made), 0);
    ck_assert_int_eq(config_parse(made, "test.yaml", yaml, strlen(yaml), CONFIG_STRICT, diag), 0);
    ck_assert_uint_eq(diag_errors(diag), 0);
    diag_free(diag);
    return made;
}

static void open_worker(unsigned index, const struct pipeline_options *options)
{
    struct worker *worker = &workers[index];

    memset(&sources[index], 0, sizeof(sources[index]));
    sources[index].capture.ops = &ops;
    sources[index].network = (uint8_t)index;
    worker->index = index;
    worker->capture = &sources[index].capture;
    worker->queue.batch = BATCH;
    ck_assert_int_eq(worker_snapshot_init(worker), 0);
    ck_assert_int_eq(pipeline_init(&worker->pipeline, options, &shared, index, output_port(output, index)), 0);
    ck_assert_int_eq(detector_prepare(worker->pipeline.detector, ruleset), 0);
    pipeline_set_ruleset(&worker->pipeline, ruleset);
    atomic_store(&worker->ruleset, ruleset);
}

static void load_first(void)
{
    struct diag *diag = diag_new();
    char error[ENGINE_ERROR_SIZE];
    const struct rule_load_options load = {
        .config = config, .rule_files = rule_files, .rule_file_count = 1, .names = names
    };

    ck_assert_int_eq(setup_load_ruleset(&ruleset, &load, diag, error), 0);
    diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_errors(diag), 0);
    diag_free(diag);
}

static void open_engine(const char *yaml)
{
    struct pipeline_options options;
    struct output_options output_options;
    struct diag *diag = diag_new();
    char error[256];

    close(mkstemp(strcpy(rules_path, "/tmp/test_reload_XXXXXX")));
    close(mkstemp(strcpy(eve_path, "/tmp/test_reload_eve_XXXXXX")));
    write_rules("", 0);
    config = make_config(yaml);
    names = rule_names_new();
    load_first();
    output_options_default(&output_options);
    output_options.eve_path = eve_path;
    output_options.names = names;
    ck_assert_int_eq(output_open(&output, &output_options, WORKERS, error), 0);
    ck_assert_int_eq(setup_pipeline_options(config, WORKERS, true, &options, diag), 0);
    options.checksums = CHECKSUMS_IGNORE;
    options.stream.checksum_validation = false;
    ck_assert_int_eq(pipeline_shared_init(&shared, &options), 0);
    diag_free(diag);
    memset(workers, 0, sizeof(workers));
    for (unsigned i = 0; i < WORKERS; i++)
        open_worker(i, &options);
    run_options = (struct run_options){ .config = config, .rule_files = rule_files, .rule_file_count = 1 };

    const struct reload_options reload_options = { .run = &run_options,
                                                   .workers = workers,
                                                   .worker_count = WORKERS,
                                                   .output = output,
                                                   .names = names,
                                                   .rules_memory = 1 << 20 };

    ck_assert_int_eq(reload_new(&reload, &reload_options), 0);
    ck_assert_int_eq(output_start(output), 0);
    for (unsigned i = 0; i < WORKERS; i++)
        ck_assert_int_eq(worker_start(&workers[i]), 0);
}

static void stop_workers(void)
{
    for (unsigned i = 0; i < WORKERS; i++)
        atomic_store(&sources[i].stop, true);
    for (unsigned i = 0; i < WORKERS; i++) {
        while (!atomic_load(&sources[i].idle))
            usleep(1000);
        atomic_store(&workers[i].stop, true);
        pthread_join(workers[i].thread, NULL);
        worker_copy_counters(&workers[i]);
    }
}

static void close_engine(void)
{
    output_stop(output);
    reload_free(reload);
    for (unsigned i = 0; i < WORKERS; i++) {
        pipeline_clear(&workers[i].pipeline);
        worker_snapshot_clear(&workers[i]);
    }
    output_close(output);
    pipeline_shared_clear(&shared);
    ruleset_free(ruleset);
    rule_names_free(names);
    config_free(config);
    unlink(rules_path);
    unlink(eve_path);
}

/* Reloads, and waits until the old rules were freed. */
static enum reload_event do_reload(void)
{
    enum reload_event event = RELOAD_NOTHING, last;

    ck_assert_int_eq(reload_start(reload, ruleset), 0);
    ck_assert_int_eq(reload_start(reload, ruleset), -EBUSY);
    for (int i = 0; i < 60000 && reload_state(reload) != RELOAD_IDLE; i++) {
        last = reload_poll(reload, &ruleset);
        if (last != RELOAD_NOTHING)
            event = last;
        usleep(1000);
    }
    ck_assert_int_eq(reload_state(reload), RELOAD_IDLE);
    return event;
}

static uint64_t matches_of(uint32_t sid)
{
    const struct rule *rule = rule_list_find(ruleset_rules(ruleset), 1, sid);
    uint64_t matches = 0;

    ck_assert_ptr_nonnull(rule);
    for (unsigned i = 0; i < WORKERS; i++)
        matches += atomic_load(&policy_tally(workers[i].pipeline.policy, rule->number)->matches);
    return matches;
}

/* --- Tests ---------------------------------------------------------------------------------------- */

START_TEST(a_hundred_reloads_lose_nothing)
{
    static const char *const fronts[] = { "", "drop tcp any any -> any any (content:\"never there\"; sid:50;)\n",
                                          "pass tcp any any -> any 99 (content:\"evil\"; sid:51;)\nalert tcp any any "
                                          "-> any any (content:\"evi\"; sid:52;)\n" };
    uint64_t connections = 0, begin = clock_monotonic_ns();
    unsigned done = 0;

    open_engine("stats: {interval: 1}");
    /* Limited by time, too, because sanitizers are slow. */
    for (unsigned i = 0; i < RELOADS && clock_monotonic_ns() - begin < RELOAD_SECONDS * NS_PER_SECOND; i++) {
        write_rules(fronts[i % 3], i % 7);
        done++;
        ck_assert_int_eq(do_reload(), RELOAD_DONE);
        ck_assert_uint_eq(ruleset_generation(ruleset), i + 2);
        ck_assert_uint_eq(reload_last(reload)->number, i + 1);
    }
    stop_workers();
    for (unsigned i = 0; i < WORKERS; i++) {
        ck_assert_uint_eq(sources[i].judged, sources[i].sent);
        ck_assert_uint_eq(sources[i].dropped, 0);
        ck_assert_int_eq(atomic_load(&workers[i].error), 0);
        connections += sources[i].sent / STEPS;
    }
    ck_assert_uint_gt(done, 1);
    ck_assert_uint_gt(connections, done);
    for (uint32_t sid = 1; sid <= 4; sid++)
        ck_assert_msg(matches_of(sid) == connections, "rule %u: %llu of %llu", (unsigned)sid,
                      (unsigned long long)matches_of(sid), (unsigned long long)connections);
    close_engine();
}
END_TEST

static const struct {
    const char *front; /* NULL: the file does not exist */
    const char *cause;
} broken[] = {
    { "alert tcp any any -> any any (content:\"x\"; sid:abc;)\n", "1 mistake in the rules" },
    { "alert tcp any any -> any any (contnt:\"x\"; sid:60;)\nalert tcp any any -> any any (contnt:\"x\"; sid:61;)\n",
      "2 mistakes in the rules" },
    { NULL, "could not be loaded" }, /* no rule would be loaded */
};

START_TEST(a_mistake_changes_nothing)
{
    const struct ruleset *before;

    open_engine("reload: {mistakes: refuse}");
    before = ruleset;
    if (broken[_i].front)
        write_rules(broken[_i].front, 3);
    else
        unlink(rules_path);
    ck_assert_int_eq(do_reload(), RELOAD_FAILED);
    ck_assert_ptr_eq(ruleset, before);
    ck_assert_int_ne(reload_last(reload)->error, 0);
    ck_assert_uint_eq(reload_last(reload)->generation, 1);
    ck_assert_msg(strstr(reload_last(reload)->cause, broken[_i].cause) != NULL, "%s", reload_last(reload)->cause);
    ck_assert_uint_gt(diag_errors(reload_last(reload)->diag), 0);
    write_rules("", 3);
    ck_assert_int_eq(do_reload(), RELOAD_DONE);
    ck_assert_uint_eq(ruleset_generation(ruleset), 2);
    stop_workers();
    close_engine();
}
END_TEST

START_TEST(mistakes_are_skipped)
{
    open_engine("stats: {interval: 1}");
    write_rules(broken[0].front, 3);
    ck_assert_int_eq(do_reload(), RELOAD_DONE);
    ck_assert_uint_eq(reload_last(reload)->failed, 1);
    ck_assert_uint_eq(reload_last(reload)->skipped, 0);
    ck_assert_uint_eq(reload_last(reload)->rules, 7);
    stop_workers();
    close_engine();
}
END_TEST

/* With engine.init-failure-fatal a reload with an invalid or unsupported rule fails. */
START_TEST(a_strict_reload_refuses_any_left_out_rule)
{
    open_engine("engine: {init-failure-fatal: yes}");
    write_rules("alert vxlan any any -> any any (sid:60;)\n", 3);
    ck_assert_int_eq(do_reload(), RELOAD_FAILED);
    ck_assert_ptr_nonnull(strstr(reload_last(reload)->cause, "1 unsupported rule (engine.init-failure-fatal)"));
    write_rules(broken[0].front, 3);
    ck_assert_int_eq(do_reload(), RELOAD_FAILED);
    write_rules("", 3);
    ck_assert_int_eq(do_reload(), RELOAD_DONE);
    stop_workers();
    close_engine();
}
END_TEST

/* An error that the rules in use already had does not stop a reload. */
START_TEST(mistakes_that_were_there_do_not_stop_it)
{
    open_engine("reload: {mistakes: skip}");
    write_rules(broken[0].front, 3);
    ck_assert_int_eq(do_reload(), RELOAD_DONE);
    struct diag *diag = diag_new();

    ck_assert_int_eq(config_set(config, "reload.mistakes=refuse", diag), 0);
    diag_free(diag);
    ck_assert_int_eq(do_reload(), RELOAD_DONE);
    write_rules(broken[1].front, 3);
    ck_assert_int_eq(do_reload(), RELOAD_FAILED);
    ck_assert_ptr_nonnull(strstr(reload_last(reload)->cause, "1 new mistake in"));
    stop_workers();
    close_engine();
}
END_TEST

START_TEST(memory_is_asked_for_before)
{
    open_engine("reload: {memory-max: 1 MiB}");
    ck_assert_int_eq(do_reload(), RELOAD_FAILED); /* as if the rules in use had needed 1 MiB */
    ck_assert_int_eq(reload_last(reload)->error, -ENOMEM);
    ck_assert_ptr_nonnull(strstr(reload_last(reload)->cause, "reload.memory-max"));
    stop_workers();
    close_engine();
}
END_TEST

static const char *next_yaml;

static int next_config(void *user, struct config **out, struct diag *diag)
{
    (void)user;
    if (!next_yaml) {
        diag_error(diag, (struct position){ .file = "test.yaml" }, "made up");
        *out = make_config("stats: {interval: 1}");
        return 0;
    }
    *out = make_config(next_yaml);
    return 0;
}

/* Checks after which time without packets a new flow has expired. */
static void check_timeout(struct flow_table *flows, uint8_t protocol, uint64_t timeout_ns)
{
    for (uint64_t late = 0; late <= 1; late++) {
        struct packet pkt = flow_rig_packet(protocol, CLIENT, (uint16_t)(1000 + late), SERVER, 80);
        enum exception_cause exception;
        struct flow *flow = flow_table_get(flows, &pkt, &exception);

        ck_assert_ptr_nonnull(flow);
        flow_update(flows, flow, &pkt);
        pkt.time_ns += timeout_ns + late;
        pkt.number++;
        flow = flow_table_get(flows, &pkt, &exception);
        ck_assert_ptr_nonnull(flow);
        ck_assert_uint_eq(flow->first_number, pkt.number - !late); /* late: another flow */
    }
}

START_TEST(settings_are_read_anew)
{
    open_engine("stats: {interval: 1}");
    run_options.load_config = next_config;
    next_yaml = NULL;
    ck_assert_int_eq(do_reload(), RELOAD_FAILED);
    ck_assert_ptr_nonnull(strstr(reload_last(reload)->cause, "1 mistake in the configuration"));
    next_yaml = "vars: {address-groups: {HOME_NET: 10.0.0.1}}\nflow: {memcap: 1 MiB, timeouts: {tcp: {new: 7}}}\n"
                "stream: {invalid-policy: ignore}\n"
                "overload: {queue-fill: 70, shed: [bulk, new], bulk-size: 1 MiB, policy: pass-flow}";
    write_rules("alert tcp $HOME_NET any -> any any (content:\"POST\"; sid:9;)\n", 0);
    ck_assert_int_eq(do_reload(), RELOAD_DONE);
    ck_assert_uint_eq(diag_warnings(reload_last(reload)->diag), 1); /* flow.memcap applies at the next start */
    ck_assert_str_eq(diag_get(reload_last(reload)->diag, 0)->message,
                     "'flow.memcap' has changed: it takes effect with `sluice upgrade`, or at the next start");
    stop_workers();
    for (unsigned i = 0; i < WORKERS; i++) {
        struct flow_table *flows = workers[i].pipeline.flows;

        check_timeout(flows, IPPROTO_TCP, 7 * NS_PER_SECOND);
        check_timeout(flows, IPPROTO_UDP, 30 * NS_PER_SECOND);
        ck_assert_uint_eq(workers[i].watch.overload.options.fill_permille, 700);
        ck_assert_uint_eq(workers[i].watch.overload.options.class_count, 2);
        ck_assert_uint_eq(workers[i].pipeline.shed_limits.bulk_bytes, 1 << 20);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        atomic_store(&workers[i].stop, false);
        ck_assert_int_eq(worker_start(&workers[i]), 0);
    }
    next_yaml = "stats: {interval: 1}";
    ck_assert_int_eq(do_reload(), RELOAD_DONE);
    ck_assert_uint_eq(diag_warnings(reload_last(reload)->diag), 0);
    stop_workers();
    close_engine();
}
END_TEST

START_TEST(a_worker_tells_of_its_flows)
{
    static struct worker_query query;
    struct flow_ends ends = { .protocol = IPPROTO_TCP, .ip_version = 4, .port = { 80, 1024 } };
    size_t count = 0;

    ck_assert_int_eq(address_parse("10.1.0.2", 8, &ends.address[0]), 4);
    ck_assert_int_eq(address_parse("10.1.0.1", 8, &ends.address[1]), 4);
    open_engine("stats: {interval: 1}");
    while (!worker_take_snapshot(&workers[1]) || workers[1].snapshot.capture.packets < 100 * STEPS)
        usleep(1000);
    query.kind = WORKER_BY_ENDS;
    query.ends = ends;
    ck_assert(worker_query_flows(&workers[1], &query));
    ck_assert_uint_eq(query.count, 1);
    ck_assert_uint_eq(query.flows[0].flow.client_port, 1024);
    ck_assert(query.flows[0].has_history);
    ck_assert_uint_eq(query.flows[0].history.count, 4);
    ck_assert(worker_query_flows(&workers[0], &query));
    ck_assert_uint_eq(query.count, 0);
    query = (struct worker_query){ .cursor = 0 };
    for (int i = 0; i < 10000; i++) {
        ck_assert(worker_query_flows(&workers[1], &query));
        count += query.count;
        if (query.cursor == 0)
            break;
    }
    ck_assert_uint_eq(query.cursor, 0);
    ck_assert_uint_ge(count, 99);
    stop_workers();
    close_engine();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reload");
    TCase *tcase = tcase_create("reload");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 110);
    tcase_add_test(tcase, a_hundred_reloads_lose_nothing);
    tcase_add_loop_test(tcase, a_mistake_changes_nothing, 0, sizeof(broken) / sizeof(broken[0]));
    tcase_add_test(tcase, mistakes_are_skipped);
    tcase_add_test(tcase, a_strict_reload_refuses_any_left_out_rule);
    tcase_add_test(tcase, mistakes_that_were_there_do_not_stop_it);
    tcase_add_test(tcase, memory_is_asked_for_before);
    tcase_add_test(tcase, settings_are_read_anew);
    tcase_add_test(tcase, a_worker_tells_of_its_flows);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
