"""Authorization over HTTP: callers need an access token (OAuth 2.1, RFC 9728)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

import trunkline

from ._generated.facts import VerificationDescription
from ._generated.models import AccessToken, Identity
from ._generated.option_names import AUTH_OPTIONS
from ._native import NativeError
from .errors import reraise
from .options import Unpack, encoded


class PresentedToken(AccessToken, VerificationDescription):
    """An access token to verify, with details of the HTTP request that presents it. They are
    fetched lazily, and only until the verifier has returned.
    """

    __slots__ = ("_describe", "_request")

    _describe: Callable[[], Mapping[str, Any]]
    _request: Mapping[str, Any] | None

    @classmethod
    def presented(cls, json: Mapping[str, Any], describe: Callable[[], Mapping[str, Any]]) -> PresentedToken:
        """A token whose request is described by a function, which tests can supply."""
        given = AccessToken.from_json(json)
        token = cls(given.token, given.scheme, given.method, given.url, given.resource)
        token._describe = describe
        token._request = None
        return token

    def _fact(self, name: str) -> Any:
        if self._request is None:
            try:
                self._request = self._describe()
            except NativeError as error:
                reraise(error)
        return self._request.get(name)


Verify: TypeAlias = Callable[[PresentedToken], Awaitable[Identity | None] | Identity | None]
"""A verifier of access tokens: it returns the identity of the caller, or None for an invalid token.
`async def` runs on the event loop, `def` on a thread of the pool. It may raise `InvalidToken` or
`InsufficientScope`, with the reason for the caller.
"""


class Auth:
    """The `auth` of `Server.serve` and `Server.asgi`. The context has the caller's verified
    identity as `auth`.

    Requests without a valid token are refused with a challenge that tells clients where to get one.

    Args:
        resource: the public URL of the endpoint, which tokens must be issued for.
        verifier: judges tokens instead of the built-in verifier of JWTs; `def` runs on a
            thread of the pool. It must refuse tokens that are not for the resource.
        options: see `AuthOptions`.
    """

    __slots__ = ("_json", "verifier")

    def __init__(
        self, resource: str, *, verifier: Verify | None = None, **options: Unpack[trunkline.AuthOptions]
    ) -> None:
        self.verifier: Verify | None = verifier
        self._json: dict[str, Any] = {"resource": resource, **encoded(AUTH_OPTIONS, options)}

    def to_json(self, verifier: int | None) -> dict[str, Any]:
        """The options as the core takes them, with the handle of the verifier if there is one."""
        return self._json if verifier is None else {**self._json, "verifier": verifier}

    def __repr__(self) -> str:
        return f"Auth({self._json['resource']!r})"


class InvalidToken(Exception):
    """Raised by a verifier: the token is invalid. The caller gets 401 and this message."""


class InsufficientScope(Exception):
    """Raised by a verifier: the token is valid, but does not grant these scopes. The caller gets
    403 and the scopes.
    """

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__(f"the token does not grant {' '.join(scopes)}")
        self.scopes = scopes
