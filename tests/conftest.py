"""One profile of random tests for people, one for CI: there the same examples every time, so that red means changed."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("people")
settings.register_profile("ci", derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "people")
