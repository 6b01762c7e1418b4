/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floods of other services: PostgreSQL, LDAP, Modbus, EtherNet/IP, DNP3, RDP, BitTorrent DHT. */
#include "work.h"

static void pgsql_message(struct wire *wire, char type, const void *bytes, size_t length)
{
    wire_put(wire, &type, 1);
    wire_number(wire, 4, 4 + length);
    wire_put(wire, bytes, length);
}

static void pgsql_queries(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        pgsql_message(&wire, 'Q', "", 1);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* Extended queries without Sync, then one answer for all. */
static void pgsql_pipeline(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        pgsql_message(&wire, 'P', "\0\0\0\0", 4);
    work_send(work, FLOW_TO_SERVER, &wire);
    for (uint32_t i = 0; i < units; i++)
        pgsql_message(&wire, 'C', "", 1);
    pgsql_message(&wire, 'Z', "I", 1);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void pgsql_rows(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    pgsql_message(&wire, 'Q', "", 1);
    work_send(work, FLOW_TO_SERVER, &wire);
    for (uint32_t i = 0; i < units; i++)
        pgsql_message(&wire, 'D', "\0\0", 2);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void pgsql_parameters(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    pgsql_message(&wire, 'Q', "", 1);
    work_send(work, FLOW_TO_SERVER, &wire);
    for (uint32_t i = 0; i < units; i++)
        pgsql_message(&wire, i & 1 ? 'S' : 'E', "S\0", 3);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

/* --- LDAP ----------------------------------------------------------------------------------------- */

static void ldap_message(struct wire *wire, uint8_t tag, const void *bytes, size_t length)
{
    wire_number(wire, 2, 0x3082);
    wire_number(wire, 2, 3 + 4 + length);
    wire_put(wire, "\x02\x01\x02", 3);
    wire_number(wire, 1, tag);
    wire_number(wire, 1, 0x82);
    wire_number(wire, 2, length);
    wire_put(wire, bytes, length);
}

static void ldap_requests(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_put(&wire, "\x30\x05\x02\x01\x01\x4a\x00", 7);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* Responses that have no request, among the most open requests. */
static void ldap_orphans(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    ldap_requests(work, 250);
    for (uint32_t i = 0; i < units; i++)
        ldap_message(&wire, 0x65, "\x0a\x01\x00\x04\x00\x04\x00", 7);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

static void ldap_entries(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    wire_put(&wire, "\x30\x05\x02\x01\x02\x4a\x00", 7);
    work_send(work, FLOW_TO_SERVER, &wire);
    for (uint32_t i = 0; i < units; i++)
        ldap_message(&wire, 0x64, "\x04\x00\x30\x00", 4);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

/* An entry with as many attributes as fit into its length. */
static void ldap_attributes(struct work *work, uint32_t units)
{
    struct wire wire = { 0 }, entry = { 0 };

    wire_put(&wire, "\x30\x05\x02\x01\x02\x4a\x00", 7);
    work_send(work, FLOW_TO_SERVER, &wire);
    for (uint32_t i = 0; i < units; i++) {
        entry.length = 0;
        wire_put(&entry, "\x04\x00\x30\x82", 4);
        wire_number(&entry, 2, 10000 * 6);
        for (unsigned k = 0; k < 10000; k++)
            wire_put(&entry, "\x30\x04\x04\x00\x31\x00", 6);
        ldap_message(&wire, 0x64, entry.bytes, entry.length);
    }
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&entry);
    wire_free(&wire);
}

/* --- Modbus --------------------------------------------------------------------------------------- */

static void modbus_requests(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_put(&wire, "\0\1\0\0\0\2\1\x11", 8);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

static void modbus_orphans(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    modbus_requests(work, 499);
    for (uint32_t i = 0; i < units; i++)
        wire_put(&wire, "\0\2\0\0\0\2\1\x11", 8);
    work_send(work, FLOW_TO_CLIENT, &wire);
    wire_free(&wire);
}

/* --- EtherNet/IP ---------------------------------------------------------------------------------- */

static void enip_header(struct wire *wire, uint8_t command, size_t length)
{
    wire_little(wire, 2, command);
    wire_little(wire, 2, length);
    wire_fill(wire, 0, 20);
}

static void enip_requests(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        enip_header(&wire, 4, 0);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* Multiple service packets whose offsets all point to the same service, which has a long path. */
static void enip_services(struct work *work, uint32_t units)
{
    enum { COUNT = 10000, PATH = 254 };
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        size_t data = 4 + 2 + 2 * COUNT + 2 + PATH;

        enip_header(&wire, 0x6f, 16 + data);
        wire_fill(&wire, 0, 6);
        wire_little(&wire, 2, 2);
        wire_little(&wire, 4, 0);
        wire_little(&wire, 2, 0xb2);
        wire_little(&wire, 2, data);
        wire_put(&wire, "\x0a\x01\x20\x02", 4);
        wire_little(&wire, 2, COUNT);
        for (unsigned k = 0; k < COUNT; k++)
            wire_little(&wire, 2, 2 + 2 * COUNT);
        wire_put(&wire, "\x0e\x7f", 2);
        for (unsigned k = 0; k < PATH; k += 2)
            wire_put(&wire, "\x20\x01", 2);
    }
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- DNP3 ----------------------------------------------------------------------------------------- */

static void dnp3_garbage(struct work *work, uint32_t units)
{
    static const uint8_t link[] = { 0x05, 0x64, 0x05, 0xc9, 0x02, 0x00, 0x03, 0x00, 0xff, 0xff };
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_put(&wire, link, sizeof(link));
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

/* --- BitTorrent DHT ------------------------------------------------------------------------------- */

static void dht_lists(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++) {
        wire_text(&wire, "d1:ad2:id20:aaaaaaaaaaaaaaaaaaaa");
        for (unsigned k = 0; k < 1000; k++)
            wire_text(&wire, "1:xlllllleeeeee");
        wire_text(&wire, "e1:q4:ping1:t2:aa1:y1:qe");
        work_send(work, FLOW_TO_SERVER, &wire);
    }
    wire_free(&wire);
}

/* --- RDP ------------------------------------------------------------------------------------------ */

static void rdp_packets(struct work *work, uint32_t units)
{
    struct wire wire = { 0 };

    for (uint32_t i = 0; i < units; i++)
        wire_put(&wire, "\3\0\0\x0b\6\xe0\0\0\0\0\0", 11);
    work_send(work, FLOW_TO_SERVER, &wire);
    wire_free(&wire);
}

#define ROW(text, of, at, function, ...)                                                                               \
    {                                                                                                                  \
        .name = text, .proto = of, .port = at, .run = function, __VA_ARGS__                                            \
    }

const struct flood service_floods[] = {
    ROW("PostgreSQL: queries without a response", "pgsql", 5432, pgsql_queries, .units = 2000, .memory_kib = 8192,
        .event = "too_many_transactions"),
    ROW("PostgreSQL: a pipeline", "pgsql", 5432, pgsql_pipeline, .units = 1000, .memory_kib = 8192),
    ROW("PostgreSQL: rows", "pgsql", 5432, pgsql_rows, .units = 5000, .memory_kib = 1024),
    ROW("PostgreSQL: parameters and errors", "pgsql", 5432, pgsql_parameters, .units = 5000, .memory_kib = 1024),
    ROW("LDAP: requests without a response", "ldap", 389, ldap_requests, .units = 2000, .memory_kib = 8192,
        .event = "too_many_transactions"),
    ROW("LDAP: responses without a request", "ldap", 389, ldap_orphans, .units = 1000, .memory_kib = 8192,
        .steps_per_byte = 400, .event = "request_not_found"),
    ROW("LDAP: search results", "ldap", 389, ldap_entries, .units = 2000, .memory_kib = 1024,
        .event = "too_many_responses"),
    ROW("LDAP: attributes", "ldap", 389, ldap_attributes, .units = 2, .memory_kib = 8192),
    ROW("Modbus: requests without a response", "modbus", 502, modbus_requests, .units = 2000, .memory_kib = 16384,
        .event = "flooded"),
    ROW("Modbus: responses without a request", "modbus", 502, modbus_orphans, .units = 1000, .memory_kib = 16384,
        .steps_per_byte = 1000, .event = "unsolicited_response"),
    ROW("EtherNet/IP: requests without a response", "enip", 44818, enip_requests, .units = 1500, .memory_kib = 16384,
        .event = "too_many_transactions"),
    ROW("EtherNet/IP: services at one place", "enip", 44818, enip_services, .units = 4, .memory_kib = 2048),
    ROW("DNP3: headers with a wrong CRC", "dnp3", 20000, dnp3_garbage, .units = 1000, .memory_kib = 4096,
        .event = "bad_link_crc"),
    ROW("BitTorrent DHT: lists", "bittorrent-dht", 6881, dht_lists, .datagrams = true, .units = 4, .memory_kib = 1024),
    ROW("RDP: requests", "rdp", 3389, rdp_packets, .units = 1000, .memory_kib = 8192),
};
const size_t service_flood_count = sizeof(service_floods) / sizeof(service_floods[0]);
