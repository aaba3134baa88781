# choose.awk -v seed=N - puts candidates (candidates.awk) into the order in which they are planted.
#
# The operators take turns, each with its candidates in an order drawn from the seed; one candidate for
# a line. A generator of its own: the awks differ in theirs.

function draw(n) { # 0 .. n-1
    state = (state * 16807) % 2147483647
    return state % n
}

BEGIN {
    FS = "\t"
    state = (seed * 7919 + 12345) % 2147483646 + 1
    for (i = 0; i < 10; i++)
        draw(2)
}
{
    if (!($1 in count))
        names[++operators] = $1
    lines[$1, ++count[$1]] = $0
}
END {
    for (o = 1; o <= operators; o++)
        for (i = count[names[o]]; i > 1; i--) {
            j = draw(i) + 1
            kept = lines[names[o], i]
            lines[names[o], i] = lines[names[o], j]
            lines[names[o], j] = kept
        }
    first = operators > 0 ? draw(operators) : 0
    for (i = 1; i == 1 || more == i - 1; i++) {
        for (o = 0; o < operators; o++) {
            name = names[(first + o) % operators + 1]
            if (i > count[name])
                continue
            more = i
            split(lines[name, i], cells)
            if (!((cells[2], cells[3]) in taken))
                print lines[name, i]
            taken[cells[2], cells[3]] = 1
        }
    }
}
