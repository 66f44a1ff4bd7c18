package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"maestro/internal/safetext"
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
	File    string // its path
	Pointer string // the place in it (RFC 6901), "" for the whole
	Message string
	Fix     string // what to do
}

func (e *ConfigError) Error() string { return e.File + " cannot be used: " + e.What() }

// What says what is wrong, without the file.
func (e *ConfigError) What() string {
	if e.Pointer == "" {
		return e.Message
	}
	return "at " + e.Pointer + ", " + e.Message
}

// ParseConfig reads a configuration; file is where it is. It fails with *ConfigError.
func ParseConfig(file string, content []byte) (Config, error) {
	var c Config
	var agents struct {
		Agents map[string]json.RawMessage `json:"agents"`
	}
	if err := strictly(content, &agents); err != nil {
		fault := unreadable(err, content, []string{"agents"})
		fault.File = file
		return c, fault
	}
	c.Agents = map[string]Settings{}
	for _, name := range slices.Sorted(maps.Keys(agents.Agents)) {
		var s Settings
		var fault *ConfigError
		if err := strictly(agents.Agents[name], &s); err != nil {
			fault = unreadable(err, agents.Agents[name], fields())
		} else {
			fault = s.fault(name)
		}
		if fault != nil {
			fault.File = file
			fault.Pointer = "/agents/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name) + fault.Pointer
			return c, fault
		}
		c.Agents[name] = s
	}
	return c, nil
}

// fields returns the names of the fields of Settings.
func fields() (names []string) {
	for field := range reflect.TypeFor[Settings]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// unreadable says why JSON cannot be decoded that may have some fields.
func unreadable(err error, content []byte, fields []string) *ConfigError {
	fault := &ConfigError{
		Message: syntax.Plain(err).Error(),
		Fix:     "correct it; an example is " + example,
	}
	var wrong *json.SyntaxError
	unknown, isUnknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case len(bytes.TrimSpace(content)) == 0:
		fault.Message = "it is empty"
		fault.Fix = "remove it, or write what it configures, such as " + example
	case errors.As(err, &wrong) && wrong.Offset > 0 && wrong.Offset <= int64(len(content)):
		before := content[:wrong.Offset-1]
		fault.Message = fmt.Sprintf("it is not JSON from line %d, character %d on", 1+bytes.Count(before, []byte("\n")),
			1+utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):]))
		fault.Fix = "correct the line; often a comma is missing there, or is one too many"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		fault.Message = "it ends before all its brackets and quotes are closed"
	case errors.Is(err, errMore):
		fault.Fix = "remove what follows its last bracket"
	case isUnknown:
		fault.Fix = "use one of its fields: " + strings.Join(fields, ", ")
		if near := safetext.Nearest(strings.Trim(unknown, `"`), fields); near != "" {
			fault.Fix = "write " + strconv.Quote(near) + " if that was meant; its fields are " +
				strings.Join(fields, ", ")
		}
	}
	return fault
}

// example is a configuration.
const example = `{"agents": {"notes": {"command": ["/home/me/notes.sh"]}}}`

// errMore says that a text does not end with its JSON value.
var errMore = errors.New("there is more after its end")

// strictly decodes one JSON value, all of whose members are known.
func strictly(content []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errMore
	}
	return nil
}

// fault returns the first fault of an agent's settings, nil if they have none. Its pointer begins at the agent.
func (s *Settings) fault(name string) *ConfigError {
	wrong := func(member, message, fix string) *ConfigError {
		return &ConfigError{
			Pointer: member,
			Message: message,
			Fix:     fix,
		}
	}
	if !validName(name) {
		return wrong("",
			"an agent's name has only lower-case letters, digits, and hyphens between them, and is not auto",
			"give the agent another name")
	}
	const commands = "remove it: only agents with a command have it"
	if known(name) {
		switch {
		case s.Command != nil:
			return wrong("/command", name+" has no command",
				"name its program with path, and its arguments with args; or give the agent another name")
		case s.Prompt != "":
			return wrong("/prompt", name+" always gets its prompt on standard input", commands)
		case s.Output != "":
			return wrong("/output", "the output of "+name+" is known", commands)
		case s.Path != "" && !filepath.IsAbs(s.Path):
			return wrong("/path", strconv.Quote(s.Path)+" is not an absolute path", absolutely(s.Path))
		}
		return s.faultyVariable()
	}
	const theirs = "remove it: only claude, codex and gemini have it"
	switch {
	case len(s.Command) == 0:
		return wrong("/command", "the agent has no command",
			`give the absolute path of its program, and the arguments, such as "command": ["/home/me/notes.sh", "-v"]`)
	case !filepath.IsAbs(s.Command[0]):
		return wrong("/command/0", strconv.Quote(s.Command[0])+" is not an absolute path", absolutely(s.Command[0]))
	case s.Path != "":
		return wrong("/path", "the agent is not claude, codex or gemini", "name its program in command")
	case s.Args != nil:
		return wrong("/args", "the agent is not claude, codex or gemini", "put its arguments into command")
	case s.Login != nil:
		return wrong("/login", "the agent is not claude, codex or gemini", theirs)
	case !slices.Contains([]string{"", "stdin", "file"}, s.Prompt):
		return wrong("/prompt", strconv.Quote(s.Prompt)+" is no way to get a prompt",
			"write stdin or file, or remove it")
	case !slices.Contains([]string{"", "text", "jsonl"}, s.Output):
		return wrong("/output", strconv.Quote(s.Output)+" is no form of output", "write text or jsonl, or remove it")
	}
	return s.faultyVariable()
}

// absolutely says how to find the absolute path of a program.
func absolutely(program string) string {
	return "write the whole path, from / on; " + safetext.Line("command", "-v", filepath.Base(program)) +
		" shows that of a program in PATH"
}

func (s *Settings) faultyVariable() *ConfigError {
	const fix = "remove the variable"
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if message := refused(name); message != "" {
			return &ConfigError{
				Pointer: "/env",
				Message: fmt.Sprintf("%q %s", name, message),
				Fix:     fix,
			}
		}
		if strings.ContainsRune(s.Env[name], 0) {
			return &ConfigError{
				Pointer: "/env",
				Message: fmt.Sprintf("the value of %q has a zero byte", name),
				Fix:     fix,
			}
		}
	}
	for i, name := range s.PassEnv {
		if message := refused(name); message != "" {
			return &ConfigError{
				Pointer: fmt.Sprintf("/passEnv/%d", i),
				Message: fmt.Sprintf("%q %s", name, message),
				Fix:     fix,
			}
		}
	}
	return nil
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

// Unguarded returns the names of the agents without a hook, in order: nobody can be asked before they act.
func (c Config) Unguarded() (names []string) {
	for _, name := range c.Names() {
		if driver, err := c.Driver(name); err == nil && !driver.Guarded() {
			names = append(names, name)
		}
	}
	return names
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
