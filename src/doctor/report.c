/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the report as text or as JSON. Both have the same content, and its order is always the same for one ruleset.
 */
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"

enum { WIDTH = 100, INDENT = 4 };

/* Writes `label` and `words`, wrapped at WIDTH and with each line indented. */
static void write_wrapped(struct text *out, const char *label, const char *words)
{
    size_t column = INDENT + strlen(label);

    text_printf(out, "    %s", label);
    while (*words) {
        size_t length = strcspn(words, " ");

        if (column + length + 1 > WIDTH && column > INDENT) {
            text_puts(out, "\n     ");
            column = INDENT + 1;
        }
        text_puts(out, " ");
        text_printable(out, words, length);
        column += length + 1;
        words += length;
        words += strspn(words, " ");
    }
    text_puts(out, "\n");
}

static void write_count(struct text *out, size_t count, const char *name)
{
    text_printf(out, "%zu %s%s", count, name, count == 1 ? "" : "s");
}

void doctor_print(struct text *out, const struct doctor_report *report)
{
    for (const struct doctor_finding *finding = report->findings; finding; finding = finding->next) {
        const struct netrules_chain *chain = finding->chain;
        const struct netrules_rule *rule = finding->rule;

        text_printf(out, "%s %s: %s\n", doctor_severity_name(finding->severity), finding->id, finding->what);
        if (finding->other)
            text_printf(out, "    in: %s\n", finding->other);
        if (chain) {
            const char *tool = !chain->table->legacy                  ? ""
                               : chain->table->family == NFPROTO_IPV6 ? "ip6tables-legacy "
                                                                      : "iptables-legacy ";

            text_printf(out, "    in: %stable %s %s, chain %s", tool, netrules_family_name(chain->table->family),
                        chain->table->name, chain->name);
            if (chain->base)
                text_printf(out, " (%s, priority %d)", netrules_hook_name(chain->table->family, chain->hook),
                            (int)chain->priority);
            text_puts(out, "\n");
        }
        if (chain && rule) {
            text_printf(out, "    %s %llu: %s", chain->table->legacy ? "number" : "handle",
                        (unsigned long long)rule->handle, finding->text);
            if (rule->comment && !strstr(finding->text, " comment \"")) {
                text_puts(out, " comment \"");
                text_printable(out, rule->comment, strlen(rule->comment));
                text_puts(out, "\"");
            }
            text_puts(out, "\n");
        }
        write_wrapped(out, "why:", finding->why);
        write_wrapped(out, "remedy:", finding->remedy);
    }
    if (report->queue_first == report->queue_last)
        text_printf(out, "queue %u: ", (unsigned)report->queue_first);
    else
        text_printf(out, "queues %u-%u: ", (unsigned)report->queue_first, (unsigned)report->queue_last);
    if (doctor_worst(report) == DOCTOR_NOTE)
        text_puts(out, "clean, ");
    else
        text_printf(out, "%zu broken, ", report->counts[DOCTOR_BROKEN]);
    write_count(out, report->counts[DOCTOR_WARNING], "warning");
    text_puts(out, ", ");
    write_count(out, report->counts[DOCTOR_NOTE], "note");
}

void doctor_print_json(struct text *out, const struct doctor_report *report)
{
    static const char *const verdicts[] = { "clean", "warnings", "broken" };

    json_object_open(out, NULL);
    json_string(out, "verdict", verdicts[doctor_worst(report)]);
    json_bool(out, "installed", report->installed);
    json_object_open(out, "queues");
    json_uint(out, "first", report->queue_first);
    json_uint(out, "last", report->queue_last);
    json_object_close(out);
    json_object_open(out, "counts");
    for (int severity = DOCTOR_BROKEN; severity >= DOCTOR_NOTE; severity--)
        json_uint(out, doctor_severity_name(severity), report->counts[severity]);
    json_object_close(out);
    json_array_open(out, "findings");
    for (const struct doctor_finding *finding = report->findings; finding; finding = finding->next) {
        const struct netrules_chain *chain = finding->chain;

        json_object_open(out, NULL);
        json_string(out, "severity", doctor_severity_name(finding->severity));
        json_string(out, "id", finding->id);
        json_string(out, "what", finding->what);
        if (chain) {
            json_object_open(out, "rule");
            json_string(out, "source", chain->table->legacy ? "iptables-legacy" : "nft");
            json_string(out, "family", netrules_family_name(chain->table->family));
            json_string(out, "table", chain->table->name);
            json_string(out, "chain", chain->name);
            if (chain->base) {
                json_string(out, "hook", netrules_hook_name(chain->table->family, chain->hook));
                json_int(out, "priority", chain->priority);
            }
            if (finding->rule) {
                json_uint(out, chain->table->legacy ? "number" : "handle", finding->rule->handle);
                json_string(out, "text", finding->text);
                json_string(out, "comment", finding->rule->comment);
            }
            json_object_close(out);
        }
        json_string(out, "other", finding->other);
        json_string(out, "why", finding->why);
        json_string(out, "remedy", finding->remedy);
        json_object_close(out);
    }
    json_array_close(out);
    json_object_close(out);
}
