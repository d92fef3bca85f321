/*
 * Where in a sound does somebody speak? A network asks that of 32 ms at a time, and ONNX Runtime computes in our tensors:
 * windows of the sound go in where they lie, results come out where they belong.
 *
 * Usage: voice MODEL SOUND. MODEL is silero_vad.onnx; SOUND is raw: 16 bits, little-endian, 16 kHz, one channel. A second
 * of a tone is added behind it, as loud, which is no speech. Exits with 1 when a result is wrong, or was copied.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <onnxruntime_c_api.h>

#include <dlpark/dlpark.h>
#include <dlpark/onnxruntime.h>

enum { RATE = 16000, STEP = 512, CONTEXT = 64, STATE = 256, PAUSE = RATE / 2, LONGEST = 20 * RATE };

/* The most windows that there can be. */
enum { WINDOWS = (LONGEST + PAUSE + RATE) / STEP };

/* The names that the model has for what goes in and comes out. */
static const char *const in_names[] = {"input", "state", "sr"}, *const out_names[] = {"output", "stateN"};

typedef struct voice {
    dlpark_onnxruntime runtime;
    OrtEnv *env;
    OrtSession *session;
    dlpark_tensor sound, chances; /* ours; the model only borrows */
    dlpark_view windows, results; /* [count, 576] of the sound, which overlap, and [count] */
    float state[2][STATE];        /* what the model remembers: of the one, into the other, in turns */
    OrtValue *state_values[2];    /* own the tensors of that */
    float *spoken_end;            /* where the tone begins */
    int64_t rate;
    long crossings, moved; /* addresses that were compared, and of those that differed */
    int ended;             /* tensors that ONNX Runtime ended */
} voice;

/* A status of ONNX Runtime as one of ours. */
static dlpark_status ran(const voice *of, OrtStatus *status, dlpark_error *err)
{
    if (!status)
        return DLPARK_OK;
    dlpark_error_set(err, DLPARK_E_FOREIGN, "%s", of->runtime.api->GetErrorMessage(status));
    of->runtime.api->ReleaseStatus(status);
    return DLPARK_E_FOREIGN;
}

/* ---- The sound ---- */

/* The samples of a file, as they are there. */
static dlpark_status read_samples(const char *path, dlpark_tensor *samples, dlpark_view *view, dlpark_error *err)
{
    FILE *file = fopen(path, "rb");
    static int16_t buffer[LONGEST];

    if (!file)
        return dlpark_error_set(err, DLPARK_E_NOT_FOUND, "%s cannot be opened", path);
    size_t count = fread(buffer, sizeof *buffer, sizeof buffer / sizeof *buffer, file);
    fclose(file);
    return dlpark_tensor_new(
        samples,
        &(dlpark_tensor_desc){.data = buffer, .dtype = DLPARK_I16, .ndim = 1, .shape = DLPARK_DIMS((size_t[]){count})},
        view, err);
}

/* Silence as context of the first window, the samples as floats from -1 to 1, half a second of silence, the tone. */
static dlpark_status compose(voice *of, const dlpark_view *samples, dlpark_error *err)
{
    const int64_t count = samples->shape[0];
    dlpark_view all, part;
    float peak = 0;

    DLPARK_TRY(dlpark_tensor_alloc(
        &of->sound,
        &(dlpark_tensor_desc){
            .dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((int64_t[]){CONTEXT + count + PAUSE + RATE})},
        &all, err));
    float *floats = DLPARK_CPU_MUT(float, &all, err);
    if (!floats)
        return err->status;
    memset(floats, 0, (size_t)dlpark_view_nbytes(&all));
    dlpark_view_copy(&part, &all);
    DLPARK_TRY(dlpark_view_slice(&part, 0, CONTEXT, CONTEXT + count, 1, err));
    DLPARK_TRY(dlpark_cast(&part, samples, NULL, err));
    for (int64_t i = CONTEXT; i < CONTEXT + count; i++) {
        floats[i] /= 32768;
        peak = fmaxf(peak, fabsf(floats[i]));
    }
    of->spoken_end = floats + CONTEXT + count;
    for (int i = 0; i < RATE; i++)
        of->spoken_end[PAUSE + i] = peak * sinf(6.2831853f * 440 * (float)i / RATE);
    dlpark_view_copy(&of->windows, &all);
    return dlpark_view_window(&of->windows, 0, CONTEXT + STEP, STEP, err);
}

static dlpark_status load_sound(voice *of, const char *path, dlpark_error *err)
{
    dlpark_tensor samples = DLPARK_TENSOR_EMPTY;
    dlpark_view view;

    DLPARK_TRY(read_samples(path, &samples, &view, err));
    dlpark_status status = compose(of, &view, err);
    dlpark_tensor_release(&samples);
    DLPARK_TRY(status);
    return dlpark_tensor_alloc(
        &of->chances,
        &(dlpark_tensor_desc){.dtype = DLPARK_F32, .ndim = 1, .shape = DLPARK_DIMS((const int64_t *)of->windows.shape)},
        &of->results, err);
}

/* ---- The model ---- */

static dlpark_status load_model(voice *of, const char *path, dlpark_error *err)
{
    OrtSessionOptions *options = NULL;

    DLPARK_TRY(dlpark_onnxruntime_open(&of->runtime, NULL, err));
    const OrtApi *api = of->runtime.api;
    DLPARK_TRY(ran(of, api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "voice", &of->env), err));
    DLPARK_TRY(ran(of, api->CreateSessionOptions(&options), err));
    dlpark_status status = ran(of, api->SetIntraOpNumThreads(options, 1), err);
    if (status == DLPARK_OK)
        status = ran(of, api->CreateSession(of->env, path, options, &of->session), err);
    api->ReleaseSessionOptions(options);
    return status;
}

static void count_end(void *owner)
{
    ++*(int *)owner;
}

/* The two states, as values that end their tensors. */
static dlpark_status give_states(voice *of, dlpark_error *err)
{
    for (int i = 0; i < 2; i++) {
        dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
        DLPARK_TRY(dlpark_tensor_new(&tensor,
                                     &(dlpark_tensor_desc){.data = of->state[i],
                                                           .dtype = DLPARK_F32,
                                                           .ndim = 3,
                                                           .shape = DLPARK_DIMS((int[]){2, 1, STATE / 2}),
                                                           .owner = &of->ended,
                                                           .release = count_end},
                                     NULL, err));
        dlpark_status status = dlpark_onnxruntime_export(&of->runtime, &of->state_values[i], &tensor, 0, err);
        if (status != DLPARK_OK) {
            dlpark_tensor_release(&tensor);
            return status;
        }
    }
    return DLPARK_OK;
}

/* Row `at` of a list of windows or results, as the model wants it: a batch of one. */
static dlpark_status lend_row(voice *of, const dlpark_view *rows, int64_t at, OrtValue **value, dlpark_error *err)
{
    dlpark_view row;

    dlpark_view_copy(&row, rows);
    DLPARK_TRY(dlpark_view_slice(&row, 0, at, at + 1, 1, err));
    if (row.ndim == 1)
        DLPARK_TRY(dlpark_view_expand_dims(&row, 1, err));
    return dlpark_onnxruntime_borrow(&of->runtime, value, &row, 0, err);
}

/* The address that ONNX Runtime has is the one that our tensor has. */
static dlpark_status compare(voice *of, OrtValue *value, const void *ours, dlpark_error *err)
{
    void *theirs = NULL;

    DLPARK_TRY(ran(of, of->runtime.api->GetTensorMutableData(value, &theirs), err));
    of->crossings++;
    of->moved += theirs != ours;
    return DLPARK_OK;
}

/* One window through the model: in[0] and in[2] are borrowed for it, out[0] too. */
static dlpark_status run_values(voice *of, int64_t at, OrtValue *in[3], OrtValue *out[2], dlpark_error *err)
{
    const float *window = (const float *)of->windows.data + at * STEP;
    OrtValue *const before[2] = {out[0], out[1]};

    DLPARK_TRY(compare(of, in[0], window, err));
    DLPARK_TRY(compare(of, in[1], of->state[at % 2], err));
    DLPARK_TRY(ran(
        of, of->runtime.api->Run(of->session, NULL, in_names, (const OrtValue *const *)in, 3, out_names, 2, out), err));
    of->moved += out[0] != before[0] || out[1] != before[1]; /* it made no values of its own */
    DLPARK_TRY(compare(of, out[0], (const float *)of->results.data + at, err));
    return compare(of, out[1], of->state[1 - at % 2], err);
}

static dlpark_status run_window(voice *of, int64_t at, dlpark_error *err)
{
    OrtValue *in[3] = {NULL, of->state_values[at % 2], NULL}, *out[2] = {NULL, of->state_values[1 - at % 2]};
    dlpark_view rate;
    DLTensor number = {.data = &of->rate, .device = {kDLCPU, 0}, .dtype = DLPARK_I64};

    DLPARK_TRY(dlpark_check(&number, 0, &rate, err));
    dlpark_status status = lend_row(of, &of->windows, at, &in[0], err);
    if (status == DLPARK_OK)
        status = lend_row(of, &of->results, at, &out[0], err);
    if (status == DLPARK_OK)
        status = dlpark_onnxruntime_borrow(&of->runtime, &in[2], &rate, DLPARK_TENSOR_READ_ONLY, err);
    if (status == DLPARK_OK)
        status = run_values(of, at, in, out, err);
    of->runtime.api->ReleaseValue(in[0]);
    of->runtime.api->ReleaseValue(in[2]);
    of->runtime.api->ReleaseValue(out[0]);
    return status;
}

/* ---- The same by copies ---- */

/* A value in ONNX Runtime's own memory, filled by a copy. */
static dlpark_status copy_in(voice *of, const void *from, size_t ndim, const int64_t *shape, OrtValue **value,
                             dlpark_error *err)
{
    const OrtApi *api = of->runtime.api;
    OrtAllocator *allocator = NULL;
    void *data = NULL;
    size_t nbytes = ndim ? sizeof(float) : sizeof(int64_t);

    for (size_t i = 0; i < ndim; i++)
        nbytes *= (size_t)shape[i];
    DLPARK_TRY(ran(of, api->GetAllocatorWithDefaultOptions(&allocator), err));
    DLPARK_TRY(ran(of,
                   api->CreateTensorAsOrtValue(
                       allocator, shape, ndim,
                       ndim ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, value),
                   err));
    DLPARK_TRY(ran(of, api->GetTensorMutableData(*value, &data), err));
    memcpy(data, from, nbytes);
    return DLPARK_OK;
}

/* One window, without a tensor of ours: what comes out must be the same to the last bit. `state` goes in and comes out. */
static dlpark_status check_window(voice *of, int64_t at, OrtValue **state, long *differ, dlpark_error *err)
{
    const OrtApi *api = of->runtime.api;
    const float *window = (const float *)of->windows.data + at * STEP;
    OrtValue *in[3] = {NULL, *state, NULL}, *out[2] = {NULL, NULL};
    void *chance = NULL;

    dlpark_status status = copy_in(of, window, 2, (int64_t[]){1, CONTEXT + STEP}, &in[0], err);
    if (status == DLPARK_OK)
        status = copy_in(of, &of->rate, 0, NULL, &in[2], err);
    if (status == DLPARK_OK)
        status = ran(of, api->Run(of->session, NULL, in_names, (const OrtValue *const *)in, 3, out_names, 2, out), err);
    if (status == DLPARK_OK)
        status = ran(of, api->GetTensorMutableData(out[0], &chance), err);
    if (status == DLPARK_OK)
        *differ += memcmp(chance, (const float *)of->results.data + at, sizeof(float)) != 0;
    api->ReleaseValue(in[0]);
    api->ReleaseValue(in[1]);
    api->ReleaseValue(in[2]);
    api->ReleaseValue(out[0]);
    *state = out[1];
    return status;
}

static dlpark_status check_by_copies(voice *of, long *differ, dlpark_error *err)
{
    static const float zeros[STATE];
    OrtValue *state = NULL;
    dlpark_status status = copy_in(of, zeros, 3, (int64_t[]){2, 1, STATE / 2}, &state, err);

    for (int64_t i = 0; status == DLPARK_OK && i < of->windows.shape[0]; i++)
        status = check_window(of, i, &state, differ, err);
    of->runtime.api->ReleaseValue(state);
    return status;
}

/* ---- What is shown ---- */

/* Two windows a column: their larger value, of at most `most`. */
static void print_row(const char *name, const float *values, int64_t count, float most)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

    printf("  %-7s|", name);
    for (int64_t i = 0; i < count; i += 2) {
        float value = fmaxf(values[i], i + 1 < count ? values[i + 1] : 0) / most;
        printf("%s", bars[(int)fminf(8, 8 * value + 0.5f)]);
    }
    printf("|\n");
}

/* How loud each window is, beside how sure the model is that somebody speaks. */
static void print_picture(const voice *of)
{
    const int64_t count = of->windows.shape[0];
    float loud[WINDOWS], most = 1e-9f;
    char ruler[WINDOWS / 2 + 1];

    for (int64_t i = 0; i < count; i++) {
        const float *window = (const float *)of->windows.data + i * STEP;
        loud[i] = 0;
        for (int j = CONTEXT; j < CONTEXT + STEP; j++)
            loud[i] = fmaxf(loud[i], fabsf(window[j]));
        most = fmaxf(most, loud[i]);
    }
    memset(ruler, ' ', sizeof ruler);
    for (int second = 0; second * RATE < count * STEP; second++)
        ruler[second * RATE / STEP / 2] = (char)('0' + second % 10);
    printf("  %-7s|%.*s|\n", "seconds", (int)((count + 1) / 2), ruler);
    print_row("loud", loud, count, most);
    print_row("speech", of->results.data, count, 1);
}

static void print_addresses(const voice *of, const char *sound)
{
    const char *name = strrchr(sound, '/');
    char text[64];

    dlpark_view_describe(&of->windows, text, sizeof text);
    printf("%s, a pause and a tone: %lld windows of 32 ms, ONNX Runtime %s\n", name ? name + 1 : sound,
           (long long)of->windows.shape[0], of->runtime.version);
    printf("  windows of the sound  %p  %s\n", of->windows.data, text);
    dlpark_view_describe(&of->results, text, sizeof text);
    printf("  results               %p  %s\n", of->results.data, text);
    printf("  state, in turns       %p, %p\n", (const void *)of->state[0], (const void *)of->state[1]);
}

/* ---- The program ---- */

/* Somebody speaks in the sound, nobody in the tone behind it. */
static dlpark_status judge(const voice *of, long differ, dlpark_error *err)
{
    const float *chances = of->results.data;
    float spoken = 0, tone = 0;

    for (int64_t i = 0; i < of->results.shape[0]; i++)
        if ((const float *)of->windows.data + i * STEP < of->spoken_end)
            spoken = fmaxf(spoken, chances[i]);
        else
            tone = fmaxf(tone, chances[i]);
    printf("Tensors that crossed: %ld, of which were moved or copied: %ld (by their addresses)\n", of->crossings,
           of->moved);
    printf("Results that differ when the model works on copies of its own: %ld of %lld\n", differ,
           (long long)of->results.shape[0]);
    printf("Chance of speech at most: %.3f in the sound, %.3f in the pause and the tone\n", (double)spoken,
           (double)tone);
    if (of->moved || differ)
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "%ld tensors moved, %ld results differ", of->moved, differ);
    if (spoken < 0.9f || tone > 0.5f)
        return dlpark_error_set(err, DLPARK_E_FOREIGN, "these chances are wrong: 0.9 and more, 0.5 and less are right");
    return DLPARK_OK;
}

static dlpark_status speak(voice *of, char **argv, dlpark_error *err)
{
    long differ = 0;

    DLPARK_TRY(load_model(of, argv[1], err));
    DLPARK_TRY(load_sound(of, argv[2], err));
    DLPARK_TRY(give_states(of, err));
    print_addresses(of, argv[2]);
    for (int64_t i = 0; i < of->windows.shape[0]; i++)
        DLPARK_TRY(run_window(of, i, err));
    print_picture(of);
    DLPARK_TRY(check_by_copies(of, &differ, err));
    return judge(of, differ, err);
}

int main(int argc, char **argv)
{
    static voice of = {.runtime = DLPARK_ONNXRUNTIME_EMPTY, .rate = RATE};
    dlpark_error err;

    if (argc != 3) {
        fprintf(stderr, "usage: voice MODEL SOUND\n");
        return 2;
    }
    dlpark_status status = speak(&of, argv, &err);
    if (of.runtime.api) {
        of.runtime.api->ReleaseValue(of.state_values[0]);
        of.runtime.api->ReleaseValue(of.state_values[1]);
        of.runtime.api->ReleaseSession(of.session);
        of.runtime.api->ReleaseEnv(of.env);
    }
    dlpark_tensor_release(&of.sound);
    dlpark_tensor_release(&of.chances);
    if (status == DLPARK_OK) {
        printf("Tensors that ONNX Runtime was given for good, and ended: %d of 2\n", of.ended);
        return of.ended == 2 ? 0 : 1;
    }
    fprintf(stderr, "%s\n", err.message);
    return 1;
}
