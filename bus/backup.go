package bus

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"maestro/events"
	"maestro/internal/syntax"
)

// backupFormat is the version of the archive's layout. Format 1 has no signature.
const backupFormat = 2

// The entries of a backup, in this order. The blobs follow the log, and the signature is last.
const (
	backupManifestName = "backup.json"
	backupLogName      = "log.ndjson"
	backupBlobPrefix   = "blobs/"
)

// backupManifest is the content of backup.json.
type backupManifest struct {
	Format  int         `json:"format"`
	Created time.Time   `json:"created"`
	Head    events.Head `json:"head"`
}

// BackupOptions configures a backup.
type BackupOptions struct {
	// Head is the log's head at which the backup ends.
	Head events.Head
	// Created is the time of the backup.
	Created time.Time
	// Key signs the backup.
	Key ed25519.PrivateKey
}

// Backup writes the log up to a head, and all blobs, as a gzipped tar archive. It verifies the chain before it writes
// anything: a log that does not lead to the head gives a *events.DamageError. Backup omits a blob that the log names
// but that is missing or damaged, and lists it in the seal. It reads the log twice, needs no disk space, and the log
// may grow meanwhile.
func (b *Bus) Backup(ctx context.Context, w io.Writer, o BackupOptions) (BackupSeal, error) {
	seal, err := b.backup(ctx, w, o)
	if err != nil {
		return seal, fmt.Errorf("back up: %w", err)
	}
	return seal, nil
}

func (b *Bus) backup(ctx context.Context, w io.Writer, o BackupOptions) (BackupSeal, error) {
	seal := BackupSeal{
		Format:  backupFormat,
		Created: o.Created.UTC(),
		Head:    o.Head,
		Blobs:   []string{},
	}
	size, named := &counter{}, map[string]uint64{}
	if err := b.writeLog(ctx, size, o.Head, named); err != nil {
		return seal, err
	}
	archive := newArchive(w, o.Created)
	manifest, err := json.Marshal(backupManifest{Format: seal.Format, Created: seal.Created, Head: seal.Head})
	if err != nil {
		return seal, err
	}
	if err := archive.file(backupManifestName, manifest); err != nil {
		return seal, err
	}
	if err := archive.begin(backupLogName, size.n); err != nil {
		return seal, err
	}
	if err := b.writeLog(ctx, archive.tar, o.Head, nil); err != nil {
		return seal, err
	}
	for _, digest := range b.digestsToKeep(ctx, named) {
		if named[digest] == removedText {
			continue
		}
		content, err := b.Blob(ctx, digest)
		switch {
		case err == nil:
			seal.Blobs = append(seal.Blobs, digest)
			if err := archive.file(backupBlobPrefix+digest, content); err != nil {
				return seal, err
			}
		case !errors.Is(err, events.ErrNoBlob) && !errors.Is(err, events.ErrBadBlob):
			return seal, err
		case named[digest] > 0:
			seal.Lost = append(seal.Lost, LostBlob{named[digest], digest, err.Error()})
		}
	}
	if err := seal.sign(o.Key); err != nil {
		return seal, err
	}
	content, err := json.Marshal(seal)
	if err != nil {
		return seal, err
	}
	return seal, errors.Join(archive.file(backupSealName, content), archive.close())
}

// digestsToKeep returns, in order, the digests that the log names and those that are stored without an event, such as a
// manifest that no session has yet.
func (b *Bus) digestsToKeep(ctx context.Context, named map[string]uint64) []string {
	digests := slices.Collect(maps.Keys(named))
	kept, err := b.Blobs(ctx)
	if err != nil {
		b.options.Logger.Warn("the blobs cannot be listed; the backup holds those that the log names", "why", err)
	}
	for _, digest := range kept {
		if named[digest] == 0 {
			digests = append(digests, digest)
		}
	}
	slices.Sort(digests)
	return digests
}

// archive writes the entries of a backup.
type archive struct {
	gzip    *gzip.Writer
	tar     *tar.Writer
	created time.Time
}

func newArchive(w io.Writer, created time.Time) *archive {
	compressed := gzip.NewWriter(w)
	return &archive{compressed, tar.NewWriter(compressed), created}
}

// begin starts an entry. The caller writes its bytes to tar.
func (a *archive) begin(name string, size int64) error {
	return a.tar.WriteHeader(
		&tar.Header{
			Name:     name,
			Mode:     0o600,
			Size:     size,
			ModTime:  a.created,
			Typeflag: tar.TypeReg,
		},
	)
}

func (a *archive) file(name string, content []byte) error {
	if err := a.begin(name, int64(len(content))); err != nil {
		return err
	}
	_, err := a.tar.Write(content)
	return err
}

func (a *archive) close() error { return errors.Join(a.tar.Close(), a.gzip.Close()) }

// nameBlobs notes which blobs a body names, and the first event that names each. A body that is not an event names
// none.
func nameBlobs(named map[string]uint64, m events.Message, decoder *events.Decoder) {
	if named == nil || !events.MayNameDigest(m.Body) {
		return
	}
	event, err := decoder.Decode(m.Body)
	if err != nil {
		return
	}
	if text := redacted(event.Data); text != "" {
		named[text] = removedText
	}
	for _, d := range events.Digests(event.Data) {
		if named[d.Digest] == 0 {
			named[d.Digest] = m.Sequence
		}
	}
}

// removedText stands, for a text that was redacted, in the place of the event that names it.
const removedText = math.MaxUint64

// writeLog writes the log up to head, one line per message, and verifies that the chain leads to head. If named is not
// nil, it notes there the first event that names each blob.
func (b *Bus) writeLog(ctx context.Context, w io.Writer, head events.Head, named map[string]uint64) error {
	out := bufio.NewWriterSize(w, 256<<10)
	var hash events.Hash
	var line []byte
	var decoder events.Decoder
	err := b.Read(ctx, 1, head.Sequence, func(m events.Message) error {
		nameBlobs(named, m, &decoder)
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
		return &events.DamageError{Sequence: head.Sequence, Why: fmt.Sprintf("the chain's hash is %s, expected %s",
			hash, head.Hash)}
	}
	return out.Flush()
}

// logLine is a message in log.ndjson. Body holds the exact bytes of an event. A message that is not an event (another
// program wrote it) is stored in Base64.
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

// fitsLine reports whether a JSON decoder returns the body byte for byte.
func fitsLine(body []byte) bool {
	return len(body) >= 2 && body[0] == '{' && body[len(body)-1] == '}' && bytes.IndexByte(body, '\n') < 0 &&
		json.Valid(body)
}

func parseLogLine(line []byte) (events.Message, error) {
	var l logLine
	if err := json.Unmarshal(line, &l); err != nil {
		return events.Message{}, syntax.Plain(err)
	}
	body := []byte(l.Body)
	if body == nil {
		body = l.Base64
	}
	return events.Message{Sequence: l.Sequence, Subject: l.Subject, Body: body}, nil
}

// counter counts the bytes written to it and discards them.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
