#!/bin/sh
# Usage: tools/nightly_arch.sh s390x|aarch64|armhf|i386
# Builds the core for another machine and runs its unit tests there, under qemu-user where this one cannot.
# The last line is "N passed, N failed, N left out".
#
# cmocka for that machine is Debian's package, unpacked into the cache: installing it would need dpkg to know a foreign
# architecture. APT asks the archive of this machine, with lists of its own, so nothing of this machine's changes and no root is needed.
set -eu
cd "$(dirname "$0")/.."
machine=${1:?usage: tools/nightly_arch.sh s390x|aarch64|armhf|i386}
cache=${DLPARK_CACHE:-${HOME:-$PWD/build}/.cache/dlpark}/arch
root=$cache/$machine
build=build/arch-$machine
# Debian's name of it.
debian=$(echo "$machine" | sed "s/^aarch64$/arm64/")

fetch_cmocka()
{
    rm -rf "$cache/apt" "$root"
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/cache/archives/partial" "$root"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Release: bookworm' 'Component: main' | head -n 1)
    echo "deb [arch=$debian signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
        "${mirror:?APT knows no archive of bookworm} bookworm main" >"$cache/apt/sources.list"
    # APT will not be its own user "_apt" where that may not write.
    cd "$cache/apt"
    apt="apt-get -q -o APT::Architectures::=$debian -o APT::Sandbox::User=$(id -un) -o Acquire::Languages=none
        -o Dir::State::lists=$PWD/lists -o Dir::Cache=$PWD/cache -o Dir::Etc::sourcelist=$PWD/sources.list
        -o Dir::Etc::sourceparts=-"
    # shellcheck disable=SC2086 # lists of words
    $apt update && $apt download "libcmocka-dev:$debian" "libcmocka0:$debian"
    for package in *.deb; do
        dpkg -x "$package" "$root"
    done
    cd - >/dev/null
    rm -rf "$cache/apt"
    : >"$root/complete"
}

[ -e "$root/complete" ] || fetch_cmocka
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$machine.cmake" \
    -DDLPARK_ARCH_ROOT="$root" -DCMAKE_BUILD_TYPE=Debug -DDLPARK_TESTS=ON -DDLPARK_WERROR=ON
cmake --build "$build" --parallel 2 -- -k 0 || echo "the build failed in part"
rm -f "$build/junit.xml"
status=0
ctest --test-dir "$build" -L 'unit|fuzz' --output-on-failure --parallel 2 --output-junit junit.xml || status=$?
count()
{
    sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$build/junit.xml" | head -n 1
}
failed=$(count failures)
left_out=$(cmake -S . -B "$build" | grep -c -- '^-- .* left out: .* need' || true)
echo "$(($(count tests) - failed)) passed, $failed failed, $left_out left out"
exit $status
