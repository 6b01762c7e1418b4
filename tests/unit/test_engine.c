/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options from settings; CPUs for threads; a worker with a fake capture. */
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "default_options.h"
#include "sluice/affinity.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/capture.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/stream.h"
#include "sluice/worker.h"
#include "sluice/keyword.h"

static struct config *config_of(const char *yaml)
{
    struct diag *diag = diag_new();
    struct config *config = NULL;

    ck_assert_int_eq(daemon_new_config(&config), 0);
    ck_assert_int_eq(config_parse(config, "test.yaml", yaml, strlen(yaml), CONFIG_STRICT, diag), 0);
    diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_errors(diag), 0);
    diag_free(diag);
    return config;
}

/* --- Queues --------------------------------------------------------------------------------------- */

static const struct {
    const char *yaml;
    int count; /* negative: an error whose text contains `detail` */
    const char *detail;
    unsigned check; /* index of the queue to check */
    struct nfqueue_options expected;
} queue_cases[] = {
    { "queue: {numbers: 5}", 1, NULL, 5, { .queue = 5, .mode = QUEUE_ACCEPT, .marked_policy = QUEUE_MARKED_ACCEPT } },
    { "queue: {numbers: '0-3,8'}", 5, NULL, 8, { .queue = 8 } },
    { "queue: {numbers: '7', verdict: repeat, mark: 0x10/0xf0}",
      1,
      NULL,
      7,
      { .queue = 7, .mode = QUEUE_REPEAT, .mark = 0x10, .mark_mask = 0xf0 } },
    { "queue: {numbers: '0-3'}\nqueues: {'2-3': {verdict: route, route-to: 20, route-bypass: yes, marked-packets: "
      "drop}}",
      4,
      NULL,
      3,
      { .queue = 3, .mode = QUEUE_ROUTE, .route_to = 20, .route_bypass = true, .marked_policy = QUEUE_MARKED_DROP } },
    { "queue: {numbers: '0-3'}\nqueues: {'2-3': {verdict: route, route-to: 20}}", 4, NULL, 1, { .queue = 1 } },
    { "queue: {numbers: 0, verdict: repeat}", -EINVAL, "mark", 0, { 0 } },
    { "queue: {numbers: 0, verdict: route}", -EINVAL, "route-to", 0, { 0 } },
    { "queue: {numbers: 4, verdict: route, route-to: 4}", -EINVAL, "route-to", 0, { 0 } },
};

START_TEST(queues_have_their_options)
{
    struct nfqueue_options options[16];
    struct config *config = config_of(queue_cases[_i].yaml);
    char error[ENGINE_ERROR_SIZE] = "";
    size_t count = 0;
    int err = setup_queue_options(config, options, 16, &count, error);

    if (queue_cases[_i].count < 0) {
        ck_assert_int_eq(err, queue_cases[_i].count);
        ck_assert_ptr_nonnull(strstr(error, queue_cases[_i].detail));
    } else {
        ck_assert_msg(err == 0, "%s", error);
        ck_assert_uint_eq(count, (size_t)queue_cases[_i].count);
        for (size_t i = 0; i < count; i++) {
            const struct nfqueue_options *wanted = &queue_cases[_i].expected;

            if (options[i].queue != queue_cases[_i].check)
                continue;
            ck_assert_int_eq(options[i].mode, wanted->mode);
            ck_assert_int_eq(options[i].marked_policy, wanted->marked_policy);
            ck_assert_uint_eq(options[i].mark, wanted->mark);
            ck_assert_uint_eq(options[i].mark_mask, wanted->mark_mask);
            ck_assert_uint_eq(options[i].route_to, wanted->route_to);
            ck_assert(options[i].route_bypass == wanted->route_bypass);
        }
    }
    config_free(config);
}
END_TEST

static const struct {
    const char *yaml;
    bool wanted;
    int64_t seconds;
} conntrack_cases[] = {
    { "queue: {numbers: 0}", true, 600 },
    { "stream: {midstream-grace: 5}", true, 5 },
    { "stream: {midstream-conntrack: only}", true, 7440 },
    { "stream: {midstream-grace: 0}", false, 600 },
    { "stream: {midstream-grace: 0, midstream: yes}", true, 600 },
    { "stream: {midstream-grace: 0, midstream: yes, midstream-conntrack: only}", true, 600 },
    { "queue: {conntrack: no}", false, 600 },
    { "queue: {conntrack: no}\nstream: {midstream: yes}", false, 600 },
    { "queue: {conntrack: always}", true, 0 },
    { "queue: {conntrack: always}\nstream: {midstream-grace: 0}", true, 0 },
    { "queue: {conntrack: always}\nqueues: {'0-3': {conntrack: no}}", false, 600 },
    { "queue: {conntrack: no}\nqueues: {'0-3': {conntrack: always}}", true, 0 },
};

START_TEST(conntrack_is_asked_for_while_it_is_of_use)
{
    struct nfqueue_options options;
    struct config *config = config_of(conntrack_cases[_i].yaml);
    char error[ENGINE_ERROR_SIZE] = "";
    size_t count = 0;

    ck_assert_int_eq(setup_queue_options(config, &options, 1, &count, error), 0);
    ck_assert_int_eq(options.conntrack, conntrack_cases[_i].wanted);
    ck_assert_int_eq(setup_conntrack_seconds(config, 0), conntrack_cases[_i].seconds);
    config_free(config);
}
END_TEST

START_TEST(words_of_conntrack)
{
    static const char *const yaml[] = { "stream: {}", "stream: {midstream-conntrack: yes}",
                                        "stream: {midstream-conntrack: no}", "stream: {midstream-conntrack: only}" };
    static const enum stream_conntrack expected[] = { STREAM_CONNTRACK_YES, STREAM_CONNTRACK_YES, STREAM_CONNTRACK_NO,
                                                      STREAM_CONNTRACK_ONLY };
    struct config *config = config_of(yaml[_i]);
    struct stream_options options;

    setup_stream_options(config, 1, true, &options);
    ck_assert_int_eq(options.conntrack, expected[_i]);
    config_free(config);
}
END_TEST

START_TEST(event_types_are_those_named)
{
    struct config *config = config_of("eve: {types: {alert: {payload: yes}, stats: {}}}");
    struct config *nothing = config_of("eve: {community-id: yes}");
    struct eve_options eve;

    setup_eve_options(config, &eve);
    ck_assert(eve.enabled[OUTPUT_ALERT] && eve.enabled[OUTPUT_STATS]);
    ck_assert(!eve.enabled[OUTPUT_DROP] && !eve.enabled[OUTPUT_ANOMALY]);
    ck_assert(!eve.enabled[OUTPUT_FLOW] && !eve.enabled[OUTPUT_NETFLOW] && eve.enabled[OUTPUT_PACKET]);
    ck_assert(eve.alert.payload && !eve.community_id);
    setup_eve_options(nothing, &eve);
    ck_assert(eve.enabled[OUTPUT_DROP] && eve.enabled[OUTPUT_ANOMALY]);
    ck_assert(eve.enabled[OUTPUT_FLOW] && !eve.enabled[OUTPUT_NETFLOW] && eve.enabled[OUTPUT_PACKET]);
    ck_assert(eve.community_id && !eve.alert.payload);
    ck_assert(eve.alert.flow && eve.alert.tagged_packets && !eve.drop.all_flows && !eve.anomaly.stream);
    config_free(nothing);
    config_free(config);
}
END_TEST

START_TEST(clients_behind_proxies_are_told_by_type)
{
    struct config *config =
        config_of("eve: {xff: {enabled: yes, mode: overwrite, deployment: forward, header: X-Real-IP}, "
                  "types: {alert: {xff: {enabled: yes}}, files: {xff: {mode: overwrite}}, http: {}}}");
    struct config *nothing = config_of("eve: {types: {alert: {}}}");
    struct eve_options eve;

    setup_eve_options(config, &eve);
    ck_assert(eve.xff.http.enabled && eve.xff.http.overwrite && eve.xff.http.first);
    ck_assert_str_eq(eve.xff.http.header, "X-Real-IP");
    ck_assert(eve.xff.alert.enabled && !eve.xff.alert.overwrite && !eve.xff.alert.first);
    ck_assert_str_eq(eve.xff.alert.header, "X-Forwarded-For");
    ck_assert(!eve.xff.files.enabled);
    setup_eve_options(nothing, &eve);
    ck_assert(!eve.xff.alert.enabled && !eve.xff.http.enabled && !eve.xff.files.enabled);
    config_free(nothing);
    config_free(config);
}
END_TEST

START_TEST(event_types_have_options_of_flows)
{
    struct config *config = config_of("eve: {types: {alert: {metadata: {flow: no}, tagged-packets: no}, netflow: {}, "
                                      "drop: {flows: all}, anomaly: {types: {stream: yes}}}}");
    struct config *bare = config_of("eve: {types: {alert: {metadata: no}, flow: {}, drop: {flows: start}}}");
    struct eve_options eve;

    setup_eve_options(config, &eve);
    ck_assert(!eve.alert.flow && !eve.alert.tagged_packets && eve.alert.rule_metadata);
    ck_assert(eve.enabled[OUTPUT_NETFLOW] && !eve.enabled[OUTPUT_FLOW] && eve.drop.all_flows);
    ck_assert(eve.anomaly.stream && !eve.anomaly.decode);
    setup_eve_options(bare, &eve);
    ck_assert(!eve.alert.flow && eve.alert.tagged_packets && !eve.alert.rule_metadata);
    ck_assert(eve.enabled[OUTPUT_FLOW] && !eve.enabled[OUTPUT_NETFLOW] && !eve.drop.all_flows);
    config_free(bare);
    config_free(config);
}
END_TEST

START_TEST(action_order_is_complete)
{
    struct config *config = config_of("action-order: [alert, reject, drop, pass]");
    char error[ENGINE_ERROR_SIZE];
    enum rule_action order[4];

    ck_assert_int_eq(setup_action_order(config, order, error), 0);
    ck_assert_int_eq(order[0], ACTION_ALERT);
    ck_assert_int_eq(order[3], ACTION_PASS);
    config_free(config);
    config = config_of("action-order: [alert, drop, pass]");
    ck_assert_int_eq(setup_action_order(config, order, error), -EINVAL);
    config_free(config);
}
END_TEST

/* --- CPUs ----------------------------------------------------------------------------------------- */

START_TEST(threads_get_cpus_of_this_machine)
{
    struct config *config = config_of("stats: {interval: 1}");
    char error[ENGINE_ERROR_SIZE] = "", text[512];
    struct affinity affinity;
    cpu_set_t allowed, pinned;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    unsigned cpus = (unsigned)CPU_COUNT(&allowed);

    for (unsigned workers = 1; workers <= cpus + 1; workers++) {
        ck_assert_msg(affinity_plan(&affinity, config, workers, error) == 0, "%s", error);
        affinity_describe(&affinity, workers, text, sizeof(text));
        ck_assert_uint_gt(strlen(text), 0);
        if (workers > cpus) {
            ck_assert_int_ne(affinity.mode, AFFINITY_EXCLUSIVE);
            continue;
        }
        ck_assert_int_eq(affinity.mode, AFFINITY_EXCLUSIVE);
        ck_assert_uint_ge(affinity.worker_count, workers);
        for (unsigned i = 0; i < workers; i++) {
            ck_assert(CPU_ISSET(affinity.worker[i], &allowed));
            for (unsigned k = 0; k < i; k++)
                ck_assert_uint_ne(affinity.worker[i], affinity.worker[k]);
        }
        ck_assert_uint_eq(affinity.sender_count, cpus - workers >= workers ? cpus - workers : 0);
        for (unsigned i = 0; i < affinity.sender_count; i++)
            for (unsigned k = 0; k < workers; k++)
                ck_assert_uint_ne(affinity.sender[i], affinity.worker[k]);
        ck_assert_int_eq(affinity_apply_worker(&affinity, workers - 1), 0);
        ck_assert_int_eq(sched_getaffinity(0, sizeof(pinned), &pinned), 0);
        ck_assert_int_eq(CPU_COUNT(&pinned), 1);
        ck_assert_int_eq(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
    }
    config_free(config);
}
END_TEST

static const struct {
    const char *yaml;
    int err;
    enum affinity_mode mode;
} affinity_cases[] = {
    { "threading: {affinity: none}", 0, AFFINITY_NONE },
    { "threading: {affinity: balanced, worker-cpu-set: '0'}", 0, AFFINITY_BALANCED },
    { "threading: {affinity: exclusive, worker-cpu-set: '0'}", -EINVAL, AFFINITY_NONE },
    { "threading: {worker-cpu-set: '0'}", 0, AFFINITY_BALANCED },
    { "threading: {worker-cpu-set: '1000'}", -EINVAL, AFFINITY_NONE },
};

START_TEST(sets_of_the_configuration_count)
{
    struct config *config = config_of(affinity_cases[_i].yaml);
    char error[ENGINE_ERROR_SIZE] = "";
    struct affinity affinity;

    ck_assert_int_eq(affinity_plan(&affinity, config, 2, error), affinity_cases[_i].err);
    if (affinity_cases[_i].err)
        ck_assert_uint_gt(strlen(error), 0);
    else
        ck_assert_int_eq(affinity.mode, affinity_cases[_i].mode);
    config_free(config);
}
END_TEST

/* With two CPUs and one worker, the other CPU is for the verdict sender. */
static const struct {
    const char *yaml;
    bool wanted;
} sender_cases[] = {
    { "stats: {interval: 1}", true },
    { "threading: {verdict-threads: no}", false },
    { "threading: {affinity: none}", false },
    { "threading: {affinity: balanced}", false },
    { "threading: {worker-cpu-set: '1', management-cpu-set: '0'}", true },
    { "threading: {worker-cpu-set: '0', management-cpu-set: '0'}", false },
};

START_TEST(verdicts_are_sent_where_no_worker_is)
{
    struct config *config = config_of(sender_cases[_i].yaml);
    char error[ENGINE_ERROR_SIZE] = "";
    struct affinity affinity;
    cpu_set_t allowed;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    if (CPU_ISSET(0, &allowed) && CPU_ISSET(1, &allowed)) {
        ck_assert_msg(affinity_plan(&affinity, config, 1, error) == 0, "%s", error);
        ck_assert_int_eq(affinity.sender_count > 0, sender_cases[_i].wanted);
    }
    config_free(config);
}
END_TEST

/* --- A worker ------------------------------------------------------------------------------------- */

enum { FAKE_BATCHES = 200, FAKE_BATCH = 8 };

struct fake_capture {
    struct capture capture;
    struct packet packets[FAKE_BATCH];
    uint8_t bytes[FAKE_BATCH][64];
    unsigned batches, judged, dropped;
    struct capture_counters counters;
    int end;          /* return value of receive() after the last batch */
    atomic_uint ends; /* number of these returns */
};

/* Makes an IPv4 UDP datagram; every fourth has the forbidden word. */
static void make_datagram(struct fake_capture *fake, unsigned i)
{
    static const uint8_t header[28] = { 0x45, 0, 0,  36, 0, 1, 0, 0, 64, 17, 0, 0,  10, 0,
                                        0,    1, 10, 0,  0, 2, 4, 0, 0,  53, 0, 16, 0,  0 };
    struct packet *pkt = &fake->packets[i];

    memcpy(fake->bytes[i], header, sizeof(header));
    memcpy(fake->bytes[i] + sizeof(header), i % 4 == 0 ? "some BAD" : "some god", 8);
    memset(pkt, 0, sizeof(*pkt));
    pkt->data = fake->bytes[i];
    pkt->length = pkt->wire_length = 36;
    pkt->link = LINK_RAW;
    pkt->time_ns = 1000000000;
}

static int fake_receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    struct fake_capture *fake = (struct fake_capture *)capture;
    const struct timespec pause = { .tv_nsec = 1000000 };

    (void)wait_ms;
    ck_assert_uint_ge(max, FAKE_BATCH);
    if (fake->batches == FAKE_BATCHES) {
        nanosleep(&pause, NULL);
        atomic_fetch_add(&fake->ends, 1);
        return fake->end;
    }
    fake->batches++;
    for (unsigned i = 0; i < FAKE_BATCH; i++) {
        make_datagram(fake, i);
        batch[i] = &fake->packets[i];
    }
    fake->counters.packets += FAKE_BATCH;
    return FAKE_BATCH;
}

static int fake_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    struct fake_capture *fake = (struct fake_capture *)capture;

    for (size_t i = 0; i < count; i++) {
        fake->judged++;
        fake->dropped += batch[i]->verdict == VERDICT_DROP;
    }
    return 0;
}

static const struct capture_counters *fake_counters(const struct capture *capture)
{
    return &((const struct fake_capture *)capture)->counters;
}

static void fake_close(struct capture *capture)
{
    (void)capture;
}

static const struct capture_ops fake_ops = {
    .name = "fake",
    .receive = fake_receive,
    .send_verdicts = fake_send_verdicts,
    .counters = fake_counters,
    .close = fake_close,
};

static struct ruleset *ruleset_of(const char *text)
{
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_variables *variables = rule_variables_new();
    const struct rule_list_options options = { .keywords = keywords, .variables = variables };
    struct ruleset_options ruleset_options;
    struct diag *diag = diag_new();
    struct rule_list *list = NULL;
    struct ruleset *ruleset = NULL;

    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "test", text, strlen(text), diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ruleset_options_default(&ruleset_options);
    ck_assert_int_eq(ruleset_new(&ruleset, list, &ruleset_options, diag), 0);
    ck_assert_uint_eq(diag_errors(diag), 0);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
    return ruleset;
}

struct bench {
    struct fake_capture fake;
    struct worker worker;
    struct ruleset *ruleset;
    struct pipeline_shared shared;
    struct output *output;
};

static void bench_open(struct bench *bench, int end)
{
    struct pipeline_options options;
    struct output_options output;
    char error[256];

    memset(bench, 0, sizeof(*bench));
    bench->fake.capture.ops = &fake_ops;
    bench->fake.end = end;
    bench->ruleset = ruleset_of("drop udp any any -> any 53 (content:\"BAD\"; sid:1;)");
    output_options_default(&output);
    output.eve_path = NULL;
    output.console = NULL;
    ck_assert_int_eq(output_open(&bench->output, &output, 1, error), 0);
    memset(&options, 0, sizeof(options));
    decode_options_default(&options.decode);
    defrag_options_default(&options.defrag);
    detector_options_default(&options.detector);
    flow_options_default(&options.flow);
    stream_options_default(&options.stream);
    defrag_options_default(&options.defrag);
    policy_options_default(&options.policy);
    options.host_memcap = 1 << 20;
    ck_assert_int_eq(pipeline_shared_init(&bench->shared, &options), 0);
    bench->worker.capture = &bench->fake.capture;
    bench->worker.queue.batch = 64;
    atomic_store(&bench->worker.ruleset, bench->ruleset);
    ck_assert_int_eq(worker_snapshot_init(&bench->worker), 0);
    ck_assert_int_eq(pipeline_init(&bench->worker.pipeline, &options, &bench->shared, 0, output_port(bench->output, 0)),
                     0);
    ck_assert_int_eq(detector_prepare(bench->worker.pipeline.detector, bench->ruleset), 0);
    ck_assert_int_eq(output_start(bench->output), 0);
    ck_assert_int_eq(worker_start(&bench->worker), 0);
}

static void bench_close(struct bench *bench)
{
    pthread_join(bench->worker.thread, NULL);
    output_stop(bench->output);
    pipeline_clear(&bench->worker.pipeline);
    worker_snapshot_clear(&bench->worker);
    output_close(bench->output);
    pipeline_shared_clear(&bench->shared);
    ruleset_free(bench->ruleset);
}

START_TEST(every_packet_is_judged_once)
{
    struct bench bench;

    bench_open(&bench, 0);
    do { /* take snapshots until all batches are processed */
        ck_assert(worker_take_snapshot(&bench.worker));
        const struct worker_snapshot *s = &bench.worker.snapshot;

        ck_assert_uint_eq(s->pipeline.accepted + s->pipeline.blocked, s->capture.packets);
    } while (bench.worker.snapshot.capture.packets < FAKE_BATCHES * FAKE_BATCH);
    atomic_store(&bench.worker.stop, true);
    pthread_join(bench.worker.thread, NULL);
    worker_copy_counters(&bench.worker);
    ck_assert_uint_eq(bench.fake.judged, FAKE_BATCHES * FAKE_BATCH);
    ck_assert_uint_eq(bench.fake.dropped, FAKE_BATCHES * FAKE_BATCH / 4);
    ck_assert_uint_eq(bench.worker.snapshot.pipeline.drop_reason[DROP_REASON_RULES], bench.fake.dropped);
    ck_assert_int_eq(atomic_load(&bench.worker.error), 0);
    ck_assert_uint_ge(atomic_load(&bench.worker.epoch), FAKE_BATCHES);
    ck_assert_int_eq(worker_start(&bench.worker), 0); /* the thread ends at once; bench_close() joins it */
    bench_close(&bench);
}
END_TEST

/* An idle worker must switch to the new ruleset, too, because the main thread frees the old one only then. */
START_TEST(an_idle_worker_takes_another_ruleset)
{
    struct bench bench;
    struct ruleset *old;

    bench_open(&bench, 0);
    do {
        ck_assert(worker_take_snapshot(&bench.worker));
    } while (bench.worker.snapshot.capture.packets < FAKE_BATCHES * FAKE_BATCH);
    old = bench.ruleset;
    bench.ruleset = ruleset_of("drop udp any any -> any 53 (content:\"other\"; sid:1;)");
    struct worker_update update = { .ruleset = bench.ruleset };

    ck_assert_int_eq(detector_memory_new(&update.room, bench.ruleset), 0);
    worker_set_update(&bench.worker, &update);
    while (worker_has_update(&bench.worker))
        usleep(1000);
    detector_memory_free(update.room);
    ruleset_free(old);
    atomic_store(&bench.worker.stop, true);
    pthread_join(bench.worker.thread, NULL);
    ck_assert_ptr_eq(bench.worker.pipeline.ruleset, bench.ruleset);
    ck_assert_int_eq(worker_start(&bench.worker), 0); /* the thread ends at once; bench_close() joins it */
    bench_close(&bench);
}
END_TEST

START_TEST(a_source_that_fails_ends_the_worker)
{
    struct bench bench;

    bench_open(&bench, -EPERM);
    for (int i = 0; i < 5000 && !atomic_load(&bench.worker.error); i++)
        usleep(1000);
    ck_assert_int_eq(atomic_load(&bench.worker.error), -EPERM);
    bench_close(&bench);
    ck_assert_uint_eq(bench.fake.judged, FAKE_BATCHES * FAKE_BATCH);
}
END_TEST

START_TEST(an_overrun_does_not_end_it)
{
    struct bench bench;

    bench_open(&bench, -ENOBUFS);
    while (atomic_load(&bench.fake.ends) < 3 && !atomic_load(&bench.worker.error))
        usleep(1000);
    ck_assert_int_eq(atomic_load(&bench.worker.error), 0);
    atomic_store(&bench.worker.stop, true);
    bench_close(&bench);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *tcase = tcase_create("engine");

    tcase_add_loop_test(tcase, queues_have_their_options, 0, sizeof(queue_cases) / sizeof(queue_cases[0]));
    tcase_add_loop_test(tcase, conntrack_is_asked_for_while_it_is_of_use, 0,
                        sizeof(conntrack_cases) / sizeof(conntrack_cases[0]));
    tcase_add_loop_test(tcase, words_of_conntrack, 0, 4);
    tcase_add_test(tcase, event_types_are_those_named);
    tcase_add_test(tcase, clients_behind_proxies_are_told_by_type);
    tcase_add_test(tcase, event_types_have_options_of_flows);
    tcase_add_test(tcase, action_order_is_complete);
    tcase_add_test(tcase, threads_get_cpus_of_this_machine);
    tcase_add_loop_test(tcase, verdicts_are_sent_where_no_worker_is, 0, sizeof(sender_cases) / sizeof(sender_cases[0]));
    tcase_add_loop_test(tcase, sets_of_the_configuration_count, 0, sizeof(affinity_cases) / sizeof(affinity_cases[0]));
    tcase_add_test(tcase, every_packet_is_judged_once);
    tcase_add_test(tcase, an_idle_worker_takes_another_ruleset);
    tcase_add_test(tcase, a_source_that_fails_ends_the_worker);
    tcase_add_test(tcase, an_overrun_does_not_end_it);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
