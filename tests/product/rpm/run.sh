#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds contrib/rpm/sluice.spec from an archive of the tree, and checks the packages: rpmbuild itself fails on files
# that are installed and not packaged; the rest is that configuration files are marked, no file belongs to another user,
# and the program of the package runs. As root it also installs, upgrades and removes the package (install.sh), in this
# system behind an overlay, because there is no Fedora.
#   RPM_WORK   folder to keep the packages in
set -euo pipefail
source=$(cd "$(dirname "$0")/../../.." && pwd)
for tool in rpmbuild rpm rpm2cpio cpio git cmake ninja; do
	type -P $tool >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
fail() { echo "FAILED: $*" >&2; exit 1; }
version=$(sed -n 's/^Version: *//p' "$source/contrib/rpm/sluice.spec")
grep -q "project(sluice VERSION $version " "$source/CMakeLists.txt" || fail "the spec has version $version"
# The spec requires the libraries of CMakeLists.txt; file-devel has libmagic.
sed 's/#.*//' "$source/CMakeLists.txt" | tr '\n' ' ' | grep -o 'pkg_check_modules([^)]*)' |
	sed 's/^[^ ]* //; s/)$//' | xargs -n1 | grep -vx 'REQUIRED\|IMPORTED_TARGET\|libmagic' | sort >"$work/libraries"
sed -n 's/^BuildRequires: *pkgconfig(\(.*\))$/\1/p' "$source/contrib/rpm/sluice.spec" | sort |
	diff "$work/libraries" - || fail "the spec names other libraries than CMakeLists.txt"

mkdir -p "$work/SOURCES"
# The files as they are now, not those of the last commit.
git -C "$source" ls-files -z --cached --others --exclude-standard |
	tar -C "$source" --null --files-from=- --ignore-failed-read --transform "s,^,sluice-$version/,S" \
		-czf "$work/SOURCES/sluice-$version.tar.gz" 2>"$work/log"
# --nodeps: the build dependencies are installed as packages of Debian, whose names rpm does not know.
build() {
	rpmbuild --nodeps --noclean -bb --define "_topdir $work" --buildroot "$work/installed" "$@" \
		"$source/contrib/rpm/sluice.spec" >"$work/log" 2>&1 || {
		tail -n 30 "$work/log" >&2
		fail "rpmbuild"
	}
}
build --define "dist %{nil}"
build --define "dist .next" --short-circuit # only packs the files again
next=$(ls "$work"/RPMS/*/sluice-"$version"-1.next.*.rpm)
package=$(ls "$work"/RPMS/*/sluice-"$version"-1.*.rpm | grep -vxF "$next")
doc=$(ls "$work"/RPMS/noarch/sluice-doc-"$version"-1.noarch.rpm)
rpm -qpl "$package" >"$work/files"
for file in sbin/sluice sbin/sluice-ship libexec/sluice/sluice-metrics-http lib/systemd/system/sluice.service \
	lib/systemd/system/sluice-metrics.service lib/systemd/system/sluice-update.timer lib/sysusers.d/sluice.conf \
	lib/tmpfiles.d/sluice.conf share/sluice/rules/sluice.rules share/sluice/prometheus/sluice.rules.yml \
	share/sluice/grafana/sluice.json share/man/man8/sluice.8 share/bash-completion/completions/sluice; do
	grep -qxE "/usr/$file(\.gz)?" "$work/files" || fail "/usr/$file is not in the package"
done
rpm -qp --configfiles "$package" | sort >"$work/said"
printf '%s\n' /etc/logrotate.d/sluice /etc/sluice/sluice.yaml /etc/sluice/update.yaml | cmp - "$work/said" ||
	fail "configuration files: $(cat "$work/said")"
[ "$(rpm -qp --qf '[%{FILEUSERNAME}\n]' "$package" "$doc" | sort -u)" = root ] || fail "files of other users"
rpm -qpl "$doc" >"$work/said"
grep -q "/docs/guide/metrics.md$" "$work/said" || fail "no guide in $doc"
mkdir "$work/root"
rpm2cpio "$package" | (cd "$work/root" && cpio -idm --quiet)
grep -q '^ips.mode: alert-only' "$work/root/etc/sluice/sluice.yaml" || fail "the configuration is not alert-only"
[ "$("$work/root/usr/sbin/sluice" --version)" = "sluice $version" ] || fail "the program does not run"
"$work/root/usr/sbin/sluice" settings >"$work/said" || fail "the program does not run"
if [ "$(id -u)" = 0 ]; then
	# shellcheck disable=SC2016
	export work package next
	export -f fail
	unshare --mount bash -euo pipefail -c '
		mkdir "$work/over"
		mount -t tmpfs over "$work/over"
		mkdir "$work/over/upper" "$work/over/work" "$work/over/root"
		mount -t overlay overlay -o "lowerdir=/,upperdir=$work/over/upper,workdir=$work/over/work" "$work/over/root"
		mount -t proc proc "$work/over/root/proc" # for systemd-tmpfiles
		. "$1" "$work/over/root"' bash "$source/tests/product/rpm/install.sh"
fi
echo "$(wc -l <"$work/files") files in $(basename "$package"), $(stat -c %s "$package") bytes"
[ -z "${RPM_WORK:-}" ] || cp "$package" "$doc" "$RPM_WORK"
