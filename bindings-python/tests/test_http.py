"""Streamable HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import ipaddress
import json
import pickle
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support import REVISIONS, TIMEOUT, Heard, environment, ignore, run, script, until
from test_calls import Slow
from trunkline import (
    AuthorizationRequiredError,
    Client,
    ClosedError,
    InvalidArgumentError,
    Listener,
    Server,
    SyncClient,
    TransportError,
    TrunklineError,
)


@pytest.mark.parametrize("json", [False, True])
@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("revision", [*REVISIONS, "auto"])
def test_every_revision(revision: str, json: bool, stateless: bool) -> None:
    async def check() -> None:
        async with Slow().server.serve_http(port=0, path="/api", json=json, stateless=stateless) as listener:
            assert listener.url == f"http://127.0.0.1:{listener.port}/api" and listener.host == "127.0.0.1"
            async with Client(listener.url, revision=revision) as client:
                assert revision in ("auto", client.revision)
                assert len(await client.list_tools()) == 4
                results = await asyncio.gather(*[client.call_tool("steps") for _ in range(20)])
                assert {result.text for result in results} == {"done"}

    run(check())


def test_http_05_a_server_listens_on_loopback_by_default() -> None:
    async def check() -> None:
        async with Slow().server.serve_http(port=0) as listener:
            assert ipaddress.ip_address(listener.host).is_loopback
            socket.create_connection((listener.host, listener.port), 5).close()
            # A socket without a peer has the address that leads outside; nothing is sent.
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
                with contextlib.suppress(OSError):
                    outward.connect(("192.0.2.1", 9))
                address = outward.getsockname()[0]
            # Without a network there is no other address.
            if address != "0.0.0.0":
                with pytest.raises(ConnectionRefusedError):
                    socket.create_connection((address, listener.port), 5)

    run(check())


def probe(listener: Listener, path: str) -> int:
    """The status of a probe, over a separate connection."""
    connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=TIMEOUT)
    try:
        connection.request("GET", path, headers={"Host": "10.0.0.7"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_probes_of_a_closing_server() -> None:
    slow = Slow()

    async def check() -> None:
        async with (
            slow.server.serve_http(port=0, health=True) as listener,
            Client(listener.url) as client,
        ):
            assert [await asyncio.to_thread(probe, listener, path) for path in ("/healthz", "/readyz")] == [200, 200]
            call = asyncio.ensure_future(client.call_tool("later"))
            await until(slow.started.is_set, "the handler")
            closing = asyncio.ensure_future(listener.close(TIMEOUT))
            status = 200
            while status == 200:
                # A connection of the very moment may end before its request is read.
                with contextlib.suppress(http.client.RemoteDisconnected):
                    status = await asyncio.to_thread(probe, listener, "/readyz")
            assert [await asyncio.to_thread(probe, listener, path) for path in ("/healthz", "/readyz")] == [200, 503]
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await closing
        async with slow.server.serve_http(port=0) as other:
            assert await asyncio.to_thread(probe, other, "/readyz") == 403, "Host is checked, for nothing is there"

    run(check())


@pytest.mark.parametrize("revision", REVISIONS)
def test_progress(revision: str) -> None:
    heard = Heard()

    async def check() -> None:
        async with Slow().server.serve_http(port=0) as listener:
            async with Client(listener.url, revision=revision) as client:
                await client.call_tool("steps", on_progress=heard.hear)

    run(check())
    assert heard[-1][0] == 3


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("name", ["later", "in_thread"])
def test_cancellation(name: str, revision: str) -> None:
    slow = Slow()

    async def check() -> None:
        async with slow.server.serve_http(port=0) as listener:
            async with Client(listener.url, revision=revision) as client:
                call = asyncio.ensure_future(client.call_tool(name))
                await until(slow.started.is_set, "the handler")
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
                await until(lambda: slow.ended == ["cancelled"], "the handler's end")
                assert (await client.call_tool("steps")).text == "done"

    run(check())


@pytest.mark.parametrize("revision", REVISIONS)
def test_changes_of_the_tools_are_notified(revision: str) -> None:
    slow, changes = Slow(), list[str]()

    async def check() -> None:
        async with (
            slow.server.serve_http(port=0) as listener,
            Client(listener.url, revision=revision, on_tools_changed=lambda: changes.append("changed")) as client,
        ):
            await client.list_tools()
            slow.server.add_tool(slow.later, name="late")
            await until(lambda: changes, "the change")
            assert "late" in [tool.name for tool in await client.list_tools()]

    run(check())


def test_a_blocking_client() -> None:
    async def check() -> None:
        async with Slow().server.serve_http(port=0) as listener:
            url = listener.url

            def blocking() -> str:
                with SyncClient(url) as client:
                    return client.call_tool("steps_in_thread", on_progress=ignore).text

            assert await asyncio.gather(*[asyncio.to_thread(blocking) for _ in range(5)]) == ["done"] * 5

    run(check())


def failure_of(response: bytes, seen: list[str], headers: dict[str, str] | None = None) -> TransportError:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(response)
        await writer.drain()
        writer.close()

    async def check() -> TransportError:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            with pytest.raises(TransportError) as caught:
                async with Client(f"http://127.0.0.1:{port}/mcp", headers=headers):
                    pass
        return caught.value

    return run(check())


def test_a_page_instead_of_a_response_is_an_invalid_response() -> None:
    page = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<h1>Log in</h1>"
    error = failure_of(page, [])
    assert "a body that is not MCP" in str(error)
    assert (error.reason, error.http_status) == ("invalidResponse", 200)


def test_headers_are_sent() -> None:
    seen: list[str] = []
    broken = b"HTTP/1.1 500 Broken\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    failure = failure_of(broken, seen, {"X-Test": "value"})
    assert "500" in str(failure)
    for error in (failure, pickle.loads(pickle.dumps(failure))):
        assert (error.reason, error.http_status, error.challenges) == ("status", 500, None)
    assert "x-test: value" in seen[0].lower()


def test_a_request_for_authorization_has_its_own_error_class() -> None:
    challenge = (
        'Bearer error="invalid_token", error_description="The access token has expired", '
        'scope="read write", resource_metadata="https://x.example/metadata"'
    )

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 401 No\r\nwww-authenticate: {challenge}\r\ncontent-length: 0\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        writer.close()

    async def check() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
            for revision in ("auto", "2025-06-18"):
                with pytest.raises(AuthorizationRequiredError, match="token has expired") as caught:
                    async with Client(url, revision=revision):
                        pass
                copy: AuthorizationRequiredError = pickle.loads(pickle.dumps(caught.value))
                assert isinstance(copy, PermissionError)
                for error in (caught.value, copy):
                    assert (error.http_status, error.error) == (401, "invalid_token")
                    assert error.error_description == "The access token has expired"
                    assert error.scopes == ["read", "write"]
                    assert error.resource_metadata == "https://x.example/metadata"
                    assert error.challenges == [challenge]

    run(check())


def test_connecting_to_a_closed_port() -> None:
    async def check() -> None:
        with pytest.raises(TransportError, match=r"127\.0\.0\.1:9"):
            async with Client("http://127.0.0.1:9/mcp"):
                pass

    run(check())


def test_a_port_that_is_in_use() -> None:
    async def check() -> None:
        async with Slow().server.serve_http(port=0) as listener:
            with pytest.raises(TransportError) as taken:
                await Slow().server.serve_http(port=listener.port)
            assert taken.value.reason == "addressInUse"
        # TEST-NET-1 is on no machine (RFC 5737).
        for host in ("256.256.256.256", "192.0.2.1"):
            with pytest.raises(TransportError) as nowhere:
                await Slow().server.serve_http(host=host, port=0)
            assert nowhere.value.reason == "addressUnavailable"

    run(check())


def test_one_server_listens_twice_and_in_memory() -> None:
    slow = Slow()

    async def check() -> None:
        async with slow.server.serve_http(port=0) as first:
            async with slow.server.serve_http(port=0) as second, Client(slow.server) as client:
                for url in (first.url, second.url):
                    async with Client(url) as other:
                        assert (await other.call_tool("steps")).text == "done"
                assert (await client.call_tool("steps")).text == "done"
            async with Client(first.url) as other:
                assert (await other.call_tool("steps")).text == "done"

    run(check())


def test_closing_drains_calls_in_flight_up_to_the_deadline() -> None:
    slow = Slow()

    async def check() -> None:
        listener = slow.server.serve_http(port=0)
        await listener.start()
        with pytest.raises(InvalidArgumentError, match="already started"):
            await listener.start()
        assert listener.url is not None
        begun = Heard()
        async with Client(listener.url) as client:
            short = asyncio.ensure_future(client.call_tool("steps", on_progress=begun.hear))
            long = asyncio.ensure_future(client.call_tool("later"))
            await until(lambda: begun and slow.started.is_set(), "the handlers")
            start = time.monotonic()
            await listener.close(1)
            assert 0.7 < time.monotonic() - start < 15
            assert (await short).text == "done"
            with pytest.raises(TrunklineError):
                await long
            await until(lambda: slow.ended == ["cancelled"], "the handler's end")
        await listener.close()

    run(check())


def test_cancelling_serve_stops_it() -> None:
    slow = Slow()

    async def serve(listener: Any) -> None:
        await listener

    async def check() -> None:
        listener = slow.server.serve_http(port=0)
        with pytest.raises(InvalidArgumentError, match="not ready"):
            _ = listener.url
        task = asyncio.ensure_future(serve(listener))
        await until(lambda: listener._result, "the listener")
        async with Client(listener.url) as client:
            assert (await client.call_tool("steps")).text == "done"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises((TransportError, ClosedError)):
            async with Client(listener.url):
                pass

    run(check())


def test_foreign_hosts_are_refused_unless_allowed() -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})

    def status(url: str, host: str) -> int:
        address = urlsplit(url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
        try:
            headers = {
                "Host": host,
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
            }
            connection.request("POST", address.path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    async def check() -> None:
        server = Slow().server
        async with (
            server.serve_http(port=0) as strict,
            server.serve_http(port=0, allowed_hosts=["example.com"]) as open_to_one,
        ):
            assert await asyncio.to_thread(status, strict.url, "evil.example") == 403
            assert await asyncio.to_thread(status, strict.url, "example.com") == 403
            assert await asyncio.to_thread(status, open_to_one.url, "example.com") != 403

    run(check())


def test_clients_behind_a_trusted_proxy_have_a_share_per_address() -> None:
    def status(url: str, client: str) -> int:
        address = urlsplit(url)
        connection = http.client.HTTPConnection(address.netloc, timeout=TIMEOUT)
        try:
            headers = {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "X-Forwarded-For": client,
            }
            connection.request("POST", address.path, '{"jsonrpc":"2.0","id":1,"method":"ping"}', headers)
            return connection.getresponse().status
        finally:
            connection.close()

    async def check() -> None:
        server = Slow().server
        with pytest.raises(InvalidArgumentError, match=r"proxy\.example.*10\.0\.0\.0/8"):
            async with server.serve_http(port=0, trusted_proxies=["proxy.example"]):
                pass
        async with server.serve_http(port=0, trusted_proxies=["127.0.0.1"], rate_limit=1, rate_burst=1) as listener:
            assert await asyncio.to_thread(status, listener.url, "198.51.100.7") != 429
            assert await asyncio.to_thread(status, listener.url, "203.0.113.9, 198.51.100.7") == 429
            assert await asyncio.to_thread(status, listener.url, "203.0.113.9") != 429

    run(check())


HTTP = """
import sys
from trunkline import Server

server = Server("http", version="1")

@server.tool
async def echo(message: str) -> str:
    return message

@server.tool
async def hang() -> str:
    import asyncio
    print("hanging", flush=True)
    await asyncio.sleep(60)
    return "done"

server.run_http(port=0, on_ready=lambda listener: print(listener.url, flush=True))
print("ended", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_shut_the_server_down_gracefully(tmp_path: Path, number: signal.Signals) -> None:
    child = subprocess.Popen(
        script(tmp_path, HTTP), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert child.stdout is not None and child.stderr is not None
    with child:
        try:
            with SyncClient(child.stdout.readline().strip()) as client:
                assert client.call_tool("echo", {"message": "hi"}).text == "hi"
            child.send_signal(number)
            assert child.wait(TIMEOUT) == 0
            assert (child.stdout.read(), child.stderr.read()) == ("ended\n", "")
        finally:
            child.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_signal_ends_all_servers_of_all_threads(tmp_path: Path) -> None:
    source = """
import asyncio, os, threading
from trunkline import Server

async def serve(name):
    async with Server(name, version="1").serve_http(port=0) as listener:
        running = asyncio.create_task(listener.run())
        await asyncio.sleep(0)  # then it gets signals
        os.write(1, b"ready\\n")  # `print` may mix the lines of two threads
        await running

async def serve_both():
    first = asyncio.create_task(serve("first"))
    await asyncio.sleep(0.2)
    await asyncio.gather(first, serve("second"))

threading.Thread(target=asyncio.run, args=[serve("third")]).start()
asyncio.run(serve_both())
"""
    child = subprocess.Popen(script(tmp_path, source), stdout=subprocess.PIPE, text=True, env=environment())
    assert child.stdout is not None
    with child:
        try:
            assert [child.stdout.readline() for _ in range(3)] == ["ready\n"] * 3
            child.terminate()
            assert child.wait(TIMEOUT) == 0
        finally:
            child.kill()


@pytest.mark.parametrize("is_logged", [False, True])
def test_run_prints_its_url_once(tmp_path: Path, is_logged: bool) -> None:
    set_up = "import logging; logging.basicConfig(level=logging.INFO)\n" if is_logged else ""
    source = "from trunkline import Server\nServer('test', version='1').run_http(port=0)\n"
    command = script(tmp_path, set_up + source)
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as child:
        watch = threading.Timer(TIMEOUT, child.kill)
        watch.start()
        try:
            assert child.stderr is not None
            line = child.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
            assert found is not None, line
            with SyncClient(found[0]) as client:
                assert client.list_tools() == []
            child.terminate()
            assert found[0] not in child.stderr.read()
        finally:
            watch.cancel()
            child.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_second_signal_does_not_wait(tmp_path: Path) -> None:
    source = HTTP.replace('version="1"', 'version="1", drain_deadline=60')
    child = subprocess.Popen(
        script(tmp_path, source), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()
    )
    assert child.stdout is not None
    said = child.stdout
    url = said.readline().strip()

    async def check() -> None:
        async with Client(url) as client:
            call = asyncio.ensure_future(client.call_tool("hang"))
            assert await asyncio.to_thread(said.readline) == "hanging\n"
            child.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.2)
            assert child.poll() is None
            while child.poll() is None:  # the system merges two signals of which the first was not seen
                child.send_signal(signal.SIGTERM)
                await asyncio.sleep(0.2)
            with pytest.raises(TrunklineError):
                await call

    with child:
        try:
            run(check())
            assert child.wait(TIMEOUT) == -signal.SIGTERM
        finally:
            child.kill()


def test_another_loop_cannot_serve_the_same_server() -> None:
    server = Server("test", version="1")

    async def check() -> None:
        async with server.serve_http(port=0):

            async def again() -> None:
                await server.serve_http(port=0)

            with pytest.raises(InvalidArgumentError, match="another event loop"):
                await asyncio.to_thread(asyncio.run, again())

    run(check())


TLS = Path(__file__).parents[2] / "core" / "tests" / "tls"


def test_certificates_of_servers_and_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    authority, certificate, key = ((TLS / name).read_text() for name in ("ca.pem", "client.pem", "client.key"))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 500 Reached\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            await writer.drain()
        writer.close()

    async def outcome(port: int, **options: Any) -> Any:
        with pytest.raises(TransportError) as caught:
            async with Client(f"https://localhost:{port}/mcp", **options):
                pass
        return caught.value.http_status or caught.value.reason

    async def check(mutual: bool) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(TLS / "ca.pem"))
        context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
        context.verify_mode = ssl.CERT_REQUIRED if mutual else ssl.CERT_NONE
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        async with server:
            if mutual:
                assert await outcome(port, ca=authority) in ("tls", "broken")
                assert await outcome(port, ca=authority, client_certificate=certificate, client_key=key) == 500
                return
            assert await outcome(port) == "tls"
            assert await outcome(port, ca=authority) == 500
            monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(TLS / "missing.pem"))
            assert await outcome(port) == "tls", "a file that cannot be read is not a reason to fail"
            monkeypatch.delenv("NODE_EXTRA_CA_CERTS")
            for variable in ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"):
                with monkeypatch.context() as changed:
                    changed.setenv(variable, str(TLS / "ca.pem"))
                    assert await outcome(port) == 500, variable

    run(check(mutual=False))
    run(check(mutual=True))


def test_options_for_urls_are_refused_for_other_targets() -> None:
    options: list[dict[str, Any]] = [{"headers": {"a": "b"}}, {"ca": "x"}, {"proxy": "http://127.0.0.1:1"}]
    for option in options:
        with pytest.raises(InvalidArgumentError, match=next(iter(option))):
            Client(["python"], **option)
    with pytest.raises(InvalidArgumentError, match="certificate"):
        run(_connect("https://localhost:1/mcp", ca="nonsense"))


async def _connect(url: str, **options: Any) -> None:
    async with Client(url, **options):
        pass
