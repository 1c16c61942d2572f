"""Runs a program at a terminal of its own: at_terminal.py PROGRAM [ARGUMENT...]

The user of the terminal is on standard input and output.
"""

import os
import pty
import sys

sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
