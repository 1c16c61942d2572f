"""Clients, tokens and credentials are printed without secrets."""

from __future__ import annotations

from typing import Any

import pytest

import trunkline
from trunkline import Client, ClientGroup, SyncClient, SyncClientGroup

URL = "http://u:SECRET@127.0.0.1:1/mcp?key=SECRET#SECRET"
SHOWN = "http://127.0.0.1:1/mcp"


@pytest.mark.parametrize("client_class", [Client, SyncClient])
@pytest.mark.parametrize(
    ("target", "options", "shown"),
    [
        (URL, {}, repr(SHOWN)),
        (URL, {"auth": "SECRET"}, repr(SHOWN)),
        (URL, {"auth": {"client_id": "c", "client_secret": "SECRET"}, "headers": {"x-key": "SECRET"}}, repr(SHOWN)),
        ("http://127.0.0.1:1?key=SECRET", {}, "'http://127.0.0.1:1'"),
        ("http://127.0.0.1:1/a/@b", {}, "'http://127.0.0.1:1/a/@b'"),
        ({"url": URL, "headers": {"x-key": "SECRET"}}, {}, "['url', 'headers']"),
        ({"mcpServers": {"notes": {"url": URL}}}, {}, "['notes']"),
        (["server", "--token", "SECRET"], {"env": {"KEY": "SECRET"}}, "['server', ...]"),
        (["server"], {}, "['server']"),
    ],
)
def test_the_repr_of_a_client_has_no_secrets(
    client_class: type[Client | SyncClient], target: Any, options: dict[str, Any], shown: str
) -> None:
    assert repr(client_class(target, **options)) == f"{client_class.__name__}({shown})"


@pytest.mark.parametrize("group_class", [ClientGroup, SyncClientGroup])
def test_the_repr_of_a_group_has_no_secrets(group_class: Any) -> None:
    assert repr(group_class({"a": URL, "b": ["server", "SECRET"]})) == f"{group_class.__name__}(['a', 'b'])"


def models() -> list[type[Any]]:
    from trunkline._internal.model.base import Model

    def under(cls: type[Any]) -> list[type[Any]]:
        return [one for sub in cls.__subclasses__() for one in (sub, *under(sub))]

    assert trunkline.Token
    assert trunkline.AuthorizeRequest
    return sorted(set(under(Model)), key=lambda cls: cls.__name__)


SECRET_FIELDS = {"token", "refused", "headers", "client_key", "url"}
SECRET_VALUES = {("Credentials", "value"), ("LoadedCredentials", "value")}


def test_the_repr_of_a_model_has_no_secrets() -> None:
    seen = set[str]()
    for cls in models():
        names = {name for base in cls.__mro__ for name in getattr(base, "__slots__", ())}
        secret = {name for name in names if name in SECRET_FIELDS or (cls.__name__, name) in SECRET_VALUES}
        value: Any = object.__new__(cls)
        for name in names:
            secret_url = "https://u:SECRET@host/?code=SECRET"
            setattr(value, name, (secret_url if name == "url" else "SECRET") if name in secret else None)
        assert "SECRET" not in repr(value), cls
        seen |= {cls.__name__} if secret else set()
    assert seen >= {"AccessToken", "AuthorizeRequest", "Credentials", "PresentedToken", "Redirect", "Token"}
