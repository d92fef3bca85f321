/* The one EXIF tag that decides how a picture is to be shown. Everything else in the structure is passed over. */
#include <string.h>

#include "codec.h"

#define EXIF_TAG_ORIENTATION 0x0112u
#define EXIF_TYPE_SHORT      3u
#define EXIF_TYPE_LONG       4u
#define EXIF_ENTRY_NBYTES    ((size_t)12)

typedef struct exif_reader {
    const unsigned char *bytes;
    size_t nbytes;
    bool big_endian;
} exif_reader;

/* The caller has checked that `at` and `width` lie inside the bytes. */
static uint32_t exif_number(const exif_reader *reader, size_t at, size_t width)
{
    uint32_t value = 0;
    for (size_t i = 0; i < width; i++) {
        size_t byte = reader->big_endian ? at + i : at + width - 1 - i;
        value = value << 8 | reader->bytes[byte];
    }
    return value;
}

static bool exif_begin(exif_reader *reader, const unsigned char *bytes, size_t nbytes)
{
    if (nbytes >= 6 && memcmp(bytes, "Exif\0\0", 6) == 0) {
        bytes += 6;
        nbytes -= 6;
    }
    if (nbytes < 8 || (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0))
        return false;
    reader->bytes = bytes;
    reader->nbytes = nbytes;
    reader->big_endian = bytes[0] == 'M';
    return true;
}

/* The tag is a SHORT by the standard; some writers store a LONG. */
static uint32_t exif_entry_value(const exif_reader *reader, size_t entry)
{
    uint32_t type = exif_number(reader, entry + 2, 2);
    if (exif_number(reader, entry + 4, 4) != 1)
        return 0;
    if (type == EXIF_TYPE_SHORT)
        return exif_number(reader, entry + 8, 2);
    return type == EXIF_TYPE_LONG ? exif_number(reader, entry + 8, 4) : 0;
}

int32_t dlpark__exif_orientation(const unsigned char *bytes, size_t nbytes)
{
    exif_reader reader;
    if (!bytes || !exif_begin(&reader, bytes, nbytes))
        return 1;
    size_t directory = exif_number(&reader, 4, 4);
    if (directory < 8 || directory > reader.nbytes - 2)
        return 1;
    size_t count = exif_number(&reader, directory, 2);
    size_t room = (reader.nbytes - directory - 2) / EXIF_ENTRY_NBYTES;
    for (size_t i = 0; i < count && i < room; i++) {
        size_t entry = directory + 2 + i * EXIF_ENTRY_NBYTES;
        if (exif_number(&reader, entry, 2) != EXIF_TAG_ORIENTATION)
            continue;
        uint32_t value = exif_entry_value(&reader, entry);
        return value >= 1 && value <= 8 ? (int32_t)value : 1;
    }
    return 1;
}
