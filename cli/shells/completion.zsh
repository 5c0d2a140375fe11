# zsh completion of ctxrank, written by 'ctxrank completion zsh'
_ctxrank_words() {
    printf '%s\n' '@WORDS@' | awk '
@AWK@' "$@"
}
_ctxrank() {
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
