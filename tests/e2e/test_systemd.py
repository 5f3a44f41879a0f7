"""Under a real systemd, sandboxed, as user k3d: the unit, the sockets, activation, a restart under load, the journal."""
import ctypes
import http.client
import json
import subprocess
import threading
import time
import uuid

import pytest

from daemon import K3CTL, K3D, ROOT, SLOW, wait_for

HOST = str(ROOT / "tests" / "testbed" / "systemd_host.sh")

CONFIG = """
state: /var/lib/k3d
exit_drain_seconds: 3
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

    def show(self, field: str) -> str:
        return self("systemctl", "show", "-p", field, "--value", "k3d").strip()

    def engine_pid(self) -> str:
        return self("docker", "inspect", "-f", "{{.State.Pid}}", self("docker", "ps", "-q").strip()).strip()

    def configure(self, text: str):
        self("sh", "-c", "cat >/etc/k3d/k3d.yaml; chgrp k3d /etc/k3d/k3d.yaml; chmod 640 /etc/k3d/k3d.yaml", stdin=text)

    def enter_network(self):
        """The calling thread's sockets are the host's from here on."""
        pid = subprocess.run(["docker", "inspect", "-f", "{{.State.Pid}}", "k3d-testbed-systemd-" + self.name],
                             capture_output=True, text=True, check=True).stdout.strip()
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/proc/{pid}/ns/net") as namespace:
            if libc.setns(namespace.fileno(), 0x40000000) != 0:  # CLONE_NEWNET
                raise OSError(ctypes.get_errno(), "setns")


class Client(threading.Thread):
    """Inside the host, one request after the other, each on a connection of its own. Keeps (ended, what came)."""

    def __init__(self, host: Host, tokens: int, stream=False):
        super().__init__(daemon=True)
        self.host, self.over, self.seen = host, threading.Event(), []
        self.body = json.dumps({"model": "batch", "max_tokens": tokens, "stream": stream, "ignore_eos": True,
                                "messages": [{"role": "user", "content": "Hi"}]})
        self.start()

    def run(self):
        self.host.enter_network()
        while not self.over.is_set():
            self.seen.append((self.ask(), time.monotonic()))

    def ask(self):
        connection = http.client.HTTPConnection("127.0.0.1", 8000, timeout=60)
        try:
            connection.connect()
            connection.request("POST", "/v1/chat/completions", self.body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            return response.status
        except http.client.IncompleteRead:
            return "cut"
        except ConnectionRefusedError:
            return "refused"
        except (OSError, http.client.HTTPException) as error:
            return repr(error)
        finally:
            connection.close()

    def end(self) -> list:
        self.over.set()
        self.join(90)
        assert not self.is_alive(), "a request hangs"
        return self.seen


@pytest.fixture(scope="module")
def host(tiny):
    host = Host()
    subprocess.run([HOST, "start", host.name, "--network", "none", "--image", "k3d-engine-debian:latest"], check=True,
                   capture_output=True)
    subprocess.run([HOST, "install", host.name, str(K3D), str(K3CTL)], check=True, capture_output=True)
    host("mkdir", "-p", "/srv/models", "/etc/k3d")
    with open(tiny, "rb") as model:
        subprocess.run([HOST, "exec", host.name, "sh", "-c", "cat >/srv/models/tiny.gguf"], stdin=model, check=True)
    host.configure(CONFIG)
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
    pid = host.engine_pid()
    host("systemctl", "restart", "k3d")
    wait_for(lambda: host.status()["phase"] == "ready", 20, "the adopted engine")
    assert host.engine_pid() == pid
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
    assert host.show("NRestarts") == "0", host.journal()


def test_a_restart_under_load_refuses_nobody(host):
    pid = host.engine_pid()
    short = [Client(host, tokens=1) for _ in range(3)]
    wait_for(lambda: all(len(client.seen) >= 3 for client in short), 30, "requests before the restart")
    long = Client(host, tokens=1500, stream=True)
    wait_for(lambda: host.status()["proxy"]["in_flight"] > 0, 30, "the stream")
    began = time.monotonic()
    host("systemctl", "restart", "k3d")
    assert time.monotonic() - began < 3 + 5 * SLOW, "exit_drain_seconds is 3"
    started = int(host.show("ExecMainStartTimestampMonotonic")) / 1e6
    wait_for(lambda: all(client.seen[-1][1] > started + 2 for client in short), 30, "requests after the restart")
    answers = [answer for client in short for answer in client.end()]
    assert {what for what, _ in answers} == {200}, [(what, at - started) for what, at in answers if what != 200]
    first = min(at for what, at in answers if what == 200 and at > started) - started
    print(f"the first answer came {first:.3f} s after the start")
    assert first < 1 * SLOW, f"the first answer came {first:.2f} s after the start"
    streams = [what for what, _ in long.end()]
    assert set(streams) <= {200, "cut"}, streams
    assert host.engine_pid() == pid
    assert host.status()["engine"]["adopted"]


def test_the_proxys_sockets_are_kept_and_let_go(host):
    assert host.show("NFileDescriptorStore") == "1", host.journal()
    host.configure(CONFIG.replace("127.0.0.1:8000", "127.0.0.2:8000"))
    host("systemctl", "restart", "k3d")
    wait_for(lambda: host.status()["phase"] == "ready", 20, "the adopted engine")
    assert host.status()["proxy"]["listen"] == ["127.0.0.2:8000"]
    wait_for(lambda: host.show("NFileDescriptorStore") == "1", 5, "the old socket's end")


def test_a_reload_keeps_the_process(host):
    pid = host.show("MainPID")
    host("systemctl", "reload", "k3d")
    assert host("systemctl", "is-active", "k3d").strip() == "active"
    assert host.show("MainPID") == pid


def test_the_journal_has_the_fields(host):
    lines = host("journalctl", "-u", "k3d", "-o", "json", "--no-pager", "K3D_INSTANCE=default").splitlines()
    entries = [json.loads(line) for line in lines]
    assert any(entry["MESSAGE"].startswith("k3d serves") and entry["PRIORITY"] == "6" for entry in entries), lines[:3]
