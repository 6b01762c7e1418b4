/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides about each key of an import: by the table of Suricata's keys (suricata_keys.c), or, if the key is not in it,
 * by the setting of the same name. Each conversion in the table has a function here.
 */
#include "import_priv.h"

#include <ctype.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { NFQ_BURST = 4, MAX_QUEUE_LENGTH = 1 << 20 };
static const char empty[] = "has no value", section_disabled[] = "its section is disabled",
                  not_in_sluice[] = "disabled, and not in Sluice";

struct conversion {
    struct import *import;
    struct import_leaf *leaf;
    const struct suricata_key *row;
    char setting[CONFIG_MAX_PATH];
};

static void decide(struct import_leaf *leaf, enum import_group group, const char *text)
{
    leaf->key.group = group;
    leaf->key.setting = NULL;
    leaf->key.text = text;
}

/* Sets the setting to the value if the configuration accepts it. Otherwise the key gets the group IMPORT_MISSING; the
 * reason is the text of the key's row or, without one, the error of the configuration. */
static void take_value(struct conversion *conversion, const char *value)
{
    const char *why;

    if (!import_set(conversion->import, conversion->leaf, conversion->setting, value, &why))
        decide(conversion->leaf, IMPORT_MISSING,
               conversion->row && conversion->row->text ? conversion->row->text : why);
}

static bool is_yes(const char *value)
{
    bool on;

    return value && value_to_bool(value, &on) && on;
}

static bool is_no(const char *value)
{
    bool on;

    return value && value_to_bool(value, &on) && !on;
}

static void convert_value(struct conversion *conversion)
{
    take_value(conversion, conversion->leaf->node->value);
}

/* --- Files ---------------------------------------------------------------------------------------- */

/* Returns a path that does not depend on the folder of the input. */
static const char *absolute(struct import *import, const char *folder, const char *path)
{
    const char *whole = path;

    if (path[0] != '/' && folder[0])
        whole = arena_printf(import->config->arena, "%s/%s", folder, path);
    import->failed |= !whole;
    return whole ? whole : path;
}

/* Returns whether the file exists or, for a pattern, whether a file matches it. */
static bool exists(const struct import *import, const char *path)
{
    glob_t found;
    bool any;

    if (import->options.no_files)
        return true;
    if (path[strcspn(path, "*?[")] == '\0')
        return access(path, F_OK) == 0;
    any = glob(path, 0, NULL, &found) == 0;
    globfree(&found);
    return any;
}

static void convert_file(struct conversion *conversion)
{
    struct import *import = conversion->import;
    const char *path = absolute(import, import->folder, conversion->leaf->node->value), *text;

    if (exists(import, path)) {
        take_value(conversion, path);
        return;
    }
    text = arena_printf(import->config->arena, "not taken, because %s does not exist: set %s when it does", path,
                        conversion->setting);
    import->failed |= !text;
    decide(conversion->leaf, IMPORT_MISSING, text ? text : "");
}

static void convert_folder(struct conversion *conversion)
{
    take_value(conversion, absolute(conversion->import, conversion->import->folder, conversion->leaf->node->value));
}

static void convert_rule_file(struct conversion *conversion)
{
    struct import *import = conversion->import;
    const char *path = conversion->leaf->node->value, *folder = import_find_value(import, "default-rule-path"), *whole;

    if (!folder && path[0] != '/' && !import_has(import, "default-rule-path"))
        import_add(import, "default-rule-path", "/etc/suricata/rules", "the folder that Suricata has by default");
    folder = folder ? absolute(import, import->folder, folder) : "/etc/suricata/rules";
    whole = absolute(import, folder, path);
    take_value(conversion, path);
    if (conversion->leaf->key.group == IMPORT_TAKEN && !exists(import, whole))
        diag_warning(import->diag, conversion->leaf->key.at, "the rule file %s does not exist", whole);
}

static void convert_reputation_file(struct conversion *conversion)
{
    struct import *import = conversion->import;
    const char *folder = import_find_value(import, "default-reputation-path");

    take_value(conversion, absolute(import, folder ? folder : "/etc/suricata/iprep", conversion->leaf->node->value));
}

static void convert_place(struct conversion *conversion)
{
    if (conversion->import->options.keep_places)
        take_value(conversion, conversion->leaf->node->value);
    else
        decide(conversion->leaf, IMPORT_IMPLIED, conversion->row->text);
}

/* --- Events --------------------------------------------------------------------------------------- */

/* Returns the value of an option of an item of `outputs`; NULL: not set. */
static const char *output_option(const struct import *import, unsigned output, const char *name)
{
    for (size_t i = 0; i < import->leaf_count; i++)
        if (!import->leaves[i].by && import->leaves[i].output == output && strcmp(import->leaves[i].name, name) == 0)
            return import->leaves[i].key.value;
    return NULL;
}

/* Returns true if an eve-log goes to a server; false for a file or a socket on this host. */
static bool is_remote(const struct import *import, unsigned output)
{
    const char *type = output_option(import, output, "outputs.eve-log.filetype");

    if (!type)
        type = output_option(import, output, "outputs.eve-log.type");
    return type && (strcmp(type, "syslog") == 0 || strcmp(type, "redis") == 0);
}

/* Returns whether the leaf belongs to the event file (eve). The other eve-logs are outputs (outputs.eve-N). */
static bool is_event_file(struct conversion *conversion)
{
    return (int)conversion->leaf->output == conversion->import->eve_output;
}

/* Sets an option of outputs.eve-N to the value; N is the position of the eve-log. */
static void take_output_option(struct conversion *conversion, const char *option, const char *value)
{
    snprintf(conversion->setting, sizeof(conversion->setting), "outputs.eve-%u.%s", conversion->leaf->output, option);
    take_value(conversion, value);
}

static void convert_eve(struct conversion *conversion)
{
    if (is_event_file(conversion))
        take_value(conversion, conversion->leaf->node->value);
    else if (strcmp(conversion->leaf->name, "outputs.eve-log.rotate-interval") == 0)
        take_output_option(conversion, "rotate-interval", conversion->leaf->node->value);
    else
        decide(conversion->leaf, IMPORT_MISSING,
               "options of events apply to all outputs: those of the first eve-log count");
}

static void convert_eve_switch(struct conversion *conversion)
{
    struct import *import = conversion->import;
    const char *value = conversion->leaf->node->value;

    if (!is_yes(value) && import->eve_output >= 0) {
        decide(conversion->leaf, IMPORT_IMPLIED, section_disabled);
    } else if (!is_yes(value)) {
        take_value(conversion, "no");
    } else if (is_event_file(conversion) && !is_remote(import, conversion->leaf->output)) {
        take_value(conversion, value);
    } else {
        if (is_event_file(conversion))
            import_add(import, "eve.enabled", "no", "the input writes no event file");
        take_output_option(conversion, "enabled", value);
    }
}

/* Returns the file name without its folder or, with import_options.keep_places, the whole path. */
static const char *own_filename(const struct import *import, const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] && !import->options.keep_places ? slash + 1 : path;
}

static void convert_eve_filename(struct conversion *conversion)
{
    const struct import *import = conversion->import;
    const char *value = conversion->leaf->node->value;

    if (is_remote(import, conversion->leaf->output))
        decide(conversion->leaf, IMPORT_IMPLIED, "only files and sockets have a name");
    else if (is_event_file(conversion))
        take_value(conversion, own_filename(import, value));
    else
        take_output_option(conversion, "filename", own_filename(import, value));
}

static const char *syslog_level(const char *level)
{
    static const char *const names[][2] = { { "emergency", "emerg" }, { "critical", "crit" }, { "error", "err" } };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(names[i][0], level) == 0)
            return names[i][1];
    return level;
}

static void convert_level(struct conversion *conversion)
{
    take_value(conversion, syslog_level(conversion->leaf->node->value));
}

static void convert_eve_transport(struct conversion *conversion)
{
    static const struct {
        const char *key, *option;
    } options[] = {
        { "filetype", "filetype" },
        { "type", "filetype" },
        { "prefix", "prefix" },
        { "identity", "syslog.identity" },
        { "facility", "syslog.facility" },
        { "level", "syslog.level" },
        { "redis.pipelining.batch-size", "redis.batch-size" },
    };
    const struct import_leaf *leaf = conversion->leaf;
    const char *key = leaf->name + strlen("outputs.eve-log."), *option = key, *value = leaf->node->value;
    const bool is_type = strcmp(key, "filetype") == 0 || strcmp(key, "type") == 0;

    if (is_event_file(conversion) && !is_remote(conversion->import, leaf->output)) {
        if (is_type)
            take_value(conversion, value);
        else
            decide(conversion->leaf, IMPORT_IMPLIED, "used with filetype syslog or redis only");
        return;
    }
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(options[i].key, key) == 0)
            option = options[i].option;
    take_output_option(conversion, option, strcmp(key, "level") == 0 ? syslog_level(value) : value);
}

/* Returns true if the setting is for an event type that Sluice does not have, such as "eve.types.mqtt". */
static bool is_type_without_events(const struct import *import, const char *setting)
{
    static const char section[] = "eve.types.";
    const struct schema_row *row;
    char type[CONFIG_MAX_PATH];

    if (strncmp(setting, section, sizeof(section) - 1) != 0)
        return false;
    snprintf(type, sizeof(type), "%s%.*s", section, (int)strcspn(setting + sizeof(section) - 1, "."),
             setting + sizeof(section) - 1);
    row = schema_find(import->config, type);
    return !row || row->setting->type == SETTING_ANY;
}

/* Adds the event type of a leaf to the types of outputs.eve-N. An output has no options for event types: the options of
 * eve.types apply. */
static void add_output_type(struct conversion *conversion)
{
    struct import_leaf *leaf = conversion->leaf;
    const char *type = conversion->setting + strlen("eve.types."), *why;
    const size_t length = strcspn(type, ".");
    char name[64], value[CONFIG_MAX_PATH];

    snprintf(name, sizeof(name), "outputs.eve-%u.types", leaf->output);
    snprintf(value, sizeof(value), "%.*s", (int)length, type);
    if (leaf->node->kind == NODE_SCALAR && !is_yes(leaf->node->value) && type[length] == '\0')
        decide(leaf, IMPORT_IMPLIED, "only the event types that are listed are written");
    else if (is_type_without_events(conversion->import, conversion->setting))
        decide(leaf, IMPORT_MISSING, "Sluice writes no events of this type");
    else if (!import_add_item(conversion->import, leaf, name, value, &why))
        decide(leaf, IMPORT_MISSING, why);
    else if (type[length] != '\0')
        decide(leaf, IMPORT_MISSING, "options of events apply to all outputs: those of the first eve-log count");
    else if (!leaf->key.setting)
        decide(leaf, IMPORT_IMPLIED, "listed already");
}

/* Imports an item of a list `custom`. Suricata also accepts the name of the header itself, so if the value is not
 * accepted, tries it in the form of a setting: accept_language for Accept-Language. */
static void take_header(struct conversion *conversion, const char *value)
{
    char name[64];
    size_t i;

    take_value(conversion, value);
    if (conversion->leaf->key.group == IMPORT_TAKEN || strlen(value) >= sizeof(name))
        return;
    for (i = 0; value[i]; i++)
        name[i] = value[i] == '-' ? '_' : (char)tolower((unsigned char)value[i]);
    name[i] = '\0';
    take_value(conversion, name);
}

static void convert_eve_type(struct conversion *conversion)
{
    const struct config *config = conversion->import->config;
    struct import_leaf *leaf = conversion->leaf;
    const char *value = leaf->node->kind == NODE_SCALAR ? leaf->node->value : NULL, *why;
    const struct schema_row *row = schema_find(config, conversion->setting);
    const bool is_section = row && row->setting->type == SETTING_SECTION;
    /* `enabled` below the type, which is no setting of its own: "http.enabled" */
    const bool is_switch =
        strcmp(strrchr(leaf->name, '.'), ".enabled") == 0 && strcmp(strrchr(conversion->setting, '.'), ".enabled") != 0;

    if (!is_event_file(conversion)) {
        add_output_type(conversion);
        return;
    }
    if (is_switch && !is_yes(value))
        decide(leaf, IMPORT_IMPLIED, "only the event types that are listed are written");
    else if (is_type_without_events(conversion->import, conversion->setting))
        decide(leaf, IMPORT_MISSING, "Sluice writes no events of this type");
    else if (!value && (row ? !is_section : schema_is_section(config, conversion->setting)))
        decide(leaf, IMPORT_IMPLIED, empty);
    else if (!row)
        decide(leaf, IMPORT_UNKNOWN, "no option of this event type");
    else if (strcmp(strrchr(conversion->setting, '.'), ".custom") == 0)
        take_header(conversion, value);
    else if (!is_section || (value && !is_yes(value)))
        take_value(conversion, value);
    else if (!import_set_section(conversion->import, leaf, conversion->setting, &why))
        decide(leaf, IMPORT_MISSING, why);
}

/* Converts fast.log, stats.log and alerts in syslog to outputs of the same name. */
static void convert_log(struct conversion *conversion)
{
    const char *name = conversion->setting + strlen("outputs.");
    char value[16];

    snprintf(value, sizeof(value), "%.*s", (int)strcspn(name, "."), name);
    if (!is_yes(conversion->leaf->node->value)) {
        decide(conversion->leaf, IMPORT_IMPLIED, "only the outputs that are listed are written");
        return;
    }
    take_value(conversion, value);
    if (strcmp(value, "syslog") == 0)
        import_add(conversion->import, "outputs.syslog.format", "fast", "alerts as lines");
}

static void convert_log_filename(struct conversion *conversion)
{
    take_value(conversion, own_filename(conversion->import, conversion->leaf->node->value));
}

/* --- Packets -------------------------------------------------------------------------------------- */

static void convert_ports(struct conversion *conversion)
{
    const char *value = conversion->leaf->node->value;

    if (strchr(value, ',') && value[0] != '[')
        value = arena_printf(conversion->import->config->arena, "[%s]", value);
    conversion->import->failed |= !value;
    if (value)
        take_value(conversion, value);
}

static bool read_mark(const struct import *import, const char *name, uint32_t *out)
{
    const char *value = import_find_value(import, name);
    int64_t number;

    if (!value || !text_to_int(value, strlen(value), 0, UINT32_MAX, &number))
        return false;
    *out = (uint32_t)number;
    return true;
}

/* Reads the mark of inspected packets. Returns false if the input has no usable mark. */
static bool read_repeat_mark(const struct import *import, uint32_t *mark, uint32_t *mask)
{
    if (!read_mark(import, "nfq.repeat-mark", mark))
        return false;
    if (!read_mark(import, "nfq.repeat-mask", mask))
        *mask = *mark;
    return (*mark & ~*mask) == 0 && *mark != 0;
}

static void convert_verdict(struct conversion *conversion)
{
    const char *mode = conversion->leaf->node->value;
    uint32_t mark, mask;

    if (strcmp(mode, "repeat") == 0 && !read_repeat_mark(conversion->import, &mark, &mask))
        decide(conversion->leaf, IMPORT_MISSING,
               "repeat needs nfq.repeat-mark, with no bits outside of nfq.repeat-mask: set queue.mark and "
               "queue.verdict: repeat");
    else if (strcmp(mode, "route") == 0 && !import_find_value(conversion->import, "nfq.route-queue"))
        decide(conversion->leaf, IMPORT_MISSING,
               "route needs nfq.route-queue: set queue.route-to and queue.verdict: route");
    else
        take_value(conversion, mode);
}

static bool has_mode(struct conversion *conversion, const char *wanted)
{
    const char *mode = import_find_value(conversion->import, "nfq.mode");

    return mode && strcmp(mode, wanted) == 0;
}

static void convert_mark(struct conversion *conversion)
{
    static const uint32_t reject_mark = 0x40000000; /* the default of nft.reject-mark */
    struct import *import = conversion->import;
    uint32_t mark, mask, bypass = 0, bit = 0x08000000;
    char value[32];

    if (!has_mode(conversion, "repeat")) {
        decide(conversion->leaf, IMPORT_IMPLIED, "used with nfq.mode: repeat only");
        return;
    }
    if (!read_repeat_mark(import, &mark, &mask)) {
        decide(conversion->leaf, IMPORT_MISSING,
               "a mark must not be 0 and have no bits outside of its mask: set "
               "queue.mark");
        return;
    }
    snprintf(value, sizeof(value), "0x%x/0x%x", (unsigned)mark, (unsigned)mask);
    take_value(conversion, value);
    read_mark(import, "nfq.bypass-mask", &bypass);
    if (!((mask | bypass) & reject_mark) || import_has(import, "nft.reject-mark"))
        return;
    while (bit && ((mask | bypass) & bit))
        bit >>= 1;
    snprintf(value, sizeof(value), "0x%x/0x%x", (unsigned)bit, (unsigned)bit);
    if (bit)
        import_add(import, "nft.reject-mark", value, "its default is used by a mark of nfq");
}

static void convert_route(struct conversion *conversion)
{
    if (has_mode(conversion, "route"))
        convert_value(conversion);
    else
        decide(conversion->leaf, IMPORT_IMPLIED, "used with nfq.mode: route only");
}

/* Multiplies max-pending-packets by NFQ_BURST, because Suricata sets the length of its queues to this number. */
static void convert_queue_length(struct conversion *conversion)
{
    const char *value = conversion->leaf->node->value;
    char length[32];
    int64_t number;

    if (text_to_int(value, strlen(value), 1, MAX_QUEUE_LENGTH / NFQ_BURST, &number)) {
        snprintf(length, sizeof(length), "%d", (int)number * NFQ_BURST);
        value = length;
    }
    take_value(conversion, value);
}

static void convert_invalid_drops(struct conversion *conversion)
{
    take_value(conversion, is_yes(conversion->leaf->node->value) ? "drop-packet" : "ignore");
}

/* --- Interfaces ----------------------------------------------------------------------------------- */

static void convert_interface(struct conversion *conversion)
{
    const char *name = conversion->leaf->node->value, *why;

    if (strcmp(name, "default") == 0)
        decide(conversion->leaf, IMPORT_IMPLIED, "the options of af-packet apply to all interfaces");
    else if (!import_add_item(conversion->import, conversion->leaf, conversion->setting, name, &why))
        decide(conversion->leaf, IMPORT_MISSING, why);
    else if (!conversion->leaf->key.setting)
        decide(conversion->leaf, IMPORT_IMPLIED, "the interface is in the list already");
}

/* Sets an option of an interface for all interfaces. The value of the first interface that has it is used. */
static void take_interface_option(struct conversion *conversion, const char *value)
{
    const char *before = import_value(conversion->import, conversion->setting);

    if (!before)
        take_value(conversion, value);
    else if (strcmp(before, value) == 0)
        decide(conversion->leaf, IMPORT_IMPLIED, "the options of af-packet apply to all interfaces");
    else
        decide(conversion->leaf, IMPORT_MISSING,
               "the options of af-packet apply to all interfaces: the value of an earlier interface is used");
}

static void convert_interface_option(struct conversion *conversion)
{
    take_interface_option(conversion, conversion->leaf->node->value);
}

static void convert_promisc(struct conversion *conversion)
{
    take_interface_option(conversion, is_yes(conversion->leaf->node->value) ? "no" : "yes");
}

/* --- Threads -------------------------------------------------------------------------------------- */

static void convert_affinity(struct conversion *conversion)
{
    const char *mode = import_find_value(conversion->import, "threading.cpu-affinity.worker-cpu-set.mode");

    if (!is_yes(import_find_value(conversion->import, "threading.set-cpu-affinity")))
        decide(conversion->leaf, IMPORT_IMPLIED, conversion->row->text);
    else
        take_value(conversion, mode ? mode : "balanced");
}

static void convert_cpu_set(struct conversion *conversion)
{
    if (!is_yes(import_find_value(conversion->import, "threading.set-cpu-affinity")))
        decide(conversion->leaf, IMPORT_IMPLIED, "not used: threading.set-cpu-affinity is no");
    else
        take_value(conversion, conversion->leaf->node->value);
}

/* --- Decision ------------------------------------------------------------------------------------- */

static void (*const converters[])(struct conversion *conversion) = {
    [CONVERT_VALUE] = convert_value,
    [CONVERT_FILE] = convert_file,
    [CONVERT_FOLDER] = convert_folder,
    [CONVERT_RULE_FILE] = convert_rule_file,
    [CONVERT_REPUTATION_FILE] = convert_reputation_file,
    [CONVERT_PLACE] = convert_place,
    [CONVERT_EVE_SWITCH] = convert_eve_switch,
    [CONVERT_EVE] = convert_eve,
    [CONVERT_EVE_FILENAME] = convert_eve_filename,
    [CONVERT_EVE_TYPE] = convert_eve_type,
    [CONVERT_EVE_TRANSPORT] = convert_eve_transport,
    [CONVERT_LOG] = convert_log,
    [CONVERT_LOG_FILENAME] = convert_log_filename,
    [CONVERT_LEVEL] = convert_level,
    [CONVERT_PORTS] = convert_ports,
    [CONVERT_VERDICT] = convert_verdict,
    [CONVERT_MARK] = convert_mark,
    [CONVERT_ROUTE] = convert_route,
    [CONVERT_QUEUE_LENGTH] = convert_queue_length,
    [CONVERT_INVALID_DROPS] = convert_invalid_drops,
    [CONVERT_AFFINITY] = convert_affinity,
    [CONVERT_CPU_SET] = convert_cpu_set,
    [CONVERT_INTERFACE] = convert_interface,
    [CONVERT_INTERFACE_OPTION] = convert_interface_option,
    [CONVERT_PROMISC] = convert_promisc,
};

/* Writes the name of the setting that has the same name as the key, with "app-layer.protocols.tls" for "app-layer.tls".
 * Returns its row, or NULL. */
static const struct schema_row *find_same_name(struct conversion *conversion)
{
    static const char protocols[] = "app-layer.";
    const char *name = conversion->leaf->name;
    const struct schema_row *row = NULL;

    if (strlen(name) >= sizeof(conversion->setting))
        return NULL;
    strcpy(conversion->setting, name);
    row = schema_find(conversion->import->config, name);
    if (row || strncmp(name, protocols, sizeof(protocols) - 1) != 0)
        return row;
    if (snprintf(conversion->setting, sizeof(conversion->setting), "app-layer.protocols.%s",
                 name + sizeof(protocols) - 1) >= (int)sizeof(conversion->setting))
        return NULL;
    return schema_find(conversion->import->config, conversion->setting);
}

static void decide_by_name(struct conversion *conversion)
{
    static const char no_effect[] = "Accepted without effect: ";
    struct import_leaf *leaf = conversion->leaf;
    const struct schema_row *row = find_same_name(conversion);
    const struct setting *setting = row ? row->setting : NULL;

    if (!setting || setting->type == SETTING_SECTION)
        decide(leaf, IMPORT_UNKNOWN, "neither Suricata nor Sluice has this setting");
    else if (strncmp(setting->help, no_effect, sizeof(no_effect) - 1) == 0)
        decide(leaf, IMPORT_IMPLIED, setting->help + sizeof(no_effect) - 1);
    else if (setting->warning)
        decide(leaf, IMPORT_MISSING, setting->warning);
    else if (leaf->disabled)
        decide(leaf, IMPORT_IMPLIED, section_disabled);
    else
        take_value(conversion, leaf->node->value);
}

static void decide_by_row(struct conversion *conversion)
{
    struct import_leaf *leaf = conversion->leaf;
    const struct suricata_key *row = conversion->row;
    const char *dot = strrchr(leaf->name, '.');
    const bool is_switch = dot && strcmp(dot, ".enabled") == 0;

    if (row->group == IMPORT_MISSING && (leaf->disabled || (is_switch && is_no(leaf->node->value))))
        decide(leaf, IMPORT_IMPLIED, not_in_sluice);
    else if (row->group != IMPORT_TAKEN)
        decide(leaf, row->group, row->text ? row->text : row->setting);
    else if (leaf->disabled)
        decide(leaf, IMPORT_IMPLIED, section_disabled);
    else if (!suricata_key_setting(row, leaf->name, conversion->setting, sizeof(conversion->setting)))
        decide(leaf, IMPORT_UNKNOWN, "the name of this setting is too long");
    else
        converters[row->conversion](conversion);
}

static void decide_leaf(struct import *import, struct import_leaf *leaf)
{
    struct conversion conversion = { .import = import, .leaf = leaf, .row = suricata_key_find(leaf->name) };
    const bool is_type = conversion.row && conversion.row->conversion == CONVERT_EVE_TYPE;

    if (leaf->by) {
        const char *text =
            arena_printf(import->config->arena, "%s:%u sets it again", leaf->by->key_at.file, leaf->by->key_at.line);

        import->failed |= !text;
        decide(leaf, IMPORT_REPLACED, text ? text : "");
    } else if (leaf->is_include) {
        decide(leaf, leaf->node->unread ? IMPORT_MISSING : IMPORT_TAKEN,
               leaf->node->unread ? "the file cannot be read: import again when it exists" : "the file was read");
    } else if (leaf->node->kind == NODE_NULL && is_type && !leaf->disabled &&
               strcmp(leaf->name, "outputs.eve-log.types") &&
               suricata_key_setting(conversion.row, leaf->name, conversion.setting, sizeof(conversion.setting))) {
        convert_eve_type(&conversion);
    } else if (conversion.row && leaf->node->kind != NODE_SCALAR) {
        decide(leaf, IMPORT_IMPLIED, leaf->disabled ? section_disabled : empty);
    } else if (conversion.row) {
        decide_by_row(&conversion);
    } else if (leaf->node->kind != NODE_SCALAR) {
        bool known = find_same_name(&conversion) || schema_is_section(import->config, leaf->name);

        decide(leaf, known ? IMPORT_IMPLIED : IMPORT_UNKNOWN,
               known ? empty : "neither Suricata nor Sluice has this setting");
    } else {
        decide_by_name(&conversion);
    }
}

/* Selects the eve-log that becomes the event file: the first one that is enabled and on this host, or else the first
 * one that is enabled. Without `enabled`, Suricata does not write an eve-log. */
static void select_eve(struct import *import)
{
    bool remote = true;

    import->eve_output = -1;
    for (size_t i = 0; i < import->leaf_count; i++) {
        const struct import_leaf *leaf = &import->leaves[i];

        if (leaf->by || strcmp(leaf->name, "outputs.eve-log.enabled") != 0 || !is_yes(leaf->key.value))
            continue;
        if (import->eve_output >= 0 && (!remote || is_remote(import, leaf->output)))
            continue;
        import->eve_output = (int)leaf->output;
        remote = is_remote(import, leaf->output);
    }
}

/* Returns whether Suricata drops packets with this configuration, as far as the file says. */
static bool is_inline(const struct import *import)
{
    for (size_t i = 0; i < import->leaf_count; i++) {
        const struct import_leaf *leaf = &import->leaves[i];
        const char *name = leaf->name, *last = strrchr(name, '.');

        if (leaf->by || leaf->node->kind != NODE_SCALAR)
            continue;
        if (strncmp(name, "nfq.", strlen("nfq.")) == 0 ||
            (strcmp(name, "stream.inline") == 0 && is_yes(leaf->key.value)) ||
            (last && strcmp(last, ".copy-mode") == 0 && strcmp(leaf->key.value, "ips") == 0))
            return true;
    }
    return false;
}

void import_convert(struct import *import)
{
    /* Event types about Sluice itself. They are added, because in operation they matter as much as alerts. */
    static const char *const own_types[] = { "eve.types.firewall", "eve.types.engine", "eve.types.overload" };
    bool has_types = false;

    select_eve(import);
    for (size_t i = 0; i < import->leaf_count && !import->failed; i++)
        decide_leaf(import, &import->leaves[i]);
    for (size_t i = 0; i < import->setting_count; i++)
        has_types |= strncmp(import->settings[i].name, "eve.types.", strlen("eve.types.")) == 0;
    for (size_t i = 0; has_types && i < sizeof(own_types) / sizeof(own_types[0]); i++)
        import_add(import, own_types[i], NULL, "event types of Sluice, which reports its own state by them");
    if (!is_inline(import))
        import_add(import, "ips.mode", "alert-only",
                   "the input does not say that Suricata drops packets (nfq, copy-mode: ips); change it to drop");
    import_set_lists(import);
}
