"""FastMCP, version 2 and later: what it asks of clients, it asks in the middle of a call."""

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP
from python_common import offer

transport, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = FastMCP("python-fastmcp", version="1.0.0", instructions="Ask for what you need.")
offer(server, Context)


@dataclass
class Name:
    name: str


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks the user for a name."""
    answer = await ctx.elicit("What is your name?", Name)
    return f"{answer.action}: {answer.data.name}"


@server.tool()
async def sample(ctx: Context) -> str:
    """Asks the client's model."""
    answer = await ctx.sample("Say hello", max_tokens=20)
    return f"answered: {answer.text}"


@server.tool()
async def roots(ctx: Context) -> str:
    """Asks for the client's roots."""
    return ", ".join(str(root.uri) for root in await ctx.list_roots())


if transport == "stdio":
    server.run(show_banner=False)
else:
    server.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
