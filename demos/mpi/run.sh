#!/bin/sh
# Installs dlpark with its MPI adapter into a prefix, builds the demo against that as its user would, and starts it four times
# at once. Open MPI is told for this command alone that it may run as root, and more processes than there are processors.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/demo/mpi
mkdir -p "$work"

. "$here/../quietly.sh"

quietly configure cmake -S "$root" -B "$work/library" -DCMAKE_BUILD_TYPE=Release -DDLPARK_MPI=ON \
    -DCMAKE_INSTALL_PREFIX="$work/prefix"
quietly build cmake --build "$work/library" --parallel 2
quietly install cmake --install "$work/library" --component development
quietly demo-configure cmake -S "$here" -B "$work/demo" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$work/prefix"
quietly demo-build cmake --build "$work/demo"
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self,vader \
    exec mpiexec -n 4 --oversubscribe "$work/demo/rows" "$work/layer.safetensors" "$work/product.safetensors"
