"""The documentation's code, built and run as its readers do: what the stage `docs` of tools/run_tests.py is made of.

    docs/snippets/x.c, x.cpp    with main(): a program that links the installed library, and prints x.out where there is one;
                                with PyInit_m(): the extension m, with the kit of the installed package; else only compiled
    docs/snippets/x.py          run where these extensions can be imported; prints x.out
    docs/snippets/m-way/        what makes the extension m.c a project; built by pip
    docs/x.md                   its sessions (```pycon), once for each of these projects
    docs/start-x.md             followed to the letter, as tools/guides.py says

Functions return rows: a name, "passed", "failed" or "skipped", and the reason.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import sys
import sysconfig

import guides

ROOT = pathlib.Path(__file__).resolve().parent.parent
SNIPPETS = ROOT / "docs" / "snippets"
STRICT = ["-Wall", "-Wextra", "-Werror", "-O1"]
PYTHON_INCLUDE = ["-isystem", sysconfig.get_path("include")]
COMPILERS = {".c": ["gcc", "-std=c11"], ".cpp": ["g++", "-std=c++17"]}
PARTNERS = ["pyopencl", "torch"]  # what a snippet may import and a plain `make test` has not
# Libraries beside the core, by the header that a snippet includes; those of PARTNER_ADAPTERS come with PARTNERS=all.
PARTNER_ADAPTERS = ["ggml", "mpi", "onnxruntime"]
ADAPTERS = ["arrow", "avframe", "gsl", "image", "vips", "zlib", *PARTNER_ADAPTERS]


class Snippets:
    """Where they are built, and with what.

    `stage` runs commands; `prefixes` have the installed library and those of adapters, `site` the installed package, and `env`
    is what makes Python and programs find them. `demands_partners` forbids skipping.
    """

    def __init__(self, stage, scratch, prefixes, site, env, demands_partners):
        self.stage = stage
        self.scratch = scratch
        self.search = os.pathsep.join(str(path) for prefix in prefixes for path in pathlib.Path(prefix).glob("**/pkgconfig"))
        self.include = site / "dlpark" / "include"
        self.env = {**env, "PYTHONPATH": os.pathsep.join([env["PYTHONPATH"], str(scratch)])}
        self.env["DLPARK_CUDA_LIBRARY"] = "/nowhere"  # what a program prints without a GPU, on any machine
        self.demands_partners = demands_partners
        shutil.rmtree(scratch, ignore_errors=True)
        data = SNIPPETS / "data"
        if data.exists():
            shutil.copytree(data, scratch)
        scratch.mkdir(exist_ok=True)

    def check(self):
        """All of it; the sources first, since the others may import them."""
        sources = sorted(path for path in SNIPPETS.iterdir() if path.suffix in COMPILERS)
        rows = [self.compiled(source) for source in sources]
        rows += [self.script(source) for source in sorted(SNIPPETS.glob("*.py"))]
        for project in sorted(path for path in SNIPPETS.glob("*-*") if path.is_dir()):
            rows += self.project(project)
        return rows + [self.guide(page) for page in sorted(SNIPPETS.parent.glob("start-*.md"))]

    # ---- C and C++ ----

    def compiled(self, source):
        text = source.read_text()
        if re.search(r"\bmain\s*\(", text):
            adapters = [name for name in ADAPTERS if f"<dlpark/{name}.h>" in text]
            if set(adapters) & set(PARTNER_ADAPTERS) and not self.demands_partners:
                return source.name, "skipped", f"the adapter {adapters[0]} is built with PARTNERS=all"
            return self.program(source, "-".join(["dlpark", *adapters]))
        extension = re.search(r"\bPyInit_(\w+)\s*\(", text)
        if extension:
            return self.extension(source, extension[1])
        include = [f"-I{self.include}", *PYTHON_INCLUDE] if "<dlpark/python.h>" in text else self.flags("dlpark", "--cflags")
        out = self.scratch / (source.name + ".o")
        return self.verdict(source.name, [*COMPILERS[source.suffix], *STRICT, "-Wpedantic", *include, "-c", source, "-o", out])

    def flags(self, package, *options):
        status, flags = self.stage.run(["pkg-config", *options, package], env={"PKG_CONFIG_PATH": self.search}, capture=True)
        return flags.split() if status == 0 else [f"pkg-config-does-not-know-{package}"]

    def program(self, source, package):
        program = self.scratch / (source.stem + "_program")
        command = [*COMPILERS[source.suffix], *STRICT, "-Wpedantic", source, "-o", program]
        row = self.verdict(source.name, [*command, *self.flags(package, "--cflags", "--libs")])
        return self.says(source, [program]) if row[1] == "passed" else row

    def extension(self, source, name):
        """Without -Wpedantic: the slots of a module hold functions as `void *`, as CPython has it."""
        kit = self.scratch / "kit.o"
        include = [f"-I{self.include}", *PYTHON_INCLUDE, "-fPIC"]
        if not kit.exists():
            self.stage.must(["gcc", "-std=c11", "-O1", *include, "-c", self.include / "dlpark/src/dlpark_python.c", "-o", kit])
        out = self.scratch / (name + sysconfig.get_config_var("EXT_SUFFIX"))
        return self.verdict(source.name, [*COMPILERS[source.suffix], *STRICT, *include, "-shared", source, kit, "-o", out])

    # ---- Python ----

    def script(self, source):
        imported = re.findall(r"^import (\w+)", source.read_text(), re.MULTILINE)
        for partner in set(imported) & set(PARTNERS):
            if importlib.util.find_spec(partner) is None and not self.demands_partners:
                return source.name, "skipped", f"partner {partner} is not installed (PARTNERS=all installs it)"
        return self.says(source, [sys.executable, source])

    def says(self, source, command):
        """What it prints is its .out file, where there is one."""
        status, said = self.stage.run(command, cwd=self.scratch, env=self.env, capture=True, timeout=60)
        expected = source.with_suffix(".out")
        if status == 0 and expected.exists() and said != expected.read_text():
            return source.name, "failed", f"it does not print what {expected.name} says"
        return source.name, *outcome(status)

    # ---- Projects ----

    def project(self, folder):
        """The extension as a project: its wheel, installed, and the pages that use it."""
        name = folder.name.partition("-")[0]
        work = self.scratch / folder.name
        shutil.copytree(folder, work / "source")
        shutil.copy(SNIPPETS / f"{name}.c", work / "source")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
        flags = ["--no-index", "--no-deps", "--no-build-isolation"]
        # Without optimisation, as the kit compiles in a quarter of the time; setuptools takes CFLAGS, CMake its build type.
        env = {**self.env, "CFLAGS": "-O0", "SKBUILD_CMAKE_BUILD_TYPE": "Debug"}
        built = self.verdict(folder.name, [*pip, "wheel", *flags, "-w", work, work / "source"], env)
        if built[1] != "passed":
            return [built]
        self.stage.must([*pip, "install", "--no-index", "--no-deps", "--target", work / "site", *work.glob("*.whl")])
        env = {**self.env, "PYTHONPATH": os.pathsep.join([str(work / "site"), self.env["PYTHONPATH"]])}
        pages = [page for page in sorted(SNIPPETS.parent.glob("*.md")) if not page.name.startswith("start-") and f">>> import {name}\n" in page.read_text()]
        if not pages:
            return [built, (name, "failed", "no page imports it")]
        doctest = [sys.executable, "-m", "doctest"]
        return [built] + [self.verdict(f"{page.name} with {folder.name}", [*doctest, page], env) for page in pages]

    # ---- Guides ----

    def guide(self, page):
        """In a folder of its own; what pip installs goes there too, and comes from nowhere else."""
        folder = self.scratch / page.stem
        folder.mkdir()
        paths = os.pathsep.join([str(folder / "site"), self.env["PYTHONPATH"]])
        env = {**self.env, "PKG_CONFIG_PATH": self.search, "PYTHONPATH": paths, "CFLAGS": "-O0"}
        env |= {"PIP_TARGET": str(folder / "site"), "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

        def run(command):
            return self.stage.run(command, cwd=folder, env=env, capture=True, timeout=300)

        reason = guides.follow(page, folder, run, sys.executable)
        return page.name, "failed" if reason else "passed", reason

    def verdict(self, name, command, env=None):
        return name, *outcome(self.stage.run(command, env=env or self.env, cwd=self.scratch))


def outcome(status):
    return ("passed", "") if status == 0 else ("failed", f"exit status {status}")
