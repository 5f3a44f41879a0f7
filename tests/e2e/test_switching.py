"""Switching under load: no request is lost, no operation is left open, never two engines, the last wish wins."""
import os
import pathlib
import random
import threading
import time

import pytest

from daemon import Stream, wait_for
from oracles import Truth, agrees_with_docker, engine_of, everything_said, figures, joined, secrets_of, streams

SOAK = bool(os.environ.get("K3D_SOAK"))
WIDE = {"batch": {"context": 65536, "drain_seconds": 1}}  # room for answers that outlast any drain of a test
LONG = 16000
ENDED = ("succeeded", "failed", "cancelled")


# ---- answers under way ----------------------------------------------------------------------------------------------


class Clients(threading.Thread):
    """Asks again and again; keeps every answer."""

    def __init__(self, daemon, over, tokens=16):
        super().__init__(daemon=True)
        self.of, self.over, self.tokens, self.answers = daemon, over, tokens, []
        self.start()

    def run(self):
        while not self.over.is_set():
            stream = Stream(self.of, self.tokens)
            stream.join(60)
            self.answers.append(stream)
            if stream.kind == "refused":
                self.over.wait(0.02)  # a client that is told to come later doesn't ask at once


def test_F57_F58_there_and_back_under_twenty_clients_loses_nothing(make_daemon):
    daemon = make_daemon(profiles={"batch": {"drain_seconds": 30}}).start()
    daemon.up("batch")
    over, truth = threading.Event(), Truth(daemon)
    clients = [Clients(daemon, over) for _ in range(20)]
    for profile in ("interactive", "batch"):
        served = [len(client.answers) for client in clients]
        wait_for(lambda: all(len(c.answers) > n for c, n in zip(clients, served)), 30, "an answer for every client")
        daemon.up(profile)
    served = [len(client.answers) for client in clients]
    wait_for(lambda: all(len(c.answers) > n for c, n in zip(clients, served)), 30, "answers by the profile it came back to")
    over.set()
    for client in clients:
        client.join(60)
    answers = [one for client in clients for one in client.answers]
    kinds = {one.kind for one in answers}
    assert kinds == {"done", "refused"}, [one for one in answers if one.kind not in ("done", "refused")]
    refused = [one for one in answers if one.kind == "refused"]
    assert {(one.status, one.code) for one in refused} == {(503, "model_loading")}, refused
    assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
    assert max(one.ended - one.began for one in refused) < 2, "a refusal comes at once"
    assert truth.told() == 1, "never two engines"


def test_F56_streams_never_meet_a_connection_that_the_engine_is_closing(daemon):
    daemon.up("batch")
    over = threading.Event()
    clients = [Clients(daemon, over, tokens=4) for _ in range(8)]
    wait_for(lambda: sum(len(client.answers) for client in clients) > (3000 if SOAK else 300), 60, "that many answers")
    over.set()
    for client in clients:
        client.join(60)
    assert [one for client in clients for one in client.answers if one.kind != "done"] == []


def test_F58_the_drain_limit_cuts_what_is_left_and_completes_nothing(make_daemon):
    daemon = make_daemon(profiles=WIDE).start()
    daemon.up("batch")
    running = streams(daemon, 4, LONG)
    waiting = [Stream(daemon, LONG) for _ in range(4)]
    wait_for(lambda: daemon.status()["proxy"]["in_flight"] == 8, 10, "all of them under way")
    asked = time.monotonic()
    operation = daemon.activate("interactive")
    daemon.wait_phase("draining", 10)
    meanwhile = daemon.chat()
    assert meanwhile.status == 503 and meanwhile.json()["error"]["code"] == "model_loading", meanwhile.text
    assert daemon.wait_operation(operation["id"])["state"] == "succeeded"
    joined(running + waiting)
    assert {one.kind for one in running} == {"cut"}, running
    for one in waiting:  # no byte was sent: these can still be told when to come again
        assert one.kind == "refused" and one.status in (502, 503), one
    assert min(one.ended for one in running) - asked >= 1, "the drain's second was theirs"
    assert max(one.ended for one in running + waiting) - asked < 4


def test_F58_force_cuts_at_once(make_daemon):
    daemon = make_daemon(profiles={"batch": {"context": 65536, "drain_seconds": 600}}).start()
    daemon.up("batch")
    running = streams(daemon, 4, LONG)
    asked = time.monotonic()
    assert daemon.up("interactive", force=True)["state"] == "succeeded"
    assert {one.kind for one in joined(running)} == {"cut"}
    assert max(one.ended for one in running) - asked < 2
    assert Stream(daemon, 8).join(20) is None and daemon.chat(model="interactive").status == 200


# ---- cancelling and superseding -------------------------------------------------------------------------------------


def cancel(daemon, operation):
    return daemon.call("DELETE", f"/api/v1/operations/{operation['id']}")


def test_cancelled_while_draining_serves_on(make_daemon):
    daemon = make_daemon(profiles={"batch": {"context": 65536, "drain_seconds": 600}}).start()
    daemon.up("batch")
    engine = engine_of(daemon)
    (running,) = streams(daemon, 1, LONG)
    operation = daemon.activate("interactive")
    daemon.wait_phase("draining", 10)
    assert cancel(daemon, operation).status in (200, 202)
    status = daemon.wait_phase("ready", 5)
    assert status["active_profile"] == "batch" and status["target_profile"] == "batch"
    assert daemon.wait_operation(operation["id"])["state"] == "cancelled"
    assert running.kind is None and engine_of(daemon) == engine, "its answer goes on"
    assert daemon.chat().status == 200
    daemon.up("interactive", force=True)
    joined([running])


@pytest.mark.parametrize("phase", ["starting", "loading"])
def test_cancelled_when_the_old_engine_is_gone_nothing_runs(make_daemon, big, phase):
    daemon = make_daemon(models={"large": {"path": big}}, profiles={"slow": {"extends": "batch", "model": "large"}}).start()
    daemon.up("batch")
    operation = daemon.activate("slow")
    wait_for(lambda: daemon.status()["phase"] in (phase, "ready"), 20, phase)
    assert cancel(daemon, operation).status in (200, 202)
    assert daemon.wait_operation(operation["id"], 30)["state"] == "cancelled"
    status = daemon.wait_phase("stopped", 20)
    assert status["active_profile"] is None and status["target_profile"] is None
    wait_for(lambda: daemon.containers(running=False) == [], 10, "the container's removal")
    assert daemon.chat().json()["error"]["code"] == "no_active_profile"


def test_a_newer_wish_supersedes_a_load(make_daemon, big):
    daemon = make_daemon(models={"large": {"path": big}}, profiles={"slow": {"extends": "batch", "model": "large"}}).start()
    truth = Truth(daemon)
    first = daemon.activate("slow")
    daemon.wait_phase("loading", 20)
    second = daemon.activate("interactive")
    assert daemon.wait_operation(second["id"])["state"] == "succeeded"
    ended = daemon.get(f"/api/v1/operations/{first['id']}").json()
    assert ended["state"] == "cancelled" and ended["error"]["code"] == "superseded"
    assert daemon.status()["active_profile"] == "interactive" and truth.told() == 1


def test_a_deactivation_supersedes_a_load(make_daemon, big):
    daemon = make_daemon(big).start()
    first = daemon.activate("batch")
    daemon.wait_phase("loading", 20)
    daemon.down()
    ended = daemon.get(f"/api/v1/operations/{first['id']}").json()
    assert ended["state"] == "cancelled" and ended["error"]["code"] == "superseded"
    assert daemon.status()["phase"] == "stopped" and daemon.containers() == []


# ---- a new profile that fails ---------------------------------------------------------------------------------------


def with_a_broken_profile(make_daemon, folder, tiny, **more):
    bad = folder / "bad.gguf"
    bad.write_bytes(pathlib.Path(tiny).read_bytes()[:1_000_000])
    broken = {"extends": "batch", "model": "bad", **more}
    return make_daemon(models={"bad": {"path": str(bad)}}, profiles={"broken": broken}).start()


def test_a_corrupt_model_brings_the_old_profile_back_and_its_failure_stays_to_be_read(make_daemon, folder, tiny):
    daemon = with_a_broken_profile(make_daemon, folder, tiny)
    daemon.up("batch")
    operation = daemon.wait_operation(daemon.activate("broken")["id"])
    assert operation["state"] == "failed" and operation["result"]["rolled_back_to"] == "batch"
    assert operation["error"]["code"] == "model_truncated", operation
    status = daemon.wait_phase("ready", 30)
    assert status["active_profile"] == status["target_profile"] == "batch" and daemon.chat().status == 200
    failure = status["last_failure"]
    assert (failure["profile"], failure["code"], failure["operation_id"]) == ("broken", "model_truncated", operation["id"])
    agrees_with_docker(daemon)


def test_stay_down_stays_down(make_daemon, folder, tiny):
    daemon = with_a_broken_profile(make_daemon, folder, tiny, on_failure="stay_down")
    daemon.up("batch")
    operation = daemon.wait_operation(daemon.activate("broken")["id"])
    assert operation["state"] == "failed" and not (operation["result"] or {}).get("rolled_back_to")
    status = daemon.wait_phase("failed", 30)
    assert status["active_profile"] is None and status["target_profile"] == "broken"
    wait_for(lambda: daemon.containers(running=False) == [], 10, "the failed container's removal")
    assert daemon.chat().json()["error"]["code"] == "engine_failed"


# ---- at random ------------------------------------------------------------------------------------------------------


class Random:
    """One daemon, one dice, and what must hold after every throw."""

    def __init__(self, daemon, seed):
        self.daemon, self.dice = daemon, random.Random(seed)
        self.asked, self.ended = [], {}

    def throw(self):
        what = self.dice.choice(["batch", "batch", "interactive", "interactive", "deactivate", "cancel"])
        if what == "cancel":
            self.cancel()
        elif what == "deactivate":
            answer = self.daemon.call("POST", "/api/v1/deactivate", {"force": self.dice.random() < 0.5})
            self.took(answer)
        else:
            body = {"force": self.dice.random() < 0.5, "restart": self.dice.random() < 0.2}
            self.took(self.daemon.call("POST", f"/api/v1/profiles/{what}/activate", body))
        self.pause()
        self.look()

    def took(self, answer):
        assert answer.status in (200, 202), answer.text
        self.asked.append(answer.json()["id"])

    def cancel(self):
        if self.asked:
            answer = self.daemon.call("DELETE", f"/api/v1/operations/{self.asked[-1]}")
            assert answer.status in (200, 202, 409), answer.text

    def pause(self):
        """For nothing, for the next phase, or until it settles."""
        how = self.dice.random()
        phase = self.daemon.status()["phase"]
        if how < 0.4:
            self.daemon.get(f"/api/v1/status?wait={self.dice.uniform(0, 0.3):.2f}&since={self.daemon.status()['revision']}")
        elif how < 0.7:
            wait_for(lambda: (now := self.daemon.status()["phase"]) != phase or now in ("ready", "stopped", "failed"),
                     30, "a next phase")
        else:
            self.settle()

    def settle(self):
        return wait_for(lambda: (s := self.daemon.status())["phase"] in ("ready", "stopped", "failed") and s, 60,
                        "a phase that stays")

    def look(self):
        assert len(self.daemon.containers()) <= 1
        for operation in self.daemon.get("/api/v1/operations?limit=50").json()["items"]:
            before = self.ended.get(operation["id"])
            assert before is None or before == operation, "an operation ends once"
            if operation["state"] in ENDED:
                self.ended[operation["id"]] = operation


@pytest.mark.parametrize("seed", range(5) if SOAK else [1])
def test_F58_random_wishes_end_in_the_last_one(make_daemon, seed):
    daemon = make_daemon()
    daemon.configure(control={"read_token_file": str(daemon.folder / "read-token")})
    daemon.start()
    daemon.up("batch")
    assert daemon.chat().status == 200
    descriptors, memory = figures(daemon)
    truth, run = Truth(daemon), Random(daemon, seed)
    for _ in range(200 if SOAK else 30):
        run.throw()
        if daemon.status()["phase"] in ("ready", "stopped"):
            agrees_with_docker(daemon)
    run.took(daemon.call("POST", "/api/v1/profiles/interactive/activate", {}))
    assert daemon.wait_operation(run.asked[-1])["state"] == "succeeded"
    status = run.settle()
    assert (status["phase"], status["active_profile"], status["target_profile"]) == ("ready", "interactive", "interactive")
    run.took(daemon.call("POST", "/api/v1/profiles/batch/activate", {"force": True}))
    assert daemon.wait_operation(run.asked[-1])["state"] == "succeeded"
    assert daemon.chat().status == 200
    agrees_with_docker(daemon)
    run.look()
    for operation in run.asked:
        ended = run.ended[operation]  # k3d itself forgets old ones in time
        assert ended["state"] in ENDED and ended["finished_at"], ended
        assert [s for s in ended["steps"] if s["state"] == "running"] == [], ended
    assert truth.told() == 1, "never two engines"
    wait_for(lambda: figures(daemon)[0] <= descriptors + 4, 10, f"the descriptors' return to about {descriptors}")
    assert figures(daemon)[1] < memory + 16_384
    said = everything_said(daemon)
    for secret in secrets_of(daemon):
        assert len(secret) >= 32 and secret not in said
