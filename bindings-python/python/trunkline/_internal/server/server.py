"""A server: its name, its features, and how it is served."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import trunkline

from .._generated.models import Icon
from .._generated.option_names import SERVER_OPTIONS
from ..features.completion import Completions
from ..features.handler import Handler
from ..features.middleware import Middlewares
from ..features.mount import Mounts
from ..features.prompt import Prompts
from ..features.provider import Providers
from ..features.registry import EnterLifespan
from ..features.request_handler import RequestHandlers
from ..features.resource import Resources
from ..features.skill import Skills
from ..features.tool import Tools
from ..model.base import present
from ..options import Unpack, encoded, in_json
from ..signature.dependencies import Depends
from .serving import Serving


class Server(Tools, Resources, Prompts, Completions, Skills, Providers, Middlewares, RequestHandlers, Mounts, Serving):
    """Tools, resources and prompts under a name, served on all protocol revisions at once.

    Creating a server and adding features starts nothing; `run`, `serve_http` and in-memory clients
    do. Times are in seconds.

    Args:
        name: The server's name, as clients see it. Must not be empty.
        version: The server's own version, in any format.
        title: Display name. Default: none.
        description: What the server is for. Default: none.
        website_url: URL with more information. Default: none.
        icons: Icons for user interfaces. Default: none.
        instructions: How a model should use the server. Default: none.
        max_threads: Maximum number of threads for `def` handlers; default 128. Beyond processors +
            4 (at most 32), the pool only grows while no handler returns.
        lifespan: A function of the server that returns an async context manager. It is entered
            before the first call on any transport, and exited when nothing serves or uses the
            server anymore. Its value is `ctx.lifespan`.
        dependencies: Dependencies, such as a check that raises, that run before every tool,
            resource, prompt and request handler and before the handler's own dependencies. Their
            values are not passed to handlers.
        options: See `ServerOptions`, which lists the unit and default of each option.

    Raises:
        InvalidArgumentError: If an option is invalid; the message names it.
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
        max_threads: int | None = None,
        lifespan: EnterLifespan | None = None,
        dependencies: Sequence[Depends] = (),
        **options: Unpack[trunkline.ServerOptions],
    ) -> None:
        store = options.get("store")
        handlers: Mapping[str, Handler] = {}
        if store is not None and not isinstance(store, (str, os.PathLike)):
            from ..store import store_handlers

            handlers = store_handlers(store)
            options = {**options, "store": None}
        lanes = {name: handler.registration["lane"] for name, handler in handlers.items()}
        info = present(name=name, version=version, title=title, description=description, websiteUrl=website_url)
        info |= present(icons=in_json("icons", "icons", icons))
        self.name = name
        self.version = version
        given = encoded(SERVER_OPTIONS, options, Server.__init__)
        json = present(info=info, instructions=instructions, options=given, store=lanes or None)
        super().__init__(json, max_threads, lifespan, dependencies, handlers)

    def __repr__(self) -> str:
        shown = [repr(self.name), f"version={self.version!r}"]
        for kind in ("tool", "resource", "resourceTemplate", "prompt"):
            if keys := [key for of, key in self._things if of == kind]:
                shown.append(f"{kind}s={keys!r}")
        return f"Server({', '.join(shown)})"
