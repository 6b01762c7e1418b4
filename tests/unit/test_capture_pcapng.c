/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capture files in the format pcapng, with several interfaces and sections, written by the test. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture_file_rig.h"
#include "sluice/capture.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table[0]))

/* Builds pcapng files. */
struct blocks {
    uint8_t bytes[4096];
    size_t length;
    bool swapped; /* big-endian */
};

static void put(struct blocks *out, int size, uint64_t value)
{
    for (int i = 0; i < size; i++)
        out->bytes[out->length++] = (uint8_t)(value >> 8 * (out->swapped ? size - 1 - i : i));
}

static void put_bytes(struct blocks *out, const char *bytes, size_t length)
{
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
    while (out->length % 4 != 0)
        out->bytes[out->length++] = 0;
}

/* Returns the offset of the block, for end_block(). */
static size_t begin_block(struct blocks *out, uint32_t type)
{
    put(out, 4, type);
    put(out, 4, 0);
    return out->length - 8;
}

static void end_block(struct blocks *out, size_t begin)
{
    uint32_t length = (uint32_t)(out->length - begin + 4);
    size_t end = out->length;

    out->length = begin + 4;
    put(out, 4, length);
    out->length = end;
    put(out, 4, length);
}

static void put_section(struct blocks *out, bool swapped)
{
    size_t block;

    out->swapped = swapped;
    block = begin_block(out, 0x0a0d0d0a);
    put(out, 4, 0x1a2b3c4d);
    put(out, 2, 1);
    put(out, 2, 0);
    put(out, 8, UINT64_MAX);
    end_block(out, block);
}

/* `resolution`: if_tsresol, -1: without; `offset`: if_tsoffset. */
static void put_interface(struct blocks *out, uint16_t link, uint32_t snapshot, const char *name, int resolution,
                          int64_t offset)
{
    size_t block = begin_block(out, 1);

    put(out, 2, link);
    put(out, 2, 0);
    put(out, 4, snapshot);
    if (name) {
        put(out, 2, 2);
        put(out, 2, strlen(name));
        put_bytes(out, name, strlen(name));
    }
    if (resolution >= 0) {
        put(out, 2, 9);
        put(out, 2, 1);
        put(out, 1, (uint64_t)resolution);
        put_bytes(out, "", 0);
    }
    if (offset != 0) {
        put(out, 2, 14);
        put(out, 2, 8);
        put(out, 8, (uint64_t)offset);
    }
    put(out, 4, 0); /* end of the options */
    end_block(out, block);
}

static void put_packet(struct blocks *out, uint32_t interface, uint64_t time, const char *data, uint32_t wire_length)
{
    size_t block = begin_block(out, 6);

    put(out, 4, interface);
    put(out, 4, time >> 32);
    put(out, 4, time & UINT32_MAX);
    put(out, 4, strlen(data));
    put(out, 4, wire_length);
    put_bytes(out, data, strlen(data));
    end_block(out, block);
}

/* Interfaces with other link types, snap lengths and time units, in two sections with other byte orders, with blocks of
 * other types between them. */
START_TEST(pcapng_interfaces)
{
    static const struct {
        const char *data, *name;
        enum link_type link;
        uint64_t time_ns;
        uint32_t wire_length;
    } expected[] = {
        { "eth0", "eth0", LINK_ETHERNET, 5000006000, 4 },      { "ppp", "ppp0", LINK_RAW, 1700000000123456789, 3 },
        { "half", NULL, LINK_LINUX_SLL2, 2500000000, 9 },      { "wifi", "wlan0", LINK_UNSUPPORTED, 8000000001, 4 },
        { "obsolete", "eth0", LINK_ETHERNET, 7000000000, 10 }, { "simpl", "eth0", LINK_ETHERNET, 7000000000, 7 },
        { "other", "eth0", LINK_IPV4, 3000000000, 5 },         { "order", NULL, LINK_NULL, 1000, 5 },
    };
    struct packet *batch[64];
    struct blocks out = { 0 };
    size_t block;
    int count = 0, end;

    put_section(&out, _i);
    put_interface(&out, 1, 5, "eth0", -1, 0);
    put_interface(&out, 101, 65535, "ppp0", 9, 1700000000);
    put_interface(&out, 276, 0, NULL, 0x80 | 1, -2);
    block = begin_block(&out, 5); /* interface statistics */
    put(&out, 8, 0);
    put(&out, 4, 0);
    end_block(&out, block);
    put_packet(&out, 0, 5000006, "eth0", 4);
    put_packet(&out, 1, 123456789, "ppp", 3);
    put_packet(&out, 2, 9, "half", 9);
    put_interface(&out, 105, 0, "wlan0", 12, 0);
    put_packet(&out, 3, 8000000001999, "wifi", 4);
    block = begin_block(&out, 2);
    put(&out, 2, 0);
    put(&out, 2, 7); /* drops */
    put(&out, 4, 0);
    put(&out, 4, 7000000);
    put(&out, 4, 8);
    put(&out, 4, 10);
    put_bytes(&out, "obsolete", 8);
    end_block(&out, block);
    block = begin_block(&out, 3);
    put(&out, 4, 7);
    put_bytes(&out, "simpl", 5); /* as long as the snap length of the first interface */
    end_block(&out, block);
    put_section(&out, !_i);
    put_interface(&out, 228, 0, "eth0", 0, 0);
    put_interface(&out, 0, 0, "", -1, 0);
    put_packet(&out, 0, 3, "other", 5);
    put_packet(&out, 1, 1, "order", 5);
    capture_rig_write(out.bytes, out.length);

    struct capture *capture = capture_rig_open();

    while ((end = capture_receive(capture, batch, 64, 0)) > 0) {
        for (int i = 0; i < end; i++, count++) {
            const char *name = pcap_file_interface_name(capture, batch[i]);

            ck_assert_uint_eq(batch[i]->length, strlen(expected[count].data));
            ck_assert_mem_eq(batch[i]->data, expected[count].data, batch[i]->length);
            ck_assert_uint_eq(batch[i]->wire_length, expected[count].wire_length);
            ck_assert_uint_eq(batch[i]->time_ns, expected[count].time_ns);
            ck_assert_int_eq(batch[i]->link, expected[count].link);
            if (expected[count].name)
                ck_assert_str_eq(name, expected[count].name);
            else
                ck_assert_ptr_null(name);
        }
    }
    ck_assert_int_eq(end, -ENODATA);
    ck_assert_int_eq(count, COUNT(expected));
    capture_close(capture);

    /* A file that is cut at any place: all packets before it, and an error unless the cut is between blocks. */
    for (size_t length = 28; length < out.length; length++) {
        int seen = 0;

        capture_rig_write(out.bytes, length);
        capture = capture_rig_open();
        while ((end = capture_receive(capture, batch, 64, 0)) > 0)
            seen += end;
        ck_assert(end == -EBADMSG || end == -ENODATA);
        ck_assert_int_le(seen, count);
        ck_assert((end == -EBADMSG) == (pcap_file_error(capture) != NULL));
        if (length % 4 != 0)
            ck_assert_int_eq(end, -EBADMSG);
        capture_close(capture);
    }
}
END_TEST

/* Offset in a file with a section, an interface and a packet, the bytes there, and the error. */
static const struct {
    size_t at;
    uint32_t value;
    const char *error;
} pcapng_errors[] = {
    { 28 + 4, 21, "the length of a block is invalid" },
    { 28 + 4, 8, "the length of a block is invalid" },
    { 28 + 4, 24 << 16, "a block is too long" },
    { 28 + 4, 12, "the two lengths of a block differ" },
    { 28 + 20, 28, "the two lengths of a block differ" },
    { 28 + 16, 9 << 16 | 9, "an option of an interface is longer than its block" },
    { 52 + 8, 1, "a packet has an interface that is not described" },
    { 52 + 20, 5, "a packet is longer than its block" },
    { 52 + 20, UINT32_MAX, "a packet is longer than its block" },
    { 52, 0x0a0d0d0a, "the byte order of a section is invalid" },
    { 52, 99, NULL }, /* an unknown block is skipped */
};

START_TEST(pcapng_with_errors)
{
    struct blocks out = { 0 };
    struct packet *batch[4];
    size_t length;
    int result;

    put_section(&out, false);
    put_interface(&out, 1, 0, NULL, -1, 0);
    put_packet(&out, 0, 1, "data", 4);
    length = out.length;
    out.length = pcapng_errors[_i].at;
    put(&out, 4, pcapng_errors[_i].value);
    capture_rig_write(out.bytes, length);

    struct capture *capture = capture_rig_open();

    result = capture_receive(capture, batch, 4, 0);
    if (pcapng_errors[_i].error) {
        ck_assert_int_eq(result, -EBADMSG);
        ck_assert_ptr_nonnull(strstr(pcap_file_error(capture), pcapng_errors[_i].error));
    } else {
        ck_assert_int_eq(result, -ENODATA);
    }
    capture_close(capture);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("capture_pcapng");
    TCase *files = tcase_create("files");

    tcase_add_checked_fixture(files, capture_rig_setup, capture_rig_teardown);
    tcase_add_loop_test(files, pcapng_interfaces, 0, 2);
    tcase_add_loop_test(files, pcapng_with_errors, 0, COUNT(pcapng_errors));
    suite_add_tcase(suite, files);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());

    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
