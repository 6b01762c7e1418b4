/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles the databases of a ruleset. This takes most of the loading time, so one thread is started for each CPU that
 * the process may use.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "databases.h"
#include "detect_priv.h"

enum { MAX_THREADS = 64, ERROR_SIZE = 256 };

struct compile_work {
    struct prefilter **prefilters;
    unsigned count;
    struct database_list *databases;
    const struct diag *diag;
    pthread_t reporter; /* the thread that started the others; only it may use `diag` */
    atomic_uint next;
    atomic_int err;         /* first error of any thread; 0: none */
    char error[ERROR_SIZE]; /* written by the thread that set err */
};

static void *compile_prefilters(void *arg)
{
    struct compile_work *work = arg;

    for (;;) {
        unsigned i = atomic_fetch_add(&work->next, 1);
        char error[ERROR_SIZE];
        int no_error = 0, err;

        if (i >= work->count || atomic_load(&work->err))
            return NULL;
        err = prefilter_compile(work->prefilters[i], work->databases, error);
        if (err && atomic_compare_exchange_strong(&work->err, &no_error, err))
            memcpy(work->error, error, sizeof(error));
        if (pthread_equal(pthread_self(), work->reporter))
            diag_progress(work->diag, "compiling the rules", i + 1, work->count);
    }
}

static int add_work(void *user, const struct prefilter_use *use)
{
    struct compile_work *work = user;

    work->prefilters[work->count++] = use->prefilter;
    return 0;
}

static void run_threads(struct compile_work *work)
{
    pthread_t threads[MAX_THREADS];
    cpu_set_t allowed; /* more threads than CPUs of the process's affinity mask would only share CPUs */
    long cpus = sched_getaffinity(0, sizeof(allowed), &allowed) ? sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&allowed);
    unsigned started = 0;

    while (started + 1 < work->count && started + 1 < MAX_THREADS && (long)started + 1 < cpus &&
           pthread_create(&threads[started], NULL, compile_prefilters, work) == 0)
        started++;
    compile_prefilters(work);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

int ruleset_compile(struct ruleset *ruleset, const struct ruleset_options *options, struct diag *diag)
{
    struct compile_work work = { .diag = diag, .reporter = pthread_self() };
    const struct cache_options cache = {
        .path = options->cache_path,
        .max_age_seconds = options->cache_max_age_seconds,
        .max_bytes = options->cache_max_bytes,
    };
    struct cache *folder = NULL;
    int err;

    work.prefilters = calloc((TRAFFIC_COUNT + ruleset->group_count) * (size_t)GROUP_PREFILTERS + RULESET_MAX_BUFFERS +
                                 transaction_group_count() * (TRANSACTION_BUFFERS + 2) + frame_group_count(ruleset),
                             sizeof(*work.prefilters));
    if (!work.prefilters)
        return -ENOMEM;
    ruleset_visit_prefilters(ruleset, add_work, &work);

    err = cache.path ? cache_open(&folder, &cache) : 0;
    if (err)
        diag_warning(diag, (struct position){ .file = cache.path },
                     "cannot open the cache: %s; all databases are compiled", strerror(-err));
    err = database_list_new(&work.databases, folder);
    if (!err) {
        run_threads(&work);
        ruleset->databases = database_list_count(work.databases);
        database_list_free(work.databases);
    }
    if (folder) {
        cache_expire(folder);
        cache_report(folder, diag);
        cache_close(folder);
    }
    free(work.prefilters);
    if (err)
        return err;
    if (atomic_load(&work.err))
        diag_error(diag, (struct position){ 0 }, "%s", work.error);
    return atomic_load(&work.err);
}
