package cli

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"maestro/api/client"
	"maestro/commands"
	"maestro/events"
	"maestro/internal/failure"
	"maestro/internal/home"
	"maestro/service/wire"
)

const (
	defaultAddress = "http://127.0.0.1:3000"
	// patience is the time limit for an answer.
	patience = time.Minute
)

// Connect finds the server and returns its client, one for the whole run. It first sends a session's kept commands.
func (a *Run) Connect(ctx context.Context) (*client.Client, error) {
	if a.client != nil {
		return a.client, nil
	}
	return a.connect(ctx,
		client.WithMail(func(ids []string) { a.waiting = ids }),
		client.WithDamage(func(notice string) { a.damage = notice }),
	)
}

// connect is Connect for a new client, with more options.
func (a *Run) connect(ctx context.Context, options ...client.Option) (*client.Client, error) {
	if a.throughSocket() {
		return a.connectThroughSocket(options...)
	}
	address, token, err := a.find(ctx)
	if err != nil {
		return nil, a.withWaiting(err)
	}
	roots, err := a.withRoots()
	if err != nil {
		return nil, err
	}
	c := client.New(address, token, append([]client.Option{
		client.WithVersion(Version()), client.WithTimeout(patience), client.WithWaiting(a.sayWaiting),
		client.WithIdentification(), client.WithPinned(a.homeCertificate), roots,
		client.WithTraceParent(a.traceParent()),
	}, options...)...)
	if err := a.reach(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	if err := a.deliverFirst(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	c.LookBack(a.moment)
	a.client = c
	return c, nil
}

// traceParent returns the W3C trace context of the process, "" if there is none, or none that is valid.
func (a *Run) traceParent() string { return events.TraceParent(a.Getenv(wire.EnvTraceParent)) }

// sayWaiting explains a delay.
func (a *Run) sayWaiting(limit string, after time.Duration) {
	reached := "The server is busy"
	if limit != "" {
		reached = "Limit " + limit + " reached"
	}
	a.Say("maestro: %s; trying again in %d s\n", reached, int(after.Seconds()))
}

// find returns the server's address and the credential, "" if there is none.
func (a *Run) find(ctx context.Context) (address, token string, err error) {
	address = a.Getenv(wire.EnvAPIURL)
	if address != "" {
		if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", "", failure.Usage(
				"MAESTRO_API_URL is not an address: %q",
				address,
			).WithNext(
				"set it to something like %s",
				defaultAddress,
			)
		}
	}
	if token, err = a.ownToken(); err != nil {
		return "", "", err
	}
	if err := a.refuseHomeToken(token); err != nil {
		return "", "", err
	}
	if address != "" && a.moved != "" {
		address = a.moved
	}
	if address != "" && token != "" {
		return address, token, nil
	}
	return a.atHome(ctx, address, token)
}

// sessionVariables name the session as which a process acts.
var sessionVariables = []string{wire.EnvSessionID, wire.EnvToken}

// ownToken returns the credential in the environment, "" if the home's applies. A process that names a session never
// gets the user's.
func (a *Run) ownToken() (string, error) {
	for _, name := range sessionVariables {
		if value, set := a.Env[name]; set && value == "" {
			return "", failure.Usage("%s is set, but empty", name).
				WithWhy("a script that failed to get a session leaves it empty, and must not act as the user instead").
				WithNext(
					"set it to what the spawn of the session printed, or run the command with `maestro session exec`")
		}
	}
	token, session := a.Getenv(wire.EnvToken), a.Getenv(wire.EnvSessionID)
	if token != "" && !wire.MaySendToken(token) {
		return "", failure.Usage("MAESTRO_TOKEN does not hold a token").
			WithWhy("a token has only printable ASCII characters, without spaces").
			WithNext("set it to what `maestro token create` or the spawn of the session printed")
	}
	if session == "" || strings.HasPrefix(token, wire.SessionTokenPrefix+session+".") {
		return token, nil
	}
	f := &failure.Error{
		Code:    failure.NotAllowed,
		Message: "This process is session '" + session + "', and MAESTRO_TOKEN does not hold the session's secret",
		Why:     "a process that names a session acts as that session or not at all, and never with the user's token",
		Next:    "pass on the whole environment that the spawn of the session printed",
	}
	switch {
	case strings.HasPrefix(token, wire.UserTokenPrefix):
		f.Message = "This process is session '" + session + "', and MAESTRO_TOKEN holds a user's token"
	case strings.HasPrefix(token, wire.SessionTokenPrefix):
		f.Message = "This process is session '" + session + "', and MAESTRO_TOKEN holds another session's secret"
	case token != "": // the server knows who holds it, if anybody
		return token, nil
	}
	return "", f
}

// sessionIn returns the session of an environment, "" if there is none.
func sessionIn(env map[string]string) string {
	if id := env[wire.EnvSessionID]; id != "" {
		return id
	}
	secret, ok := strings.CutPrefix(env[wire.EnvToken], wire.SessionTokenPrefix)
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(secret, ".")
	return id
}

// userToken returns the token of the home's user. A process that a session started never gets it, whatever its
// environment says.
func userToken(h *home.Home) (string, error) {
	session, err := sessionAbove()
	if err != nil {
		return "", &failure.Error{
			Code:    failure.NotAllowed,
			Message: "This process does not get the user's token",
			Why:     err.Error(),
			Next:    "run it again, or name a token in MAESTRO_TOKEN",
		}
	}
	if session != "" {
		return "", &failure.Error{
			Code:    failure.NotAllowed,
			Message: "This process was started by session '" + session + "', so it does not get the user's token",
			Why:     "what a session starts acts as that session or not at all",
			Next:    "pass on the session's environment: MAESTRO_SESSION_ID and MAESTRO_TOKEN",
		}
	}
	return h.AdminToken()
}

// refuseHomeToken refuses the token of the home's user to a process that a session started, also if the process names
// it itself.
func (a *Run) refuseHomeToken(token string) error {
	if token == "" || strings.HasPrefix(token, wire.SessionTokenPrefix) {
		return nil
	}
	h := a.openHome()
	if h == nil {
		return nil
	}
	defer func() { _ = h.Close() }()
	if own, err := h.AdminToken(); err != nil || own != token {
		return nil
	}
	_, err := userToken(h)
	return err
}

// errOrigin means that it cannot be determined which processes started this one.
var errOrigin = errors.New("the processes that started it cannot be identified: some have ended, or there are too many")

// atHome completes the address and the token from the home: where the home's server listens, and the user's token.
func (a *Run) atHome(ctx context.Context, address, token string) (string, string, error) {
	path, err := home.Path(a.Getenv)
	named := address != ""
	if err != nil && !named && token == "" {
		return "", "", err
	}
	if err != nil {
		return orDefault(address), token, nil
	}
	if !named {
		a.awaitServer(ctx, path)
	}
	h, err := home.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !named && token == "" {
			return "", "", noServer(path, "there is no home there")
		}
		return orDefault(address), token, nil
	}
	if err != nil {
		return "", "", err
	}
	defer func() { _ = h.Close() }()
	server, running, err := h.Listening()
	if !named {
		if address, err = addressOf(h, server, running, err); err != nil {
			return "", "", err
		}
	}
	// The user's token is sent only to the home's own server, or to an address that the user gave: never to another
	// program that listens on a port.
	if token == "" && (named || running) {
		token, err = userToken(h)
		a.homeToken = err == nil
		if errors.Is(err, fs.ErrNotExist) {
			return address, "", nil
		}
	}
	return address, token, err
}

// noServer returns the error that a home has no server that could answer. Another program on the usual port would only
// refuse the request: the user's token is not for it.
func noServer(dir, why string) error {
	return &client.ConnectionError{URL: "the home " + dir, Err: errors.New(why)}
}

func orDefault(address string) string {
	if address == "" {
		return defaultAddress
	}
	return address
}

func addressOf(h *home.Home, server home.Server, running bool, err error) (string, error) {
	switch {
	case !running && h.BeingRead():
		return "", &client.ConnectionError{
			URL: "the home " + h.Dir(),
			Err: &home.HeldError{Dir: h.Dir(), Read: true},
		}
	case errors.Is(err, fs.ErrNotExist) && running:
		return "", noServer(h.Dir(), "its server is starting or stopping")
	case errors.Is(err, fs.ErrNotExist):
		return "", noServer(h.Dir(), "its server is not running")
	case err == nil && !running:
		return "", &client.ConnectionError{
			URL: server.Address,
			Err: errors.New("the server of the home " + h.Dir() + " stopped unexpectedly"),
		}
	}
	return server.Address, err
}

// Look reads a view without parameters.
func Look[T any](ctx context.Context, a *Run, view func(*client.Client, context.Context) (T, error)) (T, error) {
	c, err := a.Connect(ctx)
	if err != nil {
		var none T
		return none, err
	}
	return view(c, ctx)
}

// Ask reads a view with a parameter: an id, or a filter.
func Ask[Q, T any](
	ctx context.Context, a *Run, view func(*client.Client, context.Context, Q) (T, error), of Q,
) (T, error) {
	return Look(ctx, a, func(c *client.Client, ctx context.Context) (T, error) { return view(c, ctx, of) })
}

// send executes a command, in one call.
func (a *Run) send(ctx context.Context, id string, body any, key string) (client.Answer, error) {
	return a.sendWith(ctx, id, body, client.Options{Key: key})
}

// sendWith is send with further options.
func (a *Run) sendWith(ctx context.Context, id string, body any, o client.Options) (client.Answer, error) {
	c, err := a.Connect(ctx)
	if err != nil {
		return client.Answer{}, err
	}
	o.DryRun = a.dryRun
	answer, err := c.Do(ctx, id, body, o)
	if err == nil && a.dryRun {
		return answer, a.wouldHappen(answer)
	}
	a.warn(answer)
	return answer, err
}

// isSession reports whether this process belongs to a session.
func (a *Run) isSession() bool {
	return a.throughSocket() || a.Getenv(wire.EnvSessionID) != "" ||
		strings.HasPrefix(a.Getenv(wire.EnvToken), wire.SessionTokenPrefix)
}

// errNoProject is the error for a server without projects.
var errNoProject = errors.New("no project exists")

// project returns the command's project: the named one; for a user that of the first of the tasks that the command
// names by its id, or else the environment's, or the only one. For a session without a project it is the session's own,
// which the server knows.
func (a *Run) project(ctx context.Context, named string, tasks ...string) (string, error) {
	if named != "" {
		return named, nil
	}
	if a.isSession() {
		return a.Getenv(wire.EnvProjectID), nil
	}
	if len(tasks) > 0 && commands.IsTaskID(tasks[0]) { // the inbox names tasks of all projects
		t, err := Ask(ctx, a, (*client.Client).Task, tasks[0])
		if current := a.currentProject(); err == nil && current != "" && current != t.ProjectID {
			a.Say("maestro: task %s is in project %s, not in your current one, so the command runs there\n",
				t.ID, t.ProjectID)
		}
		return t.ProjectID, err
	}
	if err := a.namedByEnvironment(ctx); err != nil {
		return "", err
	}
	if id := a.Getenv(wire.EnvProjectID); id != "" {
		return id, nil
	}
	projects, err := Ask(ctx, a, (*client.Client).Projects, wire.ProjectFilter{})
	if err != nil {
		return "", err
	}
	if own := usersOwn(projects); len(own) > 0 {
		projects = own // those of sessions have to be named
	}
	switch len(projects) {
	case 1:
		a.sayWhoseName(projects[0].Name, projects[0], 0)
		return projects[0].ID, nil
	case 0:
		if a.damage != "" {
			return "", failure.Usage("There is no project in what can be read of the log").
				WithNext("stop the server, and run `maestro salvage --new-home NEWHOME`")
		}
		none := failure.Usage("There is no project yet").WithNext("create one with `maestro project create NAME`")
		none.Why, none.Err = "a command acts in a project", errNoProject
		return "", none
	}
	if len(tasks) > 0 && tasks[0] != "" {
		t, err := Ask(ctx, a, (*client.Client).Task, tasks[0])
		return t.ProjectID, err
	}
	return "", failure.Usage("Name a project: there are %d", len(projects)).
		WithNext("choose one with `maestro project use NAME`, or name one with --project; see `maestro project list`")
}

// currentProject returns the project to which a user's lists of what needs somebody are limited, "" for none. A
// session's lists cover the sessions that it spawned, wherever they work.
func (a *Run) currentProject() string {
	if a.isSession() {
		return ""
	}
	return a.Getenv(wire.EnvProjectID)
}

// knownProject is project for a route with the project's id: a session without MAESTRO_PROJECT_ID asks the server for
// its own.
func (a *Run) knownProject(ctx context.Context, named string) (string, error) {
	id, err := a.project(ctx, named)
	if err != nil || id != "" {
		return id, err
	}
	me, err := Look(ctx, a, (*client.Client).Whoami)
	if err != nil {
		return "", err
	}
	if me.Project == "" {
		return "", failure.Usage("Name a project").WithNext("name one with --project or MAESTRO_PROJECT_ID")
	}
	return me.Project, nil
}
