"""Runs a program at a terminal of its own, whose user is on standard input and output: at_terminal.py PROGRAM [ARGUMENT...]"""

import os
import pty
import sys

sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
