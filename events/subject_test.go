package events

import (
	"encoding/hex"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// readSubject undoes Subject, by hand.
func readSubject(t *testing.T, subject string) [3]string {
	t.Helper()
	tokens := strings.Split(strings.TrimPrefix(subject, "maestro.ev."), ".")
	if len(tokens) != 3 {
		t.Fatalf("%s has %d tokens", subject, len(tokens))
	}
	var parts [3]string
	for i, token := range tokens {
		if token == "=" {
			continue
		}
		for at := 0; at < len(token); at++ {
			if token[at] != '=' {
				parts[i] += token[at : at+1]
				continue
			}
			b, err := hex.DecodeString(token[at+1 : at+3])
			if err != nil {
				t.Fatal(err)
			}
			parts[i] += string(b)
			at += 2
		}
	}
	return parts
}

func FuzzSubject(f *testing.F) {
	for _, id := range []string{"", "=", "a.b", "a.>", "*", "a=2Eb", "ü", "\x00\xff", "sess_1-A", " "} {
		f.Add(id, "session", "x", "y")
		f.Add("proj", "task", id, "y")
	}
	clean := regexp.MustCompile(`^maestro\.ev(\.([A-Za-z0-9_-]|=[0-9A-F]{2})+|\.=){3}$`)
	f.Fuzz(func(t *testing.T, project, aggregate, id, other string) {
		subject := Subject(project, aggregate, id)
		if !clean.MatchString(subject) {
			t.Fatalf("%q is not a subject", subject)
		}
		if got, want := readSubject(t, subject), [3]string{project, aggregate, id}; got != want {
			t.Fatalf("%s reads as %q, want %q", subject, got, want)
		}
		if other != id && Subject(project, aggregate, other) == subject {
			t.Fatalf("%q and %q share the subject %s", id, other, subject)
		}
		if live := LiveSubject(subject); live != "maestro.live."+strings.TrimPrefix(subject, "maestro.ev.") {
			t.Fatalf("announced on %s", live)
		}
	})
}

func TestSubject(t *testing.T) {
	for _, c := range []struct{ project, aggregate, id, want string }{
		{"proj_1", "task", "task-2", "maestro.ev.proj_1.task.task-2"},
		{"", "project", "p", "maestro.ev.=.project.p"},
		{"a.b", "task", "*", "maestro.ev.a=2Eb.task.=2A"},
		{"=", "task", ">", "maestro.ev.=3D.task.=3E"},
		{"ü", "task", " ", "maestro.ev.=C3=BC.task.=20"},
	} {
		if got := Subject(c.project, c.aggregate, c.id); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// FuzzID: keys of different callers never give the same id, and the same command always has the same id.
func FuzzID(f *testing.F) {
	f.Add("/users/admin", "proj_1", "task:create", "k", "/users/admi", "nproj_1", "task:create", "k")
	f.Add("/users/a", "p", "task:create", "k", "/users/b", "p", "task:create", "k")
	f.Add("/users/a", "p", "task:create", "k", "/users/a", "q", "task:create", "k")
	f.Add("/users/a", "p", "task:create", "k", "/users/a", "p", "task:update", "k")
	f.Add("/users/a", "", "bc", "", "/users/a", "b", "c", "")
	f.Fuzz(func(t *testing.T, source, project, command, key, source2, project2, command2, key2 string) {
		for _, part := range []string{source, project, command, key, source2, project2, command2, key2} {
			if strings.Contains(part, "\x00") {
				return // ID never gets a NUL: commands refuse it
			}
		}
		id, other := ID(source, project, command, key), ID(source2, project2, command2, key2)
		same := source == source2 && project == project2 && command == command2 && key == key2
		if (id == other) != same {
			t.Fatalf("%q and %q", id, other)
		}
		if id.Version() != 5 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s is not a UUIDv5", id)
		}
		if want := uuid.NewSHA1(namespace, []byte(source+"\x00"+project+"\x00"+command+"\x00"+key)); id != want {
			t.Fatalf("got %s, want %s", id, want)
		}
	})
}

// Ids are stored in logs, so they must never change.
func TestIDIsForGood(t *testing.T) {
	if got := ID("/users/admin", "proj_1", "task:create",
		"k-1").String(); got != "88719546-ccae-52d8-98bd-e46bd0ac1c60" {
		t.Errorf("got %s", got)
	}
}
