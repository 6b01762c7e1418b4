/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies the configuration to the sandbox (sluice/sandbox.h): the user of the engine, and the folders that it can
 * access while it inspects packets.
 *
 * The engine may read the folders of the files that a reload reads, not only the files, because editors and update
 * tools replace files. It may write to the folders of logs, stored files, the pattern cache and datasets. In /proc and
 * /sys it may read only what a reload and the list of queues need.
 *
 * If the kernel lacks a feature of the sandbox, the engine logs that and starts without the feature, unless
 * security.sandbox is yes.
 */
#include "confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/block_lists.h"
#include "sluice/firewall.h"
#include "sluice/folder.h"
#include "sluice/log.h"
#include "sluice/sandbox.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/text.h"

enum { MAX_PATHS = 1024, MAX_WARNINGS = 5 };

/* --- Folders -------------------------------------------------------------------------------------- */

struct paths {
    struct sandbox_path at[MAX_PATHS]; /* each `path` is an allocated copy */
    size_t count;
    bool failed;
};

static void add_path(struct paths *paths, const char *path, enum sandbox_right right)
{
    char *copy = strdup(path);

    if (!copy || paths->count == MAX_PATHS) {
        paths->failed = true;
        free(copy);
        return;
    }
    paths->at[paths->count++] = (struct sandbox_path){ .path = copy, .right = right };
}

/* Adds the folder of a file, or the path itself if it is a folder or directly below the root folder. */
static void add_folder_of(struct paths *paths, const char *path, enum sandbox_right right)
{
    char folder[PATH_MAX];
    struct stat status;
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    if (slash == folder || (stat(path, &status) == 0 && S_ISDIR(status.st_mode))) {
        add_path(paths, path, right);
    } else if (slash) {
        *slash = '\0';
        add_path(paths, folder, right);
    } else {
        add_path(paths, ".", right);
    }
}

/* Adds the folder of a file, and the folder of its target if the file is a symbolic link. Of a pattern in rule-files,
 * adds the folder above the first part with a wildcard. */
static void add_file(struct paths *paths, const char *path, enum sandbox_right right)
{
    char target[PATH_MAX];

    if (!path)
        return;
    if (setup_is_pattern(path)) {
        snprintf(target, sizeof(target), "%.*s", (int)strcspn(path, "*?["), path);
        add_folder_of(paths, target, right);
        return;
    }
    add_folder_of(paths, path, right);
    if (realpath(path, target) && strcmp(target, path) != 0)
        add_folder_of(paths, target, right);
}

/* The settings that contain names of files and folders. */
struct file_settings {
    struct daemon_options daemon;
    struct rules_options rules;
    struct log_options log;
    struct pcap_log_options pcap;
    struct tls_store_options tls_store;
    struct file_store_settings files;
    struct block_lists_options lists;
    char lists_folder[PATH_MAX];
};

static void read_settings(const struct config *config, struct file_settings *out)
{
    struct firewall_settings firewall;

    memset(out, 0, sizeof(*out));
    config_fill(config, daemon_settings, NULL, &out->daemon);
    config_fill(config, rules_settings, NULL, &out->rules);
    config_fill(config, output_settings, NULL, &out->log);
    config_fill(config, pcap_log_settings, NULL, &out->pcap);
    config_fill(config, tls_store_settings, NULL, &out->tls_store);
    config_fill(config, file_settings, NULL, &out->files);
    setup_block_lists(&out->lists, config, out->lists_folder);
    firewall_settings_read(config, &firewall);
    if (!firewall.options.blocklist) /* without a blocklist the folder is neither used nor created */
        out->lists.folder = NULL;
}

/* Calls `each` for every file that a reload reads, except the configuration files. `path` is NULL for files that are
 * not configured. */
static void each_file_to_read(const struct file_settings *settings, void (*each)(const char *path, void *user),
                              void *user)
{
    const struct rule_list_options *list = &settings->rules.list;
    const char *const files[] = {
        list->classification_file,   list->reference_file, list->threshold_file, list->policy.disable,
        list->policy.enable,         list->policy.drop,    list->policy.modify,  list->policy.decisions,
        list->reputation_categories, list->geoip_database, list->script_folder,
    };
    const char *const *const lists[] = { settings->rules.files, list->reputation_files,
                                         settings->daemon.folders_to_read, settings->lists.files };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        each(files[i], user);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (const char *const *path = lists[i]; *path; path++)
            each(*path, user);
}

static void add_file_to_read(const char *path, void *paths)
{
    add_file(paths, path, SANDBOX_READ);
}

static void add_named(struct paths *paths, const struct config *config)
{
    struct file_settings settings;

    char path[PATH_MAX];

    for (size_t i = 0; config_file(config, i); i++)
        add_file(paths, config_file(config, i), SANDBOX_READ);
    for (size_t i = 0; setup_firewall_file(config, i, path); i++)
        add_file(paths, path, SANDBOX_READ);
    read_settings(config, &settings);
    each_file_to_read(&settings, add_file_to_read, paths);
}

static void add_to_read(struct paths *paths, const struct run_options *options, const struct config *newer)
{
    /* For memory limits and free memory, CPUs, time zones, and the database of libmagic. */
    static const char *const system[] = {
        "/proc/self",    "/proc/meminfo",  "/proc/sys/net",       "/sys/fs/cgroup",  "/sys/devices/system/cpu",
        "/dev/null",     "/etc/localtime", "/usr/share/zoneinfo", "/usr/share/misc", "/usr/share/file",
        "/usr/lib/file", "/etc/magic",     "/etc/magic.mime",     "/dev/urandom",
    };

    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
        add_path(paths, system[i], SANDBOX_READ);
    add_named(paths, options->config);
    if (newer)
        add_named(paths, newer);
    for (size_t i = 0; i < options->rule_file_count; i++)
        add_file(paths, options->rule_files[i], SANDBOX_READ);
}

static const char *log_folder(const struct run_options *options, const struct file_settings *settings)
{
    return options->log_dir ? options->log_dir : settings->log.dir;
}

/* Adds the folders of further outputs. Returns true if the engine connects to Unix sockets: to the socket of a log
 * reader, if the event file is one, or to the socket of sluice-ship. */
static bool read_outputs(const struct config *config, const struct file_settings *settings, struct paths *paths)
{
    bool connects = settings->log.eve && settings->log.eve_type != OUTPUT_FILE_REGULAR;
    const char *name;

    for (size_t i = 0; (name = config_each(config, "outputs", i)); i++) {
        struct output_settings output = { 0 };

        config_fill(config, destination_settings, name, &output);
        if (!output.enabled)
            continue;
        connects |= output.type != OUTPUT_FILE_REGULAR;
        if (output.type == OUTPUT_FILE_REGULAR && output.filename && output.filename[0] == '/')
            add_file(paths, output.filename, SANDBOX_WRITE);
    }
    return connects;
}

/* Returns the folder of stored files if its path is absolute; NULL if it is relative to the log folder. */
static const char *separate_store(const struct file_settings *settings)
{
    return settings->files.store_section && settings->files.store_dir[0] == '/' ? settings->files.store_dir : NULL;
}

static void add_to_write(struct paths *paths, const struct run_options *options, const struct file_settings *settings)
{
    add_path(paths, log_folder(options, settings), SANDBOX_WRITE);
    add_path(paths, settings->rules.datasets.data_dir, SANDBOX_WRITE);
    if (settings->log.eve_name[0] == '/')
        add_file(paths, settings->log.eve_name, SANDBOX_WRITE);
    if (settings->lists.folder)
        add_path(paths, settings->lists.folder, SANDBOX_WRITE);
    if (separate_store(settings))
        add_path(paths, separate_store(settings), SANDBOX_WRITE);
    if (settings->pcap.enabled && settings->pcap.dir && settings->pcap.dir[0] == '/')
        add_path(paths, settings->pcap.dir, SANDBOX_WRITE);
    if (settings->tls_store.enabled && settings->tls_store.dir[0] == '/')
        add_path(paths, settings->tls_store.dir, SANDBOX_WRITE);
    if (settings->rules.cache)
        add_path(paths, settings->rules.cache_path, SANDBOX_WRITE);
    for (const char *const *path = settings->daemon.folders_to_write; *path; path++)
        add_path(paths, *path, SANDBOX_WRITE);
}

static void clear_paths(struct paths *paths)
{
    for (size_t i = 0; paths && i < paths->count; i++)
        free((char *)paths->at[i].path);
    free(paths);
}

/* --- Permissions ---------------------------------------------------------------------------------- */

/* Returns true if the engine's user has the permission without capabilities. Returns true also for missing files: the
 * code that opens them reports them. */
static bool may(const char *path, int mode)
{
    return !path || faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 || errno != EACCES;
}

static void tell_unreadable(const struct confinement *confinement, const char *path, unsigned *told)
{
    if (may(path, R_OK) || (*told)++ >= MAX_WARNINGS)
        return;
    log_warning("user %s may not read %s: a reload fails, or leaves its rules out; give the file to a group of %s "
                "(chgrp, chmod g+r)",
                confinement->user.name, path, confinement->user.name);
}

static void tell_unwritable(const struct confinement *confinement, const char *path, int mode)
{
    if (!may(path, mode))
        log_warning("user %s may not write %s: events are lost after a rotation or restart; run `chown %s %s`",
                    confinement->user.name, path, confinement->user.name, path);
}

static void tell_access(const struct confinement *confinement, const struct run_options *options,
                        const struct file_settings *settings)
{
    const struct config *config = options->config;
    char eve[PATH_MAX], firewall_file[PATH_MAX], error[ENGINE_ERROR_SIZE];
    unsigned told = 0;

    for (size_t i = 0; setup_firewall_file(config, i, firewall_file); i++)
        tell_unreadable(confinement, firewall_file, &told);

    for (size_t i = 0; config_file(config, i); i++)
        tell_unreadable(confinement, config_file(config, i), &told);
    for (const char *const *path = settings->rules.files; *path; path++)
        tell_unreadable(confinement, *path, &told);
    for (size_t i = 0; i < options->rule_file_count; i++)
        tell_unreadable(confinement, options->rule_files[i], &told);
    if (told > MAX_WARNINGS)
        log_warning("%u more files cannot be read by that user", told - MAX_WARNINGS);
    if (!settings->log.eve || settings->log.eve_type != OUTPUT_FILE_REGULAR)
        return;
    tell_unwritable(confinement, log_folder(options, settings), W_OK | X_OK);
    if (setup_eve_path(config, options->log_dir, eve, sizeof(eve), error) == 0)
        tell_unwritable(confinement, eve, W_OK);
}

/* --- User and sandbox ----------------------------------------------------------------------------- */

static const char create_user[] = "useradd --system --shell /usr/sbin/nologin " SANDBOX_DEFAULT_USER;

/* Finds the user that the engine shall run as. A missing default user is an error only with security.sandbox: yes. */
static int find_user(struct sandbox_user *out, const struct daemon_options *options, char cause[SANDBOX_ERROR_SIZE])
{
    int err = sandbox_find_user(out, options->user, options->group, cause);

    if (err || !out->missing || options->sandbox != SETTING_YES)
        return err;
    snprintf(cause, SANDBOX_ERROR_SIZE,
             "security.sandbox is yes and the user " SANDBOX_DEFAULT_USER
             " does not exist: create it with `%s`, or set "
             "run-as.user",
             create_user);
    return -ENOENT;
}

/* Finds the user that the engine changes to. Without a sandbox and without run-as the engine keeps its current user. */
static int find_confinement(struct confinement *out, const struct daemon_options *options,
                            char cause[SANDBOX_ERROR_SIZE])
{
    *out = (struct confinement){
        .wanted = options->sandbox != SETTING_NO || options->user || options->group,
        .user = { .uid = geteuid(), .gid = getegid() },
    };
    return out->wanted ? find_user(&out->user, options, cause) : 0;
}

static void make_folder(const char *path, const struct sandbox_user *user)
{
    int err = folder_create_for_owner(path, user->uid, user->gid);

    if (err)
        log_warning("cannot create folder %s: %s", path, strerror(-err));
}

/* Called before the change of the user, because the new user may not write to the parent folders. Without root
 * privileges it creates only the log folder, which every start needs; code that uses another folder reports it if it is
 * missing. */
static void make_folders(const struct run_options *options, const struct file_settings *settings,
                         const struct sandbox_user *user)
{
    make_folder(log_folder(options, settings), user);
    if (geteuid() != 0)
        return;
    make_folder(settings->rules.datasets.data_dir, user);
    if (settings->lists.folder)
        make_folder(settings->lists.folder, user);
    if (separate_store(settings))
        make_folder(separate_store(settings), user);
    if (settings->pcap.enabled && settings->pcap.dir && settings->pcap.dir[0] == '/')
        make_folder(settings->pcap.dir, user);
    if (settings->tls_store.enabled && settings->tls_store.dir[0] == '/')
        make_folder(settings->tls_store.dir, user);
    if (settings->rules.cache)
        make_folder(settings->rules.cache_path, user);
}

void confinement_create_cache_folder(const struct config *config)
{
    struct file_settings settings;
    struct confinement confinement;
    char cause[SANDBOX_ERROR_SIZE];

    read_settings(config, &settings);
    if (settings.rules.cache && geteuid() == 0 && find_confinement(&confinement, &settings.daemon, cause) == 0)
        make_folder(settings.rules.cache_path, &confinement.user);
}

int confinement_switch_user(struct confinement *out, const struct run_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct file_settings settings;
    char cause[SANDBOX_ERROR_SIZE];
    int err;

    read_settings(options->config, &settings);
    err = find_confinement(out, &settings.daemon, cause);
    if (!err) {
        make_folders(options, &settings, &out->user);
        if (out->wanted)
            err = sandbox_change_user(&out->user, cause);
    }
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return err;
}

static const char *why_no_landlock(int err)
{
    switch (err) {
    case -ENOSYS:
        return "the kernel does not have it, or is older than 5.19";
    case -EOPNOTSUPP:
        return "it is not enabled (lsm= on the kernel command line)";
    case -EPERM:
        return "not permitted, perhaps because of a container";
    default:
        return strerror(-err);
    }
}

/* Logs which parts of the sandbox are active. Returns 0, or -errno if security.sandbox is yes and a part of the sandbox
 * is missing. */
static int check_sandbox(const struct confinement *confinement, bool required, char error[ENGINE_ERROR_SIZE])
{
    const struct sandbox_status *status = sandbox_status(confinement->sandbox);

    if (status->landlock < 0 && !required)
        log_warning("Landlock is off: %s; only file permissions restrict which files the engine can open",
                    why_no_landlock(status->landlock));
    if (status->seccomp < 0 && !required)
        log_warning("the seccomp filter is off: %s", strerror(-status->seccomp));
    log_info("running as user %s with %s only; Landlock %s; seccomp filter %s", confinement->user.name,
             status->net_raw_only ? "CAP_NET_RAW" : "CAP_NET_ADMIN", status->landlock > 0 ? "on" : "off",
             status->seccomp > 0 ? "on" : "off");
    if (!required || (status->landlock >= 0 && status->seccomp >= 0))
        return 0;
    snprintf(error, ENGINE_ERROR_SIZE, "security.sandbox: %s: %s", status->landlock < 0 ? "Landlock" : "seccomp",
             status->landlock < 0 ? why_no_landlock(status->landlock) : strerror(-status->seccomp));
    return status->landlock < 0 ? status->landlock : status->seccomp;
}

int confinement_start(struct confinement *confinement, const struct run_options *options, const struct config *newer,
                      char error[ENGINE_ERROR_SIZE])
{
    struct file_settings settings;
    struct paths *paths = calloc(1, sizeof(*paths));
    char cause[SANDBOX_ERROR_SIZE] = "sandbox: out of memory";
    int err = -ENOMEM;

    read_settings(options->config, &settings);
    const bool walls = settings.daemon.sandbox != SETTING_NO;

    if (paths && confinement->wanted) {
        tzset(); /* reads the time zone file while it is certainly readable */
        add_to_read(paths, options, newer);
        add_to_write(paths, options, &settings);
        const bool connects = read_outputs(options->config, &settings, paths);
        const struct sandbox_options sandbox = {
            .landlock = walls && settings.daemon.landlock,
            .seccomp = walls && settings.daemon.seccomp,
            .paths = paths->at,
            .path_count = paths->count,
            .unix_clients = connects,
            .packet_sockets = setup_is_sensor(options->config),
        };
        err = paths->failed ? -ENOMEM : sandbox_enter(&confinement->sandbox, &sandbox, cause);
    }
    clear_paths(paths);
    if (!confinement->wanted)
        return 0;
    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    if (confinement->user.missing)
        log_warning("running as root because the user " SANDBOX_DEFAULT_USER " does not exist: create it with `%s`, or "
                    "set run-as.user",
                    create_user);
    tell_access(confinement, options, &settings);
    return check_sandbox(confinement, settings.daemon.sandbox == SETTING_YES, error);
}

/* --- After the start ------------------------------------------------------------------------------ */

/* Returns true if the sandbox is the reason why a file cannot be read: faccessat() checks only the permissions, so it
 * succeeds where open() fails. */
static bool is_shut_out(const char *path)
{
    int fd;

    if (!path || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
        return false;
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd < 0 && errno == EACCES;
}

static void keep_blocked_file(const char *path, void *blocked)
{
    if (!*(const char **)blocked && is_shut_out(path))
        *(const char **)blocked = path;
}

const char *confinement_blocks_file(const struct config *config)
{
    struct file_settings settings;
    const char *blocked = NULL;

    read_settings(config, &settings);
    each_file_to_read(&settings, keep_blocked_file, &blocked);
    return blocked;
}

int confinement_check_user(const struct config *config, char error[ENGINE_ERROR_SIZE])
{
    struct daemon_options options = { .user = NULL };
    struct sandbox_user found;
    char cause[SANDBOX_ERROR_SIZE];
    int err;

    config_fill(config, daemon_settings, NULL, &options);
    if (options.sandbox == SETTING_NO && !options.user && !options.group)
        return 0;
    err = find_user(&found, &options, cause);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return err;
}

/* Does not follow a symbolic link: the engine's user owns the folder, and an attacker who controls the engine could
 * place a link there and request the file. */
int daemon_open_event_file(const struct run_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct confinement confinement;
    char path[PATH_MAX];
    int err = setup_eve_path(options->config, options->log_dir, path, sizeof(path), error), fd;

    if (!err)
        err = confinement_switch_user(&confinement, options, error);
    if (err)
        return err;
    err = sandbox_drop_capabilities();
    fd = err ? err : open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0640);
    if (fd >= 0)
        return fd;
    err = err ? err : -errno;
    snprintf(error, ENGINE_ERROR_SIZE, "%.255s: %s", path, strerror(-err));
    return err;
}

void confinement_clear(struct confinement *confinement)
{
    sandbox_free(confinement->sandbox);
    confinement->sandbox = NULL;
}

void confinement_json(const struct confinement *confinement, struct text *out)
{
    const struct sandbox_status none = { 0 };
    const struct sandbox_status *status = confinement->sandbox ? sandbox_status(confinement->sandbox) : &none;

    json_object_open(out, "sandbox");
    if (confinement->wanted)
        json_string(out, "user", confinement->user.name);
    json_bool(out, "net_admin_only", status->net_admin_only);
    json_bool(out, "net_raw_only", status->net_raw_only);
    json_uint(out, "landlock", status->landlock > 0 ? (uint64_t)status->landlock : 0);
    json_bool(out, "seccomp", status->seccomp > 0);
    json_object_close(out);
}
