"""Makes the checkout's own venv and installs Roost into it with what the tests need. Standard library only.

Debian splits venv from Python: without `python3-venv` the standard module cannot install pip. Then, as root, the
package is installed; otherwise the one command that helps is printed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

MINIMUM = (3, 11)
DEV_INSTALL = ("-e", ".[dev]")


def main(folder: str) -> int:
    if sys.version_info < MINIMUM:
        found = sys.version.split()[0]
        print(f"Roost needs Python {MINIMUM[0]}.{MINIMUM[1]} or later; this is {found}", file=sys.stderr)
        return 1
    target = Path(folder)
    python = target / "bin" / "python"
    if not python.exists():
        make_venv(target)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *DEV_INSTALL]
    return subprocess.run(command, check=False).returncode


def make_venv(target: Path) -> None:
    try:
        venv.create(target, with_pip=True)
    except (subprocess.CalledProcessError, SystemExit, ModuleNotFoundError):
        shutil.rmtree(target, ignore_errors=True)
        install_debian_venv()
        venv.create(target, with_pip=True)


def install_debian_venv() -> None:
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        sys.exit(f"this Python cannot make a venv; install it first: sudo apt-get install {package}")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    subprocess.run(["apt-get", "install", "-y", "-qq", package], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
