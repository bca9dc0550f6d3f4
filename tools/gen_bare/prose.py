"""What each type is for, in one sentence; and which fields a repr withholds.

A schema cannot say either. A type without a sentence is refused, so none is forgotten when a schema grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MESSAGES: Final = {
    "JsonUtf8": "JSON text: carried as it is, parsed by whoever needs it.",
    "AcpRuntimeKind": "What runs the agent program.",
    "AcpCreateSessionRequest": "Start an agent and open a session on it.",
    "AcpSessionRequest": "Send one ACP request to the agent of a session.",
    "AcpListAgentsRequest": "Ask which agents can be started; `reserved` means nothing.",
    "AcpAgentEntry": "One agent that has a package; `installed` says whether its entrypoint is there to run.",
    "AcpListAgentsResponse": "The agents that have a package.",
    "AcpGetSessionStateRequest": "Ask what is known of a session.",
    "AcpCloseSessionRequest": "End a session and its agent.",
    "AcpResumeSessionRequest": "Bring a stored session back to life on a new agent process.",
    "AcpDeliverAgentOutputRequest": "Hand over agent output that the caller read itself (the resumable path).",
    "AcpRequest": "What a caller asks of the sidecar.",
    "AcpSessionCreatedResponse": "The session is open; what its agent said of itself.",
    "AcpSessionRpcResponse": "The agent's JSON-RPC response, whole, result or error.",
    "AcpSessionStateResponse": "What is known of a session and of the process behind it.",
    "AcpSessionClosedResponse": "The session has ended.",
    "AcpSessionResumedResponse": "The session lives again; `mode` is native or fallback.",
    "AcpErrorResponse": "The request failed; callers decide by `code`.",
    "AcpPendingResponse": "No answer yet: deliver the output of `process_id` to get on (the resumable path).",
    "AcpResponse": "What the sidecar answers.",
    "AcpSessionEvent": "One JSON-RPC notification of a session's agent.",
    "AcpAgentStderrEvent": "Bytes the agent wrote to standard error; `session_id` is empty before there is one.",
    "AcpAgentExitedEvent": "The agent ended unasked; `restart` tells what became of the session.",
    "AcpEvent": "What the sidecar reports unasked.",
    "AcpPermissionCallback": "The agent asks for permission: the caller decides.",
    "AcpHostRequestCallback": "The agent asks for anything else: the caller serves it.",
    "AcpCallback": "What the sidecar asks of a caller.",
    "AcpPermissionCallbackResponse": "The caller's decision.",
    "AcpHostRequestCallbackResponse": "The caller's JSON-RPC response; none: the caller serves no such request.",
    "AcpCallbackResponse": "What a caller answers.",
}

FRAMES: Final = {
    "Hello": "A caller's first frame: who it is and what entitles it.",
    "Welcome": "The daemon's answer to Hello: the connection is open.",
    "Refused": "A frame-level no; with id 0 it concerns the connection, which then closes.",
    "Request": "A caller's request: `payload` is one AcpRequest.",
    "Response": "The answer to the request of the same id: `payload` is one AcpResponse.",
    "Event": "News of a session: `payload` is one AcpEvent.",
    "Callback": "The daemon's request to a caller: `payload` is one AcpCallback.",
    "CallbackResponse": "The answer to the callback of the same id: `payload` is one AcpCallbackResponse.",
    "Frame": "Whatever travels on a connection, either way.",
}

SECRET_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "AcpCreateSessionRequest": frozenset({"env", "mcpServers"}),  # keys, and headers with keys
    "AcpResumeSessionRequest": frozenset({"env"}),
    "Hello": frozenset({"token"}),
    "Request": frozenset({"payload"}),  # may hold the above
}
