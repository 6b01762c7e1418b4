/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that list rules, and reloads. */
#include "service.h"

#include <stdio.h>
#include <string.h>

#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/output.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/text.h"

#include "daemon/reload.h"

enum { MAX_RULES = 1024 };

/* The part of a list that a request selects by `from` and `limit`: index of its first entry, and of the entry after its
 * last one. The answer has `next` if the list continues. */
struct page {
    size_t from, end;
};

static struct page get_page(const struct control_request *request, size_t count)
{
    int64_t from = control_number(request, "from", 0), limit = control_number(request, "limit", MAX_RULES);
    struct page page = { .from = from < 0 || (uint64_t)from > count ? count : (size_t)from };

    if (limit < 0 || limit > MAX_RULES)
        limit = MAX_RULES;
    page.end = count - page.from < (size_t)limit ? count : page.from + (size_t)limit;
    return page;
}

void service_list_rules(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct rule_list *rules = ruleset_rules(*service->options.ruleset);
    struct page page = get_page(request, rule_list_count(rules));
    struct text *out = control_answer(request);

    json_object_open(out, NULL);
    json_uint(out, "loaded", rule_list_count(rules));
    json_array_open(out, "rules");
    for (size_t i = page.from; i < page.end; i++) {
        const struct rule *rule = rule_list_get(rules, i);

        json_object_open(out, NULL);
        json_uint(out, "gid", rule->gid);
        json_uint(out, "signature_id", rule->sid);
        json_uint(out, "rev", rule->revision);
        json_string(out, "action", rule_action_name(rule->action));
        json_string(out, "signature", rule->message);
        json_string(out, "category", rule->class_name);
        json_string(out, "file", rule->file);
        json_uint(out, "line", rule->line);
        json_object_close(out);
    }
    json_array_close(out);
    if (page.end < rule_list_count(rules))
        json_uint(out, "next", page.end);
    json_object_close(out);
}

void service_list_failed_rules(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct rule_list *rules = ruleset_rules(*service->options.ruleset);
    size_t count = rule_list_failure_count(rules);
    struct page page = get_page(request, count);
    struct text *out = control_answer(request);

    json_object_open(out, NULL);
    json_uint(out, "failed", rule_list_failed(rules));
    json_uint(out, "skipped", rule_list_skipped(rules));
    json_uint(out, "files_failed", rule_list_unreadable_files(rules));
    json_array_open(out, "rules");
    for (size_t i = page.from; i < page.end; i++) {
        const struct rule_failure *failure = rule_list_failure(rules, i);

        json_object_open(out, NULL);
        json_string(out, "kind", rule_failure_kind_name(failure->kind));
        json_string(out, "file", failure->file);
        if (failure->line > 0)
            json_uint(out, "line", failure->line);
        if (failure->sid > 0) {
            json_uint(out, "gid", failure->gid);
            json_uint(out, "signature_id", failure->sid);
        }
        json_string(out, "reason", failure->reason);
        json_object_close(out);
    }
    json_array_close(out);
    if (page.end < count)
        json_uint(out, "next", page.end);
    json_object_close(out);
}

/* --- Suricata's forms of the lists ---------------------------------------------------------------- */

void service_list_failures(void *user, struct control_request *request)
{
    const struct rule_list *rules = ruleset_rules(*((const struct service *)user)->options.ruleset);
    struct text *out = control_answer(request);

    json_array_open(out, NULL);
    for (size_t i = 0; i < rule_list_failure_count(rules); i++) {
        const struct rule_failure *failure = rule_list_failure(rules, i);

        json_object_open(out, NULL);
        json_uint(out, "tenant_id", 0);
        json_stringn(out, "rule", failure->text.at ? failure->text.at : "", failure->text.length);
        json_string(out, "filename", failure->file);
        json_uint(out, "line", failure->line);
        json_string(out, "reason", failure->reason);
        json_object_close(out);
    }
    json_array_close(out);
}

void service_show_ruleset(void *user, struct control_request *request)
{
    const struct rule_list *rules = ruleset_rules(*((const struct service *)user)->options.ruleset);
    struct text *out = control_answer(request);

    json_array_open(out, NULL);
    json_object_open(out, NULL);
    json_uint(out, "id", 0);
    json_uint(out, "rules_loaded", rule_list_count(rules));
    json_uint(out, "rules_failed", rule_list_failed(rules));
    json_uint(out, "rules_skipped", rule_list_skipped(rules));
    json_object_close(out);
    json_array_close(out);
}

void service_show_reload_time(void *user, struct control_request *request)
{
    const struct service *service = user;
    struct text *out = control_answer(request);

    json_array_open(out, NULL);
    json_object_open(out, NULL);
    json_uint(out, "id", 0);
    output_time(out, "last_reload", ruleset_loaded_ns(*service->options.ruleset));
    json_object_close(out);
    json_array_close(out);
}

/* --- reload --------------------------------------------------------------------------------------- */

static void put_mistakes(struct text *out, const struct diag *diag)
{
    const struct diag_entry *entries[SELECTED_DIAGNOSTICS];
    size_t picked = setup_select_diagnostics(diag, entries);

    for (size_t i = 0; i < picked; i++) {
        const struct diag_entry *entry = entries[i];

        text_puts(out, "\n");
        if (entry->file && entry->line > 0)
            text_printf(out, "%s:%u:%u: ", entry->file, (unsigned)entry->line, (unsigned)entry->column);
        else if (entry->file)
            text_printf(out, "%s: ", entry->file);
        text_printf(out, "%s: ", diag_severity_name(entry->severity));
        text_puts(out, entry->message);
    }
    if (diag_count(diag) > picked)
        text_printf(out, "\n... and %zu more (`sluice check` shows all)", diag_count(diag) - picked);
}

static void put_failure(struct text *out, const struct reload_result *result)
{
    struct text message;

    text_init(&message);
    text_printf(&message, "rules and settings unchanged (generation %u): %s", result->generation, result->cause);
    put_mistakes(&message, result->diag);
    json_stringn(out, NULL, message.bytes ? message.bytes : "", message.length);
    text_clear(&message);
}

static void put_success(struct text *out, const struct reload_result *result)
{
    struct text mistakes;

    text_init(&mistakes);
    put_mistakes(&mistakes, result->diag);
    json_object_open(out, NULL);
    json_uint(out, "generation", result->generation);
    json_uint(out, "rules", result->rules);
    json_uint(out, "failed", result->failed);
    json_uint(out, "skipped", result->skipped);
    json_double(out, "seconds", result->seconds);
    if (mistakes.length > 1)
        json_stringn(out, "mistakes", mistakes.bytes + 1, mistakes.length - 1);
    json_object_close(out);
    text_clear(&mistakes);
}

void service_tell_reload(struct service *service, const struct reload_result *result)
{
    for (unsigned i = service->waiting_count; i-- > 0;) {
        const struct waiting_client client = service->waiting[i];
        struct text *out;

        if (client.number > result->number)
            continue;
        service->waiting[i] = service->waiting[--service->waiting_count];
        out = service->server ? control_answer_later(service->server, client.ticket, result->error == 0) : NULL;
        if (!out)
            continue; /* the client has closed the connection */
        if (result->error)
            put_failure(out, result);
        else if (client.brief)
            json_string(out, NULL, "done");
        else
            put_success(out, result);
        control_finish_later(service->server, client.ticket);
    }
}

/* Starts a reload. A running reload may have read the files before they were changed, so the client waits for the next
 * one. */
static void start_reload(struct service *service, struct control_request *request, bool wait, bool brief)
{
    const struct reload_result *last = reload_last(service->options.reload);
    bool busy = reload_state(service->options.reload) == RELOAD_BUILDING ||
                reload_state(service->options.reload) == RELOAD_TAKING;
    unsigned number = (last ? last->number : 0) + (busy ? 2 : 1);

    if (reload_is_stuck(service->options.reload)) {
        control_fail(request, "the previous reload is hung: run `sluice upgrade` to replace the engine");
        return;
    }
    if (wait && service->waiting_count == SERVICE_MAX_TICKETS) {
        control_fail(request, "too many clients wait for a reload");
        return;
    }
    if (wait)
        service->waiting[service->waiting_count++] =
            (struct waiting_client){ .ticket = control_defer(request), .number = number, .brief = brief };
    else
        json_string(control_answer(request), NULL, brief ? "done" : "the reload has begun");
    service->options.begin_reload(service->options.user);
}

void service_reload(void *user, struct control_request *request)
{
    start_reload(user, request, true, false);
}

void service_reload_later(void *user, struct control_request *request)
{
    start_reload(user, request, false, false);
}

void service_reload_brief(void *user, struct control_request *request)
{
    start_reload(user, request, true, true);
}

void service_reload_later_brief(void *user, struct control_request *request)
{
    start_reload(user, request, false, true);
}
