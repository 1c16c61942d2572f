"""Converts Python types to JSON Schema, and JSON values back to those types.

The core validates values against the schema before a handler runs, so the converters here only
construct objects.
"""

from __future__ import annotations

import sys
import types
import typing
from collections import OrderedDict, abc, defaultdict
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from .. import _native
from . import foreign
from .fields import alias_of, keywords
from .foreign import ForeignType, Mode
from .jsonable import jsonable
from .node import Node, Schema
from .refusals import REFUSALS, each
from .scalars import enumeration, literal, scalar
from .unsupported import UnsupportedType


class Builder:
    """Builds the schemas of one tool; each named type is defined once in `$defs`."""

    def __init__(self, mode: Mode, *, trusts_validators: bool = False) -> None:
        self.mode: Mode = mode
        # If set, omits the schemas of values that a library's validators see before the type check.
        self._trusts_validators = trusts_validators
        # True if there are such validators.
        self.validates_first = False
        # True if a library has serializers for a part of the type.
        self.serializes = False
        self.defs: dict[str, Schema] = {}
        self._named: dict[Any, Node] = {}

    def node(self, tp: Any) -> Node:
        """Return the node of a type.

        Raises:
            UnsupportedType: If the type has no JSON Schema.
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
            return literal(args)
        if origin is Union or origin is types.UnionType:
            return self._union(args)
        if _name_of(origin) in ("Required", "NotRequired", "ReadOnly", "Final"):
            return self.node(args[0])
        if isinstance(tp, TypeVar):
            return self.node(Union[tp.__constraints__ or tp.__bound__ or Any])  # noqa: UP007 - only known at run time
        if hasattr(tp, "__supertype__"):  # a NewType
            return self.node(tp.__supertype__)
        if type(tp).__name__ == "InitVar":
            return self.node(tp.type)
        if type(origin or tp).__name__ == "TypeAliasType":
            if type(unaliased(tp)).__name__ == "TypeAliasType":
                raise UnsupportedType(f"the alias {tp} stands for itself")
            return self._alias(tp, origin or tp, args)
        if tp is None or tp is type(None):
            return Node(_NULL)
        if tp is Any or tp is object:
            return Node({})
        if (found := scalar(tp)) is not None:
            return found
        if (container := self._container(tp, origin or tp, args)) is not None:
            return container
        return self._class(tp, origin or tp, args)

    def finish(self, schema: Schema) -> Schema:
        """Return the complete schema: `schema` with all definitions that it refers to, directly or
        not.
        """
        needed: set[str] = set()
        waiting = [schema]
        while waiting:
            found = {_def_of(part["$ref"]) for part in _references(waiting.pop())} & self.defs.keys() - needed
            needed |= found
            waiting += (self.defs[name] for name in found)
        defs = {name: definition for name, definition in self.defs.items() if name in needed}
        return {**schema, "$defs": defs} if defs else schema

    def resolve(self, schema: Schema) -> Schema:
        """Return the schema that `schema` refers to, if it is a reference (possibly with more
        keywords).
        """
        while "$ref" in schema:
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**self.defs[_def_of(schema["$ref"])], **beside}
        return schema

    def result_schema(self, node: Node) -> tuple[Schema, bool]:
        """Return the schema of results of this type, and whether the core must wrap them:
        structured content is an object, so other values are `{"result": value}`.
        """
        resolved = self.resolve(node.schema)
        is_object = resolved.get("type") == "object"
        return self.finish(resolved if is_object else node.schema), not is_object

    def object_schema(self, fields: Mapping[str, ObjectField], extra: Schema | None = None) -> Schema:
        """Return the schema of an object with these fields."""
        properties = {name: with_default(node.schema, default) for name, (node, _, default) in fields.items()}
        schema: Schema = {"type": "object", **(extra or {}), "properties": properties}
        if required := [name for name, (_, is_required, _) in fields.items() if is_required]:
            schema["required"] = required
        return schema

    def _annotated(self, tp: Any, metadata: tuple[Any, ...]) -> Node:
        if any(map(foreign.only_for_pydantic, metadata)):
            self.serializes = True
            return self.foreign(foreign.of_pydantic(foreign.annotated_for_pydantic(tp, metadata), self.mode))
        node = self.node(tp)
        try:
            return node.with_schema({**node.schema, **keywords(metadata, self.resolve(node.schema))})
        except TypeError as error:
            if node.plain:
                raise UnsupportedType(str(error)) from None
            # For example, the bounds of a date.
            return self._offered(tp, f"{error}; import pydantic to use this constraint", metadata)

    def _union(self, members: tuple[Any, ...]) -> Node:
        if any(map(_belongs_to_pydantic, members)):
            try:
                self.serializes = self.serializes or any(get_origin(member) is Annotated for member in members)
                return self.foreign(foreign.of_pydantic(Union[members], self.mode))  # noqa: UP007 - only known at run time
            except UnsupportedType:
                pass  # a member that pydantic does not support
        nodes = [self.node(member) for member in members]
        schema = {"anyOf": [node.schema for node in nodes]}
        plain = all(node.plain for node in nodes)
        if all(node.convert is None for node in nodes):
            return Node(schema, plain=plain)
        others = [node for node in nodes if node.schema != _NULL]
        if len(others) == 1:
            return Node(schema, lambda value: None if value is None else others[0].build(value), plain=plain)
        return Node(schema, self._chosen(schema, nodes), plain=plain)

    def _chosen(self, schema: Schema, nodes: list[Node]) -> Callable[[Any], Any]:
        """Return a function that builds a value with the best matching member that accepts it."""
        # Created on first use, because the definitions may be incomplete now.
        alternatives: list[_native.Alternatives] = []

        def choose(value: Any) -> Any:
            if not alternatives:
                alternatives.append(_native.Alternatives(self.finish(schema)))
            refusal: Exception | None = None
            for index in alternatives[0].fitting(value):
                try:
                    return nodes[index].build(value)
                except REFUSALS as error:
                    refusal = refusal or error
            raise refusal or ValueError("no member of the union accepts it")

        return choose

    def _alias(self, tp: Any, alias: Any, args: tuple[Any, ...]) -> Node:
        def fill(node: Node) -> None:
            # Before Python 3.12, the value or a part of it may be a string.
            holder = types.SimpleNamespace(__annotations__={"value": alias.__value__})
            names = vars(sys.modules[alias.__module__]) if alias.__module__ in sys.modules else {}
            value = typing.get_type_hints(holder, names, include_extras=True)["value"]
            target = self.node(_substitute(value, alias.__type_params__, args))
            node.convert, node.plain = target.convert, target.plain
            self.defs[_def_of(node.schema["$ref"])] = target.schema

        return self._defined(tp, _def_name(alias, args), fill)

    def _container(self, tp: Any, origin: Any, args: tuple[Any, ...]) -> Node | None:
        if origin is tuple:
            return self._array((), tuple) if tp is tuple else self._tuple(args)
        if origin in _LISTS:
            return self._array(args, list)
        if origin in _ITERABLES or (origin in _ITERATORS and self.mode == "output"):
            return self._array(args, list, is_lazy=True)
        if origin in _SETS:
            return self._array(args, frozenset if origin is frozenset else set, uniqueItems=True)
        if origin in _MAPPINGS:
            return self._mapping(tp, args)
        if origin is OrderedDict or (origin is defaultdict and self.mode == "output"):
            return self._mapping(tp, args, OrderedDict)
        if _name_of(origin) == "deque":
            return self._array(args, origin)
        return None

    def _array(self, args: tuple[Any, ...], make: Callable[[Any], Any], *, is_lazy: bool = False, **extra: Any) -> Node:
        item = self.node(args[0] if args else Any)
        schema: Schema = {"type": "array", **({"items": item.schema} if item.schema else {}), **extra}
        plain = make is list and not is_lazy and item.plain
        if (build := item.convert) is None:
            return Node(schema, None if make is list else make, plain=plain)
        return Node(schema, lambda value: make(each(value, lambda items: [build(one) for one in items])), plain=plain)

    def _tuple(self, args: tuple[Any, ...], optional: int = 0) -> Node:
        if len(args) == 2 and args[1] is Ellipsis:
            return self._array(args[:1], tuple)
        nodes = [] if args == ((),) else [self.node(arg) for arg in args]
        schema: Schema = {"type": "array", "minItems": len(nodes) - optional, "maxItems": len(nodes)}
        if nodes:
            schema["prefixItems"] = [node.schema for node in nodes]

        def convert(value: Any) -> tuple[Any, ...]:
            # Trailing items may be missing.
            return each(value, lambda items: tuple(node.build(one) for node, one in zip(nodes, items, strict=False)))

        return Node(schema, convert, plain=all(node.plain for node in nodes))

    def _mapping(self, tp: Any, args: tuple[Any, ...], make: Callable[[Any], Any] | None = None) -> Node:
        if not args:
            return Node({"type": "object"}, make)
        key, item = self.node(args[0]), self.node(args[1])
        values = key.schema.get("enum")
        if key.schema.get("type") != "string" and not (values and all(isinstance(one, str) for one in values)):
            refusal = "keys of a JSON object must be strings: use dict[str, ...]"
            if self.resolve(key.schema).get("type") in ("array", "object", "null"):
                raise UnsupportedType(refusal)
            return self._offered(tp, refusal)
        schema: Schema = {"type": "object", **({"additionalProperties": item.schema} if item.schema else {})}
        if names := {name: value for name, value in key.schema.items() if name not in ("type", "description")}:
            schema["propertyNames"] = names

        plain = key.plain and item.plain
        if key.convert is None and item.convert is None:
            return Node(schema, make, plain=plain)

        def convert(value: Any) -> Any:
            built = each(value, lambda items: {key.build(name): item.build(one) for name, one in items})
            return built if make is None else make(built)

        return Node(schema, convert, plain=plain)

    def _class(self, tp: Any, origin: Any, args: tuple[Any, ...]) -> Node:
        if foreign.is_pydantic(origin):
            return self.foreign(foreign.of_pydantic(tp, self.mode))
        if foreign.is_msgspec(origin):
            return self.foreign(foreign.of_msgspec(tp))
        if hasattr(origin, "__mro__"):
            name = _def_name(origin, args)
            if hasattr(origin, "__dataclass_fields__"):
                return self._defined(tp, name, lambda node: self._fill_class(node, origin, args, _of_dataclass(origin)))
            if hasattr(origin, "__attrs_attrs__"):
                return self._defined(tp, name, lambda node: self._fill_class(node, origin, args, _of_attrs(origin)))
            if dict in origin.__mro__ and hasattr(origin, "__required_keys__"):  # of typing or typing_extensions
                return self._defined(tp, name, lambda node: self._fill_typed_dict(node, origin, args))
            if tuple in origin.__mro__ and hasattr(origin, "_fields"):
                return self._named_tuple(origin, args)
            if issubclass(origin, Enum):
                return enumeration(origin, _description(origin))
            if str in origin.__mro__ and not foreign.belongs_to_pydantic(origin):
                return Node({"type": "string"}, origin, plain=True)
        shown = tp.__qualname__ if isinstance(tp, type) else str(tp)
        remedy = "use a standard type, a dataclass, a TypedDict or a pydantic model"
        return self._offered(tp, f"{shown} cannot be represented in JSON: {remedy}")

    def _offered(self, tp: Any, refusal: str, metadata: tuple[Any, ...] = ()) -> Node:
        """Return the node of a type that only pydantic may support, if the program has loaded
        pydantic.
        """
        if "pydantic" in sys.modules:
            try:
                return self.foreign(foreign.of_pydantic(foreign.annotated_for_pydantic(tp, metadata), self.mode))
            except UnsupportedType as error:
                if isinstance(error.__cause__, ImportError):
                    raise  # it names the package to install
        raise UnsupportedType(refusal)

    def foreign(self, found: ForeignType) -> Node:
        """Return the node of a library's type."""
        self.validates_first = self.validates_first or found.validates_first
        _drop_unfit([found.schema, found.definitions], found.definitions)
        trusted = found.validates_first and self._trusts_validators
        schema = {} if trusted else self._adopt(found.definitions, found.schema)
        return Node(schema, found.build, plain=False, is_foreign=True)

    def _defined(self, key: Any, name: str, fill: Callable[[Node], None]) -> Node:
        """Return the node of a named type, whose schema goes to `$defs`. The reference exists
        before the fields are known, because these may contain the type itself.
        """
        if (known := self._named.get(key)) is not None:
            return known
        unique = self._unique(name)
        self.defs[unique] = {}
        filled = Node({"$ref": f"{_DEFS}{unique}"})
        # While the fields are unknown, types that contain this one use a node that resolves it
        # later.
        self._named[key] = Node(filled.schema, filled.build, plain=False)
        fill(filled)
        self._named[key] = filled
        return filled

    def _fill_class(self, node: Node, cls: Any, args: tuple[Any, ...], members: Iterator[ClassField]) -> None:
        hints = self._hints(cls, args)
        fields: dict[str, ObjectField] = {}
        for member in members:
            if not (member.is_given if self.mode == "input" else member.is_kept):
                continue
            inner = self._member(cls, member.name, hints.get(member.name, Any))
            if isinstance(member.description, str):
                inner = inner.with_schema({**inner.schema, "description": member.description})
            fields[member.key] = ObjectField(inner, self.mode == "output" or not member.has_default, member.default)

        def build(items: Iterator[tuple[str, Any]]) -> dict[str, Any]:
            return {name: fields[name].node.build(one) for name, one in items if name in fields}

        node.plain = False
        node.convert = lambda value: cls(**each(value, build))
        self.defs[_def_of(node.schema["$ref"])] = self.object_schema(fields, _description(cls))

    def _fill_typed_dict(self, node: Node, cls: Any, args: tuple[Any, ...]) -> None:
        fields: dict[str, ObjectField] = {}
        for name, hint in self._hints(cls, args).items():
            fields[name] = ObjectField(self._member(cls, name, hint), _is_required(cls, name, hint), MISSING)
        node.plain = all(field.node.plain for field in fields.values())
        self.defs[_def_of(node.schema["$ref"])] = self.object_schema(fields, _description(cls))

        def build(items: Iterator[tuple[str, Any]]) -> dict[str, Any]:
            return {name: fields[name].node.build(one) if name in fields else one for name, one in items}

        if any(field.node.convert is not None for field in fields.values()):
            node.convert = partial(each, build=build)

    def _named_tuple(self, cls: Any, args: tuple[Any, ...]) -> Node:
        hints = self._hints(cls, args)
        optional = len(cls._field_defaults) if self.mode == "input" else 0
        node = self._tuple(tuple(hints.get(name, Any) for name in cls._fields), optional)
        return Node(node.schema, lambda value: cls(*node.build(value)), plain=node.plain)

    def _member(self, cls: Any, name: str, hint: Any) -> Node:
        try:
            if (alias := alias_of(hint)) is not None:
                raise UnsupportedType(f"the alias {alias!r} needs a pydantic model: rename the field")
            return self.node(hint)
        except UnsupportedType as error:
            raise UnsupportedType(f"field {name!r} of {cls.__qualname__}: {error}") from None

    def _hints(self, cls: Any, args: tuple[Any, ...]) -> dict[str, Any]:
        """Return the annotations of a class and its bases, with their type arguments."""
        variables, declared = getattr(cls, "__parameters__", ()), _declared(cls)
        hints = {name: _substitute(hint, variables, args) for name, hint in declared.items()}
        for base in reversed(cls.__dict__.get("__orig_bases__", cls.__bases__)):
            if isinstance(origin := get_origin(base) or base, type):
                inherited = self._hints(origin, tuple(_substitute(arg, variables, args) for arg in get_args(base)))
                hints |= {name: inherited[name] for name, hint in _declared(origin).items() if declared[name] == hint}
        return hints

    def _adopt(self, defs: dict[str, Schema], schema: Schema) -> Schema:
        """Add definitions that were made elsewhere, renaming those whose name is taken by a
        different one, and those that refer to these.
        """
        others = {name for name, definition in defs.items() if self.defs.get(name, definition) != definition}
        uses = {name: {_def_of(part["$ref"]) for part in _references(definition)} for name, definition in defs.items()}
        while more := {name for name in defs.keys() - others if uses[name] & others}:
            others |= more
        renamed: dict[str, str] = {}
        for name in sorted(defs, key=others.__contains__):  # first those that keep their names
            unique = self._unique(name) if name in others else name
            renamed[f"{_DEFS}{name}"] = f"{_DEFS}{unique}"
            self.defs[unique] = defs[name]
        for part in _references([schema, *defs.values()]):
            part["$ref"] = renamed.get(part["$ref"], part["$ref"])
        return schema

    def _unique(self, name: str) -> str:
        """Return the name, with a number if it is taken."""
        unique, count = name, 1
        while unique in self.defs:
            count += 1
            unique = f"{name}{count}"
        return unique


MISSING: Any = object()

_NULL: Schema = {"type": "null"}
_DEFS = "#/$defs/"


class ObjectField(NamedTuple):
    """A member of an object: its type, and its default or MISSING."""

    node: Node
    is_required: bool
    default: Any


class ClassField(NamedTuple):
    """A field of a class: its key in JSON, whether its constructor takes it, its default or
    MISSING, and whether its objects have it.
    """

    name: str
    key: str
    is_given: bool
    has_default: bool
    default: Any
    description: Any
    is_kept: bool = True


def _of_dataclass(cls: Any) -> Iterator[ClassField]:
    import dataclasses

    kept = dataclasses.fields(cls)
    for name, field in cls.__dataclass_fields__.items():
        if field._field_type.name == "_FIELD_CLASSVAR":
            continue
        has_default = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        default = MISSING if field.default is dataclasses.MISSING else field.default
        yield ClassField(name, name, field.init, has_default, default, field.metadata.get("description"), field in kept)


def _of_attrs(cls: Any) -> Iterator[ClassField]:
    nothing = sys.modules["attr"].NOTHING
    for field in cls.__attrs_attrs__:
        default = MISSING if field.default is nothing or hasattr(field.default, "factory") else field.default
        about = field.metadata.get("description")
        yield ClassField(field.name, field.alias, field.init, field.default is not nothing, default, about)


def _belongs_to_pydantic(tp: Any) -> bool:
    if get_origin(tp) is Annotated:
        inner, *metadata = get_args(tp)
        return _belongs_to_pydantic(inner) or any(map(foreign.only_for_pydantic, metadata))
    return foreign.belongs_to_pydantic(get_origin(tp) or tp)


_LISTS = frozenset({list, abc.Sequence, abc.MutableSequence})
# Returned values may be generators and the like.
_ITERABLES = frozenset({abc.Iterable, abc.Collection})
_ITERATORS = frozenset({abc.Iterator, abc.Generator})
_SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
_MAPPINGS = frozenset({dict, abc.Mapping, abc.MutableMapping})


def unaliased(tp: Any) -> Any:
    """Return what an alias without parameters stands for (`type Name = ...`); other types, and an
    alias that stands for itself, are returned unchanged.
    """
    seen: list[Any] = []
    while type(tp).__name__ == "TypeAliasType" and tp not in seen:
        seen.append(tp)
        tp = tp.__value__
    return tp


def with_default(schema: Schema, default: Any) -> Schema:
    """Return the schema with its default, if that has a JSON form."""
    if default is MISSING:
        return schema
    try:
        json = jsonable(default)
        _native.to_json(json)  # fails for infinity
    except (TypeError, ValueError):
        return schema
    return {**schema, "default": json}


def _drop_unfit(schema: Any, definitions: dict[str, Schema]) -> None:
    """Remove the defaults that have no JSON form, such as infinity, and the types of keys that are
    strings only in JSON, such as an IntEnum.
    """
    parts: list[Any] = [*cast("Schema", schema).values()] if isinstance(schema, dict) else schema
    for part in parts:
        if isinstance(part, (dict, list)):
            _drop_unfit(part, definitions)
    if isinstance(schema, dict):
        members = cast("Schema", schema)
        try:
            _native.to_json(members.get("default"))
        except ValueError:
            del members["default"]
        if members.get("type") == "object" and "propertyNames" in members:
            names: Schema = members["propertyNames"]
            if definitions.get(_def_of(names.get("$ref", "")), names).get("type") != "string":
                del members["propertyNames"]


def typed_dict_fields(tp: Any) -> list[tuple[str, Any, bool]]:
    """Return the fields of a TypedDict: their names, their annotations, and whether they are
    required.

    Raises:
        UnsupportedType: If it is another type.
    """
    origin: Any = get_origin(tp) or tp
    if not hasattr(origin, "__required_keys__"):
        raise UnsupportedType(f"Unpack needs a TypedDict, not {tp!r}")
    hints = Builder("input")._hints(origin, get_args(tp))
    return [(name, hint, _is_required(origin, name, hint)) for name, hint in hints.items()]


def unpacked(annotation: Any) -> Any:
    """Return the type inside `Unpack[...]`, or None."""
    return get_args(annotation)[0] if _name_of(get_origin(annotation)) == "Unpack" else None


def _is_required(cls: Any, name: str, hint: Any) -> bool:
    # Check the qualifiers first: `__required_keys__` does not account for string annotations.
    marks = _marks(hint)
    return "Required" in marks or ("NotRequired" not in marks and name in cls.__required_keys__)


def _marks(hint: Any) -> set[str]:
    marks: set[str] = set()
    while (name := _name_of(get_origin(hint))) in ("Required", "NotRequired", "ReadOnly", "Annotated"):
        marks.add(name)
        hint = get_args(hint)[0]
    return marks


def _declared(cls: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise UnsupportedType(
            f"{cls.__qualname__} refers to a name that is not defined at module level: {error}"
        ) from None


def _substitute(hint: Any, variables: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    """Return an annotation with type arguments in place of type variables."""
    known = dict(zip(variables, args, strict=False))
    if isinstance(hint, TypeVar):
        return known.get(hint, hint)
    if get_origin(hint) is not None and (parameters := getattr(hint, "__parameters__", ())):
        return hint[tuple(known.get(parameter, parameter) for parameter in parameters)]
    return hint


def _references(schema: Any) -> Iterator[Schema]:
    """Yield the parts of a schema that are references."""
    if isinstance(schema, dict):
        members = cast("Schema", schema)
        if isinstance(members.get("$ref"), str):
            yield members
        schema = [*members.values()]
    if isinstance(schema, list):
        for part in cast("list[Any]", schema):
            yield from _references(part)


def _description(cls: Any) -> Schema:
    import inspect

    text = cls.__dict__.get("__doc__")
    # Dataclasses and enums get a generated docstring if they have none.
    if not text or text.startswith(f"{cls.__name__}(") or text == "An enumeration.":
        return {}
    return {"description": inspect.cleandoc(text)}


def _def_name(cls: Any, args: tuple[Any, ...]) -> str:
    return "_".join([cls.__name__, *(getattr(arg, "__name__", "any") for arg in args)])


def _def_of(reference: str) -> str:
    return reference.removeprefix(_DEFS)


def _name_of(tp: Any) -> str:
    return getattr(tp, "__name__", None) or getattr(tp, "_name", None) or ""
