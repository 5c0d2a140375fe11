# bash completion of ctxrank, written by 'ctxrank completion bash'
_ctxrank_words() {
    printf '%s\n' '@WORDS@' | awk '
@AWK@' "$@"
}
_ctxrank() {
    local one IFS=$'\n' word="${COMP_WORDS[COMP_CWORD]}"
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
