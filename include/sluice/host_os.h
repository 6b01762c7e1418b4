/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the receiving host treats overlapping fragments or segments, by its address. The names are as in host-os-policy
 * (docs.suricata.io, "Host OS Policy"). The behaviours are described in Novak and Sturges, "Target-Based TCP Stream
 * Reassembly", and Novak, "Target-Based Fragmentation Reassembly".
 */
#ifndef SLUICE_HOST_OS_H
#define SLUICE_HOST_OS_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"

enum host_os {
    HOST_OS_BSD,
    HOST_OS_BSD_RIGHT,
    HOST_OS_OLD_LINUX,
    HOST_OS_LINUX,
    HOST_OS_OLD_SOLARIS,
    HOST_OS_SOLARIS,
    HOST_OS_HPUX10,
    HOST_OS_HPUX11,
    HOST_OS_IRIX,
    HOST_OS_MACOS,
    HOST_OS_WINDOWS,
    HOST_OS_VISTA,
    HOST_OS_WINDOWS2K3,
    HOST_OS_COUNT,
};

/* `of` returns the operating system that host-os-policy configures for an address; NULL: every host is HOST_OS_BSD.
 * `user` is passed to it. */
struct host_os_policy {
    enum host_os (*of)(const void *user, int ip_version, const struct address *host);
    const void *user;
};

static inline enum host_os host_os_lookup(const struct host_os_policy *policy, int ip_version,
                                          const struct address *host)
{
    return policy->of ? policy->of(policy->user, ip_version, host) : HOST_OS_BSD;
}

#endif
