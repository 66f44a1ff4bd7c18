package outbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"maestro/internal/disk"
)

func home(t *testing.T, dir string) *disk.Root {
	t.Helper()
	root, err := disk.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func opened(t *testing.T, root *disk.Root, session string) *Outbox {
	t.Helper()
	o, err := Open(root, session, secretOf(session))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func secretOf(session string) Secret { return func() string { return "secret of " + session } }

// rejectNone fails the test if an entry is rejected.
func rejectNone(t *testing.T) Reject {
	return func(_ context.Context, u Unproven) (bool, error) {
		t.Errorf("it was rejected: %+v", u)
		return false, nil
	}
}

func entry(key string) Entry {
	return Entry{
		Command:    "report:progress",
		Body:       json.RawMessage(`{"message":"a \u003c b"}`),
		Key:        key,
		OccurredAt: time.Unix(1, 2).UTC(),
	}
}

func keep(t *testing.T, o *Outbox, key string) {
	t.Helper()
	if _, err := o.Keep(t.Context(), entry(key)); err != nil {
		t.Fatal(err)
	}
}

// keys delivers everything and returns the keys in the order of delivery.
func keys(t *testing.T, o *Outbox) (keys []string, d Delivery) {
	t.Helper()
	d, err := o.Deliver(t.Context(), time.Minute, func(_ context.Context, e Entry) error {
		keys = append(keys, e.Key)
		return nil
	}, rejectNone(t))
	if err != nil {
		t.Fatal(err)
	}
	return keys, d
}

func TestOutbox(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	o := opened(t, root, "sess_1")
	if waiting, err := o.Waiting(); err != nil || waiting != 0 {
		t.Errorf("in a home without an outbox: %d, %v", waiting, err)
	}
	if sessions, err := Sessions(t.Context(), root); err != nil || sessions != nil {
		t.Errorf("%v, %v", sessions, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "outbox")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the check created something: %v", err)
	}
	var want []string
	for i := range 12 {
		key := fmt.Sprint("key", i)
		want = append(want, key)
		// As another process would.
		if waiting, err := opened(t, root, "sess_1").Keep(t.Context(), entry(key)); err != nil || waiting != i+1 {
			t.Fatalf("%d, %v", waiting, err)
		}
	}
	keep(t, opened(t, root, "other"), "another's")
	if err := os.Mkdir(filepath.Join(dir, "outbox", "not a session"), 0o700); err != nil {
		t.Fatal(err)
	}
	sessions, err := Sessions(t.Context(), root)
	if err != nil || !slices.Equal(sessions, []string{"other", "sess_1"}) {
		t.Errorf("%v, %v", sessions, err)
	}
	box := filepath.Join(dir, "outbox", "sess_1")
	err = filepath.WalkDir(box, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	// The third has to wait, and so do all after it.
	later := errors.New("later")
	var sent []string
	d, err := o.Deliver(t.Context(), time.Minute, func(_ context.Context, e Entry) error {
		sent = append(sent, e.Key)
		if len(sent) == 3 {
			return later
		}
		return nil
	}, rejectNone(t))
	if !errors.Is(err, later) || d.Delivered != 2 || !slices.Equal(sent, want[:3]) {
		t.Errorf("%+v, %v, %v", d, err, sent)
	}
	keep(t, o, "last")
	got, d := keys(t, o)
	if !slices.Equal(got, append(want[2:], "last")) || d.Delivered != 11 {
		t.Errorf("%v, %+v", got, d)
	}
	if waiting, err := o.Waiting(); err != nil || waiting != 0 {
		t.Errorf("%d, %v", waiting, err)
	}
}

func TestEntryComesBackAsItWas(t *testing.T) {
	o := opened(t, home(t, t.TempDir()), "s")
	want := entry("k")
	keep(t, o, "k")
	_, err := o.Deliver(t.Context(), time.Minute, func(_ context.Context, got Entry) error {
		if got.Command != want.Command || string(got.Body) != string(want.Body) || got.Key != want.Key ||
			!got.OccurredAt.Equal(want.OccurredAt) {
			t.Errorf("got %+v", got)
		}
		return nil
	}, rejectNone(t))
	if err != nil {
		t.Error(err)
	}
	for _, bad := range []Entry{
		{},
		{Command: "report:progress", Key: "k"},
		{Command: "report:progress", OccurredAt: time.Unix(1, 0)},
		{
			Command:    "report:progress",
			Key:        "k",
			Body:       json.RawMessage("{"),
			OccurredAt: time.Unix(1, 0),
		},
		{
			Command:    "report:progress",
			Key:        "k",
			Body:       json.RawMessage(`"` + strings.Repeat("x", MaxBody) + `"`),
			OccurredAt: time.Unix(1, 0),
		},
	} {
		if _, err := o.Keep(t.Context(), bad); err == nil {
			t.Errorf("%+v was kept", bad)
		}
	}
}

func TestOpenTakesSessionsOnly(t *testing.T) {
	root := home(t, t.TempDir())
	for _, id := range []string{"", ".", "..", "../x", "a/b", "a b", "ä", "a\x00", strings.Repeat("x", 129)} {
		if _, err := Open(root, id, noSecret); err == nil {
			t.Errorf("%q is accepted", id)
		}
	}
}

// No path leaves the home, not even through a link that somebody put there.
func TestStaysInTheHome(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "outbox")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(home(t, dir), "s", noSecret); err == nil {
		t.Error("a link is accepted as the directory of the outboxes")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	root := home(t, dir)
	o := opened(t, root, "s")
	damage := []func(file string) error{
		func(file string) error { return os.Truncate(file, 0) },
		func(file string) error { return os.Truncate(file, 20) },
		func(file string) error { return os.Truncate(file, maxFile+1) },
		func(file string) error { return os.WriteFile(file, []byte(`{"command":"report:complete"}`), 0o600) },
		func(file string) error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) },
		func(file string) error { return errors.Join(os.Remove(file), os.Symlink("/etc/passwd", file)) },
	}
	for i := range damage {
		keep(t, o, fmt.Sprint("bad", i))
		keep(t, o, fmt.Sprint("good", i))
	}
	// Complete files that are not entries.
	content := []byte("{}")
	files, err := filepath.Glob(filepath.Join(dir, "outbox", "s", "*.json"))
	if err != nil || len(files) != 2*len(damage) {
		t.Fatal(files, err)
	}
	for i, harm := range damage {
		if err := harm(files[2*i]); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "outbox", "s", position{99, digestOf(content)}.file())
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	got, d := keys(t, o)
	if !slices.Equal(got, []string{"good0", "good1", "good2", "good3", "good4", "good5"}) {
		t.Errorf("got %v", got)
	}
	if len(d.Damaged) != len(damage)+1 {
		t.Errorf("%+v", d.Damaged)
	}
	for _, damaged := range d.Damaged {
		if _, err := os.Lstat(filepath.Join(dir, "outbox", "s", damaged.File)); err != nil || damaged.Why == "" {
			t.Errorf("%+v: %v", damaged, err)
		}
	}
	if waiting, err := o.Waiting(); err != nil || waiting != 0 {
		t.Errorf("%d, %v", waiting, err)
	}
}

func TestFull(t *testing.T) {
	o := opened(t, home(t, t.TempDir()), "s")
	o.entries = 2
	keep(t, o, "1")
	keep(t, o, "2")
	var full *FullError
	if _, err := o.Keep(t.Context(), entry("3")); !errors.As(err, &full) || full.Waiting != 2 || full.Bytes == 0 {
		t.Errorf("got %v", err)
	}
	o.entries, o.bytes = 10, full.Bytes+10
	if _, err := o.Keep(t.Context(), entry("3")); !errors.As(err, &full) {
		t.Errorf("got %v", err)
	}
	o.bytes = maxBytes
	keep(t, o, "3")
	if got, _ := keys(t, o); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("got %v", got)
	}
	if err := roomless(fmt.Errorf("so: %w", syscall.ENOSPC)); !errors.As(err, &full) || !errors.Is(err,
		syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
}

// While one process delivers, another can keep a command at once, and a second delivery waits for as long as its caller
// allows.
func TestOneDelivers(t *testing.T) {
	root := home(t, t.TempDir())
	o := opened(t, root, "s")
	keep(t, o, "1")
	d, err := o.Deliver(t.Context(), time.Minute, func(_ context.Context, e Entry) error {
		if e.Key != "1" {
			return nil
		}
		other := opened(t, root, "s")
		keep(t, other, "2")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var busy *BusyError
		_, err := other.Deliver(ctx, time.Minute, nil, nil)
		if !errors.As(err, &busy) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		return nil
	}, rejectNone(t))
	if err != nil || d.Delivered != 2 {
		t.Errorf("what was kept meanwhile: %+v, %v", d, err)
	}
}

// TestKilled kills processes that keep and deliver, at random moments: everything acknowledged arrives, in order.
func TestKilled(t *testing.T) {
	if os.Getenv("OUTBOX_TEST_HOME") != "" {
		childOfKilled(t)
		return
	}
	dir := t.TempDir()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	arrived := filepath.Join(dir, "arrived")
	start := func(role string) (*exec.Cmd, *bufio.Reader) {
		child := exec.Command(binary, "-test.run", "^TestKilled$")
		child.Env = append(os.Environ(), "OUTBOX_TEST_HOME="+dir, "OUTBOX_TEST_ROLE="+role)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		return child, bufio.NewReader(out)
	}
	acknowledged := map[string][]string{}
	for round := range 4 {
		deliverer, heard := start("deliver")
		for keeper := range 2 {
			name := fmt.Sprintf("%d.%d", round, keeper)
			child, out := start(name)
			for range 20 + 10*round { // by then the process works on the next entry
				line, err := out.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				acknowledged[name] = append(acknowledged[name], strings.TrimSpace(line))
			}
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(out)
			acknowledged[name] = append(acknowledged[name], strings.Fields(string(rest))...)
			_ = child.Wait()
		}
		if _, err := heard.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if err := deliverer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = deliverer.Wait()
	}
	o := opened(t, home(t, dir), "s")
	if d := deliverInto(t, o, arrived, io.Discard); len(d.Damaged) > 0 {
		t.Errorf("%+v", d.Damaged)
	}
	content, err := os.ReadFile(arrived)
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]int{}
	for i, key := range strings.Fields(string(content)) {
		if _, again := first[key]; !again {
			first[key] = i + 1
		}
	}
	for name, list := range acknowledged {
		last := 0
		for _, key := range list {
			if first[key] <= last {
				t.Fatalf("%s: %s is at %d, after one at %d", name, key, first[key], last)
			}
			last = first[key]
		}
	}
}

func childOfKilled(t *testing.T) {
	dir, role := os.Getenv("OUTBOX_TEST_HOME"), os.Getenv("OUTBOX_TEST_ROLE")
	o := opened(t, home(t, dir), "s")
	for i := 0; ; i++ {
		if role == "deliver" {
			deliverInto(t, o, filepath.Join(dir, "arrived"), os.Stdout)
			continue
		}
		key := fmt.Sprintf("%s.%d", role, i)
		keep(t, o, key)
		fmt.Println(key)
	}
}

// deliverInto is a server that records what it receives.
func deliverInto(t *testing.T, o *Outbox, file string, heard io.Writer) Delivery {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	d, err := o.Deliver(t.Context(), time.Minute, func(_ context.Context, e Entry) error {
		_, err := f.WriteString(e.Key + "\n")
		fmt.Fprintln(heard, e.Key)
		return err
	}, rejectNone(t))
	if err != nil {
		t.Fatal(err)
	}
	return d
}
