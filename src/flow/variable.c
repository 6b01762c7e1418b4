/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables of a flow (flowbits, flowints, texts): a list ordered by number, then kind. Rules use few, so a list is the
 * fastest structure. Its length is limited by the number of names in the rules and by FLOW_TEXTS_MAX. Texts are larger
 * and rarer than bits and integers, so they are in a separate pool.
 */
#include <string.h>

#include "flow_priv.h"
#include "sluice/pool.h"
#include "sluice/transfer.h"

enum variable_kind { VARIABLE_BIT, VARIABLE_INTEGER, VARIABLE_TEXT };

struct flow_variable {
    struct flow_variable *next;
    uint32_t number, value; /* value: an integer, or the length of a text */
    uint8_t kind;           /* enum variable_kind */
};

struct flow_text {
    struct flow_variable variable;
    uint8_t bytes[FLOW_TEXT_MAX];
};

size_t variable_size(void)
{
    return sizeof(struct flow_variable);
}

size_t variable_text_size(void)
{
    return sizeof(struct flow_text);
}

static struct pool *pool_of(struct flow_table *table, enum variable_kind kind)
{
    return kind == VARIABLE_TEXT ? table->texts : table->variables;
}

void variables_free(struct flow_table *table, struct flow *flow)
{
    struct flow_variable *variable;

    while ((variable = flow->variables)) {
        flow->variables = variable->next;
        pool_release(pool_of(table, variable->kind), variable);
    }
}

static bool comes_before(const struct flow_variable *variable, uint32_t number, enum variable_kind kind)
{
    return variable->number != number ? variable->number < number : variable->kind < kind;
}

static bool is_variable(const struct flow_variable *variable, uint32_t number, enum variable_kind kind)
{
    return variable && variable->number == number && variable->kind == kind;
}

static const struct flow_variable *find_variable(const struct flow *flow, uint32_t number, enum variable_kind kind)
{
    const struct flow_variable *variable = flow->variables;

    while (variable && comes_before(variable, number, kind))
        variable = variable->next;
    return is_variable(variable, number, kind) ? variable : NULL;
}

/* Returns the link that points to the variable, or, if it does not exist, the link at which to insert it. */
static struct flow_variable **find_link(struct flow *flow, uint32_t number, enum variable_kind kind)
{
    struct flow_variable **link = &flow->variables;

    while (*link && comes_before(*link, number, kind))
        link = &(*link)->next;
    return link;
}

/* Returns the variable, added if necessary; NULL if memory is exhausted. */
static struct flow_variable *find_or_add(struct flow_table *table, struct flow *flow, uint32_t number,
                                         enum variable_kind kind)
{
    struct flow_variable **link = find_link(flow, number, kind);

    if (!is_variable(*link, number, kind)) {
        struct flow_variable *added = pool_alloc(pool_of(table, kind));

        if (!added) {
            table->counters[FLOW_COUNTER_VARIABLE_MEMCAP]++;
            return NULL;
        }
        *added = (struct flow_variable){ .next = *link, .number = number, .kind = (uint8_t)kind };
        *link = added;
    }
    return *link;
}

static bool set_variable(struct flow_table *table, struct flow *flow, uint32_t number, enum variable_kind kind,
                         uint32_t value)
{
    struct flow_variable *variable = find_or_add(table, flow, number, kind);

    if (variable)
        variable->value = value;
    return variable != NULL;
}

bool flow_bit_is_set(const struct flow *flow, uint32_t number)
{
    return find_variable(flow, number, VARIABLE_BIT) != NULL;
}

bool flow_bit_set(struct flow_table *table, struct flow *flow, uint32_t number)
{
    return set_variable(table, flow, number, VARIABLE_BIT, 1);
}

void flow_bit_clear(struct flow_table *table, struct flow *flow, uint32_t number)
{
    struct flow_variable **link = find_link(flow, number, VARIABLE_BIT), *variable = *link;

    if (!is_variable(variable, number, VARIABLE_BIT))
        return;
    *link = variable->next;
    pool_release(table->variables, variable);
}

bool flow_integer_get(const struct flow *flow, uint32_t number, uint32_t *value)
{
    const struct flow_variable *variable = find_variable(flow, number, VARIABLE_INTEGER);

    if (!variable)
        return false;
    *value = variable->value;
    return true;
}

bool flow_integer_set(struct flow_table *table, struct flow *flow, uint32_t number, uint32_t value)
{
    return set_variable(table, flow, number, VARIABLE_INTEGER, value);
}

void flow_each_variable(const struct flow *flow, void (*each)(uint32_t number, bool is_bit, uint32_t value, void *user),
                        void *user)
{
    for (const struct flow_variable *variable = flow->variables; variable; variable = variable->next) {
        if (variable->kind != VARIABLE_TEXT)
            each(variable->number, variable->kind == VARIABLE_BIT, variable->value, user);
    }
}

/* --- Texts ---------------------------------------------------------------------------------------- */

static unsigned text_count(const struct flow *flow)
{
    unsigned count = 0;

    for (const struct flow_variable *variable = flow->variables; variable; variable = variable->next)
        count += variable->kind == VARIABLE_TEXT;
    return count;
}

bool flow_text_set(struct flow_table *table, struct flow *flow, uint32_t number, const uint8_t *bytes, uint32_t length)
{
    struct flow_text *text;

    if (!find_variable(flow, number, VARIABLE_TEXT) && text_count(flow) >= FLOW_TEXTS_MAX) {
        table->counters[FLOW_COUNTER_VARIABLE_MEMCAP]++;
        return false;
    }
    text = (struct flow_text *)find_or_add(table, flow, number, VARIABLE_TEXT);
    if (!text)
        return false;
    text->variable.value = length < FLOW_TEXT_MAX ? length : FLOW_TEXT_MAX;
    memcpy(text->bytes, bytes, text->variable.value);
    return true;
}

const uint8_t *flow_text_get(const struct flow *flow, uint32_t number, uint32_t *length)
{
    const struct flow_variable *variable = find_variable(flow, number, VARIABLE_TEXT);

    if (!variable)
        return NULL;
    *length = variable->value;
    return ((const struct flow_text *)variable)->bytes;
}

void flow_each_text(const struct flow *flow,
                    void (*each)(uint32_t number, const uint8_t *bytes, uint32_t length, void *user), void *user)
{
    for (const struct flow_variable *variable = flow->variables; variable; variable = variable->next) {
        if (variable->kind == VARIABLE_TEXT)
            each(variable->number, ((const struct flow_text *)variable)->bytes, variable->value, user);
    }
}

/* --- Transfer to another process ------------------------------------------------------------------ */

/* Reads a variable and sets it in the flow under the number that its name has in this process. */
static void read_variable(struct transfer *t, struct flow_table *table, struct flow *flow,
                          const struct flow_numbers *numbers)
{
    const uint8_t *bytes = NULL;
    uint32_t number = 0, value = 0;
    uint8_t kind = 0;

    transfer_u8(t, &kind);
    transfer_u32(t, &number);
    transfer_u32(t, &value);
    transfer_require(t, kind <= VARIABLE_TEXT && (kind != VARIABLE_TEXT || value <= FLOW_TEXT_MAX));
    if (!t->error && kind == VARIABLE_TEXT)
        bytes = transfer_lend(t, value);
    if (t->error)
        return;
    switch (kind) {
    case VARIABLE_BIT:
        number = number < numbers->bit_count ? numbers->bits[number] : 0;
        break;
    case VARIABLE_INTEGER:
        number = number < numbers->integer_count ? numbers->integers[number] : 0;
        break;
    default:
        number = number < numbers->text_count ? numbers->texts[number] : 0;
        break;
    }
    if (number == 0)
        return;
    if (kind == VARIABLE_TEXT)
        flow_text_set(table, flow, number, bytes, value);
    else
        set_variable(table, flow, number, (enum variable_kind)kind, value);
}

void flow_transfer_variables(struct transfer *t, struct flow_table *table, struct flow *flow,
                             const struct flow_numbers *numbers)
{
    if (t->reading) {
        while (!t->error && t->at < t->limit)
            read_variable(t, table, flow, numbers);
        return;
    }
    for (struct flow_variable *variable = flow->variables; variable; variable = variable->next) {
        transfer_u8(t, &variable->kind);
        transfer_u32(t, &variable->number);
        transfer_u32(t, &variable->value);
        if (variable->kind == VARIABLE_TEXT)
            transfer_bytes(t, ((struct flow_text *)variable)->bytes, variable->value);
    }
}
