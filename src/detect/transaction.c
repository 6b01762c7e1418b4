/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluation of transaction rules. A transaction is scanned whenever its direction has progressed or a buffer of it has
 * grown. Each buffer is scanned once, when it is complete; of a growing buffer, only new bytes are scanned. The
 * candidates are evaluated. Those that cannot be decided yet are stored with the transaction, together with the buffers
 * that matched, and evaluated again when the transaction progresses.
 *
 * The state of a transaction is limited in size. If it is full or memory is exhausted, all buffers are scanned again
 * each time: this is slower and may cause duplicate alerts, but misses no match.
 */
#include <string.h>

#include "detect_priv.h"
#include "inspect.h"
#include "sluice/transform.h"

struct transaction_scan {
    struct evaluation *ev;
    struct app_tx *tx;
    enum flow_direction direction;
    const struct transaction_group *group;
    struct app_bytes grown; /* value of the growing buffer that was scanned last */
    struct app_detection
        *state;            /* detection state of the transaction, or detector.transaction_state if none is stored */
    bool complete;         /* the direction is complete: no more data follows */
    unsigned first_file;   /* files before this one are already evaluated for the current rule */
    unsigned matched_file; /* if the conditions on files hold: the first file that meets them */
};

/* Returns whether a direction of the transaction is complete; a transactional rule inspects both directions. */
static bool is_complete(const struct transaction_scan *scan, enum flow_direction direction)
{
    return direction == scan->direction ? scan->complete : app_tx_is_complete(scan->tx, direction);
}

/* Returns the direction that a buffer or condition of the rule inspects. `directions`: bits of the buffer or condition;
 * 0: the direction of the scan. */
static enum flow_direction direction_of(const struct transaction_scan *scan, uint8_t directions)
{
    if (directions == 0)
        return scan->direction;
    return directions >> FLOW_TO_SERVER & 1 ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
}

static bool has_reached(const struct transaction_scan *scan, const struct app_buffer *access,
                        enum flow_direction direction)
{
    return scan->tx->progress[direction] >= access->progress || is_complete(scan, direction);
}

/* --- Buffers -------------------------------------------------------------------------------------- */

static bool is_of_files(const struct keyword *keyword)
{
    return keyword == &keyword_file_data || keyword == &keyword_file_name || keyword == &keyword_file_magic;
}

/* Gets value `index` of a buffer in *out, after the transforms. Returns false if the value does not exist (yet), with
 * out->bytes NULL, or if a transform has no memory, with out->bytes not NULL. The result is valid until the next call,
 * which reuses the transforms' memory. */
static inline bool next_value(const struct transaction_scan *scan, const struct app_buffer *access,
                              enum flow_direction direction, const struct condition *transforms, unsigned index,
                              struct app_bytes *out)
{
    *out = (struct app_bytes){ .bytes = NULL };
    if (index > 0 && (!(access->keyword->flags & KEYWORD_MULTI) || index >= TRANSACTION_VALUES))
        return false;
    transform_scratch_reset(scan->ev->detector->transforms);
    if (!access->get(scan->tx, (struct app_selector){ direction, index, access->part }, out))
        out->bytes = NULL;
    if (!out->bytes || !transforms)
        return out->bytes != NULL;

    enum transform_result result =
        transforms_apply(scan->ev->detector->transforms, transforms, &out->bytes, &out->length);

    if (result == TRANSFORM_ABSENT)
        out->bytes = NULL;
    return result == TRANSFORM_DONE;
}

/* Stores in `candidate` a required content that does not occur in the buffer: until bytes with this content arrive, the
 * conditions fail regardless of the rest of the buffer. */
static void note_absent(struct transaction_candidate *candidate, const struct inspection *inspection,
                        const struct condition *conditions, unsigned at, uint64_t offset)
{
    unsigned number = 1;

    for (const struct condition *c = conditions; c && number <= UINT8_MAX; c = c->next, number++) {
        if (!inspect_is_absent(inspection, c))
            continue;
        candidate->absent_condition = (uint8_t)number;
        candidate->absent_buffer = (uint8_t)at;
        candidate->absent_to = offset + (inspection->length - condition_content(c)->length + 1);
        return;
    }
}

/* Returns whether the content that note_absent() has stored does not occur in the new bytes of the buffer either.
 * Without this check, a rule whose literal is at the start of a body is evaluated on the whole body for each segment,
 * which took 5 % of the instructions of HTTP traffic (W6). */
static bool is_still_absent(struct transaction_candidate *candidate, const struct condition *conditions, unsigned at,
                            const struct app_bytes *value)
{
    const struct condition *c = conditions;
    const struct content *content;
    uint32_t from;

    if (candidate->absent_condition == 0 || candidate->absent_buffer != at)
        return false;
    for (unsigned number = 1; number < candidate->absent_condition; number++)
        c = c->next;
    content = condition_content(c);
    from = candidate->absent_to > value->offset ? (uint32_t)(candidate->absent_to - value->offset) : 0;
    if (from > value->length || value->length - from < content->length)
        return true;
    if (content_occurs(content, value->bytes + from, value->length - from)) {
        candidate->absent_condition = 0;
        return false;
    }
    candidate->absent_to = value->offset + (value->length - content->length + 1);
    return true;
}

/* Inspects buffer number `at` of the rule. */
static enum outcome inspect_transaction_buffer(struct transaction_scan *scan, struct inspection *inspection,
                                               const struct rule_buffer *buffer, const struct app_buffer *access,
                                               struct transaction_candidate *candidate, unsigned at)
{
    bool may_grow = access->grows && !buffer->transforms && buffer->absence == BUFFER_PRESENT && at <= UINT8_MAX;
    enum flow_direction direction = direction_of(scan, buffer->directions);
    bool complete = is_complete(scan, direction), partial = false;
    unsigned first = scan->first_file;
    unsigned index;
    struct app_bytes value;

    if (!has_reached(scan, access, direction))
        return OUTCOME_LATER;
    if (first > 0 && (!is_of_files(access->keyword) || direction != scan->direction))
        first = 0;
    for (index = first; next_value(scan, access, direction, buffer->transforms, index, &value); index++) {
        inspection->data = value.bytes;
        inspection->length = value.length;
        inspection->start_is_cut = value.offset > 0;
        inspection->end_is_cut = value.partial;
        inspection->little = value.little;
        inspection->steps_left = INSPECT_STEPS;
        partial |= value.partial;
        if (index == 0 && may_grow && is_still_absent(candidate, buffer->conditions, at, &value))
            continue;
        if (buffer->absence != BUFFER_ABSENT && inspect_buffer(inspection, buffer->conditions))
            return OUTCOME_YES;
        if (index == 0 && may_grow && !complete)
            note_absent(candidate, inspection, buffer->conditions, at, value.offset);
    }
    /* If a transform had no memory, the buffer exists, but its result is unknown. */
    if (value.bytes) {
        if (inspection_record_limit(inspection, INSPECT_LIMIT_TRANSFORM))
            return OUTCOME_YES;
        return access->grows && !complete ? OUTCOME_LATER : OUTCOME_NO;
    }
    if (buffer->absence != BUFFER_PRESENT && index == first)
        return access->grows && !complete ? OUTCOME_LATER : OUTCOME_YES;
    if (buffer->absence == BUFFER_ABSENT)
        return OUTCOME_NO;
    return access->grows && (partial || !complete) ? OUTCOME_LATER : OUTCOME_NO;
}

/* Returns true for a buffer or condition that a half plan omits, because it inspects the other direction only. */
static bool is_excluded(const struct transaction_plan *plan, uint8_t directions)
{
    return plan->half && !(directions >> plan->direction & 1);
}

/* Inspects the buffers of a rule. Buffers outside of the transaction are inspected in a second round (`late`), because
 * such a buffer may be the stream's inspection window, which takes longer than all other buffers. If the rule passes
 * values or texts from one buffer to another, their order matters, so all are inspected in the first round. */
static enum outcome inspect_round(struct transaction_scan *scan, struct inspection *inspection,
                                  const struct signature *signature, const struct transaction_plan *plan,
                                  struct transaction_candidate *candidate, bool late)
{
    const bool in_order = signature->rule->extracts_values || signature->rule->captures_text;
    enum outcome all = OUTCOME_YES;
    unsigned at = 0;

    for (const struct rule_buffer *buffer = signature->buffers; buffer; buffer = buffer->next, at++) {
        const struct app_buffer *access = plan->access[at];
        enum outcome result;

        if ((!access && !in_order) != late || is_excluded(plan, buffer->directions))
            continue;
        /* A buffer that has matched before is not inspected again, with one exception: if the rule captures text, which
         * is not stored with the candidate, buffers of the transaction that do not grow are inspected again. */
        if (at < 32 && candidate->matched >> at & 1 && (!signature->rule->captures_text || !access || access->grows))
            continue;
        inspection->steps_left = INSPECT_STEPS;
        inspection->little = false;
        if (access)
            result = inspect_transaction_buffer(scan, inspection, buffer, access, candidate, at);
        else if (buffer->keyword)
            result = evaluate_packet_buffer(scan->ev, inspection, buffer) ? OUTCOME_YES : OUTCOME_NO;
        else
            result =
                evaluate_payload(scan->ev, signature, inspection, buffer->conditions) ? OUTCOME_YES : OUTCOME_LATER;
        if (result == OUTCOME_NO)
            return OUTCOME_NO;
        if (result == OUTCOME_LATER)
            all = OUTCOME_LATER;
        else if (at < 32)
            candidate->matched |= UINT32_C(1) << at;
    }
    return all;
}

/* --- Conditions ----------------------------------------------------------------------------------- */

static bool match_condition(struct transaction_scan *scan, const struct condition *c, enum flow_direction direction)
{
    struct match_input *in = &scan->ev->match;
    bool match;

    match_enter_transaction(in, scan->tx, direction);
    match = c->keyword->transaction.match(in, c->data) != c->negated;
    in->transaction = NULL;
    return match;
}

static enum outcome match_conditions(struct transaction_scan *scan, const struct signature *signature,
                                     const struct transaction_plan *plan)
{
    enum outcome all = OUTCOME_YES;
    unsigned at = 0;

    for (const struct condition *c = signature->rule->transaction_conditions; c; c = c->next, at++) {
        enum flow_direction direction = direction_of(scan, c->directions);
        bool complete = is_complete(scan, direction);

        if (is_excluded(plan, c->directions))
            continue;
        if (scan->tx->progress[direction] < plan->condition_progress[at] && !complete) {
            all = OUTCOME_LATER;
            continue;
        }
        if (match_condition(scan, c, direction))
            continue;
        if ((c->keyword->scope.applications && !(c->keyword->flags & KEYWORD_GROWS)) || complete ||
            c->keyword->flags & KEYWORD_AT_HOOK || (c->keyword->transaction.is_state && signature->rule->firewall))
            return OUTCOME_NO;
        all = OUTCOME_LATER; /* the value may still arrive, or the event or bit may still be set */
    }
    return all;
}

static enum outcome match_file(struct transaction_scan *scan, const struct signature *signature,
                               const struct file *file, enum flow_direction direction)
{
    enum outcome all = OUTCOME_YES;

    for (const struct condition *c = signature->rule->file_conditions; c; c = c->next) {
        enum file_match match;

        if (direction_of(scan, c->directions) != direction)
            continue;
        match = c->keyword->file.match(file, c->data);
        if (match == FILE_MATCH_LATER)
            all = OUTCOME_LATER;
        else if ((match == FILE_MATCH_YES) == c->negated)
            return OUTCOME_NO;
    }
    return all;
}

static bool has_file_conditions(const struct transaction_scan *scan, const struct signature *signature,
                                enum flow_direction direction)
{
    for (const struct condition *c = signature->rule->file_conditions; c; c = c->next) {
        if (direction_of(scan, c->directions) == direction)
            return true;
    }
    return false;
}

/* Evaluates the conditions on files: in each direction that has some, one file must meet all of them. */
static enum outcome match_files(struct transaction_scan *scan, const struct signature *signature,
                                const struct transaction_plan *plan, struct transaction_candidate *candidate)
{
    enum outcome all = OUTCOME_YES;

    if (!plan->files)
        return OUTCOME_YES;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        bool held = direction == FLOW_TO_SERVER && signature->transactional && candidate->files_hold;
        enum outcome found = is_complete(scan, direction) ? OUTCOME_NO : OUTCOME_LATER;
        unsigned at = 0;

        if (held || is_excluded(plan, (uint8_t)(1U << direction)) || !has_file_conditions(scan, signature, direction))
            continue;
        for (const struct file *file = scan->tx->files[direction].first; file && found != OUTCOME_YES;
             file = file->next, at++) {
            enum outcome result;

            if (at < scan->first_file && direction == scan->direction)
                continue;
            result = match_file(scan, signature, file, direction);
            if (result != OUTCOME_NO)
                found = result;
            if (direction == scan->direction)
                scan->matched_file = at;
        }
        if (found == OUTCOME_NO)
            return OUTCOME_NO;
        if (found == OUTCOME_LATER)
            all = OUTCOME_LATER;
        else if (direction == FLOW_TO_SERVER)
            candidate->files_hold = signature->transactional;
    }
    return all;
}

static enum outcome evaluate(struct transaction_scan *scan, const struct transaction_plan *plan,
                             struct transaction_candidate *candidate)
{
    struct evaluation *ev = scan->ev;
    const struct signature *signature = &ev->ruleset->signatures[candidate->signature];
    enum outcome conditions, files, buffers, late;
    struct inspection inspection;

    ev->match.in_stream = false;
    ev->detector->captured.count = 0;
    if (plan->sub_state != 0 && plan->sub_state != scan->tx->sub_state)
        return OUTCOME_NO;
    if (!evaluate_header(ev, signature) || (!plan->half && !evaluate_packet_conditions(ev, signature)))
        return OUTCOME_NO;
    ev->detector->counters.evaluations++;
    if (scan->tx->progress[scan->direction] < plan->hook_progress && !scan->complete)
        return OUTCOME_LATER;
    conditions = match_conditions(scan, signature, plan);
    if (conditions == OUTCOME_NO)
        return OUTCOME_NO;
    files = match_files(scan, signature, plan, candidate);
    if (files == OUTCOME_NO)
        return OUTCOME_NO;
    evaluate_begin_limits(ev->detector, signature->rule);
    inspection_init(&inspection, ev);
    ev->match.transaction = scan->tx;
    ev->match.direction = scan->direction;
    buffers = inspect_round(scan, &inspection, signature, plan, candidate, false);
    if (buffers != OUTCOME_NO && plan->packet_buffers) {
        late = inspect_round(scan, &inspection, signature, plan, candidate, true);
        if (buffers == OUTCOME_YES || late == OUTCOME_NO)
            buffers = late;
    }
    ev->match.transaction = NULL;
    evaluate_end_limits(ev->detector, signature->rule);
    if (buffers == OUTCOME_NO)
        return OUTCOME_NO;
    return conditions == OUTCOME_LATER || files == OUTCOME_LATER || buffers == OUTCOME_LATER ? OUTCOME_LATER
                                                                                             : OUTCOME_YES;
}

enum outcome transaction_match(struct evaluation *ev, struct app_tx *tx, uint32_t index)
{
    struct transaction_candidate candidate = { .signature = index };
    struct transaction_scan scan = {
        .ev = ev,
        .tx = tx,
        .direction = ev->direction,
        .state = &ev->detector->transaction_state,
        .complete = app_tx_is_complete(tx, ev->direction),
    };
    const struct transaction_plan *plan = ev->ruleset->signatures[index].plans;

    while (plan && (plan->direction != scan.direction || plan->proto != tx->protocol))
        plan = plan->next;
    return plan ? evaluate(&scan, plan, &candidate) : OUTCOME_NO;
}

/* --- Candidates ----------------------------------------------------------------------------------- */

/* Scans the new bytes of a growing buffer, and literals that begin before them. */
static void scan_growing(struct transaction_scan *scan, uint32_t buffer, unsigned index, const struct app_bytes *value)
{
    const struct transaction_buffer *scanned = &scan->group->buffers[buffer];
    struct detector *detector = scan->ev->detector;
    struct app_detection *state = scan->state;
    const struct app_bytes *grown = &scan->grown;
    struct transaction_grown *position = NULL;
    uint64_t done = 0;
    uint32_t before, from;

    if (scanned->transforms) { /* new bytes may change the whole result of the transforms, so all of it is scanned */
        prefilter_scan(scanned->prefilter, detector, value->bytes, value->length, 0);
        return;
    }
    for (uint32_t i = 0; i < state->grown_count && !position; i++) {
        if (state->grown[i].buffer == buffer && state->grown[i].index == index)
            position = &state->grown[i];
    }
    if (!position && state->grown_count < TRANSACTION_POSITIONS) {
        position = &state->grown[state->grown_count++];
        *position = (struct transaction_grown){ .buffer = (uint8_t)buffer, .index = (uint16_t)index };
    }
    if (position && position->to > value->offset)
        done = position->to - value->offset;
    if (done > 0 && done >= value->length)
        return;
    if (position)
        position->to = value->offset + value->length;
    if (value->bytes == grown->bytes && value->length == grown->length && value->offset == grown->offset)
        return; /* scanned already: this buffer has the same bytes as the previous one */
    scan->grown = *value;
    before = done < LITERAL_MAX ? (uint32_t)done : LITERAL_MAX;
    from = (uint32_t)done - before;
    prefilter_scan_grown(scanned->prefilter, detector, value->bytes + from, value->length - from, before,
                         value->offset + from);
}

static void scan_buffer(struct transaction_scan *scan, uint32_t at)
{
    const struct transaction_buffer *buffer = &scan->group->buffers[at];
    struct app_detection *state = scan->state;
    struct app_bytes value;

    if (!has_reached(scan, buffer->access, buffer->direction))
        return;
    for (unsigned index = 0; next_value(scan, buffer->access, buffer->direction, buffer->transforms, index, &value);
         index++) {
        if (buffer->access->grows)
            scan_growing(scan, at, index, &value);
        else
            prefilter_scan(buffer->prefilter, scan->ev->detector, value.bytes, value.length, 0);
    }
    for (uint32_t i = 0; value.bytes && i < buffer->signatures.count; i++) /* a transform had no memory */
        candidates_add(&scan->ev->detector->candidates, buffer->signatures.index[i]);
    if (!buffer->access->grows && !state->rescan)
        state->scanned[at / 64] |= UINT64_C(1) << (at % 64);
}

static uint16_t file_count(const struct transaction_scan *scan)
{
    uint32_t count = scan->tx->files[scan->direction].count;

    return count < UINT16_MAX ? (uint16_t)count : UINT16_MAX;
}

/* Returns whether the rule has conditions on files and there is a file for which it was not evaluated. */
static bool has_new_file(const struct transaction_scan *scan, const struct transaction_candidate *candidate)
{
    return file_count(scan) > candidate->files &&
           has_file_conditions(scan, &scan->ev->ruleset->signatures[candidate->signature], scan->direction);
}

static struct transaction_candidate *find_candidate(struct app_detection *state, uint32_t signature)
{
    for (struct app_detection *block = state; block; block = block->more) {
        for (uint32_t i = 0; i < block->count; i++) {
            if (block->list[i].signature == signature)
                return &block->list[i];
        }
    }
    return NULL;
}

static void collect_candidates(struct transaction_scan *scan)
{
    const struct transaction_group *group = scan->group;
    struct detector *detector = scan->ev->detector;
    struct app_detection *state = scan->state;
    uint8_t progress = scan->tx->progress[scan->direction];
    uint32_t count = group->unfiltered_always;
    uint64_t events = 0;

    if (state->rescan)
        memset(state->scanned, 0, sizeof(state->scanned));
    for (uint32_t first = 0; first < group->buffer_count; first += 64) {
        uint32_t rest = group->buffer_count - first;
        uint64_t left = (rest < 64 ? (UINT64_C(1) << rest) - 1 : UINT64_MAX) & ~state->scanned[first / 64];

        for (; left != 0; left &= left - 1)
            scan_buffer(scan, first + (uint32_t)__builtin_ctzll(left));
    }

    /* Add rules without a literal. Most transactions have no event; for these, skip the rules that require one. */
    for (unsigned i = 0; i < APP_EVENT_WORDS; i++)
        events |= scan->tx->events[i];
    if (events != 0)
        count = group->unfiltered_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct transaction_unfiltered *rule = &group->unfiltered[i];

        if (progress < rule->progress && !scan->complete)
            continue;
        if (rule->always || state->rescan || !state->was_scanned || rule->progress > state->progress)
            candidates_add(&detector->candidates, rule->signature);
    }

    /* Add the rules whose literal was found in the payload, or, if the list of these is full, all of group.by_payload.
     */
    for (uint32_t i = 0; i < detector->payload_seen_count; i++)
        candidates_add(&detector->candidates, detector->payload_seen[i]);
    for (uint32_t i = 0; i < group->by_payload.count && detector->payload_seen_more; i++)
        candidates_add(&detector->candidates, group->by_payload.index[i]);

    /* Add stored candidates that are undecided or must be evaluated for a new file. */
    for (const struct app_detection *block = state; block; block = block->more) {
        for (uint32_t i = 0; i < block->count; i++) {
            if (!block->list[i].done || has_new_file(scan, &block->list[i]))
                candidates_add(&detector->candidates, block->list[i].signature);
        }
    }
}

/* Removes a candidate and moves the last one of the list to its place. */
static void remove_candidate(struct app_detection *state, struct transaction_candidate *candidate)
{
    while (state->more && state->more->count > 0)
        state = state->more;
    *candidate = state->list[--state->count];
}

static void free_blocks(struct detector *detector, struct app_detection *block)
{
    while (block) {
        struct app_detection *next = block->more;

        pool_release(detector->transactions, block);
        block = next;
    }
}

/* Returns a block with space for one more candidate, allocated if necessary; NULL if memory or TRANSACTION_BLOCKS are
 * exhausted. */
static struct app_detection *get_block_with_space(struct detector *detector, struct app_detection *block)
{
    for (unsigned i = 1; block->count == TRANSACTION_CANDIDATES; i++) {
        if (!block->more && i < TRANSACTION_BLOCKS) {
            block->more = pool_alloc(detector->transactions);
            if (block->more)
                memset(block->more, 0, offsetof(struct app_detection, list));
        }
        if (!block->more)
            return NULL;
        block = block->more;
    }
    return block;
}

/* After a reload, all data of the transaction that still exists is scanned for the new ruleset. Candidates of rules
 * that are in both rulesets are kept, so that a rule that has matched does not match again. */
void transaction_state_update(struct detector *detector, const struct ruleset *ruleset, struct app_detection *state)
{
    if (!state || state->generation == ruleset->generation)
        return;
    if (!state_map_covers(ruleset, state->generation)) {
        free_blocks(detector, state->more);
        state->more = NULL;
        state->count = 0;
    }
    for (struct app_detection *block = state; block; block = block->more) {
        for (uint32_t i = 0; i < block->count;) {
            uint32_t signature = state_map_signature(ruleset, block->list[i].signature);

            if (signature == SIGNATURE_NONE)
                remove_candidate(state, &block->list[i]);
            else
                block->list[i++].signature = signature;
        }
        for (uint32_t i = 0; i < block->count; i++)
            block->list[i].absent_condition = 0;
    }
    state->generation = ruleset->generation;
    state->grown_count = 0;
    state->progress = 0;
    state->was_scanned = state->rescan = false;
    memset(state->scanned, 0, sizeof(state->scanned));
}

static struct app_detection *alloc_state(struct detector *detector, const struct ruleset *ruleset)
{
    struct app_detection *state = pool_alloc(detector->transactions);

    if (state) {
        memset(state, 0, offsetof(struct app_detection, list));
        state->generation = ruleset->generation;
    }
    return state;
}

void transaction_add_candidate(struct detector *detector, const struct ruleset *ruleset, struct app_detection **slot,
                               const struct transaction_candidate *candidate)
{
    struct app_detection *block = *slot ? *slot : (*slot = alloc_state(detector, ruleset));

    if (block)
        block = get_block_with_space(detector, block);
    if (block)
        block->list[block->count++] = *candidate;
}

/* Returns the detection state of the opposite direction, allocated if necessary, or NULL if memory is exhausted. */
static struct app_detection *get_opposite_state(struct transaction_scan *scan)
{
    struct app_detection **slot = &scan->tx->detection[!scan->direction];

    if (*slot)
        transaction_state_update(scan->ev->detector, scan->ev->ruleset, *slot);
    else
        *slot = alloc_state(scan->ev->detector, scan->ev->ruleset);
    return *slot;
}

/* Stores a match of the half plan of a transactional rule as a candidate in the direction to the client. If memory is
 * exhausted, the rule can still match there with the data of the direction to the server that still exists. */
static void store_half_match(struct transaction_scan *scan, const struct transaction_candidate *half)
{
    struct app_detection *state = get_opposite_state(scan);
    struct transaction_candidate *candidate = state ? find_candidate(state, half->signature) : NULL;

    if (state && !candidate)
        state = get_block_with_space(scan->ev->detector, state);
    if (state && !candidate) {
        candidate = &state->list[state->count++];
        *candidate = (struct transaction_candidate){ .signature = half->signature };
    }
    if (!candidate) {
        scan->ev->detector->counters.flow_memcap_hits++;
        return;
    }
    candidate->matched |= half->matched;
    candidate->files_hold |= half->files_hold;
}

/* Returns whether the rule's conditions on events held when the direction completed, evaluated with the events that
 * were set then. */
static bool held_at_completion(struct transaction_scan *scan, const struct signature *signature)
{
    struct app_tx *tx = scan->tx;
    uint64_t now[APP_EVENT_WORDS];
    bool held = true;

    memcpy(now, tx->events, sizeof(now));
    memcpy(tx->events, tx->settled_events[scan->direction], sizeof(now));
    for (const struct condition *c = signature->rule->transaction_conditions; c && held; c = c->next) {
        if (!c->keyword->scope.applications)
            held = match_condition(scan, c, scan->direction);
    }
    memcpy(tx->events, now, sizeof(now));
    return held;
}

/* Evaluates a candidate. Until the direction is complete, stores the candidate if it is undecided, or if it has
 * matched, so that it does not match again. */
static void decide_candidate(struct transaction_scan *scan, uint32_t index)
{
    struct detector *detector = scan->ev->detector;
    struct transaction_candidate *stored = find_candidate(scan->state, index);
    struct transaction_candidate candidate = stored ? *stored : (struct transaction_candidate){ .signature = index };
    const struct signature *signature = &scan->ev->ruleset->signatures[index];
    const struct transaction_plan *plan = signature->plans;
    enum outcome outcome;

    while (plan && (plan->direction != scan->direction || plan->proto != scan->tx->protocol))
        plan = plan->next;
    if (candidate.done && !has_new_file(scan, &candidate))
        return;
    if (!stored && !plan)
        return;
    /* A completed direction is evaluated again only for new events: everything else was decided when it completed. */
    if (!stored && scan->tx->settled[scan->direction] && (!plan->events || held_at_completion(scan, signature)))
        return;
    if (candidate.done) {
        /* Evaluate only the conditions on files, for a new file: the conditions on the transaction held before and
         * still hold. */
        unsigned at = 0;

        candidate.done = false;
        candidate.files_hold &= scan->direction != FLOW_TO_SERVER;
        for (const struct rule_buffer *buffer = signature->buffers; buffer && at < 32; buffer = buffer->next, at++) {
            if (is_of_files(buffer->keyword) && direction_of(scan, buffer->directions) == scan->direction)
                candidate.matched &= ~(UINT32_C(1) << at);
        }
    }
    scan->first_file = candidate.files;
    scan->matched_file = 0;
    outcome = plan ? evaluate(scan, plan, &candidate) : OUTCOME_NO;
    if (outcome == OUTCOME_YES && plan->half)
        store_half_match(scan, &candidate);
    else if (outcome == OUTCOME_YES)
        evaluate_transaction_hit(scan->ev, index, scan->tx);
    if (outcome == OUTCOME_YES && plan->events && app_tx_is_complete(scan->tx, !scan->direction)) {
        /* An event belongs to both directions of the transaction. Mark the rule as matched in the opposite direction,
         * so that it does not match again there. */
        struct app_detection *opposite = get_opposite_state(scan);

        if (opposite)
            opposite = get_block_with_space(detector, opposite);
        if (opposite)
            opposite->list[opposite->count++] = (struct transaction_candidate){ .signature = index, .done = true };
    }
    candidate.done = outcome == OUTCOME_YES || (outcome == OUTCOME_NO && candidate.files > 0);
    if (candidate.done) /* files behind the matching one may still be incomplete, so they are evaluated later */
        candidate.files = outcome == OUTCOME_YES && scan->matched_file < UINT16_MAX ? (uint16_t)(scan->matched_file + 1)
                                                                                    : file_count(scan);
    if (scan->complete || (outcome == OUTCOME_NO && !candidate.done)) {
        if (stored)
            remove_candidate(scan->state, stored);
    } else if (stored) {
        *stored = candidate;
    } else {
        struct app_detection *block = get_block_with_space(detector, scan->state);

        if (block) {
            block->list[block->count++] = candidate;
            detector->counters.waiting++;
        } else {
            scan->state->rescan = true;
            detector->counters.flow_memcap_hits++;
        }
    }
}

/* --- Transaction scan ----------------------------------------------------------------------------- */

/* Calls decide_candidate() for all candidates and adds the time of each one to the cost of its rule. */
static __attribute__((noinline, cold)) void decide_timed(struct transaction_scan *scan)
{
    struct detector *detector = scan->ev->detector;
    const struct ruleset *ruleset = scan->ev->ruleset;

    budget_start(detector->budget);
    for (uint32_t i = 0; i < detector->candidates.count; i++) {
        const struct rule *rule = ruleset->signatures[detector->candidates.list[i]].rule;

        if (!budget_allows(detector->budget, rule))
            continue;
        decide_candidate(scan, detector->candidates.list[i]);
        budget_book(detector, ruleset_rules(ruleset), rule);
    }
}

static void scan_transaction(struct evaluation *ev, struct app_tx *tx, const struct transaction_group *group)
{
    struct detector *detector = ev->detector;
    struct app_detection *temporary = &detector->transaction_state, **stored = &tx->detection[ev->direction];
    struct transaction_scan scan = {
        .ev = ev,
        .tx = tx,
        .direction = ev->direction,
        .group = group,
        .state = *stored ? *stored : temporary,
        .complete = app_tx_is_complete(tx, ev->direction),
    };

    if (*stored) {
        transaction_state_update(detector, ev->ruleset, *stored);
    } else {
        memset(temporary, 0, offsetof(struct app_detection, list));
        temporary->generation = ev->ruleset->generation;
    }
    scan.state->rescan |= tx->settled[ev->direction];
    candidates_clear(&detector->candidates);
    collect_candidates(&scan);
    detector->counters.candidates += detector->candidates.count;
    evaluate_sort(detector);
    evaluate_prefetch(ev);
    if (detector->budget)
        decide_timed(&scan);
    else
        for (uint32_t i = 0; i < detector->candidates.count; i++)
            decide_candidate(&scan, detector->candidates.list[i]);

    scan.state->was_scanned = true;
    scan.state->progress = tx->progress[ev->direction];
    if (scan.state != temporary)
        return;
    /* Store the temporary state, unless the direction is complete. If the evaluation of a rule has stored another state
     * meanwhile, the temporary state overwrites it. */
    if (!scan.complete && !*stored) {
        *stored = pool_alloc(detector->transactions);
        if (*stored)
            (*stored)->more = NULL;
        else
            detector->counters.flow_memcap_hits++;
    }
    if (scan.complete || !*stored)
        free_blocks(detector, temporary->more);
    else
        memcpy(*stored, temporary, sizeof(*temporary));
}

/* Returns the bytes by which the group's first growing buffer has grown since its last scan; the result is empty if
 * there are none. Sets *before to the number of bytes of the buffer that precede them in memory. */
static struct app_bytes get_new_bytes(const struct evaluation *ev, const struct app_tx *tx,
                                      const struct transaction_group *group, uint32_t *before)
{
    const struct app_detection *state = tx->detection[ev->direction];
    const struct transaction_buffer *merged = &group->buffers[group->merged_buffer];
    const struct app_selector which = { merged->direction, 0, merged->access->part };
    struct app_bytes value = { .bytes = NULL };

    *before = 0;
    if (tx->progress[merged->direction] < merged->access->progress || !merged->access->get(tx, which, &value))
        return (struct app_bytes){ .length = 0 };
    for (uint32_t i = 0; state && i < state->grown_count; i++) {
        uint64_t to = state->grown[i].to;

        if (state->grown[i].buffer != group->merged_buffer || state->grown[i].index != 0 || to <= value.offset)
            continue;
        if (to - value.offset >= value.length)
            return (struct app_bytes){ .length = 0 };
        *before = (uint32_t)(to - value.offset);
        value.bytes += to - value.offset;
        value.length -= (uint32_t)(to - value.offset);
        value.offset = to;
    }
    return value;
}

const struct prefilter *transaction_merged_prefilter(const struct evaluation *ev)
{
    const struct flow *flow = ev->input->packet->flow;
    const struct app_tx *tx = flow->app ? app_transaction_list(flow, APP_TX_UNINSPECTED + ev->direction) : NULL;
    const struct transaction_group *group =
        tx ? &ev->ruleset->transactions[tx->protocol * FLOW_DIRECTIONS + ev->direction] : NULL;
    struct merged_scan *merged = &ev->detector->merged;

    if (!group || !group->merged)
        return NULL;

    /* The merged scan is faster only if the new bytes of the buffer are the end of the chunk and at least 1/MIN_SHARE
     * of it, because a scan of the chunk with both kinds of literals takes 10 % longer. The first LITERAL_MAX new bytes
     * are scanned again in any case. */
    enum { MIN_SHARE = 8 };
    const struct stream_chunk *chunk = ev->chunk;
    uint32_t before;
    const struct app_bytes part = get_new_bytes(ev, tx, group, &before);

    if (!part.bytes || part.length > chunk->length || part.length < chunk->length / MIN_SHARE ||
        part.length <= LITERAL_MAX || memcmp(chunk->data + (chunk->length - part.length), part.bytes, part.length) != 0)
        return NULL;
    merged->bytes = part.bytes;
    merged->length = part.length;
    merged->skip = chunk->length - part.length;

    /* If the chunk begins with the new bytes, and the bytes before it are those of the buffer, too, one scan of the
     * border serves both. */
    before = before < LITERAL_MAX ? before : LITERAL_MAX;
    merged->has_border =
        merged->skip == 0 && before <= chunk->before_length &&
        (before == 0 || memcmp(chunk->before + (chunk->before_length - before), part.bytes - before, before) == 0);
    return group->merged;
}

void detect_unseen_transactions(struct evaluation *ev, struct app_tx *first)
{
    enum app_tx_list list = APP_TX_UNINSPECTED + ev->direction;

    for (struct app_tx *tx = first, *next; tx; tx = next) {
        const struct transaction_group *group;

        next = tx->link[list].next;
        if (!app_tx_needs_inspection(tx, ev->direction)) {
            app_tx_set_inspected(tx, ev->direction);
            continue;
        }
        group = &ev->ruleset->transactions[tx->protocol * FLOW_DIRECTIONS + ev->direction];
        if (group->has_rules)
            scan_transaction(ev, tx, group);
        if (app_tx_is_complete(tx, ev->direction)) {
            tx->settled[ev->direction] = true;
            memcpy(tx->settled_events[ev->direction], tx->events, sizeof(tx->events));
        }
        app_tx_set_inspected(tx, ev->direction);
    }
}

void detect_release_transaction(void *user, struct app_detection *detection)
{
    free_blocks(user, detection);
}
