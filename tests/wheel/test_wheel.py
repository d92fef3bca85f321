"""What `make wheel` builds: its tags, what lies in it, what it links, and that it imports where nothing else is."""

import base64
import csv
import hashlib
import re
import sys
import tarfile
import zipfile

import pytest
from conftest import ABIS, FOLDER, ROOT, environment, find_python, includes, run

# What every system with glibc has; auditwheel has looked at the versions.
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libz.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

# A line each for what a user does first. The argument is a photograph.
FIRST_STEPS = """
import sys
before = set(sys.modules)
import dlpark
assert {name.partition(".")[0] for name in set(sys.modules) - before} == {"dlpark"}, set(sys.modules) - before
tensor = dlpark.from_dlpack(bytearray(b"abc"))
assert repr(tensor).startswith("Tensor(uint8[3], cpu"), repr(tensor)
assert bytes(memoryview(tensor)) == b"abc"
photo = dlpark.load_image(sys.argv[1])
assert memoryview(photo).shape == (427, 640, 3)
assert dlpark.from_dlpack(photo).shape == (427, 640, 3)
used = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
assert not [path for path in used if "numpy" in path or "torch" in path]
codecs = [path for path in used if any(name in path for name in ("libjpeg", "libpng", "libwebp"))]
assert len(codecs) == 3 and all("dlpark.libs" in path for path in codecs), codecs
import os
assert os.path.exists(os.path.join(dlpark.get_include(), "dlpark", "python.h"))
assert os.path.exists(os.path.join(dlpark.get_cmake_dir(), "dlparkConfig.cmake"))
print(dlpark.__version__)
"""
PHOTO = ROOT / "demos" / "image-python" / "photo.jpg"


def version():
    text = (ROOT / "include" / "dlpark" / "version.h").read_text()
    return ".".join(re.findall(r"#define DLPARK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


def test_there_is_one_for_the_python_that_runs_this():
    assert find_python(sys.executable).wheel is not None


def test_tags(wheel):
    name, stated, python, abi, platform = wheel.path.stem.split("-")
    assert (name, stated, python) == ("dlpark", version(), ABIS[abi])
    assert re.fullmatch(r"manylinux_2_\d+_\w+", platform)
    suffixes = {path.name.partition(".")[2] for path in wheel.extensions}
    assert len(suffixes) == 1
    assert suffixes == {"abi3.so"} or abi != "abi3"
    assert f"Tag: {python}-{abi}-{platform}\n" in (wheel.info / "WHEEL").read_text()


def test_auditwheel_has_nothing_to_say(wheel):
    shown = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel.path).split())
    assert f'is consistent with the following platform tag: "{wheel.tags[2]}"' in shown
    assert not re.search(r"lib(jpeg|png16|webp)\.so", shown)


def test_what_it_links_is_in_it(wheel):
    names = {path.name for path in wheel.libraries}
    assert len(names) == 3
    for library in [*wheel.extensions, *wheel.libraries]:
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library)))
        assert needed <= SYSTEM | names, library
        found = dict(re.findall(r"^\s*(\S+) => (\S+)", run("ldd", library), re.MULTILINE))
        assert {name for name, path in found.items() if str(wheel.folder) not in path} <= SYSTEM, library


def test_only_the_init_function_is_exported(wheel):
    assert [path.name.partition(".")[0] for path in wheel.extensions] == ["_arrow", "_core", "_files", "_image", "_opencl"]
    for library in wheel.extensions:
        names = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
        assert names - {"_init", "_fini"} == {f"PyInit_{library.name.partition('.')[0]}"}


def test_the_program_needs_nothing_beside_it(wheel):
    """It cannot know where the wheel's libraries lie, so the codecs are in it, hidden, and the notice says so."""
    program = wheel.program
    assert set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", program))) <= SYSTEM
    names = {line.split()[-1].partition("@")[0] for line in run("nm", "-D", "--defined-only", program).splitlines()}
    assert names <= {"stdin", "stdout", "stderr"}
    assert run(program, "check", PHOTO) == f"{PHOTO}: ok\n"
    assert "program dlpark of this wheel has libjpeg-turbo, libpng and libwebp in it" in (wheel.info / "licenses" / "NOTICE").read_text()


def test_record(wheel):
    rows = list(csv.reader((wheel.info / "RECORD").read_text().splitlines()))
    with zipfile.ZipFile(wheel.path) as archive:
        files = [item.filename for item in archive.infolist() if not item.is_dir()]
        assert sorted(row[0] for row in rows) == sorted(files)
        for name, digest, size in rows:
            data = archive.read(name)
            if not name.endswith("/RECORD"):
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={expected}", str(len(data))), name


def test_nothing_names_the_place_where_it_was_built(wheel):
    for path in wheel.folder.rglob("*"):
        assert not path.is_file() or str(ROOT).encode() not in path.read_bytes(), path


# ---- The kit ----


def headers_of_adapters():
    lists = [path.read_text() for path in (ROOT / "src" / "adapters").glob("*/CMakeLists.txt")]
    return {header for text in lists for header in re.search(r"HEADERS ((?:\w+\.h )+)", text).group(1).split()}


def test_every_header_of_the_kit_and_the_core_is_in_it(wheel):
    files = {"deflate.h", "file.h", "file_write.h", "inflate.h"}
    devices = {"cuda.h", "gpu.h", "hip.h", "metal.h", "opencl.h", "transfer.h"}
    beside = headers_of_adapters() | files | devices
    ours = {path.name for path in (ROOT / "include" / "dlpark").glob("*.h")} - beside
    assert {"arrow.h", "image.h", "pixels.h"} <= beside
    assert {path.name for path in (wheel.folder / "dlpark" / "include" / "dlpark").glob("*.h")} == ours
    for name in ours:
        there = wheel.folder / "dlpark" / "include" / "dlpark" / name
        assert there.read_bytes() == (ROOT / "include" / "dlpark" / name).read_bytes()


def test_every_source_of_the_kit_and_the_core_is_compiled(wheel):
    folder = wheel.folder / "dlpark" / "include" / "dlpark" / "src"
    listed = includes((folder / "dlpark_python.c").read_text())
    rooms = [ROOT / "src" / "core", ROOT / "src" / "python" / "kit"]
    ours = {str(path.relative_to(ROOT / "src")) for room in rooms for path in room.rglob("*.c")} - {"core/inlines.c"}
    ours.add("devices/stream.c")
    assert sorted(listed) == sorted(ours)
    for name in listed:
        assert (folder / name).read_bytes() == (ROOT / "src" / name).read_bytes()


def test_entry_point_for_cmake(wheel):
    assert (wheel.info / "entry_points.txt").read_text().split() == ["[cmake.prefix]", "dlpark", "=", "dlpark"]


# ---- Licences ----


def test_licences(wheel):
    metadata = (wheel.info / "METADATA").read_text().partition("\n\n")[0]
    stated = re.findall(r"^License-File: (.*)$", metadata, re.MULTILINE)
    folder = wheel.info / "licenses"
    assert sorted(stated) == sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert (folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    (expression,) = re.findall(r"^License-Expression: (.*)$", metadata, re.MULTILINE)
    assert expression == "Apache-2.0 AND BSD-3-Clause AND IJG AND Zlib AND libpng-2.0"


def test_every_library_in_it_has_its_licence(wheel):
    notice = (wheel.info / "licenses" / "NOTICE").read_text()
    assert "based in part on the work of the Independent JPEG Group" in notice
    words = {"libjpeg": "IJG", "libpng16": "libpng", "libwebp": "Redistribution and use"}
    for library in wheel.libraries:
        (place,) = re.findall(rf"in dlpark\.libs/{re.escape(library.name)}\n.*; (\S+/copyright)\n", notice)
        text = (wheel.info / "licenses" / place).read_text()
        assert len(text) > 1000
        assert words.pop(library.name.partition("-")[0]) in text
    assert words == {}


# ---- Where it is installed ----


def test_first_steps(tmp_path):
    """In an environment of its own, and in any other Python that a wheel serves."""
    python = find_python(sys.executable)
    program = environment(python, python.wheel, tmp_path / "venv")
    assert run(program, "-I", "-c", FIRST_STEPS, PHOTO) == f"{version()}\n"


@pytest.mark.parametrize("name", ["3.11", "3.12", "3.13", "3.13t", "3.14", "3.14t"])
def test_other_python(name, tmp_path):
    python = find_python(f"python{name}")
    if isinstance(python, str):
        pytest.skip(python)
    if not python.has_headers and python.wheel is None:
        pytest.skip(f"python{name} has no headers, and no other Python built a wheel that serves it")
    assert python.wheel is not None, f"no wheel serves python{name}"
    program = environment(python, python.wheel, tmp_path / "venv")
    assert run(program, "-I", "-c", FIRST_STEPS, PHOTO) == f"{version()}\n"


# ---- The source package ----


@pytest.fixture(scope="module")
def sdist():
    (path,) = FOLDER.glob("dlpark-*.tar.gz")
    assert path.name == f"dlpark-{version()}.tar.gz"
    return path


def test_sdist_has_what_builds_it_and_no_more(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = {name.partition("/")[0] for name in names if "/" in name}
    assert folders == {"cli", "cmake", "include", "python", "src"}
    files = {name for name in names if "/" not in name}
    pages = {"CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md"}
    assert files == {"CMakeLists.txt", "PKG-INFO", "pyproject.toml"} | pages
    assert not [name for name in names if name.endswith((".so", ".pyc", ".o"))]


def test_sdist_builds_the_same_package(sdist, tmp_path):
    settings = ["cmake.build-type=Debug", "cmake.define.DLPARK_PYTHON_IMAGE=OFF"]
    flags = [part for setting in settings for part in ("--config-settings", setting)]
    pip = [sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation"]
    run(*pip, "-w", tmp_path, *flags, sdist, cwd=tmp_path)
    (built,) = tmp_path.glob("*.whl")
    names = []
    for path in (built, find_python(sys.executable).wheel):
        files = [name for name in zipfile.ZipFile(path).namelist() if name.startswith("dlpark/") and name[-1] != "/"]
        names.append({re.sub(r"\.[^.]+(\.so)$", r"\1", name) for name in files})
    assert names[1] - names[0] == {"dlpark/_image.so"}
    assert names[0] - names[1] == set()
