/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluation of transaction rules. A transaction is scanned whenever its direction has progressed or a buffer of it
 * has grown. Each buffer is scanned once, when it is present; of a growing buffer, the new bytes. The resulting
 * candidates are evaluated; those that cannot be decided yet are stored with the transaction, together with the
 * buffers that matched, and evaluated again at its next progress.
 *
 * The state of a transaction is limited in size. If it is full or memory is exhausted, all buffers are scanned again
 * each time: slower, without missed matches, but with possible duplicate alerts.
 */
#include <string.h>

#include "detect_priv.h"
#include "inspect.h"
#include "sluice/transform.h"

enum outcome { OUTCOME_NO, OUTCOME_YES, OUTCOME_LATER };

struct looking {
    struct evaluation *ev;
    struct app_tx *tx;
    enum flow_direction direction;
    const struct transaction_group *group;
    struct app_bytes grown;       /* the value of a growing buffer that was scanned last */
    struct app_detection *memory; /* detection state; temporary for this call if memory is exhausted */
    bool complete;                /* the direction is complete: no more data follows */
    unsigned first_file;          /* files before this one are already evaluated for the current rule */
    unsigned matched_file;        /* first file that meets the rule's conditions on files */
};

/* A transactional rule inspects both directions. */
static bool is_complete(const struct looking *look, enum flow_direction direction)
{
    return direction == look->direction ? look->complete : app_tx_is_complete(look->tx, direction);
}

static bool has_reached(const struct looking *look, const struct app_buffer *access)
{
    return look->tx->progress[access->direction] >= access->progress || is_complete(look, access->direction);
}

/* --- Buffers -------------------------------------------------------------------------------------- */

static __attribute__((noinline)) bool transform(const struct looking *look, const struct condition *transforms,
                                                struct app_bytes *value)
{
    for (const struct condition *t = transforms; t; t = t->next) {
        if (!t->keyword->transform(look->ev->detector->transforms, value->bytes, value->length, t->data, &value->bytes,
                                   &value->length))
            return false;
    }
    return true;
}

static bool is_multi(const struct app_buffer *access)
{
    return access->keyword->flags & KEYWORD_MULTI;
}

static bool is_of_files(const struct keyword *keyword)
{
    return keyword == &keyword_file_data || keyword == &keyword_file_name || keyword == &keyword_file_magic;
}

/* Reads value `index` of a buffer at the transaction's progress; the memory of the transforms is reused for each value.
 */
static inline bool next_value(const struct looking *look, const struct app_buffer *access,
                              const struct condition *transforms, unsigned index, struct app_bytes *out)
{
    if (index > 0 && (!is_multi(access) || index >= TRANSACTION_VALUES))
        return false;
    transform_scratch_reset(look->ev->detector->transforms);
    *out = (struct app_bytes){ .bytes = NULL };
    if (!access->get(look->tx, access->direction, index, out) || !out->bytes)
        return false;
    return !transforms || transform(look, transforms, out);
}

static bool value_matches(struct looking *look, struct inspection *inspection, const struct app_bytes *value,
                          const struct condition *conditions)
{
    inspection->data = value->bytes;
    inspection->length = value->length;
    inspection->start_is_cut = value->offset > 0;
    inspection->end_is_cut = value->partial;
    inspection->little = value->little;
    inspection->steps_left = INSPECT_STEPS;
    (void)look;
    return inspect_buffer(inspection, conditions);
}

static enum outcome inspect_transaction_buffer(struct looking *look, struct inspection *inspection,
                                               const struct rule_buffer *buffer, const struct app_buffer *access)
{
    bool complete = is_complete(look, access->direction), partial = false;
    unsigned first = look->first_file;
    unsigned index;
    struct app_bytes value;

    if (!has_reached(look, access))
        return OUTCOME_LATER;
    if (first > 0 && (!is_of_files(access->keyword) || access->direction != look->direction))
        first = 0;
    for (index = first; next_value(look, access, buffer->transforms, index, &value); index++) {
        if (buffer->absence != BUFFER_ABSENT && value_matches(look, inspection, &value, buffer->conditions))
            return OUTCOME_YES;
        partial |= value.partial;
    }
    if (buffer->absence != BUFFER_PRESENT && index == first)
        return access->grows && !complete ? OUTCOME_LATER : OUTCOME_YES;
    if (buffer->absence == BUFFER_ABSENT)
        return OUTCOME_NO;
    return access->grows && (partial || !complete) ? OUTCOME_LATER : OUTCOME_NO;
}

static enum outcome inspect_packet_buffer(struct looking *look, struct inspection *inspection,
                                          const struct check *check, const struct rule_buffer *buffer)
{
    struct evaluation *ev = look->ev;

    inspection->steps_left = INSPECT_STEPS;
    inspection->little = false;
    if (!buffer->keyword)
        return evaluate_payload(ev, check, inspection, buffer->conditions) ? OUTCOME_YES : OUTCOME_LATER;
    return evaluate_packet_buffer(ev, inspection, buffer) ? OUTCOME_YES : OUTCOME_NO;
}

/* A half plan covers its own direction only. */
static bool is_left_out(const struct transaction_plan *plan, uint8_t directions)
{
    return plan->half && !(directions >> plan->direction & 1);
}

/* Whether the buffer has matched before and need not be evaluated again. Captures of a pcre exist only after an
 * evaluation, so a buffer of a rule that captures is evaluated again. */
static bool is_held(const struct check *check, const struct transaction_plan *plan,
                    const struct transaction_candidate *candidate, unsigned at)
{
    if (at >= 32 || !(candidate->matched >> at & 1))
        return false;
    return !check->rule->takes_texts || !plan->access[at] || plan->access[at]->grows;
}

/* A buffer outside of the transaction may be the stream's inspection window, which takes longer than all others
 * together: it is evaluated last, unless one buffer of the rule depends on another. */
static bool is_asked_now(const struct check *check, const struct transaction_plan *plan, unsigned at, bool late)
{
    bool in_order = check->rule->takes_values || check->rule->takes_texts;

    return (!plan->access[at] && !in_order) == late;
}

static enum outcome inspect_round(struct looking *look, struct inspection *inspection, const struct check *check,
                                  const struct transaction_plan *plan, struct transaction_candidate *candidate,
                                  bool late)
{
    enum outcome all = OUTCOME_YES;
    unsigned at = 0;

    for (const struct rule_buffer *buffer = check->buffers; buffer; buffer = buffer->next, at++) {
        enum outcome one;

        if (!is_asked_now(check, plan, at, late) || is_left_out(plan, buffer->directions) ||
            is_held(check, plan, candidate, at))
            continue;
        one = plan->access[at] ? inspect_transaction_buffer(look, inspection, buffer, plan->access[at])
                               : inspect_packet_buffer(look, inspection, check, buffer);
        if (one == OUTCOME_NO)
            return OUTCOME_NO;
        if (one == OUTCOME_LATER)
            all = OUTCOME_LATER;
        else if (at < 32)
            candidate->matched |= UINT32_C(1) << at;
    }
    return all;
}

static enum outcome inspect_buffers(struct looking *look, const struct check *check,
                                    const struct transaction_plan *plan, struct transaction_candidate *candidate)
{
    struct inspection inspection;
    enum outcome early, late;

    inspection_begin(&inspection, look->ev);
    early = inspect_round(look, &inspection, check, plan, candidate, false);
    if (early == OUTCOME_NO || !plan->packet_buffers)
        return early;
    late = inspect_round(look, &inspection, check, plan, candidate, true);
    return early == OUTCOME_YES || late == OUTCOME_NO ? late : early;
}

/* --- Conditions ----------------------------------------------------------------------------------- */

static enum flow_direction direction_of(const struct looking *look, uint8_t directions)
{
    if (directions == 0)
        return look->direction;
    return directions >> FLOW_TO_SERVER & 1 ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
}

static enum outcome check_conditions(struct looking *look, const struct check *check,
                                     const struct transaction_plan *plan)
{
    enum outcome all = OUTCOME_YES;
    unsigned at = 0;

    for (const struct condition *c = check->rule->transaction_conditions; c; c = c->next, at++) {
        enum flow_direction direction = direction_of(look, c->directions);
        bool complete = is_complete(look, direction);

        if (is_left_out(plan, c->directions))
            continue;
        if (look->tx->progress[direction] < plan->condition_progress[at] && !complete) {
            all = OUTCOME_LATER;
            continue;
        }
        if (c->keyword->match_transaction(&look->ev->match, look->tx, direction, c->data) != c->negated)
            continue;
        if (c->keyword->applications || complete)
            return OUTCOME_NO;
        all = OUTCOME_LATER; /* an event may still be set */
    }
    return all;
}

static enum outcome check_file(struct looking *look, const struct check *check, const struct file *file,
                               enum flow_direction direction)
{
    enum outcome all = OUTCOME_YES;

    for (const struct condition *c = check->rule->file_conditions; c; c = c->next) {
        enum file_match match;

        if (direction_of(look, c->directions) != direction)
            continue;
        match = c->keyword->match_file(&look->ev->match, file, c->data);
        if (match == FILE_MATCH_LATER)
            all = OUTCOME_LATER;
        else if ((match == FILE_MATCH_YES) == c->negated)
            return OUTCOME_NO;
    }
    return all;
}

/* Whether one file of the direction meets all conditions of the rule on files. */
static enum outcome check_files_of(struct looking *look, const struct check *check, enum flow_direction direction)
{
    enum outcome all = is_complete(look, direction) ? OUTCOME_NO : OUTCOME_LATER, one;
    unsigned at = 0;

    for (const struct file *file = look->tx->files[direction].first; file; file = file->next) {
        if (at++ < look->first_file && direction == look->direction)
            continue;
        one = check_file(look, check, file, direction);
        if (direction == look->direction)
            look->matched_file = at - 1;
        if (one == OUTCOME_YES)
            return OUTCOME_YES;
        if (one == OUTCOME_LATER)
            all = OUTCOME_LATER;
    }
    return all;
}

static bool asks_files_of(const struct looking *look, const struct check *check, enum flow_direction direction)
{
    for (const struct condition *c = check->rule->file_conditions; c; c = c->next) {
        if (direction_of(look, c->directions) == direction)
            return true;
    }
    return false;
}

static enum outcome check_files(struct looking *look, const struct check *check, const struct transaction_plan *plan,
                                struct transaction_candidate *candidate)
{
    enum outcome all = OUTCOME_YES, one;

    if (!plan->files)
        return OUTCOME_YES;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        bool held = direction == FLOW_TO_SERVER && check->transactional && candidate->files_hold;

        if (held || is_left_out(plan, (uint8_t)(1U << direction)) || !asks_files_of(look, check, direction))
            continue;
        one = check_files_of(look, check, direction);
        if (one == OUTCOME_NO)
            return OUTCOME_NO;
        if (one == OUTCOME_LATER)
            all = OUTCOME_LATER;
        else if (direction == FLOW_TO_SERVER)
            candidate->files_hold = check->transactional;
    }
    return all;
}

static const struct transaction_plan *find_plan(const struct looking *look, const struct check *check)
{
    const struct transaction_plan *plan = check->plans;

    while (plan && (plan->direction != look->direction || plan->proto != look->tx->protocol))
        plan = plan->next;
    return plan;
}

static enum outcome evaluate(struct looking *look, const struct transaction_plan *plan,
                             struct transaction_candidate *candidate)
{
    struct evaluation *ev = look->ev;
    const struct check *check = &ev->ruleset->checks[candidate->check];
    enum outcome conditions, files, buffers;

    ev->match.in_stream = false;
    ev->detector->taken.count = 0;
    if (!evaluate_header(ev, check) || (!plan->half && !evaluate_packet_conditions(ev, check)))
        return OUTCOME_NO;
    ev->detector->counters.evaluations++;
    conditions = check_conditions(look, check, plan);
    if (conditions == OUTCOME_NO)
        return OUTCOME_NO;
    files = check_files(look, check, plan, candidate);
    if (files == OUTCOME_NO)
        return OUTCOME_NO;
    evaluate_begin_limits(ev->detector, check->rule);
    buffers = inspect_buffers(look, check, plan, candidate);
    evaluate_end_limits(ev->detector, check->rule);
    if (buffers == OUTCOME_NO)
        return OUTCOME_NO;
    return conditions == OUTCOME_LATER || files == OUTCOME_LATER || buffers == OUTCOME_LATER ? OUTCOME_LATER
                                                                                             : OUTCOME_YES;
}

/* --- Candidates ----------------------------------------------------------------------------------- */

/* Returns the scan position of a growing buffer's value; NULL: not stored. */
static uint64_t *scanned_to(struct app_detection *memory, uint32_t buffer, unsigned index)
{
    for (uint32_t i = 0; i < memory->grown_count; i++) {
        if (memory->grown[i].buffer == buffer && memory->grown[i].index == index)
            return &memory->grown[i].to;
    }
    if (memory->grown_count == TRANSACTION_GROWN)
        return NULL;
    memory->grown[memory->grown_count] =
        (struct transaction_grown){ .buffer = (uint8_t)buffer, .index = (uint16_t)index };
    return &memory->grown[memory->grown_count++].to;
}

static bool is_same_value(const struct app_bytes *one, const struct app_bytes *other)
{
    return one->bytes == other->bytes && one->length == other->length && one->offset == other->offset;
}

/* Scans the new bytes of a growing buffer, and literals that begin before them. */
static void scan_growing(struct looking *look, uint32_t buffer, unsigned index, const struct app_bytes *value)
{
    const struct transaction_buffer *scanned = &look->group->buffers[buffer];
    uint64_t *to = scanned->transforms ? NULL : scanned_to(look->memory, buffer, index);
    uint64_t end = value->offset + value->length;
    bool again = !scanned->transforms && is_same_value(value, &look->grown);
    uint64_t done = to && *to > value->offset ? *to - value->offset : 0;

    if (done > 0 && done >= value->length)
        return;
    if (to)
        *to = end;
    if (again)
        return;
    if (!scanned->transforms)
        look->grown = *value;
    uint32_t before = done < LITERAL_MAX ? (uint32_t)done : LITERAL_MAX, from = (uint32_t)done - before;

    if (scanned->transforms)
        prefilter_scan_whole(scanned->prefilter, look->ev->detector, value->bytes, value->length);
    else
        prefilter_scan_grown(scanned->prefilter, look->ev->detector, value->bytes + from, value->length - from, before,
                             value->offset + from);
}

static void scan_buffer(struct looking *look, uint32_t at)
{
    const struct transaction_buffer *buffer = &look->group->buffers[at];
    struct app_detection *memory = look->memory;
    struct app_bytes value;

    if (!has_reached(look, buffer->access))
        return;
    if (memory->scanned[at / 64] >> (at % 64) & 1)
        return;
    for (unsigned index = 0; next_value(look, buffer->access, buffer->transforms, index, &value); index++) {
        if (buffer->access->grows)
            scan_growing(look, at, index, &value);
        else
            prefilter_scan_whole(buffer->prefilter, look->ev->detector, value.bytes, value.length);
    }
    if (!buffer->access->grows && !memory->rescan)
        memory->scanned[at / 64] |= UINT64_C(1) << (at % 64);
}

static bool has_events(const struct app_tx *tx)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < APP_EVENT_WORDS; i++)
        any |= tx->events[i];
    return any != 0;
}

/* Adds the rules without a literal. Most transactions have no event, so the hundred rules that require one are skipped.
 */
static void collect_unfiltered(struct looking *look)
{
    uint8_t progress = look->tx->progress[look->direction];
    uint32_t count = has_events(look->tx) ? look->group->unfiltered_count : look->group->unfiltered_always;

    for (uint32_t i = 0; i < count; i++) {
        const struct transaction_unfiltered *rule = &look->group->unfiltered[i];

        if (progress < rule->progress && !look->complete)
            continue;
        if (rule->always || look->memory->rescan || !look->memory->asked || rule->progress > look->memory->progress)
            detector_add_candidate(look->ev->detector, rule->check);
    }
}

/* Adds the rules whose literal was found in the payload; the others cannot match. */
static void collect_by_payload(struct looking *look)
{
    struct detector *detector = look->ev->detector;
    const struct check_list *all = &look->group->by_payload;

    for (uint32_t i = 0; i < detector->payload_seen_count; i++)
        detector_add_candidate(detector, detector->payload_seen[i]);
    for (uint32_t i = 0; i < all->count && detector->payload_seen_more; i++)
        detector_add_candidate(detector, all->index[i]);
}

static uint16_t file_count(const struct looking *look)
{
    uint32_t count = look->tx->files[look->direction].count;

    return count < UINT16_MAX ? (uint16_t)count : UINT16_MAX;
}

/* Whether a rule on files that has matched must be evaluated again for a new file. */
static bool has_new_file(const struct looking *look, const struct transaction_candidate *candidate)
{
    return file_count(look) > candidate->files &&
           asks_files_of(look, &look->ev->ruleset->checks[candidate->check], look->direction);
}

/* Resets a candidate for a new file: conditions on the transaction still hold, conditions on files are evaluated for
 * the new file. */
static void begin_new_file(const struct looking *look, struct transaction_candidate *candidate)
{
    unsigned at = 0;

    candidate->done = false;
    candidate->files_hold &= look->direction != FLOW_TO_SERVER;
    for (const struct rule_buffer *buffer = look->ev->ruleset->checks[candidate->check].buffers; buffer && at < 32;
         buffer = buffer->next, at++) {
        if (is_of_files(buffer->keyword) && direction_of(look, buffer->directions) == look->direction)
            candidate->matched &= ~(UINT32_C(1) << at);
    }
}

static struct transaction_candidate *remembered(struct app_detection *memory, uint32_t check)
{
    for (struct app_detection *piece = memory; piece; piece = piece->more) {
        for (uint32_t i = 0; i < piece->count; i++) {
            if (piece->list[i].check == check)
                return &piece->list[i];
        }
    }
    return NULL;
}

static void collect(struct looking *look)
{
    struct app_detection *memory = look->memory;

    if (memory->rescan)
        memset(memory->scanned, 0, sizeof(memory->scanned));
    for (uint32_t i = 0; i < look->group->buffer_count; i++)
        scan_buffer(look, i);
    collect_unfiltered(look);
    collect_by_payload(look);
    for (const struct app_detection *piece = memory; piece; piece = piece->more) {
        for (uint32_t i = 0; i < piece->count; i++) {
            if (!piece->list[i].done || has_new_file(look, &piece->list[i]))
                detector_add_candidate(look->ev->detector, piece->list[i].check);
        }
    }
}

/* Removes a candidate; the last one of the list takes its place. */
static void forget(struct app_detection *memory, struct transaction_candidate *candidate)
{
    while (memory->more && memory->more->count > 0)
        memory = memory->more;
    *candidate = memory->list[--memory->count];
}

static void give_pieces(struct detector *detector, struct app_detection *piece)
{
    while (piece) {
        struct app_detection *next = piece->more;

        pool_give(detector->transactions, piece);
        piece = next;
    }
}

/* Returns the block with space for one more candidate; NULL if there is none. */
static struct app_detection *piece_with_room(struct detector *detector, struct app_detection *piece)
{
    for (unsigned i = 1; piece->count == TRANSACTION_CANDIDATES; i++) {
        if (!piece->more && i < TRANSACTION_PIECES) {
            piece->more = pool_take(detector->transactions);
            if (piece->more)
                memset(piece->more, 0, offsetof(struct app_detection, list));
        }
        if (!piece->more)
            return NULL;
        piece = piece->more;
    }
    return piece;
}

/* Stores a candidate that cannot be decided yet, or one that has matched and might be found again. */
static void remember(struct looking *look, const struct transaction_candidate *candidate)
{
    struct app_detection *piece = piece_with_room(look->ev->detector, look->memory);

    if (!piece) {
        look->memory->rescan = true;
        look->ev->detector->counters.flow_memcap_hits++;
        return;
    }
    piece->list[piece->count++] = *candidate;
    look->ev->detector->counters.waiting++;
}

/* Maps the candidates of the previous ruleset; removed rules are dropped. */
static void carry_over(const struct ruleset *ruleset, struct app_detection *memory)
{
    for (struct app_detection *piece = memory; piece; piece = piece->more) {
        for (uint32_t i = 0; i < piece->count;) {
            uint32_t check = carry_check(ruleset, piece->list[i].check);

            if (check == CARRIED_NOWHERE)
                forget(memory, &piece->list[i]);
            else
                piece->list[i++].check = check;
        }
    }
}

/* After a reload all present data is scanned for the new ruleset; what has matched does not match again. */
void transaction_bring_up_to_date(struct detector *detector, const struct ruleset *ruleset,
                                  struct app_detection *memory)
{
    if (!memory || memory->generation == ruleset->generation)
        return;
    if (carry_knows(ruleset, memory->generation)) {
        carry_over(ruleset, memory);
    } else {
        give_pieces(detector, memory->more);
        memory->more = NULL;
        memory->count = 0;
    }
    memory->generation = ruleset->generation;
    memory->grown_count = 0;
    memory->progress = 0;
    memory->asked = memory->rescan = false;
    memset(memory->scanned, 0, sizeof(memory->scanned));
}

static struct app_detection *new_memory(struct detector *detector, const struct ruleset *ruleset)
{
    struct app_detection *memory = pool_take(detector->transactions);

    if (memory) {
        memset(memory, 0, offsetof(struct app_detection, list));
        memory->generation = ruleset->generation;
    }
    return memory;
}

void transaction_add_candidate(struct detector *detector, const struct ruleset *ruleset, struct app_detection **slot,
                               const struct transaction_candidate *candidate)
{
    struct app_detection *piece = *slot ? *slot : (*slot = new_memory(detector, ruleset));

    if (piece)
        piece = piece_with_room(detector, piece);
    if (piece)
        piece->list[piece->count++] = *candidate;
}

/* Returns the state of the opposite direction, allocated if necessary. NULL: memory is exhausted. */
static struct app_detection *memory_of_other(struct looking *look)
{
    struct app_detection **slot = &look->tx->detection[!look->direction];

    if (*slot)
        transaction_bring_up_to_date(look->ev->detector, look->ev->ruleset, *slot);
    else
        *slot = new_memory(look->ev->detector, look->ev->ruleset);
    return *slot;
}

/* A match on an event is a match of the transaction: marks the rule as matched in the opposite direction, so that it
 * does not match there again when that direction completes. */
static void settle_other(struct looking *look, uint32_t index)
{
    struct app_detection *memory = memory_of_other(look);

    if (memory)
        memory = piece_with_room(look->ev->detector, memory);
    if (memory)
        memory->list[memory->count++] = (struct transaction_candidate){ .check = index, .done = true };
}

/* The half plan of a transactional rule matched: makes it a candidate in the direction to the client. If that cannot be
 * stored, it is found there by the data left of the other direction. */
static void hand_over(struct looking *look, const struct transaction_candidate *half)
{
    struct app_detection *memory = memory_of_other(look);
    struct transaction_candidate *candidate = memory ? remembered(memory, half->check) : NULL;

    if (memory && !candidate)
        memory = piece_with_room(look->ev->detector, memory);
    if (memory && !candidate) {
        candidate = &memory->list[memory->count++];
        *candidate = (struct transaction_candidate){ .check = half->check };
    }
    if (!candidate) {
        look->ev->detector->counters.flow_memcap_hits++;
        return;
    }
    candidate->matched |= half->matched;
    candidate->files_hold |= half->files_hold;
}

/* Whether the rule's conditions on events held with the events that were set when the direction completed. */
static bool held_when_settled(struct looking *look, const struct check *check)
{
    struct app_tx *tx = look->tx;
    uint64_t now[APP_EVENT_WORDS];
    bool held = true;

    memcpy(now, tx->events, sizeof(now));
    memcpy(tx->events, tx->settled_events[look->direction], sizeof(now));
    for (const struct condition *c = check->rule->transaction_conditions; c && held; c = c->next) {
        if (!c->keyword->applications)
            held = c->keyword->match_transaction(&look->ev->match, tx, look->direction, c->data) != c->negated;
    }
    memcpy(tx->events, now, sizeof(now));
    return held;
}

/* A completed direction is evaluated again only for new events; everything else was decided when it completed. */
static bool is_settled(struct looking *look, const struct check *check, const struct transaction_plan *plan)
{
    return look->tx->settled[look->direction] && (!plan->events || held_when_settled(look, check));
}

static void decide(struct looking *look, uint32_t index)
{
    struct transaction_candidate *old = remembered(look->memory, index);
    struct transaction_candidate candidate = old ? *old : (struct transaction_candidate){ .check = index };
    const struct check *check = &look->ev->ruleset->checks[index];
    const struct transaction_plan *plan = find_plan(look, check);
    enum outcome outcome;

    if ((candidate.done && !has_new_file(look, &candidate)) || (!old && (!plan || is_settled(look, check, plan))))
        return;
    if (candidate.done)
        begin_new_file(look, &candidate);
    look->first_file = candidate.files;
    look->matched_file = 0;
    outcome = plan ? evaluate(look, plan, &candidate) : OUTCOME_NO;
    if (outcome == OUTCOME_YES && plan->half)
        hand_over(look, &candidate);
    else if (outcome == OUTCOME_YES)
        evaluate_transaction_hit(look->ev, index, look->tx);
    if (outcome == OUTCOME_YES && plan->events && app_tx_is_complete(look->tx, !look->direction))
        settle_other(look, index);
    candidate.done = outcome == OUTCOME_YES || (outcome == OUTCOME_NO && candidate.files > 0);
    if (candidate.done) /* files behind the matching one may be incomplete yet */
        candidate.files = outcome == OUTCOME_YES && look->matched_file < UINT16_MAX ? (uint16_t)(look->matched_file + 1)
                                                                                    : file_count(look);
    if (look->complete || (outcome == OUTCOME_NO && !candidate.done)) {
        if (old)
            forget(look->memory, old);
        return;
    }
    if (old)
        *old = candidate;
    else
        remember(look, &candidate);
}

/* --- Transaction scan ----------------------------------------------------------------------------- */

/* Returns the state of the transaction; `own`, cleared, if there is none yet. */
static struct app_detection *recall(struct looking *look, struct app_detection *own)
{
    struct app_detection *memory = look->tx->detection[look->direction];

    if (memory) {
        transaction_bring_up_to_date(look->ev->detector, look->ev->ruleset, memory);
        return memory;
    }
    memset(own, 0, offsetof(struct app_detection, list));
    own->generation = look->ev->ruleset->generation;
    return own;
}

static void keep(struct looking *look, const struct app_detection *own)
{
    struct app_detection **slot = &look->tx->detection[look->direction];

    look->memory->asked = true;
    look->memory->progress = look->tx->progress[look->direction];
    if (look->memory != own)
        return;
    if (!look->complete && !*slot) {
        *slot = pool_take(look->ev->detector->transactions);
        if (*slot)
            (*slot)->more = NULL;
        else
            look->ev->detector->counters.flow_memcap_hits++;
    }
    if (look->complete || !*slot) {
        give_pieces(look->ev->detector, own->more);
        return;
    }
    memcpy(*slot, own, sizeof(*own));
}

/* Decides all candidates and books their time on the rules. */
static __attribute__((noinline, cold)) void decide_by_budget(struct looking *look)
{
    struct detector *detector = look->ev->detector;
    const struct ruleset *ruleset = look->ev->ruleset;

    budget_begin(detector->budget);
    for (uint32_t i = 0; i < detector->candidate_count; i++) {
        const struct rule *rule = ruleset->checks[detector->candidates[i]].rule;

        if (!budget_allows(detector->budget, rule))
            continue;
        decide(look, detector->candidates[i]);
        budget_book(detector, ruleset_rules(ruleset), rule);
    }
}

static void look_at(struct evaluation *ev, struct app_tx *tx, const struct transaction_group *group)
{
    struct detector *detector = ev->detector;
    struct looking look = {
        .ev = ev,
        .tx = tx,
        .direction = ev->direction,
        .group = group,
        .complete = app_tx_is_complete(tx, ev->direction),
    };

    look.memory = recall(&look, &detector->memory);
    look.memory->rescan |= tx->settled[ev->direction];
    detector_next_serial(detector);
    collect(&look);
    detector->counters.candidates += detector->candidate_count;
    evaluate_sort(detector);
    evaluate_fetch(ev);
    if (detector->budget)
        decide_by_budget(&look);
    else
        for (uint32_t i = 0; i < detector->candidate_count; i++)
            decide(&look, detector->candidates[i]);
    keep(&look, &detector->memory);
}

/* Returns the bytes by which the buffer has grown since its last scan. */
static struct app_bytes new_part(const struct evaluation *ev, const struct app_tx *tx,
                                 const struct transaction_group *group)
{
    const struct app_detection *memory = tx->detection[ev->direction];
    const struct app_buffer *access = group->buffers[group->joined_buffer].access;
    struct app_bytes value = { .bytes = NULL };

    if (tx->progress[access->direction] < access->progress || !access->get(tx, access->direction, 0, &value))
        return (struct app_bytes){ .length = 0 };
    for (uint32_t i = 0; memory && i < memory->grown_count; i++) {
        uint64_t to = memory->grown[i].to;

        if (memory->grown[i].buffer != group->joined_buffer || memory->grown[i].index != 0 || to <= value.offset)
            continue;
        if (to - value.offset >= value.length)
            return (struct app_bytes){ .length = 0 };
        value.bytes += to - value.offset;
        value.length -= (uint32_t)(to - value.offset);
        value.offset = to;
    }
    return value;
}

/* Whether the merged scan pays: the chunk ends with the new bytes, and they are a large enough part of it. A short
 * first part may be in the scan cache. */
static bool is_worth_joining(const struct stream_view *view, const struct app_bytes *part)
{
    enum { MOST_VIEWS = 8 }; /* searching a chunk with both kinds of literals costs a tenth more */

    return part->bytes && part->length <= view->length && part->length >= view->length / MOST_VIEWS &&
           (part->offset > 0 || part->length > SCAN_MEMO_LENGTH) &&
           memcmp(view->data + (view->length - part->length), part->bytes, part->length) == 0;
}

const struct prefilter *transaction_joined(const struct evaluation *ev)
{
    const struct flow *flow = ev->input->packet->flow;
    const struct app_tx *tx = flow->app ? app_transactions_in(flow, APP_TX_UNSEEN + ev->direction) : NULL;
    const struct transaction_group *group =
        tx ? &ev->ruleset->transactions[tx->protocol * FLOW_DIRECTIONS + ev->direction] : NULL;
    struct joined_scan *joined = &ev->detector->joined;

    if (!group || !group->joined)
        return NULL;

    const struct app_bytes part = new_part(ev, tx, group);

    if (!is_worth_joining(ev->view, &part))
        return NULL;
    joined->bytes = part.bytes;
    joined->length = part.length;
    joined->skip = ev->view->length - part.length;
    return group->joined;
}

void detect_unseen_transactions(struct evaluation *ev, struct app_tx *first)
{
    enum app_tx_list list = APP_TX_UNSEEN + ev->direction;

    for (struct app_tx *tx = first, *next; tx; tx = next) {
        const struct transaction_group *group;

        next = tx->link[list].next;
        if (!app_tx_wants_inspection(tx, ev->direction)) {
            app_tx_note_inspected(tx, ev->direction);
            continue;
        }
        group = &ev->ruleset->transactions[tx->protocol * FLOW_DIRECTIONS + ev->direction];
        if (group->has_rules)
            look_at(ev, tx, group);
        if (app_tx_is_complete(tx, ev->direction)) {
            tx->settled[ev->direction] = true;
            memcpy(tx->settled_events[ev->direction], tx->events, sizeof(tx->events));
        }
        app_tx_note_inspected(tx, ev->direction);
    }
}

void detect_release_transaction(void *user, struct app_detection *detection)
{
    give_pieces(user, detection);
}
