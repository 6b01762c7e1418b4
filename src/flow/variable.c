/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variables of a flow: a list in the order of their numbers, bits before integers. Rules use few, so a list is the shortest way; it
 * cannot grow past the names that the rules have.
 */
#include "flow_priv.h"
#include "sluice/pool.h"

struct flow_variable {
    struct flow_variable *next;
    uint32_t number, value;
    bool is_bit;
};

size_t variable_size(void)
{
    return sizeof(struct flow_variable);
}

void variables_free(struct flow_table *table, struct flow *flow)
{
    struct flow_variable *variable;

    while ((variable = flow->variables)) {
        flow->variables = variable->next;
        pool_give(table->variables, variable);
    }
}

static bool comes_before(const struct flow_variable *variable, uint32_t number, bool is_bit)
{
    return variable->number != number ? variable->number < number : variable->is_bit && !is_bit;
}

static bool is_it(const struct flow_variable *variable, uint32_t number, bool is_bit)
{
    return variable && variable->number == number && variable->is_bit == is_bit;
}

static const struct flow_variable *find(const struct flow *flow, uint32_t number, bool is_bit)
{
    const struct flow_variable *variable = flow->variables;

    while (variable && comes_before(variable, number, is_bit))
        variable = variable->next;
    return is_it(variable, number, is_bit) ? variable : NULL;
}

static struct flow_variable **place(struct flow *flow, uint32_t number, bool is_bit)
{
    struct flow_variable **link = &flow->variables;

    while (*link && comes_before(*link, number, is_bit))
        link = &(*link)->next;
    return link;
}

static bool set(struct flow_table *table, struct flow *flow, uint32_t number, bool is_bit, uint32_t value)
{
    struct flow_variable **link = place(flow, number, is_bit);

    if (!is_it(*link, number, is_bit)) {
        struct flow_variable *added = pool_take(table->variables);

        if (!added) {
            table->counters[FLOW_COUNTER_VARIABLE_MEMCAP]++;
            return false;
        }
        *added = (struct flow_variable){ .next = *link, .number = number, .is_bit = is_bit };
        *link = added;
    }
    (*link)->value = value;
    return true;
}

bool flow_bit_is_set(const struct flow *flow, uint32_t number)
{
    return find(flow, number, true) != NULL;
}

bool flow_bit_set(struct flow_table *table, struct flow *flow, uint32_t number)
{
    return set(table, flow, number, true, 1);
}

void flow_bit_clear(struct flow_table *table, struct flow *flow, uint32_t number)
{
    struct flow_variable **link = place(flow, number, true), *variable = *link;

    if (!is_it(variable, number, true))
        return;
    *link = variable->next;
    pool_give(table->variables, variable);
}

bool flow_integer_get(const struct flow *flow, uint32_t number, uint32_t *value)
{
    const struct flow_variable *variable = find(flow, number, false);

    if (!variable)
        return false;
    *value = variable->value;
    return true;
}

bool flow_integer_set(struct flow_table *table, struct flow *flow, uint32_t number, uint32_t value)
{
    return set(table, flow, number, false, value);
}

void flow_each_variable(const struct flow *flow, void (*each)(uint32_t number, bool is_bit, uint32_t value, void *user),
                        void *user)
{
    for (const struct flow_variable *variable = flow->variables; variable; variable = variable->next)
        each(variable->number, variable->is_bit, variable->value, user);
}
