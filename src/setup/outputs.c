/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the options of the output: the event file, and the further outputs of the section `outputs`, whose members have
 * names of the user's choice.
 *
 * A record of an event is rendered once for all outputs, so the options of an event type (eve.types.*) are the same for
 * all of them. Workers record the event types of all outputs together; each output selects its own from them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/app.h"
#include "sluice/config.h"
#include "sluice/diag.h"
#include "sluice/engine_limits.h"
#include "sluice/output.h"
#include "sluice/setup.h"
#include "sluice/spool.h"

enum { NAME_SIZE = 160, ALL_SEVERITIES = UINT8_MAX };

/* Adds an event type of eve.types to the filter. Returns false for an unknown one. */
static bool add_type(struct output_filter *filter, const char *type)
{
    static const struct {
        const char *name;
        uint32_t kinds;
    } types[] = {
        /* tagged packets belong to alerts, and packets that mode drop would have dropped to drops */
        { "alert", 1u << OUTPUT_ALERT | 1u << OUTPUT_PACKET },
        { "drop", 1u << OUTPUT_DROP | 1u << OUTPUT_WOULD_DROP },
        { "anomaly", 1u << OUTPUT_ANOMALY },
        { "stats", 1u << OUTPUT_STATS },
        { "flow", 1u << OUTPUT_FLOW },
        { "netflow", 1u << OUTPUT_NETFLOW },
        { "metadata", 1u << OUTPUT_METADATA },
        { "stream", 1u << OUTPUT_STREAM },
        { "igmp", 1u << OUTPUT_IGMP },
        { "arp", 1u << OUTPUT_ARP },
        { "files", 1u << OUTPUT_FILE },
        { "frame", 1u << OUTPUT_FRAME },
        { "firewall", 1u << OUTPUT_FIREWALL },
        { "engine", 1u << OUTPUT_ENGINE },
        { "overload", 1u << OUTPUT_OVERLOAD },
    };
    bool found = false;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, type) != 0)
            continue;
        filter->kinds |= types[i].kinds;
        return true;
    }
    for (size_t i = 0; i < app_list_count; i++) {
        const struct app_proto *proto = app_list[i];
        const char *name = proto->log_setting ? proto->log_setting : proto->log_type;

        if (!name || strcmp(name, type) != 0)
            continue;
        filter->kinds |= 1u << OUTPUT_APP;
        filter->app[i] = found = true;
    }
    return found;
}

/* Reads one further output. Returns 0, or -EINVAL after a report; *at is the setting that the report is about. */
static int read_output(const struct output_filter *common, const struct output_settings *settings,
                       struct output_destination *out, const char **at, char why[ENGINE_ERROR_SIZE])
{
    static const char *const needs_socket = "needs the path of the Unix socket of a log reader";

    *at = "types";
    if (settings->format != OUTPUT_EVE && settings->types[0]) {
        snprintf(why, ENGINE_ERROR_SIZE, "only outputs with format eve select event types: remove it");
        return -EINVAL;
    }
    out->filter = (struct output_filter){ .severity = (uint8_t)settings->severity };
    if (settings->format == OUTPUT_FAST) {
        out->filter.kinds = 1u << OUTPUT_ALERT;
    } else if (settings->format == OUTPUT_COUNTERS) {
        out->filter.kinds = 1u << OUTPUT_STATS;
    } else if (!settings->types[0]) {
        out->filter = *common;
        out->filter.severity = (uint8_t)settings->severity;
    }
    for (const char *const *type = settings->types; *type; type++) {
        if (add_type(&out->filter, *type))
            continue;
        snprintf(why, ENGINE_ERROR_SIZE, "unknown event type '%.100s': use the names of eve.types", *type);
        return -EINVAL;
    }
    *at = "filename";
    if ((settings->type == OUTPUT_FILE_UNIX_STREAM || settings->type == OUTPUT_FILE_UNIX_DATAGRAM) &&
        (!settings->filename || settings->filename[0] != '/')) {
        snprintf(why, ENGINE_ERROR_SIZE, "%s", needs_socket);
        return -EINVAL;
    }
    if (settings->filename && settings->type > OUTPUT_FILE_UNIX_DATAGRAM) {
        snprintf(why, ENGINE_ERROR_SIZE, "only outputs with filetype regular, unix_stream or unix_dgram have a file");
        return -EINVAL;
    }
    *at = "rotate-interval";
    if (settings->type != OUTPUT_FILE_REGULAR &&
        (settings->rotate_interval || settings->max_size > 0 || settings->max_files > 0)) {
        snprintf(why, ENGINE_ERROR_SIZE,
                 "only outputs with filetype regular are rotated (rotate-interval, max-size, "
                 "max-files)");
        return -EINVAL;
    }
    *at = "redis.server";
    if (settings->type == OUTPUT_FILE_REDIS && settings->redis.username && !settings->redis.password) {
        *at = "redis.username";
        snprintf(why, ENGINE_ERROR_SIZE, "needs a password: set redis.password of this output");
        return -EINVAL;
    }
    *at = "kafka.properties";
    for (const char *const *property = settings->kafka.properties; *property; property++) {
        if (strchr(*property, '=') && (*property)[0] != '=')
            continue;
        snprintf(why, ENGINE_ERROR_SIZE, "'%.100s' is not of the form NAME=VALUE", *property);
        return -EINVAL;
    }
    out->type = settings->type;
    out->format = settings->format;
    out->buffer_size = settings->buffer_size;
    out->rotation.max_size = settings->max_size;
    out->rotation.max_files = settings->max_files;
    if (settings->rotate_interval)
        output_rotation_interval(settings->rotate_interval, &out->rotation.interval_seconds);
    return 0;
}

/* Reads the filter of the event file from the event types that eve.types enables. */
static void read_common_filter(const struct eve_options *eve, struct output_filter *out)
{
    *out = (struct output_filter){ .severity = ALL_SEVERITIES };
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        if (eve->enabled[kind])
            out->kinds |= 1u << kind;
    memcpy(out->app, eve->app, sizeof(out->app));
}

/* Writes the path of a file. A relative name is below the log folder. Returns false if the path is too long. */
static bool write_path(char out[PATH_MAX], const char *log_dir, const char *name, const char *suffix)
{
    int length = name[0] == '/' ? snprintf(out, PATH_MAX, "%s%s", name, suffix)
                                : snprintf(out, PATH_MAX, "%s/%s%s", log_dir, name, suffix);

    return length >= 0 && length < PATH_MAX;
}

/* Reads the further outputs into `out`. With `diag`, reports every mistake there; without, returns the first one in
 * `error`. Returns 0 or -errno. */
static int read_outputs(const struct config *config, const char *log_dir, const struct output_filter *common,
                        struct setup_outputs *out, struct diag *diag, char error[ENGINE_ERROR_SIZE])
{
    int err = 0;
    const char *name;

    out->count = 0;
    for (size_t i = 0; (name = config_each(config, "outputs", i)); i++) {
        struct output_settings settings = { 0 };
        char setting[NAME_SIZE], why[ENGINE_ERROR_SIZE] = "";
        const char *at = "";
        int failed = 0;

        config_fill(config, destination_settings, name, &settings);
        if (!settings.enabled)
            continue;
        if (strlen(name) >= SPOOL_NAME_SIZE || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                            "0123456789-_") != strlen(name)) {
            snprintf(why, sizeof(why), "the name of an output has letters, digits, - and _, at most %d of them",
                     SPOOL_NAME_SIZE - 1);
            failed = -EINVAL;
        } else if (out->count == OUTPUT_MAX_DESTINATIONS) {
            snprintf(why, sizeof(why), "there are more than %d outputs", OUTPUT_MAX_DESTINATIONS);
            failed = -E2BIG;
        } else {
            struct output_destination *destination = &out->list[out->count];
            static const char *const suffixes[] = {
                [OUTPUT_EVE] = ".json", [OUTPUT_FAST] = ".log", [OUTPUT_COUNTERS] = ".log"
            };

            *destination = (struct output_destination){ .name = name };
            failed = read_output(common, &settings, destination, &at, why);
            if (!failed && destination->type == OUTPUT_FILE_REGULAR) {
                char *path = out->paths[out->count];

                if (!write_path(path, log_dir, settings.filename ? settings.filename : name,
                                settings.filename ? "" : suffixes[settings.format])) {
                    at = "filename";
                    snprintf(why, sizeof(why), "the path is too long");
                    failed = -ENAMETOOLONG;
                }
                destination->path = path;
            }
            out->count += failed == 0;
        }
        if (!failed)
            continue;
        snprintf(setting, sizeof(setting), "outputs.%.80s%s%s", name, at[0] ? "." : "", at);
        if (diag) {
            struct position position = at[0] ? config_position(config, setting) : (struct position){ .line = 0 };

            if (position.line == 0) {
                char section[NAME_SIZE];

                snprintf(section, sizeof(section), "outputs.%.80s", name);
                position = config_position(config, section);
            }
            diag_error(diag, position, "'%s': %s", setting, why);
        } else if (!err) {
            snprintf(error, ENGINE_ERROR_SIZE, "%s: %.300s", setting, why);
        }
        err = err ? err : failed;
    }
    return err;
}

void setup_check_outputs(const struct config *config, struct diag *diag)
{
    struct setup_outputs *outputs = malloc(sizeof(*outputs));
    const struct output_filter none = { .kinds = 0 };
    char error[ENGINE_ERROR_SIZE];

    if (outputs)
        read_outputs(config, "", &none, outputs, diag, error);
    free(outputs);
}

int setup_output_options(const struct config *config, const char *log_dir, struct output_options *out,
                         struct setup_outputs *outputs, char error[ENGINE_ERROR_SIZE])
{
    struct log_options log = { .rotate_interval = NULL };
    int err;

    setup_eve_options(config, &out->eve);
    config_fill(config, output_settings, NULL, &log);
    err = setup_eve_path(config, log_dir, outputs->eve_path, sizeof(outputs->eve_path), error);
    if (err)
        return err;
    read_common_filter(&out->eve, &out->eve_filter);
    err = read_outputs(config, log_dir ? log_dir : log.dir, &out->eve_filter, outputs, NULL, error);
    if (err)
        return err;
    for (size_t i = 0; i < outputs->count; i++) {
        const struct output_filter *filter = &outputs->list[i].filter;

        for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
            out->eve.enabled[kind] |= (filter->kinds & 1u << kind) != 0;
        for (size_t k = 0; k < app_list_count; k++)
            out->eve.app[k] |= filter->app[k];
    }
    out->eve_path = log.eve ? outputs->eve_path : NULL;
    out->eve_type = log.eve_type;
    out->eve_rotation.max_size = log.max_size;
    out->eve_rotation.max_files = log.max_files;
    if (log.rotate_interval)
        output_rotation_interval(log.rotate_interval, &out->eve_rotation.interval_seconds);
    out->ring_size = log.ring_size;
    out->destinations = outputs->list;
    out->destination_count = outputs->count;
    out->ship_socket = log.ship_socket;
    config_fill(config, pcap_log_settings, NULL, &out->pcap_log);
    if (!write_path(outputs->pcap_dir, log_dir ? log_dir : log.dir, out->pcap_log.dir ? out->pcap_log.dir : ".", "")) {
        snprintf(error, ENGINE_ERROR_SIZE, "pcap-log.dir: the path is too long");
        return -ENAMETOOLONG;
    }
    if (!out->pcap_log.dir) /* remove "/." from the end of the path, because alerts contain the path */
        outputs->pcap_dir[strlen(outputs->pcap_dir) - 2] = '\0';
    out->pcap_log.dir = outputs->pcap_dir;
    config_fill(config, tls_store_settings, NULL, &out->tls_store);
    if (!write_path(outputs->chain_dir, log_dir ? log_dir : log.dir, out->tls_store.dir, "")) {
        snprintf(error, ENGINE_ERROR_SIZE, "tls-store.certs-log-dir: the path is too long");
        return -ENAMETOOLONG;
    }
    out->tls_store.dir = outputs->chain_dir;
    return 0;
}
