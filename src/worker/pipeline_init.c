/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocates and frees the modules of a pipeline, and changes its settings. */
#include <string.h>

#include "sluice/app.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/file_store.h"
#include "sluice/flow.h"
#include "sluice/host.h"
#include "sluice/host_os_table.h"
#include "sluice/inject.h"
#include "sluice/output.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/stream.h"
#include "sluice/replay_order.h"
#include "sluice/worker.h"

#include "pipeline_priv.h"
#include "rewrite.h"

int pipeline_shared_init(struct pipeline_shared *shared, const struct pipeline_options *options)
{
    int err;

    shared->app_options = options->app;
    shared->offload = options->offload;
    shared->overload = options->overload;
    memcpy(shared->exceptions, options->policy.exceptions, sizeof(shared->exceptions));
    err = policy_shared_new(&shared->policy, &options->policy);

    if (!err)
        err = host_table_new(&shared->hosts, options->host_memcap);
    if (!err)
        host_table_set_seed(shared->hosts, options->flow.seed);
    if (!err)
        err = app_shared_new(&shared->apps);
    return err;
}

void pipeline_shared_clear(struct pipeline_shared *shared)
{
    app_options_clear(&shared->app_options);
    transferred_counters_free(shared->counters);
    file_store_free(shared->files);
    app_shared_free(shared->apps);
    host_table_free(shared->hosts);
    policy_shared_free(shared->policy);
    memset(shared, 0, sizeof(*shared));
}

int pipeline_init(struct pipeline *pipeline, const struct pipeline_options *options,
                  const struct pipeline_shared *shared, unsigned worker, struct output_port *output)
{
    struct defrag_options defrag = options->defrag;
    struct stream_options stream = options->stream;
    struct app_options app = options->app;
    int err;

    memset(pipeline, 0, sizeof(*pipeline));
    pipeline->host_os = options->host_os;
    pipeline->file_store = shared->files;
    defrag.inline_mode = options->policy.inline_mode;
    defrag.host_os = host_os_table_policy(&pipeline->host_os);
    stream.host_os = defrag.host_os;
    app.files.spool = shared->files ? file_store_spool(shared->files, worker) : NULL;
    err = decoder_new(&pipeline->decoder, &options->decode);
    if (err)
        return err;
    err = defrag_new(&pipeline->defrag, &defrag);
    if (err)
        goto free_decoder;
    err = flow_table_new(&pipeline->flows, &options->flow, pipeline_end_flow, pipeline);
    if (err)
        goto free_defrag;
    err = stream_new(&pipeline->stream, &stream);
    if (err)
        goto free_flows;
    err = app_new(&pipeline->app, &app, shared->apps);
    if (err)
        goto free_stream;
    err = detector_new(&pipeline->detector, &options->detector);
    if (err)
        goto free_app;
    err = policy_new(&pipeline->policy, &options->policy, shared->policy);
    if (err)
        goto free_detector;
    err = rewriter_init(&pipeline->rewriter);
    if (err)
        goto free_policy;
    pipeline->hosts = shared->hosts;
    pipeline->inline_mode = options->policy.inline_mode;
    pipeline->mode = options->policy.mode;
    pipeline->stream_checksums = options->stream.checksum_validation;
    pipeline->stream_inline = options->stream.inline_mode;
    pipeline->kernel_checksums = options->kernel_checksums;
    pipeline->bypass_at_depth = options->bypass_at_depth;
    pipeline->offload = &shared->offload;
    pipeline->shed_limits = options->overload.limits;
    pipeline->output = output;
    pipeline->checksums = options->checksums;
    pipeline->checksum_sample = options->checksum_sample;
    pipeline->drop_undecodable = options->drop_undecodable;
    return 0;

free_policy:
    policy_free(pipeline->policy);
free_detector:
    detector_free(pipeline->detector);
free_app:
    app_free(pipeline->app);
free_stream:
    stream_free(pipeline->stream);
free_flows:
    flow_table_free(pipeline->flows);
free_defrag:
    defrag_free(pipeline->defrag);
free_decoder:
    decoder_free(pipeline->decoder);
    memset(pipeline, 0, sizeof(*pipeline));
    return err;
}

void pipeline_set_ruleset(struct pipeline *pipeline, const struct ruleset *ruleset)
{
    if (pipeline->ruleset == ruleset)
        return;
    pipeline->ruleset = ruleset;
    pipeline->filters = ruleset && pipeline->inline_mode && ruleset_has_firewall(ruleset);
    pipeline->hooks = (uint8_t)(ruleset ? ruleset_hooks(ruleset, pipeline->filters) : 0);
    app_set_needs(pipeline->app, ruleset ? ruleset_file_needs(ruleset) : 0);
    frames_configure(pipeline);
}

void pipeline_clear(struct pipeline *pipeline)
{
    injector_free(pipeline->injector);
    rewriter_clear(&pipeline->rewriter);
    policy_free(pipeline->policy);
    detector_free(pipeline->detector);
    app_free(pipeline->app);
    stream_free(pipeline->stream);
    flow_table_free(pipeline->flows);
    defrag_free(pipeline->defrag);
    decoder_free(pipeline->decoder);
    ended_flows_free(pipeline->ended);
    memset(pipeline, 0, sizeof(*pipeline));
}

void pipeline_set_mode(struct pipeline *pipeline, enum ips_mode mode)
{
    pipeline->mode = mode;
    policy_set_mode(pipeline->policy, mode);
}

void pipeline_set_replay_order(struct pipeline *pipeline, struct replay_order *order)
{
    pipeline->order = order;
    policy_set_replay_order(pipeline->policy, order);
    app_set_replay_order(pipeline->app, order);
}
