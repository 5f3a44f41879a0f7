"""What k3d does by itself: stopping an idle engine, starting one after the host has booted, watching GPUs."""
import contextlib
import json
import os
import sqlite3
import time

import pytest

from daemon import wait_for
from fake_gpus import CARD, GIB, FakeGpus, card


def kept(daemon, key, value):
    """Changes what the state remembers, as if another life of k3d had written it."""
    with contextlib.closing(sqlite3.connect(daemon.state / "k3d.db")) as db, db:
        db.execute("INSERT INTO kept VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = ?2", (key, value))


def test_an_idle_engine_gives_the_gpus_back_and_a_request_brings_it_again(make_daemon):
    daemon = make_daemon(profiles={"batch": {"idle_stop_seconds": 2, "on_request": "switch", "while_loading": "hold"}}).start()
    daemon.up("batch")
    began = time.monotonic()
    while time.monotonic() - began < 4:  # each answer starts the time anew
        assert daemon.chat().status == 200
    assert daemon.status()["phase"] == "ready"
    status = daemon.wait_phase("stopped", 20)
    assert status["target_profile"] is None and status["last_failure"] is None
    assert daemon.containers() == []
    newest = daemon.get("/api/v1/audit?limit=1").json()["items"][0]
    assert (newest["who"], newest["action"], newest["subject"]) == ("k3d", "deactivate", "batch")
    assert daemon.chat().status == 200  # held until it is loaded again
    assert daemon.status()["active_profile"] == "batch"


@pytest.mark.parametrize("boot", ["none", "last", "interactive"])
def test_after_a_boot_of_the_host_the_setting_decides(make_daemon, boot):
    daemon = make_daemon(boot=boot, on_exit="leave").start()
    daemon.up("batch")
    daemon.stop()
    # What a boot leaves: the container, ended, and a state that was written under another boot id.
    (container,) = daemon.containers()
    daemon.docker("kill", container)
    kept(daemon, "boot_id", "0b0e7e4e-0000-4000-8000-000000000000")
    daemon.start()
    if boot == "none":
        failure = wait_for(lambda: daemon.status()["last_failure"], 10, "the reason why nothing runs")
        assert failure["code"] == "host_rebooted" and failure["profile"] == "batch"
        assert daemon.status()["phase"] == "stopped" and daemon.containers() == []
    else:
        status = daemon.wait_phase("ready", 30)
        assert status["active_profile"] == ("batch" if boot == "last" else boot)
        assert len(daemon.containers()) == 1
    daemon.stop()
    daemon.start()  # not a boot: what was stopped on purpose stays so, what runs is adopted
    if boot == "none":
        assert daemon.status()["phase"] == "stopped"
    else:
        daemon.wait_phase("ready", 30)
        daemon.down()


@pytest.fixture
def gpus(folder):
    return FakeGpus(folder)


def test_the_status_shows_the_cards_and_who_uses_them(make_daemon, gpus):
    gpus.show(card(41 * GIB), f"process 0 {os.getpid()} {40 * GIB}")
    daemon = make_daemon().start(env=gpus.environment)
    shown = wait_for(lambda: daemon.status()["gpus"], 15, "GPUs in the status")[0]
    assert (shown["index"], shown["uuid"], shown["name"]) == (0, CARD, "NVIDIA H200")
    assert shown["memory_used_bytes"] == 41 * GIB and shown["utilization_percent"] == 35
    (process,) = shown["processes"]
    assert process["pid"] == os.getpid() and process["memory_bytes"] == 40 * GIB and not process["ours"]
    gpus.show(card(41 * GIB), "hang nvmlDeviceGetMemoryInfo")
    conditions = lambda: [c["code"] for c in daemon.status()["conditions"]]
    wait_for(lambda: "gpus_unreadable" in conditions(), 30, "the condition gpus_unreadable")
    assert daemon.status()["gpus"] == []
    gpus.show(card(0))
    wait_for(lambda: "gpus_unreadable" not in conditions(), 30, "the end of the condition")
    assert json.loads(daemon.ctl("status", "--json").stdout)["gpus"][0]["memory_used_bytes"] == 0
