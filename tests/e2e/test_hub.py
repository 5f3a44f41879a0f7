"""What a quant would need that isn't on this machine: its headers from a hub of two hosts, by byte ranges."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

from daemon import ROOT

sys.path.insert(0, str(ROOT / "tests" / "doubles"))
from fake_hub import REPO, REVISION, FakeHub, TunnelProxy  # noqa: E402

QUANT, TOKEN = "UD-Q2_K_XL", "hf_canarycanarycanarycanarycanarycanary"
GPUS = [{"free_bytes": 97887 << 20, "total_bytes": 97887 << 20}] * 8
MOST_BYTES = 16 << 20


@pytest.fixture(scope="module")
def quants():
    """A full-size quant in 20 shards, with a vocabulary as long as the real one: headers, and holes for data."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="k3d-hub-", dir="/var/tmp"))
    maker = ROOT / "tests/testbed/make_sparse_k3.py"
    subprocess.run(["python3", str(maker), QUANT, str(place / QUANT), "--merges", "163328", "--shard-bytes", "42e9"],
                   check=True, capture_output=True)
    assert len(list((place / QUANT).iterdir())) >= 20
    yield place
    shutil.rmtree(place)


@pytest.fixture
def hub(quants):
    hub = FakeHub(quants)
    yield hub
    hub.stop()


def remote(make_daemon, hub, env=None, **hub_settings):
    daemon = make_daemon()
    daemon.configure(models={"k3": {"repo": REPO, "revision": REVISION}},
                     hub={"endpoint": hub.endpoint, "cache": str(daemon.folder / "hub"), **hub_settings})
    return daemon.start(env={"HF_TOKEN": "", **(env or {})})


def plan(daemon, status=200, **more) -> dict:
    question = {"model": "k3", "quant": QUANT, "gpus": GPUS, "ram_bytes": 1 << 40, **more}
    answer = daemon.call("POST", "/api/v1/plan", question, timeout=60)
    assert answer.status == status, answer.text
    return answer.json()


def test_a_plan_of_files_that_are_elsewhere_costs_some_megabytes_once(make_daemon, hub, quants):
    daemon = remote(make_daemon, hub, env={"HF_TOKEN": TOKEN})
    done = daemon.ctl("plan", "--model", "k3", "--quant", QUANT, "--gpus", "8x97887MiB", "--ram", "1TiB", "--json")
    assert done.returncode == 0, done.stdout + done.stderr + daemon.log_text()
    shards = sorted((quants / QUANT).iterdir())
    files = json.loads(done.stdout)["files"]
    assert files["shards"] == len(shards) and files["present_bytes"] == 0
    assert files["total_bytes"] == sum(s.stat().st_size for s in shards)
    assert hub.sent_bytes < MOST_BYTES, hub.requests
    assert sum("/tree/" in r for r in hub.requests) == -(-len(shards) // hub.page), "every page"
    assert 2 <= hub.most_at_once <= 8, "several shards at once, and no more than hub.connections"
    assert hub.tokens_at_cdn == []
    assert TOKEN not in daemon.log.read_text() and "s3cr3t-signature" not in daemon.log.read_text()
    hub.clear_counts()
    local = plan(daemon)
    assert hub.requests == []
    daemon.stop()
    daemon.start()
    assert plan(daemon) == local and hub.requests == []


def test_a_quant_that_is_half_here_is_planned_whole(make_daemon, hub, quants):
    daemon = remote(make_daemon, hub)
    place = daemon.folder / "hub" / f"models--{REPO.replace('/', '--')}" / "snapshots" / REVISION / QUANT
    place.mkdir(parents=True)
    shard = sorted((quants / QUANT).iterdir())[1]
    subprocess.run(["cp", "--sparse=always", str(shard), str(place)], check=True)
    files = plan(daemon)["files"]
    assert files["shards"] == len(list((quants / QUANT).iterdir())) and files["present_bytes"] == shard.stat().st_size


def test_F74_F75_F77_passing_troubles_end_in_a_plan(make_daemon, hub):
    hub.faults.tree = [(503, {"Retry-After": "1"}, "busy"), (429, {}, "slow down")]
    hub.faults.cdn = ["reset", "cut", (403, {}, "Request has expired"), (500, {}, ""), "cut"]
    assert plan(remote(make_daemon, hub))["files"]["present_bytes"] == 0


@pytest.mark.parametrize("fault, code", [("whole", "protocol"), ("wrong_range", "protocol"), ((416, {}, ""), "protocol"),
                                         ((404, {}, "gone"), "files_missing")], ids=["whole", "wrong_range", "416", "404"])
def test_F78_answers_that_are_not_the_range_are_refused_after_the_wanted_bytes(make_daemon, hub, fault, code):
    hub.faults.cdn = [fault] * 40
    problem = plan(remote(make_daemon, hub), status=422 if code == "files_missing" else 502)
    assert problem["code"] == code, problem
    assert hub.sent_bytes < 8 * MOST_BYTES, "what lay in sockets' buffers, of 850 GB"


def test_F79_another_commit_or_version_is_refused(make_daemon, hub):
    hub.faults.commit = "b" * 40
    daemon = remote(make_daemon, hub)
    assert plan(daemon, status=502)["code"] == "protocol"
    hub.faults.commit = REVISION
    assert plan(daemon)["files"]["shards"] >= 20, "a failure is not kept"


@pytest.mark.parametrize("page", [(200, {"Content-Type": "text/html"}, "<html>Please log in"), (200, {}, "[" * (100 << 20)),
                                  (200, {}, '[{"type": "file", "path": "../../etc/passwd", "size": 5}]')],
                         ids=["html", "100_MB", "dots"])
def test_F80_F83_a_list_that_is_none_is_refused(make_daemon, hub, page):
    hub.faults.tree = [page]
    assert plan(remote(make_daemon, hub), status=502)["code"] == "protocol"


def test_a_private_repository_needs_the_token_of_the_file(make_daemon, hub, folder):
    hub.faults.needs_token = TOKEN
    (folder / "hf-token").write_text(TOKEN + "\n")
    (folder / "hf-token").chmod(0o600)
    without = plan(remote(make_daemon, hub), status=502)
    assert "hub.token_file" in json.dumps(without)
    daemon = remote(make_daemon, hub, token_file=str(folder / "hf-token"))
    assert plan(daemon)["files"]["shards"] >= 20
    assert TOKEN not in daemon.log.read_text()


def test_a_hub_behind_a_proxy_and_an_authority_of_ones_own(make_daemon, quants, folder):
    certificate = folder / "both.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", str(folder / "key.pem"), "-out", str(certificate)],
                   check=True, capture_output=True)
    certificate.write_text((folder / "key.pem").read_text() + certificate.read_text())
    hub, proxy = FakeHub(quants, certificate=str(certificate)), TunnelProxy()
    try:
        unknown = plan(remote(make_daemon, hub), status=502)
        assert unknown["code"] == "unreachable" and "hub.ca_file" in json.dumps(unknown)
        env = {"HTTPS_PROXY": proxy.url, "HF_TOKEN": TOKEN, "NO_PROXY": "", "no_proxy": ""}
        daemon = remote(make_daemon, hub, env=env, ca_file=str(certificate))
        assert plan(daemon)["files"]["shards"] >= 20
        assert len(proxy.heads) >= 2 and not any(TOKEN in head for head in proxy.heads)
    finally:
        hub.stop()
        proxy.stop()


def test_F91_a_quant_that_is_no_name_never_leaves_this_machine(make_daemon, hub):
    daemon = remote(make_daemon, hub)
    for quant in ("../../etc", "a/b", "..", "-x", "%2e%2e", "a" * 300):
        plan(daemon, status=400, quant=quant)
    assert hub.requests == []
    assert plan(daemon, status=422, quant="UD-NONE")["code"] == "files_missing"
