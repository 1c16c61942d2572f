//! Transports of a program's own: the protocol classes, and the functions for the core.

use std::fmt::Write as _;

use super::{docstring, given};
use crate::generate::surface::Surface;

const DOC: &str = "A transport of a program's own: any object with these methods is a target of a client. Messages are texts of \
    JSON without line breaks. `send` and `receive` run at the same time, one call of each. A method that raises ends \
    the connection: its calls fail with `TransportError`, and the next call connects again. The methods are `async`, or \
    ordinary functions that block, which `SyncClient` needs: each call has a thread, and `close` has to end a `receive` \
    that waits.";

const IMPORTS: &str = r#"from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from ... import _native
from ...errors import InvalidArgumentError, ProtocolError
from ...port.pool import Pool
from ..server_requests import ServerRequestHandler
"#;

const FUNCTIONS: &str = r#"

def transport_handlers(transport: Any, *, blocking: bool) -> dict[str, ServerRequestHandler]:
    """The functions of a transport, by the names of their calls.

    Raises:
        InvalidArgumentError: in a blocking client, if a method is asynchronous: no loop runs it
            there.
    """
    from inspect import iscoroutinefunction

    methods = {name: getattr(transport, row[0]) for name, row in FUNCTIONS.items()}
    if blocking and any(iscoroutinefunction(method) for method in methods.values()):
        raise InvalidArgumentError(
            "the methods of this transport are asynchronous: use Client, or give SyncClient ordinary functions"
        )
    functions = {name: _function(methods[name], *row[1:]) for name, row in FUNCTIONS.items()}
    return {name: ServerRequestHandler(name, function, dict) for name, function in functions.items()}


class TransportCalls:
    """The calls of the transport of a blocking client, on threads of their own until it
    is dropped.
    """

    error_hooks: tuple[()] = ()
    telemetry: None = None

    def __init__(self, native: _native.Port, functions: Mapping[str, ServerRequestHandler]) -> None:
        self.native = native
        self.handlers: dict[int, ServerRequestHandler] = {}
        self.hosts: dict[int, Mapping[str, ServerRequestHandler]] = {}
        self._functions = functions
        self._pool = Pool(self, None)
        if FUNCTIONS.keys() <= functions.keys():
            self._pool.start()

    def handler(self, handle: int, name: str) -> ServerRequestHandler | None:  # noqa: ARG002
        """The function of that name."""
        return self._functions.get(name)

    def scope(self, cause: int, port: int) -> None:
        """None: nothing in this process causes calls of a transport."""

    def __del__(self) -> None:
        self._pool.stop()


def _function(method: Callable[..., Any], params: tuple[str, ...], result: str | None) -> Callable[..., Any]:
    """The function of the core; its error is that of the connection."""
    from inspect import iscoroutinefunction

    def returned(value: Any) -> Mapping[str, Any]:
        return {} if result is None else {result: value}

    def wrong(error: Exception) -> ProtocolError:
        return ProtocolError(f"{type(error).__name__}: {error}")

    async def call_async(given: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return returned(await method(*(given[name] for name in params)))
        except Exception as error:
            raise wrong(error) from error

    def call(given: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return returned(method(*(given[name] for name in params)))
        except Exception as error:
            raise wrong(error) from error

    return call_async if iscoroutinefunction(method) else call
"#;

pub(super) fn render(surface: &Surface) -> String {
    let mut text = IMPORTS.to_owned() + &class(surface);
    text += "\n\n# The functions of the core: each with its method, its parameters and its result.\nFUNCTIONS: \
             Mapping[str, tuple[str, tuple[str, ...], str | None]] = {\n";
    for row in &surface.channel {
        let params: String = row.params.iter().map(|field| format!("\"{}\", ", field.json)).collect();
        let result = row.result.first().map_or_else(|| "None".to_owned(), |field| format!("\"{}\"", field.json));
        _ = writeln!(text, "    \"{}\": (\"{}\", ({}), {result}),", row.name, row.method(), params.trim_end());
    }
    text + "}\n" + FUNCTIONS
}

fn class(surface: &Surface) -> String {
    let mut text = format!("\n\n@runtime_checkable\nclass Transport(Protocol):\n{}", docstring("    ", DOC));
    for row in &surface.channel {
        let params: String = row.params.iter().map(|field| format!(", {}: {}", field.name, given(&field.ty))).collect();
        let result =
            row.result.first().map_or_else(|| "None".to_owned(), |field| format!("{} | None", given(&field.ty)));
        let doc = docstring("        ", &row.doc);
        _ = write!(
            text,
            "\n    def {}(self{params}) -> Awaitable[{result}] | {result}:\n{doc}        ...\n",
            row.method()
        );
    }
    text
}
