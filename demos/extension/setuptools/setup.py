"""The extension; all else stands in pyproject.toml."""

import dlpark
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "example_setuptools._example",
            ["src/module.c", "src/matmul.cpp", *dlpark.get_sources()],
            include_dirs=[dlpark.get_include()],
            depends=["src/example.h"],
            # What the sources share is nobody else's.
            extra_compile_args=["-O2", "-fvisibility=hidden"],
        )
    ]
)
