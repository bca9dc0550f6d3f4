"""What the tests of installing share: a web server on loopback, packages made by hand, and a machine to install on."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import os
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roost.catalogue.install import Installer
from roost.catalogue.machine import Machine
from roost.catalogue.registry import Registry, shipped_registry
from roost.catalogue.settings import CatalogueSettings
from roost.process.packages import Packages
from roost.process.runtimes.base import RuntimeSettings

NODE_PROGRAM = b"#!/usr/bin/env node\nconsole.log('agent', process.argv.slice(2).join(' '))\n"


@dataclass
class Web:
    """A server on loopback. `pages`: path -> body, or (status, headers, body). What was asked is in `asked`.

    `stumbles`: path -> how often it says 500 first.
    """

    url: str = ""
    pages: dict[str, bytes | tuple[int, Mapping[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    stumbles: dict[str, int] = field(default_factory=dict)


@contextmanager
def web() -> Iterator[Web]:
    served = Web()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append((self.path, dict(self.headers)))
            path = self.path.partition("?")[0]
            page = served.pages.get(path, (404, {}, b"nothing"))
            if served.stumbles.get(path, 0):
                served.stumbles[path] -= 1
                page = (500, {}, b"")
            status, headers, body = page if isinstance(page, tuple) else (200, {}, page)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tar_of(files: Mapping[str, bytes | tarfile.TarInfo], mode: str = "w:gz") -> bytes:
    """Names to contents, or to a member of any kind."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return out.getvalue()


def serve_npm(served: Web, name: str, versions: Mapping[str, Mapping[str, Any]], **files: bytes) -> None:
    """A package of npm at a server: what npm asks for, and the tarballs. `versions`: version -> its package.json."""
    described = {}
    for version, more in versions.items():
        manifest = {"name": name, "version": version, "bin": {name: "index.js"}, **more}
        tarball = tar_of(
            {
                "package/package.json": json.dumps(manifest).encode(),
                "package/index.js": NODE_PROGRAM,
                **{f"package/{path}": content for path, content in files.items()},
            }
        )
        path = f"/{name}/-/{name}-{version}.tgz"
        served.pages[path] = tarball
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        described[version] = {**manifest, "dist": {"tarball": served.url + path, "integrity": integrity}}
    newest = list(versions)[-1]
    served.pages[f"/{name}"] = json.dumps(
        {"name": name, "dist-tags": {"latest": newest}, "versions": described}
    ).encode()


def npm_environment(served: Web, home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "npm_config_registry": served.url,
        "npm_config_cache": str(home / "npm-cache"),
        "npm_config_fetch_retries": "0",
    }


def wheel(folder: Path, name: str, version: str, *, scripts: str = "", requires: str = "", code: str = "") -> Path:
    """A wheel with one module, written by hand."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files = {
        f"{module}.py": code or "import sys\n\n\ndef main():\n    print('agent', *sys.argv[1:])\n",
        f"{info}/METADATA": metadata + (f"Requires-Python: {requires}\n" if requires else ""),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{scripts or f'{name} = {module}:main'}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{module}-{version}-py3-none-any.whl"
    path.write_bytes(zip_of({path: text.encode() for path, text in files.items()}))
    return path


def pip_environment(wheels: Path, home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_NO_CACHE_DIR": "1",
    }


def machine(environment: Mapping[str, str] | None = None, python: str = sys.executable, **settings: Any) -> Machine:
    env = {"PATH": os.environ["PATH"]} if environment is None else environment
    return Machine(env, CatalogueSettings(**settings), RuntimeSettings(python=python, path=env["PATH"]))


@dataclass
class House:
    """A root, and what was said while things were installed in it."""

    root: Path
    said: list[str] = field(default_factory=list)

    def installer(
        self, on: Machine | None = None, registry: Callable[[], Registry] = shipped_registry, **more: Any
    ) -> Installer:
        return Installer(self.root, on or machine(), registry, self.said.append, **more)

    def packages(self) -> Packages:
        return Packages((self.root,), shipped={})

    def left_behind(self) -> list[str]:
        """What is in the places where things are made."""
        staging = self.root / "pkgs" / ".staging"
        return sorted(os.listdir(staging)) if staging.exists() else []


def agent_folder(path: Path, version: str = "1", program: str = "#!/bin/sh\necho agent $@\n", **agent: Any) -> Path:
    """A folder with a manifest, as the reference packs agents."""
    (path / "bin").mkdir(parents=True, exist_ok=True)
    manifest = {"name": "whatever", "version": version, "agent": {"acpEntrypoint": "its-program", **agent}}
    (path / "agentos-package.json").write_text(json.dumps(manifest))
    (path / "bin" / "its-program").write_text(program)
    return path
