/*
 * What the sources of the calls share. Grouped by the file that defines it.
 */
#ifndef DLPARK_PYTHON_CALL_PARTS_H
#define DLPARK_PYTHON_CALL_PARTS_H

#include "../kit.h"

#include <stddef.h>
#include <string.h>

/* What came of reading an argument, or all of them. */
typedef enum dlpark__call_outcome {
    DLPARK__CALL_FITS = 0,
    DLPARK__CALL_RAISED, /* an exception is set */
    DLPARK__CALL_REFUSED /* none is set: it does not fit the signature, for the reason in `why` */
} dlpark__call_outcome;

/* What an earlier attempt of an overloaded call took from capsules, which cannot be asked twice. */
typedef struct dlpark__call_carry {
    int32_t count;
    PyObject *capsules[DLPARK_SIGNATURE_MAX_TENSORS]; /* borrowed */
    DLManagedTensorVersioned *managed[DLPARK_SIGNATURE_MAX_TENSORS];
} dlpark__call_carry;

/* The reading of the arguments of one call. */
typedef struct dlpark__call_reader {
    dlpark_call *call;
    dlpark__py_state *state;
    dlpark__call_carry *carry; /* NULL where there is one signature */
    dlpark_error *why;
    dlpark_view *view; /* of the tensor that is being read */
    bool foreign;      /* code of objects' own has run, which may have changed what had been lent before */
} dlpark__call_reader;

/* What is known of a type. To find out may run foreign code, beside what has been lent so far. */
static inline const dlpark__py_type *dlpark__call_type_of(dlpark__call_reader *reader, PyTypeObject *type)
{
    unsigned nlooks = __atomic_load_n(&reader->state->nlooks, __ATOMIC_RELAXED);
    const dlpark__py_type *entry = dlpark__py_type_of(reader->state, type);

    reader->foreign |= reader->call->lent != 0 && nlooks != __atomic_load_n(&reader->state->nlooks, __ATOMIC_RELAXED);
    return entry;
}

/* ---- call.c ---- */

/* Reads all arguments and makes the results; on failure everything is released. */
dlpark__call_outcome dlpark__call_read(dlpark_call *call, dlpark__py_state *state, const dlpark_signature *signature,
                                       PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                                       dlpark__call_carry *carry, dlpark_error *why);

/* Checks, matches and keeps a tensor in one pass: compact, on the CPU, of an everyday dtype, for a spec that is plain
 * (dlpark_signature_argument). False, with nothing kept, for what needs a closer look: it may fit all the same. */
bool dlpark__call_keep_raw(dlpark_call *call, const dlpark_signature_argument *argument, const DLTensor *tensor,
                           uint32_t flags, PyObject *object);

/* ---- call_tensor.c ---- */

/* Reads a tensor of any kind; keeps it in the call. */
dlpark__call_outcome dlpark__call_read_tensor(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                              PyObject *object);

/* Room for the extents and strides of a tensor of a call. NULL with an exception. */
int64_t *dlpark__call_room(dlpark_call *call, int32_t ndim);

/* Keeps a view as a tensor of the call; `managed` and `object` are the caller's to set. */
void dlpark__call_keep(dlpark_call_tensor *out, const dlpark_view *view, int64_t *dims);

/* What is kept, as a view. */
void dlpark__call_view(const dlpark_call_tensor *tensor, dlpark_view *view);

/* ---- call_host.c ---- */

/* Reads an object of a type on the HOST route. False, with nothing kept, where it has to be asked as any other; an exception
 * is set then only if it ends the call. */
bool dlpark__call_keep_host(const dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                            PyObject *object);

/* ---- call_bind.c ---- */

/* Sorts the arguments of a call by the signature: values[i] is argument i, NULL where it was not given. */
dlpark__call_outcome dlpark__call_bind(const dlpark_signature *signature, PyObject *const *args, Py_ssize_t nargs,
                                       PyObject *kwnames, PyObject **values, dlpark_error *why);

/* ---- call_scalar.c ---- */

/* Reads a scalar; *foreign is set where code of the object's type ran. */
dlpark__call_outcome dlpark__call_read_scalar(dlpark_call *call, int32_t index, PyObject *object, bool *foreign,
                                              dlpark_error *why);

/* ---- call_fit.c ---- */

/* The bits of an address that must be 0 for C to read elements of a dtype there. */
static inline uintptr_t dlpark__call_address_mask(DLDataType dtype)
{
    uint32_t nbytes = (uint32_t)dtype.bits >> (dtype.code == kDLComplex ? 4 : 3);
    uint32_t lowest = nbytes & (~nbytes + 1);

    return lowest >= 8 ? 7 : lowest >= 1 ? lowest - 1 : 0;
}

/* After an object gave no tensor: an exception is set. */
dlpark__call_outcome dlpark__call_refuse_object(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                                PyObject *object);

/* After a tensor was found not to fit: converts it where the spec says `convert`, and matches again. On success view and
 * *managed are those of the copy. On failure *managed has been ended. */
dlpark__call_outcome dlpark__call_refit(dlpark__call_reader *reader, const dlpark_signature_argument *argument,
                                        PyObject *object, DLManagedTensorVersioned **managed);

/* ---- call_own.c ---- */

/* Makes the call an owner of whatever it was only lent, before other threads may change the objects. -1 with an exception:
 * also where a table gives no owners. */
int dlpark__call_own(dlpark_call *call);

/* The same after foreign code ran that may have changed them: RuntimeError where it did. What has no owner is looked at
 * once more. */
int dlpark__call_own_after(dlpark_call *call);

/* The same for a call that has been read; on failure all that it holds is released. */
int dlpark__call_settle(dlpark_call *call);

/* dlpark_py_options.order of a call: all work is on the stream of its first device tensor. */
int dlpark__call_order(void *call, DLDevice device, void *producer, void *consumer);

/* Ends the tensor that came from `object`; that of a capsule goes to `carry`, where there is one. Accepts NULL. */
void dlpark__call_end_managed(DLManagedTensorVersioned *managed, PyObject *object, dlpark__call_carry *carry);

/* Ends in this way all that the call holds of its arguments. */
void dlpark__call_release_arguments(dlpark_call *call, dlpark__call_carry *carry);

/* Takes the tensor that an earlier attempt got from this capsule; NULL where there is none. */
DLManagedTensorVersioned *dlpark__call_carried(dlpark__call_carry *carry, PyObject *object);

/* ---- call_plain.c ---- */

/* The first tensor argument; NULL where none was given. */
const dlpark_call_tensor *dlpark__call_first(const dlpark_call *call);

/* Makes result `index` of signature->plain_results. False, with nothing changed and no exception, for what is not as
 * usual, and for any failure. */
bool dlpark__call_make_plain(dlpark_call *call, int32_t index);

/* ---- call_result.c ---- */

/* Makes all results whose shape is known. On failure none is left. */
int dlpark__call_make_results(dlpark_call *call);

void dlpark__call_release_results(dlpark_call *call);

/* Gives the results to Python: one, a tuple, or NULL with everything released where an exception is set. */
PyObject *dlpark__call_give_results(dlpark_call *call);

/* ---- call_error.c ---- */

/* Adds a note to the pending exception, as well as it can be done. The second says which argument it is about. */
void dlpark__call_note(const char *format, ...);
void dlpark__call_note_argument(const dlpark_call *call, const char *name);

#endif
