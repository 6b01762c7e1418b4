/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the text format by the header Accept (RFC 9110 §12.5.1). */
#include <stdlib.h>
#include <string.h>

#include "sluice/metrics.h"

enum { FULL_QUALITY = 1000 };

static const char *const content_types[METRICS_FORMATS] = {
    [METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
    [METRICS_OPENMETRICS] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

const char *metrics_content_type(enum metrics_format format)
{
    return content_types[format];
}

/* Returns a quality value such as "0.75" in thousandths; 0 if the text is not a quality value. */
static unsigned read_quality(struct span value)
{
    unsigned quality = 0, place = FULL_QUALITY;

    if (value.length == 0 || value.length > 5 || (value.length > 1 && value.at[1] != '.'))
        return 0;
    for (size_t i = 0; i < value.length; i++) {
        if (i == 1)
            continue;
        if (value.at[i] < '0' || value.at[i] > '9')
            return 0;
        quality += (unsigned)(value.at[i] - '0') * place;
        place /= 10;
    }
    return quality > FULL_QUALITY ? 0 : quality;
}

enum metrics_format metrics_negotiate(const char *accept)
{
    unsigned best[METRICS_FORMATS] = { 0 };

    for (struct span rest = span_of(accept ? accept : ""), range; span_next(&rest, ',', &range);) {
        struct span type, parameter;
        unsigned quality = FULL_QUALITY;
        bool known = true;

        span_next(&range, ';', &type);
        while (span_next(&range, ';', &parameter)) {
            struct span name;

            span_next(&parameter, '=', &name);
            if (span_equal_nocase(name, "q"))
                quality = read_quality(parameter.at ? span_trim(parameter) : (struct span){ .at = "", .length = 0 });
            else if (span_equal_nocase(name, "version") && span_equal_nocase(type, "application/openmetrics-text"))
                known = parameter.at && span_equal(span_trim(parameter), "1.0.0");
        }
        if (span_equal_nocase(type, "application/openmetrics-text") && known && quality > best[METRICS_OPENMETRICS])
            best[METRICS_OPENMETRICS] = quality;
        if (span_equal_nocase(type, "text/plain") && quality > best[METRICS_TEXT])
            best[METRICS_TEXT] = quality;
    }
    /* If both are equal, for example for `*`, the result is the text format, which every version of Prometheus reads.
     */
    return best[METRICS_OPENMETRICS] > best[METRICS_TEXT] ? METRICS_OPENMETRICS : METRICS_TEXT;
}
