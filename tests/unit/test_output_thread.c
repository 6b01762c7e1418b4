/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output's rings, its thread and its file. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "output/sink.h"
#include "output_rig.h"

enum { RING_MIN_SIZE = 2 << 20 };

enum { PATIENCE_MS = 20000 };

/* --- Rings and threads ---------------------------------------------------------------------------- */

START_TEST(counts_what_a_full_ring_loses)
{
    uint64_t packets = 0;

    output_rig->options.ring_size = 1;
    output_rig_open(1);
    sample_arp(&output_rig->sample);
    sample_second_drops(&output_rig->sample);
    while (output_rig_counters().lost[OUTPUT_DROP] < 10) {
        output_rig_put(0);
        packets++;
        ck_assert_uint_lt(packets, RING_MIN_SIZE);
    }
    output_rig_finish(output_rig->path);

    struct output_counters got = output_rig_counters();

    ck_assert_uint_eq(got.lost[OUTPUT_ALERT], 20);
    ck_assert_uint_eq(got.lost[OUTPUT_DROP], 10);
    ck_assert_uint_eq(got.lost[OUTPUT_ANOMALY], 10);
    ck_assert_uint_eq(got.written[OUTPUT_ALERT], 2 * (packets - 10));
    ck_assert_uint_eq(got.written[OUTPUT_DROP], packets - 10);
    ck_assert_uint_eq(got.written[OUTPUT_ANOMALY], packets - 10);
    ck_assert_uint_eq(output_rig->count, 4 * (packets - 10));
}
END_TEST

enum { LOSSLESS_PACKETS = 4000 };

/* Each worker has its own sample. The payloads exceed the size of the ring. */
static void *work(void *argument)
{
    struct output_port *port = argument;
    struct sample *sample = calloc(1, sizeof(*sample));

    sample_tcp(sample);
    sample_alert(sample);
    sample->alerts[0].rule = &output_rig->sample.rule; /* valid after the worker has ended */
    memset(sample->bytes + SAMPLE_HEADERS, 'x', SAMPLE_PAYLOAD);
    sample->packet.payload_length = SAMPLE_PAYLOAD;
    for (uint64_t i = 1; i <= LOSSLESS_PACKETS; i++) {
        sample->packet.number = i;
        output_packet(port, &sample->packet, &sample->decision, 0);
    }
    free(sample);
    return NULL;
}

START_TEST(loses_nothing_when_lossless)
{
    pthread_t workers[2];

    output_rig->options.ring_size = RING_MIN_SIZE;
    output_rig->options.lossless = true;
    output_rig->options.eve.alert.payload = true;
    sample_rules(&output_rig->sample);
    sample_tcp(&output_rig->sample);
    output_rig_open(2);
    ck_assert_int_eq(output_start(output_rig->output), 0);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&workers[i], NULL, work, output_port(output_rig->output, i)), 0);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(workers[i], NULL);
    output_rig_finish(output_rig->path);

    struct output_counters got = output_rig_counters();
    uint64_t sum = 0;

    ck_assert_uint_eq(got.lost[OUTPUT_ALERT], 0);
    ck_assert_uint_eq(got.written[OUTPUT_ALERT], 2 * LOSSLESS_PACKETS);
    ck_assert_uint_eq(output_rig->count, 2 * LOSSLESS_PACKETS);
    for (size_t i = 0; i < output_rig->count; i++)
        sum += output_rig_number(output_rig->events[i], "pcap_cnt");
    ck_assert_uint_eq(sum, (uint64_t)LOSSLESS_PACKETS * (LOSSLESS_PACKETS + 1));
}
END_TEST

START_TEST(keeps_the_order_of_each_port)
{
    uint64_t last[2] = { 0, 0 };

    output_rig_open(2);
    ck_assert_ptr_null(output_port(output_rig->output, 2));
    sample_tcp(&output_rig->sample);
    sample_alert(&output_rig->sample);
    for (uint64_t i = 1; i <= 200; i++) {
        output_rig->sample.packet.number = i;
        output_rig->sample.packet.source_port = (uint16_t)(i % 2);
        output_rig_put(i % 2);
    }
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 200);
    for (size_t i = 0; i < output_rig->count; i++) {
        uint64_t number = output_rig_number(output_rig->events[i], "pcap_cnt");
        uint64_t port = output_rig_number(output_rig->events[i], "src_port");

        ck_assert_uint_gt(number, last[port]);
        last[port] = number;
    }
}
END_TEST

struct merge_worker {
    struct output_port *port;
    unsigned index;
    _Atomic uint64_t next; /* position that the writer reaches next */
};

static void progress_of(void *user, unsigned port, struct replay_position *out)
{
    struct merge_worker *workers = user;

    *out = (struct replay_position){ .sequence = atomic_load(&workers[port].next) };
}

/* Returns the worker of a position, without regular pattern. */
static unsigned owner_of(uint64_t place)
{
    return (unsigned)(place * UINT64_C(0x9E3779B97F4A7C15) >> 60) % 3;
}

static void *record_own_places(void *argument)
{
    struct merge_worker *worker = argument;
    struct sample *sample = calloc(1, sizeof(*sample));

    sample_tcp(sample);
    sample_alert(sample);
    sample->alerts[0].rule = &output_rig->sample.rule;
    for (uint64_t i = 1; i <= LOSSLESS_PACKETS; i++) {
        struct replay_position place = { .sequence = i };

        if (owner_of(i) != worker->index)
            continue;
        atomic_store(&worker->next, i);
        output_port_set_position(worker->port, &place);
        sample->packet.number = i;
        output_packet(worker->port, &sample->packet, &sample->decision, 0);
    }
    atomic_store(&worker->next, UINT64_MAX);
    free(sample);
    return NULL;
}

START_TEST(merges_ports_by_their_places)
{
    struct merge_worker workers[3] = { { 0 } };
    pthread_t threads[3];

    output_rig->options.ring_size = RING_MIN_SIZE;
    output_rig->options.lossless = true;
    sample_rules(&output_rig->sample);
    sample_tcp(&output_rig->sample);
    output_rig_open(3);
    output_set_progress(output_rig->output, progress_of, workers);
    ck_assert_int_eq(output_start(output_rig->output), 0);
    for (unsigned i = 0; i < 3; i++) {
        workers[i].port = output_port(output_rig->output, i);
        workers[i].index = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, record_own_places, &workers[i]), 0);
    }
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, LOSSLESS_PACKETS);
    for (size_t i = 0; i < output_rig->count; i++)
        ck_assert_uint_eq(output_rig_number(output_rig->events[i], "pcap_cnt"), i + 1);
}
END_TEST

/* Flow events of the same time are ordered by the start of the flow, then by its first packet. */
START_TEST(merges_flows_of_a_moment)
{
    static const struct {
        unsigned port;
        struct replay_position place;
        uint64_t rank;
    } records[] = {
        { 0, { 5, 10, 1 }, 1 }, { 1, { 5, 10, 2 }, 2 }, { 0, { 5, 20, 1 }, 4 },
        { 1, { 5, 11, 9 }, 3 }, { 1, { 6, 0, 0 }, 5 },  { 0, { 7, 0, 0 }, 6 },
    };
    struct merge_worker workers[2] = { { .next = UINT64_MAX }, { .next = UINT64_MAX } };

    output_rig_open(2);
    output_set_progress(output_rig->output, progress_of, workers);
    sample_tcp(&output_rig->sample);
    sample_alert(&output_rig->sample);
    for (int i = 0; i < ROWS(records); i++) {
        output_port_set_position(output_port(output_rig->output, records[i].port), &records[i].place);
        output_rig->sample.packet.number = records[i].rank;
        output_rig_put(records[i].port);
    }
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, ROWS(records));
    for (size_t i = 0; i < output_rig->count; i++)
        ck_assert_uint_eq(output_rig_number(output_rig->events[i], "pcap_cnt"), i + 1);
}
END_TEST

/* Polls until another thread fulfils the condition. The limit only detects hangs. */
static bool eventually(bool (*condition)(void *argument), void *argument)
{
    for (int waited_ms = 0; waited_ms < PATIENCE_MS; waited_ms++) {
        if (condition(argument))
            return true;
        usleep(1000);
    }
    return false;
}

static bool is_drained(void *ticket)
{
    return output_drained(output_rig->output, *(uint64_t *)ticket);
}

START_TEST(tells_when_rules_are_unused)
{
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_alert(&output_rig->sample);
    output_rig_put(0);

    uint64_t ticket = output_ticket(output_rig->output);

    ck_assert(!output_drained(output_rig->output, ticket));
    ck_assert_int_eq(output_start(output_rig->output), 0);
    ck_assert(eventually(is_drained, &ticket));
    memset(&output_rig->sample.rule, 0xff, sizeof(output_rig->sample.rule)); /* the output must not use it any more */

    for (int i = 0; i < 100; i++) {
        sample_rules(&output_rig->sample);
        output_rig_put(0);
        ticket = output_ticket(output_rig->output);
        ck_assert(eventually(is_drained, &ticket));
        memset(&output_rig->sample.rule, 0xff, sizeof(output_rig->sample.rule));
    }
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 101);
    for (size_t i = 0; i < output_rig->count; i++)
        output_rig_expect(output_rig->events[i], true, "\"signature_id\":9000001,");
}
END_TEST

/* --- The file ------------------------------------------------------------------------------------- */

static bool exists(void *path)
{
    struct stat status;

    return stat(path, &status) == 0;
}

START_TEST(reopens_after_rotation)
{
    output_rig_open(1);
    ck_assert_int_eq(output_start(output_rig->output), 0);
    sample_tcp(&output_rig->sample);
    sample_alert(&output_rig->sample);
    output_rig_put(0);

    uint64_t ticket = output_ticket(output_rig->output);

    ck_assert(eventually(is_drained, &ticket));
    ck_assert_int_eq(rename(output_rig->path, output_rig->old_path), 0);
    output_reopen(output_rig->output);
    ck_assert(eventually(exists, output_rig->path));
    output_rig->sample.packet.number = 14;
    output_rig_put(0);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 1);
    output_rig_expect(output_rig->events[0], true, "\"pcap_cnt\":14,");
    output_rig_finish(output_rig->old_path);
    ck_assert_uint_eq(output_rig->count, 2);
    output_rig_expect(output_rig->events[1], true, "\"pcap_cnt\":13,");
    ck_assert_uint_eq(output_rig_counters().written[OUTPUT_ALERT], 2);
}
END_TEST

START_TEST(appends_or_truncates)
{
    for (int run = 0; run < 3; run++) {
        output_rig->options.eve_truncate = run == 2;
        output_rig_open(1);
        sample_tcp(&output_rig->sample);
        sample_alert(&output_rig->sample);
        output_rig_put(0);
        if (run < 2) {
            output_stop(output_rig->output);
            output_close(output_rig->output);
        }
        if (run == 1) {
            struct stat status;

            ck_assert_int_eq(stat(output_rig->path, &status), 0);
            ck_assert_int_gt(status.st_size, 600); /* two events */
        }
    }
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 1);
}
END_TEST

START_TEST(says_which_file_cannot_be_written)
{
    char error[256] = "";

    output_rig->options.eve_path = "/nonexistent/folder/eve.json";
    ck_assert_int_eq(output_open(&output_rig->output, &output_rig->options, 1, error), -ENOENT);
    ck_assert_ptr_null(output_rig->output);
    ck_assert_str_eq(error, "cannot write events to /nonexistent/folder/eve.json: No such file or directory");
}
END_TEST

START_TEST(counts_what_a_full_disk_loses)
{
    output_rig->options.eve_path = "/dev/full";
    output_rig_open(1);
    ck_assert_int_eq(output_start(output_rig->output), 0);
    sample_tcp(&output_rig->sample);
    sample_drop(&output_rig->sample);
    for (int i = 0; i < 100; i++)
        output_rig_put(0);
    output_stop(output_rig->output);

    struct output_counters got = output_rig_counters();

    ck_assert_uint_eq(got.written[OUTPUT_ALERT] + got.written[OUTPUT_DROP], 0);
    ck_assert_uint_eq(got.lost[OUTPUT_ALERT], 100);
    ck_assert_uint_eq(got.lost[OUTPUT_DROP], 100);
    ck_assert_uint_gt(got.write_errors, 0);
}
END_TEST

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit = { .rlim_cur = bytes, .rlim_max = RLIM_INFINITY };

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void put_line(struct sink *sink, const char *line)
{
    text_puts(&sink->buffer, line);
    sink_end_event(sink, OUTPUT_ALERT);
}

/* RLIMIT_FSIZE acts as a full disk: a write ends in the middle of a line. */
START_TEST(finishes_a_line_that_was_cut)
{
    struct event_counters counters = { 0 };
    struct sink sink;
    char content[64] = "";

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(sink_open(&sink, output_rig->path, OUTPUT_FILE_REGULAR, true, &counters), 0);
    limit_file_size(10);
    put_line(&sink, "12345");
    put_line(&sink, "abcdef");
    put_line(&sink, "lost");
    sink_flush(&sink); /* writes "12345\nabcd" */
    ck_assert_uint_eq(counters.written[OUTPUT_ALERT], 1);
    ck_assert_uint_eq(counters.lost[OUTPUT_ALERT], 1);
    put_line(&sink, "lost too");
    sink_flush(&sink); /* writes nothing */
    ck_assert_uint_eq(counters.written[OUTPUT_ALERT], 1);
    ck_assert_uint_eq(counters.lost[OUTPUT_ALERT], 2);
    ck_assert_uint_eq(counters.write_errors, 2);
    limit_file_size(RLIM_INFINITY);
    put_line(&sink, "there");
    sink_flush(&sink);
    ck_assert_uint_eq(counters.written[OUTPUT_ALERT], 3);
    sink_close(&sink);

    FILE *file = fopen(output_rig->path, "r");

    ck_assert_uint_eq(fread(content, 1, sizeof(content) - 1, file), 19);
    fclose(file);
    ck_assert_str_eq(content, "12345\nabcdef\nthere\n");
}
END_TEST

static const struct {
    struct output_engine event;
    const char *json, *line;
} deaths[] = {
    { { .number = 1, .action = OUTPUT_ENGINE_RESTARTED, .signal = 11, .packets = 12 },
      "\"sluice\":{\"engine\":{\"action\":\"restarted\",\"number\":1,\"cause\":\"signal\",\"signal\":11,\"repeated\":"
      "12}",
      "ENGINE restarted after signal 11" },
    { { .number = 2, .action = OUTPUT_ENGINE_RESTARTED, .signal = 6, .hung = true },
      "\"sluice\":{\"engine\":{\"action\":\"restarted\",\"number\":2,\"cause\":\"hang\",\"signal\":6,\"repeated\":0}",
      "ENGINE restarted: a worker hung" },
    { { .number = 3, .action = OUTPUT_ENGINE_RESTARTED, .code = 1 },
      "\"sluice\":{\"engine\":{\"action\":\"restarted\",\"number\":3,\"cause\":\"exit\",\"exit_code\":1,\"repeated\":"
      "0}",
      "ENGINE restarted after exit code 1" },
    { { .number = 4, .action = OUTPUT_ENGINE_QUARANTINED, .queue = 3, .length = 66, .path = "/there/1.pcap" },
      "\"sluice\":{\"engine\":{\"action\":\"quarantined\",\"number\":4,\"queue\":3,\"length\":66,\"file\":\"/there/"
      "1.pcap\"}",
      "ENGINE quarantined: a packet of 66 bytes in queue 3" },
    { { .action = OUTPUT_ENGINE_INTERFACE, .interface = "eth1", .state = "down", .is_lost = true },
      "\"log_level\":\"Warning\",\"event_type\":\"engine\",\"engine\":{\"message\":\"interface: eth1 "
      "down\"},\"sluice\":{"
      "\"engine\":{\"action\":\"interface\",\"interface\":\"eth1\",\"state\":\"down\"}",
      "ENGINE interface: eth1 down" },
    { { .action = OUTPUT_ENGINE_INTERFACE, .interface = "eth1", .state = "capturing", .renamed = "mirror" },
      "\"log_level\":\"Notice\",\"event_type\":\"engine\",\"engine\":{\"message\":\"interface: eth1 capturing, renamed "
      "to "
      "mirror\"},\"sluice\":{\"engine\":{\"action\":\"interface\",\"interface\":\"eth1\",\"state\":\"capturing\","
      "\"renamed\":\"mirror\"}",
      "ENGINE interface: eth1 capturing, renamed to mirror" },
};

enum { NAMES = 5000 };

static void *add_names(void *registry)
{
    char name[16];

    for (unsigned i = 1; i <= NAMES; i++) {
        snprintf(name, sizeof(name), "name-%u", i);
        if (rule_names_number(registry, RULE_NAME_FLOWBIT, span_of(name)) != i)
            return "another number";
    }
    return NULL;
}

/* Events look up names while loading rules adds others. */
START_TEST(names_are_read_while_others_are_added)
{
    struct rule_names *names = rule_names_new();
    pthread_t writer;
    void *wrong;
    char expected[16];

    ck_assert_int_eq(pthread_create(&writer, NULL, add_names, names), 0);
    for (unsigned number = 1; number <= NAMES;) {
        const char *name = rule_names_text(names, RULE_NAME_FLOWBIT, number);

        if (!name) {
            sched_yield();
            continue;
        }
        snprintf(expected, sizeof(expected), "name-%u", number++);
        ck_assert_str_eq(name, expected);
    }
    pthread_join(writer, &wrong);
    ck_assert_ptr_null(wrong);
    ck_assert_ptr_null(rule_names_text(names, RULE_NAME_FLOWBIT, 0));
    ck_assert_ptr_null(rule_names_text(names, RULE_NAME_FLOWBIT, NAMES + 1));
    ck_assert_ptr_null(rule_names_text(names, RULE_NAME_FLOWINT, 1));
    rule_names_free(names);
}
END_TEST

START_TEST(deaths_of_engines_are_told)
{
    struct output_engine event = deaths[_i].event;
    char *line = NULL;
    size_t size = 0;

    event.time_ns = 1700000000000000000;
    output_rig->options.console = open_memstream(&line, &size);
    output_rig_open(1);
    output_engine(output_rig->output, &event);
    output_rig_finish(output_rig->path);
    fclose(output_rig->options.console);
    ck_assert_uint_eq(output_rig->count, 1);
    output_rig_expect(output_rig->events[0], true, "\"event_type\":\"engine\",");
    output_rig_expect(output_rig->events[0], true, deaths[_i].json);
    output_rig_expect(line, true, deaths[_i].line);
    ck_assert_uint_eq(output_rig_counters().written[OUTPUT_ENGINE], 1);
    free(line);
}
END_TEST

/* The previous writer was killed in the middle of a line. The next one begins a new line, but adds no empty line
 * otherwise. */
START_TEST(begins_a_line_behind_one_that_was_cut)
{
    static const struct {
        const char *before, *after;
    } cases[] = { { "", "new\n" }, { "whole\n", "whole\nnew\n" }, { "{\"cut", "{\"cut\nnew\n" } };
    struct event_counters counters = { 0 };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *file = fopen(output_rig->path, "w");
        char content[64] = "";
        struct sink sink;

        fputs(cases[i].before, file);
        fclose(file);
        ck_assert_int_eq(sink_open(&sink, output_rig->path, OUTPUT_FILE_REGULAR, false, &counters), 0);
        put_line(&sink, "new");
        sink_flush(&sink);
        sink_close(&sink);
        file = fopen(output_rig->path, "r");
        ck_assert_uint_gt(fread(content, 1, sizeof(content) - 1, file), 0);
        fclose(file);
        ck_assert_str_eq(content, cases[i].after);
    }
}
END_TEST

/* A removed file is created again; if its folder was removed, after the folder exists again. */
START_TEST(makes_a_file_anew_that_was_removed)
{
    struct event_counters counters = { 0 };
    struct sink sink;
    char folder[] = "/tmp/test_output_XXXXXX", path[64];

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/eve.json", folder);
    ck_assert_int_eq(sink_open(&sink, path, OUTPUT_FILE_REGULAR, true, &counters), 0);
    put_line(&sink, "one");
    sink_flush(&sink);
    unlink(path);
    sink.tried_ns = 0; /* as if a second had passed */
    put_line(&sink, "two");
    sink_flush(&sink);
    ck_assert_int_eq(access(path, F_OK), 0);
    unlink(path);
    rmdir(folder);
    sink.tried_ns = 0;
    put_line(&sink, "three");
    sink_flush(&sink);
    ck_assert_uint_eq(counters.written[OUTPUT_ALERT], 2);
    ck_assert_uint_eq(counters.lost[OUTPUT_ALERT], 1);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    sink.tried_ns = 0;
    put_line(&sink, "four");
    sink_flush(&sink);
    ck_assert_uint_eq(counters.written[OUTPUT_ALERT], 3);
    sink_close(&sink);
    ck_assert_int_eq(unlink(path), 0);
    rmdir(folder);
}
END_TEST

static int listen_at(const char *path, int type)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, type, 0);

    unlink(path);
    strcpy(address.sun_path, path);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    if (type == SOCK_STREAM)
        ck_assert_int_eq(listen(fd, 5), 0);
    return fd;
}

/* No reader; a reader; the reader stops reading; it disconnects; another one connects. All lines are complete or
 * counted as lost. */
START_TEST(a_reader_may_come_and_go)
{
    struct event_counters counters = { 0 };
    struct sink sink;
    char path[80], bytes[64] = "", *large = calloc(1, 3000001);
    int server, reader;

    snprintf(path, sizeof(path), "%s.socket", output_rig->path);
    ck_assert_int_eq(sink_open(&sink, path, OUTPUT_FILE_UNIX_STREAM, false, &counters), 0);
    put_line(&sink, "nobody");
    sink_flush(&sink);
    ck_assert_uint_eq(counters.lost[OUTPUT_ALERT], 1);
    server = listen_at(path, SOCK_STREAM);
    sink.tried_ns = 0;
    put_line(&sink, "one");
    put_line(&sink, "two");
    sink_flush(&sink);
    reader = accept(server, NULL, NULL);
    ck_assert_int_eq(recv(reader, bytes, sizeof(bytes), 0), 8);
    ck_assert_str_eq(bytes, "one\ntwo\n");

    memset(large, 'x', 3000000); /* exceeds the socket buffer, and the reader does not read: the line is incomplete */
    put_line(&sink, large);
    put_line(&sink, "behind");
    sink_flush(&sink);
    ck_assert_uint_eq(counters.lost[OUTPUT_ALERT], 2);
    ck_assert(sink.cut);
    close(reader);
    put_line(&sink, "gone");
    sink_flush(
        &sink); /* detects that the reader has disconnected: the rest of the large line, and later lines, are lost */
    ck_assert_uint_eq(counters.lost[OUTPUT_ALERT], 4);
    ck_assert_uint_eq(counters.written[OUTPUT_ALERT], 2);
    sink.tried_ns = 0;
    put_line(&sink, "again");
    sink_flush(&sink);
    reader = accept(server, NULL, NULL);
    memset(bytes, 0, sizeof(bytes));
    ck_assert_int_eq(recv(reader, bytes, sizeof(bytes), 0), 6);
    ck_assert_str_eq(bytes, "again\n");
    ck_assert_uint_eq(counters.written[OUTPUT_ALERT], 3);
    sink_close(&sink);
    close(reader);
    close(server);
    unlink(path);
    free(large);
}
END_TEST

START_TEST(a_datagram_is_an_event)
{
    struct event_counters counters = { 0 };
    struct sink sink;
    char path[80], bytes[64] = "";
    unsigned sent = 0;
    int reader;

    snprintf(path, sizeof(path), "%s.socket", output_rig->path);
    reader = listen_at(path, SOCK_DGRAM);
    ck_assert_int_eq(sink_open(&sink, path, OUTPUT_FILE_UNIX_DATAGRAM, false, &counters), 0);
    put_line(&sink, "one");
    put_line(&sink, "second");
    sink_flush(&sink);
    ck_assert_int_eq(recv(reader, bytes, sizeof(bytes), 0), 4);
    ck_assert_int_eq(recv(reader, bytes, sizeof(bytes), 0), 7);
    ck_assert_str_eq(bytes, "second\n");
    for (; sent < 1000; sent++) /* the reader does not read; the kernel buffers a few datagrams */
        put_line(&sink, "more");
    sink_flush(&sink);
    ck_assert_uint_gt(counters.lost[OUTPUT_ALERT], 0);
    ck_assert_uint_eq(counters.lost[OUTPUT_ALERT] + counters.written[OUTPUT_ALERT], sent + 2);
    close(reader);
    put_line(&sink, "gone");
    sink_flush(&sink);
    ck_assert_uint_eq(counters.lost[OUTPUT_ALERT] + counters.written[OUTPUT_ALERT], sent + 3);
    reader = listen_at(path, SOCK_DGRAM);
    sink.tried_ns = 0;
    put_line(&sink, "again");
    sink_flush(&sink);
    ck_assert_int_eq(recv(reader, bytes, sizeof(bytes), 0), 6);
    sink_close(&sink);
    close(reader);
    unlink(path);
}
END_TEST

START_TEST(stands_a_size_limit)
{
    signal(SIGXFSZ, SIG_IGN);
    output_rig_open(1);
    limit_file_size(1000);
    sample_tcp(&output_rig->sample);
    sample_alert(&output_rig->sample);
    for (int i = 0; i < 100; i++)
        output_rig_put(0);
    output_stop(output_rig->output);
    limit_file_size(RLIM_INFINITY);

    struct output_counters got = output_rig_counters();

    ck_assert_uint_gt(got.written[OUTPUT_ALERT], 0);
    ck_assert_uint_eq(got.written[OUTPUT_ALERT] + got.lost[OUTPUT_ALERT], 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output thread");
    TCase *tcase = tcase_create("output thread");

    tcase_add_checked_fixture(tcase, output_rig_setup, output_rig_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, counts_what_a_full_ring_loses);
    tcase_add_test(tcase, loses_nothing_when_lossless);
    tcase_add_test(tcase, keeps_the_order_of_each_port);
    tcase_add_test(tcase, merges_ports_by_their_places);
    tcase_add_test(tcase, merges_flows_of_a_moment);
    tcase_add_test(tcase, tells_when_rules_are_unused);
    tcase_add_test(tcase, reopens_after_rotation);
    tcase_add_test(tcase, appends_or_truncates);
    tcase_add_test(tcase, says_which_file_cannot_be_written);
    tcase_add_test(tcase, counts_what_a_full_disk_loses);
    tcase_add_test(tcase, finishes_a_line_that_was_cut);
    tcase_add_test(tcase, names_are_read_while_others_are_added);
    tcase_add_loop_test(tcase, deaths_of_engines_are_told, 0, (int)(sizeof(deaths) / sizeof(deaths[0])));
    tcase_add_test(tcase, begins_a_line_behind_one_that_was_cut);
    tcase_add_test(tcase, makes_a_file_anew_that_was_removed);
    tcase_add_test(tcase, a_reader_may_come_and_go);
    tcase_add_test(tcase, a_datagram_is_an_event);
    tcase_add_test(tcase, stands_a_size_limit);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
