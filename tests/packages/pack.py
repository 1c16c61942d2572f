"""Pack packages from copies of the tracked files, so that nothing else of the tree gets in."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from versions import ROOT, TARGET, of_tree

CRATES = ["trunkline-proto", "trunkline-core", "trunkline-gateway", "trunkline-testing", "trunkline", "trunkline-cli"]
# The license texts of the crates in a library, which the workflow writes next to its binding.
NOTICES = "LICENSE-THIRD-PARTY"


def gem(folder: Path, library: Path) -> list[Path]:
    with copied("bindings-uniffi/ruby", NOTICES) as source:
        shutil.copy(library.resolve(), source / "lib")
        run(["gem", "build", "--strict", "trunkline.gemspec"], source)
        return moved(source.glob("*.gem"), folder)


def npm(folder: Path, library: Path, *platform: Path) -> list[Path]:
    """Pack the main package, which is built, and that of a platform, by default of this one."""
    node = ["node", ROOT / "tests/npm/pack.mjs", folder / "npm", library.resolve(), *platform]
    return moved(map(Path, run(node, ROOT).splitlines()), folder)


def c(folder: Path, installer: Path) -> list[Path]:
    package = folder / "c-package"
    run([installer.resolve(), "--prefix", package], ROOT)
    licenses = package / "share/licenses/trunkline"
    licenses.mkdir(parents=True, exist_ok=True)
    for file in [*ROOT.glob("LICENSE-*"), *(ROOT / "bindings-c").glob(NOTICES)]:
        shutil.copy(file, licenses)
    return [package]


def crates(folder: Path, *options: Path) -> list[Path]:
    """Pack the published crates. Options are for cargo, such as `--no-verify`."""
    check_keywords()
    names = [word for name in CRATES for word in ("--package", name)]
    run(["cargo", "package", "--locked", *names, *options], ROOT)
    return moved((TARGET / "package" / f"{name}-{of_tree()}.crate" for name in CRATES), folder)


def check_keywords() -> None:
    """Refuse keywords that crates.io refuses, but only when a crate is published."""
    described = run(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], ROOT)
    for package in json.loads(described)["packages"]:
        keywords = package["keywords"]
        if package["publish"] is None and (len(keywords) > 5 or any(len(keyword) > 20 for keyword in keywords)):
            sys.exit(f"{package['name']}: at most 5 keywords of at most 20 characters, not {keywords}")


def maven(folder: Path, libraries: Path, *others: Path) -> list[Path]:
    """Pack the artifact for Kotlin and Java in `FOLDER/jvm`, with the libraries of platforms. Maven
    gets other options.
    """
    build = folder / "jvm"
    options = [f"-Dbuild.folder={build}", f"-Dnative.libraries={libraries.resolve()}", "-Prelease", "-DskipTests"]
    # The daemon belongs to the user, and another build that ends it would fail this one.
    options.append("-Dkotlin.compiler.daemon=false")
    maven = ["mvn", "--batch-mode", "--no-transfer-progress", "--file", "bindings-uniffi/kotlin"]
    run([*maven, *options, *others, "package"], ROOT)
    return sorted(build.glob("trunkline-*.jar"))


def sdist(folder: Path) -> list[Path]:
    return maturin("sdist", folder)


def wheel(folder: Path) -> list[Path]:
    return maturin("build", folder, "--locked")


def maturin(command: str, folder: Path, *options: str) -> list[Path]:
    made = folder / command
    program = [sys.executable, "-m", "maturin", command, *options]
    run([*program, "--out", made, "--manifest-path", "bindings-python/Cargo.toml"], ROOT)
    return moved(made.iterdir(), folder)


KINDS = {"c": c, "crates": crates, "gem": gem, "maven": maven, "npm": npm, "sdist": sdist, "wheel": wheel}


@contextmanager
def copied(package: str, *untracked: str) -> Iterator[Path]:
    """Copy the tracked files of a folder to another place, with files of the folder above it."""
    listed = run(["git", "ls-files", package], ROOT).splitlines()
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        for file in listed:
            to = copy / Path(file).relative_to(package)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, to)
        for name in untracked:
            file = (ROOT / package).parent / name
            if file.exists():
                shutil.copy(file, copy)
        yield copy


def moved(files: Iterable[Path], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.move(file, folder / file.name)) for file in sorted(files)]


def run(command: list[str | Path], folder: Path, timeout: float = 3600) -> str:
    """Run a command that must succeed. Returns what it prints."""
    words = [str(word) for word in command]
    # A script of npm or RubyGems, which Windows only finds by its whole name.
    words[0] = shutil.which(words[0]) or words[0]
    ended = subprocess.run(
        words, cwd=folder, stdout=subprocess.PIPE, text=True, timeout=timeout, check=False, env=os.environ
    )
    if ended.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {ended.returncode} on {platform.platform()}\n{ended.stdout}")
    return ended.stdout
