/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "s7comm_priv.h"

const struct number_name s7comm_rosctr_names[] = {
    { "job", S7COMM_JOB },           { "ack", S7COMM_ACK }, { "ack_data", S7COMM_ACK_DATA },
    { "userdata", S7COMM_USERDATA }, { NULL, 0 },
};

const struct number_name s7comm_function_names[] = {
    { "cpu_services", 0x00 },
    { "read_var", S7COMM_READ_VAR },
    { "write_var", S7COMM_WRITE_VAR },
    { "request_download", S7COMM_REQUEST_DOWNLOAD },
    { "download_block", S7COMM_DOWNLOAD_BLOCK },
    { "download_ended", S7COMM_DOWNLOAD_ENDED },
    { "start_upload", S7COMM_START_UPLOAD },
    { "upload", 0x1e },
    { "end_upload", 0x1f },
    { "plc_control", S7COMM_PLC_CONTROL },
    { "plc_stop", S7COMM_PLC_STOP },
    { "setup_communication", S7COMM_SETUP },
    { NULL, 0 },
};

const struct number_name s7comm_area_names[] = {
    { "system_info", 0x03 },
    { "system_flags", 0x05 },
    { "analog_inputs", 0x06 },
    { "analog_outputs", 0x07 },
    { "counters", 0x1c },
    { "timers", 0x1d },
    { "iec_counters", 0x1e },
    { "iec_timers", 0x1f },
    { "peripherals", 0x80 },
    { "inputs", 0x81 },
    { "outputs", 0x82 },
    { "flags", 0x83 },
    { "db", S7COMM_AREA_DB },
    { "instance_db", S7COMM_AREA_INSTANCE_DB },
    { "local", 0x86 },
    { "previous_local", 0x87 },
    { NULL, 0 },
};

const struct number_name s7comm_group_names[] = {
    { "mode_transition", 0 }, { "programmer", 1 }, { "cyclic_data", 2 }, { "blocks", 3 }, { "cpu", 4 },
    { "security", 5 },        { "pbc", 6 },        { "time", 7 },        { NULL, 0 },
};

const struct number_name s7comm_error_class_names[] = {
    { "no_error", 0x00 },
    { "application_relationship", 0x81 },
    { "object_definition", 0x82 },
    { "no_resources", 0x83 },
    { "service_processing", 0x84 },
    { "supplies", 0x85 },
    { "access", 0x87 },
    { NULL, 0 },
};

const char *s7comm_find_name(const struct number_name *names, uint64_t value)
{
    while (names->name && names->value != value)
        names++;
    return names->name;
}
