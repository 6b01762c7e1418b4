/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the lists of hosts and networks to block (list_reader.h). */
#include "list_reader.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sluice/diag.h"
#include "sluice/firewall.h"
#include "sluice/folder.h"
#include "sluice/log.h"
#include "sluice/setup.h"

enum { SHOWN_MISTAKES = 5 };

/* A copy of struct block_lists_options, because the configuration may be replaced while the thread reads. */
struct list_settings {
    struct block_lists_options options;
    char folder[PATH_MAX], *geoip_database, **files, **countries;
    size_t max_networks;
};

struct list_reader {
    const struct block_exemptions *never;
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex;
    pthread_cond_t wake;

    /* protected by the mutex */
    struct list_settings *newer;          /* settings for the next reading; NULL: no change */
    uint64_t wanted, ready_reading, done; /* numbers of readings: last requested, in `ready`, last finished */
    struct range_list ready[2];
    struct block_entries hosts; /* hosts that the thread will write to the file */
    bool has_ready, has_hosts, stop;
    char error[FIREWALL_ERROR_SIZE]; /* why the networks of the last reading are not blocked; "": they are */
    struct block_lists lists;        /* written by the thread only */
    size_t network_count[2];

    /* used by the thread only */
    struct list_settings *settings;
    uint64_t next; /* Unix time when the next entry ends; 0: none */
    bool folder_failed;
};

/* --- Settings ------------------------------------------------------------------------------------- */

static void free_strings(char **strings)
{
    for (char **at = strings; at && *at; at++)
        free(*at);
    free(strings);
}

/* Copies a NULL-terminated list. Returns NULL when out of memory. */
static char **copy_strings(const char *const *strings)
{
    size_t count = 0;
    char **copy;

    while (strings[count])
        count++;
    copy = calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = strdup(strings[i]);
        if (!copy[i]) {
            free_strings(copy);
            return NULL;
        }
    }
    return copy;
}

static void free_settings(struct list_settings *settings)
{
    if (!settings)
        return;
    free_strings(settings->files);
    free_strings(settings->countries);
    free(settings->geoip_database);
    free(settings);
}

static struct list_settings *read_settings(const struct config *config)
{
    struct list_settings *settings = calloc(1, sizeof(*settings));
    struct firewall_settings firewall;
    struct block_lists_options *options;

    if (!settings)
        return NULL;
    options = &settings->options;
    setup_block_lists(options, config, settings->folder);
    firewall_settings_read(config, &firewall);
    settings->max_networks = firewall.max_networks;
    settings->files = copy_strings(options->files);
    settings->countries = copy_strings(options->countries);
    settings->geoip_database = options->geoip_database ? strdup(options->geoip_database) : NULL;
    if (!settings->files || !settings->countries || (options->geoip_database && !settings->geoip_database)) {
        free_settings(settings);
        return NULL;
    }
    options->files = (const char *const *)settings->files;
    options->countries = (const char *const *)settings->countries;
    options->geoip_database = settings->geoip_database;
    return settings;
}

/* --- Reading -------------------------------------------------------------------------------------- */

static void log_mistakes(const struct diag *diag)
{
    size_t count = diag_count(diag);

    for (size_t i = 0; i < count && i < SHOWN_MISTAKES; i++) {
        const struct diag_entry *entry = diag_get(diag, i);

        if (entry->line > 0)
            log_warning("blocklist: %s:%u: %s", entry->file, (unsigned)entry->line, entry->message);
        else
            log_warning("blocklist: %s: %s", entry->file ? entry->file : "", entry->message);
    }
    if (count > SHOWN_MISTAKES)
        log_warning("blocklist: %zu more lines of lists were left out; `sluice check` shows them all",
                    count - SHOWN_MISTAKES);
}

/* Removes the addresses that must never be blocked. */
static int spare_exempt(const struct list_reader *reader, struct range_list networks[2])
{
    int err = 0;

    for (unsigned i = 0; i < 2 && !err; i++) {
        struct range_list never = { .count = 0 };

        err = block_exemptions_ranges(reader->never, i == 0 ? 4 : 6, &never);
        if (!err)
            err = range_list_subtract(&networks[i], &never);
        range_list_clear(&never);
    }
    return err;
}

/* Merges the lists, and makes the result available for the firewall thread. Called with the mutex unlocked. */
static int publish(struct list_reader *reader, uint64_t reading)
{
    const size_t most = reader->settings->max_networks;
    struct range_list networks[2] = { { .count = 0 }, { .count = 0 } };
    int err = block_lists_merge(&reader->lists, (uint64_t)time(NULL), networks, &reader->next);

    if (!err)
        err = spare_exempt(reader, networks);
    pthread_mutex_lock(&reader->mutex);
    if (!err && (networks[0].count > most || networks[1].count > most)) {
        snprintf(reader->error, sizeof(reader->error),
                 "the lists have %zu IPv4 and %zu IPv6 networks, more than nft.blocklist.networks (%zu): the networks "
                 "that were blocked before stay blocked",
                 networks[0].count, networks[1].count, most);
        log_error("blocklist: %s", reader->error);
        reader->done = reading;
    } else if (!err) {
        for (unsigned i = 0; i < 2; i++) {
            range_list_clear(&reader->ready[i]);
            reader->ready[i] = networks[i];
            reader->network_count[i] = networks[i].count;
            networks[i] = (struct range_list){ .count = 0 };
        }
        reader->has_ready = true;
        reader->ready_reading = reading;
    }
    pthread_mutex_unlock(&reader->mutex);
    range_list_clear(&networks[0]);
    range_list_clear(&networks[1]);
    return err;
}

/* Reads all lists and publishes their networks. Called with the mutex unlocked. */
static int read_lists(struct list_reader *reader, uint64_t reading)
{
    struct diag *diag = diag_new();
    struct block_lists lists, old;
    int err = diag ? block_lists_read(&lists, &reader->settings->options, &reader->lists, diag) : -ENOMEM;

    if (diag)
        log_mistakes(diag);
    diag_free(diag);
    if (err)
        return err;
    pthread_mutex_lock(&reader->mutex);
    old = reader->lists;
    reader->lists = lists;
    pthread_mutex_unlock(&reader->mutex);
    block_lists_clear(&old);
    return publish(reader, reading);
}

static void write_hosts(struct list_reader *reader, const char *folder, const struct block_entries *hosts)
{
    int err = folder_create(folder);

    if (!err)
        err = block_file_write(folder, BLOCK_HOSTS,
                               "Blocked hosts, written by Sluice to block them again after a restart", hosts);
    if (err && !reader->folder_failed)
        log_error("cannot save the blocked hosts in %s: %s; they will not be blocked after a restart", folder,
                  strerror(-err));
    reader->folder_failed = err != 0;
}

static void *run_thread(void *argument)
{
    struct list_reader *reader = argument;
    uint64_t reading = reader->ready_reading; /* the reading that list_reader_new() has done */

    pthread_setname_np(pthread_self(), "sluice-lists");
    pthread_mutex_lock(&reader->mutex);
    while (!reader->stop || reader->has_hosts) {
        const bool ended = reader->next > 0 && reader->next <= (uint64_t)time(NULL);

        if (reader->has_hosts) {
            struct block_entries hosts = reader->hosts;

            reader->hosts = (struct block_entries){ .count = 0 };
            reader->has_hosts = false;
            pthread_mutex_unlock(&reader->mutex);
            if (reader->settings->options.folder)
                write_hosts(reader, reader->settings->options.folder, &hosts);
            block_entries_clear(&hosts);
            pthread_mutex_lock(&reader->mutex);
        } else if (reader->wanted != reading || ended) {
            const bool again = reader->wanted != reading;
            int err;

            reading = reader->wanted;
            if (reader->newer) {
                free_settings(reader->settings);
                reader->settings = reader->newer;
                reader->newer = NULL;
            }
            pthread_mutex_unlock(&reader->mutex);
            err = again ? read_lists(reader, reading) : publish(reader, reading);
            pthread_mutex_lock(&reader->mutex);
            if (err) {
                reader->done = reading;
                reader->next = 0;
                snprintf(reader->error, sizeof(reader->error), "out of memory");
                log_error("blocklist: out of memory while the lists were read: the networks that were blocked before "
                          "stay blocked");
            }
        } else if (reader->next > 0) {
            const struct timespec until = { .tv_sec = (time_t)reader->next };

            pthread_cond_timedwait(&reader->wake, &reader->mutex, &until);
        } else {
            pthread_cond_wait(&reader->wake, &reader->mutex);
        }
    }
    pthread_mutex_unlock(&reader->mutex);
    return NULL;
}

/* --- Main thread ---------------------------------------------------------------------------------- */

int list_reader_new(struct list_reader **out, const struct config *config, const struct block_exemptions *never)
{
    struct list_reader *reader = calloc(1, sizeof(*reader));
    int err;

    if (!reader)
        return -ENOMEM;
    reader->never = never;
    pthread_mutex_init(&reader->mutex, NULL);
    pthread_cond_init(&reader->wake, NULL);
    reader->settings = read_settings(config);
    reader->wanted = 1;
    err = reader->settings ? read_lists(reader, reader->wanted) : -ENOMEM;
    if (err)
        list_reader_free(reader);
    else
        *out = reader;
    return err;
}

int list_reader_start(struct list_reader *reader)
{
    sigset_t all, before;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = -pthread_create(&reader->thread, NULL, run_thread, reader);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    reader->started = !err;
    return err;
}

void list_reader_free(struct list_reader *reader)
{
    if (!reader)
        return;
    if (reader->started) {
        pthread_mutex_lock(&reader->mutex);
        reader->stop = true;
        pthread_cond_signal(&reader->wake);
        pthread_mutex_unlock(&reader->mutex);
        pthread_join(reader->thread, NULL);
    }
    block_lists_clear(&reader->lists);
    block_entries_clear(&reader->hosts);
    range_list_clear(&reader->ready[0]);
    range_list_clear(&reader->ready[1]);
    free_settings(reader->settings);
    free_settings(reader->newer);
    pthread_cond_destroy(&reader->wake);
    pthread_mutex_destroy(&reader->mutex);
    free(reader);
}

uint64_t list_reader_reread(struct list_reader *reader, const struct config *config)
{
    struct list_settings *newer = config ? read_settings(config) : NULL;
    uint64_t reading;

    if (config && !newer)
        return 0;
    pthread_mutex_lock(&reader->mutex);
    if (newer) {
        free_settings(reader->newer);
        reader->newer = newer;
    }
    reading = ++reader->wanted;
    pthread_cond_signal(&reader->wake);
    pthread_mutex_unlock(&reader->mutex);
    return reading;
}

void list_reader_describe(struct list_reader *reader, struct text *out)
{
    pthread_mutex_lock(&reader->mutex);
    json_object_open(out, NULL);
    json_uint(out, "wanted", reader->wanted);
    json_uint(out, "done", reader->done);
    if (reader->error[0])
        json_string(out, "error", reader->error);
    json_object_open(out, "networks");
    json_uint(out, "ipv4", reader->network_count[0]);
    json_uint(out, "ipv6", reader->network_count[1]);
    json_object_close(out);
    json_array_open(out, "lists");
    for (size_t i = 0; i < reader->lists.count; i++) {
        const struct block_list *list = &reader->lists.list[i];

        json_object_open(out, NULL);
        json_string(out, "kind", block_list_kind_name(list->kind));
        json_string(out, "name", list->name);
        json_uint(out, "entries", list->entries.count);
        json_uint(out, "left_out", list->entries.skipped);
        json_bool(out, "failed", list->failed);
        json_object_close(out);
    }
    json_array_close(out);
    json_object_close(out);
    pthread_mutex_unlock(&reader->mutex);
}

/* --- Firewall thread ------------------------------------------------------------------------------ */

uint64_t list_reader_take(struct list_reader *reader, struct range_list networks[2])
{
    uint64_t reading = 0;

    pthread_mutex_lock(&reader->mutex);
    if (reader->has_ready) {
        reading = reader->ready_reading;
        memcpy(networks, reader->ready, sizeof(reader->ready));
        memset(reader->ready, 0, sizeof(reader->ready));
        reader->has_ready = false;
    }
    pthread_mutex_unlock(&reader->mutex);
    return reading;
}

void list_reader_applied(struct list_reader *reader, uint64_t reading, const char *error)
{
    pthread_mutex_lock(&reader->mutex);
    reader->done = reading;
    snprintf(reader->error, sizeof(reader->error), "%s", error ? error : "");
    pthread_mutex_unlock(&reader->mutex);
}

int list_reader_saved_hosts(struct list_reader *reader, struct block_entries *out)
{
    const char *folder = reader->settings->options.folder;
    const uint64_t now = (uint64_t)time(NULL);
    struct diag *diag = diag_new();
    char path[PATH_MAX];
    size_t kept = 0;
    int err = diag ? 0 : -ENOMEM;

    if (!err && folder) {
        snprintf(path, sizeof(path), "%s/" BLOCK_HOSTS, folder);
        if (access(path, F_OK) == 0)
            err = block_file_read(out, path, diag);
    }
    if (diag)
        log_mistakes(diag);
    diag_free(diag);
    for (size_t i = 0; i < out->count; i++)
        if (out->at[i].range.low == out->at[i].range.high && (out->at[i].until == 0 || out->at[i].until > now))
            out->at[kept++] = out->at[i];
    out->count = kept;
    return err == -ENOMEM ? err : 0;
}

void list_reader_save_hosts(struct list_reader *reader, struct block_entries *hosts)
{
    pthread_mutex_lock(&reader->mutex);
    block_entries_clear(&reader->hosts);
    reader->hosts = *hosts;
    reader->has_hosts = true;
    pthread_cond_signal(&reader->wake);
    pthread_mutex_unlock(&reader->mutex);
    *hosts = (struct block_entries){ .count = 0 };
}
