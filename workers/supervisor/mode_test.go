package supervisor

import (
	"errors"
	"testing"

	"maestro/workers/agent"
	"maestro/workers/confine"
	"maestro/workers/preflight"
)

// driven is a driver of which only this is asked.
type driven struct {
	agent.Driver
	guarded bool
}

func (d driven) Name() string  { return "mine" }
func (d driven) Guarded() bool { return d.guarded }

// An agent without a hook is not launched in a mode that only a hook, or the kernel, could hold it to.
func TestModeNeedsAHook(t *testing.T) {
	for _, test := range []struct {
		mode    string
		guarded bool
		layers  []confine.Layer
		ok      bool
	}{
		{"acceptEdits", false, nil, true},
		{modeInteractive, true, nil, true},
		{modeInteractive, false, []confine.Layer{confine.Namespaces}, false},
		{modeReadOnly, true, nil, true},
		{modeReadOnly, false, []confine.Layer{confine.Seccomp}, false},
		{modeReadOnly, false, []confine.Layer{confine.Namespaces}, true},
		{modeReadOnly, false, []confine.Layer{"landlock-abi7"}, true},
	} {
		s := &supervisor{driver: driven{guarded: test.guarded}, layers: test.layers}
		s.options.PermissionMode = test.mode
		var failed *preflight.Failure
		if err := s.checkMode(t.Context()); (err == nil) != test.ok || err != nil && !errors.As(err, &failed) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// Agents call the program by its name.
func TestAgentsFindTheProgram(t *testing.T) {
	for program, ok := range map[string]bool{"/opt/bin/maestro": true, "/opt/bin/maestro-linux-amd64": false} {
		s := &supervisor{}
		s.Program = program
		var failed *preflight.Failure
		if err := s.checkProgram(t.Context()); (err == nil) != ok || err != nil && !errors.As(err, &failed) {
			t.Errorf("%s: %v", program, err)
		}
	}
}
