/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Public captures (SLUICE_SHARED), each inspected as a whole and with engine hand-overs in the middle. The same rules
 * must match on the same packets, except for known losses: bodies that are inspected only at their end. The test uses
 * every fourth capture. CAPTURES names a capture or a folder of which all are used, with each difference printed. CUTS
 * is the number of hand-overs per capture.
 */
#include <ftw.h>
#include <pcap/pcap.h>

#include "default_options.h"
#include "handover_rig.h"

enum { MAX_OPEN_FOLDERS = 16, MAX_PACKETS = 3000, MAX_HITS = 24, CUTS = 4, SAMPLE = 4 };

struct capture_packet {
    struct pcap_pkthdr header;
    uint8_t *bytes;
};

/* The sids that matched on a packet. */
struct found {
    uint32_t sids[MAX_HITS];
    unsigned count;
    bool dropped;
};

static struct {
    struct capture_packet packets[MAX_PACKETS];
    struct found whole[MAX_PACKETS], cut[MAX_PACKETS];
    unsigned count;
    enum link_type link;
} capture;

static unsigned long file_count, packet_count, hit_count, missed_count, added_count, differing_files;
static unsigned cuts = CUTS;
static bool prints;

/* --- Rules ---------------------------------------------------------------------------------------- */

/* Rules on buffers of each protocol, so that a rule matches on nearly every message. */
static const char own_rules[] =
    "alert http any any -> any any (http.uri; content:\"/\"; sid:1001;)\n"
    "alert http any any -> any any (http.stat_code; content:\"0\"; sid:1002;)\n"
    "alert http any any -> any any (http.user_agent; bsize:>0; sid:1003;)\n"
    "alert http any any -> any any (file.data; content:\"e\"; sid:1004;)\n"
    "alert tls any any -> any any (tls.sni; bsize:>0; sid:1005;)\n"
    "alert tls any any -> any any (tls.cert_subject; content:\"=\"; sid:1006;)\n"
    "alert dns any any -> any any (dns.query; bsize:>0; sid:1007;)\n"
    "alert ssh any any -> any any (ssh.software; bsize:>0; sid:1008;)\n"
    "alert ftp any any -> any any (ftp.command; bsize:>0; sid:1009;)\n"
    "alert ftp any any -> any any (ftp.reply; bsize:>0; sid:1010;)\n"
    "alert smtp any any -> any any (smtp.mail_from; bsize:>0; sid:1011;)\n"
    "alert smb any any -> any any (smb.named_pipe; bsize:>0; sid:1012;)\n"
    "alert smb any any -> any any (smb.share; bsize:>0; sid:1013;)\n"
    "alert dcerpc any any -> any any (dcerpc.stub_data; bsize:>0; sid:1014;)\n"
    "alert krb5 any any -> any any (krb5.cname; bsize:>0; sid:1015;)\n"
    "alert mqtt any any -> any any (mqtt.publish.topic; bsize:>0; sid:1036;)\n"
    "alert mqtt any any -> any any (mqtt.type:SUBACK; sid:1037;)\n"
    "alert doh2 any any -> any any (dns.query; bsize:>0; sid:1090;)\n"
    "alert pop3 any any -> any any (flow:to_client; content:\"+OK\"; sid:1091;)\n"
    "alert pgsql any any -> any any (pgsql.query; bsize:>0; sid:1031;)\n"
    "alert ldap any any -> any any (ldap.request.operation:<200; sid:1032;)\n"
    "alert modbus any any -> any any (modbus:function all; sid:1033;)\n"
    "alert enip any any -> any any (enip.command:<999; sid:1034;)\n"
    "alert dnp3 any any -> any any (dnp3.data; bsize:>0; sid:1035;)\n"
    "alert tcp any any -> any any (flow:established,to_server; content:\"GET \"; sid:1101;)\n"
    "alert tcp any any -> any any (content:\"the\"; content:\"of\"; distance:0; sid:1102;)\n"
    "alert tcp any any -> any any (pcre:\"/[0-9]{4}[a-z]/\"; sid:1103;)\n"
    "alert udp any any -> any any (flow:established,to_client; dsize:>0; sid:1104;)\n"
    "alert tcp any any -> any any (flow:not_established; flags:A; sid:1105;)\n";

static void add_folder(struct rule_list *list, const char *folder, struct diag *diag)
{
    static const char *const files[] = {
        "app-layer-events", "dns-events",   "dcerpc-events",   "decoder-events",    "files",        "ftp-events",
        "http-events",      "ipsec-events", "kerberos-events", "nfs-events",        "pgsql-events", "ldap-events",
        "modbus-events",    "enip-events",  "dnp3-events",     "bittorrent-events", "smb-events",   "smtp-events",
        "pop3-events",      "ssh-events",   "stream-events",   "tls-events"
    };
    char path[4200];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s.rules", folder, files[i]);
        if (access(path, R_OK) == 0)
            rule_list_load(list, path, diag);
    }
}

static struct ruleset *make_ruleset(const char *shared)
{
    const struct rule_list_options list_options = { .keywords = rig.keywords,
                                                    .variables = rig.variables,
                                                    .datasets = datasets_new_default(NULL),
                                                    .owns_datasets = true,
                                                    .applications = rig.applications };
    struct ruleset_options options;
    struct ruleset *ruleset = NULL;
    struct rule_list *list = NULL;
    struct diag *diag = diag_new();
    char folder[4096];

    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "own", own_rules, strlen(own_rules), diag), 0);
    ck_assert_uint_eq(diag_errors(diag), 0);
    snprintf(folder, sizeof(folder), "%s/rules/oisf-events", shared);
    add_folder(list, folder, diag);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ruleset_options_default(&options);
    ck_assert_int_eq(ruleset_new(&ruleset, list, &options, diag), 0);
    diag_free(diag);
    return ruleset;
}

/* --- Verdicts ------------------------------------------------------------------------------------- */

static void open_pipeline(void)
{
    rig_configure_applications("");
    ck_assert_int_eq(pipeline_shared_init(&rig.shared, &rig.options), 0);
    ck_assert_int_eq(pipeline_init(&rig.pipeline, &rig.options, &rig.shared, 0, output_port(rig.output, 0)), 0);
    ck_assert_int_eq(detector_prepare(rig.pipeline.detector, rig.ruleset), 0);
}

static void close_pipeline(void)
{
    pipeline_clear(&rig.pipeline);
    pipeline_shared_clear(&rig.shared);
}

static void hand_over(void)
{
    struct handover_counts counts = { 0 };
    int fd = rig_memory_file(), shared = rig_memory_file();

    rig_write_state(fd, shared);
    close_pipeline();
    rig.options.flow.seed++;
    open_pipeline();
    ck_assert_int_eq(handover_read_shared(&rig.shared, rig.ruleset, shared), 0);
    ck_assert_int_eq(handover_read(&rig.pipeline, rig.ruleset, rig_place, fd, &counts), 0);
    ck_assert_uint_eq(counts.left, 0);
    ck_assert_uint_eq(counts.spoiled, 0);
    close(fd);
    close(shared);
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

/* Inspects a packet; stores its hits. For tunnels they are those of the innermost packet. */
static void judge(unsigned index, struct found *out)
{
    const struct capture_packet *from = &capture.packets[index];
    const struct hit *hits;
    size_t count;

    rig.time_ns = (uint64_t)from->header.ts.tv_sec * RIG_SECOND + (uint64_t)from->header.ts.tv_usec * 1000;
    rig.packet = (struct packet){ .data = from->bytes,
                                  .length = from->header.caplen,
                                  .wire_length = from->header.len,
                                  .link = capture.link,
                                  .time_ns = rig.time_ns,
                                  .number = index + 1 };
    rig_inspect(&rig.packet);
    count = rig_hits(&hits);
    *out = (struct found){ .dropped = rig.packet.verdict == VERDICT_DROP };
    for (size_t i = 0; i < count && out->count < MAX_HITS; i++)
        out->sids[out->count++] = hits[i].rule->sid;
    qsort(out->sids, out->count, sizeof(out->sids[0]), by_number);
}

/* Returns whether there is a hand-over before this packet. They are distributed evenly. */
static bool is_cut(unsigned index)
{
    for (unsigned cut = 1; cut <= cuts && index > 0; cut++) {
        if (index == capture.count * cut / (cuts + 1))
            return true;
    }
    return false;
}

static void judge_all(struct found *out, bool with_cuts)
{
    open_pipeline();
    for (unsigned i = 0; i < capture.count; i++) {
        if (with_cuts && is_cut(i))
            hand_over();
        judge(i, &out[i]);
    }
    pipeline_discard_flows(&rig.pipeline);
    close_pipeline();
}

static bool has(const struct found *found, uint32_t sid)
{
    for (unsigned i = 0; i < found->count; i++) {
        if (found->sids[i] == sid)
            return true;
    }
    return false;
}

static unsigned compare(const char *path, unsigned index, const struct found *a, const struct found *b,
                        const char *word)
{
    unsigned count = 0;

    for (unsigned i = 0; i < a->count; i++) {
        if (has(b, a->sids[i]))
            continue;
        count++;
        if (prints)
            printf("%s: packet %u of %u: sid %u %s\n", path, index + 1, capture.count, a->sids[i], word);
    }
    return count;
}

/* --- Captures ------------------------------------------------------------------------------------- */

static enum link_type link_of(int datalink)
{
    switch (datalink) {
    case DLT_EN10MB:
        return LINK_ETHERNET;
    case DLT_RAW:
        return LINK_RAW;
    case DLT_LINUX_SLL:
        return LINK_LINUX_SLL;
    case DLT_NULL:
        return LINK_NULL;
    default:
        return LINK_UNSUPPORTED;
    }
}

static void forget_capture(void)
{
    for (unsigned i = 0; i < capture.count; i++)
        free(capture.packets[i].bytes);
    capture.count = 0;
}

static bool load_capture(const char *path)
{
    char error[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(path, error);
    struct pcap_pkthdr *header;
    const u_char *bytes;

    if (!pcap)
        return false;
    capture.link = link_of(pcap_datalink(pcap));
    while (capture.link != LINK_UNSUPPORTED && capture.count < MAX_PACKETS &&
           pcap_next_ex(pcap, &header, &bytes) == 1) {
        struct capture_packet *packet = &capture.packets[capture.count++];

        packet->header = *header;
        packet->bytes = malloc(header->caplen + 1);
        memcpy(packet->bytes, bytes, header->caplen);
    }
    pcap_close(pcap);
    return capture.count > 1;
}

static void check_capture(const char *path)
{
    unsigned missed = 0, added = 0;

    if (!load_capture(path)) {
        forget_capture();
        return;
    }
    judge_all(capture.whole, false);
    judge_all(capture.cut, true);
    for (unsigned i = 0; i < capture.count; i++) {
        missed += compare(path, i, &capture.whole[i], &capture.cut[i], "is missed");
        added += compare(path, i, &capture.cut[i], &capture.whole[i], "is new");
        hit_count += capture.whole[i].count;
    }
    file_count++;
    packet_count += capture.count;
    missed_count += missed;
    added_count += added;
    differing_files += missed + added > 0;
    forget_capture();
}

static int visit(const char *path, const struct stat *status, int type, struct FTW *at)
{
    static unsigned seen;

    (void)at;
    if (type == FTW_F && status->st_size > 0 && (prints || ++seen % SAMPLE == 0))
        check_capture(path);
    return 0;
}

START_TEST(the_same_rules_match)
{
    const char *shared = getenv("SLUICE_SHARED"), *chosen = getenv("CAPTURES");
    char folder[4096];

    prints = chosen != NULL;
    if (getenv("CUTS"))
        cuts = (unsigned)atoi(getenv("CUTS"));
    snprintf(folder, sizeof(folder), "%s/pcaps", shared ? shared : ".");
    rig_setup_applications();
    rig.options.stream.midstream = true;
    rig.options.app.memcap = 64 << 20;
    rig_open("alert tcp any any -> any any (content:\"x\"; sid:1;)\n");
    close_pipeline();
    ruleset_free(rig.ruleset);
    rig.ruleset = make_ruleset(shared ? shared : ".");
    ck_assert_int_eq(nftw(chosen ? chosen : folder, visit, MAX_OPEN_FOLDERS, FTW_PHYS), 0);
    printf("%lu files, %lu packets, %lu hits; %lu missed, %lu new, in %lu files\n", file_count, packet_count, hit_count,
           missed_count, added_count, differing_files);
    if (file_count == 0)
        printf("no captures in %s\n", folder);
    ck_assert_uint_le((missed_count + added_count) * 500, hit_count);
    open_pipeline();
    rig_close_applications();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("captures");

    Suite *suite = suite_create("handover captures");
    SRunner *runner = srunner_create(suite);

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, the_same_rules_match);
    tcase_set_timeout(tcase, 110);
    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
