package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// planted writes an entry with a matching name, as anybody who can write to the directory could.
func plantedIn(t *testing.T, dir string, number uint64, e Entry) (file string) {
	t.Helper()
	content, err := encode(e)
	if err != nil {
		t.Fatal(err)
	}
	return plantedFile(t, dir, position{number, digestOf(content)}.file(), content)
}

func plantedFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// delivered returns the keys that were sent and those that were rejected.
func delivered(t *testing.T, o *Outbox) (sent, rejected []string, d Delivery) {
	t.Helper()
	d, err := o.Deliver(t.Context(), time.Minute, func(_ context.Context, e Entry) error {
		sent = append(sent, e.Key)
		return nil
	}, func(_ context.Context, u Unproven) (bool, error) {
		rejected = append(rejected, u.Entry.Key)
		return false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sent, rejected, d
}

// However an entry with a valid proof is changed, it is not delivered: it is set aside, and its sender is told.
func TestProofOnEveryDelivery(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	root := home(t, dir)
	o := opened(t, root, "s")
	box := filepath.Join(dir, "outbox", "s")
	secret := secretOf("s")()
	const text = `{"message":"m"}`
	mutate := []func(*Entry){
		func(e *Entry) { e.Command = "task:complete" },
		func(e *Entry) { e.Command = "task:complete"; e.Proof = e.prove(secret) },
		func(e *Entry) { e.Command = "report:error" },
		func(e *Entry) { e.Body = json.RawMessage(`{"message":"n"}`) },
		func(e *Entry) { e.Body = json.RawMessage(`{"message":"\u006d"}`) },
		func(e *Entry) { e.Key += string('a' + rune(rng.IntN(26))) },
		func(e *Entry) { e.OccurredAt = e.OccurredAt.Add(time.Duration(1 + rng.Int64N(1e15))) },
		func(e *Entry) { e.Proof = "" },
		func(e *Entry) { e.Proof = e.prove("") },
		func(e *Entry) { e.Proof = e.prove(secretOf("other")()) },
		func(e *Entry) { e.Proof = strings.ToUpper(e.Proof) + "0" },
		func(e *Entry) { e.Proof = e.Proof[:rng.IntN(len(e.Proof))] },
		func(e *Entry) {
			bits := []byte(e.Proof)
			bits[rng.IntN(len(bits))] ^= 1
			e.Proof = string(bits)
		},
	}
	for range 500 {
		e := entry("key")
		e.Body = json.RawMessage(text)
		e.Proof = e.prove(secret)
		mutate[rng.IntN(len(mutate))](&e)
		file := plantedIn(t, box, rng.Uint64N(1e6)+1, e)
		sent, rejected, d := delivered(t, o)
		if len(sent) > 0 || !slices.Equal(rejected, []string{e.Key}) || len(d.Damaged) != 1 ||
			d.Damaged[0].File != "damaged/"+file {
			t.Fatalf("%+v: sent %v, rejected %v, %+v", e, sent, rejected, d)
		}
	}
	aside, err := SetAside(t.Context(), root)
	if err != nil || aside["s"] == 0 {
		t.Errorf("%v, %v", aside, err)
	}
	// The entry itself is delivered even a second time: by its key, it is the same command.
	e := entry("key")
	e.Proof = e.prove(secret)
	plantedIn(t, box, 1, e)
	plantedIn(t, box, 2, e)
	if sent, rejected, _ := delivered(t, o); !slices.Equal(sent, []string{"key", "key"}) || rejected != nil {
		t.Errorf("sent %v, rejected %v", sent, rejected)
	}
}

// Even too many entries hide neither what was set aside nor the sessions for which something waits.
func TestTooManyEntriesHideNothing(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	for _, session := range []string{"a", "b", "c"} {
		keep(t, opened(t, root, session), "k")
	}
	const most = 3
	for i := range most + 1 {
		plantedIn(t, filepath.Join(dir, "outbox", "a", damagedDir), uint64(i+1), entry("k"))
	}
	if aside, err := setAside(t.Context(), root, damagedDir, most); aside["a"] != most || err != nil {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	// Files in something that is not a directory cannot be counted; the error names the session.
	if err := os.WriteFile(filepath.Join(dir, "outbox", "b", damagedDir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	aside, err := SetAside(t.Context(), root)
	if aside["a"] != most+1 || err == nil || !strings.Contains(err.Error(), "outbox/b/") {
		t.Errorf("set aside: %v, %v", aside, err)
	}
}

// Nothing is delivered without a secret. Entries with the proof of a revoked secret are set aside, not lost.
func TestWithoutTheSecret(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	secret := "first"
	o, err := Open(root, "s", func() string { return secret })
	if err != nil {
		t.Fatal(err)
	}
	for _, now := range []string{"second", ""} {
		secret = "first"
		keep(t, o, "k"+now)
		secret = now
		// A rejected entry waits until its rejection could be reported.
		later := errors.New("later")
		_, err := o.Deliver(t.Context(), time.Minute, nil, func(context.Context, Unproven) (bool, error) {
			return true, later
		})
		if waiting, _ := o.Waiting(); !errors.Is(err, later) || waiting != 1 {
			t.Errorf("%q: %d wait, %v", now, waiting, err)
		}
		if sent, rejected, d := delivered(t, o); sent != nil || !slices.Equal(rejected, []string{"k" + now}) ||
			len(d.Damaged) != 1 {
			t.Errorf("%q: sent %v, rejected %v, %+v", now, sent, rejected, d)
		}
	}
	if _, err := o.Keep(t.Context(), entry("k")); err == nil {
		t.Error("an entry was kept without a secret for its proof")
	}
	secret = "first"
	if _, err := o.Keep(t.Context(), Entry{
		Command:    "task:create",
		Body:       json.RawMessage("{}"),
		Key:        "k",
		OccurredAt: time.Unix(1, 0),
	}); err == nil {
		t.Error("a command that may not wait was kept")
	}
}

// The answer to a rejected entry decides where it goes, whatever the entry says: only whoever has the former secrets
// knows. A command that may not wait does not even say it.
func TestFormerSecret(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	secret := "s.1.first"
	o, err := Open(root, "s", func() string { return secret })
	if err != nil {
		t.Fatal(err)
	}
	keep(t, o, "honest")
	for i, e := range []Entry{entry("forged"), entry("silent"), {
		Command:    "task:complete",
		Body:       json.RawMessage("{}"),
		Key:        "may not wait",
		OccurredAt: time.Unix(1, 0),
		Generation: 1,
	}} {
		if e.Key == "forged" {
			e.Generation = 1
		}
		plantedIn(t, filepath.Join(dir, "outbox", "s"), uint64(i+2), e)
	}
	secret = "s.2.second"
	says := map[string]bool{}
	d, err := o.Deliver(t.Context(), time.Minute, nil, func(_ context.Context, u Unproven) (bool, error) {
		says[u.Entry.Key] = u.SaysFormer
		return u.Entry.ProvenBy("s.1.first"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"honest": true, "forged": true, "silent": false, "may not wait": false}
	if !maps.Equal(says, want) {
		t.Errorf("they say %v", says)
	}
	for i, aside := range d.Damaged {
		former := i == 0
		if aside.Replaced != former || strings.HasPrefix(aside.File, replacedDir+"/") != former ||
			strings.Contains(aside.Why, whyFormer) != former {
			t.Errorf("%d: %+v", i, aside)
		}
	}
	if len(d.Damaged) != len(want) {
		t.Errorf("%+v", d.Damaged)
	}
}

// Things with the name of an entry that are not entries: links, pipes, and names that do not match.
func TestFakeEntries(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	box := filepath.Join(dir, "outbox", "s")
	o := opened(t, root, "s")
	e := entry("elsewhere")
	e.Proof = e.prove(secretOf("s")())
	content, err := encode(e)
	if err != nil {
		t.Fatal(err)
	}
	plantedFile(t, filepath.Join(dir, "outbox", "other"), "elsewhere", content)
	plantedFile(t, dir, "server.key", []byte("key"))
	name := func(number uint64) string { return position{number, digestOf(content)}.file() }
	if err := os.MkdirAll(box, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink("../other/elsewhere", filepath.Join(box, name(1))),
		unix.Mkfifo(filepath.Join(box, name(2)), 0o600),
		os.WriteFile(filepath.Join(box, position{3, digestOf([]byte("x"))}.file()), content, 0o600),
		os.Symlink("../../server.key", filepath.Join(box, writtenFile)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	sent, rejected, d := delivered(t, o)
	if sent != nil || rejected != nil || len(d.Damaged) != 3 {
		t.Errorf("sent %v, rejected %v, %+v", sent, rejected, d)
	}
	// A link in the place of a file to be written is replaced, not followed.
	keep(t, o, "mine")
	if key, err := os.ReadFile(filepath.Join(dir, "server.key")); err != nil || string(key) != "key" {
		t.Errorf("the link was followed: %q, %v", key, err)
	}
	if err := os.Link(filepath.Join(dir, "server.key"), filepath.Join(box, writtenFile)); err != nil {
		t.Fatal(err)
	}
	keep(t, o, "mine too")
	if key, err := os.ReadFile(filepath.Join(dir, "server.key")); err != nil || string(key) != "key" {
		t.Errorf("the write followed the hard link: %q, %v", key, err)
	}
	if sent, _, _ := delivered(t, o); !slices.Equal(sent, []string{"mine", "mine too"}) {
		t.Errorf("sent %v", sent)
	}
	// No number follows the highest possible one.
	plantedFile(t, box, position{1<<64 - 1, digestOf([]byte("x"))}.file(), []byte("y"))
	if _, err := o.Keep(t.Context(), entry("k")); err == nil {
		t.Error("an entry was kept before those that wait")
	}
	if _, _, d := delivered(t, o); len(d.Damaged) != 1 {
		t.Errorf("%+v", d)
	}
	keep(t, o, "k")
	// A link in the place of the lock would lock or create another file: the link is set aside.
	if err := errors.Join(os.Remove(filepath.Join(box, deliverLock)), os.Symlink("../../server.key", filepath.Join(box,
		deliverLock))); err != nil {
		t.Fatal(err)
	}
	if sent, _, _ := delivered(t, o); !slices.Equal(sent, []string{"k"}) {
		t.Errorf("sent %v", sent)
	}
	if info, err := os.Lstat(filepath.Join(box, damagedDir, deliverLock)); err != nil ||
		info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("a link is accepted as a lock: %v", err)
	}
}

// A session's directory may be a link to another session's entries, or belong to another user, who wrote what is in it.
func TestDirectoriesOfOthers(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	keep(t, opened(t, root, "good"), "k")
	if err := os.Symlink("good", filepath.Join(dir, "outbox", "linked")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root, "linked", noSecret); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("got %v", err)
	}
	// A server that checks all outboxes opens each, and gets the error.
	if sessions, err := Sessions(t.Context(), root); err != nil || !slices.Equal(sessions, []string{"good", "linked"}) {
		t.Errorf("%v, %v", sessions, err)
	}
	if os.Geteuid() != 0 {
		t.Log("only root can change the owner of a directory: not tested here")
		return
	}
	if err := os.Chown(filepath.Join(dir, "outbox", "good"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root, "good", noSecret); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
		t.Errorf("got %v", err)
	}
}
