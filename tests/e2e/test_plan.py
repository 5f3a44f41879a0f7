"""Plans: of the tiny model as it then runs, and of full-size quants on eight cards that aren't there."""
import json
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from daemon import K3CTL, ROOT, wait_for
from fake_gpus import FakeGpus

BED = ROOT / "tests" / "testbed"
CARD = 97887 << 20  # RTX PRO 6000 Blackwell
NAME = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
QUANTS = ("UD-IQ2_XXS", "UD-Q2_K_XL", "UD-TQ2_0")
GIB = 1 << 30


@pytest.fixture(scope="module")
def quants():
    """Full-size quants as headers with holes for data."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="k3d-plans-", dir="/var/tmp"))
    place.chmod(0o755)
    for quant in QUANTS:
        subprocess.run(["python3", str(BED / "make_sparse_k3.py"), quant, str(place / quant)], check=True, capture_output=True)
    yield place
    shutil.rmtree(place)


def cards(count=8, used=0, name=NAME):
    return [f"card 00000000:{i + 1:02x}:00.0 GPU-{i} {CARD} {used} 0 {name}" for i in range(count)]


@pytest.fixture
def large(make_daemon, folder, quants):
    """A daemon with eight cards and a profile of each quant."""
    gpus = FakeGpus(folder)
    gpus.show(*cards())
    daemon = make_daemon()
    profiles = {quant: {"model": "kimi-k3", "quant": quant, "source": "debian", "context": 65536, "slots": 4}
                for quant in QUANTS}
    daemon.configure(models={"kimi-k3": {"local": str(quants)}}, profiles=profiles)
    daemon.start(env=gpus.environment)
    daemon.gpus = gpus
    return daemon


def plan(daemon, status=200, **question) -> dict:
    answer = daemon.call("POST", "/api/v1/plan", question)
    assert answer.status == status, answer.text
    return answer.json()


def offline(*args):
    return subprocess.run([str(K3CTL), "--url", "unix:/nowhere/k3d.sock", *args], capture_output=True, text=True, timeout=120)


def first_shard(quants, quant) -> str:
    return str(sorted((quants / quant).glob("*.gguf"))[0])


def without_address(argv):
    """The socket is of an attempt, which a plan is not."""
    at = argv.index("--host")
    return argv[:at] + argv[at + 2:]


def test_the_argument_list_is_the_one_that_then_runs(daemon):
    before = plan(daemon, profile="batch")
    assert before["verdict"] == "hybrid" and before["devices"] == [] and before["breaks"] == []
    assert before["files"]["present_bytes"] == before["files"]["total_bytes"] == pathlib.Path(daemon.model).stat().st_size
    daemon.up("batch")
    assert without_address(daemon.status()["engine"]["argv"]) == without_address(before["argv"])
    changed = plan(daemon, profile="batch", context=2048, slots=2)["argv"]
    assert changed[changed.index("--ctx-size") + 1] == "2048" and changed[changed.index("--parallel") + 1] == "2"


def test_full_size_quants_on_eight_cards(large):
    small = plan(large, profile="UD-IQ2_XXS")
    assert small["verdict"] == "all_vram", small["reasons"]
    assert small["proven"] == "elsewhere" and len(small["devices"]) == 8
    total = sum(d["model_bytes"] for d in small["devices"]) + small["host"]["model_bytes"]
    assert abs(total - 711067773664) < 711067773664 // 1000
    mixed = plan(large, profile="UD-Q2_K_XL", ram_bytes="1TiB")
    assert mixed["verdict"] == "hybrid" and mixed["placement"]["cpu_expert_layers"] > 0
    assert mixed["host"]["ram_bytes"] == 1024 * GIB
    blocked = plan(large, profile="UD-TQ2_0")
    assert blocked["verdict"] == "blocked" and "corrupt" in blocked["reasons"][0] and blocked["breaks"][0]["resource"] == "quant"
    assert blocked["devices"], "the figures stay"


def test_for_hosts_one_does_not_have(large):
    two = plan(large, model="kimi-k3", quant="UD-IQ2_XXS", gpus=[{"free_bytes": CARD}] * 2, ram_bytes="64GiB")
    assert two["verdict"] == "too_big" and two["breaks"] and two["argv"] == []
    more = plan(large, model="kimi-k3", quant="UD-IQ2_XXS", gpus=[{"free_bytes": "141GiB"}] * 8, slots=2, context=8192)
    assert more["verdict"] == "all_vram" and more["devices"][0]["free_bytes"] == 141 * GIB
    split = plan(large, model="kimi-k3", quant="UD-Q2_K_XL", gpus=[{"free_bytes": "141GiB"}] * 8, ram_bytes="1TiB",
                 placement={"mode": "n_cpu_moe", "layers": 9})
    assert split["placement"]["n_cpu_moe"] == 9 and sum(split["placement"]["tensor_split"]) == 94
    other = plan(large, model="kimi-k3", quant="UD-IQ2_XXS", gpus=[{"index": 7}, {"index": 0}])
    assert [d["index"] for d in other["devices"]] == [0, 7]


def test_what_others_hold_is_not_free(large):
    large.gpus.show(*cards(used=40 * GIB))
    held = plan(large, profile="UD-IQ2_XXS", ram_bytes="64GiB")
    assert held["verdict"] == "too_big" and held["devices"][0]["free_bytes"] == CARD - 40 * GIB
    assert any("held by others" in warning for warning in held["warnings"])


def test_the_unproven_needs_leave(large):
    large.gpus.show(*cards(name="NVIDIA H200"))
    answer = plan(large, profile="UD-IQ2_XXS")
    assert answer["proven"] == "no" and {"quant"} <= {b["resource"] for b in answer["breaks"]}
    assert any("allow_unproven" in warning for warning in answer["warnings"])


def test_paths_only_below_configured_folders(large, quants, folder):
    path = first_shard(quants, "UD-IQ2_XXS")
    assert plan(large, path=path)["files"]["shards"] > 1
    last = sorted((quants / "UD-IQ2_XXS").glob("*.gguf"))[-1]
    assert plan(large, path=str(last))["files"] == plan(large, path=path)["files"]
    elsewhere = folder / "x.gguf"
    shutil.copy(large.model, elsewhere)
    link = pathlib.Path(large.model).parent / f"{folder.name}.gguf"
    link.symlink_to(elsewhere)
    try:
        for outside in (elsewhere, "/etc/passwd", "/nowhere/x.gguf", link, f"{quants}/../{folder.name}/x.gguf"):
            problem = plan(large, 403, path=str(outside))
            assert problem["code"] == "forbidden" and str(quants) in problem["advice"]
    finally:
        link.unlink()
    assert plan(large, 422, path=f"{quants}/none.gguf")["code"] == "files_missing"


def test_questions_that_are_refused(large):
    assert plan(large, 404, profile="none")["code"] == "unknown_profile"
    for wrong in ({}, {"profile": "UD-IQ2_XXS", "slots": 0}, {"profile": "UD-IQ2_XXS", "cache_type": "f17"},
                  {"model": "kimi-k3"}, {"model": "nobody"}, {"profil": "x"}, {"profile": "UD-IQ2_XXS", "gpus": [{"index": 8}]}):
        assert plan(large, 400, **wrong)["code"] == "invalid_request", wrong


def test_quants_and_profiles_know_whether_they_fit(large):
    listed = {q["quant"]: q for q in large.get("/api/v1/quants").json()["items"] if q["model"] == "kimi-k3"}
    assert listed["UD-IQ2_XXS"]["verdict"] == "all_vram" and listed["UD-IQ2_XXS"]["proven"] == "elsewhere"
    assert listed["UD-TQ2_0"]["verdict"] == listed["UD-TQ2_0"]["proven"] == "blocked"
    absent = listed["UD-Q8_K_XL"]
    assert absent["present_bytes"] == 0 and "by its size alone" in absent["reasons"][0]

    def known():
        profiles = {p["name"]: p for p in large.get("/api/v1/profiles").json()["items"]}
        return profiles if all(profiles[q]["verdict"] for q in QUANTS) else None
    profiles = wait_for(known, 30, "a verdict for every profile")
    assert profiles["UD-IQ2_XXS"]["verdict"] == "all_vram" and profiles["UD-IQ2_XXS"]["proven"] == "elsewhere"
    assert profiles["UD-TQ2_0"]["verdict"] == "blocked" and "corrupt" in profiles["UD-TQ2_0"]["reasons"][0]
    detail = large.get("/api/v1/profiles/UD-IQ2_XXS").json()
    assert len(detail["plan"]["devices"]) == 8 and detail["files"]["total_bytes"] == detail["plan"]["files"]["total_bytes"]


def test_k3ctl_asks_the_daemon(large, quants):
    page = large.ctl("plan", "UD-IQ2_XXS")
    assert page.returncode == 0, page.stderr
    assert page.stdout.startswith("It runs, all in VRAM") and "\x1b" not in page.stdout
    assert large.ctl("plan", "UD-TQ2_0").returncode == 1
    words = large.ctl("plan", "UD-IQ2_XXS", "--explain")
    assert words.returncode == 0 and words.stdout.startswith("It runs, all in VRAM:")
    raw = json.loads(large.ctl("--json", "plan", "--path", first_shard(quants, "UD-IQ2_XXS")).stdout)
    assert len(raw["devices"]) == 8
    table = large.ctl("quants")
    assert table.returncode == 0 and "UD-TQ2_0: UD-TQ2_0 is blocked" in table.stdout


def test_k3ctl_without_a_daemon_agrees_with_it(large, quants):
    machine = ("--gpus", "8x97887MiB", "--ram", "1TiB", "--context", "65536", "--slots", "4")
    here = offline("--json", "plan", "--path", first_shard(quants, "UD-IQ2_XXS"), *machine)
    assert here.returncode == 0, here.stderr
    asked = plan(large, model="kimi-k3", quant="UD-IQ2_XXS", gpus=[{"free_bytes": CARD}] * 8, ram_bytes="1TiB",
                 context=65536, slots=4)
    alone = json.loads(here.stdout)
    for key in ("verdict", "devices", "host", "placement", "capacity"):
        assert alone[key] == asked[key], key


def test_k3ctl_without_a_daemon(quants, tiny):
    page = offline("plan", "--path", first_shard(quants, "UD-Q2_K_XL"), "--gpus", "8x97887MiB", "--ram", "1TiB", "--context",
                   "65536", "--slots", "8", "--ubatch", "4096", "--n-cpu-moe", "18", "--cache-type", "f16")
    assert page.returncode == 0, page.stdout + page.stderr
    assert "--n-cpu-moe 18 --tensor-split" in page.stdout
    big = offline("plan", "--path", first_shard(quants, "UD-Q2_K_XL"), "--gpus", "2x97887MiB", "--ram", "64GiB")
    assert big.returncode == 1 and "NOT fit" in big.stdout
    assert offline("plan", "--path", tiny, "--gpus", "none").returncode == 0
    gone = offline("plan", "--path", "/nowhere/m.gguf", "--gpus", "none")
    assert gone.returncode == 1 and "/nowhere/m.gguf" in gone.stderr
    assert offline("plan", "--path", tiny, "--gpus", "many").returncode == 2
    assert offline("plan", "--path", tiny).returncode == 3
