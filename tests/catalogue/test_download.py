"""Downloads: bounds, redirects, and what is said about a URL."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

import pytest

from roost.catalogue.download import download, fetch, is_private_way, shown_url
from roost.catalogue.settings import CatalogueSettings
from roost.errors import CatalogueError, LimitError
from tests.catalogue.rig import Web, web

SETTINGS = CatalogueSettings(connect_timeout=10.0)


def test_a_file_is_fetched_and_its_sha256_told(served: Web, tmp_path: Path) -> None:
    body = b"x" * 300_000
    served.pages["/file"] = body
    assert fetch(f"{served.url}/file", 300_000, "n", SETTINGS) == body
    assert download(f"{served.url}/file", tmp_path / "f", SETTINGS) == hashlib.sha256(body).hexdigest()
    assert (tmp_path / "f").read_bytes() == body


@pytest.mark.parametrize("announced", ["", None])
def test_a_file_that_is_too_long_is_not_taken_whether_it_says_so_or_not(served: Web, announced: str | None) -> None:
    headers = {} if announced is None else {"Content-Length": announced}
    served.pages["/file"] = (200, headers, b"x" * 1000)
    with pytest.raises(LimitError) as caught:
        fetch(f"{served.url}/file", 999, "some.setting", SETTINGS)
    assert (caught.value.limit, caught.value.bound) == ("some.setting", 999)


def test_a_file_that_ends_early_is_an_error(served: Web) -> None:
    served.pages["/file"] = (200, {"Content-Length": "1000"}, b"x" * 10)
    with pytest.raises(CatalogueError) as caught:
        fetch(f"{served.url}/file", 2000, "n", SETTINGS)
    assert caught.value.code == "unreachable"


@pytest.mark.parametrize("target", ["file:///etc/hostname", "ftp://127.0.0.1/x", "data:,x"])
def test_a_redirect_to_something_else_than_the_web_is_not_followed(served: Web, target: str) -> None:
    served.pages["/file"] = (302, {"Location": target}, b"")
    with pytest.raises(CatalogueError) as caught:
        fetch(f"{served.url}/file", 2000, "n", SETTINGS)
    assert caught.value.code == "unreachable"


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/x"])
def test_nothing_but_http_and_https_is_opened(url: str) -> None:
    with pytest.raises(CatalogueError):
        fetch(url, 2000, "n", SETTINGS)


def test_a_redirect_is_followed_and_another_server_is_not_told_the_password(served: Web) -> None:
    with web() as other:
        other.pages["/there"] = b"found"
        served.pages["/here"] = (302, {"Location": f"{other.url}/there"}, b"")
        url = served.url.replace("http://", "http://user:geheim@") + "/here"
        assert fetch(url, 2000, "n", SETTINGS) == b"found"
        assert served.asked[0][1]["Authorization"].startswith("Basic ")
        assert "Authorization" not in other.asked[0][1]


def test_a_redirect_within_a_server_keeps_the_password(served: Web) -> None:
    served.pages["/there"] = b"found"
    served.pages["/here"] = (302, {"Location": f"{served.url}/there"}, b"")
    assert fetch(served.url.replace("http://", "http://user:geheim@") + "/here", 2000, "n", SETTINGS) == b"found"
    first, second = (headers["Authorization"] for _, headers in served.asked)
    assert first == second


def test_a_password_and_a_query_are_never_shown(served: Web) -> None:
    url = served.url.replace("http://", "http://user:geheim@") + "/none?token=geheim#geheim"
    assert shown_url(url) == f"{served.url}/none"
    with pytest.raises(CatalogueError, match="404") as caught:
        fetch(url, 2000, "n", SETTINGS)
    assert "geheim" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_server_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(CatalogueError) as caught:
            fetch(url, 2000, "n", CatalogueSettings(connect_timeout=0.1))
    assert caught.value.code == "unreachable"


def test_a_server_that_is_not_there_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with pytest.raises(CatalogueError) as caught:
        fetch(f"http://127.0.0.1:{port}/", 2000, "n", SETTINGS)
    assert caught.value.code == "unreachable"


def test_a_download_that_takes_too_long_is_given_up(served: Web) -> None:
    served.pages["/file"] = b"x"
    with pytest.raises(CatalogueError, match="download_timeout"):
        fetch(f"{served.url}/file", 2000, "n", CatalogueSettings(download_timeout=0.0))


@pytest.mark.parametrize(
    ("url", "private"),
    [
        ("https://example.org/x", True),
        ("http://127.0.0.1:8/x", True),
        ("http://localhost/x", True),
        ("http://example.org/x", False),
        ("http://127.0.0.1@example.org/x", False),
        ("http://127.0.0.1.example.org/x", False),
    ],
)
def test_a_way_that_nobody_can_change(url: str, private: bool) -> None:
    assert is_private_way(url) is private
