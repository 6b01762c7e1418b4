#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# documents.sh BUILD-FOLDER DOCUMENT: run the blocks of a document (blocks.py) on a host that has Debian's packages and
# a checkout, but no Sluice. The host is this machine behind an overlay file system, whose changes are discarded, with
# new mount, network and PID namespaces.
#
# The commands of README.md and the guide build in build/release. If BUILD-FOLDER is build/release, its objects are
# visible through the overlay, and the build takes seconds. From scratch it takes many minutes on two CPUs, so the test
# is skipped (77) for other folders, unless DOCUMENTS_BUILD=yes is set.
set -euo pipefail
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)

skip() {
	echo "SKIP: $*"
	exit 77
}

if [ "$1" != --inside ]; then
	[ "$(id -u)" = 0 ] || skip "needs root"
	for tool in unshare chroot ip nft python3; do command -v $tool >/dev/null || skip "$tool is not installed"; done
	[ "$1" = "$SOURCE/build/release" ] || [ "${DOCUMENTS_BUILD:-}" = yes ] ||
		skip "the commands of the documents build in build/release," \
		"and this test runs in $1 (DOCUMENTS_BUILD=yes builds there)"
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' INT TERM HUP
	unshare --mount --net --pid --fork --kill-child --propagation private bash "$0" --inside "$work" "$2"
	exit
fi

work=$2 document=$3
mount -t tmpfs -o size=8g,mode=755 tmpfs "$work"
root=$work/root
mkdir "$work"/{upper,change,root}
mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/change" overlay "$root"
if [ ! -e "$root$SOURCE/README.md" ]; then # on another file system than /
	mkdir -p "$work"/{source,source.change} "$root$SOURCE"
	mount -t overlay -o "lowerdir=$SOURCE,upperdir=$work/source,workdir=$work/source.change" overlay "$root$SOURCE"
fi
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/run"

# Hide an installation of Sluice on this machine from the new host.
for base in usr/local usr; do
	rm -rf "$root/$base"/{sbin/sluice,sbin/sluice-suricata-compat,share/sluice,share/doc/sluice} \
		"$root/$base"/lib/{sysusers.d/sluice.conf,systemd/system/sluice{.service,-update.service,-update.timer}} \
		"$root/$base/etc/sluice" "$root/etc/sluice"
done
rm -rf "$root"/var/{log,lib,cache}/sluice
chroot "$root" userdel sluice 2>/dev/null || true

# A gateway has two network devices.
ip link set lo up
ip link add lan0 type veth peer name wan0
for device in lan0 wan0; do ip link set $device up; done
ip address add 192.168.1.1/24 dev lan0
ip address add 198.51.100.1/24 dev wan0

cd /
exec chroot "$root" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	/usr/bin/python3 "$SOURCE/tests/docs/blocks.py" "$SOURCE" "$document"
