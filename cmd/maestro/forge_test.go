package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"

	"maestro/bus"
	"maestro/events"
)

// forgeCmd makes another backup of one, as somebody would who knows the format:
//
//	forge complete IN OUT   the last event is a worker completing its task; a valid chain, signed by somebody else
//	forge texts IN OUT      without the long texts; signed by somebody else
//	forge unsigned IN OUT   as an older version made it, without a signature
//	forge stripped IN OUT   without the signature that it should have
//	forge head IN OUT       with another hash in its head
//	forge event IN OUT      with "Other" for "First" in an event, and the head and the signature unchanged
//	forge lacking IN OUT    without one of its long texts
//	forge extra IN OUT      with one more long text
//	forge repacked IN OUT   with the same entries in another order
func forgeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: forge complete|texts|unsigned|stripped|head|event|lacking|extra|repacked IN OUT")
	}
	archive := []byte(ts.ReadFile(args[1]))
	var forged []byte
	var err error
	switch args[0] {
	case "complete", "texts":
		// A process that another test starts holds copies of this one's locks until it runs its program.
		for err = bus.ErrStoreInUse; errors.Is(err, bus.ErrStoreInUse); {
			forged, err = rewritten(archive, args[0] == "complete", filepath.Join(ts.MkAbs("."), "forging"))
		}
	case "unsigned", "stripped", "head", "event", "lacking", "extra", "repacked":
		forged, err = edited(archive, args[0])
	}
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), forged, 0o600))
}

func rewritten(archive []byte, complete bool, dir string) (forged []byte, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx := context.Background()
	var last *events.Event
	var spawned *events.SessionSpawned
	head, err := bus.Build(ctx, dir, func(s *bus.Builder) error {
		visit := bus.BackupVisitor{Message: func(m events.Message) error {
			if last, err = events.Decode(m.Body); err != nil {
				return err
			}
			if data, ok := last.Data.(*events.SessionSpawned); ok {
				spawned = data
			}
			return s.Message(m)
		}}
		if complete {
			visit.Blob = func(_ string, content []byte) error { return s.Blob(content) }
		}
		if _, err := bus.ReadBackup(bytes.NewReader(archive), visit); err != nil || !complete {
			return err
		}
		task := spawned.TaskIDs[0]
		event := &events.Event{
			ID:       uuid.New(),
			Source:   "/projects/" + last.Project + "/sessions/" + spawned.SessionID,
			Time:     last.Time.Add(time.Second),
			Project:  last.Project,
			PrevHash: s.Head().Hash,
			Rules:    last.Rules,
			Authn:    "token",
			Data:     &events.TaskStatusChanged{TaskID: task, From: events.TaskInProgress, To: events.TaskCompleted},
		}
		body, err := event.Append(nil)
		if err != nil {
			return err
		}
		return s.Message(
			events.Message{
				Sequence: s.Head().Sequence + 1,
				Subject:  events.Subject(last.Project, "task", task),
				Body:     body,
			},
		)
	})
	if err != nil {
		return nil, err
	}
	// A process that another script is just starting also holds the store's lock until its exec.
	syscall.ForkLock.RLock()
	syscall.ForkLock.RUnlock() //nolint:staticcheck // there is nothing to do in between
	b, err := bus.Open(ctx, bus.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	var out bytes.Buffer
	_, err = b.Backup(
		ctx, &out,
		bus.BackupOptions{Head: head, Created: last.Time, Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))},
	)
	return out.Bytes(), err
}

// edited copies a backup with changed entries, as described at forgeCmd.
func edited(archive []byte, how string) ([]byte, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	var entries []*tar.Header
	contents := map[*tar.Header][]byte{}
	from := tar.NewReader(compressed)
	for {
		entry, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
		if contents[entry], err = io.ReadAll(from); err != nil {
			return nil, err
		}
	}
	return packed(forgedEntries(entries, contents, how), contents)
}

// forgedEntries returns the entries of a forged backup; it changes their contents.
func forgedEntries(entries []*tar.Header, contents map[*tar.Header][]byte, how string) (forged []*tar.Header) {
	dropped := false
	for _, entry := range entries {
		content := string(contents[entry])
		isText := strings.HasPrefix(entry.Name, "blobs/")
		switch {
		case entry.Name == "signature.json" && (how == "unsigned" || how == "stripped"):
			continue
		case entry.Name == "backup.json" && how == "unsigned":
			content = strings.Replace(content, `"format":2`, `"format":1`, 1)
		case entry.Name == "backup.json" && how == "head":
			content = regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllString(content, strings.Repeat("0", 64))
		case entry.Name == "log.ndjson" && how == "event":
			content = strings.Replace(content, "First", "Other", 1)
		case isText && how == "lacking" && !dropped:
			dropped = true
			continue
		case entry.Name == "signature.json" && how == "extra":
			text := []byte("nobody signed this")
			more := &tar.Header{Name: "blobs/" + bus.Digest(text), Mode: 0o600, Typeflag: tar.TypeReg}
			contents[more] = text
			forged = append(forged, more)
		}
		contents[entry] = []byte(content)
		forged = append(forged, entry)
	}
	if how == "repacked" {
		slices.Reverse(forged)
	}
	return forged
}

func packed(entries []*tar.Header, contents map[*tar.Header][]byte) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	to := tar.NewWriter(zip)
	for _, entry := range entries {
		entry.Size = int64(len(contents[entry]))
		if err := to.WriteHeader(entry); err != nil {
			return nil, err
		}
		if _, err := to.Write(contents[entry]); err != nil {
			return nil, err
		}
	}
	err := errors.Join(to.Close(), zip.Close())
	return out.Bytes(), err
}

// loseTextsCmd removes the long texts' blocks, as a damaged disk would.
func loseTextsCmd(ts *testscript.TestScript, neg bool, args []string) {
	blocks, err := filepath.Glob(
		filepath.Join(
			ts.Getenv("MAESTRO_HOME"), "store", "jetstream", "$G", "streams", "OBJ_MAESTRO_BLOBS", "msgs", "*",
		),
	)
	if err != nil || len(blocks) == 0 || neg || len(args) > 0 {
		ts.Fatalf("no long texts, or not stopped: %v", err)
	}
	for _, block := range blocks {
		ts.Check(os.Remove(block))
	}
}

func longCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: long NAME")
	}
	ts.Setenv(args[0], strings.Repeat("long ", events.MaxText/5+1))
}

// harmCmd damages the log as a disk would.
func harmCmd(ts *testscript.TestScript, neg bool, args []string) {
	path := filepath.Join(ts.Getenv("MAESTRO_HOME"), "store", "jetstream", "$G", "streams", "MAESTRO", "msgs", "1.blk")
	content, err := os.ReadFile(path)
	ts.Check(err)
	if neg || len(args) > 0 {
		ts.Fatalf("usage: harm")
	}
	content[len(content)/2] ^= 4
	ts.Check(os.WriteFile(path, content, 0o600))
}
