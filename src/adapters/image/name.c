/* What messages call a file. */
#include <string.h>

#include "adapter.h"

/* Bytes at the end of a path that tell one file from another; a whole one could take all the room of a message. */
#define IMAGE_NAME_SHOWN ((size_t)160)

/* Bytes of one UTF-8 character after its first; more in a row are no UTF-8, and not worth skipping. */
#define IMAGE_NAME_TAIL 3

static bool image_name_is_tail(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

image_name dlpark__image_name(const char *path)
{
    image_name name = {"<memory>"};
    if (!path)
        return name;
    size_t length = strlen(path);
    if (length <= IMAGE_NAME_SHOWN) {
        memcpy(name.text, path, length + 1);
        return name;
    }
    const char *shown = path + length - IMAGE_NAME_SHOWN;
    for (int i = 0; i < IMAGE_NAME_TAIL && image_name_is_tail(*shown); i++)
        shown++;
    memcpy(name.text, "...", 3);
    memcpy(name.text + 3, shown, strlen(shown) + 1);
    return name;
}
