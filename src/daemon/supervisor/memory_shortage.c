/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory shortage. When memory is short, the kernel kills a process with SIGKILL and does not report the reason to its
 * parent. But it counts these kills for each control group and for the machine, so a comparison with earlier counters
 * shows them. The kernel should kill the engine, which uses the memory and is started again, rather than the
 * supervisor.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sluice/memory_group.h"

#include "supervisor_priv.h"

/* DIFFERENCE: the engine's oom_score_adj minus the supervisor's, in thousandths of the memory. The kernel kills the
 * supervisor first only if it uses this much more memory than the engine. */
enum { DIFFERENCE = 200, SCORE_MIN = -999, SCORE_MAX = 1000 };
static const char score_path[] = "/proc/self/oom_score_adj";

static int read_score(void)
{
    FILE *file = fopen(score_path, "re");
    int score = 0;

    if (file && fscanf(file, "%d", &score) != 1)
        score = 0;
    if (file)
        fclose(file);
    return score;
}

static bool write_score(int score)
{
    int fd = open(score_path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && dprintf(fd, "%d", score) > 0;

    if (fd >= 0)
        close(fd);
    return done;
}

/* Lowering the score needs CAP_SYS_RESOURCE. Without it the supervisor keeps its score; memory_expose_engine()
 * still raises the engine's score above it. */
void memory_protect_supervisor(void)
{
    int score = read_score() - DIFFERENCE;

    if (score >= SCORE_MIN)
        write_score(score);
}

void memory_expose_engine(void)
{
    int score = read_score() + DIFFERENCE;

    write_score(score < SCORE_MAX ? score : SCORE_MAX);
}

/* Returns the number of kills on the whole machine; 0 if the kernel does not count them (before 4.13). */
static uint64_t machine_kills(void)
{
    FILE *file = fopen("/proc/vmstat", "re");
    uint64_t kills = 0;
    char line[128];

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "oom_kill %" SCNu64, &kills) == 1)
            break;
    }
    if (file)
        fclose(file);
    return kills;
}

struct memory_shortage memory_shortage_read(void)
{
    struct memory_group group;

    memory_group_read(&group);
    return (struct memory_shortage){ .group = group.kills, .machine = machine_kills() };
}

enum memory_shortage_kind memory_shortage_since(const struct memory_shortage *before)
{
    struct memory_shortage now = memory_shortage_read();

    if (now.group > before->group)
        return MEMORY_SHORTAGE_OF_GROUP;
    return now.machine > before->machine ? MEMORY_SHORTAGE_POSSIBLE : NO_MEMORY_SHORTAGE;
}

void memory_shortage_describe(enum memory_shortage_kind want, char *out, size_t size)
{
    struct memory_group group;

    if (want == NO_MEMORY_SHORTAGE)
        snprintf(out, size, "%s", "");
    else if (!memory_group_read(&group))
        snprintf(out, size,
                 ", %sbecause the machine ran out of memory: lower the memcaps, load fewer rules, or add memory",
                 want == MEMORY_SHORTAGE_POSSIBLE ? "perhaps " : "");
    else
        snprintf(out, size,
                 ", %sbecause it ran out of memory: control group %s is limited to %" PRIu64
                 " MiB; raise the limit (MemoryMax=), lower the memcaps, or load fewer rules",
                 want == MEMORY_SHORTAGE_POSSIBLE ? "perhaps " : "", group.name, group.limit >> 20);
}
