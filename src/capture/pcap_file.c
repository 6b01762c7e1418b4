/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture files. libpcap reads pcap files, common ones are read by pcap_records.c as far as possible; pcapng.c reads
 * pcapng files. libpcap reads pipes and compressed files as a stream of capture_input.c.
 *
 * libpcap keeps only one packet valid at a time, so packets are copied into a buffer that lives until the next receive.
 * A packet that does not fit into the buffer stays in libpcap and is the first of the next batch. A damaged file must
 * not look like a shorter one: the packets before the damage are delivered, then the receive returns -EBADMSG, and
 * pcap_file_error() returns the description.
 *
 * A file has no queue for verdicts; they are only counted, so that received = accepted + dropped holds here as well.
 */
#include "sluice/capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_input.h"
#include "pcap_records.h"
#include "pcapng.h"
#include "sluice/clock.h"

enum {
    BUFFER_SIZE = 8 * PCAP_MAX_PACKET, /* bytes for the packets of one batch */
    PACKET_ALIGNMENT = 16,
};

struct pcap_file {
    struct capture base; /* first member: a struct capture * points to it */
    struct capture_counters counters;
    struct capture_input *input;
    pcap_t *pcap;          /* NULL: pcapng.c reads the file */
    struct pcapng *blocks; /* NULL: the file is no pcapng file */
    int dlt;               /* link type as libpcap numbers it; pcapng: of the last packet */
    enum link_type link;
    bool by_records; /* true: pcap_records.c reads the file; false: libpcap */
    struct pcap_records records;
    /* 0: the file has more packets; otherwise what the receive after the last packet returns. */
    int end;
    char *error; /* description of -EBADMSG; NULL: none */
    /* Header and bytes of a packet that was read from the file and not delivered yet; NULL: none. */
    struct pcap_pkthdr *header;
    const u_char *bytes;
    uint8_t *buffer;
    size_t used; /* used bytes of the buffer */
    struct packet packets[CAPTURE_MAX_BATCH];
};

static const struct {
    int dlt;
    enum link_type link;
} links[] = {
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
};

static enum link_type link_of(int dlt)
{
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (links[i].dlt == dlt)
            return links[i].link;
    }
    return LINK_UNSUPPORTED;
}

/* --- Receiving -------------------------------------------------------------------------------------- */

/* Fills in the members of a packet that belong to the capture. The decoder resets the others. */
static void fill_packet(struct pcap_file *file, struct packet *pkt, const struct pcap_record *record)
{
    uint32_t wire_length = record->wire_length > record->length ? record->wire_length : record->length;
    bool truncated = record->length < wire_length;

    file->counters.packets++;
    file->counters.bytes += wire_length;
    file->counters.truncated += truncated;
    memset(pkt, 0, offsetof(struct packet, outer));
    pkt->data = record->bytes;
    pkt->length = record->length;
    pkt->wire_length = wire_length;
    pkt->time_ns = record->time_ns;
    pkt->number = file->counters.packets;
    pkt->link = file->link;
    pkt->flags = truncated ? PACKET_TRUNCATED : 0;
}

/* Ends the file: behind its last packet, or by an error with this description. */
static void end_file(struct pcap_file *file, bool is_end, const char *reason)
{
    const char *cause = capture_input_error(file->input);

    file->end = is_end || capture_input_stopped(file->input) ? -ENODATA : -EBADMSG;
    if (file->end == -EBADMSG && asprintf(&file->error, "after packet %llu: %s",
                                          (unsigned long long)file->counters.packets, cause ? cause : reason) < 0)
        file->error = NULL;
}

static size_t receive_from_blocks(struct pcap_file *file, struct packet **batch, size_t max)
{
    struct pcapng_packet packet;
    size_t count = 0;
    int result = 1;

    if (file->end)
        return 0;
    while (count < max && (result = pcapng_next(file->blocks, count == 0, &packet)) == 1) {
        /* The message about unsupported link types names the last of them. */
        file->link = link_of(packet.dlt);
        if (file->link == LINK_UNSUPPORTED)
            file->dlt = packet.dlt;
        batch[count] = &file->packets[count];
        fill_packet(file, batch[count], &packet.record);
        batch[count++]->meta.in_ifindex = packet.interface > 0 ? PACKET_FILE_INTERFACE | packet.interface : 0;
    }
    if (result < 0)
        end_file(file, result == -ENODATA, pcapng_error(file->blocks));
    return count;
}

static size_t receive_from_libpcap(struct pcap_file *file, struct packet **batch, size_t max)
{
    size_t count = 0;

    file->used = 0;
    while (count < max && !file->end) {
        if (!file->bytes) {
            int result = pcap_next_ex(file->pcap, &file->header, &file->bytes);

            if (result != 1) {
                file->bytes = NULL;
                end_file(file, result == PCAP_ERROR_BREAK, pcap_geterr(file->pcap));
                break;
            }
        }
        const struct pcap_pkthdr *header = file->header;
        /* The file has unsigned 32-bit seconds, which libpcap reads as signed. */
        uint64_t seconds = header->ts.tv_sec < 0 ? (uint32_t)header->ts.tv_sec : (uint64_t)header->ts.tv_sec;
        const struct pcap_record record = {
            .bytes = file->buffer + file->used,
            .length = header->caplen < PCAP_MAX_PACKET ? header->caplen : PCAP_MAX_PACKET,
            .wire_length = header->len > header->caplen ? header->len : header->caplen,
            /* tv_usec contains nanoseconds, because the file was opened so. */
            .time_ns = seconds * NS_PER_SECOND + (uint64_t)header->ts.tv_usec,
        };
        size_t step = ((size_t)record.length + PACKET_ALIGNMENT - 1) & ~(size_t)(PACKET_ALIGNMENT - 1);

        if (record.length > BUFFER_SIZE - file->used)
            break; /* the packet is the first of the next batch */
        memcpy(file->buffer + file->used, file->bytes, record.length);
        file->used = step < BUFFER_SIZE - file->used ? file->used + step : BUFFER_SIZE;
        file->bytes = NULL;
        batch[count] = &file->packets[count];
        fill_packet(file, batch[count++], &record);
    }
    return count;
}

static int pcap_file_receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    struct pcap_file *file = (struct pcap_file *)capture;
    size_t count = 0;

    (void)wait_ms;
    if (max > CAPTURE_MAX_BATCH)
        max = CAPTURE_MAX_BATCH;
    if (max > 1 && capture_input_is_live(file->input))
        max = 1; /* a packet is inspected when it arrives: it does not wait for the others of a batch */
    file->counters.receive_calls++;
    while (file->by_records && count == 0 && max > 0) {
        struct pcap_record record;

        /* Records are delivered in place, so they must stay until the next receive: a batch ends at the end of the
         * piece of the file that was read. */
        while (count < max && pcap_records_next(&file->records, &record)) {
            batch[count] = &file->packets[count];
            fill_packet(file, batch[count++], &record);
        }
        if (count == 0 && !pcap_records_fill(&file->records)) {
            /* libpcap continues where the records ended, at a record in an uncommon form or at the end. */
            file->by_records = false;
            if (fseeko(pcap_file(file->pcap), (off_t)pcap_records_offset(&file->records), SEEK_SET))
                file->end = -errno;
            pcap_records_clear(&file->records);
        }
    }
    if (file->blocks)
        count = receive_from_blocks(file, batch, max);
    else if (!file->by_records)
        count = receive_from_libpcap(file, batch, max);
    return count > 0 || max == 0 ? (int)count : file->end;
}

/* --- Other operations ------------------------------------------------------------------------------- */

static int pcap_file_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    struct capture_counters *counters = &((struct pcap_file *)capture)->counters;

    counters->send_calls++;
    for (size_t i = 0; i < count; i++) {
        bool dropped = batch[i]->verdict == VERDICT_DROP;

        counters->dropped += dropped;
        counters->accepted += !dropped;
        counters->replaced += !dropped && batch[i]->new_data && batch[i]->new_length > 0;
    }
    return 0;
}

static const struct capture_counters *pcap_file_counters(const struct capture *capture)
{
    return &((const struct pcap_file *)capture)->counters;
}

const char *pcap_file_error(const struct capture *capture)
{
    const struct pcap_file *file = (const struct pcap_file *)capture;

    if (file->end != -EBADMSG)
        return NULL;
    return file->error ? file->error : "the file is damaged";
}

void pcap_file_link(const struct capture *capture, char out[CAPTURE_LINK_SIZE])
{
    const struct pcap_file *file = (const struct pcap_file *)capture;
    int dlt = file->dlt;
    const char *name = pcap_datalink_val_to_name(dlt), *description = pcap_datalink_val_to_description(dlt);

    snprintf(out, CAPTURE_LINK_SIZE, "%d (%s%s%s)", dlt, name ? name : "unknown", description ? ", " : "",
             description ? description : "");
}

const char *pcap_file_interface_name(const struct capture *capture, const struct packet *pkt)
{
    const struct pcap_file *file = (const struct pcap_file *)capture;
    uint32_t index = pkt->meta.in_ifindex;

    return file->blocks && index > 0 ? pcapng_interface_name(file->blocks, index & ~PACKET_FILE_INTERFACE) : NULL;
}

/* --- Life cycle ------------------------------------------------------------------------------------- */

static void pcap_file_close(struct capture *capture)
{
    struct pcap_file *file = (struct pcap_file *)capture;

    pcap_records_clear(&file->records); /* before the file is closed that the records are read from */
    if (file->pcap)
        pcap_close(file->pcap);
    pcapng_close(file->blocks);
    capture_input_close(file->input);
    free(file->error);
    free(file->buffer);
    free(file);
}

static const struct capture_ops pcap_file_ops = {
    .name = "pcap-file",
    .receive = pcap_file_receive,
    .send_verdicts = pcap_file_send_verdicts,
    .counters = pcap_file_counters,
    .close = pcap_file_close,
};

static int fail(char error[CAPTURE_ERROR_SIZE], int err, const char *path, const char *reason)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;

    if (snprintf(error, CAPTURE_ERROR_SIZE, "%s: %s", name, reason) >= CAPTURE_ERROR_SIZE)
        memcpy(error + CAPTURE_ERROR_SIZE - sizeof("..."), "...", sizeof("..."));
    return err;
}

/* Opens the file before libpcap does, to distinguish a file that cannot be opened from one in an unknown format.
 * Returns 0, or -errno with a line in `error`. */
static int open_pcap(struct pcap_file *file, const char *path, int stop_fd, char error[CAPTURE_ERROR_SIZE])
{
    char reason[PCAP_ERRBUF_SIZE] = "";
    int err = capture_input_open(&file->input, path, stop_fd);

    if (err) {
        const char *cause = file->input ? capture_input_error(file->input) : NULL;

        return fail(error, err, path, cause ? cause : strerror(-err));
    }

    if (capture_input_magic(file->input) == PCAPNG_MAGIC) {
        err = pcapng_open(&file->blocks, file->input);
        if (err == -ENODATA)
            return -ECANCELED;
        if (err)
            return fail(error, err == -ENOMEM ? err : -EINVAL, path,
                        err == -ENOMEM                     ? "out of memory"
                        : capture_input_error(file->input) ? capture_input_error(file->input)
                                                           : pcapng_error(file->blocks));
        return 0;
    }

    FILE *stream = capture_input_stream(file->input);

    if (!stream)
        return fail(error, -errno, path, strerror(errno));
    file->pcap = pcap_fopen_offline_with_tstamp_precision(stream, PCAP_TSTAMP_PRECISION_NANO, reason);
    if (file->pcap)
        return 0; /* file->pcap owns the stream now */
    fclose(stream);
    if (capture_input_stopped(file->input))
        return -ECANCELED;
    return fail(error, -EINVAL, path, capture_input_error(file->input) ? capture_input_error(file->input) : reason);
}

int pcap_file_open(struct capture **out, const char *path, int stop_fd, char error[CAPTURE_ERROR_SIZE])
{
    struct pcap_file *file = calloc(1, sizeof(*file));
    int err, snapshot;

    if (!file)
        return fail(error, -ENOMEM, path, "out of memory");
    file->base.ops = &pcap_file_ops;
    err = open_pcap(file, path, stop_fd, error);
    if (err)
        goto close_file;
    if (file->blocks) { /* its packets are delivered in place */
        *out = &file->base;
        return 0;
    }
    snapshot = pcap_snapshot(file->pcap);
    file->dlt = pcap_datalink(file->pcap);
    file->link = link_of(file->dlt);
    /* libpcap changes the records of the excluded link types, so only libpcap can read those. */
    if (file->link != LINK_UNSUPPORTED && file->link != LINK_LINUX_SLL && file->link != LINK_LINUX_SLL2 &&
        snapshot > 0 && capture_input_fd(file->input) >= 0)
        err = pcap_records_init(&file->records, capture_input_fd(file->input), (uint32_t)snapshot);
    else
        err = -ENOTSUP;
    file->by_records = !err;
    file->buffer = malloc(BUFFER_SIZE);
    if (!file->buffer || (err && err != -ENOTSUP)) {
        err = fail(error, -ENOMEM, path, "out of memory");
        goto close_file;
    }
    *out = &file->base;
    return 0;

close_file:
    pcap_file_close(&file->base);
    return err;
}
