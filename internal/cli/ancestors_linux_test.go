package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// TestExecIsSeenHoweverItIsWritten: a command line of `maestro session exec` is parsed in the same way as Main parses
// it.
func TestExecIsSeenHoweverItIsWritten(t *testing.T) {
	for line, want := range map[string]string{
		"maestro session exec sess_a -- sh -c x":                     "sess_a",
		"maestro --json session exec sess_a -- sh":                   "sess_a",
		"maestro -o table session exec sess_a -- sh":                 "sess_a",
		"maestro --output json session exec sess_a -- sh":            "sess_a",
		"maestro -o session session exec sess_a -- sh":               "sess_a",
		"maestro session -o table exec sess_a -- sh":                 "sess_a",
		"maestro session exec -o table sess_a -- sh":                 "sess_a",
		"maestro session exec sess_a -o json -- sh":                  "sess_a",
		"mst session exec sess_a -- sh":                              "sess_a",
		"timeout 30m maestro session exec sess_a -- sh":              "",
		"maestro session exec sess_a -- maestro session exec sess_b": "sess_a",
		"maestro session exec sess_a":                                "",
		"maestro session info sess_a -- exec":                        "",
		"maestro queue start -- session exec sess_a -- sh":           "",
		"maestro task create exec --session session -- sess_a":       "",
		"": "",
	} {
		if got := executes(strings.Split(line, " ")); got != want {
			t.Errorf("%q runs a command as %q, want %q", line, got, want)
		}
	}
}

// tree is a tree of processes that changes after this many reads.
type tree struct {
	files map[string]string
	reads int
	after int
	then  func(files map[string]string)
}

func (r *tree) read(name string) ([]byte, error) {
	if r.reads++; r.reads > r.after && r.then != nil {
		r.then(r.files)
		r.then = nil
	}
	text, ok := r.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (r *tree) add(pid, parent, flags int, line, environment string) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	r.files[dir+"stat"] = fmt.Sprintf("%d (a) b) S %d 1 1 0 -1 %d 0", pid, parent, flags)
	r.files[dir+"cmdline"], r.files[dir+"environ"] = line, environment
}

// TestEndedAncestorHidesNoSession: a process between the session's process and the caller ends at any moment of
// the walk; the session's process is then the caller's parent.
func TestEndedAncestorHidesNoSession(t *testing.T) {
	const executing = "maestro\x00session\x00exec\x00sess_a\x00--\x00sh\x00"
	for name, ends := range map[string]func(r *tree){
		"gone": func(r *tree) {
			for _, file := range []string{"stat", "cmdline", "environ"} {
				delete(r.files, "/proc/2000000000/"+file)
			}
			r.add(2000000001, 1999999999, 0, "maestro\x00whoami\x00", "")
		},
		"another one has its number": func(r *tree) {
			r.add(2000000000, 1, 0, "other\x00", "")
			r.add(2000000001, 1999999999, 0, "maestro\x00whoami\x00", "")
		},
		"exiting": func(r *tree) {
			r.add(2000000000, 1999999999, 0x4, "", "")
			r.add(1999999999, 1, 0, "sh\x00", "HOME=/root\x00")
		},
	} {
		for after := range 20 {
			r := &tree{files: map[string]string{}, after: after}
			r.add(1999999999, 1, 0, executing, "HOME=/root\x00")
			r.add(2000000000, 1999999999, 0, "sh\x00", "MAESTRO_SESSION_ID=sess_a\x00")
			r.add(2000000001, 2000000000, 0, "maestro\x00whoami\x00", "")
			r.add(1, 0, 0, "init\x00", "")
			r.then = func(map[string]string) { ends(r) }
			session, err := processTable(r.read).sessionAbove(2000000001)
			if session != "sess_a" && !errors.Is(err, errOrigin) {
				t.Errorf("%s after %d reads: %q, %v", name, after, session, err)
			}
		}
	}
}

// TestAncestorsAreLookedAtToTheTop: a process without a session above it has none; nor has one on a system without
// /proc. Too many ancestors are an error.
func TestAncestorsAreLookedAtToTheTop(t *testing.T) {
	r := &tree{files: map[string]string{}}
	for pid := range 50 {
		r.add(pid+1, pid, 0, "sh\x00", "HOME=/root\x00")
	}
	if session, err := processTable(r.read).sessionAbove(50); session != "" || err != nil {
		t.Errorf("%q, %v", session, err)
	}
	if session, err := processTable((&tree{}).read).sessionAbove(50); session != "" || err != nil {
		t.Errorf("without /proc: %q, %v", session, err)
	}
	for pid := range ancestorsAtMost + 10 {
		r.add(pid+1, pid, 0, "sh\x00", "HOME=/root\x00")
	}
	if _, err := processTable(r.read).sessionAbove(ancestorsAtMost + 10); !errors.Is(err, errOrigin) {
		t.Errorf("too many ancestors: %v", err)
	}
}
