"""Tests of a server without sockets or processes, as functions that pytest discovers."""

import asyncio

from trunkline import Client, Server

server = Server("calculator", version="1.0.0")


@server.tool
def divide(dividend: float, divisor: float) -> float:
    """Divide two numbers."""
    return dividend / divisor


def test_the_function_itself() -> None:
    assert divide(3, 2) == 1.5


async def test_a_call_through_the_protocol() -> None:
    async with Client(server) as client:
        result = await client.call_tool("divide", {"dividend": 3, "divisor": 2})
        assert (result.is_error, result.text) == (False, "1.5")


async def test_an_older_revision() -> None:
    async with Client(server, revision="2024-11-05") as client:
        assert client.revision == "2024-11-05"
        assert (await client.call_tool("divide", {"dividend": 1, "divisor": 4})).text == "0.25"


async def test_exceptions_of_a_handler() -> None:
    async with Client(server, raise_exceptions=True) as client:
        try:
            await client.call_tool("divide", {"dividend": 3, "divisor": 0})
        except ZeroDivisionError:
            print("the handler failed: division by zero")


test_the_function_itself()
for test in (test_a_call_through_the_protocol, test_an_older_revision, test_exceptions_of_a_handler):
    asyncio.run(test())
print("all passed")
