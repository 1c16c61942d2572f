"""A host in the terminal: python agent_host.py mcp.json

It connects to every server in the configuration, lists their features, and calls the tools that the
user names. Servers can ask the user in the terminal, and let the user log in with the browser.
"""

import asyncio
import json
import sys

from trunkline import ClientGroup, OAuth, TrunklineError

HELP = """NAME [JSON]          calls a tool, such as: weather__forecast {"city": "Oslo"}
read URI             reads a resource
prompt NAME [JSON]   gets a prompt"""


async def show(group: ClientGroup) -> None:
    for server in await group.servers():
        print(f"{server.name}: {server.error or server.state}")
    for tool in await group.list_tools():
        print(f"tool {tool.name}: {tool.description or ''}")
    for resource in await group.list_resources():
        print(f"resource {resource.uri}: {resource.name}")
    for prompt in await group.list_prompts():
        print(f"prompt {prompt.name}: {prompt.description or ''}")


async def run(group: ClientGroup, line: str) -> None:
    name, _, rest = line.strip().partition(" ")
    if name == "read":
        for content in (await group.read_resource(rest.strip())).contents:
            print(content)
    elif name == "prompt":
        name, _, rest = rest.strip().partition(" ")
        for message in (await group.get_prompt(name, json.loads(rest or "{}"))).messages:
            print(f"{message.role}: {message.content}")
    else:
        result = await group.call_tool(name, json.loads(rest or "{}"))
        for block in result.content:
            print(getattr(block, "text", block))


async def main(config: str) -> None:
    # The program uses the terminal only between calls; during calls, `terminal_forms` may.
    async with ClientGroup(config, terminal_forms=True, auth=OAuth(client_name="Agent host", store="file")) as group:
        await show(group)
        print(HELP)
        while True:
            try:
                line = await asyncio.to_thread(input, "> ")
                if line.strip():
                    await run(group, line)
            except EOFError:
                return
            except (TrunklineError, ValueError) as error:
                print(f"error: {error}")


asyncio.run(main(sys.argv[1]))
