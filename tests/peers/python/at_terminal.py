"""Runs a program in a new terminal: at_terminal.py PROGRAM [ARGUMENT...]

The terminal's user is connected to standard input and output.
"""

import os
import pty
import sys

sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
