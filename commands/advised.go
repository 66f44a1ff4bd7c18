package commands

import (
	"slices"
	"strings"
)

// LinesIn returns the command lines that a text tells its reader to run. Errors, warnings and next steps have them in
// backquotes: "run `maestro why task_1`". A step that is a command line itself has none.
func LinesIn(text string) (lines []string) {
	if strings.HasPrefix(text, program) {
		return []string{text}
	}
	for {
		_, rest, found := strings.Cut(text, "`"+program)
		if !found {
			return lines
		}
		line, rest, _ := strings.Cut(rest, "`")
		if text = rest; strings.TrimSpace(line) != "" {
			lines = append(lines, program+line)
		}
	}
}

// program is how a command line begins.
const program = "maestro "

// WordsOf returns the words of a command line that may name a command: "task", "list" of "maestro task list --ready".
func WordsOf(line string) []string {
	words := strings.Fields(line)[1:]
	end := slices.IndexFunc(words, func(word string) bool {
		return strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") != "" || strings.HasPrefix(word, "-")
	})
	if end >= 0 {
		words = words[:end]
	}
	return words[:min(len(words), longestName)]
}

// SessionOf returns what a command line does to the session that it names: "kill" and "sess_1" of "maestro session kill
// sess_1"; "" if it names none.
func SessionOf(line string) (verb, session string) {
	words := strings.Fields(line)
	if len(words) < 4 || words[1] != "session" || strings.HasPrefix(words[3], "-") || ValidID("", words[3]) != nil {
		return "", ""
	}
	return words[2], words[3]
}

// longestName is how many words name a command at most.
const longestName = 3
