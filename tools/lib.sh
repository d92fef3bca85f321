# What the checks share. Sourced, with $here set. A check writes its faults, one a line, to $work/faults.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
: >"$work/faults"

enter()
{
    cd "$1"
}

# c_files FOLDER PATTERN...: files of ours under a folder that may not exist, sorted; nothing built, nothing hidden.
c_files()
{
    folder=$1
    shift
    for pattern in "$@"; do
        [ ! -d "$folder" ] || find "$folder" \( -name build -o -name dist -o -name target -o -name '.?*' \) -prune -o \
            -type f -name "$pattern" -print
    done | sed 's|^\./||' | LC_ALL=C sort
}

# excused FILE KIND NAME: whether a line "KIND NAME reason" stands in the file of exceptions.
excused()
{
    [ -f "$1" ] && awk -v kind="$2" -v name="$3" '$1 == kind && $2 == name && NF > 2 { found = 1 } END { exit !found }' "$1"
}

verdict()
{
    if [ -s "$work/faults" ]; then
        cat "$work/faults"
        exit 1
    fi
}
