"""LangChain's MCP adapters: tools, prompts and resources as LangChain has them."""

from contextlib import asynccontextmanager

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.prompts import load_mcp_prompt
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_mcp_adapters.tools import load_mcp_tools
from python_driving import drive


def connection_to(target):
    if "url" in target:
        return {"transport": "streamable_http", "url": target["url"]}
    return {"transport": "stdio", **{name: target[name] for name in ("command", "args", "env", "cwd")}}


def shown_tool(tool):
    return {"name": tool.name, "description": tool.description, "schema": tool.args_schema, "metadata": tool.metadata}


@asynccontextmanager
async def connect(job, hear):
    client = MultiServerMCPClient({"it": connection_to(job["target"])})
    async with client.session("it") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}

        async def request(method, params):
            if method == "tools/list":
                return [shown_tool(tool) for tool in tools.values()]
            if method == "tools/call":
                call = {"type": "tool_call", "id": "1", "name": params["name"], "args": params["arguments"]}
                message = await tools[params["name"]].ainvoke(call)
                return {"content": message.content, "artifact": message.artifact, "status": message.status}
            if method == "prompts/get":
                messages = await load_mcp_prompt(session, params["name"], arguments=params.get("arguments"))
                return [{"type": message.type, "content": message.content} for message in messages]
            blobs = await load_mcp_resources(session, uris=params["uri"])
            return [{"text": blob.as_string(), "type": blob.mimetype, "metadata": blob.metadata} for blob in blobs]

        yield None, request


drive(connect)
