"""The official Python SDK, version 1.x, as a client that does what it is told, a line of JSON at a time."""

import json
import sys

import anyio
from mcp import ClientSession, types
from mcp.client.streamable_http import streamablehttp_client


def say(**facts):
    print(json.dumps(facts), flush=True)


async def hear(message):
    if isinstance(message, types.ServerNotification):
        say(heard=message.root.method)


async def main(url):
    async with streamablehttp_client(url) as (read, write, session_id):
        async with ClientSession(read, write, message_handler=hear) as session:
            await session.initialize()
            say(session=session_id())
            while line := await anyio.to_thread.run_sync(sys.stdin.readline):
                order = json.loads(line)
                if order["do"] == "subscribe":
                    await session.subscribe_resource(order["uri"])
                    say(subscribed=order["uri"], session=session_id())
                else:
                    result = await session.call_tool("echo", {"text": order["text"]})
                    say(called=result.content[0].text, session=session_id())


anyio.run(main, sys.argv[1])
