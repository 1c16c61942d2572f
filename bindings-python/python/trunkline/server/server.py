"""A server: a name, what it offers, and the ways to serve it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..features.completion import Completions
from ..features.middleware import Middlewares
from ..features.prompt import Prompts
from ..features.provider import Providers
from ..features.resource import Resources
from ..features.skill import Skills
from ..features.tool import Tools
from ..model.base import encode_base64
from ..options import camel_case, checked_time, in_ms
from .serving import Serving

if TYPE_CHECKING:
    from .._generated.models import Icon
    from ..model.types import CacheScope


class Server(Tools, Resources, Prompts, Completions, Skills, Providers, Middlewares, Serving):
    """Tools, resources and prompts under a name, served on every revision of the protocol at once.

    Making a server and adding to it starts nothing; `run`, `serve` and in-memory clients do. Times are in seconds.

    Args:
        name: what clients see as the server's name.
        version: the version of the server.
        title: the name for people.
        description: what the server is for.
        website_url: where to read more.
        icons: icons for user interfaces.
        instructions: how a model should use the server.
        debug: show what went wrong inside a handler to the caller; otherwise it is only logged.
        page_size: things per page of a list.
        max_running: calls of one session that run at once.
        max_waiting: calls of one session that wait for their turn.
        max_waiting_bytes: how many bytes these may have together.
        max_message_bytes: the largest message.
        max_nesting: the deepest JSON.
        max_sessions: sessions over HTTP.
        session_idle: after so long without a message a session over HTTP ends.
        drain_deadline: how long calls in flight may take when the server stops.
        keep_alive: how often a quiet HTTP stream gets a comment; 0: never.
        ttl: for how long clients may keep lists and what discovery says.
        cache_scope: whether others than the caller may be given what was kept.
        state_keys: secrets of 32 bytes (or their base64 text) that seal the state of requests which wait for input:
            the first seals, all open. Instances that share the requests share the keys (default: a random one).
        state_lifetime: how long such a state is good.
        max_rounds: how often one request may ask its client.
        input_timeout: how long a person may take to answer where the request stays open meanwhile.
        task_ttl: how long tasks are kept, unless their caller asks for less.
        task_poll_interval: how often clients should look at a task.
        max_tasks: tasks that are kept at once.
        max_tasks_per_client: those of one principal, or of one session or pipe where nobody is asked for a token.
        rerun_handlers: run handlers again for each answer on all revisions, as 2026-07-28 does: a test mode.
        extensions: settings of protocol extensions, by their names.
        experimental: settings of experimental capabilities, by their names.
        max_threads: threads for `def` handlers (default: processors + 4, at most 32).
    """

    def __init__(
        self,
        name: str,
        *,
        version: str,
        title: str | None = None,
        description: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] | None = None,
        instructions: str | None = None,
        debug: bool | None = None,
        page_size: int | None = None,
        max_running: int | None = None,
        max_waiting: int | None = None,
        max_waiting_bytes: int | None = None,
        max_message_bytes: int | None = None,
        max_nesting: int | None = None,
        max_sessions: int | None = None,
        session_idle: float | None = None,
        drain_deadline: float | None = None,
        keep_alive: float | None = None,
        ttl: float | None = None,
        cache_scope: CacheScope | None = None,
        state_keys: Sequence[bytes | str] | None = None,
        state_lifetime: float | None = None,
        max_rounds: int | None = None,
        input_timeout: float | None = None,
        task_ttl: float | None = None,
        task_poll_interval: float | None = None,
        max_tasks: int | None = None,
        max_tasks_per_client: int | None = None,
        rerun_handlers: bool | None = None,
        extensions: Mapping[str, Mapping[str, Any]] | None = None,
        experimental: Mapping[str, Mapping[str, Any]] | None = None,
        max_threads: int | None = None,
    ) -> None:
        info = camel_case(
            name=name, version=version, title=title, description=description, website_url=website_url, icons=icons
        )
        options = camel_case(
            debug=debug,
            page_size=page_size,
            max_running=max_running,
            max_waiting=max_waiting,
            max_waiting_bytes=max_waiting_bytes,
            max_message_bytes=max_message_bytes,
            max_nesting=max_nesting,
            max_sessions=max_sessions,
            cache_scope=cache_scope,
            state_keys=None if state_keys is None else [encode_base64(key) for key in state_keys],
            max_rounds=max_rounds,
            max_tasks=max_tasks,
            max_tasks_per_client=max_tasks_per_client,
            rerun_handlers=rerun_handlers,
            extensions=extensions,
            experimental=experimental,
            **in_ms(
                session_idle=session_idle,
                drain_deadline=drain_deadline,
                keep_alive=keep_alive,
                ttl=ttl,
                state_lifetime=state_lifetime,
                input_timeout=input_timeout,
                task_ttl=task_ttl,
                task_poll_interval=task_poll_interval,
            ),
        )
        self.name = name
        self.version = version
        super().__init__(
            camel_case(info=info, instructions=instructions, options=options),
            5.0 if drain_deadline is None else checked_time("drain_deadline", drain_deadline),
            max_threads,
        )

    def __repr__(self) -> str:
        things: dict[str, list[Any]] = {}
        for kind, key in self._things:
            things.setdefault(f"{kind}s", []).append(key)
        shown = [
            f"{kind}={things[kind]!r}"
            for kind in ("tools", "resources", "resourceTemplates", "prompts")
            if kind in things
        ]
        return f"Server({', '.join([repr(self.name), f'version={self.version!r}', *shown])})"
