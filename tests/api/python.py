"""Print the public API of the Python package as a stub, read from its sources with griffe.

python.py FOLDER: the folder that has the package.
"""

import sys
from collections.abc import Iterator
from typing import cast

import griffe

PACKAGE = "trunkline"
# Methods that programs call through syntax; not `__repr__` and the like.
SYNTAX = [
    *("__init__", "__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__iter__", "__next__"),
    *("__aiter__", "__anext__", "__await__", "__getitem__", "__getattr__", "__len__", "__contains__"),
]

Item = griffe.Object | griffe.Alias


def listing(folder: str) -> Iterator[str]:
    package = griffe.load(PACKAGE, search_paths=[folder], allow_inspection=False, resolve_aliases=True)
    names = sorted({str(name) for name in package.exports or []})
    if not names:
        sys.exit(f"{folder}: the package {PACKAGE} exports no names")
    for name in names:
        yield from definition(name, package.members[name], "")
        yield ""


def definition(name: str, item: Item, indent: str) -> Iterator[str]:
    if item.is_class:
        yield from class_definition(name, cast("griffe.Class", item), indent)
    elif item.is_function:
        yield from functions(name, cast("griffe.Function", item), indent)
    else:
        yield from variable(name, cast("griffe.Attribute", item), indent)


def class_definition(name: str, item: griffe.Class, indent: str) -> Iterator[str]:
    keywords = [f"{key}={value}" for key, value in item.keywords.items()]
    for decorator in item.decorators:
        yield f"{indent}@{decorator.value}"
    yield f"{indent}class {name}({', '.join([*(str(base) for base in item.bases), *keywords])}):"
    # Private bases have many of the members.
    members = {**item.inherited_members, **item.members}
    shown = sorted(member for member in members if member in SYNTAX or not member.startswith("_"))
    for member in shown:
        yield from definition(member, members[member], f"{indent}    ")
    if not shown:
        yield f"{indent}    ..."


def functions(name: str, item: griffe.Function, indent: str) -> Iterator[str]:
    decorators = sorted(item.labels & {"classmethod", "staticmethod"})
    word = "async def" if "async" in item.labels else "def"
    for one in item.overloads or [item]:
        for decorator in ["overload", *decorators] if item.overloads else decorators:
            yield f"{indent}@{decorator}"
        yield f"{indent}{word} {signature(name, one)}: ..."


def signature(name: str, item: griffe.Function) -> str:
    text = item.signature(name=name, return_type=True)
    first = next((parameter.name for parameter in item.parameters), "")
    # Left out by griffe, but a stub needs it.
    if item.parent and item.parent.is_class and first in ("self", "cls"):
        text = text.replace("(", f"({first}, ", 1).replace(", )", ")", 1)
    return text


def variable(name: str, item: griffe.Attribute, indent: str) -> Iterator[str]:
    annotation = "" if item.annotation is None else f": {item.annotation}"
    if "property" in item.labels:
        yield f"{indent}@property"
        yield f"{indent}def {name}(self){annotation.replace(': ', ' -> ', 1)}: ..."
        if "writable" in item.labels:
            yield f"{indent}@{name}.setter"
            yield f"{indent}def {name}(self, value): ..."
        return
    # The value of an attribute that a method sets is a name in that method.
    is_default = item.value is not None and "instance-attribute" not in item.labels - {"class-attribute"}
    value = f" = {item.value}" if is_default or "class-attribute" in item.labels else ""
    yield f"{indent}{name}{annotation or ('' if value else ': Any')}{value}"


for line in listing(sys.argv[1]):
    print(line)
