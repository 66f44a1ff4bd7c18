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

// BackupSeal says what a backup holds, signed by the home that made it.
type BackupSeal struct {
	Format  int         `json:"format"`
	Created time.Time   `json:"created"`
	Head    events.Head `json:"head"`
	// Blobs are the digests of the long texts in the archive, in order.
	Blobs []string `json:"blobs"`
	// Lost are the long texts that the log names and that could not be read.
	Lost []LostBlob `json:"lost,omitempty"`
	// Key is who signed, as SignerName gives it.
	Key       string `json:"key"`
	Signature []byte `json:"signature,omitempty"`
}

// LostBlob is a long text that is missing or damaged where a backup was made.
type LostBlob struct {
	// Sequence is the first event that names it.
	Sequence uint64 `json:"sequence"`
	Digest   string `json:"digest"`
	Why      string `json:"why"`
}

const signerPrefix = "ed25519:"

// SignerName gives a public key as text: "ed25519:<64 hex>".
func SignerName(key ed25519.PublicKey) string { return signerPrefix + hex.EncodeToString(key) }

// ParseSigner reads what SignerName gives.
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

// signed gives the bytes that the signature covers.
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

// check says why the seal does not fit what the archive holds.
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
		return errors.New("the signature is wrong: what it signs was changed")
	case s.Head != manifest.Head || s.Format != manifest.Format || !s.Created.Equal(manifest.Created):
		return fmt.Errorf("it signs head %s of %s, and the backup says %s of %s",
			s.Head, s.Created.Format(time.RFC3339), manifest.Head, manifest.Created.Format(time.RFC3339))
	case !slices.Equal(s.Blobs, blobs):
		return fmt.Errorf("it signs %d long texts, and the backup holds %d, or others", len(s.Blobs), len(blobs))
	}
	return nil
}
