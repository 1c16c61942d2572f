"""Every client request, async and blocking, to a server in this process and to a child process, in
both eras.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, cast

import pytest

from support import environment, run, script
from trunkline import (
    Client,
    Completion,
    EmbeddedResource,
    InvalidArgumentError,
    Message,
    Prompt,
    PromptArgument,
    ProtocolError,
    ResourceContents,
    Server,
    SyncClient,
    TextContent,
    Tool,
    ToolError,
    TransportError,
)


@dataclass
class Sums:
    z: int
    a: int


class Wrong(TypedDict):
    missing: str


def test_a_result_is_converted_to_the_type_of_the_caller() -> None:
    server = Server("typed", version="1")

    @server.tool
    def add(second: int, first: int) -> Sums:
        return Sums(second + first, first)

    @server.tool
    def names() -> list[str]:
        return ["a", "b"]

    @server.tool
    def nothing() -> None: ...

    @server.tool
    def fail() -> Sums:
        raise ToolError("no sums today")

    @server.tool
    def plain() -> Any:
        return "text"

    @server.tool
    def hello() -> str:
        return "hello"

    @server.tool(output_schema={"type": "object", "properties": {"result": {"type": "string"}}})
    def wrapped() -> Any:
        return {"result": "hello"}

    async def check() -> None:
        async with Client(server) as client:
            assert await client.call_tool("add", {"second": 2, "first": 1}, result=Sums) == Sums(3, 1)
            assert await client.call_tool("names", result=list[str]) == ["a", "b"]
            for tool in ("hello", "wrapped"):
                assert await client.call_tool(tool, result=str) == "hello"
            for tool in ("names", "nothing"):
                with pytest.raises(TransportError, match="not a single text"):
                    await client.call_tool(tool, result=str)
            for tool, problem in [("add", "missing"), ("plain", "no structuredContent")]:
                with pytest.raises(TransportError, match=problem):
                    await client.call_tool(tool, {"second": 2, "first": 1} if tool == "add" else {}, result=Wrong)
            assert (await client.call_tool("fail")).is_error
            with pytest.raises(ToolError, match="no sums today"):
                await client.call_tool("fail", result=Sums)
            with pytest.raises(ToolError, match="no sums today"):
                await client.call_tool("fail", raise_on_error=True)
            for wrong in (Server, {"type": "object"}):
                with pytest.raises(InvalidArgumentError, match="result: "):
                    await client.call_tool("add", result=cast(Any, wrong))
            with pytest.raises(InvalidArgumentError, match='arguments of "add" must be an object'):
                await client.call_tool("add", cast(Any, [1, 2]))

    asyncio.run(check())


def test_a_blocking_client_converts_results_too() -> None:
    server = Server("typed", version="1")

    @server.tool
    def names() -> list[str]:
        return ["a", "b"]

    with SyncClient(server) as client:
        assert client.call_tool("names", result=list[str]) == ["a", "b"]
        with pytest.raises(TransportError, match="result"):
            client.call_tool("names", result=int)


# Two things of each kind, and one thing per page.
SOURCE = '''
from trunkline import Completion, EmbeddedResource, ReadResourceResult, ResourceContents, Server, assistant, user

server = Server("operations", version="1", page_size=1)

@server.tool(title="Adds", meta={"example.com/z": 1, "example.com/a": 2})
async def add(second: int, first: int) -> dict[str, int]:
    """Adds two numbers."""
    return {"z": second + first, "a": first}

@server.tool
def fail() -> str:
    raise RuntimeError("inside")

@server.resource("notes://one", title="One", mime_type="text/plain", size=5)
def one() -> str:
    """The first note."""
    return "first"

@server.resource("notes://bytes")
def two() -> ReadResourceResult:
    return ReadResourceResult([ResourceContents(blob=b"\\x00\\x01"), ResourceContents("t", meta={"k": 1})], ttl=2.5)

@server.resource("notes://{name}/text")
def named(name: str) -> str:
    return name

@server.resource("notes://{name}/length")
def length(name: str) -> int:
    return len(name)

@server.prompt(title="Greets")
def greet(name: str, language: str = "en") -> list:
    """Greets someone."""
    return [user(f"Greet {name} in {language}"), assistant(EmbeddedResource("notes://one", text="first"))]

@server.prompt
def plain() -> str:
    return "plain"

@server.completion(greet, "name")
def names(text: str, others: dict[str, str]) -> Completion:
    return Completion([text + "da", *others.values()], total=7, has_more=True)

@server.completion("notes://{name}/text", "name")
def notes(text: str) -> list[str]:
    return [text + "!"]

if __name__ == "__main__":
    server.run()
'''

Operations = Callable[..., Any]


@contextmanager
def connected(kind: str, where: str, revision: str, folder: Path) -> Generator[Operations]:
    """Calls a method of a client of either kind, and returns its result."""
    target: Any
    options: dict[str, Any] = {"revision": revision}
    if where == "memory":
        names: dict[str, Any] = {"__name__": "operations"}
        exec(SOURCE, names)
        target = cast("Server", names["server"])
    else:
        target = script(folder, SOURCE)
        options["env"] = environment()
    if kind == "sync":
        with SyncClient(target, **options) as client:

            def blocking(name: str, *given: Any, **named: Any) -> Any:
                return getattr(client, name)(*given, **named)

            yield blocking
        return
    loop = asyncio.new_event_loop()

    def wait(coroutine: Awaitable[Any]) -> Any:
        return loop.run_until_complete(asyncio.wait_for(coroutine, 30))

    asynchronous = Client(target, **options)

    def waiting(name: str, *given: Any, **named: Any) -> Any:
        return wait(getattr(asynchronous, name)(*given, **named))

    try:
        wait(asynchronous.connect())
        yield waiting
        wait(asynchronous.close())
    finally:
        loop.close()


@pytest.fixture(
    params=[
        pytest.param((kind, where, revision), id=f"{kind}-{where}-{revision}")
        for kind in ("async", "sync")
        for where in ("memory", "child")
        for revision in ("2025-06-18", "2025-11-25", "2026-07-28")
    ]
)
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Operations]:
    kind, where, revision = request.param
    with connected(kind, where, revision, tmp_path) as operations:
        yield operations


def test_lists_have_all_pages_and_pages_have_their_cursor(ask: Operations) -> None:
    tools, resources = ask("list_tools"), ask("list_resources")
    assert [tool.name for tool in tools] == ["add", "fail"]
    assert (tools[0].title, tools[0].description) == ("Adds", "Adds two numbers.")
    assert [resource.uri for resource in resources] == ["notes://one", "notes://bytes"]
    one = resources[0]
    assert (one.name, one.title, one.description, one.mime_type, one.size) == (
        "one",
        "One",
        "The first note.",
        "text/plain",
        5,
    )
    templates = ask("list_resource_templates")
    assert [template.uri_template for template in templates] == ["notes://{name}/text", "notes://{name}/length"]
    greet, plain = ask("list_prompts")
    assert (greet.name, greet.title, greet.description) == ("greet", "Greets", "Greets someone.")
    assert greet.arguments == [PromptArgument("name", required=True), PromptArgument("language")]
    assert plain == Prompt("plain")
    for name, member in (
        ("list_tools_page", "tools"),
        ("list_resources_page", "resources"),
        ("list_resource_templates_page", "resource_templates"),
        ("list_prompts_page", "prompts"),
    ):
        first = ask(name)
        assert len(getattr(first, member)) == 1 and first.next_cursor is not None
        last = ask(name, first.next_cursor)
        assert len(getattr(last, member)) == 1 and last.next_cursor is None
        assert getattr(first, member) + getattr(last, member) == ask(name.removesuffix("_page"))
        with pytest.raises(ProtocolError):
            ask(name, "no such cursor")


def test_tools_are_called(ask: Operations) -> None:
    result = ask("call_tool", "add", {"second": 1, "first": 2}, timeout=20, max_timeout=20, meta={"example.com/k": 1})
    assert not result.is_error and result.structured_content == {"z": 3, "a": 2}
    assert ask("call_tool", "fail").is_error
    with pytest.raises(ProtocolError):
        ask("call_tool", "nothing")


def test_resources_are_read(ask: Operations) -> None:
    result = ask("read_resource", "notes://one")
    assert result.contents == [ResourceContents("first", uri="notes://one", mime_type="text/plain")]
    result = ask("read_resource", "notes://bytes", timeout=20)
    blob, text = result.contents
    assert (blob.decode(), text.text, text.meta, text.uri) == (b"\x00\x01", "t", {"k": 1}, "notes://bytes")
    assert result.ttl in (None, 2.5)  # only the newest revision has it
    assert ask("read_resource", "notes://name/text").contents[0].text == "name"
    with pytest.raises(ProtocolError):
        ask("read_resource", "notes://nothing")


def test_prompts_are_filled_in(ask: Operations) -> None:
    result = ask("get_prompt", "greet", {"name": "Ada"})
    assert result.description == "Greets someone."
    assert result.messages == [
        Message("user", TextContent("Greet Ada in en")),
        Message("assistant", EmbeddedResource("notes://one", text="first")),
    ]
    assert ask("get_prompt", "plain").messages == [Message("user", "plain")]
    with pytest.raises(ProtocolError):
        ask("get_prompt", "greet")


def test_arguments_are_completed(ask: Operations) -> None:
    prompt = {"type": "ref/prompt", "name": "greet"}
    result = ask("complete", prompt, {"name": "name", "value": "A"}, {"arguments": {"language": "no"}})
    assert result.completion == Completion(["Ada", "no"], total=7, has_more=True)
    template = {"type": "ref/resource", "uri": "notes://{name}/text"}
    assert ask("complete", template, {"name": "name", "value": "x"}).completion.values == ["x!"]


@pytest.mark.parametrize("kind", ["async", "sync"])
@pytest.mark.parametrize("where", ["memory", "child"])
def test_ping(kind: Literal["async", "sync"], where: str, tmp_path: Path) -> None:
    with connected(kind, where, "2025-11-25", tmp_path) as ask:
        assert ask("ping", timeout=20) is None


def test_members_keep_their_order(ask: Operations) -> None:
    add: Tool = ask("list_tools")[0]
    assert add.meta is not None
    assert [*add.meta] == ["example.com/z", "example.com/a"]
    assert [*add.input_schema["properties"]] == ["second", "first"]
    result = ask("call_tool", "add", {"second": 1, "first": 2})
    assert [*result.structured_content] == ["z", "a"]


def test_async_and_blocking_clients_have_the_same_methods() -> None:
    def public(cls: type) -> dict[str, str]:
        return {
            name: str(inspect.signature(member)).replace("Async", "Sync")
            for name, member in inspect.getmembers(cls, inspect.isfunction)
            if not name.startswith("_")
        }

    assert public(Client) == public(SyncClient)


def test_cch_04_a_cached_list_is_fetched_again_if_the_caller_passes_fresh() -> None:
    async def test() -> None:
        server = Server("kept", version="1", ttl=60)

        @server.tool
        def one() -> str:
            return "1"

        async with Client(server, revision="2026-07-28") as client:
            assert [tool.name for tool in await client.list_tools()] == ["one"]

            @server.tool
            def two() -> str:
                return "2"

            assert callable(one) and callable(two)
            assert len(await client.list_tools()) == 1, "it is kept"
            assert len(await client.list_tools(fresh=True)) == 2

    run(test())
