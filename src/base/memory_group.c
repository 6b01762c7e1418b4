/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the files of the memory controller of cgroups version 1 and 2, again at each call, because limits may change at
 * any time. */
#include "sluice/memory_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 4096, NAME_SIZE = 64 };

/* File and field names of a cgroup version. */
struct version {
    const char *root, *limit, *used, *reclaimable, *events;
};

static const struct version version_1 = {
    .root = "/sys/fs/cgroup/memory",
    .limit = "memory.limit_in_bytes",
    .used = "memory.usage_in_bytes",
    .reclaimable = "total_inactive_file",
    .events = "memory.oom_control",
};
static const struct version version_2 = {
    .root = "/sys/fs/cgroup",
    .limit = "memory.max",
    .used = "memory.current",
    .reclaimable = "inactive_file",
    .events = "memory.events",
};
/* Version 1 reports no limit as INT64_MAX rounded down to whole pages; a page has at most 64 KiB. */
static const uint64_t no_limit = (uint64_t)INT64_MAX >> 16 << 16;

struct place {
    const struct version *version;
    char group[LINE_SIZE]; /* path of this process's cgroup; "/" is the root */
};

static FILE *open_file(const struct place *place, const char *group, const char *name)
{
    char path[LINE_SIZE + NAME_SIZE * 2];

    snprintf(path, sizeof(path), "%s%s/%s", place->version->root, group, name);
    return fopen(path, "re");
}

static bool read_number(const struct place *place, const char *group, const char *name, uint64_t *out)
{
    FILE *file = open_file(place, group, name);
    bool found = file && fscanf(file, "%" SCNu64, out) == 1; /* false for "max": no limit */

    if (file)
        fclose(file);
    return found;
}

/* Reads the number of the name `wanted` from a file of names and numbers. Returns 0 when the name is missing. */
static uint64_t read_named(const struct place *place, const char *group, const char *name, const char *wanted)
{
    FILE *file = open_file(place, group, name);
    char word[NAME_SIZE];
    uint64_t number = 0, found = 0;

    while (file && fscanf(file, "%63s %" SCNu64, word, &number) == 2) {
        if (strcmp(word, wanted) == 0)
            found = number;
    }
    if (file)
        fclose(file);
    return found;
}

/* Returns whether a list such as "cpu,memory" contains the memory controller. Modifies the list. */
static bool has_memory(char *controllers)
{
    char *rest;

    for (char *word = strtok_r(controllers, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (strcmp(word, "memory") == 0)
            return true;
    }
    return false;
}

/* Parses a line of /proc/self/cgroup: "4:memory:/path" or "4:cpu,memory:/path" of version 1, "0::/path" of version 2.
 * Version 1 takes precedence: where it has the memory controller, version 2 does not have it. */
static void parse_line(struct place *place, char *line)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    const struct version *version;

    if (!group)
        return;
    *controllers++ = *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (*controllers == '\0' && strcmp(line, "0") == 0)
        version = &version_2;
    else if (has_memory(controllers))
        version = &version_1;
    else
        return;
    if (place->version == &version_1)
        return;
    place->version = version;
    snprintf(place->group, sizeof(place->group), "%s", group);
}

static bool find_place(struct place *out)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[LINE_SIZE];

    out->version = NULL;
    while (file && fgets(line, sizeof(line), file))
        parse_line(out, line);
    if (file)
        fclose(file);
    return out->version != NULL;
}

static uint64_t left(const struct memory_group *group)
{
    return group->used < group->limit ? group->limit - group->used : 0;
}

/* Replaces *tightest by `group` if less memory is left in `group`. */
static void read_group(const struct place *place, const char *group, struct memory_group *tightest)
{
    struct memory_group group_limit = { .limit = UINT64_MAX };
    uint64_t reclaimable;
    size_t length = strlen(group);

    if (!read_number(place, group, place->version->limit, &group_limit.limit) || group_limit.limit >= no_limit ||
        !read_number(place, group, place->version->used, &group_limit.used))
        return;
    reclaimable = read_named(place, group, "memory.stat", place->version->reclaimable);
    group_limit.used -= reclaimable < group_limit.used ? reclaimable : group_limit.used;
    if (tightest->limit != UINT64_MAX && left(&group_limit) >= left(tightest))
        return;
    group_limit.kills = tightest->kills;
    if (length >= sizeof(group_limit.name)) /* keep the end of the path, which is more specific */
        snprintf(group_limit.name, sizeof(group_limit.name), "...%s",
                 group + length - sizeof(group_limit.name) + sizeof("..."));
    else
        memcpy(group_limit.name, length > 0 ? group : "/", length > 0 ? length + 1 : sizeof("/"));
    *tightest = group_limit;
}

bool memory_group_read(struct memory_group *out)
{
    struct place place;

    *out = (struct memory_group){ .limit = UINT64_MAX };
    if (!find_place(&place))
        return false;
    if (strcmp(place.group, "/") == 0)
        place.group[0] = '\0';
    out->kills = read_named(&place, place.group, place.version->events, "oom_kill");
    for (;;) {
        char *slash = strrchr(place.group, '/');

        read_group(&place, place.group, out);
        if (!slash)
            break;
        *slash = '\0';
    }
    return out->limit != UINT64_MAX;
}

uint64_t memory_group_available(void)
{
    struct memory_group group;

    return memory_group_read(&group) ? left(&group) : UINT64_MAX;
}
