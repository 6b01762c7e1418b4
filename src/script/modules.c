/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The libraries suricata.hashing, suricata.base64 and suricata.log. Their work is counted as instructions. */
#ifdef SLUICE_LUA

#include <lauxlib.h>
#include <lua.h>
#include <nettle/nettle-meta.h>
#include <string.h>

#include "script_priv.h"
#include "sluice/base64.h"
#include "sluice/hex.h"
#include "sluice/log.h"

enum { HASHED_BYTES_PER_INSTRUCTION = 16, CODED_BYTES_PER_INSTRUCTION = 16, DIGEST_MAX = 32 };

/* --- suricata.hashing ----------------------------------------------------------------------------- */

static const struct nettle_hash *const hashes[] = { &nettle_sha256, &nettle_sha1, &nettle_md5 };
enum { HASHES = sizeof(hashes) / sizeof(hashes[0]) };
static const char hasher_type[] = "suricata.hashing.hasher";

struct hasher {
    const struct nettle_hash *hash;
    bool finalized;
    _Alignas(16) uint8_t context[];
};

static void push_digest(lua_State *lua, const struct nettle_hash *hash, void *context, bool as_hex)
{
    uint8_t digest[DIGEST_MAX];
    char text[2 * DIGEST_MAX];

    hash->digest(context, hash->digest_size, digest);
    if (as_hex)
        hex_write(text, digest, hash->digest_size);
    lua_pushlstring(lua, as_hex ? text : (const char *)digest, hash->digest_size << as_hex);
}

static struct hasher *new_hasher(lua_State *lua, const struct nettle_hash *hash)
{
    struct hasher *hasher = lua_newuserdatauv(lua, sizeof(*hasher) + hash->context_size, 0);

    hasher->hash = hash;
    hasher->finalized = false;
    hash->init(hasher->context);
    return hasher;
}

static void update_hasher(lua_State *lua, struct hasher *hasher, int argument)
{
    size_t length;
    const char *bytes = luaL_checklstring(lua, argument, &length);

    script_charge(lua, length / HASHED_BYTES_PER_INSTRUCTION + 1);
    hasher->hash->update(hasher->context, length, (const uint8_t *)bytes);
}

/* The upvalue is the index in `hashes`. */
static int hash_text(lua_State *lua, bool as_hex)
{
    struct hasher *hasher = new_hasher(lua, hashes[lua_tointeger(lua, lua_upvalueindex(1))]);

    update_hasher(lua, hasher, 1);
    push_digest(lua, hasher->hash, hasher->context, as_hex);
    return 1;
}

static int digest(lua_State *lua)
{
    return hash_text(lua, false);
}

static int hex_digest(lua_State *lua)
{
    return hash_text(lua, true);
}

static int create_hasher(lua_State *lua)
{
    new_hasher(lua, hashes[lua_tointeger(lua, lua_upvalueindex(1))]);
    luaL_setmetatable(lua, hasher_type);
    return 1;
}

static struct hasher *check_hasher(lua_State *lua)
{
    struct hasher *hasher = luaL_checkudata(lua, 1, hasher_type);

    if (hasher->finalized)
        luaL_error(lua, "hasher is already finalized");
    return hasher;
}

static int hasher_update(lua_State *lua)
{
    update_hasher(lua, check_hasher(lua), 2);
    return 0;
}

static int finalize(lua_State *lua, bool as_hex)
{
    struct hasher *hasher = check_hasher(lua);

    hasher->finalized = true;
    push_digest(lua, hasher->hash, hasher->context, as_hex);
    return 1;
}

static int hasher_finalize(lua_State *lua)
{
    return finalize(lua, false);
}

static int hasher_finalize_to_hex(lua_State *lua)
{
    return finalize(lua, true);
}

static int open_hashing(lua_State *lua)
{
    static const luaL_Reg methods[] = {
        { "update", hasher_update },
        { "finalize", hasher_finalize },
        { "finalize_to_hex", hasher_finalize_to_hex },
        { NULL, NULL },
    };
    static const struct {
        const char *format;
        lua_CFunction function;
    } functions[] = { { "%s_digest", digest }, { "%s_hex_digest", hex_digest }, { "%s", create_hasher } };

    luaL_newmetatable(lua, hasher_type);
    luaL_newlib(lua, methods);
    lua_setfield(lua, -2, "__index");
    lua_pop(lua, 1);
    lua_createtable(lua, 0, HASHES * 3);
    for (int i = 0; i < HASHES; i++) {
        for (unsigned k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
            lua_pushfstring(lua, functions[k].format, hashes[i]->name);
            lua_pushinteger(lua, i);
            lua_pushcclosure(lua, functions[k].function, 1);
            lua_rawset(lua, -3);
        }
    }
    return 1;
}

/* --- suricata.base64 ------------------------------------------------------------------------------ */

static const char *check_text(lua_State *lua, size_t *length)
{
    const char *text = luaL_checklstring(lua, 1, length);

    if (*length > UINT32_MAX / 2)
        luaL_error(lua, "the text is too long");
    script_charge(lua, *length / CODED_BYTES_PER_INSTRUCTION + 1);
    return text;
}

static int encode(lua_State *lua, bool padded)
{
    size_t length, size;
    const char *text = check_text(lua, &length);
    luaL_Buffer out;
    char *to;

    size = base64_encoded_size(length);
    to = luaL_buffinitsize(lua, &out, size);
    base64_encode(text, length, to);
    while (!padded && size > 0 && to[size - 1] == '=')
        size--;
    luaL_pushresultsize(&out, size);
    return 1;
}

static int base64_encode_padded(lua_State *lua)
{
    return encode(lua, true);
}

static int base64_encode_nopad(lua_State *lua)
{
    return encode(lua, false);
}

static int base64_decode_padded(lua_State *lua)
{
    size_t length;
    const char *text = check_text(lua, &length);
    luaL_Buffer out;
    uint8_t *to = (uint8_t *)luaL_buffinitsize(lua, &out, base64_decoded_size((uint32_t)length));
    uint32_t size = base64_decode(text, (uint32_t)length, BASE64_STRICT, to);

    if (size == 0)
        return luaL_error(lua, "base64 decoding failed");
    luaL_pushresultsize(&out, size);
    return 1;
}

/* Completes the last group, and decodes the text as one with padding. */
static int base64_decode_nopad(lua_State *lua)
{
    size_t length;
    const char *text = check_text(lua, &length);
    luaL_Buffer padded;

    if (memchr(text, '=', length))
        return luaL_error(lua, "base64 decoding failed");
    luaL_buffinit(lua, &padded);
    luaL_addlstring(&padded, text, length);
    for (size_t i = length; i % 4 != 0; i++)
        luaL_addchar(&padded, '=');
    luaL_pushresult(&padded);
    lua_replace(lua, 1);
    return base64_decode_padded(lua);
}

static int open_base64(lua_State *lua)
{
    static const luaL_Reg functions[] = {
        { "encode", base64_encode_padded },
        { "encode_nopad", base64_encode_nopad },
        { "decode", base64_decode_padded },
        { "decode_nopad", base64_decode_nopad },
        { NULL, NULL },
    };

    luaL_newlib(lua, functions);
    return 1;
}

/* --- suricata.log --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum log_level level;
} levels[] = {
    { "error", LOG_LEVEL_ERROR }, { "warning", LOG_LEVEL_WARNING }, { "notice", LOG_LEVEL_NOTICE },
    { "info", LOG_LEVEL_INFO },   { "perf", LOG_LEVEL_INFO },       { "config", LOG_LEVEL_INFO },
    { "debug", LOG_LEVEL_DEBUG },
};

/* The upvalue is the level. */
static int log_text(lua_State *lua)
{
    size_t length;
    const char *text = luaL_checklstring(lua, 1, &length);

    script_log(lua, (uint8_t)lua_tointeger(lua, lua_upvalueindex(1)), text, length);
    return 0;
}

static int open_log(lua_State *lua)
{
    enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

    lua_createtable(lua, 0, LEVELS);
    for (int i = 0; i < LEVELS; i++) {
        lua_pushinteger(lua, levels[i].level);
        lua_pushcclosure(lua, log_text, 1);
        lua_setfield(lua, -2, levels[i].name);
    }
    return 1;
}

const struct script_library script_modules[] = {
    { "suricata.hashing", open_hashing },
    { "suricata.base64", open_base64 },
    { "suricata.log", open_log },
    { NULL, NULL },
};

#endif
