/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of an event file for `sluice alerts`, and answers of the daemon for `sluice top`; the engine may be in the
 * hands of an attacker. The contract: no line that is printed has control characters, and none is longer than the
 * screen.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/alert_line.h"
#include "cli/top.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_printable(const char *text)
{
    for (; *text; text++)
        require((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void read_alert(const char *line, size_t size)
{
    const struct alert_filter all = { 0 };
    struct alert_filter some = { .severity = 2 };
    struct text out;

    text_init(&out);
    require(alert_network_parse("10.0.0.0/8", &some.host) == 0);
    if (alert_line_read(line, size, &all, false, &out) > 0)
        check_printable(out.bytes);
    text_reset(&out);
    require(alert_line_read(line, size, &some, false, &out) <= 1);
    text_clear(&out);
}

static void read_answer(const char *line, size_t size)
{
    struct top_screen screen = { NULL, 0, 0 };
    struct top_model *model = NULL;
    struct top_view view;

    top_view_init(&view);
    require(top_model_new(&model) == 0);
    for (unsigned i = 0; i < 2; i++) {
        const char *cause;
        struct control_reply reply = { .whole = control_value_parse(line, size, &cause) };

        reply.message = reply.whole;
        if (!reply.whole)
            break;
        top_model_update(model, &reply);
        for (view.panel = 0; view.panel < TOP_PANELS; view.panel++) {
            view.height = i ? 0 : TOP_HEIGHT;
            require(top_render(model, &view, &screen) == 0);
            for (size_t k = 0; k < screen.count; k++) {
                check_printable(screen.lines[k].text);
                require(strlen(screen.lines[k].text) <= view.width); /* without UTF-8 a byte is a column */
            }
        }
    }
    top_model_free(model);
    top_screen_clear(&screen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = malloc(size + 1);

    require(line);
    memcpy(line, data, size);
    line[size] = '\0';
    read_alert(line, size);
    read_answer(line, size);
    free(line);
    return 0;
}
