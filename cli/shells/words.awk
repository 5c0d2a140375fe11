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
