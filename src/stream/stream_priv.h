/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream, internal: the session, the current segment, and the functions that work on them.
 *
 * A session has two peers, numbered by the direction of what they send. All fields of a peer describe the data that it
 * sends: its sequence numbers, how many of them the other side has acknowledged, and how much the other side's window
 * allows it to send. So almost every check is written once, for "the sender" and "the receiver" of a segment; comments
 * mark the places where client and server differ, as in Suricata.
 *
 * A handler runs all checks of a segment before it changes the session, so that a rejected segment changes nothing.
 */
#ifndef SLUICE_STREAM_PRIV_H
#define SLUICE_STREAM_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assembly.h"
#include "sluice/pool.h"
#include "sluice/stream.h"
#include "sluice/stream_event.h"

#include "session.h"
#include "segment.h"
#include "states.h"

#endif
