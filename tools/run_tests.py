#!/usr/bin/env python3
"""All that proves dlpark, in stages. `make test` starts it, in the environment that tools/setup makes.

Usage: tools/run_tests.py [STAGE...]      without a stage: all of them; --list names them

A failing stage does not stop the later ones. The last line is "N passed, N failed, N skipped"; the exit status is 1
when anything failed, when a stage could not run, and when nothing ran. With PARTNERS=all every skip has to stand in
tests/skips.txt, or it is a failure.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree
from dataclasses import dataclass

import snippets

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
WORK = BUILD / "test"
SITE = WORK / "site"
WHEELS = WORK / "wheels"
MADE = set()  # of these folders, those that this run has made
ALL_PARTNERS = os.environ.get("PARTNERS") == "all"
JOBS = str(os.cpu_count() or 2)
TAIL = 60
MINUTES = 60

SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}

# For tests/python/test_steady.py, where every call takes many times longer than usual.
FEWER_CALLS = {"DLPARK_CALLS": "20000"}


@dataclass
class Result:
    """One check: an executable of CTest, a test of pytest, a snippet, a demo."""

    name: str
    outcome: str  # passed, failed, skipped
    reason: str = ""
    output: str = ""  # what the check itself printed, where that is known


class CannotRun(Exception):
    """A stage that cannot go on, with the reason."""


class Stage:
    """What a stage works with: its name, its log, and commands that write there."""

    def __init__(self, name):
        self.name = name
        self.log = WORK / f"{name}.log"
        self.log.write_text("")

    def run(self, command, *, env=None, cwd=ROOT, timeout=15 * MINUTES, capture=False, errors=False):
        """Runs a command to its end; its exit status, 124 when it took too long, and its output if captured.

        `errors` captures what it writes to stderr with it."""
        command = [str(part) for part in command]
        with self.log.open("a") as log:
            log.write("$ " + " ".join(command) + "\n")
            log.flush()
            try:
                process = subprocess.Popen(
                    command,
                    cwd=cwd,
                    env={**os.environ, **(env or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE if capture else log,
                    stderr=subprocess.STDOUT if errors else log,
                    start_new_session=True,
                )
            except OSError as error:
                raise CannotRun(f"{command[0]}: {error.strerror}") from None
            try:
                output, _ = process.communicate(timeout=timeout)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
                status = 124
                log.write(f"ended after {timeout} s\n")
            if capture:
                output = output.decode(errors="replace")
                log.write(output)
        return (status, output) if capture else status

    def must(self, command, **options):
        """Runs a command without which the stage makes no sense."""
        status = self.run(command, **options)
        if status != 0:
            raise CannotRun(f"exit status {status}: {' '.join(str(part) for part in command)}")

    def show(self, failed):
        """Prints what failing checks printed; the end of the log for those whose own output is not known."""
        for result in failed:
            if result.output:
                print_tail(f"{result.name} printed:", result.output)
        if not all(result.output for result in failed):
            print_tail(f"the end of {self.log.relative_to(ROOT)}:", self.log.read_text(errors="replace"))


def print_tail(title, text):
    print(f"    {title}")
    for line in text.rstrip().splitlines()[-TAIL:]:
        print("    | " + line)


# ---- CTest and pytest ------------------------------------------------------------------------------------------------


def junit_results(path):
    """The test cases of a JUnit file, as CTest and pytest write it."""
    results = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        name = "::".join(part for part in (case.get("classname"), case.get("name")) if part)
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if bad is not None:
            output = bad.text or case.findtext("system-out") or ""
            results.append(Result(name, "failed", bad.get("message") or "", output))
        elif skipped is not None or case.get("status") in ("notrun", "disabled"):
            results.append(Result(name, "skipped", skipped.get("message") or "" if skipped is not None else "not run"))
        else:
            results.append(Result(name, "passed"))
    return results


# Adapters beside those of the presets, whose libraries apt brings in a minute; with PARTNERS=all also the others. The
# library of some is made by tools/partner.
LIGHT_ADAPTERS = ["arrow", "avframe", "gsl", "vips"]
MADE_PARTNERS = ["ggml", "onnxruntime"]
PARTNER_DEMOS = ["array-ggml", "avframe", "metal-python", "mpi", "onnxruntime", "opencl"]  # whose libraries are not light


def build(stage, preset, adapters=False):
    """Configures and compiles a preset; with all adapters that this run has the libraries of, where asked for."""
    settings = adapter_settings(stage) if adapters else []
    stage.must(["cmake", "--preset", preset, *settings])
    stage.must(["cmake", "--build", "--preset", preset, "--parallel", JOBS])


def adapter_settings(stage):
    folders = adapter_folders(stage)
    places = ["-DCMAKE_PREFIX_PATH=" + ";".join(folders)] if folders else []
    if ALL_PARTNERS:
        places.append(f"-DDLPARK_CUDA_INCLUDE={partner(stage, 'cuda')}/include")
    return [*(f"-DDLPARK_{name.upper()}=ON" for name in adapters_built()), *places]


def adapters_built():
    return [*LIGHT_ADAPTERS, *(snippets.PARTNER_ADAPTERS if ALL_PARTNERS else [])]


def adapter_folders(stage):
    """Where the libraries of adapters lie that tools/partner makes, of those that this run builds."""
    return [partner(stage, name) for name in adapters_built() if name in MADE_PARTNERS]


def partner(stage, name):
    """Where a partner lies that is no package of apt or pip: the library of an adapter, or real files."""
    status, folder = stage.run([ROOT / "tools" / "partner", name], capture=True)
    if status != 0:
        raise CannotRun(f"tools/partner {name} failed with {status}")
    return folder.strip()


def partner_libraries(stage):
    """Where programs find the libraries that tools/partner has made."""
    folders = adapter_folders(stage)
    return {"LD_LIBRARY_PATH": os.pathsep.join(f"{folder}/lib" for folder in folders)} if folders else {}


def adapters_left_out():
    names = [] if ALL_PARTNERS else snippets.PARTNER_ADAPTERS
    return [Result(f"adapter {name}", "skipped", "the adapter is built with PARTNERS=all") for name in names]


def ctest(stage, preset, *selection, env=None, before=()):
    """Runs the tests of a build folder; one result an executable."""
    junit = WORK / f"{stage.name}.xml"
    junit.unlink(missing_ok=True)
    command = [*before, "ctest", "--test-dir", BUILD / preset, "--output-on-failure", "--parallel", JOBS]
    status = stage.run([*command, "--output-junit", junit, *selection], env=env, timeout=35 * MINUTES)
    if not junit.exists():
        raise CannotRun(f"ctest ended with {status} and no results")
    results = junit_results(junit)
    for result in results:
        result.name = result.name.split("::")[-1]  # CTest gives the name twice, as class and as name
    if status != 0 and not any(result.outcome == "failed" for result in results):
        results.append(Result("ctest", "failed", f"exit status {status}"))
    return results


def pytest(stage, *arguments, tests="tests/python", env=None, before=(), part="", python=sys.executable):
    junit = WORK / f"{stage.name}{part}.xml"
    junit.unlink(missing_ok=True)
    command = [python, "-m", "pytest", *([tests] if isinstance(tests, str) else tests), "-q", "-ra", "-p", "no:cacheprovider", f"--junit-xml={junit}"]
    status = stage.run([*before, *command, *arguments], env=env, timeout=35 * MINUTES)
    if not junit.exists():
        raise CannotRun(f"pytest ended with {status} and no results")
    results = junit_results(junit)
    if status != 0 and not any(result.outcome == "failed" for result in results):
        results.append(Result("pytest", "failed", f"exit status {status}"))
    return results


# Each gets a process of its own. The first counts every reference and block in it, which the threads of loaded frameworks
# change; PoCL brings an LLVM, and dies beside those of the frameworks.
ALONE = [ROOT / "tests" / "python" / f"test_{name}.py" for name in ("steady", "opencl")]


def pytest_alone(stage, *arguments, env):
    return [result for file in ALONE for result in pytest(stage, *arguments, tests=str(file), env=env, part=f"-{file.stem}")]


def pytest_together(stage, *arguments, env):
    """tests/python in one process, but what needs one of its own."""
    results = pytest(stage, *arguments, *(f"--ignore={file}" for file in ALONE), env=env)
    return results + pytest_alone(stage, *arguments, env=env)


def pytest_devices(stage, *, env):
    """tests/devices: a process keeps the driver that it has opened, and theirs is the fake one, beside the probe."""
    return pytest(stage, tests="tests/devices", env=env, part="-devices")


def pytest_side_by_side(stage, *arguments, env):
    """tests/python in as many processes as there are processors, each with some of the files.

    The others are told to it as ignored: a file that is named is run even where conftest.py says that it is not."""
    files = sorted(file for file in (ROOT / "tests" / "python").glob("test_*.py") if file not in ALONE)
    count = min(int(JOBS), 4)

    def part(i):
        others = [f"--ignore={file}" for file in [*ALONE, *files] if file not in files[i::count]]
        return pytest(stage, *arguments, *others, env=env, part=f"-{i}")

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        results = [result for results in pool.map(part, range(count)) for result in results]
    return results + pytest_alone(stage, *arguments, env=env)


# ---- The stages ------------------------------------------------------------------------------------------------------


def stage_tools(stage):
    """The checks of tools/, and the proof that they can fail."""
    scripts = sorted((ROOT / "tools").glob("check_*.sh")) + [ROOT / "tools" / "selftest.sh"]
    return [verdict(script.name, stage.run([script])) for script in scripts]


def verdict(name, status):
    return Result(name, "passed" if status == 0 else "failed", "" if status == 0 else f"exit status {status}")


def stage_asan(stage):
    """Unit tests, and the corpora of the fuzzers, under the address and undefined-behaviour sanitizers."""
    build(stage, "asan", adapters=True)
    return ctest(stage, "asan", "-LE", "compile|install", env=SANITIZER_OPTIONS)


def stage_tsan(stage):
    """Tests labelled `threads` under the thread sanitizer."""
    build(stage, "tsan", adapters=True)
    return ctest(stage, "tsan", "-L", "threads", env=SANITIZER_OPTIONS, before=fixed_addresses(stage))


def fixed_addresses(stage):
    """The thread sanitizer of gcc 12 cannot place its shadow where addresses are randomised by more than 28 bits."""
    fixed = ["setarch", "-R"]
    return fixed if stage.run([*fixed, "true"]) == 0 else []


def stage_release(stage):
    """The release build with all tests: unit, headers alone, ABI, installation."""
    build(stage, "release", adapters=True)
    passages = WORK / "passages"
    shutil.rmtree(passages, ignore_errors=True)
    passages.mkdir()
    results = ctest(stage, "release", env={"DLPARK_PASSAGES": str(passages)})
    if ALL_PARTNERS:
        results.append(verdict("docs/adapters.md", stage.run([ROOT / "tools" / "adapters_page.py", "--check", passages])))
    return results + adapters_left_out()


def stage_clang(stage):
    """The same sources by clang, warnings as errors."""
    build(stage, "clang", adapters=True)
    return ctest(stage, "clang", "-LE", "compile|install")


def stage_valgrind(stage):
    """Tests labelled `valgrind`, each under memcheck."""
    build(stage, "release", adapters=True)
    listing = ["ctest", "--test-dir", BUILD / "release", "--show-only=json-v1", "-L", "valgrind"]
    status, text = stage.run(listing, capture=True)
    if status != 0:
        raise CannotRun(f"ctest cannot list its tests: exit status {status}")
    with concurrent.futures.ThreadPoolExecutor(int(JOBS)) as pool:
        return list(pool.map(lambda test: under_memcheck(stage, test), json.loads(text)["tests"]))


def under_memcheck(stage, test):
    """Runs one test of CTest's listing; a leak or a value that was never set fails it."""
    memcheck = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite,possible"]
    memcheck.append(f"--suppressions={ROOT / 'tests' / 'support' / 'memcheck.supp'}")
    properties = {item["name"]: item["value"] for item in test.get("properties", [])}
    env = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
    # libjpeg-turbo's vector code computes on bytes beside the picture, which memcheck takes for pixels never set.
    env["JSIMD_FORCENONE"] = "1"
    cwd = properties.get("WORKING_DIRECTORY", BUILD / "release")
    command = [*memcheck, *test["command"]]
    status, output = stage.run(command, env=env, cwd=cwd, timeout=8 * MINUTES, capture=True, errors=True)
    result = verdict(test["name"], status)
    result.output = output
    return result


def install_wheel(stage, site, build_folder, *settings):
    """Builds the wheel as a user would and unpacks it into a folder of its own; the environment stays as it is."""
    wheels = WORK / f"{stage.name}-wheel"
    for folder in (wheels, site):
        shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    flags = ["--no-deps", "--no-build-isolation", "-w", wheels, "--config-settings", f"build-dir={build_folder}"]
    stage.must([*pip, "wheel", ROOT, *flags, *settings])
    stage.must([*pip, "install", "--no-deps", "--no-index", "--target", site, *wheels.glob("*.whl")])


def installed(stage):
    """The folder with the installed package; made once a run, from the CMake folder that the wheels are built in."""
    if SITE not in MADE:
        install_wheel(stage, SITE, BUILD / "wheel")
        MADE.add(SITE)
    return SITE


def build_probe(stage, sanitize=""):
    """What the tests reach the extension kit by, tests/python/extension, which no wheel has; the folder that it lies in."""
    folder = BUILD / f"probe{'-' + sanitize.replace(',', '-') if sanitize else ''}"
    settings = ["-DDLPARK_PYTHON=ON", "-DDLPARK_PYTHON_PROBE=ON", "-DDLPARK_PYTHON_IMAGE=OFF", "-DDLPARK_WERROR=ON"]
    kind = ["-DCMAKE_BUILD_TYPE=Debug", f"-DDLPARK_SANITIZE={sanitize}"] if sanitize else ["-DCMAKE_BUILD_TYPE=Release"]
    python = f"-DPython_EXECUTABLE={sys.executable}"
    stage.must(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", python, *settings, *kind])
    stage.must(["cmake", "--build", folder, "--parallel", JOBS, "--target", "kit_probe"])
    return folder / "tests_python"


def site_environment(site):
    """Where the installed package is, and whether a missing partner is a failure: tests/python/conftest.py."""
    return {
        "DLPARK_PARTNERS": "all" if ALL_PARTNERS else "",
        "PYTHONPATH": str(site),
        "PATH": f"{site / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }


def stage_python(stage):
    """The wheel, installed, and the Python tests."""
    site = installed(stage)
    env = {**site_environment(site), **real_files(stage), "DLPARK_PROBE": str(build_probe(stage))}
    return pytest_together(stage, env=env) + pytest_devices(stage, env=env)


def real_files(stage):
    """Where tests/python/test_files_real.py finds what it reads."""
    return {"DLPARK_MODELS": partner(stage, "models")} if ALL_PARTNERS else {}


def stage_python_asan(stage):
    """The Python tests that need no framework but NumPy, with the extension under address and undefined."""
    site = WORK / "site-asan"
    settings = ["--config-settings", "cmake.build-type=Debug", "--config-settings", "cmake.define.DLPARK_SANITIZE=address,undefined"]
    install_wheel(stage, site, BUILD / "wheel-asan", *settings, "--config-settings", "install.strip=false")
    env = {
        **site_environment(site),
        **real_files(stage),
        **SANITIZER_OPTIONS,
        "DLPARK_PROBE": str(build_probe(stage, "address,undefined")),
        "LD_PRELOAD": gcc_libraries(stage, "libasan.so", "libstdc++.so"),
        "ASAN_OPTIONS": "detect_leaks=0:strict_string_checks=1:allocator_may_return_null=1",
        "PYTHONMALLOC": "malloc",
        **FEWER_CALLS,
    }
    return pytest_side_by_side(stage, "-m", "not partner", env=env) + pytest_devices(stage, env=env)


def stage_python_tsan(stage):
    """The Python tests marked `threads`, with the extension under the thread sanitizer."""
    site = WORK / "site-tsan"
    settings = ["--config-settings", "cmake.build-type=Debug", "--config-settings", "cmake.define.DLPARK_SANITIZE=thread"]
    install_wheel(stage, site, BUILD / "wheel-tsan", *settings, "--config-settings", "install.strip=false")
    env = {
        **site_environment(site),
        **SANITIZER_OPTIONS,
        "DLPARK_PROBE": str(build_probe(stage, "thread")),
        "LD_PRELOAD": gcc_libraries(stage, "libtsan.so"),
        "PYTHONMALLOC": "malloc",
        **FEWER_CALLS,
    }
    return pytest(stage, "-m", "threads", env=env, before=fixed_addresses(stage))


def stage_python_debug(stage):
    """The sum of all reference counts, which a debug build of Python keeps, stays flat over the main operations."""
    python = shutil.which("python3-dbg")
    if python is None:
        return [Result("python3-dbg", "skipped", "there is no python3-dbg (Debian's package of that name)")]
    folder = BUILD / "pydebug"
    settings = ["-DDLPARK_PYTHON=ON", "-DDLPARK_PYTHON_PROBE=ON", "-DDLPARK_PYTHON_IMAGE=OFF", "-DCMAKE_BUILD_TYPE=Debug"]
    # Debian's headers for it are links to the usual ones, beside which gcc would find the usual pyconfig.h.
    settings += [f"-DPython_EXECUTABLE={python}", "-DCMAKE_C_FLAGS=-fno-canonical-system-headers"]
    stage.must(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *settings])
    stage.must(["cmake", "--build", folder, "--parallel", JOBS, "--target", "kit_probe", "_core", "dlpark_python_package"])
    env = site_environment(folder / "python")
    env["PYTHONPATH"] += os.pathsep + sysconfig.get_path("purelib")  # for pytest, which is Python alone
    env["DLPARK_PROBE"] = str(folder / "tests_python")
    return pytest(stage, tests="tests/python/test_total_refcount.py", env=env, python=python)


def gcc_libraries(stage, *names):
    """The runtime libraries of a sanitizer as LD_PRELOAD wants them: a Python that was built without has none."""
    paths = []
    for name in names:
        status, path = stage.run(["gcc", f"-print-file-name={name}"], capture=True)
        if status != 0 or not os.path.isabs(path.strip()):
            raise CannotRun(f"gcc does not know where {name} is")
        paths.append(os.path.realpath(path.strip()))
    return " ".join(paths)


def stage_wheel(stage):
    """The wheels and the source package, as `make wheel` builds them, and extensions from the templates, built by one."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    stage.must([ROOT / "tools" / "wheel", "--out", WHEELS])
    MADE.add(WHEELS)
    return pytest(stage, tests="tests/wheel", env={"DLPARK_WHEELS": str(WHEELS)})


def stage_interop(stage):
    """What passes between dlpark and its partners: docs/interop.md. The compiled partners come with PARTNERS=all."""
    return pytest(stage, tests="tests/interop", env=interop_environment(stage))


def stage_conformance(stage):
    """The conformance kit, on libraries with planted faults, and on real ones: docs/conformance.md."""
    return pytest(stage, tests="tests/conformance", env=interop_environment(stage))


def interop_environment(stage):
    """As site_environment, with the partners that are compiled for the tests on the path where PARTNERS=all asks for them."""
    env = site_environment(installed(stage))
    if ALL_PARTNERS:
        peers = WORK / "interop"
        peers.mkdir(exist_ok=True)
        build_interop_nanobind(stage, peers)
        build_interop_rust(stage, peers)
        env["PYTHONPATH"] += os.pathsep + str(peers)
    return env


def build_interop_rust(stage, peers):
    crate = ROOT / "tests" / "interop" / "rust"
    target = BUILD / "interop-rust"
    cargo = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", crate / "Cargo.toml"]
    stage.must([*cargo, "--target-dir", target], env={"PYO3_PYTHON": sys.executable})
    shutil.copy(target / "release" / "libdlpark_rust.so", peers / "dlpark_rust.so")


def build_interop_nanobind(stage, peers):
    module, source = peers / "interop_nanobind.so", ROOT / "tests" / "interop" / "nanobind.cpp"
    status, folder = stage.run(
        [sys.executable, "-c", "import nanobind, os; print(os.path.dirname(nanobind.__file__))"], capture=True
    )
    if status != 0:
        raise CannotRun("nanobind is not installed")
    nanobind = pathlib.Path(folder.strip())
    if module.exists() and module.stat().st_mtime > max(source.stat().st_mtime, nanobind.stat().st_mtime):
        return
    include = [nanobind / "include", nanobind / "ext" / "robin_map" / "include", sysconfig.get_path("include")]
    sources = [source, nanobind / "src" / "nb_combined.cpp"]
    command = ["g++", "-O1", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-DNDEBUG"]
    stage.must([*command, *(f"-I{path}" for path in include), *sources, "-o", module])


def stage_property(stage):
    """10,000 random programs of views and copies, on dlpark and on NumPy. More: make nightly-property."""
    build(stage, "shared")
    return pytest(stage, tests="tests/property")


def stage_bench(stage):
    """Every bench, one round: its results are checked, its times are not; its instructions are."""
    results = [verdict("bench/run.sh", stage.run(["bench/run.sh", "--quick"]))]
    status, output = stage.run([ROOT / "tools" / "instructions", BUILD / "bench"], capture=True, errors=True)
    instructions = verdict("instructions", 0 if status == 77 else status)
    instructions.output = output
    if status == 77:
        instructions.outcome, instructions.reason = "skipped", output.strip()
    return [*results, instructions]


def stage_demo(stage):
    """The demos, as `make demo-NAME` runs them; with PARTNERS=all also those of the libraries that come with that."""
    results = []
    env = {"DLPARK_WHEELS": str(WHEELS)} if WHEELS in MADE else {}
    for demo in ("image-python", "extension"):
        for framework in ("", "torch") if ALL_PARTNERS else ("",):
            status = stage.run([f"demos/{demo}/run.sh"], env={**env, "FRAMEWORK": framework})
            results.append(verdict(demo + (f" with {framework}" if framework else ""), status))
    results.append(verdict("cuda-python", stage.run(["demos/cuda-python/run.sh"])))
    for demo in PARTNER_DEMOS:
        results.append(
            verdict(demo, stage.run([f"demos/{demo}/run.sh"]))
            if ALL_PARTNERS
            else Result(demo, "skipped", "the demo's libraries come with PARTNERS=all")
        )
    return results


def stage_docs(stage):
    """Every snippet of the documentation, built with warnings as errors against an installed dlpark, and run; the site."""
    build(stage, "release", adapters=True)
    prefix = WORK / "prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    stage.must(["cmake", "--install", BUILD / "release", "--prefix", prefix, "--component", "development"])
    site = installed(stage)
    env = {**site_environment(site), **partner_libraries(stage)}
    prefixes = [prefix, *adapter_folders(stage)]
    rows = snippets.Snippets(stage, WORK / "snippets", prefixes, site, env, ALL_PARTNERS).check()
    return [*(Result(*row) for row in rows), documentation_site(stage, site)]


def documentation_site(stage, site):
    """As `make docs` builds it, with the Python names of the package that this run has installed."""
    if not ALL_PARTNERS:
        return Result("site", "skipped", "the documentation's site is built with PARTNERS=all, or by make docs")
    command = [ROOT / "tools" / "setup", "docs", ROOT / "tools" / "site", "--package", site]
    return verdict("site", stage.run(command, env={"PARTNERS": "", "FRAMEWORK": ""}))


STAGES = {
    "tools": stage_tools,
    "asan": stage_asan,
    "tsan": stage_tsan,
    "release": stage_release,
    "valgrind": stage_valgrind,
    "wheel": stage_wheel,
    "python": stage_python,
    "python-asan": stage_python_asan,
    "python-tsan": stage_python_tsan,
    "python-debug": stage_python_debug,
    "interop": stage_interop,
    "conformance": stage_conformance,
    "property": stage_property,
    "bench": stage_bench,
    "demo": stage_demo,
    "docs": stage_docs,
    "clang": stage_clang,
}
# `wheel` builds much: some two minutes of two cores when nothing is there yet, which a plain `make test` has room for. The
# stages after it find the package, and the extensions of the templates, built.
ONLY_WITH_ALL_PARTNERS = {"clang"}


# ---- The run ---------------------------------------------------------------------------------------------------------


def read_skips():
    """tests/skips.txt: a pattern for "stage::test", two blanks or more, the reason. `*` stands for anything."""
    skips = []
    for line in (ROOT / "tests" / "skips.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = line.partition("  ")
        if not reason.strip():
            raise SystemExit(f"tests/skips.txt: no reason is given for {pattern}")
        skips.append(re.compile(re.escape(pattern).replace(r"\*", ".*")))
    return skips


def judge(stage, results, skips):
    """Turns skips that nobody allowed into failures."""
    for result in results:
        name = f"{stage.name}::{result.name}"
        if ALL_PARTNERS and result.outcome == "skipped" and not any(skip.fullmatch(name) for skip in skips):
            result.outcome = "failed"
            result.reason = f"skipped, and not in tests/skips.txt as {name}: {result.reason}"
    if not results:
        results.append(Result(stage.name, "failed", "nothing ran"))
    return results


def counts(results):
    return [sum(result.outcome == outcome for result in results) for outcome in ("passed", "failed", "skipped")]


def run_stage(name, skips):
    stage = Stage(name)
    start = time.monotonic()
    print(f"[{name}] {STAGES[name].__doc__}", flush=True)
    try:
        results = STAGES[name](stage)
    except CannotRun as error:
        results = [Result(name, "failed", str(error))]
    judge(stage, results, skips)
    for result in results:
        if result.outcome == "failed":
            print(f"    FAILED  {result.name}: {' '.join(result.reason.split())[:300]}")
    reasons = collections.Counter(result.reason for result in results if result.outcome == "skipped")
    for reason, count in reasons.items():
        print(f"    SKIPPED {count}: {reason}")
    passed, failed, skipped = counts(results)
    if failed:
        stage.show([result for result in results if result.outcome == "failed"])
    print(f"[{name}] {passed} passed, {failed} failed, {skipped} skipped in {time.monotonic() - start:.1f} s", flush=True)
    return results


def main(arguments):
    if "--list" in arguments:
        print("\n".join(f"{name:12} {function.__doc__}" for name, function in STAGES.items()))
        return 0
    unknown = [name for name in arguments if name not in STAGES]
    if unknown:
        raise SystemExit(f"no stage is called {unknown[0]}; --list names them")
    if "DLPARK_VENV" not in os.environ:
        raise SystemExit("start this by `make test`, or by `tools/setup test tools/run_tests.py STAGE`")
    WORK.mkdir(parents=True, exist_ok=True)
    skips = read_skips()
    wanted = arguments or [name for name in STAGES if ALL_PARTNERS or name not in ONLY_WITH_ALL_PARTNERS]
    start = time.monotonic()
    results = []
    for name in wanted:
        results += run_stage(name, skips)
    print(f"all stages: {time.monotonic() - start:.1f} s")
    passed, failed, skipped = counts(results)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
