"""JSON across the boundary."""

from __future__ import annotations

import enum
import json
import math
from typing import Any

import pytest

from trunkline import InvalidArgumentError
from trunkline._internal import _native

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**63 - 1,
    -(2**63),
    2**64,
    10**60,
    -(10**60),
    0.1,
    -0.0,
    1e300,
    5e-324,
    0.1 + 0.2,
    9007199254740993.0,
    "",
    "text",
    'quotes " and \\ and / and \x00\x1f\u2028',
    "grüße, 漢字, 🎉",
    [],
    {},
    [[], {}, [{}]],
    {"": {"nested": [1, 2.5, None]}, "ключ": "значение"},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_survive_a_round_trip(value: Any) -> None:
    text = _native.to_json(value)
    assert json.loads(text) == value
    again = _native.from_json(text)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_reads_what_others_write(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=2), json.dumps(value, ensure_ascii=False)):
        assert _native.from_json(text.encode()) == value


def test_negative_zero_keeps_its_sign() -> None:
    assert math.copysign(1, _native.from_json(_native.to_json(-0.0))) == -1


def test_tuples_are_arrays_and_subclasses_are_their_base() -> None:
    class Colour(str, enum.Enum):
        RED = "red"

    class Level(enum.IntEnum):
        HIGH = 3

    class Named(dict[str, int]):
        pass

    assert _native.to_json(((1, 2), Level.HIGH, Colour.RED, Named(a=1))) == b'[[1,2],3,"red",{"a":1}]'


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        ({"a": [1, math.nan]}, ValueError, "$.a[1]: NaN"),
        ([math.inf], ValueError, "$[0]: inf"),
        ({"a": {"b": object()}}, TypeError, "$.a.b: a value of type object"),
        ({"a": {1: 2}}, TypeError, "$.a: keys must be str, not int"),
        ([b"bytes"], TypeError, "$[0]: a value of type bytes"),
        ({1, 2}, TypeError, "$: a value of type set"),
    ],
)
def test_errors_for_values_without_json_name_the_path(value: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        _native.to_json(value)
    assert str(caught.value).startswith(text)


def test_nesting_is_bounded_both_ways() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested deeper"):
        _native.to_json(endless)
    with pytest.raises(InvalidArgumentError, match="nested deeper"):
        _native.from_json(b"[" * 100_000)
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    assert _native.from_json(_native.to_json(deep)) == deep


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[1",
        b"[1 2]",
        b'{"a"}',
        b'{"a":}',
        b"{a:1}",
        b'"open',
        b'"\\',
        b'"\\q"',
        b"tru",
        b"nul",
        b"-",
        b"1.2.3",
        b"--1",
        b"1 2",
        b"\xff",
        b"[1,]x",
    ],
)
def test_broken_json_is_an_error(text: bytes) -> None:
    with pytest.raises(InvalidArgumentError, match="JSON"):
        _native.from_json(text)
