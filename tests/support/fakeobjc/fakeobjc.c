/*
 * What of the Objective-C runtime is called, over objects of the test's own: they begin with a count, a storage mode, a length and an
 * address. BROKEN lacks all of it.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define OBJC_API __attribute__((visibility("default")))

typedef struct object {
    atomic_int references;
    uint64_t mode, length;
    unsigned char *bytes;
} object;

#if defined(BROKEN)
OBJC_API int objc_is_broken(void);

OBJC_API int objc_is_broken(void)
{
    return 1;
}
#else
OBJC_API void *objc_retain(void *self);
OBJC_API void objc_release(void *self);
OBJC_API void *objc_msgSend(void *self, void *selector);
OBJC_API void *sel_registerName(const char *name);

void *objc_retain(void *self)
{
    atomic_fetch_add(&((object *)self)->references, 1);
    return self;
}

void objc_release(void *self)
{
    atomic_fetch_sub(&((object *)self)->references, 1);
}

/* A selector is its name. */
void *sel_registerName(const char *name)
{
    static char names[3][16];

    for (int i = 0; i < 3; i++) {
        if (names[i][0] == '\0')
            memcpy(names[i], name, strlen(name) + 1);
        if (strcmp(names[i], name) == 0)
            return names[i];
    }
    return NULL;
}

void *objc_msgSend(void *self, void *selector)
{
    const object *it = self;

    if (strcmp(selector, "contents") == 0)
        return it->bytes;
    return (void *)(uintptr_t)(strcmp(selector, "length") == 0 ? it->length : it->mode);
}
#endif
