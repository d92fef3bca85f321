#include <stdio.h>
#include <string.h>

#include "../../core/internal.h"
#include "../json.h"
#include "npy_header.h"
#include "npy_literal.h"

#define NPY_MAGIC        "\x93NUMPY"
#define NPY_MAGIC_NBYTES ((size_t)6)

const dlpark__index_type dlpark__npy_types[DLPARK__NPY_TYPES] = {
    {"|b1", {kDLBool, 8, 1}, false},      {"|i1", {kDLInt, 8, 1}, false},        {"|u1", {kDLUInt, 8, 1}, false},
    {"<i2", {kDLInt, 16, 1}, false},      {"<i4", {kDLInt, 32, 1}, false},       {"<i8", {kDLInt, 64, 1}, false},
    {"<u2", {kDLUInt, 16, 1}, false},     {"<u4", {kDLUInt, 32, 1}, false},      {"<u8", {kDLUInt, 64, 1}, false},
    {"<f2", {kDLFloat, 16, 1}, false},    {"<f4", {kDLFloat, 32, 1}, false},     {"<f8", {kDLFloat, 64, 1}, false},
    {"<c8", {kDLComplex, 64, 1}, false},  {"<c16", {kDLComplex, 128, 1}, false}, {">i2", {kDLInt, 16, 1}, true},
    {">i4", {kDLInt, 32, 1}, true},       {">i8", {kDLInt, 64, 1}, true},        {">u2", {kDLUInt, 16, 1}, true},
    {">u4", {kDLUInt, 32, 1}, true},      {">u8", {kDLUInt, 64, 1}, true},       {">f2", {kDLFloat, 16, 1}, true},
    {">f4", {kDLFloat, 32, 1}, true},     {">f8", {kDLFloat, 64, 1}, true},      {">c8", {kDLComplex, 64, 1}, true},
    {">c16", {kDLComplex, 128, 1}, true},
};

enum { KEY_DESCR = 1, KEY_ORDER = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

typedef struct npy_reader {
    const dlpark__npy_text *text;
    dlpark__npy_literal literal;
    dlpark__npy_header *header;
    unsigned seen;   /* a bit for each key */
    size_t shape_at; /* of its bracket, for faults */
    uint32_t ndim;   /* which may be more than a tensor has, and than are kept */
    uint64_t numel;  /* the product of the extents that are not 0 */
    bool is_vast;    /* which leaves 64 bits */
    bool is_empty;
    bool is_broken; /* already told: the size of the data is not known */
} npy_reader;

/* A fault at a byte of the array. False, as what comes behind the first is of no use but in a list. */
#define NPY_FAULT(text, status, rule, offset, ...)                                                                     \
    (dlpark__file_faults_add((text)->faults, (status),                                                                 \
                             &(dlpark__file_fault_place){(rule),                                                       \
                                                         (text)->at + ((offset) & ((uint64_t)(text)->is_packed - 1)),  \
                                                         (text)->name, (text)->name_nbytes},                           \
                             __VA_ARGS__))

/* ---- What stands before the text ---- */

bool dlpark__npy_matches(const unsigned char *bytes, size_t nbytes)
{
    return nbytes >= NPY_MAGIC_NBYTES && memcmp(bytes, NPY_MAGIC, NPY_MAGIC_NBYTES) == 0;
}

/* Where the text begins: behind magic, version, and a length of 2 bytes in version 1 and of 4 after. */
static size_t npy_text_begin(const unsigned char *bytes)
{
    return bytes[6] == 1 ? 10 : 12;
}

static bool npy_check_version(const dlpark__npy_text *text)
{
    unsigned major = text->bytes[6], minor = text->bytes[7];

    if (major >= 1 && major <= 3 && minor == 0)
        return true;
    (void)NPY_FAULT(text, DLPARK_E_FORMAT, "version", 6, "is of version %u.%u; there are 1.0, 2.0 and 3.0", major,
                    minor);
    return false;
}

bool dlpark__npy_header_nbytes(const dlpark__npy_text *text, uint64_t *header_nbytes)
{
    unsigned long long array = text->array_nbytes, most = text->max_header_nbytes, header = 0;

    if (array < 8 || text->nbytes < 8 || !dlpark__npy_matches(text->bytes, text->nbytes)) {
        (void)NPY_FAULT(text, DLPARK_E_FORMAT, "magic", 0,
                        "does not begin as an array of NumPy's, with \\x93NUMPY and a version; it has %llu bytes",
                        array);
        return false;
    }
    if (!npy_check_version(text))
        return false;
    size_t begin = npy_text_begin(text->bytes);
    if (array < begin || text->nbytes < begin) {
        (void)NPY_FAULT(text, DLPARK_E_FORMAT, "header-size", 8, "ends at byte %llu, within the length of its header",
                        array);
        return false;
    }
    for (size_t i = begin; i > 8; i--)
        header = header << 8 | text->bytes[i - 1];
    if (header > array - begin) {
        (void)NPY_FAULT(text, DLPARK_E_FORMAT, "header-size", 8,
                        "the header has %llu bytes by its length, and there are %llu behind it", header, array - begin);
        return false;
    }
    most = most == 0 || most > DLPARK__NPY_MAX_HEADER ? DLPARK__NPY_MAX_HEADER : most;
    if (header > most) {
        (void)NPY_FAULT(text, DLPARK_E_LIMIT, "header-size", 8, "the header has %llu bytes, more than %llu", header,
                        most);
        return false;
    }
    *header_nbytes = begin + header;
    return true;
}

/* ---- descr ---- */

static bool npy_is(const dlpark__npy_string *string, const char *word)
{
    return string->nbytes == strlen(word) && memcmp(string->text, word, string->nbytes) == 0;
}

/* As much of a string as is kept, fit for a message. */
static dlpark_file_name npy_show(const dlpark__npy_string *string)
{
    return dlpark_file_name_text(string->text,
                                 string->nbytes < sizeof string->text ? string->nbytes : sizeof string->text);
}

/* A kind's letter, and behind it nothing but digits, or the unit of a date in brackets. */
static bool npy_is_kind(const dlpark__npy_string *kind)
{
    size_t at = 1;

    while (at < kind->nbytes && kind->text[at] >= '0' && kind->text[at] <= '9')
        at++;
    return at >= kind->nbytes || kind->text[at] == '[';
}

/* Why NumPy has a dtype, by its kind and width, and no tensor can be of it; NULL: it has none. */
static const char *npy_explain(const dlpark__npy_string *descr)
{
    bool has_order = descr->nbytes > 0 && memchr("<>|=", descr->text[0], 4) != NULL;
    size_t kept = descr->nbytes < sizeof descr->text ? descr->nbytes : sizeof descr->text;
    dlpark__npy_string kind = {kept - has_order, ""};

    memcpy(kind.text, descr->text + has_order, kind.nbytes);
    if (npy_is(&kind, "f16") || npy_is(&kind, "f12") || npy_is(&kind, "c32") || npy_is(&kind, "c24"))
        return "a long double, which has other bits on other machines";
    if (!npy_is_kind(&kind))
        return NULL;
    switch (kind.text[0]) {
    case 'O':
        return "Python objects: that is a pickle, which runs code when it is read, and is never read here";
    case 'U':
        return "text of 32-bit characters, which no tensor holds";
    case 'S':
        return "text of bytes, which no tensor holds";
    case 'V':
        return "raw bytes; if they were bfloat16 or a float8, the format has lost that: save them as integers";
    case 'M':
    case 'm':
        return "dates or times, which no tensor holds; save them as integers of 8 bytes";
    default:
        return NULL;
    }
}

static uint8_t npy_find_type(const dlpark__npy_string *descr)
{
    dlpark__npy_string one = *descr;

    if (one.nbytes == 2) { /* "u1" */
        one.text[2] = one.text[1];
        one.text[1] = one.text[0];
        one.text[0] = '=';
        one.nbytes = 3;
    }
    if (one.nbytes == 3 && memchr("<>=", one.text[0], 3) != NULL && one.text[2] == '1')
        one.text[0] = '|'; /* one byte has no order */
    for (uint8_t i = 0; i < DLPARK__NPY_TYPES; i++)
        if (npy_is(&one, dlpark__npy_types[i].name))
            return i;
    return DLPARK__NPY_TYPES;
}

/* "i4", "|i4" or "=i4": in the order of this machine, or of the one that wrote it? */
static bool npy_lacks_order(const dlpark__npy_string *descr)
{
    bool has_sign = descr->nbytes > 0 && (descr->text[0] == '|' || descr->text[0] == '=');
    dlpark__npy_string with = {descr->nbytes + !has_sign, "<"};

    if (with.nbytes > 4)
        return false;
    memcpy(with.text + 1, descr->text + has_sign, descr->nbytes - has_sign);
    return npy_find_type(&with) < DLPARK__NPY_TYPES;
}

static bool npy_read_type(npy_reader *reader, size_t at)
{
    dlpark__npy_string descr;

    if (!dlpark__npy_literal_string(&reader->literal, "a dtype in quotation marks", &descr))
        return false;
    reader->header->type = npy_find_type(&descr);
    if (reader->header->type < DLPARK__NPY_TYPES)
        return true;
    reader->is_broken = true;
    const char *why = npy_explain(&descr);
    if (why != NULL)
        return NPY_FAULT(reader->text, DLPARK_E_UNSUPPORTED, "dtype", at, "dtype '%s' is of %s", npy_show(&descr).text,
                         why);
    if (npy_lacks_order(&descr))
        return NPY_FAULT(reader->text, DLPARK_E_FORMAT, "dtype", at,
                         "dtype '%s' does not say its byte order, '<' or '>'", npy_show(&descr).text);
    return NPY_FAULT(reader->text, DLPARK_E_FORMAT, "dtype", at, "dtype '%s' is none of the format's",
                     npy_show(&descr).text);
}

/* The names of fields, for a message: as many as have room. */
typedef struct npy_fields {
    size_t used;
    char text[100];
} npy_fields;

static void npy_add_field(npy_fields *fields, const char *name)
{
    if (fields->used < sizeof fields->text)
        fields->used += (size_t)snprintf(fields->text + fields->used, sizeof fields->text - fields->used, "%s'%s'",
                                         fields->used > 0 ? ", " : "", name);
}

/* ('x', '<f4') or ('x', '<f4', (2,)); for a name with a title, ('title', 'x'). */
static bool npy_read_field(dlpark__npy_literal *literal, npy_fields *fields)
{
    dlpark__npy_string name;

    if (!dlpark__npy_literal_expect(literal, '(', "the '(' of a field"))
        return false;
    if (dlpark__npy_literal_peek(literal) == '(') {
        if (!dlpark__npy_literal_skip(literal))
            return false;
        npy_add_field(fields, "(...)");
    } else {
        if (!dlpark__npy_literal_string(literal, "the name of a field", &name))
            return false;
        npy_add_field(fields, npy_show(&name).text);
    }
    while (dlpark__npy_literal_more(literal, ')'))
        if (!dlpark__npy_literal_skip(literal))
            return false;
    return literal->fault[0] == '\0';
}

static bool npy_read_fields(npy_reader *reader, size_t at)
{
    dlpark__npy_literal *literal = &reader->literal;
    npy_fields fields = {0, ""};
    bool is_empty;

    (void)dlpark__npy_literal_open(literal, '[', "the '[' of fields", &is_empty);
    if (!is_empty) {
        do
            if (!npy_read_field(literal, &fields))
                return false;
        while (dlpark__npy_literal_more(literal, ']'));
        if (literal->fault[0] != '\0')
            return false;
    }
    reader->is_broken = true;
    return NPY_FAULT(reader->text, DLPARK_E_UNSUPPORTED, "dtype", at,
                     "the dtype has fields (%s), which no tensor has; save each as an array of its own", fields.text);
}

static bool npy_read_descr(npy_reader *reader)
{
    char first = dlpark__npy_literal_peek(&reader->literal);
    size_t at = reader->literal.at;

    if (first == '[')
        return npy_read_fields(reader, at);
    if (first != '(')
        return npy_read_type(reader, at);
    if (!dlpark__npy_literal_skip(&reader->literal))
        return false;
    reader->is_broken = true;
    return NPY_FAULT(reader->text, DLPARK_E_UNSUPPORTED, "dtype", at,
                     "the dtype is a pair, of a dtype and a shape of its own, which no tensor has");
}

/* ---- shape ---- */

/* An extent that no tensor has counts as 0, and is told. */
static bool npy_add_extent(npy_reader *reader, size_t at, size_t count, bool is_negative)
{
    const char *digits = reader->literal.text + at;
    unsigned long number = reader->ndim++;
    uint64_t extent = 0;
    bool is_vast = false;

    for (size_t i = 0; i < count; i++)
        is_vast |= __builtin_mul_overflow(extent, 10, &extent) ||
                   __builtin_add_overflow(extent, (uint64_t)(digits[i] - '0'), &extent);
    is_vast |= extent > INT64_MAX;
    reader->is_broken |= is_vast || is_negative;
    if (!reader->is_broken && number < DLPARK_MAX_NDIM)
        reader->header->shape[number] = (int64_t)extent;
    if (is_negative)
        return NPY_FAULT(reader->text, DLPARK_E_FORMAT, "shape", at - 1, "shape[%lu] is -%.*s", number,
                         (int)(count < 40 ? count : 40), digits);
    if (is_vast)
        return NPY_FAULT(reader->text, DLPARK_E_FORMAT, "overflow", at, "shape[%lu] is %.*s, above 2^63-1", number,
                         (int)(count < 40 ? count : 40), digits);
    if (extent == 0) /* which excuses no other from being too large */
        reader->is_empty = true;
    else
        reader->is_vast |= __builtin_mul_overflow(reader->numel, extent, &reader->numel);
    return true;
}

static bool npy_read_extent(npy_reader *reader)
{
    dlpark__npy_literal *literal = &reader->literal;
    bool is_negative = dlpark__npy_literal_peek(literal) == '-';
    size_t at, count;

    literal->at += is_negative;
    return dlpark__npy_literal_digits(literal, "an extent", &at, &count) &&
           npy_add_extent(reader, at, count, is_negative);
}

static bool npy_read_shape(npy_reader *reader)
{
    dlpark__npy_literal *literal = &reader->literal;
    bool is_empty;

    (void)dlpark__npy_literal_peek(literal);
    reader->shape_at = literal->at;
    if (!dlpark__npy_literal_open(literal, '(', "the '(' of a shape", &is_empty))
        return false;
    if (is_empty)
        return true;
    literal->has_comma = false;
    do
        if (!npy_read_extent(reader))
            return false;
    while (dlpark__npy_literal_more(literal, ')'));
    if (literal->fault[0] == '\0' && !literal->has_comma)
        return dlpark__npy_literal_fail(literal, reader->shape_at,
                                        "a number in brackets is no shape: a comma is missing behind it");
    return literal->fault[0] == '\0';
}

/* ---- The dictionary ---- */

static bool npy_read_key(npy_reader *reader, unsigned *key)
{
    dlpark__npy_literal *literal = &reader->literal;
    dlpark__npy_string name;

    (void)dlpark__npy_literal_peek(literal);
    size_t at = literal->at;
    if (!dlpark__npy_literal_string(literal, "a key in quotation marks", &name))
        return false;
    *key = npy_is(&name, "descr")           ? KEY_DESCR
           : npy_is(&name, "fortran_order") ? KEY_ORDER
           : npy_is(&name, "shape")         ? KEY_SHAPE
                                            : 0;
    if (*key == 0)
        return dlpark__npy_literal_fail(literal, at, "there is a key '%s'; the keys are descr, fortran_order and shape",
                                        npy_show(&name).text);
    if ((reader->seen & *key) != 0)
        return dlpark__npy_literal_fail(literal, at, "there are two keys '%s'", npy_show(&name).text);
    reader->seen |= *key;
    return dlpark__npy_literal_expect(literal, ':', "':'");
}

static bool npy_read_item(npy_reader *reader)
{
    unsigned key;

    if (!npy_read_key(reader, &key))
        return false;
    if (key == KEY_DESCR)
        return npy_read_descr(reader);
    if (key == KEY_SHAPE)
        return npy_read_shape(reader);
    return dlpark__npy_literal_bool(&reader->literal, "True or False", &reader->header->is_column_major);
}

static bool npy_read_dictionary(npy_reader *reader)
{
    dlpark__npy_literal *literal = &reader->literal;
    bool is_empty;

    if (!dlpark__npy_literal_open(literal, '{', "the '{' of the header", &is_empty))
        return false;
    if (!is_empty)
        do
            if (!npy_read_item(reader))
                return false;
        while (dlpark__npy_literal_more(literal, '}'));
    unsigned missing = KEY_ALL & ~reader->seen;
    if (missing != 0)
        return dlpark__npy_literal_fail(literal, literal->at - 1, "there is no key '%s'",
                                        missing & KEY_DESCR   ? "descr"
                                        : missing & KEY_ORDER ? "fortran_order"
                                                              : "shape");
    return dlpark__npy_literal_end(literal);
}

/* ---- The whole ---- */

/* Whether the data has all the elements, whose number and width are known. In bytes, each step checked. */
static void npy_check_size(npy_reader *reader)
{
    const dlpark__npy_text *text = reader->text;
    dlpark__npy_header *header = reader->header;
    const dlpark__index_type *type = &dlpark__npy_types[header->type];
    dlpark__list shape = dlpark__layout_list(header->ndim, header->shape);
    unsigned long long nbytes = 0, left = text->array_nbytes - header->header_nbytes;

    if (reader->is_vast || __builtin_mul_overflow(reader->numel, type->dtype.bits / 8U, &nbytes) ||
        nbytes > INT64_MAX) {
        (void)NPY_FAULT(text, DLPARK_E_FORMAT, "overflow", reader->shape_at,
                        "shape %s of %s has more than 2^63-1 bytes", shape.text, type->name);
        return;
    }
    header->nbytes = reader->is_empty ? 0 : nbytes;
    if (header->nbytes > left)
        (void)NPY_FAULT(text, DLPARK_E_FORMAT, "truncated", reader->shape_at,
                        "shape %s of %s has %llu bytes, and there are %llu behind the header", shape.text, type->name,
                        nbytes, left);
}

/* The text of version 3 is UTF-8; of the others every byte is a character. */
static bool npy_check_text(const dlpark__npy_text *text, size_t begin, size_t end)
{
    const char *bytes = (const char *)text->bytes;
    size_t valid = begin + (text->bytes[6] == 3 ? dlpark__utf8_check(bytes + begin, end - begin) : end - begin);

    if (valid == end)
        return true;
    (void)NPY_FAULT(text, DLPARK_E_FORMAT, "utf8", valid, "byte 0x%02X of the header is no UTF-8",
                    (unsigned)text->bytes[valid]);
    return false;
}

/* What the dictionary said, in whole. */
static void npy_finish(npy_reader *reader)
{
    dlpark__npy_header *header = reader->header;
    int wide = 0;

    if (reader->ndim > DLPARK_MAX_NDIM) {
        (void)NPY_FAULT(reader->text, DLPARK_E_LIMIT, "rank", reader->shape_at, "has %lu dimensions, more than %d",
                        (unsigned long)reader->ndim, DLPARK_MAX_NDIM);
        return;
    }
    header->ndim = (int32_t)reader->ndim;
    if (reader->is_broken)
        return;
    for (int32_t i = 0; i < header->ndim; i++)
        wide += header->shape[i] != 1;
    header->is_column_major &= wide > 1 && !reader->is_empty; /* else both are one */
    npy_check_size(reader);
}

bool dlpark__npy_read_header(const dlpark__npy_text *text, dlpark__npy_header *header)
{
    size_t before = text->faults->count;
    npy_reader reader = {.text = text, .header = header, .numel = 1};

    if (!dlpark__npy_header_nbytes(text, &header->header_nbytes))
        return false;
    if (text->nbytes < header->header_nbytes) {
        (void)NPY_FAULT(text, DLPARK_E_FORMAT, "header-size", 8, "the header ends at byte %llu, and %zu are to be had",
                        (unsigned long long)header->header_nbytes, text->nbytes);
        return false;
    }
    size_t begin = npy_text_begin(text->bytes), end = (size_t)header->header_nbytes;
    if (!npy_check_text(text, begin, end))
        return false;
    reader.literal = (dlpark__npy_literal){
        .text = (const char *)text->bytes, .at = begin, .end = end, .has_longs = text->bytes[6] < 3};
    if (npy_read_dictionary(&reader))
        npy_finish(&reader);
    else if (reader.literal.fault[0] != '\0')
        (void)NPY_FAULT(text, DLPARK_E_FORMAT, "literal", reader.literal.fault_at, "%s", reader.literal.fault);
    return text->faults->count == before;
}
