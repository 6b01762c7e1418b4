/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of Kerberos numbers in EVE events and rules (RFC 3961, 4120, 4556 and IANA, "Kerberos Parameters"). */
#include <stdio.h>

#include "krb5_priv.h"

const struct number_name krb5_type_names[] = {
    { "as_req", 10 }, { "as_rep", 11 },     { "tgs_req", 12 },    { "tgs_rep", 13 }, { "ap_req", 14 },
    { "ap_rep", 15 }, { "reserved16", 16 }, { "reserved17", 17 }, { "safe", 20 },    { "priv", 21 },
    { "cred", 22 },   { "error", 30 },      { NULL, 0 },
};

const struct krb5_number_name krb5_encryption_names[] = {
    { "des-cbc-crc", 1 },
    { "des-cbc-md4", 2 },
    { "des-cbc-md5", 3 },
    { "des3-cbc-md5", 5 },
    { "des3-cbc-sha1", 7 },
    { "dsaWithSHA1-CmsOID", 9 },
    { "md5WithRSAEncryption-CmsOID", 10 },
    { "sha1WithRSAEncryption-CmsOID", 11 },
    { "rc2CBC-EnvOID", 12 },
    { "rsaEncryption-EnvOID", 13 },
    { "rsaES-OAEP-ENV-OID", 14 },
    { "des-ede3-cbc-Env-OID", 15 },
    { "des3-cbc-sha1-kd", 16 },
    { "aes128-cts-hmac-sha1-96", 17 },
    { "aes256-cts-hmac-sha1-96", 18 },
    { "aes128-cts-hmac-sha256-128", 19 },
    { "aes256-cts-hmac-sha384-192", 20 },
    { "rc4-hmac", 23 },
    { "rc4-hmac-exp", 24 },
    { "camellia128-cts-cmac", 25 },
    { "camellia256-cts-cmac", 26 },
    { "subkey-keymaterial", 65 },
    { "rc4-md4", -128 },
    { "rc4-plain2", -129 },
    { "rc4-lm", -130 },
    { "rc4-sha", -131 },
    { "des-plain", -132 },
    { "rc4-hmac-OLD", -133 },
    { "rc4-plain-OLD", -134 },
    { "rc4-hmac-OLD-exp", -135 },
    { "rc4-plain-OLD-exp", -136 },
    { "rc4-plain", -140 },
    { "rc4-plain-exp", -141 },
    { NULL, 0 },
};

const struct krb5_number_name krb5_error_names[] = {
    { "KDC_ERR_NONE", 0 },
    { "KDC_ERR_NAME_EXP", 1 },
    { "KDC_ERR_SERVICE_EXP", 2 },
    { "KDC_ERR_BAD_PVNO", 3 },
    { "KDC_ERR_C_OLD_MAST_KVNO", 4 },
    { "KDC_ERR_S_OLD_MAST_KVNO", 5 },
    { "KDC_ERR_C_PRINCIPAL_UNKNOWN", 6 },
    { "KDC_ERR_S_PRINCIPAL_UNKNOWN", 7 },
    { "KDC_ERR_PRINCIPAL_NOT_UNIQUE", 8 },
    { "KDC_ERR_NULL_KEY", 9 },
    { "KDC_ERR_CANNOT_POSTDATE", 10 },
    { "KDC_ERR_NEVER_VALID", 11 },
    { "KDC_ERR_POLICY", 12 },
    { "KDC_ERR_BADOPTION", 13 },
    { "KDC_ERR_ETYPE_NOSUPP", 14 },
    { "KDC_ERR_SUMTYPE_NOSUPP", 15 },
    { "KDC_ERR_PADATA_TYPE_NOSUPP", 16 },
    { "KDC_ERR_TRTYPE_NOSUPP", 17 },
    { "KDC_ERR_CLIENT_REVOKED", 18 },
    { "KDC_ERR_SERVICE_REVOKED", 19 },
    { "KDC_ERR_TGT_REVOKED", 20 },
    { "KDC_ERR_CLIENT_NOTYET", 21 },
    { "KDC_ERR_SERVICE_NOTYET", 22 },
    { "KDC_ERR_KEY_EXPIRED", 23 },
    { "KDC_ERR_PREAUTH_FAILED", 24 },
    { "KDC_ERR_PREAUTH_REQUIRED", 25 },
    { "KDC_ERR_SERVER_NOMATCH", 26 },
    { "KDC_ERR_MUST_USE_USER2USER", 27 },
    { "KDC_ERR_PATH_NOT_ACCEPTED", 28 },
    { "KDC_ERR_SVC_UNAVAILABLE", 29 },
    { "KRB_AP_ERR_BAD_INTEGRITY", 31 },
    { "KRB_AP_ERR_TKT_EXPIRED", 32 },
    { "KRB_AP_ERR_TKT_NYV", 33 },
    { "KRB_AP_ERR_REPEAT", 34 },
    { "KRB_AP_ERR_NOT_US", 35 },
    { "KRB_AP_ERR_BADMATCH", 36 },
    { "KRB_AP_ERR_SKEW", 37 },
    { "KRB_AP_ERR_BADADDR", 38 },
    { "KRB_AP_ERR_BADVERSION", 39 },
    { "KRB_AP_ERR_MSG_TYPE", 40 },
    { "KRB_AP_ERR_MODIFIED", 41 },
    { "KRB_AP_ERR_BADORDER", 42 },
    { "KRB_AP_ERR_BADKEYVER", 44 },
    { "KRB_AP_ERR_NOKEY", 45 },
    { "KRB_AP_ERR_MUT_FAIL", 46 },
    { "KRB_AP_ERR_BADDIRECTION", 47 },
    { "KRB_AP_ERR_METHOD", 48 },
    { "KRB_AP_ERR_BADSEQ", 49 },
    { "KRB_AP_ERR_INAPP_CKSUM", 50 },
    { "KRB_AP_PATH_NOT_ACCEPTED", 51 },
    { "KRB_ERR_RESPONSE_TOO_BIG", 52 },
    { "KRB_ERR_GENERIC", 60 },
    { "KRB_ERR_FIELD_TOOLONG", 61 },
    { "KDC_ERROR_CLIENT_NOT_TRUSTED", 62 },
    { "KDC_ERROR_KDC_NOT_TRUSTED", 63 },
    { "KDC_ERROR_INVALID_SIG", 64 },
    { "KDC_ERR_KEY_TOO_WEAK", 65 },
    { "KDC_ERR_CERTIFICATE_MISMATCH", 66 },
    { "KRB_AP_ERR_NO_TGT", 67 },
    { "KDC_ERR_WRONG_REALM", 68 },
    { "KRB_AP_ERR_USER_TO_USER_REQUIRED", 69 },
    { "KDC_ERR_CANT_VERIFY_CERTIFICATE", 70 },
    { "KDC_ERR_INVALID_CERTIFICATE", 71 },
    { "KDC_ERR_REVOKED_CERTIFICATE", 72 },
    { "KDC_ERR_REVOCATION_STATUS_UNKNOWN", 73 },
    { "KDC_ERR_REVOCATION_STATUS_UNAVAILABLE", 74 },
    { "KDC_ERR_CLIENT_NAME_MISMATCH", 75 },
    { "KDC_ERR_KDC_NAME_MISMATCH", 76 },
    { NULL, 0 },
};

/* Whether the encryption type is weak: all except AES and Camellia are. */
bool krb5_is_weak(int32_t encryption)
{
    return !((encryption >= 17 && encryption <= 20) || encryption == 25 || encryption == 26);
}

const char *krb5_number_name(const struct krb5_number_name *names, const char *kind, int32_t number,
                             char text[KRB5_NAME_TEXT])
{
    for (; names->name; names++)
        if (names->number == number)
            return names->name;
    snprintf(text, KRB5_NAME_TEXT, "%s(%d / 0x%x)", kind, number, (unsigned)number);
    return text;
}

const char *krb5_type_name(uint8_t type)
{
    switch (type) {
    case KRB5_AS_REQ:
        return "KRB_AS_REQ";
    case KRB5_AS_REP:
        return "KRB_AS_REP";
    case KRB5_TGS_REQ:
        return "KRB_TGS_REQ";
    case KRB5_TGS_REP:
        return "KRB_TGS_REP";
    case KRB5_AP_REQ:
        return "KRB_AP_REQ";
    case KRB5_AP_REP:
        return "KRB_AP_REP";
    case KRB5_ERROR:
        return "KRB_ERROR";
    default:
        return "UNKNOWN";
    }
}
