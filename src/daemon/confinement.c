/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies the configuration to the sandbox (sluice/sandbox.h): the user of the engine, and the folders that it can
 * access while it inspects packets.
 *
 * For reading: the folders of the files that a reload reads, not only the files, because editors and update tools
 * replace files. For writing: the folders of logs, stored files, the pattern cache and datasets. In /proc and /sys only
 * what a reload and the list of queues need.
 *
 * Missing kernel features do not prevent the start unless security.sandbox is yes, but they are logged.
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
#include "sluice/folder.h"
#include "sluice/log.h"
#include "sluice/sandbox.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/text.h"

enum { MAX_PATHS = 1024, MAX_WARNINGS = 5 };

/* --- Folders -------------------------------------------------------------------------------------- */

struct paths {
    struct sandbox_path at[MAX_PATHS]; /* each path is its owner's to free */
    size_t count;
    bool failed;
};

static void add(struct paths *paths, const char *path, enum sandbox_right right)
{
    char *copy = strdup(path);

    if (!copy || paths->count == MAX_PATHS) {
        paths->failed = true;
        free(copy);
        return;
    }
    paths->at[paths->count++] = (struct sandbox_path){ .path = copy, .right = right };
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Adds the folder of a file; if that is the root folder, only the file. */
static void add_folder_of(struct paths *paths, const char *path, enum sandbox_right right)
{
    char folder[PATH_MAX];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", path);
    slash = strrchr(folder, '/');
    if (is_folder(path) || slash == folder) {
        add(paths, path, right);
    } else if (slash) {
        *slash = '\0';
        add(paths, folder, right);
    } else {
        add(paths, ".", right);
    }
}

/* Also adds the folder of the target if the file is a symbolic link. */
static void add_file(struct paths *paths, const char *path, enum sandbox_right right)
{
    char target[PATH_MAX];

    if (!path)
        return;
    add_folder_of(paths, path, right);
    if (realpath(path, target) && strcmp(target, path) != 0)
        add_folder_of(paths, target, right);
}

static void add_list(struct paths *paths, const struct config *config, const char *name)
{
    for (size_t i = 0; i < config_list_count(config, name); i++)
        add_file(paths, config_list_get(config, name, i), SANDBOX_READ);
}

/* Adds system files: free memory, queues, time zones, the database of libmagic. */
static void add_system(struct paths *paths)
{
    static const char *const wanted[] = {
        "/proc/self",    "/proc/meminfo",  "/proc/sys/net",       "/sys/fs/cgroup",  "/sys/devices/system/cpu",
        "/dev/null",     "/etc/localtime", "/usr/share/zoneinfo", "/usr/share/misc", "/usr/share/file",
        "/usr/lib/file", "/etc/magic",     "/etc/magic.mime",     "/dev/urandom",
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        add(paths, wanted[i], SANDBOX_READ);
}

static const char *const files_to_read[] = {
    "classification-file",     "reference-config-file", "threshold-file",          "rule-policy.disable-file",
    "rule-policy.enable-file", "rule-policy.drop-file", "rule-policy.modify-file", "rule-policy.file",
    "reputation.categories",   "geoip-database",
};
static const char *const lists_to_read[] = { "rule-files", "reputation.files", "security.landlock.directories.read" };

static void add_named(struct paths *paths, const struct config *config)
{
    for (size_t i = 0; config_file(config, i); i++)
        add_file(paths, config_file(config, i), SANDBOX_READ);
    for (size_t i = 0; i < sizeof(files_to_read) / sizeof(files_to_read[0]); i++)
        add_file(paths, config_string(config, files_to_read[i]), SANDBOX_READ);
    for (size_t i = 0; i < sizeof(lists_to_read) / sizeof(lists_to_read[0]); i++)
        add_list(paths, config, lists_to_read[i]);
}

static void add_to_read(struct paths *paths, const struct run_options *options, const struct config *newer)
{
    add_system(paths);
    add_named(paths, options->config);
    if (newer)
        add_named(paths, newer);
    for (size_t i = 0; i < options->rule_file_count; i++)
        add_file(paths, options->rule_files[i], SANDBOX_READ);
}

static const char *log_folder(const struct run_options *options)
{
    return options->log_dir ? options->log_dir : config_string(options->config, "log-dir");
}

static void add_to_write(struct paths *paths, const struct run_options *options)
{
    const struct config *config = options->config;
    const char *eve = config_string(config, "eve.filename"), *store = config_string(config, "file-store.dir");

    add(paths, log_folder(options), SANDBOX_WRITE);
    add(paths, config_string(config, "data-dir"), SANDBOX_WRITE);
    if (eve[0] == '/')
        add_file(paths, eve, SANDBOX_WRITE);
    if (config_bool(config, "file-store") && store[0] == '/')
        add(paths, store, SANDBOX_WRITE);
    if (config_bool(config, "detect.sgh-mpm-caching"))
        add(paths, config_string(config, "detect.sgh-mpm-caching-path"), SANDBOX_WRITE);
    for (size_t i = 0; i < config_list_count(config, "security.landlock.directories.write"); i++)
        add(paths, config_list_get(config, "security.landlock.directories.write", i), SANDBOX_WRITE);
}

static void clear_paths(struct paths *paths)
{
    for (size_t i = 0; paths && i < paths->count; i++)
        free((char *)paths->at[i].path);
    free(paths);
}

/* --- Permissions ---------------------------------------------------------------------------------- */

/* Checks permissions as the engine's user, without capabilities. Missing files are reported by their users. */
static bool may(const char *path, int mode)
{
    return !path || faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 || errno != EACCES;
}

static void tell_unreadable(const struct confinement *confinement, const char *path, unsigned *told)
{
    if (may(path, R_OK) || (*told)++ >= MAX_WARNINGS)
        return;
    log_warning("user %s may not read %s: a reload will fail; give the file to a group of %s (chgrp, chmod g+r)",
                confinement->user.name, path, confinement->user.name);
}

static void tell_unwritable(const struct confinement *confinement, const char *path, int mode)
{
    if (!may(path, mode))
        log_warning("user %s may not write %s: events are lost after a rotation or restart; run `chown %s %s`",
                    confinement->user.name, path, confinement->user.name, path);
}

static void tell_access(const struct confinement *confinement, const struct run_options *options)
{
    const struct config *config = options->config;
    char eve[PATH_MAX], error[ENGINE_ERROR_SIZE];
    unsigned told = 0;

    for (size_t i = 0; config_file(config, i); i++)
        tell_unreadable(confinement, config_file(config, i), &told);
    for (size_t i = 0; i < config_list_count(config, "rule-files"); i++)
        tell_unreadable(confinement, config_list_get(config, "rule-files", i), &told);
    for (size_t i = 0; i < options->rule_file_count; i++)
        tell_unreadable(confinement, options->rule_files[i], &told);
    if (told > MAX_WARNINGS)
        log_warning("%u more files cannot be read by that user", told - MAX_WARNINGS);
    if (!config_bool(config, "eve.enabled") || strcmp(config_string(config, "eve.filetype"), "regular") != 0)
        return;
    tell_unwritable(confinement, log_folder(options), W_OK | X_OK);
    if (setup_eve_path(config, options->log_dir, eve, sizeof(eve), error) == 0)
        tell_unwritable(confinement, eve, W_OK);
}

/* --- User and sandbox ----------------------------------------------------------------------------- */

static const char create_user[] = "useradd --system --shell /usr/sbin/nologin " SANDBOX_DEFAULT_USER;

static bool is_set_to(const struct config *config, const char *value)
{
    return strcmp(config_string(config, "security.sandbox"), value) == 0;
}

/* Whether a separate user is required: with security.sandbox: yes. */
static int find_user(struct sandbox_user *out, const struct config *config, char cause[SANDBOX_ERROR_SIZE])
{
    int err =
        sandbox_find_user(out, config_string(config, "run-as.user"), config_string(config, "run-as.group"), cause);

    if (err || !out->missing || !is_set_to(config, "yes"))
        return err;
    snprintf(cause, SANDBOX_ERROR_SIZE,
             "security.sandbox is yes and the user " SANDBOX_DEFAULT_USER
             " does not exist: create it with `%s`, or set "
             "run-as.user",
             create_user);
    return -ENOENT;
}

/* Finds the user the engine changes to. Without a sandbox it keeps its own. */
static int find_confinement(struct confinement *out, const struct config *config, char cause[SANDBOX_ERROR_SIZE])
{
    *out = (struct confinement){
        .wanted =
            !is_set_to(config, "no") || config_string(config, "run-as.user") || config_string(config, "run-as.group"),
        .user = { .uid = geteuid(), .gid = getegid() },
    };
    return out->wanted ? find_user(&out->user, config, cause) : 0;
}

static void make_folder(const char *path, const struct sandbox_user *user)
{
    int err = folder_create_for_owner(path, user->uid, user->gid);

    if (err)
        log_warning("cannot create folder %s: %s", path, strerror(-err));
}

static void make_cache_folder(const struct config *config, const struct sandbox_user *user)
{
    if (geteuid() == 0 && config_bool(config, "detect.sgh-mpm-caching"))
        make_folder(config_string(config, "detect.sgh-mpm-caching-path"), user);
}

/* Called before the change of the user, because that user may not write to the parent folders. Without root it creates
 * only the log folder, which each start needs; code that uses another folder reports when it is missing. */
static void make_folders(const struct run_options *options, const struct sandbox_user *user)
{
    const struct config *config = options->config;
    const char *store = config_string(config, "file-store.dir");

    make_folder(log_folder(options), user);
    if (geteuid() != 0)
        return;
    make_folder(config_string(config, "data-dir"), user);
    if (config_bool(config, "file-store") && store[0] == '/')
        make_folder(store, user);
    make_cache_folder(config, user);
}

void confinement_create_cache_folder(const struct config *config)
{
    struct confinement confinement;
    char cause[SANDBOX_ERROR_SIZE];

    if (find_confinement(&confinement, config, cause) == 0)
        make_cache_folder(config, &confinement.user);
}

int confinement_switch_user(struct confinement *out, const struct run_options *options, char error[ENGINE_ERROR_SIZE])
{
    char cause[SANDBOX_ERROR_SIZE];
    int err = find_confinement(out, options->config, cause);

    if (!err) {
        make_folders(options, &out->user);
        if (out->wanted)
            err = sandbox_become(&out->user, cause);
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

/* Logs the sandbox. 0, or an error if security.sandbox requires a part that is missing. */
static int settle(const struct confinement *confinement, const struct config *config, char error[ENGINE_ERROR_SIZE])
{
    const struct sandbox_status *status = sandbox_status(confinement->sandbox);
    bool required = is_set_to(config, "yes");

    if (status->landlock < 0 && !required)
        log_warning("Landlock is off: %s; only file permissions restrict which files the engine can open",
                    why_no_landlock(status->landlock));
    if (status->seccomp < 0 && !required)
        log_warning("the seccomp filter is off: %s", strerror(-status->seccomp));
    log_info("running as user %s with CAP_NET_ADMIN only; Landlock %s; seccomp filter %s", confinement->user.name,
             status->landlock > 0 ? "on" : "off", status->seccomp > 0 ? "on" : "off");
    if (!required || (status->landlock >= 0 && status->seccomp >= 0))
        return 0;
    snprintf(error, ENGINE_ERROR_SIZE, "security.sandbox: %s: %s", status->landlock < 0 ? "Landlock" : "seccomp",
             status->landlock < 0 ? why_no_landlock(status->landlock) : strerror(-status->seccomp));
    return status->landlock < 0 ? status->landlock : status->seccomp;
}

int confinement_start(struct confinement *confinement, const struct run_options *options, const struct config *newer,
                      char error[ENGINE_ERROR_SIZE])
{
    const struct config *config = options->config;
    bool walls = !is_set_to(config, "no");
    struct paths *paths = calloc(1, sizeof(*paths));
    char cause[SANDBOX_ERROR_SIZE] = "sandbox: out of memory";
    int err = -ENOMEM;

    if (paths && confinement->wanted) {
        tzset(); /* while its file can be read for certain */
        add_to_read(paths, options, newer);
        add_to_write(paths, options);
        const struct sandbox_options sandbox = {
            .landlock = walls && config_bool(config, "security.landlock.enabled"),
            .seccomp = walls && config_bool(config, "security.seccomp"),
            .paths = paths->at,
            .path_count = paths->count,
            .unix_clients = strcmp(config_string(config, "eve.filetype"), "regular") != 0,
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
    tell_access(confinement, options);
    return settle(confinement, config, error);
}

/* --- After the start ------------------------------------------------------------------------------ */

/* access() checks only the permissions: if it succeeds and open() fails, the sandbox is the reason. */
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

const char *confinement_blocks_file(const struct config *config)
{
    for (size_t i = 0; i < sizeof(files_to_read) / sizeof(files_to_read[0]); i++) {
        if (is_shut_out(config_string(config, files_to_read[i])))
            return config_string(config, files_to_read[i]);
    }
    for (size_t i = 0; i < sizeof(lists_to_read) / sizeof(lists_to_read[0]); i++) {
        for (size_t k = 0; k < config_list_count(config, lists_to_read[i]); k++) {
            if (is_shut_out(config_list_get(config, lists_to_read[i], k)))
                return config_list_get(config, lists_to_read[i], k);
        }
    }
    return NULL;
}

int confinement_check_user(const struct config *config, char error[ENGINE_ERROR_SIZE])
{
    const char *user = config_string(config, "run-as.user"), *group = config_string(config, "run-as.group");
    struct sandbox_user found;
    char cause[SANDBOX_ERROR_SIZE];
    int err;

    if (is_set_to(config, "no") && !user && !group)
        return 0;
    err = find_user(&found, config, cause);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return err;
}

/* No link: the folder belongs to the engine's user, and what asks may be an engine that somebody else has got hold of.
 */
int daemon_open_event_file(const struct run_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct confinement confinement;
    char path[PATH_MAX];
    int err = setup_eve_path(options->config, options->log_dir, path, sizeof(path), error), fd;

    if (!err)
        err = confinement_switch_user(&confinement, options, error);
    if (err)
        return err;
    err = sandbox_give_up();
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
    json_uint(out, "landlock", status->landlock > 0 ? (uint64_t)status->landlock : 0);
    json_bool(out, "seccomp", status->seccomp > 0);
    json_object_close(out);
}
