"""The descriptors of the standard streams."""

from __future__ import annotations

import os
import sys


def open_closed_streams() -> None:
    """Open the null device on those of descriptors 0 to 2 that are closed. Otherwise, the next
    socket or file becomes a standard stream, and is read, written and redirected as such.
    """
    if sys.platform == "win32":
        return  # standard streams are handles there
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free descriptor is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
