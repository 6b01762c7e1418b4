/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of protocols, interfaces and drop reasons. */
#include <netinet/in.h>
#include <string.h>

#include "output_priv.h"
#include "sluice/clock.h"

/* IANA's protocol keywords, spelled as in Suricata's events; other protocols are written as numbers. */
static const char *const protocol_names[256] = {
    [0] = "HOPOPT",  [1] = "ICMP",     [2] = "IGMP",       [3] = "GGP",        [4] = "IP-in-IP",     [5] = "ST",
    [6] = "TCP",     [7] = "CBT",      [8] = "EGP",        [9] = "IGP",        [12] = "PUP",         [17] = "UDP",
    [18] = "MUX",    [20] = "HMP",     [22] = "XNS-IDP",   [27] = "RDP",       [29] = "ISO-TP4",     [33] = "DCCP",
    [36] = "XTP",    [37] = "DDP",     [41] = "IPv6",      [42] = "SDRP",      [43] = "IPv6-Route",  [44] = "IPv6-Frag",
    [45] = "IDRP",   [46] = "RSVP",    [47] = "GRE",       [48] = "DSR",       [50] = "ESP",         [51] = "AH",
    [55] = "MOBILE", [56] = "TLSP",    [57] = "SKIP",      [58] = "IPv6-ICMP", [59] = "IPv6-NoNxt",  [60] = "IPv6-Opts",
    [73] = "CPHB",   [81] = "VMTP",    [88] = "EIGRP",     [89] = "OSPF",      [92] = "MTP",         [93] = "AX.25",
    [94] = "OS",     [97] = "ETHERIP", [98] = "ENCAP",     [103] = "PIM",      [108] = "IPComp",     [112] = "VRRP",
    [113] = "PGM",   [115] = "L2TP",   [118] = "STP",      [121] = "SMP",      [123] = "PTP",        [124] = "IS-IS",
    [132] = "SCTP",  [133] = "FC",     [135] = "Mobility", [136] = "UDPLite",  [137] = "MPLS-in-IP", [138] = "manet",
    [139] = "HIP",   [140] = "Shim6",  [141] = "WESP",     [142] = "ROHC",     [143] = "Ethernet",
};

static const char *const drop_reason_names[DROP_REASON_COUNT] = {
    [DROP_REASON_NONE] = "none",
    [DROP_REASON_RULES] = "rules",
    [DROP_REASON_RATE_FILTER] = "threshold detection_filter",
    [DROP_REASON_DECODE_ERROR] = "decode error",
    [DROP_REASON_MARKED] = "marked",
    [DROP_REASON_TUNNEL] = "tunnel packet drop",
    [DROP_REASON_FLOW] = "flow drop",
    [DROP_REASON_EXCEPTION_FLOW] = "exception policy flow drop",
    [DROP_REASON_DEFRAG_ERROR] = "defrag error",
    [DROP_REASON_DEFRAG_MEMCAP] = "defrag memcap",
    [DROP_REASON_FLOW_MEMCAP] = "flow memcap",
    [DROP_REASON_STREAM_MEMCAP] = "stream memcap",
    [DROP_REASON_STREAM_REASSEMBLY] = "stream reassembly",
    [DROP_REASON_STREAM_MIDSTREAM] = "stream midstream",
    [DROP_REASON_STREAM_ERROR] = "stream error",
    [DROP_REASON_STREAM_URGENT] = "stream urgent",
    [DROP_REASON_APP_ERROR] = "applayer error",
    [DROP_REASON_APP_MEMCAP] = "applayer memcap",
    [DROP_REASON_OVERLOAD] = "overload",
    [DROP_REASON_LOOP] = "repeat loop",
    [DROP_REASON_TRUNCATED] = "truncated",
    [DROP_REASON_APP_AMBIGUOUS] = "applayer ambiguous",
    [DROP_REASON_FIREWALL_RULES] = "firewall rules",
    [DROP_REASON_FIREWALL_PACKET_POLICY] = "firewall default packet policy",
    [DROP_REASON_FIREWALL_APP_POLICY] = "firewall default app policy",
    [DROP_REASON_FIREWALL_FLOW] = "firewall flow drop",
    [DROP_REASON_FIREWALL_PRE_FLOW] = "firewall pre-flow hook",
    [DROP_REASON_FIREWALL_PRE_STREAM] = "firewall pre-stream hook",
};

const char *output_drop_reason_name(enum drop_reason reason)
{
    return drop_reason_names[reason];
}

const char *output_protocol_name(uint8_t protocol)
{
    return protocol_names[protocol];
}

void output_time(struct text *out, const char *key, uint64_t time_ns)
{
    eve_timestamp(out, key, time_ns);
}

const char *protocol_name(uint8_t protocol)
{
    return protocol_names[protocol];
}

bool protocol_has_ports(uint8_t protocol)
{
    return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;
}

const char *interface_name(struct interface_cache *cache, uint32_t index)
{
    const uint64_t lifetime_ns = 5 * NS_PER_SECOND;
    struct interface_name *entry = &cache->names[index % INTERFACE_CACHE_SIZE];

    if (index == 0)
        return NULL;
    if (index & PACKET_FILE_INTERFACE) {
        uint32_t at = (index & ~PACKET_FILE_INTERFACE) - 1;

        return at < MAX_FILE_INTERFACES ? cache->file_names[at] : NULL;
    }
    if (entry->index != index || cache->now_ns - entry->read_ns > lifetime_ns) {
        entry->index = index;
        entry->read_ns = cache->now_ns;
        if (!if_indextoname(index, entry->name))
            entry->name[0] = '\0';
    }
    return entry->name[0] ? entry->name : NULL;
}
