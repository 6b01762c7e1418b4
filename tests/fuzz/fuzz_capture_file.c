/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A capture file: pcap or pcapng, plain or compressed. All of its packets are received, up to a limit, because a small
 * compressed file can have many. The properties that the decoder relies on must hold for each packet.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/capture.h"

enum { MAX_BATCHES = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct packet *batch[CAPTURE_MAX_BATCH];
    struct capture *capture = NULL;
    char path[64], link[CAPTURE_LINK_SIZE], error[CAPTURE_ERROR_SIZE] = "";
    int fd = memfd_create("capture", MFD_CLOEXEC), count = 0;
    uint64_t packets = 0, sum = 0;

    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (pcap_file_open(&capture, path, 0, error)) {
        must(!capture && error[0]);
        close(fd);
        return 0;
    }
    for (int i = 0; i < MAX_BATCHES && (count = capture_receive(capture, batch, CAPTURE_MAX_BATCH, 0)) > 0; i++) {
        for (int k = 0; k < count; k++) {
            must(batch[k]->length <= batch[k]->wire_length);
            must(batch[k]->number == ++packets);
            for (uint32_t at = 0; at < batch[k]->length; at++)
                sum += batch[k]->data[at];
        }
    }
    must(count >= 0 || count == -ENODATA || count == -EBADMSG);
    must((count == -EBADMSG) == (pcap_file_error(capture) != NULL));
    must(sum <= capture_counters(capture)->bytes * UINT8_MAX);
    pcap_file_link(capture, link);
    capture_close(capture);
    close(fd);
    return 0;
}
