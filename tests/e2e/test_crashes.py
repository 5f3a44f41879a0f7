"""k3d killed at any moment: at most one container, nothing hangs, the next start goes on from what Docker says."""
import os
import subprocess
import time

import pytest

from daemon import K3D, wait_for

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
    ended = daemon.wait_operation(operation["id"], 10)
    assert ended["state"] in ("succeeded", "failed")
    if before:
        assert daemon.wait_phase("ready", 20)["engine"]["adopted"]
        assert daemon.containers() == before, "the engine that ran is the engine that runs"

    def settled():
        """Half made: gone. Started by Docker after k3d was killed: adopted. Nothing else, and never two."""
        left = daemon.containers(running=False)
        assert len(left) <= 1
        status = daemon.status()
        return not left or (status["phase"] == "ready" and status["engine"]["adopted"] and daemon.containers() == left)

    wait_for(settled, 20, "the end of what was half made")
    daemon.up("batch")
    assert len(daemon.containers()) == 1 and daemon.chat().status == 200


def test_F5_killed_while_answers_stream(make_daemon):
    import http.client
    import json
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


def test_F30_a_removed_container_is_named(daemon):
    daemon.up("batch")
    daemon.docker("rm", "-f", *daemon.containers())
    status = daemon.wait_phase("failed", 10)
    assert status["last_failure"]["code"] in ("removed_externally", "killed"), status["last_failure"]
    daemon.up("batch")
    assert daemon.status()["last_failure"] is None


def test_F33_a_crash_has_its_name_and_its_log(daemon):
    daemon.up("batch")
    (container,) = daemon.containers()
    pid = int(daemon.docker("inspect", "-f", "{{.State.Pid}}", container))
    engine = int(subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True).stdout.split()[0])
    os.kill(engine, 11)
    failure = daemon.wait_phase("failed", 10)["last_failure"]
    assert failure["code"] == "crash" and failure["exit_code"] == 139
    assert daemon.chat().json()["error"]["code"] == "engine_failed"


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
