package sandbox

import (
	"slices"
	"strings"
)

// tr applies tr to the input, for sets of characters, ranges and classes.
func (c *call) tr() string {
	p := parse(c.args, takes{}, false)
	text := c.in.text
	if vague(text) || len(p.operands) == 0 || marked(p.operands[0]) {
		return unknown
	}
	from, ok := characters(p.operands[0])
	if !ok || p.has("s", "c", "C", "t", "squeeze-repeats", "complement", "truncate-set1") {
		return unknown
	}
	if p.has("d", "delete") {
		return string(slices.DeleteFunc([]byte(text), func(ch byte) bool { return strings.IndexByte(from, ch) >= 0 }))
	}
	if len(p.operands) < 2 || marked(text) || marked(p.operands[1]) {
		return unknown
	}
	to, ok := characters(p.operands[1])
	if !ok || to == "" {
		return unknown
	}
	b := []byte(text)
	for i, ch := range b {
		if at := strings.LastIndexByte(from, ch); at >= 0 {
			b[i] = to[min(at, len(to)-1)]
		}
	}
	return string(b)
}

// characters lists the characters of a set of tr.
func characters(set string) (string, bool) {
	set = escapes(set, false)
	if vague(set) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(set); i++ {
		if strings.HasPrefix(set[i:], "[:") {
			end := strings.Index(set[i:], ":]")
			if end < 0 {
				return "", false
			}
			for ch := byte(0); ch < 128; ch++ {
				if inClass(set[i+2:i+end], ch) {
					b.WriteByte(ch)
				}
			}
			i += end + 1
			continue
		}
		if strings.HasPrefix(set[i:], "[=") || strings.HasPrefix(set[i:], "[") && strings.Contains(set[i:], "*") {
			return "", false
		}
		if i+2 < len(set) && set[i+1] == '-' {
			for ch := int(set[i]); ch <= int(set[i+2]); ch++ {
				b.WriteByte(byte(ch))
			}
			i += 2
			continue
		}
		b.WriteByte(set[i])
	}
	return b.String(), true
}
