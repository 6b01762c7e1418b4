/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records which worker crashed. A signal such as SIGSEGV is delivered to the thread that caused it. If the thread is a
 * worker, its current packet may be the cause, and the supervisor must know which worker crashed. So the signal handler
 * writes the worker's index to the engine's memory, which outlives the engine, and then lets the signal kill the
 * process.
 *
 * The handler identifies its worker by the signal stack: each worker has a separate one, which starts with a struct
 * that names the worker. Other threads have no signal stack or one without that struct (sanitizers install theirs).
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "sluice/supervisor_channel.h"
#include "sluice/worker.h"

enum { STACK_SIZE = 64 * 1024 };
#define MAGIC UINT64_C(0x736c756963655f31)

struct crash_stack {
    uint64_t magic;
    struct engine_memory *memory;
    unsigned worker;
    /* Signal stack that the thread had before, restored when the worker ends: sanitizers free their stacks. */
    stack_t before;
    _Alignas(64) uint8_t bytes[STACK_SIZE];
};

static void record_crash(int number, siginfo_t *info, void *context)
{
    const stack_t *stack = &((const ucontext_t *)context)->uc_stack;
    const struct crash_stack *own = stack->ss_sp;

    (void)info;
    if (own && !(stack->ss_flags & SS_DISABLE) && stack->ss_size == sizeof(*own) && own->magic == MAGIC)
        atomic_store(&own->memory->crashed_worker, (int32_t)own->worker);
    raise(number); /* SA_RESETHAND has restored the default action, so the signal kills the process */
}

int crash_report_start(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP };
    struct sigaction action = { .sa_sigaction = record_crash,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER };

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (sigaction(signals[i], &action, NULL))
            return -errno;
    }
    return 0;
}

/* Installs the signal stack of a worker. The stack grows down, so the struct at its lower end stays intact unless the
 * handler needs the whole stack. Returns 0 with *stack, or -errno. */
int crash_report_add_worker(struct engine_memory *memory, unsigned worker, void **stack)
{
    struct crash_stack *own = aligned_alloc(64, sizeof(*own));
    stack_t wanted = { .ss_sp = own, .ss_size = sizeof(*own) };

    if (!own)
        return -ENOMEM;
    *own = (struct crash_stack){ .magic = MAGIC, .memory = memory, .worker = worker };
    if (sigaltstack(&wanted, &own->before)) {
        int err = -errno;

        free(own);
        return err;
    }
    *stack = own;
    return 0;
}

void crash_report_remove_worker(void *stack)
{
    struct crash_stack *own = stack;

    if (own && sigaltstack(&own->before, NULL) == 0)
        free(own);
}
