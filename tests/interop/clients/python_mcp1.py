"""The official Python SDK, versions 1.x: legacy."""

from contextlib import AsyncExitStack, asynccontextmanager

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from python_driving import drive, pages


@asynccontextmanager
async def streams_to(target):
    if "url" in target:
        from mcp.client.streamable_http import streamablehttp_client

        async with streamablehttp_client(target["url"]) as (read, write, _):
            yield read, write
    else:
        params = StdioServerParameters(
            command=target["command"], args=target["args"], env=target["env"], cwd=target["cwd"]
        )
        async with stdio_client(params) as (read, write):
            yield read, write


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

    found = {"sampling_callback": sample, "list_roots_callback": roots, "logging_callback": log}
    return {**found, "elicitation_callback": elicit} if hasattr(types, "ElicitResult") else found


def requests(session, hear):
    async def progress(done, total, message=None):
        hear("notifications/progress", {"progress": done, "total": total, "message": message})

    async def call(params):
        try:
            return await session.call_tool(params["name"], params["arguments"], progress_callback=progress)
        except TypeError:  # before 1.9 there is no callback
            return await session.call_tool(params["name"], params["arguments"])

    async def complete(params):
        kind = types.PromptReference if params["ref"]["type"] == "ref/prompt" else types.ResourceReference
        return await session.complete(kind.model_validate(params["ref"]), params["argument"])

    methods = {
        "tools/list": lambda params: pages(session.list_tools),
        "prompts/list": lambda params: pages(session.list_prompts),
        "resources/list": lambda params: pages(session.list_resources),
        "resources/templates/list": lambda params: pages(session.list_resource_templates),
        "tools/call": call,
        "prompts/get": lambda params: session.get_prompt(params["name"], params.get("arguments")),
        "resources/read": lambda params: session.read_resource(params["uri"]),
        "completion/complete": complete,
        "logging/setLevel": lambda params: session.set_logging_level(params["level"]),
    }
    return lambda method, params: methods[method](params)


def compatible(session):
    """1.6 takes no cursor for templates, and others take it by name only."""
    templates = session.list_resource_templates

    async def list_templates(cursor=None):
        return await (templates() if cursor is None else templates(cursor))

    session.list_resource_templates = list_templates
    return session


@asynccontextmanager
async def connect(job, hear):
    async with AsyncExitStack() as stack:
        read, write = await stack.enter_async_context(streams_to(job["target"]))
        session = await stack.enter_async_context(ClientSession(read, write, **callbacks(job, hear)))
        shown = await session.initialize()
        yield shown, requests(compatible(session), hear)


drive(connect)
