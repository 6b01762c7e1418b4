/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of NFS and RPC numbers. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nfs_priv.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct name_entry {
    uint32_t number;
    const char *name;
};

static const struct name_entry procedures_2[] = {
    { 0, "NULL" },  { 1, "GETATTR" },    { 2, "SETATTR" }, { 3, "ROOT" },   { 4, "LOOKUP" },   { 5, "READLINK" },
    { 6, "READ" },  { 7, "WRITECACHE" }, { 8, "WRITE" },   { 9, "CREATE" }, { 10, "REMOVE" },  { 11, "RENAME" },
    { 12, "LINK" }, { 13, "SYMLINK" },   { 14, "MKDIR" },  { 15, "RMDIR" }, { 16, "READDIR" }, { 17, "STATFS" },
};

static const struct name_entry procedures_3[] = {
    { 0, "NULL" },    { 1, "GETATTR" }, { 2, "SETATTR" },   { 3, "LOOKUP" },  { 4, "ACCESS" },   { 5, "READLINK" },
    { 6, "READ" },    { 7, "WRITE" },   { 8, "CREATE" },    { 9, "MKDIR" },   { 10, "SYMLINK" }, { 11, "MKNOD" },
    { 12, "REMOVE" }, { 13, "RMDIR" },  { 14, "RENAME" },   { 15, "LINK" },   { 16, "READDIR" }, { 17, "READDIRPLUS" },
    { 18, "FSSTAT" }, { 19, "FSINFO" }, { 20, "PATHCONF" }, { 21, "COMMIT" },
};

static const struct name_entry procedures_4[] = {
    { 0, "NULL" },
    { 1, "COMPOUND" },
    { 3, "ACCESS" },
    { 4, "CLOSE" },
    { 5, "COMMIT" },
    { 6, "CREATE" },
    { 7, "DELEGPURGE" },
    { 8, "DELEGRETURN" },
    { 9, "GETATTR" },
    { 10, "GETFH" },
    { 11, "LINK" },
    { 12, "LOCK" },
    { 13, "LOCKT" },
    { 14, "LOCKU" },
    { 15, "LOOKUP" },
    { 16, "LOOKUPP" },
    { 17, "NVERIFY" },
    { 18, "OPEN" },
    { 19, "OPENATTR" },
    { 20, "OPEN_CONFIRM" },
    { 21, "OPEN_DOWNGRADE" },
    { 22, "PUTFH" },
    { 23, "PUTPUBFH" },
    { 24, "PUTROOTFH" },
    { 25, "READ" },
    { 26, "READDIR" },
    { 27, "READLINK" },
    { 28, "REMOVE" },
    { 29, "RENAME" },
    { 30, "RENEW" },
    { 31, "RESTOREFH" },
    { 32, "SAVEFH" },
    { 33, "SECINFO" },
    { 34, "SETATTR" },
    { 35, "SETCLIENTID" },
    { 36, "SETCLIENTID_CONFIRM" },
    { 37, "VERIFY" },
    { 38, "WRITE" },
    { 39, "RELEASE_LOCKOWNER" },
    { 42, "EXCHANGE_ID" },
    { 43, "CREATE_SESSION" },
    { 44, "DESTROY_SESSION" },
    { 47, "GETDEVINFO" },
    { 50, "LAYOUTGET" },
    { 52, "SECINFO_NO_NAME" },
    { 53, "SEQUENCE" },
    { 57, "DESTROY_CLIENTID" },
    { 58, "RECLAIM_COMPLETE" },
    { 10044, "ILLEGAL" },
};

static const struct name_entry statuses[] = {
    { 0, "OK" },
    { 1, "ERR_PERM" },
    { 2, "ERR_NOENT" },
    { 5, "ERR_IO" },
    { 6, "ERR_NXIO" },
    { 13, "ERR_ACCES" },
    { 17, "ERR_EXIST" },
    { 18, "ERR_XDEV" },
    { 19, "ERR_NODEV" },
    { 20, "ERR_NOTDIR" },
    { 21, "ERR_ISDIR" },
    { 22, "ERR_INVAL" },
    { 27, "ERR_FBIG" },
    { 28, "ERR_NOSPC" },
    { 30, "ERR_ROFS" },
    { 31, "ERR_MLINK" },
    { 63, "ERR_NAMETOOLONG" },
    { 66, "ERR_NOTEMPTY" },
    { 69, "ERR_DQUOT" },
    { 70, "ERR_STALE" },
    { 71, "ERR_REMOTE" },
    { 10001, "ERR_BADHANDLE" },
    { 10002, "ERR_NOT_SYNC" },
    { 10003, "ERR_BAD_COOKIE" },
    { 10004, "ERR_NOTSUPP" },
    { 10005, "ERR_TOOSMALL" },
    { 10006, "ERR_SERVERFAULT" },
    { 10007, "ERR_BADTYPE" },
    { 10008, "ERR_JUKEBOX" },
};

static const struct name_entry rpc_statuses[] = {
    { 0, "ACCEPTED" },
    { 1, "DENIED" },
};

static const struct name_entry auth_types[] = {
    { 0, "NULL" }, { 1, "UNIX" }, { 2, "SHORT" }, { 3, "DH" }, { 4, "KERB" }, { 5, "RSA" }, { 6, "GSS" },
};

static const struct {
    const struct name_entry *names;
    size_t count;
} procedures[] = {
    [2] = { procedures_2, COUNT(procedures_2) },
    [3] = { procedures_3, COUNT(procedures_3) },
    [4] = { procedures_4, COUNT(procedures_4) },
};

static const char *find_name(const struct name_entry *names, size_t count, uint32_t number, char text[NFS_NUMBER_TEXT])
{
    for (size_t i = 0; i < count; i++)
        if (names[i].number == number)
            return names[i].name;
    snprintf(text, NFS_NUMBER_TEXT, "%u", number);
    return text;
}

const char *nfs_procedure_name(uint8_t version, uint32_t procedure, char text[NFS_NUMBER_TEXT])
{
    bool known = version >= 2 && version <= 4;

    return find_name(known ? procedures[version].names : NULL, known ? procedures[version].count : 0, procedure, text);
}

int32_t nfs_procedure_number(uint8_t version, const char *name, size_t length)
{
    for (size_t i = 0; version >= 2 && version <= 4 && i < procedures[version].count; i++) {
        const struct name_entry *procedure = &procedures[version].names[i];

        if (strlen(procedure->name) == length && strncasecmp(procedure->name, name, length) == 0)
            return (int32_t)procedure->number;
    }
    return -1;
}

const char *nfs_status_name(uint32_t status, char text[NFS_NUMBER_TEXT])
{
    return find_name(statuses, COUNT(statuses), status, text);
}

const char *nfs_rpc_status_name(uint32_t status, char text[NFS_NUMBER_TEXT])
{
    return find_name(rpc_statuses, COUNT(rpc_statuses), status, text);
}

const char *nfs_auth_name(uint32_t type, char text[NFS_NUMBER_TEXT])
{
    return find_name(auth_types, COUNT(auth_types), type, text);
}
