package commands

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseIsStrict(t *testing.T) {
	for _, c := range []struct{ id, body, pointer string }{
		{"task:create", `{"Title":"x"}`, "/Title"},
		{"task:create", `{"title":"x","title":"y"}`, "/title"},
		{"task:create", `{"title":"x","t\u0069tle":"y"}`, "/title"},
		{"task:create", `{"title":"x","metadata":{"a":1,"b":{"c":1,"c":2}}}`, "/metadata"},
		{"task:create", `{"title":"x","metadata":{"list":[{"a":1},{"a":1,"a":2}]}}`, "/metadata"},
		{"task:create", `{"title":"a\ud800b"}`, "/title"},
		{"task:create", `{"title":"a\udc00b"}`, "/title"},
		{"task:create", `{"title":"a\uD83D\u0041"}`, "/title"},
		{"report:progress", `{"message":"x","taskIds":["a\udfff"]}`, "/taskIds"},
		{"report:progress", `{"message":"x","kind":"complete"}`, ""},
	} {
		_, err := Parse(c.id, []byte(c.body))
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Code != CodeInvalid || refusal.Pointer != c.pointer {
			t.Errorf("%s %s: %+v", c.id, c.body, err)
		}
	}
	for _, c := range []struct{ id, body string }{
		{
			"task:create",
			` { "title" : "a\ud83d\ude00\"\\b" , "metadata" : { "a" : [ 1 , { "b" : null } ] , "Title":true },` +
				` "acceptanceCriteria":[] } `,
		},
		{"task:create", `{"title":"x","metadata":{"a":{"c":1},"b":{"c":2}},"parentId":null}`},
		{"report:complete", `{}`},
		{"session:register", `{"env":{"A":"1","B":"{"}}`},
	} {
		if _, err := Parse(c.id, []byte(c.body)); err != nil {
			t.Errorf("%s %s: %v", c.id, c.body, err)
		}
	}
}

// FuzzParse: Parse returns for every body, without a panic.
func FuzzParse(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"title":"x"}`, `{"title":"\ud83d\ude00","metadata":{"a":[{"b":1}]}}`, `null`,
		`[]`, `"x"`, `{"title":"\u`, strings.Repeat("[", 50),
	} {
		f.Add("task:create", []byte(body))
	}
	f.Fuzz(func(_ *testing.T, id string, body []byte) {
		_, _ = Parse(id, body)
	})
}

// TestOptionalZeroIsRefused: 0 is refused for every optional number, and the refusal says what leaving it
// out means. Otherwise 0 would count as absent: a token would never expire.
func TestOptionalZeroIsRefused(t *testing.T) {
	checked := map[string]bool{}
	for _, id := range IDs() {
		command := makers()[id].empty()
		for name, absent := range countsOfTypes()[reflect.TypeOf(command).Elem()] {
			checked[id+" "+name] = true
			if absent == "" {
				t.Errorf("%s: no text says what it means to leave out %s", id, name)
			}
			for _, value := range []string{"0", " 0 ", "-0"} {
				_, err := Parse(id, []byte(`{"`+name+`":`+value+`}`))
				var refusal *Refusal
				if !errors.As(err, &refusal) || refusal.Code != CodeInvalid || refusal.Pointer != "/"+name ||
					!strings.Contains(refusal.Message, absent) {
					t.Errorf("%s with %s %s: %v", id, name, value, err)
				}
			}
			for _, body := range []string{`{}`, `{"` + name + `":1}`, `{"` + name + `":null}`} {
				if _, err := Parse(id, []byte(body)); err != nil {
					t.Errorf("%s %s: %v", id, body, err)
				}
			}
		}
	}
	for _, known := range []string{
		"token:create expiresIn", "token:create expiresAt", "session:spawn timeout", "session:spawn maxTurns",
		"queue:create maxAttempts",
	} {
		if !checked[known] {
			t.Errorf("%s is not checked", known)
		}
	}
}
