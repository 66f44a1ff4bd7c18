package home

import "path/filepath"

// configFile holds the preferences of the home's user. Only the command line reads it.
const configFile = "config.json"

// Config returns the configuration of the home's user; fs.ErrNotExist if there is none. It refuses a file that others
// may read or write.
func (h *Home) Config() ([]byte, error) { return h.secret(configFile) }

// SetConfig replaces the configuration.
func (h *Home) SetConfig(content []byte) error { return h.write(configFile, content) }

// agentsFile says how agents are run on this machine. It may hold keys of models' APIs.
const agentsFile = "agents.json"

// Agents returns how agents are run on this machine; fs.ErrNotExist if that is not configured. It refuses a file that
// others may read or write.
func (h *Home) Agents() ([]byte, error) { return h.secret(agentsFile) }

// AgentsPath returns the path of that file.
func (h *Home) AgentsPath() string { return filepath.Join(h.dir, agentsFile) }
