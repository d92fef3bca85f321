"""Prints which wheel of a folder is for this Python."""

import pathlib
import sys

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

for wheel in sorted(pathlib.Path(sys.argv[1]).glob("dlpark-*.whl")):
    if parse_wheel_filename(wheel.name)[3] & set(sys_tags()):
        print(wheel)
        break
else:
    sys.exit(f"{sys.argv[1]} has no wheel for this Python")
