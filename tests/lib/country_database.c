/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "country_database.h"

struct country_database *country_database_new(void)
{
    struct country_database *database = calloc(1, sizeof(*database));

    if (!database)
        abort();
    database->node_count = 1;
    return database;
}

static void database_string(struct country_database *database, const char *text)
{
    size_t length = strlen(text);

    database->values[database->values_length++] = (uint8_t)(2 << 5 | length);
    memcpy(database->values + database->values_length, text, length);
    database->values_length += (uint32_t)length;
}

/* Adds the value {"country": {"iso_code": code}}, or {"other": code} if `country` is false. */
static int32_t database_value(struct country_database *database, const char *code, bool country)
{
    int32_t offset = (int32_t)database->values_length;

    database->values[database->values_length++] = 7 << 5 | 1;
    if (country) {
        database_string(database, "country");
        database->values[database->values_length++] = 7 << 5 | 1;
        database_string(database, "iso_code");
    } else {
        database_string(database, "other");
    }
    database_string(database, code);
    return -1 - offset;
}

void country_database_add(struct country_database *database, const char *network, unsigned prefix, const char *code,
                          bool country)
{
    struct address address, at = { { 0 } };
    uint32_t node = 0;

    if (address_parse(network, strlen(network), &address) == 4) {
        memcpy(at.bytes + 12, address.bytes, 4);
        prefix += 96;
    } else {
        at = address;
    }
    for (unsigned i = 0; i < prefix; i++) {
        int32_t *child = &database->nodes[node][at.bytes[i / 8] >> (7 - i % 8) & 1];

        if (i == prefix - 1) {
            *child = database_value(database, code, country);
        } else {
            if (*child <= 0)
                *child = (int32_t)database->node_count++;
            node = (uint32_t)*child;
        }
        if (database->node_count >= DATABASE_MAX_NODES)
            abort();
    }
}

static void database_record(const struct country_database *database, int32_t child, FILE *file)
{
    uint32_t record = child == 0  ? database->node_count
                      : child < 0 ? database->node_count + 16 + (uint32_t)(-1 - child)
                                  : (uint32_t)child;

    fputc((int)(record >> 16 & 255), file);
    fputc((int)(record >> 8 & 255), file);
    fputc((int)(record & 255), file);
}

static void database_name(const char *name, FILE *file)
{
    fputc((int)(2 << 5 | strlen(name)), file);
    fputs(name, file);
}

static void database_number(const char *name, int type, uint32_t number, FILE *file)
{
    database_name(name, file);
    fputc(type << 5 | 2, file);
    fputc((int)(number >> 8), file);
    fputc((int)(number & 255), file);
}

static void database_describe(const struct country_database *database, FILE *file)
{
    fputs("\xab\xcd\xefMaxMind.com", file);
    fputc(7 << 5 | 9, file);
    database_number("node_count", 6, database->node_count, file);
    database_number("record_size", 5, 24, file);
    database_number("ip_version", 5, 6, file);
    database_number("binary_format_major_version", 5, 2, file);
    database_number("binary_format_minor_version", 5, 0, file);
    database_name("database_type", file);
    database_name("Test-Country", file);
    database_name("languages", file); /* empty array; it and the uint64 below have extended types */
    fwrite("\x00\x04", 1, 2, file);
    database_name("build_epoch", file);
    fwrite("\x01\x02\x01", 1, 3, file);
    database_name("description", file);
    fputc(7 << 5, file);
}

void country_database_write(struct country_database *database, const char *path)
{
    static const uint8_t gap[16];
    FILE *file = fopen(path, "w");

    if (!file)
        abort();
    for (uint32_t i = 0; i < database->node_count; i++) {
        database_record(database, database->nodes[i][0], file);
        database_record(database, database->nodes[i][1], file);
    }
    fwrite(gap, 1, sizeof(gap), file);
    fwrite(database->values, 1, database->values_length, file);
    database_describe(database, file);
    fclose(file);
    free(database);
}
