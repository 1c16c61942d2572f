"""A server over HTTP that requires access tokens, with a tool that requires a scope."""

import asyncio

from trunkline import (
    AccessToken,
    Auth,
    AuthorizationRequiredError,
    Client,
    Context,
    Identity,
    Server,
)

server = Server("files", version="1.0.0")


@server.tool
async def whoami(ctx: Context) -> str:
    """Name the caller."""
    return (ctx.auth and ctx.auth.subject) or "nobody"


@server.tool(scopes=["write"])
async def delete() -> None:
    """Delete all files."""


def verify(token: AccessToken) -> Identity | None:
    """Replaces the built-in JWT verifier, for opaque tokens stored in your database."""
    return Identity("ada", scopes=["read"]) if token.token == "token-of-ada" else None


auth = Auth("http://127.0.0.1/mcp", authorization_servers=["https://login.example.com"], verifier=verify)


async def main() -> None:
    async with server.serve_http(port=0, auth=auth) as listener:
        async with Client(listener.url, auth="token-of-ada") as client:
            print(", ".join([tool.name for tool in await client.list_tools()]))
            print((await client.call_tool("whoami")).text)
        try:
            await Client(listener.url).connect()
        except AuthorizationRequiredError as error:
            print(error.http_status)


asyncio.run(main())
