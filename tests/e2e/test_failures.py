"""Each failure that the real llama-server in the real Docker can be made to have, through the real k3d: its name, its
evidence, and whether another try makes sense. What needs a GPU is in tests/unit/engine, on the logs of real ones.

One daemon serves the whole file, with a profile for each way to fail."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import uuid

import pytest

from conftest import MODELS
from daemon import Daemon, wait_for
from docker_gate import Gate

STRANGER = 54321  # a user that the engine is not
NO_SHELL = "no shell"
START = r"POST /v[0-9.]+/containers/[0-9a-f]+/start"


# ---- files ----
def whole(path, source):
    os.link(source, path)


def cut(to):
    def change(path, source):
        with open(source, "rb") as good:
            path.write_bytes(good.read(int(to * os.stat(source).st_size) if to < 1 else to))
    return change


def overwritten(at, data):
    def change(path, source):
        shutil.copy(source, path)
        with open(path, "r+b") as f:
            f.seek(at)
            f.write(data)
    return change


def foreign(path, source):
    """The same file, but of an architecture that nobody knows."""
    data = pathlib.Path(source).read_bytes()
    key = data.index(b"general.architecture")
    name = data.index(b"kimi-k3", key)
    path.write_bytes(data[:name] + b"kimi-kx" + data[name + 7:])


def unreadable(path, source):
    """k3d here is root and may read it; the engine has root's uid, but no capabilities."""
    shutil.copy(source, path)
    os.chown(path, STRANGER, STRANGER)
    path.chmod(0o600)


def second_shard(path, _source):
    os.link(path.parent / "tiny-00002-of-00005.gguf", path)


def first_shard(path, _source):
    os.link(path.parent / "tiny-00001-of-00005.gguf", path)


def absent(_path, _source):
    pass


class Case:
    """`shows`: what people must be shown; `exit_code` None: k3d itself refuses, before anything starts."""

    def __init__(self, code, shows, exit_code=1, file=whole, image=None, remedy=None, retryable=False, name=None,
                 **profile):
        self.code, self.shows, self.exit_code, self.file, self.image = code, shows, exit_code, file, image
        self.remedy, self.retryable, self.name, self.profile = remedy, retryable, name, profile


CASES = {
    "missing": Case("model_missing", "missing.gguf is not there", None, file=absent),
    "unreadable": Case("model_missing", "Permission denied", file=unreadable),
    "head-cut": Case("model_truncated", "failed to read key-value pairs", file=cut(1000)),
    "data-cut": Case("model_truncated", "data is not within the file bounds", file=cut(0.9)),
    "page": Case("model_corrupt", "is no GGUF file", None, file=overwritten(0, b"<html>404")),
    "metadata": Case("model_corrupt", "number of tensors is -1", file=overwritten(8, b"\xff" * 64)),
    "architecture": Case("unknown_architecture", "unknown model architecture: 'kimi-kx'", file=foreign),
    "no-third-shard": Case("shard_missing", "short-00003-of-00005.gguf is not there", None, file=absent,
                           name="short-00001-of-00005.gguf"),
    "second-shard": Case("not_first_shard", "illegal split file idx: 1", file=second_shard),
    "renamed-shard": Case("not_first_shard", "invalid split file name", file=first_shard),
    "bad-argument": Case("bad_argument", 'error while handling argument "--rope-scaling"',
                         extra_args=["--rope-scaling", "foo"]),
    "flag-of-none": Case("unknown_flag", "--no-such-flag", None, extra_args=["--no-such-flag"]),
    "flag-with-value": Case("unknown_flag", "error: invalid argument: --metrics=5", extra_args=["--metrics=5"]),
    "cache-type": Case("cache_type_unsupported", "requires flash_attn", remedy={"cache_type": "f16"},
                       cache_type="q8_0", extra_args=["--flash-attn", "off"]),
    "assertion": Case("crash", "GGML_ASSERT(n_expert_used_max > 0) failed", 134, retryable=True,
                      extra_args=["--override-kv", "kimi-k3.expert_used_count=int:0"]),
    "mmproj": Case("mmproj_mismatch", "Failed to load CLIP model from /models/projector.gguf",
                   image="ENV LLAMA_ARG_MMPROJ=/models/projector.gguf"),
    "no-program": Case("image_error", "127", None, image='ENTRYPOINT ["/nonexistent"]'),
    "no-shell": Case("model_truncated", "data is not within the file bounds", file=cut(0.9), image=NO_SHELL),
}


# ---- images ----
PROGRAM = 'ENTRYPOINT ["/usr/bin/llama-server"]'
SHELLS = ["/usr/bin/sh", "/usr/bin/dash", "/usr/bin/bash"]


def make_image(change) -> str:
    """The demo engine's image with one change."""
    tag = f"k3d-test-{uuid.uuid4().hex[:8]}:1"
    container = docker("create", "--network", "none", "--entrypoint", "rm", "k3d-engine-debian:latest", *SHELLS)
    try:
        if change == NO_SHELL:
            docker("start", "-a", container)
        docker("commit", "-c", PROGRAM, *([] if change == NO_SHELL else ["-c", change]), container, tag)
    finally:
        docker("rm", "-f", container)
    return tag


def docker(*args) -> str:
    return subprocess.run(["docker", *args], capture_output=True, text=True, check=True).stdout.strip()


# ---- the daemon ----
class Lab:
    """A daemon with a profile for each case, and `good`, whose engine lives until it is ended."""

    def __init__(self, folder, gate):
        self.models, self.images = folder / "models", []
        self.good = self.models / "good.gguf"
        self.daemon = Daemon(folder, str(self.good))
        self.daemon.docker_host = gate.host

    def prepare(self, tiny, split):
        models = self.models
        models.mkdir()
        self.share_shards(models, split)
        whole(self.good, tiny)
        whole(models / "projector.gguf", tiny)
        profiles, files = {}, {"good": {"path": str(self.good)}}
        for name, case in CASES.items():
            file = models / (case.name or f"{name}.gguf")
            case.file(file, tiny)
            files[name] = {"path": str(file)}
            profiles[name] = {"extends": "batch", "model": name, **case.profile}
            if case.image:
                self.images.append(make_image(case.image))
                profiles[name]["image"] = self.images[-1]
        profiles["good"] = {"extends": "batch", "model": "good"}
        self.daemon.configure(models=files, profiles=profiles)

    @staticmethod
    def share_shards(models, split):
        for shard in pathlib.Path(split).parent.glob("*.gguf"):
            os.link(shard, models / shard.name)
            if "00003-of" not in shard.name:
                os.link(shard, models / shard.name.replace("tiny-", "short-"))

    def close(self):
        self.daemon.stop()
        self.daemon.clean()
        for image in self.images:
            docker("rmi", image)

    def engine_pid(self) -> int:
        """llama-server itself, below the container's init."""
        init = self.daemon.inspect()["State"]["Pid"]
        return int(subprocess.run(["pgrep", "-P", str(init)], capture_output=True, text=True, check=True).stdout.split()[0])


@pytest.fixture(scope="module")
def gate():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="k3d-", dir="/var/tmp"))
    gate = Gate(folder / "docker.sock")
    yield gate
    gate.close()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def lab(tiny, split, gate):
    # Beside the models, since hard links need their file system.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="k3d-", dir=MODELS.parent))
    folder.chmod(0o755)
    lab = Lab(folder, gate)
    try:
        lab.prepare(tiny, split)
        lab.daemon.start()
        yield lab
    finally:
        lab.close()
        shutil.rmtree(folder, ignore_errors=True)


# ---- what holds of every failure ----
def check(status, code, retryable, exit_code, shows=None) -> dict:
    failure = status["last_failure"]
    assert failure["code"] == code, failure
    assert failure["exit_code"] == exit_code, failure
    assert failure["retryable"] == retryable, failure
    assert failure["title"] and failure["advice"] and failure["detail"] and failure["at"], failure
    assert status["phase"] in (("backoff", "failed") if retryable else ("failed",)), status
    if shows:
        assert shows in failure["detail"], json.dumps(failure)
    if shows and exit_code is not None:
        assert any(shows in line for line in failure["log_excerpt"]), failure
    return failure


def failed_start(daemon, profile, retryable=False) -> tuple:
    """The operation and the status after an activation that failed; with another try ahead, it is still running."""
    operation = daemon.activate(profile)
    if not retryable:
        operation = daemon.wait_operation(operation["id"])
        assert operation["state"] == "failed", operation
    status = wait_for(lambda: over(daemon), 20, "the failure")
    assert daemon.get("/livez").status == 200
    return operation, status


def over(daemon):
    """The status, once nothing goes on in it but perhaps waiting for another try."""
    status = daemon.status()
    return status if status["phase"] in ("backoff", "failed") else None


@pytest.mark.parametrize("name", CASES)
def test_a_start_that_fails_says_why(lab, name):
    case = CASES[name]
    operation, status = failed_start(lab.daemon, name, case.retryable)
    failure = check(status, case.code, case.retryable, case.exit_code, case.shows)
    assert failure["profile"] == name and failure["operation_id"] == operation["id"]
    assert (failure["remedy"] or {"set": None})["set"] == case.remedy, failure
    assert failure["attempt"] > 0 or case.exit_code is None
    if not case.retryable:
        error = operation["error"]
        assert error["code"] == case.code and error["detail"] == failure["detail"] and error["advice"], operation
        answer = lab.daemon.chat(model=name)
        assert answer.status == 503 and answer.json()["error"]["code"] == "engine_failed", answer.text
    lab.daemon.down()
    wait_for(lambda: lab.daemon.containers(running=False) == [], 10, "the failed container's removal")


def test_F34_a_model_that_goes_between_plan_and_start(lab, gate, tiny):
    gate.hold(START)
    operation = lab.daemon.activate("good")
    try:
        assert gate.held.wait(20)
        lab.good.unlink()
    finally:
        gate.open()
        operation = lab.daemon.wait_operation(operation["id"])
        whole(lab.good, tiny)
    assert operation["state"] == "failed" and operation["error"]["code"] == "model_missing", operation
    check(lab.daemon.status(), "model_missing", False, 1, "good.gguf' (No such file or directory)")


# ---- engines that served ----
def ended(lab, end) -> dict:
    """The status after an engine that served was ended by `end`."""
    lab.daemon.up("good")
    end()
    status = wait_for(lambda: over(lab.daemon), 15, "the engine's end")
    lab.daemon.down()
    assert lab.daemon.status()["phase"] == "stopped", "nothing is tried again"
    return status


@pytest.mark.parametrize("sent, code, exit_code, words", [
    (signal.SIGSEGV, "crash", 139, "segmentation fault"),
    (signal.SIGABRT, "crash", 134, "abort"),
    (signal.SIGBUS, "crash", 135, "bus error"),
    (signal.SIGKILL, "killed", 137, "SIGKILL"),
    (signal.SIGTERM, "killed", 0, "exit code 0"),
])
def test_F33_a_signal_from_outside(lab, sent, code, exit_code, words):
    failure = check(ended(lab, lambda: os.kill(lab.engine_pid(), sent)), code, True, exit_code)
    assert words in failure["detail"] and failure["log_excerpt"], failure
    assert failure["profile"] == "good" and failure["attempt"] > 0


@pytest.mark.parametrize("command, codes", [
    (["kill"], {"killed": 137}),
    (["stop"], {"killed": 0}),
    # The container is killed first: which of the two k3d sees first is a race.
    (["rm", "-f"], {"removed_externally": None, "killed": 137}),
])
def test_F30_someone_else_uses_docker(lab, command, codes):
    status = ended(lab, lambda: docker(*command, *lab.daemon.containers()))
    code = status["last_failure"]["code"]
    assert code in codes, status["last_failure"]
    failure = check(status, code, code == "killed", codes[code])
    assert "Docker" in failure["advice"] or "docker" in failure["advice"]


def test_F32_out_of_memory_by_the_kernel(lab, gate):
    def limited():
        """Whatever is about to start gets little memory. More than one: where Docker refuses an unlimited memlock, k3d
        makes another container without it."""
        if gate.held.is_set():
            docker("update", "--memory", "16m", "--memory-swap", "16m", *lab.daemon.containers(running=False))
            gate.open()
            gate.hold(START)
        return over(lab.daemon)

    gate.hold(START)
    lab.daemon.activate("good")
    try:
        status = wait_for(limited, 20, "the failure")
    finally:
        gate.open()
    lab.daemon.down()
    # Docker tells of it only if its own news of the kill outruns that of the end, which on a busy host it does not.
    code = status["last_failure"]["code"]
    assert code in ("oom", "killed"), status["last_failure"]
    failure = check(status, code, code == "killed", 137)
    assert "SIGKILL" in failure["detail"] and "cache_ram" in failure["advice"], failure
    assert code == "killed" or failure["remedy"]["set"] == {"cache_ram": 0}, failure
