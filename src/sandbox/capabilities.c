/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets capabilities with the kernel's system calls, as only a few bits are needed. Changing the bounding set needs
 * CAP_SETPCAP, which a container or service manager may have removed: then only no_new_privs prevents regaining
 * capabilities.
 */
#include "sandbox_priv.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
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

static int drop_bounding(uint64_t kept)
{
    for (unsigned long one = 0; one <= MAX_CAPABILITY && prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; one++) {
        if (!(kept >> one & 1) && prctl(PR_CAPBSET_DROP, one, 0, 0, 0) && errno != EPERM)
            return -errno;
    }
    return 0;
}

/* Sets the capabilities; `inherited`: also for programs that a user other than root executes. */
static int keep(uint64_t kept, bool inherited)
{
    struct __user_cap_data_struct sets[WORDS];
    int err = read_sets(sets);

    if (!err)
        err = drop_bounding(kept);
    if (!err && !inherited && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
        err = -errno; /* EINVAL: before 4.3 */
    if (err)
        return err;
    for (int i = 0; i < WORDS; i++) {
        sets[i].permitted &= (uint32_t)(kept >> 32 * i);
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable &= inherited ? sets[i].permitted : 0;
    }
    return write_sets(sets);
}

#define BIT(capability) (UINT64_C(1) << (capability))

int capabilities_drop(void)
{
    return keep(BIT(CAP_NET_ADMIN), false);
}

/*
 * Queues and table: NET_ADMIN. The kernel's list of queues: DAC_READ_SEARCH. Engines: SETUID and SETGID to become
 * another user, SETPCAP to give up capabilities, CHOWN for their folders, NET_RAW for reject, KILL to end them. Files
 * of that user below the log folder: DAC_OVERRIDE.
 */
int capabilities_drop_of_supervisor(void)
{
    return keep(BIT(CAP_NET_ADMIN) | BIT(CAP_NET_RAW) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_DAC_OVERRIDE) |
                    BIT(CAP_CHOWN) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP) | BIT(CAP_KILL),
                true);
}
