# A header's comments in Doxygen's words: the first one is of the file, and the fields of the template that Doxygen has no
# word for are paragraphs with a title.
FNR == 1 && /^\/\*\*/ {
    print "/** @file"
    next
}
match($0, /^ \* (Shapes|Units|Ownership|Threads|Alignment|Bool|Devices|Memory|Overlap|Packing|Rounding|Same|Waiting):/) {
    title = substr($0, 4, RLENGTH - 4)
    print " * @par " title
    print " * " substr($0, RLENGTH + 1)
    next
}
{ print }
