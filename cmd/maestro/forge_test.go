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
//	forge complete IN OUT   the last event is a worker completing its task; the chain is right, the signature somebody else's
//	forge texts IN OUT      without the long texts; signed by somebody else
//	forge unsigned IN OUT   as an older version made it, without a signature
//	forge stripped IN OUT   without the signature that it should have
//	forge head IN OUT       with another hash in the head that it says
func forgeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: forge complete|texts|unsigned|stripped|head IN OUT")
	}
	archive := []byte(ts.ReadFile(args[1]))
	var forged []byte
	var err error
	switch args[0] {
	case "complete", "texts":
		forged, err = rewritten(archive, args[0] == "complete", filepath.Join(ts.MkAbs("."), "forging"))
	case "unsigned", "stripped", "head":
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
			ID: uuid.New(), Source: "/projects/" + last.Project + "/sessions/" + spawned.SessionID, Time: last.Time.Add(time.Second),
			Project: last.Project, PrevHash: s.Head().Hash, Rules: last.Rules, Authn: "token",
			Data: &events.TaskStatusChanged{TaskID: task, From: events.TaskInProgress, To: events.TaskCompleted},
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
	// A process that another script starts just now has the store's lock too, until its exec.
	syscall.ForkLock.RLock()
	syscall.ForkLock.RUnlock() //nolint:staticcheck // there is nothing to do meanwhile
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

// edited copies a backup with other entries, as forgeCmd says.
func edited(archive []byte, how string) ([]byte, error) {
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	from, to := tar.NewReader(compressed), tar.NewWriter(zip)
	for {
		entry, err := from.Next()
		if errors.Is(err, io.EOF) {
			err := errors.Join(to.Close(), zip.Close())
			return out.Bytes(), err
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(from)
		if err != nil {
			return nil, err
		}
		if entry.Name == "signature.json" && how != "head" {
			continue
		}
		if entry.Name == "backup.json" && how == "unsigned" {
			content = []byte(strings.Replace(string(content), `"format":2`, `"format":1`, 1))
		}
		if entry.Name == "backup.json" && how == "head" {
			content = regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAll(content, []byte(strings.Repeat("0", 64)))
		}
		entry.Size = int64(len(content))
		if err := to.WriteHeader(entry); err != nil {
			return nil, err
		}
		if _, err := to.Write(content); err != nil {
			return nil, err
		}
	}
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
