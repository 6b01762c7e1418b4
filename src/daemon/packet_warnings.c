/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warns about packets that an administrator can avoid: looping packets (firewall rules), super-packets (settings of an
 * interface), and packets on which rules reach a limit. Reads the workers' last snapshots. */
#include "packet_warnings.h"

#include "sluice/capture.h"
#include "sluice/detect.h"
#include "sluice/log.h"
#include "sluice/worker.h"

struct sums {
    uint64_t looping, large, udp, limits, limit_matches;
    uint32_t limited_gid, limited_sid; /* ids of a rule that reached a limit; 0: none */
};

void packet_warnings_log(struct packet_warnings *logged, struct worker *const *workers, unsigned count)
{
    struct sums sums = { .looping = 0 };

    for (unsigned i = 0; i < count; i++) {
        const struct detect_counters *detect = &workers[i]->snapshot.detect;
        uint64_t limits = detect->pcre_limits + detect->step_limits + detect->transform_limits;

        sums.looping += workers[i]->snapshot.capture.looping;
        sums.large += workers[i]->snapshot.pipeline.segmented_large;
        sums.udp += workers[i]->snapshot.pipeline.segmented_udp;
        sums.limits += limits;
        sums.limit_matches += detect->limit_matches;
        if (limits > 0) {
            sums.limited_gid = detect->limited_gid;
            sums.limited_sid = detect->limited_sid;
        }
    }
    if (sums.looping > logged->looping)
        log_warning("%llu packets came back from repeat without queue.mark: a rule ahead of the queue rule removes the "
                    "mark, or the queue rule does not match on it; Sluice %s these packets (queue.looping-packets)",
                    (unsigned long long)(sums.looping - logged->looping),
                    workers[0]->queue.looping_policy == QUEUE_LOOPING_DROP ? "drops" : "accepts");
    logged->looping = sums.looping;
    if (sums.large > 2 * logged->large) {
        log_warning(
            "received %llu super-packets of more than 65531 bytes (BIG TCP), which the kernel does not copy whole: "
            "the kernel segmented them, and segments all packets of the queue for %d s after each. To restore "
            "throughput, run `ip link set dev DEVICE gro_max_size 65536 gro_ipv4_max_size 65536`; `sluice nft "
            "doctor` lists the devices",
            (unsigned long long)sums.large, QUEUE_SEGMENT_SECONDS);
        logged->large = sums.large;
    }
    if (sums.udp > 2 * logged->udp) {
        log_warning("received %llu super-packets of several UDP datagrams: the kernel segmented them, and segments all "
                    "packets of the queue for %d s after each. To restore throughput, run `ethtool -K DEVICE "
                    "rx-udp-gro-forwarding off rx-gro-list off`; `sluice nft doctor` lists the devices",
                    (unsigned long long)sums.udp, QUEUE_SEGMENT_SECONDS);
        logged->udp = sums.udp;
    }
    if (sums.limits > 2 * logged->limits) { /* at each doubling only, because an attacker can cause any number */
        log_warning(
            "evaluations of rules on packets reached a limit %llu times, most recently of rule %u:%u; %llu of these "
            "evaluations counted as a match, the others as none (detect.limit-policy). Rewrite the pcre of the rule, "
            "or raise detect.pcre-match-limit; `sluice explain %u` counts the packets of a rule",
            (unsigned long long)sums.limits, sums.limited_gid, sums.limited_sid, (unsigned long long)sums.limit_matches,
            sums.limited_sid);
        logged->limits = sums.limits;
    }
}
