package sandbox

import (
	"strconv"
	"strings"
)

// escapes decodes the escapes of $'…' and, unless quoted is true, of echo -e and printf.
func escapes(s string, quoted bool) string {
	if !strings.Contains(s, "\\") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a':
			b.WriteByte(7)
		case 'b':
			b.WriteByte(8)
		case 'e', 'E':
			b.WriteByte(27)
		case 'f':
			b.WriteByte(12)
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte(11)
		case '\\', '\'', '"', '?':
			b.WriteByte(c)
		case 'c':
			if !quoted {
				return b.String()
			}
			if i+1 < len(s) {
				i++
				b.WriteByte(s[i] & 0x1f)
			}
		case 'x':
			i += number(&b, s[i+1:], 16, 2, false)
		case 'u':
			i += number(&b, s[i+1:], 16, 4, true)
		case 'U':
			i += number(&b, s[i+1:], 16, 8, true)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			if c == '0' && !quoted {
				i += number(&b, s[i+1:], 8, 3, false)
			} else {
				i += number(&b, s[i:], 8, 3, false) - 1
			}
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}

// number writes the character with the number at the beginning of a text, and returns how many digits that has.
func number(b *strings.Builder, s string, base, most int, wide bool) int {
	n := 0
	for n < len(s) && n < most && strings.IndexByte("0123456789abcdefABCDEF"[:map[int]int{8: 8, 16: 22}[base]],
		s[n]) >= 0 {
		n++
	}
	value, err := strconv.ParseUint(s[:n], base, 32)
	switch {
	case err != nil:
		if base == 8 {
			b.WriteByte(0)
		}
	case wide:
		b.WriteRune(rune(value))
	case byte(value) >= firstMark:
		b.WriteString(unknown)
	case byte(value) != 0: // bash drops it
		b.WriteByte(byte(value))
	}
	return n
}
