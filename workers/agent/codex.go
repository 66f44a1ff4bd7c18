package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// codex runs Codex (docs/spec/001-agent-launch-and-sandbox.md, "Agent Launch Commands"). The command line has more: the
// prompt on standard input, the hook, and what keeps the model from getting past the hook.
type codex struct{ Settings }

// codexLeast is the version that the tests ran: earlier ones do not have all the flags.
const codexLeast = "0.169.0"

// codexPatience is less than the time after which the model is asked again while its call waits for the hook.
const codexPatience = 20 * time.Second

// codexKey is the variable with which Codex needs no stored login.
const codexKey = "CODEX_API_KEY"

var (
	codexLogin = []string{codexKey, "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"}
	codexPass  = append([]string{"OPENAI_BASE_URL", "OPENAI_PROJECT"}, codexLogin...)
)

func (codex) Name() string { return Codex }

func (d codex) Prepare(l Launch) (start *Start, err error) {
	path, err := find(Codex, &d.Settings, l.Environ)
	if err != nil {
		return nil, err
	}
	s, err := openState(&l, Codex)
	if err != nil {
		return nil, err
	}
	defer s.closing(&err)
	if err := d.files(&l, s); err != nil {
		return nil, err
	}
	args, err := d.arguments(&l)
	if err != nil {
		return nil, err
	}
	all := l.environment(&d.Settings, codexPass, variables{"CODEX_HOME": s.path(".")})
	if d.copies(all, codexLogin) {
		if err := s.copyLogin(codexStored(variablesOf(l.Environ)), "auth.json"); err != nil {
			return nil, err
		}
	} else if all[codexKey] == "" && all["OPENAI_API_KEY"] != "" {
		all[codexKey] = all["OPENAI_API_KEY"] // `codex exec` reads only this one
	}
	env, secrets := all.list()
	return &Start{
		Path:       path,
		Args:       args,
		Env:        env,
		Dir:        l.Target,
		Stdin:      []byte(l.Prompt),
		Output:     Codex + ".jsonl",
		ReadOnly:   []string{s.path(codexConfig)},
		ReadWrite:  []string{s.path(".")},
		CountTurns: true,
		Interrupt:  true,
		Patience:   codexPatience,
		Secrets:    secrets,
	}, nil
}

const codexConfig = "config.toml"

// files writes what Codex reads in its directory. The system prompt is in a file, because everybody can see arguments;
// everything that the hook depends on is among the arguments, which take precedence, because the agent can write here.
func (codex) files(l *Launch, s *state) error {
	for _, name := range []string{
		"hooks.json", "AGENTS.md", "AGENTS.override.md", ".env", "rules", "plugins", "prompts",
	} {
		if err := s.remove(name); err != nil { // what an earlier run left there does not count
			return err
		}
	}
	config := "# Written by Maestro before each run.\n"
	if l.System != "" {
		config += "developer_instructions = " + tomlText(l.System) + "\n"
	}
	return errors.Join(s.write(codexConfig, []byte(config)), s.copySkills(l.Skills, "skills"))
}

// tomlText returns a text in TOML. Its escapes are those of JSON, which leaves one control character as it is.
func tomlText(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil { // a text can always be encoded
		return `""`
	}
	return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
}

func (d codex) arguments(l *Launch) ([]string, error) {
	line, err := l.hookLine()
	if err != nil {
		return nil, err
	}
	_, limit := l.hookSeconds()
	hook := fmt.Sprintf(`hooks.PreToolUse=[{matcher=".*",hooks=[{type="command",command=%s,timeout=%d}]}]`,
		tomlText(line), limit)
	args := []string{"exec"}
	if l.Conversation != "" {
		args = append(args, "resume") // in the start directory: it knows no -C
	}
	args = append(args, "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
	if l.Conversation == "" {
		args = append(args, "-C", l.Target)
	}
	args = append(args,
		"--dangerously-bypass-hook-trust", "--enable", "hooks", "-c", hook,
		// A terminal accepts input that the hook never sees.
		"--disable", "unified_exec_tty",
		// A profile could put another maestro in front of ours.
		"-c", "allow_login_shell=false",
	)
	if l.Model != "" {
		args = append(args, "-m", l.Model)
	}
	if l.unthinking() {
		args = append(args, "-c", "model_reasoning_effort=low") // not every model accepts less
	}
	args = append(args, d.Args...)
	if l.Conversation != "" {
		args = append(args, l.Conversation)
	}
	return append(args, "-"), nil
}

// codexStored is where the user's own Codex stores its login.
func codexStored(user variables) string {
	dir := user["CODEX_HOME"]
	if dir == "" {
		dir = filepath.Join(user["HOME"], ".codex")
	}
	return filepath.Join(dir, "auth.json")
}

func (d codex) Check(ctx context.Context, environ []string, run Run) []Finding {
	if findings := checkProgram(ctx, Codex, codexLeast, &d.Settings, environ, run); findings != nil {
		return findings
	}
	return d.checkLogin(environ, codexPass, codexLogin, codexStored(variablesOf(environ)),
		"run `codex login`, or set "+codexKey)
}

// Guarded implements Driver.
func (codex) Guarded() bool { return true }

func (codex) Explain(code int) string {
	if code == 2 {
		return "codex does not know one of its arguments"
	}
	return ""
}

func (codex) Reader(before Used) Reader { return &retryReader{Reader: &codexReader{counted: before}} }
