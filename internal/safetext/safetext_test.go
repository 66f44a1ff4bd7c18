package safetext

import (
	"strings"
	"testing"
)

func TestHarmless(t *testing.T) {
	const nasty = "a\x1b[31m\u009b31m\x7f\r\u202ex\u2066y\u2028z\x00\tb\nc\xff"
	const want = "a\ufffd[31m\ufffd31m\ufffd\ufffd\ufffdx\ufffdy\ufffdz\ufffd\tb\nc\ufffd"
	if got := Harmless(nasty); got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
	// Invisible characters: tags, zero-width characters, fillers, variants.
	const hidden = "a\U000e0041\u200b\u200d\u2060\ufeff\u00ad\u180e\u3164\ufe01\U000e0101b"
	if got := Harmless(hidden); got != "a"+strings.Repeat("\ufffd", 10)+"b" {
		t.Errorf("got %q", got)
	}
	if got := Harmless("héé 漢字 ☺️ 👍"); got != "héé 漢字 ☺️ 👍" {
		t.Errorf("got %q", got)
	}
}

func TestSpell(t *testing.T) {
	for text, want := range map[string]string{
		"plain ü 漢 👩‍👩‍👧\t\n":    "plain ü 漢 👩‍👩‍👧\t\n",
		"\x1b[31m\x00\x7f\u0085": "[U+001B][31m[U+0000][U+007F][U+0085]",
		"a\r\nb\rc\r":            "a\nb\nc\n",
		"\xff\xfeok\xc3":         "[0xFF][0xFE]ok[0xC3]",
		"\u202eabc\u2069\u200f":  "[U+202E]abc[U+2069][U+200F]",
		"\u2028\ufeff\ufffe":     "[U+2028][U+FEFF][U+FFFE]",
		"\U000e0041\U0010ffff":   "[U+E0041][U+10FFFF]",
		"\ufffd":                 "\ufffd",
	} {
		if got := Spell(text); got != want {
			t.Errorf("%q becomes %q, expected %q", text, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	long := strings.Repeat("é", 100)
	for _, test := range []struct{ got, want string }{
		{Printable("a\n\x1b[31m\u202eb\u200bc"), "a\ufffd\ufffd[31m\ufffdb\ufffdc"},
		{Printable(long), strings.Repeat("é", 40) + "…"},
		{Shorten(long, 9), "éééé…"},
		{Shorten("a\x1b\tb\n", 100), "a\ufffd\tb\n"},
		{Shorten("plain", 5), "plain"},
		{OneLine("a\r\n\tb"), "a   b"},
		{Visible("a\r\n\tb\x1b\xff"), `a\r\n\tb[U+001B][0xFF]`},
		{Continued("a\n  next: b"), "a\n          next: b"},
		{Clip("ééé\nééé", 5), "ééé …"},
		{Clip("ééé", 3), "ééé"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, expected %q", test.got, test.want)
		}
	}
}
