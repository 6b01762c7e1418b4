/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One application protocol, FUZZ_APP, in the real framework of src/app.
 *
 * Input: the first byte is 1 for UDP, if the protocol has both transports. Then follow pieces: a byte of flags (1: to
 * the client; 2: bytes are lost before it; 4: its direction ends after it), two bytes of length in network order, and
 * the bytes. A direction that has ended sends nothing more, as in a stream.
 *
 * Contract: no crash; all memory is freed; logs are well-formed; and transactions, logs and events do not depend on how
 * the bytes are cut. With a heap of a few slabs the flow fails if an allocation was refused, and otherwise has the same
 * result. A datagram that the probe accepts on any port begins with one of the protocol's heads.
 */
#include <sys/prctl.h>

#include "../lib/app_rig.h"
#include "sluice/bytes.h"

#ifndef FUZZ_SAME_WHEN_CUT
#define FUZZ_SAME_WHEN_CUT 1
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct text all;
    bool failed, refused, refused_at_end; /* refused: the heap refused an allocation */
};

enum { HEAP_SLAB = 64 << 10, HEAP_DEFAULT = 8 << 20, TINY_SLABS_MIN = 2, TINY_SLABS = 14 };

/* Datagrams that the probe accepts on any port must begin with one of the protocol's heads, because src/app does not
 * probe others. */
static void check_heads(const struct app_proto *proto, const uint8_t *bytes, size_t length)
{
    const struct app_probe probe = {
        .bytes = bytes, .length = (uint32_t)length, .transport = APP_UDP, .client_port = 40000, .server_port = 9999
    };

    if (!proto->heads || length == 0 || proto->probe(&probe) == APP_NO)
        return;
    for (size_t i = 0; i < proto->head_count && length >= 8; i++)
        if ((load_be64(bytes) & proto->heads[i].mask) == proto->heads[i].value)
            return;
    fprintf(stderr, "the probe takes a datagram that begins with none of the heads\n");
    abort();
}

/* Describes the frames that the parsers have announced, and removes those that end before a place that depends on the
 * input. */
static void check_frames(struct app_rig *rig, uint64_t until)
{
    const struct packet pkt = { .protocol = IPPROTO_UDP };

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct app_frame *list;
        struct frame_facts facts;
        uint32_t count;

        for (unsigned reading = 0; app_get_frames(&rig->flow, reading, direction, &list, &count); reading++) {
            for (uint32_t i = 0; i < count; i++) {
                app_frame_describe(&list[i], &pkt, until, &facts);
                if (count > APP_FRAMES_MAX || !facts.type || (facts.is_complete && facts.length > until)) {
                    fprintf(stderr, "frame %u of %u is wrong\n", (unsigned)i, (unsigned)count);
                    abort();
                }
            }
        }
        app_remove_frames(&rig->flow, direction, rig->transport == APP_UDP ? UINT64_MAX : until);
    }
}

static void play(struct app_rig *rig, const uint8_t *data, size_t size)
{
    bool ended[FLOW_DIRECTIONS] = { false, false };

    while (size >= 3) {
        enum flow_direction direction = data[0] & 1 ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
        size_t length = (size_t)data[1] << 8 | data[2];

        if (data[0] & 2)
            app_rig_lose(rig, direction, 10);
        if (length > size - 3)
            length = size - 3;
        check_heads(app_proto_by_id(app_id_by_name(FUZZ_APP)), data + 3, length);
        if (!ended[direction])
            app_rig_send(rig, direction, data + 3, length);
        if (data[0] & 4 && !ended[direction]) {
            app_rig_end(rig, direction);
            ended[direction] = true;
        }
        check_frames(rig, (uint64_t)data[0] * length);
        data += 3 + length;
        size -= 3 + length;
    }
}

static void run(const uint8_t *data, size_t size, int cut, size_t memcap, struct outcome *out)
{
    struct app_rig *rig = app_rig_new_alone(FUZZ_APP, memcap);
    const struct app_proto *proto = app_proto_by_id(app_id_by_name(FUZZ_APP));
    uint16_t types[APP_MAX_PROTOCOLS] = { 0 };

    for (unsigned i = 0; i < app_list_count; i++) /* as for the event type frame */
        types[i] = app_list[i]->frames ? UINT16_MAX : 1U << APP_FRAME_STREAM;
    app_set_frames(rig->app, types);
    app_set_needs(rig->app, RULE_MESSAGE_MD5);
    rig->cut = cut;
    rig->tidy = true;
    if (size > 0 && data[0] & 1 && proto->transports & APP_UDP) {
        rig->transport = APP_UDP;
        rig->flow.protocol = IPPROTO_UDP;
    }
    /* Use the port of the protocol, so that its parser gets the bytes. */
    if (proto->tcp_ports || proto->udp_ports)
        rig->flow.server_port = (uint16_t)atoi(rig->transport == APP_UDP && proto->udp_ports ? proto->udp_ports
                                               : proto->tcp_ports                            ? proto->tcp_ports
                                                                                             : proto->udp_ports);
    if (!proto->patterns && !proto->probe_any_port && !proto->tcp_ports && !proto->udp_ports) /* follows another one */
        app_rig_expect(rig, FUZZ_APP, "", 0);
    if (size > 0)
        play(rig, data + 1, size - 1);
    out->failed = rig->failed;
    out->refused = app_rig_refused(rig) > 0; /* before the end of the flow, where a failure has no effect */
    app_rig_close(rig);
    for (uint64_t id = 0; id < rig->json_count; id++) {
        if (rig->json[id].bytes)
            text_printf(&out->all, "%s\n", app_rig_json(rig, id));
    }
    out->refused_at_end = app_rig_refused(rig) > 0;
    app_rig_free(rig);
}

static void compare(const struct outcome *whole, const struct outcome *other, const char *name)
{
    if (!FUZZ_SAME_WHEN_CUT)
        return;
    if (whole->failed != other->failed) {
        fprintf(stderr, "whole %s, %s %s\n", whole->failed ? "failed" : "went on", name,
                other->failed ? "failed" : "went on");
        abort();
    }
    if (!whole->failed &&
        (whole->all.length != other->all.length ||
         (whole->all.length > 0 && memcmp(whole->all.bytes, other->all.bytes, whole->all.length) != 0))) {
        fprintf(stderr, "whole:\n%s\n%s:\n%s\n", whole->all.bytes, name, other->all.bytes);
        abort();
    }
}

/* The number of slabs depends on the input, so that the heap is exhausted at different places. */
static void run_in_tiny_heap(const uint8_t *data, size_t size, const struct outcome *whole)
{
    size_t slabs = TINY_SLABS_MIN + (size + (size > 0 ? data[size - 1] : 0)) % TINY_SLABS;
    struct outcome tiny = { 0 };

    run(data, size, 0, slabs * HEAP_SLAB, &tiny);
    if (tiny.refused && !tiny.failed) {
        fprintf(stderr, "an allocation was refused, but the flow did not fail\n");
        abort();
    }
    if (!tiny.refused_at_end)
        compare(whole, &tiny, "tiny heap");
    text_clear(&tiny.all);
}

/* Each run has a new heap, and clearing a huge page for it takes longer than most inputs. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int cuts[] = { 1, -1 };
    struct outcome whole = { 0 };

    run(data, size, 0, HEAP_DEFAULT, &whole);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        struct outcome cut = { 0 };

        run(data, size, cuts[i], HEAP_DEFAULT, &cut);
        compare(&whole, &cut, cuts[i] > 0 ? "cut into bytes" : "cut at random");
        text_clear(&cut.all);
    }
    run_in_tiny_heap(data, size, &whole);
    text_clear(&whole.all);
    return 0;
}
