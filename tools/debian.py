"""Installs the Debian packages some tests need, where that is possible; else says which they are. Never fails.

The tests that need them are skipped without them, visibly, and fail in CI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


def has(program: str) -> Callable[[], bool]:
    return lambda: shutil.which(program) is not None


# What for, how to tell that it is there, the packages.
NEEDS: tuple[tuple[str, Callable[[], bool], tuple[str, ...]], ...] = (
    ("building a WASI agent", has("clang"), ("clang",)),
    ("building a WASI agent", has("wasm-ld"), ("lld",)),
    ("building a WASI agent", Path("/usr/include/wasm32-wasi").exists, ("wasi-libc", "libclang-rt-dev-wasm32")),
    ("running JavaScript agents", has("node"), ("nodejs",)),
    ("installing JavaScript agents", has("npm"), ("npm",)),
)


def main() -> int:
    missing = [package for _, there, packages in NEEDS if not there() for package in packages]
    if not missing:
        return 0
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        print(f"some tests will be skipped; they need: {' '.join(command)}", file=sys.stderr)
        return 0
    print(f"installing Debian packages for the tests: {' '.join(missing)}", file=sys.stderr)
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)  # type: ignore[call-overload]
    if subprocess.run(command, check=False, **quiet).returncode != 0:  # type: ignore[call-overload]
        print("that did not work; the tests that need them are skipped", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
