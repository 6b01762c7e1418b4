/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of modules as a daemon without a configuration file has them: the defaults of the rows of settings. */
#ifndef DEFAULT_OPTIONS_H
#define DEFAULT_OPTIONS_H

#include "sluice/capture.h"
#include "sluice/dataset.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/firewall.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/policy.h"
#include "sluice/stream.h"

void decode_options_default(struct decode_options *options);
void defrag_options_default(struct defrag_options *options); /* VLAN ids count, as by default (flow.vlan-tracking) */
void detector_options_default(struct detector_options *options);
void ruleset_options_default(struct ruleset_options *options);
void output_options_default(struct output_options *options); /* without rate limits, as in a replay */
void policy_options_default(struct policy_options *options);
void datasets_options_default(struct datasets_options *options); /* without a data folder */
struct datasets *datasets_new_default(const char *data_dir);
void flow_options_default(struct flow_options *options);
void overload_options_default(struct overload_options *options);
/* Inline, but retransmissions with other bytes are dropped, not rewritten, and urgent data is out of band. */
void stream_options_default(struct stream_options *options);
void nfqueue_options_default(struct nfqueue_options *options);
void firewall_options_default(struct firewall_options *options); /* with a sluice table, after the firewall */

#endif
