package sandbox

import "strings"

// mostMatching bounds the work of one removal or replacement.
const mostMatching = 1 << 22

// trimmed removes the shortest or longest prefix or suffix that matches a pattern.
func (j *judge) trimmed(s, pattern string, suffix, large bool) string {
	if !evaluable(s, pattern, len(s)) {
		return unknown
	}
	for n := range len(s) + 1 {
		size := n
		if large {
			size = len(s) - n
		}
		if suffix {
			if matches(pattern, s[len(s)-size:]) {
				return s[:len(s)-size]
			}
		} else if matches(pattern, s[:size]) {
			return s[size:]
		}
	}
	return s
}

// replaced replaces the first match of a pattern, or all.
func (j *judge) replaced(s, pattern, with string, all bool) string {
	if pattern == "" {
		return s
	}
	anchored := byte(0)
	if !all && (pattern[0] == '#' || pattern[0] == '%') {
		anchored, pattern = pattern[0], pattern[1:]
	}
	if !marked(pattern) && anchored == 0 {
		times := 1
		if all {
			times = -1
		}
		if strings.Count(s, pattern)*len(with) > maxText {
			return j.kept(strings.Repeat(" ", maxText+1))
		}
		return strings.Replace(s, pattern, with, times)
	}
	if !evaluable(s, pattern, len(s)*len(s)) {
		return unknown
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		size := -1
		for n := len(s) - i; n > 0; n-- {
			if matches(pattern, s[i:i+n]) && (anchored != '%' || i+n == len(s)) {
				size = n
				break
			}
		}
		if size < 0 || (anchored == '#' && i > 0) {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(with)
		i += size
		if b.Len() > maxText {
			return j.kept(b.String())
		}
		if !all {
			b.WriteString(s[i:])
			break
		}
	}
	return b.String()
}

// evaluable reports whether a pattern can be applied to a text whose marks are parts that never match a single
// character, with so many attempts.
func evaluable(s, pattern string, attempts int) bool {
	if vague(pattern) || vague(s) || strings.Contains(pattern, someName) {
		return false
	}
	if marked(s) && (strings.IndexByte(pattern, markOne) >= 0 || strings.IndexByte(pattern, markSet) >= 0) {
		return false
	}
	return attempts*(len(pattern)+1) <= mostMatching
}

// matches reports whether a pattern matches a whole text.
func matches(pattern, s string) bool {
	star, from := -1, 0
	p, i := 0, 0
	for i < len(s) {
		if p < len(pattern) {
			if pattern[p] == markAny {
				star, from = p, i
				p++
				continue
			}
			if size, ok := matchesOne(pattern[p:], s[i]); ok {
				p += size
				i++
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, i = star+1, from
	}
	for p < len(pattern) && pattern[p] == markAny {
		p++
	}
	return p == len(pattern)
}

// matchesOne matches one character with the beginning of a pattern, and returns how long that is.
func matchesOne(pattern string, c byte) (int, bool) {
	switch pattern[0] {
	case markOne:
		return 1, true
	case markSet:
		return matchesSet(plain(pattern), c)
	default:
		return 1, pattern[0] == c
	}
}

func matchesSet(set string, c byte) (int, bool) {
	i, in, not := 1, false, false
	if i < len(set) && (set[i] == '!' || set[i] == '^') {
		not = true
		i++
	}
	for first := true; i < len(set) && (first || set[i] != ']'); first = false {
		if strings.HasPrefix(set[i:], "[:") {
			if end := strings.Index(set[i:], ":]"); end > 0 {
				in = in || inClass(set[i+2:i+end], c)
				i += end + 2
				continue
			}
		}
		if i+2 < len(set) && set[i+1] == '-' && set[i+2] != ']' {
			in = in || set[i] <= c && c <= set[i+2]
			i += 3
			continue
		}
		in = in || set[i] == c
		i++
	}
	if i >= len(set) {
		return 1, c == '['
	}
	return i + 1, in != not
}

func inClass(class string, c byte) bool {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch class {
	case "lower":
		return lower
	case "upper":
		return upper
	case "digit":
		return digit
	case "alpha":
		return lower || upper
	case "alnum":
		return lower || upper || digit
	case "space":
		return strings.IndexByte(" \t\n\r\v\f", c) >= 0
	case "blank":
		return c == ' ' || c == '\t'
	case "punct":
		return c > ' ' && c < 127 && !lower && !upper && !digit
	case "print":
		return c >= ' ' && c < 127
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	default:
		return false
	}
}
