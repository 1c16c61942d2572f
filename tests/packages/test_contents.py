"""A package with anything missing, added or wrong is refused."""

import zipfile

import contents
import pytest
import versions

METADATA = """\
Metadata-Version: 2.4
Name: trunkline
Version: 1.2.3
License-Expression: MIT OR Apache-2.0
Requires-Python: >=3.10

# trunkline for Python
"""
WHEEL = {
    "trunkline/__init__.py": "",
    "trunkline/py.typed": "",
    "trunkline/_internal/_native.abi3.so": "library",
    "trunkline-1.2.3.dist-info/METADATA": METADATA,
    "trunkline-1.2.3.dist-info/licenses/LICENSE-APACHE": "text",
    "trunkline-1.2.3.dist-info/licenses/LICENSE-MIT": "text",
}
CHANGES = {
    "a missing file": ({"trunkline/py.typed": None}, "py.typed is missing"),
    "a missing license": ({"trunkline-1.2.3.dist-info/licenses/LICENSE-MIT": None}, "LICENSE-MIT is missing"),
    "a stray file": ({"trunkline/__pycache__/__init__.cpython-311.pyc": "code"}, "is a stray file"),
    "a file of another package": ({"tests/test_tools.py": "code"}, "tests/test_tools.py does not belong in it"),
    "an empty library": ({"trunkline/_internal/_native.abi3.so": ""}, "_native.abi3.so is empty"),
    "another version": (
        {"trunkline-1.2.3.dist-info/METADATA": METADATA.replace("1.2.3", "1.2.4")},
        r"METADATA has no line 'Version: 1\\.2\\.3'",
    ),
    "another license": (
        {"trunkline-1.2.3.dist-info/METADATA": METADATA.replace("MIT OR ", "")},
        "METADATA has no line 'License-Expression",
    ),
}


def wheel(folder, changes):
    path = folder / "trunkline-1.2.3-cp310-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**WHEEL, **changes}.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def test_a_complete_package_passes(tmp_path):
    contents.check(wheel(tmp_path, {}), "1.2.3")


@pytest.mark.parametrize(("changes", "fault"), CHANGES.values(), ids=list(CHANGES))
def test_a_fault_is_named(tmp_path, changes, fault):
    with pytest.raises(contents.Fault) as raised:
        contents.check(wheel(tmp_path, changes), "1.2.3")
    assert fault in str(raised.value)


# Names of the program's packages begin as those of the libraries do.
KINDS = {
    "trunkline-0.1.0.tgz": "dist/index.js",
    "trunkline-linux-x64-gnu-0.1.0.tgz": "trunkline.*.node",
    "trunkline-cli-0.1.0.tgz": "trunkline.cjs",
    "trunkline-cli-linux-x64-0.1.0.tgz": "bin/trunkline*",
    "trunkline-0.1.0.crate": "src/lib.rs",
    "trunkline-core-0.1.0.crate": "src/lib.rs",
    "trunkline-cli-0.1.0.crate": "src/main.rs",
    "trunkline-0.1.0.tar.gz": "pyproject.toml",
    "trunkline-cli-0.1.0-x86_64-unknown-linux-musl.tar.xz": "bin/trunkline*",
    "trunkline_cli-0.1.0-py3-none-win_amd64.whl": "trunkline_cli-VERSION.data/scripts/trunkline*",
}


@pytest.mark.parametrize(("name", "file"), KINDS.items(), ids=list(KINDS))
def test_each_package_has_its_kind(name, file):
    assert file in contents.kind_of(name).required


def test_an_unknown_package_is_refused(tmp_path):
    with pytest.raises(contents.Fault, match="no kind of package"):
        contents.check(tmp_path / "trunkline.zip", "1.2.3")


def test_a_tag_of_another_version_names_each_place():
    versions.check(f"v{versions.of_tree()}")
    with pytest.raises(versions.Fault) as raised:
        versions.check("v99.0.0")
    assert all(place in str(raised.value) for place in versions.PLACES)
