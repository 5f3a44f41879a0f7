#!/usr/bin/env python3
"""docs/faults.md names tests that exist. Owns nothing else: what the tests show is theirs."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main() -> int:
    page = (ROOT / "docs" / "faults.md").read_text()
    named = re.findall(r"`([\w/]+\.(?:py|cpp))::(\w+)`", page)
    missing = [f"{path}::{test}" for path, test in named
               if not (file := ROOT / "tests" / path).exists() or not re.search(rf"\b{test}\b", file.read_text())]
    for one in missing:
        print(f"docs/faults.md names a test that isn't there: {one}")
    return 1 if missing or len(named) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
