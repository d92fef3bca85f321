"""Targets: what the kit needs to know of a library in order to judge it.

A target is named on the command line. ``numpy`` is a module with an adapter here, or any module of the array API
(``asarray``, ``from_dlpack``). ``module:factory`` is yours: ``factory()`` returns one of

* an array, any object with ``__dlpack__`` and ``__dlpack_device__``; ``module.from_dlpack``, if there is one, is the
  consumer;
* an object that makes arrays, the protocol of `Maker`.
"""

import importlib
import importlib.util
import traceback
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from . import abi, capture, elements
from .rules import NotApplicable, say


class Maker(Protocol):
    """What a factory may return, so that more rules than those about one array apply.

    Only `make` is needed. Whatever else of `Target` the object has (``from_dlpack``, ``values``, ``write``,
    ``readonly``, ``view``, ``subclass``, ``unexportable``, ``dtypes``, ``version``) is used in place of the default.
    """

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        """An array whose elements are 0, 1, 2, ... in row-major order: `elements.pattern`.

        ``dtype`` is a name such as ``float32``, ``bool``, ``bfloat16``, ``float8_e4m3fn``. bool holds False, True,
        False, ...; floats below 16 bits begin again after 3. Raise whatever you like for what you have not got.
        """


class Target:
    """A library under test, with defaults for everything that plain Python can do."""

    name = ""
    version = ""
    dtypes: tuple[str, ...] = elements.COMMON
    bare_capsules = False  # from_dlpack takes capsules alone, so it asks a producer for nothing
    immutable = False  # its arrays cannot be written to

    # ---- Producing ----

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def any(self) -> Any:
        """Some array with elements: float32, 2 by 3, where the target can choose."""
        return self.make("float32", (2, 3))

    def readonly(self) -> Any:
        """An array that must not be written to."""
        raise NotApplicable("it has no arrays that are read-only")

    def view(self, array: Any, which: str) -> Any:
        """A view: ``transposed``, ``sliced`` (every second row), ``reversed`` (rows), ``row`` (the second, of rank 2),
        ``tail`` (all but the first), ``broadcast`` (a row, four times)."""
        if which == "transposed":
            return array.T
        if which == "broadcast":
            raise NotApplicable("it has no view that repeats elements")
        keys = {"sliced": slice(None, None, 2), "reversed": slice(None, None, -1)}
        keys |= {"row": slice(1, 2), "tail": slice(1, None)}
        return array[keys[which]]

    def subclass(self) -> Any:
        """An array of a Python class derived from the target's."""
        raise NotApplicable("no class can be derived from its array, or the kit knows no way")

    def unexportable(self) -> dict[str, Any]:
        """Arrays that DLPack cannot express, by what is the matter with them."""
        return {}

    def odd_row(self) -> Any:
        """int32, 1 by 1, holding 0, whose first stride is no multiple of the element."""
        raise NotApplicable("its strides are in elements")

    # ---- Consuming ----

    def from_dlpack(self, producer: Any, **keywords: Any) -> Any:
        raise NotApplicable("it has no from_dlpack")

    def values(self, array: Any) -> list[Any]:
        """All elements of an array, in row-major order."""
        if hasattr(array, "tolist"):
            return flat(array.tolist())
        exported = export(array)
        return exported.values(elements.NAMES[exported.triple])

    def shape(self, array: Any) -> tuple[int, ...]:
        if not hasattr(array, "shape"):
            return export(array).shape
        return tuple(int(extent) for extent in array.shape)

    def write(self, array: Any) -> None:
        """Writes 77 into the first element, in place. Raises if that cannot be done."""
        array[(0,) * len(self.shape(array))] = 77

    def device_keyword(self) -> Any:
        """What ``device=`` wants for the host; None where from_dlpack has no such keyword."""
        return None


def flat(nested: Any) -> list[Any]:
    if not isinstance(nested, list | tuple):
        return [nested]
    return [value for part in nested for value in flat(part)]


def export(array: Any, **keywords: Any) -> capture.Export:
    """The capsule of an array, versioned unless told otherwise, or legacy where there is no other."""
    if "max_version" not in keywords:
        try:
            return capture.Export(array.__dlpack__(max_version=abi.VERSION, **keywords))
        except TypeError:  # it knows of no versions
            return capture.Export(array.__dlpack__(**keywords))
    return capture.Export(array.__dlpack__(**keywords))


def make(target: Target, dtype: str, shape: tuple[int, ...]) -> Any:
    """An array of the target, or the reason why there is none."""
    try:
        return target.make(dtype, shape)
    except NotApplicable:
        raise
    except Exception as error:
        raise NotApplicable(f"it makes no {dtype}{list(shape)}: {say(error)}") from None


def view(target: Target, array: Any, which: str) -> Any:
    try:
        return target.view(array, which)
    except NotApplicable:
        raise
    except Exception as error:
        raise NotApplicable(f"it has no view that is {which}: {say(error)}") from None


def consumes(target: Target) -> bool:
    return type(target).from_dlpack is not Target.from_dlpack or "from_dlpack" in vars(target)


class OneArray(Target):
    """A target that gives one array, whatever it is asked for."""

    dtypes = ()

    def __init__(self, factory: Callable[[], Any], consumer: Any) -> None:
        self.factory = factory
        if callable(consumer):
            self.from_dlpack = consumer  # type: ignore[method-assign]

    def any(self) -> Any:
        return self.factory()

    def make(self, dtype: str, shape: tuple[int, ...]) -> Any:
        raise NotApplicable("its factory gives one array, not one of a dtype and a shape")


OWN = (
    "make any readonly view subclass unexportable odd_row from_dlpack values shape write device_keyword "
    "dtypes version bare_capsules immutable"
).split()


def from_factory(name: str, factory: Callable[[], Any], consumer: Any = None) -> Target:
    """The target that a factory describes.

    Raises
    ------
    TypeError
        It returns neither an array nor a maker.
    """
    made = factory()
    if not hasattr(made, "make"):
        if not hasattr(made, "__dlpack__"):
            raise TypeError(f"{name} returned {type(made).__name__}, which has neither __dlpack__ nor make")
        target: Target = OneArray(factory, consumer)
        del made
    else:
        target = Target()
        if callable(consumer):
            target.from_dlpack = consumer  # type: ignore[method-assign]
        for each in OWN:
            if hasattr(made, each):
                setattr(target, each, getattr(made, each))
    target.name = name
    return target


def version_of(module: Any) -> str:
    """The version of a module, by itself or by the distribution that it came with."""
    own = getattr(module, "__version__", None)
    if isinstance(own, str):
        return own
    from importlib import metadata  # slow to import, and seldom needed

    top = module.__name__.partition(".")[0]
    try:
        for distribution in metadata.packages_distributions().get(top, []):
            return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        pass
    return "of no known version"


def load(name: str) -> Target:
    """Imports a target.

    Raises
    ------
    Exception
        Whatever its import or its factory raises; LookupError where the name leads nowhere.
    """
    from . import adapters

    module_name, colon, factory_name = name.partition(":")
    if "/" in module_name or module_name.endswith(".py"):
        stem = module_name.rpartition("/")[2].removesuffix(".py")
        raise LookupError(f"{module_name} is a path; the name of a module is wanted, such as {stem}:factory")
    if colon and not (module_name and factory_name):
        raise LookupError("a module and a factory are wanted, such as mymodule:factory")
    try:
        if colon:
            module = importlib.import_module(module_name)
            if not hasattr(module, factory_name):
                raise LookupError(f"module {module_name} has no {factory_name}")
            target = from_factory(name, getattr(module, factory_name), getattr(module, "from_dlpack", None))
        else:
            target = adapters.adapter(name)
            module = importlib.import_module(target.version_from)  # type: ignore[attr-defined]
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise  # it is there, and something that it needs is not
        raise ModuleNotFoundError(f"{error}{_meant(name, adapters.ALIASES | adapters.ADAPTERS)}") from None
    target.name = name
    target.version = target.version or version_of(module)
    return target


def _meant(name: str, known: Iterable[str]) -> str:
    """What somebody may have meant who named no module; nothing if that cannot be guessed."""
    import difflib  # slow to import, and seldom needed

    module, dot, last = name.rpartition(".")
    if dot and ":" not in name and importlib.util.find_spec(module.partition(".")[0]):
        return f"; is it {module}:{last}?"
    near = difflib.get_close_matches(name.lower(), known, 1)
    return f"; is it {near[0]}?" if near and near[0] != name else ""


def place_of(error: BaseException) -> str:
    """Where in a target's own files an exception came from, as `` (file.py, line 3)``; nothing if it came from none."""
    place, kit = "", __file__.rpartition("/")[0]
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        if not file.startswith((kit, "<")) and "/importlib/" not in file:
            place = f" ({file.rpartition('/')[2]}, line {line})"
    return place
