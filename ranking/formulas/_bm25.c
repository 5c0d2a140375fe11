/* The sum of bm25.py over many texts at once: the compiled twin of `saturated_sums` there. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What an occurrence of an index's term counts for one term of the query. */
typedef struct {
    long long id;
    Py_ssize_t place;
    double scale;
} Place;

typedef struct {
    Place *places; /* by ascending id */
    Py_ssize_t count;
    PyObject *texts; /* a list: of each text its [(id, tf)] */
} Column;

static int by_id(const void *one, const void *other)
{
    const Place *first = one, *second = other;
    if (first->id != second->id)
        return first->id < second->id ? -1 : 1;
    return (first->place > second->place) - (first->place < second->place);
}

/* The places of {id: [(place, scale)]}, of which each is below `terms`. -1 with an exception. */
static int read_places(PyObject *mapping, Py_ssize_t terms, Column *column)
{
    Py_ssize_t position = 0, room = 0;
    PyObject *key, *value;
    while (PyDict_Next(mapping, &position, &key, &value)) {
        if (!PyList_Check(value)) {
            PyErr_SetString(PyExc_TypeError, "the places of a term are a list");
            return -1;
        }
        room += PyList_Size(value);
    }
    column->places = calloc((size_t)room + 1, sizeof(Place));
    if (column->places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    position = 0;
    while (PyDict_Next(mapping, &position, &key, &value))
        for (Py_ssize_t i = 0; i < PyList_Size(value) && column->count < room; i++) {
            Place *place = &column->places[column->count];
            place->id = PyLong_AsLongLong(key);
            if (PyErr_Occurred() || !PyArg_ParseTuple(PyList_GetItem(value, i), "nd", &place->place, &place->scale))
                return -1;
            if (place->place < 0 || place->place >= terms) {
                PyErr_SetString(PyExc_IndexError, "a place is no term of the query");
                return -1;
            }
            column->count++;
        }
    qsort(column->places, (size_t)column->count, sizeof(Place), by_id);
    return 0;
}

/* The first place of an id; the count of all where it has none. */
static Py_ssize_t first_place(const Column *column, long long id)
{
    Py_ssize_t low = 0, high = column->count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (column->places[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the occurrences of one text in one column to `tfs`. -1 with an exception. */
static int add_text(const Column *column, Py_ssize_t text, double *tfs)
{
    PyObject *pairs = PyList_GetItem(column->texts, text);
    if (pairs == NULL || !PyList_Check(pairs)) {
        if (pairs != NULL)
            PyErr_SetString(PyExc_TypeError, "the occurrences of a text are a list");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(pairs); i++) {
        PyObject *pair = PyList_GetItem(pairs, i), *number = PyTuple_GetItem(pair, 0);
        PyObject *occurrences = number == NULL ? NULL : PyTuple_GetItem(pair, 1);
        long long id = occurrences == NULL ? -1 : PyLong_AsLongLong(number);
        double tf = occurrences == NULL ? -1.0 : PyFloat_AsDouble(occurrences);
        if ((id == -1 || tf == -1.0) && PyErr_Occurred())
            return -1;
        for (Py_ssize_t at = first_place(column, id); at < column->count && column->places[at].id == id; at++)
            tfs[column->places[at].place] += tf * column->places[at].scale;
    }
    return 0;
}

/* Adds a value to sums that do not overlap, from small to large (Shewchuk 1997); returns how many there are. */
static int add_exactly(double *partials, int count, double value)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        double larger = value, smaller = partials[i];
        if (fabs(larger) < fabs(smaller)) {
            larger = partials[i];
            smaller = value;
        }
        double sum = larger + smaller, taken = sum - larger, lost = smaller - taken;
        if (lost != 0.0)
            partials[kept++] = lost;
        value = sum;
    }
    partials[kept++] = value;
    return kept;
}

/* The sum of these, rounded once and half to even, as `math.fsum` does it. */
static double rounded_sum(const double *partials, int count)
{
    double sum = 0.0, lost = 0.0;
    int at = count;
    if (at > 0) {
        sum = partials[--at];
        while (at > 0) {
            double before = sum, added = partials[--at], taken;
            sum = before + added;
            taken = sum - before;
            lost = added - taken;
            if (lost != 0.0)
                break;
        }
        /* Half way between two: what is left of smaller sums decides. */
        if (at > 0 && ((lost < 0.0 && partials[at - 1] < 0.0) || (lost > 0.0 && partials[at - 1] > 0.0))) {
            double twice = lost * 2.0, other = sum + twice, taken = other - sum;
            if (twice == taken)
                sum = other;
        }
    }
    return sum;
}

static double score_of(const double *tfs, const double *worth, Py_ssize_t terms, double norm, double *partials)
{
    int count = 0;
    for (Py_ssize_t at = 0; at < terms; at++)
        if (tfs[at] != 0.0) {
            double part = worth[at] * tfs[at] / (tfs[at] + norm);
            if (!isfinite(part))
                return part;
            count = add_exactly(partials, count, part);
        }
    return rounded_sum(partials, count);
}

/* The scores of all texts, whose lengths are in `lengths`. NULL with an exception. */
static PyObject *scores_of(const Column *columns, Py_ssize_t width, PyObject *lengths, PyObject *worths, double fixed,
                           double by_length)
{
    Py_ssize_t terms = PyList_Size(worths), count = PyList_Size(lengths);
    double *numbers = calloc(3 * (size_t)terms + 2, sizeof(double)), *tfs = numbers + terms, *partials = tfs + terms;
    if (numbers == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < terms; at++)
        numbers[at] = PyFloat_AsDouble(PyList_GetItem(worths, at));
    PyObject *scores = PyErr_Occurred() ? NULL : PyList_New(count);
    for (Py_ssize_t text = 0; scores != NULL && text < count; text++) {
        memset(tfs, 0, (size_t)terms * sizeof(double));
        int failed = 0;
        for (Py_ssize_t i = 0; !failed && i < width; i++)
            failed = add_text(&columns[i], text, tfs) < 0;
        double length = failed ? 0.0 : PyFloat_AsDouble(PyList_GetItem(lengths, text));
        PyObject *score = failed || PyErr_Occurred()
                              ? NULL
                              : PyFloat_FromDouble(score_of(tfs, numbers, terms, fixed + by_length * length, partials));
        if (score == NULL || PyList_SetItem(scores, text, score) < 0)
            Py_CLEAR(scores);
    }
    free(numbers);
    return scores;
}

/* saturated_sums(columns, lengths, worths, fixed, by_length): of each text the sum of worth * tf / (tf + fixed + by_length *
   length) over the terms of a query; each column is ({id: [(place of a term, scale)]}, [[(id, tf)] of each text]). */
static PyObject *saturated_sums(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *given, *lengths, *worths, *found = NULL;
    double fixed, by_length;
    if (!PyArg_ParseTuple(arguments, "O!O!O!dd:saturated_sums", &PyList_Type, &given, &PyList_Type, &lengths, &PyList_Type,
                          &worths, &fixed, &by_length))
        return NULL;
    Py_ssize_t width = PyList_Size(given), read = 0;
    Column *columns = calloc((size_t)width + 1, sizeof(Column));
    if (columns == NULL)
        return PyErr_NoMemory();
    for (; read < width; read++) {
        PyObject *places;
        if (!PyArg_ParseTuple(PyList_GetItem(given, read), "O!O!", &PyDict_Type, &places, &PyList_Type,
                              &columns[read].texts) ||
            read_places(places, PyList_Size(worths), &columns[read]) < 0)
            break;
    }
    if (read == width)
        found = scores_of(columns, width, lengths, worths, fixed, by_length);
    for (Py_ssize_t i = 0; i < width; i++)
        free(columns[i].places);
    free(columns);
    return found;
}

static PyMethodDef methods[] = {
    {"saturated_sums", saturated_sums, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_bm25", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__bm25(void)
{
    return PyModule_Create(&definition);
}
