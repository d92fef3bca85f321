#!/bin/sh
# Usage: try_deb.sh FOLDER
# Installs the Debian packages of FOLDER in a root of nothing but Debian 12, which debootstrap makes of the archive that APT knows, and
# uses each of them there: a program by pkg-config, the command, the module. Needs root, and a minute.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
packages=$(cd "$1" && pwd)
expected=$(sed -n 's/#define DLPARK_VERSION_[A-Z]* \([0-9][0-9]*\)$/\1/p' "$here/include/dlpark/version.h" | paste -sd.)

die()
{
    echo "try_deb: $*" >&2
    exit 1
}

[ "$(id -u)" = 0 ] || die "a root of its own needs root"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Release: bookworm' 'Component: main' | head -n 1)
work=$(mktemp -d)
root=$work/root
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

inside()
{
    chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

quietly()
{
    "$@" >"$work/log" 2>&1 || {
        tail -n 40 "$work/log" >&2
        die "failed: $*"
    }
}

quietly debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "${mirror:?APT knows no archive of bookworm}"
[ ! -e /etc/apt/apt.conf.d ] || cp -R /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d"
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
cp "$here/tests/install/stranger/core.c" "$root/packages"
quietly inside sh -c 'apt-get install -y --no-install-recommends /packages/*.deb gcc libc6-dev pkg-config'

quietly inside sh -c 'gcc /packages/core.c -o /packages/core $(pkg-config --cflags --libs dlpark)'
said=$(inside /packages/core)
[ "$said" = "dlpark $expected: 2 x 3" ] || die "the program printed '$said'"
said=$(inside dlpark --version)
case $said in *"$expected"*) ;; *) die "the command says '$said'" ;; esac
quietly inside python3 -c "
import dlpark, importlib.metadata, os
t = dlpark.from_dlpack(memoryview(bytearray(b'abcdef')))
assert t.shape == (6,), t
dlpark.save('/packages/x.safetensors', {'w': t})
assert dlpark.load('/packages/x.safetensors')['w'].tobytes() == b'abcdef'
assert os.path.exists(os.path.join(dlpark.get_include(), 'dlpark', 'python.h'))
assert importlib.metadata.version('dlpark') == '$expected'
"
quietly inside dlpark check /packages/x.safetensors
inside dlpark info /packages/x.safetensors
quietly inside sh -c 'apt-get remove -y dlpark-tools python3-dlpark "libdlpark*"'
left=$(inside find /usr -name '*dlpark*' -not -path '*/dpkg/*')
[ -z "$left" ] || die "what is left when they are removed: $left"
echo "the packages work in a root of nothing but Debian, and leave nothing behind"
