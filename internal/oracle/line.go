package oracle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"maestro/internal/syntax"
)

// hash is a SHA-256 sum; its text form has 64 hexadecimal digits.
type hash [sha256.Size]byte

// UnmarshalText parses the 64 hexadecimal digits.
func (h *hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf(
			"a hash has %d hexadecimal digits, but this one has %d characters", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

func (h hash) String() string { return hex.EncodeToString(h[:]) }

func bodyHash(body []byte) hash { return sha256.Sum256(body) }

// next returns the hash that the next event carries.
func next(prev, body hash) hash {
	return sha256.Sum256(append(append([]byte(nil), prev[:]...), body[:]...))
}

// line is one line of an export.
type line struct {
	Sequence uint64          `json:"sequence"`
	Hash     *hash           `json:"hash"`
	Subject  string          `json:"subject"`
	Event    json.RawMessage `json:"event"`
	Raw      []byte          `json:"raw"`
	PrevHash *hash           `json:"prevhash"`
	BodyHash *hash           `json:"bodyhash"`
}

func (l line) withheld() bool { return l.BodyHash != nil }

func (l line) body() []byte {
	if l.Raw != nil {
		return l.Raw
	}
	return l.Event
}

func readLine(text []byte) (line, error) {
	var l line
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return line{}, fmt.Errorf("it is not a line of an export: %w", syntax.Plain(err))
	}
	if len(bytes.TrimSpace(text[decoder.InputOffset():])) > 0 {
		return line{}, errors.New("it is not a line of an export: something follows the object")
	}
	if err := repeats(text); err != nil {
		return line{}, err
	}
	bodies := 0
	for _, there := range []bool{l.Event != nil, l.Raw != nil, l.BodyHash != nil} {
		if there {
			bodies++
		}
	}
	if bodies != 1 || (l.PrevHash == nil) != (l.BodyHash == nil) || l.Sequence == 0 || l.Hash == nil {
		return line{}, errors.New(
			"it is not a line of an export: it needs a sequence, a hash, and either an event or prevhash and bodyhash",
		)
	}
	return l, nil
}

// endLine is the last line of an export, which says where the log ended.
type endLine struct {
	End *struct {
		Sequence uint64 `json:"sequence"`
		Hash     *hash  `json:"hash"`
	} `json:"end"`
	Texts *int `json:"texts"`
}

const endStart = `{"end":`

// end judges the last line of an export.
func (j *Judge) end(text []byte) error {
	var last endLine
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&last); err != nil {
		return fmt.Errorf("it is not the end of an export: %w", syntax.Plain(err))
	}
	if len(bytes.TrimSpace(text[decoder.InputOffset():])) > 0 {
		return errors.New("it is not the end of an export: something follows the object")
	}
	if err := repeats(text); err != nil {
		return err
	}
	if last.End == nil || last.End.Hash == nil {
		return errors.New("it is not the end of an export: it needs the sequence and the hash of the last event")
	}
	if last.End.Sequence != j.chain.sequence || *last.End.Hash != j.chain.hash {
		j.fault(j.chain.sequence, ruleChain, "the last line says that the log ended at event %d with hash %s, but "+
			"the last event here is %d with hash %s", last.End.Sequence, last.End.Hash, j.chain.sequence, j.chain.hash)
	}
	return nil
}

// repeats refuses a line that has a member twice: one reader takes the first, another the last.
func repeats(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil { // the brace
		return err
	}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		member, _ := name.(string)
		if member = strings.ToLower(member); seen[member] {
			return fmt.Errorf("it is not a line of an export: it has %q twice", member)
		}
		seen[member] = true
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

// chain is the state of the hash chain.
type chain struct {
	sequence uint64
	hash     hash
}

// link adds a line to the chain.
func (j *Judge) link(l line, prev, body hash) {
	if l.Sequence != j.chain.sequence+1 {
		j.judging = false
		j.fault(l.Sequence, ruleChain,
			"the previous line has sequence %d: the events in between are missing", j.chain.sequence)
	} else if prev != j.chain.hash {
		j.fault(l.Sequence, ruleChain, "prevhash is %s, but the previous event has hash %s", prev, j.chain.hash)
	}
	if sum := next(prev, body); sum != *l.Hash {
		j.fault(l.Sequence, ruleChain, "the line gives hash %s, but the computed hash is %s", l.Hash, sum)
	}
	j.chain = chain{sequence: l.Sequence, hash: *l.Hash}
}
