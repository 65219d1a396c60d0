"""The official Python SDK, version 2: both eras."""

from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters, types
from python_driving import drive, pages

MODES = {"legacy": "legacy", "auto": "auto", "modern": "auto"}


def target_of(target):
    if "url" in target:
        return target["url"]
    return StdioServerParameters(command=target["command"], args=target["args"], env=target["env"], cwd=target["cwd"])


def callbacks(job, hear):
    async def sample(context, params):
        hear("sampling/createMessage", params)
        return types.CreateMessageResult.model_validate(job["answers"]["sampling"])

    async def roots(context):
        hear("roots/list", None)
        return types.ListRootsResult.model_validate({"roots": job["answers"]["roots"]})

    async def elicit(context, params):
        hear("elicitation/create", params)
        return types.ElicitResult.model_validate(job["answers"]["elicitation"])

    async def log(params):
        hear("notifications/message", params)

    return {
        "sampling_callback": sample,
        "list_roots_callback": roots,
        "elicitation_callback": elicit,
        "logging_callback": log,
    }


def requests(client, hear):
    async def progress(done, total, message=None):
        hear("notifications/progress", {"progress": done, "total": total, "message": message})

    async def complete(params):
        ref = types.PromptReference.model_validate(params["ref"])
        return await client.complete(ref, params["argument"])

    async def level(params):
        # 2026-07-28 has no `logging/setLevel`: the level goes with each request.
        return {} if client.protocol_version >= "2026" else await client.set_logging_level(params["level"])

    methods = {
        "tools/list": lambda params: pages(lambda cursor: client.list_tools(cursor=cursor)),
        "prompts/list": lambda params: pages(lambda cursor: client.list_prompts(cursor=cursor)),
        "resources/list": lambda params: pages(lambda cursor: client.list_resources(cursor=cursor)),
        "resources/templates/list": lambda params: pages(lambda cursor: client.list_resource_templates(cursor=cursor)),
        "tools/call": lambda params: client.call_tool(params["name"], params["arguments"], progress_callback=progress),
        "prompts/get": lambda params: client.get_prompt(params["name"], params.get("arguments")),
        "resources/read": lambda params: client.read_resource(params["uri"]),
        "completion/complete": complete,
        "logging/setLevel": level,
    }
    return lambda method, params: methods[method](params)


@asynccontextmanager
async def connect(job, hear):
    async with Client(
        target_of(job["target"]), mode=MODES[job["era"]], log_level="debug", **callbacks(job, hear)
    ) as client:
        shown = {
            "protocolVersion": client.protocol_version,
            "serverInfo": client.server_info,
            "capabilities": client.server_capabilities,
            "instructions": client.instructions,
        }
        yield shown, requests(client, hear)


drive(connect)
