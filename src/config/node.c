/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trees of values. One holds the content of a YAML file, another the settings of all files together.
 *
 * The members of a mapping are a linked list in the order of the file, because they are printed in that order; linear
 * search suffices, because mappings have few members. All nodes are allocated from the arena of the configuration and
 * counted, so that a small file with aliases and includes cannot use much memory.
 */
#include "config_priv.h"

#include <string.h>

struct node *node_new(struct config *config, enum node_kind kind)
{
    if (config->nodes >= CONFIG_MAX_NODES)
        return NULL;

    struct node *node = arena_alloc(config->arena, sizeof(*node));

    if (node) {
        config->nodes++;
        node->kind = kind;
    }
    return node;
}

void node_add(struct node *parent, struct node *child)
{
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

struct node *node_member(const struct node *map, const char *key, size_t key_length)
{
    if (map->kind != NODE_MAP)
        return NULL;
    for (struct node *node = map->first; node; node = node->next)
        if (strncmp(node->key, key, key_length) == 0 && node->key[key_length] == '\0')
            return node;
    return NULL;
}

struct node *node_item(const struct node *parent, size_t index)
{
    struct node *node = parent->first;

    while (node && index-- > 0)
        node = node->next;
    return node;
}

struct node *node_find(const struct node *root, const char *path)
{
    struct node *node = NULL;

    for (const char *part = path; part;) {
        size_t length = strcspn(part, ".");

        node = node_member(root, part, length);
        if (!node)
            return NULL;
        root = node;
        part = part[length] == '.' ? part + length + 1 : NULL;
    }
    return node;
}

static struct node *add_member(struct config *config, struct node *map, const char *key, size_t length)
{
    struct node *node = node_new(config, NODE_NULL);

    if (!node)
        return NULL;
    node->key = arena_strndup(config->arena, key, length);
    if (!node->key)
        return NULL;
    node_add(map, node);
    return node;
}

struct node *node_make(struct config *config, struct node *root, const char *path)
{
    struct node *node = root;

    for (const char *part = path; part;) {
        size_t length = strcspn(part, ".");

        if (node->kind != NODE_MAP) {
            node->kind = NODE_MAP;
            node->value = NULL;
            node->first = node->last = NULL;
            node->count = 0;
        }
        struct node *member = node_member(node, part, length);

        node = member ? member : add_member(config, node, part, length);
        if (!node)
            return NULL;
        part = part[length] == '.' ? part + length + 1 : NULL;
    }
    return node;
}
