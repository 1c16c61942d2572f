"""Parses docstrings in the Google, NumPy and reST styles."""

from __future__ import annotations

import re
from typing import Final

# The sections that list parameters, and those that are omitted, because they don't help callers.
_PARAMETERS: Final = "Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters"
_OMITTED: Final = "Returns|Return|Yields|Yield|Raises|Raise|Exceptions"
_TITLE: Final = rf"(?:(?:{_PARAMETERS})|(?:{_OMITTED}))"
# Indented and empty lines.
_INDENTED: Final = r"(?:(?:[ \t].*)?\n)*"
_FIELD: Final = r"(?:param|parameter|arg|argument|key|keyword)[ \t]+(?:[^:\n]*[ \t])?\**(?P<name>[^:\s*]+)[ \t]*"
_OTHER_FIELD: Final = r"(?:type|returns?|rtype|raises?|except|exception|yields)(?:[ \t][^:\n]*)?"
# In order: an underlined title, up to the next one; a title with a colon; and a field.
_PART: Final = (
    rf"^(?P<numpy>{_TITLE}):*\n---+\n(?P<below>(?:(?!\S.*\n---+\n).*\n)*)"
    rf"|^(?P<google>{_TITLE}):+\n(?P<inside>{_INDENTED})"
    rf"|^:(?:{_FIELD}|{_OTHER_FIELD}):(?P<about>.*\n{_INDENTED})"
)
_MORE: Final = r"(?P<more>(?:\n(?:[ \t].*)?)*)"
# `name : type`, or several names.
_NUMPY_ENTRY: Final = rf"^(?P<names>\**\w+(?:[ \t]*,[ \t]*\**\w+)*)[ \t]*(?::.*)?$(?P<text>){_MORE}"
# `name: text` or `name (type): text`.
_GOOGLE_ENTRY: Final = rf"^(?P<names>\**\w+)[ \t]*(?:\(.*?\)[ \t]*)?:(?P<text>.*){_MORE}"


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description, without the sections on parameters, results and exceptions, and the
    descriptions of the parameters.
    """
    parameters: dict[str, str] = {}

    def take(part: re.Match[str]) -> str:
        if name := part["name"]:
            parameters[name] = _joined(part["about"])
        elif re.fullmatch(_PARAMETERS, part["numpy"] or part["google"] or ""):
            from inspect import cleandoc

            entry, block = (_NUMPY_ENTRY, part["below"]) if part["numpy"] else (_GOOGLE_ENTRY, part["inside"])
            for found in re.finditer(entry, cleandoc(f"\n{block}"), re.MULTILINE):
                for name in found["names"].split(","):
                    parameters[name.strip(" \t*")] = _joined(found["text"] + found["more"])
        return ""

    lines = "".join(f"{line.rstrip()}\n" for line in text.split("\n"))
    return re.sub(_PART, take, lines, flags=re.MULTILINE).strip(), parameters


def _joined(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text).strip()
