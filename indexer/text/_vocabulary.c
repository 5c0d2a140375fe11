/* Counts the tokens of o200k_base as tiktoken does: the compiled counter of vocabulary.py.

   A text is cut into words as the pattern there says, and each word into tokens by byte pair encoding: of all pairs of
   neighbours that are a token the one of the lowest rank is merged, the first of several, until none is left. The
   pattern is written out here as a scanner: it needs no table but the class of each character, which Python gives. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What vocabulary.py calls a character, or else raises an exception: UPPER is \p{Lu} and \p{Lt}, LOWER \p{Ll}, CASELESS \p{Lm} and \p{Lo}, MARK \p{M},
   NUMBER \p{N}, NEWLINE \r and \n, SPACE all other \s. */
enum { UPPER = 1, LOWER = 2, CASELESS = 4, MARK = 8, NUMBER = 16, SPACE = 32, NEWLINE = 64, OTHER = 128 };
enum { CAPITALS = UPPER | CASELESS | MARK, SMALLS = LOWER | CASELESS | MARK, LETTERS = UPPER | LOWER | CASELESS,
       BLANK = SPACE | NEWLINE, CODE_POINTS = 0x110000, LONGEST_TOKEN = 255, MOST_BYTES = 1 << 24 };

static const uint32_t NO_RANK = UINT32_MAX;

typedef struct {
    uint32_t start : 24, length : 8; /* of its bytes; length 0: a free place of the table */
    uint32_t rank;
} Token;

typedef struct {
    uint32_t rank, at, version;
} Pair;

/* A word and how many tokens it has: a text says the same ones again and again, and these lie closer together than all
   tokens do. */
enum { KNOWN = 1 << 16, KNOWN_BYTES = 30 };

typedef struct {
    uint8_t length, tokens, bytes[KNOWN_BYTES];
} Word;

typedef struct {
    PyObject_HEAD
    PyObject *class_of;
    uint8_t *classes;  /* of each code point; 0: not asked yet */
    uint8_t *bytes;    /* of all tokens, one after the other */
    Token *table;      /* open addressing, its size a power of two */
    size_t size, used; /* places of the table; how many bytes there are */
    Py_buffer image;   /* what both lie in where an image was given; else its obj is NULL */
    Word *known;       /* the last word of each hash */
    uint32_t *places;  /* of the word at hand: where each part ends, the part before it, its version */
    Pair *heap;
    size_t room, pairs;
} Vocabulary;

/* Fewer than eight bytes as a number, another one for each text of that length; a call of memcpy takes longer. */
static uint64_t number_of(const uint8_t *at, size_t length)
{
    uint32_t first, last;
    uint64_t number = 0;
    if (length >= 4) {
        memcpy(&first, at, 4);
        memcpy(&last, at + length - 4, 4);
        return (uint64_t)last << 32 | first;
    }
    for (; length > 0; length--)
        number = number << 8 | *at++;
    return number;
}

static uint64_t hash_of(const uint8_t *at, size_t length)
{
    uint64_t hash = length * 0x9E3779B97F4A7C15u, part;
    for (; length >= 8; at += 8, length -= 8) {
        memcpy(&part, at, 8);
        hash = (hash ^ part) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    hash = (hash ^ number_of(at, length)) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
}

static Token *find_hashed(const Vocabulary *self, const uint8_t *at, size_t length, uint64_t hash)
{
    size_t place = (size_t)hash & (self->size - 1);
    for (size_t left = self->size; --left && self->table[place].length != 0; place = (place + 1) & (self->size - 1)) {
        const Token *token = &self->table[place];
        if (token->length == length && token->start + length <= self->used &&
            memcmp(self->bytes + token->start, at, length) == 0)
            break;
    }
    return &self->table[place];
}

static Token *find(const Vocabulary *self, const uint8_t *at, size_t length)
{
    return find_hashed(self, at, length, hash_of(at, length));
}

static uint32_t rank_of(const Vocabulary *self, const uint8_t *at, size_t length)
{
    if (length > LONGEST_TOKEN)
        return NO_RANK;
    const Token *token = find(self, at, length);
    return token->length ? token->rank : NO_RANK;
}

/* Byte pair encoding: the pairs are in a heap, and those whose parts have changed since are passed over. */

static int is_before(const Pair *one, const Pair *other)
{
    return one->rank < other->rank || (one->rank == other->rank && one->at < other->at);
}

static void push(Vocabulary *self, Pair pair)
{
    size_t place = self->pairs++;
    for (; place > 0 && is_before(&pair, &self->heap[(place - 1) / 2]); place = (place - 1) / 2)
        self->heap[place] = self->heap[(place - 1) / 2];
    self->heap[place] = pair;
}

static Pair pop(Vocabulary *self)
{
    Pair first = self->heap[0], last = self->heap[--self->pairs];
    size_t place = 0;
    for (size_t child; (child = 2 * place + 1) < self->pairs; place = child) {
        if (child + 1 < self->pairs && is_before(&self->heap[child + 1], &self->heap[child]))
            child++;
        if (!is_before(&self->heap[child], &last))
            break;
        self->heap[place] = self->heap[child];
    }
    self->heap[place] = last;
    return first;
}

static void push_pair(Vocabulary *self, const uint8_t *word, size_t length, uint32_t at)
{
    const uint32_t *ends = self->places, *versions = ends + 2 * self->room;
    if (ends[at] >= length)
        return;
    uint32_t rank = rank_of(self, word + at, ends[ends[at]] - at);
    if (rank != NO_RANK)
        push(self, (Pair){rank, at, versions[at]});
}

/* How many parts there are; 0 without memory. */
static size_t merge(Vocabulary *self, const uint8_t *word, size_t length)
{
    if (length > self->room) {
        free(self->places);
        free(self->heap);
        self->room = 0;
        self->places = malloc(3 * length * sizeof *self->places);
        self->heap = malloc(3 * length * sizeof *self->heap); /* each merge takes one pair and brings two */
        if (self->places == NULL || self->heap == NULL)
            return 0;
        self->room = length;
    }
    uint32_t *ends = self->places, *before = ends + self->room, *versions = before + self->room;
    size_t parts = length;
    self->pairs = 0;
    for (size_t i = 0; i < length; i++) {
        ends[i] = (uint32_t)i + 1;
        before[i] = i ? (uint32_t)i - 1 : UINT32_MAX;
        versions[i] = 0;
    }
    for (size_t i = 0; i + 1 < length; i++)
        push_pair(self, word, length, (uint32_t)i);
    while (self->pairs > 0) {
        Pair pair = pop(self);
        if (versions[pair.at] != pair.version)
            continue;
        uint32_t gone = ends[pair.at];
        ends[pair.at] = ends[gone];
        versions[pair.at]++;
        versions[gone] = UINT32_MAX; /* no pair begins there any more */
        parts--;
        if (ends[pair.at] < length)
            before[ends[pair.at]] = pair.at;
        push_pair(self, word, length, pair.at);
        if (before[pair.at] != UINT32_MAX) {
            versions[before[pair.at]]++;
            push_pair(self, word, length, before[pair.at]);
        }
    }
    return parts;
}

static size_t tokens_of(Vocabulary *self, const uint8_t *word, size_t length)
{
    if (length > KNOWN_BYTES) {
        if (rank_of(self, word, length) != NO_RANK)
            return 1;
        return merge(self, word, length);
    }
    uint64_t hash = hash_of(word, length);
    Word *known = &self->known[hash >> 40 & (KNOWN - 1)];
    if (known->length != length || memcmp(known->bytes, word, length) != 0) {
        size_t tokens = find_hashed(self, word, length, hash)->length ? 1 : merge(self, word, length);
        known->length = (uint8_t)length;
        known->tokens = (uint8_t)tokens;
        memcpy(known->bytes, word, length);
    }
    return known->tokens;
}

/* Cutting a text into words. */

typedef struct {
    const uint8_t *text, *end;
    uint8_t *classes;
    PyObject *class_of;
    int failed;
} Reader;

static int class_of_wide(Reader *reader, const uint8_t *at, const uint8_t **next);

/* The class of the character there, 0 at the end and after an exception, and where the next one begins. */
static inline int class_at(Reader *reader, const uint8_t *at, const uint8_t **next)
{
    if (at < reader->end && at[0] < 0x80 && reader->classes[at[0]] != 0) {
        *next = at + 1;
        return reader->classes[at[0]];
    }
    return class_of_wide(reader, at, next);
}

/* The same for any character. */
static int class_of_wide(Reader *reader, const uint8_t *at, const uint8_t **next)
{
    *next = at;
    if (at >= reader->end || reader->failed)
        return 0;
    uint32_t code = at[0];
    int more = code < 0x80 ? 0 : code < 0xE0 ? 1 : code < 0xF0 ? 2 : 3;
    if (more > 0) {
        code &= 0x3F >> more;
        for (int i = 1; i <= more; i++)
            code = code << 6 | (at[i] & 0x3F);
    }
    *next = at + more + 1;
    if (reader->classes[code] == 0) {
        PyObject *found = PyObject_CallFunction(reader->class_of, "I", code);
        long value = found == NULL ? -1 : PyLong_AsLong(found);
        Py_XDECREF(found);
        if (value < 1 || value > 255) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "there is no such class of characters");
            reader->failed = 1;
            return 0;
        }
        reader->classes[code] = (uint8_t)value;
    }
    return reader->classes[code];
}

static int peek(Reader *reader, const uint8_t *at)
{
    const uint8_t *next;
    return class_at(reader, at, &next);
}

static const uint8_t *run(Reader *reader, const uint8_t *at, int classes)
{
    const uint8_t *next;
    while (class_at(reader, at, &next) & classes)
        at = next;
    return at;
}

static int is_letter(uint8_t byte, char lower)
{
    return byte == (uint8_t)lower || byte == (uint8_t)(lower - 32);
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d)? */
static const uint8_t *contraction(const Reader *reader, const uint8_t *at)
{
    const uint8_t *end = reader->end;
    if (end - at < 2 || *at != '\'')
        return at;
    uint8_t one = at[1];
    if (is_letter(one, 's') || is_letter(one, 't') || is_letter(one, 'm') || is_letter(one, 'd'))
        return at + 2;
    if (end - at < 3)
        return at;
    uint8_t two = at[2];
    if (one == 0xC5 && two == 0xBF) /* the long s is an s whatever its case */
        return at + 3;
    if ((is_letter(one, 'r') && is_letter(two, 'e')) || (is_letter(one, 'v') && is_letter(two, 'e')) ||
        (is_letter(one, 'l') && is_letter(two, 'l')))
        return at + 3;
    return at;
}

/* [CAPITALS]*[SMALLS]+; NULL where that is not there. */
static const uint8_t *ending_small(Reader *reader, const uint8_t *at)
{
    const uint8_t *last_both = NULL, *next;
    int class;
    while ((class = class_at(reader, at, &next)) & CAPITALS) {
        if (class & (CASELESS | MARK))
            last_both = next;
        at = next;
    }
    return class & LOWER ? run(reader, at, SMALLS) : last_both;
}

/* [CAPITALS]+[SMALLS]* */
static const uint8_t *ending_anyhow(Reader *reader, const uint8_t *at)
{
    const uint8_t *to = run(reader, at, CAPITALS);
    return to == at ? NULL : run(reader, to, SMALLS);
}

/* Where the word that begins there ends: the seven alternatives of the pattern, in their order. */
static const uint8_t *end_of_word(Reader *reader, const uint8_t *at)
{
    const uint8_t *next, *to;
    int class = class_at(reader, at, &next);
    int may_lead = !(class & (LETTERS | NUMBER | NEWLINE));
    if (class & (LETTERS | MARK) || (may_lead && peek(reader, next) & (LETTERS | MARK))) {
        if (may_lead && (to = ending_small(reader, next)) != NULL)
            return contraction(reader, to);
        if ((to = ending_small(reader, at)) != NULL)
            return contraction(reader, to);
        if (may_lead && (to = ending_anyhow(reader, next)) != NULL)
            return contraction(reader, to);
        if ((to = ending_anyhow(reader, at)) != NULL)
            return contraction(reader, to);
    }
    if (class & NUMBER) {
        for (int digits = 1; digits < 3 && class_at(reader, next, &to) & NUMBER; digits++)
            next = to;
        return next;
    }
    to = *at == ' ' ? next : at;
    if (peek(reader, to) & (OTHER | MARK)) {
        to = run(reader, to, OTHER | MARK);
        while (to < reader->end && (*to == '\r' || *to == '\n' || *to == '/'))
            to++;
        return to;
    }
    const uint8_t *last = at, *after_newline = NULL;
    for (to = at; (class = class_at(reader, to, &next)) & BLANK; to = next) {
        last = to;
        if (class & NEWLINE)
            after_newline = next;
    }
    if (after_newline != NULL)
        return after_newline;
    return class == 0 || last == at ? to : last; /* the last blank goes with the word behind it */
}

static PyObject *count(Vocabulary *self, PyObject *text)
{
    Py_ssize_t length;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length);
    if (utf8 == NULL)
        return NULL;
    if ((uint64_t)length >= UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "too long a text");
        return NULL;
    }
    const uint8_t *at = (const uint8_t *)utf8;
    Reader reader = {at, at + length, self->classes, self->class_of, 0};
    size_t tokens = 0;
    while (at < reader.end) {
        const uint8_t *to = end_of_word(&reader, at);
        if (reader.failed)
            return NULL;
        size_t found = tokens_of(self, at, (size_t)(to - at));
        if (found == 0)
            return PyErr_NoMemory();
        tokens += found;
        at = to;
    }
    return PyLong_FromSize_t(tokens);
}

/* Reading the file: a line for each token, its bytes in base 64 and its rank. */

enum { NO_DIGIT = 64 };

static uint8_t digits[256];

static void make_digits(void)
{
    const char *alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(digits, NO_DIGIT, sizeof digits);
    for (uint8_t digit = 0; digit < 64; digit++)
        digits[(uint8_t)alphabet[digit]] = digit;
}

static int read_tokens(Vocabulary *self, const uint8_t *at, const uint8_t *end)
{
    uint32_t used = 0;
    while (at < end) {
        uint32_t bits = 0, count = 0, start = used, rank = 0;
        for (uint8_t digit; at < end && (digit = digits[*at]) != NO_DIGIT; at++) {
            bits = bits << 6 | digit;
            if ((count += 6) >= 8)
                self->bytes[used++] = (uint8_t)(bits >> (count -= 8));
        }
        while (at < end && *at == '=')
            at++;
        if (used == start || used - start > LONGEST_TOKEN || used >= MOST_BYTES || at + 1 >= end || *at++ != ' ')
            return -1;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            rank = rank * 10 + (uint32_t)(*at - '0');
        if (at < end && *at++ != '\n')
            return -1;
        self->used = used;
        Token *token = find(self, self->bytes + start, used - start);
        *token = (Token){.start = start, .length = used - start, .rank = rank};
    }
    return 0;
}

/* An image: this, then the table and the bytes as they lie in memory, so that a process that counts little need not
   make them again. What is in it is believed as far as no place outside of it is read. */

typedef struct {
    uint64_t magic, size, used;
} Image;

static const uint64_t MAGIC = 0x31006B3030326F01u;

static PyObject *image(Vocabulary *self, PyObject *Py_UNUSED(nothing))
{
    size_t table = self->size * sizeof(Token);
    PyObject *made = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(sizeof(Image) + table + self->used));
    if (made == NULL)
        return NULL;
    char *at = PyBytes_AsString(made);
    memcpy(at, &(Image){MAGIC, self->size, self->used}, sizeof(Image));
    memcpy(at + sizeof(Image), self->table, table);
    memcpy(at + sizeof(Image) + table, self->bytes, self->used);
    return made;
}

/* Whether the buffer is an image; its table and bytes are taken as they lie there. */
static int take_image(Vocabulary *self)
{
    const Image *head = self->image.buf;
    size_t length = (size_t)self->image.len;
    if (length < sizeof(Image) || head->magic != MAGIC || head->size == 0 || head->size > MOST_BYTES ||
        (head->size & (head->size - 1)) != 0 || length != sizeof(Image) + head->size * sizeof(Token) + head->used)
        return 0;
    self->size = (size_t)head->size;
    self->used = (size_t)head->used;
    self->table = (Token *)(head + 1);
    self->bytes = (uint8_t *)(self->table + self->size);
    return 1;
}

static void destroy(Vocabulary *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    Py_XDECREF(self->class_of);
    free(self->classes);
    if (self->image.obj == NULL) {
        free(self->bytes);
        free(self->table);
    } else {
        PyBuffer_Release(&self->image);
    }
    free(self->known);
    free(self->places);
    free(self->heap);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Read a file's data into a table of this instance's own. -1 for what is none, and without memory. */
static int read_file(Vocabulary *self, const char *data, size_t length)
{
    size_t lines = 1;
    for (size_t i = 0; i < length; i++)
        lines += data[i] == '\n';
    for (self->size = 1024; self->size < 2 * lines; self->size *= 2)
        ;
    self->bytes = malloc(length + 1);
    self->table = calloc(self->size, sizeof(Token));
    if (self->bytes == NULL || self->table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    return read_tokens(self, (const uint8_t *)data, (const uint8_t *)data + length);
}

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(named))
{
    Py_buffer data;
    PyObject *class_of;
    if (!PyArg_ParseTuple(arguments, "y*O:Vocabulary", &data, &class_of))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Vocabulary *self = (Vocabulary *)allocate(type, 0);
    if (self == NULL) {
        PyBuffer_Release(&data);
        return NULL;
    }
    self->class_of = Py_NewRef(class_of);
    self->classes = calloc(CODE_POINTS, 1);
    self->known = calloc(KNOWN, sizeof(Word));
    self->image = data;
    int failed = 0;
    if (!take_image(self)) {
        self->image.obj = NULL;
        failed = read_file(self, data.buf, (size_t)data.len);
        PyBuffer_Release(&data);
    }
    if (self->classes == NULL || self->known == NULL)
        PyErr_NoMemory();
    for (int byte = 0; byte < 256 && !failed && !PyErr_Occurred(); byte++) /* so that every text has tokens */
        failed = rank_of(self, &(uint8_t){(uint8_t)byte}, 1) == NO_RANK;
    if (failed && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "no vocabulary");
    if (PyErr_Occurred())
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMethodDef methods[] = {
    {"count", (PyCFunction)count, METH_O, NULL},
    {"image", (PyCFunction)image, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)create},
    {Py_tp_dealloc, (void *)destroy},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec type_of_vocabulary = {
    .name = "ctxrank.indexer.text._vocabulary.Vocabulary",
    .basicsize = sizeof(Vocabulary),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_vocabulary", .m_size = -1};

PyMODINIT_FUNC PyInit__vocabulary(void)
{
    make_digits();
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = module == NULL ? NULL : PyType_FromSpec(&type_of_vocabulary);
    if (type == NULL || PyModule_AddObjectRef(module, "Vocabulary", type) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
