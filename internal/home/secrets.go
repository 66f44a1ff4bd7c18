package home

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/safetext"
	"maestro/service/wire"
)

// secretBytes is the number of random bytes of a secret, fingerprintBytes that of a key's fingerprint.
const (
	secretBytes      = 32
	fingerprintBytes = 8
)

// Secrets are known to the server alone.
type Secrets struct {
	// AdminToken authenticates the user.
	AdminToken string
	// ServerKey is the key from which the sessions' secrets are derived.
	ServerKey []byte
}

// AdminToken reads the user's token. It fails with fs.ErrNotExist when no server was ever started here.
func (h *Home) AdminToken() (string, error) {
	content, err := h.secret(adminTokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if !strings.HasPrefix(token, wire.UserTokenPrefix) || len(token) < len(wire.UserTokenPrefix)+secretBytes ||
		!wire.MaySendToken(token) {
		return "", &Problem{
			What: fmt.Sprintf("The file %s does not contain a token", filepath.Join(h.dir, adminTokenFile)),
			Next: "delete it: the server creates a new one at its next start",
		}
	}
	return token, nil
}

// Secrets reads the home's secrets, and creates those of a new home. Anybody may delete the admin's token to get a new
// one. It fails with *KeyError when the key from which sessions' secrets were derived is missing or was replaced.
func (l *Lock) Secrets() (Secrets, error) {
	wrote, err := l.Version()
	if err != nil {
		return Secrets{}, err
	}
	key, err := l.serverKey()
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.hadKey(wrote):
		return Secrets{}, l.keyError(false)
	case err == nil && l.isForeign(key, wrote):
		return Secrets{}, l.keyError(true)
	}
	return l.NewSecrets()
}

// hadKey reports whether a server with a key has run on the home's log: a newly restored home has a log but no token.
func (l *Lock) hadKey(wrote Version) bool {
	if wrote.Key != "" {
		return true
	}
	if entries, err := disk.ReadDir(l.Store()); err != nil || len(entries) == 0 {
		return false
	}
	_, err := l.root.Lstat(adminTokenFile)
	return err == nil || l.keyMark() != ""
}

// KeyError says that a home lacks the key from which its sessions' secrets were derived. Match it with errors.As.
type KeyError struct {
	// File is the path where it should be.
	File string
	// Another says that another key is there.
	Another bool
	// Fits names a file beside it that holds the key, "" if there is none.
	Fits string
}

// keyError returns the error that the key is missing or was replaced, and where the right one is.
func (h *Home) keyError(another bool) *KeyError {
	missing := &KeyError{File: filepath.Join(h.dir, serverKeyFile), Another: another}
	wrote, err := h.Version()
	if err != nil || wrote.Key == "" && h.keyMark() == "" {
		return missing
	}
	entries, err := h.root.ReadDir(".")
	if err != nil {
		return missing
	}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, serverKeyFile+changedSuffix) && name != temporaryOf(serverKeyFile) {
			continue
		}
		content, err := h.read(name, maxNote)
		if err != nil {
			continue
		}
		key, err := hex.DecodeString(strings.TrimSpace(string(content)))
		if err == nil && len(key) == secretBytes && !h.isForeign(key, wrote) {
			missing.Fits = filepath.Join(h.dir, name)
			return missing
		}
	}
	return missing
}

// Next says what to do.
func (e *KeyError) Next() string {
	if e.Fits != "" {
		return fmt.Sprintf("%s holds the key: copy it back with %s, and start again", e.Fits,
			safetext.Line("cp", "-p", e.Fits, e.File))
	}
	return fmt.Sprintf("put the key back into %s; or start once with --new-key: then spawn its sessions and make its "+
		"named tokens again", e.File)
}

func (e *KeyError) Error() string {
	if e.Another {
		return "The server's key in " + e.File +
			" is not the one that the secrets of sessions and tokens were made with"
	}
	return "The server's key " + e.File + " is missing"
}

// Fingerprint identifies a key without revealing it.
func Fingerprint(key []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte("maestro key fingerprint")) // a hash never fails to write
	return hex.EncodeToString(mac.Sum(nil)[:fingerprintBytes])
}

// NewSecrets reads the home's secrets, and creates missing ones, whatever they were before.
func (l *Lock) NewSecrets() (Secrets, error) {
	token, err := l.AdminToken()
	if errors.Is(err, fs.ErrNotExist) {
		token = wire.UserTokenPrefix + base64.RawURLEncoding.EncodeToString(random())
		err = l.write(adminTokenFile, []byte(token+"\n"))
	}
	if err != nil {
		return Secrets{}, err
	}
	key, err := l.serverKey()
	if errors.Is(err, fs.ErrNotExist) {
		key = random()
		err = l.write(serverKeyFile, []byte(hex.EncodeToString(key)+"\n"))
	}
	if err != nil {
		return Secrets{}, err
	}
	return Secrets{AdminToken: token, ServerKey: key}, nil
}

func (h *Home) serverKey() ([]byte, error) {
	content, err := h.secret(serverKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(key) != secretBytes {
		return nil, &Problem{
			What: fmt.Sprintf("The file %s does not contain a key", filepath.Join(h.dir, serverKeyFile)),
			Next: "restore it, or delete it and start once with --new-key: then every session needs a new secret",
		}
	}
	return key, nil
}

func random() []byte {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return b
}
