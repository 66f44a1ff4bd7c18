package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"maestro/api/client"
	"maestro/service/wire"
)

// An apply shows the first of many warnings, and counts the others.
func TestApplyShowsTheFirstWarnings(t *testing.T) {
	for n, counted := range map[int]string{20: "", 27: "and 7 more warnings"} {
		var said bytes.Buffer
		a := &Run{Printer: Printer{Stdout: &bytes.Buffer{}, Stderr: &said, Screen: &Screen{Width: 80}}}
		i := &applying{}
		for m := range n {
			i.warnings = append(i.warnings, fmt.Sprint("warning no. ", m))
		}
		i.warn(a)
		text := said.String()
		if shown := strings.Count(text, "warning no. "); shown != 20 || !strings.Contains(text, counted) {
			t.Errorf("of %d warnings, %d are shown:\n%s", n, shown, text)
		}
	}
}

// Only a refusal of a task's place lets an apply detach tasks.
func TestOnlyPlacesAreDetached(t *testing.T) {
	refused := func(status int, pointer string) error {
		return fmt.Errorf("apply: %w", &client.Error{Status: status, Problem: wire.Problem{Pointer: pointer}})
	}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{refused(http.StatusBadRequest, "/dependencies"), true},
		{refused(http.StatusBadRequest, "/parentId"), true},
		{refused(http.StatusBadRequest, "/title"), false},
		{refused(http.StatusBadRequest, ""), false},
		{refused(http.StatusForbidden, "/parentId"), false},
		{errors.New("no answer"), false},
		{nil, false},
	} {
		if got := aboutItsPlace(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}
