"""The official Python SDK, versions 1.x: what each version has of the things that the script asks for."""

import sys

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel
from python_common import offer

transport, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = FastMCP("python-mcp1", instructions="Ask for what you need.", host="127.0.0.1", port=port)
offer(server, Context)


class Name(BaseModel):
    name: str


@server.tool()
async def sample(ctx: Context) -> str:
    """Asks the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Say hello"))
    answer = await ctx.session.create_message([message], max_tokens=20)
    return f"{answer.model}: {answer.content.text}"


@server.tool()
async def roots(ctx: Context) -> str:
    """Asks for the client's roots."""
    answer = await ctx.session.list_roots()
    return ", ".join(str(root.uri) for root in answer.roots)


if hasattr(Context, "elicit"):

    @server.tool()
    async def ask(ctx: Context) -> str:
        """Asks the user for a name."""
        answer = await ctx.elicit("What is your name?", Name)
        return f"{answer.action}: {answer.data.name}"


if hasattr(server, "completion"):

    @server.completion()
    async def complete(ref, argument, context):
        from mcp.types import Completion

        return Completion(values=[f"{argument.value}-1", f"{argument.value}-2"], total=2, hasMore=False)


server.run(transport="streamable-http" if transport == "http" else transport)
