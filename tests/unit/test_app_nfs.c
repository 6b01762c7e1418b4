/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NFS: calls and replies of all versions, names of handles, records on TCP, gaps, malformed messages, EVE. */
#include <check.h>

#include "../lib/app_rig.h"

/* Numbers of RFC 1057, 1094 and 1813. */
enum {
    RPC_AUTH_UNIX = 1,
    NFS_PROGRAM = 100003,
    NFS2_LOOKUP = 4,
    NFS2_READ = 6,
    NFS2_WRITE = 8,
    NFS2_CREATE = 9,
    NFS3_COMMIT = 21,
    NFS4_COMPOUND = 1,
    OP_CLOSE = 4,
    OP_GETFH = 10,
    OP_OPEN = 18,
    OP_PUTFH = 22,
    OP_READ = 25,
    OP_WRITE = 38,
    NFS3_LOOKUP = 3,
    NFS3_ACCESS = 4,
    NFS3_READ = 6,
    NFS3_WRITE = 7,
    NFS3_RENAME = 14,
    NFS3_READDIRPLUS = 17,
};

/* The limits of nfs.md. */
enum { NFS_READ_MAX = 16384, NFS_CALLS_MAX = 1000, NFS_NAMES = 64, NFS_FILES_MAX = 64 };

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

struct message {
    uint8_t bytes[48 << 10];
    size_t length;
};

static void put(struct message *m, const void *bytes, size_t length)
{
    ck_assert_uint_le(m->length + length, sizeof(m->bytes));
    memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
}

static void put32(struct message *m, uint32_t value)
{
    const uint8_t bytes[] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value };

    put(m, bytes, 4);
}

static void put_opaque(struct message *m, const char *text)
{
    put32(m, (uint32_t)strlen(text));
    put(m, text, strlen(text));
    put(m, "\0\0\0", (4 - strlen(text) % 4) % 4);
}

static void start_call(struct message *m, uint32_t xid, uint32_t version, uint32_t procedure)
{
    m->length = 0;
    put32(m, xid);
    put32(m, 0);
    put32(m, 2);
    put32(m, NFS_PROGRAM);
    put32(m, version);
    put32(m, procedure);
    put32(m, RPC_AUTH_UNIX);
    put32(m, 4 + 12 + 12);
    put32(m, 7);
    put_opaque(m, "host1");
    put32(m, 1000);
    put32(m, 100);
    put32(m, 0);
    put32(m, 0);
    put32(m, 0);
}

static void put64(struct message *m, uint64_t value)
{
    put32(m, (uint32_t)(value >> 32));
    put32(m, (uint32_t)value);
}

static void start_reply(struct message *m, uint32_t xid, uint32_t status)
{
    m->length = 0;
    put32(m, xid);
    put32(m, 1);
    put32(m, 0);
    put32(m, 0);
    put32(m, 0);
    put32(m, 0);
    put32(m, status);
}

static struct app_rig *nfs_rig_with(unsigned transport, int cut, const char *yaml)
{
    struct app_rig *rig = app_rig_new("nfs", yaml);

    rig->transport = transport;
    app_rig_start_flow(rig);
    rig->flow.server_port = 2049;
    rig->cut = cut;
    return rig;
}

static struct app_rig *nfs_rig(unsigned transport, int cut)
{
    return nfs_rig_with(transport, cut, NULL);
}

static void send_record(struct app_rig *rig, enum flow_direction direction, const struct message *m)
{
    static struct message record;

    record.length = 0;
    if (rig->transport == APP_TCP)
        put32(&record, 0x80000000 | (uint32_t)m->length);
    put(&record, m->bytes, m->length);
    app_rig_send(rig, direction, record.bytes, record.length);
}

static const struct {
    unsigned transport;
    int cut;
} ways[] = { { APP_UDP, 0 }, { APP_TCP, 0 }, { APP_TCP, 1 }, { APP_TCP, -1 } };

#define RPC(xid)                                                                                                       \
    ",\"rpc\":{\"xid\":" xid ",\"status\":\"ACCEPTED\",\"auth_type\":\"UNIX\",\"creds\":{\"machine_name\":\"host1\","  \
    "\"uid\":1000,\"gid\":100}}}"

START_TEST(calls_are_paired_with_replies)
{
    struct app_rig *rig = nfs_rig(ways[_i].transport, ways[_i].cut);
    static struct message m;

    start_call(&m, 1, 3, NFS3_LOOKUP);
    put_opaque(&m, "dir");
    put_opaque(&m, "a.txt");
    send_record(rig, FLOW_TO_SERVER, &m);
    start_call(&m, 2, 3, NFS3_RENAME);
    put_opaque(&m, "123456789"); /* its CRC-32 is a well-known test value */
    put_opaque(&m, "old");
    put_opaque(&m, "dir");
    put_opaque(&m, "new");
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    start_reply(&m, 2, 13);
    send_record(rig, FLOW_TO_CLIENT, &m);
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    start_reply(&m, 1, 0);
    put_opaque(&m, "123456789");
    send_record(rig, FLOW_TO_CLIENT, &m);
    start_call(&m, 3, 3, NFS3_ACCESS);
    put_opaque(&m, "123456789");
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"version\":3,\"procedure\":\"LOOKUP\",\"filename\":\"a.txt\",\"hhash\":\"cbf43926\",\"id\":1,"
                     "\"file_tx\":false,\"type\":\"response\",\"status\":\"OK\"" RPC("1"));
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"version\":3,\"procedure\":\"RENAME\",\"filename\":\"old\",\"hhash\":\"cbf43926\",\"id\":2,"
                     "\"file_tx\":false,\"type\":\"response\",\"status\":\"ERR_ACCES\",\"rename\":{\"from\":\"old\","
                     "\"to\":\"new\"}" RPC("2"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"procedure\":\"ACCESS\",\"filename\":\"a.txt\""));
    start_call(&m, 4, 3, NFS3_LOOKUP); /* fails: the handle is that of the directory */
    put_opaque(&m, "123456789");
    put_opaque(&m, "missing");
    send_record(rig, FLOW_TO_SERVER, &m);
    start_reply(&m, 4, 2);
    send_record(rig, FLOW_TO_CLIENT, &m);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 3), "\"filename\":\"missing\",\"hhash\":\"cbf43926\""));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(directories_tell_names)
{
    struct app_rig *rig = nfs_rig(APP_TCP, ways[_i].cut);
    static const uint8_t attributes[84];
    static struct message m;

    start_call(&m, 1, 3, NFS3_READDIRPLUS);
    put_opaque(&m, "dir");
    send_record(rig, FLOW_TO_SERVER, &m);
    start_reply(&m, 1, 0);
    put32(&m, 1);
    put(&m, attributes, sizeof(attributes));
    put(&m, "verifier", 8);
    put32(&m, 1);
    put(&m, "fileid 1", 8);
    put_opaque(&m, "first");
    put(&m, "cookie 1", 8);
    put32(&m, 0);
    put32(&m, 1);
    put_opaque(&m, "h1");
    put32(&m, 0);
    send_record(rig, FLOW_TO_CLIENT, &m);
    start_call(&m, 2, 3, NFS3_ACCESS);
    put_opaque(&m, "h1");
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"procedure\":\"READDIRPLUS\",\"filename\":\"\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"procedure\":\"ACCESS\",\"filename\":\"first\""));
    app_rig_free(rig);
}
END_TEST

/* A call that reads from the offset, in version 3. */
static void start_read(struct message *m, uint32_t xid, const char *handle, uint64_t offset)
{
    start_call(m, xid, 3, NFS3_READ);
    put_opaque(m, handle);
    put64(m, offset);
    put32(m, 100);
}

static void start_read_reply(struct message *m, uint32_t xid, bool is_end, uint32_t length)
{
    start_reply(m, xid, 0);
    put32(m, 0);
    put32(m, length);
    put32(m, is_end);
    put32(m, length);
}

/* A call that writes, in version 3, up to the data. */
static void start_write(struct message *m, uint32_t xid, const char *handle, uint64_t offset, uint32_t stable,
                        uint32_t length)
{
    start_call(m, xid, 3, NFS3_WRITE);
    put_opaque(m, handle);
    put64(m, offset);
    put32(m, length);
    put32(m, stable);
    put32(m, length);
}

static void check_file(const struct app_rig *rig, uint64_t id, enum flow_direction direction, const char *content,
                       enum file_state state)
{
    const struct file *file = app_rig_tx(rig, id)->files[direction].first;

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(file->data.length, strlen(content));
    ck_assert_mem_eq(file->data.bytes, content, strlen(content));
    ck_assert_int_eq(file->state, state);
}

static void look_up(struct app_rig *rig, uint32_t xid, const char *name, const char *handle)
{
    static struct message m;

    start_call(&m, xid, 3, NFS3_LOOKUP);
    put_opaque(&m, "dir");
    put_opaque(&m, name);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_reply(&m, xid, 0);
    put_opaque(&m, handle);
    send_record(rig, FLOW_TO_CLIENT, &m);
}

/* The reads of a file form a transaction; the replies arrive in another order. */
START_TEST(reads_form_a_file)
{
    struct app_rig *rig = nfs_rig(ways[_i].transport, ways[_i].cut);
    static struct message m;

    look_up(rig, 1, "a.txt", "123456789");
    start_read(&m, 2, "123456789", 0);
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"read\":{\"first\":true,\"last\":false,\"last_xid\":0,"
                                                       "\"chunks\":0}"));
    start_read(&m, 3, "123456789", 6);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_read(&m, 4, "another", 0); /* another file */
    send_record(rig, FLOW_TO_SERVER, &m);
    start_read_reply(&m, 3, true, 5);
    put(&m, "world\0\0\0", 8);
    send_record(rig, FLOW_TO_CLIENT, &m);
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    start_read_reply(&m, 2, false, 6);
    put(&m, "hello \0\0", 8);
    send_record(rig, FLOW_TO_CLIENT, &m);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    check_file(rig, 1, FLOW_TO_CLIENT, "hello world", FILE_CLOSED);
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"version\":3,\"procedure\":\"READ\",\"filename\":\"a.txt\",\"hhash\":\"cbf43926\",\"id\":2,"
                     "\"file_tx\":true,\"type\":\"response\",\"status\":\"OK\",\"read\":{\"first\":true,\"last\":true,"
                     "\"last_xid\":3,\"chunks\":2}" RPC("2"));
    start_reply(&m, 4, 70); /* a read that fails */
    put32(&m, 0);
    send_record(rig, FLOW_TO_CLIENT, &m);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 2), FLOW_TO_CLIENT));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"status\":\"ERR_STALE\""));
    ck_assert_ptr_null(app_rig_tx(rig, 2)->files[FLOW_TO_CLIENT].first);
    ck_assert_ptr_null(app_rig_tx(rig, 3));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(writes_form_a_file)
{
    struct app_rig *rig = nfs_rig(ways[_i].transport, ways[_i].cut);
    static struct message m;

    start_write(&m, 1, "h", 4, 0, 4);
    put(&m, "more", 4);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_write(&m, 2, "h", 0, 0, 4);
    put(&m, "data", 4);
    send_record(rig, FLOW_TO_SERVER, &m);
    check_file(rig, 0, FLOW_TO_SERVER, "datamore", FILE_OPEN);
    start_call(&m, 3, 3, NFS3_COMMIT);
    put_opaque(&m, "h");
    put64(&m, 0);
    put32(&m, 0);
    send_record(rig, FLOW_TO_SERVER, &m);
    check_file(rig, 0, FLOW_TO_SERVER, "datamore", FILE_CLOSED);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER));
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    for (uint32_t xid = 1; xid <= 3; xid++) {
        start_reply(&m, xid, xid == 3 ? 28 : 0);
        send_record(rig, FLOW_TO_CLIENT, &m);
    }
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"procedure\":\"WRITE\",\"filename\":\"\",\"hhash\":"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"status\":\"ERR_NOSPC\",\"write\":{\"first\":true,\"last\":"
                                                       "true,\"last_xid\":3,\"chunks\":2}"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"procedure\":\"COMMIT\""));
    start_write(&m, 4, "h", 0, 2, 3); /* FILE_SYNC: the whole file */
    put(&m, "new\0", 4);
    send_record(rig, FLOW_TO_SERVER, &m);
    check_file(rig, 2, FLOW_TO_SERVER, "new", FILE_CLOSED);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Data beyond the first NFS_READ_MAX bytes of a record belongs to the file. */
START_TEST(long_data_is_complete)
{
    struct app_rig *rig = nfs_rig(APP_TCP, ways[_i].cut);
    static struct message m;
    const uint32_t length = 2 * NFS_READ_MAX + 1;
    const struct file *file;

    start_write(&m, 1, "h", 0, 0, length);
    for (uint32_t i = 0; i < length; i++)
        put(&m, i % 2 ? "a" : "b", 1);
    put(&m, "\0\0\0", 3);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_write(&m, 2, "h", length, 0, 3);
    put(&m, "end\0", 4);
    send_record(rig, FLOW_TO_SERVER, &m);
    app_rig_end(rig, FLOW_TO_SERVER);
    file = app_rig_tx(rig, 0)->files[FLOW_TO_SERVER].first;
    ck_assert_uint_eq(file->size, length + 3);
    ck_assert_mem_eq(file->data.bytes + length - 3,
                     "bab"
                     "end",
                     6);
    ck_assert_int_eq(file->state, FILE_CLOSED);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(version_4_has_files)
{
    struct app_rig *rig = nfs_rig(APP_TCP, ways[_i].cut);
    static struct message m;

    start_call(&m, 1, 4, NFS4_COMPOUND);
    put_opaque(&m, "");
    put32(&m, 0);
    put32(&m, 3);
    put32(&m, OP_PUTFH);
    put_opaque(&m, "dir");
    put32(&m, OP_OPEN);
    put(&m, "seqid, access, deny; client.", 20);
    put_opaque(&m, "owner");
    put32(&m, 0);
    put32(&m, 0);
    put_opaque(&m, "four.txt");
    put32(&m, OP_GETFH);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_reply(&m, 1, 0);
    put_opaque(&m, "");
    put32(&m, 3);
    put32(&m, OP_PUTFH);
    put32(&m, 0);
    put32(&m, OP_OPEN);
    put32(&m, 0);
    put(&m, "a state id of 16; change information of flags.", 40);
    put32(&m, 0);
    put32(&m, 0);
    put32(&m, OP_GETFH);
    put32(&m, 0);
    put_opaque(&m, "123456789");
    send_record(rig, FLOW_TO_CLIENT, &m);
    start_call(&m, 2, 4, NFS4_COMPOUND);
    put_opaque(&m, "");
    put32(&m, 0);
    put32(&m, 2);
    put32(&m, OP_PUTFH);
    put_opaque(&m, "123456789");
    put32(&m, OP_READ);
    put(&m, "a state id of 16", 16);
    put64(&m, 0);
    put32(&m, 100);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_reply(&m, 2, 0);
    put_opaque(&m, "");
    put32(&m, 2);
    put32(&m, OP_PUTFH);
    put32(&m, 0);
    put32(&m, OP_READ);
    put32(&m, 0);
    put32(&m, 1);
    put_opaque(&m, "read with version 4");
    send_record(rig, FLOW_TO_CLIENT, &m);
    start_call(&m, 3, 4, NFS4_COMPOUND);
    put_opaque(&m, "");
    put32(&m, 0);
    put32(&m, 3);
    put32(&m, OP_PUTFH);
    put_opaque(&m, "123456789");
    put32(&m, OP_WRITE);
    put(&m, "a state id of 16", 16);
    put64(&m, 0);
    put32(&m, 0);
    put_opaque(&m, "written");
    put32(&m, OP_CLOSE);
    put(&m, "seq.a state id of 16", 20);
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"procedure\":\"OPEN\",\"filename\":\"four.txt\""));
    check_file(rig, 1, FLOW_TO_CLIENT, "read with version 4", FILE_CLOSED);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"procedure\":\"READ\",\"filename\":\"four.txt\""));
    check_file(rig, 2, FLOW_TO_SERVER, "written", FILE_CLOSED);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"procedure\":\"WRITE\",\"filename\":\"four.txt\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 3), "\"procedure\":\"CLOSE\""));
    for (uint64_t id = 0; id < 4; id++)
        ck_assert(!app_rig_has_event(rig, id, "malformed_data"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Parts of many files are read: the oldest files are completed. */
START_TEST(files_are_limited)
{
    struct app_rig *rig = nfs_rig(APP_UDP, 0);
    static struct message m;
    char handle[16];

    for (uint32_t i = 0; i <= NFS_FILES_MAX; i++) {
        snprintf(handle, sizeof(handle), "f%u", i);
        start_read(&m, i, handle, 0);
        send_record(rig, FLOW_TO_SERVER, &m);
        if (i == 0)
            continue; /* the reply to the first read is missing */
        start_read_reply(&m, i, false, 4);
        put(&m, "part", 4);
        send_record(rig, FLOW_TO_CLIENT, &m);
    }
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 2), FLOW_TO_CLIENT));
    ck_assert(!app_rig_has_event(rig, 1, "too_many_transactions"));
    app_rig_free(rig);
}
END_TEST

START_TEST(version_2_is_read)
{
    struct app_rig *rig = nfs_rig(APP_UDP, 0);
    static const uint8_t directory[32] = { 1 }, file[32] = { 2 }, attributes[44];
    static struct message m;

    start_call(&m, 1, 2, NFS2_LOOKUP);
    put(&m, directory, 32);
    put_opaque(&m, "two");
    send_record(rig, FLOW_TO_SERVER, &m);
    start_reply(&m, 1, 0);
    put(&m, file, 32);
    send_record(rig, FLOW_TO_CLIENT, &m);
    start_call(&m, 2, 2, NFS2_READ);
    put(&m, file, 32);
    put32(&m, 3);
    put32(&m, 100);
    put32(&m, 0);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_call(&m, 3, 2, NFS2_READ);
    put(&m, file, 32);
    put32(&m, 0);
    put32(&m, 3);
    put32(&m, 0);
    send_record(rig, FLOW_TO_SERVER, &m);
    for (uint32_t xid = 3; xid >= 2; xid--) {
        start_reply(&m, xid, 0);
        put(&m, attributes, 20);
        put32(&m, 5); /* the size */
        put(&m, attributes, 44);
        put_opaque(&m, xid == 3 ? "fir" : "st");
        send_record(rig, FLOW_TO_CLIENT, &m);
    }
    check_file(rig, 1, FLOW_TO_CLIENT, "first", FILE_CLOSED);
    start_call(&m, 3, 2, 17);
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"version\":2,\"procedure\":\"READ\",\"filename\":\"two\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"procedure\":\"STATFS\""));
    app_rig_free(rig);
}
END_TEST

static void start_write_2(struct message *m, uint32_t xid, uint32_t offset, uint32_t length)
{
    static const uint8_t file[32] = { 2 };

    start_call(m, xid, 2, NFS2_WRITE);
    put(m, file, sizeof(file));
    put32(m, 77); /* not used */
    put32(m, offset);
    put32(m, 77);
    put32(m, length);
}

START_TEST(version_2_writes_a_file)
{
    struct app_rig *rig = nfs_rig_with(ways[_i].transport, ways[_i].cut,
                                       "app-layer: { protocols: { nfs: { version-2-writes: yes } } }\n");
    static const uint8_t directory[32] = { 1 }, file[32] = { 2 }, attributes[68];
    static struct message m;

    start_call(&m, 1, 2, NFS2_CREATE);
    put(&m, directory, sizeof(directory));
    put_opaque(&m, "two");
    put(&m, attributes, 32);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_reply(&m, 1, 0);
    put(&m, file, sizeof(file));
    put(&m, attributes, sizeof(attributes));
    send_record(rig, FLOW_TO_CLIENT, &m);
    start_write_2(&m, 2, 4, 4);
    put(&m, "more", 4);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_write_2(&m, 3, 0, 4);
    put(&m, "data", 4);
    send_record(rig, FLOW_TO_SERVER, &m);
    for (uint32_t xid = 2; xid <= 3; xid++) {
        start_reply(&m, xid, 0);
        put(&m, attributes, sizeof(attributes));
        send_record(rig, FLOW_TO_CLIENT, &m);
    }
    check_file(rig, 1, FLOW_TO_SERVER, "datamore", FILE_OPEN);
    start_write_2(&m, 4, 8, 2);
    put(&m, "!!\0\0", 4);
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_SERVER));
    app_rig_close(rig);
    check_file(rig, 1, FLOW_TO_SERVER, "datamore!!", ways[_i].transport == APP_UDP ? FILE_OPEN : FILE_CLOSED);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"version\":2,\"procedure\":\"WRITE\",\"filename\":\"two\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"chunks\":2}"));
    ck_assert_ptr_null(app_rig_tx(rig, 2));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(compound_has_its_operation)
{
    struct app_rig *rig = nfs_rig(APP_TCP, ways[_i].cut);
    static struct message m;

    start_call(&m, 1, 4, 1);
    put_opaque(&m, "tag");
    put32(&m, 1);
    put32(&m, 4);
    put32(&m, 53);
    put(&m, "a session and its numbers, 32 by", 32);
    put32(&m, 22);
    put_opaque(&m, "123456789");
    put32(&m, 28);
    put_opaque(&m, "gone");
    put32(&m, 9);
    put32(&m, 1);
    put32(&m, 1);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_call(&m, 2, 4, 1); /* only operations that select a file */
    put_opaque(&m, "");
    put32(&m, 1);
    put32(&m, 1);
    put32(&m, 24);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_call(&m, 3, 4, 1);
    put_opaque(&m, "");
    put32(&m, 1);
    put32(&m, 2);
    put32(&m, 24);
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"version\":4,\"procedure\":\"REMOVE\",\"filename\":\"gone\",\"hhash\":\"cbf43926\",\"id\":1,"
                     "\"file_tx\":false,\"type\":\"response\",\"status\":\"OK\"" RPC("1"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"procedure\":\"COMPOUND\""));
    ck_assert(!app_rig_has_event(rig, 1, "malformed_data"));
    ck_assert(app_rig_has_event(rig, 2, "malformed_data"));
    app_rig_free(rig);
}
END_TEST

START_TEST(broken_messages_have_their_event)
{
    struct app_rig *rig = nfs_rig(ways[_i].transport, ways[_i].cut);
    static struct message m;

    start_call(&m, 1, 3, NFS3_LOOKUP);
    put_opaque(&m, "dir");
    put_opaque(&m, "a");
    send_record(rig, FLOW_TO_SERVER, &m);
    start_call(&m, 2, 3, NFS3_LOOKUP);
    put32(&m, 200); /* handle too long */
    send_record(rig, FLOW_TO_SERVER, &m);
    start_call(&m, 3, 5, 1);
    send_record(rig, FLOW_TO_SERVER, &m);
    m.length = 0;
    put32(&m, 4);
    put32(&m, 77);
    send_record(rig, FLOW_TO_SERVER, &m);
    start_call(&m, 5, 3, 1);
    m.bytes[15] ^= 1; /* another program */
    send_record(rig, FLOW_TO_SERVER, &m);
    start_reply(&m, 1, 0);
    m.length = 14;
    send_record(rig, FLOW_TO_CLIENT, &m);
    ck_assert(app_rig_has_event(rig, 0, "malformed_data"));
    ck_assert(app_rig_has_event(rig, 1, "malformed_data"));
    ck_assert(app_rig_has_event(rig, 2, "non_existing_version"));
    ck_assert(app_rig_has_event(rig, 3, "malformed_data"));
    ck_assert_ptr_null(app_rig_tx(rig, 4));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(long_records_are_skipped)
{
    struct app_rig *rig = nfs_rig(APP_TCP, ways[_i].cut);
    static struct message m;
    static uint8_t rest[20000];

    start_write(&m, 1, "h", 0, 0, NFS_READ_MAX);
    for (uint32_t i = 0; i < NFS_READ_MAX / 4; i++)
        put32(&m, 0x61616161);
    send_record(rig, FLOW_TO_SERVER, &m);
    app_rig_send(rig, FLOW_TO_SERVER, "\x80\0\x4e\x20",
                 4); /* 20,000 bytes, with a gap of 2,000 after the first 16,384 */
    start_write(&m, 2, "i", 0, 0, 19000);
    memcpy(rest, m.bytes, m.length);
    app_rig_send(rig, FLOW_TO_SERVER, rest, NFS_READ_MAX + 100);
    app_rig_lose(rig, FLOW_TO_SERVER, 2000);
    app_rig_send(rig, FLOW_TO_SERVER, rest, 20000 - NFS_READ_MAX - 2100);
    app_rig_send(rig, FLOW_TO_SERVER,
                 "\0\0\0\x04"
                 "skip"
                 "\x80\0\0\x04"
                 "skip",
                 16); /* fragments */
    start_call(&m, 3, 3, 18);
    send_record(rig, FLOW_TO_SERVER, &m);
    for (uint64_t id = 0; id < 2; id++)
        ck_assert_ptr_nonnull(strstr(app_rig_json(rig, id), "\"procedure\":\"WRITE\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"procedure\":\"FSSTAT\""));
    ck_assert(!app_rig_has_event(rig, 1, "malformed_data"));
    ck_assert_uint_eq(app_rig_tx(rig, 1)->files[FLOW_TO_SERVER].first->size, 19000);
    ck_assert(app_rig_tx(rig, 1)->files[FLOW_TO_SERVER].first->has_gaps);
    app_rig_lose(rig, FLOW_TO_SERVER, 10); /* a gap between records: the next one is found by its header */
    app_rig_send(rig, FLOW_TO_SERVER, "the rest of a record", 20);
    start_call(&m, 4, 3, 20);
    send_record(rig, FLOW_TO_SERVER, &m);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 3), "\"procedure\":\"PATHCONF\""));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(endless_record_fails)
{
    struct app_rig *rig = nfs_rig(APP_TCP, ways[_i].cut);
    static struct message m;

    start_call(&m, 1, 3, 0);
    send_record(rig, FLOW_TO_SERVER, &m);
    app_rig_send(rig, FLOW_TO_SERVER, "\xff\xff\xff\xff", 4);
    ck_assert(app_rig_has_event(rig, 1, "malformed_data"));
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(calls_are_limited)
{
    struct app_rig *rig = nfs_rig(APP_UDP, 0);
    static struct message m;

    for (uint32_t i = 0; i <= NFS_CALLS_MAX; i++) {
        start_call(&m, i, 3, 0);
        send_record(rig, FLOW_TO_SERVER, &m);
    }
    ck_assert(app_rig_has_event(rig, 0, "too_many_transactions"));
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    ck_assert(!app_rig_has_event(rig, 1, "too_many_transactions"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(names_are_limited)
{
    struct app_rig *rig = nfs_rig(APP_UDP, 0);
    static struct message m;
    char text[16];

    for (uint32_t i = 0; i <= NFS_NAMES; i++) {
        snprintf(text, sizeof(text), "f%u", i);
        start_call(&m, i, 3, NFS3_LOOKUP);
        put_opaque(&m, "dir");
        put_opaque(&m, text);
        send_record(rig, FLOW_TO_SERVER, &m);
        start_reply(&m, i, 0);
        put_opaque(&m, text);
        send_record(rig, FLOW_TO_CLIENT, &m);
    }
    for (uint32_t i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "f%u", i);
        start_call(&m, 1000 + i, 3, NFS3_ACCESS);
        put_opaque(&m, text);
        send_record(rig, FLOW_TO_SERVER, &m);
    }
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, NFS_NAMES + 1), "\"filename\":\"\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, NFS_NAMES + 2), "\"filename\":\"f1\""));
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    bool reply;
    uint32_t version;
    bool found;
} finds[] = { { 9999, false, 3, true }, { 9999, false, 5, false }, { 2049, true, 0, true }, { 9999, true, 0, false } };

START_TEST(protocol_is_found)
{
    static const unsigned transports[] = { APP_UDP, APP_TCP };

    for (size_t i = 0; i < ROWS(transports); i++) {
        struct app_rig *rig = nfs_rig(transports[i], transports[i] == APP_TCP);
        static struct message m;

        rig->flow.server_port = finds[_i].port;
        start_call(&m, 1, finds[_i].version, 0);
        if (finds[_i].reply) {
            start_reply(&m, 1, 0);
            put32(&m, 0);
        }
        send_record(rig, finds[_i].reply ? FLOW_TO_CLIENT : FLOW_TO_SERVER, &m);
        const char *protocol = app_rig_protocol(rig);

        ck_assert_int_eq(protocol && strcmp(protocol, "nfs") == 0, finds[_i].found);
        app_rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_nfs");
    TCase *tests = tcase_create("nfs");

    tcase_add_loop_test(tests, calls_are_paired_with_replies, 0, ROWS(ways));
    tcase_add_loop_test(tests, directories_tell_names, 1, ROWS(ways));
    tcase_add_loop_test(tests, reads_form_a_file, 0, ROWS(ways));
    tcase_add_loop_test(tests, writes_form_a_file, 0, ROWS(ways));
    tcase_add_loop_test(tests, long_data_is_complete, 1, ROWS(ways));
    tcase_add_loop_test(tests, version_4_has_files, 1, ROWS(ways));
    tcase_add_test(tests, files_are_limited);
    tcase_add_test(tests, version_2_is_read);
    tcase_add_loop_test(tests, version_2_writes_a_file, 0, ROWS(ways));
    tcase_add_loop_test(tests, compound_has_its_operation, 1, ROWS(ways));
    tcase_add_loop_test(tests, broken_messages_have_their_event, 0, ROWS(ways));
    tcase_add_loop_test(tests, long_records_are_skipped, 1, ROWS(ways));
    tcase_add_loop_test(tests, endless_record_fails, 1, ROWS(ways));
    tcase_add_test(tests, calls_are_limited);
    tcase_add_test(tests, names_are_limited);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
