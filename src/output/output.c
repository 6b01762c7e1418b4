/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ports, the output thread, and what the main thread asks of them.
 *
 * The thread works in rounds. A round looks whether a stats event waits, then takes from each ring what was there when
 * it came to it, then writes that stats event: so a stats event stands behind all that was recorded before it. When a
 * round found nothing the files are flushed and the thread sleeps a little on an eventfd, which the main thread writes
 * to; workers never wake it, for that would be a system call.
 *
 * Rounds also answer when a ruleset is unused: a ticket is the number of the next round to begin, and is drained when
 * that round has ended. output_ticket() reads the number by an atomic addition of 0, the thread raises it by one: what
 * the caller saw happen before it took the ticket (its workers' records) is therefore seen by that round.
 *
 * In a replay with several workers each record has a place, and the rings are merged by it: the smallest place is
 * written when no ring that is empty now can still get a smaller one. A worker that waits for room in its ring has
 * records in it, so it never holds up the others' for good.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "output_priv.h"
#include "sluice/clock.h"
#include "sluice/decode_event.h"
#include "sluice/ring.h"

enum {
    CACHE_LINE = 64,
    IDLE_WAIT_MS = 10,
    LOSSLESS_WAIT_MS = 1,
    FLUSH_INTERVAL_NS = 100 * 1000 * 1000,
    RECORDS_PER_CLOCK = 16, /* formatted between two looks at the clock */
    CONSOLE_MAX_BYTES = 64 << 10,
    FIREWALL_RING_SIZE = 256 << 10,
    OVERLOAD_RING_SIZE = 64 << 10,
    FULL_RING_WAIT_NS = 50 * 1000,
    SETTLE_WAIT_NS = 50 * 1000,
};

struct output_port {
    alignas(CACHE_LINE) struct ring *ring;
    const struct output_options *options;
    struct replay_position place; /* of what is recorded next */
    size_t prefix;                /* bytes of a record's place; 0 when places are of no interest */
    struct record_scratch *scratch;
    uint32_t wanted; /* bits 1 << enum output_event */
    _Atomic uint64_t lost[OUTPUT_EVENT_COUNT];
    struct event_limits limits;
};

struct output {
    struct output_options options;
    char *pcap_file_name;
    struct output_port *ports;
    unsigned port_count;
    struct ring *stats_ring;
    _Atomic uint64_t stats_lost;
    struct ring *firewall_ring;
    _Atomic uint64_t firewall_lost;
    struct ring *engine_ring;
    _Atomic uint64_t engine_lost;
    struct ring *overload_ring;
    _Atomic uint64_t overload_lost;
    atomic_uint generation;

    /* the output thread's */
    struct eve eve;
    struct sink sink;
    struct text console;
    uint64_t flushed_ns;
    uint64_t formatted;                 /* records */
    output_progress_function *progress; /* NULL: ports have no order */
    void *progress_user;
    struct replay_position *progress_seen; /* by port */
    struct event_counters counters;

    pthread_t thread;
    bool started;
    int wake_fd;
    atomic_bool stop, reopen;
    atomic_int given_fd;                                         /* a file for the sink; -1: none */
    _Atomic uint64_t rounds_begun, rounds_ended, rounds_flushed; /* numbers of the last round that was */
};

/* --- Ports: the workers' side --------------------------------------------------------------------- */

struct output_port *output_port(struct output *output, unsigned worker)
{
    return worker < output->port_count ? &output->ports[worker] : NULL;
}

void output_port_place(struct output_port *port, const struct replay_position *place)
{
    port->place = *place;
}

static void *reserve(struct output_port *port, size_t size)
{
    const struct timespec pause = { .tv_nsec = FULL_RING_WAIT_NS };
    size_t whole = port->prefix + size;
    uint8_t *room = ring_reserve(port->ring, whole);

    while (!room && port->options->lossless && whole <= ring_capacity(port->ring) / 4) {
        nanosleep(&pause, NULL);
        room = ring_reserve(port->ring, whole);
    }
    if (!room)
        return NULL;
    if (port->prefix)
        memcpy(room, &port->place, sizeof(port->place));
    return room + port->prefix;
}

static void lose_packet(struct output_port *port, uint32_t kinds, const struct packet *pkt,
                        const struct decision *decision)
{
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        if (kinds & 1u << kind)
            counter_add(&port->lost[kind],
                        record_event_count((enum output_event)kind, &port->options->eve, pkt, decision));
}

static void write_packet(struct output_port *port, const struct packet *pkt, const struct decision *decision,
                         unsigned generation)
{
    const struct eve_options *eve = &port->options->eve;
    uint32_t kinds = event_limit_packet(&port->limits, port->wanted, eve, pkt, decision);

    if (kinds == 0)
        return;
    record_collect(port->scratch, eve, kinds, pkt, decision);

    size_t size = record_size(port->scratch, eve, kinds, pkt, decision);
    struct packet_record *record = reserve(port, size);

    if (!record) {
        lose_packet(port, kinds, pkt, decision);
        return;
    }
    record_write(record, port->scratch, eve, kinds, pkt, decision, generation);
    if (kinds & 1u << OUTPUT_ALERT && record->alert_count < decision->alert_count)
        counter_add(&port->lost[OUTPUT_ALERT], decision->alert_count - record->alert_count);
    ring_commit(port->ring);
    if (kinds & (1u << OUTPUT_DROP | 1u << OUTPUT_WOULD_DROP) && pkt->flow)
        pkt->flow->flags |= record_drop_flag(pkt);
}

void output_packet(struct output_port *port, const struct packet *pkt, const struct decision *decision,
                   unsigned generation)
{
    static const struct decision nothing = { 0 };

    if (!decision)
        decision = &nothing;
    if (decision->alert_count == 0 && pkt->verdict != VERDICT_DROP && !pkt->would_drop && pkt->event_count == 0 &&
        !decision->tagged && !decision->texts && !(port->wanted & 1u << OUTPUT_STREAM))
        return;
    write_packet(port, pkt, decision, generation);
}

void *output_reserve(struct output_port *port, size_t size)
{
    return reserve(port, size);
}

void output_commit(struct output_port *port)
{
    ring_commit(port->ring);
}

void output_lose(struct output_port *port, enum output_event kind)
{
    counter_add(&port->lost[kind], 1);
}

uint32_t output_wanted(const struct output_port *port)
{
    return port->wanted;
}

const struct eve_options *output_eve(const struct output_port *port)
{
    return &port->options->eve;
}

struct record_scratch *output_scratch(struct output_port *port)
{
    return port->scratch;
}

void output_flow(struct output_port *port, const struct flow *flow, enum flow_end reason, unsigned generation)
{
    uint32_t kinds = port->wanted & FLOW_RECORD_KINDS;

    if (kinds == 0 || event_limit_flow(&port->limits, &port->options->eve, kinds, flow))
        return;
    flow_record_collect(port->scratch, &port->options->eve, flow);

    struct flow_record *record = reserve(port, flow_record_size(port->scratch));

    if (record) {
        flow_record_write(record, port->scratch, kinds, flow, reason, generation);
        if (port->options->queue_fields)
            record->time_ns = clock_realtime_ns();
        ring_commit(port->ring);
        return;
    }
    for (int kind = OUTPUT_FLOW; kind <= OUTPUT_NETFLOW; kind++)
        if (kinds & 1u << kind)
            counter_add(&port->lost[kind], flow_record_event_count((enum output_event)kind, flow));
}

/* --- The output thread ---------------------------------------------------------------------------- */

static bool has_sink(const struct output *output)
{
    return sink_is_open(&output->sink);
}

static void flush(struct output *output)
{
    if (has_sink(output))
        sink_flush(&output->sink);
    if (output->console.length > 0) {
        fwrite(output->console.bytes, 1, output->console.length, output->options.console);
        fflush(output->options.console);
    }
    text_reset(&output->console);
    output->flushed_ns = output->eve.interfaces.now_ns = clock_monotonic_ns();
}

/* An event was formatted. Without a file the line on the terminal is all there is. */
static void event_done(struct output *output, enum output_event kind)
{
    if (!has_sink(output)) {
        counter_add(&output->counters.written[kind], 1);
        return;
    }
    sink_end_event(&output->sink, kind);
    if (sink_is_full(&output->sink))
        sink_flush(&output->sink);
}

static void alert_events(struct output *output, const struct packet_record *record)
{
    for (uint32_t i = 0; i < record->alert_count; i++) {
        if (has_sink(output))
            eve_alert(&output->eve, &output->sink.buffer, record, &record_alerts(record)[i]);
        event_done(output, OUTPUT_ALERT);
    }
}

static void anomaly_events(struct output *output, const struct packet_record *record)
{
    for (unsigned i = 0; i < record->event_count; i++) {
        if (has_sink(output))
            eve_anomaly(&output->eve, &output->sink.buffer, record, record->event_list[i]);
        event_done(output, OUTPUT_ANOMALY);
    }
}

/* Writes the kinds of events of which a packet has at most one, and for which the terminal has no line. */
static void other_events(struct output *output, const struct packet_record *record)
{
    static const struct {
        enum output_event kind;
        void (*format)(struct eve *eve, struct text *out, const struct packet_record *record);
    } others[] = { { OUTPUT_PACKET, eve_tagged_packet },
                   { OUTPUT_METADATA, eve_packet_metadata },
                   { OUTPUT_STREAM, eve_stream } };

    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (!(record->kinds & 1u << others[i].kind))
            continue;
        if (has_sink(output))
            others[i].format(&output->eve, &output->sink.buffer, record);
        event_done(output, others[i].kind);
    }
}

static void format_packet(struct output *output, const struct packet_record *record)
{
    if (record->kinds & 1u << OUTPUT_ALERT)
        alert_events(output, record);
    if (record->kinds & (1u << OUTPUT_DROP | 1u << OUTPUT_WOULD_DROP)) {
        if (has_sink(output))
            eve_drop(&output->eve, &output->sink.buffer, record);
        event_done(output, record->kinds & 1u << OUTPUT_DROP ? OUTPUT_DROP : OUTPUT_WOULD_DROP);
    }
    if (record->kinds & 1u << OUTPUT_ANOMALY)
        anomaly_events(output, record);
    other_events(output, record);
    if (output->options.console) {
        console_packet(&output->console, &output->options, record);
        if (output->console.length > CONSOLE_MAX_BYTES)
            flush(output);
    }
}

/* Only asked for with a file. */
static void format_flow(struct output *output, const struct flow_record *record)
{
    struct text *out = &output->sink.buffer;

    if (record->kinds & 1u << OUTPUT_FLOW) {
        eve_flow(&output->eve, out, record);
        event_done(output, OUTPUT_FLOW);
    }
    for (int direction = 0; record->kinds & 1u << OUTPUT_NETFLOW && direction < FLOW_DIRECTIONS; direction++) {
        if (direction == FLOW_TO_CLIENT && record->flow.packets[FLOW_TO_CLIENT] == 0)
            continue;
        eve_netflow(&output->eve, out, record, (enum flow_direction)direction);
        event_done(output, OUTPUT_NETFLOW);
    }
}

static void format_app(struct output *output, const struct packet_record *record)
{
    eve_app(&output->eve, &output->sink.buffer, record);
    event_done(output, record->kinds & 1u << OUTPUT_FILE ? OUTPUT_FILE : OUTPUT_APP);
}

static void format_record(struct output *output, const void *record)
{
    const uint32_t *kinds = record;

    if (*kinds & FLOW_RECORD_KINDS)
        format_flow(output, record);
    else if (*kinds & APP_RECORD_KINDS)
        format_app(output, record);
    else
        format_packet(output, record);
}

static void format_stats(struct output *output, const struct stats_record *record)
{
    if (has_sink(output))
        eve_stats(&output->eve, &output->sink.buffer, record);
    event_done(output, OUTPUT_STATS);
    if (output->options.console && output->options.console_stats)
        console_stats(&output->console, record);
}

static void format_firewall(struct output *output, const void *record)
{
    const struct output_firewall *event = record;

    output->eve.generation = atomic_load_explicit(&output->generation, memory_order_relaxed);
    if (has_sink(output))
        eve_firewall(&output->eve, &output->sink.buffer, event);
    event_done(output, OUTPUT_FIREWALL);
    if (output->options.console)
        console_firewall(&output->console, &output->options, event);
}

static void format_engine(struct output *output, const void *record)
{
    const struct output_engine *event = record;

    output->eve.generation = atomic_load_explicit(&output->generation, memory_order_relaxed);
    if (has_sink(output))
        eve_engine(&output->eve, &output->sink.buffer, event);
    event_done(output, OUTPUT_ENGINE);
    if (output->options.console)
        console_engine(&output->console, &output->options, event);
}

static void format_overload(struct output *output, const void *record)
{
    const struct output_overload *event = record;

    output->eve.generation = atomic_load_explicit(&output->generation, memory_order_relaxed);
    if (has_sink(output))
        eve_overload(&output->eve, &output->sink.buffer, event);
    event_done(output, OUTPUT_OVERLOAD);
    if (output->options.console)
        console_overload(&output->console, &output->options, event);
}

/* What is no packet's. */
static bool drain_told(struct output *output, struct ring *ring,
                       void (*format)(struct output *output, const void *record))
{
    const void *record;
    size_t size;
    bool found = false;

    while ((record = ring_peek(ring, &size))) {
        format(output, record);
        ring_release(ring);
        found = true;
    }
    return found;
}

static void look_at_clock(struct output *output)
{
    uint64_t now_ns = clock_monotonic_ns();

    output->eve.interfaces.now_ns = now_ns;
    if (now_ns - output->flushed_ns > FLUSH_INTERVAL_NS)
        flush(output);
}

static void format_oldest(struct output *output, struct output_port *port)
{
    size_t size;

    format_record(output, (const void *)((const uint8_t *)ring_peek(port->ring, &size) + port->prefix));
    ring_release(port->ring);
    if (++output->formatted % RECORDS_PER_CLOCK == 0)
        look_at_clock(output);
}

/* Takes what is in the ring now; what comes meanwhile is for the next round. */
static bool drain_port(struct output *output, struct output_port *port)
{
    uint64_t end = ring_published(port->ring);
    bool found = false;

    while (ring_released(port->ring) < end) {
        format_oldest(output, port);
        found = true;
    }
    return found;
}

/* The port with the next record in replay order; NULL: none, or an empty ring may still get an earlier record. */
static struct output_port *next_in_order(struct output *output)
{
    struct replay_position place, first, empty_until = { .sequence = UINT64_MAX };
    struct output_port *next = NULL;
    size_t size;

    for (unsigned i = 0; i < output->port_count; i++) {
        const void *record = ring_peek(output->ports[i].ring, &size);

        if (!record) {
            if (replay_position_compare(&output->progress_seen[i], &empty_until) < 0)
                empty_until = output->progress_seen[i];
            continue;
        }
        memcpy(&place, record, sizeof(place));
        if (!next || replay_position_compare(&place, &first) < 0) {
            next = &output->ports[i];
            first = place;
        }
    }
    return next && replay_position_compare(&first, &empty_until) < 0 ? next : NULL;
}

/* A ring that is found empty after its progress was asked has nothing before that any more. */
static bool drain_in_order(struct output *output)
{
    struct output_port *port;
    bool found = false;

    for (unsigned i = 0; i < output->port_count; i++)
        output->progress(output->progress_user, i, &output->progress_seen[i]);
    while ((port = next_in_order(output))) {
        format_oldest(output, port);
        found = true;
    }
    return found;
}

static bool drain(struct output *output)
{
    bool found = false;

    if (output->progress)
        return drain_in_order(output);
    for (unsigned i = 0; i < output->port_count; i++)
        found |= drain_port(output, &output->ports[i]);
    return found;
}

static bool run_round(struct output *output)
{
    uint64_t round = atomic_fetch_add_explicit(&output->rounds_begun, 1, memory_order_acq_rel) + 1;
    size_t size;
    const void *stats = ring_peek(output->stats_ring, &size);
    bool found = drain(output) || stats != NULL;

    found |= drain_told(output, output->firewall_ring, format_firewall);
    found |= drain_told(output, output->engine_ring, format_engine);
    found |= drain_told(output, output->overload_ring, format_overload);

    if (stats) {
        format_stats(output, stats);
        ring_release(output->stats_ring);
    }
    atomic_store_explicit(&output->rounds_ended, round, memory_order_release);
    return found;
}

static void take_given(struct output *output)
{
    int fd = atomic_exchange_explicit(&output->given_fd, -1, memory_order_acq_rel);

    if (fd >= 0 && has_sink(output))
        sink_take(&output->sink, fd);
    else if (fd >= 0)
        close(fd);
}

static void reopen(struct output *output)
{
    take_given(output);
    if (!has_sink(output) || !atomic_exchange_explicit(&output->reopen, false, memory_order_acq_rel))
        return;
    sink_reopen(&output->sink);
}

static void wait_for_work(struct output *output)
{
    struct pollfd wake = { .fd = output->wake_fd, .events = POLLIN };
    uint64_t count;

    if (poll(&wake, 1, output->options.lossless ? LOSSLESS_WAIT_MS : IDLE_WAIT_MS) > 0 &&
        read(output->wake_fd, &count, sizeof(count)) < 0)
        return; /* woken all the same */
}

static void *run(void *argument)
{
    struct output *output = argument;

    for (;;) {
        bool stop = atomic_load_explicit(&output->stop, memory_order_acquire);

        reopen(output);
        if (run_round(output))
            continue;
        flush(output);
        atomic_store_explicit(&output->rounds_flushed,
                              atomic_load_explicit(&output->rounds_ended, memory_order_relaxed), memory_order_release);
        if (stop)
            break;
        wait_for_work(output);
    }
    if (has_sink(output))
        sink_finish(&output->sink);
    return NULL;
}

/* --- The main thread's side ----------------------------------------------------------------------- */

void output_set_progress(struct output *output, output_progress_function *progress, void *user)
{
    output->progress = progress;
    output->progress_user = user;
    for (unsigned i = 0; i < output->port_count; i++)
        output->ports[i].prefix = sizeof(output->ports[i].place);
}

static uint32_t wanted_kinds(const struct output_options *options)
{
    uint32_t wanted = 0;

    if (!options->eve_path && !options->console)
        return 0;
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        if (options->eve.enabled[kind])
            wanted |= 1u << kind;
    if (!options->eve.anomaly.decode && !options->eve.anomaly.stream && !options->eve.anomaly.application)
        wanted &= ~(1u << OUTPUT_ANOMALY);
    if (!options->eve.alert.tagged_packets)
        wanted &= ~(1u << OUTPUT_PACKET);
    if (!options->eve_path) /* the terminal has no lines for these */
        wanted &= ~(1u << OUTPUT_FLOW | 1u << OUTPUT_NETFLOW | 1u << OUTPUT_PACKET | 1u << OUTPUT_METADATA |
                    1u << OUTPUT_STREAM | APP_RECORD_KINDS);
    return wanted;
}

/* With room for a stream's bytes when alerts are to show them. */
static struct record_scratch *new_scratch(const struct eve_options *eve)
{
    bool wants_payload = eve->alert.payload || eve->alert.payload_printable || eve->alert.payload_length;
    uint32_t size = wants_payload ? eve->alert.payload_buffer_size : 0;
    struct record_scratch *scratch = calloc(1, sizeof(*scratch) + size);

    if (scratch) {
        scratch->stream = (uint8_t *)(scratch + 1);
        scratch->stream_size = size;
    }
    return scratch;
}

static int make_ports(struct output *output, unsigned count)
{
    output->ports = aligned_alloc(CACHE_LINE, (count + 1) * sizeof(*output->ports));
    output->progress_seen = calloc(count + 1, sizeof(*output->progress_seen));
    if (!output->ports || !output->progress_seen)
        return -ENOMEM;
    for (; output->port_count < count; output->port_count++) {
        struct output_port *port = &output->ports[output->port_count];

        *port = (struct output_port){ .options = &output->options, .wanted = wanted_kinds(&output->options) };
        int err = ring_new(&port->ring, output->options.ring_size);

        if (err)
            return err;
        port->scratch = new_scratch(&output->options.eve);
        if (!port->scratch) {
            ring_free(port->ring);
            return -ENOMEM;
        }
    }
    int err = ring_new(&output->stats_ring, RING_MIN_SIZE);

    if (!err)
        err = ring_new(&output->firewall_ring, FIREWALL_RING_SIZE);
    err = err ? err : ring_new(&output->engine_ring, RING_MIN_SIZE);
    return err ? err : ring_new(&output->overload_ring, OVERLOAD_RING_SIZE);
}

static int copy_options(struct output *output, const struct output_options *options)
{
    struct output_options *own = &output->options;

    *own = *options;
    if (own->ring_size < RING_MIN_SIZE)
        own->ring_size = RING_MIN_SIZE;
    if (own->eve.alert.payload_buffer_size > RECORD_MAX_PAYLOAD)
        own->eve.alert.payload_buffer_size = RECORD_MAX_PAYLOAD;
    if (options->eve.pcap_file_name) {
        output->pcap_file_name = strdup(options->eve.pcap_file_name);
        if (!output->pcap_file_name)
            return -ENOMEM;
    }
    own->eve.pcap_file_name = output->pcap_file_name;
    return 0;
}

static int open_parts(struct output *output, const struct output_options *options, unsigned ports, char error[256])
{
    int err = copy_options(output, options);

    if (!err)
        err = make_ports(output, ports);
    if (!err) {
        output->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        err = output->wake_fd < 0 ? -errno : 0;
    }
    if (err) {
        snprintf(error, 256, "cannot set up event output: %s", strerror(-err));
        return err;
    }
    if (!options->eve_path)
        return 0;
    err = sink_open(&output->sink, options->eve_path, options->eve_type, options->eve_truncate, &output->counters);
    if (err)
        snprintf(error, 256, "cannot write events to %s: %s", options->eve_path, strerror(-err));
    return err;
}

int output_open(struct output **out, const struct output_options *options, unsigned ports, char error[256])
{
    struct output *output = calloc(1, sizeof(*output));

    if (!output) {
        snprintf(error, 256, "cannot set up event output: %s", strerror(ENOMEM));
        return -ENOMEM;
    }
    output->wake_fd = output->sink.fd = -1;
    atomic_store(&output->given_fd, -1);
    output->eve.options = &output->options;

    int err = open_parts(output, options, ports, error);

    if (err) {
        output_close(output);
        return err;
    }
    *out = output;
    return 0;
}

static void *run_thread(void *argument)
{
    pthread_setname_np(pthread_self(), "sluice-output");
    return run(argument);
}

int output_start(struct output *output)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&output->thread, NULL, run_thread, output);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        return -err;
    output->started = true;
    return 0;
}

static void wake(struct output *output)
{
    const uint64_t one = 1;

    if (write(output->wake_fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: it will wake up */
}

void output_stop(struct output *output)
{
    if (atomic_exchange_explicit(&output->stop, true, memory_order_acq_rel))
        return;
    if (!output->started) {
        run(output);
        return;
    }
    wake(output);
    pthread_join(output->thread, NULL);
    output->started = false;
}

void output_close(struct output *output)
{
    if (!output)
        return;
    if (output->started)
        output_stop(output);
    for (unsigned i = 0; i < output->port_count; i++) {
        ring_free(output->ports[i].ring);
        free(output->ports[i].scratch);
    }
    free(output->ports);
    free(output->progress_seen);
    ring_free(output->stats_ring);
    ring_free(output->firewall_ring);
    ring_free(output->engine_ring);
    ring_free(output->overload_ring);
    take_given(output);
    sink_close(&output->sink);
    text_clear(&output->console);
    text_clear(&output->eve.scratch);
    text_clear(&output->eve.stream);
    free(output->eve.previous);
    if (output->wake_fd >= 0)
        close(output->wake_fd);
    free(output->pcap_file_name);
    free(output);
}

void output_stats(struct output *output, const struct output_stat *stats, size_t count, uint64_t uptime_seconds,
                  uint64_t time_ns)
{
    if (!(wanted_kinds(&output->options) & 1u << OUTPUT_STATS))
        return;

    struct stats_record *record = ring_reserve(output->stats_ring, sizeof(*record) + count * sizeof(*stats));

    if (!record) {
        counter_add(&output->stats_lost, 1);
        return;
    }
    *record = (struct stats_record){ .time_ns = time_ns, .uptime_seconds = uptime_seconds, .count = count };
    if (count > 0)
        memcpy(record + 1, stats, count * sizeof(*stats));
    ring_commit(output->stats_ring);
    wake(output);
}

void output_firewall(struct output *output, const struct output_firewall *event)
{
    if (!(wanted_kinds(&output->options) & 1u << OUTPUT_FIREWALL))
        return;

    struct output_firewall *record = ring_reserve(output->firewall_ring, sizeof(*record));

    if (!record) {
        counter_add(&output->firewall_lost, 1);
        return;
    }
    *record = *event;
    ring_commit(output->firewall_ring);
    wake(output);
}

void output_engine(struct output *output, const struct output_engine *event)
{
    if (!(wanted_kinds(&output->options) & 1u << OUTPUT_ENGINE))
        return;

    struct output_engine *record = ring_reserve(output->engine_ring, sizeof(*record));

    if (!record) {
        counter_add(&output->engine_lost, 1);
        return;
    }
    *record = *event;
    ring_commit(output->engine_ring);
    wake(output);
}

void output_overload(struct output *output, const struct output_overload *event)
{
    if (!(wanted_kinds(&output->options) & 1u << OUTPUT_OVERLOAD))
        return;

    struct output_overload *record = ring_reserve(output->overload_ring, sizeof(*record));

    if (!record) {
        counter_add(&output->overload_lost, 1);
        return;
    }
    *record = *event;
    ring_commit(output->overload_ring);
    wake(output);
}

void output_set_generation(struct output *output, unsigned generation)
{
    atomic_store_explicit(&output->generation, generation, memory_order_relaxed);
}

void output_reopen(struct output *output)
{
    atomic_store_explicit(&output->reopen, true, memory_order_release);
    wake(output);
}

int output_trouble(const struct output *output)
{
    return atomic_load_explicit(&output->sink.trouble, memory_order_relaxed);
}

bool output_wants_file(struct output *output)
{
    return atomic_exchange_explicit(&output->sink.shut_out, false, memory_order_relaxed);
}

void output_give_file(struct output *output, int fd)
{
    int before = atomic_exchange_explicit(&output->given_fd, fd, memory_order_acq_rel);

    if (before >= 0)
        close(before);
    wake(output);
}

uint64_t output_ticket(struct output *output)
{
    return atomic_fetch_add_explicit(&output->rounds_begun, 0, memory_order_acq_rel) + 1;
}

bool output_drained(struct output *output, uint64_t ticket)
{
    return atomic_load_explicit(&output->rounds_ended, memory_order_acquire) >= ticket;
}

bool output_is_written(const struct output *output, uint64_t ticket)
{
    return !output->started || atomic_load_explicit(&output->rounds_flushed, memory_order_acquire) >= ticket;
}

void output_settle(struct output *output)
{
    const struct timespec pause = { .tv_nsec = SETTLE_WAIT_NS };
    uint64_t ticket = output_ticket(output);

    if (!output->started)
        return;
    wake(output);
    while (!output_is_written(output, ticket))
        nanosleep(&pause, NULL);
}

void output_counters(const struct output *output, struct output_counters *out)
{
    const struct event_counters *own = &output->counters;

    *out = (struct output_counters){ 0 };
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++) {
        out->written[kind] = atomic_load_explicit(&own->written[kind], memory_order_relaxed);
        out->lost[kind] = atomic_load_explicit(&own->lost[kind], memory_order_relaxed);
    }
    for (unsigned i = 0; i < output->port_count; i++) {
        for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
            out->lost[kind] += atomic_load_explicit(&output->ports[i].lost[kind], memory_order_relaxed);
        event_limits_count(&output->ports[i].limits, out);
    }
    out->lost[OUTPUT_FIREWALL] += atomic_load_explicit(&output->firewall_lost, memory_order_relaxed);
    out->lost[OUTPUT_ENGINE] += atomic_load_explicit(&output->engine_lost, memory_order_relaxed);
    out->lost[OUTPUT_OVERLOAD] += atomic_load_explicit(&output->overload_lost, memory_order_relaxed);
    out->lost[OUTPUT_STATS] += atomic_load_explicit(&output->stats_lost, memory_order_relaxed);
    out->write_errors = atomic_load_explicit(&own->write_errors, memory_order_relaxed);
}
