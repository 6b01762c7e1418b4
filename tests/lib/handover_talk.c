/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "handover_talk.h"

#include <fcntl.h>

#include "sluice/stream_event.h"
#include "sluice/transfer.h"

static size_t put_udp(const struct step *step, size_t length)
{
    uint8_t *udp = rig.bytes + 20;

    rig_put_ip(step->from, IPPROTO_UDP, 28 + length);
    memset(udp, 0, 8);
    rig_put16(udp, step->from == RIG_CLIENT ? rig.client_port : 53);
    rig_put16(udp + 2, step->from == RIG_CLIENT ? 53 : rig.client_port);
    rig_put16(udp + 4, (uint32_t)(8 + length));
    memcpy(udp + 8, step->text, length);
    return 28 + length;
}

static const char *send_step(const struct step *step)
{
    const char *text = step->text ? step->text : "";
    size_t length = step->length ? step->length : strlen(text);
    unsigned flags = step->flags ? step->flags : TCP_ACK | TCP_PSH;
    uint32_t *next = &rig.next[step->from];
    int64_t offset = step->offset == NEXT ? *next : step->offset;

    if (flags == UDP)
        return rig_judge(put_udp(step, length));
    if (offset + (int64_t)length > *next)
        *next = (uint32_t)(offset + (int64_t)length);
    return rig_segment(step->from, (uint8_t)flags, offset, text, length);
}

static uint64_t alerts(void)
{
    return policy_counters(rig.pipeline.policy)->alerts;
}

size_t talk_tell_packet(char *out, size_t size, const char *hits, uint64_t reported)
{
    size_t at = (size_t)snprintf(out, size, "[%s] %u %s", hits, (unsigned)reported,
                                 rig.packet.verdict == VERDICT_DROP ? "drop" : "accept");

    for (unsigned i = 0; i < rig.packet.event_count; i++)
        at += (size_t)snprintf(out + at, size - at, " %u", rig.packet.event_list[i]);
    return at + (size_t)snprintf(out + at, size - at, "\n");
}

static void tell_variable(uint32_t number, bool is_bit, uint32_t value, void *user)
{
    char *out = user;

    snprintf(out + strlen(out), 64, " %s%u=%u", is_bit ? "bit" : "int", number, value);
}

static size_t tell_flow(char *out, size_t size, const struct flow *flow)
{
    struct tcp_summary tcp;
    char variables[1024] = "";

    stream_summary(flow, &tcp);
    flow_each_variable(flow, tell_variable, variables);
    return (size_t)snprintf(
        out, size, "flow %llu state %u flags %x app %x packets %llu/%llu tcp %u size %u/%u bytes %llu/%llu drop %u%s\n",
        (unsigned long long)flow->id, flow->state, flow->flags, flow->application,
        (unsigned long long)flow->side[0].packets, (unsigned long long)flow->side[1].packets, tcp.state, tcp.size[0],
        tcp.size[1], (unsigned long long)tcp.bytes[0], (unsigned long long)tcp.bytes[1], flow->drop_sid, variables);
}

void talk_tell_flow(struct flow *flow, void *user)
{
    struct teller *teller = user;

    teller->at += tell_flow(teller->out + teller->at, TOLD - teller->at, flow);
}

static void tell_transactions(struct flow *flow, void *user)
{
    struct teller *teller = user;

    teller->at += (size_t)snprintf(teller->out + teller->at, TOLD - teller->at, "tx %llu\n",
                                   (unsigned long long)app_tx_count(flow));
}

static void keep_file(const struct conversation *talk, int cut, bool shared)
{
    enum { HEAD = 16, DIGEST = 8 };
    const char *folder = getenv("HANDOVER_CORPUS");
    static uint8_t bytes[1 << 18];
    char path[4096];
    int fd = rig_memory_file(), out;
    ssize_t length;

    if (shared)
        ck_assert_int_eq(handover_write_shared(&rig.shared, rig.ruleset, rig.time_ns, fd), 0);
    else
        ck_assert_int_eq(handover_write(&rig.pipeline, rig.ruleset, rig_place, fd, &(struct handover_counts){ 0 }), 0);
    length = pread(fd, bytes, sizeof(bytes), 0);
    snprintf(path, sizeof(path), "%s/%c%c%c-%zu-%d%s", folder, talk->name[0],
             talk->name[1] == ' ' ? '_' : talk->name[1], talk->name[2] == ' ' ? '_' : talk->name[2], strlen(talk->name),
             cut, shared ? "-shared" : "");
    out = creat(path, 0644);
    ck_assert_int_eq(write(out, bytes + HEAD, (size_t)length - HEAD - DIGEST), length - HEAD - DIGEST);
    close(out);
    close(fd);
}

void talk_hand_over(const struct conversation *talk, int cut)
{
    if (getenv("HANDOVER_CORPUS") && cut % 3 == 2)
        keep_file(talk, cut, false);
    if (getenv("HANDOVER_CORPUS") && (cut == 4 || cut == 11))
        keep_file(talk, cut, true);
    rig_hand_over_to(talk->rules, talk->yaml ? talk->yaml : "");
}

void talk_play(const struct conversation *talk, int cut, char out[TOLD])
{
    const char *yaml = talk->yaml ? talk->yaml : "";
    struct teller teller = { out, 0 };

    rig_setup_applications();
    app_options_clear(&rig.options.app);
    rig_configure_applications(yaml);
    if (talk->passive)
        rig_passive();
    rig_open(talk->rules);
    if (!talk->no_handshake)
        rig_handshake();
    for (int i = 0; talk->steps[i].text || talk->steps[i].flags; i++) {
        if (i == cut)
            talk_hand_over(talk, i);
        rig.time_ns += RIG_SECOND / 10;

        uint64_t before = alerts();
        const char *hits = send_step(&talk->steps[i]);

        teller.at += talk_tell_packet(out + teller.at, TOLD - teller.at, hits, alerts() - before);
    }
    flow_table_each(rig.pipeline.flows, talk_tell_flow, &teller);
    flow_table_each(rig.pipeline.flows, tell_transactions, &teller);
    teller.at += (size_t)snprintf(out + teller.at, TOLD - teller.at, "end %llu\n", (unsigned long long)rig_finish());
    rig_close_applications();
}

static int count_steps(const struct conversation *talk)
{
    int count = 0;

    while (talk->steps[count].text || talk->steps[count].flags)
        count++;
    return count;
}

void talk_check_all_cuts(const struct conversation *talk)
{
    static char whole[TOLD], cut[TOLD];
    int steps = count_steps(talk);

    talk_play(talk, -1, whole);
    for (int i = 0; i < steps; i++) {
        talk_play(talk, i, cut);
        ck_assert_msg(strcmp(whole, cut) == 0, "%s, before step %d\n--- without\n%s--- with\n%s", talk->name, i, whole,
                      cut);
    }
}