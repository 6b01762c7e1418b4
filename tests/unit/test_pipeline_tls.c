/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS in the whole pipeline: a rule decides on the packet that completes the ClientHello, and the stream is not
 * inspected any more when it is encrypted.
 */
#include "pipeline_app_rig.h"
#include "tls_builder.h"

static void hello(struct bytes *out, enum flow_direction direction)
{
    static struct bytes extensions, message;

    extensions.length = message.length = out->length = 0;
    if (direction == FLOW_TO_SERVER) {
        put_sni(&extensions, "www.example.com");
        put_client_hello(&message, 0x0303, "1301", &extensions);
    } else {
        put_extension(&extensions, 43, "\x03\x04", 2);
        put_server_hello(&message, 0x0303, "", 0x1301, &extensions);
    }
    put_records(out, 22, 0x0303, &message, 16384);
}

START_TEST(the_packet_that_completes_the_hello_is_dropped)
{
    static struct bytes bytes;

    rig_open("drop tcp any any -> any any (tls.sni; content:\"www.example.com\"; bsize:15; sid:1;)");
    rig_handshake();
    hello(&bytes, FLOW_TO_SERVER);
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, bytes.at, 20), "");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, bytes.at + 20, bytes.length - 21), "");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, bytes.at + bytes.length - 1, 1), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

/* In passive mode a small part of a stream waits for more data. It must be inspected before the inspection of the
 * stream ends. */
START_TEST(the_hello_is_looked_at_before_the_stream_is_given_up)
{
    static const char encrypted[] = "\x17\x03\x03\x00\x0dsecretsecrets";
    static struct bytes bytes;
    char all[64] = "";

    rig_passive();
    rig_open("alert tcp-stream any any -> any any (flow:to_server; content:\"www.example\"; sid:1;)\n"
             "alert tcp-stream any any -> any any (flow:to_server; content:\"later\"; sid:2;)");
    rig_handshake();
    hello(&bytes, FLOW_TO_SERVER);
    strcat(all, rig_send_bytes(RIG_CLIENT, bytes.at, bytes.length));
    strcat(all, rig_acknowledge(RIG_SERVER));
    hello(&bytes, FLOW_TO_CLIENT);
    put_bytes(&bytes, encrypted, 18);
    strcat(all, rig_send_bytes(RIG_SERVER, bytes.at, bytes.length));
    strcat(all, rig_acknowledge(RIG_CLIENT));
    for (int i = 0; i < 3; i++) {
        strcat(all, rig_send(RIG_CLIENT, "later"));
        strcat(all, rig_acknowledge(RIG_SERVER));
    }
    strcat(all, rig_send_filler(RIG_CLIENT, 4000));
    strcat(all, rig_acknowledge(RIG_SERVER));
    ck_assert_str_eq(all, "1");
    ck_assert_uint_eq(rig_finish(), 0);
}
END_TEST

/* A flow is bypassed after both directions were inspected. */
START_TEST(an_encrypted_flow_is_bypassed)
{
    static const char encrypted[] = "\x17\x03\x03\x00\x0dsecretsecrets";
    static struct bytes bytes;
    char all[64] = "";

    app_options_clear(&rig.options.app);
    rig_configure_applications("app-layer.protocols.tls.encryption-handling: bypass\n");
    rig_passive();
    rig_open("alert tcp-stream any any -> any any (flow:to_server; content:\"www.example\"; sid:1;)");
    rig_handshake();
    hello(&bytes, FLOW_TO_SERVER);
    strcat(all, rig_send_bytes(RIG_CLIENT, bytes.at, bytes.length));
    hello(&bytes, FLOW_TO_CLIENT);
    put_bytes(&bytes, encrypted, 18);
    strcat(all, rig_send_bytes(RIG_SERVER, bytes.at, bytes.length));
    ck_assert_int_ne(rig.packet.flow->state, FLOW_BYPASSED);
    for (int i = 0; i < 2; i++) {
        strcat(all, rig_send_bytes(RIG_CLIENT, encrypted, 18));
        strcat(all, rig_send_bytes(RIG_SERVER, encrypted, 18));
    }
    ck_assert_int_eq(rig.packet.flow->state, FLOW_BYPASSED);
    ck_assert_str_eq(all, "1");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("tls");

    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_test(tcase, the_packet_that_completes_the_hello_is_dropped);
    tcase_add_test(tcase, the_hello_is_looked_at_before_the_stream_is_given_up);
    tcase_add_test(tcase, an_encrypted_flow_is_bypassed);
    return rig_run(tcase, "pipeline_tls");
}
