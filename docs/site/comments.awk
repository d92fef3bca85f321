# A header's comments in Doxygen's words:
#
#   the first comment is of the file;
#   the fields of the template that Doxygen has no word for are paragraphs with a title;
#   in a run of declarations without an empty line the comment of the first is that of all;
#   the enumerators that a table makes are written out, each with the text of its row.

FNR == 1 && /^\/\*\*/ {
    print "/** @file"
    next
}

match($0, /^ \* (Shapes|Units|Ownership|Threads|Alignment|Bool|Devices|Memory|Overlap|Packing|Rounding|Same|Waiting):/) {
    title = " * @par " substr($0, 4, RLENGTH - 4)
    rest = " * " substr($0, RLENGTH + 1)
    print title
    print rest
    if (in_comment) comment = comment title "\n" rest "\n"
    next
}

# ---- Runs ----

/^\/\*\*/ { in_comment = 1; comment = "" }
in_comment {
    comment = comment $0 "\n"
    if (/\*\//) { in_comment = 0; pending = 1 }
    print
    next
}
/^$/ { run = pending = 0 }
/^(DLPARK_API|DLPARK_INLINE|#define) / {
    if (!pending && run) printf "%s", comment
    if (pending) run = 1
    pending = 0
}

# ---- Tables ----

/^#define DLPARK_[A-Z_]+_TABLE\(X\)/ {
    in_table = 1
    rows = 0
    print
    next
}
in_table {
    if (/^ +X\(/) row[++rows] = $0
    else row[rows] = row[rows] $0
    in_table = /\\$/
    print
    next
}
/^#define .*##name = \(/ {
    prefix = $0
    sub(/##name.*/, "", prefix)
    sub(/.* /, "", prefix)
}
/^ +DLPARK_[A-Z_]+_TABLE\(/ && prefix != "" {
    for (i = 1; i <= rows; i++) print "    " enumerator(row[i])
    prefix = ""
    next
}
{ print }

function enumerator(text,   field, said)
{
    gsub(/[ ]*\\/, " ", text)
    said = match(text, /"[^"]*"\)[ ]*$/) ? substr(text, RSTART + 1, RLENGTH) : ""
    sub(/"\)[ ]*$/, "", said)
    sub(/^ +X\(/, "", text)
    split(text, field, /, */)
    return prefix field[1] " = " field[2] "," (said == "" ? "" : " /**< " said " */")
}
