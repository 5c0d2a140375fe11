/* Row bounds from FTS5's own lists: the loops of postings.py, which says what is read and why.

   A page of a list (fts5_index.c, "SEGMENT LEAF FORMAT", big-endian):

       first rowid: 2 bytes, its offset on this page, 0 for none
       end: 2 bytes, where the content ends; behind it a varint for the offset of each term, the later ones as distances
       content: terms, each with its list: rowid, 2 x bytes of positions, positions; rowid as a distance, ...

   A list that is longer goes on at byte 4 of the next page. The first rowid of each page is written in full. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <float.h>
#include <Python.h>
#include <stdlib.h>
#include <string.h>

/* The columns of `fts` in schema.sql, and what a table has: the bounds of a word by twice its weighted occurrences in
   title, body and identifiers, then by those in a path, then what a name adds that is among the identifiers. */
enum { BODY, TITLE, PATH, IDENTIFIERS, SCOPE, COLUMNS };
enum { HEAD_BYTES = 4, TEXT_MOST = 17, PATH_MOST = 6, PATH_AT = TEXT_MOST + 1, NAME_AT = PATH_AT + PATH_MOST + 1,
       TABLE = NAME_AT + 1, LISTS_MOST = 256 };

typedef struct {
    PyObject *pages; /* a list of bytes */
    Py_ssize_t page, count;
    const uint8_t *bytes;
    size_t at, end, first_rowid;
    int is_begun;
    int64_t rowid;
    const uint8_t *positions; /* of this row */
    size_t size;
    const double *table;
    double most; /* what a row can gain by this list */
    uint8_t *joined; /* positions that are on several pages */
    size_t joined_size;
} Cursor;

/* The rows of the highest bounds, with others that were met since some were last dropped. */
typedef struct {
    int64_t *rowids;
    double *bounds;
    size_t count, size;
    size_t most;    /* so many are wanted */
    double lowest;  /* a row of a lower bound is none of them */
    double *sorted; /* room for the bounds in another order */
} Found;

/* Rows are dropped when there are so many times what is wanted: of a word that is everywhere a million would be kept, and
   their memory takes longer to get than their list to read. */
enum { ROOM = 4 };

static int malformed(void)
{
    PyErr_SetString(PyExc_ValueError, "a list of the index is not as expected");
    return -1;
}

static size_t read16(const uint8_t *at)
{
    return (size_t)at[0] << 8 | at[1];
}

/* SQLite's varint: up to 9 bytes, the highest bits first. The place behind it; NULL where it does not end. */
static const uint8_t *read_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t found = 0;
    for (int i = 0; i < 8; i++) {
        if (at >= end)
            return NULL;
        found = found << 7 | (*at & 0x7F);
        if (!(*at++ & 0x80)) {
            *value = found;
            return at;
        }
    }
    if (at >= end)
        return NULL;
    *value = found << 8 | *at++;
    return at;
}

/* Where the first term of a page is, or where the content ends; 0 for a page that is none. */
static size_t content_end(const uint8_t *bytes, size_t size)
{
    if (size < HEAD_BYTES || read16(bytes + 2) > size || read16(bytes + 2) < HEAD_BYTES)
        return 0;
    size_t end = read16(bytes + 2);
    uint64_t first = end;
    if (end < size && (read_varint(bytes + end, bytes + size, &first) == NULL || first > end || first < HEAD_BYTES))
        return 0;
    return (size_t)first;
}

static int next_page(Cursor *cursor)
{
    char *bytes;
    Py_ssize_t size;
    if (++cursor->page >= cursor->count)
        return malformed();
    if (PyBytes_AsStringAndSize(PyList_GetItem(cursor->pages, cursor->page), &bytes, &size) < 0)
        return -1;
    cursor->bytes = (const uint8_t *)bytes;
    cursor->end = content_end(cursor->bytes, (size_t)size);
    if (cursor->end <= HEAD_BYTES)
        return malformed();
    cursor->at = HEAD_BYTES;
    cursor->first_rowid = read16(cursor->bytes);
    return 0;
}

static int next_varint(Cursor *cursor, uint64_t *value)
{
    if (cursor->at >= cursor->end && next_page(cursor) < 0)
        return -1;
    const uint8_t *behind = read_varint(cursor->bytes + cursor->at, cursor->bytes + cursor->end, value);
    if (behind == NULL)
        return malformed();
    cursor->at = (size_t)(behind - cursor->bytes);
    return 0;
}

/* So many bytes of positions; NULL with an exception set. */
static const uint8_t *next_positions(Cursor *cursor, size_t size)
{
    if (size <= cursor->end - cursor->at) {
        const uint8_t *found = cursor->bytes + cursor->at;
        cursor->at += size;
        return found;
    }
    for (size_t done = 0; done < size;) {
        if (cursor->at >= cursor->end && next_page(cursor) < 0)
            return NULL;
        size_t some = cursor->end - cursor->at;
        some = some < size - done ? some : size - done;
        if (done + some > cursor->joined_size) {
            uint8_t *grown = realloc(cursor->joined, 2 * (done + some));
            if (grown == NULL) {
                PyErr_NoMemory();
                return NULL;
            }
            cursor->joined = grown;
            cursor->joined_size = 2 * (done + some);
        }
        memcpy(cursor->joined + done, cursor->bytes + cursor->at, some);
        cursor->at += some;
        done += some;
    }
    return cursor->joined;
}

/* 1 with the next row of a list, 0 at the end, -1 with an exception set. */
static int next_row(Cursor *cursor)
{
    if (cursor->at >= cursor->end) {
        if (cursor->page + 1 >= cursor->count)
            return 0;
        if (next_page(cursor) < 0)
            return -1;
    }
    int is_full = !cursor->is_begun || (cursor->page > 0 && cursor->at == cursor->first_rowid);
    uint64_t rowid, size;
    if (next_varint(cursor, &rowid) < 0 || next_varint(cursor, &size) < 0)
        return -1;
    int64_t before = cursor->rowid;
    cursor->rowid = (int64_t)(is_full ? rowid : (uint64_t)cursor->rowid + rowid);
    /* An odd size marks a deletion, which a contentless_delete table keeps elsewhere. */
    if (size & 1 || (cursor->is_begun && cursor->rowid <= before)) {
        malformed();
        return -1;
    }
    cursor->is_begun = 1;
    cursor->size = (size_t)(size >> 1);
    cursor->positions = next_positions(cursor, cursor->size);
    return cursor->positions == NULL ? -1 : 1;
}

/* What the counts of the present row can add; below 0 with an exception set. */
static double bound_of(const Cursor *cursor)
{
    const uint8_t *at = cursor->positions, *end = at + cursor->size;
    size_t counts[COLUMNS] = {0};
    size_t column = BODY;
    while (at < end) {
        uint8_t byte = *at++;
        if (byte == 1) {
            if (at >= end || *at >= COLUMNS)
                return malformed();
            column = *at++;
            continue;
        }
        counts[column]++;
        while (byte & 0x80 && at < end)
            byte = *at++;
    }
    size_t text = 5 * counts[TITLE] + 2 * (counts[BODY] + counts[IDENTIFIERS]);
    size_t path = counts[PATH] < PATH_MOST ? counts[PATH] : PATH_MOST;
    double bound = cursor->table[text < TEXT_MOST ? text : TEXT_MOST] + cursor->table[PATH_AT + path];
    return counts[IDENTIFIERS] ? bound + cursor->table[NAME_AT] : bound;
}

/* The bound that so many are above or equal to; the order of `bounds` changes (Hoare's find). */
static double nth_highest(double *bounds, size_t count, size_t nth)
{
    size_t low = 0, high = count - 1, wanted = nth - 1;
    while (low < high) {
        double pivot = bounds[low + (high - low) / 2];
        size_t left = low, right = high;
        for (;;) {
            while (bounds[left] > pivot)
                left++;
            while (bounds[right] < pivot)
                right--;
            if (left >= right)
                break;
            double swapped = bounds[left];
            bounds[left++] = bounds[right];
            bounds[right--] = swapped;
        }
        if (wanted <= right)
            high = right;
        else
            low = right + 1;
    }
    return bounds[wanted];
}

/* Keep the `most` of the highest bounds, of equal ones the last. */
static int drop_rows(Found *found)
{
    if (found->sorted == NULL && (found->sorted = malloc(found->size * sizeof(double))) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(found->sorted, found->bounds, found->count * sizeof(double));
    double lowest = found->lowest = nth_highest(found->sorted, found->count, found->most);
    size_t higher = 0, equal = 0, kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        higher += found->bounds[i] > lowest;
        equal += found->bounds[i] == lowest;
    }
    size_t dropped = higher + equal - found->most; /* of the equal ones */
    for (size_t i = 0; i < found->count; i++) {
        double bound = found->bounds[i];
        if (bound < lowest || (bound == lowest && dropped > 0)) {
            dropped -= bound == lowest;
            continue;
        }
        found->rowids[kept] = found->rowids[i];
        found->bounds[kept++] = bound;
    }
    found->count = kept;
    return 0;
}

static int add_row(Found *found, int64_t rowid, double bound)
{
    if (bound < found->lowest)
        return 0;
    if (found->count == found->size && found->size / ROOM >= found->most && drop_rows(found) < 0)
        return -1;
    if (found->count == found->size) {
        size_t size = found->size ? 2 * found->size : 1024;
        int64_t *rowids = realloc(found->rowids, size * sizeof(int64_t));
        if (rowids != NULL)
            found->rowids = rowids;
        double *bounds = realloc(found->bounds, size * sizeof(double));
        if (bounds != NULL)
            found->bounds = bounds;
        if (rowids == NULL || bounds == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        found->size = size;
    }
    found->rowids[found->count] = rowid;
    found->bounds[found->count++] = bound;
    return 0;
}

static int is_among(const int64_t *sorted, size_t count, int64_t rowid)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sorted[middle] < rowid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && sorted[low] == rowid;
}

/* Lists by what they can add, the highest first, and what each and all behind it can add together. */
typedef struct {
    Cursor *cursors[LISTS_MOST];
    int64_t rowids[LISTS_MOST]; /* of the cursors, side by side */
    double rest[LISTS_MOST + 1];
    size_t used;
} Lists;

static void add_rest(Lists *lists)
{
    lists->rest[lists->used] = 0.0;
    for (size_t i = lists->used; i-- > 0;)
        lists->rest[i] = lists->rest[i + 1] + lists->cursors[i]->most;
}

static void remove_list(Lists *lists, size_t place)
{
    for (lists->used--; place < lists->used; place++) {
        lists->cursors[place] = lists->cursors[place + 1];
        lists->rowids[place] = lists->rowids[place + 1];
    }
    add_rest(lists);
}

static int begin(Cursor *cursors, size_t count, Lists *lists)
{
    for (size_t i = 0; i < count; i++) {
        int has_row = next_row(cursors + i);
        if (has_row < 0)
            return -1;
        if (!has_row)
            continue;
        size_t place = lists->used++;
        for (; place > 0 && lists->cursors[place - 1]->most < cursors[i].most; place--) {
            lists->cursors[place] = lists->cursors[place - 1];
            lists->rowids[place] = lists->rowids[place - 1];
        }
        lists->cursors[place] = cursors + i;
        lists->rowids[place] = cursors[i].rowid;
    }
    add_rest(lists);
    return 0;
}

/* The rows of the lists of one segment, each with the sum of its bounds. A row that is in none of the first lists, and
   could not be among the wanted by all the others together, is passed without being looked at (MaxScore: Turtle and
   Flood, Query Evaluation: Strategies and Optimizations, 1995). */
static int merge(Cursor *cursors, size_t count, const int64_t *deleted, size_t deleted_count, Found *found)
{
    Lists lists = {.used = 0};
    if (begin(cursors, count, &lists) < 0)
        return -1;
    for (;;) {
        double needed = found->lowest * (1 - 1e-9); /* sums in another order differ by their rounding */
        size_t first = lists.used;
        while (first > 0 && lists.rest[first - 1] < needed)
            first--;
        if (first == 0)
            return 0;
        int64_t rowid = lists.rowids[0];
        for (size_t i = 1; i < first; i++)
            rowid = lists.rowids[i] < rowid ? lists.rowids[i] : rowid;
        double bound = 0.0;
        for (size_t i = 0; i < lists.used && (i < first || bound + lists.rest[i] >= needed);) {
            if (lists.rowids[i] > rowid) {
                i++;
                continue;
            }
            Cursor *cursor = lists.cursors[i];
            int has_row = 1;
            while (has_row > 0 && cursor->rowid < rowid)
                has_row = next_row(cursor);
            if (has_row > 0 && cursor->rowid == rowid) {
                double added = bound_of(cursor);
                if (added < 0)
                    return -1;
                bound += added;
                has_row = next_row(cursor);
            }
            if (has_row < 0)
                return -1;
            if (has_row) {
                lists.rowids[i++] = cursor->rowid;
            } else {
                remove_list(&lists, i);
                first -= i < first;
            }
        }
        if (bound > 0.0 && rowid > 0 && !(deleted_count && is_among(deleted, deleted_count, rowid)) &&
            add_row(found, rowid, bound) < 0)
            return -1;
    }
}

static int read_list(PyObject *list, const double *tables, size_t terms, Cursor *cursor)
{
    Py_ssize_t term, start, end;
    char *bytes;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(list, "nnnO!", &term, &start, &end, &PyList_Type, &cursor->pages))
        return -1;
    cursor->count = PyList_Size(cursor->pages);
    PyObject *first = PyList_GetItem(cursor->pages, 0);
    if (first == NULL || PyBytes_AsStringAndSize(first, &bytes, &size) < 0)
        return -1;
    if (term < 0 || (size_t)term >= terms || start < HEAD_BYTES || end < start || end > size)
        return malformed();
    cursor->table = tables + TABLE * term;
    for (size_t i = 0; i <= TEXT_MOST; i++)
        cursor->most = cursor->table[i] > cursor->most ? cursor->table[i] : cursor->most;
    cursor->most += cursor->table[PATH_AT + PATH_MOST] + cursor->table[NAME_AT];
    cursor->bytes = (const uint8_t *)bytes;
    cursor->at = (size_t)start;
    cursor->end = (size_t)end;
    return 0;
}

static int read_segment(PyObject *segment, const double *tables, size_t terms, Found *found)
{
    const char *deleted;
    Py_ssize_t deleted_bytes;
    PyObject *lists;
    if (!PyArg_ParseTuple(segment, "y#O!", &deleted, &deleted_bytes, &PyList_Type, &lists))
        return -1;
    size_t count = (size_t)PyList_Size(lists);
    if (count >= LISTS_MOST)
        return malformed();
    Cursor cursors[LISTS_MOST];
    memset(cursors, 0, sizeof(cursors));
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = read_list(PyList_GetItem(lists, (Py_ssize_t)i), tables, terms, cursors + i);
    if (result == 0)
        result = merge(cursors, count, (const int64_t *)deleted, (size_t)deleted_bytes / sizeof(int64_t), found);
    for (size_t i = 0; i < count; i++)
        free(cursors[i].joined);
    return result;
}

static PyObject *row_bounds(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *segments;
    const char *tables;
    Py_ssize_t bytes, most = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTuple(arguments, "O!y#|n:row_bounds", &PyList_Type, &segments, &tables, &bytes, &most))
        return NULL;
    if (most < 1) {
        PyErr_SetString(PyExc_ValueError, "at least one row is wanted");
        return NULL;
    }
    size_t terms = (size_t)bytes / (TABLE * sizeof(double));
    double *copied = malloc((size_t)bytes + 1); /* aligned */
    if (copied == NULL)
        return PyErr_NoMemory();
    memcpy(copied, tables, (size_t)bytes);
    Found found = {.most = (size_t)most};
    int result = 0;
    for (size_t i = 0; result == 0 && i < terms * TABLE; i++)
        if (!(copied[i] >= 0.0 && copied[i] <= DBL_MAX))
            result = malformed();
    for (Py_ssize_t i = 0; result == 0 && i < PyList_Size(segments); i++)
        result = read_segment(PyList_GetItem(segments, i), copied, terms, &found);
    PyObject *pair = NULL;
    if (result == 0)
        pair = Py_BuildValue("y#y#", found.count ? (char *)found.rowids : "", /* NULL would be None */
                             (Py_ssize_t)(found.count * sizeof(int64_t)), found.count ? (char *)found.bounds : "",
                             (Py_ssize_t)(found.count * sizeof(double)));
    free(copied);
    free(found.rowids);
    free(found.bounds);
    free(found.sorted);
    return pair;
}

/* (start, end, whether it is the last one of the page) of the list of a term; None where the page has no such term. */
static PyObject *find_list(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *page_bytes, *wanted_bytes;
    Py_ssize_t size, wanted_size;
    if (!PyArg_ParseTuple(arguments, "y#y#:find_list", &page_bytes, &size, &wanted_bytes, &wanted_size))
        return NULL;
    const uint8_t *page = (const uint8_t *)page_bytes, *wanted = (const uint8_t *)wanted_bytes;
    size_t at = content_end(page, (size_t)size), end = at ? read16(page + 2) : 0, common = 0;
    if (at == 0 || end == (size_t)size)
        return at ? Py_BuildValue("") : (malformed(), NULL);
    const uint8_t *index = page + end, *index_end = page + size;
    uint64_t distance, kept = 0, added;
    index = read_varint(index, index_end, &distance);
    for (int is_first = 1;; is_first = 0) {
        /* `common`: how many bytes the term before has in common with the one that is wanted. */
        const uint8_t *text = page + at;
        if (!is_first)
            text = read_varint(text, page + end, &kept);
        text = text == NULL ? NULL : read_varint(text, page + end, &added);
        if (text == NULL || added > (uint64_t)(page + end - text) || (is_first && kept != 0))
            break;
        size_t start = (size_t)(text - page) + added, next = end;
        if (index < index_end) {
            index = read_varint(index, index_end, &distance);
            if (index == NULL || distance == 0 || distance > end - at || at + distance < start)
                break;
            next = at + distance;
        }
        if (kept < common)
            return Py_BuildValue("");
        if (kept == common) {
            size_t same = 0;
            while (same < added && common + same < (size_t)wanted_size && text[same] == wanted[common + same])
                same++;
            common += same;
            if (same == added && common == (size_t)wanted_size)
                return Py_BuildValue("nnO", (Py_ssize_t)start, (Py_ssize_t)next, next == end ? Py_True : Py_False);
        }
        if (next == end)
            return Py_BuildValue("");
        at = next;
    }
    malformed();
    return NULL;
}

static int read_rows(PyObject *arguments, const char *format, const int64_t **rowids, const double **bounds,
                     Py_ssize_t *count, double *low, double *high, Py_ssize_t *most)
{
    Py_ssize_t rowid_bytes, bound_bytes;
    if (!PyArg_ParseTuple(arguments, format, (const char **)rowids, &rowid_bytes, (const char **)bounds, &bound_bytes,
                          low, high, most))
        return -1;
    *count = bound_bytes / (Py_ssize_t)sizeof(double);
    return rowid_bytes == *count * (Py_ssize_t)sizeof(int64_t) ? 0 : malformed();
}

/* The rows with low < bound <= high, the last ones where there are more than `most`. */
static PyObject *between(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const int64_t *rowids;
    const double *bounds;
    Py_ssize_t count, most;
    double low, high;
    if (read_rows(arguments, "y#y#ddn:between", &rowids, &bounds, &count, &low, &high, &most) < 0)
        return NULL;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = count; found != NULL && i-- > 0 && most > 0;)
        if (bounds[i] > low && bounds[i] <= high) {
            PyObject *rowid = PyLong_FromLongLong(rowids[i]);
            if (rowid == NULL || PyList_Append(found, rowid) < 0)
                Py_CLEAR(found);
            Py_XDECREF(rowid);
            most--;
        }
    return found;
}

/* The lowest bound that at most so many rows are above, but for a share of 1/4096 of the highest; what is highest of
   all where more rows have that. */
static PyObject *threshold(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    enum { STEPS = 4096 };
    const char *bytes;
    Py_ssize_t size, most;
    if (!PyArg_ParseTuple(arguments, "y#n:threshold", &bytes, &size, &most))
        return NULL;
    const double *bounds = (const double *)bytes;
    size_t count = (size_t)size / sizeof(double);
    double highest = 0.0;
    for (size_t i = 0; i < count; i++)
        if (bounds[i] > highest)
            highest = bounds[i];
    size_t *steps = calloc(STEPS + 1, sizeof(size_t));
    if (steps == NULL)
        return PyErr_NoMemory();
    for (size_t i = 0; i < count; i++) {
        double step = bounds[i] / highest * STEPS;
        steps[step >= 0 && step <= STEPS ? (size_t)step : 0]++; /* what is no number is lowest */
    }
    Py_ssize_t above = 0;
    size_t step = STEPS + 1;
    while (step > 0 && above + (Py_ssize_t)steps[step - 1] <= most)
        above += (Py_ssize_t)steps[--step];
    free(steps);
    /* Rounding may put a row into the step above its own. */
    double found = step > STEPS ? highest : highest * ((double)step / STEPS) * (1 - 1e-12);
    return PyFloat_FromDouble(step == 0 ? 0.0 : found);
}

static PyMethodDef methods[] = {
    {"find_list", find_list, METH_VARARGS, NULL},
    {"row_bounds", row_bounds, METH_VARARGS, NULL},
    {"between", between, METH_VARARGS, NULL},
    {"threshold", threshold, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_postings", .m_size = -1, .m_methods = methods
};

PyMODINIT_FUNC PyInit__postings(void)
{
    return PyModule_Create(&definition);
}
