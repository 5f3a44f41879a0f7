#!/usr/bin/env python3
"""How fast k3d notices: figures in milliseconds with the real engine, medians of ROUNDS. Asserts nothing.

first200   from the engine's first 200 on /health (asked every millisecond, past k3d) to k3d's phase `probing`
cancel     from a client's leaving in a stream to the engine's slot being idle
overhead   of an activation: its duration less the container's start and the engine's load
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

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
MODEL = sys.argv[2] if len(sys.argv) > 2 else "/var/tmp/k3d-test/tiny.gguf"


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


def main():
    figures = {"first200": [], "cancel": [], "overhead": []}
    with tempfile.TemporaryDirectory(prefix="k3d-", dir="/var/tmp") as folder:
        daemon = Daemon(pathlib.Path(folder), MODEL).start()
        for attempt in range(1, ROUNDS + 1):
            seen = []
            watcher = threading.Thread(target=first_200, args=(daemon, attempt, seen))
            began = time.time()
            operation = daemon.activate("batch")
            watcher.start()
            operation = daemon.wait_operation(operation["id"])
            watcher.join()
            times = phase_times(daemon)
            figures["first200"].append((times["probing"] - seen[0]) * 1000)
            steps = {s["name"]: s for s in operation["steps"]}
            ready = datetime.fromisoformat(operation["finished_at"].replace("Z", "+00:00")).timestamp()
            inside = sum((datetime.fromisoformat(steps[n]["finished_at"].replace("Z", "+00:00"))
                          - datetime.fromisoformat(steps[n]["started_at"].replace("Z", "+00:00"))).total_seconds()
                         for n in ("start", "load"))
            figures["overhead"].append((ready - began - inside) * 1000)
            figures["cancel"].append(cancel_once(daemon, attempt))
            daemon.down()
        daemon.stop()
        daemon.clean()
    for name, values in figures.items():
        print(f"{name:10} median {statistics.median(values):8.1f} ms   max {max(values):8.1f} ms   n={len(values)}")


if __name__ == "__main__":
    main()
