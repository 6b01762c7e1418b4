/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice blocklist`: lists, adds and removes the hosts that the kernel blocks. It accesses the sets of the sluice
 * table directly, so it needs no running daemon. */
#include "cli_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/address.h"
#include "sluice/blocklist.h"
#include "sluice/block_exemptions.h"
#include "sluice/firewall.h"

enum { OPTION_JSON = CLI_OPTION_OWN, OPTION_FORCE, OPTION_PERMANENT };

struct arguments {
    struct cli_input input;
    bool json, force, permanent;
    struct blocked_host *hosts; /* the addresses on the command line */
    size_t count;
    const struct config *config;
    struct firewall_settings firewall; /* of the configuration */
};

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    { .letter = 't',
      .name = "table",
      .argument = "NAME",
      .setting = "nft.table",
      .help = "use the list of this table (nft.table; default sluice)" },
    { .letter = 'T',
      .name = "timeout",
      .argument = "SECONDS",
      .setting = "nft.blocklist.timeout",
      .help = "add: block for SECONDS, 1 to 31536000 (nft.blocklist.timeout; default 600)" },
    { .id = OPTION_PERMANENT,
      .name = "permanent",
      .help = "add: block without a time limit, until the host or the table is removed" },
    { .id = OPTION_FORCE, .letter = 'f', .name = "force", .help = "add: block addresses of nft.blocklist.never, too" },
    CLI_ROW_SET,
    { .id = OPTION_JSON,
      .letter = 'j',
      .name = "json",
      .help = "print the list, or the number of hosts that were added or removed, as JSON" },
    { .name = NULL },
};

static int handle_option(void *user, const struct cli_option *option, const char *value)
{
    struct arguments *arguments = user;

    switch (option->id) {
    case OPTION_JSON:
        arguments->json = true;
        return 0;
    case OPTION_FORCE:
        arguments->force = true;
        return 0;
    case OPTION_PERMANENT:
        arguments->permanent = true;
        return 0;
    default:
        return cli_input_handle_option(&arguments->input, option, value);
    }
}

static int failed(const char *error)
{
    cli_error(&command_blocklist, "%s", error);
    return EXIT_FAILED;
}

/* --- list ----------------------------------------------------------------------------------------- */

struct listing {
    struct blocked_host *hosts;
    size_t count, room;
};

static int collect(const struct blocked_host *host, void *user)
{
    struct listing *listing = user;

    if (listing->count == listing->room) {
        size_t room = listing->room ? 2 * listing->room : 64;
        struct blocked_host *hosts = reallocarray(listing->hosts, room, sizeof(*hosts));

        if (!hosts)
            return -ENOMEM;
        listing->hosts = hosts;
        listing->room = room;
    }
    listing->hosts[listing->count++] = *host;
    return 0;
}

static int by_address(const void *left, const void *right)
{
    const struct blocked_host *a = left, *b = right;

    return a->version != b->version ? a->version - b->version
                                    : memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes));
}

static int list_json(const struct listing *listing)
{
    char address[ADDRESS_TEXT_SIZE];
    struct text out;

    text_init(&out);
    json_object_open(&out, NULL);
    json_array_open(&out, "hosts");
    for (size_t i = 0; i < listing->count; i++) {
        const struct blocked_host *host = &listing->hosts[i];

        address_format(&host->address, host->version, false, address);
        json_object_open(&out, NULL);
        json_string(&out, "address", address);
        if (host->timeout_ms > 0) {
            json_double(&out, "timeout", (double)host->timeout_ms / 1000);
            json_double(&out, "expires", (double)host->expires_ms / 1000);
        }
        json_uint(&out, "packets", host->packets);
        json_uint(&out, "bytes", host->bytes);
        json_object_close(&out);
    }
    json_array_close(&out);
    json_object_close(&out);
    return cli_write(&out);
}

static int list(const struct arguments *arguments)
{
    char error[FIREWALL_ERROR_SIZE], address[ADDRESS_TEXT_SIZE];
    struct listing listing = { .count = 0 };
    int code = EXIT_OK;

    if (blocklist_each(arguments->firewall.options.table, collect, &listing, error)) {
        code = failed(error);
        goto free_hosts;
    }
    if (listing.count > 0)
        qsort(listing.hosts, listing.count, sizeof(*listing.hosts), by_address);
    if (arguments->json) {
        code = list_json(&listing);
        goto free_hosts;
    }
    for (size_t i = 0; i < listing.count; i++) {
        const struct blocked_host *host = &listing.hosts[i];

        address_format(&host->address, host->version, false, address);
        printf("%-39s ", address);
        if (host->timeout_ms > 0)
            printf("for %" PRIu64 " s", (host->expires_ms + 999) / 1000);
        else
            fputs("permanently", stdout);
        printf(", %" PRIu64 " packets (%" PRIu64 " bytes) dropped\n", host->packets, host->bytes);
    }
    if (listing.count == 0)
        puts("no hosts are blocked");

free_hosts:
    free(listing.hosts);
    return code;
}

/* --- add, remove, flush --------------------------------------------------------------------------- */

static int print_count(const struct arguments *arguments, const char *key, size_t count)
{
    struct text out;

    if (!arguments->json)
        return EXIT_OK;
    text_init(&out);
    json_object_open(&out, NULL);
    json_uint(&out, key, count);
    json_object_close(&out);
    return cli_write(&out);
}

static int refuse_exempt(const struct arguments *arguments)
{
    struct block_exemptions *never = NULL;
    struct diag *diag = diag_new();
    char address[ADDRESS_TEXT_SIZE];
    int code = EXIT_OK;

    if (!diag || block_exemptions_new(&never, arguments->config, diag)) {
        if (diag)
            cli_print_brief(diag);
        code = failed("cannot read nft.blocklist.never; no address was blocked");
    }
    for (size_t i = 0; i < arguments->count && !code; i++) {
        const struct blocked_host *host = &arguments->hosts[i];

        if (!block_exemptions_contain(never, host->version, &host->address))
            continue;
        address_format(&host->address, host->version, false, address);
        cli_error(&command_blocklist, "%s is in nft.blocklist.never; no address was blocked (--force blocks it)",
                  address);
        code = EXIT_FAILED;
    }
    block_exemptions_free(never);
    diag_free(diag);
    return code;
}

static int add_hosts(const struct arguments *arguments)
{
    char error[FIREWALL_ERROR_SIZE];
    uint64_t timeout_ms = arguments->permanent ? 0 : (uint64_t)arguments->firewall.block_seconds * 1000;
    int code = arguments->force ? EXIT_OK : refuse_exempt(arguments);

    if (code)
        return code;
    for (size_t i = 0; i < arguments->count; i++)
        arguments->hosts[i].timeout_ms = timeout_ms;
    if (blocklist_add(arguments->firewall.options.table, arguments->hosts, arguments->count, error))
        return failed(error);
    return print_count(arguments, "added", arguments->count);
}

static int remove_hosts(const struct arguments *arguments)
{
    char error[FIREWALL_ERROR_SIZE];
    size_t removed = 0;

    if (blocklist_remove(arguments->firewall.options.table, arguments->hosts, arguments->count, &removed, error))
        return failed(error);
    if (!arguments->json && removed < arguments->count)
        printf("%zu of %zu were blocked\n", removed, arguments->count);
    return print_count(arguments, "removed", removed);
}

static int flush_blocklist(const struct arguments *arguments)
{
    char error[FIREWALL_ERROR_SIZE];

    (void)arguments;
    return blocklist_flush(arguments->firewall.options.table, error) ? failed(error) : EXIT_OK;
}

/* --- The command ---------------------------------------------------------------------------------- */

enum { ACTION_LIST, ACTION_ADD, ACTION_REMOVE, ACTION_FLUSH, ACTIONS };

static const char *const action_names[ACTIONS + 1] = { "list", "add", "remove", "flush" };

static const struct action {
    bool takes_hosts;
    int (*run)(const struct arguments *arguments);
} actions[ACTIONS] = {
    [ACTION_LIST] = { false, list },
    [ACTION_ADD] = { true, add_hosts },
    [ACTION_REMOVE] = { true, remove_hosts },
    [ACTION_FLUSH] = { false, flush_blocklist },
};

static int read_hosts(struct arguments *arguments, size_t action, int count, char **names)
{
    if (!actions[action].takes_hosts && count > 0) {
        cli_error(&command_blocklist, "unexpected argument '%s'", names[0]);
        return EXIT_USAGE;
    }
    if (actions[action].takes_hosts && count == 0) {
        cli_error(&command_blocklist, "name the addresses to %s", action_names[action]);
        return EXIT_USAGE;
    }
    arguments->hosts = calloc((size_t)count + 1, sizeof(*arguments->hosts));
    if (!arguments->hosts)
        return failed("out of memory");
    for (int i = 0; i < count; i++) {
        struct blocked_host *host = &arguments->hosts[arguments->count++];
        int version = address_parse(names[i], strlen(names[i]), &host->address);

        if (version < 0) {
            cli_error(&command_blocklist, "'%s' is not an IPv4 or IPv6 address", names[i]);
            return EXIT_USAGE;
        }
        host->version = (uint8_t)version;
    }
    return EXIT_OK;
}

static int run_blocklist(int argc, char **argv)
{
    const struct cli_actions known = { action_names, ACTIONS };
    struct arguments arguments = { .json = false };
    struct config *config = NULL;
    size_t action;
    int first, code;

    if (cli_input_init(&arguments.input, &command_blocklist, argc))
        return EXIT_FAILED;
    code = cli_parse(&command_blocklist, argc, argv, handle_option, &arguments, &arguments.input.settings, &first);
    if (code >= 0)
        goto clear;
    code = cli_find_action(&command_blocklist, &known, first < argc ? argv[first] : NULL, &action);
    if (code)
        goto clear;
    arguments.input.skip_consistency_check = true;
    code = read_hosts(&arguments, action, argc - first - 1, argv + first + 1);
    if (!code)
        code = cli_load_sound_config(&arguments.input, CONFIG_STRICT, CLI_DEFAULT_CONFIG, "nothing was done", &config);
    if (!code) {
        firewall_settings_read(config, &arguments.firewall);
        arguments.config = config;
        code = actions[action].run(&arguments);
    }
    config_free(config);
    free(arguments.hosts);

clear:
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_blocklist = {
    .name = "blocklist",
    .usage = "list|add|remove|flush [ADDRESS]... [OPTION]...",
    .summary = "Show, add and remove hosts whose packets the kernel drops",
    .help = "list    show the blocked hosts, the time that is left, and the packets that were dropped\n"
            "add     block these addresses for nft.blocklist.timeout seconds\n"
            "remove  unblock these addresses\n"
            "flush   unblock all addresses\n"
            "\n"
            "The sluice table has the list (nft.blocklist.enabled: yes), so these commands work with and without a "
            "running daemon.\n"
            "The kernel drops packets from and to blocked hosts before the queue. Needs CAP_NET_ADMIN.",
    .argument = CLI_ARGUMENT_WORDS,
    .words = action_names,
    .options = options,
    .run = run_blocklist,
};
