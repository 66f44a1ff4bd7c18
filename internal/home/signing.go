package home

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
)

// BackupKey signs the home's backups. It is derived from the server's key, so keeping that keeps this one too. Its
// public part may be published.
func (s Secrets) BackupKey() ed25519.PrivateKey {
	sum := hmac.New(sha256.New, s.ServerKey)
	sum.Write([]byte("maestro backup signature v1"))
	return ed25519.NewKeyFromSeed(sum.Sum(nil))
}

// BackupSigner returns the public part of the key that signs the home's backups.
func (s Secrets) BackupSigner() ed25519.PublicKey {
	public, _ := s.BackupKey().Public().(ed25519.PublicKey) // it always has this type
	return public
}

// BackupSigner returns the public part of the key that signs this home's backups; it fails with fs.ErrNotExist when the
// home has no key yet.
func (h *Home) BackupSigner() (ed25519.PublicKey, error) {
	key, err := h.serverKey()
	if err != nil {
		return nil, err
	}
	return Secrets{ServerKey: key}.BackupSigner(), nil
}
