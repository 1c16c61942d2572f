"""Agent skills and directories of files, which the core serves."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from typing import Any

from .._generated.models import CacheScope
from ..errors import InvalidArgumentError
from ..model.base import encode_base64
from ..options import camel_case, in_ms
from .handler import Handler
from .registry import Registry


class SkillHandler(Handler):
    """Represents a skill among registered features. The core serves it, so it is never called."""

    __slots__ = ()

    kind = "skill"

    def __init__(self, key: Hashable, registration: dict[str, Any]) -> None:
        super().__init__(key, registration, in_thread=False)


class DirectoryHandler(SkillHandler):
    """Represents a directory in the same way."""

    __slots__ = ()

    kind = "directory"


class Skill:
    """A skill of a server, as returned by `add_skill`."""

    __slots__ = ("_shown",)

    def __init__(self, given: object) -> None:
        self._shown = f"Skill({[*given] if isinstance(given, Mapping) else given!r})"

    def __repr__(self) -> str:
        return self._shown


class Skills(Registry):
    """The skill methods of a server."""

    def add_skill(
        self,
        files: str | os.PathLike[str] | Mapping[str, str | bytes],
        *,
        root: str | None = None,
        ttl: float | None = None,
        cache_scope: CacheScope | None = None,
    ) -> Skill:
        """Adds an agent skill: a folder with a `SKILL.md`, which begins with its name and
        description. Its files are read now, and clients read them as resources.

        Args:
            files: the folder, or the files by their paths within it, such as
                `references/factors.md`.
            root: the URI of the folder, such as `skill://team/pdf-tools` (default: `skill://` and
                the name); its last segment is the name of the skill.
            ttl: for how many seconds clients may keep what they read.
            cache_scope: whether others than the caller may be given what was kept.

        Returns:
            The handle for `remove_skill`.

        Raises:
            InvalidArgumentError: if the folder cannot be read, a file does not belong into skills,
                or the root is taken.
        """
        skill = Skill(root or files)
        hints = camel_case(root=root, cache_scope=cache_scope, **in_ms(ttl=ttl))
        self._add(SkillHandler(skill, {**_contents(files), **hints}), "this skill")
        return skill

    def add_directory(
        self, uri: str, path: str | os.PathLike[str], *, hidden: bool = False, max_file_bytes: int | None = None
    ) -> None:
        """Add a directory whose files are served as resources. Files are read on request: text as
        text, everything else as blobs.

        Nothing outside of the directory can be read: no `..`, no absolute paths, no links that lead
        outside.

        Args:
            uri: Prefix of the files' URIs, such as `docs://`, followed by a `/` and the path within
                the directory.
            path: The directory.
            hidden: Whether to include files and directories whose names begin with a dot.
            max_file_bytes: Maximum size of a file that can be read; default 4 MiB.

        Raises:
            InvalidArgumentError: If the URI is malformed or already used by a directory, or the
                path is not a directory.
        """
        registration = camel_case(uri=uri, path=_absolute(path), hidden=hidden, max_file_bytes=max_file_bytes)
        handler = DirectoryHandler(uri, registration)
        del handler.registration["lane"]
        self._add(handler, f"a directory at {uri!r}")

    def remove_directory(self, uri: str) -> None:
        """Remove a directory.

        Raises:
            InvalidArgumentError: If there is none at this URI.
        """
        self._remove("directory", uri, f"directory at {uri!r}")

    def remove_skill(self, skill: Skill) -> None:
        """Remove a skill.

        Raises:
            InvalidArgumentError: If it was already removed.
        """
        self._remove("skill", skill, "such skill")


def _contents(files: str | os.PathLike[str] | Mapping[str, str | bytes]) -> dict[str, Any]:
    if isinstance(files, (str, os.PathLike)):
        return {"folder": _absolute(files)}
    if not isinstance(files, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidArgumentError(
            f"a skill is a folder or a mapping of paths to files, not {type(files).__qualname__}"
        )
    return {"files": [_file(path, file) for path, file in files.items()]}


def _absolute(folder: str | os.PathLike[str]) -> str:
    """Return an absolute path, because the working directory may differ when the directory is
    registered again.
    """
    from pathlib import Path

    return str(Path(folder).absolute())


def _file(path: Any, file: Any) -> dict[str, Any]:
    if isinstance(file, str):
        return {"path": path, "text": file}
    if isinstance(file, (bytes, bytearray)):
        return {"path": path, "blob": encode_base64(bytes(file))}
    raise InvalidArgumentError(f"the file {path!r} of a skill is text or bytes, not {type(file).__qualname__}")
