"""Install packages in bare folders, and run a program of the examples with each."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from versions import ROOT, TARGET, Fault

TIMEOUT_SECONDS = 1800

# A program with the crate, whose packages are patches.
PROGRAM = """[package]
name = "hello"
edition = "2024"

[[bin]]
name = "hello_server"
path = "hello_server.rs"

[[bin]]
name = "hello_client"
path = "hello_client.rs"

[dependencies]
schemars = "1"
serde = { version = "1", features = ["derive"] }
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
trunkline = "*"

[patch.crates-io]
"""

Trial = Callable[[Path], str]


def of(packages: list[Path]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Return the trials of the packages, with their names. npm packages are tried together."""
    npm = [package for package in packages if package.suffix == ".tgz"]
    crates = [package for package in packages if package.suffix == ".crate"]
    for package in packages:
        if package.suffix == ".whl":
            yield f"hello with {package.name}", partial(run, partial(wheel, package))
        if package.suffix == ".gem":
            yield f"hello with {package.name}", partial(run, partial(gem, package))
        if package.suffix == ".jar" and not package.stem.endswith(("-sources", "-javadoc")):
            yield f"hello with {package.name}", partial(run, partial(java, package))
        if package.name == "c-package":
            yield f"hello with {package.name}", partial(run, partial(c, package))
    if npm:
        yield (
            "a program with the npm packages",
            partial(run, partial(node, npm), "tool forecast: Forecast the weather of a city."),
        )
    if crates:
        yield "hello with the crates", partial(run, partial(rust, crates))


def run(trial: Trial, expected: str = "Hello, Ada!") -> None:
    """Run a trial in a new folder. Its output must have the expected line."""
    with tempfile.TemporaryDirectory() as folder:
        printed = trial(Path(folder).resolve())
    if expected not in printed.splitlines():
        raise Fault(f"printed {printed!r} without the line {expected!r}")


def wheel(package: Path, folder: Path) -> str:
    command([sys.executable, "-m", "venv", "venv"], folder)
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    command([python, "-m", "pip", "install", "--quiet", "--no-index", package], folder)
    examples("python/hello_*.py", folder)
    return command([python, "hello_client.py"], folder)


def gem(package: Path, folder: Path) -> str:
    # Servers that a client starts inherit this variable, and few others. The dependency is that of
    # the system, or else it is fetched.
    environment = {"HOME": str(folder), "USERPROFILE": str(folder)}
    command(["gem", "install", "--user-install", "--no-document", "--minimal-deps", package], folder, environment)
    examples("ruby/hello_*.rb", folder)
    return command(["ruby", "-w", "hello_client.rb"], folder, environment)


def java(package: Path, folder: Path) -> str:
    """Compile a program for the artifact, which has its dependencies next to it."""
    examples("java/hello_*.java", folder)
    places = os.pathsep.join([str(package), str(package.parent / "dependency" / "*"), str(folder)])
    command(["javac", "-d", folder, "-cp", places, *folder.glob("*.java")], folder)
    return command(["java", "-cp", places, "HelloClient"], folder)


def node(packages: list[Path], folder: Path) -> str:
    (folder / "package.json").write_text('{ "type": "module" }\n', encoding="utf-8")
    registry = ["node", ROOT / "tests/npm/registry.mjs", *packages, "--"]
    command([*registry, "npm", "install", "--no-audit", "--no-fund", "trunkline"], folder)
    examples("node/*.mjs", folder)
    return command(["node", "client.mjs"], folder)


def c(package: Path, folder: Path) -> str:
    """Build one program with the shared library, and one with the static library."""
    examples("c/hello_*.c", folder)
    shutil.copy(ROOT / "tests/packages/c/CMakeLists.txt", folder)
    command(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={package}"], folder)
    command(["cmake", "--build", "build", "--config", "Release"], folder)
    # Windows finds libraries in PATH.
    environment = {"PATH": os.pathsep.join([str(package / "bin"), os.environ["PATH"]])}
    return command(
        [folder / "build" / f"hello_client{'.exe' if os.name == 'nt' else ''}"], folder / "build", environment
    )


def rust(packages: list[Path], folder: Path) -> str:
    """Compile the packed crates."""
    patches = []
    for package in packages:
        command(["tar", "-xzf", package], folder)
        name = package.name.removesuffix(".crate").rpartition("-")[0]
        patches.append(f'{name} = {{ path = "{package.name.removesuffix(".crate")}" }}')
    (folder / "Cargo.toml").write_text(PROGRAM + "\n".join(patches) + "\n", encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", folder)
    examples("rust/hello_*.rs", folder)
    command(["cargo", "build", "--quiet", "--bins", "--target-dir", TARGET], folder)
    return command([TARGET / "debug" / f"hello_client{'.exe' if os.name == 'nt' else ''}"], folder)


def examples(pattern: str, folder: Path) -> None:
    files = list((ROOT / "examples").glob(pattern))
    if not files:
        raise Fault(f"examples/{pattern}: no such files")
    for file in files:
        shutil.copy(file, folder)


def command(words: list[str | Path], folder: Path, environment: dict[str, str] | None = None) -> str:
    # A program of the tree must not be found.
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("TRUNKLINE_", "PYTHONPATH"))}
    first = shutil.which(str(words[0])) or str(words[0])
    ended = subprocess.run(
        [first, *map(str, words[1:])],
        cwd=folder,
        env={**variables, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    if ended.returncode != 0:
        raise Fault(f"{' '.join(map(str, words))} ended with {ended.returncode}:\n{ended.stdout}")
    return ended.stdout
