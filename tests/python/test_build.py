"""What a build says when it has no image codecs, the lazy import of the codecs, and the stubs."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import dlpark
from dlpark import _build_info, _images


@pytest.mark.parametrize(
    "missing, text",
    [
        ((), "they were switched off when it was built"),
        ((("libwebp", "libwebp-dev"),), r"libwebp was not found when it was built \(Debian package libwebp-dev\)"),
        (
            (("libpng", "libpng-dev"), ("libwebp", "libwebp-dev")),
            r"libpng and libwebp were not found when it was built \(Debian packages libpng-dev libwebp-dev\)",
        ),
    ],
)
def test_without_codecs(monkeypatch, missing, text):
    monkeypatch.setattr(_build_info, "IMAGE", False)
    monkeypatch.setattr(_build_info, "MISSING", missing)
    for call in (dlpark.load_image, dlpark.image_info):
        with pytest.raises(ImportError, match=f"this build of dlpark has no image codecs: {text}"):
            call(b"")


def test_build_info_agrees_with_what_is_installed():
    found = list(pathlib.Path(_images.__file__).parent.glob("_image.*.so"))
    assert len(found) == (1 if _build_info.IMAGE else 0)
    assert not (_build_info.IMAGE and _build_info.MISSING)


def test_codecs_are_loaded_by_the_first_use(codecs):
    script = """
import sys, dlpark
assert "dlpark._image" not in sys.modules
try:
    dlpark.image_info(b"")
except ValueError:
    pass
print("dlpark._image" in sys.modules, "numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True False\n", "")


def test_importing_the_package_imports_the_extension_alone():
    """Everything else waits for its first use: import time is part of every program's start."""
    script = """
import sys
before = set(sys.modules)
import dlpark
print(sorted(set(sys.modules) - before))
dlpark.check, dlpark.load_image, dlpark.Report
print({"dlpark._check", "dlpark._images"} <= set(sys.modules))
try:
    dlpark.nothing
except AttributeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-S", "-c", script], capture_output=True, text=True, timeout=60)
    expected = "['dlpark', 'dlpark._core']\nTrue\nmodule 'dlpark' has no attribute 'nothing'\n"
    assert (done.stdout, done.stderr) == (expected, "")


def test_public_names():
    assert sorted(dlpark.__all__) == dlpark.__all__
    names = {name for name in dir(dlpark) if not name.startswith("_")} - {"safetensors"}  # once somebody imported it
    assert names == set(dlpark.__all__) - {"__version__"}
    for name in dlpark.__all__:
        assert getattr(dlpark, name).__doc__


def test_only_the_init_function_is_exported():
    """Several copies of the library live in one process, so nothing of it may be a symbol."""
    package = pathlib.Path(dlpark.__file__).parent
    for library in package.glob("_*.so"):
        listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
        names = {line.split()[-1] for line in listed.stdout.splitlines()} - {"_init", "_fini"}
        assert names == {f"PyInit_{library.name.split('.')[0]}"}


@pytest.fixture
def copied(tmp_path):
    """An environment that finds a copy of the package, wherever the package is: mypy takes no site-packages."""
    shutil.copytree(pathlib.Path(dlpark.__file__).parent, tmp_path / "dlpark")
    return {**os.environ, "MYPYPATH": str(tmp_path), "PYTHONPATH": str(tmp_path)}


def test_stubs_agree_with_the_module(tmp_path, copied):
    only_for_typing = [r"dlpark\._core\.Producer", r"dlpark\._(images|tensor_files)\.(Source|Layout|Format|Float4|Access)"]
    only_for_typing.append(r"dlpark\.conformance\..*")  # Python with its types in it, which has no stubs
    if importlib.util.find_spec("torch") is None:
        only_for_typing.append(r"dlpark\.safetensors\.torch")
    if sys.version_info < (3, 12):
        only_for_typing.append(r"dlpark\._core\.Tensor\.__buffer__")
    allowed = tmp_path / "allowed"
    allowed.write_text("\n".join(only_for_typing))
    run_module("mypy.stubtest", "dlpark", "--allowlist", allowed, "--ignore-unused-allowlist", env=copied, cwd=tmp_path)


def test_the_package_is_typed(tmp_path, copied):
    assert (tmp_path / "dlpark" / "py.typed").exists()
    run_module("mypy", "--strict", "--no-incremental", "-p", "dlpark", env=copied, cwd=tmp_path)


def run_module(name, *args, **options):
    command = [sys.executable, "-m", name, *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, done.stdout + done.stderr
