"""Tensors between libraries, without copies: the DLPack toolkit.

>>> import dlpark
>>> import numpy as np
>>> t = dlpark.from_dlpack(np.arange(6, dtype=np.uint8).reshape(2, 3))
>>> t
Tensor(uint8[2, 3], cpu, strides=[3, 1])
[[0 1 2]
 [3 4 5]]
>>> np.from_dlpack(t.permute(1, 0)).shape
(3, 2)

Every library that speaks DLPack takes a Tensor as it is: ``numpy.from_dlpack(t)``, ``torch.from_dlpack(t)``.
"""

from ._core import DeviceCopyError, Tensor, __version__, empty, from_dlpack

__all__ = [
    "DeviceCopyError",
    "Fault",
    "ImageInfo",
    "Report",
    "Tensor",
    "TensorFile",
    "TensorInfo",
    "Verdict",
    "__version__",
    "check",
    "dtypes",
    "empty",
    "encode_image",
    "from_arrow",
    "from_dlpack",
    "get_cmake_dir",
    "get_include",
    "get_sources",
    "image_info",
    "load",
    "load_image",
    "open",
    "save",
    "save_image",
    "stream",
]

# What takes milliseconds to import is imported by its first use. A type checker reads the first branch.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import dtypes
    from ._arrow_arrays import from_arrow
    from ._check import Fault, Report, Verdict, check
    from ._images import ImageInfo, encode_image, image_info, load_image, save_image
    from ._kit import get_cmake_dir, get_include, get_sources
    from ._streams import stream
    from ._tensor_files import TensorFile, TensorInfo, load, open, save
else:

    def __getattr__(name):
        if name == "dtypes":
            from importlib import import_module

            return import_module(".dtypes", __name__)
        if name in ("ImageInfo", "encode_image", "image_info", "load_image", "save_image"):
            from . import _images as module
        elif name == "from_arrow":
            from . import _arrow_arrays as module
        elif name in ("Fault", "Report", "Verdict", "check"):
            from . import _check as module
        elif name == "stream":
            from . import _streams as module
        elif name in ("TensorFile", "TensorInfo", "load", "open", "save"):
            from . import _tensor_files as module
        elif name in ("get_cmake_dir", "get_include", "get_sources"):
            from . import _kit as module
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(module, name)
        return value

    def __dir__():
        return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
