"""The `[catalogue]` part of the configuration: where agents come from and go to, and what bounds that."""

from __future__ import annotations

import msgspec


class CatalogueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How `roost install` and its siblings run."""

    registry: str = ""  # URL or path of a registry, looked at before the one that ships with Roost
    root: str = ""  # where agents are installed; empty: roost in $XDG_DATA_HOME
    npm: str = "npm"  # a name on PATH, or a path
    registry_bytes: int = 8 * 1024 * 1024  # of a registry -> it is not read
    archive_bytes: int = 1024 * 1024 * 1024  # of one download -> the agent is not installed
    unpacked_bytes: int = 4 * 1024 * 1024 * 1024  # of what an archive or a folder holds -> the same
    unpacked_files: int = 200_000  # in an archive or a folder -> the same
    connect_timeout: float = 15.0  # a server that says nothing -> the download is given up
    download_timeout: float = 1800.0  # one download -> it is given up
    lookup_timeout: float = 120.0  # npm or pip, asked which version there is -> the agent is not installed
    install_timeout: float = 1800.0  # npm or pip at work -> they are ended
    lock_timeout: float = 60.0  # another roost that works on the same agent -> an error that names it
