"""Pack, check and try the packages of a release, for `cargo xtask release` and the workflows.

release.py version [TAG]            all manifests have one version, that of the tag
release.py pack KIND FOLDER [FILE]  pack packages of this tree
release.py check PACKAGE...         look into packages, and run a program with each in a bare folder

KIND is c, crates, gem, maven, npm, program, sdist or wheel. FILE is the native library of gem and
npm, the folder with those of maven, the installer of c, or the program, and then its target.
"""

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import contents
import pack
import program
import trials
import versions

KINDS = {**pack.KINDS, "program": program.program}


def main(command: str, *words: str) -> int:
    match command, words:
        case "version", ():
            return report("version", partial(versions.check, None))
        case "version", (tag,):
            return report("version", partial(versions.check, tag))
        case "pack", (kind, folder, *files) if kind in KINDS:
            for path in KINDS[kind](Path(folder).resolve(), *map(Path, files)):
                print(path)
            return 0
        case "check", (_, *_):
            return check([Path(word).resolve() for word in words])
        case _:
            print(__doc__, file=sys.stderr)
            return 2


def check(packages: list[Path]) -> int:
    version = versions.of_tree()
    failed = 0
    for package in packages:
        failed += report(f"contents of {package.name}", partial(contents.check, package, version))
    for name, trial in trials.of(packages):
        failed += report(name, trial)
    return min(failed, 1)


def report(name: str, work: Callable[[], None]) -> int:
    """Print a line that says whether the work passed. Returns 1 if it did not."""
    try:
        work()
    except (versions.Fault, OSError, subprocess.SubprocessError, tarfile.TarError, zipfile.BadZipFile) as fault:
        print(f"not ok {name}\n{fault}", flush=True)
        return 1
    print(f"ok {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or [""])))
