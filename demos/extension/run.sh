#!/bin/sh
# Usage: demos/extension/run.sh [build]
# Builds both templates as their users would, from an installed dlpark in an environment that knows nothing of this tree;
# runs their tests, and lets the two exchange tensors in one process. FRAMEWORK=torch: PyTorch's as well.
# With `build` that is all. DLPARK_WHEELS names a folder with the wheel of dlpark, if it need not be built.
# What is built lies in build/demo/extension until the wheel or a template changes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/demo/extension
venv=$work/venv
packages=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$work"

. "$here/../quietly.sh"

# The environment's own Python, with the tools of the one that runs this, but without a network.
pip()
{
    "$venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"
}

build_template()
{
    quietly "$1" pip wheel --no-index --no-build-isolation --no-deps -w "$work/dist" "$work/$1"
}

build_all()
{
    rm -rf "$venv" "$work/dist" "$work/cmake" "$work/setuptools" "$work/complete"
    python3 -m venv --without-pip "$venv"
    echo "$packages" >"$venv/$("$venv/bin/python" -c 'import sys, sysconfig
print(sysconfig.get_path("purelib")[len(sys.prefix) + 1:])')/tools.pth"
    quietly install pip install --no-index --no-deps "$wheel"
    # A stranger's copies: nothing is found beside them.
    cp -R "$here/cmake" "$here/setuptools" "$work"
    build_template cmake &
    cmake=$!
    build_template setuptools &
    wait $!
    wait $cmake
    quietly install-templates pip install --no-index --no-deps "$work"/dist/*.whl
}

if [ -z "${DLPARK_WHEELS:-}" ]; then
    DLPARK_WHEELS=$work/wheels
    rm -rf "$DLPARK_WHEELS"
    quietly wheel python3 "$root/tools/wheel" --here --out "$DLPARK_WHEELS" --build "$root/build/wheel"
fi
wheel=$(python3 "$here/wheel_for_here.py" "$DLPARK_WHEELS")
stamp=$({ echo "$packages" && cat "$wheel" && find "$here" -type f -not -name '*.pyc' | LC_ALL=C sort | xargs cat; } | sha256sum)
if [ "$(cat "$work/complete" 2>/dev/null)" != "$stamp" ]; then
    build_all
    echo "$stamp" >"$work/complete"
fi
[ "${1:-}" != build ] || exit 0

cd "$work"
for template in cmake setuptools; do
    quietly "test-$template" "$venv/bin/python" -m pytest -q -p no:cacheprovider -W error "$work/$template/tests"
    tail -n 1 "$work/test-$template.log" | sed "s/^/example_$template: /"
done
exec "$venv/bin/python" "$here/exchange.py"
