"""The type of `**kwargs`, in tools, prompts and resource templates."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from typing_extensions import Required, TypedDict, Unpack

from support import run
from trunkline import Client, Field, InvalidArgumentError, ProtocolError, Server


@dataclass
class Point:
    x: int
    y: int


class Options(TypedDict, total=False):
    depth: Required[Annotated[int, Field(ge=1)]]
    since: datetime.date


def typed(**more: int) -> str:
    return repr(more)


def dated(limit: int = 3, **more: datetime.date) -> str:
    return f"{limit} {more}"


def counted(**more: Annotated[int, Field(le=5)] | None) -> str:
    return repr(more)


def models(**more: Point) -> str:
    return repr(more)


def unpacking(name: str, **options: Unpack[Options]) -> str:
    return f"{name} {options}"


async def unpacking_only(**options: Unpack[Options]) -> str:
    return f"{options}"


@pytest.mark.parametrize(
    ("function", "arguments", "outcome"),
    [
        (typed, {"a": 1, "b": 2}, "{'a': 1, 'b': 2}"),
        (typed, {}, "{}"),
        (typed, {"a": "text"}, None),
        (typed, {"a": None}, None),
        (dated, {"limit": 1, "day": "2026-02-03"}, "1 {'day': datetime.date(2026, 2, 3)}"),
        (dated, {"day": "yesterday"}, None),
        (dated, {"day": "2026-02-31"}, None),
        (dated, {"limit": "2026-02-03"}, None),
        (counted, {"a": 5, "b": None}, "{'a': 5, 'b': None}"),
        (counted, {"a": 6}, None),
        (models, {"a": {"x": 1, "y": 2}}, "{'a': Point(x=1, y=2)}"),
        (models, {"a": {"x": 1}}, None),
        (unpacking, {"name": "n", "depth": 1}, "n {'depth': 1}"),
        (
            unpacking,
            {"name": "n", "depth": 1, "since": "2026-02-03"},
            "n {'depth': 1, 'since': datetime.date(2026, 2, 3)}",
        ),
        (unpacking, {"name": "n"}, None),
        (unpacking, {"name": "n", "depth": 0}, None),
        (unpacking, {"name": "n", "depth": "1"}, None),
        (unpacking, {"name": "n", "depth": 1, "other": 1}, None),
        (unpacking_only, {"depth": 1}, "{'depth': 1}"),
        (unpacking_only, {"depth": 1, "since": 5}, None),
    ],
)
def test_the_type_of_keyword_parameters_applies(
    function: Callable[..., Any], arguments: dict[str, Any], outcome: str | None
) -> None:
    server = Server("test", version="1")
    server.add_tool(function)

    async def check() -> None:
        async with Client(server) as client:
            result = await client.call_tool(function.__name__, arguments)
            assert (result.is_error, None if result.is_error else result.text) == (outcome is None, outcome), result

    run(check())


def test_keyword_parameters_of_prompts_and_resources_have_their_type() -> None:
    server = Server("test", version="1")

    @server.prompt
    def options(**options: Unpack[Options]) -> str:
        return str(options)

    @server.resource("sum://{a}/{b}")
    def added(**numbers: int) -> str:
        return str(sum(numbers.values()))

    @server.resource("raw://{a}")
    def raw(**texts: Any) -> str:
        return str(texts)

    async def check() -> None:
        async with Client(server) as client:
            (prompt,) = [one for one in await client.list_prompts() if one.name == "options"]
            arguments = {one.name: one.required for one in prompt.arguments or []}
            assert arguments == {"depth": True, "since": False}
            got = await client.get_prompt("options", {"depth": "2", "since": "2026-02-03"})
            assert "datetime.date(2026, 2, 3)" in str(got.messages[0].content)
            (content,) = (await client.read_resource("sum://3/4")).contents
            assert content.text == "7"
            with pytest.raises(ProtocolError):
                await client.read_resource("sum://3/x")
            assert (await client.read_resource("raw://3")).contents[0].text == "{'a': '3'}"

    run(check())


def test_keyword_parameters_whose_type_cannot_apply_are_refused() -> None:
    def taken(depth: int, **options: Unpack[Options]) -> None: ...  # pyright: ignore[reportGeneralTypeIssues]

    def no_dict(**options: Unpack[Point]) -> None: ...  # pyright: ignore[reportGeneralTypeIssues, reportUnknownParameterType]

    def unknown(**options: threading.Lock) -> None: ...

    def keyword(**options: Any) -> None: ...

    keyword.__annotations__["options"] = Unpack[TypedDict("Odd", {"from": int})]

    functions: dict[Any, str] = {
        taken: r"'\*\*options': the field 'depth' is also a parameter",
        no_dict: r"'\*\*options': Unpack needs a TypedDict",
        unknown: r"'\*\*options': .* cannot be represented in JSON",
        keyword: r"'\*\*options': the field 'from' cannot be a parameter",
    }
    for function, reason in functions.items():
        with pytest.raises(InvalidArgumentError, match=reason):
            Server("test", version="1").add_tool(function)
    with pytest.raises(InvalidArgumentError, match="cannot be an array"):

        @Server("test", version="1").resource("a://{b}")
        def listed(**more: list[int]) -> str:
            return ""
