/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capture files: written by the test into a temporary directory, read back through the capture. */
#include <check.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#ifdef SLUICE_LZ4
#include <lz4frame.h>
#endif

#include "capture_file_rig.h"
#include "sluice/capture.h"

enum { BIG = 256 * 1024 };

#define COUNT(table) (int)(sizeof(table) / sizeof(table[0]))

/* Packet i (from 0) has size_of(i) bytes, each of them i, and the time 1000 + i seconds and i ns. */
static void write_pcap(int dlt, size_t count, uint32_t (*size_of)(size_t), uint32_t cut)
{
    static uint8_t data[BIG];
    pcap_t *pcap = pcap_open_dead_with_tstamp_precision(dlt, BIG, PCAP_TSTAMP_PRECISION_NANO);
    pcap_dumper_t *dumper = pcap_dump_open(pcap, capture_rig_path);

    ck_assert_ptr_nonnull(dumper);
    for (size_t i = 0; i < count; i++) {
        struct pcap_pkthdr header = { .caplen = size_of(i), .len = size_of(i) + cut };

        header.ts.tv_sec = 1000 + (time_t)i;
        header.ts.tv_usec = (suseconds_t)i;
        memset(data, (int)i, header.caplen);
        pcap_dump((u_char *)dumper, &header, data);
    }
    pcap_dump_close(dumper);
    pcap_close(pcap);
}

static uint32_t small(size_t i)
{
    return 60 + (uint32_t)i % 7;
}

static uint32_t huge(size_t i)
{
    (void)i;
    return BIG;
}

static uint32_t empty(size_t i)
{
    (void)i;
    return 0;
}

/* Sizes for which many records cross the boundary of a read. */
static uint32_t mixed(size_t i)
{
    return (uint32_t)(i * 7919 % 9001);
}

static void check_packet(const struct packet *pkt, size_t i, uint32_t size)
{
    ck_assert_uint_eq(pkt->number, i + 1);
    ck_assert_uint_eq(pkt->length, size);
    ck_assert_uint_eq(pkt->time_ns, (1000 + i) * UINT64_C(1000000000) + i);
    uint32_t same = 0;

    while (same < size && pkt->data[same] == (uint8_t)i)
        same++;
    ck_assert_uint_eq(same, size);
}

static const struct {
    uint32_t (*size_of)(size_t);
    size_t count, max, first_batch;
} batch_cases[] = {
    { small, 0, 64, 0 },  { small, 1, 64, 1 },      { small, 64, 64, 64 }, { small, 1000, 64, 64 },
    { small, 600, 1, 1 }, { small, 600, 999, 256 }, { mixed, 3000, 7, 7 }, { empty, 300, 64, 64 },
    { huge, 20, 64, 1 },                           /* large packets need separate buffers; none is lost */
    { huge, 60, 64, 1 },  { mixed, 9000, 64, 64 }, /* large files are read ahead */
};

START_TEST(packets_stay_valid_for_a_batch)
{
    struct packet *batch[1024];
    size_t seen = 0;

    write_pcap(DLT_EN10MB, batch_cases[_i].count, batch_cases[_i].size_of, 0);

    struct capture *capture = capture_rig_open();
    int n = 0;

    while ((n = capture_receive(capture, batch, batch_cases[_i].max, 0)) > 0) {
        if (seen == 0)
            ck_assert_int_eq(n, (int)batch_cases[_i].first_batch);
        for (int i = 0; i < n; i++) {
            check_packet(batch[i], seen + (size_t)i, batch_cases[_i].size_of(seen + (size_t)i));
            ck_assert_int_eq(batch[i]->link, LINK_ETHERNET);
            ck_assert_uint_eq(batch[i]->flags, 0);
        }
        seen += (size_t)n;
        ck_assert_int_eq(capture_send_verdicts(capture, batch, (size_t)n), 0);
    }
    ck_assert_int_eq(n, -ENODATA);
    ck_assert_uint_eq(seen, batch_cases[_i].count);
    ck_assert_int_eq(capture_receive(capture, batch, 64, 0), -ENODATA); /* and again */
    ck_assert_ptr_null(pcap_file_error(capture));
    ck_assert_uint_eq(capture_counters(capture)->packets, seen);
    ck_assert_uint_eq(capture_counters(capture)->accepted, seen);
    capture_close(capture);
}
END_TEST

START_TEST(verdicts_are_counted)
{
    struct packet *batch[8];

    write_pcap(DLT_RAW, 5, small, 0);

    struct capture *capture = capture_rig_open();

    ck_assert_int_eq(capture_receive(capture, batch, 8, -1), 5);
    batch[1]->verdict = batch[4]->verdict = VERDICT_DROP;
    batch[0]->new_data = batch[4]->new_data = batch[0]->data;
    batch[0]->new_length = batch[4]->new_length = 1;
    ck_assert_int_eq(capture_send_verdicts(capture, batch, 3), 0);
    ck_assert_int_eq(capture_send_verdicts(capture, batch + 3, 2), 0);
    ck_assert_uint_eq(capture_counters(capture)->accepted, 3);
    ck_assert_uint_eq(capture_counters(capture)->dropped, 2);
    ck_assert_uint_eq(capture_counters(capture)->replaced, 1);
    capture_close(capture);
}
END_TEST

START_TEST(a_file_has_no_queue_status)
{
    struct queue_status status;

    write_pcap(DLT_RAW, 1, small, 0);

    struct capture *capture = capture_rig_open();

    ck_assert_int_eq(capture_status(capture, &status), -ENOTSUP);
    capture_close(capture);
}
END_TEST

static const struct {
    int dlt;
    enum link_type link;
} link_cases[] = {
    { DLT_EN10MB, LINK_ETHERNET },
    { DLT_RAW, LINK_RAW },
    { DLT_IPV4, LINK_IPV4 },
    { DLT_IPV6, LINK_IPV6 },
    { DLT_LINUX_SLL, LINK_LINUX_SLL },
    { DLT_LINUX_SLL2, LINK_LINUX_SLL2 },
    { DLT_NULL, LINK_NULL },
    { DLT_LOOP, LINK_LOOP },
    { DLT_PPP, LINK_PPP },
    { DLT_PPP_SERIAL, LINK_PPP },
    { DLT_C_HDLC, LINK_CHDLC },
    { DLT_IEEE802_11, LINK_UNSUPPORTED },
    { DLT_USB_LINUX, LINK_UNSUPPORTED },
};

START_TEST(link_types)
{
    struct packet *batch[1];

    write_pcap(link_cases[_i].dlt, 1, small, 0);

    struct capture *capture = capture_rig_open();

    ck_assert_int_eq(capture_receive(capture, batch, 1, 0), 1);
    ck_assert_int_eq(batch[0]->link, link_cases[_i].link);
    capture_close(capture);
}
END_TEST

START_TEST(packets_cut_by_a_snapshot_length)
{
    struct packet *batch[2];

    write_pcap(DLT_RAW, 2, small, 1000);

    struct capture *capture = capture_rig_open();

    ck_assert_int_eq(capture_receive(capture, batch, 2, 0), 2);
    ck_assert_uint_eq(batch[1]->length, 61);
    ck_assert_uint_eq(batch[1]->wire_length, 1061);
    ck_assert_uint_eq(batch[1]->flags, PACKET_TRUNCATED);
    ck_assert_uint_eq(capture_counters(capture)->truncated, 2);
    ck_assert_uint_eq(capture_counters(capture)->bytes, 2121);
    capture_close(capture);
}
END_TEST

/* Files in the other byte order, with both time units: version 2.4, snaplen 64 KiB, raw IP, two packets. */
static const struct {
    uint32_t magic;
    uint64_t time_ns;
} order_cases[] = { { 0xa1b2c3d4, 7000009000 }, { 0xa1b23c4d, 7000000009 } };

START_TEST(other_byte_order)
{
    uint32_t words[] = { order_cases[_i].magic, 2 << 16 | 4, 0, 0, 65536, 101, 7, 9, 4, 6, 0, 8, 9, 4, 4, 0 };
    struct packet *batch[4];

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        words[i] = __builtin_bswap32(words[i]);
    words[10] = 0x45454545;
    words[15] = 0x46464646;
    capture_rig_write(words, sizeof(words));

    struct capture *capture = capture_rig_open();

    ck_assert_int_eq(capture_receive(capture, batch, 4, 0), 2);
    ck_assert_uint_eq(batch[0]->time_ns, order_cases[_i].time_ns);
    ck_assert_uint_eq(batch[0]->length, 4);
    ck_assert_uint_eq(batch[0]->wire_length, 6);
    ck_assert_mem_eq(batch[0]->data, "EEEE", 4);
    ck_assert_uint_eq(batch[1]->length, 4);
    ck_assert_uint_eq(batch[1]->wire_length, 4);
    ck_assert_mem_eq(batch[1]->data, "FFFF", 4);
    ck_assert_int_eq(capture_receive(capture, batch, 4, 0), -ENODATA);
    capture_close(capture);
}
END_TEST

/* The seconds of a pcap file are unsigned 32-bit numbers, so times after 2038 are valid. */
START_TEST(times_after_2038)
{
    static const uint32_t words[] = { 0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65536, 101, 0x80000001, 9, 4, 4, 0x45454545 };
    struct packet *batch[4];

    capture_rig_write(words, sizeof(words));

    struct capture *capture = capture_rig_open();

    ck_assert_int_eq(capture_receive(capture, batch, 4, 0), 1);
    ck_assert_uint_eq(batch[0]->time_ns, UINT64_C(0x80000001) * 1000000000 + 9000);
    capture_close(capture);
}
END_TEST

/* A record above the file's snaplen, between others: libpcap truncates it and continues. */
START_TEST(record_past_the_snapshot_length)
{
    static const uint32_t words[] = {
        0xa1b2c3d4, 4 << 16 | 2, 0, 0, 4,          101, 1, 0, 4, 4, 0x45454545,
        2,          0,           8, 9, 0x46464646, 0,   3, 0, 4, 4, 0x47474747,
    };
    struct packet *batch[4];

    capture_rig_write(words, sizeof(words));

    struct capture *capture = capture_rig_open();
    int count = 0, more;

    while (count < 4 && (more = capture_receive(capture, batch + count, 1, 0)) == 1) {
        ck_assert_uint_eq(batch[count]->number, (uint64_t)count + 1);
        ck_assert_uint_eq(batch[count]->time_ns, (uint64_t)(count + 1) * 1000000000);
        ck_assert_uint_eq(batch[count]->length, 4);
        ck_assert_uint_eq(batch[count]->wire_length, count == 1 ? 9 : 4);
        ck_assert_int_eq(batch[count]->data[3], 0x45 + count);
        count++;
    }
    ck_assert_int_eq(count, 3);
    ck_assert_int_eq(more, -ENODATA);
    capture_close(capture);
}
END_TEST

/* A pcapng file: section header, an interface with nanoseconds, two packets. */
START_TEST(pcapng)
{
    static const uint32_t words[] = {
        0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff, 28, /* version 1.0 */
        1,          28, 101,        0, 0x00010009, 9,          28, /* raw IP; if_tsresol 9 */
        6,          36, 0,          0, 1000000007, 4,          4,  0x45454545, 36,
        6,          36, 0,          0, 1000000008, 3,          9,  0x46464646, 36,
    };
    struct packet *batch[4];

    capture_rig_write(words, sizeof(words));

    struct capture *capture = capture_rig_open();

    ck_assert_int_eq(capture_receive(capture, batch, 4, 0), 2);
    ck_assert_int_eq(batch[0]->link, LINK_RAW);
    ck_assert_uint_eq(batch[0]->time_ns, 1000000007);
    ck_assert_uint_eq(batch[0]->length, 4);
    ck_assert_mem_eq(batch[0]->data, "EEEE", 4);
    ck_assert_uint_eq(batch[1]->time_ns, 1000000008);
    ck_assert_uint_eq(batch[1]->length, 3);
    ck_assert_uint_eq(batch[1]->wire_length, 9);
    ck_assert_int_eq(capture_receive(capture, batch, 4, 0), -ENODATA);
    capture_close(capture);
}
END_TEST

/* Number of bytes removed from the end of the file, and number of complete packets of three. A record has 16 + 60 to 62
 * bytes. */
static const struct {
    off_t cut;
    int packets;
    bool damaged;
} tail_cases[] = {
    { 0, 3, false },  { 1, 2, true },      { 62, 2, true },           { 70, 2, true },
    { 78, 2, false }, { 78 + 1, 1, true }, { 78 + 77 + 60, 0, true }, { 78 + 77 + 76, 0, false },
};

START_TEST(corrupt_tail)
{
    struct packet *batch[8];
    struct stat st;

    write_pcap(DLT_RAW, 3, small, 0);
    ck_assert_int_eq(stat(capture_rig_path, &st), 0);
    ck_assert_int_eq(truncate(capture_rig_path, st.st_size - tail_cases[_i].cut), 0);

    struct capture *capture = capture_rig_open();

    if (tail_cases[_i].packets > 0)
        ck_assert_int_eq(capture_receive(capture, batch, 8, 0), tail_cases[_i].packets);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(capture_receive(capture, batch, 8, 0), tail_cases[_i].damaged ? -EBADMSG : -ENODATA);
        if (!tail_cases[_i].damaged) {
            ck_assert_ptr_null(pcap_file_error(capture));
            continue;
        }
        ck_assert_ptr_nonnull(pcap_file_error(capture));

        char expected[32];

        snprintf(expected, sizeof(expected), "after packet %d: ", tail_cases[_i].packets);
        ck_assert_str_eq(strndupa(pcap_file_error(capture), strlen(expected)), expected);
        ck_assert_uint_gt(strlen(pcap_file_error(capture)), strlen(expected));
    }
    capture_close(capture);
}
END_TEST

enum { MANY = 9000 };

/* The packets before the damage are returned from a large file, too. */
START_TEST(corrupt_tail_of_a_large_file)
{
    struct packet *batch[64];
    struct stat st;
    size_t seen = 0;
    int n;

    write_pcap(DLT_RAW, MANY, mixed, 0);
    ck_assert_int_eq(stat(capture_rig_path, &st), 0);
    ck_assert_int_eq(truncate(capture_rig_path, st.st_size - 1), 0);

    struct capture *capture = capture_rig_open();

    while ((n = capture_receive(capture, batch, 64, 0)) > 0)
        seen += (size_t)n;
    ck_assert_int_eq(n, -EBADMSG);
    ck_assert_uint_eq(seen, MANY - 1);
    capture_close(capture);
}
END_TEST

START_TEST(a_large_file_closed_early)
{
    struct packet *batch[64];

    write_pcap(DLT_RAW, MANY, mixed, 0);
    for (int batches = 0; batches < 40; batches++) {
        struct capture *capture = capture_rig_open();

        for (int i = 0; i < batches; i++)
            ck_assert_int_gt(capture_receive(capture, batch, 64, 0), 0);
        capture_close(capture);
    }
}
END_TEST

/* A record that claims to be longer than any packet. */
START_TEST(absurd_record_length)
{
    struct packet *batch[8];
    struct stat st;
    uint32_t absurd = 0x7fffffff;

    write_pcap(DLT_RAW, 3, small, 0);
    ck_assert_int_eq(stat(capture_rig_path, &st), 0);

    FILE *file = fopen(capture_rig_path, "r+b");

    ck_assert_ptr_nonnull(file);
    fseek(file, st.st_size - 78 + 8, SEEK_SET); /* captured length of the last record */
    fwrite(&absurd, sizeof(absurd), 1, file);
    fclose(file);

    struct capture *capture = capture_rig_open();

    ck_assert_int_eq(capture_receive(capture, batch, 8, 0), 2);
    ck_assert_int_eq(capture_receive(capture, batch, 8, 0), -EBADMSG);
    ck_assert_ptr_nonnull(pcap_file_error(capture));
    capture_close(capture);
}
END_TEST

START_TEST(what_is_no_capture)
{
    char error[CAPTURE_ERROR_SIZE] = "";
    struct capture *capture = NULL;

    ck_assert_int_eq(pcap_file_open(&capture, capture_rig_path, 0, error), -ENOENT);
    ck_assert_msg(strstr(error, capture_rig_path) && strstr(error, strerror(ENOENT)), "%s", error);
    capture_rig_write("", 0);
    ck_assert_int_eq(pcap_file_open(&capture, capture_rig_path, 0, error), -EINVAL);
    capture_rig_write("this is no capture file at all", 30);
    *error = '\0';
    ck_assert_int_eq(pcap_file_open(&capture, capture_rig_path, 0, error), -EINVAL);
    ck_assert_msg(strstr(error, capture_rig_path) != NULL && strlen(error) > strlen(capture_rig_path) + 2, "%s", error);
    ck_assert_int_eq(pcap_file_open(&capture, capture_rig_directory, 0, error), -EISDIR);
    ck_assert_ptr_null(capture);
}
END_TEST

/* --- Compressed files and pipes --------------------------------------------------------------------- */

/* Each returns the length of a frame with the bytes, which is written to `out`. */
static size_t compress_gzip(void *out, size_t room, const void *bytes, size_t length)
{
    z_stream gzip = {
        .next_in = (void *)(uintptr_t)bytes, .avail_in = (uInt)length, .next_out = out, .avail_out = (uInt)room
    };

    ck_assert_int_eq(deflateInit2(&gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    ck_assert_int_eq(deflate(&gzip, Z_FINISH), Z_STREAM_END);
    deflateEnd(&gzip);
    return room - gzip.avail_out;
}

static size_t compress_zstd(void *out, size_t room, const void *bytes, size_t length)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t result;

    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    result = ZSTD_compress2(context, out, room, bytes, length);
    ck_assert(!ZSTD_isError(result));
    ZSTD_freeCCtx(context);
    return result;
}

/* A frame behind a skippable one. */
static size_t compress_zstd_skippable(void *out, size_t room, const void *bytes, size_t length)
{
    static const uint8_t skippable[] = { 0x5e, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z' };

    memcpy(out, skippable, sizeof(skippable));
    return sizeof(skippable) +
           compress_zstd((uint8_t *)out + sizeof(skippable), room - sizeof(skippable), bytes, length);
}

#ifdef SLUICE_LZ4
static size_t compress_lz4(void *out, size_t room, const void *bytes, size_t length)
{
    LZ4F_preferences_t preferences = { .frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled };
    size_t result = LZ4F_compressFrame(out, room, bytes, length, &preferences);

    ck_assert(!LZ4F_isError(result));
    return result;
}
#endif

static const struct {
    const char *name;
    size_t (*compress)(void *, size_t, const void *, size_t);
} formats[] = {
    { "gzip", compress_gzip },
    { "zstd", compress_zstd },
    { "zstd", compress_zstd_skippable },
#ifdef SLUICE_LZ4
    { "LZ4", compress_lz4 },
#endif
};

enum { COMPRESSED_PACKETS = 3000, COMPRESSED_SIZE = 32 << 20 };

/* Compresses the file in place, as a number of frames of equal lengths. Returns its length. */
static size_t compress_file(int format, size_t frames)
{
    static uint8_t bytes[COMPRESSED_SIZE], out[COMPRESSED_SIZE];
    FILE *file = fopen(capture_rig_path, "rb");
    size_t length = fread(bytes, 1, sizeof(bytes), file), used = 0, at = 0;

    fclose(file);
    ck_assert_uint_lt(length, sizeof(bytes));
    for (size_t i = 0; i < frames; i++) {
        size_t step = i + 1 < frames ? length / frames : length - at;

        used += formats[format].compress(out + used, sizeof(out) - used, bytes + at, step);
        at += step;
    }
    capture_rig_write(out, used);
    return used;
}

/* Receives the packets of `size_of`. Returns their number, and what the receive behind them returned. */
static size_t receive_all(struct capture *capture, uint32_t (*size_of)(size_t), int *end)
{
    struct packet *batch[64];
    size_t seen = 0;

    while ((*end = capture_receive(capture, batch, 64, 0)) > 0) {
        for (int i = 0; i < *end; i++)
            check_packet(batch[i], seen + (size_t)i, size_of(seen + (size_t)i));
        seen += (size_t)*end;
    }
    return seen;
}

START_TEST(compressed_files)
{
    for (size_t frames = 1; frames <= 7; frames += 3) {
        int end;

        write_pcap(DLT_RAW, COMPRESSED_PACKETS, mixed, 0);
        compress_file(_i, frames);

        struct capture *capture = capture_rig_open();

        ck_assert_uint_eq(receive_all(capture, mixed, &end), COMPRESSED_PACKETS);
        ck_assert_int_eq(end, -ENODATA);
        ck_assert_ptr_null(pcap_file_error(capture));
        capture_close(capture);
    }
}
END_TEST

/* The packets before the end of the data are returned, then the error, which names the format. */
START_TEST(compressed_file_cut)
{
    for (off_t cut = 1; cut < 4000; cut += 999) {
        char expected[80];
        int end;

        write_pcap(DLT_RAW, COMPRESSED_PACKETS, small, 0);
        ck_assert_int_eq(truncate(capture_rig_path, (off_t)compress_file(_i, 1) - cut), 0);

        struct capture *capture = capture_rig_open();
        size_t seen = receive_all(capture, small, &end);

        ck_assert_int_eq(end, -EBADMSG);
        if (cut == 1) /* only the checksum is incomplete */
            ck_assert_uint_eq(seen, COMPRESSED_PACKETS);
        snprintf(expected, sizeof(expected), "after packet %zu: the %s data is incomplete", seen, formats[_i].name);
        ck_assert_str_eq(pcap_file_error(capture), expected);
        capture_close(capture);
    }
}
END_TEST

START_TEST(compressed_file_damaged)
{
    char expected[80];
    size_t length, seen;
    FILE *file;
    int end;

    write_pcap(DLT_RAW, COMPRESSED_PACKETS, mixed, 0);
    length = compress_file(_i, 1);
    file = fopen(capture_rig_path, "r+b");
    ck_assert_ptr_nonnull(file);
    fseek(file, (long)length - 2, SEEK_SET); /* the checksum, or the length of the data */
    fwrite("\xff\xff", 1, 2, file);
    fclose(file);

    struct capture *capture = capture_rig_open();

    seen = receive_all(capture, mixed, &end);
    ck_assert_int_eq(end, -EBADMSG);
    snprintf(expected, sizeof(expected), "after packet %zu: the %s data is damaged: ", seen, formats[_i].name);
    ck_assert_msg(strncmp(pcap_file_error(capture), expected, strlen(expected)) == 0, "%s", pcap_file_error(capture));
    capture_close(capture);
}
END_TEST

/* Files that are refused at once: bytes, and part of the error. The window of the zstd frame is 256 MiB. */
static const struct {
    const char *bytes;
    size_t length;
    const char *error;
} refused_cases[] = {
    { "\x28\xb5\x2f\xfd\x00\x90\x00", 7, "the zstd data is damaged: Frame requires too much memory" },
    { "\x1f\x8b\x08\x00", 4, "the gzip data is incomplete" },
    { "\x1f\x8b\x08\xff\0\0\0\0\0\0\0\0\0\0", 14, "the gzip data is damaged: unknown header flags" },
    { "\xfd"
      "7zXZ",
      5, "xz compression is not supported: decompress" },
    { "BZh91AY", 7, "bzip2 compression is not supported: decompress" },
};

START_TEST(refused_compressed_files)
{
    char error[CAPTURE_ERROR_SIZE] = "";
    struct capture *capture = NULL;

    capture_rig_write(refused_cases[_i].bytes, refused_cases[_i].length);
    ck_assert_int_lt(pcap_file_open(&capture, capture_rig_path, 0, error), 0);
    ck_assert_ptr_null(capture);
    ck_assert_msg(strstr(error, capture_rig_path) && strstr(error, refused_cases[_i].error), "%s", error);
}
END_TEST

/* A packet of a pipe is returned when it arrives. A descriptor ends the wait for the next one, and for the header. */
START_TEST(a_pipe_that_stays_open)
{
    uint8_t bytes[4096];
    char error[CAPTURE_ERROR_SIZE] = "";
    struct capture *capture = NULL;
    struct packet *batch[64];
    int ends[2], stop = eventfd(0, 0);
    size_t length;
    FILE *file;

    write_pcap(DLT_RAW, 2, small, 0);
    file = fopen(capture_rig_path, "rb");
    length = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(write(ends[1], bytes, length - 1), (ssize_t)length - 1); /* the second packet is incomplete */
    ck_assert_msg(pcap_file_open(&capture, "-", stop, error) == 0, "%s", error);
    ck_assert_int_eq(capture_receive(capture, batch, 64, 0), 1);
    check_packet(batch[0], 0, small(0));
    ck_assert_int_eq(eventfd_write(stop, 1), 0);
    ck_assert_int_eq(capture_receive(capture, batch, 64, 0), -ENODATA);
    ck_assert_ptr_null(pcap_file_error(capture));
    capture_close(capture);
    ck_assert_int_eq(pcap_file_open(&capture, "-", stop, error), -ECANCELED);
}
END_TEST

/* Standard input can be a file, of which another program has read a part. */
START_TEST(standard_input_is_a_file)
{
    char error[CAPTURE_ERROR_SIZE] = "";
    FILE *file;

    write_pcap(DLT_RAW, COMPRESSED_PACKETS, mixed, 0);
    for (int skipped = 0; skipped < 2; skipped++) {
        static uint8_t bytes[COMPRESSED_SIZE];
        struct capture *capture = NULL;
        size_t length;
        int end;

        file = fopen(capture_rig_path, "rb");
        length = fread(bytes + 5, 1, sizeof(bytes) - 5, file);
        fclose(file);
        if (skipped)
            capture_rig_write(bytes, length + 5);
        file = freopen(capture_rig_path, "rb", stdin);
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(lseek(STDIN_FILENO, skipped ? 5 : 0, SEEK_SET), skipped ? 5 : 0);
        ck_assert_msg(pcap_file_open(&capture, "-", 0, error) == 0, "%s", error);
        ck_assert_uint_eq(receive_all(capture, mixed, &end), COMPRESSED_PACKETS);
        ck_assert_int_eq(end, -ENODATA);
        capture_close(capture);
    }
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("capture_pcap");
    TCase *files = tcase_create("files");

    tcase_add_checked_fixture(files, capture_rig_setup, capture_rig_teardown);
    tcase_add_loop_test(files, packets_stay_valid_for_a_batch, 0, COUNT(batch_cases));
    tcase_add_test(files, verdicts_are_counted);
    tcase_add_test(files, a_file_has_no_queue_status);
    tcase_add_loop_test(files, link_types, 0, COUNT(link_cases));
    tcase_add_test(files, packets_cut_by_a_snapshot_length);
    tcase_add_loop_test(files, other_byte_order, 0, COUNT(order_cases));
    tcase_add_test(files, times_after_2038);
    tcase_add_test(files, record_past_the_snapshot_length);
    tcase_add_test(files, pcapng);
    tcase_add_loop_test(files, corrupt_tail, 0, COUNT(tail_cases));
    tcase_add_test(files, corrupt_tail_of_a_large_file);
    tcase_add_test(files, a_large_file_closed_early);
    tcase_add_test(files, absurd_record_length);
    tcase_add_test(files, what_is_no_capture);
    tcase_add_loop_test(files, compressed_files, 0, COUNT(formats));
    tcase_add_loop_test(files, compressed_file_cut, 0, COUNT(formats));
    tcase_add_loop_test(files, compressed_file_damaged, 0, COUNT(formats));
    tcase_add_loop_test(files, refused_compressed_files, 0, COUNT(refused_cases));
    tcase_add_test(files, a_pipe_that_stays_open);
    tcase_add_test(files, standard_input_is_a_file);
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
