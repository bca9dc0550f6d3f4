"""C-36, SES-1"""

from __future__ import annotations

import pytest

from roost.acp.paths import is_absolute


@pytest.mark.parametrize("path", ["/x", "/", "C:\\x", "c:/x", "\\\\srv\\share", "\\\\srv\\s", "//x"])
def test_posix_drive_and_unc_paths_are_absolute(path: str) -> None:
    assert is_absolute(path)


@pytest.mark.parametrize("path", ["", "x", "./x", "../x", "~/x", "C:x", "C:", "\\x", "\\\\srv", "file:///x", " /x"])
def test_everything_else_is_relative(path: str) -> None:
    assert not is_absolute(path)
