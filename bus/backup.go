package bus

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"maestro/events"
)

// backupFormat is the version of the archive's layout.
const backupFormat = 1

// The entries of a backup, in this order; the blobs follow the log.
const (
	backupManifestName = "backup.json"
	backupLogName      = "log.ndjson"
	backupBlobPrefix   = "blobs/"
)

// backupManifest is backup.json.
type backupManifest struct {
	Format  int         `json:"format"`
	Created time.Time   `json:"created"`
	Head    events.Head `json:"head"`
}

// Backup writes the log up to head, and all blobs, as a tar archive in gzip. It verifies the chain before it writes anything:
// a log that does not lead to head gives a *events.DamageError. It reads the log twice and needs no room on a disk; the log may
// grow meanwhile.
func (b *Bus) Backup(ctx context.Context, w io.Writer, head events.Head, created time.Time) error {
	digests, err := b.Blobs(ctx)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	size := &counter{}
	if err := b.writeLog(ctx, size, head); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	manifest, err := json.Marshal(backupManifest{Format: backupFormat, Created: created.UTC(), Head: head})
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	entry := func(name string, size int64) error {
		return archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: created, Typeflag: tar.TypeReg})
	}
	write := func(name string, content []byte) error {
		if err := entry(name, int64(len(content))); err != nil {
			return err
		}
		_, err := archive.Write(content)
		return err
	}
	if err := write(backupManifestName, manifest); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := entry(backupLogName, size.n); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := b.writeLog(ctx, archive, head); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	for _, digest := range digests {
		content, err := b.Blob(ctx, digest)
		if err == nil {
			err = write(backupBlobPrefix+digest, content)
		}
		if err != nil {
			return fmt.Errorf("back up: %w", err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

// writeLog writes the log up to head, a line for each message, and verifies that the chain leads to head.
func (b *Bus) writeLog(ctx context.Context, w io.Writer, head events.Head) error {
	out := bufio.NewWriterSize(w, 256<<10)
	var hash events.Hash
	var line []byte
	err := b.Read(ctx, 1, head.Sequence, func(m events.Message) error {
		hash = events.Next(hash, events.BodyHash(m.Body))
		var err error
		if line, err = appendLogLine(line[:0], m); err != nil {
			return err
		}
		_, err = out.Write(line)
		return err
	})
	if err != nil {
		return err
	}
	if hash != head.Hash {
		return &events.DamageError{Sequence: head.Sequence, Why: fmt.Sprintf("the chain's hash is %s, expected %s", hash, head.Hash)}
	}
	return out.Flush()
}

// logLine is a message in log.ndjson. Body holds the bytes of the event exactly. What is not an event (a stranger's message)
// has its bytes in Base64.
type logLine struct {
	Sequence uint64          `json:"sequence"`
	Subject  string          `json:"subject"`
	Body     json.RawMessage `json:"body,omitempty"`
	Base64   []byte          `json:"base64,omitempty"`
}

func appendLogLine(line []byte, m events.Message) ([]byte, error) {
	subject, err := json.Marshal(m.Subject)
	if err != nil {
		return nil, err
	}
	line = append(line, `{"sequence":`...)
	line = strconv.AppendUint(line, m.Sequence, 10)
	line = append(line, `,"subject":`...)
	line = append(line, subject...)
	if fitsLine(m.Body) {
		line = append(line, `,"body":`...)
		line = append(line, m.Body...)
	} else {
		body, err := json.Marshal(m.Body)
		if err != nil {
			return nil, err
		}
		line = append(line, `,"base64":`...)
		line = append(line, body...)
	}
	return append(line, "}\n"...), nil
}

// fitsLine reports whether a JSON decoder gives the body back byte for byte.
func fitsLine(body []byte) bool {
	return len(body) >= 2 && body[0] == '{' && body[len(body)-1] == '}' && bytes.IndexByte(body, '\n') < 0 && json.Valid(body)
}

func parseLogLine(line []byte) (events.Message, error) {
	var l logLine
	if err := json.Unmarshal(line, &l); err != nil {
		return events.Message{}, err
	}
	body := []byte(l.Body)
	if body == nil {
		body = l.Base64
	}
	return events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: body}, nil
}

// counter only counts what is written.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
