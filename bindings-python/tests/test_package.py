"""The package as programs import it."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline
from trunkline._internal.options import Unpack

PUBLIC: list[str] = vars(trunkline)["__all__"]


def test_public_classes_and_functions_are_named_as_they_are_imported() -> None:
    public = {name: getattr(trunkline, name) for name in PUBLIC}
    kinds = (type, types.FunctionType)
    named = {name: value.__module__ for name, value in public.items() if issubclass(type(value), kinds)}
    inside = {name: module for name, module in named.items() if module.startswith("trunkline")}
    assert len(inside) > 100
    assert {name: module for name, module in inside.items() if module != "trunkline"} == {}
    assert repr(trunkline.Client) == "<class 'trunkline.Client'>"


def test_pickles_name_the_package_alone() -> None:
    missing = trunkline.InsufficientScope(["read", "write"])
    assert str(missing) == "the token does not grant read write"
    for value in (trunkline.TextContent("hi"), trunkline.ProtocolError("no", -32001, {"a": 1}), missing):
        pickled = pickle.dumps(value)
        assert b"_internal" not in pickled
        again = pickle.loads(pickled)
        assert type(again) is type(value) and str(again) == str(value)


def test_annotations_of_public_classes_can_be_resolved() -> None:
    classes = [value for name in PUBLIC if isinstance(value := getattr(trunkline, name), type)]
    read = [value for value in classes if value.__module__ == "trunkline" and typing.get_type_hints(value)]
    assert len(read) > 50


def test_annotations_of_public_functions_can_be_resolved() -> None:
    functions = [value for name in PUBLIC if inspect.isfunction(value := getattr(trunkline, name))]
    assert trunkline.sample in functions and trunkline.elicit in functions
    for function in functions:
        assert "return" in typing.get_type_hints(function), function


def functions_of(cls: type) -> Iterator[Any]:
    """The functions that programs call on a class or its objects, inherited ones too."""
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] != "trunkline":
            continue
        for name, value in vars(base).items():
            function = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
                yield function


def test_annotations_of_public_methods_can_be_resolved() -> None:
    classes = [value for name in PUBLIC if isinstance(value := getattr(trunkline, name), type)]
    read = {function: typing.get_type_hints(function) for cls in classes for function in functions_of(cls)}
    assert len(read) > 300
    assert read[trunkline.Server.add_tool]["options"] == Unpack[trunkline.ToolOptions]
    assert read[trunkline.Client.__init__]["target"] is not None


SERVER_ONLY = """
import inspect, sys, typing
import trunkline

server = trunkline.Server("notes", version="1")
server.tool(lambda: "done", name="save")
for cls in [value for value in vars(trunkline).values() if isinstance(value, type)]:
    typing.get_type_hints(cls)
    for name, function in vars(cls).items():
        if inspect.isfunction(function) and (name == "__init__" or not name.startswith("_")):
            typing.get_type_hints(function)
print(sorted(name for name in sys.modules if name.startswith("trunkline._internal.client.")))
trunkline.SyncClient
print(trunkline.ElicitRequest.__module__, vars(trunkline)["Client"].__module__)
"""


def test_a_server_loads_no_module_of_clients() -> None:
    ended = subprocess.run([sys.executable, "-c", SERVER_ONLY], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["[]", "trunkline trunkline"]


@pytest.mark.parametrize("ttl", [-1, float("nan"), "5"])
def test_an_invalid_time_is_refused_with_its_name(ttl: Any) -> None:
    contents = [trunkline.ResourceContents("text", uri="x://a")]
    with pytest.raises(trunkline.InvalidArgumentError, match=r"^ttl must be a number of seconds, 0 or more, not"):
        trunkline.ReadResourceResult(contents, ttl=ttl).to_json()
    with pytest.raises(trunkline.InvalidArgumentError, match="either text or blob"):
        trunkline.ResourceContents(uri="x://a")


def test_types_of_public_signatures_are_exported() -> None:
    for name in ("AsyncProvider", "ConnectOptions", "EnterLifespan", "Messages", "Provider", "Target"):
        assert name in PUBLIC and getattr(trunkline, name) is not None


def texts_of(bodies: Iterator[list[ast.stmt]]) -> dict[str, str]:
    """The names that are declared with an annotation, each with the text below it."""
    found: dict[str, str] = {}
    for body in bodies:
        for node, below in zip(body, [*body[1:], None], strict=False):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                text = below.value if isinstance(below, ast.Expr) else None
                found.setdefault(node.target.id, "")
                if isinstance(text, ast.Constant):
                    found[node.target.id] = str(text.value)
    return found


def test_public_classes_functions_and_methods_have_docstrings() -> None:
    public = {name: getattr(trunkline, name) for name in PUBLIC}
    classes = {name: value for name, value in public.items() if isinstance(value, type)}
    functions = {name: value for name, value in public.items() if inspect.isfunction(value)}
    members = {
        f"{name}.{member}": value
        for name, cls in classes.items()
        for member, value in inspect.getmembers(cls, lambda one: callable(one) or isinstance(one, property))
        if not member.startswith("_") and not isinstance(value, type)
    }
    assert len(classes) > 100 and len(members) > 500
    described = {name for name, cls in classes.items() if cls.__doc__}
    described |= {name for name, value in (functions | members).items() if inspect.getdoc(value)}
    assert {*classes, *functions, *members} - described == set()


def test_public_aliases_and_options_have_docstrings_and_options_a_default() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in Path(trunkline.__file__).parent.rglob("*.py")]
    aliases = texts_of(tree.body for tree in trees)
    classes = {name for name in PUBLIC if isinstance(getattr(trunkline, name), type)}
    functions = {name for name in PUBLIC if inspect.isfunction(getattr(trunkline, name))}
    others = {*PUBLIC} - classes - functions - {"__version__"}
    assert len(others) > 10
    assert {name for name in others if not aliases.get(name)} == set()
    bodies = [
        node.body
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.ClassDef) and (node.name == "OAuth" or node.name.endswith("Options"))
    ]
    options = [option for body in bodies for option in texts_of(iter([body])).items()]
    assert len(options) > 150
    words = ("efault", "Without", "therwise")
    assert [option for option in options if not any(word in option[1] for word in words)] == []
