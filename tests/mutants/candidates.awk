# candidates.awk FILE... - every bug that the operators can plant in C files and .def tables.
#
# One line for each: operator, file, line number, the line as it would be, separated by tabs.
# Operators: flip (a condition turned round), edge (off by one), drop (a statement or a row left out),
# swap (two arguments exchanged), row (a cell of the next row of a table).
#
# Left out, because no test can or should notice: assertions, comments, preprocessor lines, locks
# (`make test-threads` is for them), log lines, what only frees memory that the system takes back.

function out(operator, text) {
    if (text != $0 && !(text in seen))
        printf "%s\t%s\t%d\t%s\n", operator, FILENAME, FNR, text
    seen[text] = 1
}

# The line with the contents of literals blanked out, so that positions stay and nothing matches inside.
function mask(text,    i, c, quote, masked) {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (quote != "" && c == "\\") {
            masked = masked "__"
            i++
        } else if (quote != "") {
            masked = masked (c == quote ? c : "_")
            if (c == quote)
                quote = ""
        } else {
            if (c == "\"" || c == "'")
                quote = c
            masked = masked c
        }
    }
    return masked
}

function replace_at(at, n, text) {
    return substr($0, 1, at - 1) text substr($0, at + n)
}

# Every place of a token, one candidate each.
function each(operator, masked, token, text,    at, from) {
    from = 1
    while ((at = index(substr(masked, from), token)) > 0) {
        out(operator, replace_at(from + at - 1, length(token), text))
        from += at + length(token) - 1
    }
}

function flips(masked) {
    each("flip", masked, " == ", " != ")
    each("flip", masked, " != ", " == ")
    each("flip", masked, " && ", " || ")
    each("flip", masked, " || ", " && ")
    each("flip", masked, " < ", " >= ")
    each("flip", masked, " > ", " <= ")
    each("flip", masked, " <= ", " > ")
    each("flip", masked, " >= ", " < ")
    each("flip", masked, "return true;", "return false;")
    each("flip", masked, "return false;", "return true;")
    each("flip", masked, " = true;", " = false;")
    each("flip", masked, " = false;", " = true;")
    hidden = masked
    gsub(/!=/, "__", hidden)
    each("flip", hidden, "(!", "(")
    each("flip", hidden, " !", " ")
    if (masked ~ /^ *if \(.*\)( \{)?$/ && balanced(masked)) {
        text = $0
        sub(/if \(/, "if (!(", text)
        sub(/\)( \{)?$/, "))", text)
        out("flip", text ($0 ~ /\{$/ ? " {" : ""))
    }
}

function edges(masked,    from, at, number) {
    each("edge", masked, " < ", " <= ")
    each("edge", masked, " <= ", " < ")
    each("edge", masked, " > ", " >= ")
    each("edge", masked, " >= ", " > ")
    each("edge", masked, " + 1", " + 2")
    each("edge", masked, " - 1", " - 0")
    each("edge", masked, "++;", "--;")
    from = 1
    while (match(substr(masked, from), /[ (][1-9][0-9]*[;,) ]/)) {
        at = from + RSTART
        number = substr($0, at, RLENGTH - 2)
        if (length(number) < 10 && substr(masked, at - 3, 3) !~ /[-+] $/)
            out("edge", replace_at(at, RLENGTH - 2, number + 1))
        from = at + RLENGTH - 2
    }
}

function balanced(text,    i, depth, c) {
    depth = 0
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        depth += c == "(" || c == "{" || c == "["
        depth -= c == ")" || c == "}" || c == "]"
        if (depth < 0)
            return 0
    }
    return depth == 0
}

# A whole statement that is a call or an assignment; a declaration has two words before its sign.
function drops(masked) {
    if (last !~ /[;{})]$|else$|:$/ || !balanced(masked))
        return
    if (masked ~ /^ +(\(void\))?[a-z_][a-z_0-9]*\(.*\);$/ || masked ~ /^ +\*?[a-z_][a-z_0-9.>\[\]-]* [-+|&*]?= .*;$/ ||
        masked ~ /^ +[a-z_][a-z_0-9.>\[\]-]*(\+\+|--);$/)
        if (masked !~ /^ +(\(void\))?(free|[a-z_0-9]+_free|[a-z_0-9]+_fini|close|fclose|xmlFree[A-Za-z]*)\(/)
            out("drop", substr($0, 1, match($0, /[^ ]/) - 1) "{}")
}

function swaps(masked,    from, call, at, inner, comma, first, second) {
    from = 1
    while (match(substr(masked, from), /[a-z_0-9]\([A-Za-z_0-9.>&*\[\]-]+, [A-Za-z_0-9.>&*\[\]-]+[,)]/)) {
        at = from + RSTART + 1
        inner = substr($0, at, RLENGTH - 3)
        comma = index(inner, ", ")
        first = substr(inner, 1, comma - 1)
        second = substr(inner, comma + 2)
        out("swap", replace_at(at, length(inner), second ", " first))
        from = at + length(inner)
    }
}

# The cells of NAME(a, b, ...) into cells[1..n]; 0 when the row does not end on its line.
function split_row(text,    i, c, depth, quote, n, from) {
    n = 0
    from = index(text, "(") + 1
    depth = 1
    for (i = from; i <= length(text) && depth > 0; i++) {
        c = substr(text, i, 1)
        if (c == "\"" && substr(text, i - 1, 1) != "\\")
            quote = !quote
        if (quote)
            continue
        depth += c == "(" || c == "{"
        depth -= c == ")" || c == "}"
        if ((c == "," && depth == 1) || depth == 0) {
            cells[++n] = substr(text, from, i - from)
            from = i + 1
        }
    }
    return depth == 0 ? n : 0
}

# Each cell but the first (the name) and a closing text, taken from the row before.
function rows(    macro, n, i, j, text, head) {
    macro = substr($0, 1, index($0, "(") - 1)
    n = split_row($0)
    for (i = 2; i <= n && previous_n[macro] == n; i++) {
        if (cells[i] == previous[macro, i] || (i == n && n > 2 && cells[i] ~ /^ *"/))
            continue
        text = macro "("
        for (j = 1; j <= n; j++)
            text = text (j > 1 ? "," : "") (j == i ? previous[macro, j] : cells[j])
        out("row", text ")")
    }
    for (i = 1; i <= n; i++)
        previous[macro, i] = cells[i]
    previous_n[macro] = n
}

FNR == 1 {
    body = table = comment = 0
    last = ""
    is_def = FILENAME ~ /\.def$/
    split("", previous_n)
}
{ split("", seen) }
comment { comment = $0 !~ /\*\//; next }
/^ *\/\*/ { comment = $0 !~ /\*\//; next }
/^ *#/ || /\\$/ { next }
is_def && /^[A-Z_0-9]+\(.*\)$/ { rows() }
is_def { next }
/^\{/ { body = 1 }
/^\}/ { body = table = 0 }
/= \{$/ && !body { table = 1; next }
table && /^    (\{.*\}|\[.*\] = .*|[A-Z_]+\(.*\)),$/ { out("drop", "") }
body && !/assert|pthread_|log_[a-z]+\(|\/\// {
    masked = mask($0)
    sub(/ *\/\*.*$/, "", masked)
    flips(masked)
    edges(masked)
    drops(masked)
    swaps(masked)
}
{ last = $0; sub(/ *\/\*.*\*\/$/, "", last) }
