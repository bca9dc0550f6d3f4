"""What a user may ask to be installed, told apart by how it is written.

gemini, gemini@0.61.0            an agent of the registry
npm:NAME[@VERSION]               a package of npm
pypi:NAME[EXTRAS][==VERSION]     a package of PyPI
./folder                         a folder here
'node ./agent.js --acp'          a command line; so is the path of a file
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import Literal

from roost.catalogue.entry import ENTRY_ID, is_version
from roost.catalogue.npm import split_npm
from roost.catalogue.pypi import split_pypi
from roost.errors import CatalogueError


@dataclass(frozen=True, slots=True)
class Spec:
    """`name` is the entry's id, the package, the folder's absolute path, or the command. `version` "": the newest."""

    kind: Literal["registry", "npm", "pypi", "folder", "command"]
    name: str
    version: str = ""


def parse_spec(text: str) -> Spec:
    """CatalogueError `unknown` for what is none of these."""
    if text.startswith("npm:"):
        return Spec("npm", *split_npm(text.removeprefix("npm:")))
    if text.startswith("pypi:"):
        return Spec("pypi", *split_pypi(text.removeprefix("pypi:")))
    path = os.path.expanduser(text)
    if ("/" in text or text in (".", "..", "~")) and os.path.isdir(path):
        return Spec("folder", os.path.realpath(path))
    if "/" in text and os.path.isfile(path):  # also a path with spaces in it
        return Spec("command", shlex.quote(path))
    if any(character.isspace() for character in text.strip()):
        return Spec("command", text)
    if text.startswith("@"):
        raise CatalogueError(f"{text!r} is no agent's name; a package of npm is written npm:{text}", "unknown")
    if "/" in text:
        raise CatalogueError(f"there is no folder and no program {text}", "unknown")
    name, at, version = text.partition("@")
    if not ENTRY_ID.match(name) or (at and not is_version(version)):
        raise CatalogueError(
            f"{text!r} is neither an agent's name nor npm:PACKAGE, pypi:PACKAGE, a folder or a command line", "unknown"
        )
    return Spec("registry", name, version)
