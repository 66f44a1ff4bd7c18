package agent

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
)

// gemini runs Gemini CLI (docs/spec/001-agent-launch-and-sandbox.md, "Agent Launch Commands"). The command line
// differs: the prompt is on standard input, and the output is a stream of events. The hook is in a file of settings,
// because Gemini has no argument for it.
type gemini struct{ Settings }

// geminiLeast is the version that the tests ran: earlier ones do not have all the flags.
const geminiLeast = "0.61.0"

var (
	geminiLogin = []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"}
	geminiPass  = append([]string{
		"GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
		"GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_MODEL",
	}, geminiLogin...)
)

func (gemini) Name() string { return Gemini }

func (d gemini) Prepare(l Launch) (start *Start, err error) {
	path, err := find(Gemini, &d.Settings, l.Environ)
	if err != nil {
		return nil, err
	}
	s, err := openState(&l, Gemini)
	if err != nil {
		return nil, err
	}
	defer s.closing(&err)
	user := variablesOf(l.Environ)
	all := l.environment(&d.Settings, geminiPass, variables{
		"GEMINI_CLI_HOME":        s.path("."),
		"GEMINI_CLI_NO_RELAUNCH": "true", // a parent process would ignore signals
		// The target's .env sets variables that are not set. These would change which settings count.
		"GEMINI_CLI_TRUST_WORKSPACE":      "false",
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "",
		"GEMINI_CLI_SYSTEM_DEFAULTS_PATH": "",
		"GEMINI_SYSTEM_MD":                "false",
	})
	for name, value := range gitIdentity(user) {
		if all[name] == "" {
			all[name] = value
		}
	}
	if err := d.files(&l, s, authType(all)); err != nil {
		return nil, err
	}
	if d.copies(all, geminiLogin) {
		for _, name := range []string{"oauth_creds.json", "google_accounts.json"} {
			if err := s.copyLogin(filepath.Join(geminiStored(user), name), geminiDir+name); err != nil {
				return nil, err
			}
		}
	}
	env, secrets := all.list()
	return &Start{
		Path:      path,
		Args:      d.arguments(&l, s),
		Env:       env,
		Dir:       l.Target,
		Stdin:     []byte(unmentioned(l.Prompt)),
		Output:    Gemini + ".jsonl",
		ReadOnly:  []string{s.path(geminiSettings), s.path(geminiPolicy), s.path(geminiMemory)},
		ReadWrite: []string{s.path(".")},
		Patience:  AnswersWithin,
		Secrets:   secrets,
	}, nil
}

// The files of Gemini below its state.
const (
	geminiDir      = ".gemini/"
	geminiSettings = geminiDir + "settings.json"
	geminiMemory   = geminiDir + "GEMINI.md"
	geminiPolicy   = "maestro-policy.toml"
)

// maestroPolicy lets an agent that may only read run the commands of maestro. In the mode "plan", Gemini denies lists
// of commands and redirections.
const maestroPolicy = `[[rule]]
toolName = "run_shell_command"
commandPrefix = "maestro"
decision = "allow"
priority = 900
`

func (d gemini) files(l *Launch, s *state, auth string) error {
	for _, name := range []string{
		".env", ".agents", geminiDir + ".env", geminiDir + "extensions", geminiDir + "policies", geminiDir + "commands",
		geminiDir + "agents", geminiDir + "trustedFolders.json",
	} {
		if err := s.remove(name); err != nil { // what an earlier run left there does not count
			return err
		}
	}
	settings, err := l.geminiSettings(auth)
	if err != nil {
		return err
	}
	return errors.Join(
		s.write(geminiSettings, settings),
		s.write(geminiMemory, []byte(unmentioned(l.System))),
		s.write(geminiPolicy, []byte(maestroPolicy)),
		s.copySkills(l.Skills, geminiDir+"skills"),
	)
}

// authType returns how Gemini is to log in. Without a choice it refuses to start with another API address.
func authType(env variables) string {
	switch {
	case env["GOOGLE_GENAI_USE_VERTEXAI"] != "":
		return "vertex-ai"
	case env["GEMINI_API_KEY"] != "":
		return "gemini-api-key"
	case env["GOOGLE_API_KEY"] != "":
		return "vertex-ai"
	}
	return "oauth-personal"
}

func (l *Launch) geminiSettings(auth string) ([]byte, error) {
	before, err := l.hookLine()
	if err != nil {
		return nil, err
	}
	after, err := l.afterLine()
	if err != nil {
		return nil, err
	}
	_, limit := l.hookSeconds()
	hook := func(line string) []any {
		return []any{map[string]any{"matcher": ".*", "hooks": []any{map[string]any{
			"type": "command", "name": "maestro", "command": line, "timeout": limit * 1000,
		}}}}
	}
	settings := map[string]any{
		"security":    map[string]any{"auth": map[string]any{"selectedType": auth}},
		"general":     map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
		"privacy":     map[string]any{"usageStatisticsEnabled": false},
		"advanced":    map[string]any{"ignoreLocalEnv": true, "autoConfigureMemory": false},
		"hooksConfig": map[string]any{"enabled": true},
		"hooks":       map[string]any{"BeforeTool": hook(before), "AfterTool": hook(after)},
	}
	if turns := l.turns(); turns > 0 {
		settings["model"] = map[string]any{"maxSessionTurns": turns}
	}
	if l.unthinking() {
		settings["modelConfigs"] = map[string]any{"overrides": []any{map[string]any{
			"match": map[string]any{"overrideScope": "core"},
			"modelConfig": map[string]any{"generateContentConfig": map[string]any{
				"thinkingConfig": map[string]any{"thinkingBudget": 0, "includeThoughts": false},
			}},
		}}}
	}
	return json.MarshalIndent(settings, "", "  ")
}

// unmentioned prevents Gemini from reading words that begin with @ as names of files to include.
func unmentioned(text string) string {
	var out strings.Builder
	for i := range len(text) {
		if text[i] == '@' && (i == 0 || strings.IndexByte(" \t\r\n", text[i-1]) >= 0) {
			out.WriteByte('\\')
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

func (d gemini) arguments(l *Launch, s *state) []string {
	args := append([]string{}, d.Args...)
	if l.readOnly() {
		args = append(args, "--approval-mode", "plan", "--policy", s.path(geminiPolicy))
	} else {
		args = append(args, "--yolo")
	}
	args = append(args, "--skip-trust")
	for _, dir := range []string{l.Workspace, l.Target, l.Orchestrator} {
		if dir != "" {
			args = append(args, "--include-directories", dir)
		}
	}
	args = append(args, "--output-format", "stream-json")
	if l.Model != "" {
		args = append(args, "-m", l.Model)
	}
	if l.Conversation != "" {
		args = append(args, "--resume", l.Conversation)
	}
	return args
}

// geminiStored is where the user's own Gemini stores its login.
func geminiStored(user variables) string {
	home := user["GEMINI_CLI_HOME"]
	if home == "" {
		home = user["HOME"]
	}
	return filepath.Join(home, ".gemini")
}

func (d gemini) Check(ctx context.Context, environ []string, run Run) []Finding {
	if findings := checkProgram(ctx, Gemini, geminiLeast, &d.Settings, environ, run); findings != nil {
		return findings
	}
	return d.checkLogin(environ, geminiPass, geminiLogin,
		filepath.Join(geminiStored(variablesOf(environ)), "oauth_creds.json"),
		"run `gemini` once and log in, or set GEMINI_API_KEY")
}

// Guarded implements Driver.
func (gemini) Guarded() bool { return true }

func (gemini) Explain(code int) string {
	switch code {
	case 41:
		return "gemini has no login for its model"
	case 42:
		return "gemini does not know the conversation, or got no prompt"
	case 53:
		return "gemini has used up its turns"
	case 55:
		return "gemini does not trust the directory"
	case 145, 147: // the HTTP status modulo 256
		return "the model's API does not accept the login"
	case 173:
		return "the model's API limits the rate"
	case 244, 247:
		return "the model's API fails"
	}
	return ""
}

func (gemini) Reader(Used) Reader { return &retryReader{Reader: &geminiReader{}} }
