/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A packet from bytes to events. The first byte selects the link type and inline mode; the rest is decoded, matched
 * against rules with every keyword (tests/replay/captures/keywords.rules), and passed to policy and output. The
 * response of a reject rule is built for every packet.
 *
 * Contract: two inspections of a packet give the same rules, each at most once; the rule for any packet is among them;
 * a drop has a reason; every event is one line of valid JSON; a reject packet goes to one of the two ends, has correct
 * checksums, and causes no further response. Each input gets a new policy, so thresholds keep no state.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "output/collect.h"
#include "output/eve.h"
#include "sluice/app.h"
#include "sluice/decode.h"
#include "sluice/decode_event.h"
#include "sluice/detect.h"
#include "sluice/inject.h"
#include "sluice/keyword.h"
#include "sluice/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CAPTURES SLUICE_SOURCE "/tests/replay/captures/"

enum { LINK_MASK = 0x0f, INLINE_BIT = 0x80, MAX_HITS = 512, SID_ANY_PACKET = 1, JSON_MAX_DEPTH = 16 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* --- The rules, loaded once ----------------------------------------------------------------------- */

static struct ruleset *load_rules(void)
{
    struct rule_variables *variables = rule_variables_new();
    const char *const reputations[] = { CAPTURES "reputations.list", NULL };
    const char *words[2 * APP_MAX_PROTOCOLS];
    struct rule_list_options options = {
        .applications = words,
        .keywords = keyword_table_new(keyword_list, keyword_list_count),
        .variables = variables,
        .datasets = datasets_new_default(NULL),
        .owns_datasets = true,
        .reputation_categories = CAPTURES "categories.txt",
        .reputation_files = reputations,
        .geoip_database = CAPTURES "countries.mmdb",
        .hooks = &app_hook_names,
        .scripts = { .allowed = true,
                     .max_bytes = 500000,
                     .max_instructions = 500000,
                     .libraries = app_script_libraries },
    };
    struct ruleset_options ruleset_options;
    struct diag *diag = diag_new();
    struct ruleset *ruleset;
    struct rule_list *list;

    app_list_names(words, sizeof(words) / sizeof(words[0]));
    require(variables && options.keywords && diag);
    require(rule_list_new(&list, &options, diag) == 0);
    require(rule_list_load(list, CAPTURES "keywords.rules", diag) == 0);
    require(rule_list_finish(list, diag) == 0);
    if (diag_errors(diag) > 0)
        diag_print(diag, stderr, false);
    require(diag_errors(diag) == 0 && rule_list_count(list) < MAX_HITS);
    ruleset_options_default(&ruleset_options);
    require(ruleset_new(&ruleset, list, &ruleset_options, diag) == 0);
    diag_free(diag);
    rule_variables_free(variables);
    return ruleset;
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static const char *check_value(const char *at, unsigned depth);

static const char *check_string(const char *at)
{
    require(*at++ == '"');
    for (; *at != '"'; at++) {
        require((unsigned char)*at >= 0x20 && *at != 0x7f);
        if (*at != '\\')
            continue;
        at++;
        require(*at && strchr("\"\\/bfnrtu", *at));
        if (*at == 'u') {
            require(strspn(at + 1, "0123456789abcdefABCDEF") >= 4);
            at += 4;
        }
    }
    return at + 1;
}

static const char *check_members(const char *at, char close, unsigned depth)
{
    require(depth < JSON_MAX_DEPTH);
    if (*at == close)
        return at + 1;
    for (;; at++) {
        if (close == '}') {
            at = check_string(at);
            require(*at++ == ':');
        }
        at = check_value(at, depth + 1);
        if (*at == close)
            return at + 1;
        require(*at == ',');
    }
}

static const char *check_value(const char *at, unsigned depth)
{
    static const char *const words[] = { "true", "false", "null" };

    if (*at == '{')
        return check_members(at + 1, '}', depth);
    if (*at == '[')
        return check_members(at + 1, ']', depth);
    if (*at == '"')
        return check_string(at);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    }
    size_t digits = strspn(at, "-0123456789.");

    require(digits > 0);
    return at + digits;
}

static void check_event(struct text *text)
{
    require(!text->failed && text->length > 0);
    text_append(text, "", 1);
    require(*check_value(text->bytes, 0) == '\0');
    text_reset(text);
    text->need_comma = false;
}

/* --- A packet ------------------------------------------------------------------------------------- */

static void check_events(const struct output_options *options, const struct packet *pkt,
                         const struct decision *decision)
{
    uint32_t kinds = record_kinds(UINT32_MAX, &options->eve, pkt, decision);
    size_t size;
    struct eve eve = { .options = options };
    struct record_scratch scratch = { 0 };
    struct text text;

    record_collect(&scratch, &options->eve, kinds, pkt, decision);
    size = record_size(&scratch, &options->eve, kinds, pkt, decision);

    struct packet_record *record = malloc(size);

    require(record != NULL);
    record_write(record, &scratch, &options->eve, kinds, pkt, decision, 1);
    text_init(&text);
    for (uint32_t i = 0; i < record->alert_count; i++) {
        eve_alert(&eve, &text, record, &record_alerts(record)[i]);
        check_event(&text);
    }
    if (kinds & 1u << OUTPUT_DROP) {
        eve_drop(&eve, &text, record);
        check_event(&text);
    }
    for (unsigned i = 0; i < record->event_count; i++) {
        eve_anomaly(&eve, &text, record, record->event_list[i]);
        check_event(&text);
    }
    if (kinds & 1u << OUTPUT_PACKET) {
        eve_tagged_packet(&eve, &text, record);
        check_event(&text);
    }
    console_packet(&text, options, record);
    text_clear(&text);
    text_clear(&eve.scratch);
    text_clear(&eve.stream);
    free(record);
}

static void check_answer(struct decoder *decoder, const struct packet *pkt, enum reject_kind to)
{
    uint8_t bytes[INJECT_MAX_PACKET], again[INJECT_MAX_PACKET];
    struct packet *found[DECODE_MAX_PACKETS];
    size_t length = inject_build(pkt, to, bytes);
    struct packet answer = { .data = bytes, .length = (uint32_t)length, .wire_length = (uint32_t)length };

    require(length <= INJECT_MAX_PACKET);
    if (length == 0)
        return;
    decode_packet(decoder, &answer, found);
    decode_check_checksums(&answer);
    require(answer.ip_version == pkt->ip_version && answer.transport && !(answer.flags & PACKET_MALFORMED));
    require(!(answer.flags & (PACKET_BAD_L3_CHECKSUM | PACKET_BAD_L4_CHECKSUM)));
    require(address_equal(&answer.destination_address,
                          to == REJECT_SOURCE ? &pkt->source_address : &pkt->destination_address));
    require(inject_build(&answer, REJECT_SOURCE, again) == 0 && inject_build(&answer, REJECT_DESTINATION, again) == 0);
}

static bool has_memory(const struct rule *rule)
{
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        for (const struct condition *c = buffer->conditions; c; c = c->next) {
            if (strcmp(c->keyword->name, "dataset") == 0)
                return true;
        }
    }
    return false;
}

static size_t check_hits(struct detector *detector, const struct ruleset *ruleset, struct packet *pkt,
                         const struct hit **hits)
{
    const struct rule *first[MAX_HITS];
    bool any_packet = false;
    size_t count;

    detect_packet(detector, ruleset, &(struct detect_input){ .packet = pkt }, NULL);
    count = detect_finish(detector, hits);
    require(count <= rule_list_count(ruleset_rules(ruleset)));
    for (size_t i = 0; i < count; i++) {
        first[i] = (*hits)[i].rule;
        any_packet |= first[i]->sid == SID_ANY_PACKET;
        for (size_t k = 0; k < i; k++)
            require(first[k] != first[i]);
    }
    require(any_packet);

    /* The second inspection finds the same rules, except those with a condition on state that the first one set. */
    detect_packet(detector, ruleset, &(struct detect_input){ .packet = pkt }, NULL);
    size_t second = detect_finish(detector, hits), k = 0;

    for (size_t i = 0; i < count; i++) {
        if (k < second && (*hits)[k].rule == first[i])
            k++;
        else
            require(has_memory(first[i]));
    }
    for (; k < second; k++)
        require(has_memory((*hits)[k].rule));
    return second;
}

/* Objects that all inputs share; never freed. */
struct tools {
    struct ruleset *ruleset;
    struct detector *detector, *tiny_detector; /* tiny: memory for one pending candidate */
    struct decoder *decoder, *answer_decoder;
};

static void run(const struct tools *tools, struct packet *const *found, size_t count, bool inline_mode, bool tiny)
{
    struct detector *detector = tiny ? tools->tiny_detector : tools->detector;
    struct output_options output;
    struct policy_options options;
    struct policy_shared *shared;
    struct policy *policy;

    output_options_default(&output);
    output.inline_mode = inline_mode;
    output.eve.anomaly.decode = output.eve.anomaly.stream = true;
    output.eve.alert.payload = output.eve.alert.payload_printable = output.eve.alert.packet = true;
    policy_options_default(&options);
    options.inline_mode = inline_mode;
    options.threshold_memcap = tiny ? 1 << 10 : 1 << 16;
    if (tiny)
        options.tag_memcap = 1;
    require(policy_shared_new(&shared, &options) == 0 && policy_new(&policy, &options, shared) == 0);
    for (size_t i = 0; i < count; i++) {
        struct decision decision;
        const struct hit *hits;

        decode_check_checksums(found[i]);
        size_t hit_count = check_hits(detector, tools->ruleset, found[i], &hits);

        policy_apply(policy, ruleset_rules(tools->ruleset), found[i], hits, hit_count, NULL, &decision);
        require((found[i]->verdict == VERDICT_DROP) == (found[i]->drop_reason != DROP_REASON_NONE));
        require(inline_mode || found[i]->verdict != VERDICT_DROP);
        check_events(&output, found[i], &decision);
        check_answer(tools->answer_decoder, found[i], REJECT_SOURCE);
        check_answer(tools->answer_decoder, found[i], REJECT_DESTINATION);
    }
    policy_free(policy);
    policy_shared_free(shared);
}

static void open_tools(struct tools *tools)
{
    struct detector_options detector_options;
    struct decode_options decode_options;

    tools->ruleset = load_rules();
    detector_options_default(&detector_options);
    decode_options_default(&decode_options);
    require(detector_new(&tools->detector, &detector_options) == 0);
    require(detector_prepare(tools->detector, tools->ruleset) == 0);
    detector_options.flow_memcap = detector_options.transaction_memcap = 1;
    require(detector_new(&tools->tiny_detector, &detector_options) == 0);
    require(detector_prepare(tools->tiny_detector, tools->ruleset) == 0);
    require(decoder_new(&tools->decoder, &decode_options) == 0);
    require(decoder_new(&tools->answer_decoder, &decode_options) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tools tools;
    struct packet *found[DECODE_MAX_PACKETS];

    if (!tools.ruleset)
        open_tools(&tools);
    if (size == 0 || size > UINT16_MAX)
        return 0;
    const struct packet original = {
        .data = data + 1,
        .length = (uint32_t)size - 1,
        .wire_length = (uint32_t)size - 1,
        .number = 1,
        .link = (enum link_type)((data[0] & LINK_MASK) % (LINK_UNSUPPORTED + 1)),
    };

    for (int tiny = 0; tiny < 2; tiny++) {
        struct packet pkt = original;

        run(&tools, found, decode_packet(tools.decoder, &pkt, found), data[0] & INLINE_BIT, tiny);
    }
    return 0;
}
