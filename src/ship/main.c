/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sluice-ship listens on the socket output.ship-socket. An engine connects and sends its spools, each with the name of
 * its output; the settings of the output come from the configuration file, which is read again for each connection. A
 * closed connection means that the engine has ended: all events in its spools are sent, and then the spools are freed.
 *
 * systemd starts the program when an engine connects (sluice-ship.socket), with the user of its unit. Without systemd
 * the program creates the socket; as root it then switches to the user sluice-ship or, if this user does not exist, to
 * run-as.user.
 *
 * Memory is bounded: each engine has one spool for each output, and of engines that have ended at most ORPHANS_MAX
 * spools of an output are kept.
 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "ship_priv.h"
#include "sluice/cli.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/diag.h"
#include "sluice/folder.h"
#include "sluice/log.h"
#include "sluice/sandbox.h"
#include "sluice/setup.h"

enum {
    ENGINES_MAX = 8,
    SHIPMENTS_MAX = 128,
    ORPHANS_MAX = 2,
    TICK_MS = 500,
    DRAIN_SECONDS = 5,
    SETS_MAX = 64,
    NICE = 10
};

/* The connection of an engine, with the configuration that its shipments use. */
struct engine {
    int fd; /* -1: the engine has ended */
    struct config *config;
    struct output_settings settings[OUTPUT_MAX_DESTINATIONS];
    struct shipment *shipments[OUTPUT_MAX_DESTINATIONS];
    size_t count;
    uint64_t number;   /* engines are numbered in the order of their connections */
    uint64_t ended_ns; /* when the engine ended */
};

struct ship {
    const char *config_path, *sets[SETS_MAX];
    size_t set_count;
    int listen_fd, signal_fd;
    struct engine *engines[ENGINES_MAX];
    uint64_t engine_count; /* engines that have connected so far */
    char *socket_path;     /* created by this program, removed at the end; NULL: created by systemd */
};

/* --- Configuration -------------------------------------------------------------------------------- */

/* Reads the configuration and reports its mistakes. Returns NULL after an error. */
static struct config *read_config(const struct ship *ship)
{
    struct diag *diag = diag_new();
    struct config *config = NULL;
    int err = diag ? daemon_new_config(&config) : -ENOMEM;

    if (!err && ship->config_path)
        err = config_load(config, ship->config_path, CONFIG_STRICT, diag);
    for (size_t i = 0; !err && i < ship->set_count; i++)
        err = config_set(config, ship->sets[i], diag);
    if (!err)
        setup_check_outputs(config, diag);
    if (diag)
        diag_print(diag, stderr, false);
    if (!err && diag_errors(diag) == 0) {
        diag_free(diag);
        return config;
    }
    if (err == -ENOMEM)
        log_error("out of memory");
    config_free(config);
    diag_free(diag);
    return NULL;
}

/* --- Engines -------------------------------------------------------------------------------------- */

static void end_shipment(struct engine *engine, size_t index)
{
    shipment_free(engine->shipments[index]);
    engine->shipments[index] = NULL;
}

static void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    for (size_t i = 0; i < engine->count; i++)
        if (engine->shipments[i])
            shipment_stop(engine->shipments[i]);
    for (size_t i = 0; i < engine->count; i++)
        end_shipment(engine, i);
    if (engine->fd >= 0)
        close(engine->fd);
    config_free(engine->config);
    free(engine);
}

static void accept_engine(struct ship *ship)
{
    int fd = accept4(ship->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct engine *engine;
    unsigned free_slot = 0;

    if (fd < 0)
        return;
    while (free_slot < ENGINES_MAX && ship->engines[free_slot])
        free_slot++;
    engine = free_slot < ENGINES_MAX ? calloc(1, sizeof(*engine)) : NULL;
    if (engine)
        engine->config = read_config(ship);
    if (!engine || !engine->config) {
        log_error("cannot serve an engine: %s; it tries again", free_slot == ENGINES_MAX ? "too many are connected"
                                                                : engine ? "the configuration has mistakes"
                                                                         : "out of memory");
        free(engine);
        close(fd);
        return;
    }
    engine->fd = fd;
    engine->number = ++ship->engine_count;
    ship->engines[free_slot] = engine;
    log_info("an engine is connected");
}

/* Frees the oldest spools of ended engines for the output, so that at most ORPHANS_MAX of them are left. */
static void limit_orphans(struct ship *ship, const char *name)
{
    for (;;) {
        struct engine *oldest = NULL;
        size_t index = 0, count = 0;

        for (unsigned e = 0; e < ENGINES_MAX; e++) {
            struct engine *engine = ship->engines[e];

            for (size_t i = 0; engine && engine->fd < 0 && i < engine->count; i++) {
                if (!engine->shipments[i] || strcmp(shipment_name(engine->shipments[i]), name) != 0)
                    continue;
                count++;
                if (!oldest || engine->ended_ns < oldest->ended_ns) {
                    oldest = engine;
                    index = i;
                }
            }
        }
        if (count <= ORPHANS_MAX)
            return;
        end_shipment(oldest, index);
    }
}

/* Starts a shipment for a spool that the engine has sent. */
static void add_spool(struct ship *ship, struct engine *engine, const char *name, int fd)
{
    struct output_settings *settings = &engine->settings[engine->count];
    struct spool *spool;
    bool is_known = false;
    const char *known;
    int err;

    for (size_t i = 0; (known = config_each(engine->config, "outputs", i)); i++)
        is_known |= strcmp(known, name) == 0;
    if (is_known)
        config_fill(engine->config, destination_settings, name, settings);
    if (!is_known || engine->count == OUTPUT_MAX_DESTINATIONS || !carrier_type_of(settings->type)) {
        log_error("output %s: not in the configuration file of sluice-ship, or without a server there; its events wait",
                  name);
        close(fd);
        return;
    }
    err = spool_adopt(&spool, fd);
    if (!err)
        err = shipment_start(&engine->shipments[engine->count], name, spool, settings);
    if (err)
        log_error("output %s: cannot read the events of the engine: %s", name, strerror(-err));
    else
        engine->count++;
    limit_orphans(ship, name);
}

static void read_engine(struct ship *ship, struct engine *engine)
{
    char name[SPOOL_NAME_SIZE];
    int fd, found;

    while ((found = spool_receive(engine->fd, name, &fd)) > 0)
        add_spool(ship, engine, name, fd);
    if (found == -EAGAIN || found == -EINTR)
        return;
    if (found < 0)
        log_error("the engine sent an invalid message: %s", strerror(-found));
    close(engine->fd);
    engine->fd = -1;
    engine->ended_ns = clock_monotonic_ns();
    for (size_t i = 0; i < engine->count; i++)
        if (engine->shipments[i])
            shipment_set_orphan(engine->shipments[i]);
}

/* Whether an earlier engine still has events for this output. */
static bool must_wait(const struct ship *ship, const struct engine *engine, const char *name)
{
    for (unsigned e = 0; e < ENGINES_MAX; e++) {
        const struct engine *other = ship->engines[e];

        for (size_t i = 0; other && other->number < engine->number && i < other->count; i++)
            if (other->shipments[i] && strcmp(shipment_name(other->shipments[i]), name) == 0)
                return true;
    }
    return false;
}

/* Frees shipments that have sent everything, and engines without shipments; releases held shipments when no earlier
 * engine has events for their output. Returns whether shipments of engines that have ended are left. */
static bool sweep(struct ship *ship)
{
    bool left = false;

    for (unsigned e = 0; e < ENGINES_MAX; e++) {
        struct engine *engine = ship->engines[e];
        bool has_shipments = false;

        for (size_t i = 0; engine && i < engine->count; i++) {
            if (engine->shipments[i] && shipment_has_ended(engine->shipments[i]))
                end_shipment(engine, i);
            else if (engine->shipments[i] && shipment_is_held(engine->shipments[i]) &&
                     !must_wait(ship, engine, shipment_name(engine->shipments[i])))
                shipment_release(engine->shipments[i]);
            has_shipments |= engine->shipments[i] != NULL;
        }
        if (engine && engine->fd < 0 && !has_shipments) {
            engine_free(engine);
            ship->engines[e] = NULL;
        }
        left |= has_shipments && engine->fd < 0;
    }
    return left;
}

/* --- Start ---------------------------------------------------------------------------------------- */

/* Gets the socket from systemd, or creates it for the user of the engine. Returns 0 or an exit code. */
static int open_socket(struct ship *ship, const struct config *config)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct daemon_options daemon = { 0 };
    struct log_options log = { 0 };
    const struct passwd *engine_user;
    char folder[sizeof(address.sun_path)];
    char *slash;

    config_fill(config, output_settings, NULL, &log);
    config_fill(config, daemon_settings, NULL, &daemon);
    if (sd_listen_fds(1) == 1) {
        ship->listen_fd = SD_LISTEN_FDS_START;
        return 0;
    }
    if (strlen(log.ship_socket) >= sizeof(address.sun_path)) {
        log_error("output.ship-socket is longer than %zu bytes", sizeof(address.sun_path) - 1);
        return EXIT_FAILED;
    }
    strcpy(address.sun_path, log.ship_socket);
    strcpy(folder, log.ship_socket);
    slash = strrchr(folder, '/');
    if (slash && slash > folder) {
        *slash = '\0';
        if (folder_create(folder) == 0 && geteuid() == 0)
            chmod(folder, 0755);
    }
    ship->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ship->listen_fd >= 0 && connect(ship->listen_fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
        log_error("another sluice-ship listens on %s: stop it, or set output.ship-socket", log.ship_socket);
        return EXIT_FAILED;
    }
    unlink(log.ship_socket); /* a socket that an earlier process has left */
    umask(0177);
    if (ship->listen_fd < 0 || bind(ship->listen_fd, (const struct sockaddr *)&address, sizeof(address)) ||
        listen(ship->listen_fd, ENGINES_MAX)) {
        log_error("cannot listen on %s (output.ship-socket): %s", log.ship_socket, strerror(errno));
        return EXIT_FAILED;
    }
    umask(027);
    ship->socket_path = strdup(log.ship_socket);
    engine_user = getpwnam(daemon.user ? daemon.user : SANDBOX_DEFAULT_USER);
    if (geteuid() == 0 && engine_user && chown(log.ship_socket, engine_user->pw_uid, engine_user->pw_gid))
        log_warning("cannot make %s the owner of %s: %s", engine_user->pw_name, log.ship_socket, strerror(errno));
    return 0;
}

/* Gives up the privileges of root. Returns 0 or an exit code. */
static int drop_privileges(const struct config *config)
{
    struct daemon_options daemon = { 0 };
    const struct passwd *user;

    config_fill(config, daemon_settings, NULL, &daemon);
    if (geteuid() == 0) {
        user = getpwnam("sluice-ship");
        if (!user)
            user = getpwnam(daemon.user ? daemon.user : SANDBOX_DEFAULT_USER);
        if (!user)
            log_warning("running as root, because neither the user sluice-ship nor " SANDBOX_DEFAULT_USER " exists");
        else if (initgroups(user->pw_name, user->pw_gid) || setgid(user->pw_gid) || setuid(user->pw_uid)) {
            log_error("cannot change to the user %s: %s", user->pw_name, strerror(errno));
            return EXIT_FAILED;
        }
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)) {
        log_error("cannot restrict the process: %s", strerror(errno));
        return EXIT_FAILED;
    }
    return 0;
}

/* --- Main ----------------------------------------------------------------------------------------- */

static void serve(struct ship *ship)
{
    for (bool stop = false; !stop;) {
        struct pollfd fds[2 + ENGINES_MAX] = { { .fd = ship->listen_fd, .events = POLLIN },
                                               { .fd = ship->signal_fd, .events = POLLIN } };

        for (unsigned i = 0; i < ENGINES_MAX; i++)
            fds[2 + i] = (struct pollfd){ .fd = ship->engines[i] ? ship->engines[i]->fd : -1, .events = POLLIN };
        poll(fds, 2 + ENGINES_MAX, TICK_MS);
        stop = fds[1].revents != 0;
        for (unsigned i = 0; i < ENGINES_MAX; i++)
            if (fds[2 + i].fd >= 0 && fds[2 + i].revents)
                read_engine(ship, ship->engines[i]);
        if (fds[0].revents)
            accept_engine(ship);
        sweep(ship);
    }
    sd_notify(0, "STOPPING=1");
    /* Events of a running engine stay in the engine's memory for the next sluice-ship. Events of engines that have
     * ended are lost unless they are sent now. */
    for (uint64_t until_ns = clock_monotonic_ns() + DRAIN_SECONDS * NS_PER_SECOND;
         sweep(ship) && clock_monotonic_ns() < until_ns;)
        poll(NULL, 0, TICK_MS / 10);
    for (unsigned i = 0; i < ENGINES_MAX; i++)
        engine_free(ship->engines[i]);
}

static void print_help(void)
{
    printf("Usage: sluice-ship [OPTION]...\n"
           "Send events of Sluice to servers.\n"
           "\n"
           "The engine passes the events of outputs whose filetype is not regular (outputs.* in sluice.yaml) to this\n"
           "program through the socket output.ship-socket. systemd starts it when the engine connects\n"
           "(sluice-ship.socket). An event stays in the memory of the engine until its server has confirmed it, so\n"
           "the program can be restarted, for example after a change of the configuration, without loss.\n"
           "\n"
           "Options:\n"
           "  -c, --config FILE         read this configuration file, which is that of the daemon\n"
           "                            (default: %s/sluice.yaml)\n"
           "  -s, --set NAME=VALUE      override a setting of the configuration; may be given again\n"
           "  -V, --version             print the version\n"
           "  -h, --help                show this help\n",
           SLUICE_SYSCONFDIR);
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "config", required_argument, NULL, 'c' },
                                             { "set", required_argument, NULL, 's' },
                                             { "version", no_argument, NULL, 'V' },
                                             { "help", no_argument, NULL, 'h' },
                                             { 0 } };
    struct ship ship = { .listen_fd = -1, .config_path = SLUICE_SYSCONFDIR "/sluice.yaml" };
    struct config *config;
    sigset_t signals;
    int option, code;

    while ((option = getopt_long(argc, argv, "c:s:Vh", options, NULL)) != -1) {
        switch (option) {
        case 'c':
            ship.config_path = optarg;
            break;
        case 's':
            if (ship.set_count == SETS_MAX) {
                fprintf(stderr, "sluice-ship: --set can be given %d times at most\n", SETS_MAX);
                return EXIT_USAGE;
            }
            ship.sets[ship.set_count++] = optarg;
            break;
        case 'V':
            printf("sluice-ship %s\n", SLUICE_VERSION);
            return EXIT_OK;
        case 'h':
            print_help();
            return EXIT_OK;
        default:
            fprintf(stderr, "Run `sluice-ship --help` for the options.\n");
            return EXIT_USAGE;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "sluice-ship: unexpected argument '%s': see `sluice-ship --help`\n", argv[optind]);
        return EXIT_USAGE;
    }
    signal(SIGPIPE, SIG_IGN);
    /* Verdicts come first: on a loaded machine, events wait in the memory of the engine. systemd sets this by Nice=. */
    if (getpriority(PRIO_PROCESS, 0) == 0)
        setpriority(PRIO_PROCESS, 0, NICE);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    ship.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    config = read_config(&ship);
    if (!config)
        return EXIT_FAILED;
    code = open_socket(&ship, config);
    if (!code)
        code = drop_privileges(config);
    config_free(config);
    if (!code) {
        log_notice("ready");
        sd_notify(0, "READY=1");
        serve(&ship);
    }
    if (ship.socket_path)
        unlink(ship.socket_path);
    free(ship.socket_path);
    return code;
}
