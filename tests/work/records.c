/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floods of binary protocols: TLS, DNS, SMB 2, DCE/RPC, NFS, Kerberos, IKE, QUIC, SNMP, RFB. */
#include "quic_builder.h"
#include "work.h"

/* --- TLS ------------------------------------------------------------------------------------------ */

static void tls_record(struct wire *wire, uint8_t type, const void *bytes, size_t length)
{
    wire_number(wire, 1, type);
    wire_number(wire, 2, 0x0303);
    wire_number(wire, 2, length);
    wire_put(wire, bytes, length);
}

/* Writes a handshake message, in records of at most `record` bytes. */
static void tls_message(struct wire *wire, uint8_t type, const struct wire *body, size_t record)
{
    struct wire whole = { 0 };

    wire_number(&whole, 1, type);
    wire_number(&whole, 3, body->length);
    wire_put(&whole, body->bytes, body->length);
    for (size_t at = 0; at < whole.length; at += record)
        tls_record(wire, 22, whole.bytes + at, whole.length - at < record ? whole.length - at : record);
    wire_free(&whole);
}

static void tls_hello(struct wire *hello, size_t extensions)
{
    wire_number(hello, 2, 0x0303);
    wire_fill(hello, 1, 32);
    wire_number(hello, 1, 0);
    wire_number(hello, 2, 2);
    wire_number(hello, 2, 0x1301);
    wire_number(hello, 2, 0x0100);
    wire_number(hello, 2, extensions * 4);
    for (size_t i = 0; i < extensions; i++)
        wire_number(hello, 4, (i & 0x7fff) << 16);
}

static void tls_small_records(struct work *work, uint32_t units)
{
    struct wire hello = { 0 }, wire = { 0 };

    tls_record(&wire, 22, "\0\0\0\0", 4);
    for (uint32_t i = 0; i < units; i++) {
        tls_hello(&hello, 1000);
        tls_message(&wire, 1, &hello, 1);
        hello.length = 0;
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&hello);
    wire_free(&wire);
}

static void tls_hellos(struct work *work, uint32_t units)
{
    struct wire hello = { 0 }, wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        tls_hello(&hello, 16000);
        tls_message(&wire, 1, &hello, 16384);
        hello.length = 0;
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&hello);
    wire_free(&wire);
}

static void tls_large_message(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, block = { 0 };

    tls_record(&wire, 22, "\1\xff\xff\xff", 4);
    wire_fill(&block, 0, 16384);
    for (uint32_t i = 0; i < units; i++)
        tls_record(&wire, 22, block.bytes, block.length);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&block);
    wire_free(&wire);
}

static void tls_empty_messages(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        tls_record(&wire, 22, "\0\0\0\0\0\0\0\0", 8);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void tls_certificates(struct work *work, uint32_t units)
{
    struct wire chain = { 0 }, wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&chain, 3, 5000 * 10);
        for (unsigned k = 0; k < 5000; k++) {
            wire_number(&chain, 3, 7);
            wire_put(&chain, "\x30\x05\x30\x03\x30\x01\x30", 7);
        }
        tls_message(&wire, 11, &chain, 16384);
        chain.length = 0;
    }
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&chain);
    wire_free(&wire);
}

static void tls_empty_record(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        tls_record(&wire, 22, "", 0);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- DNS ------------------------------------------------------------------------------------------ */

static void dns_header(struct wire *wire, uint16_t flags, unsigned queries, unsigned answers)
{
    wire_number(wire, 2, 7);
    wire_number(wire, 2, flags);
    wire_number(wire, 2, queries);
    wire_number(wire, 2, answers);
    wire_number(wire, 4, 0);
}

static void dns_query(struct work *work)
{
    struct wire wire = { 0 };

    dns_header(&wire, 0x0100, 1, 0);
    wire_put(&wire, "\1a\0\0\1\0\1", 7);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void dns_loops(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    dns_query(work);
    for (uint32_t i = 0; i < units; i++) {
        dns_header(&wire, 0x8180, 1, 2);
        wire_put(&wire, "\1a\xc0\x0c\0\1\0\1", 8); /* a name that points at itself */
        wire_put(&wire, "\xc0\x16\xc0\x14", 4);    /* two pointers at each other */
        wire_put(&wire, "\0\1\0\1\0\0\0\0\0\0", 10);
        work_send(work, FLOW_TO_CLIENT, &wire);
    }
    wire_free(&wire);
}

/* Names of maximum length that consist of pointers into a long name. */
static void dns_long_names(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    dns_query(work);
    for (uint32_t i = 0; i < units; i++) {
        dns_header(&wire, 0x8180, 1, 5000);
        for (unsigned k = 0; k < 120; k++)
            wire_put(&wire, "\1a", 2);
        wire_put(&wire, "\0\0\1\0\1", 5);
        for (unsigned k = 0; k < 5000; k++) {
            wire_number(&wire, 2, 0xc00c + k % 2 * 2);
            wire_put(&wire, "\0\5\0\1\0\0\0\0\0\0", 10);
        }
        work_send(work, FLOW_TO_CLIENT, &wire);
    }
    wire_free(&wire);
}

static void dns_many_records(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    dns_query(work);
    for (uint32_t i = 0; i < units; i++) {
        dns_header(&wire, 0x8180, 12000, 0);
        for (unsigned k = 0; k < 12000; k++)
            wire_put(&wire, "\0\0\1\0\1", 5);
        work_send(work, FLOW_TO_CLIENT, &wire);
    }
    wire_free(&wire);
}

/* Headers announce 30,000 answers, but none of them is valid. */
static void dns_claims(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    dns_query(work);
    for (uint32_t i = 0; i < units; i++) {
        dns_header(&wire, 0x8180, 1, 30000);
        wire_put(&wire, "\1a\0\0\1\0\1", 7);
        wire_fill(&wire, 0xff, 60100);
        work_send(work, FLOW_TO_CLIENT, &wire);
    }
    wire_free(&wire);
}

static void dns_stream(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 2, 19);
        dns_header(&wire, 0x0100, 1, 0);
        wire_put(&wire, "\1a\0\0\1\0\1", 7);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- SMB ------------------------------------------------------------------------------------------ */

enum { TREE_CONNECT = 3, CREATE = 5, READ = 8, ECHO = 13 };

/* Writes a message with this body. `next`: another message follows in the same record (NextCommand). */
static void smb2_message(struct wire *wire, uint16_t command, bool is_response, uint64_t id, const void *body,
                         size_t length, bool next)
{
    wire_put(wire, "\xfeSMB", 4);
    wire_little(wire, 2, 64);
    wire_little(wire, 6, 0);
    wire_little(wire, 2, command);
    wire_little(wire, 2, 1);
    wire_little(wire, 4, is_response);
    wire_little(wire, 4, next ? 64 + length : 0);
    wire_little(wire, 8, id);
    wire_little(wire, 4, 0);
    wire_little(wire, 4, 1);
    wire_little(wire, 8, 1);
    wire_fill(wire, 0, 16);
    wire_put(wire, body, length);
}

static void smb_creates(struct work *work, uint32_t units)
{
    uint8_t body[64] = { [0] = 57, [46] = 8, [56] = 'a' };
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 64 + sizeof(body));
        smb2_message(&wire, CREATE, false, i, body, sizeof(body), false);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* Responses to new requests, while the maximum number of requests is open. Each response is searched among all. */
static void smb_among_many(struct work *work, uint32_t units)
{
    uint8_t body[64] = { [0] = 57, [46] = 8, [56] = 'a' };
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < 1000; i++) {
        wire_number(&wire, 4, 64 + sizeof(body));
        smb2_message(&wire, CREATE, false, i, body, sizeof(body), false);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 10 * 64);
        for (unsigned k = 0; k < 10; k++)
            smb2_message(&wire, ECHO, false, 1000 + i * 10 + k, "", 0, k < 9);
        work_send(work, FLOW_TO_SERVER, &wire);
        wire_number(&wire, 4, 10 * 64);
        for (unsigned k = 0; k < 10; k++)
            smb2_message(&wire, ECHO, true, 1000 + i * 10 + k, "", 0, k < 9);
        work_send(work, FLOW_TO_CLIENT, &wire);
    }
    wire_free(&wire);
}

static void smb_compounds(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 500 * 64);
        for (unsigned k = 0; k < 500; k++)
            smb2_message(&wire, ECHO, false, i * 500 + k, "", 0, k < 499);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void smb_malformed(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 68);
        smb2_message(&wire, CREATE, false, i, "abcd", 4, false);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void smb_large_record(struct work *work, uint32_t units)
{
    uint8_t body[64] = { [0] = 57, [46] = 8, [56] = 'a' };
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 0xfffff);
        smb2_message(&wire, CREATE, false, i, body, sizeof(body), false);
        wire_fill(&wire, 0, 0xfffff - 128);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- DCE/RPC -------------------------------------------------------------------------------------- */

static void dce_fragment(struct wire *wire, uint8_t type, uint8_t flags, uint32_t call, const void *body, size_t length)
{
    wire_number(wire, 2, 0x0500);
    wire_number(wire, 1, type);
    wire_number(wire, 1, flags);
    wire_number(wire, 4, 0x10000000);
    wire_little(wire, 2, 16 + length);
    wire_little(wire, 2, 0);
    wire_little(wire, 4, call);
    wire_put(wire, body, length);
}

static void dce_calls(struct work *work, uint32_t units)
{
    static const uint8_t body[8];
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        dce_fragment(&wire, 0, 3, i, body, sizeof(body));
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void dce_fragments(struct work *work, uint32_t units)
{
    static const uint8_t body[1024];
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        dce_fragment(&wire, 0, i == 0, 1, body, sizeof(body));
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void dce_binds(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, body = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        body.length = 0;
        wire_fill(&body, 0, 8);
        wire_little(&body, 4, 200);
        for (unsigned k = 0; k < 200; k++) {
            wire_little(&body, 2, k);
            wire_little(&body, 2, 1);
            wire_little(&body, 4, i);
            wire_fill(&body, (uint8_t)k, 36);
        }
        dce_fragment(&wire, 11, 3, i, body.bytes, body.length);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&body);
    wire_free(&wire);
}

/* --- NFS, Kerberos, IKE --------------------------------------------------------------------------- */

static void nfs_call(struct wire *wire, uint32_t id)
{
    wire_number(wire, 4, id);
    wire_number(wire, 4, 0);
    wire_number(wire, 4, 2);
    wire_number(wire, 4, 100003);
    wire_number(wire, 4, 3);
    wire_number(wire, 4, 0);
    wire_fill(wire, 0, 16);
}

static void nfs_calls(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 0x80000000 | 40);
        nfs_call(&wire, i);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void nfs_large_record(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_number(&wire, 4, 0x80000000 | 40);
    nfs_call(&wire, 0);
    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 0x80000000 | (1 << 20));
        nfs_call(&wire, i);
        wire_fill(&wire, 0, (1 << 20) - 40);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* Reads of as many files, of which no reply has the start: the data is queued. */
static void nfs_reads(struct work *work, uint32_t units)
{
    struct wire calls = { 0 }, replies = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&calls, 4, 0x80000000 | 60);
        wire_number(&calls, 4, i);
        wire_number(&calls, 4, 0);
        wire_number(&calls, 4, 2);
        wire_number(&calls, 4, 100003);
        wire_number(&calls, 4, 3);
        wire_number(&calls, 4, 6);
        wire_fill(&calls, 0, 16);
        wire_number(&calls, 4, 4);
        wire_number(&calls, 4, i / 8);
        wire_number(&calls, 4, 0);
        wire_number(&calls, 4, 100 + 2000 * (i % 8));
        wire_number(&calls, 4, 1000);
        wire_number(&replies, 4, 0x80000000 | (44 + 1000));
        wire_number(&replies, 4, i);
        wire_number(&replies, 4, 1);
        wire_fill(&replies, 0, 24);
        wire_number(&replies, 4, 1000);
        wire_number(&replies, 4, 0);
        wire_number(&replies, 4, 1000);
        wire_fill(&replies, 'x', 1000);
    }
    work_send(work, FLOW_TO_SERVER, &calls);
    work_send(work, FLOW_TO_CLIENT, &replies);
    wire_free(&calls);
    wire_free(&replies);
}

static void nfs_broken_record(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_number(&wire, 4, 0x80000000 | 40);
    nfs_call(&wire, 0);
    wire_number(&wire, 4, 0xffffffff);
    wire_fill(&wire, 0, (size_t)units << 10);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static const uint8_t kerberos[] = { 0x6a, 0x0b, 0x30, 0x09, 0xa1, 3, 2, 1, 5, 0xa2, 3, 2, 1, 10 };

static void krb5_messages(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, sizeof(kerberos));
        wire_put(&wire, kerberos, sizeof(kerberos));
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void krb5_large_record(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_number(&wire, 4, sizeof(kerberos));
    wire_put(&wire, kerberos, sizeof(kerberos));
    wire_number(&wire, 4, 0x10000000);
    wire_fill(&wire, 0x6a, (size_t)units << 10);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void ike_head(struct wire *wire, uint8_t next, uint8_t version, uint8_t exchange, size_t length)
{
    wire_fill(wire, 1, 8);
    wire_fill(wire, 0, 8);
    wire_number(wire, 1, next);
    wire_number(wire, 1, version);
    wire_number(wire, 1, exchange);
    wire_number(wire, 1, version == 0x20 ? 8 : 0);
    wire_number(wire, 4, 0);
    wire_number(wire, 4, 28 + length);
}

static void ike_payloads(struct work *work, uint32_t units, uint8_t version, uint8_t exchange, uint8_t type)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        ike_head(&wire, type, version, exchange, 10000 * 4);
        for (unsigned k = 0; k < 10000; k++) {
            wire_number(&wire, 1, k < 9999 ? type : 0);
            wire_number(&wire, 1, 0);
            wire_number(&wire, 2, 4);
        }
        work_send(work, FLOW_TO_SERVER, &wire);
    }
    wire_free(&wire);
}

static void ike1_payloads(struct work *work, uint32_t units)
{
    ike_payloads(work, units, 0x10, 2, 13);
}

static void ike2_payloads(struct work *work, uint32_t units)
{
    ike_payloads(work, units, 0x20, 34, 43);
}

/* A long key exchange payload, and later messages for whose transactions it is logged, too. */
static void ike_secrets(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    ike_head(&wire, 4, 0x10, 2, 60000);
    wire_number(&wire, 2, 0);
    wire_number(&wire, 2, 60000);
    wire_fill(&wire, 1, 60000 - 4);
    work_send(work, FLOW_TO_SERVER, &wire);
    for (uint32_t i = 0; i < units; i++) {
        ike_head(&wire, 0, 0x10, 2, 0);
        work_send(work, FLOW_TO_SERVER, &wire);
    }
    wire_free(&wire);
}

/* --- QUIC ----------------------------------------------------------------------------------------- */

static const struct quic_initial quic_client = {
    .version = 1, .destination = "firstkey", .source = "clientid", .key_id = "firstkey"
};

static void quic_send(struct work *work, const struct quic_initial *initial, const struct bytes *frames,
                      bool is_damaged)
{
    static struct bytes datagram;
    struct wire wire = { 0 };

    datagram.length = 0;
    put_initial(&datagram, initial, frames);
    datagram.at[datagram.length - 1] ^= is_damaged;
    wire_put(&wire, datagram.at, datagram.length);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* CRYPTO frames of a byte, with gaps, up to the limit and again from its start. */
static void quic_fragments(struct work *work, uint32_t units)
{
    static struct bytes frames;

    for (uint32_t i = 0; i < units; i++) {
        frames.length = 0;
        for (uint32_t k = 0; k < 200; k++)
            put_crypto(&frames, 4 + (i * 200 + k) * 2 % 65000, "", 1);
        quic_send(work, &quic_client, &frames, false);
    }
}

/* Large CRYPTO frames with an ever larger offset, after which the first byte is still missing. */
static void quic_growth(struct work *work, uint32_t units)
{
    static const uint8_t zeros[1000];
    static struct bytes frames;

    for (uint32_t i = 0; i < units; i++) {
        frames.length = 0;
        put_crypto(&frames, 1 + i * 1000 % 64000, zeros, sizeof(zeros));
        quic_send(work, &quic_client, &frames, false);
    }
}

static void quic_hellos(struct work *work, uint32_t units)
{
    static struct bytes extensions, hello, frames;
    struct quic_initial initial = quic_client;
    char id[16];

    extensions.length = hello.length = frames.length = 0;
    for (unsigned i = 0; i < 250; i++)
        put_extension(&extensions, i + 100, "", 0);
    put_client_hello(&hello, 0x0303, "1301", &extensions);
    put_crypto(&frames, 0, hello.at, hello.length);
    for (uint32_t i = 0; i < units; i++) { /* each one of another connection */
        snprintf(id, sizeof(id), "%08u", (unsigned)i);
        initial.destination = initial.key_id = id;
        work->rig->now_ns += 1000000000;
        quic_send(work, &initial, &frames, false);
    }
}

static void quic_damaged(struct work *work, uint32_t units)
{
    static struct bytes frames;

    frames.length = 0;
    put_u8(&frames, 0x01);
    for (uint32_t i = 0; i < units; i++)
        quic_send(work, &quic_client, &frames, true);
}

/* Tags of Google's QUIC. */
static void quic_tags(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_put(&wire, "\x09\0\x01\x02\x03\x04\x05\x06\x07Q043\x01hash-hash-12\x80\x01", 28);
        wire_put(&wire, "CHLO\x80\0\0\0", 8);
        for (unsigned k = 0; k < 128; k++)
            wire_put(&wire, "TAGS\0\0\0\0", 8);
        work_send(work, FLOW_TO_SERVER, &wire);
    }
    wire_free(&wire);
}

static void snmp_variables(struct work *work, uint32_t units)
{
    static const uint8_t variable[] = { 0x30, 7, 6, 3, 0x2b, 6, 1, 5, 0 };
    enum { VARIABLES = 5000, LENGTH = VARIABLES * sizeof(variable) };
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_number(&wire, 4, 0x30820000 | (LENGTH + 23));
        wire_number(&wire, 6, 0x020101040161);
        wire_number(&wire, 4, 0xa0820000 | (LENGTH + 13));
        wire_number(&wire, 8, 0x0201010201000201);
        wire_number(&wire, 1, 0);
        wire_number(&wire, 4, 0x30820000 | LENGTH);
        for (unsigned k = 0; k < VARIABLES; k++)
            wire_put(&wire, variable, sizeof(variable));
        work_send(work, FLOW_TO_SERVER, &wire);
    }
    wire_free(&wire);
}

static void rfb_reason(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    work_text(work, FLOW_TO_CLIENT, "RFB 003.008\n");
    work_text(work, FLOW_TO_SERVER, "RFB 003.008\n");
    wire_number(&wire, 1, 0);
    wire_number(&wire, 4, UINT32_MAX);
    wire_fill(&wire, 'x', (size_t)units << 10);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

#define ROW(text, of, at, function, ...)                                                                               \
    {                                                                                                                  \
        .name = text, .proto = of, .port = at, .run = function, __VA_ARGS__                                            \
    }
#define TLS(text, function, ...) ROW("TLS: " text, "tls", 443, function, __VA_ARGS__)
#define DNS(text, function, ...) ROW("DNS: " text, "dns", 53, function, .datagrams = true, __VA_ARGS__)
#define QUIC(text, function, ...) ROW("QUIC: " text, "quic", 443, function, .datagrams = true, __VA_ARGS__)
#define SMB(text, function, ...) ROW("SMB: " text, "smb", 445, function, __VA_ARGS__)
#define DCE(text, function, ...) ROW("DCE/RPC: " text, "dcerpc", 135, function, __VA_ARGS__)

const struct flood record_floods[] = {
    TLS("records of a byte", tls_small_records, .units = 2, .memory_kib = 1024),
    TLS("hellos", tls_hellos, .units = 2, .memory_kib = 2048),
    TLS("a message longer than the limit", tls_large_message, .units = 20, .memory_kib = 1024,
        .event = "handshake_invalid_length", .given_up = true),
    TLS("empty messages", tls_empty_messages, .units = 5000, .memory_kib = 1024),
    TLS("certificates", tls_certificates, .units = 2, .memory_kib = 2048),
    TLS("empty records", tls_empty_record, .units = 1000, .memory_kib = 1024, .event = "invalid_record_length"),

    DNS("names that loop", dns_loops, .units = 500, .memory_kib = 1024, .steps_per_byte = 400),
    DNS("long names", dns_long_names, .units = 2, .memory_kib = 4096, .event = "name_too_long"),
    DNS("queries", dns_many_records, .units = 2, .memory_kib = 4096),
    DNS("answers that are not there", dns_claims, .units = 2, .memory_kib = 4096, .event = "malformed_data"),
    ROW("DNS: messages of a stream", "dns", 53, dns_stream, .units = 3000, .memory_kib = 2048),

    SMB("requests without a response", smb_creates, .units = 1100, .memory_kib = 4096, .event = "too_many_transactions",
        .given_up = true),
    SMB("requests among many", smb_among_many, .units = 100, .memory_kib = 4096),
    SMB("compounds", smb_compounds, .units = 4, .memory_kib = 4096, .event = "too_many_transactions", .given_up = true),
    SMB("messages that are broken", smb_malformed, .units = 2000, .memory_kib = 4096, .event = "malformed_data",
        .given_up = true),
    SMB("records that are too large", smb_large_record, .units = 1, .memory_kib = 4096),

    DCE("calls without a response", dce_calls, .units = 2000, .memory_kib = 4096),
    DCE("fragments of a call", dce_fragments, .units = 1000, .memory_kib = 8192),
    DCE("binds", dce_binds, .units = 20, .memory_kib = 4096),

    ROW("NFS: calls without a reply", "nfs", 2049, nfs_calls, .units = 1500, .memory_kib = 4096,
        .event = "too_many_transactions"),
    ROW("NFS: records that are too large", "nfs", 2049, nfs_large_record, .units = 1, .memory_kib = 1024),
    ROW("NFS: parts of files", "nfs", 2049, nfs_reads, .units = 600, .memory_kib = 4096),
    ROW("NFS: a record that can't be", "nfs", 2049, nfs_broken_record, .units = 32, .memory_kib = 1024,
        .event = "malformed_data", .given_up = true),
    ROW("Kerberos: requests", "krb5", 88, krb5_messages, .units = 3000, .memory_kib = 8192),
    ROW("Kerberos: a record that can't be", "krb5", 88, krb5_large_record, .units = 32, .memory_kib = 1024,
        .event = "malformed_data", .given_up = true),
    ROW("IKE: payloads of version 1", "ike", 500, ike1_payloads, .datagrams = true, .units = 2, .memory_kib = 1024),
    ROW("IKE: payloads of version 2", "ike", 500, ike2_payloads, .datagrams = true, .units = 2, .memory_kib = 1024),
    ROW("IKE: a long secret", "ike", 500, ike_secrets, .datagrams = true, .units = 500, .memory_kib = 1024),
    ROW("SNMP: variable bindings", "snmp", 161, snmp_variables, .datagrams = true, .units = 8, .memory_kib = 4096),
    ROW("RFB: a reason without end", "rfb", 5900, rfb_reason, .units = 32, .memory_kib = 1024,
        .event = "malformed_message"),
    QUIC("fragments of a byte", quic_fragments, .units = 400, .memory_kib = 1024),
    QUIC("growing offsets", quic_growth, .units = 200, .memory_kib = 1024),
    QUIC("hellos", quic_hellos, .units = 200, .memory_kib = 1024),
    QUIC("packets that do not decrypt", quic_damaged, .units = 200, .memory_kib = 1024, .event = "failed_decrypt",
         .given_up = true),
    QUIC("tags", quic_tags, .units = 200, .memory_kib = 1024),
};
const size_t record_flood_count = sizeof(record_floods) / sizeof(record_floods[0]);
