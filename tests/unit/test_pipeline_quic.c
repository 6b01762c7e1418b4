/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QUIC in the whole pipeline: a rule on the server name drops the packet that completes the ClientHello and the rest of
 * the flow, a flow is bypassed after the handshake if the settings say so, and a connection continues in the next
 * engine.
 */
#include "handover_rig.h"
#include "quic_builder.h"

static const struct quic_initial initials[] = {
    [RIG_CLIENT] = { .version = 1, .destination = "firstkey", .source = "clientid", .key_id = "firstkey" },
    [RIG_SERVER] = { .version = 1,
                     .destination = "clientid",
                     .source = "serverid",
                     .key_id = "firstkey",
                     .from_server = true },
};

static const char *send_datagram(int from, const void *bytes, size_t length)
{
    uint8_t *udp = rig.bytes + 20;

    rig_put_ip(from, IPPROTO_UDP, 28 + length);
    rig_put16(udp, from == RIG_CLIENT ? rig.client_port : 443);
    rig_put16(udp + 2, from == RIG_CLIENT ? 443 : rig.client_port);
    rig_put16(udp + 4, (uint32_t)(8 + length));
    rig_put16(udp + 6, 0);
    memcpy(udp + 8, bytes, length);
    return rig_judge(28 + length);
}

static size_t put_hello(int side, struct bytes *hello)
{
    static struct bytes extensions;

    extensions.length = hello->length = 0;
    if (side == RIG_CLIENT) {
        put_sni(&extensions, "www.example.com");
        put_client_hello(hello, 0x0303, "1301", &extensions);
    } else {
        put_extension(&extensions, 43, "\x03\x04", 2);
        put_server_hello(hello, 0x0303, "", 0x1301, &extensions);
    }
    return hello->length;
}

/* Sends the bytes of the side's hello from `from` to the end or to `until`, in packet `number` of the side. */
static const char *send_part(int side, size_t from, size_t until, unsigned number)
{
    static struct bytes hello, frames, datagram;
    struct quic_initial initial = initials[side];
    size_t length = put_hello(side, &hello);

    initial.number = number;
    initial.number_length = number % 256 == 0 ? 2 : 1;
    frames.length = datagram.length = 0;
    put_crypto(&frames, from, hello.at + from, (until < length ? until : length) - from);
    put_initial(&datagram, &initial, &frames);
    return send_datagram(side, datagram.at, datagram.length);
}

static const char *send_hello(int side, size_t from, size_t until)
{
    return send_part(side, from, until, 0);
}

static const char drop_rule[] =
    "drop quic any any -> any any (quic.sni; content:\"www.example.com\"; bsize:15; sid:1;)";

START_TEST(the_packet_that_completes_the_hello_is_dropped)
{
    rig_open(drop_rule);
    ck_assert_str_eq(send_hello(RIG_CLIENT, 60, 1000), "");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_str_eq(send_hello(RIG_CLIENT, 0, 60), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    send_hello(RIG_CLIENT, 0, 60);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

/* The packets of another server pass, also the encrypted ones. */
START_TEST(other_names_pass)
{
    rig_open("drop quic any any -> any any (quic.sni; content:\"example.org\"; sid:1;)");
    ck_assert_str_eq(send_hello(RIG_CLIENT, 0, 1000), "");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_str_eq(send_hello(RIG_SERVER, 0, 1000), "");
    ck_assert_str_eq(send_datagram(RIG_CLIENT, "\x40 encrypted", 12), "");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
}
END_TEST

/* CRYPTO data that differs from earlier data: the server may use either hello, so the flow is dropped (the default of
 * app-layer.error-policy in inline mode). */
START_TEST(another_hello_is_an_error)
{
    static struct bytes frames, datagram;

    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_DROP_FLOW;
    rig_open(drop_rule);
    send_hello(RIG_CLIENT, 10, 50);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    frames.length = datagram.length = 0;
    put_crypto(&frames, 20, "different", 9);
    put_initial(&datagram, &initials[RIG_CLIENT], &frames);
    send_datagram(RIG_CLIENT, datagram.at, datagram.length);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

START_TEST(an_encrypted_flow_is_bypassed)
{
    app_options_clear(&rig.options.app);
    rig_configure_applications("app-layer.protocols.quic.encryption-handling: bypass\n");
    rig_open("alert quic any any -> any any (quic.sni; content:\"www.example\"; sid:1;)\n"
             "alert udp any any -> any any (content:\"encrypted\"; sid:2;)");
    ck_assert_str_eq(send_hello(RIG_CLIENT, 0, 1000), "1");
    ck_assert_str_eq(send_hello(RIG_SERVER, 0, 1000), "");
    ck_assert_int_ne(rig.packet.flow->state, FLOW_BYPASSED);
    send_datagram(RIG_CLIENT, "\x40 encrypted", 12);
    ck_assert_int_eq(rig.packet.flow->state, FLOW_BYPASSED);
    ck_assert_str_eq(send_datagram(RIG_SERVER, "\x40 encrypted", 12), "");
}
END_TEST

/* The engine is replaced before packet number _i. Packet numbers of a byte are restored from the first one, the parts
 * of the client's hello arrive in reverse order, and keys derive from the client's first packet. */
START_TEST(a_connection_continues_in_the_next_engine)
{
    enum { PART = 30, FIRST_NUMBER = 256 };
    static const char rules[] =
        "alert quic any any -> any any (quic.sni; content:\"www.example.com\"; sid:1;)\n"
        "alert quic any any -> any any (ja3s.string; content:\"771,\"; sid:2;)\n"
        "alert quic any any -> any any (quic.version; content:\"|00 00 00 01|\"; flow:to_server; sid:3;)\n"
        "alert quic any any -> any any (app-layer-event:quic.failed_decrypt; sid:90;)\n"
        "alert quic any any -> any any (app-layer-event:quic.error_on_data; sid:91;)\n";
    static struct bytes hello;
    int packet = 0;

    rig_open(rules);
    for (int side = RIG_CLIENT; side <= RIG_SERVER; side++) {
        size_t parts = (put_hello(side, &hello) + PART - 1) / PART;

        ck_assert_uint_ge(parts, 2);
        for (size_t i = 0; i < parts; i++, packet++) {
            size_t at = (side == RIG_CLIENT ? parts - 1 - i : i) * PART;
            const char *expected = side == RIG_CLIENT && i == 0 ? "3" : "";

            if (i == parts - 1)
                expected = side == RIG_CLIENT ? "1" : "2";
            if (packet == _i)
                rig_hand_over(rules);
            ck_assert_str_eq(send_part(side, at, at + PART, (unsigned)(FIRST_NUMBER + i)), expected);
        }
    }
    ck_assert_int_gt(packet, 4);
    ck_assert_uint_eq(app_tx_count(rig.packet.flow), 2);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("quic");

    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_test(tcase, the_packet_that_completes_the_hello_is_dropped);
    tcase_add_test(tcase, other_names_pass);
    tcase_add_test(tcase, another_hello_is_an_error);
    tcase_add_test(tcase, an_encrypted_flow_is_bypassed);
    tcase_add_loop_test(tcase, a_connection_continues_in_the_next_engine, 0, 5);
    return rig_run(tcase, "pipeline_quic");
}
