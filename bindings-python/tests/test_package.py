"""The package as programs import it."""

from __future__ import annotations

import pickle
import types
import typing

import trunkline

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


def test_types_of_public_signatures_are_exported() -> None:
    for name in ("AsyncProvider", "ConnectOptions", "EnterLifespan", "Messages", "Provider", "Target"):
        assert name in PUBLIC and getattr(trunkline, name) is not None
