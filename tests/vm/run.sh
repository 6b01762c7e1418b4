#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs tests in virtual machines: Debian's cloud kernel in QEMU, with programs of this host in an initramfs.
#
#   run.sh SCRIPT                 boot a machine, run SCRIPT of tests/vm or tests/netns in it as root, and pass if that
#                                 exits with 0
#   run.sh --machine NAME SCRIPT  the same in the machine NAME, which is booted if it does not run, and is left running
#                                 for the next script. It ends 20 s after the last script, and together with the process
#                                 that called run.sh (ctest)
#   run.sh --fetch                download the kernel and pack the files that all machines have
#
# The exit code is 0 if SCRIPT exits with 0. A machine is used again only if the last script passed and left no process,
# file, kernel module or firewall rule behind.
#
# A script systemd_NAME.sh runs in a new machine that boots the systemd of this host, with only a few targets and D-Bus.
# Sluice is installed there by `cmake --install` of SLUICE_BUILD.
#
# The kernel is unpacked from Debian's package into VM_CACHE; it is not installed. Files that all machines have are
# packed there once. Software emulation is slow but works everywhere, and these tests measure nothing.
set -euo pipefail
machine=
if [ "$1" = --machine ]; then
	machine=$2
	shift 2
fi
script=$1
: "${SLUICE:?path of the program}" "${VM_CACHE:?folder to keep the kernel in}"
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

tools="bash env timeout date stat diff ping setpriv unshare sysctl nproc ip ss nft xtables-nft-multi python3 busybox"
# Busybox starts five times as fast as these programs, whose start is most of what a test costs in an emulated machine.
# Not env and timeout: Busybox would start its own `ip` in place of the real one.
applets="cat cp mv ls ln mkdir rmdir rm mktemp touch chmod sleep seq sort uniq head tail tr wc cut tee id kill
	basename dirname sed grep awk cmp"
case $(basename -- "$script") in
systemd_*)
	: "${SLUICE_BUILD:?folder of the build}"
	systemd=/usr/lib/systemd/systemd
	[ -x $systemd ] || { echo "SKIP: no systemd on this machine"; exit 77; }
	more="systemctl systemd-sysusers dbus-daemon cmake"
	case $script in *_update.sh) more+=" find chown dpkg-query suricata-update" ;; esac
	;;
*) systemd= more= ;;
esac
for tool in $tools $more qemu-system-x86_64 cpio depmod modprobe dpkg-deb; do
	type -P "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done

fetch_kernel() {
	local package version
	mkdir -p "$VM_CACHE"
	[ -f "$VM_CACHE/version" ] && return
	apt-cache show linux-image-cloud-amd64 >/dev/null 2>&1 || apt-get update -qq || true
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }')
	[ -n "$package" ] || { echo "SKIP: no package linux-image-cloud-amd64"; exit 77; }
	# By default apt downloads as the user _apt, who may not write to this folder.
	(cd "$work" && apt-get download -qq -o APT::Sandbox::User=root "$package" && dpkg-deb -x "$package"_*.deb kernel)
	version=$(ls "$work/kernel/lib/modules")
	depmod -b "$work/kernel" "$version"
	rm -rf "$VM_CACHE/kernel"
	mv "$work/kernel" "$VM_CACHE/kernel"
	echo "$version" >"$VM_CACHE/version"
}
# --- Programs and their libraries -------------------------------------------------------------------------------------
new_root() { # new_root FOLDER: creates a folder and sets $root to it
	root=$1
	mkdir -p "$root"/{etc,usr/bin,usr/lib,usr/lib64,source/tests}
	echo root:x:0:0:root:/root:/bin/bash >"$root/etc/passwd"
	echo root:x:0: >"$root/etc/group"
	ln -s bin "$root/usr/sbin"
	for folder in bin sbin lib lib64; do ln -s usr/$folder "$root/$folder"; done
	: >"$work/libraries"
}

add() { # add FILE [NAME]: adds a program and its libraries
	cp -L "$1" "$root/usr/bin/${2:-$(basename "$1")}"
	{ ldd "$1" 2>/dev/null || true; } | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' >>"$work/libraries"
}

copy_files() { # copy_files LIST: copies the files that LIST names to the same paths in $root
	sort -u "$1" | while read -r file; do
		[ -f "$file" ] || continue
		mkdir -p "$root$(dirname "$file")"
		cp -pL "$file" "$root$file"
	done
}

pack() { # pack ARCHIVE: packs $root
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$1"
}

# Adds Debian's suricata-update, and Python's library, without its tests.
add_suricata_update() {
	local file packages
	packages=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'libpython3.*-minimal' 'libpython3.*-stdlib' |
		awk '$1 == "installed" { print $2 }')
	# shellcheck disable=SC2086
	dpkg-query -L suricata-update python3-yaml $packages |
		grep -v '/test/\|/doc/\|/man/\|/lib2to3/\|/idlelib/' >"$work/suricata-update"
	grep '\.so' "$work/suricata-update" | while read -r file; do
		ldd "$file" 2>/dev/null | awk '$2 == "=>" { print $3 }' >>"$work/libraries"
	done
	cat "$work/suricata-update" >>"$work/libraries"
}

# --- Files of all machines --------------------------------------------------------------------------------------------
add_tools() {
	local tool name
	for tool in $tools; do add "$(type -P "$tool")" "$tool"; done
	for tool in $applets; do ln -s busybox "$root/usr/bin/$tool"; done
	ln -s bash "$root/usr/bin/sh"
	for name in iptables ip6tables iptables-save ip6tables-save iptables-nft ip6tables-nft iptables-nft-restore \
		ip6tables-nft-restore; do
		ln -s xtables-nft-multi "$root/usr/bin/$name"
	done
}

# Adds Python, and the modules that the tests import directly or indirectly. Compiled modules are valid only with the
# times of their sources, so times are kept.
add_python() {
	local extension
	/usr/bin/python3 -c '
import _strptime, asyncio, collections, datetime, encodings.ascii, encodings.idna, encodings.latin_1, json, random
import signal, socket, struct, subprocess, sys, threading, time
for module in list(sys.modules.values()):
    for path in (getattr(module, "__file__", None), getattr(module, "__cached__", None)):
        if path:
            print(path)' >"$work/python"
	add /usr/bin/python3
	for extension in $(grep '\.so$' "$work/python") /usr/lib/x86_64-linux-gnu/xtables/*.so; do
		ldd "$extension" | awk '$2 == "=>" { print $3 }' >>"$work/libraries"
		echo "$extension" >>"$work/libraries"
	done
	cat "$work/python" >>"$work/libraries"
}

# Adds kernel modules; modules/order has the order in which to insert them.
add_modules() {
	local version module file modules
	version=$(cat "$VM_CACHE/version")
	modules="veth bridge nfnetlink_queue nf_tables nft_queue nft_hash nft_numgen nft_flow_offload nf_flow_table_inet
	nft_ct nft_objref nft_counter nft_compat nft_reject_inet nft_meta_bridge
	nft_chain_nat nft_nat nft_masq nf_conntrack nf_conntrack_netlink xt_NFQUEUE xt_mark xt_connmark xt_conntrack
	xt_tcpudp ip_tables ip6_tables ipt_REJECT ip6t_REJECT 8021q ipip ip_gre nf_flow_table
	nf_flow_table_inet nft_flow_offload"
	for module in $modules; do # what is built in has no file
		{ modprobe -d "$VM_CACHE/kernel" -S "$version" --show-depends "$module" 2>/dev/null || true; } |
			awk '$1 == "insmod" { print $2 }'
	done | awk '!seen[$0]++' | while read -r file; do
		cp "$file" "$root/modules/"
		echo "/modules/$(basename "$file")" >>"$root/modules/order"
	done
}

add_start() {
	cat >"$root/init" <<'INIT'
#!/bin/busybox sh
export PATH=/usr/bin:/busybox HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 SLUICE=/usr/bin/sluice
busybox mount -t proc proc /proc
busybox mkdir -p /busybox /root
busybox --install -s /busybox
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
mkdir -p /run/netns /run/sluice
ln -s /proc/self/fd /dev/fd
while read -r module; do
	insmod "$module" 2>/dev/null || case $module in *crc32c*) ;; *) echo "cannot insert $module" ;; esac
done </modules/order
ip link set lo up
[ -x /usr/lib/systemd/systemd ] &&
	exec /usr/lib/systemd/systemd --log-target=console --log-level=notice --show-status=no
exec /cases.sh
INIT
	cat >"$root/case.sh" <<'CASE'
#!/bin/busybox sh
export PATH=/usr/bin:/busybox HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 SLUICE=/usr/bin/sluice
timeout 800 bash "/source/tests/$(cat /case)" && echo "CASE PASSED" || echo "CASE FAILED: $?"
poweroff -f
CASE
	# Runs each script whose name arrives on the serial line, until one fails or leaves something behind.
	cat >"$root/cases.sh" <<'CASES'
#!/bin/busybox sh
state() {
	nft list ruleset
	lsmod | awk '{ print $1 }' | sort
	ls /tmp /run /run/sluice /run/netns
	for process in /proc/[0-9]*; do readlink "$process/exe"; done | sort
}
stty -echo -F /dev/ttyS0
state >/before
echo "MACHINE READY"
while read -r script </dev/ttyS0; do
	timeout 800 bash "/source/tests/$script" </dev/null || { echo "CASE FAILED: $?"; break; }
	# Processes and namespaces may take a moment to end.
	for _ in 1 2 3 4 5 6 7 8 9 10; do state >/after; cmp -s /before /after && break; sleep 0.5; done
	if cmp -s /before /after; then
		echo "CASE PASSED"
	else
		diff /before /after
		echo "MACHINE CHANGED"
		echo "CASE PASSED"
		break
	fi
done
poweroff -f
CASES
	chmod +x "$root/init" "$root/case.sh" "$root/cases.sh"
}

# Packs the common files. Called again if this script or a package has changed.
pack_common() {
	new_root "$work/common"
	mkdir -p "$root"/{dev,proc,sys,tmp,run,modules}
	add_tools
	add_python
	copy_files "$work/libraries"
	add_modules
	cp /etc/protocols /etc/services "$root/etc/" 2>/dev/null || true # names that nft rules use
	add_start
	pack "$work/common.cpio"
	mv "$work/common.cpio" "$common"
}

fetch_kernel
common=$VM_CACHE/common.cpio
exec 9>"$VM_CACHE/lock"
flock 9
if [ ! "$common" -nt "$0" ] || [ ! "$common" -nt /var/lib/dpkg/status ]; then pack_common; fi
flock -u 9
exec 9>&-
[ "$script" != --fetch ] || exit 0

# --- Files of this machine --------------------------------------------------------------------------------------------
version=$(cat "$VM_CACHE/version")
# Hardening of the kernel would take a quarter of the time that an emulated program needs to start.
unguarded="mitigations=off init_on_alloc=0 hardened_usercopy=off randomize_kstack_offset=off nokaslr"
qemu=(qemu-system-x86_64 -accel tcg -cpu max -m 1024 -nographic -no-reboot -nic none -kernel
	"$VM_CACHE/kernel/boot/vmlinuz-$version")

pack_own() { # pack_own INITRD
	new_root "$work/root"
	for tool in $more; do add "$(type -P "$tool")" "$tool"; done
	add "$SLUICE" sluice
	if [ -n "$systemd" ]; then add_systemd; fi
	if [ "${case_name##*/}" = systemd_update.sh ]; then add_suricata_update; fi
	copy_files "$work/libraries"
	cp -r "$source/rules" "$source/nft" "$source/docs" "$source/profiles" "$root/source/"
	cp -r "$source/tests/netns" "$source/tests/vm" "$root/source/tests/"
	echo "$case_name" >"$root/case"
	pack "$work/own.cpio"
	cat "$common" "$work/own.cpio" >"$1"
}

add_systemd() {
	local prefix
	add $systemd
	mkdir -p "$root"/{etc/systemd/system,usr/lib/systemd/system,var/log,var/lib,var/cache,var/tmp}
	cp -P /usr/lib/systemd/system/*.{target,slice} "$root/usr/lib/systemd/system/" 2>/dev/null || true
	cp -L $systemd "$root/usr/lib/systemd/systemd"
	DESTDIR=$root cmake --install "$SLUICE_BUILD" >/dev/null
	: >"$root/etc/machine-id"
	prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$SLUICE_BUILD/CMakeCache.txt")
	systemd-sysusers --root="$root" "$root$prefix/lib/sysusers.d/sluice.conf" 2>/dev/null
	mkdir -p "$root"/usr/share/dbus-1/system.d
	cp /usr/share/dbus-1/system.conf "$root/usr/share/dbus-1/"
	cp /usr/share/dbus-1/system.d/org.freedesktop.systemd1.conf "$root/usr/share/dbus-1/system.d/"
	cp -L /usr/lib/systemd/system/dbus.{socket,service} "$root/usr/lib/systemd/system/"
	echo messagebus:x:990:990:messagebus:/nonexistent:/bin/false >>"$root/etc/passwd"
	echo messagebus:x:990: >>"$root/etc/group"
	cat >"$root/etc/systemd/system/case.service" <<'UNIT'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/case.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
UNIT
	printf '[Unit]\nWants=case.service dbus.socket\n' >"$root/etc/systemd/system/default.target"
}

# A machine has a folder ($place) with the PID of QEMU (pid) and its serial line (in: a FIFO; console: a file).
runs() { [ -s "$place/pid" ] && kill -0 "$(cat "$place/pid")" 2>/dev/null; }

end_machine() {
	local pid
	if runs; then
		pid=$(cat "$place/pid")
		kill "$pid" 2>/dev/null || true
		for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
	fi
	rm -rf "$place"
}

# Boots a machine in the background. $place.lock is locked while a script uses it.
boot() {
	rm -rf "$place"
	mkdir -p "$place"
	pack_own "$place/initrd"
	mkfifo "$place/in"
	: >"$place/console"
	(
		trap - EXIT
		set +e
		"${qemu[@]}" -initrd "$place/initrd" -append "console=ttyS0 quiet no_timer_check panic=-1 $unguarded" \
			<>"$place/in" &
		pid=$!
		echo $pid >"$place/pid"
		idle=0
		while kill -0 $pid && kill -0 "$caller" && [ $idle -lt 20 ]; do
			sleep 1
			if flock --nonblock "$place.lock" true; then idle=$((idle + 1)); else idle=0; fi
		done 2>/dev/null
		exec 8>"$place.lock"
		flock 8
		# Another run.sh may have booted a new machine in this folder.
		[ "$(cat "$place/pid" 2>/dev/null)" != $pid ] || end_machine
	) >"$place/console" 2>&1 </dev/null 8>&- &
	local end=$((SECONDS + 60))
	until [ -s "$place/pid" ] || [ $SECONDS -ge $end ]; do sleep 0.05; done
}

# Prints the output of the machine since the script was sent to it.
output() { tail -c "+$start" "$place/console" 2>/dev/null; }

# wait_output PATTERN SECONDS: waits until the machine prints the pattern. Fails after SECONDS, or if the machine ends.
wait_output() {
	local end=$((SECONDS + $2))
	until output | grep -qaE "$1"; do
		[ $SECONDS -lt $end ] || return 1
		runs || { output | grep -qaE "$1"; return; }
		sleep 0.1
	done
}

print_output() { output | tr -d '\r' | sed -E 's/\x1b(c|\[[0-9;?]*[A-Za-z])//g' | grep -a '[[:graph:]]' | tail -n 80; }

caller=$PPID
case_name=$(basename "$(dirname "$script")")/$(basename "$script")
place=$VM_CACHE/machine.${machine:-$$}
if [ -z "$machine" ] || [ -n "$systemd" ]; then
	place=$VM_CACHE/machine.$$
	trap 'end_machine; rm -rf "$work" "$place.lock"' EXIT
fi
exec 8>"$place.lock"
flock 8
# The file `busy` is left by a run.sh that was killed while its script ran. Such a machine is not used again.
if runs && [ -e "$place/busy" ]; then end_machine; fi
if runs && [ -n "$(find "$SLUICE" "$source/tests/netns" "$source/tests/vm" -newer "$place/initrd" -print -quit)" ]; then
	end_machine
fi
start=1
if ! runs; then
	boot
	if [ -z "$systemd" ] && ! wait_output "MACHINE READY" 300; then
		print_output
		end_machine
		echo "the machine did not boot within 300 s"
		exit 1
	fi
fi
if [ -z "$systemd" ]; then
	: >"$place/busy"
	start=$(($(stat -c %s "$place/console") + 1))
	echo "$case_name" >"$place/in"
fi
wait_output "CASE (PASSED|FAILED)" 500 || echo "the machine has ended, or did not end the script within 500 s"
print_output
code=0
output | grep -qa "CASE PASSED" || code=1
rm -f "$place/busy"
if [ $code = 1 ] || output | grep -qa "MACHINE CHANGED"; then end_machine; fi
exit $code
