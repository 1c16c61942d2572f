"""The package as programs import it."""

from __future__ import annotations

import inspect
import pickle
import types
import typing
from collections.abc import Iterator
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
    for value in (trunkline.TextContent("hi"), trunkline.ProtocolError("no", -32001, {"a": 1})):
        pickled = pickle.dumps(value)
        assert b"_internal" not in pickled
        again = pickle.loads(pickled)
        assert type(again) is type(value) and str(again) == str(value)


def test_annotations_of_public_classes_can_be_read() -> None:
    classes = [value for name in PUBLIC if isinstance(value := getattr(trunkline, name), type)]
    read = [value for value in classes if value.__module__ == "trunkline" and typing.get_type_hints(value)]
    assert len(read) > 50


def test_annotations_of_public_functions_can_be_read() -> None:
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


def test_annotations_of_public_methods_can_be_read() -> None:
    classes = [value for name in PUBLIC if isinstance(value := getattr(trunkline, name), type)]
    read = {function: typing.get_type_hints(function) for cls in classes for function in functions_of(cls)}
    assert len(read) > 300
    assert read[trunkline.Server.add_tool]["options"] == Unpack[trunkline.ToolOptions]
    assert read[trunkline.Client.__init__]["target"] is not None


@pytest.mark.parametrize("ttl", [-1, float("nan"), "5"])
def test_a_time_that_is_none_is_refused_with_its_name(ttl: Any) -> None:
    contents = [trunkline.ResourceContents("text", uri="x://a")]
    with pytest.raises(trunkline.InvalidArgumentError, match=r"^ttl must be a number of seconds, 0 or more, not"):
        trunkline.ReadResourceResult(contents, ttl=ttl).to_json()
    with pytest.raises(trunkline.InvalidArgumentError, match="either text or blob"):
        trunkline.ResourceContents(uri="x://a")


def test_types_of_public_signatures_are_exported() -> None:
    for name in ("AsyncProvider", "ConnectOptions", "EnterLifespan", "Messages", "Provider", "Target"):
        assert name in PUBLIC and getattr(trunkline, name) is not None
