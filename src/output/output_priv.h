/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Includes all private headers of the output module. */
#ifndef OUTPUT_PRIV_H
#define OUTPUT_PRIV_H

#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sluice/app.h"
#include "sluice/output.h"
#include "sluice/stream.h"
#include "sluice/text.h"

#include "record.h"
#include "flow_record.h"
#include "collect.h"
#include "eve.h"
#include "sink.h"
#include "recent.h"

#endif
