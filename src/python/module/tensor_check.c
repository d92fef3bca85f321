/*
 * The C side of dlpark.check(): the rules, and the judgement of what is in a capsule. Nothing here believes a field: the
 * core's checks read no more of a struct than its version and its pointers allow.
 */
#include "module.h"

/* ---- The rules ---- */

const char dlpark__py_check_rules_doc[] = "_check_rules($module, /)\n--\n\n"
                                          "Every rule of the table: (name, severity, field, limit, text).";

static PyObject *verdict_rule(dlpark_rule rule)
{
    return Py_BuildValue("(sssss)", dlpark_rule_name(rule), dlpark_severity_name(dlpark_rule_severity(rule)),
                         dlpark_rule_field(rule), dlpark_rule_limit(rule), dlpark_rule_text(rule));
}

PyObject *dlpark__py_check_rules(PyObject *module, PyObject *ignored)
{
    static const dlpark_rule rules[] = {
#define CHECK_RULE(name, value, severity, status, field, limit, text) DLPARK_RULE_##name,
        DLPARK_RULE_TABLE(CHECK_RULE)
#undef CHECK_RULE
    };
    Py_ssize_t count = (Py_ssize_t)(sizeof rules / sizeof rules[0]);
    PyObject *list = PyTuple_New(count);

    (void)module;
    (void)ignored;
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *rule = verdict_rule(rules[i]);
        if (rule == NULL || PyTuple_SetItem(list, i, rule) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* ---- A capsule ---- */

/* What a capsule holds: one of the two, told by its name. */
typedef struct verdict_subject {
    DLManagedTensorVersioned *managed;
    DLManagedTensor *legacy;
} verdict_subject;

/* -1 with a ValueError for a capsule that DLPack does not know, or that has been consumed: what is in it may be gone. */
static int verdict_open(PyObject *capsule, verdict_subject *subject)
{
    const char *name = PyCapsule_GetName(capsule);

    *subject = (verdict_subject){NULL, NULL};
    if (name == NULL)
        PyErr_Clear();
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        subject->managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        return 0;
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        subject->legacy = PyCapsule_GetPointer(capsule, "dltensor");
        return 0;
    }
    if (PyCapsule_IsValid(capsule, "used_dltensor_versioned") || PyCapsule_IsValid(capsule, "used_dltensor"))
        PyErr_SetString(PyExc_ValueError, "the capsule has been consumed already, and what was in it may be gone");
    else
        PyErr_Format(PyExc_ValueError,
                     "the capsule is called '%.64s'; a DLPack capsule is called 'dltensor_versioned' or 'dltensor'",
                     name != NULL ? name : "");
    return -1;
}

static size_t verdict_judge(const verdict_subject *subject, dlpark_fault *faults, size_t capacity)
{
    static const DLPackVersion legacy = {0, 0};

    if (subject->managed != NULL)
        return dlpark_check_all_managed(subject->managed, faults, capacity);
    return dlpark_check_all_version(&subject->legacy->dl_tensor, 0, legacy, faults, capacity);
}

static PyObject *verdict_fault(const dlpark_fault *fault)
{
    return Py_BuildValue("(sssiLLs)", dlpark_rule_name(fault->rule), dlpark_severity_name(fault->severity),
                         fault->field, (int)fault->dimension, (long long)fault->value, (long long)fault->limit,
                         fault->message);
}

static PyObject *verdict_list(const dlpark_fault *faults, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *fault = verdict_fault(&faults[i]);
        if (fault == NULL || PyList_SetItem(list, (Py_ssize_t)i, fault) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *verdict_faults(const verdict_subject *subject)
{
    size_t count = verdict_judge(subject, NULL, 0);
    dlpark_fault *faults = PyMem_Calloc(count > 0 ? count : 1, sizeof *faults);

    if (faults == NULL)
        return PyErr_NoMemory();
    size_t again = verdict_judge(subject, faults, count);
    PyObject *list = verdict_list(faults, again < count ? again : count); /* somebody may be changing it meanwhile */
    PyMem_Free(faults);
    return list;
}

/* The tensor of a struct that may be read, or NULL. */
static const DLTensor *verdict_tensor(const verdict_subject *subject)
{
    if (subject->managed == NULL)
        return &subject->legacy->dl_tensor;
    return subject->managed->version.major == DLPARK_ABI_MAJOR ? &subject->managed->dl_tensor : NULL;
}

/* One line about a tensor that holds what it promises; else None. What the versioned struct does not call read-only may
 * be written, and the line says nothing of it. */
static PyObject *verdict_describe(const verdict_subject *subject, const DLTensor *tensor, uint64_t flags)
{
    char line[2048]; /* long lists are cut */
    dlpark_view view;

    if (tensor == NULL || dlpark_check(tensor, flags, &view, NULL) != DLPARK_OK)
        Py_RETURN_NONE;
    if (subject->managed != NULL)
        view.flags &= ~DLPARK_VIEW_UNKNOWN_WRITE;
    dlpark_view_describe(&view, line, sizeof line);
    return PyUnicode_FromString(line);
}

static PyObject *verdict_device(const DLTensor *tensor)
{
    if (tensor == NULL)
        Py_RETURN_NONE;
    return Py_BuildValue("(ii)", (int)tensor->device.device_type, (int)tensor->device.device_id);
}

/* (abi, version, flags, device, description, faults) */
static PyObject *verdict_report(const verdict_subject *subject)
{
    const DLTensor *tensor = verdict_tensor(subject);
    bool is_legacy = subject->legacy != NULL;
    DLPackVersion version = is_legacy ? (DLPackVersion){0, 0} : subject->managed->version;
    uint64_t flags = is_legacy || tensor == NULL ? 0 : subject->managed->flags;
    PyObject *faults = verdict_faults(subject);
    PyObject *device = faults != NULL ? verdict_device(tensor) : NULL;
    PyObject *text = device != NULL ? verdict_describe(subject, tensor, flags) : NULL;
    PyObject *report = NULL;

    if (text != NULL)
        report = Py_BuildValue("(s(II)KOOO)", is_legacy ? "legacy" : "versioned", (unsigned)version.major,
                               (unsigned)version.minor, (unsigned long long)flags, device, text, faults);
    Py_XDECREF(faults);
    Py_XDECREF(device);
    Py_XDECREF(text);
    return report;
}

/* Ends the tensor as a consumer does that will not have it: the capsule is renamed first. */
static int verdict_end(PyObject *capsule, verdict_subject *subject)
{
    if (PyCapsule_SetName(capsule, subject->managed != NULL ? "used_dltensor_versioned" : "used_dltensor") < 0)
        return -1;
    pending_error saved = dlpark__py_error_save();
    dlpark_managed_release(&subject->managed);
    dlpark_managed_release_legacy(&subject->legacy);
    dlpark__py_error_restore(&saved);
    return 0;
}

const char dlpark__py_check_capsule_doc[] =
    "_check_capsule($module, capsule, consume, /)\n--\n\n"
    "(abi, version, flags, device, description, faults) of the tensor in a capsule; None for what is no capsule.\n\n"
    "`consume` ends the tensor afterwards. Without it the capsule stays as it is.";

PyObject *dlpark__py_check_capsule(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    verdict_subject subject;

    (void)module;
    if (nargs != 2)
        return PyErr_Format(PyExc_TypeError, "_check_capsule() takes 2 arguments (%zd given)", nargs);
    if (!PyCapsule_CheckExact(args[0]))
        Py_RETURN_NONE;
    int consume = PyObject_IsTrue(args[1]);
    if (consume < 0 || verdict_open(args[0], &subject) < 0)
        return NULL;
    PyObject *report = verdict_report(&subject);
    if (consume && verdict_end(args[0], &subject) < 0)
        Py_CLEAR(report);
    return report;
}
