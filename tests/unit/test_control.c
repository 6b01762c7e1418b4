/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The control socket: requests and responses, correct and misbehaving clients, deferred responses. */
#include <check.h>
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/control.h"

static uint64_t ticket;
static unsigned calls;

static void echo(void *user, struct control_request *request)
{
    const char *text = control_string(request, "text");
    struct text *out = control_answer(request);

    ck_assert_ptr_eq(user, &calls);
    calls++;
    json_object_open(out, NULL);
    json_string(out, "text", text ? text : "none");
    json_int(out, "number", control_number(request, "number", -7));
    json_bool(out, "bool", control_bool(request, "bool"));
    json_object_close(out);
}

static void fail_late(void *user, struct control_request *request)
{
    (void)user;
    json_object_open(control_answer(request), NULL);
    json_string(control_answer(request), "half", "done");
    control_fail(request, "it went wrong: %d", 5);
}

static void nothing(void *user, struct control_request *request)
{
    (void)user;
    (void)request;
}

static void large(void *user, struct control_request *request)
{
    struct text *out = control_answer(request);

    (void)user;
    json_array_open(out, NULL);
    for (int64_t i = 0; i < control_number(request, "count", 0); i++)
        json_string(out, NULL, "0123456789abcdef0123456789abcdef0123456789abcdef");
    json_array_close(out);
}

static void later(void *user, struct control_request *request)
{
    (void)user;
    ticket = control_defer(request);
}

static void list(void *user, struct control_request *request);

static const struct control_command commands[] = {
    { "echo", "field-echo", "says it again", echo },
    { "fail", NULL, "fails", fail_late },
    { "nothing", NULL, "does not answer", nothing },
    { "large", NULL, "says much", large },
    { "later", NULL, "answers later", later },
    { "list", NULL, "lists them", list },
    { NULL, NULL, NULL, NULL },
};

static void list(void *user, struct control_request *request)
{
    (void)user;
    control_list_commands(request, commands, control_bool(request, "describe"));
}

/* --- Lines ---------------------------------------------------------------------------------------- */

static const struct {
    const char *line, *answer;
} lines[] = {
    { "{\"command\":\"echo\"}", "{\"return\":\"OK\",\"message\":{\"text\":\"none\",\"number\":-7,\"bool\":false}}\n" },
    { "{\"command\":\"list\"}", "{\"return\":\"OK\",\"message\":{\"count\":7,\"commands\":[\"echo\",\"field-echo\","
                                "\"fail\",\"nothing\",\"large\","
                                "\"later\",\"list\"]}}\n" },
    { "{\"command\":\"list\",\"arguments\":{\"describe\":true}}",
      "{\"return\":\"OK\",\"message\":{\"count\":7,\"commands\":[\"echo\",\"field-echo\",\"fail\",\"nothing\","
      "\"large\","
      "\"later\",\"list\"],\"descriptions\":{\"echo\":\"says it again\",\"fail\":\"fails\",\"nothing\":\"does not "
      "answer\",\"large\":\"says much\",\"later\":\"answers later\",\"list\":\"lists them\"}}}\n" },
    { " {\"command\":\"echo\",\"arguments\":{\"text\":\"a\\u0022b\",\"number\":12,\"bool\":true}} \r",
      "{\"return\":\"OK\",\"message\":{\"text\":\"a\\\"b\",\"number\":12,\"bool\":true}}\n" },
    { "{\"command\":\"field-echo\",\"arguments\":{\"number\":\"12\"}}",
      "{\"return\":\"OK\",\"message\":{\"text\":\"none\",\"number\":-7,\"bool\":false}}\n" },
    { "{\"command\":\"fail\"}", "{\"return\":\"NOK\",\"message\":\"it went wrong: 5\"}\n" },
    { "{\"command\":\"nothing\"}", "{\"return\":\"OK\",\"message\":null}\n" },
    { "{\"version\":\"0.2\"}", "{\"return\":\"OK\",\"message\":\"" SLUICE_VERSION "\"}\n" },
    { "{\"command\":\"ehco\"}", "{\"return\":\"NOK\",\"message\":\"unknown command 'ehco', did you mean 'echo'?\"}\n" },
    { "{\"command\":\"zzzzzzzz\"}", "{\"return\":\"NOK\",\"message\":\"unknown command 'zzzzzzzz'\"}\n" },
    { "{\"command\":\"large\",\"arguments\":{\"count\":400000}}",
      "{\"return\":\"NOK\",\"message\":\"the answer is too long\"}\n" },
    { "{\"command\":5}", "{\"return\":\"NOK\",\"message\":\"a request must be an object with \\\"command\\\"\"}\n" },
    { "[]", "{\"return\":\"NOK\",\"message\":\"a request must be an object with \\\"command\\\"\"}\n" },
    { "5", "{\"return\":\"NOK\",\"message\":\"a request must be an object with \\\"command\\\"\"}\n" },
    { "{\"command\":\"echo\",\"arguments\":[1]}",
      "{\"return\":\"NOK\",\"message\":\"\\\"arguments\\\" must be an object\"}\n" },
};

START_TEST(lines_have_their_answers)
{
    struct text out;

    text_init(&out);
    control_handle_line(commands, &calls, lines[_i].line, strlen(lines[_i].line), &out);
    ck_assert_str_eq(out.bytes, lines[_i].answer);
    text_clear(&out);
}
END_TEST

static const char *const no_json[] = {
    "",
    "nonsense",
    "{",
    "{\"command\":\"echo\"",
    "{\"command\":\"echo\"} x",
    "{\"command\":\"echo\"}{}",
    "{'command':'echo'}",
    "{\"command\":\"echo\",}",
    "// c\n{}",
    "null",
    "\"\xff\"",
    "{\"command\":\"ec\xc3\"}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]",
};

START_TEST(what_is_no_json_is_told)
{
    struct text out;

    text_init(&out);
    control_handle_line(commands, &calls, no_json[_i], strlen(no_json[_i]), &out);
    static const char start[] = "{\"return\":\"NOK\",\"message\":\"the request is not valid JSON: ";

    ck_assert_msg(strncmp(out.bytes, start, sizeof(start) - 1) == 0, "%s", out.bytes);
    text_clear(&out);
}
END_TEST

/* --- A server ------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/test_control_XXXXXX", path[64];
static struct control_server *server;

static int open_server(unsigned clients, const char *group, char error[CONTROL_ERROR_SIZE])
{
    const struct control_options options = {
        .path = path, .mode = 0640, .group = group, .max_clients = clients, .commands = commands, .user = &calls
    };

    return control_server_new(&server, &options, error);
}

static void setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(strcpy(folder, "/tmp/test_control_XXXXXX")));
    snprintf(path, sizeof(path), "%s/below/socket", folder);
    server = NULL;
    calls = 0;
}

static void teardown(void)
{
    char below[64];

    control_server_free(server);
    unlink(path);
    snprintf(below, sizeof(below), "%s/below", folder);
    rmdir(below);
    rmdir(folder);
}

static int connect_client(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(address.sun_path, path);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Runs the server until the next line arrives; returns it, or "" at the end of the connection. */
static const char *hear(int fd)
{
    static char line[4096];
    size_t length = 0;

    for (int i = 0; i < 5000; i++) {
        ssize_t n = recv(fd, line + length, 1, MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno == ECONNRESET)) {
            line[length] = '\0';
            return line;
        }
        if (n < 0) {
            control_server_run(server);
            usleep(100);
            continue;
        }
        if (line[length++] == '\n') {
            line[length - 1] = '\0';
            return line;
        }
    }
    ck_abort_msg("no answer");
    return NULL;
}

START_TEST(clients_are_served)
{
    char error[CONTROL_ERROR_SIZE] = "";
    struct stat status;
    int one, other;

    ck_assert_msg(open_server(4, NULL, error) == 0, "%s", error);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0640);
    one = connect_client();
    other = connect_client();
    say(one, "{\"command\":\"nothing\"}\n{\"command\":\"fa");
    say(other, "{\"command\":\"fail\"}\n");
    ck_assert_str_eq(hear(other), "{\"return\":\"NOK\",\"message\":\"it went wrong: 5\"}");
    ck_assert_str_eq(hear(one), "{\"return\":\"OK\",\"message\":null}");
    say(one, "il\"}\n");
    ck_assert_str_eq(hear(one), "{\"return\":\"NOK\",\"message\":\"it went wrong: 5\"}");
    close(one);
    close(other);
    control_server_free(server);
    server = NULL;
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* Clients that wait for a deferred response are not closed in favour of other clients of the same user. */
/* suricatasc 7 sends the version without a newline, and waits for the answer. */
START_TEST(a_greeting_needs_no_newline)
{
    char error[CONTROL_ERROR_SIZE] = "";
    int fd;

    ck_assert_msg(open_server(4, NULL, error) == 0, "%s", error);
    fd = connect_client();
    say(fd, "{\"version\": ");
    for (int i = 0; i < 10; i++)
        control_server_run(server);
    say(fd, "\"0.2\"}");
    ck_assert_ptr_nonnull(strstr(hear(fd), "\"OK\""));
    say(fd, "{\"command\":\"echo\"}"); /* later requests need a newline */
    for (int i = 0; i < 10; i++)
        control_server_run(server);
    ck_assert_uint_eq(calls, 0);
    say(fd, "\n");
    ck_assert_ptr_nonnull(strstr(hear(fd), "\"text\":\"none\""));
    ck_assert_uint_eq(calls, 1);
    close(fd);
    fd = connect_client();
    say(fd, "{\"command\":\"echo\"}"); /* not a greeting */
    for (int i = 0; i < 10; i++)
        control_server_run(server);
    ck_assert_uint_eq(calls, 1);
    close(fd);
}
END_TEST

START_TEST(one_too_many_is_told)
{
    char error[CONTROL_ERROR_SIZE];
    int clients[3];

    ck_assert_int_eq(open_server(2, NULL, error), 0);
    for (unsigned i = 0; i < 3; i++) {
        clients[i] = connect_client();
        say(clients[i], "{\"command\":\"later\"}\n");
        control_server_run(server);
    }
    ck_assert_ptr_nonnull(strstr(hear(clients[2]), "too many clients"));
    close(clients[0]);
    control_server_run(server);
    close(clients[2]);
    clients[2] = connect_client();
    say(clients[2], "{\"command\":\"nothing\"}\n");
    ck_assert_str_eq(hear(clients[2]), "{\"return\":\"OK\",\"message\":null}");
    close(clients[1]);
    close(clients[2]);
    ticket = 0;
}
END_TEST

static bool is_connected(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/* Far more connections than places: with an incomplete request, without request, and without reading the response. */
START_TEST(half_open_and_slow_clients_give_way)
{
    enum { PLACES = 8, OTHERS = 2 * CONTROL_MAX_CONNECTIONS };
    char error[CONTROL_ERROR_SIZE];
    int others[OTHERS], slow[PLACES], fd;
    unsigned connected = 0;

    ck_assert_int_eq(open_server(PLACES, NULL, error), 0);
    for (unsigned i = 0; i < PLACES; i++) {
        slow[i] = connect_client();
        say(slow[i], "{\"command\":\"large\",\"arguments\":{\"count\":100000}}\n");
        control_server_run(server);
    }
    for (unsigned round = 0; round < 2; round++) {
        fd = connect_client();
        say(fd, "{\"command\":\"nothing\"}\n");
        ck_assert_str_eq(hear(fd), "{\"return\":\"OK\",\"message\":null}");
        close(fd);
        control_server_run(server);
        for (unsigned i = 0; i < OTHERS && round == 0; i++) {
            others[i] = connect_client();
            if (i % 2)
                say(others[i], "{\"command\":\"noth");
            control_server_run(server);
        }
    }
    for (unsigned i = 0; i < OTHERS; i++) {
        connected += is_connected(others[i]);
        close(others[i]);
    }
    ck_assert_uint_eq(connected,
                      CONTROL_MAX_CONNECTIONS - PLACES); /* these still have time to complete their requests */
    for (unsigned i = 0; i < PLACES; i++)
        close(slow[i]);
}
END_TEST

/* All clients connect and send before the server accepts the first one. Each must get its response, in any order. */
START_TEST(whole_requests_are_answered_in_any_order)
{
    enum { PLACES = 1, CLIENTS = 2 * CONTROL_MAX_CONNECTIONS };
    char error[CONTROL_ERROR_SIZE];
    int clients[CLIENTS];

    ck_assert_int_eq(open_server(PLACES, NULL, error), 0);
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = connect_client();
        if (i % 2)
            say(clients[i], "{\"command\":\"nothing\"}\n");
        if (i % 50 == 49) /* before the backlog of the socket is full */
            control_server_run(server);
    }
    for (unsigned i = 1; i < CLIENTS; i += 2)
        ck_assert_str_eq(hear(clients[i]), "{\"return\":\"OK\",\"message\":null}");
    for (unsigned i = 0; i < CLIENTS; i++)
        close(clients[i]);
}
END_TEST

enum { OTHER_UID = 65534, PLACES_OF_USERS = CONTROL_MAX_CONNECTIONS };

/* Connects in another process as another user, and sends a request. Returns whether there is a response. */
static bool another_user_is_answered(void)
{
    int fd, status, ready[2];
    char byte, answer[256];
    ssize_t n;
    pid_t pid;

    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (setresuid(OTHER_UID, OTHER_UID, OTHER_UID))
            _exit(2);
        fd = connect_client();
        say(fd, "{\"command\":\"nothing\"}\n");
        if (write(ready[1], "x", 1) != 1)
            _exit(3);
        n = recv(fd, answer, sizeof(answer) - 1, 0); /* the server sends the whole response at once */
        answer[n > 0 ? n : 0] = '\0';
        _exit(strstr(answer, "\"OK\"") ? 0 : 1);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    control_server_run(server);
    control_server_run(server);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    close(ready[0]);
    close(ready[1]);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Fills all places with incomplete requests of another user. The connections stay until the pipe is closed. */
static pid_t occupy_as_another_user(int *hold)
{
    int pipe_fds[2], ready[2];
    char byte;
    pid_t pid;

    ck_assert_int_eq(pipe(pipe_fds), 0);
    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        close(pipe_fds[1]);
        if (setresuid(OTHER_UID, OTHER_UID, OTHER_UID))
            _exit(2);
        for (unsigned i = 0; i < PLACES_OF_USERS - 10; i++)
            say(connect_client(), "{\"command\":\"lat");
        if (write(ready[1], "x", 1) != 1)
            _exit(3);
        _exit(read(pipe_fds[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(pipe_fds[0]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    *hold = pipe_fds[1];
    return pid;
}

START_TEST(users_cannot_lock_out_root)
{
    char error[CONTROL_ERROR_SIZE];
    int own[PLACES_OF_USERS], fd, hold;
    pid_t pid;

    if (geteuid() != 0)
        return;
    ck_assert_int_eq(open_server(PLACES_OF_USERS, NULL, error), 0);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    ck_assert_int_eq(chmod(path, 0666), 0);

    /* Connections of another user are closed in favour of root's, but not the other way round. */
    pid = occupy_as_another_user(&hold);
    control_server_run(server);
    for (unsigned i = 0; i < PLACES_OF_USERS; i++) {
        own[i] = connect_client();
        say(own[i], "{\"command\":\"noth");
        control_server_run(server);
    }
    for (unsigned i = 0; i < PLACES_OF_USERS; i++)
        ck_assert(is_connected(own[i]));
    ck_assert(!another_user_is_answered());
    for (unsigned i = 0; i < PLACES_OF_USERS; i++) {
        say(own[i], "ing\"}\n");
        ck_assert_str_eq(hear(own[i]), "{\"return\":\"OK\",\"message\":null}");
    }
    fd = connect_client();
    say(fd, "{\"command\":\"nothing\"}\n");
    ck_assert_str_eq(hear(fd), "{\"return\":\"OK\",\"message\":null}");
    close(fd);
    control_server_run(server);
    ck_assert(another_user_is_answered());
    for (unsigned i = 0; i < PLACES_OF_USERS; i++)
        close(own[i]);
    close(hold);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(a_line_that_is_too_long_ends_it)
{
    char error[CONTROL_ERROR_SIZE], *bytes = malloc(CONTROL_MAX_LINE + 2);
    int fd;

    ck_assert_int_eq(open_server(2, NULL, error), 0);
    fd = connect_client();
    memset(bytes, 'x', CONTROL_MAX_LINE);
    bytes[CONTROL_MAX_LINE] = '\0';
    say(fd, bytes);
    ck_assert_str_eq(hear(fd), "{\"return\":\"NOK\",\"message\":\"the request is too long\"}");
    ck_assert_str_eq(hear(fd), "");
    close(fd);
    free(bytes);
}
END_TEST

/* While a client does not read its response, its further requests wait, and other clients are served. */
START_TEST(a_client_that_does_not_read_waits_alone)
{
    char error[CONTROL_ERROR_SIZE];
    int slow, other;

    ck_assert_int_eq(open_server(2, NULL, error), 0);
    slow = connect_client();
    other = connect_client();
    say(slow,
        "{\"command\":\"large\",\"arguments\":{\"count\":100000}}\n{\"command\":\"echo\"}\n{\"command\":\"echo\"}\n");
    say(other, "{\"command\":\"nothing\"}\n");
    ck_assert_str_eq(hear(other), "{\"return\":\"OK\",\"message\":null}");
    ck_assert_uint_eq(calls, 0);
    close(slow);
    say(other, "{\"command\":\"nothing\"}\n");
    ck_assert_str_eq(hear(other), "{\"return\":\"OK\",\"message\":null}");
    ck_assert_uint_eq(calls, 0);
    close(other);
}
END_TEST

START_TEST(an_answer_may_come_later)
{
    char error[CONTROL_ERROR_SIZE];
    int fd;

    ck_assert_int_eq(open_server(2, NULL, error), 0);
    fd = connect_client();
    say(fd, "{\"command\":\"later\"}\n{\"command\":\"nothing\"}\n");
    for (int i = 0; i < 100 && ticket == 0; i++) {
        control_server_run(server);
        usleep(1000);
    }
    json_string(control_answer_later(server, ticket, false), NULL, "not now");
    control_finish_later(server, ticket);
    ck_assert_str_eq(hear(fd), "{\"return\":\"NOK\",\"message\":\"not now\"}");
    ck_assert_str_eq(hear(fd), "{\"return\":\"OK\",\"message\":null}");
    ck_assert_ptr_null(control_answer_later(server, ticket, true));
    ck_assert_ptr_null(control_answer_later(server, ticket + 1, true));
    ticket = 0;
    say(fd, "{\"command\":\"later\"}\n");
    for (int i = 0; i < 100 && ticket == 0; i++) {
        control_server_run(server);
        usleep(1000);
    }
    close(fd); /* the client does not wait for the response */
    for (int i = 0; i < 1000 && control_answer_later(server, ticket, true); i++) {
        control_finish_later(server, ticket);
        control_server_run(server);
    }
    ck_assert_ptr_null(control_answer_later(server, ticket, true));
}
END_TEST

START_TEST(the_socket_has_one_owner)
{
    char error[CONTROL_ERROR_SIZE];
    struct control_server *first;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd;

    ck_assert_int_eq(open_server(2, NULL, error), 0);
    first = server;
    ck_assert_int_eq(open_server(2, NULL, error), -EADDRINUSE);
    ck_assert_ptr_nonnull(strstr(error, "listens on it"));
    ck_assert_int_eq(access(path, F_OK), 0);
    control_server_free(first);

    /* A socket that a dead server has left. */
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(address.sun_path, path);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    ck_assert_int_eq(open_server(2, NULL, error), 0);
    control_server_free(server);
    server = NULL;
    ck_assert_int_ne(open_server(2, "no such group here", error), 0);
    ck_assert_ptr_nonnull(strstr(error, "group"));
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* A file that is not a socket is not removed. */
START_TEST(a_file_in_its_place_is_kept)
{
    char error[CONTROL_ERROR_SIZE];
    FILE *file;

    ck_assert_int_eq(open_server(2, NULL, error), 0);
    control_server_free(server);
    server = NULL;
    file = fopen(path, "w");
    fclose(file);
    ck_assert_int_ne(open_server(2, NULL, error), 0);
    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

/* --- The client ----------------------------------------------------------------------------------- */

static atomic_bool stop_serving;

static void *serve(void *argument)
{
    struct pollfd wait = { .fd = control_server_fd(server), .events = POLLIN };

    while (!atomic_load(&stop_serving)) {
        poll(&wait, 1, 10);
        control_server_run(server);
    }
    return argument;
}

static int ask(const char *request, struct control_reply *reply, char error[CONTROL_ERROR_SIZE])
{
    struct text text;
    int err;

    text_init(&text);
    text_puts(&text, request);
    err = control_send_request(path, &text, 10, reply, error);
    text_clear(&text);
    return err;
}

START_TEST(the_client_asks)
{
    char error[CONTROL_ERROR_SIZE];
    struct control_reply reply;
    pthread_t thread;
    int64_t number = 0;

    ck_assert_int_eq(ask("{}", &reply, error), -ENOENT);
    ck_assert_ptr_nonnull(strstr(error, "no daemon listens"));
    ck_assert_ptr_nonnull(strstr(error, "start it (`sluice run`)"));
    ck_assert_int_eq(open_server(4, NULL, error), 0);
    atomic_store(&stop_serving, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, NULL), 0);
    ck_assert_int_eq(ask("{\"command\":\"echo\",\"arguments\":{\"number\":77}}", &reply, error), 0);
    ck_assert(control_value_number(control_value_member(reply.message, "number"), &number));
    ck_assert_int_eq(number, 77);
    ck_assert_str_eq(control_value_string(control_value_member(reply.message, "text")), "none");
    ck_assert(!control_value_bool(control_value_member(reply.message, "bool")));
    ck_assert_ptr_null(control_value_member(reply.message, "nobody"));
    ck_assert_ptr_null(control_value_item(reply.message, 0));
    ck_assert_str_eq(control_reply_text(&reply), "{\"text\":\"none\",\"number\":77,\"bool\":false}");
    control_value_free(reply.whole);
    ck_assert_int_eq(ask("{\"command\":\"fail\"}", &reply, error), -EREMOTEIO);
    ck_assert_str_eq(error, "it went wrong: 5");
    ck_assert_int_eq(ask("{\"command\":\"large\",\"arguments\":{\"count\":200000}}", &reply, error), 0);
    ck_assert_uint_eq(control_value_count(reply.message), 200000);
    control_value_free(reply.whole);
    atomic_store(&stop_serving, true);
    pthread_join(thread, NULL);
}
END_TEST

static void *ask_uptime(void *argument)
{
    char error[CONTROL_ERROR_SIZE];
    struct control_reply reply;

    ck_assert_int_eq(ask("{\"command\":\"uptime\"}", &reply, error), 0);
    control_value_free(reply.whole);
    return argument;
}

/* The server closes the first two connections in favour of others, one before and one after the request arrived. */
START_TEST(the_client_connects_again)
{
    static const char answer[] = "{\"return\":\"OK\",\"message\":1}\n";
    const struct control_options options = { .path = path, .mode = 0600 };
    char error[CONTROL_ERROR_SIZE], bytes[256];
    int listening = control_listen(&options, error);
    pthread_t thread;

    ck_assert_int_ge(listening, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask_uptime, NULL), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct pollfd wait = { .fd = listening, .events = POLLIN };
        int fd;

        ck_assert_int_eq(poll(&wait, 1, 10000), 1);
        fd = accept(listening, NULL, NULL);
        ck_assert_int_ge(fd, 0);
        wait.fd = fd;
        if (i == 1)
            ck_assert_int_eq(poll(&wait, 1, 10000), 1);
        if (i == 2) {
            ck_assert_int_gt(recv(fd, bytes, sizeof(bytes), 0), 0);
            ck_assert_int_eq(send(fd, answer, sizeof(answer) - 1, 0), sizeof(answer) - 1);
        }
        close(fd);
    }
    pthread_join(thread, NULL);
    close(listening);
}
END_TEST

/* The server may close a client that has sent a part of its request, so the client sends all of it at once. */
START_TEST(a_request_is_sent_at_once)
{
    static const char answer[] = "{\"return\":\"OK\",\"message\":1}\n";
    const struct control_options options = { .path = path, .mode = 0600 };
    char error[CONTROL_ERROR_SIZE], bytes[256];
    int listening = control_listen(&options, error);

    ck_assert_int_ge(listening, 0);
    for (unsigned i = 0; i < 200; i++) {
        struct pollfd wait = { .fd = listening, .events = POLLIN };
        pthread_t thread;
        ssize_t length;
        int fd;

        ck_assert_int_eq(pthread_create(&thread, NULL, ask_uptime, NULL), 0);
        ck_assert_int_eq(poll(&wait, 1, 10000), 1);
        fd = accept(listening, NULL, NULL);
        ck_assert_int_ge(fd, 0);
        length = recv(fd, bytes, sizeof(bytes), 0);
        ck_assert_int_gt(length, 0);
        ck_assert_int_eq(bytes[length - 1], '\n');
        ck_assert_int_eq(send(fd, answer, sizeof(answer) - 1, 0), sizeof(answer) - 1);
        pthread_join(thread, NULL);
        close(fd);
    }
    close(listening);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("control");
    TCase *tcase = tcase_create("control");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, lines_have_their_answers, 0, sizeof(lines) / sizeof(lines[0]));
    tcase_add_loop_test(tcase, what_is_no_json_is_told, 0, sizeof(no_json) / sizeof(no_json[0]));
    tcase_add_test(tcase, clients_are_served);
    tcase_add_test(tcase, a_greeting_needs_no_newline);
    tcase_add_test(tcase, one_too_many_is_told);
    tcase_add_test(tcase, half_open_and_slow_clients_give_way);
    tcase_add_test(tcase, whole_requests_are_answered_in_any_order);
    tcase_add_test(tcase, users_cannot_lock_out_root);
    tcase_add_test(tcase, a_line_that_is_too_long_ends_it);
    tcase_add_test(tcase, a_client_that_does_not_read_waits_alone);
    tcase_add_test(tcase, an_answer_may_come_later);
    tcase_add_test(tcase, the_socket_has_one_owner);
    tcase_add_test(tcase, a_file_in_its_place_is_kept);
    tcase_add_test(tcase, the_client_asks);
    tcase_add_test(tcase, a_request_is_sent_at_once);
    tcase_add_test(tcase, the_client_connects_again);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
