"""The services as a whole: methods, policy, bounds, their end."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from roost.errors import ConfigError, RpcError
from roost.process.services import ClientServices, ServiceLimits, allow_all, command_environment

METHODS = {
    "fs/read_text_file",
    "fs/read",
    "fs/write_text_file",
    "fs/write",
    "fs/read_dir",
    "fs/readDir",
    "terminal/create",
    "terminal/output",
    "terminal/read",
    "terminal/wait_for_exit",
    "terminal/waitForExit",
    "terminal/kill",
    "terminal/release",
    "terminal/close",
    "terminal/write",
    "terminal/resize",
}


async def test_every_spelling_is_known(services):
    assert services.methods == METHODS


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("params", [None, [], "x", 7])
async def test_params_have_to_be_an_object(services, refusal, method, params):
    error = await refusal(services, method, params)
    assert (error.code, error.message) == (-32602, f"{method} requires object params")


@pytest.mark.parametrize("method", sorted(method for method in METHODS if method.startswith("fs/")))
async def test_files_need_a_path(services, refusal, method):
    error = await refusal(services, method, {"content": ""})
    assert (error.code, error.message) == (-32602, f"{method} requires a string path")


@pytest.mark.parametrize("method", ["fs/delete", "terminal", "session/prompt", ""])
async def test_case_70_an_unknown_method_is_named(services, refusal, method):
    error = await refusal(services, method, {})
    assert (error.code, error.message, error.data) == (-32601, f"Method not found: {method}", {"method": method})


async def test_by_default_nothing_is_written(make, workspace, refusal):
    error = await refusal(make(may_write=None), "fs/write_text_file", {"path": f"{workspace}/a/f", "content": "x"})
    assert (error.code, error.message) == (-32603, f"not allowed: writing {workspace}/a/f")
    assert os.listdir(workspace) == []


async def test_the_host_is_asked_for_the_file_that_would_be_written(make, workspace):
    asked = []

    async def ask(path):
        asked.append(path)
        return True

    (workspace / "sub").mkdir()
    (workspace / "link").symlink_to("sub")
    await make(may_write=ask).handle("fs/write", {"path": f"{workspace}/link/../link/f", "content": "x"})
    assert asked == [f"{workspace}/sub/f"]
    assert (workspace / "sub/f").read_text() == "x"


async def test_a_decision_that_fails_writes_nothing(make, workspace, refusal):
    async def ask(path):
        raise ValueError("out of order")

    error = await refusal(make(may_write=ask), "fs/write", {"path": f"{workspace}/f", "content": "x"})
    assert "not allowed" in error.message
    assert os.listdir(workspace) == []


@pytest.mark.parametrize(
    ("options", "capabilities"),
    [
        ({}, {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": False}),
        ({"may_write": allow_all}, {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False}),
        ({"may_run": allow_all}, {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": True}),
    ],
)
async def test_an_agent_is_told_what_it_may_hope_for(make, options, capabilities):
    assert make(**{"may_write": None, "may_run": None, **options}).capabilities == capabilities


async def test_open_requests_are_bounded(make, refusal):
    services = make(limits=ServiceLimits(open_requests=2))
    made = await services.handle("terminal/create", {"command": "sleep 600"})
    waiting = [asyncio.create_task(services.handle("terminal/wait_for_exit", made)) for _ in range(2)]
    await asyncio.sleep(0)
    error = await refusal(services, "terminal/output", made)
    assert (error.code, error.data) == (-32603, {"limit": "open_requests", "bound": 2})
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    assert (await services.handle("terminal/output", made))["output"] == ""


async def test_content_that_waits_for_permission_is_bounded(make, workspace, refusal):
    asked, answer = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def ask(path):
        asked.set()
        return await answer

    services = make(may_write=ask, limits=ServiceLimits(waiting_write_bytes=10))
    writing = asyncio.create_task(services.handle("fs/write", {"path": f"{workspace}/f", "content": "123456"}))
    await asked.wait()
    error = await refusal(services, "fs/write", {"path": f"{workspace}/g", "content": "12345"})
    assert error.data == {"limit": "waiting_write_bytes", "bound": 10}
    answer.set_result(True)
    assert await writing == {}
    assert await services.handle("fs/write", {"path": f"{workspace}/g", "content": "1234567890"}) == {}


async def test_what_goes_wrong_inside_is_logged_and_not_told(services, workspace, refusal, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr("roost.process.services.files.read", broken)
    error = await refusal(services, "fs/read", {"path": f"{workspace}/f"})
    assert (error.code, error.message, error.data) == (-32603, "internal error", None)
    assert "a secret of ours" in caplog.text


async def test_closed_services_serve_nothing(services, workspace, refusal):
    await services.close()
    for method, params in (("fs/read", {"path": f"{workspace}/f"}), ("terminal/create", {"command": "true"})):
        error = await refusal(services, method, params)
        assert (error.code, error.message) == (-32603, "the session's services are closed")


async def test_closing_answers_what_waits_for_a_disk_that_does_not_answer(services, workspace, refusal, monkeypatch):
    started, answered = threading.Event(), threading.Event()

    def hang(*args):
        started.set()
        answered.wait(10)
        return "late"

    monkeypatch.setattr("roost.process.services.files.read", hang)
    first = asyncio.create_task(services.handle("fs/read", {"path": f"{workspace}/f"}))
    second = asyncio.create_task(services.handle("fs/read", {"path": f"{workspace}/f"}))
    await asyncio.get_running_loop().run_in_executor(None, started.wait, 10)
    async with asyncio.timeout(5):
        await services.close()
        with pytest.raises(RpcError, match="closed"):
            await second
    answered.set()
    assert await first == {"content": "late"}


async def test_a_caller_that_stops_waiting_is_cancelled_as_usual(make, workspace):
    asked = asyncio.Event()

    async def ask(path):
        asked.set()
        await asyncio.Event().wait()
        return True

    services = make(may_write=ask)
    writing = asyncio.create_task(services.handle("fs/write", {"path": f"{workspace}/f", "content": "x"}))
    await asked.wait()
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing


async def test_a_caller_that_stops_waiting_for_a_disk_is_cancelled_as_usual(services, workspace, monkeypatch):
    started, answered = threading.Event(), threading.Event()

    def hang(*args):
        started.set()
        answered.wait(10)
        return "late"

    monkeypatch.setattr("roost.process.services.files.read", hang)
    reading = asyncio.create_task(services.handle("fs/read", {"path": f"{workspace}/f"}))
    await asyncio.get_running_loop().run_in_executor(None, started.wait, 10)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    answered.set()


async def test_terminals_can_end_without_the_services(services, workspace, refusal):
    made = await services.handle("terminal/create", {"command": "sleep 600"})
    await services.release_terminals()
    assert (await refusal(services, "terminal/output", made)).code == -32602
    assert await services.handle("terminal/create", {"command": "true"}) == {"terminalId": "acp-terminal-2"}


async def test_services_are_a_context_manager(workspace, runner):
    async with ClientServices([str(workspace)], may_run=allow_all, runner=runner) as services:
        await services.handle("terminal/create", {"command": "sleep 600"})
    assert runner.processes == []


@pytest.mark.parametrize("roots", [[], ["relative"], "/a"])
async def test_services_need_roots(roots):
    with pytest.raises(ConfigError):
        ClientServices(roots)


async def test_what_to_do_about_a_missing_file_is_one_of_two_words(workspace, runner):
    with pytest.raises(ConfigError):
        ClientServices([str(workspace)], missing_file="ignore", runner=runner)


def test_commands_get_little_of_our_environment():
    own = {"PATH": "/bin", "LANG": "C", "TOKEN": "x", "ROOST_PROCESS": "a:1"}
    assert command_environment(own) == {"PATH": "/bin", "LANG": "C"}
