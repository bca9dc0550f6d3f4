"""Kills an installation before every change it makes on the disk, and looks at what is left.

Run with a folder, and `first` or `next`. The child that installs ends itself, without any clean-up, before its n-th
change, as Python's audit events tell it. Afterwards
the agent is as it was before or as it should be, and another installation sets everything right.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from roost.errors import SidecarError
from tests.catalogue.rig import House, agent_folder

KILLED = 9
CHANGES = ("os.rename", "os.symlink", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.truncate", "os.utime")


def main(base: Path, scene: str) -> None:
    house, step = House(base / "root"), 0
    status = KILLED
    while status == KILLED:
        step += 1
        house = House(base / f"root{step}")
        folder = agent_folder(base / "mine", "1")
        if scene == "next":
            house.installer().install(str(folder))
            agent_folder(base / "mine", "2")
        status = killed_at(step, house, folder)
        check(house, scene, done=status == 0)
        house.installer().install(str(folder))
        check(house, scene, done=True)
        left = sorted(os.listdir(house.root / "pkgs" / "mine"))
        assert not house.left_behind(), house.left_behind()
        assert not [name for name in left if name.startswith(".")], left
    assert status == 0, status
    print(step)


def check(house: House, scene: str, *, done: bool) -> None:
    newest, before = ("2", "1") if scene == "next" else ("1", None)
    try:
        package = house.packages().find("mine")
    except SidecarError as error:
        if before is None and not done:
            return
        raise AssertionError(error.__notes__) from error
    assert package.version == newest or (package.version == before and not done), package
    assert package.missing is None, package.missing


def killed_at(step: int, house: House, folder: Path) -> int:
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    seen = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event in CHANGES or (event == "open" and int(str(arguments[2])) & (os.O_WRONLY | os.O_RDWR)):
            seen += 1
            if seen == step:
                os._exit(KILLED)

    sys.addaudithook(count)
    try:
        house.installer().install(str(folder))
    except BaseException:
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
