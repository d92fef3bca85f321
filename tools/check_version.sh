#!/bin/sh
# Usage: check_version.sh [ROOT]
# The version is written in include/dlpark/version.h alone: the build reads it, the Python package is dynamic, and the
# top of CHANGELOG.md is that version or Unreleased.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
enter "${1:-$here/..}"

version=$(awk '/^#define DLPARK_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$/ { text = text dot $3; dot = "." } END { print text }' \
    include/dlpark/version.h)
escaped=$(echo "$version" | sed 's/\./\\./g')
case $version in
*.*.*) ;;
*) echo "include/dlpark/version.h does not define the version as three numbers" >"$work/faults" && verdict ;;
esac

{
    if [ -f pyproject.toml ]; then
        awk '/^\[/ { section = $0 } section == "[project]" && /^version[ ]*=/ { found = 1 } END { exit !found }' \
            pyproject.toml && echo "pyproject.toml: [project] writes a version; it has to be dynamic"
        grep -q '^dynamic *=.*"version"' pyproject.toml || echo "pyproject.toml: \"version\" is not in [project] dynamic"
    fi
    if [ -f CHANGELOG.md ]; then
        top=$(sed -n 's/^## \[\([^]]*\)\].*/\1/p' CHANGELOG.md | head -n 1)
        [ "$top" = Unreleased ] || [ "$top" = "$version" ] ||
            echo "CHANGELOG.md: the top entry is [$top], neither Unreleased nor $version"
    else
        echo "there is no CHANGELOG.md"
    fi
    # A line that speaks of a version and has exactly our number is a second place.
    c_files . '*.txt' '*.cmake' '*.in' '*.toml' '*.json' '*.py' '*.pyi' '*.c' '*.h' '*.sh' '*.yml' '*.yaml' '*.md' |
        grep -v -e '^CHANGELOG.md$' -e '^include/dlpark/version.h$' -e 'requirements.*\.txt$' |
        xargs grep -niE "version.*(^|[^0-9.])$escaped([^0-9.]|\$)|project\(.*(^|[^0-9.])$escaped([^0-9.]|\$)" /dev/null |
        sed 's/$/  (the version is written in version.h alone)/' || true
} >"$work/faults"
verdict
