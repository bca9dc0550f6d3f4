"""What `make demo` runs: the agent in the box at work on a copy of the example workspace.

It shows a plan, a diff, a command's output, a permission given and one refused, and the end of each turn. The workspace
is a copy in a temporary folder; nothing else is touched.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WORKSPACE = Path(__file__).parent / "workspace"
TURN_TIMEOUT = "60"

STEPS = (
    ("It makes a plan of the TODO comments, and goes through it.", "todo", "--deny"),
    (
        "It changes a file, when it is allowed to: the permission, and the diff.",
        'replace nest/birds.py "# TODO: starlings need 45" "\\"starling\\": 45,"',
        "--allow",
    ),
    ("It runs a command, whose output streams as it comes.", "run python3 -m nest 45", "--allow"),
    ("It asks before it writes. This time the answer is no.", "write README.md\n```\ngone\n```", "--deny"),
)


def main() -> int:
    roost = Path(sys.executable).with_name("roost")
    with tempfile.TemporaryDirectory(prefix="roost-demo-") as folder:
        copy = Path(folder) / "workspace"
        shutil.copytree(WORKSPACE, copy)
        for number, (what, prompt, policy) in enumerate(STEPS, 1):
            print(
                f"\n{'=' * 100}\n{number}. {what}\n   $ roost run wren {prompt.splitlines()[0]!r} {policy}\n",
                flush=True,
            )
            command = [str(roost), "run", "wren", prompt, policy, "--cwd", str(copy), "--timeout", TURN_TIMEOUT]
            status = subprocess.run(command, check=False).returncode
            if status != 0:
                print(f"the demo did not work: roost run ended with {status}", file=sys.stderr)
                return status
    print(f"\n{'=' * 100}\nThat was the demo. Try it on files of your own:  .venv/bin/roost run wren todo")
    return 0


if __name__ == "__main__":
    sys.exit(main())
