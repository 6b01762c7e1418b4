/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The capabilities that processes keep, set with libcap-ng. Changing the bounding set requires CAP_SETPCAP, which a
 * container or service manager may have removed. Then the bounding set is left unchanged, and only no_new_privs
 * prevents the process from regaining capabilities. capng_change_id() is not used to change the user, because it also
 * drops CAP_SETPCAP.
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

/* Drops all capabilities except those of `kept` that the process has. `inherited`: kept capabilities that are
 * inheritable stay inheritable. Ambient capabilities require this, and a user other than root keeps only ambient
 * capabilities across exec. Returns 0 or -errno. */
static int keep_capabilities(const unsigned *kept, size_t count, bool inherited)
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

int capabilities_drop(bool packet_sockets)
{
    return keep_capabilities((const unsigned[]){ packet_sockets ? CAP_NET_RAW : CAP_NET_ADMIN }, 1, false);
}

int capabilities_drop_of_supervisor(void)
{
    static const unsigned kept[] = {
        CAP_NET_ADMIN,       /* queues and the sluice table */
        CAP_NET_RAW,         /* engines: reject packets, rings of a sensor */
        CAP_DAC_READ_SEARCH, /* the kernel's list of queues */
        CAP_DAC_OVERRIDE,    /* files of the engine's user below the log folder */
        CAP_CHOWN,           /* folders of the engine's user */
        CAP_SETUID,          /* engines: change the user */
        CAP_SETGID,          /* engines: change the group */
        CAP_SETPCAP,         /* engines: drop capabilities */
        CAP_KILL,            /* signal engines of another user */
    };

    return keep_capabilities(kept, sizeof(kept) / sizeof(kept[0]), true);
}
