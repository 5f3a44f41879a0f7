"""Everything once as a user that is not root, in group docker, as on a server."""
import grp
import os
import pathlib
import pwd
import shutil
import subprocess

import pytest

from daemon import K3CTL, K3D, Daemon, wait_for

USER = "k3d"


@pytest.fixture(scope="module")
def user():
    subprocess.run(["groupadd", "--system", "--force", "docker"], check=True)
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", USER], check=True)
        entry = pwd.getpwnam(USER)
    subprocess.run(["usermod", "-a", "-G", "docker", USER], check=True)
    return entry


def copy_tools(folder: pathlib.Path):
    """Where the user can run them: a checkout may be in a closed folder."""
    for tool in (K3D, K3CTL):
        shutil.copy(tool, folder / tool.name)
        (folder / tool.name).chmod(0o755)
    return folder / "k3d"


def test_the_main_job_as_user_k3d(folder, tiny, user, make_daemon, monkeypatch):
    import daemon as module
    monkeypatch.setattr(module, "K3D", copy_tools(folder))
    daemon = make_daemon(on_exit="leave")
    shutil.chown(daemon.folder, USER, USER)
    shutil.chown(daemon.config, USER, USER)
    as_user = ["runuser", "-u", USER, "--"]
    daemon.start(prefix=as_user)
    daemon.up("batch")
    container = daemon.inspect()
    assert container["Config"]["User"] == f"{user.pw_uid}:{user.pw_gid}"
    assert daemon.chat().status == 200
    socket = next((daemon.state / "attempts").glob("*/engine.sock"))
    assert socket.stat().st_uid == user.pw_uid
    assert (daemon.folder / "token").stat().st_mode & 0o777 == 0o600
    assert daemon.control.stat().st_mode & 0o777 == 0o660
    # A restart adopts what runs.
    pid = container["State"]["Pid"]
    daemon_pid = subprocess.run(["pgrep", "-u", USER, "-x", "k3d"], capture_output=True, text=True).stdout.split()
    for one in daemon_pid:
        os.kill(int(one), 15)
    daemon.process.wait(30)
    daemon.start(prefix=as_user)
    assert daemon.wait_phase("ready", 10)["engine"]["adopted"]
    assert daemon.inspect()["State"]["Pid"] == pid
    daemon.down()
    for one in subprocess.run(["pgrep", "-u", USER, "-x", "k3d"], capture_output=True, text=True).stdout.split():
        os.kill(int(one), 15)
    daemon.process.wait(30)


def test_load_progress_is_seen_without_root(folder, big, user, make_daemon, monkeypatch):
    import daemon as module
    monkeypatch.setattr(module, "K3D", copy_tools(folder))
    daemon = make_daemon(big)
    shutil.chown(daemon.folder, USER, USER)
    shutil.chown(daemon.config, USER, USER)
    daemon.start(prefix=["runuser", "-u", USER, "--"])
    daemon.activate("batch")
    seen = set()

    def over():
        status = daemon.status()
        if status["phase"] == "loading":
            seen.add(status["load"]["done_bytes"])
        return status["phase"] in ("ready", "failed")

    wait_for(over, 180, "the end of the load")
    assert daemon.status()["phase"] == "ready", daemon.log_text()
    assert len(seen) >= 2, "the bytes were seen growing"
    daemon.down()
    for one in subprocess.run(["pgrep", "-u", USER, "-x", "k3d"], capture_output=True, text=True).stdout.split():
        os.kill(int(one), 15)
    daemon.process.wait(30)


def test_a_user_outside_the_group_is_told_which_to_join(daemon):
    daemon.folder.chmod(0o755)
    done = subprocess.run(["runuser", "-u", "nobody", "--", "/bin/sh", "-c",
                           f"exec {copy_tools(daemon.folder).parent}/k3ctl --url unix:{daemon.control} status"],
                          capture_output=True, text=True)
    assert done.returncode == 3
    assert "group" in done.stderr
    assert isinstance(daemon, Daemon) and grp.getgrgid(0).gr_name == "root"
