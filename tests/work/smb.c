/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floods of SMB 1, and of DCE/RPC over named pipes of SMB 1 and 2. */
#include "work.h"

enum {
    SMB1_CREATE = 0xa2,
    SMB1_TRANSACTION = 0x25,
    SMB1_TRANSACTION2 = 0x32,
    SMB1_TREE_CONNECT = 0x75,
    SMB2_WRITE = 9,
    DCE_REQUEST = 0,
    DCE_RESPONSE = 2,
    DCE_BIND = 11,
    DCE_FIRST_AND_LAST = 3,
    PIPE = 0x4001,
};
static const uint32_t buffer_overflow = 0x80000005;

/* --- Messages ------------------------------------------------------------------------------------- */

struct smb1 {
    uint8_t command;
    bool is_response;
    uint16_t tree, message;
    uint32_t status;
};

static void smb1_message(struct wire *wire, struct smb1 head, const struct wire *body)
{
    wire_number(wire, 4, 32 + body->length);
    wire_put(wire, "\xffSMB", 4);
    wire_little(wire, 1, head.command);
    wire_little(wire, 4, head.status);
    wire_little(wire, 1, head.is_response ? 0x80 : 0);
    wire_little(wire, 2, 0xc001); /* Flags2: UTF-16 names, NT status codes */
    wire_fill(wire, 0, 12);
    wire_little(wire, 2, head.tree);
    wire_little(wire, 2, 1);
    wire_little(wire, 2, 2);
    wire_little(wire, 2, head.message);
    wire_put(wire, body->bytes, body->length);
}

static void dce_message(struct wire *wire, uint8_t type, uint8_t flags, uint32_t call, const void *body, size_t length)
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

/* Sends a single message. */
static void send_smb1(struct work *work, enum flow_direction direction, struct smb1 head, const struct wire *body)
{
    struct wire wire = { 0 };

    smb1_message(&wire, head, body);
    work_send(work, direction, &wire);
    wire_free(&wire);
}

static void connect_tree(struct work *work, uint16_t tree)
{
    struct wire request = { 0 }, response = { 0 };

    wire_put(&request, "\4\xff\0\0\0\0\0\1\0\0\0\0\\\0a\0\0\0IPC", 22);
    send_smb1(work, FLOW_TO_SERVER, (struct smb1){ .command = SMB1_TREE_CONNECT, .message = tree }, &request);
    wire_put(&response, "\3\xff\0\0\0\0\0\0\0IPC", 13);
    send_smb1(work, FLOW_TO_CLIENT,
              (struct smb1){ .command = SMB1_TREE_CONNECT, .is_response = true, .tree = tree, .message = tree },
              &response);
    wire_free(&request);
    wire_free(&response);
}

static void open_pipe(struct work *work)
{
    static const char name[] = "s\0r\0v\0s\0v\0c";
    struct wire request = { 0 }, response = { 0 };

    connect_tree(work, 5);
    wire_put(&request, "\x18\xff\0\0\0\0", 6);
    wire_little(&request, 2, sizeof(name));
    wire_fill(&request, 0, 28);
    wire_little(&request, 4, 1);
    wire_fill(&request, 0, 9);
    wire_little(&request, 2, sizeof(name) + 1);
    wire_fill(&request, 0, 1);
    wire_put(&request, name, sizeof(name));
    send_smb1(work, FLOW_TO_SERVER, (struct smb1){ .command = SMB1_CREATE, .tree = 5, .message = 6 }, &request);
    wire_put(&response, "\x22\xff\0\0\0\0", 6);
    wire_little(&response, 2, PIPE);
    wire_fill(&response, 0, 63);
    send_smb1(work, FLOW_TO_CLIENT,
              (struct smb1){ .command = SMB1_CREATE, .is_response = true, .tree = 5, .message = 6 }, &response);
    wire_free(&request);
    wire_free(&response);
}

/* Writes an SMB 1 transaction with a DCE/RPC call on the pipe. */
static void put_request(struct wire *wire, uint16_t message, const struct wire *call)
{
    struct wire body = { 0 };

    wire_little(&body, 1, 16);
    wire_fill(&body, 0, 22);
    wire_little(&body, 2, call->length);
    wire_little(&body, 2, 32 + 35);
    wire_little(&body, 2, 2);
    wire_little(&body, 2, 0x26);
    wire_little(&body, 2, PIPE);
    wire_little(&body, 2, call->length);
    wire_put(&body, call->bytes, call->length);
    smb1_message(wire, (struct smb1){ .command = SMB1_TRANSACTION, .tree = 5, .message = message }, &body);
    wire_free(&body);
}

static void put_response(struct wire *wire, uint16_t message, uint32_t status, const void *bytes, size_t length)
{
    const struct smb1 head = {
        .command = SMB1_TRANSACTION, .is_response = true, .tree = 5, .message = message, .status = status
    };
    struct wire body = { 0 };

    wire_little(&body, 1, 10);
    wire_fill(&body, 0, 12);
    wire_little(&body, 2, length);
    wire_little(&body, 2, 32 + 23);
    wire_fill(&body, 0, 4);
    wire_little(&body, 2, length);
    wire_put(&body, bytes, length);
    smb1_message(wire, head, &body);
    wire_free(&body);
}

/* --- Transactions of SMB 1 ------------------------------------------------------------------------ */

static void calls(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, call = { 0 };

    open_pipe(work);
    for (uint32_t i = 0; i < units; i++) {
        call.length = 0;
        dce_message(&call, DCE_REQUEST, DCE_FIRST_AND_LAST, i, "\4\0\0\0\0\0\x0f\0args", 12);
        put_request(&wire, (uint16_t)i, &call);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&call);
}

/* Responses to new calls, while 900 others are open. Each response is searched among all open calls. */
static void calls_among_many(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, call = { 0 };

    calls(work, 900);
    for (uint32_t i = 0; i < units; i++) {
        call.length = 0;
        dce_message(&call, DCE_REQUEST, DCE_FIRST_AND_LAST, 1000 + i, "\4\0\0\0\0\0\x0f\0args", 12);
        put_request(&wire, (uint16_t)(1000 + i), &call);
        work_send(work, FLOW_TO_SERVER, &wire);
        call.length = 0;
        dce_message(&call, DCE_RESPONSE, DCE_FIRST_AND_LAST, 1000 + i, "\4\0\0\0\0\0\0\0results", 15);
        put_response(&wire, (uint16_t)(1000 + i), 0, call.bytes, call.length);
        work_send(work, FLOW_TO_CLIENT, &wire);
    }
    wire_free(&wire);
    wire_free(&call);
}

/* A response in pieces without end (STATUS_BUFFER_OVERFLOW), to a call that does not end either. */
static void endless_pieces(struct work *work, uint32_t units)
{
    static const uint8_t piece[1000] = { 5, 0, DCE_RESPONSE, DCE_FIRST_AND_LAST, 0x10, 0, 0, 0, 0xff, 0xff };
    struct wire wire = { 0 }, call = { 0 };

    open_pipe(work);
    for (uint32_t i = 0; i < units; i++) {
        call.length = 0;
        dce_message(&call, DCE_REQUEST, i == 0, 1, "\4\0\0\0\0\0\x0f\0args", 12);
        put_request(&wire, (uint16_t)i, &call);
        work_send(work, FLOW_TO_SERVER, &wire);
        put_response(&wire, (uint16_t)i, buffer_overflow, piece, sizeof(piece));
        work_send(work, FLOW_TO_CLIENT, &wire);
    }
    wire_free(&wire);
    wire_free(&call);
}

/* Transactions whose data offset points behind the end of the message. */
static void transactions_cut_off(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, body = { 0 };

    open_pipe(work);
    wire_little(&body, 1, 16);
    wire_fill(&body, 0, 22);
    wire_little(&body, 2, 1000);
    wire_little(&body, 2, 32 + 35);
    wire_little(&body, 2, 2);
    wire_fill(&body, 0, 4);
    for (uint32_t i = 0; i < units; i++)
        smb1_message(&wire, (struct smb1){ .command = SMB1_TRANSACTION, .tree = 5, .message = (uint16_t)i }, &body);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&body);
}

/* Deletions of files with names of four thousand letters. */
static void long_names(struct work *work, uint32_t units)
{
    struct wire request = { 0 }, response = { 0 };

    wire_little(&request, 1, 15);
    wire_fill(&request, 0, 18);
    wire_little(&request, 2, 6 + 8000);
    wire_little(&request, 2, 32 + 33);
    wire_little(&request, 2, 1);
    wire_little(&request, 2, 32 + 33 + 6 + 8000);
    wire_little(&request, 2, 1);
    wire_little(&request, 2, 6);
    wire_fill(&request, 0, 2);
    wire_little(&request, 2, 1013);
    wire_fill(&request, 0, 4);
    for (unsigned i = 0; i < 4000; i++)
        wire_little(&request, 2, 'a');
    wire_little(&request, 1, 1);
    wire_fill(&response, 0, 3);
    for (uint32_t i = 0; i < units; i++) {
        struct smb1 head = { .command = SMB1_TRANSACTION2, .tree = 5, .message = (uint16_t)i };

        send_smb1(work, FLOW_TO_SERVER, head, &request);
        head.is_response = true;
        send_smb1(work, FLOW_TO_CLIENT, head, &response);
    }
    wire_free(&request);
    wire_free(&response);
}

static void trees(struct work *work, uint32_t units)
{
    for (uint32_t i = 0; i < units; i++)
        connect_tree(work, (uint16_t)i);
}

/* --- Pipes of SMB 2 ------------------------------------------------------------------------------- */

/* Writes an SMB 2 WRITE with a DCE/RPC call, by which the file is recognised as a pipe. */
static void put_write(struct wire *wire, uint64_t message, const struct wire *call)
{
    wire_number(wire, 4, 64 + 48 + call->length);
    wire_put(wire, "\xfeSMB", 4);
    wire_little(wire, 2, 64);
    wire_little(wire, 6, 0);
    wire_little(wire, 2, SMB2_WRITE);
    wire_little(wire, 2, 1);
    wire_fill(wire, 0, 8);
    wire_little(wire, 8, message);
    wire_little(wire, 4, 0);
    wire_little(wire, 4, 1);
    wire_little(wire, 8, 1);
    wire_fill(wire, 0, 16);
    wire_little(wire, 2, 49);
    wire_little(wire, 2, 64 + 48);
    wire_little(wire, 4, call->length);
    wire_fill(wire, 0, 8);
    wire_fill(wire, 7, 16);
    wire_fill(wire, 0, 16);
    wire_put(wire, call->bytes, call->length);
}

static void written_calls(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, call = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        call.length = 0;
        dce_message(&call, DCE_REQUEST, DCE_FIRST_AND_LAST, i, "\4\0\0\0\0\0\x0f\0args", 12);
        put_write(&wire, i, &call);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&call);
}

/* Fragments of one call that never ends. */
static void written_fragments(struct work *work, uint32_t units)
{
    static const uint8_t body[1024] = { 4 };
    struct wire wire = { 0 }, call = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        call.length = 0;
        dce_message(&call, DCE_REQUEST, i == 0, 1, body, sizeof(body));
        put_write(&wire, i, &call);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&call);
}

static void written_binds(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, call = { 0 }, body = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        call.length = body.length = 0;
        wire_fill(&body, 0, 8);
        wire_little(&body, 4, 200);
        for (unsigned k = 0; k < 200; k++) {
            wire_little(&body, 2, k);
            wire_little(&body, 2, 1);
            wire_little(&body, 4, i);
            wire_fill(&body, (uint8_t)k, 36);
        }
        dce_message(&call, DCE_BIND, DCE_FIRST_AND_LAST, i, body.bytes, body.length);
        put_write(&wire, i, &call);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
    wire_free(&call);
    wire_free(&body);
}

#define SMB(text, function, ...)                                                                                       \
    {                                                                                                                  \
        .name = "SMB: " text, .proto = "smb", .port = 445, .run = function, __VA_ARGS__                                \
    }

const struct flood smb_floods[] = {
    SMB("1: calls through a pipe without a response", calls, .units = 1100, .memory_kib = 4096,
        .event = "too_many_transactions", .given_up = true),
    SMB("1: calls through a pipe among many", calls_among_many, .units = 200, .memory_kib = 4096),
    SMB("1: a response in pieces without an end", endless_pieces, .units = 200, .memory_kib = 4096),
    SMB("1: transactions that are cut off", transactions_cut_off, .units = 500, .memory_kib = 4096,
        .event = "malformed_data"),
    SMB("1: long names", long_names, .units = 20, .memory_kib = 4096),
    SMB("1: trees", trees, .units = 1000, .memory_kib = 4096),
    SMB("calls through a pipe without a response", written_calls, .units = 1100, .memory_kib = 4096,
        .event = "too_many_transactions", .given_up = true),
    SMB("fragments of a call through a pipe", written_fragments, .units = 500, .memory_kib = 8192),
    SMB("binds through a pipe", written_binds, .units = 20, .memory_kib = 4096),
};
const size_t smb_flood_count = sizeof(smb_floods) / sizeof(smb_floods[0]);
