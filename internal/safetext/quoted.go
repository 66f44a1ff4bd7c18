package safetext

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Line returns a command line in backquotes, for advice: each word is Quoted, so the line is one command, whatever its
// words contain.
func Line(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = Quoted(word)
	}
	return "`" + strings.Join(quoted, " ") + "`"
}

// Quoted quotes a value as one word for a shell, on one line and without backquotes. Characters that act are written
// as escapes, in the form $'…', which bash, ksh and zsh read: whoever copies the word gets the same value.
func Quoted(value string) string {
	if !strings.ContainsFunc(value, escaped) {
		return QuotedAsIs(value)
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRuneInString(value[i:])
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case escaped(r):
			for _, c := range []byte(value[i : i+size]) { // three digits end an octal escape, whatever follows
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteRune(r)
		}
		i += size
	}
	b.WriteByte('\'')
	return b.String()
}

// escaped reports whether Quoted writes a character as an escape.
func escaped(r rune) bool { return r == '`' || Acts(r) }

// QuotedAsIs quotes a value as one word for any POSIX shell. It leaves all characters as they are, also those that act,
// so it is for what a shell reads, and Quoted for what a person does.
func QuotedAsIs(value string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:@%+=,", r)
	}
	if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return !plain(r) }) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
