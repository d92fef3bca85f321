#include <dlpark/transfer.h>

dlpark_status there_and_back(const dlpark_cuda *cuda, const dlpark_view *there, const dlpark_view *here,
                             const dlpark_view *back, dlpark_stream stream, dlpark_error *err);

dlpark_status there_and_back(const dlpark_cuda *cuda, const dlpark_view *there, const dlpark_view *here,
                             const dlpark_view *back, dlpark_stream stream, dlpark_error *err)
{
    DLPARK_TRY(dlpark_cuda_copy(cuda, there, here, stream, err)); /* to the device */
    DLPARK_TRY(dlpark_cuda_copy(cuda, back, there, stream, err)); /* and back */
    return DLPARK_OK;
}
