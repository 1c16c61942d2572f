"""Dependencies, middleware, providers, and the server's notifications."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, cast

import pytest
from typing_extensions import TypeAliasType

from raw import MODERN, Peer, Refused
from support import REVISIONS, named, run, script, until
from trunkline import (
    Client,
    Context,
    Depends,
    InputRequired,
    InvalidArgumentError,
    ProtocolError,
    Request,
    Server,
    SyncClient,
    SyncContext,
    TextContent,
    Tool,
    ToolError,
)

Log = list[str]


def test_dependencies_are_created_once_and_closed_at_the_end() -> None:
    log: Log = []

    async def settings() -> dict[str, str]:
        log.append("settings")
        return {"name": "db"}

    async def database(given: Annotated[dict[str, str], Depends(settings)]) -> AsyncIterator[str]:
        log.append("open")
        try:
            yield given["name"]
            log.append("commit")
        except ToolError:
            log.append("rollback")
            raise
        finally:
            log.append("close")

    def user(ctx: Context, given: Annotated[dict[str, str], Depends(settings)]) -> Iterator[str]:
        yield f"{ctx.name} of {given['name']}"
        log.append("user gone")

    server = Server("test", version="1")

    @server.tool
    async def use(
        x: int,
        db: Annotated[str, Depends(database)],
        who: Annotated[str, Depends(user)],
        same: Annotated[str, "a text", Depends(database)],
        fail: bool = False,
    ) -> str:
        """Has dependencies."""
        if fail:
            raise ToolError("no")
        return f"{x} {db} {who} {same}"

    async def check() -> None:
        async with Client(server) as client:
            [tool] = await client.list_tools()
            assert set(tool.input_schema["properties"]) == {"x", "fail"}
            assert (await client.call_tool("use", {"x": 1})).text == "1 db use of db db"
            assert log == ["settings", "open", "user gone", "commit", "close"]
            log.clear()
            assert (await client.call_tool("use", {"x": 1, "fail": True})).is_error
            assert log == ["settings", "open", "rollback", "close"]

    run(check())


def test_a_dependency_cannot_turn_a_failure_into_a_success() -> None:
    def lenient() -> Iterator[str]:
        with contextlib.suppress(ValueError):
            yield ""

    def replacing() -> Iterator[str]:
        try:
            yield ""
        except ValueError as error:
            raise ToolError("not now") from error

    server = Server("test", version="1")

    @server.tool
    async def on_the_loop(_: Annotated[str, Depends(lenient)]) -> str:
        raise ValueError("broken")

    @server.tool
    def in_a_thread(_: Annotated[str, Depends(lenient)]) -> str:
        raise ValueError("broken")

    @server.tool
    def replaced(_: Annotated[str, Depends(replacing)]) -> str:
        raise ValueError("broken")

    with SyncClient(server, raise_exceptions=True) as client:
        for tool in ("on_the_loop", "in_a_thread"):
            with pytest.raises(ValueError, match="broken"):
                client.call_tool(tool)
        assert client.call_tool("replaced").text == "not now"


def test_dependencies_of_def_handlers_of_every_kind() -> None:
    log: Log = []

    def session(ctx: SyncContext) -> Iterator[str]:
        yield f"session of {ctx.method}"
        log.append("closed")

    def constant() -> int:
        return 7

    server = Server("test", version="1")

    @server.tool
    def tool(session: Annotated[str, Depends(session)], number: Annotated[int, Depends(constant)]) -> str:
        return f"{session} {number}"

    @server.resource("notes://{name}")
    def note(name: str, session: Annotated[str, Depends(session)], ctx: SyncContext) -> str:
        return f"{name} {session} {ctx.revision}"

    async def check() -> None:
        async with Client(server) as client:
            assert (await client.call_tool("tool")).text == "session of tools/call 7"
            assert log == ["closed"]

    run(check())


def test_def_handlers_depend_on_async_def_too() -> None:
    """On the loop, all in one task, in the context variables of the call, and closed in order."""
    log: Log = []
    tasks: set[object] = set()
    user: ContextVar[str] = ContextVar("user", default="nobody")

    def name() -> str:
        assert threading.current_thread() is not threading.main_thread()
        return "db"

    async def session(ctx: Context, given: Annotated[str, Depends(name)]) -> AsyncIterator[str]:
        tasks.add(asyncio.current_task())
        async with asyncio.timeout(9) if sys.version_info >= (3, 11) else contextlib.AsyncExitStack():
            try:
                yield f"{given} of {ctx.name} for {user.get()}"
            except ToolError:
                log.append("rollback")
                raise
            finally:
                await asyncio.sleep(0)
                tasks.add(asyncio.current_task())
                log.append("session")

    def cursor(given: Annotated[str, Depends(session)]) -> Iterator[str]:
        yield f"cursor of {given}"
        log.append("cursor")

    async def number(ctx: Context) -> int:
        tasks.add(asyncio.current_task())
        ctx.vars["seen"] = True
        return 7

    server = Server("test", version="1")

    @server.tool
    def use(
        ctx: SyncContext,
        given: Annotated[str, Depends(cursor)],
        more: Annotated[int, Depends(number)],
        fail: bool = False,
    ) -> str:
        assert threading.current_thread() is not threading.main_thread()
        assert ctx.vars == {"seen": True}
        if fail:
            raise ToolError("no")
        return f"{given}: {more}"

    async def fake() -> int:
        return 8

    async def check() -> None:
        async with Client(server) as client:
            user.set("ada")
            assert (await client.call_tool("use")).text == "cursor of db of use for ada: 7"
            assert log == ["cursor", "session"]
            assert len(tasks) == 1
            log.clear()
            assert (await client.call_tool("use", {"fail": True})).text == "no"
            assert log == ["rollback", "session"]
            with server.override(name, fake):
                assert (await client.call_tool("use")).text == "cursor of 8 of use for ada: 7"

    run(check())
    with SyncClient(server) as client:
        assert client.call_tool("use").text == "cursor of db of use for nobody: 7"


def test_cancelling_a_call_cancels_the_async_dependency_that_its_thread_waits_for() -> None:
    log: Log = []
    waiting = threading.Event()

    async def forever() -> AsyncIterator[str]:
        try:
            yield ""
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def never(_: Annotated[str, Depends(forever)]) -> None:
        waiting.set()
        try:
            await asyncio.sleep(99)
        finally:
            log.append("cancelled")

    server = Server("test", version="1")

    @server.tool
    def use(_: Annotated[None, Depends(never)]) -> None:
        log.append("called")

    async def check() -> None:
        async with Client(server) as client:
            call = asyncio.ensure_future(client.call_tool("use"))
            await until(waiting.is_set, "the dependency")
            call.cancel()
            await until(lambda: log == ["cancelled", "closed"], "its end")

    run(check())


def test_cancelling_a_call_does_not_cancel_the_cleanup_of_its_dependency() -> None:
    log: Log = []
    called = threading.Event()

    async def session() -> AsyncIterator[str]:
        yield ""
        try:
            await asyncio.sleep(0.3)
            log.append("closed")
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    server = Server("test", version="1")

    @server.tool
    def use(_: Annotated[str, Depends(session)], ctx: SyncContext) -> None:
        called.set()
        while not ctx.cancelled:
            time.sleep(0.005)

    async def check() -> None:
        async with Client(server) as client:
            call = asyncio.ensure_future(client.call_tool("use"))
            await until(called.is_set, "the handler")
            call.cancel()
            await until(lambda: log, "the cleanup")
            assert log == ["closed"]

    run(check())


def loose(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def test_decorators_may_hide_async_def() -> None:
    """The most common decorator is a `def` around any function."""
    server = Server("test", version="1")

    @loose
    async def maker(ctx: Context) -> str:
        return ctx.name

    @server.tool
    @loose
    @loose
    async def tool(x: int, ctx: Context, name: Annotated[str, Depends(maker)]) -> str:
        await ctx.progress(1)
        return f"{name}: {x}"

    cached: dict[int, str] = {}

    def caching(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(x: int) -> Any:
            return cached[x] if x in cached else function(x)

        return wrapper

    @server.tool
    @caching
    async def kept(x: int) -> str:
        cached[x] = f"{x} again"
        return str(x)

    async def hidden(x: int) -> str:
        assert threading.current_thread() is threading.main_thread()
        return f"hidden {x}"

    def returns_it(x: int) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        return hidden(x)

    server.add_tool(returns_it)
    opened: list[str] = []

    def connection() -> Iterator[str]:
        opened.append("a connection")
        yield opened[0]
        opened.clear()

    async def query() -> str:
        return " ".join(opened)

    def returns_query(_: Annotated[str, Depends(connection)]) -> Any:
        return query()

    server.add_tool(returns_query)

    @server.middleware("tools/call")
    @loose
    async def counted(request: Request, proceed: Any, _: Context) -> Any:
        return {**await proceed(), "_meta": {"method": request.method}}

    @server.prompt
    @loose
    async def ask(about: str) -> str:
        return about

    class Provider:
        @loose
        async def list(self, _cursor: str | None, _ctx: Context) -> Any:
            return []

        @loose
        async def get(self, params: dict[str, Any], _ctx: Context) -> Any:
            return params["name"]

    server.add_provider("tools", Provider())

    async def check() -> None:
        async with Client(server) as client:
            told = await client.call_tool("tool", {"x": 1})
            assert (told.text, (told.meta or {})["method"]) == ("tool: 1", "tools/call")
            assert [(await client.call_tool("kept", {"x": 1})).text for _ in range(2)] == ["1", "1 again"]
            assert (await client.call_tool("returns_it", {"x": 2})).text == "hidden 2"
            assert (await client.call_tool("returns_query")).text == "a connection"
            assert (await client.get_prompt("ask", {"about": "it"})).messages[0].content.text == "it"  # type: ignore[union-attr]
            assert (await client.call_tool("provided")).text == "provided"

    run(check())


def itself(inner: Annotated[str, Depends(lambda: "")]) -> str:
    return inner


def unknown(what: str) -> str:
    return what


def circle(again: Annotated[str, Depends(unknown)]) -> str:
    return again


circle.__annotations__["again"] = Annotated[str, Depends(circle)]


@pytest.mark.parametrize(
    ("dependency", "problem"),
    [
        (unknown, "use -> unknown: parameter 'what' has no value"),
        (circle, "circular dependency"),
        (3, "Depends needs a function, not int"),
    ],
)
def test_invalid_dependencies_are_refused(dependency: Any, problem: str) -> None:
    def use(x: str) -> str:
        return x

    use.__annotations__["x"] = Annotated[str, Depends(dependency)]
    with pytest.raises(InvalidArgumentError, match=problem):
        Server("test", version="1").add_tool(use)


async def unmanaged(_: Server) -> AsyncIterator[None]:
    yield


def server_of(**options: Any) -> Server:
    return Server("test", version="1", **options)


MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: server_of().add_tool(unknown, name=""), "tool name"),
    (lambda: server_of().add_prompt(unknown, name=""), "name"),
    (lambda: server_of().tool(Request), "a tool must be a function, not the class Request"),
    (lambda: server_of(lifespan=unmanaged), "lifespan: unmanaged .*: decorate it with contextlib"),
    (lambda: server_of(max_threads=0), "max_threads must be 1 or more, not 0"),
    (lambda: server_of(lifespan=3), "lifespan must be a function that takes the server, not 3"),
    (lambda: Client(cast("Any", None)), "a client takes a URL, .* not None"),
    (lambda: Client(cast("Any", 123)), "not 123"),
    (lambda: Client(cast("Any", [sys.executable, 3])), "a list of strings"),
    (lambda: SyncClient(cast("Any", b"python")), "not b'python'"),
    (lambda: Client([]), "a client takes a URL, .* not \\[\\]"),
]


@pytest.mark.parametrize(("mistake", "problem"), MISTAKES, ids=named)
def test_mistakes_are_reported_where_they_are_made(mistake: Callable[[], object], problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        mistake()


def test_a_dependency_is_not_a_default() -> None:
    def use(x: Any = Depends(unknown)) -> str:
        return x

    with pytest.raises(InvalidArgumentError, match=r"write Annotated\[type, Depends\(function\)\]"):
        Server("test", version="1").add_tool(use)


def test_middleware_runs_around_requests_in_order() -> None:
    log: Log = []
    server = Server("test", version="1")

    @server.middleware
    async def outer(request: Request, next: Any, ctx: Context) -> Mapping[str, Any]:
        log.append(f"outer {request.method} {ctx.method} {ctx.name}")
        try:
            return await next()
        finally:
            log.append("outer done")

    @server.middleware("tools/call")
    async def inner(request: Request, next: Any, ctx: Context) -> Mapping[str, Any]:
        match request.params["name"]:
            case "hidden":
                raise ProtocolError("no such tool for you", code=-32602, data={"why": "no"})
            case "answered":
                return {"content": [{"type": "text", "text": "by middleware"}]}
            case _:
                params = {**request.params, "arguments": {"x": "changed"}}
                result = await next(params)
                result["content"].append({"type": "text", "text": "added"})
                return result

    @server.tool
    async def tool(x: str) -> str:
        log.append(f"tool {x}")
        return x

    async def check() -> None:
        async with Client(server) as client:
            log.clear()
            assert (await client.call_tool("tool", {"x": "given"})).text == "changed\nadded"
            assert log == ["outer tools/call tools/call tool", "tool changed", "outer done"]
            assert (await client.call_tool("answered", {})).text == "by middleware"
            with pytest.raises(ProtocolError) as refused:
                await client.call_tool("hidden", {})
            assert (refused.value.code, refused.value.data) == (-32602, {"why": "no"})
            log.clear()
            await client.list_tools()
            assert log == ["outer tools/list tools/list tools/list", "outer done"]
            server.remove_middleware(outer)
            log.clear()
            await client.call_tool("tool", {"x": "given"})
            assert log == ["tool changed"]
            with pytest.raises(InvalidArgumentError, match="no such middleware"):
                server.remove_middleware(outer)

    run(check())


def test_invalid_middleware_is_refused() -> None:
    server = Server("test", version="1")

    def sync(request: Request, next: Any, ctx: Context) -> Any: ...

    async def fine(request: Request, next: Any, ctx: Context) -> Mapping[str, Any]:
        return await next()

    wrong: Any = sync
    with pytest.raises(InvalidArgumentError, match="middleware is an async def function"):
        server.middleware(wrong)
    with pytest.raises(InvalidArgumentError, match="Middleware cannot wrap initialize"):
        server.middleware("initialize")(fine)
    wrong = 3
    with pytest.raises(InvalidArgumentError, match="by name"):
        server.middleware(wrong)(fine)
    server.add_middleware(fine)
    with pytest.raises(InvalidArgumentError, match="already has this middleware"):
        server.add_middleware(fine)


PROVIDING = """
from typing import Any
from trunkline import Context, Server, SyncContext, elicit, InputRequired, ResourceContents, user

server = Server("providing", version="1", page_size=2)
rows = {f"row{number}": f"text {number}" for number in range(5)}

@server.tool
async def registered(x: str = "") -> str:
    return x

@server.provider("tools")
class Tools:
    async def list(self, cursor: str | None, ctx: Context) -> Any:
        return [{"name": "provided", "description": ctx.method, "inputSchema": {"type": "object"}}]

    async def get(self, params: dict[str, Any], ctx: Context) -> Any:
        if params["name"] == "asks":
            answer = await ctx.elicit("Who?", {"type": "object", "properties": {"name": {"type": "string"}}})
            return answer.content["name"]
        return f"called with {params.get('arguments')}" if params["name"] == "provided" else None

class Rows:
    def list(self, cursor: str | None, ctx: SyncContext) -> Any:
        start = int(cursor or 0)
        page = [{"uri": f"rows://{name}", "name": name} for name in [*rows][start:start + 2]]
        return (page, str(start + 2)) if start + 2 < len(rows) else page

    def get(self, params: dict[str, Any], ctx: SyncContext) -> Any:
        text = rows.get(params["uri"].removeprefix("rows://"))
        return None if text is None else ResourceContents(text, mime_type="text/plain")

rows_provider = Rows()
server.add_provider("resources", rows_provider)

@server.provider("resourceTemplates")
class Templates:
    async def list(self, cursor: Any, ctx: Context) -> Any:
        return [{"uriTemplate": "rows://{name}", "name": "rows"}]

    async def get(self, params: Any, ctx: Context) -> Any:
        return None

@server.provider("prompts")
class Prompts:
    async def list(self, cursor: Any, ctx: Context) -> Any:
        return [{"name": "talk"}]

    async def get(self, params: Any, ctx: Context) -> Any:
        return [user("hello"), params["name"]] if params["name"] == "talk" else None

@server.tool
async def tell(ctx: Context) -> str:
    for category in ("tools", "resources", "prompts"):
        server.list_changed(category)
    server.resource_updated("rows://row1")
    await ctx.log("notice", {"any": ["json"]}, logger="rows")
    await ctx.debug("quiet")
    await ctx.warning("careful")
    return "told"

@server.tool
def tell_from_thread(ctx: SyncContext) -> str:
    ctx.info("information")
    ctx.error("error", "thread")
    ctx.close_stream()
    return f"{ctx.method} {ctx.auth} {ctx.state} {dict(ctx.input_responses)}"

if __name__ == "__main__":
    server.run()
"""


@pytest.fixture
def providing(tmp_path: Path) -> list[str]:
    return script(tmp_path, PROVIDING)


@pytest.mark.parametrize("revision", REVISIONS)
def test_providers_list_and_serve_unregistered_features(providing: list[str], revision: str) -> None:
    def pages(peer: Peer, method: str, member: str, key: str) -> list[str]:
        found: list[str] = []
        more: dict[str, Any] = {}
        while True:
            page = peer.request(method, **more)
            found += [item[key] for item in page[member]]
            if "nextCursor" not in page:
                return found
            more = {"cursor": page["nextCursor"]}

    with Peer(providing, revision) as peer:
        tools = ["registered", "tell", "tell_from_thread", "provided"]
        assert pages(peer, "tools/list", "tools", "name") == tools
        assert peer.call("provided", a=1) == "called with {'a': 1}"
        with pytest.raises(Refused) as unknown:
            peer.call("unknown")
        assert unknown.value.code == -32602
        assert pages(peer, "resources/list", "resources", "name") == [f"row{number}" for number in range(5)]
        [contents] = peer.request("resources/read", uri="rows://row3")["contents"]
        assert contents == {"uri": "rows://row3", "mimeType": "text/plain", "text": "text 3"}
        with pytest.raises(Refused) as missing:
            peer.request("resources/read", uri="rows://row9")
        assert missing.value.code == (-32602 if peer.modern else -32002)
        assert pages(peer, "resources/templates/list", "resourceTemplates", "name") == ["rows"]
        assert pages(peer, "prompts/list", "prompts", "name") == ["talk"]
        messages = peer.request("prompts/get", name="talk")["messages"]
        assert [message["content"]["text"] for message in messages] == ["hello", "talk"]


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_providers_can_request_input(providing: list[str], revision: str) -> None:
    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"name": "Ada"}}

    with Peer(providing, revision, capabilities={"elicitation": {}}, answer=answer) as peer:
        assert peer.call("asks") == "Ada"


@pytest.mark.parametrize("revision", REVISIONS)
def test_log_01_log_02_log_04_messages_of_the_requested_levels(providing: list[str], revision: str) -> None:
    with Peer(providing, revision) as peer:
        if peer.modern:
            peer.call("tell")
            assert not peer.texts("notifications/message")
            peer.meta = {"io.modelcontextprotocol/logLevel": "notice"}
        else:
            assert "logging" in peer.server["capabilities"]
            peer.request("logging/setLevel", level="notice")
        assert peer.call("tell") == "told"
        assert peer.call("tell_from_thread") == "tools/call None None {}"
        assert peer.texts("notifications/message") == [
            {"level": "notice", "logger": "rows", "data": {"any": ["json"]}},
            {"level": "warning", "data": "careful"},
            {"level": "error", "logger": "thread", "data": "error"},
        ]


def test_res_03_res_04_a_server_announces_changes(providing: list[str]) -> None:
    with Peer(providing, "2025-11-25") as peer:
        peer.request("resources/subscribe", uri="rows://row1")
        peer.call("tell")
        for method in ("tools", "resources", "prompts"):
            if not peer.texts(f"notifications/{method}/list_changed"):
                peer.until(f"notifications/{method}/list_changed")
        if not peer.texts("notifications/resources/updated"):
            peer.until("notifications/resources/updated")
        assert peer.texts("notifications/resources/updated") == [{"uri": "rows://row1"}]


class OnlyList:
    async def list(self, cursor: Any, ctx: Context) -> Any: ...


class Narrow(OnlyList):
    async def get(self) -> Any: ...


class Mixed(OnlyList):
    def get(self, params: Any, ctx: SyncContext) -> Any: ...


@pytest.mark.parametrize(
    ("provider", "problem"),
    [
        (OnlyList(), "OnlyList.get: 'OnlyList' object has no attribute 'get'; a provider has"),
        (Narrow(), "Narrow.get: too many positional arguments"),
        (Mixed(), "both be defined with async def"),
    ],
)
def test_invalid_providers_are_refused(provider: Any, problem: str) -> None:
    server = Server("test", version="1")
    with pytest.raises(InvalidArgumentError, match=problem):
        server.add_provider("tools", provider)


def test_invalid_values_are_refused() -> None:
    server = Server("test", version="1")
    wrong: Any = "things"

    class Fine:
        async def list(self, cursor: Any, ctx: Context) -> Any: ...

        async def get(self, params: Any, ctx: Context) -> Any: ...

    with pytest.raises(InvalidArgumentError, match="not one of tools"):
        server.list_changed(wrong)
    with pytest.raises(InvalidArgumentError, match="not one of tools"):
        server.add_provider(wrong, Fine())
    fine = Fine()
    server.add_provider("tools", fine)
    server.remove_provider("tools", fine)
    with pytest.raises(InvalidArgumentError, match="no such provider of tools"):
        server.remove_provider("tools", fine)


def test_options_of_a_server_are_checked() -> None:
    Server(
        "test",
        version="1",
        state_keys=[bytes(32), "A" * 43 + "="],
        extensions={"example.com/x": {}},
        rerun_handlers=True,
    )
    with pytest.raises(InvalidArgumentError, match="state_keys: keys have 32 bytes"):
        Server("test", version="1", state_keys=[b"short"])
    wrong: Any = 3
    with pytest.raises(InvalidArgumentError, match="extensions"):
        Server("test", version="1", extensions={"example.com/x": wrong})
    with pytest.raises(InvalidArgumentError, match='cache_scope: must be "private" or "public", not 3'):
        Server("test", version="1", cache_scope=wrong)
    with pytest.raises(InvalidArgumentError, match="ttl must be a number of seconds"):
        Server("test", version="1", ttl=-1)
    servers = [Server("test", version="1", keep_alive=given) for given in (0, 0.0001, 1.5)]
    assert [server._json["options"]["keepAliveMs"] for server in servers] == [0, 1, 1500]


def test_middleware_need_not_be_hashable() -> None:
    class Shout:
        __hash__ = None  # type: ignore[assignment]

        async def __call__(self, request: Request, next: Any, ctx: Context) -> dict[str, Any]:
            result = await next()
            result["content"][0]["text"] += "!"
            return result

    server, shout = Server("test", version="1"), Shout()
    server.add_tool(lambda: "hello", name="hello")
    server.add_middleware(shout, "tools/call")
    with pytest.raises(InvalidArgumentError, match="already"):
        server.add_middleware(shout)

    async def check() -> None:
        async with Client(server) as client:
            assert (await client.call_tool("hello")).text == "hello!"
            server.remove_middleware(shout)
            assert (await client.call_tool("hello")).text == "hello"

    run(check())


def test_dependencies_take_arguments_of_their_handler() -> None:
    class Shop:
        def __init__(self, shop_id: int, page: int, size: int = 7) -> None:
            self.shown = f"shop {shop_id}, page {page} of {size}"

    async def owner(shop_id: int) -> str:
        return f"owner of {shop_id}"

    server = Server("test", version="1")

    @server.tool
    async def shown(
        shop_id: int,
        shop: Annotated[Shop, Depends(Shop)],
        owner: Annotated[str, Depends(owner)],
        page: int = 2,
        size: int = 9,
    ) -> str:
        return f"{shop.shown}, {owner}, {size}"

    @server.resource("shops://{shop_id}{?page}")
    def resource(shop_id: int, shop: Annotated[Shop, Depends(Shop)], page: int = 3) -> str:
        return shop.shown

    async def check() -> None:
        async with Client(server) as client:
            [tool] = await client.list_tools()
            assert tool.input_schema["properties"].keys() == {"shop_id", "page", "size"}
            # A parameter of a dependency with a default is its own affair.
            told = await client.call_tool("shown", {"shop_id": 1})
            assert told.text == "shop 1, page 2 of 7, owner of 1, 9"
            told = await client.call_tool("shown", {"shop_id": 4, "page": 5})
            assert told.text == "shop 4, page 5 of 7, owner of 4, 9"
            assert (await client.read_resource("shops://8")).contents[0].text == "shop 8, page 3 of 7"

    run(check())


def _prefix() -> str:
    return "dear "


Prefix = TypeAliasType("Prefix", Annotated[str, Depends(_prefix)])
Call = TypeAliasType("Call", Context)
Blocks = TypeAliasType("Blocks", list[TextContent])
Answer = TypeAliasType("Answer", list[TextContent] | InputRequired)


@pytest.mark.parametrize("returned", [list[TextContent], Blocks, Answer], ids=named)
def test_aliases_may_stand_for_the_context_dependencies_and_content(returned: Any) -> None:
    async def greet(name: str, prefix: Prefix, ctx: Call) -> Any:
        return [TextContent(f"{ctx.name}: {prefix}{name}")]

    greet.__annotations__["return"] = returned
    server = Server("test", version="1")
    server.add_tool(greet)
    with SyncClient(server) as client:
        [tool] = client.list_tools()
        assert tool.input_schema["properties"].keys() == {"name"} and tool.output_schema is None
        assert client.call_tool("greet", {"name": "Ada"}).text == "greet: dear Ada"


def test_dependencies_are_replaced_for_a_test() -> None:
    def database() -> str:
        return "the real one"

    def user(db: Annotated[str, Depends(database)]) -> str:
        return f"user of {db}"

    def needy(who: str) -> str:
        return who

    async def fake(ctx: Context, name: Annotated[str, Depends(lambda: "a fake")]) -> AsyncIterator[str]:
        yield f"{name} for {ctx.name}"

    server = Server("test", version="1")

    @server.tool
    async def tell(user: Annotated[str, Depends(user)]) -> str:
        return user

    @server.tool
    def blocking(user: Annotated[str, Depends(user)]) -> str:
        return user

    async def check() -> None:
        async with Client(server, raise_exceptions=True) as client:
            with server.override(database, lambda: "one"), server.override(database, lambda: "two"):
                assert (await client.call_tool("blocking")).text == "user of two"
            with server.override(database, fake):
                assert (await client.call_tool("tell")).text == "user of a fake for tell"
                assert (await client.call_tool("blocking")).text == "user of a fake for blocking"
            with server.override(user, needy):
                with pytest.raises(InvalidArgumentError, match="parameter 'who' has no value"):
                    await client.call_tool("blocking")
            assert (await client.call_tool("tell")).text == "user of the real one"

    run(check())
    wrong: Any = "a fake"
    with pytest.raises(InvalidArgumentError, match="override\\(\\) takes two functions, not 'a fake'"):
        server.override(database, wrong).__enter__()


def test_dependencies_of_a_server_are_created_for_every_call() -> None:
    log: Log = []

    def tenant(ctx: SyncContext) -> str:
        if ctx.meta.get("com.example/tenant") is None:
            raise ToolError("no tenant")
        log.append(f"{ctx.method} {ctx.name}")
        return "ada"

    server = Server("test", version="1", dependencies=[Depends(tenant)])

    @server.tool
    def tell(tenant: Annotated[str, Depends(tenant)]) -> str:
        return tenant

    @server.prompt
    def ask() -> str:
        return "?"

    async def check() -> None:
        meta = {"com.example/tenant": "ada"}
        async with Client(server) as client:
            refused = await client.call_tool("tell")
            assert refused.is_error and refused.text == "no tenant"
            assert (await client.call_tool("tell", meta=meta)).text == "ada"
            await client.get_prompt("ask", meta=meta)
            server.get_tool("tell").update(lambda: "bob", name="tell")
            assert (await client.call_tool("tell", meta=meta)).text == "bob"
        assert log == ["tools/call tell", "prompts/get ask", "tools/call tell"]

    run(check())
    wrong: Any = unknown
    with pytest.raises(InvalidArgumentError, match=r"dependencies must be Depends\(function\), not "):
        Server("test", version="1", dependencies=[wrong])


def test_tools_of_a_provider_may_be_models_and_their_arguments_are_checked() -> None:
    server = Server("test", version="1")

    class Tools:
        def list(self, _cursor: str | None, _ctx: SyncContext) -> Any:
            schema = {"type": "object", "properties": {"a": {"type": "string"}}}
            return [Tool(name="provided", input_schema=schema)]

        def get(self, params: dict[str, Any], _ctx: SyncContext) -> Any:
            return params["arguments"]["a"]

    server.add_provider("tools", Tools())
    with SyncClient(server) as client:
        assert [tool.name for tool in client.list_tools()] == ["provided"]
        assert client.call_tool("provided", {"a": "x"}).text == "x"
        assert "/a: 1 is not of type" in client.call_tool("provided", {"a": 1}).text


def test_errors_name_invalid_results_of_middleware_and_providers(caplog: pytest.LogCaptureFixture) -> None:
    def asked(of: str, unfit: Any) -> str:
        server = Server("test", version="1")

        @server.tool
        def tool() -> str:
            return "done"

        class Provided:
            async def list(self, _cursor: str | None, _ctx: Context) -> Any:
                return [unfit] if of == "list" else []

            async def get(self, params: Mapping[str, Any], _ctx: Context) -> Any:
                return unfit if of == "get" and params["name"] == "provided" else None

        server.add_provider("tools", Provided())

        async def around(_request: Any, next: Any, _ctx: Context) -> Any:
            await next()
            return unfit

        if of == "middleware":
            server.add_middleware(around, "tools/call")
        caplog.clear()
        with SyncClient(server) as client:
            if of == "list":
                with pytest.raises(ProtocolError):
                    client.list_tools()
            else:
                try:
                    assert client.call_tool("provided" if of == "get" else "tool").is_error
                except ProtocolError:
                    pass
        (record,) = caplog.records
        message = logging.Formatter().format(record)
        assert "returned a value that cannot be sent: " in message and "Traceback" not in message
        return message

    middleware = asked("middleware", {"content": [{"type": "text", "text": object()}]})
    assert ".around' (test_hooks.py:" in middleware and "$.content[0].text: a value of type object" in middleware
    assert "a result must be an object, such as the one that next returned, not str" in asked("middleware", "done")
    provided = asked("get", {"a": object()})
    assert "the provider '" in provided and "Provided' of tools" in provided and "$.a: a value of type" in provided
    assert "$[0].inputSchema: a value of type object" in asked("list", Tool("provided", input_schema=object()))  # type: ignore[arg-type]


def _logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args)

    return wrapper


def test_a_bound_method_is_called_once_and_wrapped_generators_are_closed() -> None:
    events: list[str] = []

    class Database:
        def get(self) -> str:
            events.append("get")
            return "row"

        async def __call__(self) -> AsyncIterator[str]:
            yield "object"
            events.append("object closed")

    @_logged
    def wrapped() -> Iterator[str]:
        yield "wrapped"
        events.append("wrapped closed")

    @contextlib.contextmanager
    def manager() -> Generator[str]:
        yield "manager"

    db, server = Database(), Server("test", version="1")

    def inner(row: Annotated[str, Depends(db.get)]) -> str:
        return row

    async def asynchronous(
        row: Annotated[str, Depends(db.get)],
        again: Annotated[str, Depends(inner)],
        made: Annotated[str, Depends(wrapped)],
        called: Annotated[str, Depends(db)],
        managed: Annotated[Any, Depends(manager)],
    ) -> str:
        with managed as value:
            return f"{row} {again} {made} {called} {value}"

    def blocking(
        row: Annotated[str, Depends(db.get)],
        again: Annotated[str, Depends(inner)],
        made: Annotated[str, Depends(wrapped)],
        called: Annotated[str, Depends(db)],
        managed: Annotated[Any, Depends(manager)],
    ) -> str:
        with managed as value:
            return f"{row} {again} {made} {called} {value}"

    server.add_tool(asynchronous)
    server.add_tool(blocking)

    async def test() -> None:
        async with Client(server) as client:
            for name in ("asynchronous", "blocking"):
                events.clear()
                assert (await client.call_tool(name)).text == "row row wrapped object manager"
                assert events == ["get", "object closed", "wrapped closed"]

    run(test())
