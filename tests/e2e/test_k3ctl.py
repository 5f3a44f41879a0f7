"""The command line tool against the real daemon."""
import json
import subprocess
import threading

from daemon import K3CTL, wait_for


def test_up_status_chat_logs_down(daemon):
    up = daemon.ctl("up", "batch", "--reason", "a test")
    assert up.returncode == 0, up.stdout + up.stderr
    assert json.loads(daemon.ctl("status", "--json").stdout)["phase"] == "ready"
    assert "batch" in daemon.ctl("status").stdout
    profiles = daemon.ctl("profiles").stdout
    assert "batch" in profiles and "interactive" in profiles
    chat = daemon.ctl("chat", "--max-tokens", "4", "Hello")
    assert chat.returncode == 0, chat.stderr
    logs = daemon.ctl("logs", "--tail", "200")
    assert "listening on" in logs.stdout, logs.stdout + logs.stderr
    ops = daemon.ctl("ops")
    assert "activate" in ops.stdout
    down = daemon.ctl("down")
    assert down.returncode == 0 and daemon.status()["phase"] == "stopped"


def test_dry_run_prints_a_docker_run_line(daemon):
    done = daemon.ctl("up", "batch", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "docker run" in done.stdout and "--read-only" in done.stdout and "llama-server" in done.stdout
    assert daemon.containers(running=False) == []


def test_failures_are_told_with_advice_and_exit_status(daemon):
    assert daemon.ctl("up", "nonsense").returncode == 1
    assert daemon.ctl("no-such-command").returncode == 2
    gone = subprocess.run([str(K3CTL), "--url", f"unix:{daemon.folder}/none.sock", "status"], capture_output=True, text=True)
    assert gone.returncode == 3 and "start" in gone.stderr


def test_events_tell_a_whole_activation(daemon):
    seen = []
    follower = subprocess.Popen([str(K3CTL), "--url", f"unix:{daemon.control}", "--json", "events"],
                                stdout=subprocess.PIPE, text=True)
    threading.Thread(target=lambda: seen.extend(follower.stdout), daemon=True).start()
    daemon.up("batch")
    wait_for(lambda: any('"ready"' in line for line in seen), 10, "the event that tells it is ready")
    follower.terminate()
    follower.wait(10)


def test_long_poll_answers_at_the_change_and_304_without_one(daemon):
    status = daemon.status()
    still = daemon.get(f"/api/v1/status?wait=1&since={status['revision']}")
    assert still.status in (200, 304)
    operation = daemon.activate("batch")
    daemon.wait_operation(operation["id"])
    assert daemon.get(f"/api/v1/status?wait=30&since={status['revision']}").status == 200
    assert daemon.get("/api/v1/status?wait=61").status == 400


def test_F96_no_secret_in_any_output(make_daemon):
    daemon = make_daemon().start()
    daemon.up("batch")
    token = (daemon.folder / "token").read_text().strip()
    outputs = [daemon.log_text(), daemon.get("/api/v1/status").text, daemon.docker("inspect", *daemon.containers()),
               open(f"/proc/{daemon.process.pid}/cmdline").read(), daemon.ctl("logs").stdout]
    assert all(token not in text for text in outputs)
