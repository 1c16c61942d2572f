"""Types to JSON Schema and back."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import functools
import inspect
import math
import os
import pathlib
import sys
import threading
import types
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, make_dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, NewType, Optional, TypedDict, TypeVar, Union

import annotated_types
import pydantic
import pytest
import typing_extensions
from typing_extensions import NotRequired, Required, TypeAliasType

from support import named
from trunkline import Context, Field, InvalidArgumentError, Server, SyncContext
from trunkline._internal import _native
from trunkline._internal.returns import Returns
from trunkline._internal.schema.builder import Builder
from trunkline._internal.schema.jsonable import jsonable
from trunkline._internal.schema.unsupported import UnsupportedType
from trunkline._internal.signature import parameters
from trunkline._internal.signature.tool_signature import Signature


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclass
class Point:
    """A place."""

    x: int
    y: int = 0
    label: str | None = None
    tags: list[str] = field(default_factory=list[str])


@dataclass
class Line:
    start: Point
    end: Point


@dataclass
class Node:
    value: int
    children: list[Node] = field(default_factory=list["Node"])


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    a: Required[int]
    b: str


class Child(Partial):
    c: dt.date


class Pair(NamedTuple):
    name: str
    when: dt.date


class Model(pydantic.BaseModel):
    """A model."""

    count: int = pydantic.Field(ge=1, alias="theCount")
    inner: list[Inner] = []


class Inner(pydantic.BaseModel):
    when: dt.datetime


Model.model_rebuild()

UserId = NewType("UserId", int)
T = TypeVar("T")


@dataclass
class Box(Generic[T]):
    content: T


Tree = TypeAliasType("Tree", "dict[str, Tree | int]")


class Alias:
    """As `type Name = ...` creates since Python 3.12: its value may contain the alias itself."""

    __type_params__ = ()

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__value__: Any = self

    def __repr__(self) -> str:
        return self.__name__


Alias.__name__ = "TypeAliasType"


def schema_of(tp: Any) -> Any:
    builder = Builder("input")
    return builder.finish(builder.node(tp).schema)


def output_schema(tp: Any) -> Any:
    return Returns.of(tp, None).schema


def built(tp: Any, value: Any) -> Any:
    return Builder("input").node(tp).build(value)


SCHEMAS: list[tuple[Any, Any]] = [
    (str, {"type": "string"}),
    (typing_extensions.LiteralString, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    (bytes, {"type": "string", "contentEncoding": "base64"}),
    (dt.datetime, {"type": "string", "format": "date-time"}),
    (dt.date, {"type": "string", "format": "date"}),
    (dt.time, {"type": "string", "format": "time"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (pathlib.Path, {"type": "string", "format": "path"}),
    (list, {"type": "array"}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (list[Any], {"type": "array"}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (
        tuple[int, str],
        {"type": "array", "minItems": 2, "maxItems": 2, "prefixItems": [{"type": "integer"}, {"type": "string"}]},
    ),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
    (dict, {"type": "object"}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Mapping[str, Any], {"type": "object"}),
    (
        dict[Colour, int],
        {"type": "object", "additionalProperties": {"type": "integer"}, "propertyNames": {"enum": ["red", "blue"]}},
    ),
    (dict[Level, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045 - the old spelling too
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),  # noqa: UP007
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a"], {"type": "string", "const": "a"}),
    (Literal[1, "a", None], {"enum": [1, "a", None]}),  # noqa: PYI061
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Access, {"type": "integer"}),
    (UserId, {"type": "integer"}),
    (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
    (
        Annotated[int, Field(ge=1, lt=10, multiple_of=2)],
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 2},
    ),
    (
        Annotated[str, Field(min_length=1, max_length=5, pattern="^a")],
        {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
    ),
    (Annotated[list[int], Field(max_length=3)], {"type": "array", "items": {"type": "integer"}, "maxItems": 3}),
    (
        Annotated[dict[str, int], Field(min_length=1)],
        {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
    ),
    (Annotated[str | None, Field(max_length=3)], {"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 3}),
    (
        Annotated[int, Field(title="T", examples=[1], extra={"x-mcp-header": "N"})],
        {"type": "integer", "title": "T", "examples": [1], "x-mcp-header": "N"},
    ),
    (
        Annotated[int, annotated_types.Ge(1), annotated_types.Lt(5)],
        {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
    ),
    (
        Annotated[list[int], annotated_types.Len(1, 3)],
        {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
    ),
    (
        Annotated[int, pydantic.Field(gt=0, description="d")],
        {"type": "integer", "exclusiveMinimum": 0, "description": "d"},
    ),
    (Annotated[str, pydantic.Field(pattern="^x")], {"type": "string", "pattern": "^x"}),
]


@pytest.mark.parametrize(("tp", "schema"), SCHEMAS, ids=named)
def test_schema(tp: Any, schema: Any) -> None:
    assert schema_of(tp) == schema


VALUES: list[tuple[Any, Any, Any]] = [
    (int, 5.0, 5),
    (float, 3, 3.0),
    (bytes, "aGk=", b"hi"),
    (dt.datetime, "2024-01-02T03:04:05Z", dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc)),
    (dt.date, "2024-01-02", dt.date(2024, 1, 2)),
    (dt.time, "03:04:05", dt.time(3, 4, 5)),
    (uuid.UUID, "12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    (pathlib.Path, "a/b", pathlib.Path("a/b")),
    (pathlib.PurePosixPath, "a/b", pathlib.PurePosixPath("a/b")),
    (pathlib.PureWindowsPath, "a/b", pathlib.PureWindowsPath("a/b")),
    (os.PathLike[str], "a/b", pathlib.Path("a/b")),
    (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
    (decimal.Decimal, 2, decimal.Decimal(2)),
    (set[int], [1, 2], {1, 2}),
    (frozenset[str], ["a"], frozenset({"a"})),
    (tuple[int, ...], [1, 2], (1, 2)),
    (tuple[int, str], [1, "a"], (1, "a")),
    (list[dt.date], ["2024-01-02"], [dt.date(2024, 1, 2)]),
    (dict[str, dt.date], {"a": "2024-01-02"}, {"a": dt.date(2024, 1, 2)}),
    (dict[Colour, int], {"red": 1}, {Colour.RED: 1}),
    (dict[Level, int], {"2": 1}, {Level.HIGH: 1}),
    (Colour, "red", Colour.RED),
    (Level, 2, Level.HIGH),
    (Access, 3, Access.READ | Access.WRITE),
    (Literal[Colour.RED], "red", Colour.RED),
    (dt.date | None, None, None),
    (dt.date | None, "2024-01-02", dt.date(2024, 1, 2)),
    (int | str, "5", "5"),
    (int | float, 5.5, 5.5),
    (int | dt.date, "2024-01-02", dt.date(2024, 1, 2)),
    (dt.date | str, "hello", "hello"),
    (list[int] | dict[str, Colour], {"a": "red"}, {"a": Colour.RED}),
    (int | str, 5.0, 5),
    (Point, {"x": 1}, Point(1)),
    (Point, {"x": 1, "y": 2, "label": "l", "tags": ["t"]}, Point(1, 2, "l", ["t"])),
    (Line, {"start": {"x": 1}, "end": {"x": 2}}, Line(Point(1), Point(2))),
    (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
    (Point | Line, {"start": {"x": 1}, "end": {"x": 2}}, Line(Point(1), Point(2))),
    (Movie, {"title": "t"}, {"title": "t"}),
    (Child, {"a": 1, "c": "2024-01-02"}, {"a": 1, "c": dt.date(2024, 1, 2)}),
    (Pair, ["n", "2024-01-02"], Pair("n", dt.date(2024, 1, 2))),
    (Box[dt.date], {"content": "2024-01-02"}, Box(dt.date(2024, 1, 2))),
    (Tree, {"a": {"b": 1}}, {"a": {"b": 1}}),
    (Model, {"theCount": 2}, Model(theCount=2)),
    (list[Model], [{"theCount": 2, "inner": []}], [Model(theCount=2)]),
    (Annotated[int, Field(ge=1)], 3.0, 3),
]


@pytest.mark.parametrize(("tp", "json", "value"), VALUES, ids=named)
def test_values_are_built(tp: Any, json: Any, value: Any) -> None:
    got = built(tp, json)
    assert got == value
    assert type(got) is type(value)


def test_dataclass_is_defined_once_and_described() -> None:
    assert schema_of(Line) == {
        "$ref": "#/$defs/Line",
        "$defs": {
            "Line": {
                "type": "object",
                "properties": {"start": {"$ref": "#/$defs/Point"}, "end": {"$ref": "#/$defs/Point"}},
                "required": ["start", "end"],
            },
            "Point": {
                "type": "object",
                "description": "A place.",
                "properties": {
                    "x": {"type": "integer"},
                    "y": {"type": "integer", "default": 0},
                    "label": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["x"],
            },
        },
    }


def test_unreferenced_definitions_are_dropped() -> None:
    assert "$defs" not in output_schema(Point)
    assert output_schema(Line)["$defs"].keys() == {"Point"}
    assert output_schema(Node)["$defs"].keys() == {"Node"}
    assert output_schema(list[Line])["$defs"].keys() == {"Line", "Point"}


def test_recursion_ends_in_a_reference() -> None:
    assert schema_of(Node)["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema_of(Tree)["$defs"]["Tree"]["additionalProperties"]["anyOf"][0] == {"$ref": "#/$defs/Tree"}


def test_a_result_may_have_a_recursive_alias() -> None:
    nested = Alias("Nested")
    list_of: Any = list
    nested.__value__ = str | list_of[nested]
    checks = _native.Schema(output_schema(nested))
    assert checks.problem(["a", ["b"]]) is None
    assert checks.problem(["a", [1]])


@pytest.mark.parametrize("length", [1, 2])
def test_an_alias_that_stands_for_itself_is_refused_by_name(length: int) -> None:
    first, other = Alias("First"), Alias("Other")
    if length == 2:
        first.__value__, other.__value__ = other, first

    def takes(value: Any) -> None: ...
    def returns() -> Any: ...

    takes.__annotations__["value"] = returns.__annotations__["return"] = first
    for function, place in ((takes, "parameter 'value'"), (returns, "return annotation")):
        with pytest.raises(InvalidArgumentError, match=f"{place}: the alias First stands for itself"):
            Signature(function)


def test_typed_dict_qualifiers_apply_even_in_string_annotations() -> None:
    assert schema_of(Movie)["$defs"]["Movie"]["required"] == ["title"]
    assert schema_of(Partial)["$defs"]["Partial"]["required"] == ["a"]
    assert schema_of(Child)["$defs"]["Child"]["required"] == ["a", "c"]


def test_two_types_of_the_same_name_are_kept_apart() -> None:
    def make(tp: Any) -> Any:
        @dataclass
        class Same:
            value: Any

        Same.__annotations__["value"] = tp
        return Same

    schema = schema_of(tuple[make(int), make(str)])
    assert [one["$ref"] for one in schema["prefixItems"]] == ["#/$defs/Same", "#/$defs/Same2"]
    assert schema["$defs"]["Same2"]["properties"]["value"] == {"type": "string"}


def test_pydantic_definitions_are_at_the_root() -> None:
    schema = schema_of(list[Model])
    assert schema["items"]["properties"]["theCount"]["minimum"] == 1
    assert schema["$defs"]["Inner"]["properties"]["when"]["format"] == "date-time"


def test_pydantic_validators_apply() -> None:
    def double(value: int) -> int:
        return value * 2

    assert built(Annotated[int, pydantic.AfterValidator(double)], 2) == 4


WITHOUT_JSON: list[tuple[Any, str]] = [
    (types.ModuleType, "module cannot be represented in JSON"),
    (Literal[b"x"], "cannot be represented in JSON"),
    (type(sys.stdout), "cannot be represented in JSON"),
    (Annotated[int, Field(min_length=1)], "min_length needs a type with a length"),
    ([int], "is not a type"),
    (dict[tuple[int, int], str], "keys of a JSON object must be strings"),
    ("Unknown", "could not be resolved"),
]


@pytest.mark.parametrize(("tp", "text"), WITHOUT_JSON, ids=named)
def test_types_without_a_json_form_are_refused(tp: Any, text: str) -> None:
    with pytest.raises(UnsupportedType, match=text):
        schema_of(tp)


def test_without_pydantic_keys_are_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pydantic")
    with pytest.raises(UnsupportedType, match="keys of a JSON object must be strings"):
        schema_of(dict[int, str])


def test_subclasses_have_the_json_form_of_their_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as the identifiers that drivers of databases return."""
    monkeypatch.delitem(sys.modules, "pydantic_core")
    bases = (dt.datetime, dt.date, dt.time, dt.timedelta, uuid.UUID, decimal.Decimal)
    given: dict[Any, tuple[Any, ...]] = {dt.datetime: (2024, 2, 29), dt.date: (2024, 2, 29), uuid.UUID: ("0" * 32,)}
    for base in bases:
        arguments = given.get(base, (1,))
        assert jsonable(type(f"My{base.__name__}", (base,), {})(*arguments)) == jsonable(base(*arguments))


def test_a_function_is_read() -> None:
    def find(city: str, days: Annotated[int, "how many"] = 3, *, at: dt.date | None = None, ctx: SyncContext) -> str:
        return f"{city}{days}{at}{ctx}"

    signature = Signature(find)
    assert signature.input_schema == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "description": "how many", "default": 3},
            "at": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "default": None},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert signature.parameters.context_name == "ctx"
    assert not signature.parameters.is_async
    assert signature.bind({"city": "Oslo", "at": "2024-01-02", "unknown": 1}) == {
        "city": "Oslo",
        "at": dt.date(2024, 1, 2),
    }


@pytest.mark.parametrize("annotation", [Annotated[int, "who"], 'Annotated[int, "who"]'])
def test_parameters_that_a_decorator_adds_have_their_types(annotation: Any) -> None:
    def with_user(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def wrapper(*, user: int, **others: Any) -> str:
            return f"{user}: {function(**others)}"

        user = inspect.Parameter("user", inspect.Parameter.KEYWORD_ONLY, annotation=annotation)
        given = inspect.signature(function).parameters.values()
        wrapper.__signature__ = inspect.Signature([*given, user])  # type: ignore[attr-defined]
        return wrapper

    @with_user
    def greet(name: str) -> str:
        return f"hi {name}"

    signature = Signature(greet)
    assert signature.input_schema is not None
    assert signature.input_schema["properties"] == {
        "name": {"type": "string"},
        "user": {"type": "integer", "description": "who"},
    }
    assert greet(**signature.bind({"name": "Ada", "user": 1.0})) == "1: hi Ada"


def test_a_parameter_whose_default_is_none_accepts_null() -> None:
    none: Any = None

    def find(days: int = none, at: Line | Point = none, note: str | None = None) -> str:
        return repr((days, at, note))

    signature = Signature(find)
    assert signature.input_schema is not None
    properties = signature.input_schema["properties"]
    null: Any = {"type": "null"}
    assert properties["days"] == {"anyOf": [{"type": "integer"}, null], "default": None}
    assert null in properties["at"]["anyOf"]
    assert properties["note"] == {"anyOf": [{"type": "string"}, null], "default": None}
    assert find(**signature.bind({"days": None, "at": None})) == "(None, None, None)"

    def broken(days: Annotated[str, Field(pattern="(")] = none) -> None: ...

    with pytest.raises(InvalidArgumentError, match=r"parameter 'days': .*regex"):
        Signature(broken)


def test_defaults_without_a_json_form_are_left_out() -> None:
    @dataclass
    class Range:
        most: float = math.inf

    class Offer(pydantic.BaseModel):
        most: float = math.inf
        default: int = 3

    def find(within: Range, most: float = math.inf, some: Sequence[float] = (math.nan,)) -> Offer:
        return Offer(most=within.most)

    Server("test", version="1").add_tool(find)
    signature = Signature(find)
    assert signature.input_schema is not None and signature.returns.schema is not None
    for schema in (signature.input_schema, signature.input_schema["$defs"]["Range"], signature.returns.schema):
        assert all("default" not in member for name, member in schema["properties"].items() if name != "default")
    assert signature.returns.schema["properties"]["default"]["default"] == 3


def test_a_function_without_parameters_has_no_schema() -> None:
    def nothing() -> None: ...

    assert Signature(nothing).input_schema is None


def test_keyword_parameters_accept_any_argument() -> None:
    def anything(**options: Any) -> None: ...

    signature = Signature(anything)
    assert signature.input_schema == {"type": "object", "properties": {}}
    assert signature.bind({"a": 1}) == {"a": 1}


def test_field_as_a_default() -> None:
    def pick(
        count: int = pydantic.Field(default=3, ge=1),
        names: list[str] = pydantic.Field(default_factory=list),
        must: str = pydantic.Field(description="needed"),
    ) -> None: ...

    signature = Signature(pick)
    assert signature.input_schema is not None
    assert signature.input_schema["properties"]["count"] == {"type": "integer", "minimum": 1, "default": 3}
    assert signature.input_schema["properties"]["must"]["description"] == "needed"
    assert signature.input_schema["required"] == ["must"]
    assert signature.bind({"must": "x"}) == {"must": "x", "count": 3, "names": []}


def test_classes_local_to_a_function_are_found() -> None:
    @dataclass
    class Local:
        value: int

    def take(local: Local) -> Local:
        return local

    assert Signature(take).bind({"local": {"value": 1}}) == {"local": Local(1)}


def test_a_value_that_matches_the_schema_but_not_the_type_names_its_path() -> None:
    def on(day: dt.date) -> None: ...

    with pytest.raises(ValueError, match=r"^/day: "):
        Signature(on).bind({"day": "2024-02-31"})


def _bad_parameter(value: types.ModuleType) -> None: ...
def _bad_return() -> types.ModuleType: ...
def _positional(value: int, /) -> None: ...
def _starred(*values: int) -> None: ...
def _unknown(value: DoesNotExist) -> None: ...  # type: ignore[name-defined] # noqa: F821
def _generator() -> Any:
    yield 1


def _two_contexts(a: SyncContext, b: SyncContext) -> None: ...
def _wrong_context(ctx: Context) -> None: ...
async def _wrong_async_context(ctx: SyncContext) -> None: ...


BAD_FUNCTIONS: list[tuple[Any, str]] = [
    (_bad_parameter, "_bad_parameter: parameter 'value': module cannot be represented in JSON"),
    (_bad_return, "_bad_return: return annotation: module cannot be represented in JSON"),
    (_positional, "_positional: parameter 'value' is positional-only"),
    (_starred, r"_starred: parameter '\*values'"),
    (_unknown, "_unknown: parameter 'value': 'DoesNotExist' cannot be resolved"),
    (_generator, "_generator: a tool must return its result"),
    (_two_contexts, "'a' and 'b' are both the context"),
    (_wrong_context, "parameter 'ctx': Context is for functions defined with async def; use SyncContext"),
    (_wrong_async_context, "parameter 'ctx': SyncContext is for functions defined with def; use Context"),
    (functools.singledispatch(_bad_return), "_bad_return: a tool cannot be a singledispatch function"),
    (3, "must be a function, not int"),
]


@pytest.mark.parametrize(("function", "text"), BAD_FUNCTIONS)
def test_errors_name_an_invalid_function(function: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text):
        Signature(function)


def test_lazily_evaluated_annotations_that_fail_are_reported() -> None:
    """As from Python 3.14 on (PEP 649)."""

    class Late:
        @property
        def __annotations__(self) -> dict[str, Any]:  # pyright: ignore[reportIncompatibleVariableOverride]
            raise NameError("name 'Missing' is not defined")

    assert "'Missing' is not defined" in parameters._unresolved(Late(), NameError("name 'Missing' is not defined"))

    class Signed:
        __name__ = "signed"

        @property
        def __signature__(self) -> Any:
            raise NameError("name 'Missing' is not defined")

        def __call__(self) -> None: ...

    with pytest.raises(InvalidArgumentError, match="'Missing' is not defined"):
        Server("test", version="1").add_tool(Signed(), name="signed")


def _drawn(self: Any, seed: int) -> None:
    self.x += seed


# Without annotations as strings, which Python 3.10 cannot resolve for an InitVar.
Drawn: Any = make_dataclass(
    "Drawn",
    [("x", int), ("seed", InitVar[int]), ("STEP", ClassVar[int], 1), ("lock", ClassVar[Any], threading.Lock())],
    namespace={"__post_init__": _drawn},
)


def test_init_vars_are_given_and_neither_they_nor_class_variables_are_sent() -> None:
    fields = {"x": {"type": "integer"}, "seed": {"type": "integer"}}
    assert schema_of(Drawn)["$defs"]["Drawn"] == {"type": "object", "properties": fields, "required": ["x", "seed"]}
    drawn = Builder("input").node(Drawn).build({"x": 1, "seed": 2})
    assert drawn.x == 3
    assert output_schema(Drawn) == {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    assert Returns.of(Drawn, None).render(drawn)[1] == {"x": 3}
    assert jsonable([drawn]) == [{"x": 3}]


def _boxed(**fields: Any) -> Any:
    item = pydantic.create_model("Item", **fields)
    order = pydantic.create_model("Order", item=item)
    return pydantic.create_model("Box", order=order, item2=pydantic.create_model("Item2", box=(int, ...)))


def test_models_that_contain_different_models_of_the_same_name_are_kept_apart() -> None:
    builder = Builder("input")
    for box, value in ((_boxed(sku=(str, ...)), {"sku": "a"}), (_boxed(number=(int, ...)), {"number": 1})):
        schema = builder.finish(builder.node(box).schema)
        checks = _native.Schema(schema)
        assert checks.problem({"order": {"item": value}, "item2": {"box": 1}}) is None
        assert checks.problem({"order": {"item": {"box": 1}}, "item2": {"box": 1}})
        assert checks.problem({"order": {"item": value}, "item2": value})


@dataclass
class Page(Generic[T]):
    items: list[T]


@dataclass
class Numbers(Page[int]):
    more: str = ""


@dataclass
class Named(Page[str], Generic[T]):
    name: T


U = typing_extensions.TypeVar("U")
Twice = TypeAliasType("Twice", tuple[U, U], type_params=(U,))


class Held(typing_extensions.TypedDict, Generic[T]):
    held: T


class HeldNumbers(Held[list[int]]):
    label: str


class Single(typing_extensions.NamedTuple, Generic[T]):
    first: T


@pytest.mark.parametrize(
    ("tp", "valid", "invalid"),
    [
        (Numbers, {"items": [1]}, {"items": ["a"]}),
        (Named[int], {"items": ["a"], "name": 1}, {"items": ["a"], "name": "b"}),
        (Named[int], {"items": ["a"], "name": 1}, {"items": [1], "name": 1}),
        (HeldNumbers, {"held": [1], "label": "a"}, {"held": ["b"], "label": "a"}),
        (Single[int], [1], ["a"]),
        (Twice[int], [1, 2], [1, "b"]),
    ],
    ids=named,
)
def test_type_arguments_apply_to_inherited_members(tp: Any, valid: Any, invalid: Any) -> None:
    checks = _native.Schema(schema_of(tp))
    assert checks.problem(valid) is None
    assert checks.problem(invalid)
