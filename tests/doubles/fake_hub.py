#!/usr/bin/env python3
"""A hub of models on this machine, in the real one's shape: lists of files in pages with Link headers, resolve answers
that send to a second host with a signed address, byte ranges there. Counts every byte, and plays faults.

Serves the folders of a directory as quants of one repository: DIRECTORY/QUANT/FILE.gguf. Two hosts are two ports. With a
certificate both speak TLS. Also a proxy that tunnels, for whoever tests HTTPS_PROXY.

As a program: fake_hub.py DIRECTORY prints the endpoint and serves until it is ended.
"""
import argparse
import hashlib
import http.server
import json
import pathlib
import re
import select
import socket
import ssl
import threading
import urllib.parse

REPO, REVISION = "some/Model-GGUF", "a0836360ce58dfec088d966a97f2ddc8a606279b"


class Faults:
    """What goes wrong from now on. Every list is used up from its front, one entry a request."""

    def __init__(self):
        self.tree = []  # (status, headers, body) in place of a page
        self.cdn = []  # "reset", "cut", "whole", "wrong_range", "other_version", or (status, headers, body)
        self.commit = REVISION  # what resolve says
        self.needs_token = None  # 401 without it


class FakeHub:
    def __init__(self, directory, page=7, certificate=None):
        self.directory, self.page, self.faults = pathlib.Path(directory), page, Faults()
        self.lock = threading.Lock()
        self.clear_counts()
        self.hub = self._serve(HubHandler, certificate)
        self.cdn = self._serve(CdnHandler, certificate)
        scheme, host = ("https", "localhost") if certificate else ("http", "127.0.0.1")
        self.endpoint = f"{scheme}://{host}:{self.hub.server_address[1]}"
        self.cdn_endpoint = f"{scheme}://{host}:{self.cdn.server_address[1]}"

    def clear_counts(self):
        self.requests, self.sent_bytes, self.tokens_at_cdn, self.most_at_once, self.at_once = [], 0, [], 0, 0

    def _serve(self, handler, certificate):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.daemon_threads, server.owner = True, self
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def stop(self):
        for server in (self.hub, self.cdn):
            server.shutdown()
            server.server_close()

    def files(self, folder):
        return sorted(p for p in (self.directory / folder).rglob("*") if p.is_file())

    def next_of(self, faults):
        with self.lock:
            return faults.pop(0) if faults else None


def sha256_of(path) -> str:
    """Not of the bytes, which may be a terabyte of holes: the same for the same name and size."""
    return hashlib.sha256(f"{path.name} {path.stat().st_size}".encode()).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    @property
    def owner(self) -> FakeHub:
        return self.server.owner

    def do_GET(self):
        with self.owner.lock:
            self.owner.requests.append(f"{type(self).__name__[:3].lower()} {self.path}")
            self.owner.at_once += 1
            self.owner.most_at_once = max(self.owner.most_at_once, self.owner.at_once)
        try:
            self.get()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with self.owner.lock:
                self.owner.at_once -= 1

    def answer(self, status, headers, body):
        body = body if isinstance(body, bytes) else body.encode()
        with self.owner.lock:  # before the last byte is out: whoever has it may ask for the count
            self.owner.sent_bytes += len(body)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class HubHandler(Handler):
    def get(self):
        wanted = self.owner.faults.needs_token
        if wanted and self.headers.get("Authorization") != f"Bearer {wanted}":
            return self.answer(401, {}, '{"error": "Invalid username or password."}')
        url = urllib.parse.urlsplit(self.path)
        tree = re.fullmatch(rf"/api/models/{REPO}/tree/{REVISION}(?:/(.*))?", url.path)
        if tree:
            return self.tree(urllib.parse.unquote(tree.group(1) or ""), urllib.parse.parse_qs(url.query))
        resolve = re.fullmatch(rf"/{REPO}/resolve/{REVISION}/(.+)", url.path)
        if resolve:
            return self.resolve(urllib.parse.unquote(resolve.group(1)))
        return self.answer(404, {"X-Error-Code": "RepoNotFound"}, '{"error": "Repository not found"}')

    def tree(self, folder, query):
        fault = self.owner.next_of(self.owner.faults.tree)
        if fault:
            return self.answer(*fault)
        files = self.owner.files(folder)
        if not files:
            return self.answer(404, {"X-Error-Code": "EntryNotFound"}, '{"error": "not found"}')
        begin = int(query.get("cursor", ["0"])[0])
        page = files[begin:begin + self.owner.page]
        headers = {"Content-Type": "application/json; charset=utf-8"}
        if begin + self.owner.page < len(files):
            after = f"{self.owner.endpoint}{self.path.split('?')[0]}?recursive=true&cursor={begin + self.owner.page}"
            headers["Link"] = f'<{after}>; rel="next"'
        return self.answer(200, headers, json.dumps([self.item(p) for p in page]))

    def item(self, path):
        size, sha256 = path.stat().st_size, sha256_of(path)
        return {"type": "file", "oid": "0" * 40, "size": size, "path": str(path.relative_to(self.owner.directory)),
                "lfs": {"oid": sha256, "size": size, "pointerSize": 136}, "xetHash": "1" * 64}

    def resolve(self, name):
        path = self.owner.directory / name
        if not path.is_file():
            return self.answer(404, {"X-Error-Code": "EntryNotFound"}, "Entry not found")
        location = f"{self.owner.cdn_endpoint}/{urllib.parse.quote(name)}?Signature=s3cr3t-signature&Expires=1"
        return self.answer(302, {"Location": location, "X-Repo-Commit": self.owner.faults.commit,
                                 "X-Linked-Size": str(path.stat().st_size), "X-Linked-Etag": f'"{sha256_of(path)}"'}, "")


class CdnHandler(Handler):
    def get(self):
        self.owner.tokens_at_cdn += [t for t in [self.headers.get("Authorization")] if t]
        url = urllib.parse.urlsplit(self.path)
        path = self.owner.directory / urllib.parse.unquote(url.path[1:])
        fault = self.owner.next_of(self.owner.faults.cdn)
        if isinstance(fault, tuple):
            return self.answer(*fault)
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.close_connection = True
            return None
        return self.part(path, fault)

    def part(self, path, fault):
        begin, end = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
        size = path.stat().st_size
        if begin >= size:
            return self.answer(416, {"Content-Range": f"bytes */{size}"}, "")
        end = min(end, size - 1)
        etag = '"other"' if fault == "other_version" else f'"{sha256_of(path)[:32]}"'
        changed = "If-Range" in self.headers and self.headers["If-Range"] != etag
        if fault == "whole" or changed:
            return self.whole(path, size, etag)
        with path.open("rb") as file:
            file.seek(begin)
            body = file.read(end - begin + 1)
        shift = 1 if fault == "wrong_range" else 0
        headers = {"ETag": etag, "Content-Range": f"bytes {begin + shift}-{end + shift}/{size}"}
        if fault == "cut":
            self.close_connection = True
            return self.answer(206, {**headers, "Content-Length": str(len(body))}, body[:len(body) // 2])
        return self.answer(206, headers, body)

    def whole(self, path, size, etag):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", etag)
        self.end_headers()
        with path.open("rb") as file:
            while piece := file.read(65536):
                self.wfile.write(piece)
                with self.owner.lock:
                    self.owner.sent_bytes += len(piece)


class TunnelProxy(threading.Thread):
    """Takes CONNECT and nothing else, and keeps whom it was asked for."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.heads = []
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.tunnel, args=(client,), daemon=True).start()

    def tunnel(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        self.heads.append(head.decode())
        host, port = head.split()[1].decode().rsplit(":", 1)
        with client, socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            ends = {client: server, server: client}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    piece = end.recv(65536)
                    if not piece:
                        return
                    ends[end].sendall(piece)

    def stop(self):
        self.socket.close()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("directory", type=pathlib.Path)
    hub = FakeHub(p.parse_args().directory)
    print(hub.endpoint, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
