"""Where the extension kit lies, as Python says it; what is built with it is in tests/wheel."""

import os
import pathlib
import shutil
import subprocess
import sys

import dlpark
import pytest


def test_get_include():
    folder = pathlib.Path(dlpark.get_include())
    assert folder.is_absolute()
    assert (folder / "dlpark" / "python.h").read_text().startswith("/**\n * The extension kit")
    assert (folder / "dlpark" / "src" / "dlpark_python.c").exists()


def test_get_cmake_dir():
    assert sorted(path.name for path in pathlib.Path(dlpark.get_cmake_dir()).iterdir()) == [
        "dlpark-python.cmake",
        "dlparkConfig.cmake",
        "dlparkConfigVersion.cmake",
    ]


def test_get_sources_writes_one_below_the_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (path,) = dlpark.get_sources()
    assert path == os.path.join("build", "dlpark_python.c")
    text = pathlib.Path(path).read_text()
    assert text.splitlines()[1] == "#include <dlpark/src/dlpark_python.c>"
    assert dlpark.__version__ in text
    assert str(pathlib.Path(dlpark.__file__).parent) not in text
    assert os.listdir(tmp_path) == ["build"]


def test_get_sources_in_another_folder(tmp_path):
    (path,) = dlpark.get_sources(str(tmp_path / "deep" / "er"))
    assert pathlib.Path(path) == tmp_path / "deep" / "er" / "dlpark_python.c"
    assert pathlib.Path(path).exists()


def test_get_sources_leaves_what_is_there_and_right(tmp_path):
    """A build that is repeated has nothing to compile anew, unless dlpark is another."""
    (path,) = dlpark.get_sources(str(tmp_path))
    os.utime(path, (1, 1))
    dlpark.get_sources(str(tmp_path))
    assert os.stat(path).st_mtime == 1
    text = pathlib.Path(path).read_text()
    pathlib.Path(path).write_text(text.replace(dlpark.__version__, "0.0.9"))
    dlpark.get_sources(str(tmp_path))
    assert pathlib.Path(path).read_text() == text


def test_get_sources_where_nothing_can_be_written(tmp_path):
    (tmp_path / "build").write_text("a file")
    with pytest.raises(OSError, match="build"):
        dlpark.get_sources(str(tmp_path / "build"))


@pytest.mark.parametrize("call", ["get_include()", "get_sources()", "get_cmake_dir()"])
def test_without_the_kit(call, tmp_path):
    """A package that was taken apart says what it lacks."""
    ignored = shutil.ignore_patterns("include", "share", "__pycache__")
    shutil.copytree(pathlib.Path(dlpark.__file__).parent, tmp_path / "dlpark", ignore=ignored)
    code = f"import dlpark\ntry:\n    dlpark.{call}\nexcept FileNotFoundError as error:\n    print(error)"
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env, cwd=tmp_path)
    assert "this installation of dlpark has no extension kit" in done.stdout, done.stderr
    assert not (tmp_path / "build").exists()


def test_the_import_is_small():
    """What `import dlpark` brings in is the extension and no other package, not even of the standard library."""
    code = "import sys; before = set(sys.modules); import dlpark; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} == {"dlpark"}
    assert not {"dlpark._images", "dlpark._image", "dlpark._kit"} & set(done.stdout.split())


def test_what_is_imported_late_is_there_from_the_start():
    code = """
import dlpark
assert "load_image" in dir(dlpark) and "get_include" in dir(dlpark)
from dlpark import load_image
assert dlpark.load_image is load_image
try:
    dlpark.nonsense
except AttributeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "module 'dlpark' has no attribute 'nonsense'\n", done.stderr
