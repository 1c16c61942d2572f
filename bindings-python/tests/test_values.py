"""Values between JSON and Python: unions, types of libraries, docstrings, and what
handlers return.
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import ipaddress
import logging
import re
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict, Union, cast

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
from typing_extensions import TypeAliasType

from support import named
from trunkline import (
    CallToolResult,
    Client,
    Context,
    ElicitRequest,
    ElicitResult,
    Field,
    ImageContent,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncClient,
    TextContent,
    Tool,
    ToolError,
)
from trunkline._internal.failures import InvalidArguments
from trunkline._internal.schema.builder import Builder
from trunkline._internal.signature.string_arguments import TextSignature
from trunkline._internal.signature.tool_signature import Signature


def built(tp: Any, value: Any) -> Any:
    return Builder("input").node(tp).build(value)


class Transfer(pydantic.BaseModel):
    account: str
    amount: float

    @pydantic.field_validator("account")
    @classmethod
    def _ours(cls, value: str) -> str:
        if not value.startswith("NO"):
            raise ValueError("not one of our accounts")
        return value


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("it must be even")
    return value


class Circle(pydantic.BaseModel):
    color: str = "red"


class Square(pydantic.BaseModel):
    side: int


class Whole(pydantic.BaseModel):
    v: int


class Text(pydantic.BaseModel):
    v: str


@dataclasses.dataclass
class PlainCircle:
    color: str = "red"


@dataclasses.dataclass
class PlainSquare:
    side: int
    color: str = "blue"


@dataclasses.dataclass
class Narrow:
    id: int


@dataclasses.dataclass
class Wide:
    id: int
    name: str | None = None
    email: str | None = None


class Cat(TypedDict):
    kind: Literal["cat"]
    lives: int


class Dog(TypedDict):
    kind: Literal["dog"]
    born: dt.date


@attrs.define
class Place:
    name: str
    since: dt.date
    _code: int = 7


class Sale(msgspec.Struct, rename="camel"):
    unit_price: Annotated[float, msgspec.Meta(gt=0)]
    on: dt.date


UNIONS: list[tuple[Any, Any, Any]] = [
    (Circle | Square, {"side": 3}, Square(side=3)),
    (Circle | Square, {"color": "green"}, Circle(color="green")),
    (Whole | Text, {"v": "12"}, Text(v="12")),
    (Optional[Transfer], None, None),  # noqa: UP045 - the old spelling too
    (PlainCircle | PlainSquare, {"side": 3}, PlainSquare(3)),
    (Narrow | Wide, {"id": 1, "name": "n", "email": "e"}, Wide(1, "n", "e")),
    (Narrow | Wide, {"id": 1}, Narrow(1)),
    (list[PlainCircle | PlainSquare], [{"side": 1}, {}], [PlainSquare(1), PlainCircle()]),
    (list[PlainCircle] | list[PlainSquare], [{"side": 1}], [PlainSquare(1)]),
    (dict[str, Narrow] | dict[str, Wide], {"a": {"id": 1, "name": "n"}}, {"a": Wide(1, "n")}),
    (Cat | Dog, {"kind": "dog", "born": "2024-01-02"}, {"kind": "dog", "born": dt.date(2024, 1, 2)}),
    (tuple[int, str] | tuple[str, int], ["a", 1], ("a", 1)),
    (float | int, 3, 3),
    (int | float, 3.0, 3.0),
    (Union[Annotated[int, Field(le=5)], Annotated[float, Field(ge=5)]], 10, 10.0),  # noqa: UP007
    (Optional[Annotated[int, pydantic.AfterValidator(_even)]], 4, 4),  # noqa: UP045
    (Place | Narrow, {"name": "n", "since": "2024-01-02"}, Place("n", dt.date(2024, 1, 2))),
    (Sale | Narrow, {"id": 1}, Narrow(1)),
]


@pytest.mark.parametrize(("tp", "json", "value"), UNIONS, ids=named)
def test_the_best_matching_member_of_a_union_is_built(tp: Any, json: Any, value: Any) -> None:
    got = built(tp, json)
    assert got == value
    assert type(got) is type(value)


REFUSED: list[tuple[Any, Any, str]] = [
    (Transfer | None, {"account": "SE1", "amount": 1}, "not one of our accounts"),
    (Optional[Annotated[int, pydantic.AfterValidator(_even)]], 3, "it must be even"),  # noqa: UP045
    (dt.date | None, "2024-02-31", "day"),
    (dt.date | dt.time, "soon", "Invalid isoformat"),
    (PlainSquare | Narrow, {}, "no member of the union accepts it"),
]


@pytest.mark.parametrize(("tp", "json", "reason"), REFUSED, ids=named)
def test_a_union_never_passes_on_a_value_that_no_member_accepts(tp: Any, json: Any, reason: str) -> None:
    def take(value: Any) -> None: ...

    take.__annotations__["value"] = tp
    with pytest.raises(InvalidArguments, match=reason):
        Signature(take).bind({"value": json})


def test_each_member_of_a_union_is_built_once() -> None:
    seen: list[int] = []

    @dataclasses.dataclass
    class Counted:
        n: int

        def __post_init__(self) -> None:
            seen.append(self.n)

    assert built(Counted | None, {"n": 1}) == Counted(1)
    assert seen == [1, 1]  # and the one of this test


def test_discriminators_of_pydantic_are_kept_and_the_member_that_was_meant_is_explained() -> None:
    class Round(pydantic.BaseModel):
        kind: Literal["round"]
        radius: Annotated[float, pydantic.Field(gt=0)]

    class Flat(pydantic.BaseModel):
        kind: Literal["flat"]
        size: int

    server = Server("shapes", version="1")

    @server.tool
    def draw(shape: Annotated[Round | Flat, pydantic.Field(discriminator="kind")]) -> str:
        return repr(shape)

    with SyncClient(server) as client:
        (tool,) = client.list_tools()
        assert tool.input_schema["properties"]["shape"]["discriminator"]["propertyName"] == "kind"
        assert client.call_tool("draw", {"shape": {"kind": "flat", "size": 2}}).text == "Flat(kind='flat', size=2)"
        refused = client.call_tool("draw", {"shape": {"kind": "round", "radius": -1}})
        assert refused.text == "Invalid arguments for tool draw: /shape/radius: Input should be greater than 0"
        refused = client.call_tool("draw", {"shape": {"kind": "flat"}})
        assert refused.text == "Invalid arguments for tool draw: /shape/size: Field required"


def _polite(value: str) -> str:
    if len(value) < 3:
        raise ValueError("please give at least three letters")
    return value


Polite = Annotated[str, pydantic.Field(min_length=3), pydantic.BeforeValidator(_polite)]


def test_error_messages_of_a_library_replace_those_of_the_core() -> None:
    """They are asked for when the core has refused, on the event loop and in the pool."""

    server = Server("polite", version="1")

    @server.tool
    def in_pool(name: Polite, days: int = 1) -> str:
        return f"{name}{days}"

    @server.tool
    async def on_loop(name: Polite, days: int = 1) -> str:
        return f"{name}{days}"

    with SyncClient(server) as client:
        for tool in ("in_pool", "on_loop"):
            assert client.call_tool(tool, {"name": "Oda"}).text == "Oda1"
            refused = client.call_tool(tool, {"name": "ab"})
            assert refused.is_error
            assert refused.text == f"Invalid arguments for tool {tool}: /name: please give at least three letters"
            # The library finds no fault: the core's words stay.
            refused = client.call_tool(tool, {"name": "Oda", "days": "x"})
            assert refused.text == f'Invalid arguments for tool {tool}: /days: "x" is not of type "integer"'


class Row(pydantic.BaseModel):
    name: Annotated[str, pydantic.AfterValidator(_polite)]


@dataclasses.dataclass
class Held:
    rows: list[Row]
    dates: tuple[dt.date, ...] = ()


REFUSED_ITEMS: list[tuple[Any, Any, str]] = [
    (list[Row], [{"name": "Oda"}, {"name": "b"}], "/v/1/name"),
    (dict[str, Row], {"a": {"name": "Oda"}, "b": {"name": "b"}}, "/v/b/name"),
    (dict[str, list[Row]], {"a/b": [{"name": "b"}]}, "/v/a~1b/0/name"),
    (Held, {"rows": [{"name": "Oda"}, {"name": "b"}]}, "/v/rows/1/name"),
    (list[Held], [{"rows": []}, {"rows": [{"name": "b"}]}], "/v/1/rows/0/name"),
    (list[Annotated[str, pydantic.AfterValidator(_polite)]], ["Oda", "Ida", "b"], "/v/2"),
    (tuple[Row, Row], [{"name": "Oda"}, {"name": "b"}], "/v/1/name"),
]


@pytest.mark.parametrize(("annotation", "value", "place"), REFUSED_ITEMS, ids=named)
def test_the_error_of_a_rejected_item_names_its_path(annotation: Any, value: Any, place: str) -> None:
    server = Server("test", version="1")

    def tool(v: Any) -> str:
        return str(v)

    tool.__annotations__["v"] = annotation
    server.add_tool(tool)
    with SyncClient(server) as client:
        refused = client.call_tool("tool", {"v": value})
        assert refused.text == f"Invalid arguments for tool tool: {place}: please give at least three letters"


def test_the_error_of_a_rejected_item_of_a_standard_type_names_its_path_too() -> None:
    server = Server("test", version="1")

    @server.tool
    def tool(days: dict[str, list[Annotated[dt.date, "a day"]]]) -> str:
        return str(days)

    with SyncClient(server) as client:
        refused = client.call_tool("tool", {"days": {"a": ["2024-02-01", "2024-02-31"]}})
        assert "/days/a/1: " in refused.text


def _stripped(value: Any) -> Any:
    return int(value) if isinstance(value, str) else value


class Tags(pydantic.BaseModel):
    tags: list[str]

    @pydantic.field_validator("tags", mode="before")
    @classmethod
    def split(cls, value: Any) -> Any:
        return value.split(",") if isinstance(value, str) else value


Trimmed = Annotated[int, pydantic.BeforeValidator(_stripped)]


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
def test_validators_that_run_first_may_accept_what_the_schema_rejects(revision: str) -> None:
    server = Server("test", version="1")

    @server.tool
    def tool(v: Trimmed, many: list[Trimmed] = [], held: Tags | None = None, strict: int = 0) -> str:  # noqa: B006
        return f"{v} {many} {held and held.tags} {strict}"

    def wrapped(value: Any, handler: Any) -> Any:
        return handler(value.strip() if isinstance(value, str) else value)

    @server.tool
    async def later(v: Annotated[int, pydantic.WrapValidator(wrapped)]) -> int:
        return v

    with SyncClient(server, revision=revision) as client:
        schema = client.list_tools()[0].input_schema["properties"]
        assert (schema["v"]["type"], schema["many"]["items"]["type"]) == ("integer", "integer")
        assert client.call_tool("tool", {"v": " 5 "}).text == "5 [] None 0"
        given = {"v": 1, "many": [2, "3"], "held": {"tags": "a,b"}, "strict": 4}
        assert client.call_tool("tool", given).text == "1 [2, 3] ['a', 'b'] 4"
        assert client.call_tool("later", {"v": " 6 "}).text == "6"
        for arguments, problem in (
            ({"v": "x"}, "invalid literal"),
            ({"v": " 5 ", "strict": "4"}, '/strict: "4" is not of type'),
            ({"v": " 5 ", "other": 1}, "other"),
            ({"v": " 5 ", "many": [1, "x"]}, "/many/1: invalid literal"),
        ):
            try:
                told = client.call_tool("tool", arguments)
                assert told.is_error
                text = told.text
            except ProtocolError as error:
                text = str(error)
            assert problem in text


@dataclasses.dataclass
class Priced:
    price: Annotated[int, pydantic.PlainSerializer(lambda v: f"<{v}>", return_type=str)]


Shown = Annotated[int, pydantic.PlainSerializer(lambda v: f"<{v}>", return_type=str)]


@pytest.mark.parametrize(
    ("annotation", "value", "json"),
    [
        (Shown, 2, {"result": "<2>"}),
        (list[Shown], [1, 2], {"result": ["<1>", "<2>"]}),
        (Shown | None, None, {"result": None}),
        (Shown | None, 3, {"result": "<3>"}),
        (dict[str, Shown], {"a": 1}, {"a": "<1>"}),
        (Priced, Priced(4), {"price": "<4>"}),
        (Place, Place("n", dt.date(2024, 1, 2)), {"name": "n", "since": "2024-01-02", "code": 7}),
        (list[Priced], [Priced(4)], {"result": [{"price": "<4>"}]}),
        (
            Annotated[str, pydantic.WrapSerializer(lambda v, handler: handler(v) + "!", return_type=str)],
            "a",
            {"result": "a!"},
        ),
        # Iterables of every kind are written where the type says so.
        (Iterable[int], (n for n in (1, 2)), {"result": [1, 2]}),
        (Iterator[Iterable[int]], iter([range(2)]), {"result": [[0, 1]]}),
        (Generator[int, None, None], (n for n in (1, 2)), {"result": [1, 2]}),
        (Sequence[int], range(2), {"result": [0, 1]}),
        (Collection[int], {"a": 1}.values(), {"result": [1]}),
    ],
    ids=named,
)
def test_returned_values_are_written_as_their_types_say(annotation: Any, value: Any, json: Any) -> None:
    result = returning(value, annotation)
    assert (result.structured_content, result.is_error) == (json, False)


def test_protocol_dicts_may_use_the_names_of_other_sdks() -> None:
    """At run time: for type checkers there is one name."""
    hints: Any = {"read_only_hint": True, "title": "Shown"}
    icon: Any = {"src": "https://a.example/i.png", "mime_type": "image/png"}
    about: Any = {"last_modified": "2025-01-12T15:00:58Z"}
    server = Server("test", version="1", icons=[icon])

    class Provided:
        def list(self, _cursor: str | None, _ctx: object) -> list[Tool]:
            return [Tool("provided", {"type": "object"}, annotations=hints, icons=[icon])]

        def get(self, _params: Any, _ctx: object) -> Any:
            return TextContent("text", annotations=about)

    server.add_tool(lambda: "", name="added", annotations=hints, icons=[icon])
    server.add_provider("tools", Provided())
    with SyncClient(server) as client:
        shown = {"src": "https://a.example/i.png", "mimeType": "image/png"}
        assert client.server_info is not None and [*(client.server_info.icons or ())] == [shown]
        for tool in client.list_tools():
            assert (tool.annotations, tool.icons) == ({"readOnlyHint": True, "title": "Shown"}, [shown])
        content = client.call_tool("provided").content[0]
        assert isinstance(content, TextContent)
        assert content.annotations == {"lastModified": "2025-01-12T15:00:58Z"}


class Point(NamedTuple):
    x: int
    y: int = 3


def test_named_tuple_members_with_a_default_may_be_omitted() -> None:
    assert built(list[Point], [[1], [1, 2]]) == [Point(1), Point(1, 2)]


def test_arguments_named_like_a_parameter_with_an_alias_do_not_replace_it() -> None:
    def take(
        from_: Annotated[int, pydantic.Field(alias="from")] = 1,
        a: Annotated[int, pydantic.Field(alias="b")] = 2,
        b: Annotated[int, pydantic.Field(alias="a")] = 3,
        **rest: Any,
    ) -> None: ...

    signature = Signature(take)
    assert signature.bind({"from": 2, "a": 4, "b": 5, "c": 6}) == {"from_": 2, "a": 5, "b": 4, "c": 6}
    for arguments in ({"from": 2, "from_": "unchecked"}, {"from_": "unchecked"}):
        with pytest.raises(InvalidArguments, match=r"^/from_: "):
            signature.bind(arguments)
    texts = TextSignature(take, "a prompt")
    assert texts.bind({"from_": "unchecked", "a": "4", "b": "5", "c": "6"}) == {"a": 5, "b": 4, "c": "6"}


def test_parameters_of_pydantic_fields_have_their_alias_and_default() -> None:
    server = Server("test", version="1")

    @server.tool
    def tool(
        a: Annotated[int, pydantic.Field(alias="A", ge=1)],
        from_: int = pydantic.Field(2, alias="from"),
        days: Annotated[dt.date | None, pydantic.Field(default=None, alias="theDay")] = None,
        n: Annotated[int, pydantic.Field(default=7, deprecated=True)] = pydantic.Field(8),
    ) -> str:
        return f"{a} {from_} {days} {n}"

    @server.prompt
    def ask(kind: Annotated[int, pydantic.Field(alias="class")]) -> str:
        return str(kind)

    @server.resource("notes://{class}")
    def note(kind: Annotated[int, pydantic.Field(alias="class")]) -> str:
        return str(kind)

    with SyncClient(server) as client:
        schema = client.list_tools()[0].input_schema
        assert [*schema["properties"]] == ["A", "from", "theDay", "n"]
        assert schema["required"] == ["A"]
        assert schema["properties"]["n"]["deprecated"] is True
        assert client.call_tool("tool", {"A": 1}).text == "1 2 None 8"
        assert client.call_tool("tool", {"A": 1, "from": 3, "theDay": "2024-02-01"}).text == "1 3 2024-02-01 8"
        assert "/A: " in client.call_tool("tool", {"A": 0}).text
        assert "/theDay: " in client.call_tool("tool", {"A": 1, "theDay": "2024-02-31"}).text
        assert client.get_prompt("ask", {"class": "4"}).messages[0].content.text == "4"  # type: ignore[union-attr]
        assert client.read_resource("notes://5").contents[0].text == "5"


@dataclasses.dataclass
class Renamed:
    a: Annotated[int, pydantic.Field(alias="A")]


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (Annotated[str, Field(ge=1)], "ge needs an int or a float"),
        (Annotated[str, pydantic.Field(ge=1)], "ge needs an int or a float"),
        (Annotated[dict[str, int], pydantic.Field(lt=1)], "lt needs an int or a float"),
        (Annotated[int, Field(ge=cast("Any", "a"))], "ge must be a number, not 'a'"),
        (Annotated[int, pydantic.Field(ge=cast("Any", "a"))], "ge must be a number, not 'a'"),
        (Annotated[int, Field(pattern="x")], "pattern needs text"),
        (Annotated[str, Field(min_length=cast("Any", "1"))], "min_length must be a whole number, not '1'"),
        (Renamed, "field 'a' of Renamed: the alias 'A' needs a pydantic model"),
        (
            Annotated[int, pydantic.Field(validation_alias=pydantic.AliasChoices("a", "b"))],
            "an argument can have only one name",
        ),
    ],
    ids=named,
)
def test_constraints_without_a_schema_are_refused_at_registration(annotation: Any, problem: str) -> None:
    def tool(v: Any) -> str:
        return str(v)

    tool.__annotations__["v"] = annotation
    with pytest.raises(InvalidArgumentError, match=problem):
        Server("test", version="1").add_tool(tool)


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (Annotated[dt.date, annotated_types.Ge(dt.date(2024, 1, 1)), "a day"], "2024-01-01", "2023-12-31"),
        (Annotated[Decimal, pydantic.Field(gt=0)], "0.5", "-0.5"),
        (Annotated[Decimal, Field(gt=0)], "0.5", "-0.5"),
        (Annotated[int, Field(le=9), pydantic.BeforeValidator(_stripped)], " 5 ", " 15 "),
        (Annotated[str, annotated_types.Predicate(str.isupper)], "A", "a"),
        (Annotated[str, pydantic.StringConstraints(max_length=2, strip_whitespace=True)], "ab", "abc"),
        (Annotated[Decimal, pydantic.Field(max_digits=2)], "12", "123"),
        (Annotated[int, pydantic.AfterValidator(_even), Field(ge=2)], 2, 0),
    ],
    ids=named,
)
def test_pydantic_checks_bounds_that_a_schema_cannot_express(annotation: Any, good: Any, bad: Any) -> None:
    server = Server("test", version="1")

    def tool(v: Any) -> str:
        return "ok"

    tool.__annotations__["v"] = annotation
    server.add_tool(tool)
    with SyncClient(server) as client:
        assert client.call_tool("tool", {"v": good}).text == "ok"
        assert client.call_tool("tool", {"v": bad}).is_error


def test_unknown_arguments_are_refused_unless_all_are_accepted() -> None:
    server = Server("strict", version="1")

    @server.tool
    def search(q: str, limit: int = 10) -> str:
        return f"{q}{limit}"

    @server.tool
    def anything(**options: Any) -> str:
        return str(options)

    with SyncClient(server) as client:
        assert 'property "limt" is not allowed' in client.call_tool("search", {"q": "a", "limt": 1}).text
        assert client.call_tool("anything", {"limt": 1}).text == "{'limt': 1}"


LIBRARY_VALUES: list[tuple[Any, Any, Any]] = [
    (pydantic.HttpUrl, "http://a.example/", pydantic.HttpUrl("http://a.example/")),
    (pydantic.AwareDatetime, "2024-01-02T03:04:05Z", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc)),
    (pydantic.Json[list[int]], "[1]", [1]),
    (pydantic.ByteSize, "1KB", 1000),
    (pydantic.AnyUrl, "redis://a/0", pydantic.AnyUrl("redis://a/0")),
    (re.Pattern, "a+", re.compile("a+")),
    (ipaddress.IPv4Address, "10.0.0.1", ipaddress.IPv4Address("10.0.0.1")),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (OrderedDict[str, int], {"a": 1}, OrderedDict(a=1)),
    (dt.timedelta, "PT1H30M", dt.timedelta(hours=1, minutes=30)),
    (dt.timedelta, "-P1W2DT0.5S", -dt.timedelta(days=9, seconds=0.5)),
    (Place, {"name": "n", "since": "2024-01-02", "code": 3}, Place("n", dt.date(2024, 1, 2), 3)),
    (Sale, {"unitPrice": 1.5, "on": "2024-01-02"}, Sale(1.5, dt.date(2024, 1, 2))),
]


@pytest.mark.parametrize(("tp", "json", "value"), LIBRARY_VALUES, ids=named)
def test_types_of_libraries_and_time_spans_are_supported(tp: Any, json: Any, value: Any) -> None:
    server = Server("types", version="1")
    seen: list[Any] = []

    def take(value: Any) -> Any:
        seen.append(value)
        return None if isinstance(value, dict) else value

    take.__annotations__.update(value=tp)
    server.add_tool(take)
    with SyncClient(server) as client:
        result = client.call_tool("take", {"value": json})
    assert seen == [value], result.text
    assert not result.is_error


def test_secrets_stay_hidden() -> None:
    assert built(pydantic.SecretStr, "x").get_secret_value() == "x"


SPANS = ["PT0S", "PT1H30M", "P1DT0.5S", "-P2D", "-PT0.000001S", "PT59M59S"]


@pytest.mark.parametrize("text", SPANS)
def test_time_spans_are_written_as_they_are_read(text: str) -> None:
    server = Server("spans", version="1")

    @server.tool
    def same(span: dt.timedelta) -> dt.timedelta:
        return span

    with SyncClient(server) as client:
        assert client.call_tool("same", {"span": text}).structured_content == {"result": text}
        for wrong in ("P", "PT", "1H", "P1Y", "PT1H ", ""):
            assert client.call_tool("same", {"span": wrong}).is_error


def test_constraints_of_prompts_and_templates_are_checked() -> None:
    def page(
        page: Annotated[int, Field(ge=1)] = 1,
        slug: Annotated[str, Field(pattern="^[a-z]+$")] = "a",
        names: list[str] | None = None,
        where: PlainSquare | None = None,
        shape: Circle | None = None,
    ) -> str:
        return str([page, slug, names, where, shape])

    signature = TextSignature(page, "a prompt")
    texts = {"page": "2", "slug": "ab", "names": '["x"]', "where": '{"side": 1}', "shape": '{"color": "c"}'}
    assert signature.bind(texts) == {
        "page": 2,
        "slug": "ab",
        "names": ["x"],
        "where": PlainSquare(1),
        "shape": Circle(color="c"),
    }
    for wrong, text in [
        ({"page": "0"}, "^/page: 0 is less than the minimum of 1"),
        ({"page": "x"}, '^/page: "x" is not of type "integer"'),
        ({"slug": "A"}, '^/slug: "A" does not match'),
        ({"names": "[1]"}, "^/names/0: 1 is not of type"),
        ({"names": "x"}, '^/names: "x" is not of type "array"'),
        ({"where": "{}"}, "^/where"),
    ]:
        with pytest.raises(InvalidArguments, match=text):
            signature.bind(wrong)
    (names,) = (argument for argument in signature.arguments if argument.name == "names")
    assert names.description == 'As JSON: {"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}'

    server = Server("pages", version="1")

    @server.resource("books://{genre}{?page}")
    def books(genre: str, page: Annotated[int, Field(ge=1)] = 1) -> str:
        return f"{genre}{page}"

    with SyncClient(server) as client:
        assert client.read_resource("books://a?page=2").contents[0].text == "a2"
        with pytest.raises(Exception, match="/page: 0 is less than the minimum of 1"):
            client.read_resource("books://a?page=0")


def google(city: str, days: Annotated[int, "Said already."] = 1, **rest: str) -> str:
    """Forecast.

    More of it.

    Args:
        city (str, optional): Name of the city,
            with its country.
        days: Number of days.
        **rest: Others.

    Returns:
        The weather.

    Raises:
        ValueError: Never.

    Example:
        forecast("Oslo")
    """
    return city


def numpy(city: str, days: int = 1) -> str:
    """Forecast.

    More of it.

    Parameters
    ----------
    city : str
        Name of the city,
        with its country.
    days : int, optional
        Number of days.

    Returns
    -------
    str
        The weather.

    Notes
    -----
    Kept.
    """
    return city


def rest(city: str, days: int = 1) -> str:
    """Forecast.

    More of it.

    :param str city: Name of the city,
        with its country.
    :param days: Number of days.
    :returns: The weather.
    :raises ValueError: Never.
    """
    return city


@pytest.mark.parametrize(
    ("function", "description", "days"),
    [
        (google, 'Forecast.\n\nMore of it.\n\nExample:\n    forecast("Oslo")', "Said already."),
        (numpy, "Forecast.\n\nMore of it.\n\nNotes\n-----\nKept.", "Number of days."),
        (rest, "Forecast.\n\nMore of it.", "Number of days."),
        (partial(rest, days=2), "Forecast.\n\nMore of it.", "Number of days."),
    ],
)
def test_docstrings_describe_parameters(function: Any, description: str, days: str) -> None:
    server = Server("docs", version="1")
    server.add_tool(function, name="weather")
    server.add_prompt(function, name="weather")
    with SyncClient(server) as client:
        (tool,) = client.list_tools()
        (prompt,) = client.list_prompts()
    assert tool.description == prompt.description == description
    properties = tool.input_schema["properties"]
    assert properties["city"]["description"] == "Name of the city, with its country."
    assert properties["days"]["description"] == days
    assert prompt.arguments is not None
    assert [argument.description for argument in prompt.arguments] == ["Name of the city, with its country.", days]


def test_the_data_of_an_error_that_has_no_json_form_is_named(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("test", version="1")

    @server.tool
    def fail() -> str:
        raise ProtocolError("no", data={"place": object()})

    with SyncClient(server) as client:
        assert client.call_tool("fail").is_error
    assert "$.place: a value of type object cannot be represented in JSON" in caplog.text


def picture() -> ImageContent:
    return ImageContent(b"123", "image/png")


def returning(value: Any, annotation: Any = None) -> Any:
    """The result of a tool that returns the value."""
    server = Server("returns", version="1")

    def tool() -> Any:
        return value

    if annotation is not None:
        tool.__annotations__["return"] = annotation
    server.add_tool(tool)
    with SyncClient(server) as client:
        return client.call_tool("tool")


def test_strings_among_content_blocks_are_blocks() -> None:
    for annotation in (None, list, list[Any], tuple):
        result = returning(["caption", picture()], annotation)
        assert result.content == [TextContent("caption"), picture()]
        assert result.structured_content is None
    assert returning(["a", 1], list).text == '["a",1]'


def test_none_is_empty_content_and_a_map_is_structured_content() -> None:
    assert returning(None).content == []
    assert returning(None, Optional[int]).structured_content == {"result": None}  # noqa: UP045
    result = returning({"a": 1}, dict[str, int])
    assert (result.text, result.structured_content) == ('{"a":1}', {"a": 1})


Prices = NewType("Prices", dict[str, int])
Aliased = TypeAliasType("Aliased", dict[str, int])


@pytest.mark.parametrize("annotation", [Prices, Aliased, OrderedDict[str, int], defaultdict[str, int]], ids=named)
def test_a_map_by_another_name_is_structured_content_too(annotation: Any) -> None:
    server = Server("maps", version="1")

    def tool() -> Any:
        return OrderedDict[str, int](a=1)

    tool.__annotations__["return"] = annotation
    server.add_tool(tool)
    with SyncClient(server) as client:
        assert client.list_tools()[0].output_schema == {"type": "object", "additionalProperties": {"type": "integer"}}
        assert client.call_tool("tool").structured_content == {"a": 1}
        assert client.call_tool("tool", result=annotation) == {"a": 1}


KEYS = [
    (dict[int, str], {1: "a"}, {"1": "a"}),
    (dict[float, str], {2.5: "a"}, {"2.5": "a"}),
    (dict[bool, str], {True: "a"}, {"true": "a"}),
    (dict[dt.date, str], {dt.date(2024, 1, 2): "a"}, {"2024-01-02": "a"}),
]


@pytest.mark.parametrize(("annotation", "value", "json"), KEYS, ids=named)
def test_typed_keys_are_written_as_strings(annotation: Any, value: Any, json: Any) -> None:
    result = returning(value, annotation)
    assert result.structured_content == json, result.text
    # Without the type, such a key is rather a slip.
    assert returning(value).is_error


def test_keys_of_a_returned_map_are_written_as_they_are_read() -> None:
    server = Server("keys", version="1")

    @server.tool
    def same(value: dict[int, str]) -> dict[int, str]:
        return value

    with SyncClient(server) as client:
        assert client.call_tool("same", {"value": {"1": "a"}}).structured_content == {"1": "a"}


def test_a_type_that_needs_a_package_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "email_validator", None)

    def invite(address: pydantic.EmailStr) -> None: ...

    def find(address: Optional[pydantic.EmailStr] = None) -> None: ...  # noqa: UP045

    for function in (invite, find):
        with pytest.raises(InvalidArgumentError, match=r"parameter 'address': email-validator is not installed"):
            Server("types", version="1").add_tool(function)


def test_lone_surrogates_in_failures_and_docstrings_become_the_replacement_character() -> None:
    server = Server("test", version="1")

    @server.tool
    def fails() -> None:
        """A file \ud800."""
        raise ToolError("no file a\ud800b")

    @server.prompt
    def refuses() -> str:
        raise ProtocolError("no file a\ud800b", -32001)

    with SyncClient(server) as client:
        assert client.list_tools()[0].description == "A file \ufffd."
        assert client.call_tool("fails").text == "no file a\ufffdb"
        with pytest.raises(ProtocolError, match="no file a\ufffdb"):
            client.get_prompt("refuses")


def test_lone_surrogates_in_reports_requests_and_cancellations_become_the_replacement_character() -> None:
    server = Server("test", version="1")
    seen: list[Any] = []

    @server.tool
    async def talks(said: str, ctx: Context) -> str:
        await ctx.progress(1, 2, "m\ud800")
        form = {"type": "object", "properties": {"name": {"type": "string"}}}
        return said + str((await ctx.elicit("e\ud800", form)).action)

    @server.tool
    async def waits() -> None:
        await asyncio.sleep(60)

    async def check() -> None:
        client = Client(server)

        def report(progress: float, total: float | None, message: str | None) -> None:
            seen.append(message)

        @client.on_elicit
        async def answers(request: ElicitRequest) -> ElicitResult[Any]:
            seen.append(request.message)
            raise ProtocolError("no\ud800", -32001)

        async with client:
            with pytest.raises(InvalidArgumentError, match="no\ufffd"):
                await client.call_tool("talks", {"said": "\ud800"}, on_progress=report)
            assert sorted(seen) == ["e\ufffd", "m\ufffd"]
            waiting = asyncio.ensure_future(client.call_tool("waits"))
            await asyncio.sleep(0.01)
            waiting.cancel("no\ud800")
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert len(await client.list_tools()) == 2

    asyncio.run(check())


def test_lone_surrogates_become_the_replacement_character() -> None:
    assert returning("a\ud800b").text == "a\ufffdb"
    result = returning({"\udfff": "\ud83d\ude00\ud83d"}, dict[str, str])
    assert result.structured_content == {"\ufffd": "\U0001f600\ufffd"}


class Unknown:
    pass


@pytest.mark.parametrize(
    ("value", "annotation", "problem"),
    [
        ([1, Unknown()], None, "$[1]: a value of type Unknown cannot be represented in JSON"),
        ({"a": [Unknown()]}, dict[str, Any], "$.a[0]: a value of type Unknown cannot be represented in JSON"),
        ({"n": float("nan")}, dict[str, float], "$.n: NaN cannot be represented in JSON: give None or a string"),
        (b"123", None, "ImageContent"),
        ((n for n in [1]), None, "convert it to a list"),
        (ValueError("x"), None, "raise it"),
        ({"a": picture()}, None, "$.a: a content block inside a value"),
        ({"a": [picture()]}, dict[str, Any], "$.a[0]: a content block inside a value"),
        ([picture(), 1], None, "$[1]: a list of content blocks can also contain strings, but not"),
        (CallToolResult(cast("Any", ["x"])), None, "$.content[0]: str is not a protocol object: wrap it in a TextC"),
        ({1: "a", "1": "b"}, dict[int, str], "$: two keys are the same string in JSON"),
        ({(1, 2): "a"}, dict[int, str], "$: keys must be strings, not tuple"),
        ({1: "a"}, None, "$: keys must be str, not int"),
    ],
    ids=named,
)
def test_the_error_for_an_unsendable_value_names_tool_file_line_and_path(
    value: Any, annotation: Any, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert returning(value, annotation).is_error
    line = returning.__code__.co_firstlineno + 4
    (record,) = caplog.records
    message = logging.Formatter().format(record)
    assert f"the tool 'tool' (test_values.py:{line}) returned a value that cannot be sent: " in message
    assert problem in message
    assert "Traceback" not in message
