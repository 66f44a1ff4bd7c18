package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"maestro/commands"
)

// advised matches the command lines that a text tells its reader to run.
var advised = regexp.MustCompile("`maestro ([a-z-]+)(?: ([a-z-]+))?(?: ([a-z-]+))?")

// A refusal never advises a command that the same credential may not use: an agent would try it, and be refused again.
func TestNextStepsArePermitted(t *testing.T) {
	t.Parallel()
	w := openInside(t, nil)
	found := 0
	for _, column := range "WQTOEFAR" {
		s := w.stage(column)
		listed := w.send(http.MethodGet, "/api/commands", s.token, "").is(http.StatusOK)
		allowed, _ := listed.at("allowedCommands").([]any)
		may := func(id string) bool { return slices.Contains(allowed, any(id)) }
		for _, row := range writes {
			for _, body := range []string{s.names.Replace(row.body), nowhere.ReplaceAllString(row.body, `"none"`)} {
				r := w.do(s.token, row.id, body)
				if r.status < http.StatusBadRequest {
					continue
				}
				for _, words := range advised.FindAllStringSubmatch(r.text("next"), -1) {
					found++
					if !mayRun(words[1:], may) {
						t.Errorf("%s by %c: the caller may not use the next step: %s", row.id, column, r.body)
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no refusal names a command")
	}
}

// nowhere matches the names in a body of the permission test.
var nowhere = regexp.MustCompile(`"[A-Z]+"`)

func mayRun(words []string, may func(id string) bool) bool {
	for n := len(words); n > 0; n-- {
		id := strings.TrimRight(strings.Join(words[:n], ":"), ":")
		if _, ok := commands.CurrentRules().Row(id); ok {
			return may(id)
		}
	}
	return words[0] == "manifest"
}
