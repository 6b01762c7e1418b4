/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QUIC: the packets of RFC 9001 and RFC 9369, versions, CRYPTO data in any order, connections, errors, limits, EVE. */
#include <check.h>

#include "app_rig.h"
#include "app/quic/quic_priv.h"
#include "quic_builder.h"
#include "sluice/hex.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define CLIENT_ID "87654321"
#define SERVER_ID "abcdefgh"
#define FIRST_ID "12345678"

/* --- The packets of RFC 9001 appendix A and RFC 9369 appendix A ----------------------------------- */

static const char client_v1[] =
    "c000000001088394c8f03e5157080000449e7b9aec34d1b1c98dd7689fb8ec11d242b123dc9bd8bab936b47d92ec356c0bab7df5976d27cd"
    "449f63300099f3991c260ec4c60d17b31f8429157bb35a1282a643a8d2262cad67500cadb8e7378c8eb7539ec4d4905fed1bee1fc8aafba1"
    "7c750e2c7ace01e6005f80fcb7df621230c83711b39343fa028cea7f7fb5ff89eac2308249a02252155e2347b63d58c5457afd84d05dfffd"
    "b20392844ae812154682e9cf012f9021a6f0be17ddd0c2084dce25ff9b06cde535d0f920a2db1bf362c23e596d11a4f5a6cf3948838a3aec"
    "4e15daf8500a6ef69ec4e3feb6b1d98e610ac8b7ec3faf6ad760b7bad1db4ba3485e8a94dc250ae3fdb41ed15fb6a8e5eba0fc3dd60bc8e3"
    "0c5c4287e53805db059ae0648db2f64264ed5e39be2e20d82df566da8dd5998ccabdae053060ae6c7b4378e846d29f37ed7b4ea9ec5d82e7"
    "961b7f25a9323851f681d582363aa5f89937f5a67258bf63ad6f1a0b1d96dbd4faddfcefc5266ba6611722395c906556be52afe3f565636a"
    "d1b17d508b73d8743eeb524be22b3dcbc2c7468d54119c7468449a13d8e3b95811a198f3491de3e7fe942b330407abf82a4ed7c1b311663a"
    "c69890f4157015853d91e923037c227a33cdd5ec281ca3f79c44546b9d90ca00f064c99e3dd97911d39fe9c5d0b23a229a234cb36186c481"
    "9e8b9c5927726632291d6a418211cc2962e20fe47feb3edf330f2c603a9d48c0fcb5699dbfe5896425c5bac4aee82e57a85aaf4e2513e4f0"
    "5796b07ba2ee47d80506f8d2c25e50fd14de71e6c418559302f939b0e1abd576f279c4b2e0feb85c1f28ff18f58891ffef132eef2fa09346"
    "aee33c28eb130ff28f5b766953334113211996d20011a198e3fc433f9f2541010ae17c1bf202580f6047472fb36857fe843b19f5984009dd"
    "c324044e847a4f4a0ab34f719595de37252d6235365e9b84392b061085349d73203a4a13e96f5432ec0fd4a1ee65accdd5e3904df54c1da5"
    "10b0ff20dcc0c77fcb2c0e0eb605cb0504db87632cf3d8b4dae6e705769d1de354270123cb11450efc60ac47683d7b8d0f811365565fd98c"
    "4c8eb936bcab8d069fc33bd801b03adea2e1fbc5aa463d08ca19896d2bf59a071b851e6c239052172f296bfb5e72404790a2181014f3b94a"
    "4e97d117b438130368cc39dbb2d198065ae3986547926cd2162f40a29f0c3c8745c0f50fba3852e566d44575c29d39a03f0cda721984b6f4"
    "40591f355e12d439ff150aab7613499dbd49adabc8676eef023b15b65bfc5ca06948109f23f350db82123535eb8a7433bdabcb909271a6ec"
    "bcb58b936a88cd4e8f2e6ff5800175f113253d8fa9ca8885c2f552e657dc603f252e1a8e308f76f0be79e2fb8f5d5fbbe2e30ecadd220723"
    "c8c0aea8078cdfcb3868263ff8f0940054da48781893a7e49ad5aff4af300cd804a6b6279ab3ff3afb64491c85194aab760d58a606654f9f"
    "4400e8b38591356fbf6425aca26dc85244259ff2b19c41b9f96f3ca9ec1dde434da7d2d392b905ddf3d1f9af93d1af5950bd493f5aa731b4"
    "056df31bd267b6b90a079831aaf579be0a39013137aac6d404f518cfd46840647e78bfe706ca4cf5e9c5453e9f7cfd2b8b4c8d169a44e55c"
    "88d4a9a7f9474241e221af44860018ab0856972e194cd934";
static const char client_v2[] =
    "d76b3343cf088394c8f03e5157080000449ea0c95e82ffe67b6abcdb4298b485dd04de806071bf03dceebfa162e75d6c96058bdbfb127cdf"
    "cbf903388e99ad049f9a3dd4425ae4d0992cfff18ecf0fdb5a842d09747052f17ac2053d21f57c5d250f2c4f0e0202b70785b7946e992e58"
    "a59ac52dea6774d4f03b55545243cf1a12834e3f249a78d395e0d18f4d766004f1a2674802a747eaa901c3f10cda5500cb9122faa9f1df66"
    "c392079a1b40f0de1c6054196a11cbea40afb6ef5253cd6818f6625efce3b6def6ba7e4b37a40f7732e093daa7d52190935b8da58976ff33"
    "12ae50b187c1433c0f028edcc4c2838b6a9bfc226ca4b4530e7a4ccee1bfa2a3d396ae5a3fb512384b2fdd851f784a65e03f2c4fbe11a53c"
    "7777c023462239dd6f7521a3f6c7d5dd3ec9b3f233773d4b46d23cc375eb198c63301c21801f6520bcfb7966fc49b393f0061d974a2706df"
    "8c4a9449f11d7f3d2dcbb90c6b877045636e7c0c0fe4eb0f697545460c806910d2c355f1d253bc9d2452aaa549e27a1fac7cf4ed77f322e8"
    "fa894b6a83810a34b361901751a6f5eb65a0326e07de7c1216ccce2d0193f958bb3850a833f7ae432b65bc5a53975c155aa4bcb4f7b2c4e5"
    "4df16efaf6ddea94e2c50b4cd1dfe06017e0e9d02900cffe1935e0491d77ffb4fdf85290fdd893d577b1131a610ef6a5c32b2ee0293617a3"
    "7cbb08b847741c3b8017c25ca9052ca1079d8b78aebd47876d330a30f6a8c6d61dd1ab5589329de714d19d61370f8149748c72f132f0fc99"
    "f34d766c6938597040d8f9e2bb522ff99c63a344d6a2ae8aa8e51b7b90a4a806105fcbca31506c446151adfeceb51b91abfe43960977c874"
    "71cf9ad4074d30e10d6a7f03c63bd5d4317f68ff325ba3bd80bf4dc8b52a0ba031758022eb025cdd770b44d6d6cf0670f4e990b22347a7db"
    "848265e3e5eb72dfe8299ad7481a408322cac55786e52f633b2fb6b614eaed18d703dd84045a274ae8bfa73379661388d6991fe39b0d93de"
    "bb41700b41f90a15c4d526250235ddcd6776fc77bc97e7a417ebcb31600d01e57f32162a8560cacc7e27a096d37a1a86952ec71bd89a3e9a"
    "30a2a26162984d7740f81193e8238e61f6b5b984d4d3dfa033c1bb7e4f0037febf406d91c0dccf32acf423cfa1e7071010d3f270121b493c"
    "e85054ef58bada42310138fe081adb04e2bd901f2f13458b3d6758158197107c14ebb193230cd1157380aa79cae1374a7c1e5bbcb80ee23e"
    "06ebfde206bfb0fcbc0edc4ebec309661bdd908d532eb0c6adc38b7ca7331dce8dfce39ab71e7c32d318d136b6100671a1ae6a6600e3899f"
    "31f0eed19e3417d134b90c9058f8632c798d4490da4987307cba922d61c39805d072b589bd52fdf1e86215c2d54e6670e07383a27bbffb5a"
    "ddf47d66aa85a0c6f9f32e59d85a44dd5d3b22dc2be80919b490437ae4f36a0ae55edf1d0b5cb4e9a3ecabee93dfc6e38d209d0fa6536d27"
    "a5d6fbb17641cde27525d61093f1b28072d111b2b4ae5f89d5974ee12e5cf7d5da4d6a31123041f33e61407e76cffcdcfd7e19ba58cf4b53"
    "6f4c4938ae79324dc402894b44faf8afbab35282ab659d13c93f70412e85cb199a37ddec600545473cfb5a05e08d0b209973b2172b4d21fb"
    "69745a262ccde96ba18b2faa745b6fe189cf772a9f84cbfc";
static const char server_v1[] =
    "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf7"
    "3c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f"
    "58891850abbdca3d20398c276456cbc42158407dd074ee";
static const char server_v2[] =
    "dc6b3343cf0008f067a5502a4262b5004075d92faaf16f05d8a4398c47089698baeea26b91eb761d9b89237bbf87263017915358230035f7"
    "fd3945d88965cf17f9af6e16886c61bfc703106fbaf3cb4cfa52382dd16a393e42757507698075b2c984c707f0a0812d8cd5a6881eaf21ce"
    "da98f4bd23f6fe1a3e2c43edd9ce7ca84bed8521e2e140";
static const char retry_v1[] = "ff000000010008f067a5502a4262b5746f6b656e04a265ba2eff4d829058fb3f0f2496ba";
static const char retry_v2[] = "cf6b3343cf0008f067a5502a4262b5746f6b656ec8646ce8bfe33952d955543665dcc7b6";

static struct app_rig *rig_new(const char *yaml)
{
    struct app_rig *rig = app_rig_new("quic", yaml);

    rig->flow.server_port = 443;
    rig->now_ns = 1000000000;
    return rig;
}

static size_t send_hex(struct app_rig *rig, enum flow_direction direction, const char *text)
{
    static uint8_t bytes[2048];
    size_t length = strlen(text) / 2;

    for (size_t i = 0; i < length; i++)
        ck_assert(hex_byte(text + 2 * i, &bytes[i]));
    app_rig_send(rig, direction, bytes, length);
    return length;
}

static void assert_log(struct app_rig *rig, uint64_t id, const char *part)
{
    const char *json = app_rig_json(rig, id);

    ck_assert_msg(json && strstr(json, part), "transaction %u is %s, without %s", (unsigned)id, json, part);
}

static void assert_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                          const char *value)
{
    struct app_bytes bytes;

    ck_assert_msg(app_rig_buffer(rig, id, keyword, direction, 0, &bytes), "%s is not there", keyword);
    ck_assert_msg(bytes.length == strlen(value) && memcmp(bytes.bytes, value, bytes.length) == 0,
                  "%s is '%.*s', not '%s'", keyword, (int)bytes.length, bytes.bytes, value);
}

static const struct {
    const char *client, *server, *retry, *version;
    uint32_t number;
} vectors[] = {
    { client_v1, server_v1, retry_v1, "\"version\":\"1\"", 1 },
    { client_v2, server_v2, retry_v2, "\"version\":\"v2\"", 0x6b3343cf },
};

START_TEST(vectors_are_decrypted)
{
    struct app_rig *rig = rig_new(NULL);

    send_hex(rig, FLOW_TO_SERVER, vectors[_i].client);
    ck_assert_str_eq(app_rig_protocol(rig), "quic");
    assert_log(rig, 0, vectors[_i].version);
    assert_log(rig, 0, "\"sni\":\"example.com\"");
    assert_log(rig, 0, "{\"name\":\"alpn\",\"type\":16,\"values\":[\"alpn\"]}");
    assert_log(rig, 0, "\"string\":\"771,4865-4866,0-65281-10-16-5-51-43-13-45-28-57,29-23-24,\"");
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "example.com");
    send_hex(rig, FLOW_TO_CLIENT, vectors[_i].server);
    assert_log(rig, 1, vectors[_i].version);
    assert_log(rig, 1, "\"string\":\"771,4865,51-43\"");
    assert_buffer(rig, 1, "ja3s.string", FLOW_TO_CLIENT, "771,4865,51-43");
    ck_assert_ptr_null(app_rig_tx(rig, 2));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

#define RETRY_ID "\xf0\x67\xa5\x50\x2a\x42\x62\xb5"

/* The tag of a Retry packet is valid only with the first ID of the client, and unless the packet was changed. */
START_TEST(retry_is_verified)
{
    const struct quic_version *version = quic_version_find(vectors[_i].number);
    struct quic_id id = { 8, { 0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 0x08 } };
    uint8_t bytes[64], scratch[128];
    size_t length = strlen(vectors[_i].retry) / 2;
    struct quic_packet packet;

    for (size_t i = 0; i < length; i++)
        ck_assert(hex_byte(vectors[_i].retry + 2 * i, &bytes[i]));

    struct cursor cur = cursor_of(bytes, length);

    ck_assert(quic_read_packet(&cur, &packet));
    ck_assert_int_eq(packet.type, QUIC_RETRY);
    ck_assert(quic_retry_is_valid(version, &packet, &id, scratch));
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 1;
        ck_assert(!quic_retry_is_valid(version, &packet, &id, scratch));
        bytes[i] ^= 1;
    }
    id.bytes[7] ^= 1;
    ck_assert(!quic_retry_is_valid(version, &packet, &id, scratch));
}
END_TEST

static void put_hello(struct bytes *out, const char *name);

/* After a Retry packet the client uses the server's ID, from which the keys now derive, and may send another hello. */
START_TEST(retry_changes_keys)
{
    static struct bytes hello, frames, datagram;
    const struct quic_initial initial = { .version = vectors[_i].number, .destination = RETRY_ID, .number = 3 };
    struct app_rig *rig = rig_new(NULL);

    send_hex(rig, FLOW_TO_SERVER, vectors[_i].client);
    send_hex(rig, FLOW_TO_CLIENT, vectors[_i].retry);
    assert_log(rig, 1, vectors[_i].version);
    put_hello(&hello, "sluice.example");
    frames.length = datagram.length = 0;
    put_crypto(&frames, 0, hello.at, hello.length);
    put_initial(&datagram, &initial, &frames);
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
    assert_buffer(rig, 2, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    ck_assert(!app_rig_has_event(rig, 2, "error_on_data"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* --- Hellos of the builder ------------------------------------------------------------------------ */

static void put_hello(struct bytes *out, const char *name)
{
    static struct bytes extensions;

    extensions.length = out->length = 0;
    put_sni(&extensions, name);
    put_alpn(&extensions, "h3,h3-29");
    put_extension(&extensions, 43, "\x02\x03\x04", 3);
    put_client_hello(out, 0x0303, "1301,1302", &extensions);
}

static void put_answer(struct bytes *out)
{
    static struct bytes extensions;

    extensions.length = out->length = 0;
    put_extension(&extensions, 43, "\x03\x04", 2);
    put_server_hello(out, 0x0303, "", 0x1301, &extensions);
}

static const struct quic_initial client_initial = {
    .version = 1, .destination = FIRST_ID, .source = CLIENT_ID, .key_id = FIRST_ID
};
static const struct quic_initial server_initial = {
    .version = 1, .destination = CLIENT_ID, .source = SERVER_ID, .key_id = FIRST_ID, .from_server = true
};

static void send_frames(struct app_rig *rig, const struct quic_initial *initial, const struct bytes *frames)
{
    static struct bytes datagram;

    datagram.length = 0;
    put_initial(&datagram, initial, frames);
    app_rig_send(rig, initial->from_server ? FLOW_TO_CLIENT : FLOW_TO_SERVER, datagram.at, datagram.length);
}

/* Sends the bytes of the handshake message from `from` to `until` in a packet of its own. */
static void send_part(struct app_rig *rig, const struct quic_initial *initial, const struct bytes *message, size_t from,
                      size_t until)
{
    static struct bytes frames;

    frames.length = 0;
    put_crypto(&frames, from, message->at + from, until - from);
    send_frames(rig, initial, &frames);
}

static const uint32_t versions[] = {
    1,          0x6b3343cf, 0xff000017, 0xff000018, 0xff000019, 0xff00001a, 0xff00001b,
    0xff00001c, 0xff00001d, 0xff00001e, 0xff00001f, 0xff000020, 0xff000021, 0xff000022
};

START_TEST(versions_are_decrypted)
{
    static struct bytes hello, answer;
    struct quic_initial client = client_initial, server = server_initial;
    struct app_rig *rig = rig_new(NULL);
    struct app_bytes bytes;
    char version[32];

    client.version = server.version = versions[_i];
    put_hello(&hello, "sluice.example");
    put_answer(&answer);
    send_part(rig, &client, &hello, 0, hello.length);
    send_part(rig, &server, &answer, 0, answer.length);
    snprintf(version, sizeof(version), versions[_i] == 0x6b3343cf ? "\"version\":\"v2\"" : "\"version\":\"%x\"",
             (unsigned)versions[_i]);
    assert_log(rig, 0, version);
    assert_log(rig, 0, "\"sni\":\"sluice.example\"");
    assert_log(rig, 0, "\"ja4\":\"q13d0203h3_");
    assert_log(rig, 1, version);
    assert_log(rig, 1, "\"ja3s\"");
    ck_assert(app_rig_buffer(rig, 0, "quic.version", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, 4);
    ck_assert_uint_eq((uint32_t)bytes.bytes[0] << 24 | bytes.bytes[1] << 16 | bytes.bytes[2] << 8 | bytes.bytes[3],
                      versions[_i]);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* The salts of the versions are those of the drafts: a packet of a version with another salt does not decrypt. */
START_TEST(salts_differ)
{
    static const uint32_t others[] = { 0xff00001c, 0xff00001d, 0xff000021, 0x6b3343cf };
    static struct bytes hello, frames, datagram;

    put_hello(&hello, "sluice.example");
    for (size_t i = 0; i < ROWS(others); i++) {
        struct quic_initial client = client_initial;
        struct app_rig *rig = rig_new(NULL);

        client.version = others[i];
        frames.length = datagram.length = 0;
        put_crypto(&frames, 0, hello.at, hello.length);
        put_initial(&datagram, &client, &frames);
        datagram.at[4] = others[i] == 0xff00001c ? 0x1d : 0x1c; /* draft 29 or 28 */
        datagram.at[0] &= 0xcf; /* the type Initial, which version 2 encodes otherwise */
        datagram.at[1] = 0xff;
        datagram.at[2] = datagram.at[3] = 0;
        app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
        ck_assert_msg(!app_rig_tx(rig, 0) || app_rig_has_event(rig, 0, "failed_decrypt"), "%x", (unsigned)others[i]);
        app_rig_free(rig);
    }
}
END_TEST

/* --- CRYPTO data ---------------------------------------------------------------------------------- */

/* Each order of four parts of the hello, each part in its own packet, and all in one. */
START_TEST(parts_are_put_in_order)
{
    static struct bytes hello, frames;
    unsigned order[4] = { (unsigned)_i & 3, (unsigned)_i >> 2 & 3, (unsigned)_i >> 4 & 3, (unsigned)_i >> 6 };
    bool is_used[4] = { false };
    size_t cut[5];

    put_hello(&hello, "sluice.example");
    for (unsigned i = 0; i < 5; i++)
        cut[i] = i * hello.length / 4;
    for (unsigned i = 0; i < 4; i++)
        is_used[order[i]] = true;
    if (!is_used[0] || !is_used[1] || !is_used[2] || !is_used[3])
        return; /* not an order */

    struct app_rig *rig = rig_new(NULL);
    struct quic_initial initial = client_initial;

    for (unsigned i = 0; i < 4; i++) {
        struct app_bytes bytes;

        ck_assert(!app_rig_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, 0, &bytes));
        initial.number = i;
        send_part(rig, &initial, &hello, cut[order[i]], cut[order[i] + 1]);
    }
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    ck_assert(!rig->failed);
    app_rig_free(rig);

    rig = rig_new(NULL);
    frames.length = 0;
    put_bytes(&frames, "\0\0\x01\x02\x05\x40\x10\x01\x02\x00\x01\x03\x09\0\0\x01\x01\x02\x03", 19); /* PING, ACK, ECN */
    for (unsigned i = 0; i < 4; i++) {
        put_crypto(&frames, cut[order[i]], hello.at + cut[order[i]], cut[order[i] + 1] - cut[order[i]]);
        put_bytes(&frames, "\0\0\0", 3);
    }
    send_frames(rig, &client_initial, &frames);
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    ck_assert(!app_rig_has_event(rig, 0, "error_on_data"));
    app_rig_free(rig);
}
END_TEST

START_TEST(first_data_is_valid)
{
    static struct bytes hello, other;
    struct app_rig *rig = rig_new(NULL);

    put_hello(&hello, "sluice.example");
    put_hello(&other, "sluicf.example");
    send_part(rig, &client_initial, &hello, 0, hello.length - 20);
    send_part(rig, &client_initial, &hello, 10, hello.length - 10); /* overlaps with equal data */
    ck_assert(!rig->failed);
    send_part(rig, &client_initial, &hello, hello.length - 30, hello.length);
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    send_part(rig, &client_initial, &hello, 0, hello.length); /* sent again */
    ck_assert(!rig->failed);
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    send_part(rig, &client_initial, &other, 0, other.length);
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 1, "error_on_data"));
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    app_rig_free(rig);
}
END_TEST

/* A datagram may have several packets; those with another destination ID are ignored, and so are bytes after them. */
START_TEST(packets_are_coalesced)
{
    static struct bytes hello, frames, datagram;
    struct quic_initial initial = client_initial, other = client_initial;
    struct app_rig *rig = rig_new(NULL);

    other.destination = other.key_id = "otherone";
    put_hello(&hello, "sluice.example");
    datagram.length = frames.length = 0;
    put_crypto(&frames, 0, hello.at, 50);
    put_initial(&datagram, &initial, &frames);
    put_initial(&datagram, &other, &frames);
    frames.length = 0;
    put_crypto(&frames, 50, hello.at + 50, hello.length - 50);
    initial.number = 1;
    put_initial(&datagram, &initial, &frames);
    put_bytes(&datagram, "\0\0\0\0\0\0\0\0", 8);
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* A packet number has as many bytes as the receiver needs, which knows the largest one so far. */
START_TEST(packet_numbers_are_restored)
{
    static struct bytes hello;
    struct quic_initial initial = client_initial;
    struct app_rig *rig = rig_new(NULL);
    struct app_bytes bytes;

    put_hello(&hello, "sluice.example");
    initial.number = 0x1f0;
    initial.number_length = 2;
    send_part(rig, &initial, &hello, 0, 40);
    initial.number = 0x202;
    initial.number_length = 1;
    send_part(rig, &initial, &hello, 40, 80);
    initial.number = 0x1ff; /* arrives late */
    send_part(rig, &initial, &hello, 80, hello.length - 1);
    ck_assert(!app_rig_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, 0, &bytes));
    initial.number = 0x203;
    initial.number_length = 3;
    send_part(rig, &initial, &hello, hello.length - 1, hello.length);
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* --- Connections ---------------------------------------------------------------------------------- */

/* After a HelloRetryRequest the client sends a second hello in the same CRYPTO data. */
START_TEST(second_hellos_are_parsed)
{
    static const char random[] = "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
                                 "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c";
    static struct bytes hellos, second, answer, last;
    struct quic_initial client = client_initial;
    struct app_rig *rig = rig_new(NULL);
    size_t first;

    put_hello(&hellos, "first.example");
    first = hellos.length;
    put_hello(&second, "second.example");
    put_bytes(&hellos, second.at, second.length);
    put_answer(&answer);
    put_answer(&last);
    memcpy(answer.at + 6, random, 32);
    put_bytes(&answer, last.at, last.length);
    send_part(rig, &client, &hellos, 0, first);
    send_part(rig, &server_initial, &answer, 0, answer.length - last.length);
    client.destination = SERVER_ID;
    client.number = 1;
    send_part(rig, &client, &hellos, first, hellos.length);
    send_part(rig, &server_initial, &answer, answer.length - last.length, answer.length);
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "first.example");
    assert_buffer(rig, 2, "quic.sni", FLOW_TO_SERVER, "second.example");
    assert_log(rig, 3, "\"ja3s\"");
    ck_assert_ptr_null(app_rig_tx(rig, 4));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* The server may answer in another version (RFC 9368), and the client continues in that version. */
START_TEST(server_chooses_version)
{
    static struct bytes hello, answer;
    struct quic_initial client = client_initial, server = server_initial;
    struct app_rig *rig = rig_new(NULL);

    put_hello(&hello, "sluice.example");
    put_answer(&answer);
    send_part(rig, &client, &hello, 0, hello.length);
    server.version = client.version = 0x6b3343cf;
    send_part(rig, &server, &answer, 0, 20);
    client.destination = SERVER_ID;
    client.number = 1;
    send_part(rig, &client, &hello, 0, 10);
    send_part(rig, &server, &answer, 20, answer.length);
    assert_log(rig, 1, "\"version\":\"v2\",\"ja3s\"");
    ck_assert_ptr_null(app_rig_tx(rig, 2));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* The first packet of the flow came from the server, so the flow has the wrong direction. */
START_TEST(keys_show_the_direction)
{
    static struct bytes hello, frames, datagram;
    struct app_rig *rig = rig_new(NULL);

    rig->flow.client_port = 443;
    rig->flow.server_port = 50000;
    put_hello(&hello, "sluice.example");
    frames.length = datagram.length = 0;
    put_crypto(&frames, 0, hello.at, hello.length);
    put_initial(&datagram, &client_initial, &frames);
    app_rig_send(rig, FLOW_TO_CLIENT, datagram.at, datagram.length);
    ck_assert(rig->verdict.either_direction);
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    app_rig_free(rig);
}
END_TEST

/* A flow may have several connections; each decoy hello of a client is inspected, and the latest ones are kept. */
START_TEST(connections_are_kept_apart)
{
    static const char *const ids[] = { "id-one-1", "id-two-2", "id-three", "id-four4", "id-five5", "id-six-6" };
    static struct bytes hello, answer;
    struct quic_initial client = client_initial, server = server_initial;
    struct app_rig *rig = rig_new(NULL);
    struct app_bytes bytes;

    put_hello(&hello, "sluice.example");
    put_answer(&answer);
    for (unsigned i = 0; i < ROWS(ids); i++) {
        client.destination = client.key_id = client.source = ids[i];
        send_part(rig, &client, &hello, 0, hello.length - 1);
    }
    client.destination = client.key_id = client.source = ids[2];
    client.number = 1;
    send_part(rig, &client, &hello, hello.length - 1, hello.length);
    ck_assert(app_rig_buffer(rig, 2, "quic.sni", FLOW_TO_SERVER, 0, &bytes));
    server.destination = server.key_id = ids[2];
    send_part(rig, &server, &answer, 0, answer.length);
    assert_log(rig, 6, "\"ja3s\"");
    for (unsigned i = 0; i < 2; i++) { /* their transactions ended without a hello */
        const struct app_tx *tx = app_rig_tx(rig, i);

        ck_assert(tx && app_tx_is_complete(tx, FLOW_TO_SERVER));
        ck_assert(app_rig_buffer(rig, i, "quic.version", FLOW_TO_SERVER, 0, &bytes));
        ck_assert(!app_rig_buffer(rig, i, "quic.sni", FLOW_TO_SERVER, 0, &bytes));
    }
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 3), FLOW_TO_SERVER));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(bypass_after_the_handshake)
{
    static struct bytes hello, answer;
    struct app_rig *rig = rig_new(_i ? "app-layer.protocols.quic.encryption-handling: bypass\n" : NULL);

    put_hello(&hello, "sluice.example");
    put_answer(&answer);
    app_rig_text(rig, FLOW_TO_SERVER, "\x40 short header before the handshake");
    send_part(rig, &client_initial, &hello, 0, hello.length);
    app_rig_text(rig, FLOW_TO_SERVER, "\x40 short header before the answer");
    ck_assert(!rig->verdict.stop_stream);
    send_part(rig, &server_initial, &answer, 0, answer.length);
    ck_assert(!rig->verdict.stop_stream);
    app_rig_text(rig, FLOW_TO_SERVER, "\x40 short header");
    ck_assert_int_eq(rig->verdict.stop_stream, _i);
    ck_assert_int_eq(app_may_bypass(&rig->flow), _i);
    app_rig_free(rig);
}
END_TEST

/* --- Other packets -------------------------------------------------------------------------------- */

START_TEST(versions_are_noted_once)
{
    struct app_rig *rig = rig_new(NULL);

    /* An unknown version, twice; version negotiation; a Handshake packet of an unknown connection. */
    send_hex(rig, FLOW_TO_SERVER, "c01a2a3a4a0812345678123456780000112233");
    send_hex(rig, FLOW_TO_SERVER, "c01a2a3a4a0812345678123456780000112234");
    send_hex(rig, FLOW_TO_CLIENT, "c0000000000008123456781234567800000001ff00001d");
    send_hex(rig, FLOW_TO_CLIENT, "e000000001080102030405060708000411223344");
    assert_log(rig, 0, "{\"version\":\"1a2a3a4a\"}");
    assert_log(rig, 1, "{\"version\":\"0\"}");
    assert_log(rig, 2, "{\"version\":\"1\"}");
    ck_assert_ptr_null(app_rig_tx(rig, 3));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *frames;
    size_t length;
    const char *event;
    bool fails;
} errors[] = {
    { "\x08"
      "data",
      5, "error_on_data", true },                     /* a STREAM frame */
    { "\x06\x00\x80\x00", 4, "error_on_data", true }, /* truncated length */
    { "\x06\x00\x05"
      "abcd",
      7, "error_on_data", true }, /* truncated data */
    { "\x06\x00\x04"
      "\x02\0\0\0",
      7, "error_on_data", true }, /* a ServerHello of the client */
    { "\x06\x00\x08"
      "\x01\0\0\x04"
      "\x03\x03xx",
      11, "error_on_data", false }, /* a truncated hello is parsed */
    { "\x06\x80\x00\xff\xff\x01"
      "a",
      7, "crypto_frag_too_long", true }, /* byte number 65,536 */
    { "\x06\x80\x01\x00\x00\x01"
      "a",
      7, "crypto_frag_too_long", true },
    { "\x06\x00\x04"
      "\x01\0\xff\xff",
      7, "crypto_frag_too_long", true },
    { "\x02\x00\x00\x80\xff\xff\xff\x00", 8, "error_on_data", true }, /* ACK with too many ranges */
    { "\x06\xff\xff\xff\xff\xff\xff\xff\xff\x01"
      "a",
      11, "crypto_frag_too_long", true },
};

START_TEST(errors_have_events)
{
    static struct bytes frames;
    struct app_rig *rig = rig_new(NULL);

    frames.length = 0;
    put_bytes(&frames, errors[_i].frames, errors[_i].length);
    send_frames(rig, &client_initial, &frames);
    ck_assert_msg(app_rig_has_event(rig, 0, errors[_i].event), "row %d: %s", _i, app_rig_json(rig, 0));
    ck_assert_msg(rig->failed == errors[_i].fails, "row %d", _i);
    app_rig_free(rig);
}
END_TEST

START_TEST(undecryptable_packets_have_events)
{
    static struct bytes hello, frames, datagram;
    struct app_rig *rig = rig_new(NULL);

    put_hello(&hello, "sluice.example");
    frames.length = datagram.length = 0;
    put_crypto(&frames, 0, hello.at, hello.length);
    put_initial(&datagram, &client_initial, &frames);
    datagram.at[datagram.length - 1] ^= 1;
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
    ck_assert(app_rig_has_event(rig, 0, "failed_decrypt"));
    ck_assert(app_rig_tx(rig, 0)->only_events);
    ck_assert(!rig->failed);
    datagram.at[datagram.length - 1] ^= 1;
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
    assert_buffer(rig, 1, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, 30); /* the length exceeds the datagram */
    ck_assert(app_rig_has_event(rig, 2, "error_on_header"));
    app_rig_free(rig);
}
END_TEST

/* A datagram or a flow with too many Initial packets that do not decrypt is an error of the flow, because rules cannot
 * inspect all of them. The budget of a flow grows with time. */
START_TEST(work_is_limited)
{
    static struct bytes frames, one, datagram, hello;
    struct app_rig *rig = rig_new(NULL);
    unsigned sent = 0;

    frames.length = one.length = datagram.length = 0;
    put_u8(&frames, 0x01);
    put_initial(&one, &client_initial, &frames);
    one.at[one.length - 1] ^= 1;
    for (unsigned i = 0; i < 8; i++)
        put_bytes(&datagram, one.at, one.length);
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
    ck_assert(!rig->failed);
    put_bytes(&datagram, one.at, one.length);
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
    ck_assert(rig->failed);
    app_rig_free(rig);

    rig = rig_new(NULL);
    for (; !rig->failed && sent < 1000; sent++)
        app_rig_send(rig, FLOW_TO_SERVER, one.at, one.length);
    ck_assert_uint_eq(sent, 65);
    ck_assert_ptr_null(app_rig_tx(rig, 16)); /* the number of events is limited, too */
    rig->failed = false;
    rig->now_ns += 1000000000;
    put_hello(&hello, "sluice.example");
    send_part(rig, &client_initial, &hello, 0, hello.length);
    assert_buffer(rig, 16, "quic.sni", FLOW_TO_SERVER, "sluice.example");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(hellos_are_limited)
{
    static struct bytes hellos, hello;
    struct app_rig *rig = rig_new(NULL);

    put_hello(&hello, "sluice.example");
    hellos.length = 0;
    for (unsigned i = 0; i < 6; i++)
        put_bytes(&hellos, hello.at, hello.length);
    send_part(rig, &client_initial, &hellos, 0, hellos.length);
    ck_assert_ptr_nonnull(app_rig_tx(rig, 3));
    ck_assert_ptr_null(app_rig_tx(rig, 4));
    app_rig_free(rig);
}
END_TEST

/* --- Detection ------------------------------------------------------------------------------------ */

static const struct {
    const char *bytes;
    uint16_t port;
    bool is_quic;
} probed[] = {
    { client_v1, 443, true },
    { client_v1, 4433, true },
    { client_v2, 4433, true },
    { "800000000108010203040506070800000411223344", 4433, false }, /* without the fixed bit */
    { "c00000000108010203040506070800000411223344", 4433, true },
    { "c00000000108010203040506070800000511223344", 4433, false }, /* the length exceeds the datagram */
    { "c00000000115010203040506070800000411223344010203040506070800000411223344", 443, false }, /* ID of 21 bytes */
    { "c0ff00001d08010203040506070800000411223344", 4433, false },
    { "c0ff00001d08010203040506070800000411223344", 443, true },
    { "c0ff00001d08010203040506070800000411223344", 80, true },
    { "c0ababababab08010203040506070800000411223344", 443, false },
    { "c01a2a3a4a0801020304050607080000112233", 443, true },
    { "16fefd000000000000000000510100004500000000", 443, false }, /* DTLS */
    { "4011223344556677889900aabbccddeeff", 443, false },
    { "09000102030405060751303433"
      "0102",
      443, true },
    { "09000102030405060751303433"
      "0102",
      4433, false },
};

START_TEST(protocol_is_detected)
{
    struct app_rig *rig = rig_new(NULL);

    rig->flow.server_port = probed[_i].port;
    send_hex(rig, FLOW_TO_SERVER, probed[_i].bytes);
    ck_assert_msg((app_rig_protocol(rig) && strcmp(app_rig_protocol(rig), "quic") == 0) == probed[_i].is_quic, "row %d",
                  _i);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_quic");
    TCase *tests = tcase_create("quic");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tests, vectors_are_decrypted, 0, ROWS(vectors));
    tcase_add_loop_test(tests, retry_is_verified, 0, ROWS(vectors));
    tcase_add_loop_test(tests, retry_changes_keys, 0, ROWS(vectors));
    tcase_add_loop_test(tests, versions_are_decrypted, 0, ROWS(versions));
    tcase_add_test(tests, salts_differ);
    tcase_add_loop_test(tests, parts_are_put_in_order, 0, 256);
    tcase_add_test(tests, first_data_is_valid);
    tcase_add_test(tests, packets_are_coalesced);
    tcase_add_test(tests, packet_numbers_are_restored);
    tcase_add_test(tests, second_hellos_are_parsed);
    tcase_add_test(tests, server_chooses_version);
    tcase_add_test(tests, keys_show_the_direction);
    tcase_add_test(tests, connections_are_kept_apart);
    tcase_add_loop_test(tests, bypass_after_the_handshake, 0, 2);
    tcase_add_test(tests, versions_are_noted_once);
    tcase_add_loop_test(tests, errors_have_events, 0, ROWS(errors));
    tcase_add_test(tests, undecryptable_packets_have_events);
    tcase_add_test(tests, work_is_limited);
    tcase_add_test(tests, hellos_are_limited);
    tcase_add_loop_test(tests, protocol_is_detected, 0, ROWS(probed));
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
