"""What every end-to-end test needs: models, daemons, and the oracles that hold after each of them."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from daemon import ROOT, Daemon

MODELS = pathlib.Path(os.environ.get("K3D_TEST_MODELS", "/var/tmp/k3d-test"))


def make_model(out: pathlib.Path, *args) -> str:
    done = subprocess.run([str(ROOT / "packaging/engine/make_tiny_model.sh"), str(out), *args], check=True,
                          capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1]


@pytest.fixture(scope="session")
def tiny() -> str:
    return make_model(MODELS / "tiny.gguf")


@pytest.fixture(scope="session")
def split() -> str:
    return make_model(MODELS / "split" / "tiny.gguf", "--split-max-tensors", "60")


@pytest.fixture(scope="session")
def big() -> str:
    """3.7 GB: loads slowly enough to be seen loading."""
    return make_model(MODELS / "big.gguf", "--layers", "10", "--experts", "64", "--ff", "1024", "--latent", "512",
                      "--embd", "256")


@pytest.fixture
def folder():
    """Short, since unix sockets live in it; below /var/tmp, since Docker must see it."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="k3d-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def make_daemon(folder, tiny):
    made = []

    def make(model=None, **changes) -> Daemon:
        place = folder / str(len(made))
        place.mkdir()
        daemon = Daemon(place, model or tiny, **changes)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        daemon.stop()
        left = daemon.containers()
        daemon.clean()
        if daemon.process and daemon.process.returncode == 0 and daemon.settings()["on_exit"] == "stop":
            assert not left or daemon.expect_left, f"containers left running: {left}"


@pytest.fixture
def daemon(make_daemon) -> Daemon:
    return make_daemon().start()
