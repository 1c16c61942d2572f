"""Authorization over HTTP: callers need an access token (OAuth 2.1, RFC 9728)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ._generated.option_names import AUTH_OPTIONS
from .errors import InvalidArgumentError
from .options import camel_case, encoded

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._generated.options import AuthOptions

Verify: TypeAlias = "Callable[[AccessToken], Awaitable[Identity | None] | Identity | None]"


class Auth:
    """The `auth` of `Server.serve` and `Server.asgi`. The verified identity of the caller is `auth` in the context.

    Requests without a good token are refused with a challenge, and clients are told where to get one.

    Args:
        resource: the public URL of the endpoint, which tokens must be issued for.
        verifier: judges tokens in the place of the built-in verifier of JWTs; `def` runs on a thread of the pool. It
            must refuse tokens that are not for the resource.
        options: see `AuthOptions`.
    """

    __slots__ = ("_json", "verifier")

    def __init__(self, resource: str, *, verifier: Verify | None = None, **options: Unpack[AuthOptions]) -> None:
        self.verifier = verifier
        self._json: dict[str, Any] = {"resource": resource, **encoded(AUTH_OPTIONS, options)}

    def to_json(self, verifier: int | None) -> dict[str, Any]:
        """The options as the core takes them, with the handle of the verifier if there is one."""
        return self._json if verifier is None else {**self._json, "verifier": verifier}

    def __repr__(self) -> str:
        return f"Auth({self._json['resource']!r})"


class AccessToken:
    """The credentials of a caller: the token and, as `request_method` and `url`, the request that it came with."""

    __slots__ = ("request_method", "resource", "scheme", "token", "url")

    def __init__(self, json: Mapping[str, Any]) -> None:
        self.token: str = json["token"]
        # Bearer or DPoP
        self.scheme: str = json["scheme"]
        self.request_method: str = json["method"]
        self.url: str = json["url"]
        # The accepted audiences.
        self.resource: str = json["resource"]

    def __repr__(self) -> str:
        return f"<AccessToken for {self.resource}>"  # the token is a secret


class Identity:
    """The identity behind a token. It names a subject, a client, or a principal.

    Args:
        subject: the user.
        client_id: the client.
        issuer: who issued the token.
        scopes: what the token grants.
        expires_at: when it expires, in seconds since 1970.
        claims: all that it says; `cnf.jkt` binds it to a key.
        principal: names the caller among all (default: `ISSUER#sub:SUBJECT`, then `ISSUER#client:CLIENT`).
    """

    __slots__ = ("claims", "client_id", "expires_at", "issuer", "principal", "scopes", "subject")

    def __init__(
        self,
        subject: str | None = None,
        *,
        client_id: str | None = None,
        issuer: str | None = None,
        scopes: Sequence[str] | None = None,
        expires_at: float | None = None,
        claims: Mapping[str, Any] | None = None,
        principal: str | None = None,
    ) -> None:
        if subject is None and client_id is None and principal is None:
            raise InvalidArgumentError("an identity must name someone: a subject, a client_id, or a principal")
        self.subject = subject
        self.client_id = client_id
        self.issuer = issuer
        self.scopes = scopes
        self.expires_at = expires_at
        self.claims = claims
        self.principal = principal

    def to_json(self) -> dict[str, Any]:
        """The identity as the core takes it."""
        members = {name: getattr(self, name) for name in self.__slots__}
        if self.expires_at is not None:
            members["expires_at"] = int(self.expires_at)
        return camel_case(**members)

    def __repr__(self) -> str:
        return f"Identity({self.subject or self.client_id or self.principal!r})"


class InvalidToken(Exception):
    """Raised by a verifier: the token is no good. The caller gets 401 and this text."""


class InsufficientScope(Exception):
    """Raised by a verifier: the token is good, but does not grant these scopes. The caller gets 403 and them."""

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__(f"the token does not grant {' '.join(scopes)}")
        self.scopes = scopes
