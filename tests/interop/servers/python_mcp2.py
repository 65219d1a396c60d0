"""The official Python SDK, version 2: both eras. What it asks of clients is declared, so that it works in both."""

import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.types import Completion, CreateMessageResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel
from python_common import offer

transport, port = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = MCPServer("python-mcp2", title="Python 2", version="1.0.0", instructions="Ask for what you need.")
offer(server, Context)


class Name(BaseModel):
    name: str


def the_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def the_sample() -> Sample:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="Say hello"))
    return Sample([message], max_tokens=20)


def the_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def ask(answer: Annotated[Name, Resolve(the_name)]) -> str:
    """Asks the user for a name."""
    return f"accept: {answer.name}"


@server.tool()
async def sample(answer: Annotated[CreateMessageResult, Resolve(the_sample)]) -> str:
    """Asks the client's model."""
    return f"{answer.model}: {answer.content.text}"


@server.tool()
async def roots(answer: Annotated[ListRootsResult, Resolve(the_roots)]) -> str:
    """Asks for the client's roots."""
    return ", ".join(str(root.uri) for root in answer.roots)


@server.completion()
async def complete(ref, argument, context):
    return Completion(values=[f"{argument.value}-1", f"{argument.value}-2"], total=2, has_more=False)


if transport == "stdio":
    server.run()
else:
    server.run("streamable-http", host="127.0.0.1", port=port)
