/* What is shown of a text: the compiled twin of `cut_snippet` in snippets.py, which says what and why.

   All places are of bytes in UTF-8 until a snippet is handed out; the matches are as a word finder gives them. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_TOKENS = 32, SHOWN_LINES = 3, MAX_LINE_CHARS = 200, BEFORE_CHARS = 60 };

#define ELLIPSIS "\xE2\x80\xA6"

typedef struct {
    Py_ssize_t position, start, end;
    Py_ssize_t term; /* its place among `terms` */
} Match;

typedef struct {
    Py_ssize_t start, end;
} Span;

typedef struct {
    PyObject *name; /* borrowed */
    double value;
    Py_ssize_t count; /* in a window or a line */
} Term;

typedef struct {
    const char *text;
    Py_ssize_t length;
    Match *matches;
    Span *spans; /* room for as many */
    Py_ssize_t count;
    Term *terms; /* room for as many */
    Py_ssize_t term_count;
    Py_ssize_t *hidden; /* places of asterisks, ascending */
    Py_ssize_t hidden_count;
} Read;

typedef struct {
    Py_ssize_t start, end, best, first; /* what is shown; the lines of the best match and of the first that is shown */
    Span lines[SHOWN_LINES];
    int line_count;
} Part;

static Py_ssize_t least(Py_ssize_t one, Py_ssize_t other)
{
    return one < other ? one : other;
}

static Py_ssize_t most(Py_ssize_t one, Py_ssize_t other)
{
    return one > other ? one : other;
}

static int begins_char(char byte)
{
    return ((uint8_t)byte & 0xC0) != 0x80;
}

static Py_ssize_t chars_in(const char *at, const char *end)
{
    Py_ssize_t chars = 0;
    for (; at < end; at++)
        chars += begins_char(*at);
    return chars;
}

/* Where so many characters behind a place are. */
static const char *after_chars(const char *at, const char *end, Py_ssize_t chars)
{
    while (at < end && (chars > 0 || !begins_char(*at)))
        chars -= begins_char(*at++);
    return at;
}

/* How many bytes the white space at a place has; 0 for none. What it is, `str.isspace` says. */
static int space_at(const char *at, const char *end)
{
    uint8_t byte = (uint8_t)*at;
    if (byte < 0x80)
        return byte == ' ' || (byte >= 0x09 && byte <= 0x0D) || (byte >= 0x1C && byte <= 0x1F);
    if (byte == 0xC2 && end - at > 1)
        return (uint8_t)at[1] == 0x85 || (uint8_t)at[1] == 0xA0 ? 2 : 0;
    if (byte < 0xE1 || byte > 0xE3 || end - at < 3)
        return 0;
    uint32_t code = (uint32_t)(byte & 15) << 12 | (uint32_t)(at[1] & 63) << 6 | (uint32_t)(at[2] & 63);
    int is_space = code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 ||
                   code == 0x202F || code == 0x205F || code == 0x3000;
    return is_space ? 3 : 0;
}

static const char *without_left_space(const char *at, const char *end)
{
    for (int bytes; at < end && (bytes = space_at(at, end)) > 0;)
        at += bytes;
    return at;
}

static const char *without_right_space(const char *at, const char *end)
{
    while (end > at) {
        const char *last = end - 1;
        while (last > at && !begins_char(*last))
            last--;
        if (space_at(last, end) == 0)
            break;
        end = last;
    }
    return end;
}

static Py_ssize_t line_of(const char *text, Py_ssize_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

static Py_ssize_t line_end(const char *text, Py_ssize_t at, Py_ssize_t length)
{
    const char *end = memchr(text + at, '\n', (size_t)(length - at));
    return end == NULL ? length : end - text;
}

static Py_ssize_t lines_in(const char *text, Py_ssize_t length)
{
    Py_ssize_t lines = 0;
    for (Py_ssize_t at = 0; at < length; at++)
        lines += text[at] == '\n';
    return lines;
}

/* The position of the first match of the window with the most terms, then the most matches. */
static Py_ssize_t best_position(Read *read)
{
    Py_ssize_t end = 0, best = read->matches[0].position, best_matches = 0, distinct = 0, best_distinct = 0;
    for (Py_ssize_t at = 0; at < read->count; at++) {
        Py_ssize_t position = read->matches[at].position;
        while (end < read->count && end < at + WINDOW_TOKENS && read->matches[end].position < position + WINDOW_TOKENS)
            distinct += read->terms[read->matches[end++].term].count++ == 0;
        if (distinct > best_distinct || (distinct == best_distinct && end - at > best_matches)) {
            best = position;
            best_distinct = distinct;
            best_matches = end - at;
        }
        distinct -= --read->terms[read->matches[at].term].count == 0;
    }
    return best;
}

static int span_at(PyObject *spans, Py_ssize_t at, Py_ssize_t *place)
{
    PyObject *number = PySequence_GetItem(spans, at);
    *place = number == NULL ? -1 : PyLong_AsSsize_t(number);
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

static int find_window(Read *read, PyObject *spans, Part *part)
{
    Py_ssize_t tokens = PySequence_Size(spans) / 2, first = 0;
    if (PyErr_Occurred())
        return -1;
    if (tokens == 0) {
        part->end = after_chars(read->text, read->text + read->length, MAX_LINE_CHARS) - read->text;
        return 0;
    }
    if (read->count > 0)
        first = most(0, least(best_position(read) - WINDOW_TOKENS / 5, tokens - WINDOW_TOKENS));
    Py_ssize_t last = least(first + WINDOW_TOKENS, tokens) - 1;
    if (first > 0 && span_at(spans, 2 * first, &part->start) < 0)
        return -1;
    if (last < tokens - 1 && span_at(spans, 2 * last + 1, &part->end) < 0)
        return -1;
    if (part->start < 0 || part->start > part->end || part->end > read->length) {
        PyErr_SetString(PyExc_IndexError, "a token is not in the text");
        return -1;
    }
    return 0;
}

static int by_value(const void *one, const void *other)
{
    double first = *(const double *)one, second = *(const double *)other;
    return (first > second) - (first < second);
}

/* These added up as `sum` does it: from three on, versions of Python differ. */
static double sum_of(const double *values, Py_ssize_t count)
{
    if (count < 3)
        return count == 2 ? values[0] + values[1] : values[0];
    PyObject *list = PyList_New(count), *sum = NULL;
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        PyObject *value = PyFloat_FromDouble(values[i]);
        if (value == NULL || PyList_SetItem(list, i, value) < 0)
            Py_CLEAR(list);
    }
    if (list != NULL)
        sum = PyObject_CallFunctionObjArgs(PyDict_GetItemString(PyEval_GetBuiltins(), "sum"), list, NULL);
    double worth = sum == NULL ? -1.0 : PyFloat_AsDouble(sum);
    Py_XDECREF(list);
    Py_XDECREF(sum);
    return worth;
}

/* Where the best line of a part begins; -1 with an exception. Matches come line by line. */
static Py_ssize_t best_line(Read *read, Py_ssize_t start, Py_ssize_t end)
{
    double *values = calloc((size_t)read->term_count + 1, sizeof(double)), most_worth = -1.0;
    if (values == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_ssize_t best = -1, best_count = 0;
    for (Py_ssize_t i = 0, next; i < read->count; i = next) {
        Py_ssize_t at = line_of(read->text, read->matches[i].start), to = line_end(read->text, at, read->length);
        Py_ssize_t count = 0, distinct = 0;
        for (next = i; next < read->count && at <= read->matches[next].start && read->matches[next].start <= to; next++) {
            if (read->matches[next].start < start || read->matches[next].end > end)
                continue;
            Term *term = &read->terms[read->matches[next].term];
            count++;
            if (term->count++ == 0)
                values[distinct++] = term->value;
        }
        for (Py_ssize_t met = i; met < next; met++)
            read->terms[read->matches[met].term].count = 0;
        if (count == 0)
            continue;
        qsort(values, (size_t)distinct, sizeof(double), by_value);
        double worth = sum_of(values, distinct);
        if (best < 0 || worth > most_worth || (worth == most_worth && count > best_count)) {
            best = at;
            best_count = count;
            most_worth = worth;
        }
    }
    free(values);
    if (best >= 0 || PyErr_Occurred())
        return PyErr_Occurred() ? -1 : best;
    const char *word = without_left_space(read->text, read->text + read->length);
    return word == read->text + read->length ? 0 : line_of(read->text, word - read->text);
}

static int find_part(Read *read, PyObject *spans, int by_lines, Part *part)
{
    part->end = read->length;
    if (!by_lines && find_window(read, spans, part) < 0)
        return -1;
    Py_ssize_t length = read->length - (read->length > 0 && read->text[read->length - 1] == '\n');
    Py_ssize_t shown = best_line(read, part->start, part->end);
    if (shown < 0)
        return -1;
    part->best = lines_in(read->text, least(shown, length));
    part->first = most(0, least(part->best - 1, lines_in(read->text, length) + 1 - SHOWN_LINES));
    for (Py_ssize_t line = part->first; line < part->best; line++)
        shown = line_of(read->text, shown - 1);
    while (part->line_count < SHOWN_LINES && shown <= length) {
        Py_ssize_t end = line_end(read->text, shown, length);
        part->lines[part->line_count++] = (Span){shown, end};
        shown = end + 1;
    }
    if (part->best - part->first >= part->line_count) {
        PyErr_SetString(PyExc_IndexError, "a match is not in the text");
        return -1;
    }
    if (by_lines) {
        part->start = part->lines[part->best - part->first].start;
        part->end = part->lines[part->best - part->first].end;
    }
    return 0;
}

static int by_start(const void *one, const void *other)
{
    const Span *first = one, *second = other;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return (first->end > second->end) - (first->end < second->end);
}

/* The matches between two places, those that touch as one; into `spans`. */
static Py_ssize_t merged(Read *read, Py_ssize_t start, Py_ssize_t end)
{
    Py_ssize_t count = 0, kept = 0;
    for (Py_ssize_t i = 0; i < read->count; i++)
        if (start <= read->matches[i].start && read->matches[i].end <= end)
            read->spans[count++] = (Span){read->matches[i].start, read->matches[i].end};
    qsort(read->spans, (size_t)count, sizeof(Span), by_start);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (kept > 0 && read->spans[i].start <= read->spans[kept - 1].end)
            read->spans[kept - 1].end = most(read->spans[kept - 1].end, read->spans[i].end);
        else
            read->spans[kept++] = read->spans[i];
    }
    return kept;
}

static int append_pair(PyObject *list, Py_ssize_t one, Py_ssize_t other)
{
    PyObject *pair = Py_BuildValue("nn", one, other);
    int failed = pair == NULL || PyList_Append(list, pair) < 0;
    Py_XDECREF(pair);
    return failed ? -1 : 0;
}

/* A tuple of pairs: these spans in characters behind `from`, and `shift`, those beyond `end` left out. */
static PyObject *marks_of(const Read *read, Py_ssize_t count, Py_ssize_t from, Py_ssize_t least_at, Py_ssize_t end,
                          Py_ssize_t shift)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < count; i++) {
        const char *text = read->text + from;
        Py_ssize_t start = chars_in(text, read->text + read->spans[i].start);
        Py_ssize_t to = start + chars_in(read->text + read->spans[i].start, read->text + read->spans[i].end);
        if (start < least_at || to > end)
            continue;
        if (append_pair(list, start + shift, to + shift) < 0)
            Py_CLEAR(list);
    }
    PyObject *marks = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return marks;
}

/* A line as (number, text, marks), shortened to what is around its first match. */
static PyObject *shown_line(Read *read, Span line, Py_ssize_t number)
{
    Py_ssize_t count = merged(read, line.start, line.end);
    const char *text = read->text + line.start, *end = without_right_space(text, read->text + line.end);
    Py_ssize_t chars = chars_in(text, end), start = 0;
    if (chars <= MAX_LINE_CHARS) {
        PyObject *marks = marks_of(read, count, line.start, 0, PY_SSIZE_T_MAX, 0);
        return marks == NULL ? NULL : Py_BuildValue("ns#N", number, text, end - text, marks);
    }
    if (count > 0)
        start = chars_in(text, read->text + read->spans[0].start);
    start = most(0, least(start - BEFORE_CHARS, chars - MAX_LINE_CHARS));
    PyObject *marks = marks_of(read, count, line.start, start, start + MAX_LINE_CHARS, (start > 0) - start);
    const char *from = after_chars(text, end, start), *to = after_chars(from, end, MAX_LINE_CHARS);
    PyObject *middle = PyUnicode_FromStringAndSize(from, to - from), *shown = NULL;
    if (marks != NULL && middle != NULL)
        shown = PyUnicode_FromFormat("%s%U%s", start > 0 ? ELLIPSIS : "", middle, to < end ? ELLIPSIS : "");
    Py_XDECREF(middle);
    if (shown == NULL) {
        Py_XDECREF(marks);
        return NULL;
    }
    return Py_BuildValue("nNN", number, shown, marks);
}

static int is_blank(const Read *read, Span line)
{
    return without_left_space(read->text + line.start, read->text + line.end) == read->text + line.end;
}

/* The lines of a part without blank ones at either end. */
static PyObject *shown_lines(Read *read, const Part *part, Py_ssize_t first_line)
{
    int from = 0, to = part->line_count;
    while (from < to && is_blank(read, part->lines[from]))
        from++;
    while (to > from && is_blank(read, part->lines[to - 1]))
        to--;
    PyObject *lines = PyTuple_New(to - from);
    for (int i = from; lines != NULL && i < to; i++) {
        PyObject *line = shown_line(read, part->lines[i], first_line + part->first + i);
        if (line == NULL || PyTuple_SetItem(lines, i - from, line) < 0)
            Py_CLEAR(lines);
    }
    return lines;
}

static int is_word(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static int is_outside(const Read *read, Py_ssize_t at)
{
    if (at < 0 || at >= read->length)
        return 1;
    return !is_word(read->text[at]) && memchr("_*/", read->text[at], 3) == NULL;
}

static int is_inside(const Read *read, Py_ssize_t at)
{
    return at >= read->length || memchr(" \t\n\r\f\v", read->text[at], 6) == NULL;
}

static int is_mark(const Read *read, Py_ssize_t at)
{
    return at + 1 < read->length && read->text[at] == '*' && read->text[at + 1] == '*';
}

/* The place of the mark that ends what is bold from `start` on; -1 for none. */
static Py_ssize_t closing_mark(const Read *read, Py_ssize_t start)
{
    if (!is_inside(read, start))
        return -1;
    Py_ssize_t at = start + 1;
    for (; at < read->length && read->text[at] != '*'; at++)
        if (read->text[at] == '\n')
            return -1;
    if (at >= read->length)
        return -1;
    for (Py_ssize_t end = at + 1; end >= at; end--)
        if (is_mark(read, end) && is_inside(read, end - 1) && is_outside(read, end + 2))
            return end;
    return -1;
}

/* Note the asterisks of Markdown's bold in whole lines of the text. -1 with an exception. */
static int hide_marks(Read *read, Py_ssize_t at, Py_ssize_t last)
{
    read->hidden = malloc((size_t)(2 * (last - at) + 4) * sizeof(Py_ssize_t));
    if (read->hidden == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    while (at + 1 < last) {
        if (!is_mark(read, at)) {
            at++;
            continue;
        }
        Py_ssize_t end = is_outside(read, at - 1) ? closing_mark(read, at + 2) : -1;
        for (int i = 0; end >= 0 && i < 4; i++)
            read->hidden[read->hidden_count++] = i < 2 ? at + i : end + i - 2;
        at = end < 0 ? at + 1 : end + 2;
    }
    return 0;
}

static int is_hidden(const Read *read, Py_ssize_t at)
{
    Py_ssize_t low = 0, high = read->hidden_count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (read->hidden[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < read->hidden_count && read->hidden[low] == at;
}

typedef struct {
    char *text;
    Py_ssize_t bytes, chars;
} Shown;

static void put(Shown *shown, const char *at, Py_ssize_t bytes)
{
    memcpy(shown->text + shown->bytes, at, (size_t)bytes);
    shown->bytes += bytes;
    shown->chars += chars_in(at, at + bytes);
}

/* A word, or what is between words: there a run of white space is one space. */
static void put_piece(const Read *read, Shown *shown, Py_ssize_t at, Py_ssize_t end, int is_between, int is_begun)
{
    int is_behind_space = !is_begun; /* white space at the beginning goes */
    for (int bytes; at < end; at += bytes) {
        int is_space = is_between ? space_at(read->text + at, read->text + end) : 0;
        bytes = most(1, is_space);
        if (read->hidden_count > 0 && read->text[at] == '*' && is_hidden(read, at))
            continue;
        if (is_space && !is_behind_space)
            put(shown, " ", 1);
        else if (!is_space)
            put(shown, read->text + at, 1);
        is_behind_space = is_space != 0;
    }
}

static int is_shown_asterisk(const Read *read, Py_ssize_t at)
{
    return at >= 0 && at < read->length && read->text[at] == '*' && !is_hidden(read, at);
}

/* A part of prose on one line with its marks, and where these are. */
static PyObject *on_one_line(Read *read, const Part *part)
{
    Py_ssize_t start = part->start, end = part->end, at = start, before = most(start - 1, 0);
    if (end + 1 > before && memchr(read->text + before, '*', (size_t)(least(end + 1, read->length) - before)) != NULL &&
        hide_marks(read, line_of(read->text, start), line_end(read->text, end, read->length)) < 0)
        return NULL;
    Py_ssize_t count = merged(read, start, end);
    Shown shown = {.text = malloc((size_t)(end - start + 4 * count + 16))};
    PyObject *list = PyList_New(0), *found = NULL;
    int failed = list == NULL;
    if (shown.text == NULL) {
        PyErr_NoMemory();
        failed = 1;
    }
    if (!failed && start > 0)
        put(&shown, ELLIPSIS " ", 4);
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        Span word = read->spans[i];
        put_piece(read, &shown, at, word.start, 1, i > 0);
        /* Beside an asterisk of the text a mark would be taken for the text's. */
        int is_marked = !is_shown_asterisk(read, word.start - 1) && !is_shown_asterisk(read, word.end);
        Py_ssize_t first = shown.chars;
        if (is_marked)
            put(&shown, "**", 2);
        put_piece(read, &shown, word.start, word.end, 0, 1);
        if (is_marked) {
            put(&shown, "**", 2);
            failed = append_pair(list, first, shown.chars) < 0;
        }
        at = word.end;
    }
    if (!failed) {
        Py_ssize_t bytes = shown.bytes;
        put_piece(read, &shown, at, end, 1, count > 0);
        if (shown.bytes > bytes && shown.text[shown.bytes - 1] == ' ')
            shown.bytes--;
        if (end < read->length)
            put(&shown, " " ELLIPSIS, 4);
        PyObject *marks = PyList_AsTuple(list);
        found = marks == NULL ? NULL : Py_BuildValue("s#N", shown.text, shown.bytes, marks);
    }
    free(shown.text);
    Py_XDECREF(list);
    return found;
}

/* What of code is shown: its lines. */
static PyObject *all_lines(PyObject *lines)
{
    PyObject *texts = PyList_New(0), *newline = PyUnicode_FromString("\n"), *joined = NULL;
    int failed = texts == NULL || newline == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(lines); i++)
        failed = PyList_Append(texts, PyTuple_GetItem(PyTuple_GetItem(lines, i), 1)) < 0;
    if (!failed)
        joined = PyUnicode_Join(newline, texts);
    Py_XDECREF(texts);
    Py_XDECREF(newline);
    return joined == NULL ? NULL : Py_BuildValue("N()", joined);
}

/* The place of a term among those that were met; -1 with an exception. */
static Py_ssize_t term_place(Read *read, PyObject *name, PyObject *values)
{
    for (Py_ssize_t i = 0; i < read->term_count; i++)
        if (read->terms[i].name == name)
            return i;
    for (Py_ssize_t i = 0; i < read->term_count; i++)
        if (PyUnicode_Compare(read->terms[i].name, name) == 0)
            return i;
    PyObject *value = PyDict_GetItemWithError(values, name);
    if (value == NULL && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    if (value != NULL)
        read->terms[read->term_count] = (Term){name, PyFloat_AsDouble(value), 0};
    return PyErr_Occurred() ? -1 : read->term_count++;
}

/* -1 with an exception. */
static int read_matches(Read *read, PyObject *matches, PyObject *values)
{
    Py_ssize_t count = PyList_Size(matches);
    read->matches = calloc((size_t)count + 1, sizeof(Match));
    read->spans = calloc((size_t)count + 1, sizeof(Span));
    read->terms = calloc((size_t)count + 1, sizeof(Term));
    if (read->matches == NULL || read->spans == NULL || read->terms == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; read->count < count; read->count++) {
        Match *match = &read->matches[read->count];
        PyObject *name;
        if (!PyArg_ParseTuple(PyList_GetItem(matches, read->count), "nnnU", &match->position, &match->start, &match->end,
                              &name))
            return -1;
        if (match->start < 0 || match->end < match->start || match->end > read->length) {
            PyErr_SetString(PyExc_IndexError, "a match is not in the text");
            return -1;
        }
        match->term = term_place(read, name, values);
        if (match->term < 0)
            return -1;
    }
    return 0;
}

static PyObject *terms_of(const Read *read)
{
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < read->term_count; i++)
        if (PyList_Append(list, read->terms[i].name) < 0)
            Py_CLEAR(list);
    PyObject *terms = list == NULL ? NULL : PyFrozenSet_New(list);
    Py_XDECREF(list);
    return terms;
}

static PyObject *cut_read(Read *read, PyObject *spans, int by_lines, Py_ssize_t first_line)
{
    Part part = {0};
    if (find_part(read, spans, by_lines, &part) < 0)
        return NULL;
    PyObject *lines = shown_lines(read, &part, first_line);
    PyObject *shown = lines == NULL ? NULL : by_lines ? all_lines(lines) : on_one_line(read, &part);
    PyObject *terms = shown == NULL ? NULL : terms_of(read);
    if (terms == NULL) {
        Py_XDECREF(lines);
        Py_XDECREF(shown);
        return NULL;
    }
    Py_ssize_t low = least(part.start, part.lines[0].start), high = most(part.end, part.lines[part.line_count - 1].end);
    return Py_BuildValue("NnNNs#", shown, first_line + part.best, lines, terms, read->text + low, high - low);
}

/* cut(text, spans, matches, values, by_lines, first_line): ((what is shown, its marks), the line of the best match, the
   lines as (number, text, marks), the terms, the part of the text that they are of). */
static PyObject *cut(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *spans, *matches, *values, *found = NULL;
    Py_ssize_t first_line;
    int by_lines;
    Read read = {0};
    if (!PyArg_ParseTuple(arguments, "y#OO!O!pn:cut", &read.text, &read.length, &spans, &PyList_Type, &matches,
                          &PyDict_Type, &values, &by_lines, &first_line))
        return NULL;
    if (read_matches(&read, matches, values) == 0)
        found = cut_read(&read, spans, by_lines, first_line);
    free(read.terms);
    free(read.matches);
    free(read.spans);
    free(read.hidden);
    return found;
}

static PyMethodDef methods[] = {
    {"cut", cut, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_snippets", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__snippets(void)
{
    return PyModule_Create(&definition);
}
