# Lists what C files define at file scope, one line each:
#   function FILE LINE LENGTH NAME static|extern      LENGTH in lines, from the first line of the signature to the brace
#   variable FILE LINE 1 NAME static|extern
#   macro    FILE LINE 1 NAME extern
#   type     FILE LINE 1 NAME extern                  tags and typedef names, as far as a line shows them
# It leans on the house style: the brace that opens a function and the one that ends it stand alone at column 1, and
# nothing else does. Macros that make functions are not looked into.

FNR == 1 { signature = ""; in_function = 0; in_comment = 0 }

{ line = $0; sub(/\r$/, "", line) }

# Comments and strings of one line go away; a comment of several lines is followed to its end.
in_comment {
    if (!match(line, /\*\//))
        next
    line = substr(line, RSTART + 2)
    in_comment = 0
}
{
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    while (match(line, /\/\*/)) {
        head = substr(line, 1, RSTART - 1)
        tail = substr(line, RSTART + 2)
        if (match(tail, /\*\//)) {
            line = head " " substr(tail, RSTART + 2)
        } else {
            line = head
            in_comment = 1
            break
        }
    }
    sub(/\/\/.*/, "", line)
}

# A macro with all its continuation lines.
in_macro || line ~ /^[ \t]*#/ {
    if (!in_macro && line ~ /^[ \t]*#[ \t]*define[ \t]/) {
        name = line
        sub(/^[ \t]*#[ \t]*define[ \t]+/, "", name)
        sub(/[^A-Za-z0-9_].*/, "", name)
        print "macro", FILENAME, FNR, 1, name, "extern"
    }
    in_macro = (line ~ /\\$/)
    next
}

in_function {
    if (line ~ /^}/) {
        print "function", FILENAME, start, FNR - start + 1, name_of_function, linkage
        in_function = 0
    }
    next
}

line ~ /^\{[ \t]*$/ && signature ~ /\(/ {
    linkage = (signature ~ /(^|[^A-Za-z0-9_])(static|DLPARK_INLINE)[^A-Za-z0-9_]/) ? "static" : "extern"
    name_of_function = function_name(signature)
    in_function = 1
    signature = ""
    next
}

# Types: `typedef struct tag {`, `} name;`, `typedef something name;`.
line ~ /^(typedef[ \t]+)?(struct|union|enum)[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*\{/ {
    name = line
    sub(/^(typedef[ \t]+)?(struct|union|enum)[ \t]+/, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
    print "type", FILENAME, FNR, 1, name, "extern"
}
line ~ /^\}[ \t]*[A-Za-z_][A-Za-z0-9_]*;/ {
    name = line
    sub(/^\}[ \t]*/, "", name)
    sub(/;.*/, "", name)
    print "type", FILENAME, FNR, 1, name, "extern"
}
line ~ /^typedef[^{(]*;/ {
    name = line
    sub(/[ \t]*;.*/, "", name)
    sub(/\[.*/, "", name)
    sub(/.*[^A-Za-z0-9_]/, "", name)
    print "type", FILENAME, FNR, 1, name, "extern"
}

# Variables: a line at column 1 that begins with static and has its name before `=`, `[` or `;`.
signature == "" && line ~ /^static[ \t][^(]*[=;[]/ {
    name = line
    sub(/[ \t]*[=;[].*/, "", name)
    sub(/.*[^A-Za-z0-9_]/, "", name)
    print "variable", FILENAME, FNR, 1, name, "static"
    next
}

# Anything else at file scope is the beginning, or more, of a signature until `;`, a brace or an empty line ends it.
line ~ /^[ \t]*$/ || line ~ /[;{}][ \t]*$/ { signature = ""; next }
{
    if (signature == "")
        start = FNR
    signature = signature " " line
}

function function_name(text)
{
    gsub(/__attribute__[ \t]*\(\(([^()]|\([^()]*\))*\)\)/, " ", text)
    gsub(/(DLPARK_PRINTF|DLPARK_NONNULL)[ \t]*\([^()]*\)/, " ", text)
    if (match(text, /\([ \t]*\*[ \t]*[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) {
        text = substr(text, RSTART, RLENGTH)
        gsub(/[^A-Za-z0-9_]/, "", text)
        return text
    }
    sub(/[ \t]*\(.*/, "", text)
    sub(/.*[^A-Za-z0-9_]/, "", text)
    return text == "" ? "?" : text
}
