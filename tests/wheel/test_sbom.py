"""The bills of materials, of the wheels and of the C libraries: valid by CycloneDX's own library, and true."""

import hashlib
import json
import re

import pytest
from conftest import ROOT, run
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from license_expression import get_spdx_licensing

TOOL = ROOT / "tools" / "sbom.py"


def read(path):
    """A bill, which is valid."""
    text = path.read_text()
    stated = SchemaVersion["V" + json.loads(text)["specVersion"].replace(".", "_")]
    assert JsonStrictValidator(stated).validate_str(text) is None, path
    return json.loads(text)


def licence(part):
    """The licences of a part, which SPDX has to know."""
    (choice,) = part["licenses"]
    text = choice.get("expression") or choice["license"]["id"]
    assert get_spdx_licensing().validate(text).errors == [], text
    return text


def version():
    text = (ROOT / "include" / "dlpark" / "version.h").read_text()
    return ".".join(re.findall(r"#define DLPARK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


# ---- Of a wheel ----


@pytest.fixture
def bill(wheel):
    return read(wheel.info / "sboms" / "dlpark.cdx.json")


def test_the_wheel_is_its_subject(wheel, bill):
    subject = bill["metadata"]["component"]
    assert (subject["name"], subject["version"], licence(subject)) == ("dlpark", version(), "Apache-2.0")
    assert read(wheel.info / "sboms" / "auditwheel.cdx.json")["metadata"]["component"]["version"] == version()


def test_every_library_is_in_it_with_its_bytes(wheel, bill):
    stated = {part["hashes"][0]["content"]: part["properties"][0]["value"] for part in bill["components"]}
    there = {hashlib.sha256(path.read_bytes()).hexdigest(): f"dlpark.libs/{path.name}" for path in wheel.libraries}
    assert stated == there
    assert {part["name"] for part in bill["components"]} == {"libjpeg-turbo", "libpng", "libwebp"}


def test_the_program_has_them_too(wheel, bill):
    program = str(wheel.program.relative_to(wheel.folder))
    for part in bill["components"]:
        assert [item["value"] for item in part["properties"]][1:] == [program]


def test_versions_and_licences_are_those_of_the_notice(wheel, bill):
    notice = (wheel.info / "licenses" / "NOTICE").read_text()
    for part in bill["components"]:
        (file, licences) = part["properties"][0]["value"], licence(part)
        assert f"{part['version']}, in {file}\n" in notice
        assert f"; {licences};" in notice
        assert part["purl"].startswith("pkg:deb/")
    metadata = (wheel.info / "METADATA").read_text()
    (expression,) = re.findall(r"^License-Expression: (.*)$", metadata, re.MULTILINE)
    words = {word for part in [bill["metadata"]["component"], *bill["components"]] for word in licence(part).split(" AND ")}
    assert words == set(expression.split(" AND "))


# ---- Of the C libraries ----


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sbom")
    run(TOOL, "--out", folder)
    return folder / f"dlpark-{version()}.cdx.json"


def test_every_library_and_what_it_links(libraries):
    bill = read(libraries)
    parts = {part["name"]: part for part in bill["components"]}
    needs = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    adapters = {path.parent.name for path in (ROOT / "src" / "adapters").glob("*/CMakeLists.txt")}
    assert {name for name in parts if name.startswith("libdlpark-")} == {f"libdlpark-{name}" for name in adapters}
    assert needs["libdlpark"] == []
    for name in adapters:
        text = (ROOT / "src" / "adapters" / name / "CMakeLists.txt").read_text()
        linked = re.findall(r"(?:PACKAGES|FINDS) ([\w. -]+)", text)
        outside = [part for part in needs[f"libdlpark-{name}"] if part != "libdlpark"]
        assert bool(outside) == bool(linked) or name == "onnxruntime", (name, linked)  # loaded when it runs
    pages = (ROOT / "docs" / "dependencies.md").read_text()
    for name, part in parts.items():
        assert licence(part) == "Apache-2.0" or not name.startswith("libdlpark"), name
    assert "GPL-3.0-or-later" in licence(parts["gsl"]) and "| GPL-3.0-or-later |" in pages


def test_the_same_tree_gives_the_same_bytes(libraries, tmp_path):
    run(TOOL, "--out", tmp_path)
    assert (tmp_path / libraries.name).read_bytes() == libraries.read_bytes()
