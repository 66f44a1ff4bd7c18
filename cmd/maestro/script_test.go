package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"maestro/api/client"
	"maestro/internal/testing/race"
)

// TestScripts runs testdata/script/*.txtar against the real program. Apart from testscript's own commands there are:
//
//	server start [ARGS]        starts `maestro serve` on a free port, and waits until it says that it listens
//	server stop | kill         ends it with SIGTERM (and expects exit code 0), or with SIGKILL
//	exits CODE PROGRAM [ARGS]  runs a program, and expects this exit code
//	grab NAME REGEXP           sets a variable to what the group of REGEXP matches in the last output
//	become [SESSION]           sets the environment that the last output exports, or that of an earlier session
//	user                       undoes that
//	until REGEXP PROGRAM [ARGS] runs a program until its output matches REGEXP
//	heartbeat                  sends a heartbeat, as the supervisor of the current session
//	forge HOW IN OUT           makes a forged backup of a backup; see forgeCmd
//	long NAME                  sets a variable to a text that is too long for an event
//	losetexts                  removes the long texts' blocks from the home, whose server must be stopped
//	harm                       flips a bit in the middle of the home's log; the server must be stopped
//	warns CODE                 waits until /readyz says that the server is ready, with this warning
//	json PATH [VALUE]          expects a value in the last output, which is JSON: data.0.id; without VALUE, any value
//	mcptools ACTOR             expects the tools in the last output to be all commands of the actor; see mcpToolsCmd
//	disk ...                   mounts, fills and freezes small disks if the condition [mount] holds; see diskCmd
//
// Under the race detector, the servers of scripts that do several things at once run under it too. Other servers and
// the commands do not: they are thousands of processes that do one thing after the other, and what their servers do at
// once, the tests of their packages do.
func TestScripts(t *testing.T) {
	mounts := canMount(t)
	commands := programWithoutDetector(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("MAESTRO_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("MAESTRO_WORKSPACE", filepath.Join(env.WorkDir, "workspaces"))
			env.Setenv("OWN_HOST", ownHost())
			env.Setenv("GORACE", quickEnd)
			env.Setenv("PATH", commands+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Values[serverKey{}] = &scriptServer{unraced: filepath.Join(commands, "maestro")}
			env.Values[sessionsKey{}] = map[string][][]string{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": serverCmd, "exits": exitsCmd, "grab": grabCmd, "become": becomeCmd, "user": userCmd,
			"json":      jsonCmd,
			"heartbeat": heartbeatCmd, "until": untilCmd, "forge": forgeCmd, "losetexts": loseTextsCmd, "long": longCmd,
			"runner": runnerCmd,
			"warns":  warnsCmd, "harm": harmCmd, "disk": diskCmd, "mcptools": mcpToolsCmd,
		},
		Condition: func(name string) (bool, error) {
			if name != "mount" {
				return false, fmt.Errorf("there is no condition %q", name)
			}
			return mounts, nil
		},
	})
}

// programWithoutDetector is a directory with this program, built without the race detector. The test binary itself is
// the program where it has none.
func programWithoutDetector(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if !race.Enabled {
		return dir
	}
	build := exec.Command("go", "test", "-c", "-o", filepath.Join(dir, "maestro"), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

type serverKey struct{}

// scriptServer is the server of one script.
type scriptServer struct {
	// unraced is the program without the race detector, if the tests have one.
	unraced string
	process *exec.Cmd
}

// background ends a script's command that runs beside others.
var background = regexp.MustCompile(`(?m)&\w*&?$`)

// binary is the program that serves a script.
func (s *scriptServer) binary(ts *testscript.TestScript) (string, error) {
	script, err := os.ReadFile(filepath.Join("testdata", "script", ts.Name()+".txtar"))
	if err != nil {
		return "", err
	}
	if !race.Enabled || background.Match(script) {
		return exec.LookPath("maestro")
	}
	return s.unraced, nil
}

func serverCmd(ts *testscript.TestScript, neg bool, args []string) {
	s, ok := ts.Value(serverKey{}).(*scriptServer)
	if !ok || neg || len(args) == 0 {
		ts.Fatalf("usage: server start [ARGS] | stop | kill")
	}
	switch args[0] {
	case "start":
		s.start(ts, args[1:])
	case "stop":
		ts.Check(s.end(syscall.SIGTERM))
	case "kill":
		_ = s.end(syscall.SIGKILL)
	}
}

func (s *scriptServer) start(ts *testscript.TestScript, args []string) {
	binary, err := s.binary(ts)
	ts.Check(err)
	args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	if !slices.Contains(args, "--runner") { // most scripts play the agents themselves
		args = append(args, "--no-runner")
	}
	s.process = exec.Command(binary, args...)
	for _, name := range []string{"PATH", "HOME", "MAESTRO_HOME"} {
		s.process.Env = append(s.process.Env, name+"="+ts.Getenv(name))
	}
	log, err := os.OpenFile(ts.MkAbs("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer func() { _ = log.Close() }()
	s.process.Stderr = log
	out, err := s.process.StdoutPipe()
	ts.Check(err)
	ts.Check(s.process.Start())
	process := s.process
	ts.Defer(func() { _ = process.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "listening on") {
		_ = process.Wait()
		ts.Fatalf("the server did not start: %q, %v\n%s", line, err, ts.ReadFile("server.log"))
	}
	ts.Check(os.WriteFile(ts.MkAbs("server.out"), []byte(line), 0o600))
}

func (s *scriptServer) end(signal os.Signal) error {
	if s.process == nil {
		return errors.New("no server runs")
	}
	process := s.process
	s.process = nil
	if err := process.Process.Signal(signal); err != nil {
		return err
	}
	return process.Wait()
}

func exitsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGS]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if code != want {
		ts.Fatalf("exit code %d, expected %d", code, want)
	}
}

func grabCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: grab NAME REGEXP")
	}
	re, err := regexp.Compile(args[1])
	ts.Check(err)
	found := re.FindStringSubmatch(ts.ReadFile("stdout"))
	if found == nil {
		ts.Fatalf("%s matches nothing", args[1])
	}
	ts.Setenv(args[0], found[len(found)-1])
}

var exported = regexp.MustCompile(`(?m)^export (MAESTRO_\w+)=(\S+)$`)

type sessionsKey struct{}

func becomeCmd(ts *testscript.TestScript, _ bool, args []string) {
	sessions, _ := ts.Value(sessionsKey{}).(map[string][][]string)
	var found [][]string
	if len(args) > 0 {
		found = sessions[args[0]]
	} else {
		found = exported.FindAllStringSubmatch(ts.ReadFile("stdout"), -1)
	}
	if found == nil {
		ts.Fatalf("the last output exports nothing, or this never was the session")
	}
	for _, variable := range found {
		ts.Setenv(variable[1], variable[2])
	}
	sessions[ts.Getenv("MAESTRO_SESSION_ID")] = found
}

// untilCmd waits for something that a server does by itself without a signal.
func untilCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP PROGRAM [ARGS]")
	}
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	if !comes(func() bool {
		ts.Check(ts.Exec(args[1], args[2:]...))
		return re.MatchString(ts.ReadFile("stdout"))
	}) {
		ts.Fatalf("after %s, %s still does not match the output of %s, which is\n%s%s", longestWait, args[0],
			strings.Join(args[1:], " "), ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func heartbeatCmd(ts *testscript.TestScript, _ bool, _ []string) {
	address := ts.Getenv("MAESTRO_API_URL") + "/api/sessions/" + ts.Getenv("MAESTRO_SESSION_ID") + "/heartbeat"
	request, err := http.NewRequest(http.MethodPost, address, nil)
	ts.Check(err)
	request.Header.Set("Authorization", "Bearer "+ts.Getenv("MAESTRO_TOKEN"))
	answer, err := http.DefaultClient.Do(request)
	ts.Check(err)
	ts.Check(answer.Body.Close())
	if answer.StatusCode != http.StatusNoContent {
		ts.Fatalf("the heartbeat is answered with %s", answer.Status)
	}
}

// runnerCmd sends a command of the runner terminal: "runner SESSION COMMAND FIELDS".
func runnerCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: runner SESSION COMMAND FIELDS")
	}
	token, err := os.ReadFile(filepath.Join(ts.Getenv("MAESTRO_HOME"), "admin.token"))
	ts.Check(err)
	ctx, address := context.Background(), addressOf(ts)
	given, err := client.New(address, strings.TrimSpace(string(token))).RunnerCredential(ctx, args[0])
	ts.Check(err)
	fields := map[string]any{"sessionId": args[0]}
	ts.Check(json.Unmarshal([]byte(args[2]), &fields))
	_, err = client.New(address, given.Token).Do(ctx, args[1], fields, client.Options{})
	if neg != (err != nil) {
		ts.Fatalf("%s: %v", args[1], err)
	}
}

// addressOf returns the address of the script's server.
func addressOf(ts *testscript.TestScript) string {
	var server struct{ Address string }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(filepath.Join(ts.Getenv("MAESTRO_HOME"), "server.json"))), &server))
	return server.Address
}

func warnsCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: warns CODE")
	}
	address := addressOf(ts)
	var said []byte
	if !comes(func() bool {
		answer, err := http.Get(address + "/readyz")
		ts.Check(err)
		said, err = io.ReadAll(answer.Body)
		ts.Check(errors.Join(err, answer.Body.Close()))
		var ready struct{ Warnings []struct{ Code string } }
		ts.Check(json.Unmarshal(said, &ready))
		return answer.StatusCode == http.StatusOK && slices.ContainsFunc(ready.Warnings,
			func(warning struct{ Code string }) bool { return warning.Code == args[0] })
	}) {
		ts.Fatalf("after %s, there still is no warning %s: %s", longestWait, args[0], said)
	}
}

func userCmd(ts *testscript.TestScript, _ bool, _ []string) {
	for _, name := range []string{
		"SESSION_ID", "PROJECT_ID", "TOKEN", "API_URL", "SERVER_URL", "STRATEGY",
		"MANIFEST_PATH",
	} {
		ts.Setenv("MAESTRO_"+name, "")
	}
}

func jsonCmd(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: json PATH [VALUE]")
	}
	var value any
	text := ts.ReadFile("stdout")
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		ts.Fatalf("the last output is not JSON: %v\n%s", err, text)
	}
	value, there := lookup(value, strings.Split(args[0], "."))
	if len(args) == 1 {
		if there == neg {
			ts.Fatalf("%s: exists: %t\n%s", args[0], there, text)
		}
		return
	}
	shown, ok := value.(string)
	if !ok {
		encoded, err := json.Marshal(value)
		ts.Check(err)
		shown = string(encoded)
	}
	if (there && shown == args[1]) == neg {
		ts.Fatalf("%s is %s\n%s", args[0], shown, text)
	}
}

func lookup(value any, path []string) (any, bool) {
	for _, part := range path {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			if part == "len" {
				value = len(v)
				continue
			}
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// Every command is in some script; this test notices a command without one.
func TestEveryCommandHasAScript(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var scripts strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts.Write(text)
	}
	for _, cmd := range root().Commands() {
		verbs := cmd.Commands()
		if len(verbs) == 0 {
			verbs = append(verbs, cmd)
		}
		for _, verb := range verbs {
			name := verb.CommandPath()
			if name == "maestro serve" || name == "maestro demo" || name == "maestro bench" {
				continue // "server start"; and commands with tests of their own
			}
			if !strings.Contains(scripts.String(), name) {
				t.Errorf("no script runs `%s`", name)
			}
		}
	}
}
