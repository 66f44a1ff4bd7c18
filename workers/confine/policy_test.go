package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestLayersOfAPolicy(t *testing.T) {
	available := []Layer{landlock(7), Namespaces, Seccomp, NoNewPrivileges, NetworkPorts, NetworkNone}
	for network, want := range map[Network][]Layer{
		Open:  {landlock(7), Namespaces, Seccomp, NoNewPrivileges},
		Ports: {landlock(7), Namespaces, Seccomp, NoNewPrivileges, NetworkPorts},
		None:  {landlock(7), Namespaces, Seccomp, NoNewPrivileges, NetworkNone},
	} {
		if got := (Policy{Network: network}).Layers(available); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", network, got, want)
		}
	}
	if got := (Policy{}).Layers(nil); len(got) > 0 {
		t.Errorf("of no layers, %v are active", got)
	}
}

// The policy goes to another program as JSON, which has no other names.
func TestPolicyIsText(t *testing.T) {
	p := Policy{Home: "/h", Temp: "/t", ReadOnly: []string{"/w/caf\xe9"}}
	if err := p.check(nil); err == nil || !strings.Contains(err.Error(), `"/w/caf\xe9"`) {
		t.Errorf("a name that is not UTF-8: %v", err)
	}
	p.ReadOnly = []string{"/w/caf\u00e9"}
	if err := p.check(nil); err != nil {
		t.Error(err)
	}
}

func TestLandlockVersion(t *testing.T) {
	for layer, want := range map[Layer]int{"landlock-abi7": 7, "landlock-abi12": 12, "landlock-abix": -1, Seccomp: 0} {
		if got := landlockVersion([]Layer{layer}); got != want {
			t.Errorf("%s: %d, want %d", layer, got, want)
		}
	}
}

// Each pattern is valid and stays below the home.
func TestSecretsAreBelowTheHome(t *testing.T) {
	for _, pattern := range slices.Concat(secrets, systemSecrets) {
		if _, err := filepath.Match(pattern, "x"); err != nil || strings.Contains(pattern, "..") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	home := filepath.Join(t.TempDir(), "a[b]*c")
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(os.MkdirAll(filepath.Join(home, ".config/claude-work"), 0o700))
	ok(os.WriteFile(filepath.Join(home, ".psql_history"), nil, 0o600))
	found := Secrets(home)
	for _, name := range []string{".ssh", ".config/claude-work", ".psql_history", ".netrc"} {
		if !slices.Contains(found, filepath.Join(home, name)) {
			t.Errorf("%s is not a secret", name)
		}
	}
}

// The longest place that contains a path decides.
func TestPlaces(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home/target/secret", "home/work/mine/.tmp", "home/.claude/local", "real"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(root, name) }
	p := Policy{
		Home:      in("home"),
		ReadWrite: []string{in("home/target"), in("home/work/mine"), in("real")},
		Hidden:    []string{in("home/work"), in("home/target/secret")},
		Exposed:   []string{in("home/.claude/local"), in("home/.npmrc")},
		Temp:      in("home/work/mine/.tmp"),
	}
	ps, err := p.places(true, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]access{
		"/":                          readable,
		"/usr/bin/env":               readable,
		"/run/x":                     hidden,
		"/tmp":                       writable,
		"/etc/shadow":                hidden,
		"/dev/null":                  device,
		in("home"):                   readable,
		in("home/.ssh/id"):           hidden,
		in("home/.sshx"):             readable,
		in("home/.claude/x"):         hidden,
		in("home/.claude/local/bin"): readable,
		in("home/.npmrc"):            readable,
		in("home/target/x"):          writable,
		in("home/target/secret/x"):   hidden,
		in("home/targets"):           readable,
		in("home/work/other"):        hidden,
		in("home/work/mine/x"):       writable,
		in("real/x"):                 writable,
	} {
		if got := ps.at(path).access; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// A directory of the command that has become a link since it was checked is refused, also by a link above it.
func TestRootsAreNoLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "home/.maestro/sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "home/.maestro"), filepath.Join(root, "web")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"web", "web/sessions"} {
		for _, p := range []Policy{
			{Home: "/nonexistent", ReadWrite: []string{filepath.Join(root, path)}},
			{Home: "/nonexistent", Reads: []string{filepath.Join(root, path)}},
		} {
			p.Hidden = []string{filepath.Join(root, "home/.maestro")}
			for _, namespaces := range []bool{true, false} {
				if ps, err := p.places(namespaces, "", nil); err == nil {
					t.Errorf("%+v gives %+v", p, ps)
				}
			}
		}
	}
}

// A policy that gives /tmp itself means that directory, not the one for temporary files.
func TestTmpAsATarget(t *testing.T) {
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, given := range []Policy{
		{Home: "/nonexistent", Temp: temp, ReadWrite: []string{"/tmp"}},
		{Home: "/nonexistent", Temp: temp},
	} {
		ps, err := given.places(true, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		want := temp
		if len(given.ReadWrite) > 0 {
			want = ""
		}
		if got := ps.at("/tmp/x"); got.from != want || got.access != writable {
			t.Errorf("%v: %+v", given.ReadWrite, got)
		}
	}
}
