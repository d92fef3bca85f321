/*
 * What the files of the command share: verbs as tables, the arguments of a call, and what is printed.
 */
#ifndef DLPARK_CLI_COMMAND_H
#define DLPARK_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dlpark/dlpark.h>
#include <dlpark/file.h>
#include <dlpark/file_write.h>

/* What the process ends with; of several files the highest. */
enum {
    CLI_FINE = 0,
    CLI_FAULTY = 1,     /* a file could be read, and is not right */
    CLI_MISUSE = 2,     /* the command line is not */
    CLI_UNREADABLE = 3, /* a file could not be opened, read or written */
};

/* ---- Verbs ---- */

typedef struct cli_option {
    const char *name;  /* without dashes */
    char letter;       /* 0: none */
    const char *value; /* what --help calls its value; NULL: a flag */
    const char *help;
} cli_option;

typedef struct cli_call cli_call;

typedef struct cli_verb {
    const char *name;
    const char *operands; /* "FILE..." */
    const char *summary;  /* half a line */
    const char *help;     /* paragraphs, wrapped at 80 columns */
    const char *examples; /* lines */
    const cli_option *options;
    size_t noptions;
    int least, most; /* operands; -1: any number */
    int (*run)(const cli_call *call);
} cli_verb;

extern const cli_verb cli_verb_info;
extern const cli_verb cli_verb_check;
extern const cli_verb cli_verb_show;
extern const cli_verb cli_verb_stats;
extern const cli_verb cli_verb_diff;
extern const cli_verb cli_verb_convert;
extern const cli_verb cli_verb_split;
extern const cli_verb cli_verb_merge;

/* ---- options.c ---- */

typedef struct cli_given {
    int option;        /* its number in the verb's table */
    const char *value; /* "" of a flag */
} cli_given;

struct cli_call {
    const cli_verb *verb;
    const char **operands;
    int noperands;
    cli_given *given;
    int ngiven;
};

/* Reads the arguments behind the verb. Prints what is wrong, or the help that was asked for; then the process ends with
 * *exit_code and false is returned. The call is ended by cli_call_end() in any case. */
bool cli_call_begin(cli_call *call, const cli_verb *verb, int argc, char **argv, int *exit_code);
void cli_call_end(cli_call *call);

/* The last value that was given to an option; NULL: none. */
const char *cli_value(const cli_call *call, int option);

/* Whether a name matches the patterns of --include, one of them if there are any, and none of --exclude. */
bool cli_is_wanted(const cli_call *call, int include, int exclude, const char *name);

/* Whether a tensor of the files is wanted, where they have any; false after telling. */
bool cli_check_wanted(const cli_call *call, int include, int exclude, dlpark_file *const *files, size_t count);

/* Which formats an option is for. */
typedef enum cli_formats {
    CLI_FORMATS_READ,    /* all, pictures too (pictures.h) */
    CLI_FORMATS_WRITTEN, /* but index files, which the library refuses */
    CLI_FORMATS_TENSORS, /* and but pictures */
} cli_formats;

/* The format that is asked for; false after telling that there is none of that name, and which there are. */
bool cli_read_format(const cli_call *call, int option, cli_formats which, dlpark_file_format *format);

/* The bytes of --align, 0 where they are not asked for; false after telling that they are no alignment. */
bool cli_read_align(const cli_call *call, int option, size_t *alignment_bytes);

/* How npz members are packed where --compress asks for it; false after telling that nothing here can. */
bool cli_read_compress(const cli_call *call, int option, const dlpark_deflate **deflate);

/* A row of the verbs that open files, and what they are to be opened with; `format`: the number of --format. False after
 * telling. */
#define CLI_FOLLOW_LINKS                                                                                               \
    {                                                                                                                  \
        "follow-links", 0, NULL, "shards of an index may be links, as in a cache of Hugging Face"                      \
    }
bool cli_follows_links(const cli_call *call);
bool cli_read_file_options(const cli_call *call, int format, dlpark_file_options *options);

/* Opens an operand; else CLI_MISUSE or what the failure is to the process, which is told. `format`: the option's number. */
int cli_open(const cli_call *call, const char *path, int format, dlpark_file **file);

/* The same for a verb with --json, whose schema is `schema`, else NULL: what is told is its object then. */
int cli_open_read(const cli_call *call, const char *path, int format, const char *schema, dlpark_file **file);

/* The word that `given` was probably meant to be; NULL: none is near. */
const char *cli_nearest(const char *given, const char *const *words, size_t count);

void cli_print_verb_help(const cli_verb *verb);

/* ---- manual.c ---- */

/* Prints the manual page ("man"), or a completion ("bash", "zsh"), of the verbs. */
int cli_manual(const char *what, const cli_verb *const *verbs, size_t count);

/* ---- terminal.c ---- */

/* Columns of standard output; 0 where it is no terminal, and nothing is cut. */
int cli_columns(void);

/* Bold text on a terminal, unless NO_COLOR or TERM=dumb; nothing is said by it alone. Both are "" elsewhere. */
const char *cli_bold(void);
const char *cli_plain(void);

/* "dlpark info: " and the message, on standard error. */
void cli_complain(const cli_verb *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a failed call of the library is to the process. */
int cli_exit_of(dlpark_status status);

/* "1.5 GiB", "12 B". */
typedef struct cli_size {
    char text[32];
} cli_size;
cli_size cli_show_size(uint64_t nbytes);

/* "[2, 3]" of any rank. */
typedef struct cli_shape {
    int length;
    char text[1400];
} cli_shape;
cli_shape cli_show_shape(const dlpark_file_entry *entry);

/* Whether a tensor's bytes are blocks of a type that is no dtype: Q4_0. */
bool cli_is_quantised(const dlpark_file *file, const dlpark_file_entry *entry);

/* A name, escaped, from malloc(); NULL: out of memory. */
char *cli_show_name(const char *name, size_t nbytes);

/* Flushes standard output; `code`, or CLI_UNREADABLE after telling that it could not be written. */
int cli_finish(int code);

/* ---- elements.c ---- */

/* A tensor of a file read a piece at a time, its elements converted: so much memory, whatever its size. */
typedef struct cli_elements {
    const dlpark_file *file;
    int64_t index;
    DLDataType from, to;
    int64_t numel;
    int64_t most; /* elements of a piece */
    int64_t done;
    dlpark_cast_options cast;
    bool is_whole; /* `read` is all of it, not a piece */
    dlpark_tensor read_memory, cast_memory;
    dlpark_view read, converted; /* of the memory */
} cli_elements;

/* On failure nothing is held. */
dlpark_status cli_elements_begin(cli_elements *elements, const dlpark_file *file, int64_t index, DLDataType to,
                                 dlpark_error *err);
void cli_elements_end(cli_elements *elements);

/* The next piece, compact and of one dimension; `piece` has no elements when there are no more. */
dlpark_status cli_elements_next(cli_elements *elements, dlpark_view *piece, dlpark_error *err);

/* ---- select.c ---- */

/* A tensor as a view of the mapping; where it cannot be mapped, of `loaded`, which is empty before and the caller ends. */
dlpark_status cli_view(dlpark_file *file, int64_t index, dlpark_view *view, dlpark_tensor *loaded, dlpark_error *err);

/* The same of a tensor by its name, with a slice in brackets behind it or not. */
dlpark_status cli_select(dlpark_file *file, const char *text, dlpark_view *view, dlpark_tensor *loaded,
                         dlpark_error *err);

/* ---- renames.c ---- */

/* Whether each value of --rename is OLD=NEW; false after telling. */
bool cli_check_renames(const cli_call *call, int option);

/* A tensor's name in the destination, from malloc(), and its length. NULL: out of memory. */
char *cli_rename(const cli_call *call, int option, const dlpark_file_entry *entry, size_t *nbytes);

/* ---- progress.c ---- */

/* One line on standard error, where that is a terminal: how much is done, how fast, how long it takes. */
typedef struct cli_progress {
    uint64_t nbytes; /* of all */
    uint64_t done;
    double began, shown; /* seconds */
    bool is_shown;
} cli_progress;

void cli_progress_begin(cli_progress *progress, uint64_t nbytes);
void cli_progress_add(cli_progress *progress, uint64_t nbytes);
void cli_progress_end(cli_progress *progress);

/* ---- signals.c ---- */

/* Whether somebody pressed Ctrl-C, or asked the process to end, since cli_watch_signals(): who is at work cleans up, and
 * says so by cli_interrupted(). */
void cli_watch_signals(void);
bool cli_is_interrupted(void);
int cli_interrupted(void); /* what the process ends with */

/* ---- parts.c ---- */

/* The tensors of a file, to be written as they are. */
typedef struct cli_parts {
    const dlpark_file *file;
    dlpark_file_part *parts; /* whose names are the file's */
    uint64_t *sizes;         /* bytes of each */
    int64_t *extents;
    size_t count;
    uint64_t nbytes;   /* of all */
    size_t nquantised; /* tensors of which only their blocks come along */
} cli_parts;

/* False: out of memory. To be ended in any case. */
bool cli_parts_begin(cli_parts *parts, const dlpark_file *file);
void cli_parts_end(cli_parts *parts);

/* Copies tensors, by their numbers, to the parts of a writer from `first` on, unless somebody wants the process to end. */
dlpark_status cli_parts_copy(const cli_parts *parts, const int64_t *tensors, size_t count, dlpark_file_writer *writer,
                             size_t first, cli_progress *progress, dlpark_error *err);

/* A metadata: its key, and its value behind it. */
typedef struct cli_text {
    char *text;
    size_t key_nbytes, value_nbytes;
    size_t order;
} cli_text;

/* The metadata of files, in memory of its own. Empty when zeroed. */
typedef struct cli_texts {
    cli_text *memory;
    size_t count;
    dlpark_file_pair *pairs; /* of each key one, when they are united */
    size_t npairs;
} cli_texts;

/* Adds those of a file; of an index, those of its shards. What the process ends with, else, after telling. */
int cli_texts_add(cli_texts *texts, const cli_call *call, const char *path, const dlpark_file *file);

/* Makes the pairs. False after telling: without `keeps_first` that a key has two values. */
bool cli_texts_unite(cli_texts *texts, const cli_verb *verb, bool keeps_first);
void cli_texts_end(cli_texts *texts);

/* The format that a file is written in: of --to, or that its name ends as; safetensors where neither says any. */
dlpark_file_format cli_written_format(const char *path, dlpark_file_format asked);

/* What FROM says, and TO will not. Empty when zeroed. */
typedef struct cli_losses {
    bool has_texts;    /* metadata that were numbers and arrays, or may have been */
    size_t nquantised; /* tensors of which only their blocks come along */
} cli_losses;

void cli_losses_add_texts(cli_losses *losses, const dlpark_file *file);
void cli_losses_tell(const cli_losses *losses, const cli_verb *verb);

/* Ends a writer whose tensors were written, with that status: the file gets its name, unless somebody wants the process to
 * end. Tells why it could not be written, and what helps. What the process ends with. */
int cli_end_writing(const cli_call *call, dlpark_file_writer *writer, dlpark_status status, const char *path,
                    const dlpark_file_write_options *options, const cli_losses *losses, dlpark_error *err);

/* What a failure to write is to the process: what could be read, and cannot be written so, is the command line's. */
int cli_exit_of_written(dlpark_status status, dlpark_file_format format);

/* ---- values.c ---- */

/* The metadata of a GGUF file as another gets them: texts, and what has a type behind them. Empty when zeroed. */
typedef struct cli_values {
    dlpark_file_pair *pairs; /* whose texts are the file's */
    size_t npairs;
    dlpark_file_value *values;
    size_t count;
} cli_values;

/* What the process ends with, else, after telling. To be ended in any case. */
int cli_values_read(cli_values *values, const cli_verb *verb, const dlpark_file *file);
void cli_values_end(cli_values *values);

/* ---- json_write.c ---- */

/* Commas and indentation of JSON on standard output. A key is NULL within a list. */
typedef struct cli_json {
    int depth;
    bool is_first; /* nothing is in the object or list yet */
} cli_json;

void cli_json_open(cli_json *json, const char *key, char bracket);
void cli_json_close(cli_json *json, char bracket);
void cli_json_text(cli_json *json, const char *key, const char *text, size_t nbytes);
void cli_json_word(cli_json *json, const char *key, const char *text); /* a terminated one */
void cli_json_uint(cli_json *json, const char *key, uint64_t number);
void cli_json_number(cli_json *json, const char *key, double number); /* null for what JSON has not */
void cli_json_bool(cli_json *json, const char *key, bool value);
void cli_json_member(cli_json *json, const char *key_text, size_t key_nbytes, const char *text, size_t nbytes);
void cli_json_extents(cli_json *json, const char *key, int32_t count, const int64_t *values);
void cli_json_key(cli_json *json, const char *key); /* what follows is the caller's */
void cli_json_put_number(double number);

/* An object with its schema, and a list in it, which is left open; and the ends of both. */
void cli_json_begin(cli_json *json, const char *schema, const char *list);
void cli_json_end(cli_json *json);

/* The object of a call whose file could not be opened. */
void cli_json_error(const char *schema, const char *message);

void cli_json_shape(cli_json *json, const char *key, const dlpark_file_entry *entry);

#endif
