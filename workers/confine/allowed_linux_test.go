package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What an agent needs works behind all layers, and without namespaces.
func TestAllowed(t *testing.T) {
	tests := []struct {
		name  string
		argv  []string
		needs string
		// mounts says that it needs the mount namespace.
		mounts bool
	}{
		{name: "read a system file", argv: shell("cat /etc/passwd && ls /usr/bin > /dev/null")},
		{name: "read a file of the user", argv: shell("cat {outside}/notes {home}/.config/git/ignore")},
		{
			name: "write in the target",
			argv: shell("mkdir -p a/b && echo x > a/b/c && mv a/b d && ln -s d e && rm -r e d a"),
		},
		{
			name: "write in the workspace",
			argv: shell("echo x > {workspace}/.state/session && echo x > {workspace}/new"),
		},
		{
			name: "move from the target to the workspace",
			argv: shell("echo x > f && mv f {workspace}/f && cat {workspace}/f"),
		},
		{name: "truncate and change rights", argv: shell("echo xx > f && truncate -s 1 f && chmod 600 f && touch f")},
		{name: "use temporary files", argv: shell(`f=$(mktemp) && echo x > "$f" && [ -d "$TMPDIR" ] && rm "$f"`)},
		{name: "use /tmp", argv: shell("echo x > /tmp/f && test -f {workspace}/.tmp/f && rm /tmp/f"), mounts: true},
		{
			name: "use devices",
			argv: shell("head -c9 /dev/urandom > /dev/null && echo x | cat /dev/stdin > /dev/stderr"),
		},
		{name: "share memory", argv: shell("f=/dev/shm/confine-test-$$ && echo x > $f && rm $f")},
		{name: "see own processes", argv: shell("test -r /proc/self/status && kill -0 $$ && sleep 60 & kill $!")},
		{name: "connect to an allowed socket", argv: helper("connect", "unix", "{allowed}")},
		{name: "connect to a port", argv: helper("loopback")},
		{name: "node", needs: "node", argv: []string{
			"node", "-e",
			`const fs = require('fs'); fs.writeFileSync('n', 'x'); require('child_process').execSync('cat n');
			fs.realpathSync('.'); new (require('worker_threads').Worker)('1', { eval: true })`,
		}},
		{name: "npm", needs: "npm", argv: shell("npm init -y > /dev/null && npm pkg get name && npm run env")},
		{name: "git", needs: "git", argv: shell(
			"git init -q . && git -c user.name=a -c user.email=b add README && " +
				"git -c user.name=a -c user.email=b commit -qm x && git log --oneline && git stash list && git gc -q",
		)},
		{name: "python", needs: "python3", argv: []string{
			"python3", "-c",
			"import tempfile, subprocess, multiprocessing as m; m.Lock();" +
				"tempfile.NamedTemporaryFile(); subprocess.run(['true'])",
		}},
		{
			name:   "a terminal",
			needs:  "python3",
			mounts: true,
			argv: []string{
				"python3", "-c", "import pty, os; m, s = pty.openpty(); os.ttyname(s); os.write(s, b'x')",
			},
		},
		{name: "go", needs: "go", argv: shell(
			"printf 'module m\\ngo 1.20\\n' > go.mod && " +
				"printf 'package main\\nfunc main() { println(1) }\\n' > m.go && " +
				"GOFLAGS=-mod=mod GOCACHE={cache} GOTOOLCHAIN=local GOMODCACHE=$TMPDIR/mod go build -o m . && ./m",
		)},
	}
	all := everything(t, Policy{})
	cache := scratch(t) // the standard library is compiled once
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(test.needs); test.needs != "" && err != nil {
				t.Skipf("%s is not installed", test.needs)
			}
			if test.needs == "go" && testing.Short() {
				t.Skip("it compiles the standard library: the tests of root do that")
			}
			for name, layers := range map[string][]Layer{"all": all, "without namespaces": without(all, Namespaces)} {
				w := newWorld(t)
				w.cache = cache
				w.policy.ReadWrite = append(w.policy.ReadWrite, cache)
				cmd, output := w.command(test.argv...)
				code := w.run(layers, cmd)
				if want := test.mounts && name != "all"; (code != 0) != want {
					t.Errorf("%s: exit code %d\n%s", name, code, output)
				}
			}
		})
	}
}

// A directory of the command may contain something hidden.
func TestHiddenInADirectoryOfTheCommand(t *testing.T) {
	tests := []struct {
		line              string
		all, alone, usual bool // whether it works behind all layers, without namespaces, and unconfined
	}{
		{"cat keys/id", false, false, true},
		{"mv keys other && cat other/id", false, false, true},
		{"rm -r keys", false, false, true},
		{"ln keys/id sources/id", false, false, true},
		{"cat README && echo x >> README && echo x > sources/new && mkdir sources/more", true, true, true},
		{"echo x > new", true, false, true},
	}
	all := everything(t, Policy{})
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			for _, run := range []struct {
				layers []Layer
				works  bool
			}{{all, test.all}, {without(all, Namespaces), test.alone}, {nil, test.usual}} {
				w := newWorld(t)
				must(t, os.MkdirAll(filepath.Join(w.target, "keys"), 0o755))
				must(t, os.MkdirAll(filepath.Join(w.target, "sources"), 0o755))
				must(t, os.WriteFile(filepath.Join(w.target, "keys/id"), []byte(secretText), 0o600))
				w.policy.Hidden = append(w.policy.Hidden, filepath.Join(w.target, "keys"))
				cmd, output := w.command(shell(test.line)...)
				if code := w.run(run.layers, cmd); (code == 0) != run.works {
					t.Errorf("%v: exit code %d\n%s", run.layers, code, output)
				}
			}
		})
	}
}

// A policy that names what does not exist, or what leads elsewhere, is refused: the command does not run with less.
func TestStartRefuses(t *testing.T) {
	all := everything(t, Policy{})
	says := map[string]string{
		"a directory that leads elsewhere": "through a symbolic link",
		"a link in the way of a mount":     "is a symbolic link",
	}
	tests := map[string]func(w *world, cmd *exec.Cmd) []Layer{
		"a path that is not absolute": func(w *world, _ *exec.Cmd) []Layer {
			w.policy.Hidden = []string{"x"}
			return all
		},
		"a writable root": func(w *world, _ *exec.Cmd) []Layer {
			w.policy.ReadWrite = []string{"/"}
			return all
		},
		"a writable directory that is hidden": func(w *world, _ *exec.Cmd) []Layer {
			w.policy.Hidden = []string{w.target}
			return all
		},
		"a directory that does not exist": func(w *world, _ *exec.Cmd) []Layer {
			w.policy.ReadWrite = []string{w.target + "/none"}
			return all
		},
		"a directory that leads elsewhere": func(w *world, _ *exec.Cmd) []Layer {
			must(w.t, os.Remove(w.policy.Temp+"/keep"))
			must(w.t, os.Remove(w.policy.Temp))
			must(w.t, os.Symlink(w.home, w.policy.Temp))
			return all
		},
		"a link in the way of a mount": func(w *world, _ *exec.Cmd) []Layer {
			first, _, _ := strings.Cut(strings.TrimPrefix(w.target, "/tmp/"), "/")
			must(w.t, os.Symlink(w.home, filepath.Join(w.policy.Temp, first)))
			return all
		},
		"an unknown layer": func(*world, *exec.Cmd) []Layer { return append(all, "unknown") },
		"ports without the layer": func(w *world, _ *exec.Cmd) []Layer {
			w.policy.Network = Ports
			return all
		},
		"no network without the layer": func(w *world, _ *exec.Cmd) []Layer {
			w.policy.Network = None
			return all
		},
		"a newer Landlock than the kernel's": func(*world, *exec.Cmd) []Layer { return []Layer{landlock(99)} },
		"other files": func(_ *world, cmd *exec.Cmd) []Layer {
			cmd.ExtraFiles = []*os.File{os.Stdin}
			return all
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cmd, output := w.command("touch", "ran")
			process, err := Start(t.Context(), agentExec(), w.policy, change(w, cmd), cmd)
			if err == nil {
				_ = process.Wait()
				t.Fatalf("it runs: %s", output)
			}
			if !strings.Contains(err.Error(), says[name]) {
				t.Errorf("refused for another reason: %v", err)
			}
			if _, err := os.Stat(w.target + "/ran"); err == nil {
				t.Error("the command has run")
			}
		})
	}
}
