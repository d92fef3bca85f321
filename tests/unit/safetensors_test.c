#include "tensor_file.h"

#include <fcntl.h>
#include <stdbool.h>

#include "failing_alloc.h"
#include "failing_read.h"
#include "names.h"

/* ---- What must be true of every file that opens ---- */

static dlpark_status open_bytes(dlpark_file **file, const unsigned char *bytes, size_t nbytes, dlpark_error *err)
{
    return dlpark_file_open_memory(file, bytes, nbytes, NULL, NULL, NULL, err);
}

/* Each byte is of one tensor, each name is found, and each tensor has its bytes. */
static void check_invariants(dlpark_file *file, const unsigned char *bytes, size_t nbytes)
{
    uint64_t reached = 8;

    for (int i = 7; i >= 0; i--)
        reached += (uint64_t)bytes[i] << 8 * i;
    for (int64_t i = 0; i < dlpark_file_count(file); i++) {
        dlpark_file_entry entry;
        dlpark_tensor loaded = DLPARK_TENSOR_EMPTY;
        assert_ok(dlpark_file_entry_get(file, i, &entry, e));
        assert_int_equal(entry.offset, reached);
        reached += entry.nbytes;
        assert_int_equal(dlpark_file_find(file, entry.name, entry.name_nbytes), i);
        if (entry.ndim > DLPARK_MAX_NDIM)
            continue;
        uint64_t bits = entry.dtype.bits;
        for (int32_t d = 0; d < entry.ndim; d++)
            bits *= (uint64_t)entry.shape[d];
        assert_int_equal(bits, entry.nbytes * 8);
        assert_ok(dlpark_file_load(file, i, &loaded, e));
        dlpark_tensor_release(&loaded);
    }
    assert_int_equal(reached, nbytes);
}

/* ---- The cases that the reference was asked about ---- */

typedef struct text {
    char bytes[16384];
    size_t used;
} text;

static void text_add(text *to, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    to->used += (size_t)vsnprintf(to->bytes + to->used, sizeof to->bytes - to->used, format, arguments);
    va_end(arguments);
    assert_true(to->used < sizeof to->bytes);
}

/* As Rust has it. */
static void text_add_name(text *to, const char *name, size_t nbytes)
{
    text_add(to, "\"");
    for (size_t i = 0; i < nbytes; i++) {
        if (name[i] == '\0')
            text_add(to, "\\0");
        else if (name[i] == 0x7F)
            text_add(to, "\\u{7f}");
        else
            text_add(to, "%c", name[i]);
    }
    text_add(to, "\"");
}

static int compare_entries(const void *left, const void *right)
{
    const dlpark_file_entry *a = left, *b = right;
    size_t least = a->name_nbytes < b->name_nbytes ? a->name_nbytes : b->name_nbytes;
    int order = least > 0 ? memcmp(a->name, b->name, least) : 0;

    return order != 0 ? order : (int)a->name_nbytes - (int)b->name_nbytes;
}

/* "1 tensors ["t" F32 [2] 8B] meta=None", by name. */
static void describe(text *to, const dlpark_file *file)
{
    dlpark_file_entry entries[4];
    int64_t count = dlpark_file_count(file);

    assert_true(count <= 4 && dlpark_file_metadata_count(file) <= 1);
    for (int64_t i = 0; i < count; i++)
        assert_ok(dlpark_file_entry_get(file, i, &entries[i], e));
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    text_add(to, "%lld tensors [", (long long)count);
    for (int64_t i = 0; i < count; i++) {
        const dlpark_file_entry *entry = &entries[i];
        text_add(to, i > 0 ? "; " : "");
        text_add_name(to, entry->name, entry->name_nbytes);
        text_add(to, " %s [", entry->type);
        for (int32_t d = 0; d < entry->ndim && d < DLPARK_MAX_NDIM; d++)
            text_add(to, "%s%lld", d > 0 ? ", " : "", (long long)entry->shape[d]);
        text_add(to, entry->ndim > DLPARK_MAX_NDIM ? ", ...] %lluB" : "] %lluB", (unsigned long long)entry->nbytes);
    }
    text_add(to, "] meta=");
    if (dlpark_file_metadata_count(file) == 0) {
        text_add(to, "None");
        return;
    }
    dlpark_file_text key, value;
    assert_ok(dlpark_file_metadata_get(file, 0, &key, &value, e));
    text_add(to, "Some({\"%.*s\": \"%.*s\"})", (int)key.nbytes, key.text, (int)value.nbytes, value.text);
}

/* Through a pipe, unless it is more than a pipe holds without anybody who reads. */
static dlpark_status open_piped(dlpark_file **file, const tensor_file *made, dlpark_error *err)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    if (made->nbytes > 65536) {
        close(ends[0]);
        close(ends[1]);
        return open_bytes(file, made->bytes, made->nbytes, err);
    }
    assert_int_equal(write(ends[1], made->bytes, made->nbytes), made->nbytes);
    close(ends[1]);
    dlpark_status status = dlpark_file_open_descriptor(file, ends[0], "a pipe", NULL, err);
    close(ends[0]);
    return status;
}

static dlpark_status open_way(int way, dlpark_file **file, const char *path, const tensor_file *made, dlpark_error *err)
{
    if (way == 0)
        return dlpark_file_open(file, path, NULL, err);
    if (way == 1)
        return open_bytes(file, made->bytes, made->nbytes, err);
    if (way == 2)
        return open_piped(file, made, err);
    int descriptor = open(path, O_RDONLY);
    assert_true(descriptor >= 0);
    assert_true(lseek(descriptor, 3, SEEK_SET) == 3);
    dlpark_status status = dlpark_file_open_descriptor(file, descriptor, NULL, NULL, err);
    assert_true(lseek(descriptor, 0, SEEK_CUR) == 3);
    close(descriptor);
    return status;
}

static tensor_file read_whole(const char *path)
{
    tensor_file made = {malloc(1 << 20), 0, 0};
    FILE *stream = fopen(path, "rb");

    assert_non_null(made.bytes);
    if (stream == NULL)
        fail_msg("%s cannot be opened", path);
    made.nbytes = fread(made.bytes, 1, 1 << 20, stream);
    assert_int_equal(fclose(stream), 0);
    made.bytes = realloc(made.bytes, made.nbytes > 0 ? made.nbytes : 1); /* a sanitizer sees its end */
    assert_non_null(made.bytes);
    return made;
}

static void check_case(const char *name, const char *verdict, const char *content)
{
    char path[512];
    size_t faults = 0;

    snprintf(path, sizeof path, "%s/safetensors/%.60s", DLPARK_CASES, name);
    tensor_file made = read_whole(path);
    dlpark_status first = DLPARK_OK;
    for (int way = 0; way < 4; way++) {
        dlpark_file *file = NULL;
        dlpark_error err = {.message = ""};
        dlpark_status status = open_way(way, &file, path, &made, &err);
        first = way == 0 ? status : first;
        assert_int_equal(status, first);
        assert_int_equal(file != NULL, status == DLPARK_OK);
        if (strcmp(verdict, "either") != 0 && (strcmp(verdict, "ok") == 0) != (status == DLPARK_OK))
            fail_msg("%s: %s, but: %s %s", name, verdict, dlpark_status_name(status), err.message);
        if (status != DLPARK_OK) {
            assert_true(status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT);
            continue;
        }
        static text found;
        found.used = 0;
        describe(&found, file);
        if (strcmp(verdict, "ok") == 0)
            assert_string_equal(found.bytes, content);
        check_invariants(file, made.bytes, made.nbytes);
        dlpark_file_release(&file);
    }
    assert_ok(dlpark_file_check(path, NULL, NULL, 0, &faults, e));
    assert_int_equal(faults == 0, first == DLPARK_OK);
    tensor_file_end(&made);
}

static void cases_have_their_verdicts(void **state)
{
    FILE *table = fopen(DLPARK_CASES "/safetensors/expected.tsv", "r");
    static char line[4096];
    int count = 0;

    (void)state;
    assert_non_null(table);
    assert_non_null(fgets(line, sizeof line, table));
    while (fgets(line, sizeof line, table) != NULL) {
        char *verdict = strchr(line, '\t'), *content = verdict != NULL ? strchr(verdict + 1, '\t') : NULL;
        if (content == NULL)
            continue;
        *verdict = *content = '\0';
        content[strcspn(content + 1, "\n") + 1] = '\0';
        check_case(line, verdict + 1, content + 1);
        count++;
    }
    assert_int_equal(fclose(table), 0);
    assert_int_equal(count, 100);
}

/* ---- The length of the header ---- */

static void assert_header(dlpark_status status, const char *why, const char *header, size_t data_nbytes)
{
    tensor_file made = tensor_file_text(header, data_nbytes);
    dlpark_file *file = NULL;

    if (status == DLPARK_OK) {
        assert_ok(open_bytes(&file, made.bytes, made.nbytes, e));
        check_invariants(file, made.bytes, made.nbytes);
    } else {
        assert_fails(status, why, open_bytes(&file, made.bytes, made.nbytes, e));
        assert_null(file);
    }
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

static void files_that_are_too_short(void **state)
{
    unsigned char bytes[16] = {0};
    dlpark_file *file = NULL;

    (void)state;
    for (size_t nbytes = 0; nbytes < 8; nbytes++)
        assert_fails(DLPARK_E_FORMAT, "a safetensors file has at least 8", open_bytes(&file, bytes, nbytes, e));
    assert_fails(DLPARK_E_FORMAT, "the '{' of the header is expected here, not the end (byte 8)",
                 open_bytes(&file, bytes, 8, e));
    for (int i = 0; i < 8; i++) {
        bytes[i] = 1;
        assert_fails(DLPARK_E_FORMAT, " by its length, and the file has 0 behind it", open_bytes(&file, bytes, 8, e));
        bytes[i] = 0;
    }
    memset(bytes, 0xFF, sizeof bytes);
    assert_fails(DLPARK_E_FORMAT, "the header has 18446744073709551615 bytes by its length",
                 open_bytes(&file, bytes, 16, e));
    memcpy(bytes, "\2\0\0\0\0\0\0\0{}", 10);
    assert_ok(open_bytes(&file, bytes, 10, e));
    assert_int_equal(dlpark_file_count(file), 0);
    assert_int_equal(dlpark_file_metadata_count(file), 0);
    dlpark_file_release(&file);
}

static void header_has_a_limit(void **state)
{
    tensor_file made = tensor_file_text("{'t':{'dtype':'U8','shape':[2],'data_offsets':[0,2]}}", 2);
    uint64_t header = made.data - 8;
    static const uint64_t more[] = {0, 100000000, 100000001, UINT64_MAX};
    dlpark_file *file = NULL;

    (void)state;
    for (uint64_t most = 1; most < header + 3; most++) {
        const dlpark_file_options options = {.max_header_nbytes = most};
        if (most < header)
            assert_fails(DLPARK_E_LIMIT, "bytes, more than ",
                         dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, e));
        else
            assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, e));
        dlpark_file_release(&file);
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        const dlpark_file_options options = {.max_header_nbytes = more[i]};
        assert_ok(dlpark_file_open_memory(&file, made.bytes, made.nbytes, NULL, NULL, &options, e));
        dlpark_file_release(&file);
    }
    tensor_file_end(&made);
}

/* A hole in the file is zeros that take no room: 100,000,000 bytes are read, and one more is not. */
static void header_has_the_limit_of_the_format(void **state)
{
    const unsigned char prefix[] = {0x00, 0xE1, 0xF5, 0x05, 0, 0, 0, 0, '{', '}'};
    tensor_file_path path = tensor_file_save_bytes(prefix, sizeof prefix);
    dlpark_file *file = NULL;
    FILE *stream = fopen(path.text, "r+b");

    (void)state;
    assert_non_null(stream);
    assert_int_equal(truncate(path.text, 100000020), 0);
    assert_fails(DLPARK_E_FORMAT, "the end of the header is expected here, not byte 0x00 (byte 10)",
                 dlpark_file_open(&file, path.text, NULL, e));
    assert_int_equal(fputc(1, stream), 1);
    assert_int_equal(fclose(stream), 0);
    const dlpark_file_options options = {.max_header_nbytes = UINT64_MAX};
    assert_fails(DLPARK_E_LIMIT, "the header has 100000001 bytes, more than 100000000",
                 dlpark_file_open(&file, path.text, NULL, e));
    assert_fails(DLPARK_E_LIMIT, "more than 100000000", dlpark_file_open(&file, path.text, &options, e));
    assert_null(file);
    tensor_file_drop(&path);
}

/* ---- The header as a whole ---- */

static void header_is_one_object(void **state)
{
    static const char *const good[] = {"{}",
                                       " {}",
                                       "{} \t\r\n",
                                       "\n{ }",
                                       "{'__metadata__':{}}",
                                       "{'__metadata__':null}",
                                       "{'__metadata__': { 'a' : 'b' , 'c' : '' } }",
                                       "{'__meta\\u0064ata__':{'x':'y'}}"};
    static const char *const bad[][2] = {
        {"", "not the end"},
        {"[]", "the '{' of the header is expected here, not '['"},
        {"null", "not 'n'"},
        {"{}{}", "the end of the header is expected here, not '{'"},
        {"{}x", "not 'x'"},
        {"{,}", "a name in quotation marks"},
        {"{'a'}", "':' is expected here"},
        {"{'__metadata__':1}", "the '{' of __metadata__ is expected here, not '1'"},
        {"{'__metadata__':nul}", "a value is expected here, not 'n'"},
        {"{'__metadata__':[]}", "not '['"},
        {"{'__metadata__':{1:'a'}}", "a name in quotation marks"},
        {"{'__metadata__':{'a':1}}", "a text in quotation marks is expected here, not '1'"},
        {"{'__metadata__':{'a':null}}", "a text in quotation marks is expected here, not 'n'"},
        {"{'__metadata__':{'a':'b'", "',' or '}' is expected here, not the end"},
        {"{'__metadata__':{'a':'b',}}", "a name in quotation marks"},
        {"{'__metadata__':{},'__metadata__':{}}", "there are two \"__metadata__\" (byte 27)"},
        {"{'__metadata__':null,'__meta\\u0064ata__':{}}", "there are two \"__metadata__\""},
        {"{'__metadata__':{'a':'1','b':'2','\\u0061':'3'}}", "__metadata__ has two keys 'a' (byte 41)"},
        {"{'__metadata__':{'a':'1','b':'2','b':'3','c':'','a':''}}", "__metadata__ has two keys 'b'"},
        {"{'t':{'dtype':'U8','shape':[],'data_offsets':[0,1]}", "',' or '}' is expected here, not the end"},
        {"{'t':{'dtype':'U8','shape':[],'data_offsets':[0,1]},}", "a name in quotation marks"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_header(DLPARK_OK, "", good[i], 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_header(DLPARK_E_FORMAT, bad[i][1], bad[i][0], 1);
}

static void header_is_utf8(void **state)
{
    (void)state;
    assert_header(DLPARK_E_FORMAT, "byte 0xFF of the header is no UTF-8 (byte 10)", "{'\xFF':1}", 0);
    assert_header(DLPARK_E_FORMAT, "byte 0xED of the header is no UTF-8", "{'\xED\xA0\x80':1}", 0);
    assert_header(DLPARK_E_FORMAT, "byte 0xC3 of the header is no UTF-8 (byte 10)", "{}\xC3", 0);
    assert_header(DLPARK_E_FORMAT, "byte 0xEF", "\xEF\xBB\xBF{}", 0); /* a mark of UTF-8 is no JSON */
}

static void names_are_any_text(void **state)
{
    tensor_file made = tensor_file_text("{'':{'dtype':'U8','shape':[],'data_offsets':[0,1]},"
                                        "'a\\u0000b':{'dtype':'U8','shape':[],'data_offsets':[1,2]},"
                                        "'a':{'dtype':'U8','shape':[],'data_offsets':[2,3]},"
                                        "'a\\u0000':{'dtype':'U8','shape':[],'data_offsets':[3,4]},"
                                        "'\\ud83d\\ude00\\n':{'dtype':'U8','shape':[],'data_offsets':[4,5]},"
                                        "'__metadata__x':{'dtype':'U8','shape':[],'data_offsets':[5,6]}}",
                                        6);
    dlpark_file *file = NULL;

    (void)state;
    assert_ok(open_bytes(&file, made.bytes, made.nbytes, e));
    assert_int_equal(dlpark_file_find(file, "", 0), 0);
    assert_int_equal(dlpark_file_find(file, "a\0b", 3), 1);
    assert_int_equal(dlpark_file_find(file, "a", 1), 2);
    assert_int_equal(dlpark_file_find(file, "a\0", 2), 3);
    assert_int_equal(dlpark_file_find(file, "\xF0\x9F\x98\x80\n", 5), 4);
    assert_int_equal(dlpark_file_find(file, "__metadata__x", 13), 5);
    assert_int_equal(dlpark_file_find(file, "\0", 1), -1);
    check_invariants(file, made.bytes, made.nbytes);
    dlpark_file_release(&file);
    tensor_file_end(&made);
    assert_header(DLPARK_E_FORMAT, "tensor 'a': there are two tensors of this name",
                  "{'a':{'dtype':'U8','shape':[],'data_offsets':[0,1]},"
                  "'\\u0061':{'dtype':'U8','shape':[],'data_offsets':[1,2]}}",
                  2);
}

/* ---- Each byte of one tensor ---- */

typedef struct range {
    int begin, end;
} range;

static void assert_cover(dlpark_status status, const char *why, const range *ranges, int count, size_t data_nbytes)
{
    char header[1024] = "{";

    for (int i = 0; i < count; i++) {
        size_t used = strlen(header);
        snprintf(header + used, sizeof header - used, "%s'%c':{'dtype':'I8','shape':[%d],'data_offsets':[%d,%d]}",
                 i > 0 ? "," : "", 'a' + i, ranges[i].end - ranges[i].begin, ranges[i].begin, ranges[i].end);
    }
    strcat(header, "}");
    assert_header(status, why, header, data_nbytes);
}

static void bytes_are_of_one_tensor(void **state)
{
    (void)state;
    assert_cover(DLPARK_OK, "", (range[]){{0, 3}, {3, 7}}, 2, 7);
    assert_cover(DLPARK_OK, "", (range[]){{5, 7}, {0, 3}, {3, 5}}, 3, 7);
    assert_cover(DLPARK_OK, "", (range[]){{0, 3}, {0, 0}, {3, 3}, {3, 7}, {7, 7}, {0, 0}}, 6, 7);
    assert_cover(DLPARK_OK, "", (range[]){{0, 0}}, 1, 0);
    assert_cover(DLPARK_OK, "", NULL, 0, 0);
    assert_cover(DLPARK_E_FORMAT, "5 bytes behind the last tensor belong to none (byte 10)", NULL, 0, 5);
    assert_cover(DLPARK_E_FORMAT, "1 byte behind the last tensor", (range[]){{0, 6}}, 1, 7);
    assert_cover(DLPARK_E_FORMAT, "2 bytes behind the last tensor", (range[]){{0, 5}}, 1, 7);
    assert_cover(DLPARK_E_FORMAT, "tensor 'a': begins at 1 of the data, and bytes from 0 on belong to no tensor",
                 (range[]){{1, 7}}, 1, 7);
    assert_cover(DLPARK_E_FORMAT, "tensor 'b': begins at 4 of the data, and bytes from 3 on belong to no tensor",
                 (range[]){{0, 3}, {4, 7}}, 2, 7);
    assert_cover(DLPARK_E_FORMAT, "tensor 'b': begins at 2 of the data, before 3, where the tensor before it ends",
                 (range[]){{0, 3}, {2, 7}}, 2, 7);
    assert_cover(DLPARK_E_FORMAT, "tensor 'b': begins at 2", (range[]){{0, 3}, {2, 2}, {3, 7}}, 3, 7);
    assert_cover(DLPARK_E_FORMAT, "tensor 'b': begins at 0", (range[]){{0, 3}, {0, 3}, {3, 7}}, 3, 7);
    assert_cover(DLPARK_E_FORMAT, "tensor 'b': begins at 1", (range[]){{0, 7}, {1, 2}}, 2, 7);
    assert_cover(DLPARK_E_FORMAT, "tensor 'a': data_offsets [7, 9] end 2 bytes behind the file, which has 7 bytes",
                 (range[]){{7, 9}}, 1, 7);
}

static size_t faults_of(const char *header, size_t data_nbytes, dlpark_file_fault *faults, size_t capacity)
{
    tensor_file made = tensor_file_text(header, data_nbytes);
    tensor_file_path path = tensor_file_save(&made);
    size_t count = 0;

    assert_ok(dlpark_file_check(path.text, NULL, faults, capacity, &count, e));
    tensor_file_drop(&path);
    tensor_file_end(&made);
    return count;
}

/* What is outside the file, or has no place in the index, may be what the bytes belong to. */
static void no_hole_is_told_beside_a_tensor_outside(void **state)
{
    dlpark_file_fault faults[4];

    (void)state;
    assert_int_equal(faults_of("{'a':{'dtype':'I8','shape':[2],'data_offsets':[3,5]},"
                               "'b':{'dtype':'I8','shape':[90],'data_offsets':[0,90]}}",
                               7, faults, 4),
                     1);
    assert_string_equal(faults[0].rule, "truncated");
    assert_int_equal(faults_of("{'a':{'dtype':'I8','shape':[2],'data_offsets':[3,5]},"
                               "'b':{'dtype':'I8','shape':[3],'data_offsets':[3,0]}}",
                               7, faults, 4),
                     1);
    assert_string_equal(faults[0].rule, "offsets");
    char *header = malloc(2 * 65536 + 200);
    assert_non_null(header);
    strcpy(header, "{'a':{'dtype':'I8','shape':[1");
    size_t used = strlen(header);
    for (int i = 1; i < 65536; i++, used += 2)
        memcpy(header + used, ",1", 2);
    strcpy(header + used, "],'data_offsets':[0,1]}}");
    assert_int_equal(faults_of(header, 1, faults, 4), 1);
    assert_string_equal(faults[0].rule, "rank");
    free(header);
    /* What is no JSON hides what stands behind it. */
    assert_int_equal(faults_of("{'a':{'dtype':'X','shape':[2],'data_offsets':[0,2]},'b':0}", 7, faults, 4), 2);
    assert_string_equal(faults[0].rule, "dtype");
    assert_string_equal(faults[1].rule, "json");
}

/* ---- Many ---- */

static void many_tensors_unsorted(void **state)
{
    enum { COUNT = 50000 };
    char *header = malloc(COUNT * 100);
    size_t used = 1;
    dlpark_file *file = NULL;

    (void)state;
    assert_non_null(header);
    header[0] = '{';
    for (int i = 0; i < COUNT; i++) {
        int at = i * 7919 % COUNT; /* each once, in no order */
        used += (size_t)snprintf(header + used, 100,
                                 "%s'layer.%d.weight':{'dtype':'U8','shape':[1],'data_offsets':[%d,%d]}",
                                 i > 0 ? "," : "", at, at, at + 1);
    }
    strcpy(header + used, "}");
    tensor_file made = tensor_file_text(header, COUNT);
    free(header);
    assert_ok(open_bytes(&file, made.bytes, made.nbytes, e));
    assert_int_equal(dlpark_file_count(file), COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        int length = snprintf(name, sizeof name, "layer.%d.weight", i);
        assert_int_equal(dlpark_file_find(file, name, (size_t)length), i);
    }
    dlpark_file_release(&file);
    tensor_file_end(&made);
}

/* One more than there is room for in the table of names is a limit, and not a lack of memory. */
static void too_many_metadata_are_a_limit(void **state)
{
    size_t used = 0, many = DLPARK__NAMES_MOST + 1;
    char *header = malloc(many * 12 + 100);
    dlpark_file *file = NULL;

    (void)state;
    assert_non_null(header);
    used = (size_t)snprintf(header, 50, "{\"__metadata__\":{");
    char pair[] = "\"aaaaaa\":\"\",";
    for (size_t i = 0; i < many; i++, used += sizeof pair - 1) {
        for (size_t left = i, digit = 1; left > 0; left /= 16, digit++) /* printf would take most of the time */
            pair[digit] = (char)('a' + left % 16);
        memcpy(header + used, pair, sizeof pair - 1);
    }
    used--;
    memcpy(header + used, "}}", 2);
    tensor_file made = tensor_file_of(header, used + 2, 0);
    free(header);
    assert_fails(DLPARK_E_LIMIT, "more than 2097150 ", open_bytes(&file, made.bytes, made.nbytes, e));
    assert_null(file);
    tensor_file_end(&made);
}

/* ---- Damage ---- */

static const char usual[] = "{'__metadata__':{'format':'pt'},'a':{'dtype':'F32','shape':[1,2],'data_offsets':[0,8]},"
                            "'b\\n':{'shape':[2], 'dtype':'BOOL','data_offsets':[8,10]}}";

static void headers_that_are_cut(void **state)
{
    tensor_file whole = tensor_file_text(usual, 10);
    dlpark_file *file = NULL;

    (void)state;
    for (size_t nbytes = 0; nbytes < whole.nbytes; nbytes++) { /* the file */
        unsigned char *cut = malloc(nbytes > 0 ? nbytes : 1);
        assert_non_null(cut);
        memcpy(cut, whole.bytes, nbytes);
        assert_int_equal(open_bytes(&file, cut, nbytes, NULL), DLPARK_E_FORMAT);
        free(cut);
    }
    for (size_t nbytes = 0; nbytes < whole.data - 8; nbytes++) { /* the header, which says so */
        tensor_file cut = tensor_file_of((const char *)whole.bytes + 8, nbytes, 0);
        assert_int_equal(open_bytes(&file, cut.bytes, cut.nbytes, NULL), DLPARK_E_FORMAT);
        tensor_file_end(&cut);
    }
    assert_ok(open_bytes(&file, whole.bytes, whole.nbytes, e));
    dlpark_file_release(&file);
    tensor_file_end(&whole);
}

/* Whatever a byte is changed to: an error, or a file of which everything is true. */
static void every_byte_of_a_file_changed(void **state)
{
    tensor_file whole = tensor_file_text(usual, 10);
    int opened = 0;

    (void)state;
    for (size_t at = 0; at < whole.nbytes; at++) {
        unsigned char before = whole.bytes[at];
        for (unsigned byte = 0; byte < 256; byte++) {
            dlpark_file *file = NULL;
            whole.bytes[at] = (unsigned char)byte;
            dlpark_status status = open_bytes(&file, whole.bytes, whole.nbytes, NULL);
            assert_true(status == DLPARK_OK || status == DLPARK_E_FORMAT || status == DLPARK_E_LIMIT);
            assert_int_equal(file != NULL, status == DLPARK_OK);
            if (file != NULL)
                check_invariants(file, whole.bytes, whole.nbytes);
            opened += file != NULL;
            assert_true(file != NULL || (byte != before && at < whole.data));
            dlpark_file_release(&file);
        }
        whole.bytes[at] = before;
    }
    assert_true(opened > 256 * 10); /* of the bytes of tensors all, and of names and texts many */
    tensor_file_end(&whole);
}

static void reads_that_fail(void **state)
{
    tensor_file made = tensor_file_text(usual, 10);
    tensor_file_path path = tensor_file_save(&made);
    dlpark_file *file = NULL;
    size_t count;

    (void)state;
    for (int nth = 1; nth <= 2; nth++) {
        reads_until_failure = nth;
        assert_int_equal(dlpark_file_open(&file, path.text, NULL, NULL), DLPARK_E_IO);
        reads_until_failure = nth;
        assert_int_equal(dlpark_file_check(path.text, NULL, NULL, 0, &count, NULL), DLPARK_E_IO);
        assert_null(file);
    }
    reads_until_failure = 3;
    assert_ok(dlpark_file_open(&file, path.text, NULL, e));
    dlpark_file_release(&file);
    reads_until_failure = 0;
    tensor_file_drop(&path);
    tensor_file_end(&made);
}

static void no_memory_is_told(void **state)
{
    tensor_file made = tensor_file_text(usual, 10);
    dlpark_file *file = NULL;
    long live = failing_alloc_live(), failures = 0;
    bool is_reached = true;

    (void)state;
    for (long nth = 1; is_reached; nth++) { /* giving back what is left over fails too, and is no failure */
        dlpark_error err = {.status = DLPARK_OK};
        failing_alloc_arm(nth);
        dlpark_status status = open_bytes(&file, made.bytes, made.nbytes, &err);
        is_reached = failing_alloc_count() >= nth;
        failures += is_reached;
        failing_alloc_arm(0);
        assert_true(status == DLPARK_OK || (status == DLPARK_E_MEMORY && err.status == status && err.message[0] != 0));
        if (status == DLPARK_OK)
            check_invariants(file, made.bytes, made.nbytes);
        dlpark_file_release(&file);
        assert_int_equal(failing_alloc_live(), live);
    }
    assert_in_range(failures, 5, 50);
    tensor_file_end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_have_their_verdicts),
        cmocka_unit_test(files_that_are_too_short),
        cmocka_unit_test(header_has_a_limit),
        cmocka_unit_test(header_has_the_limit_of_the_format),
        cmocka_unit_test(header_is_one_object),
        cmocka_unit_test(header_is_utf8),
        cmocka_unit_test(names_are_any_text),
        cmocka_unit_test(bytes_are_of_one_tensor),
        cmocka_unit_test(no_hole_is_told_beside_a_tensor_outside),
        cmocka_unit_test(many_tensors_unsorted),
        cmocka_unit_test(too_many_metadata_are_a_limit),
        cmocka_unit_test(headers_that_are_cut),
        cmocka_unit_test(every_byte_of_a_file_changed),
        cmocka_unit_test(reads_that_fail),
        cmocka_unit_test(no_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
