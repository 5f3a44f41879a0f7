"""k3d killed at any moment: at most one container, nothing hangs, the next start goes on from what Docker says."""
import http.client
import json
import os
import subprocess
import threading
import time

import pytest

from daemon import K3D, Stream, UnixConnection, wait_for
from docker_gate import Gate
from oracles import Truth, answers, busy, joined, settled, streams

ROUNDS = 40 if os.environ.get("K3D_SOAK") else 6


@pytest.mark.parametrize("delay_ms", [(i * 67) % 900 for i in range(ROUNDS)])
def test_F1_F2_F3_F4_killed_at_any_moment_of_a_start(make_daemon, delay_ms):
    daemon = make_daemon().start()
    began = time.monotonic()
    operation = daemon.activate("batch")
    wait_for(lambda: time.monotonic() - began >= delay_ms / 1000, 5, "the moment to kill")
    daemon.kill()
    before = daemon.containers()
    assert len(before) <= 1
    daemon.start()
    known_again(daemon, operation)
    ended = daemon.wait_operation(operation["id"], 30)
    assert ended["state"] == "succeeded", ended  # it goes on under its id
    status = settled(daemon)
    assert (status["phase"], status["active_profile"]) == ("ready", "batch")
    if before:
        assert daemon.containers() == before and status["engine"]["adopted"], "the engine that ran is the engine that runs"
    wait_for(lambda: len(daemon.containers(running=False)) == 1, 20, "the end of what was half made")
    assert daemon.chat().status == 200


def test_F5_killed_while_answers_stream(make_daemon):
    daemon = make_daemon().start()
    daemon.up("batch")
    pid = daemon.inspect()["State"]["Pid"]
    connection = http.client.HTTPConnection("127.0.0.1", daemon.proxy_port, timeout=30)
    body = {"prompt": "x", "n_predict": 3000, "stream": True, "ignore_eos": True}
    connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    response.read(64)
    daemon.kill()
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        response.read()
    began = time.monotonic()
    daemon.start()
    wait_for(lambda: daemon.chat().status == 200, 5, "the next answer")
    assert time.monotonic() - began < 4
    assert daemon.inspect()["State"]["Pid"] == pid


# ---- in each phase of a switch --------------------------------------------------------------------------------------


@pytest.fixture
def gated(make_daemon, folder):
    """A daemon that talks to Docker through a gate, with `batch` up."""
    gate = Gate(folder / "gate.sock")
    daemon = make_daemon(profiles={"batch": {"context": 65536, "drain_seconds": 600}})
    daemon.docker_host = gate.host
    daemon.configure()
    daemon.start()
    daemon.up("batch")
    yield daemon, gate
    daemon.stop()
    gate.close()
    daemon.docker_host = None


def pid_of(daemon) -> int:
    return daemon.inspect()["State"]["Pid"]


def known_again(daemon, operation):
    """Right after a start the operations of before are still being read."""
    wait_for(lambda: daemon.get(f"/api/v1/operations/{operation['id']}").status == 200, 2, "the operation being known")


def goes_on(daemon, operation, truth):
    """After a crash: what was under way goes on under its id, with one engine at a time."""
    known_again(daemon, operation)
    ended = daemon.wait_operation(operation["id"], 60)
    status = settled(daemon)
    assert ended["state"] == "succeeded" and status["active_profile"] == "interactive", ended
    wait_for(lambda: len(daemon.containers(running=False)) == 1, 20, "the end of what was half made")
    assert daemon.chat(model="interactive").status == 200
    assert truth.told() <= 1


OLD_LIVES = {"preparing", "stop"}
PLACES = {
    "preparing": (r"GET \S*/images/", False),
    "stop": (r"POST \S*/kill", False),
    "stopped": (r"POST \S*/kill", True),
    "removal": (r"DELETE \S*/containers/", False),
    "create": (r"POST \S*/containers/create", False),
    "created": (r"POST \S*/containers/create", True),
    "start": (r"POST \S*/start", False),
    "started": (r"POST \S*/start", True),
}


@pytest.mark.parametrize("place", PLACES)
def test_F1_F2_F3_F6_F7_killed_between_two_calls_of_a_switch(gated, place):
    daemon, gate = gated
    truth, pid = Truth(daemon), pid_of(daemon)
    pattern, answered = PLACES[place]
    gate.hold(pattern, answered)
    operation = daemon.activate("interactive")
    assert gate.held.wait(20), "the call never came"
    daemon.kill()
    gate.open(drop=True)
    if place in OLD_LIVES:
        assert pid_of(daemon) == pid
    if place == "started":
        pid = wait_for(lambda: daemon.containers() and pid_of(daemon), 10, "the start by Docker")
    daemon.start()
    if place in OLD_LIVES:
        wait_for(lambda: "adopting a running engine" in daemon.log.read_text(), 5, "the adoption")
    goes_on(daemon, operation, truth)
    if place == "started":
        assert pid_of(daemon) == pid, "the load was not begun again"


def test_F6_killed_between_the_signal_and_the_end_of_a_deactivation(gated):
    daemon, gate = gated
    gate.hold(r"POST \S*/kill", answer=True)
    operation = daemon.call("POST", "/api/v1/deactivate", {}).json()
    assert gate.held.wait(20)
    daemon.kill()
    gate.open(drop=True)
    wait_for(lambda: daemon.containers() == [], 10, "the engine's end")
    daemon.start()
    known_again(daemon, operation)
    assert daemon.wait_operation(operation["id"])["state"] in ("failed", "succeeded")
    wait_for(lambda: daemon.containers(running=False) == [], 10, "the container's removal")
    assert daemon.wait_phase("stopped", 10)["engine"] is None
    daemon.up("batch")


def test_F5_killed_while_draining_the_old_engine_is_kept(gated):
    daemon, _ = gated
    truth, pid, running = Truth(daemon), pid_of(daemon), streams(daemon, 2, 16000)
    operation = daemon.activate("interactive")
    daemon.wait_phase("draining", 10)
    daemon.kill()
    assert {one.kind for one in joined(running)} == {"cut"} and pid_of(daemon) == pid
    daemon.start()
    wait_for(lambda: "adopting a running engine" in daemon.log.read_text(), 5, "the adoption")
    goes_on(daemon, operation, truth)


def at_phase(daemon, phase) -> threading.Event:
    """Set as soon as the stream of events says so."""
    connection, seen = UnixConnection(daemon.control, 60), threading.Event()
    connection.request("GET", "/api/v1/events")
    response = connection.getresponse()

    def read():
        wanted = f'"phase":"{phase}"'.encode()
        for line in response:
            if wanted in line:
                seen.set()
                break
        connection.close()

    threading.Thread(target=read, daemon=True).start()
    return seen


@pytest.mark.parametrize("phase", ["loading", "probing"])
def test_F4_killed_while_loading_or_probing_the_load_goes_on(make_daemon, big, phase):
    daemon = make_daemon(models={"large": {"path": big}}, profiles={"interactive": {"model": "large"}}).start()
    daemon.up("batch")
    truth, seen = Truth(daemon), at_phase(daemon, phase)
    operation = daemon.activate("interactive")
    assert seen.wait(60)
    daemon.kill()
    pid = pid_of(daemon)
    daemon.start()
    status = daemon.wait_phase("ready", 60)
    assert status["engine"]["adopted"] and status["active_profile"] == "interactive" and pid_of(daemon) == pid
    goes_on(daemon, operation, truth)
    assert pid_of(daemon) == pid


def test_F5_adopted_within_a_second_with_every_slot_busy(make_daemon):
    daemon = make_daemon(profiles={"batch": {"context": 65536}}).start()
    daemon.up("batch")
    pid, attempt = pid_of(daemon), daemon.status()["engine"]["attempt"]
    asked = busy(daemon, 6, attempt)
    daemon.kill()
    began = time.monotonic()
    daemon.start(wait=False)
    wait_for(lambda: answers(daemon, "/tokenize", {"content": "x"}), 5, "the first answer through the proxy")
    assert time.monotonic() - began < 1
    waiting = Stream(daemon, 8)
    for connection in asked:
        connection.close()
    waiting.join(30)
    assert waiting.kind == "done" and pid_of(daemon) == pid and daemon.status()["engine"]["adopted"]


# ---- engines that end -----------------------------------------------------------------------------------------------


def test_F30_a_removed_container_is_named(daemon):
    daemon.up("batch")
    daemon.docker("rm", "-f", *daemon.containers())
    failure = wait_for(lambda: daemon.status()["last_failure"], 10, "the failure")
    assert failure["code"] in ("removed_externally", "killed"), failure
    daemon.up("batch")
    assert daemon.status()["last_failure"] is None


def test_F16_F33_a_crash_has_its_name_and_its_log_and_the_engine_comes_back(daemon):
    daemon.up("batch")
    engine = int(subprocess.run(["pgrep", "-P", str(pid_of(daemon))], capture_output=True, text=True, check=True).stdout.split()[0])
    os.kill(engine, 11)
    status = daemon.wait_phase("backoff", 10)
    failure = status["last_failure"]
    assert failure["code"] == "crash" and failure["exit_code"] == 139 and failure["log_excerpt"]
    assert status["backoff"]["attempt"] == 1 and status["backoff"]["retry_at"], status["backoff"]
    answer = daemon.chat()
    assert answer.status == 503 and answer.json()["error"]["code"] == "model_loading" and answer.headers["retry-after"]
    status = daemon.wait_phase("ready", 30)
    assert status["engine"]["restarts"] == 1 and daemon.chat().status == 200
    assert status["last_failure"] is None or status["last_failure"]["code"] == "crash"


def test_rollback_to_the_profile_that_ran(make_daemon, folder, tiny):
    bad = folder / "bad.gguf"
    with open(tiny, "rb") as good:
        bad.write_bytes(good.read(1_000_000))
    daemon = make_daemon(models={"bad": {"path": str(bad)}}, profiles={"broken": {"extends": "batch", "model": "bad"}}).start()
    daemon.up("batch")
    operation = daemon.wait_operation(daemon.activate("broken")["id"])
    assert operation["state"] == "failed" and operation["result"]["rolled_back_to"] == "batch"
    daemon.wait_phase("ready", 30)
    assert daemon.status()["active_profile"] == "batch" and daemon.chat().status == 200


def test_cancelling_a_load_leaves_nothing(make_daemon, big):
    daemon = make_daemon(big).start()
    operation = daemon.activate("batch")
    daemon.wait_phase("loading", 20)
    assert daemon.call("DELETE", f"/api/v1/operations/{operation['id']}").status in (200, 202)
    assert daemon.wait_operation(operation["id"], 30)["state"] == "cancelled"
    daemon.wait_phase("stopped", 20)
    wait_for(lambda: daemon.containers(running=False) == [], 10, "the container's removal")


def test_F20_a_log_that_nobody_reads(make_daemon):
    daemon = make_daemon()
    reader, writer = os.pipe()
    daemon.process = subprocess.Popen([str(K3D), "--config", str(daemon.config)], stdout=writer, stderr=writer)
    os.close(writer)
    os.close(reader)
    wait_for(daemon.alive, 10, "k3d answering")
    daemon.up("batch")
    assert daemon.chat().status == 200
