/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certificate chains in files (tls-store), with the names of Suricata's tls-store: SECONDS.MICROSECONDS-NUMBER.pem has
 * the chain of a server, and a file that ends in .meta the connection. The names of chains of clients begin with
 * "client-".
 *
 * A worker copies the chain into its ring, at most `rate_limit` in a second of packet time, and the output thread
 * writes the files. The folder gets at most `max_files` chains: chains that an administrator has not moved away are not
 * displaced by later ones. A file gets its name when it is complete, and the .meta file before the .pem file.
 *
 * Subject and issuer come from the traffic: control characters, and bytes that are not UTF-8, are written as \xNN.
 */
#include "chain_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"
#include "sluice/base64.h"
#include "sluice/bytes.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/folder.h"

enum {
    PEM_LINE = 48,          /* bytes of a line of 64 characters */
    PEM_CERTIFICATES = 64,  /* certificates of a chain that are written */
    SAME_NAME_MAX = 100000, /* numbers that are tried for a name that exists */
    NAME_SIZE = 80,
};

const struct setting tls_store_settings[] = {
    { .name = "tls-store.enabled",
      SETTING_FIELD(tls_store_options, enabled),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Write the certificate chains of TLS connections that rules with tls.store select to files" },
    { .name = "tls-store.certs-log-dir",
      SETTING_FIELD(tls_store_options, dir),
      .type = SETTING_STRING,
      .default_value = "certs",
      .help = "Folder of the files, relative to log-dir or absolute" },
    { .name = "tls-store.max-files",
      SETTING_FIELD(tls_store_options, max_files),
      .type = SETTING_NUMBER,
      .default_value = "10000",
      .high = 10000000,
      .help = "Number of chains in the folder, including those of earlier runs, beyond which no more are written, but "
              "counted (tls_store.full); 0: no limit" },
    { .name = "tls-store.rate-limit",
      SETTING_FIELD(tls_store_options, rate_limit),
      .type = SETTING_NUMBER,
      .default_value = "100",
      .high = 1000000,
      .help = "Maximum number of chains that a worker stores in one second; further ones are not written, but counted "
              "(tls_store.limited); 0: no limit" },
    { .name = NULL },
};

struct chain_store {
    struct tls_store_options options; /* `dir` is not used after chain_store_new() */
    int folder;
    uint64_t number; /* of the last file */
    uint64_t stored; /* chains in the folder, as far as known */
    struct text text;
    _Atomic uint64_t written, full, errors;
    atomic_int error;
};

/* --- Workers -------------------------------------------------------------------------------------- */

size_t chain_record_size(const struct app_chain *chain)
{
    return sizeof(struct chain_record) + chain->length + chain->subject.length + chain->issuer.length +
           chain->fingerprint.length;
}

void chain_record_write(struct chain_record *out, const struct app_chain *chain, const struct packet *pkt,
                        const struct flow *flow, bool has_number)
{
    uint8_t *at = (uint8_t *)(out + 1);

    *out = (struct chain_record){
        .kinds = CHAIN_RECORD,
        .from_client = chain->from_client,
        .time_ns = pkt->time_ns,
        .packet_number = has_number ? pkt->number : 0,
        .endpoints = { .source = flow->client,
                       .destination = flow->server,
                       .source_port = flow->client_port,
                       .destination_port = flow->server_port,
                       .ip_version = flow->ip_version,
                       .protocol = flow->protocol },
        .chain_length = chain->length,
        .subject_length = (uint32_t)chain->subject.length,
        .issuer_length = (uint32_t)chain->issuer.length,
        .fingerprint_length = (uint32_t)chain->fingerprint.length,
    };
    at = record_append(at, chain->bytes, chain->length);
    at = record_append(at, chain->subject.at, chain->subject.length);
    at = record_append(at, chain->issuer.at, chain->issuer.length);
    record_append(at, chain->fingerprint.at, chain->fingerprint.length);
}

/* --- Contents of the files ------------------------------------------------------------------------ */

static void add_certificate(struct text *out, const uint8_t *bytes, size_t length)
{
    char line[65];

    text_puts(out, "-----BEGIN CERTIFICATE-----\n");
    for (size_t at = 0; at < length; at += PEM_LINE) {
        size_t part = length - at < PEM_LINE ? length - at : PEM_LINE, size = base64_encoded_size(part);

        base64_encode(bytes + at, part, line);
        line[size] = '\n';
        text_append(out, line, size + 1);
    }
    text_puts(out, "-----END CERTIFICATE-----\n");
}

/* Adds the certificates, each of which has its length in 3 bytes before it. A truncated one is omitted. */
static void add_chain(struct text *out, const uint8_t *bytes, size_t length)
{
    struct cursor chain = cursor_of(bytes, length);
    const uint8_t *size, *certificate;

    for (unsigned i = 0; i < PEM_CERTIFICATES && (size = cursor_read(&chain, 3)); i++) {
        uint32_t count = (uint32_t)size[0] << 16 | (uint32_t)size[1] << 8 | size[2];

        certificate = cursor_read(&chain, count);
        if (!certificate)
            break;
        add_certificate(out, certificate, count);
    }
}

static void add_line(struct text *out, const char *name, const uint8_t *value, size_t length)
{
    text_printf(out, "%-19s", name);
    text_printable(out, (const char *)value, length);
    text_puts(out, "\n");
}

static void add_address(struct text *out, const char *name, const struct address *address, int ip_version)
{
    char value[ADDRESS_TEXT_SIZE];

    address_format(address, ip_version, false, value);
    text_printf(out, "%-19s%s\n", name, value);
}

static void add_meta(struct text *out, const struct chain_record *record)
{
    const struct endpoints *ends = &record->endpoints;
    const uint8_t *subject = (const uint8_t *)(record + 1) + record->chain_length;
    const uint8_t *issuer = subject + record->subject_length, *fingerprint = issuer + record->issuer_length;
    time_t seconds = (time_t)(record->time_ns / NS_PER_SECOND);
    char day[32];
    struct tm local;

    localtime_r(&seconds, &local);
    strftime(day, sizeof(day), "%m/%d/%Y-%H:%M:%S", &local);
    text_printf(out, "%-19s%s.%06u\n", "TIME:", day, (unsigned)(record->time_ns % NS_PER_SECOND / 1000));
    if (record->packet_number > 0)
        text_printf(out, "%-19s%" PRIu64 "\n", "PCAP PKT NUM:", record->packet_number);
    add_address(out, "SRC IP:", &ends->source, ends->ip_version);
    add_address(out, "DST IP:", &ends->destination, ends->ip_version);
    text_printf(out, "%-19s%u\n", "PROTO:", (unsigned)ends->protocol);
    text_printf(out, "%-19s%u\n", "SRC PORT:", (unsigned)ends->source_port);
    text_printf(out, "%-19s%u\n", "DST PORT:", (unsigned)ends->destination_port);
    add_line(out, "TLS SUBJECT:", subject, record->subject_length);
    add_line(out, "TLS ISSUERDN:", issuer, record->issuer_length);
    add_line(out, "TLS FINGERPRINT:", fingerprint, record->fingerprint_length);
}

/* --- Files ---------------------------------------------------------------------------------------- */

/* Writes the text to a file, which has a name only when it is complete. Returns 0 or -errno; -EEXIST: there is a file
 * with this name. */
static int write_file(const struct chain_store *store, const char *name)
{
    static const char part[] = "part.tmp";
    int fd = openat(store->folder, part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640), err = 0;
    size_t done = 0;

    if (fd < 0)
        return -errno;
    while (!err && done < store->text.length) {
        ssize_t n = write(fd, store->text.bytes + done, store->text.length - done);

        if (n < 0 && errno != EINTR)
            err = -errno;
        done += n > 0 ? (size_t)n : 0;
    }
    if (close(fd) && !err)
        err = -errno;
    if (!err && renameat2(store->folder, part, store->folder, name, RENAME_NOREPLACE))
        err = -errno;
    if (err)
        unlinkat(store->folder, part, 0);
    return err;
}

static int write_chain(struct chain_store *store, const struct chain_record *record)
{
    char meta[NAME_SIZE], pem[NAME_SIZE];
    int err = -EEXIST;

    text_reset(&store->text);
    add_meta(&store->text, record);
    for (unsigned i = 0; i < SAME_NAME_MAX && err == -EEXIST && !store->text.failed; i++) {
        int length = snprintf(meta, sizeof(meta), "%s%" PRIu64 ".%" PRIu64 "-%" PRIu64 ".meta",
                              record->from_client ? "client-" : "", record->time_ns / NS_PER_SECOND,
                              record->time_ns % NS_PER_SECOND / 1000, ++store->number);

        snprintf(pem, sizeof(pem), "%.*spem", length - 4, meta);
        err = faccessat(store->folder, pem, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? -EEXIST : write_file(store, meta);
    }
    text_reset(&store->text);
    add_chain(&store->text, (const uint8_t *)(record + 1), record->chain_length);
    if (!err && !store->text.failed)
        err = write_file(store, pem);
    return store->text.failed ? -ENOMEM : err;
}

void chain_store_write(struct chain_store *store, const struct chain_record *record)
{
    int err;

    if (store->options.max_files > 0 && store->stored >= store->options.max_files) {
        counter_add(&store->full, 1);
        return;
    }
    err = write_chain(store, record);
    atomic_store_explicit(&store->error, err, memory_order_relaxed);
    counter_add(err ? &store->errors : &store->written, 1);
    store->stored += !err;
}

static uint64_t count_chains(const char *dir)
{
    struct dirent *entry;
    uint64_t count = 0;
    DIR *list = opendir(dir);

    while (list && (entry = readdir(list))) {
        size_t length = strlen(entry->d_name);

        count += length > 4 && strcmp(entry->d_name + length - 4, ".pem") == 0;
    }
    if (list)
        closedir(list);
    return count;
}

int chain_store_new(struct chain_store **out, const struct tls_store_options *options)
{
    struct chain_store *store = calloc(1, sizeof(*store));
    int err;

    if (!store)
        return -ENOMEM;
    store->options = *options;
    text_init(&store->text);
    err = folder_create(options->dir);
    store->folder = err ? -1 : open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!err && store->folder < 0)
        err = -errno;
    if (err) {
        chain_store_free(store);
        return err;
    }
    store->stored = count_chains(options->dir);
    *out = store;
    return 0;
}

void chain_store_free(struct chain_store *store)
{
    if (!store)
        return;
    if (store->folder >= 0)
        close(store->folder);
    text_clear(&store->text);
    free(store);
}

void chain_store_counters(const struct chain_store *store, struct output_chain_counters *out)
{
    *out = (struct output_chain_counters){
        .written = atomic_load_explicit(&store->written, memory_order_relaxed),
        .full = atomic_load_explicit(&store->full, memory_order_relaxed),
        .errors = atomic_load_explicit(&store->errors, memory_order_relaxed),
        .error = atomic_load_explicit(&store->error, memory_order_relaxed),
    };
}
