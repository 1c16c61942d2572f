"""Look into packages: their version, licenses, description, and every file in them."""

import gzip
import io
import json
import re
import subprocess
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


def from_zip_of_folder(path: Path) -> Files:
    """Read the files without the folder that has all of them."""
    return {name.partition("/")[2]: content for name, content in from_zip(path).items()}


def from_tar(path: Path) -> Files:
    """Read the files without the folder that has all of them."""
    with tarfile.open(path) as archive:
        return {name.partition("/")[2]: content for name, content in members(archive).items()}


def from_gem(path: Path) -> Files:
    with tarfile.open(path) as archive:
        outer = members(archive)
    with tarfile.open(fileobj=io.BytesIO(outer["data.tar.gz"])) as data:
        return {**members(data), "metadata": gzip.decompress(outer["metadata.gz"])}


def from_deb(path: Path) -> Files:
    control = subprocess.run(["dpkg-deb", "--field", path], stdout=subprocess.PIPE, timeout=60, check=True).stdout
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], stdout=subprocess.PIPE, timeout=60, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {name.removeprefix("./"): content for name, content in members(archive).items()} | {"control": control}


def from_folder(path: Path) -> Files:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def members(archive: tarfile.TarFile) -> Files:
    found = {member.name: archive.extractfile(member) for member in archive if not member.isdir()}
    return {name: file.read() for name, file in found.items() if file is not None}


# Lines of the manifest of a crate.
CRATE = ['version = "VERSION"', f'license = "{LICENSE}"', 'readme = "README.md"', "repository = .*", "description = .*"]
# Of the program, for each shell; and its pages, one for each command.
COMPLETIONS = ["bash-completion/completions/trunkline", "fish/vendor_completions.d/trunkline.fish"]
PAGES = ["trunkline.1", "trunkline-bridge.1", "trunkline-call.1", "trunkline-list.1"]


def program_archive(name: str, read: Callable[[Path], Files]) -> Kind:
    binaries = ["bin/trunkline*", "bin/trunkline-cli*"]
    texts = ["README.md", "completions/trunkline", "completions/trunkline.fish", "completions/_trunkline"]
    required = [*binaries, *texts, *(f"man/{page}" for page in PAGES), *(f"licenses/{name}" for name in LICENSES)]
    return Kind(name, read, required, ["man/*", "licenses/LICENSE-*"], "README.md", ["# trunkline-cli"])


# The first kind that has the name of a package is its own.
KINDS = [
    Kind(
        "trunkline_cli-*.whl",
        from_zip,
        [
            "trunkline_cli-VERSION.data/scripts/trunkline*",
            "trunkline_cli-VERSION.data/scripts/trunkline-cli*",
            "trunkline_cli-VERSION.data/data/share/zsh/site-functions/_trunkline",
            *(f"trunkline_cli-VERSION.data/data/share/{name}" for name in COMPLETIONS),
            *(f"trunkline_cli-VERSION.data/data/share/man/man1/{page}" for page in PAGES),
            *(f"trunkline_cli-VERSION.dist-info/licenses/{name}" for name in LICENSES),
        ],
        ["trunkline_cli-VERSION.data/data/share/man/man1/*.1", "trunkline_cli-VERSION.dist-info/*"],
        "trunkline_cli-VERSION.dist-info/METADATA",
        [
            "Name: trunkline-cli",
            "Version: VERSION",
            "License-Expression: " + re.escape(LICENSE),
            "Requires-Python: >=3.*",
            "# trunkline-cli",
        ],
    ),
    Kind(
        "trunkline-cli-[0-9]*.tgz",
        from_tar,
        [
            "README.md",
            "trunkline.cjs",
            "completions/trunkline",
            "completions/trunkline.fish",
            "completions/_trunkline",
            *(f"man/{page}" for page in PAGES),
            *LICENSES,
        ],
        ["package.json", "man/*.1", "LICENSE-*"],
        "package.json",
        [
            '  "name": "trunkline-cli",',
            '  "version": "VERSION",',
            f'  "license": "{LICENSE}",',
            '    "@trunkline/cli-.*": "VERSION",?',
        ],
    ),
    Kind(
        "trunkline-cli-[a-z]*.tgz",
        from_tar,
        ["README.md", "bin/trunkline*", *LICENSES],
        ["package.json", "LICENSE-*"],
        "package.json",
        ['  "version": "VERSION",', f'  "license": "{LICENSE}",', '  "os": .*', '  "cpu": .*'],
    ),
    Kind(
        "trunkline-cli-*.crate",
        from_tar,
        [
            *["Cargo.toml", "Cargo.lock", "README.md", "build.rs", "src/main.rs", "src/bin/trunkline-cli.rs"],
            # The page of `inspect`, so that the crate needs no Node.js.
            "web/dist/index.html.gz",
            *LICENSES,
        ],
        [
            "Cargo.toml.orig",
            ".cargo_vcs_info.json",
            "src/*",
            "tests/*",
            "examples/*",
            "hosts/*",
            "schemas/*",
            "web/dist/*.gz",
        ],
        "Cargo.toml",
        CRATE,
    ),
    Kind(
        "trunkline-cli_*.deb",
        from_deb,
        [
            "usr/bin/trunkline",
            "usr/bin/trunkline-cli",
            "usr/share/zsh/vendor-completions/_trunkline",
            *(f"usr/share/{name}" for name in COMPLETIONS),
            *(f"usr/share/man/man1/{page}.gz" for page in PAGES),
            "usr/share/doc/trunkline-cli/copyright",
        ],
        ["control", "usr/share/man/man1/*.1.gz"],
        "control",
        ["Package: trunkline-cli", "Version: VERSION", "Architecture: (amd64|arm64)", "Description: .*"],
    ),
    program_archive("trunkline-cli-*.tar.xz", from_tar),
    program_archive("trunkline-cli-*.zip", from_zip_of_folder),
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
        CRATE,
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


def kind_of(name: str) -> Kind:
    kind = next((kind for kind in KINDS if fnmatchcase(name, kind.name)), None)
    if kind is None:
        raise Fault(f"no kind of package has the name {name}; tests/packages/contents.py has them")
    return kind


def check(package: Path, version: str) -> None:
    kind = kind_of(package.name)
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
