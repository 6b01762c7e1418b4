/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses a rule file; prints every diagnostic, then one line per rule that was loaded.
 *
 *     dump_rules NAME.rules
 *
 * Lines `#! address NAME VALUE` and `#! port NAME VALUE` of the file define variables, `#! application NAME` makes a
 * protocol known, `#! firewall rules` makes all rules of the file firewall rules. NAME.classification, NAME.reference
 * and NAME.threshold are read when they exist; so are the files of the rule policy: NAME.disable, NAME.enable,
 * NAME.drop, NAME.modify and NAME.policy.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "default_options.h"
#include "sluice/app.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"

enum { MAX_APPLICATIONS = 8, MAX_LINE = 4096 };

struct dump {
    char path[MAX_LINE];
    char names[8][MAX_LINE];
    char applications[MAX_APPLICATIONS][64];
    const char *application_list[MAX_APPLICATIONS + 1];
    size_t application_count;
    bool firewall;
    struct rule_variables *variables;
};

/* --- Settings ------------------------------------------------------------------------------------- */

static void apply_setting(struct dump *dump, const char *line)
{
    char kind[32], name[64], value[MAX_LINE];
    int fields = sscanf(line, "#! %31s %63s %4095[^\n]", kind, name, value);

    if (fields == 3 && strcmp(kind, "address") == 0)
        rule_variables_set_address(dump->variables, name, value);
    else if (fields == 3 && strcmp(kind, "port") == 0)
        rule_variables_set_port(dump->variables, name, value);
    else if (fields >= 2 && strcmp(kind, "firewall") == 0)
        dump->firewall = true;
    else if (fields >= 2 && strcmp(kind, "application") == 0 && dump->application_count < MAX_APPLICATIONS)
        snprintf(dump->applications[dump->application_count++], sizeof(dump->applications[0]), "%s", name);
}

static void read_settings(struct dump *dump)
{
    char line[MAX_LINE];
    FILE *file = fopen(dump->path, "r");

    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "#! ", 3) == 0)
            apply_setting(dump, line);
    }
    if (file)
        fclose(file);
    for (size_t i = 0; i < dump->application_count; i++)
        dump->application_list[i] = dump->applications[i];
}

/* NAME.ending, or NULL when there is no such file. */
static const char *companion(const struct dump *dump, const char *ending, char *out)
{
    size_t stem = strlen(dump->path) - strlen(".rules");

    if (snprintf(out, MAX_LINE, "%.*s.%s", (int)stem, dump->path, ending) >= MAX_LINE)
        return NULL;
    return access(out, R_OK) == 0 ? out : NULL;
}

/* --- Printing ------------------------------------------------------------------------------------- */

static void print_address_set(const struct address_set *set)
{
    char low[ADDRESS_TEXT_SIZE], high[ADDRESS_TEXT_SIZE];
    const char *comma = "";

    printf(set->any ? " any" : " {");
    for (uint32_t i = 0; !set->any && i < set->count4; i++, comma = ",") {
        const struct address_range4 *range = &set->range4[i];

        printf("%s%u.%u.%u.%u", comma, range->low >> 24, range->low >> 16 & 255, range->low >> 8 & 255,
               range->low & 255);
        if (range->high != range->low)
            printf("-%u.%u.%u.%u", range->high >> 24, range->high >> 16 & 255, range->high >> 8 & 255,
                   range->high & 255);
    }
    for (uint32_t i = 0; !set->any && i < set->count6; i++, comma = ",") {
        address_format(&set->range6[i].low, 6, false, low);
        address_format(&set->range6[i].high, 6, false, high);
        printf("%s%s", comma, low);
        if (strcmp(low, high) != 0)
            printf("-%s", high);
    }
    printf(set->any ? "" : "}");
}

static void print_port_set(const struct port_set *set)
{
    if (set->any) {
        printf(" any");
        return;
    }
    printf(" {");
    for (uint32_t i = 0; i < set->count; i++) {
        printf("%s%u", i ? "," : "", set->range[i].low);
        if (set->range[i].high != set->range[i].low)
            printf("-%u", set->range[i].high);
    }
    printf("}");
}

static void print_number(const char *name, bool has, int32_t number, int value_index)
{
    if (has && value_index >= 0)
        printf(" %s=value%d", name, value_index);
    else if (has)
        printf(" %s=%d", name, (int)number);
}

static void print_content(const struct content *content)
{
    printf(" \"");
    for (uint16_t i = 0; i < content->length; i++) {
        if (isprint(content->bytes[i]) && !strchr("\"|", content->bytes[i]))
            putchar(content->bytes[i]);
        else
            printf("|%02x|", content->bytes[i]);
    }
    printf("\"%s%s%s%s%s", content->negated ? " negated" : "", content->nocase ? " nocase" : "",
           content->rawbytes ? " rawbytes" : "", content->starts_with ? " startswith" : "",
           content->ends_with ? " endswith" : "");
    print_number("offset", content->has_offset, content->offset, content->offset_value);
    print_number("depth", content->has_depth, content->depth, content->depth_value);
    print_number("distance", content->has_distance, content->distance, content->distance_value);
    print_number("within", content->has_within, content->within, content->within_value);
    if (content->fast_pattern)
        printf(" fast_pattern%s", content->fast_pattern_only ? "(only)" : "");
    if (content->fast_pattern_chop)
        printf("(%u,%u)", content->fast_pattern_offset, content->fast_pattern_length);
}

static void print_conditions(const char *title, const struct condition *condition)
{
    if (condition)
        printf("    %s:", title);
    for (const struct condition *c = condition; c; c = c->next) {
        printf(" %s%s", c->negated ? "!" : "", c->keyword->name);
        if (condition_content(c))
            print_content(c->data);
        printf("%s%s%s", c->relative ? " relative" : "", c->next_relative ? " next-relative" : "",
               c->next ? ";" : "\n");
    }
}

static void print_thresholds(const struct threshold *threshold)
{
    static const char *const kinds[] = { "limit",       "threshold", "both", "backoff", "detection_filter",
                                         "rate_filter", "suppress" };
    static const char *const tracks[] = { "by_src", "by_dst", "by_both", "by_rule", "by_flow", "by_either" };
    static const char *const uniques[] = { "", " unique=src_port", " unique=dst_port" };

    for (; threshold; threshold = threshold->next) {
        printf("    %s%s%s count=%u seconds=%u%s", kinds[threshold->kind], threshold->has_track ? " " : "",
               threshold->has_track ? tracks[threshold->track] : "", threshold->count, threshold->seconds,
               uniques[threshold->unique]);
        if (threshold->kind == THRESHOLD_BACKOFF)
            printf(" multiplier=%u", threshold->multiplier);
        if (threshold->kind == THRESHOLD_RATE_FILTER)
            printf(" timeout=%u action=%s", threshold->timeout, rule_action_name(threshold->new_action));
        if (threshold->addresses)
            print_address_set(threshold->addresses);
        putchar('\n');
    }
}

static void print_meta(const struct rule *rule)
{
    static const char *const targets[] = { "", " target=source", " target=destination" };
    struct span key, value;

    printf("    \"%s\" priority=%u%s%s%s%s\n", rule->message, rule->priority, rule->class_name ? " class=" : "",
           rule->class_name ? rule->class_name : "", rule->noalert ? " noalert" : "", targets[rule->target]);
    for (const struct reference *r = rule->references; r; r = r->next)
        printf("    reference %s: %s%s\n", r->system, r->prefix ? r->prefix : "", r->id);
    for (struct metadata_position at = { .next = rule->metadata }; rule_metadata_next(&at, &key, &value);)
        printf("    metadata " SPAN_FORMAT "=" SPAN_FORMAT "\n", SPAN_ARGS(key), SPAN_ARGS(value));
}

static const char *use_name(unsigned use)
{
    if (use == (RULE_STATE_READS | RULE_STATE_WRITES))
        return "reads+writes";
    return use == RULE_STATE_READS ? "reads" : "writes";
}

static void print_state(const struct rule *rule)
{
    static const char *const payloads[] = { "", "packet-only", "stream-only" };
    static const char *const kinds[] = { "flowbit",   "flowint",     "xbit",      "hostbit",
                                         "flow text", "packet text", "alert text" };
    static const char *const units[] = { "packets", "seconds", "bytes" };

    if (rule->payload != RULE_PAYLOAD_DEFAULT)
        printf("    %s\n", payloads[rule->payload]);
    for (size_t i = 0; i < RULE_NAME_KIND_COUNT; i++) {
        if (rule->state_use[i])
            printf("    %s %s\n", use_name(rule->state_use[i]), kinds[i]);
    }
    for (const struct rule_tag *tag = rule->tag; tag; tag = tag->next)
        printf("    tag %s %u %s%s%s\n", tag->scope == TAG_HOST ? "host" : "session", tag->count, units[tag->unit],
               tag->of_source ? " source" : "", tag->exclusive ? " exclusive" : "");
    if (rule->bypass)
        printf("    bypass\n");
}

static void print_rule(const struct rule *rule)
{
    printf("%u:%u:%u line %u: %s%s%s%s %s%s%s%s", rule->gid, rule->sid, rule->revision, rule->line,
           rule_action_name(rule->action), rule->scope ? ":" : "", rule->scope ? rule_scope_name(rule->scope) : "",
           rule->alert ? ",alert" : "", rule->protocol.name, rule->hook.name ? ":" : "",
           rule->hook.and_earlier ? "<" : "", rule->hook.name ? rule->hook.name : "");
    print_address_set(rule->source);
    print_port_set(rule->source_port);
    printf(" %s", rule->bidirectional ? "<>" : rule->transactional ? "=>" : "->");
    print_address_set(rule->destination);
    print_port_set(rule->destination_port);
    putchar('\n');
    print_meta(rule);
    print_conditions("packet", rule->packet_conditions);
    for (const struct rule_buffer *buffer = rule->buffers; buffer; buffer = buffer->next)
        print_conditions(buffer->keyword ? buffer->keyword->name : "payload", buffer->conditions);
    if (rule->actions)
        printf("    actions:");
    for (const struct match_action *action = rule->actions; action; action = action->next)
        printf(" %s%s", action->keyword->name, action->next ? ";" : "\n");
    print_state(rule);
    print_thresholds(rule->thresholds);
    if (rule->alert_only)
        printf("    alert only\n");
    for (const struct rule_change *change = rule->changes; change; change = change->next)
        printf("    changed by %s:%u: %s\n", change->at.file, change->at.line, change->text);
}

static void print_missing(const char *tag, size_t rules, void *user)
{
    (void)user;
    printf("missing: %s (%zu)\n", tag, rules);
}

static void print_policy(const struct rule_list *list)
{
    struct text counts;

    text_init(&counts);
    rule_policy_counts_print(rule_list_policy_counts(list), &counts);
    if (counts.length > 0)
        printf("policy: %s\n", counts.bytes);
    text_clear(&counts);
}

static void print_list(const struct rule_list *list)
{
    const struct threshold *global = rule_list_global_thresholds(list, 1);

    printf("%zu read, %zu loaded, %zu rejected, %zu replaced\n", rule_list_read(list), rule_list_count(list),
           rule_list_rejected(list), rule_list_replaced(list));
    print_policy(list);
    rule_list_each_missing(list, print_missing, NULL);
    for (size_t i = 0; i < rule_list_count(list); i++)
        print_rule(rule_list_get(list, i));
    if (global) {
        printf("all rules of gid 1\n");
        print_thresholds(global);
    }
}

int main(int argc, char **argv)
{
    struct dump dump = { .variables = rule_variables_new() };
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct diag *diag = diag_new();
    struct rule_list *list = NULL;
    int err = 1;

    if (argc != 2 || !dump.variables || !keywords || !diag || strlen(argv[1]) < sizeof(".rules")) {
        fprintf(stderr, "usage: dump_rules NAME.rules\n");
        return 2;
    }
    snprintf(dump.path, sizeof(dump.path), "%s", argv[1]);
    read_settings(&dump);

    struct rule_list_options options = {
        .keywords = keywords,
        .variables = dump.variables,
        .datasets = datasets_new_default(NULL),
        .owns_datasets = true,
        .applications = dump.application_list,
        .hooks = &app_hook_names,
        .classification_file = companion(&dump, "classification", dump.names[0]),
        .reference_file = companion(&dump, "reference", dump.names[1]),
        .threshold_file = companion(&dump, "threshold", dump.names[2]),
        .policy = {
            .disable = companion(&dump, "disable", dump.names[3]),
            .enable = companion(&dump, "enable", dump.names[4]),
            .drop = companion(&dump, "drop", dump.names[5]),
            .modify = companion(&dump, "modify", dump.names[6]),
            .decisions = companion(&dump, "policy", dump.names[7]),
        },
    };

    if (rule_list_new(&list, &options, diag) == 0 &&
        (dump.firewall ? rule_list_load_firewall : rule_list_load)(list, dump.path, diag) == 0 &&
        rule_list_finish(list, diag) == 0) {
        diag_print(diag, stdout, false);
        print_list(list);
        err = 0;
    }
    rule_list_free(list);
    diag_free(diag);
    keyword_table_free(keywords);
    rule_variables_free(dump.variables);
    return err;
}
