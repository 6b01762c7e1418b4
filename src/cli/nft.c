/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice nft`: prints, installs, removes and checks the firewall rules that feed the queues; works without a daemon.
 */
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
#include "sluice/setup.h"

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
      .help = "queue these packets: after (those that the firewall accepted; the default), before (all), repeat (those "
              "without the mark), chain (those that your rules send to sluice_ips) or route (as after; for a next "
              "consumer) (nft.attach)" },
    { .letter = 'a', .name = "attach", .argument = "MODE", .setting = "nft.attach", .help = "the same as --mode" },
    { .letter = 'q',
      .name = "queue",
      .argument = "NUMBERS",
      .setting = "queue.numbers",
      .help = "feed these queues, one range: 0 or 0-3 (queue.numbers; default 0)" },
    { .name = "hook",
      .argument = "HOOKS",
      .setting = "nft.hooks",
      .help =
          "add chains to these hooks: forward, input, output, or several with commas (nft.hooks; default forward)" },
    { .name = "family",
      .argument = "FAMILY",
      .setting = "nft.family",
      .help = "use a table of this family: inet (IPv4 and IPv6; the default), ip, ip6 or bridge (nft.family)" },
    { .name = "mark",
      .argument = "MARK/MASK",
      .setting = "queue.mark",
      .help = "with repeat: do not queue packets with this mark, such as 0x1/0x1 (queue.mark; no default)" },
    { .name = "reject-mark",
      .argument = "MARK/MASK",
      .setting = "nft.reject-mark",
      .help = "do not queue the packets that reject sends, which have this mark (nft.reject-mark; default "
              "0x40000000/0x40000000)" },
    { .name = "priority",
      .argument = "NUMBER",
      .setting = "nft.priority",
      .help = "give the chains this priority; auto, the default, derives it from the active ruleset (nft.priority)" },
    { .letter = 't',
      .name = "table",
      .argument = "NAME",
      .setting = "nft.table",
      .help = "use this name of the sluice table (nft.table; default sluice)" },
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
      .help =
          "use the queue statement of nftables, which distributes by addresses and ports; the default if the kernel "
          "has it (nft.expression)" },
    { .name = "xt",
      .setting = "nft.expression",
      .value = "xt",
      .help = "use the NFQUEUE target of iptables, which distributes by addresses (nft.expression)" },
    { .name = "iptables",
      .setting = "nft.expression",
      .value = "xt",
      .help = "the same as --xt; with print, the rules are for iptables-restore" },
    CLI_ROW_SET,
    { .id = OPTION_JSON,
      .letter = 'j',
      .name = "json",
      .help = "print the result of status, unmark or doctor as JSON" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    if (option->id != OPTION_JSON)
        return cli_input_handle_option(&arguments->input, option, value);
    arguments->json = true;
    return 0;
}

static int failed(const char *error)
{
    cli_error(&command_nft, "%s", error);
    return EXIT_FAILED;
}

/* --- print, install, remove ----------------------------------------------------------------------- */

/* Prints the error and returns the exit code: EXIT_USAGE for -EINVAL (the options do not fit together), otherwise
 * EXIT_FAILED. */
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

static void print_installed(const char *table, const struct firewall_status *status)
{
    printf("table %s %s: mode %s", firewall_family_name(status->family), table, firewall_mode_name(status->mode));
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT; i++)
        if (status->hooks & 1u << i)
            printf(", %s at priority %d", firewall_hook_name(1u << i), (int)status->priorities[i]);
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

static int install(const struct firewall_options *firewall, bool json)
{
    char error[FIREWALL_ERROR_SIZE];
    struct firewall_status status;
    int err = firewall_install(firewall, error);

    (void)json;
    if (err)
        return failed_by(err, error);
    /* Start the queue account, from which the next daemon reports the packets that passed by bypass before it started.
     * A failure is ignored, because only this report would be missing. */
    queue_account_start_without_daemon(firewall);
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

static int remove_table(const struct firewall_options *firewall, bool json)
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

/* Returns the numbers of blocked hosts; `known` is false if there is no blocklist or the table has been removed in the
 * meantime. */
static struct blocked count_blocked(const char *table, const struct firewall_status *status)
{
    char error[FIREWALL_ERROR_SIZE];
    struct blocked blocked = { .known = false };

    if (status->blocklist)
        blocked.known = blocklist_each(table, count_host, &blocked, error) == 0;
    return blocked;
}

static int status_json(const char *table, const struct firewall_status *status)
{
    struct text out;

    text_init(&out);
    json_object_open(&out, NULL);
    json_bool(&out, "installed", status->installed);
    json_string(&out, "table", table);
    if (!status->installed)
        goto write;
    json_string(&out, "family", firewall_family_name(status->family));
    json_string(&out, "mode", firewall_mode_name(status->mode));
    json_array_open(&out, "hooks");
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT; i++) {
        if (!(status->hooks & 1u << i))
            continue;
        json_object_open(&out, NULL);
        json_string(&out, "hook", firewall_hook_name(1u << i));
        json_int(&out, "priority", status->priorities[i]);
        json_object_close(&out);
    }
    json_array_close(&out);
    json_bool(&out, "feeding", status->feeding);
    if (status->feeding) {
        json_object_open(&out, "queues");
        json_uint(&out, "first", status->queue_first);
        json_uint(&out, "last", status->queue_last);
        json_object_close(&out);
        json_string(&out, "expression", firewall_expression_name(status->expression));
        json_bool(&out, "bypass", status->bypass);
        json_uint(&out, "packets", status->packets);
        json_uint(&out, "bytes", status->bytes);
    }
    if (status->offload_accept || status->offload_drop)
        json_string(&out, "offload", !status->offload_drop ? "accepted" : !status->offload_accept ? "dropped" : "both");
    if (status->offload_acknowledge)
        json_bool(&out, "acknowledgments", true);
    if (status->blocklist) {
        struct blocked blocked = count_blocked(table, status);

        json_object_open(&out, "blocklist");
        if (blocked.known) {
            json_uint(&out, "ipv4", blocked.ipv4);
            json_uint(&out, "ipv6", blocked.ipv6);
        }
        json_uint(&out, "packets", status->blocked_packets);
        json_uint(&out, "bytes", status->blocked_bytes);
        json_object_close(&out);
    }

write:
    json_object_close(&out);
    return cli_write(&out);
}

/* Removes all connection marks of nft.offload, even if nft.offload does not use them now: connections may have been
 * marked under another configuration. Returns an exit code. */
static int unmark(const struct firewall_options *firewall, bool json)
{
    const struct firewall_offload *offload = &firewall->offload;
    const struct connection_mark marks[] = {
        { offload->accept_mark, offload->accept_mask },
        { offload->drop_mark, offload->drop_mask },
        { offload->acknowledge_mark, offload->acknowledge_mask },
    };
    size_t changed = 0;
    int err = connections_unmark(marks, sizeof(marks) / sizeof(marks[0]), &changed);

    if (err)
        return failed_by(err, err == -EPERM ? "cannot change connections: run as root or with CAP_NET_ADMIN"
                                            : strerror(-err));
    if (json)
        printf("{\"unmarked\":%zu}\n", changed);
    else
        printf("%zu connection%s unmarked; the kernel queues their packets again\n", changed, changed == 1 ? "" : "s");
    return EXIT_OK;
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
    if (status.blocklist) {
        struct blocked blocked = count_blocked(firewall->table, &status);

        fputs("blocklist", stdout);
        if (blocked.known)
            printf(": %" PRIu64 " IPv4 hosts, %" PRIu64 " IPv6 hosts", blocked.ipv4, blocked.ipv6);
        printf(", %" PRIu64 " packets (%" PRIu64 " bytes) dropped\n", status.blocked_packets, status.blocked_bytes);
    }
    return EXIT_OK;
}

/* --- The command ---------------------------------------------------------------------------------- */

enum { ACTION_PRINT, ACTION_INSTALL, ACTION_REMOVE, ACTION_STATUS, ACTION_UNMARK, ACTION_DOCTOR, ACTIONS };

static const char *const action_names[ACTIONS + 1] = { "print", "install", "remove", "status", "unmark", "doctor" };

static const struct action {
    int (*run)(const struct firewall_options *firewall, bool json);
    /* Replaces run() for doctor, which needs the whole configuration; NULL: run() is called. */
    int (*examine)(const struct config *config, const struct firewall_options *firewall, bool json);
} actions[ACTIONS] = {
    [ACTION_PRINT] = { print, NULL },         [ACTION_INSTALL] = { install, NULL },
    [ACTION_REMOVE] = { remove_table, NULL }, [ACTION_STATUS] = { show_status, NULL },
    [ACTION_UNMARK] = { unmark, NULL },       [ACTION_DOCTOR] = { NULL, nft_doctor },
};

/* Runs the action with the firewall options of the configuration. If nft.attach is none, all actions but doctor use the
 * mode `after`. Returns an exit code. */
static int run_action(const struct action *action, struct config *config, bool json)
{
    char error[FIREWALL_ERROR_SIZE];
    struct firewall_settings settings;
    struct firewall_options firewall;

    firewall_settings_read(config, &settings);
    if (!action->examine && settings.options.mode == ATTACH_NONE) {
        struct diag *diag = diag_new();
        int err = diag ? config_set(config, "nft.attach=after", diag) : -ENOMEM;

        diag_free(diag);
        if (err)
            return failed_by(err, strerror(-err));
    }
    if (setup_firewall_options(config, &firewall, error))
        return failed_by(-EINVAL, error);
    return action->examine ? action->examine(config, &firewall, json) : action->run(&firewall, json);
}

static int run_nft(int argc, char **argv)
{
    const struct cli_actions known = { action_names, ACTIONS };
    struct arguments arguments = { .json = false };
    struct config *config = NULL;
    size_t action;
    int first, code;

    if (cli_input_init(&arguments.input, &command_nft, argc))
        return EXIT_FAILED;
    code = cli_parse(&command_nft, argc, argv, handle_option, &arguments, &arguments.input.settings, &first);
    if (code >= 0)
        goto clear;
    code = cli_find_action(&command_nft, &known, first < argc ? argv[first] : NULL, &action);
    if (!code && argc - first > 1) {
        cli_error(&command_nft, "unexpected argument '%s'", argv[first + 1]);
        code = EXIT_USAGE;
    }
    if (code)
        goto clear;
    arguments.input.skip_consistency_check = true;
    code = cli_load_sound_config(&arguments.input, CONFIG_STRICT, CLI_DEFAULT_CONFIG, "nothing was done", &config);
    if (!code)
        code = run_action(&actions[action], config, arguments.json);
    else if (actions[action].examine && code == EXIT_FAILED)
        code = EXIT_UNREADABLE;
    config_free(config);

clear:
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_nft = {
    .name = "nft",
    .usage = "print|install|remove|status|unmark|doctor [OPTION]...",
    .summary = "Print, install, remove and check the firewall rules that feed the queues",
    .help = "print    print the rules for `nft -f`, or with --iptables for iptables-restore; changes nothing\n"
            "install  install the sluice table in one transaction; it replaces an earlier one\n"
            "remove   remove the sluice table\n"
            "status   show the installed table: mode, priorities, queued packets, blocked hosts\n"
            "unmark   remove the marks of nft.offload from all connections, so that their packets are queued again\n"
            "doctor   check the active rulesets of all programs (nft of all families, legacy iptables, ip rule, queue "
            "listeners) for\n"
            "         rules that keep packets from Sluice, with the remedy for each; changes nothing.\n"
            "\n"
            "Tables of other programs are never changed. All but print need CAP_NET_ADMIN.",
    .argument = CLI_ARGUMENT_WORDS,
    .words = action_names,
    .options = options,
    .run = run_nft,
};
