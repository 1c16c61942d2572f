"""A client that gets access tokens from a function, and a new one when the server refuses one."""

import asyncio

from trunkline import AccessToken, Auth, Client, Context, Identity, Server, Token, TokenRequest

server = Server("files", version="1.0.0")


@server.tool
async def whoami(ctx: Context) -> str:
    """Name the caller."""
    return (ctx.auth and ctx.auth.subject) or "nobody"


def verify(token: AccessToken) -> Identity | None:
    return Identity("ada") if token.token == "token-of-today" else None


tokens = ["token-of-yesterday"]


async def give(request: TokenRequest) -> Token:
    if request.refused:
        print("the token was refused")  # here the program gets a new token
        tokens.append("token-of-today")
    return Token(tokens[-1])


async def main() -> None:
    auth = Auth("http://127.0.0.1/mcp", authorization_servers=["https://login.example.com"], verifier=verify)
    async with server.serve_http(port=0, auth=auth) as listener:
        client = Client(listener.url)
        client.on_access_token(give)
        async with client:
            print((await client.call_tool("whoami")).text)


asyncio.run(main())
