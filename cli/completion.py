r"""`ctxrank completion`: a shell's completion script: a list of words, and an awk program that reads it.

A press of TAB starts no Python: that takes longer than a person waits for a completion, and the words change only with
the version. A line of the list is a point of a command line, a word that may follow, and what that takes, between tabs:

    package save   --title   *              any value
    show           --depth   meta summary full
    *              --json                   nothing; a global option, which may stand everywhere
    index                    <file>         no option: what an argument may be
"""

from collections.abc import Iterator, Mapping

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.command_table import GLOBALS, parameter
from ctxrank.cli.declare import Command, Declared, OneOf, Parameter, Path
from ctxrank.cli.main import declared_commands

# The words behind `ctxrank`, up to the one that is being typed, are its arguments; the list is its input.
_AWK = r"""
function known(word) { return ((level, word) in takes) || (("*", word) in takes) }
function taken(word) { return (level, word) in takes ? takes[level, word] : takes["*", word] }
BEGIN { FS = "\t"; count = ARGC - 1; for (i = 1; i <= count; i++) { typed[i] = ARGV[i]; delete ARGV[i] } }
$2 == "" { values[$1] = values[$1] " " $3; next }
{ options[$1] = options[$1] " " $2; takes[$1, $2] = $3; if (!($1 in values)) values[$1] = "" }
END {
    found = ""; level = ""
    for (i = 1; i < count; i++) {
        if (known(typed[i])) { if (taken(typed[i]) != "") { found = taken(typed[i]); i++ } continue }
        deeper = level == "" ? typed[i] : level " " typed[i]
        if (deeper in values) level = deeper
    }
    if (i == count) found = typed[count] ~ /^-/ ? options[level] options["*"] : values[level]
    number = split(found, list, " ")
    for (i = 1; i <= number; i++)
        if (list[i] ~ /^</ || (list[i] != "*" && index(list[i], typed[count]) == 1)) print list[i]
}
"""
_POSIX = """# {shell} completion of ctxrank, written by 'ctxrank completion {shell}'
_ctxrank_words() {{
    printf '%s\\n' '{words}' | awk '{awk}' "$@"
}}
"""
_BASH = """_ctxrank() {
    local one IFS=$'\\n' word="${COMP_WORDS[COMP_CWORD]}"
    COMPREPLY=()
    for one in $(_ctxrank_words "${COMP_WORDS[@]:1:COMP_CWORD}"); do
        case "$one" in
            '<file>') compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$word")) ;;
            '<folder>') compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$word")) ;;
            *) COMPREPLY+=("$one") ;;
        esac
    done
}
complete -F _ctxrank ctxrank
"""
_ZSH = """_ctxrank() {
    local one
    for one in ${(f)"$(_ctxrank_words "${(@)words[2,CURRENT]}")"}; do
        case "$one" in
            '<file>') _files ;;
            '<folder>') _files -/ ;;
            *) compadd -- "$one" ;;
        esac
    done
}
compdef _ctxrank ctxrank
"""
_FISH = """# fish completion of ctxrank, written by 'ctxrank completion fish'
function __ctxrank_words
    printf '%s\\n' '{words}' | awk '{awk}' $argv
end
function __ctxrank
    set -l word (commandline -ct)
    for one in (__ctxrank_words (commandline -opc)[2..-1] "$word")
        switch $one
            case '<file>'
                __fish_complete_path $word
            case '<folder>'
                __fish_complete_directories $word
            case '*'
                echo $one
        end
    end
end
complete -c ctxrank -f -a '(__ctxrank)'
"""


def completion(call: Call, shell: str) -> Reply:
    """Write the script of a shell."""
    script = script_of(shell, declared_commands())
    return Reply(lambda: {"shell": shell, "script": script}, text=script)


def script_of(shell: str, declared: Mapping[str, Declared]) -> str:
    """The script of bash, zsh or fish."""
    words = "\n".join("\t".join(line) for line in word_list(declared))
    start = _FISH if shell == "fish" else _POSIX
    own = {"bash": _BASH, "zsh": _ZSH, "fish": ""}[shell]
    return start.format(shell=shell, words=words, awk=_AWK) + own


def word_list(declared: Mapping[str, Declared]) -> Iterator[tuple[str, str, str]]:
    """(point of a command line, word or '' for an argument, what it takes), for all that can be completed."""
    yield "", "", " ".join(declared)
    yield from _words_of("*", (*GLOBALS, parameter("flag", "-h --help")))
    for name, one in declared.items():
        if isinstance(one, Command):
            yield from _words_of(name, one.parameters)
            continue
        yield name, "", " ".join(one.listed)
        for inner, command in one.listed.items():
            yield from _words_of(f"{name} {inner}", command.parameters)


def _words_of(place: str, parameters: tuple[Parameter, ...]) -> Iterator[tuple[str, str, str]]:
    yield place, "", ""
    for one in parameters:
        takes = "" if one.is_flag else "*"
        if isinstance(one.type, OneOf):
            takes = " ".join(one.type.words)
        elif isinstance(one.type, Path):
            takes = "<folder>" if one.type.is_folder else "<file>"
        yield from ((place, word, takes) for word in ((*one.on_words, *one.off_words) if one.is_option else ("",)))
