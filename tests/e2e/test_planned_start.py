"""A start by its plan: what is computed is what is launched, what can't be is refused with the numbers."""
import os
import pathlib
import subprocess

import pytest

from daemon import ROOT, wait_for
from fake_gpus import CARD, GIB, FakeGpus, card

BED = ROOT / "tests" / "testbed"
GPUS = 8


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """A newer Engine's socket, with eight GPUs that aren't there."""
    place = pathlib.Path(subprocess.run(["mktemp", "-d", "/var/tmp/k3d-cdi-XXXXXX"], check=True, capture_output=True,
                                        text=True).stdout.strip())
    spec, run = place / "cdi", place / "run"
    spec.mkdir()
    run.mkdir()
    subprocess.run([str(BED / "cdi" / "write_cdi_spec.sh"), str(spec), "--gpus", str(GPUS)], check=True)
    started = subprocess.run([str(BED / "docker28.sh"), "start", str(run), "--cdi", str(spec), "--mount", "/var/tmp",
                              "--image", "k3d-engine-debian:latest"], check=True, capture_output=True, text=True)
    yield "unix://" + started.stdout.strip().splitlines()[-1]
    subprocess.run([str(BED / "docker28.sh"), "stop", str(run)], check=True)
    subprocess.run(["rm", "-rf", str(place)], check=True)


@pytest.fixture(scope="module")
def quants():
    """Full-size quants as headers with holes for data."""
    place = pathlib.Path(subprocess.run(["mktemp", "-d", "/var/tmp/k3d-quants-XXXXXX"], check=True, capture_output=True,
                                        text=True).stdout.strip())
    place.chmod(0o755)
    for quant in ("UD-Q2_K_XL", "UD-TQ2_0", "UD-Q4_K_XL"):
        subprocess.run(["python3", str(BED / "make_sparse_k3.py"), quant, str(place / quant)], check=True,
                       capture_output=True)
    yield place
    subprocess.run(["rm", "-rf", str(place)], check=True)


def cards(used=()):
    """`used` bytes of the first cards are others'."""
    return [card(used[i] if i < len(used) else 0, CARD[:-1] + str(i), i + 1) for i in range(GPUS)]


def crowd(gpus):
    """Someone else holds nearly all of every GPU."""
    gpus.show(*cards([130 * GIB] * GPUS), *[f"process {i} {os.getpid()} {130 * GIB}" for i in range(GPUS)])


class Host:
    def __init__(self, make_daemon, folder, engine, quants):
        proc = folder / "gpus"
        subprocess.run([str(BED / "cdi" / "write_nvidia_proc.sh"), str(proc), "--gpus", str(GPUS)], check=True)
        self.gpus = FakeGpus(folder)
        self.gpus.show(*cards())
        self.env = {"K3D_PROC_DRIVER_NVIDIA": str(proc), **self.gpus.environment}
        self.daemon = make_daemon()
        self.daemon.docker_host = engine
        self.quants = quants

    def start(self, **profile):
        """A profile `large` of a full-size model, beside those of the tiny one."""
        large = {"model": "kimi-k3", "quant": "UD-Q2_K_XL", "source": "debian", "gpus": "all", "context": 65536,
                 "slots": 4, "allow_unproven": True, **profile}
        self.daemon.configure(models={"kimi-k3": {"local": str(self.quants)}, "draft": {"path": self.daemon.model}},
                              profiles={"large": large})
        return self.daemon.start(env=self.env)


@pytest.fixture
def host(make_daemon, folder, engine, quants):
    return Host(make_daemon, folder, engine, quants)


def dry_run(daemon, profile="large", **body):
    return daemon.call("POST", f"/api/v1/profiles/{profile}/activate", {"dry_run": True, **body})


def refused(daemon, **body):
    answer = daemon.call("POST", "/api/v1/profiles/large/activate", body)
    assert answer.status == 422, answer.text
    return answer.json()


def value(argv, flag):
    assert argv.count(flag) == 1, argv
    return argv[argv.index(flag) + 1]


# ---- the tiny model, for real ----------------------------------------------------------------------------------------

def test_a_load_is_planned_measured_and_timed(daemon):
    first = dry_run(daemon, "batch").json()
    assert first["plan"]["verdict"] == "hybrid" and first["plan"]["devices"] == []
    assert first["load_seconds"] is None
    daemon.up("batch")
    look = lambda: daemon.status()["engine"]["measured"]
    measured = wait_for(look, 20, "the engine's own figures")
    assert measured["host"]["model_bytes"] > 10_000_000 and measured["devices"] == []
    assert daemon.status()["engine"]["planned"] == {"devices": [], "cpu_expert_layers": first["plan"]["placement"]["cpu_expert_layers"]}
    assert "memory_differs_from_plan" not in [c["code"] for c in daemon.status()["conditions"]]
    again = dry_run(daemon, "batch").json()
    assert again["load_seconds"] > 0
    assert again["plan"]["basis"] == "measured"
    planned, seen = again["plan"]["host"]["model_bytes"], measured["host"]["model_bytes"]
    assert abs(planned - seen) < 0.02 * seen
    daemon.down()


def test_an_adopted_engine_keeps_its_plan(make_daemon):
    daemon = make_daemon(on_exit="leave").start()
    daemon.up("batch")
    before = daemon.status()["engine"]["planned"]
    wait_for(lambda: daemon.status()["engine"]["measured"], 20, "the engine's own figures")
    daemon.kill()
    daemon.start()
    daemon.wait_phase("ready")
    assert daemon.status()["engine"]["adopted"] is True
    assert daemon.status()["engine"]["planned"] == before
    wait_for(lambda: daemon.status()["engine"]["measured"], 20, "the engine's own figures, read again")
    daemon.down()


def test_an_exact_preflight_says_what_the_image_lacks(make_daemon):
    daemon = make_daemon()
    daemon.configure(profiles={"batch": {"preflight": "exact"}})
    daemon.start()
    operation = daemon.wait_operation(daemon.activate("batch")["id"])
    assert operation["state"] == "failed"
    assert "llama-fit-params" in operation["error"]["detail"]
    assert "preflight" in [step["name"] for step in operation["steps"]]
    assert daemon.containers(running=False) == []


def need_fit_image():
    images = subprocess.run(["docker", "images", "-q", "k3d-testbed-fit:latest"], capture_output=True, text=True, check=True)
    if not images.stdout.strip():
        subprocess.run([str(BED / "fit_image.sh")], check=True)


def test_an_exact_plan_has_the_engines_own_figures(make_daemon):
    need_fit_image()
    daemon = make_daemon()
    daemon.configure(profiles={"batch": {"source": None, "image": "k3d-testbed-fit:latest"}})
    daemon.start()
    computed = daemon.call("POST", "/api/v1/plan", {"profile": "batch"}).json()
    answer = daemon.call("POST", "/api/v1/plan", {"profile": "batch", "exact": True}, timeout=300)
    assert answer.status == 200, answer.text
    exact = answer.json()
    assert (computed["basis"], exact["basis"]) == ("computed", "engine")
    assert exact["host"]["context_bytes"] == pytest.approx(computed["host"]["context_bytes"], abs=2 << 20)
    assert any("the engine counts" in line for line in exact["warnings"])
    assert daemon.status()["held_by"] is None
    daemon.up("batch")
    assert daemon.call("POST", "/api/v1/plan", {"profile": "batch", "exact": True}).status == 409
    daemon.down()


def test_an_exact_preflight_asks_the_engine_and_then_loads(make_daemon):
    need_fit_image()
    daemon = make_daemon()
    daemon.configure(profiles={"batch": {"preflight": "exact", "source": None, "image": "k3d-testbed-fit:latest"}})
    daemon.start()
    operation = daemon.up("batch")
    assert "preflight" in [step["name"] for step in operation["steps"]]
    assert "host RAM: the engine counts" in daemon.log.read_text()
    assert daemon.chat().status == 200
    daemon.down()


def test_drafts_of_n_grams_serve(make_daemon):
    daemon = make_daemon()
    daemon.configure(profiles={"batch": {"speculative": {"type": "ngram-simple", "n_max": 8}}})
    daemon.start()
    daemon.up("batch")
    assert value(daemon.status()["engine"]["argv"], "--spec-type") == "ngram-simple"
    assert daemon.chat().status == 200
    daemon.down()


# ---- the full size, on GPUs that aren't there ------------------------------------------------------------------------

def test_what_is_computed_is_what_is_launched(host):
    daemon = host.start()
    answer = dry_run(daemon)
    assert answer.status == 200, answer.text
    plan, argv = answer.json()["plan"], answer.json()["launch"]["argv"]
    assert plan["verdict"] == "all_vram" and len(plan["devices"]) == GPUS
    assert plan["files"]["total_bytes"] > 800e9
    assert value(argv, "--fit") == "on"
    assert value(argv, "--fit-target") == ",".join(str(m) for m in plan["placement"]["fit_target_mib"])
    assert value(argv, "--batch-size") == value(argv, "--ubatch-size") == "2048"
    assert "-ngl" not in argv and "--tensor-split" not in argv
    assert all(device["left_bytes"] > 0 for device in plan["devices"])


def test_the_fewest_expert_layers_come_with_the_split_that_they_need(host):
    daemon = host.start(placement={"mode": "n_cpu_moe", "layers": "auto"})
    answer = dry_run(daemon).json()
    plan, argv = answer["plan"]["placement"], answer["launch"]["argv"]
    assert value(argv, "--n-cpu-moe") == str(plan["n_cpu_moe"]) == "0"
    assert value(argv, "--tensor-split") == ",".join(str(n) for n in plan["tensor_split"])
    assert sum(plan["tensor_split"]) == 94
    assert value(argv, "--fit") == "off" and "--fit-target" not in argv


def test_a_draft_is_beside_the_output_with_a_margin_of_its_own(host):
    daemon = host.start(speculative={"type": "draft-simple", "model": "draft", "n_max": 3})
    answer = dry_run(daemon).json()
    argv = answer["launch"]["argv"]
    assert value(argv, "--spec-draft-device") == "CUDA7" and value(argv, "--spec-draft-ngl") == "all"
    assert value(argv, "--spec-draft-model").startswith("/draft/")
    margins = [int(m) for m in value(argv, "--fit-target").split(",")]
    assert len(margins) == GPUS and margins[7] > margins[0]
    assert any("/draft" in word for word in answer["launch"]["docker_run"])


def test_weights_without_room_are_refused_with_the_numbers_whatever_is_accepted(host):
    crowd(host.gpus)
    daemon = host.start()
    for body in ({}, {"accept_risk": True}, {"accept_risk": True, "dry_run": True}):
        problem = refused(daemon, **body)
        assert problem["code"] == "does_not_fit" and "weights alone" in problem["detail"]
        assert problem["breaks"][0]["resource"] in ("ram", "vram")
        assert problem["breaks"][0]["need_bytes"] > problem["breaks"][0]["have_bytes"]
    assert daemon.get("/api/v1/operations").json()["items"] == []
    audit = daemon.get("/api/v1/audit").json()["items"][0]
    assert (audit["action"], audit["outcome"]) == ("activate", "does_not_fit")


def test_a_refusal_takes_nothing_from_what_serves(host):
    crowd(host.gpus)
    daemon = host.start()
    daemon.up("batch")
    refused(daemon)
    assert daemon.status()["active_profile"] == "batch" and daemon.chat().status == 200
    daemon.down()


def test_a_risk_may_be_taken_where_it_is_one(host):
    # The weights have room, the context of all slots together has none.
    daemon = host.start(placement={"mode": "n_cpu_moe", "layers": 0}, context=64 * 1024 * 1024)
    problem = refused(daemon)
    assert problem["code"] == "does_not_fit" and problem["breaks"][0]["resource"] == "vram"
    assert "accept_risk" in problem["advice"]
    taken = dry_run(daemon, accept_risk=True)
    assert taken.status == 200, taken.text
    assert taken.json()["plan"]["verdict"] == "too_big"
    assert value(taken.json()["launch"]["argv"], "--n-cpu-moe") == "0"


def test_no_quant_serves_unproven_in_silence(host):
    daemon = host.start(allow_unproven=False)
    problem = refused(daemon)
    assert problem["code"] == "quant_unproven" and "NVIDIA H200" in problem["detail"]
    assert dry_run(daemon, accept_risk=True).status == 200


def test_a_blocked_quant_never_serves(host):
    daemon = host.start(quant="UD-TQ2_0")
    problem = refused(daemon, accept_risk=True)
    assert problem["code"] == "quant_blocked" and "TQ2_0" in problem["detail"]


def test_a_quant_without_doubtful_kernels_needs_no_proof(host):
    daemon = host.start(quant="UD-Q4_K_XL", allow_unproven=False)
    problem = refused(daemon)
    assert problem["code"] == "does_not_fit", "1,405 GiB have no room here, and nothing else is wrong"


def test_pinned_without_a_good_load_is_a_fit(host):
    daemon = host.start(placement={"mode": "pinned"})
    assert value(dry_run(daemon).json()["launch"]["argv"], "--fit") == "on"
    assert "no good load is remembered" in daemon.log.read_text()
