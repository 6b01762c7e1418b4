/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Floods of other services: PostgreSQL. */
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
};
const size_t service_flood_count = sizeof(service_floods) / sizeof(service_floods[0]);
