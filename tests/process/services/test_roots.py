"""Where paths lead: inside the roots, or nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.errors import ConfigError, LimitError, RpcError
from roost.process.services.faults import Missing
from roost.process.services.limits import ServiceLimits
from roost.process.services.roots import Roots


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two roots and something beside them, with links in every direction."""
    real = tmp_path.resolve()
    for folder in ("one/sub/deep", "two", "beside"):
        (real / folder).mkdir(parents=True)
    (real / "one/file").write_text("inside")
    (real / "one/sub/file").write_text("inside, below")
    (real / "two/file").write_text("inside the other")
    (real / "beside/secret").write_text("outside")
    links = {
        "one/to_sub": "sub",
        "one/to_file": "sub/file",
        "one/sub/up": "..",
        "one/sub/up_absolute": str(real / "one"),
        "one/to_two": str(real / "two"),
        "one/sub/to_two_relative": "../../two",
        "one/to_new": "sub/new",
        "one/out": str(real / "beside"),
        "one/out_relative": "../beside",
        "one/out_file": "../beside/secret",
        "one/out_missing": "/nowhere/at/all",
        "one/etc": "/etc/passwd",
        "one/around": "around",
        "one/chain0": "file",
        "door": "one",
    }
    for name, target in links.items():
        (real / name).symlink_to(target)
    return real


@pytest.fixture
def roots(tree: Path) -> Roots:
    return Roots([str(tree / "one"), str(tree / "two")])


def where(roots: Roots, path: str) -> tuple[str, tuple[str, ...]]:
    with roots.find(path) as place:
        # The directory is really the one that the path names.
        named = place.path if not place.rest else place.path[: -len("/" + "/".join(place.rest))] or "/"
        assert os.path.samestat(os.fstat(place.directory), os.stat(named))
        return place.path, place.rest


@pytest.mark.parametrize(
    ("path", "found", "rest"),
    [
        ("one", "one", ()),
        ("one/", "one", ()),
        ("one/.", "one", ()),
        ("one//sub/./deep", "one/sub/deep", ()),
        ("one/file", "one/file", ("file",)),
        ("one/new", "one/new", ("new",)),
        ("one/sub/new/er/file", "one/sub/new/er/file", ("new", "er", "file")),
        ("one/file/below", "one/file/below", ("file", "below")),
        ("one/sub/../file", "one/file", ("file",)),
        ("one/to_sub/file", "one/sub/file", ("file",)),
        ("one/to_file", "one/sub/file", ("file",)),
        ("one/to_new", "one/sub/new", ("new",)),
        ("one/sub/up/file", "one/file", ("file",)),
        ("one/to_sub/../file", "one/file", ("file",)),
        ("one/sub/up_absolute/sub/deep", "one/sub/deep", ()),
        ("one/to_two/file", "two/file", ("file",)),
        ("one/sub/to_two_relative/file", "two/file", ("file",)),
        ("one/../two/file", "two/file", ("file",)),
        ("two/../../{here}/one/file", "one/file", ("file",)),
    ],
)
def test_a_path_that_stays_in_the_roots_is_found_where_the_system_finds_it(tree, roots, path, found, rest):
    path = path.replace("{here}", tree.name)
    assert where(roots, f"{tree}/{path}") == (f"{tree}/{found}", rest)
    if os.path.exists(f"{tree}/{path}"):
        assert os.path.realpath(f"{tree}/{path}") == f"{tree}/{found}"


@pytest.mark.parametrize(
    "path",
    [
        "{tree}",
        "{tree}/",
        "{tree}/beside/secret",
        "{tree}/beside/nothing",
        "{tree}/one/../beside/secret",
        "{tree}/one/..",
        "{tree}/one/sub/../../beside/secret",
        "{tree}/one/out",
        "{tree}/one/out/secret",
        "{tree}/one/out/new",
        "{tree}/one/out_relative/secret",
        "{tree}/one/out_file",
        "{tree}/one/out_missing",
        "{tree}/one/etc",
        "{tree}/one/sub/up/out/secret",
        "{tree}/one/out/../one/file",
        "{tree}/oneself",
        "{tree}/on",
        "/",
        "/..",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "//etc/passwd",
    ],
)
def test_b17_a_path_that_leaves_the_roots_is_refused_whether_or_not_it_exists(tree, roots, path):
    path = path.replace("{tree}", str(tree))
    with pytest.raises(RpcError) as caught:
        roots.find(path)
    assert (caught.value.code, caught.value.message) == (-32602, f"path is outside the session's roots: {path}")


def test_nothing_outside_the_roots_is_looked_at(tree, roots, monkeypatch):
    looked = []
    for name in ("open", "stat", "readlink"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda path, *a, _real=real, **k: looked.append(path) or _real(path, *a, **k))
    for path in (f"{tree}/beside/secret", f"{tree}/one/out/secret", "/etc/passwd"):
        with pytest.raises(RpcError):
            roots.find(path)
    assert "secret" not in looked
    assert "beside" not in looked
    assert not [path for path in looked if path.startswith("/") and path != "/"]


@pytest.mark.parametrize("path", ["one/new/../file", "one/file/../file", "one/new/", "one/file/", "one/file/."])
def test_going_up_from_nothing_or_into_a_file_is_not_found(tree, roots, path):
    with pytest.raises(Missing):
        roots.find(f"{tree}/{path}")


def test_a_root_may_be_spelled_through_a_link_and_so_may_its_files(tree):
    roots = Roots([str(tree / "door")])
    assert roots.paths == (str(tree / "one"),)
    assert where(roots, f"{tree}/door/sub/file") == (f"{tree}/one/sub/file", ("file",))
    assert where(roots, f"{tree}/one/sub/file") == (f"{tree}/one/sub/file", ("file",))
    with pytest.raises(RpcError):
        roots.find(f"{tree}/door/../beside/secret")


def test_a_link_to_a_root_as_the_host_spells_it_is_followed(tree):
    (tree / "two/back").symlink_to(tree / "door" / "file")
    roots = Roots([str(tree / "door"), str(tree / "two")])
    assert where(roots, f"{tree}/two/back") == (f"{tree}/one/file", ("file",))


def test_a_root_in_a_root_stays_where_it_was_when_the_way_it_was_spelled_changes(tree):
    (tree / "one/inner").symlink_to("../two")
    roots = Roots([str(tree / "one"), str(tree / "one/inner")])
    (tree / "one/inner").unlink()
    (tree / "one/inner").symlink_to("../beside")
    assert where(roots, f"{tree}/one/inner/file") == (f"{tree}/two/file", ("file",))


def test_the_whole_file_system_can_be_a_root(tree):
    roots = Roots(["/"])
    assert where(roots, "/") == ("/", ())
    assert where(roots, "/..") == ("/", ())
    assert where(roots, f"{tree}/one/out/secret") == (f"{tree}/beside/secret", ("secret",))


def test_a_root_within_a_root_that_becomes_a_link_leads_nowhere(tree):
    roots = Roots([str(tree / "one"), str(tree / "one/sub")])
    (tree / "one/sub").rename(tree / "one/moved")
    (tree / "one/sub").symlink_to(tree / "beside")
    with pytest.raises(RpcError) as caught:
        roots.find(f"{tree}/one/sub/secret")
    assert "outside" in caught.value.message


def test_a_lone_root_that_becomes_a_link_is_not_followed(tree):
    roots = Roots([str(tree / "one/sub")])
    (tree / "one/sub").rename(tree / "one/moved")
    (tree / "one/sub").symlink_to(tree / "beside")
    with pytest.raises(RpcError) as caught:
        roots.find(f"{tree}/one/sub/secret")
    assert "changed" in caught.value.message


def test_a_directory_above_a_root_that_becomes_a_link_is_not_followed(tree):
    roots = Roots([str(tree / "one/sub")])
    (tree / "one").rename(tree / "elsewhere")
    (tree / "one").symlink_to(tree / "elsewhere")
    with pytest.raises(RpcError) as caught:
        roots.find(f"{tree}/one/sub/file")
    assert "changed" in caught.value.message


def test_a_root_may_be_removed_and_made_again(tree):
    roots = Roots([str(tree / "two")])
    (tree / "two/file").unlink()
    (tree / "two").rmdir()
    with pytest.raises(FileNotFoundError):
        roots.find(f"{tree}/two/file")
    (tree / "two").mkdir()
    assert where(roots, f"{tree}/two/file") == (f"{tree}/two/file", ("file",))


def test_links_that_go_round_are_given_up(tree, roots):
    with pytest.raises(RpcError) as caught:
        roots.find(f"{tree}/one/around")
    assert caught.value.data["code"] == "ELOOP"


def test_a_chain_of_links_is_followed_as_far_as_the_system_would(tree, roots):
    for at in range(1, 45):
        (tree / f"one/chain{at}").symlink_to(f"chain{at - 1}")
    assert where(roots, f"{tree}/one/chain39") == (f"{tree}/one/file", ("file",))
    with pytest.raises(RpcError):
        roots.find(f"{tree}/one/chain40")


def test_the_length_of_a_path_and_of_the_way_are_bounded(tree):
    roots = Roots([str(tree / "one")], ServiceLimits(path_bytes=500, path_steps=50))
    with pytest.raises(LimitError) as caught:
        roots.find(f"{tree}/one/" + "é" * 250)
    assert caught.value.limit == "path_bytes"
    with pytest.raises(LimitError) as caught:
        roots.find(f"{tree}/one/" + "sub/../" * 30)
    assert caught.value.limit == "path_steps"


def test_no_descriptor_is_left_open_whatever_happens(tree, roots):
    paths = [f"{tree}/one/{name}" for name in os.listdir(tree / "one")] + ["/", f"{tree}/one/sub/../../two/file"]
    before = len(os.listdir("/proc/self/fd"))
    for path in paths:
        try:
            roots.find(path).__exit__(None, None, None)
        except RpcError:
            continue
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("paths", [[], ["relative"], ["/ok", ""], ["/a\0b"], "/a"])
def test_roots_have_to_be_absolute_and_at_least_one(paths):
    with pytest.raises(ConfigError):
        Roots(paths)


def test_a_directory_that_may_be_entered_but_not_read_is_no_obstacle(tree, roots):
    (tree / "one/sub").chmod(0o311)
    assert where(roots, f"{tree}/one/sub/file") == (f"{tree}/one/sub/file", ("file",))
    (tree / "one/sub").chmod(0o755)
