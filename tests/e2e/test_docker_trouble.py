"""Docker restarted, hanging or away, and people who touch k3d's containers: a model that can live lives on."""
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

from daemon import ROOT, Stream, wait_for
from oracles import conditions, engine_of, joined, settled, streams

BED = ROOT / "tests" / "testbed" / "docker28.sh"
IMAGE = "k3d-engine-debian:latest"
SOAK = bool(os.environ.get("K3D_SOAK"))
WIDE = {"batch": {"context": 65536}}


class Engine:
    """A Docker Engine of this module's own, which may be ended, hung and brought back."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.start("--mount", "/var/tmp", "--image", IMAGE)
        short = "k3d28-" + hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]
        self.name = f"k3d-testbed-{short}"
        self.host = f"unix://{folder}/docker.sock"

    def bed(self, verb, *args) -> str:
        return subprocess.run([str(BED), verb, str(self.folder), *args], check=True, capture_output=True, text=True).stdout

    def start(self, *args):
        self.bed("start", *args)

    def pid(self) -> int:
        return int(self.bed("pid"))

    def end(self, how):
        if how == signal.SIGKILL:
            self.bed("crash")
            return
        pid = self.pid()
        os.kill(pid, how)
        wait_for(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 30, "dockerd's end")

    def live_restore(self, on: bool):
        text = json.dumps({"live-restore": on})
        subprocess.run(["docker", "exec", "-i", self.name, "sh", "-c", "mkdir -p /etc/docker && cat >/etc/docker/daemon.json"],
                       input=text, text=True, check=True)
        os.kill(self.pid(), signal.SIGHUP)
        wait_for(lambda: self.docker("info", "-f", "{{.LiveRestoreEnabled}}") == str(on).lower(), 10, "live-restore")

    def docker(self, *args) -> str:
        return subprocess.run(["docker", "-H", self.host, *args], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def engine():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="k3d-d-", dir="/var/tmp"))
    made = Engine(folder)
    yield made
    made.bed("stop")
    shutil.rmtree(folder)


@pytest.fixture
def on_engine(make_daemon, engine):
    """A daemon on that Engine, with `batch` up; live-restore as asked."""
    made = []

    def make(live_restore: bool):
        engine.live_restore(live_restore)
        daemon = make_daemon(profiles=WIDE)
        daemon.docker_host = engine.host
        daemon.configure(profiles=WIDE)
        daemon.start()
        daemon.up("batch")
        made.append(daemon)
        return daemon

    yield make
    engine.start()  # whatever the test left
    for daemon in made:
        daemon.stop()
        daemon.clean()
        daemon.docker_host = None


def pid_of(daemon) -> int:
    return daemon.inspect()["State"]["Pid"]


def engine_process(pid: int) -> int:
    """llama-server, below docker-init."""
    return int(subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True).stdout.split()[0])


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_F23_a_restart_with_live_restore_is_not_felt(on_engine, engine, how):
    daemon = on_engine(live_restore=True)
    before, pid, running = daemon.status(), pid_of(daemon), streams(daemon, 2, 16000)
    assert "live_restore_off" not in conditions(daemon)
    engine.end(how)
    wait_for(lambda: "docker_unavailable" in conditions(daemon), 15, "the condition")
    assert daemon.chat().status == 200, "answers need no Docker"
    refused = daemon.wait_operation(daemon.activate("interactive")["id"])
    assert refused["state"] == "failed" and refused["error"]["code"] == "docker_unavailable"
    assert daemon.chat().status == 200, "what runs was not given up for what can't start"
    engine.start()
    wait_for(lambda: "docker_unavailable" not in conditions(daemon), 40, "the condition's end")
    after = settled(daemon)
    assert (after["phase"], after["engine"]["container_id"]) == ("ready", before["engine"]["container_id"])
    assert pid_of(daemon) == pid and [one.kind for one in running] == [None, None]
    daemon.up("interactive", force=True)
    assert {one.kind for one in joined(running)} == {"cut"}


@pytest.mark.parametrize("how", [signal.SIGKILL] + [signal.SIGTERM] * SOAK)
def test_F24_a_restart_without_live_restore_has_its_name(on_engine, engine, how):
    daemon = on_engine(live_restore=False)
    assert "live_restore_off" in conditions(daemon)
    engine.end(how)
    wait_for(lambda: "docker_unavailable" in conditions(daemon) or daemon.status()["last_failure"], 15, "the condition")
    engine.start()
    failure = wait_for(lambda: daemon.status()["last_failure"], 20, "the failure")
    assert failure["code"] == "docker_restart" and failure["retryable"], failure
    assert len(daemon.containers()) <= 1


def test_F22_a_hanging_docker_leaves_the_model_serving(on_engine, engine):
    daemon = on_engine(live_restore=True)
    pid, container, dockerd = pid_of(daemon), engine_of(daemon), engine.pid()
    os.kill(dockerd, signal.SIGSTOP)
    try:
        wait_for(lambda: "docker_unresponsive" in conditions(daemon), 20, "the condition")
        for _ in range(3):
            assert daemon.chat().status == 200
        assert daemon.status()["phase"] == "ready" and daemon.get("/readyz").status == 200
    finally:
        os.kill(dockerd, signal.SIGCONT)
    wait_for(lambda: "docker_unresponsive" not in conditions(daemon), 40, "the condition's end")
    assert settled(daemon)["phase"] == "ready" and (pid_of(daemon), engine_of(daemon)) == (pid, container)


def test_F25_an_end_while_docker_was_away_keeps_its_code(on_engine, engine):
    daemon = on_engine(live_restore=True)
    process = engine_process(pid_of(daemon))
    engine.end(signal.SIGKILL)
    os.kill(process, signal.SIGKILL)
    answer = wait_for(lambda: (a := daemon.chat()).status != 200 and a, 10, "an answer that fails")
    assert answer.status in (502, 503), answer.text
    engine.start()
    failure = wait_for(lambda: daemon.status()["last_failure"], 20, "the failure")
    # 255 is Docker's own word for a code that was lost together with its containerd.
    assert failure["exit_code"] in (137, 255), failure


# ---- people and their containers, on the machine's own Docker -------------------------------------------------------


def by_hand(daemon, *options) -> str:
    return daemon.docker("run", "-d", "--network", "none", *options, "--entrypoint", "sleep", IMAGE, "600")


@pytest.fixture
def foreign(daemon):
    """Containers that a person starts; gone after the test."""
    made = []

    def make(*options):
        made.append(by_hand(daemon, *options))
        return made[-1]

    yield make
    for container in made:
        subprocess.run(["docker", "rm", "-f", container], capture_output=True, check=False)


def runs(daemon, container) -> bool:
    return container in daemon.docker("ps", "-q", "--no-trunc").split()


def test_F28_a_foreign_container_with_our_name_is_left_alone(daemon, foreign):
    other = foreign("--name", f"k3d-{daemon.instance}-1")
    operation = daemon.wait_operation(daemon.activate("batch")["id"])
    assert runs(daemon, other)
    if operation["state"] == "failed":
        assert f"k3d-{daemon.instance}-1" in operation["error"]["detail"], operation
    daemon.up("batch")
    assert daemon.chat().status == 200 and runs(daemon, other)


def test_F29_a_container_of_another_instance_is_never_touched(daemon, foreign):
    other = foreign("--label", "k3d.instance=somebody-else", "--label", "k3d.profile=batch")
    daemon.up("batch")
    daemon.up("interactive")
    daemon.down()
    daemon.stop()
    daemon.start()
    daemon.up("batch")
    assert runs(daemon, other)


def test_F30_a_renamed_container_is_still_ours(daemon):
    daemon.up("batch")
    container, name = engine_of(daemon), f"k3d-renamed-{daemon.instance}"
    daemon.docker("rename", container, name)
    wait_for(lambda: daemon.status()["engine"]["container_name"] == name, 15, "its new name in the status")
    assert daemon.chat().status == 200
    daemon.up("interactive")
    assert len(daemon.containers(running=False)) == 1 and engine_of(daemon) != container


def test_F30_a_second_container_of_ours_started_by_hand_goes_and_the_engine_stays(daemon):
    daemon.up("batch")
    container = engine_of(daemon)
    by_hand(daemon, "--init", "--label", f"k3d.instance={daemon.instance}")
    wait_for(lambda: daemon.containers(running=False) == [container], 20, "the second one's removal")
    assert daemon.status()["phase"] == "ready" and daemon.chat().status == 200


def test_F31_a_paused_engine_is_not_restarted_and_can_be_stopped(daemon):
    daemon.up("batch")
    (container,) = daemon.containers()
    daemon.docker("pause", container)
    waiting = Stream(daemon, 8)
    assert daemon.status()["phase"] == "ready"
    daemon.docker("unpause", container)
    waiting.join(20)
    assert waiting.kind == "done" and engine_of(daemon) == container
    if SOAK:
        daemon.docker("pause", container)
        wait_for(lambda: "engine_unresponsive" in conditions(daemon), 120, "the condition")
        assert daemon.status()["phase"] == "ready" and engine_of(daemon) == container, "silence is not death"
        daemon.docker("unpause", container)
        wait_for(lambda: "engine_unresponsive" not in conditions(daemon), 20, "the condition's end")
    daemon.docker("pause", container)
    daemon.down(force=True)
    wait_for(lambda: daemon.containers(running=False) == [], 20, "the container's removal")
    assert daemon.status()["phase"] == "stopped"


def test_F35_an_engine_deaf_to_signals_is_killed_in_the_end(daemon):
    daemon.up("batch")
    os.kill(engine_process(pid_of(daemon)), signal.SIGSTOP)
    daemon.down()
    assert daemon.status()["phase"] == "stopped" and daemon.containers(running=False) == []


def test_F30_a_second_container_of_ours_at_the_start_goes_and_the_engine_stays(make_daemon):
    daemon = make_daemon(on_exit="leave").start()
    daemon.up("batch")
    container = engine_of(daemon)
    daemon.stop()
    second = by_hand(daemon, "--init", "--label", f"k3d.instance={daemon.instance}")
    daemon.configure(on_exit="stop")
    daemon.start()
    assert daemon.wait_phase("ready", 10)["engine"]["container_id"] == container
    wait_for(lambda: second not in daemon.containers(running=False), 20, "the second one's removal")
    assert daemon.chat().status == 200
