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

static uint32_t host_number(const struct cursor *bytes)
{
    uint32_t value = 0;
    uint16_t two;

    switch (cursor_remaining(bytes)) {
    case 1:
        return bytes->at[0];
    case 2:
        memcpy(&two, bytes->at, sizeof(two));
        return two;
    case 4:
        memcpy(&value, bytes->at, sizeof(value));
        return value;
    default:
        return 0;
    }
}

static uint64_t network_number(const struct cursor *bytes)
{
    uint64_t value = 0;

    for (const uint8_t *at = bytes->at; at < bytes->end; at++)
        value = value << 8 | *at;
    return value;
}

static void write_hex(struct text *out, const struct cursor *bytes)
{
    text_puts(out, "0x");
    for (const uint8_t *at = bytes->at; at < bytes->end; at++)
        text_printf(out, "%02x", *at);
}

/* A prefix of an address is written as a network. */
static void write_address(struct text *out, int family, const struct cursor *bytes, size_t size)
{
    uint8_t address[16] = { 0 };
    char name[INET6_ADDRSTRLEN];
    size_t length = cursor_remaining(bytes);

    if (length > size) {
        write_hex(out, bytes);
        return;
    }
    memcpy(address, bytes->at, length);
    text_puts(out, inet_ntop(family, address, name, sizeof(name)) ? name : "?");
    if (length < size)
        text_printf(out, "/%zu", 8 * length);
}

static void write_ether(struct text *out, const struct cursor *bytes)
{
    for (const uint8_t *at = bytes->at; at < bytes->end; at++)
        text_printf(out, "%s%02x", at > bytes->at ? ":" : "", *at);
}

/* Writes the name of an interface; a value that does not fill its register and has no NUL is a prefix of a name. */
static void write_name(struct text *out, const struct cursor *bytes, size_t field)
{
    size_t length = strnlen((const char *)bytes->at, cursor_remaining(bytes));

    text_puts(out, "\"");
    text_printable(out, (const char *)bytes->at, length);
    text_puts(out, length == cursor_remaining(bytes) && length < field ? "*\"" : "\"");
}

static void write_interface(struct text *out, uint32_t index)
{
    char name[IF_NAMESIZE];

    if (index && if_indextoname(index, name))
        text_printf(out, "\"%s\"", name);
    else
        text_printf(out, "%u", index);
}

void value_write(struct text *out, enum value_kind kind, struct cursor bytes, size_t field)
{
    size_t length = cursor_remaining(&bytes);

    if (!bytes.at || length == 0) {
        text_puts(out, "?");
        return;
    }
    switch (kind) {
    case VALUE_ADDRESS4:
        write_address(out, AF_INET, &bytes, 4);
        return;
    case VALUE_ADDRESS6:
        write_address(out, AF_INET6, &bytes, 16);
        return;
    case VALUE_ETHER:
        write_ether(out, &bytes);
        return;
    case VALUE_NAME:
        write_name(out, &bytes, field);
        return;
    case VALUE_HEX:
        write_hex(out, &bytes);
        return;
    default:
        break;
    }
    if (length > 8) {
        write_hex(out, &bytes);
        return;
    }
    switch (kind) {
    case VALUE_PROTOCOL:
        write_named(out, protocols, (uint32_t)network_number(&bytes));
        break;
    case VALUE_NFPROTO:
        write_named(out, nfprotos, bytes.at[0]);
        break;
    case VALUE_ETHERTYPE:
        write_named(out, ethertypes, (uint32_t)network_number(&bytes));
        break;
    case VALUE_DIRECTION:
        write_named(out, directions, bytes.at[0]);
        break;
    case VALUE_TYPE:
        write_named(out, types, host_number(&bytes));
        break;
    case VALUE_STATE:
        write_bits(out, states, host_number(&bytes));
        break;
    case VALUE_STATUS:
        write_bits(out, statuses, host_number(&bytes));
        break;
    case VALUE_MARK:
        text_printf(out, "0x%x", host_number(&bytes));
        break;
    case VALUE_HOST:
        text_printf(out, "%u", host_number(&bytes));
        break;
    case VALUE_INTERFACE:
        write_interface(out, host_number(&bytes));
        break;
    default: /* VALUE_NUMBER, VALUE_PORT */
        text_printf(out, "%llu", (unsigned long long)network_number(&bytes));
        break;
    }
}
