"""A client that writes the protocol itself, on every revision: one JSON text per line over stdin
and stdout.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from typing_extensions import Self

from support import TIMEOUT, environment

MODERN = "2026-07-28"
_SINCE = {"elicitation": "2025-06-18"}
# method and params of a question -> the answer, or an error object under "error"
Answer = Callable[[str, dict[str, Any]], dict[str, Any]]


class Refused(Exception):
    """The server answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


def nothing(method: str, params: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError(f"the server asks: {method} {params}")


class Peer:
    """A session. `answer` answers the server's questions, in rounds on revisions that have them."""

    def __init__(
        self,
        command: list[str],
        revision: str,
        *,
        capabilities: Mapping[str, Any] | None = None,
        answer: Answer = nothing,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self.revision = revision
        # A client declares what its revision knows.
        self.capabilities = {
            name: value for name, value in (capabilities or {}).items() if revision >= _SINCE.get(name, "")
        }
        self.answer = answer
        self.meta = dict(meta or {})
        # Everything that came except responses: method -> params.
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.rounds: list[dict[str, Any]] = []
        self._id = 0
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        # A wait for a server that hangs ends when the server is killed.
        self._watchdog = threading.Timer(TIMEOUT, self._process.kill)
        self._watchdog.start()

    @property
    def modern(self) -> bool:
        return self.revision == MODERN

    def __enter__(self) -> Self:
        if not self.modern:
            info = {"name": "raw", "version": "1"}
            self.server = self._exchange(
                "initialize",
                {"protocolVersion": self.revision, "capabilities": self.capabilities, "clientInfo": info},
            )
            assert self.server["protocolVersion"] == self.revision
            self.send({"method": "notifications/initialized"})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._process.stdin.close()
        self._process.stdout.read()
        self.errors = self._process.stderr.read()
        self.status = self._process.wait()
        self._watchdog.cancel()
        self._process.stdout.close()
        self._process.stderr.close()

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The result, after answering questions on the way; a modern request is repeated with the
        answers.
        """
        result = self.once(method, **params)
        while result.get("resultType") == "input_required":
            self.rounds.append(result)
            responses = {
                key: self.answer(asked["method"], asked.get("params", {}))
                for key, asked in result.get("inputRequests", {}).items()
            }
            state = {"requestState": result["requestState"]} if "requestState" in result else {}
            result = self.once(method, **params, inputResponses=responses, **state)
        return result

    def once(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one request."""
        meta = {**self.meta, **params.pop("_meta", {})}
        if self.modern:
            meta = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
                **meta,
            }
        return self._exchange(method, {**params, **({"_meta": meta} if meta else {})})

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of a tool's result; failures begin with `error: `."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        text = "\n".join(block["text"] for block in result["content"])
        return f"error: {text}" if result.get("isError") else text

    def texts(self, method: str) -> list[Any]:
        """The data of all received messages of a method."""
        return [params for name, params in self.heard if name == method]

    def until(self, method: str) -> dict[str, Any]:
        """Reads until a notification arrives, and returns its params."""
        while True:
            message = self._read()
            if message.get("method") == method:
                return self.heard[-1][1]

    def _exchange(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        number = self._id
        self.send({"id": number, "method": method, "params": params})
        while True:
            message = self._read()
            if "method" not in message:
                assert message["id"] == number, message
                if "error" in message:
                    raise Refused(message["error"])
                return message["result"]

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout and self._process.stderr
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the server has ended: {self._process.stderr.read()}")
        message = json.loads(line)
        if "method" in message:
            self.heard.append((message["method"], message.get("params", {})))
            if "id" in message:
                assert not self.modern, message  # such servers do not ask
                answer = self.answer(message["method"], message.get("params", {}))
                self.send({"id": message["id"], **(answer if "error" in answer else {"result": answer})})
        return message
