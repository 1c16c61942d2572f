"""Mutated responses of a server: each yields a result or a typed error."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, cast

from support import TIMEOUT, finish, run, script
from support import environment as child_environment
from trunkline import Client, InternalError, ToolError, TrunklineError

CALLS = 2_000
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {"name": "odd", "version": "1"}}

TEXT: dict[str, Any] = {"type": "text", "text": "hi", "annotations": {"audience": ["user"], "priority": 0.5}}
BLOCKS: list[Any] = [
    TEXT,
    {"type": "resource", "resource": {"uri": "a:b", "text": "t", "mimeType": "text/plain"}},
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "resource_link", "uri": "a:b", "name": "n"},
]
ARGUMENTS = [{"name": "a", "required": True}]
RESULTS: dict[str, dict[str, Any]] = {
    "initialize": HELLO,
    "tools/call": {"content": BLOCKS, "structuredContent": {"n": 1}, "isError": False},
    "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "nextCursor": "c"},
    "resources/list": {"resources": [{"uri": "a:b", "name": "n", "size": 5, "mimeType": "x/y"}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "a:{b}", "name": "n"}]},
    "resources/read": {"contents": [{"uri": "a:b", "text": "t"}, {"uri": "a:c", "blob": "aGk="}]},
    "prompts/list": {"prompts": [{"name": "p", "arguments": ARGUMENTS}]},
    "prompts/get": {"description": "d", "messages": [{"role": "user", "content": TEXT}]},
    "completion/complete": {"completion": {"values": ["a"], "total": 1, "hasMore": False}},
}
# JSON that replaces a value.
ODD = (
    *("null", "true", "0", "-1", "1.5", "1e999", '"x"', "[]", "{}", "[1]", "[null]", '{"a":1}', '{"a":1,"a":2}'),
    *('"\\ud800"', '"a\\udfff\\u0000b"', '{"\\ud800":1}', '{"type":"text"}', '[{"type":"text","text":5}]'),
    *("9" * 5_000, "1" + "0" * 30 + ".5", "[" * 120 + "]" * 120, "[" * 600 + "]" * 600, '"' + "z" * 3_000 + '"'),
)
Place = tuple["str | int", ...]


def members_of(value: Any) -> list[tuple[Any, Any]]:
    """The members of an object, or the items of an array, with their keys."""
    if isinstance(value, dict):
        return [*cast("dict[Any, Any]", value).items()]
    return [*enumerate(cast("list[Any]", value))] if isinstance(value, list) else []


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """The place of a value, and those of all values in it."""
    yield at
    for key, member in members_of(value):
        yield from places(member, (*at, key))


def mutated(value: Any, place: Place, odd: str, at: Place = ()) -> str:
    """The JSON text of a value with another text at one place."""
    if at == place:
        return odd
    texts = [(json.dumps(key), mutated(member, place, odd, (*at, key))) for key, member in members_of(value)]
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{text}' for key, text in texts)}}}"
    if isinstance(value, list):
        return f"[{','.join(text for _, text in texts)}]"
    return json.dumps(value)


class Hostile:
    """The transport to a server that answers `initialize`, and mutates every other answer."""

    def __init__(self, choice: random.Random) -> None:
        self._choice = choice
        self._answers: asyncio.Queue[str] = asyncio.Queue()

    async def connect(self) -> None:
        self._answers = asyncio.Queue()

    async def send(self, message: str) -> None:
        request = json.loads(message)
        if "id" not in request:
            return
        result: Any = RESULTS.get(request["method"], {})
        text, name = json.dumps(result), "result"
        if request["method"] != "initialize":
            if self._choice.random() < 0.1:
                result, name = {"code": -32000, "message": "no", "data": {"a": 1}}, "error"
            text = mutated(result, self._choice.choice([*places(result)]), self._choice.choice(ODD))
        self._answers.put_nowait(f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"{name}":{text}}}')

    async def receive(self) -> str:
        return await self._answers.get()

    async def close(self) -> None:
        pass


OPERATIONS: tuple[Callable[[Client], Awaitable[Any]], ...] = (
    lambda client: client.call_tool("t"),
    lambda client: client.call_tool("t", raise_on_error=True),
    lambda client: client.call_tool("t", result=dict[str, int]),
    lambda client: client.list_tools_page(),
    lambda client: client.list_resources_page(),
    lambda client: client.list_resource_templates_page(),
    lambda client: client.read_resource("a:b"),
    lambda client: client.list_prompts_page(),
    lambda client: client.get_prompt("p"),
    lambda client: client.complete({"type": "ref/prompt", "name": "p"}, {"name": "a", "value": "x"}),
    lambda client: client.ping(),
)


def test_any_response_of_a_server_leads_to_a_result_or_a_typed_error() -> None:
    """Reliability T9. In a separate process, without wire records: recorded messages are checked
    for purity, and these are invalid on purpose.
    """
    program = "from test_hostile_answers import play; play()"
    environment = {name: value for name, value in child_environment().items() if name != "TRUNKLINE_WIRE_LOG"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0 and "outcomes" in done.stdout, done.stderr


def play() -> None:
    """Makes the calls and checks their outcomes."""
    choice = random.Random(9)
    outcomes = {"result": 0, "error": 0}

    async def check() -> None:
        async with Client(Hostile(choice), revision="2025-11-25", timeout=1) as client:
            for _ in range(CALLS):
                try:
                    result = await choice.choice(OPERATIONS)(client)
                except (ToolError, TrunklineError) as error:
                    assert not isinstance(error, InternalError), error
                    outcomes["error"] += 1
                else:
                    outcomes["result"] += 1
                    assert isinstance(repr(result), str) and isinstance(getattr(result, "text", ""), str)

    run(check())
    assert min(outcomes.values()) > CALLS // 10, outcomes
    print("outcomes", outcomes)


def test_lone_surrogates_in_strings_are_replaced() -> None:
    from trunkline._internal._native import from_json

    assert from_json(b'"\\ud83d\\ude00 \\ud800\\n\\u00e9 \\"\\\\"') == '\U0001f600 \ufffd\n\u00e9 "\\'
    assert from_json(b'{"a\\udfff":"\\udc00\\ud800"}') == {"a\ufffd": "\ufffd\ufffd"}


NUMBERS = """
from typing import Any, cast
from trunkline import Server

server = Server("numbers", version="1")

@server.tool
async def double(value: Any) -> Any:
    return value * 2

server.run()
"""


def test_a_call_that_cannot_be_read_does_not_affect_the_others(tmp_path: Path) -> None:
    """Security L15: they arrive in one batch, and Python refuses numbers with so many digits."""
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    lines = [json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})]
    lines.append('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    for number, value in enumerate(("1", "9" * 5_000, "2"), 1):
        arguments = f'{{"name":"double","arguments":{{"value":{value}}}}}'
        lines.append(f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{arguments}}}')
    done = finish(script(tmp_path, NUMBERS), text="\n".join(lines) + "\n")
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert [answers[number]["result"]["content"][0]["text"] for number in (1, 3)] == ["2", "4"], done
    assert "error" in answers[2] or answers[2]["result"]["isError"]
