# SPDX-License-Identifier: GPL-2.0-or-later
"""State of flows and hosts, lists of addresses and values, limits of alerts, and what a rule does besides alerting."""
import base64
import hashlib

from build import (Case, client, CLIENT, CLIENT6, country_database, request, response, SERVER, server, SERVER6, SYN,
                   tcp, tcp_packet, udp, udp_packet)


def datagram(options):
    return f'alert udp any any -> any any ({options})'


def segment(options):
    return f'alert tcp-pkt any any -> any any ({options})'


# --- Counters of a flow. The headers of a datagram take 28 bytes.

counter_packets = udp(4000, client(b'one'), server(b'two'), client(b'three')) + [10, udp_packet(b'four', (40000, 4000))]
counters = [
    (1, datagram('content:"three"; flow.pkts_toserver:2; flow.pkts_toclient:1;')),
    (0, datagram('content:"three"; flow.pkts_toserver:3;')),
    (0, datagram('content:"three"; flow.pkts_toclient:>1;')),
    (1, datagram('content:"three"; flow.pkts:toserver,2;')),
    (1, datagram('content:"two"; flow.pkts:both,1;')),
    (0, datagram('content:"three"; flow.pkts:both,>1;')),
    (1, datagram('content:"three"; flow.pkts:either,>1;')),
    (1, datagram('content:"three"; flow.bytes_toserver:64; flow.bytes_toclient:31;')),
    (0, datagram('content:"three"; flow.bytes_toserver:<64;')),
    (0, datagram('content:"three"; flow.bytes_toclient:>31;')),
    (1, datagram('content:"four"; flow.bytes:toserver,96;')),
    (0, datagram('content:"four"; flow.bytes:toclient,>31;')),
    (1, datagram('content:"four"; flow.age:10;')),
    (0, datagram('content:"three"; flow.age:>0;')),
]

# --- Phases of a TCP session, and the bytes that each side has sent; a SYN counts as one

session_packets = tcp(7000, client(b'ten bytes.'), server(b'and twenty bytes back'), client(b'last'))
session = [  # tcp-pkt: evaluated for the segment, not later for the stream
    (1, segment('content:"ten bytes."; stream_size:client,=,11;')),
    (0, segment('content:"ten bytes."; stream_size:client,>,11;')),
    (0, segment('content:"ten bytes."; stream_size:server,>,1;')),
    (1, segment('content:"last"; stream_size:both,>,14;')),
    (0, segment('content:"ten bytes."; stream_size:both,>,10;')),
    (1, segment('content:"ten bytes."; stream_size:either,>,10;')),
    (1, segment('flags:S; tcp.session:setup;')),
    (0, segment('flags:S; tcp.session:established;')),
    (1, segment('content:"last"; tcp.session:established;')),
    (0, segment('content:"last"; tcp.session:setup;')),
    (0, segment('content:"last"; tcp.session:closing;')),
]

# --- Integers and texts of a flow; texts of a packet

number_packets = udp(4000, client(b'start'), *[client(b'fail')] * 4, client(b'repent'), client(b'verify')) + \
    udp(4000, client(b'verify'), client_port=40001)
numbers = [
    (1, datagram('content:"start"; flowint:failures,=,0;')),
    (4, datagram('content:"fail"; flowint:failures,+,1;')),
    (2, datagram('content:"fail"; flowint:failures,>=,3;')),
    (1, datagram('content:"repent"; flowint:failures,-,3;')),
    (1, datagram('content:"verify"; flowint:failures,==,1;')),
    (0, datagram('content:"verify"; flowint:failures,>,1;')),
    (1, datagram('content:"verify"; flowint:failures,isset;')),
    (1, datagram('content:"verify"; flowint:failures,notset;')),
    (0, datagram('content:"verify"; flowint:others,isset;')),
    (8, datagram('flowint:packets,+,1;')),
    (1, datagram('content:"verify"; flowint:packets,==,7;')),
    (1, datagram('content:"verify"; flowint:packets,==,1;')),
    (0, datagram('content:"start"; flowint:packets,==,0;')),
]
text_packets = udp(4000, client(b'user=alice'), client(b'again')) + udp(4000, client(b'again'), client_port=40001)
texts = [
    (1, datagram(r'pcre:"/user=(\w+)/,flow:who";')),
    (1, datagram('content:"again"; flowvar:who,"alice";')),
    (0, datagram('content:"again"; flowvar:who,"bob";')),
    (1, datagram(r'pcre:"/(\w+)=alice/,pkt:field";')),
    (1, datagram('pktvar:field,"user";')),
    (0, datagram('content:"again"; pktvar:field,"user";')),
]

# --- Bits of hosts and of pairs of hosts. CLIENT knocks at SERVER; OTHER knows nothing.

OTHER = '192.0.2.200'


def between(source, destination, text):
    return udp_packet(text, (40000, 4000), (source, destination))


bit_packets = [
    between(CLIENT, SERVER, b'knock'), between(CLIENT, SERVER, b'enter'), between(SERVER, CLIENT, b'reply'),
    between(OTHER, SERVER, b'enter'), between(SERVER, OTHER, b'reply'), between(OTHER, CLIENT, b'visit'),
    between(CLIENT, OTHER, b'leave'), between(CLIENT, OTHER, b'after'),
]
host_bits = [
    (1, datagram('content:"knock"; hostbits:set,knocked,src;')),
    (1, datagram('content:"enter"; hostbits:isset,knocked,src;')),
    (1, datagram('content:"enter"; hostbits:isnotset,knocked,src;')),
    (1, datagram('content:"reply"; hostbits:isset,knocked,dst;')),
    (0, datagram('content:"reply"; hostbits:isset,knocked,src;')),
    (1, datagram('content:"leave"; hostbits:unset,knocked,src;')),
    (0, datagram('content:"after"; hostbits:isset,knocked,src;')),
    (1, datagram('content:"leave"; hostbits:toggle,left;')),
    (1, datagram('content:"after"; hostbits:isset,left;')),
    (1, datagram('content:"knock"; xbits:set,met,track ip_pair;')),
    (1, datagram('content:"enter"; xbits:isset,met,track ip_pair;')),
    (1, datagram('content:"reply"; xbits:isset,met,track ip_pair;')),
    (0, datagram('content:"visit"; xbits:isset,met,track ip_pair;')),
    (1, datagram('content:"knock"; xbits:set,target,track ip_dst;')),
    (2, datagram('content:"enter"; xbits:isset,target,track ip_dst;')),
    (0, datagram('content:"visit"; xbits:isset,target,track ip_dst;')),
]
flow_bit_packets = udp(4000, client(b'first'), client(b'second'), client(b'third'))
flow_bits = [
    (3, datagram('flowbits:toggle,odd;')),
    (2, datagram('flowbits:isset,odd;')),
    (1, datagram('flowbits:isnotset,odd;')),
    (1, datagram('content:"second"; flowbits:isnotset,odd|even;')),
    (0, datagram('content:"third"; flowbits:isnotset,odd;')),
    (0, datagram('content:"third"; flowbits:isset,even;')),
]

# --- Bits of a transaction, tested in later states of the same transaction

tx_bit_packets = tcp(80, request('GET /mark HTTP/1.1'), response(b'one'), request('GET /other HTTP/1.1'), response(b'two'))
tx_bits = [
    (1, 'alert http1:request_line any any -> any any (http.uri; content:"/mark"; xbits:set,marked,track tx;)'),
    (1, 'alert http1:request_headers any any -> any any (xbits:isset,marked,track tx;)'),
    (1, 'alert http1:response_line any any -> any any (http.stat_code; content:"200"; xbits:isset,marked,track tx;)'),
    (0, 'alert http1:request_headers any any -> any any (http.uri; content:"/other"; xbits:isset,marked,track tx;)'),
    (0, 'alert http1:response_line any any -> any any (xbits:isset,unmarked,track tx;)'),
]

# --- Config rules: no event of one transaction; actions of Snort

config_packets = tcp(80, request('GET /quiet HTTP/1.1'), response(b'one'), request('GET /loud HTTP/1.1'), response(b'two')) + \
    udp(4000, client(b'silent drop'), client(b'record this'), client_port=40001)
QUIET = 'content:"/quiet"; config:logging disable, type tx, scope tx;'
config = [
    (1, f'alert http any any -> any any (http.uri; {QUIET})'),
    (0, f'config http any any -> any any (http.uri; {QUIET})'),
    (0, 'alert http any any -> any any (http.uri; content:"/none"; config:logging disable, type tx, scope tx;)'),
    (0, 'sdrop udp any any -> any any (content:"silent drop";)'),
    (1, 'log udp any any -> any any (content:"record this";)'),
]
config_events = [
    '0 event_type=http http.url=/quiet', '1 event_type=http http.url=/loud',
    '1 event_type=drop drop.reason=rules dest_port=4000',
]

# --- Rules before the flow and the stream are updated; packets without a flow are not inspected as HTTP

early_packets = tcp(80, request('GET /tracked HTTP/1.1')) + tcp(81, request('GET /untracked HTTP/1.1'), client_port=40001) + \
    udp(4000, client(b'bad'), client(b'good'), client_port=40002)
early = [
    (1, 'alert tcp:pre_flow any any -> any 80 (flags:S;)'),
    (0, 'alert tcp:pre_flow any any -> any 80 (flags:R;)'),
    (1, 'alert tcp:pre_stream any any -> any 80 (flags:S; flow:to_server;)'),
    (0, 'alert tcp:pre_stream any any -> any 80 (content:"absent";)'),
    (0, 'config tcp:pre_flow any any <> any 81 (config:tracking disable, type flow, scope packet;)'),
    (1, 'alert http any any -> any any (http.uri; content:"tracked";)'),
    (0, 'alert tcp:pre_stream any any -> any 81 (flags:S;)'),
    (1, 'drop udp:pre_flow any any -> any 4000 (content:"bad";)'),
    (1, 'alert udp any any -> any 4000 (content:"good";)'),
]
early_events = [
    '1 event_type=flow dest_port=80', '0 event_type=flow dest_port=81', '1 event_type=drop dest_port=4000',
    '1 event_type=http http.url=/tracked', '0 event_type=http http.url=/untracked',
]

# --- Countries of addresses

country_packets = [udp_packet(b'abroad', (40000, 4000)),
                   udp_packet(b'at home', (40001, 4000), ('192.0.2.8', '192.0.2.9')),
                   udp_packet(b'version six', (40002, 4000), (CLIENT6, SERVER6)),
                   udp_packet(b'nowhere', (40003, 4000), ('203.0.113.1', '203.0.113.2'))]
countries = [
    (1, datagram('content:"abroad"; geoip:src,DE;')),
    (1, datagram('content:"abroad"; geoip:dst,FR;')),
    (0, datagram('content:"abroad"; geoip:dst,DE;')),
    (2, datagram('geoip:any,FR;')),
    (1, datagram('geoip:both,DE;')),
    (0, datagram('content:"abroad"; geoip:both,DE;')),
    (1, datagram('content:"abroad"; geoip:both,DE,FR;')),
    (1, datagram('content:"version six"; geoip:src,JP;')),
    (1, datagram('content:"abroad"; geoip:dst,!DE,JP;')),
    (0, datagram('content:"abroad"; geoip:dst,!FR;')),
    (0, datagram('content:"nowhere"; geoip:any,DE,FR,JP;')),
]
country_files = {'countries.mmdb': country_database({
    '192.0.2.0/24': 'DE', '198.51.100.0/24': 'FR', '2001:db8::/48': 'JP', '2001:db8:1::/48': 'FR'})}

# --- Reputation of addresses

reputation_packets = [udp_packet(b'to server', (40000, 4000)), udp_packet(b'to other', (40001, 4000), (CLIENT, OTHER)),
                      udp_packet(b'version six', (40002, 4000), (CLIENT6, SERVER6))]
reputations = [
    (2, datagram('iprep:src,Scanner,>,50;')),
    (0, datagram('iprep:src,Scanner,>,70;')),
    (1, datagram('iprep:dst,Scanner,=,20;')),
    (1, datagram('iprep:any,Malware,>=,100;')),
    (0, datagram('iprep:src,Malware,>,0;')),
    (1, datagram('iprep:both,Scanner,<,100;')),
    (1, datagram('iprep:dst,Malware,=,127; content:"version six";')),
]
reputation_files = {'categories.txt': '1,Scanner,Hosts that scan\n2,Malware,Hosts that serve malware\n',
                    'hosts.list': f'{CLIENT},1,70\n192.0.2.0/24,1,20\n{SERVER6},2,127\n'}

# --- Sets of values, of each type, and values with a reputation

value_packets = [udp_packet(b'alpha', (40000, 4000)), udp_packet(b'beta', (40001, 4000), ('192.0.2.8', SERVER)),
                 udp_packet(b'alpha', (40002, 4000), (CLIENT6, SERVER6)),
                 *tcp(80, request('GET /alpha HTTP/1.1', User_Agent='alpha')), *tcp(80, request(User_Agent='beta'),
                                                                                   client_port=40001)]
AGENT = 'alert http any any -> any any (http.user_agent; '
values = [
    (2, 'alert ip any any -> any any (dsize:>0; content:"a"; ip.src; dataset:isset,clients,type ip,load ips.list;)'),
    (1, datagram('ip.src; dataset:isset,four,type ipv4,load ip4.list;')),
    (1, f'{AGENT}to_md5; dataset:isset,digests,type md5,load md5.list;)'),
    (1, f'{AGENT}to_sha256; dataset:isset,long,type sha256,load sha256.list;)'),
    (0, f'{AGENT}to_sha256; content:"never"; dataset:isset,long;)'),
    (1, f'{AGENT}datarep:scores,>,50,load scores.list,type string;)'),
    (1, f'{AGENT}datarep:scores,<,50;)'),
    (1, f'{AGENT}datarep:scores,==,80;)'),
    (0, f'{AGENT}content:"alpha"; datarep:scores,>,80;)'),
    (1, f'{AGENT}content:"beta"; dataset:unset,agents,type string,load agents.list;)'),
    (1, f'{AGENT}dataset:isset,json,type string,load agents.json,format json,array_key list,value_key agent.name,'
        'remove_key,context_key agent;)'),
    (1, datagram('ip.src; dataset:isset,lines,type ip,load hosts.ndjson,format ndjson,value_key ip,context_key host;')),
    (0, f'{AGENT}content:"beta"; dataset:isset,json;)'),
]
SCORES = {'alpha': 80, 'beta': 10, 'gamma': 500}
value_files = {
    'ips.list': f'{CLIENT6}\n::ffff:192.0.2.8\n', 'ip4.list': '192.0.2.8\n',
    'md5.list': hashlib.md5(b'alpha').hexdigest() + '\n', 'sha256.list': hashlib.sha256(b'beta').hexdigest() + '\n',
    'scores.list': ''.join(f'{base64.b64encode(name.encode()).decode()},{score}\n' for name, score in SCORES.items()),
    'agents.json': '{"list": [{"agent": {"name": "alpha", "family": "a"}, "seen": [1, 2]}]}',
    'hosts.ndjson': '{"ip": "192.0.2.8", "owner": "lab"}\n',
    'agents.list': base64.b64encode(b'beta').decode() + '\n',
}

# --- Limits that count by more than the source

spread_packets = [packet for port in (40000, 40001) for packet in
                  udp(4000, *[client(b'again')] * 3, client_port=port)] + \
    udp(4000, *[client(b'again')] * 3, client_port=40002, ends=(OTHER, SERVER))
limits = [
    (9, datagram('content:"again";')),
    (1, datagram('content:"again"; threshold:type limit, track by_rule, count 1, seconds 60;')),
    (1, datagram('content:"again"; threshold:type limit, track by_dst, count 1, seconds 60;')),
    (2, datagram('content:"again"; threshold:type limit, track by_both, count 1, seconds 60;')),
    (3, datagram('content:"again"; threshold:type limit, track by_flow, count 1, seconds 60;')),
    (3, datagram('content:"again"; threshold:type both, track by_flow, count 2, seconds 60;')),
    (0, datagram('content:"again"; threshold:type both, track by_flow, count 4, seconds 60;')),
    (6, datagram('content:"again"; detection_filter:track by_flow, count 1, seconds 60;')),
    (5, datagram('content:"again"; detection_filter:track by_dst, count 4, seconds 60;')),
    (0, datagram('content:"again"; detection_filter:track by_dst, count 9, seconds 60;')),
]
# Backoff alerts at the first, tenth and hundredth match.
backoff_packets = udp(4000, *[client(b'again')] * 120)
backoff = [
    (3, datagram('content:"again"; threshold:type backoff, track by_flow, count 1, multiplier 10;')),
    (2, datagram('content:"again"; threshold:type backoff, track by_flow, count 2, multiplier 10;')),
    (0, datagram('content:"again"; threshold:type backoff, track by_flow, count 121, multiplier 10;')),
]

# --- Bypass: no rule inspects the rest of the flow. Tags: packets that follow are logged; the first one that counts is
# the packet of the alert, which is not logged.

bypass_packets = udp(4000, client(b'trusted'), client(b'evil')) + udp(4000, client(b'evil'), client_port=40001)
bypass = [
    (1, datagram('content:"trusted"; bypass;')),
    (1, datagram('content:"evil";')),
    (0, datagram('content:"trusted"; content:"evil"; bypass;')),
]
tag_packets = udp(4000, client(b'mark this'), *[client(b'later')] * 4) + \
    udp(4000, *[client(b'elsewhere')] * 2, client_port=40001)
tags = [
    (1, datagram('content:"mark this"; tag:session,3,packets;')),
    (0, datagram('content:"mark that"; tag:host,256,packets,src;')),
]



def tagging(tag):
    return [(1, datagram(f'content:"mark this"; tag:{tag};')), (0, datagram(f'content:"mark that"; tag:{tag};'))]


MARK, LATER = client(b'mark this'), client(b'later')
host_packets = udp(4000, MARK) + udp(4000, LATER, client_port=40001) + udp(4000, LATER) + \
    udp(4000, LATER, client_port=40001) + udp(4000, LATER, client_port=40002, ends=(OTHER, SERVER))
timed_packets = udp(4000, MARK, LATER, LATER) + [10, *udp(4000, LATER)]

# --- What an alert tells, and alerts of actions that do not alert

word_packets = udp(4000, client(b'suspicious')) + udp(4001, client(b'passes'), client_port=40001)
CLASSES = 'config classification: trojan-activity,Trojan,1\n'
WORDS = ('gid:7; rev:3; priority:2; classtype:trojan-activity; reference:url,example.org/1; target:src_ip; '
         'metadata:affected_product Any, tag Test;')
words = [
    (1, datagram(f'content:"suspicious"; {WORDS}')),
    (0, datagram(f'content:"harmless"; {WORDS}')),
    (1, datagram('content:"suspicious"; prefilter; content:"pic"; rawbytes;')),
    (0, datagram('content:"suspicious"; prefilter; content:"PIC"; rawbytes;')),
    (1, datagram('content:"suspicious"; requires:version >= 7.0.3 < 8 | >= 8.0.1, keyword content;')),
    (0, datagram('content:"suspicious"; requires:version >= 7.0.3 < 8;')),
    (0, datagram('content:"suspicious"; noalert;')),
    (1, 'pass udp any any -> any 4001 (content:"passes"; alert;)'),
    (0, 'pass udp any any -> any 4001 (content:"stays"; alert;)'),
    (1, datagram('content:"suspicious"; replace:"auspicious";')),
    (0, datagram('content:"harmless"; replace:"harmful!";')),
]

# --- Inline: a packet rule drops one datagram, a stream rule the rest of the session; a datagram is changed

inline_packets = udp(4000, client(b'drop this'), client(b'rest of the flow')) + \
    udp(4001, client(b'change this'), client_port=40001) + \
    tcp(7000, client(b'refuse this'), client(b'rest of the session'), client_port=40002) + \
    tcp(7001, client(b'stop this'), client(b'after the stop'), client_port=40003)
inline = [
    (1, 'drop udp any any -> any any (content:"drop this";)'),
    (1, datagram('content:"rest of the flow";')),
    (1, 'drop tcp any any -> any any (content:"stop this";)'),
    (0, segment('content:"after the stop";')),
    (1, datagram('content:"change"; replace:"insert";')),
    (0, datagram('content:"insert";')),
    (1, 'reject tcp any any -> any any (content:"refuse this";)'),
    (0, segment('content:"rest of the session";')),
]

# --- Files: names, types, and their place in the file store

PICTURE = b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR' + bytes(80)
file_packets = tcp(80, request('GET /images/Holiday.PNG HTTP/1.1'), response(PICTURE, Content_Type='image/png'),
                   request('GET /notes.txt HTTP/1.1'), response(b'some notes'))
WEB = 'alert http any any -> any any ('
files = [
    (1, WEB + 'fileext:"png";)'),
    (0, WEB + 'fileext:"gif";)'),
    (1, WEB + 'filename:"holiday";)'),
    (0, WEB + 'filename:"party";)'),
    (1, WEB + 'file.magic; content:"PNG image";)'),
    (0, WEB + 'file.magic; content:"IHDR";)'),
    (1, WEB + 'filesize:<20; filename:"notes"; filestore;)'),
    (0, WEB + 'filesize:>200; filestore;)'),
    (1, WEB + 'filesha1:listed.sha1;)'),
    (0, WEB + 'filesha256:unknown.sha256;)'),
    (0, WEB + 'filemd5:unknown.md5;)'),
    (1, WEB + 'filemd5:!unknown.md5; fileext:"txt";)'),
]
file_lists = {'listed.sha1': hashlib.sha1(PICTURE).hexdigest() + '  Holiday.PNG\n',
              'unknown.sha256': hashlib.sha256(b'unknown').hexdigest() + '\n',
              'unknown.md5': hashlib.md5(b'unknown').hexdigest() + '\n'}

cases = {
    'counters': (counter_packets, counters),
    'session': (session_packets, session),
    'numbers': (number_packets, numbers),
    'texts': (text_packets, texts),
    'host_bits': (bit_packets, host_bits),
    'flow_bits': (flow_bit_packets, flow_bits),
    'tx_bits': (tx_bit_packets, tx_bits),
    'early': Case(early_packets, early, options=['--ips'], events=early_events),
    'config': Case(config_packets, config, options=['--ips'], events=config_events),
    'countries': Case(country_packets, countries, country_files, ['--set', 'geoip-database={folder}/countries.mmdb']),
    'reputations': Case(reputation_packets, reputations, reputation_files,
                        ['--set', 'reputation.categories={folder}/categories.txt',
                         '--set', 'reputation.files={folder}/hosts.list']),
    'values': Case(value_packets, values, value_files,
                   events=['1 event_type=alert alert.context.agent.agent.family=a',
                           '0 event_type=alert alert.context.agent.agent.name=alpha',
                           '1 event_type=alert alert.context.host.owner=lab']),
    'limits': (spread_packets, limits),
    'backoff': (backoff_packets, backoff),
    'bypass': (bypass_packets, bypass),
    'tags': Case(tag_packets, tags, events=['2 event_type=packet']),
    'tag_host': Case(host_packets, tagging('host,3,packets,src'), events=[
        '2 event_type=packet', '1 event_type=packet src_port=40001', '0 event_type=packet src_ip=192.0.2.200']),
    'tag_seconds': Case(timed_packets, tagging('session,5,seconds'), events=['2 event_type=packet']),
    # 37 bytes with the headers, then 33 each: the third of them exceeds the 110 bytes
    'tag_bytes': Case(tag_packets, tagging('session,110,bytes'), events=['2 event_type=packet']),
    'words': Case(word_packets, words, {'classes': CLASSES}, ['--set', 'classification-file={folder}/classes'], [
        '1 event_type=alert alert.category=Trojan',
        '1 event_type=alert alert.signature_id=1 alert.gid=7 alert.rev=3 alert.severity=2 alert.signature=1',
        '1 event_type=alert alert.signature_id=1 alert.target.ip=192.0.2.1 alert.source.ip=198.51.100.1',
        "1 event_type=alert alert.metadata.tag=['Test'] alert.metadata.affected_product=['Any']"]),
    'inline': Case(inline_packets, inline, options=['--ips'], events=[
        '1 event_type=stats stats.ips.replaced=1 stats.ips.rejected=1',
        '1 event_type=drop drop.reason=rules dest_port=4000', '1 event_type=drop drop.reason=rules dest_port=7000',
        '1 event_type=drop drop.reason=rules dest_port=7001']),
    'ended': Case(tcp(80, request('GET / HTTP/1.1'), response(b''), finished=True) +
                  tcp(80, request('GET / HTTP/1.1'), finished=False, client_port=40001) +
                  [tcp_packet(flags=SYN, ports=(40002, 80))],
                  [(1, 'alert tcp any any -> any any (flags:S; threshold:type limit, track by_dst, count 1, seconds 60;)'),
                   (0, 'alert tcp any any -> any any (flags:R;)')], events=[
        '1 event_type=stats stats.flow.end.tcp_state.closed=1 stats.flow.end.tcp_state.established=1 '
        'stats.flow.end.tcp_state.syn_sent=1 stats.flow.end.tcp_state.time_wait=0']),
    'files': Case(file_packets, files, file_lists, ['--set', 'file-store.enabled=yes'], [
        '1 event_type=fileinfo fileinfo.filename=/notes.txt fileinfo.stored=true',
        '1 event_type=fileinfo fileinfo.filename=/images/Holiday.PNG fileinfo.stored=false']),
}
