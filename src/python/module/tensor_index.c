/*
 * Parts of a Tensor by index, as NumPy's basic indexing: integers, slices, None, an ellipsis, and tuples of them.
 *
 * Two passes over the key. The first takes integers and slices, from the left; the second inserts the new dimensions,
 * so that a rank in between is never higher than that of the result or of the tensor.
 */
#include "arguments.h"
#include "tensor_methods.h"

/* What a key asks for. Its entries are borrowed from a tuple that the caller holds. */
typedef struct index_key {
    PyObject *const *entries; /* NULL: those of `tuple` */
    PyObject *tuple;
    Py_ssize_t count;
    Py_ssize_t numbers;
    Py_ssize_t slices;
    Py_ssize_t added; /* None */
    bool has_ellipsis;
} index_key;

/* How far a key has been followed. */
typedef struct index_walk {
    dlpark_view view;
    int32_t dim;      /* of the view as it is now */
    int32_t original; /* of the tensor, for messages */
    int32_t added;
    int32_t places[DLPARK_MAX_NDIM]; /* where in the result dimensions are added, ascending */
} index_walk;

static PyObject *index_entry(const index_key *key, Py_ssize_t i)
{
    return key->entries != NULL ? key->entries[i] : PyTuple_GetItem(key->tuple, i);
}

/* ---- What is asked for ---- */

static int index_refuse_kind(PyObject *entry)
{
    dlpark_name type = dlpark__py_type_name(entry);

    PyErr_Format(PyExc_TypeError,
                 "a Tensor is indexed by integers, slices, None and ..., not by %s; for lists, arrays and masks take "
                 "the NumPy array of the same memory: numpy.from_dlpack(t)[...]",
                 type.text);
    return -1;
}

static int index_count_entry(index_key *key, PyObject *entry)
{
    if (entry == Py_None) {
        key->added++;
    } else if (entry == Py_Ellipsis) {
        if (key->has_ellipsis) {
            PyErr_SetString(PyExc_IndexError, "an index can have one ellipsis, this has two");
            return -1;
        }
        key->has_ellipsis = true;
    } else if (PySlice_Check(entry)) {
        key->slices++;
    } else if (PyIndex_Check(entry) && !PyBool_Check(entry)) {
        key->numbers++;
    } else {
        return index_refuse_kind(entry);
    }
    return 0;
}

static int index_check_rank(const index_key *key, int32_t ndim)
{
    Py_ssize_t taken = key->numbers + key->slices, rank = ndim - key->numbers + key->added;

    if (taken > ndim) {
        PyErr_Format(PyExc_IndexError, "%zd indices for a tensor of rank %d", taken, (int)ndim);
        return -1;
    }
    if (rank > DLPARK_MAX_NDIM) {
        PyErr_Format(PyExc_IndexError, "the result would have a rank of %zd, at most %d is possible", rank,
                     DLPARK_MAX_NDIM);
        return -1;
    }
    return 0;
}

/* Looks at every entry before any foreign code runs. */
static int index_read(PyObject *object, PyObject *const *single, int32_t ndim, index_key *key)
{
    bool is_tuple = PyTuple_Check(object);

    *key =
        (index_key){.entries = is_tuple ? NULL : single, .tuple = object, .count = is_tuple ? PyTuple_Size(object) : 1};
    for (Py_ssize_t i = 0; i < key->count; i++)
        if (index_count_entry(key, index_entry(key, i)) < 0)
            return -1;
    return index_check_rank(key, ndim);
}

/* ---- Following it ---- */

static int index_refuse_place(PyObject *index, int32_t dim, int64_t extent)
{
    PyErr_Format(PyExc_IndexError, "index %s is out of range for dimension %d with extent %lld",
                 dlpark__py_integer_text(index).text, (int)dim, (long long)extent);
    return -1;
}

/* PyNumber_Index() of what has __index__ and may still refuse, as arrays of several elements do. */
static PyObject *index_number(PyObject *entry)
{
    PyObject *number = PyNumber_Index(entry);

    if (number == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        index_refuse_kind(entry);
    }
    return number;
}

static int index_take_number(index_walk *walk, PyObject *entry)
{
    PyObject *number = index_number(entry);
    int overflow;

    if (number == NULL)
        return -1;
    int64_t extent = walk->view.shape[walk->dim];
    int64_t index = PyLong_AsLongLongAndOverflow(number, &overflow);
    int status = overflow == 0 && index >= -extent && index < extent &&
                         dlpark_view_index(&walk->view, walk->dim, index, NULL) == DLPARK_OK
                     ? 0
                     : index_refuse_place(number, walk->original, extent);
    Py_DECREF(number);
    walk->original++;
    return status;
}

/* The lowest number stands for an absent bound there; the next one means the same as it does in Python. */
static int64_t index_bound(Py_ssize_t bound)
{
    return bound == DLPARK_NONE ? -INT64_MAX : bound;
}

static int index_take_slice(index_walk *walk, PyObject *slice)
{
    Py_ssize_t start, stop, step;
    dlpark_error err;

    if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
        return -1;
    if (dlpark_view_slice(&walk->view, walk->dim, index_bound(start), index_bound(stop), step, &err) != DLPARK_OK) {
        dlpark__py_raise_value(&err);
        return -1;
    }
    walk->dim++;
    walk->original++;
    return 0;
}

static int index_follow(index_walk *walk, const index_key *key, PyObject *entry)
{
    int32_t skipped;

    if (entry == Py_None) {
        walk->places[walk->added] = walk->dim + walk->added;
        walk->added++;
        return 0;
    }
    if (entry == Py_Ellipsis) {
        /* Only one ellipsis is there: before it, as many dimensions were taken as there were entries. */
        skipped = walk->view.ndim - walk->dim - (int32_t)(key->numbers + key->slices - walk->original);
        walk->dim += skipped;
        walk->original += skipped;
        return 0;
    }
    return PySlice_Check(entry) ? index_take_slice(walk, entry) : index_take_number(walk, entry);
}

static int index_walk_key(index_walk *walk, const index_key *key)
{
    dlpark_error err;

    for (Py_ssize_t i = 0; i < key->count; i++)
        if (index_follow(walk, key, index_entry(key, i)) < 0)
            return -1;
    for (int32_t i = 0; i < walk->added; i++) {
        if (dlpark_view_expand_dims(&walk->view, walk->places[i], &err) != DLPARK_OK) {
            dlpark__py_raise_value(&err);
            return -1;
        }
    }
    return 0;
}

PyObject *dlpark__py_tensor_subscript(PyObject *self, PyObject *key)
{
    index_key parsed;
    index_walk walk = {.dim = 0};

    dlpark__py_tensor_describe(self, &walk.view);
    if (index_read(key, &key, walk.view.ndim, &parsed) < 0 || index_walk_key(&walk, &parsed) < 0)
        return NULL;
    return dlpark__py_tensor_part(self, &walk.view);
}

int dlpark__py_tensor_assign(PyObject *self, PyObject *key, PyObject *value)
{
    (void)self;
    (void)key;
    PyErr_Format(PyExc_TypeError,
                 "a Tensor is immutable: no element can be %s; write to its memory through NumPy, "
                 "numpy.from_dlpack(t)[...] = ...",
                 value == NULL ? "deleted" : "assigned");
    return -1;
}

/* ---- The first dimension ---- */

PyObject *dlpark__py_tensor_at(PyObject *self, Py_ssize_t index)
{
    dlpark_view view;
    dlpark_error err;

    dlpark__py_tensor_describe(self, &view);
    if (view.ndim == 0)
        return PyErr_Format(PyExc_IndexError, "1 index for a tensor of rank 0");
    int64_t extent = view.shape[0];
    if (index < 0 || index >= extent) { /* counted from the end already, by whoever calls the slot */
        PyErr_Format(PyExc_IndexError, "index %lld is out of range for dimension 0 with extent %lld",
                     (long long)(index < 0 ? index - extent : index), (long long)extent);
        return NULL;
    }
    dlpark_status status = dlpark_view_index(&view, 0, index, &err);
    return dlpark__py_tensor_finish(self, &view, status, &err);
}

PyObject *dlpark__py_tensor_iterate(PyObject *self)
{
    dlpark_view view;

    dlpark__py_tensor_describe(self, &view);
    if (view.ndim == 0)
        return PyErr_Format(PyExc_TypeError, "a tensor of rank 0 has nothing to iterate over");
    return PySeqIter_New(self);
}

int dlpark__py_tensor_contains(PyObject *self, PyObject *value)
{
    (void)self;
    (void)value;
    PyErr_SetString(PyExc_TypeError, "a Tensor does not compare elements; `value in numpy.from_dlpack(t)` does");
    return -1;
}
