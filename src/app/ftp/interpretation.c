/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interpretations of a command line. RFC 959 4.1 requires the Telnet protocol on the control connection, but not all
 * servers implement it: ProFTPD removes Telnet commands, skips white space before an FTP command, and treats tabs like
 * blanks; pyftpdlib and vsftpd do none of this. If the two interpretations differ, the transaction contains both, and
 * rules inspect both.
 */
#include <errno.h>
#include <string.h>

#include "ftp_priv.h"

enum { TELNET_FIRST = 236, TELNET_SE = 240, TELNET_SB = 250, TELNET_WILL = 251, TELNET_DONT = 254, TELNET_IAC = 255 };

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void ftp_split_command(const uint8_t *line, uint32_t length, bool any_white_space, uint32_t *command_length,
                       uint32_t *argument_at)
{
    uint32_t at = 0;

    while (at < length && line[at] != ' ' && !(any_white_space && is_space(line[at])))
        at++;
    *command_length = at;
    at += at < length;
    while (any_white_space && at < length && is_space(line[at]))
        at++;
    *argument_at = at;
}

/* Returns the length of the Telnet command that begins with the IAC at bytes[0]; 0 if it is not one. An incomplete
 * command extends to the end of the line, but of a subnegotiation without an end only IAC SB is counted. */
static uint32_t telnet_length(const uint8_t *bytes, uint32_t length)
{
    if (length < 2)
        return 1;
    if (bytes[1] < TELNET_FIRST || bytes[1] == TELNET_IAC)
        return 0;
    if (bytes[1] >= TELNET_WILL && bytes[1] <= TELNET_DONT)
        return length < 3 ? length : 3;
    if (bytes[1] != TELNET_SB)
        return 2;
    for (uint32_t i = 2; i + 1 < length; i++)
        if (bytes[i] == TELNET_IAC && bytes[i + 1] == TELNET_SE)
            return i + 2;
    return 2;
}

/* Returns false if the interpretations are certainly equal. A cheap test, so that usual command lines are not copied.
 */
static bool interpretations_may_differ(const uint8_t *line, uint32_t length)
{
    uint32_t at = 0;

    if (length > 0 && is_space(line[0]))
        return true;
    while (at < length && !is_space(line[at]))
        at++;
    if (at < length && (line[at] != ' ' || (at + 1 < length && is_space(line[at + 1]))))
        return true;
    return memchr(line, TELNET_IAC, length) != NULL;
}

int ftp_interpret_telnet(struct heap *heap, const uint8_t *line, uint32_t length, struct buffer *out)
{
    uint32_t start = 0, at = 0, skipped;

    if (length == 0 || !interpretations_may_differ(line, length))
        return 0;
    while (start < length && is_space(line[start]))
        start++;
    for (at = start; at < length;) {
        const uint8_t *iac = memchr(line + at, TELNET_IAC, length - at);
        uint32_t end = iac ? (uint32_t)(iac - line) : length;

        skipped = iac ? telnet_length(iac, length - end) : 0;
        if (iac && skipped == 0)
            end++; /* IAC IAC stands for one byte 255; IAC before another byte is copied */
        if (buffer_append(heap, out, line + at, end - at, UINT16_MAX) < end - at)
            return -ENOMEM;
        at = end + skipped;
        if (iac && skipped == 0 && at < length && line[at] == TELNET_IAC)
            at++;
        /* White space between Telnet commands and the FTP command is skipped, too. */
        while (out->length == 0 && at < length && is_space(line[at]))
            at++;
    }
    return 0;
}
