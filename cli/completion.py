"""`ctxrank completion`: a shell's completion script, written from the declarations.

The script holds every command, option and value. A press of TAB starts no program: a start of Python takes longer
than a person waits for a completion, and the words change only with the version.

    position     what is offered
    ---------    ---------------
    a command    the names; behind a group's name, the names in it
    -…           the command's options, and the global ones
    a value      the words of its type; paths where the type is Path; nothing else, since it may be anything
"""

from collections.abc import Iterator, Mapping

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import GLOBALS, Command, Declared, OneOf, Parameter, Path
from ctxrank.cli.main import declared_commands
from ctxrank.indexer.light_typing import NamedTuple

_HELP = ("-h", "--help")


class Level(NamedTuple):
    """What may follow at one point of a command line: after `words`, which name a command or a group."""

    words: tuple[str, ...]
    commands: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    @property
    def options(self) -> tuple[Parameter, ...]:
        """The options that are allowed here, including the global ones."""
        return (*(one for one in self.parameters if one.is_option), *GLOBALS)

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The arguments that are allowed here."""
        return tuple(one for one in self.parameters if not one.is_option)

    @property
    def values(self) -> tuple[str, ...]:
        """The words that an argument may be here: names of commands, and values of a type."""
        chosen = [word for one in self.arguments if isinstance(one.type, OneOf) for word in one.type.words]
        return (*self.commands, *chosen)

    @property
    def takes_path(self) -> bool:
        """Whether an argument here is a path."""
        return any(isinstance(one.type, Path) for one in self.arguments)

    @property
    def takes_folder(self) -> bool:
        """Whether only a folder can be meant."""
        return any(isinstance(one.type, Path) and one.type.is_folder for one in self.arguments)


def completion(call: Call, shell: str) -> Reply:
    """Write the script of a shell."""
    script = script_of(shell, declared_commands())
    return Reply(lambda: {"shell": shell, "script": script}, text=script)


def script_of(shell: str, declared: Mapping[str, Declared]) -> str:
    """The script of bash, zsh or fish."""
    return _SHELLS[shell](tuple(levels_of(declared)))


def levels_of(declared: Mapping[str, Declared]) -> Iterator[Level]:
    """All points of a command line at which something can be completed, the beginning first."""
    yield Level((), tuple(declared), ())
    for name, one in declared.items():
        if isinstance(one, Command):
            yield Level((name,), (), one.parameters)
            continue
        yield Level((name,), tuple(one.commands), () if one.default is None else one.default.parameters)
        for inner, command in one.commands.items():
            yield Level((name, inner), (), command.parameters)


def _all_words(level: Level) -> list[str]:
    return [*(word for one in level.options for word in (*one.on_words, *one.off_words)), *_HELP]


def _takes_value(level: Level) -> list[str]:
    return [word for one in level.options if not one.is_flag for word in one.on_words]


def _quoted(words: "list[str] | tuple[str, ...]") -> str:
    return "'" + " ".join(words) + "'"


def _bash(levels: tuple[Level, ...]) -> str:
    """One function: it walks the words once to find the level, then offers what the level has."""
    lines = [
        "# bash completion of ctxrank, written by 'ctxrank completion bash'",
        "_ctxrank() {",
        "    local word previous level='' valued='' words='' options='' paths='' skip='' index",
        '    word="${COMP_WORDS[COMP_CWORD]}"',
        '    previous="${COMP_WORDS[COMP_CWORD-1]}"',
        "    for ((index = 1; index < COMP_CWORD; index++)); do",
        '        if [[ -n $skip ]]; then skip=""; continue; fi',
        "        _ctxrank_level",
        '        if [[ " $valued " == *" ${COMP_WORDS[index]} "* ]]; then skip=1; continue; fi',
        '        case "$level ${COMP_WORDS[index]}" in',
        f"            {_level_patterns(levels)})",
        '                level="${level:+$level }${COMP_WORDS[index]}" ;;',
        "        esac",
        "    done",
        "    _ctxrank_level",
        "    COMPREPLY=()",
        '    case "$level $previous" in',
        *_bash_values(levels),
        "    esac",
        '    if [[ " $valued " == *" $previous "* ]]; then return; fi',
        '    if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "$options" -- "$word")); return; fi',
        '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
        '    if [[ -n $paths ]]; then compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen $paths -- "$word")); fi',
        "}",
        "_ctxrank_level() {",
        '    case "$level" in',
        *_bash_levels(levels),
        "    esac",
        "}",
        "complete -F _ctxrank ctxrank",
    ]
    return "\n".join(lines) + "\n"


def _level_patterns(levels: tuple[Level, ...]) -> str:
    """Each known way from a level to the next: ' package'|'package list'."""
    return "|".join(f"'{' '.join(level.words[:-1])} {level.words[-1]}'" for level in levels if level.words)


def _bash_levels(levels: tuple[Level, ...]) -> Iterator[str]:
    for level in levels:
        paths = "" if not level.takes_path else "-d" if level.takes_folder else "-f"
        yield (
            f"        '{' '.join(level.words)}') valued={_quoted(_takes_value(level))} words={_quoted(level.values)} "
            f"options={_quoted(_all_words(level))} paths='{paths}' ;;"
        )


def _bash_values(levels: tuple[Level, ...]) -> Iterator[str]:
    """The values after an option whose values are known."""
    for level in levels:
        for one in level.options:
            names = "|".join(f"'{' '.join(level.words)} {word}'" for word in one.on_words)
            if isinstance(one.type, OneOf):
                yield f'        {names}) COMPREPLY=($(compgen -W {_quoted(one.type.words)} -- "$word")); return ;;'
            elif isinstance(one.type, Path):
                kind = "-d" if one.type.is_folder else "-f"
                yield (
                    f"        {names}) compopt -o filenames 2>/dev/null; "
                    f'COMPREPLY=($(compgen {kind} -- "$word")); return ;;'
                )


def _zsh(levels: tuple[Level, ...]) -> str:
    """The same walk in zsh's own words, with the help of each option."""
    lines = [
        "#compdef ctxrank",
        "# zsh completion of ctxrank, written by 'ctxrank completion zsh'",
        "_ctxrank() {",
        "    local level='' skip='' index",
        "    local -a commands options",
        "    for ((index = 2; index < CURRENT; index++)); do",
        "        if [[ -n $skip ]]; then skip=''; continue; fi",
        '        case "$level ${words[index]}" in',
        f"            {'|'.join(_valued_patterns(levels))}) skip=1 ;;",
        f'            {_level_patterns(levels)}) level="${{level:+$level }}${{words[index]}}" ;;',
        "        esac",
        "    done",
        '    case "$level ${words[CURRENT-1]}" in',
        *_zsh_values(levels),
        "    esac",
        '    case "$level" in',
    ]
    for level in levels:
        names = " ".join(level.values)
        lines += [
            f"        {_zsh_quoted(' '.join(level.words))})",
            f"            commands=({names})",
            f"            options=({' '.join(_described(level))})",
            "            if [[ ${words[CURRENT]} == -* ]]; then _describe option options; return; fi",
            *([f"            _files{' -/' if level.takes_folder else ''}"] if level.takes_path else []),
            "            (( $#commands )) && compadd -a commands ;;",
        ]
    return "\n".join([*lines, "    esac", "}", "compdef _ctxrank ctxrank", ""])


def _valued_patterns(levels: tuple[Level, ...]) -> Iterator[str]:
    for level in levels:
        yield from (_zsh_quoted(f"{' '.join(level.words)} {word}") for word in _takes_value(level))


def _zsh_values(levels: tuple[Level, ...]) -> Iterator[str]:
    for level in levels:
        for one in level.options:
            if one.is_flag:
                continue
            names = "|".join(_zsh_quoted(f"{' '.join(level.words)} {word}") for word in one.on_words)
            if isinstance(one.type, OneOf):
                yield f"        {names}) compadd -- {' '.join(one.type.words)}; return ;;"
            elif isinstance(one.type, Path):
                yield f"        {names}) _files{' -/' if one.type.is_folder else ''}; return ;;"
            else:
                yield f"        {names}) return ;;"


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _described(level: Level) -> Iterator[str]:
    for one in level.options:
        for word in (*one.on_words, *one.off_words):
            yield _zsh_quoted(f"{word}:{one.help}")
    yield from (_zsh_quoted(f"{word}:Show this message and exit.") for word in _HELP)


def _fish(levels: tuple[Level, ...]) -> str:
    """A line for each word; a function says which level the command line is at."""
    lines = [
        "# fish completion of ctxrank, written by 'ctxrank completion fish'",
        "function __ctxrank_at",
        "    set -l level",
        "    set -l skip",
        "    for word in (commandline -opc)[2..-1]",
        '        if test -n "$skip"; set skip; continue; end',
        '        switch "$level $word"',
        f"            case {' '.join(_valued_patterns(levels))}",
        "                set skip 1",
        f"            case {_level_patterns(levels).replace('|', ' ')}",
        "                set -a level $word",
        "        end",
        "    end",
        '    test "$level" = "$argv[1]"',
        "end",
        "complete -c ctxrank -f",
    ]
    for level in levels:
        at = f"complete -c ctxrank -n {_fish_quoted('__ctxrank_at ' + _fish_quoted(' '.join(level.words)))}"
        if level.values:
            lines.append(f"{at} -a {_quoted(level.values)}")
        if level.takes_path:
            lines.append(f"{at} -F")
        lines += [f"{at} {words}" for one in level.options for words in _fish_option(one)]
    return "\n".join([*lines, ""])


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_option(one: Parameter) -> Iterator[str]:
    short = [f"-s {word[1:]}" for word in one.on_words if len(word) == 2]
    long = [f"-l {word[2:]}" for word in one.on_words if word.startswith("--")]
    about = f"-d {_fish_quoted(one.help or '')}"
    if one.is_flag:
        takes = []
    elif isinstance(one.type, OneOf):
        takes = [f"-x -a {_quoted(one.type.words)}"]
    else:
        takes = ["-r -F" if isinstance(one.type, Path) else "-x"]
    yield " ".join([*short, *long, *takes, about])
    yield from (f"-l {word[2:]} {about}" for word in one.off_words)


_SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
