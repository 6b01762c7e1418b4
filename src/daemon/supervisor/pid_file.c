/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pid file (pid-file): one line with the process id of the supervisor, the process that receives signals. It is
 * written under another name and renamed, so that readers never see a part of it. At the start a file of a process that
 * has ended, or that is no sluice, is replaced; a file of another running sluice is an error. At the end the supervisor
 * removes the file if it still has its own process id.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/log.h"
#include "sluice/supervisor.h"
#include "sluice/text.h"

#include "supervisor_priv.h"

enum { COMM_SIZE = 64 };

/* Writes the path of the pid file to `path`. Returns false if there is none. */
static bool path_of(const struct daemon_options *settings, char path[PATH_MAX])
{
    const char *name = settings->pid_file;

    if (!name || !name[0])
        return false;
    snprintf(path, PATH_MAX, "%s%s", strchr(name, '/') ? "" : SLUICE_RUNDIR "/", name);
    return true;
}

/* Reads at most `size` - 1 bytes of a file, without the line feed at their end. Returns false if it cannot be read. */
static bool read_line(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t length = fd < 0 ? -1 : read(fd, out, size - 1);

    if (fd >= 0)
        close(fd);
    if (length < 0)
        return false;
    out[length] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

/* Returns the process id in a pid file; 0 if it has none. */
static int64_t read_pid(const char *path)
{
    char line[32];
    int64_t pid = 0;

    if (!read_line(path, line, sizeof(line)) || !text_to_int(line, strlen(line), 1, INT_MAX, &pid))
        return 0;
    return pid;
}

/* Returns whether the process runs the same program as this one. */
static bool is_sluice(int64_t pid)
{
    char path[64], other[COMM_SIZE], own[COMM_SIZE];

    snprintf(path, sizeof(path), "/proc/%" PRId64 "/comm", pid);
    return read_line(path, other, sizeof(other)) && read_line("/proc/self/comm", own, sizeof(own)) &&
           strcmp(other, own) == 0;
}

int pid_file_check(const struct config *config, char error[ENGINE_ERROR_SIZE])
{
    struct daemon_options settings = { .pid_file = NULL };
    char path[PATH_MAX], *slash;
    struct stat status;

    config_fill(config, daemon_settings, NULL, &settings);
    if (!path_of(&settings, path))
        return 0;
    if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        snprintf(error, ENGINE_ERROR_SIZE, "cannot write pid file %.400s: it is not a regular file (pid-file)", path);
        return -EINVAL;
    }
    slash = strrchr(path, '/');
    slash[slash == path] = '\0';
    /* Create only the default folder, as for the control socket. */
    if (strcmp(path, SLUICE_RUNDIR) == 0)
        mkdir(SLUICE_RUNDIR, 0755); /* an error is ignored: the folder exists, or access() fails, too */
    if (access(path, W_OK | X_OK) == 0)
        return 0;

    int err = -errno;

    snprintf(
        error, ENGINE_ERROR_SIZE,
        "cannot write a pid file to folder %.400s: %s; create the folder for the daemon's user, or change pid-file",
        path, strerror(-err));
    return err;
}

int pid_file_write(const struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE])
{
    char path[PATH_MAX], temporary[PATH_MAX + 16], line[32];
    int64_t pid;
    int fd, err = 0, length;

    if (!path_of(&supervisor->settings, path))
        return 0;
    err = pid_file_check(supervisor->config, error);
    if (err)
        return err;
    pid = read_pid(path);
    if (pid > 0 && pid != getpid() && is_sluice(pid)) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "pid file %.400s belongs to process %" PRId64 ", another sluice: stop it, or change pid-file", path,
                 pid);
        return -EEXIST;
    }
    if (pid > 0 && pid != getpid())
        log_info("replacing the pid file %s of process %" PRId64 ", which has ended", path, pid);
    snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
    length = snprintf(line, sizeof(line), "%d\n", (int)getpid());
    unlink(temporary); /* left by a crash of a process with the same id */
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || fchmod(fd, 0644) || write(fd, line, (size_t)length) != length)
        err = errno ? -errno : -EIO;
    if (fd >= 0 && close(fd) && !err)
        err = -errno;
    if (!err && rename(temporary, path))
        err = -errno;
    if (err) {
        unlink(temporary);
        snprintf(error, ENGINE_ERROR_SIZE, "cannot write pid file %.400s: %s (pid-file)", path, strerror(-err));
    }
    return err;
}

void pid_file_remove(const struct supervisor *supervisor)
{
    char path[PATH_MAX];

    if (path_of(&supervisor->settings, path) && read_pid(path) == getpid())
        unlink(path);
}
