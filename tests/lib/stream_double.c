/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See stream_double.h. */
#include "stream_double.h"

#include <string.h>

void __wrap_stream_summary(const struct flow *flow, struct tcp_summary *out)
{
    *out = flow->tcp ? ((const struct sample_session *)flow->tcp)->summary : (struct tcp_summary){ 0 };
}

size_t __wrap_stream_copy(const struct stream *stream, const struct flow *flow, enum flow_direction direction,
                          uint8_t *out, size_t size, void (*on_gap)(size_t at, uint64_t missing, void *user),
                          void *user)
{
    const struct sample_session *session = (const struct sample_session *)flow->tcp;
    size_t length = strlen(session->bytes[direction]);

    (void)stream;
    if (length > size)
        length = size;
    memcpy(out, session->bytes[direction], length);
    for (unsigned i = 0; i < session->gap_count && session->gaps[i].at <= length; i++)
        on_gap(session->gaps[i].at, session->gaps[i].missing, user);
    return length;
}
