package home

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// Server says where a home's server listens.
type Server struct {
	// Address is its URL, "http://127.0.0.1:3000".
	Address string `json:"address"`
	PID     int    `json:"pid"`
}

// Server reads where the home's server listens, or did if it was killed: see [Home.Running]. It fails with
// fs.ErrNotExist when it does not say.
func (h *Home) Server() (Server, error) {
	content, err := h.read(serverFile, maxNote)
	if err != nil {
		return Server{}, err
	}
	var server Server
	if err := json.Unmarshal(content, &server); err != nil || server.Address == "" {
		return Server{}, &Problem{
			What: fmt.Sprintf("The file %s names no server", filepath.Join(h.dir, serverFile)),
			Next: "delete it, or set MAESTRO_API_URL",
		}
	}
	return server, nil
}

// Announce says where the server listens, until Withdraw.
func (l *Lock) Announce(server Server) error {
	content, err := json.Marshal(server)
	if err != nil {
		return fmt.Errorf("announce the server: %w", err)
	}
	return l.write(serverFile, append(content, '\n'))
}

// Withdraw takes the announcement back.
func (l *Lock) Withdraw() error { return l.remove(serverFile) }
