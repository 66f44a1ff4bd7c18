package salvage

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"maestro/api/export"
	"maestro/bus"
	"maestro/events"
	"maestro/internal/backups"
	"maestro/internal/home"
)

// small creates a home with an event for each name.
func small(t *testing.T, names ...string) *lived {
	t.Helper()
	l := &lived{dir: filepath.Join(t.TempDir(), "home")}
	h, err := home.Create(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := h.Lock()
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := lock.Secrets()
	if err := errors.Join(err, lock.Release(), h.Close()); err != nil {
		t.Fatal(err)
	}
	l.key = secrets.BackupKey()
	l.signer = bus.SignerName(l.key.Public().(ed25519.PublicKey))
	_, l.head = l.grow(t, names...)
	return l
}

// killed removes the record of the last clean stop.
func (l *lived) killed(t *testing.T) {
	t.Helper()
	if err := os.Remove(filepath.Join(l.dir, "store", "clean.json")); err != nil {
		t.Fatal(err)
	}
}

// loses harms the store's record of an event.
func (l *lived) loses(t *testing.T, sequence int) {
	t.Helper()
	blocks := l.blocks(t, bus.StreamName)
	content, err := os.ReadFile(blocks[0])
	if err != nil || len(blocks) != 1 {
		t.Fatal(err, blocks)
	}
	at := 0
	for range sequence - 1 { // each record begins with its length
		at += int(content[at]) + int(content[at+1])<<8
	}
	flip(t, blocks[0], func(int) int { return at + 40 })
}

// exports writes an export of the home's log, and backup a backup that the home's key signs.
func (l *lived) exports(t *testing.T, name string) string {
	t.Helper()
	var lines []byte
	l.read(t, func(_ *bus.Bus, m events.Message, head events.Head) { lines = export.Append(lines, m, head.Hash) })
	return placed(t, name+".ndjson", lines)
}

func (l *lived) backup(t *testing.T, name string) string {
	t.Helper()
	var archive bytes.Buffer
	var last events.Head
	l.read(t, func(b *bus.Bus, m events.Message, head events.Head) {
		archive.Reset()
		options := bus.BackupOptions{Head: head, Created: time.Now(), Key: l.key}
		if _, err := b.Backup(t.Context(), &archive, options); err != nil {
			t.Fatal(err)
		}
		last = head
	})
	if name == "" { // that of an automatic one
		name = fmt.Sprintf("maestro-%s-20260102T030405Z-%d-%s", strings.TrimPrefix(l.signer, "ed25519:")[:16],
			last.Sequence, last.Hash.String()[:8])
	}
	path := placed(t, name+".tar.gz", archive.Bytes())
	if _, automatic := backups.Named(path); automatic != strings.HasPrefix(name, "maestro-") {
		t.Fatalf("%s is not named like an automatic backup", path)
	}
	return path
}

// read yields the messages of the home's log, and the head of each.
func (l *lived) read(t *testing.T, yield func(b *bus.Bus, m events.Message, head events.Head)) {
	t.Helper()
	copied := l.copied(t) // what opens a store writes to it
	b, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(copied.dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	last, err := b.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var head events.Head
	if err := errors.Join(b.Read(t.Context(), 1, last, func(m events.Message) error {
		head = events.Head{Sequence: m.Sequence, Hash: events.Next(head.Hash, events.BodyHash(m.Body))}
		yield(b, m, head)
		return nil
	}), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func placed(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// forge appends an event to the store that no server would have decided.
func (l *lived) forge(t *testing.T) (head events.Head) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{Dir: filepath.Join(l.dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	last, err := b.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var message events.Message
	if err := b.Read(t.Context(), last, last, func(m events.Message) error { message = m; return nil }); err != nil {
		t.Fatal(err)
	}
	event, err := events.Decode(message.Body)
	if err != nil {
		t.Fatal(err)
	}
	event.PrevHash = events.Next(event.PrevHash, events.BodyHash(message.Body))
	event.ID = uuid.New()
	event.Data = &events.ProjectCreated{ProjectID: "proj_forged", Name: "Forged"}
	before := event.Project
	event.Project = "proj_forged"
	body, err := event.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	forged := events.Message{
		Sequence: last + 1,
		Subject:  strings.ReplaceAll(message.Subject, before, "proj_forged"),
		Body:     body,
	}
	if err := errors.Join(b.Append(t.Context(), last, []events.Message{forged}), b.Close()); err != nil {
		t.Fatal(err)
	}
	return events.Head{Sequence: last + 1, Hash: events.Next(event.PrevHash, events.BodyHash(body))}
}
