"""Agent skills and directories of files, which the core serves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import trunkline

from .._generated.option_names import DIRECTORY_OPTIONS, SKILL_OPTIONS
from ..errors import InvalidArgumentError
from ..model.base import encode_base64
from ..options import Unpack, encoded
from .handler import Handler
from .registry import Registry


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
        **options: Unpack[trunkline.SkillOptions],
    ) -> Skill:
        """Add an agent skill: a folder with a `SKILL.md` that starts with its name and
        description. Its files are read now and served as resources.

        Args:
            files: The folder, or the files by their paths within it, such as
                `references/factors.md`.
            options: See `SkillOptions`.

        Returns:
            The handle for `remove_skill`.

        Raises:
            InvalidArgumentError: If the folder cannot be read, a file is not allowed in skills, or
                the root is taken.
        """
        skill = Skill(options.get("root") or files)
        self._add(Handler("skill", skill, {**_contents(files), **encoded(SKILL_OPTIONS, options)}))
        return skill

    def add_directory(
        self, uri: str, path: str | os.PathLike[str], **options: Unpack[trunkline.DirectoryOptions]
    ) -> None:
        """Add a directory whose files are served as resources. Files are read on request: text as
        text, everything else as blobs.

        Nothing outside of the directory can be read: no `..`, no absolute paths, no links that lead
        outside.

        Args:
            uri: Prefix of the files' URIs, such as `docs://`, followed by a `/` and the path within
                the directory.
            path: The directory.
            options: See `DirectoryOptions`.

        Raises:
            InvalidArgumentError: If the URI is malformed or already used by a directory, or the
                path is not a directory.
        """
        registration = {"uri": uri, "path": _absolute(path), **encoded(DIRECTORY_OPTIONS, options)}
        self._add(Handler("directory", uri, registration))

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
            f"a skill must be a folder or a mapping of paths to files, not {type(files).__qualname__}"
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
    raise InvalidArgumentError(f"the file {path!r} of a skill must be str or bytes, not {type(file).__qualname__}")
