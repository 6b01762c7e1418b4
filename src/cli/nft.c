/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice nft`: the firewall side, without the daemon: show the rules, attach and detach the own table, say what is
 * attached. */
#include "cli_priv.h"
#include "nft_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "sluice/blocklist.h"
#include "sluice/connections.h"
#include "sluice/daemon.h"
#include "sluice/firewall.h"

enum { OPTION_JSON = CLI_OPTION_OWN };

struct arguments {
    struct cli_input input;
    bool json;
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    { .letter = 'm',
      .name = "mode",
      .argument = "MODE",
      .setting = "nft.attach",
      .help = "after (packets that the firewall accepted; the default), before (all packets), repeat (packets without "
              "the mark), chain (packets that your rules send to sluice_ips) or route (nft.attach)" },
    { .letter = 'a', .name = "attach", .argument = "MODE", .setting = "nft.attach", .help = "the same as --mode" },
    { .letter = 'q',
      .name = "queue",
      .argument = "NUMBERS",
      .setting = "queue.numbers",
      .help = "queues, one range: 0 or 0-3 (queue.numbers)" },
    { .name = "hook",
      .argument = "HOOKS",
      .setting = "nft.hooks",
      .help = "hooks: forward, input, output, or several with commas (nft.hooks)" },
    { .name = "family",
      .argument = "FAMILY",
      .setting = "nft.family",
      .help = "family: inet (IPv4 and IPv6), ip, ip6 or bridge (nft.family)" },
    { .name = "mark",
      .argument = "MARK/MASK",
      .setting = "queue.mark",
      .help = "mark of inspected packets, for repeat (queue.mark)" },
    { .name = "reject-mark",
      .argument = "MARK/MASK",
      .setting = "nft.reject-mark",
      .help = "mark of the packets that reject sends, which are never queued (nft.reject-mark)" },
    { .name = "priority",
      .argument = "NUMBER",
      .setting = "nft.priority",
      .help = "priority of the chains; auto derives it from the active ruleset (nft.priority)" },
    { .letter = 't',
      .name = "table",
      .argument = "NAME",
      .setting = "nft.table",
      .help = "name of the sluice table (nft.table)" },
    { .name = "bypass",
      .setting = "nft.bypass",
      .value = "yes",
      .help = "let packets pass when no program listens on the queue; the default (nft.bypass)" },
    { .name = "no-bypass",
      .setting = "nft.bypass",
      .value = "no",
      .help = "drop packets when no program listens on the queue (nft.bypass)" },
    { .name = "native",
      .setting = "nft.expression",
      .value = "native",
      .help = "use the queue statement of nftables, which distributes by addresses and ports (nft.expression)" },
    { .name = "xt",
      .setting = "nft.expression",
      .value = "xt",
      .help = "use the NFQUEUE target of iptables, which distributes by addresses (nft.expression)" },
    { .name = "iptables",
      .setting = "nft.expression",
      .value = "xt",
      .help = "print the rules for iptables-restore; the same as --xt" },
    CLI_ROW_SET,
    { .id = OPTION_JSON,
      .letter = 'j',
      .name = "json",
      .help = "print the status, or the findings of doctor, as JSON" },
    { .name = NULL },
};

static int take_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_JSON)
        return cli_input_take(&arguments->input, option, value);
    arguments->json = true;
    return 0;
}

static int failed(const char *error)
{
    cli_error(&command_nft, "%s", error);
    return EXIT_FAILED;
}

/* --- print, install, remove ----------------------------------------------------------------------- */

/* A wrong combination of options is the command line's mistake. */
static int failed_by(int err, const char *error)
{
    failed(error);
    return err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static int print(const struct firewall_options *firewall, bool json)
{
    char error[FIREWALL_ERROR_SIZE];
    struct text out;
    int err;

    (void)json;
    text_init(&out);
    err = firewall_print(firewall, &out, error);
    if (!err)
        return cli_write(&out);
    text_clear(&out);
    return failed_by(err, error);
}

static void print_hooks(const struct firewall_status *status)
{
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT; i++)
        if (status->hooks & 1u << i)
            printf(", %s at priority %d", firewall_hook_name(1u << i), (int)status->priorities[i]);
}

static void print_queues(const struct firewall_status *status)
{
    if (!status->feeding) {
        fputs(", feeding no queue", stdout);
        return;
    }
    printf(", queue %u", (unsigned)status->queue_first);
    if (status->queue_last != status->queue_first)
        printf("-%u", (unsigned)status->queue_last);
    printf(" by %s%s",
           status->expression == QUEUE_EXPRESSION_NATIVE ? "nft's queue expression" : "the xt NFQUEUE target",
           status->bypass ? " with bypass" : "");
}

static void print_installed(const char *table, const struct firewall_status *status)
{
    printf("table %s %s: mode %s", firewall_family_name(status->family), table, firewall_mode_name(status->mode));
    print_hooks(status);
    print_queues(status);
}

static int install(const struct firewall_options *firewall, bool json)
{
    char error[FIREWALL_ERROR_SIZE];
    struct firewall_status status;
    int err = firewall_install(firewall, error);

    (void)json;
    if (err)
        return failed_by(err, error);
    queue_account_start_without_daemon(
        firewall); /* without it packets that pass before a daemon starts are not reported, and nothing else */
    if (firewall_status(firewall->table, &status, error))
        return failed(error);
    print_installed(firewall->table, &status);
    putchar('\n');
    if (firewall->mode == ATTACH_CHAIN)
        printf("Nothing is queued yet, because a chain cannot jump to a chain of another table. Add base chains that\n"
               "`jump sluice_ips` in place of `accept` to this table, or include the output of\n"
               "`sluice nft print --mode chain` in your own table.\n");
    return EXIT_OK;
}

static int detach(const struct firewall_options *firewall, bool json)
{
    char error[FIREWALL_ERROR_SIZE];
    struct firewall_status before = { .installed = false };
    int err = firewall_status(firewall->table, &before, error);

    (void)json;
    if (!err)
        err = firewall_remove(firewall->table, error);
    if (err)
        return failed(error);
    if (before.installed)
        printf("table %s removed\n", firewall->table);
    else
        printf("table %s: not installed, nothing to remove\n", firewall->table);
    return EXIT_OK;
}

/* --- status --------------------------------------------------------------------------------------- */

struct blocked {
    bool known;
    uint64_t ipv4, ipv6;
};

static int count_host(const struct blocked_host *host, void *user)
{
    struct blocked *blocked = user;

    blocked->ipv4 += host->version == 4;
    blocked->ipv6 += host->version == 6;
    return 0;
}

/* Who is blocked; not known when the table went meanwhile. */
static struct blocked count_blocked(const char *table, const struct firewall_status *status)
{
    char error[FIREWALL_ERROR_SIZE];
    struct blocked blocked = { .known = false };

    if (status->blocklist)
        blocked.known = blocklist_each(table, count_host, &blocked, error) == 0;
    return blocked;
}

static void json_hooks(struct text *out, const struct firewall_status *status)
{
    json_array_open(out, "hooks");
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT; i++) {
        if (!(status->hooks & 1u << i))
            continue;
        json_object_open(out, NULL);
        json_string(out, "hook", firewall_hook_name(1u << i));
        json_int(out, "priority", status->priorities[i]);
        json_object_close(out);
    }
    json_array_close(out);
}

static void json_queues(struct text *out, const struct firewall_status *status)
{
    json_object_open(out, "queues");
    json_uint(out, "first", status->queue_first);
    json_uint(out, "last", status->queue_last);
    json_object_close(out);
    json_string(out, "expression", firewall_expression_name(status->expression));
    json_bool(out, "bypass", status->bypass);
    json_uint(out, "packets", status->packets);
    json_uint(out, "bytes", status->bytes);
}

static void json_blocklist(struct text *out, const char *table, const struct firewall_status *status)
{
    struct blocked blocked = count_blocked(table, status);

    json_object_open(out, "blocklist");
    if (blocked.known) {
        json_uint(out, "ipv4", blocked.ipv4);
        json_uint(out, "ipv6", blocked.ipv6);
    }
    json_uint(out, "packets", status->blocked_packets);
    json_uint(out, "bytes", status->blocked_bytes);
    json_object_close(out);
}

static int status_json(const char *table, const struct firewall_status *status)
{
    struct text out;

    text_init(&out);
    json_object_open(&out, NULL);
    json_bool(&out, "installed", status->installed);
    json_string(&out, "table", table);
    if (status->installed) {
        json_string(&out, "family", firewall_family_name(status->family));
        json_string(&out, "mode", firewall_mode_name(status->mode));
        json_hooks(&out, status);
        json_bool(&out, "feeding", status->feeding);
        if (status->feeding)
            json_queues(&out, status);
        if (status->offload_accept || status->offload_drop)
            json_string(&out, "offload",
                        !status->offload_drop     ? "accepted"
                        : !status->offload_accept ? "dropped"
                                                  : "both");
        if (status->blocklist)
            json_blocklist(&out, table, status);
    }
    json_object_close(&out);
    return cli_write(&out);
}

/* Both marks, whatever is configured now: what has them was offloaded once. */
static int unmark(const struct firewall_options *firewall, bool json)
{
    const struct firewall_offload *offload = &firewall->offload;
    const struct connection_mark marks[] = {
        { offload->accept_mark, offload->accept_mask },
        { offload->drop_mark, offload->drop_mask },
    };
    size_t changed = 0;
    int err = connections_unmark(marks, sizeof(marks) / sizeof(marks[0]), &changed);

    if (err)
        return failed_by(err, err == -EPERM ? "connections can be changed by root or with CAP_NET_ADMIN only"
                                            : strerror(-err));
    if (json)
        printf("{\"unmarked\":%zu}\n", changed);
    else
        printf("%zu connection%s unmarked; the kernel queues their packets again\n", changed, changed == 1 ? "" : "s");
    return EXIT_OK;
}

static void print_blocklist(const char *table, const struct firewall_status *status)
{
    struct blocked blocked = count_blocked(table, status);

    if (blocked.known)
        printf("blocklist: %" PRIu64 " hosts of IPv4 and %" PRIu64 " of IPv6", blocked.ipv4, blocked.ipv6);
    else
        fputs("blocklist", stdout);
    printf(", %" PRIu64 " packets (%" PRIu64 " bytes) dropped\n", status->blocked_packets, status->blocked_bytes);
}

static int show_status(const struct firewall_options *firewall, bool json)
{
    char error[FIREWALL_ERROR_SIZE];
    struct firewall_status status;

    if (firewall_status(firewall->table, &status, error))
        return failed(error);
    if (json)
        return status_json(firewall->table, &status);
    if (!status.installed) {
        printf("table %s: not installed\n", firewall->table);
        return EXIT_OK;
    }
    print_installed(firewall->table, &status);
    printf(", %" PRIu64 " packets (%" PRIu64 " bytes) queued\n", status.packets, status.bytes);
    if (status.blocklist)
        print_blocklist(firewall->table, &status);
    return EXIT_OK;
}

/* --- The command ---------------------------------------------------------------------------------- */

enum { ACTION_PRINT, ACTION_INSTALL, ACTION_REMOVE, ACTION_STATUS, ACTION_UNMARK, ACTION_DOCTOR, ACTIONS };

static const char *const action_names[ACTIONS] = { "print", "install", "remove", "status", "unmark", "doctor" };

static const struct action {
    int (*run)(const struct firewall_options *firewall, bool json);
    int (*judge)(const struct config *config, const struct firewall_options *firewall, bool json); /* without a mode */
} actions[ACTIONS] = {
    [ACTION_PRINT] = { print, NULL },   [ACTION_INSTALL] = { install, NULL },
    [ACTION_REMOVE] = { detach, NULL }, [ACTION_STATUS] = { show_status, NULL },
    [ACTION_UNMARK] = { unmark, NULL }, [ACTION_DOCTOR] = { NULL, nft_doctor },
};

/* A mode that nobody chose is the default one, before anything is checked for it. */
static int choose_mode(struct config *config)
{
    struct diag *diag;
    int err;

    if (strcmp(config_string(config, "nft.attach"), firewall_mode_name(ATTACH_NONE)) != 0)
        return 0;
    diag = diag_new();
    err = diag ? config_set(config, "nft.attach=after", diag) : -ENOMEM;
    diag_free(diag);
    return err;
}

static int run_with(struct config *config, const struct action *action, bool json)
{
    char error[FIREWALL_ERROR_SIZE];
    struct firewall_options firewall;
    int err = action->judge ? 0 : choose_mode(config);

    if (err)
        return failed_by(err, strerror(-err));
    if (firewall_options_read(&firewall, config, error))
        return failed_by(-EINVAL, error);
    return action->judge ? action->judge(config, &firewall, json) : action->run(&firewall, json);
}

static int load_and_run(const struct arguments *arguments, const struct action *action)
{
    struct config *config = NULL;
    int code = cli_load_sound_config(&arguments->input, CONFIG_STRICT, CLI_DEFAULT_CONFIG, "nothing was done", &config);

    if (!code)
        code = run_with(config, action, arguments->json);
    else if (action->judge && code == EXIT_FAILED)
        code = EXIT_NOT_JUDGED;
    config_free(config);
    return code;
}

static int check_and_run(struct arguments *arguments, int count, char **names)
{
    const struct cli_actions known = { action_names, ACTIONS };
    size_t action;
    int code = cli_find_action(&command_nft, &known, count > 0 ? names[0] : NULL, &action);

    if (code)
        return code;
    if (count > 1) {
        cli_error(&command_nft, "unexpected argument '%s'", names[1]);
        return EXIT_USAGE;
    }
    arguments->input.no_contradictions = true;
    return load_and_run(arguments, &actions[action]);
}

static int run(int argc, char **argv)
{
    struct arguments arguments = { .json = false };
    int first, code;

    if (cli_input_init(&arguments.input, &command_nft, argc))
        return EXIT_FAILED;
    code = cli_parse(&command_nft, argc, argv, take_option, &arguments, &arguments.input.settings, &first);
    if (code < 0)
        code = check_and_run(&arguments, argc - first, argv + first);
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_nft = {
    .name = "nft",
    .usage = "print|install|remove|status|doctor [OPTION]...",
    .summary = "Print, install, remove and check the firewall rules that feed the queues",
    .help = "print    print the rules for `nft -f`, or with --iptables for iptables-restore; changes nothing\n"
            "install  install the sluice table in one transaction; it replaces an earlier one\n"
            "remove   remove the sluice table\n"
            "status   show the installed table: mode, priorities, queued packets, offloaded packets, blocked hosts\n"
            "unmark   remove the marks of nft.offload from all connections, so that their packets are queued again\n"
            "doctor   check the active rulesets of all programs (nft of all families, legacy iptables, ip rule, queue "
            "listeners) for\n"
            "         rules that keep packets from Sluice, with the remedy for each; changes nothing.\n"
            "         Exit code 0: none (notes at most), 1: warnings, 2: broken, 3: the ruleset cannot be read\n"
            "\n"
            "Tables of other programs are never changed. All but print need CAP_NET_ADMIN.",
    .options = options,
    .run = run,
};
