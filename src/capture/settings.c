/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of queues: queue.* applies to all queues; queues.RANGE.* overrides it for some of them. */
#include "sluice/capture.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/text.h"

static const char *const verdicts[] = {
    [QUEUE_ACCEPT] = "accept", [QUEUE_REPEAT] = "repeat", [QUEUE_ROUTE] = "route", NULL
};
static const char *const looping_policies[] = {
    [QUEUE_LOOPING_DROP] = "drop", [QUEUE_LOOPING_ACCEPT] = "accept", NULL
};
static const char *const truncated_policies[] = {
    [QUEUE_TRUNCATED_INSPECT] = "inspect", [QUEUE_TRUNCATED_DROP] = "drop", NULL
};
static const char *const marked_policies[] = {
    [QUEUE_MARKED_ACCEPT] = "accept", [QUEUE_MARKED_INSPECT] = "inspect", [QUEUE_MARKED_DROP] = "drop", NULL
};
static const char *const conntrack_modes[] = {
    [QUEUE_CONNTRACK_AUTO] = "auto", [QUEUE_CONNTRACK_ALWAYS] = "always", [QUEUE_CONNTRACK_NO] = "no", NULL
};

static const char *check_queues(const char *value)
{
    uint32_t numbers[CAPTURE_MAX_QUEUES];

    return config_ranges(value, UINT16_MAX, numbers, CAPTURE_MAX_QUEUES) > 0
               ? NULL
               : "queue numbers such as 0, 0-3 or 0-3,8 (at most 256 of 0 to 65535, each once)";
}

static void store_mark(const char *value, void *options)
{
    struct queue_options *queue = options;

    config_mark(value, &queue->nfqueue.mark, &queue->nfqueue.mark_mask);
}

static void store_route(const char *value, void *options)
{
    struct queue_options *queue = options;
    uint64_t number = 0;

    queue->has_route = text_to_uint(value, strlen(value), 0, UINT16_MAX, &number);
    queue->nfqueue.route_to = (uint16_t)number;
}

const struct setting queue_settings[] = {
    { .name = "queue.numbers",
      SETTING_FIELD(queue_options, numbers),
      .type = SETTING_STRING,
      .default_value = "0",
      .check = check_queues,
      .help = "NFQUEUE numbers to serve, with one worker thread each: 0, 0-3 or 0-3,8" },
    { .name = "queue.verdict",
      SETTING_FIELD(queue_options, nfqueue.mode),
      .type = SETTING_ENUM,
      .default_value = "accept",
      .choices = verdicts,
      .help = "Verdict for packets that are not dropped: accept (continue at the next hook entry), repeat (the same "
              "chain again, with queue.mark set), route (to the queue queue.route-to)" },
    { .name = "queue.mark",
      .store = store_mark,
      .type = SETTING_STRING,
      .check = config_check_mark,
      .help = "Mark to set on packets that are not dropped, as MARK/MASK (0x1/0x1); only bits under the mask change. "
              "The verdict 'repeat' needs it" },
    { .name = "queue.marked-packets",
      SETTING_FIELD(queue_options, nfqueue.marked_policy),
      .type = SETTING_ENUM,
      .default_value = "accept",
      .choices = marked_policies,
      .help = "Treatment of packets that arrive with queue.mark set in repeat mode, which the firewall should not have "
              "queued" },
    { .name = "queue.repeat-limit",
      SETTING_FIELD(queue_options, nfqueue.repeat_limit),
      .type = SETTING_NUMBER,
      .default_value = "64",
      .low = 0,
      .high = 1 << 20,
      .help = "Number of times in a row that a packet may come back without queue.mark in repeat mode, because a rule "
              "removes the mark or the queue rule does not match it; 0: unlimited" },
    { .name = "queue.looping-packets",
      SETTING_FIELD(queue_options, nfqueue.looping_policy),
      .type = SETTING_ENUM,
      .default_value = "drop",
      .choices = looping_policies,
      .help = "Treatment of packets beyond queue.repeat-limit: drop, or accept, which skips the rest of their chain" },
    { .name = "queue.truncated-packets",
      SETTING_FIELD(queue_options, nfqueue.truncated_policy),
      .type = SETTING_ENUM,
      .default_value = "drop",
      .choices = truncated_policies,
      .help = "Treatment of packets of more than 65531 bytes, of which the kernel copies the beginning only, and which "
              "it cannot segment: drop, or inspect the copied bytes and let the others pass" },
    { .name = "queue.route-to",
      .store = store_route,
      .type = SETTING_NUMBER,
      .low = 0,
      .high = 65535,
      .help = "Queue of the program that receives the packets next, for the verdict 'route'" },
    { .name = "queue.route-bypass",
      SETTING_FIELD(queue_options, nfqueue.route_bypass),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Let routed packets pass when no process listens on queue.route-to; otherwise the kernel drops them" },
    { .name = "queue.fail-open",
      SETTING_FIELD(queue_options, nfqueue.fail_open),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Let the kernel accept packets uninspected when the queue is full; otherwise it drops them" },
    { .name = "queue.gso",
      SETTING_FIELD(queue_options, nfqueue.gso),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Receive super-packets (TSO, GRO) of up to 64 KiB without segmentation, which is several times faster. "
              "Larger ones (BIG TCP) and those of several UDP datagrams are queued again, segmented by the kernel" },
    { .name = "queue.conntrack",
      SETTING_FIELD(queue_options, conntrack),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = conntrack_modes,
      .help =
          "Have the kernel attach conntrack data to queued packets, where it can. auto: always when a rule needs it "
          "(ctmark, ctstate); otherwise for stream.midstream-grace seconds after the start, at most 600 unless "
          "stream.midstream-conntrack is 'only'; for 600 seconds if the grace is 0 and stream.midstream is yes" },
    { .name = "queue.length",
      SETTING_FIELD(queue_options, nfqueue.length),
      .type = SETTING_NUMBER,
      .default_value = "4096",
      .low = 1,
      .high = 1 << 20,
      .help = "Maximum number of packets that wait in each queue" },
    { .name = "queue.receive-buffer",
      SETTING_FIELD(queue_options, nfqueue.receive_buffer),
      .type = SETTING_SIZE,
      .default_value = "0",
      .low = 0,
      .high = INT64_C(1) << 30,
      .help = "Receive buffer of each queue's socket; 0: derived from queue.length" },
    { .name = "queue.batch",
      SETTING_FIELD(queue_options, nfqueue.batch),
      .type = SETTING_NUMBER,
      .default_value = "64",
      .low = 1,
      .high = 256,
      .help = "Number of packets that a worker receives, and of verdicts that it sends, at once" },
    { .name = "queues.*.verdict",
      SETTING_FIELD(queue_options, nfqueue.mode),
      .type = SETTING_ENUM,
      .choices = verdicts,
      .help = "queue.verdict for the queues in the name, such as \"0-3\"" },
    { .name = "queues.*.mark",
      .store = store_mark,
      .type = SETTING_STRING,
      .check = config_check_mark,
      .help = "queue.mark for these queues" },
    { .name = "queues.*.marked-packets",
      SETTING_FIELD(queue_options, nfqueue.marked_policy),
      .type = SETTING_ENUM,
      .choices = marked_policies,
      .help = "queue.marked-packets for these queues" },
    { .name = "queues.*.repeat-limit",
      SETTING_FIELD(queue_options, nfqueue.repeat_limit),
      .type = SETTING_NUMBER,
      .low = 0,
      .high = 1 << 20,
      .help = "queue.repeat-limit for these queues" },
    { .name = "queues.*.looping-packets",
      SETTING_FIELD(queue_options, nfqueue.looping_policy),
      .type = SETTING_ENUM,
      .choices = looping_policies,
      .help = "queue.looping-packets for these queues" },
    { .name = "queues.*.truncated-packets",
      SETTING_FIELD(queue_options, nfqueue.truncated_policy),
      .type = SETTING_ENUM,
      .choices = truncated_policies,
      .help = "queue.truncated-packets for these queues" },
    { .name = "queues.*.route-to",
      .store = store_route,
      .type = SETTING_NUMBER,
      .low = 0,
      .high = 65535,
      .help = "queue.route-to for these queues" },
    { .name = "queues.*.route-bypass",
      SETTING_FIELD(queue_options, nfqueue.route_bypass),
      .type = SETTING_BOOL,
      .help = "queue.route-bypass for these queues" },
    { .name = "queues.*.fail-open",
      SETTING_FIELD(queue_options, nfqueue.fail_open),
      .type = SETTING_BOOL,
      .help = "queue.fail-open for these queues" },
    { .name = "queues.*.gso",
      SETTING_FIELD(queue_options, nfqueue.gso),
      .type = SETTING_BOOL,
      .help = "queue.gso for these queues" },
    { .name = "queues.*.conntrack",
      SETTING_FIELD(queue_options, conntrack),
      .type = SETTING_ENUM,
      .choices = conntrack_modes,
      .help = "queue.conntrack for these queues" },
    { .name = "queues.*.length",
      SETTING_FIELD(queue_options, nfqueue.length),
      .type = SETTING_NUMBER,
      .low = 1,
      .high = 1 << 20,
      .help = "queue.length for these queues" },
    { .name = "queues.*.receive-buffer",
      SETTING_FIELD(queue_options, nfqueue.receive_buffer),
      .type = SETTING_SIZE,
      .low = 0,
      .high = INT64_C(1) << 30,
      .help = "queue.receive-buffer for these queues" },
    { .name = "queues.*.batch",
      SETTING_FIELD(queue_options, nfqueue.batch),
      .type = SETTING_NUMBER,
      .low = 1,
      .high = 256,
      .help = "queue.batch for these queues" },
    { .name = NULL },
};

void queue_options_read(const struct config *config, const char *range, struct queue_options *out)
{
    *out = (struct queue_options){ .nfqueue.inherited_fd = -1 };
    config_fill(config, queue_settings, NULL, out);
    if (range)
        config_fill(config, queue_settings, range, out);
}
