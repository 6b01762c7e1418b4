/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One application protocol, FUZZ_APP, behind the real framework.
 *
 * Input: pieces, each of a byte of flags (1: to the client; 2: bytes are lost before it; 4: its direction ends behind it), two bytes of
 * length in network order, and so many bytes. The first byte of all: 1 for UDP where the protocol has both.
 *
 * Contract: no crash, all memory given back, logs well-formed, and the same transactions with the same logs and events however the
 * bytes are cut.
 */
#include "../lib/app_rig.h"

#ifndef FUZZ_SAME_WHEN_CUT
#define FUZZ_SAME_WHEN_CUT 1
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct text all;
    bool failed;
};

static void play(struct app_rig *rig, const uint8_t *data, size_t size)
{
    while (size >= 3) {
        enum flow_direction direction = data[0] & 1 ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
        size_t length = (size_t)data[1] << 8 | data[2];

        if (data[0] & 2)
            app_rig_lose(rig, direction, 10);
        if (length > size - 3)
            length = size - 3;
        app_rig_send(rig, direction, data + 3, length);
        if (data[0] & 4)
            app_rig_end(rig, direction);
        data += 3 + length;
        size -= 3 + length;
    }
    app_rig_close(rig);
}

static void run(const uint8_t *data, size_t size, int cut, struct outcome *out)
{
    struct app_rig *rig = app_rig_new(FUZZ_APP, NULL);
    const struct app_proto *proto = app_by_id(app_find(FUZZ_APP));

    app_want(rig->app, RULE_MESSAGE_MD5);
    rig->cut = cut;
    rig->tidy = true;
    if (size > 0 && data[0] & 1 && proto->transports & APP_UDP) {
        rig->transport = APP_UDP;
        rig->flow.protocol = IPPROTO_UDP;
    }
    /* What is looked at is this protocol's parser: it alone is there, and hints hold. */
    for (size_t i = 0; i < app_list_count; i++)
        rig->app->options.enabled[i] = app_list[i] == proto;
    if (proto->tcp_ports || proto->udp_ports)
        rig->flow.server_port = (uint16_t)atoi(rig->transport == APP_UDP && proto->udp_ports ? proto->udp_ports
                                               : proto->tcp_ports                            ? proto->tcp_ports
                                                                                             : proto->udp_ports);
    if (!proto->patterns && !proto->probe)
        app_rig_expect(rig, FUZZ_APP, "", 0);
    if (size > 0)
        play(rig, data + 1, size - 1);
    for (uint64_t id = 0; id < RIG_MAX_TX; id++) {
        if (rig->json[id].bytes)
            text_printf(&out->all, "%s\n", app_rig_json(rig, id));
    }
    out->failed = rig->failed;
    app_rig_free(rig);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int cuts[] = { 1, -1 };
    struct outcome whole = { 0 };

    run(data, size, 0, &whole);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct outcome cut = { 0 };

        run(data, size, cuts[i], &cut);
        if (FUZZ_SAME_WHEN_CUT && !whole.failed && !cut.failed &&
            (whole.all.length != cut.all.length ||
             (cut.all.length > 0 && memcmp(whole.all.bytes, cut.all.bytes, cut.all.length) != 0))) {
            fprintf(stderr, "whole:\n%s\ncut %d:\n%s\n", whole.all.bytes, cuts[i], cut.all.bytes);
            abort();
        }
        if (FUZZ_SAME_WHEN_CUT && whole.failed != cut.failed) {
            fprintf(stderr, "whole %s, cut %d %s\n", whole.failed ? "failed" : "went on", cuts[i],
                    cut.failed ? "failed" : "went on");
            abort();
        }
        text_clear(&cut.all);
    }
    text_clear(&whole.all);
    return 0;
}
