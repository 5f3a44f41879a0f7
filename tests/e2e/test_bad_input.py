"""Each bad input gives one clear error that says what to do, at the command line and in the API; k3d stays up."""
import signal
import subprocess

from daemon import K3D, wait_for


def failed_operation(daemon, profile="batch", seconds=60) -> dict:
    operation = daemon.wait_operation(daemon.activate(profile)["id"], seconds)
    assert operation["state"] == "failed", operation
    assert daemon.get("/livez").status == 200
    return operation


def test_every_mistake_of_a_broken_config_is_named(folder):
    config = folder / "k3d.yaml"
    config.write_text("instance: a/b\nprofiles:\n  p:\n    modle: kimi-k3\n    slots: many\n    context: 4096\n    context: 8192\n")
    config.chmod(0o600)
    for extra in (["--check"], []):
        done = subprocess.run([str(K3D), "--config", str(config), *extra], capture_output=True, text=True, timeout=20)
        assert done.returncode == 1
        for place in (":1:", ":4:", ":5:", ":7:"):
            assert str(config) + place in done.stderr, done.stderr
        assert "model" in done.stderr


def test_F21_docker_absent(make_daemon, folder):
    daemon = make_daemon()
    daemon.docker_host = f"unix://{folder}/no-docker.sock"
    daemon.configure()
    daemon.start()
    condition = wait_for(lambda: [c for c in daemon.status()["conditions"] if c["code"] == "docker_unavailable"], 10,
                         "the condition")[0]
    assert condition["advice"]
    operation = failed_operation(daemon)
    assert operation["error"]["code"] == "docker_unavailable"
    answer = daemon.chat()
    assert answer.status == 503
    daemon.docker_host = None


def test_F22_docker_hangs(make_daemon, folder):
    import socket
    path = folder / "hang.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(64)  # accepts, never answers
        daemon = make_daemon()
        daemon.docker_host = f"unix://{path}"
        daemon.configure()
        daemon.start()
        wait_for(lambda: [c for c in daemon.status()["conditions"] if c["code"] == "docker_unresponsive"], 30,
                 "the condition")
        assert failed_operation(daemon)["error"]["code"] == "docker_unresponsive"
        daemon.docker_host = None
        daemon.stop()


def test_F34_image_missing(make_daemon):
    daemon = make_daemon(profiles={"batch": {"source": None, "image": "k3d-no-such-image:1"}}).start()
    operation = failed_operation(daemon)
    assert "k3d-no-such-image:1" in operation["error"]["detail"] and operation["error"]["advice"]
    assert daemon.status()["phase"] == "failed"
    assert daemon.chat().json()["error"]["code"] == "engine_failed"


def test_unknown_profile(daemon):
    answer = daemon.call("POST", "/api/v1/profiles/bach/activate", {})
    assert answer.status == 404 and answer.json()["code"] == "unknown_profile"
    assert "batch" in answer.json()["advice"]
    done = daemon.ctl("up", "bach")
    assert done.returncode == 1 and "batch" in done.stdout + done.stderr


def test_F11_a_second_daemon_says_who_holds_it(daemon, make_daemon):
    second = make_daemon()
    second.instance = daemon.instance
    second.configure()
    second.start(wait=False)
    assert second.process.wait(10) == 1
    assert str(daemon.process.pid) in second.log_text()
    third = make_daemon(state=str(daemon.state))
    third.start(wait=False)
    assert third.process.wait(10) == 1
    assert str(daemon.process.pid) in third.log_text()
    assert daemon.get("/livez").status == 200
    daemon.kill()
    second.start()  # F12: nothing that a killed daemon leaves keeps the next one out


def test_F50_a_taken_port_names_the_address(make_daemon):
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        daemon = make_daemon(proxy={"listen": [f"127.0.0.1:{port}"]})
        daemon.start(wait=False)
        assert daemon.process.wait(10) == 1
        assert f"127.0.0.1:{port}" in daemon.log_text()


def test_a_full_disk_under_the_state(make_daemon, folder):
    small = folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], check=True)
    try:
        daemon = make_daemon(state=str(small / "state")).start()
        daemon.get("/api/v1/status")
        with open(small / "fill", "wb", buffering=0) as fill:
            try:
                while True:
                    fill.write(b"x" * 4096)
            except OSError:
                pass
        # The engine needs no state of k3d to run: it is served, and the trouble is shown.
        daemon.wait_operation(daemon.activate("batch")["id"])
        full = wait_for(lambda: [c for c in daemon.status()["conditions"] if c["code"] == "disk_full"], 10, "the condition")
        assert "free space" in full[0]["advice"]
        (small / "fill").unlink()
        daemon.up("interactive")
        wait_for(lambda: not [c for c in daemon.status()["conditions"] if c["code"] == "disk_full"], 10,
                 "the condition's end")
        daemon.stop()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_F14_a_second_signal_ends_at_once(make_daemon):
    daemon = make_daemon(exit_drain_seconds=60).start()
    daemon.up("batch")
    import http.client
    import json
    connection = http.client.HTTPConnection("127.0.0.1", daemon.proxy_port, timeout=60)
    body = {"prompt": "x", "n_predict": 100000, "stream": True, "ignore_eos": True}
    connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
    connection.getresponse().read(16)
    daemon.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "stopping" in daemon.log_text(), 5, "the beginning of the stop")
    assert daemon.process.poll() is None, "it drains"
    assert daemon.stop() != 0
    connection.close()


def test_F13_an_orderly_stop_leaves_the_engine_by_default_and_the_next_start_adopts_it(make_daemon):
    daemon = make_daemon(on_exit="leave").start()
    daemon.up("batch")
    pid = daemon.inspect()["State"]["Pid"]
    assert daemon.stop() == 0
    assert daemon.inspect()["State"]["Pid"] == pid
    daemon.start()
    status = daemon.wait_phase("ready", 10)
    assert status["engine"]["adopted"] and status["engine"]["spec_matches"]
    assert daemon.inspect()["State"]["Pid"] == pid
    assert daemon.chat().status == 200
    daemon.down()


