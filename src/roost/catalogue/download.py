"""Fetching a URL: http and https only, with a bound on size and time, and nothing secret in what is said about it."""

from __future__ import annotations

import base64
import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from roost.catalogue.settings import CatalogueSettings
from roost.errors import CatalogueError, LimitError

_CHUNK_BYTES: Final = 256 * 1024


def is_url(text: str) -> bool:
    return text.lower().startswith(("https://", "http://"))


def shown_url(url: str) -> str:
    """A URL as it may be shown and stored: without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(a URL that cannot be read)"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_private_way(url: str) -> bool:
    """Whether nobody between here and there can change what comes: https, or this machine itself."""
    parts = urlsplit(url)
    return parts.scheme.lower() == "https" or parts.hostname in ("localhost", "127.0.0.1", "::1")


def fetch(url: str, limit: int, name: str, settings: CatalogueSettings) -> bytes:
    """The whole of a small file. CatalogueError `unreachable`; LimitError, called `name`, beyond `limit` bytes."""
    data = bytearray()
    for chunk in _chunks(url, limit, name, settings):
        data += chunk
    return bytes(data)


def download(url: str, target: Path, settings: CatalogueSettings) -> str:
    """A file onto the disk; its sha256. Errors as `fetch`."""
    digest = hashlib.sha256()
    with open(target, "xb") as file:
        for chunk in _chunks(url, settings.archive_bytes, "catalogue.archive_bytes", settings):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def _chunks(url: str, limit: int, name: str, settings: CatalogueSettings) -> Iterator[bytes]:
    shown = shown_url(url)
    deadline = time.monotonic() + settings.download_timeout
    too_long = LimitError(name, limit, f"{shown} has more than {limit} bytes ({name})")
    try:
        with _opener().open(_request(url), timeout=settings.connect_timeout) as answer:
            length = answer.headers.get("Content-Length")
            if length is not None and length.isdigit() and int(length) > limit:
                raise too_long
            size = 0
            while chunk := answer.read1(_CHUNK_BYTES):
                size += len(chunk)
                if size > limit:
                    raise too_long
                if time.monotonic() > deadline:
                    raise CatalogueError(
                        f"{shown} took more than {settings.download_timeout:g} s (catalogue.download_timeout)",
                        "unreachable",
                    )
                yield chunk
            if length is not None and length.isdigit() and size < int(length):
                raise CatalogueError(f"{shown} ended after {size} of {length} bytes", "unreachable")
    except urllib.error.HTTPError as error:
        error.close()
        raise CatalogueError(
            f"{shown} cannot be had: the server says {error.code} {error.reason}", "unreachable"
        ) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise CatalogueError(f"{shown} cannot be had: {reason}", "unreachable") from None


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows within http and https, never from https to http, and tells no other server the password."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        before, after = urlsplit(req.full_url), urlsplit(newurl)
        if after.scheme not in ("http", "https") or (before.scheme == "https" and after.scheme == "http"):
            fp.close()
            raise urllib.error.URLError(f"it redirects to {shown_url(newurl)}, which is not followed")
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and (before.scheme, before.netloc) != (after.scheme, after.netloc):
            request.remove_header("Authorization")
        return request


def _opener() -> urllib.request.OpenerDirector:
    """No more handlers than these: a `file:` or `ftp:` URL cannot be opened by it."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _request(url: str) -> urllib.request.Request:
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(  # noqa: S310  # the opener knows http and https alone
        urlunsplit((parts.scheme, host, parts.path, parts.query, "")), headers={"User-Agent": "roost"}
    )
    if at:
        token = base64.b64encode(unquote(user).encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    return request
