"""Where the extension kit lies: headers, sources and CMake files for extensions of CPython."""

import os

from ._core import __version__

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def get_include() -> str:
    """Folder of the C headers, for the include path of an extension.

    The sources lie there as well, as ``dlpark/src/dlpark_python.c``: where a build system takes no other, a C file that
    includes that one is all it needs.

    Returns
    -------
    str
        Where ``#include <dlpark/python.h>`` is found.

    Examples
    --------
    >>> sources = ["mine.c", *dlpark.get_sources()]  # doctest: +SKIP
    >>> setuptools.Extension("mine", sources, include_dirs=[dlpark.get_include()])  # doctest: +SKIP
    """
    return _existing("include", "dlpark/src/dlpark_python.c")


def get_sources(folder: str = "build") -> list[str]:
    """C sources to be compiled into an extension, beside its own.

    They are C11, in an extension of C++ as well, and define no symbol that is seen from outside: extensions with copies
    of their own live in one process.

    Parameters
    ----------
    folder : str, optional
        Setuptools takes only sources below the project's folder. So one is written here, which includes those of
        `get_include`.

    Returns
    -------
    list of str
        Paths in `folder`.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    get_include()
    path = os.path.join(folder, "dlpark_python.c")
    text = f"/* The extension kit of dlpark {__version__}, by dlpark.get_sources(). */\n#include <dlpark/src/dlpark_python.c>\n"
    if not os.path.exists(path) or _read(path) != text:
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return [path]


def get_cmake_dir() -> str:
    """Folder of the CMake package, for ``dlpark_DIR``.

    A build by scikit-build-core needs no telling: ``find_package(dlpark REQUIRED)`` finds it, and
    ``target_link_libraries(mine PRIVATE dlpark::python)`` brings headers and sources.

    Returns
    -------
    str
        The folder of ``dlparkConfig.cmake``.
    """
    return _existing("share/cmake/dlpark", "dlparkConfig.cmake")


def _existing(folder: str, file: str) -> str:
    path = os.path.join(_PACKAGE, *folder.split("/"))
    if not os.path.exists(os.path.join(path, *file.split("/"))):
        raise FileNotFoundError(f"this installation of dlpark has no extension kit: {path} has no {file}")
    return path


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
