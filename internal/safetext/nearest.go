package safetext

import (
	"slices"
	"strings"
)

// nearestMost is the maximum length of a compared word, in bytes: the work grows with its square.
const nearestMost = 64

// Nearest returns the word that was probably meant: the one with the fewest edits, or else the shortest with the same
// beginning; "" if none is near.
func Nearest(written string, words []string) string {
	if len(words) == 0 || len(written) > nearestMost {
		return ""
	}
	nearest := slices.MinFunc(words, func(a, b string) int { return edits(written, a) - edits(written, b) })
	if len(written) > 2 && edits(written, nearest) <= (len(written)+1)/3 { // a shorter one is near to too many
		return nearest
	}
	begun := ""
	for _, word := range words {
		if len(written) > 1 && strings.HasPrefix(word, written) && (begun == "" || len(word) < len(begun)) {
			begun = word
		}
	}
	return begun
}

// edits counts the characters to insert, remove or replace, and the neighbours to swap, to turn one text into the other
// (the Damerau–Levenshtein distance without repeated edits of the same place).
func edits(from, to string) int {
	before, above, row := make([]int, len(to)+1), make([]int, len(to)+1), make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(to) {
			replaced := above[j]
			if from[i] != to[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, above[j+1]+1)
			if i > 0 && j > 0 && from[i] == to[j-1] && from[i-1] == to[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(to)]
}
