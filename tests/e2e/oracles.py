"""What must hold whatever happened: one engine, a status that says what Docker says, no secret in the open."""
import json
import os
import pathlib
import threading

from daemon import Stream, UnixConnection, wait_for


def engine_of(daemon) -> str:
    return daemon.status()["engine"]["container_id"]


def streams(daemon, count, tokens):
    """That many answers on their way, each with its first byte at its client."""
    made = [Stream(daemon, tokens) for _ in range(count)]
    wait_for(lambda: all(one.body or one.kind for one in made), 20, "the first piece of every answer")
    assert [one.kind for one in made] == [None] * count, made
    return made


def joined(made, seconds=30):
    for one in made:
        one.join(seconds)
        assert one.kind, "a stream hangs"
    return made


def busy(daemon, count, attempt) -> list:
    """Answers asked of the engine past k3d, which they outlive; the first one has begun. Close them."""
    body = json.dumps({"prompt": "x", "n_predict": 16000, "stream": True, "ignore_eos": True})
    asked = []
    for _ in range(count):
        connection = UnixConnection(daemon.state / "attempts" / str(attempt) / "engine.sock", 120)
        connection.request("POST", "/completion", body, {"Content-Type": "application/json"})
        asked.append(connection)
    asked[0].getresponse().read(64)
    return asked


def answers(daemon, path, body) -> bool:
    """Whether the engine answers through the proxy."""
    try:
        return daemon.ask("POST", path, body).status == 200
    except OSError:
        return False


class Truth(threading.Thread):
    """Looks at Docker all the time: how many containers of the instance it saw running at once."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.of, self.most, self.looks, self.over = daemon, 0, 0, threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.05):
            self.most = max(self.most, len(self.of.containers()))
            self.looks += 1

    def told(self) -> int:
        self.over.set()
        self.join()
        assert self.looks > 0
        return self.most


def agrees_with_docker(daemon):
    """The engine of the status is the one that runs; none runs where none is shown."""
    def same():
        status = daemon.status()
        shown = [status["engine"]["container_id"]] if status["engine"] else []
        return shown == daemon.containers() and daemon.status()["phase"] == status["phase"]
    wait_for(same, 2, "status saying what Docker says")


def settled(daemon, seconds=60) -> dict:
    """The status in a phase that stays and that Docker agrees with."""
    def look():
        status = daemon.status()
        shown = [status["engine"]["container_id"]] if status["engine"] else []
        return status if status["phase"] in ("ready", "stopped", "failed") and shown == daemon.containers() else None
    return wait_for(look, seconds, "a phase that stays")


def figures(daemon) -> tuple:
    """(descriptors, resident KiB) of k3d."""
    pid = daemon.process.pid
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return len(os.listdir(f"/proc/{pid}/fd")), int(status.split("VmRSS:")[1].split()[0])


def secrets_of(daemon) -> list:
    return [(daemon.folder / name).read_text().strip() for name in ("token", "read-token")]


def everything_said(daemon) -> str:
    """All that k3d and Docker show about it, but for the files that hold the secrets."""
    said = [daemon.log.read_text(errors="replace"), pathlib.Path(f"/proc/{daemon.process.pid}/cmdline").read_text()]
    said += [daemon.get(f"/api/v1/{path}").text for path in ("status", "operations", "profiles", "logs")]
    said += [daemon.docker("inspect", container) for container in daemon.containers(running=False)]
    said += [path.read_bytes().decode(errors="replace") for path in daemon.state.rglob("*.log")]
    said.append((daemon.state / "k3d.db").read_bytes().decode(errors="replace"))
    return "\n".join(said)


def conditions(daemon) -> list:
    return [condition["code"] for condition in daemon.status()["conditions"]]
