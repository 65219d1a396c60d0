"""The MCP servers of the OpenAI Agents SDK, without an agent."""

from contextlib import asynccontextmanager

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from python_driving import drive

PATIENCE_S = 60


def server_at(target):
    options = {"client_session_timeout_seconds": PATIENCE_S, "cache_tools_list": False, "name": "it"}
    if "url" in target:
        return MCPServerStreamableHttp({"url": target["url"], "timeout": PATIENCE_S}, **options)
    return MCPServerStdio({name: target[name] for name in ("command", "args", "env", "cwd")}, **options)


@asynccontextmanager
async def connect(job, hear):
    async with server_at(job["target"]) as server:
        methods = {
            "tools/list": lambda params: server.list_tools(),
            "tools/call": lambda params: server.call_tool(params["name"], params["arguments"]),
            "prompts/list": lambda params: server.list_prompts(),
            "prompts/get": lambda params: server.get_prompt(params["name"], params.get("arguments")),
            "resources/list": lambda params: server.list_resources(),
            "resources/templates/list": lambda params: server.list_resource_templates(),
            "resources/read": lambda params: server.read_resource(params["uri"]),
        }
        yield None, lambda method, params: methods[method](params)


drive(connect)
