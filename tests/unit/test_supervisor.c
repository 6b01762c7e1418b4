/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The supervisor handles the queues and packets of an engine that died. */
#include "nfqueue_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "daemon/supervisor/engine_handover.h"
#include "daemon/supervisor/give_up.h"
#include "daemon/supervisor/quarantine.h"
#include "daemon/supervisor/queues.h"
#include "daemon/supervisor/restart_handover.h"
#include "daemon/supervisor/state.h"
#include "sluice/clock.h"
#include "sluice/daemon.h"
#include "sluice/log.h"

enum { WAITING = 6, SEQUENCE = 20 };

/* A supervisor with one queue; the test plays the kernel's side of it. */
struct fixture {
    struct rig rig;
    struct supervisor supervisor;
    struct supervised_queue queue;
    struct seen_heartbeat pulse;
    struct run_options run;
    struct config *config;
    char folder[64];
};

static struct fixture *f;

static int sealed_file(void)
{
    int fd = memfd_create("flows", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    return fd;
}

static void setup(void)
{
    struct nfqueue_options options = options_for(-1);
    int pair[2];

    f = calloc(1, sizeof(*f));
    ck_assert_ptr_nonnull(f);
    log_set_level(LOG_LEVEL_ERROR);
    strcpy(f->folder, "/tmp/test_supervisor.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    f->rig.kernel = pair[1];
    options.length = 100;
    f->queue = (struct supervised_queue){ .options = options, .fd = pair[0], .bound = true, .buffer = 1 << 20 };
    f->run.log_dir = f->folder;
    ck_assert_int_eq(daemon_new_config(&f->config), 0);
    f->supervisor = (struct supervisor){
        .run = &f->run,
        .config = f->config,
        .firewall.bypass = true,
        .queues = &f->queue,
        .queue_count = 1,
        .pulses = &f->pulse,
        .status_fd = memfd_create("status", MFD_CLOEXEC),
        .signal_fd = -1,
        .control_fd = -1,
    };
    config_fill(f->config, daemon_settings, NULL, &f->supervisor.settings);
    ck_assert_int_eq(engine_memory_open(&f->supervisor.engine.memory_map, 1, nfqueue_slots_size(&options)), 0);
    dprintf(f->supervisor.status_fd, "%5d  12345 %5u 2 65531     0     0 %8u  1\n", QUEUE, WAITING, SEQUENCE);
}

static void teardown(void)
{
    char command[128];

    close(f->queue.fd);
    close(f->rig.kernel);
    close(f->supervisor.status_fd);
    config_free(f->config);
    engine_memory_close(&f->supervisor.engine.memory_map);
    snprintf(command, sizeof(command), "rm -rf %s", f->folder);
    ck_assert_int_eq(system(command), 0);
    free(f);
}

/* Describes the verdicts that the supervisor sent, without its configuration messages. */
static void verdicts(char text[TEXT_SIZE])
{
    uint8_t bytes[4096];
    ssize_t n;

    *text = '\0';
    while ((n = recv(f->rig.kernel, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
        if ((((struct nlmsghdr *)bytes)->nlmsg_type & 0xff) != NFQNL_MSG_CONFIG)
            describe_message(text, bytes, (size_t)n);
    }
}

static struct engine_death crash(int worker)
{
    return (struct engine_death){ .signal = 11, .worker = worker };
}

static void hold(const char *packet, uint32_t id)
{
    struct engine_memory *memory = f->supervisor.engine.memory_map.memory;

    memcpy(engine_memory_slots(memory, 0) + 100, packet, strlen(packet));
    heartbeat_set_packet(&memory->worker[0], 100, (uint32_t)strlen(packet), id);
}

static unsigned count_files(void)
{
    char path[128];
    unsigned count = 0;
    DIR *folder;

    snprintf(path, sizeof(path), "%s/quarantine", f->folder);
    folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count;
}

START_TEST(repeats_what_was_taken)
{
    const struct engine_death death = crash(-1);
    char text[TEXT_SIZE];

    queue_rig_send_packet(&f->rig, 19, 0); /* packets 19 and 20 are unread, so the engine had received four */
    ck_assert_uint_eq(queues_repeat(&f->supervisor, &death), 4);
    verdicts(text);
    ck_assert_str_eq(text, "batch 18 repeat");
    ck_assert(f->queue.raised);
    ck_assert_uint_eq(f->supervisor.record.repeated, 4);
}
END_TEST

START_TEST(drops_at_the_second_death)
{
    const struct engine_death death = crash(0);
    char text[TEXT_SIZE];
    struct stat status;

    hold("poison", 7);
    queues_repeat(&f->supervisor, &death);
    verdicts(text);
    ck_assert_str_eq(text, "batch 20 repeat");
    heartbeat_clear_packet(&f->supervisor.engine.memory_map.memory->worker[0]);
    hold("another", 8);
    queues_repeat(&f->supervisor, &death);
    verdicts(text);
    ck_assert_str_eq(text, "batch 20 repeat");
    ck_assert_uint_eq(count_files(), 0);
    hold("poison", 9);
    queues_repeat(&f->supervisor, &death);
    verdicts(text);
    ck_assert_str_eq(text, "single 9 drop; batch 20 repeat");
    ck_assert_uint_eq(count_files(), 1);
    ck_assert_uint_eq(f->supervisor.record.event_count, 1);
    ck_assert_int_eq(f->supervisor.record.events[0].kind, ENGINE_EVENT_QUARANTINE);
    ck_assert_uint_eq(f->supervisor.record.events[0].length, 6);
    ck_assert_int_eq(stat(f->supervisor.record.events[0].path, &status), 0);
    ck_assert_int_eq(status.st_size, 24 + 16 + 6);
    ck_assert_uint_eq(f->supervisor.record.quarantined, 1);
}
END_TEST

/* No packet is blamed if the engine was killed from outside, or another thread crashed. */
START_TEST(blames_no_packet_without_cause)
{
    const struct engine_death death = crash(-1);
    char text[TEXT_SIZE];

    for (int i = 0; i < 3; i++) {
        hold("innocent", 7);
        queues_repeat(&f->supervisor, &death);
        verdicts(text);
        ck_assert_str_eq(text, "batch 20 repeat");
    }
    ck_assert_uint_eq(f->supervisor.record.quarantined, 0);
}
END_TEST

/* A symbolic link in place of the folder, which an engine could create, is not followed. */
START_TEST(follows_no_link)
{
    const struct current_packet packet = { (const uint8_t *)"poison", 6, 1 };
    char path[128], elsewhere[128];

    snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", f->folder);
    snprintf(path, sizeof(path), "%s/quarantine", f->folder);
    ck_assert_int_eq(mkdir(elsewhere, 0700), 0);
    ck_assert_int_eq(symlink(elsewhere, path), 0);
    quarantine_packet(&f->supervisor, 0, &packet);
    ck_assert_uint_eq(count_files(), 0);
    ck_assert_str_eq(f->supervisor.record.events[0].path, "");
    ck_assert_int_eq(rmdir(elsewhere), 0); /* the folder is empty */
}
END_TEST

START_TEST(forgets_the_oldest_suspects)
{
    struct quarantine quarantine = { .next = 0 };
    uint32_t number = 0;
    const struct current_packet packet = { (const uint8_t *)&number, sizeof(number), 1 };

    for (number = 0; number < QUARANTINE_SUSPECTS; number++)
        ck_assert(!quarantine_is_repeated(&quarantine, &packet));
    number = 0;
    ck_assert(quarantine_is_repeated(&quarantine, &packet));
    number = QUARANTINE_SUSPECTS;
    ck_assert(!quarantine_is_repeated(&quarantine, &packet)); /* replaces the first entry */
    number = 0;
    ck_assert(!quarantine_is_repeated(&quarantine, &packet));
}
END_TEST

START_TEST(has_the_configured_room_again)
{
    char text[TEXT_SIZE];

    f->queue.raised = true;
    f->queue.options.length = 4 * WAITING - 1; /* too many packets wait */
    queues_restore_limits(&f->supervisor);
    ck_assert(f->queue.raised);
    f->queue.options.length = 4 * WAITING;
    queues_restore_limits(&f->supervisor);
    ck_assert(!f->queue.raised);
    verdicts(text);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(accepts_all_at_the_end)
{
    char text[TEXT_SIZE];

    ck_assert_uint_eq(queues_accept(&f->supervisor), WAITING);
    verdicts(text);
    ck_assert_str_eq(text, "batch 20 accept");
    f->queue.bound = false;
    ck_assert_uint_eq(queues_accept(&f->supervisor), 0);
}
END_TEST

START_TEST(says_how_it_died)
{
    static const struct {
        struct engine_death death;
        const char *text;
    } cases[] = {
        { { .signal = 11 }, "was killed by signal 11 (Segmentation fault)" },
        { { .code = 3 }, "exited with code 3" },
        { { .signal = 6, .hung = true }, "hung and was killed" },
        { { .signal = 9 }, "was killed by signal 9 (Killed)" },
    };
    char text[ENGINE_DEATH_TEXT_SIZE];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        engine_death_describe(&f->supervisor, &cases[i].death, text);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

/* The rate limit of messages: a burst passes, invalid messages count more, and an engine that exceeds the limit is
 * killed once. */
START_TEST(limits_messages)
{
    struct engine_process engine = { .pid = 0x3fffffff, .credit = 1000 };
    unsigned count = 0;

    engine.credit_ns = clock_monotonic_ns();
    while (engine_process_charge_message(&engine, CHANNEL_RELOADED) && count < 100000)
        count++;
    ck_assert_uint_ge(count, 1000);
    ck_assert_uint_lt(count, 2000);
    ck_assert_str_eq(engine.violation, "sent too many messages");
    engine_process_kill_for(&engine, "closed its channel");
    ck_assert_str_eq(engine.violation, "sent too many messages");

    engine = (struct engine_process){ .pid = 0x3fffffff, .credit = 1000, .credit_ns = clock_monotonic_ns() };
    for (count = 0; engine_process_charge_message(&engine, CHANNEL_INVALID) && count < 1000; count++)
        ;
    ck_assert_uint_lt(count, 100);
    ck_assert_str_eq(engine.violation, "sent invalid messages");
}
END_TEST

START_TEST(takes_sealed_files_only)
{
    static const int seals[] = { 0, F_SEAL_SHRINK, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_WRITE };
    int fd;

    for (size_t i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
        fd = memfd_create("flows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals[i]), 0);
        engine_handover_add_file(&f->supervisor, 0, fd);
    }
    engine_handover_add_file(&f->supervisor, 0, open("/dev/null", O_RDWR));
    engine_handover_add_file(&f->supervisor, -1, sealed_file());
    engine_handover_add_file(&f->supervisor, ENGINE_MEMORY_MAX_WORKERS, sealed_file());
    ck_assert_uint_eq(f->supervisor.file_count, 0);
    engine_handover_add_file(&f->supervisor, 3, sealed_file());
    engine_handover_add_file(&f->supervisor, 3, sealed_file()); /* the worker has a file already */
    ck_assert_uint_eq(f->supervisor.file_count, 1);
    engine_handover_cancel(&f->supervisor);
}
END_TEST

static const struct {
    const char *settings[3];
    bool bypass;
    unsigned causes;
    bool open;
} policies[] = {
    { { NULL }, true, 1 << ENGINE_FAILURE_CRASH, true },
    { { NULL }, false, 1 << ENGINE_FAILURE_CRASH, false },
    { { "engine.failure-policy=closed" }, true, 1 << ENGINE_FAILURE_HANG, false },
    { { "engine.failure-policy=open" }, false, 1 << ENGINE_FAILURE_HANG, true },
    { { "engine.failure-policy=closed", "engine.crash-policy=open" }, true, 1 << ENGINE_FAILURE_CRASH, true },
    { { "engine.failure-policy=closed", "engine.crash-policy=open" }, true, 1 << ENGINE_FAILURE_MEMORY, false },
    { { "engine.crash-policy=closed" }, true, 1 << ENGINE_FAILURE_CRASH, false },
    { { "engine.crash-policy=closed" }, true, 1 << ENGINE_FAILURE_HANG, true },
    { { "engine.crash-policy=closed" }, true, 1 << ENGINE_FAILURE_HANG | 1 << ENGINE_FAILURE_CRASH, false },
    { { "engine.memory-policy=closed" }, true, 1 << ENGINE_FAILURE_MEMORY, false },
    { { "engine.start-policy=closed" }, true, 1 << ENGINE_FAILURE_START, false },
    { { "engine.violation-policy=closed" }, true, 1 << ENGINE_FAILURE_VIOLATION, false },
    { { "engine.hang-policy=closed", "engine.violation-policy=open" }, true, 1 << ENGINE_FAILURE_VIOLATION, true },
};

START_TEST(opens_as_configured_for_the_cause)
{
    struct diag *diag = diag_new();

    for (size_t i = 0; i < 3 && policies[_i].settings[i]; i++)
        ck_assert_int_eq(config_set(f->config, policies[_i].settings[i], diag), 0);
    f->supervisor.firewall.bypass = policies[_i].bypass;
    ck_assert_int_eq(give_up_opens(&f->supervisor, policies[_i].causes), policies[_i].open);
    diag_free(diag);
}
END_TEST

/* In all other cases the stop removes everything. */
START_TEST(leaves_only_for_a_restart)
{
    static const char *const types[] = { "", "stop", "start", "try-restart", "restart-or-stop" };

    f->supervisor.stored = true;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct systemd_job job = { .descriptors = 1000 };

        snprintf(job.type, sizeof(job.type), "%s", types[i]);
        ck_assert_msg(!restart_handover_start(&f->supervisor, &job), "'%s' is taken for a restart", types[i]);
    }
    ck_assert(!f->supervisor.stopping && !f->supervisor.leaving);
}
END_TEST

/* Without sockets stored by systemd there is no restart hand-over. */
START_TEST(does_not_leave_what_nobody_keeps)
{
    const struct systemd_job job = { .type = "restart", .descriptors = 0 };

    f->supervisor.reject_fds[0] = f->supervisor.reject_fds[1] = f->supervisor.reject_fds[2] = -1;
    ck_assert(!restart_handover_start(&f->supervisor, &job));
    f->supervisor.stored = true;
    ck_assert(!restart_handover_start(&f->supervisor, &job));
    ck_assert(!f->supervisor.stopping && !f->supervisor.leaving);
}
END_TEST

START_TEST(names_files_for_the_next_supervisor)
{
    static const int files[] = { 0, 7, ENGINE_MEMORY_MAX_WORKERS - 1, CHANNEL_SHARED_FILE };
    static const char *const others[] = { "sluice-q0",       "sluice-flows-",    "sluice-flows-x", "sluice-flows-1x",
                                          "sluice-flows--1", "sluice-flows-256", "sluice-control", "" };
    char name[STORED_FILE_NAME_SIZE];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        stored_file_name(files[i], name);
        ck_assert_int_eq(stored_file_parse(name), files[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        ck_assert_msg(stored_file_parse(others[i]) == -1, "'%s' is taken for a file", others[i]);
}
END_TEST

static enum channel_kind heard(int channel, int *file)
{
    struct channel_message message;

    return channel_receive_file(channel, &message, file, 0);
}

START_TEST(has_the_engine_hand_over_once)
{
    int ends[2], file;

    ck_assert_int_eq(channel_open_pair(ends), 0);
    f->supervisor.leaving = true;
    f->supervisor.engine.pid = 1;
    f->supervisor.engine.ready = true;
    f->supervisor.engine.channel = ends[0];
    engine_handover_to_next_supervisor(&f->supervisor);
    engine_handover_to_next_supervisor(&f->supervisor); /* the message was sent for another engine before */
    ck_assert_int_eq(heard(ends[1], &file), CHANNEL_HAND_OVER);
    ck_assert_int_eq(heard(ends[1], &file), CHANNEL_NOTHING);
    ck_assert_uint_gt(f->supervisor.hand_over_ns, 0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(gives_on_what_was_left)
{
    int ends[2], file;

    ck_assert_int_eq(channel_open_pair(ends), 0);
    f->supervisor.engine.pid = 1;
    f->supervisor.engine.channel = ends[0];
    engine_handover_send_stored(&f->supervisor); /* nothing is stored */
    ck_assert_int_eq(heard(ends[1], &file), CHANNEL_NOTHING);
    ck_assert_uint_eq(f->supervisor.record.handovers, 0);
    engine_handover_add_file(&f->supervisor, 0, sealed_file());
    engine_handover_add_file(&f->supervisor, CHANNEL_SHARED_FILE, sealed_file());
    for (int i = 0; i < 2; i++)
        engine_handover_send_stored(&f->supervisor);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(heard(ends[1], &file), CHANNEL_FILE);
        ck_assert_int_ge(file, 0);
        close(file);
    }
    ck_assert_int_eq(heard(ends[1], &file), CHANNEL_NOTHING);
    ck_assert_uint_eq(f->supervisor.record.handovers, 1);
    ck_assert_int_eq(f->supervisor.record.events[0].kind, ENGINE_EVENT_HANDOVER);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor");
    TCase *tcase = tcase_create("supervisor");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, repeats_what_was_taken);
    tcase_add_test(tcase, drops_at_the_second_death);
    tcase_add_test(tcase, blames_no_packet_without_cause);
    tcase_add_test(tcase, follows_no_link);
    tcase_add_test(tcase, forgets_the_oldest_suspects);
    tcase_add_test(tcase, has_the_configured_room_again);
    tcase_add_test(tcase, accepts_all_at_the_end);
    tcase_add_test(tcase, leaves_only_for_a_restart);
    tcase_add_test(tcase, does_not_leave_what_nobody_keeps);
    tcase_add_test(tcase, names_files_for_the_next_supervisor);
    tcase_add_test(tcase, has_the_engine_hand_over_once);
    tcase_add_test(tcase, gives_on_what_was_left);
    tcase_add_test(tcase, says_how_it_died);
    tcase_add_test(tcase, limits_messages);
    tcase_add_test(tcase, takes_sealed_files_only);
    tcase_add_loop_test(tcase, opens_as_configured_for_the_cause, 0, (int)(sizeof(policies) / sizeof(policies[0])));
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
