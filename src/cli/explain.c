/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice explain`: the verdict of a flow and its reasons, or the state of a rule. */
#include "query.h"

#include <inttypes.h>
#include <netdb.h>
#include <string.h>

#include "sluice/address.h"

enum { OPTION_VLAN = QUERY_OPTION_OWN, MAX_VLAN = 4095 };

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    { .id = OPTION_VLAN,
      .name = "vlan",
      .argument = "NUMBER",
      .help = "VLAN id of the flow, 1 to 4095 (default: no VLAN)" },
    QUERY_ROW_JSON,
    { .name = NULL },
};

struct arguments {
    struct query query;
    unsigned long vlan;
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_VLAN)
        return query_handle_option(&arguments->query, option, value);
    return cli_number(&command_explain, option, value, 1, MAX_VLAN, &arguments->vlan);
}

/* --- The request -------------------------------------------------------------------------------- */

/* Adds one end of a flow to the request: "10.0.0.1:80", "[fd00::1]:80", or an address alone. Returns false if `text` is
 * none of these. */
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

/* Adds a flow ID (flow_id in EVE) to the request. Returns false if the word is not a number. */
static bool put_flow_id(struct text *out, const char *word)
{
    uint64_t id;

    if (!span_to_uint(span_of(word), 0, INT64_MAX, &id))
        return false;
    json_uint(out, "flow_id", id);
    return true;
}

/* Adds a rule to the request: "2100498" or "1:2100498". A number that is too large for a sid is added as a flow ID.
 * Returns false for anything else. */
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

static bool put_arguments(struct arguments *arguments, int count, char **words)
{
    struct text *out = &arguments->query.request;

    if (arguments->vlan > 0)
        json_uint(out, "vlan", arguments->vlan);
    if (count == 1)
        return put_rule(out, words[0]);
    if (count == 2 && strcmp(words[0], "flow") == 0)
        return put_flow_id(out, words[1]);
    if (count == 2) /* two words are the ends of a flow without its protocol: assume TCP */
        return put_protocol(out, "tcp") && put_end(out, words[0], "src_ip", "src_port") &&
               put_end(out, words[1], "dest_ip", "dest_port");
    return count == 3 && put_protocol(out, words[0]) && put_end(out, words[1], "src_ip", "src_port") &&
           put_end(out, words[2], "dest_ip", "dest_port");
}

/* --- The reply ----------------------------------------------------------------------------------- */

void rule_print_state(const struct control_value *rule)
{
    /* the policy lines that changed the rule, in the order in which they were applied */
    const struct control_value *changes = control_value_member(rule, "policy");
    const char *disabled_by = query_string(rule, "disabled_by"), *left_out_for = query_string(rule, "left_out_for");

    printf("rule %" PRId64 ":%" PRId64 "%s%s\n", query_number(rule, "gid"), query_number(rule, "signature_id"),
           *query_string(rule, "signature") ? ": " : "", query_string(rule, "signature"));
    if (control_value_bool(control_value_member(rule, "loaded")))
        printf("  loaded from %s:%" PRId64 ": revision %" PRId64 ", action %s%s%s, priority %" PRId64 "\n",
               query_string(rule, "file"), query_number(rule, "line"), query_number(rule, "rev"),
               query_string(rule, "action"),
               control_value_bool(control_value_member(rule, "alert_only")) ? " (alert-only)" : "",
               control_value_bool(control_value_member(rule, "noalert")) ? ", noalert" : "",
               query_number(rule, "severity"));
    else if (*disabled_by)
        printf("  not loaded: %s in %s:%" PRId64 "\n",
               strcmp(disabled_by, "comment") == 0 ? "commented out" : "disabled by the rule policy; the rule is",
               query_string(rule, "file"), query_number(rule, "line"));
    else if (*left_out_for)
        printf("  not loaded: %s in %s:%" PRId64 ": %s\n", left_out_for, query_string(rule, "file"),
               query_number(rule, "line"), query_string(rule, "reason"));
    else
        printf("  not loaded: no rule file has it any more\n");
    for (size_t i = 0; i < control_value_count(changes); i++) {
        const struct control_value *change = control_value_item(changes, i);

        printf("  changed by %s:%" PRId64 ": %s\n", query_string(change, "file"), query_number(change, "line"),
               query_string(change, "text"));
    }
}

static void print_rule(const struct control_value *rule)
{
    const struct control_value *cost = control_value_member(rule, "cost");
    const char *text = query_string(rule, "rule");

    rule_print_state(rule);
    printf("  %" PRId64 " matches, %" PRId64 " alerts, %" PRId64 " packets dropped, %" PRId64
           " packets passed by alert-only%s%s\n",
           query_number(rule, "matches"), query_number(rule, "alerts"), query_number(rule, "drops"),
           query_number(rule, "would_drops"), *query_string(rule, "last") ? "; last " : "", query_string(rule, "last"));
    if (query_number(rule, "inspection_limits") > 0)
        printf("  reached a limit of work in %" PRId64 " packets (detect.pcre-match-limit, detect.limit-policy)\n",
               query_number(rule, "inspection_limits"));
    if (cost)
        printf("  evaluated %" PRId64 " times in %" PRId64 " us, at most %" PRId64 " us, over budget %" PRId64
               " times; suspended in %" PRId64 " queues\n",
               query_number(cost, "evaluations"), query_number(cost, "total_us"), query_number(cost, "max_us"),
               query_number(cost, "over_budget"), query_number(cost, "suspended_in_queues"));
    if (*text)
        printf("  %s\n", text);
}

static void print_rule_of_flow(const struct control_value *rule)
{
    printf("  rule %" PRId64 ":%" PRId64 " (%s) matched %" PRId64 " times, last %s:%s%s%s %s\n",
           query_number(rule, "gid"), query_number(rule, "signature_id"), query_string(rule, "action"),
           query_number(rule, "matches"), query_string(rule, "last"),
           control_value_bool(control_value_member(rule, "reported")) ? " reported" : "",
           control_value_bool(control_value_member(rule, "blocked"))      ? " blocked"
           : control_value_bool(control_value_member(rule, "would_drop")) ? " would drop"
                                                                          : "",
           control_value_bool(control_value_member(rule, "held_back")) ? " held back by a threshold" : "",
           query_string(rule, "signature"));
}

static void print_flow(const struct control_value *flow)
{
    const struct control_value *counts = control_value_member(flow, "flow"), *drop = control_value_member(flow, "drop");
    const struct control_value *exceptions = control_value_member(flow, "exceptions");
    const struct control_value *rules = control_value_member(flow, "rules");

    const char *app_proto = query_string(flow, "app_proto"); /* empty until the application protocol is detected */

    printf("%s %s:%" PRId64 " -> %s:%" PRId64 "%s%s, flow %" PRId64 "\n", query_string(flow, "proto"),
           query_string(flow, "src_ip"), query_number(flow, "src_port"), query_string(flow, "dest_ip"),
           query_number(flow, "dest_port"), *app_proto ? " " : "", app_proto, query_number(flow, "flow_id"));
    printf("  %s%s since %s, %" PRId64 " packets to the server, %" PRId64 " to the client\n",
           control_value_bool(control_value_member(flow, "over")) ? "ended; " : "", query_string(counts, "state"),
           query_string(counts, "start"), query_number(counts, "pkts_toserver"), query_number(counts, "pkts_toclient"));
    if (!drop)
        drop = control_value_member(flow, "would_drop");
    printf("  verdict: %s", query_string(flow, "verdict"));
    if (drop)
        printf(", reason %s", query_string(drop, "reason"));
    if (control_value_member(drop, "signature_id"))
        printf(", rule %" PRId64 ":%" PRId64 " %s", query_number(drop, "gid"), query_number(drop, "signature_id"),
               query_string(drop, "signature"));
    putchar('\n');
    for (size_t i = 0; i < control_value_count(exceptions); i++)
        printf("  exception %s: %s\n", query_string(control_value_item(exceptions, i), "cause"),
               query_string(control_value_item(exceptions, i), "policy"));
    for (size_t i = 0; i < control_value_count(rules); i++)
        print_rule_of_flow(control_value_item(rules, i));
    if (control_value_member(flow, "matches_of_other_rules"))
        printf("  %" PRId64 " matches of other rules\n", query_number(flow, "matches_of_other_rules"));
}

static void print(const struct control_value *message)
{
    if (control_value_member(message, "proto"))
        print_flow(message);
    else
        print_rule(message);
}

static int run_explain(int argc, char **argv)
{
    struct arguments arguments = { .vlan = 0 };
    struct query *query = &arguments.query;
    int first, code = query_init(query, &command_explain, argc);

    if (code)
        return code;
    code = cli_parse(&command_explain, argc, argv, handle_option, &arguments, &query->input.settings, &first);
    if (code < 0) {
        query_begin(query, "explain");
        if (put_arguments(&arguments, argc - first, argv + first)) {
            code = query_send_and_print(query, QUERY_SECONDS, print);
        } else {
            cli_error(&command_explain,
                      "name a rule or a flow: SID, GID:SID, flow ID, or [PROTOCOL] ADDRESS:PORT ADDRESS:PORT");
            code = EXIT_USAGE;
        }
    }
    query_clear(query);
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
    .run = run_explain,
};
