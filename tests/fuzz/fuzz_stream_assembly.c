/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reassembly against its model (tests/lib/assembly_model.h): the input is a script of segments, acknowledgments and
 * looks at what has come together, for the two directions of a stream.
 */
#include "../lib/assembly_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    model_run(data, size);
    return 0;
}
