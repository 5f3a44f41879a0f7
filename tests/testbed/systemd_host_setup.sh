#!/bin/sh
# Runs inside the root of systemd_host.sh's image, once, while it is made.
# Owns: what makes a fresh Debian 12 a host for k3d, apart from k3d itself.
set -eu

if [ "${1:-}" = --help ]; then
  echo "usage: systemd_host_setup.sh    (by debian_image.sh --setup, inside a root)"
  exit 0
fi

# The same as packaging/systemd/k3d.sysusers makes, for tests that come without the package.
groupadd --system --force docker
useradd --system --user-group --groups docker --home-dir /var/lib/k3d --shell /usr/sbin/nologin k3d

# A container's systemd shares kernel and network with the machine around it: no setting of theirs may be touched.
systemctl mask systemd-sysctl.service systemd-modules-load.service systemd-udevd.service systemd-timesyncd.service \
  systemd-networkd-wait-online.service getty.target console-getty.service e2scrub_reap.service
systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer

# Docker starts with a bridge of its own, made first, and needs no rule in the machine's firewall.
mkdir -p /etc/docker /etc/systemd/system/docker.service.d
cat >/etc/systemd/system/docker.service.d/testbed.conf <<'CONF'
[Service]
EnvironmentFile=/etc/testbed.env
ExecStartPre=-/usr/sbin/ip link add ${BRIDGE} type bridge
# A file of settings that a test writes belongs to the test; these arguments are the testbed's.
ExecStart=
ExecStart=/usr/sbin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock --bridge ${BRIDGE} --iptables=false --cgroup-parent /${BRIDGE}
CONF
systemctl enable docker.service containerd.service
