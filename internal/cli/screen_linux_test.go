package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pty returns a terminal of this width.
func pty(t *testing.T, width uint16) *os.File {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = control.Close() })
	if err := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.IoctlRetInt(int(control.Fd()), unix.TIOCGPTPEER)
	if err != nil {
		t.Fatal(err)
	}
	if fd <= 0 {
		t.Fatalf("the terminal is file %d", fd)
	}
	terminal := os.NewFile(uintptr(fd), "terminal")
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: 40}); err != nil {
		t.Fatal(err)
	}
	return terminal
}

func TestScreenIsTheTerminal(t *testing.T) {
	for _, x := range []struct {
		env    map[string]string
		colour bool
	}{
		{map[string]string{"TERM": "xterm"}, true},
		{map[string]string{"TERM": "dumb"}, false},
		{map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false},
	} {
		a := &Run{Env: x.env, Printer: Printer{Stdout: pty(t, 133)}}
		if got := a.onScreen(); got == nil || got.Width != 133 || got.Colour != x.colour {
			t.Errorf("%v: %+v", x.env, got)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if a := (&Run{Printer: Printer{Stdout: null}}); a.onScreen() != nil {
		t.Error("/dev/null is taken for a terminal")
	}
}

// onTerminal is a stdout that a person reads.
type onTerminal struct {
	bytes.Buffer
	terminal *os.File
}

func (t *onTerminal) Fd() uintptr { return t.terminal.Fd() }

// On a terminal an export is printed with escapes, with the same values; redirected, it is printed unchanged.
func TestExportToATerminal(t *testing.T) {
	const line = `{"message":"a` + "\u009b31m\x7f\u202e\U000e0041" + `b"}` + "\n"
	env, _ := answering(t, http.StatusOK, line+line)
	if got := runHere(t, env, "audit", "export"); got.stdout != line+line {
		t.Errorf("redirected: %q", got.stdout)
	}
	var variables []string
	for name, value := range env {
		variables = append(variables, name+"="+value)
	}
	stdout := onTerminal{terminal: pty(t, 80)}
	code := Main(t.Context(), []string{"audit", "export"}, variables, strings.NewReader(""), &stdout, io.Discard,
		Noun{"audit", audit})
	text := stdout.String()
	if code != ExitDone || strings.ContainsAny(text, "\u009b\x7f\u202e\U000e0041") || strings.Count(text, "\n") != 2 {
		t.Errorf("%d, %q", code, text)
	}
	var said, meant struct{ Message string }
	if err := json.Unmarshal([]byte(strings.SplitAfter(text, "\n")[0]), &said); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(line), &meant); err != nil || said != meant {
		t.Errorf("%q is not %q", said, meant)
	}
}
