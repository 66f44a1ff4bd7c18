package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"

	"maestro/events"
	"maestro/internal/disk"
	"maestro/internal/syntax"
)

// headFile is the head file as read: a missing member is nil.
type headFile struct {
	Sequence *uint64      `json:"sequence"`
	Hash     *events.Hash `json:"hash"`
	// Sum is the checksum of the head. Head files of earlier versions have none.
	Sum *string `json:"sum,omitempty"`
}

// headContent returns the content of a head file, without its line break.
func headContent(head events.Head) ([]byte, error) {
	sum := shortSum(head.String())
	return json.Marshal(headFile{&head.Sequence, &head.Hash, &sum})
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// shortSum is the checksum of what a small file records: it tells damage to the file from damage to the log.
func shortSum(text string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(text), castagnoli))
}

// headDamage says that the file in the place of the head file was read, but is not a head file.
type headDamage struct{ path, why string }

func (e *headDamage) Error() string {
	return fmt.Sprintf("the head file %s is damaged: %s", disk.Shown(e.path), e.why)
}

// LoadHeadFile reads the witness at path. It returns the zero Head if there is none, and an error if it is damaged.
func LoadHeadFile(path string) (events.Head, error) {
	content, err := readFile(path, maxHeadFile)
	if errors.Is(err, fs.ErrNotExist) {
		return events.Head{}, nil
	}
	if err != nil {
		return events.Head{}, fmt.Errorf("read the head file: %w", err)
	}
	var read headFile
	d := json.NewDecoder(bytes.NewReader(content))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return events.Head{}, &headDamage{path, syntax.Plain(err).Error()}
	}
	if read.Sequence == nil || read.Hash == nil || d.More() {
		return events.Head{}, &headDamage{path, "it must hold a sequence, a hash and their sum, and nothing else"}
	}
	head := events.Head{Sequence: *read.Sequence, Hash: *read.Hash}
	if read.Sum != nil && *read.Sum != shortSum(head.String()) {
		return events.Head{}, &headDamage{path, "its sequence and hash do not have the sum that it holds"}
	}
	if head.Sequence > maxSequence {
		return events.Head{}, &headDamage{path, fmt.Sprintf("no log is as long as %d", head.Sequence)}
	}
	return head, nil
}
