# One verb per job, no logic: each line calls a script or CMake. `make help` lists them.
PREFIX ?= /usr/local
FRAMEWORK ?=
PARTNERS ?=
MINUTES ?=
export FRAMEWORK PARTNERS MINUTES
.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' Makefile)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile

demo: demo-image-python ## a photograph from C to NumPy and back, without a copy (FRAMEWORK=torch for PyTorch)

demo-image-python: ## the same, by its own name
	@tools/setup demo demos/image-python/run.sh

demo-extension: ## two extensions of CPython, built from the wheel, exchange tensors (FRAMEWORK=torch for PyTorch's too)
	@tools/setup demo-extension demos/extension/run.sh

demo-onnxruntime: ## ONNX Runtime finds where somebody speaks in a sound, in tensors of ours
	@tools/setup demo-onnxruntime demos/onnxruntime/run.sh

demo-array-ggml: ## C arrays to ggml, which computes a network of them, and back, without a copy
	@tools/setup demo-array-ggml demos/array-ggml/run.sh

demo-mpi: ## four processes multiply by one safetensors file, each by its rows
	@tools/setup demo-mpi demos/mpi/run.sh

demo-avframe: ## a video's frames from FFmpeg to NumPy, without a copy, and a contact sheet back
	@tools/setup demo-avframe demos/avframe/run.sh

demo-opencl: ## an OpenCL kernel draws into a tensor of ours, and NumPy looks at it where it is mapped
	@tools/setup demo-opencl demos/opencl/run.sh

demo-cuda-python: ## a buffer of a GPU that C owns, changed by CuPy or PyTorch; without a GPU on a fake driver, and it says so
	@tools/setup demo-cuda-python demos/cuda-python/run.sh

demo-metal-python: ## one buffer of Metal seen by C, NumPy and MLX; on Linux MLX on the CPU, and it says so
	@tools/setup demo-metal-python demos/metal-python/run.sh

check: ## a minute: the tree's own rules, the core without a warning, its tests; needs a C compiler and CMake
	@tools/check.sh

test: ## everything that proves it; PARTNERS=all adds every framework and forbids skipping
	@tools/setup test tools/run_tests.py

test-asan: ## only the tests under address and undefined-behaviour sanitizers
	@tools/setup test tools/run_tests.py asan

test-tsan: ## only the tests under the thread sanitizer
	@tools/setup test tools/run_tests.py tsan

test-python: ## only the Python tests
	@tools/setup test tools/run_tests.py python

test-gpu: ## on a machine with a GPU of CUDA, a report for docs/devices.md; elsewhere it says so and exits with 77
	@tools/setup test-gpu tests/gpu/run.sh

coverage: ## branch coverage of the core, which must be whole; a page for each source in build/coverage/report
	@tools/setup coverage tools/coverage.sh

bench: ## what is measured, beside its peers
	@tools/setup bench bench/run.sh

nightly-exhaustive: ## every small layout, and every float32 cast, against oracles, at most an hour; MINUTES=N for less; adds up in docs/nightly.md
	@tools/setup nightly-exhaustive tools/nightly exhaustive

nightly-fuzz: ## libFuzzer on casts, checks, tensor files, views and specs; the same
	@tools/setup nightly-fuzz tools/nightly fuzz

nightly-property: ## random programs of views and copies against NumPy; the same
	@tools/setup nightly-property tools/nightly property

nightly-arch: ## the unit tests on s390x, AArch64 and armhf under qemu, and as 32-bit x86
	@tools/setup nightly-arch tools/nightly arch

nightly-files: ## a tensor file of 20 GiB converted in less than 256 MiB of memory
	@tools/setup nightly-files tools/nightly files

nightly-packages: ## the Debian packages, built, installed and used in a root of nothing but Debian; needs root
	@tools/setup nightly-packages tools/deb --try

symbols: ## tests/abi/symbols.txt anew: the names that the shared library exports
	@tools/setup build tests/abi/symbols.sh --update

abi-baseline: ## tests/abi/baseline.abi.xz anew: the ABI that later releases are compared with
	@tools/setup abi-baseline tests/abi/abidiff.sh --update

docs: ## the documentation as a site, in build/docs/html; a warning or a dead link is an error
	@tools/setup docs tools/site

wheel: ## the Python package, in dist/: a wheel for each ABI that a python3.X on the PATH stands for
	@tools/setup wheel tools/wheel

deb: ## the Debian packages, in dist/: libraries, -dev, the command, the Python module; lintian must find no error
	@tools/setup deb tools/deb

bundle: ## the core as two files to copy into a project, dist/bundle/dlpark.h and dlpark.c
	@tools/setup bundle tools/bundle dist/bundle

dist: ## the sources with tests and documentation, in dist/: an archive that builds without git
	@tools/setup dist tools/dist

sbom: ## what the C libraries are made of, in dist/, for programs that look for licences and faults
	@tools/setup dist tools/sbom.py

reproducible: ## two builds of libraries, wheel, source packages and bundle, in two places: the same bytes
	@tools/setup wheel tools/reproducible

release-check: ## all that a release needs, item by item: docs/releasing.md; root makes a root of nothing but Debian as well
	@tools/setup release-check tools/release_check

install: ## the C libraries and headers, into PREFIX (/usr/local)
	@cmake --preset package -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@cmake --build --preset package --parallel
	@cmake --install build/package --component development

format: ## clang-format over the C files
	@find include src cli demos tests bench -name '*.[ch]' -not -path '*/upstream/*' 2>/dev/null | xargs clang-format -i

clean: ## all that was built
	@rm -rf build dist
