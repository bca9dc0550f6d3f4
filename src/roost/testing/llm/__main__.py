"""`python -m roost.testing.llm [--port N]`: the scripted model as a program; prints its address, ends with Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from roost.testing.llm.server import ModelServer


async def serve(port: int) -> None:
    async with ModelServer(port=port) as model:
        print(model.url, flush=True)
        await asyncio.get_running_loop().create_future()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m roost.testing.llm", description="A language model for tests.")
    parser.add_argument("--port", type=int, default=0, help="where to listen on 127.0.0.1 (default: a free one)")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
