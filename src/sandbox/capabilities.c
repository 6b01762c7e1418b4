/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The capabilities that processes keep, set with libcap-ng. Changing the bounding set needs CAP_SETPCAP, which a
 * container or service manager may have removed: then only no_new_privs prevents regaining capabilities.
 * capng_change_id() is not used for the change of the user, because it also drops CAP_SETPCAP.
 */
#include "sandbox_priv.h"

#include <cap-ng.h>
#include <errno.h>

enum { MAX_KEPT = 16 };

static int apply(capng_select_t sets)
{
    errno = 0;
    if (capng_apply(sets) == 0)
        return 0;
    return errno ? -errno : -EPERM;
}

int capabilities_raise(void)
{
    if (capng_get_caps_process())
        return -EIO;
    for (unsigned one = 0; one <= CAP_LAST_CAP; one++)
        if (capng_have_capability(CAPNG_PERMITTED, one))
            capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, one);
    return apply(CAPNG_SELECT_CAPS);
}

/* Keeps those of the capabilities that the process has; `inherited`: also for programs that a user other than root
 * executes. Without inheritable capabilities there are no ambient ones. */
static int keep(const unsigned *kept, size_t count, bool inherited)
{
    unsigned sets[MAX_KEPT] = { 0 };
    bool bounds;
    int err = 0;

    if (capng_get_caps_process())
        return -EIO;
    bounds = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
    for (size_t i = 0; i < count; i++) {
        if (capng_have_capability(CAPNG_BOUNDING_SET, kept[i]))
            sets[i] |= CAPNG_BOUNDING_SET;
        if (!capng_have_capability(CAPNG_PERMITTED, kept[i]))
            continue;
        sets[i] |= CAPNG_PERMITTED | CAPNG_EFFECTIVE;
        if (inherited && capng_have_capability(CAPNG_INHERITABLE, kept[i]))
            sets[i] |= CAPNG_INHERITABLE;
    }
    capng_clear(CAPNG_SELECT_BOTH);
    for (size_t i = 0; i < count; i++)
        if (sets[i])
            capng_update(CAPNG_ADD, (capng_type_t)sets[i], kept[i]);
    if (bounds)
        err = apply(CAPNG_SELECT_BOUNDS);
    return err ? err : apply(CAPNG_SELECT_CAPS);
}

int capabilities_drop(void)
{
    return keep((const unsigned[]){ CAP_NET_ADMIN }, 1, false);
}

/*
 * Queues and table: NET_ADMIN. The kernel's list of queues: DAC_READ_SEARCH. Engines: SETUID and SETGID to become
 * another user, SETPCAP to give up capabilities, CHOWN for their folders, NET_RAW for reject, KILL to end them. Files
 * of that user below the log folder: DAC_OVERRIDE.
 */
int capabilities_drop_of_supervisor(void)
{
    static const unsigned kept[] = { CAP_NET_ADMIN, CAP_NET_RAW, CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, CAP_CHOWN,
                                     CAP_SETUID,    CAP_SETGID,  CAP_SETPCAP,         CAP_KILL };

    return keep(kept, sizeof(kept) / sizeof(kept[0]), true);
}
