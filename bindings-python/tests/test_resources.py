"""Resources, resource templates, prompts and completions, by raw messages on every revision."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import json
from base64 import b64decode
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest

from raw import MODERN, Peer, Refused
from support import REVISIONS, run, script
from trunkline import (
    Client,
    Context,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncClient,
    SyncContext,
    TextContent,
)

OFFER = """
import datetime as dt, enum
from dataclasses import dataclass
from typing import Annotated, Literal
from trunkline import (
    Completion, Context, EmbeddedResource, Field, GetPromptResult, ImageContent, Message, ProtocolError,
    ReadResourceResult, ResourceContents, Server, SyncContext, ToolError, assistant, user,
)

server = Server("offer", version="1", ttl=60, cache_scope="public")

@dataclass
class Note:
    text: str

class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"

@server.resource("notes://text", title="A text", mime_type="text/markdown", size=5, annotations={"priority": 0.5},
                 icons=[{"src": "https://example.com/i.png"}], meta={"a/b": 1}, ttl=2, cache_scope="public")
async def text() -> str:
    "Some text"
    return "hello"

@server.resource("notes://bytes", mime_type="image/png")
def data() -> bytes:
    return b"\\x00\\xff"

@server.resource("notes://note")
def note(ctx: SyncContext) -> Note:
    return Note(ctx.name)

@server.resource("notes://parts")
async def parts() -> list[ResourceContents]:
    return [ResourceContents("one", uri="notes://parts/1"), ResourceContents(blob=b"two", mime_type="a/b")]

@server.resource("notes://full")
async def full() -> ReadResourceResult:
    return ReadResourceResult([ResourceContents("x")], ttl=5, cache_scope="private", meta={"c/d": 2})

@server.resource("notes://broken")
def broken() -> str:
    raise ValueError("secret")

@server.resource("notes://refused")
def refused() -> str:
    raise ProtocolError("not for you", code=4099, data={"why": "no"})

@server.resource("notes://{day}/{number}/{colour}{?loud}", name="by day", mime_type="application/json")
async def by_day(day: dt.date, number: int, colour: Colour, loud: bool = False, *, ctx: Context) -> dict:
    return {"day": day.isoformat(), "number": number, "colour": colour.name, "loud": loud, "uri": ctx.name}

@server.prompt(title="Review", icons=[{"src": "https://example.com/i.png"}], meta={"a/b": 1})
async def review(
    code: Annotated[str, "What to review"], depth: int = 1, tone: Literal["kind", "harsh"] = "kind"
) -> str:
    "Reviews code"
    return f"{tone} {depth}: {code}"

@server.prompt
def talk() -> list[Message | str]:
    return ["hi", assistant("hello"), user(ImageContent(b"x", "image/png"))]

@server.prompt
async def block() -> EmbeddedResource:
    return EmbeddedResource("notes://text", text="t", mime_type="text/plain")

@server.prompt
async def described() -> GetPromptResult:
    return GetPromptResult([user("u")], description="today's", meta={"c/d": 2})

@server.prompt
async def failing() -> str:
    raise ToolError("no prompt today")

LANGUAGES = [f"lang{n}" for n in range(150)]

@server.completion(review, "code")
async def codes(text: str) -> list[str]:
    return [language for language in LANGUAGES if language.startswith(text)]

@server.completion("review", "tone")
def tones(text: str, others: dict[str, str], ctx: SyncContext) -> Completion:
    return Completion([f"{ctx.method} {text} {sorted(others.items())}"], total=7)

@server.completion(by_day, "colour")
async def colours(text: str) -> list[str]:
    return ["red", "blue"]

if __name__ == "__main__":
    server.run()
"""


@pytest.fixture
def offer(tmp_path: Path) -> list[str]:
    return script(tmp_path, OFFER)


@pytest.mark.parametrize("revision", REVISIONS)
def test_res_01_res_02_cch_01_resources_are_listed(offer: list[str], revision: str) -> None:
    with Peer(offer, revision) as peer:
        listed = peer.request("resources/list")
        resources = {resource["uri"]: resource for resource in listed["resources"]}
        assert list(resources)[:2] == ["notes://text", "notes://bytes"]
        first = resources["notes://text"]
        assert first["name"] == "text" and first["description"] == "Some text" and first["size"] == 5
        assert first["mimeType"] == "text/markdown" and first["annotations"] == {"priority": 0.5}
        assert ("title" in first) == (revision >= "2025-06-18")
        assert ("icons" in first) == (revision >= "2025-11-25")
        assert (listed.get("ttlMs"), listed.get("cacheScope")) == ((60_000, "public") if peer.modern else (None, None))
        templates = peer.request("resources/templates/list")["resourceTemplates"]
        assert [template["uriTemplate"] for template in templates] == ["notes://{day}/{number}/{colour}{?loud}"]
        assert templates[0]["name"] == "by day"
        if not peer.modern:
            assert peer.server["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}


@pytest.mark.parametrize("revision", REVISIONS)
def test_res_11_res_15_return_values_become_contents(offer: list[str], revision: str) -> None:
    with Peer(offer, revision) as peer:
        read = peer.request("resources/read", uri="notes://text")
        assert read["contents"] == [{"uri": "notes://text", "mimeType": "text/markdown", "text": "hello"}]
        assert (read.get("ttlMs"), read.get("cacheScope")) == ((2000, "public") if peer.modern else (None, None))
        [data] = peer.request("resources/read", uri="notes://bytes")["contents"]
        assert b64decode(data["blob"]) == b"\x00\xff" and data["mimeType"] == "image/png"
        [note] = peer.request("resources/read", uri="notes://note")["contents"]
        assert note == {"uri": "notes://note", "mimeType": "application/json", "text": '{"text":"notes://note"}'}
        one, two = peer.request("resources/read", uri="notes://parts")["contents"]
        assert one["uri"] == "notes://parts/1" and one["text"] == "one"
        assert two["uri"] == "notes://parts" and two["mimeType"] == "a/b" and b64decode(two["blob"]) == b"two"
        full = peer.request("resources/read", uri="notes://full")
        assert full["_meta"]["c/d"] == 2
        assert (full.get("ttlMs"), full.get("cacheScope")) == ((5000, "private") if peer.modern else (None, None))


@pytest.mark.parametrize("revision", REVISIONS)
def test_res_05_res_06_res_08_res_09_unreadable_resources_are_errors(offer: list[str], revision: str) -> None:
    with Peer(offer, revision) as peer:
        with pytest.raises(Refused) as missing:
            peer.request("resources/read", uri="notes://nothing")
        assert missing.value.code == (-32602 if peer.modern else -32002)
        assert missing.value.data == {"uri": "notes://nothing"}
        with pytest.raises(Refused) as broken:
            peer.request("resources/read", uri="notes://broken")
        assert broken.value.code == -32603 and "secret" not in broken.value.message
        with pytest.raises(Refused) as refused:
            peer.request("resources/read", uri="notes://refused")
        assert (refused.value.code, refused.value.data) == (4099, {"why": "no"})
    assert "secret" in peer.errors


@pytest.mark.parametrize("revision", REVISIONS)
def test_variables_of_a_template_become_parameters(offer: list[str], revision: str) -> None:
    with Peer(offer, revision) as peer:
        uri = "notes://2024-02-29/7/red?loud=true"
        [contents] = peer.request("resources/read", uri=uri)["contents"]
        assert contents["uri"] == uri and contents["mimeType"] == "application/json"
        assert contents["text"] == (
            '{"day":"2024-02-29","number":7,"colour":"RED","loud":true,"uri":"notes://2024-02-29/7/red?loud=true"}'
        )
        [quiet] = peer.request("resources/read", uri="notes://2024-02-29/7/blue")["contents"]
        assert '"loud":false' in quiet["text"]
        for uri, problem in [
            ("notes://2024-02-30/7/red", "/day: day"),
            ("notes://2024-02-29/seven/red", '"seven" is not of type "integer"'),
            ("notes://2024-02-29/7/green", '"green" is not one of "red" or "blue"'),
            ("notes://2024-02-29/7/red?loud=maybe", '"maybe" is not of type "boolean"'),
        ]:
            with pytest.raises(Refused) as refused:
                peer.request("resources/read", uri=uri)
            assert refused.value.code == -32602 and problem in refused.value.message


@pytest.mark.parametrize("text", ["1e999", "-1e999", "1" * 400])
def test_numbers_that_are_too_large_are_refused(text: str) -> None:
    server = Server("numbers", version="1")

    @server.prompt
    def show(whole: int = 0, real: float = 0, several: list[float] | None = None, either: float | str = 0) -> str:
        return str(either)

    with SyncClient(server) as client:
        for name, value in {"whole": text, "real": text, "several": f"[{text}]"}.items():
            with pytest.raises(ProtocolError, match=f"/{name}") as refused:
                client.get_prompt("show", {name: value})
            assert refused.value.code == -32602
        [message] = client.get_prompt("show", {"either": text}).messages
        assert message.content == TextContent(text)


def test_res_08_a_resource_that_returns_nothing_does_not_exist() -> None:
    server = Server("notes", version="1.0.0")

    @server.resource("notes://{name}")
    def note(name: str) -> str | None:
        return {"today": "tea"}.get(name)

    async def check() -> None:
        async with Client(server) as client:
            assert (await client.read_resource("notes://today")).contents[0].text == "tea"
            with pytest.raises(ProtocolError) as missing:
                await client.read_resource("notes://monday")
            assert (missing.value.code, missing.value.data) == (-32602, {"uri": "notes://monday"})

    run(check())


def test_optional_variables_and_lists() -> None:
    server = Server("test", version="1")

    def files(path: list[str], page: int = 1, tag: Annotated[list[int] | None, "numbers"] = None) -> list[Any]:
        return [path, page, tag]

    def rest(path: Any = (), **others: Any) -> list[Any]:
        return [path, others]

    server.add_resource("files://{path*}{?page,tag*}", files)
    server.add_resource("rest://x{/path*}{?more*}", rest)

    async def check() -> None:
        async with Client(server) as client:

            async def read(uri: str) -> Any:
                result = await client.request("resources/read", {"uri": uri})
                return json.loads(result["contents"][0]["text"])

            assert await read("files://a") == [["a"], 1, None]
            assert await read("files://a,b%2Fc?tag=1&tag=2&page=3") == [["a", "b/c"], 3, [1, 2]]
            assert await read("rest://x") == [[], {}]
            assert await read("rest://x/a/b?more=1") == [["a", "b"], {"more": ["1"]}]
            with pytest.raises(ProtocolError, match='"one" is not of type "integer"'):
                await read("files://a?tag=one")

    run(check())


@pytest.mark.parametrize("revision", REVISIONS)
def test_prm_01_prm_02_prompts_are_listed(offer: list[str], revision: str) -> None:
    with Peer(offer, revision) as peer:
        prompts = peer.request("prompts/list")["prompts"]
        assert [prompt["name"] for prompt in prompts] == ["review", "talk", "block", "described", "failing"]
        review = prompts[0]
        assert review["description"] == "Reviews code"
        assert review["arguments"] == [
            {"name": "code", "description": "What to review", "required": True},
            {"name": "depth"},
            {"name": "tone"},
        ]
        assert ("title" in review) == (revision >= "2025-06-18")


@pytest.mark.parametrize("revision", REVISIONS)
def test_return_values_of_prompts_become_messages(offer: list[str], revision: str) -> None:
    def text(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": {"type": "text", "text": text}}

    with Peer(offer, revision) as peer:
        given = peer.request("prompts/get", name="review", arguments={"code": "x", "depth": "3"})
        assert given["messages"] == [text("user", "kind 3: x")] and given["description"] == "Reviews code"
        talk = peer.request("prompts/get", name="talk")["messages"]
        assert talk[:2] == [text("user", "hi"), text("assistant", "hello")]
        assert talk[2] == {"role": "user", "content": {"type": "image", "data": "eA==", "mimeType": "image/png"}}
        [block] = peer.request("prompts/get", name="block")["messages"]
        assert block["content"]["resource"] == {"uri": "notes://text", "text": "t", "mimeType": "text/plain"}
        described = peer.request("prompts/get", name="described")
        assert described["description"] == "today's" and described["_meta"]["c/d"] == 2


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_prompt_that_returns_nothing_has_no_messages(revision: str) -> None:
    server = Server("test", version="1")

    @server.prompt
    def silent() -> None:
        return None

    with SyncClient(server, revision=revision) as client:
        assert client.get_prompt("silent").messages == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_prm_04_prm_05_invalid_prompt_requests_are_refused(offer: list[str], revision: str) -> None:
    with Peer(offer, revision) as peer:
        for arguments, problem in [
            ({}, "code"),
            ({"code": "x", "more": "y"}, "more"),
            ({"code": "x", "depth": "deep"}, '"deep" is not of type "integer"'),
            ({"code": "x", "tone": "rude"}, '"rude" is not one of "kind" or "harsh"'),
        ]:
            with pytest.raises(Refused) as refused:
                peer.request("prompts/get", name="review", arguments=arguments)
            assert refused.value.code == -32602 and problem in refused.value.message
        with pytest.raises(Refused) as unknown:
            peer.request("prompts/get", name="nothing")
        assert unknown.value.code == -32602
        with pytest.raises(Refused) as failing:
            peer.request("prompts/get", name="failing")
        assert (failing.value.code, failing.value.message) == (-32603, "no prompt today")


@pytest.mark.parametrize("revision", REVISIONS)
def test_cmp_01_cmp_02_cmp_03_arguments_are_completed(offer: list[str], revision: str) -> None:
    review, by_day = {"type": "ref/prompt", "name": "review"}, "notes://{day}/{number}/{colour}{?loud}"
    with Peer(offer, revision) as peer:
        if revision >= "2025-03-26" and not peer.modern:
            assert "completions" in peer.server["capabilities"]

        def complete(ref: dict[str, str], name: str, value: str, **context: Any) -> dict[str, Any]:
            argument = {"name": name, "value": value}
            return peer.request("completion/complete", ref=ref, argument=argument, **context)["completion"]

        codes = complete(review, "code", "lang1")
        assert codes["values"][:3] == ["lang1", "lang10", "lang11"] and codes["hasMore"] is False
        everything = complete(review, "code", "")
        assert len(everything["values"]) == 100
        assert (everything["total"], everything["hasMore"]) == (150, True)
        others = [("code", "x")] if revision >= "2025-06-18" else []
        tones = complete(review, "tone", "k", **({"context": {"arguments": dict(others)}} if others else {}))
        assert tones["values"] == [f"completion/complete k {others}"]
        assert (tones["total"], tones["hasMore"]) == (7, True)
        assert complete({"type": "ref/resource", "uri": by_day}, "colour", "")["values"] == ["red", "blue"]
        with pytest.raises(Refused) as unknown:
            complete({"type": "ref/prompt", "name": "nothing"}, "code", "")
        assert unknown.value.code == -32602


class Weekday(enum.IntEnum):
    MONDAY = 1


def test_strings_are_converted_to_the_annotated_type() -> None:
    from decimal import Decimal

    from trunkline._internal.signature.string_arguments import TextSignature

    def takes(
        text: str,
        number: float,
        maybe: int | None = None,
        day: Weekday = Weekday.MONDAY,
        one: Literal["a", 1] = 1,
        price: Decimal = Decimal(1),
        when: dt.datetime | None = None,
        made: int = pydantic.Field(default=3),
        **rest: str,
    ) -> None: ...

    signature = TextSignature(takes, "a prompt")
    texts = {"text": "5", "number": "2", "maybe": "4", "day": "1", "one": "1", "price": "1.10", "other": "o"}
    bound = signature.bind(texts)
    assert bound == {
        "text": "5",
        "number": 2.0,
        "maybe": 4,
        "day": Weekday.MONDAY,
        "one": 1,
        "price": Decimal("1.10"),
        "other": "o",
        "made": 3,
    }
    assert type(bound["number"]) is float and type(bound["day"]) is Weekday
    for name, text in [("number", "NaN"), ("number", "true"), ("maybe", "1.5"), ("when", "soon"), ("one", "2")]:
        with pytest.raises(ValueError, match=f"^/{name}: .*['\"]{text}['\"]"):
            signature.bind({**texts, name: text})


def nothing() -> str:
    return ""


def one(a: str) -> str:
    return a


def several(a: list[str]) -> str:
    return str(a)


def positional(a: str, /) -> str:
    return a


REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("add_resource", ("notes://x", functools.partial(nothing)), {}, "pass name="),
    ("add_resource", ("notes://x", one), {}, "'a' is not a variable of 'notes://x': it has no variables"),
    ("add_resource", ("notes://{b}", one), {}, "the variables are b"),
    ("add_resource", ("notes://{b}", nothing), {}, "no parameter takes the variable 'b'"),
    ("add_resource", ("notes://{b", nothing), {}, "uri_template"),
    ("add_resource", ("notes://x{?a}", one), {}, "parameter 'a' needs a default"),
    ("add_resource", ("notes://x{/a}", one), {}, "parameter 'a' needs a default"),
    ("add_resource", ("notes://x{/a*}", one), {}, "its type must be list"),
    ("add_resource", ("notes://{a*}", one), {}, "its type must be list"),
    ("add_resource", ("notes://{a}", several), {}, "string, which cannot be an array"),
    ("add_resource", ("not a uri", nothing), {}, "Resource not a uri: uri"),
    ("add_resource", ("notes://{a}", one), {"size": 3}, "a template cannot have a size"),
    ("add_resource", ("notes://x", 3), {}, "a resource must be a function, not int"),
    ("resource", (nothing,), {}, "needs its URI"),
    ("remove_resource", ("notes://x",), {}, "no resource 'notes://x'"),
    ("remove_resource", ("notes://{x}",), {}, "no resource template"),
    ("remove_prompt", ("x",), {}, "no prompt named 'x'"),
    ("remove_completion", ("x", "y"), {}, "no completion of 'y' of 'x'"),
    ("prompt", ("x",), {}, "by keyword"),
    ("add_prompt", (positional,), {}, "positional-only"),
    ("add_completion", (nothing, "a", one), {}, "not registered as a prompt"),
    ("add_completion", ("p", "a", nothing), {}, "takes 0 parameters"),
]


@pytest.mark.parametrize(("method", "arguments", "options", "problem"), REFUSED)
def test_invalid_features_are_refused_at_registration(
    method: str, arguments: tuple[Any, ...], options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        getattr(Server("test", version="1"), method)(*arguments, **options)
    assert problem in str(caught.value)


def test_parameters_that_strings_cannot_fill_are_refused() -> None:
    server = Server("test", version="1")

    async def mixed(ctx: SyncContext) -> str:
        return ""

    def twice(name: str, ctx: Context) -> str:
        return ""

    for function, problem in [
        (mixed, "SyncContext is for functions defined with def"),
        (twice, "Context is for functions defined with async def"),
    ]:
        with pytest.raises(InvalidArgumentError, match=problem):
            server.add_prompt(function)


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_res_03_prm_03_lists_change_at_run_time(tmp_path: Path, revision: str) -> None:
    source = """
from trunkline import Server
server = Server("changing", version="1")

@server.resource("notes://text")
def text() -> str:
    return ""

@server.resource("notes://{x}")
def template(x: str) -> str:
    return ""

@server.prompt
def talk(x: str = "") -> str:
    return ""

@server.completion(talk, "x")
def complete(text: str) -> list[str]:
    return []

@server.tool
def change() -> str:
    server.add_resource("notes://more", text)
    server.remove_resource("notes://text")
    server.remove_resource("notes://{x}")
    server.remove_completion(talk, "x")
    server.remove_prompt("talk")
    server.add_prompt(talk, name="talk2")
    server.resource_updated("notes://more")
    return repr(server)

server.run()
"""
    with Peer(script(tmp_path, source), revision) as peer:
        wanted = {"resourcesListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["notes://more"]}
        if peer.modern:
            peer.send({"id": "listen", "method": "subscriptions/listen", "params": {"_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            }, "notifications": wanted}})  # fmt: skip
            peer.until("notifications/subscriptions/acknowledged")
        else:
            peer.request("resources/subscribe", uri="notes://more")
        assert peer.call("change") == (
            "Server('changing', version='1', tools=['change'], resources=['notes://more'], prompts=['talk2'])"
        )
        for method in ("notifications/resources/updated", "notifications/resources/list_changed"):
            if method not in [name for name, _ in peer.heard]:
                peer.until(method)
        if "notifications/prompts/list_changed" not in [name for name, _ in peer.heard]:
            peer.until("notifications/prompts/list_changed")
        [updated] = peer.texts("notifications/resources/updated")
        assert updated["uri"] == "notes://more"
        assert [resource["uri"] for resource in peer.request("resources/list")["resources"]] == ["notes://more"]
        assert peer.request("resources/templates/list")["resourceTemplates"] == []
        assert [prompt["name"] for prompt in peer.request("prompts/list")["prompts"]] == ["talk2"]


def test_res_12_template_variables_cannot_leave_their_folder_unless_the_template_allows_it() -> None:
    server = Server("files", version="1")

    @server.resource("files://{name}")
    def read(name: str) -> str:
        return name

    @server.resource("tree://x{/path*}")
    async def tree(path: list[str] | None = None) -> str:
        return "/".join(path or [])

    @server.resource("open://{name}", unsafe_paths=True)
    def anything(name: str) -> str:
        return name

    async def check() -> None:
        async with Client(server) as client:
            for uri in (
                "files://..%2F..%2Fetc%2Fpasswd",
                "files://%2Fetc%2Fpasswd",
                "files://a%00b",
                "tree://x/..%2Fetc",
            ):
                with pytest.raises(ProtocolError, match="not found"):
                    await client.read_resource(uri)
            for uri, text in (("files://a%2Fb", "a/b"), ("open://..%2Fetc", "../etc")):
                (contents,) = (await client.read_resource(uri)).contents
                assert contents.text == text

    run(check())
    with pytest.raises(InvalidArgumentError, match="unsafe_paths is only for templates"):
        server.add_resource("files://one", lambda: "x", name="one", unsafe_paths=True)


def test_res_12_the_files_of_a_directory_are_resources(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (root / "a b.md").write_text("# A", encoding="utf-8")
    (root / "data.bin").write_bytes(b"\x00\xff")
    (root / ".env").write_text("key", encoding="utf-8")
    server = Server("files", version="1")
    server.add_directory("docs://", root, max_file_bytes=10)

    async def check() -> None:
        async with Client(server) as client:
            uris = [resource.uri for resource in await client.list_resources()]
            assert uris == ["docs://a%20b.md", "docs://data.bin"]
            (text,) = (await client.read_resource("docs://a%20b.md")).contents
            assert (text.text, text.mime_type) == ("# A", "text/markdown")
            (root / "a b.md").write_text("new", encoding="utf-8")
            (text,) = (await client.read_resource("docs://a%20b.md")).contents
            assert text.text == "new"
            (data,) = (await client.read_resource("docs://data.bin")).contents
            assert data.blob == "AP8="
            for uri in ("docs://..%2Fsecret.txt", "docs://.env", "docs://nothing"):
                with pytest.raises(ProtocolError, match="not found"):
                    await client.read_resource(uri)
            (root / "large").write_text("x" * 11, encoding="utf-8")
            with pytest.raises(ProtocolError, match="larger than the limit of 10 bytes"):
                await client.read_resource("docs://large")
            server.remove_directory("docs://")
            assert await client.list_resources() == []

    run(check())
    with pytest.raises(InvalidArgumentError, match="path"):
        server.add_directory("docs://", tmp_path / "nothing")


class Trips:
    """Features that are methods."""

    def trip(self, city: str) -> str:
        return city


def test_cmp_03_completions_need_an_existing_feature() -> None:
    server = Server("typos", version="1")

    @server.prompt
    def plan(city: str) -> str:
        return city

    def suggest(typed: str) -> list[str]:
        return [typed]

    wrong: list[tuple[Any, str, str]] = [
        ("nope", "x", "no prompt nope"),
        (plan, "gnre", "no argument gnre; the arguments are city"),
    ]
    for of, argument, says in wrong:
        with pytest.raises(InvalidArgumentError, match=says):
            server.add_completion(of, argument, suggest)
    trips = Trips()
    server.add_prompt(trips.trip)
    server.add_completion(trips.trip, "city", suggest)
    server.remove_completion(trips.trip, "city")
    server.remove_prompt("trip")
    server.add_completion(plan, "city", suggest)
    server.remove_prompt("plan")

    async def check() -> None:
        async with Client(server) as client:  # on its own port, where all is registered again
            assert await client.list_prompts() == []

    run(check())
    server.remove_completion("plan", "city")


def test_cmp_03_completions_are_declared_together_with_their_arguments() -> None:
    server = Server("trips", version="1")

    async def cities(text: str, arguments: dict[str, str], ctx: Context) -> list[str]:
        assert ctx.client_info is not None
        return [text + arguments.get("country", "")]

    def names(text: str) -> list[str]:
        return [text.upper()]

    @server.prompt(complete={"city": cities, "country": names})
    def plan(city: str, country: str = "") -> str:
        return f"{city} {country}"

    @server.resource("notes://{name}", complete={"name": names})
    async def note(name: str) -> str:
        return name

    async def check() -> None:
        async with Client(server) as client:

            async def values(kind: str, key: str, argument: str) -> list[str]:
                named: Any = {"type": f"ref/{kind}", "name" if kind == "prompt" else "uri": key}
                result = await client.complete(named, {"name": argument, "value": "o"}, {"arguments": {"country": "n"}})
                return list(result.completion.values)

            assert await values("prompt", "plan", "city") == ["on"]
            assert await values("prompt", "plan", "country") == ["O"]
            assert await values("resource", "notes://{name}", "name") == ["O"]
            server.get_prompt("plan").update(name="other", complete={"city": names})
            assert await values("prompt", "other", "city") == ["O"]
            assert await values("prompt", "other", "country") == []

    run(check())
    with pytest.raises(InvalidArgumentError, match="there is no argument cty; the arguments are city, country"):
        server.get_prompt("other").update(complete={"cty": names})
    with pytest.raises(InvalidArgumentError, match="there is no argument nam; the arguments are name"):
        server.resource("more://{name}", complete={"nam": names})(note)
    with pytest.raises(InvalidArgumentError, match="unknown option `complete`"):
        server.resource("more://one", name="one", complete={"name": names})(lambda: "one")
