"""An extension built with the kit of the last release works beside this wheel's module, in one process.

The last release is the newest tag vX.Y.Z before this commit. Where there has been none it is the commit that
wrote tests/abi/baseline.abi.xz, or what DLPARK_UPGRADE_FROM names. Both come from git: a source package, and a clone that
was cut off before that commit, have no older kit, and the tests are skipped.
"""

import os
import re
import subprocess
import sys
import tarfile

import pytest
from conftest import ROOT, environment, find_python, run

KIT = ["CMakeLists.txt", "LICENSE", "cmake", "include", "src"]

# What both sides make goes both ways; what the module has one of, the extension has no other.
EXCHANGE = """
import sys
sys.path.insert(0, sys.argv[1])
import gc
import dlpark, passing
print(passing.version(), dlpark.__version__)
memory = bytearray(range(6))
ours = dlpark.from_dlpack(memory)
assert type(ours) is dlpark.Tensor

theirs = passing.keep(ours)                    # ours to the extension, and back as the module's own type
assert type(theirs) is dlpark.Tensor and theirs.shape == (6,), theirs
assert theirs.tobytes() == bytes(range(6))
again = dlpark.from_dlpack(passing.keep(memory))   # what the extension imported, to the module
assert again.shape == (6,)
memory[0] = 77                                 # one memory, all along
assert theirs.tobytes()[0] == 77 and again.tobytes()[0] == 77

capsule = passing.capsule(theirs)              # the standard's way
assert dlpark.from_dlpack(capsule).tobytes() == theirs.tobytes()
try:
    passing.elsewhere(ours)
except dlpark.DeviceCopyError as error:
    assert type(error) is dlpark.DeviceCopyError, type(error)
else:
    raise AssertionError("no error")
try:
    passing.keep(7)
except AttributeError:
    del ours, theirs, again, capsule
else:
    raise AssertionError("no error")
gc.collect()
memory.append(1)                               # refused as long as anybody holds it: each copy has ended what it made
print("both ways")
"""


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def last_release():
    """The revision whose kit is used; or why there is none."""
    if not (ROOT / ".git").exists():
        return None, "a source package has no history with an older kit in it"
    named = os.environ.get("DLPARK_UPGRADE_FROM")
    tag = git("describe", "--tags", "--match", "v[0-9]*", "--abbrev=0", "HEAD^")
    wrote = git("log", "-1", "--format=%H", "--", "tests/abi/baseline.abi.xz")
    revision = named or tag or wrote
    if git("rev-parse", "--is-shallow-repository") == "true" and not (named or tag):
        return None, "a shallow clone may end before the last release"
    if not revision or not git("rev-parse", "--verify", f"{revision}^{{commit}}"):
        return None, f"git does not know {revision or 'tests/abi/baseline.abi.xz'}"
    return revision, ""


@pytest.fixture(scope="module")
def revision():
    found, reason = last_release()
    if found is None:
        pytest.skip(reason)
    return found


@pytest.fixture(scope="module")
def older_kit(revision, tmp_path_factory):
    """That revision's sources, as far as an extension needs them."""
    folder = tmp_path_factory.mktemp("older")
    packed = folder / "kit.tar"
    run("git", "-C", ROOT, "archive", "-o", packed, revision, *KIT)
    with tarfile.open(packed) as archive:
        archive.extractall(folder / "kit", filter="data")
    return folder / "kit"


@pytest.fixture(scope="module")
def extension(older_kit, tmp_path_factory):
    """The folder with the extension that was built with it."""
    build = tmp_path_factory.mktemp("extension")
    settings = [f"-DKIT={older_kit}", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Debug"]
    run("cmake", "-S", ROOT / "tests" / "wheel" / "upgrade", "-B", build, *settings)
    run("cmake", "--build", build, "--target", "passing")
    return build


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An environment that has this wheel and nothing else."""
    here = find_python(sys.executable)
    return environment(here, here.wheel, tmp_path_factory.mktemp("venv") / "venv")


def version_of(root):
    text = (root / "include" / "dlpark" / "version.h").read_text()
    return ".".join(re.findall(r"#define DLPARK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))


def test_an_older_extension_beside_the_module(older_kit, extension, python):
    said = run(python, "-I", "-c", EXCHANGE, extension).splitlines()
    assert said == [f"{version_of(older_kit)} {version_of(ROOT)}", "both ways"]


def test_its_kit_is_that_of_the_revision(revision, older_kit):
    assert git("rev-parse", f"{revision}:include/dlpark/python.h") == git("hash-object", older_kit / "include" / "dlpark" / "python.h")
