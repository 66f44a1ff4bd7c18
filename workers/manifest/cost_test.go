package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// The cost of refusing a document is bounded by its length. Each unknown member costs the same whether there are a
// hundred or a million, except for the first hundred, which are reported.
func TestRefusingCostsWhatTheDocumentIsLong(t *testing.T) {
	for what, document := range map[string]func(n int) string{
		"unknown members": func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, `"n%d":%d,`, i, i)
			}
			return "{" + b.String() + `"z":1}`
		},
		"equal members": func(n int) string { return "{" + strings.Repeat(`"role":1,`, n) + `"role":1}` },
		"tasks":         func(n int) string { return `{"tasks":[` + strings.Repeat(`{"x":1},`, n) + `{}]}` },
		"lists":         func(n int) string { return `{"tasks":[` + strings.Repeat(`[],`, n) + `[]]}` },
	} {
		cost := func(n int) float64 {
			content := []byte(document(n))
			return testing.AllocsPerRun(1, func() {
				if _, err := Parse(content); err == nil {
					t.Errorf("%s: no fault", what)
				}
			})
		}
		const perMember = 16
		if few, many := cost(1000), cost(11_000); many-few > perMember*10_000 {
			t.Errorf("%s: %.0f allocations for 1,000, %.0f for 11,000", what, few, many)
		}
	}
}
