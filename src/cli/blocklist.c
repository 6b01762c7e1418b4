/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice blocklist`: lists, adds and removes the hosts and networks that the kernel blocks. For hosts it accesses the
 * sets of the sluice table directly, so it needs no running daemon. Networks and lists are files (blocklist_lists.h).
 */
#include "blocklist_lists.h"
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sluice/address.h"
#include "sluice/blocklist.h"
#include "sluice/block_exemptions.h"
#include "sluice/firewall.h"

enum { OPTION_JSON = CLI_OPTION_OWN, OPTION_FORCE, OPTION_PERMANENT, OPTION_NAME };

struct arguments {
    struct cli_input input;
    bool json, force, permanent;
    const char *name;           /* --name */
    struct blocked_host *hosts; /* the addresses on the command line */
    size_t count;
    struct block_entries networks; /* the networks on the command line */
    const char *file;              /* the list to import, or the name of the list to forget */
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
      .group = "timeout",
      .argument = "SECONDS",
      .setting = "nft.blocklist.timeout",
      .help = "add: block for SECONDS, 1 to 31536000 (nft.blocklist.timeout; default 600)" },
    { .id = OPTION_PERMANENT,
      .name = "permanent",
      .group = "timeout",
      .help = "add: block without a time limit, until the host or network is removed" },
    { .id = OPTION_NAME,
      .argument = "NAME",
      .name = "name",
      .help = "import: the name of the list (default: that of the file)" },
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
    case OPTION_NAME:
        arguments->name = value;
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

static int list_json(const struct listing *listing, const struct block_entries *networks)
{
    char address[ADDRESS_TEXT_SIZE], range[RANGE_TEXT_SIZE];
    const uint64_t now = (uint64_t)time(NULL);
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
    json_array_open(&out, "networks");
    for (size_t i = 0; i < networks->count; i++) {
        const struct block_entry *entry = &networks->at[i];

        address_range_format(&entry->range, entry->version, range);
        json_object_open(&out, NULL);
        json_string(&out, "network", range);
        if (entry->until > 0)
            json_uint(&out, "expires", entry->until - now);
        json_object_close(&out);
    }
    json_array_close(&out);
    json_object_close(&out);
    return cli_write(&out);
}

static const struct cli_table_column columns[] = {
    { "ADDRESS", 0 },
    { "SECONDS-LEFT", TABLE_RIGHT },
    { "PACKETS", TABLE_RIGHT },
    { "BYTES", TABLE_RIGHT },
};

/* Adds a row; `seconds` 0: the block does not end. */
static void add_blocked(struct cli_table *table, const char *address, uint64_t seconds)
{
    cli_table_add_row(table);
    cli_table_set(table, 0, "%s", address);
    if (seconds > 0)
        cli_table_set(table, 1, "%" PRIu64, seconds);
    else
        cli_table_set(table, 1, "permanent");
}

static int list(struct arguments *arguments)
{
    char error[FIREWALL_ERROR_SIZE], address[ADDRESS_TEXT_SIZE], range[RANGE_TEXT_SIZE];
    struct block_entries networks = { .count = 0 };
    struct listing listing = { .count = 0 };
    const uint64_t now = (uint64_t)time(NULL);
    struct cli_table *table;
    int code = lists_read_networks(arguments->config, &networks);

    if (code)
        goto free_hosts;
    if (blocklist_each(arguments->firewall.options.table, collect, &listing, error)) {
        code = failed(error);
        goto free_hosts;
    }
    if (listing.count > 0)
        qsort(listing.hosts, listing.count, sizeof(*listing.hosts), by_address);
    if (arguments->json) {
        code = list_json(&listing, &networks);
        goto free_hosts;
    }
    if (listing.count + networks.count == 0) {
        puts("no hosts are blocked");
        goto free_hosts;
    }
    table = cli_table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < listing.count; i++) {
        const struct blocked_host *host = &listing.hosts[i];

        address_format(&host->address, host->version, false, address);
        add_blocked(table, address, host->timeout_ms > 0 ? (host->expires_ms + 999) / 1000 : 0);
        cli_table_set(table, 2, "%" PRIu64, host->packets);
        cli_table_set(table, 3, "%" PRIu64, host->bytes);
    }
    for (size_t i = 0; i < networks.count; i++) {
        const struct block_entry *entry = &networks.at[i];

        address_range_format(&entry->range, entry->version, range);
        add_blocked(table, range, entry->until > now ? entry->until - now : 0);
    }
    code = cli_table_print(table);
    cli_table_free(table);

free_hosts:
    block_entries_clear(&networks);
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
    for (size_t i = 0; i < arguments->networks.count && !code; i++) {
        const struct block_entry *network = &arguments->networks.at[i];
        struct range_list left = { .count = 0 }, exempt = { .count = 0 };
        char range[RANGE_TEXT_SIZE];

        address_range_format(&network->range, network->version, range);
        if (range_list_add(&left, network->range.low, network->range.high) ||
            block_exemptions_ranges(never, network->version, &exempt) || range_list_subtract(&left, &exempt))
            code = failed("out of memory");
        else if (left.count == 0) {
            cli_error(&command_blocklist, "all of %s is in nft.blocklist.never; no address was blocked", range);
            code = EXIT_FAILED;
        } else if (!range_list_is(&left, network->range.low, network->range.high)) {
            fprintf(stderr, "a part of %s is in nft.blocklist.never and is not blocked\n", range);
        }
        range_list_clear(&left);
        range_list_clear(&exempt);
    }
    block_exemptions_free(never);
    diag_free(diag);
    return code;
}

static int add_hosts(struct arguments *arguments)
{
    char error[FIREWALL_ERROR_SIZE];
    uint64_t timeout_ms = arguments->permanent ? 0 : (uint64_t)arguments->firewall.block_seconds * 1000;
    int code = arguments->force ? EXIT_OK : refuse_exempt(arguments);

    if (code)
        return code;
    for (size_t i = 0; i < arguments->count; i++)
        arguments->hosts[i].timeout_ms = timeout_ms;
    if (arguments->count > 0 &&
        blocklist_add(arguments->firewall.options.table, arguments->hosts, arguments->count, error))
        return failed(error);
    for (size_t i = 0; i < arguments->networks.count; i++)
        arguments->networks.at[i].until = timeout_ms > 0 ? (uint64_t)time(NULL) + arguments->firewall.block_seconds : 0;
    if (arguments->networks.count > 0)
        code = lists_add_networks(arguments->config, &arguments->networks);
    return code ? code : print_count(arguments, "added", arguments->count + arguments->networks.count);
}

static int remove_hosts(struct arguments *arguments)
{
    const size_t wanted = arguments->count + arguments->networks.count;
    char error[FIREWALL_ERROR_SIZE];
    size_t removed = 0, networks = 0;
    int code = EXIT_OK;

    if (arguments->count > 0 &&
        blocklist_remove(arguments->firewall.options.table, arguments->hosts, arguments->count, &removed, error))
        return failed(error);
    if (arguments->networks.count > 0)
        code = lists_remove_networks(arguments->config, &arguments->networks, &networks);
    if (code)
        return code;
    if (!arguments->json && removed + networks < wanted)
        printf("%zu of %zu were blocked\n", removed + networks, wanted);
    return print_count(arguments, "removed", removed + networks);
}

static int flush_blocklist(struct arguments *arguments)
{
    char error[FIREWALL_ERROR_SIZE];

    if (blocklist_flush(arguments->firewall.options.table, error))
        return failed(error);
    return lists_flush_networks(arguments->config);
}

/* --- Lists ---------------------------------------------------------------------------------------- */

static int import(struct arguments *arguments)
{
    return lists_import(arguments->config, arguments->file, arguments->name);
}

static int forget(struct arguments *arguments)
{
    return lists_forget(arguments->config, arguments->file);
}

static int print_lists(struct arguments *arguments)
{
    return lists_print(arguments->config, arguments->json);
}

static int reread(struct arguments *arguments)
{
    return lists_reread(arguments->config);
}

/* --- The command ---------------------------------------------------------------------------------- */

enum {
    ACTION_LIST,
    ACTION_ADD,
    ACTION_REMOVE,
    ACTION_FLUSH,
    ACTION_IMPORT,
    ACTION_FORGET,
    ACTION_LISTS,
    ACTION_REREAD,
    ACTIONS
};

static const char *const action_names[ACTIONS + 1] = { "list",   "add",    "remove", "flush",
                                                       "import", "forget", "lists",  "reread" };

enum takes { TAKES_NOTHING, TAKES_HOSTS, TAKES_FILE };

static const struct action {
    enum takes takes;
    int (*run)(struct arguments *arguments);
} actions[ACTIONS] = {
    [ACTION_LIST] = { TAKES_NOTHING, list },         [ACTION_ADD] = { TAKES_HOSTS, add_hosts },
    [ACTION_REMOVE] = { TAKES_HOSTS, remove_hosts }, [ACTION_FLUSH] = { TAKES_NOTHING, flush_blocklist },
    [ACTION_IMPORT] = { TAKES_FILE, import },        [ACTION_FORGET] = { TAKES_FILE, forget },
    [ACTION_LISTS] = { TAKES_NOTHING, print_lists }, [ACTION_REREAD] = { TAKES_NOTHING, reread },
};

static int read_arguments(struct arguments *arguments, size_t action, int count, char **names)
{
    const enum takes takes = actions[action].takes;

    if (takes == TAKES_NOTHING && count > 0) {
        cli_error(&command_blocklist, "unexpected argument '%s'", names[0]);
        return EXIT_USAGE;
    }
    if (takes == TAKES_FILE && count != 1) {
        cli_error(&command_blocklist,
                  action == ACTION_IMPORT ? "name the file to import; - is standard input" : "name the list to forget");
        return EXIT_USAGE;
    }
    if (takes == TAKES_FILE) {
        arguments->file = names[0];
        return EXIT_OK;
    }
    if (takes == TAKES_HOSTS && count == 0) {
        cli_error(&command_blocklist, "name the addresses or networks to %s", action_names[action]);
        return EXIT_USAGE;
    }
    arguments->hosts = calloc((size_t)count + 1, sizeof(*arguments->hosts));
    if (!arguments->hosts)
        return failed("out of memory");
    for (int i = 0; i < count; i++) {
        struct block_entry entry = { .until = 0 };
        int version = address_range_parse(span_of(names[i]), &entry.range);
        const unsigned widest = version == 4 ? 32 - BLOCK_WIDEST4 : 128 - BLOCK_WIDEST6;

        if (version < 0 || entry.range.low > entry.range.high) {
            cli_error(&command_blocklist,
                      "'%s' is not an IPv4 or IPv6 address, a network such as 192.0.2.0/24, or a range such as "
                      "192.0.2.1-192.0.2.9",
                      names[i]);
            return EXIT_USAGE;
        }
        entry.version = (uint8_t)version;
        if (entry.range.low == entry.range.high) {
            arguments->hosts[arguments->count++] =
                (struct blocked_host){ .address = address_from_number(entry.range.low, version),
                                       .version = entry.version };
        } else if ((entry.range.high - entry.range.low) >> widest != 0) {
            cli_error(&command_blocklist, "'%s' is wider than a /%d", names[i],
                      version == 4 ? BLOCK_WIDEST4 : BLOCK_WIDEST6);
            return EXIT_USAGE;
        } else if (block_entries_add(&arguments->networks, &entry)) {
            return failed("out of memory");
        }
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
    code = read_arguments(&arguments, action, argc - first - 1, argv + first + 1);
    if (!code)
        code = cli_load_sound_config(&arguments.input, CONFIG_STRICT, CLI_DEFAULT_CONFIG, "nothing was done", &config);
    if (!code) {
        firewall_settings_read(config, &arguments.firewall);
        arguments.config = config;
        code = actions[action].run(&arguments);
    }
    config_free(config);
    free(arguments.hosts);
    block_entries_clear(&arguments.networks);

clear:
    cli_input_clear(&arguments.input);
    return code;
}

const struct command command_blocklist = {
    .name = "blocklist",
    .usage = "list|add|remove|flush|import|forget|lists|reread [ADDRESS|NETWORK|FILE]... [OPTION]...",
    .summary = "Show, add and remove hosts and networks whose packets the kernel drops",
    .help = "list    show the blocked hosts and networks, the time that is left, and the packets that were dropped\n"
            "add     block these addresses and networks for nft.blocklist.timeout seconds\n"
            "remove  unblock these addresses and networks\n"
            "flush   unblock all addresses, and all networks that `add` has blocked\n"
            "import  block the addresses and networks in FILE until `forget`; a list of the same name is replaced\n"
            "forget  remove the imported list NAME\n"
            "lists   show the lists: imported, of nft.blocklist.files, and of nft.blocklist.countries\n"
            "reread  read all lists again\n"
            "\n"
            "The sluice table has the list (nft.blocklist.enabled: yes). The kernel drops packets from and to blocked "
            "hosts before the queue.\n"
            "FILE has an address, network or range per line, columns with one (abuse.ch), or JSON (Spamhaus); - is "
            "standard input.\n"
            "Networks and lists are kept in nft.blocklist.folder, and are blocked while the daemon runs. Needs "
            "CAP_NET_ADMIN.",
    .argument = CLI_ARGUMENT_WORDS,
    .words = action_names,
    .options = options,
    .run = run_blocklist,
};
