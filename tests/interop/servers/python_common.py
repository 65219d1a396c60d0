"""What every Python library writes in the same way: tools, a prompt, a resource and a template."""

import asyncio

# Some versions send progress on another HTTP stream than the result: without a pause it comes after the result.
PAUSE_S = 0.1


def offer(server, Context):
    @server.tool()
    def echo(message: str) -> str:
        """Says it again."""
        return message

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()
    def fail() -> str:
        """Always fails."""
        raise ValueError("this tool always fails")

    @server.tool()
    async def count(to: int, ctx: Context) -> str:
        """Counts, with progress."""
        for done in range(1, to + 1):
            await ctx.report_progress(done, to)
            await asyncio.sleep(PAUSE_S)
        return f"counted to {to}"

    @server.tool()
    async def log(ctx: Context) -> str:
        """Logs at three levels."""
        await ctx.debug("a debug message")
        await ctx.info("an info message")
        await ctx.warning("a warning")
        await asyncio.sleep(PAUSE_S)
        return "logged"

    @server.prompt()
    def greet(name: str) -> str:
        """Greets somebody."""
        return f"Please greet {name}."

    @server.resource("test://about", mime_type="text/plain")
    def about() -> str:
        """What this is."""
        return "A server for tests."

    @server.resource("test://items/{id}")
    def item(id: str) -> str:
        """One item."""
        return f"item {id}"
