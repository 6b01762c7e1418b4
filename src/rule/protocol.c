/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of a rule. The caller provides the supported application protocols. Other protocols that Suricata 7 to
 * 9 or Snort 3 accept in a rule are listed, too, so that a rule with one is unsupported, not wrong.
 */
#include <netinet/in.h>
#include <string.h>

#include "rule_priv.h"

enum protocol_trait {
    IP4_ONLY = 1 << 0,
    IP6_ONLY = 1 << 1,
    PORTS = 1 << 2,
    PACKET_ONLY = 1 << 3,
    STREAM_ONLY = 1 << 4,
    ANY_PACKET = 1 << 5,
    EVERY_PROTOCOL = 1 << 6,
    ARP = 1 << 7,
    ETHERNET = 1 << 8,
};

static const struct {
    const char *name;
    uint8_t numbers[2];
    unsigned traits;
} protocols[] = {
    { "tcp", { IPPROTO_TCP }, PORTS },
    { "tcp-pkt", { IPPROTO_TCP }, PORTS | PACKET_ONLY },
    { "tcp-stream", { IPPROTO_TCP }, PORTS | STREAM_ONLY },
    { "udp", { IPPROTO_UDP }, PORTS },
    { "icmp", { IPPROTO_ICMP, IPPROTO_ICMPV6 }, 0 },
    { "icmpv4", { IPPROTO_ICMP }, IP4_ONLY },
    { "icmpv6", { IPPROTO_ICMPV6 }, IP6_ONLY },
    { "ip", { 0 }, PORTS | EVERY_PROTOCOL },
    { "ipv4", { 0 }, PORTS | EVERY_PROTOCOL | IP4_ONLY },
    { "ip4", { 0 }, PORTS | EVERY_PROTOCOL | IP4_ONLY },
    { "ipv6", { 0 }, PORTS | EVERY_PROTOCOL | IP6_ONLY },
    { "ip6", { 0 }, PORTS | EVERY_PROTOCOL | IP6_ONLY },
    { "pkthdr", { 0 }, PORTS | EVERY_PROTOCOL | ANY_PACKET },
    { "sctp", { IPPROTO_SCTP }, PORTS },
    { "igmp", { IPPROTO_IGMP }, 0 },
    { "gre", { IPPROTO_GRE }, 0 },
    { "esp", { IPPROTO_ESP }, 0 },
    { "ah", { IPPROTO_AH }, 0 },
    { "arp", { 0 }, ANY_PACKET | ARP },
    { "ether", { 0 }, EVERY_PROTOCOL | ANY_PACKET | ETHERNET },
};

enum { OVER_TCP = 1, OVER_UDP = 2, OVER_BOTH = 3 };

static const struct {
    const char *name;
    unsigned over;
} applications_known[] = {
    { "bittorrent-dht", OVER_UDP },
    { "dcerpc", OVER_BOTH },
    { "dhcp", OVER_UDP },
    { "dnp3", OVER_TCP },
    { "dns", OVER_BOTH },
    { "doh2", OVER_TCP },
    { "enip", OVER_BOTH },
    { "ftp", OVER_TCP },
    { "ftp-data", OVER_TCP },
    { "http", OVER_TCP },
    { "http1", OVER_TCP },
    { "http2", OVER_TCP },
    { "iec104", OVER_TCP },
    { "ike", OVER_UDP },
    { "ikev2", OVER_UDP },
    { "imap", OVER_TCP },
    { "irc", OVER_TCP },
    { "jabber", OVER_TCP },
    { "krb5", OVER_BOTH },
    { "ldap", OVER_BOTH },
    { "llmnr", OVER_BOTH },
    { "mdns", OVER_UDP },
    { "modbus", OVER_TCP },
    { "mqtt", OVER_TCP },
    { "msn", OVER_TCP },
    { "nfs", OVER_BOTH },
    { "ntp", OVER_UDP },
    { "opcua", OVER_TCP },
    { "pgsql", OVER_TCP },
    { "pop3", OVER_TCP },
    { "quic", OVER_UDP },
    { "rdp", OVER_TCP },
    { "rfb", OVER_TCP },
    { "rtsp", OVER_TCP },
    { "s7comm", OVER_TCP },
    { "s7commplus", OVER_TCP },
    { "sip", OVER_BOTH },
    { "smb", OVER_TCP },
    { "smtp", OVER_TCP },
    { "snmp", OVER_UDP },
    { "ssh", OVER_TCP },
    { "ssl", OVER_TCP },
    { "telnet", OVER_TCP },
    { "template", OVER_TCP },
    { "tftp", OVER_UDP },
    { "tls", OVER_TCP },
    { "websocket", OVER_TCP },
    /* Suricata's name for packets in a VXLAN tunnel, which is no application protocol; Sluice does not support it. */
    { "vxlan", 0 },
};

/* Names of IP protocols that Suricata 7 to 9 read from /etc/protocols, and services of Snort 3. */
static const char *const unsupported_protocols[] = {
    "bgp",
    "bootp",
    "cip",
    "cvs",
    "dccp",
    "dce_http_proxy",
    "dce_http_server",
    "dce_smb",
    "dce_tcp",
    "dce_udp",
    "dhcpv6",
    "egp",
    "eigrp",
    "encap",
    "file",
    "finger",
    "gopher",
    "gtp",
    "gtp_inspect",
    "hopopt",
    "icmp6",
    "ident",
    "ipcomp",
    "ipencap",
    "ipip",
    "ipv6-icmp",
    "ipv6-nonxt",
    "isis",
    "kerberos",
    "l2tp",
    "memcached",
    "mms",
    "mpls-in-ip",
    "mysql",
    "netbios-dgm",
    "netbios-ns",
    "netbios-ssn",
    "netflow",
    "nntp",
    "ospf",
    "pim",
    "postgresql",
    "radius",
    "rlogin",
    "rpc",
    "rsvp",
    "rtmp",
    "rtp",
    "sdp",
    "sip_inspect",
    "socks",
    "sunrpc",
    "syslog",
    "tns",
    "udplite",
    "user",
    "vnc",
    "vrrp",
    "wins",
    "x11",
};

enum {
    PROTOCOL_COUNT = sizeof(protocols) / sizeof(protocols[0]),
    APPLICATION_COUNT = sizeof(applications_known) / sizeof(applications_known[0]),
};

static void admit(struct rule_protocol *protocol, uint8_t number)
{
    protocol->ip_protocols[number / 64] |= UINT64_C(1) << (number % 64);
}

static struct rule_protocol make_protocol(size_t row)
{
    unsigned traits = protocols[row].traits;
    struct rule_protocol protocol = {
        .name = protocols[row].name,
        .ipv4 = !(traits & IP6_ONLY),
        .ipv6 = !(traits & IP4_ONLY),
        .any_packet = traits & ANY_PACKET,
        .arp = traits & ARP,
        .ethernet = traits & ETHERNET,
        .packet_only = traits & PACKET_ONLY,
        .stream_only = traits & STREAM_ONLY,
        .has_ports = traits & PORTS,
    };

    if (traits & EVERY_PROTOCOL) {
        memset(protocol.ip_protocols, 0xff, sizeof(protocol.ip_protocols));
        return protocol;
    }
    for (size_t i = 0; i < sizeof(protocols[row].numbers) && protocols[row].numbers[i] != 0; i++)
        admit(&protocol, protocols[row].numbers[i]);
    return protocol;
}

static struct rule_protocol make_application(const char *name, unsigned over)
{
    struct rule_protocol protocol = {
        .name = name, .ipv4 = true, .ipv6 = true, .has_ports = true, .application = name
    };

    if (over & OVER_TCP)
        admit(&protocol, IPPROTO_TCP);
    if (over & OVER_UDP)
        admit(&protocol, IPPROTO_UDP);
    return protocol;
}

bool rule_parser_knows_protocol(struct span name)
{
    for (size_t i = 0; i < APPLICATION_COUNT; i++) {
        if (span_equal_nocase(name, applications_known[i].name))
            return true;
    }
    for (size_t i = 0; i < sizeof(unsupported_protocols) / sizeof(unsupported_protocols[0]); i++) {
        if (span_equal_nocase(name, unsupported_protocols[i]))
            return true;
    }
    return false;
}

enum protocol_result protocol_parse(struct span word, const char *const *applications, struct rule_protocol *out)
{
    /* the application protocol with this name, or NULL if the engine does not support it */
    const char *supported = NULL;

    for (; applications && *applications && !supported; applications++)
        supported = span_equal_nocase(word, *applications) ? *applications : NULL;
    for (size_t i = 0; i < PROTOCOL_COUNT; i++) {
        if (span_equal_nocase(word, protocols[i].name)) {
            *out = make_protocol(i);
            return PROTOCOL_OK;
        }
    }
    for (size_t i = 0; i < APPLICATION_COUNT; i++) {
        if (!span_equal_nocase(word, applications_known[i].name))
            continue;
        if (!supported)
            return PROTOCOL_NOT_SUPPORTED;
        *out = make_application(applications_known[i].name, applications_known[i].over);
        return PROTOCOL_OK;
    }
    /* Suricata does not know this protocol, so its transport is unknown: accept it over TCP and UDP. */
    if (supported) {
        *out = make_application(supported, OVER_BOTH);
        return PROTOCOL_OK;
    }
    return rule_parser_knows_protocol(word) ? PROTOCOL_NOT_SUPPORTED : PROTOCOL_UNKNOWN;
}

const char *protocol_nearest(struct span word)
{
    const char *names[PROTOCOL_COUNT + APPLICATION_COUNT];
    char copy[32];

    if (word.length >= sizeof(copy))
        return NULL;
    memcpy(copy, word.at, word.length);
    copy[word.length] = '\0';
    for (size_t i = 0; i < PROTOCOL_COUNT; i++)
        names[i] = protocols[i].name;
    for (size_t i = 0; i < APPLICATION_COUNT; i++)
        names[PROTOCOL_COUNT + i] = applications_known[i].name;
    return text_nearest(copy, names, PROTOCOL_COUNT + APPLICATION_COUNT);
}
