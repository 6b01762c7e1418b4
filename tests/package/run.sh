#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the packages in a fresh Debian, checks them with lintian, and runs machine.sh in a virtual machine with another
# fresh Debian, in which nothing of Sluice is installed.
#
#   run.sh RELEASE        bookworm or trixie
#
# PACKAGE_CACHE keeps the fresh systems and the packages, VM_CACHE the kernel (tests/vm/run.sh --fetch).
set -euo pipefail
release=$1
: "${PACKAGE_CACHE:?folder for the systems and packages}" "${VM_CACHE:?folder of the kernel}"
source=$(cd "$(dirname "$0")/../.." && pwd)
here=$source/tests/package
mirror=http://deb.debian.org/debian
for tool in debootstrap qemu-system-x86_64 mke2fs cpio busybox; do
	type -P "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
[ -f "$VM_CACHE/version" ] || { echo "SKIP: no kernel in $VM_CACHE"; exit 77; }
work=$(mktemp -d "$PACKAGE_CACHE/work.XXXXXX")
trap 'umount -q "$work"/*/proc 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP

# fresh NAME PACKAGES: a system of the release with these packages, in $work/NAME; kept as an archive.
fresh() {
	local archive=$PACKAGE_CACHE/$release-$1.tar
	if [ ! -f "$archive" ]; then
		debootstrap --variant=minbase "$release" "$work/$1" $mirror >"$work/log" 2>&1 || {
			tail -n 20 "$work/log"
			echo "SKIP: debootstrap of $release failed; is $mirror reachable?"
			exit 77
		}
	else
		mkdir "$work/$1"
		tar -C "$work/$1" -xf "$archive"
	fi
	cp /etc/resolv.conf "$work/$1/etc/"
	printf '#!/bin/sh\nexit 101\n' >"$work/$1/usr/sbin/policy-rc.d"
	chmod 755 "$work/$1/usr/sbin/policy-rc.d"
	mount -t proc proc "$work/$1/proc"
	if [ ! -f "$archive" ]; then
		inside "$1" apt-get -qq install -y --no-install-recommends "${@:2}" >"$work/log" 2>&1 ||
			{ tail -n 20 "$work/log"; exit 1; }
		tar -C "$work/$1" --exclude=./proc/* -cf "$archive.new" .
		mv "$archive.new" "$archive"
	fi
}
inside() { DEBIAN_FRONTEND=noninteractive chroot "$work/$1" "${@:2}"; }

# --- Build --------------------------------------------------------------------------------------------------------
packages=$PACKAGE_CACHE/$release
version=$(git -C "$source" rev-parse HEAD)$(git -C "$source" diff HEAD | sha1sum)
if [ "$(cat "$packages/version" 2>/dev/null)" != "$version" ]; then
	fresh build build-essential debhelper dh-apparmor lintian ca-certificates
	mkdir -p "$work/build/srv/sluice"
	(cd "$source" && git ls-files -z | xargs -0 cp --parents -t "$work/build/srv/sluice")
	inside build sh -c 'apt-get -qq update && apt-get -qq build-dep -y --no-install-recommends /srv/sluice' \
		>"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
	inside build sh -c 'cd /srv/sluice && dpkg-buildpackage -b -uc -us' >"$work/log" 2>&1 ||
		{ tail -n 30 "$work/log"; exit 1; }
	inside build sh -c 'cd /srv && lintian --allow-root --fail-on error,warning *.changes' || exit 1
	rm -rf "$packages"
	mkdir "$packages"
	cp "$work"/build/srv/*.deb "$packages"
	echo "$version" >"$packages/version"
	umount "$work/build/proc"
fi

# --- The machine: a fresh system, with the packages in /srv and what they depend on in the cache of apt --------------
fresh machine systemd systemd-sysv dbus iproute2 iputils-ping kmod nftables python3 apparmor
root=$work/machine
cp "$packages"/*.deb "$root/srv/"
# The next version: the same files, and a higher version number.
cd "$work"
dpkg-deb -R "$packages"/sluice_*.deb next
sed -i 's/^Version: .*/&+next/' next/DEBIAN/control
dpkg-deb -b next "$root/srv/next.deb" >/dev/null
cd /
inside machine sh -c 'apt-get -qq update && apt-get -qq install -y --download-only /srv/sluice_*.deb' \
	>"$work/log" 2>&1 ||
	{ tail -n 30 "$work/log"; exit 1; }
rm "$root/usr/sbin/policy-rc.d"
umount "$root/proc"
cp "$here/machine.sh" "$root/srv/"
cp "$(type -P busybox)" "$root/usr/local/bin/busybox"
kernel=$(cat "$VM_CACHE/version")
mkdir -p "$root/lib/modules"
cp -r "$VM_CACHE/kernel/lib/modules/$kernel" "$root/lib/modules/"
cat >"$root/etc/systemd/system/case.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'timeout 4800 bash /srv/machine.sh && echo "CASE PASSED" || echo "CASE FAILED"'
ExecStopPost=systemctl poweroff --force --force
StandardInput=null
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
UNIT
inside machine systemctl enable -q case.service
inside machine systemctl mask -q serial-getty@ttyS0.service getty@tty1.service
mke2fs -q -t ext4 -d "$root" "$work/disk" 3G

# A kernel with its drivers in modules needs a first file system to load them from.
mkdir -p "$work/first"/{bin,dev,proc,sys,mnt,modules}
cp "$(type -P busybox)" "$work/first/bin/"
modprobe -d "$VM_CACHE/kernel" -S "$kernel" --show-depends -a virtio_pci virtio_blk ext4 |
	awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
	cp "$module" "$work/first/modules/"
	echo "/modules/$(basename "$module")" >>"$work/first/modules/order"
done
cat >"$work/first/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
while read -r module; do /bin/busybox insmod "$module"; done </modules/order
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -e /dev/vda ] && break; /bin/busybox sleep 0.5; done
/bin/busybox mount -t ext4 /dev/vda /mnt
/bin/busybox umount /proc
exec /bin/busybox switch_root /mnt /sbin/init
INIT
chmod 755 "$work/first/init"
(cd "$work/first" && find . | cpio -o -H newc --quiet) >"$work/initrd"
timeout 5400 qemu-system-x86_64 -accel tcg -cpu max -m 1024 -nographic -no-reboot -nic none \
	-drive file="$work/disk",format=raw,if=virtio,cache=unsafe -kernel "$VM_CACHE/kernel/boot/vmlinuz-$kernel" \
	-initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr security=apparmor" \
	</dev/null >"$work/console" 2>&1 || echo "the machine did not end within 2700 s, or QEMU failed (exit code $?)"
tr -d '\r' <"$work/console" | grep -a '[[:graph:]]' | tail -n 120
grep -qa "CASE PASSED" "$work/console"
