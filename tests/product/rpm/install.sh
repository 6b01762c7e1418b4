# SPDX-License-Identifier: GPL-2.0-or-later
# install.sh ROOT: installs, upgrades and removes the packages in the root file system ROOT, whose scriptlets run in it
# by chroot. systemctl is replaced by a script that records its arguments, and says that every service runs. To be sourced
# by run.sh, which sets $package, $next and $fail.
root=$1
calls=$root/systemctl.calls
mkdir -p "$root/run/systemd/system"
rm -f "$root/usr/bin/systemctl"
printf '#!/bin/sh\necho "$*" >>/systemctl.calls\n' >"$root/usr/bin/systemctl"
chmod 755 "$root/usr/bin/systemctl"
inside() { chroot "$root" "$@"; }
rpms() { # rpms OPTION... FILE: the packages that this one requires are installed as packages of Debian
	: >"$calls"
	rpm --root "$root" --nodeps "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "rpm $*"; }
	! grep "scriptlet failed" "$work/log" || fail "rpm $*"
}
called() { grep -qxF -- "$1" "$calls" || fail "'systemctl $1' was not called: $(cat "$calls")"; }
not_called() { ! grep -E -- "$1" "$calls" || fail "systemctl was called"; }

rpms -i "$package"
for user in sluice sluice-ship; do
	inside getent passwd $user >"$work/said" || fail "no user $user"
done
inside id -nG sluice-ship | grep -qw sluice || fail "sluice-ship is not in the group sluice"
for folder in log lib cache; do
	[ "$(inside stat -c '%U:%G %a' /var/$folder/sluice)" = "sluice:sluice 750" ] || fail "/var/$folder/sluice"
done
not_called '^(enable|start|restart)|--now'
inside sluice check >"$work/log" 2>&1 || fail "sluice check"

echo '# changed by the administrator' >>"$root/etc/sluice/sluice.yaml"
rpms -U "$next"
[ "$(rpm --root "$root" -q --qf '%{RELEASE}' sluice)" = 1.next ] || fail "not upgraded"
grep -q "changed by the administrator" "$root/etc/sluice/sluice.yaml" || fail "the upgrade changed the configuration"
called "--quiet is-active sluice.service"
grep -q "the running daemon was not replaced" "$work/log" || fail "the upgrade did not run sluice upgrade"
called "try-restart sluice-metrics.service sluice-ship.service"
not_called '^(stop|disable|restart)'

rpms -e sluice
called "--no-reload disable --now sluice-metrics.service sluice-update.timer sluice-ship.socket sluice-ship.service\
 sluice.service"
[ ! -e "$root/usr/sbin/sluice" ] && [ ! -e "$root/usr/lib/systemd/system/sluice.service" ] || fail "files were left"
grep -q "changed by the administrator" "$root/etc/sluice/sluice.yaml.rpmsave" || fail "the configuration was not saved"
