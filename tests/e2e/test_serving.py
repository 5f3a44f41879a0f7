"""The main job: activate, answer plain and streamed, deactivate."""
import concurrent.futures
import http.client
import json
import socket
import time

from daemon import UnixConnection, wait_for


def test_activate_chat_deactivate(daemon):
    assert daemon.ask("GET", "/v1/models").json()["data"][0]["state"] == "stopped"
    refused = daemon.chat()
    assert refused.status == 503 and refused.json()["error"]["code"] == "no_active_profile"
    assert daemon.get("/readyz").status == 503

    operation = daemon.up("batch", reason="a test")
    assert [s["name"] for s in operation["steps"]] == ["prepare", "free_vram", "start", "load", "probe"]
    status = daemon.status()
    assert (status["phase"], status["active_profile"], status["target_profile"]) == ("ready", "batch", "batch")
    assert daemon.get("/readyz").status == 200

    plain = daemon.chat(seed=1, temperature=0)
    assert plain.status == 200
    assert plain.json()["choices"][0]["message"]["role"] == "assistant"
    assert daemon.ask("GET", "/v1/models").json()["data"][0]["state"] == "active"

    daemon.down()
    assert daemon.status()["phase"] == "stopped"
    assert daemon.containers() == []
    assert daemon.get("/readyz").status == 503


def test_the_container_is_confined_and_labelled(daemon):
    daemon.up("batch")
    container = daemon.inspect()
    host, labels = container["HostConfig"], container["Config"]["Labels"]
    assert host["ReadonlyRootfs"] and host["Init"] and host["CapDrop"] == ["ALL"]
    assert host["NetworkMode"] == "host" and host["IpcMode"] == "host"
    assert host["RestartPolicy"]["Name"] == "no" and "no-new-privileges" in host["SecurityOpt"]
    assert host["LogConfig"]["Config"]["max-size"]
    assert {m["Destination"]: m["RW"] for m in container["Mounts"]}["/models"] is False
    for label in ("instance", "profile", "attempt", "boot_id", "spec", "launch"):
        assert labels[f"k3d.{label}"]
    assert container["Config"]["Cmd"][-len(daemon.status()["engine"]["argv"]):] == daemon.status()["engine"]["argv"]


def test_streamed_answers_come_piece_by_piece(daemon):
    daemon.up("batch")
    connection = http.client.HTTPConnection("127.0.0.1", daemon.proxy_port, timeout=60)
    body = {"model": "batch", "stream": True, "max_tokens": 64, "ignore_eos": True, "messages": [{"role": "user", "content": "Hi"}]}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.status == 200 and response.getheader("X-Accel-Buffering") == "no"
    arrivals, events = [], []
    for line in response:
        if line.startswith(b"data: "):
            arrivals.append(time.monotonic())
            events.append(line[6:].strip())
    assert events[-1] == b"[DONE]" and len(events) > 10
    assert arrivals[-1] - arrivals[0] > 0.005, "the whole answer came at once"


def direct(daemon, body) -> bytes:
    """The engine's own answer, past the proxy."""
    attempt = daemon.status()["engine"]["attempt"]
    connection = UnixConnection(daemon.state / "attempts" / str(attempt) / "engine.sock", 120)
    connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse().read()
    connection.close()
    return answer


def content_of(raw: bytes) -> str:
    return "".join(json.loads(line[6:])["content"] for line in raw.decode().splitlines() if line.startswith("data: {"))


def test_64_parallel_answers_equal_direct_ones(daemon):
    daemon.up("batch")

    def body(i):
        return {"prompt": f"prompt number {i}", "n_predict": 12, "seed": i, "temperature": 0.8, "stream": True,
                "cache_prompt": False}

    expected = [content_of(direct(daemon, body(i))) for i in range(64)]
    assert len(set(expected)) > 8, "the prompts give different answers"

    def through_proxy(i):
        connection = http.client.HTTPConnection("127.0.0.1", daemon.proxy_port, timeout=120)
        connection.request("POST", "/completion", json.dumps(body(i)), {"Content-Type": "application/json"})
        raw = connection.getresponse().read()
        connection.close()
        return content_of(raw)

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        got = list(pool.map(through_proxy, range(64)))
    assert got == expected


def slots_busy(daemon) -> int:
    attempt = daemon.status()["engine"]["attempt"]
    connection = UnixConnection(daemon.state / "attempts" / str(attempt) / "engine.sock")
    connection.request("GET", "/slots")
    slots = json.loads(connection.getresponse().read())
    connection.close()
    return sum(1 for slot in slots if slot["is_processing"])


def test_F52_a_client_that_leaves_frees_its_slot(daemon):
    daemon.up("batch")
    body = json.dumps({"prompt": "x", "n_predict": 3000, "stream": True, "ignore_eos": True}).encode()
    with socket.create_connection(("127.0.0.1", daemon.proxy_port)) as client:
        client.sendall(b"POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert client.recv(64).startswith(b"HTTP/1.1 200")
        wait_for(lambda: slots_busy(daemon) == 1, 10, "a busy slot")
    wait_for(lambda: slots_busy(daemon) == 0, 5, "the slot's release")
    wait_for(lambda: daemon.status()["proxy"]["in_flight"] == 0, 5, "the count's return to zero")


def test_switching_profiles_and_names_of_others(daemon):
    daemon.up("batch")
    other = daemon.chat(model="chatty")
    assert other.status == 409 and other.json()["error"]["code"] == "profile_not_active"
    assert daemon.chat(model="gpt-4").status == 200, "a name that no profile has goes to the active one"
    first = daemon.containers()
    daemon.up("interactive")
    assert len(daemon.containers()) == 1 and daemon.containers() != first
    assert daemon.chat(model="chatty").status == 200


def test_the_same_request_again_answers_with_what_goes_on(daemon):
    operation = daemon.activate("batch")
    again = daemon.call("POST", "/api/v1/profiles/batch/activate", {})
    assert again.status == 200 and again.json()["id"] == operation["id"]
    daemon.wait_operation(operation["id"])
    running = daemon.call("POST", "/api/v1/profiles/batch/activate")
    assert running.status == 200


def test_dry_run_says_what_would_start_and_starts_nothing(daemon):
    answer = daemon.call("POST", "/api/v1/profiles/batch/activate", {"dry_run": True})
    assert answer.status == 200, answer.text
    assert "--model" in json.dumps(answer.json())
    assert daemon.containers(running=False) == [] and daemon.status()["phase"] == "stopped"


def test_split_models_and_load_progress(make_daemon, big):
    daemon = make_daemon(big).start()
    operation = daemon.activate("batch")
    seen = set()

    def loading():
        status = daemon.status()
        seen.add(round(status["load"]["fraction"], 2))
        return status["phase"] in ("ready", "failed")

    wait_for(loading, 120, "the end of the load")
    assert daemon.wait_operation(operation["id"])["state"] == "succeeded", daemon.log_text()
    assert len(seen) >= 2, f"progress was seen moving: {sorted(seen)}"


def test_sharded_model(make_daemon, split):
    daemon = make_daemon(split).start()
    daemon.up("batch")
    assert daemon.chat().status == 200
