package sandbox

import (
	"strings"

	"maestro/internal/safetext"
)

// Evaluated text can contain marks: bytes that never occur in UTF-8 and stand for what is not a constant.
const (
	// unknown is any text, also none, and several words if it is not quoted.
	unknown = "\xff"
	// someName is some text of letters, digits and hyphens, such as a number.
	someName = "\xfa"
	// markAny, markOne and markSet are the active *, ? and [ of a pattern, also after they matched names.
	markAny, markOne, markSet = '\xfe', '\xfd', '\xfc'
	// firstMark is the first byte that is no text.
	firstMark = '\xf8'
)

// withoutMarks replaces the bytes of a text that would be marks.
func withoutMarks(s, with string) string {
	if !marked(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] >= firstMark {
			b.WriteString(with)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// marked reports whether a text contains any mark.
func marked(s string) bool {
	for i := range len(s) {
		if s[i] >= firstMark {
			return true
		}
	}
	return false
}

// vague reports whether a part of the text can be anything.
func vague(s string) bool { return strings.Contains(s, unknown) }

// patterned reports whether a text contains an active pattern.
func patterned(s string) bool { return indexPattern(s) >= 0 }

func indexPattern(s string) int {
	for i := range len(s) {
		if s[i] == markAny || s[i] == markOne || s[i] == markSet {
			return i
		}
	}
	return -1
}

// plain turns the marks of patterns back into their characters, and a name into a sample.
func plain(s string) string {
	if !marked(s) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		switch c {
		case markAny:
			b[i] = '*'
		case markOne:
			b[i] = '?'
		case markSet:
			b[i] = '['
		case someName[0]:
			b[i] = '1'
		}
	}
	return string(b)
}

// active turns the characters of patterns into marks, as an expansion without quotes does.
func active(s string) string {
	if !strings.ContainsAny(s, "*?[") {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		switch c {
		case '*':
			b[i] = markAny
		case '?':
			b[i] = markOne
		case '[':
			b[i] = markSet
		}
	}
	return string(b)
}

// shown returns a text as a reason quotes it: short, on one line, with … for what is unknown.
func shown(s string) string {
	s = strings.ReplaceAll(plain(s), unknown, "…")
	return safetext.Printable(strings.Join(strings.Fields(s), " "))
}
