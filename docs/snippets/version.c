/* What may be done with a tensor of another ABI version. */
#include <dlpark/dlpark.h>
#include <stdio.h>

int main(void)
{
    dlpark_error err;

    printf("%s speaks DLPack %u.%u\n", dlpark_version()[0] ? "dlpark" : "", dlpark_abi_version().major,
           dlpark_abi_version().minor);
    if (dlpark_abi_check((DLPackVersion){2, 0}, &err))
        printf("%s\n", err.message);
}
