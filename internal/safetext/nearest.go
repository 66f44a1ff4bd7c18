package safetext

import "slices"

// nearestMost is how long a word is that others are compared with, in bytes: the work grows with its square.
const nearestMost = 64

// Nearest returns the word that takes the fewest edits to reach from what somebody wrote; "" if none is near.
func Nearest(written string, words []string) string {
	if len(words) == 0 || len(written) > nearestMost {
		return ""
	}
	nearest := slices.MinFunc(words, func(a, b string) int { return edits(written, a) - edits(written, b) })
	if edits(written, nearest) > max((len(written)+1)/3, 1) {
		return ""
	}
	return nearest
}

// edits counts the characters to insert, remove or replace that make one text the other (Levenshtein's distance).
func edits(from, to string) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			replaced := diagonal
			if from[i] != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
