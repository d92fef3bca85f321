#include <dlpark/version.h>

#define VERSION_STRING(number)            #number
#define VERSION_JOIN(major, minor, patch) VERSION_STRING(major) "." VERSION_STRING(minor) "." VERSION_STRING(patch)

const char *dlpark_version(void)
{
    return VERSION_JOIN(DLPARK_VERSION_MAJOR, DLPARK_VERSION_MINOR, DLPARK_VERSION_PATCH);
}

DLPackVersion dlpark_abi_version(void)
{
    return (DLPackVersion){DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR};
}

bool dlpark_abi_is_compatible(DLPackVersion version)
{
    return version.major == DLPARK_ABI_MAJOR;
}

bool dlpark_abi_supports(DLPackVersion version, uint32_t minor)
{
    return dlpark_abi_is_compatible(version) && version.minor >= minor;
}

dlpark_status dlpark_abi_check(DLPackVersion version, dlpark_error *err)
{
    if (dlpark_abi_is_compatible(version))
        return DLPARK_OK;
    return dlpark_error_set(
        err, DLPARK_E_VERSION, "the struct follows DLPack %u.%u, and this library reads %d.x (it knows %d.%d)",
        (unsigned)version.major, (unsigned)version.minor, DLPARK_ABI_MAJOR, DLPARK_ABI_MAJOR, DLPARK_ABI_MINOR);
}
