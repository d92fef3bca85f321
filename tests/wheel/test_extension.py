"""Extensions built with the kit of an installed wheel: the templates of demos/extension, and the kit by itself.

The templates' own tests, and what they do with each other, are run by demos/extension/run.sh.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest
from conftest import ROOT, find_python, run

TEMPLATES = ["cmake", "setuptools"]
STRICT = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Wmissing-prototypes -Wstrict-prototypes -Werror"


class Built:
    """Where demos/extension/run.sh has built both templates."""

    def __init__(self):
        run(ROOT / "demos" / "extension" / "run.sh", "build")
        self.folder = ROOT / "build" / "demo" / "extension"
        self.python = self.folder / "venv" / "bin" / "python"
        self.site = pathlib.Path(run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip())
        self.include = self.ask("get_include()")

    def ask(self, call):
        """What a function of the installed dlpark returns."""
        return run(self.python, "-I", "-c", f"import dlpark; print(dlpark.{call})").strip()


@pytest.fixture(scope="module")
def built():
    return Built()


def test_the_environment_has_the_wheel_and_not_this_tree(built):
    assert pathlib.Path(built.ask("__file__")).is_relative_to(built.site)
    assert pathlib.Path(built.include).is_relative_to(built.site)


@pytest.mark.parametrize("template", TEMPLATES)
def test_only_the_init_function_is_exported(built, template):
    (library,) = (built.site / f"example_{template}").glob("_example.*.so")
    names = {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    assert names - {"_init", "_fini"} == {"PyInit__example"}
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library)))
    assert not [name for name in needed if "dlpark" in name or "python" in name]


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_stubs_agree_with_the_module(built, template, tmp_path):
    package = f"example_{template}"
    shutil.copytree(built.site / package, tmp_path / package)
    run(built.python, "-m", "mypy.stubtest", f"{package}._example", "--ignore-disjoint-bases", cwd=tmp_path)
    run(built.python, "-m", "mypy", "--strict", "--no-incremental", "-p", package, cwd=tmp_path)


@pytest.mark.parametrize(
    "template, backend", [("cmake", "scikit_build_core.build"), ("setuptools", "setuptools.build_meta")]
)
def test_the_source_package_has_the_sources(built, template, backend, tmp_path):
    source = tmp_path / "source"
    shutil.copytree(ROOT / "demos" / "extension" / template, source)
    code = f"import sys, {backend} as backend; backend.build_sdist(sys.argv[1])"
    run(built.python, "-c", code, tmp_path, cwd=source)
    (path,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        texts = [archive.extractfile(item).read() for item in archive.getmembers() if item.isfile()]
    endings = (".c", ".cpp", ".h", ".py", ".pyi")
    ours = {str(path.relative_to(source)) for path in (source / "src").rglob("*.*") if path.suffix in endings}
    assert len(ours) == 5
    assert ours <= names
    for text in texts:
        assert str(built.site).encode() not in text and str(tmp_path).encode() not in text


# ---- find_package ----


def configure(built, folder, wanted):
    """CMake's verdict on a project that asks for dlpark in that way."""
    folder.mkdir()
    lines = ["cmake_minimum_required(VERSION 3.22)", "project(asks LANGUAGES CXX)", f"find_package(dlpark {wanted})"]
    lines += ["get_target_property(sources dlpark::python INTERFACE_SOURCES)", 'message(STATUS "sources: ${sources}")']
    (folder / "CMakeLists.txt").write_text("\n".join(lines))
    command = ["cmake", "-S", folder, "-B", folder / "build", f"-Ddlpark_DIR={built.ask('get_cmake_dir()')}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("wanted", ["REQUIRED", "REQUIRED COMPONENTS python", "0.1 REQUIRED"])
def test_find_package(built, wanted, tmp_path):
    done = configure(built, tmp_path / "project", wanted)
    assert done.returncode == 0, done.stderr
    (path,) = re.findall("sources: (.*)", done.stdout)
    assert pathlib.Path(path) == pathlib.Path(built.include, "dlpark", "src", "dlpark_python.c")
    assert pathlib.Path(path).exists()


@pytest.mark.parametrize(
    "wanted, reason",
    [
        ("REQUIRED COMPONENTS core", "this installation of dlpark has no dlpark::core"),
        ("99.0 REQUIRED", "compatible with requested"),
    ],
)
def test_find_package_refuses(built, wanted, reason, tmp_path):
    done = configure(built, tmp_path / "project", wanted)
    assert done.returncode != 0
    assert reason in " ".join(done.stderr.split())


# ---- The one source ----


def compile_kit(built, compiler, headers, flags, out):
    source = pathlib.Path(built.include, "dlpark", "src", "dlpark_python.c")
    command = [*compiler.split(), *STRICT.split(), *flags, "-fPIC", "-I", built.include, "-isystem", headers]
    assert run(*command, "-c", source, "-o", out) == ""


def headers_of(program):
    return run(program, "-c", "import sysconfig; print(sysconfig.get_path('include'))").strip()


@pytest.mark.parametrize("compiler", ["gcc -std=c11", "gcc -std=gnu17 -O3", "clang -std=c11"])
def test_the_kit_compiles_without_a_warning(built, compiler, tmp_path):
    if shutil.which(compiler.split()[0]) is None:
        pytest.skip(f"there is no {compiler.split()[0]} (PARTNERS=all installs it)")
    compile_kit(built, compiler, headers_of(sys.executable), [], tmp_path / "kit.o")
    symbols = [line.split() for line in run("readelf", "-sW", tmp_path / "kit.o").splitlines()]
    defined = [row for row in symbols if len(row) == 8 and row[4] in ("GLOBAL", "WEAK") and row[6] != "UND"]
    assert len(defined) > 300
    assert {row[7] for row in defined if row[5] != "HIDDEN"} == set()
    # All sets of loops are in it, to be chosen from when it runs.
    sets = {row[7] for row in defined if row[7].startswith("dlpark__kernels_") and row[3] == "OBJECT"}
    assert "dlpark__kernels_generic" in sets
    assert len(sets) == {"x86_64": 6, "aarch64": 2}.get(run("uname", "-m").strip(), 1)


@pytest.mark.parametrize("name", ["3.12", "3.13", "3.13t", "3.14", "3.14t"])
def test_the_kit_compiles_for_other_python(built, name, tmp_path):
    """For that Python alone, for the stable ABI where it has one, and as a free-threaded one where its headers can be."""
    python = find_python(f"python{name}")
    if isinstance(python, str):
        pytest.skip(python)
    if not python.has_headers:
        pytest.skip(f"python{name} has no headers")
    headers = headers_of(python.program)
    compile_kit(built, "gcc -std=c11", headers, [], tmp_path / "kit.o")
    if not python.free_threaded:
        compile_kit(built, "gcc -std=c11", headers, ["-DPy_LIMITED_API=0x030C0000"], tmp_path / "kit.o")
    if not python.free_threaded and python.minor >= 13:
        compile_kit(built, "gcc -std=c11", headers, ["-DPy_GIL_DISABLED=1"], tmp_path / "kit.o")
