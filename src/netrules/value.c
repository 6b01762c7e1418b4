/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values in the syntax of nft. Numbers of the host are in host order (memcpy), those of packets in network order. */
#include "netrules_priv.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

struct name {
    uint32_t value;
    const char *name;
};

static const struct name protocols[] = {
    { 1, "icmp" },  { 2, "igmp" },   { 6, "tcp" },    { 17, "udp" },      { 33, "dccp" },
    { 41, "ipv6" }, { 47, "gre" },   { 50, "esp" },   { 51, "ah" },       { 58, "icmpv6" },
    { 89, "ospf" }, { 112, "vrrp" }, { 132, "sctp" }, { 136, "udplite" }, { 0, NULL },
};
static const struct name nfprotos[] = { { NFPROTO_IPV4, "ipv4" }, { NFPROTO_IPV6, "ipv6" }, { 0, NULL } };
static const struct name ethertypes[] = {
    { 0x0800, "ip" }, { 0x0806, "arp" }, { 0x86dd, "ip6" }, { 0x8100, "8021q" }, { 0x88a8, "8021ad" }, { 0, NULL },
};
static const struct name directions[] = { { 0, "original" }, { 1, "reply" }, { 0, NULL } };
static const struct name states[] = {
    { 1, "invalid" }, { 2, "established" }, { 4, "related" }, { 8, "new" }, { 64, "untracked" }, { 0, NULL },
};
static const struct name statuses[] = {
    { 1, "expected" }, { 2, "seen-reply" }, { 4, "assured" }, { 8, "confirmed" },
    { 16, "snat" },    { 32, "dnat" },      { 512, "dying" }, { 0, NULL },
};
static const struct name types[] = {
    { RTN_UNICAST, "unicast" },         { RTN_LOCAL, "local" },         { RTN_BROADCAST, "broadcast" },
    { RTN_ANYCAST, "anycast" },         { RTN_MULTICAST, "multicast" }, { RTN_BLACKHOLE, "blackhole" },
    { RTN_UNREACHABLE, "unreachable" }, { RTN_PROHIBIT, "prohibit" },   { 0, NULL },
};

static const char *find(const struct name *names, uint32_t value)
{
    for (; names->name; names++)
        if (names->value == value)
            return names->name;
    return NULL;
}

const char *value_protocol(unsigned protocol)
{
    return find(protocols, protocol);
}

static void write_named(struct text *out, const struct name *names, uint32_t value)
{
    const char *name = find(names, value);

    if (name)
        text_puts(out, name);
    else
        text_printf(out, "%u", value);
}

/* Writes bits by their names, separated by commas; as 0x... when one has no name. */
static void write_bits(struct text *out, const struct name *names, uint32_t value)
{
    uint32_t left = value;
    const char *comma = "";

    for (const struct name *each = names; each->name; each++)
        left &= ~each->value;
    if (left || !value) {
        text_printf(out, "0x%x", value);
        return;
    }
    for (; names->name; names++) {
        if (!(value & names->value))
            continue;
        text_printf(out, "%s%s", comma, names->name);
        comma = ",";
    }
}

void value_write(struct text *out, enum value_kind kind, struct cursor bytes, size_t field)
{
    size_t length = cursor_remaining(&bytes), size = kind == VALUE_ADDRESS4 ? 4 : 16;
    uint32_t host = 0; /* the value in host order */
    uint64_t network = 0;
    uint8_t address[16] = { 0 };
    char name[INET6_ADDRSTRLEN];
    uint16_t two;

    if (!bytes.at || length == 0) {
        text_puts(out, "?");
        return;
    }
    if (length == sizeof(two)) {
        memcpy(&two, bytes.at, sizeof(two));
        host = two;
    } else if (length == sizeof(host)) {
        memcpy(&host, bytes.at, sizeof(host));
    } else if (length == 1) {
        host = bytes.at[0];
    }
    for (const uint8_t *at = bytes.at; at < bytes.end; at++)
        network = network << 8 | *at;
    if (kind == VALUE_NAME || kind == VALUE_ETHER)
        ;
    else if (length > (kind == VALUE_ADDRESS4 || kind == VALUE_ADDRESS6 ? size : sizeof(network)))
        kind = VALUE_HEX;
    switch (kind) {
    case VALUE_HEX:
        text_puts(out, "0x");
        for (const uint8_t *at = bytes.at; at < bytes.end; at++)
            text_printf(out, "%02x", *at);
        break;
    case VALUE_ADDRESS4:
    case VALUE_ADDRESS6: /* a part of an address is the prefix of a network */
        memcpy(address, bytes.at, length);
        text_puts(out, inet_ntop(size == 4 ? AF_INET : AF_INET6, address, name, sizeof(name)));
        if (length < size)
            text_printf(out, "/%zu", 8 * length);
        break;
    case VALUE_ETHER:
        for (const uint8_t *at = bytes.at; at < bytes.end; at++)
            text_printf(out, "%s%02x", at > bytes.at ? ":" : "", *at);
        break;
    case VALUE_NAME: /* a value that does not fill its register and has no NUL is the prefix of a name */
        text_puts(out, "\"");
        text_printable(out, (const char *)bytes.at, strnlen((const char *)bytes.at, length));
        text_puts(out, strnlen((const char *)bytes.at, length) == length && length < field ? "*\"" : "\"");
        break;
    case VALUE_INTERFACE:
        if (host && if_indextoname(host, name))
            text_printf(out, "\"%s\"", name);
        else
            text_printf(out, "%u", host);
        break;
    case VALUE_PROTOCOL:
        write_named(out, protocols, (uint32_t)network);
        break;
    case VALUE_NFPROTO:
        write_named(out, nfprotos, (uint32_t)network);
        break;
    case VALUE_ETHERTYPE:
        write_named(out, ethertypes, (uint32_t)network);
        break;
    case VALUE_DIRECTION:
        write_named(out, directions, (uint32_t)network);
        break;
    case VALUE_TYPE:
        write_named(out, types, host);
        break;
    case VALUE_STATE:
        write_bits(out, states, host);
        break;
    case VALUE_STATUS:
        write_bits(out, statuses, host);
        break;
    case VALUE_MARK:
        text_printf(out, "0x%x", host);
        break;
    case VALUE_HOST:
        text_printf(out, "%u", host);
        break;
    case VALUE_NUMBER:
        text_printf(out, "%llu", (unsigned long long)network);
        break;
    }
}
