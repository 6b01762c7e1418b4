#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Too little memory, by the limit of a control group: at the start, at a reload, while it runs, and for good. The engine
# dies of it and never the supervisor, who says why; traffic goes on, and when there is no memory for an engine it is
# treated by the policy.
. "$(dirname "$0")/lib.sh"

# A group of our own below ours, of the version that this kernel has memory in.
own=$(awk -F: '$2 ~ /(^|,)memory(,|$)/ { print $3 }' /proc/self/cgroup)
if [ -n "$own" ]; then
	outer=/sys/fs/cgroup/memory$own limit=memory.limit_in_bytes used=memory.usage_in_bytes
else
	outer=/sys/fs/cgroup$(awk -F: '$1 == 0 { print $3 }' /proc/self/cgroup) limit=memory.max used=memory.current
fi
GROUP=$outer/sluice-test-$$
mkdir "$GROUP" 2>/dev/null || skip "no control group can be made below $outer"
trap 'cleanup; wait_for rmdir "$GROUP" 2>/dev/null' EXIT
[ -w "$GROUP/$limit" ] || skip "$outer has no memory controller for the groups below it"
enter() { echo $$ >"$1/cgroup.procs"; } # for what is started from now on
set_limit() { echo "$1" >"$GROUP/$limit" || fail "the limit can't be set"; }

topology
# `ip netns exec` has another /sys, without groups: back into this one.
printf '#!/bin/sh\nexec nsenter --mount=/proc/%s/ns/mnt "%s" "$@"\n' $$ "$SLUICE" >"$WORK/sluice"
chmod +x "$WORK/sluice"
SLUICE=$WORK/sluice
pings() { client ping -c 3 -i 0.2 -W 1 -q 10.66.2.2 >"$WORK/pings" 2>&1; }
ask() { "$SLUICE" "$@" --socket "$WORK/socket"; }
tells() { wait_text "$WORK/$1.log" "$2"; } # tells NAME PATTERN
score() { cat "/proc/$1/oom_score_adj"; }
tests=$(printf 'byte_test:4,>,1000,%d; ' $(seq 80)) # conditions that need memory, but little time to load
for i in $(seq 4000); do
	echo "alert tcp any any -> any $((i % 50))" \
		"(msg:\"filler\"; content:\"filler number $i\"; pcre:\"/some$i[a-f]+/\"; $tests sid:$i;)"
done >"$WORK/t.rules"
options=(--rules "$WORK/t.rules" --queue 0-1 --attach after --no-console --set "unix-command.filename=$WORK/socket"
	--set engine.restart-limit=2)

# --- At the start: it ends with the reason, and the firewall is as it was ---------------------------------------------
enter "$GROUP"
set_limit 24M
code=0
mkdir "$WORK/start"
timeout 60 ip netns exec "$P-gw" "$SLUICE" run --set run-as.user=root --log-dir "$WORK/start" "${options[@]}" \
	>"$WORK/start.log" 2>&1 || code=$?
enter "$outer"
equal "start: exit code" "$code" 1
killed="the engine was killed by signal 9 (Killed), because it ran out of memory"
tells start "sluice run: $killed: control group .*sluice-test.* is limited to 24 MiB"
grep -q sluice <<<"$(gateway nft list tables)" && fail "start: the table is there"
set_limit -1 2>/dev/null || set_limit max

# --- At a reload: refused before anything is read; the old rules stay -------------------------------------------------
enter "$GROUP"
start_sluice ips "${options[@]}"
enter "$outer"
ips=$LAST_PID
set_limit $(($(cat "$GROUP/$used") + (1 << 20)))
ask reload >"$WORK/out" 2>&1 && fail "reload: there was no memory for it"
grep -q "a second set of rules needs about [0-9]* MiB, and [0-9]* MiB are available" "$WORK/out" ||
	fail "reload: does not say why: $(cat "$WORK/out")"
pings || fail "reload: traffic does not pass"

# --- While it runs: the kernel takes the engine, of all that are in the group; another one goes on --------------------
engine=$(engine_of "$ips")
[ "$(score "$engine")" -gt "$(score "$ips")" ] ||
	fail "the engine counts no more than its supervisor: $(score "$engine"), $(score "$ips")"
# hog PID MIB: takes four times so much in the group, by processes that are each smaller than an engine, until that
# process is gone.
hog() {
	python3 - "$1" "$GROUP" "$2" <<'PYTHON' &
import os, sys, time
open(sys.argv[2] + "/cgroup.procs", "w").write(str(os.getpid()))
ends = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(ends[1])
        taken = [bytearray(1 << 20) for _ in range(int(sys.argv[3]))]
        os.read(ends[0], 1)  # until the parent is gone
        os._exit(0)
end = time.monotonic() + 30
while os.path.exists("/proc/" + sys.argv[1]) and time.monotonic() < end:
    time.sleep(0.01)
PYTHON
	HOG=$!
}
client ping -i 0.05 -c 80 -W 5 -q 10.66.2.2 >"$WORK/pings" 2>&1 &
PINGS=$!
set_limit $(($(cat "$GROUP/$used") + (96 << 20)))
hog "$engine" 28
wait "$HOG" || fail "the hog did not end well"
tells ips "$killed: control group .*sluice-test.* raise the limit (MemoryMax=)"
wait_lines "$WORK/ips.log" "^sluice: ready" 2
kill -0 "$ips" || fail "the supervisor is gone"
wait "$PINGS" || true
grep -q " 0% packet loss" "$WORK/pings" || fail "packets were lost: $(cat "$WORK/pings")"
wait_events ips 1 event_type=engine sluice.engine.signal=9

# --- For good: after the limit the supervisor ends, and the policy holds ----------------------------------------------
hog "$ips" 40 # more than there is even when the cache of files gives way
code=0
wait "$ips" || code=$?
equal "for good: exit code" "$code" 1
died="the engine died 3 times in a row (engine.restart-limit)"
tells ips "sluice run: $died; the last one was killed by signal 9.*because it ran out of memory"
tells ips "traffic passes uninspected from now on"
pings || fail "for good: traffic does not pass"
