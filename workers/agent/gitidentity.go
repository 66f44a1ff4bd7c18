package agent

import (
	"io"
	"path/filepath"
	"strings"

	"maestro/internal/files"
)

// maxGitConfig bounds the part of a user's git configuration that is read.
const maxGitConfig = 256 << 10

// gitIdentity returns the variables with the user's name and address in git, if the user has both. Gemini hides the
// user's configuration from git.
func gitIdentity(user variables) variables {
	f, err := files.OpenNamed(filepath.Join(user["HOME"], ".gitconfig"))
	if err != nil {
		return nil // commits then need an identity in the repository, as without Maestro
	}
	content, err := io.ReadAll(io.LimitReader(f, maxGitConfig))
	_ = f.Close() // only read
	if err != nil {
		return nil
	}
	section, identity := "", map[string]string{}
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] \t"))
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if ok && section == "user" {
			identity[strings.ToLower(strings.TrimSpace(name))] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	name, email := identity["name"], identity["email"]
	if name == "" || email == "" {
		return nil
	}
	return variables{
		"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email,
	}
}
