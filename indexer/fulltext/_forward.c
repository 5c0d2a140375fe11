/* The loop of forward.py over the forward lists of rows, whose layout stands there. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 4, CHECK_BYTES = 4, LARGE_BYTES = 5, SMALL_IDS = 1 << 16, BYTES = 256, SLICES = 8 };

static uint32_t crc_tables[SLICES][BYTES]; /* by how many bytes stand behind the one that is looked up */

static void make_crc_tables(void)
{
    for (uint32_t byte = 0; byte < BYTES; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        crc_tables[0][byte] = crc;
    }
    for (int slice = 1; slice < SLICES; slice++)
        for (uint32_t byte = 0; byte < BYTES; byte++) {
            uint32_t before = crc_tables[slice - 1][byte];
            crc_tables[slice][byte] = before >> 8 ^ crc_tables[0][before & 255];
        }
}

static uint32_t read16(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t read32(const uint8_t *at)
{
    return read16(at) | read16(at + 2) << 16;
}

/* As `binascii.crc32`, eight bytes at a time. */
static uint32_t crc32_of(const uint8_t *at, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (; length >= SLICES; at += SLICES, length -= SLICES) {
        uint32_t low = crc ^ read32(at), high = read32(at + 4);
        crc = crc_tables[7][low & 255] ^ crc_tables[6][low >> 8 & 255] ^ crc_tables[5][low >> 16 & 255] ^
              crc_tables[4][low >> 24] ^ crc_tables[3][high & 255] ^ crc_tables[2][high >> 8 & 255] ^
              crc_tables[1][high >> 16 & 255] ^ crc_tables[0][high >> 24];
    }
    for (; length > 0; at++, length--)
        crc = crc_tables[0][(crc ^ *at) & 255] ^ crc >> 8;
    return ~crc;
}

typedef struct {
    const uint8_t *small, *large, *counts, *end; /* ids, their counts, and where those written out end */
    size_t small_count, large_count, written_out;
} List;

/* -1 where the bytes are no forward list. */
static int open_list(const uint8_t *bytes, size_t length, List *list)
{
    if (length < HEAD_BYTES + CHECK_BYTES || crc32_of(bytes, length - CHECK_BYTES) != read32(bytes + length - CHECK_BYTES))
        return -1;
    list->small_count = read16(bytes);
    list->written_out = read16(bytes + 2);
    size_t taken = HEAD_BYTES + 3 * list->small_count + 2 * list->written_out + CHECK_BYTES;
    if (length < taken)
        return -1;
    list->large_count = (length - taken) / LARGE_BYTES;
    list->small = bytes + HEAD_BYTES;
    list->large = list->small + 2 * list->small_count;
    list->counts = list->large + 4 * list->large_count;
    list->end = bytes + length - CHECK_BYTES;
    return 0;
}

/* The place of an id among all of the list; -1 for one that it lacks. Nothing is guessed: the steps have no branch. */
static Py_ssize_t place_of(const List *list, uint32_t id)
{
    int is_small = id < SMALL_IDS;
    size_t low = 0, count = is_small ? list->small_count : list->large_count;
    if (count == 0)
        return -1;
    if (!is_small) {
        for (size_t half; count > 1; count -= half) {
            half = count / 2;
            low += half * (read32(list->large + 4 * (low + half - 1)) < id);
        }
        return read32(list->large + 4 * low) == id ? (Py_ssize_t)(list->small_count + low) : -1;
    }
    for (size_t half; count > 1; count -= half) {
        half = count / 2;
        low += half * (read16(list->small + 2 * (low + half - 1)) < id);
    }
    return read16(list->small + 2 * low) == id ? (Py_ssize_t)low : -1;
}

/* The packed counts of the term at a place; -1 where they are not written out. */
static int32_t counts_at(const List *list, size_t place)
{
    if (list->counts[place] != 0)
        return list->counts[place];
    size_t before = 0;
    for (size_t at = 0; at < place; at++)
        before += list->counts[at] == 0;
    return before < list->written_out ? (int32_t)read16(list->end - 2 * (list->written_out - before)) : -1;
}

typedef struct {
    uint32_t id;
    PyObject *number; /* the same */
} Wanted;

static int by_id(const void *one, const void *other)
{
    uint32_t first = ((const Wanted *)one)->id, second = ((const Wanted *)other)->id;
    return (first > second) - (first < second);
}

/* The pairs of one list; `met` keeps the weighted counts of those that fit a byte. */
static PyObject *pairs_of(const List *list, const Wanted *wanted, Py_ssize_t count, PyObject *weighted, PyObject **met)
{
    PyObject *pairs = PyList_New(0);
    for (Py_ssize_t i = 0; pairs != NULL && i < count; i++) {
        Py_ssize_t place = place_of(list, wanted[i].id);
        if (place < 0)
            continue;
        int32_t packed = counts_at(list, (size_t)place);
        PyObject *value = NULL, *pair = NULL;
        if (packed < 0) {
            PyErr_SetString(PyExc_ValueError, "a forward list is damaged");
        } else if (packed < BYTES && met[packed] != NULL) {
            value = Py_NewRef(met[packed]);
        } else {
            PyObject *key = PyLong_FromLong(packed);
            value = key == NULL ? NULL : PyObject_GetItem(weighted, key);
            Py_XDECREF(key);
            if (value != NULL && packed < BYTES)
                met[packed] = Py_NewRef(value);
        }
        if (value != NULL)
            pair = PyTuple_Pack(2, wanted[i].number, value);
        Py_XDECREF(value);
        if (pair == NULL || PyList_Append(pairs, pair) < 0)
            Py_CLEAR(pairs);
        Py_XDECREF(pair);
    }
    return pairs;
}

/* The ids of a sequence in ascending order, each with its number; NULL with an exception. */
static Wanted *read_wanted(PyObject *ids, Py_ssize_t count)
{
    Wanted *wanted = calloc((size_t)count + 1, sizeof(Wanted));
    if (wanted == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        wanted[i].number = PyList_GetItem(ids, i);
        unsigned long id = PyLong_AsUnsignedLong(wanted[i].number);
        if (PyErr_Occurred() || id > UINT32_MAX) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_OverflowError, "a term's id has four bytes");
            free(wanted);
            return NULL;
        }
        wanted[i].id = (uint32_t)id;
    }
    qsort(wanted, (size_t)count, sizeof(Wanted), by_id);
    return wanted;
}

/* frequencies(blobs, ids, weighted): of each blob the terms that it holds of a list of ids, as [(id, weighted count)] by
   ascending id. ValueError for a blob that is damaged. */
static PyObject *frequencies(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *blobs, *ids, *weighted, *met[BYTES] = {NULL};
    if (!PyArg_ParseTuple(arguments, "O!O!O:frequencies", &PyList_Type, &blobs, &PyList_Type, &ids, &weighted))
        return NULL;
    Py_ssize_t count = PyList_Size(ids);
    Wanted *wanted = read_wanted(ids, count);
    if (wanted == NULL)
        return NULL;
    PyObject *found = PyList_New(0);
    for (Py_ssize_t row = 0; found != NULL && row < PyList_Size(blobs); row++) {
        char *bytes;
        Py_ssize_t length;
        PyObject *pairs = NULL;
        List list;
        if (PyBytes_AsStringAndSize(PyList_GetItem(blobs, row), &bytes, &length) == 0) {
            if (open_list((const uint8_t *)bytes, (size_t)length, &list) < 0)
                PyErr_SetString(PyExc_ValueError, "a forward list is damaged");
            else
                pairs = pairs_of(&list, wanted, count, weighted, met);
        }
        if (pairs == NULL || PyList_Append(found, pairs) < 0)
            Py_CLEAR(found);
        Py_XDECREF(pairs);
    }
    for (int packed = 0; packed < BYTES; packed++)
        Py_XDECREF(met[packed]);
    free(wanted);
    return found;
}

static PyMethodDef methods[] = {
    {"frequencies", frequencies, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_forward", .m_size = -1, .m_methods = methods
};

PyMODINIT_FUNC PyInit__forward(void)
{
    make_crc_tables();
    return PyModule_Create(&definition);
}
