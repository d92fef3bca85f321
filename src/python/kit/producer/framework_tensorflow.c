/*
 * Results as tensors of TensorFlow. It takes a capsule of the legacy ABI, in host memory or a GPU's that it knows.
 *
 * When it refuses one late, it has called the deleter and left the capsule as it was, so that a capsule by the book would
 * be ended twice. It is given one that is lent: whether the deleter has been called is known when the call is over.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "frameworks.h"

typedef enum loan_stage {
    LOAN_LENT,  /* the call goes on, and the loan's memory stays */
    LOAN_TAKEN, /* the call is over: the deleter frees the loan */
    LOAN_ENDED  /* the deleter has been called */
} loan_stage;

typedef struct loan {
    DLManagedTensor managed;
    dlpark_tensor tensor;
    atomic_int stage;
} loan;

/* Freed without the GIL. The stable ABI has Python's own allocator for that only from 3.13 on. */
#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030D0000
#define LOAN_ALLOC malloc
#define LOAN_FREE  free
#else
#define LOAN_ALLOC PyMem_RawMalloc
#define LOAN_FREE  PyMem_RawFree
#endif

static const char loan_name[] = "dltensor";
static const char loan_name_used[] = "used_dltensor";

/* On any thread, with or without the GIL. */
static void loan_end(DLManagedTensor *managed)
{
    loan *lent = managed->manager_ctx;

    dlpark_tensor_release(&lent->tensor);
    if (atomic_exchange(&lent->stage, LOAN_ENDED) == LOAN_TAKEN)
        LOAN_FREE(lent);
}

/* Takes the tensor on success. */
static loan *loan_new(dlpark_tensor *tensor)
{
    loan *lent = LOAN_ALLOC(sizeof *lent);

    if (lent == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    lent->managed = (DLManagedTensor){tensor->managed->dl_tensor, lent, loan_end};
    if (dlpark__py_is_host(lent->managed.dl_tensor.device))
        lent->managed.dl_tensor.device = DLPARK_DEVICE_CPU;
    lent->tensor.managed = tensor->managed;
    atomic_init(&lent->stage, LOAN_LENT);
    tensor->managed = NULL;
    return lent;
}

/* When the call is over. */
static void loan_settle(loan *lent, bool is_taken)
{
    int lent_still = LOAN_LENT;

    if (is_taken && atomic_compare_exchange_strong(&lent->stage, &lent_still, LOAN_TAKEN))
        return;
    dlpark__py_tensor_release(&lent->tensor); /* nothing is there if it has ended */
    LOAN_FREE(lent);
}

static PyObject *tensorflow_call(PyObject *function, dlpark_tensor *tensor)
{
    loan *lent = loan_new(tensor);
    PyObject *capsule = lent != NULL ? PyCapsule_New(&lent->managed, loan_name, NULL) : NULL;
    PyObject *result = capsule != NULL ? PyObject_Vectorcall(function, &capsule, 1, NULL) : NULL;
    bool is_taken = capsule != NULL && !PyCapsule_IsValid(capsule, loan_name);

    if (capsule != NULL && !is_taken)
        PyCapsule_SetName(capsule, loan_name_used); /* whoever has kept it finds nothing in it */
    dlpark__py_drop(capsule);
    if (lent != NULL)
        loan_settle(lent, is_taken);
    return result;
}

/* What would go wrong without a word from TensorFlow. */
static int tensorflow_check(const DLManagedTensorVersioned *managed)
{
    if (managed->dl_tensor.dtype.lanes != 1)
        PyErr_SetString(PyExc_BufferError, "its elements have one lane"); /* it takes several for one */
    else if ((managed->flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0)
        PyErr_SetString(PyExc_BufferError, "the elements are padded, which it cannot be told");
    else
        return dlpark__py_framework_refuse_many(&managed->dl_tensor);
    return -1;
}

PyObject *dlpark__py_to_tensorflow(dlpark__py_state *state, dlpark_tensor *tensor)
{
    PyObject *function = NULL;

    if (tensorflow_check(tensor->managed) == 0)
        function = dlpark__py_framework_function(state, DLPARK_SPEC_AS_TENSORFLOW);
    PyObject *result = function != NULL ? tensorflow_call(function, tensor) : NULL;
    dlpark__py_tensor_release(tensor); /* ours still, only if it has not been lent */
    return result;
}
