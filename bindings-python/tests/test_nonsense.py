"""Servers with invalid responses: whatever they send, the client gets a typed error."""

from __future__ import annotations

import datetime
import enum
import inspect
import math
from collections import UserDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

import trunkline
from support import named, run, script
from trunkline import Auth, Client, Context, InvalidArgumentError, Server, SyncClient, SyncContext, TransportError

ANSWERS = """
import json, sys
answers = json.loads(sys.argv[1])
answers["initialize"] = {
    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": answers.get(message["method"], {})}
        print(json.dumps(answer), flush=True)
"""

LISTS = [
    '{"tools": {"a": 1}}',
    '{"tools": "abc"}',
    "{}",
]
# Unusable parts are left out with a warning.
ODD_LISTS = [
    '{"tools": null}',
    '{"tools": [1]}',
    '{"tools": [{}]}',
    '{"tools": [{"name": 5, "inputSchema": {}}]}',
    '{"tools": [], "nextCursor": 7}',
]
CALLS = ['{"content": "abc"}', '{"content": {}}']
ODD_CALLS = ['{"content": [1]}', '{"content": [], "isError": 1}']


def odd(folder: Path, method: str, result: str) -> list[str]:
    """The command of a server that gives this response to this method."""
    return [*script(folder, ANSWERS), f'{{"{method}": {result}}}']


@pytest.mark.parametrize("result", LISTS)
def test_lists(tmp_path: Path, result: str) -> None:
    with SyncClient(odd(tmp_path, "tools/list", result), revision="2025-06-18") as client:
        with pytest.raises(TransportError):
            client.list_tools_page()
        with pytest.raises(TransportError):
            client.list_tools()
        client.ping()


@pytest.mark.parametrize("result", ODD_LISTS)
def test_lists_without_anything_usable_are_empty(tmp_path: Path, result: str) -> None:
    with SyncClient(odd(tmp_path, "tools/list", result), revision="2025-06-18") as client:
        assert (client.list_tools_page().tools, client.list_tools()) == ([], [])


@pytest.mark.parametrize("result", CALLS)
def test_calls(tmp_path: Path, result: str) -> None:
    async def check() -> None:
        async with Client(odd(tmp_path, "tools/call", result), revision="2025-06-18") as client:
            with pytest.raises(TransportError, match="tools/call"):
                await client.call_tool("any")
            await client.ping()

    run(check())


@pytest.mark.parametrize("result", ODD_CALLS)
def test_calls_are_delivered_without_what_is_unusable(tmp_path: Path, result: str) -> None:
    with SyncClient(odd(tmp_path, "tools/call", result), revision="2025-06-18") as client:
        answer = client.call_tool("any")
        assert (answer.content, answer.is_error) == ([], False)


def test_an_endless_list(tmp_path: Path) -> None:
    endless = '{"tools": [{"name": "again", "inputSchema": {"type": "object"}}], "nextCursor": "same"}'
    with SyncClient(odd(tmp_path, "tools/list", endless), revision="2025-06-18") as client:
        # Before 2026-07-28, a cursor that comes again ends the list with a warning.
        assert {tool.name for tool in client.list_tools()} == {"again"}
        assert client.list_tools_page().next_cursor == "same"


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    seen: datetime.date


def test_arguments_may_have_the_types_of_results() -> None:
    """A value becomes the same JSON when a handler returns it and when a client sends it."""
    server = Server("test", version="1")

    @server.tool
    async def echo(value: dict[str, Any]) -> dict[str, Any]:
        return value

    day = datetime.date(2026, 1, 2)
    value: Any = UserDict({"colour": Colour.RED, "point": Point(1, day), "days": {day}, "tuple": (1, 2)})
    expected = {"colour": "red", "point": {"x": 1, "seen": "2026-01-02"}, "days": ["2026-01-02"], "tuple": [1, 2]}
    with SyncClient(server) as client:
        result = client.call_tool("echo", UserDict(value=value), meta=UserDict({"example.com/day": day}))
        assert result.structured_content == expected
        with pytest.raises(InvalidArgumentError, match=r"params\.arguments\.value\.odd"):
            client.call_tool("echo", {"value": {"odd": object()}})

    async def check() -> None:
        async with Client(server) as client:
            assert (await client.call_tool("echo", {"value": value})).structured_content == expected

    run(check())


def test_options_are_validated_when_they_are_passed_with_their_names_in_python() -> None:
    for options, problem in [
        ({"page_size": 2.5}, "^page_size: must be a non-negative integer, not 2.5$"),
        ({"page_size": 0}, "^page_size: must be 1 or more, not 0$"),
        ({"debug": "yes"}, '^debug: must be true or false, not "yes"$'),
        ({"max_nesting": 500}, "^max_nesting: the deepest nesting can be at most"),
    ]:
        with pytest.raises(InvalidArgumentError, match=problem):
            Server("a", version="1", **cast("Any", options))
    without_json: list[Any] = [object(), float("nan"), {"a": object()}]
    for value in without_json:
        with pytest.raises(InvalidArgumentError, match=r"^page_size(\.a)?: "):
            Server("a", version="1", page_size=value)
    with pytest.raises(InvalidArgumentError, match=r"^name must not be empty$"):
        Server("", version="1")
    with pytest.raises(InvalidArgumentError, match=r"^replay_events: must be a non-negative integer"):
        Server("a", version="1").asgi(replay_events=-1)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'prt'\. Did you mean 'port'\?$"):
        # A wrong name is an error of the type checker, too, which refuses a comment without need.
        Server("a", version="1").run_http(prt=3)  # pyright: ignore[reportCallIssue]


SERVER = Server("spelling", version="1")


def plain() -> str:
    return ""


@pytest.mark.parametrize(
    ("function", "options", "call"),
    [
        (Server.__init__, trunkline.ServerOptions, partial(Server, "a", version="1")),
        (SERVER.run_http, trunkline.HttpOptions, SERVER.run_http),
        (SERVER.serve_http, trunkline.HttpOptions, SERVER.serve_http),
        (SERVER.asgi, trunkline.MountOptions, SERVER.asgi),
        (SERVER.add_tool, trunkline.ToolOptions, partial(SERVER.add_tool, named)),
        (SERVER.add_resource, trunkline.ResourceOptions, partial(SERVER.add_resource, "a:b", plain)),
        (SERVER.add_prompt, trunkline.PromptOptions, partial(SERVER.add_prompt, plain)),
        (SERVER.add_directory, trunkline.DirectoryOptions, partial(SERVER.add_directory, "a://", ".")),
        (Client.__init__, trunkline.ConnectOptions, partial(Client, "http://localhost")),
        (SyncClient.__init__, trunkline.ConnectOptions, partial(SyncClient, "http://localhost")),
        (Auth.__init__, trunkline.AuthOptions, partial(Auth, "http://localhost")),
    ],
    ids=lambda one: getattr(one, "__qualname__", ""),
)
def test_errors_suggest_every_name(function: Callable[..., Any], options: type, call: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters.values()
    keywords = [one.name for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    names = [name for name in (*keywords, *options.__annotations__) if name != "version"]
    for name in names:
        # The last but one letter is missing: a wrong one could be another name.
        wrong = name[:-2] + name[-1]
        with pytest.raises(TypeError, match=rf"unexpected keyword argument '{wrong}'\. Did you mean '{name}'\?$"):
            call(**{wrong: 1})
    with pytest.raises(TypeError, match=r"argument 'xyzzy'\. Valid names are ") as caught:
        call(xyzzy=1)
    assert set(names) <= set(str(caught.value).rpartition(" are ")[2].split(", "))


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        ("tool", {"defer_task": 2}, "^defer_task: must be true or false, not 2$"),
        ("tool", {"scopes": "mcp"}, '^scopes: must be a list, not "mcp"$'),
        ("tool", {"input_schema": {"properties": {}}}, "^Tool read: input_schema: the root of the schema must be"),
        ("tool", {"input_schema": {"default": object()}}, "^input_schema.default: .* cannot be written as JSON$"),
        ("tool", {"title": 3}, "^Tool read: title: must be a string, not 3$"),
        ("resource", {"cache_scope": "all"}, '^cache_scope: must be "private" or "public", not "all"$'),
        ("resource", {"mime_type": 3}, r"^Resource template files://\{name\}: mime_type: must be a string, not 3$"),
        ("resource", {"unsafe_paths": "yes"}, '^unsafe_paths: must be true or false, not "yes"$'),
    ],
    ids=named,
)
def test_options_of_features_are_validated_with_their_names_in_python(
    kind: str, options: dict[str, Any], problem: str
) -> None:
    server = Server("test", version="1")

    def read(name: str) -> str:
        return name

    add: Any = server.add_tool if kind == "tool" else partial(server.add_resource, "files://{name}")
    with pytest.raises(InvalidArgumentError, match=problem):
        add(read, **options)


def test_options_are_checked_by_the_core() -> None:
    with (
        pytest.raises(InvalidArgumentError, match=r"^max_message_bytes: must be a non-negative integer, not -1$"),
        SyncClient(Server("a", version="1"), max_message_bytes=-1),
    ):
        pass


def _endless() -> dict[str, Any]:
    value: dict[str, Any] = {"tags": {1, 2}}
    value["itself"] = value
    return value


@pytest.mark.parametrize("value", [math.nan, object(), {1: 2}, _endless(), [float("inf")]], ids=named)
def test_values_without_a_json_form_are_invalid_arguments(value: Any) -> None:
    server = Server("test", version="1")
    refused = pytest.raises(InvalidArgumentError, match=r"^\$")

    @server.tool
    async def tell(ctx: Context) -> None:
        with refused:
            await ctx.info(value)
        with refused:
            await ctx.progress(value)
        with refused:
            await ctx.elicit("Name?", {"type": "object", "properties": {}, "default": value})

    @server.tool
    def tell_in_thread(ctx: SyncContext) -> None:
        with refused:
            ctx.info(value)

    with SyncClient(server, revision="2025-11-25") as client:
        for name in ("tell", "tell_in_thread"):
            assert not client.call_tool(name).is_error
        with refused:
            client.call_tool("tell", {"value": value})
        with refused:
            client.notify("com.acme/told", {"value": value})
        with refused:
            client.request("com.acme/tell", input_responses={"value": value})

    async def check() -> None:
        async with Client(server) as client:
            with refused:
                await client.call_tool("tell", {"value": value})

    run(check())
