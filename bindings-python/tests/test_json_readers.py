"""JSON that two readers may take differently, as data: `tests/json-readers.json`. What the core has
validated is what handlers, middleware and clients see, or the message is refused.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypedDict, cast

import pydantic
import pytest
from starlette.testclient import TestClient

from support import Scripted, run
from trunkline import Client, Context, Next, Request, Server, TransportError

TABLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "tests" / "json-readers.json").read_text(encoding="utf-8")
)
SCHEMA: dict[str, Any] = TABLE["schema"]
CASES: list[dict[str, Any]] = TABLE["cases"]
REFUSED: list[dict[str, Any]] = TABLE["refused"]
HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2025-11-25",
}


class Transfer(TypedDict, total=False):
    amount: float
    kind: str


class Payment(Transfer, total=False):
    status: str
    huge: float
    transfer: Transfer
    items: list[Transfer]
    named: dict[str, Transfer]


@dataclass
class TransferData:
    amount: float | None = None
    kind: str | None = None


@dataclass
class PaymentData(TransferData):
    status: str | None = None
    huge: int | float | None = None
    transfer: TransferData | None = None
    items: list[TransferData] | None = None
    named: dict[str, TransferData] | None = None


class TransferModel(pydantic.BaseModel):
    amount: float | None = None
    kind: str | None = None


class PaymentModel(TransferModel):
    status: str | None = None
    # Pydantic rounds an integer beyond 2^53 for `float`.
    huge: int | float | None = None
    transfer: TransferModel | None = None
    items: list[TransferModel] | None = None
    named: dict[str, TransferModel] | None = None


def given(value: Any) -> Any:
    """The value without the defaults of its types."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {name: given(member) for name, member in members if member is not None}
    return [given(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def known(value: Any, schema: dict[str, Any] = SCHEMA) -> Any:
    """The members that the schema has."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        members = cast("dict[str, Any]", value).items()
        of = {name: properties.get(name, others) for name, _ in members}
        return {name: known(member, of[name]) for name, member in members if of[name]}
    if isinstance(value, list):
        return [known(item, schema["items"]) for item in cast("list[Any]", value)]
    return value


def check(row: dict[str, Any], who: str, seen: Any, refusal: str | None) -> None:
    """Compares what was seen, or the error instead of it, with what may be."""
    if refusal is not None:
        assert "mayRefuse" in row and row["mayRefuse"] in refusal, f"{who} is refused: {refusal:.300}"
    else:
        # Exact: `1e400` is no infinity.
        assert known(seen) == json.loads(row["seen"], parse_float=Decimal), f"{who} sees {seen!s:.200}"


class Readers:
    """A server whose tools get their arguments in different ways."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.judged: list[Any] = []
        self.server = Server("readers", version="1")

        @self.server.middleware("tools/call")
        async def judge(request: Request, next: Next, _: Context) -> Any:
            self.judged.append(request.params["arguments"])
            return await next()

        @self.server.tool(input_schema=SCHEMA)
        def all_members(**arguments: Any) -> None:
            self.seen.append(arguments)

        @self.server.tool(input_schema=SCHEMA)
        async def members(
            amount: Any = None,
            kind: Any = None,
            status: Any = None,
            huge: Any = None,
            transfer: Any = None,
            items: Any = None,
            named: Any = None,
        ) -> None:
            self.seen.append(
                given(
                    {
                        "amount": amount,
                        "kind": kind,
                        "status": status,
                        "huge": huge,
                        "transfer": transfer,
                        "items": items,
                        "named": named,
                    }
                )
            )

        @self.server.tool
        def typed_dict(payment: Payment) -> None:
            self.seen.append(payment)

        @self.server.tool
        def data(payment: PaymentData) -> None:
            self.seen.append(given(asdict(payment)))

        @self.server.tool
        def model(payment: PaymentModel) -> None:
            self.seen.append(given(payment.model_dump()))

    def call(self, web: TestClient, tool: str, arguments: str) -> str | None:
        """The refusal of a call, if it was refused."""
        self.seen.clear()
        self.judged.clear()
        params = f'{{"name":"{tool}","arguments":{arguments}}}'
        request = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
        answer = web.post("/", content=request, headers=HEADERS).json()
        if "error" in answer:
            return answer["error"]["message"]
        return answer["result"]["content"][0]["text"] if answer["result"].get("isError") else None


WHOLE, WITHIN = ("all_members", "members"), ("typed_dict", "data", "model")


@pytest.fixture(scope="module")
def served() -> Generator[tuple[Readers, TestClient]]:
    readers = Readers()
    with TestClient(readers.server.asgi(stateless=True), base_url="http://localhost") as web:
        yield readers, web


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["name"])
def test_handlers_and_middleware_see_the_arguments_that_were_validated(
    served: tuple[Readers, TestClient], row: dict[str, Any]
) -> None:
    readers, web = served
    for tool in WHOLE + WITHIN:
        is_whole = tool in WHOLE
        refusal = readers.call(web, tool, row["sent"] if is_whole else f'{{"payment":{row["sent"]}}}')
        check(row, tool, readers.seen[0] if readers.seen else None, refusal)
        for judged in readers.judged:
            check(row, f"middleware before {tool}", judged if is_whole else judged["payment"], refusal)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["name"])
def test_what_is_no_json_reaches_no_handler(served: tuple[Readers, TestClient], row: dict[str, Any]) -> None:
    readers, web = served
    assert readers.call(web, "all_members", row["sent"]) is not None
    assert readers.seen == []


@pytest.mark.parametrize("marks", [False, True])
def test_middleware_keeps_integers_of_results(marks: bool) -> None:
    content = {"huge": 18446744073709551617, "least": -9223372036854775809}
    server = Server("readers", version="1")

    @server.middleware("tools/call")
    async def passes(request: Request, next: Next, _: Context) -> Any:
        result = await next(request.params)
        return {**result, "_meta": {"example.com/marked": True}} if marks else result

    @server.tool
    def huge(**arguments: Any) -> dict[str, Any]:
        return arguments

    async def call() -> None:
        async with Client(server) as client:
            result = await client.call_tool("huge", content)
            assert result.structured_content == content
            assert bool(result.meta and result.meta.get("example.com/marked")) is marks

    run(call())


def scripted(content: str) -> Scripted:
    """A server with one tool, whose structured content is a text."""
    tool = {"name": "pay", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}
    hello: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
    return Scripted(
        {
            "initialize": json.dumps({**hello, "serverInfo": {"name": "readers", "version": "1"}}),
            "tools/list": json.dumps({"tools": [tool]}),
            "tools/call": f'{{"content":[],"structuredContent":{content}}}',
        }
    )


def received(content: str, result: Any = None) -> tuple[Any, str | None]:
    """Return the structured content that a client sees, or the error instead."""

    async def call() -> tuple[Any, str | None]:
        async with Client(scripted(content), revision="2025-11-25") as client:
            # Results are validated against the schemas that are known.
            await client.list_tools()
            try:
                if result is not None:
                    return await client.call_tool("pay", result=result), None
                return (await client.call_tool("pay")).structured_content, None
            except TransportError as error:
                return None, str(error)

    return run(call())


@pytest.mark.parametrize("row", CASES, ids=lambda row: row["name"])
def test_clients_see_the_content_that_was_validated(row: dict[str, Any]) -> None:
    check(row, "the client", *received(row["sent"]))
    for type_ in (Payment, PaymentData, PaymentModel):
        seen, refusal = received(row["sent"], type_)
        if isinstance(seen, PaymentData):
            seen = given(asdict(seen))
        elif isinstance(seen, PaymentModel):
            seen = given(seen.model_dump())
        check(row, f"the client, as {type_.__name__},", seen, refusal)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["name"])
def test_what_is_no_json_reaches_no_client(row: dict[str, Any]) -> None:
    assert received(row["sent"])[1] is not None
