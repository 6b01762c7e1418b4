/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of handshakes for scripts: the version, and the validity of the certificate. */
#include <string.h>

#include "tls_priv.h"

_Static_assert((int)APP_SCRIPT_TEXT >= (int)TLS_VERSION_TEXT_MAX, "a value has no room for a version");

bool tls_script_value(const struct app_tx *tx, const char *name, enum flow_direction direction, unsigned index,
                      struct app_script_value *out)
{
    const struct tls_side *side = &tls_tx_of(tx)->side[direction];
    const struct tls_certificates *certificates = &side->certificates;

    (void)index;
    if (strcmp(name, "version") == 0) {
        tls_version_text(side->version, out->text);
        out->bytes = (struct app_bytes){ .bytes = (const uint8_t *)out->text, .length = (uint32_t)strlen(out->text) };
        return true;
    }
    out->is_number = true;
    out->number = strcmp(name, "not_before") == 0 ? certificates->not_before : certificates->not_after;
    return certificates->decoded && out->number != 0;
}
