"""The access tokens that a server requires, from a file (../../matrix/authorization.json)."""

import json
from pathlib import Path
from typing import Any


def read(file: str, settings: type, access_token: type) -> dict[str, Any]:
    """The arguments of a server. The others are classes of the SDK."""
    data = json.loads(Path(file).read_text(encoding="utf-8"))
    auth = data["auth"]

    class Verifier:
        async def verify_token(self, token: str) -> Any:
            if token != data["token"]:
                return None
            scopes, resource = auth["requiredScopes"], auth["resource"]
            return access_token(token=token, client_id="matrix", scopes=scopes, resource=resource, subject="ada")

    urls = {"issuer_url": auth["issuer"], "resource_server_url": auth["resource"]}
    return {"auth": settings(**urls, required_scopes=auth["requiredScopes"]), "token_verifier": Verifier()}


def bearer(part: dict[str, Any]) -> dict[str, str]:
    """The headers of a client."""
    return {"Authorization": f"Bearer {part['token']}"} if part.get("token") else {}
