"""The doctor on this host, with GPUs that aren't there, with services that are in the way, and as another user."""
import json
import os
import pathlib
import shutil
import socket
import subprocess

import pytest

from daemon import K3CTL, K3D, ROOT, wait_for
from fake_gpus import FakeGpus

GIB = 1 << 30
CARD = 97887 << 20  # RTX PRO 6000 Blackwell


def cards(count=8, **facts):
    told = {"compute": "12.0", "mig": "0", "ecc": "1", "uncorrected": "0", **facts}
    lines = [f"card 00000000:{i + 1:02x}:00.0 GPU-{i} {CARD} 0 0 NVIDIA RTX PRO 6000 Blackwell Server Edition"
             for i in range(count)]
    return lines + [f"fact {i} {name} {value}" for i in range(count) for name, value in told.items()]


@pytest.fixture
def gpus(folder):
    fake = FakeGpus(folder)
    (folder / "gpus").mkdir()
    fake.environment["K3D_PROC_DRIVER_NVIDIA"] = str(folder / "gpus")
    (folder / "version").write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build\n")
    return fake


def host(daemon, query="") -> dict:
    answer = daemon.get("/api/v1/host" + query, timeout=90)
    assert answer.status == 200, answer.text
    return answer.json()


def checks(report) -> dict:
    return {check["code"]: check for check in report["checks"]}


def result(report, code) -> str:
    return checks(report)[code]["result"]


def test_this_host(daemon):
    report = host(daemon)
    assert report["cpu"]["threads"] == os.cpu_count()
    assert report["memory"]["total_bytes"] > report["memory"]["available_bytes"] > 0
    assert report["docker"]["version"] == daemon.docker("version", "--format", "{{.Server.Version}}")
    assert report["docker"]["live_restore"] == (daemon.docker("info", "--format", "{{.LiveRestoreEnabled}}") == "true")
    state = next(disk for disk in report["disks"] if disk["path"] == str(daemon.state))
    assert state["total_bytes"] == shutil.disk_usage(daemon.state).total
    live = checks(report)["docker_live_restore"]
    assert live["result"] == ("pass" if report["docker"]["live_restore"] else "warn")
    if live["result"] == "warn":
        assert '{"live-restore": true} in /etc/docker/daemon.json' in live["fix"]
    for check in report["checks"]:
        assert check["measured"] and check["why"], check
        assert check["fix"] or check["result"] in ("pass", "skip"), check


def test_k3ctl_doctor_prints_a_page_and_raw_json(daemon):
    page = daemon.ctl("doctor")
    report = host(daemon)
    failed = any(check["result"] == "fail" for check in report["checks"])
    assert page.returncode == (1 if failed else 0), page.stderr
    assert "docker_engine" in page.stdout and "\x1b" not in page.stdout
    raw = daemon.ctl("--json", "doctor")
    assert raw.returncode == page.returncode
    assert [c["code"] for c in json.loads(raw.stdout)["checks"]] == [c["code"] for c in report["checks"]]


def test_k3ctl_doctor_without_a_daemon_says_what_to_do(folder):
    gone = subprocess.run([str(K3CTL), "--url", f"unix:{folder}/none.sock", "doctor"], capture_output=True, text=True)
    assert gone.returncode == 3 and "start" in gone.stderr


def test_a_host_without_a_driver_says_what_that_rules_out(make_daemon, folder):
    daemon = make_daemon()
    daemon.start(env={"K3D_FAKE_NVML": "", "LD_LIBRARY_PATH": str(folder)})
    assert result(host(daemon), "gpu_driver") == "warn", "no profile asks for a GPU"
    daemon.stop()
    daemon.configure(profiles={"batch": {"gpus": "all"}})
    daemon.start(env={"K3D_FAKE_NVML": "", "LD_LIBRARY_PATH": str(folder)})
    report = host(daemon)
    assert report["gpus"] == [] and report["driver"] is None
    driver = checks(report)["gpu_driver"]
    assert driver["result"] == "fail" and "every profile with gpus" in driver["why"]
    assert daemon.ctl("doctor").returncode == 1


def test_eight_cards_are_all_told(make_daemon, gpus):
    gpus.show("driver 575.57.08", *cards())
    daemon = make_daemon().start(env=gpus.environment)
    report = host(daemon)
    assert [gpu["index"] for gpu in report["gpus"]] == list(range(8))
    first = report["gpus"][0]
    assert first["uuid"] == "GPU-0" and first["memory_total_bytes"] == CARD and first["compute_capability"] == "12.0"
    assert (first["mig"], first["ecc"], first["uncorrected_errors"], first["xids"]) == (False, True, 0, [])
    assert report["driver"] == {"version": "575.57.08", "open_module": True}
    for code in ("gpu_driver", "gpu_driver_version", "gpu_open_module", "gpu_cards", "gpu_memory", "gpu_mig", "gpu_ecc", "gpu_xid"):
        assert result(report, code) == "pass", checks(report)[code]
    assert "8 x NVIDIA RTX PRO 6000" in checks(report)["gpu_cards"]["measured"]


def test_a_tenant_with_40_gb_is_named(make_daemon, gpus):
    gpus.show("driver 575.57.08", *cards(), f"process 5 {os.getpid()} {40 * 10**9}")
    daemon = make_daemon().start(env=gpus.environment)
    report = host(daemon)
    (tenant,) = report["gpus"][5]["processes"]
    assert tenant["pid"] == os.getpid() and tenant["memory_bytes"] == 40 * 10**9 and not tenant["ours"]
    memory = checks(report)["gpu_memory"]
    assert memory["result"] == "warn" and f"pid {os.getpid()}, 40.0 GB" in memory["measured"]
    assert "GPU 5" in memory["measured"]


def test_a_lost_card_hides_no_other(make_daemon, gpus):
    gpus.show("driver 575.57.08", *cards(), "lost 2", "xid 2 79")
    daemon = make_daemon().start(env=gpus.environment)
    report = host(daemon)
    assert len(report["gpus"]) == 8 and report["gpus"][2]["trouble"] == "GPU is lost"
    assert report["gpus"][3]["uuid"] == "GPU-3"
    lost = checks(report)["gpu_cards"]
    assert lost["result"] == "fail" and "GPU 2: GPU is lost" in lost["measured"] and "7 x NVIDIA" in lost["measured"]
    assert "dmesg | grep Xid" in lost["fix"]


def test_xids_ecc_errors_and_mig_are_told(make_daemon, gpus):
    gpus.show("driver 575.57.08", *cards(), "fact 1 uncorrected 4", "fact 6 mig 1")
    daemon = make_daemon().start(env=gpus.environment)
    report = host(daemon)
    assert checks(report)["gpu_ecc"]["measured"] == "GPU 1: 4 uncorrected errors"
    assert result(report, "gpu_ecc") == result(report, "gpu_mig") == "fail"
    gpus.show("driver 575.57.08", *cards(), "xid 4 48")
    wait_for(lambda: result(host(daemon), "gpu_xid") == "fail", 15, "the Xid in a fresh report")
    assert checks(host(daemon))["gpu_xid"]["measured"] == "GPU 4: Xid 48"


@pytest.fixture
def newer_docker(folder):
    """The socket of an Engine that lists its CDI devices: two cards, by index and by UUID."""
    bed = ROOT / "tests" / "testbed"
    spec, run = folder / "cdi", folder / "run"
    spec.mkdir()
    run.mkdir()
    subprocess.run([str(bed / "cdi" / "write_cdi_spec.sh"), str(spec), "--gpus", "2", "--names", "both"], check=True)
    started = subprocess.run([str(bed / "docker28.sh"), "start", str(run), "--cdi", str(spec)], check=True,
                             capture_output=True, text=True)
    yield "unix://" + started.stdout.strip().splitlines()[-1]
    subprocess.run([str(bed / "docker28.sh"), "stop", str(run)], check=True)


def test_cdi_names_are_held_against_the_cards(newer_docker, make_daemon, gpus):
    gpus.show("driver 575.57.08", *(line.replace("GPU-", "GPU-00000000-0000-4000-8000-00000000000") for line in cards(2)))
    daemon = make_daemon()
    daemon.docker_host = newer_docker
    daemon.configure()
    daemon.start(env=gpus.environment)
    check = checks(host(daemon))["gpu_cdi"]
    assert check["result"] == "pass" and check["measured"] == "2 cards under 4 names", check
    gpus.show("driver 575.57.08", *cards(3))

    def told():
        check = checks(host(daemon))["gpu_cdi"]
        return check if check["result"] == "fail" else None
    check = wait_for(told, 15, "the difference in a fresh report")
    assert "GPU 2 has no name" in check["measured"] and "no such card: GPU-00000000" in check["measured"]
    assert "nvidia-ctk cdi generate" in check["fix"]


def test_a_driver_that_is_too_old_fails_with_what_to_install(make_daemon, gpus, folder):
    (folder / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 2024\n")
    gpus.show("driver 550.54.14", *cards())
    daemon = make_daemon().start(env=gpus.environment)
    report = host(daemon)
    old = checks(report)["gpu_driver_version"]
    assert old["result"] == "fail" and old["measured"] == "550.54.14" and "570" in old["fix"]
    assert result(report, "gpu_open_module") == "fail"
    page = daemon.ctl("doctor")
    assert page.returncode == 1 and "FAIL  gpu_driver_version" in page.stdout


def test_a_driver_call_that_hangs_holds_up_nothing(make_daemon, gpus):
    gpus.show("driver 575.57.08", *cards(), "hang nvmlDeviceGetEccMode")
    daemon = make_daemon().start(env=gpus.environment)
    with socket.socket(socket.AF_UNIX) as asked:
        asked.settimeout(30)
        asked.connect(str(daemon.control))
        asked.sendall(b"GET /api/v1/host HTTP/1.1\r\nHost: x\r\n\r\n")
        assert daemon.get("/livez", timeout=2).status == 200, "the daemon answers meanwhile"
        assert asked.recv(12) == b"HTTP/1.1 200"
    report = host(daemon)
    hung = checks(report)["gpu_driver"]
    assert hung["result"] == "fail" and "took longer" in hung["measured"] and "reboot" in hung["fix"]
    assert result(report, "gpu_ecc") == "skip"
    assert report["cpu"] and report["docker"], "everything else is told"


def test_without_docker_it_says_what_that_rules_out(make_daemon, folder):
    daemon = make_daemon()
    daemon.configure(docker={"host": f"unix://{folder}/none.sock"})
    daemon.start()
    report = host(daemon)
    docker = checks(report)["docker_engine"]
    assert report["docker"] is None and docker["result"] == "fail" and "nothing can be started" in docker["why"]
    assert docker["fix"]
    assert daemon.ctl("doctor").returncode == 1


def test_our_engine_is_not_foreign_and_another_one_is(daemon, tiny):
    daemon.up("batch")
    assert result(host(daemon), "service_engines") == "pass", checks(host(daemon))["service_engines"]
    model = pathlib.Path(tiny)
    other = daemon.docker("run", "-d", "--rm", "--network", "none", "-v", f"{model.parent}:/m:ro", "k3d-engine-debian:latest",
                          "-m", f"/m/{model.name}", "-c", "256")
    try:
        def told():
            check = checks(host(daemon))["service_engines"]
            return check if check["result"] == "warn" else None
        check = wait_for(told, 20, "the foreign llama-server in a report")
        assert other[:12] in check["measured"] and "docker ps" in check["fix"]
    finally:
        daemon.docker("rm", "-f", other)
    daemon.down()


def test_the_probe_measures_the_disk_of_the_weights(make_daemon, folder):
    weights = folder / "weights"
    weights.mkdir()
    with open(weights / "model.gguf", "wb") as file:
        for _ in range(300):
            file.write(os.urandom(1 << 20))
    daemon = make_daemon(str(weights / "model.gguf")).start()
    check = checks(host(daemon))["disk_read_speed"]
    assert check["result"] == "skip" and "--probe" in check["fix"]
    probed = host(daemon, "?probe=disk")
    disk = next(d for d in probed["disks"] if d["path"] == str(weights))
    assert disk["read_bytes_per_second"] > 1e6
    assert checks(probed)["disk_read_speed"]["result"] in ("pass", "warn")
    assert "over 314.6 MB" in checks(probed)["disk_read_speed"]["measured"]
    assert "/s over 314.6 MB" in daemon.ctl("doctor", "--probe", timeout=120).stdout


def test_a_wrong_probe_is_refused(daemon):
    answer = daemon.get("/api/v1/host?probe=gpu")
    assert answer.status == 400 and "probe" in answer.json()["detail"]


def test_as_another_user_what_is_closed_is_not_passed(make_daemon, folder, monkeypatch):
    """Without root, without the docker group: unknown facts are skipped or failed with the reason."""
    import daemon as module
    for tool in (K3D, K3CTL):
        shutil.copy(tool, folder / tool.name)
        (folder / tool.name).chmod(0o755)
    monkeypatch.setattr(module, "K3D", folder / "k3d")
    closed = folder / "closed"
    closed.mkdir()
    shutil.copy(pathlib.Path("/etc/hostname"), closed / "model.gguf")
    daemon = make_daemon(str(closed / "model.gguf"))
    daemon.configure(docker={"host": "unix:///var/run/docker.sock"})
    closed.chmod(0o700)
    shutil.chown(daemon.folder, "nobody", "nogroup")
    shutil.chown(daemon.config, "nobody", "nogroup")
    daemon.start(prefix=["runuser", "-u", "nobody", "-g", "nogroup", "--"])
    report = host(daemon)
    assert checks(report)["docker_engine"]["result"] == "fail", "its socket is closed to nobody"
    assert checks(report)["docker_engine"]["fix"]
    for code in ("docker_live_restore",):
        assert result(report, code) == "skip"
    assert result(report, "disk_access") == "fail"
    assert f"{closed} can't be read by k3d" in checks(report)["disk_access"]["measured"]
    assert result(host(daemon, "?probe=disk"), "disk_read_speed") == "skip"
    assert result(report, "cpu_cores") == result(report, "memory_available") == "pass", "these are open to everyone"
    for one in subprocess.run(["pgrep", "-u", "nobody", "-x", "k3d"], capture_output=True, text=True).stdout.split():
        os.kill(int(one), 15)
    daemon.process.wait(30)
