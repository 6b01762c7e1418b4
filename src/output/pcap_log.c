/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets in capture files (pcap-log). A worker copies a packet into its ring, and a thread writes the rings to files
 * in the format of libpcap (draft-ietf-opsawg-pcap), optionally compressed as Zstandard (RFC 8878) or LZ4 frames. When
 * a ring is full, the packet is not logged, and counted.
 *
 * Files belong to a series: all workers share one (mode normal), or each worker has its own (mode multi). Alerts name
 * the capture file of their packet, so the worker decides in which file a packet goes, before the file exists: a series
 * has the number of its current file and the size that this file will have when all its packets are written. The number
 * is the second in which the file begins; it increases with each file, also over a restart (the folder is read) and an
 * engine hand-over (the number is transferred), so that no file is overwritten. Packets of the previous file may arrive
 * behind the first ones of the current file: both files stay open.
 *
 * Packets are logged as received, also those that are dropped or rewritten. For a packet inside a tunnel or a
 * reassembled datagram, the received packet is logged: the outer packet or the last fragment.
 */
#include "pcap_log.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>
#ifdef SLUICE_LZ4
#include <lz4frame.h>
#endif

#include "output_priv.h"
#include "sluice/clock.h"
#include "sluice/folder.h"
#include "sluice/ring.h"

enum {
    IDLE_WAIT_MS = 20,
    LOSSLESS_WAIT_NS = 100 * 1000,
    SNAPLEN = 262144,
    FILE_HEADER = 24,
    PACKET_HEADER = 16,
    BUFFER_SIZE = 256 << 10,
    OPEN_FILES = 2,
    FLUSH_SECONDS = 1,
    MAX_LISTED = 100000,
    FILE_SHIFT = 32,
};

/* Numbers above are not seconds of the next decades: such files were not written by this log. */
static const uint64_t max_number = 4200000000;

static const char *const suffixes[] = { [PCAP_LOG_NONE] = "", [PCAP_LOG_ZSTD] = ".zst", [PCAP_LOG_LZ4] = ".lz4" };

struct record {
    uint64_t file, time_ns;
    uint32_t length, wire_length;
    uint32_t link; /* LINKTYPE_ of the capture file */
    uint32_t unused;
};

struct pcap_port {
    alignas(64) struct ring *ring;
    struct pcap_log *log;
    struct series *series;
    /* The packet that was logged last and its time, so that it is not logged twice. */
    const struct packet *last;
    uint64_t last_ns, last_file;
    _Atomic uint64_t packets, lost;
};

/* A file that is being written. `file` 0: none. */
struct open_file {
    uint64_t file;
    int fd; /* -1: opening or writing the file failed */
    uint32_t link;
    ZSTD_CCtx *zstd; /* NULL: another compression, or none */
#ifdef SLUICE_LZ4
    LZ4F_cctx *lz4;
#endif
    size_t used;
    uint8_t buffer[BUFFER_SIZE];
};

/* Capture files that follow each other. */
struct series {
    /* The number of the current file (0: none yet), and in the low half the size that it will have, in units of
     * 1 << unit_shift bytes: one word, so that no record is assigned to a file beyond its limit. */
    alignas(64) _Atomic uint64_t current;
    atomic_uint thread_id; /* of the worker, for %i; 0: it has not logged a packet yet */
    unsigned index;
    struct open_file
        files[OPEN_FILES]; /* used by the writing thread: the files that may be open at once, in no order */
};

struct pcap_log {
    struct pcap_log_options
        options; /* strings are copies; the file name is a template with %t, in multi with %n or %i */
    struct pcap_port *ports;
    unsigned port_count;
    struct series *series; /* one, or one for each port */
    unsigned series_count;
    unsigned unit_shift;
    bool lossless;

    /* Used by the writing thread. */
    uint8_t *compressed;
    size_t compressed_size;
    uint64_t flushed_ns;
    _Atomic uint64_t written, bytes, opened, lost, errors;
    atomic_int error;

    pthread_t thread;
    bool started;
    atomic_bool stop;
};

/* Returns the LINKTYPE_ number of the packet's capture file (tcpdump.org/linktypes.html); UINT32_MAX: the packet cannot
 * be logged. */
static uint32_t link_type(const struct packet *pkt)
{
    static const uint32_t types[] = {
        [LINK_RAW] = 101,
        [LINK_ETHERNET] = 1,
        [LINK_LINUX_SLL] = 113,
        [LINK_LINUX_SLL2] = 276,
        [LINK_NULL] = 0,
        [LINK_LOOP] = 108,
        [LINK_PPP] = 9,
        [LINK_IPV4] = 228,
        [LINK_IPV6] = 229,
        [LINK_CHDLC] = 104,
        [LINK_BRIDGE] = UINT32_MAX,
        [LINK_UNSUPPORTED] = UINT32_MAX,
    };

    return pkt->link < sizeof(types) / sizeof(types[0]) ? types[pkt->link] : UINT32_MAX;
}

/* --- Workers -------------------------------------------------------------------------------------- */

/* Returns the number of the file for a record of `size` bytes, and begins a new file if the record would exceed the
 * limit of the current one. */
static uint64_t assign_file(const struct pcap_log *log, struct series *series, size_t size, uint64_t time_ns)
{
    uint64_t before = atomic_load_explicit(&series->current, memory_order_relaxed), after;
    const uint64_t second = time_ns / NS_PER_SECOND, limit = log->options.limit >> log->unit_shift;
    const uint64_t unit = UINT64_C(1) << log->unit_shift;

    do {
        uint64_t file = before >> FILE_SHIFT, units = limit == 0 ? 0 : (size + unit - 1) >> log->unit_shift;

        after = before + units;
        if (file != 0 && (after & UINT32_MAX) <= limit && after >> FILE_SHIFT == file)
            continue;
        if (limit > 0)
            units = (FILE_HEADER + size + unit - 1) >> log->unit_shift;
        after = (second > file && second <= UINT32_MAX ? second : file + 1) << FILE_SHIFT | units;
    } while (!atomic_compare_exchange_weak_explicit(&series->current, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
    return after >> FILE_SHIFT;
}

static bool selects(const struct pcap_log *log, const struct packet *pkt, const struct decision *decision)
{
    switch (log->options.conditional) {
    case PCAP_LOG_ALERTS:
        return decision->alert_count > 0 || (pkt->flow && pkt->flow->flags & FLOW_ALERTED);
    case PCAP_LOG_TAG: /* packets in which a rule with the keyword tag matched, and packets that a tag selects */
        for (size_t i = 0; i < decision->alert_count; i++)
            if (decision->alerts[i].rule->tag)
                return true;
        return decision->tagged;
    default:
        return pkt->root == pkt || !pkt->root;
    }
}

uint64_t pcap_log_packet(struct pcap_port *port, const struct packet *pkt, const struct decision *decision)
{
    const struct timespec pause = { .tv_nsec = LOSSLESS_WAIT_NS };
    const struct packet *root = pkt->root ? pkt->root : pkt;
    struct pcap_log *log = port->log;
    uint32_t link, length;
    struct record *record;

    if (root->flags & PACKET_PSEUDO || !root->data || !selects(log, pkt, decision))
        return 0;
    if (port->last == root && port->last_ns == root->time_ns)
        return port->last_file;
    link = link_type(root);
    length = root->length < SNAPLEN ? root->length : SNAPLEN;
    record = link == UINT32_MAX ? NULL : ring_reserve(port->ring, sizeof(*record) + length);
    while (!record && link != UINT32_MAX && log->lossless && log->started) {
        nanosleep(&pause, NULL);
        record = ring_reserve(port->ring, sizeof(*record) + length);
    }
    port->last = root;
    port->last_ns = root->time_ns;
    port->last_file = 0;
    if (!record) {
        counter_add(&port->lost, 1);
        return 0;
    }
    if (log->options.mode == PCAP_LOG_MULTI &&
        atomic_load_explicit(&port->series->thread_id, memory_order_relaxed) == 0)
        atomic_store_explicit(&port->series->thread_id, (unsigned)gettid(), memory_order_relaxed);

    uint64_t number = assign_file(log, port->series, PACKET_HEADER + length, root->time_ns);

    port->last_file = (uint64_t)port->series->index << FILE_SHIFT | number;
    *record = (struct record){ .file = number,
                               .time_ns = root->time_ns,
                               .length = length,
                               .wire_length = root->wire_length > length ? root->wire_length : length,
                               .link = link };
    memcpy(record + 1, root->data, length);
    ring_commit(port->ring);
    counter_add(&port->packets, 1);
    return port->last_file;
}

void pcap_log_path(const struct pcap_log *log, uint64_t file, char *out, size_t size)
{
    const struct series *series = &log->series[file >> FILE_SHIFT];
    size_t length = (size_t)snprintf(out, size, "%s/", log->options.dir);

    for (const char *at = log->options.filename; *at && length < size; at++) {
        uint64_t value = file & UINT32_MAX;

        if (*at != '%') {
            length += (size_t)snprintf(out + length, size - length, "%c", *at);
            continue;
        }
        if (*++at != 't')
            value = *at == 'n' ? series->index : atomic_load_explicit(&series->thread_id, memory_order_relaxed);
        length += (size_t)snprintf(out + length, size - length, "%llu", (unsigned long long)value);
    }
    if (length < size)
        snprintf(out + length, size - length, "%s", suffixes[log->options.compression]);
}

/* --- Files ---------------------------------------------------------------------------------------- */

static void set_error(struct pcap_log *log, int err)
{
    atomic_store_explicit(&log->error, err, memory_order_relaxed);
    if (err)
        counter_add(&log->errors, 1);
}

static void write_bytes(struct pcap_log *log, struct open_file *file, const uint8_t *bytes, size_t length)
{
    while (length > 0 && file->fd >= 0) {
        ssize_t n = write(file->fd, bytes, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* readers could not read records behind an incomplete one, so the rest of this file is lost */
            set_error(log, n < 0 ? -errno : -EIO);
            close(file->fd);
            file->fd = -1;
            return;
        }
        counter_add(&log->bytes, (uint64_t)n);
        bytes += n;
        length -= (size_t)n;
    }
}

#ifdef SLUICE_LZ4
static LZ4F_preferences_t lz4_preferences(const struct pcap_log *log)
{
    return (LZ4F_preferences_t){
        .frameInfo = { .blockSizeID = LZ4F_max256KB,
                       .contentChecksumFlag =
                           log->options.lz4_checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum },
        .compressionLevel = (int)log->options.lz4_level,
        .autoFlush = 1, /* each LZ4F_compressUpdate() ends a block */
    };
}

/* Writes the result of a function of liblz4: a length of bytes in `compressed`, or an error. */
static void write_lz4(struct pcap_log *log, struct open_file *file, size_t length)
{
    if (LZ4F_isError(length)) {
        set_error(log, -ENOMEM);
        close(file->fd);
        file->fd = -1;
        return;
    }
    write_bytes(log, file, log->compressed, length);
}
#endif

/* Writes the buffer of the file; with `how` ZSTD_e_end the compressed frame ends. An LZ4 frame has a block for each
 * call, so that a reader can decompress everything that was written when the engine is killed. */
static void flush_file(struct pcap_log *log, struct open_file *file, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = { .src = file->buffer, .size = file->used };
    size_t left;

    if (file->fd >= 0 && log->options.compression == PCAP_LOG_NONE)
        write_bytes(log, file, file->buffer, file->used);
    for (; file->fd >= 0 && file->zstd;) {
        ZSTD_outBuffer out = { .dst = log->compressed, .size = log->compressed_size };

        left = ZSTD_compressStream2(file->zstd, &out, &in, how);
        write_bytes(log, file, log->compressed, out.pos);
        if (ZSTD_isError(left) || (left == 0 && in.pos == in.size))
            break;
    }
#ifdef SLUICE_LZ4
    if (file->fd >= 0 && file->lz4 && file->used > 0)
        write_lz4(
            log, file,
            LZ4F_compressUpdate(file->lz4, log->compressed, log->compressed_size, file->buffer, file->used, NULL));
    if (file->fd >= 0 && file->lz4 && how == ZSTD_e_end)
        write_lz4(log, file, LZ4F_compressEnd(file->lz4, log->compressed, log->compressed_size, NULL));
#endif
    file->used = 0;
}

static void put(struct pcap_log *log, struct open_file *file, const void *bytes, size_t length)
{
    while (length > 0) {
        size_t part = BUFFER_SIZE - file->used < length ? BUFFER_SIZE - file->used : length;

        memcpy(file->buffer + file->used, bytes, part);
        file->used += part;
        bytes = (const uint8_t *)bytes + part;
        length -= part;
        if (file->used == BUFFER_SIZE)
            flush_file(log, file, ZSTD_e_continue);
    }
}

static void close_file(struct pcap_log *log, struct open_file *file)
{
    if (file->file == 0)
        return;
    flush_file(log, file, ZSTD_e_end);
    if (file->fd >= 0)
        close(file->fd);
    if (file->zstd)
        ZSTD_CCtx_reset(file->zstd, ZSTD_reset_session_only);
    file->file = 0;
}

/* --- Files of this and of earlier runs ------------------------------------------------------------------ */

struct listed_file {
    uint64_t number;
    char *name;
};

static int compare_numbers(const void *left, const void *right)
{
    const struct listed_file *a = left, *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

static bool template_has(const struct pcap_log *log, char variable)
{
    const char *at = log->options.filename;

    while ((at = strchr(at, '%')) && at[1] != variable)
        at += 2;
    return at != NULL;
}

/* Reads the number and the worker of a file name. Returns false if the name is not one of a capture file. Files of
 * other compressions are included: the setting may have changed. */
static bool parse_name(const struct pcap_log *log, const char *name, uint64_t *number, uint64_t *worker)
{
    const char *at = log->options.filename;

    *number = *worker = 0;
    for (; *at; at++) {
        uint64_t value;
        char *end;

        if (*at != '%') {
            if (*name++ != *at)
                return false;
            continue;
        }
        if (!isdigit((unsigned char)*name))
            return false;
        value = strtoull(name, &end, 10);
        name = end;
        if (*++at == 't')
            *number = value;
        else if (*at == 'n')
            *worker = value;
    }
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (strcmp(name, suffixes[i]) == 0)
            return *number <= max_number;
    return false;
}

/* Lists the files of a series. Without %n in the name, all files belong to each series. Those of workers that no longer
 * exist belong to one of the others. */
static size_t list_files(const struct pcap_log *log, const struct series *series, struct listed_file **out)
{
    const bool has_worker = template_has(log, 'n');
    struct listed_file *files = NULL;
    size_t count = 0, room = 0;
    struct dirent *entry;
    DIR *list = opendir(log->options.dir);

    while (list && count < MAX_LISTED && (entry = readdir(list))) {
        uint64_t number, worker;

        if (!parse_name(log, entry->d_name, &number, &worker) ||
            (has_worker && worker % log->series_count != series->index))
            continue;
        if (count == room) {
            struct listed_file *more = realloc(files, (room = room ? 2 * room : 64) * sizeof(*files));

            if (!more)
                break;
            files = more;
        }
        files[count] = (struct listed_file){ .number = number, .name = strdup(entry->d_name) };
        if (!files[count].name)
            break;
        count++;
    }
    if (list)
        closedir(list);
    if (count > 0)
        qsort(files, count, sizeof(*files), compare_numbers);
    *out = files;
    return count;
}

static void free_list(struct listed_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(files[i].name);
    free(files);
}

/* Removes the oldest files of the series, of this run and of earlier ones, and keeps max_files. */
static void remove_oldest(const struct pcap_log *log, const struct series *series)
{
    struct listed_file *files;
    size_t count = list_files(log, series, &files), keep = log->options.max_files;
    char path[PATH_MAX];

    if (!template_has(log, 'n'))
        keep *= log->series_count;
    for (size_t i = 0; i + keep < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", log->options.dir, files[i].name);
        unlink(path); /* an error is ignored: the next file tries again */
    }
    free_list(files, count);
}

/* The next file of the series gets a number above `number`. */
static void begin_after(struct series *series, uint64_t number)
{
    uint64_t before = atomic_load_explicit(&series->current, memory_order_relaxed);
    const uint64_t full = number << FILE_SHIFT | UINT32_MAX;

    while (before < full && !atomic_compare_exchange_weak_explicit(&series->current, &before, full,
                                                                   memory_order_relaxed, memory_order_relaxed))
        continue;
}

/* The next file of the series gets a number above those of all existing files. */
static void begin_after_existing(const struct pcap_log *log, struct series *series)
{
    struct listed_file *files;
    size_t count = list_files(log, series, &files);

    if (count > 0)
        begin_after(series, files[count - 1].number);
    free_list(files, count);
}

/* Opens the capture file of the record, and closes the older one of the two open files for it. */
static struct open_file *open_file(struct pcap_log *log, struct series *series, const struct record *record)
{
    struct open_file *file = &series->files[series->files[0].file <= series->files[1].file ? 0 : 1];
    const struct {
        uint32_t magic;
        uint16_t major, minor;
        uint32_t zone, accuracy, snaplen, link;
    } header = { .magic = 0xa1b2c3d4, .major = 2, .minor = 4, .snaplen = SNAPLEN, .link = record->link };
    char path[PATH_MAX];

    close_file(log, file);
    pcap_log_path(log, (uint64_t)series->index << FILE_SHIFT | record->file, path, sizeof(path));
    file->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
    file->file = record->file;
    file->link = record->link;
    set_error(log, file->fd < 0 ? -errno : 0);
    if (file->fd < 0) {
        if (errno == EEXIST) /* another process has created it: continue with a file that does not exist */
            begin_after_existing(log, series);
        return file;
    }
    counter_add(&log->opened, 1);
#ifdef SLUICE_LZ4
    if (file->lz4) {
        const LZ4F_preferences_t preferences = lz4_preferences(log);

        write_lz4(log, file, LZ4F_compressBegin(file->lz4, log->compressed, log->compressed_size, &preferences));
    }
#endif
    put(log, file, &header, sizeof(header));
    if (log->options.max_files > 0)
        remove_oldest(log, series);
    return file;
}

static void write_record(struct pcap_log *log, struct series *series, const struct record *record)
{
    struct open_file *file = NULL, *files = series->files;
    uint64_t newest = files[0].file > files[1].file ? files[0].file : files[1].file;
    const uint32_t header[] = { (uint32_t)(record->time_ns / NS_PER_SECOND),
                                (uint32_t)(record->time_ns % NS_PER_SECOND / 1000), record->length,
                                record->wire_length };

    for (int i = 0; i < OPEN_FILES; i++)
        if (files[i].file == record->file)
            file = &files[i];
    if (!file && record->file > newest)
        file = open_file(log, series, record);
    if (!file || file->fd < 0 || file->link != record->link) {
        counter_add(&log->lost, 1);
        return;
    }
    put(log, file, header, sizeof(header));
    put(log, file, record + 1, record->length);
    counter_add(&log->written, 1);
}

/* --- The thread ----------------------------------------------------------------------------------- */

static void *run(void *argument)
{
    struct pcap_log *log = argument;

    pthread_setname_np(pthread_self(), "sluice-pcap");
    for (;;) {
        bool stop = atomic_load(&log->stop), found = false;
        uint64_t oldest = UINT64_MAX;
        size_t size;

        /* Write the records of the oldest file in all rings of a series first, because few files are open at once. */
        for (unsigned i = 0; log->series_count == 1 && i < log->port_count; i++) {
            struct ring *ring = log->ports[i].ring;

            if (ring_released(ring) < ring_published(ring)) {
                uint64_t file = ((const struct record *)ring_peek(ring, &size))->file;

                oldest = file < oldest ? file : oldest;
            }
        }
        for (unsigned i = 0; i < log->port_count; i++) {
            struct ring *ring = log->ports[i].ring;
            uint64_t end = ring_published(ring);

            for (; ring_released(ring) < end; found = true) {
                const struct record *record = ring_peek(ring, &size);

                if (record->file > oldest)
                    break;
                write_record(log, log->ports[i].series, record);
                ring_release(ring);
            }
        }
        if (stop && !found)
            break;
        if (clock_monotonic_ns() - log->flushed_ns > FLUSH_SECONDS * NS_PER_SECOND) {
            for (unsigned i = 0; i < OPEN_FILES * log->series_count; i++) {
                struct open_file *file = &log->series[i / OPEN_FILES].files[i % OPEN_FILES];

                if (file->file != 0 && file->used > 0)
                    flush_file(log, file, ZSTD_e_flush);
            }
            log->flushed_ns = clock_monotonic_ns();
        }
        if (!found)
            poll(NULL, 0, IDLE_WAIT_MS);
    }
    for (unsigned i = 0; i < OPEN_FILES * log->series_count; i++)
        close_file(log, &log->series[i / OPEN_FILES].files[i % OPEN_FILES]);
    return NULL;
}

/* Completes the template of file names: every name contains its number, and in mode multi its worker. */
static int copy_template(struct pcap_log *log, const char *name)
{
    char *template = NULL;
    bool has_worker;

    log->options.filename = name;
    has_worker = log->options.mode == PCAP_LOG_NORMAL || template_has(log, 'n') || template_has(log, 'i');
    if (asprintf(&template, "%s%s%s", name, has_worker ? "" : ".%n", template_has(log, 't') ? "" : ".%t") < 0)
        template = NULL;
    log->options.filename = template;
    return template ? 0 : -ENOMEM;
}

/* Allocates the compressors of a file. */
static int prepare_file(struct pcap_log *log, struct open_file *file)
{
    file->fd = -1;
    if (log->options.compression == PCAP_LOG_ZSTD && !(file->zstd = ZSTD_createCCtx()))
        return -ENOMEM;
    if (log->options.compression != PCAP_LOG_LZ4)
        return 0;
#ifdef SLUICE_LZ4
    return LZ4F_isError(LZ4F_createCompressionContext(&file->lz4, LZ4F_VERSION)) ? -ENOMEM : 0;
#else
    return -EOPNOTSUPP;
#endif
}

int pcap_log_new(struct pcap_log **out, const struct pcap_log_options *options, unsigned ports, bool lossless)
{
    struct pcap_log *log = calloc(1, sizeof(*log));
    unsigned series_count = options->mode == PCAP_LOG_MULTI ? ports : 1;
    int err;

    if (!log)
        return -ENOMEM;
    log->options = *options;
    log->options.dir = strdup(options->dir);
    err = copy_template(log, options->filename);
    while (options->limit >> log->unit_shift > UINT32_MAX)
        log->unit_shift++;
    log->lossless = lossless;
    log->compressed_size = ZSTD_CStreamOutSize();
#ifdef SLUICE_LZ4
    const LZ4F_preferences_t preferences = lz4_preferences(log);

    if (options->compression == PCAP_LOG_LZ4)
        log->compressed_size = LZ4F_HEADER_SIZE_MAX + LZ4F_compressBound(BUFFER_SIZE, &preferences);
#endif
    log->compressed = malloc(log->compressed_size);
    log->ports = aligned_alloc(64, (ports + 1) * sizeof(*log->ports));
    log->series = aligned_alloc(64, (series_count + 1) * sizeof(*log->series));
    if (!err)
        err = log->options.dir && log->compressed && log->ports && log->series ? 0 : -ENOMEM;
    for (; !err && log->series_count < series_count; log->series_count++) {
        struct series *series = &log->series[log->series_count];

        memset(series, 0, sizeof(*series));
        series->index = log->series_count;
        err = prepare_file(log, &series->files[0]);
        if (!err)
            err = prepare_file(log, &series->files[1]);
    }
    for (; !err && log->port_count < ports; log->port_count++) {
        struct pcap_port *port = &log->ports[log->port_count];

        *port = (struct pcap_port){ .log = log, .series = &log->series[series_count > 1 ? log->port_count : 0] };
        err = ring_new(&port->ring, options->buffer_size);
        if (err)
            break;
    }
    if (!err)
        err = folder_create(log->options.dir);
    for (unsigned i = 0; !err && i < series_count; i++)
        begin_after_existing(log, &log->series[i]);
    if (err) {
        pcap_log_free(log);
        return err;
    }
    *out = log;
    return 0;
}

uint64_t pcap_log_newest(const struct pcap_log *log)
{
    uint64_t newest = 0;

    for (unsigned i = 0; i < log->series_count; i++) {
        uint64_t number = atomic_load_explicit(&log->series[i].current, memory_order_relaxed) >> FILE_SHIFT;

        newest = number > newest ? number : newest;
    }
    return newest;
}

void pcap_log_begin_after(struct pcap_log *log, uint64_t number)
{
    for (unsigned i = 0; number <= max_number && i < log->series_count; i++)
        begin_after(&log->series[i], number);
}

int pcap_log_start(struct pcap_log *log)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&log->thread, NULL, run, log);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    log->started = err == 0;
    return -err;
}

void pcap_log_stop(struct pcap_log *log)
{
    if (atomic_exchange(&log->stop, true))
        return;
    if (log->started)
        pthread_join(log->thread, NULL);
    else
        run(log);
    log->started = false;
}

void pcap_log_free(struct pcap_log *log)
{
    if (!log)
        return;
    if (log->started)
        pcap_log_stop(log);
    for (unsigned i = 0; i < log->port_count; i++)
        ring_free(log->ports[i].ring);
    for (unsigned i = 0; i < OPEN_FILES * log->series_count; i++) {
        struct open_file *file = &log->series[i / OPEN_FILES].files[i % OPEN_FILES];

        if (file->file != 0 && file->fd >= 0)
            close(file->fd);
        ZSTD_freeCCtx(file->zstd);
#ifdef SLUICE_LZ4
        LZ4F_freeCompressionContext(file->lz4);
#endif
    }
    free(log->series);
    free(log->ports);
    free(log->compressed);
    free((char *)log->options.dir);
    free((char *)log->options.filename);
    free(log);
}

struct pcap_port *pcap_log_port(struct pcap_log *log, unsigned worker)
{
    return &log->ports[worker];
}

void pcap_log_counters(const struct pcap_log *log, struct output_pcap_counters *out)
{
    *out = (struct output_pcap_counters){
        .written = atomic_load_explicit(&log->written, memory_order_relaxed),
        .bytes = atomic_load_explicit(&log->bytes, memory_order_relaxed),
        .files = atomic_load_explicit(&log->opened, memory_order_relaxed),
        .lost = atomic_load_explicit(&log->lost, memory_order_relaxed),
        .errors = atomic_load_explicit(&log->errors, memory_order_relaxed),
        .error = atomic_load_explicit(&log->error, memory_order_relaxed),
    };
    for (unsigned i = 0; i < log->port_count; i++) {
        out->packets += atomic_load_explicit(&log->ports[i].packets, memory_order_relaxed);
        out->lost += atomic_load_explicit(&log->ports[i].lost, memory_order_relaxed);
    }
    out->packets += out->lost;
}
