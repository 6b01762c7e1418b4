/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets in capture files (pcap-log). A worker copies a packet into its ring, and a thread writes the rings to files
 * in the format of libpcap (draft-ietf-opsawg-pcap), optionally compressed as Zstandard frames (RFC 8878). When a ring
 * is full, the packet is not logged, and counted.
 *
 * Alerts name the capture file of their packet, so the worker decides in which file a packet goes, before the file
 * exists: workers share the number of the current file and the size that it will have when all its packets are written.
 * The number is the second in which the file begins; it increases with each file. Packets of the previous file may
 * arrive behind the first ones of the current file: both files stay open.
 *
 * Packets are logged as received, also those that are dropped or rewritten. For a packet inside a tunnel or a
 * reassembled datagram, the received packet is logged: the outer packet or the last fragment.
 */
#include "pcap_log.h"

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

struct record {
    uint64_t file, time_ns;
    uint32_t length, wire_length;
    uint32_t link; /* LINKTYPE_ of the capture file */
    uint32_t unused;
};

struct pcap_port {
    alignas(64) struct ring *ring;
    struct pcap_log *log;
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
    ZSTD_CCtx *compressor;
    size_t used;
    uint8_t buffer[BUFFER_SIZE];
};

struct pcap_log {
    struct pcap_log_options options; /* strings are copies */
    struct pcap_port *ports;
    unsigned port_count;
    bool lossless;

    /* Shared by the workers. */
    /* The number of the current file (0: none yet), and in the low half the size that it will have, in units of
     * 1 << unit_shift bytes: one word, so that no record is assigned to a file beyond its limit. */
    alignas(64) _Atomic uint64_t current;
    unsigned unit_shift;

    /* Used by the writing thread. */
    struct open_file files[OPEN_FILES]; /* the files that may be open at once, in no order */
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
static uint64_t assign_file(struct pcap_log *log, size_t size, uint64_t time_ns)
{
    uint64_t before = atomic_load_explicit(&log->current, memory_order_relaxed), after;
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
    } while (!atomic_compare_exchange_weak_explicit(&log->current, &before, after, memory_order_relaxed,
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
    port->last_file = assign_file(log, PACKET_HEADER + length, root->time_ns);
    *record = (struct record){ .file = port->last_file,
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
    snprintf(out, size, "%s/%s.%llu%s", log->options.dir, log->options.filename, (unsigned long long)file,
             log->options.compression == PCAP_LOG_ZSTD ? ".zst" : "");
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

/* Writes the buffer of the file; with `how` ZSTD_e_end the compressed frame ends. */
static void flush_file(struct pcap_log *log, struct open_file *file, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = { .src = file->buffer, .size = file->used };
    size_t left;

    if (file->fd >= 0 && !file->compressor)
        write_bytes(log, file, file->buffer, file->used);
    for (; file->fd >= 0 && file->compressor;) {
        ZSTD_outBuffer out = { .dst = log->compressed, .size = log->compressed_size };

        left = ZSTD_compressStream2(file->compressor, &out, &in, how);
        write_bytes(log, file, log->compressed, out.pos);
        if (ZSTD_isError(left) || (left == 0 && in.pos == in.size))
            break;
    }
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
    if (file->compressor)
        ZSTD_CCtx_reset(file->compressor, ZSTD_reset_session_only);
    file->file = 0;
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* Removes the oldest capture files, and keeps max_files. */
static void remove_oldest(const struct pcap_log *log)
{
    const char *base = log->options.filename, *suffix = log->options.compression == PCAP_LOG_ZSTD ? ".zst" : "";
    size_t length = strlen(base), count = 0;
    uint64_t *numbers = NULL;
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *list = opendir(log->options.dir);

    while (list && count < MAX_LISTED && (entry = readdir(list))) {
        char *end;
        uint64_t number, *more;

        if (strncmp(entry->d_name, base, length) != 0 || entry->d_name[length] != '.' ||
            entry->d_name[length + 1] < '0' || entry->d_name[length + 1] > '9')
            continue;
        number = strtoull(entry->d_name + length + 1, &end, 10);
        if (strcmp(end, suffix) != 0)
            continue;
        more = realloc(numbers, (count + 1) * sizeof(*numbers));
        if (!more)
            break;
        numbers = more;
        numbers[count++] = number;
    }
    if (count > 0)
        qsort(numbers, count, sizeof(*numbers), compare_numbers);
    for (size_t i = 0; i + log->options.max_files < count; i++) {
        pcap_log_path(log, numbers[i], path, sizeof(path));
        unlink(path); /* an error is ignored: the next file tries again */
    }
    free(numbers);
    if (list)
        closedir(list);
}

/* Opens the capture file of the record, and closes the older one of the two open files for it. */
static struct open_file *open_file(struct pcap_log *log, const struct record *record)
{
    struct open_file *file = &log->files[log->files[0].file <= log->files[1].file ? 0 : 1];
    const struct {
        uint32_t magic;
        uint16_t major, minor;
        uint32_t zone, accuracy, snaplen, link;
    } header = { .magic = 0xa1b2c3d4, .major = 2, .minor = 4, .snaplen = SNAPLEN, .link = record->link };
    struct stat status = { .st_size = 0 };
    char path[PATH_MAX];

    close_file(log, file);
    pcap_log_path(log, record->file, path, sizeof(path));
    /* The file exists if an earlier engine began it in the same second: continue it. */
    file->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0640);
    file->file = record->file;
    file->link = record->link;
    set_error(log, file->fd < 0 ? -errno : 0);
    if (file->fd < 0)
        return file;
    counter_add(&log->opened, 1);
    if (fstat(file->fd, &status) || status.st_size == 0)
        put(log, file, &header, sizeof(header));
    if (log->options.max_files > 0)
        remove_oldest(log);
    return file;
}

static void write_record(struct pcap_log *log, const struct record *record)
{
    struct open_file *file = NULL;
    uint64_t newest = log->files[0].file > log->files[1].file ? log->files[0].file : log->files[1].file;
    const uint32_t header[] = { (uint32_t)(record->time_ns / NS_PER_SECOND),
                                (uint32_t)(record->time_ns % NS_PER_SECOND / 1000), record->length,
                                record->wire_length };

    for (int i = 0; i < OPEN_FILES; i++)
        if (log->files[i].file == record->file)
            file = &log->files[i];
    if (!file && record->file > newest)
        file = open_file(log, record);
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

        /* Write the records of the oldest file in all rings first, because few files are open at once. */
        for (unsigned i = 0; i < log->port_count; i++) {
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
                write_record(log, record);
                ring_release(ring);
            }
        }
        if (stop && !found)
            break;
        if (clock_monotonic_ns() - log->flushed_ns > FLUSH_SECONDS * NS_PER_SECOND) {
            for (int i = 0; i < OPEN_FILES; i++)
                if (log->files[i].file != 0 && log->files[i].used > 0)
                    flush_file(log, &log->files[i], ZSTD_e_flush);
            log->flushed_ns = clock_monotonic_ns();
        }
        if (!found)
            poll(NULL, 0, IDLE_WAIT_MS);
    }
    for (int i = 0; i < OPEN_FILES; i++)
        close_file(log, &log->files[i]);
    return NULL;
}

int pcap_log_new(struct pcap_log **out, const struct pcap_log_options *options, unsigned ports, bool lossless)
{
    struct pcap_log *log = aligned_alloc(64, (sizeof(*log) + 63) / 64 * 64);
    int err;

    if (!log)
        return -ENOMEM;
    memset(log, 0, sizeof(*log));
    log->options = *options;
    log->options.dir = strdup(options->dir);
    log->options.filename = strdup(options->filename);
    while (options->limit >> log->unit_shift > UINT32_MAX)
        log->unit_shift++;
    log->lossless = lossless;
    log->files[0].fd = log->files[1].fd = -1;
    log->compressed_size = ZSTD_CStreamOutSize();
    log->compressed = malloc(log->compressed_size);
    log->ports = aligned_alloc(64, (ports + 1) * sizeof(*log->ports));
    err = log->options.dir && log->options.filename && log->compressed && log->ports ? 0 : -ENOMEM;
    for (int i = 0; !err && options->compression == PCAP_LOG_ZSTD && i < OPEN_FILES; i++) {
        log->files[i].compressor = ZSTD_createCCtx();
        err = log->files[i].compressor ? 0 : -ENOMEM;
    }
    for (; !err && log->port_count < ports; log->port_count++) {
        log->ports[log->port_count] = (struct pcap_port){ .log = log };
        err = ring_new(&log->ports[log->port_count].ring, options->buffer_size);
        if (err)
            break;
    }
    if (!err)
        err = folder_create(log->options.dir);
    if (err) {
        pcap_log_free(log);
        return err;
    }
    *out = log;
    return 0;
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
    for (int i = 0; i < OPEN_FILES; i++) {
        if (log->files[i].file != 0 && log->files[i].fd >= 0)
            close(log->files[i].fd);
        ZSTD_freeCCtx(log->files[i].compressor);
    }
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
