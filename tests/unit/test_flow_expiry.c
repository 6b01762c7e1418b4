/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends of flows: timeouts, emergency mode, and random operations compared with a model. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>

#include "flow_rig.h"

/* --- Time ----------------------------------------------------------------------------------------- */

static const struct {
    uint8_t protocol;
    enum flow_class class;
    enum flow_state state;
} timed[] = {
    { IPPROTO_TCP, FLOW_CLASS_TCP, FLOW_NEW },
    { IPPROTO_TCP, FLOW_CLASS_TCP, FLOW_ESTABLISHED },
    { IPPROTO_TCP, FLOW_CLASS_TCP, FLOW_CLOSED },
    { IPPROTO_TCP, FLOW_CLASS_TCP, FLOW_BYPASSED },
    { IPPROTO_UDP, FLOW_CLASS_UDP, FLOW_NEW },
    { IPPROTO_UDP, FLOW_CLASS_UDP, FLOW_ESTABLISHED },
    { IPPROTO_ICMP, FLOW_CLASS_ICMP, FLOW_NEW },
    { IPPROTO_ICMPV6, FLOW_CLASS_ICMP, FLOW_NEW },
    { IPPROTO_SCTP, FLOW_CLASS_OTHER, FLOW_ESTABLISHED },
    { IPPROTO_ESP, FLOW_CLASS_OTHER, FLOW_NEW },
};

static uint64_t timeout_of(int i)
{
    return flow_rig.options.timeouts[timed[i].class].seconds[timed[i].state] * SECOND;
}

/* Without calls of flow_table_expire(), and with calls between the packets. */
START_TEST(timeouts_are_exact)
{
    for (int expiring = 0; expiring < 2; expiring++) {
        struct packet pkt = flow_rig_request(timed[_i].protocol);
        uint64_t time = START + 123456789, timeout = timeout_of(_i);
        struct flow *flow = flow_rig_see_at(pkt, START);
        uint64_t number = flow->first_number;

        ck_assert_uint_gt(timeout, 0);
        flow_set_state(flow_rig.table, flow, timed[_i].state);
        flow_rig_see_at(pkt, time);
        if (expiring)
            ck_assert_uint_eq(flow_table_expire(flow_rig.table, time + timeout, 100), 0);
        flow_rig_see_at(pkt, time + timeout);
        ck_assert_uint_eq(flow_rig.ended, 0);
        if (expiring) {
            flow_table_expire(flow_rig.table, time + timeout + timeout, 100);
            ck_assert_uint_eq(flow_rig.ended, 0);
        }
        pkt.number = number + 1;
        flow = flow_rig_see_at(pkt, time + 2 * timeout + 1);
        ck_assert_uint_eq(flow_rig.ended, 1);
        ck_assert_int_eq(flow_rig.ends[0].reason, FLOW_END_TIMEOUT);
        ck_assert_int_eq(flow_rig.ends[0].state, timed[_i].state);
        ck_assert_uint_eq(flow->first_number, number + 1);
        ck_assert_int_eq(flow->state, FLOW_NEW);
        ck_assert_uint_eq(flow->start_ns, time + 2 * timeout + 1);
        flow_table_end_all(flow_rig.table, FLOW_END_SHUTDOWN);
        flow_rig.ended = 0;
    }
}
END_TEST

START_TEST(the_wheel_ends_within_an_eighth)
{
    struct packet pkt = flow_rig_request(timed[_i].protocol);
    uint64_t timeout = timeout_of(_i);

    flow_set_state(flow_rig.table, flow_rig_see_at(pkt, START), timed[_i].state);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + timeout, 100), 0);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + timeout + SECOND / 7 * 2, 100), 1);
    ck_assert_uint_eq(flow_rig.ended, 1);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 0);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 3 * timeout, 100), 0);
}
END_TEST

START_TEST(a_shorter_timeout_is_kept_too)
{
    struct packet pkt = flow_rig_request(IPPROTO_TCP);
    struct flow *flow = flow_rig_see_at(pkt, START);

    flow_set_state(flow_rig.table, flow, FLOW_ESTABLISHED);
    flow_table_expire(flow_rig.table, START + 100 * SECOND, 100); /* the flow is in the slot of 600 s now */
    flow_rig_see_at(pkt, START + 200 * SECOND);
    flow_set_state(flow_rig.table, flow, FLOW_CLOSED);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 259 * SECOND, 100), 0);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 261 * SECOND, 100), 1);
}
END_TEST

START_TEST(a_timeout_longer_than_the_wheel)
{
    struct packet pkt = flow_rig_request(IPPROTO_UDP);

    flow_rig.options.timeouts[FLOW_CLASS_UDP].seconds[FLOW_NEW] = 100000;
    flow_rig.options.timeouts[FLOW_CLASS_UDP].seconds[FLOW_ESTABLISHED] = UINT32_MAX;
    flow_rig_reopen();
    flow_rig_see_at(pkt, START);
    for (uint64_t t = 0; t <= 100000; t += 50)
        ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + t * SECOND, 1), 0);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 100001 * SECOND, 1), 1);
    flow_set_state(flow_rig.table, flow_rig_see_at(pkt, UINT64_MAX - SECOND), FLOW_ESTABLISHED);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, UINT64_MAX, 10), 0);
}
END_TEST

START_TEST(the_budget_is_kept)
{
    enum { FLOWS = 1000 };

    for (uint16_t i = 0; i < FLOWS; i++)
        flow_rig_see_at(flow_rig_packet(IPPROTO_UDP, CLIENT, i, SERVER, 53), START + i * SECOND / FLOWS);
    for (size_t i = 1; i <= FLOWS / 7; i++) {
        ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 40 * SECOND, 7), 7);
        ck_assert_uint_eq(flow_rig.ended, i * 7);
    }
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 40 * SECOND, 0), 0);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 40 * SECOND, SIZE_MAX), FLOWS % 7);
    ck_assert_uint_eq(flow_rig_counter("flow.end.state.new"), FLOWS);
}
END_TEST

START_TEST(time_may_go_back)
{
    struct packet pkt = flow_rig_request(IPPROTO_UDP), other = flow_rig_request(IPPROTO_TCP);
    struct flow *flow = flow_rig_see_at(pkt, START + 1000 * SECOND);

    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 1000 * SECOND, 10), 0);
    ck_assert_ptr_eq(flow_rig_see_at(pkt, START), flow);
    ck_assert_uint_eq(flow->last_ns, START + 1000 * SECOND);
    flow_rig_see_at(other, START);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START, 10), 0);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 61 * SECOND, 10),
                      0); /* the timer wheel is at another slot: the flow ends late, but does end */
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 1001 * SECOND, 10), 1);
    flow_rig_see_at(other, START + 100000 * SECOND);
    flow_table_expire(flow_rig.table, START + 100000 * SECOND, 10);
    ck_assert_uint_eq(flow_rig.ended, 2);
    flow_rig_see_at(pkt, START); /* the time jumps back by more than a turn of the timer wheel */
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + SECOND, 10), 0);
    ck_assert_uint_eq(flow_table_expire(flow_rig.table, START + 1200 * SECOND, 10), 1);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 1);
}
END_TEST

START_TEST(all_end_the_oldest_first)
{
    enum { FLOWS = 50 };

    for (uint16_t i = 0; i < FLOWS; i++) {
        struct packet pkt = flow_rig_packet(IPPROTO_UDP, CLIENT, i, SERVER, 53);

        pkt.number = 1000 - i * 37u % FLOWS;
        flow_rig_see_at(pkt, START + i * 11u % 5 * SECOND);
    }
    flow_table_expire(flow_rig.table, START + 6 * SECOND, 100);
    flow_table_end_all(flow_rig.table, FLOW_END_SHUTDOWN);
    ck_assert_uint_eq(flow_rig.ended, FLOWS);
    for (int i = 0; i < FLOWS; i++) {
        unsigned second = flow_rig.ends[i].client_port * 11u % 5;

        ck_assert_int_eq(flow_rig.ends[i].reason, FLOW_END_SHUTDOWN);
        if (i == 0)
            continue;
        unsigned before = flow_rig.ends[i - 1].client_port * 11u % 5;

        ck_assert(before < second || (before == second && flow_rig.ends[i - 1].number < flow_rig.ends[i].number));
    }
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 0);
    flow_table_end_all(flow_rig.table, FLOW_END_SHUTDOWN);
    ck_assert_uint_eq(flow_rig.ended, FLOWS);
    struct packet pkt = flow_rig_request(IPPROTO_TCP);

    flow_rig_see(&pkt); /* the table still works */
}
END_TEST

START_TEST(all_whose_time_is_over_end_the_oldest_first)
{
    enum { FLOWS = 60 };

    for (uint16_t i = 0; i < FLOWS; i++) {
        struct packet pkt = flow_rig_packet(IPPROTO_UDP, CLIENT, i, SERVER, 53);

        pkt.number = 1000 - i * 37u % FLOWS;
        flow_rig_see_at(pkt, START + i * 11u % 6 * 20 * SECOND);
    }
    flow_table_expire_all(flow_rig.table, START + 95 * SECOND);
    ck_assert_uint_eq(flow_rig.ended, FLOWS / 6 * 4); /* flows that began at 0, 20, 40 and 60 s; the timeout is 30 s */
    for (size_t i = 0; i < flow_rig.ended; i++) {
        unsigned begin = flow_rig.ends[i].client_port * 11u % 6;
        unsigned before = i == 0 ? 0 : flow_rig.ends[i - 1].client_port * 11u % 6;

        ck_assert_int_eq(flow_rig.ends[i].reason, FLOW_END_TIMEOUT);
        ck_assert_uint_lt(begin, 4);
        ck_assert(i == 0 || before < begin ||
                  (before == begin && flow_rig.ends[i - 1].number < flow_rig.ends[i].number));
    }
    flow_table_expire_all(flow_rig.table, START + 95 * SECOND);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), FLOWS / 6 * 2);
    flow_table_expire_all(flow_rig.table, START + 200 * SECOND);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 0);
}
END_TEST

START_TEST(ends_one_now)
{
    struct packet pkt = flow_rig_request(IPPROTO_TCP), other = flow_rig_request(IPPROTO_UDP);
    struct flow *flow = flow_rig_see(&pkt);

    flow_rig_see(&other);
    flow_table_end(flow_rig.table, flow, FLOW_END_REUSED);
    ck_assert_uint_eq(flow_rig.ended, 1);
    ck_assert_int_eq(flow_rig.ends[0].reason, FLOW_END_REUSED);
    ck_assert_uint_eq(flow_rig_counter("flow.tcp_reuse"), 1);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 1);
    flow = flow_rig_see(&pkt);
    ck_assert_uint_eq(flow->side[FLOW_TO_SERVER].packets, 1);
}
END_TEST

/* --- Emergency ------------------------------------------------------------------------------------ */

static struct flow *knock(uint32_t i, uint64_t time_ns)
{
    struct packet pkt = flow_rig_packet(IPPROTO_TCP, 0xc0000000 + i, 1024, SERVER, 80);

    pkt.time_ns = time_ns;
    pkt.number = i;
    return flow_rig_see(&pkt);
}

START_TEST(the_oldest_new_flow_gives_way)
{
    flow_rig_open_small();
    uint64_t capacity = flow_rig_counter("flow.spare");

    for (uint32_t i = 0; i < capacity; i++)
        knock(i, START + i);
    ck_assert_uint_eq(flow_rig.ended, 0);
    ck_assert_uint_eq(flow_rig_counter("flow.emerg_mode_entered"), 0);
    for (uint32_t i = 0; i < 10; i++) {
        ck_assert(knock((uint32_t)capacity + i, START + capacity + i)->emergency);
        ck_assert_uint_eq(flow_rig.ended, i + 1);
        ck_assert_int_eq(flow_rig.ends[i].reason, FLOW_END_FORCED);
        ck_assert_uint_eq(flow_rig.ends[i].number, i);
    }
    ck_assert_uint_eq(flow_rig_counter("flow.emerg_mode_entered"), 1);
    ck_assert_uint_eq(flow_rig_counter("flow.get_used"), 10);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), capacity);
}
END_TEST

START_TEST(an_established_flow_never_gives_way)
{
    enum exception_cause exception = EXCEPTION_NONE;

    flow_rig_open_small();
    uint32_t capacity = (uint32_t)flow_rig_counter("flow.spare");
    struct packet pkt = flow_rig_request(IPPROTO_UDP);

    for (uint32_t i = 0; i < capacity; i++)
        flow_set_state(flow_rig.table, knock(i, START), (enum flow_state)(FLOW_ESTABLISHED + i % 3));
    ck_assert_ptr_null(flow_table_get(flow_rig.table, &pkt, &exception));
    ck_assert_int_eq(exception, EXCEPTION_FLOW_MEMCAP);
    ck_assert_uint_eq(flow_rig.ended, 0);
    ck_assert_uint_eq(flow_rig_counter("flow.memcap"), 1);
    ck_assert_uint_eq(flow_rig_counter("flow.get_used_failed"), 1);
    for (uint32_t i = 0; i < capacity; i++)
        knock(i, START + SECOND); /* all flows are found */
    flow_table_end(flow_rig.table, knock(7, START + SECOND), FLOW_END_TIMEOUT);
    ck_assert_ptr_nonnull(flow_rig_get(&pkt));
}
END_TEST

START_TEST(emergency_has_timeouts_of_its_own)
{
    enum exception_cause exception;
    struct packet pkt = flow_rig_request(IPPROTO_UDP);

    flow_rig_open_small();
    uint32_t capacity = (uint32_t)flow_rig_counter("flow.spare"), old = capacity / 2;

    for (uint32_t i = 0; i < capacity; i++)
        flow_set_state(flow_rig.table, knock(i, START + (i < old ? 0 : 90 * SECOND)), FLOW_ESTABLISHED);
    flow_table_expire(flow_rig.table, START + 101 * SECOND, 10000);
    ck_assert_uint_eq(flow_rig.ended, 0); /* timeout 7440 s */
    pkt.time_ns = START + 101 * SECOND;
    flow_table_get(flow_rig.table, &pkt,
                   &exception); /* lack of memory starts the emergency, even if an expired flow makes room */
    ck_assert_uint_eq(flow_rig_counter("flow.emerg_mode_entered"), 1);
    ck_assert_int_eq(knock(0, START + 101 * SECOND)->state, FLOW_NEW); /* timeout 100 s, for lookups, too */
    for (int i = 0; i < 100; i++) /* expires flows in steps, until enough memory is free */
        flow_table_expire(flow_rig.table, START + 101 * SECOND, 10);
    ck_assert_uint_eq(flow_rig_counter("flow.emerg_mode_over"), 1);
    ck_assert_uint_ge(flow_rig_counter("flow.end.state.established"), capacity * 3 / 10);
    ck_assert_uint_le(flow_rig_counter("flow.end.state.established"), old);
    flow_table_expire(flow_rig.table, START + 7529 * SECOND, 10000); /* newer flows have the timeout of 7440 s again */
    ck_assert_uint_eq(flow_rig_counter("flow.active"), capacity - old);
    flow_table_expire(flow_rig.table, START + 7531 * SECOND, 10000);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 0);
}
END_TEST

static size_t resident_pages(void)
{
    size_t total, resident;
    FILE *file = fopen("/proc/self/statm", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%zu %zu", &total, &resident), 2);
    fclose(file);
    return resident;
}

/* A flood of a million sources, with 20 established flows in between. */
START_TEST(a_flood_keeps_the_memcap)
{
    enum { SOURCES = 1000000, FRIENDS = 20 };
    struct flow *friends[FRIENDS];
    size_t half = 0;

    for (uint16_t i = 0; i < FRIENDS; i++) {
        flow_rig_see_at(flow_rig_packet(IPPROTO_UDP, CLIENT, i, SERVER, 53), START);
        friends[i] = flow_rig_see_at(flow_rig_packet(IPPROTO_UDP, SERVER, 53, CLIENT, i), START);
    }
    for (uint32_t i = 0; i < SOURCES; i++) {
        struct packet pkt = flow_rig_packet(IPPROTO_TCP, i * 2654435761u, (uint16_t)(i % 60000), SERVER, 80);
        enum exception_cause exception;

        pkt.time_ns = START + i * UINT64_C(1000);
        struct flow *flow = flow_table_get(flow_rig.table, &pkt, &exception);

        if (!flow)
            ck_abort_msg("no flow for source %u", i);
        flow_update(flow_rig.table, flow, &pkt);
        if (i % 64 == 0)
            flow_table_expire(flow_rig.table, pkt.time_ns, 64);
        if (i == SOURCES / 2)
            half = resident_pages();
    }
    ck_assert_uint_le(resident_pages(), half + 256);
    ck_assert_uint_le(flow_rig_counter("flow.memuse"), flow_rig.options.memcap);
    ck_assert_uint_ge(flow_rig_counter("flow.memuse"), flow_rig.options.memcap / 10 * 8);
    ck_assert_uint_eq(flow_rig_counter("flow.total"), SOURCES + FRIENDS);
    ck_assert_uint_eq(flow_rig_counter("flow.active") + flow_rig.ended, SOURCES + FRIENDS);
    ck_assert_uint_eq(flow_rig_counter("flow.end.state.established"), 0);
    for (uint16_t i = 0; i < FRIENDS; i++)
        ck_assert_ptr_eq(flow_rig_see_at(flow_rig_packet(IPPROTO_UDP, CLIENT, i, SERVER, 53), START + SECOND),
                         friends[i]);
}
END_TEST

/* --- Comparison with a model ---------------------------------------------------------------------- */

enum { MODEL_FLOWS = 64, MODEL_STEPS = 200000, SERVER_PORT = 5353 };

/* Flows between two hosts; flow i has client port i. `alive`: not expired at the time of the last packet. */
struct model {
    struct flow *flow;
    uint64_t last_ns, packets;
    bool alive;
    unsigned seen; /* bit mask of directions */
    enum flow_state state;
};

static void must(bool ok, const char *what, int step)
{
    if (!ok)
        ck_abort_msg("step %d: %s", step, what);
}

static bool model_over(const struct model *model, uint64_t now)
{
    return now > model->last_ns &&
           now - model->last_ns > flow_rig.options.timeouts[FLOW_CLASS_UDP].seconds[model->state] * SECOND;
}

static void model_packet(struct model *model, uint16_t port, bool back, uint64_t now, int step)
{
    struct packet pkt = back ? flow_rig_packet(IPPROTO_UDP, SERVER, SERVER_PORT, CLIENT, port)
                             : flow_rig_packet(IPPROTO_UDP, CLIENT, port, SERVER, SERVER_PORT);
    enum exception_cause exception;

    pkt.time_ns = now;
    pkt.number = (uint64_t)step;
    if (model->alive && model_over(model, now))
        model->alive = false;
    struct flow *flow = flow_table_get(flow_rig.table, &pkt, &exception);

    must(flow, "there is room", step);
    if (!model->alive) {
        must(flow->first_number == (uint64_t)step, "a flow that is over begins anew", step);
        /* The sender of the first packet is the client. */
        *model = (struct model){ .flow = flow, .alive = true, .state = FLOW_NEW };
    }
    must(flow == model->flow, "a flow that is not over is found", step);
    flow_update(flow_rig.table, flow, &pkt);
    model->packets++;
    model->last_ns = now > model->last_ns ? now : model->last_ns;
    model->seen |= back ? 2 : 1;
    if (model->state == FLOW_NEW && model->seen == 3)
        model->state = FLOW_ESTABLISHED;
    must(flow->state == (uint8_t)model->state, "its state", step);
    must(flow->side[0].packets + flow->side[1].packets == model->packets, "its packets", step);
}

/* Checks that only expired flows have ended, and that all expired ones have ended if time never went back. Returns the
 * number of ended flows. */
static size_t model_expire(struct model *models, uint64_t now, size_t budget, bool complete, int step)
{
    size_t before = flow_rig.ended = 0, count = flow_table_expire(flow_rig.table, now, budget);

    must(count <= budget && flow_rig.ended == before + count, "the budget", step);
    for (size_t i = 0; i < count; i++) {
        bool is_client = flow_rig.ends[i].client_port != SERVER_PORT;
        struct model *model = &models[is_client ? flow_rig.ends[i].client_port : flow_rig.ends[i].server_port];

        must(model->alive && model_over(model, now), "what ended was over", step);
        model->alive = false;
    }
    for (unsigned i = 0; i < MODEL_FLOWS && complete; i++)
        must(!models[i].alive || !model_over(&models[i], now - SECOND / 7 * 2), "what was over is gone", step);
    return count;
}

START_TEST(random_operations_follow_the_model)
{
    struct model models[MODEL_FLOWS] = { { 0 } };
    uint64_t now = START, random = UINT64_C(88172645463325252) + (uint64_t)_i;
    bool jumps_back = _i > 0;
    size_t expired = 0;

    for (int step = 1; step <= MODEL_STEPS; step++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        uint16_t port = (uint16_t)((random >> 8) % MODEL_FLOWS);
        unsigned choice = (unsigned)(random >> 16) % 1000;

        now += (random >> 24) % (SECOND / 2);
        if (choice < 10 && jumps_back)
            now -= (random >> 30) % (now - START + 1);
        else if (choice < 20)
            now += (random >> 30) % 400 * SECOND;
        if (choice < 800) {
            model_packet(&models[port], port, choice & 1, now, step);
        } else if (choice < 850) {
            model_packet(&models[port], port, false, now, step);
            models[port].state = (enum flow_state)(FLOW_ESTABLISHED + choice % 3);
            flow_set_state(flow_rig.table, models[port].flow, models[port].state);
        } else if (choice < 900) {
            expired += model_expire(models, now, MODEL_FLOWS, !jumps_back, step);
        } else {
            expired += model_expire(models, now, random % 3, false, step);
        }
    }
    ck_assert_uint_gt(expired, 1000);
    flow_table_end_all(flow_rig.table, FLOW_END_SHUTDOWN);
    ck_assert_uint_eq(flow_rig_counter("flow.active"), 0);
}
END_TEST

int main(void)
{
    const TTest *const plain[] = {
        a_shorter_timeout_is_kept_too,
        a_timeout_longer_than_the_wheel,
        the_budget_is_kept,
        time_may_go_back,
        all_end_the_oldest_first,
        all_whose_time_is_over_end_the_oldest_first,
        ends_one_now,
        the_oldest_new_flow_gives_way,
        an_established_flow_never_gives_way,
        emergency_has_timeouts_of_its_own,
        a_flood_keeps_the_memcap,
    };
    Suite *suite = suite_create("flow expiry");

    flow_rig_add_loop(suite, timeouts_are_exact, COUNT(timed));
    flow_rig_add_loop(suite, the_wheel_ends_within_an_eighth, COUNT(timed));
    flow_rig_add_loop(suite, random_operations_follow_the_model, 3);
    flow_rig_add_tests(suite, "flow expiry", plain, sizeof(plain) / sizeof(plain[0]));
    return flow_rig_run(suite);
}
