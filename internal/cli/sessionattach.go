package cli

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"maestro/api/client"
	"maestro/internal/failure"
	"maestro/internal/files"
	"maestro/internal/safetext"
	"maestro/service/wire"
	"maestro/workers/blank"
	"maestro/workers/confine"
	"maestro/workers/manifest"
	"maestro/workers/preflight"
	"maestro/workers/supervisor"
)

// attach begins to supervise the session, and returns how its command is started.
func (c *sessionExec) attach(
	ctx context.Context, server, beats *client.Client, given wire.Credential, command *exec.Cmd,
) (held *supervisor.Attached, start func() (child, error), err error) {
	boundary := !c.unconfined && given.SessionID != c.sessionID() && runtime.GOOS == "linux"
	config, m, err := c.attachConfig(ctx, server, beats, given, command.Dir, boundary)
	if err != nil {
		return nil, nil, err
	}
	logger := slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	held, err = supervisor.Attach(ctx, config, m, boundary, logger)
	var unready *preflight.Failure
	switch {
	case errors.As(err, &unready):
		return nil, nil, failure.Usage("%s", unready.Message).
			WithNext("run the command elsewhere with --working-directory, or with --unconfined; or %s", unready.Fix)
	case err != nil:
		return nil, nil, err
	case !boundary:
		command.Env = environmentOf(os.Environ(), command.Dir, given.Env,
			sessionEnv(server.Base(), placeManifest(ctx, c.Run, given.SessionID), given))
		return held, func() (child, error) { return unconfined{command}, command.Start() }, nil
	}
	if start, err = c.behind(ctx, held, given, command); err != nil {
		c.detach(ctx, held)
		return nil, nil, err
	}
	return held, start, nil
}

// attachConfig describes the supervision of the session. Without the boundary, it needs no home.
func (c *sessionExec) attachConfig(
	ctx context.Context, server, beats *client.Client, given wire.Credential, directory string, boundary bool,
) (config supervisor.Config, m *manifest.Manifest, err error) {
	if !boundary {
		roots, err := c.roots()
		config = supervisor.Config{
			SessionID:    given.SessionID,
			Server:       server.Base(),
			Roots:        roots,
			SessionToken: given.Token,
			Version:      Version(),
		}
		if h := c.openHome(); h != nil {
			config.Home = h.Dir()
			err = errors.Join(err, h.Close())
		}
		return config, nil, err
	}
	if config, err = superviseConfig(ctx, c.Run, server.Base(), given); err != nil {
		return config, nil, err
	}
	if config.Directory = directory; directory == "" {
		if config.Directory, err = os.Getwd(); err != nil {
			return config, nil, err
		}
	}
	config.GitConfig = c.gitConfig
	if c.directory != "" && !c.isSession() { // a person has chosen it
		config.Within = nil
	}
	if m, err = manifestAs(ctx, beats, given.SessionID); err != nil {
		return config, nil, err
	}
	var policy confine.Policy
	if m != nil {
		if policy.Network, _, err = confine.ParseNetwork(m.Session.Network); err != nil {
			return config, nil, failure.Usage("The network of the session's manifest: %s", err)
		}
	}
	if config.Layers = layersHere(ctx, config, policy); len(config.Layers) == 0 {
		c.Say("maestro: warning: the command is not confined: it can do whatever you can\n")
	}
	return config, m, nil
}

// behind returns how a command is started behind the boundary.
func (c *sessionExec) behind(
	ctx context.Context, held *supervisor.Attached, given wire.Credential, command *exec.Cmd,
) (start func() (child, error), err error) {
	session, err := held.Environment()
	if err != nil {
		return nil, err
	}
	allowed, err := c.allowedPaths(held)
	if err != nil {
		return nil, err
	}
	if err := held.Check(ctx, allowed); err != nil {
		var failed *preflight.Failure
		if errors.As(err, &failed) {
			err = c.notStarted(command.Args[0], err)
		}
		return nil, err
	}
	variables := held.Caches()
	maps.Copy(variables, given.Env)
	command.Env = environmentOf(withoutSecrets(os.Environ()), command.Dir, variables, session)
	return func() (child, error) {
		// A signal that comes meanwhile is for the command.
		process, err := held.Start(context.WithoutCancel(ctx), command)
		if err != nil {
			return nil, err
		}
		return process, nil
	}, nil
}

// allowedPaths returns the paths that --allow names. None may lead through a link, which may be an agent's: the user
// would allow something else than what the command line says.
func (c *sessionExec) allowedPaths(held *supervisor.Attached) (allowed []string, err error) {
	for _, path := range c.allowed {
		named, err := fromHere(path)
		if err != nil {
			return nil, err
		}
		real, err := filepath.EvalSymlinks(named)
		if err != nil {
			return nil, failure.Usage("--allow names %s, which cannot be used", safetext.Quoted(named)).
				WithWhy("%s", files.Bare(err)).WithNext("name a file or directory that exists; a relative path " +
				"counts from your current directory, not from the one in which the command runs")
		}
		for _, kept := range held.Kept() {
			if files.Within(real, kept) || files.Within(kept, real) {
				return nil, failure.Usage("--allow names %s, which holds, or is in, %s", safetext.Quoted(real), kept).
					WithWhy("no command of a session may reach that").
					WithNext("name another path, or run the command with --unconfined")
			}
		}
		if real != named {
			return nil, failure.Usage("--allow names %s, which a link leads to %s", safetext.Quoted(named),
				safetext.Quoted(real)).
				WithWhy("a command of a session could have made the link").
				WithNext("if you mean what it leads to, name that: `--allow %s`", safetext.Quoted(real))
		}
		allowed = append(allowed, real)
	}
	return allowed, nil
}

// fromHere returns the absolute path of what a user names. The current directory is where the user is, also if its path
// has links.
func fromHere(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	return filepath.Join(here, path), err
}

// withoutSecrets removes the variables that hold, by their names, secrets of the user.
func withoutSecrets(env []string) []string {
	var open []string
	for _, variable := range env {
		if name, _, _ := strings.Cut(variable, "="); !blank.SecretName(name) && name != "SSH_AUTH_SOCK" {
			open = append(open, variable)
		}
	}
	return open
}

// detach ends the supervision of the session, once what its command's programs reported is delivered.
func (c *sessionExec) detach(ctx context.Context, held *supervisor.Attached) {
	kept, err := held.Close(context.WithoutCancel(ctx), recordWithin)
	if err != nil {
		c.Say("maestro: the supervision of the command did not end well: %s\n", err)
	}
	for _, blocked := range held.Blocked() {
		c.Say("maestro: %s\n", blocked)
	}
	if kept > 0 {
		c.Say("maestro: %s; the server sends them when it runs again\n", stillWaiting(kept))
	}
}

// notStarted returns the error for a command that was not started.
func (c *sessionExec) notStarted(command string, err error) error {
	f := notRunnable(command, err)
	var refused *confine.Refused
	if errors.As(err, &refused) && !c.unconfined {
		f.Err = &commandExit{refused.Code}
		f.Next = "let it reach what it needs with --allow, or run it with --unconfined"
	}
	return f
}

// manifestAs returns the manifest of the session as which beats acts, nil if it was registered without one.
func manifestAs(ctx context.Context, beats *client.Client, session string) (*manifest.Manifest, error) {
	content, err := beats.SessionManifest(ctx, session)
	var said *client.Error
	if errors.As(err, &said) && said.Status == http.StatusNotFound {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if err != nil {
		return nil, err
	}
	return manifest.ParseChecked(content)
}
