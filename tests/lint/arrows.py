#!/usr/bin/env python3
"""Checks the arrows between the rooms: which folder may include which. Prints each wrong include and exits 1."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLOOR = ["daemon/base", "daemon/model", "daemon/ports"]
# Room -> rooms it may include besides itself. The longest matching room of a file counts.
ALLOWED = {
    "daemon/base": [],
    "daemon/model": ["daemon/base"],
    "daemon/ports": ["daemon/base", "daemon/model"],
    "daemon/engine": ["daemon/base", "daemon/model"],
    "daemon/planning": ["daemon/base", "daemon/model"],
    "daemon/doctor": ["daemon/base", "daemon/model"],
    "daemon/hub": FLOOR + ["daemon/planning"],
    "daemon/forecast": FLOOR + ["daemon/hub", "daemon/planning"],
    "daemon/operations": FLOOR,
    "daemon/lifecycle": FLOOR + ["daemon/engine", "daemon/hub", "daemon/operations", "daemon/planning"],
    "daemon/adapters": FLOOR,
    "config": FLOOR,
    "docker_driver": FLOOR,
    "api/contract": FLOOR,
    "api/http": FLOOR + ["api/contract"],
    "api/proxy": FLOOR + ["api/http", "api/contract", "daemon/lifecycle"],
    "api/control": FLOOR + ["api/http", "api/contract", "daemon/lifecycle", "daemon/operations"],
    "api/client": FLOOR + ["api/contract"],
    "api/k3ctl": FLOOR + ["api/client", "api/contract", "daemon/planning"],
    "daemon/app": FLOOR + ["daemon", "config", "docker_driver", "api"],
    "api": FLOOR,
}
FORBIDDEN_HEADERS = ["common", "util", "helpers"]


def room_of(path: str) -> str | None:
    fitting = [room for room in ALLOWED if path == room or path.startswith(room + "/")]
    return max(fitting, key=len) if fitting else None


def mistakes_of(file: pathlib.Path) -> list[str]:
    name = str(file.relative_to(ROOT))
    room = room_of(name)
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = re.match(r'#include "([^"]+)"', line)
        if not match:
            continue
        target = match.group(1)
        there = room_of(target)
        if there is None or there == room:
            continue
        if room is None or not any(there == ok or there.startswith(ok + "/") for ok in ALLOWED[room]):
            found.append(f"{name}:{number}: {room} may not include {target}")
        if file.suffix == ".hpp" and "nlohmann/json.hpp" in line:
            found.append(f"{name}:{number}: keep nlohmann/json.hpp out of headers")
    return found


def main() -> int:
    files = [f for top in ("daemon", "config", "docker_driver", "api") for f in sorted((ROOT / top).rglob("*.?pp"))]
    mistakes = [m for f in files for m in mistakes_of(f)]
    mistakes += [f"{f.relative_to(ROOT)}: no room is called that" for f in files if f.stem in FORBIDDEN_HEADERS]
    print("\n".join(mistakes) or f"{len(files)} files, every include follows the arrows")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
