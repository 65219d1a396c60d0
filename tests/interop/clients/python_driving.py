"""The part that the Python drivers share: read the job, take its steps one by one, print the transcript."""

import asyncio
import json
import sys


def plain(value):
    """What a library gives, as JSON: only what the server sent, under the protocol's names."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def shown_error(error):
    """Some libraries wrap the error that they got; a wrapper says nothing that could be compared."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    data = getattr(error, "error", None)
    if data is not None and hasattr(data, "code"):
        return {"code": data.code, "message": data.message, "data": plain(data.data)}
    return {"message": f"{type(error).__name__}: {error}"}


async def pages(fetch):
    """All pages of a list; `fetch` takes a cursor."""
    found, cursor = [], None
    while True:
        page = plain(await fetch(cursor))
        found.append(page)
        cursor = page.get("nextCursor") if isinstance(page, dict) else None
        if cursor is None:
            return {"pages": found}


async def take(request, step):
    try:
        return {"result": plain(await request(step["method"], step["params"]))}
    except Exception as error:
        return {"error": shown_error(error)}


def drive(connect):
    """`connect(job, hear)` is an async context manager that gives what the library shows, and a function for requests."""

    async def main():
        with open(sys.argv[1], encoding="utf-8") as file:
            job = json.load(file)
        heard = []

        def hear(method, params):
            heard.append({"method": method, "params": plain(params)})

        async with connect(job, hear) as (shown, request):
            outcomes = [await take(request, step) for step in job["steps"]]
            await asyncio.sleep(job["settleMs"] / 1000)
        print(json.dumps({"connected": plain(shown), "outcomes": outcomes, "heard": heard}), flush=True)

    asyncio.run(main())
