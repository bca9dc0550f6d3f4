"""Writes the API reference: a page for each public module, made of its docstrings and types. `make docs`.

python -m tools.make_docs [FOLDER]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "docs"

# What a program written with Roost imports. Everything below that is for reading, see docs/architecture.md.
PUBLIC = (
    "roost",
    "roost.errors",
    # writing an agent
    "roost.sdk.agent",
    "roost.sdk.turn",
    "roost.sdk.agent_session",
    "roost.sdk.agent_tool",
    "roost.sdk.agent_terminal",
    "roost.sdk.agent_plan",
    "roost.sdk.agent_config",
    "roost.sdk.agent_auth",
    "roost.sdk.agent_providers",
    "roost.sdk.agent_nes",
    "roost.sdk.agent_link",
    "roost.sdk.permissions",
    "roost.sdk.elicitation",
    "roost.sdk.forms",
    "roost.sdk.diffs",
    "roost.sdk.command",
    "roost.sdk.store",
    "roost.sdk.store_directory",
    "roost.sdk.mcp_channel",
    "roost.sdk.text_document",
    "roost.sdk.serve",
    # writing a client
    "roost.sdk.connect",
    "roost.sdk.client",
    "roost.sdk.session",
    "roost.sdk.client_turn",
    "roost.sdk.client_updates",
    "roost.sdk.client_permissions",
    "roost.sdk.client_elicitation",
    "roost.sdk.client_auth",
    "roost.sdk.client_providers",
    "roost.sdk.client_limits",
    "roost.sdk.nes",
    "roost.sdk.documents",
    "roost.sdk.mcp",
    "roost.sdk.mcp_package",
    # both
    "roost.sdk.connection",
    "roost.sdk.incoming",
    "roost.sdk.limits",
    "roost.acp.v2",
    "roost.acp.fold",
    "roost.acp.view",
    "roost.acp.view_entries",
    "roost.acp.view_terminal",
    "roost.acp.view_text",
    "roost.wire.model",
    "roost.wire.decode",
    "roost.transport.messages",
    "roost.transport.child",
    # putting agents into a product
    "roost.host",
    "roost.host.services",
    "roost.process.services",
    # driving the sidecar without a daemon
    "roost.sidecar.engine",
    "roost.sidecar.events",
    "roost.sidecar.commands",
    "roost.sidecar.launch",
    "roost.sidecar.limits",
    "roost.sidecar.resumable",
    "roost.sidecar.gen.messages",
    # checking agents
    "roost.testing.conformance",
    # a model for tests
    "roost.testing.llm",
)


def make(folder: Path) -> None:
    """Raises what importing a module raises, and every warning of the generator."""
    import pdoc
    import pdoc.render

    pdoc.render.configure(docformat="markdown", footer_text="Roost", search=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "ignore", "The module specification .* adds a module"
        )  # a package brings its parts along
        # An annotation it cannot evaluate is shown as it stands.
        warnings.filterwarnings("ignore", "Error parsing type annotation")
        pdoc.pdoc(*PUBLIC, output_directory=folder)


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else FOLDER
    try:
        import pdoc  # noqa: F401 - only whether it is there
    except ImportError:
        print("the API reference needs pdoc: pip install 'roost[docs]'", file=sys.stderr)
        return 1
    make(folder)
    print(f"the API reference is in {folder / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
