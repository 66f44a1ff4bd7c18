package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// stepsPerByte bounds the work of reading a body: each byte is read a few times, and each name is compared with a few
// others.
const stepsPerByte = fewNames + 10

// stepsOf returns the number of steps of reading a body, without the limits on names and values if free is set.
func stepsOf(t *testing.T, body []byte) int {
	t.Helper()
	s := newScanner(t.Context(), body)
	s.fields = fieldsOf(new(CreateTask))
	s.scan()
	return s.steps
}

// names returns an object with n different names.
func names(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"name%d":%d`, i, i)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// The work of reading a body is proportional to its length, whatever it contains.
func TestParsingCostsWhatTheBodyIsLong(t *testing.T) {
	for what, body := range map[string]func(n int) string{
		"names":         func(n int) string { return `{"title":"x","metadata":` + names(n) + `}` },
		"equal names":   func(n int) string { return `{"metadata":{` + strings.Repeat(`"a":1,`, n) + `"a":1}}` },
		"unknown names": names,
		"lists":         func(n int) string { return `{"metadata":{"a":[` + strings.Repeat(`[],`, n) + `[]]}}` },
		"objects": func(n int) string {
			return `{"metadata":{"a":[` + strings.Repeat(`{"a":1,"b":2},`, n) +
				`{}]}}`
		},
		"depth": func(n int) string {
			return `{"metadata":` + strings.Repeat(`{"a":`, n) + `1` + strings.Repeat("}", n+1)
		},
		"escapes":          func(n int) string { return `{"title":"` + strings.Repeat(`\u00e4`, n) + `"}` },
		"escapes in names": func(n int) string { return `{"metadata":{"` + strings.Repeat(`\u00e4`, n) + `":1}}` },
		"halves of pairs":  func(n int) string { return `{"title":"` + strings.Repeat(`\ud800`, n) + `"}` },
		"digits":           func(n int) string { return `{"metadata":{"a":` + strings.Repeat(`9`, n) + `e999999}}` },
		"space":            func(n int) string { return `{` + strings.Repeat(" \n", n) + `"title":"x"}` },
		"open lists":       func(n int) string { return strings.Repeat("[", n) },
		"an open text":     func(n int) string { return `{"title":"` + strings.Repeat("x", n) },
		"backslashes":      func(n int) string { return `{"title":"` + strings.Repeat(`\`, n) },
		"many long names": func(n int) string {
			return `{"metadata":` + strings.ReplaceAll(names(n/10+1), "name", strings.Repeat("x", 40)) + `}`
		},
		"commas":            func(n int) string { return `{"metadata":[` + strings.Repeat(",", n) },
		"names with no end": func(n int) string { return strings.Repeat(`{"a"`, n) },
	} {
		for _, n := range []int{10, 1000, 100_000} {
			b := []byte(body(n))
			if steps := stepsOf(t, b); steps > stepsPerByte*len(b)+len(b) {
				t.Errorf("%s: %d steps for %d bytes", what, steps, len(b))
			}
		}
	}
}

// A body above a limit is refused with the name and the number of the limit.
func TestBodiesAreBounded(t *testing.T) {
	for _, c := range []struct {
		limit Limit
		body  func(n int) string
	}{
		{LimitNames, func(n int) string { return `{"title":"x","metadata":` + names(n) + `}` }},
		{LimitDepth, func(n int) string {
			return `{"title":"x","metadata":` + strings.Repeat(`{"a":`, n-1) + "1" + strings.Repeat("}", n)
		}},
		{LimitNumber, func(n int) string { return `{"title":"x","metadata":{"a":` + strings.Repeat("1", n) + `}}` }},
		{LimitValues, func(n int) string {
			return `{"title":"x","metadata":{"a":[` + strings.Repeat("1,", n-5) + `1]}}`
		}},
	} {
		most := int(c.limit.Value)
		if _, err := Parse("task:create", []byte(c.body(most))); err != nil {
			t.Errorf("%s at %d: %v", c.limit.Name, most, err)
		}
		_, err := Parse("task:create", []byte(c.body(most+1)))
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Code != CodeLimit ||
			!strings.Contains(refusal.Message, fmt.Sprint(most)) ||
			!strings.Contains(refusal.Message, c.limit.Name) {
			t.Errorf("%s at %d: %v", c.limit.Name, most+1, err)
		}
	}
}

// A megabyte of names in one object is refused at the limit, not read to the end.
func TestMegabyteOfNames(t *testing.T) {
	body := []byte(`{"title":"x","metadata":` + names(100_000) + `}`)
	if _, err := Parse("task:create", body); code(err) != CodeLimit {
		t.Errorf("%v", err)
	}
	if steps := stepsOf(t, body); steps > len(body) {
		t.Errorf("%d steps for %d bytes", steps, len(body))
	}
}

// leaver is a caller that leaves at the nth check of whether it is still there.
type leaver struct {
	context.Context
	asked, leavesAt int
}

func (l *leaver) Err() error {
	if l.asked++; l.asked >= l.leavesAt {
		return context.Canceled
	}
	return nil
}

// Reading ends when the caller leaves.
func TestParsingEndsWithItsCaller(t *testing.T) {
	body := []byte(`{"title":"` + strings.Repeat("x", 1<<20-100) + `"}`)
	for leavesAt := 1; leavesAt < 20; leavesAt++ {
		caller := &leaver{Context: t.Context(), leavesAt: leavesAt}
		if _, err := ParseContext(caller, "task:create", body); !errors.Is(err, context.Canceled) {
			t.Fatalf("the caller left at check %d: %v", leavesAt, err)
		}
		if caller.asked != leavesAt {
			t.Errorf("%d checks, although the caller left at check %d", caller.asked, leavesAt)
		}
	}
}

// FuzzParseSteps: whatever a body contains, the work of reading it is bounded by its length. A body that encoding/json
// accepts as one object with distinct names has no fault.
func FuzzParseSteps(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"title":"x","metadata":{"a":[1,{"b":null}]}}`, names(20), `{"a":{"a":{"a":1,"a":2}}}`,
		`{"title":"\ud83d\ude00\ud800"}`,
		`[[[[`, `{"a":"\`, `{"a":"\u`, `{"a":1e999999}`, "\x00", `{"a":tru`, `{"a" 1}`, `{:1}`, `{"title":"x"} {}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := newScanner(t.Context(), body)
		s.scan()
		if s.steps > stepsPerByte*(len(body)+1) {
			t.Errorf("%d steps for %d bytes", s.steps, len(body))
		}
		if s.values > len(body)+1 || s.depth > int(LimitDepth.Value)+1 {
			t.Errorf("%d values, %d deep, in %d bytes", s.values, s.depth, len(body))
		}
		if json.Valid(body) && s.stop == nil && len(strings.TrimSpace(string(body[s.i:]))) > 0 {
			t.Errorf("valid JSON was not read to its end: %q", body[s.i:])
		}
	})
}
