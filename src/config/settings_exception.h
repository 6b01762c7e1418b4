/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exception policies: rows of the table of settings. */
#ifndef SETTINGS_EXCEPTION_H
#define SETTINGS_EXCEPTION_H

/* clang-format off */
#define EXCEPTION_SETTINGS \
    { .name = "exception-policy", \
      .type = SETTING_ENUM, \
      .default_value = "auto", \
      .choices = exception_policies, \
      .help = "Treatment of traffic that cannot be inspected completely, for all causes without a policy of " \
              "their own. auto: inline drop the flow, or the packet where there is no flow; otherwise ignore" }, \
    { .name = "flow.memcap-policy", \
      .type = SETTING_ENUM, \
      .choices = exception_policies, \
      .help = "Exception policy when flow.memcap is used up; unset: exception-policy" }, \
    { .name = "defrag.memcap-policy", \
      .type = SETTING_ENUM, \
      .choices = exception_policies, \
      .help = "Exception policy when defrag.memcap is used up; unset: exception-policy" }, \
    { .name = "stream.memcap-policy", \
      .type = SETTING_ENUM, \
      .choices = exception_policies, \
      .help = \
          "Exception policy for a connection that finds no room in stream.memcap; unset: exception-policy, whose " \
          "auto means drop-packet here: the sender repeats the segment" }, \
    { .name = "stream.reassembly-memcap-policy", \
      .type = SETTING_ENUM, \
      .choices = exception_policies, \
      .help = \
          "Exception policy for data that finds no room in stream.reassembly-memcap, and for data that would " \
          "complete what was evicted from there; unset: exception-policy, whose auto means drop-packet here: the " \
          "sender repeats the segment" }, \
    { .name = "stream.midstream-policy", \
      .type = SETTING_ENUM, \
      .choices = exception_policies, \
      .help = \
          "Exception policy for TCP connections whose beginning was not seen and that are not picked up; unset: " \
          "exception-policy. pass-packet and drop-packet mean ignore, and with stream.midstream so do all that " \
          "drop" }, \
    { .name = "stream.invalid-policy", \
      .type = SETTING_ENUM, \
      .default_value = "drop-packet", \
      .choices = exception_policies, \
      .help = "Treatment of TCP segments that the receiver would not accept: wrong checksum, outside of the window, " \
              "not in the connection's state. exception-policy does not change it" }, \
    { .name = "app-layer.memcap-policy", \
      .type = SETTING_ENUM, \
      .default_value = "ignore", \
      .choices = exception_policies, \
      .help = "Exception policy for data of a connection whose parser was released because it was idle when " \
              "app-layer.memcap was nearly used up; ignore: its data is inspected as a stream, without the " \
              "protocol's buffers. exception-policy does not change it" }
/* clang-format on */

#endif
