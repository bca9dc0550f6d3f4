"""What the tests of the services share: a workspace, and services on it that are closed afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from roost.errors import RpcError
from roost.process.services import ClientServices, ServiceLimits, allow_all


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "workspace"
    made.mkdir()
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory beside the workspace, with a secret in it."""
    made = tmp_path.resolve() / "outside"
    made.mkdir()
    (made / "file").write_text("SECRET")
    return made


@pytest.fixture
async def make(workspace: Path, runner: Any) -> AsyncIterator[Callable[..., ClientServices]]:
    """Makes services on the workspace that allow everything, unless told otherwise."""
    made: list[ClientServices] = []

    def make_services(**options: Any) -> ClientServices:
        options = {"may_write": allow_all, "may_run": allow_all, "runner": runner, **options}
        made.append(ClientServices([str(workspace)], **options))
        return made[-1]

    yield make_services
    for services in made:
        await services.close()


@pytest.fixture
def services(make: Callable[..., ClientServices]) -> ClientServices:
    return make(limits=ServiceLimits(kill_grace=0.2))


async def _refusal(services: ClientServices, method: str, params: Any) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await services.handle(method, params)
    return caught.value


@pytest.fixture
def refusal() -> Callable[..., Any]:
    """Awaits a request that has to be refused; the error."""
    return _refusal
