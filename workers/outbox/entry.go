package outbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"maestro/commands"
	"maestro/internal/syntax"
)

// Entry is one waiting command.
type Entry struct {
	// Command is its id in the permission table, Body the JSON object of its fields.
	Command string          `json:"command"`
	Body    json.RawMessage `json:"body"`
	// Key is the idempotency key of every attempt, including the first.
	Key string `json:"key"`
	// OccurredAt is when it was said.
	OccurredAt time.Time `json:"occurredAt"`
	// TraceParent is the W3C trace context of whoever said it; may be empty. The proof does not cover it: it decides
	// nothing, and an older server, which does not know it, delivers the entry too.
	TraceParent string `json:"traceparent,omitempty"`
	// Generation is that of the secret with which it was kept; 0 if the secret does not say. It says with which former
	// secret to check the proof, which does not cover it: a forged entry can say what it likes.
	Generation int `json:"generation,omitempty"`
	// Proof shows that the session said it. Keep computes it: see [Entry.prove].
	Proof string `json:"proof,omitempty"`
}

// prove computes the proof of an entry: HMAC-SHA-256 of its content, keyed with the session's secret, in hexadecimal.
// The secret itself is in no file.
func (e Entry) prove(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	for _, part := range []string{e.Command, string(e.Body), e.Key, e.OccurredAt.UTC().Format(time.RFC3339Nano)} {
		_, _ = fmt.Fprintf(mac, "%d:%s", len(part), part) // a hash never fails to write
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// proven reports whether the entry has the proof of this secret. Without a secret nothing is proven.
func (e Entry) proven(secret string) bool {
	return secret != "" && hmac.Equal([]byte(e.Proof), []byte(e.prove(secret)))
}

// generationOf returns the generation of a session's secret, its second part of three; 0 if it has none.
func generationOf(secret string) int {
	_, rest, _ := strings.Cut(secret, ".")
	text, _, _ := strings.Cut(rest, ".")
	generation, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return generation
}

// saysFormer reports whether the entry was kept, as it says, with a secret that this one has replaced.
func (e Entry) saysFormer(secret string) bool {
	return e.Generation > 0 && e.Generation < generationOf(secret) && commands.MayWait(e.Command)
}

// ProvenBy reports whether the entry was kept with this secret. With a revoked secret, that is no reason to trust the
// entry's content.
func (e Entry) ProvenBy(secret string) bool { return e.proven(secret) }

// damageError means that the bytes of an entry were changed.
type damageError struct{ why string }

func (e damageError) Error() string { return e.why }

func (o *Outbox) read(at position) (Entry, error) {
	content, err := o.disk.Read(at.file(), maxFile)
	var none *NoEntryError
	switch {
	case errors.As(err, &none):
		return Entry{}, damageError{none.Why}
	case err != nil:
		return Entry{}, err
	case len(content) == 0:
		return Entry{}, damageError{fmt.Sprintf("it has 0 bytes, and an entry has 1 to %d", maxFile)}
	}
	if digestOf(content) != at.digest {
		return Entry{}, damageError{"its content is not what was kept: the checksum differs"}
	}
	var e Entry
	if err := json.Unmarshal(content, &e); err != nil {
		return Entry{}, damageError{syntax.Plain(err).Error()}
	}
	if err := e.check(); err != nil {
		return Entry{}, damageError{err.Error()}
	}
	return e, nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func encode(e Entry) ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	content, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("an entry of the outbox: %w", err)
	}
	return append(content, '\n'), nil
}

// whyFormer is why an entry of a former secret is not delivered.
const whyFormer = "it was kept with an earlier secret of the session, which a resume or a revocation has replaced since"

// refused returns why an entry must not be delivered with this secret; "" if it may be.
func (e Entry) refused(secret string) string {
	switch {
	case !commands.MayWait(e.Command):
		return "this command does not wait; only reports, tracked files and the end of a session do"
	case !e.proven(secret):
		return "nothing proves that the session wrote it: another process did, or the session's secret has been " +
			"revoked since"
	}
	return ""
}

func (e Entry) check() error {
	switch {
	case e.Command == "" || e.Key == "" || e.OccurredAt.IsZero():
		return errors.New("an entry of the outbox has a command, a key and a time")
	case len(e.Body) > MaxBody:
		return fmt.Errorf("the body of an entry of the outbox has at most %d bytes, this has %d", MaxBody, len(e.Body))
	}
	return nil
}
