"""What the tests of the wheels share. DLPARK_WHEELS names the folder that tools/wheel has filled."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ["DLPARK_WHEELS"])
WHEELS = sorted(FOLDER.glob("*.whl"))
ABIS = {"cp311": "cp311", "abi3": "cp312", "cp313t": "cp313", "cp314t": "cp314"}

PROBE = """
import json, os, sys, sysconfig
print(json.dumps([sys.version_info[1], bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
                  os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))]))
"""


def run(*command, **options):
    """What a command prints; its failure is the test's."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@dataclass
class Wheel:
    """A wheel, and where it lies unpacked."""

    path: pathlib.Path
    folder: pathlib.Path

    @property
    def tags(self):
        """Python, ABI, platform."""
        return self.path.stem.split("-")[2:]

    @property
    def info(self):
        (folder,) = self.folder.glob("dlpark-*.dist-info")
        return folder

    @property
    def extensions(self):
        return sorted(self.folder.glob("dlpark/*.so"))

    @property
    def program(self):
        """The command, which unpacking left without the right to be run."""
        (path,) = self.folder.glob("dlpark-*.data/scripts/dlpark")
        path.chmod(0o755)
        return path

    @property
    def libraries(self):
        return sorted(self.folder.glob("dlpark.libs/*"))


@pytest.fixture(scope="session", params=WHEELS or [None], ids=lambda path: path.stem.split("-")[3] if path else "none")
def wheel(request, tmp_path_factory):
    assert WHEELS, f"{FOLDER} has no wheel"
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(folder)
    return Wheel(request.param, folder)


@dataclass
class Python:
    """Another Python than the one that runs the tests, or that one."""

    program: str
    minor: int
    free_threaded: bool
    has_headers: bool

    @property
    def abi(self):
        if self.free_threaded:
            return f"cp3{self.minor}t"
        return "abi3" if self.minor >= 12 else f"cp3{self.minor}"

    @property
    def wheel(self):
        """The wheel that serves it, or None."""
        return next((path for path in WHEELS if path.stem.split("-")[3] == self.abi), None)


def find_python(name):
    """The Python of that name, or why there is none."""
    program = shutil.which(name)
    if program is None:
        return f"there is no {name} on the PATH"
    done = subprocess.run([program, "-c", PROBE], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return f"the {name} on the PATH does not start"
    return Python(program, *json.loads(done.stdout))


def environment(python, wheel, folder):
    """An environment with that wheel and nothing else; its Python."""
    run(python.program, "-m", "venv", "--without-pip", folder)
    program = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", program, "install", "--no-index", "--no-deps", wheel)
    return program


def includes(text):
    return re.findall(r'^#include "(.*)"$', text, re.MULTILINE)
