"""Information about the installed package: `python -m trunkline`."""

import platform
import sys

from . import __version__
from ._internal import _native
from ._internal._generated.waist import REVISIONS


def main() -> None:
    """Print the version, the path of the library, the interpreter, and the protocol revisions."""
    has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"trunkline {__version__}")
    print(f"library: {_native.__file__}")
    interpreter = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"interpreter: {interpreter}{'' if has_gil else ', free-threaded'}, {platform.platform()}")
    print(f"revisions: {', '.join(REVISIONS)}")


if __name__ == "__main__":
    main()
