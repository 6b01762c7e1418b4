#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds contrib/container/Containerfile with buildah, on a Debian that debootstrap makes, and runs the program of the
# image with CAP_NET_ADMIN as its only capability in a network namespace: it must start, answer, and remove its table.
#   PRODUCT_CACHE   keeps the fresh Debian
set -euo pipefail
: "${PRODUCT_CACHE:?folder for the fresh Debian}"
source=$(cd "$(dirname "$0")/../../.." && pwd)
mirror=http://deb.debian.org/debian
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
for tool in buildah debootstrap setpriv unshare; do
	type -P $tool >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
images=(buildah --storage-driver vfs --root "$work/images" --runroot "$work/run")
trap '"${images[@]}" rm --all >/dev/null 2>&1; rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
fail() { echo "FAILED: $*" >&2; tail -n 30 "$work/log" >&2; exit 1; }

if [ ! -f "$PRODUCT_CACHE/bookworm.tar" ]; then
	debootstrap --variant=minbase bookworm "$work/base" $mirror >"$work/log" 2>&1 || {
		echo "SKIP: debootstrap failed; is $mirror reachable?"
		exit 77
	}
	tar -C "$work/base" -cf "$PRODUCT_CACHE/bookworm.tar.new" .
	mv "$PRODUCT_CACHE/bookworm.tar.new" "$PRODUCT_CACHE/bookworm.tar"
	rm -rf "$work/base"
fi
base=$("${images[@]}" from scratch)
"${images[@]}" add -q "$base" "$PRODUCT_CACHE/bookworm.tar" / >"$work/log" 2>&1 || fail "the base image"
"${images[@]}" commit -q "$base" debian-base >"$work/log" 2>&1 || fail "the base image"
"${images[@]}" rm "$base" >"$work/log"
"${images[@]}" build --isolation chroot --network host --build-arg BASE=localhost/debian-base -t sluice \
	-f "$source/contrib/container/Containerfile" "$source" >"$work/log" 2>&1 || fail "buildah build"
container=$("${images[@]}" from --pull-never sluice)
root=$("${images[@]}" mount "$container")
[ "$(chroot "$root" sluice --version)" = "sluice $(sed -n 's/.*project(sluice VERSION \([0-9.]*\) .*/\1/p' \
	"$source/CMakeLists.txt")" ] || fail "the program of the image does not run"
chroot "$root" ldd /usr/sbin/sluice /usr/sbin/sluice-ship /usr/libexec/sluice/sluice-metrics-http >"$work/log"
! grep -q "not found" "$work/log" || fail "libraries are missing"
"${images[@]}" inspect --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' "$container" >"$work/said"
[ "$(cat "$work/said")" = "[/usr/sbin/sluice] [run --no-console --set run-as.user=root]" ] || fail "$(cat "$work/said")"

# As a runtime does with --network host --cap-drop all --cap-add NET_ADMIN, in network and mounts of its own.
cat >"$work/inside" <<'INSIDE'
root=$1 log=$2
ip link set lo up
mount -t proc proc "$root/proc"
mount --bind /sys "$root/sys"
mount -t tmpfs run "$root/run"
mkdir "$root/run/sluice"
chroot "$root" setpriv --bounding-set=-all,+net_admin --inh-caps=-all,+net_admin \
	sluice run --no-console --set run-as.user=root >"$log" 2>&1 &
daemon=$!
for _ in $(seq 600); do
	chroot "$root" sluice status >"$log.status" 2>&1 && break
	kill -0 $daemon || exit 1
	sleep 0.1
done
grep -q '^CapBnd:\s*0*1000$' "/proc/$daemon/status" || { echo "capabilities" >>"$log"; exit 1; }
cat "$log.status"
nft list tables 2>/dev/null | grep -q sluice || { echo "no sluice table" >>"$log"; exit 1; }
kill $daemon
wait $daemon || exit 1
! nft list tables 2>/dev/null | grep -q sluice || { echo "the sluice table is still there" >>"$log"; exit 1; }
INSIDE
unshare --net --mount bash -eu "$work/inside" "$root" "$work/log" || fail "the daemon with CAP_NET_ADMIN only"
