import dlpark
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension("mine", ["mine.c", *dlpark.get_sources()], include_dirs=[dlpark.get_include()]),
    ]
)
