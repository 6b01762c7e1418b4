/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the host: interfaces that build super-packets which the kernel must segment before it queues them, and kernel
 * versions with known defects in queues. */
#include "doctor_priv.h"

/* Interfaces that build super-packets of more than this number of bytes are reported. The kernel copies at most 65531
 * bytes of a packet. */
enum { COPIED = 65536 };

/* --- Interfaces ------------------------------------------------------------------------------------- */

void check_links(struct context *context)
{
    for (const struct doctor_link *link = context->host->links; link; link = link->next) {
        uint32_t size = link->receive_size > link->send_size ? link->receive_size : link->send_size;

        if (size > COPIED)
            add_finding(context, DOCTOR_NOTE, "link.big-tcp",
                        "The kernel copies at most 65531 bytes of a packet. Sluice has the kernel segment larger "
                        "super-packets (BIG TCP), so all bytes are inspected, but for 10 s after each one "
                        "throughput drops to that without super-packets.",
                        "Run `ip link set dev DEVICE gso_max_size 65536 gro_max_size 65536 gso_ipv4_max_size 65536 "
                        "gro_ipv4_max_size 65536` (the last two need iproute2 6.3).",
                        "interface %s builds super-packets of up to %u bytes", link->name, size);
        if (link->merges_udp)
            add_finding(context, DOCTOR_NOTE, "link.udp-gro",
                        "The kernel does not report where the datagrams in a super-packet end. Sluice has the "
                        "kernel segment them, so each datagram is inspected, but for 10 s after each one "
                        "throughput drops to that without super-packets.",
                        "Run `ethtool -K DEVICE rx-udp-gro-forwarding off rx-gro-list off`.",
                        "interface %s merges UDP datagrams (rx-udp-gro-forwarding or rx-gro-list)", link->name);
    }
}

/* --- Kernel ----------------------------------------------------------------------------------------- */

/* The kernel versions MAJOR.MINOR.patch up to, but not including, MAJOR.MINOR.end; `end` 0: all later versions of the
 * series. */
struct series {
    unsigned major, minor, patch, end;
};

static bool is_any(const struct doctor_kernel *kernel, const struct series *series, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (kernel->major == series[i].major && kernel->minor == series[i].minor && kernel->patch >= series[i].patch &&
            (series[i].end == 0 || kernel->patch < series[i].end))
            return true;
    return false;
}

/* CVE-2026-43084: all queues share one hash table of waiting packets, through which these versions access packets after
 * they were freed. */
static const struct series crashes[] = { { 6, 12, 75, 83 }, { 6, 18, 14, 24 }, { 6, 19, 4, 14 } };
/* Versions with the correction of CVE-2026-43084: each queue has a hash table of 8 to 32768 buckets, which the kernel
 * resizes with the number of waiting packets. */
static const struct series resizes[] = { { 6, 12, 83, 0 }, { 6, 18, 24, 0 }, { 6, 19, 14, 0 } };

/* CVE-2026-45859: when one of these versions segments a super-packet of a connection that conntrack has not confirmed,
 * it drops all segments. */
static const struct series drops[] = { { 6, 11, 0, 0 }, { 6, 12, 0, 75 }, { 6, 13, 0, 0 },
                                       { 6, 14, 0, 0 }, { 6, 15, 0, 0 },  { 6, 16, 0, 0 },
                                       { 6, 17, 0, 0 }, { 6, 18, 0, 14 }, { 6, 19, 0, 4 } };

void check_kernel(struct context *context)
{
    const struct doctor_kernel *kernel = &context->host->kernel;
    const struct doctor_link *link = context->host->links;

    while (link && !link->merges_udp)
        link = link->next;
    if (link && is_any(kernel, drops, sizeof(drops) / sizeof(drops[0])))
        add_finding(context, DOCTOR_WARNING, "kernel.udp-drops",
                    "When the first packet of a flow is a super-packet of several UDP datagrams, a kernel of "
                    "this version drops it while segmenting it (CVE-2026-45859), unless the distribution has "
                    "backported the correction.",
                    "Run `ethtool -K DEVICE rx-udp-gro-forwarding off rx-gro-list off`, or update the kernel: 6.12.75, "
                    "6.18.14, 6.19.4 and "
                    "7.0 have the correction.",
                    "kernel %u.%u.%u drops UDP super-packets of new flows, and interface %s merges datagrams",
                    kernel->major, kernel->minor, kernel->patch, link->name);
    if (is_any(kernel, crashes, sizeof(crashes) / sizeof(crashes[0])))
        add_finding(context, DOCTOR_WARNING, "kernel.queue-crash",
                    "Kernels of this version can crash when packets of several queues get their verdicts at "
                    "the same time (CVE-2026-43084), unless the distribution has backported the correction.",
                    "Update the kernel: 6.12.83, 6.18.24, 6.19.14 and 7.0 have the correction.",
                    "kernel %u.%u.%u has a known defect in nfnetlink_queue", kernel->major, kernel->minor,
                    kernel->patch);
    else if (kernel->major >= 7 || is_any(kernel, resizes, sizeof(resizes) / sizeof(resizes[0])))
        add_finding(
            context, DOCTOR_NOTE, "kernel.queue-resize",
            "The kernel keeps the waiting packets of each queue in a hash table that grows and shrinks with their "
            "number, down to "
            "8 buckets. With many small packets it resizes the table thousands of times a second, in kworker threads "
            "(rht_deferred_worker).",
            "Leave super-packets on (queue.gso, GRO of the interfaces), so that fewer packets wait. `perf top` shows "
            "rht_deferred_worker when the resizing costs CPU time.",
            "kernel %u.%u.%u resizes the hash table of each queue with every burst of packets", kernel->major,
            kernel->minor, kernel->patch);
}
