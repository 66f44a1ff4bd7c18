package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"maestro/internal/syntax"
)

// Config says how agents are run on this machine. Without any, the three known agents are run as they are installed.
type Config struct {
	Agents map[string]Settings `json:"agents"`
}

// Settings say how one agent is run.
type Settings struct {
	// Path is the absolute path of a known agent's program. If absent, it is looked up in the user's PATH.
	Path string `json:"path,omitempty"`
	// Command is the program of any other agent, by its absolute path, and its arguments.
	Command []string `json:"command,omitempty"`
	// Args are further arguments for a known agent, in front of the driver's own.
	Args []string `json:"args,omitempty"`
	// Env are variables of the agent's environment.
	Env map[string]string `json:"env,omitempty"`
	// PassEnv are the variables that the agent gets from its user's environment. If absent, a known agent gets those
	// of its own model's API; an empty list passes none.
	PassEnv []string `json:"passEnv,omitempty"`
	// Login gives a known agent a copy of the login that the user's own CLI has stored. If absent, it gets one if it
	// has no key of an API.
	Login *bool `json:"login,omitempty"`
	// Prompt says how a command gets its prompt: "stdin", the default, or "file".
	Prompt string `json:"prompt,omitempty"`
	// Output says what a command prints: "text", the default, or "jsonl" ([CommandLine]).
	Output string `json:"output,omitempty"`
}

// ConfigError says what is wrong with a configuration. Match it with errors.As.
type ConfigError struct {
	Pointer string // the place (RFC 6901), "" for the whole
	Message string
}

func (e *ConfigError) Error() string {
	if e.Pointer == "" {
		return "invalid configuration of agents: " + e.Message
	}
	return "invalid configuration of agents: " + e.Pointer + ": " + e.Message
}

// ParseConfig reads a configuration. It fails with *ConfigError.
func ParseConfig(content []byte) (Config, error) {
	var c Config
	var agents struct {
		Agents map[string]json.RawMessage `json:"agents"`
	}
	if err := strictly(content, &agents); err != nil {
		return c, &ConfigError{"", syntax.Plain(err).Error()}
	}
	c.Agents = map[string]Settings{}
	for _, name := range slices.Sorted(maps.Keys(agents.Agents)) {
		var s Settings
		place := "/agents/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if err := strictly(agents.Agents[name], &s); err != nil {
			return c, &ConfigError{place, syntax.Plain(err).Error()}
		}
		if member, message := s.fault(name); message != "" {
			return c, &ConfigError{place + member, message}
		}
		c.Agents[name] = s
	}
	return c, nil
}

// strictly decodes one JSON value, all of whose members are known.
func strictly(content []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after its end")
	}
	return nil
}

// fault returns the first fault of an agent's settings, and the pointer of its member.
func (s *Settings) fault(name string) (member, message string) {
	if !validName(name) {
		return "", "an agent's name has only lower-case letters, digits, and hyphens between them, and is not auto"
	}
	if known(name) {
		switch {
		case s.Command != nil:
			return "/command", name + " has no command: set its path"
		case s.Prompt != "":
			return "/prompt", name + " always gets its prompt on standard input"
		case s.Output != "":
			return "/output", "the output of " + name + " is known"
		case s.Path != "" && !filepath.IsAbs(s.Path):
			return "/path", "it must be an absolute path"
		}
	} else {
		switch {
		case len(s.Command) == 0:
			return "/command", "it is missing: the program's absolute path, and its arguments"
		case !filepath.IsAbs(s.Command[0]):
			return "/command/0", "it must be an absolute path"
		case s.Path != "" || s.Args != nil:
			return "/path", "only claude, codex and gemini have a path and args: name the program in command"
		case s.Login != nil:
			return "/login", "only claude, codex and gemini have logins"
		case !slices.Contains([]string{"", "stdin", "file"}, s.Prompt):
			return "/prompt", "it must be stdin or file"
		case !slices.Contains([]string{"", "text", "jsonl"}, s.Output):
			return "/output", "it must be text or jsonl"
		}
	}
	return s.faultyVariable()
}

func (s *Settings) faultyVariable() (member, message string) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if message := refused(name); message != "" {
			return "/env", fmt.Sprintf("%q %s", name, message)
		}
		if strings.ContainsRune(s.Env[name], 0) {
			return "/env", fmt.Sprintf("the value of %q has a zero byte", name)
		}
	}
	for i, name := range s.PassEnv {
		if message := refused(name); message != "" {
			return fmt.Sprintf("/passEnv/%d", i), fmt.Sprintf("%q %s", name, message)
		}
	}
	return "", ""
}

// refused says why an agent cannot be given a variable.
func refused(name string) string {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return "is no name of a variable"
	case name == "PATH":
		return "is set by Maestro"
	case strings.HasPrefix(name, ownPrefix):
		return "is one of Maestro's own variables"
	}
	return ""
}

func known(name string) bool { return name == Claude || name == Codex || name == Gemini }

// maxName bounds an agent's name: it names files.
const maxName = 64

func validName(name string) bool {
	for part := range strings.SplitSeq(name, "-") {
		if part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return len(name) <= maxName && name != "auto"
}

// UnknownError says that an agent is neither known nor configured. Match it with errors.As.
type UnknownError struct {
	Name  string
	Names []string // the agents that there are
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no agent %q; there are %s", e.Name, strings.Join(e.Names, ", "))
}

// Names returns the agents that can be run, in order.
func (c Config) Names() []string {
	names := map[string]bool{Claude: true, Codex: true, Gemini: true}
	for name := range c.Agents {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Driver returns the driver of an agent. It fails with *UnknownError.
func (c Config) Driver(name string) (Driver, error) {
	settings, configured := c.Agents[name]
	switch name {
	case Claude:
		return claude{settings}, nil
	case Codex:
		return codex{settings}, nil
	case Gemini:
		return gemini{settings}, nil
	}
	if !configured {
		return nil, &UnknownError{name, c.Names()}
	}
	return command{name, settings}, nil
}
