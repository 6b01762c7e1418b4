/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes how a rule is compiled, for `sluice analyse`: its type, the literal that finds it and why this one was
 * chosen, its groups, its conditions in the order of evaluation, the state that it shares with other rules, and
 * warnings about costly parts. The ruleset does not store why a literal or group was chosen, so the functions that
 * chose them are called again.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "detect_priv.h"
#include "sluice/app.h"
#include "sluice/decode_event.h"
#include "sluice/stream_event.h"
#include "sluice/text.h"

enum {
    SHORT_LITERAL = 4,   /* length in bytes; a shorter literal causes a warning */
    MAX_STATE_RULES = 8, /* maximum number of rules that are listed for a flow bit */
};

static const char *const type_names[] = {
    [RULE_TYPE_IP_ONLY] = "ip_only",
    [RULE_TYPE_LIKE_IP_ONLY] = "like_ip_only",
    [RULE_TYPE_PROTOCOL_DETECTED] = "pd_only",
    [RULE_TYPE_PACKET] = "pkt",
    [RULE_TYPE_PACKET_STREAM] = "pkt_stream",
    [RULE_TYPE_STREAM] = "stream",
    [RULE_TYPE_APP_LAYER] = "app_layer",
    [RULE_TYPE_TRANSACTION] = "app_tx",
    [RULE_TYPE_FRAME] = "frame",
};
static const char *const evaluations[] = {
    [RULE_TYPE_IP_ONLY] = "for the first packet of a flow in each direction",
    [RULE_TYPE_LIKE_IP_ONLY] = "for each packet",
    [RULE_TYPE_PROTOCOL_DETECTED] = "when the application protocol is known",
    [RULE_TYPE_PACKET] = "for each packet",
    [RULE_TYPE_PACKET_STREAM] = "for each packet, and for new data at the start of a stream",
    [RULE_TYPE_STREAM] = "for new data of a stream",
    [RULE_TYPE_APP_LAYER] = "for each packet of a flow with the application protocol",
    [RULE_TYPE_TRANSACTION] = "for a transaction, when its buffers are available",
    [RULE_TYPE_FRAME] = "for new bytes of a frame",
};
static const char *const direction_names[] = { [FLOW_TO_SERVER] = "to_server", [FLOW_TO_CLIENT] = "to_client" };

/* Returns when the rule is evaluated. A rule for other traffic than TCP is never evaluated for a stream. */
static const char *evaluation_of(const struct signature *signature)
{
    bool streams = signature_admits_traffic(signature, TRAFFIC_TCP);
    bool of_stream = signature->type == RULE_TYPE_STREAM || signature->type == RULE_TYPE_PACKET_STREAM;

    return evaluations[of_stream && !streams ? RULE_TYPE_PACKET : signature->type];
}

/* The output, and the warnings that are added to its end. */
struct analysis {
    const struct ruleset *ruleset;
    const struct signature *signature;
    struct text *out;
    struct text warnings; /* elements of a JSON array */
};

static void warn(struct analysis *analysis, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct analysis *analysis, const char *format, ...)
{
    char line[256];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    json_string(&analysis->warnings, NULL, line);
}

/* Writes bytes as a rule writes them: printable ASCII, and |0d 0a|. */
static void put_bytes(struct text *out, const char *key, const uint8_t *bytes, size_t length)
{
    struct text text;
    bool in_hex = false;

    text_init(&text);
    for (size_t i = 0; i < length; i++) {
        bool plain = bytes[i] >= 0x20 && bytes[i] < 0x7f && !strchr("|\";\\:", bytes[i]);

        if (plain == in_hex)
            text_puts(&text, "|");
        else if (in_hex)
            text_puts(&text, " ");
        in_hex = !plain;
        if (plain)
            text_append(&text, (const char *)&bytes[i], 1);
        else
            text_printf(&text, "%02x", bytes[i]);
    }
    text_puts(&text, in_hex ? "|" : "");
    json_string(out, key, text.length > 0 ? text.bytes : "");
    text_clear(&text);
}

static void put_transforms(struct text *out, const struct rule_buffer *buffer)
{
    if (!buffer || !buffer->transforms)
        return;
    json_array_open(out, "transforms");
    for (const struct condition *c = buffer->transforms; c; c = c->next)
        json_string(out, NULL, c->keyword->name);
    json_array_close(out);
}

/* --- The literal ---------------------------------------------------------------------------------- */

/* Writes a literal as the object `prefilter`, and warns if it is found often by chance. */
static void put_literal(struct analysis *analysis, const struct literal *literal, bool other_was_marked)
{
    struct text *out = analysis->out;
    bool common = literal->buffer && literal->buffer->hints && literal->buffer->hints->few_values;

    json_object_open(out, "prefilter");
    put_bytes(out, "pattern", literal->bytes, literal->length);
    json_uint(out, "length", literal->length);
    json_string(out, "buffer", literal->buffer ? literal->buffer->name : "payload");
    put_transforms(out, literal->rule_buffer);
    json_uint(out, "strength", literal->strength);
    json_string(out, "reason",
                literal->is_chosen ? "fast_pattern"
                : other_was_marked ? "strongest content; the one marked fast_pattern is weak or common"
                                   : "strongest content");
    if (literal->nocase)
        json_bool(out, "nocase", true);
    if (literal->is_part)
        json_bool(out, "part_of_content", true);
    if (literal->at != LITERAL_ANYWHERE)
        json_uint(out, "at_offset", literal->at);
    else if (literal->reach != LITERAL_ANYWHERE)
        json_uint(out, "within_first_bytes", literal->reach);
    json_object_close(out);
    if (literal->length < SHORT_LITERAL)
        warn(analysis, "the pattern is short (%zu bytes): it occurs often by chance", literal->length);
    else if (literal->strength < LITERAL_STRONG / 2)
        warn(analysis, "the pattern is weak (strength %u): it occurs in much traffic", literal->strength);
    if (common)
        warn(analysis, "buffer %s has one of a few values in nearly all traffic", literal->buffer->name);
}

/* Returns whether a content of the rule is marked fast_pattern. */
static bool has_fast_pattern(const struct rule *rule)
{
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        for (const struct condition *c = buffer->conditions; c; c = c->next) {
            const struct content *content = condition_content(c);

            if (content && content->fast_pattern)
                return true;
        }
    }
    return false;
}

/* --- Groups --------------------------------------------------------------------------------------- */

static void put_groups(struct analysis *analysis, const struct literal *literal)
{
    static const char *const names[] = { "tcp", "udp", "other" };
    struct text *out = analysis->out;

    json_array_open(out, "groups");
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        const struct port_set *ports = NULL;
        enum port_end end = PORT_DESTINATION;

        if (!signature_admits_traffic(analysis->signature, traffic))
            continue;
        json_object_open(out, NULL);
        json_string(out, "traffic", names[traffic]);
        ports = group_ports(analysis->signature, traffic, literal, &end);
        if (ports) {
            json_string(out, "ports", ports->text);
            json_string(out, "end", end == PORT_DESTINATION ? "destination" : "source");
        } else {
            bool has_ports = analysis->signature->destination_port || analysis->signature->source_port;

            json_string(out, "ports", "any");
            json_string(out, "reason",
                        traffic == TRAFFIC_OTHER                                        ? "traffic without ports"
                        : analysis->signature->bidirectional                            ? "the rule is bidirectional"
                        : group_ports(analysis->signature, traffic, NULL, &end) != NULL ? "the pattern is rare"
                        : has_ports                                                     ? "the rule has many ports"
                                                                                        : "the rule has no ports");
        }
        json_object_close(out);
    }
    json_array_close(out);
}

/* Writes the plans of a rule on transactions: one for each protocol and direction. */
static void put_plans(struct analysis *analysis)
{
    const struct signature *signature = analysis->signature;
    struct text *out = analysis->out;

    json_array_open(out, "transactions");
    for (const struct transaction_plan *plan = signature->plans; plan; plan = plan->next) {
        const struct app_proto *proto = app_proto_by_id(plan->proto);
        struct literal literal;

        json_object_open(out, NULL);
        json_string(out, "protocol", proto->name);
        json_string(out, "direction", direction_names[plan->direction]);
        json_uint(out, "progress", plan->progress);
        json_uint(out, "complete", proto->complete[plan->direction]);
        if (plan->half)
            json_bool(out, "stored_for_response", true);
        if (plan->grows || plan->files || plan->events)
            json_bool(out, "each_new_data", true);
        if (!signature->by_payload && transaction_plan_literal(signature, plan, &literal)) {
            json_string(out, "buffer", literal.buffer->name);
            put_bytes(out, "pattern", literal.bytes, literal.length);
        } else {
            json_string(out, "candidates",
                        signature->by_payload ? "pattern in the payload"
                        : plan->on_event      ? "transactions with events"
                                              : "each transaction");
        }
        json_object_close(out);
    }
    json_array_close(out);
}

static void put_prefilter(struct analysis *analysis)
{
    const struct signature *signature = analysis->signature;
    const struct rule *rule = signature->rule;
    struct text *out = analysis->out;
    bool marked = has_fast_pattern(rule), found = false;
    int event = signature->of_transaction || signature->of_frame ? -1 : rule_required_event(rule);
    struct literal literal;

    if (signature->of_transaction && signature->by_payload)
        found = literal_choose_payload(rule, &literal);
    else if (signature->of_transaction)
        found = signature->plans && transaction_plan_literal(signature, signature->plans, &literal);
    else if (event < 0)
        found = literal_choose(rule, signature->of_frame, LITERAL_BOTH_WAYS, &literal);
    if (found) {
        put_literal(analysis, &literal, marked);
    } else if (event >= 0) {
        json_string(out, "prefilter_event",
                    event < DECODE_EVENT_COUNT ? decode_event_name((enum decode_event)event)
                                               : stream_event_name((enum stream_event)event));
    } else if (signature->type == RULE_TYPE_IP_ONLY) {
        json_string(out, "prefilter_index", "addresses");
    } else {
        const char *reason = "the rule has no content";

        for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next)
            for (const struct condition *c = buffer->conditions; c; c = c->next)
                reason = condition_content(c) ? "its contents are negated, or in buffers that may be absent" : reason;
        json_string(out, "no_prefilter", reason);
        if (signature->of_transaction && signature->plans && signature->plans->on_event)
            return; /* few transactions have events */
        warn(analysis, "no pattern finds the rule (%s): it is evaluated %s, if header and packet conditions match",
             reason, evaluation_of(signature));
    }
    if (signature->of_frame)
        return;
    if (!signature->of_transaction && event < 0 && signature->type != RULE_TYPE_IP_ONLY && (!found || !literal.buffer))
        put_groups(analysis, found ? &literal : NULL);
    else if (signature->of_transaction && signature->by_payload && found)
        put_groups(analysis, &literal);
}

/* --- Conditions ----------------------------------------------------------------------------------- */

static void put_conditions(struct text *out, const char *key, const struct condition *list)
{
    if (!list)
        return;
    json_array_open(out, key);
    for (const struct condition *c = list; c; c = c->next)
        json_printf(out, NULL, "%s%s", c->negated ? "!" : "", c->keyword->name);
    json_array_close(out);
}

/* Writes a modifier of a content: "offset:4", or "offset:variable" if the number is one of the rule's variables. */
static void put_modifier(struct text *out, bool has, const char *name, int32_t value, int8_t variable)
{
    if (has && variable >= 0)
        text_printf(out, "%s%s:variable", out->length > 0 ? "; " : "", name);
    else if (has)
        text_printf(out, "%s%s:%" PRId32, out->length > 0 ? "; " : "", name, value);
}

static void put_content(struct text *out, const struct content *content)
{
    struct text modifiers;

    text_init(&modifiers);
    put_bytes(out, "pattern", content->bytes, content->length);
    if (content->nocase)
        text_puts(&modifiers, "nocase");
    put_modifier(&modifiers, content->has_offset && !content->starts_with, "offset", content->offset,
                 content->offset_value);
    put_modifier(&modifiers, content->has_depth && !content->starts_with, "depth", content->depth,
                 content->depth_value);
    put_modifier(&modifiers, content->has_distance, "distance", content->distance, content->distance_value);
    put_modifier(&modifiers, content->has_within, "within", content->within, content->within_value);
    if (content->starts_with)
        text_printf(&modifiers, "%sstartswith", modifiers.length > 0 ? "; " : "");
    if (content->ends_with)
        text_printf(&modifiers, "%sendswith", modifiers.length > 0 ? "; " : "");
    if (content->fast_pattern)
        text_printf(&modifiers, "%sfast_pattern", modifiers.length > 0 ? "; " : "");
    if (modifiers.length > 0)
        json_string(out, "modifiers", modifiers.bytes);
    text_clear(&modifiers);
}

static void put_buffers(struct analysis *analysis)
{
    const struct rule *rule = analysis->signature->rule;
    struct text *out = analysis->out;

    json_array_open(out, "buffers");
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next) {
        const char *name = buffer->keyword ? buffer->keyword->name : "payload";
        const struct condition *pcre = NULL;
        bool has_content = false;

        json_object_open(out, NULL);
        json_string(out, "buffer", name);
        put_transforms(out, buffer);
        if (buffer->absence != BUFFER_PRESENT)
            json_string(out, "absent", buffer->absence == BUFFER_ABSENT ? "required" : "or the conditions match");
        json_array_open(out, "conditions");
        for (const struct condition *c = buffer->conditions; c; c = c->next) {
            const struct content *content = condition_content(c);

            json_object_open(out, NULL);
            json_string(out, "keyword", c->keyword->name);
            if (content ? content->negated : c->negated)
                json_bool(out, "negated", true);
            if (c->relative)
                json_bool(out, "relative", true);
            if (content)
                put_content(out, content);
            json_object_close(out);
            has_content |= content && !content->negated;
            if (strcmp(c->keyword->name, "pcre") == 0 && !has_content && !pcre)
                pcre = c;
        }
        json_array_close(out);
        json_object_close(out);
        if (pcre)
            warn(analysis,
                 "pcre in %s has no content before it: it runs over the whole buffer each time the rule is "
                 "evaluated",
                 name);
    }
    json_array_close(out);
}

/* --- State ---------------------------------------------------------------------------------------- */

/* Splits the next option `name:value;` off the text of a rule; name and value are without spaces around them. */
static bool next_option(struct span *rest, struct span *name, struct span *value)
{
    size_t end = 0;

    while (end < rest->length && rest->at[end] != ';')
        end += rest->at[end] == '\\' ? 2 : 1;
    if (end >= rest->length)
        return false;

    struct span option = { rest->at, end };
    const char *colon = memchr(option.at, ':', option.length);

    *name = span_trim((struct span){ option.at, colon ? (size_t)(colon - option.at) : option.length });
    *value = colon ? span_trim((struct span){ colon + 1, option.length - (size_t)(colon + 1 - option.at) })
                   : (struct span){ option.at + option.length, 0 };
    rest->at += end + 1;
    rest->length -= end + 1;
    return true;
}

/* Returns whether a `flowbits` option of the rule names the bit. `writes` true: with the operation set or toggle;
 * false: with isset or isnotset. */
static bool uses_bit(const struct rule *rule, struct span bit, bool writes)
{
    const char *open = strchr(rule->text, '(');
    struct span rest = span_of(open ? open + 1 : ""), name, value, operation, part;

    while (next_option(&rest, &name, &value)) {
        if (!span_equal(name, "flowbits") || !span_next(&value, ',', &operation) || !value.at)
            continue;
        if (!span_equal(operation, writes ? "set" : "isset") && !span_equal(operation, writes ? "toggle" : "isnotset"))
            continue;
        while (span_next(&value, '|', &part))
            if (part.length == bit.length && memcmp(part.at, bit.at, bit.length) == 0)
                return true;
    }
    return false;
}

/* Writes the other rules of the ruleset that set the flow bit or, if `writes` is false, test it; at most
 * MAX_STATE_RULES. Returns the number of all such rules. The analysed rule is omitted: it sets a bit only when it has
 * matched, so it cannot be what makes its own isset true at first. */
static size_t put_bit_rules(struct analysis *analysis, const char *key, struct span bit, bool writes)
{
    const struct rule_list *rules = analysis->ruleset->rules;
    size_t count = 0;

    json_array_open(analysis->out, key);
    for (size_t i = 0; i < rule_list_count(rules); i++) {
        const struct rule *rule = rule_list_get(rules, i);
        unsigned use = rule->state_use[RULE_NAME_FLOWBIT];

        if (rule == analysis->signature->rule || !(use & (writes ? RULE_STATE_WRITES : RULE_STATE_READS)) ||
            !uses_bit(rule, bit, writes))
            continue;
        if (count++ < MAX_STATE_RULES)
            json_printf(analysis->out, NULL, "%" PRIu32 ":%" PRIu32, rule->gid, rule->sid);
    }
    json_array_close(analysis->out);
    return count;
}

/* Writes the flow bits of the rule. For a bit that the rule tests, lists the rules that set it; for a bit that the rule
 * changes, lists the rules that test it. */
static void put_flowbits(struct analysis *analysis)
{
    const struct rule *rule = analysis->signature->rule;
    const char *open = strchr(rule->text, '(');
    struct span rest = span_of(open ? open + 1 : ""), name, value, operation, bit;
    struct text *out = analysis->out;

    if (!rule->state_use[RULE_NAME_FLOWBIT])
        return;
    json_array_open(out, "flowbits");
    while (next_option(&rest, &name, &value)) {
        if (!span_equal(name, "flowbits") || !span_next(&value, ',', &operation))
            continue;
        while (span_next(&value, '|', &bit)) {
            bool tests = span_equal(operation, "isset") || span_equal(operation, "isnotset");
            size_t count;

            json_object_open(out, NULL);
            json_stringn(out, "operation", operation.at, operation.length);
            json_stringn(out, "name", bit.at, bit.length);
            count = put_bit_rules(analysis, tests ? "set_by" : "tested_by", bit, tests);
            json_uint(out, "rules", count);
            json_object_close(out);
            if (span_equal(operation, "isset") && count == 0)
                warn(analysis, "no loaded rule sets the flow bit " SPAN_FORMAT ": the rule cannot match",
                     SPAN_ARGS(bit));
        }
    }
    json_array_close(out);
}

/* --- The rule ------------------------------------------------------------------------------------- */

static void put_header(struct analysis *analysis)
{
    static const char *const scopes[] = { [SCOPE_STREAM] = "stream", [SCOPE_PACKET] = "packet", [SCOPE_BOTH] = "both" };
    static const struct {
        unsigned bit;
        const char *name;
    } needs[] = {
        { RULE_FILE_MD5, "MD5 of files" },
        { RULE_FILE_SHA1, "SHA-1 of files" },
        { RULE_FILE_SHA256, "SHA-256 of files" },
        { RULE_FILE_MAGIC, "types of files (libmagic)" },
        { RULE_FILE_STORE, "the file store" },
        { RULE_MESSAGE_MD5, "MD5 of messages" },
        { RULE_TX_START, "transactions at their start" },
    };
    const struct signature *signature = analysis->signature;
    const struct rule *rule = signature->rule;
    struct text *out = analysis->out;

    json_string(out, "type", type_names[signature->type]);
    json_string(out, "evaluated", evaluation_of(signature));
    json_uint(out, "position", (uint64_t)(signature - analysis->ruleset->signatures) + 1);
    json_uint(out, "of", analysis->ruleset->signature_count);
    json_object_open(out, "header");
    json_string(out, "protocol", rule->protocol.name);
    json_string(out, "source", rule->source->text);
    json_string(out, "source_port", rule->source_port->text);
    json_string(out, "arrow", rule->bidirectional ? "<>" : rule->transactional ? "=>" : "->");
    json_string(out, "destination", rule->destination->text);
    json_string(out, "destination_port", rule->destination_port->text);
    json_object_close(out);
    json_array_open(out, "directions");
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        uint32_t flag = direction == FLOW_TO_CLIENT ? PACKET_TO_CLIENT : 0;
        bool by_flow = (signature->needs.properties ^ flag) & signature->needs.properties_mask & PACKET_TO_CLIENT;

        if (!by_flow && (!rule->directions || rule->directions >> direction & 1))
            json_string(out, NULL, direction_names[direction]);
    }
    json_array_close(out);
    if (rule->applications) {
        json_array_open(out, "applications");
        for (const char *const *name = rule->applications; *name; name++)
            json_string(out, NULL, *name);
        json_array_close(out);
    }
    if (signature->has_payload)
        json_string(out, "payload",
                    scopes[signature_admits_traffic(signature, TRAFFIC_TCP) ? signature->scope : SCOPE_PACKET]);
    json_array_open(out, "needs");
    for (unsigned i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        if (rule->file_needs & needs[i].bit)
            json_string(out, NULL, needs[i].name);
    }
    if (rule->needs_conntrack)
        json_string(out, NULL, "conntrack data");
    if (signature_needs_acknowledgments(signature))
        json_string(out, NULL, "acknowledgments");
    json_array_close(out);
}

/* Writes the files of the rule's scripts. */
static void put_scripts(const struct analysis *analysis)
{
    const struct script_set *scripts = rule_list_scripts(analysis->ruleset->rules);
    const struct rule *rule = analysis->signature->rule;
    const char *path = script_set_find(scripts, rule->gid, rule->sid, 0);

    if (!path)
        return;
    json_array_open(analysis->out, "scripts");
    for (unsigned i = 1; path; path = script_set_find(scripts, rule->gid, rule->sid, i++))
        json_string(analysis->out, NULL, path);
    json_array_close(analysis->out);
}

void ruleset_analyse(const struct ruleset *ruleset, const struct rule *rule, struct text *out)
{
    struct analysis analysis = { .ruleset = ruleset, .out = out };

    for (uint32_t i = 0; i < ruleset->signature_count; i++) {
        if (ruleset->signatures[i].rule == rule)
            analysis.signature = &ruleset->signatures[i];
    }
    if (!analysis.signature)
        return;
    text_init(&analysis.warnings);
    put_header(&analysis);
    put_prefilter(&analysis);
    if (analysis.signature->of_transaction)
        put_plans(&analysis);
    put_conditions(out, "packet_conditions", rule->packet_conditions);
    put_conditions(out, "transaction_conditions", rule->transaction_conditions);
    put_conditions(out, "file_conditions", rule->file_conditions);
    put_buffers(&analysis);
    put_flowbits(&analysis);
    put_scripts(&analysis);
    if (analysis.signature->of_transaction && !analysis.signature->plans)
        warn(&analysis, "no protocol has all buffers and conditions of the rule in one direction: it cannot match");
    json_array_open(out, "warnings");
    if (analysis.warnings.length > 0) {
        text_append(out, analysis.warnings.bytes, analysis.warnings.length);
        out->need_comma = true;
    }
    out->failed |= analysis.warnings.failed;
    json_array_close(out);
    text_clear(&analysis.warnings);
}
