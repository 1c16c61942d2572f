"""Agent skills, and tools that have a user interface."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raw import MODERN, Peer, Refused
from support import REVISIONS, run, script
from trunkline import Client, InvalidArgumentError, Server

MANIFEST = "---\nname: {}\ndescription: Does {}.\nmetadata:\n  team: a\n---\n# {}\n"

SERVER = """
import os, pathlib
from trunkline import InvalidArgumentError, ReadResourceResult, ResourceContents, Server

server = Server("skills", version="1", extensions={"io.modelcontextprotocol/ui": {}})
MANIFEST = MANIFEST_TEXT
folder = pathlib.Path(FOLDER_TEXT)
files = {"SKILL.md": MANIFEST.format(*["given"] * 3), "data/bytes.bin": bytes([0, 255])}
server.add_skill(files, root="skill://team/given", ttl=5, cache_scope="public")
skills = [server.add_skill(folder)]

@server.tool
def forget() -> str:
    server.remove_skill(skills[0])
    try:
        server.remove_skill(skills[0])
    except InvalidArgumentError as error:
        return str(error)

@server.tool
def again() -> str:
    os.chdir(folder.parent)
    skills[0] = server.add_skill(folder.name)
    return "there"

@server.tool(ui="ui://chart/view", meta={"a": 1, "ui": {"visibility": ["model"]}})
def chart() -> str:
    return "a chart in words"

@server.resource("ui://chart/view", mime_type="text/html;profile=mcp-app")
def view() -> ResourceContents:
    return ResourceContents("<!doctype html><title>Chart</title>", meta={"ui": {"csp": {"connectDomains": []}}})

server.run()
"""


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def peer(folder: Path, revision: str) -> Peer:
    skill = folder / "from-folder"
    (skill / "references").mkdir(parents=True)
    (skill / "SKILL.md").write_text(MANIFEST.format(*["from-folder"] * 3), encoding="utf-8")
    (skill / "references" / "notes.md").write_text("# Notes\n", encoding="utf-8")
    source = SERVER.replace("MANIFEST_TEXT", repr(MANIFEST)).replace("FOLDER_TEXT", repr(str(skill)))
    return Peer(script(folder, source), revision)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Peer]:
    with peer(tmp_path, MODERN) as client:
        yield client


def test_skl_49_skl_50_a_skill_and_its_files_are_loaded(tmp_path: Path) -> None:
    source = SERVER.replace("MANIFEST_TEXT", repr(MANIFEST)).replace("FOLDER_TEXT", repr(str(tmp_path / "from-folder")))
    with peer(tmp_path, MODERN):
        pass

    async def check() -> None:
        async with Client(script(tmp_path, source)) as client:
            skill = (await client.get_skill("skill://team/given/SKILL.md")).skill
            assert (await client.load_skill(skill)).text == MANIFEST.format(*["given"] * 3)
            for file in ("data/bytes.bin", "skill://team/given/data/bytes.bin"):
                contents = await client.read_skill_file(skill, file)
                assert (contents.uri, contents.decode()) == ("skill://team/given/data/bytes.bin", bytes([0, 255]))
            with pytest.raises(InvalidArgumentError, match="inside the skill"):
                await client.read_skill_file(skill, "../../elsewhere")

    run(check())


def uris(client: Peer) -> list[str]:
    return [skill["uri"] for skill in client.once("skills/list")["skills"]]


def test_skl_01_skl_20_skl_24_files_in_memory_with_their_digests(client: Peer) -> None:
    assert "io.modelcontextprotocol/skills" in client.once("server/discover")["capabilities"]["extensions"]
    result = client.once("skills/get", uri="skill://team/given/SKILL.md")
    assert (result["ttlMs"], result["cacheScope"]) == (5000, "public")
    frontmatter = {"name": "given", "description": "Does given.", "metadata": {"team": "a"}}
    assert result["skill"]["frontmatter"] == frontmatter
    files = {file["uri"]: file for file in result["skill"]["resources"]}
    data = files["skill://team/given/data/bytes.bin"]
    assert (data["size"], data["digest"]) == (2, digest(b"\x00\xff"))
    assert client.once("resources/read", uri=data["uri"])["contents"][0]["blob"] == "AP8="


def test_skl_22_skl_47_a_folder(client: Peer) -> None:
    assert uris(client) == ["skill://team/given/SKILL.md", "skill://from-folder/SKILL.md"]
    entry = client.once("skills/get", uri="skill://from-folder/SKILL.md")["skill"]
    notes = "skill://from-folder/references/notes.md"
    assert sorted(file["uri"] for file in entry["resources"]) == ["skill://from-folder/SKILL.md", notes]
    contents = client.once("resources/read", uri=notes)["contents"][0]
    assert (contents["text"], contents["mimeType"]) == ("# Notes\n", "text/markdown")


def test_skl_45_a_removed_skill_is_absent_and_can_be_added_again(client: Peer) -> None:
    assert client.call("forget") == "the server has no such skill"
    assert uris(client) == ["skill://team/given/SKILL.md"]
    with pytest.raises(Refused) as refused:
        client.once("skills/get", uri="skill://from-folder/SKILL.md")
    assert refused.value.code == -32602
    client.call("again")
    assert len(uris(client)) == 2


@pytest.mark.parametrize("revision", REVISIONS)
def test_skl_15_the_manifest_is_a_resource(tmp_path: Path, revision: str) -> None:
    with peer(tmp_path, revision) as client:
        listed = {one["uri"]: one for one in client.once("resources/list")["resources"]}
        manifest = listed["skill://team/given/SKILL.md"]
        shown = (manifest["name"], manifest["description"], manifest["mimeType"])
        assert shown == ("given", "Does given.", "text/markdown")


@pytest.mark.parametrize(
    ("files", "options", "reason"),
    [
        ({}, {}, r"needs the file SKILL\.md"),
        ({"SKILL.md": "no frontmatter"}, {}, "frontmatter"),
        ({"SKILL.md": MANIFEST.format("x", "x", "x"), "../y": ""}, {}, r"\.\./y"),
        ({"SKILL.md": MANIFEST.format("x", "x", "x")}, {"root": "skill://y"}, "must end with its name"),
        ({"SKILL.md": MANIFEST.format("x", "x", "x")}, {"ttl": -1}, "ttl must be a number of seconds"),
        ({"SKILL.md": 1}, {}, "the file 'SKILL.md' of a skill must be str or bytes, not int"),
        (["SKILL.md"], {}, "a folder or a mapping of paths to files, not list"),
        ("/no/such/folder", {}, "no/such/folder"),
    ],
)
def test_skl_08_skl_11_invalid_skills_are_refused(files: Any, options: dict[str, Any], reason: str) -> None:
    server = Server("wrong", version="1")
    with pytest.raises(InvalidArgumentError, match=reason):
        server.add_skill(files, **options)


def test_a_folder_stays_the_same_when_the_server_is_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skill = tmp_path / "x"
    skill.mkdir()
    (skill / "SKILL.md").write_text(MANIFEST.format("x", "x", "x"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    server = Server("twice", version="1")
    assert repr(server.add_skill("x", root="skill://team/x")) == "Skill('skill://team/x')"

    async def use() -> None:
        async with Client(server) as client:
            await client.ping()

    run(use())
    monkeypatch.chdir(skill)
    run(use())  # registers everything again


@pytest.mark.parametrize("revision", REVISIONS)
def test_app_02_app_05_app_15_a_tool_names_its_app_and_still_returns_text(tmp_path: Path, revision: str) -> None:
    with peer(tmp_path, revision) as client:
        tool = next(tool for tool in client.once("tools/list")["tools"] if tool["name"] == "chart")
        shown = {"a": 1, "ui": {"visibility": ["model"], "resourceUri": "ui://chart/view"}}
        assert tool.get("_meta") == (shown if revision >= "2025-06-18" else None)
        assert client.call("chart") == "a chart in words"
        contents = client.once("resources/read", uri="ui://chart/view")["contents"][0]
        assert contents["mimeType"] == "text/html;profile=mcp-app"
