/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of record types and response codes in EVE events and keywords (IANA, "Domain Name System Parameters"). */
#include "dns_priv.h"

#include <stdio.h>

const struct number_name dns_type_names[] = {
    { "A", 1 },      { "NS", 2 },     { "MD", 3 },      { "MF", 4 },       { "CNAME", 5 },    { "SOA", 6 },
    { "MB", 7 },     { "MG", 8 },     { "MR", 9 },      { "NULL", 10 },    { "WKS", 11 },     { "PTR", 12 },
    { "HINFO", 13 }, { "MINFO", 14 }, { "MX", 15 },     { "TXT", 16 },     { "RP", 17 },      { "AFSDB", 18 },
    { "X25", 19 },   { "ISDN", 20 },  { "RT", 21 },     { "NSAP", 22 },    { "NSAPPTR", 23 }, { "SIG", 24 },
    { "KEY", 25 },   { "PX", 26 },    { "GPOS", 27 },   { "AAAA", 28 },    { "LOC", 29 },     { "NXT", 30 },
    { "SRV", 33 },   { "ATMA", 34 },  { "NAPTR", 35 },  { "KX", 36 },      { "CERT", 37 },    { "A6", 38 },
    { "DNAME", 39 }, { "OPT", 41 },   { "APL", 42 },    { "DS", 43 },      { "SSHFP", 44 },   { "IPSECKEY", 45 },
    { "RRSIG", 46 }, { "NSEC", 47 },  { "DNSKEY", 48 }, { "DHCID", 49 },   { "NSEC3", 50 },   { "NSEC3PARAM", 51 },
    { "TLSA", 52 },  { "HIP", 55 },   { "CDS", 59 },    { "CDNSKEY", 60 }, { "HTTPS", 65 },   { "SPF", 99 },
    { "TKEY", 249 }, { "TSIG", 250 }, { "MAILA", 254 }, { "ANY", 255 },    { "URI", 256 },    { NULL, 0 },
};

const struct number_name dns_rcode_names[] = {
    { "NOERROR", 0 },  { "FORMERR", 1 },  { "SERVFAIL", 2 },  { "NXDOMAIN", 3 }, { "NOTIMP", 4 },
    { "REFUSED", 5 },  { "YXDOMAIN", 6 }, { "YXRRSET", 7 },   { "NXRRSET", 8 },  { "NOTAUTH", 9 },
    { "NOTZONE", 10 }, { "BADVERS", 16 }, { "BADKEY", 17 },   { "BADTIME", 18 }, { "BADMODE", 19 },
    { "BADNAME", 20 }, { "BADALG", 21 },  { "BADTRUNC", 22 }, { NULL, 0 },
};

static const char *find_name(const struct number_name *names, uint16_t number, char text[DNS_TYPE_NAME])
{
    for (; names->name; names++)
        if (names->value == number)
            return names->name;
    snprintf(text, DNS_TYPE_NAME, "%u", number);
    return text;
}

const char *dns_type_name(uint16_t type, bool lower, char text[DNS_TYPE_NAME])
{
    const char *name = find_name(dns_type_names, type, text);
    unsigned i = 0;

    if (!lower)
        return name;
    for (; name[i] && i < DNS_TYPE_NAME - 1; i++)
        text[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 'a' - 'A' : name[i]);
    text[i] = 0;
    return text;
}

const char *dns_rcode_name(uint16_t rcode, char text[DNS_TYPE_NAME])
{
    return find_name(dns_rcode_names, rcode, text);
}
