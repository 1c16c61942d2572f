"""Look into packages: their version, licenses, description, and every file in them."""

import gzip
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from versions import Fault

LICENSE = "MIT OR Apache-2.0"
# Left behind by editors, systems, interpreters and tests.
STRAY = ["*.DS_Store", "*.pyc", "*.swp", "*.tmp", "*Test.class", "*/node_modules/*", "*/.git/*", "*/target/*", "*~"]
# Each package has both.
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]

Files = dict[str, bytes]


@dataclass
class Kind:
    """A kind of package. In patterns, `*` is any number of characters, `/` too."""

    name: str
    read: Callable[[Path], Files]
    # Each pattern must match a file, and each file a pattern of either.
    required: list[str]
    others: list[str]
    # The file that describes the package, and patterns of its lines; `VERSION` is the version.
    described: str
    lines: list[str]


def from_zip(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def from_tar(path: Path) -> Files:
    """Read the files without the folder that has all of them."""
    with tarfile.open(path) as archive:
        return {name.partition("/")[2]: content for name, content in members(archive).items()}


def from_gem(path: Path) -> Files:
    with tarfile.open(path) as archive:
        outer = members(archive)
    with tarfile.open(fileobj=io.BytesIO(outer["data.tar.gz"])) as data:
        return {**members(data), "metadata": gzip.decompress(outer["metadata.gz"])}


def from_folder(path: Path) -> Files:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def members(archive: tarfile.TarFile) -> Files:
    found = {member.name: archive.extractfile(member) for member in archive if not member.isdir()}
    return {name: file.read() for name, file in found.items() if file is not None}


KINDS = [
    Kind(
        "trunkline-*.whl",
        from_zip,
        [
            "trunkline/__init__.py",
            "trunkline/py.typed",
            "trunkline/_internal/_native.*",
            *(f"trunkline-VERSION.dist-info/licenses/{name}" for name in LICENSES),
        ],
        ["trunkline/*.py", "trunkline/*.pyi", "trunkline-VERSION.dist-info/*"],
        "trunkline-VERSION.dist-info/METADATA",
        [
            "Name: trunkline",
            "Version: VERSION",
            "License-Expression: " + re.escape(LICENSE),
            "Requires-Python: >=3.*",
            "# trunkline for Python",
        ],
    ),
    Kind(
        "trunkline-*.tar.gz",
        from_tar,
        ["pyproject.toml", "Cargo.lock", "README.md", "python/trunkline/__init__.py", *LICENSES],
        ["PKG-INFO", "Cargo.toml", "python/*", "bindings-python/*", "core/*", "tests/*"],
        "PKG-INFO",
        ["Name: trunkline", "Version: VERSION", "License-Expression: " + re.escape(LICENSE)],
    ),
    Kind(
        "trunkline-[0-9]*.tgz",
        from_tar,
        ["README.md", "dist/index.js", "dist/index.mjs", "dist/index.d.ts", "dist/esm/index.js", *LICENSES],
        [
            "package.json",
            "dist/*.js",
            "dist/*.mjs",
            "dist/*.d.ts",
            "dist/*.d.mts",
            "dist/esm/package.json",
            "LICENSE-*",
        ],
        "package.json",
        ['  "version": "VERSION",', f'  "license": "{LICENSE}",', '    "@trunkline/.*": "VERSION",?'],
    ),
    Kind(
        "trunkline-[a-z]*.tgz",
        from_tar,
        ["README.md", "trunkline.*.node", *LICENSES],
        ["package.json", "LICENSE-*"],
        "package.json",
        ['  "version": "VERSION",', f'  "license": "{LICENSE}",', '  "os": .*', '  "cpu": .*'],
    ),
    Kind(
        "trunkline-*.gem",
        from_gem,
        ["README.md", "lib/trunkline.rb", "lib/*trunkline_uniffi.*", "sig/trunkline.rbs", *LICENSES],
        ["metadata", "lib/*.rb", "sig/*.rbs", "LICENSE-*"],
        "metadata",
        ["name: trunkline", "  version: VERSION", "- MIT", "- Apache-2.0", "  rubygems_mfa_required: .*"],
    ),
    Kind(
        "trunkline-*-sources.jar",
        from_zip,
        ["dev/trunkline/Server.kt", "dev/trunkline/java/Server.java"],
        ["dev/trunkline/*.kt", "dev/trunkline/*.java", "trunkline.kt", "META-INF/*"],
        "META-INF/MANIFEST.MF",
        ["Manifest-Version: 1.0"],
    ),
    Kind(
        "trunkline-*-javadoc.jar",
        from_zip,
        ["index.html", "dev/trunkline/java/Server.html"],
        ["*"],
        "META-INF/MANIFEST.MF",
        ["Manifest-Version: 1.0"],
    ),
    Kind(
        "trunkline-[0-9]*.jar",
        from_zip,
        [
            "dev/trunkline/Server.class",
            "dev/trunkline/java/Server.class",
            "*/*trunkline_uniffi.*",
            *(f"META-INF/licenses/trunkline/{name}" for name in LICENSES),
        ],
        ["dev/trunkline/*.class", "META-INF/*"],
        "META-INF/maven/dev.trunkline/trunkline/pom.properties",
        ["groupId=dev.trunkline", "artifactId=trunkline", "version=VERSION"],
    ),
    Kind(
        "trunkline*.crate",
        from_tar,
        ["Cargo.toml", "README.md", "src/lib.rs", *LICENSES],
        ["Cargo.lock", "Cargo.toml.orig", ".cargo_vcs_info.json", "clippy.toml", "src/*", "tests/*", "LICENSE"],
        "Cargo.toml",
        [
            'version = "VERSION"',
            f'license = "{LICENSE}"',
            'readme = "README.md"',
            "repository = .*",
            "description = .*",
        ],
    ),
    Kind(
        "c-package",
        from_folder,
        [
            "include/trunkline.h",
            "include/trunkline.hpp",
            "lib/*trunkline*",
            "lib/pkgconfig/trunkline.pc",
            "lib/cmake/trunkline/*",
            *(f"share/licenses/trunkline/{name}" for name in LICENSES),
        ],
        ["bin/trunkline.dll", "share/*"],
        "lib/pkgconfig/trunkline.pc",
        ["Name: trunkline", "Version: VERSION"],
    ),
]


def check(package: Path, version: str) -> None:
    kind = next((kind for kind in KINDS if fnmatchcase(package.name, kind.name)), None)
    if kind is None:
        raise Fault(f"no kind of package has the name {package.name}; tests/packages/contents.py has them")
    files = kind.read(package)
    faults = list(faults_of(kind, files, version))
    if faults:
        raise Fault("\n".join(f"{package.name}: {fault}" for fault in faults))


def faults_of(kind: Kind, files: Files, version: str):
    required = [pattern.replace("VERSION", version) for pattern in kind.required]
    allowed = required + [pattern.replace("VERSION", version) for pattern in kind.others]
    for pattern in required:
        if not any(fnmatchcase(name, pattern) for name in files):
            yield f"{pattern} is missing"
    for name, content in files.items():
        if any(fnmatchcase(f"/{name}", pattern) for pattern in STRAY):
            yield f"{name} is a stray file"
        elif not any(fnmatchcase(name, pattern) for pattern in allowed):
            yield f"{name} does not belong in it"
        elif not content and not name.endswith(("py.typed", "__init__.py")):
            yield f"{name} is empty"
    described = files.get(kind.described.replace("VERSION", version), b"").decode()
    if kind.described == "package.json":
        # One member per line.
        described = json.dumps(json.loads(described or "{}"), indent=2)
    lines = described.splitlines()
    for pattern in (line.replace("VERSION", re.escape(version)) for line in kind.lines):
        if not any(re.fullmatch(pattern, line) for line in lines):
            yield f"{kind.described} has no line {pattern!r}"
