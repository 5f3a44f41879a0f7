"""State that is lost, damaged, full or not writable, and clocks that jump: no running engine is given up for it."""
import os
import pathlib
import re
import signal
import sqlite3
import subprocess

import pytest

from daemon import Stream, wait_for
from oracles import conditions, engine_of, settled, streams

FAKETIME = pathlib.Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


def pid_of(daemon) -> int:
    return daemon.inspect()["State"]["Pid"]


def serves_as_before(daemon, pid):
    """The engine of before, adopted, answering; then all that an operator does still works."""
    status = daemon.wait_phase("ready", 10)
    assert status["engine"]["adopted"] and pid_of(daemon) == pid and daemon.chat().status == 200
    attempt = status["engine"]["attempt"]
    daemon.up("interactive")
    assert daemon.status()["engine"]["attempt"] > attempt, "numbers of attempts never come twice"
    assert daemon.get("/api/v1/operations").json()["items"][0]["state"] == "succeeded"


# ---- the database ---------------------------------------------------------------------------------------------------


def truncated(path):
    os.truncate(path, path.stat().st_size // 2)


def spoiled(path, begin, end):
    with open(path, "r+b") as file:
        file.seek(begin)
        file.write(os.urandom(end - begin))


def garbage_with_a_log_of_its_own(path):
    path.write_bytes(os.urandom(100_000))
    path.with_name("k3d.db-wal").write_bytes(os.urandom(40_000))


DAMAGE = {
    "missing": pathlib.Path.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "truncated": truncated,
    "header": lambda path: spoiled(path, 0, 4096),
    "pages": lambda path: spoiled(path, 4096, path.stat().st_size),
    "garbage": garbage_with_a_log_of_its_own,
    "text": lambda path: path.write_text("[" * 100_000),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_F86_a_damaged_database_costs_history_not_the_engine(make_daemon, damage):
    daemon = make_daemon().start()
    daemon.up("batch")
    pid, database = pid_of(daemon), daemon.state / "k3d.db"
    daemon.kill()
    with sqlite3.connect(database) as db:  # what is still in the WAL goes into the file
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    DAMAGE[damage](database)
    daemon.start()
    serves_as_before(daemon, pid)
    assert "state_not_persisted" not in conditions(daemon)
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        assert db.execute("SELECT count(*) FROM operations").fetchone()[0] >= 1, "it is written again"
    db.close()
    kept = list(daemon.state.glob("k3d.db.corrupt-*"))
    if damage not in ("missing", "empty"):
        assert len(kept) == 1 and kept[0].name in daemon.log.read_text(), "what was there is kept, and it is said"


def test_F86_a_newer_database_is_left_as_it_is(make_daemon):
    daemon = make_daemon().start()
    daemon.up("batch")
    pid, database = pid_of(daemon), daemon.state / "k3d.db"
    daemon.kill()
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA user_version=1000")
    db.close()
    before = database.read_bytes()
    daemon.start()
    condition = wait_for(lambda: [c for c in daemon.status()["conditions"] if c["code"] == "state_not_persisted"], 5,
                         "the condition")[0]
    assert "newer" in condition["detail"] and condition["advice"]
    serves_as_before(daemon, pid)
    daemon.stop()
    assert database.read_bytes() == before


# ---- file systems ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(folder):
    """8 MB for the state of one daemon."""
    place = folder / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=0755", "k3d-test", str(place)], check=True)
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def on_disk(make_daemon, disk):
    daemon = make_daemon()
    daemon.state = disk / "state"
    daemon.configure()
    return daemon.start()


def fill(disk) -> pathlib.Path:
    filler = disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    return filler


def test_F87_a_state_that_is_read_only(make_daemon, small_disk):
    daemon = on_disk(make_daemon, small_disk)
    daemon.up("batch")
    pid = pid_of(daemon)
    daemon.kill()
    subprocess.run(["mount", "-o", "remount,bind,ro", str(small_disk)], check=True)
    try:
        daemon.start()
        condition = wait_for(lambda: [c for c in daemon.status()["conditions"] if c["code"] == "state_not_persisted"], 5,
                             "the condition")[0]
        assert condition["severity"] == "error" and condition["advice"]
        assert daemon.wait_phase("ready", 10)["engine"]["adopted"] and daemon.chat().status == 200
        refused = daemon.wait_operation(daemon.activate("interactive")["id"])
        assert refused["state"] == "failed" and refused["error"]["detail"]
        assert daemon.get("/livez").status == 200
        daemon.kill()
    finally:
        subprocess.run(["mount", "-o", "remount,bind,rw", str(small_disk)], check=True)
    daemon.start()
    settled(daemon)
    daemon.up("batch")
    assert "state_not_persisted" not in conditions(daemon) and daemon.chat().status == 200
    assert pid > 0


def test_F87_a_full_disk_is_said_and_stops_nothing(make_daemon, small_disk):
    daemon = on_disk(make_daemon, small_disk)
    daemon.up("batch")
    pid, filler = pid_of(daemon), fill(small_disk)
    for _ in range(3):
        assert daemon.chat().status == 200
    operation = daemon.wait_operation(daemon.activate("interactive")["id"])
    wait_for(lambda: "disk_full" in conditions(daemon), 10, "the condition")
    assert operation["state"] in ("succeeded", "failed") and daemon.get("/livez").status == 200
    daemon.kill()
    daemon.start()
    wait_for(lambda: {"disk_full", "state_not_persisted"} & set(conditions(daemon)), 10, "the condition at the next start")
    settled(daemon)
    filler.unlink()
    daemon.kill()
    daemon.start()
    settled(daemon)
    daemon.up("batch")
    assert daemon.chat().status == 200
    assert not {"disk_full", "state_not_persisted"} & set(conditions(daemon)) and pid > 0


def test_F90_a_log_that_can_not_be_written(make_daemon):
    daemon = make_daemon()
    daemon.log = pathlib.Path("/dev/full")
    daemon.log_text = lambda: "nowhere"
    daemon.start()
    daemon.up("batch")
    assert daemon.chat().status == 200
    assert daemon.stop() == 0


# ---- configuration --------------------------------------------------------------------------------------------------


def test_F88_a_reload_of_a_broken_file_keeps_the_old_one(daemon):
    daemon.up("batch")
    container, good = engine_of(daemon), daemon.config.read_text()
    daemon.config.write_text(good + "profiels: {}\n")
    refused = daemon.call("POST", "/api/v1/reload", {})
    assert refused.status in (400, 422) and "profiels" in refused.text and f":{len(good.splitlines()) + 1}:" in refused.text
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "config_invalid" in conditions(daemon), 5, "the condition")
    assert daemon.chat().status == 200 and engine_of(daemon) == container
    daemon.configure(profiles={"third": {"extends": "batch", "slots": 2}})
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: daemon.get("/api/v1/profiles/third").status == 200, 5, "the new profile")
    assert "config_invalid" not in conditions(daemon) and engine_of(daemon) == container
    daemon.up("third")


# ---- clocks ---------------------------------------------------------------------------------------------------------


class Clock:
    """k3d's wall clock, which a test moves; the steady clock is left alone."""

    def __init__(self, folder):
        self.file = folder / "faketime"
        self.jump(0)
        self.env = {"LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(self.file), "FAKETIME_NO_CACHE": "1",
                    "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}

    def jump(self, days):
        new = self.file.with_suffix(".new")
        new.write_text(f"{days:+d}d\n")
        new.replace(self.file)


@pytest.mark.parametrize("days", [365, -365])
def test_F89_a_clock_that_jumps_a_year(make_daemon, days):
    daemon = make_daemon(profiles={"batch": {"context": 65536}})
    clock = Clock(daemon.folder)
    daemon.start(env=clock.env)
    daemon.up("batch")
    pid, year = pid_of(daemon), int(daemon.status()["phase_since"][:4])
    (running,) = streams(daemon, 1, 16000)
    clock.jump(days)
    assert daemon.chat().status == 200 and running.kind is None, "nothing ran out"
    daemon.up("interactive", force=True)
    status = daemon.status()
    assert re.match(str(year + (1 if days > 0 else -1)), status["phase_since"]), "the jump was felt"
    daemon.up("batch")
    pid = pid_of(daemon)
    daemon.kill()
    daemon.start()  # the true time again
    assert daemon.wait_phase("ready", 10)["engine"]["adopted"] and pid_of(daemon) == pid
    newest = daemon.up("interactive")
    assert newest["state"] == "succeeded" and engine_of(daemon)
    assert Stream(daemon, 4).join(20) is None
