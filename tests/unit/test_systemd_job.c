/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The query of the unit's job on D-Bus. A child process plays the bus; it answers as systemd does, or not at all. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "daemon/supervisor/systemd_job.h"

static char folder[] = "/tmp/sluice-job-XXXXXX";
static struct sockaddr_un address;
static int listener;
static pid_t bus_pid;

static int answer(sd_bus_message *message, void *user, sd_bus_error *error)
{
    const char *type = user, *interface, *property;

    (void)error;
    if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus", "Hello"))
        return sd_bus_reply_method_return(message, "s", ":1.1");
    if (sd_bus_message_is_method_call(message, NULL, "GetUnitByPID")) {
        uint32_t pid;

        if (sd_bus_message_read(message, "u", &pid) < 0 || pid != (uint32_t)getppid())
            return sd_bus_reply_method_errorf(message, "org.freedesktop.systemd1.NoUnitForPID", "not this process");
        return sd_bus_reply_method_return(message, "o", "/unit");
    }
    if (sd_bus_message_read(message, "ss", &interface, &property) < 0)
        return 0;
    if (strcmp(property, "Job") == 0)
        return sd_bus_reply_method_return(message, "v", "(uo)", *type ? 7 : 0, *type ? "/job" : "/");
    if (strcmp(property, "JobType") == 0)
        return sd_bus_reply_method_return(message, "v", "s", type);
    return sd_bus_reply_method_return(message, "v", "u", 12);
}

static void run_bus(char *type)
{
    int fd = accept(listener, NULL, NULL);
    sd_id128_t id = SD_ID128_MAKE(01, 02, 03, 04, 05, 06, 07, 08, 09, 0a, 0b, 0c, 0d, 0e, 0f, 10);
    sd_bus *bus = NULL;
    int err = sd_bus_new(&bus);

    if (err >= 0)
        err = sd_bus_set_fd(bus, fd, fd);
    if (err >= 0)
        err = sd_bus_set_server(bus, 1, id);
    if (err >= 0)
        err = sd_bus_add_filter(bus, NULL, answer, type);
    if (err >= 0)
        err = sd_bus_start(bus);
    while (err >= 0) {
        err = sd_bus_process(bus, NULL);
        if (err == 0)
            err = sd_bus_wait(bus, UINT64_MAX);
    }
    _exit(0);
}

static void setup(void)
{
    char variable[sizeof(address.sun_path) + 16];

    strcpy(folder + sizeof(folder) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", folder);
    snprintf(variable, sizeof(variable), "unix:path=%s", address.sun_path);
    ck_assert_int_eq(setenv("DBUS_SYSTEM_BUS_ADDRESS", variable, 1), 0);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    bus_pid = 0;
}

static void teardown(void)
{
    if (bus_pid > 0) {
        kill(bus_pid, SIGKILL);
        waitpid(bus_pid, NULL, 0);
    }
    close(listener);
    unlink(address.sun_path);
    rmdir(folder);
}

static const char *const types[] = { "restart", "stop", "" };

START_TEST(finds_the_job)
{
    struct systemd_job job = { .type = "unset" };
    char type[SYSTEMD_JOB_TYPE_SIZE], error[ENGINE_ERROR_SIZE] = "";

    snprintf(type, sizeof(type), "%s", types[_i]);
    bus_pid = fork();
    if (bus_pid == 0)
        run_bus(type);
    ck_assert_msg(systemd_job_find(&job, error) == 0, "%s", error);
    ck_assert_str_eq(job.type, types[_i]);
    ck_assert_uint_eq(job.descriptors, 12);
}
END_TEST

/* As during a shutdown: the socket accepts connections, but there is no response. */
START_TEST(gives_up_a_bus_that_does_not_answer)
{
    struct systemd_job job = { .type = "unset" };
    char error[ENGINE_ERROR_SIZE] = "";

    ck_assert_int_eq(systemd_job_find(&job, error), -ETIMEDOUT);
    ck_assert_ptr_nonnull(strstr(error, "D-Bus"));
    ck_assert_str_eq(job.type, "unset");
}
END_TEST

START_TEST(reports_a_system_without_bus)
{
    struct systemd_job job = { .type = "unset" };
    char error[ENGINE_ERROR_SIZE] = "";

    ck_assert_int_eq(unlink(address.sun_path), 0);
    ck_assert_int_eq(systemd_job_find(&job, error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error, "D-Bus"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("systemd_job");
    TCase *tcase = tcase_create("systemd_job");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, finds_the_job, 0, (int)(sizeof(types) / sizeof(types[0])));
    tcase_add_test(tcase, gives_up_a_bus_that_does_not_answer);
    tcase_add_test(tcase, reports_a_system_without_bus);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
