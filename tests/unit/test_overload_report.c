/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of overload by the main thread, while a worker runs: from the worker's notices to the lines of the event
 * file. */
#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "default_options.h"
#include "sluice/overload.h"
#include "sluice/worker.h"
#include "daemon/overload_report.h"
#include "daemon/queue_account.h"
#include "pipeline_rig.h"
#include "sluice/clock.h"

enum { BUSY_BATCHES = 50, BATCH = 8, QUEUE = 7, PATIENCE_MS = 20000 };

/* --- A queue that is full at first, and empty later ----------------------------------------------- */

struct busy_queue {
    struct capture capture;
    struct capture_counters counters;
    struct packet packets[BATCH];
    unsigned batches;
    uint32_t next_id;
    _Atomic uint32_t queue_dropped, user_dropped;
};

static int receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    static const uint8_t datagram[28] = { 0x45, 0, 0,  28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0,
                                          0,    1, 10, 0,  0, 2, 4, 0, 0,  53, 0, 8, 0,  0 };
    struct busy_queue *queue = (struct busy_queue *)capture;
    const struct timespec pause = { .tv_nsec = 1000000 };

    (void)wait_ms;
    ck_assert_uint_ge(max, BATCH);
    nanosleep(&pause, NULL);
    if (queue->batches == 0 || queue->batches > BUSY_BATCHES) {
        queue->batches += queue->batches == 0;
        return 0;
    }
    queue->batches++;
    for (unsigned i = 0; i < BATCH; i++) {
        queue->packets[i] = (struct packet){ .data = datagram,
                                             .length = sizeof(datagram),
                                             .wire_length = sizeof(datagram),
                                             .link = LINK_RAW,
                                             .time_ns = clock_realtime_ns(),
                                             .meta.id = ++queue->next_id };
        batch[i] = &queue->packets[i];
    }
    queue->counters.packets += BATCH;
    queue->counters.full_batches++;
    return BATCH;
}

static int send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    (void)capture;
    (void)batch;
    (void)count;
    return 0;
}

static const struct capture_counters *counters_of(const struct capture *capture)
{
    return &((const struct busy_queue *)capture)->counters;
}

static int status_of(struct capture *capture, struct queue_status *out)
{
    struct busy_queue *queue = (struct busy_queue *)capture;

    *out = (struct queue_status){ .queue = QUEUE,
                                  .queue_dropped = atomic_load(&queue->queue_dropped),
                                  .user_dropped = atomic_load(&queue->user_dropped) };
    return 0;
}

static int level_of(struct capture *capture, struct queue_level *out)
{
    *out = (struct queue_level){ .waiting = 900, .length = 1000, .buffer = 1 << 20, .has_sequence = true };
    out->id_sequence = ((struct busy_queue *)capture)->next_id + 900;
    return 0;
}

static const struct capture_ops busy_ops = { .name = "busy",
                                             .receive = receive,
                                             .send_verdicts = send_verdicts,
                                             .counters = counters_of,
                                             .status = status_of,
                                             .level = level_of };

static struct busy_queue queue;
static struct worker worker;
static struct overload_report *report;
static struct account_queue account;
static char eve_path[64];
static uint64_t test_now_ns, test_step_ns;

static uint64_t test_clock(void)
{
    return test_now_ns += test_step_ns;
}

static void open_report(void)
{
    int fd;

    memset(&queue, 0, sizeof(queue));
    memset(&worker, 0, sizeof(worker));
    snprintf(eve_path, sizeof(eve_path), "/tmp/sluice-overload-XXXXXX");
    fd = mkstemp(eve_path);
    ck_assert_int_ge(fd, 0);
    close(fd);
    rig_setup();
    test_now_ns = 1000 * RIG_SECOND;
    test_step_ns = 1000;
    rig.eve_path = eve_path;
    rig.names = rule_names_new();
    rig.options.detector.budget = (struct budget_options){
        .rule_ns = 1000000,
        .suspend = SUSPEND_ALERTS,
        .suspend_count = 2,
        .window_ns = 60 * RIG_SECOND,
        .suspend_ns = 10 * RIG_SECOND,
        .clock = test_clock,
    };
    rig_open("alert tcp any any -> any any (content:\"word\"; sid:5;)");
    queue.capture.ops = &busy_ops;
    worker.capture = &queue.capture;
    worker.queue.queue = QUEUE;
    worker.queue.batch = 64;
    worker.queue.inherited_fd = -1;
    overload_options_default(&worker.watch.overload.options);
    atomic_store(&worker.ruleset, rig.ruleset);
    ck_assert_int_eq(worker_snapshot_init(&worker), 0);
    ck_assert_int_eq(pipeline_init(&worker.pipeline, &rig.options, &rig.shared, 0, output_port(rig.output, 0)), 0);
    ck_assert_int_eq(detector_prepare(worker.pipeline.detector, rig.ruleset), 0);
    const struct overload_report_options options = {
        .workers = &worker,
        .worker_count = 1,
        .output = rig.output,
        .ruleset = (struct ruleset *const *)&rig.ruleset,
        .queues = &account,
    };

    account = (struct account_queue){ .queue = QUEUE };

    ck_assert_int_eq(overload_report_new(&report, &options), 0);
    ck_assert_int_eq(output_start(rig.output), 0);
}

static void close_report(void)
{
    overload_report_free(report);
    pipeline_clear(&worker.pipeline);
    worker_snapshot_clear(&worker);
    rig_close();
    unlink(eve_path);
}

/* Returns the content of the event file after all events were written. */
static char text[1 << 16];
static void read_events(void)
{
    FILE *file;
    size_t length;

    output_stop(rig.output);
    file = fopen(eve_path, "re");
    ck_assert_ptr_nonnull(file);
    length = fread(text, 1, sizeof(text) - 1, file);
    text[length] = '\0';
    fclose(file);
}

static unsigned count_of(const char *what)
{
    unsigned count = 0;

    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

START_TEST(a_worker_enters_and_leaves)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    unsigned turns = 0;

    ck_assert_int_eq(worker_start(&worker), 0);
    do { /* as the main thread does */
        nanosleep(&pause, NULL);
        overload_report_poll(report, clock_monotonic_ns(), false);
        ck_assert(worker_take_snapshot(&worker));
    } while ((worker.snapshot.watch.times == 0 || worker.snapshot.watch.overloaded) && ++turns < PATIENCE_MS);
    atomic_store(&worker.stop, true);
    pthread_join(worker.thread, NULL);
    overload_report_poll(report, clock_monotonic_ns(), true);
    ck_assert_uint_eq(worker.snapshot.watch.times, 1);
    ck_assert_uint_gt(worker.snapshot.watch.ages.max_ns, 0);
    ck_assert_uint_ge(worker.snapshot.watch.total_ns, RIG_SECOND);
    read_events();
    ck_assert_uint_eq(count_of("\"event_type\":\"overload\""), 2);
    ck_assert_ptr_nonnull(strstr(text, "\"overload\":{\"action\":\"entered\",\"queue\":7,\"queue_fill\":90"));
    ck_assert_ptr_nonnull(strstr(text, "\"shedding\":[\"encrypted\"]"));
    ck_assert_ptr_nonnull(strstr(text, "\"overload\":{\"action\":\"left\",\"queue\":7,\"queue_fill\":0"));
    ck_assert_ptr_nonnull(strstr(text, "\"shedding\":[],\"shed\":{\"encrypted\":0}"));
}
END_TEST

START_TEST(what_the_kernel_dropped_is_told_once)
{
    overload_report_poll(report, 1 * RIG_SECOND, false);
    atomic_store(&queue.queue_dropped, 5);
    overload_report_poll(report, 2 * RIG_SECOND, false);
    overload_report_poll(report, 3 * RIG_SECOND, false);
    atomic_store(&queue.queue_dropped, 6);
    overload_report_poll(report, 3 * RIG_SECOND + 1000, false); /* too early for the next check */
    atomic_store(&queue.queue_dropped, 7);
    atomic_store(&queue.user_dropped, 1);
    atomic_store(&worker.missing, 3); /* without fail-open, missing packets are dropped ones */
    overload_report_poll(report, 4 * RIG_SECOND, false);
    read_events();
    ck_assert_uint_eq(count_of("\"action\":\"lost\""), 2);
    ck_assert_ptr_nonnull(strstr(text, "\"queue_dropped\":5,\"user_dropped\":0,\"missing\":0,\"fail_open\":0,"
                                       "\"unqueued\":0,\"passed_uninspected\":false"));
    ck_assert_ptr_nonnull(strstr(text, "\"queue_dropped\":2,\"user_dropped\":1,\"missing\":0,\"fail_open\":0,"
                                       "\"unqueued\":0,\"passed_uninspected\":false"));
}
END_TEST

START_TEST(with_fail_open_packets_pass)
{
    worker.queue.fail_open = true;
    overload_report_poll(report, 1 * RIG_SECOND, false);
    atomic_store(&worker.missing, 3);
    overload_report_poll(report, 2 * RIG_SECOND, false);
    read_events();
    ck_assert_uint_eq(count_of("\"action\":\"lost\""), 1);
    ck_assert_ptr_nonnull(strstr(text, "\"queue_dropped\":0,\"user_dropped\":0,\"missing\":3,\"fail_open\":0,"
                                       "\"unqueued\":0,\"passed_uninspected\":true"));
}
END_TEST

/* Drops that the previous engine has reported are not reported again. */
START_TEST(drops_are_reported_once_for_all_engines)
{
    account.queue_dropped = 1000;
    atomic_store(&queue.queue_dropped, 1000);
    overload_report_poll(report, 1 * RIG_SECOND, false);
    atomic_store(&queue.queue_dropped, 1001);
    overload_report_poll(report, 2 * RIG_SECOND, false);
    read_events();
    ck_assert_uint_eq(count_of("\"action\":\"lost\""), 1);
    ck_assert_ptr_nonnull(strstr(text, "\"queue_dropped\":1,"));
    ck_assert_uint_eq(account.queue_dropped, 1001);
}
END_TEST

/* The kernel's counters begin at 0 when the queue is bound, so drops before the first check count. */
START_TEST(drops_before_the_first_look_are_reported)
{
    worker.queue.inherited_fd = 3;
    atomic_store(&queue.queue_dropped, 284);
    overload_report_poll(report, 1 * RIG_SECOND, false);
    read_events();
    ck_assert_ptr_nonnull(strstr(text, "\"queue_dropped\":284,"));
}
END_TEST

/* Sends packets through the rig's detector, which the worker uses meanwhile. */
static void send_slowly(unsigned count)
{
    test_step_ns = 2000000;
    for (unsigned i = 0; i < count; i++)
        rig_send(RIG_CLIENT, "word");
    test_step_ns = 1000;
}

START_TEST(slow_rules_are_told_and_come_back)
{
    struct detector *own = worker.pipeline.detector;

    rig_handshake();
    worker.pipeline.detector = rig.pipeline.detector;
    send_slowly(2);
    atomic_store(&worker.slow_packets, 4);
    atomic_store(&worker.slow_evaluations, 2);
    overload_report_poll(report, test_now_ns, false);
    overload_report_poll(report, test_now_ns + 9 * RIG_SECOND, false);
    atomic_store(&worker.slow_packets, 5); /* no report within a minute */
    overload_report_poll(report, test_now_ns + 11 * RIG_SECOND, false);
    overload_report_poll(report, test_now_ns + 12 * RIG_SECOND, false);
    read_events();
    ck_assert_uint_eq(count_of("\"event_type\":\"overload\""), 3);
    ck_assert_ptr_nonnull(
        strstr(text, "\"action\":\"suspended\",\"queue\":7,\"rules\":[{\"gid\":1,\"signature_id\":5,\"evaluations\":2,"
                     "\"over_budget\":2,\"total_us\":4000,\"max_us\":2000,\"seconds\":10}]"));
    ck_assert_ptr_nonnull(
        strstr(text, "\"action\":\"slow\",\"packets\":4,\"rules\":[{\"gid\":1,\"signature_id\":5,\"evaluations\":2,"
                     "\"over_budget\":2,\"total_us\":4000,\"max_us\":2000}]"));
    ck_assert_ptr_nonnull(strstr(text, "\"action\":\"resumed\",\"queue\":7,"));
    worker.pipeline.detector = own;
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("overload_report");

    tcase_add_checked_fixture(tcase, open_report, close_report);
    tcase_add_test(tcase, a_worker_enters_and_leaves);
    tcase_add_test(tcase, what_the_kernel_dropped_is_told_once);
    tcase_add_test(tcase, with_fail_open_packets_pass);
    tcase_add_test(tcase, drops_are_reported_once_for_all_engines);
    tcase_add_test(tcase, drops_before_the_first_look_are_reported);
    tcase_add_test(tcase, slow_rules_are_told_and_come_back);
    return rig_run(tcase, "overload_report");
}
