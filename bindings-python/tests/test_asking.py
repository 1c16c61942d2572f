"""Client requests of handlers: requests in the legacy era, rounds on 2026-07-28; the same handlers
serve both.
"""

from __future__ import annotations

import asyncio
import enum
import gc
import logging
import time
import uuid
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest

from raw import MODERN, Peer, Refused
from support import REVISIONS, run, script, until
from trunkline import (
    Client,
    Context,
    ElicitResult,
    Field,
    InputRequired,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncContext,
    elicit,
    elicit_url,
    list_roots,
    sample,
    user,
)
from trunkline._internal.schema.elicitation_forms import Form

ASKING = """
import asyncio, sys
from dataclasses import dataclass
from typing import Literal
from trunkline import (
    Context, ImageContent, InputRequired, TimeoutError, ProtocolError, Server, SyncContext, TextContent, assistant,
    elicit, list_roots, sample, user,
)

server = Server("asking", version="1", input_timeout=20, max_rounds=4)
runs = 0

@dataclass
class Person:
    name: str
    age: int = 30
    size: Literal["small", "large"] | None = None

NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

@server.tool
async def person(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", Person)
    return f"{answer.action} {answer.content}"

@server.tool
def person_in_thread(ctx: SyncContext) -> str:
    answer = ctx.elicit("Who are you?", Person, key="who")
    return f"{answer.action} {answer.content}"

@server.tool
async def page(ctx: Context) -> str:
    answer = await ctx.elicit_url("Sign here", "https://example.com/sign")
    server.elicitation_complete("sign-1")
    return f"{answer.action} {answer.content}"

@server.tool
async def model(ctx: Context) -> str:
    answer = await ctx.sample(
        ["What is this?", assistant("A picture?"), user(ImageContent(b"x", "image/png"))],
        max_tokens=9, system_prompt="short", temperature=0.5, stop_sequences=["."], model_preferences={"hints": []},
    )
    return f"{answer.role} {answer.model} {answer.stop_reason}: {answer.text}"

@server.tool
def model_in_thread(ctx: SyncContext) -> str:
    return ctx.sample("Hello?", max_tokens=9, timeout=10).text

@server.tool
async def folders(ctx: Context) -> str:
    return ", ".join(f"{root.uri} {root.name}" for root in await ctx.list_roots())

@server.tool
def folders_in_thread(ctx: SyncContext) -> str:
    return ", ".join(root.uri for root in ctx.list_roots())

@server.tool
async def booking(ctx: Context) -> str:
    "Counts how often it ran and how often it had an effect."
    global runs
    runs += 1

    async def effect() -> dict:
        print("effect", file=sys.stderr, flush=True)
        return {"number": 7}

    order = await ctx.once("order", effect)
    again = await ctx.once("order", effect)
    first = await ctx.elicit("First?", NAME)
    second = await ctx.elicit("Second?", NAME)
    return f"{order['number']}{again['number']} {first.content['name']} {second.content['name']} after {runs} runs"

@server.tool
def booking_in_thread(ctx: SyncContext) -> str:
    def effect() -> str:
        print("effect", file=sys.stderr, flush=True)
        return "x"

    value = ctx.once("order", effect)
    return value + ctx.elicit("Sure?", NAME).content["name"] + ctx.once("order", effect)

@server.tool
async def together(ctx: Context) -> str:
    first, second = await asyncio.gather(
        ctx.elicit("First?", NAME, key="first"), ctx.elicit("Second?", NAME, key="second")
    )
    return f"{first.content['name']} {second.content['name']}"

@server.tool
async def stubborn(ctx: Context) -> str:
    "Catches everything, as some code does."
    try:
        return (await ctx.elicit("Who?", NAME)).content["name"]
    except Exception as error:
        return f"never seen: {error!r}"
    finally:
        print("closed", file=sys.stderr, flush=True)

@server.tool
async def careless(ctx: Context) -> str:
    try:
        return (await ctx.elicit("Who?", NAME)).content["name"]
    except BaseException:
        return "dropped"

@server.tool
async def endless(ctx: Context) -> str:
    for number in range(10):
        await ctx.elicit("More?", NAME)
    return "done"

@server.tool
async def primitive(ctx: Context) -> str | InputRequired:
    answers = ctx.input_responses
    if ctx.state != {"step": 1}:
        ask = {"name": elicit("Who?", NAME), "model": sample("Hello?", max_tokens=5), "roots": list_roots()}
        return InputRequired(ask, state={"step": 1})
    name, text = answers["name"]["content"]["name"], answers["model"]["content"]["text"]
    return f"{name} {text} {len(answers['roots']['roots'])}"

@server.tool
def primitive_in_thread(ctx: SyncContext) -> str | InputRequired:
    if "name" in ctx.input_responses:
        return ctx.input_responses["name"]["content"]["name"]
    return InputRequired({"name": elicit("Who?", NAME)})

@server.tool
async def impatient(ctx: Context) -> str:
    try:
        await ctx.elicit("Who?", NAME, timeout=0.05)
    except TimeoutError:
        return "too late"
    return "in time"

@server.tool
async def refusing(ctx: Context) -> str:
    try:
        await ctx.elicit("Who?", NAME)
    except ProtocolError as error:
        return f"{error.code} {error.message}"
    return "asked"

@server.resource("notes://{name}")
async def note(name: str, ctx: Context) -> str:
    return name + (await ctx.elicit("Who?", NAME)).content["name"]

@server.prompt
def talk(ctx: SyncContext) -> str:
    return ctx.elicit("Who?", NAME).content["name"]

if __name__ == "__main__":
    server.run()
"""

CAPABILITIES: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
SINCE_ELICITATION = [revision for revision in REVISIONS if revision >= "2025-06-18"]


@pytest.fixture
def asking(tmp_path: Path) -> list[str]:
    return script(tmp_path, ASKING)


class Answers:
    """Answers everything, and records the questions."""

    def __init__(self, **content: Any) -> None:
        self.content = content or {"name": "Ada"}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        if method == "elicitation/create":
            return {"action": "accept", **({"content": self.content} if params.get("mode") != "url" else {})}
        if method == "sampling/createMessage":
            content = {"type": "text", "text": "hello"}
            return {"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}
        assert method == "roots/list"
        return {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}


@pytest.mark.parametrize("tool", ["person", "person_in_thread"])
@pytest.mark.parametrize("revision", SINCE_ELICITATION)
def test_eli_07_eli_32_a_class_describes_a_form(asking: list[str], revision: str, tool: str) -> None:
    answers = Answers(name="Ada", size="large")
    with Peer(asking, revision, capabilities=CAPABILITIES, answer=answers) as peer:
        assert peer.call(tool) == "accept Person(name='Ada', age=30, size='large')"
        [(method, params)] = answers.asked
        assert method == "elicitation/create" and params["message"] == "Who are you?"
        assert params["requestedSchema"] == {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer", **({"default": 30} if revision >= "2025-11-25" else {})},
                "size": {"type": "string", "enum": ["small", "large"]},
            },
            "required": ["name"],
        }
        assert [*params["requestedSchema"]["properties"]] == ["name", "age", "size"], "not in the author's order"
        if peer.modern:
            assert list(peer.rounds[0]["inputRequests"]) == ["who" if tool == "person_in_thread" else "elicitation-1"]


@pytest.mark.parametrize("revision", SINCE_ELICITATION)
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_eli_12_eli_13_a_user_may_say_no(asking: list[str], revision: str, action: str) -> None:
    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"action": action}

    with Peer(asking, revision, capabilities=CAPABILITIES, answer=answer) as peer:
        assert peer.call("person") == f"{action} None"
        assert peer.call("person_in_thread") == f"{action} None"


@dataclass
class Ticket:
    id: uuid.UUID


@pytest.mark.parametrize("tool", ["ask", "ask_in_thread"])
@pytest.mark.parametrize("revision", SINCE_ELICITATION)
def test_eli_11_content_that_does_not_fit_the_class_of_the_form_is_an_error_of_the_client(
    revision: str, tool: str
) -> None:
    server = Server("test", version="1")

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Which ticket?", Ticket)).action

    @server.tool
    def ask_in_thread(ctx: SyncContext) -> str:
        return ctx.elicit("Which ticket?", Ticket).action

    def fill_in(_request: object) -> ElicitResult[dict[str, str]]:
        return ElicitResult("accept", {"id": "abc"})

    async def check() -> None:
        client = Client(server, revision=revision)
        client.on_elicit(fill_in)
        async with client:
            with pytest.raises(ProtocolError, match="Invalid response from the client: /id: badly formed") as caught:
                await client.call_tool(tool)
            assert caught.value.code == -32600

    assert ask and ask_in_thread
    run(check())


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
def test_eli_28_eli_33_a_page_to_visit(asking: list[str], revision: str) -> None:
    answers = Answers()
    with Peer(asking, revision, capabilities={"elicitation": {"url": {}}}, answer=answers) as peer:
        assert peer.call("page") == "accept None"
        [(_, params)] = answers.asked
        assert params["mode"] == "url" and params["url"] == "https://example.com/sign"
        assert ("elicitationId" in params) == (not peer.modern)


@pytest.mark.parametrize("revision", REVISIONS)
def test_smp_12_smp_20_sampling_uses_the_model_of_the_client(asking: list[str], revision: str) -> None:
    answers = Answers()
    with Peer(asking, revision, capabilities=CAPABILITIES, answer=answers) as peer:
        assert peer.call("model") == "assistant m endTurn: hello"
        assert peer.call("model_in_thread") == "hello"
        (_, params), (_, short) = answers.asked
        assert [message["role"] for message in params["messages"]] == ["user", "assistant", "user"]
        assert params["messages"][0]["content"] == {"type": "text", "text": "What is this?"}
        assert params["maxTokens"] == 9 and params["systemPrompt"] == "short" and params["stopSequences"] == ["."]
        assert params["temperature"] == 0.5 and params["modelPreferences"] == {"hints": []}
        assert short == {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Hello?"}}],
            "maxTokens": 9,
        }


@pytest.mark.parametrize("revision", REVISIONS)
def test_root_08_roots_of_the_client(asking: list[str], revision: str) -> None:
    with Peer(asking, revision, capabilities=CAPABILITIES, answer=Answers()) as peer:
        assert peer.call("folders") == "file:///a A, file:///b None"
        assert peer.call("folders_in_thread") == "file:///a, file:///b"


@pytest.mark.parametrize("revision", SINCE_ELICITATION)
def test_side_effects_happen_once(asking: list[str], revision: str) -> None:
    with Peer(asking, revision, capabilities=CAPABILITIES, answer=Answers()) as peer:
        assert peer.call("booking") == f"77 Ada Ada after {3 if peer.modern else 1} runs"
        assert len(peer.rounds) == (2 if peer.modern else 0)
        assert peer.call("booking_in_thread") == "xAdax"
    # Each tool had one effect, and a handler that runs again is not a failure to be logged.
    assert peer.errors == "effect\neffect\n"


@pytest.mark.parametrize("revision", SINCE_ELICITATION)
def test_concurrent_requests_are_one_round(asking: list[str], revision: str) -> None:
    with Peer(asking, revision, capabilities=CAPABILITIES, answer=Answers()) as peer:
        assert peer.call("together") == "Ada Ada"
        if peer.modern:
            [asked] = peer.rounds
            assert sorted(asked["inputRequests"]) == ["first", "second"]
    assert peer.errors == ""


@pytest.mark.parametrize("revision", SINCE_ELICITATION)
def test_handlers_that_catch_everything_still_run_again(asking: list[str], revision: str) -> None:
    with Peer(asking, revision, capabilities=CAPABILITIES, answer=Answers()) as peer:
        assert peer.call("stubborn") == "Ada"
        assert peer.call("careless") == "Ada"
    assert peer.errors == "closed\n" * (2 if peer.modern else 1)


def test_rounds_are_limited(asking: list[str]) -> None:
    with Peer(asking, MODERN, capabilities=CAPABILITIES, answer=Answers()) as peer:
        with pytest.raises(Refused, match="4 rounds"):
            peer.call("endless")
        assert peer.call("person").startswith("accept")


@pytest.mark.parametrize("revision", SINCE_ELICITATION)
def test_mrtr_02_handlers_can_return_input_required(asking: list[str], revision: str) -> None:
    with Peer(asking, revision, capabilities=CAPABILITIES, answer=Answers()) as peer:
        assert peer.call("primitive") == "Ada hello 2"
        assert peer.call("primitive_in_thread") == "Ada"
        if peer.modern:
            assert sorted(peer.rounds[0]["inputRequests"]) == ["model", "name", "roots"]
            assert "step" not in peer.rounds[0]["requestState"]


@pytest.mark.parametrize("revision", SINCE_ELICITATION)
def test_mrtr_01_resources_and_prompts_can_request_input(asking: list[str], revision: str) -> None:
    with Peer(asking, revision, capabilities=CAPABILITIES, answer=Answers()) as peer:
        [contents] = peer.request("resources/read", uri="notes://dear")["contents"]
        assert contents["text"] == "dearAda"
        [message] = peer.request("prompts/get", name="talk")["messages"]
        assert message["content"]["text"] == "Ada"


@pytest.mark.parametrize("revision", REVISIONS)
def test_mrtr_04_clients_without_the_capability_are_not_asked(asking: list[str], revision: str) -> None:
    with Peer(asking, revision) as peer:
        code = "-32021" if peer.modern else "-32600"
        assert peer.call("refusing").startswith(code)
        assert not peer.rounds


def test_clients_may_refuse_or_respond_late(asking: list[str]) -> None:
    def refuse(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"error": {"code": 4099, "message": "not now"}}

    with Peer(asking, "2025-11-25", capabilities=CAPABILITIES, answer=refuse) as peer:
        assert peer.call("refusing") == "4099 not now"

    def late(method: str, params: dict[str, Any]) -> dict[str, Any]:
        import time

        time.sleep(1)
        return {"action": "cancel"}

    with Peer(asking, "2025-11-25", capabilities=CAPABILITIES, answer=late) as peer:
        assert peer.call("impatient") == "too late"
        assert "notifications/cancelled" in [method for method, _ in peer.heard]


class Size(str, enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Typed(TypedDict, total=False):
    """Not in the schema."""

    sizes: list[Size]


class Model(pydantic.BaseModel):
    email: str = pydantic.Field(json_schema_extra={"format": "email"})
    score: float = pydantic.Field(default=1.5, ge=0, le=10, title="Score")


@dataclass
class Plain:
    agreed: bool
    only: Literal["this"]
    topics: list[Literal["news"]]
    nick: Annotated[str | None, Field(description="What friends say", max_length=9)] = None


def test_forms_are_flat() -> None:
    assert Form.of(Typed).schema == {
        "type": "object",
        "properties": {"sizes": {"type": "array", "items": {"type": "string", "enum": ["small", "large"]}}},
    }
    assert Form.of(Model).schema["properties"] == {
        "email": {"type": "string", "format": "email", "title": "Email"},
        "score": {"type": "number", "default": 1.5, "minimum": 0, "maximum": 10, "title": "Score"},
    }
    assert Form.of(Plain).schema["properties"] == {
        "agreed": {"type": "boolean"},
        "only": {"type": "string", "enum": ["this"]},
        "topics": {"type": "array", "items": {"type": "string", "enum": ["news"]}},
        "nick": {"type": "string", "description": "What friends say", "maxLength": 9},
    }
    read = Form.of(Typed).read
    assert read is not None and read({"sizes": ["small"]}) == {"sizes": [Size.SMALL]}
    assert Form.of(Typed) is Form.of(Typed)


@dataclass
class Nested:
    plain: Plain


@dataclass
class Listed:
    names: list[str]


@dataclass
class Patterned:
    name: Annotated[str, Field(pattern="a")]


@dataclass
class Either:
    value: int | str


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (Nested, "Nested.plain: a form supports only strings"),
        (Listed, "Listed.names: a list in a form must be a list of choices"),
        (Patterned, "Patterned.name: a form does not support `pattern`"),
        (Either, "Either.value: a form supports only strings"),
        (str, "the form str must be a dataclass"),
        (object(), "cannot be represented in JSON"),
    ],
)
def test_eli_08_nested_forms_are_refused(form: Any, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem):
        elicit("?", form)


def test_the_primitive_returns_its_requests() -> None:
    required = InputRequired(
        {
            "form": elicit("Who?", {"type": "object", "properties": {}}),
            "page": elicit_url("Sign", "https://example.com", elicitation_id="e"),
            "model": sample([user("a"), {"role": "assistant", "content": {"type": "text", "text": "b"}}], max_tokens=1),
            "roots": list_roots(),
        },
        state=(1, 2),
    )
    assert required.to_json() == {
        "inputRequests": {
            "form": {
                "method": "elicitation/create",
                "params": {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}},
            },
            "page": {
                "method": "elicitation/create",
                "params": {
                    "mode": "url",
                    "message": "Sign",
                    "url": "https://example.com",
                    "elicitationId": "e",
                },
            },
            "model": {
                "method": "sampling/createMessage",
                "params": {
                    "messages": [
                        {"role": "user", "content": {"type": "text", "text": "a"}},
                        {"role": "assistant", "content": {"type": "text", "text": "b"}},
                    ],
                    "maxTokens": 1,
                },
            },
            "roots": {"method": "roots/list"},
        },
        "state": [1, 2],
    }


def test_the_cache_of_forms_is_bounded() -> None:
    def make() -> weakref.ref[type]:
        @dataclass
        class Local:
            name: str

        assert elicit("Who?", Local).params == elicit("Who?", Local).params
        return weakref.ref(Local)

    made = [make() for _ in range(200)]
    gc.collect()
    assert sum(one() is not None for one in made) < 100
    nonsense: Any = [str]
    with pytest.raises(InvalidArgumentError, match="not a dataclass"):
        elicit("Who?", nonsense)


PAYING = """
from trunkline import Context, Server

server = Server("paying", version="1")
paid = 0

@server.tool
async def pay(ctx: Context) -> str:
    await ctx.elicit("Sure?", {"type": "object", "properties": {"name": {"type": "string"}}})

    async def effect() -> int:
        global paid
        paid += 1
        return paid

    return f"paid {await ctx.once('payment', effect)} times"

server.run()
"""


def test_mrtr_08_a_repeated_retry_does_not_repeat_an_effect(tmp_path: Path) -> None:
    with Peer(script(tmp_path, PAYING), MODERN, capabilities={"elicitation": {}}) as peer:
        asked = peer.once("tools/call", name="pay", arguments={})
        (key,) = asked["inputRequests"]
        accepted = {key: {"action": "accept", "content": {"name": "Ada"}}}
        again = {"name": "pay", "arguments": {}, "requestState": asked["requestState"], "inputResponses": accepted}
        for _ in range(3):
            assert peer.once("tools/call", **again)["content"][0]["text"] == "paid 1 times"


def test_the_warning_about_a_random_key_uses_names_of_python(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("test", version="1")

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Who?", {"type": "object", "properties": {"name": {"type": "string"}}})).action

    async def check() -> None:
        async with server.serve_http(port=0) as listener:
            client = Client(listener.url, revision=MODERN)

            def decline(_request: object) -> ElicitResult[dict[str, str]]:
                return ElicitResult("decline")

            client.on_elicit(decline)
            async with client:
                assert (await client.call_tool("ask")).text == "decline"
            await until(lambda: "random key" in caplog.text, "the warning")

    with caplog.at_level(logging.WARNING):
        run(check())
    assert "state keys" in caplog.text and "stateKeys" not in caplog.text


def test_middleware_runs_once_per_round() -> None:
    server = Server("rounds", version="1")
    seen: list[Any] = []

    @server.middleware("tools/call")
    async def count(_request: Any, next: Any, _ctx: Context) -> Any:
        result = await next()
        seen.append(result["resultType"])
        return result

    @server.tool
    async def ask(ctx: Context) -> str:
        return (await ctx.elicit("Who?", {"type": "object", "properties": {"name": {"type": "string"}}})).action

    async def check() -> None:
        client = Client(server, revision=MODERN)

        def decline(_request: object) -> ElicitResult[dict[str, str]]:
            return ElicitResult("decline")

        client.on_elicit(decline)
        async with client:
            assert (await client.call_tool("ask")).text == "decline"

    assert count and ask
    run(check())
    assert seen == ["input_required", "complete"]


def test_concurrent_calls_of_once_under_one_name_share_a_side_effect() -> None:
    server, effects = Server("test", version="1"), list[str]()

    async def charge() -> str:
        await asyncio.sleep(0.01)
        effects.append("charge")
        return f"charge {len(effects)}"

    def charge_in_thread() -> str:
        time.sleep(0.01)
        effects.append("charge")
        return f"charge {len(effects)}"

    @server.tool
    async def pay(ctx: Context) -> str:
        return " ".join(await asyncio.gather(*(ctx.once(name, charge) for name in ("a", "a", "a"))))

    @server.tool
    def pay_in_thread(ctx: SyncContext) -> str:
        with ThreadPoolExecutor(3) as pool:
            return " ".join(pool.map(partial(ctx.once, function=charge_in_thread), ("a", "a", "a")))

    async def test() -> None:
        async with Client(server) as client:
            for name in ("pay", "pay_in_thread"):
                effects.clear()
                assert (await client.call_tool(name)).text == "charge 1 charge 1 charge 1"

    run(test())
