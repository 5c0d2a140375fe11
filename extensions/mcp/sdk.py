"""The same server in the hands of the official SDK, which speaks streamable HTTP: for `ctxrank serve`."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio.to_thread
from mcp import MCPError
from mcp.server import Server
from mcp_types import (
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
)
from pydantic import BaseModel

from ctxrank.cli.call import Call
from ctxrank.extensions.mcp.mcp import INSTRUCTIONS, NAME, Served, version
from ctxrank.extensions.mcp.protocol import Json, Refusal, Say

_Result = TypeVar("_Result", bound=BaseModel)


def server(call: Call, session: str) -> Server[Any]:
    """A server over one store."""
    served = Served(call, session)
    return Server(
        NAME,
        title=NAME,
        version=version(),
        instructions=INSTRUCTIONS,
        on_list_tools=_over(served.list_tools, ListToolsResult),
        on_call_tool=_over(served.call_tool, CallToolResult),
        on_list_resources=_over(served.list_resources, ListResourcesResult),
        on_list_resource_templates=_over(served.list_templates, ListResourceTemplatesResult),
        on_read_resource=_over(served.read_resource, ReadResourceResult),
    )


def _over(
    method: Callable[[Json, Say | None], Json], result: type[_Result]
) -> Callable[[object, BaseModel | None], Awaitable[_Result]]:
    """The method as the SDK takes it: beside others, in a thread."""

    async def answer(_: object, params: BaseModel | None) -> _Result:
        given = params.model_dump(by_alias=True, mode="json") if params is not None else {}
        try:
            return result.model_validate(await anyio.to_thread.run_sync(method, given, None))
        except Refusal as refusal:
            raise MCPError(refusal.code, str(refusal), refusal.data) from refusal

    return answer
