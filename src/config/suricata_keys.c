/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys of suricata.yaml and their meaning for Sluice. The first row that matches counts. */
#include "suricata_keys.h"

#include <stdio.h>
#include <string.h>

#include "sluice/text.h"

#define TAKEN(pattern, setting)                                                                                        \
    {                                                                                                                  \
        pattern, IMPORT_TAKEN, setting, CONVERT_VALUE, NULL                                                            \
    }
#define CONVERTED(pattern, setting, conversion, text)                                                                  \
    {                                                                                                                  \
        pattern, IMPORT_TAKEN, setting, conversion, text                                                               \
    }
#define IMPLIED(pattern, text)                                                                                         \
    {                                                                                                                  \
        pattern, IMPORT_IMPLIED, NULL, CONVERT_VALUE, text                                                             \
    }
#define MISSING(pattern, setting, text)                                                                                \
    {                                                                                                                  \
        pattern, IMPORT_MISSING, setting, CONVERT_VALUE, text                                                          \
    }

static const char no_interfaces[] =
    "Sluice captures from interfaces with AF_PACKET only (af-packet, `sluice sensor`); to drop packets, let Netfilter "
    "queue them: set nft.attach (`sluice run --attach after`), or write your own queue rules (guide, chapter Attach)";
static const char no_protocol[] = "Sluice does not parse this protocol; it leaves out rules on it (`sluice rules "
                                  "--failed`), rules on the stream or on packets inspect its traffic";
static const char tables_grow[] = "tables grow as needed, up to the memcap";
static const char patterns[] =
    "Sluice uses Hyperscan, with one database per buffer and direction; there is nothing to choose";
static const char own_sandbox[] = "the sandbox of Sluice is on by default and lets the engine read the files that the "
                                  "configuration names (security.sandbox, security.landlock)";
static const char journal[] = "Sluice writes its log to stderr, which systemd stores: `journalctl -u sluice`";
static const char costs[] = "use `sluice costs`: the time that each rule takes, in the running daemon";
static const char eve_has_it[] = "the events of this log are in eve.json, too (eve.types)";
static const char no_priorities[] = "threads have the priority of the daemon; use Nice= or CPUSchedulingPolicy= in the "
                                    "unit";
static const char fixed_windows[] = "bodies are inspected as they arrive";

static const struct suricata_key keys[] = {
    IMPLIED("suricata-version", "the configuration of Sluice has no version"),

    /* Variables and rules. Names that Suricata and Sluice have in common (vars.address-groups ...) need no row. */
    CONVERTED("default-rule-path", "default-rule-path", CONVERT_FOLDER, NULL),
    CONVERTED("rule-files", "rule-files", CONVERT_RULE_FILE, NULL),
    CONVERTED("classification-file", "classification-file", CONVERT_FILE, NULL),
    CONVERTED("classification-config-file", "classification-file", CONVERT_FILE, NULL),
    CONVERTED("reference-config-file", "reference-config-file", CONVERT_FILE, NULL),
    CONVERTED("reference-file", "reference-config-file", CONVERT_FILE, NULL),
    CONVERTED("threshold-file", "threshold-file", CONVERT_FILE, NULL),
    CONVERTED("geoip-database", "geoip-database", CONVERT_FILE, NULL),
    CONVERTED("reputation-categories-file", "reputation.categories", CONVERT_FILE, NULL),
    CONVERTED("reputation-files", "reputation.files", CONVERT_REPUTATION_FILE, NULL),
    IMPLIED("default-reputation-path", "the paths in reputation.files are absolute"),
    CONVERTED("firewall.rule-path", "firewall.rule-path", CONVERT_FOLDER, NULL),
    CONVERTED("firewall-rule-path", "firewall.rule-path", CONVERT_FOLDER, NULL),
    TAKEN("firewall-rule-files", "firewall.rule-files"),

    /* Folders, sockets and user of the service. */
    CONVERTED(
        "default-log-dir", "log-dir", CONVERT_PLACE,
        "not taken: events are in /var/log/sluice (log-dir), where sluice.service may write; let log readers read "
        "there"),
    CONVERTED("pid-file", "pid-file", CONVERT_PLACE,
              "not taken: sluice.service has no pid file; set pid-file to a name in /run/sluice, or use `systemctl`"),
    CONVERTED("run-as.*", "run-as.*", CONVERT_PLACE, "not taken: the engine runs as user sluice (run-as.user)"),
    CONVERTED("unix-command.*", "unix-command.*", CONVERT_PLACE,
              "not taken: the control socket is /run/sluice/control.socket; suricatasc can use it, too"),
    CONVERTED(
        "detect.sgh-mpm-caching-path", "detect.sgh-mpm-caching-path", CONVERT_PLACE,
        "not taken: the compiled patterns of Sluice are in /var/cache/sluice/sgh, where sluice.service may write"),
    IMPLIED("daemon-directory", "Sluice does not change its folder"),
    IMPLIED("umask", "the unit has UMask=0027"),
    IMPLIED("coredump.**", "LimitCORE= of the unit; systemd-coredump stores core dumps"),
    MISSING("heartbeat.**", "stats.interval", "stats events show that Sluice runs"),
    MISSING("plugins.**", NULL, "Sluice loads no plugins"),

    /* Packets: NFQUEUE. */
    CONVERTED("nfq.mode", "queue.verdict", CONVERT_VERDICT, NULL),
    CONVERTED("nfq.repeat-mark|repeat-mask", "queue.mark", CONVERT_MARK, NULL),
    CONVERTED("nfq.route-queue", "queue.route-to", CONVERT_ROUTE, NULL),
    TAKEN("nfq.batchcount", "queue.batch"),
    TAKEN("nfq.fail-open", "queue.fail-open"),
    MISSING("nfq.bypass-mark|bypass-mask", "nft.offload.flows",
            "set nft.offload.flows: accepted, with the mark as nft.offload.accept-mark; the sluice table then accepts "
            "the rest of bypassed flows"),
    MISSING("nfq", "queue",
            "the settings of queues are in queue (`sluice settings queue`), such as queue.verdict, "
            "queue.mark and queue.fail-open"),
    MISSING("nfqueue.**", "queue", "the settings of queues are in queue (`sluice settings queue`)"),
    CONVERTED("max-pending-packets", "queue.length", CONVERT_QUEUE_LENGTH, NULL),
    MISSING("queue.mode", "queue.verdict", NULL),
    MISSING("queue.repeat-mark|repeat-mask|bypass-mark", "queue.mark", NULL),
    MISSING("queue.route-queue", "queue.route-to", NULL),
    MISSING("queue.batchcount", "queue.batch", NULL),

    /* Packets: AF_PACKET. */
    CONVERTED("af-packet.interface", "af-packet.interfaces", CONVERT_INTERFACE, NULL),
    CONVERTED("af-packet.threads", "af-packet.workers", CONVERT_INTERFACE_OPTION,
              "set af-packet.workers to the number of workers of each interface; default 1"),
    CONVERTED("af-packet.disable-promisc", "af-packet.promiscuous", CONVERT_PROMISC, NULL),
    CONVERTED("af-packet.checksum-checks", "af-packet.checksum-checks", CONVERT_INTERFACE_OPTION,
              "without auto: set af-packet.checksum-checks to kernel, yes or no"),
    CONVERTED("af-packet.cluster-type", "af-packet.cluster-type", CONVERT_INTERFACE_OPTION,
              "Sluice has cluster_addresses, cluster_flow, cluster_cpu and cluster_qm (af-packet.cluster-type)"),
    CONVERTED("af-packet.cluster-id|defrag|rollover|mmap-locked|bpf-filter|block-timeout", "af-packet.*",
              CONVERT_INTERFACE_OPTION, NULL),
    IMPLIED("af-packet.use-mmap|tpacket-v3", "a sensor always uses rings of TPACKET_V3"),
    IMPLIED("af-packet.ring-size|block-size|buffer-size",
            "rings have a size in bytes (af-packet.ring-size, af-packet.block-size)"),
    MISSING("af-packet.copy-mode|copy-iface", "nft.attach",
            "a sensor forwards no packets: to drop packets, let Netfilter queue them (nft.attach)"),
    MISSING("af-packet", "af-packet.interfaces",
            "the interfaces are a list in af-packet.interfaces, and the other settings of af-packet apply to all of "
            "them; `sluice sensor` captures from them"),
    MISSING("af-packet.**", "af-packet", "Sluice has no such setting for interfaces (`sluice settings af-packet`)"),

    /* Packets: other capture methods. */
    MISSING("af-xdp|dpdk|pcap|netmap|pfring|napatech|ipfw|nflog|windivert|myricom|dag.**", NULL, no_interfaces),
    MISSING("capture.**", NULL,
            "offloading of the network card may stay on: Sluice inspects super-packets (queue.gso); checksums: "
            "stream.checksum-validation"),
    TAKEN("pcap-file.checksum-checks", "replay.checksum-checks"),
    MISSING("pcap-file.**", "replay.checksum-checks", "`sluice replay FILE` inspects capture files"),
    IMPLIED("runmode", "each queue has a worker, which receives, inspects and sends verdicts (runmode workers)"),
    IMPLIED("autofp-scheduler", "the kernel distributes flows to queues; each queue has a worker"),
    IMPLIED("default-packet-size", "packets of any size are copied up to 64 KiB, super-packets included"),
    IMPLIED("host-mode", "as router: reject rules send resets and ICMP errors from the gateway"),

    /* Events and logs. */
    CONVERTED("outputs.eve-log.enabled", "eve.enabled", CONVERT_EVE_SWITCH, NULL),
    CONVERTED("outputs.eve-log.filename", "eve.filename", CONVERT_EVE_FILENAME, NULL),
    CONVERTED("outputs.eve-log.types.*.enabled", "eve.types.*", CONVERT_EVE_TYPE, NULL),
    CONVERTED("outputs.eve-log.types.ikev2", "eve.types.ike", CONVERT_EVE_TYPE, NULL),
    CONVERTED("outputs.eve-log.types.**", "eve.types.**", CONVERT_EVE_TYPE, NULL),
    CONVERTED("outputs.eve-log.filetype|type", "eve.filetype", CONVERT_EVE_TRANSPORT, NULL),
    CONVERTED("outputs.eve-log.identity|facility|level|prefix", "eve.*", CONVERT_EVE_TRANSPORT, NULL),
    IMPLIED("outputs.eve-log.redis.async", "replies are always awaited asynchronously"),
    IMPLIED("outputs.eve-log.redis.pipelining.enabled", "commands are always sent in batches (redis.batch-size)"),
    CONVERTED("outputs.eve-log.redis.**", "eve.redis.**", CONVERT_EVE_TRANSPORT, NULL),
    IMPLIED("outputs.eve-log.append", "events are added to the file"),
    IMPLIED("outputs.eve-log.threaded", "one thread writes the events of all workers to one file, in order"),
    MISSING("outputs.eve-log.buffer-size|buffer", "output.ring-size", "events wait in rings (output.ring-size)"),
    CONVERTED("outputs.eve-log.**", "eve.**", CONVERT_EVE, NULL),
    CONVERTED("outputs.fast|stats.enabled", "outputs.*.format", CONVERT_LOG, NULL),
    CONVERTED("outputs.syslog.enabled", "outputs.syslog.filetype", CONVERT_LOG, NULL),
    CONVERTED("outputs.fast|stats.filename", "outputs.*.filename", CONVERT_LOG_FILENAME, NULL),
    MISSING("outputs.fast|stats.filetype", "outputs",
            "the log is a regular file; for a socket set outputs.NAME.filetype, and its path as outputs.NAME.filename"),
    IMPLIED("outputs.fast|stats.append", "lines are added to the file"),
    IMPLIED("outputs.stats.totals|threads|null-values|deltas",
            "the tables have the totals of all workers; `sluice stats` has those of each"),
    TAKEN("outputs.syslog.facility|identity", "outputs.syslog.syslog.*"),
    CONVERTED("outputs.syslog.level", "outputs.syslog.syslog.level", CONVERT_LEVEL, NULL),
    MISSING("outputs.fast|stats|syslog.**", "outputs", "the format of these lines is that of Suricata, and fixed"),
    MISSING("outputs.unified2-alert|alert-debug|alert-prelude.**", "eve.types.alert",
            "alerts are events in eve.json; `sluice alerts --follow` prints them as lines"),
    MISSING("outputs.http-log|tls-log|dns-log|drop|files-json|file-log|ssh-log.**", "eve.types", eve_has_it),
    TAKEN("outputs.file-store.version", "file-store.version"),
    TAKEN("outputs.file-store.xff.**", "eve.types.files.xff.**"),
    TAKEN("outputs.file-store.**", "file-store.**"),
    TAKEN("outputs.pcap-log.enabled|filename|limit|max-files|conditional|dir|mode|compression|lz4-level|lz4-checksum",
          "pcap-log.*"),
    MISSING("outputs.pcap-log.**", "pcap-log",
            "pcap-log has no BPF filter, writes packets of any stream depth and of pass rules, and names files by the "
            "second"),
    TAKEN("outputs.tls-store.enabled|certs-log-dir", "tls-store.*"),
    MISSING("outputs.tls-store.**", "tls-store", NULL),
    MISSING("outputs.tcp-data|http-body-data.**", NULL,
            "alerts have payload and HTTP bodies "
            "(eve.types.alert.payload, http-body)"),
    MISSING("outputs.lua.**", NULL, "Sluice has no output by Lua scripts: let a program read eve.json"),
    MISSING("outputs", "outputs",
            "its members are named (`sluice settings outputs`), and the event file is configured in "
            "eve; `sluice import FILE` converts a suricata.yaml"),
    IMPLIED("stats.enabled", "Sluice always counts (`sluice stats`); stats events are an event type (eve.types.stats)"),
    IMPLIED("stats.decoder-events-prefix", "the prefix is decoder.event"),
    MISSING("logging.**", NULL, journal),

    /* Application protocols. */
    MISSING("app-layer.protocols.msn.**", NULL, no_protocol),
    CONVERTED("app-layer.protocols.*.detection-ports.*", "app-layer.protocols.*.detection-ports.*", CONVERT_PORTS,
              NULL),
    CONVERTED("app-layer.protocols.*.tcp.detection-ports.*", "app-layer.protocols.*.tcp.detection-ports.*",
              CONVERT_PORTS, NULL),
    CONVERTED("app-layer.protocols.*.udp.detection-ports.*", "app-layer.protocols.*.udp.detection-ports.*",
              CONVERT_PORTS, NULL),
    TAKEN("app-layer.protocols.ikev2.enabled", "app-layer.protocols.ike.enabled"),
    IMPLIED("app-layer.protocols.smb2.**", "the protocol smb includes SMB2 and SMB3"),
    MISSING("app-layer.protocols.http.libhtp.server-config.**", "app-layer.protocols.http.libhtp.default-config",
            "default-config applies to all servers; the path is normalised as by the personality that it has"),
    MISSING("app-layer.protocols.http.memcap", "app-layer.memcap",
            "app-layer.memcap limits the memory of all "
            "protocols together"),
    MISSING("app-layer.protocols.ftp.memcap", "app-layer.memcap",
            "app-layer.memcap limits the memory of all protocols "
            "together"),
    IMPLIED("app-layer.protocols.dns.global-memcap|state-memcap|request-flood",
            "app-layer.memcap limits the memory; the number of open requests is bounded"),
    IMPLIED("app-layer.protocols.tls.no-reassemble", "encrypted data is not inspected "
                                                     "(app-layer.protocols.tls.encryption-handling)"),
    IMPLIED("app-layer.protocols.smb.dcerpc.**", "DCE/RPC over SMB is reassembled up to "
                                                 "app-layer.protocols.dcerpc.max-stub-size"),
    IMPLIED("app-layer.protocols.http.libhtp.default-config.compression-bomb-count",
            "each body is limited by compression-bomb-limit"),
    MISSING("app-layer.protocols.*.stream-depth", "stream.depth", "stream.depth applies to all protocols"),
    MISSING("app-layer.protocols.dns|http|krb5|ike|nfs|smtp|dhcp|ntp|tftp|ssh|tls|pgsql|ldap|modbus|rdp|bittorrent-dht|"
            "enip|dnp3.max-tx",
            NULL, "the number of open transactions is bounded by Sluice"),
    MISSING("app-layer.protocols.http.libhtp.default-config.max-tx", NULL,
            "the number of open transactions is bounded by Sluice"),
    IMPLIED("app-layer.protocols.http.libhtp.default-config.randomize-inspection-sizes|randomize-inspection-range",
            fixed_windows),
    IMPLIED("asn1-max-frames", "the keyword asn1 has fixed limits"),

    /* Sandbox. */
    IMPLIED("security.landlock.**", own_sandbox),
    MISSING("luajit.**", NULL, "Sluice has no LuaJIT: scripts of rules run in Lua 5.4 (security.lua)"),
    MISSING("lua.**", NULL, "scripts of rules are configured by security.lua"),

    /* Detection. */
    TAKEN("pcre.match-limit", "detect.pcre-match-limit"),
    TAKEN("pcre.match-limit-recursion", "detect.pcre-match-limit-recursion"),
    MISSING("pcre", "detect.pcre-match-limit", NULL),
    TAKEN("detect.thresholds.memcap", "threshold.memcap"),
    IMPLIED("detect.thresholds.**", tables_grow),
    IMPLIED("detect.profile|custom-values|sgh-mpm-context|prefilter|grouping.**", patterns),
    IMPLIED("mpm-algo|spm-algo", patterns),
    IMPLIED("detect.inspection-recursion-limit", "the work of each evaluation is bounded (detect.limit-policy)"),
    IMPLIED("detect.delayed-detect", "the queues are bound when the rules are loaded; an upgrade or reload inspects "
                                     "without a gap"),
    MISSING("detect.profiling.**", NULL, costs),
    MISSING("profiling.**", NULL, costs),
    MISSING("engine-analysis.**", NULL,
            "`sluice analyse SID` shows how a rule is compiled, `sluice check` reports mistakes in rules"),
    IMPLIED("legacy.**", "the keyword uricontent is supported"),
    MISSING("magic-file", NULL, "the keyword filemagic uses the database of the system's libmagic"),

    /* Flows, streams, fragments. */
    TAKEN("flow-timeouts.tcp.closed|emergency-closed", "flow.timeouts.tcp.*"),
    IMPLIED("flow-timeouts.default|udp|icmp.closed|emergency-closed", "only TCP connections close"),
    TAKEN("flow-timeouts.*.*", "flow.timeouts.*.*"),
    MISSING("flow-timeouts", "flow.timeouts", NULL),
    IMPLIED("flow.hash-size|prealloc|emergency-recovery|managers|recyclers", tables_grow),
    MISSING("flow.rate-tracking.**", NULL, "use thresholds in rules"),
    TAKEN("vlan.use-for-tracking", "flow.vlan-tracking"),
    MISSING("vlan", "flow.vlan-tracking", NULL),
    MISSING("livedev.use-for-tracking", NULL,
            "the interface is not part of the key of a flow: a flow may change its "
            "interface"),
    MISSING("livedev", NULL, "the interface is not part of the key of a flow"),
    TAKEN("decoder.recursion-level.use-for-tracking", "flow.tunnel-level-tracking"),
    MISSING("decoder.recursion-level", "flow.tunnel-level-tracking", NULL),
    TAKEN("decoder.erspan.typeI.enabled", "decoder.erspan-type1"),
    MISSING("decoder.erspan", "decoder.erspan-type1", NULL),
    TAKEN("stream.reassembly.memcap", "stream.reassembly-memcap"),
    TAKEN("stream.reassembly.memcap-policy", "stream.reassembly-memcap-policy"),
    TAKEN("stream.reassembly.depth|toserver-chunk-size|toclient-chunk-size", "stream.*"),
    TAKEN("stream.reassembly.urgent.policy", "stream.urgent-policy"),
    TAKEN("stream.reassembly.urgent.oob-limit-policy", "stream.urgent-oob-limit-policy"),
    IMPLIED("stream.reassembly.randomize-chunk-size|randomize-chunk-range",
            "chunks overlap, so that a pattern at the border of two is found; their sizes are not random"),
    IMPLIED("stream.reassembly.raw", "the stream is always reassembled"),
    IMPLIED("stream.reassembly.segment-prealloc|max-regions", tables_grow),
    IMPLIED("stream.reassembly.check-overlap-different-data", "different data in overlaps is always detected "
                                                              "(stream.overlap)"),
    MISSING("stream.reassembly", "stream",
            "its settings are in stream: stream.reassembly-memcap, stream.depth, "
            "stream.toserver-chunk-size"),
    CONVERTED("stream.drop-invalid", "stream.invalid-policy", CONVERT_INVALID_DROPS, NULL),
    IMPLIED("stream.prealloc-sessions|prealloc-session", tables_grow),
    IMPLIED("stream.liberal-timestamps|liberal-timestamp", "timestamps are checked as by Linux"),
    IMPLIED("stream.tcp-reset-session|tcp-segments", tables_grow),
    IMPLIED("defrag.hash-size|trackers|max-frags|prealloc", tables_grow),
    MISSING("defrag.host-config.**", "defrag.timeout", "defrag.timeout applies to all hosts"),
    IMPLIED("host.hash-size|prealloc", tables_grow),
    MISSING("ippair.**", "host.memcap", "host.memcap limits the bits of hosts and pairs together"),

    /* Threads. */
    CONVERTED("threading.set-cpu-affinity", "threading.affinity", CONVERT_AFFINITY,
              "threading.affinity: auto assigns the CPUs by topology"),
    CONVERTED("threading.cpu-affinity.worker-cpu-set|detect-cpu-set.mode", "threading.affinity", CONVERT_AFFINITY,
              "not used: threading.set-cpu-affinity is no"),
    CONVERTED("threading.cpu-affinity.worker-cpu-set|detect-cpu-set.cpu", "threading.worker-cpu-set", CONVERT_CPU_SET,
              NULL),
    CONVERTED("threading.cpu-affinity.management-cpu-set.cpu", "threading.management-cpu-set", CONVERT_CPU_SET, NULL),
    IMPLIED("threading.cpu-affinity.receive-cpu-set|verdict-cpu-set|decode-cpu-set|stream-cpu-set|reject-cpu-set|"
            "output-cpu-set.**",
            "workers receive, inspect and send verdicts on the CPUs of threading.worker-cpu-set"),
    MISSING("threading.cpu-affinity.*.prio.**", NULL, no_priorities),
    MISSING("threading.cpu-affinity.*.interface-specific-cpu-set.**", NULL, no_interfaces),
    IMPLIED("threading.cpu-affinity.*.threads|mode", "each queue has one worker"),
    MISSING("threading.cpu-affinity", "threading.worker-cpu-set", NULL),
    IMPLIED("threading.autopin", "threading.affinity: auto assigns the CPUs by topology"),
    IMPLIED("threading.detect-thread-ratio", "each queue has one worker: queue.numbers determines their number"),
    IMPLIED("threading.stack-size", "the stack is sufficient for all limits of Sluice"),
};

const struct suricata_key *suricata_key_get(size_t index)
{
    return index < sizeof(keys) / sizeof(keys[0]) ? &keys[index] : NULL;
}

/* Returns whether a part of a pattern ("*", "a" or "a|b") matches a part of a key. */
static bool part_matches(struct span pattern, struct span part)
{
    if (pattern.length == 1 && pattern.at[0] == '*')
        return part.length > 0;
    for (struct span rest = pattern, choice; span_next(&rest, '|', &choice);)
        if (choice.length == part.length && memcmp(choice.at, part.at, part.length) == 0)
            return true;
    return false;
}

static bool pattern_matches(const char *pattern, const char *key)
{
    struct span patterns_left = span_of(pattern), keys_left = span_of(key), wanted, part;

    while (span_next(&patterns_left, '.', &wanted)) {
        if (span_equal(wanted, "**"))
            return true;
        if (!span_next(&keys_left, '.', &part) || !part_matches(wanted, part))
            return false;
    }
    return keys_left.at == NULL;
}

const struct suricata_key *suricata_key_find(const char *key)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (pattern_matches(keys[i].pattern, key))
            return &keys[i];
    return NULL;
}

bool suricata_key_setting(const struct suricata_key *row, const char *key, char *out, size_t size)
{
    struct span setting = span_of(row->setting), wanted, part, at_pattern = span_of(row->pattern),
                at_key = span_of(key);
    size_t length = 0;

    while (span_next(&setting, '.', &part)) {
        bool is_rest = span_equal(part, "**"), is_wild = span_equal(part, "*");

        /* find the next part of the pattern that matches more than one name */
        for (bool found = !is_rest && !is_wild; !found;) {
            struct span matched = { .at = "", .length = 0 };

            if (!span_next(&at_pattern, '.', &wanted))
                return false;
            if (is_rest && span_equal(wanted, "**")) {
                part = at_key;
                found = true;
                break;
            }
            if (!span_next(&at_key, '.', &matched))
                return false;
            found = is_wild && (span_equal(wanted, "*") || memchr(wanted.at, '|', wanted.length));
            part = matched;
        }
        if (is_rest && (!part.at || part.length == 0))
            break; /* the pattern has matched the section itself */

        int written = snprintf(out + length, size - length, "%s" SPAN_FORMAT, length ? "." : "", SPAN_ARGS(part));

        if (written < 0 || (size_t)written >= size - length)
            return false;
        length += (size_t)written;
    }
    return length > 0;
}
