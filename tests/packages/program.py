"""Pack the program `trunkline`, for each way to install it. All packages have the same files."""

import gzip
import hashlib
import json
import shutil
import tempfile
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pack import run
from versions import ROOT, of_tree

NAME = "trunkline-cli"
SUMMARY = "Lists, calls, reads and bridges any server of the Model Context Protocol, from a terminal or a script"
REPOSITORY = "https://github.com/trunkline-mcp/trunkline"
LICENSE = "MIT OR Apache-2.0"
# Each shell with its file, and the folder where the shell finds it below /usr/share.
COMPLETIONS = {
    "bash": ("trunkline", "bash-completion/completions"),
    "fish": ("trunkline.fish", "fish/vendor_completions.d"),
    "zsh": ("_trunkline", "zsh/site-functions"),
}


@dataclass(frozen=True)
class Platform:
    """The names of a target of Rust in the registries."""

    wheel: str
    npm: str
    deb: str = ""


def static_linux(wheel: str, npm: str, deb: str) -> Platform:
    """A program without a C library of the system runs with each."""
    return Platform(f"manylinux_2_17_{wheel}.manylinux2014_{wheel}.musllinux_1_1_{wheel}", f"linux-{npm}", deb)


PLATFORMS = {
    "aarch64-apple-darwin": Platform("macosx_11_0_arm64", "darwin-arm64"),
    "aarch64-pc-windows-msvc": Platform("win_arm64", "win32-arm64"),
    "aarch64-unknown-linux-musl": static_linux("aarch64", "arm64", "arm64"),
    "x86_64-apple-darwin": Platform("macosx_10_12_x86_64", "darwin-x64"),
    "x86_64-pc-windows-msvc": Platform("win_amd64", "win32-x64"),
    "x86_64-unknown-linux-musl": static_linux("x86_64", "x64", "amd64"),
    # Not published: for this machine and newer ones.
    "aarch64-unknown-linux-gnu": Platform("linux_aarch64", "linux-arm64", "arm64"),
    "x86_64-unknown-linux-gnu": Platform("linux_x86_64", "linux-x64", "amd64"),
}


@dataclass(frozen=True)
class Parts:
    """The files of all packages, in a folder."""

    folder: Path
    target: str

    @property
    def platform(self) -> Platform:
        return PLATFORMS[self.target]

    @property
    def binary(self) -> Path:
        return self.folder / "bin" / ("trunkline.exe" if "windows" in self.target else "trunkline")

    def files(self, kind: str) -> list[Path]:
        """The files of `bin`, `man`, `completions` or `licenses`."""
        return sorted((self.folder / kind).iterdir())


def program(folder: Path, binary: Path, *target: Path) -> list[Path]:
    """Pack a binary, and the one next to it that starts it. The default target is that of rustc."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        parts = Parts(Path(place), str(target[0]) if target else host())
        collect(parts.folder, binary.resolve())
        packed = [wheel(parts, folder), *npm(parts, folder), archive(parts, folder)]
        return [*packed, deb(parts, folder)] if parts.platform.deb and shutil.which("dpkg-deb") else packed


def host() -> str:
    described = run(["rustc", "--version", "--verbose"], ROOT)
    return next(line.removeprefix("host: ") for line in described.splitlines() if line.startswith("host: "))


def collect(folder: Path, binary: Path) -> None:
    for kind in ("bin", "man", "completions", "licenses"):
        (folder / kind).mkdir()
    for name in (binary, binary.with_stem(NAME)):
        shutil.copy(name, folder / "bin")
    run([binary, "man", folder / "man"], folder)
    for shell, (name, _) in COMPLETIONS.items():
        (folder / "completions" / name).write_text(run([binary, "completions", shell], folder), encoding="utf-8")
    for text in (ROOT / "cli").glob("LICENSE-*"):
        shutil.copy(text, folder / "licenses")


def wheel(parts: Parts, folder: Path) -> Path:
    name = f"trunkline_cli-{of_tree()}"
    path = folder / f"{name}-py3-none-{parts.platform.wheel}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        record = ""
        for place, content in wheel_files(parts, name):
            digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{place},sha256={digest},{len(content)}\n"
            add(made, place, content)
        add(made, f"{name}.dist-info/RECORD", f"{record}{name}.dist-info/RECORD,,\n".encode())
    return path


def add(made: zipfile.ZipFile, place: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(place)
    entry.external_attr = (0o100755 if "/scripts/" in place else 0o100644) << 16
    made.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def wheel_files(parts: Parts, name: str) -> Iterator[tuple[str, bytes]]:
    """Installers copy the files of `scripts` and `data` into the environment."""
    for file in parts.files("bin"):
        yield f"{name}.data/scripts/{file.name}", file.read_bytes()
    for place, content in shared(parts):
        yield f"{name}.data/data/share/{place}", content
    for file in parts.files("licenses"):
        yield f"{name}.dist-info/licenses/{file.name}", file.read_bytes()
    yield f"{name}.dist-info/METADATA", metadata(parts).encode()
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in parts.platform.wheel.split("."))
    about = f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\n{tags}"
    yield f"{name}.dist-info/WHEEL", about.encode()


def metadata(parts: Parts) -> str:
    lines = {
        "Metadata-Version": "2.4",
        "Name": NAME,
        "Version": of_tree(),
        "Summary": SUMMARY,
        "License-Expression": LICENSE,
        "Requires-Python": ">=3.8",
        "Description-Content-Type": "text/markdown",
    }
    repeated = [("License-File", file.name) for file in parts.files("licenses")]
    repeated += [("Project-URL", f"Repository, {REPOSITORY}"), ("Project-URL", f"Issues, {REPOSITORY}/issues")]
    heading = "".join(f"{key}: {value}\n" for key, value in [*lines.items(), *repeated])
    return f"{heading}\n{readme()}"


def readme() -> str:
    return (ROOT / "cli/README.md").read_text(encoding="utf-8")


def shared(parts: Parts) -> Iterator[tuple[str, bytes]]:
    """The files of a folder `share`: manual pages and completions."""
    for page in parts.files("man"):
        yield f"man/man1/{page.name}", page.read_bytes()
    for name, place in COMPLETIONS.values():
        yield f"{place}/{name}", (parts.folder / "completions" / name).read_bytes()


def npm(parts: Parts, folder: Path) -> list[Path]:
    """Pack the main package, and that of the platform, which has the binary."""
    about = json.loads((ROOT / "cli/npm/package.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        packages = [Path(place) / "main", Path(place) / "platform"]
        npm_main(parts, packages[0], about)
        npm_platform(parts, packages[1], about)
        command = ["npm", "pack", "--json", "--offline", "--pack-destination", folder, *packages]
        return [folder / packed["filename"] for packed in json.loads(run(command, folder))]


def npm_main(parts: Parts, package: Path, about: dict[str, str]) -> None:
    names = sorted({f"@trunkline/cli-{platform.npm}" for platform in PLATFORMS.values()})
    others = dict.fromkeys(names, about["version"])
    pages = [f"man/{page.name}" for page in parts.files("man")]
    write_npm(package, parts, about | {"man": pages, "optionalDependencies": others}, readme())
    for kind in ("man", "completions"):
        shutil.copytree(parts.folder / kind, package / kind)
    shutil.copy(ROOT / "cli/npm/trunkline.cjs", package)


def npm_platform(parts: Parts, package: Path, about: dict[str, str]) -> None:
    name = f"@trunkline/cli-{parts.platform.npm}"
    description = f"The program of {NAME} for {parts.platform.npm}"
    system, processor = parts.platform.npm.split("-")
    own = {"name": name, "description": description, "os": [system], "cpu": [processor], "files": ["bin", "LICENSE-*"]}
    kept = {key: about[key] for key in ("version", "license", "repository", "engines")}
    text = f"# {name}\n\n{description}: install that one, which brings this along where it is needed.\n"
    write_npm(package, parts, own | kept, text)
    (package / "bin").mkdir()
    shutil.copy(parts.binary, package / "bin")


def write_npm(package: Path, parts: Parts, about: dict[str, object], text: str) -> None:
    shutil.copytree(parts.folder / "licenses", package)
    (package / "package.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
    (package / "README.md").write_text(text, encoding="utf-8")


def archive(parts: Parts, folder: Path) -> Path:
    """Pack what a release of GitHub has, for those who use no package manager."""
    name = f"{NAME}-{of_tree()}-{parts.target}"
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(parts.folder, Path(place) / name)
        (Path(place) / name / "README.md").write_text(readme(), encoding="utf-8")
        kind = "zip" if "windows" in parts.target else "xztar"
        return Path(shutil.make_archive(str(folder / name), kind, place, name))


def deb(parts: Parts, folder: Path) -> Path:
    path = folder / f"{NAME}_{of_tree()}_{parts.platform.deb}.deb"
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "root"
        for file in parts.files("bin"):
            copy(file.read_bytes(), root / "usr/bin" / file.name, 0o755)
        for name, content in shared(parts):
            if name.startswith("man/"):
                copy(gzip.compress(content, mtime=0), root / "usr/share" / f"{name}.gz")
            else:
                # Debian has a folder of its own for the completions of packages.
                copy(content, root / "usr/share" / name.replace("zsh/site-functions", "zsh/vendor-completions"))
        texts = "\n".join(file.read_text(encoding="utf-8") for file in parts.files("licenses"))
        copy(f"{NAME}, {REPOSITORY}: {LICENSE}\n\n{texts}".encode(), root / f"usr/share/doc/{NAME}/copyright")
        copy(control(parts, root).encode(), root / "DEBIAN/control")
        run(["dpkg-deb", "--build", "--root-owner-group", "-Zxz", root, path], folder)
    return path


def control(parts: Parts, root: Path) -> str:
    is_static = "musl" in parts.target
    lines = {
        "Package": NAME,
        "Version": of_tree(),
        "Architecture": parts.platform.deb,
        "Maintainer": f"The Trunkline authors <{REPOSITORY}/issues>",
        "Installed-Size": sum(file.stat().st_size for file in root.rglob("*") if file.is_file()) // 1024,
        "Section": "utils",
        "Priority": "optional",
        "Homepage": REPOSITORY,
        **({} if is_static else {"Depends": "libc6, libgcc-s1"}),
        "Description": f"Model Context Protocol from a terminal or a script\n {SUMMARY}.",
    }
    return "".join(f"{key}: {value}\n" for key, value in lines.items())


def copy(content: bytes, path: Path, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
