"""The version, which stands in many files."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Where cargo builds. Crates that are compiled there need not be compiled for a package.
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
MANIFEST = "Cargo.toml"
# Each file with the pattern of its version. Every match must be that of the workspace.
PLACES = {
    MANIFEST: r'^(?:version = "|trunkline.* path = .* version = "=?)([^"]+)"',
    "bindings-c/include/trunkline.h": r'^#define TRUNKLINE_VERSION "(.+)"$',
    "bindings-go/generated_errors.go": r'^const Version = "(.+)"$',
    "bindings-node/package.json": r'^  "version": "(.+)",$',
    "bindings-node/package-lock.json": r'\A{\s+"name": "trunkline",\s+"version": "(.+)",$',
    "bindings-node/src/generated/waist.ts": r'^export const version = "(.+)";$',
    "bindings-uniffi/android/pom.xml": r"^  <version>(.+)</version>$",
    "bindings-uniffi/kotlin/pom.xml": r"^  <version>(.+)</version>$",
    "bindings-uniffi/kotlin/src/main/kotlin/dev/trunkline/generated/Waist.kt": r'VERSION: String = "(.+)"$',
    "bindings-uniffi/ktor/pom.xml": r"^  <version>(.+)</version>$",
    "bindings-uniffi/ruby/lib/trunkline/generated/waist.rb": r'^  VERSION = "(.+)"$',
    "bindings-uniffi/swift/Sources/Trunkline/generated/Waist.swift": r'packageVersion = "(.+)"$',
    "cli/npm/package.json": r'^  "version": "(.+)",$',
}


class Fault(Exception):
    """A package, or the tree, is not as it must be."""


def of_tree() -> str:
    return found(MANIFEST)[0]


def found(place: str) -> list[str]:
    text = (ROOT / place).read_text(encoding="utf-8")
    versions = re.findall(PLACES[place], text, re.MULTILINE)
    if not versions:
        raise Fault(f"{place}: no version found; tests/packages/versions.py has the pattern {PLACES[place]!r}")
    return versions


def check(tag: str | None) -> None:
    """Compare all places with the tag of a release, such as `v1.2.3`, or with the workspace."""
    expected = of_tree() if tag is None else tag.removeprefix("v")
    faults = [
        f"{place} has version {version} instead of {expected}"
        for place in PLACES
        for version in found(place)
        if version != expected
    ]
    if faults:
        raise Fault("\n".join(faults))
