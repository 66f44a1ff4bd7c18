package safetext

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Acts reports whether a character does more than show itself: it controls the terminal or the direction of the text,
// or it is invisible, so that a reader and a program that copies the text would read different things.
func Acts(r rune) bool {
	switch {
	case unicode.IsControl(r), r == utf8.RuneError, unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
		return true // Cf contains direction marks, zero-width characters and tags
	}
	return unicode.Is(invisible, r)
}

// invisible are characters without width that Unicode does not classify as format characters, and variation selectors,
// any number of which may follow a character. Emoji are written with U+FE0F.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x034f, Hi: 0x034f, Stride: 1},
		{Lo: 0x115f, Hi: 0x1160, Stride: 1},
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1},
		{Lo: 0x2065, Hi: 0x2065, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0e, Stride: 1},
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
		{Lo: 0xfff0, Hi: 0xfff8, Stride: 1},
	},
	R32: []unicode.Range32{{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1}},
}

// Harmless replaces each character that acts, except newlines and tabs, with U+FFFD.
func Harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !Acts(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// EscapeJSON replaces the characters of a JSON text that act, except newlines, with \u escapes, which does not change
// its values.
func EscapeJSON(text []byte) []byte {
	unsafe := func(r rune) bool { return r != '\n' && r != utf8.RuneError && Acts(r) }
	if !bytes.ContainsFunc(text, unsafe) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if unsafe(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.Bytes()
}

// Spell replaces each character that acts, except newlines and tabs, with its number, as in [U+202E], and each byte
// that is not UTF-8 as in [0xFF]. Joiners stay, because some scripts and emoji need them. Line ends become newlines, as
// XML reads them.
func Spell(text string) string {
	if !strings.ContainsFunc(text, spelled) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "[0x%02X]", text[i])
		case r == '\r':
			if !strings.HasPrefix(text[i+1:], "\n") {
				b.WriteByte('\n')
			}
		case r != utf8.RuneError && spelled(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// spelled reports whether Spell examines a character. U+FFFD may be a byte that is not UTF-8.
func spelled(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch r {
	case '\n', '\t', nonJoiner, joiner:
		return false
	}
	return Acts(r) || r&0xfffe == 0xfffe // the last two of each plane are not characters, and not permitted in XML
}
