"""Processes that fork, threads, and copies of the library: programs that print a figure."""

import asyncio
import contextlib
import shutil
import tempfile
from pathlib import Path

from peer import Language
from row import LONG_FORM, row


async def printed(*words: str) -> float:
    """The figure that a program prints; it must exit successfully."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
    try:
        output, errors = await process.communicate()
        assert process.returncode == 0, (process.returncode, errors[-300:])
        return float(output)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


def beside(language: Language, name: str) -> list[str]:
    """The command of a program next to the client."""
    *interpreter, client = language.client
    return [*interpreter, str(Path(client).with_name(name))]


@row("threads of C block and dispatch on one port: the slowest call", 1, "s", languages=("c",))
async def threads_on_one_port(language: Language) -> float:
    return await printed(*language.client, "threads", "100000" if LONG_FORM else "5000")


@row("processes of multiprocessing, by each of its ways: the slowest", 20, "s", languages=("python",))
async def multiprocessing(language: Language) -> float:
    return await printed(*beside(language, "client_processes.py"))


@row("workers of a cluster, one of which is killed: the slowest call", 5, "s", languages=("node",))
async def cluster(language: Language) -> float:
    return await printed(*beside(language, "client_cluster.mjs"))


@row("a second copy of the library is opened, used and closed", 10, "s", languages=("c",))
async def copies_of_the_library(language: Language) -> float:
    (library,) = Path(language.client[0]).parent.glob("libtrunkline.so.*")
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(library, Path(folder, "plugin.so"))
        return await printed(*language.client, "copies", str(copy))
