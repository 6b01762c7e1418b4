/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of hosts and networks to block: formats, mistakes, files, countries, and what stays of a list that breaks. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "country_database.h"
#include "sluice/block_lists.h"
#include "sluice/config.h"
#include "sluice/setup.h"

static char folder[] = "/tmp/block_lists.XXXXXX";
static const char *const none[] = { NULL };

static void make_folder(void)
{
    strcpy(strrchr(folder, '.'), ".XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    static const char *const names[] = { "a", "b", "hosts", "networks", "provider.list", "geo" };
    char path[128];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* Writes the entries as one line: ranges separated by spaces, with @TIME when they end. */
static void describe(const struct block_entries *entries, char *out, size_t size)
{
    char range[RANGE_TEXT_SIZE];
    size_t length = 0;

    out[0] = '\0';
    for (size_t i = 0; i < entries->count; i++) {
        const struct block_entry *entry = &entries->at[i];

        address_range_format(&entry->range, entry->version, range);
        length += (size_t)snprintf(out + length, size - length, "%s%s", i > 0 ? " " : "", range);
        if (entry->until > 0)
            length += (size_t)snprintf(out + length, size - length, "@%llu", (unsigned long long)entry->until);
    }
}

/* --- Formats -------------------------------------------------------------------------------------- */

static const struct {
    const char *text, *entries;
    size_t skipped;
} formats[] = {
    { "", "", 0 },
    { "192.0.2.7", "192.0.2.7", 0 },
    { "192.0.2.7\r\n2001:db8::/32\r\n", "192.0.2.7 2001:db8::/32", 0 },
    { "# text\n; text\n// text\n\n  \n192.0.2.7 # text\n", "192.0.2.7", 0 },
    { "; Spamhaus\n192.0.2.0/24 ; SBL1\n", "192.0.2.0/24", 0 },
    { "192.0.2.0/255.255.255.0\n192.0.2.77/24\n", "192.0.2.0/24 192.0.2.0/24", 0 },
    { "192.0.2.1-192.0.2.9\n192.0.2.16 - 192.0.2.31 , 100 , text\n", "192.0.2.1-192.0.2.9 192.0.2.16/28", 0 },
    { "\"first_seen\",\"dst_ip\",\"dst_port\"\n\"2026-01-01 00:00:00\",\"192.0.2.7\",\"443\"\n", "192.0.2.7", 0 },
    { "2026-01-01 00:00:00,192.0.2.7,443\nx,y\n", "192.0.2.7", 1 },
    { "add drop 192.0.2.0/24\n", "192.0.2.0/24", 0 },
    { "{\"cidr\":\"192.0.2.0/24\",\"sblid\":\"SBL1\"}\n{\"type\":\"metadata\",\"records\":1}\n", "192.0.2.0/24", 0 },
    { "{\"cidr\":\"192.0.2.0/24\"\n{\"name\":\"192.0.2.1\"}\n", "", 2 },
    { " [ {\"ip_address\":\"192.0.2.7\",\"port\":443},\n {\"ip_address\":\"2001:db8::7\"}, {\"x\":1} ]\n",
      "192.0.2.7 2001:db8::7", 1 },
    { "192.0.2.7 until 1790000000\n2001:db8::/48 until 1790000001\n192.0.2.8 until x\n",
      "192.0.2.7@1790000000 2001:db8::/48@1790000001 192.0.2.8", 0 },
    { "0.0.0.0/0\n10.0.0.0/7\n::/15\n10.0.0.0/8\n2000::/16\n", "10.0.0.0/8 2000::/16", 3 },
    { "192.0.2.9-192.0.2.1\n300.0.0.1\nhttp://192.0.2.1/\n192.0.2.1/33\n", "", 4 },
    { "192.0.2.255\n255.255.255.255\nffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n",
      "192.0.2.255 255.255.255.255 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 0 },
};

START_TEST(formats_are_read)
{
    struct block_entries entries = { .count = 0 };
    struct diag *diag = diag_new();
    char out[512];

    ck_assert_int_eq(block_file_parse(&entries, "list", formats[_i].text, strlen(formats[_i].text), diag), 0);
    describe(&entries, out, sizeof(out));
    ck_assert_str_eq(out, formats[_i].entries);
    ck_assert_uint_eq(entries.skipped, formats[_i].skipped);
    ck_assert_uint_eq(diag_warnings(diag), formats[_i].skipped);
    block_entries_clear(&entries);
    diag_free(diag);
}
END_TEST

START_TEST(mistakes_have_their_position)
{
    struct block_entries entries = { .count = 0 };
    struct diag *diag = diag_new();
    const struct diag_entry *entry;

    block_file_parse(&entries, "list", "192.0.2.1\n  x 10.0.0.0/7\n", 25, diag);
    entry = diag_get(diag, 0);
    ck_assert_str_eq(entry->file, "list");
    ck_assert_uint_eq(entry->line, 2);
    ck_assert_uint_eq(entry->column, 5);
    ck_assert_str_eq(entry->message, "10.0.0.0/7 is wider than a /8, and would block a part of the Internet; left out");
    block_entries_clear(&entries);
    diag_free(diag);
}
END_TEST

START_TEST(a_broken_array_is_an_error)
{
    struct block_entries entries = { .count = 0 };
    struct diag *diag = diag_new();

    ck_assert_int_eq(block_file_parse(&entries, "list", "[ {\"ip\":\"192.0.2.1\"}", 21, diag), -EINVAL);
    ck_assert_uint_eq(diag_errors(diag), 1);
    ck_assert_uint_eq(entries.count, 0);
    diag_free(diag);
}
END_TEST

/* --- Files ---------------------------------------------------------------------------------------- */

START_TEST(what_is_written_is_read)
{
    static const char text[] = "192.0.2.7 until 1790000000\n192.0.2.1-192.0.2.9\n2001:db8::/32\n::1\n";
    struct block_entries entries = { .count = 0 }, again = { .count = 0 };
    struct diag *diag = diag_new();
    char first[256], second[256];
    struct stat status;

    ck_assert_int_eq(block_file_parse(&entries, "list", text, strlen(text), diag), 0);
    ck_assert_int_eq(block_file_write(folder, "hosts", "a comment", &entries), 0);
    ck_assert_int_eq(block_file_read(&again, path_of("hosts"), diag), 0);
    describe(&entries, first, sizeof(first));
    describe(&again, second, sizeof(second));
    ck_assert_str_eq(first, second);
    ck_assert_int_eq(stat(path_of("hosts"), &status), 0);
    ck_assert_uint_eq(status.st_mode & 0777, 0640);
    ck_assert_uint_eq(diag_count(diag), 0);
    block_entries_clear(&entries);
    block_entries_clear(&again);
    ck_assert_int_eq(block_file_read(&again, folder, diag), -EISDIR);
    ck_assert_int_eq(block_file_read(&again, path_of("b"), diag), -ENOENT);
    ck_assert_int_eq(block_file_write(path_of("b"), "hosts", "a comment", &entries), -ENOENT);
    ck_assert_uint_eq(diag_errors(diag), 2);
    diag_free(diag);
}
END_TEST

START_TEST(names_of_lists)
{
    static const char longest[] = "a23456789012345678901234567890123456789012345678901234567";

    ck_assert(block_list_name_is_valid("drop.txt"));
    ck_assert(block_list_name_is_valid("a-b_c.9"));
    ck_assert(!block_list_name_is_valid(""));
    ck_assert(!block_list_name_is_valid(".hidden"));
    ck_assert(!block_list_name_is_valid("../x"));
    ck_assert(!block_list_name_is_valid("a b"));
    ck_assert(block_list_name_is_valid(longest));
    ck_assert(!block_list_name_is_valid("a234567890123456789012345678901234567890123456789012345678901234"));
}
END_TEST

/* --- All lists ------------------------------------------------------------------------------------ */

START_TEST(lists_are_merged)
{
    const char *files[] = { path_of("a"), NULL };
    const struct block_lists_options options = { .folder = folder, .files = files, .countries = none };
    struct range_list networks[2] = { { .count = 0 }, { .count = 0 } };
    struct diag *diag = diag_new();
    struct block_lists lists;
    char range[RANGE_TEXT_SIZE];
    uint64_t next;

    write_file("a", "192.0.2.0/25\n");
    write_file("provider.list", "192.0.2.128/25\n198.51.100.1\n");
    write_file("networks", "198.51.100.0/24 until 1000\n203.0.113.0/24 until 3000\n2001:db8::/32 until 2000\n");
    ck_assert_int_eq(block_lists_read(&lists, &options, NULL, diag), 0);
    ck_assert_uint_eq(lists.count, 3);
    ck_assert_int_eq(lists.list[0].kind, BLOCK_LIST_FILE);
    ck_assert_str_eq(lists.list[1].name, "provider");
    ck_assert_int_eq(lists.list[2].kind, BLOCK_LIST_BY_HAND);
    ck_assert_int_eq(block_lists_merge(&lists, 1000, networks, &next), 0);
    ck_assert_uint_eq(next, 2000);
    ck_assert_uint_eq(networks[0].count, 3);
    address_range_format(&networks[0].range[0], 4, range);
    ck_assert_str_eq(range, "192.0.2.0/24"); /* two neighbours */
    address_range_format(&networks[0].range[1], 4, range);
    ck_assert_str_eq(range, "198.51.100.1"); /* the /24 has ended */
    ck_assert_uint_eq(networks[1].count, 1);
    ck_assert_uint_eq(diag_count(diag), 0);
    range_list_clear(&networks[0]);
    range_list_clear(&networks[1]);
    block_lists_clear(&lists);
    diag_free(diag);
}
END_TEST

START_TEST(a_lost_list_keeps_its_entries)
{
    const char *files[] = { path_of("a"), path_of("b"), NULL };
    const struct block_lists_options options = { .files = files, .countries = none };
    struct block_lists before, lists, later;
    struct diag *diag = diag_new();

    write_file("a", "192.0.2.7\n");
    write_file("b", "192.0.2.8\n");
    ck_assert_int_eq(block_lists_read(&before, &options, NULL, diag), 0);
    unlink(path_of("a"));
    write_file("b", "192.0.2.9\n192.0.2.10\n");
    ck_assert_int_eq(block_lists_read(&lists, &options, &before, diag), 0);
    ck_assert(lists.list[0].failed && !lists.list[1].failed);
    ck_assert_uint_eq(lists.list[0].entries.count, 1);
    ck_assert_uint_eq(lists.list[1].entries.count, 2);
    ck_assert_uint_eq(diag_errors(diag), 1);
    ck_assert_int_eq(block_lists_read(&later, &options, &lists, diag), 0); /* lost for the second time */
    ck_assert_uint_eq(later.list[0].entries.count, 1);
    block_lists_clear(&before);
    block_lists_clear(&lists);
    block_lists_clear(&later);
    diag_free(diag);
}
END_TEST

START_TEST(countries_are_networks)
{
    static const char *const countries[] = { "DE", "KP", "FR", NULL };
    const struct block_lists_options options = { .files = none,
                                                 .countries = countries,
                                                 .geoip_database = path_of("geo") };
    struct country_database *database = country_database_new();
    struct diag *diag = diag_new();
    struct block_lists lists;
    char out[256];

    country_database_add(database, "192.0.2.0", 24, "DE", true);
    country_database_add(database, "198.51.100.0", 25, "KP", true);
    country_database_add(database, "2001:db8::", 32, "DE", true);
    country_database_write(database, options.geoip_database);
    ck_assert_int_eq(block_lists_read(&lists, &options, NULL, diag), 0);
    describe(&lists.list[0].entries, out, sizeof(out));
    ck_assert_str_eq(out, "192.0.2.0/24 2001:db8::/32");
    describe(&lists.list[1].entries, out, sizeof(out));
    ck_assert_str_eq(out, "198.51.100.0/25");
    ck_assert_uint_eq(lists.list[2].entries.count, 0); /* with a warning */
    ck_assert_uint_eq(diag_warnings(diag), 1);
    ck_assert_uint_eq(diag_errors(diag), 0);

    struct block_lists later;

    write_file("geo", "no database");
    ck_assert_int_eq(block_lists_read(&later, &options, &lists, diag), 0);
    ck_assert(later.list[0].failed && later.list[0].entries.count == 2);
    ck_assert_uint_eq(diag_errors(diag), 1);
    block_lists_clear(&lists);
    block_lists_clear(&later);
    diag_free(diag);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("block_lists");
    TCase *formats_case = tcase_create("formats"), *files = tcase_create("files");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(formats_case, formats_are_read, 0, sizeof(formats) / sizeof(formats[0]));
    tcase_add_test(formats_case, mistakes_have_their_position);
    tcase_add_test(formats_case, a_broken_array_is_an_error);
    tcase_add_test(formats_case, names_of_lists);
    suite_add_tcase(suite, formats_case);
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_test(files, what_is_written_is_read);
    tcase_add_test(files, lists_are_merged);
    tcase_add_test(files, a_lost_list_keeps_its_entries);
    tcase_add_test(files, countries_are_networks);
    suite_add_tcase(suite, files);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
