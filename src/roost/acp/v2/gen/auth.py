"""How a user logs in to an agent.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, TYPE_CHECKING, TypeAlias

from roost.acp.calls import Request
from roost.acp.v2.gen.ids import AuthMethodId
from roost.acp.v2.gen.mcp import EnvVariable
from roost.wire.model import Items, JsonObject, Lenient, Model, OpenUnion, Unknown


class AuthEnvVar(Model, frozen=True, kw_only=True):
    """An environment variable a login needs.

    Unstable. Schema: #/$defs/AuthEnvVar.
    """

    name: str
    label: Lenient[str | None] = None
    secret: Lenient[bool] = True
    optional: Lenient[bool] = False
    meta: Lenient[JsonObject | None] = None


class AuthMethodEnvVar(Model, frozen=True, kw_only=True, tag_field="type", tag="env_var"):
    """Log in by starting the agent with environment variables set.

    Unstable. Schema: #/$defs/AuthMethodEnvVar.
    """

    method_id: AuthMethodId
    name: str
    description: Lenient[str | None] = None
    vars: Lenient[Items[AuthEnvVar]]
    link: Lenient[str | None] = None
    meta: Lenient[JsonObject | None] = None


class AuthMethodTerminal(Model, frozen=True, kw_only=True, tag_field="type", tag="terminal"):
    """Log in by running the agent in a terminal.

    Unstable. Schema: #/$defs/AuthMethodTerminal.
    """

    method_id: AuthMethodId
    name: str
    description: Lenient[str | None] = None
    args: Lenient[Items[str]] = []
    env: Lenient[Items[EnvVariable]] = []
    meta: Lenient[JsonObject | None] = None


class AuthMethodAgent(Model, frozen=True, kw_only=True, tag_field="type", tag="agent"):
    """Log in by asking the agent to do it.

    Stable. Schema: #/$defs/AuthMethodAgent.
    """

    method_id: AuthMethodId
    name: str
    description: Lenient[str | None] = None
    meta: Lenient[JsonObject | None] = None


class _OtherAuthMethod(Model, frozen=True, kw_only=True):
    """What a variant of AuthMethod needs beside its tag, whatever the tag."""

    method_id: AuthMethodId
    name: str


if TYPE_CHECKING:
    AuthMethod: TypeAlias = AuthMethodEnvVar | AuthMethodTerminal | AuthMethodAgent | Unknown
else:
    AuthMethod = Annotated[
        AuthMethodEnvVar | AuthMethodTerminal | AuthMethodAgent,
        OpenUnion("type", {
            "env_var": AuthMethodEnvVar,
            "terminal": AuthMethodTerminal,
            "agent": AuthMethodAgent,
        }, _OtherAuthMethod),
    ]
"""A way to log in.

Told apart by `type`. Stable. Schema: #/$defs/AuthMethod.
"""


class LoginAuthRequest(Request["LoginAuthResponse"], frozen=True, kw_only=True):
    """Logs in by one of the offered methods.

    To the agent: request `auth/login`. Stable. Schema: #/$defs/LoginAuthRequest.
    """

    METHOD: ClassVar[str] = "auth/login"

    method_id: AuthMethodId
    meta: Lenient[JsonObject | None] = None


class LoginAuthResponse(Model, frozen=True, kw_only=True):
    """The login is done.

    Stable. Schema: #/$defs/LoginAuthResponse.
    """

    meta: Lenient[JsonObject | None] = None


class LogoutAuthRequest(Request["LogoutAuthResponse"], frozen=True, kw_only=True):
    """Logs out.

    To the agent: request `auth/logout`. Stable. Schema: #/$defs/LogoutAuthRequest.
    """

    METHOD: ClassVar[str] = "auth/logout"

    meta: Lenient[JsonObject | None] = None


class LogoutAuthResponse(Model, frozen=True, kw_only=True):
    """Nobody is logged in any more.

    Stable. Schema: #/$defs/LogoutAuthResponse.
    """

    meta: Lenient[JsonObject | None] = None
