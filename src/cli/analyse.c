/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice analyse`: how a rule is compiled. The daemon answers for the rules that it has loaded; without a daemon the
 * rules of the configuration are loaded and grouped, but not compiled to databases. */
#include "query.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sluice/daemon.h"
#include "sluice/detect.h"
#include "sluice/rule.h"
#include "sluice/setup.h"

enum { OPTION_OFFLINE = QUERY_OPTION_OWN };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    CLI_ROW_RULES,
    CLI_ROW_SET,
    QUERY_ROW_SOCKET,
    { .id = OPTION_OFFLINE,
      .letter = 'o',
      .name = "offline",
      .help = "read the rules of the configuration, also if the daemon runs" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query;
    bool offline;
    uint64_t gid, sid;
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_OFFLINE)
        return query_handle_option(&arguments->query, option, value);
    arguments->offline = true;
    return 0;
}

/* --- Text ----------------------------------------------------------------------------------------- */

static const struct control_value *member(const struct control_value *value, const char *name)
{
    return control_value_member(value, name);
}

static bool is_set(const struct control_value *value, const char *name)
{
    return control_value_bool(member(value, name));
}

/* Prints a text of a rule, with control characters as \xNN. */
static void print_text(const char *text)
{
    struct text out;

    text_init(&out);
    text_printable(&out, text, strlen(text));
    fputs(out.length > 0 ? out.bytes : "", stdout);
    text_clear(&out);
}

/* Prints the strings of an array, separated by commas. */
static void print_list(const struct control_value *list)
{
    for (size_t i = 0; i < control_value_count(list); i++) {
        const char *item = control_value_string(control_value_item(list, i));

        fputs(i > 0 ? ", " : "", stdout);
        print_text(item ? item : "");
    }
}

static void print_lists(const char *title, const struct control_value *list)
{
    if (control_value_count(list) == 0)
        return;
    printf("  %s: ", title);
    print_list(list);
    putchar('\n');
}

static void print_pattern(const struct control_value *value)
{
    printf("\"%s\" in %s", query_string(value, "pattern"), query_string(value, "buffer"));
    if (member(value, "transforms")) {
        printf(" after ");
        print_list(member(value, "transforms"));
    }
}

static void print_prefilter(const struct control_value *analysis)
{
    const struct control_value *literal = member(analysis, "prefilter"), *groups = member(analysis, "groups");
    const struct control_value *plans = member(analysis, "transactions");

    if (literal) {
        printf("  prefilter: pattern ");
        print_pattern(literal);
        printf(" (%s; %" PRId64 " bytes, strength %" PRId64 "%s%s", query_string(literal, "reason"),
               query_number(literal, "length"), query_number(literal, "strength"),
               is_set(literal, "nocase") ? ", nocase" : "",
               is_set(literal, "part_of_content") ? ", part of the content" : "");
        if (member(literal, "at_offset"))
            printf(", at offset %" PRId64, query_number(literal, "at_offset"));
        if (member(literal, "within_first_bytes"))
            printf(", within the first %" PRId64 " bytes", query_number(literal, "within_first_bytes"));
        printf(")\n");
    } else if (member(analysis, "prefilter_event")) {
        printf("  prefilter: packets with the event %s\n", query_string(analysis, "prefilter_event"));
    } else if (member(analysis, "prefilter_index")) {
        printf("  prefilter: index of %s\n", query_string(analysis, "prefilter_index"));
    } else {
        printf("  prefilter: none: %s\n", query_string(analysis, "no_prefilter"));
    }
    for (size_t i = 0; i < control_value_count(groups); i++) {
        const struct control_value *group = control_value_item(groups, i);

        printf("  group: %s, ", query_string(group, "traffic"));
        if (*query_string(group, "end"))
            printf("%s port %s\n", query_string(group, "end"), query_string(group, "ports"));
        else
            printf("any port (%s)\n", query_string(group, "reason"));
    }
    for (size_t i = 0; i < control_value_count(plans); i++) {
        const struct control_value *plan = control_value_item(plans, i);

        printf("  transactions: %s %s, at progress %" PRId64 " of %" PRId64 "%s%s: ", query_string(plan, "protocol"),
               query_string(plan, "direction"), query_number(plan, "progress"), query_number(plan, "complete"),
               is_set(plan, "each_new_data") ? ", and with new data" : "",
               is_set(plan, "stored_for_response") ? ", stored for the response" : "");
        if (*query_string(plan, "buffer"))
            printf("pattern \"%s\" in %s\n", query_string(plan, "pattern"), query_string(plan, "buffer"));
        else
            printf("%s\n", query_string(plan, "candidates"));
    }
}

static void print_conditions(const struct control_value *analysis)
{
    const struct control_value *buffers = member(analysis, "buffers");

    print_lists("packet conditions", member(analysis, "packet_conditions"));
    print_lists("transaction conditions", member(analysis, "transaction_conditions"));
    print_lists("file conditions", member(analysis, "file_conditions"));
    print_lists("scripts", member(analysis, "scripts"));
    for (size_t i = 0; i < control_value_count(buffers); i++) {
        const struct control_value *buffer = control_value_item(buffers, i), *list = member(buffer, "conditions");

        printf("  buffer %s", query_string(buffer, "buffer"));
        if (member(buffer, "transforms")) {
            printf(" after ");
            print_list(member(buffer, "transforms"));
        }
        if (*query_string(buffer, "absent"))
            printf(" (absent: %s)", query_string(buffer, "absent"));
        printf(":");
        for (size_t k = 0; k < control_value_count(list); k++) {
            const struct control_value *condition = control_value_item(list, k);

            printf("%s %s%s", k > 0 ? "," : "", is_set(condition, "negated") ? "!" : "",
                   query_string(condition, "keyword"));
            if (member(condition, "pattern"))
                printf(" \"%s\"", query_string(condition, "pattern"));
            if (*query_string(condition, "modifiers"))
                printf(" (%s)", query_string(condition, "modifiers"));
            else if (is_set(condition, "relative"))
                printf(" (relative)");
        }
        putchar('\n');
    }
}

static void print_analysis(const struct control_value *analysis)
{
    const struct control_value *header = member(analysis, "header"), *bits = member(analysis, "flowbits");
    const struct control_value *warnings = member(analysis, "warnings");

    printf("  type %s: evaluated %s; number %" PRId64 " of %" PRId64 " in the order of evaluation\n",
           query_string(analysis, "type"), query_string(analysis, "evaluated"), query_number(analysis, "position"),
           query_number(analysis, "of"));
    printf("  header: %s %s %s %s %s %s\n", query_string(header, "protocol"), query_string(header, "source"),
           query_string(header, "source_port"), query_string(header, "arrow"), query_string(header, "destination"),
           query_string(header, "destination_port"));
    print_lists("directions", member(analysis, "directions"));
    print_lists("application protocols", member(analysis, "applications"));
    if (*query_string(analysis, "payload"))
        printf("  payload: searched in the %s\n", strcmp(query_string(analysis, "payload"), "both") == 0
                                                      ? "stream and in the packet"
                                                      : query_string(analysis, "payload"));
    print_lists("needs", member(analysis, "needs"));
    print_prefilter(analysis);
    print_conditions(analysis);
    for (size_t i = 0; i < control_value_count(bits); i++) {
        const struct control_value *bit = control_value_item(bits, i);
        const struct control_value *rules = member(bit, "set_by") ? member(bit, "set_by") : member(bit, "tested_by");

        printf("  flowbits %s ", query_string(bit, "operation"));
        print_text(query_string(bit, "name"));
        printf(": %s by %s%s", member(bit, "set_by") ? "set" : "tested",
               query_number(bit, "rules") > 0 ? "" : "no rule", query_number(bit, "rules") > 0 ? "rules " : "");
        print_list(rules);
        if (query_number(bit, "rules") > (int64_t)control_value_count(rules))
            printf(" and %" PRId64 " more", query_number(bit, "rules") - (int64_t)control_value_count(rules));
        putchar('\n');
    }
    for (size_t i = 0; i < control_value_count(warnings); i++) {
        printf("  warning: ");
        print_text(control_value_string(control_value_item(warnings, i)));
        putchar('\n');
    }
}

static void print_answer(const struct control_value *rule)
{
    const struct control_value *analysis = member(rule, "analysis"), *cost = member(rule, "cost");

    rule_print_state(rule);
    if (*query_string(rule, "rule")) {
        printf("  ");
        print_text(query_string(rule, "rule"));
        putchar('\n');
    }
    printf("  source: %s\n", strcmp(query_string(rule, "source"), "daemon") == 0 ? "the running daemon"
                                                                                 : "the configuration (no daemon)");
    if (analysis)
        print_analysis(analysis);
    if (member(rule, "matches"))
        printf("  %" PRId64 " matches, %" PRId64 " alerts, %" PRId64 " packets dropped\n",
               query_number(rule, "matches"), query_number(rule, "alerts"), query_number(rule, "drops"));
    if (cost)
        printf("  cost: evaluated %" PRId64 " times in %" PRId64 " us, at most %" PRId64 " us\n",
               query_number(cost, "evaluations"), query_number(cost, "total_us"), query_number(cost, "max_us"));
    else if (analysis && member(rule, "matches"))
        printf("  cost: not measured (set detect.rule-budget or detect.packet-budget)\n");
}

/* --- The answer ----------------------------------------------------------------------------------- */

/* Queries the daemon and prints its answer. Returns an exit code, or -ECONNREFUSED if no daemon runs. */
static int analyse_running(struct arguments *arguments)
{
    char path[QUERY_PATH_SIZE], error[CONTROL_ERROR_SIZE];
    struct query *query = &arguments->query;
    struct control_reply reply;
    int code = query_socket_path(query, path), err;

    if (code)
        return code;
    query_begin(query, "analyse");
    json_uint(&query->request, "gid", arguments->gid);
    json_uint(&query->request, "sid", arguments->sid);
    json_object_close(&query->request);
    json_object_close(&query->request);
    err = control_send_request(path, &query->request, QUERY_SECONDS, &reply, error);
    if (err == -ENOENT || err == -ECONNREFUSED)
        return -ECONNREFUSED;
    if (err) {
        cli_error(&command_analyse, "%s%s", error, err == -EREMOTEIO ? "" : "; --offline reads the configuration");
        return EXIT_FAILED;
    }
    if (query->json)
        code = query_print_json(&reply);
    else
        print_answer(reply.message);
    query_free_reply(&reply);
    return code;
}

static int print_offline(const struct arguments *arguments, const struct ruleset *ruleset)
{
    uint32_t gid = (uint32_t)arguments->gid, sid = (uint32_t)arguments->sid;
    const struct rule_list *rules = ruleset_rules(ruleset);
    struct control_reply reply;
    struct text out;
    const char *cause;
    int code = EXIT_OK;

    if (!rule_list_find(rules, gid, sid) && !rule_list_find_failure(rules, gid, sid) &&
        !rule_list_find_disabled(rules, gid, sid)) {
        cli_error(&command_analyse, "no rule file has rule %u:%u (%zu rules from %zu files; %zu files not readable)",
                  gid, sid, rule_list_count(rules), rule_list_files(rules), rule_list_unreadable_files(rules));
        return EXIT_FAILED;
    }
    text_init(&out);
    explain_analysis(&out, ruleset, gid, sid, NULL, 0);
    reply.whole = out.failed ? NULL : control_value_parse(out.bytes, out.length, &cause);
    reply.message = reply.whole;
    if (!reply.whole) {
        cli_error(&command_analyse, "out of memory");
        code = EXIT_FAILED;
    } else if (arguments->query.json) {
        code = query_print_json(&reply);
    } else {
        print_answer(reply.message);
    }
    control_value_free(reply.whole);
    text_clear(&out);
    return code;
}

static int analyse_offline(const struct arguments *arguments)
{
    const struct cli_input *input = &arguments->query.input;
    struct diag *diag = diag_new();
    struct config *config = NULL;
    struct rule_list *rules = NULL;
    struct ruleset *ruleset = NULL;
    int err, code = diag ? cli_load_config(input, CONFIG_LENIENT, CLI_DEFAULT_CONFIG, &config, diag) : EXIT_FAILED;

    if (!code && !cli_files_readable(&command_analyse, input->rules.at, input->rules.count))
        code = EXIT_FAILED;
    if (!code) {
        err = setup_parse_rules(&rules, config, input->rules.at, input->rules.count, diag);
        if (!err) {
            err = setup_group_rules(&ruleset, rules, config, diag);
            if (err)
                rule_list_free(rules);
        }
        if (err) {
            cli_error(&command_analyse, "cannot load the rules: %s; `sluice check` shows every mistake",
                      strerror(-err));
            code = EXIT_FAILED;
        } else {
            code = print_offline(arguments, ruleset);
        }
    }
    ruleset_free(ruleset);
    config_free(config);
    diag_free(diag);
    return code;
}

static int run_analyse(int argc, char **argv)
{
    struct arguments arguments = { .gid = 1 };
    struct query *query = &arguments.query;
    int first, code = query_init(query, &command_analyse, argc);
    struct span rest, part;

    if (code)
        return code;
    code = cli_parse(&command_analyse, argc, argv, handle_option, &arguments, &query->input.settings, &first);
    if (code < 0) {
        rest = span_of(first < argc ? argv[first] : "");
        if (first + 1 != argc || !span_next(&rest, ':', &part) ||
            (rest.at && !span_to_uint(part, 0, UINT32_MAX, &arguments.gid)) ||
            !span_to_uint(rest.at ? rest : part, 0, UINT32_MAX, &arguments.sid)) {
            cli_error(&command_analyse, "needs one rule, as SID or GID:SID");
            code = EXIT_USAGE;
        }
    }
    if (code < 0 && !arguments.offline && query->input.rules.count == 0)
        code = analyse_running(&arguments);
    if (code < 0)
        code = analyse_offline(&arguments);
    query_clear(query);
    return code;
}

const struct command command_analyse = {
    .name = "analyse",
    .usage = "[OPTION]... [GID:]SID",
    .summary = "Show how a rule is compiled: groups, pattern, buffers, conditions, cost",
    .help = "Queries the running daemon, which also knows matches and cost. If no daemon runs, or with --offline or\n"
            "--rules, the command reads the rules of the configuration.",
    .options = options,
    .run = run_analyse,
};
