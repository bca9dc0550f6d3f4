"""Which environment an agent gets: a few names of the daemon's own, the manifest's, the request's.

The daemon's environment holds its user's secrets, so it is not passed on; what a program needs to find its files,
its language, its certificates and its way to the network is. Anything else an agent needs is written in its
manifest, in the request, or in the list of names that the operator lets through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

# `*` stands for any ending. Certificates and proxies: without them an agent behind a company's proxy cannot reach
# its model.
INHERITED_NAMES = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "TERM",
    "XDG_*",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
)

# Set whatever anybody else says (sidecar case 19).
FORCED = {"AGENTOS_KEEP_STDIN_OPEN": "1"}

# Python decides by locale how to read its stdin, and ACP is UTF-8.
PYTHON_DEFAULTS = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}


def agent_environment(
    own: Mapping[str, str],
    manifest: Mapping[str, str],
    request: Mapping[str, str],
    *,
    python: bool = False,
    let_through: Iterable[str] = (),
) -> dict[str, str]:
    """The complete environment of one agent.

    The request wins over the manifest, the manifest over what is inherited from `own`, and FORCED over everybody.
    `let_through` holds further names to inherit, of the same form as INHERITED_NAMES. `python`: a Python program,
    so UTF-8 has to be asked for.
    """
    patterns = (*INHERITED_NAMES, *let_through)
    env = {name: value for name, value in own.items() if _is_named(name, patterns)}
    if python:
        env.update(PYTHON_DEFAULTS)
    env.update(manifest)
    env.update(request)
    env.update(FORCED)
    return env


def inherited_names(own: Mapping[str, str], let_through: Iterable[str] = ()) -> frozenset[str]:
    """The variables with a value that every agent gets from `own`."""
    patterns = (*INHERITED_NAMES, *let_through)
    return frozenset(name for name, value in own.items() if value and _is_named(name, patterns))


def _is_named(name: str, patterns: tuple[str, ...]) -> bool:
    return any(name == pattern or ("*" in pattern and fnmatchcase(name, pattern)) for pattern in patterns)
