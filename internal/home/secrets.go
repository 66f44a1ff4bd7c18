package home

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// UserPrefix begins every token that stands for a user.
const UserPrefix = "msu_"

// secretBytes is how much chance a secret holds.
const secretBytes = 32

// Secrets are what the server knows and nobody else may.
type Secrets struct {
	// AdminToken stands for the user.
	AdminToken string
	// ServerKey is what the sessions' secrets are made with.
	ServerKey []byte
}

// AdminToken reads the user's token. It fails with fs.ErrNotExist when no server was ever started here.
func (h *Home) AdminToken() (string, error) {
	content, err := h.secret(adminTokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if !strings.HasPrefix(token, UserPrefix) || len(token) < len(UserPrefix)+secretBytes {
		return "", fmt.Errorf("the file %s holds no token; delete it, and the server makes a new one at its next start", filepath.Join(h.dir, adminTokenFile))
	}
	return token, nil
}

// Secrets reads the home's secrets, and makes those that are missing.
func (l *Lock) Secrets() (Secrets, error) {
	token, err := l.AdminToken()
	if errors.Is(err, fs.ErrNotExist) {
		token = UserPrefix + base64.RawURLEncoding.EncodeToString(random())
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

func (l *Lock) serverKey() ([]byte, error) {
	content, err := l.secret(serverKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(key) != secretBytes {
		return nil, fmt.Errorf("the file %s holds no key; restore it, or delete it: then every session needs a new secret", filepath.Join(l.dir, serverKeyFile))
	}
	return key, nil
}

func random() []byte {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b) // never fails
	return b
}
