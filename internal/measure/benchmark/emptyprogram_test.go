package benchmark

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// The Go command builds the empty program, and a process of it is compared with the command.
func TestAProcessIsComparedWithAnEmptyProgram(t *testing.T) {
	var checks []Check
	slow := func() (float64, error) { return 1e9, nil }
	o := Options{Dir: t.TempDir(), Rounds: 1, Progress: &bytes.Buffer{}}
	if err := wholeProcess(t.Context(), o, slow, func(c Check) { checks = append(checks, c) }); err != nil {
		t.Fatal(err)
	}
	if len(checks) != 1 || checks[0].OK || checks[0].Baseline <= 0 || !strings.Contains(checks[0].Against, "(go1.") {
		t.Errorf("the checks are %+v", checks)
	}
}

// A machine without the Go command, or with one that cannot build, leaves the comparison out and says so.
func TestWithoutGoTheComparisonIsLeftOut(t *testing.T) {
	var progress bytes.Buffer
	t.Setenv("PATH", t.TempDir())
	unused := func() (float64, error) { return 0, errors.New("measured although there is no baseline") }
	o := Options{Dir: t.TempDir(), Rounds: 1, Progress: &progress}
	if err := wholeProcess(t.Context(), o, unused, func(c Check) { t.Errorf("reported %+v", c) }); err != nil {
		t.Fatal(err)
	}
	if want := "left out: it needs the Go command"; !strings.Contains(progress.String(), want) {
		t.Errorf("printed %q, without %q", progress.String(), want)
	}
}
