/* What is done for each line of a text of code in ASCII: the compiled twins of three expressions (expressions.tsv), and
   of what Python does with each place that they find.

   python_openings    passages.py: where definitions of Python begin, outside its long strings
   python_names       definitions.py: the names that a text of Python defines
   code_cut           passages.py: where a piece of code is best cut
   line_checksums     spans.py: what its lines are compared by */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { WORD = 1, FIRST = 2, CAPITAL = 4, BLANK = 8, WHITE = 16, NO_LINE = 32 }; /* of a byte */
enum { NAME_CHARS = 100, TAB_COLUMNS = 4, CUT_CONTEXT = 64, INDENT_CHARS = 80 };

static uint8_t kinds[256];
static uint32_t crc_table[256];

/* What is looked through; nothing before `begin` or from `end` on is read. */
typedef struct {
    const char *begin, *end;
} Text;

static int is(const Text *text, const char *at, int kind)
{
    return at < text->end && kinds[(uint8_t)*at] & kind;
}

static int has(const Text *text, const char *at, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(text->end - at) >= length && memcmp(at, word, length) == 0;
}

static const char *behind_run(const Text *text, const char *at, char character)
{
    while (at < text->end && *at == character)
        at++;
    return at;
}

static const char *behind_kind(const Text *text, const char *at, int kind)
{
    while (is(text, at, kind))
        at++;
    return at;
}

static const char *next_line(const Text *text, const char *at)
{
    const char *found = memchr(at, '\n', (size_t)(text->end - at));
    return found == NULL ? text->end : found + 1;
}

static int read_text(PyObject *given, Text *text)
{
    Py_ssize_t length;
    text->begin = PyUnicode_AsUTF8AndSize(given, &length);
    if (text->begin == NULL)
        return -1;
    text->end = text->begin + length;
    if (length != PyUnicode_GetLength(given)) {
        PyErr_SetString(PyExc_ValueError, "a text of ASCII");
        return -1;
    }
    return 0;
}

/* (?:async +)?(def|class) +: what is behind it, NULL where that is not there; `keyword` is where def or class is. */
static const char *behind_keyword(const Text *text, const char *at, const char **keyword)
{
    if (has(text, at, "async ")) {
        const char *behind = behind_run(text, at + 5, ' ');
        if (has(text, behind, "def ") || has(text, behind, "class "))
            at = behind;
    }
    *keyword = at;
    if (has(text, at, "def "))
        return behind_run(text, at + 3, ' ');
    return has(text, at, "class ") ? behind_run(text, at + 5, ' ') : NULL;
}

/* Where the long strings of Python begin and end, one after the other; one that is never closed is none. */
typedef struct {
    const char *at, *begin, *end;
} LongString;

static const char *behind_short_string(const Text *text, const char *at)
{
    char quote = *at++;
    while (at < text->end && *at != quote && *at != '\n') {
        if (*at == '\\' && at + 1 == text->end)
            return at;
        at += 1 + (*at == '\\');
    }
    return at < text->end && *at == quote ? at + 1 : at;
}

static const char *find_mark(const Text *text, const char *at, const char *mark)
{
    for (; text->end - at >= 3; at++) {
        at = memchr(at, *mark, (size_t)(text->end - at) - 2);
        if (at == NULL)
            break;
        if (memcmp(at, mark, 3) == 0)
            return at;
    }
    return NULL;
}

static void next_long_string(const Text *text, LongString *string)
{
    const char *at = string->at;
    while (at < text->end && !has(text, at, "\"\"\"") && !has(text, at, "'''")) {
        if (*at == '#')
            at = memchr(at, '\n', (size_t)(text->end - at));
        else if (*at == '"' || *at == '\'')
            at = behind_short_string(text, at);
        else
            at++;
        if (at == NULL)
            break;
    }
    string->begin = string->end = text->end;
    if (at == NULL || at == text->end)
        return;
    const char *close = find_mark(text, at + 3, at);
    while (close != NULL && close[-1] == '\\' && close[-2] != '\\')
        close = find_mark(text, close + 1, at);
    if (close == NULL)
        return;
    string->begin = at;
    string->end = close;
    string->at = close + 3;
}

static int add(PyObject *list, PyObject *item)
{
    int failed = item == NULL || PyList_Append(list, item) < 0;
    Py_XDECREF(item);
    return failed;
}

/* (place of its line, indentation, "def name") of each definition. */
static PyObject *python_openings(PyObject *Py_UNUSED(module), PyObject *given)
{
    Text text;
    if (read_text(given, &text) < 0)
        return NULL;
    LongString string = {text.begin, text.begin, text.begin};
    char named[NAME_CHARS + 8];
    PyObject *found = PyList_New(0);
    int failed = found == NULL;
    for (const char *line = text.begin, *keyword; !failed && line < text.end; line = next_line(&text, line)) {
        const char *at = behind_run(&text, line, *line == '\t' ? '\t' : ' ');
        if (at - line > (*line == '\t' ? 2 : 8))
            continue;
        const char *name = behind_keyword(&text, at, &keyword);
        if (name == NULL)
            continue;
        const char *end = behind_kind(&text, name, WORD), *behind = behind_run(&text, end, ' ');
        if (end == name || end - name > NAME_CHARS || behind == text.end || strchr("(:[", *behind) == NULL || *behind == 0)
            continue;
        while (string.end < line && string.end < text.end)
            next_long_string(&text, &string);
        if (string.begin < line)
            continue;
        size_t length = *keyword == 'd' ? 4 : 6; /* "def " or "class " */
        memcpy(named, keyword, length);
        memcpy(named + length, name, (size_t)(end - name));
        failed = add(found, Py_BuildValue("ns#s#", (Py_ssize_t)(line - text.begin), line, (Py_ssize_t)(at - line), named,
                                          (Py_ssize_t)length + (end - name)));
    }
    if (failed)
        Py_CLEAR(found);
    return found;
}

/* The name that a line of Python gives to a constant, and where it ends; NULL for none. */
static const char *constant_at(const Text *text, const char *line, const char **end)
{
    const char *at = has(text, line, "    ") && is(text, line + 4, CAPITAL) ? line + 4 : line;
    if (!is(text, at, FIRST))
        return NULL;
    *end = behind_kind(text, at, WORD);
    const char *next = behind_run(text, *end, ' ');
    if (*end - at > NAME_CHARS)
        return NULL;
    if (next < text->end && *next == ':') {
        const char *type = next + 1;
        for (next = type; next < text->end && next - type <= 200 && *next != '=' && *next != '\n';)
            next++;
        if (next == type || next - type > 200)
            return NULL;
    }
    return next < text->end && *next == '=' && !(next + 1 < text->end && next[1] == '=') ? at : NULL;
}

static PyObject *python_names(PyObject *Py_UNUSED(module), PyObject *given)
{
    Text text;
    if (read_text(given, &text) < 0)
        return NULL;
    PyObject *found = PyList_New(0);
    int failed = found == NULL;
    for (const char *line = text.begin, *keyword, *end; !failed && line < text.end; line = next_line(&text, line)) {
        const char *at = behind_kind(&text, line, BLANK);
        const char *name = at - line <= 40 ? behind_keyword(&text, at, &keyword) : NULL;
        if (name != NULL && is(&text, name, WORD)) {
            end = behind_kind(&text, name, WORD);
            if (end - name > NAME_CHARS)
                end = name + NAME_CHARS;
        } else if ((name = constant_at(&text, line, &end)) == NULL) {
            continue;
        }
        failed = add(found, PyUnicode_FromStringAndSize(name, end - name));
    }
    if (failed)
        Py_CLEAR(found);
    return found;
}

static uint32_t crc32_of(const char *at, size_t length)
{
    uint32_t crc = UINT32_MAX;
    for (; length > 0; at++, length--)
        crc = crc_table[(crc ^ (uint8_t)*at) & 255] ^ crc >> 8;
    return ~crc;
}

static int has_keyword(const Text *text, const char *at)
{
    static const char *const words[] = {"else", "elif", "except", "finally", "catch"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (has(text, at, words[i]) && !is(text, at + strlen(words[i]), WORD))
            return 1;
    return 0;
}

/* Whether the line from `line` to `end` is neither a comment nor a decorator of the next one, nor goes on there. */
static int begins_anew(const char *line, const char *end)
{
    static const char *const leads[] = {"//", "/*", "*", "@", "#", "--", "[", "template"};
    static const char *const unfinished[] = {",", "(", "\\", "=", "->"};
    while (end > line && kinds[(uint8_t)end[-1]] & WHITE)
        end--;
    for (size_t i = 0; i < sizeof unfinished / sizeof unfinished[0]; i++) {
        size_t length = strlen(unfinished[i]);
        if ((size_t)(end - line) >= length && memcmp(end - length, unfinished[i], length) == 0)
            return 0;
    }
    Text above = {line, end};
    const char *at = behind_kind(&above, line, WHITE);
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++)
        if (has(&above, at, leads[i]))
            return 0;
    return 1;
}

/* The line above the newline at `at`: from behind the newline before it that is not before `start`, else all. */
static const char *line_above(const Text *text, const char *start, const char *at)
{
    const char *line = at;
    while (line > start && line[-1] != '\n')
        line--;
    return line > start ? line : text->begin;
}

/* Arguments: a text, where its piece begins, from where to where it may be cut, and where what is looked at ends.
   The place behind the newline that is best cut at, 0 for none. */
static PyObject *code_cut(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *given;
    Py_ssize_t start, low, high, end;
    Text text;
    if (!PyArg_ParseTuple(arguments, "Unnnn:code_cut", &given, &start, &low, &high, &end) || read_text(given, &text) < 0)
        return NULL;
    if (start < 0 || low < start + CUT_CONTEXT || end < low || end > text.end - text.begin) {
        PyErr_SetString(PyExc_ValueError, "a cut is in the text, and behind where the piece begins");
        return NULL;
    }
    Text window = {text.begin, text.begin + end};
    Py_ssize_t best = 0, least_indent = INDENT_CHARS, least_below = 1;
    uint32_t least = 0;
    for (const char *at = text.begin + low; (at = memchr(at, '\n', (size_t)(window.end - at))) != NULL; at++) {
        if (at - text.begin >= high)
            break;
        const char *first = behind_kind(&window, at + 1, BLANK);
        if (first - at - 1 > INDENT_CHARS || is(&window, first, NO_LINE) || has_keyword(&window, first))
            continue;
        Py_ssize_t indent = 0;
        for (const char *blank = at + 1; blank < first; blank++)
            indent += *blank == '\t' ? TAB_COLUMNS - indent % TAB_COLUMNS : 1;
        const char *line = line_above(&text, text.begin + start, at);
        Text above = {line, at};
        int is_below = behind_kind(&above, line, WHITE) < at;
        if (indent > least_indent || (indent == least_indent && is_below > least_below) ||
            (is_below && !begins_anew(line, at)))
            continue;
        uint32_t checksum = crc32_of(at - CUT_CONTEXT, CUT_CONTEXT);
        if (indent < least_indent || is_below < least_below || checksum < least) {
            best = at + 1 - text.begin;
            least_indent = indent;
            least_below = is_below;
            least = checksum;
        }
    }
    return PyLong_FromSsize_t(best);
}

static PyObject *line_checksums(PyObject *module, PyObject *args)
{
    const char *text, *dropped;
    Py_ssize_t length, count;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#y#", &text, &length, &dropped, &count))
        return NULL;
    uint8_t is_dropped[256] = {0};
    for (Py_ssize_t at = 0; at < count; at++)
        is_dropped[(uint8_t)dropped[at]] = 1;
    PyObject *found = PyList_New(0);
    uint32_t crc = UINT32_MAX;
    for (Py_ssize_t at = 0; found != NULL && at <= length; at++) {
        if (at < length && text[at] != '\n') {
            if (!is_dropped[(uint8_t)text[at]])
                crc = crc_table[(crc ^ (uint8_t)text[at]) & 0xFF] ^ crc >> 8;
            continue;
        }
        PyObject *checksum = PyLong_FromUnsignedLong(crc ^ UINT32_MAX);
        if (checksum == NULL || PyList_Append(found, checksum) < 0)
            Py_CLEAR(found);
        Py_XDECREF(checksum);
        crc = UINT32_MAX;
    }
    return found;
}

static void make_tables(void)
{
    for (int byte = 0; byte < 256; byte++) {
        int is_capital = byte >= 'A' && byte <= 'Z', is_small = byte >= 'a' && byte <= 'z';
        int is_first = is_capital || is_small || byte == '_', is_word = is_first || (byte >= '0' && byte <= '9');
        int is_blank = byte == ' ' || byte == '\t';
        int is_white = is_blank || (byte >= 10 && byte <= 13) || (byte >= 28 && byte <= 31); /* as str.strip */
        int ends_line = byte != 0 && strchr(" \t\r\n)]}>.,;:?&|+*={", byte) != NULL;
        kinds[byte] = (uint8_t)(is_word * WORD | is_first * FIRST | is_capital * CAPITAL | is_blank * BLANK |
                                is_white * WHITE | ends_line * NO_LINE);
        uint32_t crc = (uint32_t)byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        crc_table[byte] = crc;
    }
}

static PyMethodDef methods[] = {
    {"python_openings", python_openings, METH_O, NULL},
    {"python_names", python_names, METH_O, NULL},
    {"code_cut", code_cut, METH_VARARGS, NULL},
    {"line_checksums", line_checksums, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_code", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit__code(void)
{
    make_tables();
    return PyModule_Create(&definition);
}
