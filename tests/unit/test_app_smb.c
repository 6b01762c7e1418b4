/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMB: login, trees, files in and out of order, pipes, records, gaps, limits. */
#include <check.h>

#include "../lib/smb_message.h"
#include "app/dcerpc/dce.h"
#include "app/smb/table.h"
#include "sluice/bytes.h"

static const int cuts[] = { 0, 1, 13, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static const uint8_t guid[SMB_GUID] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static struct app_rig *start_with(int cut, const char *yaml)
{
    struct app_rig *rig = app_rig_new("smb", yaml);

    rig->cut = cut;
    rig->flow.server_port = 445;
    return rig;
}

static struct app_rig *start(int cut)
{
    return start_with(cut, NULL);
}

static const char *has(struct app_rig *rig, uint64_t id, const char *text)
{
    const char *json = app_rig_json(rig, id);

    ck_assert_ptr_nonnull(json);
    ck_assert_msg(strstr(json, text) != NULL, "%s is not in %s", text, json);
    return json;
}

static void assert_text(const struct app_rig *rig, uint64_t id, const char *keyword, const char *want)
{
    struct app_bytes bytes;
    bool there = app_rig_buffer(rig, id, keyword, FLOW_TO_SERVER, 0, &bytes);

    ck_assert_msg(there == (want != NULL), "%s", keyword);
    if (want)
        ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%s: %.*s", keyword,
                      (int)bytes.length, (const char *)bytes.bytes);
}

/* --- SMB 2 ---------------------------------------------------------------------------------------- */

static void negotiate(struct app_rig *rig)
{
    struct smb_wire request = smb2_begin(0, false, (struct smb2_ids){ 0 });
    struct smb_wire response = smb2_begin(0, true, (struct smb2_ids){ 0 });

    wire_number(&request, 2, 36);
    wire_number(&request, 2, 2);
    wire_zeros(&request, 8);
    wire_bytes(&request, guid, SMB_GUID);
    wire_zeros(&request, 8);
    wire_number(&request, 2, 0x202);
    wire_number(&request, 2, 0x311);
    smb_send(rig, FLOW_TO_SERVER, &request);
    wire_number(&response, 4, 65);
    wire_number(&response, 4, 0x311);
    wire_bytes(&response, guid, SMB_GUID);
    wire_zeros(&response, 8);
    wire_number(&response, 4, 4096);
    wire_number(&response, 4, 8192);
    smb_send(rig, FLOW_TO_CLIENT, &response);
}

static void put_ntlmssp(struct smb_wire *wire, const char *domain, const char *user, const char *host)
{
    const char *const texts[6] = { "", "", domain, user, host, "" };
    uint32_t at = 72;

    wire_bytes(wire, "NTLMSSP", 8);
    wire_number(wire, 4, 3);
    for (unsigned i = 0; i < 6; i++) {
        uint32_t length = 2 * (uint32_t)strlen(texts[i]);

        wire_number(wire, 2, length);
        wire_number(wire, 2, length);
        wire_number(wire, 4, length ? at : 72);
        at += length;
    }
    wire_number(wire, 4, 0x02000000);
    wire_bytes(wire, "\x0a\x00\x63\x45\x00\x00\x00\x0f", 8);
    for (unsigned i = 0; i < 6; i++)
        wire_utf16(wire, texts[i]);
    wire_zeros(wire, 1);
}

static void log_in(struct app_rig *rig)
{
    struct smb_wire request = smb2_begin(1, false, (struct smb2_ids){ .message = 1 });
    struct smb_wire response = smb2_begin(1, true, (struct smb2_ids){ .message = 1, .session = 7 });

    wire_zeros(&request, 24);
    put_ntlmssp(&request, "DOM", "user", "HOST");
    smb_send(rig, FLOW_TO_SERVER, &request);
    wire_zeros(&response, 8);
    smb_send(rig, FLOW_TO_CLIENT, &response);
}

static void connect_tree(struct app_rig *rig, const char *name, uint8_t type)
{
    struct smb_wire request = smb2_begin(3, false, (struct smb2_ids){ .message = 2, .session = 7 });
    struct smb_wire response = smb2_begin(3, true, (struct smb2_ids){ .message = 2, .session = 7, .tree = 1 });

    wire_number(&request, 4, 9);
    wire_number(&request, 2, 72);
    wire_number(&request, 2, 2 * strlen(name));
    wire_utf16(&request, name);
    smb_send(rig, FLOW_TO_SERVER, &request);
    wire_number(&response, 2, 16);
    wire_number(&response, 2, type);
    wire_zeros(&response, 12);
    smb_send(rig, FLOW_TO_CLIENT, &response);
}

static void create(struct app_rig *rig, const char *name)
{
    struct smb_wire request = smb2_begin(5, false, (struct smb2_ids){ .message = 3, .session = 7, .tree = 1 });
    struct smb_wire response = smb2_begin(5, true, (struct smb2_ids){ .message = 3, .session = 7, .tree = 1 });

    wire_zeros(&request, 36);
    wire_number(&request, 4, 2);
    wire_number(&request, 4, 0x1000);
    wire_number(&request, 2, 120);
    wire_number(&request, 2, 2 * strlen(name));
    wire_zeros(&request, 8);
    wire_utf16(&request, name);
    smb_send(rig, FLOW_TO_SERVER, &request);
    wire_zeros(&response, 8);
    for (unsigned i = 0; i < 4; i++)
        wire_number(&response, 8, UINT64_C(116444736000000000) + (i + 1) * UINT64_C(10000000));
    wire_zeros(&response, 8);
    wire_number(&response, 8, 1234);
    wire_zeros(&response, 8);
    wire_bytes(&response, guid, SMB_GUID);
    wire_zeros(&response, 8);
    smb_send(rig, FLOW_TO_CLIENT, &response);
}

static void put_write(struct smb_wire *wire, uint64_t offset, uint32_t length, uint32_t padding)
{
    wire_number(wire, 2, 49);
    wire_number(wire, 2, 112 + padding);
    wire_number(wire, 4, length);
    wire_number(wire, 8, offset);
    wire_bytes(wire, guid, SMB_GUID);
    wire_zeros(wire, 16 + padding);
}

static void write_file(struct app_rig *rig, uint64_t offset, const char *data, uint32_t padding)
{
    struct smb_wire wire = smb2_begin(9, false, (struct smb2_ids){ .message = 9, .session = 7, .tree = 1 });

    put_write(&wire, offset, (uint32_t)strlen(data), padding);
    wire_bytes(&wire, data, strlen(data));
    smb_send(rig, FLOW_TO_SERVER, &wire);
}

static void read_request(struct app_rig *rig, uint64_t message, uint64_t offset, uint32_t length)
{
    struct smb_wire wire = smb2_begin(8, false, (struct smb2_ids){ .message = message, .session = 7, .tree = 1 });

    wire_number(&wire, 4, 49);
    wire_number(&wire, 4, length);
    wire_number(&wire, 8, offset);
    wire_bytes(&wire, guid, SMB_GUID);
    wire_zeros(&wire, 17);
    smb_send(rig, FLOW_TO_SERVER, &wire);
}

static void read_response(struct app_rig *rig, uint64_t message, const char *data, uint32_t status)
{
    struct smb_wire wire =
        smb2_begin(8, true, (struct smb2_ids){ .message = message, .session = 7, .tree = 1, .status = status });

    wire_number(&wire, 2, 17);
    wire_number(&wire, 2, 80);
    wire_number(&wire, 4, strlen(data));
    wire_zeros(&wire, 8);
    wire_bytes(&wire, data, strlen(data));
    smb_send(rig, FLOW_TO_CLIENT, &wire);
}

static void close_file(struct app_rig *rig)
{
    struct smb_wire wire = smb2_begin(6, false, (struct smb2_ids){ .message = 20, .session = 7, .tree = 1 });

    wire_zeros(&wire, 8);
    wire_bytes(&wire, guid, SMB_GUID);
    smb_send(rig, FLOW_TO_SERVER, &wire);
}

static struct app_rig *open_share(int cut)
{
    struct app_rig *rig = start(cut);

    negotiate(rig);
    log_in(rig);
    connect_tree(rig, "\\\\SRV\\C$", 1);
    create(rig, "dir\\a.exe");
    return rig;
}

START_TEST(login_is_read)
{
    struct app_rig *rig = open_share(cuts[_i]);

    ck_assert_str_eq(app_rig_protocol(rig), "smb");
    has(rig, 0, "\"dialect\":\"3.11\",\"command\":\"SMB2_COMMAND_NEGOTIATE_PROTOCOL\",\"status\":\"STATUS_SUCCESS\"");
    has(rig, 0, "\"client_dialects\":[\"2.02\",\"3.11\"],\"client_guid\":\"04030201-0605-0807-0a09-0c0b100f0e0d\"");
    has(rig, 0, "\"max_read_size\":4096,\"max_write_size\":8192");
    has(rig, 1,
        "\"session_id\":7,\"tree_id\":0,\"ntlmssp\":{\"domain\":\"DOM\",\"user\":\"user\",\"host\":\"HOST\","
        "\"version\":\"10.0 build 17763 rev 15\"}");
    has(rig, 2, "\"tree_id\":1,\"share\":\"\\\\\\\\SRV\\\\C$\",\"share_type\":\"FILE\"");
    has(rig, 3,
        "\"filename\":\"dir\\\\a.exe\",\"disposition\":\"FILE_CREATE\",\"access\":\"delete on close\",\"created\":1,"
        "\"accessed\":2,\"modified\":3,\"changed\":4,\"size\":1234");
    assert_text(rig, 1, "smb.ntlmssp_user", "user");
    assert_text(rig, 1, "smb.ntlmssp_domain", "DOM");
    assert_text(rig, 0, "smb.ntlmssp_user", NULL);
    assert_text(rig, 2, "smb.share", "\\\\SRV\\C$");
    assert_text(rig, 2, "smb.named_pipe", NULL);
    app_rig_free(rig);
}
END_TEST

/* --- Files ---------------------------------------------------------------------------------------- */

static void assert_file(struct app_rig *rig, uint64_t id, enum flow_direction direction, const char *want,
                        enum file_state state)
{
    const struct file *file = app_rig_tx(rig, id)->files[direction].first;
    struct app_bytes bytes;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(file->state, state);
    ck_assert(app_rig_buffer(rig, id, "file.data", direction, 0, &bytes));
    ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%.*s",
                  (int)bytes.length, (const char *)bytes.bytes);
}

START_TEST(written_file_is_put_in_order)
{
    struct app_rig *rig = open_share(cuts[_i]);

    write_file(rig, 0, "one ", 0);
    write_file(rig, 14, "four", 0);
    write_file(rig, 8, "three ", 5);
    assert_file(rig, 4, FLOW_TO_SERVER, "one ", FILE_OPEN);
    write_file(rig, 4, "two ", 0);
    assert_file(rig, 4, FLOW_TO_SERVER, "one two three four", FILE_OPEN);
    close_file(rig);
    assert_file(rig, 4, FLOW_TO_SERVER, "one two three four", FILE_CLOSED);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 4), FLOW_TO_CLIENT));
    has(rig, 4, "\"command\":\"SMB2_COMMAND_WRITE\",\"status\":\"STATUS_SUCCESS\"");
    has(rig, 4, "\"filename\":\"dir\\\\a.exe\",\"share\":\"\\\\\\\\SRV\\\\C$\"");
    app_rig_free(rig);
}
END_TEST

START_TEST(overlap_is_told)
{
    struct app_rig *rig = open_share(cuts[_i]);

    write_file(rig, 0, "first", 0);
    write_file(rig, 2, "RSTmore", 0);
    ck_assert(app_rig_has_event(rig, 4, "file_overlap"));
    assert_file(rig, 4, FLOW_TO_SERVER, "firstmore", FILE_OPEN);
    app_rig_free(rig);
}
END_TEST

START_TEST(read_file_ends)
{
    struct app_rig *rig = open_share(cuts[_i]);

    read_request(rig, 10, 0, 4);
    read_request(rig, 11, 4, 4);
    read_response(rig, 11, "late", 0);
    read_response(rig, 10, "soon", 0);
    assert_file(rig, 4, FLOW_TO_CLIENT, "soonlate", FILE_OPEN);
    read_request(rig, 12, 8, 4);
    read_response(rig, 12, "", (uint32_t)SMB_STATUS_END_OF_FILE);
    assert_file(rig, 4, FLOW_TO_CLIENT, "soonlate", FILE_CLOSED);
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 4), FLOW_TO_CLIENT));
    close_file(rig);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 4), FLOW_TO_CLIENT));
    has(rig, 4, "SMB2_COMMAND_READ");
    app_rig_free(rig);
}
END_TEST

/* A gap in the middle of a file affects only the missing bytes. */
START_TEST(gap_in_a_file_is_survived)
{
    struct app_rig *rig = open_share(cuts[_i]);
    struct smb_wire wire = smb2_begin(9, false, (struct smb2_ids){ .message = 9, .session = 7, .tree = 1 });

    put_write(&wire, 0, 30, 0);
    wire_bytes(&wire, "0123456789abcdefghijABCDEFGHIJ", 30);
    smb_finish(&wire);
    app_rig_send(rig, FLOW_TO_SERVER, wire.bytes, wire.length - 20);
    app_rig_lose(rig, FLOW_TO_SERVER, 10);
    app_rig_send(rig, FLOW_TO_SERVER, wire.bytes + wire.length - 10, 10);
    close_file(rig);
    ck_assert(!rig->failed);
    assert_file(rig, 4, FLOW_TO_SERVER, "0123456789ABCDEFGHIJ", FILE_TRUNCATED);
    app_rig_free(rig);
}
END_TEST

START_TEST(record_is_found_after_a_gap)
{
    struct app_rig *rig = open_share(cuts[_i]);

    app_rig_lose(rig, FLOW_TO_SERVER, 1000);
    app_rig_text(rig, FLOW_TO_SERVER, "noise \xfeSMB which is none");
    write_file(rig, 0, "found", 0);
    ck_assert(!rig->failed);
    assert_file(rig, 4, FLOW_TO_SERVER, "found", FILE_OPEN);
    app_rig_end(rig, FLOW_TO_SERVER);
    assert_file(rig, 4, FLOW_TO_SERVER, "found", FILE_TRUNCATED);
    app_rig_free(rig);
}
END_TEST

/* A write that is longer than its record, or than the negotiated maximum. */
static const struct {
    uint32_t length;
    const char *event;
} sizes[] = { { 6, "write_request_too_large" }, { 8193, "write_request_too_large" }, { 5, NULL } };

START_TEST(size_of_a_write_is_checked)
{
    struct app_rig *rig = open_share(cuts[_i % CUTS]);
    struct smb_wire wire = smb2_begin(9, false, (struct smb2_ids){ .message = 9, .session = 7, .tree = 1 });
    unsigned row = (unsigned)_i / CUTS;

    put_write(&wire, 0, sizes[row].length, 0);
    wire_bytes(&wire, "12345", 5);
    smb_send(rig, FLOW_TO_SERVER, &wire);
    if (sizes[row].event)
        ck_assert(app_rig_has_event(rig, 4, sizes[row].event));
    else
        assert_file(rig, 4, FLOW_TO_SERVER, "12345", FILE_OPEN);
    close_file(rig);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(queue_has_a_limit)
{
    struct app_rig *rig = start_with(
        cuts[_i],
        "app-layer:\n  protocols:\n    smb:\n      max-write-queue-cnt: 2\n      max-write-queue-size: 100\n");
    struct app_memory_counts full, exceeded;

    write_file(rig, 0, "a", 0);
    write_file(rig, 10, "b", 0);
    write_file(rig, 20, "c", 0);
    ck_assert(!app_rig_has_event(rig, 0, "write_queue_cnt_exceeded"));
    app_get_memory_counts(rig->app, &full);
    write_file(rig, 30, "d", 0);
    ck_assert(app_rig_has_event(rig, 0, "write_queue_cnt_exceeded"));
    app_get_memory_counts(rig->app, &exceeded);
    ck_assert_uint_eq(exceeded.used, full.used);
    app_rig_free(rig);
}
END_TEST

/* --- Pipes ---------------------------------------------------------------------------------------- */

static void put_call(struct smb_wire *wire, uint8_t type, uint8_t flags, const void *body, size_t length)
{
    const uint8_t header[16] = { 5, 0, type, flags, 0x10, 0, 0, 0, (uint8_t)(16 + length), 0, 0, 0, 3 };

    wire_bytes(wire, header, sizeof(header));
    wire_bytes(wire, body, length);
}

static void transceive(struct app_rig *rig, uint64_t message, const struct smb_wire *call, bool is_response,
                       uint32_t status)
{
    struct smb_wire wire =
        smb2_begin(11, is_response, (struct smb2_ids){ .message = message, .session = 7, .tree = 1, .status = status });
    enum flow_direction direction = is_response ? FLOW_TO_CLIENT : FLOW_TO_SERVER;

    wire_number(&wire, 4, 57);
    wire_number(&wire, 4, 0x0011c017);
    wire_bytes(&wire, guid, SMB_GUID);
    wire_number(&wire, 4, 120);
    wire_number(&wire, 4, is_response ? 0 : call->length);
    wire_number(&wire, 4, 112);
    wire_number(&wire, 4, is_response ? call->length : 0);
    wire_zeros(&wire, is_response ? 8 : 16);
    wire_bytes(&wire, call->bytes, call->length);
    smb_send(rig, direction, &wire);
}

static struct app_rig *open_pipe(int cut)
{
    struct app_rig *rig = start(cut);

    negotiate(rig);
    log_in(rig);
    connect_tree(rig, "\\\\SRV\\IPC$", 2);
    create(rig, "svcctl");
    return rig;
}

static const uint8_t bind_body[12 + 44] = { 0,    16,   0,    16,   0,    0,    0,    0,    1,    0,    0,
                                            0,    0,    0,    1,    0,    0x81, 0xbb, 0x7a, 0x36, 0x44, 0x98,
                                            0xf1, 0x35, 0xad, 0x32, 0x98, 0xf0, 0x38, 0,    0x10, 3,    2 };
static const uint8_t ack_body[16 + 4 + 24] = { 0, 16, 0, 16, 0, 0, 0, 0, 4, 0, '1', '3', '5', 0, 0, 0, 1 };

START_TEST(pipe_is_read)
{
    struct app_rig *rig = open_pipe(cuts[_i]);
    struct smb_wire call = { .length = 0 };

    assert_text(rig, 2, "smb.named_pipe", "\\\\SRV\\IPC$");
    put_call(&call, DCE_BIND, 3, bind_body, sizeof(bind_body));
    transceive(rig, 4, &call, false, 0);
    call.length = 0;
    put_call(&call, DCE_BIND_ACK, 3, ack_body, sizeof(ack_body));
    transceive(rig, 4, &call, true, 0);
    call.length = 0;
    put_call(&call, DCE_REQUEST, 3, "\4\0\0\0\0\0\x0f\0args", 12);
    transceive(rig, 5, &call, false, 0);
    assert_text(rig, 5, "dcerpc.stub_data", "args");
    call.length = 0;
    put_call(&call, DCE_RESPONSE, 3, "\4\0\0\0\0\0\0\0results", 15);
    transceive(rig, 5, &call, true, 0);
    has(rig, 4,
        "\"dcerpc\":{\"request\":\"BIND\",\"response\":\"BINDACK\",\"interfaces\":[{\"uuid\":"
        "\"367abb81-9844-35f1-ad32-98f038001003\",\"version\":\"2.0\",\"ack_result\":0,\"ack_reason\":0,");
    has(rig, 5,
        "\"request\":\"REQUEST\",\"response\":\"RESPONSE\",\"opnum\":15,\"req\":{\"frag_cnt\":1,\"stub_data_size\":4}");
    has(rig, 5, "\"procedure\":\"OpenSCManagerW\"}],\"res\":{\"frag_cnt\":1,\"stub_data_size\":7},\"call_id\":3}");
    app_rig_free(rig);
}
END_TEST

/* A response that does not fit into a message arrives in pieces: the first with the ioctl response, the rest by a read.
 */
START_TEST(cut_response_is_put_together)
{
    struct app_rig *rig = open_pipe(cuts[_i]);
    struct smb_wire call = { .length = 0 }, piece = { .length = 0 };

    put_call(&call, DCE_REQUEST, 3, "\4\0\0\0\0\0\x0f\0args", 12);
    transceive(rig, 5, &call, false, 0);
    call.length = 0;
    put_call(&call, DCE_RESPONSE, 3, "\4\0\0\0\0\0\0\0results", 15);
    wire_bytes(&piece, call.bytes, 20);
    transceive(rig, 5, &piece, true, (uint32_t)SMB_STATUS_BUFFER_OVERFLOW);
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 4), FLOW_TO_CLIENT));
    piece.length = 0;
    wire_bytes(&piece, call.bytes + 20, call.length - 20);
    transceive(rig, 5, &piece, true, 0);
    has(rig, 4, "\"res\":{\"frag_cnt\":1,\"stub_data_size\":7}");
    app_rig_free(rig);
}
END_TEST

/* The messages that opened tree and file were not seen; a DCE/RPC call is recognised by its bytes. */
START_TEST(pipe_is_recognized)
{
    struct app_rig *rig = start(cuts[_i]);
    struct smb_wire wire = smb2_begin(9, false, (struct smb2_ids){ .message = 9, .session = 7, .tree = 1 });

    put_write(&wire, 0, 16 + sizeof(bind_body), 0);
    put_call(&wire, DCE_BIND, 3, bind_body, sizeof(bind_body));
    smb_send(rig, FLOW_TO_SERVER, &wire);
    has(rig, 0, "SMB2_COMMAND_WRITE");
    has(rig, 0, "\"request\":\"BIND\"");
    app_rig_free(rig);
}
END_TEST

/* --- Records -------------------------------------------------------------------------------------- */

START_TEST(chain_is_read)
{
    struct app_rig *rig = start(cuts[_i]);
    struct smb_wire wire = smb2_begin(13, false, (struct smb2_ids){ .message = 1 }), second;

    wire_zeros(&wire, 8);
    wire.bytes[4 + 20] = (uint8_t)(wire.length - 4);
    second = smb2_begin(2, false, (struct smb2_ids){ .message = 2 });
    wire_bytes(&wire, second.bytes + 4, second.length - 4);
    wire_zeros(&wire, 4);
    smb_send(rig, FLOW_TO_SERVER, &wire);
    has(rig, 0, "SMB2_COMMAND_KEEPALIVE");
    has(rig, 1, "SMB2_COMMAND_SESSION_LOGOFF");
    app_rig_free(rig);
}
END_TEST

START_TEST(encrypted_records_are_passed_over)
{
    struct app_rig *rig = start(cuts[_i]);
    struct smb_wire wire = { .length = 4 };

    wire_bytes(&wire, "\xfdSMB", 4);
    wire_zeros(&wire, 200);
    smb_send(rig, FLOW_TO_SERVER, &wire);
    negotiate(rig);
    has(rig, 0, "SMB2_COMMAND_NEGOTIATE_PROTOCOL");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Only the beginning of a long record is stored. */
START_TEST(long_record_is_not_kept)
{
    struct app_rig *rig = start(cuts[_i] == 1 ? 1000 : cuts[_i]);
    struct smb_wire wire = smb2_begin(14, false, (struct smb2_ids){ .message = 1 });
    uint8_t *zeros = calloc(1, 2 << 20);

    ck_assert_ptr_nonnull(zeros);
    smb_finish(&wire);
    wire.bytes[1] = 0x20; /* 2 MiB */
    app_rig_send(rig, FLOW_TO_SERVER, wire.bytes, wire.length);
    app_rig_send(rig, FLOW_TO_SERVER, zeros, (2 << 20) + load_be16(wire.bytes + 2) - (wire.length - 4));
    negotiate(rig);
    has(rig, 0, "SMB2_COMMAND_FIND");
    has(rig, 1, "SMB2_COMMAND_NEGOTIATE_PROTOCOL");
    ck_assert(!rig->failed);
    free(zeros);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
} broken[] = {
    { "\x00\x00\x00\x08\xfeSMB\x40\x00\x00\x00", 12 }, /* a header that is cut off */
    { "\x00\x00\x00\x08\xffSMB\x72\x00\x00\x00", 12 },
    { "\x00\x00\x00\x04nope", 8 },
    { "\x01\x00\x00\x00", 4 },
};

START_TEST(broken_record_fails)
{
    struct app_rig *rig = start(cuts[_i % CUTS]);
    unsigned row = (unsigned)_i / CUTS;

    negotiate(rig);
    app_rig_send(rig, FLOW_TO_SERVER, broken[row].bytes, broken[row].length);
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 1, "malformed_data"));
    app_rig_free(rig);
}
END_TEST

START_TEST(too_many_transactions_fail)
{
    struct app_rig *rig = start_with(cuts[_i], "app-layer:\n  protocols:\n    smb:\n      max-tx: 2\n");

    for (unsigned i = 0; i < 3; i++) {
        struct smb_wire wire = smb2_begin(14, false, (struct smb2_ids){ .message = i });

        ck_assert(!rig->failed);
        wire_zeros(&wire, 32);
        smb_send(rig, FLOW_TO_SERVER, &wire);
    }
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 2, "too_many_transactions"));
    app_rig_free(rig);
}
END_TEST

START_TEST(wrong_direction_is_told)
{
    struct app_rig *rig = start(cuts[_i]);
    struct smb_wire wire = smb2_begin(14, true, (struct smb2_ids){ .message = 1 });

    negotiate(rig);
    wire_zeros(&wire, 8);
    smb_send(rig, FLOW_TO_SERVER, &wire);
    ck_assert(app_rig_has_event(rig, 1, "response_to_server"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* --- SMB 1 ---------------------------------------------------------------------------------------- */

static void put_chain_end(struct smb_wire *wire, uint8_t words)
{
    wire_number(wire, 1, words);
    wire_number(wire, 4, 0xff);
}

static void connect_tree1(struct app_rig *rig, const char *path, const char *service)
{
    struct smb_wire request = smb1_begin(0x75, false, (struct smb1_ids){ .session = 2, .message = 4 });
    struct smb_wire response = smb1_begin(0x75, true, (struct smb1_ids){ .tree = 5, .session = 2, .message = 4 });

    put_chain_end(&request, 4);
    wire_number(&request, 2, 0);
    wire_number(&request, 2, 1);
    wire_number(&request, 2, 0);
    wire_zeros(&request, 1);
    wire_utf16(&request, path);
    wire_zeros(&request, 2);
    wire_bytes(&request, service, strlen(service) + 1);
    smb_send(rig, FLOW_TO_SERVER, &request);
    put_chain_end(&response, 3);
    wire_zeros(&response, 4);
    wire_bytes(&response, service, strlen(service) + 1);
    smb_send(rig, FLOW_TO_CLIENT, &response);
}

static void create1(struct app_rig *rig, const char *name)
{
    struct smb_wire request = smb1_begin(0xa2, false, (struct smb1_ids){ 5, 2, 6, 0 });
    struct smb_wire response = smb1_begin(0xa2, true, (struct smb1_ids){ 5, 2, 6, 0 });

    put_chain_end(&request, 24);
    wire_zeros(&request, 1);
    wire_number(&request, 2, 2 * strlen(name));
    wire_zeros(&request, 28);
    wire_number(&request, 4, 1);
    wire_zeros(&request, 9);
    wire_number(&request, 2, 2 * strlen(name) + 1);
    wire_zeros(&request, 1);
    wire_utf16(&request, name);
    smb_send(rig, FLOW_TO_SERVER, &request);
    put_chain_end(&response, 34);
    wire_zeros(&response, 1);
    wire_number(&response, 2, 0x4001);
    wire_zeros(&response, 63);
    smb_send(rig, FLOW_TO_CLIENT, &response);
}

static void write1(struct app_rig *rig, uint32_t offset, const char *data, uint16_t padding)
{
    struct smb_wire wire = smb1_begin(0x2f, false, (struct smb1_ids){ 5, 2, 7, 0 });

    put_chain_end(&wire, 14);
    wire_number(&wire, 2, 0x4001);
    wire_number(&wire, 4, offset);
    wire_zeros(&wire, 8);
    wire_number(&wire, 2, 0);
    wire_number(&wire, 2, strlen(data));
    wire_number(&wire, 2, 63 + padding);
    wire_number(&wire, 4, 0);
    wire_number(&wire, 2, strlen(data) + padding);
    wire_zeros(&wire, padding);
    wire_bytes(&wire, data, strlen(data));
    smb_send(rig, FLOW_TO_SERVER, &wire);
}

static void close1(struct app_rig *rig)
{
    struct smb_wire wire = smb1_begin(4, false, (struct smb1_ids){ 5, 2, 9, 0 });

    wire_number(&wire, 1, 3);
    wire_number(&wire, 2, 0x4001);
    wire_zeros(&wire, 6);
    smb_send(rig, FLOW_TO_SERVER, &wire);
}

START_TEST(old_file_is_read)
{
    struct app_rig *rig = start(cuts[_i]);

    connect_tree1(rig, "\\\\SRV\\C$", "A:");
    create1(rig, "\\a.txt");
    write1(rig, 0, "hello ", 1);
    write1(rig, 6, "world", 9);
    close1(rig);
    has(rig, 0, "\"command\":\"SMB1_COMMAND_TREE_CONNECT_ANDX\"");
    has(rig, 0, "\"share\":\"\\\\SRV\\\\C$\",\"service\":{\"request\":\"A:\",\"response\":\"A:\"}");
    has(rig, 1, "\"filename\":\"\\\\a.txt\",\"disposition\":\"FILE_OPEN\"");
    has(rig, 1, "\"fuid\":\"4001\"");
    assert_file(rig, 2, FLOW_TO_SERVER, "hello world", FILE_CLOSED);
    has(rig, 2, "\"command\":\"SMB1_COMMAND_WRITE_ANDX\"");
    app_rig_free(rig);
}
END_TEST

START_TEST(old_pipe_is_read)
{
    struct app_rig *rig = start(cuts[_i]);
    struct smb_wire request = smb1_begin(0x25, false, (struct smb1_ids){ 5, 2, 8, 0 });
    struct smb_wire call = { .length = 0 };

    connect_tree1(rig, "\\\\SRV\\IPC$", "IPC");
    create1(rig, "\\srvsvc");
    assert_text(rig, 0, "smb.named_pipe", "\\SRV\\IPC$");
    put_call(&call, DCE_REQUEST, 3, "\4\0\0\0\0\0\x0f\0args", 12);
    wire_number(&request, 1, 16);
    wire_zeros(&request, 22);
    wire_number(&request, 2, call.length);
    wire_number(&request, 2, 32 + 35);
    wire_number(&request, 2, 2);
    wire_number(&request, 2, 0x26);
    wire_number(&request, 2, 0x4001);
    wire_number(&request, 2, call.length);
    wire_bytes(&request, call.bytes, call.length);
    smb_send(rig, FLOW_TO_SERVER, &request);
    assert_text(rig, 2, "dcerpc.stub_data", "args");
    has(rig, 2, "\"command\":\"SMB1_COMMAND_TRANS\"");
    app_rig_free(rig);
}
END_TEST

START_TEST(old_dialect_is_chosen)
{
    struct app_rig *rig = start(cuts[_i]);
    struct smb_wire request = smb1_begin(0x72, false, (struct smb1_ids){ 0 });
    struct smb_wire response = smb1_begin(0x72, true, (struct smb1_ids){ 0 });

    wire_zeros(&request, 3);
    wire_bytes(&request, "\2PC NETWORK\0\2NT LM 0.12", 24);
    smb_send(rig, FLOW_TO_SERVER, &request);
    wire_number(&response, 1, 17);
    wire_number(&response, 2, 1);
    wire_zeros(&response, 34);
    smb_send(rig, FLOW_TO_CLIENT, &response);
    has(rig, 0, "\"dialect\":\"NT LM 0.12\",\"command\":\"SMB1_COMMAND_NEGOTIATE_PROTOCOL\"");
    has(rig, 0, "\"client_dialects\":[\"PC NETWORK\",\"NT LM 0.12\"],\"server_guid\":\"\"");
    app_rig_free(rig);
}
END_TEST

START_TEST(events_are_chosen)
{
    struct app_rig *rig = start_with(0, "eve:\n  types:\n    smb:\n      types: [create, tree_connect]\n");

    negotiate(rig);
    log_in(rig);
    connect_tree(rig, "\\\\SRV\\C$", 1);
    ck_assert(!app_tx_needs_log(rig->app, app_rig_tx(rig, 0), true));
    ck_assert(!app_tx_needs_log(rig->app, app_rig_tx(rig, 1), true));
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 2), true));
    app_rig_free(rig);
}
END_TEST

START_TEST(table_forgets_the_oldest)
{
    struct heap *heap;
    struct smb_table table = { .count = 0 };
    struct smb_table_key key = { .length = 4 };

    ck_assert_int_eq(heap_new(&heap, 1 << 20), 0);
    for (uint32_t i = 0; i < 100; i++) {
        memcpy(key.bytes, &i, 4);
        ck_assert_ptr_nonnull(smb_table_add(heap, &table, 10, &key));
    }
    ck_assert_uint_eq(table.count, 10);
    memcpy(key.bytes, &(uint32_t){ 89 }, 4);
    ck_assert_ptr_null(smb_table_find(&table, &key));
    memcpy(key.bytes, &(uint32_t){ 90 }, 4);
    ck_assert_ptr_nonnull(smb_table_find(&table, &key));
    smb_table_remove(heap, &table, smb_table_find(&table, &key));
    ck_assert_ptr_null(smb_table_find(&table, &key));
    smb_table_clear(heap, &table);
    ck_assert_uint_eq(heap_memory(heap), 0);
    heap_free(heap);
}
END_TEST

static void add(TCase *tests, const TTest *test, int rows)
{
    tcase_add_loop_test(tests, test, 0, rows * CUTS);
}

int main(void)
{
    Suite *suite = suite_create("app_smb");
    TCase *tests = tcase_create("smb");

    add(tests, login_is_read, 1);
    add(tests, written_file_is_put_in_order, 1);
    add(tests, overlap_is_told, 1);
    add(tests, read_file_ends, 1);
    add(tests, gap_in_a_file_is_survived, 1);
    add(tests, record_is_found_after_a_gap, 1);
    add(tests, size_of_a_write_is_checked, (int)(sizeof(sizes) / sizeof(sizes[0])));
    add(tests, queue_has_a_limit, 1);
    add(tests, pipe_is_read, 1);
    add(tests, cut_response_is_put_together, 1);
    add(tests, pipe_is_recognized, 1);
    add(tests, chain_is_read, 1);
    add(tests, encrypted_records_are_passed_over, 1);
    add(tests, long_record_is_not_kept, 1);
    add(tests, broken_record_fails, (int)(sizeof(broken) / sizeof(broken[0])));
    add(tests, too_many_transactions_fail, 1);
    add(tests, wrong_direction_is_told, 1);
    add(tests, old_file_is_read, 1);
    add(tests, old_pipe_is_read, 1);
    add(tests, old_dialect_is_chosen, 1);
    tcase_add_test(tests, events_are_chosen);
    tcase_add_test(tests, table_forgets_the_oldest);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
