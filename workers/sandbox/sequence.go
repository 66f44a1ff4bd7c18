package sandbox

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func itoa(n int) string { return strconv.Itoa(n) }

// sequence returns the texts of {1..5} or {a..e}; none if there are too many.
func sequence(brace *syntax.BraceExp) (texts []string) {
	ends := make([]string, 0, 3)
	for _, elem := range brace.Elems {
		ends = append(ends, elem.Lit())
	}
	if len(ends) < 2 {
		return nil
	}
	step := 1
	if len(ends) > 2 {
		if n, err := strconv.Atoi(ends[2]); err == nil && n != 0 {
			step = max(n, -n)
		}
	}
	if step < 0 {
		return nil
	}
	from, err1 := strconv.Atoi(ends[0])
	to, err2 := strconv.Atoi(ends[1])
	letters := err1 != nil || err2 != nil
	if letters {
		if len(ends[0]) != 1 || len(ends[1]) != 1 {
			return nil
		}
		from, to = int(ends[0][0]), int(ends[1][0])
	}
	if from > to {
		step = -step
	}
	wide := 0
	if !letters && (zeroed(ends[0]) || zeroed(ends[1])) {
		wide = max(len(ends[0]), len(ends[1]))
	}
	for n := from; (step > 0 && n <= to) || (step < 0 && n >= to); n += step {
		text := string(rune(n))
		if !letters {
			text = itoa(n)
			text = strings.Repeat("0", max(0, min(wide, 64)-len(text))) + text
		}
		if texts = append(texts, text); len(texts) > maxFields {
			return nil
		}
		if (step > 0 && n > to-step) || (step < 0 && n < to-step) {
			break
		}
	}
	return texts
}

func zeroed(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}
