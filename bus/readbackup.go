package bus

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"maestro/events"
	"maestro/internal/syntax"
)

const (
	// maxLogLine is the longest line of log.ndjson: the largest event in base64, plus its framing.
	maxLogLine = 2 << 20
	// maxBlob bounds the memory for one blob of a backup: the largest text, with as much room again.
	maxBlob = 2 * events.MaxLongText
	// maxPadding bounds the zeros with which tools pad an archive.
	maxPadding = 1 << 20
	// maxSeal bounds signature.json: about a hundred bytes for each long text.
	maxSeal = 256 << 20
)

// BackupContents is a backup's own description, and the result of verifying it.
type BackupContents struct {
	Format  int
	Created time.Time
	Head    events.Head
	// Signer identifies who made the backup; "" if it has no signature, or one that does not cover it. Unsealed is why
	// the signature does not hold, if it does not: a *MissingTextsError if it covers more long texts than there are.
	Signer   string
	Unsealed error
	// Signed says that the backup has a signature, valid or not.
	Signed bool
	// Lost are the long texts that were lost where the backup was made, and those in the archive that are damaged.
	Lost []LostBlob
}

// BackupVisitor receives the content of a backup, in order; either function may be nil. An error ends the reading.
type BackupVisitor struct {
	Message func(m events.Message) error
	// Blob receives content that matches its digest.
	Blob func(digest string, content []byte) error
}

// ReadBackup reads a backup to its end. It verifies that every message is there and that the chain leads to the
// backup's head, that each blob matches its digest, and that the signature covers everything. It never uses a name from
// the archive as a path.
func ReadBackup(r io.Reader, visit BackupVisitor) (BackupContents, error) {
	in := bufio.NewReader(r)
	compressed, err := gzip.NewReader(in)
	if err != nil {
		foreign := errors.Is(err, gzip.ErrHeader) || isEnd(err)
		return BackupContents{}, &BackupError{Foreign: foreign, Err: syntax.Plain(err)}
	}
	compressed.Multistream(false)
	reading := &backupReading{archive: tar.NewReader(compressed), visit: visit, blobs: []string{}}
	contents, err := reading.read()
	if err != nil {
		return contents, err
	}
	return contents, ends(compressed, in)
}

// ends reads an archive to its end, where the checksum of the compression is. Nothing may follow it.
func ends(compressed io.Reader, in *bufio.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(compressed, maxPadding+1))
	if err != nil {
		return damaged("", err)
	}
	_, err = in.Peek(1)
	switch {
	case len(rest) > maxPadding, len(bytes.Trim(rest, "\x00")) > 0, err == nil:
		return damaged("", errors.New("something follows its end, such as another backup"))
	case !errors.Is(err, io.EOF):
		return damaged("", err)
	}
	return nil
}

type backupReading struct {
	archive  *tar.Reader
	visit    BackupVisitor
	manifest backupManifest
	blobs    []string
	bad      []LostBlob
	seal     *BackupSeal
}

func (b *backupReading) read() (BackupContents, error) {
	if err := b.readManifest(); err != nil {
		return BackupContents{}, err
	}
	contents := BackupContents{Format: b.manifest.Format, Created: b.manifest.Created, Head: b.manifest.Head}
	entry, err := b.archive.Next()
	if err != nil {
		return contents, damaged(backupLogName, err)
	}
	if entry.Name != backupLogName {
		return contents, damaged(entry.Name, ErrRepacked)
	}
	if err := b.readLog(); err != nil {
		return contents, err
	}
	for {
		entry, err := b.archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return contents, damaged("", err)
		}
		if err := b.readEntry(entry); err != nil {
			return contents, err
		}
	}
	contents.Lost = b.bad
	switch {
	case b.seal != nil:
		contents.Signed = true
		contents.Unsealed = b.seal.check(b.manifest, b.blobs)
		var less *MissingTextsError
		if contents.Unsealed == nil || errors.As(contents.Unsealed, &less) {
			contents.Signer = b.seal.Key
		}
		contents.Lost = append(contents.Lost, b.seal.Lost...)
	case b.manifest.Format > 1:
		contents.Unsealed = errors.New("the signature is missing")
	}
	return contents, nil
}

func (b *backupReading) readManifest() error {
	entry, err := b.archive.Next()
	if err != nil {
		return damaged(backupManifestName, err)
	}
	if first := entry.Name; path.Clean(first) == "." {
		if entry, err = b.archive.Next(); err != nil {
			return damaged(first, err)
		}
	}
	if entry.Name != backupManifestName && isBackupEntry(entry.Name) {
		return damaged(entry.Name, ErrRepacked)
	}
	if entry.Name != backupManifestName {
		err = fmt.Errorf("the first entry is not %s", backupManifestName)
		return &BackupError{Entry: entry.Name, Foreign: true, Err: err}
	}
	if err := json.NewDecoder(io.LimitReader(b.archive, 64<<10)).Decode(&b.manifest); err != nil {
		return damaged(backupManifestName, err)
	}
	switch format := b.manifest.Format; {
	case format < 1:
		return damaged(backupManifestName, fmt.Errorf("there is no format %d", format))
	case format > backupFormat:
		err = fmt.Errorf("%w: it has format %d, and this version reads up to %d", ErrNewerBackup, format, backupFormat)
		return &BackupError{Entry: backupManifestName, Err: err}
	}
	return nil
}

// ErrNewerBackup: this version does not know the backup's format.
var ErrNewerBackup = errors.New("a newer version made the backup")

// ErrRepacked: somebody unpacked a backup and packed it again in another way.
var ErrRepacked = errors.New("its entries are in another order, or have other names, than in a backup")

// isBackupEntry reports whether a backup has a file of this name.
func isBackupEntry(name string) bool {
	name = path.Clean(name)
	return slices.Contains([]string{backupManifestName, backupLogName, backupSealName}, name) ||
		strings.HasPrefix(name+"/", backupBlobPrefix)
}

// prevHash returns the hash of the predecessor that an event states. No text in an event can be mistaken for it: quotes
// are escaped there.
func prevHash(body []byte) (hash events.Hash, found bool) {
	_, rest, found := bytes.Cut(body, []byte(`"prevhash":"`))
	digits, _, ended := bytes.Cut(rest, []byte(`"`))
	hash, err := events.ParseHash(string(digits))
	return hash, found && ended && err == nil
}

// readLog yields the lines, and verifies them against the head.
func (b *backupReading) readLog() error {
	lines := bufio.NewScanner(b.archive)
	lines.Buffer(make([]byte, 64<<10), maxLogLine)
	var at events.Head
	changed := "" // the first place where the chain breaks
	for lines.Scan() {
		m, err := parseLogLine(lines.Bytes())
		if err != nil {
			return damaged(backupLogName, fmt.Errorf("after sequence %d: %w", at.Sequence, err))
		}
		if m.Sequence != at.Sequence+1 {
			return damaged(backupLogName, fmt.Errorf("sequence %d follows %d", m.Sequence, at.Sequence))
		}
		if !strings.HasPrefix(m.Subject, events.SubjectPrefix) {
			return damaged(backupLogName, fmt.Errorf("sequence %d has the subject %q", m.Sequence, m.Subject))
		}
		if said, found := prevHash(m.Body); found && said != at.Hash && changed == "" {
			changed = fmt.Sprintf("event %d was changed: its hash is %s, and event %d follows %s",
				at.Sequence, at.Hash, m.Sequence, said)
		}
		at = events.Head{Sequence: m.Sequence, Hash: events.Next(at.Hash, events.BodyHash(m.Body))}
		if b.visit.Message == nil {
			continue
		}
		if err := b.visit.Message(m); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return damaged(backupLogName, fmt.Errorf("after sequence %d: %w", at.Sequence, syntax.Plain(err)))
	}
	switch head := b.manifest.Head; {
	case at.Sequence != head.Sequence:
		return damaged(backupLogName, fmt.Errorf("it ends at event %d, and the backup's head is %s", at.Sequence, head))
	case at != head && changed != "":
		return damaged(backupLogName, errors.New(changed))
	case at != head:
		return damaged(backupLogName, fmt.Errorf(
			"the last event, %d, was changed, or the head in %s was: the event's hash is %s, and the head has %s",
			at.Sequence, backupManifestName, at.Hash, head.Hash,
		))
	}
	return nil
}

func (b *backupReading) readEntry(entry *tar.Header) error {
	digest, isBlob := strings.CutPrefix(entry.Name, backupBlobPrefix)
	switch {
	case (b.seal != nil || entry.Typeflag != tar.TypeReg) && isBackupEntry(entry.Name):
		return damaged(entry.Name, ErrRepacked)
	case b.seal != nil, entry.Typeflag != tar.TypeReg:
		return damaged(entry.Name, errors.New("a backup has no such entry"))
	case entry.Name == backupSealName && b.manifest.Format > 1:
		b.seal = new(BackupSeal)
		if err := json.NewDecoder(io.LimitReader(b.archive, maxSeal)).Decode(b.seal); err != nil {
			return damaged(entry.Name, err)
		}
		return nil
	case !isBlob || !events.IsDigest(digest) || slices.Contains(b.blobs[max(0, len(b.blobs)-1):], digest):
		return damaged(entry.Name, errors.New("a backup has no such entry"))
	case entry.Size > maxBlob:
		return damaged(entry.Name, fmt.Errorf("its header says that it has %d bytes, more than any long text",
			entry.Size))
	}
	content, err := io.ReadAll(b.archive)
	if err != nil {
		return damaged(entry.Name, err)
	}
	if got := Digest(content); got != digest {
		b.bad = append(b.bad, LostBlob{Digest: digest, Why: "its content in the backup has the digest " + got})
		return nil
	}
	b.blobs = append(b.blobs, digest)
	if b.visit.Blob == nil {
		return nil
	}
	return b.visit.Blob(digest, content)
}

// BackupError says why a file is not an intact backup. Match it with errors.As.
type BackupError struct {
	// Entry is the entry in the archive; "" for the archive itself.
	Entry string
	// Foreign says that the file is not a backup of Maestro.
	Foreign bool
	Err     error
}

func (e *BackupError) Error() string {
	where := ""
	if e.Entry != "" {
		where = fmt.Sprintf(" in %q", e.Entry)
	}
	switch {
	case e.Foreign:
		return fmt.Sprintf("this is not a backup of Maestro%s: %s", where, e.Err)
	case errors.Is(e.Err, ErrNewerBackup):
		return e.Err.Error() + "; use the version that made it"
	}
	return fmt.Sprintf("the backup is damaged or cut%s: %s; use another", where, e.Err)
}

func (e *BackupError) Unwrap() error { return e.Err }

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// damaged returns a BackupError for an entry.
func damaged(entry string, err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &BackupError{Entry: entry, Err: syntax.Plain(err)}
}
