/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities, by the kernel's own calls: all that is wanted is one bit. The bounding set needs CAP_SETPCAP, which a container or a
 * service manager may have kept: without it no_new_privs alone says that nothing comes back.
 */
#include "sandbox_priv.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = _LINUX_CAPABILITY_U32S_3, MAX_CAPABILITY = 63 };

static int read_sets(struct __user_cap_data_struct sets[WORDS])
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

    return syscall(SYS_capget, &head, sets) ? -errno : 0;
}

static int write_sets(const struct __user_cap_data_struct sets[WORDS])
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

    return syscall(SYS_capset, &head, sets) ? -errno : 0;
}

int capabilities_raise(void)
{
    struct __user_cap_data_struct sets[WORDS];
    int err = read_sets(sets);

    if (err)
        return err;
    for (int i = 0; i < WORDS; i++)
        sets[i].effective = sets[i].permitted;
    return write_sets(sets);
}

static int drop_bounding(void)
{
    for (unsigned long one = 0; one <= MAX_CAPABILITY && prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; one++) {
        if (one != CAP_NET_ADMIN && prctl(PR_CAPBSET_DROP, one, 0, 0, 0) && errno != EPERM)
            return -errno;
    }
    return 0;
}

int capabilities_drop(void)
{
    struct __user_cap_data_struct sets[WORDS];
    int err = read_sets(sets);

    if (!err)
        err = drop_bounding();
    if (!err && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL) /* EINVAL: before 4.3 */
        err = -errno;
    if (err)
        return err;
    for (int i = 0; i < WORDS; i++) {
        sets[i].permitted &= i == CAP_TO_INDEX(CAP_NET_ADMIN) ? CAP_TO_MASK(CAP_NET_ADMIN) : 0;
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    return write_sets(sets);
}
