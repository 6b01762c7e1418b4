/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ports, the output thread, and its interface for the main thread.
 *
 * The thread works in rounds. A round first checks whether a stats event waits in its ring, then formats the records
 * that each ring contains when the round reaches it, and then writes the stats event, so that a stats event follows
 * everything that was recorded before it. After a round without records the files are flushed, and the thread sleeps
 * for a short time on an eventfd. The main thread writes to it to wake the thread; workers do not, because that would
 * be a system call.
 *
 * Rounds also show when a ruleset is no longer used. A ticket is the number of the next round; it is drained when that
 * round has ended. output_ticket() reads the number by an atomic addition of 0, and the thread increments it, so the
 * round sees everything that the caller saw before it took the ticket (the records of its workers).
 *
 * In a replay with several workers each record has a position in the replay order, and the rings are merged by it: the
 * first record is written when no ring that is empty now can still get an earlier one. A worker that waits for space in
 * its ring has records in it, so it does not delay the others forever.
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

#include "state.h"
#include "sluice/clock.h"
#include "sluice/decode_event.h"

enum {
    IDLE_WAIT_MS = 10,
    LOSSLESS_WAIT_MS = 1,
    FLUSH_INTERVAL_NS = 100 * 1000 * 1000,
    RECORDS_PER_CLOCK = 16, /* records formatted between two readings of the clock */
    FIREWALL_RING_SIZE = 256 << 10,
    OVERLOAD_RING_SIZE = 64 << 10,
    FULL_RING_WAIT_NS = 50 * 1000,
    SETTLE_WAIT_NS = 50 * 1000,
};

/* --- Ports, used by the workers ------------------------------------------------------------------- */

struct output_port *output_port(struct output *output, unsigned worker)
{
    return worker < output->port_count ? &output->ports[worker] : NULL;
}

void output_port_set_position(struct output_port *port, const struct replay_position *position)
{
    port->position = *position;
}

void *output_reserve(struct output_port *port, size_t size)
{
    const struct timespec pause = { .tv_nsec = FULL_RING_WAIT_NS };
    size_t whole = port->prefix + size;
    uint8_t *space = ring_reserve(port->ring, whole);

    while (!space && port->options->lossless && whole <= ring_capacity(port->ring) / 4) {
        nanosleep(&pause, NULL);
        space = ring_reserve(port->ring, whole);
    }
    if (!space)
        return NULL;
    if (port->prefix)
        memcpy(space, &port->position, sizeof(port->position));
    return space + port->prefix;
}

void output_packet(struct output_port *port, const struct packet *pkt, const struct decision *decision,
                   unsigned generation)
{
    static const struct decision nothing = { 0 };
    const struct eve_options *eve = &port->options->eve;
    struct packet_record *record;
    uint64_t capture_file;
    uint32_t kinds;

    if (!decision)
        decision = &nothing;
    capture_file = port->pcap ? pcap_log_packet(port->pcap, pkt, decision) : 0;
    if (decision->alert_count == 0 && pkt->verdict != VERDICT_DROP && !pkt->would_drop && pkt->event_count == 0 &&
        !decision->tagged && !decision->texts &&
        !(port->wanted & (1u << OUTPUT_STREAM | 1u << OUTPUT_IGMP | 1u << OUTPUT_ARP)))
        return;
    kinds = event_limit_packet(&port->limits, port->wanted, eve, pkt, decision);
    if (kinds == 0)
        return;
    record_collect(port->scratch, eve, kinds, pkt, decision);
    record = output_reserve(port, record_size(port->scratch, eve, kinds, pkt, decision));
    if (!record) {
        for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
            if (kinds & 1u << kind)
                counter_add(&port->lost[kind], record_event_count((enum output_event)kind, eve, pkt, decision));
        return;
    }
    record_write(record, port->scratch, eve, kinds, pkt, decision, generation);
    record->capture_file = capture_file;
    if (kinds & 1u << OUTPUT_ALERT && record->alert_count < decision->alert_count)
        counter_add(&port->lost[OUTPUT_ALERT], decision->alert_count - record->alert_count);
    ring_commit(port->ring);
    if (kinds & (1u << OUTPUT_DROP | 1u << OUTPUT_WOULD_DROP) && pkt->flow)
        pkt->flow->flags |= record_drop_flag(pkt);
}

void output_chains(struct output_port *port, const struct packet *pkt, const struct flow *flow, struct app_tx *tx)
{
    struct chain_record *record;
    struct app_chain chain;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (!(tx->store_chains >> direction & 1) || !tx->proto->get_chain ||
            !tx->proto->get_chain(tx, direction, &chain))
            continue;
        tx->store_chains &= (uint8_t) ~(1u << direction);
        if (!port->stores_chains)
            continue;
        if (event_limit_exceeds(&port->chain_limit, port->options->tls_store.rate_limit, pkt->time_ns)) {
            counter_add(&port->chains_limited, 1);
            continue;
        }
        record = output_reserve(port, chain_record_size(&chain));
        if (!record) {
            counter_add(&port->chains_lost, 1);
            continue;
        }
        chain_record_write(record, &chain, pkt, flow, !port->options->queue_fields);
        ring_commit(port->ring);
    }
}

void output_commit(struct output_port *port)
{
    ring_commit(port->ring);
}

void output_count_lost(struct output_port *port, enum output_event kind)
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

    struct flow_record *record = output_reserve(port, flow_record_size(port->scratch));

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

void output_flush(struct output *output)
{
    if (has_sink(output))
        sink_flush(&output->sink);
    destinations_flush(output_destinations(output));
    if (output->console.length > 0) {
        fwrite(output->console.bytes, 1, output->console.length, output->options.console);
        fflush(output->options.console);
    }
    text_reset(&output->console);
    output->flushed_ns = output->eve.interfaces.now_ns = clock_monotonic_ns();
}

/* Formats all events in a ring of the main thread. Returns whether there were any. */
static bool drain_events(struct output *output, struct event_ring *events,
                         void (*format)(struct output *output, const void *record))
{
    const void *record;
    size_t size;
    bool found = false;

    while ((record = ring_peek(events->ring, &size))) {
        output->eve.generation = atomic_load_explicit(&output->generation, memory_order_relaxed);
        format(output, record);
        ring_release(events->ring);
        found = true;
    }
    return found;
}

/* Formats the oldest record in the ring of a port, and releases it. */
static void format_oldest(struct output *output, struct output_port *port)
{
    size_t size;
    const void *record = (const uint8_t *)ring_peek(port->ring, &size) + port->prefix;
    const uint32_t kinds = *(const uint32_t *)record; /* `kinds` is the first member of all records */

    if (kinds & CHAIN_RECORD) {
        chain_store_write(output->chains, record);
    } else if (kinds & FLOW_RECORD_KINDS) {
        format_flow(output, record);
    } else if (kinds & APP_RECORD_KINDS) {
        format_app(output, record);
    } else {
        format_packet(output, record);
    }
    ring_release(port->ring);
    if (++output->formatted % RECORDS_PER_CLOCK == 0) {
        output->eve.interfaces.now_ns = clock_monotonic_ns();
        if (output->eve.interfaces.now_ns - output->flushed_ns > FLUSH_INTERVAL_NS)
            output_flush(output);
    }
}

/* Returns the port with the next record in replay order; NULL: there is no record, or a port whose ring is empty may
 * still record an earlier one. */
static struct output_port *next_in_order(struct output *output)
{
    struct replay_position position, first, empty_until = { .sequence = UINT64_MAX };
    struct output_port *next = NULL;
    size_t size;

    for (unsigned i = 0; i < output->port_count; i++) {
        const void *record = ring_peek(output->ports[i].ring, &size);

        if (!record) {
            if (replay_position_compare(&output->progress_seen[i], &empty_until) < 0)
                empty_until = output->progress_seen[i];
            continue;
        }
        memcpy(&position, record, sizeof(position));
        if (!next || replay_position_compare(&position, &first) < 0) {
            next = &output->ports[i];
            first = position;
        }
    }
    return next && replay_position_compare(&first, &empty_until) < 0 ? next : NULL;
}

/* Continues with the outputs and event types of a reload, if there was one. Done at the start of a round, so that the
 * round of a ticket that was taken after output_change() uses them. */
static void adopt_change(struct output *output)
{
    struct output_change *change = atomic_exchange_explicit(&output->next_change, NULL, memory_order_acq_rel);

    if (!change)
        return;
    destinations_move(change->destinations, output_destinations(output));
    output->eve.options = &change->options;
    atomic_store_explicit(&output->destinations, change->destinations, memory_order_release);
}

static bool run_round(struct output *output)
{
    uint64_t round = atomic_fetch_add_explicit(&output->rounds_begun, 1, memory_order_acq_rel) + 1;

    adopt_change(output);

    size_t size;
    const void *stats = ring_peek(output->stats.ring, &size);
    bool found = stats != NULL;
    struct output_port *next;

    /* Read the progress before the rings: if a ring is empty afterwards, its port will not record an event before that
     * position. */
    for (unsigned i = 0; output->progress && i < output->port_count; i++)
        output->progress(output->progress_user, i, &output->progress_seen[i]);
    for (; output->progress && (next = next_in_order(output)); found = true)
        format_oldest(output, next);
    for (unsigned i = 0; !output->progress && i < output->port_count; i++) {
        struct output_port *port = &output->ports[i];
        /* records that are committed later are formatted in the next round */
        uint64_t end = ring_published(port->ring);

        for (; ring_released(port->ring) < end; found = true)
            format_oldest(output, port);
    }
    found |= drain_events(output, &output->firewall, format_firewall);
    found |= drain_events(output, &output->engine, format_engine);
    found |= drain_events(output, &output->overload, format_overload);
    if (stats) {
        format_stats(output, stats);
        ring_release(output->stats.ring);
    }
    atomic_store_explicit(&output->rounds_ended, round, memory_order_release);
    return found;
}

/* Passes the descriptor from output_set_file(), if there is one, to the sink. */
static void adopt_file(struct output *output)
{
    int fd = atomic_exchange_explicit(&output->new_fd, -1, memory_order_acq_rel);

    if (fd >= 0 && has_sink(output))
        sink_set_file(&output->sink, fd);
    else if (fd >= 0)
        close(fd);
}

static void write_events(struct output *output)
{
    for (;;) {
        struct pollfd wake = { .fd = output->wake_fd, .events = POLLIN };
        bool stop = atomic_load_explicit(&output->stop, memory_order_acquire);
        uint64_t count;

        adopt_file(output);
        if (atomic_exchange_explicit(&output->reopen, false, memory_order_acq_rel)) {
            if (has_sink(output))
                sink_reopen(&output->sink);
            destinations_reopen(output_destinations(output));
        }
        if (run_round(output))
            continue;
        output_flush(output);
        atomic_store_explicit(&output->rounds_flushed,
                              atomic_load_explicit(&output->rounds_ended, memory_order_relaxed), memory_order_release);
        if (stop)
            break;
        if (poll(&wake, 1, output->options.lossless ? LOSSLESS_WAIT_MS : IDLE_WAIT_MS) > 0 &&
            read(output->wake_fd, &count, sizeof(count)) < 0)
            continue; /* a failed read only causes an additional round */
    }
    if (has_sink(output))
        sink_finish(&output->sink);
    destinations_finish(output_destinations(output));
}

/* --- Functions for the main thread ---------------------------------------------------------------- */

void output_set_progress(struct output *output, output_progress_function *progress, void *user)
{
    output->progress = progress;
    output->progress_user = user;
    for (unsigned i = 0; i < output->port_count; i++)
        output->ports[i].prefix = sizeof(output->ports[i].position);
}

static uint32_t wanted_kinds(const struct output_options *options)
{
    uint32_t wanted = options->recent_alerts ? 1u << OUTPUT_ALERT : 0;

    if (!options->eve_path && !options->console && options->destination_count == 0)
        return wanted;
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        if (options->eve.enabled[kind])
            wanted |= 1u << kind;
    if (!options->eve.anomaly.decode && !options->eve.anomaly.stream && !options->eve.anomaly.application)
        wanted &= ~(1u << OUTPUT_ANOMALY);
    if (wanted & 1u << OUTPUT_ANOMALY && options->eve.anomaly.application)
        wanted |= 1u << OUTPUT_APP; /* anomalies of parsers are records of this kind */
    if (!options->eve.alert.tagged_packets)
        wanted &= ~(1u << OUTPUT_PACKET);
    if (!options->eve_path && options->destination_count == 0) /* events that are not shown on the terminal */
        wanted &= ~(1u << OUTPUT_FLOW | 1u << OUTPUT_NETFLOW | 1u << OUTPUT_PACKET | 1u << OUTPUT_METADATA |
                    1u << OUTPUT_STREAM | 1u << OUTPUT_IGMP | 1u << OUTPUT_ARP | APP_RECORD_KINDS);
    return wanted;
}

static int make_ports(struct output *output, unsigned count)
{
    const struct eve_options *eve = &output->options.eve;
    bool has_payload = eve->alert.payload || eve->alert.payload_printable || eve->alert.payload_length;
    uint32_t stream_size = has_payload ? eve->alert.payload_buffer_size : 0;

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
        port->scratch = calloc(1, sizeof(*port->scratch) + stream_size);
        if (!port->scratch) {
            ring_free(port->ring);
            return -ENOMEM;
        }
        port->scratch->stream = (uint8_t *)(port->scratch + 1);
        port->scratch->stream_size = stream_size;
    }
    int err = ring_new(&output->stats.ring, RING_MIN_SIZE);

    if (!err)
        err = ring_new(&output->firewall.ring, FIREWALL_RING_SIZE);
    if (!err)
        err = ring_new(&output->engine.ring, RING_MIN_SIZE);
    return err ? err : ring_new(&output->overload.ring, OVERLOAD_RING_SIZE);
}

/* A filter without kinds selects all events. */
static void complete_filter(struct output_filter *filter)
{
    if (filter->kinds != 0)
        return;
    memset(filter->app, true, sizeof(filter->app));
    filter->kinds = ~0u;
    filter->severity = UINT8_MAX;
}

int output_open(struct output **out, const struct output_options *options, unsigned ports, char error[256])
{
    struct output *output = calloc(1, sizeof(*output));
    struct output_options *own = output ? &output->options : NULL;
    int err = 0;

    if (!output) {
        snprintf(error, 256, "cannot set up event output: %s", strerror(ENOMEM));
        return -ENOMEM;
    }
    output->wake_fd = output->sink.fd = -1;
    atomic_store(&output->new_fd, -1);
    output->eve.options = own;
    *own = *options;
    complete_filter(&own->eve_filter);
    if (own->ring_size < RING_MIN_SIZE)
        own->ring_size = RING_MIN_SIZE;
    if (own->eve.alert.payload_buffer_size > RECORD_MAX_PAYLOAD)
        own->eve.alert.payload_buffer_size = RECORD_MAX_PAYLOAD;
    if (options->eve.pcap_file_name) {
        output->pcap_file_name = strdup(options->eve.pcap_file_name);
        err = output->pcap_file_name ? 0 : -ENOMEM;
    }
    own->eve.pcap_file_name = output->pcap_file_name;
    struct destinations *destinations = calloc(1, sizeof(*destinations));

    if (destinations)
        destinations->ship_fd = -1;
    atomic_store(&output->destinations, destinations);
    output->wanted = wanted_kinds(own);
    if (!destinations)
        err = -ENOMEM;
    if (!err)
        err = make_ports(output, ports);
    if (!err && own->recent_alerts && !(output->recent = recent_alerts_new()))
        err = -ENOMEM;
    if (!err) {
        output->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        err = output->wake_fd < 0 ? -errno : 0;
    }
    if (err) {
        snprintf(error, 256, "cannot set up event output: %s", strerror(-err));
    } else if (options->eve_path) {
        err = sink_open(&output->sink, options->eve_path, options->eve_type, options->eve_truncate, &output->counters);
        if (err)
            snprintf(error, 256, "cannot write events to %s: %s", options->eve_path, strerror(-err));
        else
            sink_set_rotation(&output->sink, &options->eve_rotation);
    }
    if (!err)
        err = destinations_open(output_destinations(output), options, error);
    if (!err && own->pcap_log.enabled) {
        err = pcap_log_new(&output->pcap, &own->pcap_log, ports, own->lossless);
        if (err)
            snprintf(error, 256, "cannot log packets to folder %.100s (pcap-log): %s", own->pcap_log.dir,
                     err == -EOPNOTSUPP ? "built without liblz4; set pcap-log.compression: zstd" : strerror(-err));
        output->eve.pcap = output->pcap;
    }
    if (!err && own->tls_store.enabled) {
        err = chain_store_new(&output->chains, &own->tls_store);
        if (err)
            snprintf(error, 256, "cannot store certificates in folder %.100s (tls-store): %s", own->tls_store.dir,
                     strerror(-err));
    }
    for (unsigned i = 0; !err && i < output->port_count; i++) {
        output->ports[i].pcap = output->pcap ? pcap_log_port(output->pcap, i) : NULL;
        output->ports[i].stores_chains = output->chains != NULL;
    }
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
    write_events(argument);
    return NULL;
}

int output_start(struct output *output)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = output->pcap ? -pcap_log_start(output->pcap) : 0;

    if (!err)
        err = pthread_create(&output->thread, NULL, run_thread, output);

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
        return; /* EAGAIN: the eventfd is readable already, so the thread wakes up */
}

void output_stop(struct output *output)
{
    if (atomic_exchange_explicit(&output->stop, true, memory_order_acq_rel))
        return;
    if (output->pcap)
        pcap_log_stop(output->pcap);
    if (!output->started) {
        write_events(output);
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
    ring_free(output->stats.ring);
    ring_free(output->firewall.ring);
    ring_free(output->engine.ring);
    ring_free(output->overload.ring);
    adopt_file(output);
    sink_close(&output->sink);
    adopt_change(output);
    output_change_end(output);
    free(output->change);
    if (output_destinations(output))
        destinations_close(output_destinations(output), NULL);
    free(output_destinations(output));
    pcap_log_free(output->pcap);
    chain_store_free(output->chains);
    text_clear(&output->line);
    text_clear(&output->console);
    text_clear(&output->eve.scratch);
    text_clear(&output->eve.stream);
    free(output->eve.previous);
    recent_alerts_free(output->recent);
    if (output->wake_fd >= 0)
        close(output->wake_fd);
    free(output->pcap_file_name);
    for (uint32_t i = 0; i < output->eve.interfaces.file_name_count; i++)
        free(output->eve.interfaces.file_names[i]);
    free(output);
}

/* Reserves space for an event in a ring of the main thread. Returns NULL if the kind of event is not enabled. Also
 * returns NULL, and counts the event as lost, if the ring is full. */
static void *reserve_event(struct output *output, struct event_ring *events, enum output_event kind, size_t size)
{
    void *record;

    if (!(output->wanted & 1u << kind))
        return NULL;
    record = ring_reserve(events->ring, size);
    if (!record)
        counter_add(&events->lost, 1);
    return record;
}

static void commit_event(struct output *output, struct event_ring *events)
{
    ring_commit(events->ring);
    wake(output);
}

void output_stats(struct output *output, const struct output_stat *stats, size_t count, uint64_t uptime_seconds,
                  uint64_t time_ns)
{
    struct stats_record *record =
        reserve_event(output, &output->stats, OUTPUT_STATS, sizeof(*record) + count * sizeof(*stats));

    if (!record)
        return;
    *record = (struct stats_record){ .time_ns = time_ns, .uptime_seconds = uptime_seconds, .count = count };
    if (count > 0)
        memcpy(record + 1, stats, count * sizeof(*stats));
    commit_event(output, &output->stats);
}

void output_firewall(struct output *output, const struct output_firewall *event)
{
    struct output_firewall *record = reserve_event(output, &output->firewall, OUTPUT_FIREWALL, sizeof(*record));

    if (!record)
        return;
    *record = *event;
    commit_event(output, &output->firewall);
}

void output_engine(struct output *output, const struct output_engine *event)
{
    struct output_engine *record = reserve_event(output, &output->engine, OUTPUT_ENGINE, sizeof(*record));

    if (!record)
        return;
    *record = *event;
    commit_event(output, &output->engine);
}

void output_overload(struct output *output, const struct output_overload *event)
{
    struct output_overload *record = reserve_event(output, &output->overload, OUTPUT_OVERLOAD, sizeof(*record));

    if (!record)
        return;
    *record = *event;
    commit_event(output, &output->overload);
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

size_t output_recent_alerts(struct output *output, uint64_t after, struct output_recent_alert *out, size_t max)
{
    return output->recent ? recent_alerts_copy(output->recent, after, out, max) : 0;
}

int output_error(const struct output *output)
{
    return atomic_load_explicit(&output->sink.error, memory_order_relaxed);
}

bool output_needs_file(struct output *output)
{
    return atomic_exchange_explicit(&output->sink.needs_file, false, memory_order_relaxed);
}

void output_set_file(struct output *output, int fd)
{
    int before = atomic_exchange_explicit(&output->new_fd, fd, memory_order_acq_rel);

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

uint32_t output_add_file_interface(struct output *output, const char *name)
{
    struct interface_cache *interfaces = &output->eve.interfaces;
    uint32_t index = 0;

    /* The output thread reads a name after an event with its number, which the ring orders behind this store. */
    while (index < interfaces->file_name_count && strcmp(interfaces->file_names[index], name) != 0)
        index++;
    if (index == interfaces->file_name_count) {
        if (index == MAX_FILE_INTERFACES || !(interfaces->file_names[index] = strdup(name)))
            return 0;
        interfaces->file_name_count++;
    }
    return PACKET_FILE_INTERFACE | (index + 1);
}

int output_set_pcap_file(struct output *output, const char *path)
{
    char *copy = strdup(path);

    if (!copy)
        return -ENOMEM;
    output_settle(output);
    free(output->pcap_file_name);
    output->pcap_file_name = copy;
    output->options.eve.pcap_file_name = copy;
    return 0;
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
    out->lost[OUTPUT_FIREWALL] += atomic_load_explicit(&output->firewall.lost, memory_order_relaxed);
    out->lost[OUTPUT_ENGINE] += atomic_load_explicit(&output->engine.lost, memory_order_relaxed);
    out->lost[OUTPUT_OVERLOAD] += atomic_load_explicit(&output->overload.lost, memory_order_relaxed);
    out->lost[OUTPUT_STATS] += atomic_load_explicit(&output->stats.lost, memory_order_relaxed);
    out->write_errors = atomic_load_explicit(&own->write_errors, memory_order_relaxed);
}

bool output_destination_counters(const struct output *output, size_t index, struct output_destination_counters *out)
{
    return destinations_counters(output_destinations(output), index, out);
}

bool output_pcap_counters(const struct output *output, struct output_pcap_counters *out)
{
    if (output->pcap)
        pcap_log_counters(output->pcap, out);
    return output->pcap != NULL;
}

uint64_t output_pcap_newest(const struct output *output)
{
    return output->pcap ? pcap_log_newest(output->pcap) : 0;
}

void output_pcap_begin_after(struct output *output, uint64_t number)
{
    if (output->pcap)
        pcap_log_begin_after(output->pcap, number);
}

bool output_chain_counters(const struct output *output, struct output_chain_counters *out)
{
    if (!output->chains)
        return false;
    chain_store_counters(output->chains, out);
    for (unsigned i = 0; i < output->port_count; i++) {
        out->lost += atomic_load_explicit(&output->ports[i].chains_lost, memory_order_relaxed);
        out->limited += atomic_load_explicit(&output->ports[i].chains_limited, memory_order_relaxed);
    }
    return true;
}

/* --- Reload --------------------------------------------------------------------------------------- */

int output_change_new(struct output_change **out, const struct output *output, const struct output_options *options,
                      output_report *report, void *user)
{
    struct output_change *change = calloc(1, sizeof(*change));
    int err = -ENOMEM;

    if (change && (change->destinations = calloc(1, sizeof(*change->destinations))))
        err = destinations_prepare(change->destinations, output_destinations(output), options, report, user);
    if (err) {
        if (change)
            free(change->destinations);
        free(change);
        return err;
    }
    change->options = output->options;
    change->options.destinations = NULL;
    change->options.destination_count = change->destinations->count;
    change->options.eve_filter = options->eve_filter;
    complete_filter(&change->options.eve_filter);
    memcpy(change->options.eve.enabled, options->eve.enabled, sizeof(options->eve.enabled));
    memcpy(change->options.eve.app, options->eve.app, sizeof(options->eve.app));
    *out = change;
    return 0;
}

void output_change_free(struct output_change *change, const struct output *output)
{
    if (!change)
        return;
    destinations_close(change->destinations, output_destinations(output));
    free(change->destinations);
    free(change);
}

void output_port_change(struct output_port *port, const struct output_change *change)
{
    port->options = &change->options;
    port->wanted = wanted_kinds(&change->options);
}

void output_change(struct output *output, struct output_change *change)
{
    output->wanted = wanted_kinds(&change->options);
    output->previous_change = output->change;
    output->previous_destinations = output_destinations(output);
    output->change = change;
    atomic_store_explicit(&output->next_change, change, memory_order_release);
    wake(output);
}

void output_change_end(struct output *output)
{
    if (!output->previous_destinations)
        return;
    destinations_close(output->previous_destinations, output_destinations(output));
    free(output->previous_destinations);
    free(output->previous_change);
    output->previous_destinations = NULL;
    output->previous_change = NULL;
}
