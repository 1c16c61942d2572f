"""What the README shows works as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from raw import MODERN, Peer
from support import script

README = Path(__file__).parent.parent / "README.md"


def section(title: str) -> str:
    """The program of a section."""
    text = README.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def test_the_first_server(tmp_path: Path) -> None:
    with Peer(script(tmp_path, section("A server")), MODERN) as peer:
        assert peer.call("forecast", city="Oslo", days=1) == '["Oslo: sunny"]'


def test_resources_prompts_and_what_the_user_says(tmp_path: Path) -> None:
    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"sure": True}}

    program = section("Resources, prompts, and what the user says") + "\nserver.run()\n"
    for revision in ("2025-11-25", MODERN):
        with Peer(script(tmp_path, program), revision, capabilities={"elicitation": {}}, answer=answer) as peer:
            [contents] = peer.request("resources/read", uri="notes://today")["contents"]
            assert contents["text"] == "buy milk"
            [message] = peer.request("prompts/get", name="review", arguments={"name": "today"})["messages"]
            assert message["content"]["text"] == "Summarize the note today in 50 words."
            assert peer.call("delete", name="today") == "deleted"


def test_tasks_skills_and_user_interfaces(tmp_path: Path) -> None:
    program = section("Tasks, skills, and user interfaces").replace("sleep(60)", "sleep(0)") + "\nserver.run()\n"
    with Peer(
        script(tmp_path, program), MODERN, capabilities={"extensions": {"io.modelcontextprotocol/tasks": {}}}
    ) as peer:
        assert peer.request("tools/call", name="report", arguments={})["resultType"] == "task"
        [tool] = peer.request("tools/list")["tools"]
        assert tool["_meta"] == {"ui": {"resourceUri": "ui://reports/view"}}
        assert [one["uri"] for one in peer.request("skills/list")["skills"]] == ["skill://reading-reports/SKILL.md"]
    with Peer(script(tmp_path, program), "2025-06-18") as peer:
        assert peer.call("report") == "all is well"
