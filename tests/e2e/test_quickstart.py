"""The README's first command, once: it answers, exits 0 and leaves nothing running."""
import os
import subprocess

from daemon import BUILD, ROOT


def test_quickstart_once():
    done = subprocess.run([str(ROOT / "packaging/quickstart.sh"), "--once"], capture_output=True, text=True, timeout=900,
                          env={**os.environ, "K3D_BUILD": str(BUILD)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "==> activate" in done.stdout and "done in" in done.stdout
    left = subprocess.run(["docker", "ps", "-q", "--filter", "label=k3d.instance=demo"], capture_output=True, text=True)
    assert left.stdout.strip() == ""
    assert subprocess.run(["pgrep", "-f", "config/demo.yaml"], capture_output=True).returncode == 1
