/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Failure policies: whether traffic passes (open) or is dropped (closed) when engines keep dying. Each cause has a
 * setting. Its value auto means that engine.failure-policy applies, and auto in engine.failure-policy means that
 * nft.bypass applies, which also decides what the kernel does when no daemon listens.
 */
#include "sluice/config.h"
#include "sluice/daemon.h"

static const struct {
    const char *name, *setting;
} failures[ENGINE_FAILURES] = {
    [ENGINE_FAILURE_CRASH] = { "crash", "engine.crash-policy" },
    [ENGINE_FAILURE_HANG] = { "hang", "engine.hang-policy" },
    [ENGINE_FAILURE_MEMORY] = { "memory", "engine.memory-policy" },
    [ENGINE_FAILURE_START] = { "start", "engine.start-policy" },
    [ENGINE_FAILURE_VIOLATION] = { "violation", "engine.violation-policy" },
};

const char *engine_failure_name(enum engine_failure failure)
{
    return failures[failure].name;
}

const char *engine_failure_setting(enum engine_failure failure)
{
    return failures[failure].setting;
}

bool engine_failure_opens(const struct config *config, enum engine_failure failure, bool bypass)
{
    struct daemon_options options;
    enum failure_policy policy;

    config_fill(config, daemon_settings, NULL, &options);
    policy = options.failure_policies[failure];
    if (policy == FAILURE_POLICY_AUTO)
        policy = options.failure_policy;
    return policy == FAILURE_POLICY_AUTO ? bypass : policy == FAILURE_POLICY_OPEN;
}
