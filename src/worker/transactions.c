/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the events of transactions and of their files, and frees transactions. */
#include "sluice/app.h"
#include "sluice/detect.h"
#include "sluice/file.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"

#include "pipeline_priv.h"

/* Writes the events of files that are complete and that rules have inspected completely; with `flow_ends`, of all
 * files. */
static void log_files(struct pipeline *pipeline, const struct packet *pkt, const struct flow *flow,
                      const struct app_tx *tx, enum flow_direction direction, bool flow_ends)
{
    for (struct file *file = tx->files[direction].first; file; file = file->next) {
        if (file->logged || file->byterange_file ||
            (!flow_ends && (file->state == FILE_OPEN || app_tx_needs_inspection(tx, direction))))
            continue;
        /* The transaction is another reading of a message. The file has its event in the first reading; another reading
         * writes one only if the file is to be stored. */
        if (tx->beside && !file->store_requested)
            continue;
        output_file(pipeline->output, pkt, flow, pipeline->app, tx, file, direction,
                    pipeline->ruleset ? ruleset_generation(pipeline->ruleset) : 0);
        file->logged = true;
    }
}

void transaction_log(struct pipeline *pipeline, const struct packet *pkt, const struct flow *flow, struct app_tx *tx,
                     bool flow_ends)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        log_files(pipeline, pkt, flow, tx, direction, flow_ends);
    if (tx->store_chains)
        output_chains(pipeline->output, pkt, flow, tx);
    if (!app_tx_needs_log(pipeline->app, tx, flow_ends))
        return;
    output_transaction(pipeline->output, pkt, flow, pipeline->app, tx,
                       pipeline->ruleset ? ruleset_generation(pipeline->ruleset) : 0);
    app_tx_set_logged(tx);
}

void transactions_tidy(struct pipeline *pipeline, const struct packet *pkt)
{
    struct app_tx *first;

    if (!pkt->flow || !pkt->flow->app || !(first = app_transaction_list(pkt->flow, APP_TX_CHANGED)))
        return;
    for (struct app_tx *tx = first; tx; tx = tx->link[APP_TX_CHANGED].next)
        transaction_log(pipeline, pkt, pkt->flow, tx, false);
    app_free_completed(pipeline->app, pkt->flow, detect_release_transaction, pipeline->detector);
}
