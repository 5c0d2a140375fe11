/* What is done for each word of a text: the compiled twins of two functions and a class of Python, which say what and why.

   compound_words    identifiers.py: the words that have parts
   identifiers       identifiers.py: the parts of all words of a text of ASCII
   count_classes     tokens.py: what an estimate of tokens and its surcharge are made of
   WordFinder        word_finder.py: which words of a text a query asks for */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    long max_parts, max_chars; /* of a compound */
} Limits;

enum { OTHER = 0, UPPER = 1, LOWER = 2, DIGIT = 4, LETTER = UPPER | LOWER, WORD = LETTER | DIGIT,
       SPACE = 8, NEWLINE = 16, PUNCTUATION = 32, WIDE = 64, IN_PIECE = 128 };

static uint8_t kinds[256];

static int is(char character, int kind)
{
    return kinds[(uint8_t)character] & kind;
}

/* How far the bytes of a kind go; of any other than it, with `is_one` 0. */
static const char *end_of_run(const char *at, const char *end, int kind, int is_one)
{
    while (at < end && !is(*at, kind) == !is_one)
        at++;
    return at;
}

/* Where the part that begins at `at` ends: [A-Z]+s?(?![a-z]) | [A-Z]?[a-z]+ | [0-9]+ */
static const char *end_of_part(const char *at, const char *end)
{
    if (is(*at, DIGIT))
        return end_of_run(at, end, DIGIT, 1);
    const char *to = end_of_run(at, end, UPPER, 1);
    if (to > at) {
        if (to < end && *to == 's' && (to + 1 == end || !is(to[1], LOWER)))
            return to + 1;
        if (to == end || !is(*to, LOWER))
            return to;
        if (to - at > 1)
            return to - 1; /* its last capital begins the next word */
    }
    return end_of_run(to, end, LOWER, 1);
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

static int is_compound(const Limits *limits, const char *at, const char *end)
{
    int first = is(*at, WORD), others = 0;
    for (const char *next = at + 1; next < end; next++)
        others |= is(*next, WORD);
    if (others == 0 || (first | others) == UPPER || (first | others) == DIGIT)
        return 0;
    if (others == LOWER && first != DIGIT)
        return 0;
    if (end - at > limits->max_chars)
        return 0;
    long parts = 0;
    for (const char *next = at; next < end; next = end_of_part(next, end))
        if (++parts > limits->max_parts)
            return 0;
    return parts > 1 && (first != DIGIT || has_hump(at, end));
}

static int append(PyObject *list, const char *at, const char *end)
{
    PyObject *bytes = PyBytes_FromStringAndSize(at, end - at);
    int failed = bytes == NULL || PyList_Append(list, bytes) < 0;
    Py_XDECREF(bytes);
    return failed;
}

/* The words of a text in UTF-8 that are compounds, and those beyond ASCII, each as often as it is there. */
static PyObject *compound_words(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *at, *next;
    Py_ssize_t length;
    Limits limits;
    if (!PyArg_ParseTuple(arguments, "y#ll:compound_words", &at, &length, &limits.max_parts, &limits.max_chars))
        return NULL;
    PyObject *found = PyList_New(0);
    int failed = found == NULL;
    for (const char *end = at + length; !failed && (at = end_of_run(at, end, IN_PIECE, 0)) < end; at = next) {
        next = end_of_run(at, end, IN_PIECE, 1);
        if (end_of_run(at, next, WORD, 1) < next || is_compound(&limits, at, next))
            failed = append(found, at, next);
    }
    if (failed)
        Py_CLEAR(found);
    return found;
}

/* A compound of one text, and how often it has been met there. */
typedef struct {
    const char *at;
    uint32_t length, met;
} Compound;

/* Those of a text, in the order in which they were met. */
typedef struct {
    Compound *list;
    uint32_t *table; /* open addressing, twice as large as the list: 1 + the place in the list, 0: free */
    size_t count, room;
} Compounds;

static uint32_t *place_of(const Compounds *found, const char *at, size_t length)
{
    uint32_t hash = (uint32_t)length;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)at[i]) * 16777619u;
    size_t mask = 2 * found->room - 1, place = (hash ^ hash >> 15) & mask;
    for (; found->table[place] != 0; place = (place + 1) & mask) {
        const Compound *one = &found->list[found->table[place] - 1];
        if (one->length == length && memcmp(one->at, at, length) == 0)
            break;
    }
    return &found->table[place];
}

static int grow_compounds(Compounds *found)
{
    size_t room = found->room ? 2 * found->room : 64;
    Compound *list = realloc(found->list, room * sizeof(Compound));
    if (list != NULL)
        found->list = list;
    uint32_t *table = list == NULL ? NULL : calloc(2 * room, sizeof(uint32_t));
    if (table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    free(found->table);
    found->table = table;
    found->room = room;
    for (size_t i = 0; i < found->count; i++)
        *place_of(found, list[i].at, list[i].length) = (uint32_t)i + 1;
    return 0;
}

static int meet(Compounds *found, const char *at, size_t length)
{
    if (found->count == found->room && grow_compounds(found) < 0)
        return -1;
    uint32_t *place = place_of(found, at, length);
    if (*place == 0) {
        found->list[found->count++] = (Compound){at, (uint32_t)length, 0};
        *place = (uint32_t)found->count;
    }
    found->list[*place - 1].met++;
    return 0;
}

/* The parts of a word in small letters, each with a space behind it; returns where they end. */
static char *write_parts(char *to, const char *at, const char *end)
{
    for (const char *next; at < end;) {
        for (next = end_of_part(at, end); at < next; at++)
            *to++ = (char)(is(*at, UPPER) ? *at | 0x20 : *at);
        *to++ = ' ';
    }
    return to;
}

/* The parts of the compound words of a text in ASCII, in the order in which these first occur, each word at most so
   often. */
static PyObject *identifiers(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *text, *next;
    Py_ssize_t length;
    long most;
    Limits limits;
    if (!PyArg_ParseTuple(arguments, "s#lll:identifiers", &text, &length, &limits.max_parts, &limits.max_chars, &most))
        return NULL;
    Compounds found = {NULL, NULL, 0, 0};
    const char *end = text + length;
    int failed = 0;
    for (const char *at = text; !failed && (at = end_of_run(at, end, IN_PIECE, 0)) < end; at = next) {
        next = end_of_run(at, end, IN_PIECE, 1);
        if (end_of_run(at, next, WORD, 1) < next) {
            PyErr_SetString(PyExc_ValueError, "a text of ASCII");
            failed = 1;
        } else if (is_compound(&limits, at, next)) {
            failed = meet(&found, at, (size_t)(next - at)) < 0;
        }
    }
    size_t size = 1;
    for (size_t i = 0; i < found.count; i++)
        size += 2 * (size_t)found.list[i].length * found.list[i].met; /* a part has a letter at least */
    char *parts = failed ? NULL : malloc(size), *to = parts;
    if (parts == NULL && !failed)
        PyErr_NoMemory();
    for (size_t i = 0; parts != NULL && i < found.count; i++)
        for (long times = 0; times < most && times < (long)found.list[i].met; times++)
            to = write_parts(to, found.list[i].at, found.list[i].at + found.list[i].length);
    PyObject *joined = parts == NULL ? NULL : PyUnicode_FromStringAndSize(parts, to - parts - (to > parts));
    free(parts);
    free(found.list);
    free(found.table);
    return joined;
}

static Py_ssize_t beyond(Py_ssize_t run, Py_ssize_t first)
{
    return run > first ? run - first : 0;
}

static int is_of_machine_word(char character)
{
    return is(character, WORD) || character == '+' || character == '/' || character == '=';
}

/* The characters beyond the first twelve of each machine word; one has 24 at least. */
static Py_ssize_t in_machine_words(const char *at, const char *end)
{
    Py_ssize_t found = 0;
    while (end - at >= 24) {
        const char *last = at + 23; /* what is of none, with all before it, is in none */
        while (last >= at && is_of_machine_word(*last))
            last--;
        const char *next = last < at ? at + 24 : last + 1;
        while (last < at && next < end && is_of_machine_word(*next))
            next++;
        found += last < at ? next - at - 12 : 0;
        at = next;
    }
    return found;
}

static PyObject *count_classes(PyObject *Py_UNUSED(module), PyObject *raw)
{
    char *bytes;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(raw, &bytes, &length) < 0)
        return NULL;
    const char *at = bytes, *end = at + length, *next;
    Py_ssize_t words = 0, beyond_six = 0, triples = 0, punctuation_runs = 0, punctuation = 0, newlines = 0, spaces = 0;
    Py_ssize_t wide = 0, capitals = 0, marks = 0, lone_digits = 0, dense = 0, astral = 0;
    int before = OTHER;
    for (; at < end; at = next) {
        int kind = kinds[(uint8_t)*at] & ~IN_PIECE;
        next = kind == OTHER ? at + 1 : end_of_run(at, end, kind, 1);
        Py_ssize_t run = next - at;
        switch (kind) {
        case UPPER: /* each capital after a small letter begins a word, and so does one after anything else */
            words++;
            capitals += beyond(run, 3);
            break;
        case LOWER:
            words += before != UPPER;
            beyond_six += beyond(run, 6);
            break;
        case DIGIT:
            triples += (run + 2) / 3;
            lone_digits += at > bytes && at[-1] == ' ';
            break;
        case PUNCTUATION:
            punctuation_runs++;
            punctuation += run;
            for (Py_ssize_t visible = 0; run > 3 && at < next; at++) { /* controls are punctuation, and not visible */
                visible = *at > ' ' && *at < 0x7F ? visible + 1 : 0;
                marks += visible > 3;
            }
            break;
        case NEWLINE:
            newlines++;
            break;
        case SPACE:
            spaces += run > 1;
            break;
        case WIDE:
            wide += run;
            for (; at < next; at++) { /* the first bytes of characters */
                dense += (uint8_t)*at >= 0xE2;
                astral += (uint8_t)*at >= 0xF0;
            }
            break;
        }
        before = kind;
    }
    return Py_BuildValue("nnnnnnnnnnnnnn", words, beyond_six, triples, punctuation_runs, punctuation, newlines, spaces,
                         wide, capitals, marks, in_machine_words(bytes, end), lone_digits, dense, astral);
}

/* A piece of a text between separators of ASCII, and what the tokenizer makes of it. What is in such pieces repeats, and
   nothing outside of one changes what it gives, so each is asked of the tokenizer once. */
typedef struct {
    PyObject *tokens;       /* NULL where it is not known yet */
    uint64_t beginning;     /* its first eight bytes: most are no longer, and are told by what is here, a line of a cache */
    uint32_t start, length; /* of its bytes among the letters; length 0: a free place of the table */
    uint32_t asked;         /* the last time that the tokenizer was asked for it */
    uint16_t bit;           /* of its term among those that may be wanted */
    uint8_t has_parts : 1;  /* whether `tokens` knows the parts of compounds, or there are none */
    uint8_t is_term : 1;    /* whether it is one token; then `tokens` is its term, else a tuple of them */
} Piece;

enum { WANTED_BITS = 1 << 12, BEGINNING_BITS = 1 << 13 };

typedef struct {
    PyObject_HEAD
    PyObject *describe;   /* a function: a list of pieces, whether with parts → what each is */
    PyObject *wanted;     /* what was asked last: a dict of terms */
    uint64_t may_want[WANTED_BITS / 64]; /* the bit of each of these terms, by its hash: most words are told by it */
    uint64_t may_begin[BEGINNING_BITS / 64]; /* and that of its first two letters, which its word begins with */
    uint32_t asked;       /* how often the tokenizer was asked */
    Limits limits;
    Piece *pieces;        /* open addressing, its size a power of two */
    size_t size, used;
    char *letters;        /* of the pieces, one after the other */
    size_t letters_size, letters_used;
} WordFinder;

enum { PIECES_MAX = 1 << 15, LETTERS_MAX = 1 << 20 };

/* Where a piece is in the table, or would be; `beginning` is for a new one. */
static Piece *find_piece(const WordFinder *self, const char *text, size_t length, uint64_t *beginning)
{
    uint64_t hash = length, part = 0;
    const char *at = text;
    size_t left = length;
    for (; left >= 8; at += 8, left -= 8) {
        memcpy(&part, at, 8);
        if (at == text)
            *beginning = part;
        hash = (hash ^ part) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    for (part = 0; left > 0; left--)
        part = part << 8 | (uint8_t)*at++;
    if (length < 8)
        *beginning = part;
    hash = (hash ^ part) * 0xD6E8FEB86659FD93u;
    size_t place = (size_t)(hash ^ hash >> 32) & (self->size - 1);
    for (const Piece *piece; (piece = &self->pieces[place])->length != 0; place = (place + 1) & (self->size - 1))
        if (piece->length == length && piece->beginning == *beginning &&
            (length <= 8 || memcmp(self->letters + piece->start + 8, text + 8, length - 8) == 0))
            break;
    return &self->pieces[place];
}

/* A table of free places, each in one line of a cache; NULL with an exception. */
static Piece *new_table(size_t size)
{
    Piece *pieces = aligned_alloc(64, size * sizeof(Piece));
    if (pieces == NULL)
        PyErr_NoMemory();
    else
        memset(pieces, 0, size * sizeof(Piece));
    return pieces;
}

static void forget_pieces(WordFinder *self)
{
    for (size_t i = 0; i < self->size; i++)
        Py_CLEAR(self->pieces[i].tokens);
    memset(self->pieces, 0, self->size * sizeof(Piece));
    self->used = self->letters_used = 0;
}

/* A place for a new piece; NULL with an exception. */
static Piece *new_piece(WordFinder *self, const char *text, size_t length)
{
    uint64_t beginning = 0;
    if (self->used * 2 >= self->size) {
        Piece *before = self->pieces, *larger = new_table(2 * self->size);
        if (larger == NULL)
            return NULL;
        self->pieces = larger;
        self->size *= 2;
        for (size_t i = 0; i < self->size / 2; i++)
            if (before[i].length != 0)
                *find_piece(self, self->letters + before[i].start, before[i].length, &beginning) = before[i];
        free(before);
    }
    if (self->letters_used + length > self->letters_size) {
        size_t size = 2 * self->letters_size + length;
        char *letters = realloc(self->letters, size);
        if (letters == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        self->letters = letters;
        self->letters_size = size;
    }
    memcpy(self->letters + self->letters_used, text, length);
    Piece *piece = find_piece(self, text, length, &beginning);
    *piece = (Piece){.beginning = beginning, .start = (uint32_t)self->letters_used, .length = (uint32_t)length};
    self->letters_used += length;
    self->used++;
    return piece;
}

/* Whether the piece that is found for a part of a text is known as far as it is asked for. */
static int is_known(const WordFinder *self, Piece *piece, const char *at, const char *end, int with_parts)
{
    if (piece->tokens == NULL)
        return 0;
    if (with_parts && !piece->has_parts && piece->is_term && end_of_run(at, end, WORD, 1) == end)
        piece->has_parts = !is_compound(&self->limits, at, end);
    return !with_parts || piece->has_parts;
}

static uint16_t bit_of(PyObject *term)
{
    return (uint16_t)((size_t)PyObject_Hash(term) % WANTED_BITS);
}

/* The bit of the first letter and the second one, 0 where there is none. Porter's stemmer takes endings off, and the
   only letter among these two that it may replace is a y, by an i. */
static size_t beginning_of(const char *at, const char *end, int is_whole)
{
    size_t first = at < end ? (uint8_t)*at | (is(*at, UPPER) ? 0x20 : 0) : 0;
    size_t second = at + 1 < end && !is_whole ? (uint8_t)at[1] | (is(at[1], UPPER) ? 0x20 : 0) : 0;
    return (first & 0x7F) << 6 | (second == 'y' ? 'i' & 0x3F : second & 0x3F);
}

/* Whether a piece is one token, without parts that are asked for, that is told by its beginning not to be wanted. */
static int is_other(const WordFinder *self, const char *at, const char *end, int with_parts)
{
    size_t both = beginning_of(at, end, 0), one = beginning_of(at, end, 1);
    return !(self->may_begin[both / 64] >> both % 64 & 1) && !(self->may_begin[one / 64] >> one % 64 & 1) &&
           end_of_run(at, end, WORD, 1) == end && !(with_parts && is_compound(&self->limits, at, end));
}

/* Ask for all pieces from here on that are not known yet. */
static int learn(WordFinder *self, const char *at, const char *end, int with_parts)
{
    PyObject *unknown = PyList_New(0), *found = NULL;
    int failed = unknown == NULL;
    uint32_t asked = ++self->asked;
    uint64_t beginning = 0;
    while (!failed && (at = end_of_run(at, end, IN_PIECE, 0)) < end) {
        const char *next = end_of_run(at, end, IN_PIECE, 1), *start = at;
        size_t length = (size_t)(next - at);
        at = next;
        if (is_other(self, start, next, with_parts))
            continue;
        Piece *piece = find_piece(self, start, length, &beginning);
        int is_asked = piece->asked == asked; /* it is in the list already */
        if (piece->length == 0)
            failed = (piece = new_piece(self, start, length)) == NULL;
        if (!failed && !is_asked && !is_known(self, piece, start, next, with_parts)) {
            piece->asked = asked;
            failed = append(unknown, start, next);
        }
    }
    if (!failed)
        found = PyObject_CallFunction(self->describe, "Oi", unknown, with_parts);
    failed = found == NULL || PyList_Size(found) != PyList_Size(unknown);
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(unknown); i++) {
        char *text;
        Py_ssize_t length;
        PyObject *tokens = PyList_GetItem(found, i);
        failed = PyBytes_AsStringAndSize(PyList_GetItem(unknown, i), &text, &length) < 0 ||
                 !(PyUnicode_Check(tokens) || PyTuple_Check(tokens));
        Piece *piece = failed ? NULL : find_piece(self, text, (size_t)length, &beginning);
        if (!failed && piece->length == 0)
            failed = (piece = new_piece(self, text, (size_t)length)) == NULL;
        if (failed)
            break;
        PyObject *before = piece->tokens;
        piece->tokens = Py_NewRef(tokens);
        piece->is_term = PyUnicode_Check(tokens) != 0;
        piece->has_parts = with_parts != 0;
        piece->bit = piece->is_term ? bit_of(tokens) : 0;
        Py_XDECREF(before); /* last, since nothing of the table is used after it */
    }
    Py_XDECREF(unknown);
    Py_XDECREF(found);
    if (failed && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "a piece is described by its term or by a tuple of tokens");
    return failed ? -1 : 0;
}

typedef struct {
    uint32_t *spans; /* start and end of each token */
    size_t count, size;
    PyObject *matches;
} Finding;

static int add_span(Finding *finding, size_t start, size_t end)
{
    if (finding->count == finding->size) {
        size_t size = 2 * finding->size + 256;
        uint32_t *spans = realloc(finding->spans, 2 * size * sizeof(uint32_t));
        if (spans == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        finding->spans = spans;
        finding->size = size;
    }
    finding->spans[2 * finding->count] = (uint32_t)start;
    finding->spans[2 * finding->count + 1] = (uint32_t)end;
    finding->count++;
    return 0;
}

static int add_match(Finding *finding, size_t start, size_t end, PyObject *term)
{
    PyObject *match = Py_BuildValue("nnnO", (Py_ssize_t)finding->count, (Py_ssize_t)start, (Py_ssize_t)end, term);
    int failed = match == NULL || PyList_Append(finding->matches, match) < 0;
    Py_XDECREF(match);
    return failed ? -1 : 0;
}

/* Add what matches in one token: itself, or else its parts. */
static int match_token(Finding *finding, size_t base, PyObject *token, PyObject *wanted, int with_parts)
{
    size_t first = 0, last = 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(token); i++) {
        Py_ssize_t start, end;
        PyObject *term;
        if (!PyArg_ParseTuple(PyTuple_GetItem(token, i), "nnO", &start, &end, &term))
            return -1;
        if (i == 0) {
            first = base + (size_t)start;
            last = base + (size_t)end;
        }
        int is_wanted = i == 0 || with_parts ? PyDict_Contains(wanted, term) : 0;
        if (is_wanted < 0 || (is_wanted && add_match(finding, base + (size_t)start, base + (size_t)end, term) < 0))
            return -1;
        if (is_wanted && i == 0)
            break;
    }
    return add_span(finding, first, last);
}

static int match_piece(Finding *finding, size_t start, const Piece *piece, PyObject *wanted, const uint64_t *may_want,
                       int with_parts)
{
    if (piece->is_term) { /* most are told by their bit */
        int may_be = (int)(may_want[piece->bit / 64] >> piece->bit % 64 & 1);
        int is_wanted = may_be ? PyDict_Contains(wanted, piece->tokens) : 0;
        if (is_wanted < 0 || (is_wanted && add_match(finding, start, start + piece->length, piece->tokens) < 0))
            return -1;
        return add_span(finding, start, start + piece->length);
    }
    PyObject *tokens = Py_NewRef(piece->tokens);
    int failed = 0;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(tokens); i++)
        failed = match_token(finding, start, PyTuple_GetItem(tokens, i), wanted, with_parts);
    Py_DECREF(tokens);
    return failed;
}

static PyObject *find_words(WordFinder *self, PyObject *arguments)
{
    const char *text;
    Py_ssize_t length;
    PyObject *wanted;
    int with_parts;
    if (!PyArg_ParseTuple(arguments, "y#O!p:find", &text, &length, &PyDict_Type, &wanted, &with_parts))
        return NULL;
    if (self->used > PIECES_MAX || self->letters_used > LETTERS_MAX)
        forget_pieces(self); /* hashes in logs never end */
    if (wanted != self->wanted) {
        PyObject *before = self->wanted, *term, *value;
        self->wanted = Py_NewRef(wanted);
        memset(self->may_want, 0, sizeof(self->may_want));
        memset(self->may_begin, 0, sizeof(self->may_begin));
        for (Py_ssize_t place = 0; PyDict_Next(wanted, &place, &term, &value);) {
            Py_ssize_t size = 0;
            const char *letters = PyUnicode_AsUTF8AndSize(term, &size);
            size_t begins = letters == NULL ? 0 : beginning_of(letters, letters + size, 0);
            self->may_want[bit_of(term) / 64] |= (uint64_t)1 << bit_of(term) % 64;
            self->may_begin[begins / 64] |= (uint64_t)1 << begins % 64;
            PyErr_Clear(); /* a term with half a character beyond 16 bits: no word of a text has it */
        }
        Py_XDECREF(before);
    }
    uint64_t beginning = 0;
    Finding finding = {.matches = PyList_New(0)};
    int failed = finding.matches == NULL;
    const char *end = text + length;
    for (const char *at = text; !failed && (at = end_of_run(at, end, IN_PIECE, 0)) < end;) {
        const char *next = end_of_run(at, end, IN_PIECE, 1);
        if (is_other(self, at, next, with_parts)) {
            failed = add_span(&finding, (size_t)(at - text), (size_t)(next - text)) < 0;
            at = next;
            continue;
        }
        Piece *piece = find_piece(self, at, (size_t)(next - at), &beginning);
        if (!is_known(self, piece, at, next, with_parts)) {
            if ((failed = learn(self, at, end, with_parts)) < 0)
                break;
            piece = find_piece(self, at, (size_t)(next - at), &beginning);
        }
        if (piece->tokens == NULL) {
            PyErr_SetString(PyExc_RuntimeError, "a word was forgotten while it was looked for");
            failed = 1;
            break;
        }
        failed = match_piece(&finding, (size_t)(at - text), piece, wanted, self->may_want, with_parts) < 0;
        at = next;
    }
    PyObject *found = failed ? NULL
                             : Py_BuildValue("ny#O", (Py_ssize_t)finding.count, finding.count ? (char *)finding.spans : "",
                                             (Py_ssize_t)(2 * finding.count * sizeof(uint32_t)), finding.matches);
    free(finding.spans);
    Py_XDECREF(finding.matches);
    return found;
}

static PyObject *create_finder(PyTypeObject *type, PyObject *arguments, PyObject *Py_UNUSED(named))
{
    PyObject *describe;
    Limits limits;
    if (!PyArg_ParseTuple(arguments, "Oll:WordFinder", &describe, &limits.max_parts, &limits.max_chars))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    WordFinder *self = (WordFinder *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->describe = Py_NewRef(describe);
    self->limits = limits;
    self->size = 1 << 11;
    self->pieces = new_table(self->size);
    self->letters_size = 1 << 13;
    self->letters = malloc(self->letters_size);
    if (self->pieces == NULL || self->letters == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static int traverse_finder(WordFinder *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE((PyObject *)self));
    Py_VISIT(self->describe); /* of the index that holds this finder */
    Py_VISIT(self->wanted);
    return 0;
}

static int clear_finder(WordFinder *self)
{
    Py_CLEAR(self->describe);
    Py_CLEAR(self->wanted);
    return 0;
}

static void destroy_finder(WordFinder *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);
    PyObject_GC_UnTrack(self);
    clear_finder(self);
    if (self->pieces != NULL)
        forget_pieces(self);
    free(self->pieces);
    free(self->letters);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef finder_methods[] = {
    {"find", (PyCFunction)find_words, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot finder_slots[] = {
    {Py_tp_new, (void *)create_finder},         {Py_tp_dealloc, (void *)destroy_finder},
    {Py_tp_traverse, (void *)traverse_finder},  {Py_tp_clear, (void *)clear_finder},
    {Py_tp_methods, finder_methods},            {0, NULL},
};

static PyType_Spec type_of_finder = {
    .name = "ctxrank.indexer.text._words.WordFinder",
    .basicsize = sizeof(WordFinder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = finder_slots,
};

static PyMethodDef methods[] = {
    {"count_classes", count_classes, METH_O, NULL},
    {"compound_words", compound_words, METH_VARARGS, NULL},
    {"identifiers", identifiers, METH_VARARGS, NULL},
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
    for (int byte = 0; byte < 256; byte++)
        kinds[byte] |= byte >= 0x80 || (kinds[byte] & WORD) != 0 ? IN_PIECE : 0;
    PyObject *module = PyModule_Create(&definition);
    PyObject *type = module == NULL ? NULL : PyType_FromSpec(&type_of_finder);
    if (type == NULL || PyModule_AddObjectRef(module, "WordFinder", type) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
