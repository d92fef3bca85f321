/*
 * An extension of CPython: decode() gives the frames of a video file to NumPy where the decoder wrote them, and write_png()
 * has FFmpeg encode an array where NumPy wrote it.
 */
#include <dlpark/python.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/pixdesc.h>

#include <dlpark/avframe.h>

/* ---- Decoding: what any program that uses FFmpeg writes ---- */

typedef struct video {
    AVFormatContext *file;
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *frame;
    int stream;
} video;

static int raise_av(const char *what, int status)
{
    char reason[AV_ERROR_MAX_STRING_SIZE];

    (void)av_strerror(status, reason, sizeof reason);
    PyErr_Format(PyExc_OSError, "%s: %s", what, reason);
    return -1;
}

static void video_close(video *from)
{
    av_frame_free(&from->frame);
    av_packet_free(&from->packet);
    avcodec_free_context(&from->decoder);
    avformat_close_input(&from->file);
}

/* On failure, too, the video is to be closed. */
static int video_open(video *from, const char *path)
{
    const AVCodec *codec = NULL;
    int status = avformat_open_input(&from->file, path, NULL, NULL);

    if (status >= 0)
        status = avformat_find_stream_info(from->file, NULL);
    if (status >= 0)
        status = from->stream = av_find_best_stream(from->file, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
    if (status < 0)
        return raise_av(path, status);
    from->decoder = avcodec_alloc_context3(codec);
    from->packet = av_packet_alloc();
    from->frame = av_frame_alloc();
    if (!from->decoder || !from->packet || !from->frame)
        return raise_av(path, AVERROR(ENOMEM));
    status = avcodec_parameters_to_context(from->decoder, from->file->streams[from->stream]->codecpar);
    if (status >= 0)
        status = avcodec_open2(from->decoder, codec, NULL);
    return status < 0 ? raise_av(path, status) : 0;
}

/* The next frame of the decoder, as FFmpeg says it: 0, AVERROR_EOF or what went wrong. */
static int video_next(video *from)
{
    int status;

    while ((status = avcodec_receive_frame(from->decoder, from->frame)) == AVERROR(EAGAIN)) {
        do {
            av_packet_unref(from->packet);
            status = av_read_frame(from->file, from->packet);
        } while (status >= 0 && from->packet->stream_index != from->stream);
        if (status < 0 && status != AVERROR_EOF)
            return status;
        status = avcodec_send_packet(from->decoder, status < 0 ? NULL : from->packet);
        if (status < 0)
            return status;
    }
    return status;
}

/* ---- Frames to NumPy ---- */

/* One plane as an array of its own, which keeps the frame's buffers alive. */
static PyObject *plane_array(const AVFrame *frame, int plane)
{
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    if (dlpark_avframe_share(&tensor, frame, plane, NULL, &err))
        return dlpark_py_raise(&err);
    return dlpark_py_export(&tensor, DLPARK_SPEC_AS_NUMPY, NULL);
}

/* (seconds, format, ((array, address where the decoder wrote it), ...)) */
static PyObject *frame_tuple(const video *from)
{
    const AVFrame *frame = from->frame;
    double seconds = (double)frame->best_effort_timestamp * av_q2d(from->file->streams[from->stream]->time_base);
    int count = av_pix_fmt_count_planes(frame->format);
    PyObject *planes = PyTuple_New(count > 0 ? count : 0);

    for (int i = 0; planes && i < count; i++) {
        PyObject *array = plane_array(frame, i);
        PyObject *pair = array ? Py_BuildValue("(NN)", array, PyLong_FromVoidPtr(frame->data[i])) : NULL;
        if (pair)
            PyTuple_SET_ITEM(planes, i, pair);
        else
            Py_CLEAR(planes);
    }
    return planes ? Py_BuildValue("(dsN)", seconds, av_get_pix_fmt_name(frame->format), planes) : NULL;
}

/* Every so-manieth frame into the list; how many there were, or -1. */
static int collect_frames(video *from, int every, PyObject *frames)
{
    int count = 0, status;

    while ((status = video_next(from)) >= 0) {
        if (count++ % every != 0)
            continue;
        PyObject *tuple = frame_tuple(from);
        int appended = tuple ? PyList_Append(frames, tuple) : -1;
        Py_XDECREF(tuple);
        if (appended < 0)
            return -1;
    }
    return status == AVERROR_EOF ? count : raise_av("decoding", status);
}

static PyObject *decode(PyObject *module, PyObject *args)
{
    video from = {.stream = -1};
    PyObject *path, *frames, *result = NULL;
    int every = 1, count = -1;

    (void)module;
    if (!PyArg_ParseTuple(args, "O&|i", PyUnicode_FSConverter, &path, &every))
        return NULL;
    frames = PyList_New(0);
    if (every < 1)
        PyErr_Format(PyExc_ValueError, "every is %d", every);
    else if (frames && video_open(&from, PyBytes_AS_STRING(path)) == 0)
        count = collect_frames(&from, every, frames);
    if (count >= 0)
        result = Py_BuildValue("(siO)", from.decoder->codec->long_name, count, frames);
    video_close(&from); /* the arrays do not need it any more */
    Py_XDECREF(frames);
    Py_DECREF(path);
    return result;
}

/* ---- NumPy to FFmpeg ---- */

static int encode(AVCodecContext *encoder, const AVFrame *frame, AVPacket *packet)
{
    encoder->width = frame->width;
    encoder->height = frame->height;
    encoder->pix_fmt = frame->format;
    encoder->time_base = (AVRational){1, 1};
    int status = avcodec_open2(encoder, NULL, NULL);
    if (status >= 0)
        status = avcodec_send_frame(encoder, frame);
    if (status >= 0)
        status = avcodec_send_frame(encoder, NULL);
    return status >= 0 ? avcodec_receive_packet(encoder, packet) : status;
}

static int write_bytes(const char *path, const AVPacket *packet)
{
    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(packet->data, 1, (size_t)packet->size, file) == (size_t)packet->size;

    if (file && fclose(file) != 0)
        written = false;
    return written ? 0 : raise_av(path, AVERROR(errno));
}

static int write_frame(const char *path, const AVFrame *frame)
{
    const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
    AVCodecContext *encoder = codec ? avcodec_alloc_context3(codec) : NULL;
    AVPacket *packet = av_packet_alloc();
    int status = encoder && packet ? encode(encoder, frame, packet) : AVERROR_ENCODER_NOT_FOUND;

    status = status < 0 ? raise_av(path, status) : write_bytes(path, packet);
    av_packet_free(&packet);
    avcodec_free_context(&encoder);
    return status;
}

/* The array as a frame of so many pixels; encoders may read beyond them, so what lies behind must be the array's. */
static int array_frame(AVFrame **frame, PyObject *array, int width, int height)
{
    const dlpark_avframe_options options = {
        .width = width, .height = height, .require_padding = DLPARK_AVFRAME_PADDING};
    dlpark_tensor tensor = DLPARK_TENSOR_EMPTY;
    dlpark_error err;

    if (dlpark_py_import(&tensor, array, NULL, NULL) < 0)
        return -1;
    if (dlpark_avframe_export_planes(frame, &tensor, 1, AV_PIX_FMT_RGB24, &options, &err)) {
        dlpark_tensor_release(&tensor);
        (void)dlpark_py_raise(&err);
        return -1;
    }
    return 0;
}

static PyObject *write_png(PyObject *module, PyObject *args)
{
    PyObject *path, *array, *result = NULL;
    AVFrame *frame = NULL;
    int width, height;

    (void)module;
    if (!PyArg_ParseTuple(args, "O&Oii", PyUnicode_FSConverter, &path, &array, &width, &height))
        return NULL;
    if (array_frame(&frame, array, width, height) == 0 && write_frame(PyBytes_AS_STRING(path), frame) == 0)
        result = PyLong_FromVoidPtr(frame->data[0]);
    av_frame_free(&frame);
    Py_DECREF(path);
    return result;
}

/* ---- The module ---- */

static PyMethodDef methods[] = {
    {"decode", decode, METH_VARARGS,
     "decode(path, every=1)\n--\n\nThe decoder's name, how many frames there are, and every so-manieth of them as "
     "(seconds, format, ((array, address), ...))."},
    {"write_png", write_png, METH_VARARGS,
     "write_png(path, array, width, height)\n--\n\nWrites the left upper part of uint8 [rows, columns, 3]; the address "
     "that the encoder read from."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "video",
                                        .m_doc = "Frames of FFmpeg and arrays of NumPy.", .m_methods = methods};

PyMODINIT_FUNC PyInit_video(void)
{
    return PyModule_Create(&definition);
}
