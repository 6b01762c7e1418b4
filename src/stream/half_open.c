/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of half-open connections that have no session: 16 bytes each, a small fraction of a session, in a table of
 * fixed size.
 *
 * A SYN flood exhausts sessions and flows, and the oldest half-open ones are evicted. The record of an evicted session
 * allows the next segment of its handshake to restore the session, with its sequence numbers and options, so that a
 * client that completes the handshake is not disturbed and is inspected from its first byte on. A record is also made
 * for a SYN that reuses the ports of a session: when the SYN/ACK acknowledges that SYN, the new connection replaces the
 * old one.
 *
 * A record is found by a keyed hash of addresses, ports and the client's initial sequence number. A segment of another
 * connection matches a record by chance with a probability of 8 in 2^32. The ACK of the handshake must also acknowledge
 * the server's initial sequence number.
 *
 * A record is in one of two buckets. If both are full, a new record replaces the oldest one in them.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sluice/transfer.h"
#include "stream_priv.h"

enum {
    BUCKET_RECORDS = 4, /* records in a bucket: one cache line */
    PLACES = 2 * BUCKET_RECORDS,
    AGE_SHIFT = 27, /* unit of half_open_record.time: 2^27 ns, 134 ms */
    SCALE_BITS = 4,
    SCALE_MASK = (1 << SCALE_BITS) - 1,
};

/* RECORD_SCALE: the SYN has the window scale option. RECORD_TIMESTAMP, RECORD_SACK: the SYN has this option; if
 * RECORD_SYN_ACK is set, the SYN/ACK has it, too. */
enum record_flag {
    RECORD_USED = 1 << 0,
    RECORD_SYN_ACK = 1 << 1, /* the SYN/ACK was seen */
    RECORD_TIMESTAMP = 1 << 2,
    RECORD_SACK = 1 << 3,
    RECORD_SCALE = 1 << 4,
    RECORD_MIDSTREAM = 1 << 5, /* the SYN was not seen */
};

struct half_open_record {
    uint32_t tag, server_isn;              /* tag: upper half of the key's hash */
    uint16_t client_window, server_window; /* window fields of the SYN and of the SYN/ACK, not scaled */
    uint16_t time;                         /* time of the record, in units of AGE_SHIFT */
    uint8_t scales; /* window scale of the SYN in the low SCALE_BITS bits, of the SYN/ACK in the high ones */
    uint8_t flags;  /* enum record_flag; 0: empty */
};

static_assert(sizeof(struct half_open_record) == 16, "four records fill a cache line");

struct half_open_bucket {
    struct half_open_record records[BUCKET_RECORDS];
};

int half_open_init(struct half_open_table *table, size_t memcap, uint64_t seed)
{
    size_t count = 1;

    while (2 * count * sizeof(struct half_open_bucket) <= memcap)
        count *= 2;
    if (pool_new(&table->pool, count * sizeof(struct half_open_bucket), 0))
        return -ENOMEM;
    table->buckets = pool_alloc(table->pool);
    table->mask = (uint32_t)(count - 1);
    table->seed = seed;
    return 0;
}

void half_open_clear(struct half_open_table *table)
{
    pool_free(table->pool);
}

/* --- Lookup --------------------------------------------------------------------------------------- */

/* The ends of a connection and the client's initial sequence number. */
struct half_open_key {
    struct address client, server;
    uint16_t client_port, server_port;
    uint32_t flow_hash; /* includes VLAN tags and tunnel level, if flows differ by them */
    uint32_t client_isn;
};

/* Stores in `places` all slots that may contain the record, and returns the tag of the record. The slots are from two
 * buckets: if many records collide in one of them by chance, a young record can be stored in the other. */
static uint32_t find_slots(const struct half_open_table *table, const struct half_open_key *key,
                           struct half_open_record *places[PLACES])
{
    uint64_t hash = XXH3_64bits_withSeed(key, sizeof(*key), table->seed);
    uint32_t tag = (uint32_t)(hash >> 32);
    struct half_open_bucket *first = &table->buckets[(uint32_t)hash & table->mask];
    struct half_open_bucket *second = &table->buckets[((uint32_t)hash ^ tag * 0x9E3779B1u) & table->mask];

    for (unsigned i = 0; i < BUCKET_RECORDS; i++) {
        places[i] = &first->records[i];
        places[BUCKET_RECORDS + i] = &second->records[i];
    }
    return tag;
}

static struct half_open_key key_of_session(const struct tcp_session *session)
{
    const struct flow *flow = session->flow;
    struct half_open_key key;

    memset(&key, 0, sizeof(key)); /* the hash includes padding */
    key.client = flow->client;
    key.server = flow->server;
    key.client_port = flow->client_port;
    key.server_port = flow->server_port;
    key.flow_hash = flow->hash;
    key.client_isn = session->peer[FLOW_TO_SERVER].isn;
    return key;
}

/* Builds the key for a packet that the client sends (from_client) or receives. */
static struct half_open_key key_of_packet(const struct flow *flow, const struct packet *pkt, bool from_client,
                                          uint32_t client_isn)
{
    struct half_open_key key;

    memset(&key, 0, sizeof(key));
    key.client = from_client ? pkt->source_address : pkt->destination_address;
    key.server = from_client ? pkt->destination_address : pkt->source_address;
    key.client_port = from_client ? pkt->source_port : pkt->destination_port;
    key.server_port = from_client ? pkt->destination_port : pkt->source_port;
    key.flow_hash = flow->hash;
    key.client_isn = client_isn;
    return key;
}

static struct half_open_record *find_record(const struct half_open_table *table, const struct half_open_key *key)
{
    struct half_open_record *places[PLACES];
    uint32_t tag = find_slots(table, key, places);

    for (unsigned i = 0; i < PLACES; i++) {
        if (places[i]->flags & RECORD_USED && places[i]->tag == tag)
            return places[i];
    }
    return NULL;
}

/* Stores the record: it replaces the record of the same SYN, else uses an empty slot, else replaces the oldest one. */
static void store_record(struct half_open_table *table, const struct half_open_key *key, struct half_open_record record)
{
    struct half_open_record *place = find_record(table, key), *places[PLACES];

    record.tag = find_slots(table, key, places);
    for (unsigned i = 0; !place && i < PLACES; i++) {
        if (!(places[i]->flags & RECORD_USED))
            place = places[i];
    }
    if (!place) {
        place = places[0];
        for (unsigned i = 1; i < PLACES; i++) {
            if ((uint16_t)(record.time - places[i]->time) > (uint16_t)(record.time - place->time))
                place = places[i];
        }
    }
    table->used += !(place->flags & RECORD_USED);
    *place = record;
}

static uint16_t record_time(uint64_t time_ns)
{
    return (uint16_t)(time_ns >> AGE_SHIFT);
}

/* --- Records -------------------------------------------------------------------------------------- */

void half_open_record_session(struct stream *stream, const struct tcp_session *session)
{
    const struct tcp_peer *client = &session->peer[FLOW_TO_SERVER], *server = &session->peer[FLOW_TO_CLIENT];
    const uint16_t unusual = SESSION_FOUR_WAY | SESSION_ASYNC;
    bool answered = session->state == TCP_STATE_SYN_RECV;

    /* If the SYN had data, no record is stored: the data was inspected at the start of a stream that is lost now, so
     * the client must send it again in a new connection. */
    if ((session->state != TCP_STATE_SYN_SENT && !answered) || (session->flags & unusual) ||
        client->next_seq != client->isn + 1)
        return;
    struct half_open_key key = key_of_session(session);
    struct half_open_record record = {
        .server_isn = answered ? server->isn : 0,
        .client_window = (uint16_t)server->window,
        .server_window = answered ? (uint16_t)client->window : 0,
        .time = record_time(stream->now_ns),
        .scales = (uint8_t)(server->window_scale | client->window_scale << SCALE_BITS),
        .flags = RECORD_USED,
    };

    if (answered)
        record.flags |= RECORD_SYN_ACK;
    if (answered ? session->flags & SESSION_TIMESTAMP : client->flags & PEER_TIMESTAMP)
        record.flags |= RECORD_TIMESTAMP;
    if (session->flags & (answered ? SESSION_SACK : SESSION_SYN_SACK))
        record.flags |= RECORD_SACK;
    if (session->flags & SESSION_WINDOW_SCALE)
        record.flags |= RECORD_SCALE;
    if (session->flags & SESSION_MIDSTREAM)
        record.flags |= RECORD_MIDSTREAM;
    store_record(&stream->half_open_records, &key, record);
}

void half_open_record_syn(struct segment *seg)
{
    const struct tcp_info *tcp = &seg->pkt->tcp;
    struct half_open_key key = key_of_packet(seg->flow, seg->pkt, true, seg->seq);
    struct half_open_record record = {
        .client_window = tcp->window,
        .time = record_time(seg->stream->now_ns),
        .scales = segment_scale(seg),
        .flags = RECORD_USED,
    };

    if (tcp->has_timestamp)
        record.flags |= RECORD_TIMESTAMP;
    if (tcp->has_sack_permitted)
        record.flags |= RECORD_SACK;
    if (tcp->has_window_scale)
        record.flags |= RECORD_SCALE;
    store_record(&seg->stream->half_open_records, &key, record);
}

bool half_open_is_answered(const struct stream *stream, const struct flow *flow, const struct packet *pkt)
{
    struct half_open_key key = key_of_packet(flow, pkt, false, pkt->tcp.acknowledgment - 1);

    return find_record(&stream->half_open_records, &key);
}

bool half_open_is_reset(const struct segment *seg)
{
    /* The reset of a server acknowledges the SYN that it refuses; the reset of a client that refuses a SYN/ACK has the
     * sequence number of its SYN plus 1. */
    struct half_open_key to_client = key_of_packet(seg->flow, seg->pkt, false, seg->ack - 1);
    struct half_open_key to_server = key_of_packet(seg->flow, seg->pkt, true, seg->seq - 1);

    return seg->length == 0 && ((seg->has_ack && find_record(&seg->stream->half_open_records, &to_client)) ||
                                find_record(&seg->stream->half_open_records, &to_server));
}

static void set_flag(struct tcp_session *session, enum session_flag flag, bool on)
{
    if (on)
        session->flags |= flag;
}

/* Creates the session in SYN_SENT from a record. Returns 0 or -ENOMEM. */
static int begin_session(struct segment *seg, const struct half_open_record *record, uint32_t client_isn)
{
    int err = session_new(seg);

    if (err)
        return err;
    struct tcp_session *session = seg->session;
    struct tcp_peer *client = &session->peer[FLOW_TO_SERVER], *server = &session->peer[FLOW_TO_CLIENT];

    session_set_state(seg, TCP_STATE_SYN_SENT);
    peer_start_sequence(seg, client, client_isn);
    client->last_ack = client->next_seq;
    client->tcp_flags |= TCP_SYN;
    set_flag(session, SESSION_WINDOW_SCALE, record->flags & RECORD_SCALE);
    set_flag(session, SESSION_SYN_SACK, record->flags & RECORD_SACK);
    server->window_scale = record->scales & SCALE_MASK;
    peer_set_window(server, record->client_window);
    if (record->flags & RECORD_TIMESTAMP) {
        client->flags |= PEER_TIMESTAMP;
        client->last_seconds = segment_seconds(seg);
    }
    stream_count(seg->stream, STREAM_SSN_RESTORED);
    return 0;
}

/* Removes the record of a SYN whose session was restored, so that a second SYN/ACK cannot start the stream again. */
static void remove_record(struct stream *stream, struct half_open_record *record)
{
    record->flags = 0;
    stream->half_open_records.used--;
}

int half_open_restore_by_syn_ack(struct segment *seg)
{
    struct half_open_key key = key_of_packet(seg->flow, seg->pkt, false, seg->ack - 1);
    struct half_open_record *record = find_record(&seg->stream->half_open_records, &key), copy;
    int err;

    if (!record)
        return -ENOENT;
    copy = *record;
    remove_record(seg->stream, record);
    segment_swap_sides(seg, FLOW_TO_CLIENT);
    err = begin_session(seg, &copy, seg->ack - 1);
    if (err)
        return err;
    /* The record does not contain the timestamp of the SYN, so the echo in the SYN/ACK is used. The client checks it.
     */
    if (copy.flags & RECORD_TIMESTAMP && seg->pkt->tcp.has_timestamp)
        seg->receiver->last_timestamp = seg->pkt->tcp.timestamp_echo;
    return 0;
}

int half_open_restore_by_ack(struct segment *seg)
{
    struct half_open_key key = key_of_packet(seg->flow, seg->pkt, true, seg->seq - 1);
    struct half_open_record *record = find_record(&seg->stream->half_open_records, &key), copy;
    const struct tcp_info *tcp = &seg->pkt->tcp;
    int err;

    if (!record || !seg->has_ack || !(record->flags & RECORD_SYN_ACK) || record->server_isn != seg->ack - 1)
        return -ENOENT;
    copy = *record;
    remove_record(seg->stream,
                  record); /* the ACK proved the client's address, so the session is not evicted as half-open again */
    segment_swap_sides(seg, FLOW_TO_SERVER);
    err = begin_session(seg, &copy, seg->seq - 1);
    if (err)
        return err;
    struct tcp_session *session = seg->session;
    struct tcp_peer *client = &session->peer[FLOW_TO_SERVER], *server = &session->peer[FLOW_TO_CLIENT];

    session_set_state(seg, TCP_STATE_SYN_RECV);
    peer_start_sequence(seg, server, copy.server_isn);
    server->last_ack = server->next_seq;
    server->next_win = server->last_ack + server->window;
    server->tcp_flags |= TCP_SYN | TCP_ACK;
    client->window_scale = copy.scales >> SCALE_BITS;
    peer_set_window(client, copy.server_window);
    client->next_win = client->last_ack + client->window;
    set_flag(session, SESSION_MIDSTREAM, copy.flags & RECORD_MIDSTREAM);
    set_flag(session, SESSION_MIDSTREAM_SYNACK, copy.flags & RECORD_MIDSTREAM);
    set_flag(session, SESSION_SACK, copy.flags & RECORD_SACK);
    if (copy.flags & RECORD_TIMESTAMP && tcp->has_timestamp) {
        session->flags |= SESSION_TIMESTAMP;
        client->last_timestamp = tcp->timestamp_value;
        server->last_timestamp = tcp->timestamp_echo;
        server->last_seconds = segment_seconds(seg);
    }
    return 0;
}

size_t half_open_memory(const struct half_open_table *table)
{
    return table->used * sizeof(struct half_open_record);
}

/* --- Transfer to another process ------------------------------------------------------------------ */

static void transfer_bucket(struct transfer *t, struct half_open_bucket *bucket)
{
    for (unsigned i = 0; i < BUCKET_RECORDS; i++) {
        struct half_open_record *record = &bucket->records[i];

        transfer_u32(t, &record->tag);
        transfer_u32(t, &record->server_isn);
        transfer_u16(t, &record->client_window);
        transfer_u16(t, &record->server_window);
        transfer_u16(t, &record->time);
        transfer_u8(t, &record->scales);
        transfer_u8(t, &record->flags);
        transfer_require(t, (record->scales & SCALE_MASK) <= WINDOW_SCALE_MAX &&
                                record->scales >> SCALE_BITS <= WINDOW_SCALE_MAX);
    }
}

/* Adds the records of a bucket that was read from another process to the empty slots of `bucket`. Records that `bucket`
 * already contains, possibly of another worker, are kept. */
static void merge_bucket(struct half_open_table *table, struct half_open_bucket *bucket,
                         const struct half_open_bucket *read)
{
    unsigned from = 0;

    for (unsigned i = 0; i < BUCKET_RECORDS; i++) {
        if (bucket->records[i].flags & RECORD_USED)
            continue;
        while (from < BUCKET_RECORDS && !(read->records[from].flags & RECORD_USED))
            from++;
        if (from == BUCKET_RECORDS)
            return;
        bucket->records[i] = read->records[from++];
        table->used++;
    }
}

void half_open_transfer(struct transfer *t, struct half_open_table *table, bool same_flows)
{
    uint32_t mask = table->mask, at = 0;
    uint64_t seed = table->seed;

    transfer_u32(t, &mask);
    transfer_u64(t, &seed);
    for (uint32_t bucket = 0; !t->reading && table->used > 0 && bucket <= table->mask; bucket++) {
        unsigned used = 0;

        for (unsigned i = 0; i < BUCKET_RECORDS; i++)
            used |= table->buckets[bucket].records[i].flags & RECORD_USED;
        if (!used)
            continue;
        transfer_u32(t, &bucket);
        transfer_bucket(t, &table->buckets[bucket]);
    }
    if (!t->reading)
        return;
    if (!t->error && table->used == 0)
        table->seed = seed;
    if (!same_flows || mask != table->mask || seed != table->seed)
        return;
    while (!t->error && t->at < t->limit) {
        struct half_open_bucket read = { 0 };

        transfer_u32(t, &at);
        transfer_bucket(t, &read);
        transfer_require(t, at <= table->mask);
        if (!t->error)
            merge_bucket(table, &table->buckets[at], &read);
    }
}
