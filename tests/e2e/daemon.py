"""A private k3d per test: own folder, own instance, own ports. Real Docker, real llama-server."""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("K3D_BUILD", ROOT / "build" / "dev"))
K3D = BUILD / "daemon" / "app" / "k3d"
K3CTL = BUILD / "api" / "k3ctl" / "k3ctl"
SLOW = float(os.environ.get("K3D_TEST_PATIENCE", "1"))


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(condition, seconds: float, what: str):
    """The first true value of condition(), or an assertion that names what never came."""
    deadline = time.monotonic() + seconds * SLOW
    value = condition()
    while not value:
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        select_pause()
        value = condition()
    return value


def select_pause():
    """The interval between two looks at a state that is waited for."""
    import select
    select.select([], [], [], 0.02)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.text = response.read().decode("utf-8", "replace")

    def json(self):
        return json.loads(self.text)


class Stream(threading.Thread):
    """A streamed chat that begins at once; .join() it, then look at what became of it.

    kind: "done" (ended in [DONE]), "refused" (an answer other than 200), "cut" (broken off after its first byte),
    or what must never be: "silent" (a clean end without [DONE]), "lost" (no answer at all)."""

    def __init__(self, daemon, tokens=64, timeout=60, model="any"):
        super().__init__(daemon=True)
        self.port, self.timeout = daemon.proxy_port, timeout
        self.ask = {"model": model, "stream": True, "max_tokens": tokens, "ignore_eos": True,
                    "messages": [{"role": "user", "content": "Hi"}]}
        self.kind, self.status, self.headers, self.body, self.why = None, None, {}, b"", None
        self.began, self.ended = time.monotonic(), None
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps(self.ask), {"Content-Type": "application/json"})
            response = connection.getresponse()
            self.status, self.headers = response.status, {k.lower(): v for k, v in response.getheaders()}
            while piece := response.read1(65536):
                self.body += piece
            whole = self.body.rstrip().endswith(b"data: [DONE]")
            self.kind = "refused" if self.status != 200 else "done" if whole else "silent"
        except (http.client.HTTPException, OSError) as error:
            self.why = repr(error)
            cut = self.status is not None and not isinstance(error, TimeoutError)
            self.kind = "cut" if cut else "lost"
        finally:
            self.ended = time.monotonic()
            connection.close()

    @property
    def code(self):
        return json.loads(self.body)["error"]["code"] if self.kind == "refused" else None

    def __repr__(self):
        return f"Stream({self.kind}, {self.status}, {self.body[-120:]!r}, {self.why})"


class Daemon:
    """Write the configuration with .configure(), then .start()."""

    def __init__(self, folder: pathlib.Path, model: str, **changes):
        self.folder = folder
        self.instance = "t" + uuid.uuid4().hex[:10]
        self.model = model
        self.control = folder / "control.sock"
        self.control_port = free_port()
        self.proxy_port = free_port()
        self.state = folder / "state"
        self.log = folder / "k3d.log"
        self.process = None
        self.docker_host = None
        self.expect_left = False  # a test that leaves its engine on purpose says so
        self.configure(**changes)

    def settings(self, **changes) -> dict:
        base = {
            "instance": self.instance,
            "state": str(self.state),
            "exit_drain_seconds": 1,
            "on_exit": "stop",
            "control": {"listen": [f"unix:{self.control}", f"127.0.0.1:{self.control_port}"],
                        "token_file": str(self.folder / "token")},
            "proxy": {"listen": [f"127.0.0.1:{self.proxy_port}"]},
            "models": {"demo": {"path": self.model}},
            "profiles": {
                "batch": {"model": "demo", "source": "debian", "gpus": "none", "context": 4096, "slots": 4,
                          "drain_seconds": 5, "stall_seconds": 30, "threads": 1},
                "interactive": {"extends": "batch", "slots": 1, "context": 2048, "aliases": ["chatty"]},
            },
        }
        if self.docker_host:
            base["docker"] = {"host": self.docker_host}
        return merge(base, changes)

    def configure(self, **changes):
        import yaml
        self.config = self.folder / "k3d.yaml"
        self.config.write_text(yaml.safe_dump(self.settings(**changes), sort_keys=False))
        self.config.chmod(0o600)

    def start(self, wait=True, env=None, prefix=()):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen([*prefix, str(K3D), "--config", str(self.config), "--log-level", "debug"],
                                            stdout=out, stderr=out, env={**os.environ, **(env or {})})
        if wait:
            wait_for(self.alive, 10, "k3d answering /livez")
        return self

    def alive(self):
        assert self.process.poll() is None, f"k3d ended with {self.process.returncode}: {self.log_text()}"
        try:
            return self.get("/livez").status == 200
        except OSError:
            return False

    def log_text(self) -> str:
        return self.log.read_text(errors="replace")[-8000:]

    def stop(self, sig=signal.SIGTERM, seconds=60) -> int:
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else 0
        self.process.send_signal(sig)
        return self.process.wait(seconds)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    # ---- control ----
    def call(self, method, path, body=None, timeout=30, headers=None) -> Answer:
        connection = UnixConnection(self.control, timeout)
        head = dict(headers or {})
        data = None
        if body is not None:
            data = body if isinstance(body, (str, bytes)) else json.dumps(body)
            head.setdefault("Content-Type", "application/json")
        connection.request(method, path, data, head)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def get(self, path, **kw) -> Answer:
        return self.call("GET", path, **kw)

    def status(self) -> dict:
        return self.get("/api/v1/status").json()

    def wait_phase(self, phase, seconds=60) -> dict:
        def look():
            status = self.status()
            return status if status["phase"] == phase else None
        try:
            return wait_for(look, seconds, f"phase {phase}")
        except AssertionError as error:
            raise AssertionError(f"{error}; status {json.dumps(self.status())[:3000]}; log {self.log_text()}") from None

    def activate(self, profile, **body) -> dict:
        answer = self.call("POST", f"/api/v1/profiles/{profile}/activate", body)
        assert answer.status in (200, 202), answer.text
        return answer.json()

    def wait_operation(self, operation_id, seconds=60) -> dict:
        def look():
            operation = self.get(f"/api/v1/operations/{operation_id}").json()
            return operation if operation["state"] not in ("queued", "running") else None
        return wait_for(look, seconds, f"the end of operation {operation_id}")

    def up(self, profile, seconds=60, **body) -> dict:
        operation = self.wait_operation(self.activate(profile, **body)["id"], seconds)
        assert operation["state"] == "succeeded", f"{operation}; log {self.log_text()}"
        return operation

    def down(self, seconds=60, **body):
        answer = self.call("POST", "/api/v1/deactivate", body)
        assert answer.status in (200, 202), answer.text
        if answer.status == 202:
            self.wait_operation(answer.json()["id"], seconds)

    # ---- proxy ----
    def ask(self, method, path, body=None, headers=None, timeout=60) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy_port, timeout=timeout)
        data = None if body is None else json.dumps(body)
        head = {"Content-Type": "application/json"} if data else {}
        connection.request(method, path, data, {**head, **(headers or {})})
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def chat(self, text="Hello", **more) -> Answer:
        body = {"model": "batch", "max_tokens": 8, "messages": [{"role": "user", "content": text}], **more}
        return self.ask("POST", "/v1/chat/completions", body)

    def ctl(self, *args, timeout=90, env=None):
        return subprocess.run([str(K3CTL), "--url", f"unix:{self.control}", *args], capture_output=True, text=True,
                              timeout=timeout, env={**os.environ, **(env or {})})

    # ---- Docker ----
    def docker(self, *args) -> str:
        command = ["docker"] + (["-H", self.docker_host] if self.docker_host else []) + list(args)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def containers(self, running=True) -> list:
        args = ["ps", "-q", "--no-trunc", "--filter", f"label=k3d.instance={self.instance}"]
        return self.docker(*(args if running else args + ["-a"])).split()

    def inspect(self) -> dict:
        (container,) = self.containers()
        return json.loads(self.docker("inspect", container))[0]

    def clean(self):
        self.kill()
        left = self.containers(running=False)
        # Those that only show an image's --help: k3d removes them at its next start.
        left += self.docker("ps", "-aq", "--no-trunc", "--filter", f"label=k3d.help={self.instance}").split()
        for container in left:
            # k3d may have asked for its removal just before it ended: then Docker is at it already.
            subprocess.run(["docker", *(["-H", self.docker_host] if self.docker_host else []), "rm", "-f", container],
                           capture_output=True, check=False)
        wait_for(lambda: not self.containers(running=False), 20, "the removal of this test's containers")


def merge(base: dict, changes: dict) -> dict:
    """Maps are merged by key, everything else is replaced; None removes."""
    out = dict(base)
    for key, value in changes.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merge(out[key], value)
        else:
            out[key] = value
    return out
