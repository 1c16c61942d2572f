"""A server of FastMCP with its own authorization server, or with its OAuth proxy in front of
another one.

usage: oauth_fastmcp.py memory PORT
       oauth_fastmcp.py proxy PORT AUTHORIZATION_ENDPOINT TOKEN_ENDPOINT
"""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken, OAuthProxy, TokenVerifier
from fastmcp.server.auth.auth import ClientRegistrationOptions, OAuthProvider, RevocationOptions
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from key_value.aio.stores.memory import MemoryStore
from serve import serve

SCOPE = "repo"


class Verifier(TokenVerifier):
    """Accepts each token of the other authorization server."""

    async def verify_token(self, token: str) -> AccessToken | None:
        return AccessToken(token=token, client_id="upstream", scopes=[SCOPE])


def provider(kind: str, origin: str, *endpoints: str) -> OAuthProvider:
    if kind == "memory":
        return InMemoryOAuthProvider(
            base_url=origin,
            client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=[SCOPE]),
            revocation_options=RevocationOptions(enabled=True),
            required_scopes=[SCOPE],
        )
    authorization, token = endpoints
    return OAuthProxy(
        upstream_authorization_endpoint=authorization,
        upstream_token_endpoint=token,
        upstream_client_id="upstream",
        upstream_client_secret="a secret",
        token_verifier=Verifier(required_scopes=[SCOPE]),
        base_url=origin,
        client_storage=MemoryStore(),
    )


kind, port = sys.argv[1], int(sys.argv[2])
server = FastMCP("oauth-fastmcp", auth=provider(kind, f"http://127.0.0.1:{port}", *sys.argv[3:]))


@server.tool
def call() -> str:
    return "called"


serve(server.http_app(), port)
