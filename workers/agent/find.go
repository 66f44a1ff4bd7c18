package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"maestro/internal/disk"
	"maestro/internal/lazyregexp"
	"maestro/internal/safetext"
)

// MissingError says that an agent's program cannot be used. Match it with errors.As.
type MissingError struct {
	Agent, Path string // Path is "" if it is not in PATH at all
	Why, Fix    string
}

func (e *MissingError) Error() string { return "cannot start " + e.Agent + ": " + e.Why + "; " + e.Fix }

// find returns the absolute path of a program: the configured one, or the first one in the user's PATH.
func find(agent string, s *Settings, environ []string) (string, error) {
	if s.Path == "" {
		if path := inPath(agent, environ); path != "" {
			return path, nil
		}
		return "", &MissingError{
			Agent: agent,
			Why:   "no program " + agent + " is in PATH",
			Fix:   install(agent) + ", or set agents." + agent + ".path in agents.json of the home",
		}
	}
	if why := unusable(s.Path); why != "" {
		fix := "correct agents." + agent + ".path in agents.json of the home"
		return "", &MissingError{agent, s.Path, s.Path + " " + why, fix}
	}
	return s.Path, nil
}

// install says how an agent is installed.
func install(agent string) string {
	switch agent {
	case Claude:
		return "install it: `npm install -g @anthropic-ai/claude-code`"
	case Codex:
		return "install it: `npm install -g @openai/codex`"
	case Gemini:
		return "install it: `npm install -g @google/gemini-cli`"
	}
	return "install it"
}

// inPath returns the absolute path of a program in the user's PATH, "" if there is none.
func inPath(program string, environ []string) string {
	for _, dir := range searched(variablesOf(environ)["PATH"]) {
		if path := filepath.Join(dir, program); unusable(path) == "" {
			return path
		}
	}
	return ""
}

// unusable says why a path is not that of a program, "" if it is one.
func unusable(path string) string {
	info, err := disk.Stat(path)
	switch {
	case err != nil:
		return "does not exist or cannot be reached"
	case !info.Mode().IsRegular():
		return "is not a file"
	case info.Mode().Perm()&0o111 == 0:
		return "is not executable"
	}
	return ""
}

var versionNumber = lazyregexp.New(`\b(\d{1,9})\.(\d{1,9})\.(\d{1,9})\b`)

// checkProgram finds a program, and compares its version with the least one that the driver was tested with.
func checkProgram(ctx context.Context, agent, least string, s *Settings, environ []string, run Run) []Finding {
	path, err := find(agent, s, environ)
	if err != nil {
		missing := err.(*MissingError) //nolint:errorlint,forcetypeassert // find returns no other
		return []Finding{{FindingMissing, missing.Why, missing.Path, missing.Fix}}
	}
	env, _ := (&Launch{Environ: environ}).environment(s, nil, nil).list()
	out, err := run(ctx, path, []string{"--version"}, env)
	if err != nil {
		return []Finding{{
			FindingUnusable, fmt.Sprintf("%s does not start: %v", agent, err), path,
			"run it yourself: " + safetext.Line(path, "--version"),
		}}
	}
	has, want := versionNumber().FindStringSubmatch(string(out)), versionNumber().FindStringSubmatch(least)
	if has == nil || older(has[1:], want[1:]) {
		number := "unknown"
		if has != nil {
			number = has[0]
		}
		return []Finding{{
			FindingVersion, fmt.Sprintf("the version of %s is %s, and must be %s or later", agent, number, least), path,
			strings.Replace(install(agent), "install it", "update it", 1),
		}}
	}
	return nil
}

func older(has, want []string) bool {
	for i := range want {
		h, _ := strconv.Atoi(has[i]) // at most nine digits
		w, _ := strconv.Atoi(want[i])
		if h != w {
			return h < w
		}
	}
	return false
}
