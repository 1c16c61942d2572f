"""Python types to JSON Schema, and JSON values back to those types.

The core validates against the schema before a handler runs, so the converters here only have to build objects.
"""

from __future__ import annotations

import os
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin

from .fields import keywords
from .jsonable import jsonable

Schema: TypeAlias = dict[str, Any]
Mode: TypeAlias = Literal["input", "output"]


class UnsupportedType(TypeError):
    """An annotation that has no JSON Schema."""


class Node:
    """One type: its schema, how its values are built, and whether they are JSON already."""

    __slots__ = ("accepts", "convert", "plain", "schema")

    def __init__(
        self,
        schema: Schema,
        accepts: Callable[[Any], bool],
        convert: Callable[[Any], Any] | None = None,
        *,
        plain: bool | None = None,
    ) -> None:
        self.schema = schema
        # The test of a JSON value for this type, all the way down: only unions use it.
        self.accepts = accepts
        # From the JSON value to the Python value; None if they are the same.
        self.convert = convert
        # True if a Python value of this type can be written as JSON as it is.
        self.plain = convert is None if plain is None else plain

    def build(self, value: Any) -> Any:
        return value if self.convert is None else self.convert(value)


class Builder:
    """Builds the schemas of one tool; named types go to `$defs`, once each."""

    def __init__(self, mode: Mode) -> None:
        self.mode: Mode = mode
        self.defs: dict[str, Schema] = {}
        self._named: dict[Any, Node] = {}

    def node(self, tp: Any) -> Node:
        """The node of a type.

        Raises:
            UnsupportedType: if there is no JSON Schema for it.
        """
        try:
            hash(tp)
        except TypeError:
            raise UnsupportedType(f"{tp!r} is not a type") from None
        if isinstance(tp, (str, typing.ForwardRef)):
            raise UnsupportedType(f"the name {tp!r} could not be resolved")
        origin, args = get_origin(tp), get_args(tp)
        if origin is Annotated:
            return self._annotated(args[0], args[1:])
        if origin is Literal:
            return _literal(args)
        if origin is Union or origin is types.UnionType:
            return self._union(args)
        if _name_of(origin) in ("Required", "NotRequired", "ReadOnly", "Final"):
            return self.node(args[0])
        if isinstance(tp, TypeVar):
            return self._type_variable(tp)
        if hasattr(tp, "__supertype__"):  # a NewType
            return self.node(tp.__supertype__)
        if hasattr(tp, "__value__") and type(tp).__name__ == "TypeAliasType":
            return self._alias(tp)
        if tp is None or tp is type(None):
            return Node({"type": "null"}, lambda value: value is None)
        if tp is Any or tp is object:
            return Node({}, _anything)
        if (scalar := _scalar(tp)) is not None:
            return scalar
        if (container := self._container(tp, origin or tp, args)) is not None:
            return container
        return self._class(tp, origin or tp, args)

    def finish(self, schema: Schema) -> Schema:
        """A complete schema: `schema` with the definitions that it refers to, and those that these refer to."""
        needed: set[str] = set()
        waiting = [schema]
        while waiting:
            found = {name for name in _references(waiting.pop()) if name in self.defs} - needed
            needed |= found
            waiting += (self.defs[name] for name in found)
        defs = {name: definition for name, definition in self.defs.items() if name in needed}
        return {**schema, "$defs": defs} if defs else schema

    def resolve(self, schema: Schema) -> Schema:
        """The schema itself, where `schema` is a reference to it (and perhaps says more)."""
        while "$ref" in schema:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self.defs[schema["$ref"].removeprefix("#/$defs/")], **beside}
        return schema

    def object_node(self, fields: Mapping[str, tuple[Node, bool, Any]], extra: Schema | None = None) -> Node:
        """An object: name -> (type, required, default or MISSING)."""
        properties: Schema = {}
        for name, (node, _, default) in fields.items():
            properties[name] = with_default(node.schema, default)
        schema: Schema = {"type": "object", **(extra or {}), "properties": properties}
        if required := [name for name, (_, is_required, _) in fields.items() if is_required]:
            schema["required"] = required
        needed = frozenset(required)
        accepts = {name: node.accepts for name, (node, _, _) in fields.items()}

        def accept(value: Any) -> bool:
            return (
                isinstance(value, dict)
                and needed <= cast("dict[str, Any]", value).keys()
                and all(accepts[name](value[name]) for name in accepts.keys() & value.keys())
            )

        return Node(schema, accept)

    def _annotated(self, tp: Any, metadata: tuple[Any, ...]) -> Node:
        if any(_belongs_to_pydantic(item) for item in metadata):
            return self._pydantic(Annotated[(tp, *metadata)])
        node = self.node(tp)
        try:
            found = keywords(metadata, self.resolve(node.schema))
        except TypeError as error:
            raise UnsupportedType(str(error)) from None
        return Node({**node.schema, **found}, node.accepts, node.convert, plain=node.plain) if found else node

    def _union(self, members: tuple[Any, ...]) -> Node:
        nodes = [self.node(member) for member in members]
        schema = {"anyOf": [node.schema for node in nodes]}
        plain = all(node.plain for node in nodes)

        def accept(value: Any) -> bool:
            return any(node.accepts(value) for node in nodes)

        if all(node.convert is None for node in nodes):
            return Node(schema, accept, plain=plain)

        def convert(value: Any) -> Any:
            for node in nodes:
                if node.accepts(value):
                    return node.build(value)
            # An integral float where only an integer fits: valid for the schema, so take the first that can be built.
            for node in nodes:
                try:
                    return node.build(value)
                except (TypeError, ValueError, KeyError):
                    continue
            return value

        return Node(schema, accept, convert, plain=plain)

    def _type_variable(self, tp: TypeVar) -> Node:
        if tp.__constraints__:
            return self._union(tp.__constraints__)
        return self.node(Any if tp.__bound__ is None else tp.__bound__)

    def _alias(self, tp: Any) -> Node:
        def fill(node: Node) -> None:
            # Before Python 3.12 the value, or a part of it, is text.
            holder = types.SimpleNamespace(__annotations__={"value": tp.__value__})
            names = vars(sys.modules[tp.__module__]) if tp.__module__ in sys.modules else {}
            target = self.node(typing.get_type_hints(holder, names, include_extras=True)["value"])
            node.accepts, node.convert, node.plain = target.accepts, target.convert, target.plain
            self.defs[_ref_name(node)] = target.schema

        return self._defined(tp, tp.__name__, fill)

    def _container(self, tp: Any, origin: Any, args: tuple[Any, ...]) -> Node | None:
        if origin is tuple:
            return self._array((), tuple, {}) if tp is tuple else self._tuple(args)
        if origin in _LISTS:
            return self._array(args, list, {})
        if origin in _SETS:
            return self._array(args, frozenset if origin is frozenset else set, {"uniqueItems": True})
        if origin in _MAPPINGS:
            return self._mapping(args)
        if _name_of(origin) == "deque":
            return self._array(args, origin, {})
        return None

    def _array(self, args: tuple[Any, ...], make: Callable[[Any], Any], extra: Schema) -> Node:
        item = self.node(args[0]) if args else None
        schema: Schema = {"type": "array", **({"items": item.schema} if item and item.schema else {}), **extra}
        build = item.convert if item else None

        def accept(value: Any) -> bool:
            return isinstance(value, list) and (item is None or all(map(item.accepts, cast("list[Any]", value))))

        if build is None:
            return Node(schema, accept, None if make is list else make, plain=make is list and _is_plain(item))
        return Node(
            schema, accept, lambda value: make([build(one) for one in value]), plain=make is list and _is_plain(item)
        )

    def _tuple(self, args: tuple[Any, ...]) -> Node:
        if len(args) == 2 and args[1] is Ellipsis:
            return self._array(args[:1], tuple, {})
        nodes = [] if args == ((),) else [self.node(arg) for arg in args]
        schema: Schema = {"type": "array", "minItems": len(nodes), "maxItems": len(nodes)}
        if nodes:
            schema["prefixItems"] = [node.schema for node in nodes]

        def accept(value: Any) -> bool:
            return (
                isinstance(value, list)
                and len(cast("list[Any]", value)) == len(nodes)
                and all(node.accepts(one) for node, one in zip(nodes, cast("list[Any]", value), strict=True))
            )

        def convert(value: Any) -> tuple[Any, ...]:
            return tuple(node.build(one) for node, one in zip(nodes, value, strict=True))

        return Node(schema, accept, convert, plain=all(node.plain for node in nodes))

    def _mapping(self, args: tuple[Any, ...]) -> Node:
        if not args:
            return Node({"type": "object"}, lambda value: isinstance(value, dict))
        key, item = self.node(args[0]), self.node(args[1])
        values = key.schema.get("enum")
        if key.schema.get("type") != "string" and not (values and all(isinstance(one, str) for one in values)):
            raise UnsupportedType("keys of a JSON object are text: use dict[str, ...]")
        schema: Schema = {"type": "object", **({"additionalProperties": item.schema} if item.schema else {})}
        if names := {name: value for name, value in key.schema.items() if name not in ("type", "description")}:
            schema["propertyNames"] = names

        def accept(value: Any) -> bool:
            return isinstance(value, dict) and all(map(item.accepts, cast("dict[str, Any]", value).values()))

        if key.convert is None and item.convert is None:
            return Node(schema, accept, plain=key.plain and item.plain)
        return Node(
            schema,
            accept,
            lambda value: {key.build(name): item.build(one) for name, one in value.items()},
            plain=key.plain and item.plain,
        )

    def _class(self, tp: Any, origin: Any, args: tuple[Any, ...]) -> Node:
        if is_pydantic(origin):
            return self._pydantic(tp)
        if hasattr(origin, "__mro__"):
            if hasattr(origin, "__dataclass_fields__"):
                return self._defined(tp, _def_name(origin, args), lambda node: self._fill_dataclass(node, origin, args))
            if is_typed_dict(origin):
                return self._defined(
                    tp, _def_name(origin, args), lambda node: self._fill_typed_dict(node, origin, args)
                )
            if tuple in origin.__mro__ and hasattr(origin, "_fields"):
                return self._named_tuple(origin)
            if _enum_class(origin):
                return _enum(origin)
            if str in origin.__mro__:
                return Node({"type": "string"}, lambda value: isinstance(value, str), origin, plain=True)
        raise UnsupportedType(
            f"{_shown(tp)} has no JSON form: use a standard type, a dataclass, a TypedDict or a pydantic model"
        )

    def _defined(self, key: Any, name: str, fill: Callable[[Node], None]) -> Node:
        """A named type: its schema goes to `$defs`; a reference is known before its fields, for they may contain it."""
        if (known := self._named.get(key)) is not None:
            return known
        unique, count = name, 1
        while unique in self.defs:
            count += 1
            unique = f"{name}{count}"
        self.defs[unique] = {}
        filled = Node({"$ref": f"#/$defs/{unique}"}, _anything)
        # While the fields are unknown, whoever contains this type goes through a node that looks later.
        self._named[key] = Node(
            filled.schema,
            lambda value: filled.accepts(value),  # noqa: PLW0108 - not known yet
            filled.build,
            plain=False,
        )
        fill(filled)
        self._named[key] = filled
        return filled

    def _fill_dataclass(self, node: Node, cls: Any, args: tuple[Any, ...]) -> None:
        import dataclasses

        hints = self._hints(cls, args)
        fields: dict[str, tuple[Node, bool, Any]] = {}
        for field in dataclasses.fields(cls):
            if self.mode == "input" and not field.init:
                continue
            inner = self._member(cls, field.name, hints[field.name])
            if isinstance(description := field.metadata.get("description"), str):
                inner = Node(
                    {**inner.schema, "description": description}, inner.accepts, inner.convert, plain=inner.plain
                )
            has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
            default = MISSING if field.default is dataclasses.MISSING else field.default
            fields[field.name] = (inner, self.mode == "output" or not has_default, default)
        described = self.object_node(fields, _description(cls))
        converters = {name: inner.convert for name, (inner, _, _) in fields.items()}

        def convert(value: dict[str, Any]) -> Any:
            return cls(
                **{
                    name: one if (c := converters[name]) is None else c(one)
                    for name, one in value.items()
                    if name in converters
                }
            )

        node.accepts, node.convert, node.plain = described.accepts, convert, False
        self.defs[_ref_name(node)] = described.schema

    def _fill_typed_dict(self, node: Node, cls: Any, args: tuple[Any, ...]) -> None:
        fields: dict[str, tuple[Node, bool, Any]] = {}
        for name, hint in self._hints(cls, args).items():
            fields[name] = (self._member(cls, name, hint), _is_required(cls, name, hint), MISSING)
        described = self.object_node(fields, _description(cls))
        converters = {name: inner.convert for name, (inner, _, _) in fields.items() if inner.convert is not None}
        node.accepts, node.convert = described.accepts, None
        node.plain = all(inner.plain for inner, _, _ in fields.values())
        self.defs[_ref_name(node)] = described.schema

        def convert(value: dict[str, Any]) -> dict[str, Any]:
            return {name: converters[name](one) if name in converters else one for name, one in value.items()}

        if converters:
            node.convert = convert

    def _named_tuple(self, cls: Any) -> Node:
        hints = self._hints(cls, ())
        node = self._tuple(tuple(hints.get(name, Any) for name in cls._fields))
        convert = node.build
        return Node(node.schema, node.accepts, lambda value: cls(*convert(value)), plain=node.plain)

    def _member(self, cls: Any, name: str, hint: Any) -> Node:
        try:
            return self.node(hint)
        except UnsupportedType as error:
            raise UnsupportedType(f"field {name!r} of {cls.__qualname__}: {error}") from None

    def _hints(self, cls: Any, args: tuple[Any, ...]) -> dict[str, Any]:
        try:
            hints = typing.get_type_hints(cls, include_extras=True)
        except NameError as error:
            raise UnsupportedType(
                f"{cls.__qualname__} refers to a name that is not known at module level: {error}"
            ) from None
        if not args:
            return hints
        known = dict(zip(cls.__parameters__, args, strict=False))
        return {name: _substitute(hint, known) for name, hint in hints.items()}

    def _pydantic(self, tp: Any) -> Node:
        from pydantic import TypeAdapter

        adapter: Any = TypeAdapter(tp)
        mode = "validation" if self.mode == "input" else "serialization"
        schema: Schema = adapter.json_schema(mode=mode, by_alias=True, ref_template="#/$defs/{model}")
        schema = self._adopt(schema.pop("$defs", {}), schema)

        def accept(value: Any) -> bool:
            try:
                adapter.validate_python(value)
            except ValueError:
                return False
            return True

        return Node(schema, accept, adapter.validate_python, plain=False)

    def _adopt(self, defs: dict[str, Schema], schema: Schema) -> Schema:
        """Takes over definitions that were made elsewhere; a name that means something else here is changed."""
        renamed: dict[str, str] = {}
        for name, definition in defs.items():
            unique, count = name, 1
            while unique in self.defs and self.defs[unique] != definition:
                count += 1
                unique = f"{name}{count}"
            renamed[f"#/$defs/{name}"] = f"#/$defs/{unique}"
            self.defs[unique] = definition
        if all(old == new for old, new in renamed.items()):
            return schema
        for reference in renamed.values():
            name = reference.removeprefix("#/$defs/")
            self.defs[name] = _with_references(self.defs[name], renamed)
        return _with_references(schema, renamed)


MISSING: Any = object()


def _anything(_value: Any) -> bool:
    return True


_LISTS = frozenset({list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection})
_SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
_MAPPINGS = frozenset({dict, abc.Mapping, abc.MutableMapping})


def with_default(schema: Schema, default: Any) -> Schema:
    """The schema with its default, if that has a JSON form."""
    if default is MISSING:
        return schema
    try:
        return {**schema, "default": jsonable(default)}
    except (TypeError, ValueError):
        return schema


def is_pydantic(tp: Any) -> bool:
    """True if pydantic can build the class; pydantic is only looked at if the program has loaded it."""
    return "pydantic" in sys.modules and isinstance(tp, type) and hasattr(tp, "__pydantic_validator__")


def is_typed_dict(tp: Any) -> bool:
    """True if the class is a TypedDict (of typing or of typing_extensions)."""
    return dict in getattr(tp, "__mro__", ()) and hasattr(tp, "__required_keys__")


def _scalar(tp: Any) -> Node | None:
    """The types whose values are one JSON scalar."""
    if tp is str:
        return Node({"type": "string"}, lambda value: isinstance(value, str))
    if tp is bool:
        return Node({"type": "boolean"}, lambda value: isinstance(value, bool))
    if tp is int:
        return Node({"type": "integer"}, lambda value: type(value) is int, _integer, plain=True)
    if tp is float:
        return Node({"type": "number"}, lambda value: type(value) in (int, float), float, plain=True)
    if tp is bytes:
        return Node({"type": "string", "contentEncoding": "base64"}, lambda value: isinstance(value, str), _bytes)
    match getattr(tp, "__module__", None), getattr(tp, "__qualname__", None):
        case "datetime", "datetime":
            return _text("date-time", lambda text: tp.fromisoformat(_zulu(text)))
        case "datetime", "date":
            return _text("date", tp.fromisoformat)
        case "datetime", "time":
            return _text("time", lambda text: tp.fromisoformat(_zulu(text)))
        case "uuid", "UUID":
            return _text("uuid", tp)
        case "decimal" | "_decimal" | "_pydecimal", "Decimal":
            schema = {"type": ["string", "number"], "pattern": r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}
            return Node(schema, lambda value: isinstance(value, (str, int, float)), lambda value: tp(str(value)))
        case _:
            pass
    if _is_path(tp):
        return _text("path", _path)
    return None


def _text(form: str, convert: Callable[[str], Any]) -> Node:
    def accept(value: Any) -> bool:
        if not isinstance(value, str):
            return False
        try:
            convert(value)
        except ValueError:
            return False
        return True

    return Node({"type": "string", "format": form}, accept, convert)


def _is_path(tp: Any) -> bool:
    return tp is os.PathLike or (isinstance(tp, type) and hasattr(cast("Any", tp), "__fspath__"))


def _path(text: str) -> Any:
    from pathlib import Path

    return Path(text)


def _integer(value: Any) -> int:
    if type(value) is int:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise ValueError(f"{value!r} is not an integer")


def _bytes(text: str) -> bytes:
    from base64 import b64decode

    return b64decode(text, validate=True)


def _zulu(text: str) -> str:
    # Python 3.10 does not know that Z means UTC.
    return f"{text[:-1]}+00:00" if text[-1:] in ("Z", "z") else text


def _literal(values: tuple[Any, ...]) -> Node:
    from enum import Enum

    members: dict[tuple[Any, Any], Any] = {}
    for value in values:
        json: Any = value.value if isinstance(value, Enum) else value
        if json is not None and not isinstance(json, (str, int, bool)):
            raise UnsupportedType(f"{value!r} in a Literal has no JSON form")
        # With the type, because 1 == True.
        members[type(json), json] = value
    schema = _enumerated([json for _, json in members])

    def accept(value: Any) -> bool:
        return (cast("Any", type(value)), value) in members

    if all(not isinstance(value, Enum) for value in values):
        return Node(schema, accept)
    return Node(schema, accept, lambda value: members.get((cast("Any", type(value)), value), value))


def _enum_class(tp: type) -> bool:
    enum = sys.modules.get("enum")
    return enum is not None and issubclass(tp, enum.Enum)


def _enum(cls: Any) -> Node:
    values: list[Any] = [member.value for member in cls]
    for value in values:
        if value is not None and not isinstance(value, (str, int, float, bool)):
            raise UnsupportedType(f"{cls.__qualname__} has the value {value!r}, which has no JSON form")

    def accept(value: Any) -> bool:
        return any(value.__class__ is known.__class__ and value == known for known in values)

    return Node({**_enumerated(values), **_description(cls)}, accept, cls)


def _enumerated(values: list[Any]) -> Schema:
    kinds = {_JSON_TYPES[type(value)] for value in values if type(value) in _JSON_TYPES}
    if len(values) == 1 and len(kinds) == 1:
        return {"type": kinds.pop(), "const": values[0]}
    return {"type": kinds.pop(), "enum": values} if len(kinds) == 1 else {"enum": values}


_JSON_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def _is_required(cls: Any, name: str, hint: Any) -> bool:
    # The marks first: `__required_keys__` does not see through annotations that are text.
    marks = _marks(hint)
    return "Required" in marks or ("NotRequired" not in marks and name in cls.__required_keys__)


def _marks(hint: Any) -> set[str]:
    marks: set[str] = set()
    while (name := _name_of(origin := get_origin(hint))) in (
        "Required",
        "NotRequired",
        "ReadOnly",
    ) or origin is Annotated:
        marks.add(name)
        hint = get_args(hint)[0]
    return marks


def _substitute(hint: Any, known: Mapping[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return known.get(hint, hint)
    if parameters := getattr(hint, "__parameters__", ()):
        return hint[tuple(known.get(parameter, parameter) for parameter in parameters)]
    return hint


def _references(schema: Any) -> Iterator[str]:
    """The names of the definitions that a schema refers to itself."""
    if isinstance(schema, dict):
        for key, value in cast("dict[str, Any]", schema).items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix("#/$defs/")
            else:
                yield from _references(value)
    elif isinstance(schema, list):
        for value in cast("list[Any]", schema):
            yield from _references(value)


def _with_references(schema: Any, renamed: Mapping[str, str]) -> Any:
    if isinstance(schema, dict):
        items = cast("dict[str, Any]", schema).items()
        return {
            key: renamed.get(value, value)
            if key == "$ref" and isinstance(value, str)
            else _with_references(value, renamed)
            for key, value in items
        }
    if isinstance(schema, list):
        return [_with_references(value, renamed) for value in cast("list[Any]", schema)]
    return schema


def _belongs_to_pydantic(item: Any) -> bool:
    """Validators, serializers and the like, which only pydantic itself can apply."""
    return type(item).__module__.startswith("pydantic") and hasattr(item, "__get_pydantic_core_schema__")


def _description(cls: Any) -> Schema:
    import inspect

    text = cls.__dict__.get("__doc__")
    # Dataclasses and enums get a generated text when they have none.
    if not text or text.startswith(f"{cls.__name__}(") or text == "An enumeration.":
        return {}
    return {"description": inspect.cleandoc(text)}


def _def_name(cls: Any, args: tuple[Any, ...]) -> str:
    return "_".join([cls.__name__, *(getattr(arg, "__name__", "any") for arg in args)])


def _ref_name(node: Node) -> str:
    return node.schema["$ref"].removeprefix("#/$defs/")


def _is_plain(node: Node | None) -> bool:
    return node is None or node.plain


def _name_of(tp: Any) -> str:
    return getattr(tp, "__name__", None) or getattr(tp, "_name", None) or ""


def _shown(tp: Any) -> str:
    return tp.__qualname__ if isinstance(tp, type) else str(tp)
