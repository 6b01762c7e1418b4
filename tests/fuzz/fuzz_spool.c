/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a spool, as a process that an attacker has taken over may leave it. The first two numbers of the input
 * are the positions of writer and reader, the rest are bytes of the ring; the reader reads all events, and the writer
 * writes one more.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sluice/spool.h"

enum { HEADER = 4096, HEAD_AT = 64, TAIL_AT = 128, MAX_EVENTS = 100000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct spool *writer, *reader;
    struct spool_event event;
    uint64_t positions[2] = { 0 }, position, sum = 0;
    uint8_t *memory;

    must(spool_new(&writer, SPOOL_MIN_SIZE) == 0);
    memory = mmap(NULL, HEADER + SPOOL_MIN_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, spool_fd(writer), 0);
    must(memory != MAP_FAILED);
    must(spool_adopt(&reader, dup(spool_fd(writer))) == 0);
    memcpy(positions, data, size < sizeof(positions) ? size : sizeof(positions));
    data += size < sizeof(positions) ? size : sizeof(positions);
    size -= size < sizeof(positions) ? size : sizeof(positions);
    memcpy(memory + HEAD_AT, &positions[0], sizeof(positions[0]));
    memcpy(memory + TAIL_AT, &positions[1], sizeof(positions[1]));
    /* The bytes lie where the reader begins. */
    for (size_t i = 0; i < size; i++)
        memory[HEADER + (positions[1] + i) % SPOOL_MIN_SIZE] = data[i];
    position = spool_oldest(reader);
    for (int i = 0; i < MAX_EVENTS && spool_read(reader, &position, &event) == 1; i++) {
        for (uint32_t k = 0; k < event.length; k++)
            sum += (uint8_t)event.bytes[k];
        spool_release(reader, position, 1, 0);
    }
    event = (struct spool_event){ .bytes = "event", .length = 5, .kind = (uint8_t)sum };
    spool_write(writer, &event);
    spool_publish(writer);
    munmap(memory, HEADER + SPOOL_MIN_SIZE);
    spool_free(writer);
    spool_free(reader);
    return 0;
}
