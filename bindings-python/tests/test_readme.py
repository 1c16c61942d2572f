"""The README's examples work as they stand, and the package has the right files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from raw import MODERN, Peer
from support import finish, script

README = Path(__file__).parent.parent / "README.md"


def section(title: str) -> str:
    """The program of a section."""
    text = README.read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def test_the_first_server(tmp_path: Path) -> None:
    with Peer(script(tmp_path, section("A server")), MODERN) as peer:
        assert peer.call("forecast", city="Oslo", days=1) == '["Oslo: sunny"]'


def test_resources_prompts_and_elicitation(tmp_path: Path) -> None:
    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"sure": True}}

    program = section("Resources, prompts and user input") + "\nserver.run()\n"
    for revision in ("2025-11-25", MODERN):
        with Peer(script(tmp_path, program), revision, capabilities={"elicitation": {}}, answer=answer) as peer:
            [contents] = peer.request("resources/read", uri="notes://today")["contents"]
            assert contents["text"] == "buy milk"
            [message] = peer.request("prompts/get", name="review", arguments={"name": "today"})["messages"]
            assert message["content"]["text"] == "Summarize the note today in 50 words."
            assert peer.call("delete", name="today") == "deleted"


def test_types_and_descriptions(tmp_path: Path) -> None:
    with Peer(script(tmp_path, section("Types and descriptions") + "\nserver.run()\n"), MODERN) as peer:
        assert peer.call("lend", title="Emma", period="P7D") == '{"Emma":7}'
        [tool] = peer.request("tools/list")["tools"]
        assert tool["description"] == "Lend a book."
        assert tool["inputSchema"]["properties"]["period"]["description"] == "How long, such as P14D."
        [contents] = peer.request("resources/read", uri="books://novel?page=2")["contents"]
        assert contents["text"] == "novel, page 2"


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


def test_the_clients(tmp_path: Path) -> None:
    """Both clients: of a server over HTTP and of one that is started. Only the address and the
    command differ.
    """
    server = script(tmp_path, section("A server"), "weather.py")
    program = section("A client")
    assert '"http://127.0.0.1:8000/mcp"' in program and program.count('["python", "weather.py"]') == 2
    first, second = program.split("\n\n", 1)[1].split("\n\n")
    source = f"""
import asyncio, sys, weather
{program.partition(chr(10))[0]}

async def main():
    async with weather.server.serve_http(port=0) as listener:
        url = listener.url
        {first.replace('"http://127.0.0.1:8000/mcp"', "url", 1).replace(chr(10), chr(10) + "        ")}
        print(result.text)

asyncio.run(main())
{second.replace('["python", "weather.py"]', repr(server))}
print(result.text)
"""
    done = finish(script(tmp_path, source))
    assert (done.returncode, done.stdout) == (0, '["Oslo: sunny","Oslo: sunny","Oslo: sunny"]\n' * 2), done.stderr


def test_the_package_metadata_links_to_the_project() -> None:
    project = (README.parent / "pyproject.toml").read_text(encoding="utf-8")
    for place in ("Changelog", "Documentation", "Issues", "Repository"):
        assert re.search(rf'^{place} = "https://\S+"$', project, re.MULTILINE), place
    assert '"Topic :: ' in project and "authors = " in project


def test_the_licenses_in_the_package_are_those_of_the_project() -> None:
    here = README.parent
    assert 'license-files = ["LICENSE-*"]' in (here / "pyproject.toml").read_text(encoding="utf-8")
    texts = {path.name: path.read_bytes() for path in here.glob("LICENSE-*")}
    assert texts == {path.name: path.read_bytes() for path in here.parent.glob("LICENSE-*")}
    assert set(texts) == {"LICENSE-APACHE", "LICENSE-MIT"}
