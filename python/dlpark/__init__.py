"""Tensors between libraries, without copies: the DLPack toolkit.

>>> import dlpark
>>> photo = dlpark.load_image("photo.jpg")
>>> photo
Tensor(uint8[512, 512, 3], cpu, strides=[1536, 3, 1])

Every library that speaks DLPack takes it as it is: ``numpy.from_dlpack(photo)``, ``torch.from_dlpack(photo)``.
"""

from ._core import DeviceCopyError, Tensor, __version__, from_dlpack
from ._images import ImageInfo, encode_image, image_info, load_image, save_image

__all__ = [
    "DeviceCopyError",
    "ImageInfo",
    "Tensor",
    "__version__",
    "encode_image",
    "from_dlpack",
    "image_info",
    "load_image",
    "save_image",
]
