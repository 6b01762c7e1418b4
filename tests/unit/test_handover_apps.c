/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Engine hand-over during conversations of application protocols other than HTTP/1 and TLS; see test_handover.c. */
#include "handover_talk.h"

static const struct conversation app_talks[] = {
    { .name = "http beside smtp",
      .rules = "alert http any any -> any any (http.uri; content:\"/evil\"; sid:1;)\n"
               "alert smtp any any -> any any (app-layer-event:smtp.invalid_reply; sid:90;)\n",
      .steps = { SERVER("220 mail ESMTP\r\n"), CLIENT("GET /ev"), CLIENT("il HTTP/1.1\r\nHost: a\r\n\r\n"),
                 SERVER("500 what?\r\n"), CLIENT("GET /evil/again HTTP/1.1\r\n"), CLIENT("Host: a\r\n\r\n") } },
    { .name = "passive, with a server whose bytes break the parser",
      .passive = true,
      .rules = "alert ssh any any -> any any (ssh.software; content:\"evil\"; sid:1;)\n",
      .steps = { SERVER("SSH-nothing\r\n"), SERVER("more"), CLIENT("SSH-2.0-ev"), SERVER("more"), CLIENT("il\r\n"),
                 SERVER("bye") } },
    { .name = "dns over tcp",
      .rules = "alert dns any any -> any any (dns.query; content:\"example\"; sid:1;)\n"
               "alert dns any any -> any any (app-layer-event:dns.malformed_data; sid:90;)\n",
      .yaml = "app-layer: { protocols: { dns: { tcp: { detection-ports: { dp: 80 } } } } }\n",
      .steps = { { RIG_CLIENT, 0, NEXT, "\0\x1d\x12\x34\1\0\0\1\0\0\0\0\0\0\7example\3com\0\0\1\0\1", 31 },
                 { RIG_CLIENT, 0, NEXT, "\0\x1d\x12\x35\1\0\0\1\0", 9 },
                 { RIG_CLIENT, 0, NEXT, "\0\0\0\0\0\7exam", 10 },
                 { RIG_CLIENT, 0, NEXT, "ple\3com\0\0\1\0\1", 12 },
                 { RIG_SERVER, 0, NEXT, "\0\x1d\x12\x34\x81\x80\0\1\0\0\0\0\0\0\7exam", 19 },
                 { RIG_SERVER, 0, NEXT, "ple\3com\0\0\1\0\1", 12 } } },
    { .name = "http2",
      .rules = "alert http any any -> any any (http.request_header; content:\"x-a: evil\"; http.uri; content:\"/one\"; "
               "sid:1;)\n"
               "alert http2 any any -> any any (http.response_header; content:\"x-b: answer\"; sid:2;)\n"
               "alert http2 any any -> any any (file.data; content:\"virus\"; flow:to_client; sid:3;)\n"
               "alert http2 any any -> any any (http.stat_code; content:\"200\"; sid:4;)\n"
               "alert http2 any any -> any any (app-layer-event:http2.invalid_header; sid:90;)\n"
               "alert http2 any any -> any any (app-layer-event:http2.invalid_client_magic; sid:91;)\n"
               "alert http2 any any -> any any (app-layer-event:http2.invalid_frame_header; sid:92;)\n",
      .steps = { { RIG_CLIENT, 0, NEXT, "PRI * HTTP", 10 },
                 { RIG_CLIENT, 0, NEXT, "/2.0\015\012\015\012SM\015\012\015\012", 14 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\006\004\000\000", 6 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\000\000\003\000\000\000d", 9 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\017\001\000\000", 6 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\001\202\206@\005:path\004/o", 15 },
                 { RIG_CLIENT, 0, NEXT, "ne@\000\000\011\011\004\000\000\000\001\003x-a\004evi", 20 },
                 { RIG_CLIENT, 0, NEXT, "l\000\000\014\000\000\000\000\000\001", 10 },
                 { RIG_CLIENT, 0, NEXT, "upload-", 7 },
                 { RIG_CLIENT, 0, NEXT, "start", 5 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\004\000\001\000\000\000\001-e", 11 },
                 { RIG_CLIENT, 0, NEXT, "nd", 2 },
                 { RIG_SERVER, 0, NEXT, "\000\000\000\004\000", 5 },
                 { RIG_SERVER, 0, NEXT, "\000\000\000\000", 4 },
                 { RIG_SERVER, 0, NEXT, "\000\000\015\001\004\000\000\000\001\210@", 11 },
                 { RIG_SERVER, 0, NEXT, "\003x-b\006answer\000\000\025\000", 15 },
                 { RIG_SERVER, 0, NEXT, "\010\000\000\000\001\003some viru", 15 },
                 { RIG_SERVER, 0, NEXT, "s padpad\000\000", 10 },
                 { RIG_SERVER, 0, NEXT, "\000\000\000\007\000\001\000\000\000\001the end", 17 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\004\001\005", 5 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\000\003\202\206", 6 },
                 { RIG_CLIENT, 0, NEXT, "\277\276", 2 },
                 { RIG_SERVER, 0, NEXT, "\000\000\002\001\005\000\000\000\003\210", 10 },
                 { RIG_SERVER, 0, NEXT, "\276", 1 } } },
    { .name = "doh2",
      .rules = "alert doh2 any any -> any any (dns.query; content:\"www.example\"; sid:1;)\n"
               "alert dns any any -> any any (dns.answers.rrname; content:\"www.example\"; sid:2;)\n"
               "alert doh2 any any -> any any (dns.queries.rrname; content:\"www.example\"; http.method; "
               "content:\"POST\"; sid:3;)\n"
               "alert http2 any any -> any any (app-layer-event:http2.dns_request_too_long; sid:90;)\n",
      .steps = { { RIG_CLIENT, 0, NEXT, "PRI * HTTP/2.0\015\012\015\012SM\015\012\015\012", 24 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\056\001\004\000\000\000\001\203\206\204", 12 },
                 { RIG_CLIENT, 0, NEXT, "\000\014content-type", 14 },
                 { RIG_CLIENT, 0, NEXT, "\027application/dns-messag", 23 },
                 { RIG_CLIENT, 0, NEXT, "e\000\001a\001b\000", 7 },
                 { RIG_CLIENT, 0, NEXT, "\000\041\000\001\000\000\000\001\000\000\001\000\000\001", 14 },
                 { RIG_CLIENT, 0, NEXT, "\000\000\000\000\000\000\003www\007exam", 15 },
                 { RIG_CLIENT, 0, NEXT, "ple\003org\000\000\001\000\001", 12 },
                 { RIG_SERVER, 0, NEXT, "\000\000\047\001\004\000\000\000\001\210", 10 },
                 { RIG_SERVER, 0, NEXT, "\000\014content-type\027application/", 27 },
                 { RIG_SERVER, 0, NEXT, "dns-message", 11 },
                 { RIG_SERVER, 0, NEXT, "\000\000\061\000\001\000\000\000\001\000\000\201\200\000\001", 15 },
                 { RIG_SERVER, 0, NEXT, "\000\001\000\000\000\000\003www\007example\003or", 21 },
                 { RIG_SERVER, 0, NEXT, "g\000\000\001\000\001\300\014\000\001\000\001", 12 },
                 { RIG_SERVER, 0, NEXT, "\000\000\000\001\000\004\313\000\161\007", 10 } } },
    { .name = "pop3",
      .rules = "alert pop3 any any -> any any (file.data; content:\"some virus\"; sid:1;)\n"
               "alert pop3 any any -> any any (app-layer-event:pop3.unknown_command; sid:2;)\n"
               "alert pop3 any any -> any any (app-layer-event:pop3.response_too_long; sid:90;)\n",
      .yaml = "app-layer: { protocols: { pop3: { detection-ports: { dp: 80 } } } }\n",
      .steps = { SERVER("+OK re"), SERVER("ady\r\n"), CLIENT("RETR 1\r\nWHAT"), CLIENT("\r\nNOOP\r\n"),
                 SERVER("+OK\r\nContent-Type: text/plain; name=a\r\n"), SERVER("\r\nline\r\nso"),
                 SERVER("me virus\r\n."), SERVER("\r\n-ERR"), SERVER("\r\n+OK\r\n"), CLIENT("AUTH X\r\n"),
                 SERVER("+ \r\n"), CLIENT("answer\r\n"), SERVER("+OK\r\n") } },
    { .name = "imap",
      .rules = "alert imap any any -> any any (flow:to_client; file.data; content:\"some virus\"; sid:1;)\n"
               "alert imap any any -> any any (flow:to_server; file.data; content:\"some virus\"; sid:2;)\n",
      .steps = { SERVER("* OK re"), SERVER("ady\r\n"), CLIENT("a1 FETCH 1 BODY[]\r\na2 APP"), CLIENT("END x {54}\r\n"),
                 SERVER("* 1 FETCH (BODY[] {48}\r\nContent-Type: text/plain;"), SERVER(" name=a\r\n\r\nso"),
                 SERVER("me virus\r\n)\r"), SERVER("\na1 OK\r\n+ go\r\n"),
                 CLIENT("Content-Type: text/plain; name=b\r\n\r\nsome vi"), CLIENT("rus 12345\r"), CLIENT("\n"),
                 CLIENT("\r\n"), SERVER("a2 OK\r\n") } },
    { .name = "ldap",
      .rules = "alert ldap any any -> any any (ldap.request.dn; content:\"dc=evil\"; sid:1;)\n"
               "alert ldap any any => any any (ldap.responses.attribute_type; content:\"cn\"; "
               "ldap.request.attribute_type; content:\"cn\"; sid:2;)\n"
               "alert ldap any any => any any (ldap.responses.count:2; ldap.request.operation:search_request; sid:3;)\n"
               "alert ldap any any -> any any (app-layer-event:ldap.invalid_data; sid:90;)\n"
               "alert ldap any any -> any any (app-layer-event:ldap.request_not_found; sid:91;)\n",
      .steps = { { RIG_CLIENT, 0, NEXT, "00\2\1\2c+\4\7dc=evil", 16 },
                 { RIG_CLIENT, 0, NEXT, "\012\1\2\012\1\0\2\1\0\2\1\0\1\1\0\207\013objectClass0\4\4\2cn", 34 },
                 { RIG_SERVER, 0, NEXT, "0\034\2\1\2d\027\4\7dc=evil", 16 },
                 { RIG_SERVER, 0, NEXT, "0\0140\012\4\2cn1\4\4\2xx", 14 },
                 { RIG_SERVER, 0, NEXT, "0\014\2\1\2e\7\012", 8 },
                 { RIG_SERVER, 0, NEXT, "\1\0\4\0\4\0", 6 } } },
    { .name = "modbus",
      .rules = "alert modbus any any -> any any (modbus:function 3; sid:1;)\n"
               "alert modbus any any -> any any (app-layer-event:modbus.value_mismatch; sid:2;)\n"
               "alert modbus any any -> any any (app-layer-event:modbus.unsolicited_response; sid:90;)\n",
      .yaml = "app-layer: { protocols: { modbus: { detection-ports: { dp: 80 } } } }\n",
      .steps = { { RIG_CLIENT, 0, NEXT, "\0\1\0\0\0\6\021", 7 },
                 { RIG_CLIENT, 0, NEXT, "\3\0k\0\3\0\2\0\0\0\6\021\3\0k\0\2", 17 },
                 { RIG_SERVER, 0, NEXT, "\0\1\0\0\0\011\021\3\6abc", 12 },
                 { RIG_SERVER, 0, NEXT, "def", 3 },
                 { RIG_SERVER, 0, NEXT, "\0\2\0\0\0\011\021\3\6abcdef", 15 } } },
    { .name = "ssh",
      .rules = "alert ssh any any -> any any (ssh.software; content:\"OpenSSH\"; sid:1;)\n"
               "alert ssh any any -> any any (ssh.proto; content:\"2.0\"; sid:2;)\n"
               "alert ssh any any -> any any (app-layer-event:ssh.invalid_record; sid:90;)\n"
               "alert tcp any any -> any any (content:\"secret\"; sid:3;)\n",
      .steps = { CLIENT("SSH-2.0-Open"),
                 CLIENT("SSH_9.6 c\r\n"),
                 SERVER("SSH-2.0-OpenSSH_8.0\r\n"),
                 { RIG_CLIENT, 0, NEXT, "\0\0\0\x0c\4\x1e", 6 },
                 { RIG_CLIENT, 0, NEXT, "0123456789", 10 },
                 { RIG_SERVER, 0, NEXT,
                   "\0\0\0\x0c\4\x1f"
                   "0123",
                   10 },
                 SERVER("456789"),
                 { RIG_CLIENT, 0, NEXT,
                   "\0\0\0\x0c\x0a\x15"
                   "0123456789",
                   16 },
                 { RIG_SERVER, 0, NEXT,
                   "\0\0\0\x0c\x0a\x15"
                   "0123456789",
                   16 },
                 CLIENT("secret"),
                 SERVER("secret"),
                 CLIENT("secret") } },
    { .name = "rfb",
      .rules = "alert rfb any any -> any any (rfb.sectype:2; sid:1;)\n"
               "alert rfb any any -> any any (rfb.secresult:ok; sid:2;)\n"
               "alert rfb any any -> any any (rfb.name; content:\"desk\"; sid:3;)\n"
               "alert rfb any any -> any any (app-layer-event:rfb.confused_state; sid:90;)\n",
      .steps = { SERVER("RFB 003."),
                 SERVER("008\n"),
                 CLIENT("RFB 003.008\n"),
                 { RIG_SERVER, 0, NEXT, "\2\1\2", 3 },
                 { RIG_CLIENT, 0, NEXT, "\2", 1 },
                 SERVER("0123456789abcdef"),
                 CLIENT("fedcba98"),
                 CLIENT("76543210"),
                 { RIG_SERVER, 0, NEXT, "\0\0\0\0", 4 },
                 { RIG_CLIENT, 0, NEXT, "\1", 1 },
                 { RIG_SERVER, 0, NEXT, "\3\x20\2\x58\x20\x18\0\1\0\xff", 10 },
                 { RIG_SERVER, 0, NEXT, "\0\xff\0\xff\x10\x08\0\0\0\0\0\0\0\4desk", 18 } } },
    { .name = "websocket",
      .rules =
          "alert websocket any any -> any any (websocket.payload; content:\"evil word\"; sid:1;)\n"
          "alert websocket any any -> any any (websocket.payload; content:\"ping\"; websocket.opcode:ping; sid:2;)\n"
          "alert websocket any any -> any any (websocket.payload; content:\"squeezed evil two\"; sid:3;)\n"
          "alert websocket any any -> any any (app-layer-event:websocket.invalid_compressed_data; sid:90;)\n",
      .steps = { CLIENT("GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"),
                 SERVER("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
                 { RIG_SERVER, 0, NEXT,
                   "\x81\x0a"
                   "an ev",
                   7 },
                 { RIG_SERVER, 0, NEXT, "il wo\x81\x02", 7 },
                 { RIG_SERVER, 0, NEXT,
                   "ab\x01\x05"
                   "an ev",
                   9 },
                 { RIG_SERVER, 0, NEXT, "\x89\x04pi", 4 },
                 { RIG_SERVER, 0, NEXT, "ng\x00", 3 },
                 { RIG_SERVER, 0, NEXT, "\x03il ", 4 },
                 { RIG_SERVER, 0, NEXT, "\x80\x04wo", 4 },
                 { RIG_SERVER, 0, NEXT, "rd", 2 },
                 { RIG_CLIENT, 0, NEXT,
                   "\x81\x84\x12\x34\x56\x78"
                   "ab",
                   8 },
                 { RIG_CLIENT, 0, NEXT, "cd", 2 },
                 { RIG_SERVER, 0, NEXT,
                   "\xc1\x13\x2a\x2e\x2c\x4d\x4d\xad\x4a\x4d\x51\x48\x2d\xcb\xcc\x51\xc8\xcf\x4b\x05\x00", 21 },
                 { RIG_SERVER, 0, NEXT, "\xc1\x08\x2a\x46\x11\x28\x29\xcf\x07\x00", 10 } } },
    { .name = "sip",
      .rules = "alert sip any any -> any any (sip.method; content:\"INVITE\"; sip.to; content:\"bob\"; sid:1;)\n"
               "alert sip any any -> any any (sip.method; content:\"INVITE\"; sdp.origin; content:\"alice\"; sid:2;)\n"
               "alert sip any any -> any any (sip.stat_msg; content:\"OK\"; sid:3;)\n"
               "alert sip any any -> any any (app-layer-event:sip.invalid_data; sid:90;)\n",
      .steps = { CLIENT("INVITE sip:bob"),
                 CLIENT("@b SIP/2.0\r\nTo: bob\r\nContent-Type: application/sdp\r\nl: 14\r\n\r"),
                 CLIENT("\nv=0\r\no=a"), CLIENT("lice\r"), SERVER("SIP/2.0 200"),
                 CLIENT("\nMESSAGE sip:b SIP/2.0\r\nl: 70000\r\n\r\nbody"), SERVER(" OK\r\n\r\n") } },
    { .name = "s7comm",
      .yaml = "app-layer: { protocols: { s7comm: { detection-ports: { dp: 80 } } } }\n",
      .rules = "alert s7comm any any -> any any (s7comm.item:db 7, address 10; sid:1;)\n"
               "alert s7comm any any -> any any (s7comm.service; content:\"P_PROGRAM\"; bsize:9; sid:2;)\n"
               "alert s7comm any any -> any any (s7comm.error_class:supplies; sid:3;)\n"
               "alert s7comm any any -> any any (app-layer-event:s7comm.invalid_length; sid:90;)\n"
               "alert s7comm any any -> any any (app-layer-event:s7comm.invalid_tpkt; sid:91;)\n",
      .steps = { { RIG_CLIENT, 0, NEXT, "\x03\0\0\x0b\x06\xe0\0\0\0", 9 },
                 { RIG_CLIENT, 0, NEXT, "\x01\0\x03\0\0\x1f\x02\xf0\x80\x32", 10 },
                 { RIG_CLIENT, 0, NEXT, "\x01\0\0\0\x05\0\x0e\0\0\x04\x01\x12\x0a\x10\x02\0\x04\0\x07\x84\0\0\x50",
                   23 },
                 { RIG_SERVER, 0, NEXT, "\x03\0\0\x0c\x02\xf0\0\x32\x03\0\0\0", 12 },
                 { RIG_CLIENT, 0, NEXT, "\x03\0\0\x0c\x02\xf0\0\x32\x01\0\0\0\x03\0\0\x0d\x02", 17 },
                 { RIG_CLIENT, 0, NEXT, "\xf0\0\x06\0\x10\0\0\x29\x03\0\0\x10\x02\xf0\0\0\0\0\0\0\x09P_P", 24 },
                 { RIG_SERVER, 0, NEXT, "\x03\0\0\x10\x02\xf0\x80\x05\0\x02\0\0\x85\x01\x04\x01", 16 },
                 { RIG_CLIENT, 0, NEXT, "\x03\0\0\x0d\x02\xf0\x80ROGRAM", 13 } } },
    { .name = "opcua",
      .rules = "alert opcua any any -> any any (opcua.service:WriteRequest; opcua.item; content:\"ns=2\"; "
               "opcua.body; content:\"on!\"; sid:1;)\n"
               "alert opcua any any -> any any (opcua.status:0x801f0000; sid:2;)\n"
               "alert opcua any any -> any any (opcua.msg_type:clo; sid:3;)\n"
               "alert opcua any any -> any any (app-layer-event:opcua.invalid_body; sid:90;)\n"
               "alert opcua any any -> any any (app-layer-event:opcua.invalid_type_id; sid:91;)\n"
               "alert opcua any any -> any any (app-layer-event:opcua.invalid_type; sid:92;)\n",
      .steps = { { RIG_CLIENT, 0, NEXT, "HELF\x25\0\0\0\0\0\0\0\0\x20\0\0\0\x20", 18 },
                 { RIG_CLIENT, 0, NEXT, "\0\0\0\0\0\0\0\0\0\0\5\0\0\0opc:x", 19 },
                 { RIG_SERVER, 0, NEXT, "ACKF\x1c\0\0\0\0\0\0\0\0\x20\0\0\0\x20\0\0\0\0\0\0\0\0\0\0", 28 },
                 { RIG_CLIENT, 0, NEXT, "OPNF\x41\0\0\0\7\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0",
                   26 },
                 { RIG_CLIENT, 0, NEXT, "\0\0\1\0\0\0\1\0\xbe\1\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\xff\xff", 30 },
                 { RIG_CLIENT, 0, NEXT, "\xff\xff\0\0\0\0\0\0\0", 9 },
                 /* Two chunks of a write, split into segments, with chunks of the server between them. */
                 { RIG_CLIENT, 0, NEXT, "MSGC\x1d\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\1\0\xa1", 27 },
                 { RIG_SERVER, 0, NEXT, "MSGC\x1c\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\1\0\x8d", 27 },
                 { RIG_CLIENT, 0, NEXT, "\2\0MSGF\x4d\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\2\0", 24 },
                 { RIG_CLIENT, 0, NEXT, "\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\xff\xff\xff\xff\0", 24 },
                 { RIG_SERVER, 0, NEXT, "\1MSGF\x30\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\2\0\0\0\0\0", 27 },
                 { RIG_CLIENT, 0, NEXT, "\0\0\0\0\0\0\1\0\0\0\1\2\1\0\x0d\0\0\0\xff\xff\xff\xff\1\x0c", 24 },
                 { RIG_CLIENT, 0, NEXT, "\3\0\0\0on!", 7 },
                 { RIG_SERVER, 0, NEXT, "\0\0\0\0\0\0\5\0\0\0\0\0\x1f\x80\0\xff\xff\xff\xff\0\0\0", 22 },
                 { RIG_CLIENT, 0, NEXT, "CLOF\x39\0\0\0\7\0\0\0\1\0\0\0\1\0\0\0\3\0\0\0\1\0\xc4\1\0", 29 },
                 { RIG_CLIENT, 0, NEXT, "\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0", 28 } } },
    { .name = "iec104",
      .rules = "alert iec104 any any -> any any (iec104_apci_type:u; sid:1;)\n"
               "alert iec104 any any -> any any (iec104_asdu_func:C_SC_NA_1; sid:2;)\n"
               "alert iec104 any any -> any any (app-layer-event:iec104.invalid_start; sid:90;)\n",
      .steps = { { RIG_CLIENT, 0, NEXT, "\x68\x04\x07", 3 },
                 { RIG_CLIENT, 0, NEXT, "\0\0\0", 3 },
                 { RIG_SERVER, 0, NEXT, "\x68\x04\x0b\0\0", 5 },
                 { RIG_SERVER, 0, NEXT, "\0", 1 },
                 { RIG_CLIENT, 0, NEXT, "\x68\x0e\0\0\0\0\x2d\x01\x06", 9 },
                 { RIG_CLIENT, 0, NEXT, "\0\x01\0\x01\0\0\x81", 7 } } },
    { .name = "rtsp",
      .rules = "alert rtsp any any -> any any (rtsp.method; content:\"PLAY\"; rtsp.header; content:\"CSeq\"; sid:1;)\n"
               "alert rtsp any any -> any any (rtsp.stat_code; content:\"200\"; sid:2;)\n"
               "alert rtsp any any -> any any (app-layer-event:rtsp.invalid_data; sid:90;)\n",
      .steps = { CLIENT("OPTIONS rtsp:a"), CLIENT(" RTSP/1.0\r\nContent-Length: 8\r\n\r\nbo"),
                 CLIENT("dy\r\n\r\nPLAY rtsp:a RTSP/1.0\r\nCS"), CLIENT("eq: 1\r\n\r\n"), SERVER("RTSP/1.0 200 OK\r\n"),
                 SERVER("\r\nRTSP/1.0 404 Not"), SERVER(" found\r\n\r\n") } },
    { .name = "ftp",
      .rules = "alert ftp any any -> any any (ftp.command; content:\"RETR\"; sid:1;)\n"
               "alert ftp any any -> any any (ftp.reply; content:\"in\"; sid:2;)\n"
               "alert ftp any any -> any any (app-layer-event:ftp.file_before_port; sid:90;)\n",
      .yaml = "app-layer: { protocols: { ftp: { detection-ports: { dp: 80 } } } }\n",
      .steps = { SERVER("220 FTP serv"), SERVER("er\r\n"), CLIENT("USER tester\r\n"), SERVER("331 Password\r\n"),
                 CLIENT("PASS secret\r\n"), SERVER("230-Welcome\r\n"), SERVER(" here\r\n230 in\r\n"),
                 CLIENT("PASV\r\n"), SERVER("227 Entering (10,0,0,2,4,1)\r\n"), CLIENT("RETR fi"), CLIENT("le\r\n"),
                 SERVER("150 Opening\r\n"), SERVER("226 in\r\n"), CLIENT("QUIT\r\n"), SERVER("221 Bye\r\n") } },
    { .name = "smtp",
      .rules = "alert smtp any any -> any any (smtp.mail_from; content:\"alice\"; sid:1;)\n"
               "alert smtp any any -> any any (smtp.rcpt_to; content:\"bob\"; sid:2;)\n"
               "alert smtp any any -> any any (smtp.helo; content:\"client\"; sid:3;)\n"
               "alert smtp any any -> any any (smtp.mail_from; content:\"mallory\"; sid:4;)\n"
               "alert smtp any any -> any any (app-layer-event:smtp.NO_SERVER_WELCOME_MESSAGE; sid:90;)\n"
               "alert smtp any any -> any any (app-layer-event:smtp.INVALID_REPLY; sid:91;)\n"
               "alert smtp any any -> any any (app-layer-event:smtp.MIME_LONG_HEADER_NAME; sid:92;)\n",
      .yaml = "app-layer: { protocols: { smtp: { detection-ports: { dp: 80 } } } }\n",
      .steps = { SERVER("220 mail SMTP\r\n"),
                 CLIENT("EHLO client\r\n"),
                 SERVER("250-mail\r\n"),
                 SERVER("250 8BITMIME\r\n"),
                 CLIENT("MAIL FROM:<alice@a>\r\n"),
                 SERVER("250 ok\r\n"),
                 CLIENT("RCPT TO:<bob@b>\r\n"),
                 SERVER("250 ok\r\n"),
                 CLIENT("DATA\r\n"),
                 SERVER("354 go on\r\n"),
                 CLIENT("Subject: s\r\n"),
                 CLIENT("\r\nMAIL FROM:<alice@x>\r\nlong"),
                 CLIENT("er\r\n.\r\n"),
                 SERVER("250 ok\r\n"),
                 CLIENT("MAIL FROM:<alice@c>\r\n"),
                 SERVER("250 ok\r\n"),
                 CLIENT("RCPT TO:<bob@d>\r\n"),
                 SERVER("250 ok\r\n"),
                 CLIENT("BDAT 23 LAST\r\n"), /* the server has no CHUNKING: it reads the chunk as commands */
                 CLIENT("MAIL FROM:<mallory@m>\r\n") } },
    { .name = "mail with files",
      .rules = "alert smtp any any -> any any (email.subject; content:\"first second\"; sid:1;)\n"
               "alert smtp any any -> any any (file.data; content:\"evil word\"; sid:2;)\n"
               "alert smtp any any -> any any (file.data; content:\"plain=text\"; sid:3;)\n"
               "alert smtp any any -> any any (file.name; content:\"two.txt\"; sid:4;)\n"
               "alert smtp any any -> any any (file.data; content:\"begin\"; content:\"the end\"; distance:0; sid:5;)\n"
               "alert smtp any any -> any any (email.url; content:\"example.com/path\"; sid:6;)\n"
               "alert smtp any any -> any any (email.body_md5; content:\"a\"; sid:7;)\n"
               "alert smtp any any -> any any (app-layer-event:smtp.MIME_INVALID_BASE64; sid:90;)\n"
               "alert smtp any any -> any any (app-layer-event:smtp.MIME_LONG_HEADER_NAME; sid:92;)\n",
      .yaml = "app-layer: { protocols: { smtp: { detection-ports: { dp: 80 }, mime: { body-md5: yes } } } }\n",
      .steps = { SERVER("220 mail SMTP\r\n"),
                 CLIENT("EHLO client\r\n"),
                 SERVER("250 mail\r\n"),
                 CLIENT("MAIL FROM:<alice@a>\r\nRCPT TO:<bob@b>\r\nDATA\r\n"),
                 SERVER("250 ok\r\n250 ok\r\n354 go on\r\n"),
                 CLIENT("Subject: first\r\n"),
                 CLIENT(" second\r\nContent-Type: multipart/mixed; boundary=\"xx"),
                 CLIENT("yy\"\r\n\r\nprologue\r\n--xxyy\r\nContent-Type: text/plain; name=one.txt\r\n"),
                 CLIENT("Content-Transfer-Encoding: base64\r\n\r\nZXZpb"),
                 CLIENT("C\r\nB3b3Jk"),
                 CLIENT("IQ==\r\n--xxyy\r\nContent-Disposition: attachment; filename=two.txt\r\n"),
                 CLIENT("Content-Transfer-Encoding: quoted-printable\r\n\r\nbegin pl="),
                 CLIENT("\r\nain="),
                 CLIENT("3Dtext http://www.exam"),
                 CLIENT("ple.com/path \r\n..the"),
                 CLIENT(" end\r\n"),
                 CLIENT("--xxyy"),
                 CLIENT("--\r\n."),
                 CLIENT("\r\n"),
                 SERVER("250 ok\r\n"),
                 CLIENT("QUIT\r\n"),
                 SERVER("221 bye\r\n") } },
};

START_TEST(conversations_go_on)
{
    talk_check_all_cuts(&app_talks[_i]);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("handover apps");

    tcase_add_loop_test(tcase, conversations_go_on, 0, sizeof(app_talks) / sizeof(app_talks[0]));
    return rig_run(tcase, "handover apps");
}
