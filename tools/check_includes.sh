#!/bin/sh
# Usage: check_includes.sh [ROOT]
# The floors: core includes nothing of ours but core; formats, devices and each adapter include core and themselves;
# python and cli stand above. Within python the kit includes nothing of the module. Core, formats and devices include no
# outside library, only Python may know Python.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
enter "${1:-$here/..}"

{ c_files src '*.c' '*.h'; c_files include '*.h'; c_files cli '*.c' '*.h'; } >"$work/files"
grep -n '^[ 	]*#[ 	]*include' $(cat "$work/files") /dev/null 2>/dev/null |
    sed 's/^\([^:]*\):\([0-9]*\):.*include[ 	]*\([<"]\)\([^>"]*\).*/\1 \2 \3 \4/' >"$work/includes" || true

awk '
    # The room of a file: src/core, src/adapters/image, src/python/kit, cli; a public header lives where its source does,
    # and those that are written for Python in its kit, with or without one.
    function room_of_path(path, part, n) {
        n = split(path, part, "/")
        if (part[1] == "src" && part[2] ~ /^(adapters|python)$/ && n > 3) return part[2] "/" part[3]
        if (part[1] == "src") return part[2]
        return part[1]
    }
    function room_of_header(name) {
        if (name in source_room) return source_room[name]
        return name ~ /^(python|py_.*|call)$/ ? "python/kit" : "core"
    }
    function floor_of(room) {
        if (room == "core") return 0
        if (room ~ /^(formats|devices|adapters\/.*)$/) return 1
        return room == "python/module" ? 3 : 2
    }
    FNR == NR {
        files[++count] = $1
        name = $1
        sub(/.*\//, "", name)
        if ($1 ~ /^src\/.*\.c$/) { sub(/\.c$/, "", name); source_room[name] = room_of_path($1) }
        next
    }
    FNR == 1 {
        for (i = 1; i <= count; i++) {
            name = files[i]
            sub(/.*\//, "", name)
            if (name !~ /\.h$/) continue
            stem = name
            sub(/\.h$/, "", stem)
            header_room[name] = files[i] ~ /^include\// ? room_of_header(stem) : room_of_path(files[i])
        }
    }
    {
        name = $1
        sub(/.*\//, "", name)
        from = name in header_room ? header_room[name] : room_of_path($1)
        target = $4
        sub(/.*\//, "", target)
        ours = $3 == "\"" || $4 ~ /^dlpark\//
        if (ours && target in header_room) {
            to = header_room[target]
            if (to != from && (floor_of(to) >= floor_of(from) || to == "cli"))
                print $1 ":" $2 ": " from " includes " $4 " of " to ", which is not below it"
        } else if (ours && target ~ /\.c$/) {
            print $1 ":" $2 ": a source is included"
        } else if ($4 ~ /^(Python|numpy\/.*)\.h$/ && from !~ /^python(\/|$)/) {
            print $1 ":" $2 ": " from " includes " $4 ", and only python may"
        } else if (!ours && from ~ /^(core|formats|devices)$/ && !($4 ~ LIBC)) {
            print $1 ":" $2 ": " from " includes <" $4 ">, and needs libc alone"
        }
    }
' LIBC='^((assert|ctype|dlfcn|endian|errno|fcntl|fenv|float|inttypes|limits|locale|math|pthread|sched|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|threads|time|unistd|complex|immintrin|cpuid|arm_neon|arm_sve|type_traits|cstddef|cstdint)(\.h)?|sys/(auxv|mman|mount|param|random|stat|types|uio|vfs)\.h)$' \
    "$work/files" "$work/includes" >"$work/faults"
verdict
