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

# A call with the program, of a server that needs nothing but Python.
CALL = ["call", "hello", "name=Ada", "--", sys.executable, ROOT / "tests/packages/hello_server.py"]

Trial = Callable[[Path], str]


def of(packages: list[Path]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Return the trials of the packages, with their names. npm packages are tried together."""
    program = [package for package in packages if package.name.startswith(("trunkline-cli", "trunkline_cli"))]
    npm = [package for package in packages if package.suffix == ".tgz" and package not in program]
    crates = [package for package in packages if package.suffix == ".crate"]
    for package in packages:
        if package.suffix == ".whl" and package not in program:
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
    for name, trial in of_program(program):
        yield f"a call by {name}", partial(run, trial)


def of_program(packages: list[Path]) -> Iterator[tuple[str, Trial]]:
    """Return the trials of the packages of the program: each calls the same server."""
    npm = [package for package in packages if package.suffix == ".tgz"]
    for package in packages:
        if package.suffix == ".whl":
            yield f"pip and {package.name}", partial(program_pip, package)
            yield f"uvx and {package.name}", partial(program_uvx, package)
            yield f"pipx and {package.name}", partial(program_pipx, package)
        if package.suffix in {".xz", ".zip"}:
            yield package.name, partial(program_archive, package)
        if package.suffix == ".deb":
            yield package.name, partial(program_deb, package)
    if npm:
        yield "npx", partial(program_npx, npm)


def run(trial: Trial, expected: str = "Hello, Ada!") -> None:
    """Run a trial in a new folder. Its output must have the expected line."""
    with tempfile.TemporaryDirectory() as folder:
        must_greet(trial(Path(folder).resolve()), expected)


def must_greet(printed: str, expected: str = "Hello, Ada!") -> None:
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
    """Compile the packed crates, and the program as a part of the same workspace."""
    for package in packages:
        command(["tar", "-xzf", package], folder)
    places = [package.name.removesuffix(".crate") for package in packages]
    program = [place for place in places if place.startswith("trunkline-cli-")]
    patches = [f'{place.rpartition("-")[0]} = {{ path = "{place}" }}' for place in places if place not in program]
    workspace = f"\n\n[workspace]\nmembers = {program}\n"
    (folder / "Cargo.toml").write_text(PROGRAM + "\n".join(patches) + workspace, encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", folder)
    examples("rust/hello_*.rs", folder)
    command(["cargo", "build", "--quiet", "--workspace", "--bins", "--target-dir", TARGET], folder)
    if program:
        must_greet(command([built("trunkline-cli"), *CALL], folder))
    return command([built("hello_client")], folder)


def built(name: str) -> Path:
    return TARGET / "debug" / f"{name}{'.exe' if os.name == 'nt' else ''}"


def program_pip(package: Path, folder: Path) -> str:
    command([sys.executable, "-m", "venv", "venv"], folder)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    command([programs / "python", "-m", "pip", "install", "--quiet", "--no-index", package], folder)
    return command([programs / "trunkline", *CALL], folder) + command([programs / "trunkline-cli", "--version"], folder)


def program_uvx(package: Path, folder: Path) -> str:
    found = ["--offline", "--no-index", "--no-config", "--find-links", package.parent]
    return command(["uvx", *found, "trunkline-cli", *CALL], folder, {"UV_CACHE_DIR": str(folder / "cache")})


def program_pipx(package: Path, folder: Path) -> str:
    """Run it with uv behind pipx: behind pip, pipx fetches a newer pip first."""
    environment = {"UV_OFFLINE": "1", "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(package.parent)}
    places = {"PIPX_HOME": str(folder / "pipx"), "UV_CACHE_DIR": str(folder / "cache")}
    return command(["pipx", "run", "--backend", "uv", "trunkline-cli", *CALL], folder, environment | places)


def program_npx(packages: list[Path], folder: Path) -> str:
    registry = ["node", ROOT / "tests/npm/registry.mjs", *packages, "--"]
    environment = {"npm_config_cache": str(folder / "cache"), "npm_config_update_notifier": "false"}
    return command([*registry, "npx", "-y", "trunkline-cli", *CALL], folder, environment)


def program_archive(package: Path, folder: Path) -> str:
    shutil.unpack_archive(package, folder)
    (program,) = folder.glob("trunkline-cli-*/bin/trunkline-cli*")
    return command([program, *CALL], folder)


def program_deb(package: Path, folder: Path) -> str:
    command(["dpkg-deb", "--extract", package, folder], folder)
    return command([folder / "usr/bin/trunkline-cli", *CALL], folder)


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
