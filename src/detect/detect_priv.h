/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private headers of the detect module, and an overview of its files.
 *
 *   ruleset_priv.h      signatures, groups, the ruleset
 *     ruleset.c           builds the ruleset: choice of literals, groups
 *     group.c             groups of rules by port; compile.c  compiles their databases in several threads
 *     databases.c         databases that matchers with the same patterns share
 *     cache.c             compiled databases on disk; cache_file.c  format of the files
 *     analysis.c          describes how a rule is compiled
 *     searches.c          numbers and describes the searches of the prefilters
 *     address_index.c     index of rules by address
 *     state_map.c         maps the signatures of the previous ruleset; transfer.c  detection state for another process
 *   literal.h           literals of rules
 *     literal.c           choice of a rule's literal; trim.c  pattern trimming
 *     precheck.c          conditions that follow a two-byte literal
 *   search.h            search of literals
 *     prefilter.c         searches the literals of a buffer and adds candidates
 *     matcher.c           Hyperscan databases; anchored.c  literals with a fixed offset
 *   transaction_priv.h  rules on transactions: transaction_groups.c, transaction.c
 *   frame.c             rules on frames
 *   signature.h         signatures: signature.c  compiles rules to signatures and sorts them
 *   detector_priv.h     the detector
 *     detect.c            inspection of a packet
 *     collect.c           candidates of a packet
 *     evaluate.c          evaluation of candidates; inspect.c  conditions on one buffer
 *   budget.h            costs of rules and searches: budget.c
 *   filter.h            firewall rules: filter.c
 *   candidates.h        the set of candidates of a scan
 *   pending.h           candidates that wait for more stream data
 */
#ifndef SLUICE_DETECT_PRIV_H
#define SLUICE_DETECT_PRIV_H

#include "detector_priv.h"
#include "literal.h"
#include "ruleset_priv.h"
#include "search.h"
#include "transaction_priv.h"

#endif
