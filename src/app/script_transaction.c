/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries of scripts for the transactions of protocols. Names and results are those of Suricata 8.
 *
 * Most methods return a buffer, which is found by the name of its keyword; others return a value that the protocol
 * provides for scripts (app_proto.script_value). A buffer that does not exist, or has not been received yet, is nil,
 * with a message.
 */
#ifdef SLUICE_LUA

#include "script_priv.h"

#include <string.h>

#include "sluice/hex.h"

enum { CALL_INSTRUCTIONS = 50, VALUES_MAX = 4096 };

/* --- Transactions --------------------------------------------------------------------------------- */

/* Returns the transaction that the rule is evaluated on, if it is one of these protocols; otherwise NULL. */
static const struct app_tx *find_transaction(lua_State *lua, const char *const *protocols)
{
    const struct app_tx *tx = script_context(lua)->input->transaction;

    script_charge(lua, CALL_INSTRUCTIONS);
    for (; tx && *protocols; protocols++) {
        if (strcmp(tx->proto->name, *protocols) == 0)
            return tx;
    }
    return NULL;
}

static const char *const http_protocols[] = { "http", "http2", NULL };
static const char *const dns_protocols[] = { "dns", "mdns", "llmnr", NULL };
static const char *const tls_protocols[] = { "tls", NULL };
static const char *const ja3_protocols[] = { "tls", "quic", NULL };
static const char *const ssh_protocols[] = { "ssh", NULL };
static const char *const smtp_protocols[] = { "smtp", NULL };

/* The upvalues of a method: its name, its protocols, and a row of a table. */
enum { UPVALUE_PROTOCOLS = 1, UPVALUE_ROW, UPVALUES = UPVALUE_ROW };

static const char *const *protocols_of(lua_State *lua)
{
    return lua_touserdata(lua, lua_upvalueindex(UPVALUE_PROTOCOLS));
}

static const struct app_tx *transaction_of(lua_State *lua)
{
    const struct app_tx *tx = find_transaction(lua, protocols_of(lua));

    if (!tx)
        luaL_error(lua, "the rule is not evaluated on a transaction of %s", protocols_of(lua)[0]);
    return tx;
}

/* get_tx(); the second upvalue is the object. */
static int get_tx(lua_State *lua)
{
    if (!find_transaction(lua, protocols_of(lua)))
        return script_push_error(lua, "no transaction of the protocol");
    lua_pushvalue(lua, lua_upvalueindex(2));
    return 1;
}

static const struct app_buffer *find_buffer(const struct app_tx *tx, const char *keyword, enum flow_direction direction)
{
    for (size_t i = 0; i < tx->proto->buffer_count; i++) {
        const struct app_buffer *buffer = &tx->proto->buffers[i];

        if (buffer->directions >> direction & 1 && strcmp(buffer->keyword->name, keyword) == 0)
            return tx->progress[direction] >= buffer->progress || app_tx_is_complete(tx, direction) ? buffer : NULL;
    }
    return NULL;
}

static bool get_buffer(const struct app_tx *tx, const char *keyword, enum flow_direction direction, unsigned index,
                       struct app_bytes *out)
{
    const struct app_buffer *buffer = find_buffer(tx, keyword, direction);

    *out = (struct app_bytes){ .bytes = NULL };
    return buffer && buffer->get(tx, (struct app_selector){ direction, index, buffer->part }, out) && out->bytes;
}

static bool get_value(const struct app_tx *tx, const char *name, enum flow_direction direction, unsigned index,
                      struct app_script_value *out)
{
    *out = (struct app_script_value){ .is_number = false };
    return tx->proto->script_value && tx->proto->script_value(tx, name, direction, index, out);
}

static void push_value(lua_State *lua, const struct app_script_value *value)
{
    if (value->is_number)
        lua_pushinteger(lua, value->number);
    else
        script_push_bytes(lua, value->bytes.bytes, value->bytes.length);
}

/* A method that returns a buffer, or else a value. */
struct text_method {
    const char *name;
    const char *source; /* keyword of the buffer, or name of the value */
    enum flow_direction direction;
    bool is_value;
};

static int text_method(lua_State *lua)
{
    const struct text_method *method = lua_touserdata(lua, lua_upvalueindex(UPVALUE_ROW));
    const struct app_tx *tx = transaction_of(lua);
    struct app_script_value value;
    struct app_bytes bytes;

    if (method->is_value ? !get_value(tx, method->source, method->direction, 0, &value)
                         : !get_buffer(tx, method->source, method->direction, 0, &bytes))
        return script_push_error(lua, "not available");
    if (method->is_value)
        push_value(lua, &value);
    else
        script_push_bytes(lua, bytes.bytes, bytes.length);
    return 1;
}

/* Adds a method to the object at the top of the stack. */
static void add_method(lua_State *lua, const char *const *protocols, const char *name, lua_CFunction function,
                       const void *row)
{
    lua_pushlightuserdata(lua, (void *)protocols);
    lua_pushlightuserdata(lua, (void *)row);
    lua_pushcclosure(lua, function, UPVALUES);
    lua_setfield(lua, -2, name);
}

/* Pushes an object with these methods; `texts` ends with a row without a name. */
static void push_object(lua_State *lua, const char *const *protocols, const struct text_method *texts,
                        const luaL_Reg *methods)
{
    lua_createtable(lua, 0, 16);
    for (; texts && texts->name; texts++)
        add_method(lua, protocols, texts->name, text_method, texts);
    for (; methods && methods->name; methods++)
        add_method(lua, protocols, methods->name, methods->func, NULL);
}

/* Pushes a library with get_tx(). Returns 1. */
static int open_library(lua_State *lua, const char *const *protocols, const struct text_method *texts,
                        const luaL_Reg *methods)
{
    lua_createtable(lua, 0, 2);
    lua_pushlightuserdata(lua, (void *)protocols);
    push_object(lua, protocols, texts, methods);
    lua_pushcclosure(lua, get_tx, 2);
    lua_setfield(lua, -2, "get_tx");
    return 1;
}

/* --- suricata.http -------------------------------------------------------------------------------- */

static bool equal_nocase(const uint8_t *left, const char *right, size_t length)
{
    return strncasecmp((const char *)left, right, length) == 0;
}

/* Splits a header line, "NAME: VALUE", at its first colon. */
static size_t split_header(const struct app_bytes *line, const uint8_t **value, size_t *length)
{
    const uint8_t *colon = memchr(line->bytes, ':', line->length), *end = line->bytes + line->length;

    if (!colon)
        return 0;
    *value = colon + 1;
    while (*value < end && (**value == ' ' || **value == '\t'))
        (*value)++;
    while (end > *value && (end[-1] == '\r' || end[-1] == '\n'))
        end--;
    *length = (size_t)(end - *value);
    return (size_t)(colon - line->bytes);
}

static const char *header_keyword(enum flow_direction direction)
{
    return direction == FLOW_TO_SERVER ? "http.request_header" : "http.response_header";
}

static int http_header(lua_State *lua, enum flow_direction direction)
{
    const struct app_tx *tx = transaction_of(lua);
    size_t wanted;
    const char *name = luaL_checklstring(lua, 2, &wanted);
    struct app_bytes line;

    for (unsigned i = 0; i < VALUES_MAX && get_buffer(tx, header_keyword(direction), direction, i, &line); i++) {
        const uint8_t *value = NULL;
        size_t length = 0;

        script_charge(lua, CALL_INSTRUCTIONS);
        if (split_header(&line, &value, &length) != wanted || wanted == 0 || !equal_nocase(line.bytes, name, wanted))
            continue;
        script_push_bytes(lua, value, length);
        return 1;
    }
    return script_push_error(lua, "header not found");
}

static int http_headers(lua_State *lua, enum flow_direction direction)
{
    const struct app_tx *tx = transaction_of(lua);
    struct app_bytes line;

    lua_createtable(lua, 0, 16);
    for (unsigned i = 0; i < VALUES_MAX && get_buffer(tx, header_keyword(direction), direction, i, &line); i++) {
        const uint8_t *value = NULL;
        size_t length = 0, name = split_header(&line, &value, &length);

        script_charge(lua, CALL_INSTRUCTIONS);
        if (name == 0)
            continue;
        script_push_bytes(lua, line.bytes, name);
        script_push_bytes(lua, value, length);
        lua_rawset(lua, -3);
    }
    return 1;
}

/* Returns a table with the part of the body that is available, and the offsets of its start and its end. */
static int http_body(lua_State *lua, enum flow_direction direction)
{
    const char *keyword = direction == FLOW_TO_SERVER ? "http.request_body" : "http.response_body";
    struct app_bytes bytes;

    if (!get_buffer(transaction_of(lua), keyword, direction, 0, &bytes) || bytes.length == 0)
        return script_push_error(lua, "no body");
    lua_createtable(lua, 1, 0);
    script_push_bytes(lua, bytes.bytes, bytes.length);
    lua_rawseti(lua, -2, 1);
    lua_pushinteger(lua, (lua_Integer)bytes.offset);
    lua_pushinteger(lua, (lua_Integer)(bytes.offset + bytes.length));
    return 3;
}

static int http_request_header(lua_State *lua)
{
    return http_header(lua, FLOW_TO_SERVER);
}

static int http_response_header(lua_State *lua)
{
    return http_header(lua, FLOW_TO_CLIENT);
}

static int http_request_headers(lua_State *lua)
{
    return http_headers(lua, FLOW_TO_SERVER);
}

static int http_response_headers(lua_State *lua)
{
    return http_headers(lua, FLOW_TO_CLIENT);
}

static int http_request_body(lua_State *lua)
{
    return http_body(lua, FLOW_TO_SERVER);
}

static int http_response_body(lua_State *lua)
{
    return http_body(lua, FLOW_TO_CLIENT);
}

int script_open_http(lua_State *lua)
{
    static const struct text_method texts[] = {
        { "request_line", "http.request_line", FLOW_TO_SERVER, false },
        { "response_line", "http.response_line", FLOW_TO_CLIENT, false },
        { "request_headers_raw", "http.header.raw", FLOW_TO_SERVER, false },
        { "response_headers_raw", "http.header.raw", FLOW_TO_CLIENT, false },
        { "request_uri_raw", "http.uri.raw", FLOW_TO_SERVER, false },
        { "request_uri_normalized", "http.uri", FLOW_TO_SERVER, false },
        { "request_host", "http.host", FLOW_TO_SERVER, false },
        { NULL, NULL, FLOW_TO_SERVER, false },
    };
    static const luaL_Reg methods[] = {
        { "request_header", http_request_header },
        { "response_header", http_response_header },
        { "request_headers", http_request_headers },
        { "response_headers", http_response_headers },
        { "request_body", http_request_body },
        { "response_body", http_response_body },
        { NULL, NULL },
    };

    return open_library(lua, http_protocols, texts, methods);
}

/* --- suricata.dns --------------------------------------------------------------------------------- */

/* Sets a member of the table at the top of the stack to value `index`, if the transaction has it. */
static bool set_member(lua_State *lua, const struct app_tx *tx, const char *member, const char *name, unsigned index)
{
    struct app_script_value value;

    if (!get_value(tx, name, FLOW_TO_SERVER, index, &value))
        return false;
    push_value(lua, &value);
    lua_setfield(lua, -2, member);
    return true;
}

/* The values of a record in a section. */
struct dns_section_values {
    const char *rrname, *type, *ttl, *addr; /* NULL: the section has none */
};
static const struct dns_section_values dns_queries = { "queries.rrname", "queries.type", NULL, NULL };
static const struct dns_section_values dns_answers = { "answers.rrname", "answers.type", "answers.ttl",
                                                       "answers.addr" };
static const struct dns_section_values dns_authorities = { "authorities.rrname", "authorities.type", "authorities.ttl",
                                                           "authorities.addr" };

/* Returns the records of a section as a table; nil if there are none. */
static int dns_records(lua_State *lua, const struct dns_section_values *section)
{
    const struct app_tx *tx = transaction_of(lua);
    unsigned count = 0;

    lua_createtable(lua, 4, 0);
    for (; count < VALUES_MAX; count++) {
        script_charge(lua, CALL_INSTRUCTIONS);
        lua_createtable(lua, 0, 4);
        if (!set_member(lua, tx, "rrname", section->rrname, count)) {
            lua_pop(lua, 1);
            break;
        }
        set_member(lua, tx, "type", section->type, count);
        if (section->ttl)
            set_member(lua, tx, "ttl", section->ttl, count);
        if (section->addr)
            set_member(lua, tx, "addr", section->addr, count);
        lua_rawseti(lua, -2, (lua_Integer)count + 1);
    }
    if (count == 0)
        lua_pushnil(lua);
    return 1;
}

static int dns_get_queries(lua_State *lua)
{
    return dns_records(lua, &dns_queries);
}

static int dns_get_answers(lua_State *lua)
{
    return dns_records(lua, &dns_answers);
}

static int dns_get_authorities(lua_State *lua)
{
    return dns_records(lua, &dns_authorities);
}

static int dns_recursion_desired(lua_State *lua)
{
    struct app_script_value value;

    if (!get_value(transaction_of(lua), "recursion_desired", FLOW_TO_SERVER, 0, &value))
        return script_push_error(lua, "not available");
    lua_pushboolean(lua, value.number != 0);
    return 1;
}

/* The functions of the transaction are also functions of the library, as in the first versions of Suricata 8. */
int script_open_dns(lua_State *lua)
{
    static const struct text_method texts[] = {
        { "rcode", "rcode", FLOW_TO_SERVER, true }, { "rcode_string", "rcode_string", FLOW_TO_SERVER, true },
        { "txid", "id", FLOW_TO_SERVER, true },     { "rrname", "queries.rrname", FLOW_TO_SERVER, true },
        { NULL, NULL, FLOW_TO_SERVER, false },
    };
    static const luaL_Reg methods[] = {
        { "queries", dns_get_queries },
        { "answers", dns_get_answers },
        { "authorities", dns_get_authorities },
        { "recursion_desired", dns_recursion_desired },
        { NULL, NULL },
    };

    push_object(lua, dns_protocols, texts, methods);
    lua_pushlightuserdata(lua, (void *)dns_protocols);
    push_object(lua, dns_protocols, texts, methods);
    lua_pushcclosure(lua, get_tx, 2);
    lua_setfield(lua, -2, "get_tx");
    return 1;
}

/* --- suricata.tls --------------------------------------------------------------------------------- */

/* Returns the version, subject, issuer and fingerprint. */
static int tls_cert_info(lua_State *lua, enum flow_direction direction)
{
    static const char *const keywords[] = { "tls.cert_subject", "tls.cert_issuer", "tls.cert_fingerprint" };
    const struct app_tx *tx = transaction_of(lua);
    struct app_script_value version;
    struct app_bytes bytes;

    if (!get_buffer(tx, keywords[0], direction, 0, &bytes) || !get_value(tx, "version", FLOW_TO_CLIENT, 0, &version))
        return script_push_error(lua, "no certificate");
    push_value(lua, &version);
    for (unsigned i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        if (get_buffer(tx, keywords[i], direction, 0, &bytes))
            script_push_bytes(lua, bytes.bytes, bytes.length);
        else
            lua_pushnil(lua);
    }
    return 4;
}

/* Returns a table of the certificates, which counts from 0 as in Suricata. */
static int tls_cert_chain(lua_State *lua, enum flow_direction direction)
{
    const struct app_tx *tx = transaction_of(lua);
    struct app_bytes bytes;

    lua_createtable(lua, 4, 0);
    for (unsigned i = 0; i < VALUES_MAX && get_buffer(tx, "tls.certs", direction, i, &bytes); i++) {
        lua_createtable(lua, 0, 2);
        lua_pushinteger(lua, bytes.length);
        lua_setfield(lua, -2, "length");
        script_push_bytes(lua, bytes.bytes, bytes.length);
        lua_setfield(lua, -2, "data");
        lua_rawseti(lua, -2, i);
    }
    return 1;
}

static int tls_client_cert_info(lua_State *lua)
{
    return tls_cert_info(lua, FLOW_TO_SERVER);
}

static int tls_server_cert_info(lua_State *lua)
{
    return tls_cert_info(lua, FLOW_TO_CLIENT);
}

static int tls_client_cert_chain(lua_State *lua)
{
    return tls_cert_chain(lua, FLOW_TO_SERVER);
}

static int tls_server_cert_chain(lua_State *lua)
{
    return tls_cert_chain(lua, FLOW_TO_CLIENT);
}

int script_open_tls(lua_State *lua)
{
    static const struct text_method texts[] = {
        { "get_client_version", "version", FLOW_TO_SERVER, true },
        { "get_server_version", "version", FLOW_TO_CLIENT, true },
        { "get_client_cert_not_before", "not_before", FLOW_TO_SERVER, true },
        { "get_client_cert_not_after", "not_after", FLOW_TO_SERVER, true },
        { "get_server_cert_not_before", "not_before", FLOW_TO_CLIENT, true },
        { "get_server_cert_not_after", "not_after", FLOW_TO_CLIENT, true },
        { "get_client_serial", "tls.cert_serial", FLOW_TO_SERVER, false },
        { "get_server_serial", "tls.cert_serial", FLOW_TO_CLIENT, false },
        { "get_sni", "tls.sni", FLOW_TO_SERVER, false },
        { NULL, NULL, FLOW_TO_SERVER, false },
    };
    static const luaL_Reg methods[] = {
        { "get_client_cert_info", tls_client_cert_info },
        { "get_server_cert_info", tls_server_cert_info },
        { "get_client_cert_chain", tls_client_cert_chain },
        { "get_server_cert_chain", tls_server_cert_chain },
        { NULL, NULL },
    };

    return open_library(lua, tls_protocols, texts, methods);
}

/* --- suricata.ja3 --------------------------------------------------------------------------------- */

/* enable_ja3() has no effect: a fingerprint is computed when it is needed, unless the settings disable it. */
static int ja3_enable(lua_State *lua)
{
    (void)lua;
    return 0;
}

int script_open_ja3(lua_State *lua)
{
    static const struct text_method texts[] = {
        { "ja3_get_hash", "ja3.hash", FLOW_TO_SERVER, false },
        { "ja3_get_string", "ja3.string", FLOW_TO_SERVER, false },
        { "ja3s_get_hash", "ja3s.hash", FLOW_TO_CLIENT, false },
        { "ja3s_get_string", "ja3s.string", FLOW_TO_CLIENT, false },
        { NULL, NULL, FLOW_TO_SERVER, false },
    };

    open_library(lua, ja3_protocols, texts, NULL);
    lua_pushcfunction(lua, ja3_enable);
    lua_setfield(lua, -2, "enable_ja3");
    return 1;
}

/* --- suricata.ssh --------------------------------------------------------------------------------- */

int script_open_ssh(lua_State *lua)
{
    static const struct text_method texts[] = {
        { "client_proto", "ssh.proto", FLOW_TO_SERVER, false },
        { "server_proto", "ssh.proto", FLOW_TO_CLIENT, false },
        { "client_software", "ssh.software", FLOW_TO_SERVER, false },
        { "server_software", "ssh.software", FLOW_TO_CLIENT, false },
        { "client_hassh", "ssh.hassh", FLOW_TO_SERVER, false },
        { "client_hassh_string", "ssh.hassh.string", FLOW_TO_SERVER, false },
        { "server_hassh", "ssh.hassh.server", FLOW_TO_CLIENT, false },
        { "server_hassh_string", "ssh.hassh.server.string", FLOW_TO_CLIENT, false },
        { NULL, NULL, FLOW_TO_SERVER, false },
    };

    return open_library(lua, ssh_protocols, texts, NULL);
}

/* --- suricata.smtp -------------------------------------------------------------------------------- */

/* get_mime_field(name) */
static int smtp_mime_field(lua_State *lua)
{
    const struct app_tx *tx = transaction_of(lua);
    size_t wanted;
    const char *name = luaL_checklstring(lua, 2, &wanted);
    struct app_script_value value;

    for (unsigned i = 0; i < VALUES_MAX && get_value(tx, "mime_name", FLOW_TO_SERVER, i, &value); i++) {
        script_charge(lua, CALL_INSTRUCTIONS);
        if (value.bytes.length != wanted || !equal_nocase(value.bytes.bytes, name, wanted) ||
            !get_value(tx, "mime_value", FLOW_TO_SERVER, i, &value))
            continue;
        push_value(lua, &value);
        return 1;
    }
    return script_push_error(lua, "request mime field not found");
}

static int smtp_mime_list(lua_State *lua)
{
    const struct app_tx *tx = transaction_of(lua);
    struct app_script_value value;

    lua_createtable(lua, 16, 0);
    for (unsigned i = 0; i < VALUES_MAX && get_value(tx, "mime_name", FLOW_TO_SERVER, i, &value); i++) {
        push_value(lua, &value);
        lua_rawseti(lua, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int smtp_rcpt_list(lua_State *lua)
{
    const struct app_tx *tx = transaction_of(lua);
    struct app_bytes bytes;

    lua_createtable(lua, 4, 0);
    for (unsigned i = 0; i < VALUES_MAX && get_buffer(tx, "smtp.rcpt_to", FLOW_TO_SERVER, i, &bytes); i++) {
        script_push_bytes(lua, bytes.bytes, bytes.length);
        lua_rawseti(lua, -2, (lua_Integer)i + 1);
    }
    return 1;
}

int script_open_smtp(lua_State *lua)
{
    static const struct text_method texts[] = {
        { "get_mail_from", "smtp.mail_from", FLOW_TO_SERVER, false },
        { NULL, NULL, FLOW_TO_SERVER, false },
    };
    static const luaL_Reg methods[] = {
        { "get_mime_field", smtp_mime_field },
        { "get_mime_list", smtp_mime_list },
        { "get_rcpt_list", smtp_rcpt_list },
        { NULL, NULL },
    };

    return open_library(lua, smtp_protocols, texts, methods);
}

/* --- suricata.file -------------------------------------------------------------------------------- */

/* Returns the newest file of the transaction in the direction of the evaluation; NULL: there is none. */
static const struct file *find_file(lua_State *lua)
{
    const struct match_input *input = script_context(lua)->input;

    script_charge(lua, CALL_INSTRUCTIONS);
    return input->transaction ? input->transaction->files[input->direction].last : NULL;
}

static const struct file *file_of(lua_State *lua)
{
    const struct file *file = find_file(lua);

    if (!file)
        luaL_error(lua, "the transaction has no file");
    return file;
}

static int file_get(lua_State *lua)
{
    if (!find_file(lua))
        return script_push_error(lua, "the transaction has no file");
    lua_pushvalue(lua, lua_upvalueindex(1));
    return 1;
}

static int file_id(lua_State *lua)
{
    lua_pushinteger(lua, file_of(lua)->id);
    return 1;
}

static int file_tx_id(lua_State *lua)
{
    file_of(lua);
    lua_pushinteger(lua, (lua_Integer)script_context(lua)->input->transaction->number);
    return 1;
}

static int file_name(lua_State *lua)
{
    const struct buffer *name = &file_of(lua)->name;

    if (!name->bytes)
        return script_push_error(lua, "the file has no name");
    script_push_bytes(lua, name->bytes, name->length);
    return 1;
}

static int file_size(lua_State *lua)
{
    lua_pushinteger(lua, (lua_Integer)file_of(lua)->size);
    return 1;
}

static int file_magic(lua_State *lua)
{
    lua_pushstring(lua, file_of(lua)->magic); /* nil if it is not known */
    return 1;
}

static int push_digest(lua_State *lua, enum file_digest kind, size_t size)
{
    const struct file *file = file_of(lua);
    char text[64];

    if (!(file->digests >> kind & 1)) {
        lua_pushnil(lua);
        return 1;
    }
    hex_write(text, file->digest[kind], size);
    lua_pushlstring(lua, text, 2 * size);
    return 1;
}

static int file_md5(lua_State *lua)
{
    return push_digest(lua, FILE_MD5, 16);
}

static int file_sha1(lua_State *lua)
{
    return push_digest(lua, FILE_SHA1, 20);
}

static int file_sha256(lua_State *lua)
{
    return push_digest(lua, FILE_SHA256, 32);
}

static int file_state(lua_State *lua)
{
    const struct file *file = file_of(lua);

    lua_pushstring(lua, file->state == FILE_OPEN ? "OPENED" : file_state_name(file->state));
    return 1;
}

static int file_is_stored(lua_State *lua)
{
    lua_pushboolean(lua, file_of(lua)->stored);
    return 1;
}

int script_open_file(lua_State *lua)
{
    static const luaL_Reg methods[] = {
        { "file_id", file_id },
        { "tx_id", file_tx_id },
        { "name", file_name },
        { "size", file_size },
        { "magic", file_magic },
        { "md5", file_md5 },
        { "sha1", file_sha1 },
        { "sha256", file_sha256 },
        { "get_state", file_state },
        { "is_stored", file_is_stored },
        { NULL, NULL },
    };

    lua_createtable(lua, 0, 1);
    lua_createtable(lua, 0, 0);
    luaL_setfuncs(lua, methods, 0);
    lua_pushcclosure(lua, file_get, 1);
    lua_setfield(lua, -2, "get_file");
    return 1;
}

#endif
