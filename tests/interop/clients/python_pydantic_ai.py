"""Pydantic AI's MCP toolset, without an agent."""

from contextlib import asynccontextmanager
from dataclasses import asdict, is_dataclass

from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset
from python_driving import drive


def target_of(target):
    if "url" in target:
        return target["url"]
    return StdioTransport(
        command=target["command"], args=target["args"], env=target["env"], cwd=target["cwd"], keep_alive=False
    )


def shown(value):
    if isinstance(value, list):
        return [shown(inner) for inner in value]
    return asdict(value) if is_dataclass(value) else value


@asynccontextmanager
async def connect(job, hear):
    async with MCPToolset(target_of(job["target"])) as tools:
        methods = {
            "tools/list": lambda params: tools.list_tools(),
            "tools/call": lambda params: tools.direct_call_tool(params["name"], params["arguments"]),
            "prompts/list": lambda params: tools.list_prompts(),
            "prompts/get": lambda params: tools.get_prompt(params["name"], params.get("arguments")),
            "resources/list": lambda params: tools.list_resources(),
            "resources/templates/list": lambda params: tools.list_resource_templates(),
            "resources/read": lambda params: tools.read_resource(params["uri"]),
        }

        async def request(method, params):
            return shown(await methods[method](params))

        yield None, request


drive(connect)
