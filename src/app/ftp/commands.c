/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the commands that the parser interprets. All other commands are FTP_OTHER. */
#include <strings.h>

#include "ftp_priv.h"

static const char *const names[] = {
    [FTP_OTHER] = "",        [FTP_PORT] = "PORT", [FTP_EPRT] = "EPRT", [FTP_PASV] = "PASV", [FTP_EPSV] = "EPSV",
    [FTP_AUTH_TLS] = "AUTH", [FTP_RETR] = "RETR", [FTP_STOR] = "STOR", [FTP_APPE] = "APPE", [FTP_STOU] = "STOU",
    [FTP_LIST] = "LIST",     [FTP_NLST] = "NLST", [FTP_MLSD] = "MLSD",
};

const char *ftp_command_name(enum ftp_command command)
{
    return names[command];
}

enum ftp_command ftp_command_find(const uint8_t *word, uint32_t length)
{
    for (unsigned i = FTP_OTHER + 1; length == 4 && i < sizeof(names) / sizeof(names[0]); i++)
        if (strncasecmp(names[i], (const char *)word, 4) == 0)
            return (enum ftp_command)i;
    return FTP_OTHER;
}
