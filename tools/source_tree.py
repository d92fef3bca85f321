"""What a release is made of: the version, the time of the last change, and the files of the tree."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_SOURCES = {"build", "dist", "__pycache__", ".venv", ".git"}  # as .gitignore has them


def version(root=ROOT):
    text = (root / "include" / "dlpark" / "version.h").read_text()
    return ".".join(re.findall(r"^#define DLPARK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", text, re.MULTILINE))


def git(*arguments):
    """What git prints here; None where this is no clone, but a source package."""
    if not (ROOT / ".git").exists():
        return None
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout


def epoch():
    """When this tree was changed last, in seconds: what everything made of it is dated. In a source package all files are as
    old as the commit that it was made of."""
    said = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
    return int(said or (ROOT / "CHANGELOG.md").stat().st_mtime)


def date_builds():
    """Compilers, archivers and packers that are started from here write that time, and not their own."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", str(epoch()))


def files():
    """The sources as paths below ROOT, in order: what git tracks, or all that a source package has."""
    listed = git("ls-files", "-z")
    if listed is not None:
        changed = git("status", "--porcelain", "--untracked-files=no").splitlines()
        if changed:
            print(f"{len(changed)} files are not as they were committed, such as {changed[0][3:]}", file=sys.stderr)
        return sorted(name for name in listed.split("\0") if name and os.path.lexists(ROOT / name))
    found = []
    for folder, names, leaves in os.walk(ROOT):
        names[:] = [name for name in names if name not in NOT_SOURCES and not name.endswith(".egg-info")]
        found += [os.path.relpath(os.path.join(folder, leaf), ROOT) for leaf in leaves if not leaf.endswith(".pyc")]
    return sorted(found)
