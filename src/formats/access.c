/* A page that is missing costs a round trip where the file is elsewhere: there many are read at once. */
#if defined(__linux__)
#include <sys/vfs.h>
#else
#include <sys/mount.h>
#include <sys/param.h>
#endif

#include "../core/internal.h"
#include "access.h"

#if defined(__linux__)

/* From linux/magic.h and the file systems' own sources, as statfs(2) lists them. */
static const uint32_t access_remote[] = {
    0x00006969, /* NFS */
    0x0000517B, /* SMB */
    0xFF534D42, /* CIFS */
    0xFE534D42, /* SMB2 */
    0x65735546, /* FUSE */
    0x01021997, /* 9P */
    0x00C36400, /* Ceph */
    0x0BD00BD0, /* Lustre */
    0x47504653, /* GPFS */
    0x19830326, /* BeeGFS */
    0x6B414653, /* kAFS */
    0x5346414F, /* OpenAFS */
    0x73757245, /* Coda */
};

static bool access_is_remote(int descriptor)
{
    struct statfs status;

    if (fstatfs(descriptor, &status) != 0)
        return false;
    for (size_t i = 0; i < sizeof access_remote / sizeof access_remote[0]; i++)
        if ((uint32_t)status.f_type == access_remote[i])
            return true;
    return false;
}

#elif defined(MNT_LOCAL)

static bool access_is_remote(int descriptor)
{
    struct statfs status;

    return fstatfs(descriptor, &status) == 0 && (status.f_flags & MNT_LOCAL) == 0;
}

#else

static bool access_is_remote(int descriptor)
{
    (void)descriptor;
    return false;
}

#endif

dlpark_file_access dlpark__access_choose(const dlpark__source *source, dlpark_file_access asked)
{
    if (asked != DLPARK_FILE_ACCESS_AUTO)
        return asked;
    return source->descriptor >= 0 && access_is_remote(source->descriptor) ? DLPARK_FILE_ACCESS_PREFETCH
                                                                           : DLPARK_FILE_ACCESS_MAP;
}
