"""Runs the snippets of the pages in one process: python run.py FOLDER NAME...

Prints a line of JSON with the output of each.
"""

import contextlib
import io
import json
import runpy
import sys
import traceback
from pathlib import Path


def run(file: Path) -> dict[str, str | None]:
    printed, error = io.StringIO(), None
    sys.argv = [str(file)]
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(file), run_name="__main__")
    except BaseException:  # noqa: BLE001 (one failing snippet must not stop the others)
        error = traceback.format_exc()
    return {"name": file.stem, "printed": printed.getvalue(), "error": error}


folder = Path(sys.argv[1])
names = sys.argv[2:]
for name in names:
    print(json.dumps(run(folder / f"{name}.py")), flush=True)
