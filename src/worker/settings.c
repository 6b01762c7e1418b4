/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings overload.*, threading.* (CPU affinity) and host-os-policy.*. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/affinity.h"
#include "sluice/config.h"
#include "sluice/engine_limits.h"
#include "sluice/host_os_table.h"
#include "sluice/overload.h"

static const char *const shed_classes[] = { "encrypted", "bulk", "files", "established", "new", NULL };
static const char *const affinities[] = { [AFFINITY_NONE] = "none",
                                          [AFFINITY_EXCLUSIVE] = "exclusive",
                                          [AFFINITY_BALANCED] = "balanced",
                                          [AFFINITY_AUTO] = "auto",
                                          NULL };
static const char *const verdict_threads[] = { "auto", "no", NULL };

static const char *check_cpus(const char *value)
{
    uint32_t numbers[ENGINE_MAX_CPUS];

    return strcmp(value, "all") == 0 || config_ranges(value, ENGINE_MAX_CPUS - 1, numbers, ENGINE_MAX_CPUS) > 0
               ? NULL
               : "CPU numbers such as 0-3,8, or all";
}

static const char *check_network(const char *value)
{
    struct address network;
    unsigned prefix;

    return config_network(value, &network, &prefix) > 0 ? NULL : "an address or a network such as 10.0.0.0/8";
}

const struct setting overload_settings[] = {
    { .name = "overload.enabled",
      SETTING_FIELD(overload_options, enabled),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Bypass flows of overload.shed in overload: while a queue is too full or its packets wait too long. "
              "Events report overload; it ends when both have been below half of their limits for a second" },
    { .name = "overload.queue-fill",
      SETTING_FIELD(overload_options, fill_permille),
      .scale = 10,
      .type = SETTING_NUMBER,
      .default_value = "50",
      .low = 1,
      .high = 100,
      .help = "Fill level of a queue, in per cent of queue.length or of the socket buffer, from which it is "
              "overloaded" },
    { .name = "overload.queue-age",
      SETTING_FIELD(overload_options, age_ns),
      .scale = 1000000,
      .type = SETTING_NUMBER,
      .default_value = "100",
      .low = 1,
      .high = 3600000,
      .help = "Milliseconds that packets may wait for their verdict; the queue is overloaded when they have waited "
              "longer than this for 20 ms without a pause" },
    { .name = "overload.shed",
      SETTING_FIELD(overload_options, shed),
      .type = SETTING_LIST,
      .default_value = "encrypted",
      .choices = shed_classes,
      .help = "Classes of flows that are bypassed in overload, in this order, one class more each 50 ms while it "
              "lasts: encrypted (TLS and SSH after the handshake), bulk (more than overload.bulk-size), files "
              "(within a file larger than overload.file-size), established. A flow with a match is not bypassed, "
              "unless encrypted and without alert. new: new flows are treated by overload.policy. []: none" },
    { .name = "overload.bulk-size",
      SETTING_FIELD(overload_options, limits.bulk_bytes),
      .type = SETTING_SIZE,
      .default_value = "10 MiB",
      .low = 1,
      .high = INT64_C(1) << 40,
      .help = "Size of a flow, in bytes of both directions, above which it is bulk" },
    { .name = "overload.file-size",
      SETTING_FIELD(overload_options, limits.file_bytes),
      .type = SETTING_SIZE,
      .default_value = "256 KiB",
      .low = 1,
      .high = INT64_C(1) << 40,
      .help = "Size of a file, in bytes, above which it is large" },
    { .name = NULL },
};

const struct setting affinity_settings[] = {
    { .name = "threading.affinity",
      SETTING_FIELD(affinity_options, mode),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = affinities,
      .help = "CPU affinity of workers: exclusive (one CPU each), balanced (any CPU of threading.worker-cpu-set), auto "
              "(exclusive by topology; with too few CPUs balanced, or none without threading.worker-cpu-set), none" },
    { .name = "threading.verdict-threads",
      SETTING_FIELD(affinity_options, no_senders),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = verdict_threads,
      .help = "Send verdicts of bulk traffic by a second thread per queue: auto (where a CPU without a worker is left "
              "for each), no" },
    { .name = "threading.management-cpu-set",
      SETTING_FIELD(affinity_options, management),
      .type = SETTING_LIST,
      .check = check_cpus,
      .help = "CPUs of the main thread: lists such as 0-3,8, or all" },
    { .name = "threading.worker-cpu-set",
      SETTING_FIELD(affinity_options, workers),
      .type = SETTING_LIST,
      .check = check_cpus,
      .help = "CPUs of the workers" },
    { .name = "threading.output-cpu-set",
      SETTING_FIELD(affinity_options, output),
      .type = SETTING_LIST,
      .check = check_cpus,
      .help = "CPUs of the thread that writes events" },
    { .name = NULL },
};

const struct setting host_os_settings[] = {
    { .name = "host-os-policy.windows",
      SETTING_FIELD(host_os_options, networks[HOST_OS_WINDOWS]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as Windows does; the "
              "most specific network counts, and a host in none is bsd" },
    { .name = "host-os-policy.bsd",
      SETTING_FIELD(host_os_options, networks[HOST_OS_BSD]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as BSD does" },
    { .name = "host-os-policy.bsd-right",
      SETTING_FIELD(host_os_options, networks[HOST_OS_BSD_RIGHT]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as BSD that prefers "
              "later data does" },
    { .name = "host-os-policy.old-linux",
      SETTING_FIELD(host_os_options, networks[HOST_OS_OLD_LINUX]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as Linux 2.2 and "
              "before does" },
    { .name = "host-os-policy.linux",
      SETTING_FIELD(host_os_options, networks[HOST_OS_LINUX]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as Linux does" },
    { .name = "host-os-policy.old-solaris",
      SETTING_FIELD(host_os_options, networks[HOST_OS_OLD_SOLARIS]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as Solaris before "
              "2.6 does" },
    { .name = "host-os-policy.solaris",
      SETTING_FIELD(host_os_options, networks[HOST_OS_SOLARIS]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as Solaris does" },
    { .name = "host-os-policy.hpux10",
      SETTING_FIELD(host_os_options, networks[HOST_OS_HPUX10]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as HP-UX 10 does" },
    { .name = "host-os-policy.hpux11",
      SETTING_FIELD(host_os_options, networks[HOST_OS_HPUX11]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as HP-UX 11 does" },
    { .name = "host-os-policy.irix",
      SETTING_FIELD(host_os_options, networks[HOST_OS_IRIX]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as IRIX does" },
    { .name = "host-os-policy.macos",
      SETTING_FIELD(host_os_options, networks[HOST_OS_MACOS]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as macOS does" },
    { .name = "host-os-policy.vista",
      SETTING_FIELD(host_os_options, networks[HOST_OS_VISTA]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as Windows Vista and "
              "later does" },
    { .name = "host-os-policy.windows2k3",
      SETTING_FIELD(host_os_options, networks[HOST_OS_WINDOWS2K3]),
      .type = SETTING_LIST,
      .check = check_network,
      .help = "Addresses and networks of hosts that reassemble overlapping fragments and segments as Windows Server "
              "2003 does" },
    { .name = NULL },
};
