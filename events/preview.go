package events

import (
	"strings"
	"unicode/utf8"
)

// Beginning returns at most so many bytes of a text, cut at a character boundary, and whether there is more. It keeps
// no longer text in memory.
func Beginning(text string, most int) (short string, more bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return strings.Clone(text[:most]), true
}

// Ending returns at most so many bytes from the end of a text, cut at a character boundary. It keeps no longer text in
// memory.
func Ending(text string, most int) string {
	if len(text) <= most {
		return text
	}
	at := len(text) - most
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return strings.Clone(text[at:])
}

// Preview is Beginning, with an ellipsis if there is more.
func Preview(text string, most int) (short string, more bool) {
	if short, more = Beginning(text, most); more {
		short += "…"
	}
	return short, more
}
