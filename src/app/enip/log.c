/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EtherNet/IP in EVE events. Numbers without a name are logged as unknown-NUMBER, as in Suricata. */
#include <stdio.h>

#include "enip_priv.h"

static void log_name(const char *key, const struct number_name *names, uint32_t number, struct fields *out)
{
    const char *name = enip_find_name(names, number);
    char text[24];

    snprintf(text, sizeof(text), "unknown-%u", number);
    fields_string(out, key, name ? name : text);
}

static const char *segment_type_of(uint8_t type)
{
    static const struct number_name types[] = {
        { "class_8bit", 0x20 },      { "class_16bit", 0x21 },
        { "class_32bit", 0x22 },     { "instance_8bit", 0x24 },
        { "instance_16bit", 0x25 },  { "instance_32bit", 0x26 },
        { "attribute_8bit", 0x30 },  { "attribute_16bit", 0x31 },
        { "attribute_32bit", 0x32 }, { NULL, 0 },
    };

    return enip_find_name(types, type);
}

static void log_path(const struct enip_pdu *pdu, const struct enip_service *service, struct fields *out)
{
    bool open = false, has_class = false;
    uint32_t class = 0;

    for (uint32_t i = service->first; i < (uint32_t)service->first + service->count; i++) {
        const struct enip_segment *segment = enip_get_segment(pdu, i);

        if (segment->kind == ENIP_LISTED)
            continue;
        if (!open)
            fields_array_open(out, "path");
        open = true;
        fields_object_open(out, NULL);
        fields_string(out, "segment_type", segment_type_of(segment->type));
        fields_uint(out, "value", segment->value);
        fields_object_close(out);
        if (segment->kind == ENIP_CLASS) {
            has_class = true;
            class = segment->value;
        }
    }
    if (open)
        fields_array_close(out);
    if (has_class)
        log_name("class_name", enip_class_names, class, out);
}

static void log_service(const struct enip_pdu *pdu, const struct enip_service *service, struct fields *out)
{
    const uint8_t extended[2] = { (uint8_t)service->extended_status, (uint8_t)(service->extended_status >> 8) };

    log_name("service", enip_service_names, service->service, out);
    if (!service->is_response) {
        log_path(pdu, service, out);
        return;
    }
    log_name("status", enip_cip_status_names, service->status, out);
    if (service->has_extended_status)
        fields_hex(out, "status_extended", extended, sizeof(extended));
}

static void log_cip(const struct enip_pdu *pdu, struct fields *out)
{
    fields_object_open(out, "cip");
    log_service(pdu, enip_get_service(pdu, 0), out);
    if (pdu->service_count > 1) {
        fields_array_open(out, "multiple");
        for (uint32_t i = 1; i < pdu->service_count; i++) {
            fields_object_open(out, NULL);
            log_service(pdu, enip_get_service(pdu, i), out);
            fields_object_close(out);
        }
        fields_array_close(out);
    }
    fields_object_close(out);
}

static void log_identity(const struct enip_pdu *pdu, struct fields *out)
{
    char revision[16];

    snprintf(revision, sizeof(revision), "%u.%u", pdu->revision_major, pdu->revision_minor);
    fields_object_open(out, "identity");
    fields_uint(out, "protocol_version", pdu->version);
    fields_string(out, "revision", revision);
    log_name("vendor_id", enip_vendor_names, pdu->vendor, out);
    log_name("device_type", enip_device_names, pdu->device_type, out);
    fields_uint(out, "product_code", pdu->product_code);
    fields_uint(out, "status", pdu->identity_status);
    fields_uint(out, "serial", pdu->serial);
    fields_bytes(out, "product_name", pdu->name.bytes, pdu->name.length);
    fields_uint(out, "state", pdu->state);
    fields_object_close(out);
}

static void log_pdu(const char *key, const struct enip_pdu *pdu, struct fields *out)
{
    if (!pdu->is_present)
        return;
    fields_object_open(out, key);
    log_name("command", enip_command_names, pdu->command, out);
    log_name("status", enip_status_names, pdu->status, out);
    if (pdu->has_register) {
        fields_object_open(out, "register_session");
        fields_uint(out, "protocol_version", pdu->version);
        fields_uint(out, "options", pdu->register_options);
        fields_object_close(out);
    }
    if (pdu->has_services) {
        fields_object_open(out, "list_services");
        fields_uint(out, "protocol_version", pdu->version);
        fields_uint(out, "capabilities", pdu->capabilities);
        fields_bytes(out, "service_name", pdu->name.bytes, pdu->name.length);
        fields_object_close(out);
    }
    if (pdu->has_identity)
        log_identity(pdu, out);
    if (pdu->service_count > 0)
        log_cip(pdu, out);
    fields_object_close(out);
}

void enip_log(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct enip_tx *enip = (const struct enip_tx *)tx;

    (void)settings;
    log_pdu("request", &enip->request, out);
    log_pdu("response", &enip->response, out);
}
