# fish completion of ctxrank, written by 'ctxrank completion fish'
function __ctxrank_words
    printf '%s\n' '@WORDS@' | awk '
@AWK@' $argv
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
