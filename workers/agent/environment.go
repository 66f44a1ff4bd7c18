package agent

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"maestro/workers/blank"
)

// common are the variables that every agent gets from its user's environment. LC_* are passed as well.
var common = []string{
	"HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "TZ", "SHELL", "TMPDIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
}

// ownPrefix begins Maestro's variables. Only the supervisor gives them to an agent, because some of them hold the
// rights of a user.
const ownPrefix = "MAESTRO_"

// variables are those of an environment, by name.
type variables map[string]string

func variablesOf(environ []string) variables {
	v := variables{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			v[name] = value
		}
	}
	return v
}

// environment returns an agent's environment: the common variables, those that its settings pass on or set, and own,
// which the driver needs. It contains nothing else of the user's.
func (l *Launch) environment(s *Settings, pass []string, own variables) (env variables) {
	user := variablesOf(l.Environ)
	env = variables{}
	for name, value := range user {
		if slices.Contains(common, name) || strings.HasPrefix(name, "LC_") {
			env[name] = value
		}
	}
	if l.Temp != "" {
		env["TMPDIR"] = l.Temp
	}
	maps.Copy(env, s.configured(user, pass))
	maps.Copy(env, own)
	path := searched(user["PATH"])
	if l.Maestro != "" {
		path = slices.Insert(path, 0, l.Maestro)
	}
	env["PATH"] = strings.Join(path, string(filepath.ListSeparator))
	return env
}

// configured returns the variables that the settings pass on and set.
func (s *Settings) configured(user variables, pass []string) variables {
	env := variables{}
	if s.PassEnv != nil {
		pass = s.PassEnv
	}
	for _, name := range pass {
		if value, ok := user[name]; ok && !strings.HasPrefix(name, ownPrefix) {
			env[name] = value
		}
	}
	maps.Copy(env, s.Env)
	return env
}

// list returns the variables in order, and the values among them that are secret.
func (v variables) list() (env, secrets []string) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		env = append(env, name+"="+v[name])
		if blank.SecretName(name) && v[name] != "" {
			secrets = append(secrets, v[name])
		}
	}
	return env, secrets
}

// usualPath is searched if the user has no PATH.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// searched returns the directories of a PATH. A relative one would depend on where an agent works.
func searched(path string) (dirs []string) {
	if path == "" {
		path = usualPath
	}
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
