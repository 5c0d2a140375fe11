/* The counts of one batch of documents: the compiled twin of batch_counts.py, which says what it does and why.

   Everything that is a decision (what a column's count packs to, which level a count has) comes in as tables, so that
   there is one place for each. What is here is the loop over words, each of which is asked of the tokenizer once, the
   forward list's bytes, and the sums by term. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3, LEVELS = 6, NO_LEVEL = 255, NONE = 32767, PACKED = 1 << 16, BYTE_MAX = 255, BODY_PLAIN_MAX = 15,
       WORD_BYTES_MAX = 64, WORDS_MAX = 1 << 19 };

static uint32_t crc_table[256];

static void make_crc_table(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        crc_table[byte] = crc;
    }
}

/* As `binascii.crc32`. */
static uint32_t crc32_of(const uint8_t *at, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (; length > 0; at++, length--)
        crc = crc_table[(crc ^ *at) & 255] ^ crc >> 8;
    return ~crc;
}

typedef struct {
    uint32_t id;             /* 0: a free place of the table */
    int32_t df;              /* how many documents of the batch have the term */
    uint32_t document;       /* the last document that had it, counted from 1 */
    uint16_t packed;         /* its packed counts there, once all columns are read */
    uint16_t counts[COLUMNS];
    uint16_t shortest[LEVELS];
} Term;

/* A word as it is written, and the one term that the tokenizer makes of it; id 0: it makes none. */
typedef struct {
    uint32_t start, id;
    uint32_t length; /* 0: a free place of the table */
} Word;

typedef struct {
    PyObject_HEAD
    PyObject *tokens;        /* a function: the terms of a text, by the index's own tokenizer */
    Word *words;             /* what was asked of it; open addressing, its size a power of two */
    size_t words_size, words_used;
    char *letters;           /* of these words, one after the other */
    size_t letters_size, letters_used;
    PyObject *ids;           /* a mapping, term to id, that gives a new id to what it has not met */
    PyObject *level_of;      /* a mapping, packed counts to level */
    uint16_t *units[COLUMNS];
    Py_ssize_t most[COLUMNS];
    uint8_t *levels;         /* what level_of said */
    Term *table;             /* open addressing, its size a power of two */
    size_t size, used;
    uint32_t *met;           /* places in the table of the document's terms */
    size_t met_count, met_size;
    uint32_t documents;      /* how many were read */
} BatchCounts;

static size_t place_of(const Term *table, size_t size, uint32_t id)
{
    size_t place = (size_t)(id * 2654435761u) & (size - 1);
    while (table[place].id != 0 && table[place].id != id)
        place = (place + 1) & (size - 1);
    return place;
}

static int grow_table(BatchCounts *self)
{
    size_t size = self->size * 2;
    Term *table = calloc(size, sizeof(Term));
    if (table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < self->size; i++)
        if (self->table[i].id != 0)
            table[place_of(table, size, self->table[i].id)] = self->table[i];
    for (size_t i = 0; i < self->met_count; i++)
        self->met[i] = (uint32_t)place_of(table, size, self->table[self->met[i]].id);
    free(self->table);
    self->table = table;
    self->size = size;
    return 0;
}

/* The term of an id, as of the present document. */
static Term *term_of(BatchCounts *self, uint32_t id)
{
    if (self->used * 2 >= self->size && grow_table(self) < 0)
        return NULL;
    size_t place = place_of(self->table, self->size, id);
    Term *term = &self->table[place];
    if (term->id == 0) {
        term->id = id;
        for (int level = 0; level < LEVELS; level++)
            term->shortest[level] = NONE;
        self->used++;
    }
    if (term->document != self->documents) {
        if (self->met_count == self->met_size) {
            uint32_t *met = realloc(self->met, 2 * self->met_size * sizeof(uint32_t));
            if (met == NULL) {
                PyErr_NoMemory();
                return NULL;
            }
            self->met = met;
            self->met_size *= 2;
        }
        self->met[self->met_count++] = (uint32_t)place;
        term->document = self->documents;
        term->packed = 0;
        memset(term->counts, 0, sizeof term->counts);
    }
    return term;
}

static int read_id(PyObject *number, uint32_t *id)
{
    unsigned long value = PyLong_AsUnsignedLong(number);
    if (value == (unsigned long)-1 && PyErr_Occurred())
        return -1;
    if (value == 0 || value > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "the id of a term has 32 bits and is not 0");
        return -1;
    }
    *id = (uint32_t)value;
    return 0;
}

static int count_id(BatchCounts *self, uint32_t id, int column)
{
    Term *term = term_of(self, id);
    if (term == NULL)
        return -1;
    if (term->counts[column] < self->most[column])
        term->counts[column]++;
    return 0;
}

/* The id of a term; 0 with an exception. */
static uint32_t id_of(BatchCounts *self, PyObject *token)
{
    PyObject *found = token == NULL ? NULL : PyDict_GetItemWithError(self->ids, token);
    uint32_t id = 0;
    if (found != NULL)
        return read_id(found, &id) < 0 ? 0 : id;
    if (PyErr_Occurred() || (found = PyObject_GetItem(self->ids, token)) == NULL)
        return 0;
    if (read_id(found, &id) < 0)
        id = 0;
    Py_DECREF(found);
    return id;
}

static uint8_t kinds[256]; /* of a byte: 0 separates words, 1 is a part of one */

static void make_kinds(void)
{
    for (int byte = 0; byte < 256; byte++)
        kinds[byte] = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
                      byte >= 0x80;
}

static Word *find_word(const BatchCounts *self, const char *text, size_t length)
{
    uint64_t hash = length, part;
    const char *at = text;
    size_t left = length;
    for (; left >= 8; at += 8, left -= 8) {
        memcpy(&part, at, 8);
        hash = (hash ^ part) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    part = 0;
    memcpy(&part, at, left);
    hash = (hash ^ part) * 0xD6E8FEB86659FD93u;
    size_t place = (size_t)(hash ^ hash >> 32) & (self->words_size - 1);
    for (; self->words[place].length != 0; place = (place + 1) & (self->words_size - 1))
        if (self->words[place].length == length && memcmp(self->letters + self->words[place].start, text, length) == 0)
            break;
    return &self->words[place];
}

static void forget_words(BatchCounts *self)
{
    memset(self->words, 0, self->words_size * sizeof(Word));
    self->words_used = self->letters_used = 0;
}

static int remember(BatchCounts *self, const char *text, size_t length, uint32_t id)
{
    if (self->words_used >= WORDS_MAX)
        forget_words(self); /* logs have a new one in every line */
    if (self->words_used * 2 >= self->words_size) {
        Word *before = self->words;
        size_t size = self->words_size;
        if ((self->words = calloc(2 * size, sizeof(Word))) == NULL) {
            self->words = before;
            PyErr_NoMemory();
            return -1;
        }
        self->words_size = 2 * size;
        for (size_t i = 0; i < size; i++)
            if (before[i].length != 0)
                *find_word(self, self->letters + before[i].start, before[i].length) = before[i];
        free(before);
    }
    if (self->letters_used + length > self->letters_size) {
        char *letters = realloc(self->letters, 2 * self->letters_size);
        if (letters == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        self->letters = letters;
        self->letters_size *= 2;
    }
    memcpy(self->letters + self->letters_used, text, length);
    *find_word(self, text, length) = (Word){(uint32_t)self->letters_used, id, (uint32_t)length};
    self->letters_used += length;
    self->words_used++;
    return 0;
}

/* Count what the tokenizer makes of a text; how many tokens that are, -1 with an exception. */
static Py_ssize_t count_tokens(BatchCounts *self, PyObject *text, int column, uint32_t *only)
{
    PyObject *found = PyObject_CallFunctionObjArgs(self->tokens, text, NULL);
    Py_ssize_t length = found == NULL ? -1 : PyList_Size(found);
    for (Py_ssize_t i = 0; i < length; i++) {
        *only = id_of(self, PyList_GetItem(found, i));
        if (*only == 0 || count_id(self, *only, column) < 0)
            length = -1;
    }
    Py_XDECREF(found);
    return length;
}

/* Count the words of a text. What lies between separators of ASCII is tokenized by itself, so each such word is asked
   of the tokenizer once, unless it is long, or makes several terms. */
static Py_ssize_t count_column(BatchCounts *self, PyObject *text, int column)
{
    Py_ssize_t length, tokens = 0;
    uint32_t only = 0;
    const char *at = PyUnicode_AsUTF8AndSize(text, &length);
    if (at == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return -1;
        PyErr_Clear();
        return count_tokens(self, text, column, &only);
    }
    const char *end = at + length;
    while (at < end) {
        if (!kinds[(uint8_t)*at]) {
            at++;
            continue;
        }
        const char *start = at;
        while (at < end && kinds[(uint8_t)*at])
            at++;
        size_t bytes = (size_t)(at - start);
        const Word *word = bytes <= WORD_BYTES_MAX ? find_word(self, start, bytes) : NULL;
        if (word != NULL && word->length != 0) {
            if (word->id != 0) {
                if (count_id(self, word->id, column) < 0)
                    return -1;
                tokens++;
            }
            continue;
        }
        PyObject *written = PyUnicode_FromStringAndSize(start, (Py_ssize_t)bytes);
        only = 0;
        Py_ssize_t found = written == NULL ? -1 : count_tokens(self, written, column, &only);
        Py_XDECREF(written);
        if (found < 0 || (word != NULL && found < 2 && remember(self, start, bytes, only) < 0))
            return -1;
        tokens += found;
    }
    return tokens;
}

static int set_packed(BatchCounts *self, PyObject *fixed)
{
    Py_ssize_t length = PyList_Size(fixed);
    if (length < 0)
        return -1;
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *pair = PyList_GetItem(fixed, i);
        PyObject *number = pair == NULL ? NULL : PyTuple_GetItem(pair, 0);
        PyObject *packed = number == NULL ? NULL : PyTuple_GetItem(pair, 1);
        uint32_t id;
        if (packed == NULL || read_id(number, &id) < 0)
            return -1;
        long value = PyLong_AsLong(packed);
        if (value == -1 && PyErr_Occurred())
            return -1;
        if (value < 0 || value >= PACKED) {
            PyErr_SetString(PyExc_ValueError, "packed counts have 16 bits");
            return -1;
        }
        Term *term = term_of(self, id);
        if (term == NULL)
            return -1;
        term->packed = (uint16_t)value;
    }
    return 0;
}

static int level_of(BatchCounts *self, uint16_t packed)
{
    if (self->levels[packed] == NO_LEVEL) {
        PyObject *key = PyLong_FromLong(packed);
        PyObject *found = key == NULL ? NULL : PyObject_GetItem(self->level_of, key);
        Py_XDECREF(key);
        if (found == NULL)
            return -1;
        long level = PyLong_AsLong(found);
        Py_DECREF(found);
        if (level == -1 && PyErr_Occurred())
            return -1;
        if (level < 0 || level >= LEVELS) {
            PyErr_SetString(PyExc_ValueError, "there is no such level");
            return -1;
        }
        self->levels[packed] = (uint8_t)level;
    }
    return self->levels[packed];
}

static int ascending(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Ids of one document: few, and nearly sorted where its terms are new. */
static void sort_ids(uint32_t *ids, size_t count)
{
    if (count > 512) {
        qsort(ids, count, sizeof(uint32_t), ascending);
        return;
    }
    static const size_t gaps[] = {109, 41, 19, 5, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++)
        for (size_t gap = gaps[g], i = gap; i < count; i++) {
            uint32_t id = ids[i];
            size_t at = i;
            for (; at >= gap && ids[at - gap] > id; at -= gap)
                ids[at] = ids[at - gap];
            ids[at] = id;
        }
}

static uint8_t *put16(uint8_t *to, uint32_t value)
{
    *to++ = (uint8_t)value;
    *to++ = (uint8_t)(value >> 8);
    return to;
}

/* The forward list of the document that was read last. */
static PyObject *encode(BatchCounts *self)
{
    size_t count = self->met_count, small = 0, written_out = 0;
    uint32_t *ids = malloc((count ? count : 1) * sizeof(uint32_t));
    if (ids == NULL)
        return PyErr_NoMemory();
    for (size_t i = 0; i < count; i++) {
        const Term *term = &self->table[self->met[i]];
        ids[i] = term->id;
        small += term->id < PACKED;
        written_out += term->packed > BYTE_MAX;
    }
    int is_plain = written_out >= PACKED; /* a text of millions of words: their counts in the body will do */
    if (is_plain)
        written_out = 0;
    sort_ids(ids, count);
    size_t bytes = 4 + 2 * small + 4 * (count - small) + count + 2 * written_out + 4;
    PyObject *blob = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    if (blob == NULL) {
        free(ids);
        return NULL;
    }
    uint8_t *first = (uint8_t *)PyBytes_AsString(blob);
    uint8_t *to = put16(put16(first, (uint32_t)small), (uint32_t)written_out);
    for (size_t i = 0; i < small; i++)
        to = put16(to, ids[i]);
    for (size_t i = small; i < count; i++)
        to = put16(put16(to, ids[i]), ids[i] >> 16);
    uint8_t *large_counts = to + count;
    for (size_t i = 0; i < count; i++) {
        uint16_t packed = self->table[place_of(self->table, self->size, ids[i])].packed;
        if (is_plain && packed > BYTE_MAX) {
            packed &= BODY_PLAIN_MAX;
            *to++ = (uint8_t)(packed ? packed : 1);
        } else if (packed > BYTE_MAX) {
            *to++ = 0;
            large_counts = put16(large_counts, packed);
        } else {
            *to++ = (uint8_t)packed;
        }
    }
    uint32_t crc = crc32_of(first, (size_t)(large_counts - first));
    put16(put16(large_counts, crc), crc >> 16);
    free(ids);
    return blob;
}

/* One more document has the terms that were met, and so many tokens. */
static int observe(BatchCounts *self, Py_ssize_t length)
{
    uint16_t shortest = (uint16_t)(length < NONE ? length : NONE - 1);
    for (size_t i = 0; i < self->met_count; i++) {
        Term *term = &self->table[self->met[i]];
        int level = level_of(self, term->packed);
        if (level < 0)
            return -1;
        term->df++;
        if (shortest < term->shortest[level])
            term->shortest[level] = shortest;
    }
    return 0;
}

static PyObject *add(BatchCounts *self, PyObject *arguments)
{
    PyObject *texts[COLUMNS], *fixed;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "UUUOn:add", &texts[0], &texts[1], &texts[2], &fixed, &length))
        return NULL;
    self->documents++;
    self->met_count = 0;
    for (int column = 0; column < COLUMNS; column++) {
        Py_ssize_t tokens = count_column(self, texts[column], column);
        if (tokens < 0)
            return NULL;
        length += tokens;
    }
    for (size_t i = 0; i < self->met_count; i++) {
        Term *term = &self->table[self->met[i]];
        for (int column = 0; column < COLUMNS; column++)
            term->packed |= self->units[column][term->counts[column]];
    }
    if (set_packed(self, fixed) < 0 || observe(self, length) < 0)
        return NULL;
    return Py_BuildValue("Nn", encode(self), length);
}

static PyObject *remove_terms(BatchCounts *self, PyObject *ids)
{
    Py_ssize_t length = PyList_Size(ids);
    if (length < 0)
        return NULL;
    self->documents++;
    self->met_count = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *number = PyList_GetItem(ids, i);
        uint32_t id;
        if (number == NULL || read_id(number, &id) < 0)
            return NULL;
        Term *term = term_of(self, id);
        if (term == NULL)
            return NULL;
        term->df--;
    }
    Py_RETURN_NONE;
}

static PyObject *take(BatchCounts *self, PyObject *Py_UNUSED(nothing))
{
    PyObject *rows = PyList_New(0);
    for (size_t i = 0; rows != NULL && i < self->size; i++) {
        const Term *term = &self->table[i];
        if (term->id == 0)
            continue;
        const uint16_t *shortest = term->shortest;
        PyObject *row = Py_BuildValue("iHHHHHHI", term->df, shortest[0], shortest[1], shortest[2], shortest[3],
                                      shortest[4], shortest[5], term->id);
        if (row == NULL || PyList_Append(rows, row) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    memset(self->table, 0, self->size * sizeof(Term));
    self->used = self->met_count = 0;
    self->documents = 0;
    return rows;
}

static PyObject *forget(BatchCounts *self, PyObject *Py_UNUSED(nothing))
{
    forget_words(self);
    Py_RETURN_NONE;
}

static void destroy(BatchCounts *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    Py_XDECREF(self->tokens);
    free(self->words);
    free(self->letters);
    Py_XDECREF(self->ids);
    Py_XDECREF(self->level_of);
    for (int column = 0; column < COLUMNS; column++)
        free(self->units[column]);
    free(self->levels);
    free(self->table);
    free(self->met);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static int read_units(BatchCounts *self, PyObject *units, int column)
{
    Py_ssize_t count = PyTuple_Size(units);
    if (count < 1)
        return -1;
    self->most[column] = count - 1;
    self->units[column] = malloc((size_t)count * sizeof(uint16_t));
    if (self->units[column] == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        long packed = PyLong_AsLong(PyTuple_GetItem(units, i));
        if (packed < 0 || packed >= PACKED) {
            PyErr_SetString(PyExc_ValueError, "packed counts have 16 bits");
            return -1;
        }
        self->units[column][i] = (uint16_t)packed;
    }
    return 0;
}

static PyObject *create(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(named))
{
    PyObject *tokens, *ids, *units[COLUMNS], *levels;
    if (!PyArg_ParseTuple(arguments, "OO(O!O!O!)O:BatchCounts", &tokens, &ids, &PyTuple_Type, &units[0],
                          &PyTuple_Type, &units[1], &PyTuple_Type, &units[2], &levels))
        return NULL;
    if (!PyDict_Check(ids)) {
        PyErr_SetString(PyExc_TypeError, "ids is a dict");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    BatchCounts *self = (BatchCounts *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->tokens = Py_NewRef(tokens);
    self->words_size = 1 << 12;
    self->words = calloc(self->words_size, sizeof(Word));
    self->letters_size = 1 << 15;
    self->letters = malloc(self->letters_size);
    self->ids = Py_NewRef(ids);
    self->level_of = Py_NewRef(levels);
    self->size = 1 << 10;
    self->met_size = 1 << 8;
    self->levels = malloc(PACKED);
    self->table = calloc(self->size, sizeof(Term));
    self->met = malloc(self->met_size * sizeof(uint32_t));
    if (self->levels == NULL || self->table == NULL || self->met == NULL || self->words == NULL ||
        self->letters == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    memset(self->levels, NO_LEVEL, PACKED);
    for (int column = 0; column < COLUMNS; column++)
        if (read_units(self, units[column], column) < 0) {
            Py_DECREF(self);
            return NULL;
        }
    return (PyObject *)self;
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)add, METH_VARARGS, NULL},
    {"remove", (PyCFunction)remove_terms, METH_O, NULL},
    {"take", (PyCFunction)take, METH_NOARGS, NULL},
    {"forget", (PyCFunction)forget, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)create},
    {Py_tp_dealloc, (void *)destroy},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec type_of_counts = {
    .name = "ctxrank.indexer.fulltext._batch_counts.BatchCounts",
    .basicsize = sizeof(BatchCounts),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_batch_counts", .m_size = -1};

PyMODINIT_FUNC PyInit__batch_counts(void)
{
    make_crc_table();
    make_kinds();
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = module == NULL ? NULL : PyType_FromSpec(&type_of_counts);
    if (type == NULL || PyModule_AddObjectRef(module, "BatchCounts", type) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
