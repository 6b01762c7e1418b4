/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replaces functions of src/stream in the tests of output (linker option --wrap, tests/CMakeLists.txt), so that tests
 * can define TCP sessions directly.
 */
#ifndef STREAM_DOUBLE_H
#define STREAM_DOUBLE_H

#include "sluice/stream.h"

enum { SAMPLE_MAX_GAPS = 100 };

/* flow->tcp points here. */
struct sample_session {
    struct tcp_summary summary;
    const char *bytes[FLOW_DIRECTIONS];
    struct {
        size_t at;
        uint64_t missing;
    } gaps[SAMPLE_MAX_GAPS];
    unsigned gap_count;
};

void __wrap_stream_summary(const struct flow *flow, struct tcp_summary *out);
size_t __wrap_stream_copy(const struct stream *stream, const struct flow *flow, enum flow_direction direction,
                          uint8_t *out, size_t size, void (*on_gap)(size_t at, uint64_t missing, void *user),
                          void *user);

#endif
