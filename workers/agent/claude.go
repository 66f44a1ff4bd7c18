package agent

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"

	"maestro/internal/disk"
)

// claude runs Claude Code (docs/spec/001-agent-launch-and-sandbox.md, "Agent Launch Commands"). The command line has
// more: for a stream of events, for the hook, and to be independent of the settings of the target and of the user.
type claude struct{ Settings }

// claudeLeast is the version that the tests ran.
const claudeLeast = "2.1.0"

// claudeLogin are the variables that let Claude Code use its model without a stored login.
var claudeLogin = []string{
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK",
	"CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
}

// claudePass are the variables that Claude Code gets from its user.
var claudePass = append([]string{
	"ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL",
	"ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION", "AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK",
	"ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_FOUNDRY_RESOURCE", "CLAUDE_CODE_MAX_RETRIES",
}, claudeLogin...)

func (claude) Name() string { return Claude }

func (d claude) Prepare(l Launch) (start *Start, err error) {
	path, err := find(Claude, &d.Settings, l.Environ)
	if err != nil {
		return nil, err
	}
	s, err := openState(&l, Claude)
	if err != nil {
		return nil, err
	}
	defer s.closing(&err)
	args, err := d.arguments(&l, s)
	if err != nil {
		return nil, err
	}
	own := variables{"CLAUDE_CONFIG_DIR": s.path("."), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
	if l.Root {
		own["IS_SANDBOX"] = "1" // it refuses to run as root without
	}
	all := l.environment(&d.Settings, claudePass, own)
	if d.copies(all, claudeLogin) {
		if err := s.copyLogin(claudeStored(variablesOf(l.Environ)), ".credentials.json"); err != nil {
			return nil, err
		}
	}
	env, secrets := all.list()
	return &Start{
		Path:      path,
		Args:      args,
		Env:       env,
		Dir:       l.Target,
		Stdin:     []byte(l.Prompt),
		Output:    Claude + ".jsonl",
		ReadOnly:  []string{s.path(claudeSystem), s.path(claudePlugin)},
		ReadWrite: []string{s.path(".")},
		Interrupt: true,
		Patience:  AnswersWithin,
		Secrets:   secrets,
	}, nil
}

// The files of Claude Code below its state.
const (
	claudeSystem = "maestro-system.md"
	claudePlugin = "maestro-plugin"
)

// arguments writes the files that the command line names, and returns it.
func (d claude) arguments(l *Launch, s *state) ([]string, error) {
	settings, err := l.claudeSettings()
	if err != nil {
		return nil, err
	}
	system, err := l.claudeSystem()
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		s.remove("settings.json"), // what an earlier run left there does not count
		s.write(claudeSystem, []byte(system)),
		s.copySkills(l.Skills, claudePlugin+"/skills"),
		s.write(claudePlugin+"/.claude-plugin/plugin.json", []byte(`{"name":"maestro"}`+"\n")),
	)
	if err != nil {
		return nil, err
	}
	args := append([]string{"--print"}, l.claudePermissions()...)
	args = append(args,
		"--strict-mcp-config",
		"--add-dir", l.Workspace,
		"--add-dir", l.Target,
		"--output-format", "stream-json", "--verbose",
		"--settings", settings, "--setting-sources", "",
		"--append-system-prompt-file", s.path(claudeSystem),
		"--plugin-dir", s.path(claudePlugin),
	)
	if l.Conversation != "" {
		args = append(args, "--resume", l.Conversation)
	}
	if l.Model != "" {
		args = append(args, "--model", l.Model)
	}
	if turns := l.turns(); turns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(turns))
	}
	if l.unthinking() {
		args = append(args, "--thinking", "disabled")
	}
	return append(d.Args, args...), nil
}

// claudePermissions returns the arguments of the permission mode. In readOnly, the CLI itself allows only reading, and
// the commands of maestro: it denies writes, lists of commands and redirections.
func (l *Launch) claudePermissions() []string {
	if l.readOnly() {
		return []string{"--permission-mode", "dontAsk", "--allowedTools", "Bash(maestro:*)"}
	}
	return []string{"--dangerously-skip-permissions"}
}

// claudeSettings returns the settings with the hook, in JSON for the command line: no file has it that the agent could
// change. `--setting-sources ""` disables all files with settings; disableAllHooks would override them, too.
func (l *Launch) claudeSettings() (string, error) {
	line, err := l.hookLine()
	if err != nil {
		return "", err
	}
	_, limit := l.hookSeconds()
	text, err := json.Marshal(map[string]any{
		"disableAllHooks": false,
		"hooks": map[string]any{"PreToolUse": []any{map[string]any{
			"matcher": "*",
			"hooks":   []any{map[string]any{"type": "command", "command": line, "timeout": limit}},
		}}},
	})
	return string(text), err
}

// claudeSystem returns the system prompt, which is added to that of the CLI. Without the settings of the target, the
// CLI does not read the target's CLAUDE.md, so it follows here.
func (l *Launch) claudeSystem() (string, error) {
	notes, err := projectNotes(l.Target, "CLAUDE.md")
	if err != nil || notes == "" {
		return l.System, err
	}
	const begin = "\n\nThe project's CLAUDE.md, which its authors wrote for every agent that works on it, says:\n\n"
	return l.System + begin + notes, nil
}

// copies reports whether the agent gets a copy of the user's login.
func (s *Settings) copies(env variables, logins []string) bool {
	if s.Login != nil {
		return *s.Login
	}
	return !env.any(logins)
}

func (v variables) any(names []string) bool {
	for _, name := range names {
		if v[name] != "" {
			return true
		}
	}
	return false
}

// claudeStored is where the user's own Claude Code stores its login. On macOS that is the keychain instead.
func claudeStored(user variables) string {
	dir := user["CLAUDE_CONFIG_DIR"]
	if dir == "" {
		dir = filepath.Join(user["HOME"], ".claude")
	}
	return filepath.Join(dir, ".credentials.json")
}

func (d claude) Check(ctx context.Context, environ []string, run Run) []Finding {
	if findings := checkProgram(ctx, Claude, claudeLeast, &d.Settings, environ, run); findings != nil {
		return findings
	}
	return d.checkLogin(environ, claudePass, claudeLogin, claudeStored(variablesOf(environ)),
		"run `claude` once and log in, or set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN from `claude setup-token`")
}

// checkLogin finds out whether an agent would have a key or a login. It does not try them.
func (s *Settings) checkLogin(environ, pass, logins []string, stored, fix string) []Finding {
	env := s.configured(variablesOf(environ), pass)
	if env.any(logins) {
		return nil
	}
	if s.copies(env, logins) {
		if _, err := disk.Stat(stored); err == nil {
			return nil
		}
	}
	return []Finding{{FindingLogin, "the agent has no API key and no login for its model", stored, fix}}
}

// Guarded implements Driver.
func (claude) Guarded() bool { return true }

func (claude) Explain(int) string { return "" }

func (claude) Reader(Used) Reader { return &claudeReader{} }
