"""A unix socket before Docker's that passes everything, but stands still at one request that a test names.

What can't be hit by chance is made so: k3d killed between two calls, an answer that never comes."""
import pathlib
import re
import select
import socket
import threading


class Gate:
    """`hold(pattern)`: the next request whose first line matches stands still, before Docker has it, or with
    answer=True after Docker did it (a refusal is passed) and before its answer is passed. `held` is set then; `open()` lets all pass,
    `open(drop=True)` breaks that one off."""

    def __init__(self, path: pathlib.Path, docker="/var/run/docker.sock"):
        self.path, self.docker, self.pattern, self.answer, self.drop = path, docker, None, False, False
        self.held, self.passing = threading.Event(), threading.Event()
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def host(self):
        return f"unix://{self.path}"

    def hold(self, pattern, answer=False):
        self.held.clear()
        self.passing.clear()
        self.pattern, self.answer = re.compile(pattern.encode()), answer

    def open(self, drop=False):
        self.pattern, self.drop = None, drop
        self.passing.set()

    def close(self):
        self.open()
        self.server.close()
        self.path.unlink(missing_ok=True)

    def accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.relay, args=(client,), daemon=True).start()

    def relay(self, client):
        up = socket.socket(socket.AF_UNIX)
        try:
            up.connect(self.docker)
            self.pump(client, up)
        except OSError:
            pass
        finally:
            client.close()
            up.close()

    def pump(self, client, up):
        while True:
            for source in select.select([client, up], [], [])[0]:
                data = source.recv(65536)
                if not data:
                    return
                caught = source is client and self.pattern and self.pattern.match(data.split(b"\r\n", 1)[0])
                if caught and not self.answer:
                    self.stand()
                (up if source is client else client).sendall(data)
                if caught and self.answer:
                    done = up.recv(65536)
                    if done.startswith(b"HTTP/1.1 2"):
                        self.stand()
                    client.sendall(done)

    def stand(self):
        self.pattern = None
        self.held.set()
        self.passing.wait()
        if self.drop:
            raise OSError("dropped")
