"""Notes that a model can write and read. Serves stdio; given a port, HTTP."""

import sys

from trunkline import Server, ToolError

server = Server("notes", version="1.0.0", instructions="Keeps short notes for the user.")
notes: dict[str, str] = {}


@server.tool
def add_note(name: str, text: str) -> str:
    """Save a note under a name.

    Args:
        name: A single word, such as groceries.
        text: The note.
    """
    if name in notes:
        raise ToolError(f"A note named {name} already exists: choose another name.")
    notes[name] = text
    server.resource_updated("notes://all")
    return f"Saved {name}."


@server.resource("notes://all", mime_type="text/markdown")
def all_notes() -> str:
    """All notes."""
    return "\n".join(f"- {name}: {text}" for name, text in notes.items())


@server.prompt
def plan(day: str) -> str:
    """Plan a day with the notes."""
    return f"Read notes://all and plan {day} accordingly."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run_http(port=int(sys.argv[1]))
    else:
        server.run()
