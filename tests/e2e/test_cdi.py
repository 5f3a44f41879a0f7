"""GPUs by CDI, on a real newer Docker Engine with a specification of GPUs that aren't there."""
import os
import pathlib
import subprocess

import pytest

from daemon import ROOT, wait_for
from fake_gpus import CARD, GIB, FakeGpus, card

BED = ROOT / "tests" / "testbed"


@pytest.fixture(scope="module", params=["both", "index"])
def engine(request, tmp_path_factory):
    """(names, socket): an Engine whose CDI specification names devices so."""
    place = pathlib.Path(subprocess.run(["mktemp", "-d", "/var/tmp/k3d-cdi-XXXXXX"], check=True, capture_output=True,
                                        text=True).stdout.strip())
    spec = place / "cdi"
    run = place / "run"
    spec.mkdir()
    run.mkdir()
    subprocess.run([str(BED / "cdi" / "write_cdi_spec.sh"), str(spec), "--gpus", "2", "--names", request.param], check=True)
    started = subprocess.run([str(BED / "docker28.sh"), "start", str(run), "--cdi", str(spec), "--mount", "/var/tmp",
                              "--image", "k3d-engine-debian:latest"], check=True, capture_output=True, text=True)
    yield request.param, "unix://" + started.stdout.strip().splitlines()[-1]
    subprocess.run([str(BED / "docker28.sh"), "stop", str(run)], check=True)
    subprocess.run(["rm", "-rf", str(place)], check=True)


def environment(daemon) -> dict:
    return dict(entry.split("=", 1) for entry in daemon.inspect()["Config"]["Env"])


def devices(daemon) -> list:
    return daemon.inspect()["HostConfig"]["DeviceRequests"][0]["DeviceIDs"]


def gpu_daemon(make_daemon, folder, engine, gpus, env=None):
    proc = folder / "gpus"
    subprocess.run([str(BED / "cdi" / "write_nvidia_proc.sh"), str(proc), "--gpus", "2"], check=True)
    daemon = make_daemon()
    daemon.docker_host = engine[1]
    # The demo engine has no GPU code: it is asked to keep everything on the CPU, the container still gets the devices.
    daemon.configure(profiles={"batch": {"gpus": gpus, "placement": {"mode": "n_cpu_moe", "layers": 1}}})
    return daemon.start(env={"K3D_PROC_DRIVER_NVIDIA": str(proc), **(env or {})})


UUID = "GPU-00000000-0000-4000-8000-00000000000"


def test_gpus_come_by_uuid_or_by_index(make_daemon, folder, engine):
    daemon = gpu_daemon(make_daemon, folder, engine, [1])
    daemon.up("batch")
    assert devices(daemon) == ["nvidia.com/gpu=" + (UUID + "1" if engine[0] == "both" else "1")]
    (container,) = daemon.containers()
    seen = daemon.docker("exec", container, "/bin/sh", "-c", "tr '\\0' '\\n' </proc/1/environ")
    assert f"FAKE_GPU_1={UUID}1" in seen and "FAKE_GPU_0" not in seen
    assert environment(daemon)["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert environment(daemon)["CUDA_CACHE_PATH"] == "/tmp"
    assert daemon.chat().status == 200
    daemon.down()


def test_a_gpu_that_docker_does_not_know_is_refused_with_what_it_knows(make_daemon, folder, engine):
    daemon = gpu_daemon(make_daemon, folder, engine, [7])
    operation = daemon.wait_operation(daemon.activate("batch")["id"])
    assert operation["state"] == "failed" and "7" in operation["error"]["detail"]
    assert "nvidia.com/gpu=0" in operation["error"]["advice"]
    assert daemon.containers(running=False) == []


def test_F36_the_next_engine_waits_until_the_memory_is_released(make_daemon, folder, engine):
    gpus = FakeGpus(folder)
    second = card(0, CARD[:-1] + "1", 2)
    gpus.show(card(0), second)
    daemon = gpu_daemon(make_daemon, folder, engine, "all", gpus.environment)
    daemon.up("batch")
    gpus.show(card(100 * GIB), second)  # the driver is slow to take back what the engine had
    operation = daemon.activate("interactive")
    look = lambda: daemon.get(f"/api/v1/operations/{operation['id']}").json()
    wait_for(lambda: look()["progress"]["step"] == "free_vram", 30, "the wait for memory")
    assert daemon.containers() == []
    gpus.show(card(0), second, f"process 1 {os.getpid()} {40 * GIB}")
    assert daemon.wait_operation(operation["id"])["state"] == "succeeded"
    # Someone else on our GPUs takes nothing away from k3d, but is shown.
    codes = lambda: [c["code"] for c in daemon.status()["conditions"]]
    wait_for(lambda: "foreign_gpu_processes" in codes(), 20, "the condition foreign_gpu_processes")
    daemon.down()
