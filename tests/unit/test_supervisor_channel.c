/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/supervisor_channel.h"

enum { SLOTS = 10000 };

START_TEST(messages_arrive_whole_and_in_order)
{
    struct channel_message message;
    char longer[2 * CHANNEL_TEXT_SIZE];
    int ends[2];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    ck_assert_int_eq(channel_open_pair(ends), 0);
    ck_assert_int_eq(channel_receive(ends[1], &message, 0), CHANNEL_NOTHING);
    ck_assert_int_eq(channel_send(ends[0], CHANNEL_SIGNAL, SIGHUP, NULL), 0);
    ck_assert_int_eq(channel_send(ends[0], CHANNEL_FAILED, -EIO, longer), 0);
    ck_assert_int_eq(channel_receive(ends[1], &message, -1), CHANNEL_SIGNAL);
    ck_assert_int_eq(message.value, SIGHUP);
    ck_assert_str_eq(message.text, "");
    ck_assert_int_eq(channel_receive(ends[1], &message, 0), CHANNEL_FAILED);
    ck_assert_int_eq(message.value, -EIO);
    ck_assert_uint_eq(strlen(message.text), CHANNEL_TEXT_SIZE - 1);
    close(ends[0]);
    ck_assert_int_eq(channel_receive(ends[1], &message, -1), CHANNEL_CLOSED);
    ck_assert_int_eq(channel_send(ends[1], CHANNEL_READY, 0, NULL), -EPIPE);
    close(ends[1]);
}
END_TEST

/* Messages that were sent before the channel was closed are still received. */
START_TEST(last_words_are_heard)
{
    struct channel_message message;
    int ends[2];

    ck_assert_int_eq(channel_open_pair(ends), 0);
    ck_assert_int_eq(channel_send(ends[0], CHANNEL_FAILED, 0, "no memory"), 0);
    close(ends[0]);
    ck_assert_int_eq(channel_receive(ends[1], &message, -1), CHANNEL_FAILED);
    ck_assert_str_eq(message.text, "no memory");
    ck_assert_int_eq(channel_receive(ends[1], &message, -1), CHANNEL_CLOSED);
    close(ends[1]);
}
END_TEST

START_TEST(what_is_no_message_is_invalid)
{
    struct channel_message message = { .version = CHANNEL_VERSION + 1, .kind = CHANNEL_READY };
    int ends[2];

    ck_assert_int_eq(channel_open_pair(ends), 0);
    ck_assert_int_eq(send(ends[0], &message, sizeof(message), 0), sizeof(message)); /* another version */
    message.version = CHANNEL_VERSION;
    ck_assert_int_eq(send(ends[0], &message, 7, 0), 7);
    message.kind = CHANNEL_CLOSED; /* is never sent over the channel */
    ck_assert_int_eq(send(ends[0], &message, sizeof(message), 0), sizeof(message));
    message.kind = CHANNEL_READY;
    memset(message.text, 'x', sizeof(message.text));
    ck_assert_int_eq(send(ends[0], &message, sizeof(message), 0), sizeof(message));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(channel_receive(ends[1], &message, 0), CHANNEL_INVALID);
    ck_assert_int_eq(channel_receive(ends[1], &message, 0), CHANNEL_READY);
    ck_assert_uint_eq(strlen(message.text), CHANNEL_TEXT_SIZE - 1);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static const struct {
    uint64_t offset;
    uint32_t length;
    bool held;
} holds[] = {
    { 0, 1, true },
    { 100, 60, true },
    { 4096 * 3 - 10, 10, true },
    { 4096 * 3 - 10, 11, false }, /* past the slots of this worker */
    { 4096 * 3, 0, true },
    { UINT64_MAX, 2, false },
    { 4096 * 3 + 1, 0, false },
    { 0, UINT32_MAX, false },
};

/* The supervisor reads only those records of a dead engine that lie in the slots of the worker. */
START_TEST(shows_what_a_worker_held)
{
    struct memory_map memory_map;
    struct current_packet packet;
    static uint8_t buffer[1 << 16];

    ck_assert_int_eq(engine_memory_open(&memory_map, 3, SLOTS), 0);
    ck_assert_uint_eq(memory_map.slots_size, 4096 * 3);
    ck_assert(!engine_memory_copy_packet(&memory_map, 1, buffer, sizeof(buffer), &packet));
    memset(engine_memory_slots(memory_map.memory, 1), 'p', memory_map.slots_size);
    heartbeat_set_packet(&memory_map.memory->worker[1], holds[_i].offset, holds[_i].length, 77);
    ck_assert_int_eq(engine_memory_copy_packet(&memory_map, 1, buffer, sizeof(buffer), &packet), holds[_i].held);
    if (holds[_i].held) {
        ck_assert_ptr_eq(packet.bytes, buffer);
        ck_assert_uint_eq(packet.length, holds[_i].length);
        ck_assert_uint_eq(packet.id, 77);
        ck_assert(packet.length == 0 || (buffer[0] == 'p' && buffer[packet.length - 1] == 'p'));
    }
    ck_assert(!engine_memory_copy_packet(&memory_map, 3, buffer, sizeof(buffer), &packet));
    heartbeat_clear_packet(&memory_map.memory->worker[1]);
    ck_assert(!engine_memory_copy_packet(&memory_map, 1, buffer, sizeof(buffer), &packet));
    engine_memory_close(&memory_map);
}
END_TEST

START_TEST(memory_outlives_the_process)
{
    struct memory_map memory_map;
    struct current_packet packet;
    uint8_t buffer[64];
    pid_t pid;
    int status;

    ck_assert_int_eq(engine_memory_open(&memory_map, 2, SLOTS), 0);
    pid = fork();
    if (pid == 0) {
        memcpy(engine_memory_slots(memory_map.memory, 1) + 5, "a packet", 8);
        heartbeat_set_packet(&memory_map.memory->worker[1], 5, 8, 3);
        heartbeat_beat(&memory_map.memory->worker[0]);
        atomic_store(&memory_map.memory->crashed_worker, 1);
        _exit(7);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    ck_assert(engine_memory_copy_packet(&memory_map, 1, buffer, sizeof(buffer), &packet));
    ck_assert_mem_eq(packet.bytes, "a packet", 8);
    ck_assert_uint_eq(atomic_load(&memory_map.memory->worker[0].epoch), 1);
    ck_assert_int_eq(atomic_load(&memory_map.memory->crashed_worker), 1);
    engine_memory_close(&memory_map);
    engine_memory_close(&memory_map);
    ck_assert_int_lt(engine_memory_open(&memory_map, ENGINE_MEMORY_MAX_WORKERS + 1, SLOTS), 0);
}
END_TEST

/* --- An engine that was taken over ---------------------------------------------------------------- */

/* Acts as a malicious engine: writes to all words, truncates the file, and opens it again by its descriptor. */
static void write_garbage(const struct memory_map *memory_map, uint8_t byte)
{
    int again;
    char path[64];

    memset(memory_map->memory, byte, memory_map->size);
    ck_assert_int_lt(ftruncate(memory_map->fd, 0), 0);
    ck_assert_int_lt(ftruncate(memory_map->fd, (off_t)memory_map->size * 2), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", memory_map->fd);
    again = open(path, O_RDWR | O_TRUNC);
    ck_assert_int_lt(again, 0);
    fallocate(memory_map->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)memory_map->size);
    memset(memory_map->memory, byte, memory_map->size);
}

static const uint8_t garbage[] = { 0, 1, 0x41, 0x7f, 0x80, 0xff };

START_TEST(trusts_no_number_of_the_engine)
{
    struct memory_map memory_map;
    struct supervisor_record record = { .engines = 3, .event_count = 40, .reported = 38, .flags = { 5, 6, 7 } };
    struct current_packet packet;
    static uint8_t buffer[1 << 16];

    record.events[39 % ENGINE_EVENTS].code = 9;
    ck_assert_int_eq(engine_memory_open(&memory_map, 3, SLOTS), 0);
    write_garbage(&memory_map, garbage[_i]);
    for (unsigned i = 0; i < ENGINE_MEMORY_MAX_WORKERS; i++)
        engine_memory_copy_packet(&memory_map, i, buffer, sizeof(buffer), &packet);
    engine_memory_collect(&memory_map, &record);
    ck_assert_uint_eq(record.reported, 38); /* neither repeated reports nor reports of what did not happen */
    engine_memory_restore(&memory_map, &record);
    ck_assert_uint_eq(atomic_load(&memory_map.memory->engines), 3);
    ck_assert_uint_eq(memory_map.memory->event_count, 40);
    ck_assert_int_eq(memory_map.memory->events[39 % ENGINE_EVENTS].code, 9);
    ck_assert_uint_eq(atomic_load(&memory_map.memory->flags[2]), 7);
    engine_memory_close(&memory_map);
}
END_TEST

static const struct {
    const char *name;
    uint32_t version, workers;
    size_t slots_at, slots_size; /* new values of the fields; 0: unchanged */
    int err;
} heads[] = {
    { "as it is", ENGINE_MEMORY_VERSION, 2, 0, 0, 0 },
    { "another version", ENGINE_MEMORY_VERSION + 1, 2, 0, 0, -EPROTO },
    { "too many workers", ENGINE_MEMORY_VERSION, ENGINE_MEMORY_MAX_WORKERS + 1, 0, 0, -EPROTO },
    { "more workers than slots", ENGINE_MEMORY_VERSION, 3, 0, 0, -EPROTO },
    { "slots elsewhere", ENGINE_MEMORY_VERSION, 2, 4096, 0, -EPROTO },
    { "slots far away", ENGINE_MEMORY_VERSION, 2, SIZE_MAX, 0, -EPROTO },
    { "large slots", ENGINE_MEMORY_VERSION, 2, 0, SIZE_MAX / 2 + 1, -EPROTO },
    { "no workers", ENGINE_MEMORY_VERSION, 0, 0, SIZE_MAX, 0 },
};

/* After an upgrade the new supervisor reads the sizes from the shared memory and must validate them. */
START_TEST(adopts_possible_sizes_only)
{
    struct memory_map memory_map, adopted = { .fd = -1 };
    uint8_t buffer[64];
    struct current_packet packet;
    int fd;

    ck_assert_int_eq(engine_memory_open(&memory_map, 2, SLOTS), 0);
    memory_map.memory->version = heads[_i].version;
    memory_map.memory->workers = heads[_i].workers;
    if (heads[_i].slots_at)
        memory_map.memory->slots_at = heads[_i].slots_at;
    if (heads[_i].slots_size)
        memory_map.memory->slots_size = heads[_i].slots_size;
    fd = dup(memory_map.fd);
    ck_assert_msg(engine_memory_adopt(&adopted, fd) == heads[_i].err, "%s", heads[_i].name);
    if (heads[_i].err == 0) {
        memset(adopted.memory, 0xff, adopted.size); /* later changes of the shared memory have no effect */
        for (unsigned i = 0; i < ENGINE_MEMORY_MAX_WORKERS; i++)
            engine_memory_copy_packet(&adopted, i, buffer, sizeof(buffer), &packet);
        engine_memory_close(&adopted);
    } else {
        close(fd);
    }
    engine_memory_close(&memory_map);
}
END_TEST

START_TEST(adopts_no_file_that_can_be_cut)
{
    struct memory_map adopted;
    int fd = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING), devices = open("/dev/null", O_RDWR);

    ck_assert_int_eq(ftruncate(fd, 1 << 24), 0);
    ck_assert_int_eq(engine_memory_adopt(&adopted, fd), -EPERM);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    ck_assert_int_eq(engine_memory_adopt(&adopted, fd), -EPERM);
    ck_assert_int_lt(engine_memory_adopt(&adopted, devices), 0);
    close(fd);
    close(devices);
}
END_TEST

static unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Sends the bytes with `files` file descriptors. */
static void send_raw(int fd, const void *bytes, size_t length, unsigned files)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } space = { .bytes = { 0 } };
    struct iovec vector = { .iov_base = (void *)bytes, .iov_len = length };
    struct msghdr header = { .msg_iov = &vector, .msg_iovlen = 1 };
    int each[8] = { 0 };

    if (files > 0) {
        header.msg_control = space.bytes;
        header.msg_controllen = CMSG_SPACE(files * sizeof(int));
        space.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
                                         .cmsg_type = SCM_RIGHTS,
                                         .cmsg_len = CMSG_LEN(files * sizeof(int)) };
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)), each, files * sizeof(int));
    }
    ck_assert_int_eq(sendmsg(fd, &header, 0), (ssize_t)length);
}

/* Unexpected file descriptors are closed. */
START_TEST(descriptors_do_not_pile_up)
{
    struct channel_message message = { .version = CHANNEL_VERSION };
    unsigned before;
    int ends[2], file;

    ck_assert_int_eq(channel_open_pair(ends), 0);
    before = count_descriptors();
    for (unsigned kind = 0; kind <= CHANNEL_INVALID + 1; kind++) {
        for (unsigned files = 0; files <= 8; files++) {
            message.kind = (uint16_t)kind;
            send_raw(ends[0], &message, sizeof(message), files);
            send_raw(ends[0], &message, sizeof(message) - 1, files);
            send_raw(ends[0], &message, files ? 1 : 0, files);
            for (unsigned i = 0; i < 3; i++) {
                enum channel_kind got = channel_receive_file(ends[1], &message, &file, 0);

                ck_assert(got == CHANNEL_INVALID || (i == 0 && got == (enum channel_kind)kind));
                ck_assert(file < 0 || (files == 1 && i == 0));
                if (file >= 0)
                    close(file);
            }
        }
    }
    ck_assert_uint_eq(count_descriptors(), before);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(text_has_no_control_characters)
{
    struct channel_message message;
    int ends[2];

    ck_assert_int_eq(channel_open_pair(ends), 0);
    ck_assert_int_eq(channel_send(ends[0], CHANNEL_FAILED, 0, "a\033[2J\nb\177\302\233c\303\244"), 0);
    ck_assert_int_eq(channel_receive(ends[1], &message, 0), CHANNEL_FAILED);
    ck_assert_str_eq(message.text, "a?[2J?b??\233c\303\244");
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(who_does_not_read_blocks_nobody)
{
    int ends[2], err = 0;

    ck_assert_int_eq(channel_open_pair(ends), 0);
    channel_set_nonblocking(ends[0]);
    for (unsigned i = 0; i < 300; i++) /* files of all workers fit */
        ck_assert_int_eq(channel_send(ends[0], CHANNEL_SIGNAL, SIGHUP, NULL), 0);
    for (unsigned i = 0; i < 100000 && !err; i++)
        err = channel_send(ends[0], CHANNEL_SIGNAL, SIGHUP, NULL);
    ck_assert_int_eq(err, -EAGAIN);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor_channel");
    TCase *tcase = tcase_create("supervisor_channel");

    tcase_add_test(tcase, messages_arrive_whole_and_in_order);
    tcase_add_test(tcase, last_words_are_heard);
    tcase_add_test(tcase, what_is_no_message_is_invalid);
    tcase_add_loop_test(tcase, shows_what_a_worker_held, 0, (int)(sizeof(holds) / sizeof(holds[0])));
    tcase_add_test(tcase, memory_outlives_the_process);
    tcase_add_loop_test(tcase, trusts_no_number_of_the_engine, 0, (int)sizeof(garbage));
    tcase_add_loop_test(tcase, adopts_possible_sizes_only, 0, (int)(sizeof(heads) / sizeof(heads[0])));
    tcase_add_test(tcase, adopts_no_file_that_can_be_cut);
    tcase_add_test(tcase, descriptors_do_not_pile_up);
    tcase_add_test(tcase, text_has_no_control_characters);
    tcase_add_test(tcase, who_does_not_read_blocks_nobody);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
