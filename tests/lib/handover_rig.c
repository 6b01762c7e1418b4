/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "handover_rig.h"
#include "memory_watch.h"

int rig_memory_file(void)
{
    int fd = memfd_create("handover", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_ge(fd, 0);
    return fd;
}

void rig_discard_pipeline(void)
{
    pipeline_clear(&rig.pipeline);
    pipeline_shared_clear(&rig.shared);
    ruleset_free(rig.ruleset);
    rig.ruleset = NULL;
}

void rig_new_pipeline(const char *rules, const char *yaml)
{
    rig_configure_applications(yaml);
    rig.ruleset = rig_make_rules(rules);
    ck_assert_int_eq(pipeline_shared_init(&rig.shared, &rig.options), 0);
    ck_assert_int_eq(pipeline_init(&rig.pipeline, &rig.options, &rig.shared, 0, output_port(rig.output, 0)), 0);
    ck_assert_int_eq(detector_prepare(rig.pipeline.detector, rig.ruleset), 0);
    memory_watch_mark();
}

struct handover_counts rig_write_state(int fd, int shared)
{
    struct handover_counts counts = { 0 };

    ck_assert_int_eq(handover_write_shared(&rig.shared, rig.ruleset, rig.time_ns, shared), 0);
    ck_assert_int_eq(handover_write(&rig.pipeline, rig.ruleset, rig_place, fd, &counts), 0);
    return counts;
}

struct handover_counts rig_hand_over_to(const char *rules, const char *yaml)
{
    struct handover_counts written, read = { 0 };
    int fd = rig_memory_file(), shared = rig_memory_file();

    written = rig_write_state(fd, shared);
    rig_discard_pipeline();
    rig.options.flow.seed++;
    rig_new_pipeline(rules, yaml);
    ck_assert_int_eq(handover_read_shared(&rig.shared, rig.ruleset, shared), 0);
    ck_assert_int_eq(handover_read(&rig.pipeline, rig.ruleset, rig_place, fd, &read), 0);
    ck_assert_uint_eq(read.flows + read.left, written.flows);
    ck_assert_uint_eq(read.spoiled, 0);
    close(fd);
    close(shared);
    return read;
}

struct handover_counts rig_hand_over(const char *rules)
{
    return rig_hand_over_to(rules, "");
}
