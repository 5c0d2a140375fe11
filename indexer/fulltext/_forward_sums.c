/* BM25's sum over forward lists: the compiled twin of `SaturatedSum.of` (indexer/engine.py) on what
   `forward.frequencies` finds. The layout of a list is told in forward.py. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdlib.h>

#include "_crc32.h"

enum { HEAD_BYTES = 4, CHECK_BYTES = 4, PLAIN = 256 };

typedef struct {
    const uint32_t *ids; /* of the terms, ascending */
    const uint32_t *places;
    const double *scales;
    const double *worth; /* by place */
    size_t terms, places_count;
    PyObject *weighted; /* a mapping, packed counts to weighted frequency */
    double plain[PLAIN]; /* what it said of counts of one byte; below 0: not asked yet */
    double fixed, by_length;
    double *frequencies, *partials; /* by place */
} Sum;

static uint32_t read16(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

/* The place of an id in an ascending list of so many; -1 if it is not there. */
static Py_ssize_t find(const uint8_t *list, size_t count, int bytes, uint32_t id)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        uint32_t found = bytes == 2 ? read16(list + 2 * middle) : read32(list + 4 * middle);
        if (found == id)
            return (Py_ssize_t)middle;
        if (found < id)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static double weighted_frequency(Sum *sum, uint32_t packed)
{
    if (packed < PLAIN && sum->plain[packed] >= 0)
        return sum->plain[packed];
    PyObject *key = PyLong_FromUnsignedLong(packed);
    PyObject *found = key == NULL ? NULL : PyObject_GetItem(sum->weighted, key);
    Py_XDECREF(key);
    double frequency = found == NULL ? -1.0 : PyFloat_AsDouble(found);
    Py_XDECREF(found);
    if (packed < PLAIN && frequency >= 0)
        sum->plain[packed] = frequency;
    return frequency;
}

/* The exact sum, rounded once: `math.fsum` (Shewchuk, Discrete & Computational Geometry 18, 1997). */
static double exact_sum(double *partials, const double *summands, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        double x = summands[i];
        size_t kept = 0;
        for (size_t j = 0; j < used; j++) {
            double y = partials[j];
            if (fabs(x) < fabs(y)) {
                double swapped = x;
                x = y;
                y = swapped;
            }
            double high = x + y, rest = high - x, low = y - rest;
            if (low != 0.0)
                partials[kept++] = low;
            x = high;
        }
        if (x != 0.0)
            partials[kept++] = x;
        used = kept;
    }
    if (used == 0)
        return 0.0;
    double high = partials[--used], low = 0.0;
    while (used > 0) {
        double x = high, y = partials[--used];
        high = x + y;
        low = y - (high - x);
        if (low != 0.0)
            break;
    }
    if (used > 0 && ((low < 0.0 && partials[used - 1] < 0.0) || (low > 0.0 && partials[used - 1] > 0.0))) {
        double twice = low * 2.0, rounded = high + twice;
        if (twice == rounded - high)
            high = rounded;
    }
    return high;
}

/* The score of one list; below 0 with an exception set. */
static double score(Sum *sum, const uint8_t *list, size_t length, double tokens)
{
    static const char *damaged = "a forward list is damaged";
    if (length < HEAD_BYTES + CHECK_BYTES || crc32_of(list, length - CHECK_BYTES) != read32(list + length - CHECK_BYTES)) {
        PyErr_SetString(PyExc_ValueError, damaged);
        return -1.0;
    }
    size_t small = read16(list), written_out = read16(list + 2), body = length - HEAD_BYTES - CHECK_BYTES;
    if (body < 3 * small + 2 * written_out || (body - 3 * small - 2 * written_out) % 5 != 0) {
        PyErr_SetString(PyExc_ValueError, damaged);
        return -1.0;
    }
    size_t large = (body - 3 * small - 2 * written_out) / 5;
    const uint8_t *ids = list + HEAD_BYTES, *large_ids = ids + 2 * small, *counts = large_ids + 4 * large;
    const uint8_t *rest = counts + small + large;
    for (size_t place = 0; place < sum->places_count; place++)
        sum->frequencies[place] = 0.0;
    for (size_t i = 0; i < sum->terms; i++) {
        uint32_t id = sum->ids[i];
        Py_ssize_t at = id < 1 << 16 ? find(ids, small, 2, id) : find(large_ids, large, 4, id);
        if (at < 0)
            continue;
        at += id < 1 << 16 ? 0 : (Py_ssize_t)small;
        uint32_t packed = counts[at];
        if (packed == 0) {
            size_t before = 0;
            for (Py_ssize_t other = 0; other < at; other++)
                before += counts[other] == 0;
            if (before >= written_out) {
                PyErr_SetString(PyExc_ValueError, damaged);
                return -1.0;
            }
            packed = read16(rest + 2 * before);
        }
        double frequency = weighted_frequency(sum, packed);
        if (frequency < 0.0)
            return -1.0;
        sum->frequencies[sum->places[i]] += frequency * sum->scales[i];
    }
    double norm = sum->fixed + sum->by_length * tokens;
    size_t summands = 0;
    for (size_t place = 0; place < sum->places_count; place++) {
        double frequency = sum->frequencies[place];
        if (frequency != 0.0)
            sum->frequencies[summands++] = sum->worth[place] * frequency / (frequency + norm);
    }
    return exact_sum(sum->partials, sum->frequencies, summands);
}

static PyObject *scores_of(Sum *sum, PyObject *rows)
{
    Py_ssize_t count = PyList_Size(rows);
    PyObject *scores = count < 0 ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; scores != NULL && i < count; i++) {
        PyObject *row = PyList_GetItem(rows, i), *tokens = row == NULL ? NULL : PyTuple_GetItem(row, 2);
        PyObject *list = tokens == NULL ? NULL : PyTuple_GetItem(row, 3);
        double length = list == NULL ? -1.0 : PyFloat_AsDouble(tokens);
        char *bytes;
        Py_ssize_t size;
        double found = -1.0;
        if (!PyErr_Occurred() && PyBytes_AsStringAndSize(list, &bytes, &size) == 0)
            found = score(sum, (const uint8_t *)bytes, (size_t)size, length);
        PyObject *number = PyErr_Occurred() ? NULL : PyFloat_FromDouble(found);
        if (number == NULL || PyList_SetItem(scores, i, number) < 0)
            Py_CLEAR(scores);
    }
    return scores;
}

static PyObject *sums(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *rows;
    Sum sum;
    Py_ssize_t ids, places, scales, worth;
    if (!PyArg_ParseTuple(arguments, "Oy#y#y#y#Odd:sums", &rows, (const char **)&sum.ids, &ids,
                          (const char **)&sum.places, &places, (const char **)&sum.scales, &scales,
                          (const char **)&sum.worth, &worth, &sum.weighted, &sum.fixed, &sum.by_length))
        return NULL;
    sum.terms = (size_t)ids / sizeof(uint32_t);
    sum.places_count = (size_t)worth / sizeof(double);
    int is_wrong = (size_t)places != sum.terms * sizeof(uint32_t) || (size_t)scales != sum.terms * sizeof(double);
    for (size_t i = 0; !is_wrong && i < sum.terms; i++)
        is_wrong = sum.places[i] >= sum.places_count || (i > 0 && sum.ids[i] <= sum.ids[i - 1]);
    if (is_wrong) {
        PyErr_SetString(PyExc_ValueError, "terms have ascending ids, and each a place and a scale");
        return NULL;
    }
    for (int packed = 0; packed < PLAIN; packed++)
        sum.plain[packed] = -1.0;
    sum.frequencies = malloc((sum.places_count + 1) * sizeof(double));
    sum.partials = malloc((sum.places_count + 1) * sizeof(double));
    PyObject *scores = NULL;
    if (sum.frequencies == NULL || sum.partials == NULL)
        PyErr_NoMemory();
    else
        scores = scores_of(&sum, rows);
    free(sum.frequencies);
    free(sum.partials);
    return scores;
}

static PyMethodDef methods[] = {
    {"sums", sums, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_forward_sums", .m_size = -1, .m_methods = methods
};

PyMODINIT_FUNC PyInit__forward_sums(void)
{
    make_crc_tables();
    return PyModule_Create(&definition);
}
