package safetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns foreign text for a message: one line of about 80 bytes, with U+FFFD for each character that acts.
func Printable(text string) string {
	const most = 80
	if len(text) <= most && plain(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if b.Len() >= most {
			b.WriteString("…")
			break
		}
		if Acts(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plain reports whether a text has only printable ASCII, as most texts do.
func plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Shorten cuts a text after most bytes, at a character boundary, and replaces control characters except newlines and
// tabs.
func Shorten(text string, most int) string {
	if len(text) > most { // no more of it is examined than is kept
		text = text[:most+1]
	} else if utf8.ValidString(text) && strings.IndexFunc(text, controls) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if controls(r) {
			r = utf8.RuneError
		}
		if b.Len()+utf8.RuneLen(r) > most {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

func controls(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// OneLine replaces each line end and each tab with a space.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, text)
}

// Visible returns a text in one line in which each character that acts is written out: a newline as \n, an escape as
// [U+001B]. It is for names in a message, because a name may contain what looks like another line of it.
func Visible(text string) string {
	return Spell(strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(text))
}

// Continued indents all lines of a text but the first, so that none looks like a line of the message that it is in.
func Continued(text string) string { return strings.ReplaceAll(text, "\n", "\n        ") }

// Clip shortens a text to at most so many characters on one line.
func Clip(text string, most int) string {
	text = OneLine(text)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// nameShown is the maximum length of a name beside its id.
const nameShown = 40

// Named returns an id with the name of what it stands for, on one line: "sess_k3f9x2m7qa (worker-1)".
func Named(id, name string) string {
	if id == "" || name == "" || name == id {
		return id
	}
	return id + " (" + Clip(name, nameShown) + ")"
}
