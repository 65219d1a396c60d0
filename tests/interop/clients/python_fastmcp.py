"""FastMCP's client."""

from contextlib import asynccontextmanager
from inspect import signature

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from python_driving import drive


def target_of(target):
    if "url" in target:
        return target["url"]
    return StdioTransport(
        command=target["command"], args=target["args"], env=target["env"], cwd=target["cwd"], keep_alive=False
    )


def handlers(job, hear):
    answers = job["answers"]

    async def sample(messages, params, context):
        hear("sampling/createMessage", params)
        return answers["sampling"]["content"]["text"]

    async def elicit(message, response_type, params, context):
        hear("elicitation/create", params)
        return answers["elicitation"]["content"]

    async def log(message):
        hear("notifications/message", message)

    async def progress(done, total, message):
        hear("notifications/progress", {"progress": done, "total": total, "message": message})

    roots = [root["uri"] for root in answers["roots"]]
    return {
        "sampling_handler": sample,
        "elicitation_handler": elicit,
        "log_handler": log,
        "progress_handler": progress,
        "roots": roots,
    }


def requests(client):
    async def call(params):
        return await client.call_tool_mcp(params["name"], params["arguments"])

    methods = {
        "tools/list": lambda params: client.list_tools(),
        "prompts/list": lambda params: client.list_prompts(),
        "resources/list": lambda params: client.list_resources(),
        "resources/templates/list": lambda params: client.list_resource_templates(),
        "tools/call": call,
        "prompts/get": lambda params: client.get_prompt(params["name"], params.get("arguments")),
        "resources/read": lambda params: client.read_resource(params["uri"]),
    }
    return lambda method, params: methods[method](params)


def shown_by(client):
    if not hasattr(client, "server_capabilities"):  # version 2
        return client.initialize_result
    return {
        "protocolVersion": client.protocol_version,
        "capabilities": client.server_capabilities,
        "serverInfo": client.server_info,
        "instructions": client.instructions,
    }


@asynccontextmanager
async def connect(job, hear):
    era = {"mode": "legacy" if job["era"] == "legacy" else "auto"} if "mode" in signature(Client.__init__).parameters else {}
    async with Client(target_of(job["target"]), **handlers(job, hear), **era) as client:
        yield shown_by(client), requests(client)


drive(connect)
