"""HTTP authorization: callers need an access token (OAuth 2.1, RFC 9728)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import trunkline

from ._generated.facts import VerificationDescription
from ._generated.models import AccessToken, Identity
from ._generated.option_names import AUTH_OPTIONS
from .options import Unpack, encoded


class PresentedToken(AccessToken, VerificationDescription):
    """An access token to verify, with details of the HTTP request that carries it. The details are
    fetched lazily and are only available until the verifier returns.
    """

    __slots__ = ("_describe", "_request")

    _describe: Callable[[], Mapping[str, Any]]
    _request: Mapping[str, Any] | None

    @classmethod
    def presented(cls, json: Mapping[str, Any], describe: Callable[[], Mapping[str, Any]]) -> PresentedToken:
        """Return a token whose request is described by `describe`; tests can pass their own
        function.
        """
        token = cast("PresentedToken", cls.from_json(json))
        token._describe = describe
        token._request = None
        return token

    def _fact(self, name: str) -> Any:
        if self._request is None:
            self._request = self._describe()
        return self._request.get(name)


Verify: TypeAlias = Callable[[PresentedToken], Awaitable[Identity | None] | Identity | None]
"""Verifies an access token: returns the caller's identity, or None if the token is invalid.

`async def` verifiers run on the event loop, `def` verifiers on a pool thread. To give the caller a
reason, raise `InvalidToken` or `InsufficientScope`.
"""


class Auth:
    """The `auth` argument of `Server.serve_http` and `Server.asgi`. Handlers find the caller's
    verified identity in `ctx.auth`.

    Requests without a valid token are rejected with a challenge that tells clients where to get
    one.

    Args:
        resource: Public URL of the endpoint. Tokens must be issued for it.
        verifier: Verifies tokens instead of the built-in JWT verifier; `def` functions run on a
            pool thread. It must reject tokens issued for another resource.
        options: See `AuthOptions`.
    """

    __slots__ = ("_json", "verifier")

    def __init__(
        self, resource: str, *, verifier: Verify | None = None, **options: Unpack[trunkline.AuthOptions]
    ) -> None:
        self.verifier: Verify | None = verifier
        self._json: dict[str, Any] = {"resource": resource, **encoded(AUTH_OPTIONS, options, Auth.__init__)}

    def to_json(self, verifier: int | None) -> dict[str, Any]:
        """Return the options in the core's form; `verifier` is the verifier's handle, if any."""
        return self._json if verifier is None else {**self._json, "verifier": verifier}

    def __repr__(self) -> str:
        return f"Auth({self._json['resource']!r})"


class InvalidToken(Exception):
    """Raised by a verifier if the token is invalid. The caller gets a 401 with this message."""


class InsufficientScope(Exception):
    """Raised by a verifier if the token is valid but lacks these scopes. The caller gets a 403 that
    names them.
    """

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__(scopes)  # what pickle passes again
        self.scopes = scopes

    def __str__(self) -> str:
        return f"the token does not grant {' '.join(self.scopes)}"
