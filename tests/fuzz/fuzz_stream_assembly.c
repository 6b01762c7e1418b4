/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reassembly, compared with a model (tests/lib/assembly_model.h). The input is a script of segments, acknowledgments
 * and requests for chunks, for both directions of a stream.
 */
#include "../lib/assembly_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    model_run(data, size);
    return 0;
}
