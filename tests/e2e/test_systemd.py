"""Under a real systemd, sandboxed, as user k3d: the unit, the sockets, activation and a restart."""
import json
import subprocess
import uuid

import pytest

from daemon import K3CTL, K3D, ROOT, wait_for

HOST = str(ROOT / "tests" / "testbed" / "systemd_host.sh")

CONFIG = """
state: /var/lib/k3d
proxy: {listen: ["127.0.0.1:8000"]}
models:
  demo: {path: /srv/models/tiny.gguf}
profiles:
  batch: {model: demo, source: debian, gpus: none, context: 2048, slots: 2, threads: 1}
"""


class Host:
    def __init__(self):
        self.name = "k3d-systemd-" + uuid.uuid4().hex[:8]

    def __call__(self, *command, check=True, stdin=None) -> str:
        done = subprocess.run([HOST, "exec", self.name, *command], capture_output=True, text=True, input=stdin, timeout=120)
        assert not check or done.returncode == 0, f"{command}: {done.stdout}{done.stderr}{self.journal()}"
        return done.stdout

    def journal(self) -> str:
        done = subprocess.run([HOST, "exec", self.name, "journalctl", "-u", "k3d", "--no-pager", "-n", "60"],
                              capture_output=True, text=True)
        return done.stdout

    def status(self) -> dict:
        return json.loads(self("runuser", "-u", "k3d", "--", "k3ctl", "status", "--json"))


@pytest.fixture(scope="module")
def host(tiny):
    host = Host()
    subprocess.run([HOST, "start", host.name, "--network", "none", "--image", "k3d-engine-debian:latest"], check=True,
                   capture_output=True)
    subprocess.run([HOST, "install", host.name, str(K3D), str(K3CTL)], check=True, capture_output=True)
    host("mkdir", "-p", "/srv/models", "/etc/k3d")
    with open(tiny, "rb") as model:
        subprocess.run([HOST, "exec", host.name, "sh", "-c", "cat >/srv/models/tiny.gguf"], stdin=model, check=True)
    host("sh", "-c", "cat >/etc/k3d/k3d.yaml; chgrp k3d /etc/k3d/k3d.yaml; chmod 640 /etc/k3d/k3d.yaml", stdin=CONFIG)
    yield host
    subprocess.run([HOST, "stop", host.name], check=True, capture_output=True)


def test_the_unit_serves_and_a_restart_keeps_the_engine(host):
    host("systemctl", "enable", "--now", "k3d.socket", "k3d.service")
    assert host("systemctl", "is-active", "k3d").strip() == "active"
    assert host("systemctl", "show", "-p", "User", "--value", "k3d").strip() == "k3d"
    host("runuser", "-u", "k3d", "--", "k3ctl", "up", "batch")
    assert host.status()["phase"] == "ready"
    text = host("runuser", "-u", "k3d", "--", "k3ctl", "chat", "--max-tokens", "4", "Hello")
    assert text is not None
    pid = host("docker", "inspect", "-f", "{{.State.Pid}}", host("docker", "ps", "-q").strip()).strip()
    host("systemctl", "restart", "k3d")
    wait_for(lambda: host.status()["phase"] == "ready", 20, "the adopted engine")
    assert host("docker", "inspect", "-f", "{{.State.Pid}}", host("docker", "ps", "-q").strip()).strip() == pid
    assert host.status()["engine"]["adopted"]


def test_the_sockets_are_systemds_and_the_token_rules_tcp(host):
    assert "srw-rw----" in host("ls", "-l", "/run/k3d/control.sock")
    code = host("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://127.0.0.1:7300/api/v1/status")
    assert code == "401"
    code = host("sh", "-c", "curl -s -o /dev/null -w '%{http_code}' -H \"Authorization: Bearer $(cat /etc/k3d/token)\" "
                            "http://127.0.0.1:7300/api/v1/status")
    assert code == "200"


def test_the_sandbox_scores_well(host):
    done = subprocess.run(["systemd-analyze", "security", "--offline=true",
                           str(ROOT / "packaging/systemd/k3d.service")], capture_output=True, text=True)
    last = [line for line in done.stdout.splitlines() if "Overall exposure" in line]
    assert last, done.stdout + done.stderr
    assert float(last[0].split(":")[1].split()[0]) <= 2.0


def test_the_watchdog_is_fed(host):
    assert host("systemctl", "show", "-p", "NRestarts", "--value", "k3d").strip() == "0", host.journal()
