"""An agent skill: instructions served to clients, and a client that loads them."""

import asyncio

from trunkline import Client, Server

MANIFEST = """---
name: packing
description: How to pack for a trip.
---
Ask for the forecast first.
"""

server = Server("trips", version="1.0.0")
server.add_skill({"SKILL.md": MANIFEST})  # or the path of a folder


async def main() -> None:
    async with Client(server) as client:
        for skill in await client.list_skills():
            print(f"{skill.frontmatter['name']}: {skill.frontmatter['description']}")
            manifest = await client.load_skill(skill)
            print((manifest.text or "").split("---")[-1].strip())


asyncio.run(main())
