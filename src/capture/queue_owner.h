/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that has bound a queue, for error messages.
 */
#ifndef SLUICE_QUEUE_OWNER_H
#define SLUICE_QUEUE_OWNER_H

#include <stdint.h>

enum { QUEUE_OWNER_SIZE = 96 };

/* Writes which process has the netlink port, for example "process 4711 (suricata)", or a less specific text: without
 * CAP_SYS_PTRACE the port id is assumed to be the process id. Reads /proc. */
void queue_owner_describe(uint32_t port_id, char out[QUEUE_OWNER_SIZE]);

#endif
