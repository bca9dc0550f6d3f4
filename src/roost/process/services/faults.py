"""What the services answer when they do not do what was asked: one JSON-RPC error each (sidecar 5.3).

The texts name what the agent itself sent, and the system's word for what is wrong with it; nothing else of this
machine. `data.code` is the system's name of the error, where there is one.
"""

from __future__ import annotations

import errno
import os

from roost.errors import LimitError, RpcError

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002

# Of what an agent sent, in one sentence of ours. Characters.
_SHOWN_CHARACTERS = 200


class Missing(RpcError):
    """There is no such file."""

    def __init__(self, path: str) -> None:
        super().__init__(RESOURCE_NOT_FOUND, f"Resource not found: {path}", {"path": path, "code": "ENOENT"})


def unknown_method(method: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}", {"method": method})


def bad_params(text: str) -> RpcError:
    return RpcError(INVALID_PARAMS, text)


def unknown_terminal(terminal_id: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"ACP terminal not found: {shown(terminal_id)}")


def outside(path: str) -> RpcError:
    """Not in the roots. The same whether it exists or not."""
    return RpcError(INVALID_PARAMS, f"path is outside the session's roots: {path}", {"path": path})


def changed(path: str) -> RpcError:
    """Somebody put something else in its place while it was being used."""
    return RpcError(INTERNAL_ERROR, f"path changed while it was being used: {path}", {"path": path, "code": "ESTALE"})


def unusable(path: str, why: str, code: int) -> RpcError:
    return RpcError(INTERNAL_ERROR, f"{why}: {path}", {"path": path, "code": errno.errorcode[code]})


def failed(path: str, error: OSError) -> RpcError:
    """The system refused it."""
    number = error.errno or 0
    reason = os.strerror(number) if number else "input/output error"
    return RpcError(INTERNAL_ERROR, f"{reason}: {path}", {"path": path, "code": errno.errorcode.get(number, "EIO")})


def denied(what: str) -> RpcError:
    """The host's policy, or the person it asked, said no."""
    return RpcError(INTERNAL_ERROR, f"not allowed: {shown(what)}", {"code": "EACCES"})


def limit_reached(error: LimitError) -> RpcError:
    return RpcError(INTERNAL_ERROR, str(error), {"limit": error.limit, "bound": error.bound})


def internal() -> RpcError:
    return RpcError(INTERNAL_ERROR, "internal error")


def closed() -> RpcError:
    return RpcError(INTERNAL_ERROR, "the session's services are closed")


def shown(text: str) -> str:
    """Some text of the agent's, short enough for a sentence."""
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
