/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to setup: the rows of settings and the options that they fill. */
#ifndef SLUICE_SETUP_PRIV_H
#define SLUICE_SETUP_PRIV_H

#include "sluice/capture.h"
#include "sluice/policy.h"
#include "sluice/setup.h"

/* One dataset below `datasets`. */
struct dataset_options {
    bool has_type;
    enum dataset_type type;
    const char *load, *state;
    size_t memcap; /* 0: datasets.defaults.memcap */
};

enum queue_conntrack { QUEUE_CONNTRACK_AUTO, QUEUE_CONNTRACK_ALWAYS, QUEUE_CONNTRACK_NO };

/* queue.*, or for one queue with its entry below `queues`. */
struct queue_options {
    const char *numbers;
    struct nfqueue_options nfqueue;
    enum queue_conntrack conntrack;
    enum ips_mode ips_mode;
};

struct exception_options {
    enum exception_policy master;                    /* EXCEPTION_POLICY_COUNT: auto */
    enum exception_policy policies[EXCEPTION_COUNT]; /* EXCEPTION_POLICY_COUNT: auto, or not set */
};

#endif
