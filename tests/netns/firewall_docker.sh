#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Beside the rules that Docker writes, by iptables-nft or (VARIANT=legacy) iptables-legacy: g1 is the bridge of the
# containers.
. "$(dirname "$0")/firewall_lib.sh"
VARIANT=${VARIANT:-nft}
needs "iptables-$VARIANT-restore"

# In mode chain the user's chain sends what the container may get to the queues, as DOCKER-USER is for.
docker_rules() { # docker_rules ADDRESS DESTINATION
	local rule="-A DOCKER -d $1 ! -i g1 -o g1 -p udp -m udp --dport 7000 -j ACCEPT" chains=
	if [ "${CHAIN:-}" ]; then
		rule=$(recipe docker | sed "/^:/d; /^\*/d; /^COMMIT/d; $CHAIN")
		chains=$(recipe docker | grep '^:')
	fi
	cat <<RULES
*nat
:PREROUTING ACCEPT [0:0]
:INPUT ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A OUTPUT -m addrtype --dst-type LOCAL -j DOCKER
-A DOCKER -i g1 -j RETURN
-A DOCKER ! -i g1 -p tcp -m tcp --dport 8080 -j DNAT --to-destination $2:80
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:DOCKER - [0:0]
:DOCKER-ISOLATION-STAGE-1 - [0:0]
:DOCKER-ISOLATION-STAGE-2 - [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A FORWARD -j DOCKER-ISOLATION-STAGE-1
-A FORWARD -o g1 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -o g1 -j DOCKER
-A FORWARD -i g1 ! -o g1 -j ACCEPT
-A FORWARD -i g1 -o g1 -j ACCEPT
$chains
-A DOCKER-USER -j RETURN
$rule
-A DOCKER-ISOLATION-STAGE-1 -i g1 ! -o g1 -j DOCKER-ISOLATION-STAGE-2
-A DOCKER-ISOLATION-STAGE-1 -j RETURN
-A DOCKER-ISOLATION-STAGE-2 -o g1 -j DROP
-A DOCKER-ISOLATION-STAGE-2 -j RETURN
COMMIT
RULES
}
docker_load() { gateway "$1-$VARIANT-restore" <"$WORK/rules.$1" >>"$WORK/generator.log" 2>&1; }
docker_write() {
	docker_rules 10.66.2.2/32 10.66.2.2 >"$WORK/rules.iptables"
	docker_rules fd66:2::2/128 '[fd66:2::2]' >"$WORK/rules.ip6tables"
}
firewall_start() {
	docker_write
	docker_load iptables && docker_load ip6tables
}
# As a restart does: its jumps go and come in front again, and the containers' rules are written anew.
firewall_reload() {
	local ipt
	docker_write
	for ipt in iptables ip6tables; do
		for chain in DOCKER-ISOLATION-STAGE-1 DOCKER-USER; do
			gateway $ipt-$VARIANT -D FORWARD -j $chain && gateway $ipt-$VARIANT -I FORWARD -j $chain || return
		done
		docker_load $ipt || return
	done
}

firewall_ready
beside after 3
beside repeat 5
[ "$VARIANT" = legacy ] || beside before 5
account after
CHAIN='s/none/none/'
firewall_start || fail "mode chain: $(tail -3 "$WORK/generator.log")"
beside chain 3
CHAIN='/ESTABLISHED/d; s/USER 2/USER 1/'
condemned "without established connections" broken order.accept-replies
CHAIN='s/ -i g0 -p udp --dport 7000//'
condemned "a jump for everything" broken queue.accept-shared
