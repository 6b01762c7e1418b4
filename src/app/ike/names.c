/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of IKE numbers in EVE events (IANA: "Internet Key Exchange (IKE) Attributes", "IKEv2 Parameters"). */
#include "ike_priv.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct name_entry {
    uint16_t number;
    const char *name;
};

static const char *find_name(const struct name_entry *names, size_t count, uint16_t number)
{
    for (size_t i = 0; i < count; i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

/* Attribute types with a key in the EVE schema. */
static const struct name_entry keys[] = {
    { 1, "alg_enc" },       { 2, "alg_hash" },          { 3, "alg_auth" },       { 4, "alg_dh" },
    { 11, "sa_life_type" }, { 12, "sa_life_duration" }, { 14, "sa_key_length" },
};

const char *ike_attribute_key(uint16_t type)
{
    return find_name(keys, COUNT(keys), type);
}

/* Names of attribute values; the first element is the name of value 1. */
static const char *const encryptions[] = { "EncDesCbc",       "EncIdeaCbc", "EncBlowfishCbc", "EncRc5R16B64Cbc",
                                           "EncTripleDesCbc", "EncCastCbc", "EncAesCbc",      "EncCamelliaCbc" };

static const char *const hashes[] = {
    "HashMd5", "HashSha", "HashTiger", "HashSha2_256", "HashSha2_384", "HashSha2_512"
};

static const char *const authentications[] = { "AuthPreSharedKey",
                                               "AuthDssSignatures",
                                               "AuthRsaSignatures",
                                               "AuthEncryptionWithRsa",
                                               "AuthRevisedEncryptionWithRsa",
                                               "AuthReserved",
                                               "AuthReserved",
                                               "AuthReserved",
                                               "AuthEcdsaSha256",
                                               "AuthEcdsaSha384",
                                               "AuthEcdsaSha512" };

static const char *const groups[] = { "GroupDefault768BitModp",
                                      "GroupAlternate1024BitModpGroup",
                                      "GroupEc2nOnGp2p155",
                                      "GroupEc2nOnGp2p185",
                                      "GroupModp1536Bit",
                                      "GroupEc2nOverGf2p163",
                                      "GroupEc2nOverGf2p163",
                                      "GroupEc2nOverGf2p283",
                                      "GroupEc2nOverGf2p283",
                                      "GroupEc2nOverGf2p409",
                                      "GroupEc2nOverGf2p409",
                                      "GroupEc2nOverGf2p571",
                                      "GroupEc2nOverGf2p571",
                                      "GroupModp2048Bit",
                                      "GroupModp3072Bit",
                                      "GroupModp4096Bit",
                                      "GroupModp6144Bit",
                                      "GroupModp8192Bit",
                                      "GroupRandomEcp256",
                                      "GroupRandomEcp384",
                                      "GroupRandomEcp521",
                                      "GroupModp1024With160BitPrime",
                                      "GroupModp2048With224BitPrime",
                                      "GroupModp2048With256BitPrime",
                                      "GroupRandomEcp192",
                                      "GroupRandomEcp224",
                                      "GroupBrainpoolEcp224",
                                      "GroupBrainpoolEcp256",
                                      "GroupBrainpoolEcp384",
                                      "GroupBrainpoolEcp512" };

static const char *const life_types[] = { "LifeTypeSeconds", "LifeTypeKilobytes" };

static const struct {
    uint16_t type;
    const char *const *names;
    size_t count;
} values[] = {
    { 1, encryptions, COUNT(encryptions) },         { 2, hashes, COUNT(hashes) },
    { 3, authentications, COUNT(authentications) }, { 4, groups, COUNT(groups) },
    { 11, life_types, COUNT(life_types) },
};

const char *ike_attribute_value(uint16_t type, uint32_t number)
{
    for (size_t i = 0; i < COUNT(values); i++)
        if (values[i].type == type && number > 0 && number <= values[i].count)
            return values[i].names[number - 1];
    return "Unknown";
}

static const struct name_entry payloads_v1[] = {
    { 0, "None" },
    { 1, "SecurityAssociation" },
    { 2, "Proposal" },
    { 3, "Transform" },
    { 4, "KeyExchange" },
    { 5, "Identification" },
    { 6, "Certificate" },
    { 7, "CertificateRequest" },
    { 8, "Hash" },
    { 9, "Signature" },
    { 10, "Nonce" },
    { 11, "Notification" },
    { 12, "Delete" },
    { 13, "VendorID" },
    { 15, "SaKekPayload" },
    { 16, "SaTekPayload" },
    { 17, "KeyDownload" },
    { 18, "SequenceNumber" },
    { 19, "ProofOfPossession" },
    { 20, "NatDiscovery" },
    { 21, "NatOriginalAddress" },
    { 22, "GroupAssociatedPolicy" },
};

static const struct name_entry payloads_v2[] = {
    { 0, "NoNextPayload" },
    { 33, "SecurityAssociation" },
    { 34, "KeyExchange" },
    { 35, "IdentInitiator" },
    { 36, "IdentResponder" },
    { 37, "Certificate" },
    { 38, "CertificateRequest" },
    { 39, "Authentication" },
    { 40, "Nonce" },
    { 41, "Notify" },
    { 42, "Delete" },
    { 43, "VendorID" },
    { 44, "TrafficSelectorInitiator" },
    { 45, "TrafficSelectorResponder" },
    { 46, "EncryptedAndAuthenticated" },
    { 47, "Configuration" },
    { 48, "ExtensibleAuthentication" },
    { 49, "GenericSecurePasswordMethod" },
    { 53, "EncryptedFragment" },
};

const char *ike_payload_name(uint8_t major, uint8_t type)
{
    return major == 1 ? find_name(payloads_v1, COUNT(payloads_v1), type)
                      : find_name(payloads_v2, COUNT(payloads_v2), type);
}

static const struct name_entry exchanges[] = {
    { 0, "Unknown Exchange Type" },     { 1, "Base" },        { 2, "Identity Protection" },
    { 3, "Authentication Only" },       { 4, "Aggressive" },  { 5, "Informational" },
    { 6, "Transaction (Config Mode)" }, { 32, "Quick Mode" }, { 33, "New Group Mode" },
};

const char *ike_exchange_name(uint8_t exchange)
{
    return find_name(exchanges, COUNT(exchanges), exchange);
}

static const struct name_entry notifies[] = {
    { 1, "UNSUPPORTED_CRITICAL_PAYLOAD" },
    { 4, "INVALID_IKE_SPI" },
    { 5, "INVALID_MAJOR_VERSION" },
    { 7, "INVALID_SYNTAX" },
    { 9, "INVALID_MESSAGE_ID" },
    { 11, "INVALID_SPI" },
    { 14, "NO_PROPOSAL_CHOSEN" },
    { 17, "INVALID_KE_PAYLOAD" },
    { 24, "AUTHENTICATION_FAILED" },
    { 34, "SINGLE_PAIR_REQUIRED" },
    { 35, "NO_ADDITIONAL_SAS" },
    { 36, "INTERNAL_ADDRESS_FAILURE" },
    { 37, "FAILED_CP_REQUIRED" },
    { 38, "TS_UNACCEPTABLE" },
    { 39, "INVALID_SELECTORS" },
    { 43, "TEMPORARY_FAILURE" },
    { 44, "CHILD_SA_NOT_FOUND" },
    { 16384, "INITIAL_CONTACT" },
    { 16385, "SET_WINDOW_SIZE" },
    { 16386, "ADDITIONAL_TS_POSSIBLE" },
    { 16387, "IPCOMP_SUPPORTED" },
    { 16388, "NAT_DETECTION_SOURCE_IP" },
    { 16389, "NAT_DETECTION_DESTINATION_IP" },
    { 16390, "COOKIE" },
    { 16391, "USE_TRANSPORT_MODE" },
    { 16392, "HTTP_CERT_LOOKUP_SUPPORTED" },
    { 16393, "REKEY_SA" },
    { 16394, "ESP_TFC_PADDING_NOT_SUPPORTED" },
    { 16395, "NON_FIRST_FRAGMENTS_ALSO" },
    { 16396, "MOBIKE_SUPPORTED" },
    { 16404, "MULTIPLE_AUTH_SUPPORTED" },
    { 16406, "REDIRECT_SUPPORTED" },
    { 16407, "REDIRECT" },
    { 16430, "IKEV2_FRAGMENTATION_SUPPORTED" },
    { 16431, "SIGNATURE_HASH_ALGORITHMS" },
};

const char *ike_notify_name(uint16_t type)
{
    return find_name(notifies, COUNT(notifies), type);
}

static const struct name_entry encryptions_v2[] = {
    { 1, "ENCR_DES_IV64" },
    { 2, "ENCR_DES" },
    { 3, "ENCR_3DES" },
    { 4, "ENCR_RC5" },
    { 5, "ENCR_IDEA" },
    { 6, "ENCR_CAST" },
    { 7, "ENCR_BLOWFISH" },
    { 8, "ENCR_3IDEA" },
    { 9, "ENCR_DES_IV32" },
    { 11, "ENCR_NULL" },
    { 12, "ENCR_AES_CBC" },
    { 13, "ENCR_AES_CTR" },
    { 14, "ENCR_AES_CCM_8" },
    { 15, "ENCR_AES_CCM_12" },
    { 16, "ENCR_AES_CCM_16" },
    { 18, "ENCR_AES_GCM_8" },
    { 19, "ENCR_AES_GCM_12" },
    { 20, "ENCR_AES_GCM_16" },
    { 21, "ENCR_NULL_AUTH_AES_GMAC" },
    { 23, "ENCR_CAMELLIA_CBC" },
    { 24, "ENCR_CAMELLIA_CTR" },
    { 25, "ENCR_CAMELLIA_CCM_8" },
    { 26, "ENCR_CAMELLIA_CCM_12" },
    { 27, "ENCR_CAMELLIA_CCM_16" },
    { 28, "ENCR_CHACHA20_POLY1305" },
};

static const struct name_entry authentications_v2[] = {
    { 0, "NONE" },
    { 1, "AUTH_HMAC_MD5_96" },
    { 2, "AUTH_HMAC_SHA1_96" },
    { 3, "AUTH_DES_MAC" },
    { 4, "AUTH_KPDK_MD5" },
    { 5, "AUTH_AES_XCBC_96" },
    { 6, "AUTH_HMAC_MD5_128" },
    { 7, "AUTH_HMAC_SHA1_160" },
    { 8, "AUTH_AES_CMAC_96" },
    { 9, "AUTH_AES_128_GMAC" },
    { 10, "AUTH_AES_192_GMAC" },
    { 11, "AUTH_AES_256_GMAC" },
    { 12, "AUTH_HMAC_SHA2_256_128" },
    { 13, "AUTH_HMAC_SHA2_384_192" },
    { 14, "AUTH_HMAC_SHA2_512_256" },
};

static const struct name_entry groups_v2[] = {
    { 0, "None" },
    { 1, "Modp768" },
    { 2, "Modp1024" },
    { 5, "Modp1536" },
    { 14, "Modp2048" },
    { 15, "Modp3072" },
    { 16, "Modp4096" },
    { 17, "Modp6144" },
    { 18, "Modp8192" },
    { 19, "Ecp256" },
    { 20, "Ecp384" },
    { 21, "Ecp521" },
    { 22, "Modp1024s160" },
    { 23, "Modp2048s224" },
    { 24, "Modp2048s256" },
    { 25, "Ecp192" },
    { 26, "Ecp224" },
    { 27, "BrainpoolP224r1" },
    { 28, "BrainpoolP256r1" },
    { 29, "BrainpoolP384r1" },
    { 30, "BrainpoolP512r1" },
    { 31, "Curve25519" },
    { 32, "Curve448" },
};

const char *ike_transform_name(unsigned type, uint16_t id)
{
    switch (type) {
    case IKE2_ENC:
        return find_name(encryptions_v2, COUNT(encryptions_v2), id);
    case IKE2_AUTH:
        return find_name(authentications_v2, COUNT(authentications_v2), id);
    case IKE2_DH:
        return find_name(groups_v2, COUNT(groups_v2), id);
    default:
        return NULL;
    }
}
