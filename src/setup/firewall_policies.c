/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Settings of firewall rules: their files, and the default policies of the hooks (firewall.policies), which have the
 * form of Suricata 9:
 *
 *     firewall:
 *       policies:
 *         default-policy: ["accept:hook"]
 *         packet:
 *           filter: ["drop:packet"]
 *         app:
 *           default-policy: ["drop:flow"]
 *           http1:
 *             request-line: ["drop:flow", "alert"]
 *           http2:
 *             stream:
 *               request-headers: ["drop:flow"]
 *
 * The most specific value counts. Without one, packet:filter drops the packet, pre-flow and pre-stream accept it, and
 * the hooks of protocols drop the flow.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "setup_priv.h"

#include "sluice/app.h"
#include "sluice/config.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/text.h"

enum { SETTING_NAME = 256 };
static const char root[] = "firewall.policies";

const struct setting firewall_rules_settings[] = {
    { .name = "firewall.enabled",
      SETTING_FIELD(firewall_rules_options, enabled),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Evaluate firewall rules before all other rules: what they do not accept is dropped (inline only)" },
    { .name = "firewall.rule-path",
      .alias = "firewall-rule-path",
      SETTING_FIELD(firewall_rules_options, rule_path),
      .type = SETTING_PATH,
      .help = "Folder of the files that firewall.rule-files names by a relative path; unset: the folder of the "
              "configuration file" },
    { .name = "firewall.rule-files",
      .alias = "firewall-rule-files",
      SETTING_FIELD(firewall_rules_options, rule_files),
      .type = SETTING_LIST,
      .help = "Files of firewall rules, which are evaluated in this order" },
    { .name = "firewall.policies.**",
      .type = SETTING_ANY,
      .help = "Default policies for what no firewall rule decides: packet.filter, packet.pre-flow, packet.pre-stream, "
              "app.PROTOCOL.HOOK, app.PROTOCOL.SUB-STATE.HOOK, or default-policy for all hooks of a level. A policy is "
              "a list of accept:hook, "
              "accept:tx, accept:packet, accept:flow, drop:packet, drop:flow, reject:packet or reject:flow, and alert. "
              "Unset: drop:packet for packet.filter, accept:hook for packet.pre-flow and packet.pre-stream, drop:flow "
              "for the hooks of protocols" },
    { .name = NULL },
};

bool setup_firewall_file(const struct config *config, size_t index, char out[PATH_MAX])
{
    struct firewall_rules_options options = { .enabled = false };
    struct position position = config_position(config, "firewall.rule-files");
    const char *name, *slash;
    int length;

    config_fill(config, firewall_rules_settings, NULL, &options);
    if (!position.file)
        position = config_position(config, "firewall-rule-files");
    slash = position.file ? strrchr(position.file, '/') : NULL;
    name = options.rule_files ? options.rule_files[0] : NULL;
    for (size_t i = 0; name && i < index; i++)
        name = options.rule_files[i + 1];
    if (!name)
        return false;
    if (name[0] == '/' || (!options.rule_path && !slash))
        length = snprintf(out, PATH_MAX, "%s", name);
    else if (options.rule_path)
        length = snprintf(out, PATH_MAX, "%s/%s", options.rule_path, name);
    else
        length = snprintf(out, PATH_MAX, "%.*s/%s", (int)(slash - position.file), position.file, name);
    return length < PATH_MAX;
}

/* --- Policies ------------------------------------------------------------------------------------- */

/* A hook for which a policy is read. */
struct policy_place {
    const struct config *config;
    struct diag *diag;
    bool of_app;
    bool packet_only; /* pre-flow and pre-stream: no decision about flows */
    int mistakes;
};

static bool parse_policy(const struct policy_place *place, const char *text, struct filter_policy *out)
{
    static const struct {
        const char *name;
        enum rule_action action;
        enum rule_scope scope;
    } policies[] = {
        { "accept:hook", ACTION_ACCEPT, RULE_SCOPE_HOOK },     { "accept:tx", ACTION_ACCEPT, RULE_SCOPE_TX },
        { "accept:packet", ACTION_ACCEPT, RULE_SCOPE_PACKET }, { "accept:flow", ACTION_ACCEPT, RULE_SCOPE_FLOW },
        { "drop:packet", ACTION_DROP, RULE_SCOPE_PACKET },     { "drop:flow", ACTION_DROP, RULE_SCOPE_FLOW },
        { "reject:packet", ACTION_REJECT, RULE_SCOPE_PACKET }, { "reject:flow", ACTION_REJECT, RULE_SCOPE_FLOW },
    };
    struct span rest = span_of(text), word;
    bool has_action = false;

    *out = (struct filter_policy){ .alert = false };
    while (span_next(&rest, ',', &word)) {
        size_t i = 0, count = sizeof(policies) / sizeof(policies[0]);

        if (span_equal(word, "alert")) {
            out->alert = true;
            continue;
        }
        while (i < count && !span_equal(word, policies[i].name))
            i++;
        if (i == count || has_action || (policies[i].scope == RULE_SCOPE_TX && !place->of_app) ||
            (policies[i].scope == RULE_SCOPE_FLOW && place->packet_only))
            return false;
        out->action = policies[i].action;
        out->scope = policies[i].scope;
        has_action = true;
    }
    return has_action;
}

/* Reads the policy of a setting, if it is set. Mistakes are reported, and leave *out unchanged. */
static void read_policy(struct policy_place *place, const char *name, struct filter_policy *out)
{
    struct filter_policy policy;
    struct text text;

    text_init(&text);
    if (config_value_text(place->config, name, &text) == CONFIG_VALUE) {
        if (!text.failed && parse_policy(place, text.bytes, &policy)) {
            *out = policy;
        } else {
            diag_error(place->diag, config_position(place->config, name),
                       "%s: '%s' is not a policy of this hook; expected accept:hook, accept:packet%s%s, drop:packet%s, "
                       "optionally with alert",
                       name, text.bytes ? text.bytes : "", place->of_app ? ", accept:tx" : "",
                       place->packet_only ? "" : ", accept:flow", place->packet_only ? "" : ", drop:flow, reject:flow");
            place->mistakes++;
        }
    }
    text_clear(&text);
}

static void read_packet_policies(struct policy_place *place, struct filter_policies *out)
{
    static const struct {
        const char *name;
        struct filter_policy policy;
    } hooks[FILTER_PACKET_HOOKS] = {
        [FILTER_PRE_FLOW] = { "pre-flow", { ACTION_ACCEPT, RULE_SCOPE_HOOK, false } },
        [FILTER_PRE_STREAM] = { "pre-stream", { ACTION_ACCEPT, RULE_SCOPE_HOOK, false } },
        [FILTER_PACKET] = { "filter", { ACTION_DROP, RULE_SCOPE_PACKET, false } },
    };
    static const char *const defaults[] = { "firewall.policies.default-policy",
                                            "firewall.policies.packet.default-policy" };

    for (unsigned i = 0; i < FILTER_PACKET_HOOKS; i++) {
        struct filter_policy *policy = &out->packet[i];
        char name[SETTING_NAME];

        *policy = hooks[i].policy;
        place->packet_only = i != FILTER_PACKET;
        snprintf(name, sizeof(name), "%s.packet.%s", root, hooks[i].name);
        if (config_is_set(place->config, name)) {
            read_policy(place, name, policy);
            continue;
        }
        for (unsigned k = 0; k < sizeof(defaults) / sizeof(defaults[0]); k++)
            read_policy(place, defaults[k], policy);
    }
    place->packet_only = false;
}

/* Returns the name of the section of a protocol: one of its names in rules. */
static const char *find_section(const struct config *config, const struct app_proto *proto)
{
    const char *member;

    for (size_t i = 0; (member = config_each(config, "firewall.policies.app", i)); i++) {
        if (app_id_by_name(member) == app_id_by_name(proto->name))
            return member;
    }
    return NULL;
}

static void read_common_policy(struct policy_place *place, unsigned id, struct filter_policies *out)
{
    const struct app_proto *proto = app_proto_by_id(id);
    const char *section = find_section(place->config, proto);
    struct filter_policy common = { ACTION_DROP, RULE_SCOPE_FLOW, false };
    char name[SETTING_NAME];

    read_policy(place, "firewall.policies.default-policy", &common);
    read_policy(place, "firewall.policies.app.default-policy", &common);
    if (section) {
        snprintf(name, sizeof(name), "%s.app.%s.default-policy", root, section);
        read_policy(place, name, &common);
    }
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        for (unsigned i = 0; i < FILTER_APP_HOOKS; i++)
            out->app[id][direction][i] = common;
    }
}

/* Sets the policy of the hooks of a protocol for which the name is `name`, or with its sub-state `SUB_STATE:NAME`.
 * `name` empty: of all hooks of the sub-state. */
static void set_policies(struct filter_policies *out, unsigned id, const char *sub_state, const char *name,
                         const struct filter_policy *policy)
{
    const struct app_proto *proto = app_proto_by_id(id);

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        for (unsigned i = 0; i < app_hook_count(proto, direction); i++) {
            struct app_hook hook = app_get_hook(proto, direction, i);
            const char *colon = strchr(hook.name, ':');

            if ((!sub_state || (hook.sub_state > 0 && strcmp(proto->sub_states[hook.sub_state - 1], sub_state) == 0)) &&
                (name[0] == '\0' || strcmp(name, hook.name) == 0 || (colon && strcmp(name, colon + 1) == 0)))
                out->app[id][direction][i] = *policy;
        }
    }
}

static bool is_sub_state(unsigned id, const char *name)
{
    const struct app_proto *proto = app_proto_by_id(id);

    for (const char *const *sub_state = proto->sub_states; sub_state && *sub_state; sub_state++) {
        if (strcmp(*sub_state, name) == 0)
            return true;
    }
    return false;
}

/* Reads the policies of the hooks in a section of a protocol, or of its sub-state: request-line is the hook
 * request_line. Policies of hooks override the default-policy of a sub-state, which is read first. */
static void read_section(struct policy_place *place, unsigned id, const char *path, const char *sub_state,
                         struct filter_policies *out)
{
    char part[SETTING_NAME / 2], member_path[2 * SETTING_NAME], hook_name[SETTING_NAME];
    struct filter_policy policy;
    struct rule_hook hook;
    const char *member;

    snprintf(member_path, sizeof(member_path), "%s.default-policy", path);
    policy = out->app[id][0][0];
    if (sub_state && config_is_set(place->config, member_path)) {
        read_policy(place, member_path, &policy);
        set_policies(out, id, sub_state, "", &policy);
    }
    for (size_t i = 0; (member = config_each(place->config, path, i)); i++) {
        snprintf(part, sizeof(part), "%s", member);
        for (char *at = part; *at; at++) {
            if (*at == '-')
                *at = '_';
        }
        snprintf(member_path, sizeof(member_path), "%s.%s", path, member);
        snprintf(hook_name, sizeof(hook_name), "%s%s%s", sub_state ? sub_state : "", sub_state ? ":" : "", part);
        if (app_hook_names.find(app_proto_by_id(id)->name, span_of(hook_name), &hook)) {
            policy = out->app[id][hook.direction][hook.index];
            read_policy(place, member_path, &policy);
            set_policies(out, id, sub_state, hook.name, &policy);
        } else if (!sub_state && is_sub_state(id, part)) {
            read_section(place, id, member_path, part, out);
        } else if (strcmp(member, "default-policy") != 0) {
            diag_warning(place->diag, config_position(place->config, member_path), "'%s' has no hook '%s'",
                         app_proto_by_id(id)->name, hook_name);
        }
    }
}

static void read_hook_policies(struct policy_place *place, const char *section, struct filter_policies *out)
{
    unsigned id = app_id_by_name(section);
    char path[SETTING_NAME];

    snprintf(path, sizeof(path), "%s.app.%s", root, section);
    if (id > 0)
        read_section(place, id, path, NULL, out);
    else if (strcmp(section, "default-policy") != 0)
        diag_warning(place->diag, config_position(place->config, path), "Sluice does not parse the protocol '%s'",
                     section);
}

int setup_firewall_policies(struct filter_policies *out, const struct config *config, struct diag *diag)
{
    struct policy_place place = { .config = config, .diag = diag };
    const char *section;

    out->app = calloc(app_list_count + 1, sizeof(*out->app));
    if (!out->app)
        return -ENOMEM;
    read_packet_policies(&place, out);
    place.of_app = true;
    for (unsigned id = 1; id <= app_list_count; id++)
        read_common_policy(&place, id, out);
    for (size_t i = 0; (section = config_each(config, "firewall.policies.app", i)); i++)
        read_hook_policies(&place, section, out);
    if (place.mistakes > 0) {
        free(out->app);
        out->app = NULL;
        return -EINVAL;
    }
    return 0;
}
