/*
 * Imports in two steps: where the tensor is, and then the tensor, on the consumer's stream of that device.
 */
#include "import_parts.h"

/* What is known of an object before it is asked for its tensor. */
typedef struct request_look {
    dlpark__py_state *state;
    dlpark__py_type entry; /* by value: foreign code may change the cache */
    uint32_t paths;
} request_look;

static bool request_allows(const request_look *look, dlpark__py_route route, uint32_t path)
{
    return look->entry.route == route && (look->paths & path) != 0;
}

static void request_set(dlpark_py_request *request, uint32_t path, DLDevice device)
{
    request->path = path;
    request->device = device;
    request->has_device = true;
}

/* By taking the tensor. It is kept where it can be taken once only; other ways begin anew, with what the consumer then
 * asks for. */
static int request_take(const request_look *look, dlpark_py_request *request)
{
    dlpark_py_options options = {.paths = look->paths, .on_producer_stream = true};

    if (dlpark_py_import(&request->tensor, request->object, &options, &request->origin) < 0)
        return -1;
    request_set(request, request->origin.path, request->tensor.managed->dl_tensor.device);
    if ((request->path & (DLPARK_PY_PATH_CAPSULE | DLPARK_PY_PATH_DLPACK)) == 0)
        dlpark__py_tensor_release(&request->tensor);
    return 0;
}

/* By __dlpack_device__. What has no such method is taken at once. */
static int request_ask_producer(const request_look *look, dlpark_py_request *request)
{
    DLDevice device = {kDLCPU, 0};
    int status = 0;

    if (look->paths & DLPARK_PY_PATH_DLPACK)
        status = dlpark__py_producer_device(look->state, request->object, &device);
    if (status < 0)
        return -1;
    if (status == 0)
        return request_take(look, request);
    request_set(request, DLPARK_PY_PATH_DLPACK, device);
    return 0;
}

/* By the exchange table, unless that refuses. */
static int request_ask_table(const request_look *look, dlpark_py_request *request)
{
    dlpark_py_options options = {.paths = look->paths};
    dlpark_tensor asked = DLPARK_TENSOR_EMPTY;
    DLDevice device = {kDLCPU, 0};
    int status = dlpark__py_exchange_device(request->object, &look->entry, &options, &device, &asked.managed);

    dlpark__py_tensor_release(&asked);
    if (status < 0)
        return -1;
    if (status == 1) {
        request_set(request, DLPARK_PY_PATH_EXCHANGE, device);
        return 0;
    }
    PyErr_Clear(); /* it is asked again, and heard */
    return request_ask_producer(look, request);
}

static int request_ask(const request_look *look, dlpark_py_request *request)
{
    if (request_allows(look, DLPARK__PY_ROUTE_OWN, DLPARK_PY_PATH_OWN)) {
        const dlpark_tensor *tensor = dlpark__py_own_tensor(look->state, request->object);
        request_set(request, DLPARK_PY_PATH_OWN, tensor->managed->dl_tensor.device);
        return 0;
    }
    if (request_allows(look, DLPARK__PY_ROUTE_EXCHANGE, DLPARK_PY_PATH_EXCHANGE))
        return request_ask_table(look, request);
    if (request_allows(look, DLPARK__PY_ROUTE_NUMPY, DLPARK_PY_PATH_NUMPY)) {
        request_set(request, DLPARK_PY_PATH_NUMPY, DLPARK_DEVICE_CPU);
        return 0;
    }
    return request_ask_producer(look, request);
}

int dlpark_py_request_init(dlpark_py_request *request, PyObject *object, uint32_t paths)
{
    dlpark__py_state *state = dlpark__py_state_get();

    *request = (dlpark_py_request){.paths = paths};
    if (state == NULL)
        return -1;
    request_look look = {
        .state = state, .entry = *dlpark__py_type_of(state, Py_TYPE(object)), .paths = paths != 0 ? paths : UINT32_MAX};
    request->object = Py_NewRef(object);
    if ((!look.entry.is_masked || dlpark__py_check_mask(object) == 0) && request_ask(&look, request) == 0)
        return 0;
    dlpark_py_request_clear(request);
    return -1;
}

int dlpark_py_request_import(dlpark_py_request *request, dlpark_tensor *tensor, const dlpark_py_options *options,
                             dlpark_py_origin *origin)
{
    dlpark_py_options asked = {0};
    dlpark_py_origin from = request->origin;
    int status;

    if (request->object == NULL) {
        PyErr_SetString(PyExc_ValueError, "the request has ended");
        return -1;
    }
    if (options != NULL)
        asked = *options;
    if (tensor->managed != NULL) {
        status = dlpark__py_refuse_output();
    } else if (request->tensor.managed == NULL || (unsigned)asked.copy > DLPARK_PY_COPY_ALWAYS) { /* refused there */
        asked.paths = request->paths;
        status = dlpark_py_import(tensor, request->object, &asked, &from);
    } else {
        status = dlpark__py_import_fit(&request->tensor, &asked, &from);
        if (status == 0) {
            tensor->managed = request->tensor.managed;
            request->tensor.managed = NULL;
        }
    }
    dlpark_py_request_clear(request);
    if (status == 0 && origin != NULL)
        *origin = from;
    return status;
}

void dlpark_py_request_clear(dlpark_py_request *request)
{
    PyObject *object = request->object;

    request->object = NULL;
    dlpark__py_tensor_release(&request->tensor);
    dlpark__py_drop(object);
}
