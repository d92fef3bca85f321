#include "text_parts.h"

/* How one float is written. */
typedef struct number_style {
    bool is_signed; /* a plus sign, too */
    bool is_exponential;
    int32_t left;            /* characters before the point, at least */
    int32_t fraction;        /* digits after it: exponential, exactly; else what is not there is filled with spaces */
    int32_t exponent_digits; /* at least */
    const char *no_fraction; /* what stands for a fraction without digits: "." or ".0" or "" */
    const char *unit;        /* behind the number, before the filling: "" or "j" */
} number_style;

/* ---- Integers ---- */

/* The digits of 128 bits, last one first. Returns how many. */
static int32_t number_digits(uint64_t high, uint64_t low, char digits[40])
{
    uint32_t words[4] = {(uint32_t)(high >> 32), (uint32_t)high, (uint32_t)(low >> 32), (uint32_t)low};
    int32_t count = 0;

    do {
        uint64_t rest = 0;
        for (int i = 0; i < 4; i++) {
            rest = rest << 32 | words[i];
            words[i] = (uint32_t)(rest / 10);
            rest %= 10;
        }
        digits[count++] = (char)('0' + rest);
    } while ((words[0] | words[1] | words[2] | words[3]) != 0);
    return count;
}

static bool number_is_negative(const dlpark_scalar *scalar)
{
    return scalar->kind == DLPARK_SCALAR_INT && scalar->high >> 63 != 0;
}

/* The digits of the magnitude, last one first. */
static int32_t number_magnitude(const dlpark_scalar *scalar, char digits[40])
{
    if (number_is_negative(scalar))
        return number_digits(~scalar->high + (scalar->low == 0), -scalar->low, digits);
    return number_digits(scalar->high, scalar->low, digits);
}

static int32_t number_integer_width(const dlpark_scalar *scalar)
{
    char digits[40];

    return number_magnitude(scalar, digits) + number_is_negative(scalar);
}

static void number_write_integer(const dlpark_scalar *scalar, int32_t width, dlpark__sink *sink)
{
    char digits[40];
    int32_t count = number_magnitude(scalar, digits);

    dlpark__sink_spaces(sink, width - count - number_is_negative(scalar));
    if (number_is_negative(scalar))
        dlpark__sink_put(sink, '-');
    while (count > 0)
        dlpark__sink_put(sink, digits[--count]);
}

/* ---- Opaque ---- */

static void number_write_opaque(const dlpark_scalar *scalar, dlpark__sink *sink)
{
    static const char hex[] = "0123456789abcdef";

    for (unsigned i = 0; i < scalar->nbytes; i++) {
        dlpark__sink_put(sink, hex[scalar->raw[i] >> 4]);
        dlpark__sink_put(sink, hex[scalar->raw[i] & 15]);
    }
}

/* ---- Floats ---- */

/* Digits without zeros at their end; 0 is one digit. */
static void number_trim(dlpark__decimal *decimal)
{
    while (decimal->count > 0 && decimal->digits[decimal->count - 1] == '0')
        decimal->count--;
    if (decimal->count == 0)
        *decimal = (dlpark__decimal){.count = 1, .digits = {'0'}};
}

static char number_digit_at(const dlpark__decimal *decimal, int32_t place)
{
    int32_t at = decimal->exponent - place;

    return at >= 0 && at < decimal->count ? decimal->digits[at] : '0';
}

static int32_t number_fraction(const dlpark__decimal *decimal)
{
    int32_t count = decimal->count - 1 - decimal->exponent;

    return count > 0 ? count : 0;
}

static int32_t number_exponent_digits(const dlpark__decimal *decimal)
{
    int32_t rest = decimal->exponent < 0 ? -decimal->exponent : decimal->exponent;
    int32_t count = 2;

    for (rest /= 100; rest > 0; rest /= 10)
        count++;
    return count;
}

static bool number_has_sign(const dlpark__binary *value, bool is_signed)
{
    return is_signed || (value->is_negative && !value->is_nan);
}

static void number_write_sign(const dlpark__binary *value, bool is_signed, dlpark__sink *sink)
{
    if (number_has_sign(value, is_signed))
        dlpark__sink_put(sink, value->is_negative && !value->is_nan ? '-' : '+');
}

static void number_write_special(const dlpark__binary *value, const number_style *style, dlpark__sink *sink)
{
    number_write_sign(value, style->is_signed, sink);
    dlpark__sink_text(sink, value->is_nan ? "nan" : "inf");
    dlpark__sink_text(sink, style->unit);
}

static void number_write_positional(const dlpark__decimal *decimal, const number_style *style, dlpark__sink *sink)
{
    int32_t fraction = number_fraction(decimal);

    for (int32_t place = decimal->exponent > 0 ? decimal->exponent : 0; place >= 0; place--)
        dlpark__sink_put(sink, number_digit_at(decimal, place));
    if (fraction == 0)
        dlpark__sink_text(sink, style->no_fraction);
    else
        dlpark__sink_put(sink, '.');
    for (int32_t place = -1; place >= -fraction; place--)
        dlpark__sink_put(sink, number_digit_at(decimal, place));
    dlpark__sink_text(sink, style->unit);
    dlpark__sink_spaces(sink, style->fraction - fraction);
}

static void number_write_exponential(const dlpark__decimal *decimal, const number_style *style, dlpark__sink *sink)
{
    int32_t fraction = style->fraction > decimal->count - 1 ? style->fraction : decimal->count - 1;
    int32_t magnitude = decimal->exponent < 0 ? -decimal->exponent : decimal->exponent;
    int32_t digits = number_exponent_digits(decimal);

    dlpark__sink_put(sink, decimal->digits[0]);
    if (fraction == 0)
        dlpark__sink_text(sink, style->no_fraction);
    else
        dlpark__sink_put(sink, '.');
    for (int32_t i = 1; i <= fraction; i++)
        dlpark__sink_put(sink, number_digit_at(decimal, decimal->exponent - i));
    dlpark__sink_put(sink, 'e');
    dlpark__sink_put(sink, decimal->exponent < 0 ? '-' : '+');
    for (; digits < style->exponent_digits; digits++)
        dlpark__sink_put(sink, '0');
    if (magnitude < 10)
        dlpark__sink_put(sink, '0');
    dlpark__sink_integer(sink, magnitude);
    dlpark__sink_text(sink, style->unit);
}

static void number_write_finite(const dlpark__binary *value, dlpark__cut cut, const number_style *style,
                                dlpark__sink *sink)
{
    dlpark__decimal decimal;

    dlpark__decimal_find(value, cut, &decimal);
    number_trim(&decimal);
    int32_t whole = decimal.exponent > 0 && !style->is_exponential ? decimal.exponent + 1 : 1;
    dlpark__sink_spaces(sink, style->left - whole - number_has_sign(value, style->is_signed));
    number_write_sign(value, style->is_signed, sink);
    if (style->is_exponential)
        number_write_exponential(&decimal, style, sink);
    else
        number_write_positional(&decimal, style, sink);
}

/* ---- A column of floats ---- */

/* What numbers of a precision are too large or too small to be written without an exponent. */
static uint64_t number_too_large(int precision, bool is_alone)
{
    if (precision >= 53)
        return dlpark__double_magnitude(is_alone ? 1e16 : 1e8);
    return dlpark__double_magnitude(precision == 24 ? 1e6 : 1e3);
}

static uint64_t number_not_too_small(int precision)
{
    /* 0.0001 as a single has it, which is a little less; other types have none so close below. */
    return dlpark__double_magnitude(precision == 24 ? 0x1.A36E2Ep-14 : 1e-4);
}

static void number_look(dlpark__float_column *column, const dlpark__binary *value, double approximate)
{
    uint64_t magnitude = dlpark__double_magnitude(approximate);

    if (!value->is_finite) {
        column->has_special = true;
        if (value->is_negative && !value->is_nan)
            column->has_negative_infinity = true;
        return;
    }
    column->has_finite = true;
    if (value->high == 0 && value->low == 0)
        return;
    if (magnitude > column->largest)
        column->largest = magnitude;
    if (magnitude < column->smallest)
        column->smallest = magnitude;
}

static void number_decide(dlpark__float_column *column, int precision)
{
    if (column->smallest == UINT64_MAX)
        return;
    column->is_exponential = column->largest >= number_too_large(precision, false) ||
                             column->smallest < number_not_too_small(precision) ||
                             dlpark__double_exceeds_1000(column->largest, column->smallest, precision);
}

static void number_raise(int32_t *value, int32_t other)
{
    if (other > *value)
        *value = other;
}

static void number_measure(dlpark__float_column *column, const dlpark__binary *value, int32_t precision)
{
    dlpark__decimal decimal;
    dlpark__cut cut = {!column->is_exponential, precision + column->is_exponential, -1};

    if (!value->is_finite)
        return;
    dlpark__decimal_find(value, cut, &decimal);
    number_trim(&decimal);
    int32_t whole = decimal.exponent > 0 && !column->is_exponential ? decimal.exponent + 1 : 1;
    number_raise(&column->left, whole + number_has_sign(value, column->is_signed));
    number_raise(&column->fraction, column->is_exponential ? decimal.count - 1 : number_fraction(&decimal));
    number_raise(&column->exponent_digits, number_exponent_digits(&decimal));
}

static int32_t number_right(const dlpark__float_column *column)
{
    return column->fraction + (column->is_exponential ? column->exponent_digits + 2 : 0);
}

/* Numbers that are none may need more room than the others. Returns the width. */
static int32_t number_end(dlpark__float_column *column)
{
    int32_t right = number_right(column);

    if (column->has_special)
        number_raise(&column->left, 3 + (column->is_signed || column->has_negative_infinity) - 1 - right);
    return column->left + 1 + right;
}

static void number_write_float(const dlpark__float_column *column, const dlpark__binary *value, int32_t precision,
                               const char *unit, dlpark__sink *sink)
{
    number_style style = {
        column->is_signed, column->is_exponential, column->left, column->fraction, column->exponent_digits, ".", unit};
    dlpark__cut cut = {true, precision, 0};

    if (column->is_exponential)
        cut = (dlpark__cut){false, column->fraction + 1, column->fraction + 1};
    if (value->is_finite) {
        number_write_finite(value, cut, &style, sink);
        return;
    }
    int32_t width = column->left + 1 + number_right(column);
    dlpark__sink_spaces(sink, width - 3 - number_has_sign(value, column->is_signed));
    number_write_special(value, &style, sink);
}

/* A float that stands alone. */
static void number_write_lone(const dlpark__binary *value, double approximate, int precision, number_style style,
                              dlpark__sink *sink)
{
    uint64_t magnitude = dlpark__double_magnitude(approximate);
    bool is_zero = value->high == 0 && value->low == 0;

    if (!value->is_finite) {
        number_write_special(value, &style, sink);
        return;
    }
    style.is_exponential =
        !is_zero && (magnitude >= number_too_large(precision, true) || magnitude < dlpark__double_magnitude(1e-4));
    if (style.is_exponential)
        style.no_fraction = "";
    number_write_finite(value, (dlpark__cut){true, -1, style.is_exponential ? -1 : 0}, &style, sink);
}

/* ---- Columns of anything ---- */

static bool column_is_float(DLDataType dtype)
{
    return dtype.code > kDLOpaqueHandle ? dtype.code != kDLBool : dtype.code == kDLFloat;
}

void dlpark__column_begin(dlpark__column *column, DLDataType dtype, int32_t precision)
{
    *column = (dlpark__column){.precision = precision};
    if (column_is_float(dtype))
        column->grid = dlpark__element_grid(dtype);
    column->parts[0].smallest = UINT64_MAX;
    column->parts[1].smallest = UINT64_MAX;
    column->parts[1].is_signed = true;
}

void dlpark__column_look(dlpark__column *column, const dlpark_scalar *scalar)
{
    dlpark__binary value;

    switch (scalar->kind) {
    case DLPARK_SCALAR_BOOL:
        column->width = 5;
        return;
    case DLPARK_SCALAR_INT:
    case DLPARK_SCALAR_UINT:
        number_raise(&column->width, number_integer_width(scalar));
        return;
    case DLPARK_SCALAR_OPAQUE:
        column->width = (int32_t)scalar->nbytes * 2;
        return;
    default:
        dlpark__binary_read(scalar, false, column->grid, &value);
        number_look(&column->parts[0], &value, scalar->re);
        if (scalar->kind == DLPARK_SCALAR_COMPLEX) {
            dlpark__binary_read(scalar, true, column->grid, &value);
            number_look(&column->parts[1], &value, scalar->im);
        }
    }
}

bool dlpark__column_decide(dlpark__column *column, DLDataType dtype)
{
    number_decide(&column->parts[0], column->grid.precision);
    number_decide(&column->parts[1], column->grid.precision);
    return column_is_float(dtype);
}

void dlpark__column_measure(dlpark__column *column, const dlpark_scalar *scalar)
{
    dlpark__binary value;

    dlpark__binary_read(scalar, false, column->grid, &value);
    number_measure(&column->parts[0], &value, column->precision);
    if (scalar->kind == DLPARK_SCALAR_COMPLEX) {
        dlpark__binary_read(scalar, true, column->grid, &value);
        number_measure(&column->parts[1], &value, column->precision);
    }
}

void dlpark__column_end(dlpark__column *column, DLDataType dtype)
{
    if (!column_is_float(dtype))
        return;
    column->width = number_end(&column->parts[0]);
    if (dtype.code == kDLComplex)
        column->width += number_end(&column->parts[1]) + 1;
}

void dlpark__column_write(const dlpark__column *column, const dlpark_scalar *scalar, dlpark__sink *sink)
{
    dlpark__binary value;

    switch (scalar->kind) {
    case DLPARK_SCALAR_BOOL:
        dlpark__sink_text(sink, scalar->low != 0 ? " True" : "False");
        return;
    case DLPARK_SCALAR_INT:
    case DLPARK_SCALAR_UINT:
        number_write_integer(scalar, column->width, sink);
        return;
    case DLPARK_SCALAR_OPAQUE:
        number_write_opaque(scalar, sink);
        return;
    default:
        dlpark__binary_read(scalar, false, column->grid, &value);
        number_write_float(&column->parts[0], &value, column->precision, "", sink);
        if (scalar->kind == DLPARK_SCALAR_COMPLEX) {
            dlpark__binary_read(scalar, true, column->grid, &value);
            number_write_float(&column->parts[1], &value, column->precision, "j", sink);
        }
    }
}

/* ---- A lane that stands alone ---- */

/* As Python writes a complex number: without a real part that is +0, otherwise in parentheses. */
static void scalar_write_complex(const dlpark_scalar *scalar, dlpark__grid grid, dlpark__sink *sink)
{
    dlpark__binary re, im;
    number_style style = {.no_fraction = "", .unit = ""};

    dlpark__binary_read(scalar, false, grid, &re);
    dlpark__binary_read(scalar, true, grid, &im);
    bool is_imaginary = re.is_finite && re.low == 0 && !re.is_negative;
    if (!is_imaginary) {
        dlpark__sink_put(sink, '(');
        number_write_lone(&re, scalar->re, grid.precision, style, sink);
    }
    style.is_signed = !is_imaginary;
    style.unit = "j";
    number_write_lone(&im, scalar->im, grid.precision, style, sink);
    if (!is_imaginary)
        dlpark__sink_put(sink, ')');
}

void dlpark__scalar_write(const dlpark_scalar *scalar, DLDataType dtype, dlpark__sink *sink)
{
    dlpark__binary value;
    number_style style = {.no_fraction = ".0", .unit = ""};

    switch (scalar->kind) {
    case DLPARK_SCALAR_BOOL:
        dlpark__sink_text(sink, scalar->low != 0 ? "True" : "False");
        return;
    case DLPARK_SCALAR_INT:
    case DLPARK_SCALAR_UINT:
        number_write_integer(scalar, 0, sink);
        return;
    case DLPARK_SCALAR_OPAQUE:
        number_write_opaque(scalar, sink);
        return;
    case DLPARK_SCALAR_COMPLEX:
        scalar_write_complex(scalar, dlpark__element_grid(dtype), sink);
        return;
    default:
        dlpark__binary_read(scalar, false, dlpark__element_grid(dtype), &value);
        number_write_lone(&value, scalar->re, dlpark__element_grid(dtype).precision, style, sink);
    }
}
