#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh CASE: boots Debian's cloud kernel in QEMU with a memory file system that has the program, its libraries, iproute2, nft and
# busybox, runs CASE in it, and passes when it printed "CASE PASSED".
#
# The kernel comes from Debian's package, unpacked into VM_CACHE and not installed.
set -euo pipefail
case_file=$1
: "${SLUICE:?path of the program}" "${VM_CACHE:?folder to keep the kernel in}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in qemu-system-x86_64 busybox cpio depmod nft ip dpkg-deb; do
	command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done

fetch_kernel() {
	local package
	mkdir -p "$VM_CACHE"
	[ -f "$VM_CACHE/version" ] && return
	apt-cache show linux-image-cloud-amd64 >/dev/null 2>&1 || apt-get update -qq
	package=$(apt-cache depends linux-image-cloud-amd64 | awk '$1 == "Depends:" { print $2; exit }')
	[ -n "$package" ] || { echo "SKIP: no package linux-image-cloud-amd64"; exit 77; }
	(cd "$work" && apt-get download -qq "$package" && dpkg-deb -x "$package"_*.deb kernel)
	rm -rf "$VM_CACHE/kernel"
	mv "$work/kernel" "$VM_CACHE/kernel"
	local version
	version=$(ls "$VM_CACHE/kernel/lib/modules")
	depmod -b "$VM_CACHE/kernel" "$version"
	echo "$version" >"$VM_CACHE/version"
}
fetch_kernel
version=$(cat "$VM_CACHE/version")

root=$work/root
mkdir -p "$root"/{bin,sbin,usr/local/bin,dev,proc,sys,tmp,run/netns,etc,lib/modules,usr/lib,var/log,test}
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$SLUICE" "$root/usr/local/bin/sluice"
cp "$(command -v nft)" "$root/usr/local/bin/nft"
cp "$(command -v ip)" "$root/usr/local/bin/ip"
cp "$case_file" "$root/test/case.sh"
cp "$here/lib.sh" "$root/test/lib.sh"
cp -r "$here/../../rules" "$root/test/rules"
# Libraries, under the names that the programs ask for.
for program in sluice nft ip; do
	ldd "$root/usr/local/bin/$program" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }'
done | sort -u | while read -r library; do
	mkdir -p "$root$(dirname "$library")"
	cp -L "$library" "$root$library"
done

modules="nfnetlink_queue nft_queue nft_hash nft_ct nft_reject_inet nf_conntrack nf_conntrack_netlink veth nft_compat xt_NFQUEUE nft_counter nf_tables bridge nft_meta_bridge"
for module in $modules; do # what is built in has no file
	{ modprobe -d "$VM_CACHE/kernel" -S "$version" --show-depends "$module" 2>/dev/null || true; } | awk '$1 == "insmod" { print $2 }'
done | awk '!seen[$0]++' | while read -r file; do
	cp "$file" "$root/lib/modules/"
	echo "/lib/modules/$(basename "$file")" >>"$root/test/modules"
done

cat >"$root/init" <<'INIT'
#!/bin/busybox sh
export PATH=/usr/local/bin:/bin:/sbin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mkdir -p /run/netns /run/sluice
while read -r module; do insmod "$module" 2>/dev/null || case $module in *crc32c*) ;; *) echo "cannot insert $module" ;; esac; done </test/modules
cd /test
if timeout 150 sh /test/case.sh; then echo "CASE PASSED"; else echo "CASE FAILED"; fi
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$work/initrd.gz"

timeout 240 qemu-system-x86_64 -accel tcg -cpu max -m 1024 -nographic -no-reboot -nic none -kernel "$VM_CACHE/kernel/boot/vmlinuz-$version" \
	-initrd "$work/initrd.gz" -append "console=ttyS0 quiet panic=-1" </dev/null >"$work/console" 2>&1 || true
tr -d '\r' <"$work/console" | sed -n '/^[[:print:]]/p' | tail -n 60
grep -q "CASE PASSED" "$work/console"
