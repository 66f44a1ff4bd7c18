package bus

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"maestro/events"
)

// backupSealName is the last entry of a backup.
const backupSealName = "signature.json"

// BackupSeal lists the content of a backup, signed by the home that made it.
type BackupSeal struct {
	Format  int         `json:"format"`
	Created time.Time   `json:"created"`
	Head    events.Head `json:"head"`
	// Blobs are the digests of the long texts in the archive, in order.
	Blobs []string `json:"blobs"`
	// Lost are the long texts that the log names but that could not be read.
	Lost []LostBlob `json:"lost,omitempty"`
	// Key identifies the signer, as SignerName returns it.
	Key       string `json:"key"`
	Signature []byte `json:"signature,omitempty"`
}

// LostBlob is a long text that was missing or damaged where a backup was made.
type LostBlob struct {
	// Sequence is the first event that names it.
	Sequence uint64 `json:"sequence"`
	Digest   string `json:"digest"`
	Why      string `json:"why"`
}

const signerPrefix = "ed25519:"

// SignerName returns a public key as text: "ed25519:<64 hex>".
func SignerName(key ed25519.PublicKey) string { return signerPrefix + hex.EncodeToString(key) }

// ParseSigner parses the text that SignerName returns.
func ParseSigner(name string) (ed25519.PublicKey, error) {
	digits, ok := strings.CutPrefix(name, signerPrefix)
	key, err := hex.DecodeString(digits)
	if !ok || err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf(
			"%q is not a signer; it is %s and %d hexadecimal digits", name, signerPrefix, 2*ed25519.PublicKeySize,
		)
	}
	return key, nil
}

// signed returns the bytes that the signature covers.
func (s BackupSeal) signed() ([]byte, error) {
	s.Signature = nil
	content, err := json.Marshal(s)
	return append([]byte("maestro backup\n"), content...), err
}

func (s *BackupSeal) sign(key ed25519.PrivateKey) error {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return errors.New("the key of the home cannot sign")
	}
	s.Key = SignerName(public)
	content, err := s.signed()
	if err != nil {
		return err
	}
	s.Signature = ed25519.Sign(key, content)
	return nil
}

// MissingTextsError says that a backup lacks long texts that its signature covers, and that the signature matches
// everything it holds. Adding the texts, which their digests verify, completes what was signed.
type MissingTextsError struct {
	// Digests are the missing texts. Signed is the number of texts that the signature covers.
	Digests []string
	Signed  int
}

func (e *MissingTextsError) Error() string {
	return fmt.Sprintf("the signature covers %d long texts; the backup holds %d of them", e.Signed,
		e.Signed-len(e.Digests))
}

// check returns why the seal does not match the archive's content: a *MissingTextsError if only texts are missing.
func (s BackupSeal) check(manifest backupManifest, blobs []string) error {
	key, err := ParseSigner(s.Key)
	if err != nil {
		return err
	}
	content, err := s.signed()
	if err != nil {
		return err
	}
	slices.Sort(blobs)
	switch {
	case !ed25519.Verify(key, content, s.Signature):
		return errors.New("the signature does not cover this file: what it signs was changed")
	case s.Head != manifest.Head || s.Format != manifest.Format || !s.Created.Equal(manifest.Created):
		return fmt.Errorf(
			"the signature does not cover this file: it signs head %s of %s, and the backup says %s of %s",
			s.Head, s.Created.Format(time.RFC3339), manifest.Head, manifest.Created.Format(time.RFC3339))
	}
	return s.checkTexts(blobs)
}

// checkTexts compares the texts that the archive holds, in order, with the signed ones.
func (s BackupSeal) checkTexts(blobs []string) error {
	if len(slices.Compact(slices.Clone(blobs))) != len(blobs) {
		return errors.New("the backup holds a long text twice")
	}
	missing := &MissingTextsError{Signed: len(s.Blobs)}
	left := make(map[string]bool, len(blobs))
	for _, digest := range blobs {
		left[digest] = true
	}
	for _, digest := range s.Blobs {
		if !events.IsDigest(digest) {
			return fmt.Errorf("the signature covers %q, which is no digest of a long text", digest)
		}
		if !left[digest] {
			missing.Digests = append(missing.Digests, digest)
		}
		delete(left, digest)
	}
	if len(left) > 0 {
		return fmt.Errorf("the backup holds long texts that the signature does not cover: %d", len(left))
	}
	if len(missing.Digests) > 0 {
		return missing
	}
	return nil
}
