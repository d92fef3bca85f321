# Faults of the comments in public headers, one a line. It leans on the house style, as c_names.awk does: what a header
# declares begins at column 1 with DLPARK_API, DLPARK_INLINE, typedef, struct, enum or #define, or is a field in braces.

FNR == 1 { doc = group = ""; run = 0; in_doc = in_plain = in_macro = in_body = in_fields = depth = hidden = 0; statement = "" }

# C++ parts say the same again for another language.
/^#[ ]*if/ { depth++; if (!hidden && /^#[ ]*if defined\(__cplusplus\)/) hidden = depth }
/^#[ ]*(else|elif)/ && hidden == depth { hidden = 0 }
/^#[ ]*endif/ { if (hidden == depth) hidden = 0; depth-- }
hidden && !/^#[ ]*undef/ { next }

in_doc { doc = doc "\n" $0; if (/\*\//) in_doc = 0; next }
in_plain { if (/\*\//) in_plain = 0; next }
in_macro { in_macro = /\\$/; next }
in_body { if (/^}/) in_body = 0; next }

/^[ ]*\/\*\*[^<]/ || /^[ ]*\/\*\*$/ {
    doc = $0
    in_doc = !/\*\//
    next
}
/^[ ]*\/\*/ && !/\*\/[ ]*[^ ]/ { in_plain = !/\*\//; doc = ""; run = 0; next }
/^$/ { run = 0; group = ""; if (!in_fields) doc = ""; next }

# A macro of a run without an empty line shares the comment of the first; one that is undefined again is nobody's.
/^#[ ]*define / {
    name = $0
    sub(/^#[ ]*define[ ]+/, "", name)
    sub(/[^A-Za-z0-9_].*/, "", name)
    in_macro = /\\$/
    if (doc != "" || /\/\*\*</) { run = 1; known[name] = 1 }
    else if (run) known[name] = 1
    else if (public(name)) lacking[name] = FILENAME ":" FNR
    doc = ""
    next
}
/^#[ ]*undef / { delete lacking[$2]; next }
/^#/ { if (!/^#[ ]*(if|else|elif|endif)/) doc = ""; next }

in_fields { fields(); next }
statement == "" && /^(typedef )?(struct|union|enum)( [A-Za-z_0-9]+)? ?\{/ || /^typedef DLPARK_ABI_ENUM32/ {
    name = $0
    sub(/ *\{.*/, "", name)
    sub(/.* /, "", name)
    if (name ~ /^dlpark_abi/) { doc = "" }
    else if (doc == "" && (public(name) || name ~ /^(enum|struct)$/)) fault("a type without a comment")
    type_doc = name ~ /^dlpark_abi/ ? "first second" : doc
    doc = ""
    is_enum = /^(typedef )?(enum|DLPARK_ABI_ENUM32)/
    in_fields = 1
    next
}
statement == "" && !/^(DLPARK_API|DLPARK_INLINE|typedef|extern) / { if (/^[a-z].*[^;]$/) in_body = 0; doc = ""; next }

{
    if (statement == "") start = FNR
    line = $0
    sub(/[ ]*\/\*.*\*\/[ ]*$/, "", line)
    sub(/^[ ]+/, " ", line)
    statement = statement line
    # So does a function of a run.
    if (line !~ /[;{]$/) next
    if (doc == "") doc = group
    if (line ~ /;$/ || !described[name_of(statement)]) judge()
    group = doc
    in_body = line ~ /\{$/
    statement = doc = ""
}

END {
    for (name in lacking)
        if (!(name in known)) print lacking[name] ": the macro " name " has no comment"
}

function fault(text) { print FILENAME ":" (statement == "" ? FNR : start) ": " text }

# What dlpack.h defines for its own checks, and where an older upstream header came first, is no caller's.
function public(name)
{
    return name ~ /^(dlpark_|DLPARK_|DL)/ && name !~ /^(dlpark__|DLPARK__|DLPARK_ABI_(ENUM32|ASSERT|SIZE|OFFSET|PAD)|DLPARK_UPSTREAM|dlpark_abi)/ &&
           name !~ /_H_?$|^DLPACK_(DLL|EXTERN_C)$/
}

# A field whose type is one of ours is explained there, an enumerator by its enum, and a field may be by its struct.
function fields(   line)
{
    if (!is_enum && !/[;}]/) return
    if (/^}/) { in_fields = 0; doc = ""; return }
    if (/\/\*\*</ || doc != "" || /\/\*\*<[^*]*$/) { doc = ""; if (/\/\*\*</ && !/\*\//) in_plain = 1; return }
    line = $0
    sub(/\/\*.*/, "", line)
    if (line ~ /^ +(const )?(struct )?(dlpark_|DL)[A-Za-z_0-9]* /) return
    sub(/[ ]*(=.*)?[;,]?[ ]*$/, "", line)
    sub(/\[.*/, "", line)
    if (match(line, /\(\*[a-z_]+\)/)) line = substr(line, RSTART + 2, RLENGTH - 3)
    sub(/.*[^A-Za-z0-9_]/, "", line)
    if (line == "" || is_enum || line ~ /^reserved/ || index(type_doc, line)) return
    fault("the field " line " has no comment")
}

function name_of(text)
{
    gsub(/DLPARK_PRINTF\([^()]*\)/, "", text)
    if (match(text, /\([ ]*\*[ ]*[A-Za-z_0-9]+\)/)) { text = substr(text, RSTART, RLENGTH); gsub(/[^A-Za-z0-9_]/, "", text); return text }
    sub(/ ?\(.*/, "", text)
    sub(/;.*/, "", text)
    sub(/.*[^A-Za-z0-9_]/, "", text)
    return text
}

# What a comment has to say of a function: the template of the headers, as far as it applies. The first parameter, which
# is what the function is about, and `err` may go without a line; a comment that names a sister may leave the rest to it.
function judge(   name, arguments, count, part, i, parameter, sister, missing, returned)
{
    name = name_of(statement)
    if (!public(name)) return
    described[name] = 1
    if (doc == "") { fault(name " has no comment"); return }
    if (statement ~ /^typedef/ || statement !~ /\(/) return
    arguments = statement
    sub(/DLPARK_PRINTF\([^()]*\)/, "", arguments)
    returned = substr(arguments, 1, index(arguments, "(") - 1)
    sub(/^[^(]*\(/, "", arguments)
    sub(/\)[^)]*$/, "", arguments)
    sister = doc ~ /dlpark_[a-z_0-9]+\(\)|DLPARK_[A-Z_]+\(|[Tt]he same|forwards? to/
    count = parameters(arguments, part)
    missing = ""
    for (i = 1; i <= count; i++)
        if (doc !~ /@param/ && doc ~ ("(^|[^A-Za-z_0-9])" part[i] "($|[^A-Za-z_0-9])")) continue
        else if (i > 1 && part[i] != "err" && doc !~ ("@param[ ]+" part[i] "([ ,\n]|$)")) missing = missing " " part[i]
    if (doc ~ /@param/ && missing != "" && !sister) fault(name ": the comment names every parameter but" missing)
    if (doc !~ /@param/ && count > 2 && missing ~ / .* / && !sister) fault(name ": the comment names none of its parameters," missing)
    check_named(name, doc, part, count)
    if (returned ~ /dlpark_status/ && returned !~ /\*/ && doc !~ /DLPARK_E_|DLPARK_OK|`status`/ && !sister) fault(name ": the comment does not say how it fails")
    if (returned ~ /\*/ && doc !~ /valid|borrowed|[Ss]tatic string|owned|reference|NULL|releases?d?|ends? / && !sister)
        fault(name ": the comment does not say whose the returned pointer is")
    if (arguments ~ /\*\*|dlpark_tensor \*/ && arguments !~ /const dlpark_tensor \*tensor\)/ && !sister &&
        doc !~ /[Tt]akes?|borrowed|[Ee]mpt(y|ies)|[Oo]wner|owned|[Rr]eleases?|[Ee]nds?|caller/)
        fault(name ": the comment does not say who owns what")
    for (i = 1; i <= count; i++)
        if (part[i] ~ /(^|_)(strides|offset|length|pitch|timeout|capacity)$/ && !sister &&
            doc !~ /element|byte|extent|second|entries|strides|faults/)
            fault(name ": the comment does not say in what " part[i] " is counted")
}

# The names of a list of parameters; a function among them counts as one.
function parameters(text, part,   depth, i, c, item, count)
{
    count = 0
    item = ""
    text = text ","
    depth = 0
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(") depth++
        if (c == ")") depth--
        if (c == "," && depth == 0) {
            if (match(item, /\(\*+[A-Za-z_0-9]+\)/)) { item = substr(item, RSTART + 2, RLENGTH - 3); gsub(/\*/, "", item) }
            sub(/\[.*/, "", item)
            sub(/.*[^A-Za-z0-9_]/, "", item)
            if (item != "" && item != "void") part[++count] = item
            item = ""
        } else
            item = item c
    }
    return count
}

# A parameter that is described and is not there.
function check_named(name, text, part, count,   i, found, word)
{
    while (match(text, /@param[ ]+[A-Za-z_0-9.]+/)) {
        word = substr(text, RSTART, RLENGTH)
        sub(/@param[ ]+/, "", word)
        text = substr(text, RSTART + RLENGTH)
        found = 0
        for (i = 1; i <= count; i++)
            if (part[i] == word) found = 1
        if (!found && word != "...") fault(name ": the comment describes a parameter " word ", which is not there")
    }
}
