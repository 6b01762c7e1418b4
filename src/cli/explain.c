/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice explain`: the verdict of a flow and its reasons, or the state of a rule. */
#include "ask.h"

#include <inttypes.h>
#include <netdb.h>
#include <string.h>

#include "sluice/address.h"

enum { OPTION_VLAN = ASK_OPTION_OWN, ANSWER_SECONDS = 10, MAX_VLAN = 4095 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    ASK_ROW_SOCKET,
    { .id = OPTION_VLAN, .name = "vlan", .argument = "NUMBER", .help = "VLAN of the flow" },
    ASK_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct ask ask;
    unsigned long vlan;
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_VLAN)
        return ask_take_option(&arguments->ask, option, value);
    return cli_number(&command_explain, option, value, 1, MAX_VLAN, &arguments->vlan);
}

/* --- What is asked -------------------------------------------------------------------------------- */

/* "10.0.0.1:80", "[fd00::1]:80", or an address alone. */
static bool put_end(struct text *out, const char *text, const char *address_key, const char *port_key)
{
    struct span address = span_of(text), port = { NULL, 0 };
    const char *colon = strrchr(text, ':');
    struct address parsed;
    uint64_t number = 0;

    if (text[0] == '[') {
        const char *end = strchr(text, ']');

        if (!end || (end[1] != ':' && end[1] != '\0'))
            return false;
        address = (struct span){ text + 1, (size_t)(end - text - 1) };
        if (end[1])
            port = span_of(end + 2);
    } else if (colon && strchr(text, ':') == colon) {
        address.length = (size_t)(colon - text);
        port = span_of(colon + 1);
    }
    if (address_parse(address.at, address.length, &parsed) < 0 ||
        (port.at && !span_to_uint(port, 0, UINT16_MAX, &number)))
        return false;
    json_stringn(out, address_key, address.at, address.length);
    json_uint(out, port_key, number);
    return true;
}

static bool put_protocol(struct text *out, const char *word)
{
    const struct protoent *known = getprotobyname(word);
    uint64_t number = strcmp(word, "tcp") == 0 ? 6 : strcmp(word, "udp") == 0 ? 17 : 0;

    if (number == 0 && known)
        number = (uint64_t)known->p_proto;
    if (number == 0 && !span_to_uint(span_of(word), 1, UINT8_MAX, &number))
        return false;
    json_uint(out, "proto", number);
    return true;
}

/* EVE's flow_id. */
static bool put_flow_id(struct text *out, const char *word)
{
    uint64_t id;

    if (!span_to_uint(span_of(word), 0, INT64_MAX, &id))
        return false;
    json_uint(out, "flow_id", id);
    return true;
}

/* "2100498" or "1:2100498"; what is no number of a rule, because it is larger than those are, is a flow's. */
static bool put_rule(struct text *out, const char *word)
{
    struct span rest = span_of(word), first;
    uint64_t gid = 1, sid;

    if (!span_next(&rest, ':', &first))
        return false;
    if (!rest.at && span_to_uint(first, UINT64_C(1) + UINT32_MAX, INT64_MAX, &sid))
        return put_flow_id(out, word);
    if (rest.at && !span_to_uint(first, 0, UINT32_MAX, &gid))
        return false;
    if (!span_to_uint(rest.at ? rest : first, 0, UINT32_MAX, &sid))
        return false;
    json_uint(out, "sid", sid);
    json_uint(out, "gid", gid);
    return true;
}

static bool put_question(struct arguments *arguments, int count, char **words)
{
    struct text *out = &arguments->ask.request;

    if (arguments->vlan > 0)
        json_uint(out, "vlan", arguments->vlan);
    if (count == 1)
        return put_rule(out, words[0]);
    if (count == 2 && strcmp(words[0], "flow") == 0)
        return put_flow_id(out, words[1]);
    if (count == 2) /* TCP it is mostly */
        return put_protocol(out, "tcp") && put_end(out, words[0], "src_ip", "src_port") &&
               put_end(out, words[1], "dest_ip", "dest_port");
    return count == 3 && put_protocol(out, words[0]) && put_end(out, words[1], "src_ip", "src_port") &&
           put_end(out, words[2], "dest_ip", "dest_port");
}

/* --- The answer ----------------------------------------------------------------------------------- */

/* The lines of the rule policy that changed the rule, in their order. */
static void print_changes(const struct control_value *changes)
{
    for (size_t i = 0; i < control_value_count(changes); i++) {
        const struct control_value *change = control_value_item(changes, i);

        printf("  changed by %s:%" PRId64 ": %s\n", ask_string(change, "file"), ask_number(change, "line"),
               ask_string(change, "text"));
    }
}

static void print_state(const struct control_value *rule)
{
    const char *disabled_by = ask_string(rule, "disabled_by"), *left_out_for = ask_string(rule, "left_out_for");

    if (control_value_bool(control_value_member(rule, "loaded")))
        printf("  loaded from %s:%" PRId64 ": revision %" PRId64 ", action %s%s%s, priority %" PRId64 "\n",
               ask_string(rule, "file"), ask_number(rule, "line"), ask_number(rule, "rev"), ask_string(rule, "action"),
               control_value_bool(control_value_member(rule, "alert_only")) ? " (alert-only)" : "",
               control_value_bool(control_value_member(rule, "noalert")) ? ", noalert" : "",
               ask_number(rule, "severity"));
    else if (*disabled_by)
        printf("  not loaded: %s in %s:%" PRId64 "\n",
               strcmp(disabled_by, "comment") == 0 ? "commented out" : "disabled by the rule policy; the rule is",
               ask_string(rule, "file"), ask_number(rule, "line"));
    else if (*left_out_for)
        printf("  not loaded: %s in %s:%" PRId64 ": %s\n", left_out_for, ask_string(rule, "file"),
               ask_number(rule, "line"), ask_string(rule, "reason"));
    else
        printf("  not loaded: no rule file has it any more\n");
    print_changes(control_value_member(rule, "policy"));
}

static void print_rule(const struct control_value *rule)
{
    const struct control_value *cost = control_value_member(rule, "cost");
    const char *text = ask_string(rule, "rule");

    printf("rule %" PRId64 ":%" PRId64 "%s%s\n", ask_number(rule, "gid"), ask_number(rule, "signature_id"),
           *ask_string(rule, "signature") ? ": " : "", ask_string(rule, "signature"));
    print_state(rule);
    printf("  %" PRId64 " matches, %" PRId64 " alerts, %" PRId64 " packets dropped, %" PRId64
           " packets passed by alert-only%s%s\n",
           ask_number(rule, "matches"), ask_number(rule, "alerts"), ask_number(rule, "drops"),
           ask_number(rule, "would_drops"), *ask_string(rule, "last") ? "; last " : "", ask_string(rule, "last"));
    if (ask_number(rule, "inspection_limits") > 0)
        printf("  reached a limit of work in %" PRId64 " packets (detect.pcre-match-limit, detect.limit-policy)\n",
               ask_number(rule, "inspection_limits"));
    if (cost)
        printf("  evaluated %" PRId64 " times in %" PRId64 " us, at most %" PRId64 " us, over budget %" PRId64
               " times; suspended in %" PRId64 " queues\n",
               ask_number(cost, "evaluations"), ask_number(cost, "total_us"), ask_number(cost, "max_us"),
               ask_number(cost, "over_budget"), ask_number(cost, "suspended_in_queues"));
    if (*text)
        printf("  %s\n", text);
}

static void print_rule_of_flow(const struct control_value *rule)
{
    printf("  rule %" PRId64 ":%" PRId64 " (%s) matched %" PRId64 " times, last %s:%s%s%s %s\n",
           ask_number(rule, "gid"), ask_number(rule, "signature_id"), ask_string(rule, "action"),
           ask_number(rule, "matches"), ask_string(rule, "last"),
           control_value_bool(control_value_member(rule, "reported")) ? " reported" : "",
           control_value_bool(control_value_member(rule, "blocked"))      ? " blocked"
           : control_value_bool(control_value_member(rule, "would_drop")) ? " would drop"
                                                                          : "",
           control_value_bool(control_value_member(rule, "held_back")) ? " held back by a threshold" : "",
           ask_string(rule, "signature"));
}

static void print_flow(const struct control_value *flow)
{
    const struct control_value *counts = control_value_member(flow, "flow"), *drop = control_value_member(flow, "drop");
    const struct control_value *exceptions = control_value_member(flow, "exceptions");
    const struct control_value *rules = control_value_member(flow, "rules");

    const char *app_proto = ask_string(flow, "app_proto"); /* empty until it is known */

    printf("%s %s:%" PRId64 " -> %s:%" PRId64 "%s%s, flow %" PRId64 "\n", ask_string(flow, "proto"),
           ask_string(flow, "src_ip"), ask_number(flow, "src_port"), ask_string(flow, "dest_ip"),
           ask_number(flow, "dest_port"), *app_proto ? " " : "", app_proto, ask_number(flow, "flow_id"));
    printf("  %s%s since %s, %" PRId64 " packets to the server, %" PRId64 " to the client\n",
           control_value_bool(control_value_member(flow, "over")) ? "over; " : "", ask_string(counts, "state"),
           ask_string(counts, "start"), ask_number(counts, "pkts_toserver"), ask_number(counts, "pkts_toclient"));
    if (!drop)
        drop = control_value_member(flow, "would_drop");
    printf("  verdict: %s", ask_string(flow, "verdict"));
    if (drop)
        printf(", reason %s", ask_string(drop, "reason"));
    if (control_value_member(drop, "signature_id"))
        printf(", rule %" PRId64 ":%" PRId64 " %s", ask_number(drop, "gid"), ask_number(drop, "signature_id"),
               ask_string(drop, "signature"));
    putchar('\n');
    for (size_t i = 0; i < control_value_count(exceptions); i++)
        printf("  exception %s: %s\n", ask_string(control_value_item(exceptions, i), "cause"),
               ask_string(control_value_item(exceptions, i), "policy"));
    for (size_t i = 0; i < control_value_count(rules); i++)
        print_rule_of_flow(control_value_item(rules, i));
    if (control_value_member(flow, "matches_of_other_rules"))
        printf("  %" PRId64 " matches of other rules\n", ask_number(flow, "matches_of_other_rules"));
}

static int ask_and_print(struct arguments *arguments, int count, char **words)
{
    struct control_reply reply;
    int code;

    ask_begin(&arguments->ask, "explain");
    if (!put_question(arguments, count, words)) {
        cli_error(&command_explain, "say which: SID, GID:SID, flow ID, or [PROTOCOL] ADDRESS:PORT ADDRESS:PORT");
        return EXIT_USAGE;
    }
    code = ask_send(&arguments->ask, ANSWER_SECONDS, &reply);
    if (code)
        return code;
    if (arguments->ask.json)
        code = ask_print_json(&reply);
    else if (control_value_member(reply.message, "proto"))
        print_flow(reply.message);
    else
        print_rule(reply.message);
    ask_free_reply(&reply);
    return code;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { .vlan = 0 };
    int first, code = ask_init(&arguments.ask, &command_explain, argc);

    if (code)
        return code;
    code = cli_parse(&command_explain, argc, argv, take_option, &arguments, &arguments.ask.input.settings, &first);
    if (code < 0)
        code = ask_and_print(&arguments, argc - first, argv + first);
    ask_clear(&arguments.ask);
    return code;
}

const struct command command_explain = {
    .name = "explain",
    .usage = "[OPTION]... SID|GID:SID|flow ID|[PROTOCOL] ADDRESS:PORT ADDRESS:PORT",
    .summary = "Show the verdict of a flow and its reasons, or the state of a rule",
    .help = "Flow: the verdict and its reason, exceptions, and the rules that matched. The ends may be given in either "
            "order,\n"
            "[ADDRESS]:PORT is for IPv6, the default protocol is TCP. ID is the flow_id of events; a number that is "
            "too large\n"
            "for a sid is a flow_id, too. The daemon remembers finished flows for a while if a rule matched in them, "
            "or if\n"
            "they were dropped or met an exception.\n"
            "Rule: whether it is loaded, and why not; its file and line, its action and text as loaded, the lines of "
            "the rule\n"
            "policy that changed it, and how often and when it matched.",
    .options = options,
    .run = run,
};
