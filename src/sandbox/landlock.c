/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Landlock restricts access to the given folders. A rule refers to the folder that exists when the rule is added; it
 * does not apply to a folder that is later created with the same path.
 *
 * The kernel reports the version of the Landlock interface; each version added access rights that can be restricted.
 * Version 1 (Linux 5.13) does not allow renaming a file into another folder, which the file store needs, so it is
 * treated as missing. The headers of the build machine may be older than the running kernel, so newer rights are
 * defined here by number.
 *
 * Descriptors of folders in /proc stay open, because the kernel may otherwise drop the inodes to which the rules refer.
 */
#include "sandbox_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { VERSION_RENAME = 2, VERSION_TRUNCATE = 3, VERSION_NET = 4, VERSION_DEVICES = 5, VERSION_SCOPE = 6 };
enum { PROC_MAGIC = 0x9fa0 };

#define RIGHT_REFER (UINT64_C(1) << 13)
#define RIGHT_TRUNCATE (UINT64_C(1) << 14)
#define RIGHT_DEVICES (UINT64_C(1) << 15)
#define RIGHTS_OF_NET UINT64_C(3) /* LANDLOCK_ACCESS_NET_BIND_TCP and LANDLOCK_ACCESS_NET_CONNECT_TCP */
#define SCOPES UINT64_C(3)        /* LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and LANDLOCK_SCOPE_SIGNAL */

#define RIGHTS_TO_READ ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
#define RIGHTS_TO_WRITE                                                                                                \
    (RIGHTS_TO_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |      \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | RIGHT_REFER | RIGHT_TRUNCATE)
#define RIGHTS_OF_FILES ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE) | RIGHT_TRUNCATE)

/* Like struct landlock_ruleset_attr of interface version 6: the rights that are restricted. Bits that the running
 * kernel does not know must be 0. */
struct ruleset {
    uint64_t files, net, scopes;
};

static const uint64_t rights[] = {
    [SANDBOX_READ] = RIGHTS_TO_READ,
    [SANDBOX_WRITE] = RIGHTS_TO_WRITE,
};

/* Adds the rule for a path; skips a path that cannot be opened. Returns 0 or -errno. */
static int add_path(int ruleset, uint64_t handled_files, const struct sandbox_path *path)
{
    struct landlock_path_beneath_attr rule = {
        .allowed_access = handled_files & rights[path->right],
        .parent_fd = open(path->path, O_PATH | O_CLOEXEC),
    };
    struct statfs file_system;
    struct stat status;
    int err = 0;

    if (rule.parent_fd < 0)
        return errno == ENOMEM || errno == EMFILE ? -errno : 0;
    if (fstat(rule.parent_fd, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed_access &= RIGHTS_OF_FILES;
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
        err = -errno;
    if (fstatfs(rule.parent_fd, &file_system) || file_system.f_type != PROC_MAGIC)
        close(rule.parent_fd);
    return err;
}

int landlock_enter(const struct sandbox_path *paths, size_t count)
{
    int version = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset all = { .files = ((uint64_t)(LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1) | RIGHT_REFER };
    int ruleset, err = 0;

    if (version < 0)
        return -errno;
    if (version < VERSION_RENAME)
        return -ENOSYS;
    if (version >= VERSION_TRUNCATE)
        all.files |= RIGHT_TRUNCATE;
    if (version >= VERSION_NET)
        all.net = RIGHTS_OF_NET;
    if (version >= VERSION_DEVICES)
        all.files |= RIGHT_DEVICES;
    if (version >= VERSION_SCOPE)
        all.scopes = SCOPES;
    ruleset = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
    if (ruleset < 0)
        return -errno;
    for (size_t i = 0; i < count && !err; i++)
        err = add_path(ruleset, all.files, &paths[i]);
    if (!err && syscall(SYS_landlock_restrict_self, ruleset, 0))
        err = -errno;
    close(ruleset);
    return err ? err : version;
}
