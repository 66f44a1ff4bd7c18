package home

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"maestro/internal/files"
)

// listenedFile records where the home's server listened last, so that it uses the same port again.
const listenedFile = "listened"

// Server says where a home's server listens.
type Server struct {
	// Address is its URL, "http://127.0.0.1:3000".
	Address string `json:"address"`
	PID     int    `json:"pid"`
	// Certificate is the SHA-256 of the server's TLS certificate, in hexadecimal; "" without TLS.
	Certificate string `json:"certificate,omitempty"`
}

// Server reads where the home's server listens, or listened before it was killed: see [Home.Running]. It fails with
// fs.ErrNotExist when that is not recorded.
func (h *Home) Server() (Server, error) {
	content, err := h.read(serverFile, maxNote)
	if err != nil {
		return Server{}, err
	}
	var server Server
	if err := json.Unmarshal(content, &server); err != nil || server.Address == "" {
		return Server{}, &Problem{
			What: fmt.Sprintf("The file %s does not name a server", filepath.Join(h.dir, serverFile)),
			Next: "delete it, or set MAESTRO_API_URL",
		}
	}
	return server, nil
}

// Announce records where the server listens, until Withdraw. A running server keeps what was announced last; also what
// could not be written: see [Kept.Look].
func (l *Lock) Announce(server Server) error {
	content, err := json.Marshal(server)
	if err != nil {
		return fmt.Errorf("announce the server: %w", err)
	}
	content = append(content, '\n')
	if err := l.server.save(content); err != nil {
		l.server.expect(content)
		return err
	}
	return nil
}

// Withdraw removes the announcement.
func (l *Lock) Withdraw() error { return l.server.save(nil) }

// Listening returns where the home's server listens now. running says that a server holds the home: while it starts or
// stops, err is fs.ErrNotExist.
func (h *Home) Listening() (server Server, running bool, err error) {
	running = h.Running()
	if server, err = h.Server(); err != nil || !running {
		return server, running, err
	}
	if h.holderPID() != server.PID { // a killed server left it behind, and the next one has just started
		return Server{}, true, fs.ErrNotExist
	}
	return server, true, nil
}

// Address returns where the home's server listens now, "" if none does.
func (h *Home) Address() string {
	server, running, err := h.Listening()
	if err != nil || !running {
		return ""
	}
	return strings.TrimRight(server.Address, "/")
}

// CertificateAt returns the fingerprint of the certificate of the home's server, "" if another one has the address, or
// if the server does not speak TLS.
func (h *Home) CertificateAt(address string) string {
	server, running, err := h.Listening()
	if err != nil || !running || strings.TrimRight(server.Address, "/") != address {
		return ""
	}
	return server.Certificate
}

// holderPID returns the id of the process that took the lock last, 0 if unknown.
func (h *Home) holderPID() int {
	f, err := files.Open(h.root, lockFile, os.O_RDONLY)
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	return pidIn(f)
}

// pidIn returns the process id in a lock file, 0 if it has none.
func pidIn(f *os.File) int {
	content := make([]byte, 32)
	n, _ := f.ReadAt(content, 0) // an unreadable file counts as empty
	pid, _ := strconv.Atoi(strings.TrimSpace(string(content[:n])))
	return pid
}

// Listened returns the address at which the home's server listened last, "127.0.0.1:3000"; "" if unknown.
func (h *Home) Listened() string {
	content, err := h.read(listenedFile, maxNote)
	if err != nil {
		return "" // then the server uses any port
	}
	return strings.TrimSpace(string(content))
}

// NoteListened records the address that Listened returns.
func (l *Lock) NoteListened(address string) error {
	if l.Listened() == address {
		return nil
	}
	return l.write(listenedFile, []byte(address+"\n"))
}
