"""Documentation: every public name has it, in numpydoc's form, its signatures are true, and its examples run."""

import doctest
import importlib
import inspect
import pathlib
import re

import numpy as np
import pytest

import dlpark

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"
DUNDERS = ["__dlpack__", "__dlpack_device__", "__array__"]
SECTIONS = ["Parameters", "Returns", "Raises", "Attributes", "Notes", "Examples", "Yields", "See Also"]


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    """Examples write files."""
    monkeypatch.chdir(tmp_path)


def public():
    """Every public name as (dotted name, object)."""
    for name in dlpark.__all__:
        thing = getattr(dlpark, name)
        if name != "__version__":
            yield name, thing
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member in vars(thing):
                if not member.startswith("_") or member in DUNDERS:
                    yield f"{name}.{member}", inspect.getattr_static(thing, member)


def is_data(thing):
    return inspect.isdatadescriptor(thing) or isinstance(thing, property)


FUNCTIONS = [(name, thing) for name, thing in public() if callable(thing) and not inspect.isclass(thing)]
DOCUMENTED = [(name, thing) for name, thing in public() if not inspect.ismemberdescriptor(thing)]


def sections(thing):
    """The sections of a docstring, by their headings."""
    found, current = {"": []}, ""
    lines = inspect.getdoc(thing).splitlines()
    for line, below in zip(lines, [*lines[1:], ""]):
        if line and below == "-" * len(line):
            current = line
            found[current] = []
        elif set(line) != {"-"}:
            found[current].append(line)
    return {heading: "\n".join(text).strip("\n") for heading, text in found.items()}


@pytest.mark.parametrize("name, thing", DOCUMENTED, ids=[name for name, _ in DOCUMENTED])
def test_everything_has_a_summary(name, thing):
    text = inspect.getdoc(thing)
    assert text, name
    assert re.match(r"[A-Z`'(].*[.:]$", text.splitlines()[0]), text.splitlines()[0]
    for line in text.splitlines():
        assert len(line) <= 120
    assert set(sections(thing)) <= {"", *SECTIONS}


@pytest.mark.parametrize("name, thing", FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_every_parameter_is_described(name, thing):
    signature = inspect.signature(thing)
    found = sections(thing)
    names = [parameter for parameter in signature.parameters if parameter not in ("self", "module")]
    described = []
    for line in found.get("Parameters", "").splitlines():
        if line and not line.startswith(" "):
            described += [part.strip().lstrip("*") for part in line.split(" : ")[0].split(",")]
    assert described == names
    if names and name != "Report.to_json":
        assert "Raises" in found
    if names and name not in ("save_image", "save", "TensorFile.prefetch"):
        assert "Returns" in found, name


# dlpark.safetensors.torch has the functions of dlpark.safetensors.numpy, and needs PyTorch to be imported.
@pytest.mark.parametrize("module", ["dlpark.conformance", "dlpark.dtypes", "dlpark.opencl", "dlpark.safetensors", "dlpark.safetensors.numpy"])
def test_the_other_modules_are_described_too(module):
    module = importlib.import_module(module)
    test_everything_has_a_summary(module.__name__, module)
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name)
        members = [thing] if callable(thing) else []
        if inspect.isclass(thing):
            members += [member for key, member in vars(thing).items() if not key.startswith("_") and callable(member)]
        for member in members:
            test_everything_has_a_summary(f"{name}.{member}", member)
            described = sections(member).get("Parameters", "")
            for parameter in inspect.signature(member).parameters if not inspect.isclass(member) else ():
                assert parameter == "self" or re.search(rf"^\*{{0,2}}(\w+, )*{parameter}\b", described, re.MULTILINE), (name, parameter)


@pytest.mark.parametrize("name, thing", DOCUMENTED, ids=[name for name, _ in DOCUMENTED])
def test_sections_are_in_order(name, thing):
    order = ["", "Parameters", "Attributes", "Returns", "Raises", "Notes", "Examples"]
    headings = [heading for heading in sections(thing) if heading in order]
    assert headings == sorted(headings, key=order.index)


def run_examples(text, name):
    """Runs the examples of a text; says what differed."""
    parsed = doctest.DocTestParser().get_doctest(text, {"dlpark": dlpark, "np": np}, name, None, 0)
    said = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(parsed, out=said.append)
    assert runner.failures == 0, "".join(said)
    return len(parsed.examples)


def test_the_examples_of_docstrings_run():
    ran = {"dlpark": run_examples(dlpark.__doc__, "dlpark")}
    for name, thing in DOCUMENTED:
        ran[name] = run_examples(inspect.getdoc(thing) or "", name)
    methods = [name for name, _ in FUNCTIONS if name.startswith("Tensor.") and name.split(".")[1] not in DUNDERS]
    for name in ("dlpark", "Tensor", "from_dlpack", "check", *methods):
        assert ran[name] > 0, f"{name} has no example"


# ---- The page ----


def test_the_examples_of_the_page_run():
    text = re.sub(r"^```.*$", "", PAGE.read_text(), flags=re.MULTILINE)
    assert run_examples(text, PAGE.name) > 20


def bare(name, thing):
    """A signature as the page has it: without self and without annotations."""
    signature = inspect.signature(thing)
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values() if p.name != "self"]
    return name.split(".")[-1] + str(signature.replace(parameters=parameters, return_annotation=empty)).replace("(/, ", "(")


@pytest.mark.parametrize("name, thing", FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_every_function_is_on_the_page_with_its_signature(name, thing):
    page = PAGE.read_text().replace("\\*", "*")
    expected = name.split(".")[-1] if name.split(".")[-1] in DUNDERS else bare(name, thing)
    assert expected.removesuffix("(/)") in page


def test_every_name_is_on_the_page():
    page = PAGE.read_text()
    for name, thing in public():
        assert re.search(rf"`[^`]*\b{re.escape(name.split('.')[-1])}\b[^`]*`", page), name
    for name in dlpark.__all__:
        assert name in page
