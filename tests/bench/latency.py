#!/usr/bin/env python3
"""How fast k3d is: figures in milliseconds with the real engine, medians of ROUNDS. Ends with 1 if a gate is missed.

first200   from the engine's first 200 on /health (asked every millisecond, past k3d) to k3d's phase `probing`
cancel     from a client's leaving in a stream to the engine's slot being idle
overhead   of an activation: its duration less the container's start and the engine's load
switch     from one profile to another: its duration less the old engine's stop, the container's start and the load
adoption   from k3d's start to the first answer through the proxy, with a running engine whose slots are all busy
"""
import json
import pathlib
import re
import socket
import statistics
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from daemon import Daemon, UnixConnection, wait_for  # noqa: E402
from oracles import answers, busy  # noqa: E402

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
MODEL = sys.argv[2] if len(sys.argv) > 2 else "/var/tmp/k3d-test/tiny.gguf"
GATES = {"switch": 150, "adoption": 1000}  # medians stay below


def first_200(daemon, attempt, out):
    path = daemon.state / "attempts" / str(attempt) / "engine.sock"
    while True:
        try:
            connection = UnixConnection(path, 2)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                out.append(time.time())
                return
        except OSError:
            pass
        time.sleep(0.001)


def phase_times(daemon) -> dict:
    found = {}
    for line in daemon.log.read_text().splitlines():
        match = re.match(r"(\S+) info: phase phase=(\w+)", line)
        if match:
            found[match.group(2)] = datetime.fromisoformat(match.group(1).replace("Z", "+00:00")).astimezone(
                timezone.utc).timestamp()
    return found


def slots_busy(daemon, attempt) -> int:
    connection = UnixConnection(daemon.state / "attempts" / str(attempt) / "engine.sock")
    connection.request("GET", "/slots")
    return sum(slot["is_processing"] for slot in json.loads(connection.getresponse().read()))


def cancel_once(daemon, attempt) -> float:
    body = json.dumps({"prompt": "x", "n_predict": 3500, "stream": True, "ignore_eos": True}).encode()
    client = socket.create_connection(("127.0.0.1", daemon.proxy_port))
    client.sendall(b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n" % len(body) + body)
    client.recv(64)
    wait_for(lambda: slots_busy(daemon, attempt) == 1, 5, "a busy slot")
    client.close()
    began = time.perf_counter()
    while slots_busy(daemon, attempt):
        pass
    return (time.perf_counter() - began) * 1000


def seconds_of(text) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def beyond(operation, began, others) -> float:
    """Milliseconds of the operation that are in none of these steps."""
    steps = [step for step in operation["steps"] if step["name"] in others]
    inside = sum(seconds_of(step["finished_at"]) - seconds_of(step["started_at"]) for step in steps)
    return (seconds_of(operation["finished_at"]) - began - inside) * 1000


def start_once(daemon, attempt, figures):
    seen = []
    watcher = threading.Thread(target=first_200, args=(daemon, attempt, seen))
    began = time.time()
    operation = daemon.activate("batch")
    watcher.start()
    operation = daemon.wait_operation(operation["id"])
    watcher.join()
    figures["first200"].append((phase_times(daemon)["probing"] - seen[0]) * 1000)
    figures["overhead"].append(beyond(operation, began, ("start", "load")))


def switch_once(daemon, profile) -> float:
    began = time.time()
    return beyond(daemon.up(profile), began, ("stop", "start", "load"))


def adopt_once(daemon) -> float:
    """Leaves the daemon as it was: serving."""
    attempt = daemon.status()["engine"]["attempt"]
    asked = busy(daemon, 6, attempt)
    daemon.kill()
    began = time.perf_counter()
    daemon.start(wait=False)
    while not answers(daemon, "/tokenize", {"content": "x"}):
        time.sleep(0.001)
    took = (time.perf_counter() - began) * 1000
    for connection in asked:
        connection.close()
    return took


def measure(daemon, figures):
    for attempt in range(1, ROUNDS + 1):
        start_once(daemon, attempt, figures)
        figures["cancel"].append(cancel_once(daemon, attempt))
        daemon.down()
    daemon.up("batch")
    for _ in range(ROUNDS):
        figures["switch"] += [switch_once(daemon, "interactive"), switch_once(daemon, "batch")]
    for _ in range(ROUNDS):
        figures["adoption"].append(adopt_once(daemon))


def report(figures) -> bool:
    """Whether every gate is kept."""
    kept = True
    for name, values in figures.items():
        median, gate = statistics.median(values), GATES.get(name)
        missed = gate is not None and median >= gate
        kept = kept and not missed
        tail = f"   gate {gate} ms{' MISSED' if missed else ''}" if gate else ""
        print(f"{name:10} median {median:8.1f} ms   max {max(values):8.1f} ms   n={len(values)}{tail}")
    return kept


def main() -> int:
    figures = {"first200": [], "cancel": [], "overhead": [], "switch": [], "adoption": []}
    with tempfile.TemporaryDirectory(prefix="k3d-", dir="/var/tmp") as folder:
        daemon = Daemon(pathlib.Path(folder), MODEL, profiles={"batch": {"context": 32768}}).start()
        try:
            measure(daemon, figures)
            daemon.stop()
        finally:
            daemon.clean()
    return 0 if report(figures) else 1


if __name__ == "__main__":
    sys.exit(main())
