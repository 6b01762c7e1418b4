/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "acknowledgments.h"

#include <inttypes.h>
#include <string.h>

#include "attachment.h"
#include "sluice/connections.h"
#include "sluice/detect.h"
#include "sluice/log.h"

enum { NAMED_RULES = 5 }; /* maximum number of rules that are named */

static void log_rules(const struct ruleset *ruleset)
{
    size_t count = ruleset_acknowledgment_count(ruleset);
    struct text list;

    text_init(&list);
    for (size_t i = 0; i < count && i < NAMED_RULES; i++) {
        const struct rule *rule = ruleset_acknowledgment_rule(ruleset, i);

        text_printf(&list, "%s%" PRIu32 ":%" PRIu32, i > 0 ? ", " : "", rule->gid, rule->sid);
    }
    log_notice("acknowledgments are queued: %zu rule%s can match or count them (%s%s); disable these rules to offload "
               "acknowledgments",
               count, count == 1 ? "" : "s", list.bytes ? list.bytes : "?", count > NAMED_RULES ? ", ..." : "");
    text_clear(&list);
}

void acknowledgments_apply(const struct attachment *attachment, const struct ruleset *ruleset)
{
    const struct firewall_offload *offload = attachment ? &attachment_firewall(attachment)->offload : NULL;
    size_t changed = 0;
    int err;

    if (!offload || !offload->acknowledge)
        return;
    if (ruleset_acknowledgment_count(ruleset) == 0) {
        log_info("acknowledgments are offloaded: no rule can match them");
        return;
    }
    log_rules(ruleset);
    err = connections_unmark(&(const struct connection_mark){ offload->acknowledge_mark, offload->acknowledge_mask }, 1,
                             &changed);
    if (err)
        log_error("cannot remove nft.offload.acknowledgment-mark from connections: %s; the kernel does not queue the "
                  "acknowledgments of each until its next other packet. Run `sluice nft unmark` to remove the marks",
                  strerror(-err));
}

void acknowledgments_json(struct text *out, const struct attachment *attachment, const struct ruleset *ruleset,
                          uint64_t queued_packets, uint64_t queued_bytes)
{
    const struct firewall_offload *offload = attachment ? &attachment_firewall(attachment)->offload : NULL;
    struct attachment_counters counters;
    size_t count = ruleset_acknowledgment_count(ruleset);
    uint64_t packets, bytes;

    if (!offload || (!offload->accept && !offload->drop && !offload->acknowledge))
        return;
    attachment_counters(attachment, &counters);
    packets = counters.accepted_packets + counters.dropped_packets + counters.acknowledgment_packets;
    bytes = counters.accepted_bytes + counters.dropped_bytes + counters.acknowledgment_bytes;
    json_object_open(out, "offload");
    json_uint(out, "packets", packets);
    json_uint(out, "bytes", bytes);
    json_uint(out, "acknowledgments", counters.acknowledgment_packets);
    json_uint(out, "acknowledgment_bytes", counters.acknowledgment_bytes);
    json_uint(out, "queued_packets", queued_packets);
    json_uint(out, "queued_bytes", queued_bytes);
    if (offload->acknowledge) {
        json_bool(out, "offloads_acknowledgments", count == 0);
        json_uint(out, "acknowledgment_rules", count);
        json_array_open(out, "first_rules");
        for (size_t i = 0; i < count && i < NAMED_RULES; i++) {
            const struct rule *rule = ruleset_acknowledgment_rule(ruleset, i);

            json_object_open(out, NULL);
            json_uint(out, "gid", rule->gid);
            json_uint(out, "sid", rule->sid);
            json_object_close(out);
        }
        json_array_close(out);
    }
    json_object_close(out);
}
