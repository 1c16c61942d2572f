"""Servers that require an access token, and the other kinds of listeners."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from support import REVISIONS, SHARED_STORES, free_port, run, shared_store, until
from trunkline import (
    AccessToken,
    Auth,
    AuthorizationRequiredError,
    AuthorizeRequest,
    Client,
    ClientGroup,
    Context,
    Credentials,
    CredentialsKey,
    GivenHeaders,
    HeadersRequest,
    Identity,
    InsufficientScope,
    InvalidArgumentError,
    InvalidToken,
    LoadedCredentials,
    OAuth,
    PresentedToken,
    ProtocolError,
    Server,
    SyncClient,
    SyncContext,
    Token,
    TokenRequest,
    TrunklineError,
)

RESOURCE = "https://mcp.example/mcp"
ISSUER = "https://auth.example"
# The public key of RFC 8037.
KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


def judged(given: AccessToken) -> Identity | None:
    assert given.resource == RESOURCE and given.scheme == "Bearer" and given.token not in repr(given)
    match given.token:
        case "good":
            return Identity("ada", client_id="app", scopes=["mcp"], claims={"level": 3})
        case "strong":
            return Identity("ada", scopes=["mcp", "write"])
        case "old":
            raise InvalidToken("it is too old")
        case "weak":
            raise InsufficientScope(["mcp"])
        case "nobody":
            return Identity(scopes=["mcp"])
        case "broken":
            raise ValueError("secret detail")
        case "unstored":
            raise ProtocolError("no such table", -32001)
        case _:
            return None


async def judged_later(given: AccessToken) -> Identity | None:
    await asyncio.sleep(0)
    return judged(given)


def guarded() -> Server:
    server = Server("guarded", version="1")

    @server.tool
    async def who(ctx: Context) -> str:
        assert ctx.auth is not None
        return json.dumps(ctx.auth.to_json())

    @server.tool(scopes=["write"])
    def write(ctx: SyncContext) -> str:
        assert ctx.auth is not None
        return ctx.auth.subject or ""

    return server


def post(url: str, token: str | None) -> tuple[int, str, str]:
    """Status, challenge and body of a request with that token."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=10)
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/list",
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    connection.request("POST", parts.path, json.dumps(body), headers)
    response = connection.getresponse()
    found = response.status, response.getheader("WWW-Authenticate") or "", response.read().decode()
    connection.close()
    return found


@pytest.mark.parametrize("verifier", [judged, judged_later])
def test_a_custom_verifier_checks_tokens(verifier: Any, caplog: pytest.LogCaptureFixture) -> None:
    auth = Auth(RESOURCE, authorization_servers=[ISSUER], required_scopes=["mcp"], verifier=verifier)

    async def check() -> None:
        async with guarded().serve_http(port=0, auth=auth) as listener:
            for token, status, challenge in [
                (None, 401, "resource_metadata="),
                ("unknown", 401, "invalid_token"),
                ("old", 401, "it is too old"),
                ("weak", 403, "insufficient_scope"),
                ("nobody", 503, ""),
                ("nobody", 503, ""),
                ("broken", 503, ""),
                ("unstored", 503, ""),
                ("good", 200, ""),
            ]:
                found = await asyncio.to_thread(post, listener.url, token)
                assert found[0] == status and challenge in found[1], (token, found)
                assert "secret" not in found[1] + found[2]

    run(check())
    failed = [str(record.exc_info[1]) for record in caplog.records if record.exc_info]
    assert failed[-2:] == ["secret detail", "no such table (-32001)"]


def test_a_verifier_sees_the_request_that_presents_the_token() -> None:
    seen: list[PresentedToken] = []

    def by_tenant(token: PresentedToken) -> Identity | None:
        seen.append(token)
        assert token.headers["authorization"] == "Bearer good"
        assert token.remote_address == "127.0.0.1"
        tenant = parse_qs(urlsplit(token.target).query)["tenant"][0]
        if token.headers.get("x-tenant") != tenant:
            raise InvalidToken("it is for another tenant")
        return Identity(subject=tenant, scopes=["mcp"])

    async def by_tenant_later(token: PresentedToken) -> Identity | None:
        await asyncio.sleep(0)
        return by_tenant(token)

    async def check() -> None:
        for verifier in (by_tenant, by_tenant_later):
            auth = Auth(RESOURCE, authorization_servers=[ISSUER], verifier=verifier)
            async with guarded().serve_http(port=0, auth=auth) as listener:
                url = f"{listener.url}?tenant=acme"
                headers = {"Authorization": "Bearer good", "X-Tenant": "acme"}
                async with Client(url, headers=headers) as client:
                    assert await client.list_tools()
                with pytest.raises(AuthorizationRequiredError, match="another tenant"):
                    await Client(url, headers={**headers, "X-Tenant": "other"}).connect()
        assert "good" not in repr(seen[0])
        late: list[PresentedToken] = []
        auth = Auth(RESOURCE, authorization_servers=[ISSUER], verifier=late.append)
        async with guarded().serve_http(port=0, auth=auth) as listener:
            assert (await asyncio.to_thread(post, listener.url, "good"))[0] == 401
        with pytest.raises(TrunklineError):
            _ = late[0].headers

    run(check())


@pytest.mark.parametrize("revision", REVISIONS)
def test_handlers_know_the_identity_of_the_caller(revision: str) -> None:
    auth = Auth(RESOURCE, authorization_servers=[ISSUER], required_scopes=["mcp"], verifier=judged_later)

    async def check() -> None:
        async with guarded().serve_http(port=0, auth=auth) as listener:
            headers = {"Authorization": "Bearer good"}
            async with Client(listener.url, revision=revision, headers=headers) as client:
                told = json.loads((await client.call_tool("who")).text)
                assert told["subject"] == "ada" and told["clientId"] == "app" and told["claims"] == {"level": 3}
                assert "good" not in json.dumps(told)
                with pytest.raises(TrunklineError):
                    await client.call_tool("write")
            strong = {"Authorization": "Bearer strong"}
            async with Client(listener.url, revision=revision, headers=strong) as client:
                assert (await client.call_tool("write")).text == "ada"

    run(check())


def test_the_authorization_server_is_published() -> None:
    auth = Auth(RESOURCE, issuer=ISSUER, jwks={"keys": [KEY]}, scopes=["mcp"], metadata={"resource_name": "Notes"})

    async def check() -> None:
        async with guarded().serve_http(port=0, auth=auth) as listener:

            def fetch() -> Any:
                connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=10)
                connection.request("GET", "/.well-known/oauth-protected-resource/mcp")
                found = json.loads(connection.getresponse().read())
                connection.close()
                return found

            document = await asyncio.to_thread(fetch)
            assert document["resource"] == RESOURCE and document["authorization_servers"] == [ISSUER]
            assert document["scopes_supported"] == ["mcp"] and document["resource_name"] == "Notes"
            assert (await asyncio.to_thread(post, listener.url, "a.b.c"))[0] == 401

    run(check())


async def asked(app: Any, method: str, path: str) -> tuple[int, dict[bytes, bytes], bytes]:
    """The response of an ASGI application to a request without a token."""
    sent: list[Any] = []
    bodies = [b"{}"]

    async def receive() -> Any:
        if bodies:
            return {"type": "http.request", "body": bodies.pop()}
        return await asyncio.Future[Any]()  # the client stays

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers, "root_path": ""}
    await app({**scope, "http_version": "1.1", "scheme": "http", "server": ("localhost", 80)}, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent[1:])


def test_an_asgi_application_requires_tokens_too() -> None:
    auth = Auth(RESOURCE, authorization_servers=[ISSUER], verifier=judged)

    async def check() -> None:
        app = guarded().asgi(auth=auth)
        assert (await asked(app, "POST", "/mcp"))[0] == 401
        await app.close()
        # Only the endpoint is guarded: the other pages of a site need no token of it.
        app = guarded().asgi(path="/mcp", auth=auth)
        for path, status in (("/mcp", 401), ("/mcp/", 401), ("/favicon.ico", 404), ("/mcpp", 404)):
            found, headers, _ = await asked(app, "GET", path)
            assert (found, b"www-authenticate" in headers) == (status, status == 401), path
        await app.close()

    run(check())


def under_a_prefix(app: Callable[..., Any]) -> Mount:
    return Mount("/mcp", app=app())


def at_the_root(app: Callable[..., Any]) -> Mount:
    return Mount("/", app=app(path="/mcp"))


def nested(app: Callable[..., Any]) -> Mount:
    return Mount("/api", routes=[Mount("/v1", app=app(path="/mcp"))])


@pytest.mark.parametrize(
    ("resource", "mounted"),
    [
        ("https://notes.example/mcp", under_a_prefix),
        ("https://notes.example/mcp", at_the_root),
        ("https://notes.example/api/v1/mcp", nested),
    ],
)
def test_aus_02_the_metadata_named_by_a_challenge_is_available_wherever_the_server_is_mounted(
    resource: str, mounted: Callable[[Callable[..., Any]], Mount]
) -> None:
    auth = Auth(resource, authorization_servers=[ISSUER], verifier=judged)

    async def check() -> None:
        apps: list[Any] = []

        def app(**options: Any) -> Any:
            apps.append(guarded().asgi(auth=auth, **options))
            return apps[-1]

        whole = Starlette(routes=[mounted(app)])
        # Starlette sends a client from a mount to its path with a slash.
        status, headers, _ = await asked(whole, "POST", urlsplit(resource).path + "/")
        assert status == 401
        challenge = headers[b"www-authenticate"].decode()
        url = urlsplit(challenge.split('resource_metadata="')[1].split('"')[0])
        assert url.netloc == "notes.example"
        status, _, body = await asked(whole, "GET", url.path)
        assert status == 200, url.path
        assert json.loads(body)["resource"] == resource
        await apps[0].close()

    run(check())


def test_verifiers_end_with_their_listeners() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        async def __call__(self, _token: AccessToken) -> Identity:
            return Identity("ada")

    async def check() -> None:
        server = guarded()
        async with Client(server):
            port = server._bind()
            before = len(port.handlers)
            for _ in range(3):
                auth = Auth(RESOURCE, authorization_servers=[ISSUER], verifier=Unhashable())
                async with server.serve_http(port=0, auth=auth):
                    assert len(port.handlers) > before
                await until(lambda: len(port.handlers) == before, "the end of the verifier")
            app = server.asgi(auth=Auth(RESOURCE, authorization_servers=[ISSUER], verifier=Unhashable()))
            app._open(asyncio.get_running_loop())
            assert len(port.handlers) == before + 1
            await app.close()
            await until(lambda: len(port.handlers) == before, "the end of the verifier")

    run(check())


def test_invalid_auth_is_refused() -> None:
    wrong: Any = 3

    async def check() -> None:
        for auth, problem in [
            (Auth(RESOURCE), "issuer"),
            (Auth("not a url", issuer=ISSUER), "resource"),
            (Auth(RESOURCE, issuer=ISSUER, algorithms=["none"]), "algorithms"),
            (Auth(RESOURCE, issuer=ISSUER, verifier=judged), "cannot be combined with a verifier"),
            (Auth(RESOURCE, verifier=wrong), "a verifier must be a function"),
        ]:
            with pytest.raises(InvalidArgumentError, match=problem):
                await guarded().serve_http(port=0, auth=auth).start()

    run(check())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such sockets")
def test_a_unix_socket(tmp_path: Path) -> None:
    async def check() -> None:
        path = tmp_path / "it.sock"
        async with Server("unix", version="1").serve_http(unix=path, unix_mode="600") as listener:
            assert listener.url == f"unix:{path}:/mcp"
            assert path.stat().st_mode & 0o777 == 0o600
            async with Client(listener.url) as client:
                assert client.server_info and client.server_info.name == "unix"

    run(check())


def test_options_of_listeners_reach_the_core() -> None:
    async def check() -> None:
        server = Server("options", version="1")
        fine: dict[str, Any] = {
            "sse": "/events",
            "messages": "/post",
            "replay_events": 0,
            "replay_bytes": 0,
            "retry": 0.5,
            "max_connections": 3,
        }
        async with server.serve_http(port=0, **fine) as listener:
            assert listener.port > 0
        async with server.serve_http(port=0, sse=False):
            pass
        with pytest.raises(InvalidArgumentError, match=r"^max_connections: must be a non-negative integer, not -1$"):
            await server.serve_http(port=0, max_connections=-1).start()

    run(check())


def of_verifier() -> Auth:
    return Auth(RESOURCE, authorization_servers=[ISSUER], required_scopes=["mcp"], verifier=judged)


def test_auc_31_a_client_sends_its_token() -> None:
    async def check() -> None:
        async with guarded().serve_http(port=0, auth=of_verifier()) as listener:
            for target in (listener.url, {"url": listener.url}):
                async with Client(target, auth="good") as client:
                    assert '"ada"' in (await client.call_tool("who")).text
            with pytest.raises(TrunklineError, match="401"):
                async with Client(listener.url, auth="unknown"):
                    pass

    run(check())


@pytest.mark.parametrize("is_async", [True, False])
def test_a_function_returns_tokens_and_is_notified_of_a_refusal(is_async: bool) -> None:
    asked: list[TokenRequest] = []

    def give(request: TokenRequest) -> Token:
        asked.append(request)
        return Token("good" if request.refused or len(asked) > 2 else "old")

    async def give_later(request: TokenRequest) -> Token:
        await asyncio.sleep(0)
        return give(request)

    async def check() -> None:
        async with guarded().serve_http(port=0, auth=of_verifier()) as listener:
            client = Client(listener.url)
            client.on_access_token(give_later if is_async else give)
            async with client:
                assert '"ada"' in (await client.call_tool("who")).text
            assert asked[0].url == listener.url

    run(check())
    assert [request.refused for request in asked[:3]] == [False, True, False]


def test_a_function_returns_the_headers_of_each_request() -> None:
    asked: list[HeadersRequest] = []

    def give(request: HeadersRequest) -> GivenHeaders:
        asked.append(request)
        return GivenHeaders({"Authorization": "Bearer good"})

    def give_host(_: HeadersRequest) -> GivenHeaders:
        return GivenHeaders({"Host": "elsewhere"})

    async def check() -> None:
        async with guarded().serve_http(port=0, auth=of_verifier()) as listener:
            client = Client(listener.url)
            client.on_request_headers(give)
            async with client:
                assert '"ada"' in (await client.call_tool("who")).text
            assert (asked[0].method, asked[0].url) == ("POST", listener.url)
            client = Client(listener.url)
            client.on_request_headers(give_host)
            with pytest.raises(TrunklineError, match=r'"host" is set by the protocol'):
                async with client:
                    pass

    run(check())


def test_a_blocking_client_has_credential_functions_too() -> None:
    def give(_: TokenRequest) -> Token:
        return Token("good")

    def call(url: str) -> str:
        client = SyncClient(url)
        client.on_access_token(give)
        with client:
            return client.call_tool("who").text

    async def check() -> None:
        async with guarded().serve_http(port=0, auth=of_verifier()) as listener:
            assert '"ada"' in await asyncio.to_thread(call, listener.url)

    run(check())


class Tokens(http.server.BaseHTTPRequestHandler):
    """An authorization server, whose users agree to everything."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        issuer = f"http://{self.headers['Host']}"
        metadata = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "registration_endpoint": f"{issuer}/register",
            "token_endpoint": f"{issuer}/token",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
        }
        page = urlsplit(self.path)
        if page.path != "/authorize":
            self._answer(metadata if self.path == "/.well-known/oauth-authorization-server" else None)
            return
        query = {name: values[0] for name, values in parse_qs(page.query).items()}
        self.asked.append(f"/authorize as {query['client_id']}")
        self.send_response(302)
        self.send_header("Location", f"{query['redirect_uri']}?code=c&state={query['state']}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.asked.append(self.path)
        self.rfile.read(int(self.headers["Content-Length"]))
        token = {"access_token": "good", "token_type": "Bearer", "expires_in": 3600}
        self._answer({"client_id": "registered"} if self.path == "/register" else token)

    def _answer(self, json_object: dict[str, Any] | None) -> None:
        body = json.dumps(json_object or {}).encode()
        self.send_response(404 if json_object is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextlib.contextmanager
def authorization_server() -> Generator[tuple[str, list[str]]]:
    """The URL of an authorization server of the test's own, and the paths that were asked."""

    class Own(Tokens):
        asked: ClassVar[list[str]] = []

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Own)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", Own.asked
    finally:
        server.shutdown()
        server.server_close()


def of_any_resource(given: AccessToken) -> Identity | None:
    return Identity("ada", scopes=["mcp"]) if given.token == "good" else None


@contextlib.asynccontextmanager
async def guarded_by(issuer: str) -> AsyncGenerator[str]:
    """The URL of a server that accepts tokens of that authorization server."""
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    auth = Auth(url, authorization_servers=[issuer], required_scopes=["mcp"], verifier=of_any_resource)
    async with guarded().serve_http(port=port, auth=auth):
        yield url


def test_xau_07_a_client_acts_on_its_own_behalf_and_a_custom_store_keeps_its_token() -> None:
    kept: dict[str, str] = {}

    async def check(issuer: str) -> None:
        async with guarded_by(issuer) as url:
            for _ in range(2):
                given = OAuth(grant="client_credentials", client_id="machine", client_secret="secret")
                client = Client(url, auth=given)

                @client.on_load_credentials
                async def load(key: CredentialsKey) -> LoadedCredentials:
                    return LoadedCredentials(value=kept.get(key.key))

                @client.on_save_credentials
                def save(credentials: Credentials) -> None:
                    kept[credentials.key] = credentials.value

                @client.on_remove_credentials
                def remove(key: CredentialsKey) -> None:
                    kept.pop(key.key, None)

                assert callable(load) and callable(save) and callable(remove)
                async with client:
                    assert '"ada"' in (await client.call_tool("who")).text

    with authorization_server() as (issuer, asked):
        run(check(issuer))
    # The second client takes the kept token.
    assert asked == ["/token"]
    assert any("good" in value for value in kept.values())


@pytest.mark.parametrize("kind", SHARED_STORES)
def test_the_next_connection_uses_a_token_from_a_store_given_as_a_url(kind: str, tmp_path: Path) -> None:
    async def check(issuer: str, store: str) -> None:
        async with guarded_by(issuer) as url:
            for _ in range(2):
                auth = OAuth(grant="client_credentials", client_id="machine", client_secret="secret", store=store)
                async with Client(url, auth=auth) as client:
                    assert '"ada"' in (await client.call_tool("who")).text

    with shared_store(kind, tmp_path) as store, authorization_server() as (issuer, asked):
        run(check(issuer, store))
    assert asked == ["/token"]


@pytest.mark.parametrize("kind", SHARED_STORES)
def test_after_a_logout_the_next_call_logs_in_again(kind: str, tmp_path: Path) -> None:
    async def check(issuer: str, store: str) -> None:
        async with guarded_by(issuer) as url:
            for _ in range(2):
                auth = OAuth(grant="client_credentials", client_id="machine", client_secret="secret", store=store)
                async with Client(url, auth=auth) as client:
                    for _ in range(2):
                        assert '"ada"' in (await client.call_tool("who")).text
                        await client.logout()

    with shared_store(kind, tmp_path) as store, authorization_server() as (issuer, asked):
        run(check(issuer, store))
    assert asked == ["/token"] * 4


def visit(request: AuthorizeRequest) -> None:
    """Opens the page as a browser does, which follows the redirect to the library."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request.url, timeout=10) as page:
        assert b"You can close this page" in page.read()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_program_opens_the_login_page_itself(is_async: bool) -> None:
    async def visit_later(request: AuthorizeRequest) -> None:
        await asyncio.to_thread(visit, request)

    async def check(issuer: str) -> None:
        async with guarded_by(issuer) as url:
            client = Client(url)
            client.on_open_url(visit_later if is_async else visit)
            async with client:
                assert '"ada"' in (await client.call_tool("who")).text

    with authorization_server() as (issuer, asked):
        run(check(issuer))
    assert asked == ["/register", "/authorize as registered", "/token"]


def test_a_blocking_program_opens_the_login_page_itself() -> None:
    def call(url: str) -> str:
        client = SyncClient(url)
        client.on_open_url(visit)
        with client:
            return client.call_tool("who").text

    async def check(issuer: str) -> None:
        async with guarded_by(issuer) as url:
            assert '"ada"' in await asyncio.to_thread(call, url)

    with authorization_server() as (issuer, _):
        run(check(issuer))


def test_exceptions_of_credential_functions_reach_the_caller() -> None:
    problem = RuntimeError("the user closed the window")

    def fail(_: Any) -> Any:
        raise problem

    async def fail_later(_: Any) -> Any:
        raise problem

    def nothing(_: Any) -> Any:
        return None

    async def check(issuer: str) -> None:
        async with guarded_by(issuer) as url:
            for name, auth in [
                ("open_url", None),
                ("authorize", OAuth(redirect_uri="http://127.0.0.1:9/x")),
                ("access_token", None),
                ("request_headers", None),
                ("assertion", OAuth(grant="workload_identity")),
            ]:
                for function in (fail, fail_later):
                    client = Client(url) if auth is None else Client(url, auth=auth)
                    getattr(client, f"on_{name}")(function)
                    with pytest.raises(AuthorizationRequiredError, match=f"{name} failed: {problem}$") as caught:
                        await client.connect()
                    assert caught.value.__cause__ is problem, name
            client = Client(url)
            client.on_access_token(nothing)
            with pytest.raises(AuthorizationRequiredError, match="returned NoneType instead of Token") as caught:
                await client.connect()
            assert isinstance(caught.value.__cause__, TypeError)
            client = Client(url, auth=OAuth(redirect_uri="http://127.0.0.1:9/x"))
            client.on_authorize(lambda request: request.url)  # type: ignore[arg-type,return-value]
            with pytest.raises(AuthorizationRequiredError, match=r"returned str instead of Redirect$"):
                await client.connect()

    def blocking(url: str) -> BaseException | None:
        client = SyncClient(url)
        client.on_access_token(fail)
        with pytest.raises(AuthorizationRequiredError, match=r"the user closed the window$") as caught:
            client.connect()
        return caught.value.__cause__

    async def check_blocking(issuer: str) -> None:
        async with guarded_by(issuer) as url:
            assert await asyncio.to_thread(blocking, url) is problem

    with authorization_server() as (issuer, _):
        run(check(issuer))
        run(check_blocking(issuer))


def test_each_server_of_a_group_has_its_own_credentials() -> None:
    async def check(issuer: str) -> None:
        async with guarded_by(issuer) as one, guarded_by(issuer) as other:
            group = ClientGroup(
                {
                    "one": {"url": one, "auth": {"clientId": "first"}},
                    "other": {"url": other, "auth": {"CLIENT_ID": "second", "scopes": ["mcp"]}},
                    "token": {"url": one, "auth": "good"},
                    "wrong": {"url": one, "auth": {"clientSecret": "x"}},
                }
            )
            group.on_open_url(visit)
            async with group:
                for name in ("one", "other", "token"):
                    assert '"ada"' in (await group.call_tool(f"{name}__who")).text
                assert "clientSecret needs" in str((await group.servers())[3].error)

    with authorization_server() as (issuer, asked):
        run(check(issuer))
    assert sorted(asked) == ["/authorize as first", "/authorize as second", "/token", "/token"]


@pytest.mark.skipif(sys.platform != "linux", reason="it replaces xdg-open")
@pytest.mark.parametrize("screen", [{"DISPLAY": ":9"}, {"SSH_CONNECTION": "a 1 b 2"}], ids=["status", "ssh"])
def test_a_login_whose_browser_does_not_open_shows_its_url(screen: dict[str, str], tmp_path: Path) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text("#!/bin/sh\nexit 3\n")
    opener.chmod(0o755)
    program = (
        "import sys, trunkline\n"
        "trunkline.SyncClient(sys.argv[1], auth=trunkline.OAuth(login_timeout=20)).connect()\n"
        "print('connected')\n"
    )
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")
    environ = {name: value for name, value in os.environ.items() if name not in hidden}
    environ = {**environ, **screen, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    def log_in(url: str) -> str:
        command = [sys.executable, "-c", program, url]
        with subprocess.Popen(command, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stderr is not None
            for line in child.stderr:
                if shown := re.search(r"http://\S+/authorize\?\S+?(?=[\s,)]|$)", line):
                    visit(AuthorizeRequest(url=shown[0]))
                    break
            return child.stdout.read()

    async def check(issuer: str) -> None:
        async with guarded_by(issuer) as url:
            assert await asyncio.to_thread(log_in, url) == "connected\n"

    with authorization_server() as (issuer, _):
        run(check(issuer))


def test_errors_name_invalid_authorization_options() -> None:
    def fail(_: TokenRequest) -> Token:
        raise ValueError("no keychain")

    async def check() -> None:
        client = Client("http://127.0.0.1:9/mcp")
        client.on_access_token(fail)
        with pytest.raises(TrunklineError, match="access_token failed"):
            await client.connect()
        for auth, named in [
            (OAuth(client_secret="x"), r"^auth.client_secret needs `client_id`$"),
            (OAuth(login_timeout=0), r"^auth.login_timeout must be more than 0"),
            (OAuth(grant="client_credentials"), "^auth.client_id is missing: .* `client_id` or `client_metadata_url`"),
            (OAuth(redirect_uri="https://a.example/done"), "^auth.redirect_uri cannot be used: .*set a function that"),
            (OAuth(grant="workload_identity"), "assertion"),
            (OAuth(token="x", dpop=True), "dpop is for OAuth"),
            (OAuth(grant="client_credentials", redirect_uri="http://localhost/x"), "redirect_uri is for"),
        ]:
            with pytest.raises(InvalidArgumentError, match=named):
                await Client("http://a.example", auth=auth).connect()
        for target in [guarded(), {"command": "server"}]:
            with pytest.raises(InvalidArgumentError, match="auth is for servers over HTTP"):
                await Client(target, auth="x").connect()
        async with Client(guarded()) as late:
            with pytest.raises(InvalidArgumentError, match="access_token was set too late"):
                late.on_access_token(fail)

    run(check())
    with pytest.raises(TypeError, match="clientid"):
        Client("http://a.example", auth=OAuth(clientid="x"))  # pyright: ignore[reportCallIssue]
