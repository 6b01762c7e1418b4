/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "default_options.h"
#include "pipeline_rig.h"
#include "memory_watch.h"

struct rig rig;

/* Hits of the last detect_finish() of this thread. */
static _Thread_local struct {
    const struct hit *list;
    size_t count;
} hits;

size_t __real_detect_finish(struct detector *detector, const struct hit **out);
size_t __wrap_detect_finish(struct detector *detector, const struct hit **out);

size_t __wrap_detect_finish(struct detector *detector, const struct hit **out)
{
    hits.count = __real_detect_finish(detector, out);
    hits.list = *out;
    return hits.count;
}

size_t rig_hits(const struct hit **out)
{
    *out = hits.list;
    return hits.count;
}

void rig_inspect(struct packet *pkt)
{
    hits.count = 0;
    pipeline_packet(&rig.pipeline, rig.ruleset, pkt, NULL);
}

void rig_setup(void)
{
    struct pipeline_options *options = &rig.options;

    memset(&rig, 0, sizeof(rig));
    decode_options_default(&options->decode);
    defrag_options_default(&options->defrag);
    detector_options_default(&options->detector);
    flow_options_default(&options->flow);
    stream_options_default(&options->stream);
    policy_options_default(&options->policy);
    options->flow.memcap = options->stream.memcap = options->stream.reassembly_memcap = 4 << 20;
    options->defrag.memcap = options->detector.flow_memcap = 1 << 20;
    options->host_memcap = 1 << 20;
    options->checksums = CHECKSUMS_IGNORE;
    rig.client_port = 40000;
    rig.time_ns = 1000 * RIG_SECOND;
}

void rig_passive(void)
{
    rig.options.stream.inline_mode = rig.options.policy.inline_mode = false;
}

/* Policies under which firewall rules must accept all packets and hooks. */
static const struct filter_policies *drop_policies(void)
{
    static struct filter_policy app[APP_MAX_PROTOCOLS + 1][FLOW_DIRECTIONS][FILTER_APP_HOOKS];
    static const struct filter_policies policies = {
        .packet = { [FILTER_PRE_FLOW] = { ACTION_ACCEPT, RULE_SCOPE_HOOK, false },
                    [FILTER_PRE_STREAM] = { ACTION_ACCEPT, RULE_SCOPE_HOOK, false },
                    [FILTER_PACKET] = { ACTION_DROP, RULE_SCOPE_PACKET, false } },
        .app = app,
    };
    struct filter_policy *policy = &app[0][0][0];

    for (size_t i = 0; i < sizeof(app) / sizeof(*policy); i++)
        policy[i] = (struct filter_policy){ ACTION_DROP, RULE_SCOPE_FLOW, false };
    return &policies;
}

struct ruleset *rig_make_rules(const char *text)
{
    const struct rule_list_options list_options = {
        .keywords = rig.keywords,
        .variables = rig.variables,
        .names = rig.names,
        .datasets = datasets_new_default(NULL),
        .owns_datasets = true,
        .applications = rig.applications,
        .hooks = &app_hook_names,
    };
    struct ruleset *ruleset = NULL;
    struct ruleset_options options;
    struct diag *diag = diag_new();
    struct rule_list *list = NULL;

    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    if (rig.firewall)
        ck_assert_int_eq(rule_list_parse_firewall(list, "firewall", rig.firewall, strlen(rig.firewall), diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "test", text, strlen(text), diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_errors(diag), 0);
    ruleset_options_default(&options);
    if (rig.firewall)
        options.firewall = drop_policies();
    if (rig.ruleset) {
        options.before = rig.ruleset;
        options.generation = ruleset_generation(rig.ruleset) + 1;
    }
    ck_assert_int_eq(ruleset_new(&ruleset, list, &options, diag), 0);
    diag_free(diag);
    return ruleset;
}

void rig_reload(const char *text)
{
    struct ruleset *ruleset = rig_make_rules(text);
    struct detector_memory *room;

    ck_assert_int_eq(detector_memory_new(&room, ruleset), 0);
    detector_switch(rig.pipeline.detector, room);
    pipeline_set_ruleset(&rig.pipeline, ruleset);
    detector_memory_free(room);
    ruleset_free(rig.ruleset);
    rig.ruleset = ruleset;
}

void rig_open(const char *rules)
{
    struct output_options output;
    char error[256];

    output_options_default(&output);
    output.eve_path = rig.eve_path;
    output.eve.enabled[OUTPUT_FLOW] = true;
    output.console = NULL;
    ck_assert_int_eq(output_open(&rig.output, &output, 1, error), 0);
    rig.keywords = keyword_table_new(keyword_list, keyword_list_count);
    rig.variables = rule_variables_new();
    rig.ruleset = rig_make_rules(rules);
    ck_assert_int_eq(pipeline_shared_init(&rig.shared, &rig.options), 0);
    ck_assert_int_eq(pipeline_init(&rig.pipeline, &rig.options, &rig.shared, 0, output_port(rig.output, 0)), 0);
    ck_assert_int_eq(detector_prepare(rig.pipeline.detector, rig.ruleset), 0);
    memory_watch_mark();
}

uint64_t rig_finish(void)
{
    uint64_t before = policy_counters(rig.pipeline.policy)->alerts;

    pipeline_finish(&rig.pipeline, rig.ruleset, rig.time_ns);
    return policy_counters(rig.pipeline.policy)->alerts - before;
}

void rig_close(void)
{
    rig_finish();
    defrag_expire(rig.pipeline.defrag, UINT64_MAX, SIZE_MAX);
    ck_assert_uint_eq(memory_watch_count_unfreed(), 0);
    pipeline_clear(&rig.pipeline);
    output_close(rig.output);
    pipeline_shared_clear(&rig.shared);
    ruleset_free(rig.ruleset);
    rule_names_free(rig.names);
    rule_variables_free(rig.variables);
    keyword_table_free(rig.keywords);
}

void rig_put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void rig_put32(uint8_t *at, uint32_t value)
{
    rig_put16(at, value >> 16);
    rig_put16(at + 2, value);
}

void rig_put_ip(int from, uint8_t protocol, size_t length)
{
    static const uint8_t header[20] = { 0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 0, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2 };

    memcpy(rig.bytes, header, sizeof(header));
    rig_put16(rig.bytes + 2, (uint32_t)length);
    rig.bytes[9] = protocol;
    rig.bytes[15] = from == RIG_CLIENT ? 1 : 2;
    rig.bytes[19] = from == RIG_CLIENT ? 2 : 1;
}

const char *rig_judge(size_t length)
{
    static char text[1024];
    const struct hit *list;
    size_t used = 0, count;

    rig.packet = (struct packet){ .data = rig.bytes,
                                  .length = (uint32_t)length,
                                  .wire_length = (uint32_t)length,
                                  .link = LINK_RAW,
                                  .time_ns = rig.time_ns,
                                  .conntrack = rig.conntrack,
                                  .number = ++rig.number };
    rig_inspect(&rig.packet);
    count = rig_hits(&list);
    text[0] = '\0';
    for (size_t i = 0; i < count && used + 16 < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? " " : "", (unsigned)list[i].rule->sid);
    return text;
}

const char *rig_segment(int from, uint8_t flags, int64_t offset, const void *data, size_t length)
{
    uint8_t *tcp = rig.bytes + 20;
    int to = !from;

    ck_assert_uint_le(RIG_HEADERS + length, sizeof(rig.bytes));
    rig_put_ip(from, IPPROTO_TCP, RIG_HEADERS + length);
    memset(tcp, 0, 20);
    rig_put16(tcp, from == RIG_CLIENT ? rig.client_port : 80);
    rig_put16(tcp + 2, from == RIG_CLIENT ? 80 : rig.client_port);
    rig_put32(tcp + 4, (uint32_t)((from == RIG_CLIENT ? RIG_CLIENT_ISN : RIG_SERVER_ISN) + 1 + offset));
    if (flags & TCP_ACK)
        rig_put32(tcp + 8, (to == RIG_CLIENT ? RIG_CLIENT_ISN : RIG_SERVER_ISN) + 1 + rig.next[to]);
    tcp[12] = 0x50;
    tcp[13] = flags;
    rig_put16(tcp + 14, 65000);
    if (length > 0)
        memcpy(rig.bytes + RIG_HEADERS, data, length);
    return rig_judge(RIG_HEADERS + length);
}

void rig_handshake(void)
{
    rig.next[RIG_CLIENT] = rig.next[RIG_SERVER] = 0;
    rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0);
    rig_segment(RIG_SERVER, TCP_SYN | TCP_ACK, -1, NULL, 0);
    rig_segment(RIG_CLIENT, TCP_ACK, 0, NULL, 0);
}

const char *rig_send_at(int from, int64_t offset, const char *text)
{
    return rig_segment(from, TCP_ACK | TCP_PSH, offset, text, strlen(text));
}

const char *rig_send_bytes(int from, const void *bytes, size_t length)
{
    uint32_t at = rig.next[from];

    rig.next[from] += (uint32_t)length;
    return rig_segment(from, TCP_ACK | TCP_PSH, at, bytes, length);
}

const char *rig_send(int from, const char *text)
{
    return rig_send_bytes(from, text, strlen(text));
}

const char *rig_acknowledge(int from)
{
    return rig_segment(from, TCP_ACK, rig.next[from], NULL, 0);
}

const char *rig_send_filler(int from, size_t length)
{
    static uint8_t filler[8192];

    ck_assert_uint_le(length, sizeof(filler));
    memset(filler, '.', length);
    return rig_send_bytes(from, filler, length);
}

int rig_run(TCase *tcase, const char *name)
{
    Suite *suite = suite_create(name);
    SRunner *runner = srunner_create(suite);

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
