"""The features of a server, seen by a client in the same process: real messages, full projection
and validation.
"""

from __future__ import annotations

import asyncio
import contextvars
import datetime as dt
import enum
import threading
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest

from support import REVISIONS, Heard, named, run, until
from trunkline import (
    AudioContent,
    CallToolResult,
    Client,
    Content,
    Context,
    EmbeddedResource,
    Field,
    ImageContent,
    InvalidArgumentError,
    ProtocolError,
    ResourceLink,
    Server,
    SyncContext,
    TextContent,
    ToolError,
)

PNG = b"\x89PNG not really"


@dataclass
class Point:
    x: int
    y: int


class Weather(TypedDict):
    city: str
    temperature: float


class Model(pydantic.BaseModel):
    when: dt.date
    name: str = pydantic.Field(serialization_alias="theName")


class Colour(enum.Enum):
    RED = "red"


class Named(str, enum.Enum):
    BLUE = "blue"


async def call(server: Server, name: str, arguments: dict[str, Any] | None = None, **options: Any) -> CallToolResult:
    async with Client(server, **options) as client:
        return await client.call_tool(name, arguments)


def given(value: Any, annotation: Any = Any, *, sync: bool = False, **options: Any) -> CallToolResult:
    """The result of a tool that returns `value` and is annotated with `annotation`."""
    server = Server("test", version="1")

    def returning() -> Any:
        return value

    async def returning_later() -> Any:
        return value

    function = returning if sync else returning_later
    function.__annotations__["return"] = annotation
    server.add_tool(function, name="tool", **options)
    return run(call(server, "tool"))


RETURNED: list[tuple[Any, Any, str, Any]] = [
    # returned, annotation, text, structured content
    ("text", str, "text", None),
    ("text", Any, "text", None),
    ("", str, "", None),
    (Point(1, 2), Point, '{"x":1,"y":2}', {"x": 1, "y": 2}),
    (Point(1, 2), Any, '{"x":1,"y":2}', None),
    (
        {"city": "Oslo", "temperature": 1.5},
        Weather,
        '{"city":"Oslo","temperature":1.5}',
        {"city": "Oslo", "temperature": 1.5},
    ),
    (
        Model(when=dt.date(2024, 1, 2), name="n"),
        Model,
        '{"when":"2024-01-02","theName":"n"}',
        {"when": "2024-01-02", "theName": "n"},
    ),
    (3, int, "3", {"result": 3}),
    (2.5, float, "2.5", {"result": 2.5}),
    (True, bool, "true", {"result": True}),
    (None, int | None, "null", {"result": None}),
    ([1, 2], list[int], "[1,2]", {"result": [1, 2]}),
    ([], list[str], "[]", {"result": []}),
    ((1, "a"), tuple[int, str], '[1,"a"]', {"result": [1, "a"]}),
    ({"a": 1}, dict[str, int], '{"a":1}', {"a": 1}),
    ({"a": 1}, Any, '{"a":1}', None),
    ([Point(1, 2)], list[Point], '[{"x":1,"y":2}]', {"result": [{"x": 1, "y": 2}]}),
    ({"p": Point(1, 2)}, dict[str, Point], '{"p":{"x":1,"y":2}}', {"p": {"x": 1, "y": 2}}),
    (Point(1, 2), Point | None, '{"x":1,"y":2}', {"result": {"x": 1, "y": 2}}),
    (Point(1, 2), Annotated[Point, "where"], '{"x":1,"y":2}', {"x": 1, "y": 2}),
    ("a", Literal["a", "b"], "a", {"result": "a"}),
    ("a", str | None, "a", {"result": "a"}),
    (Colour.RED, Colour, "red", {"result": "red"}),
    (Named.BLUE, Named, "blue", {"result": "blue"}),
    (dt.date(2024, 1, 2), dt.date, "2024-01-02", {"result": "2024-01-02"}),
    ([dt.date(2024, 1, 2)], list[dt.date], '["2024-01-02"]', {"result": ["2024-01-02"]}),
    (
        uuid.UUID(int=1),
        uuid.UUID,
        "00000000-0000-0000-0000-000000000001",
        {"result": "00000000-0000-0000-0000-000000000001"},
    ),
    (Decimal("1.10"), Decimal, "1.10", {"result": "1.10"}),
    (Path("a"), Path, "a", {"result": "a"}),
    (b"hi", bytes, "aGk=", {"result": "aGk="}),
    ({3}, set[int], "[3]", {"result": [3]}),
    (10**30, int, str(10**30), {"result": 10**30}),
    # Not what the annotation promises, but it has a JSON form that fits.
    ((1, 2), list[int], "[1,2]", {"result": [1, 2]}),
    ({1}, list[int], "[1]", {"result": [1]}),
]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "def"])
@pytest.mark.parametrize(("value", "annotation", "text", "structured"), RETURNED)
def test_return_values_become_text_and_structured_content(
    value: Any, annotation: Any, text: str, structured: Any, sync: bool
) -> None:
    result = given(value, annotation, sync=sync)
    assert result.content == [TextContent(text)]
    assert not result.is_error
    assert result.structured_content == structured


BLOCKS: list[Content] = [
    TextContent("hi", annotations={"priority": 0.5}),
    ImageContent(PNG, "image/png"),
    AudioContent(PNG, "audio/wav", meta={"a": 1}),
    EmbeddedResource("test://a", text="t", mime_type="text/plain"),
    EmbeddedResource("test://b", blob=PNG),
    ResourceLink("test://c", "c", title="C", description="d", mime_type="text/plain", size=3),
]


@pytest.mark.parametrize("block", BLOCKS)
def test_a_content_block_is_passed_on(block: Content) -> None:
    assert given(block, type(block)).content == [block]
    assert given(block).content == [block]


def test_a_list_of_content_blocks_is_passed_on() -> None:
    result = given(BLOCKS, list[Content])
    assert result.content == BLOCKS
    assert result.structured_content is None
    image = result.content[1]
    assert isinstance(image, ImageContent) and image.decode() == PNG


def test_a_full_result_is_passed_on() -> None:
    full = CallToolResult([TextContent("t")], structured_content={"a": 1}, is_error=True, meta={"k": "v"})
    result = given(full, CallToolResult)
    assert result.content == full.content and result.structured_content == {"a": 1} and result.is_error
    assert result.meta is not None and result.meta["k"] == "v"
    assert result.text == "t"


def test_an_output_schema_of_the_user() -> None:
    # TOOL-13
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert given({"a": 1}, output_schema=schema).structured_content == {"a": 1}
    wrong = given({"a": "x"}, output_schema=schema)
    assert wrong.is_error and "/a" in wrong.text
    text = {"type": "object", "properties": {"result": {"type": "string"}}}
    assert given("t", str, output_schema=text).structured_content == {"result": "t"}


@pytest.mark.parametrize("value", [object(), [object()], {1: 2}, float("nan"), [TextContent("a"), 1]], ids=named)
def test_a_value_without_a_json_form_is_a_failure_of_the_tool(value: Any) -> None:
    for sync in (False, True):
        result = given(value, sync=sync)
        assert result.is_error and "internal error" in result.text


def test_descriptors_reach_the_client() -> None:
    server = Server("test", version="1", title="Test", instructions="Use it well")

    @server.tool(
        name="tool",
        title="The tool",
        annotations={"readOnlyHint": True},
        icons=[{"src": "https://example.com/i.png", "mimeType": "image/png"}],
        meta={"example.com/a": 1},
    )
    async def function(
        count: Annotated[int, Field(ge=1, description="how many")], names: list[str] | None = None
    ) -> Point:
        """Does something.

        And says more about it.
        """
        return Point(count, len(names or []))

    async def check() -> None:
        async with Client(server) as client:
            (tool,) = await client.list_tools()
            assert (tool.name, tool.title) == ("tool", "The tool")
            assert tool.description == "Does something.\n\nAnd says more about it."
            assert tool.annotations == {"readOnlyHint": True}
            assert tool.icons == [{"src": "https://example.com/i.png", "mimeType": "image/png"}]
            assert tool.meta == {"example.com/a": 1}
            assert tool.input_schema == {
                "type": "object",
                "properties": {
                    "count": {"type": "integer", "minimum": 1, "description": "how many"},
                    "names": {
                        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                        "default": None,
                    },
                },
                "required": ["count"],
                "additionalProperties": False,
            }
            assert tool.output_schema is not None
            assert tool.output_schema["required"] == ["x", "y"]
            assert client.instructions == "Use it well"
            assert client.server_info and client.server_info.title == "Test"

    run(check())


def test_the_decorated_function_stays_what_it_is() -> None:
    server = Server("test", version="1")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool(name="other")
    async def later(a: int) -> int:
        return a

    assert add(1, 2) == 3
    assert run(later(4)) == 4
    assert repr(server) == "Server('test', version='1', tools=['add', 'other'])"


def test_methods_and_callable_objects() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def step(self, by: int = 1) -> int:
            self.count += by
            return self.count

        async def __call__(self, by: int) -> int:
            return self.step(by)

    server, counter = Server("test", version="1"), Counter()
    server.add_tool(counter.step)
    server.add_tool(counter, name="called")

    async def check() -> None:
        async with Client(server) as client:
            assert (await client.call_tool("step", {"by": 2})).text == "2"
            assert (await client.call_tool("called", {"by": 3})).text == "5"

    run(check())


def test_arguments_are_built_as_annotated() -> None:
    server = Server("test", version="1")

    @server.tool
    def take(point: Point, colour: Colour, when: dt.datetime, model: Model, names: set[str], count: int = 7) -> str:
        assert isinstance(point, Point) and isinstance(model, Model)
        return f"{point} {colour} {when:%H:%M} {model.when:%d} {sorted(names)} {count}"

    arguments = {
        "point": {"x": 1, "y": 2},
        "colour": "red",
        "when": "2024-01-02T03:04:05Z",
        "model": {"when": "2024-01-02", "name": "n"},
        "names": ["b", "a"],
    }
    assert run(call(server, "take", arguments)).text == "Point(x=1, y=2) Colour.RED 03:04 02 ['a', 'b'] 7"


def test_a_schema_of_the_user_passes_values_on_unchanged() -> None:
    server = Server("test", version="1")
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": True}

    @server.tool(input_schema=schema)
    async def anything(**arguments: Any) -> str:
        return str(arguments)

    assert run(call(server, "anything", {"a": 1, "b": [2]})).text == "{'a': 1, 'b': [2]}"


@pytest.mark.parametrize("revision", REVISIONS)
def test_errors_for_invalid_arguments_name_the_path(revision: str) -> None:
    server = Server("test", version="1")

    @server.tool
    async def on(days: list[dt.date]) -> str:
        return str(days)

    async def check() -> None:
        async with Client(server, revision=revision) as client:
            for days, path in (([1], "/days/0"), (["2024-02-31"], "/days")):
                try:
                    result = await client.call_tool("on", {"days": days})
                except ProtocolError as error:
                    assert revision <= "2025-06-18"
                    assert error.code == -32602
                    text = error.message
                else:
                    assert result.is_error
                    text = result.text
                assert path in text and "Invalid arguments for tool on" in text

    run(check())


def test_failures_of_handlers() -> None:
    server = Server("test", version="1")

    @server.tool
    async def fails(how: str) -> str:
        return _fail(how)

    @server.tool
    def fails_in_thread(how: str) -> str:
        return _fail(how)

    async def check() -> None:
        async with Client(server) as client:
            for name in ("fails", "fails_in_thread"):
                told = await client.call_tool(name, {"how": "tool"})
                assert told.is_error and told.text == "no such city"
                broken = await client.call_tool(name, {"how": "bug"})
                assert broken.is_error and "secret" not in broken.text
                for how in ("no text", "no data", "no code"):
                    untold = await client.call_tool(name, {"how": how})
                    assert untold.is_error and untold.text == broken.text
                with pytest.raises(ProtocolError) as caught:
                    await client.call_tool(name, {"how": "protocol"})
                assert (caught.value.code, caught.value.message, caught.value.data) == (-32001, "own error", {"a": [1]})
                assert (await client.call_tool(name, {"how": "fine"})).text == "fine"

    run(check())


def _fail(how: str) -> str:
    if how == "tool":
        raise ToolError("no such city")
    if how == "bug":
        raise ZeroDivisionError("a secret detail")
    if how == "protocol":
        raise ProtocolError("own error", -32001, {"a": [1]})
    # Values that no peer can receive.
    if how == "no text":
        raise ProtocolError(-32001, "own error")  # type: ignore[arg-type]
    if how == "no data":
        raise ProtocolError("own error", -32001, object())
    if how == "no code":
        raise ProtocolError("own error", "-32001")  # type: ignore[arg-type]
    return how


def test_debug_shows_the_details_of_failures() -> None:
    server = Server("test", version="1", debug=True)

    @server.tool
    async def fails() -> str:
        return _fail("bug")

    text = run(call(server, "fails")).text
    assert "ZeroDivisionError: a secret detail" in text and "in _fail" in text


def test_failures_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("test", version="1")

    @server.tool
    async def fails() -> str:
        return _fail("bug")

    async def check() -> None:
        async with Client(server) as client:
            await client.call_tool("fails")
            await until(lambda: "secret detail" in caplog.text, "the log record")

    run(check())
    assert caplog.records[0].name == "trunkline.server" and caplog.records[0].levelname == "ERROR"


def test_unknown_tools_are_protocol_errors() -> None:
    with pytest.raises(ProtocolError) as caught:
        run(call(Server("test", version="1"), "nothing"))
    assert caught.value.code == -32602
    assert "nothing" in str(caught.value) and "-32602" in str(caught.value)


def test_invalid_registrations_are_refused() -> None:
    server = Server("test", version="1")

    async def fine() -> None: ...

    server.add_tool(fine)
    with pytest.raises(InvalidArgumentError, match="fine"):
        server.add_tool(fine)
    with pytest.raises(InvalidArgumentError, match="bad name"):
        server.add_tool(fine, name="bad name")
    with pytest.raises(InvalidArgumentError, match="input_schema"):
        server.add_tool(fine, name="a", input_schema={"type": "nonsense"})
    with pytest.raises(InvalidArgumentError, match="output_schema"):
        server.add_tool(fine, name="b", output_schema={"$ref": "https://example.com/x.json"})
    with pytest.raises(InvalidArgumentError, match="pass name="):
        server.add_tool(lambda: None)
    with pytest.raises(InvalidArgumentError, match="is an unbound method"):
        server.add_tool(Methods.method)
    with pytest.raises(InvalidArgumentError, match="by keyword"):
        server.tool("name")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="no tool named 'nothing'"):
        server.remove_tool("nothing")
    with pytest.raises(InvalidArgumentError, match="seconds"):
        Server("test", version="1", session_idle=-1)
    with pytest.raises(InvalidArgumentError, match="not '5'"):
        Client(server, timeout="5")  # type: ignore[arg-type]
    server.remove_tool("fine")
    server.add_tool(fine)


class Methods:
    """A class whose methods are tools."""

    def __init__(self, factor: int) -> None:
        self._factor = factor

    def method(self, number: int) -> int:
        return number * self._factor


def test_methods_of_an_object_are_tools() -> None:
    server = Server("test", version="1")
    server.add_tool(Methods(7).method)
    assert run(call(server, "method", {"number": 6})).text == "42"


def test_the_repr_of_clients_and_listeners() -> None:
    client = Client("http://127.0.0.1:1/mcp")
    assert repr(client) == "Client('http://127.0.0.1:1/mcp')"
    assert repr(Client({"url": "http://a.example", "headers": {"x-key": "secret"}})) == "Client(['url', 'headers'])"
    assert repr(Client({"mcpServers": {"notes": {"command": "x", "env": {"KEY": "secret"}}}})) == "Client(['notes'])"

    async def check() -> None:
        server = Server("test", version="1")
        listener = server.serve_http(port=0)
        assert repr(listener) == "Listener('http')"
        async with listener, Client(listener.url, revision="2025-11-25") as connected:
            assert repr(listener) == f"Listener({listener.url!r})"
            assert repr(connected) == f"Client({listener.url!r}, revision='2025-11-25')"

    run(check())


def test_pages() -> None:
    server = Server("test", version="1", page_size=2)
    for number in range(5):
        server.add_tool(_nothing, name=f"tool_{number}")

    async def check() -> None:
        async with Client(server) as client:
            assert [tool.name for tool in await client.list_tools()] == [f"tool_{number}" for number in range(5)]
            page = await client.list_tools_page()
            assert len(page.tools) == 2 and page.next_cursor is not None
            page = await client.list_tools_page(page.next_cursor)
            assert [tool.name for tool in page.tools] == ["tool_2", "tool_3"]
            with pytest.raises(ProtocolError):
                await client.list_tools_page("nonsense")

    run(check())


async def _nothing() -> None: ...


@pytest.mark.parametrize("revision", [*REVISIONS, "auto", "legacy", "modern"])
def test_every_revision(revision: str) -> None:
    server = Server("test", version="1")

    @server.tool
    async def echo(message: str, ctx: Context) -> str:
        assert ctx.name == "echo"
        assert ctx.client_info is not None and ctx.client_info.name == "tester"
        return f"{message} {ctx.revision}"

    async def check() -> None:
        async with Client(server, revision=revision, name="tester", version="2") as client:
            if revision in REVISIONS:
                assert client.revision == revision
            if revision != "2026-07-28":  # spoken without a probe, so that nothing is known before the first answer
                assert client.server_info and client.server_info.name == "test"
                assert client.capabilities.tools is not None
            await client.ping()
            assert (await client.call_tool("echo", {"message": "hi"})).text == f"hi {client.revision}"

    run(check())


def test_unknown_revisions_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="1999"):
        run(call(Server("test", version="1"), "x", revision="1999-01-01"))


def test_context_knows_the_call() -> None:
    server = Server("test", version="1")

    @server.tool
    def facts(ctx: SyncContext) -> dict[str, Any]:
        assert not ctx.cancelled
        ctx.raise_if_cancelled()
        return {
            "meta": dict(ctx.meta),
            "progress": ctx.wants_progress,
            "capabilities": ctx.client_capabilities.to_json(),
        }

    async def check() -> None:
        async with Client(server) as client:
            result = await client.call_tool("facts", meta={"example.com/a": 1})
            facts = result.structured_content
            assert facts["meta"]["example.com/a"] == 1
            assert facts["progress"] is False and facts["capabilities"] == {}

    run(check())


def test_context_variables_are_those_of_the_serving_task() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    server = Server("test", version="1")

    @server.tool
    async def on_loop() -> str:
        before = variable.get()
        variable.set("changed by a handler")
        return before

    @server.tool
    def in_thread() -> str:
        before = variable.get()
        variable.set("changed by a handler")
        return before

    async def check() -> None:
        variable.set("served")
        async with Client(server) as client:
            for name in ("on_loop", "in_thread", "on_loop", "in_thread"):
                assert (await client.call_tool(name)).text == "served"

    run(check())


def test_client_capabilities_can_be_required() -> None:
    # DISC-15
    server = Server("test", version="1")
    server.add_tool(_nothing, name="needs", requires={"sampling": {}})
    with pytest.raises(ProtocolError):
        run(call(server, "needs"))


def test_concurrent_calls() -> None:
    server = Server("test", version="1", max_running=50)
    running = 0
    most = 0

    @server.tool
    async def count(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return number

    async def check() -> None:
        async with Client(server) as client:
            results = await asyncio.gather(*[client.call_tool("count", {"number": n}) for n in range(500)])
            assert [result.structured_content for result in results] == [{"result": n} for n in range(500)]

    run(check())
    assert 1 < most <= 50


def test_the_pool_is_bounded_and_reused() -> None:
    server = Server("test", version="1", max_threads=4)
    threads: set[str] = set()
    barrier = threading.Barrier(4, timeout=30)

    @server.tool
    def work(meet: bool = False) -> str:
        threads.add(threading.current_thread().name)
        if meet:
            barrier.wait()
        return "done"

    async def check() -> None:
        async with Client(server) as client:
            results = await asyncio.gather(*[client.call_tool("work", {"meet": True}) for _ in range(4)])
            assert all(result.text == "done" for result in results)
            await asyncio.gather(*[client.call_tool("work") for _ in range(200)])

    run(check())
    assert len(threads) == 4
    assert all(name.startswith("trunkline-") for name in threads)


def test_a_server_can_be_served_repeatedly() -> None:
    server = Server("test", version="1")

    @server.tool
    async def hello() -> str:
        return "hello"

    for _ in range(3):
        assert run(call(server, "hello")).text == "hello"

    async def two() -> None:
        async with Client(server) as first, Client(server) as second:
            assert (await first.call_tool("hello")).text == "hello"
            assert (await second.call_tool("hello")).text == "hello"
        assert (await call(server, "hello")).text == "hello"

    run(two())


def test_a_client_on_another_loop_than_the_server() -> None:
    server = Server("test", version="1")
    serving, done = threading.Event(), threading.Event()

    @server.tool
    async def where(ctx: Context) -> str:
        await ctx.progress(1)
        return threading.current_thread().name

    async def serve() -> None:
        async with Client(server):
            serving.set()
            while not done.is_set():
                await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: run(serve()), name="serving")
    thread.start()
    heard = Heard()

    async def check() -> None:
        async with Client(server) as client:
            for _ in range(20):
                result = await client.call_tool("where", on_progress=heard.hear)
                assert result.text == "serving"

    try:
        assert serving.wait(10)
        run(check())
    finally:
        done.set()
        thread.join()
    assert heard


def test_registered_features_can_be_changed_and_hidden() -> None:
    server = Server("changing", version="1")

    @server.tool(title="Adds")
    def add(a: int, b: int) -> int:
        "Adds numbers"
        return a + b

    @server.resource("notes://{day}")
    def note(day: str) -> str:
        return f"of {day}"

    @server.prompt
    async def plan() -> str:
        return "a plan"

    tool, resource, prompt = server.get_tool("add"), server.get_resource("notes://{day}"), server.get_prompt("plan")
    other = server.add_tool(lambda: "x", name="other")

    async def check() -> None:
        changed = asyncio.Event()
        async with Client(server, on_tools_changed=changed.set) as client:
            tool.update(description="Adds two numbers")
            await asyncio.wait_for(changed.wait(), 30)
            shown = (await client.list_tools())[0]
            assert (shown.name, shown.title, shown.description) == ("add", "Adds", "Adds two numbers")
            assert (await client.call_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}

            async def multiply(a: int, b: int, c: int = 1) -> int:
                return a * b * c

            tool.update(multiply, name="multiply", description=None)
            assert [shown.name for shown in await client.list_tools()] == ["multiply", "other"]
            assert (await client.call_tool("multiply", {"a": 2, "b": 3, "c": 4})).structured_content == {"result": 24}
            with pytest.raises(InvalidArgumentError, match="already registered"):
                tool.update(name="other")
            with pytest.raises(TypeError, match="colour"):
                tool.update(colour="red")
            for registration in (tool, resource, prompt):
                registration.disable()
            assert [shown.name for shown in await client.list_tools()] == ["other"]
            assert await client.list_resource_templates() == await client.list_prompts() == []
            for hidden in (client.call_tool("multiply", {"a": 1, "b": 1}), client.get_prompt("plan")):
                with pytest.raises(ProtocolError, match="Unknown"):
                    await hidden
            with pytest.raises(ProtocolError, match="not found"):
                await client.read_resource("notes://today")
            for registration in (tool, resource, prompt):
                registration.enable()
            assert len(await client.list_prompts()) == 1
        tool.disable()
        async with Client(server) as client:  # a new port: the changes are kept
            assert [shown.name for shown in await client.list_tools()] == ["other"]
            tool.enable()
            assert (await client.call_tool("multiply", {"a": 2, "b": 2})).structured_content == {"result": 4}
            other.remove()
            assert [shown.name for shown in await client.list_tools()] == ["multiply"]

    run(check())
    for change in (other.remove, other.enable, other.disable, other.update):
        with pytest.raises(InvalidArgumentError, match="it was removed"):
            change()
    with pytest.raises(InvalidArgumentError, match="no tool 'add'"):
        server.get_tool("add")


def test_a_duplicate_replaces_the_existing_feature_if_the_server_allows_it() -> None:
    server = Server("notebook", version="1", on_duplicate="replace")
    for text in ("first", "second"):

        @server.tool
        def cell(text: str = text) -> str:
            return text

        @server.resource("notes://one")
        def one(text: str = text) -> str:
            return text

        @server.prompt
        def ask(word: str) -> str:
            return word

        @server.completion(ask, "word")
        async def words(typed: str) -> list[str]:
            return [typed]

    async def check() -> None:
        async with Client(server) as client:
            assert [tool.name for tool in await client.list_tools()] == ["cell"]
            assert (await client.call_tool("cell")).text == "second"

            @server.tool(name="cell")
            def again() -> str:
                return "third"

            assert (await client.call_tool("cell")).text == "third"

    run(check())
    with pytest.raises(InvalidArgumentError, match=r"on_?[dD]uplicate"):
        Server("x", version="1", on_duplicate="both")  # type: ignore[typeddict-item]


@pytest.mark.parametrize("is_async", [True, False])
def test_a_visibility_hook_hides_features(is_async: bool) -> None:
    server = Server("visible", version="1")

    def decides(ctx: SyncContext) -> bool:
        return ctx.client_info is not None and ctx.client_info.name == "admin"

    async def decides_later(ctx: Context) -> bool:
        await asyncio.sleep(0)
        return ctx.client_info is not None and ctx.client_info.name == "admin"

    def fails() -> bool:
        raise KeyError("as it should")

    is_admin = decides_later if is_async else decides

    @server.tool(visible=is_admin)
    def secret() -> str:
        return "secret"

    @server.tool(visible=fails)
    def broken() -> str:
        return "broken"

    @server.tool
    def public() -> str:
        return "public"

    @server.resource("notes://secret", visible=is_admin)
    def note() -> str:
        return "secret"

    @server.prompt(visible=is_admin)
    def plan() -> str:
        return "secret"

    async def check() -> None:
        async with Client(server, name="admin", version="1") as client:
            assert [tool.name for tool in await client.list_tools()] == ["secret", "public"]
            assert (await client.call_tool("secret")).text == "secret"
            assert len(await client.list_resources()) == len(await client.list_prompts()) == 1
        async with Client(server, name="guest", version="1") as client:
            assert [tool.name for tool in await client.list_tools()] == ["public"]
            assert await client.list_resources() == await client.list_prompts() == []
            for name in ("secret", "broken"):
                with pytest.raises(ProtocolError, match=f"Unknown tool: {name}"):
                    await client.call_tool(name)
            with pytest.raises(ProtocolError, match="not found"):
                await client.read_resource("notes://secret")

    run(check())

    def wrong(name: str) -> bool:
        return name == "x"

    with pytest.raises(InvalidArgumentError, match="only the context and dependencies"):
        server.add_tool(lambda: "x", name="x", visible=wrong)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_handler_that_exceeds_its_timeout_fails_and_is_cancelled(revision: Any) -> None:
    server, ended = Server("slow", version="1"), asyncio.Event()

    @server.tool(timeout=1)  # long enough to begin
    async def slow() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "late"

    @server.resource("notes://slow", timeout=0.05)
    async def note() -> str:
        await asyncio.sleep(60)
        return "late"

    async def check() -> None:
        async with Client(server, revision=revision) as client:
            result = await client.call_tool("slow")
            assert (result.is_error, result.text) == (True, "slow timed out after 1s")
            await asyncio.wait_for(ended.wait(), 10)
            with pytest.raises(ProtocolError, match="timed out after 50ms"):
                await client.read_resource("notes://slow")

    run(check())
    with pytest.raises(InvalidArgumentError, match="timeout"):
        server.add_tool(lambda: "x", name="x", timeout=0)
