#!/usr/bin/env python3
"""A profile of the core and the bridge, with which rustc optimizes the libraries of all packages.

    python3 benches/profile.py TARGET

builds an instrumented C library, lets the C bench server and client work with it, and writes
`target/profile/trunkline.profdata`. Then set RUSTFLAGS to what it prints and RUSTC_WRAPPER to the
path of `stable-names.sh`, and build packages for the same target with the same compiler. Linux with
glibc or musl. If llvm-tools are missing, it installs them with rustup.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "target" / "profile"
COUNTS = HOME / "counts"
PROFILE = HOME / "trunkline.profdata"
PACKAGES = ["trunkline-c", "trunkline-node", "trunkline-python", "trunkline-uniffi"]
# Code that takes part in none of these counts as cold, and is optimized for size.
WORK = "a,b,a-2026,c-session,c-2026,d-stdio,d-http,e-sessions,f-stdio,f-http,i,g-1,g-64,g-http-1,g-http-64,j-resource"
ROUND = ["--rounds", "1", "--servers", "ours-c", "--out", os.devnull, "--work", WORK]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: profile.py TARGET, such as x86_64-unknown-linux-gnu")
    target = sys.argv[1]
    require_equal_features(target)
    tool = profdata_tool()
    shutil.rmtree(HOME, ignore_errors=True)
    programs = HOME / "bin"
    programs.mkdir(parents=True)
    flags = {"RUSTFLAGS": f"-Cprofile-generate={COUNTS}", "RUSTC_WRAPPER": str(ROOT / "benches/stable-names.sh")}
    library = build(target, "--package", PACKAGES[0], "--lib", **flags) / "libtrunkline.so"
    place(library, programs / linked_name(library))
    for role in ("server", "client"):
        compile_program(role, library, programs)
    for folder, program in (("load", "mcpload"), ("peers/rmcp", "bare")):
        manifest = str(ROOT / "benches" / folder / "Cargo.toml")
        place(build(target, "--manifest-path", manifest, "--bin", program) / program, programs / program)
    harness = [sys.executable, str(ROOT / "benches/run.py"), *ROUND]
    run(*harness, TRUNKLINE_BENCH_HOME=str(HOME), LLVM_PROFILE_FILE=f"{COUNTS}/%p.profraw", MCPLOAD_GENTLE="1")
    run(tool, "merge", "--output", str(PROFILE), *map(str, COUNTS.glob("*.profraw")))
    # Cold code has a section of its own, so that a process maps little of it.
    print(f"-Cprofile-use={PROFILE} -Clink-arg=-Wl,-z,keep-text-section-prefix")


def require_equal_features(target: str) -> None:
    """A crate with other features has other functions."""
    first = features(PACKAGES[0], target)
    for package in PACKAGES[1:]:
        for crate, enabled in features(package, target).items():
            if first.get(crate, enabled) != enabled:
                sys.exit(f"the profile of {PACKAGES[0]} does not fit {package}: {crate} has other features there")


def features(package: str, target: str) -> dict[str, str]:
    tree = ["cargo", "tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe"]
    lines = output(*tree, "--format", "{p}|{f}", "--package", package, "--target", target).splitlines()
    return dict(line.split("|") for line in lines)


def profdata_tool() -> str:
    root = Path(output("rustc", "--print", "sysroot").strip())
    pattern = "lib/rustlib/*/bin/llvm-profdata"
    if not any(root.glob(pattern)):
        run("rustup", "component", "add", "llvm-tools")
    return str(next(root.glob(pattern)))


def build(target: str, *arguments: str, **environment: str) -> Path:
    """Returns the directory of what was built."""
    folder = HOME / "cargo"
    options = ["--release", "--locked", "--target", target, "--target-dir", str(folder)]
    run("cargo", "build", *options, *arguments, **environment)
    return folder / target / "release"


def compile_program(role: str, library: Path, programs: Path) -> None:
    compiler = os.environ.get("CC", "cc")
    include = ["-I", str(ROOT / "bindings-c/include"), "-O2", "-std=c11"]
    link = [str(library), "-lpthread", "-Wl,-rpath,$ORIGIN"]
    source = str(ROOT / f"benches/c/{role}.c")
    run(compiler, *include, source, "-o", str(programs / f"ours-c-{role}"), *link)


def linked_name(library: Path) -> str:
    lines = output("readelf", "--dynamic", str(library)).splitlines()
    return next(line.split("[")[1].rstrip("]") for line in lines if "SONAME" in line)


def place(file: Path, copy: Path) -> None:
    shutil.copy2(file, copy)


def run(*command: str, **environment: str) -> None:
    subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, stdout=sys.stderr, check=True)  # noqa: S603


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout  # noqa: S603


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(error.cmd[:2])} ended with {error.returncode}")
