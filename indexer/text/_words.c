/* What is done for each word of a text: the compiled twins of two functions in Python, which say what and why.

   split_words    identifiers.py: the parts of compound words
   count_classes  tokens.py: what an estimate of tokens is made of */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *text; /* into the text; NULL: a free place of the table */
    uint32_t length, count;
    PyObject *parts;  /* bytes, of a word that was asked about; NULL: they are cut here */
} Word;

typedef struct {
    Word **order; /* compound words as they were first met */
    Word *table;  /* open addressing, its size a power of two */
    size_t used, size;
    long max_repeats, max_parts, max_chars;
    PyObject *wide, *held; /* what is asked about words beyond ASCII, and what it said */
} Words;

enum { OTHER = 0, UPPER = 1, LOWER = 2, DIGIT = 4, LETTER = UPPER | LOWER, WORD = LETTER | DIGIT,
       SPACE = 8, NEWLINE = 16, PUNCTUATION = 32, WIDE = 64 };

static uint8_t kinds[256];

static int is(char character, int kind)
{
    return kinds[(uint8_t)character] & kind;
}

/* Where the part that begins at `at` ends: [A-Z]+s?(?![a-z]) | [A-Z]?[a-z]+ | [0-9]+ */
static const char *end_of_part(const char *at, const char *end)
{
    const char *to = at;
    if (is(*at, DIGIT)) {
        while (to < end && is(*to, DIGIT))
            to++;
        return to;
    }
    while (to < end && is(*to, UPPER))
        to++;
    if (to > at) {
        if (to < end && *to == 's' && (to + 1 == end || !is(to[1], LOWER)))
            return to + 1;
        if (to == end || !is(*to, LOWER))
            return to;
        if (to - at > 1)
            return to - 1; /* its last capital begins the next word */
    }
    while (to < end && is(*to, LOWER))
        to++;
    return to;
}

static int has_hump(const char *at, const char *end)
{
    for (; at + 1 < end; at++) {
        if (is(at[0], LOWER) && is(at[1], UPPER))
            return 1;
        if (at + 2 < end && is(at[0], UPPER) && is(at[1], UPPER) && is(at[2], LOWER))
            return 1;
    }
    return 0;
}

static int is_compound(const Words *words, const char *at, const char *end)
{
    int first = kinds[(uint8_t)*at], others = 0;
    for (const char *next = at + 1; next < end; next++)
        others |= kinds[(uint8_t)*next];
    if (others == 0 || (first | others) == UPPER || (first | others) == DIGIT)
        return 0;
    if (others == LOWER && first != DIGIT)
        return 0;
    if (end - at > words->max_chars)
        return 0;
    long parts = 0;
    for (const char *next = at; next < end; next = end_of_part(next, end))
        if (++parts > words->max_parts)
            return 0;
    return parts > 1 && (first != DIGIT || has_hump(at, end));
}

static Word *find(Word *table, size_t size, const char *text, size_t length)
{
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 1099511628211u;
    size_t place = (size_t)(hash >> 20) & (size - 1);
    while (table[place].text != NULL && (table[place].length != length || memcmp(table[place].text, text, length) != 0))
        place = (place + 1) & (size - 1);
    return &table[place];
}

static int grow(Words *words)
{
    size_t size = words->size ? words->size * 2 : 64;
    Word *table = calloc(size, sizeof(Word));
    Word **order = malloc(size / 2 * sizeof(Word *));
    if (table == NULL || order == NULL) {
        free(table);
        free(order);
        return -1;
    }
    for (size_t i = 0; i < words->used; i++) {
        const Word *word = words->order[i];
        order[i] = find(table, size, word->text, word->length);
        *order[i] = *word;
    }
    free(words->table);
    free(words->order);
    words->table = table;
    words->order = order;
    words->size = size;
    return 0;
}

static int add(Words *words, const char *at, const char *end, PyObject *parts)
{
    if (words->used * 2 >= words->size && grow(words) < 0)
        return -1;
    Word *word = find(words->table, words->size, at, (size_t)(end - at));
    if (word->text == NULL) {
        word->text = at;
        word->length = (uint32_t)(end - at);
        word->parts = parts;
        words->order[words->used++] = word;
    }
    if (word->count < words->max_repeats)
        word->count++;
    return 0;
}

/* What is said of a word beyond ASCII: the compound words in it, each with its parts. */
static int add_wide(Words *words, const char *at, const char *end)
{
    PyObject *key = PyBytes_FromStringAndSize(at, end - at);
    PyObject *found = key == NULL ? NULL : PyObject_GetItem(words->wide, key);
    Py_XDECREF(key);
    Py_ssize_t pieces = found == NULL ? -1 : PyTuple_Size(found);
    int failed = pieces < 0 || (pieces > 0 && PyList_Append(words->held, found) < 0);
    for (Py_ssize_t i = 0; i < pieces && !failed; i++) {
        PyObject *pair = PyTuple_GetItem(found, i);
        PyObject *piece = PyTuple_GetItem(pair, 0), *parts = piece == NULL ? NULL : PyTuple_GetItem(pair, 1);
        const char *text = parts == NULL ? NULL : PyBytes_AsString(piece);
        failed = text == NULL || add(words, text, text + PyBytes_Size(piece), parts) < 0;
    }
    Py_XDECREF(found);
    return failed ? -1 : 0;
}

static char *write_parts(char *to, const Word *word)
{
    const char *end = word->text + word->length;
    if (word->parts != NULL) {
        size_t length = (size_t)PyBytes_Size(word->parts);
        memcpy(to, PyBytes_AsString(word->parts), length);
        to += length;
        *to++ = ' ';
        return to;
    }
    for (const char *at = word->text; at < end;) {
        const char *next = end_of_part(at, end);
        for (; at < next; at++)
            *to++ = is(*at, UPPER) ? (char)(*at | 0x20) : *at;
        *to++ = ' ';
    }
    return to;
}

static PyObject *joined(const Words *words)
{
    size_t bytes = 0;
    for (size_t i = 0; i < words->used; i++)
        bytes += words->order[i]->count *
                 (words->order[i]->parts ? (size_t)PyBytes_Size(words->order[i]->parts) + 1 : 2 * words->order[i]->length);
    char *text = malloc(bytes + 1), *to = text;
    if (text == NULL)
        return PyErr_NoMemory();
    for (size_t i = 0; i < words->used; i++)
        for (uint32_t repeat = 0; repeat < words->order[i]->count; repeat++)
            to = write_parts(to, words->order[i]);
    PyObject *found = PyUnicode_FromStringAndSize(text, to > text ? to - text - 1 : 0);
    free(text);
    return found;
}

static int add_words(Words *words, const char *at, const char *end)
{
    while (at < end) {
        const char *start = at;
        int is_wide = 0;
        for (; at < end && (is(*at, WORD) || (uint8_t)*at >= 0x80); at++)
            is_wide |= (uint8_t)*at >= 0x80;
        if (is_wide ? add_wide(words, start, at) < 0
                    : at > start && is_compound(words, start, at) && add(words, start, at, NULL) < 0)
            return -1;
        at += at == start;
    }
    return 0;
}

static PyObject *split_words(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *text;
    Words words = {0};
    if (!PyArg_ParseTuple(arguments, "UlllO:split_words", &text, &words.max_repeats, &words.max_parts,
                          &words.max_chars, &words.wide))
        return NULL;
    Py_ssize_t length;
    const char *at = PyUnicode_AsUTF8AndSize(text, &length);
    if (at == NULL || (words.held = PyList_New(0)) == NULL)
        return NULL;
    PyObject *found = NULL;
    if (add_words(&words, at, at + length) == 0)
        found = joined(&words);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    Py_DECREF(words.held);
    free(words.table);
    free(words.order);
    return found;
}

/* How far the bytes of one kind go. */
static const uint8_t *end_of_run(const uint8_t *at, const uint8_t *end, int kind)
{
    while (at < end && kinds[*at] & kind)
        at++;
    return at;
}

static PyObject *count_classes(PyObject *Py_UNUSED(module), PyObject *raw)
{
    char *bytes;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(raw, &bytes, &length) < 0)
        return NULL;
    const uint8_t *at = (const uint8_t *)bytes, *end = at + length, *next;
    Py_ssize_t words = 0, beyond_six = 0, triples = 0, punctuation_runs = 0, punctuation = 0, newlines = 0, spaces = 0;
    Py_ssize_t wide = 0;
    int before = OTHER;
    for (; at < end; at = next) {
        int kind = kinds[*at];
        next = kind == OTHER ? at + 1 : end_of_run(at, end, kind);
        Py_ssize_t run = next - at;
        switch (kind) {
        case UPPER: /* each capital after a small letter begins a word, and so does one after anything else */
            words++;
            break;
        case LOWER:
            words += before != UPPER;
            beyond_six += run > 6 ? run - 6 : 0;
            break;
        case DIGIT:
            triples += (run + 2) / 3;
            break;
        case PUNCTUATION:
            punctuation_runs++;
            punctuation += run;
            break;
        case NEWLINE:
            newlines++;
            break;
        case SPACE:
            spaces += run > 1;
            break;
        case WIDE:
            wide += run;
            break;
        }
        before = kind;
    }
    return Py_BuildValue("nnnnnnnn", words, beyond_six, triples, punctuation_runs, punctuation, newlines, spaces, wide);
}

static PyMethodDef methods[] = {
    {"count_classes", count_classes, METH_O, NULL},
    {"split_words", split_words, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_words", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__words(void)
{
    for (int byte = 0; byte < 256; byte++)
        kinds[byte] = byte >= 'A' && byte <= 'Z'       ? UPPER
                      : byte >= 'a' && byte <= 'z'     ? LOWER
                      : byte >= '0' && byte <= '9'     ? DIGIT
                      : byte == ' ' || byte == '\t'    ? SPACE
                      : byte == '\r' || byte == '\n'   ? NEWLINE
                      : byte < 0x80                    ? PUNCTUATION
                      : byte >= 0xC0                   ? WIDE
                                                       : OTHER;
    return PyModule_Create(&definition);
}
