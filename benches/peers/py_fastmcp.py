"""FastMCP peer.

usage: py_fastmcp.py stdio | http PORT [json] [stateless] [deflog] [--tools N]
[features] [--auth FILE]
"""

import json
import sys
from inspect import Parameter, Signature
from pathlib import Path

from fastmcp import Context, FastMCP
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.tools import Tool
from joserfc.jwk import ECKey
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

a = sys.argv[1:]


def verifier(file: str) -> JWTVerifier:
    auth = json.loads(Path(file).read_text(encoding="utf-8"))["auth"]
    key = ECKey.import_key(auth["jwks"]["keys"][0]).as_pem(private=False).decode()
    return JWTVerifier(public_key=key, issuer=auth["issuer"], audience=auth["resource"], algorithm="ES256")


mcp = FastMCP("bench", auth=verifier(a[a.index("--auth") + 1]) if "--auth" in a else None)


@mcp.tool
def echo(message: str) -> str:
    return message


@mcp.tool
def add(a: int, b: int) -> int:
    return a + b


def _t(a: int, b: int) -> int:
    return a + b


for i in range(int(a[a.index("--tools") + 1]) if "--tools" in a else 0):
    mcp.add_tool(Tool.from_function(_t, name=f"tool_{i:03}", description=f"Generated tool number {i}"))


FORM = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}


async def report(message: str, ctx: Context) -> str:
    for number in range(1, 21):
        await ctx.report_progress(number, 20)
    return message


async def ask(message: str, ctx: Context):
    if ctx.input_responses:
        if ctx.request_state != "asked":
            raise ValueError(ctx.request_state)
        return ctx.input_responses["answer"].content["value"]
    if ctx.request_context.session.protocol_version < "2026":
        return (await ctx.elicit(message, str)).data
    question = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=FORM))
    return InputRequiredResult(input_requests={"answer": question}, request_state="asked")


def wide(**numbers: int) -> str:
    return str(sum(numbers.values()))


if "features" in a:
    members = [Parameter(f"f{i:02}", Parameter.KEYWORD_ONLY, annotation=int) for i in range(100)]
    wide.__signature__ = Signature(members, return_annotation=str)  # type: ignore[attr-defined]
    wide.__annotations__ = {**{member.name: int for member in members}, "return": str}
    for tool in (report, ask, wide):
        mcp.add_tool(Tool.from_function(tool))

log = {} if "deflog" in a else {"log_level": "WARNING"}  # WARNING favours the peer
if a[0] == "stdio":
    mcp.run("stdio", show_banner=False, **log)
else:
    mcp.run(
        "http",
        show_banner=False,
        port=int(a[1]),
        path="/mcp",
        json_response="json" in a,
        stateless_http="stateless" in a,
        **log,
    )
