"""A resource, a resource template, and a client that reads both."""

import asyncio

from trunkline import Client, ProtocolError, Server

NOTES = {"today": "Buy milk.", "friday": "Call Ada."}

server = Server("notes", version="1.0.0")


@server.resource("notes://index", mime_type="text/plain")
def index() -> str:
    """The names of all notes."""
    return ", ".join(NOTES)


@server.resource("notes://by-name/{name}", mime_type="text/plain")
def note(name: str) -> str | None:
    """One note."""
    return NOTES.get(name)


async def main() -> None:
    async with Client(server) as client:
        for resource in await client.list_resources():
            print(resource.uri, resource.mime_type)
        for template in await client.list_resource_templates():
            print(template.uri_template)
        for uri in ("notes://index", "notes://by-name/friday"):
            result = await client.read_resource(uri)
            print(result.contents[0].text)
        try:
            await client.read_resource("notes://by-name/monday")
        except ProtocolError as error:
            print(error.kind, error.code)


asyncio.run(main())
