/* A tensor without any allocation: the header lies in memory of the caller's, which its release gives back. */
#include <dlpark/dlpark.h>
#include <stdalign.h>
#include <stdio.h>

typedef struct frame {
    alignas(16) unsigned char header[DLPARK_TENSOR_STORAGE_NBYTES(1)];
    float samples[256];
    int busy;
} frame;

static void frame_release(void *owner)
{
    ((frame *)owner)->busy = 0;                           /* the last touch: the frame may be used again */
}

int main(void)
{
    static frame pool[1];
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    pool[0].busy = 1;
    if (dlpark_tensor_new(&tensor, &(dlpark_tensor_desc){
            .data = pool[0].samples, .dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int[]){256}),
            .owner = &pool[0], .release = frame_release,
            .storage = pool[0].header, .storage_nbytes = sizeof pool[0].header}, NULL, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    dlpark_tensor_release(&tensor);
    printf("busy %d\n", pool[0].busy);
}
