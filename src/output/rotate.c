/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rotation of files by the output thread: PATH is renamed to PATH.YYYYmmdd-HHMMSS (local time; a number is appended if
 * that name exists), and the oldest files with such names are removed.
 *
 * Intervals begin at multiples of the interval in local time, so that files of a day begin at midnight. The time of the
 * next rotation is computed once for each file; at a change to or from daylight saving time one interval is an hour
 * longer or shorter.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "output_priv.h"
#include "sluice/clock.h"
#include "sluice/config.h"

enum { STAMP_LENGTH = 15, MAX_SAME_SECOND = 1000, MAX_LISTED = 100000 };

bool output_rotation_interval(const char *value, uint64_t *seconds)
{
    static const struct {
        const char *name;
        uint64_t seconds;
    } names[] = { { "minute", 60 }, { "hour", 3600 }, { "day", 86400 } };
    struct span span = span_of(value);
    uint64_t number;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(value, names[i].name) == 0) {
            *seconds = names[i].seconds;
            return true;
        }
    }
    /* A number alone is not accepted: it is not obvious that its unit is seconds. */
    if (span.length < 2 || (value[span.length - 1] >= '0' && value[span.length - 1] <= '9') ||
        !config_duration(value, &number) || number == 0)
        return false;
    *seconds = number;
    return true;
}

const char *output_check_rotation(const char *value)
{
    uint64_t seconds;

    return output_rotation_interval(value, &seconds) ? NULL : "minute, hour, day, or a number with s, m, h, d or w";
}

void rotate_begin(struct sink *sink)
{
    const struct output_rotation *rotation = &sink->rotation;
    time_t now = (time_t)(clock_realtime_ns() / NS_PER_SECOND);
    struct stat status;
    struct tm local;

    sink->size = sink->rotate_at_s = 0;
    if (sink->fd < 0 || sink->type != OUTPUT_FILE_REGULAR || fstat(sink->fd, &status) || !S_ISREG(status.st_mode))
        return;
    sink->size = (uint64_t)status.st_size;
    if (rotation->interval_seconds == 0)
        return;
    /* A file of an earlier interval, which another process began, is rotated at once. */
    if (status.st_size > 0 && status.st_mtime < now)
        now = status.st_mtime;
    localtime_r(&now, &local);

    uint64_t local_seconds = (uint64_t)((int64_t)now + local.tm_gmtoff);

    sink->rotate_at_s = (uint64_t)now + rotation->interval_seconds - local_seconds % rotation->interval_seconds;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Removes the oldest files with the name of a rotated file, and keeps max_files. Names sort by time. */
static void remove_oldest(const struct sink *sink)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(sink->path, '/'), *base = slash ? slash + 1 : sink->path;
    size_t length = strlen(base), count = 0;
    struct dirent *entry;
    char **names = NULL;
    DIR *list;

    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - sink->path) + 1 : 1, slash ? sink->path : ".");
    list = opendir(folder);
    if (!list)
        return;
    while (count < MAX_LISTED && (entry = readdir(list))) {
        const char *stamp = entry->d_name + length + 1;

        if (strncmp(entry->d_name, base, length) != 0 || entry->d_name[length] != '.' ||
            strlen(entry->d_name) < length + 1 + STAMP_LENGTH || stamp[8] != '-' ||
            strspn(stamp, "0123456789-") != strlen(stamp))
            continue;

        char **more = realloc(names, (count + 1) * sizeof(*names));

        names = more ? more : names;
        if (!more || !(names[count] = strdup(entry->d_name)))
            break;
        count++;
    }
    if (count > 0)
        qsort(names, count, sizeof(*names), compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (i + sink->rotation.max_files < count)
            unlinkat(dirfd(list), names[i], 0); /* an error is ignored: the next rotation tries again */
        free(names[i]);
    }
    free(names);
    closedir(list);
}

bool rotate_if_due(struct sink *sink)
{
    uint64_t now_s = clock_realtime_ns() / NS_PER_SECOND;
    const struct output_rotation *rotation = &sink->rotation;
    bool size_due = rotation->max_size > 0 && sink->size > 0 && sink->size + sink->buffer.length > rotation->max_size;
    bool time_due = sink->rotate_at_s > 0 && now_s >= sink->rotate_at_s;
    char name[PATH_MAX], stamp[STAMP_LENGTH + 1];
    struct tm local;
    int err = 0;

    if (sink->fd < 0 || sink->type != OUTPUT_FILE_REGULAR || sink->cut || (!size_due && !time_due))
        return false;
    if (sink->size == 0) { /* nothing was written in this interval */
        rotate_begin(sink);
        return false;
    }
    localtime_r(&(time_t){ (time_t)now_s }, &local);
    strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", &local);
    for (int i = 0; i < MAX_SAME_SECOND; i++) {
        int length = i == 0 ? snprintf(name, sizeof(name), "%s.%s", sink->path, stamp)
                            : snprintf(name, sizeof(name), "%s.%s-%03d", sink->path, stamp, i);

        if (length < 0 || (size_t)length >= sizeof(name)) {
            err = ENAMETOOLONG;
            break;
        }
        if (faccessat(AT_FDCWD, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            continue;
        err = rename(sink->path, name) ? errno : 0;
        break;
    }
    if (err) {
        /* Continue with the same file. Try the rotation again after the next interval or when the file has doubled. */
        counter_add(&sink->counters->write_errors, 1);
        sink->size = 0;
        sink->rotate_at_s += sink->rotate_at_s > 0 ? rotation->interval_seconds : 0;
        return false;
    }
    if (rotation->max_files > 0)
        remove_oldest(sink);
    return true;
}
