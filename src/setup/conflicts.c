/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds settings that conflict with each other, and reports them at the position of one of them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "setup_priv.h"

#include "sluice/app.h"
#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/firewall.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/text.h"
#include "sluice/setup.h"

enum { MAX_RANGE = 1024, MAX_QUEUE = 65535, NAME_SIZE = 320 };

struct check {
    const struct config *config;
    struct diag *diag;
    struct firewall_settings firewall;
    const char *numbers; /* value of queue.numbers, for messages */
    uint32_t queues[CAPTURE_MAX_QUEUES];
    size_t queue_count;
};

static bool is_served(const struct check *check, uint32_t queue)
{
    for (size_t i = 0; i < check->queue_count; i++)
        if (check->queues[i] == queue)
            return true;
    return false;
}

/* Writes the name of the setting that applies to a range of queues: "queues.0-3.mark" if it is set, otherwise
 * "queue.mark". Returns the setting's position; its line is 0 if neither is set. */
static struct position find_name(const struct check *check, const char *range, const char *key, char name[NAME_SIZE])
{
    struct position at = { .line = 0 };

    if (range) {
        snprintf(name, NAME_SIZE, "queues.%s.%s", range, key);
        at = config_position(check->config, name);
    }
    if (!at.line) {
        snprintf(name, NAME_SIZE, "queue.%s", key);
        at = config_position(check->config, name);
    }
    return at;
}

/* Checks that the settings which the verdict mode needs (mark, route-to) are set and do not cause a loop; for the
 * queues of `range`, or for all queues if it is NULL. */
static void check_verdict(const struct check *check, const char *range)
{
    const struct firewall_options *firewall = &check->firewall.options;
    struct queue_options queue;
    char name[NAME_SIZE], mark_name[NAME_SIZE], route_name[NAME_SIZE];
    struct position at = find_name(check, range, "verdict", name), mark_at = find_name(check, range, "mark", mark_name),
                    route_at = find_name(check, range, "route-to", route_name);

    queue_options_read(check->config, range, &queue);
    const uint32_t mark = queue.nfqueue.mark, mask = queue.nfqueue.mark_mask;

    if (queue.nfqueue.mode == QUEUE_REPEAT && mask == 0) {
        diag_error(check->diag, at, "the verdict 'repeat' needs a mark: set '%s' to MARK/MASK, such as 0x1/0x1",
                   mark_name);
    } else if (queue.nfqueue.mode == QUEUE_REPEAT) {
        if (mark == 0)
            diag_error(check->diag, mark_at,
                       "'%s' is 0 under its mask: with the verdict 'repeat', packets would be queued again in a loop",
                       mark_name);
        if (mask & firewall->reject_mask)
            diag_error(check->diag, mark_at, "'%s' (0x%x/0x%x) shares bits with 'nft.reject-mark' (0x%x/0x%x)",
                       mark_name, mark, mask, firewall->reject_mark, firewall->reject_mask);
    } else if (queue.nfqueue.mode == QUEUE_ROUTE && !queue.has_route) {
        diag_error(check->diag, at,
                   "the verdict 'route' needs the queue of the program that receives the packets next: set '%s'",
                   route_name);
    } else if (queue.nfqueue.mode == QUEUE_ROUTE && is_served(check, queue.nfqueue.route_to)) {
        diag_error(check->diag, route_at,
                   "'%s' is %u, which is in 'queue.numbers': packets would be queued again in a loop", route_name,
                   (unsigned)queue.nfqueue.route_to);
    }
}

static void check_range(const struct check *check, const char *range, uint8_t seen[MAX_QUEUE + 1])
{
    uint32_t numbers[MAX_RANGE];
    int count = config_ranges(range, MAX_QUEUE, numbers, MAX_RANGE);
    char name[NAME_SIZE];

    snprintf(name, sizeof(name), "queues.%s", range);
    const struct position at = config_position(check->config, name);

    if (count <= 0 || strchr(range, ',')) {
        diag_error(check->diag, at, "'%s': the name must be one queue or range, such as 0 or 0-3", name);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (seen[numbers[i]]++) {
            diag_error(check->diag, at, "'%s': queue %u is in another range too", name, numbers[i]);
            return;
        }
        /* only a warning: --queue may select fewer queues than the file configures */
        if (!is_served(check, numbers[i])) {
            diag_warning(check->diag, at, "'%s': queue %u is not in 'queue.numbers' (%s)", name, numbers[i],
                         check->numbers);
            return;
        }
    }
    check_verdict(check, range);
}

static void check_blocklist(const struct check *check)
{
    const char *const *countries = check->firewall.block_countries;
    const struct position at = config_position(check->config, "nft.blocklist.countries");
    struct rules_options rules = { .files = NULL };

    config_fill(check->config, rules_settings, NULL, &rules);
    if (*countries && !rules.list.geoip_database)
        diag_error(check->diag, at, "'nft.blocklist.countries' needs a database of countries: set 'geoip-database'");
    for (; *countries; countries++)
        if (strlen(*countries) != 2 || !isupper((unsigned char)(*countries)[0]) ||
            !isupper((unsigned char)(*countries)[1]))
            diag_error(check->diag, at,
                       "'%s' in 'nft.blocklist.countries' is not a country code of ISO 3166-1, two capital "
                       "letters such as DE",
                       *countries);
}

static void check_attach(const struct check *check, enum queue_verdict_mode verdict)
{
    static const char *const verdict_names[] = { "accept", "repeat", "route" };
    const enum attach_mode attach = check->firewall.options.mode;
    const char *attach_name = firewall_mode_name(attach);
    const struct position at = config_position(check->config, "nft.attach");

    if (attach == ATTACH_NONE) {
        if (check->firewall.options.blocklist)
            diag_warning(check->diag, config_position(check->config, "nft.blocklist.enabled"),
                         "'nft.blocklist' has no effect without the sluice table: set 'nft.attach'");
        return;
    }
    for (size_t i = 1; i < check->queue_count; i++) {
        struct position numbers_at = config_position(check->config, "queue.numbers");

        if (check->queues[i] == check->queues[i - 1] + 1)
            continue;
        diag_error(check->diag, numbers_at.line ? numbers_at : at, "'nft.attach' needs queues in one range, got '%s'",
                   check->numbers);
        break;
    }
    if ((attach == ATTACH_REPEAT && verdict != QUEUE_REPEAT) || (attach == ATTACH_ROUTE && verdict != QUEUE_ROUTE))
        diag_error(check->diag, at, "'nft.attach' %s needs 'queue.verdict' %s, not %s", attach_name, attach_name,
                   verdict_names[verdict]);
    if (verdict == QUEUE_REPEAT && (attach == ATTACH_AFTER || attach == ATTACH_BEFORE))
        diag_error(check->diag, at,
                   "'queue.verdict' repeat would queue packets again in a loop with 'nft.attach' %s: "
                   "use 'nft.attach' repeat",
                   attach_name);
}

/* Parses a rule that has the value of a setting, and reports the first mistake in it at the setting. A variable is
 * otherwise parsed only when a rule uses it. `variable` is the name of the variable that the setting defines, or "". A
 * mistake in another variable, which the value contains, is reported at the setting of that variable. */
static void check_rule_value(const struct check *check, const struct rule_list_options *options, const char *setting,
                             const char *variable, const char *source, const char *port)
{
    static const char inside[] = "in the value of $";
    const size_t skip = sizeof(inside) - 1, length = strlen(variable);
    struct diag *diag = diag_new();
    struct rule_list *list = NULL;
    struct text rule;

    text_init(&rule);
    text_printf(&rule, "alert %s %s %s -> any any (sid:1;)", strcmp(port, "any") == 0 ? "ip" : "tcp", source, port);
    if (diag && !rule.failed && rule_list_new(&list, options, diag) == 0 &&
        rule_list_parse(list, setting, rule.bytes, rule.length, diag) == 0 && diag_errors(diag) > 0) {
        const char *message = diag_get(diag, 0)->message;
        bool in_variable = strncmp(message, inside, skip) == 0;

        if (!in_variable || (strncmp(message + skip, variable, length) == 0 && message[skip + length] == ':'))
            diag_error(check->diag, config_position(check->config, setting), "'%s': %s", setting, message);
    }
    rule_list_free(list);
    text_clear(&rule);
    diag_free(diag);
}

/* Checks the values that have the syntax of rules: the rule variables, and nft.blocklist.never. */
static void check_rule_values(const struct check *check)
{
    static const char *const groups[] = { "address", "port" };
    struct keyword_table *keywords = keyword_table_new(keyword_list, keyword_list_count);
    struct rule_variables *variables = NULL;
    struct config_variable row;
    char setting[NAME_SIZE], name[NAME_SIZE];

    if (keywords && setup_rule_variables(&variables, check->config) == 0) {
        const struct rule_list_options options = { .keywords = keywords, .variables = variables };

        for (unsigned kind = CONFIG_ADDRESS_VARIABLE; kind <= CONFIG_PORT_VARIABLE; kind++) {
            for (size_t i = 0; config_variable(check->config, kind, i, &row); i++) {
                snprintf(setting, sizeof(setting), "vars.%s-groups.%s", groups[kind], row.name);
                snprintf(name, sizeof(name), "$%s", row.name);
                check_rule_value(check, &options, setting, row.name, kind == CONFIG_PORT_VARIABLE ? "any" : name,
                                 kind == CONFIG_PORT_VARIABLE ? name : "any");
            }
        }
        if (strcmp(check->firewall.never_blocked, "none") != 0)
            check_rule_value(check, &options, "nft.blocklist.never", "", check->firewall.never_blocked, "any");
    }
    rule_variables_free(variables);
    keyword_table_free(keywords);
}

void setup_check_conflicts(const struct config *config, struct diag *diag)
{
    struct check check = { .config = config, .diag = diag };
    uint8_t seen[MAX_QUEUE + 1] = { 0 };
    struct decode_options decode;
    struct app_options app;
    struct queue_options queue;
    const char *range;

    firewall_settings_read(config, &check.firewall);
    queue_options_read(config, NULL, &queue);
    check.numbers = queue.numbers;
    int count = config_ranges(queue.numbers, MAX_QUEUE, check.queues, CAPTURE_MAX_QUEUES);

    check.queue_count = count > 0 ? (size_t)count : 0;
    check_verdict(&check, NULL);
    for (size_t i = 0; (range = config_each(config, "queues", i)); i++)
        check_range(&check, range, seen);
    check_attach(&check, queue.nfqueue.mode);
    check_blocklist(&check);
    setup_check_outputs(config, diag);
    check_rule_values(&check);
    decode_options_read(config, &decode, diag); /* called only to report invalid ports, as the next */
    if (app_options_configure(&app, config, diag) == 0)
        app_options_clear(&app);
}
