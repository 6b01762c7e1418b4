/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture_file_rig.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char capture_rig_directory[256];
char capture_rig_path[300];

void capture_rig_setup(void)
{
    const char *parent = getenv("TMPDIR");

    snprintf(capture_rig_directory, sizeof(capture_rig_directory), "%.200s/capture_pcap.XXXXXX",
             parent ? parent : P_tmpdir);
    ck_assert_ptr_nonnull(mkdtemp(capture_rig_directory));
    snprintf(capture_rig_path, sizeof(capture_rig_path), "%s/file", capture_rig_directory);
}

void capture_rig_teardown(void)
{
    unlink(capture_rig_path);
    rmdir(capture_rig_directory);
}

void capture_rig_write(const void *bytes, size_t length)
{
    FILE *file = fopen(capture_rig_path, "wb");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

struct capture *capture_rig_open(void)
{
    char error[CAPTURE_ERROR_SIZE] = "";
    struct capture *capture = NULL;

    ck_assert_msg(pcap_file_open(&capture, capture_rig_path, 0, error) == 0, "%s", error);
    return capture;
}
