package agent

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
)

// denial is what the hook line says after any denial. The text is needed: Codex and Gemini let a call run if their hook
// ends with 2 and has printed nothing.
const denial = "Maestro did not allow this call."

// hookLine returns the shell line that judges a call. It denies unless the hook ends with 0, in time.
//
// Without a program `timeout`, as on macOS, only the hook's own clock limits it: a hook that is stopped would then let
// the call run after the CLI's limit, and the supervisor finds a call that it has not allowed.
func (l *Launch) hookLine() (string, error) {
	argv, err := l.hookCommand()
	if err != nil {
		return "", err
	}
	return argv + " || { echo '" + denial + "' >&2; exit " + strconv.Itoa(ExitDenied) + "; }", nil
}

// afterLine returns the shell line that looks for mail after a call. It cannot deny: the call is over.
func (l *Launch) afterLine() (string, error) {
	argv, err := l.hookCommand()
	if err != nil {
		return "", err
	}
	return argv + " || exit 0", nil
}

func (l *Launch) hookCommand() (string, error) {
	if len(l.Hook) == 0 || !filepath.IsAbs(l.Hook[0]) {
		return "", errors.New("an agent's hook has no absolute path")
	}
	argv := l.Hook
	if timeout := inPath("timeout", l.Environ); timeout != "" {
		seconds, _ := l.hookSeconds()
		argv = append([]string{timeout, "-k", "1", strconv.Itoa(seconds)}, argv...)
	}
	quoted := make([]string, len(argv))
	for i, word := range argv {
		quoted[i] = quote(word)
	}
	return strings.Join(quoted, " "), nil
}

// quote returns a word of a shell line.
func quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
