/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The import of a suricata.yaml: the table of keys, and how values are converted. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_priv.h"
#include "config/suricata_keys.h"
#include "sluice/app.h"
#include "sluice/daemon.h"

static struct config *config;
static struct diag *diag;
static struct import *import;

static void setup(void)
{
    ck_assert_int_eq(daemon_new_config(&config), 0);
    diag = diag_new();
    ck_assert_ptr_nonnull(diag);
    import = NULL;
}

static void teardown(void)
{
    import_free(import);
    config_free(config);
    diag_free(diag);
}

static void read_text(const char *text, bool keep_places)
{
    const struct import_options options = { .no_files = true, .keep_places = keep_places };

    ck_assert_int_eq(import_parse(&import, config, "s.yaml", text, strlen(text), &options, diag), 0);
}

/* Returns the key with this path, of which there must be exactly one. */
static const struct import_key *key_of(const char *path)
{
    const struct import_key *key, *found = NULL;

    for (size_t i = 0; (key = import_key(import, i)); i++) {
        if (strcmp(key->path, path) != 0)
            continue;
        ck_assert_msg(!found, "%s is there twice", path);
        found = key;
    }
    ck_assert_msg(found, "no key %s", path);
    return found;
}

/* --- The table ------------------------------------------------------------------------------------ */

START_TEST(settings_of_the_table_exist)
{
    const struct suricata_key *row;

    for (size_t i = 0; (row = suricata_key_get(i)); i++) {
        ck_assert_ptr_nonnull(row->pattern);
        if (row->group != IMPORT_TAKEN)
            ck_assert_msg(row->text || row->setting, "%s has no text", row->pattern);
        if (row->group == IMPORT_TAKEN)
            ck_assert_msg(row->setting, "%s has no setting", row->pattern);
        if (row->setting && !strchr(row->setting, '*'))
            ck_assert_msg(schema_find(config, row->setting) || schema_is_section(config, row->setting),
                          "%s names the unknown setting %s", row->pattern, row->setting);
    }
}
END_TEST

/* A row behind one that matches all its keys is never found. */
START_TEST(rows_of_single_keys_are_found)
{
    const struct suricata_key *row;

    for (size_t i = 0; (row = suricata_key_get(i)); i++)
        if (!strpbrk(row->pattern, "*|"))
            ck_assert_msg(suricata_key_find(row->pattern) == row, "%s is hidden by %s", row->pattern,
                          suricata_key_find(row->pattern)->pattern);
}
END_TEST

/* A protocol that Sluice learns must lose its row "Sluice does not parse this protocol". */
START_TEST(protocols_without_a_parser_have_none)
{
    const char *names[2 * APP_MAX_PROTOCOLS];
    char key[128];

    app_list_names(names, sizeof(names) / sizeof(names[0]));
    for (size_t i = 0; names[i]; i++) {
        const struct suricata_key *row;

        snprintf(key, sizeof(key), "app-layer.protocols.%s.enabled", names[i]);
        row = suricata_key_find(key);
        ck_assert_msg(!row || row->group != IMPORT_MISSING, "%s: %s", names[i], row ? row->text : "");
    }
}
END_TEST

static const struct {
    const char *key, *setting; /* NULL: no row */
} found[] = {
    { "flow-timeouts.tcp.new", "flow.timeouts.tcp.new" },
    { "flow-timeouts.tcp.emergency-closed", "flow.timeouts.tcp.emergency-closed" },
    { "stream.reassembly.toclient-chunk-size", "stream.toclient-chunk-size" },
    { "outputs.eve-log.types.http.custom", "eve.types.http.custom" },
    { "outputs.eve-log.types.dhcp.enabled", "eve.types.dhcp" },
    { "outputs.eve-log.types", "eve.types" },
    { "outputs.eve-log.types.dns", "eve.types.dns" },
    { "outputs.eve-log.xff.mode", "eve.xff.mode" },
    { "outputs.file-store.xff.mode", "eve.types.files.xff.mode" },
    { "outputs.file-store", "file-store" },
    { "nfq.repeat-mask", "queue.mark" },
    { "app-layer.protocols.dns.udp.detection-ports.sp", "app-layer.protocols.dns.udp.detection-ports.sp" },
    { "af-packet.threads", "af-packet.workers" },
    { "af-packet.bpf-filter", "af-packet.bpf-filter" },
    { "af-xdp", NULL },
    { "queue.length", NULL },
    { "", NULL },
    { "flow-timeouts.tcp.new.more", NULL },
};

START_TEST(keys_lead_to_settings)
{
    const struct suricata_key *row = suricata_key_find(found[_i].key);
    char setting[128];

    if (!found[_i].setting) {
        ck_assert(!row || !row->setting);
        return;
    }
    ck_assert_ptr_nonnull(row);
    ck_assert(suricata_key_setting(row, found[_i].key, setting, sizeof(setting)));
    ck_assert_str_eq(setting, found[_i].setting);
    ck_assert(!suricata_key_setting(row, found[_i].key, setting, 4));
}
END_TEST

/* --- Conversions ---------------------------------------------------------------------------------- */

#define EVE "outputs: [{eve-log: {enabled: yes, types: ["

static const struct {
    const char *text, *path;
    enum import_group group;
    const char *result; /* the setting, or a part of the text */
} conversions[] = {
    { "defrag: {memcap: 8mb}", "defrag.memcap", IMPORT_TAKEN, "defrag.memcap: 8mb" },
    { "defrag: {memcap: 8 parsecs}", "defrag.memcap", IMPORT_MISSING, "needs a size" },
    { "defrag.memcap: 8mb", "defrag.memcap", IMPORT_TAKEN, "defrag.memcap: 8mb" },
    { "defrag: {memcap: 8mb}\ndefrag: {memcap: 9mb}", "defrag.trackers", IMPORT_GROUPS, NULL },
    { "nonsense: 1", "nonsense", IMPORT_UNKNOWN, "neither" },
    { "nonsense: {a: [b]}", "nonsense.a.0", IMPORT_UNKNOWN, "neither" },
    { "nonsense:", "nonsense", IMPORT_UNKNOWN, "neither" },
    { "stream: {nonsense: 1}", "stream.nonsense", IMPORT_UNKNOWN, "neither" },
    { "stream:", "stream", IMPORT_IMPLIED, "no value" },
    { "nfq: {mode: accept}", "nfq.mode", IMPORT_TAKEN, "queue.verdict: accept" },
    { "nfq: {mode: repeat}", "nfq.mode", IMPORT_MISSING, "nfq.repeat-mark" },
    { "nfq: {mode: repeat, repeat-mark: 1, repeat-mask: 3}", "nfq.mode", IMPORT_TAKEN, "queue.verdict: repeat" },
    { "nfq: {mode: repeat, repeat-mark: 1, repeat-mask: 3}", "nfq.repeat-mark", IMPORT_TAKEN, "queue.mark: 0x1/0x3" },
    { "nfq: {mode: repeat, repeat-mark: 1, repeat-mask: 3}", "nfq.repeat-mask", IMPORT_TAKEN, "queue.mark: 0x1/0x3" },
    { "nfq: {mode: repeat, repeat-mark: 4, repeat-mask: 3}", "nfq.mode", IMPORT_MISSING, "outside of nfq.repeat-mask" },
    { "nfq: {mode: repeat, repeat-mark: x}", "nfq.repeat-mark", IMPORT_MISSING, "queue.mark" },
    { "nfq: {mode: accept, repeat-mark: 1}", "nfq.repeat-mark", IMPORT_IMPLIED, "repeat only" },
    { "nfq: {mode: route}", "nfq.mode", IMPORT_MISSING, "nfq.route-queue" },
    { "nfq: {mode: route, route-queue: 7}", "nfq.route-queue", IMPORT_TAKEN, "queue.route-to: 7" },
    { "nfq: {route-queue: 7}", "nfq.route-queue", IMPORT_IMPLIED, "route only" },
    { "nfq: {batchcount: 20}", "nfq.batchcount", IMPORT_TAKEN, "queue.batch: 20" },
    { "nfq: {fail-open: yes}", "nfq.fail-open", IMPORT_TAKEN, "queue.fail-open: yes" },
    { "max-pending-packets: 1024", "max-pending-packets", IMPORT_TAKEN, "queue.length: 4096" },
    { "max-pending-packets: x", "max-pending-packets", IMPORT_MISSING, "needs a number" },
    { "stream: {drop-invalid: yes}", "stream.drop-invalid", IMPORT_TAKEN, "stream.invalid-policy: drop-packet" },
    { "stream: {drop-invalid: no}", "stream.drop-invalid", IMPORT_TAKEN, "stream.invalid-policy: ignore" },
    { "app-layer: {protocols: {smb: {detection-ports: {dp: '139, 445'}}}}",
      "app-layer.protocols.smb.detection-ports.dp", IMPORT_TAKEN,
      "app-layer.protocols.smb.detection-ports.dp: \"[139, 445]\"" },
    { "app-layer: {protocols: {msn: {enabled: yes}}}", "app-layer.protocols.msn.enabled", IMPORT_MISSING,
      "does not parse" },
    { "app-layer: {protocols: {msn: {enabled: no}}}", "app-layer.protocols.msn.enabled", IMPORT_IMPLIED, "disabled" },
    { "app-layer: {protocols: {http: {enabled: no}}}", "app-layer.protocols.http.enabled", IMPORT_TAKEN,
      "app-layer.protocols.http.enabled: no" },
    { "rule-files: [a.rules]", "rule-files.0", IMPORT_TAKEN, "rule-files: a.rules" },
    { "rule-files: '*.rules'", "rule-files", IMPORT_TAKEN, "rule-files: \"*.rules\"" },
    { "reputation-files: [a.list]", "reputation-files.0", IMPORT_TAKEN,
      "reputation.files: /etc/suricata/iprep/a.list" },
    { "reputation-files: [a.list]\ndefault-reputation-path: /x", "reputation-files.0", IMPORT_TAKEN,
      "reputation.files: /x/a.list" },
    { "threading: {set-cpu-affinity: yes, cpu-affinity: [{worker-cpu-set: {cpu: [0-3], mode: exclusive}}]}",
      "threading.set-cpu-affinity", IMPORT_TAKEN, "threading.affinity: exclusive" },
    { "threading: {set-cpu-affinity: yes, cpu-affinity: [{worker-cpu-set: {cpu: [0-3, 5]}}]}",
      "threading.cpu-affinity.0.worker-cpu-set.cpu.1", IMPORT_TAKEN, "threading.worker-cpu-set: 5" },
    { "threading: {set-cpu-affinity: no, cpu-affinity: [{worker-cpu-set: {cpu: [0-3, 5]}}]}",
      "threading.cpu-affinity.0.worker-cpu-set.cpu.1", IMPORT_IMPLIED, "set-cpu-affinity is no" },
    { EVE "alert]}}]", "outputs.0.eve-log.types.0", IMPORT_TAKEN, "eve.types.alert: {}" },
    { EVE "{alert: {payload: yes}}]}}]", "outputs.0.eve-log.types.0.alert.payload", IMPORT_TAKEN,
      "eve.types.alert.payload: yes" },
    { EVE "{alert: {metadata: no}}]}}]", "outputs.0.eve-log.types.0.alert.metadata", IMPORT_TAKEN,
      "eve.types.alert.metadata: no" },
    { EVE "{dhcp: {enabled: no, extended: yes}}]}}]", "outputs.0.eve-log.types.0.dhcp.enabled", IMPORT_IMPLIED,
      "types that are listed" },
    { EVE "{dhcp: {enabled: no, extended: yes}}]}}]", "outputs.0.eve-log.types.0.dhcp.extended", IMPORT_IMPLIED,
      "section is disabled" },
    { EVE "{http: {custom: [Accept-Language]}}]}}]", "outputs.0.eve-log.types.0.http.custom.0", IMPORT_TAKEN,
      "eve.types.http.custom: accept_language" },
    { EVE "{http: {custom: [cookie]}}]}}]", "outputs.0.eve-log.types.0.http.custom.0", IMPORT_TAKEN,
      "eve.types.http.custom: cookie" },
    { EVE "{smtp: {custom: [Relays]}}]}}]", "outputs.0.eve-log.types.0.smtp.custom.0", IMPORT_MISSING,
      "needs the name" },
    { EVE "imap]}}]", "outputs.0.eve-log.types.0", IMPORT_MISSING, "no events of this type" },
    { EVE "{http: {force-magic: no}}]}}]", "outputs.0.eve-log.types.0.http.force-magic", IMPORT_UNKNOWN, "no option" },
    { "outputs: [{eve-log: {enabled: yes, filename: /x/y.json}}]", "outputs.0.eve-log.filename", IMPORT_TAKEN,
      "eve.filename: y.json" },
    { "outputs: [{eve-log: {enabled: no}}]", "outputs.0.eve-log.enabled", IMPORT_TAKEN, "eve.enabled: no" },
    { "outputs: [{eve-log: {enabled: no}}, {eve-log: {enabled: yes, filename: b}}]", "outputs.1.eve-log.filename",
      IMPORT_TAKEN, "eve.filename: b" },
    { "outputs: [{eve-log: {enabled: yes}}, {eve-log: {enabled: yes, filename: /x/b}}]", "outputs.1.eve-log.filename",
      IMPORT_TAKEN, "outputs.eve-1.filename: b" },
    { EVE "dns]}}, {eve-log: {enabled: yes, types: [alert]}}]", "outputs.1.eve-log.types.0", IMPORT_TAKEN,
      "outputs.eve-1.types: alert" },
    { EVE "dns]}}, {eve-log: {enabled: yes, types: [alert, {dns: {enabled: yes}}]}}]",
      "outputs.1.eve-log.types.1.dns.enabled", IMPORT_TAKEN, "outputs.eve-1.types: dns" },
    { EVE "dns]}}, {eve-log: {enabled: yes, types: [{dns: {enabled: no}}]}}]", "outputs.1.eve-log.types.0.dns.enabled",
      IMPORT_IMPLIED, "types that are listed" },
    { EVE "dns]}}, {eve-log: {enabled: yes, types: [imap]}}]", "outputs.1.eve-log.types.0", IMPORT_MISSING,
      "no events of this type" },
    { EVE "dns]}}, {eve-log: {enabled: yes, types: [dns, dns]}}]", "outputs.1.eve-log.types.1", IMPORT_IMPLIED,
      "listed already" },
    { EVE "dns]}}, {eve-log: {enabled: yes, types: [{alert: {payload: no}}]}}]",
      "outputs.1.eve-log.types.0.alert.payload", IMPORT_MISSING, "apply to all outputs" },
    { EVE "dns]}}, {eve-log: {enabled: yes, community-id: yes}}]", "outputs.1.eve-log.community-id", IMPORT_MISSING,
      "apply to all outputs" },
    { "outputs: [{eve-log: {enabled: yes, type: syslog, level: Error}}, {eve-log: {enabled: yes, filename: b}}]",
      "outputs.1.eve-log.filename", IMPORT_TAKEN, "eve.filename: b" },
    { "outputs: [{eve-log: {enabled: yes, type: syslog, level: Error}}, {eve-log: {enabled: yes, filename: b}}]",
      "outputs.0.eve-log.level", IMPORT_TAKEN, "outputs.eve-0.syslog.level: err" },
    { "outputs: [{eve-log: {enabled: yes, filetype: redis, filename: x, redis: {server: 10.0.0.1}}}]",
      "outputs.0.eve-log.redis.server", IMPORT_TAKEN, "outputs.eve-0.redis.server: 10.0.0.1" },
    { "outputs: [{eve-log: {enabled: yes, filetype: redis, filename: x, redis: {pipelining: {batch-size: 10}}}}]",
      "outputs.0.eve-log.redis.pipelining.batch-size", IMPORT_TAKEN, "outputs.eve-0.redis.batch-size: 10" },
    { "outputs: [{eve-log: {enabled: yes, filetype: redis, filename: x}}]", "outputs.0.eve-log.filename",
      IMPORT_IMPLIED, "only files" },
    { "outputs: [{eve-log: {enabled: yes, filetype: redis}}]", "outputs.0.eve-log.enabled", IMPORT_TAKEN,
      "outputs.eve-0.enabled: yes" },
    { "outputs: [{eve-log: {enabled: yes, prefix: x}}]", "outputs.0.eve-log.prefix", IMPORT_IMPLIED,
      "syslog or redis" },
    { "outputs: [{eve-log: {enabled: yes, filetype: floppy}}]", "outputs.0.eve-log.filetype", IMPORT_MISSING,
      "needs regular" },
    { "outputs: [{fast: {enabled: yes}}]", "outputs.0.fast.enabled", IMPORT_TAKEN, "outputs.fast.format: fast" },
    { "outputs: [{fast: {enabled: yes, filename: /x/y.log}}]", "outputs.0.fast.filename", IMPORT_TAKEN,
      "outputs.fast.filename: y.log" },
    { "outputs: [{fast: {enabled: no}}]", "outputs.0.fast.enabled", IMPORT_IMPLIED, "outputs that are listed" },
    { "outputs: [{stats: {enabled: yes}}]", "outputs.0.stats.enabled", IMPORT_TAKEN, "outputs.stats.format: stats" },
    { "outputs: [{syslog: {enabled: yes, level: Critical}}]", "outputs.0.syslog.enabled", IMPORT_TAKEN,
      "outputs.syslog.filetype: syslog" },
    { "outputs: [{syslog: {enabled: yes, level: Critical}}]", "outputs.0.syslog.level", IMPORT_TAKEN,
      "outputs.syslog.syslog.level: crit" },
    { "outputs: [{pcap-log: {enabled: yes, conditional: tag}}]", "outputs.0.pcap-log.conditional", IMPORT_TAKEN,
      "pcap-log.conditional: tag" },
    { "outputs: [{pcap-log: {enabled: yes, compression: lz4, lz4-level: 9}}]", "outputs.0.pcap-log.lz4-level",
      IMPORT_TAKEN, "pcap-log.lz4-level: 9" },
    { "outputs: [{pcap-log: {enabled: yes, mode: multi, filename: log.%n.%t.pcap}}]", "outputs.0.pcap-log.filename",
      IMPORT_TAKEN, "pcap-log.filename: \"log.%n.%t.pcap\"" },
    { "outputs: [{pcap-log: {enabled: yes, bpf-filter: tcp}}]", "outputs.0.pcap-log.bpf-filter", IMPORT_MISSING,
      "no BPF filter" },
    { "outputs: [{tls-store: {enabled: yes, certs-log-dir: chains}}]", "outputs.0.tls-store.certs-log-dir",
      IMPORT_TAKEN, "tls-store.certs-log-dir: chains" },
    { "outputs: [{pcap-log: {enabled: no, limit: 5}}]", "outputs.0.pcap-log.limit", IMPORT_IMPLIED, "disabled" },
    { "default-log-dir: /var/log/suricata", "default-log-dir", IMPORT_IMPLIED, "not taken" },
    { "security: {landlock: {enabled: no}}", "security.landlock.enabled", IMPORT_IMPLIED, "sandbox" },
    { "include: a.yaml", "include", IMPORT_MISSING, "import again" },
    { "include: [a.yaml]", "include.0", IMPORT_MISSING, "import again" },
    { "af-packet: [{interface: eth0}]", "af-packet.0.interface", IMPORT_TAKEN, "af-packet.interfaces: eth0" },
    { "af-packet: [{interface: eth0}, {interface: eth1}]", "af-packet.1.interface", IMPORT_TAKEN,
      "af-packet.interfaces: eth1" },
    { "af-packet: [{interface: eth0}, {interface: eth0}]", "af-packet.1.interface", IMPORT_IMPLIED,
      "in the list already" },
    { "af-packet: [{interface: eth0}, {interface: default}]", "af-packet.1.interface", IMPORT_IMPLIED,
      "apply to all interfaces" },
    { "af-packet: [{interface: eth0, threads: 4}]", "af-packet.0.threads", IMPORT_TAKEN, "af-packet.workers: 4" },
    { "af-packet: [{interface: eth0, threads: auto}]", "af-packet.0.threads", IMPORT_MISSING, "set af-packet.workers" },
    { "af-packet: [{interface: eth0, threads: 4}, {interface: eth1, threads: 2}]", "af-packet.1.threads",
      IMPORT_MISSING, "the value of an earlier interface is used" },
    { "af-packet: [{interface: eth0, threads: 4}, {interface: eth1, threads: 4}]", "af-packet.1.threads",
      IMPORT_IMPLIED, "apply to all interfaces" },
    { "af-packet: [{interface: eth0, cluster-type: cluster_flow}]", "af-packet.0.cluster-type", IMPORT_TAKEN,
      "af-packet.cluster-type: cluster_flow" },
    { "af-packet: [{interface: eth0, cluster-type: cluster_ebpf}]", "af-packet.0.cluster-type", IMPORT_MISSING,
      "cluster_addresses" },
    { "af-packet: [{interface: eth0, cluster-id: 99}]", "af-packet.0.cluster-id", IMPORT_TAKEN,
      "af-packet.cluster-id: 99" },
    { "af-packet: [{interface: eth0, disable-promisc: yes}]", "af-packet.0.disable-promisc", IMPORT_TAKEN,
      "af-packet.promiscuous: no" },
    { "af-packet: [{interface: eth0, bpf-filter: port 80 or udp}]", "af-packet.0.bpf-filter", IMPORT_TAKEN,
      "af-packet.bpf-filter: \"port 80 or udp\"" },
    { "af-packet: [{interface: eth0, checksum-checks: auto}]", "af-packet.0.checksum-checks", IMPORT_MISSING,
      "without auto" },
    { "af-packet: [{interface: eth0, ring-size: 200000}]", "af-packet.0.ring-size", IMPORT_IMPLIED, "in bytes" },
    { "af-packet: [{interface: eth0, use-mmap: yes}]", "af-packet.0.use-mmap", IMPORT_IMPLIED, "TPACKET_V3" },
    { "af-packet: [{interface: eth0, copy-mode: ips}]", "af-packet.0.copy-mode", IMPORT_MISSING, "nft.attach" },
    { "af-packet: [{interface: eth0, xdp-mode: driver}]", "af-packet.0.xdp-mode", IMPORT_MISSING, "no such setting" },
    { "af-xdp: [{interface: eth0}]", "af-xdp.0.interface", IMPORT_MISSING, "nft.attach" },
};

START_TEST(values_are_converted)
{
    const struct import_key *key;

    read_text(conversions[_i].text, false);
    if (conversions[_i].group == IMPORT_GROUPS)
        return;
    key = key_of(conversions[_i].path);
    ck_assert_msg(key->group == conversions[_i].group, "%s: %s is %s (%s)", conversions[_i].text, key->path,
                  import_group_name(key->group), key->text ? key->text : key->setting);
    if (key->group == IMPORT_TAKEN)
        ck_assert_str_eq(key->setting, conversions[_i].result);
    else
        ck_assert_msg(strstr(key->text, conversions[_i].result), "%s: %s", conversions[_i].text, key->text);
}
END_TEST

START_TEST(a_later_key_replaces_an_earlier_one)
{
    const struct import_key *first, *second;
    struct position at;

    read_text("vars: {address-groups: {A: 1.1.1.1}}\nhost: {memcap: 16mb}\nvars: {port-groups: {B: 1}}\n", false);
    first = key_of("vars.address-groups.A");
    second = key_of("vars.port-groups.B");
    ck_assert_int_eq(first->group, IMPORT_REPLACED);
    ck_assert_str_eq(first->text, "s.yaml:3 sets it again");
    ck_assert_int_eq(second->group, IMPORT_TAKEN);
    ck_assert_uint_eq(import_count(import, IMPORT_REPLACED), 1);
    at = config_position(config, "vars.address-groups.A");
    ck_assert_uint_eq(at.line, 0);
}
END_TEST

START_TEST(places_are_kept_on_request)
{
    read_text("default-log-dir: /x\nrun-as: {user: a}\nunix-command: {enabled: no}\npid-file: /x/y.pid\n"
              "outputs: [{eve-log: {enabled: yes, filename: /x/y.json}}]",
              true);
    ck_assert_str_eq(key_of("default-log-dir")->setting, "log-dir: /x");
    ck_assert_str_eq(key_of("run-as.user")->setting, "run-as.user: a");
    ck_assert_str_eq(key_of("unix-command.enabled")->setting, "unix-command.enabled: no");
    ck_assert_str_eq(key_of("pid-file")->setting, "pid-file: /x/y.pid");
    ck_assert_str_eq(key_of("outputs.0.eve-log.filename")->setting, "eve.filename: /x/y.json");
}
END_TEST

START_TEST(the_output_is_one_line_per_setting)
{
    struct text text;

    read_text("vars: {address-groups: {\"a b: c\\nqueue\": 1.1.1.1}}\nrule-files: [a.rules, '*.rules']\n"
              "nfq: {mode: repeat, repeat-mark: 0x40000000}\noutputs: [{eve-log: {enabled: yes, types: [dns]}}]\n",
              false);
    text_init(&text);
    import_print(import, &text);
    ck_assert_str_eq(text.bytes,
                     "\n\"vars.address-groups.a b: c\\u000aqueue\": 1.1.1.1\n"
                     "\ndefault-rule-path: /etc/suricata/rules # added: the folder that Suricata has by "
                     "default\n"
                     "\nrule-files: [a.rules, \"*.rules\"] # rule-files.0\n"
                     "\nqueue.verdict: repeat # nfq.mode\n"
                     "queue.mark: 0x40000000/0x40000000 # nfq.repeat-mark\n"
                     "\nnft.reject-mark: 0x8000000/0x8000000 # added: its default is used by a mark of nfq\n"
                     "\neve.enabled: yes # outputs.0.eve-log.enabled\n"
                     "eve.types.dns: {} # outputs.0.eve-log.types.0\n"
                     "eve.types.firewall: {} # added: event types of Sluice, which reports its own state "
                     "by them\n"
                     "eve.types.engine: {} # added: event types of Sluice, which reports its own state by "
                     "them\n"
                     "eve.types.overload: {} # added: event types of Sluice, which reports its own state "
                     "by them\n");
    text_clear(&text);
}
END_TEST

static const char *const no_yaml[] = {
    "", "abc", "- a\n- b\n", "a: [", "vars: {address-groups: {E: !$HOME_NET}}", "a: 1\n---\nb: 2\n"
};

START_TEST(what_is_no_configuration_is_refused)
{
    const struct import_options options = { .no_files = true };

    ck_assert_int_eq(import_parse(&import, config, "s.yaml", no_yaml[_i], strlen(no_yaml[_i]), &options, diag),
                     -EINVAL);
    ck_assert_uint_ge(diag_errors(diag), 1);
    ck_assert_ptr_null(import);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import");
    TCase *table = tcase_create("table"), *values = tcase_create("values");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(table, setup, teardown);
    tcase_add_test(table, settings_of_the_table_exist);
    tcase_add_test(table, rows_of_single_keys_are_found);
    tcase_add_test(table, protocols_without_a_parser_have_none);
    tcase_add_loop_test(table, keys_lead_to_settings, 0, sizeof(found) / sizeof(found[0]));
    tcase_add_checked_fixture(values, setup, teardown);
    tcase_add_loop_test(values, values_are_converted, 0, sizeof(conversions) / sizeof(conversions[0]));
    tcase_add_test(values, a_later_key_replaces_an_earlier_one);
    tcase_add_test(values, places_are_kept_on_request);
    tcase_add_test(values, the_output_is_one_line_per_setting);
    tcase_add_loop_test(values, what_is_no_configuration_is_refused, 0, sizeof(no_yaml) / sizeof(no_yaml[0]));
    suite_add_tcase(suite, table);
    suite_add_tcase(suite, values);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
