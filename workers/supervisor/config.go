package supervisor

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"maestro/service/wire"
	"maestro/workers/confine"
)

// Protocol is the version of what a runner, its supervisors and the server say to each other.
const Protocol = 1

// Config is what a supervisor is told by the runner that starts it, as one JSON object on its stdin.
type Config struct {
	Protocol  int    `json:"protocol"`
	SessionID string `json:"sessionId"`
	ProjectID string `json:"projectId"`
	Runner    string `json:"runner"`
	Run       int    `json:"run"`
	// Conversation is the agent's own conversation that this run continues; "" for a new one.
	Conversation string `json:"conversation,omitempty"`
	// Resumes says that an earlier run did some of the work.
	Resumes bool `json:"resumes,omitempty"`
	// Directory is where the session's project works; its manifest may name another one.
	Directory string `json:"directory,omitempty"`
	// Within are the directories out of which no link may lead the agent; none for a session that a user spawned.
	Within []string `json:"within,omitempty"`
	// Home is the directory of the home, Server the address of its server.
	Home   string `json:"home"`
	Server string `json:"server"`
	// Roots are the certificates that the supervisor trusts, nil for the system's.
	Roots *x509.CertPool `json:"-"`
	// SessionToken speaks as the session, RunnerToken as its runner.
	SessionToken string `json:"sessionToken"`
	RunnerToken  string `json:"runnerToken"`
	// Program is the path of the maestro program that the agent and its hook run.
	Program string `json:"program"`
	// Version is that of the program.
	Version string `json:"version"`
	// Workspaces holds the workspaces of all sessions.
	Workspaces string `json:"workspaces"`
	// Layers are the layers of confinement that the claim announced.
	Layers []string `json:"layers"`
	// Claim claims the run once the checks before the launch have passed; nil if a runner has claimed it already.
	Claim func(ctx context.Context) error `json:"-"`
	Limits
}

func (c Config) layers() (layers []confine.Layer) {
	for _, layer := range c.Layers {
		layers = append(layers, confine.Layer(layer))
	}
	return layers
}

// Limits are what a user of the runner may change about every run.
type Limits struct {
	// OrchestratorDir is a directory that every agent may read (docs/spec/001-agent-launch-and-sandbox.md,
	// "Directory Definitions"); an empty one in each workspace if it is "".
	OrchestratorDir string `json:"orchestratorDir,omitempty"`
	// FixPermissions allows changes of the permissions of working directories.
	FixPermissions bool `json:"fixPermissions,omitempty"`
	// GitConfig lets agents change the hooks and the configuration of git in their working directory.
	GitConfig bool `json:"gitConfig,omitempty"`
	// Silent is how long an agent may be silent before that is shown, and go on after its session is complete.
	Silent time.Duration `json:"silent"`
	// Room is how many bytes must be free on the disks.
	Room uint64 `json:"room"`
}

// Workspaces returns the directory of the workspaces of all sessions (docs/contract.md, "Decisions").
func Workspaces(getenv func(string) string) (string, error) {
	if dir := getenv(wire.EnvWorkspace); dir != "" {
		return filepath.Abs(dir)
	}
	user := getenv("HOME")
	if user == "" {
		return "", errors.New("there is no home directory for the agents' workspaces")
	}
	return filepath.Join(user, "orchestrator", "workspace"), nil
}

// The defaults of Limits.
const (
	DefaultSilent = 10 * time.Minute
	DefaultRoom   = 100 << 20
)

// maxConfig bounds the Config.
const maxConfig = 1 << 20

// ReadConfig reads a Config, and refuses one of another protocol.
func ReadConfig(r io.Reader) (Config, error) {
	var c Config
	content, err := io.ReadAll(io.LimitReader(r, maxConfig))
	if err == nil {
		err = json.Unmarshal(content, &c)
	}
	if err != nil {
		return c, fmt.Errorf("read what to run: %w", err)
	}
	if c.Protocol != Protocol {
		return c, fmt.Errorf("the runner speaks protocol %d, and this program %d: run the same version of maestro",
			c.Protocol, Protocol)
	}
	return c, nil
}
