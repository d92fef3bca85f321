/**
 * Views of any strides as what MPI sends and receives, without packing.
 *
 *     dlpark_mpi_buffer buffer = DLPARK_MPI_BUFFER_EMPTY;
 *     DLPARK_TRY(dlpark_mpi_borrow(&buffer, &view, 0, err));          // borrow_mut to receive into the view
 *     MPI_Send(DLPARK_MPI_ARGS(buffer), 1, 0, MPI_COMM_WORLD);        // buffer.data, buffer.count, buffer.type
 *     dlpark_mpi_release(&buffer);
 *
 * Elements that lie side by side are a count of one of MPI's own types, which costs no call of MPI and may be reduced. For
 * all others an MPI datatype is made and committed: gaps, transposed, backwards, and more elements than an int counts. MPI
 * takes them where they lie, in the view's order, so sender and receiver may have different strides.
 *
 * Integers, f32, f64, c64, c128 and bool are MPI's types of the same name. For f16, bf16 and the narrower floats MPI has
 * none: an element is a type of a few bytes, made for the buffer, which is sent and received as any other. MPI_SUM and its
 * like refuse it, as they refuse all made types; an operation of your own, by MPI_Op_create(), is given such elements.
 * Link with dlpark::mpi, which gives you MPI as well. Pointers must not be NULL unless a parameter says optional, or a
 * status is listed for it.
 */
#ifndef DLPARK_MPI_H
#define DLPARK_MPI_H

#include <stdint.h>

/* The C++ bindings of Open MPI want a library more, and MPI has dropped them: who uses them includes mpi.h before. */
#if defined(__cplusplus) && !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include "api.h"
#include "status.h"
#include "view.h"

/** Options; none is 0. */
#define DLPARK_MPI_BYTES  UINT32_C(1) /**< every dtype as MPI_BYTE: any alignment; so on both sides */
#define DLPARK_MPI_DEVICE UINT32_C(2) /**< memory of devices too: this MPI has been built to reach it */

DLPARK_BEGIN_C

/** What MPI's functions are told of a view. The fields are to be read, not written. */
typedef struct dlpark_mpi_buffer {
    void *data;        /**< element 0; what lies before it is part of the type */
    int count;         /**< of `type` */
    MPI_Datatype type; /**< of one element, or of what is repeated */
    uint32_t is_made;  /**< 1: `type` is ours, and dlpark_mpi_release() frees it */
} dlpark_mpi_buffer;

/* clang-format off */
/** Holds nothing: what a variable begins as. */
#define DLPARK_MPI_BUFFER_EMPTY {DLPARK_NULL, 0, MPI_DATATYPE_NULL, 0}
/* clang-format on */

/** The first three arguments of MPI_Send() and its like. */
#define DLPARK_MPI_ARGS(buffer) (buffer).data, (buffer).count, (buffer).type

/**
 * A view as a buffer that MPI reads: MPI_Send(), MPI_Isend(), the sending side of collectives.
 *
 * @param buffer   out. Must be empty; stays so on failure. End it with dlpark_mpi_release().
 * @param view     in, borrowed. Its memory must stay until MPI is done with it, which for MPI_Isend() and its like is when
 *                 the request is; the view itself is not needed afterwards. Elements may be in the same place.
 * @param options  in. DLPARK_MPI_*.
 * @param err      out, optional.
 * @return DLPARK_OK; DLPARK_E_NOT_EMPTY; DLPARK_E_FLAGS (an option that there is none of); DLPARK_E_DTYPE (packed sub-byte
 *         elements; padded ones pass); DLPARK_E_DEVICE (not accessible to the host, unless asked for; a handle in any case);
 *         DLPARK_E_ALIGNMENT (less than the C type's, unless as bytes); DLPARK_E_OVERFLOW (a stride of more than the address
 *         space has); DLPARK_E_ARGUMENT (a type has to be made, and MPI is not initialised, or finalised); DLPARK_E_FOREIGN
 *         (MPI could not make it, and has an error handler that returns).
 * Threads: as MPI_Type_commit(), where a type has to be made; else any.
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_mpi_borrow(dlpark_mpi_buffer *buffer, const dlpark_view *view,
                                                            uint32_t options, dlpark_error *err);

/**
 * A view as a buffer that MPI writes: MPI_Recv(), MPI_Irecv(), the receiving side of collectives, both sides of
 * MPI_IN_PLACE.
 *
 * @return as dlpark_mpi_borrow(); DLPARK_E_READ_ONLY (also where nobody said that it may be written); DLPARK_E_STRIDES
 *         (two elements are in the same place, which MPI forbids to receive into, or that cannot be told apart within ten
 *         thousand steps).
 */
DLPARK_API DLPARK_NODISCARD dlpark_status dlpark_mpi_borrow_mut(dlpark_mpi_buffer *buffer, const dlpark_view *view,
                                                                uint32_t options, dlpark_error *err);

/**
 * Frees the type, where one was made, and empties the buffer; an empty one: nothing. May be called while MPI still sends or
 * receives: MPI keeps the type as long as it needs it, but not the memory. After MPI_Finalize() nothing is freed, as MPI has
 * ended. Cannot fail. Threads: as dlpark_mpi_borrow().
 */
DLPARK_API void dlpark_mpi_release(dlpark_mpi_buffer *buffer);

DLPARK_END_C

#endif
