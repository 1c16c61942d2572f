"""Tests of server.py with pytest. The fixture is an in-memory client."""

from collections.abc import Iterator

import pytest
from server import server
from trunkline import SyncClient


@pytest.fixture(params=["2026-07-28", "2025-11-25"])
def client(request: pytest.FixtureRequest) -> Iterator[SyncClient]:
    with SyncClient(server, revision=request.param, raise_exceptions=True) as client:
        yield client


def test_forecast(client: SyncClient) -> None:
    assert client.call_tool("forecast", {"city": "Oslo", "days": 2}).text == "day 1: snow\nday 2: snow"


def test_unknown_city(client: SyncClient) -> None:
    result = client.call_tool("forecast", {"city": "Ur"})
    assert (result.is_error, result.text) == (True, "no forecast for Ur; try Oslo or Rome")


def test_schema(client: SyncClient) -> None:
    (tool,) = client.list_tools()
    assert tool.input_schema["required"] == ["city"]
