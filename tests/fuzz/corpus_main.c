/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a fuzz target without libFuzzer, on every file of the given folders or files. Each file also runs truncated and
 * with changed bytes, by a fixed pseudo-random sequence, so that all runs are the same.
 *
 *     fuzz_decode tests/fuzz/corpus/decode [MUTATIONS PER FILE, default 200]
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_SIZE = 1 << 20 };

static uint64_t random_state = UINT64_C(0x9E3779B97F4A7C15);

static uint32_t next_random(void) /* xorshift64* */
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)(random_state * UINT64_C(0x2545F4914F6CDD1D) >> 32);
}

/* The target gets an allocation of exactly `size` bytes, so that a sanitizer detects reads past the end. */
static void run_once(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static unsigned long run_file(const char *path, unsigned long mutations)
{
    static uint8_t data[INPUT_SIZE], changed[INPUT_SIZE];
    FILE *file = fopen(path, "rb");

    if (!file) {
        perror(path);
        exit(1);
    }
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    run_once(data, size);
    for (unsigned long i = 0; i < mutations && size > 0; i++) {
        size_t length = i % 3 == 0 ? next_random() % (size + 1) : size;

        memcpy(changed, data, length);
        for (unsigned k = next_random() % 8; k > 0 && length > 0; k--)
            changed[next_random() % length] = (uint8_t)next_random();
        run_once(changed, length);
    }
    return 1 + (size > 0 ? mutations : 0);
}

static unsigned long run_path(const char *path, unsigned long mutations)
{
    struct stat st;

    if (stat(path, &st)) {
        perror(path);
        exit(1);
    }
    if (!S_ISDIR(st.st_mode))
        return run_file(path, mutations);

    unsigned long runs = 0;
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        char name[4096];

        if (entries[i]->d_name[0] != '.') {
            snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
            runs += run_path(name, mutations);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return runs;
}

int main(int argc, char **argv)
{
    unsigned long mutations = argc > 2 ? strtoul(argv[2], NULL, 10) : 200;
    unsigned long runs = argc > 1 ? run_path(argv[1], mutations) : 0;

    if (runs == 0) {
        fprintf(stderr, "usage: %s CORPUS [MUTATIONS]: nothing was run\n", argv[0]);
        return 1;
    }
    printf("%lu inputs\n", runs);
    return 0;
}
